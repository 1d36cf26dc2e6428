//! Checks a fixture. The recorded answer must give the same events however it arrives: whole, byte by byte, in single
//! characters, cut in two at every place or at a sample of them. If it ends early, its calls must be the first calls of the
//! whole answer. So an adapter file can be tested without a compiler.

use std::{path::Path, sync::Arc};

use bytes::BytesMut;

use crate::{
    adapter::Library,
    client::{
        front::{Front, Head},
        shape::{Kind, Shape},
    },
    event::{Channel, Event, FinishReason},
    fixture::{Fixture, Round},
    openai::answer::Envelope,
};

use super::{Case, Owned, decode};

/// Where an answer is cut in two, and where it ends early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Places {
    /// Everywhere, unless it is very long.
    All,
    /// At so many places that a check of all fixtures stays quick.
    Sample,
}

/// Of a text longer than this, in bytes, only a sample of the two-way cuts is run.
const ALL_CUTS: usize = 4096;
const TEXT_CUTS: usize = 512;
/// Of a sample, so many places of each body and of each text are tried. Frames are cut everywhere in the tests of `wire`.
const SAMPLED: usize = 12;

/// Reads a fixture with the adapter that its model's name gets, and compares what its file expects with what it comes to, or writes
/// that down (`update`). `false`: it expects no events, as a new recording does, so there was nothing to compare. Fails also where
/// the result depends on how the answer arrives; the error says how it was cut.
///
/// # Errors
/// What cannot be read, or differs.
pub fn check(path: &Path, library: &Library, places: Places, update: bool) -> Result<bool, String> {
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    let mut fixture = Fixture::parse(&text).map_err(|error| error.message)?;
    let events = super::events(&fixture, library, |round, case, deltas, whole| {
        cuts_of_the_wire(round, deltas, case, whole)?;
        cuts_of_the_text(deltas, case, places, whole)?;
        ended_early(deltas, case, places)
    })?;
    let first = fixture.rounds.first().ok_or("it has no round")?;
    let client = |(shape, _): &(String, String)| Ok((shape.clone(), client_bytes(first, library, shape, false)?));
    let clients: Vec<(String, String)> = fixture.clients.iter().map(client).collect::<Result<_, String>>()?;
    if !update {
        if let Some(expected) = &fixture.events {
            same(expected.trim_end(), &events, "events")?;
        }
        for ((shape, expected), (_, got)) in fixture.clients.iter().zip(&clients) {
            same(expected.trim_end(), got.trim_end(), &format!("client {shape}"))?;
        }
        return Ok(fixture.events.is_some());
    }
    fixture.events = Some(events);
    fixture.clients = clients;
    std::fs::write(path, fixture.write()).map_err(|error| error.to_string())?;
    Ok(true)
}

/// The same events for every cut of the recorded bytes. An answer is read again only where a cut changes its deltas.
fn cuts_of_the_wire(round: &Round, deltas: &[Owned], case: &Case, whole: &str) -> Result<(), String> {
    let bytes = &round.reads.bytes;
    if round.wire.is_none() {
        return Ok(());
    }
    let alike = |pieces: &[&[u8]], how: &str| match decode(round, pieces.iter().copied())? {
        found if found == deltas => Ok(()),
        found => same(whole, &case.run(&found), how),
    };
    alike(&bytes.chunks(1).collect::<Vec<_>>(), "byte by byte")?;
    for cut in sample(bytes.len(), SAMPLED) {
        let (left, right) = bytes.split_at(cut);
        alike(&[left, right], &format!("stream cut at byte {cut}"))?;
    }
    Ok(())
}

/// The same events for every cut of the text that the backend sent.
fn cuts_of_the_text(deltas: &[Owned], case: &Case, places: Places, whole: &str) -> Result<(), String> {
    let joined = join(deltas);
    same(whole, &case.run(&joined), "text in one piece")?;
    same(whole, &case.run(&letters(&joined)), "text in single characters")?;
    let count = |text: &str| match places {
        Places::All if text.len() <= ALL_CUTS => text.len(),
        Places::All => TEXT_CUTS,
        Places::Sample => SAMPLED,
    };
    for (at, channel, halves) in cut_in_two(&joined, count) {
        let mut pieces = joined.clone();
        pieces.splice(at..=at, halves.map(|half| Owned::Text(channel, half.to_owned())));
        same(whole, &case.run(&pieces), &format!("text cut at byte {}", halves[0].len()))?;
    }
    Ok(())
}

/// An answer that ends early, at the output limit or because the model stopped: its calls are the first calls of the whole
/// answer, with the same names and arguments.
fn ended_early(deltas: &[Owned], case: &Case, places: Places) -> Result<(), String> {
    let joined = join(deltas);
    let full = case.run(&joined);
    let expected = calls(&full);
    for (at, channel, [text, _]) in cut_in_two(&joined, |text| if places == Places::All { text.len() } else { SAMPLED }) {
        for reason in [FinishReason::Length, FinishReason::Stop] {
            let mut pieces = joined.get(..at).unwrap_or_default().to_vec();
            pieces.extend([Owned::Text(channel, text.to_owned()), Owned::Finish(reason)]);
            let early = case.run(&pieces);
            let found = calls(&early);
            // A call's id may come after its arguments: an answer that ends between them has the call without it.
            let same = |(one, other): (&&str, &&str)| without_id(one) == without_id(other);
            let begins = found.len() <= expected.len() && found.iter().zip(&expected).all(same);
            if !begins && !is_quoted(text, &early, &full) {
                let (cut, reason, last) = (text.len(), reason.as_str(), found.last().unwrap_or(&""));
                return Err(format!("ended at byte {cut} with `{reason}`: `{last}` is not a call of the whole answer"));
            }
        }
    }
    Ok(())
}

/// About so many ways to cut one of the texts in two: its place, its channel, its halves.
fn cut_in_two(deltas: &[Owned], count: impl Fn(&str) -> usize) -> impl Iterator<Item = (usize, Channel, [&str; 2])> {
    let texts = deltas.iter().enumerate().filter_map(|(at, delta)| match delta {
        Owned::Text(channel, text) => Some((at, *channel, text.as_str())),
        _ => None,
    });
    texts.flat_map(move |(at, channel, text)| {
        let halves = sample(text.len(), count(text)).filter_map(|cut| text.split_at_checked(cut));
        halves.map(move |(left, right)| (at, channel, [left, right]))
    })
}

/// The calls among the events.
fn calls(events: &str) -> Vec<&str> {
    events.lines().filter(|line| line.starts_with("call ")).collect()
}

/// The name and the arguments of a call's line, without the id that may follow the name and without the space between tokens.
fn without_id(call: &str) -> String {
    let call = match call.split_once(" (id ").and_then(|(name, rest)| Some((name, rest.split_once(") ")?.1))) {
        Some((name, arguments)) => format!("{name} {arguments}"),
        None => call.to_owned(),
    };
    let (head, arguments) = call.split_at(call.find('{').unwrap_or(call.len()));
    serde_json::from_str(arguments).map_or_else(|_| call.clone(), |arguments: serde_json::Value| format!("{head}{arguments}"))
}

/// Whether the calls at the end of `text` are no calls in the whole answer: an unmarked one is an example where prose follows
/// it, one inside reasoning a draft where the reasoning goes on.
fn is_quoted(text: &str, early: &str, full: &str) -> bool {
    let said = |events: &str| -> String {
        let texts = events.lines().filter_map(|line| line.strip_prefix("text ").or(line.strip_prefix("reasoning ")));
        texts.filter_map(|text| serde_json::from_str::<String>(text).ok()).collect()
    };
    let before = said(early);
    let call = text.find(before.trim()).and_then(|at| text.get(at + before.trim().len()..)).unwrap_or_default().trim();
    !call.is_empty() && said(full).contains(call)
}

/// The exact bytes for a client's shape, where the model's text came as it was recorded, or in single characters (`in_letters`).
///
/// # Errors
/// What cannot be read.
pub fn client_bytes(round: &Round, library: &Library, shape: &str, in_letters: bool) -> Result<String, String> {
    let recorded = decode(round, [&*round.reads.bytes])?;
    let deltas = if in_letters { letters(&recorded) } else { recorded };
    let kind = match shape {
        "native" => Kind::Native,
        "void_xml" => Kind::Void,
        other => return Err(format!("unknown shape `{other}`")),
    };
    let case = Case::of(round, library)?;
    let head = Head {
        envelope: Envelope { id: "chatcmpl-fixture".into(), created: 0, model: round.request.model.clone() },
        include_usage: false,
        reasoning_field: Some("reasoning_content"),
        shows_reasoning: true,
        ..Head::default()
    };
    let (mut shape, mut front, mut out) =
        (Shape::new(kind, Arc::clone(&case.tools), case.incoming.one_call), Front::new(head), BytesMut::new());
    case.feed(&deltas, &mut |event: Event<'_>| shape.event(event, &mut |event: Event<'_>| front.event(event, &mut out)));
    Ok(String::from_utf8_lossy(&out).into_owned())
}

/// Texts in single characters.
fn letters(deltas: &[Owned]) -> Vec<Owned> {
    let letters = |delta: &Owned| match delta {
        Owned::Text(channel, text) => text.chars().map(|c| Owned::Text(*channel, c.to_string())).collect(),
        other => vec![other.clone()],
    };
    deltas.iter().flat_map(letters).collect()
}

/// Neighbouring texts of one channel as one.
fn join(deltas: &[Owned]) -> Vec<Owned> {
    let mut out: Vec<Owned> = Vec::new();
    for delta in deltas {
        match (out.last_mut(), delta) {
            (Some(Owned::Text(last, text)), Owned::Text(channel, more)) if last == channel => text.push_str(more),
            _ => out.push(delta.clone()),
        }
    }
    out
}

/// About so many cut points, at even distances.
fn sample(length: usize, count: usize) -> impl Iterator<Item = usize> {
    (1..length).step_by((length / count.max(1)).max(1))
}

fn same(expected: &str, got: &str, how: &str) -> Result<(), String> {
    if expected == got { Ok(()) } else { Err(format!("{how}: expected\n{expected}\ngot\n{got}\n")) }
}

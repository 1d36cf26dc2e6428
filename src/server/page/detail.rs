//! Builds what the page shows of one turn: the request, the model's text with its markers and calls, each change and its
//! reason, and what the client got. It runs on request, never while the turn runs. Also of a text that somebody has written.

use std::{ops::Range, sync::Arc};

use axum::{extract::Request, response::Response};
use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Value, json};

use super::kept::{Kept, Reader, Round};
use crate::{
    adapter::{Scanner, scanner::MayAsk},
    client,
    error::Error,
    event::{self, Channel, Delta, Event, FinishReason, Note, ToolCall, ToolChoice},
    fix::Checked,
    fixture::Reads,
    openai::ChatRequest,
    recorded, redact,
    server::{received::Received, reply, state::App, survey},
    turn::answer::{Answer, Setup},
};

/// Maximum number of bytes of a model's text that are looked at.
const TEXT_BYTES: usize = 256 * 1024;

/// An answer of a backend, decoded.
#[derive(Default)]
struct Wrote {
    reasoning: String,
    content: String,
    native: Vec<ToolCall>,
    end: Option<FinishReason>,
    fault: Option<String>,
}

/// A text as the scanner splits it.
#[derive(Default)]
struct Split {
    /// What stayed text or reasoning (`true`), in order; between two pieces something may have been taken out.
    pieces: Vec<(String, bool)>,
    /// The calls, each with the number of pieces before it.
    calls: Vec<Source>,
    /// What looks like a call and is text: the tool's name, and the cell that it is in.
    texts: Vec<(String, event::Cell)>,
}

/// A call as the model wrote it.
struct Source {
    name: String,
    arguments: String,
    behind: usize,
}

/// How the page shows a byte of a text: what it is, the call that it belongs to, and whether it is of a marker.
#[derive(Clone, Copy, PartialEq)]
struct Look {
    kind: &'static str,
    call: Option<usize>,
    is_marker: bool,
}

/// The body of `POST /ui/normalize`.
#[derive(Deserialize)]
struct Asked {
    #[serde(default)]
    model: String,
    /// In OpenAI's form.
    #[serde(default)]
    tools: Vec<Value>,
    text: String,
    /// The output limit ended the answer.
    #[serde(default)]
    cut: bool,
}

/// Maximum number of candidates that are explained.
const NOTES: usize = 8;

/// The turn for the page.
pub(super) fn detail(kept: &Kept) -> Value {
    let clean = |text: &str| redact::redacted(&redact::without(text, kept.secrets.iter().map(String::as_str))).into_owned();
    let sent = clean(&String::from_utf8_lossy(&kept.sent));
    let reader = kept.reader.as_ref();
    let last = kept.rounds.len().saturating_sub(1);
    let rounds: Vec<Value> = kept
        .rounds
        .iter()
        .enumerate()
        .map(|(at, round)| {
            let wrote = Wrote::of(round, &clean);
            let split = reader.map(|reader| Split::of(reader, &wrote.content, wrote.end)).unwrap_or_default();
            let notes = reader.filter(|_| at == last).map(|reader| notes(reader, &split)).unwrap_or_default();
            let told = at.checked_sub(1).and_then(|before| kept.rounds.get(before)).map(|before| told(&before.request, &round.request));
            json!({
                "told": told.as_deref().map(&clean),
                "reasoning": wrote.reasoning,
                "pieces": pieces(reader, &wrote.content, &split),
                "native": wrote.native.iter().map(|call| json!({"name": call.name, "arguments": call.arguments})).collect::<Vec<_>>(),
                "end": wrote.end.map(FinishReason::as_str),
                "fault": wrote.fault,
                "calls": calls(&round.checked, &split, &wrote, &clean),
                "notes": notes,
            })
        })
        .collect();
    let said = kept.said.iter().map(|said| json!({"kind": said.kind, "name": said.name, "text": clean(&said.text)}));
    json!({
        "sent": sent,
        "rounds": rounds,
        "said": said.collect::<Vec<_>>(),
        "got": clean(&String::from_utf8_lossy(&kept.got)),
        "cut": kept.cut,
        "offered": reader.map(|reader| reader.offered),
        "tools": reader.map(|reader| reader.setup.tools.iter().map(|tool| &*tool.name).collect::<Vec<_>>()),
        "adapter": reader.map(|reader| &*reader.setup.adapter.name),
        "estimated": reader.map(|reader| reader.estimated),
        "prefix": kept.prefix.map(|prefix| json!({"shared": prefix.shared, "before": prefix.before, "broke": prefix.broke})),
    })
}

/// `POST /ui/normalize`: shows what becomes of a text that a model might write, as the page shows a turn. No backend is asked.
pub(super) async fn normalize(app: App, request: Request) -> Result<Response, Error> {
    let expected = "{\"model\": ..., \"tools\": [...], \"text\": ...}";
    let (received, asked) = Received::json::<Asked>(&app, request, expected).await?;
    if asked.text.len() > TEXT_BYTES {
        let what = format!("the page reads at most {TEXT_BYTES} bytes of text, and these are {}", asked.text.len());
        return Err(Error::client(what).with_status(413).with_code("request_too_large"));
    }
    let reader = reader(&app, &asked).await?;
    received.account.goes_apart().await;
    let end = if asked.cut { FinishReason::Length } else { FinishReason::Stop };
    let mut kept = Kept::new(&Bytes::new(), Arc::default(), usize::MAX);
    let mut answer = Answer::new(reader.setup.clone());
    let mut take = |event: Event<'_>| kept.event(&event);
    answer.delta(Delta::Text(Channel::Content, &asked.text), &mut take);
    answer.delta(Delta::Finish(end), &mut take);
    let checked = answer.finish(&mut take).checked;
    let reads = Reads::one(asked.text.as_bytes());
    kept.rounds.push(Round { request: String::new(), wire: None, reads, checked });
    kept.reader = Some(reader);
    Ok(reply::json(&json!({"detail": detail(&kept)})))
}

/// As a chat with this model would be read; of a model that is nowhere, as its name says.
async fn reader(app: &App, asked: &Asked) -> Result<Reader, Error> {
    let model = if asked.model.is_empty() { "unknown" } else { &asked.model };
    let chat = json!({"model": model, "messages": [{"role": "user", "content": "x"}], "tools": asked.tools});
    let chat = ChatRequest::from_value(chat)?;
    let planned = if asked.model.is_empty() { None } else { survey::planned(app, chat.clone()).await.ok() };
    if let Some(plan) = planned {
        let mut reader = Reader::from(&plan);
        reader.setup.scanner.may_ask = MayAsk::Never;
        return Ok(reader);
    }
    let incoming = client::read(chat, &client::Hints::default())?;
    let setup = Setup::new(app.library.find(model, None).adapter, Arc::new(incoming.tools), Arc::default());
    Ok(Reader { setup, offered: "native", estimated: 0 })
}

/// What the model was told before this answer: what the conversation has more than before, in its own words.
fn told(before: &str, now: &str) -> String {
    let messages = |request: &str| -> Vec<Value> {
        let mut request: Value = serde_json::from_str(request).unwrap_or_default();
        serde_json::from_value(request["messages"].take()).unwrap_or_default()
    };
    let (before, now) = (messages(before), messages(now));
    let same = before.iter().zip(&now).take_while(|(before, now)| before == now).count();
    let new = now.iter().skip(same).filter(|message| message["role"] != "assistant");
    let text = |message: &Value| message["content"].as_str().map_or_else(|| message["content"].to_string(), str::to_owned);
    new.map(text).collect::<Vec<_>>().join("\n\n")
}

/// The reports about the calls of an answer, next to the model's text.
fn calls(checked: &[Checked], split: &Split, wrote: &Wrote, clean: &impl Fn(&str) -> String) -> Vec<Value> {
    let written = split.calls.iter().map(|call| (&call.name, &call.arguments));
    let native = wrote.native.iter().map(|call| (&call.name, &call.arguments));
    let mut sources: Vec<Option<(&String, &String)>> = written.chain(native).map(Some).collect();
    checked
        .iter()
        .map(|checked| {
            let names = [Some(&checked.name), checked.written.as_ref()];
            let place = sources.iter().position(|source| source.is_some_and(|(name, _)| names.contains(&Some(name))));
            let before = place.and_then(|place| sources.get_mut(place)?.take());
            let report = &checked.report;
            let fix = |fix: &crate::fix::Fix| {
                json!({"rule": fix.rule.as_str(), "means": fix.rule.meaning(), "path": fix.path.as_str(), "note": fix.note, "level": fix.level.as_str()})
            };
            json!({
                "name": checked.name,
                "written": checked.written,
                "verdict": report.verdict.as_str(),
                "why": report.why.as_ref().map(|why| clean(&why.to_string())),
                "place": place,
                "before": before.map(|(_, arguments)| clean(arguments)),
                "after": report.arguments.as_deref().map(clean),
                "fixes": report.fixes.iter().map(fix).collect::<Vec<_>>(),
            })
        })
        .collect()
}

/// Why what is left of an answer holds no call: the cell of the table that each candidate is in.
fn notes(reader: &Reader, split: &Split) -> Vec<Value> {
    let nothing_offered = match (reader.setup.tools.is_empty(), &reader.setup.tools.choice) {
        (true, _) => Some("the request offers no tools, so nothing was looked for"),
        (_, ToolChoice::None) => Some("the request forbids calls (`tool_choice` is `none`), so nothing was looked for"),
        _ => None,
    };
    let note = |text: String, quote: &str| json!({"text": text, "quote": quote});
    if let Some(why) = nothing_offered.filter(|_| split.pieces.iter().any(|(text, _)| text.contains(['{', '<']))) {
        return vec![note(why.into(), "")];
    }
    split.texts.iter().take(NOTES).map(|(name, cell)| note(cell.to_string(), name)).collect()
}

/// The text in pieces that look the same: prose, reasoning, markers, calls.
fn pieces(reader: Option<&Reader>, text: &str, split: &Split) -> Vec<Value> {
    let mut looks = vec![Look { kind: "text", call: None, is_marker: false }; text.len()];
    if let Some(reader) = reader {
        split.mark(text, &mut looks);
        // Those that are ordinary characters are not shown.
        for marker in reader.setup.adapter.markers().iter().filter(|marker| marker.trim().len() > 2) {
            for (at, marker) in text.match_indices(marker.as_str()) {
                looks[at..at + marker.len()].iter_mut().for_each(|look| look.is_marker = true);
            }
        }
    }
    let mut from = 0;
    let piece = |alike: &[Look]| {
        let Look { kind, call, is_marker } = alike[0];
        let text = text.get(from..from + alike.len());
        from += alike.len();
        json!({"t": text, "k": kind, "c": call, "m": is_marker})
    };
    looks.chunk_by(|one, next| one == next).map(piece).collect()
}

impl Wrote {
    fn of(round: &Round, clean: &impl Fn(&str) -> String) -> Wrote {
        let mut wrote = Wrote::default();
        let pieces = round.reads.iter().map(|(_, bytes)| bytes);
        let read = recorded::read(round.wire, pieces, &mut |delta: Delta<'_>| match delta {
            Delta::Text(Channel::Reasoning, text) => wrote.reasoning.push_str(text),
            Delta::Text(Channel::Content, text) => wrote.content.push_str(text),
            Delta::Call(call) => wrote.native.push(call.into()),
            Delta::Usage(_) | Delta::StopSequence(_) => {}
            Delta::Finish(reason) => wrote.end = Some(reason),
        });
        wrote.fault = read.err().map(|error| clean(&error.message));
        wrote.content = clean(&wrote.content);
        wrote.content.truncate(wrote.content.floor_char_boundary(TEXT_BYTES));
        wrote.reasoning = clean(&wrote.reasoning);
        for call in &mut wrote.native {
            call.arguments = clean(&call.arguments);
        }
        wrote
    }
}

impl Split {
    /// Reads the text as an answer that ends with this reason; `None`: as one that continues.
    fn of(reader: &Reader, text: &str, end: Option<FinishReason>) -> Split {
        let mut split = Split::default();
        let Setup { adapter, tools, schemas, scanner, .. } = reader.setup.clone();
        let mut scanner = Scanner::new(adapter, tools, schemas, scanner);
        let mut take = |event: Event<'_>| match event {
            Event::Text(text) => split.pieces.push((text.to_owned(), false)),
            Event::Reasoning(text) => split.pieces.push((text.to_owned(), true)),
            Event::Call(call) => split.call(call.name, call.arguments),
            Event::Refused { name, raw, .. } => split.call(name, raw),
            Event::Note(Note::Candidate { name, cell }) => split.texts.push((name.clone(), *cell)),
            Event::Note(_) | Event::Finish { .. } => {}
        };
        scanner.push(Channel::Content, text, &mut take);
        scanner.finish(end.unwrap_or(FinishReason::Length), &mut take);
        split
    }

    fn call(&mut self, name: &str, arguments: &str) {
        // Its cell was noted just before.
        self.texts.pop_if(|(noted, _)| noted == name);
        let behind = self.pieces.len();
        self.calls.push(Source { name: name.to_owned(), arguments: arguments.to_owned(), behind });
    }

    /// Marks where in the text it all is: what was taken out between two pieces is a call, if there is one, or a marker.
    fn mark(&self, text: &str, looks: &mut [Look]) {
        let mut from = 0;
        for at in 0..=self.pieces.len() {
            let own = || self.calls.iter().enumerate().filter(move |(_, call)| call.behind == at);
            let first = own().next().map(|(index, _)| index);
            // A call's own text may look like what comes after it.
            let after = own().fold(from, |from, (_, call)| {
                let named = place(text, from, &call.name).map_or(from, |named| named.end);
                place(text, named, &call.arguments).map_or(named, |written| written.end)
            });
            let next = match self.pieces.get(at) {
                None => text.len()..text.len(),
                Some((piece, _)) if first.is_none() && text.get(from..).is_some_and(|rest| rest.starts_with(&**piece)) => {
                    from..from + piece.len()
                }
                Some((piece, _)) => match place(text, after, piece) {
                    Some(next) => next,
                    // Written by somebody else: nothing of it is in the text.
                    None => continue,
                },
            };
            let kind = if first.is_some() { "call" } else { "taken" };
            looks[from..next.start].fill(Look { kind, call: first, is_marker: false });
            if self.pieces.get(at).is_some_and(|(_, thought)| *thought) {
                looks[next.clone()].fill(Look { kind: "reasoning", call: None, is_marker: false });
            }
            from = next.end;
        }
    }
}

/// Where a part comes next in the text.
fn place(text: &str, from: usize, part: &str) -> Option<Range<usize>> {
    let at = from + text.get(from..)?.find(part)?;
    Some(at..at + part.len())
}

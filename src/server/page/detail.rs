//! Builds what the page shows of one turn: the request, the model's text with its markers and calls, each change and its
//! reason, and what the client got. It runs on request, never while the turn runs.

use std::{cell::Cell, ops::Range, sync::Arc};

use serde_json::{Value, json};

use super::{
    kept::{Kept, Reader, Round, Said},
    why,
};
use crate::{
    adapter::Scanner,
    event::{self, Channel, Event, FinishReason, Note, ToolCall},
    fix::{Checked, Schemas},
    recorded::{self, Owned},
    redact,
};

/// Maximum number of bytes of a model's text that are looked at.
pub(super) const TEXT_BYTES: usize = 256 * 1024;

/// An answer of a backend, decoded.
#[derive(Default)]
struct Wrote {
    reasoning: String,
    content: String,
    /// Where reads began in `content`.
    cuts: Vec<usize>,
    native: Vec<ToolCall>,
    end: Option<FinishReason>,
    fault: Option<String>,
}

/// A text as the scanner splits it.
#[derive(Default)]
pub(super) struct Split {
    /// What stayed text or reasoning (`true`), in order; between two pieces something may have been taken out.
    pieces: Vec<(String, bool)>,
    /// The calls, each with the number of pieces before it.
    pub(super) calls: Vec<Source>,
    /// What looks like a call and is text: the tool's name, and the cell that it is in.
    pub(super) texts: Vec<(String, event::Cell)>,
}

/// A call as the model wrote it.
pub(super) struct Source {
    name: String,
    arguments: String,
    behind: usize,
    /// The model closed it.
    pub(super) closed: bool,
}

/// A piece of a text: what it is, and the call that it belongs to.
struct Piece {
    at: Range<usize>,
    kind: &'static str,
    call: Option<usize>,
}

/// A piece of a text as the page shows it.
struct Shown {
    at: Range<usize>,
    kind: &'static str,
    call: Option<usize>,
    is_marker: bool,
    /// A read of the backend began here.
    is_cut: bool,
}

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
            let notes = match reader {
                Some(reader) if at == last => why::notes(reader, &split),
                _ => Vec::new(),
            };
            let told = at.checked_sub(1).and_then(|before| kept.rounds.get(before)).map(|before| told(&before.request, &round.request));
            json!({
                "told": told.as_deref().map(&clean),
                "reasoning": wrote.reasoning,
                "pieces": pieces(reader, &wrote, &split),
                "native": wrote.native.iter().map(|call| json!({"name": call.name, "arguments": call.arguments})).collect::<Vec<_>>(),
                "end": wrote.end.map(FinishReason::as_str),
                "fault": wrote.fault,
                "calls": calls(&round.checked, &split, &wrote, &clean),
                "notes": notes,
            })
        })
        .collect();
    let said: Vec<Value> = kept
        .said
        .iter()
        .map(|said| match said {
            Said::Text(text) => json!({"kind": "text", "text": clean(text)}),
            Said::Reasoning(text) => json!({"kind": "reasoning", "text": clean(text)}),
            Said::Note(text) => json!({"kind": "note", "text": clean(text)}),
            Said::Call { name, arguments } => json!({"kind": "call", "name": name, "text": clean(arguments)}),
        })
        .collect();
    json!({
        "sent": sent,
        "rounds": rounds,
        "said": said,
        "got": clean(&String::from_utf8_lossy(&kept.got)),
        "cut": kept.cut,
        "offered": reader.map(|reader| reader.offered),
        "tools": reader.map(|reader| reader.tools.iter().map(|tool| &*tool.name).collect::<Vec<_>>()),
        "adapter": reader.map(|reader| &*reader.adapter.name),
        "estimated": reader.map(|reader| reader.estimated),
        "prefix": kept.prefix.map(|prefix| json!({"shared": prefix.shared, "before": prefix.before, "broke": prefix.broke})),
    })
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
                "dropped": report.dropped,
            })
        })
        .collect()
}

/// The text in pieces: prose, reasoning, markers, calls; and where the backend's reads began.
fn pieces(reader: Option<&Reader>, wrote: &Wrote, split: &Split) -> Vec<Value> {
    let text = &wrote.content;
    let parts = match reader {
        Some(_) => split.places(text),
        None => vec![Piece { at: 0..text.len(), kind: "text", call: None }],
    };
    let markers = reader.map(|reader| markers(&reader.adapter.markers(), text)).unwrap_or_default();
    let mut edges: Vec<usize> = parts.iter().flat_map(|part| [part.at.start, part.at.end]).collect();
    edges.extend(markers.iter().flat_map(|marker| [marker.start, marker.end]));
    edges.extend(wrote.cuts.iter().copied().filter(|cut| text.is_char_boundary(*cut)));
    edges.sort_unstable();
    edges.dedup();
    let mut out: Vec<Shown> = Vec::new();
    let (mut parts, mut marks) = (parts.iter().peekable(), markers.iter().peekable());
    for (start, end) in edges.iter().zip(edges.iter().skip(1)) {
        while parts.next_if(|part| part.at.end <= *start).is_some() {}
        while marks.next_if(|mark| mark.end <= *start).is_some() {}
        let Some(part) = parts.peek() else { continue };
        let is_marker = marks.peek().is_some_and(|mark| mark.start <= *start);
        let next = Shown {
            at: *start..*end,
            kind: part.kind,
            call: part.call,
            is_marker,
            is_cut: wrote.cuts.binary_search(start).is_ok(),
        };
        match out.last_mut() {
            Some(last) if last.continues(&next) => last.at.end = *end,
            _ => out.push(next),
        }
    }
    let shown = |Shown { at, kind, call, is_marker, is_cut }: Shown| {
        let text = text.get(at)?;
        Some(json!({"t": text, "k": kind, "c": call, "m": is_marker, "r": is_cut}))
    };
    out.into_iter().filter_map(shown).collect()
}

/// Where the adapter's markers are, without those that are ordinary characters.
fn markers(known: &[String], text: &str) -> Vec<Range<usize>> {
    let long = known.iter().filter(|marker| marker.trim().len() > 2);
    let mut found: Vec<Range<usize>> =
        long.flat_map(|marker| text.match_indices(marker.as_str()).map(|(at, marker)| at..at + marker.len())).collect();
    found.sort_by_key(|at| (at.start, std::cmp::Reverse(at.end)));
    let mut end = 0;
    found.retain(|at| {
        let is_free = at.start >= end;
        end = end.max(at.end);
        is_free
    });
    found
}

impl Shown {
    /// Whether it looks the same as the piece after it, so that the two can be joined.
    fn continues(&self, next: &Shown) -> bool {
        let look = |shown: &Shown| (shown.kind, shown.call, shown.is_marker);
        look(self) == look(next) && self.at.end == next.at.start && !next.is_cut
    }
}

impl Wrote {
    fn of(round: &Round, clean: &impl Fn(&str) -> String) -> Wrote {
        let mut wrote = Wrote::default();
        let (reads, mut seen) = (Cell::new(0), 0);
        let pieces = round.reads.iter().map(|read| {
            reads.set(reads.get() + 1);
            read.bytes.as_slice()
        });
        let read = recorded::read(round.wire, pieces, |delta| match delta {
            Owned::Text(Channel::Reasoning, text) => wrote.reasoning.push_str(&text),
            Owned::Text(Channel::Content, text) => {
                if std::mem::replace(&mut seen, reads.get()) != reads.get() && !wrote.content.is_empty() {
                    wrote.cuts.push(wrote.content.len());
                }
                wrote.content.push_str(&text);
            }
            Owned::Call(call) => wrote.native.push(call),
            Owned::Usage(_) | Owned::StopSequence(_) => {}
            Owned::Finish(reason) => wrote.end = Some(reason),
        });
        wrote.fault = read.err().map(|error| clean(&error.message));
        let content = clean(&wrote.content);
        if content != wrote.content || content.len() > TEXT_BYTES {
            wrote.cuts.clear();
        }
        wrote.content = content;
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
    pub(super) fn of(reader: &Reader, text: &str, end: Option<FinishReason>) -> Split {
        let mut split = Split::default();
        let mut scanner = Scanner::new(
            Arc::clone(&reader.adapter),
            Arc::clone(&reader.tools),
            Arc::new(Schemas::default()),
            reader.options.clone(),
        );
        let mut take = |event: Event<'_>| match event {
            Event::Text(text) => split.pieces.push((text.to_owned(), false)),
            Event::Reasoning(text) => split.pieces.push((text.to_owned(), true)),
            Event::CallStart { name, .. } => split.begin(name, ""),
            Event::CallArguments { json, .. } => {
                if let Some(call) = split.calls.last_mut() {
                    call.arguments.push_str(json);
                }
            }
            Event::CallEnd { .. } => {
                if let Some(call) = split.calls.last_mut() {
                    call.closed = true;
                }
            }
            Event::Refused { name, raw, .. } => split.begin(name, raw),
            Event::Note(Note::Candidate { name, cell }) => split.texts.push((name.clone(), *cell)),
            Event::Note(_) | Event::Finish { .. } => {}
        };
        scanner.push(Channel::Content, text, &mut take);
        scanner.finish(end.unwrap_or(FinishReason::Length), &mut take);
        split
    }

    /// What stayed text.
    pub(super) fn said(&self) -> impl Iterator<Item = &str> {
        self.pieces.iter().map(|(text, _)| text.as_str())
    }

    fn begin(&mut self, name: &str, arguments: &str) {
        // Its cell was noted just before.
        self.texts.pop_if(|(noted, _)| noted == name);
        let behind = self.pieces.len();
        self.calls.push(Source { name: name.to_owned(), arguments: arguments.to_owned(), behind, closed: false });
    }

    /// Where in the text it all is: what was taken out between two pieces is a call, if there is one, or a marker.
    fn places(&self, text: &str) -> Vec<Piece> {
        let (mut out, mut from) = (Vec::new(), 0);
        for at in 0..=self.pieces.len() {
            let mut calls = self.calls.iter().enumerate().filter(|(_, call)| call.behind == at);
            let first = calls.next().map(|(index, _)| index);
            let next = self.pieces.get(at);
            // A call's own text may look like what comes after it.
            let after = self.calls.iter().filter(|call| call.behind == at).fold(from, |from, call| {
                let rest = text.get(from..).unwrap_or_default();
                let named = rest.find(&*call.name).map_or(from, |place| from + place + call.name.len());
                let rest = text.get(named..).unwrap_or_default();
                rest.find(&*call.arguments).map_or(named, |place| named + place + call.arguments.len())
            });
            let start = match next {
                None => text.len(),
                Some((piece, _)) if first.is_none() && text.get(from..).is_some_and(|rest| rest.starts_with(&**piece)) => from,
                Some((piece, _)) => match text.get(after..).and_then(|rest| rest.find(&**piece)) {
                    Some(place) => after + place,
                    // Written by somebody else: nothing of it is in the text.
                    None => continue,
                },
            };
            if start > from {
                let kind = if first.is_some() { "call" } else { "taken" };
                out.push(Piece { at: from..start, kind, call: first });
            }
            if let Some((piece, thought)) = next {
                out.push(Piece { at: start..start + piece.len(), kind: if *thought { "reasoning" } else { "text" }, call: None });
                from = start + piece.len();
            }
        }
        out
    }
}

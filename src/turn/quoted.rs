//! The calls in what the model has read since the user last spoke: results, and the user's message itself. A model that repeats
//! such a text does not make the call in it, so it is asked whether it means the call.
//!
//! A call is found in two ways: the text is read as an answer of the model would be, and the call is looked for by its letters,
//! in whatever form the text has it ([`letters`]).

use std::sync::Arc;

use super::{
    answer::{Answer, Setup},
    gate::{Made, made},
};
use crate::{
    adapter::{CLIENT_RESULT, scanner},
    event::{Assembly, Channel, Delta, Effect, Event, FinishReason, Origin, Tool, ToolChoice, Tools},
    fix::Schemas,
    openai::is_spoken,
    plan::Plan,
    redact,
};

mod letters;
#[cfg(test)]
mod tests;

use letters::{Letters, Wanted};

/// How much of each text is read, in bytes.
const TEXT_BYTES: usize = 64 * 1024;
/// How much of all texts is kept, the last ones first, in bytes.
const TEXTS_BYTES: usize = 512 * 1024;
/// How many pieces of a text are read by themselves.
const PIECES: usize = 8;

/// What the model has read, and the calls in it.
#[derive(Debug, Default)]
pub(super) struct Quoted {
    tools: Arc<Tools>,
    /// The calls that the text is read to have.
    calls: Vec<Made>,
    results: Vec<String>,
    /// The user's words.
    asked: Option<String>,
    /// In mode `react`, the calls of this turn: the model was asked about them, or has meant them.
    meant: Vec<Made>,
}

impl Quoted {
    /// What the model has read before its next answer.
    pub(super) fn of(plan: &Plan, schemas: &Arc<Schemas>) -> Quoted {
        let mut quoted = Quoted { tools: Arc::clone(&plan.tools), ..Quoted::default() };
        if !plan.tools.iter().any(|tool| tool.effect != Effect::Reads) {
            return quoted;
        }
        let (mut is_last, mut room) = (true, TEXTS_BYTES);
        for message in plan.chat.messages.iter().rev() {
            if message.role == "assistant" {
                is_last = false;
                // What was refused there stands in the conversation, too.
                if plan.react.is_some() {
                    quoted.meant.extend(message.tool_calls.iter().map(|call| made(&call.name, &call.arguments)));
                }
                continue;
            }
            let text = message.content.text();
            let is_result = message.role == "tool" || (plan.asking.verbatim && text.contains(CLIENT_RESULT));
            if !is_result && message.role != "user" {
                continue;
            }
            if is_last {
                quoted.calls.extend(read_all(plan, schemas, &text));
            }
            let text = redact::head(&text, TEXT_BYTES.min(room)).to_owned();
            room -= text.len();
            if is_result {
                quoted.results.push(text);
            } else if is_spoken(message) {
                quoted.asked = Some(text);
                break;
            }
        }
        quoted
    }

    /// Whether the model has read this call as text, so that it is to be asked about it.
    pub(super) fn has(&self, call: &Made) -> bool {
        let (name, arguments) = call;
        if self.meant.contains(call) {
            return false;
        }
        let tool = self.tools.get(name);
        if self.calls.contains(call) {
            return true;
        }
        if tool.is_some_and(|tool| tool.effect == Effect::Reads) {
            return false;
        }
        let wanted = Wanted::of(tool.map_or_else(|| vec![name.as_str()], names), arguments);
        let result = |text: &String| {
            let has = |text: &str| Letters::of(text).contain(&wanted, false);
            has(text) || without_margins(text).is_some_and(|text| has(&text))
        };
        // The user may name tool and values without writing a call.
        self.results.iter().any(result) || self.asked.as_ref().is_some_and(|text| Letters::of(text).contain(&wanted, true))
    }
}

/// The names under which a tool may be called.
fn names(tool: &Tool) -> Vec<&str> {
    let mut names = vec![tool.name.as_str(), tool.wire_name.as_str()];
    names.extend(tool.namespace.as_ref().map(|(_, name)| name.as_str()));
    if let Origin::Registry { tool, .. } = &tool.origin {
        names.push(tool);
    }
    names
}

/// The lines without their numbers, as tools that read and search print them; `None`: no line has one.
fn without_margins(text: &str) -> Option<String> {
    let bare = |line: &str| -> Option<usize> {
        let numbered = |from: usize| {
            let rest = line.get(from..)?;
            let digits = rest.trim_start().trim_start_matches(|c: char| c.is_ascii_digit());
            let is_margin = digits.len() < rest.trim_start().len()
                && digits.trim_start_matches(' ').starts_with(['\t', ':', '|', '\u{2192}', '-']);
            is_margin.then_some(line.len() - digits.len())
        };
        // `src/a.rs:12:` before a line that was found.
        numbered(0).or_else(|| line.find(':').filter(|colon| !line[..*colon].contains(' ')).and_then(|colon| numbered(colon + 1)))
    };
    let found = text.lines().any(|line| bare(line).is_some());
    found.then(|| text.lines().map(|line| line.get(bare(line).unwrap_or(0)..).unwrap_or_default()).collect::<Vec<_>>().join("\n"))
}

/// The calls in a text, if it names a tool with effects.
fn read_all(plan: &Plan, schemas: &Arc<Schemas>, text: &str) -> Vec<Made> {
    if !plan.tools.iter().any(|tool| tool.effect != Effect::Reads && text.contains(tool.name.as_str())) {
        return Vec::new();
    }
    // As if a call were required, nothing around the calls makes them examples.
    let mut tools = Arc::clone(&plan.tools);
    Arc::make_mut(&mut tools).choice = ToolChoice::Required;
    pieces(text).flat_map(|piece| read(plan, &tools, schemas, piece)).collect()
}

/// The text, and what it introduces: the words before a call may say that it is not to be run (`Repeat this: {..}`).
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let introduced = text.match_indices(':').filter_map(|(at, _)| {
        let piece = text[at + 1..].trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '`' | '"' | '\''));
        // The colon after a key introduces nothing.
        (piece.starts_with(['{', '[', '<']) && !text[..at].ends_with('"')).then_some(piece)
    });
    std::iter::once(text).chain(introduced.take(PIECES))
}

/// The calls of these tools in one text.
fn read(plan: &Plan, tools: &Arc<Tools>, schemas: &Arc<Schemas>, text: &str) -> Vec<Made> {
    let mut answer = Answer::new(Setup {
        scanner: scanner::Options { may_ask: scanner::MayAsk::Never, ..plan.scanner() },
        ..Setup::new(Arc::clone(&plan.adapter), Arc::clone(tools), Arc::clone(schemas))
    });
    let mut open = Assembly::default();
    let mut calls = Vec::new();
    let mut keep = |event: Event<'_>| {
        calls.extend(open.event(&event).map(|(_, call)| made(&call.name, &call.arguments)));
    };
    answer.delta(Delta::Text(Channel::Content, redact::head(text, TEXT_BYTES)), &mut keep);
    answer.delta(Delta::Finish(FinishReason::Stop), &mut keep);
    answer.finish(&mut keep);
    calls
}

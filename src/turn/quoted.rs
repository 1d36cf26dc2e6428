//! The calls in what the model has read since the user last spoke: results, and the user's message itself. A model that repeats
//! such a text does not make the call in it, so it is asked whether it means the call.
//!
//! A call is found in two ways: the text is read like an answer of the model, and the call is looked for by its letters, in
//! whatever form the text has it ([`letters`]). Both happen only when a call depends on it, because most answers have none.

use std::sync::{Arc, OnceLock};

use super::{
    answer::{Answer, Setup},
    gate::Texts,
};
use crate::{
    adapter::{CLIENT_RESULT, scanner},
    event::{Assembly, Channel, Delta, Effect, Event, FinishReason, Origin, Tool, ToolChoice, Tools},
    fix::Schemas,
    openai::is_spoken,
    plan::Plan,
    redact, same,
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
    /// The last one first.
    texts: Vec<Text>,
    /// How a text is read; `None`: no call is asked about.
    setup: Option<Setup>,
    /// The calls that the texts since the model's last answer are read to have.
    calls: OnceLock<Vec<same::Call>>,
    /// In mode `react`, the calls of this turn, because the model was asked about them, or has meant them.
    meant: Vec<same::Call>,
}

/// A text that the model has read.
#[derive(Debug)]
struct Text {
    text: String,
    /// How much of it is searched for the letters of a call, in bytes.
    searched: usize,
    kind: TextKind,
    /// Whether the model has not answered since.
    is_last: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TextKind {
    Result,
    /// The user's words.
    Asked,
    /// Other text in a message of the user's.
    Beside,
}

impl Quoted {
    /// What the model has read before its next answer.
    pub(super) fn of(plan: &Plan, schemas: &Arc<Schemas>) -> Quoted {
        let mut quoted = Quoted { tools: Arc::clone(&plan.tools), ..Quoted::default() };
        if !plan.tools.iter().any(|tool| tool.effect != Effect::Reads) {
            return quoted;
        }
        quoted.setup = Some(Setup {
            scanner: scanner::Options { may_ask: scanner::MayAsk::Never, ..plan.scanner() },
            ..Setup::new(Arc::clone(&plan.adapter), Arc::clone(&plan.tools), Arc::clone(schemas))
        });
        let (mut is_last, mut room) = (true, TEXTS_BYTES);
        for message in plan.chat.messages.iter().rev() {
            if message.role == "assistant" {
                is_last = false;
                // What was refused there is in the conversation, too.
                if plan.react.is_some() {
                    quoted.meant.extend(message.tool_calls.iter().map(|call| same::Call::new(&call.name, &call.arguments)));
                }
                continue;
            }
            let text = message.content.text();
            let is_result = message.role == "tool" || (plan.asking.verbatim && text.contains(CLIENT_RESULT));
            if !is_result && message.role != "user" {
                continue;
            }
            let searched = redact::head(&text, TEXT_BYTES.min(room)).len();
            room -= searched;
            let kind = match is_result {
                true => TextKind::Result,
                false if is_spoken(message) => TextKind::Asked,
                false => TextKind::Beside,
            };
            let text = if is_last { text.into_owned() } else { text[..searched].to_owned() };
            quoted.texts.push(Text { text, searched, kind, is_last });
            if kind == TextKind::Asked {
                break;
            }
        }
        quoted
    }

    /// The calls that the texts since the model's last answer are read to have.
    fn read(&self) -> Vec<same::Call> {
        let last = self.texts.iter().filter(|text| text.is_last);
        self.setup.iter().flat_map(|setup| last.clone().flat_map(|text| read_all(setup, &text.text))).collect()
    }
}

impl Texts for Quoted {
    fn has(&self, call: &same::Call) -> bool {
        if self.meant.contains(call) {
            return false;
        }
        let tool = self.tools.get(call.name());
        if self.calls.get_or_init(|| self.read()).contains(call) {
            return true;
        }
        if tool.is_some_and(|tool| tool.effect == Effect::Reads) {
            return false;
        }
        let wanted = Wanted::of(tool.map_or_else(|| vec![call.name()], names), call.arguments());
        let is_there = |text: &Text| {
            let (kind, text) = (text.kind, &text.text[..text.searched]);
            let has = |text: &str| Letters::of(text).contain(&wanted, kind == TextKind::Asked);
            match kind {
                TextKind::Result => has(text) || without_margins(text).is_some_and(|text| has(&text)),
                // The user may name tool and values without writing a call.
                TextKind::Asked => has(text),
                TextKind::Beside => false,
            }
        };
        self.texts.iter().any(is_there)
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
fn read_all(setup: &Setup, text: &str) -> Vec<same::Call> {
    if !setup.tools.iter().any(|tool| tool.effect != Effect::Reads && text.contains(tool.name.as_str())) {
        return Vec::new();
    }
    // The text is read as if a call were required, so that nothing around the calls makes them examples.
    let mut setup = setup.clone();
    Arc::make_mut(&mut setup.tools).choice = ToolChoice::Required;
    pieces(text).flat_map(|piece| read(&setup, piece)).collect()
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

/// The calls in one text.
fn read(setup: &Setup, text: &str) -> Vec<same::Call> {
    let mut answer = Answer::new(setup.clone());
    let mut open = Assembly::default();
    let mut calls = Vec::new();
    let mut keep = |event: Event<'_>| {
        calls.extend(open.event(&event).map(|(_, call)| same::Call::new(&call.name, &call.arguments)));
    };
    answer.delta(Delta::Text(Channel::Content, redact::head(text, TEXT_BYTES)), &mut keep);
    answer.delta(Delta::Finish(FinishReason::Stop), &mut keep);
    answer.finish(&mut keep);
    calls
}

//! Reads the bodies of calls. A reader gets the text from the start of the body and says that it needs more text, that this is not
//! a call, or the calls that it read. More text never changes what it said of a shorter one, other than that it needs more.

use crate::event::Tools;

use super::{Call, Syntax};

pub(crate) mod ahead;
mod assignments;
pub(super) mod element;
pub(super) mod entities;
pub(crate) mod field;
pub(super) mod json;
pub(super) mod lax;
pub(super) mod literal;
mod markdown;
mod marker;
pub(crate) mod members;
pub(super) mod named;
mod nested;
pub(super) mod python;
pub(super) mod recipient;
pub(crate) mod tagged;
pub(crate) mod typing;
pub(super) mod value;

pub(crate) use ahead::Start;
use ahead::find_any;
pub(super) use ahead::{Seen, WORD_BYTES, blank, is_blank, starts_with_any};
pub(super) use marker::starts_with_any_tag;

/// A body of this length is read with every piece of it.
const SHORT_BYTES: usize = 64;
/// How many times a body is read because a piece may end it.
const WORK: usize = 4;
/// Arguments that the fixer never completes, because the call was truncated.
const UNFINISHED: &str = "{\"";

/// A call as it was read. The arguments are source text that the fixer still has to repair.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Parsed {
    pub(super) name: String,
    pub(super) id: Option<String>,
    pub(super) arguments: String,
}

impl Parsed {
    /// A call without an id.
    pub(super) fn new(name: impl Into<String>, arguments: impl Into<String>) -> Parsed {
        Parsed { name: name.into(), id: None, arguments: arguments.into() }
    }
}

/// The result of a reading step. Offsets count from the start of the body.
#[derive(Debug, PartialEq)]
pub(super) enum Step {
    /// More text decides.
    More,
    /// This is not a call.
    Reject,
    /// This is a value that is not a call and ends there.
    Passed(usize),
    /// Complete calls. The text continues at `end`, after the calls and their closing marker.
    Done { calls: Vec<Parsed>, end: usize },
    /// A marked call that is closed but malformed, after complete ones. `torn` has its arguments as written. They never reach the
    /// fixer, which would find something in any text. `end` as in [`Step::Done`].
    Torn { whole: Vec<Parsed>, torn: Parsed, why: &'static str, end: usize },
    /// The text ended inside a call, after complete ones. `cut` has what was read of it; its name is empty unless the end of the
    /// name was read. `closed`: its arguments are closed, and only what surrounds them is open.
    Cut { whole: Vec<Parsed>, cut: Parsed, closed: bool },
}

impl Step {
    /// One complete call.
    fn done(call: Parsed, end: usize) -> Step {
        Step::Done { calls: vec![call], end }
    }

    /// One truncated call.
    fn cut(call: Parsed) -> Step {
        Step::Cut { whole: Vec::new(), cut: call, closed: false }
    }

    /// A call whose name is truncated.
    fn nameless() -> Step {
        Step::cut(Parsed::default())
    }
}

/// What a reader knows besides the text.
#[derive(Clone, Copy)]
pub(super) struct Context<'a> {
    /// The form that is being read.
    pub(super) call: &'a Call,
    /// What closes the body: the form's closing markers, or the code fence around it.
    pub(super) close: &'a [String],
    /// The offered tools, for the names of elements and the names and types of parameters.
    pub(super) tools: &'a Tools,
    /// Whether a marker precedes the body.
    pub(super) marked: bool,
    /// Whether the prompt asks for elements. If so, a careless element is read if it has only one meaning.
    pub(super) lenient: bool,
    /// Whether the text is complete.
    pub(super) end: bool,
    /// Whether a limit truncated the answer.
    pub(super) cut: bool,
}

/// Reads a body, which begins where `text` does.
pub(super) fn read(text: &str, context: Context<'_>) -> Step {
    let step = match &context.call.syntax {
        Syntax::Json(keys) => json::read(text, keys, context),
        Syntax::Named(named) => named::read(text, named, context),
        Syntax::Element(tagged) => element::read(text, tagged, context),
        Syntax::Python => python::read(text, context),
        Syntax::Lax(lax) => lax::read(text, lax, context),
        Syntax::Recipient(recipient) => recipient::read(text, recipient, context),
        Syntax::Tagged(tagged) => tagged::read(text, tagged, context),
    };
    match step {
        Step::Done { calls, end } => {
            let calls = calls.into_iter().map(markdown::unescaped);
            Step::Done { calls: calls.flat_map(|call| json::bundled(call, context)).collect(), end }
        }
        Step::Cut { whole, cut, closed } => {
            let whole = whole.into_iter().map(markdown::unescaped).collect();
            Step::Cut { whole, cut: markdown::unescaped(cut), closed }
        }
        step => step,
    }
}

/// The tool's name in a body that is not complete, or `None` if it is not there yet. It stands near the beginning.
pub(super) fn name(text: &str, context: Context<'_>) -> Option<String> {
    let window = &text[..text.floor_char_boundary(2 * WORD_BYTES)];
    let (whole, last) = match read(window, Context { end: true, cut: true, ..context }) {
        Step::Done { calls, .. } => (calls, None),
        Step::Cut { whole, cut, .. } => (whole, Some(cut)),
        Step::Torn { whole, torn, .. } => (whole, Some(torn)),
        Step::More | Step::Reject | Step::Passed(_) => return None,
    };
    whole.into_iter().chain(last).next().map(|call| call.name).filter(|name| !name.is_empty())
}

/// When a growing body is read: with every piece while it is short, then with pieces that may end it while all readings together
/// are not longer than [`WORK`] times the body, and in any case when it has grown by half.
#[derive(Debug, Default)]
pub(super) struct Attempts {
    /// The length up to which the body was seen, and from which on it is read anyway.
    seen: usize,
    next: usize,
    /// The bytes of all readings.
    read: usize,
}

impl Attempts {
    /// Whether the body is read now. `last`: no more of it will be.
    pub(super) fn is_due(&mut self, text: &str, last: bool) -> bool {
        let may_end = |byte: &u8| matches!(byte, b'>' | b'}' | b']' | b')' | b'`' | b'\n');
        let length = text.len();
        let ends = self.read <= WORK * length && text.as_bytes()[self.seen.min(length)..].iter().any(may_end);
        self.seen = length;
        let is_due = last || length <= SHORT_BYTES || length >= self.next || ends;
        if is_due {
            (self.next, self.read) = (length + length / 2, self.read + length);
        }
        is_due
    }
}

/// A call after `whole` ones whose arguments begin at `from` and cannot be read: only a closing marker can end it.
fn torn(text: &str, from: usize, whole: Vec<Parsed>, name: &str, why: &'static str, context: Context<'_>) -> Step {
    match find_any(text, from, context.close) {
        Some((begin, end)) => Step::Torn { whole, torn: Parsed::new(name, text[from..begin].trim()), why, end },
        None if context.end => Step::Cut { whole, cut: Parsed::new(name, UNFINISHED), closed: false },
        None => Step::More,
    }
}

/// Whether `text` begins with the name of an offered tool and one of `ends`, or may still do so. Prose is not held for it.
fn begins_with_a_name(text: &str, ends: &[String], context: Context<'_>) -> bool {
    context.tools.iter().any(|tool| match text.strip_prefix(tool.name.as_str()) {
        Some("") => true,
        Some(after) if ends.iter().any(String::is_empty) && after.starts_with('{') => true,
        Some(after) => starts_with_any(after, ends, context.end) != Start::No,
        None => tool.name.starts_with(text),
    })
}

/// Removes the closing brace, so that the arguments are as incomplete as their call.
fn unclosed(arguments: &str) -> String {
    arguments.strip_suffix('}').unwrap_or(UNFINISHED).to_owned()
}

/// The arguments as if the text ended in their next key, so that nothing completes them. Text after an object shows that anyway.
fn torn_arguments(arguments: &str) -> String {
    let Some(members) = arguments.strip_suffix('}') else { return arguments.to_owned() };
    format!("{members}{}\"", if members.ends_with('{') { "" } else { "," })
}

#[cfg(test)]
mod tests;

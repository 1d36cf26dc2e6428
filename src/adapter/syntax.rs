//! How the bodies of calls are read: each syntax is a resumable reader that is fed the text from where the body begins and
//! says whether it needs more, is not a call after all, or has read calls up to some offset.

use crate::event::Tools;

use super::{Call, Syntax};

mod ahead;
mod arguments;
mod assignments;
mod doubled;
pub(super) mod element;
pub(super) mod entities;
mod field;
pub(super) mod json;
pub(super) mod lax;
pub(super) mod literal;
mod markdown;
mod marker;
pub(super) mod members;
pub(super) mod named;
pub(super) mod nested;
pub(super) mod place;
pub(super) mod python;
pub(super) mod recipient;
mod scalar;
pub(super) mod tagged;
pub(super) mod typing;
pub(super) mod value;

pub(super) use ahead::{Seen, Start, WORD_BYTES, blank, find_any, is_blank, starts_with_any};

/// Arguments that no fixer completes: the call was cut.
const UNFINISHED: &str = "{\"";

/// A call as it was read: the arguments are still source text, to be fixed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Parsed {
    pub(super) name: String,
    pub(super) id: Option<String>,
    pub(super) arguments: String,
}

/// What a reader says.
#[derive(Debug, PartialEq)]
pub(super) enum Step {
    /// It may still be a call.
    More,
    /// It is not.
    Reject,
    /// It is not, but a value that ends here; whether that is strict JSON.
    Passed { end: usize, sound: bool },
    /// Calls, and where the text goes on after them and their closing marker.
    Done { calls: Vec<Parsed>, end: usize },
    /// A marked call that is closed and cannot be read, after others that can: its arguments are as written, and `end` as in
    /// [`Step::Done`]. They are never handed to the fixer, which would find something in any text.
    Torn { whole: Vec<Parsed>, torn: Parsed, why: &'static str, end: usize },
    /// The text ended inside of a call, after others that are whole. `cut` is as far as it got; its name is empty unless it
    /// was ended by what ends names. `closed`: its arguments are closed, and only what surrounds them is open.
    Cut { whole: Vec<Parsed>, cut: Parsed, closed: bool },
}

impl Step {
    /// The text ended before the name of a call did.
    fn nameless() -> Step {
        Step::Cut { whole: Vec::new(), cut: Parsed::default(), closed: false }
    }
}

/// What a reader may look at besides the text.
#[derive(Clone, Copy)]
pub(super) struct Context<'a> {
    /// The form that is being read.
    pub(super) call: &'a Call,
    /// What closes the body: the form's markers, or the fence.
    pub(super) close: &'a [String],
    /// The offered tools: element names, parameter names and types.
    pub(super) tools: &'a Tools,
    /// The body comes after a marker of its own.
    pub(super) marked: bool,
    /// The prompt asks for elements: one that is written carelessly is read as what it can only mean.
    pub(super) lenient: bool,
    /// No more text will come.
    pub(super) end: bool,
}

/// A reader of one body.
#[derive(Debug)]
pub(super) enum Reader {
    Json(json::JsonReader),
    Named(named::NamedReader),
    Element(element::ElementReader),
    Python(python::PythonReader),
    Lax(lax::LaxReader),
    Recipient(recipient::RecipientReader),
    Tagged(tagged::TaggedReader),
    Nested(nested::NestedReader),
}

// === impl Reader ===

impl Reader {
    pub(super) fn new(syntax: &Syntax) -> Reader {
        match syntax {
            Syntax::Json(_) => Reader::Json(json::JsonReader::default()),
            Syntax::Named(_) => Reader::Named(named::NamedReader::default()),
            Syntax::Element => Reader::Element(element::ElementReader::default()),
            Syntax::Python => Reader::Python(python::PythonReader::default()),
            Syntax::Lax(_) => Reader::Lax(lax::LaxReader::default()),
            Syntax::Recipient(_) => Reader::Recipient(recipient::RecipientReader::default()),
            Syntax::Tagged(_) => Reader::Tagged(tagged::TaggedReader::default()),
            Syntax::Nested(_) => Reader::Nested(nested::NestedReader::default()),
        }
    }

    /// Reads on; `text` is everything from where the body begins, longer with every call.
    pub(super) fn read(&mut self, text: &str, context: Context<'_>) -> Step {
        let step = match (self, &context.call.syntax) {
            (Reader::Json(reader), Syntax::Json(keys)) => reader.read(text, keys, context),
            (Reader::Named(reader), Syntax::Named(named)) => reader.read(text, named, context),
            (Reader::Element(reader), Syntax::Element) => reader.read(text, context),
            (Reader::Python(reader), Syntax::Python) => reader.read(text, context),
            (Reader::Lax(reader), Syntax::Lax(lax)) => reader.read(text, lax, context),
            (Reader::Recipient(reader), Syntax::Recipient(recipient)) => reader.read(text, recipient, context),
            (Reader::Tagged(reader), Syntax::Tagged(tagged)) => reader.read(text, tagged, context),
            (Reader::Nested(reader), Syntax::Nested(nested)) => reader.read(text, nested, context),
            _ => Step::Reject,
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
}

impl Reader {
    /// The tool's name, as far as it was seen.
    pub(super) fn name(&self, text: &str, context: Context<'_>) -> Option<String> {
        match (self, &context.call.syntax) {
            (Reader::Json(reader), Syntax::Json(keys)) => reader.name(text, keys),
            (Reader::Named(reader), _) => reader.name(),
            (Reader::Python(reader), _) => reader.name(),
            (Reader::Lax(reader), _) => reader.name(),
            (Reader::Recipient(reader), _) => reader.name(),
            (Reader::Tagged(reader), _) => reader.name(),
            (Reader::Nested(reader), _) => reader.name(),
            (Reader::Element(reader), _) => reader.name(),
            _ => None,
        }
    }
}

/// Whether an offered tool's name and what ends it are here, or may still come: prose is not held back.
fn begins_with_a_name(text: &str, ends: &[String], context: Context<'_>) -> bool {
    context.tools.iter().any(|tool| match text.strip_prefix(tool.name.as_str()) {
        Some("") => true,
        Some(after) if ends.iter().any(String::is_empty) && after.starts_with('{') => true,
        Some(after) => starts_with_any(after, ends, context.end) != Start::No,
        None => tool.name.starts_with(text),
    })
}

/// The same arguments, as unfinished as the call is: the closing brace is omitted.
fn unclosed(arguments: &str) -> String {
    arguments.strip_suffix('}').unwrap_or(UNFINISHED).to_owned()
}

/// Looks for the closing marker of a call that cannot be read.
#[derive(Debug)]
struct Closing {
    seen: usize,
}

impl Closing {
    fn after(seen: usize) -> Closing {
        Closing { seen }
    }

    /// Where the marker begins and ends; `None` if it is not there yet.
    fn find(&mut self, text: &str, close: &[String]) -> Option<(usize, usize)> {
        let found = find_any(text, self.seen, close);
        let longest = close.iter().map(String::len).max().unwrap_or(1);
        self.seen = text.floor_char_boundary(text.len().saturating_sub(longest)).max(self.seen);
        found
    }
}

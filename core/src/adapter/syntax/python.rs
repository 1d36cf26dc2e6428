//! Reads calls as Python: `[f(a=1), g(b="x")]`, or one `f(a=1)` per line; between markers and in a fence also `print(f(a=1))` and
//! `r = f(a=1)`. Positional arguments get the names of the tool's parameters in the schema's order.

use std::convert::Infallible;

use super::{
    Context, Parsed, Start, Step, WORD_BYTES, blank, find_any,
    literal::{self, Dialect, Item, Node, Read, number},
    markdown::plain,
    place::arguments,
    starts_with_any, torn, unclosed,
};
use crate::fix::{
    Place, Types, View,
    name::{is_known, is_method, known_tool},
};

mod head;
#[cfg(test)]
mod tests;

use head::{Head, head};

const FENCE: &str = "```";

/// Reads a list of calls, or calls on lines.
pub(crate) fn read(text: &str, context: Context<'_>) -> Step {
    let mut calls = Calls { text, context, calls: Vec::new(), at: 0, bracket: false, assigned: Vec::new() };
    let Err(step) = calls.all();
    step
}

/// The calls of one body, as far as they were read.
struct Calls<'a> {
    text: &'a str,
    context: Context<'a>,
    calls: Vec<Parsed>,
    /// Start of the current call, or of the text after the last one.
    at: usize,
    /// Whether the calls are in brackets.
    bracket: bool,
    /// The variables that results were assigned to.
    assigned: Vec<String>,
}

/// The head of a call that was read.
struct Begun {
    name: String,
    /// Where its parenthesis opens, and how many others are open around it.
    open: usize,
    around: usize,
}

impl<'a> Calls<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// Reads call after call. The error says how it ends.
    fn all(&mut self) -> Result<Infallible, Step> {
        self.begin()?;
        loop {
            let Some(begun) = self.head()? else { return Err(self.after_calls()) };
            self.arguments(begun)?;
            if !self.between()? {
                return Err(self.after_calls());
            }
        }
    }

    fn begin(&mut self) -> Result<(), Step> {
        let context = self.context;
        loop {
            self.at += blank(self.rest());
            let rest = self.rest();
            if rest.is_empty() {
                return Err(if context.end { Step::Reject } else { Step::More });
            }
            if !context.marked {
                break;
            }
            if let Some(length) = starts_with_any(rest, context.close, context.end).sure()? {
                return Err(self.done(self.at + length));
            }
            if starts_with_any(rest, [FENCE], context.end).sure()?.is_none() {
                break;
            }
            match rest.find('\n') {
                Some(newline) if newline <= WORD_BYTES => self.at += newline,
                None if !context.end && rest.len() <= WORD_BYTES => return Err(Step::More),
                _ => return Err(Step::Reject),
            }
        }
        let rest = self.rest();
        // A bare call belongs to the other form. A printed call is meant too.
        if context.call.whole_answer && context.close.is_empty() {
            starts_with_any(rest, ["print("], context.end).sure()?.ok_or(Step::Reject)?;
        }
        self.bracket = rest.starts_with('[');
        self.at += usize::from(self.bracket);
        Ok(())
    }

    /// Reads the head of the next call. `None`: none follows.
    fn head(&mut self) -> Result<Option<Begun>, Step> {
        let context = self.context;
        loop {
            self.at += blank(self.rest());
            let rest = self.rest();
            if self.bracket && rest.starts_with(']') && (context.marked || !self.calls.is_empty()) {
                self.at += 1;
                return Ok(None);
            }
            if !self.bracket && !self.calls.is_empty() && self.closes()? {
                return Ok(None);
            }
            // A tool may have the name of the function that may be around a call.
            let prints = context.tools.get("print").is_some();
            let lines = !self.bracket && (context.call.whole_answer || !context.close.is_empty());
            match head(rest, lines, prints, &self.assigned) {
                Head::Skip(length) => self.at += length,
                Head::Call { name, open, around, variable } => {
                    if !context.marked && (!is_known(context.tools, &name) || is_method(context.tools, &name)) {
                        return Err(self.stop());
                    }
                    self.assigned.extend(variable);
                    return Ok(Some(Begun { name: callee(name, context), open: self.at + open, around }));
                }
                Head::Maybe if !context.end => return Err(Step::More),
                Head::Maybe if self.bracket && !self.calls.is_empty() => return Err(self.cut("", None)),
                Head::Maybe | Head::No => return Err(self.stop()),
            }
        }
    }

    /// Reads the arguments, and the parentheses around the call.
    fn arguments(&mut self, Begun { name, open, around }: Begun) -> Result<(), Step> {
        let (text, context) = (self.text, self.context);
        let view = View::of(known_tool(context.tools, &name));
        let dialect = Dialect { delimiters: &[], loose: None, place: view.root(), end: context.end, lenient: false };
        let mut read = literal::read(text, open, dialect);
        let lenient = read == Read::Fail && context.marked && !context.close.is_empty();
        if lenient {
            read = match find_any(text, open, context.close) {
                Some((begin, _)) => literal::read(&text[..begin], open, Dialect { end: true, lenient, ..dialect }),
                None if context.end => Read::Fail,
                None => return Err(Step::More),
            };
        }
        let read = match read {
            Read::Done { items, end } if self.waits(&items) => return Err(self.waiting(end)),
            Read::Done { items, end } if words_fit(&items, view.root(), context.marked) => {
                arguments(items, view.root()).map(|arguments| (arguments, end))
            }
            Read::More(_) if !lenient && !context.end => return Err(Step::More),
            Read::More(items) if !lenient => {
                let items = items.filter(|_| context.marked && around == 0);
                return Err(self.cut(&name, items.and_then(|items| arguments(items, view.root()))));
            }
            Read::Done { .. } | Read::More(_) | Read::Fail => None,
        };
        match read {
            Some((arguments, end)) => {
                self.calls.push(Parsed::new(name, arguments));
                self.at = end;
                (0..around).try_for_each(|_| self.around())
            }
            None if context.close.is_empty() || !context.marked => Err(Step::Reject),
            None => Err(self.torn(&name)),
        }
    }

    /// Whether the call uses the result of an earlier one, which is not known yet.
    fn waits(&self, items: &[Item]) -> bool {
        let is_assigned = |node: &Node| matches!(node, Node::Bare(text) if self.assigned.contains(text));
        items.iter().any(|(_, node)| is_assigned(node))
    }

    /// Such a call and all later ones are left out.
    fn waiting(&mut self, after: usize) -> Step {
        match find_any(self.text, after, self.context.close) {
            _ if self.calls.is_empty() => Step::Reject,
            Some((_, end)) => self.done(end),
            None if self.context.end => self.done(self.text.len()),
            None => Step::More,
        }
    }

    /// A parenthesis around a call closes.
    fn around(&mut self) -> Result<(), Step> {
        let at = self.at + blank(self.rest());
        match self.text.as_bytes().get(at) {
            Some(b')') => {
                self.at = at + 1;
                Ok(())
            }
            None if !self.context.end => Err(Step::More),
            // The call is complete, and only what surrounds it is open.
            None => Err(self.done(at)),
            Some(_) => Err(Step::Reject),
        }
    }

    /// No call follows. The calls before it count, unless they are in brackets that are still open.
    fn stop(&mut self) -> Step {
        let end = self.text[..self.at].trim_end().len();
        if self.bracket || self.calls.is_empty() { Step::Reject } else { self.done(end) }
    }

    /// Reads what is between two calls. `false`: they end here.
    fn between(&mut self) -> Result<bool, Step> {
        let context = self.context;
        let gap = blank(self.rest());
        let newline = self.rest()[..gap].contains('\n');
        self.at += gap;
        let rest = self.rest();
        match rest.as_bytes().first() {
            None if !context.end => return Err(Step::More),
            // The calls are complete. At most the bracket is missing.
            None => return Err(self.done(self.at)),
            Some(b',' | b';') => self.at += 1,
            Some(b']') if self.bracket => {
                self.at += 1;
                return Ok(false);
            }
            Some(b'"' | b'\'') if context.marked && !newline => return Err(self.torn_last()),
            Some(_) if self.bracket && !context.marked => return Err(Step::Reject),
            Some(_) if !context.close.is_empty() => {
                let closes = self.closes()?;
                let goes_on = !closes && (newline || rest.starts_with('#'));
                return if goes_on || closes || context.marked { Ok(goes_on) } else { Err(Step::Reject) };
            }
            Some(_) if newline => {}
            // A call within a sentence does not count.
            Some(_) => return Err(Step::Reject),
        }
        Ok(true)
    }

    /// Whether a closing marker or the end of a fence is here.
    fn closes(&self) -> Result<bool, Step> {
        let ends = self.context.close.iter().map(String::as_str).chain([FENCE]);
        Ok(starts_with_any(self.rest(), ends, self.context.end).sure()?.is_some())
    }

    /// Reads the closing marker, and the end of a fence inside the markers.
    fn after_calls(&mut self) -> Step {
        let Calls { text, context, at, .. } = *self;
        let junk = |c: char| c.is_whitespace() || (context.marked && matches!(c, '`' | ']' | ';'));
        let rest = text[at..].trim_start_matches(junk);
        let seen = text.len() - rest.len();
        if rest.is_empty() && !context.end {
            return Step::More;
        }
        match starts_with_any(rest, context.close, context.end) {
            Start::Yes(length) => self.done(seen + length),
            Start::Maybe => Step::More,
            Start::No if context.marked && !context.close.is_empty() => match find_any(text, seen, context.close) {
                None if !context.end => Step::More,
                found if text[at..found.map_or(text.len(), |(begin, _)| begin)].contains(['"', '\'']) => self.torn_last(),
                _ => self.done(at),
            },
            // `[text](address)` is a link. After an escape, the bracket was in a string.
            Start::No if !context.marked && text[at..].starts_with(['(', '\\']) => Step::Reject,
            Start::No => self.done(at),
        }
    }

    /// The parenthesis that closed the last call was in a string whose quotes are not escaped.
    fn torn_last(&mut self) -> Step {
        let name = self.calls.pop().map(|call| call.name).unwrap_or_default();
        self.torn(&name)
    }

    /// The arguments are no literals: only a closing marker can end the call.
    fn torn(&mut self, name: &str) -> Step {
        let why = "an argument is no literal, or has no parameter";
        torn(self.text, self.at, std::mem::take(&mut self.calls), name, why, self.context)
    }

    fn done(&mut self, end: usize) -> Step {
        Step::Done { calls: std::mem::take(&mut self.calls), end }
    }

    /// The text ended inside a call, or inside of its name if that is empty. `so_far`: its arguments, if only the closing parenthesis
    /// is missing.
    fn cut(&mut self, name: &str, so_far: Option<String>) -> Step {
        let whole = std::mem::take(&mut self.calls);
        let cut = if name.is_empty() { Parsed::default() } else { Parsed::new(name, unclosed(&so_far.unwrap_or_default())) };
        Step::Cut { whole, cut, closed: false }
    }
}

/// The name of the tool. `f.call(...)` calls `f` unless a tool has the longer name.
fn callee(name: String, context: Context<'_>) -> String {
    let known = |name: &str| is_known(context.tools, name);
    match name.strip_suffix(".call") {
        Some(short) if !known(&name) => short.to_owned(),
        _ => name,
    }
}

/// Whether every unquoted text is a value: the tool must want a string there, else it is a variable or an expression. Without a
/// marker only literals are values.
fn words_fit(items: &[Item], place: Place<'_>, marked: bool) -> bool {
    let fits = |key: &str| place.member(&plain(key)).allows(Types::STRING) == Some(true);
    items.iter().all(|(key, node)| match (key, node) {
        (_, Node::Bare(text)) if number(text).is_some() => true,
        // `f(city=city)` passes a variable.
        (Some(key), Node::Bare(text)) => marked && key != text && fits(key),
        (None, Node::Bare(_)) => false,
        _ => true,
    })
}

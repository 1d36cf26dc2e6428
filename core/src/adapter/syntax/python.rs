//! Reads calls as Python: `[f(a=1), g(b="x")]`, or one `f(a=1)` per line; between markers and in a fence also `print(f(a=1))` and
//! `r = f(a=1)`. Positional arguments get the names of the tool's parameters in the schema's order.

use std::convert::Infallible;

use super::{
    Context, Parsed, Step, UNFINISHED, WORD_BYTES, blank, find_any,
    literal::{self, Arguments, Dialect, Stop},
    markdown::plain,
    starts_with_any, torn,
};
use crate::fix::{
    View,
    name::{is_known, is_method, known_tool},
};

#[cfg(test)]
mod tests;

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

/// What a line begins with.
enum Head<'a> {
    /// A call: its name, the offset of its parenthesis, how many others are open around it, and the variable that it is assigned to.
    Call {
        name: &'a str,
        open: usize,
        around: usize,
        variable: Option<&'a str>,
    },
    /// Text of this length that calls nothing.
    Skip(usize),
    No,
}

impl<'a> Calls<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// Reads call after call. The error says how it ends.
    fn all(&mut self) -> Result<Infallible, Step> {
        self.at += blank(self.rest());
        // A bare call belongs to the other form. A printed call is meant too.
        if self.context.call.whole_answer && self.context.close.is_empty() {
            starts_with_any(self.rest(), ["print("], self.context.end).sure()?.ok_or(Step::Reject)?;
        }
        self.bracket = self.rest().starts_with('[');
        self.at += usize::from(self.bracket);
        while self.call()? && self.between()? {}
        Err(self.after_calls()?)
    }

    /// Reads the next call. `false`: none follows.
    fn call(&mut self) -> Result<bool, Step> {
        let context = self.context;
        loop {
            self.at += blank(self.rest());
            let rest = self.rest();
            let may_end = context.marked || !self.calls.is_empty();
            if may_end && self.bracket && rest.starts_with(']') {
                self.at += 1;
                return Ok(false);
            }
            if may_end && !self.bracket && self.closes()? {
                return Ok(false);
            }
            match self.head() {
                Some(Head::Skip(length)) => self.at += length,
                Some(Head::Call { name, open, around, variable }) => {
                    if !context.marked && (!is_known(context.tools, name) || is_method(context.tools, name)) {
                        return Err(self.stop());
                    }
                    self.assigned.extend(variable.map(str::to_owned));
                    self.arguments(callee(name, context), self.at + open, around)?;
                    return Ok(true);
                }
                None if !context.end => return Err(Step::More),
                None if self.bracket && !self.calls.is_empty() => return Err(self.cut("")),
                None | Some(Head::No) => return Err(self.stop()),
            }
        }
    }

    /// Reads what precedes the arguments of a call. `None`: more text decides. Calls that have a place of their own may have comments,
    /// assignments and `print` around them, unless a tool has that name.
    fn head(&self) -> Option<Head<'a>> {
        let (text, context) = (self.rest(), self.context);
        let lines = !self.bracket && (context.call.whole_answer || !context.close.is_empty());
        if lines && text.starts_with('#') {
            return text.find('\n').map(Head::Skip);
        }
        let prints = lines && context.tools.get("print").is_none();
        let (mut at, mut around, mut variable) = (0, 0, None);
        loop {
            // The window bounds the cost: heads are tried at many positions.
            let rest = &text[at..text.floor_char_boundary(at + WORD_BYTES + 1)];
            let length = rest.find(|c: char| !(c.is_ascii_alphanumeric() || "_-.\\".contains(c)));
            let word = &rest[..length.unwrap_or(rest.len())];
            if at + word.len() > WORD_BYTES || word.starts_with(|c: char| !(c.is_ascii_alphabetic() || c == '_')) {
                return Some(Head::No);
            }
            at += length?;
            at += if lines { text[at..].len() - text[at..].trim_start_matches(' ').len() } else { 0 };
            match text.as_bytes()[at..] {
                _ if word.is_empty() || plain(word).contains('\\') => return Some(Head::No),
                [] | [b'='] => return None,
                [b'(', ..] if prints && word == "print" => (at, around) = (at + 1, around + 1),
                [b'(', ..] => return Some(Head::Call { name: word, open: at, around, variable }),
                [b')', ..] if around > 0 && self.assigned.iter().any(|name| name == word) => return Some(Head::Skip(at + 1)),
                [b'=', next, ..] if lines && next != b'=' && variable.is_none() && around == 0 => {
                    (variable, at) = (Some(word), at + 1 + blank(&text[at + 1..]));
                }
                _ => return Some(Head::No),
            }
        }
    }

    /// Reads the arguments, and the parentheses around the call.
    fn arguments(&mut self, name: String, open: usize, around: usize) -> Result<(), Step> {
        let (text, context) = (self.text, self.context);
        let view = View::of(known_tool(context.tools, &name));
        let (names, variables) = (context.marked, self.assigned.as_slice());
        let dialect = Dialect { place: view.root(), delimiters: None, names, variables, lenient: false };
        let is_enclosed = context.marked && !context.close.is_empty();
        let mut read = literal::read(text, open, dialect);
        if is_enclosed && matches!(read, Err(Stop::Fail)) {
            let marker = find_any(text, open, context.close).map(|(begin, _)| begin);
            let Some(end) = marker.or(context.end.then_some(open)) else { return Err(Step::More) };
            read = literal::read(&text[..end], open, Dialect { lenient: true, ..dialect }).map_err(|_| Stop::Fail);
        }
        match read {
            // Such a call and all later ones are left out.
            Ok(Arguments { waits: true, .. }) if self.calls.is_empty() => return Err(Step::Reject),
            Ok(Arguments { waits: true, end, .. }) => {
                let marker = find_any(text, end, context.close).map(|(_, end)| end);
                return Err(marker.or(context.end.then_some(text.len())).map_or(Step::More, |end| self.done(end)));
            }
            Ok(Arguments { text: Some(arguments), end, .. }) => {
                self.calls.push(Parsed::new(name, arguments));
                self.at = end;
            }
            Err(Stop::More) if context.end => return Err(self.cut(&name)),
            Err(Stop::More) => return Err(Step::More),
            Ok(_) | Err(Stop::Fail) if is_enclosed => return Err(self.torn(&name)),
            Ok(_) | Err(Stop::Fail) => return Err(Step::Reject),
        }
        for _ in 0..around {
            self.at += blank(self.rest());
            match self.rest().bytes().next() {
                Some(b')') => self.at += 1,
                None if !context.end => return Err(Step::More),
                // The call is complete, and only what surrounds it is open.
                None => return Err(self.done(self.at)),
                Some(_) => return Err(Step::Reject),
            }
        }
        Ok(())
    }

    /// No call follows. The calls before it count, unless they are in brackets that are still open.
    fn stop(&mut self) -> Step {
        let end = self.text[..self.at].trim_end().len();
        if self.bracket || self.calls.is_empty() { Step::Reject } else { self.done(end) }
    }

    /// Reads what is between two calls. `false`: they end here.
    fn between(&mut self) -> Result<bool, Step> {
        let Context { marked, close, end, .. } = self.context;
        let gap = blank(self.rest());
        let newline = self.rest()[..gap].contains('\n');
        self.at += gap;
        match self.rest().bytes().next() {
            None if !end => Err(Step::More),
            // The calls are complete. At most the bracket is missing.
            None => Err(self.done(self.at)),
            Some(sign) if matches!(sign, b',' | b';') || sign == b']' && self.bracket => {
                self.at += 1;
                Ok(sign != b']')
            }
            Some(_) if self.bracket && !marked => Err(Step::Reject),
            Some(_) if !close.is_empty() && self.closes()? => Ok(false),
            Some(first) if newline || first == b'#' && !close.is_empty() => Ok(true),
            Some(_) if marked && !close.is_empty() => Ok(false),
            // A call within a sentence does not count.
            Some(_) => Err(Step::Reject),
        }
    }

    /// Whether a closing marker or the end of a fence is here.
    fn closes(&self) -> Result<bool, Step> {
        let ends = self.context.close.iter().map(String::as_str).chain([FENCE]);
        Ok(starts_with_any(self.rest(), ends, self.context.end).sure()?.is_some())
    }

    /// Reads the closing marker, and the end of a fence inside the markers.
    fn after_calls(&mut self) -> Result<Step, Step> {
        let Calls { text, context, at, .. } = *self;
        let junk = |c: char| c.is_whitespace() || (context.marked && matches!(c, '`' | ']' | ';'));
        let rest = text[at..].trim_start_matches(junk);
        let seen = text.len() - rest.len();
        let closed = starts_with_any(rest, context.close, context.end).sure()?;
        Ok(self.done(closed.map_or(at, |length| seen + length)))
    }

    /// The arguments are no literals: only a closing marker can end the call.
    fn torn(&mut self, name: &str) -> Step {
        let why = "an argument is no literal, or has no parameter";
        torn(self.text, self.at, std::mem::take(&mut self.calls), name, why, self.context)
    }

    fn done(&mut self, end: usize) -> Step {
        Step::Done { calls: std::mem::take(&mut self.calls), end }
    }

    /// The text ended inside a call, or inside of its name if that is empty.
    fn cut(&mut self, name: &str) -> Step {
        Step::Cut { whole: std::mem::take(&mut self.calls), cut: Parsed::new(name, UNFINISHED), closed: false }
    }
}

/// The name of the tool. `f.call(...)` calls `f` unless a tool has the longer name.
fn callee(name: &str, context: Context<'_>) -> String {
    let short = name.strip_suffix(".call").filter(|_| !is_known(context.tools, name));
    short.unwrap_or(name).to_owned()
}

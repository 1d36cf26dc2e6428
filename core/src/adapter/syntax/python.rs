//! Reads calls as Python: `[f(a=1), g(b="x")]`, or one `f(a=1)` per line, also as `print(f(a=1))` or `r = f(a=1)`, and in a fence
//! of its own. Positional arguments get the names of the tool's parameters in the schema's order.

use super::{
    Closing, Context, Parsed, Start, Step, WORD_BYTES, blank,
    literal::{self, Attempts, Dialect, Item, Node, Read},
    place::Document,
    starts_with_any, unclosed,
};
use crate::fix::name::{is_known, is_method, known_tool};

mod ends;
mod head;
mod items;
#[cfg(test)]
mod tests;

use ends::{closes, ends_as_a_call, in_lines, prints};
use head::{Head, head, is_builtin};
use items::{arguments, words_fit};

const FENCE: &str = "```";
const PRINT: &str = "print(";

/// Reads a list of calls, or calls on lines.
#[derive(Debug, Default)]
pub(crate) struct PythonReader {
    calls: Vec<Parsed>,
    phase: Phase,
    /// Start of the current call, or of the text after the last one.
    at: usize,
    /// Whether the calls are in brackets.
    bracket: bool,
    /// The variables that results were assigned to.
    assigned: Vec<String>,
}

#[derive(Debug, Default)]
enum Phase {
    /// At the beginning.
    #[default]
    Begin,
    /// Before a call.
    Head,
    /// Inside its parentheses, with `around` others open around the call.
    Arguments {
        name: String,
        around: usize,
        document: Box<Document>,
        keys: Vec<String>,
        open: usize,
        attempts: Attempts,
        closing: Option<Closing>,
    },
    /// After a call that still has this many parentheses around it.
    Around(usize),
    /// After a call. `newline`: a newline was read since.
    Between { newline: bool },
    /// After all calls. Text that may belong to them was scanned up to `seen`.
    After { seen: usize },
    /// In text between the calls and their closing marker.
    Beyond(Closing),
    /// The next call uses the result of an earlier one, which is not known yet. It and all later calls are left out.
    Waiting(Closing),
    /// The arguments are not literals: only a closing marker can end the call.
    Torn { name: String, closing: Closing },
}

impl PythonReader {
    pub(crate) fn read(&mut self, text: &str, context: Context<'_>) -> Step {
        loop {
            if let Some(step) = self.step(text, context) {
                return step;
            }
        }
    }

    /// The name of the current call.
    pub(crate) fn name(&self) -> Option<String> {
        match &self.phase {
            Phase::Arguments { name, .. } | Phase::Torn { name, .. } => Some(name.clone()),
            _ => self.calls.last().map(|call| call.name.clone()),
        }
    }

    fn step(&mut self, text: &str, context: Context<'_>) -> Option<Step> {
        match &mut self.phase {
            Phase::Begin => self.begin(text, context),
            Phase::Head => self.head(text, context),
            Phase::Arguments { name, around, document, keys, open, attempts, closing } => {
                if closing.is_none() && !attempts.is_due(text, *open, context.end) {
                    return Some(Step::More);
                }
                let dialect = Dialect { delimiters: &[], loose: None, keys, end: context.end, lenient: false };
                let assigned = &self.assigned;
                let waits = |items: &[Item]| {
                    items.iter().any(|(_, node)| matches!(node, Node::Bare(text) if assigned.iter().any(|name| name == text)))
                };
                let mut read = if closing.is_none() { literal::read(text, *open, dialect) } else { Read::Fail };
                if read == Read::Fail && context.marked && !context.close.is_empty() {
                    read = match closing.get_or_insert(Closing::after(*open)).find(text, context.close) {
                        Some((begin, _)) => literal::read(&text[..begin], *open, Dialect { end: true, lenient: true, ..dialect }),
                        None if context.end => Read::Fail,
                        None => return Some(Step::More),
                    };
                }
                let read = match read {
                    Read::Done { items, end } if waits(&items) => {
                        self.phase = Phase::Waiting(Closing::after(end));
                        return None;
                    }
                    Read::Done { items, end } if words_fit(&items, document, context.marked) => {
                        arguments(items, document).map(|arguments| (arguments, end))
                    }
                    Read::More(_) if closing.is_none() && !context.end => return Some(Step::More),
                    Read::More(items) if closing.is_none() => {
                        let items = items.filter(|_| context.marked && *around == 0);
                        let so_far = items.and_then(|items| arguments(items, document));
                        return Some(self.cut(so_far));
                    }
                    Read::Done { .. } | Read::More(_) | Read::Fail => None,
                };
                match read {
                    Some((arguments, end)) => {
                        self.calls.push(Parsed::new(std::mem::take(name), arguments));
                        (self.at, self.phase) = (end, Phase::Around(*around));
                    }
                    None if context.close.is_empty() || !context.marked => return Some(Step::Reject),
                    None => self.phase = Phase::Torn { name: std::mem::take(name), closing: Closing::after(self.at) },
                }
                None
            }
            Phase::Around(0) => {
                self.phase = Phase::Between { newline: false };
                None
            }
            Phase::Around(left) => {
                let at = self.at + blank(&text[self.at..]);
                match text.as_bytes().get(at) {
                    Some(b')') => {
                        (self.at, *left) = (at + 1, *left - 1);
                        None
                    }
                    None if !context.end => Some(Step::More),
                    // The call is complete, and only what surrounds it is open.
                    None => Some(self.done(at)),
                    Some(_) => Some(Step::Reject),
                }
            }
            Phase::Between { newline } => {
                let newline = *newline;
                self.between(text, newline, context)
            }
            Phase::After { seen } => {
                let seen = *seen;
                self.after_calls(text, seen, context)
            }
            Phase::Beyond(closing) => {
                let found = closing.find(text, context.close);
                if found.is_none() && !context.end {
                    return Some(Step::More);
                }
                let stop = found.map_or(text.len(), |(begin, _)| begin);
                if !ends_as_a_call(&text[self.at..stop], self.bracket) {
                    return Some(self.done(self.at));
                }
                // The parenthesis was in a string whose quotes are not escaped.
                let name = self.calls.pop().map(|call| call.name).unwrap_or_default();
                self.phase = Phase::Torn { name, closing: Closing::after(self.at) };
                None
            }
            Phase::Waiting(_) if self.calls.is_empty() => Some(Step::Reject),
            Phase::Waiting(closing) => match closing.find(text, context.close) {
                Some((_, end)) => Some(self.done(end)),
                None if context.end => Some(self.done(text.len())),
                None => Some(Step::More),
            },
            Phase::Torn { name, closing } => match closing.find(text, context.close) {
                Some((begin, end)) => {
                    let torn = Parsed::new(std::mem::take(name), text[self.at..begin].trim());
                    let whole = std::mem::take(&mut self.calls);
                    Some(Step::Torn { whole, torn, why: "an argument is no literal, or has no parameter", end })
                }
                None if context.end => Some(self.cut(None)),
                None => Some(Step::More),
            },
        }
    }

    fn begin(&mut self, text: &str, context: Context<'_>) -> Option<Step> {
        let at = self.at + blank(&text[self.at..]);
        let rest = &text[at..];
        if rest.is_empty() {
            return Some(if context.end { Step::Reject } else { Step::More });
        }
        if context.marked {
            match starts_with_any(rest, context.close, context.end) {
                Start::Yes(length) => return Some(self.done(at + length)),
                Start::Maybe => return Some(Step::More),
                Start::No => {}
            }
            if FENCE.starts_with(&rest[..rest.floor_char_boundary(FENCE.len())]) {
                return match rest.find('\n') {
                    Some(newline) if newline <= WORD_BYTES => {
                        self.at = at + newline;
                        None
                    }
                    None if !context.end && rest.len() <= WORD_BYTES => Some(Step::More),
                    _ => Some(Step::Reject),
                };
            }
        }
        self.bracket = rest.starts_with('[');
        // A bare call belongs to the other form. A printed call is meant too.
        if context.call.whole_answer && context.close.is_empty() && !rest.starts_with(PRINT) {
            return Some(if PRINT.starts_with(rest) && !context.end { Step::More } else { Step::Reject });
        }
        (self.at, self.phase) = (at + usize::from(self.bracket), Phase::Head);
        None
    }

    fn head(&mut self, text: &str, context: Context<'_>) -> Option<Step> {
        self.at += blank(&text[self.at..]);
        let rest = &text[self.at..];
        if self.bracket && rest.starts_with(']') && (context.marked || !self.calls.is_empty()) {
            self.end_calls(self.at + 1);
            return None;
        }
        if !self.bracket && !self.calls.is_empty() {
            match closes(rest, context) {
                Start::Maybe if !rest.is_empty() => return Some(Step::More),
                Start::Yes(_) => {
                    self.end_calls(self.at);
                    return None;
                }
                Start::Maybe | Start::No => {}
            }
        }
        match head(rest, !self.bracket && in_lines(context), prints(context), &self.assigned) {
            Head::Skip(length) => {
                self.at += length;
                None
            }
            Head::Call { name, open, around, variable } => {
                if !context.marked {
                    let builtin = is_builtin(&name, &rest[open + 1..], context.end);
                    if builtin == Start::Maybe {
                        return Some(Step::More);
                    }
                    if builtin != Start::No || !is_known(context.tools, &name) || is_method(context.tools, &name) {
                        return Some(self.stop(text));
                    }
                }
                self.assigned.extend(variable);
                let name = callee(name, context);
                let document = Document::new(known_tool(context.tools, &name));
                let keys = document.root().keys();
                let (document, open, attempts) = (Box::new(document), self.at + open, Attempts::default());
                self.phase = Phase::Arguments { name, around, document, keys, open, attempts, closing: None };
                None
            }
            Head::Maybe if !context.end => Some(Step::More),
            Head::Maybe if self.bracket && !self.calls.is_empty() => Some(self.cut_between()),
            Head::Maybe | Head::No => Some(self.stop(text)),
        }
    }

    /// No call follows. The calls before it count, unless they are in brackets that are still open.
    fn stop(&mut self, text: &str) -> Step {
        let end = text[..self.at].trim_end().len();
        if self.bracket || self.calls.is_empty() { Step::Reject } else { self.done(end) }
    }

    fn between(&mut self, text: &str, newline: bool, context: Context<'_>) -> Option<Step> {
        let gap = blank(&text[self.at..]);
        let newline = newline || text[self.at..self.at + gap].contains('\n');
        (self.at, self.phase) = (self.at + gap, Phase::Between { newline });
        let rest = &text[self.at..];
        match rest.as_bytes().first() {
            None if !context.end => return Some(Step::More),
            // The calls are complete. At most the bracket is missing.
            None => return Some(self.done(self.at)),
            Some(b',' | b';') => (self.at, self.phase) = (self.at + 1, Phase::Head),
            Some(b']') if self.bracket => self.end_calls(self.at + 1),
            // The parenthesis was in a string whose quotes are not escaped.
            Some(b'"' | b'\'') if context.marked && !newline => {
                let name = self.calls.pop().map(|call| call.name).unwrap_or_default();
                self.phase = Phase::Torn { name, closing: Closing::after(self.at) };
            }
            Some(_) if self.bracket && !context.marked => return Some(Step::Reject),
            Some(_) if !context.close.is_empty() => match closes(rest, context) {
                Start::Maybe => return Some(Step::More),
                Start::Yes(_) => self.end_calls(self.at),
                Start::No if newline || rest.starts_with('#') => self.phase = Phase::Head,
                Start::No if context.marked => self.end_calls(self.at),
                Start::No => return Some(Step::Reject),
            },
            Some(_) if newline => self.phase = Phase::Head,
            // A call within a sentence does not count.
            Some(_) => return Some(Step::Reject),
        }
        None
    }

    fn end_calls(&mut self, at: usize) {
        (self.at, self.phase) = (at, Phase::After { seen: at });
    }

    /// Reads the closing marker, and the end of a fence inside the markers.
    fn after_calls(&mut self, text: &str, seen: usize, context: Context<'_>) -> Option<Step> {
        let junk = |c: char| c.is_whitespace() || (context.marked && matches!(c, '`' | ']' | ';'));
        let rest = text[seen..].trim_start_matches(junk);
        let seen = text.len() - rest.len();
        self.phase = Phase::After { seen };
        if rest.is_empty() && !context.end {
            return Some(Step::More);
        }
        match starts_with_any(rest, context.close, context.end) {
            Start::Yes(length) => Some(self.done(seen + length)),
            Start::Maybe => Some(Step::More),
            Start::No if context.marked && !context.close.is_empty() => {
                self.phase = Phase::Beyond(Closing::after(seen));
                None
            }
            // `[text](address)` is a link. After an escape, the bracket was in a string.
            Start::No if !context.marked && text[self.at..].starts_with(['(', '\\']) => Some(Step::Reject),
            Start::No => Some(self.done(self.at)),
        }
    }

    fn done(&mut self, end: usize) -> Step {
        Step::Done { calls: std::mem::take(&mut self.calls), end }
    }

    /// The text ended inside the name of a call.
    fn cut_between(&mut self) -> Step {
        Step::Cut { whole: std::mem::take(&mut self.calls), cut: Parsed::default(), closed: false }
    }

    /// The text ended inside a call. `so_far`: its arguments, if only the closing parenthesis is missing.
    fn cut(&mut self, so_far: Option<String>) -> Step {
        let cut = Parsed::new(self.name().unwrap_or_default(), unclosed(&so_far.unwrap_or_default()));
        Step::Cut { whole: std::mem::take(&mut self.calls), cut, closed: false }
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

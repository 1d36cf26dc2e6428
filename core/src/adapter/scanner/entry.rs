//! Which forms may begin at a position, and where their bodies begin: after markers, at the start of the answer, in a fence, at an
//! element, or with a name on a line of its own.

use super::{Candidate, GAP_BYTES, Region, Scanner, Spot, Ticks};
use crate::{
    adapter::{
        Call, Syntax,
        asides::CLIENT_RESULT,
        syntax::{Seen, Start, blank, element, starts_with_any},
        triggers::{Aside, Found},
    },
    event::Sink,
};

/// How many openers may follow the first one.
const DEPTH: usize = 3;

/// Maximum length of the blanks between a name and its arguments, in bytes.
const NAME_GAP_BYTES: usize = 64;

/// A form to be tried.
#[derive(Clone, Copy)]
pub(super) struct Entry {
    pub(super) form: usize,
    /// Where its body begins.
    pub(super) body: usize,
    /// Whether a marker precedes it.
    pub(super) marked: bool,
    /// The form whose closing markers end the body: the form of the marker, which a fallback form shares.
    pub(super) closed_by: usize,
}

impl Entry {
    pub(super) fn new(form: usize, body: usize, marked: bool) -> Entry {
        Entry { form, body, marked, closed_by: form }
    }

    /// Whether this form is tried because the form of the marker may not follow it.
    pub(super) fn is_fallback(&self) -> bool {
        self.form != self.closed_by
    }
}

impl Scanner {
    /// Tries the unmarked calls that may begin where nothing but whitespace, reasoning and calls came before. `None`: more text is
    /// needed.
    pub(super) fn begin_fresh(&mut self, at: usize, end: bool) -> Option<bool> {
        if at == self.buf.len() {
            self.buf.scan_to(at);
            return None;
        }
        if !end && self.adapter.triggers.may_become(&self.buf[at..]) {
            return None;
        }
        if Ticks::of(&self.buf[at..]).is_some() {
            return Some(false);
        }
        self.before.tried = true;
        Some(self.begin_bare(at, 0))
    }

    /// Tries the forms that `found` may open. `None`: more text is needed.
    pub(super) fn begin_marked(&mut self, found: Found<'_>, end: bool) -> Option<bool> {
        let mut entries = self.openers(found, end)?;
        if let Some(&Entry { form, body, .. }) = entries.iter().find(|entry| entry.marked) {
            let fallback = self.adapter.triggers.fallback();
            entries.extend(fallback.iter().map(|&fallback| Entry { form: fallback, body, marked: true, closed_by: form }));
        }
        Some(self.begin(found.at, found.len, self.drops(found), entries))
    }

    /// Tries the unmarked forms: all of them at the start of the answer, elsewhere those that begin with a bracket or, on a line
    /// of their own, with the name of a tool.
    pub(super) fn begin_bare(&mut self, at: usize, bracket_length: usize) -> bool {
        let fresh = self.before.fresh;
        let rest = &self.buf[at..];
        let bracket = rest.starts_with(['{', '[']);
        let inside_data = || !self.follows_call() && self.tail(at).is_inside_data();
        if bracket && (inside_data() || self.is_in_block_quote(at)) {
            return false;
        }
        let mut entries = Vec::new();
        for &form in self.adapter.triggers.bare() {
            let Some(call) = self.adapter.calls.get(form).filter(|call| fresh || !call.start_only) else { continue };
            let fits = match call.syntax {
                // The whole call may be a string.
                Syntax::Json(_) => bracket || (fresh && rest.starts_with('"')),
                Syntax::Python => {
                    let begins = rest.starts_with(|c: char| c.is_alphabetic() || c == '_');
                    rest.starts_with('[') || (begins && (fresh || !call.whole_answer))
                }
                Syntax::Named(_) if !fresh => !bracket,
                Syntax::Tagged(_) if !fresh => !bracket && self.options.elements,
                _ => fresh,
            };
            if fits {
                entries.push(Entry::new(form, at, false));
            }
        }
        self.begin(at, bracket_length, false, entries)
    }

    /// Tries an element named after a tool.
    pub(super) fn begin_element(&mut self, at: usize, end: bool) -> bool {
        let offered = element::named(&self.buf[at + 1..], &self.tools, end) != Seen::No;
        let marked = offered && self.options.elements && self.at_line_start(at);
        if !offered || (!marked && self.is_in_block_quote(at)) {
            return false;
        }
        let forms = self.adapter.calls.iter().enumerate().filter(|(_, call)| call.element);
        let entries: Vec<Entry> = forms.map(|(form, _)| Entry::new(form, at, marked)).collect();
        self.begin(at, 1, false, entries)
    }

    /// Whether a tag begins or ends a result, in the form of clients whose prompts ask for elements (`<read_file_result>`: Void).
    /// `None`: more text is needed.
    pub(super) fn client_result(&self, at: usize, end: bool) -> Option<Option<Aside>> {
        if !self.options.elements || self.is_quoted(at) {
            return Some(None);
        }
        let inside = &self.buf[at + 1..];
        let (name, aside) = inside.strip_prefix('/').map_or((inside, Aside::Result), |name| (name, Aside::Closes));
        let results = self.tools.iter().map(|tool| format!("{}{CLIENT_RESULT}", tool.name));
        match starts_with_any(name, results, end) {
            Start::Maybe => None,
            start => Some((start != Start::No).then_some(aside)),
        }
    }

    /// Tries the content at `at` of a code fence, the whole of which may be a call.
    pub(super) fn begin_in_fence(&mut self, at: usize, language: &str) -> bool {
        let inside = self.buf[at..].trim_start().strip_prefix('<').filter(|_| self.options.elements);
        let marked = inside.is_some_and(|inside| element::named(inside, &self.tools, false) != Seen::No);
        // Lines without arguments in brackets are calls only as the whole answer.
        let is_code = |call: &Call| !call.whole_answer || matches!(call.syntax, Syntax::Python);
        let here = |call: &Call| self.before.fresh || (is_code(call) && !call.start_only);
        let fits = |call: &Call| call.fence.iter().any(|known| known == language) && here(call);
        let forms = self.adapter.calls.iter().enumerate().filter(|(_, call)| (marked && call.element) || fits(call));
        let mut entries: Vec<Entry> = forms.map(|(form, call)| Entry::new(form, at, marked && call.element)).collect();
        // Marked entries first: the others count only as the whole answer.
        entries.sort_by_key(|entry| !entry.marked);
        self.begin(at, 0, false, entries)
    }

    /// Tries these forms at `at`, where a marker of length `marker` is. `is_token`: it is a control token.
    pub(super) fn begin(&mut self, at: usize, marker: usize, is_token: bool, entries: Vec<Entry>) -> bool {
        // Nothing begins in a string of a value, or in a call that is only mentioned.
        if entries.is_empty() || self.is_quoted(at) {
            return false;
        }
        let quoted = marker > 0 && self.code.is_none() && (self.is_in_block_quote(at) || self.follows_quote(at));
        let spot = Spot { at, marker, is_token, quoted, fresh: self.before.fresh };
        self.candidate = Some(Candidate::new(spot, entries));
        true
    }

    /// The forms that may begin at `found`, or at the openers right after it: `<tool_calls>` before `<tool_call>`, or the same one
    /// twice, belong to the call. `None`: more text is needed.
    pub(super) fn openers(&self, found: Found<'_>, end: bool) -> Option<Vec<Entry>> {
        let mut entries: Vec<Entry> = Vec::new();
        let (mut opener, mut outer) = (found, None);
        for _ in 0..=DEPTH {
            let (body, text) = (opener.at + opener.len, &self.buf[opener.at..opener.at + opener.len]);
            let mut goes_on = false;
            for &form in &opener.mark.calls {
                let call = self.adapter.calls.get(form)?;
                let is_one_of = |markers: &[String]| markers.iter().any(|marker| marker == text);
                let is_section = is_one_of(&call.section);
                let opens =
                    is_one_of(&call.open) || (is_section && (call.open.is_empty() || call.open.iter().any(String::is_empty)));
                goes_on |= opens || is_section || outer.is_some();
                let entry = match outer {
                    _ if opens => Entry::new(form, body, true),
                    _ if !is_one_of(&call.stripped) => continue,
                    // In reasoning, unmarked forms may be prose.
                    None if self.region == Region::Reasoning || (call.start_only && !self.before.fresh) => continue,
                    None => Entry::new(form, body, false),
                    Some(closed_by) => Entry { form, body, marked: true, closed_by },
                };
                // A form is read after the last of its markers.
                entries.retain(|earlier| earlier.form != form || !opens);
                entries.push(entry);
            }
            if !goes_on {
                break;
            }
            let marked = entries.iter().find(|entry| entry.marked).map(|entry| entry.form);
            outer = outer.or(marked).or(found.mark.calls.first().copied());
            let next = body + blank(&self.buf[body..self.buf.floor_char_boundary(body + GAP_BYTES)]);
            if !end && (next == self.buf.len() || self.adapter.triggers.may_become(&self.buf[next..])) {
                return None;
            }
            match self.adapter.triggers.next(&self.buf, next, end) {
                Ok(inner) if inner.at == next && !inner.mark.calls.is_empty() => opener = inner,
                _ => break,
            }
        }
        // In the order of the adapter's forms.
        entries.sort_by_key(|entry| entry.form);
        Some(entries)
    }

    /// Tries the next line before `to` that begins with the name of an offered tool and with its arguments. `None`: there is none.
    pub(super) fn step_named_line(&mut self, to: usize, end: bool, out: &mut dyn Sink) -> Option<bool> {
        if !self.wanted() || self.code.is_some() {
            return None;
        }
        let mut line = self.buf.pos;
        if !self.at_line_start(line) {
            line += self.buf[line..to].find('\n')? + 1;
        }
        loop {
            let at = line + self.buf[line..to].len() - self.buf[line..to].trim_start().len();
            let is_first = self.before.fresh && self.buf[self.buf.pos..line].trim().is_empty();
            let begins = if is_first || self.is_indented(at) { Seen::No } else { self.begins_with_a_tool(&self.buf[at..], end) };
            if begins != Seen::No {
                self.advance(at, out);
                let is_whole = begins == Seen::Yes(());
                if is_whole && !self.begin_bare(at, 1) {
                    self.not_a_call(at, 1, false, out);
                }
                return Some(is_whole);
            }
            line = at + self.buf[at..to].find('\n')? + 1;
        }
    }

    /// Whether `text` begins with the name of an offered tool and a bracket or, where elements are asked for, the end of its line.
    fn begins_with_a_tool(&self, text: &str, end: bool) -> Seen<()> {
        let mut may_be = false;
        for tool in self.tools.iter() {
            let Some(after) = text.strip_prefix(tool.name.as_str()) else {
                may_be |= tool.name.starts_with(text);
                continue;
            };
            let rest = after.strip_prefix(':').unwrap_or(after).trim_start();
            let is_element = || self.options.elements && after.trim_start_matches([' ', '\t', '\r']).starts_with('\n');
            if after.starts_with('(') || rest.starts_with('{') || is_element() {
                return Seen::Yes(());
            }
            may_be |= rest.is_empty() && after.len() <= NAME_GAP_BYTES;
        }
        if may_be && !end && !text.is_empty() { Seen::Maybe } else { Seen::No }
    }
}

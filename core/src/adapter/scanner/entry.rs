//! Which forms may begin at a position, and where their bodies begin.

use super::{Scanner, candidate::Candidate, fence::Ticks};
use crate::adapter::{
    Call, Syntax,
    asides::CLIENT_RESULT,
    syntax::{Seen, Start, element, starts_with_any},
    triggers::{Aside, Found},
};

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
    /// Tries what may begin where nothing but whitespace, reasoning and calls came before: a transcript, an unmarked call.
    /// `None`: more text is needed.
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
        let labels = self.adapter.calls.iter().flat_map(|call| &call.transcript);
        match starts_with_any(&self.buf[at..], labels, end) {
            Start::Maybe => return None,
            Start::Yes(_) => self.message.transcript = true,
            Start::No => {}
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
        let begun = !entries.is_empty() && !self.is_quoted(at);
        self.candidate = begun.then(|| Candidate {
            at,
            marker,
            is_token,
            entries: entries.into(),
            fresh: self.before.fresh,
            quoted: marker > 0 && self.code.is_none() && (self.is_in_block_quote(at) || self.follows_quote(at)),
            ..Candidate::default()
        });
        begun
    }
}

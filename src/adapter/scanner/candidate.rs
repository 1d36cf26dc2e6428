//! A place in the text that may be a call: which forms are tried there, in which order, and what becomes of it.

use std::collections::VecDeque;

use super::{Region, Scanner, boundary, relaxed};
use crate::{
    adapter::{
        Inside, Syntax,
        syntax::{Context, Parsed, Reader, Start, Step, blank, starts_with_any, typing::Types},
        triggers::Found,
    },
    event::{Event, Sink, Tool, Why},
    fix::{
        End, fix,
        name::{Resolved, resolve},
    },
};

const FENCE: &str = "```";
/// More whitespace than this does not stand between markers.
const GAP_BYTES: usize = 256;
const REPEATED_MARKERS: usize = 2;

/// A place that may be a call.
pub(super) struct Candidate {
    /// Where it begins.
    at: usize,
    /// Length of its marker (0: a marker may still be found here), and whether that is a control token, for the case that it
    /// is no call.
    marker: (usize, bool),
    /// The forms that are still to be tried, with where their bodies begin.
    entries: VecDeque<Entry>,
    reader: Option<Reader>,
    /// The name of an offered tool was seen in it: it is held however long it gets.
    confirmed: bool,
    /// Nothing but whitespace and calls stand before it.
    fresh: bool,
    /// Inside a code fence: (its character, its length, where its content begins).
    fence: Option<(u8, usize, usize)>,
}

struct Entry {
    form: usize,
    body: usize,
    marked: bool,
}

// === impl Candidate ===

impl Candidate {
    /// The buffer lost its first `by` bytes.
    pub(super) fn shift(&mut self, by: usize) {
        self.at -= by;
        self.entries.iter_mut().for_each(|entry| entry.body -= by);
        if let Some((_, _, content)) = &mut self.fence {
            *content -= by;
        }
    }
}

// === impl Scanner ===

impl Scanner {
    /// Tries the forms that `found` may open. `None`: more text is needed to know.
    pub(super) fn begin_marked(&mut self, found: Found<'_>, end: bool) -> Option<bool> {
        let text = &self.buf[found.at..];
        let mut entries = Vec::new();
        for &form in &found.mark.calls {
            let call = self.adapter.calls.get(form)?;
            // In reasoning only what cannot be chatter counts.
            let unmarked_here = self.region != Region::Reasoning && (self.fresh || !call.start_only);
            match entry(text, call, end) {
                Entered::At(body, marked) if marked || unmarked_here => {
                    entries.push(Entry { form, body: found.at + body, marked })
                }
                Entered::Maybe => return None,
                _ => {}
            }
        }
        Some(self.begin(found.at, (found.len, found.mark.drop), entries, None))
    }

    /// Tries the forms that have no marker. At the start of the answer all of them, elsewhere those that begin with a bracket.
    pub(super) fn begin_bare(&mut self, at: usize, bracket_length: usize) -> bool {
        let fresh = self.fresh;
        let rest = &self.buf[at..];
        let bracket = rest.starts_with(['{', '[']);
        let mut entries = Vec::new();
        for (form, call) in self.adapter.calls.iter().enumerate() {
            if !call.stripped.iter().any(String::is_empty) || (call.start_only && !fresh) {
                continue;
            }
            let fits = match call.syntax {
                Syntax::Json(_) => bracket,
                Syntax::Python => rest.starts_with('[') || (fresh && rest.starts_with(|c: char| c.is_alphabetic() || c == '_')),
                _ => fresh,
            };
            if fits {
                entries.push(Entry { form, body: at, marked: false });
            }
        }
        self.begin(at, (bracket_length, false), entries, None)
    }

    /// Tries an element that is named after a tool.
    pub(super) fn begin_element(&mut self, at: usize, end: bool) -> bool {
        let rest = &self.buf[at + 1..];
        let name = rest.split('>').next().unwrap_or(rest);
        let possible = match name.len() == rest.len() {
            true => !end && self.tools.iter().any(|tool| tool.name.starts_with(name)),
            false => self.tools.get(name).is_some(),
        };
        let forms = self.adapter.calls.iter().enumerate().filter(|(_, call)| call.element && possible);
        let entries: Vec<Entry> = forms.map(|(form, _)| Entry { form, body: at, marked: false }).collect();
        self.begin(at, (1, false), entries, None)
    }

    /// Tries a call whose header begins at `at`, with a marker of this length.
    pub(super) fn begin_headed(&mut self, at: usize, marker: usize, form: usize, marked: bool) {
        self.begin(at, (marker, true), vec![Entry { form, body: at, marked }], None);
    }

    /// Tries a code fence whose whole content may be a call.
    pub(super) fn begin_fence(&mut self, at: usize, tick: u8, length: usize, content: usize, language: &str) -> bool {
        let forms = self.adapter.calls.iter().enumerate().filter(|(_, call)| call.fence.iter().any(|known| known == language));
        let entries: Vec<Entry> = forms.map(|(form, _)| Entry { form, body: content, marked: false }).collect();
        self.begin(at, (length, false), entries, Some((tick, length, content)))
    }

    fn begin(&mut self, at: usize, marker: (usize, bool), mut entries: Vec<Entry>, fence: Option<(u8, usize, usize)>) -> bool {
        entries.retain(|entry| entry.marked || self.options.unmarked);
        let begun = !entries.is_empty();
        self.candidate = begun.then(|| Candidate {
            at,
            marker,
            entries: entries.into(),
            reader: None,
            confirmed: false,
            fresh: self.fresh,
            fence,
        });
        begun
    }

    pub(super) fn step_candidate(&mut self, end: bool, out: &mut dyn Sink) -> bool {
        let Some(mut candidate) = self.candidate.take() else { return true };
        let Some(entry) = candidate.entries.front() else {
            self.reject(&candidate, out);
            return true;
        };
        let adapter = std::sync::Arc::clone(&self.adapter);
        let Some(call) = adapter.calls.get(entry.form) else { return true };
        let (form, marked, body) = (entry.form, entry.marked, entry.body);
        let fence_close = [FENCE.to_owned()];
        let close: &[String] = if candidate.fence.is_some() { &fence_close } else { &call.close };
        // Until its name is known, no more than the limit is looked at: however the text was cut, the decision is the same.
        let limit = (candidate.at + self.options.held_bytes).max(body);
        let window = if candidate.confirmed { self.buf.len() } else { boundary(&self.buf, limit) };
        let context = Context { call, close, tools: &self.tools, marked, end: end && window == self.buf.len() };
        let reader = candidate.reader.get_or_insert_with(|| Reader::new(&call.syntax));
        let step = reader.read(&self.buf[body..window], context);
        match step {
            Step::More if window == self.buf.len() => {
                self.candidate = Some(candidate);
                return false;
            }
            Step::More if self.worth_holding(reader, &self.buf[body..window], context) => {
                candidate.confirmed = true;
                self.candidate = Some(candidate);
                return true;
            }
            Step::Done { calls, end: stop } => {
                let to = body + stop;
                // Markers around nothing are framing.
                let count = match marked {
                    true => !calls.is_empty() || self.options.framing,
                    false => !calls.is_empty() && calls.iter().all(|call| self.counts(call)),
                };
                if count && self.closes_fence(&candidate, to, end) {
                    self.accept(calls, &candidate, form, marked, to, out);
                    return true;
                }
            }
            Step::Torn { whole, torn, why, end: stop } => {
                if marked {
                    self.accept(whole, &candidate, form, marked, body + stop, out);
                    self.refuse(&torn, why, out);
                    return true;
                }
            }
            Step::Cut { whole, cut } => {
                let known = matches!(resolve(&self.tools, &cut.name), Resolved::Known { .. });
                if marked || known {
                    self.cut(whole, cut, &candidate, out);
                    return true;
                }
            }
            Step::More | Step::Reject => {}
        }
        candidate.entries.pop_front();
        (candidate.reader, candidate.confirmed) = (None, false);
        self.candidate = Some(candidate);
        true
    }

    /// A candidate beyond the limit is held on only when the name of an offered tool was seen in it.
    fn worth_holding(&self, reader: &Reader, text: &str, context: Context<'_>) -> bool {
        reader.name(text, context).is_some_and(|name| matches!(resolve(&self.tools, &name), Resolved::Known { .. }))
    }

    /// Whether an unmarked call counts: its name is offered and the required keys are there after fixing.
    fn counts(&self, call: &Parsed) -> bool {
        match resolve(&self.tools, &call.name) {
            Resolved::Known { tool, .. } => self.has_required(tool, &call.arguments),
            Resolved::Unknown { .. } => false,
        }
    }

    fn has_required(&self, tool: &Tool, arguments: &str) -> bool {
        let schema = self.schemas.get(tool.checked_schema());
        let report = fix(arguments, Some(&schema), &tool.keeps_null, End::Closed);
        let fixed: Option<serde_json::Value> = report.arguments.and_then(|text| serde_json::from_str(&text).ok());
        fixed.is_some_and(|value| value.is_object() && Types::new(Some(tool)).required().all(|key| value.get(key).is_some()))
    }

    /// A call in a fence is its whole content: the closing fence follows, or the end.
    fn closes_fence(&self, candidate: &Candidate, to: usize, end: bool) -> bool {
        let Some((_, _, content)) = candidate.fence else { return true };
        self.buf[content..to].trim_end().ends_with(FENCE) || (end && self.buf[to..].trim().is_empty())
    }

    /// Calls were read in `candidate.at..to`.
    fn accept(&mut self, calls: Vec<Parsed>, candidate: &Candidate, form: usize, marked: bool, to: usize, out: &mut dyn Sink) {
        let at_once = marked || candidate.fresh || relaxed(&self.tools.choice);
        if !at_once {
            self.tentative.extend(calls);
            (self.pos, self.behind) = (to, None);
            return;
        }
        self.leave_region(candidate.at, out);
        self.accept_tentative(out);
        for call in calls {
            self.send(&call, true, out);
        }
        (self.from, self.pos) = (to, to);
        (self.behind, self.fresh, self.tried, self.inline, self.line_blank) = (Some(form), true, false, 0, true);
    }

    /// The text before a call has left; whitespace beside the call goes; a call inside of reasoning may end it.
    fn leave_region(&mut self, at: usize, out: &mut dyn Sink) {
        // Between calls there are only whitespace and separators, between tentative ones their own text.
        let between_calls = self.fresh && self.calls > 0 && self.region != Region::Reasoning;
        if self.tentative.is_empty() && !between_calls {
            let text_end = self.from + self.buf[self.from..at].trim_end().len();
            self.emit(text_end, out);
        }
        if self.region == Region::Reasoning && self.inside() == Inside::ImplicitEnd {
            self.region = Region::Text;
        }
    }

    /// The answer ended inside of a call.
    fn cut(&mut self, whole: Vec<Parsed>, cut: Parsed, candidate: &Candidate, out: &mut dyn Sink) {
        self.leave_region(candidate.at, out);
        self.accept_tentative(out);
        for call in whole.into_iter().filter(|call| self.counts(call)).collect::<Vec<_>>() {
            self.send(&call, true, out);
        }
        self.send(&cut, false, out);
        (self.from, self.pos) = (self.buf.len(), self.buf.len());
    }

    /// Unmarked calls behind prose count now: nothing but calls followed them.
    pub(super) fn accept_tentative(&mut self, out: &mut dyn Sink) {
        if self.tentative.is_empty() {
            return;
        }
        for call in std::mem::take(&mut self.tentative) {
            self.send(&call, true, out);
        }
        self.from = self.pos;
    }

    /// A call that cannot be read is refused here: no fixer sees it.
    fn refuse(&mut self, torn: &Parsed, why: &str, out: &mut dyn Sink) {
        self.calls += 1;
        let why = Why::Malformed(why.to_owned());
        out.event(Event::Refused { name: &torn.name, why: &why, raw: &torn.arguments });
    }

    fn send(&mut self, call: &Parsed, complete: bool, out: &mut dyn Sink) {
        let index = self.calls;
        self.calls += 1;
        out.event(Event::CallStart { index, id: call.id.as_deref(), name: &call.name });
        if !call.arguments.is_empty() {
            out.event(Event::CallArguments { index, json: &call.arguments });
        }
        if complete {
            out.event(Event::CallEnd { index, extra: None });
        }
    }

    /// None of the forms fits: it is text (a code fence, a control token, anything).
    fn reject(&mut self, candidate: &Candidate, out: &mut dyn Sink) {
        match candidate.fence {
            Some((tick, length, content)) => {
                self.advance(content, out);
                self.region = Region::Fence(tick, length);
            }
            None if candidate.marker.0 == 0 => {}
            None => self.not_a_call(candidate.at, candidate.marker.0, candidate.marker.1, out),
        }
    }

    /// Behind a call: its closing markers and separators are not content. `None`: other text follows.
    pub(super) fn swallow_closers(&mut self, form: usize, end: bool) -> Option<bool> {
        let call = self.adapter.calls.get(form)?;
        let at = self.pos + blank(&self.buf[self.pos..]);
        if at == self.buf.len() {
            return (!end).then_some(false);
        }
        let closers: Vec<String> = call.close.iter().chain(&call.section_close).cloned().collect();
        match starts_with_any(&self.buf[at..], &closers, end) {
            Start::Yes(length) => {
                (self.from, self.pos) = (at + length, at + length);
                Some(true)
            }
            Start::Maybe => Some(false),
            Start::No if at == self.buf.len() && !end => Some(false),
            Start::No => {
                let glue = self.buf[at..].len()
                    - self.buf[at..].trim_start_matches(|c: char| c.is_whitespace() || matches!(c, ';' | ',')).len();
                if glue > 0 && self.pos < at + glue {
                    self.pos = at + glue;
                    return if self.pos == self.buf.len() && !end { Some(false) } else { Some(true) };
                }
                None
            }
        }
    }
}

enum Entered {
    At(usize, bool),
    Maybe,
    No,
}

/// Whether `text` enters this form: where its body begins and whether a marker stands before it.
fn entry(text: &str, call: &crate::adapter::Call, end: bool) -> Entered {
    let section = starts_with_any(text, &call.section, end);
    let mut maybe = section == Start::Maybe;
    if let Start::Yes(length) = section {
        let at = length + gap(&text[length..]);
        match opened(&text[at..], call, end) {
            Start::Yes(open) => return Entered::At(at + open, true),
            Start::Maybe => return Entered::Maybe,
            Start::No if call.open.is_empty() || call.open.iter().any(String::is_empty) => return Entered::At(length, true),
            Start::No => {}
        }
    }
    match opened(text, call, end) {
        Start::Yes(length) => return Entered::At(length, true),
        Start::Maybe => maybe = true,
        Start::No => {}
    }
    match starts_with_any(text, &call.stripped, end) {
        Start::Yes(length) => return Entered::At(length, false),
        Start::Maybe => maybe = true,
        Start::No => {}
    }
    if maybe { Entered::Maybe } else { Entered::No }
}

/// How many bytes of whitespace may stand between two markers here.
fn gap(text: &str) -> usize {
    blank(&text[..boundary(text, GAP_BYTES)])
}

/// Whether an opening marker stands here; written twice in a row it counts once.
fn opened(text: &str, call: &crate::adapter::Call, end: bool) -> Start {
    let mut length = match starts_with_any(text, &call.open, end) {
        Start::Yes(length) => length,
        other => return other,
    };
    for _ in 1..REPEATED_MARKERS {
        let at = length + gap(&text[length..]);
        match starts_with_any(&text[at..], &call.open, end) {
            Start::Yes(again) => length = at + again,
            Start::Maybe => return Start::Maybe,
            Start::No => break,
        }
    }
    Start::Yes(length)
}

//! What divides an answer: reasoning, the answer region, control tokens, and messages with headers. In the latter,
//! `<|channel|>analysis<|message|>...` is reasoning, `... to=f<|message|>{...}` is a call to `f`, anything else is the answer. The
//! markers come from the adapter.

use std::sync::Arc;

use super::{GAP_BYTES, Region, Scanner, entry::Entry};
use crate::{
    adapter::{
        Inside, Syntax,
        syntax::{
            Seen, Start, blank,
            recipient::{Header, Kind, begins_inside, header, is_arguments},
            starts_with_any,
        },
        triggers::Found,
    },
    event::Sink,
    fix::name::known_tool,
};

impl Scanner {
    /// Handles markers of reasoning and answer in the text. `None`: this is not one.
    pub(super) fn step_framing(&mut self, found: Found<'_>, end: bool, out: &mut dyn Sink) -> Option<bool> {
        let (at, after) = (found.at, found.at + found.len);
        let adapter = Arc::clone(&self.adapter);
        let (divides, reasoning) = (found.mark.framing, adapter.framing.reasoning.as_ref());
        if divides.reasoning_open && (self.divides_at(at) || self.tail(at).ends_sentence()) {
            let labels = reasoning.map_or(&[][..], |region| &region.label);
            let label = match starts_with_any(&self.buf[after..], labels, end) {
                Start::Yes(length) => length,
                Start::Maybe => return Some(false),
                Start::No => 0,
            };
            self.resolve(at, true, out);
            self.remove(at, after + label, out);
            self.region = Region::Reasoning;
            self.emitted.swallow_blank = true;
            self.emitted.divide(true);
            self.emitted.begin_line();
            // After this one, a closing marker is no longer a sign of how the answer began.
            self.draft.began.get_or_insert(self.options.reasoning_open);
            return Some(true);
        }
        let is_answer = divides.answer && (self.message.in_answer || !self.emitted.said);
        match if divides.reasoning_close || is_answer { self.closes_here(at, after, end) } else { Some(false) } {
            None => return Some(false),
            Some(false) => return None,
            Some(true) => {}
        }
        // Calls before it were drafts.
        if divides.reasoning_close && self.proves_thoughts(&self.buf[at..after]) {
            self.drop_drafts(out);
        }
        self.remove(at, after, out);
        self.emitted.swallow_blank = !self.emitted.said;
        self.message.in_answer |= is_answer;
        if divides.reasoning_close {
            self.emitted.divide(false);
            // Closed without an opening marker: the text before it was reasoning.
            if self.emitted.said {
                self.draft.began.get_or_insert(true);
            }
        }
        Some(true)
    }

    /// Whether no whitespace precedes `at`.
    pub(super) fn ends_in_a_word(&self, at: usize) -> bool {
        !self.buf.pending(at).ends_with(char::is_whitespace)
    }

    /// Whether a marker of reasoning may be at `at`: where a line begins, or anywhere if the family's models write it there.
    fn divides_at(&self, at: usize) -> bool {
        self.adapter.framing.reasoning.as_ref().is_some_and(|own| own.anywhere) || self.at_line_start(at)
    }

    /// Whether the closing marker of reasoning at `at` closes it, and is not only mentioned. `None`: more text is needed.
    pub(super) fn closes_here(&self, at: usize, after: usize, end: bool) -> Option<bool> {
        Some(self.ends_line(after, end)? || self.divides_at(at))
    }

    /// Whether a marker that ends at `after` ends its line, or another tag follows. `None`: more text is needed.
    fn ends_line(&self, after: usize, end: bool) -> Option<bool> {
        let rest = &self.buf[after..];
        let rest = &rest[..rest.floor_char_boundary(GAP_BYTES)];
        match rest.trim_start_matches([' ', '\r']).as_bytes().first() {
            Some(b'\n' | b'<') => Some(true),
            None if rest.len() >= GAP_BYTES => Some(false),
            None => end.then_some(true),
            Some(_) => Some(false),
        }
    }

    /// Scans reasoning: only its end counts, and calls if the family's models forget to close it.
    pub(super) fn step_reasoning(&mut self, end: bool, out: &mut dyn Sink) -> bool {
        let adapter = Arc::clone(&self.adapter);
        if let Some(progress) = self.swallow_closers(end) {
            return progress;
        }
        let found = adapter.triggers.next_sure(&self.buf, self.buf.pos, end);
        let at = found.map_or_else(|held| held, |found| found.at);
        // Whitespace at its end is held, because what follows may swallow it.
        self.emit(self.buf.trimmed(at), out);
        self.buf.scan_to(at);
        let Ok(found) = found else { return false };
        let (after, divides) = (at + found.len, found.mark.framing);
        let is_stripped = divides.stripped_header && self.message.stripped && self.ends_in_a_word(at);
        if divides.header || divides.message_end || is_stripped {
            // The next header begins at its own marker.
            self.leave_reasoning(at, if divides.message_end { after } else { at }, out);
            self.message.primed |= divides.message_end;
            return true;
        }
        if divides.reasoning_close {
            self.leave_reasoning(at, after, out);
            return true;
        }
        let opens = self.tools.wanted() && !found.mark.calls.is_empty() && self.inside() != Inside::Ignore;
        if divides.reasoning_open || (divides.drop && !opens) {
            self.take_out(at, after, out);
            return true;
        }
        let begun = if opens { self.begin_marked(found, end) } else { Some(false) };
        if begun == Some(false) {
            self.buf.scan_to(after);
        }
        begun.is_some()
    }

    /// The reasoning ends at `at`, and text continues at `after`. Calls in it were drafts.
    fn leave_reasoning(&mut self, at: usize, after: usize, out: &mut dyn Sink) {
        self.drop_drafts(out);
        self.emit(self.buf.trimmed(at), out);
        self.buf.skip_to(after);
        self.region = Region::Text;
        self.draft.believed = None;
        self.emitted.swallow_blank = true;
        self.emitted.begin_line();
        (self.before.fresh, self.before.tried) = (!self.emitted.said, false);
    }

    /// Handles the start of a message, which may be inside a header that the prompt opened. `None`: it is not inside one.
    pub(super) fn step_primed(&mut self, end: bool, out: &mut dyn Sink) -> Option<bool> {
        let adapter = Arc::clone(&self.adapter);
        let recipient = adapter.framing.recipient.as_ref()?;
        let at = self.buf.pos + blank(&self.buf[self.buf.pos..]);
        match begins_inside(&self.buf[at..], recipient, &self.tools, end) {
            Seen::Maybe => Some(false),
            Seen::No => None,
            Seen::Yes(()) => self.step_header(at, 0, end, out),
        }
    }

    /// Handles a header that may begin at `at`, with a marker of length `marker` (0 if the text begins inside the header).
    /// `None`: it is not a header.
    pub(super) fn step_header(&mut self, at: usize, marker: usize, end: bool, out: &mut dyn Sink) -> Option<bool> {
        let adapter = Arc::clone(&self.adapter);
        let recipient = adapter.framing.recipient.as_ref()?;
        // The template puts the header of a call right after the text before it, without a line break.
        let in_line = recipient.plain && !self.at_line_start(at);
        let Header { length, kind } = match header(&self.buf[at..], recipient, marker == 0, end) {
            Seen::Yes(header) => header,
            Seen::Maybe => return Some(false),
            Seen::No => return None,
        };
        if in_line && !matches!(kind, Kind::Call(_)) {
            return None;
        }
        let body = at + length;
        let is_stripped = recipient.channel.is_some() && !self.buf[at..body].contains(&recipient.message);
        if let Kind::Call(name) = &kind {
            let tool = known_tool(&self.tools, name);
            if tool.is_none() && recipient.plain {
                return None;
            }
            let arguments = match is_arguments(&self.buf[body..], recipient, tool, end) {
                Start::Maybe => return Some(false),
                start => start != Start::No,
            };
            let form = adapter.calls.iter().position(|call| matches!(call.syntax, Syntax::Recipient(_)));
            if let Some(form) = form.filter(|_| arguments && self.tools.wanted()) {
                self.message.primed = false;
                // If the text begins inside the header, the prompt wrote the marker. In a string of a value it is text.
                return self.begin(at, marker, true, vec![Entry::new(form, at, true)]).then_some(true);
            }
        }
        if marker == 0 {
            // The whitespace before it belongs to the header.
            self.buf.discard_to(at);
        }
        self.resolve(at, true, out);
        self.remove(at, body, out);
        self.before.call = None;
        self.emitted.begin_line();
        (self.message.for_user, self.message.stripped) = (kind == Kind::Content, is_stripped);
        self.message.primed = false;
        match kind {
            Kind::Reasoning => {
                self.region = Region::Reasoning;
                self.emitted.divide(true);
                self.emitted.swallow_blank = true;
            }
            Kind::Content | Kind::Call(_) => {
                self.region = Region::Text;
                (self.before.fresh, self.before.tried) = (!self.emitted.said, false);
            }
        }
        Some(true)
    }
}

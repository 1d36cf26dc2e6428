//! Reads a model's text as it comes and splits it into text, reasoning and calls. One state machine for all families: the
//! markers come from the adapter, the bodies are read by `syntax`. Which text counts as a call is decided here, by one set
//! of rules for everybody:
//!
//! * calls are looked for only where tools are offered; never inside code fences or inline code;
//! * a marked form counts anywhere, an unmarked one only if its name resolves, the required keys are there, and it stands
//!   at the start of the answer or at its end;
//! * the end of an answer that was cut off is not its end: an unmarked call behind prose is text there, a draft in
//!   reasoning stays a draft;
//! * what looked like a call and was not is text again, unchanged.
//!
//! Text is held back only while it may still become a marker (whitespace: while a call may follow it). The result never
//! depends on how the text was cut into pieces.

use std::sync::Arc;

use super::{Adapter, Inside};
use crate::{
    event::{Channel, Event, FinishReason, Sink, ToolChoice, Tools},
    fix::Schemas,
};

mod candidate;
mod framing;
mod header;
mod promote;

use candidate::Candidate;

/// Inline code is closed within so many bytes, or it is none.
const INLINE_BYTES: usize = 1000;

/// What a scanner may be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// A candidate whose name is not known is text again beyond so many bytes.
    pub held_bytes: usize,
    /// Whether reasoning and control tokens are separated from the text.
    pub framing: bool,
    /// Whether the answer begins inside of reasoning (the prompt opened it).
    pub reasoning_open: bool,
    /// Whether calls without a marker are looked for; not where the client asked for JSON as the answer itself.
    pub unmarked: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options { held_bytes: 16 * 1024, framing: true, reasoning_open: false, unmarked: true }
    }
}

/// Splits the text of one answer into events. Calls leave it with the arguments as the model wrote them (see
/// [`crate::fix::Fixer`]); one that was cut off by the end has no `CallEnd`.
pub struct Scanner {
    adapter: Arc<Adapter>,
    tools: Arc<Tools>,
    schemas: Arc<Schemas>,
    options: Options,
    /// Text that has not left yet.
    buf: String,
    /// Where the text begins that has not left.
    from: usize,
    /// Up to where it was looked at.
    pos: usize,
    region: Region,
    candidate: Option<Candidate>,
    /// Unmarked calls behind prose: they count if nothing but calls follows.
    tentative: Vec<super::syntax::Parsed>,
    /// The form of the call before this place, with only whitespace in between: its closing markers may follow.
    behind: Option<usize>,
    /// Nothing but whitespace, reasoning and calls stand before this place: an unmarked call counts here.
    fresh: bool,
    /// The forms without a marker were tried at this place.
    tried: bool,
    /// Content other than whitespace has left.
    said: bool,
    /// Calls that have left.
    calls: u32,
    /// The marker that opens the answer proper was met.
    wrapped: bool,
    /// The text that has left since the last newline is blank.
    line_blank: bool,
    /// Length of the run of backticks that opened inline code on this line; 0 outside of it.
    inline: usize,
    /// Whitespace at the start of the text belongs to framing before it.
    swallow_blank: bool,
    /// Reasoning from the first marker of a call on: promoted if the answer ends without anything else.
    draft: Option<String>,
    /// All reasoning of a region that was believed open: sent again as content if it never closed and nothing else came.
    believed: Option<String>,
    /// The backend's own reasoning field.
    field: String,
    /// The text may begin inside of a header.
    primed: bool,
    /// This message is for somebody who is no tool: a call counts only where the message begins.
    quiet: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Region {
    Text,
    Reasoning,
    /// A code fence: its character and length.
    Fence(u8, usize),
}

// === impl Scanner ===

impl Scanner {
    /// A scanner for one answer.
    pub fn new(adapter: Arc<Adapter>, tools: Arc<Tools>, schemas: Arc<Schemas>, options: Options) -> Scanner {
        let open = options.reasoning_open && options.framing && adapter.reasoning.is_some();
        let primed = options.framing && adapter.recipient.is_some() && !open;
        Scanner {
            adapter,
            tools,
            schemas,
            options,
            buf: String::new(),
            from: 0,
            pos: 0,
            region: if open { Region::Reasoning } else { Region::Text },
            candidate: None,
            tentative: Vec::new(),
            behind: None,
            fresh: true,
            tried: false,
            said: false,
            calls: 0,
            wrapped: false,
            line_blank: true,
            inline: 0,
            swallow_blank: open,
            draft: None,
            believed: open.then(String::new),
            field: String::new(),
            primed,
            quiet: false,
        }
    }

    /// Takes the next piece of the answer.
    pub fn push(&mut self, channel: Channel, text: &str, out: &mut dyn Sink) {
        if channel == Channel::Reasoning {
            if !text.is_empty() {
                out.event(Event::Reasoning(text));
            }
            if self.inside() == Inside::PromoteAtEnd && self.tools.wanted() {
                self.field.push_str(text);
            }
            return;
        }
        self.buf.push_str(text);
        while self.step(false, out) {}
        self.buf.drain(..self.from);
        self.pos -= self.from;
        if let Some(candidate) = &mut self.candidate {
            candidate.shift(self.from);
        }
        self.from = 0;
    }

    /// The answer is over. A call that was cut off has left without its `CallEnd`; the `Finish` event is the caller's.
    pub fn finish(&mut self, reason: FinishReason, out: &mut dyn Sink) {
        while self.step(true, out) {}
        if self.region == Region::Reasoning {
            self.emit(self.buf.len(), out);
        } else {
            if reason != FinishReason::Length {
                self.accept_tentative(out);
            }
            if self.calls == 0 || !self.buf[self.from..].trim().is_empty() {
                self.emit(self.buf.len(), out);
            }
        }
        self.promote(reason, out);
    }

    /// The backend goes on with a call of its own: what stands at the end of a marker is what it leaked of that call.
    pub fn give_way(&mut self, out: &mut dyn Sink) {
        if let Some(at) = self.adapter.triggers.leak(&self.buf, self.from) {
            let at = self.from + self.buf[self.from..at].trim_end().len();
            self.buf.truncate(at);
            self.pos = self.pos.min(at);
            self.candidate = None;
        }
        self.finish(FinishReason::Stop, out);
    }

    /// One transition; whether there is progress to be made.
    fn step(&mut self, end: bool, out: &mut dyn Sink) -> bool {
        if self.candidate.is_some() {
            return self.step_candidate(end, out);
        }
        match self.region {
            Region::Text => self.step_text(end, out),
            Region::Reasoning => self.step_reasoning(end, out),
            Region::Fence(tick, length) => self.step_fence(tick, length, end, out),
        }
    }

    fn step_text(&mut self, end: bool, out: &mut dyn Sink) -> bool {
        let adapter = Arc::clone(&self.adapter);
        if self.primed {
            match self.step_primed(end, out) {
                Some(progress) => return progress,
                None => self.primed = false,
            }
        }
        if let Some(form) = self.behind {
            match self.swallow_closers(form, end) {
                Some(progress) => return progress,
                None => self.behind = None,
            }
        }
        let first = self.pos + super::syntax::blank(&self.buf[self.pos..]);
        if self.fresh && self.wanted() && !self.tried {
            if first == self.buf.len() {
                self.pos = first;
                return false;
            }
            if adapter.triggers.may_become(&self.buf[first..]) && !end {
                return false;
            }
            self.tried = true;
            if self.begin_bare(first, 0) {
                return true;
            }
        }
        let found = match adapter.triggers.next(&self.buf, self.pos, end) {
            Ok(found) => found,
            Err(held) => {
                self.advance(held, out);
                return false;
            }
        };
        let (at, mark) = (found.at, found.mark);
        self.advance(at, out);
        let wanted = self.wanted();
        if !end && adapter.triggers.may_become(&self.buf[at..]) {
            return false;
        }
        if mark.code {
            return self.step_code(at, end, out);
        }
        let meaningful =
            (self.options.framing && mark.framing()) || (wanted && (mark.element || mark.bare || !mark.calls.is_empty()));
        if !meaningful {
            self.advance(at + found.len, out);
            return true;
        }
        if self.inline > 0 {
            match self.inline_end(at, end) {
                Inline::Unknown => return false,
                Inline::Closes(behind) => {
                    self.inline = 0;
                    self.advance(behind, out);
                    return true;
                }
                Inline::Never => self.inline = 0,
            }
        }
        if self.options.framing
            && mark.header
            && let Some(progress) = self.step_header(at, found.len, end, out)
        {
            return progress;
        }
        if self.options.framing
            && let Some(progress) = self.step_framing(found, end, out)
        {
            return progress;
        }
        if wanted {
            let begun = match () {
                () if !mark.calls.is_empty() => self.begin_marked(found, end),
                () if mark.bare => Some(self.begin_bare(at, found.len)),
                () if mark.element => Some(self.begin_element(at, end)),
                () => Some(false),
            };
            match begun {
                None => return false,
                Some(true) => return true,
                Some(false) => {}
            }
        }
        self.not_a_call(at, found.len, mark.drop, out);
        true
    }

    /// The text up to `to` is no call: it leaves, except for whitespace at its end, which a call may still swallow.
    fn advance(&mut self, to: usize, out: &mut dyn Sink) {
        let text = &self.buf[self.pos..to];
        if self.inline > 0 && memchr::memchr(b'\n', text.as_bytes()).is_some() {
            self.inline = 0;
        }
        self.pos = to;
        if text.trim().is_empty() {
            return;
        }
        self.tentative.clear();
        (self.fresh, self.behind) = (false, None);
        let end = if self.tools.wanted() || self.swallow_blank { self.buf[..to].trim_end().len() } else { to };
        self.emit(end, out);
    }

    /// Sends the text up to `to` on.
    fn emit(&mut self, to: usize, out: &mut dyn Sink) {
        if self.swallow_blank {
            let blank = super::syntax::blank(&self.buf[self.from..to]);
            self.from += blank;
        }
        let text = &self.buf[self.from..to];
        if text.is_empty() {
            return;
        }
        self.swallow_blank = false;
        match memchr::memrchr(b'\n', text.as_bytes()) {
            Some(newline) => self.line_blank = text[newline..].trim().is_empty(),
            None => self.line_blank &= text.trim().is_empty(),
        }
        if self.region == Region::Reasoning {
            if let Some(draft) = &mut self.draft {
                draft.push_str(text);
            }
            if let Some(believed) = &mut self.believed {
                believed.push_str(text);
            }
            out.event(Event::Reasoning(text));
        } else {
            self.said |= !text.trim().is_empty();
            out.event(Event::Text(text));
        }
        self.from = to;
        self.pos = self.pos.max(to);
    }

    /// Whether only spaces stand between `at` and the newline before it.
    fn at_line_start(&self, at: usize) -> bool {
        let before = &self.buf[self.from..at];
        match before.rfind('\n') {
            Some(newline) => before[newline..].trim().is_empty(),
            None => self.line_blank && before.trim().is_empty(),
        }
    }

    /// What stands at `at` is no call: a control token goes, anything else is text.
    fn not_a_call(&mut self, at: usize, length: usize, control: bool, out: &mut dyn Sink) {
        if control && self.options.framing {
            self.remove(at, at + length, out);
        } else {
            let next = self.buf[at..].chars().next().map_or(1, char::len_utf8);
            self.advance(at + next, out);
        }
    }

    /// Takes `at..to` out of the text: framing, not content.
    fn remove(&mut self, at: usize, to: usize, out: &mut dyn Sink) {
        self.advance(at, out);
        if self.tentative.is_empty() {
            self.emit(at, out);
            (self.from, self.pos) = (to, to);
        } else {
            // What stands before it may still be a call: it waits, without the framing behind it.
            self.buf.replace_range(at..to, "");
            self.pos = at;
        }
    }

    /// Where an inline code span ends that is open at `at`.
    fn inline_end(&self, at: usize, end: bool) -> Inline {
        let limit = boundary(&self.buf, at + INLINE_BYTES);
        let (line, end) = (&self.buf[at..limit], end || limit < self.buf.len());
        let newline = line.find('\n');
        let mut offset = 0;
        while let Some(tick) = line[offset..newline.unwrap_or(line.len())].find('`') {
            let start = offset + tick;
            let run = line[start..].bytes().take_while(|&byte| byte == b'`').count();
            if start + run == line.len() && !end {
                return Inline::Unknown;
            }
            if run == self.inline {
                return Inline::Closes(at + start + run);
            }
            offset = start + run;
        }
        match newline.is_some() || end {
            true => Inline::Never,
            false => Inline::Unknown,
        }
    }

    /// Whether calls are looked for here.
    fn wanted(&self) -> bool {
        self.tools.wanted() && (!self.quiet || self.fresh)
    }

    fn inside(&self) -> Inside {
        let reasoning = self.adapter.reasoning.as_ref().map(|reasoning| reasoning.tool_call_inside);
        reasoning.or(self.adapter.recipient.as_ref().map(|recipient| recipient.tool_call_inside)).unwrap_or_default()
    }
}

/// The last boundary of characters at or before `at`.
fn boundary(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

enum Inline {
    Closes(usize),
    Never,
    Unknown,
}

/// Whether every unmarked call counts wherever it stands.
fn relaxed(choice: &ToolChoice) -> bool {
    matches!(choice, ToolChoice::Required | ToolChoice::Named(_))
}

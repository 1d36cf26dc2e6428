//! Reads a model's text as it comes and splits it into text, reasoning and calls. One state machine for all families: the
//! markers come from the adapter, the bodies are read by `syntax`. Which text counts as a call is decided here, by one set
//! of rules for everybody:
//!
//! * calls are looked for only where tools are offered; never inside code fences or inline code;
//! * a marked form counts anywhere, an unmarked one only if its name resolves, the required keys are there, and it stands
//!   at the start of the answer or at its end;
//! * a call inside reasoning counts only if the reasoning is never closed and only calls follow; text for the user holds none;
//! * the end of an answer that was cut off is not its end: an unmarked call after prose is text there, a draft in
//!   reasoning stays a draft;
//! * what looked like a call and was not is text again, unchanged.
//!
//! Text is held back only while it may still become a marker (whitespace: while a call may follow it). The result never
//! depends on how the text was cut into pieces.

use std::sync::Arc;

use super::{Adapter, Inside};
use crate::{
    event::{Channel, Event, FinishReason, Sink, ToolChoice, Tools, Why},
    fix::Schemas,
};

mod candidate;
mod deliver;
mod draft;
mod entry;
mod framing;
mod header;
mod text;
mod wrap;

use candidate::Candidate;
use draft::Draft;
use text::Inline;
use wrap::Wrap;

/// What a scanner may be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// A candidate whose name is not known is text again beyond so many bytes.
    pub held_bytes: usize,
    /// A call whose arguments are longer than so many bytes is refused.
    pub argument_bytes: usize,
    /// Whether reasoning and control tokens are separated from the text.
    pub framing: bool,
    /// Whether the answer begins inside of reasoning (the prompt opened it).
    pub reasoning_open: bool,
    /// Whether calls without a marker are looked for; not where the client asked for JSON as the answer itself.
    pub unmarked: bool,
    /// Whether the prompt asks for elements named after tools, and the client executes them wherever they are: a line that
    /// begins with such a tag is a call, also in a code fence, and its body is read leniently.
    pub elements: bool,
    /// Whether JSON in the form of a call that is the whole answer, or its end, is refused if it names no offered tool or lacks
    /// required parameters: somebody answers it to the model. The same for elements, where they are asked for. Otherwise it is
    /// text.
    pub strays: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            held_bytes: 16 * 1024,
            argument_bytes: 8 * 1024 * 1024,
            framing: true,
            reasoning_open: false,
            unmarked: true,
            elements: false,
            strays: false,
        }
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
    /// Unmarked calls after prose or in a wrap: they count if nothing but calls follows.
    tentative: Vec<super::syntax::Parsed>,
    /// The marked calls that were accepted last, until others were.
    last_marked: Vec<super::syntax::Parsed>,
    /// The answer began as a transcript (`Thought: ...`): its calls are between other lines.
    transcript: bool,
    /// Why the one tentative call is refused when it counts.
    stray: Option<Why>,
    /// What is around the whole of the answer.
    wrap: Option<Wrap>,
    /// The form of the call before this place, with only whitespace in between: its closing markers may follow.
    behind: Option<usize>,
    /// Nothing but whitespace, reasoning and calls come before this place: an unmarked call counts here.
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
    /// Calls that were written inside reasoning.
    draft: Draft,
    /// Whether the answer began inside reasoning, as far as it has shown.
    began: Option<bool>,
    /// All reasoning of a region that was believed open: sent again as content if it never closed and nothing else came.
    believed: Option<String>,
    /// The backend's own reasoning field.
    field: String,
    /// Nothing of the text was looked at.
    at_start: bool,
    /// The text may begin inside of a header.
    primed: bool,
    /// This message is addressed to the user: nothing in it is a call.
    for_user: bool,
    /// Bytes that were before the buffer.
    gone: usize,
    /// Bytes that were held for nothing.
    wasted: usize,
    /// Why the answer ended, once it has.
    ended: Option<FinishReason>,
    /// Up to here, counted from the beginning of the answer, the text is inside of a value that is no call.
    inside_value: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Region {
    Text,
    Reasoning,
    /// A code fence: its character and length.
    Fence(u8, usize),
    /// The rest of a call that was too long, or what the model made up as its result.
    Lost,
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
            last_marked: Vec::new(),
            transcript: false,
            stray: None,
            wrap: None,
            behind: None,
            fresh: true,
            tried: false,
            said: false,
            calls: 0,
            wrapped: false,
            line_blank: true,
            inline: 0,
            swallow_blank: open,
            draft: Draft::default(),
            began: None,
            believed: open.then(String::new),
            field: String::new(),
            at_start: true,
            primed,
            for_user: false,
            gone: 0,
            wasted: 0,
            ended: None,
            inside_value: 0,
        }
    }

    /// Takes the next piece of the answer.
    pub fn push(&mut self, channel: Channel, text: &str, out: &mut dyn Sink) {
        if channel == Channel::Reasoning {
            if !text.is_empty() {
                out.event(Event::Reasoning(text));
            }
            if self.inside() == Inside::AtEnd && self.tools.wanted() {
                self.field.push_str(text);
            }
            return;
        }
        self.buf.push_str(text);
        while self.step(false, out) {}
        self.buf.drain(..self.from);
        self.pos -= self.from;
        self.gone += self.from;
        if let Some(candidate) = &mut self.candidate {
            candidate.shift(self.from);
        }
        self.from = 0;
    }

    /// The answer is over. A call that was cut off has left without its `CallEnd`; the `Finish` event is the caller's.
    pub fn finish(&mut self, reason: FinishReason, out: &mut dyn Sink) {
        self.ended = Some(reason);
        while self.step(true, out) {}
        if self.region == Region::Reasoning {
            let end = if self.draft.is_empty() { self.buf.len() } else { self.buf.trim_end().len().max(self.from) };
            self.emit(end, out);
        } else {
            if reason != FinishReason::Length {
                self.accept_tentative(out);
            }
            if self.calls == 0 || !self.buf[self.from..].trim().is_empty() {
                self.emit(self.buf.len(), out);
            }
        }
        self.accept_draft(reason, out);
    }

    /// The backend goes on with a call of its own: what is at the end of a marker is what it leaked of that call.
    pub fn give_way(&mut self, out: &mut dyn Sink) {
        if let Some(at) = self.adapter.triggers.leak(&self.buf, self.from) {
            let at = self.from + self.buf[self.from..at].trim_end().len();
            self.buf.truncate(at);
            self.pos = self.pos.min(at);
            (self.candidate, self.wrap) = (None, None);
        }
        self.finish(FinishReason::Stop, out);
    }

    /// Whether the answer began inside reasoning, where it showed that: it closed reasoning that it had not opened (then its
    /// beginning left as text), it opened reasoning itself, or it never closed what was believed to be open.
    pub fn began_inside(&self) -> Option<bool> {
        self.began
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
            Region::Lost => {
                (self.from, self.pos) = (self.buf.len(), self.buf.len());
                false
            }
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
        if self.at_start {
            if !self.skip_label(end) {
                return false;
            }
            self.at_start = false;
        }
        if let Some(form) = self.behind {
            match self.swallow_closers(form, end) {
                Some(progress) => return progress,
                None => self.behind = None,
            }
        }
        let first = self.pos + super::syntax::blank(&self.buf[self.pos..]);
        if let Some(progress) = self.step_wrap(first, end, out) {
            return progress;
        }
        if self.fresh && self.wanted() && !self.tried {
            if first == self.buf.len() {
                self.pos = first;
                return false;
            }
            if adapter.triggers.may_become(&self.buf[first..]) && !end {
                return false;
            }
            match self.begin_wrap(first, end) {
                None => return false,
                Some(true) => return true,
                Some(false) => {}
            }
            let labels = adapter.calls.iter().flat_map(|call| &call.transcript);
            match super::syntax::starts_with_any(&self.buf[first..], labels, end) {
                super::syntax::Start::Maybe => return false,
                start => self.transcript |= matches!(start, super::syntax::Start::Yes(_)),
            }
            self.tried = true;
            if self.begin_bare(first, 0) {
                return true;
            }
        }
        let found = match adapter.triggers.next(&self.buf, self.pos, end) {
            Ok(found) => found,
            Err(held) => {
                if self.leaves_wrap(held, out) {
                    return true;
                }
                // A fence of tildes begins its line; elsewhere they are text at once.
                let tildes = self.buf[held..].bytes().all(|byte| byte == b'~') && !self.at_line_start(held);
                self.advance(if tildes { self.buf.len() } else { held }, out);
                return false;
            }
        };
        let (at, mark) = (found.at, found.mark);
        if self.leaves_wrap(at, out) {
            return true;
        }
        self.advance(at, out);
        let wanted = self.wanted();
        if !end && adapter.triggers.may_become(&self.buf[at..]) {
            return false;
        }
        // A fence in a tag may hold the calls.
        if self.is_wrapped() && mark.calls.is_empty() && (!mark.code || self.is_wrapped_in_code()) {
            self.unwrap(out);
            return true;
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
                Some(false) if self.is_wrapped() => {
                    self.unwrap(out);
                    return true;
                }
                Some(false) => {}
            }
        }
        let lone = wanted && !mark.calls.is_empty() && self.is_lone(at, found.len);
        self.not_a_call(at, found.len, mark.drop || lone, out);
        true
    }

    /// Whether calls are looked for here.
    fn wanted(&self) -> bool {
        self.tools.wanted() && !self.for_user
    }

    fn inside(&self) -> Inside {
        let reasoning = self.adapter.reasoning.as_ref().map(|reasoning| reasoning.tool_call_inside);
        reasoning.or(self.adapter.recipient.as_ref().map(|recipient| recipient.tool_call_inside)).unwrap_or_default()
    }
}

/// Whether every unmarked call counts wherever it is.
fn relaxed(choice: &ToolChoice) -> bool {
    matches!(choice, ToolChoice::Required | ToolChoice::Named(_))
}

//! Splits the streamed text of a model into text, reasoning and calls. One state machine serves all families: the markers come
//! from the adapter, and `syntax` reads the bodies. This module decides which text counts as a call, by the same rules for every
//! family:
//!
//! * Calls are recognised only if tools are offered. A candidate has four properties, from which `verdict.rs` decides: its form
//!   (`entry.rs`), its place (`code.rs`, `text.rs`, `held.rs`), its proof (`proof.rs`), and whether it is whole.
//! * A call inside reasoning counts only if the reasoning is never closed and only calls follow. A message to the user contains
//!   no calls.
//! * A truncated answer has no end in this sense: an unmarked call after prose stays text, a draft in reasoning stays a draft.
//! * Text that looked like a call and was not one is emitted unchanged.
//!
//! ARCHITECTURE.md ("What counts as a call") has all the rules.
//!
//! Text is held only while it may still become a marker or a part of a call, and whitespace only while a call may follow it. The
//! result does not depend on how the text was cut into pieces.

use std::sync::Arc;

use super::{
    Adapter, Inside,
    syntax::{Attempts, blank, is_blank},
    triggers::Found,
};
use crate::{
    event::{Channel, Event, FinishReason, Place, Sink, Tools},
    fix::Schemas,
};

mod buffer;
mod candidate;
mod code;
mod draft;
mod emitted;
mod entry;
mod framing;
mod held;
mod marker;
mod options;
mod proof;
mod text;
mod verdict;

use buffer::Buffer;
use candidate::{Candidate, Read, Spot};
use code::{Code, Ticks};
use draft::Draft;
use emitted::Emitted;
pub use options::{Options, Wanted};
pub use verdict::{MayAsk, REMARK_BYTES, Rules, Verdict, verdict};

/// Maximum whitespace between a marker and what follows it, in bytes.
const GAP_BYTES: usize = 256;

/// Splits the text of one answer into events. Arguments are emitted as the model wrote them; [`crate::fix::Fixer`] repairs them.
/// A call truncated by the end of the answer is emitted too, as [`Call::cut`](crate::event::Call).
pub struct Scanner {
    adapter: Arc<Adapter>,
    tools: Arc<Tools>,
    schemas: Arc<Schemas>,
    options: Options,
    buf: Buffer,
    region: Region,
    candidate: Option<Candidate>,
    /// Calls that wait for what follows them.
    waiting: Vec<Read>,
    /// Code that may hold the last calls of the answer.
    code: Option<Code>,
    before: Before,
    emitted: Emitted,
    draft: Draft,
    message: Message,
}

/// What the text at the current position is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Region {
    Text,
    Reasoning,
    /// A code fence that holds no call.
    Fence(Ticks),
    /// Discarded text: the rest of a call that was too long, or a result that the model invented.
    Lost,
}

/// What precedes the current position. It decides which forms are tried there.
#[derive(Debug)]
struct Before {
    /// The form of the call before this position, if only whitespace follows it: its closing markers may come next.
    call: Option<usize>,
    /// Whether only whitespace, reasoning and calls precede this position, so that an unmarked call counts here.
    fresh: bool,
    /// Whether the unmarked forms were already tried here.
    tried: bool,
}

/// The current message. An answer is one message, or several with headers. The flags are independent.
#[derive(Debug, Default)]
struct Message {
    /// Whether the text may begin inside a header, because the prompt may have opened it, or a message has just ended.
    primed: bool,
    /// Whether the header lost its special tokens, because the backend removes them.
    stripped: bool,
    /// Whether the message is for the user, so that it contains no calls.
    for_user: bool,
    /// Whether the opening marker of the answer region was read.
    in_answer: bool,
    /// Whether the text is in reasoning that stays text, or in a repeated result ([`Place::Code`]), where a call counts only if
    /// nothing but calls follows.
    aside: Option<Place>,
    /// Whether the opening marker of a call is in the text.
    opened: bool,
}

impl Scanner {
    /// Creates a scanner for one answer.
    pub fn new(adapter: Arc<Adapter>, tools: Arc<Tools>, schemas: Arc<Schemas>, options: Options) -> Scanner {
        let open = options.reasoning_open && options.framing && adapter.framing.reasoning.is_some();
        let primed = options.framing && adapter.framing.recipient.is_some() && !open;
        Scanner {
            adapter,
            tools,
            schemas,
            options,
            buf: Buffer::default(),
            region: if open { Region::Reasoning } else { Region::Text },
            candidate: None,
            waiting: Vec::new(),
            code: None,
            before: Before { call: None, fresh: true, tried: false },
            emitted: Emitted { swallow_blank: open, ..Emitted::default() },
            draft: Draft { believed: open.then(String::new), ..Draft::default() },
            message: Message { primed, ..Message::default() },
        }
    }

    /// Creates a scanner for the rest of an answer, after a native call. The rest is read like the beginning of an answer, inside
    /// whatever the text before left open. But a call precedes it, so an invented result ends it.
    pub fn anew(&self) -> Scanner {
        let mut scanner = self.like(self.region == Region::Reasoning);
        scanner.emitted.calls = 1;
        scanner
    }

    /// Creates a scanner for another text of the same model.
    fn like(&self, reasoning_open: bool) -> Scanner {
        let options = Options { reasoning_open, ..self.options.clone() };
        Scanner::new(Arc::clone(&self.adapter), Arc::clone(&self.tools), Arc::clone(&self.schemas), options)
    }

    /// Scans the next piece of the answer.
    pub fn push(&mut self, channel: Channel, text: &str, out: &mut dyn Sink) {
        if channel == Channel::Reasoning {
            if !text.is_empty() {
                out.event(Event::Reasoning(text));
            }
            if self.inside() == Inside::AtEnd && self.tools.wanted() && self.emitted.calls == 0 {
                self.draft.field.push_str(text);
            }
            return;
        }
        self.buf.push(text);
        while self.step(false, out) {}
        if self.candidate.is_none() && self.waiting.is_empty() && self.code.is_none() {
            self.buf.compact();
        }
    }

    /// Ends the answer. A truncated call is emitted as cut. The caller emits `Finish`.
    pub fn finish(&mut self, reason: FinishReason, out: &mut dyn Sink) {
        self.run_out(reason, out);
        self.accept_draft(reason, out);
    }

    /// Scans the rest of the answer. Only drafts still wait.
    fn run_out(&mut self, reason: FinishReason, out: &mut dyn Sink) {
        self.buf.ended = Some(reason);
        while self.step(true, out) {}
        if self.region == Region::Reasoning {
            self.emit(self.buf.len(), out);
        } else {
            self.resolve(self.buf.len(), true, out);
            if self.emitted.calls == 0 || !is_blank(&self.buf[self.buf.from..]) {
                self.emit(self.buf.len(), out);
            }
        }
    }

    /// Ends the text because the backend continues with a native call. A marker at the end of the text was leaked from that call
    /// and is dropped.
    pub fn give_way(&mut self, out: &mut dyn Sink) {
        // What waits for more text is read as it is, however the text was cut.
        if let Some(candidate) = &mut self.candidate {
            candidate.attempts = Attempts::default();
            while self.step(false, out) {}
        }
        if let Some(at) = self.adapter.triggers.leak(&self.buf, self.buf.from) {
            let at = self.buf.trimmed(at);
            self.buf.truncate(at);
            (self.candidate, self.code) = (None, None);
            self.waiting.iter_mut().for_each(|read| read.to = read.to.min(at));
        }
        self.finish(FinishReason::Stop, out);
    }

    /// Whether the answer began inside reasoning. `None`: it gave no sign of that. The answer gives a sign if it closes reasoning
    /// that it did not open (the beginning was then emitted as text), opens reasoning itself, or never closes reasoning that was
    /// believed to be open.
    pub fn began_inside(&self) -> Option<bool> {
        self.draft.began
    }

    /// Makes one transition. Returns whether another one is possible without more text.
    fn step(&mut self, end: bool, out: &mut dyn Sink) -> bool {
        if self.candidate.is_some() {
            return self.step_candidate(end, out);
        }
        match self.region {
            Region::Text => self.step_text(end, out),
            Region::Reasoning => self.step_reasoning(end, out),
            Region::Fence(ticks) => self.step_fence(ticks, end, out),
            Region::Lost => {
                self.buf.skip_to(self.buf.len());
                false
            }
        }
    }

    /// Emits text up to the next marker, and decides what begins there.
    fn step_text(&mut self, end: bool, out: &mut dyn Sink) -> bool {
        let adapter = Arc::clone(&self.adapter);
        let found = self.step_to_marker(&adapter, end, out);
        found.and_then(|found| self.step_marker(found, end, out)).unwrap_or_else(|progress| progress)
    }

    /// Emits text up to the next marker, which it returns, or makes another transition. The error says whether one more is possible
    /// without more text.
    fn step_to_marker<'a>(&mut self, adapter: &'a Adapter, end: bool, out: &mut dyn Sink) -> Result<Found<'a>, bool> {
        if self.message.primed {
            unless(self.step_primed(end, out))?;
            self.message.primed = false;
        }
        unless(self.swallow_closers(end))?;
        let first = self.buf.pos + blank(&self.buf[self.buf.pos..]);
        let is_fresh = self.before.fresh && !self.before.tried && self.code.is_none() && self.wanted();
        if is_fresh && self.begin_fresh(first, end).ok_or(false)? {
            return Err(true);
        }
        let found = self.buf.next_marker(&adapter.triggers, end);
        let to = match found {
            Ok(found) => found.at,
            // A fence of tildes begins at the start of a line. Elsewhere tildes are text, with nothing to wait for.
            Err(held) if self.buf[held..].bytes().all(|byte| byte == b'~') && !self.at_line_start(held) => self.buf.len(),
            Err(held) => held,
        };
        unless(self.step_named_line(to, end, out))?;
        if self.code.is_some() && !is_blank(&self.buf[self.buf.pos..to]) {
            self.show_code(out);
            return Err(true);
        }
        self.advance(to, out);
        found.map_err(|_| false)
    }

    /// Whether calls are recognised at the current position.
    fn wanted(&self) -> bool {
        self.tools.wanted() && !self.message.for_user
    }

    /// What a call inside reasoning means in this family.
    fn inside(&self) -> Inside {
        let reasoning = self.adapter.framing.reasoning.as_ref().map(|reasoning| reasoning.tool_call_inside);
        reasoning.or(self.adapter.framing.recipient.as_ref().map(|recipient| recipient.tool_call_inside)).unwrap_or_default()
    }
}

/// Ends a step that something else made. `progress`: whether another one is possible without more text; `None`: nothing was made.
fn unless(progress: Option<bool>) -> Result<(), bool> {
    progress.map_or(Ok(()), Err)
}

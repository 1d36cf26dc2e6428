//! Decides what the client sees of an answer. Only this module has the rules for refused calls, for text after a call, and for
//! the finish reason. Text that may still become a call never gets here: `adapter::scanner` holds it back.
//!
//! * If a call is refused, or the client's form cannot carry it, the table (`scanner/verdict.rs`) says what becomes of it: the model
//!   is asked again (`retry` times), hidden from the client; or the call is delivered as the model wrote it; or the user reads one
//!   line. Valid calls after the refused one are kept, and delivered after those of the next answer.
//! * An equal call counts twice in one answer. From the third one on it is dropped, with one notice.
//! * Text after a delivered call is nearly always an invented result. It is sent only if another call follows. The scanner already
//!   ends an answer at a result that it recognises (`scanner/marker.rs`, `scanner/held.rs`); this rule is for the rest.
//! * A patch at the end of an answer is not a call. If a tool takes patches, the model is asked whether it means such a call.
//! * If an answer says nothing, or stops in the middle of a task ([`Said::stops_short`]), toolglot asks again, once.
//! * If the first answer in Void announces an action, or tells the user to do what the user has ordered, and ends without a call,
//!   toolglot asks again, for the call alone (`nudge`).
//! * If the user asks what a file says, and the model answers without a call, toolglot asks again, for a call that reads.
//! * If the client demands a call and none came, toolglot also asks again, for the call alone.
//! * After a question about a refused call, prose before the new call is not sent if the client has prose of the first answer.
//! * The finish reason is `tool_calls` if at least one call was delivered. Otherwise it is the backend's.

use std::sync::Arc;

use super::{
    nudge::Nudges,
    quoted::Quoted,
    reask::{Reask, WHOLE_LINE},
};
use crate::{
    adapter::scanner::{self, MayAsk, Verdict},
    client::shape::Carrier,
    event::{Call, Effect, Event, FinishReason, Note, Sink, ToolCall, Tools, Why},
    plan::Repeats,
    same,
};

mod finish;
mod told;

use told::{Delivered, Said, Written, is_beginning};

/// What becomes of refused calls and of text after calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Policy {
    /// Whether the model may be asked again.
    pub may_reask: bool,
    /// Whether refused calls are passed on as events, because the agent of mode `react` answers them.
    pub answers_refused: bool,
    /// Whether an empty answer (no text, reasoning or call) becomes a notice, because some clients treat it as a fault.
    pub notice_when_empty: bool,
    /// Whether the model is asked for the call if its answer is words alone.
    pub nudges: Nudges,
    /// Whether a call of this turn has a result, so that the task may not be done yet.
    pub has_results: bool,
}

/// Applies the rules to the events of one answer.
#[derive(Debug)]
pub(super) struct Gate {
    policy: Policy,
    /// The client's form. Calls that it cannot carry are refused.
    carrier: Carrier,
    /// The tools of the request.
    tools: Arc<Tools>,
    before: Before,
    delivered: Delivered,
    /// All calls of this answer so far.
    written: Written,
    /// Whether the backend itself has read the call that is passing through.
    pub(super) native: bool,
    withheld: String,
    refused: u32,
    /// Why the model is to be asked again.
    reask: Option<Reask>,
    /// Whether the backend itself had read the call that it is asked about.
    asks_about_native: bool,
    said: Said,
    /// The prose of this answer so far, while a call may replace it, because the client has prose of an earlier answer.
    preface: Option<String>,
    pub(super) ended: Ended,
}

/// What precedes the answer in its turn.
#[derive(Debug, Clone, Default)]
pub(super) struct Before {
    /// The earlier calls of this turn that have results. Calls that repeat one of these are refused.
    pub(super) repeats: Repeats,
    /// The results that the model has read. It is asked whether it means a call that is in there.
    pub(super) quoted: Arc<Quoted>,
    /// Why the model was asked again for this answer.
    pub(super) because: Option<Reask>,
    /// What the user reads if this answer says nothing.
    pub(super) left: Option<String>,
    /// Valid calls after a refused one: of an earlier answer, or of this one once the model is to be asked again.
    pub(super) kept: Vec<ToolCall>,
    /// The prose of earlier answers that the client has. A model that is asked again often begins with the same words, or says the
    /// same in others.
    pub(super) said: Vec<String>,
}

impl Before {
    /// Whether the model was asked for the call alone. If so, a valid call is delivered, and everything else is dropped.
    fn call_alone(&self) -> bool {
        self.because.as_ref().is_some_and(Reask::wants_call_alone)
    }

    /// Whether the model was asked about this call.
    fn was_about(&self, name: &str, raw: &str) -> bool {
        let Some(Reask::Refused { name: own, raw: asked, .. }) = &self.because else { return false };
        same::Call::new(own, asked) == same::Call::new(name, raw)
    }
}

/// How the answer ended, besides its finish reason.
#[derive(Debug, Default)]
pub(super) struct Ended {
    /// Whether it broke off, and something other than the gate reports it.
    pub(super) abandoned: bool,
    /// The tool of a native call, although `tool_choice` is `none`.
    pub(super) excluded: Option<String>,
    /// The stop sequence of the request that ended it.
    pub(super) stop_sequence: Option<String>,
}

/// Approximate maximum length of the prose that is searched for an announcement, in bytes.
const PROSE_BYTES: usize = 16 * 1024;
/// After this much prose, a model that was asked for the call alone will not write it. In bytes.
const VAIN_BYTES: usize = 1024;
/// How much prose is held because a call may replace it, in bytes. With more, it is the answer.
const PREFACE_BYTES: usize = 1024;
/// How often the same call counts in one answer.
const EQUAL_CALLS: usize = 2;
/// Approximate maximum length of the text that is withheld after a delivered call, in bytes.
const WITHHELD_BYTES: usize = 1024 * 1024;

impl Gate {
    pub(super) fn new(policy: Policy, carrier: Carrier, tools: Arc<Tools>, before: Before) -> Gate {
        let prose_bytes = match () {
            () if !policy.answers_refused && tools.iter().any(|tool| tool.input.is_patch()) => WITHHELD_BYTES,
            () if policy.nudges != Nudges::Never || before.call_alone() => PROSE_BYTES,
            () => 0,
        };
        Gate {
            policy,
            carrier,
            tools,
            delivered: Delivered::default(),
            written: Written::default(),
            native: false,
            withheld: String::new(),
            refused: 0,
            reask: None,
            asks_about_native: false,
            said: Said { prose_bytes, ..Said::default() },
            preface: (!before.said.is_empty()).then(String::new),
            ended: Ended::default(),
            before,
        }
    }

    pub(super) fn event(&mut self, event: Event<'_>, out: &mut dyn Sink) {
        if self.reask.is_some() {
            return self.after_refused(&event, out);
        }
        match event {
            Event::Text(text) => self.text(text, out),
            Event::Reasoning(text) => {
                self.said.reasoning |= !text.trim().is_empty();
                out.event(event);
            }
            Event::Call(call) => {
                if !self.written.repeats(call.name, call.arguments, self.native) {
                    self.deliver(call, out);
                }
            }
            Event::Refused { name, why, raw, written } => {
                let is_dropped = self.ended.abandoned && matches!(why, Why::Truncated(_));
                let is_copy = self.written.repeats(name, raw, self.native) || self.is_remains(name, why, written);
                if !(is_dropped || is_copy) {
                    self.refuse(name, why, raw, written, out);
                }
            }
            Event::Note(Note::Candidate { name, cell }) => tracing::debug!(tool = name, "{cell}"),
            Event::Note(_) => out.event(event),
            Event::Finish { reason, usage } => {
                let reason = self.finish(reason, out);
                if self.reask.is_none() {
                    if let Some(stop) = self.ended.stop_sequence.take().filter(|_| reason == FinishReason::Stop) {
                        out.event(Event::Note(&Note::StopSequence(stop)));
                    }
                    out.event(Event::Finish { reason, usage });
                }
            }
        }
    }

    /// Handles what follows a refused call that the model is asked about.
    fn after_refused(&mut self, event: &Event<'_>, out: &mut dyn Sink) {
        let Some(reask) = &mut self.reask else { return };
        if let (Event::Text(text), Some(said)) = (event, reask.text_mut()) {
            if said.len() < WITHHELD_BYTES {
                said.push_str(text);
            }
            return;
        }
        let Event::Call(call) = *event else { return };
        if self.written.repeats(call.name, call.arguments, self.native) {
            return;
        }
        let is_copied = matches!(reask, Reask::Refused { name, written, .. }
            if self.asks_about_native && *name == call.name && is_beginning(written, call.arguments));
        if is_copied && !self.native && self.before.kept.is_empty() {
            (self.reask, self.refused) = (None, self.refused - 1);
            return self.deliver(call, out);
        }
        if reask.keeps_others() {
            self.before.kept.push(call.into());
        }
    }

    /// Whether the model was asked for the call alone, and has written too much prose to still write it.
    pub(super) fn is_in_vain(&self) -> bool {
        self.before.call_alone() && self.delivered.count == 0 && self.said.prose.len() > VAIN_BYTES
    }

    /// The number of delivered calls, why the model is to be asked again, if it is, and the calls that are kept until then.
    pub(super) fn outcome(self) -> (u32, Option<Reask>, Vec<ToolCall>) {
        if !self.withheld.trim().is_empty() {
            tracing::debug!(bytes = self.withheld.len(), "text after a delivered call is withheld");
        }
        (self.delivered.count, self.reask, self.before.kept)
    }

    fn text(&mut self, text: &str, out: &mut dyn Sink) {
        if self.delivered.count > 0 {
            if self.withheld.len() < WITHHELD_BYTES {
                self.withheld.push_str(text);
            }
            return;
        }
        if text.is_empty() {
            return;
        }
        if self.said.prose.len() < self.said.prose_bytes {
            self.said.prose.push_str(text);
        }
        if self.before.call_alone() {
            return;
        }
        if let Some(preface) = &mut self.preface {
            preface.push_str(text);
            if preface.len() > PREFACE_BYTES {
                self.release(out);
            }
            return;
        }
        self.say(text, out);
    }

    /// Passes on the prose that no call has replaced, as far as the client does not have it.
    fn release(&mut self, out: &mut dyn Sink) {
        let preface = self.preface.take().unwrap_or_default();
        let mut fresh = preface.as_str();
        for said in self.before.said.iter().map(|said| said.trim_start()) {
            let (said, blank) = said.split_at(said.trim_end().len());
            let is_sentence = said.ends_with(['.', '!', '?', ':', '…', '。', '！', '？', '：']);
            fresh = match fresh.trim_start().strip_prefix(said) {
                Some(rest) if is_sentence || rest.trim().is_empty() || rest.starts_with('\n') => {
                    rest.strip_prefix(blank).unwrap_or(rest).trim_start_matches(' ')
                }
                _ if said.starts_with(fresh.trim()) => "",
                _ => fresh,
            };
        }
        self.said.text |= !preface.trim().is_empty();
        if !fresh.is_empty() {
            self.say(fresh, out);
        }
    }

    fn say(&mut self, text: &str, out: &mut dyn Sink) {
        self.said.left(text);
        out.event(Event::Text(text));
    }

    fn deliver(&mut self, call: Call<'_>, out: &mut dyn Sink) {
        let name = call.name;
        let (placed, doubt) = self.carrier.checked(name, call.arguments);
        let arguments = placed.as_ref();
        let key = same::Call::new(name, arguments);
        let reads = self.tools.get(name).is_some_and(|tool| tool.effect == Effect::Reads);
        if matches!(self.before.because, Some(Reask::Unread(_))) && !reads {
            return;
        }
        if let Err(why) = self.carrier.carries(name, arguments) {
            return self.refuse(name, &why, arguments, arguments, out);
        }
        if self.before.because.is_some() && arguments.contains(WHOLE_LINE) {
            return self.refuse(name, &Why::Placeholders, arguments, arguments, out);
        }
        let may_ask = self.policy.may_reask && self.delivered.count == 0 && !self.before.call_alone();
        if let Some(doubt) = doubt.filter(|_| may_ask) {
            return self.refuse(name, &doubt, arguments, arguments, out);
        }
        if (self.delivered.count == 0 || self.policy.answers_refused) && self.before.quoted.has(&key) {
            if self.policy.may_reask {
                return self.refuse(name, &Why::Quoted, arguments, arguments, out);
            }
            // The model quotes the result once more.
            if self.said.text || self.preface.as_ref().is_some_and(|preface| !preface.trim().is_empty()) {
                return self.notice(&Why::Quoted.notice(name), out);
            }
        }
        // A model that insists on a call with effects may have a reason.
        if self.delivered.count == 0 && self.before.repeats.answers(name, arguments, reads) && (reads || self.policy.may_reask) {
            return self.refuse(name, &Why::Repeated, arguments, arguments, out);
        }
        // Models in a loop write the same call dozens of times.
        if self.delivered.times(&key) >= EQUAL_CALLS {
            if !std::mem::replace(&mut self.delivered.drops, true) {
                self.notice(
                    &format!("[toolglot] call of {name}: the answer repeats it; it was passed on {EQUAL_CALLS} times"),
                    out,
                );
            }
            return;
        }
        self.preface = None;
        if !self.withheld.trim().is_empty() {
            out.event(Event::Text(&std::mem::take(&mut self.withheld)));
        }
        self.withheld.clear();
        let index = self.delivered.add(key);
        out.event(Event::Call(Call { index, arguments, ..call }));
    }

    /// Refuses a call; the arguments are the fields of [`Event::Refused`].
    fn refuse(&mut self, name: &str, why: &Why, raw: &str, written: &str, out: &mut dyn Sink) {
        self.refused += 1;
        tracing::info!(tool = name, %why, after_delivered = self.delivered.count > 0, "call refused");
        if self.policy.answers_refused {
            return out.event(Event::Refused { name, why, raw, written });
        }
        if self.before.call_alone() && !self.tools.must_call() {
            return;
        }
        let limited = matches!(why, Why::Truncated(FinishReason::Length | FinishReason::ContentFilter));
        let may_ask = match () {
            // A guess that the model confirms is what it meant.
            () if matches!(why, Why::Guess(_)) && self.before.was_about(name, raw) => MayAsk::NoLonger,
            () if self.policy.may_reask && self.delivered.count == 0 => MayAsk::Now,
            () => MayAsk::Never,
        };
        match scanner::verdict(why.cell(), scanner::Rules { may_ask, limited, ..scanner::Rules::default() }) {
            Verdict::Ask => {
                let [name, raw, written] = [name, raw, written].map(str::to_owned);
                self.reask = Some(Reask::Refused { name, why: why.clone(), raw, written });
                self.asks_about_native = self.native;
            }
            Verdict::Call => self.deliver(Call::new(0, name, raw), out),
            Verdict::Text => self.text(why.text().unwrap_or_default(), out),
            Verdict::Notice => self.notice(&why.notice(name), out),
        }
    }

    /// Whether a refused call is what the backend's parser has made of a call: the remains of a native call, which it left in the
    /// text, or a native copy without the end of a whole call in the text.
    fn is_remains(&self, name: &str, why: &Why, written: &str) -> bool {
        if self.native {
            return self.written.has_in_text(name, written);
        }
        let is_whole =
            matches!(why, Why::Schema(_) | Why::Unsure(_) | Why::Guess(_) | Why::Unannounced(_) | Why::Quoted | Why::Repeated);
        !is_whole && self.written.has_native(name)
    }

    /// Writes a notice on a line of its own, after a delivered call too, where text is withheld.
    fn notice(&mut self, line: &str, out: &mut dyn Sink) {
        let line = format!("{}{line}\n", if self.said.in_line { "\n" } else { "" });
        if self.delivered.count > 0 { self.say(&line, out) } else { self.text(&line, out) }
    }
}

#[cfg(test)]
mod tests;

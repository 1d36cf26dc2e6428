//! Decides what the client sees of an answer. Only this module has the rules for refused calls, for text after a call, and for
//! the finish reason. Text that may still become a call never gets here: `adapter::scanner` holds it back.
//!
//! * If a call is refused, or the client's form cannot carry it, toolglot asks the model again (`retry` times), hidden from the
//!   client, unless a call of this answer was already delivered. If the model cannot be asked again, a complete object that does
//!   not fit the schema is delivered as the model wrote it, and so is a guess that the model was already asked about. Any other
//!   refused call becomes a one-line notice, and so does a refused call after a delivered one. Valid calls after the refused one
//!   are kept, and delivered after those of the next answer.
//! * Text after a delivered call is nearly always an invented result. It is sent only if another call follows.
//! * A patch at the end of an answer is not a call. If a tool takes patches, the model is asked whether it means such a call.
//! * If an answer announces an action, or tells the user to do what the user has ordered, and ends without a call, toolglot asks
//!   once more, for the call alone.
//! * If the client demands a call and none came, toolglot also asks once more, for the call alone.
//! * The finish reason is `tool_calls` if at least one call was delivered. Otherwise it is the backend's.

use std::sync::Arc;

use super::{
    promised::{advises, announces},
    quoted::Quoted,
    reask::{Reask, WHOLE_LINE},
};
use crate::{
    client::shape::Carrier,
    event::{Assembly, Effect, Event, FinishReason, Note, Sink, ToolCall, Tools, Why},
    fix,
    plan::Repeats,
    same,
};

mod told;

use told::{Delivered, Said, Written};

/// What becomes of refused calls and of text after calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Policy {
    /// Whether the model may be asked again.
    pub may_reask: bool,
    /// Whether refused calls are passed on as events, because the agent of mode `react` answers them.
    pub answers_refused: bool,
    /// Whether an empty answer (no text, reasoning or call) becomes a notice, because some clients treat it as a fault.
    pub notice_when_empty: bool,
    /// Whether the model is asked for the call if its answer announces an action and contains no call.
    pub nudges: bool,
    /// Whether the user has ordered an action of tools. If so, the model is also asked for the call if it only explains the
    /// action.
    pub ordered: bool,
    /// Whether the client demands a call (`tool_choice`). If so, the model is asked for it if the answer contains none.
    pub must_call: bool,
    /// Whether the model was asked for the call alone. If so, a valid call is delivered, and everything else is dropped.
    pub call_alone: bool,
}

/// Applies the rules to the events of one answer.
#[derive(Debug)]
pub(super) struct Gate {
    policy: Policy,
    /// The client's form. Calls that it cannot carry are refused.
    pub(super) carrier: Carrier,
    pub(super) before: Before,
    delivered: Delivered,
    /// All calls of this answer so far.
    written: Written,
    /// Whether the backend itself has read the call that is passing through.
    pub(super) native: bool,
    /// The call that is passing through.
    open: Assembly,
    withheld: String,
    refused: u32,
    again: Again,
    said: Said,
    pub(super) ended: Ended,
}

/// What precedes the answer.
#[derive(Debug, Default)]
pub(super) struct Before {
    /// The earlier calls of this turn that have results.
    repeats: Repeats,
    /// The tools of the request.
    tools: Arc<Tools>,
    /// What the model has read. It is asked whether it means a call that is in there.
    pub(super) quoted: Arc<Quoted>,
}

/// How the model was asked before this answer, and is asked after it.
#[derive(Debug, Default)]
struct Again {
    /// Whether the model was asked again for this answer.
    asked: bool,
    /// What the user reads if this answer is empty.
    empty: Option<String>,
    /// Why the model is to be asked again.
    reask: Option<Reask>,
    /// Valid calls after a refused one: of an earlier answer, or of this one once `reask` is set.
    kept: Vec<ToolCall>,
}

/// How the answer ended, besides its finish reason.
#[derive(Debug, Default)]
pub(super) struct Ended {
    /// Whether it broke off, and something other than the gate reports it.
    pub(super) abandoned: bool,
    /// The stop sequence of the request that ended it.
    pub(super) stop_sequence: Option<String>,
}

/// Approximate maximum length of the prose that is searched for an announcement, in bytes.
const PROSE_BYTES: usize = 16 * 1024;
/// After this much prose, a model that was asked for the call alone will not write it. In bytes.
const VAIN_BYTES: usize = 1024;
/// Approximate maximum length of the text that is withheld after a delivered call, in bytes.
const WITHHELD_BYTES: usize = 1024 * 1024;

impl Gate {
    pub(super) fn new(policy: Policy) -> Gate {
        let prose_bytes = if policy.nudges || policy.call_alone { PROSE_BYTES } else { 0 };
        Gate {
            policy,
            carrier: Carrier::default(),
            before: Before::default(),
            delivered: Delivered::default(),
            written: Written::default(),
            native: false,
            open: Assembly::default(),
            withheld: String::new(),
            refused: 0,
            again: Again::default(),
            said: Said { text: false, reasoning: false, line_start: true, prose: String::new(), prose_bytes },
            ended: Ended::default(),
        }
    }

    pub(super) fn event(&mut self, event: Event<'_>, out: &mut dyn Sink) {
        let Again { reask, kept, .. } = &mut self.again;
        if let Some(reask) = reask {
            match (&event, reask) {
                (Event::Text(text), Reask::Refused { why: Why::Unannounced(said), .. }) if said.len() < WITHHELD_BYTES => {
                    said.push_str(text);
                }
                (event, reask) => {
                    let written = &mut self.written;
                    let mut is_new = |call: &ToolCall| !written.repeats(&call.name, &call.arguments, self.native);
                    let call = self.open.event(event).map(|(_, call)| call).filter(|call| is_new(call));
                    kept.extend(call.filter(|_| reask.keeps_others()));
                }
            }
            return;
        }
        match event {
            Event::Text(text) => self.text(text, out),
            Event::Reasoning(text) => {
                self.said.reasoning |= !text.trim().is_empty();
                out.event(event);
            }
            Event::CallStart { .. } | Event::CallArguments { .. } | Event::CallEnd { .. } => {
                if let Some((_, call)) = self.open.event(&event) {
                    self.deliver(&call.name, call.id.as_deref(), &call.arguments, call.extra.as_deref(), out);
                }
            }
            Event::Refused { name, why, raw } => self.refuse(name, why, raw, out),
            Event::Note(_) => out.event(event),
            Event::Finish { reason, usage } => {
                let reason = self.finish(reason, out);
                if self.again.reask.is_none() {
                    if let Some(stop) = self.ended.stop_sequence.take().filter(|_| reason == FinishReason::Stop) {
                        out.event(Event::Note(&Note::StopSequence(stop)));
                    }
                    out.event(Event::Finish { reason, usage });
                }
            }
        }
    }

    /// Sets the earlier calls: from now on, calls that repeat one of these are refused.
    pub(super) fn after(&mut self, repeats: Repeats, tools: Arc<Tools>) {
        if tools.iter().any(|tool| tool.input.is_patch()) {
            self.said.prose_bytes = WITHHELD_BYTES;
        }
        (self.before.repeats, self.before.tools) = (repeats, tools);
    }

    /// Continues after an answer in which a call was refused. `kept`: the valid calls after it. `empty`: what the user reads if
    /// this answer is empty.
    pub(super) fn again(&mut self, kept: Vec<ToolCall>, empty: Option<String>) {
        self.again = Again { asked: true, empty, reask: None, kept };
    }

    /// Whether the model was asked for the call alone, and has written too much prose to still write it.
    pub(super) fn is_in_vain(&self) -> bool {
        self.policy.call_alone && self.delivered.count == 0 && self.said.prose.len() > VAIN_BYTES
    }

    /// The number of delivered calls, why the model is to be asked again, if it is, and the calls that are kept until then.
    pub(super) fn outcome(self) -> (u32, Option<Reask>, Vec<ToolCall>) {
        if self.refused > 0 || !self.withheld.trim().is_empty() {
            tracing::debug!(
                refused = self.refused,
                withheld_bytes = self.withheld.len(),
                delivered = self.delivered.count,
                "answer was gated"
            );
        }
        (self.delivered.count, self.again.reask, self.again.kept)
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
        if self.policy.call_alone {
            return;
        }
        self.said.left(text);
        out.event(Event::Text(text));
    }

    fn deliver(&mut self, name: &str, id: Option<&str>, arguments: &str, extra: Option<&str>, out: &mut dyn Sink) {
        let (placed, doubt) = self.carrier.placed(name, arguments);
        let arguments = placed.as_ref();
        let key = same::Call::new(name, arguments);
        if self.written.repeats(name, arguments, self.native) {
            return;
        }
        if let Err(why) = self.carrier.carries(name, arguments) {
            return self.refuse(name, &why, arguments, out);
        }
        if self.again.asked && arguments.contains(WHOLE_LINE) {
            return self.refuse(name, &Why::Placeholders, arguments, out);
        }
        let may_ask = self.policy.may_reask && self.delivered.count == 0 && !self.policy.call_alone;
        if let Some(doubt) = doubt.filter(|_| may_ask) {
            return self.refuse(name, &doubt, arguments, out);
        }
        if (self.delivered.count == 0 || self.policy.answers_refused) && self.before.quoted.has(&key) {
            if self.policy.may_reask {
                return self.refuse(name, &Why::Quoted, arguments, out);
            }
            // The model quotes the result once more.
            if self.said.text {
                return self.notice(&Why::Quoted.notice(name), out);
            }
        }
        let Before { repeats, tools, .. } = &self.before;
        let reads = tools.get(name).is_some_and(|tool| tool.effect == Effect::Reads);
        // A model that insists on a call with effects may have a reason.
        if self.delivered.count == 0 && repeats.answers(name, arguments, reads) && (reads || self.policy.may_reask) {
            return self.refuse(name, &Why::Repeated, arguments, out);
        }
        if !self.withheld.trim().is_empty() {
            out.event(Event::Text(&std::mem::take(&mut self.withheld)));
        }
        self.withheld.clear();
        let index = self.delivered.add(key);
        out.call(index, id, (name, arguments), extra);
    }

    fn refuse(&mut self, name: &str, why: &Why, raw: &str, out: &mut dyn Sink) {
        if self.ended.abandoned && matches!(why, Why::Truncated(_)) {
            return;
        }
        if self.written.repeats(name, raw, self.native) || self.is_remains(name, why) {
            return;
        }
        self.refused += 1;
        tracing::info!(tool = name, %why, after_delivered = self.delivered.count > 0, "call refused");
        if self.policy.answers_refused {
            return out.event(Event::Refused { name, why, raw });
        }
        if self.policy.call_alone && !self.policy.must_call {
            return;
        }
        if matches!(why, Why::Unsure(_)) && (self.delivered.count > 0 || !self.policy.may_reask) {
            return self.deliver(name, None, raw, None, out);
        }
        if self.delivered.count > 0 {
            return self.beside(name, why, out);
        }
        if self.policy.may_reask && !matches!(why, Why::Truncated(FinishReason::Length | FinishReason::ContentFilter)) {
            self.again.reask = Some(Reask::Refused { name: name.to_owned(), why: why.clone(), raw: raw.to_owned() });
            return;
        }
        if matches!(why, Why::Schema(_)) {
            return self.deliver(name, None, raw, None, out);
        }
        self.notice(&why.notice(name), out);
    }

    /// Whether a refused call is the remains of a native call, which the backend's parser left in the text.
    fn is_remains(&self, name: &str, why: &Why) -> bool {
        let is_whole = matches!(why, Why::Schema(_) | Why::Unsure(_) | Why::Unannounced(_) | Why::Quoted | Why::Repeated);
        !self.native && !is_whole && self.written.has_native(name)
    }

    /// Handles a refused call after a delivered one. The model is not asked again, but the user is told. The text between them is
    /// withheld.
    fn beside(&mut self, name: &str, why: &Why, out: &mut dyn Sink) {
        let gap = if self.said.line_start { "" } else { "\n" };
        let notice = format!("{gap}{}\n", why.notice(name));
        self.said.left(&notice);
        out.event(Event::Text(&notice));
    }

    /// Writes a notice on a line of its own.
    fn notice(&mut self, line: &str, out: &mut dyn Sink) {
        let gap = if self.said.line_start { "" } else { "\n" };
        self.text(&format!("{gap}{line}\n"), out);
    }

    fn finish(&mut self, reason: FinishReason, out: &mut dyn Sink) -> FinishReason {
        if self.ended.abandoned {
            return reason;
        }
        for call in std::mem::take(&mut self.again.kept) {
            let is_new = !self.delivered.has(&same::Call::new(&call.name, &call.arguments));
            if is_new && self.again.reask.is_none() {
                self.deliver(&call.name, call.id.as_deref(), &call.arguments, call.extra.as_deref(), out);
            }
        }
        if self.delivered.count > 0 {
            return FinishReason::ToolCalls;
        }
        let is_whole = matches!(reason, FinishReason::Stop | FinishReason::ToolCalls);
        if self.policy.must_call && self.policy.may_reask && is_whole && self.refused == 0 {
            self.again.reask = Some(Reask::Uncalled);
            return reason;
        }
        if self.policy.call_alone {
            return FinishReason::Stop;
        }
        let empty = !self.said.text && !self.said.reasoning && self.refused == 0;
        let nudges = self.policy.nudges && self.policy.may_reask && reason == FinishReason::Stop && self.refused == 0;
        let prose = &self.said.prose;
        if nudges && (announces(prose, &self.before.tools) || (self.policy.ordered && advises(prose))) {
            self.again.reask = Some(Reask::Announced);
            return reason;
        }
        if let Some((tool, raw)) = fix::shown_patch(prose, &self.before.tools).filter(|_| self.refused == 0) {
            let name = tool.name.clone();
            if self.policy.may_reask {
                self.again.reask = Some(Reask::Refused { name, why: Why::Unannounced(String::new()), raw });
                return reason;
            }
            // If the whole answer is a patch, the model means it.
            let is_alone = ["***", "```", "~~~", "apply_patch"].iter().any(|begin| prose.trim_start().starts_with(begin));
            if self.again.asked && is_alone {
                self.deliver(&name, None, &raw, None, out);
            }
            if self.delivered.count > 0 {
                return FinishReason::ToolCalls;
            }
        }
        if empty && self.policy.may_reask && reason == FinishReason::Stop && !self.before.repeats.is_empty() {
            self.again.reask = Some(Reask::Silent);
            return reason;
        }
        if self.policy.notice_when_empty && empty {
            let why = match reason {
                FinishReason::Length => "the output limit was reached before the model wrote anything",
                FinishReason::ContentFilter => "the backend's filter stopped the answer",
                FinishReason::Stop | FinishReason::ToolCalls => "the model's answer was empty",
            };
            let why = self.again.empty.take().unwrap_or_else(|| format!("[toolglot] {why}"));
            self.notice(&why, out);
        }
        match reason {
            FinishReason::ToolCalls => FinishReason::Stop,
            other => other,
        }
    }
}

#[cfg(test)]
mod tests;

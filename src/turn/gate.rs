//! What the client sees of an answer: the one place that knows the rules for refused calls, for text after a call, and for
//! the finish reason.
//!
//! * A refused call, and one that the client's form cannot carry, is answered to the model (`retry` times), hidden from the client,
//!   unless a call of this answer was delivered already. Where asking again is over or makes no sense: a complete object
//!   that does not fit the schema is delivered as the model wrote it, and so is a guess that was asked about; anything else
//!   becomes one line of notice.
//! * A refused call after a delivered one becomes a line of notice, too: nothing is lost without a word.
//! * Text after a delivered call is nearly always an invented result: it leaves only if another call follows.
//! * An answer that announces an action, or tells the user to do what he has ordered, and ends without a call is answered with a
//!   question for the call alone, once.
//! * `tool_calls` means that at least one call was delivered; anything else is what the backend said.

use std::sync::Arc;

use super::announced::{advises, announces};
use crate::{
    client::shape::Carrier,
    event::{Assembly, Effect, Event, FinishReason, Note, Sink, Tools, Why},
    plan::Repeats,
};

/// What becomes of refused calls and of text after calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Policy {
    /// The model may be asked again.
    pub may_reask: bool,
    /// Refused calls go on as events: whoever runs the calls answers them to the model.
    pub answers_refused: bool,
    /// Text after a delivered call is sent on.
    pub keep_text_after_call: bool,
    /// An answer without text, reasoning and calls becomes a notice: some clients take an empty answer for a fault.
    pub notice_when_empty: bool,
    /// An answer that announces an action and has no call makes the model be asked for the call.
    pub nudges: bool,
    /// The user has ordered something that tools do: advice how to do it makes the model be asked for the call, too.
    pub ordered: bool,
    /// The model was asked for a call alone: a good one is delivered, everything else is left out.
    pub call_alone: bool,
}

/// Why the model shall be asked again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reask {
    /// It got a call wrong.
    Refused {
        /// The tool's name as far as it is known.
        name: String,
        /// What was wrong.
        why: Why,
        /// What it wrote.
        raw: String,
    },
    /// It has results and said nothing.
    Silent,
    /// It said what it does, or what the user shall do in its place, and did not do it.
    Announced,
}

impl std::fmt::Display for Reask {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Reask::Refused { name, why, .. } => write!(f, "{name}: {why}"),
            Reask::Silent => f.write_str("nothing was said after a result"),
            Reask::Announced => f.write_str("an action was announced or explained, and no tool was called"),
        }
    }
}

/// Applies the rules to the events of one answer.
#[derive(Debug)]
pub(super) struct Gate {
    policy: Policy,
    carrier: Carrier,
    /// The calls of this turn that were answered before, and the tools that they were made of.
    before: (Repeats, Arc<Tools>),
    delivered: Delivered,
    /// The call that is passing.
    open: Assembly,
    withheld: String,
    refused: u32,
    reask: Option<Reask>,
    said: Said,
    /// The stop sequence of the request that ended the answer.
    stop_sequence: Option<String>,
}

/// The calls of this answer that the client has.
#[derive(Debug, Default)]
struct Delivered {
    count: u32,
    /// Those out of the text (name, arguments without whitespace), until the backend's own begin.
    from_text: Vec<(String, String)>,
    /// Calls are the backend's own.
    native: bool,
}

/// What was said in this answer.
#[derive(Debug)]
struct Said {
    /// The client has text of it.
    text: bool,
    /// The client has reasoning of it.
    reasoning: bool,
    /// The text that left last ended with a newline, or none has left.
    line_start: bool,
    /// The prose of an answer that may be asked about, whether the client got it or not.
    prose: String,
}

/// Maximum length of the prose that is searched for an announcement, give or take a piece.
const PROSE_BYTES: usize = 16 * 1024;
/// A model that was asked for a call alone makes none after this much prose, in bytes.
const VAIN_BYTES: usize = 1024;
/// Maximum length of the text after a delivered call that is kept until it is known whether another call follows, give or take
/// a piece.
const WITHHELD_BYTES: usize = 1024 * 1024;

// === impl Gate ===

impl Gate {
    pub(super) fn new(policy: Policy) -> Gate {
        Gate {
            policy,
            carrier: Carrier::default(),
            before: Default::default(),
            delivered: Delivered::default(),
            open: Assembly::default(),
            withheld: String::new(),
            refused: 0,
            reask: None,
            said: Said { text: false, reasoning: false, line_start: true, prose: String::new() },
            stop_sequence: None,
        }
    }

    pub(super) fn event(&mut self, event: Event<'_>, out: &mut dyn Sink) {
        if self.reask.is_some() {
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
                if self.reask.is_none() {
                    if let Some(stop) = self.stop_sequence.take().filter(|_| reason == FinishReason::Stop) {
                        out.event(Event::Note(&Note::StopSequence(stop)));
                    }
                    out.event(Event::Finish { reason, usage });
                }
            }
        }
    }

    /// The backend tells that the answer ended at this stop sequence.
    pub(super) fn stopped_at(&mut self, stop: &str) {
        self.stop_sequence = Some(stop.to_owned());
    }

    /// A call that this client's form cannot carry is refused like any other.
    pub(super) fn towards(&mut self, carrier: Carrier) {
        self.carrier = carrier;
    }

    /// A call of these tools that was answered before is refused.
    pub(super) fn after(&mut self, before: Repeats, tools: Arc<Tools>) {
        self.before = (before, tools);
    }

    /// From here on calls are the backend's own.
    pub(super) fn natives_begin(&mut self) {
        self.delivered.native = true;
    }

    /// Whether the model was asked for a call alone, and tells a story.
    pub(super) fn is_in_vain(&self) -> bool {
        self.policy.call_alone && self.delivered.count == 0 && self.said.prose.len() > VAIN_BYTES
    }

    /// How many calls were delivered, and whether the model shall be asked again.
    pub(super) fn outcome(self) -> (u32, Option<Reask>) {
        if self.refused > 0 || !self.withheld.trim().is_empty() {
            tracing::debug!(
                refused = self.refused,
                withheld_bytes = self.withheld.len(),
                delivered = self.delivered.count,
                "answer was gated"
            );
        }
        (self.delivered.count, self.reask)
    }

    fn text(&mut self, text: &str, out: &mut dyn Sink) {
        if self.delivered.count > 0 && !self.policy.keep_text_after_call {
            if self.withheld.len() < WITHHELD_BYTES {
                self.withheld.push_str(text);
            }
            return;
        }
        if text.is_empty() {
            return;
        }
        if (self.policy.nudges || self.policy.call_alone) && self.said.prose.len() < PROSE_BYTES {
            self.said.prose.push_str(text);
        }
        if self.policy.call_alone {
            return;
        }
        self.said.left(text);
        out.event(Event::Text(text));
    }

    fn deliver(&mut self, name: &str, id: Option<&str>, arguments: &str, extra: Option<&str>, out: &mut dyn Sink) {
        let placed = self.carrier.placed(name, arguments);
        let arguments = placed.as_ref();
        let key = (name.to_owned(), canonical(arguments));
        // A backend may repeat as its own call what also was in the text.
        if self.delivered.had_in_text(&key) {
            return;
        }
        if let Err(why) = self.carrier.carries(name, arguments) {
            return self.refuse(name, &why, arguments, out);
        }
        let (before, tools) = &self.before;
        let reads = tools.get(name).is_some_and(|tool| tool.effect == Effect::Reads);
        // A model that insists on a call with effects may have a reason.
        if self.delivered.count == 0 && before.answers(name, arguments, reads) && (reads || self.policy.may_reask) {
            return self.refuse(name, &Why::Repeated, arguments, out);
        }
        if !self.withheld.trim().is_empty() {
            out.event(Event::Text(&std::mem::take(&mut self.withheld)));
        }
        self.withheld.clear();
        let index = self.delivered.add(key);
        out.event(Event::CallStart { index, id, name });
        out.event(Event::CallArguments { index, json: arguments });
        out.event(Event::CallEnd { index, extra });
    }

    fn refuse(&mut self, name: &str, why: &Why, raw: &str, out: &mut dyn Sink) {
        self.refused += 1;
        tracing::info!(tool = name, %why, after_delivered = self.delivered.count > 0, "call refused");
        if self.policy.answers_refused {
            return out.event(Event::Refused { name, why, raw });
        }
        if self.policy.call_alone {
            return;
        }
        if matches!(why, Why::Unsure(_)) && (self.delivered.count > 0 || !self.policy.may_reask) {
            return self.deliver(name, None, raw, None, out);
        }
        if self.delivered.count > 0 {
            return self.beside(name, why, out);
        }
        if self.policy.may_reask && !matches!(why, Why::Truncated(FinishReason::Length | FinishReason::ContentFilter)) {
            self.reask = Some(Reask::Refused { name: name.to_owned(), why: why.clone(), raw: raw.to_owned() });
            return;
        }
        if matches!(why, Why::Schema(_)) {
            return self.deliver(name, None, raw, None, out);
        }
        self.notice(&not_run(name, why), out);
    }

    /// A refused call after one that was delivered: nobody is asked again, but the user is told. The text between them is withheld.
    fn beside(&mut self, name: &str, why: &Why, out: &mut dyn Sink) {
        let gap = if self.said.line_start { "" } else { "\n" };
        let notice = format!("{gap}{}\n", not_run(name, why));
        self.said.left(&notice);
        out.event(Event::Text(&notice));
    }

    /// One line of its own.
    fn notice(&mut self, line: &str, out: &mut dyn Sink) {
        let gap = if self.said.line_start { "" } else { "\n" };
        self.text(&format!("{gap}{line}\n"), out);
    }

    fn finish(&mut self, reason: FinishReason, out: &mut dyn Sink) -> FinishReason {
        if self.delivered.count > 0 {
            return FinishReason::ToolCalls;
        }
        if self.policy.call_alone {
            return FinishReason::Stop;
        }
        let empty = !self.said.text && !self.said.reasoning && self.refused == 0;
        let nudges = self.policy.nudges && self.policy.may_reask && reason == FinishReason::Stop && self.refused == 0;
        let prose = &self.said.prose;
        if nudges && (announces(prose, &self.before.1) || (self.policy.ordered && advises(prose))) {
            self.reask = Some(Reask::Announced);
            return reason;
        }
        if empty && self.policy.may_reask && reason == FinishReason::Stop && !self.before.0.is_empty() {
            self.reask = Some(Reask::Silent);
            return reason;
        }
        if self.policy.notice_when_empty && empty {
            let why = match reason {
                FinishReason::Length => "the output limit was reached before the model wrote anything",
                FinishReason::ContentFilter => "the backend's filter stopped the answer",
                FinishReason::Stop | FinishReason::ToolCalls => "the model's answer was empty",
            };
            self.notice(&format!("[toolglot] {why}"), out);
        }
        match reason {
            FinishReason::ToolCalls => FinishReason::Stop,
            other => other,
        }
    }
}

// === impl Delivered ===

impl Delivered {
    /// Whether this call of the backend's own was delivered out of the text already.
    fn had_in_text(&self, call: &(String, String)) -> bool {
        self.native && self.from_text.contains(call)
    }

    /// Counts a call; its index.
    fn add(&mut self, call: (String, String)) -> u32 {
        if !self.native {
            self.from_text.push(call);
        }
        self.count += 1;
        self.count - 1
    }
}

// === impl Said ===

impl Said {
    /// The client gets this text.
    fn left(&mut self, text: &str) {
        self.text |= !text.trim().is_empty();
        self.line_start = text.ends_with('\n');
    }
}

/// What the user reads of a call that was refused.
fn not_run(name: &str, why: &Why) -> String {
    let subject = if name.is_empty() { "a tool" } else { name };
    format!("[toolglot] call of {subject} was not run: {why}")
}

/// JSON text without insignificant whitespace, for comparison.
fn canonical(json: &str) -> String {
    serde_json::from_str::<serde_json::Value>(json).map(|value| value.to_string()).unwrap_or_else(|_| json.trim().to_owned())
}

#[cfg(test)]
mod tests;

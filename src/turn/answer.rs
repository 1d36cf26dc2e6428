//! Runs one answer of a backend through the stages: text through the scanner, calls (found in the text, or the backend's own)
//! through the fixer, everything through the gate. The result is events for the client's shape. Synchronous and sans-IO: serving,
//! `toolglot normalize` and the fixtures all use this code. `rounds::reading` decides when an answer is over, and what a broken stream
//! means.

use std::sync::Arc;

mod unwanted;

use self::unwanted::Unwanted;
use super::gate::{Before, Gate};
pub use super::{gate::Policy, reask::Reask};
use crate::{
    adapter::{Adapter, Scanner, scanner},
    client::shape::Carrier,
    event::{Call, Channel, Delta, Event, FinishReason, Sink, ToolCall, ToolChoice, Tools, Usage, Why},
    fix::{Checked, Fixer, Schemas, name::means_none},
    json::extent::{self, PlainExtent},
    plan::Plan,
};

/// The parts that an [`Answer`] is made from.
#[derive(Debug, Clone)]
pub struct Setup {
    /// The adapter of the model's family.
    pub adapter: Arc<Adapter>,
    /// The offered tools.
    pub tools: Arc<Tools>,
    /// Compiled schemas.
    pub schemas: Arc<Schemas>,
    /// Options of the scanner.
    pub scanner: scanner::Options,
    /// What becomes of refused calls and of text after calls.
    pub policy: Policy,
    /// The client's form, which may not be able to carry every call.
    pub carrier: Carrier,
}

/// Reads one answer of a backend.
pub struct Answer {
    pub(super) scanner: Scanner,
    pub(super) fixer: Fixer,
    pub(super) gate: Gate,
    tools: Arc<Tools>,
    /// The last native call. It is complete if anything other than the end of the answer follows.
    native: Option<ToolCall>,
    /// Takes calls out of the text if `tool_choice` is `none`.
    unwanted: Option<Unwanted>,
    /// Whether text or reasoning came since the last native call.
    heard: bool,
    /// Whether the answer began inside reasoning, as far as the text before the first native call shows.
    began_inside: Option<bool>,
    reason: Option<FinishReason>,
    usage: Option<Usage>,
}

/// The result of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// Number of delivered calls.
    pub delivered: u32,
    /// Why the model is to be asked again. If set, no `Finish` was sent.
    pub reask: Option<Reask>,
    /// Valid calls that wait for the next answer.
    pub kept: Vec<ToolCall>,
    /// The calls that the fixer checked, with its reports.
    pub checked: Vec<Checked>,
    /// Token counts of the backend.
    pub usage: Option<Usage>,
    /// Whether the answer began inside reasoning; `None` if it gave no sign of that.
    pub began_inside: Option<bool>,
}

impl Outcome {
    /// The tool whose call was refused because the model ended its answer inside the arguments.
    pub fn unclosed(&self) -> Option<&str> {
        let unclosed = |why: &Why| matches!(why, Why::Truncated(FinishReason::Stop | FinishReason::ToolCalls));
        let refused = self.checked.iter().rfind(|checked| checked.report.why.as_ref().is_some_and(unclosed))?;
        Some(&refused.name)
    }
}

impl Setup {
    /// The usual options.
    pub fn new(adapter: Arc<Adapter>, tools: Arc<Tools>, schemas: Arc<Schemas>) -> Setup {
        let (scanner, policy, carrier) = Default::default();
        Setup { adapter, tools, schemas, scanner, policy, carrier }
    }

    /// As the answers of this turn are read.
    pub fn of(plan: &Plan, schemas: &Arc<Schemas>) -> Setup {
        let setup = Setup::new(Arc::clone(&plan.adapter), Arc::clone(&plan.tools), Arc::clone(schemas));
        Setup { scanner: plan.scanner(), ..setup }
    }
}

impl Answer {
    /// A reader for an answer that has not begun.
    pub fn new(setup: Setup) -> Answer {
        Answer::after(setup, Before::default())
    }

    /// The same for an answer that others may precede in its turn.
    pub(super) fn after(setup: Setup, before: Before) -> Answer {
        let Setup { adapter, tools, schemas, scanner, policy, carrier } = setup;
        let limit = scanner.argument_bytes;
        let mut fixer = Fixer::new(Arc::clone(&tools), Arc::clone(&schemas));
        (fixer.limit, fixer.markers) = (limit, Arc::clone(&adapter.value_markers));
        Answer {
            unwanted: Unwanted::new(&adapter, &tools),
            scanner: Scanner::new(adapter, Arc::clone(&tools), schemas, scanner),
            tools: Arc::clone(&tools),
            fixer,
            gate: Gate::new(policy, carrier, tools, before),
            native: None,
            heard: false,
            began_inside: None,
            reason: None,
            usage: None,
        }
    }

    /// Whether the rest of the answer can be ignored.
    pub fn is_in_vain(&self) -> bool {
        self.gate.is_in_vain() && !self.scanner.holds()
    }

    /// Takes a delta of the backend's decoder.
    pub fn delta(&mut self, delta: Delta<'_>, out: &mut dyn Sink) {
        match delta {
            Delta::Text(Channel::Content, text) if self.unwanted.is_some() => {
                let text = self.unwanted.as_mut().map(|unwanted| unwanted.pass(text, false)).unwrap_or_default();
                self.text(Channel::Content, &text, out);
            }
            Delta::Text(channel, text) => self.text(channel, text, out),
            Delta::Call(call) => {
                self.close_native(out);
                if means_none(&self.tools, call.name) {
                    return;
                }
                // Many backends do not know `tool_choice`.
                if self.tools.choice == ToolChoice::None {
                    self.gate.ended.excluded = Some(call.name.to_owned());
                    return;
                }
                if self.heard {
                    self.give_way(out);
                }
                self.scanner = self.scanner.anew();
                self.native = Some(Call { id: call.id.filter(|id| !id.is_empty()), ..call }.into());
            }
            Delta::Usage(usage) => self.usage = Some(usage),
            Delta::StopSequence(stop) => self.gate.ended.stop_sequence = Some(stop.to_owned()),
            Delta::Finish(reason) => self.reason = Some(reason),
        }
    }

    fn text(&mut self, channel: Channel, text: &str, out: &mut dyn Sink) {
        self.close_native(out);
        self.heard |= !text.is_empty();
        let mut stage = Stage { fixer: &mut self.fixer, gate: &mut self.gate, native: false, out };
        self.scanner.push(channel, text, &mut stage);
    }

    /// Ends the answer. A native call at its end is complete only if its brackets are closed.
    pub fn finish(mut self, out: &mut dyn Sink) -> Outcome {
        if let Some(mut unwanted) = self.unwanted.take() {
            self.text(Channel::Content, &unwanted.pass("", true), out);
            self.gate.ended.excluded = self.gate.ended.excluded.or(unwanted.tool);
        }
        let reason = self.reason.unwrap_or(FinishReason::Stop);
        let native = self.native.take();
        let mut stage = Stage { fixer: &mut self.fixer, gate: &mut self.gate, native: false, out };
        self.scanner.finish(reason, &mut stage);
        if let Some(call) = native {
            stage.native = true;
            // Nothing follows it, so only its own brackets can prove that it is whole.
            let is_whole = reason != FinishReason::Length && closed(&call.arguments);
            stage.event(Event::Call(Call { cut: (!is_whole).then_some(reason), ..call.at(0) }));
        }
        stage.event(Event::Finish { reason, usage: self.usage });
        let (delivered, reask, kept) = self.gate.outcome();
        let began_inside = self.began_inside.or_else(|| self.scanner.began_inside());
        Outcome { delivered, reask, kept, checked: self.fixer.checked().to_vec(), usage: self.usage, began_inside }
    }

    /// Ends an answer that broke off. The held text leaves, and a truncated call is dropped without a notice, because the caller
    /// reports what happened.
    pub fn abandon(mut self, out: &mut dyn Sink) {
        self.gate.ended.abandoned = true;
        self.reason = Some(FinishReason::Length);
        self.finish(&mut |event: Event<'_>| {
            if !matches!(event, Event::Finish { .. }) {
                out.event(event);
            }
        });
    }

    /// Handles a native call: in the text that is still held, only complete calls count, and leaked markup is dropped. What
    /// follows the native call is read like the beginning of an answer.
    fn give_way(&mut self, out: &mut dyn Sink) {
        let mut stage = Stage { fixer: &mut self.fixer, gate: &mut self.gate, native: false, out };
        self.scanner.give_way(&mut |event: Event<'_>| match event {
            Event::Call(Call { cut: Some(_), .. }) | Event::Refused { .. } => {}
            event => stage.event(event),
        });
        self.began_inside = self.began_inside.or_else(|| self.scanner.began_inside());
        self.heard = false;
    }

    fn close_native(&mut self, out: &mut dyn Sink) {
        if let Some(call) = self.native.take() {
            let mut stage = Stage { fixer: &mut self.fixer, gate: &mut self.gate, native: true, out };
            stage.event(Event::Call(call.at(0)));
        }
    }
}

/// The calls in a text that is a whole answer.
pub fn calls(setup: Setup, text: &str) -> Vec<ToolCall> {
    let (mut answer, mut calls) = (Answer::new(setup), Vec::new());
    let mut keep = |event: Event<'_>| {
        if let Event::Call(call) = event {
            calls.push(call.into());
        }
    };
    answer.delta(Delta::Text(Channel::Content, text), &mut keep);
    answer.delta(Delta::Finish(FinishReason::Stop), &mut keep);
    answer.finish(&mut keep);
    calls
}

/// Whether the arguments of a native call have no open brackets.
fn closed(arguments: &str) -> bool {
    let text = arguments.trim();
    !text.starts_with(['{', '[']) || extent::end(text).is_some() || PlainExtent::closes(text)
}

/// The stages after the scanner.
struct Stage<'a> {
    fixer: &'a mut Fixer,
    gate: &'a mut Gate,
    /// Whether the backend itself has read the call that passes. Otherwise the scanner found it in the text.
    native: bool,
    out: &'a mut dyn Sink,
}

impl Sink for Stage<'_> {
    fn event(&mut self, event: Event<'_>) {
        let (gate, out) = (&mut *self.gate, &mut *self.out);
        gate.native = self.native;
        self.fixer.native = self.native;
        self.fixer.event(event, &mut |event: Event<'_>| gate.event(event, &mut *out));
    }
}

#[cfg(test)]
mod tests;

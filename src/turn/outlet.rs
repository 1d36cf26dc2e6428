//! The path of events to the client: the taps, the turn's memory of what was sent, the client's shape.

use std::collections::HashSet;

use super::{
    extras::Extras,
    react::Agent,
    sent::Sent,
    tap::{Tap, Taps},
};
use crate::{
    client::shape::Shape,
    event::{Call, Event, Note, Sink},
};

/// The stages after the gate, which last for the whole turn. As a sink, it takes the events of an answer.
pub(super) struct Outlet<O> {
    /// In mode `react`: keeps what the client does not get directly, and runs the calls of the registry's tools.
    pub(super) agent: Option<Agent>,
    pub(super) taps: Taps,
    pub(super) shape: Shape,
    pub(super) out: O,
    pub(super) sent: Sent,
    /// What the backend wants back with its calls.
    pub(super) extras: Extras,
    /// The warnings of this turn, for users who read neither the log nor the headers: they are shown as text at the end of the
    /// answer, unless it ends with a call. `None`: they are not shown.
    pub(super) aside: Option<String>,
    /// Whether a call was delivered.
    pub(super) called: bool,
    /// The answer's id.
    pub(super) id: String,
    /// The ids of the conversation's calls.
    pub(super) call_ids: HashSet<String>,
}

impl<O: Sink> Sink for Outlet<O> {
    fn event(&mut self, event: Event<'_>) {
        let event = match event {
            // Clients and backends find a call by its id, so an id that the conversation already has is replaced.
            Event::Call(call) if call.id.is_some_and(|id| !self.call_ids.insert(id.to_owned())) => {
                Event::Call(Call { id: None, ..call })
            }
            event => event,
        };
        if !self.agent.as_mut().is_some_and(|agent| agent.collected.keeps(&event)) {
            self.pass(event);
        }
    }

    fn divide(&mut self) {
        self.out.divide();
    }
}

impl<O: Sink> Outlet<O> {
    /// Passes an event on to the client.
    pub(super) fn pass(&mut self, event: Event<'_>) {
        self.tell(|tap| tap.event(&event));
        let Outlet { shape, out, sent, extras, aside, called, id, .. } = self;
        extras.event(&event, id);
        match event {
            Event::Text(text) => {
                if sent.prose(text) {
                    shape.event(Event::Text("\n"), out);
                }
            }
            Event::Reasoning(text) => {
                if sent.reasoning(text) {
                    shape.event(Event::Reasoning("\n"), out);
                }
            }
            Event::Call(_) => (*called, sent.any) = (true, true),
            Event::Note(Note::Warning { text, .. }) => {
                aside.iter_mut().for_each(|lines| *lines += &format!("\n[toolglot] {text}\n"))
            }
            Event::Note(_) | Event::Refused { .. } => {}
            Event::Finish { reason, usage } => {
                if let Some(lines) = aside.take().filter(|lines| !*called && !lines.is_empty()) {
                    shape.event(Event::Text(&lines), out);
                }
                sent.any = true;
                let usage = usage.map(|usage| sent.with_spent(usage));
                return shape.event(Event::Finish { reason, usage }, out);
            }
        }
        shape.event(event, out);
    }
}

impl<O> Outlet<O> {
    /// Tells all observers.
    pub(super) fn tell(&mut self, tell: impl FnMut(&mut Box<dyn Tap>)) {
        self.taps.iter_mut().for_each(tell);
    }
}

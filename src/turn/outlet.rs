//! The way of the events to the client: past the tap, what the turn remembers of them, and the client's shape.

use super::{aside::Aside, extras::Extras, react::Agent, sent::Sent, tap::Tap};
use crate::{
    client::shape::Shape,
    event::{Event, Sink},
};

/// Everything after the answer's rules that lasts as long as the turn.
pub(super) struct Outlet<O> {
    pub(super) tap: Option<Box<dyn Tap>>,
    pub(super) shape: Shape,
    pub(super) out: O,
    pub(super) sent: Sent,
    /// What the backend wants back with its calls.
    pub(super) extras: Extras,
    /// Warnings that are in the answer.
    pub(super) aside: Aside,
    /// The answer's id.
    pub(super) id: String,
}

/// The outlet for the events of one answer; in mode `react`, the agent keeps calls from going on.
pub(super) struct Onward<'a, O> {
    pub(super) outlet: &'a mut Outlet<O>,
    pub(super) agent: Option<&'a mut Agent>,
}

impl<O: Sink> Sink for Onward<'_, O> {
    fn event(&mut self, event: Event<'_>) {
        if !self.agent.as_mut().is_some_and(|agent| agent.keeps(&event)) {
            self.outlet.event(event);
        }
    }

    fn divide(&mut self) {
        self.outlet.out.divide();
    }
}

impl<O: Sink> Sink for Outlet<O> {
    fn event(&mut self, event: Event<'_>) {
        let Outlet { tap, shape, out, sent, extras, aside, id } = self;
        if let Some(tap) = tap {
            tap.event(&event);
        }
        extras.event(&event, id);
        if let Some(text) = aside.event(&event) {
            shape.event(Event::Text(&text), out);
        }
        let event = match event {
            Event::Text(text) => {
                if sent.prose(text) {
                    shape.event(Event::Text("\n"), out);
                }
                event
            }
            Event::Finish { reason, usage } => {
                sent.something();
                Event::Finish { reason, usage: usage.map(|usage| sent.with_spent(usage)) }
            }
            Event::Note(_) | Event::Refused { .. } => event,
            event => {
                sent.something();
                event
            }
        };
        shape.event(event, out);
    }
}

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
    event::{Event, Note, Sink},
};

/// The stages after the gate, which last for the whole turn.
pub(super) struct Outlet<O> {
    pub(super) taps: Taps,
    pub(super) shape: Shape,
    pub(super) out: O,
    pub(super) sent: Sent,
    /// What the backend wants back with its calls.
    pub(super) extras: Extras,
    /// Warnings to show in the answer.
    pub(super) aside: Aside,
    /// The answer's id.
    pub(super) id: String,
    /// The ids of the conversation's calls.
    pub(super) call_ids: HashSet<String>,
}

/// The outlet for the events of one answer; in mode `react`, the agent holds back calls.
pub(super) struct Onward<'a, O> {
    pub(super) outlet: &'a mut Outlet<O>,
    pub(super) agent: Option<&'a mut Agent>,
}

/// Shows the warnings of a turn in the answer, for users who read neither the log nor the headers: as text at its end, unless it
/// ends with a call.
pub(super) struct Aside {
    wanted: bool,
    lines: String,
    /// Whether a call was delivered, so that nothing may be said after it.
    called: bool,
}

impl<O: Sink> Sink for Onward<'_, O> {
    fn event(&mut self, event: Event<'_>) {
        let event = match event {
            // Clients and backends find a call by its id, so an id that the conversation already has is replaced.
            Event::CallStart { index, id: Some(id), name } if !self.outlet.call_ids.insert(id.to_owned()) => {
                Event::CallStart { index, id: None, name }
            }
            event => event,
        };
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
        self.tell(|tap| tap.event(&event));
        let Outlet { shape, out, sent, extras, aside, id, .. } = self;
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
            Event::Reasoning(text) => {
                if sent.reasoning(text) {
                    shape.event(Event::Reasoning("\n"), out);
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

impl<O> Outlet<O> {
    /// Tells all observers.
    pub(super) fn tell(&mut self, tell: impl FnMut(&mut Box<dyn Tap>)) {
        self.taps.iter_mut().for_each(tell);
    }
}

impl Aside {
    pub(super) fn new(wanted: bool) -> Aside {
        Aside { wanted, lines: String::new(), called: false }
    }

    /// Whether a call was delivered.
    pub(super) fn has_called(&self) -> bool {
        self.called
    }

    /// Takes note of warnings. At the end of the answer, returns what it says about them.
    pub(super) fn event(&mut self, event: &Event<'_>) -> Option<String> {
        match event {
            Event::Note(Note::Warning { text, .. }) if self.wanted => self.lines += &format!("\n[toolglot] {text}\n"),
            Event::CallStart { .. } => self.called = true,
            Event::Finish { .. } if !self.called && !self.lines.is_empty() => return Some(std::mem::take(&mut self.lines)),
            _ => {}
        }
        None
    }
}

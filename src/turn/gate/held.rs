//! An answer to a result is held while it may be one that only declines (`turn::declined`). Otherwise the client would have it
//! before the model is asked again.

use super::{
    super::{
        declined::{declines, may_decline},
        reask::Reask,
    },
    Gate,
};
use crate::event::{Event, FinishReason, Sink};

impl Gate {
    /// Whether the event is held. An event that shows that the answer does more than decline releases what is held; from then on,
    /// nothing is held.
    pub(super) fn holds(&mut self, event: &Event<'_>, out: &mut dyn Sink) -> bool {
        let Some(held) = &mut self.declining else { return false };
        let may_decline = match event {
            Event::Text(text) => {
                let before = held.len();
                held.push_str(text);
                if may_decline(held) {
                    return true;
                }
                held.truncate(before);
                false
            }
            // The model may think first.
            Event::Reasoning(_) => held.is_empty(),
            Event::Finish { .. } | Event::Note(_) => true,
            _ => false,
        };
        if !may_decline {
            self.release(out);
        }
        false
    }

    /// Passes on what is held.
    pub(super) fn release(&mut self, out: &mut dyn Sink) {
        if let Some(held) = self.declining.take() {
            self.text(&held, out);
        }
    }

    /// At the end of the answer: why the model is to be asked again, if the whole answer is held and only declines.
    pub(super) fn declined(&mut self, reason: FinishReason) -> Option<Reask> {
        let may_ask = !self.ended.abandoned && reason == FinishReason::Stop;
        self.declining.take_if(|held| may_ask && declines(held)).map(Reask::Declined)
    }
}

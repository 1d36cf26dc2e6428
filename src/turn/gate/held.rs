//! An answer to a result is held while it may be one that only declines (`turn::declined`). Otherwise the client would have it before
//! the model is asked again.

use super::{
    super::{
        declined::{declines, may_decline},
        reask::Reask,
    },
    Gate,
};
use crate::event::{FinishReason, Sink};

impl Gate {
    /// Holds text while the answer may still be one that only declines.
    pub(super) fn holds(&mut self, text: &str) -> bool {
        let Some(held) = &mut self.declining else { return false };
        let begun = format!("{held}{text}");
        let holds = may_decline(&begun);
        if holds {
            *held = begun;
        }
        holds
    }

    /// Passes on what is held.
    pub(super) fn release(&mut self, out: &mut dyn Sink) {
        if let Some(held) = self.declining.take_if(|held| !held.is_empty()) {
            self.text(&held, out);
        }
    }

    /// At the end of the answer: why the model is to be asked again, if the whole answer is held and only declines.
    pub(super) fn declined(&mut self, reason: FinishReason) -> Option<Reask> {
        let may_ask = !self.ended.abandoned && reason == FinishReason::Stop && self.refused == 0;
        self.declining.take_if(|held| may_ask && declines(held)).map(Reask::Declined)
    }
}

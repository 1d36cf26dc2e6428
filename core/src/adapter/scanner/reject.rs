//! What becomes of a candidate that no form fits.

use super::{Region, Scanner, candidate::Candidate};
use crate::{adapter::syntax::Parsed, event::Sink};

impl Scanner {
    /// Handles a candidate that no form fits: it is text, a code fence, or a control token to drop.
    pub(super) fn reject(&mut self, candidate: &Candidate, out: &mut dyn Sink) {
        if self.is_wrapped() {
            return self.unwrap(out);
        }
        let lone = candidate.marker.length > 1 && self.is_lone(candidate.at, candidate.marker.length);
        if candidate.mentions {
            self.buf.pass_content(candidate.at + candidate.marker.length);
        }
        if candidate.nameless && !candidate.mentions && !lone && !self.is_drafting() {
            return self.cut(Vec::new(), Parsed::default(), candidate, out);
        }
        if candidate.fence.is_none() {
            self.buf.pass_strings(candidate.at, false);
        }
        match &candidate.fence {
            Some(fence) if fence.one_line => {
                self.emitted.inline = fence.ticks.length;
                self.advance(candidate.at + fence.ticks.length, out);
            }
            Some(fence) => {
                self.advance(fence.content, out);
                self.region = Region::Fence(fence.ticks);
            }
            None if candidate.marker.length == 0 => {}
            None => {
                self.message.opened = true;
                self.not_a_call(candidate.at, candidate.marker.length, candidate.marker.is_token || lone, out);
            }
        }
    }
}

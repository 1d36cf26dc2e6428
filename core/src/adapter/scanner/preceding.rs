//! What precedes the current position. It decides which forms are tried there.

/// What precedes the current position.
#[derive(Debug)]
pub(super) struct Before {
    /// The form of the call before this position, if only whitespace follows it: its closing markers may come next.
    call: Option<usize>,
    /// Whether only whitespace, reasoning and calls precede this position, so that an unmarked call counts here.
    fresh: bool,
    /// Whether the unmarked forms were already tried here.
    tried: bool,
    /// Where a marker or a call that is only mentioned ends, in the answer.
    mentioned: usize,
}

impl Before {
    /// At the start of an answer.
    pub(super) fn nothing() -> Before {
        Before { call: None, fresh: true, tried: false, mentioned: 0 }
    }

    pub(super) fn call(&self) -> Option<usize> {
        self.call
    }

    pub(super) fn is_fresh(&self) -> bool {
        self.fresh
    }

    /// Whether content that is not a call precedes this position.
    pub(super) fn is_in_text(&self) -> bool {
        !self.fresh && self.call.is_none()
    }

    /// Whether the unmarked forms are still to be tried here.
    pub(super) fn is_untried(&self) -> bool {
        self.fresh && !self.tried
    }

    pub(super) fn set_tried(&mut self, tried: bool) {
        self.tried = tried;
    }

    /// Records that a call of this form was emitted.
    pub(super) fn after_call(&mut self, form: usize) {
        *self = Before { call: Some(form), ..Before::nothing() };
    }

    /// Records that a call of this form was read and is held.
    pub(super) fn after_held_call(&mut self, form: usize) {
        (self.call, self.tried) = (Some(form), false);
    }

    /// Records that no closing markers of the previous call follow.
    pub(super) fn leave_call(&mut self) {
        self.call = None;
    }

    /// Records that a header or a reasoning region ended. `said`: content was already emitted.
    pub(super) fn after_framing(&mut self, said: bool) {
        (self.fresh, self.tried) = (!said, false);
    }

    /// Records that what ends here in the answer is only mentioned.
    pub(super) fn after_mentioned(&mut self, mentioned: usize) {
        self.mentioned = self.mentioned.max(mentioned);
    }

    pub(super) fn mentioned(&self) -> usize {
        self.mentioned
    }

    pub(super) fn after_text(&mut self) {
        (self.fresh, self.call) = (false, None);
    }
}

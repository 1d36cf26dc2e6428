//! What comes before the place that is looked at: it decides which forms are tried there.

/// What comes before a place.
#[derive(Debug)]
pub(super) struct Before {
    /// The form of the call before this place, with only whitespace in between: its closing markers may follow.
    call: Option<usize>,
    /// Nothing but whitespace, reasoning and calls come before this place: an unmarked call counts here.
    fresh: bool,
    /// The forms without a marker were tried at this place.
    tried: bool,
}

// === impl Before ===

impl Before {
    /// The beginning of an answer.
    pub(super) fn nothing() -> Before {
        Before { call: None, fresh: true, tried: false }
    }

    pub(super) fn call(&self) -> Option<usize> {
        self.call
    }

    pub(super) fn is_fresh(&self) -> bool {
        self.fresh
    }

    /// Whether the forms without a marker are to be tried here.
    pub(super) fn is_untried(&self) -> bool {
        self.fresh && !self.tried
    }

    pub(super) fn set_tried(&mut self, tried: bool) {
        self.tried = tried;
    }

    /// A call of this form has left.
    pub(super) fn after_call(&mut self, form: usize) {
        *self = Before { call: Some(form), fresh: true, tried: false };
    }

    /// A call of this form was read and is held.
    pub(super) fn after_held_call(&mut self, form: usize) {
        self.call = Some(form);
    }

    /// Nothing more belongs to the call before this place.
    pub(super) fn leave_call(&mut self) {
        self.call = None;
    }

    /// The header or the reasoning before this place is over; `said`: content has left.
    pub(super) fn after_framing(&mut self, said: bool) {
        (self.fresh, self.tried) = (!said, false);
    }

    pub(super) fn after_text(&mut self) {
        (self.fresh, self.call) = (false, None);
    }
}

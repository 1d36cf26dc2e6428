//! What is known of the message that is being read: where it is, and who it is for.

/// The message that is being read. An answer is one, or several with headers.
#[derive(Debug)]
pub(super) struct Message {
    /// Nothing of the text was looked at.
    at_start: bool,
    /// The text may begin inside of a header.
    primed: bool,
    /// Its header has no special tokens: a backend removes them.
    stripped: bool,
    /// It is addressed to the user: nothing in it is a call.
    for_user: bool,
    /// The marker that opens the answer proper was met.
    in_answer: bool,
    /// The answer began as a transcript (`Thought: ...`): its calls are between other lines.
    transcript: bool,
    /// Inside of thoughts, an example or a repeated result: a marked call counts only if nothing but calls follows.
    aside: bool,
}

// === impl Message ===

impl Message {
    pub(super) fn new(primed: bool) -> Message {
        Message { at_start: true, primed, stripped: false, for_user: false, in_answer: false, transcript: false, aside: false }
    }

    pub(super) fn is_at_start(&self) -> bool {
        self.at_start
    }

    pub(super) fn begin(&mut self) {
        self.at_start = false;
    }

    pub(super) fn is_primed(&self) -> bool {
        self.primed
    }

    /// A message ended: the next one may begin inside of its header.
    pub(super) fn end(&mut self) {
        self.primed = true;
    }

    /// The header that the prompt may have opened was read, or there is none.
    pub(super) fn leave_header(&mut self) {
        self.primed = false;
    }

    pub(super) fn is_stripped(&self) -> bool {
        self.stripped
    }

    /// A header was read, with or without its special tokens.
    pub(super) fn set_stripped(&mut self, stripped: bool) {
        self.stripped = stripped;
    }

    pub(super) fn is_for_user(&self) -> bool {
        self.for_user
    }

    /// A header says who reads this message.
    pub(super) fn address(&mut self, for_user: bool) {
        self.for_user = for_user;
    }

    pub(super) fn is_in_answer(&self) -> bool {
        self.in_answer
    }

    pub(super) fn set_in_answer(&mut self, in_answer: bool) {
        self.in_answer = in_answer;
    }

    pub(super) fn is_aside(&self) -> bool {
        self.aside
    }

    pub(super) fn set_aside(&mut self, aside: bool) {
        self.aside = aside;
    }

    pub(super) fn is_transcript(&self) -> bool {
        self.transcript
    }

    pub(super) fn begin_transcript(&mut self) {
        self.transcript = true;
    }
}

//! What is known about the current message: its position and its reader.

/// The current message. An answer is one message, or several with headers.
#[derive(Debug)]
pub(super) struct Message {
    /// Nothing was scanned yet.
    at_start: bool,
    /// The text may begin inside a header.
    primed: bool,
    /// The header lost its special tokens because the backend removes them.
    stripped: bool,
    /// The message is for the user, so it contains no calls.
    for_user: bool,
    /// The opening marker of the answer region was read.
    in_answer: bool,
    /// The answer began as a transcript (`Thought: ...`), which has calls between other lines.
    transcript: bool,
    /// Inside thoughts, an example or a repeated result, where a marked call counts only if nothing but calls follows.
    aside: bool,
}

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

    /// The message ended. The next one may begin inside its header.
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

    /// A header said who reads this message.
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

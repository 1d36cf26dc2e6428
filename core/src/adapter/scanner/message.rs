//! What is known about the current message: its position, and whom it is for.

/// The current message. An answer is one message, or several with headers. The flags are independent.
#[derive(Debug, Default)]
pub(super) struct Message {
    /// Whether something was scanned.
    pub(super) begun: bool,
    /// Whether the text may begin inside a header, because the prompt may have opened it, or a message has just ended.
    pub(super) primed: bool,
    /// Whether the header lost its special tokens, because the backend removes them.
    pub(super) stripped: bool,
    /// Whether the message is for the user, so that it contains no calls.
    pub(super) for_user: bool,
    /// Whether the opening marker of the answer region was read.
    pub(super) in_answer: bool,
    /// Whether the answer began as a transcript (`Thought: ...`), which has calls between other lines.
    pub(super) transcript: bool,
    /// Whether the text is inside thoughts, an example or a repeated result, where a marked call counts only if nothing but calls
    /// follows.
    pub(super) aside: bool,
    /// Whether the opening marker of a call is in the text.
    pub(super) opened: bool,
}

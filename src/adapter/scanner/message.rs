//! What is known about the current message: its position and its reader.

/// The current message. An answer is one message, or several with headers. Each flag stands for itself.
#[derive(Debug, Default)]
pub(super) struct Message {
    /// Something was scanned.
    pub(super) begun: bool,
    /// The text may begin inside a header: the prompt may have opened it, or a message has just ended.
    pub(super) primed: bool,
    /// The header lost its special tokens because the backend removes them.
    pub(super) stripped: bool,
    /// The message is for the user, so it contains no calls.
    pub(super) for_user: bool,
    /// The opening marker of the answer region was read.
    pub(super) in_answer: bool,
    /// The answer began as a transcript (`Thought: ...`), which has calls between other lines.
    pub(super) transcript: bool,
    /// Inside thoughts, an example or a repeated result, where a marked call counts only if nothing but calls follows.
    pub(super) aside: bool,
}

//! Names the next step of a turn after an answer, and after its calls.

use crate::openai::ToolCall;

/// What follows a round.
pub(in crate::turn) enum AfterCalls {
    /// The model is asked again.
    Again,
    /// The client has calls to run; each with its id.
    HandOver(Vec<ToolCall>),
}

/// What an answer means for the turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::turn) enum Step {
    /// It is the last answer.
    Over,
    /// Its calls run.
    Runs,
    /// It said nothing new: the model is asked to wrap up.
    Again,
}

//! Collects the parts of an answer that the client does not get directly: its calls, valid and refused, and how it ended.

use crate::event::{Event, FinishReason, ToolCall, Usage, Why};

/// A call as the model wrote it.
#[derive(Debug, Clone, Default)]
pub(in crate::turn) struct Written {
    pub(super) call: ToolCall,
    /// Why it must not run.
    pub(super) why: Option<Why>,
    /// Its arguments as the model wrote them, if it must not run.
    pub(super) written: String,
}

/// What was kept of the answer that is being read.
#[derive(Debug, Default)]
pub(in crate::turn) struct Collected {
    /// Its calls.
    pub(in crate::turn) calls: Vec<Written>,
    pub(super) reasoning: String,
    /// How the answer ended.
    pub(in crate::turn) end: (FinishReason, Option<Usage>),
}

impl Collected {
    /// Keeps what is not for the client yet; `false` for everything else.
    pub(in crate::turn) fn keeps(&mut self, event: &Event<'_>) -> bool {
        match event {
            Event::Call(call) => self.calls.push(Written { call: (*call).into(), ..Written::default() }),
            Event::Refused { name, why, raw, written } => {
                let call = ToolCall { name: (*name).to_owned(), arguments: (*raw).to_owned(), ..ToolCall::default() };
                self.calls.push(Written { call, why: Some((*why).clone()), written: (*written).to_owned() });
            }
            Event::Finish { reason, usage } => self.end = (*reason, *usage),
            Event::Reasoning(text) => {
                self.reasoning.push_str(text);
                return false;
            }
            _ => return false,
        }
        true
    }
}

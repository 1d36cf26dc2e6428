//! What an answer of the model holds for the turn and not for the client: its calls, good and refused, and how it ended.

use crate::event::{Event, FinishReason, Usage, Why};

/// A call as the model wrote it.
#[derive(Debug, Clone, Default)]
pub(super) struct Written {
    pub(super) id: Option<String>,
    pub(super) name: String,
    pub(super) arguments: String,
    pub(super) extra: Option<String>,
    /// Why it must not run.
    pub(super) why: Option<Why>,
}

/// What was kept of the answer that is being read.
#[derive(Debug, Default)]
pub(super) struct Collected {
    calls: Vec<Written>,
    open: Option<Written>,
    reasoning: String,
    end: Option<(FinishReason, Option<Usage>)>,
}

// === impl Collected ===

impl Collected {
    /// Keeps what is not for the client yet; `false` for everything else.
    pub(super) fn keeps(&mut self, event: &Event<'_>) -> bool {
        match event {
            Event::CallStart { id, name, .. } => {
                self.open = Some(Written { id: id.map(str::to_owned), name: (*name).to_owned(), ..Written::default() });
            }
            Event::CallArguments { json, .. } => {
                if let Some(open) = &mut self.open {
                    open.arguments.push_str(json);
                }
            }
            Event::CallEnd { extra, .. } => {
                if let Some(open) = self.open.take() {
                    self.calls.push(Written { extra: extra.map(str::to_owned), ..open });
                }
            }
            Event::Refused { name, why, raw } => {
                let refused = Written { name: (*name).to_owned(), arguments: (*raw).to_owned(), ..Written::default() };
                self.calls.push(Written { why: Some((*why).clone()), ..refused });
            }
            Event::Finish { reason, usage } => self.end = Some((*reason, *usage)),
            Event::Reasoning(text) => {
                self.reasoning.push_str(text);
                return false;
            }
            _ => return false,
        }
        true
    }

    /// The calls of the answer, which is over, and its reasoning.
    pub(super) fn take(&mut self) -> (Vec<Written>, String) {
        (std::mem::take(&mut self.calls), std::mem::take(&mut self.reasoning))
    }

    /// Forgets the calls of an answer that is cut off.
    pub(super) fn forget_calls(&mut self) {
        (self.calls, self.open) = (Vec::new(), None);
    }

    /// How the answer ended.
    pub(super) fn take_end(&mut self) -> (FinishReason, Option<Usage>) {
        self.end.take().unwrap_or((FinishReason::Stop, None))
    }
}

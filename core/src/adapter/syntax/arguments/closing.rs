//! What the arguments are once they end, or the text does.

use super::{Arguments, Outcome};
use crate::adapter::syntax::{torn_arguments, typing::Types};

impl Arguments {
    /// Why the arguments are probably not what the model meant, or `None`.
    pub(in crate::adapter::syntax) fn damage(&self, types: &Types) -> Option<&'static str> {
        let doubtful = || self.values.doubtful && !self.has_all(types);
        (self.values.damaged || doubtful()).then_some("a tag of a parameter is misspelt, or not closed")
    }

    /// Whether every parameter of the tool was given.
    pub(super) fn has_all(&self, types: &Types) -> bool {
        types.keys().all(|key| self.members.has(key))
    }

    /// Whether the text ended after a closed value, and no parameter is missing that could follow.
    pub(in crate::adapter::syntax) fn are_closed(&self) -> bool {
        self.closed
    }

    /// The arguments so far as JSON text.
    pub(in crate::adapter::syntax) fn object(&self) -> String {
        format!("{{{}}}", self.members.text())
    }

    /// The text ended after a value, and only the closing brace is missing. Without a marker this proves nothing.
    pub(super) fn open(&self, marked: bool) -> Outcome {
        match marked {
            // The space tells the fixer that the last value is complete, because its tag closed.
            true => Outcome::Cut { arguments: format!("{{{} ", self.members.text()) },
            false => self.torn(),
        }
    }

    /// The text ended inside a tag or a value: nothing may complete it.
    pub(super) fn torn(&self) -> Outcome {
        Outcome::Cut { arguments: torn_arguments(&self.object()) }
    }
}

//! What the fixer says of a call: the verdict, every change, and the arguments that may run.

use std::borrow::Cow;
use std::ops::Range;

use crate::event::{FinishReason, Why};
use crate::json::Code;
use crate::json::pointer::Pointer;

/// How the text came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Not a stream: the text is all there is. Whatever is open is closed, as a guess.
    Whole,
    /// The stream showed the end of the call (closing marker, balanced brackets, a complete native call).
    Closed,
    /// The answer ended inside the arguments, for this reason. They run only if they prove to be complete.
    Cut(FinishReason),
    /// The model ended its answer inside the arguments, and had ended its answer before in the same way. Only closing
    /// brackets may be missing.
    CutAgain,
}

/// What the fixer says of a call, from "untouched" to "not a call that may run".
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict {
    /// Nothing was changed.
    Clean,
    /// Only syntax was changed; there is one possible reading.
    Lossless,
    /// The schema decided; the value converts both ways.
    Coerced,
    /// There is more than one reading, exactly one of them is the cheapest.
    Guess,
    /// No arguments that may run.
    Refused,
}

/// One change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fix {
    /// The rule that made it.
    pub rule: Code,
    /// JSON pointer to the place in the arguments, `""` for the whole.
    pub path: Pointer,
    /// Bytes of the source text that it concerns.
    pub at: Range<usize>,
    /// How far it goes: never [`Verdict::Clean`] or [`Verdict::Refused`].
    pub level: Verdict,
    /// A short sentence; key names may occur in it, values never.
    pub note: Cow<'static, str>,
}

/// The fixer's report on one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The verdict.
    pub verdict: Verdict,
    /// The arguments as JSON text. For [`Verdict::Clean`] the source itself without the whitespace around it (and with the
    /// usual escapes of control characters); for
    /// [`Why::Schema`] the object as the model wrote it (only its syntax repaired); `None` for every other refusal.
    pub arguments: Option<String>,
    /// Why it was refused; `None` unless it was.
    pub why: Option<Why>,
    /// Everything that was changed.
    pub fixes: Vec<Fix>,
    /// Paths of members that were left out because the schema forbids them.
    pub dropped: Vec<String>,
}

/// What the fixes cost in sum.
pub(super) fn cost(fixes: &[Fix]) -> u32 {
    fixes.iter().map(Fix::cost).sum()
}

// === impl Fix ===

impl Fix {
    pub(super) fn whole(rule: Code, at: Range<usize>, level: Verdict, note: impl Into<Cow<'static, str>>) -> Fix {
        Fix { rule, path: Pointer::ROOT, at, level, note: note.into() }
    }

    /// The fix of a text that was found at `place`, in a string whose bytes are `at`.
    pub(super) fn within(self, place: &str, at: Range<usize>) -> Fix {
        let path = format!("{place}{}", self.path.as_str());
        Fix { path: Pointer::from(path.as_str()), at, ..self }
    }

    /// How bold it is; compares readings, and 100 minus the sum is the confidence that logs show.
    pub fn cost(&self) -> u32 {
        match (self.level, self.rule) {
            (Verdict::Clean, _) => 0,
            (Verdict::Lossless, _) => 1,
            (Verdict::Coerced, _) => 3,
            (_, Code::T3) => 5,
            (Verdict::Guess | Verdict::Refused, _) => 20,
        }
    }
}

// === impl Report ===

impl Report {
    pub(super) fn refused(why: Why) -> Report {
        Report { verdict: Verdict::Refused, arguments: None, why: Some(why), fixes: Vec::new(), dropped: Vec::new() }
    }

    /// 100 minus the cost of the fixes: information for people, never a gate.
    pub fn confidence(&self) -> u32 {
        100u32.saturating_sub(cost(&self.fixes))
    }

    /// What may be delivered: the arguments of every verdict but a refusal.
    pub fn accepted(&self) -> Option<&str> {
        match self.verdict {
            Verdict::Refused => None,
            _ => self.arguments.as_deref(),
        }
    }
}

// === impl Verdict ===

impl Verdict {
    /// The verdict's name on the wire and in logs.
    pub fn as_str(self) -> &'static str {
        match self {
            Verdict::Clean => "clean",
            Verdict::Lossless => "lossless",
            Verdict::Coerced => "coerced",
            Verdict::Guess => "guess",
            Verdict::Refused => "refused",
        }
    }
}

//! The result of the repair for one call: the verdict, every change, and the arguments.

use std::borrow::Cow;
use std::ops::Range;

use crate::event::{FinishReason, Why};
use crate::json::Code;

/// How the argument text ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The text is not from a stream and is complete. Whatever is open is closed, as a guess.
    Whole,
    /// The stream showed the end of the call: a closing marker, balanced brackets, a complete native call.
    Closed,
    /// The answer ended inside the arguments, for this reason. They are accepted only if they prove to be complete.
    Cut(FinishReason),
    /// The model ended its answer inside the arguments, as in its previous answer. Only closing brackets may be missing.
    CutAgain,
}

/// How much had to change, from nothing to a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Verdict {
    /// Nothing was changed.
    Clean,
    /// Only syntax was changed, and there is one possible reading.
    Lossless,
    /// The schema decided, and each value converts both ways.
    Coerced,
    /// There is more than one reading, and exactly one of them is the cheapest. It is delivered unasked only if the tool only reads
    /// (`fixer::unsure`).
    Guess,
    /// No arguments may be delivered.
    #[default]
    Refused,
}

/// One change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fix {
    /// The rule that made it.
    pub rule: Code,
    /// JSON pointer to the place in the arguments; `""` for the whole.
    pub path: String,
    /// The bytes of the source that it concerns.
    pub at: Range<usize>,
    /// How far it goes. Never [`Verdict::Clean`] or [`Verdict::Refused`].
    pub level: Verdict,
    /// What was done, in a few words. It may contain names of keys, but never values.
    pub note: Cow<'static, str>,
}

/// The report on one call.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Report {
    /// The verdict.
    pub verdict: Verdict,
    /// The arguments as JSON text. For [`Verdict::Clean`] the source, without surrounding whitespace and with the usual escapes
    /// of control characters. For [`Why::Schema`] the object as the model wrote it, with only its syntax repaired. `None` for
    /// every other refusal.
    pub arguments: Option<String>,
    /// Why the call was refused; `None` if it was not.
    pub why: Option<Why>,
    /// All changes.
    pub fixes: Vec<Fix>,
    /// JSON pointers, in the arguments as they were written, to the members that were left out because the schema forbids them.
    pub dropped: Vec<String>,
    /// Those of `dropped` that carried a value: without them, the call may do something else than the model meant.
    pub lost: Vec<String>,
}

/// The sum of the costs of `fixes`.
pub(super) fn cost(fixes: &[Fix]) -> u32 {
    fixes.iter().map(Fix::cost).sum()
}

impl Fix {
    /// A fix that concerns the arguments as a whole.
    pub(super) fn whole(rule: Code, at: Range<usize>, level: Verdict, note: impl Into<Cow<'static, str>>) -> Fix {
        Fix { rule, path: String::default(), at, level, note: note.into() }
    }

    /// Moves a fix from the text of a string to the whole: the string is at the pointer `place` and occupies the bytes `at`.
    pub(super) fn within(self, place: &str, at: Range<usize>) -> Fix {
        let path = format!("{place}{}", self.path.as_str());
        Fix { path: String::from(path.as_str()), at, ..self }
    }

    /// The cost of the change, from 0 to 20, without a unit: higher for bolder changes. Used to compare readings and for
    /// [`Report::confidence`].
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

impl Report {
    /// The report on a refused call, without arguments.
    pub(super) fn refused(why: Why) -> Report {
        Report { why: Some(why), ..Report::default() }
    }

    /// The report on accepted arguments. Its verdict is the highest level of its fixes.
    pub(super) fn passed(arguments: String, fixes: Vec<Fix>, dropped: Vec<String>) -> Report {
        let verdict = fixes.iter().map(|fix| fix.level).max().unwrap_or(Verdict::Clean);
        Report { verdict, arguments: Some(arguments), why: None, fixes, dropped, lost: Vec::new() }
    }

    /// Adds a fix that was made before the arguments were read.
    pub(super) fn add(&mut self, fix: Fix) {
        self.verdict = self.verdict.max(fix.level);
        self.fixes.push(fix);
    }

    /// From 0 to 100: 100 minus the cost of the fixes. Information for people; nothing depends on it.
    pub fn confidence(&self) -> u32 {
        100u32.saturating_sub(cost(&self.fixes))
    }

    /// The arguments that may be delivered; `None` if the call is refused.
    pub fn accepted(&self) -> Option<&str> {
        match self.verdict {
            Verdict::Refused => None,
            _ => self.arguments.as_deref(),
        }
    }
}

impl Verdict {
    /// The verdict's name in logs and in JSON output.
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

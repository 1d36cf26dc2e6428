//! The format fixer: the argument text of one call + the tool's schema + how the stream ended -> a verdict, the arguments
//! as strict JSON, and the list of everything that was changed. Pure; it reports, and the policy belongs to its callers.
//!
//! Principles: valid arguments stay byte-identical; structure is edited, never the inside of a string; nothing is
//! invented and nothing dropped silently; a cut call is not a call.

mod backslash;
mod coerce;
mod envelope;
pub(crate) mod keys;
pub mod name;
mod patch;
mod schema;
mod stage;
mod stages;
mod tally;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::ops::Range;

use crate::event::{FinishReason, Why};
use crate::json::pointer::Pointer;
use crate::json::strict;
use crate::json::tree::Value;

pub use schema::{Schema, Schemas};
pub use stage::{Checked, Fixer};
pub use tally::{RULES, Tally};

/// Largest argument text that is read, in bytes.
pub const MAX_BYTES: usize = 8 * 1024 * 1024;

/// How the text came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Not a stream: the text is all there is. Whatever is open is closed, as a guess.
    Whole,
    /// The stream showed the end of the call (closing marker, balanced brackets, a complete native call).
    Closed,
    /// The stream ended inside the call, for this reason.
    Cut(FinishReason),
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
    /// The rule that made it: `S1`, `T3`, `K7` ...
    pub rule: &'static str,
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
    /// The arguments as JSON text. For [`Verdict::Clean`] the source itself without the whitespace around it; for
    /// [`Why::Schema`] the object as the model wrote it (only its syntax repaired); `None` for every other refusal.
    pub arguments: Option<String>,
    /// Why it was refused; `None` unless it was.
    pub why: Option<Why>,
    /// Everything that was changed.
    pub fixes: Vec<Fix>,
    /// Paths of members that were left out because the schema forbids them.
    pub dropped: Vec<String>,
}

/// Fixes the arguments of one call. Without a schema the syntax alone is repaired and any container may be the root.
/// `keeps_null` names parameters whose explicit `null` must survive. Pure; never panics; linear in the source.
pub fn fix(source: &str, schema: Option<&Schema>, keeps_null: &[String], end: End) -> Report {
    if source.len() > MAX_BYTES {
        return Report::refused(Why::TooLarge(MAX_BYTES));
    }
    let text = source.trim();
    if is_clean(text, schema, keeps_null) {
        let arguments = Some(text.to_owned());
        return Report { verdict: Verdict::Clean, arguments, why: None, fixes: Vec::new(), dropped: Vec::new() };
    }
    // Whitespace at the end may belong to a string that was not closed.
    let mut report = stages::run(source.trim_start(), stages::Call { schema, keeps_null, end });
    let skipped = source.len() - source.trim_start().len();
    for fix in &mut report.fixes {
        fix.at = fix.at.start + skipped..fix.at.end + skipped;
    }
    report
}

/// Whether the text is strict JSON that nothing is to be done about.
fn is_clean(text: &str, schema: Option<&Schema>, keeps_null: &[String]) -> bool {
    let Some(mut root) = strict::parse(text) else { return false };
    if !matches!(root.value, Value::Object(_) | Value::Array(_)) || keys::repeat(&root) || stages::marked_up(&root).is_some() {
        return false;
    }
    let nothing = Schema::default();
    let guide = schema.unwrap_or(&nothing);
    backslash::reread(&mut root, text, &guide.at(guide.top())).is_empty()
        && schema.is_none_or(|schema| schema.is_satisfied(&root, keeps_null))
}

/// What the fixes cost in sum.
fn cost(fixes: &[Fix]) -> u32 {
    fixes.iter().map(Fix::cost).sum()
}

// === impl Fix ===

impl Fix {
    fn whole(rule: &'static str, at: Range<usize>, level: Verdict, note: impl Into<Cow<'static, str>>) -> Fix {
        Fix { rule, path: Pointer::ROOT, at, level, note: note.into() }
    }

    /// The fix of a text that was found at `place`, in a string whose bytes are `at`.
    fn within(self, place: &str, at: Range<usize>) -> Fix {
        let path = format!("{place}{}", self.path.as_str());
        Fix { path: Pointer::from(path.as_str()), at, ..self }
    }

    /// How bold it is; compares readings, and 100 minus the sum is the confidence that logs show.
    pub fn cost(&self) -> u32 {
        match (self.level, self.rule) {
            (Verdict::Clean, _) => 0,
            (Verdict::Lossless, _) => 1,
            (Verdict::Coerced, _) => 3,
            (_, "T3") => 5,
            (Verdict::Guess | Verdict::Refused, _) => 20,
        }
    }
}

// === impl Report ===

impl Report {
    fn refused(why: Why) -> Report {
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

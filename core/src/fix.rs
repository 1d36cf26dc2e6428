//! Repairs the arguments of a call. Input: the argument text, the tool's schema, and how the stream ended. Output: a verdict, the
//! arguments as strict JSON, and the list of all changes. Pure; callers decide what to do with the report.
//!
//! Principles: valid arguments stay byte-identical; structure is edited, never the inside of a string; nothing is invented,
//! nothing is dropped silently; a truncated call is not a call.

mod around;
mod backslash;
mod coerce;
mod ending;
mod envelope;
mod fixer;
mod keys;
pub mod name;
mod patch;
mod placeholder;
mod report;
mod role;
mod schema;
mod stages;
mod tally;
#[cfg(test)]
mod tests;

use crate::event::Why;
use crate::json::strict;
use crate::json::tree::Value;

pub use fixer::unsure;
pub use fixer::{Checked, Fixer};
pub use name::without_random_prefix;
pub use patch::shown_patch;
pub(crate) use placeholder::are_placeholders;
pub use report::{End, Fix, Report, Verdict};
pub(crate) use role::{Role, is_text, words};
pub(crate) use schema::aliases;
pub use schema::runs_programs;
pub use schema::{Place, Types, View, fold};
pub use schema::{Schema, Schemas};
pub use tally::Tally;

pub use crate::json::Code;

/// Longest argument text that is read, in bytes.
pub const MAX_BYTES: usize = 8 * 1024 * 1024;

/// Repairs the arguments of one call. Without a schema only the syntax is repaired, and the root may be any container.
/// `keeps_null` lists parameters whose explicit `null` is kept. Never panics; linear in the length of `source`.
pub fn fix(source: &str, schema: Option<&Schema>, keeps_null: &[String], end: End) -> Report {
    if source.len() > MAX_BYTES {
        return Report::refused(Why::TooLarge(MAX_BYTES));
    }
    let text = source.trim();
    if let Some(arguments) = clean(text, schema, keeps_null) {
        return Report::passed(arguments, Vec::new(), Vec::new());
    }
    // Trailing whitespace stays: it may belong to an open string.
    let mut report = stages::run(source.trim_start(), stages::Call { schema, keeps_null, end });
    let skipped = source.len() - source.trim_start().len();
    for fix in &mut report.fixes {
        fix.at = fix.at.start + skipped..fix.at.end + skipped;
    }
    report
}

/// The arguments, if the text is strict JSON and no stage would change it. Control characters get their usual escapes.
fn clean(text: &str, schema: Option<&Schema>, keeps_null: &[String]) -> Option<String> {
    let mut root = strict::parse(text)?;
    if !matches!(root.value, Value::Object(_) | Value::Array(_)) || keys::repeat(&root) || stages::marked_up(&root).is_some() {
        return None;
    }
    let anything = Schema::default();
    let guide = schema.unwrap_or(&anything);
    let nothing_to_do = backslash::reread(&mut root, text, &guide.at(guide.top())).is_empty()
        && schema.is_none_or(|schema| schema.is_satisfied(&root, keeps_null));
    nothing_to_do.then(|| {
        let mut out = String::with_capacity(text.len());
        root.write(text, &mut out);
        out
    })
}

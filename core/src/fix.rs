//! Repairs the arguments of a call. Input: the argument text, the tool's schema, and how the stream ended. Output: a verdict, the
//! arguments as strict JSON, and the list of all changes. Pure; callers decide what to do with the report.
//!
//! Principles: strict JSON that fits its schema stays byte for byte; structure is edited, never the inside of a string; what had
//! to decide where a value ends is a guess, and says so; nothing is dropped silently; a truncated call is not a call.

mod around;
mod backslash;
mod coerce;
mod ending;
mod envelope;
mod fixer;
mod keys;
mod markup;
pub mod name;
mod patch;
mod placeholder;
mod report;
mod role;
mod stages;
mod tally;
#[cfg(test)]
mod tests;

use crate::event::{ARGUMENT_BYTES, Why};
use crate::json::strict;
use crate::json::tree::Value;

pub use crate::schema::{Place, Schema, Schemas, Types, View, fold, runs_programs};
pub use fixer::{Checked, Fixer, unsure};
pub use name::without_random_prefix;
pub use patch::shown_patch;
pub(crate) use placeholder::are_placeholders;
pub use report::{End, Fix, Report, Verdict};
pub use tally::Tally;

pub use crate::json::Code;

/// Repairs the arguments of one call. Without a schema only the syntax is repaired, and the root may be any container.
/// `keeps_null` lists parameters whose explicit `null` is kept. Never panics; linear in the length of `source`.
pub fn fix(source: &str, schema: Option<&Schema>, keeps_null: &[String], end: End) -> Report {
    if source.len() > ARGUMENT_BYTES {
        return Report::refused(Why::TooLarge(ARGUMENT_BYTES));
    }
    let text = source.trim();
    if let Some(report) = as_written(text, schema, keeps_null) {
        return report;
    }
    // Trailing whitespace stays: it may belong to an open string.
    let mut report = stages::run(source.trim_start(), stages::Call { schema, keeps_null, end });
    let skipped = source.len() - source.trim_start().len();
    for fix in &mut report.fixes {
        fix.at = fix.at.start + skipped..fix.at.end + skipped;
    }
    report
}

/// The report on strict JSON that fits the schema: it is what the model meant, byte for byte. Only a Windows path that escapes
/// spoilt is read in another way, and a key with two values is left to the stages.
fn as_written(text: &str, schema: Option<&Schema>, keeps_null: &[String]) -> Option<Report> {
    let mut root = strict::parse(text)?;
    let is_list = matches!(root.value, Value::Array(_)) && schema.is_none_or(Schema::is_list);
    let is_container = is_list || matches!(root.value, Value::Object(_));
    let is_wrapped = schema.is_some_and(|schema| envelope::is_wrapped(&root, schema));
    if !is_container
        || is_wrapped
        || keys::repeat(&root)
        || schema.is_some_and(|schema| schema.fault(&root, keeps_null).is_some())
    {
        return None;
    }
    let fixes = backslash::reread(&mut root, text, "");
    Some(Report::passed(root.to_json(text), fixes, Vec::new()))
}

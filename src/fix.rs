//! The format fixer: the argument text of one call + the tool's schema + how the stream ended -> a verdict, the arguments
//! as strict JSON, and the list of everything that was changed. Pure; it reports, and the policy belongs to its callers.
//!
//! Principles: valid arguments stay byte-identical; structure is edited, never the inside of a string; nothing is
//! invented and nothing dropped silently; a cut call is not a call.

mod backslash;
mod coerce;
mod damage;
mod envelope;
mod fixer;
mod keys;
pub mod name;
mod patch;
mod placeholder;
mod report;
mod schema;
mod stages;
mod tally;
#[cfg(test)]
mod tests;

use crate::event::Why;
use crate::json::strict;
use crate::json::tree::Value;

pub(crate) use backslash::{Role, is_text, words};
pub(crate) use damage::{
    IDS, NAME_KEYS, begins_as_member, ends_inside, has_odd_quote, holds_python_call, holds_structure, is_variable,
};
pub use fixer::{Checked, Fixer};
pub(crate) use placeholder::are_placeholders;
pub use report::{End, Fix, Report, Verdict};
pub(crate) use schema::{Place, Types, View, fold};
pub use schema::{Schema, Schemas};
pub use tally::Tally;

pub use crate::json::Code;

/// Largest argument text that is read, in bytes.
pub const MAX_BYTES: usize = 8 * 1024 * 1024;

/// Fixes the arguments of one call. Without a schema the syntax alone is repaired and any container may be the root.
/// `keeps_null` names parameters whose explicit `null` must survive. Pure; never panics; linear in the source.
pub fn fix(source: &str, schema: Option<&Schema>, keeps_null: &[String], end: End) -> Report {
    if source.len() > MAX_BYTES {
        return Report::refused(Why::TooLarge(MAX_BYTES));
    }
    let text = source.trim();
    if let Some(arguments) = clean(text, schema, keeps_null) {
        return Report { verdict: Verdict::Clean, arguments: Some(arguments), why: None, fixes: Vec::new(), dropped: Vec::new() };
    }
    // Whitespace at the end may belong to a string that was not closed.
    let mut report = stages::run(source.trim_start(), stages::Call { schema, keeps_null, end });
    let skipped = source.len() - source.trim_start().len();
    for fix in &mut report.fixes {
        fix.at = fix.at.start + skipped..fix.at.end + skipped;
    }
    report
}

/// The text, if it is strict JSON that nothing is to be done about; control characters have their usual escapes.
fn clean(text: &str, schema: Option<&Schema>, keeps_null: &[String]) -> Option<String> {
    let mut root = strict::parse(text)?;
    if !matches!(root.value, Value::Object(_) | Value::Array(_)) || keys::repeat(&root) || stages::marked_up(&root).is_some() {
        return None;
    }
    let nothing = Schema::default();
    let guide = schema.unwrap_or(&nothing);
    let nothing_to_do = backslash::reread(&mut root, text, &guide.at(guide.top())).is_empty()
        && schema.is_none_or(|schema| schema.is_satisfied(&root, keeps_null));
    nothing_to_do.then(|| {
        let mut out = String::with_capacity(text.len());
        root.write(text, &mut out);
        out
    })
}

//! The text around a container: what was dropped, and whether the container is a part of it.

use std::collections::HashMap;

use serde::de::IgnoredAny;

use super::envelope;
use super::report::{Fix, Verdict};
use crate::json::Code;
use crate::json::read::{Ending, Reading};
use crate::json::tree::Value;
use crate::schema::{Schema, Types};

/// The fixes for the text around a container.
pub(super) fn fixes_around(text: &str, start: usize, end: usize) -> Vec<Fix> {
    let mut fixes = Vec::new();
    let before = text[..start].trim();
    if before.starts_with("```") && !before.trim_start_matches('`').contains(char::is_whitespace) {
        fixes.push(Fix::whole(Code::E1, 0..start, Verdict::Lossless, "code fence around the arguments"));
    } else if !before.is_empty() {
        fixes.push(Fix::whole(Code::E2, 0..start, level(before), "text before the arguments"));
    }
    let after = text[end..].trim();
    let at = end..text.len();
    if !after.is_empty() {
        let (code, note) = match after.bytes().next() {
            Some(b'}' | b']' | b')') => (Code::S12, "superfluous closing brackets after the arguments"),
            Some(b',') => (Code::S1, "superfluous comma after the arguments"),
            Some(b'`') => (Code::E1, "code fence after the arguments"),
            Some(b'<' | b';') => (Code::E3, "end markers after the arguments"),
            _ => (Code::E2, "text after the arguments"),
        };
        fixes.push(Fix::whole(code, at, level(after), note));
    }
    fixes
}

/// How sure it is that a text around the arguments is none of them: with a quote it may be the rest of a string, unless it is an
/// object.
fn level(around: &str) -> Verdict {
    let values = around.trim_matches(|c: char| c.is_whitespace() || matches!(c, ',' | ';'));
    let mut objects = serde_json::Deserializer::from_str(values).into_iter::<HashMap<String, IgnoredAny>>();
    if around.contains('"') && !objects.all(|object| object.is_ok()) { Verdict::Guess } else { Verdict::Lossless }
}

/// Whether a list is a part of a text: `pip install uvicorn[standard]`, `[ -f x ] && rm y`. A list that is repaired may be code.
pub(super) fn is_part_of_a_text(text: &str, reading: &Reading<'_>, around: &[Fix], schema: &Schema) -> bool {
    let is_list = reading.ending == Ending::Complete
        && reading.repairs.iter().all(|repair| matches!(repair.rule, Code::S1 | Code::S5))
        && !around.iter().any(|fix| is_text(text, fix));
    matches!(reading.root.value, Value::Array(_)) && !schema.rule(schema.top()).types.allow(Types::ARRAY) && !is_list
}

/// Whether an object that fits may be a part of the one parameter, which is a text (`echo {"command": "ls"}`), or code. What ends
/// with a colon or opens a fence introduces the object.
pub(super) fn is_embedded(text: &str, reading: &Reading<'_>, around: &[Fix], schema: &Schema) -> bool {
    let before = around.iter().find(|fix| is_text(text, fix) && fix.at.start == 0);
    let follows = around.iter().any(|fix| is_text(text, fix) && fix.at.start > 0);
    let unannounced = before.is_some_and(|before| {
        let before = text[before.at.clone()].trim();
        let introduces = before.ends_with(':') && !follows || before.trim_end_matches(char::is_alphanumeric).ends_with("```");
        !before.starts_with('{') && !introduces
    });
    let follows_list = || text.trim_start().starts_with('[');
    unannounced && (!reading.repairs.is_empty() || follows_list() || envelope::bare(text.trim(), schema).is_some())
}

/// Whether what was dropped is a text. A byte order mark is none.
fn is_text(text: &str, fix: &Fix) -> bool {
    fix.rule == Code::E2 && text[fix.at.clone()].trim() != "\u{feff}"
}

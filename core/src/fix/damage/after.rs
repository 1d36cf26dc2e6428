//! What follows an object: prose and closing markers, or the rest of a string that seemed to end too early.

use super::text::is_torn;
use crate::json::Code;
use crate::json::read::Reading;
use crate::json::tree::{Node, Value};

/// Whether `after`, the text after the object of this reading, is more likely the rest of its last string:
/// `"d = {\"k\": \"v"}\nrest()\n"`. Prose has paired quotes and no escapes. A string that was cut off before it ends in half a
/// line of code. `is_cut`: the answer ended inside the arguments, as far as its reader knows.
pub(crate) fn is_spilt(reading: &Reading<'_>, after: &str, is_cut: bool) -> bool {
    let rest = without_marks(after);
    let last = last_text(&reading.root);
    let dropped =
        || reading.repairs.iter().any(|repair| repair.rule == Code::S12 && last.is_some_and(|(_, end)| repair.start >= end));
    let torn = last.is_some_and(|(text, _)| is_torn(text));
    if rest.is_empty() {
        return torn && (!after.trim().is_empty() || dropped());
    }
    let (quotes, escapes) = signs(after);
    let is_mark = rest.starts_with("</") || rest.starts_with("<|") || rest.starts_with("```");
    let escapes = if is_mark { signs(rest).1 } else { escapes };
    let odd = last.is_some_and(|(text, _)| text.matches('"').count() % 2 == 1);
    // Prose has no string at the end of an object: `{")\nrest()\n"}`.
    let ends_an_object = after.match_indices('"').any(|(at, _)| after[at + 1..].trim_start().starts_with('}'));
    let is_attached = after.starts_with('"') && quotes > 1;
    torn || escapes || ends_an_object || is_attached || quotes % 2 == 1 || (quotes > 0 && (odd || is_cut))
}

/// Whether a comment is more likely the rest of a string: `# \"b"\n`.
pub(super) fn is_spilt_comment(comment: &str) -> bool {
    let (quotes, escapes) = signs(comment.trim_matches(|c: char| c.is_whitespace()));
    escapes || quotes % 2 == 1
}

/// The text without leading and trailing closing brackets, separators and whitespace, also whitespace spelled as escapes.
fn without_marks(text: &str) -> &str {
    let sign = |c: char| c.is_whitespace() || "}]),;".contains(c);
    let mut rest = text;
    loop {
        let trimmed = rest.trim_matches(sign);
        let next =
            ["\\n", "\\r", "\\t"].into_iter().fold(trimmed, |text, space| text.trim_start_matches(space).trim_end_matches(space));
        if next.len() == rest.len() {
            return rest;
        }
        rest = next;
    }
}

/// The number of unescaped double quotes in a text, and whether it has escapes as strings have them.
fn signs(text: &str) -> (usize, bool) {
    let (mut quotes, mut escapes, mut bytes) = (0, false, text.bytes());
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => quotes += 1,
            b'\\' => escapes |= matches!(bytes.next(), Some(b'n' | b't' | b'r' | b'"')),
            _ => {}
        }
    }
    (quotes, escapes)
}

/// The string that is the last value of a tree, and its end.
fn last_text<'n>(node: &'n Node<'_>) -> Option<(&'n str, usize)> {
    match &node.value {
        Value::Text(text) => Some((text, node.end)),
        Value::Array(items) => last_text(items.last()?),
        Value::Object(members) => last_text(&members.last()?.node),
        _ => None,
    }
}

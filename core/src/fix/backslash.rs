//! Windows paths whose backslashes the model did not escape: `C:\new`, `src\test.rs`. JSON reads `\n`, `\t`, `\b`, `\f` and `\r`
//! as control characters, which no path has. The reading with backslashes as characters is a guess. No other text is read in
//! another way than JSON's.

use std::borrow::Cow;

use super::report::{Fix, Verdict};
use super::role::Role;
use crate::json::decode::code_unit;
use crate::json::pointer::{push_index, push_key};
use crate::json::tree::{Node, Value};
use crate::json::{Code, unescape};

/// Rereads the Windows paths in a tree, and returns the guesses. `source` is the text that the tree was read from; `name` is the
/// parameter that the tree is the value of, or `""`.
pub(super) fn reread<'s>(tree: &mut Node<'s>, source: &'s str, name: &str) -> Vec<Fix> {
    let mut fixes = Vec::new();
    let text = source.as_bytes().get(tree.start..tree.end).unwrap_or_default();
    if memchr::memchr(b'\\', text).is_some() {
        walk(tree, source, (name, false), &mut String::new(), &mut fixes);
    }
    fixes
}

/// `place`: the name of the parameter, and whether this is an item of its list. Returns whether anything changed. A container with a changed value is no longer an exact copy of its source.
fn walk<'s>(node: &mut Node<'s>, source: &'s str, place: (&str, bool), path: &mut String, fixes: &mut Vec<Fix>) -> bool {
    let length = path.len();
    let mut changed = false;
    match &mut node.value {
        Value::Text(text) => {
            let content = if node.exact { node.start + 1..node.end - 1 } else { node.start..node.end };
            let raw = source.get(content).unwrap_or_default();
            // A string that does not come from these bytes alone (joined strings) stays as it is.
            if is_spoilt(raw, || Role::of(place.0, place.1).path) && unescape(raw) == *text {
                *text = Cow::Owned(literal(raw));
                let note = "the backslashes of a path read as characters";
                let path = String::from(path.as_str());
                fixes.push(Fix { path, ..Fix::whole(Code::T2b, node.start..node.end, Verdict::Guess, note) });
                changed = true;
            }
        }
        Value::Array(items) => {
            for (at, item) in items.iter_mut().enumerate() {
                push_index(path, at);
                changed |= walk(item, source, (place.0, true), path, fixes);
                path.truncate(length);
            }
        }
        Value::Object(members) => {
            for member in members {
                push_key(path, &member.key);
                changed |= walk(&mut member.node, source, (&member.key, false), path, fixes);
                path.truncate(length);
            }
        }
        _ => {}
    }
    node.exact &= !changed;
    changed
}

/// Whether a string begins like a Windows path (a drive, two backslashes, `.\`, or in a parameter for paths one name before a
/// backslash), and an escape made a control character of it. Where a later backslash is doubled, the model escapes.
fn is_spoilt(raw: &str, is_path: impl FnOnce() -> bool) -> bool {
    if !raw.contains('\\') {
        return false;
    }
    let drive = |bytes: &[u8]| bytes.len() > 2 && bytes[0].is_ascii_alphabetic() && bytes[1] == b':' && bytes[2] == b'\\';
    let name = raw.split('\\').next().unwrap_or_default();
    let begins = drive(raw.as_bytes())
        || raw.strip_prefix("\\\\").is_some_and(is_host)
        || raw.starts_with(".\\")
        || raw.starts_with("..\\")
        || !name.is_empty() && !name.contains(|c: char| c.is_whitespace() || "/:\"'".contains(c)) && is_path();
    let rest = raw.strip_prefix("\\\\").unwrap_or(raw);
    begins && !rest.contains("\\\\") && ["\\n", "\\t", "\\r", "\\b", "\\f"].iter().any(|escape| rest.contains(escape))
}

/// Whether a text begins with the name of a host and a backslash.
fn is_host(text: &str) -> bool {
    let name = text.split_once('\\').map_or("", |(name, _)| name);
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
}

/// The text whose backslashes are characters, except before a quote and in `\uXXXX`.
fn literal(raw: &str) -> String {
    let mut text = String::with_capacity(raw.len());
    let mut at = 0;
    while let Some(found) = raw[at..].find('\\').map(|found| at + found) {
        text.push_str(&raw[at..found]);
        let length = match raw.as_bytes().get(found + 1) {
            Some(b'"') => 2,
            Some(b'u') if code_unit(raw, found).is_some() => 6,
            _ => 1,
        };
        at = found + length;
        text.push_str(&if length == 1 { Cow::Borrowed("\\") } else { unescape(&raw[found..at]) });
    }
    text.push_str(&raw[at..]);
    text
}

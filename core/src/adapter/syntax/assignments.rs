//! Reads arguments written as assignments, `city="Oslo" days=3`: in the attributes of a tag, after a name, or one per line.

use super::typing::{self, Hint};
use crate::fix::Place;

/// How far a value may extend.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Values {
    /// Up to the next assignment.
    Free,
    /// Up to the end of its line.
    Lines,
}

/// Why a text is not read.
#[derive(PartialEq, Eq)]
pub(super) enum Unread {
    /// It contains something other than parameters of the tool.
    Other,
    /// A value is written as in YAML, and nobody knows what belongs to it.
    Unclear,
}

/// The arguments as keys and JSON values.
pub(super) fn assignments(text: &str, parameters: Place<'_>, values: Values) -> Result<Vec<(String, String)>, Unread> {
    let mut pairs = Vec::new();
    let mut at = 0;
    loop {
        at += gap(&text[at..], |c| c.is_whitespace() || matches!(c, ',' | ';'));
        if at == text.len() {
            return if pairs.is_empty() { Err(Unread::Other) } else { Ok(pairs) };
        }
        let (key, length) = key(&text[at..], parameters).ok_or(Unread::Other)?;
        let start = at + length + gap(&text[at + length..], |c| matches!(c, ' ' | '\t'));
        let line = text[start..].lines().next().unwrap_or_default().trim_end();
        if matches!(line, "|" | "|-" | ">" | ">-") && text[at..start].trim_end().ends_with(':') {
            return Err(Unread::Unclear);
        }
        let stop = text[start..].find('\n').filter(|_| values != Values::Free).map_or(text.len(), |length| start + length);
        let after = &text[start..stop];
        let (value, next) = quoted(after).unwrap_or_else(|| after.split_at(bare_end(after, parameters)));
        pairs.push((key.to_owned(), typed(key, value.trim_end(), parameters).ok_or(Unread::Unclear)?));
        at = stop - next.len();
    }
}

/// The value of a parameter as JSON text. `None`: it is below its key, and neither one line of text nor a list or object that is
/// read.
fn typed(key: &str, value: &str, parameters: Place<'_>) -> Option<String> {
    let below = value.trim_start();
    let is_below = value[..value.len() - below.len()].contains('\n');
    let json = typing::argument(parameters, key, if is_below { below } else { value }, Hint::None);
    let is_structure = below.contains('\n') || below.starts_with("- ");
    (!is_below || !is_structure || !json.starts_with('"')).then_some(json)
}

/// The length of what `text` begins with.
fn gap(text: &str, is_gap: fn(char) -> bool) -> usize {
    text.len() - text.trim_start_matches(is_gap).len()
}

/// Whether the last value of lines of assignments is quoted and its quotes close at the end of the text.
pub(super) fn ends_quoted(text: &str, parameters: Place<'_>) -> bool {
    let line = text.trim_end().rsplit('\n').next().unwrap_or_default().trim_start();
    let value = key(line, parameters).map(|(_, length)| line[length..].trim_start());
    value.and_then(quoted).is_some_and(|(_, rest)| rest.trim().is_empty())
}

/// The name of the parameter that `text` assigns to, and its length including the sign.
pub(super) fn key<'t>(text: &'t str, parameters: Place<'_>) -> Option<(&'t str, usize)> {
    let length = text.find(|c: char| !(c.is_alphanumeric() || "_-.".contains(c)))?;
    let gap = text[length..].len() - text[length..].trim_start_matches([' ', '\t']).len();
    let assigns = text[length + gap..].starts_with([':', '=']);
    (assigns && typing::has(parameters, &text[..length])).then_some((&text[..length], length + gap + 1))
}

/// The quoted value that `text` begins with, and the rest.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let quote = text.chars().next().filter(|&c| matches!(c, '"' | '\''))?;
    let ends = |&(at, _): &(usize, &str)| {
        let after = &text[at + 2..];
        after.is_empty() || after.starts_with(|c: char| c.is_whitespace() || matches!(c, ',' | ';' | '/'))
    };
    let (at, _) = text[1..].match_indices(quote).find(ends)?;
    Some((&text[1..=at], &text[at + 2..]))
}

/// The end of an unquoted value: before the next assignment.
fn bare_end(text: &str, parameters: Place<'_>) -> usize {
    let gaps = text.char_indices().filter(|(_, c)| c.is_whitespace() || matches!(c, ',' | ';'));
    let mut ends = gaps.filter(|&(at, c)| key(text[at + c.len_utf8()..].trim_start(), parameters).is_some());
    ends.next().map_or(text.len(), |(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{event::Tool, fix::View};

    #[test]
    fn assignments_become_members_of_their_types() {
        let schema =
            r#"{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer"},"tags":{"type":"array"}}}"#;
        let view = View::of(Some(&Tool::new("f", "", schema)));
        for (text, want) in [
            (r#"city="Oslo" days=3"#, Some(r#"city="Oslo" days=3"#)),
            ("city=New York days=3", Some(r#"city="New York" days=3"#)),
            ("city: Oslo\ndays: 3\ntags: [1, 2]\n", Some(r#"city="Oslo" days=3 tags=[1, 2]"#)),
            ("city='it's here', days=3", Some(r#"city="it's here" days=3"#)),
            ("city=Oslo place=3", Some(r#"city="Oslo place=3""#)),
            ("city:\n  Oslo\ndays: 3", Some(r#"city="Oslo" days=3"#)),
            ("  city: >-\n    New\n    York\n  days: 3\n", None),
            // Is it one line or two? Is it a list of one text?
            ("city:\n  New\n  York", None),
            ("city: |\nYork", None),
            ("place=Oslo", None),
            ("Oslo", None),
            ("", None),
        ] {
            let got = assignments(text, view.root(), Values::Free).ok();
            let shown = got.map(|pairs| pairs.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(" "));
            assert_eq!(shown.as_deref(), want, "{text}");
        }
    }
}

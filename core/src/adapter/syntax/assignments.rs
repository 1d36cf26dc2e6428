//! Reads arguments written as assignments, `city="Oslo" days=3`: in the attributes of a tag, after a name, or one per line.

use super::typing::{self, Hint};
use crate::fix::Place;

/// The arguments as keys and JSON values. `None`: the text contains something other than parameters of the tool, or a value without
/// quotes has several lines.
pub(super) fn assignments(text: &str, parameters: Place<'_>) -> Option<Vec<(String, String)>> {
    let (mut pairs, mut rest) = (Vec::new(), text);
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, ',' | ';'));
        if rest.is_empty() {
            return Some(pairs).filter(|pairs| !pairs.is_empty());
        }
        let (key, length) = key(rest, parameters)?;
        let after = rest[length..].trim_start_matches([' ', '\t']);
        let bare = || Some(after.split_at(bare_end(after, parameters))).filter(|(value, _)| !value.trim().contains('\n'));
        let (value, next) = quoted(after).or_else(bare)?;
        pairs.push((key.to_owned(), typing::argument(parameters, key, value.trim(), Hint::None)));
        rest = next;
    }
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
            let got = assignments(text, view.root());
            let shown = got.map(|pairs| pairs.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(" "));
            assert_eq!(shown.as_deref(), want, "{text}");
        }
    }
}

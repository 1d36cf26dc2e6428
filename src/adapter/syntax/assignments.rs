//! Reads arguments written as assignments, `city="Oslo" days=3`: in the attributes of a tag, after a name, or one per line.

use super::typing::{Hint, Types};

/// The arguments as keys and JSON values. `None`: the text contains something other than parameters of the tool.
pub(super) fn assignments(text: &str, types: &Types) -> Option<Vec<(String, String)>> {
    let mut pairs = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let (key, length) = key(rest, types)?;
        let after = rest[length..].trim_start_matches([' ', '\t']);
        let (value, next) = quoted(after).unwrap_or_else(|| after.split_at(bare_end(after, types)));
        pairs.push((key.to_owned(), types.value(key, value.trim_end(), Hint::None)));
        rest = next.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, ',' | ';'));
    }
    (!pairs.is_empty()).then_some(pairs)
}

/// Like [`assignments`], for text in which every line begins with an assignment.
pub(super) fn lines(text: &str, types: &Types) -> Option<Vec<(String, String)>> {
    let lines = text.lines().filter(|line| !line.trim().is_empty()).map(|line| assignments(line, types));
    Some(lines.collect::<Option<Vec<_>>>()?.concat()).filter(|pairs| !pairs.is_empty())
}

/// Whether the last value of such lines is quoted and its quotes close at the end of the text.
pub(super) fn ends_quoted(text: &str, types: &Types) -> bool {
    let line = text.trim_end().rsplit('\n').next().unwrap_or_default().trim_start();
    let value = key(line, types).map(|(_, length)| line[length..].trim_start());
    value.and_then(quoted).is_some_and(|(_, rest)| rest.trim().is_empty())
}

/// The name of the parameter that `text` assigns to, and its length including the sign.
pub(super) fn key<'t>(text: &'t str, types: &Types) -> Option<(&'t str, usize)> {
    let length = text.find(|c: char| !(c.is_alphanumeric() || "_-.".contains(c)))?;
    let gap = text[length..].len() - text[length..].trim_start_matches([' ', '\t']).len();
    let assigns = text[length + gap..].starts_with([':', '=']);
    (assigns && types.has(&text[..length])).then_some((&text[..length], length + gap + 1))
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
fn bare_end(text: &str, types: &Types) -> usize {
    let gaps = text.char_indices().filter(|(_, c)| c.is_whitespace() || matches!(c, ',' | ';'));
    let mut ends = gaps.filter(|&(at, c)| key(text[at + c.len_utf8()..].trim_start(), types).is_some());
    ends.next().map_or(text.len(), |(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Tool;

    #[test]
    fn assignments_become_members_of_their_types() {
        let schema =
            r#"{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer"},"tags":{"type":"array"}}}"#;
        let types = Types::new(Some(&Tool::new("f", "", schema)));
        for (text, want) in [
            (r#"city="Oslo" days=3"#, Some(r#"city="Oslo" days=3"#)),
            ("city=New York days=3", Some(r#"city="New York" days=3"#)),
            ("city: Oslo\ndays: 3\ntags: [1, 2]\n", Some(r#"city="Oslo" days=3 tags=[1, 2]"#)),
            ("city='it's here', days=3", Some(r#"city="it's here" days=3"#)),
            ("city=Oslo place=3", Some(r#"city="Oslo place=3""#)),
            ("place=Oslo", None),
            ("Oslo", None),
            ("", None),
        ] {
            let got = assignments(text, &types);
            let shown = got.map(|pairs| pairs.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(" "));
            assert_eq!(shown.as_deref(), want, "{text}");
        }
    }
}

//! Recognises misspelt tags: `<parameter  name = `, `</ Parameter >`, `<<parameter=`. Only tags in angle brackets are read so. A
//! special token is a single token and has one spelling.

use super::{Start, starts_with_any};

/// Maximum number of spaces where a tag has one or none.
const BLANKS: usize = 8;
/// Maximum length of a name repeated in a closing tag, with its sign, in bytes.
const REPEATED_BYTES: usize = 80;

/// Like [`starts_with_any`], but a tag may differ in case and in the spaces between its parts.
pub(super) fn starts_with_tag<'m>(text: &str, markers: impl IntoIterator<Item = &'m String> + Clone, end: bool) -> Start {
    let exact = starts_with_any(text, markers.clone(), end);
    if exact != Start::No || !text.starts_with('<') {
        return exact;
    }
    let tags = markers.into_iter().filter(|marker| is_tag(marker));
    tags.map(|marker| misspelt(text, marker, end)).fold(Start::No, |best, start| match (best, start) {
        (Start::Maybe, _) | (_, Start::Maybe) => Start::Maybe,
        (Start::Yes(length), Start::Yes(other)) => Start::Yes(length.max(other)),
        (Start::Yes(length), Start::No) | (Start::No, Start::Yes(length)) => Start::Yes(length),
        (Start::No, Start::No) => Start::No,
    })
}

/// The first occurrence of the marker after `from`: its offset, and how it is written there.
pub(super) fn find_tag<'t>(text: &'t str, from: usize, marker: &'t String) -> Option<(usize, &'t str)> {
    if !is_tag(marker) {
        return text[from..].find(marker.as_str()).map(|at| (from + at, marker.as_str()));
    }
    text[from..].match_indices('<').find_map(|(at, _)| match starts_with_tag(&text[from + at..], [marker], true) {
        Start::Yes(length) => Some((from + at, &text[from + at..from + at + length])),
        Start::Maybe | Start::No => None,
    })
}

/// Like [`starts_with_tag`], for a tag with a key after its marker: `<parameter=k`, `<parameter name="k"` and `<parameter k` are
/// equivalent.
pub(super) fn starts_with_key_tag<'m>(text: &str, markers: impl IntoIterator<Item = &'m String> + Clone, end: bool) -> Start {
    let known = starts_with_tag(text, markers.clone(), end);
    if known != Start::No || !text.starts_with('<') {
        return known;
    }
    let names = markers.into_iter().filter_map(|marker| Some(marker.strip_suffix('=')?.trim_end_matches(" name")));
    names.filter(|name| is_tag(name)).map(|name| sign(text, name, end)).find(|start| *start != Start::No).unwrap_or(Start::No)
}

/// Whether `text` begins with a tag of this name and what precedes a key.
fn sign(text: &str, name: &str, end: bool) -> Start {
    let length = match misspelt(text, name, end) {
        Start::Yes(length) => length,
        other => return other,
    };
    let gap = |at: usize| text[at..].len() - text[at..].trim_start_matches([' ', '\t']).len();
    let at = length + gap(length);
    let word = at + text[at..].find(|c: char| !(c.is_alphanumeric() || "_-.".contains(c))).unwrap_or(text.len() - at);
    let after = word + gap(word);
    match text[at..].chars().next() {
        Some('=') => Start::Yes(at + 1),
        None if !end => Start::Maybe,
        _ if at == length || word == at => Start::No,
        _ if after == text.len() && !end => Start::Maybe,
        _ if &text[at..word] == "name" && text[after..].starts_with('=') => Start::Yes(after + 1),
        _ => Start::Yes(at),
    }
}

/// Whether the marker is a tag with a name, not a special token.
fn is_tag(marker: &str) -> bool {
    marker.strip_prefix('<').is_some_and(|rest| rest.trim_start_matches('/').starts_with(|c: char| c.is_ascii_alphabetic()))
}

/// Whether `text` begins with the tag, compared without case and with any spaces between its parts.
fn misspelt(text: &str, tag: &str, end: bool) -> Start {
    let mut rest = text;
    if text.starts_with("<<") {
        rest = &rest[1..];
    }
    let name = |c: char| c.is_ascii_alphanumeric() || "_-:.".contains(c);
    let mut left = tag;
    while let Some(first) = left.chars().next() {
        let length = if name(first) { left.find(|c| !name(c)).unwrap_or(left.len()) } else { first.len_utf8() };
        let (part, after) = left.split_at(length);
        left = after;
        if first == ' ' {
            let Some(beyond) = rest.strip_prefix([' ', '\t']) else {
                return if rest.is_empty() && !end { Start::Maybe } else { Start::No };
            };
            rest = beyond;
            continue;
        }
        let beyond = rest.trim_start_matches([' ', '\t']);
        if rest.len() - beyond.len() > BLANKS {
            return Start::No;
        }
        // `</function=f>`: the name is repeated.
        let beyond = if part == ">" && tag.starts_with("</") && beyond.starts_with('=') {
            match beyond.find(['>', '<', '\n']) {
                Some(stop) if stop <= REPEATED_BYTES => &beyond[stop..],
                None if !end && beyond.len() <= REPEATED_BYTES => return Start::Maybe,
                _ => return Start::No,
            }
        } else {
            beyond
        };
        match beyond.get(..part.len()) {
            Some(written) if written.eq_ignore_ascii_case(part) => rest = &beyond[part.len()..],
            None if !end && part.get(..beyond.len()).is_some_and(|begun| begun.eq_ignore_ascii_case(beyond)) => {
                return Start::Maybe;
            }
            _ => return Start::No,
        }
    }
    Start::Yes(text.len() - rest.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_follows_its_tag_in_any_way() {
        let markers = ["<parameter=".to_owned()];
        for (text, want) in [
            ("<parameter=a>", 11),
            ("<parameter name=a>", 16),
            ("<parameter  name = \"a\">", 18),
            ("<parameter a>", 11),
            ("<parameter type=\"x\" name=\"a\">", 11),
            ("<Parameter = a>", 12),
            ("<parameter>", 0),
            ("<parameters a>", 0),
            ("<parameter >", 0),
        ] {
            let want = if want > 0 { Start::Yes(want) } else { Start::No };
            assert_eq!(starts_with_key_tag(text, &markers, true), want, "{text}");
            for cut in 1..text.len() {
                let seen = starts_with_key_tag(&text[..cut], &markers, false);
                assert!(seen == want || seen == Start::Maybe, "{}", &text[..cut]);
            }
        }
    }

    #[test]
    fn tags_are_read_in_other_cases_and_with_other_blanks() {
        let markers = ["<parameter name=", "<parameter=", "</parameter>", "<|call|>"].map(str::to_owned);
        for (text, want) in [
            ("<parameter name=\"a\"", 16),
            ("<parameter  name = \"a\"", 18),
            ("<parameter =a", 12),
            ("< parameter=a", 12),
            ("<Parameter=a", 11),
            ("<<parameter=a", 12),
            ("</ parameter >x", 14),
            ("</PARAMETER>", 12),
            ("</parameter=a>x", 14),
            ("</parameter = a_long.name >", 27),
            ("</parameter=<a>", 0),
            ("<|call|>", 8),
            ("<|Call|>", 0),
            ("<parameters=a", 0),
            ("<paramete=a", 0),
            ("<parametername=", 0),
            ("a < parameter = b", 0),
        ] {
            let want = if want > 0 { Start::Yes(want) } else { Start::No };
            assert_eq!(starts_with_tag(text, &markers, true), want, "{text}");
            let end = if let Start::Yes(length) = want { length } else { 0 };
            for cut in 1..end {
                assert_ne!(starts_with_tag(&text[..cut], &markers, false), Start::No, "{}", &text[..cut]);
            }
        }
    }
}

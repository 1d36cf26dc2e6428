//! Recognises misspelt tags: `<parameter  name = `, `</ Parameter >`, `<<parameter=`. Only tags in angle brackets are read so. A
//! special token is a single token and has one spelling.
//!
//! Some families put a word between bars before the name of every tag: `<|WORD|invoke`. Bars of other kinds and
//! blanks make no difference ([`prefix`]). Whether a tag has such a prefix at all does: [`starts_with_any_tag`] ignores it.

use super::{Seen, Start, starts_with_any};

/// Maximum number of spaces where a tag has one or none.
const BLANKS: usize = 8;
/// Maximum length of a name repeated in a closing tag, with its sign, in bytes.
const REPEATED_BYTES: usize = 80;
/// The bars of a prefix, how many of them stand together, and the maximum length of the word between them, in bytes.
pub(in crate::adapter) const BARS: [char; 3] = ['|', '\u{ff5c}', '\u{2016}'];
const DOUBLED: usize = 2;
const PREFIX_BYTES: usize = 16;

/// Like [`starts_with_any`], but a tag may differ in case, in the spaces between its parts, and in the bars of its prefix.
pub(super) fn starts_with_tag<'m>(text: &str, markers: impl IntoIterator<Item = &'m String> + Clone, end: bool) -> Start {
    starts_with(text, markers, false, end)
}

/// Like [`starts_with_tag`], but the prefixes may differ, and only one of text and marker may have one.
pub(in crate::adapter) fn starts_with_any_tag<'m>(
    text: &str,
    markers: impl IntoIterator<Item = &'m String> + Clone,
    end: bool,
) -> Start {
    starts_with(text, markers, true, end)
}

fn starts_with<'m>(text: &str, markers: impl IntoIterator<Item = &'m String> + Clone, any: bool, end: bool) -> Start {
    let exact = starts_with_any(text, markers.clone(), end);
    if exact != Start::No || !text.starts_with('<') {
        return exact;
    }
    let tags = markers.into_iter().filter(|marker| is_tag(marker));
    tags.map(|marker| misspelt(text, marker, any, end)).fold(Start::No, |best, start| match (best, start) {
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
/// `any` as in [`starts_with_any_tag`].
pub(super) fn starts_with_key_tag<'m>(
    text: &str,
    markers: impl IntoIterator<Item = &'m String> + Clone,
    any: bool,
    end: bool,
) -> Start {
    let known = starts_with(text, markers.clone(), any, end);
    if known != Start::No || !text.starts_with('<') {
        return known;
    }
    let names = markers.into_iter().filter_map(|marker| Some(marker.strip_suffix('=')?.trim_end_matches(" name")));
    names
        .filter(|name| is_tag(name))
        .map(|name| sign(text, name, any, end))
        .find(|start| *start != Start::No)
        .unwrap_or(Start::No)
}

/// Whether `text` begins with a tag of this name and what precedes a key.
fn sign(text: &str, name: &str, any: bool, end: bool) -> Start {
    let length = match misspelt(text, name, any, end) {
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
    let name = marker.strip_prefix('<').map(|rest| rest.trim_start_matches('/'));
    name.is_some_and(|name| {
        let name = if let Seen::Yes(length) = prefix(name) { &name[length..] } else { name };
        name.starts_with(|c: char| c.is_ascii_alphabetic())
    })
}

/// The prefix of a tag's name that `text` begins with: a word between bars. `Maybe`: the text ends in it.
fn prefix(text: &str) -> Start {
    let blanks = |text: &'_ str| text.len() - text.trim_start_matches([' ', '\t']).len();
    let bars = |text: &'_ str| text.chars().take(DOUBLED).take_while(|c| BARS.contains(c)).map(char::len_utf8).sum::<usize>();
    let word = |text: &'_ str| text.len() - text.trim_start_matches(|c: char| c.is_ascii_alphanumeric()).len();
    let mut at = 0;
    let parts: [&dyn Fn(&str) -> usize; 3] = [&bars, &word, &bars];
    for part in parts {
        let gap = blanks(&text[at..]);
        let length = part(&text[at + gap..]);
        match at + gap + length == text.len() {
            true if gap <= BLANKS && length <= PREFIX_BYTES => return Start::Maybe,
            false if gap <= BLANKS && (1..=PREFIX_BYTES).contains(&length) => at += gap + length,
            _ => return Start::No,
        }
    }
    let gap = blanks(&text[at..]);
    match text[at + gap..].chars().next() {
        None if gap <= BLANKS => Start::Maybe,
        Some(c) if gap <= BLANKS && c.is_ascii_alphabetic() => Start::Yes(at + gap),
        _ => Start::No,
    }
}

/// The word between the bars of a prefix.
fn word(prefix: &str) -> &str {
    prefix.trim_matches(|c: char| !c.is_ascii_alphanumeric())
}

/// Whether `text` begins with a closing tag of any name with a prefix: no prose does.
pub(in crate::adapter) fn closes_block(text: &str, end: bool) -> Start {
    let Some(inside) = text.strip_prefix("</") else { return Start::No };
    let length = match prefix(inside) {
        Start::Yes(length) => length,
        Start::Maybe if !end => return Start::Maybe,
        _ => return Start::No,
    };
    let name = &inside[length..];
    let stop = name.find(|c: char| !(c.is_alphanumeric() || "_-".contains(c))).unwrap_or(name.len());
    match name[stop..].chars().next() {
        Some('>') => Start::Yes(text.len() - name.len() + stop + 1),
        None if !end && stop <= REPEATED_BYTES => Start::Maybe,
        _ => Start::No,
    }
}

/// Whether `text` begins with the tag, compared without case and with any spaces between its parts. `any`: and with any prefix
/// or none.
fn misspelt(text: &str, tag: &str, any: bool, end: bool) -> Start {
    let mut rest = text;
    // Before a closing tag, the first bracket belongs to the value.
    if text.starts_with("<<") && !tag.starts_with("</") {
        rest = &rest[1..];
    }
    let name = |c: char| c.is_ascii_alphanumeric() || "_-:.".contains(c);
    let (mut left, mut named) = (tag, false);
    while let Some(mut first) = left.chars().next() {
        if !named && !matches!(first, '<' | '/') {
            named = true;
            let wanted = prefix(left);
            let written = prefix(rest);
            if let (Start::Yes(length), Start::Yes(other)) = (wanted, written)
                && !any
                && !word(&left[..length]).eq_ignore_ascii_case(word(&rest[..other]))
            {
                return Start::No;
            }
            if let Start::Yes(length) = wanted {
                left = &left[length..];
                first = left.chars().next().unwrap_or(first);
            }
            match written {
                Start::Maybe if !end => return Start::Maybe,
                Start::Yes(length) if any || matches!(wanted, Start::Yes(_)) => rest = &rest[length..],
                _ if any || !matches!(wanted, Start::Yes(_)) => {}
                _ => return Start::No,
            }
        }
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
            assert_eq!(starts_with_key_tag(text, &markers, false, true), want, "{text}");
            for cut in 1..text.len() {
                let seen = starts_with_key_tag(&text[..cut], &markers, false, false);
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
            ("<</parameter>", 0),
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

    #[test]
    fn prefixes_of_all_kinds_are_equal() {
        let markers = ["</\u{ff5c}DSML\u{ff5c}invoke>".to_owned()];
        for (text, own, any) in [
            ("</||DSML||invoke>", 17, 17),
            ("</ | DSML | invoke >", 20, 20),
            ("</|dsml| invoke>", 16, 16),
            ("</\u{2016}DSML\u{2016} invoke>", 20, 20),
            ("</invoke>", 0, 9),
            ("</|invoke>", 0, 0),
            ("</|DSML|>", 0, 0),
            ("</|DSML|parameter>", 0, 0),
        ] {
            let want = |length| if length > 0 { Start::Yes(length) } else { Start::No };
            assert_eq!(starts_with_tag(text, &markers, true), want(own), "{text}");
            assert_eq!(starts_with_any_tag(text, &markers, true), want(any), "{text}");
            for cut in (1..any).filter(|&cut| text.is_char_boundary(cut)) {
                assert_ne!(starts_with_any_tag(&text[..cut], &markers, false), Start::No, "{}", &text[..cut]);
            }
        }
        assert_eq!(closes_block("</ | DSML | calls> x", true), Start::Yes(18));
        assert_eq!([closes_block("</calls>", true), closes_block("</|DSML|calls", true)], [Start::No; 2]);
        assert_eq!(starts_with_tag("</|DSML|invoke>", &["</invoke>".to_owned()], true), Start::No);
        assert_eq!(starts_with_any_tag("</|DSML|invoke>", &["</invoke>".to_owned()], true), Start::Yes(15));
    }
}

//! Recognises tags that are not spelled as the form spells them. Some families put a word between bars before the name of every tag:
//! `<|WORD|invoke`. Models write bars of other kinds and blanks around them, or leave the prefix out ([`starts_with_any_tag`]).

use super::{Start, starts_with_any};

/// Maximum number of blanks before a part of a prefix.
const BLANKS: usize = 8;
/// The bars of a prefix, how many of them stand together, and the maximum length of the word between them, in bytes.
const BARS: [char; 3] = ['|', '\u{ff5c}', '\u{2016}'];
const DOUBLED: usize = 2;
const PREFIX_BYTES: usize = 16;

/// Like [`starts_with_any`], but the prefix of a tag may be spelled in another way.
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
    let bracket = if text.starts_with("</") { "</" } else { "<" };
    let Some(rest) = text.strip_prefix(bracket).filter(|_| exact == Start::No) else { return exact };
    let mut tags = markers.into_iter().filter_map(|marker| marker.strip_prefix(bracket));
    let (written, name) = match prefix(rest) {
        Start::Yes(length) => rest.split_at(length),
        Start::Maybe if !end => return if tags.next().is_some() { Start::Maybe } else { Start::No },
        Start::Maybe | Start::No => ("", rest),
    };
    let names = tags.filter_map(|tag| {
        let (wanted, name) = if let Start::Yes(length) = prefix(tag) { tag.split_at(length) } else { ("", tag) };
        let is_alike = !wanted.is_empty() && word(wanted).eq_ignore_ascii_case(word(written));
        (is_alike || any && name.starts_with(|c: char| c.is_ascii_alphabetic())).then_some(name)
    });
    match starts_with_any(name, names, end) {
        Start::Yes(length) => Start::Yes(text.len() - name.len() + length),
        start => start,
    }
}

/// Like [`starts_with_tag`], for a tag with a key after its marker: `<parameter=k`, `<parameter name="k"` and `<parameter k` are
/// equivalent. `any` as in [`starts_with_any_tag`].
pub(super) fn starts_with_key_tag(text: &str, markers: &[String], any: bool, end: bool) -> Start {
    let known = starts_with(text, markers, any, end);
    if known != Start::No || !text.starts_with('<') {
        return known;
    }
    let stems = markers.iter().filter_map(|marker| marker.strip_suffix('=')).map(|marker| marker.trim_end_matches(" name"));
    let others: Vec<String> = stems.flat_map(|stem| [format!("{stem}="), format!("{stem} ")]).collect();
    starts_with(text, &others, any, end)
}

/// The first occurrence of the marker after `from`: its offset, and how it is written there.
pub(super) fn find_tag<'t>(text: &'t str, from: usize, marker: &'t String) -> Option<(usize, &'t str)> {
    let lead = marker.chars().next()?;
    text[from..].match_indices(lead).find_map(|(at, _)| match starts_with_tag(&text[from + at..], [marker], true) {
        Start::Yes(length) => Some((from + at, &text[from + at..from + at + length])),
        Start::Maybe | Start::No => None,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_follows_its_tag_in_any_way() {
        let markers = ["<parameter=".to_owned()];
        for (text, want) in [
            ("<parameter=a>", 11),
            ("<parameter name=a>", 11),
            ("<parameter type=\"x\" name=\"a\">", 11),
            ("<parameter a>", 11),
            ("<parameter>", 0),
            ("<parameters a>", 0),
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
    fn prefixes_of_all_kinds_are_equal() {
        let markers = ["</\u{ff5c}DSML\u{ff5c}invoke>".to_owned()];
        for (text, own, any) in [
            ("</||DSML||invoke>", 17, 17),
            ("</ | DSML | invoke>", 19, 19),
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
        assert_eq!(starts_with_tag("</|DSML|invoke>", &["</invoke>".to_owned()], true), Start::No);
        assert_eq!(starts_with_any_tag("</|DSML|invoke>", &["</invoke>".to_owned()], true), Start::Yes(15));
    }
}

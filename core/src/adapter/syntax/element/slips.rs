//! Slips in the closing tags of elements: a misspelt one, or another one in its place.

use crate::adapter::syntax::WORD_BYTES;

/// The bars of special tokens.
const BARS: [char; 3] = ['\u{ff5c}', '\u{2016}', '\u{2581}'];

/// The start of a misspelt closing tag at the end of a value: `<parameter>`, `</parameter`, `</parameter>>`, `<//parameter>`,
/// `</parameter=key>`.
pub(super) fn torn_tag(value: &str, name: &str, key: &str) -> Option<usize> {
    const BRACKETS: usize = 3;
    let at = value.rfind(name).filter(|_| !name.is_empty())?;
    let (before, after) = (&value[..at], value[at + name.len()..].trim_end());
    let after = after.strip_prefix('=').and_then(|after| after.strip_prefix(key)).unwrap_or(after);
    // What precedes the last bracket belongs to the value: `a <</parameter`, `*/</parameter`.
    let begin = before.strip_suffix("<\\/").map_or_else(
        || {
            let signs = before.trim_end_matches(['<', '/', '[']).len();
            before[signs..].rfind(['<', '[']).map_or(signs, |at| signs + at)
        },
        str::len,
    );
    // Without any bracket it is a folder of a path: `/etc/path`.
    let opened = (1..=BRACKETS).contains(&(at - begin)) && (value[begin..at].contains(['<', '[']) || after.contains('>'));
    (opened && after.len() < BRACKETS && after.chars().all(|c| matches!(c, '>' | '/'))).then_some(begin)
}

/// The start of the tag that a value without its closing tag ends with: one of another name (`Oslo</invoke>`), one with wrong signs
/// (`a.rs<\/uri>`), or an opening tag of one of `names` (`a.rs<uri>`). `None`: the value holds what opens it, so it is content.
pub(super) fn stand_in(value: &str, names: &[&str]) -> Option<usize> {
    let value = value.trim_end();
    let at = value.rfind('<')?;
    let inside = value[at + 1..].strip_suffix('>')?;
    let name = inside.trim_start_matches([' ', '\t', '\\', '/']);
    let closes = inside[..inside.len() - name.len()].contains(['/', '\\']);
    let name = name.trim_end_matches([' ', '\t', '`', '"', '\'', ',', ';', ')', ']', '}']);
    let is_sign = |c: char| "_-:.| ".contains(c) || BARS.contains(&c);
    let is_name = name.len() <= WORD_BYTES
        && name.starts_with(|c: char| c.is_alphabetic() || c == '|' || BARS.contains(&c))
        && name.chars().all(|c| c.is_alphanumeric() || is_sign(c));
    let opened = || value[..at].match_indices(&format!("<{name}")).any(|(at, tag)| ends_name(&value[at + tag.len()..]));
    (is_name && (closes || names.contains(&name)) && !opened()).then_some(at)
}

/// Whether the name of a tag ends before `text`.
fn ends_name(text: &str) -> bool {
    !text.starts_with(|c: char| c.is_alphanumeric() || "_-:.".contains(c))
}

#[cfg(test)]
mod tests {
    use super::{stand_in, torn_tag};

    #[test]
    fn a_tag_in_the_place_of_the_closing_one_is_found() {
        let bars = "\u{ff5c}DSML\u{ff5c}parameter";
        for (value, name, want) in [
            ("/w/x.txt</path>", "uri", Some(8)),
            ("/w/x.txt</url>\n", "uri", Some(8)),
            ("/w/x.txt<\\/uri>", "uri", Some(8)),
            ("/w/x.txt</URI>", "uri", Some(8)),
            ("/w/x.txt</ uri >", "uri", Some(8)),
            ("/w/x.txt<uri>", "uri", Some(8)),
            ("/w/x.txt<\\uri>", "uri", Some(8)),
            ("/w/x.txt</uri`>", "uri", Some(8)),
            ("/w/x.txt</\u{ff5c}DSML|parameter>", bars, Some(8)),
            ("/w/x.txt</\u{ff5c}DSML\u{ff5c}param>", bars, Some(8)),
            // Content: it begins in the value, or is not a closing tag.
            ("<b>x</b>", "uri", None),
            ("<a href=\"x\">x</a>", "uri", None),
            ("x <path>", "uri", None),
            ("a < b && c >", "uri", None),
            ("x", "uri", None),
            ("</ 3>", "uri", None),
        ] {
            let got = stand_in(value, &[name]);
            assert_eq!(got, want, "{value}");
        }
        for (value, name, want) in [
            ("/tmp/x<\\/parameter>", "parameter", Some(6)),
            ("/tmp/x/path>", "path", Some(6)),
            ("a <</parameter", "parameter", Some(3)),
            ("a */</parameter", "parameter", Some(4)),
            ("a /<//parameter>", "parameter", Some(3)),
            ("/tmp/x</path", "path", Some(6)),
            ("/tmp/x/path", "path", None),
        ] {
            assert_eq!(torn_tag(value, name, "path"), want, "{value}");
        }
    }
}

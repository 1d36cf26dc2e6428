//! Detects remains of a form's own tags in a key or value: a misspelt tag that did not end the value, or a repeated one before
//! it.

use crate::{adapter::syntax::typing::Types, fix::fold};

/// How far from the ends of a value remains are searched, in bytes. The middle of a long value is content.
const REACH: usize = 512;
/// Maximum length of a tag that is too short to recognise once a character is missing, in bytes.
const SHORT_TAG: usize = 6;

/// Whether a value contains a misspelt or unpaired tag of this form. `name` is the text between `</` and `>`. A tag of a key that
/// is not a parameter (`is_key`) is content, and so are closing tags if the value is `closed` by its own.
pub(super) fn is_residue(value: &str, name: &str, closed: bool, is_key: &dyn Fn(&str) -> bool) -> bool {
    let core = name.rsplit(|c: char| !(c.is_alphanumeric() || c == '_')).next().unwrap_or_default();
    if core.is_empty() || memchr::memchr(b'<', value.as_bytes()).is_none() && !value.contains(core) {
        return false;
    }
    let (open, close) = (format!("<{name}"), format!("</{name}>"));
    let halves = [value.contains(&open), value.contains(&close)];
    // A closing tag before an opening one.
    if !closed && value.find(&close).is_some_and(|closed| value.find(&open).is_some_and(|opened| closed < opened)) {
        return true;
    }
    if halves == [true, true] && value.len() > 2 * REACH {
        return false;
    }
    let (first, last) = (value.floor_char_boundary(REACH), value.ceil_char_boundary(value.len().saturating_sub(REACH)));
    // The same word in another family's tags is content.
    let prefix = name[..name.len() - core.len()].chars().next_back();
    let near = |at: usize| (at < first || at >= last) && prefix.is_none_or(|prefix| value[..at].ends_with(prefix));
    let misspelt = |at: usize| {
        let word = value[at + 1..].trim_start_matches('/');
        let word = &word[..word.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(word.len())];
        word != core && core.contains('_') && fold(word) == fold(core)
    };
    if value.match_indices('<').any(|(at, _)| (at < first || at >= last) && misspelt(at)) {
        return true;
    }
    let ends = |at: usize, tag: &str| value[..at + core.len()].ends_with(tag);
    value.match_indices(core).filter(|&(at, _)| near(at)).any(|(at, _)| {
        let (before, after) = (value[..at].trim_end_matches([' ', '\t']), &value[at + core.len()..]);
        let opens = ends(at, &open) && after.starts_with(['=', ' ']);
        let closes = ends(at, &close[..close.len() - 1]) && after.starts_with('>');
        if opens || closes {
            let key =
                after.split(|c: char| !(c.is_alphanumeric() || "_-.".contains(c))).find(|word| !matches!(*word, "" | "name"));
            return halves == [opens, closes] && if closes { !closed } else { key.is_some_and(is_key) };
        }
        let sign = |c: char| "<>[]/".contains(c);
        if core.contains('_') && (before.ends_with(sign) || after.starts_with(sign)) {
            return halves != [true, true];
        }
        let sign = |c: char| !(c.is_alphanumeric() || c.is_whitespace() || "_-./".contains(c));
        let misspelt_end = before.ends_with(['/', '\u{ff5c}']) && after.trim_start().starts_with(sign);
        let line = after.lines().next().unwrap_or_default();
        let misspelt_begin = before.trim_end_matches(['<', '[', '\u{ff5c}']).ends_with('\n')
            && after.starts_with(['=', ' '])
            && line.contains('=')
            && line.contains(['>', ']']);
        // Anywhere else it is a word of the content.
        misspelt_end || misspelt_begin
    })
}

/// Removes the remains of a tag from a key: `tags,`, `=tags`, `tags/arg_key>`, `name"="tags`.
pub(super) fn known_key(key: String, types: &Types) -> String {
    let signs = |c: char| !(c.is_alphanumeric() || "_-.$".contains(c));
    let first = key.split(signs).find(|word| !matches!(*word, "" | "name"));
    let known =
        first.filter(|word| !types.has(&key) && (key.contains('=') || !key.contains(' ')) && types.has(word)).map(str::to_owned);
    known.unwrap_or(key)
}

/// The start of a misspelt closing tag at the end of a value: `<parameter>`, `</parameter`, `</parameter>>`, `<//parameter>`,
/// `</parameter=key>`.
pub(super) fn torn_tag(value: &str, name: &str, key: &str) -> Option<usize> {
    const BRACKETS: usize = 3;
    let at = value.rfind(name).filter(|_| !name.is_empty())?;
    let (before, after) = (&value[..at], value[at + name.len()..].trim_end());
    let after = after.strip_prefix('=').and_then(|after| after.strip_prefix(key)).unwrap_or(after);
    let begin = before.trim_end_matches(['<', '/', '[']).len();
    let opened = (1..=BRACKETS).contains(&(at - begin));
    (opened && after.len() < BRACKETS && after.chars().all(|c| matches!(c, '>' | '/'))).then_some(begin)
}

/// The start of a closing tag at the end of a value that lacks one of its characters: `</parametr>`.
pub(super) fn shortened_tag(value: &str, closers: &[String]) -> Option<usize> {
    let value = value.trim_end();
    closers.iter().filter(|closer| closer.len() > SHORT_TAG).find_map(|closer| {
        let lost = closer.char_indices().skip(1).filter_map(|(at, c)| {
            let torn = [&closer[..at], &closer[at + c.len_utf8()..]].concat();
            value.strip_suffix(torn.as_str()).map(str::len)
        });
        lost.max()
    })
}

/// Whether a value ends with the closing tag of an element that does not begin in it: `Oslo</invoke>`.
pub(super) fn ends_with_lone_tag(value: &str) -> bool {
    let Some((before, name)) = value.trim_end().strip_suffix('>').and_then(|value| value.rsplit_once("</")) else { return false };
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "_-:".contains(c));
    is_name && !before.contains(&format!("<{name}"))
}

/// Whether a value begins with an attribute of its opening tag.
pub(super) fn begins_as_attribute(value: &str) -> bool {
    let inside = value.trim_start_matches([' ', '\t']);
    let word = inside.find(|c: char| !(c.is_alphanumeric() || "_-".contains(c))).unwrap_or(inside.len());
    inside.len() < value.len() && word > 0 && inside[word..].starts_with("=\"")
}

#[cfg(test)]
mod tests {
    use super::is_residue;

    fn is_key(key: &str) -> bool {
        ["a", "b"].contains(&key)
    }

    #[test]
    fn misspelt_and_single_tags_are_remains() {
        for value in [
            "a</parameter]",
            "a\n</parameter>\nparameter name=\"b\">c",
            "<parameter=a>b",
            "<parameter name=\"a\">b",
            "a</parameter>\n:",
            "a [/parameter>",
            "a</parameter\">",
            "a\n</ parameter:>",
            "a\nparameter=b>\nc",
        ] {
            assert!(is_residue(value, "parameter", false, &is_key), "{value}");
        }
        assert!(is_residue("a</\u{ff5c}DSML(\u{ff5c}parameter>", "\u{ff5c}DSML\u{ff5c}parameter", false, &is_key));
        assert!(is_residue("a</arg_value]", "arg_value", false, &is_key));
    }

    #[test]
    fn words_and_whole_tags_are_content() {
        for value in [
            "the parameter is a list",
            "<parameter=a>b</parameter>",
            "<parameter name=\"a\">b</parameter>",
            "let parameter = 1; parameter > 2",
            "parameters: [a]",
            "a/parameter/b.rs",
            "<parameters>x</parameters>",
            "-parameter=x",
            "use <parameter>",
            "a\n<parameter=color>\nb",
            "parameter>",
            "a\nparameter = b",
        ] {
            assert!(!is_residue(value, "parameter", false, &is_key), "{value}");
        }
        assert!(!is_residue("a", "", false, &is_key));
        assert!(!is_residue("a</parameter> b", "\u{ff5c}DSML\u{ff5c}parameter", false, &is_key));
    }
}

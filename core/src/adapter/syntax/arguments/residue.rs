//! Detects remains of a form's own tags in a key or value: a misspelt tag that did not end the value, or a repeated one before
//! it.

use crate::{
    adapter::syntax::{WORD_BYTES, typing::Types},
    fix::{Role, fold},
};

/// The bars of special tokens.
const BARS: [char; 3] = ['\u{ff5c}', '\u{2016}', '\u{2581}'];

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
        let in_bars = prefix.is_some() && before.ends_with('\u{ff5c}');
        let misspelt_end = (before.ends_with('/') || in_bars) && after.trim_start().starts_with(sign);
        let line = after.lines().next().unwrap_or_default();
        let misspelt_begin = before.trim_end_matches(['<', '[', '\u{ff5c}']).ends_with('\n')
            && after.starts_with(['=', ' '])
            && line.contains('=')
            && line.contains(['>', ']']);
        // Anywhere else it is a word of the content.
        misspelt_end || misspelt_begin
    })
}

/// A value without its first and last words, which may be remains of its tags.
pub(super) fn without_ends(value: &str) -> &str {
    let after = |text: &'_ str| text.find(char::is_whitespace).unwrap_or(text.len());
    let rest = value.trim();
    let rest = &rest[after(rest)..];
    &rest[..rest.rfind(char::is_whitespace).unwrap_or(0)]
}

/// Words in a tag that announce a key.
const LABELS: [&str; 6] = ["name", "key", "parameter", "param", "argument", "arg"];

/// Whether a word in a tag announces a key: `<parameter=name=city>`.
pub(in crate::adapter::syntax) fn is_label(word: &str) -> bool {
    LABELS.contains(&word)
}

/// The words of a key.
fn words(key: &str) -> impl Iterator<Item = &str> {
    key.split(|c: char| !(c.is_alphanumeric() || "_-.$".contains(c))).filter(|word| !word.is_empty())
}

/// Removes the remains of a tag from a key: `tags,`, `=tags`, `tags/arg_key>`, `name"="tags`, `parameter=tags`.
pub(super) fn known_key(key: &str, types: &Types) -> String {
    let first = words(key).find(|word| !is_label(word)).or_else(|| words(key).next());
    let known = first.filter(|word| !types.has(key) && (key.contains('=') || !key.contains(' ')) && types.has(word));
    known.unwrap_or(key).to_owned()
}

/// Whether a key that was written as `written` leaves out words that may be a value: `command:ls`.
pub(super) fn loses_text(written: &str, key: &str) -> bool {
    words(written).any(|word| word != key && !is_label(word))
}

/// The start of a misspelt closing tag at the end of a value: `<parameter>`, `</parameter`, `</parameter>>`, `<//parameter>`,
/// `</parameter=key>`.
pub(in crate::adapter::syntax) fn torn_tag(value: &str, name: &str, key: &str) -> Option<usize> {
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

/// A tag at the end of a value in the place of its closing tag.
pub(in crate::adapter::syntax) struct StandIn {
    pub(in crate::adapter::syntax) at: usize,
    /// It has the name of the right tag, and only its signs differ: `<\/uri>`, `</URI>`.
    pub(in crate::adapter::syntax) own: bool,
}

/// The tag that a value without its closing tag ends with: one of another name (`Oslo</invoke>`), one with wrong signs
/// (`a.rs<\/uri>`), or an opening tag of one of `names` (`a.rs<uri>`). `None`: the value holds what opens it, so it is content.
pub(in crate::adapter::syntax) fn stand_in(value: &str, names: &[&str]) -> Option<StandIn> {
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
    let is_own = |other: &&&str| !other.is_empty() && plain(other) == plain(name);
    let own = names.iter().find(is_own).is_some();
    let opened = || value[..at].match_indices(&format!("<{name}")).any(|(at, tag)| ends_name(&value[at + tag.len()..]));
    (is_name && (closes || names.contains(&name)) && !opened()).then_some(StandIn { at, own: own && closes })
}

/// Whether the name of a tag ends before `text`.
fn ends_name(text: &str) -> bool {
    !text.starts_with(|c: char| c.is_alphanumeric() || "_-:.".contains(c))
}

/// A name in lower case, in the singular, and without the signs that models vary.
fn plain(name: &str) -> String {
    let plain: String = name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect();
    plain.strip_suffix('s').map(str::to_owned).unwrap_or(plain)
}

/// Whether a value ends with the closing tag of an element that does not begin in it: `Oslo</invoke>`.
pub(super) fn ends_with_lone_tag(value: &str) -> bool {
    stand_in(value, &[]).is_some()
}

/// Whether a path or a command ends with a closing tag of its parameter's name, before that of the form. No path and no command
/// ends so.
pub(super) fn closes_by_name(value: &str, key: &str) -> bool {
    let role = Role::of(key, false);
    let before = value.trim_end().strip_suffix(&format!("</{key}>"));
    (role.path || role.command) && before.is_some_and(|before| !before.contains(&format!("<{key}")))
}

/// Whether a value begins with an attribute of its opening tag.
pub(super) fn begins_as_attribute(value: &str) -> bool {
    let inside = value.trim_start_matches([' ', '\t']);
    let word = inside.find(|c: char| !(c.is_alphanumeric() || "_-".contains(c))).unwrap_or(inside.len());
    inside.len() < value.len() && word > 0 && inside[word..].starts_with("=\"")
}

#[cfg(test)]
mod tests {
    use super::{is_residue, stand_in, torn_tag};

    #[test]
    fn a_tag_in_the_place_of_the_closing_one_is_found() {
        let bars = "\u{ff5c}DSML\u{ff5c}parameter";
        for (value, name, want) in [
            ("/w/x.txt</path>", "uri", Some((8, false))),
            ("/w/x.txt</url>\n", "uri", Some((8, false))),
            ("/w/x.txt<\\/uri>", "uri", Some((8, true))),
            ("/w/x.txt</URI>", "uri", Some((8, true))),
            ("/w/x.txt</ uri >", "uri", Some((8, true))),
            ("/w/x.txt<uri>", "uri", Some((8, false))),
            ("/w/x.txt<\\uri>", "uri", Some((8, true))),
            ("/w/x.txt</uri`>", "uri", Some((8, true))),
            ("/w/x.txt</\u{ff5c}DSML|parameter>", bars, Some((8, true))),
            ("/w/x.txt</\u{ff5c}DSML\u{ff5c}param>", bars, Some((8, false))),
            // Content: it begins in the value, or is not a closing tag.
            ("<b>x</b>", "uri", None),
            ("<a href=\"x\">x</a>", "uri", None),
            ("x <path>", "uri", None),
            ("a < b && c >", "uri", None),
            ("x", "uri", None),
            ("</ 3>", "uri", None),
        ] {
            let got = stand_in(value, &[name]).map(|tag| (tag.at, tag.own));
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

//! Remains of a form's own tags in a value: a misspelt tag ended no value, or a second one begins it.

/// How far from the ends of a value remains are looked for, in bytes. What is in the middle of a long value is content.
const REACH: usize = 512;

/// Whether a value holds a tag of this name that is misspelt, or that has no other half. `name` is what is between `</` and `>`;
/// `is_key` knows the names of parameters: the tag of another one is content.
pub(super) fn is_residue(value: &str, name: &str, is_key: &dyn Fn(&str) -> bool) -> bool {
    let core = name.rsplit(|c: char| !(c.is_alphanumeric() || c == '_')).next().unwrap_or_default();
    if core.is_empty() || memchr::memmem::find(value.as_bytes(), core.as_bytes()).is_none() {
        return false;
    }
    let (open, close) = (format!("<{name}"), format!("</{name}>"));
    let halves = [value.contains(&open), value.contains(&close)];
    if halves == [true, true] && value.len() > 2 * REACH {
        return false;
    }
    let (first, last) = (value.floor_char_boundary(REACH), value.ceil_char_boundary(value.len().saturating_sub(REACH)));
    let near = |at: usize| at < first || at >= last;
    let ends = |at: usize, tag: &str| value[..at + core.len()].ends_with(tag);
    value.match_indices(core).filter(|&(at, _)| near(at)).any(|(at, _)| {
        let (before, after) = (value[..at].trim_end_matches([' ', '\t']), &value[at + core.len()..]);
        let opens = ends(at, &open) && after.starts_with(['=', ' ']);
        let closes = ends(at, &close[..close.len() - 1]) && after.starts_with('>');
        if opens || closes {
            let key =
                after.split(|c: char| !(c.is_alphanumeric() || "_-.".contains(c))).find(|word| !matches!(*word, "" | "name"));
            return halves == [opens, closes] && (closes || key.is_some_and(is_key));
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
        // Elsewhere it is a word of the content.
        misspelt_end || misspelt_begin
    })
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
            assert!(is_residue(value, "parameter", &is_key), "{value}");
        }
        assert!(is_residue("a</\u{ff5c}DSML(\u{ff5c}parameter>", "\u{ff5c}DSML\u{ff5c}parameter", &is_key));
        assert!(is_residue("a</arg_value]", "arg_value", &is_key));
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
            assert!(!is_residue(value, "parameter", &is_key), "{value}");
        }
        assert!(!is_residue("a", "", &is_key));
    }
}

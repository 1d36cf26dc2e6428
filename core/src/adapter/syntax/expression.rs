//! Detects code in the place of a value: something that a program would have to compute. It has no JSON form, so the text is
//! refused. Applies to JSON and its variants, and to strings in Python calls.

/// Operators. A colon is one only after a question mark.
const SIGNS: [&str; 10] = ["+", "||", "??", "&&", "==", "!=", "*", "%", "?", ":"];
/// Operators that are words. They need spaces around them.
const WORDS: [&str; 8] = ["if", "else", "or", "and", "in", "is", "not in", "is not"];

/// Whether an operand follows this text in code: it ends in an operator or an opening bracket (`x = `, `f(`).
pub(crate) fn awaits_operand(text: &str) -> bool {
    text.trim_end().ends_with(['=', '+', '(', '[', ',', '{'])
}

/// The end of an expression in `tail`, the text after its first operand (a string); `None` if there is no expression, or if
/// neither a comma nor a closing bracket follows it. Strings joined by `+` alone are one string, not an expression. With `pair`,
/// two adjacent strings count as an expression; in a list they lack a comma.
pub(crate) fn expression_end(tail: &str, pair: bool) -> Option<usize> {
    let (mut at, mut computes, mut asked) = (0, false, false);
    loop {
        if let Some(length) = method(&tail[at..]) {
            (at, computes) = (at + length, true);
            continue;
        }
        let next = at + blanks(&tail[at..]);
        if tail[next..].starts_with([',', '}', ']', ')']) {
            return computes.then_some(at);
        }
        let (length, sign) = match operator(&tail[at..]) {
            Some((_, ":")) if !asked => return None,
            Some(found) => found,
            None if pair && next > at && tail[next..].starts_with(['"', '\'']) => (next - at, ""),
            None => return None,
        };
        asked |= sign == "?";
        let operand = at + length + blanks(&tail[at + length..]);
        let string = string(&tail[operand..]);
        computes |= string.is_none() || sign != "+";
        at = operand + string.or_else(|| name(&tail[operand..]))?;
    }
}

/// The operator at the start of `text`: its length with the whitespace before it, and the operator itself.
fn operator(text: &str) -> Option<(usize, &'static str)> {
    let gap = blanks(text);
    let rest = &text[gap..];
    let longest =
        |found: Option<&'static str>, sign: &'static &str| found.filter(|other| other.len() > sign.len()).or(Some(sign));
    let sign = SIGNS.iter().filter(|sign| rest.starts_with(**sign)).fold(None, longest);
    let word = || {
        let spaced = |word: &&&str| gap > 0 && rest.strip_prefix(**word).is_some_and(|rest| rest.starts_with(' '));
        WORDS.iter().filter(spaced).fold(None, longest)
    };
    sign.or_else(word).map(|sign| (gap + sign.len(), sign))
}

/// The length of a method call at the start of `text`: `.trim()`.
fn method(text: &str) -> Option<usize> {
    let applied = name(text.strip_prefix('.')?)? + 1;
    let arguments = text[applied..].strip_prefix('(')?;
    let end = arguments.find([')', '(', '\n'])?;
    arguments[end..].starts_with(')').then_some(applied + end + 2)
}

/// The length of the one-line string at the start of `text`.
fn string(text: &str) -> Option<usize> {
    let quote = text.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            '\n' => return None,
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == quote => return Some(at + 1),
            _ => {}
        }
    }
    None
}

/// The length of the name or number at the start of `text`.
fn name(text: &str) -> Option<usize> {
    let length = text.find(|c: char| !c.is_ascii_alphanumeric() && !"_.".contains(c)).unwrap_or(text.len());
    (length > 0).then_some(length)
}

/// The length of the whitespace at the start of `text`.
fn blanks(text: &str) -> usize {
    text.len() - text.trim_start_matches([' ', '\t', '\r', '\n']).len()
}

#[cfg(test)]
mod tests {
    use super::expression_end;

    #[test]
    fn what_a_program_would_compute_is_an_expression() {
        for tail in [
            r#" if x else "rm -rf a"}"#,
            r#" || "rm"}"#,
            r#" ? "a" : "b", "c": 1}"#,
            r#".trim()}"#,
            r#".replace("a", "b").trim()}"#,
            r#" % d}"#,
            r#" * 2]"#,
            r#" + ext}"#,
            r#" == x}"#,
            r#" "la"}"#,
            " or 'b'}",
        ] {
            let end = expression_end(tail, true);
            assert!(end.is_some_and(|end| tail[end..].starts_with([',', '}', ']'])), "{tail}: {end:?}");
        }
    }

    #[test]
    fn strings_with_quotes_of_their_own_and_plain_words_are_none() {
        for tail in [
            "}", ", \"b\": 1}", r#" + "b"}"#, r#" or "b" of them"}"#, r#"or "she"}"#, r#" and so on"}"#, r#": "b"}"#,
            r#" "b": 1}"#, r#".js"}"#, " if", "",
        ] {
            assert_eq!(expression_end(tail, true), None, "{tail}");
        }
        assert_eq!(expression_end(r#" "b"]"#, false), None);
    }
}

//! What the form of the line before a call or value says about it. `head` is the text before the value on its line, or the line
//! above it, without leading whitespace and not much longer than [`HEAD_BYTES`].

/// How many bytes of a line decide what kind it is.
pub(super) const HEAD_BYTES: usize = 1024;

/// Appends `line` to `head`, as much of it as is needed.
pub(super) fn extend(head: &mut String, line: &str) {
    let room = HEAD_BYTES.saturating_sub(head.len());
    // Up to the first character that ends at or after the limit.
    head.push_str(&line[..line.ceil_char_boundary(room)]);
}

/// Whether the line is in a Markdown block quote.
pub(super) fn is_block_quote(head: &str) -> bool {
    head.starts_with('>') && !head.starts_with(">>")
}

/// Whether the line is a comment in code.
pub(super) fn is_comment(head: &str) -> bool {
    match head.strip_prefix('#') {
        Some(rest) => rest.chars().next().is_none_or(|c| c != '#' && !c.is_alphanumeric()),
        None => ["//", "-- ", "REM "].iter().any(|sign| head.starts_with(sign)),
    }
}

/// Whether the line is from a log or a shell: it begins with a time, a level or a prompt.
pub(super) fn is_log(head: &str) -> bool {
    let mut words = head.split_whitespace();
    let word = words.next().unwrap_or_default();
    let is_prompt = matches!(word, "$" | "%" | ">>>") || (word == "PS" && head.contains('>'));
    // `Jan 02 10:00:00`.
    let mut is_syslog = || word.len() == 3 && words.nth(1).is_some_and(|word| word.contains(':') && is_time(word));
    is_prompt || is_time(word) || is_level(word) || is_syslog()
}

/// Whether the line before a value is a statement (`return`), an event of a stream (`data:`), a diff line (`+{..}`), program
/// output (`Out[1]:`, `a.json:3:`, a line number before a tab), a footnote, an item to tick off, the row of a table, or a prompt that ends with its sign
/// (`ana@host:~/src$`, `C:\>`).
pub(super) fn is_statement(head: &str) -> bool {
    if matches!(head, "+" | "-") || head.strip_suffix('\t').is_some_and(is_number) {
        return true;
    }
    let head = head.trim_end();
    let is_match = |head: &str| match head.strip_suffix(':').and_then(|head| head.rsplit_once(':')) {
        Some((file, line)) => is_number(line) && !file.contains(' '),
        None => false,
    };
    let is_host = |head: &str| head.contains('@') && head.ends_with(['$', '#', '%']) && !head.contains(' ');
    let is_drive = |head: &str| head.get(1..3) == Some(":\\") && head.ends_with('>');
    matches!(head, "return" | "yield" | "throw" | "raise" | "await" | "export default" | "data:" | "$>")
        || is_host(head)
        || is_drive(head)
        || head.ends_with("[x]")
        || head.ends_with("[ ]")
        || head.starts_with("| ")
        || is_match(head)
        || (["[^", "Out[", "In ["].iter().any(|sign| head.starts_with(sign)) && head.ends_with("]:"))
}

/// Whether a line of code ends in the quotes of a string of several lines, or in YAML's sign for one.
fn opens_string(head: &str) -> bool {
    let line = head.trim_end();
    let code = ["\"\"\"", "'''", "`"].iter().find_map(|quotes| line.strip_suffix(quotes));
    let is_code =
        |code: &str| code.trim_end_matches(['r', 'f', 'b', ' ']).ends_with(['=', '(', '+', ',']) || code.ends_with("return ");
    let is_key = |sign: &&str| line.strip_suffix(*sign).is_some_and(|key| !key.contains(' '));
    code.is_some_and(is_code) || [": |", ": >", ": |-", ": >-"].iter().any(is_key)
}

/// Whether a line begins text that is data up to its own end: a here-document of a shell, a LaTeX listing, a string in code.
pub(super) fn opens_data(head: &str) -> bool {
    let here = head.rsplit_once("<<").map(|(_, word)| word.trim_start_matches('-').trim_matches(['\'', '"', ' ']));
    // One letter is an operand: `a << B`.
    here.is_some_and(|word| word.len() > 1 && word.chars().all(|c| c.is_ascii_uppercase() || c == '_'))
        || opens_string(head)
        || ["verbatim", "lstlisting", "minted", "alltt"].iter().any(|name| head.starts_with(&format!("\\begin{{{name}}}")))
}

/// Whether a line begins a turn of the user that the model made up: `User: And now?`, `### Human:`.
pub(super) fn is_users_turn(head: &str) -> bool {
    let label = head.trim_start_matches(['#', '*', ' ']);
    ["User", "USER", "Human", "HUMAN"].iter().any(|name| {
        label.strip_prefix(name).is_some_and(|rest| rest.starts_with([':', '*']))
            || (head.starts_with("###") && label.trim_end() == *name)
    })
}

/// Whether a line is an HTTP or mail header.
pub(super) fn is_header(line: &str) -> bool {
    let Some((name, value)) = line.split_once(':') else { return false };
    HEADERS.contains(&name) || (matches!(name, "from" | "to" | "cc") && value.contains('@'))
}

/// Header names in lower case.
const HEADERS: [&str; 10] = [
    "content-type", "content-length", "host", "accept", "authorization", "user-agent", "connection", "cache-control", "subject",
    "mcp-session-id",
];

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// `2026-11-22`, `10:00:01.5`, `[10:00]`, `2026-11-22T10:00:01Z`.
fn is_time(word: &str) -> bool {
    let word = word.trim_matches(['[', ']', '(', ')']);
    let (digits, signs) = (|c: char| c.is_ascii_digit(), |c: char| matches!(c, ':' | '-' | '/'));
    word.starts_with(digits)
        && word.contains(signs)
        && word.chars().all(|c| digits(c) || signs(c) || matches!(c, '.' | ',' | '+' | 'T' | 'Z'))
        && !word.ends_with(signs)
}

/// `INFO`, `[warn]`, `ERROR:`.
fn is_level(word: &str) -> bool {
    let level = word.trim_matches(['[', ']', '<', '>', ':']);
    let bare = level.len() == word.len();
    let known = ["TRACE", "DEBUG", "INFO", "NOTICE", "WARN", "WARNING", "ERROR", "FATAL"];
    known.iter().any(|known| level == *known || (!bare && word.starts_with('[') && level.eq_ignore_ascii_case(known)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_code_of_logs_and_of_shells() {
        for head in ["$ ", "% ", ">>> ", "PS C:\\> ", "10:00:01 ", "[10:00] INFO ", "2026-11-22 10:00 ", "[warn] ", "ERROR: "] {
            assert!(is_log(head), "{head}");
        }
        for head in ["return ", "data: ", "yield", "export default ", "ana@host:~/src$ ", "C:\\Users> "] {
            assert!(is_statement(head), "{head}");
        }
        for head in ["// ", "# ", "#! "] {
            assert!(is_comment(head), "{head}");
        }
    }

    #[test]
    fn lines_of_prose() {
        for head in [
            "I call ", "1. ", "12) ", "- ", "Tool call: ", "Let me return ", "## Call", "Info: ", "Warning: ", "5 files: ",
            "data ",
        ] {
            assert!(!is_log(head) && !is_statement(head) && !is_comment(head) && !is_block_quote(head), "{head}");
        }
    }
}

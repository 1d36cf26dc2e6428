//! The signs of a line before a call: marks of lists, emphasis, code, parentheses, and the ends of sentences.

/// The delimiters of inline code, parentheses and tags.
const DELIMITERS: [[char; 2]; 4] = [['`', '`'], ['(', ')'], ['（', '）'], ['<', '>']];
/// Maximum length of the letter of a list item: `viii`.
const LETTERS: usize = 4;

/// Whether a line is only the letter of a list item: `(a)`, `ii)`.
pub(super) fn is_letter_of_a_list(line: &str) -> bool {
    let letter = line.trim().strip_suffix(')').map(|line| line.trim_start_matches('('));
    letter.is_some_and(|letter| matches!(letter.len(), 1..=LETTERS) && letter.bytes().all(|byte| byte.is_ascii_alphabetic()))
}

/// Whether a line is only the number of a footnote, or an empty box of a list for the user: `[1]`, `- [ ]`.
pub(super) fn is_note(line: &str) -> bool {
    let inner = line.trim().trim_start_matches(['-', '*', ' ']).strip_prefix('[').and_then(|line| line.strip_suffix(']'));
    inner.is_some_and(|inner| inner.bytes().all(|byte| byte.is_ascii_digit() || byte == b' '))
}

/// Removes whitespace, marks of emphasis and pictures at the end of a line.
pub(super) fn without_emphasis(line: &str) -> &str {
    let is_picture = |c: char| matches!(c, '\u{2600}'..='\u{27bf}' | '\u{1f000}'..='\u{1faff}' | '\u{fe0f}' | '\u{200d}');
    line.trim_end_matches(|c: char| c.is_whitespace() || matches!(c, '*' | '"' | '_') || is_picture(c))
}

/// Removes inline code, parenthesised text and tags.
pub(super) fn without_asides(line: &str) -> String {
    let mut closes = None;
    let is_outside = |(at, c): &(usize, char)| match closes {
        Some(close) => {
            closes = (close != *c).then_some(close);
            false
        }
        None => {
            let open = DELIMITERS.into_iter().find(|[open, _]| open == c).map(|[_, close]| close);
            closes = open.filter(|close| line[at + c.len_utf8()..].contains(*close));
            closes.is_none()
        }
    };
    line.char_indices().filter(is_outside).map(|(_, c)| c).collect()
}

/// The text after the last full stop that contains a letter. A full stop within a word does not count.
pub(super) fn last_sentence(line: &str) -> &str {
    let ends = |(at, c): &(usize, char)| match c {
        '.' | '!' | '?' | ';' => line[at + 1..].starts_with(char::is_whitespace),
        _ => matches!(c, '。' | '！' | '？' | '؟' | '।'),
    };
    let after = line.char_indices().rev().filter(ends).map(|(at, c)| &line[at + c.len_utf8()..]);
    after.into_iter().find(|sentence| sentence.chars().any(char::is_alphabetic)).unwrap_or(line)
}

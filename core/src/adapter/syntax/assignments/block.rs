//! Reads YAML's block scalars as values of assignments: `key: |` or `key: >`, and the text below, indented further than the key.

/// What may be between a sign of a block and its line break.
const BLANK: [char; 3] = [' ', '\t', '\r'];

/// The sign of a block: `|`, `>-`, `|2+`.
struct Sign {
    /// Line breaks between lines are spaces.
    folded: bool,
    /// What happens to the line breaks at the end: `-` drops them, `+` keeps them. Otherwise one is kept.
    chomping: Option<char>,
    /// By how much the text is indented further than the key, if that is given.
    indent: Option<usize>,
}

/// Whether the value that begins at `value` is a block, and its text and end. The key begins at `key`. `Some(None)`: it has the sign
/// of a block, but nobody knows what belongs to it.
pub(super) fn read(text: &str, key: usize, value: usize) -> Option<Option<(String, usize)>> {
    let line = text[value..].find('\n').map_or(text.len(), |length| value + length + 1);
    let sign = Sign::read(&text[value..line])?;
    let before = &text[text[..key].rfind('\n').map_or(0, |at| at + 1)..key];
    let is_yaml = text[key..value].trim_end().ends_with(':');
    let column = before.len();
    let found = before.chars().all(|c| c == ' ').then(|| sign.lines(&text[line..], column)).flatten();
    match found {
        // `separator=|` is a value, for this is no YAML.
        None if !is_yaml && text[line..].trim().is_empty() => None,
        found => Some(found.filter(|_| is_yaml).map(|(lines, length)| (sign.text(&lines), line + length))),
    }
}

impl Sign {
    /// Reads a sign that is the whole rest of its line, apart from a comment.
    fn read(line: &str) -> Option<Sign> {
        let line = line.split_once(" #").map_or(line, |(sign, _)| sign).trim_end_matches('\n').trim_end_matches(BLANK);
        let (folded, flags) = match line.strip_prefix('|') {
            Some(flags) => (false, flags),
            None => (true, line.strip_prefix('>')?),
        };
        let mut sign = Sign { folded, chomping: None, indent: None };
        for flag in flags.chars() {
            match flag {
                '-' | '+' if sign.chomping.is_none() => sign.chomping = Some(flag),
                '1'..='9' if sign.indent.is_none() => sign.indent = flag.to_digit(10).map(|digit| digit as usize),
                _ => return None,
            }
        }
        Some(sign)
    }

    /// The lines of the block without their indentation, and its length. `None`: it has no text, its indentation is not clear, or it
    /// does not end with its line, so that what follows may be a part of it.
    fn lines<'t>(&self, below: &'t str, column: usize) -> Option<(Vec<&'t str>, usize)> {
        let mut indent = self.indent.map(|further| column + further);
        let mut lines = Vec::new();
        let (mut length, mut widest_blank) = (0, 0);
        for line in below.split_inclusive('\n') {
            let content = line.trim_end_matches('\n').trim_end_matches('\r');
            let rest = content.trim_start_matches(' ');
            let spaces = content.len() - rest.len();
            if !rest.is_empty() && !rest.starts_with('\t') && spaces <= column {
                break;
            }
            if !line.ends_with('\n') {
                match rest.is_empty() && spaces <= column {
                    true => break,
                    false => return None,
                }
            }
            length += line.len();
            if rest.is_empty() {
                widest_blank = if indent.is_none() { spaces.max(widest_blank) } else { widest_blank };
                lines.push(content.get(indent.unwrap_or(spaces)..).unwrap_or_default());
                continue;
            }
            let is_first = indent.is_none();
            let needed = *indent.get_or_insert(spaces);
            if spaces < needed || needed <= column || widest_blank > needed || (is_first && rest.starts_with('\t')) {
                return None;
            }
            lines.push(&content[needed..]);
        }
        lines.iter().any(|line| !line.is_empty()).then_some((lines, length))
    }

    fn text(&self, lines: &[&str]) -> String {
        let written = lines.len() - lines.iter().rev().take_while(|line| line.is_empty()).count();
        let mut text = if self.folded { folded(&lines[..written]) } else { lines[..written].join("\n") };
        let breaks = match self.chomping {
            Some('-') => 0,
            Some(_) => 1 + lines.len() - written,
            None => 1,
        };
        text.extend(std::iter::repeat_n('\n', breaks));
        text
    }
}

/// Joins lines with spaces. A line break remains next to a line that is indented further, and for each empty line.
fn folded(lines: &[&str]) -> String {
    let mut text = String::new();
    let mut before: Option<bool> = None;
    let mut empty = 0;
    for line in lines {
        if line.is_empty() {
            empty += 1;
            continue;
        }
        let is_further = line.starts_with([' ', '\t']);
        match before {
            Some(false) if !is_further && empty == 0 => text.push(' '),
            Some(false) if !is_further => text.extend(std::iter::repeat_n('\n', empty)),
            Some(_) => text.extend(std::iter::repeat_n('\n', empty + 1)),
            None => text.extend(std::iter::repeat_n('\n', empty)),
        }
        text.push_str(line);
        (before, empty) = (Some(is_further), 0);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The value of `note`, which is the first key of the text, and what follows it.
    fn note(text: &str) -> Option<Option<(String, &str)>> {
        let key = text.find("note").unwrap();
        let value = key + "note: ".len();
        read(text, key, value).map(|found| found.map(|(value, end)| (value, &text[end..])))
    }

    #[test]
    fn a_block_has_the_text_that_yaml_gives_it() {
        for (text, value) in [
            ("note: |\n  cd a\n  make\n", "cd a\nmake\n"),
            ("note: |\r\n  cd a\r\n  make\r\n", "cd a\nmake\n"),
            ("note: |-\n  cd a\n  make\n", "cd a\nmake"),
            ("note: |+\n  a\n\n", "a\n\n"),
            ("note: |\n  a\n\n\n", "a\n"),
            ("note: |\n\n  a\n\n  b\n", "\na\n\nb\n"),
            ("note: | # of text\n  a\n", "a\n"),
            ("note: |\n  if a:\n    b()\n  \tc\n", "if a:\n  b()\n\tc\n"),
            ("note: |\n  a\n    \n  b\n", "a\n  \nb\n"),
            ("note: |\n  mode: 1\n  - a | b\n", "mode: 1\n- a | b\n"),
            ("note: |2\n    a\n  b\n", "  a\nb\n"),
            ("note: |-2\n   a\n", " a"),
            ("  note: |1\n    a\n   b\n", " a\nb\n"),
            ("note: >\n  one\n  two\n", "one two\n"),
            ("note: >-\n  one\n  two\n", "one two"),
            ("note: >\n  one\n  two\n\n  three\n\n\n  four\n", "one two\nthree\n\nfour\n"),
            ("note: >\n  one\n    - a\n    - b\n  two\n  three\n", "one\n  - a\n  - b\ntwo three\n"),
            ("note: >\n  one\n\n    a\n\n  two\n", "one\n\n  a\n\ntwo\n"),
            ("note: >\n\n  one\n", "\none\n"),
        ] {
            assert_eq!(note(text), Some(Some((value.to_owned(), ""))), "{text:?}");
        }
        let followed = "args:\n  note: |\n    a\n  mode: 1\n";
        assert_eq!(note(followed), Some(Some(("a\n".to_owned(), "  mode: 1\n"))));
        assert_eq!(note("  note: |\n    a\n  "), Some(Some(("a\n".to_owned(), "  "))));
    }

    #[test]
    fn a_block_that_is_not_clear_has_no_text() {
        for text in [
            "note: |",
            "note: >\n",
            "note: |\nmode: 1\n",
            "note: |\na\n",
            "  note: |\n  a\n",
            "note: |\n\ta\n",
            "note: |\n  a\n\tmode: 1\n",
            "note: |\n    a\n  b\n",
            "note: |\n      \n  a\n",
            "note: |4\n  a\n",
            "note: |\n  a",
            "note: |\n  a\n  ",
            "mode: 1, note: |\n  a\n",
            "note= |\n  a\n",
        ] {
            assert_eq!(note(text), Some(None), "{text:?}");
        }
    }

    #[test]
    fn a_value_that_only_begins_like_a_block_is_none() {
        for text in [
            "note: | a\n  b\n", "note: |a|\n", "note: > quoted\n", "note: ||\n", "note: |--\n", "note: 1\n", "note= |",
            "note= >\n",
        ] {
            assert_eq!(note(text), None, "{text:?}");
        }
    }
}

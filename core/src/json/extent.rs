//! Finds where a JSON-like value ends. Brackets inside strings do not count. Single quotes, Python literals and comments are
//! accepted, as the repair accepts them later. Broken quotes can hide the end; the caller notices that by what follows the value.

/// The end of the bracketed value that `text` begins with: an object, an array or a list in parentheses.
pub fn end(text: &str) -> Option<usize> {
    end_or(text, |_| false)
}

/// Like [`end`], or the first offset outside strings at which `stop` holds.
pub fn end_or(text: &str, mut stop: impl FnMut(usize) -> bool) -> Option<usize> {
    // Nothing but the outermost bracket's own closer ends the value: after a broken quote, a bracket may be part of a string.
    let (mut depth, mut closer, mut at) = (0_u32, 0, 0);
    // The last byte outside strings that is not whitespace. Decides whether `'` opens a string or is an apostrophe.
    let mut last = 0;
    while let Some(&byte) = text.as_bytes().get(at) {
        if stop(at) {
            return Some(at);
        }
        at += 1;
        match byte {
            b'"' => at = closing_quote(text, at, byte)?,
            b'\'' if matches!(last, b'{' | b'[' | b'(' | b',' | b':' | b'=') => at = closing_quote(text, at, byte)?,
            b'{' | b'[' | b'(' => {
                if depth == 0 {
                    closer = match byte {
                        b'{' => b'}',
                        b'[' => b']',
                        _ => b')',
                    };
                }
                depth += 1;
            }
            b'}' | b']' | b')' if depth > 1 || byte == closer => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
        if !byte.is_ascii_whitespace() {
            last = byte;
        }
    }
    None
}

/// The offset after the quote that closes a string whose content begins at `from`.
pub fn closing_quote(text: &str, mut from: usize, quote: u8) -> Option<usize> {
    let bytes = text.as_bytes();
    loop {
        from += memchr::memchr2(quote, b'\\', bytes.get(from..)?)?;
        if bytes[from] == quote {
            return Some(from + 1);
        }
        from += 2;
    }
}

/// A scan for the end of a value whose quotes are broken, so that its strings are unknown. Brackets count everywhere: the value
/// ends where all are closed, unless its last quote opens a string.
#[derive(Debug, Clone, Default)]
pub struct PlainExtent {
    braces: i64,
    brackets: i64,
    /// The last byte that is not whitespace, and the one before the last unescaped quote.
    last: u8,
    before_quote: u8,
    closed: bool,
}

impl PlainExtent {
    /// Feeds the next byte.
    pub fn feed(&mut self, byte: u8) {
        match byte {
            b'{' => self.braces += 1,
            b'[' => self.brackets += 1,
            b'}' => self.braces -= 1,
            b']' => self.brackets -= 1,
            b'"' if self.last != b'\\' => self.before_quote = self.last,
            _ => {}
        }
        if byte.is_ascii_whitespace() {
            return;
        }
        let opened = matches!(self.before_quote, b':' | b',' | b'[' | b'{' | b'(');
        self.closed = matches!(byte, b'}' | b']') && self.braces == 0 && self.brackets == 0 && !opened;
        self.last = byte;
    }

    /// Whether the value ends with the last byte fed.
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// Whether all of `text` is such a value.
    pub fn closes(text: &str) -> bool {
        let mut extent = PlainExtent::default();
        text.bytes().for_each(|byte| extent.feed(byte));
        extent.is_closed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_its_own_bracket_closes_a_value() {
        for (text, end) in [
            (r#"{"a": [1, 2}} x"#, Some(13)),
            (r#"{"a": "f(\"b")"#, None),
            (r#"["a"}, 1] x"#, Some(9)),
            (r#"(1, {"a": ")"}) x"#, Some(15)),
        ] {
            assert_eq!(super::end(text), end, "{text}");
        }
    }

    #[test]
    fn brackets_close_a_value_with_broken_quotes() {
        for (text, closed) in [
            (r#"{"q": "5" disk", "n": [3]}"#, true),
            (r#"{"q": "f(\"a")\n"}"#, true),
            (r#"{"q": "{"a": 1}"}"#, true),
            // Cut in the text, after brackets of its own.
            (r#"{"q": "{"a": {"b": "c"}}"#, false),
            (r#"{"q": "}"#, false),
            (r#"{"q": "say("}"#, false),
            (r#"{"q": "a" b"#, false),
        ] {
            assert_eq!(PlainExtent::closes(text), closed, "{text}");
        }
    }
}

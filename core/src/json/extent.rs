//! Finds where a JSON-like value ends in a stream, byte by byte, without looking back. Brackets inside strings do not count.
//! Single quotes, Python literals and comments are accepted, as the repair accepts them later. Broken quotes can hide the end;
//! the caller notices that by what follows the value.

/// Where [`Extent::feed_until`] stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Halt {
    /// The value ended before this byte.
    Complete(usize),
    /// This byte, outside strings, satisfied the caller's condition.
    Before(usize),
}

/// A resumable scan for the end of one bracketed value: an object, an array or a list in parentheses.
#[derive(Debug, Clone, Default)]
pub struct Extent {
    depth: u32,
    /// The byte that closes the outermost bracket. Nothing else ends the value: after a broken quote, a bracket may be part of a
    /// string.
    closer: u8,
    quote: Option<u8>,
    escape: bool,
    /// The last byte outside strings that is not whitespace. Decides whether `'` opens a string or is an apostrophe.
    last: u8,
}

impl Extent {
    /// Feeds the next bytes. `Some(n)` once the value has ended after the first `n` of them; nothing may be fed after that.
    pub fn feed(&mut self, bytes: &[u8]) -> Option<usize> {
        match self.feed_until(bytes, |_| false)? {
            Halt::Complete(at) | Halt::Before(at) => Some(at),
        }
    }

    /// Like [`Extent::feed`], but also stops before the first byte outside strings for which `stop` holds. That byte is not
    /// consumed.
    pub fn feed_until(&mut self, bytes: &[u8], stop: impl Fn(u8) -> bool) -> Option<Halt> {
        let mut at = 0;
        while at < bytes.len() {
            if let Some(quote) = self.quote {
                if self.escape {
                    self.escape = false;
                    at += 1;
                    continue;
                }
                let found = memchr::memchr2(quote, b'\\', &bytes[at..])?;
                at += found + 1;
                if bytes[at - 1] == b'\\' {
                    self.escape = true;
                } else {
                    self.quote = None;
                    self.last = quote;
                }
                continue;
            }
            let byte = bytes[at];
            if stop(byte) {
                return Some(Halt::Before(at));
            }
            at += 1;
            match byte {
                b'"' => self.quote = Some(b'"'),
                b'\'' if matches!(self.last, b'{' | b'[' | b'(' | b',' | b':' | b'=') => self.quote = Some(b'\''),
                b'{' | b'[' | b'(' => {
                    if self.depth == 0 {
                        self.closer = closer(byte);
                    }
                    self.depth += 1;
                }
                b'}' | b']' | b')' if self.depth > 1 || byte == self.closer => {
                    self.depth = self.depth.saturating_sub(1);
                    if self.depth == 0 {
                        return Some(Halt::Complete(at));
                    }
                }
                _ => {}
            }
            if !byte.is_ascii_whitespace() {
                self.last = byte;
            }
        }
        None
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

/// The closing bracket for `open`.
fn closer(open: u8) -> u8 {
    match open {
        b'{' => b'}',
        b'[' => b']',
        _ => b')',
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
            assert_eq!(Extent::default().feed(text.as_bytes()), end, "{text}");
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

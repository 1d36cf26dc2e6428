//! Follows the strings of a value that is not a call, because a call quoted in them is not the model's. Such a value may be JSON
//! data, a call of a tool that is not offered, or a truncated write.

/// Maximum distance from the start of the value to its first bracket, in bytes.
const BRACKET_BYTES: usize = 128;

/// Follows one value at a time.
#[derive(Debug, Default)]
pub(super) struct Strings(Option<Value>);

/// The state of reading one value.
#[derive(Debug)]
struct Value {
    /// Position in the answer up to which it was read.
    at: usize,
    /// Position before which its first bracket must come.
    patience: usize,
    depth: usize,
    /// The quote of the open string.
    quote: Option<u8>,
    escaped: bool,
    /// The last non-whitespace byte.
    before: u8,
    /// Whether strings may contain line breaks: the value names an offered tool, so it is not prose.
    breaks: bool,
}

impl Strings {
    /// Follows the value that begins at `at`, unless it is inside the value already followed.
    pub(super) fn follow(&mut self, at: usize, breaks: bool) {
        match &mut self.0 {
            Some(value) if value.depth > 0 => value.breaks |= breaks,
            _ => {
                let patience = at + BRACKET_BYTES;
                self.0 = Some(Value { at, patience, depth: 0, quote: None, escaped: false, before: 0, breaks });
            }
        }
    }

    /// Whether the end of `text` is inside a string. `text` begins at the position `from` of the answer and contains everything
    /// not yet read.
    pub(super) fn is_open_after(&mut self, text: &str, from: usize) -> bool {
        let Some(value) = &mut self.0 else { return false };
        let unread = text.as_bytes().get(value.at.saturating_sub(from)..).unwrap_or_default();
        if !value.read(unread) {
            self.0 = None;
        }
        self.0.as_ref().is_some_and(|value| value.quote.is_some())
    }
}

impl Value {
    /// Reads on. Returns `false` if the value ended or never began.
    fn read(&mut self, text: &[u8]) -> bool {
        for &byte in text {
            self.at += 1;
            match self.quote {
                Some(_) if self.escaped => self.escaped = false,
                Some(_) if byte == b'\\' => self.escaped = true,
                Some(quote) if byte == quote => self.quote = None,
                Some(_) if byte == b'\n' && !self.breaks => return false,
                Some(_) => continue,
                None => match byte {
                    b'"' if self.depth > 0 => self.quote = Some(byte),
                    // Anywhere else it is an apostrophe.
                    b'\'' if self.depth > 0 && b"=([{,:".contains(&self.before) => self.quote = Some(byte),
                    b'{' | b'[' | b'(' => self.depth += 1,
                    b'}' | b']' | b')' if self.depth <= 1 => return false,
                    b'}' | b']' | b')' => self.depth -= 1,
                    _ if self.depth == 0 && self.at > self.patience => return false,
                    _ => {}
                },
            }
            if !byte.is_ascii_whitespace() {
                self.before = byte;
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether the end of the text is inside a string of the value with which the text begins, however the text is cut.
    fn inside(text: &str, breaks: bool) -> bool {
        let mut strings = Strings::default();
        strings.follow(0, breaks);
        let whole = strings.is_open_after(text, 0);
        for cut in 0..=text.len() {
            let mut strings = Strings::default();
            strings.follow(0, breaks);
            strings.is_open_after(&text[..cut], 0);
            assert_eq!(strings.is_open_after(text, 0), whole, "{text:?} at {cut}");
        }
        whole
    }

    #[test]
    fn strings_of_values_only() {
        for text in ["{\"a\": \"b", "write(path=\"d\", content=\"# ", "[{\"a\": {\"b\": \"\\\" ", "x = [f(a='it"] {
            assert!(inside(text, false), "{text}");
        }
        for text in
            ["{\"a\": \"b\" ", "{\"a\": \"b\"} and \"c", "{it's ", "\"quoted, no value", "{\"a\": \"raw\nline ", "no bracket"]
        {
            assert!(!inside(text, false), "{text}");
        }
        assert!(inside("{\"a\": \"raw\nline ", true));
        let late = format!("{} {{\"a", "x".repeat(BRACKET_BYTES + 1));
        assert!(!inside(&late, true), "a bracket that has nothing to do with it");
    }
}

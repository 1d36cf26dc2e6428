//! Follows the strings of a JSON value that is not a call, because a call in them is not the model's.

/// Maximum distance from the start of the value to its first bracket, in bytes.
const BRACKET_BYTES: usize = 128;

/// Follows one value at a time.
#[derive(Debug, Default)]
pub(super) struct Strings(Option<Value>);

/// The state of reading one value.
#[derive(Debug)]
struct Value {
    /// Position in the answer where it begins, and up to which it was read.
    from: usize,
    at: usize,
    depth: usize,
    in_string: bool,
    escaped: bool,
    /// Whether strings may contain line breaks: the value names an offered tool, so it is not prose.
    breaks: bool,
}

impl Strings {
    /// Follows the value that begins at `at`, unless it is inside the value already followed.
    pub(super) fn follow(&mut self, at: usize, breaks: bool) {
        match &mut self.0 {
            Some(value) if value.depth > 0 => value.breaks |= breaks,
            _ => self.0 = Some(Value { from: at, at, depth: 0, in_string: false, escaped: false, breaks }),
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
        self.0.as_ref().is_some_and(|value| value.in_string)
    }
}

impl Value {
    /// Reads on. Returns `false` if the value ended or never began.
    fn read(&mut self, text: &[u8]) -> bool {
        for &byte in text {
            self.at += 1;
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' if self.in_string => self.escaped = true,
                b'"' if self.depth > 0 => self.in_string = !self.in_string,
                b'\n' if self.in_string && !self.breaks => return false,
                _ if self.in_string => {}
                b'{' | b'[' | b'(' => self.depth += 1,
                b'}' | b']' | b')' if self.depth <= 1 => return false,
                b'}' | b']' | b')' => self.depth -= 1,
                _ if self.depth == 0 && self.at > self.from + BRACKET_BYTES => return false,
                _ => {}
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether the end of the text is inside a string of the value with which the text begins, however the text is cut.
    fn inside(text: &str) -> bool {
        let mut strings = Strings::default();
        strings.follow(0, false);
        let whole = strings.is_open_after(text, 0);
        for cut in 0..=text.len() {
            let mut strings = Strings::default();
            strings.follow(0, false);
            strings.is_open_after(&text[..cut], 0);
            assert_eq!(strings.is_open_after(text, 0), whole, "{text:?} at {cut}");
        }
        whole
    }

    #[test]
    fn strings_of_values_only() {
        for text in ["{\"a\": \"b", "write(path=\"d\", content=\"# ", "[{\"a\": {\"b\": \"\\\" "] {
            assert!(inside(text), "{text}");
        }
        for text in
            ["{\"a\": \"b\" ", "{\"a\": \"b\"} and \"c", "{it's ", "{\"a\": \"raw\nline ", "\"quoted, no value", "no bracket"]
        {
            assert!(!inside(text), "{text}");
        }
        let late = format!("{} {{\"a", "x".repeat(BRACKET_BYTES + 1));
        assert!(!inside(&late), "a bracket that has nothing to do with it");
    }
}

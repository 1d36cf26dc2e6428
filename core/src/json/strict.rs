//! Strict JSON (RFC 8259) -> a tree with positions. Unlike `serde_json::Value`, the tree keeps the digits of numbers, repeated
//! keys, and the position of every value.

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use super::decode::decode;
use super::extent::closing_quote;
use super::lex::Quote;
use super::number;
use super::read::MAX_DEPTH;
use super::tree::{Member, Node, Value};

/// Parses the whole text; whitespace around the value is allowed. `None` if it is not strict JSON or nests deeper than
/// [`MAX_DEPTH`].
pub fn parse(text: &str) -> Option<Node<'_>> {
    let root = prefix(text, 0)?;
    text.as_bytes()[root.end..].iter().all(|byte| is_space(*byte)).then_some(root)
}

/// Parses the value that begins at `start`, whatever follows it.
pub(crate) fn prefix(source: &str, start: usize) -> Option<Node<'_>> {
    Parser { source, bytes: source.as_bytes(), at: start, depth: 0 }.value()
}

struct Parser<'s> {
    source: &'s str,
    bytes: &'s [u8],
    at: usize,
    depth: u16,
}

impl<'s> Parser<'s> {
    fn value(&mut self) -> Option<Node<'s>> {
        self.space();
        let start = self.at;
        let value = match self.bytes.get(start)? {
            b'{' => {
                let mut members = Vec::new();
                self.nested(b'}', |parser| {
                    parser.space();
                    let start = parser.at + 1;
                    let key = parser.string()?;
                    let node = parser.takes(b':').then(|| parser.value())??;
                    members.push(Member { key, start, node });
                    Some(())
                })?;
                Value::Object(members)
            }
            b'[' => {
                let mut items = Vec::new();
                self.nested(b']', |parser| {
                    items.push(parser.value()?);
                    Some(())
                })?;
                Value::Array(items)
            }
            b'"' => Value::Text(self.string()?),
            b't' => self.word("true", Value::Bool(true))?,
            b'f' => self.word("false", Value::Bool(false))?,
            b'n' => self.word("null", Value::Null)?,
            _ => Value::Number(Cow::Borrowed(self.number()?)),
        };
        Some(Node { value, start, end: self.at, exact: true })
    }

    /// Reads what is between two brackets, unless they nest too deep.
    fn nested(&mut self, closer: u8, mut one: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        if self.depth == MAX_DEPTH {
            return None;
        }
        self.depth += 1;
        self.at += 1;
        if !self.takes(closer) {
            one(self)?;
            while self.takes(b',') {
                one(self)?;
            }
            self.takes(closer).then_some(())?;
        }
        self.depth -= 1;
        Some(())
    }

    /// Reads a string at the current position.
    fn string(&mut self) -> Option<Cow<'s, str>> {
        if self.bytes.get(self.at) != Some(&b'"') {
            return None;
        }
        let start = self.at + 1;
        self.at = closing_quote(self.source, start, b'"')?;
        let decoded = decode(&self.source[start..self.at - 1], Quote::Double);
        (!decoded.odd_escape && !decoded.lone_surrogate && !decoded.control).then_some(decoded.text)
    }

    fn number(&mut self) -> Option<&'s str> {
        let rest = &self.bytes[self.at..];
        let length = rest.iter().take_while(|byte| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E')).count();
        let digits = &self.source[self.at..self.at + length];
        self.at += length;
        number::is_strict(digits).then_some(digits)
    }

    /// Reads this literal.
    fn word(&mut self, word: &str, value: Value<'s>) -> Option<Value<'s>> {
        let there = self.bytes[self.at..].starts_with(word.as_bytes());
        self.at += word.len();
        there.then_some(value)
    }

    /// Skips whitespace, then `byte` if it is next. Returns whether it was.
    fn takes(&mut self, byte: u8) -> bool {
        self.space();
        let there = self.bytes.get(self.at) == Some(&byte);
        self.at += usize::from(there);
        there
    }

    fn space(&mut self) {
        while self.bytes.get(self.at).is_some_and(|byte| is_space(*byte)) {
            self.at += 1;
        }
    }
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

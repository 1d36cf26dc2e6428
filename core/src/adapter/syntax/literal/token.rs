//! Reads strings and bare values.

use std::borrow::Cow;

use super::{Node, Parser, Stop, is_known, key, written::escaped};
use crate::{
    adapter::syntax::{Start, starts_with_any, typing::verbatim, value::is_json},
    json::{extent::closing_quote, number::respell},
};

/// Maximum length of a number, in bytes.
const SCALAR_BYTES: usize = 400;
/// The values that are words.
const WORDS: [&str; 6] = ["True", "False", "None", "true", "false", "null"];

impl Parser<'_> {
    /// Reads a value without brackets.
    pub(super) fn token(&mut self) -> Result<Node, Stop> {
        let rest = self.rest();
        match starts_with_any(rest, self.dialect.delimiters, self.dialect.end) {
            Start::Maybe => return Err(Stop::More),
            Start::Yes(length) => return self.delimited(length),
            Start::No => {}
        }
        match rest.as_bytes() {
            [b'"' | b'\'', ..] => self.string(),
            _ if let Some(ends) = self.dialect.loose => self.loose(ends),
            [_] if !self.dialect.end => Err(Stop::More),
            _ => self.word(),
        }
    }

    /// Reads a string between two delimiters of this length.
    fn delimited(&mut self, length: usize) -> Result<Node, Stop> {
        let (delimiter, inside) = self.rest().split_at(length);
        let text = &inside[..inside.find(delimiter).ok_or(Stop::More)?];
        self.at += 2 * length + text.len();
        if holds_core(text, delimiter) {
            return Err(Stop::Fail);
        }
        Ok(Node::Json(verbatim(text)))
    }

    /// Reads a string between quotes.
    fn string(&mut self) -> Result<Node, Stop> {
        let quote = &self.rest()[..1];
        let three = quote.repeat(3);
        let delimiter = match starts_with_any(self.rest(), [&three], self.dialect.end) {
            Start::Yes(_) if self.dialect.loose.is_none() => three.as_str(),
            Start::Maybe if self.dialect.loose.is_none() && self.rest() != quote => return Err(Stop::More),
            _ => quote,
        };
        let body = self.at + delimiter.len();
        let end =
            if self.dialect.lenient { self.lenient_end(body, delimiter)? } else { end_of_string(self.text, body, delimiter) };
        let end = end.ok_or(Stop::More)?;
        let text = &self.text[body..end];
        self.at = end + delimiter.len();
        if self.holds_delimiter(text) {
            return Err(Stop::Fail);
        }
        Ok(Node::Json(escaped(text)))
    }

    /// The first closing delimiter that structure follows. A quote that closes a word before more text shows that the value is
    /// computed: `'a' if x else 'b'`.
    fn lenient_end(&self, body: usize, delimiter: &str) -> Result<Option<usize>, Stop> {
        let mut from = body;
        while let Some(at) = end_of_string(self.text, from, delimiter) {
            let after = &self.text[at + delimiter.len()..];
            if self.structure_follows(after.trim_start()) {
                // A quote at an end that has no pair may be the one that is missing elsewhere.
                let inner = &self.text[body..at];
                let is_odd = inner.matches(delimiter).count() % 2 == 1;
                let at_end = inner.starts_with(delimiter) || inner.ends_with(delimiter);
                return if is_odd && at_end { Err(Stop::Fail) } else { Ok(Some(at)) };
            }
            if from == body && self.text[..at].ends_with(char::is_alphanumeric) && after.starts_with(char::is_whitespace) {
                return Err(Stop::Fail);
            }
            from = at + delimiter.len();
        }
        Ok(None)
    }

    /// Whether a value may end before this text: another member follows, or all brackets close and nothing or another call follows.
    fn structure_follows(&self, text: &str) -> bool {
        let is_first = |c: char| matches!(c, '"' | '\'' | '{' | '[' | '(' | '-') || c.is_ascii_digit();
        let begins = |text: &str| text.starts_with(is_first) || WORDS.iter().any(|word| text.starts_with(word));
        if let Some(next) = text.strip_prefix(',').map(str::trim_start) {
            let is_member = || matches!(key(next, self.dialect), Ok(Some((key, _))) if is_known(self.dialect.place, &key));
            return if self.depth == 1 { is_member() || next.starts_with(')') } else { begins(next) };
        }
        let after = text.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, ')' | ']' | '}'));
        let next = after.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, ',' | ';'));
        let names_a_call = || {
            next.find(|c: char| !(c.is_alphanumeric() || "_-.".contains(c))).is_some_and(|at| next[at..].starts_with(['(', '=']))
        };
        text.len() > after.len() && (next.is_empty() || next.len() < after.len() && (names_a_call() || begins(next)))
    }

    /// Whether a text that no delimiters enclose holds what remains of one: its end is uncertain.
    fn holds_delimiter(&self, text: &str) -> bool {
        self.dialect.delimiters.iter().any(|delimiter| text.contains(delimiter.as_str()) || holds_core(text, delimiter))
    }

    /// Reads a Python literal, or a name, which is a string if the tool wants one.
    fn word(&mut self) -> Result<Node, Stop> {
        let rest = self.rest();
        let stops = |c: char| c.is_whitespace() || ",)]}:=([{\"'#".contains(c);
        let word = &rest[..rest.find(stops).ok_or(Stop::More)?];
        self.at += word.len();
        let is_name = || {
            word.starts_with(|c: char| c.is_alphanumeric() || c == '_')
                && word.chars().all(|c| c.is_alphanumeric() || "_-./".contains(c))
        };
        match atom(word) {
            Some(atom) => Ok(Node::Json(atom)),
            None if number(word).is_some() || is_name() => Ok(Node::Bare(word.to_owned())),
            None => Err(Stop::Fail),
        }
    }

    /// Reads unquoted text up to the next key or closing bracket.
    fn loose(&mut self, ends: &dyn Fn(&str) -> Start) -> Result<Node, Stop> {
        let (text, body) = (self.text, self.at);
        let close = if self.key.is_some() { b'}' } else { b']' };
        let mut open = 0_u32;
        for (offset, c) in self.rest().char_indices() {
            let at = body + offset;
            let so_far = text[body..at].trim_end();
            let stops = match c {
                '(' | '[' | '{' => {
                    open += 1;
                    false
                }
                ')' | ']' | '}' if open > 0 => {
                    open -= 1;
                    false
                }
                ')' | ']' | '}' => is_scalar(so_far) || close == b']' || self.closes(at + 1, ends)?,
                ',' if open == 0 => close == b']' || self.goes_on(at + 1, so_far)?,
                _ => false,
            };
            if stops {
                self.at = at;
                let is_torn = so_far.is_empty() || self.holds_delimiter(so_far);
                return if is_torn { Err(Stop::Fail) } else { Ok(Node::Bare(so_far.to_owned())) };
            }
        }
        Err(Stop::More)
    }

    /// Whether unquoted text may end before the bracket that `at` follows.
    fn closes(&self, at: usize, ends: &dyn Fn(&str) -> Start) -> Result<bool, Stop> {
        let rest = self.text[at..].trim_start();
        if self.depth > 1 {
            return Ok(rest.starts_with([',', '}', ']', ')']));
        }
        match ends(&self.text[at..]) {
            Start::Maybe => Err(Stop::More),
            start => Ok(start != Start::No),
        }
    }

    /// Whether a key that ends unquoted text follows: a parameter of the tool; or, in an inner object, a key of one word, or one of
    /// several words if the current key has several too.
    fn goes_on(&self, at: usize, so_far: &str) -> Result<bool, Stop> {
        let rest = self.text[at..].trim_start();
        let Some((key, _)) = key(rest, self.dialect)? else { return Ok(rest.starts_with('}')) };
        // Written like a key, without spaces, but no parameter: it may be a part of the text.
        let is_glued = rest.len() == self.text.len() - at && rest[key.len()..].starts_with(':') && !key.contains(' ');
        if self.depth == 1 && is_glued && !is_scalar(so_far) && !is_known(self.dialect.place, &key) {
            return Err(Stop::Fail);
        }
        let has_words = self.key.as_deref().is_some_and(|current| current.contains(' '));
        Ok(is_scalar(so_far)
            || if self.depth == 1 { is_known(self.dialect.place, &key) } else { !key.contains(' ') || has_words })
    }
}

/// Whether a text holds a delimiter without its first and last characters. If that is a word, it may be one of the text.
fn holds_core(text: &str, delimiter: &str) -> bool {
    let core = delimiter.get(1..delimiter.len() - 1).filter(|core| core.len() > 1 && !core.contains(char::is_alphanumeric));
    core.is_some_and(|core| text.contains(core))
}

/// The start of the closing delimiter of a string.
fn end_of_string(text: &str, from: usize, delimiter: &str) -> Option<usize> {
    let quote = delimiter.bytes().next()?;
    let mut end = closing_quote(text, from, quote)?;
    while !text[end - 1..].starts_with(delimiter) {
        end = closing_quote(text, end, quote)?;
    }
    Some(end - 1)
}

/// Whether the text is a number, `true`, `false` or `null`.
fn is_scalar(text: &str) -> bool {
    text.len() <= SCALAR_BYTES && atom(text).is_some()
}

/// The JSON text of a number, `true`, `false` or `null` in the notation of JSON or Python.
fn atom(text: &str) -> Option<String> {
    match text {
        "True" => Some("true".to_owned()),
        "False" => Some("false".to_owned()),
        "None" => Some("null".to_owned()),
        _ if text.starts_with(['"', '{', '[']) || text.trim() != text => None,
        _ => is_json(text).then(|| text.to_owned()),
    }
}

/// The JSON text of a number in any notation: `007`, `1_000`, `.5`, `0x1F`.
pub(crate) fn number(text: &str) -> Option<Cow<'_, str>> {
    // `5e` is a word: nothing was cut here.
    let is_word = text.ends_with(['e', 'E', '+', '-']) && !text.contains(['x', 'X']);
    respell(text).filter(|_| !is_word)
}

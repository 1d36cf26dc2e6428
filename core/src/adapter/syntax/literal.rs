//! Parses bracketed values other than JSON into a tree: Python literals (`(city="Oslo", tags=['a'])`), and brace dictionaries
//! with bare keys and special delimiters (`{city:<|"|>Oslo<|"|>, days:3}`).
//!
//! The text is read strictly and as a whole. If that fails, a quote inside a string may not be escaped: then the text up to the
//! closing marker is read again, and a string ends only where structure follows. Nothing is closed that the model did not close.

use super::{Start, blank, markdown::name_length, starts_with_any};
use crate::fix::{Place, name::fold};

mod token;
mod written;

pub(crate) use token::number;

/// Maximum length of a key, in bytes.
const KEY_BYTES: usize = 128;
/// Maximum depth of brackets.
const DEPTH: usize = 128;
/// A parsed value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Node {
    /// The JSON text of a string, a number, `true`, `false` or `null`.
    Json(String),
    /// Text without quotes. The schema decides what it means.
    Bare(String),
    /// A list, a tuple or a set.
    List(Vec<Node>),
    /// An object.
    Dict(Vec<(String, Node)>),
}

/// A member of the outermost brackets: its key, if any, and its value.
pub(crate) type Item = (Option<String>, Node);

/// How the values are written.
#[derive(Clone, Copy)]
pub(crate) struct Dialect<'a> {
    /// Delimiters of strings besides quotes. Nothing is escaped between them.
    pub(crate) delimiters: &'a [String],
    /// If unquoted text extends to the next key or bracket and every member has a key: whether the call may end before a text.
    /// Otherwise the values are Python's.
    pub(crate) loose: Option<&'a dyn Fn(&str) -> Start>,
    /// What the schema says of the outermost brackets.
    pub(crate) place: Place<'a>,
    /// Whether the text is complete.
    pub(crate) end: bool,
    /// Whether quotes in a string may not be escaped: it ends only where structure follows. Only for a text that is complete.
    pub(crate) lenient: bool,
}

/// The result of reading.
#[derive(Debug, PartialEq)]
pub(crate) enum Read {
    /// The text ends inside the brackets. The members are those of the outermost brackets if only the closing one is missing.
    More(Option<Vec<Item>>),
    /// The text does not follow the dialect.
    Fail,
    /// The members. The text continues at `end`, after the closing bracket.
    Done { items: Vec<Item>, end: usize },
}

/// Reads the brackets that open at `start`.
pub(crate) fn read(text: &str, start: usize, dialect: Dialect<'_>) -> Read {
    let mut parser = Parser { text, at: start, dialect, depth: 0, key: None, so_far: None };
    match parser.brackets() {
        Ok(items) => Read::Done { items: items.members, end: parser.at },
        Err(Stop::More) => Read::More(parser.so_far),
        Err(Stop::Fail) => Read::Fail,
    }
}

/// Why nothing more is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    More,
    Fail,
}

/// The members between a pair of brackets.
struct Members {
    close: u8,
    members: Vec<Item>,
    /// A comma was read. In parentheses it makes a tuple.
    comma: bool,
}

struct Parser<'a> {
    text: &'a str,
    /// The offset up to which everything was read.
    at: usize,
    dialect: Dialect<'a>,
    depth: usize,
    /// The key of the value that is read.
    key: Option<String>,
    so_far: Option<Vec<Item>>,
}

impl<'a> Parser<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// The next byte after whitespace.
    fn next(&mut self) -> Result<u8, Stop> {
        self.at += blank(self.rest());
        self.rest().bytes().next().ok_or(Stop::More)
    }

    fn brackets(&mut self) -> Result<Members, Stop> {
        let close = match self.next()? {
            b'{' => b'}',
            b'[' => b']',
            b'(' => b')',
            _ => return Err(Stop::Fail),
        };
        if self.depth >= DEPTH {
            return Err(Stop::Fail);
        }
        self.at += 1;
        self.depth += 1;
        let mut read = Members { close, members: Vec::new(), comma: false };
        let mut separated = true;
        loop {
            let next = self.next();
            if next == Err(Stop::More) && self.depth == 1 && !separated {
                self.so_far = Some(read.members.clone());
            }
            match next? {
                byte if byte == close => break,
                b',' => {
                    self.at += 1;
                    (separated, read.comma) = (true, true);
                }
                _ if !separated => return Err(Stop::Fail),
                first => {
                    let key = if close == b']' { None } else { self.key()? };
                    if key.is_none() && self.dialect.loose.is_some() && close != b']' && first != b'{' {
                        return Err(Stop::Fail);
                    }
                    self.key.clone_from(&key);
                    read.members.push((key, self.value()?));
                    separated = false;
                }
            }
        }
        self.at += 1;
        self.depth -= 1;
        Ok(read)
    }

    /// Reads a key and its separator, if the next member has one.
    fn key(&mut self) -> Result<Option<String>, Stop> {
        let found = key(self.rest(), self.dialect)?;
        Ok(found.map(|(key, length)| {
            self.at += length;
            key
        }))
    }

    fn value(&mut self) -> Result<Node, Stop> {
        if !matches!(self.next()?, b'{' | b'[' | b'(') {
            return self.token();
        }
        let Members { close, members, comma } = self.brackets()?;
        let keyed = members.iter().filter(|(key, _)| key.is_some()).count();
        match close {
            b'}' if keyed == members.len() => {
                Ok(Node::Dict(members.into_iter().filter_map(|(key, value)| Some((key?, value))).collect()))
            }
            _ if keyed > 0 => Err(Stop::Fail),
            close => {
                let mut items: Vec<Node> = members.into_iter().map(|(_, value)| value).collect();
                match (close, items.len(), comma) {
                    (b')', 1, false) => items.pop().ok_or(Stop::Fail),
                    _ => Ok(Node::List(items)),
                }
            }
        }
    }
}

/// The key that `text` begins with, and its length including `:` or `=`.
fn key(text: &str, dialect: Dialect<'_>) -> Result<Option<(String, usize)>, Stop> {
    let first = text.bytes().next().ok_or(Stop::More)?;
    let (from, length) = match (first, starts_with_any(text, dialect.delimiters, dialect.end)) {
        (b'"' | b'\'', _) => (1, text.bytes().skip(1).take(KEY_BYTES).position(|byte| byte == first)),
        (_, Start::Maybe) => return Err(Stop::More),
        (_, Start::Yes(length)) => (length, text[length..].find(&text[..length]).filter(|&at| at <= KEY_BYTES)),
        (_, Start::No) => {
            let window = &text[..text.floor_char_boundary(KEY_BYTES)];
            (0, if dialect.loose.is_some() { words_length(window) } else { name_length(window, "_-.$") })
        }
    };
    let Some(length) = length else { return if text.len() > from + KEY_BYTES { Ok(None) } else { Err(Stop::More) } };
    let name = &text[from..from + length];
    let end = from + length + from;
    let sign = end + blank(&text[end..]);
    match text.as_bytes().get(sign..) {
        _ if name.is_empty() || name.starts_with(' ') => Ok(None),
        None | Some([]) => Err(Stop::More),
        Some([b'=']) if !dialect.end => Err(Stop::More),
        Some([b'=', b'=', ..]) => Ok(None),
        Some([b':' | b'=', ..]) => Ok(Some((name.to_owned(), sign + 1))),
        Some(_) => Ok(None),
    }
}

/// The length of a key of one or more words: `first name`.
fn words_length(text: &str) -> Option<usize> {
    let mut at = 0;
    loop {
        at += name_length(&text[at..], "_-.$")?;
        match text[at..].strip_prefix(' ').map(|after| after.chars().next()) {
            None => return Some(at),
            Some(None) => return None,
            Some(Some(next)) if next.is_alphanumeric() => at += 1,
            Some(Some(_)) => return Some(at),
        }
    }
}

/// Whether a key may belong to the outermost brackets. A key of several words must be a parameter: it looks like text before a
/// colon.
fn is_known(place: Place<'_>, key: &str) -> bool {
    let folded = fold(key);
    (place.keys().next().is_none() && !key.contains(' ')) || place.keys().any(|known| fold(known) == folded)
}

#[cfg(test)]
mod tests;

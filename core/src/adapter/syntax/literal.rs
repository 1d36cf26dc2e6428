//! Parses bracketed values other than JSON into a tree: Python literals (`(city="Oslo", tags=['a'])`), and brace dictionaries
//! with bare keys and special delimiters (`{city:<|"|>Oslo<|"|>, days:3}`).
//!
//! The text is read strictly first. If that fails, a quote inside a string is not escaped. Then the text is read again, and a
//! string ends only where structure follows. Nothing is closed that the model did not close.

use super::{Start, ahead::Seen, blank, starts_with_any};

mod lookahead;
mod token;
mod written;

pub(crate) use written::Written;

/// Maximum length of a key, in bytes.
const KEY_BYTES: usize = 128;
/// Maximum depth of brackets.
const DEPTH: usize = 128;

/// A parsed value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Node {
    Text(Written),
    /// The JSON text of a number, `true`, `false` or `null`.
    Atom(String),
    /// Text without quotes. The schema decides what it means.
    Bare(String),
    /// A list, a tuple or a set.
    List(Vec<Node>),
    /// An object.
    Dict(Vec<(String, Node)>),
}

impl Node {
    /// Whether a text without quotes in it holds one of these delimiters, or what remains of one.
    pub(crate) fn has_bare(&self, delimiters: &[String]) -> bool {
        match self {
            Node::Bare(text) => token::holds_delimiter(text, delimiters),
            Node::Text(_) | Node::Atom(_) => false,
            Node::List(items) => items.iter().any(|item| item.has_bare(delimiters)),
            Node::Dict(members) => members.iter().any(|(_, node)| node.has_bare(delimiters)),
        }
    }
}

/// A member of the outermost brackets: its key, if any, and its value.
pub(crate) type Item = (Option<String>, Node);

/// How the values are written.
#[derive(Clone, Copy)]
pub(crate) struct Dialect<'a> {
    /// Delimiters of strings besides quotes. Nothing is escaped between them.
    pub(crate) delimiters: &'a [String],
    /// Whether unquoted text extends to the next key or bracket and every member has a key. Otherwise the values are Python's.
    pub(crate) loose: bool,
    /// Whether a name is accepted as a string. Otherwise only literals are values.
    pub(crate) words: bool,
    /// The known keys of the outermost brackets.
    pub(crate) keys: &'a [String],
    /// Whether the call may end before this text.
    pub(crate) ends: &'a dyn Fn(&str) -> Start,
    /// Whether the text is complete.
    pub(crate) end: bool,
}

/// The result of a reading step.
#[derive(Debug, PartialEq)]
pub(crate) enum Read {
    /// The brackets are still open.
    More,
    /// The text does not follow the dialect.
    Fail,
    /// The members. The text continues at `end`, after the closing bracket.
    Done { items: Vec<Item>, end: usize },
}

/// A resumable reader of one bracketed value.
#[derive(Debug)]
pub(crate) struct Literal {
    start: usize,
    /// A string ends only where structure follows.
    lenient: bool,
    stack: Vec<Frame>,
    expect: Expect,
    /// The offset up to which everything was consumed.
    at: usize,
    /// The current token.
    token: Option<token::Token>,
    /// A closing bracket was passed over because nothing fitting follows it.
    refused_end: bool,
}

#[derive(Debug)]
struct Frame {
    close: u8,
    items: Vec<Item>,
    key: Option<String>,
    /// A comma was read. In parentheses it makes a tuple.
    comma: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expect {
    /// A member, or the closing bracket.
    Item,
    /// The value of a key.
    Value,
    /// A comma, or the closing bracket.
    After,
}

impl Literal {
    /// Reads the brackets that open at `start`.
    pub(crate) fn new(start: usize) -> Literal {
        Literal { start, lenient: false, stack: Vec::new(), expect: Expect::Value, at: start, token: None, refused_end: false }
    }

    /// Whether a closing bracket was passed over because nothing fitting follows it.
    pub(crate) fn refused_end(&self) -> bool {
        self.refused_end
    }

    /// Whether other damage explains these members better than unescaped quotes: a string contains the key of another parameter
    /// (`f(a="x", b=="y")`).
    pub(crate) fn is_damaged(&self, items: &[Item], dialect: Dialect<'_>) -> bool {
        if !self.lenient {
            return false;
        }
        let texts = || items.iter().filter_map(|(_, node)| if let Node::Text(text) = node { Some(&**text) } else { None });
        let missing = |key: &&String| !items.iter().any(|(given, _)| given.as_ref() == Some(key));
        let separator = if dialect.loose { ':' } else { '=' };
        let is_sign = |c: char| !(c.is_alphanumeric() || c == '_' || c == ' ');
        let swallows = |text: &str, key: &str| {
            text.match_indices(key).any(|(at, _)| {
                let (before, after) = (text[..at].trim_end(), &text[at + key.len()..]);
                let signs = &after[..after.len() - after.trim_start_matches(is_sign).len()];
                before.ends_with(['"', '\'', ',', ';']) && (signs.contains(separator) || signs.starts_with(['"', '\'']))
            })
        };
        // In Python, a quote at an end that has no pair may be the one that is missing elsewhere.
        let unpaired =
            |text: &str, quote: char| (text.starts_with(quote) || text.ends_with(quote)) && text.matches(quote).count() % 2 == 1;
        let odd = |text: &str| ['"', '\''].into_iter().any(|quote| unpaired(text, quote));
        dialect.keys.iter().filter(missing).any(|key| texts().any(|text| swallows(text, key)))
            || !dialect.loose && texts().any(odd)
    }

    /// The members of the outermost brackets, if only the closing bracket is missing.
    pub(crate) fn unclosed(&self) -> Option<Vec<Item>> {
        match self.stack.as_slice() {
            [outermost] if !self.lenient && self.token.is_none() && self.expect == Expect::After => Some(outermost.items.clone()),
            _ => None,
        }
    }

    /// Reads on. `text` is the same text, longer with every call.
    pub(crate) fn read(&mut self, text: &str, dialect: Dialect<'_>) -> Read {
        loop {
            match self.step(text, dialect) {
                Some(Read::Fail) if !self.lenient => *self = Literal { lenient: true, ..Literal::new(self.start) },
                Some(read) => return read,
                None => {}
            }
        }
    }

    fn step(&mut self, text: &str, dialect: Dialect<'_>) -> Option<Read> {
        if self.token.is_some() {
            return self.step_token(text, dialect);
        }
        self.at += blank(&text[self.at..]);
        let rest = &text[self.at..];
        let Some(&first) = rest.as_bytes().first() else { return Some(Read::More) };
        if first == b'#' && !dialect.loose {
            let Some(newline) = rest.find('\n') else { return Some(Read::More) };
            self.at += newline;
            return None;
        }
        if self.expect != Expect::Value && self.stack.last().is_some_and(|frame| frame.close == first) {
            return match self.closed_too_early(text, dialect) {
                Start::Maybe => Some(Read::More),
                Start::Yes(length) => {
                    self.at += length;
                    self.expect = Expect::After;
                    None
                }
                Start::No => {
                    self.at += 1;
                    self.pop()
                }
            };
        }
        // An extra comma.
        let after_comma = self.expect == Expect::Item && self.stack.last().is_some_and(|frame| frame.comma);
        if first == b',' && after_comma {
            self.at += 1;
            return None;
        }
        // `f(**{"a": 1})`.
        if first == b'*' && !dialect.loose && self.expect == Expect::Item && self.stack.len() == 1 {
            if rest.starts_with("**{") {
                self.at += 2;
                return None;
            }
            if !dialect.end && "**{".starts_with(rest) {
                return Some(Read::More);
            }
        }
        match self.expect {
            Expect::After => self.after(text, first, dialect),
            Expect::Item => match self.member(text, dialect) {
                Start::Maybe => Some(Read::More),
                Start::Yes(_) => None,
                Start::No if dialect.loose && self.in_members() && first != b'{' => Some(Read::Fail),
                Start::No => self.value(text, first, dialect),
            },
            Expect::Value => self.value(text, first, dialect),
        }
    }

    fn after(&mut self, text: &str, first: u8, dialect: Dialect<'_>) -> Option<Read> {
        let frame = self.stack.last_mut()?;
        if first == b',' {
            frame.comma = true;
            self.at += 1;
            self.expect = Expect::Item;
            return None;
        }
        if self.in_members() && (dialect.loose || self.stack.len() == 1) {
            match lookahead::key(&text[self.at..], dialect) {
                Seen::Yes((key, _)) if dialect.keys.contains(&key) => {
                    self.expect = Expect::Item;
                    return None;
                }
                Seen::Maybe => return Some(Read::More),
                _ => {}
            }
        }
        let after_text = matches!(self.stack.last()?.items.last(), Some((_, Node::Text(_))));
        // A quote opened the string, and a delimiter closes it once more: `'text'<|"|>`.
        match starts_with_any(&text[self.at..], dialect.delimiters, dialect.end) {
            Start::Yes(length) if after_text => match self.follows(text, self.at + length, dialect) {
                Start::Yes(_) => {
                    self.at += length;
                    return None;
                }
                Start::Maybe => return Some(Read::More),
                Start::No => {}
            },
            Start::Maybe => return Some(Read::More),
            _ => {}
        }
        // Python joins adjacent strings, also with a `+` between them.
        let joins = !dialect.loose && after_text;
        let plus = usize::from(joins && first == b'+');
        let next = self.at + plus + blank(&text[self.at + plus..]);
        match text.as_bytes().get(next) {
            Some(b'"' | b'\'') if joins && !lookahead::is_in_code(text, self.at, next) => {
                self.at = next;
                self.open_string(text, dialect)
            }
            None if joins && !dialect.end => Some(Read::More),
            _ => Some(Read::Fail),
        }
    }

    /// Whether another known key follows the bracket that closes everything. `Yes` has the length of the closing brackets.
    fn closed_too_early(&self, text: &str, dialect: Dialect<'_>) -> Start {
        if !dialect.loose || self.stack.len() != 1 {
            return Start::No;
        }
        let rest = &text[self.at..];
        let after = rest.trim_start_matches(|c: char| c.is_whitespace() || c == '}');
        let Some(next) = after.strip_prefix(',') else {
            return if after.is_empty() && !dialect.end { Start::Maybe } else { Start::No };
        };
        match lookahead::key(next.trim_start(), dialect) {
            Seen::Yes((key, _)) if dialect.keys.contains(&key) => Start::Yes(rest.len() - after.len()),
            Seen::Maybe => Start::Maybe,
            _ => Start::No,
        }
    }

    /// Reads a key and its separator, if the next member has one.
    fn member(&mut self, text: &str, dialect: Dialect<'_>) -> Start {
        if !self.in_members() {
            return Start::No;
        }
        match lookahead::key(&text[self.at..], dialect) {
            Seen::Yes((key, length)) => {
                if let Some(frame) = self.stack.last_mut() {
                    frame.key = Some(key);
                }
                self.at += length;
                self.expect = Expect::Value;
                Start::Yes(length)
            }
            Seen::Maybe => Start::Maybe,
            Seen::No => Start::No,
        }
    }

    fn value(&mut self, text: &str, first: u8, dialect: Dialect<'_>) -> Option<Read> {
        let close = match first {
            b'{' => b'}',
            b'[' => b']',
            b'(' => b')',
            _ if self.stack.is_empty() => return Some(Read::Fail),
            _ => return self.open_string(text, dialect),
        };
        if self.stack.len() >= DEPTH {
            return Some(Read::Fail);
        }
        self.stack.push(Frame { close, items: Vec::new(), key: None, comma: false });
        self.at += 1;
        self.expect = Expect::Item;
        None
    }

    /// Adds a complete value to the brackets around it.
    fn put(&mut self, node: Node) -> Option<Read> {
        let Some(frame) = self.stack.last_mut() else { return Some(Read::Fail) };
        match (frame.items.last_mut(), &node) {
            (Some((_, Node::Text(text))), Node::Text(more)) if self.expect == Expect::After => text.append(more),
            _ => {
                let key = frame.key.take();
                frame.items.push((key, node));
            }
        }
        self.expect = Expect::After;
        None
    }

    fn pop(&mut self) -> Option<Read> {
        let Some(frame) = self.stack.pop() else { return Some(Read::Fail) };
        if self.stack.is_empty() {
            return Some(Read::Done { items: frame.items, end: self.at });
        }
        let keyed = frame.items.iter().filter(|(key, _)| key.is_some()).count();
        let node = match frame.close {
            b'}' if keyed == frame.items.len() => {
                Node::Dict(frame.items.into_iter().filter_map(|(key, value)| Some((key?, value))).collect())
            }
            _ if keyed > 0 => return Some(Read::Fail),
            close => {
                let mut items: Vec<Node> = frame.items.into_iter().map(|(_, value)| value).collect();
                match (close, items.len(), frame.comma) {
                    (b')', 1, false) => items.pop()?,
                    _ => Node::List(items),
                }
            }
        };
        self.expect = Expect::Value;
        self.put(node)
    }

    /// Whether the innermost brackets may contain keys.
    fn in_members(&self) -> bool {
        self.stack.last().is_some_and(|frame| frame.close != b']')
    }
}

#[cfg(test)]
mod tests;

//! Reads strings and bare values.

use super::{Dialect, Literal, Node, Read, lookahead, written::Written};
use crate::{
    adapter::syntax::expression::expression_end,
    adapter::syntax::{
        Start,
        ahead::Seen,
        blank,
        scalar::{atom, number},
        starts_with_any,
    },
};

/// Maximum length of a number, in bytes.
const SCALAR_BYTES: usize = 400;

/// A value that is being read.
#[derive(Debug)]
pub(super) enum Token {
    Text(Text),
    /// Text without quotes, with `depth` open brackets in it.
    Bare {
        body: usize,
        seen: usize,
        depth: u32,
    },
    /// A word that may be a Python literal or the first of several words.
    Word {
        body: usize,
        seen: usize,
    },
}

/// A string that is being read.
#[derive(Debug)]
pub(super) struct Text {
    delimiter: String,
    kind: Kind,
    /// Where its text begins.
    body: usize,
    /// The offset up to which it was scanned for its end.
    seen: usize,
    /// How many delimiters in it did not end it.
    inner: usize,
}

/// What a backslash in a string means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// An escape.
    Plain,
    /// Itself, but a quote after it does not end the string.
    Raw,
    /// An escape, and braces are expressions.
    Format,
    /// Itself, because the delimiter is not a quote.
    Delimited,
}

impl Literal {
    /// Begins a string or bare value.
    pub(super) fn open_string(&mut self, text: &str, dialect: Dialect<'_>) -> Option<Read> {
        let rest = &text[self.at..];
        match starts_with_any(rest, dialect.delimiters, dialect.end) {
            Start::Maybe => return Some(Read::More),
            Start::Yes(length) => return self.open(&rest[..length], Kind::Delimited),
            Start::No => {}
        }
        if rest.starts_with('\u{201c}') {
            // The counterpart closes a typographic quote.
            return self.open("\u{201d}", Kind::Plain);
        }
        match rest.as_bytes() {
            [quote @ (b'"' | b'\''), tail @ ..] => self.open_quote(rest, *quote, tail, Kind::Plain, dialect),
            _ => {
                self.token = Some(if dialect.loose {
                    Token::Bare { body: self.at, seen: self.at, depth: 0 }
                } else {
                    Token::Word { body: self.at, seen: self.at }
                });
                None
            }
        }
    }

    /// Begins a string whose opening quote is at `self.at`.
    fn open_quote(&mut self, rest: &str, quote: u8, tail: &[u8], kind: Kind, dialect: Dialect<'_>) -> Option<Read> {
        if !dialect.loose {
            match tail {
                [] if !dialect.end => return Some(Read::More),
                [second] if *second == quote && !dialect.end => return Some(Read::More),
                [second, third, ..] if *second == quote && *third == quote => return self.open(&rest[..3], kind),
                _ => {}
            }
        }
        self.open(&rest[..1], kind)
    }

    fn open(&mut self, delimiter: &str, kind: Kind) -> Option<Read> {
        let body = self.at + delimiter.len();
        self.token = Some(Token::Text(Text { delimiter: delimiter.to_owned(), kind, body, seen: body, inner: 0 }));
        None
    }

    pub(super) fn step_token(&mut self, text: &str, dialect: Dialect<'_>) -> Option<Read> {
        match self.token.take()? {
            Token::Text(token) => self.step_text(text, token, dialect),
            Token::Bare { body, seen, depth } => self.step_loose(text, body, seen, depth, dialect),
            Token::Word { body, seen } => self.step_word(text, body, seen, dialect),
        }
    }

    fn step_text(&mut self, text: &str, mut token: Text, dialect: Dialect<'_>) -> Option<Read> {
        loop {
            let Text { delimiter, kind, body, .. } = &token;
            let (kind, body) = (*kind, *body);
            let (at, certain) = match find_end(text, token.seen, delimiter, kind, dialect.end) {
                // One of a pair in the string: the other one follows.
                Ok(at) if kind == Kind::Delimited && token.inner % 2 == 1 => (at, Start::No),
                Ok(at) => (at, if self.lenient { self.follows(text, at + delimiter.len(), dialect) } else { Start::Yes(0) }),
                Err(seen) => (seen, Start::Maybe),
            };
            match certain {
                Start::Maybe => {
                    token.seen = at;
                    self.token = Some(Token::Text(token));
                    return Some(Read::More);
                }
                Start::No => {
                    token.seen = at + if kind == Kind::Delimited { delimiter.len() } else { 1 };
                    token.inner += 1;
                }
                Start::Yes(_) => {
                    let written = &text[body..at];
                    let uncertain = match kind {
                        Kind::Delimited => {
                            holds_torn(written, delimiter) || holds_core(&written.replace(delimiter, ""), delimiter)
                        }
                        _ => {
                            kind == Kind::Format && written.contains('{')
                                || holds_delimiter(written, dialect.delimiters)
                                || is_computed(written, delimiter)
                        }
                    };
                    if uncertain {
                        return Some(Read::Fail);
                    }
                    self.at = at + delimiter.len();
                    return self.put(Node::Text(match kind {
                        Kind::Plain | Kind::Format => Written::escaped(written),
                        Kind::Raw | Kind::Delimited => Written::raw(written),
                    }));
                }
            }
        }
    }

    /// Reads Python literals, and names if they are accepted as strings.
    fn step_word(&mut self, text: &str, body: usize, seen: usize, dialect: Dialect<'_>) -> Option<Read> {
        let stops = |c: char| c.is_whitespace() || ",)]}:=([{\"'#".contains(c);
        let Some(stop) = text[seen..].find(stops).map(|at| seen + at) else {
            self.token = Some(Token::Word { body, seen: text.len() });
            return Some(Read::More);
        };
        let word = &text[body..stop];
        let tail = &text.as_bytes()[stop..];
        let prefix = match word.to_ascii_lowercase().as_str() {
            "r" | "rb" | "br" => Some(Kind::Raw),
            "u" | "b" => Some(Kind::Plain),
            "f" => Some(Kind::Format),
            _ => None,
        };
        if let ([quote @ (b'"' | b'\''), tail @ ..], Some(kind)) = (tail, prefix) {
            self.at = stop;
            let opened = self.open_quote(&text[stop..], *quote, tail, kind, dialect);
            if opened.is_some() {
                self.at = body;
                self.token = Some(Token::Word { body, seen: stop });
            }
            return opened;
        }
        let after = stop + blank(&text[stop..]);
        let Some(next) = text.as_bytes().get(after) else {
            self.token = Some(Token::Word { body, seen: stop });
            return Some(Read::More);
        };
        // Several words, or one with punctuation, after a parameter's name.
        let keyed = self.stack.len() == 1 && self.stack.last().is_some_and(|frame| frame.key.is_some());
        if dialect.words && keyed && !matches!(next, b',' | b')' | b'#' | b'[' | b'{' | b'(') && !word.is_empty() {
            self.token = Some(Token::Bare { body, seen: stop, depth: 0 });
            return None;
        }
        let literal = atom(word).map(Node::Atom);
        let name = word.starts_with(|c: char| c.is_alphanumeric() || c == '_')
            && word.chars().all(|c| c.is_alphanumeric() || "_-./".contains(c));
        let node = match literal {
            Some(node) => node,
            None if number(word).is_some() || (name && dialect.words) => Node::Bare(word.to_owned()),
            None if dialect.words && keyed && !word.is_empty() => {
                self.token = Some(Token::Bare { body, seen: stop, depth: 0 });
                return None;
            }
            None => return Some(Read::Fail),
        };
        self.at = stop;
        self.put(node)
    }

    /// Whether a key ends the unquoted text before it: a parameter of the tool; or, in an inner object, a key of one word, or one
    /// of several words if the current key has several too.
    fn key_fits(&self, key: &str, level: usize, keys: &[String]) -> bool {
        let current = self.stack.last().and_then(|frame| frame.key.as_deref());
        match level {
            1 => lookahead::known(keys, key),
            _ => !key.contains(' ') || current.is_some_and(|current| current.contains(' ')),
        }
    }

    /// Reads unquoted text up to the next key or closing bracket.
    fn step_loose(&mut self, text: &str, body: usize, seen: usize, depth: u32, dialect: Dialect<'_>) -> Option<Read> {
        let (close, level) = (self.stack.last()?.close, self.stack.len());
        let (mut at, mut depth) = (seen, depth);
        let bytes = text.as_bytes();
        let so_far = |at: usize| text[body..at].trim_end();
        while let Some(&byte) = bytes.get(at) {
            let stop = match byte {
                b'(' | b'[' | b'{' => {
                    depth += 1;
                    Start::No
                }
                b')' | b']' | b'}' if depth > 0 => {
                    depth -= 1;
                    Start::No
                }
                _ if byte == close && scalar(so_far(at)) => Start::Yes(0),
                _ if byte == close => {
                    let follows = self.follows(text, at, dialect);
                    self.refused_end |= follows == Start::No;
                    follows
                }
                b',' if depth == 0 && close == b']' => Start::Yes(0),
                b',' if depth == 0 => {
                    let next = at + 1 + blank(&text[at + 1..]);
                    match lookahead::key(&text[next..], dialect) {
                        Seen::Yes((key, _)) if scalar(so_far(at)) || self.key_fits(&key, level, dialect.keys) => Start::Yes(0),
                        // Written like a key, without spaces, but not a parameter: ambiguous.
                        Seen::Yes((key, _)) if next == at + 1 && !key.contains(' ') && glued(&text[next + key.len()..]) => {
                            return Some(Read::Fail);
                        }
                        Seen::Maybe => Start::Maybe,
                        _ if bytes.get(next) == Some(&close) => Start::Yes(0),
                        _ => Start::No,
                    }
                }
                _ if !dialect.delimiters.iter().any(|delimiter| delimiter.as_bytes().first() == Some(&byte)) => Start::No,
                _ => match starts_with_any(&text[at..], dialect.delimiters, dialect.end) {
                    Start::Yes(length) => match self.follows(text, at + length, dialect) {
                        Start::Yes(_)
                            if holds_torn(&text[body..at], &text[at..at + length])
                                || holds_delimiter(&text[body..at], dialect.delimiters) =>
                        {
                            return Some(Read::Fail);
                        }
                        // The opening delimiter is missing.
                        Start::Yes(_) => {
                            self.at = at + length;
                            return self.put(Node::Text(Written::raw(&text[body..at])));
                        }
                        other => other,
                    },
                    other => other,
                },
            };
            match stop {
                Start::Yes(_) if so_far(at).is_empty() => return Some(Read::Fail),
                Start::Yes(_) => {
                    self.at = at;
                    return self.put(Node::Bare(so_far(at).to_owned()));
                }
                Start::Maybe => break,
                Start::No => at += 1,
            }
        }
        self.token = Some(Token::Bare { body, seen: at, depth });
        Some(Read::More)
    }
}

/// Whether a string with quotes inside is an expression of several strings: `'a' if x else 'b'`.
fn is_computed(written: &str, delimiter: &str) -> bool {
    let inner = written.split_once(delimiter).map(|(_, tail)| format!("{tail}{delimiter})"));
    inner.is_some_and(|tail| expression_end(&tail, false).is_some())
}

/// Whether a string contains its delimiter with one character missing (`<|"|` for `<|"|>`): its end is uncertain.
fn holds_torn(written: &str, delimiter: &str) -> bool {
    let whole = written.replace(delimiter, "");
    let torn = |at: usize| [&delimiter[..at], &delimiter[at + 1..]].concat();
    delimiter.is_ascii() && delimiter.len() > 3 && (0..delimiter.len()).any(|at| whole.contains(&torn(at)))
}

/// Whether a text that no delimiters enclose holds one, or what remains of one. If that is a word, only at an end of the text.
pub(super) fn holds_delimiter(text: &str, delimiters: &[String]) -> bool {
    let at_end = |core: &str| text.starts_with(core) || text.ends_with(core);
    delimiters
        .iter()
        .any(|delimiter| text.contains(delimiter.as_str()) || holds_core(text, delimiter) || core(delimiter).is_some_and(at_end))
}

/// A delimiter without its first and last characters.
fn core(delimiter: &str) -> Option<&str> {
    delimiter.get(1..delimiter.len() - 1).filter(|core| core.len() > 1)
}

/// Whether a text holds the core of a delimiter, with any quotes. A core that is a word may be one of the text.
fn holds_core(text: &str, delimiter: &str) -> bool {
    let core = core(delimiter).filter(|core| !core.contains(char::is_alphanumeric));
    core.is_some_and(|core| text.contains(core) || text.contains(&core.replace('"', "'")))
}

/// Whether a value follows a colon without a space.
fn glued(text: &str) -> bool {
    text.strip_prefix(':').is_some_and(|value| !value.starts_with([' ', '/', '\n']))
}

/// The start of the closing delimiter. `Err` has the offset up to which there is none.
fn find_end(text: &str, from: usize, delimiter: &str, kind: Kind, end: bool) -> Result<usize, usize> {
    let bytes = text.as_bytes();
    if kind == Kind::Delimited {
        return text[from..]
            .find(delimiter)
            .map(|at| from + at)
            .ok_or_else(|| text.floor_char_boundary(from.max(text.len().saturating_sub(delimiter.len() - 1))));
    }
    let quote = delimiter.as_bytes().first().copied().unwrap_or(b'"');
    let mut at = from;
    loop {
        let Some(found) = bytes.get(at..).and_then(|rest| memchr::memchr2(quote, b'\\', rest)) else {
            return Err(bytes.len().max(at));
        };
        at += found;
        let tail = &bytes[at..];
        match tail {
            [b'\\'] => return Err(at),
            [b'\\', ..] => at += 2,
            _ if tail.starts_with(delimiter.as_bytes()) => return Ok(at),
            _ if !end && delimiter.as_bytes().starts_with(tail) => return Err(at),
            _ => at += 1,
        }
    }
}

/// Whether the text is a number, `true`, `false` or `null`.
fn scalar(text: &str) -> bool {
    text.len() <= SCALAR_BYTES && atom(text).is_some()
}

//! Finds the end of arguments that are not JSON, and writes them as source text for the fixer: Python's
//! (`(city="Oslo", tags=['a'])`), and brace dictionaries with bare keys and special delimiters (`{city:<|"|>Oslo<|"|>, days:3}`).
//!
//! The text is read strictly and as a whole. If that fails, a quote inside a string may not be escaped: then the text up to the
//! closing marker is read again, and a string ends only where structure follows. Nothing is closed that the model did not close.

use super::{
    blank,
    markdown::{name_length, plain},
    members::{members, object},
    typing::{Hint, value, verbatim},
    value::is_json,
};
use crate::{
    fix::{Place, Types, name::fold},
    json::{extent::closing_quote, number::respell, unescape_python},
};

/// Maximum length of a key, in bytes.
const KEY_BYTES: usize = 128;
/// Maximum length of a number, in bytes.
const SCALAR_BYTES: usize = 400;
/// Maximum depth of brackets.
const DEPTH: usize = 128;
/// Escapes that the fixer may doubt, or refuse.
const DOUBTFUL: [&str; 6] = ["\\b", "\\f", "\\n", "\\r", "\\t", "\\u"];

/// How the values are written.
#[derive(Clone, Copy)]
pub(crate) struct Dialect<'a> {
    /// What the schema says of the outermost brackets.
    pub(crate) place: Place<'a>,
    /// Delimiters of strings besides quotes, if unquoted text extends to the next key or bracket and every member has a key.
    /// `None`: the values are Python's.
    pub(crate) delimiters: Option<&'a [String]>,
    /// Whether a name may be a string, if the tool wants one.
    pub(crate) names: bool,
    /// Variables, whose values are not known yet.
    pub(crate) variables: &'a [String],
    /// Whether quotes in a string may not be escaped: it ends only where structure follows. Only for a text that is complete.
    pub(crate) lenient: bool,
}

/// The arguments that were read.
pub(crate) struct Arguments {
    /// Their text. `None`: one of them is computed, or has no parameter.
    pub(crate) text: Option<String>,
    /// The offset after the closing bracket.
    pub(crate) end: usize,
    /// Whether one of them is a variable.
    pub(crate) waits: bool,
    /// Whether the last one is unquoted text: it is whole only if the end of the call follows.
    pub(crate) is_open: bool,
}

/// Why nothing was read.
pub(crate) enum Stop {
    /// The text ends inside the brackets.
    More,
    /// The text does not follow the dialect.
    Fail,
}

/// A member of brackets: its key, or nothing, and the text of its value.
type Item = (String, String);

/// Reads the brackets that open at `start`.
pub(crate) fn read(text: &str, start: usize, dialect: Dialect<'_>) -> Result<Arguments, Stop> {
    let found = Arguments { text: None, end: start, waits: false, is_open: false };
    let mut parser = Parser { text, at: start, dialect, depth: 0, is_computed: false, found };
    let (items, _) = parser.members(dialect.place)?;
    let text = arguments(items, dialect.place).filter(|_| !parser.is_computed);
    Ok(Arguments { text, end: parser.at, ..parser.found })
}

/// The arguments as one object. Those without a key get the names of the parameters in the schema's order. `None`: there are too
/// many.
fn arguments(mut items: Vec<Item>, place: Place<'_>) -> Option<String> {
    if let [(key, value)] = items.as_slice()
        && key.is_empty()
        && value.starts_with('{')
    {
        let takes_object = place.keys().next().is_some_and(|key| place.member(key).allows(Types::OBJECT) == Some(true));
        if !takes_object || members(value)?.iter().all(|(key, _)| place.has(key)) {
            return Some(value.clone());
        }
    }
    let given: Vec<String> = items.iter().map(|(key, _)| plain(key).into_owned()).collect();
    let mut free = place.keys();
    for (key, _) in items.iter_mut().filter(|(key, _)| key.is_empty()) {
        *key = free.next().filter(|name| !given.iter().any(|given| given == name))?.to_owned();
    }
    Some(object(&items))
}

struct Parser<'a> {
    text: &'a str,
    /// The offset up to which everything was read.
    at: usize,
    dialect: Dialect<'a>,
    depth: usize,
    /// Whether a value is a variable or an expression.
    is_computed: bool,
    found: Arguments,
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

    /// Reads a pair of brackets and what is between them, and says whether a comma is: in parentheses it makes a tuple.
    fn members(&mut self, place: Place<'a>) -> Result<(Vec<Item>, bool), Stop> {
        let open = self.next()?;
        let close = if open == b'(' { b')' } else { open + 2 };
        if self.depth == DEPTH {
            return Err(Stop::Fail);
        }
        self.at += 1;
        self.depth += 1;
        let (mut items, mut comma, mut separated) = (Vec::new(), false, true);
        loop {
            match self.next()? {
                byte if byte == close => break,
                b',' => {
                    self.at += 1;
                    (separated, comma) = (true, true);
                }
                first => {
                    let (key, length) = self.key(self.rest()).filter(|_| close != b']').unwrap_or_default();
                    let lacks_key = key.is_empty() && self.dialect.delimiters.is_some() && close != b']' && first != b'{';
                    if !separated || lacks_key {
                        return Err(Stop::Fail);
                    }
                    self.at += length;
                    let inner = if close == b']' { place.element() } else { place.member(&plain(key)) };
                    items.push((key.to_owned(), self.value(key, inner)?));
                    separated = false;
                }
            }
        }
        self.at += 1;
        self.depth -= 1;
        Ok((items, comma))
    }

    /// The key that a text begins with, and the start of its value. A key of several words looks like text before a colon.
    fn key(&self, text: &'a str) -> Option<(&'a str, usize)> {
        let window = &text[..text.floor_char_boundary(KEY_BYTES)];
        let delimiters = self.dialect.delimiters.unwrap_or_default().iter().map(String::as_str);
        let quote = delimiters.chain(["\"", "'"]).find(|quote| text.starts_with(quote)).unwrap_or_default();
        let length = match (quote, self.dialect.delimiters) {
            ("", None) => name_length(window, "_-.$")?,
            ("", Some(_)) => name_length(window, "_-.$ ")?,
            _ => window.get(quote.len()..)?.find(quote)?,
        };
        let name = text[quote.len()..quote.len() + length].trim_end();
        let end = 2 * quote.len() + length;
        let sign = end + blank(&text[end..]);
        let is_key = text[sign..].starts_with([':', '=']) && !text[sign..].starts_with("==") && !name.is_empty();
        is_key.then_some((name, sign + 1))
    }

    /// Reads the value of a key, or an item of a list.
    fn value(&mut self, key: &str, place: Place<'a>) -> Result<String, Stop> {
        let open = self.next()?;
        if !matches!(open, b'{' | b'[' | b'(') {
            return self.token(key, place);
        }
        let (mut items, comma) = self.members(place)?;
        let keyed = items.iter().filter(|(key, _)| !key.is_empty()).count();
        match open {
            b'{' if keyed == items.len() => Ok(object(&items)),
            _ if keyed > 0 => Err(Stop::Fail),
            b'(' if items.len() == 1 && !comma => Ok(items.remove(0).1),
            _ => {
                let values: Vec<String> = items.into_iter().map(|(_, value)| value).collect();
                Ok(format!("[{}]", values.join(",")))
            }
        }
    }

    /// Reads a value without brackets.
    fn token(&mut self, key: &str, place: Place<'a>) -> Result<String, Stop> {
        let (rest, from) = (self.rest(), self.at);
        let delimiters = self.dialect.delimiters.unwrap_or_default();
        let delimiter = delimiters.iter().find(|delimiter| rest.starts_with(delimiter.as_str())).map_or("", String::as_str);
        let written = match (delimiter.len(), rest.as_bytes()) {
            (0, [b'"' | b'\'', ..]) => self.string()?,
            (0, _) if self.dialect.delimiters.is_none() => self.word(key, place)?,
            (0, _) => self.loose(key, place)?,
            (length, _) => {
                let text = &rest[length..length + rest[length..].find(delimiter).ok_or(Stop::More)?];
                self.at += 2 * length + text.len();
                verbatim(text)
            }
        };
        // What remains of a delimiter in a text makes its end uncertain.
        let text = &self.text[from + delimiter.len()..self.at - delimiter.len()];
        let core = |delimiter: &String| match delimiter.trim_matches(['<', '>']) {
            core if core.contains(char::is_alphanumeric) => text.contains(delimiter.as_str()),
            core => text.contains(core),
        };
        let is_torn = delimiters.iter().any(core);
        if is_torn { Err(Stop::Fail) } else { Ok(written) }
    }

    /// Reads a string between quotes.
    fn string(&mut self) -> Result<String, Stop> {
        let rest = self.rest();
        let triple = ["\"\"\"", "'''"].into_iter().find(|quote| self.dialect.delimiters.is_none() && rest.starts_with(quote));
        let quote = triple.unwrap_or(&rest[..1]);
        self.at += quote.len();
        let text = if self.dialect.lenient { self.until_structure(quote)? } else { until(self.rest(), quote)? };
        self.at += text.len() + quote.len();
        // `\x` is no escape of JSON, and `\/` none of Python. Quotes may not be escaped yet.
        let escaped = format!("\\{quote}");
        let spelled = |part: &str| part.replace(&escaped, quote).replace(quote, &escaped).replace(r"\/", r"\\/");
        let text = text.split(r"\\").map(spelled).collect::<Vec<_>>().join(r"\\");
        let is_doubtful = DOUBTFUL.iter().any(|escape| text.contains(escape)) && !text.contains(r"\x");
        Ok(if is_doubtful { format!("{quote}{text}{quote}") } else { verbatim(&unescape_python(&text)) })
    }

    /// The text before the first closing quote that structure follows. A quote that closes a word before more text shows that the
    /// value is computed: `'a' if x else 'b'`.
    fn until_structure(&self, quote: &str) -> Result<&'a str, Stop> {
        let (rest, mut from) = (self.rest(), 0);
        loop {
            let end = from + until(&rest[from..], quote)?.len();
            let (text, after) = (&rest[..end], &rest[end + quote.len()..]);
            if self.structure_follows(after) {
                // A quote at an end that has no pair may be the one that is missing elsewhere.
                let at_end = text.starts_with(quote) || text.ends_with(quote);
                let is_odd = at_end && text.matches(quote).count() % 2 == 1;
                return if is_odd { Err(Stop::Fail) } else { Ok(text) };
            }
            if from == 0 && text.ends_with(char::is_alphanumeric) && after.starts_with(char::is_whitespace) {
                return Err(Stop::Fail);
            }
            from = end + quote.len();
        }
    }

    /// Whether a string may end before this text: another member follows, or brackets close, and nothing or more follows them.
    fn structure_follows(&self, text: &'a str) -> bool {
        let after = text.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, ')' | ']' | '}'));
        let next = after.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, ',' | ';'));
        let is_closed = text.trim_start().len() > after.len();
        let word = next.split(|c: char| !(c.is_alphanumeric() || "_-.".contains(c))).next().unwrap_or_default();
        let is_value = scalar(word).is_some() || next.starts_with(['"', '\'', '{', '[', '(']);
        match self.depth {
            _ if next.is_empty() => is_closed,
            _ if next.len() == after.len() => false,
            _ if is_closed => is_value || next[word.len()..].starts_with(['(', '=']),
            1 => next.starts_with(')') || self.key(next).is_some_and(|(key, _)| is_known(self.dialect.place, key)),
            _ => is_value,
        }
    }

    /// Reads a Python literal, or a name, which is a string if the tool wants one. `f(city=city)` passes a variable.
    fn word(&mut self, key: &str, place: Place<'a>) -> Result<String, Stop> {
        let rest = self.rest();
        let stops = |c: char| c.is_whitespace() || ",)]}:=([{\"'#".contains(c);
        let word = &rest[..rest.find(stops).ok_or(Stop::More)?];
        self.at += word.len();
        let is_name = word.starts_with(|c: char| c.is_alphanumeric() || c == '_')
            && word.chars().all(|c| c.is_alphanumeric() || "_-./".contains(c));
        if let Some(literal) = scalar(word) {
            return Ok(literal.to_owned());
        }
        if respell(word).is_none() {
            let fits = self.dialect.names && !key.is_empty() && key != word && place.allows(Types::STRING) == Some(true);
            self.is_computed |= !fits;
            self.found.waits |= self.dialect.variables.iter().any(|variable| variable == word);
            if !is_name {
                return Err(Stop::Fail);
            }
        }
        Ok(value(place, word, Hint::None))
    }

    /// Reads unquoted text up to the next key or closing bracket.
    fn loose(&mut self, key: &str, place: Place<'a>) -> Result<String, Stop> {
        let (rest, mut open) = (self.rest(), 0);
        for (at, c) in rest.char_indices() {
            open += i32::from("([{".contains(c)) - i32::from(")]}".contains(c));
            let text = || rest[..at].trim_end();
            let is_end = c == ',' && open == 0 && (key.is_empty() || self.goes_on(&rest[at + 1..], text())?);
            if is_end || open < 0 {
                self.at += at;
                self.found.is_open = !is_end && self.depth == 1 && scalar(text()).is_none();
                return match text() {
                    "" => Err(Stop::Fail),
                    "none" | "nil" if place.allows(Types::STRING) != Some(true) => Ok("null".to_owned()),
                    "null" => Ok("null".to_owned()),
                    text => Ok(value(place, text, Hint::None)),
                };
            }
        }
        Err(Stop::More)
    }

    /// Whether a key that ends unquoted text follows a comma: a parameter of the tool, or, in an inner object, a key of one word.
    fn goes_on(&self, after: &'a str, so_far: &str) -> Result<bool, Stop> {
        let next = after.trim_start();
        let Some((key, _)) = self.key(next) else {
            let is_unclear = next.starts_with(['"', '\'']) && !next[1..].contains(&next[..1]);
            return if is_unclear { Err(Stop::Fail) } else { Ok(next.starts_with('}')) };
        };
        if scalar(so_far).is_some() || is_known(self.dialect.place, key) || self.depth > 1 {
            return Ok(self.depth == 1 || !key.contains(' '));
        }
        // Written like a key, without spaces, but no parameter: it may be a part of the text.
        let is_glued = after.strip_prefix(key).is_some_and(|rest| rest.starts_with(':')) && !key.contains(' ');
        if is_glued { Err(Stop::Fail) } else { Ok(false) }
    }
}

/// The text before the quote that closes a string.
fn until<'t>(text: &'t str, quote: &str) -> Result<&'t str, Stop> {
    let ends = |from| closing_quote(text, from, quote.bytes().next()?);
    let mut ends = std::iter::successors(ends(0), |end| ends(*end)).map(|end| end - 1);
    ends.find(|end| text[*end..].starts_with(quote)).map(|end| &text[..end]).ok_or(Stop::More)
}

/// Whether a key may belong to the outermost brackets. A key of several words must be a parameter: it looks like text before a
/// colon.
fn is_known(place: Place<'_>, key: &str) -> bool {
    let folded = fold(key);
    (place.keys().next().is_none() && !key.contains(' ')) || place.keys().any(|known| fold(known) == folded)
}

/// The JSON text of a number, `true`, `false` or `null` in the notation of JSON or Python.
fn scalar(text: &str) -> Option<&str> {
    match text {
        "True" => Some("true"),
        "False" => Some("false"),
        "None" => Some("null"),
        _ if text.len() > SCALAR_BYTES || text.starts_with(['"', '{', '[']) || text.trim() != text => None,
        _ => is_json(text).then_some(text),
    }
}

#[cfg(test)]
mod tests;

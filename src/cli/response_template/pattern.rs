//! Converts a delimiter of a response template (literals or a regular expression) to the spellings that it matches: literal
//! texts, whitespace, and capture groups. A delimiter may use a regular expression only for whitespace, alternatives and
//! captures. Anything beyond that has no markers that a scanner could look for.

use serde_json::Value;

/// A part of a delimiter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    Text(String),
    /// Whitespace, or none.
    Space,
    /// A group of this name (empty: it has none).
    Capture(String),
    /// Text that is not said.
    Any,
}

/// One way to write a delimiter.
pub(super) type Spelling = Vec<Piece>;

/// Maximum number of spellings: more of them are no list of markers.
const SPELLINGS: usize = 512;
/// Maximum depth of nested groups.
const DEPTH: usize = 16;

struct Parser<'p> {
    rest: &'p str,
    depth: usize,
}

/// The spellings of a literal or a list of them.
pub(super) fn literals(value: &Value) -> Result<Vec<Spelling>, String> {
    let texts: Vec<&str> = match value {
        Value::String(text) => vec![text],
        Value::Array(list) => list.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    if texts.is_empty() || texts.iter().any(|text| text.is_empty()) {
        Err("is neither a text nor a list of texts".into())
    } else {
        Ok(texts.into_iter().map(|text| vec![Piece::Text(text.to_owned())]).collect())
    }
}

/// The spellings of a regular expression.
pub(super) fn parse(pattern: &str) -> Result<Vec<Spelling>, String> {
    let mut parser = Parser { rest: pattern, depth: 0 };
    let spellings = parser.alternatives()?;
    if parser.rest.is_empty() {
        Ok(spellings.into_iter().map(joined).collect())
    } else {
        Err(format!("has a `)` too many before `{}`", parser.rest))
    }
}

/// The texts of a spelling that captures nothing: `None` if it has no text.
pub(super) fn texts(spelling: &[Piece]) -> Option<Vec<&str>> {
    let texts: Vec<&str> = spelling
        .iter()
        .filter_map(|piece| match piece {
            Piece::Text(text) => Some(text.trim()),
            _ => None,
        })
        .filter(|text| !text.is_empty())
        .collect();
    (!texts.is_empty()).then_some(texts)
}

/// Adds a text that is not there yet.
pub(super) fn push(list: &mut Vec<String>, text: &str) {
    if !list.iter().any(|known| known == text) {
        list.push(text.to_owned());
    }
}

impl Parser<'_> {
    /// The pattern up to its end or to a closing parenthesis.
    fn alternatives(&mut self) -> Result<Vec<Spelling>, String> {
        let mut all = Vec::new();
        loop {
            all.extend(self.sequence()?);
            if all.len() > SPELLINGS {
                return Err("stands for too many texts".into());
            }
            match self.rest.strip_prefix('|') {
                Some(rest) => self.rest = rest,
                None => return Ok(all),
            }
        }
    }

    fn sequence(&mut self) -> Result<Vec<Spelling>, String> {
        let mut done: Vec<Spelling> = vec![Vec::new()];
        while !self.rest.is_empty() && !self.rest.starts_with(['|', ')']) {
            let atom = self.atom()?;
            let atom = self.quantified(atom);
            if done.len() * atom.len() > SPELLINGS {
                return Err("stands for too many texts".into());
            }
            done = done.iter().flat_map(|before| atom.iter().map(move |next| [before.as_slice(), next].concat())).collect();
        }
        Ok(done)
    }

    /// One character, class, group or anchor, as its spellings.
    fn atom(&mut self) -> Result<Vec<Spelling>, String> {
        let Some(c) = self.take() else { return Ok(vec![Vec::new()]) };
        Ok(match c {
            '(' => self.group()?,
            '[' => self.class()?,
            '.' => vec![vec![Piece::Any]],
            '^' | '$' => vec![Vec::new()],
            '\\' => match self.take() {
                Some('s') => vec![vec![Piece::Space]],
                Some('b' | 'B' | 'A' | 'Z' | 'z') => vec![Vec::new()],
                Some('w' | 'W' | 'd' | 'D' | 'S') => vec![vec![Piece::Any]],
                Some('n') => text('\n'),
                Some('t') => text('\t'),
                Some('r') => text('\r'),
                Some(c) if !c.is_alphanumeric() => text(c),
                Some(c) => return Err(format!("uses `\\{c}`, which stands for no fixed text")),
                None => return Err("ends with a backslash".into()),
            },
            c => text(c),
        })
    }

    fn group(&mut self) -> Result<Vec<Spelling>, String> {
        self.depth += 1;
        if self.depth > DEPTH {
            return Err("has groups too deep inside of groups".into());
        }
        let look = ["?=", "?!", "?<=", "?<!"].into_iter().find(|look| self.rest.starts_with(look));
        let mut name = None;
        if let Some(look) = look {
            self.rest = &self.rest[look.len()..];
        } else if let Some(rest) = self.rest.strip_prefix("?:") {
            self.rest = rest;
        } else if let Some(rest) = self.rest.strip_prefix("?P<").or_else(|| self.rest.strip_prefix("?<")) {
            let (group, rest) = rest.split_once('>').ok_or("has a group whose name does not end")?;
            (name, self.rest) = (Some(group.to_owned()), rest);
        } else if self.rest.starts_with('?') {
            return Err(format!("has a kind of group that is not known here: `({}`", self.rest));
        } else {
            name = Some(String::new());
        }
        let inner = self.alternatives()?;
        self.rest = self.rest.strip_prefix(')').ok_or("has a `(` that is never closed")?;
        self.depth -= 1;
        if look.is_some() {
            return Ok(vec![Vec::new()]);
        }
        let Some(name) = name else { return Ok(inner) };
        // A group with groups in it surrounds them.
        let captures = |spelling: &Spelling| spelling.iter().any(|piece| matches!(piece, Piece::Capture(_)));
        if inner.iter().any(captures) {
            let around = |spelling| [vec![Piece::Capture(name.clone())], spelling].concat();
            Ok(inner.into_iter().map(around).collect())
        } else {
            Ok(vec![vec![Piece::Capture(name)]])
        }
    }

    /// A class of characters. One of whitespace alone is whitespace.
    fn class(&mut self) -> Result<Vec<Spelling>, String> {
        let (mut escaped, mut members) = (false, String::new());
        // A bracket that comes first is a member.
        for (at, c) in self.rest.char_indices() {
            if c == ']' && !escaped && !matches!(members.as_str(), "" | "^") {
                self.rest = &self.rest[at + 1..];
                let space = !members.is_empty() && members.replace("\\s", "").replace("\\n", "").trim().is_empty();
                return Ok(vec![vec![if space { Piece::Space } else { Piece::Any }]]);
            }
            escaped = c == '\\' && !escaped;
            members.push(c);
        }
        Err("has a `[` that is never closed".into())
    }

    /// The atom with the quantifier that follows it.
    fn quantified(&mut self, mut atom: Vec<Spelling>) -> Vec<Spelling> {
        let (optional, many) = match self.rest.chars().next() {
            Some('?') => (true, false),
            Some('*') => (true, true),
            Some('+') => (false, true),
            Some('{') if self.rest[1..].starts_with(|c: char| c.is_ascii_digit() || c == ',') => {
                let end = self.rest.find('}').unwrap_or(0);
                let optional = self.rest[1..].starts_with(['0', ',']);
                self.rest = &self.rest[end..];
                (optional, true)
            }
            _ => return atom,
        };
        self.rest = &self.rest[1..];
        self.rest = self.rest.strip_prefix(['?', '+']).unwrap_or(self.rest);
        let blank =
            |spelling: &Spelling| spelling.iter().all(|piece| matches!(piece, Piece::Text(text) if text.trim().is_empty()));
        let silent = |spelling: &Spelling| spelling.iter().all(|piece| matches!(piece, Piece::Any | Piece::Space));
        if atom.iter().all(|spelling| !spelling.is_empty() && blank(spelling)) {
            return vec![vec![Piece::Space]];
        }
        if !atom.iter().all(silent) {
            if optional && !atom.iter().any(Vec::is_empty) {
                atom.push(Vec::new());
            }
            if many && atom.iter().any(|spelling| spelling.iter().any(|piece| matches!(piece, Piece::Text(_)))) {
                for spelling in atom.iter_mut().filter(|spelling| !spelling.is_empty()) {
                    spelling.push(Piece::Any);
                }
            }
        }
        atom
    }

    fn take(&mut self) -> Option<char> {
        let c = self.rest.chars().next()?;
        self.rest = &self.rest[c.len_utf8()..];
        Some(c)
    }
}

fn text(c: char) -> Vec<Spelling> {
    vec![vec![Piece::Text(c.into())]]
}

/// Neighbouring texts are one, and so is whitespace beside whitespace.
pub(super) fn joined(spelling: Spelling) -> Spelling {
    let mut out: Spelling = Vec::new();
    for piece in spelling {
        match (out.last_mut(), piece) {
            (Some(Piece::Text(before)), Piece::Text(text)) => before.push_str(&text),
            (Some(Piece::Space), Piece::Space) | (Some(Piece::Any), Piece::Any) => {}
            (_, piece) => out.push(piece),
        }
    }
    out
}

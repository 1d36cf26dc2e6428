//! Finds name, arguments and id of a call, and the texts around them, in a template's patterns and its `transform`.

use serde_json::{Map, Value};

use super::pattern::{self, Piece, Spelling, push, texts};

/// Where the parts of a call are, as its `transform` says.
pub(super) struct Shape {
    pub(super) name: Source,
    pub(super) arguments: Source,
    pub(super) id: Option<Source>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Source {
    /// A group of the opening pattern.
    Group(String),
    /// A member of the content.
    Key(String),
    Content,
}

/// The opening pattern around the name.
#[derive(Default)]
pub(super) struct Head {
    /// Markers around a group of calls.
    pub(super) section: Vec<String>,
    /// What comes before the name, or the whole opening marker.
    pub(super) open: Vec<String>,
    /// The texts after the name.
    pub(super) behind: Vec<String>,
    /// Those of them that may follow it at once; the empty one: nothing does.
    pub(super) next: Vec<String>,
    /// What surrounds an id before the name.
    pub(super) id_before: Option<[String; 2]>,
    /// What surrounds an id after the name.
    pub(super) id_behind: Option<[String; 2]>,
    /// The name is part of the id: `functions.f:0`.
    pub(super) numbered: bool,
}

/// What surrounds the key and the value of an argument.
#[derive(Default)]
pub(super) struct Tags {
    pub(super) key: [Vec<String>; 2],
    pub(super) value: [Vec<String>; 2],
    pub(super) attribute: Option<String>,
    /// Around the type, between key and value.
    pub(super) kind: Option<[String; 2]>,
    /// Whitespace around a value belongs to the form.
    pub(super) trimmed: bool,
}

impl Shape {
    pub(super) fn new(spec: &Map<String, Value>) -> Result<Shape, String> {
        let each = spec.get("transform_each") == Some(&Value::Bool(true));
        let whole = |key: &str| Source::Key(key.to_owned());
        let transform = spec.get("transform").unwrap_or(&Value::Null);
        let function = transform.get("function").unwrap_or(transform);
        let source = |value: Option<&Value>| -> Option<Source> {
            let path = value?.as_str()?.strip_prefix('{')?.strip_suffix('}')?;
            Some(match path.strip_prefix("content") {
                Some("") => Source::Content,
                Some(key) if key.starts_with('.') => Source::Key(key[1..].to_owned()),
                _ if each => Source::Key(path.to_owned()),
                _ => Source::Group(path.to_owned()),
            })
        };
        if function.is_null() || source(Some(function)) == Some(Source::Content) {
            return Ok(Shape { name: whole("name"), arguments: whole("arguments"), id: None });
        }
        let id = source(transform.get("id").or_else(|| function.get("id")));
        match (source(function.get("name")), source(function.get("arguments"))) {
            (Some(name), Some(arguments)) => Ok(Shape { name, arguments, id }),
            _ => Err("`transform` does not say where the tool's name and its arguments are".into()),
        }
    }
}

impl Head {
    /// `group` is the name's, `id` the id's.
    pub(super) fn new(spellings: &[Spelling], group: Option<&str>, id: Option<&str>) -> Result<Head, String> {
        let mut head = Head::default();
        for spelling in spellings {
            let at = spelling.iter().position(|piece| group.is_some_and(|group| *piece == Piece::Capture(group.to_owned())));
            let (before, behind) = match at {
                Some(at) => (&spelling[..at], &spelling[at + 1..]),
                None if group.is_some() => return Err("its opening pattern has no group for the tool's name".into()),
                None => (spelling.as_slice(), &[][..]),
            };
            let captured = |pieces: &[Piece]| {
                let group = id?;
                pieces.iter().position(|piece| *piece == Piece::Capture(group.to_owned()))
            };
            let before = match captured(before) {
                // A group around the name: the id is all of it.
                Some(at) if texts(&before[at..]).is_none_or(|texts| texts.iter().all(|text| text.ends_with('.'))) => {
                    head.numbered = true;
                    pattern::joined([&before[..at], &before[at + 1..]].concat())
                }
                Some(at) => {
                    let behind = texts(&before[at..]).and_then(|texts| texts.last().map(|text| (*text).to_owned()));
                    head.id_before = Some([String::new(), behind.unwrap_or_default()]);
                    before[..at].to_vec()
                }
                None => before.to_vec(),
            };
            let mut parts = nested(&before);
            if let Some(open) = parts.pop() {
                push(&mut head.open, &open);
            }
            for section in parts {
                push(&mut head.section, &section);
            }
            let mut after: Vec<String> = texts(behind).into_iter().flatten().map(str::to_owned).collect();
            if let Some(at) = captured(behind) {
                let text = |pieces: &[Piece]| texts(pieces).and_then(|texts| texts.first().map(|text| (*text).to_owned()));
                if let Some(open) = texts(&behind[..at]).and_then(|texts| texts.last().map(|text| (*text).to_owned()))
                    && open != ":"
                {
                    after.retain(|text| *text != open);
                    head.id_behind = Some([open, text(&behind[at..]).unwrap_or_default()]);
                }
            }
            if after.first().is_some_and(|text| text == ":") {
                head.numbered = true;
                after.remove(0);
            }
            push(&mut head.next, after.first().map_or("", String::as_str));
            for text in after {
                push(&mut head.behind, &text);
            }
        }
        // One spelling may lack what the others have.
        head.section.retain(|section| !head.open.contains(section));
        Ok(head)
    }
}

/// The markers of an opening pattern, the outer ones first. `<a><b=` are two, `<a name=` is one.
fn nested(pieces: &[Piece]) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    let mut glued = false;
    for piece in pieces {
        match piece {
            Piece::Text(text) => {
                let text = text.trim().trim_end_matches(['"', '\'']);
                if text.is_empty() {
                    continue;
                }
                match parts.last_mut().filter(|_| glued) {
                    Some(last) => *last = format!("{last} {text}"),
                    None => match text.find("><") {
                        Some(at) => parts.extend([text[..=at].to_owned(), text[at + 1..].to_owned()]),
                        None => parts.push(text.to_owned()),
                    },
                }
                glued = false;
            }
            Piece::Space | Piece::Any => {
                glued = parts.last().is_some_and(|last| last.starts_with('<') && !last.contains('>') && !last.ends_with('='));
            }
            Piece::Capture(_) => {}
        }
    }
    parts
}

impl Tags {
    pub(super) fn add(&mut self, spelling: &[Piece]) -> Result<(), String> {
        let group = |name: &str| spelling.iter().position(|piece| *piece == Piece::Capture(name.to_owned()));
        let (Some(key), Some(value)) = (group("key"), group("value")) else {
            return Err("needs the groups `key` and `value`".into());
        };
        if value < key {
            return Err("has the value before the key, which cannot be expressed".into());
        }
        push(&mut self.key[0], nested(&spelling[..key]).last().map_or("", String::as_str));
        let between: String = spelling[key + 1..value]
            .iter()
            .map(|piece| match piece {
                Piece::Text(text) => text.as_str(),
                _ => " ",
            })
            .collect();
        let between = between.trim_start_matches(['"', '\'']).trim();
        // `</key><value>` are two markers, ` type="x">` is the end of one tag.
        let (end, open) = match between.char_indices().skip(1).find(|&(_, c)| c == '<') {
            Some((at, _)) => between.split_at(at),
            None if between.starts_with("</") => (between, ""),
            None => (between.rsplit(' ').next().unwrap_or_default(), ""),
        };
        if let Some((attribute, _)) = between.split_once("=\"").filter(|_| open.is_empty()) {
            self.attribute = attribute.rsplit(' ').next().map(str::to_owned);
        }
        let end = if open.is_empty() { end.trim_start_matches(|c| c != '>' && end.contains('>')) } else { end };
        // A tag between them says the type.
        let open = match open.split_whitespace().collect::<Vec<_>>().as_slice() {
            [kind_open, kind_close, open] => {
                self.kind = Some([(*kind_open).to_owned(), (*kind_close).to_owned()]);
                *open
            }
            [] => "",
            [open] => *open,
            _ => return Err("has more between key and value than can be expressed".into()),
        };
        push(&mut self.key[1], end.trim());
        push(&mut self.value[0], open);
        let close = texts(&spelling[value + 1..]);
        push(&mut self.value[1], close.and_then(|texts| texts.first().copied()).unwrap_or_default());
        self.trimmed |= match (spelling[..value].last(), spelling.get(value + 1)) {
            (Some(Piece::Space), _) | (_, Some(Piece::Space)) => true,
            (Some(Piece::Text(before)), _) if before.ends_with(char::is_whitespace) => true,
            (_, Some(Piece::Text(behind))) => behind.starts_with(char::is_whitespace),
            _ => false,
        };
        Ok(())
    }
}

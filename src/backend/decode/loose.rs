//! Types for JSON fields as real backends write them. Each accepts null, absence and the usual other types without an error, and
//! copies nothing unless it has to unescape.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer, de::Error};
use serde_json::{Value, value::RawValue};

/// A string. Null and absence are empty, a number is its digits, a list of parts (`[{"text": ...}]`) is their text.
#[derive(Debug, Default, Clone)]
pub(super) struct Text<'a>(pub(super) Cow<'a, str>);

/// The content of a message: a text, or a list of parts, some of which are reasoning (`[{"type": "thinking", "thinking": [..]}]`).
#[derive(Debug, Default, Clone)]
pub(super) struct Content<'a> {
    pub(super) text: Text<'a>,
    pub(super) thinking: Text<'a>,
}

/// A count or an index, which may be written as a string or a float.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Number(pub(super) Option<u64>);

/// The arguments of a call as text: the content of a string, or the JSON of another value; `None` for null and absence.
#[derive(Debug, Default, Clone)]
pub(super) struct Arguments<'a>(pub(super) Option<Cow<'a, str>>);

#[derive(Deserialize, Default)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Function<'a> {
    pub(super) name: Text<'a>,
    pub(super) arguments: Arguments<'a>,
}

impl Text<'_> {
    pub(super) fn some(&self) -> Option<&str> {
        (!self.0.is_empty()).then_some(&*self.0)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Content::deserialize(deserializer).map(|content| content.text)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Content<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        content(<&RawValue>::deserialize(deserializer)?, LISTS).map_err(D::Error::custom)
    }
}

/// A part of a content, whose own fields may be lists of parts.
#[derive(Deserialize)]
struct Part<'a> {
    #[serde(borrow)]
    text: Option<&'a RawValue>,
    #[serde(borrow)]
    thinking: Option<&'a RawValue>,
}

/// So many lists of parts may be in each other; those below are empty.
const LISTS: usize = 4;

fn content(value: &RawValue, lists: usize) -> serde_json::Result<Content<'_>> {
    let json = value.get();
    let text = |text| Ok(Content { text: Text(text), ..Content::default() });
    match json.as_bytes().first() {
        Some(b'"') => text(string(json)?),
        Some(b'[') if lists > 0 => {
            let mut all = Content::default();
            for part in serde_json::from_str::<Vec<&RawValue>>(json)? {
                let part = content(part, lists - 1)?;
                all.text.0.to_mut().push_str(&part.text.0);
                all.thinking.0.to_mut().push_str(&part.thinking.0);
            }
            Ok(all)
        }
        Some(b'{') if lists > 0 => {
            let part: Part<'_> = serde_json::from_str(json)?;
            let [text, thinking] = [part.text, part.thinking].map(|field| field.map(|field| content(field, lists - 1)));
            Ok(Content {
                text: text.transpose()?.unwrap_or_default().text,
                thinking: thinking.transpose()?.unwrap_or_default().text,
            })
        }
        Some(b'-' | b'0'..=b'9') => text(json.into()),
        _ => text("".into()),
    }
}

/// The text of a JSON string.
fn string(json: &str) -> serde_json::Result<Cow<'_, str>> {
    if json.contains('\\') { serde_json::from_str(json).map(Cow::Owned) } else { Ok(json.trim_matches('"').into()) }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Number(match Value::deserialize(deserializer)? {
            Value::Number(number) => {
                number.as_u64().or_else(|| number.as_f64().filter(|number| *number >= 0.0).map(|number| number as u64))
            }
            Value::String(text) => text.trim().parse().ok(),
            Value::Null | Value::Bool(_) => None,
            other => return Err(D::Error::custom(format!("{other} is not a number"))),
        }))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Arguments<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = <&RawValue>::deserialize(deserializer)?.get();
        Ok(Arguments(match raw.as_bytes().first() {
            Some(b'"') => Some(string(raw).map_err(D::Error::custom)?),
            Some(b'n') => None,
            _ => Some(Cow::Borrowed(raw)),
        }))
    }
}

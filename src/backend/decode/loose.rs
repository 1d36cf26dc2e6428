//! Types for JSON fields as real backends write them. Each accepts null, absence and the usual other types without an error, and
//! copies nothing unless it has to unescape.

use std::{borrow::Cow, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{Error, IgnoredAny, MapAccess, SeqAccess, Visitor},
};
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

struct TextVisitor;

impl Text<'_> {
    pub(super) fn some(&self) -> Option<&str> {
        (!self.0.is_empty()).then_some(&*self.0)
    }
}

impl<'a> Text<'a> {
    /// The raw text of the JSON string, if it contains no escapes.
    pub(super) fn written(&self) -> Option<&'a str> {
        match self.0 {
            Cow::Borrowed(text) => Some(text),
            Cow::Owned(_) => None,
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextVisitor).map(Text)
    }
}

impl<'de> Visitor<'de> for TextVisitor {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(text.to_owned()))
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(""))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(""))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
        Ok(Cow::Owned(number.to_string()))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Self::Value, E> {
        Ok(Cow::Owned(number.to_string()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Self::Value, E> {
        Ok(Cow::Owned(number.to_string()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Self::Value, A::Error> {
        let mut all = String::new();
        while let Some(part) = parts.next_element::<Text<'de>>()? {
            all.push_str(&part.0);
        }
        Ok(Cow::Owned(all))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut part: A) -> Result<Self::Value, A::Error> {
        let mut text = Cow::Borrowed("");
        while let Some(key) = part.next_key::<Text<'de>>()? {
            if key.0 == "text" {
                text = part.next_value::<Text<'de>>()?.0;
            } else {
                part.next_value::<IgnoredAny>()?;
            }
        }
        Ok(text)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Content<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ContentVisitor)
    }
}

struct ContentVisitor;

impl<'de> Visitor<'de> for ContentVisitor {
    type Value = Content<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string or a list of parts")
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
        TextVisitor.visit_borrowed_str(text).map(Content::from)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        TextVisitor.visit_str(text).map(Content::from)
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(Content::default())
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Self::Value, E> {
        Ok(Content::default())
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Self::Value, E> {
        TextVisitor.visit_u64(number).map(Content::from)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Self::Value, E> {
        TextVisitor.visit_i64(number).map(Content::from)
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Self::Value, E> {
        TextVisitor.visit_f64(number).map(Content::from)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Self::Value, A::Error> {
        let mut all = Content::default();
        while let Some(part) = parts.next_element::<Content<'de>>()? {
            all.text.0.to_mut().push_str(&part.text.0);
            all.thinking.0.to_mut().push_str(&part.thinking.0);
        }
        Ok(all)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut part: A) -> Result<Self::Value, A::Error> {
        let mut content = Content::default();
        while let Some(key) = part.next_key::<Text<'de>>()? {
            match &*key.0 {
                "text" => content.text = part.next_value()?,
                "thinking" => content.thinking = part.next_value()?,
                _ => drop(part.next_value::<IgnoredAny>()?),
            }
        }
        Ok(content)
    }
}

impl<'a> From<Cow<'a, str>> for Content<'a> {
    fn from(text: Cow<'a, str>) -> Content<'a> {
        Content { text: Text(text), ..Content::default() }
    }
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
            Some(b'"') => Some(serde_json::from_str::<Text<'a>>(raw).map_err(D::Error::custom)?.0),
            Some(b'n') => None,
            _ => Some(Cow::Borrowed(raw)),
        }))
    }
}

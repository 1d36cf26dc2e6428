//! JSON as the standard has it: text -> [`serde_json::Value`] at serde_json's own speed, and what `Value` hides or would
//! have to be searched for: whether an object had the same key twice, and whether a key may hold markup.

#[cfg(test)]
mod tests;

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// A document that strict JSON accepts.
#[derive(Debug, Clone, PartialEq)]
pub struct Strict {
    /// The value; of equal keys the last one is in it.
    pub value: Value,
    /// Whether some object had a key twice.
    pub repeated_key: bool,
    /// Whether some key contains `<`.
    pub angled_key: bool,
}

/// An object gets room for as many members as the one before it had, but at first for no more than these.
const ROOM: usize = 16;

/// Parses the whole text (whitespace around it is allowed); at most 128 levels deep.
pub fn parse(text: &str) -> Result<Strict, serde_json::Error> {
    // A map takes room for three at its first member anyway.
    let mut seen = Seen { repeated_key: false, angled_key: false, members: 3 };
    let mut source = serde_json::Deserializer::from_str(text);
    let value = Build { seen: &mut seen }.deserialize(&mut source)?;
    source.end()?;
    Ok(Strict { value, repeated_key: seen.repeated_key, angled_key: seen.angled_key })
}

/// What was seen of the objects so far.
struct Seen {
    repeated_key: bool,
    angled_key: bool,
    /// How many members the last one had: the rows of a list are alike.
    members: usize,
}

/// Builds a `Value` like serde_json's own visitor does.
struct Build<'r> {
    seen: &'r mut Seen,
}

/// Reads a key.
struct Name<'r> {
    seen: &'r mut Seen,
}

impl<'de> DeserializeSeed<'de> for Name<'_> {
    type Value = String;

    fn deserialize<D: Deserializer<'de>>(self, source: D) -> Result<String, D::Error> {
        source.deserialize_str(self)
    }
}

impl Visitor<'_> for Name<'_> {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E>(self, name: &str) -> Result<String, E> {
        self.seen.angled_key |= name.bytes().any(|byte| byte == b'<');
        Ok(name.to_owned())
    }
}

impl<'de> DeserializeSeed<'de> for Build<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, source: D) -> Result<Value, D::Error> {
        source.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Build<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("number out of range"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(Build { seen: self.seen })? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut map = Map::with_capacity(self.seen.members.min(ROOM));
        while let Some(key) = members.next_key_seed(Name { seen: self.seen })? {
            let value = members.next_value_seed(Build { seen: self.seen })?;
            self.seen.repeated_key |= map.insert(key, value).is_some();
        }
        self.seen.members = map.len();
        Ok(Value::Object(map))
    }
}

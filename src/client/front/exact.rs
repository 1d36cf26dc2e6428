//! JSON in which the objects at one path stay texts of JSON: a number of a [`Value`] has 17 digits at most, and a longer one in
//! the arguments of a call would change.

use std::fmt;

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{DeserializeSeed, MapAccess, SeqAccess, Visitor},
    ser::SerializeMap,
};
use serde_json::{Map, Value, value::RawValue};

use crate::{error::Error, openai};

/// The members that lead to the objects, through lists too.
pub(super) type Path = &'static [&'static str];

/// Reads a request body. The objects at the path are texts without whitespace between their tokens.
///
/// # Errors
/// 400, with the place that is not valid.
pub(super) fn read(body: &[u8], path: Path) -> Result<Value, Error> {
    openai::json_with(body, |json| {
        let mut json = serde_json::Deserializer::from_slice(json);
        let value = At(path).deserialize(&mut json)?;
        json.end().map(|()| value)
    })
}

/// Writes an object in which the texts at the path are JSON.
pub(super) fn written(value: &Value, path: Path) -> String {
    serde_json::to_string(&Written { value, path: Some(path) }).unwrap_or_default()
}

/// A value that is read along the rest of the path.
struct At(Path);

struct Written<'v> {
    value: &'v Value,
    /// `None`: the path does not lead here.
    path: Option<Path>,
}

impl<'de> DeserializeSeed<'de> for At {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Value, D::Error> {
        if !self.0.is_empty() {
            return json.deserialize_any(self);
        }
        let raw = <&RawValue>::deserialize(json)?.get();
        if raw.starts_with('{') {
            return Ok(Value::String(plain(raw)));
        }
        openai::parse(raw.as_bytes()).map_err(serde::de::Error::custom)
    }
}

impl<'de> Visitor<'de> for At {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            let value = match self.0 {
                [next, rest @ ..] if name == *next => members.next_value_seed(At(rest))?,
                _ => members.next_value()?,
            };
            object.insert(name, value);
        }
        Ok(Value::Object(object))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(At(self.0))? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }
}

impl Serialize for Written<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match (self.value, self.path) {
            (Value::String(json), Some([])) => match serde_json::from_str::<&RawValue>(json) {
                Ok(json) => json.serialize(serializer),
                Err(_) => serializer.serialize_map(Some(0))?.end(),
            },
            (Value::Array(list), Some(_)) => serializer.collect_seq(list.iter().map(|value| Written { value, path: self.path })),
            (Value::Object(object), Some([next, rest @ ..])) => serializer.collect_map(object.iter().map(|(name, value)| {
                let path = (name == next).then_some(rest);
                (name, Written { value, path })
            })),
            (value, _) => value.serialize(serializer),
        }
    }
}

/// The same JSON without whitespace between its tokens, and with escapes only where JSON needs them: clients write `\u00e9`, which
/// a model would imitate.
fn plain(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(quote) = rest.find('"') {
        out.extend(rest[..quote].chars().filter(|c| !c.is_ascii_whitespace()));
        let length = string_length(&rest[quote..]);
        let (token, after) = rest[quote..].split_at(length);
        match token.contains('\\').then(|| openai::parse::<Value>(token.as_bytes())) {
            Some(Ok(text)) => out.push_str(&text.to_string()),
            _ => out.push_str(token),
        }
        rest = after;
    }
    out.extend(rest.chars().filter(|c| !c.is_ascii_whitespace()));
    out
}

/// The length of the string at the start of valid JSON, with its quotes.
fn string_length(json: &str) -> usize {
    let mut escaped = false;
    let end = json.bytes().skip(1).position(|byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    });
    end.map_or(json.len(), |end| end + 2)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn objects_at_the_path_keep_their_digits_and_all_else_is_read_as_usual() {
        let body = r#"{"a": [{"in": {"n": 100000000000000000001, "f": 1e400, "t": "\u00e9 \" \\", "s": "a b"}, "k": [1, -2, 0.5, null, true]}, "x", {"in": "y"}, {"in": null}], "in": {"n": 1}}"#;
        let read = read(body.as_bytes(), &["a", "in"]).unwrap();
        let text = r#"{"n":100000000000000000001,"f":1e400,"t":"é \" \\","s":"a b"}"#;
        assert_eq!(
            read,
            json!({"a": [{"in": text, "k": [1, -2, 0.5, null, true]}, "x", {"in": "y"}, {"in": null}], "in": {"n": 1}})
        );
        let mut back = read.clone();
        back["a"].as_array_mut().unwrap().truncate(1);
        assert!(written(&back, &["a", "in"]).starts_with(&format!(r#"{{"a":[{{"in":{text},"k":[1"#)));
    }

    #[test]
    fn a_half_of_a_surrogate_pair_is_replaced_and_a_fault_is_named() {
        let cut = br#"{"a": {"in": {"t": "\ud83d"}}, "b": "\ud83d"}"#;
        assert_eq!(read(cut, &["a", "in"]).unwrap(), json!({"a": {"in": "{\"t\":\"\u{fffd}\"}"}, "b": "\u{fffd}"}));
        for broken in ["", "{", r#"{"a": {"in": {"t": }}}"#, r#"{"a": 1} 2"#, r#"{"a": {"in": {"t": 1}}"#] {
            let error = read(broken.as_bytes(), &["a", "in"]).unwrap_err();
            assert!(error.message.starts_with("the request body is not valid JSON: ") && error.status == 400, "{broken}");
        }
    }
}

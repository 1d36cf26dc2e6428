//! The fields of a request body. Its tools may be known from an earlier request, so they are looked up before they are parsed.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::{Map, Value, value::RawValue};

use super::{Definitions, Lists};

/// The text of the tools, and the other fields. Read by hand, because serde's `flatten` keeps no raw text.
struct Fields<'b> {
    tools: Option<&'b RawValue>,
    rest: Map<String, Value>,
}

/// The tools of a body, and its other fields. Tools that are no list are among the others.
///
/// # Errors
/// Where the JSON is not valid, or not an object.
pub(super) fn read(body: &[u8], lists: &Lists) -> serde_json::Result<(Definitions, Map<String, Value>)> {
    let Fields { tools, mut rest } = serde_json::from_slice(body)?;
    let Some(text) = tools.map(RawValue::get) else { return Ok((Definitions::default(), rest)) };
    if let Some(known) = lists.find(text) {
        return Ok((known, rest));
    }
    // What is wrong in the tools is at another place in the body.
    let in_body = |error| serde_json::from_slice::<Value>(body).err().unwrap_or(error);
    match serde_json::from_str(text).map_err(in_body)? {
        Value::Array(list) => Ok((lists.keep(text, list), rest)),
        other => {
            rest.insert("tools".into(), other);
            Ok((Definitions::default(), rest))
        }
    }
}

impl<'de: 'b, 'b> Deserialize<'de> for Fields<'b> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(FieldsVisitor)
    }
}

struct FieldsVisitor;

impl<'de> Visitor<'de> for FieldsVisitor {
    type Value = Fields<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let (mut tools, mut rest) = (None, Map::new());
        while let Some(name) = map.next_key::<String>()? {
            if name == "tools" {
                tools = Some(map.next_value()?);
            } else {
                rest.insert(name, map.next_value()?);
            }
        }
        Ok(Fields { tools, rest })
    }
}

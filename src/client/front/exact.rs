//! JSON in which the objects at one path stay texts of JSON: a number of a [`Value`] has 17 digits at most, and a longer one in
//! the arguments of a call would change.

use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::{Value, value::RawValue};

use crate::{
    error::Error,
    json::{
        strict,
        tree::{Node, Value as Json},
    },
    openai,
};

/// The members that lead to the objects, through lists too.
pub(super) type Path = &'static [&'static str];

/// Reads a request body. The objects at the path are texts without whitespace between their tokens.
///
/// # Errors
/// 400, with the place that is not valid.
pub(super) fn read(body: &[u8], path: Path) -> Result<Value, Error> {
    let whole = openai::without_halves(body);
    match std::str::from_utf8(&whole).ok().and_then(strict::parse) {
        Some(node) => Ok(value(&node, path)),
        None => openai::json(body),
    }
}

/// Writes an object in which the texts at the path are JSON.
pub(super) fn written(value: &Value, path: Path) -> String {
    serde_json::to_string(&Written { value, path: Some(path) }).unwrap_or_default()
}

/// A value that is read along the rest of the path. The texts have escapes only where JSON needs them: clients write `\u00e9`, which
/// a model would imitate.
fn value(node: &Node<'_>, path: Path) -> Value {
    match (path, &node.value) {
        ([], Json::Object(_)) => node.clone().detached(0, 0).to_json("").into(),
        ([_, ..], Json::Array(items)) => items.iter().map(|item| value(item, path)).collect(),
        ([next, rest @ ..], Json::Object(members)) => {
            let along = |name: &str, inside: &Node<'_>| if name == *next { value(inside, rest) } else { inside.to_serde() };
            members.iter().map(|member| (member.key.clone().into_owned(), along(&member.key, &member.node))).collect()
        }
        _ => node.to_serde(),
    }
}

struct Written<'v> {
    value: &'v Value,
    /// `None`: the path does not lead here.
    path: Option<Path>,
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{read, written};

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
        let deep = format!(r#"{{"a": {}1"#, "[".repeat(200_000));
        assert!(
            read(format!("{deep}{}}}", "]".repeat(200_000)).as_bytes(), &["a", "in"]).unwrap_err().message.contains("recursion")
        );
        for broken in ["", "{", r#"{"a": {"in": {"t": }}}"#, r#"{"a": 1} 2"#, r#"{"a": {"in": {"t": 1}}"#] {
            let error = read(broken.as_bytes(), &["a", "in"]).unwrap_err();
            assert!(error.message.starts_with("the request body is not valid JSON: ") && error.status == 400, "{broken}");
        }
    }
}

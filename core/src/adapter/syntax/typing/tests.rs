//! What becomes of a bare text under a schema.

use super::{Hint, argument};
use crate::{
    event::Tool,
    fix::{Place, View},
};

fn value(parameter: &str, text: &str, hint: Hint) -> String {
    let schema = format!(
        r##"{{"properties":{{"p":{parameter}}},"$defs":{{"Count":{{"type":"integer"}},"one two":{{"type":"boolean"}},"Loop":{{"$ref":"#/$defs/Loop"}},
        "Own":{{"$id":"own","$defs":{{"Count":{{"type":"string"}}}},"$ref":"#/$defs/Count"}}}}}}"##
    );
    argument(View::of(Some(&Tool::new("t", "", schema))).root(), "p", text, hint)
}

#[test]
fn the_schema_decides_whether_a_text_is_a_string() {
    for (parameter, text, expected) in [
        (r#"{"type":"string"}"#, "42", r#""42""#),
        (r#"{"type":"string"}"#, r#"{"a": 1}"#, r#""{\"a\": 1}""#),
        (r#"{"type":"string"}"#, r#""quoted""#, r#""\"quoted\"""#),
        (r#"{"type":"string"}"#, "null", r#""null""#),
        (r#"{"type":"string","nullable":true}"#, "null", "null"),
        (r#"{"type":"integer"}"#, " 42 ", "42"),
        (r#"{"type":"integer"}"#, "9007199254740993", "9007199254740993"),
        (r#"{"type":"integer"}"#, "007", "7"),
        (r#"{"type":"integer"}"#, "three", r#""three""#),
        (r#"{"type":"boolean"}"#, "True", "true"),
        (r#"{"type":"object"}"#, r#"{"a": 1.50}"#, r#"{"a": 1.50}"#),
        (r#"{"type":"array"}"#, "[1, 2", r#""[1, 2""#),
        // Several types: the most special one that fits.
        (r#"{"type":["string","integer"]}"#, "42", "42"),
        (r#"{"type":["string","integer"]}"#, "42 days", r#""42 days""#),
        (r#"{"type":["string","null"]}"#, "null", "null"),
        (r#"{"type":["string","null"],"not":{"type":"null"}}"#, "null", r#""null""#),
        (r#"{"anyOf":[{"type":"string"},{"type":"object"}]}"#, r#"{"a":1}"#, r#"{"a":1}"#),
        (r#"{"anyOf":[{"type":"string"},{"type":"object"}]}"#, "{a", r#""{a""#),
        (r#"{"oneOf":[{"type":"null"},{}]}"#, "null", r#""null""#),
        (r#"{"type":"string","anyOf":[{"minLength":1},{"type":"null"}]}"#, "null", r#""null""#),
        // Constants are what they are.
        (r#"{"anyOf":[{"const":"42"},{"type":"integer"}]}"#, "42", r#""42""#),
        (r#"{"anyOf":[{"const":"42"},{"type":"integer"}]}"#, "43", "43"),
        (r#"{"enum":["null","none"]}"#, "null", r#""null""#),
        (r#"{"const":null}"#, "null", "null"),
        // References, also such as lead nowhere.
        (r##"{"$ref":"#/$defs/Count"}"##, "7", "7"),
        (r##"{"$ref":"#/$defs/one%20two"}"##, "true", "true"),
        (r##"{"$ref":"#/$defs/Own"}"##, "7", r#""7""#),
        (r##"{"$ref":"#/$defs/Loop"}"##, "7", r#""7""#),
        (r##"{"$ref":"#/$defs/%F"}"##, "7", r#""7""#),
        // Nothing is said: what it looks like.
        ("{}", "[1, 2]", "[1, 2]"),
        ("{}", "null", "null"),
        ("{}", "plain", r#""plain""#),
        (r#"{"type":"any"}"#, "{'a': None}", r#"{"a":null}"#),
    ] {
        let got = value(parameter, text, Hint::None);
        assert_eq!(got.replace(": ", ":"), expected.replace(": ", ":"), "{text:?} as {parameter}");
    }
}

#[test]
fn the_form_may_say_more_than_the_schema() {
    for (parameter, text, hint, expected) in [
        (r#"{"type":"integer"}"#, "5", Hint::Text, r#""5""#),
        (r#"{"type":"string"}"#, "5", Hint::Json, r#""5""#),
        (r#"{"type":"string"}"#, "null", Hint::Json, r#""null""#),
        ("{}", r#""word""#, Hint::Json, r#""word""#),
        ("{}", "[broken", Hint::Json, r#""[broken""#),
    ] {
        assert_eq!(value(parameter, text, hint), expected, "{text:?} as {parameter}, {hint:?}");
    }
    assert_eq!(argument(Place::unknown(), "k", "1", Hint::None), "1");
    assert_eq!(argument(Place::unknown(), "k", "\"1\"", Hint::None), r#""1""#);
}

//! Schemas that would cost without end, and what a place of a schema says.

use std::sync::Arc;

use serde_json::json;

use super::*;
use crate::fix::{End, Verdict, fix};

fn schema(text: &Value) -> Arc<Schema> {
    Schemas::default().get(&Arc::from(text.to_string()))
}

/// `depth` levels, each of which refers to the next one twice.
fn doubled(depth: usize, keyword: &str) -> Value {
    let mut defs = serde_json::Map::new();
    for level in 0..depth {
        let next = json!({"$ref": format!("#/$defs/l{}", level + 1)});
        defs.insert(format!("l{level}"), json!({keyword: [next, next]}));
    }
    defs.insert(format!("l{depth}"), json!({"type": "integer"}));
    json!({"type": "object", "properties": {"x": {"$ref": "#/$defs/l0"}}, "$defs": defs})
}

#[test]
fn doubled_references_are_not_expanded() {
    for keyword in ["anyOf", "oneOf", "allOf"] {
        for depth in [5, 22, 60] {
            for source in [r#"{"x":"no"}"#, r#"{"x":1,}"#, r#"{"x":{"y":[1]}}"#] {
                fix(source, Some(&schema(&doubled(depth, keyword))), &[], End::Closed);
            }
        }
    }
    // What can be afforded is checked.
    let report = fix(r#"{"x":"no"}"#, Some(&schema(&doubled(5, "anyOf"))), &[], End::Closed);
    assert_eq!(report.verdict, Verdict::Refused, "{report:?}");
}

#[test]
fn schemas_that_refer_to_themselves_are_checked_as_far_as_that_is_affordable() {
    let tree = json!({"$defs": {"t": {"type": "object", "properties": {"n": {"type": "integer"}, "kids": {"type": "array",
        "items": {"$ref": "#/$defs/t"}}}, "required": ["n"]}}, "$ref": "#/$defs/t"});
    let tree = schema(&tree);
    assert_eq!(fix(r#"{"n":1,"kids":[{"n":2}]}"#, Some(&tree), &[], End::Closed).verdict, Verdict::Clean);
    assert_eq!(fix(r#"{"n":1,"kids":[{"m":2}]}"#, Some(&tree), &[], End::Closed).verdict, Verdict::Refused);
    let twice = schema(&json!({"$defs": {"t": {"anyOf": [{"properties": {"x": {"$ref": "#/$defs/t"}}, "required": ["y"]},
        {"properties": {"x": {"$ref": "#/$defs/t"}}, "required": ["z"]}]}}, "$ref": "#/$defs/t"}));
    let deep = format!("{}1{}", r#"{"x":"#.repeat(60), "}".repeat(60));
    assert_eq!(fix(&deep, Some(&twice), &[], End::Closed).verdict, Verdict::Refused);
}

#[test]
fn what_cannot_be_bounded_checks_nothing() {
    let chain: serde_json::Map<String, Value> =
        (0..5000).map(|at| (format!("l{at}"), json!({"$ref": format!("#/$defs/l{}", at + 1)}))).collect();
    for text in [
        json!({"$ref": "#"}),
        json!({"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"allOf": [{"$ref": "#/$defs/a"}]}}, "$ref": "#/$defs/a"}),
        json!({"$defs": chain, "$ref": "#/$defs/l0"}),
        json!({"type": "object", "description": "x".repeat(3 << 20)}),
        json!({"$dynamicRef": "#x"}),
    ] {
        let report = fix("{'anything':1,}", Some(&schema(&text)), &[], End::Closed);
        assert_eq!(report.accepted(), Some(r#"{"anything":1}"#));
    }
}

#[test]
fn many_properties_are_found_by_every_spelling() {
    let properties: serde_json::Map<String, Value> =
        (0..40).map(|at| (format!("key_number_{at}"), json!({"type": "integer"}))).collect();
    let schema = schema(&json!({"type": "object", "properties": properties, "additionalProperties": false}));
    let report = fix(r#"{"keyNumber7":"3","KEY-NUMBER-39":4}"#, Some(&schema), &[], End::Closed);
    assert_eq!(report.accepted(), Some(r#"{"key_number_7":3,"key_number_39":4}"#), "{report:?}");
}

#[test]
fn places_say_what_is_described() {
    let view = View::new(view::document(
        r##"{"properties":{"a":{"$ref":"#/$defs/one%20two"},"b":{"type":"str","nullable":true},"c":{"anyOf":[{"type":"null"},
        {"type":"array","items":{"type":"int"}}]},"d":{"type":"object","additionalProperties":{"enum":[1]}},"e":{}},
        "required":["a"],"$defs":{"one two":{"type":"boolean"},"loop":{"$ref":"#/$defs/loop"}}}"##,
    ));
    let root = view.root();
    assert_eq!(root.keys().collect::<Vec<_>>(), ["a", "b", "c", "d", "e"]);
    assert_eq!(root.required().collect::<Vec<_>>(), ["a"]);
    assert!(root.has("e") && !root.has("f") && !root.member("f").is_known());
    assert_eq!(root.member("a").accepts(&json!(true)), Some(true));
    assert_eq!(root.member("a").allows(Types::STRING), Some(false));
    assert_eq!(root.member("b").allows(Types::NULL), Some(true));
    assert!(!root.member("b").is_plain_string());
    assert_eq!(root.member("b").accepts(&json!(null)), Some(true));
    assert_eq!(root.member("c").element().allows(Types::INTEGER), Some(true));
    assert_eq!(root.member("c").allows(Types::ARRAY), Some(true));
    assert_eq!(root.member("d").member("any").accepts(&json!(2)), Some(false));
    assert!(root.member("e").is_untyped() && root.member("e").allows(Types::STRING).is_none());
    assert_eq!(View::of(None).root().keys().count(), 0);
}

#[test]
fn schemas_in_words_of_other_languages_are_checked() {
    for (property, fits, misfit) in [
        (json!({"type": "INTEGER"}), "7", Some("\"seven\"")),
        (json!({"type": "dict", "properties": {"a": {"type": "int"}}}), "{\"a\":1}", Some("{\"a\":\"x\"}")),
        (json!({"type": "List", "items": {"type": "float"}}), "[1.5]", Some("[\"x\"]")),
        (json!({"type": ["STRING", "NULL"]}), "null", None),
        (json!({"type": "string", "nullable": true}), "null", None),
        (json!({"type": "string", "enum": ["a"], "nullable": true}), "null", Some("\"b\"")),
        (json!({"type": "string", "enum": ["a", null], "nullable": true}), "null", Some("\"b\"")),
        (json!({"$ref": "#/$defs/n", "nullable": true}), "null", Some("\"b\"")),
        (json!({"anyOf": [{"type": "integer"}], "nullable": true}), "null", Some("\"b\"")),
        // A keyword that is wrong is not checked, the others are.
        (json!({"type": "integer", "required": true}), "7", Some("\"seven\"")),
        (json!({"type": "integer", "minimum": 3, "exclusiveMinimum": true}), "7", Some("\"seven\"")),
        (json!({"type": "string", "pattern": "(?<!a", "maxLength": 3}), "\"abc\"", Some("\"abcd\"")),
        (json!({"type": "file"}), "[1]", None),
        (json!({"type": {"no": "type"}}), "[1]", None),
    ] {
        let text = json!({"type": "object", "properties": {"p": property, "q": {"type": "boolean"}}, "required": ["p"],
            "$defs": {"n": {"type": "NUMBER"}}});
        let schema = schema(&text);
        let verdict = |value: &str| fix(&format!("{{\"p\":{value}}}"), Some(&schema), &[], End::Closed).verdict;
        assert_ne!(verdict(fits), Verdict::Refused, "{text} {fits}");
        if let Some(misfit) = misfit {
            assert_eq!(verdict(misfit), Verdict::Refused, "{text} {misfit}");
        }
        let other = fix(&format!("{{\"p\":{fits},\"q\":[2]}}"), Some(&schema), &[], End::Closed);
        assert_eq!(other.verdict, Verdict::Refused, "{text}: the other property");
    }
}

/// What building and using a schema may cost in a build without optimisation.
const MOST: std::time::Duration = std::time::Duration::from_millis(900);

/// The processor time of this thread so far.
fn processor_time() -> std::time::Duration {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    std::time::Duration::from_nanos(stat.split(' ').next().unwrap().parse().unwrap())
}

/// A tool's schema costs little, whatever it holds.
///
/// source: an attack on 2026-11-28: 9 s and 2.5 GB, 30 s and 4.4 GB, 23.5 s, 1.1 s, 0.2 s (13.8 s for a longer text).
#[test]
fn what_a_schema_costs_is_bounded() {
    let properties =
        |of: &dyn Fn(usize) -> (String, Value), count| -> Value { (0..count).map(of).collect::<serde_json::Map<_, _>>().into() };
    let patterns = properties(&|at| (format!("p{at}"), json!({"type": "string", "pattern": "\\w{200}"})), 1000);
    let some_patterns = properties(&|at| (format!("p{at}"), json!({"type": "string", "pattern": "\\w{200}"})), 60);
    let many = properties(&|at| (format!("^x{at}_\\w{{20}}"), json!({"type": "string"})), 3000);
    let values: Vec<Value> = (0..100_000).map(|at| Value::from(format!("v{at}"))).collect();
    let words: Vec<Value> = (0..5000).map(|at| Value::from(format!("Word Number {at}"))).collect();
    let listed: Vec<Value> = (0..1000).map(|at| Value::from(format!("v{}", at * 99))).collect();
    let fuzzy: Vec<Value> = (0..500).map(|at| Value::from(format!("word_number_{}", at * 9))).collect();
    let alternatives: Vec<Value> = (0..2000).map(|at| json!({"type": "object", "required": [format!("k{at}")]})).collect();
    for (what, schema, arguments) in [
        ("patterns", json!({"type": "object", "properties": patterns}), json!({"p1": "x"})),
        ("some patterns", json!({"type": "object", "properties": some_patterns}), json!({"p1": "x".repeat(80_000)})),
        ("patternProperties", json!({"type": "object", "patternProperties": many}), json!({"x1_a": "x"})),
        (
            "enum",
            json!({"type": "object", "properties": {"l": {"type": "array", "items": {"enum": values}}}}),
            json!({"l": listed}),
        ),
        (
            "fuzzy",
            json!({"type": "object", "properties": {"l": {"type": "array", "items": {"enum": words}}}}),
            json!({"l": fuzzy}),
        ),
        (
            "lookbehind",
            json!({"type": "object", "properties": {"t": {"type": "string", "pattern": "(?<=(?<=(?<=a*)b*)c*)d"}}}),
            json!({"t": "abc".repeat(30_000)}),
        ),
        (
            "alternatives",
            json!({"type": "object", "properties": {"l": {"type": "array", "items": {"anyOf": alternatives}}}}),
            json!({"l": vec!["other"; 2000]}),
        ),
    ] {
        let text: Arc<str> = Arc::from(schema.to_string());
        let begun = processor_time();
        let compiled = Schemas::default().get(&text);
        let built = processor_time() - begun;
        let report = fix(&arguments.to_string(), Some(&compiled), &[], End::Closed);
        let all = processor_time() - begun;
        println!("{what}: {built:?} {all:?}");
        let is_right = report.accepted().is_some() || ["some patterns", "alternatives"].contains(&what);
        assert!(is_right, "{what}: {:?}", report.why);
        assert!(all < MOST, "{what}: {built:?} of {all:?}");
    }
}

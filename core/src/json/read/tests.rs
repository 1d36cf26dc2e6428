//! The reader by itself: places, exact copies, endings, rivals.

use super::*;
use crate::json::tree::Value;

/// Knows nothing.
struct Unguided;

impl Guide for Unguided {
    fn root(&self) -> Shape {
        Shape(0)
    }

    fn member(&self, _: Shape, _: &str) -> Shape {
        Shape(0)
    }

    fn item(&self, _: Shape) -> Shape {
        Shape(0)
    }

    fn key(&self, _: Shape, _: &str) -> Key {
        Key::Open
    }

    fn missing(&self, _: Shape, _: u64) -> u32 {
        0
    }
}

fn reading(source: &str) -> Reading<'_> {
    read(source, source.find(['{', '[']).unwrap(), &Unguided).unwrap()
}

fn text_of(source: &str) -> String {
    reading(source).root.to_json(source)
}

#[test]
fn what_is_strict_is_copied() {
    let source = r#"{ "a" : [ 1.50 , "\u00e9" ] , b : { "c":1e+2 },}"#;
    assert_eq!(text_of(source), r#"{"a":[ 1.50 , "\u00e9" ],"b":{ "c":1e+2 }}"#);
}

#[test]
fn values_know_their_places() {
    let source = "x {'key': [10, \"ten\", {\"n\": 1}]} y";
    let reading = reading(source);
    let Value::Object(members) = &reading.root.value else { panic!() };
    let Value::Array(items) = &members[0].node.value else { panic!() };
    let places: Vec<&str> = items.iter().map(|item| &source[item.start..item.end]).collect();
    assert_eq!(places, ["10", "\"ten\"", "{\"n\": 1}"]);
    assert_eq!(&source[reading.root.start..reading.end], "{'key': [10, \"ten\", {\"n\": 1}]}");
    assert_eq!(&source[members[0].start..][..3], "key");
}

#[test]
fn repairs_know_their_paths() {
    let source = r#"{"a":[{"x~/y":'s'},[.5]],"b":+1}"#;
    let repairs = reading(source).repairs;
    let paths: Vec<(&str, &str)> = repairs.iter().map(|repair| (repair.rule.as_str(), repair.path.as_str())).collect();
    assert_eq!(paths, [("S5", "/a/0/x~0~1y"), ("S11", "/a/1/0"), ("S11", "/b")]);
}

#[test]
fn long_paths_are_whole() {
    let source = r#"{"a rather long name of a parameter":{"ü":[{"another long name":'s'}]}}"#;
    let repairs = reading(source).repairs;
    assert_eq!(repairs[0].path.as_str(), "/a rather long name of a parameter/ü/0/another long name");
    let source = format!("{{\"{}ü\":+1}}", "x".repeat(20));
    assert_eq!(reading(&source).repairs[0].path.as_str(), format!("/{}ü", "x".repeat(20)));
}

#[test]
fn endings() {
    for (source, ending) in [
        ("{}", Ending::Complete),
        ("{", Ending::Open),
        ("[[1]", Ending::Open),
        ("{\"a\":\"b\"", Ending::Open),
        ("{\"a\":1 ", Ending::Open),
        ("{\"a\":1", Ending::InWord),
        ("[tru", Ending::InWord),
        ("[null", Ending::InWord),
        ("[1,", Ending::AfterComma),
        ("{\"a\":1,", Ending::AfterComma),
        ("{\"a\":1,\"", Ending::AfterComma),
        ("{\"a\":", Ending::AfterColon),
        ("{\"a", Ending::InKey),
        ("{\"a\":\"b", Ending::InString),
        ("{\"a\":\"b\\", Ending::InString),
        ("['a", Ending::InString),
    ] {
        assert_eq!(reading(source).ending, ending, "{source}");
    }
    assert!(reading("{\"a\":\"b\"</tool_call>").tagged);
    assert_eq!(reading("{\"a\":{\"b\":").dangling.as_deref(), Some("/a/b"));
}

#[test]
fn the_error_says_where() {
    let error = read("{\"a\":1, :2}", 0, &Unguided).unwrap_err();
    assert_eq!((error.at, error.what), (8, "a key is missing"));
    let deep = "[".repeat(200);
    assert_eq!(read(&deep, 0, &Unguided).unwrap_err().what, "more than 128 levels of nesting");
}

#[test]
fn the_list_of_repairs_is_bounded() {
    let source = format!("[{}]", "'x',".repeat(5000));
    let reading = reading(&source);
    assert!(reading.repairs.len() <= 1001, "{}", reading.repairs.len());
    let Value::Array(items) = &reading.root.value else { panic!() };
    assert_eq!(items.len(), 5000);
    assert_eq!(reading.root.to_json(&source), serde_json::to_string(&vec!["x"; 5000]).unwrap());
}

//! What is refused because damage explains it better, and what is not.

use crate::fix::{End, Schemas, fix};
use std::sync::Arc;

const SCHEMA: &str = r#"{"type":"object","properties":{"path":{"type":"string"},"text":{"type":"string"},"mode":{"type":"string"},
    "marks":{"type":"array","items":{"type":"string"}}},"required":["path"]}"#;

#[test]
fn what_damage_explains_better_is_refused() {
    let schema = Schemas::default().get(&Arc::from(SCHEMA));
    for text in [
        r#"{"path": "a.ts", "text",: "x"}"#,
        r#"{"path": "a.ts",[{"text": "x"}"#,
        r#"{"path": "a.ts":}"#,
        r#"{"path": "a.ts'}"#,
        r#"{"path":" "a.ts"}"#,
        r#"{"path": "a.ts", "marks": ["m, "n"]}"#,
        r#"{"path": "a.ts", "marks": ["m"", "n"]}"#,
        r#"{"path": "a.ts", "marks": [["m", "n"], "mode": "x"}"#,
        r#"{"path": "a.ts", "marks": ["is "m" {", "is }"]}"#,
        r#"{"path": "a.ts", "marks": "m", "n"]}"#,
        r#"{"path": "a.ts", "marks": ["m", "n"}, "mode": "x"}"#,
        r#"{"path": "a.ts", "marks": [1, 2}, "mode": "x"}"#,
        r#"{"path": "a.ts", "mode"}: 1, "text": "x"}"#,
        r#"{"path": 1,}"text": "x"}"#,
        r#"["path": "a.ts"}"#,
        r#"{path="a.ts", mode="x", text="b"}"#,
        "{path: \"a.ts\"\n mode: \"x\"\n marks: [\n \"m\",\n \"n\"\n ]}",
        r#"{"path": "a.ts", 'mode": "x"}"#,
        r#"{"path": "a.ts", "mode"(: "x"}"#,
        r#""path": {"mode": "x"}}"#,
    ] {
        let report = fix(text, Some(&schema), &[], End::Closed);
        assert_eq!(report.accepted(), None, "{text}");
        assert!(report.why.is_some(), "{text}");
    }
}

#[test]
fn what_is_only_missing_is_added() {
    let schema = Schemas::default().get(&Arc::from(SCHEMA));
    for text in [
        r#"{"path": "a.ts", "marks": ["m", "n"], "mode": "x"}"#,
        r#"{"path": "a.ts" "marks": ["m", "n"], "mode": "x"}"#,
        r#"{"path": "a.ts", "marks": ["m" "n"], "mode" "x"}"#,
        r#"{"path": "a.ts"}, "marks": ["m", "n"], "mode": "x"}"#,
        r#"{{"path": "a.ts", "marks": ["m", "n"], "mode": "x"}}"#,
        r#"{"path": "a.ts", "marks": ["m", "n", "mode": "x"}"#,
    ] {
        let report = fix(text, Some(&schema), &[], End::Closed);
        let json: serde_json::Value = serde_json::from_str(report.accepted().unwrap_or("null")).unwrap_or_default();
        assert_eq!(json, serde_json::json!({"path": "a.ts", "marks": ["m", "n"], "mode": "x"}), "{text}: {report:?}");
    }
}

#[test]
fn keys_of_unescaped_data_are_content() {
    let schema = Schemas::default().get(&Arc::from(SCHEMA));
    for (text, want) in [
        (r#"{"path": "a.json", "text": "{"mode": "x", "n": 1}"}"#, r#"{"mode": "x", "n": 1}"#),
        (r#"{"path": "a.md", "text": "write "path": here"}"#, r#"write "path": here"#),
    ] {
        let report = fix(text, Some(&schema), &[], End::Closed);
        let json: serde_json::Value = serde_json::from_str(report.accepted().unwrap_or("null")).unwrap_or_default();
        assert_eq!(json["text"], want, "{text}: {report:?}");
    }
}

const ORDER: &str = r#"{"type":"object","properties":{"id":{"type":"string"},"lines":{"type":"array","items":{"type":"object",
    "properties":{"sku":{"type":"string"},"qty":{"type":"integer"},"marks":{"type":"array","items":{"type":"string"}}},"required":["sku"]}},
    "extra":{"type":"object","additionalProperties":{"type":"string"}},"fast":{"type":"boolean"}},"required":["id"]}"#;

#[test]
fn damage_inside_of_lists_and_objects_is_refused() {
    let schema = Schemas::default().get(&Arc::from(ORDER));
    for text in [
        // A string goes on over what follows it.
        r#"{"id": "a", "lines": [{"sku": "x", "marks": ["m""n"]}]}"#,
        r#"{"id": "a", "lines": [{"sku": "x", "marks": ["m, "n"]}]}"#,
        r#"{"id": "a", "lines": [{"sku": "x"}, {"sku": "y}, {"sku": "z"}]}"#,
        r#"{"id": "a", "lines": [{"sku": "x {"w", "qty": 1}, {"sku": "y {"w", "qty": 2}]}"#,
        r#"{"id": "a", "lines": [{"sku": "x", "qty"3}]}"#,
        r#"{"id": "a", "extra": {"K": "v', "L": "w"}}"#,
        r#"{"id": "a", "extra": {"K": "L": "w"}}"#,
        r#"{"id": "a", "fast"true}"#,
        r#"{"id": "a", "fasttrue}"#,
        r#"{"lines": [{"sku": "xid": "a"}]}"#,
        r#"{"id": "a", "lines": [{"sku": "x", "marks": ["yes"no"]}]}"#,
        r#"{"id": "a", "lines": [{"sku": "x", "marks": ["m", "n}]}"#,
        r#"{"id": "a "quoted" b", "more": "c"}"#,
        r#"["id": "a\\"}"#,
        r#"id": "a"}"#,
        // A member may belong to another object.
        r#"{"id": "a", "extra": {"K": "v", "fast": true}"#,
        r#"{"id": "a", "lines": [{"sku": "x"}, "sku": "y", "qty": 2}]}"#,
        r#"{"id": "a", "lines": ["sku": "x", "qty": 2}]}"#,
        r#"{"id": "a", "extra": {"K": "v", "fast": true}]"#,
        // One element begins inside of another.
        r#"{"id": "a", "lines": [{"sku": "x"marks": ["m"]}, {"sku": "y", "qty": 1}]}"#,
        r#"{"id": "a", "lines": [{"sku": "x", "qty 3}, {"sku": "y", "qty": 1}]}"#,
        r#"{"id": "a", "lines": [{"sku": "x"}, {" {"sku": "y"}]}"#,
        // A member of an open map in the string before it.
        r#"{"id": "a", "extra": {"K": "v"L":"w"}}"#,
        r#"{"id": "a", "extra": {"K": "v","L':"w"}}"#,
        r#"{"id": "a", "extra": {"K": "v", "L"w"}}"#,
        // Members without their brace.
        r#""id": "a", "lines": "x", "y"], "fast": true}"#,
        r#""id": "a", "extra": {"K": "v", "fast": true}"#,
        r#""lines": ["sku": "x"}, {"sku": "y"}], "id": "a"}"#,
        // A quote, a bracket or the beginning of a key is lost.
        r#"{"id": "a", "lines": [{"sku": "x", "marks": [["m", "n"]}]}"#,
        r#"{"id": "a", "lines": [], ast": true}"#,
        r#"{"id": "a}}"#,
        r#"{"id":": 7"#,
        r#"{"id": "a"}, {"id": "b", "qty": 2}]}"#,
    ] {
        let report = fix(text, Some(&schema), &[], End::Closed);
        assert_eq!(report.accepted(), None, "{text}");
    }
}

#[test]
fn what_identifies_a_call_is_no_argument_after_a_bracket_was_lost() {
    let schema = Schemas::default().get(&Arc::from(SCHEMA));
    for text in [r#"{"path": "a.ts", "id": "c1""#, r#"{"path": "a.ts", "call_id": "c1"}]"#, r#"{"path": "a.ts"],"id":"c1"}"#] {
        assert_eq!(fix(text, Some(&schema), &[], End::Closed).accepted(), None, "{text}");
    }
    let intact = r#"{"path": "a.ts", "id": "c1"}"#;
    assert!(fix(intact, Some(&schema), &[], End::Closed).accepted().is_some());
}

#[test]
fn a_word_with_one_quote_is_a_text_or_none() {
    let schema = r#"{"type":"object","properties":{"v":{"type":["string","boolean","null"]},"s":{"type":"string"},"b":{"type":"boolean"}}}"#;
    let schema = Schemas::default().get(&Arc::from(schema));
    let accepted = |text: &str| fix(text, Some(&schema), &[], End::Closed).accepted().map(str::to_owned);
    assert_eq!(accepted(r#"{"v": true", "s": "x"}"#), None);
    assert_eq!(accepted(r#"{"s": 0042", "b": true}"#).as_deref(), Some(r#"{"s":"0042","b":true}"#));
}

#[test]
fn lists_without_brackets_are_no_element() {
    let schema = Schemas::default().get(&Arc::from(SCHEMA));
    let accepted = |text: &str| fix(text, Some(&schema), &[], End::Closed).accepted().map(str::to_owned);
    assert_eq!(accepted(r#"{"path": "a.ts", "marks": "\"m\", \"n\""}"#), None);
    assert_eq!(accepted(r#"{"path": "a.ts", "marks": "m, n"}"#).as_deref(), Some(r#"{"path":"a.ts","marks":["m, n"]}"#));
}

#[test]
fn an_object_as_text_is_the_element_of_a_list_of_objects() {
    let schema = Schemas::default().get(&Arc::from(ORDER));
    let report = fix(r#"{"id": "a", "lines": "{\"sku\": \"x\"}"}"#, Some(&schema), &[], End::Closed);
    assert_eq!(report.accepted(), Some(r#"{"id":"a","lines":[{"sku":"x"}]}"#));
}

#[test]
fn code_that_looks_like_neighbours_is_content() {
    let schema = Schemas::default().get(&Arc::from(ORDER));
    for sku in [
        r#"{"name": "x", "tags": ["a", "b"]}"#,
        r#"[{"a": 1}, {"b": "c"}]"#,
        r#"if (x) { say("hi") } else { say("bye") }"#,
        r#"echo "a" > b"#,
    ] {
        let text = format!(r#"{{"id": "a", "lines": [{{"sku": "{sku}", "qty": 1}}, {{"sku": "z"}}]}}"#);
        let report = fix(&text, Some(&schema), &[], End::Closed);
        let json: serde_json::Value = serde_json::from_str(report.accepted().unwrap_or("null")).unwrap();
        assert_eq!(json["lines"][0]["sku"], sku, "{report:?}");
        assert_eq!(json["lines"].as_array().map(Vec::len), Some(2), "{text}");
    }
}

#[test]
fn what_the_quotes_of_a_string_hold_is_content() {
    let schema = Schemas::default().get(&Arc::from(ORDER));
    for (text, want) in [
        // Its own quotes are others.
        (
            r#"{'id': 'a', 'lines': [{'sku': '", "', 'marks': ['x": "y', 'ends with "']}]}"#,
            r#"[{"sku":"\", \"","marks":["x\": \"y","ends with \""]}]"#,
        ),
        // Code between quotes that are not escaped.
        (
            r#"{"id": "a", "lines": [{"sku": "f("k", "v")", "marks": ["say "hi" now"]}]}"#,
            r#"[{"sku":"f(\"k\", \"v\")","marks":["say \"hi\" now"]}]"#,
        ),
        (r#"{"id": "a", "lines": [{"sku": "x"}], "fast": true"#, r#"[{"sku":"x"}]"#),
    ] {
        let report = fix(text, Some(&schema), &[], End::Closed);
        let json: serde_json::Value = serde_json::from_str(report.accepted().unwrap_or("null")).unwrap_or_default();
        assert_eq!(json["lines"].to_string(), want, "{text}: {report:?}");
    }
}

#[test]
fn a_number_in_a_decoded_list_keeps_its_digits() {
    let schema = r#"{"type":"object","properties":{"lines":{"type":"array","items":{"type":"object","properties":{"sku":{"type":"string"}}}}}}"#;
    let schema = Schemas::default().get(&Arc::from(schema));
    let report = fix(r#"{"lines": "[{\"sku\": 1.50}, {\"sku\": true}]"}"#, Some(&schema), &[], End::Closed);
    assert_eq!(report.accepted(), Some(r#"{"lines":[{"sku":"1.50"},{"sku":"true"}]}"#));
}

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
        r#"{"path": "a.ts", "marks": "m", "n"]}"#,
        r#"{"path": "a.ts", "marks": ["m", "n"}, "mode": "x"}"#,
        r#"{"path": "a.ts", "marks": [1, 2}, "mode": "x"}"#,
        r#"{"path": "a.ts", "mode"}: 1, "text": "x"}"#,
        r#"{"path": 1,}"text": "x"}"#,
        r#"["path": "a.ts"}"#,
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
    ] {
        let report = fix(text, Some(&schema), &[], End::Closed);
        assert_eq!(report.accepted(), None, "{text}");
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

//! Other libraries as witnesses: where two of them read a damaged text the same way, and it is what was there before the
//! damage, ours reads it so too; what is strict for a third one is untouched.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

/// Values whose strings hold nothing that the other libraries are known to spoil (backslashes, quotes, fences).
fn plain() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-100_000..100_000i64).prop_map(Value::from),
        "[a-zé ,.]{0,12}".prop_map(Value::from),
        Just(json!("# no {comment}: [1, 2]")),
        Just(json!("None, True // x")),
    ];
    let inner = leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec(("[a-z_]{1,6}", inner), 0..4).prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    });
    prop::collection::vec(("[a-z_]{1,6}", inner), 1..5).prop_map(|members| Value::Object(members.into_iter().collect()))
}

/// Writes the value as a careless model does.
fn careless(value: &Value, damage: u8, out: &mut String) {
    let has = |bit: u8| damage & (1 << bit) != 0;
    let text = |text: &str, out: &mut String| {
        let quote = if has(0) { '\'' } else { '"' };
        out.extend([quote].into_iter().chain(text.chars()).chain([quote]));
    };
    let ends = |out: &mut String| out.push_str(if has(1) { "," } else { "" });
    match value {
        Value::Object(members) => {
            out.push('{');
            for (at, (key, value)) in members.iter().enumerate() {
                out.push_str(if at > 0 { "," } else { "" });
                out.push_str(if has(2) { "\n  // next\n" } else { " " });
                if has(3) {
                    out.push_str(key)
                } else {
                    text(key, out)
                }
                out.push_str(": ");
                careless(value, damage, out);
            }
            if !members.is_empty() {
                ends(out);
            }
            out.push_str(if has(2) { "\n}" } else { "}" });
        }
        Value::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                out.push_str(if at > 0 { ", " } else { "" });
                careless(item, damage, out);
            }
            if !items.is_empty() {
                ends(out);
            }
            out.push(']');
        }
        Value::String(content) => text(content, out),
        Value::Bool(true) if has(4) => out.push_str("True"),
        Value::Bool(false) if has(4) => out.push_str("False"),
        Value::Null if has(4) => out.push_str("None"),
        other => out.push_str(&other.to_string()),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_two_others_agree_on(value in plain(), damage in 0..32u8) {
        let mut source = String::new();
        careless(&value, damage, &mut source);
        let read = |json: Option<String>| json.and_then(|json| serde_json::from_str::<Value>(&json).ok());
        let witnesses = [read(jsonfix::repair(&source).ok()), read(jsonrepair_rs::jsonrepair(&source).ok())];
        let report = fixed("", &source, End::Closed);
        let ours = report.accepted().and_then(|json| serde_json::from_str::<Value>(json).ok());
        if witnesses.iter().all(|witness| witness.as_ref() == Some(&value)) {
            prop_assert_eq!(ours, Some(value), "{}\n{:?}", source, report);
        } else {
            // Then at least nothing wrong is sure of itself.
            prop_assert!(report.verdict > Verdict::Lossless || ours == Some(value), "{}\n{:?}", source, report);
        }
    }

    #[test]
    fn what_is_strict_is_untouched(value in plain()) {
        let source = value.to_string();
        let report = fixed("", &source, End::Closed);
        prop_assert_eq!(report.accepted(), Some(source.as_str()));
    }
}

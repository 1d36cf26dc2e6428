use serde_json::{Value, json};

use super::*;

fn parts(tools: Value, messages: &[&str]) -> Parts {
    Parts::of(json!({"model": "m", "messages": messages, "stream": true, "tools": tools}).to_string().as_bytes()).unwrap()
}

#[test]
fn a_conversation_grows_or_breaks_somewhere() {
    let before = parts(json!(["t"]), &["a", "b"]);
    let after = |now: Parts| (now.after(&before).shared, now.after(&before).broke);
    assert_eq!(after(parts(json!(["t"]), &["a", "b", "c"])), (11, None));
    assert_eq!(after(parts(json!(["t"]), &["a", "x", "c"])), (8, Some(2)));
    assert_eq!(after(parts(json!(["u"]), &["a", "b"])), (0, Some(0)));
    assert_eq!(after(parts(json!(["t"]), &["a"])), (8, Some(2)), "a past that was cut off");
    let google = Parts::of(br#"{"contents":["a","b"]}"#).unwrap();
    assert_eq!(google.0.len(), 3);
    assert!(Parts::of(b"no JSON").is_none());
}

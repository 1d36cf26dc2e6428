use serde_json::{Value, json};

use super::*;

fn parts(tools: Value, messages: &[&str]) -> Parts {
    of(json!({"model": "m", "messages": messages, "stream": true, "tools": tools}), None)
}

fn of(body: Value, before: Option<&Parts>) -> Parts {
    serde_json::from_str::<Body<'_>>(&body.to_string()).unwrap().parts(before)
}

#[test]
fn a_conversation_grows_or_breaks_somewhere() {
    let before = parts(json!(["t"]), &["a", "b"]);
    let after = |now: Parts| (now.after(&before).shared, now.after(&before).broke);
    assert_eq!(after(parts(json!(["t"]), &["a", "b", "c"])), (11, None));
    assert_eq!(after(parts(json!(["t"]), &["a", "x", "c"])), (8, Some(2)));
    assert_eq!(after(parts(json!(["u"]), &["a", "b"])), (0, Some(0)));
    assert_eq!(after(parts(json!(["t"]), &["a"])), (8, Some(2)), "a past that was cut off");
    let google = of(json!({"contents": ["a", "b"]}), None);
    assert_eq!(google.0.len(), 3);
}

#[test]
fn a_prompt_grows_or_breaks_somewhere() {
    let prompt = |text: &str, before: Option<&Parts>| of(json!({ "prompt": text }), before);
    let first = "é".repeat(1500);
    let before = prompt(&first, None);
    let longer = format!("{first}\n<|im_start|>user\n{}", "x".repeat(5000));
    let then = prompt(&longer, Some(&before));
    assert_eq!(then.after(&before), Prefix { shared: 3000, before: 3000, broke: None });
    let again = prompt(&format!("{longer} and more"), Some(&then));
    assert_eq!(again.after(&then).shared, longer.len() as u64);
    // Its end has changed: what comes before the changed piece is shared.
    let other = prompt(&first.replacen("éé", "éa", 1), Some(&before));
    assert_eq!(other.after(&before).shared, 0);
    let cut = prompt(&first[..2500], Some(&before));
    assert_eq!(cut.after(&before).shared, 2048);
}

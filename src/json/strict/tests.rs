//! The strict parser is serde_json's, and sees repeated keys.

use super::*;

#[test]
fn values_are_those_of_serde_json() {
    for text in ["{\"a\":[1,-2,3.5,1e3,18446744073709551615,null,true,\"\\u00e9\"],\"b\":{}}", " [] ", "12", "\"x\""] {
        assert_eq!(parse(text).unwrap().value, serde_json::from_str::<Value>(text).unwrap());
    }
    for text in ["", "{", "[1,]", "{'a':1}", "1 2", "\"\\ud83d\"", "{\"a\":1}}", "01"] {
        assert!(parse(text).is_err(), "{text}");
    }
    assert!(parse(&format!("{}{}", "[".repeat(200), "]".repeat(200))).is_err());
}

#[test]
fn repeated_keys_are_seen_at_any_depth() {
    for (text, repeated) in [
        (r#"{"a":1,"b":{"a":2}}"#, false),
        (r#"{"a":1,"a":1}"#, true),
        (r#"[{"x":{"k":1,"j":2,"k":3}}]"#, true),
        (r#"{"a":1,"\u0061":2}"#, true),
    ] {
        assert_eq!(parse(text).unwrap().repeated_key, repeated, "{text}");
    }
}

#[test]
fn keys_with_angles_are_seen() {
    for (text, angled) in
        [(r#"{"a":"<b>"}"#, false), (r#"[{"x":{"k<":1}}]"#, true), (r#"{"\u003cb":2}"#, true), (r#"{"a":{},"b":{"c":1}}"#, false)]
    {
        assert_eq!(parse(text).unwrap().angled_key, angled, "{text}");
    }
}

#[test]
fn objects_of_any_size_follow_each_other() {
    let text =
        format!("[{{}},{{{}}},{{}},{{\"a\":1}}]", (0..40).map(|at| format!("\"{at}\":{at}")).collect::<Vec<_>>().join(","));
    assert_eq!(parse(&text).unwrap().value, serde_json::from_str::<Value>(&text).unwrap());
}

//! The strict parser accepts what serde_json accepts, and keeps what serde_json does not.

use proptest::prelude::*;

use super::*;

#[test]
fn values_are_those_of_serde_json() {
    for text in [
        "{\"a\":[1,-2,3.5,1e3,18446744073709551615,null,true,\"\\u00e9\"],\"b\":{}}",
        " [] ",
        "12",
        "\"x\\\\\\\"\\/\\ud83d\\ude80\"",
        "\t{ \"a\" : [ ] , \"b\" : false }\r\n",
    ] {
        assert_eq!(parse(text).unwrap().to_serde(), serde_json::from_str::<serde_json::Value>(text).unwrap());
    }
    for text in [
        "", "{", "[1,]", "{'a':1}", "1 2", "\"\\ud83d\"", "{\"a\":1}}", "01", "\"a\nb\"", "\"\\x\"", "tru", "{\"a\":}", "{,}",
        "-", "\"\\",
    ] {
        assert_eq!(parse(text), None, "{text}");
    }
    assert_eq!(parse(&format!("{}{}", "[".repeat(200), "]".repeat(200))), None);
}

#[test]
fn digits_places_and_repeated_keys_are_kept() {
    let text = r#" {"a": 1e400, "a": 9007199254740993.0}"#;
    let root = parse(text).unwrap();
    let Value::Object(members) = &root.value else { panic!() };
    let written: Vec<(&str, &str)> = members.iter().map(|m| (m.key.as_ref(), &text[m.node.start..m.node.end])).collect();
    assert_eq!(written, [("a", "1e400"), ("a", "9007199254740993.0")]);
    assert_eq!((root.start, &text[members[1].start..][..2]), (1, "a\""));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_other_text_is_accepted(pieces in prop::collection::vec("[\\[\\]{}:,\" ]|\"a\"|[0-9.eE+-]{1,4}|true|null|\\\\[\"nux]|\n", 0..10)) {
        let text = pieces.concat();
        let theirs = serde_json::from_str::<serde_json::Value>(&text);
        // Numbers beyond a double are valid JSON that serde_json cannot hold. It stops at the number.
        let too_large = theirs.as_ref().is_err_and(|error| error.to_string().contains("out of range"))
            && serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok();
        prop_assert_eq!(parse(&text).is_some(), theirs.is_ok() || too_large, "{}", text);
    }
}

use serde_json::{Value, json};

use super::*;
use crate::{
    event::Tool,
    fix::{End, View, fix},
};

/// The arguments that `text` begins with, after repair. Names are strings where the tool wants one.
fn read(text: &str, loose: bool, schema: &str) -> Option<Value> {
    let tool = Tool::new("f", "", schema);
    let view = View::of(Some(&tool));
    let delimiters = ["<|\"|>".to_owned()];
    let delimiters = loose.then_some(delimiters.as_slice());
    let dialect = Dialect { place: view.root(), delimiters, names: true, variables: &[], lenient: false };
    let arguments = super::read(text, 0, dialect).ok().filter(|found| !found.is_open || found.end == text.len())?.text?;
    serde_json::from_str(&fix(&arguments, None, &[], End::Closed).arguments?).ok()
}

#[test]
fn python_values_become_json() {
    for (text, want) in [
        ("(a=1, b='x')", json!({"a": 1, "b": "x"})),
        ("(a=True, b=None, c=false, d=-2.5e3)", json!({"a": true, "b": null, "c": false, "d": -2500.0})),
        ("(a=[1, (2, 3), {'k': {'n': []}}], )", json!({"a": [1, [2, 3], {"k": {"n": []}}]})),
        ("(a={'x', 'y'}, b={}, c=(1,), d=('s'))", json!({"a": ["x", "y"], "b": {}, "c": [1], "d": "s"})),
        ("(a='it\\'s', b=\"say \\\"so\\\"\", c='\\u00e9\\n')", json!({"a": "it's", "b": "say \"so\"", "c": "é\n"})),
        ("(a='\\ud83c\\udf31 \\d+ C:\\temp')", json!({"a": "🌱 \\d+ C:\temp"})),
        ("(a=\"\"\"two\nlines \"quoted\" \"\"\", b='')", json!({"a": "two\nlines \"quoted\" ", "b": ""})),
        (
            r"(a='C:\\Users \x1b[0m\n', b='\U and \'so\' \1', c=[1e5, 0.10, 12345678901234567890123])",
            json!({"a": "C:\\Users \u{1b}[0m\n", "b": r"\U and 'so' \1", "c": [1e5, 0.1, 12345678901234567890123_u128 as f64]}),
        ),
        // JSON's `\/` is none of Python's escapes.
        (r"(a='s/\/x/\\/\n', b='\/', c='\x1b\n')", json!({"a": "s/\\/x/\\/\n", "b": "\\/", "c": "\u{1b}\n"})),
        ("(a=007, b=1_000, c=0x1F)", json!({"a": "007", "b": "1_000", "c": "0x1F"})),
    ] {
        assert_eq!(read(text, false, "{}"), Some(want), "{text}");
    }
}

#[test]
fn an_expression_is_no_value() {
    for text in [
        "(a=f(1))", "(a=1 + 2)", "(a=x[0])", "(a=f'{x}')", "(a=not b)", "(a='x' % y)", "(a==1)", "(a=)", "(a=1 b=2)", "(a=[x])",
        "(a={'k': x})", "(a='x' if y else 'z')", "(a='x' or 'z', b=1)", "(a='x' in 'z')",
    ] {
        assert_eq!(read(text, false, "{}"), None, "{text}");
    }
}

#[test]
fn nothing_is_closed_that_the_model_left_open() {
    for text in ["(a='x", "(a='x'", "(a=[1, 2", "(a='x\\", "(a=\"\"\"x\"\"", "(a=1", "(", "{a:<|\"|>x", "{a:x", "{a:{b:1}"] {
        for loose in [false, true] {
            assert_eq!(read(text, loose, "{}"), None, "{text}");
        }
    }
}

#[test]
fn a_loose_dictionary_is_typed_by_the_schema() {
    let schema = r##"{"type":"object","properties":{"s":{"type":"string"},"n":{"type":"integer"},"o":{"anyOf":[{"type":"null"},{"$ref":"#/$defs/o"}]},
        "m":{"type":["string","null"]},"l":{"type":"array","items":{"type":"string"}}},"$defs":{"o":{"type":"object","properties":{"zip":{"type":"string"}}}}}"##;
    for (text, want) in [
        ("{s:42,n:42}", json!({"s": "42", "n": 42})),
        ("{n:007,s:007}", json!({"n": 7, "s": "007"})),
        ("{m:null,s:null}", json!({"m": null, "s": null})),
        ("{s:none}", json!({"s": "none"})),
        ("{o:{zip:0123},l:[1,true,x]}", json!({"o": {"zip": "0123"}, "l": ["1", "true", "x"]})),
        ("{s:a, b: c, n:1}", json!({"s": "a, b: c", "n": 1})),
        ("{s:f(x) { return {y: 1}; },n:1}", json!({"s": "f(x) { return {y: 1}; }", "n": 1})),
        ("{<|\"|>s<|\"|>:<|\"|>x<|\"|>,n:3}", json!({"s": "x", "n": 3})),
        ("(s='x', n=3)", json!({"s": "x", "n": 3})),
        ("{\"s\": \"x\", 'n': 3}", json!({"s": "x", "n": 3})),
        ("{s:<|\"|>a, n:1} b<|\"|>,n:2}", json!({"s": "a, n:1} b", "n": 2})),
        ("{s:<|\"|>C:\\new<|\"|>}", json!({"s": "C:\\new"})),
        // What looked like a key was cut within a letter.
        ("{s:to be,\"é\":1}", json!({"s": "to be,\"é\":1"})),
    ] {
        assert_eq!(read(text, true, schema), Some(want), "{text}");
    }
}

#[test]
fn deep_nesting_is_refused_and_not_followed() {
    let deep = format!("(a={}1{})", "[".repeat(100_000), "]".repeat(100_000));
    for text in [&deep, &deep[..400]] {
        assert_eq!(read(text, false, "{}"), None);
    }
}

#[test]
fn a_torn_delimiter_leaves_nothing_to_read() {
    for (text, want) in [
        ("{a:<|\"|>x<|\"|>,b:<|\"|>y<|\"|>}", Some(json!({"a": "x", "b": "y"}))),
        ("{a:<|\"|>x<|\"|,b:<|\"|>y<|\"|>}", None),
        ("{a:<|\">x<|\"|>,b:1}", None),
        // The text goes on after the first of a pair.
        ("{a:<|\"|>f{b:<|\"|>x<|\"|>}", None),
        ("{a:<|\"|>x <|\"|> y<|\"|>}", None),
        // The bracket belongs to the text, or the rest of the text to nothing.
        ("{a:x } b}", None),
        ("{a:1,\"b:2}", None),
        ("{a:x}}", None),
        ("{a:<|\"|>x < y | \"z\" |> w<|\"|>}", Some(json!({"a": "x < y | \"z\" |> w"}))),
    ] {
        assert_eq!(read(text, true, "{}"), want, "{text}");
    }
}

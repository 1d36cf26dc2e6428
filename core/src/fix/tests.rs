//! Every rule by what it does and where it stops.

mod byte_for_byte;
mod oracle;
mod properties;
mod rules;

use std::sync::Arc;

use serde_json::{Value, json};

use super::*;
use crate::{
    effort,
    event::{ARGUMENT_BYTES, FinishReason},
};

/// Parameters of an invented tool that has something of everything.
const EVERYTHING: &str = r#"{
    "type": "object",
    "properties": {
        "title": {"type": "string"},
        "pages": {"type": "integer"},
        "price": {"type": "number"},
        "draft": {"type": "boolean"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "sizes": {"type": "array", "items": {"type": "integer"}},
        "shelf": {"type": "object", "properties": {"row": {"type": "integer"}, "label": {"type": "string"}}},
        "mood": {"enum": ["calm", "very loud"]},
        "level": {"enum": [1, 2, 3]},
        "limit": {"type": ["integer", "null"]},
        "due": {"type": "string", "format": "date"}
    },
    "required": ["title"]
}"#;

const NOTE: &str = r#"{"type":"object","properties":{"file_path":{"type":"string"},"body":{"type":"string"},"lineCount":{"type":"integer"}},"required":["file_path","body"]}"#;
const TOWN: &str = r#"{"type":"object","properties":{"town":{"type":"string"},"nights":{"type":"integer"}},"required":["town"]}"#;
const SHELL: &str = r#"{"type":"object","properties":{"command":{"type":"string"}},"required":["command"]}"#;
const STRICT: &str = r#"{"type":"object","properties":{"town":{"type":"string"},"nights":{"type":"integer"}},"required":["town"],"additionalProperties":false}"#;

fn fixed(schema: &str, source: &str, end: End) -> Report {
    let schema = (!schema.is_empty()).then(|| Schemas::default().get(&Arc::from(schema)));
    fix(source, schema.as_deref(), &[], end)
}

fn value(report: &Report) -> Option<Value> {
    report.accepted().map(|text| serde_json::from_str(text).unwrap())
}

/// Asserts that the source becomes the value at the level, and that the rule is in the report.
#[track_caller]
fn becomes(rule: &str, schema: &str, source: &str, level: Verdict, expected: Value) {
    let report = fixed(schema, source, End::Whole);
    assert_eq!(value(&report), Some(expected), "{rule}: {source}\n{report:?}");
    assert_eq!(report.verdict, level, "{rule}: {source}\n{report:?}");
    assert!(report.fixes.iter().any(|fix| fix.rule.as_str() == rule), "{rule} is not in the report on {source}\n{report:?}");
    for fix in &report.fixes {
        assert!(fix.at.start <= fix.at.end && fix.at.end <= source.len(), "{rule}: range of {fix:?}");
    }
}

/// Asserts that nothing may run.
#[track_caller]
fn is_refused(what: &str, schema: &str, source: &str, end: End) -> Why {
    let report = fixed(schema, source, end);
    assert_eq!(report.verdict, Verdict::Refused, "{what}: {source}\n{report:?}");
    assert_eq!(report.accepted(), None);
    report.why.unwrap()
}

/// Asserts that the source is handed on byte by byte.
#[track_caller]
fn is_untouched(schema: &str, source: &str) {
    let report = fixed(schema, source, End::Closed);
    assert_eq!((report.verdict, report.accepted()), (Verdict::Clean, Some(source.trim())), "{report:?}");
}

#[test]
fn valid_arguments_stay_as_they_are() {
    for source in [
        r#"{"title":"x","price":1.50e+2}"#,
        r#"{ "pages" : 12 , "title" : "caf\u00e9 \/ \"quoted\"" }"#,
        "{\n  \"title\": \"# None, True // {'a': 1,}\"\n}\n",
        r#"{"title":"```json\n{\"a\": 1}\n```"}"#,
        r#"{"title":"[1, 2]","limit":null}"#,
        r#"{"title":"\ud83d\ude80","colour":"an extra key"}"#,
        r#"{"title":"say “hello”","mood":"very loud","level":3}"#,
        r#"{"title":"x","pages":123456789012345678}"#,
    ] {
        is_untouched(EVERYTHING, source);
    }
    is_untouched("", "[{}, 1e400, [\"\"]]");
    is_untouched(EVERYTHING, r#"{"title":"x","price":1e400,"pages":98765432109876543210987654321}"#);
    is_untouched(r#"{"type":"object","properties":{}}"#, "{}");
    is_untouched(r#"{"type":"object","properties":{}}"#, "{}\n");
    is_untouched(TOWN, "\n {\"town\":\"Bergen\"} \n");
}

#[test]
fn structure() {
    let town = |nights: i64| json!({"town": "Turku", "nights": nights});
    for (rule, source, level, expected) in [
        ("S1", r#"{"town":"Turku","nights":2,}"#, Verdict::Lossless, town(2)),
        ("S1", r#"{,"town":"Turku",,"nights":2}"#, Verdict::Lossless, town(2)),
        ("S1", r#"{"town":"Turku","nights":2},"#, Verdict::Lossless, town(2)),
        ("S2", "{\"town\":\"Turku\"\n\"nights\":2}", Verdict::Lossless, town(2)),
        ("S2", r#"{"town":"Turku""nights":2}"#, Verdict::Lossless, town(2)),
        ("S2", r#"{"nights":2"town":"Turku"}"#, Verdict::Lossless, json!({"nights": 2, "town": "Turku"})),
        ("S2", r#"{"town":"Turku";"nights":2}"#, Verdict::Guess, town(2)),
        ("S3", r#"{"town" "Turku","nights":2}"#, Verdict::Lossless, town(2)),
        ("S4", r#"{town:"Turku",nights:2}"#, Verdict::Lossless, town(2)),
        ("S5", r#"{'town':'Turku','nights':2}"#, Verdict::Lossless, town(2)),
        ("S6", "{“town”:“Turku”,‘nights’:2}", Verdict::Lossless, town(2)),
        ("S7", "{\"town\":`Turku`,\"nights\":2}", Verdict::Lossless, town(2)),
        ("S8", r#"{"town":"""Turku""","nights":2}"#, Verdict::Lossless, town(2)),
        ("S8", r#"{""town"":""Turku"","nights":2}"#, Verdict::Guess, town(2)),
        ("S10", "{/* where */\"town\":\"Turku\", // to\n# how long\n\"nights\":2}", Verdict::Lossless, town(2)),
        ("S11", r#"{"town":"Turku","nights":+2}"#, Verdict::Lossless, town(2)),
        ("S11", r#"{"town":"Turku","nights":2_000}"#, Verdict::Lossless, town(2000)),
        ("S11", r#"{"town":"Turku","nights":0x1F}"#, Verdict::Guess, town(31)),
        ("S11", r#"{"town":"Turku","nights":007}"#, Verdict::Guess, town(7)),
        ("S12", r#"{"town":"Turku","nights":2}}]"#, Verdict::Lossless, town(2)),
        ("S12", r#"{"town":"Turku","nights":2]}"#, Verdict::Guess, town(2)),
        ("S12", r#"{{"town":"Turku","nights":2}}"#, Verdict::Guess, town(2)),
        ("S13", "{\"town\":\u{a0}\"Turku\"，\u{feff}\"nights\"：2}", Verdict::Lossless, town(2)),
        ("S14", r#"{\"town\": \"Turku\", \"nights\": 2}"#, Verdict::Lossless, town(2)),
        ("S16", r#"{"town":Turku,"nights":2}"#, Verdict::Lossless, town(2)),
        ("S17", r#"{"town":"Turku","nights":2,...}"#, Verdict::Guess, town(2)),
        ("S18", r#"{\n"town":"Turku",\n\t"nights":2\n}"#, Verdict::Lossless, town(2)),
        ("S19", r#"{"town":Turku","nights":2}"#, Verdict::Guess, town(2)),
        ("S19", r#"{town":"Turku","nights":(2)}"#, Verdict::Guess, town(2)),
    ] {
        becomes(rule, TOWN, source, level, expected);
    }
    becomes(
        "S9",
        EVERYTHING,
        "{'title': 'x', 'draft': True, 'limit': None}",
        Verdict::Lossless,
        json!({"title": "x", "draft": true, "limit": null}),
    );
    becomes("S11", EVERYTHING, r#"{"title":"x","price":.5}"#, Verdict::Lossless, json!({"title": "x", "price": 0.5}));
    becomes("S12", EVERYTHING, r#"{"title":"x","tags":["a","b"}}"#, Verdict::Guess, json!({"title": "x", "tags": ["a", "b"]}));
    // What is dropped makes it a guess.
    becomes("S12", "", r#"{"k": [1}, "l": 1}"#, Verdict::Guess, json!({"k": [1]}));
    becomes("S17", EVERYTHING, r#"{"title":"x","sizes":[1,...,9]}"#, Verdict::Guess, json!({"title": "x", "sizes": [1, 9]}));
    becomes("S19", EVERYTHING, r#"{"title":"x","sizes":(4, 5)}"#, Verdict::Guess, json!({"title": "x", "sizes": [4, 5]}));
    becomes("S19", EVERYTHING, r#"{"title":"x","sizes":(4,)}"#, Verdict::Guess, json!({"title": "x", "sizes": [4]}));
}

#[test]
fn structure_has_limits() {
    for (what, source) in [
        ("S9: NaN has no JSON form", r#"{"price":NaN}"#),
        ("S9: Infinity neither", r#"{"price":-Infinity}"#),
        ("N6: no value is invented", r#"{"town":}"#),
        ("N6: nor before a comma", r#"{"town": ,"nights":2}"#),
        ("a set is no object", r#"{"Turku", "Oulu"}"#),
        ("a key without an object", r#"{:1}"#),
        ("T7: half of a pair is no character", r#"{"town":"\ud83d!"}"#),
        ("prose", "I would go to Turku."),
        ("nothing of the inside is taken for the whole", r#"[{"nights":1,,:{"town":"Oulu"}]"#),
    ] {
        assert!(matches!(is_refused(what, "", source, End::Whole), Why::Malformed(_)), "{what}");
    }
    // What is inside of a string is content, whatever else had to be repaired.
    let content = "None, True // x\n# {k: v}, [1,,2] ‘’ `` ...";
    let source = format!("{{'title':\"{content}\",}}");
    assert_eq!(value(&fixed(EVERYTHING, &source, End::Closed)), Some(json!({"title": content})));
    // Digits survive, however many.
    let report = fixed("", r#"{"id":98765432109876543210987654321,}"#, End::Closed);
    assert_eq!(report.accepted(), Some(r#"{"id":98765432109876543210987654321}"#));
    // Escapes that need no repair keep their spelling.
    let report = fixed("", r#"{"id":"\u00e9\/",}"#, End::Closed);
    assert_eq!(report.accepted(), Some(r#"{"id":"\u00e9\/"}"#));
}

#[test]
fn strings_that_hold_code() {
    let note = |body: &str| json!({"file_path": "n.txt", "body": body});
    for (rule, source, level, body) in [
        ("T1", "{\"file_path\":\"n.txt\",\"body\":\"one\r\n\ttwo\n\"}", Verdict::Lossless, "one\r\n\ttwo\n"),
        (
            "T2",
            r#"{"file_path":"n.txt","body":"\w+\.rs$ it\'s \u00g0 C:\Users\x41"}"#,
            Verdict::Lossless,
            r"\w+\.rs$ it's \u00g0 C:\Users\x41",
        ),
        ("T3", r#"{"file_path":"n.txt","body":"print("one", 'two')"}"#, Verdict::Guess, r#"print("one", 'two')"#),
        ("T3", r#"{"body":"<p class="x" id="y">"z"</p>","file_path":"n.txt"}"#, Verdict::Guess, r#"<p class="x" id="y">"z"</p>"#),
        (
            "T3",
            r#"{"file_path":"n.txt","body":"{"body": "x", "file_path": [1, "2"]}"}"#,
            Verdict::Guess,
            r#"{"body": "x", "file_path": [1, "2"]}"#,
        ),
        (
            "T3",
            "{\"file_path\":\"n.txt\",\"body\":\"d = {\\n  \"k\": \"v\"\\n}\\n\"}",
            Verdict::Guess,
            "d = {\n  \"k\": \"v\"\n}\n",
        ),
        // What looks like a comment after a string is code in it.
        (
            "T3",
            r##"{"file_path":"n.txt","body":"#define A "a"\n#define B "b""}"##,
            Verdict::Guess,
            "#define A \"a\"\n#define B \"b\"",
        ),
        ("T3", r#"{"body":"x = "1" // not "2"","file_path":"n.txt"}"#, Verdict::Guess, r#"x = "1" // not "2""#),
        ("T3", r#"{"file_path":"n.txt","body":"go("a"); /* or "b" */"}"#, Verdict::Guess, r#"go("a"); /* or "b" */"#),
        (
            "S10",
            r#"{"file_path":"n.txt","body":"one" // the "first"
}"#,
            Verdict::Lossless,
            "one",
        ),
        (
            "S10",
            r#"{"body":"one", // the "first"
            "file_path":"n.txt"}"#,
            Verdict::Lossless,
            "one",
        ),
        ("T3", r#"{"file_path":"n.txt","body":"a = "b"\n"c" is d\n"}"#, Verdict::Guess, "a = \"b\"\n\"c\" is d\n"),
        // Every second quote lacks its backslash.
        ("T3", r#"{"file_path":"n.txt","body":"x=\"y"\n"}"#, Verdict::Guess, "x=\"y\"\n"),
        (
            "T3",
            r#"{"body":"```\n{\"a\": {\"b\": \"c"}}\n```\n\nThen `d`.\n","file_path":"n.txt"}"#,
            Verdict::Guess,
            "```\n{\"a\": {\"b\": \"c\"}}\n```\n\nThen `d`.\n",
        ),
        // One quote too many, and quotes at the beginning of the content.
        ("T3", r#"{"file_path":"n.txt","body":""a" is b"}"#, Verdict::Guess, "\"a\" is b"),
        ("T3", r#"{"file_path":"n.txt","body":""a", "b""}"#, Verdict::Guess, "\"a\", \"b\""),
        ("S8", r#"{"file_path":"n.txt","body":""""one" and "two" """}"#, Verdict::Lossless, r#""one" and "two" "#),
        ("T3", r#"{'file_path':'n.txt','body':'it's what 'they' say'}"#, Verdict::Guess, "it's what 'they' say"),
        ("S5", r"{'file_path':'n.txt','body':'a\xa0b\nc'}", Verdict::Lossless, "a\u{a0}b\nc"),
    ] {
        let report = fixed(NOTE, source, End::Closed);
        let got = value(&report).unwrap_or_default();
        assert_eq!((&got["file_path"], &got["body"]), (&json!("n.txt"), &note(body)["body"]), "{source}\n{report:?}");
        assert_eq!(report.verdict, level, "{source}\n{report:?}");
        assert!(report.fixes.iter().any(|fix| fix.rule.as_str() == rule), "{rule}: {report:?}");
    }
}

#[test]
fn several_strings_with_quotes_inside() {
    let schema = r#"{"properties":{"find":{"type":"string"},"put":{"type":"string"}},"required":["find","put"]}"#;
    let source = r#"{"find":"x = "a", y","put":"x = "b", y"}"#;
    becomes("T3", schema, source, Verdict::Guess, json!({"find": "x = \"a\", y", "put": "x = \"b\", y"}));
    // One odd quote in each: the string that reaches from the first to the second is cheaper there, but lacks a key at the end.
    let schema =
        r#"{"properties":{"find":{"type":"string"},"put":{"type":"string"},"all":{"type":"boolean"}},"required":["find","put"]}"#;
    let source = r#"{"find":"a " b","put":"c d " e","all":true}"#;
    becomes("T3", schema, source, Verdict::Guess, json!({"find": "a \" b", "put": "c d \" e", "all": true}));
}

#[test]
fn other_words_for_parameters() {
    let edit = r#"{"properties":{"file_path":{"type":"string"},"old_string":{"type":"string"},"new_string":{"type":"string"}},
        "required":["file_path","old_string","new_string"]}"#;
    let source = r#"{"path":"a","old_str":"b","new_text":"c"}"#;
    becomes("N2", edit, source, Verdict::Coerced, json!({"file_path": "a", "old_string": "b", "new_string": "c"}));
    let table = r#"{"properties":{"table_name":{"type":"string"}},"required":["table_name"]}"#;
    becomes("N2", table, r#"{"table":"t"}"#, Verdict::Coerced, json!({"table_name": "t"}));
    for (own, word) in
        [("pattern", "query"), ("city", "location"), ("input", "patch"), ("filePath", "absolute_path"), ("dir", "folder")]
    {
        let schema = format!(r#"{{"properties":{{"{own}":{{"type":"string"}}}},"required":["{own}"]}}"#);
        becomes("N2", &schema, &json!({word: "x"}).to_string(), Verdict::Coerced, json!({own: "x"}));
    }
}

#[test]
fn a_forgotten_quote() {
    becomes("X3", "", r#"{"town":"Turku, "nights":2}"#, Verdict::Guess, json!({"town": "Turku", "nights": 2}));
    becomes("X3", TOWN, r#"{"nights":2,"town":"Turku}"#, Verdict::Guess, json!({"nights": 2, "town": "Turku"}));
    becomes("X3", "", "[\n\"red,\n\"green\"\n]", Verdict::Guess, json!(["red", "green"]));
}

/// What is valid is not read in another way because the schema would like that better.
#[test]
fn valid_json_has_one_reading() {
    let replace = r#"{"properties":{"uri":{"type":"string"},"replace":{"type":"string"}},"required":["uri","replace"]}"#;
    for source in [
        r#"{"uri":"src/a.ts","arguments":{"search":"foo","replace":"bar"}}"#,
        r#"{"uri":"a","other":"\",\"replace\":\"b"}"#,
        r#"{"uri":"a","list":["replace","b"]}"#,
    ] {
        let report = fixed(replace, source, End::Closed);
        assert!(matches!(report.why, Some(Why::Schema(_))), "{report:?}");
        assert_eq!((report.arguments.as_deref(), report.fixes.as_slice()), (Some(source), &[][..]), "{report:?}");
    }
    // Nor with closing marks after it.
    let source = r#"{"uri":"src/a.ts","arguments":{"search":"foo","replace":"bar"}}"#;
    let report = fixed(replace, &format!("{source}}}</tool_call>"), End::Closed);
    assert_eq!(report.arguments.as_deref(), Some(source), "{report:?}");
}

#[test]
fn a_container_in_a_text_is_no_arguments() {
    // The whole text is the one parameter.
    for text in [
        "pip install httpx[http2]",
        "app/[slug]/page.tsx",
        "[ -e a.lock ] && exit 1",
        "[a-f]+",
        "[0-9]*",
        "[NOTES]",
        "ls *.[ch]",
        "update [Orders] set n = 1",
        "print(rows[key])",
        "len([\"a\"])",
        "awk '{print $1}' log",
        "git stash drop stash@{1}",
        "find . -exec cat {} +",
        "[[ -e a ]] && rm a",
        "2024",
        "true",
    ] {
        let report = fixed(SHELL, text, End::Whole);
        assert_eq!(report.arguments, Some(json!({ "command": text }).to_string()), "{report:?}");
        assert_eq!(report.verdict, Verdict::Coerced, "{text}");
    }
    // A byte order mark is no text.
    let marked = value(&fixed(SHELL, "\u{feff}{\"command\": \"ls\"}\n", End::Whole));
    assert_eq!(marked, Some(json!({ "command": "ls" })));
    // It may be that, or the object in it.
    for text in ["echo {\"command\": \"ls\"}", "curl -d '{\"command\": \"ls\"}' host", "[ -e a ] && echo {\"command\": \"b\"}"] {
        assert_eq!(fixed(SHELL, text, End::Whole).verdict, Verdict::Refused, "{text}");
    }
    let two = r#"{"type":"object","properties":{"from":{"type":"string"},"to":{"type":"string"}},"required":["from","to"]}"#;
    for text in ["move [a, b] there", "[a, b]", "move [\"a\", \"b\"]"] {
        assert_eq!(fixed(two, text, End::Whole).verdict, Verdict::Refused, "{text}");
    }
}

#[test]
fn envelopes() {
    let town = json!({"town": "Turku"});
    for (rule, source, level) in [
        ("E1", "```json\n{\"town\":\"Turku\"}\n```", Verdict::Lossless),
        ("E1", "```\n{\"town\":\"Turku\"}", Verdict::Lossless),
        ("E2", "Sure, I will look: {\"town\":\"Turku\"} (that is all)", Verdict::Lossless),
        ("E2", "see [1] and {x}: {\"town\":\"Turku\"}", Verdict::Lossless),
        ("E3", "{\"town\":\"Turku\"}</tool_call>", Verdict::Lossless),
        ("E3", "{\"town\":\"Turku\"};<|im_end|>", Verdict::Lossless),
        ("E4", r#"{"arguments":{"town":"Turku"}}"#, Verdict::Coerced),
        ("E4", r#"{"name":"book","parameters":{"town":"Turku"}}"#, Verdict::Coerced),
        ("E4", r#"{"type":"function","function":{"name":"book","arguments":"{\"town\":\"Turku\"}"}}"#, Verdict::Coerced),
        ("E4", r#"{"book":{"town":"Turku"}}"#, Verdict::Coerced),
        ("E5", r#""{\"town\":\"Turku\"}""#, Verdict::Coerced),
        ("E6", r#"[{"town":"Turku"}]"#, Verdict::Coerced),
        ("E7", r#"{"type":"object","properties":{"town":"Turku"}}"#, Verdict::Coerced),
        ("E8", r#"{"town":"Turku"}{"town":"Turku"}"#, Verdict::Lossless),
        ("N7", "Turku", Verdict::Coerced),
        ("N9", "town: Turku", Verdict::Guess),
        ("N9", "<town>Turku</town>", Verdict::Coerced),
    ] {
        becomes(
            rule,
            if rule == "N7" { r#"{"properties":{"town":{"type":"string"}},"required":["town"]}"# } else { TOWN },
            source,
            level,
            town.clone(),
        );
    }
    becomes("N7", SHELL, "ls -la | awk '{print $1}'", Verdict::Coerced, json!({"command": "ls -la | awk '{print $1}'"}));
    becomes("N9", TOWN, "<town>Turku</town><nights>3</nights>", Verdict::Coerced, json!({"town": "Turku", "nights": 3}));
    becomes("E5", TOWN, r#""\"{\\\"town\\\":\\\"Turku\\\"}\"""#, Verdict::Coerced, town.clone());
    for empty in ["", "  ", "null", "[]", "\"\""] {
        becomes("C1", r#"{"type":"object","properties":{"deep":{"type":"boolean"}}}"#, empty, Verdict::Coerced, json!({}));
    }
}

#[test]
fn envelopes_have_limits() {
    assert!(matches!(is_refused("C1: something is required", TOWN, "", End::Closed), Why::Malformed(_)));
    assert!(matches!(
        is_refused("E9: two different", TOWN, r#"{"town":"Turku"}{"town":"Oulu"}"#, End::Closed),
        Why::Ambiguous(_)
    ));
    assert!(matches!(
        is_refused("E9: the second fits nothing", TOWN, r#"{"town":"Turku"}, {"nights":2}"#, End::Closed),
        Why::Ambiguous(_)
    ));
    assert!(matches!(
        is_refused("E6: two elements", TOWN, r#"[{"town":"Turku"},{"town":"Oulu"}]"#, End::Closed),
        Why::NotAnObject
    ));
    assert!(matches!(is_refused("a scalar", NOTE, "12", End::Closed), Why::Malformed(_)));
    // A parameter that is called like a wrapper is a parameter.
    is_untouched(r#"{"properties":{"arguments":{"type":"array"}},"required":["arguments"]}"#, r#"{"arguments":["-l"]}"#);
    // A fence inside of a string is content.
    is_untouched(SHELL, r#"{"command":"cat <<E\n```\n{}\n```\nE"}"#);
}

#[test]
fn keys() {
    for (rule, schema, source, level, expected) in [
        (
            "N1",
            NOTE,
            r#"{"filePath":"a","Body":"b","line-count":3}"#,
            Verdict::Coerced,
            json!({"file_path": "a", "body": "b", "lineCount": 3}),
        ),
        ("N2", NOTE, r#"{"filename":"a","body":"b"}"#, Verdict::Coerced, json!({"file_path": "a", "body": "b"})),
        ("N3", STRICT, r#"{"town":"Turku","why":"asked"}"#, Verdict::Coerced, json!({"town": "Turku"})),
        ("N4", TOWN, r#"{"town":"Turku","town":"Turku"}"#, Verdict::Lossless, json!({"town": "Turku"})),
        (
            "N5",
            r#"{"properties":{"n":{"type":"integer","default":7}},"required":["n"]}"#,
            "{}",
            Verdict::Coerced,
            json!({"n": 7}),
        ),
        (
            "N5",
            r#"{"properties":{"kind":{"const":"book"},"n":{}},"required":["kind"]}"#,
            r#"{"n":1}"#,
            Verdict::Coerced,
            json!({"n": 1, "kind": "book"}),
        ),
    ] {
        becomes(rule, schema, source, level, expected);
    }
}

#[test]
fn a_required_parameter_that_may_be_null_may_be_left_out() {
    let schema = |n: &str| {
        format!(r#"{{"properties":{{"n":{n},"m":{{}}}},"required":["n"],"$defs":{{"some":{{"type":["null","integer"]}}}}}}"#)
    };
    for n in [
        r#"{"type":["integer","null"]}"#,
        r#"{"type":"integer","nullable":true}"#,
        r#"{"anyOf":[{"type":"integer"},{"type":"null"}]}"#,
        r#"{"oneOf":[{"type":"null"},{"type":"string"}]}"#,
        r#"{"anyOf":[{},{"type":"null"}]}"#,
        r##"{"$ref":"#/$defs/some"}"##,
        r#"{"allOf":[{"type":["integer","null"]}]}"#,
        r#"{"enum":["a","b",null]}"#,
        r#"{"type":["string","null"],"enum":["a",null]}"#,
    ] {
        let schema = schema(n);
        becomes("N10", &schema, "{}", Verdict::Coerced, json!({"n": null}));
        becomes("N10", &schema, r#"{"m":1}"#, Verdict::Coerced, json!({"m": 1, "n": null}));
        let tool = crate::event::Tool::new("f", "", schema.as_str());
        assert_eq!(View::of(Some(&tool)).root().required().count(), 0, "{n}");
    }
    for n in ["{}", "true", r#"{"type":"integer"}"#, r#"{"type":["string","null"],"enum":["a"]}"#, r#"{"enum":["a"]}"#] {
        let schema = schema(n);
        is_refused("N10: null is not named", &schema, r#"{"m":1}"#, End::Closed);
        let tool = crate::event::Tool::new("f", "", schema.as_str());
        assert_eq!(View::of(Some(&tool)).root().required().count(), 1, "{n}");
    }
    // A default says more, and a `null` with a meaning of its own is never made up.
    let default = r#"{"properties":{"n":{"type":["integer","null"],"default":3}},"required":["n"]}"#;
    becomes("N5", default, "{}", Verdict::Coerced, json!({"n": 3}));
    let schema = Schemas::default().get(&Arc::from(schema(r#"{"type":["integer","null"]}"#)));
    assert!(fix("{}", Some(&schema), &["n".to_owned()], End::Closed).accepted().is_none());
    let least = r#"{"properties":{"n":{"anyOf":[{"type":"integer","minimum":1},{"type":"null"}]},"m":{}},"required":["n"]}"#;
    is_refused("K9: zero is a value", least, r#"{"n":0}"#, End::Closed);
    // At any depth, and in lists.
    let deep = r#"{"properties":{"l":{"type":"array","items":{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":["string","null"]}},"required":["a","b"]}}},"required":["l"]}"#;
    becomes(
        "N10",
        deep,
        r#"{"l":[{"a":1},{"a":2,"b":"x"}]}"#,
        Verdict::Coerced,
        json!({"l": [{"a": 1, "b": null}, {"a": 2, "b": "x"}]}),
    );
}

#[test]
fn a_key_that_is_left_out_is_a_loss_if_it_says_something() {
    for (source, lost) in [
        (r#"{"town":"Turku","dry_run":true}"#, vec!["/dry_run"]),
        (r#"{"town":"Turku","dry_run":false,"limit":0}"#, vec!["/dry_run", "/limit"]),
        (r#"{"town":"Turku","except":["Oulu"]}"#, vec!["/except"]),
        (r#"{"town":"Turku","a":null,"b":"","c":{},"d":[],"e":" ","f":"None"}"#, vec![]),
        // The same key in another spelling.
        (r#"{"town":"Turku","Town":"Turku"}"#, vec![]),
        (r#"{"Town":"Turku","nights":2}"#, vec![]),
    ] {
        let report = fixed(STRICT, source, End::Closed);
        assert!(report.accepted().is_some(), "{source}: {report:?}");
        assert_eq!(report.lost, lost, "{source}");
    }
    // Where everything is allowed, nothing is left out.
    assert!(fixed(TOWN, r#"{"town":"Turku","dry_run":true}"#, End::Closed).lost.is_empty());
}

#[test]
fn keys_have_limits() {
    for (what, schema, source) in [
        (
            "N1: two properties of one spelling",
            r#"{"properties":{"a_b":{"type":"string"},"aB":{"type":"string"}},"required":["a_b"]}"#,
            r#"{"AB":"x"}"#,
        ),
        ("N2: the type does not fit", NOTE, r#"{"filename":3,"body":"b"}"#),
        ("N3: what may be a misspelt required key is not dropped", STRICT, r#"{"twon":"Turku"}"#),
        ("N6: a required key is missing", NOTE, r#"{"file_path":"a"}"#),
        ("K9: a required null", TOWN, r#"{"town":null}"#),
    ] {
        is_refused(what, schema, source, End::Closed);
    }
    // The object is reported as the model wrote it, its syntax repaired.
    let report = fixed(NOTE, r#"{'filePath':'a',}"#, End::Closed);
    assert!(matches!(report.why, Some(Why::Schema(_))));
    assert_eq!(report.arguments.as_deref(), Some(r#"{"filePath":"a"}"#));
    // Values do not get into the reason.
    let report = fixed(TOWN, r#"{"town":"Turku","nights":"a secret"}"#, End::Closed);
    assert!(!report.why.unwrap().to_string().contains("secret"));
}

#[test]
fn values() {
    let with = |key: &str, value: Value| json!({"title": "x", key: value});
    for (rule, key, written, level, expected) in [
        ("K1", "pages", "\"3\"", Verdict::Coerced, json!(3)),
        ("K1", "pages", "\" -3 \"", Verdict::Coerced, json!(-3)),
        ("K1", "price", "\"2.5e1\"", Verdict::Coerced, json!(2.5e1)),
        ("K1", "price", "\"-.25\"", Verdict::Coerced, json!(-0.25)),
        ("K1", "pages", "\"7.\"", Verdict::Coerced, json!(7)),
        ("K1", "pages", "\"12,000\"", Verdict::Guess, json!(12000)),
        ("K1", "pages", "\"9007199254740993.0\"", Verdict::Coerced, json!(9007199254740993_i64)),
        ("K3", "draft", "\"False\"", Verdict::Coerced, json!(false)),
        ("K3", "draft", "\"yes\"", Verdict::Coerced, json!(true)),
        ("K3", "draft", "0", Verdict::Coerced, json!(false)),
        ("K5b", "due", "[1, 2]", Verdict::Coerced, json!("[1, 2]")),
        ("K5b", "due", r#"["a", "b"]"#, Verdict::Coerced, json!(r#"["a", "b"]"#)),
        ("K11", "due", r#"["see C:\\new.txt"]"#, Verdict::Coerced, json!("see C:\\new.txt")),
        ("K6", "sizes", "7", Verdict::Coerced, json!([7])),
        ("K6", "tags", "\"a, b\"", Verdict::Coerced, json!(["a, b"])),
        ("K7", "tags", r#""[\"a\", 'b',]""#, Verdict::Coerced, json!(["a", "b"])),
        ("K7", "shelf", r#""{\"row\": \"2\"}""#, Verdict::Coerced, json!({"row": 2})),
        ("K1", "sizes", r#"["1","2"]"#, Verdict::Coerced, json!([1, 2])),
        ("K8", "tags", r#"{"0":"a","1":"b"}"#, Verdict::Coerced, json!(["a", "b"])),
        ("K8", "tags", r#"{"item":["a"]}"#, Verdict::Coerced, json!(["a"])),
        ("K9", "limit", "\"null\"", Verdict::Coerced, json!(null)),
        ("K10", "mood", "\"CALM\"", Verdict::Coerced, json!("calm")),
        ("K10", "mood", "\"very_loud\"", Verdict::Coerced, json!("very loud")),
        ("K10", "level", "\"2\"", Verdict::Coerced, json!(2)),
        // In another pair of quotes, as clients' own models write native arguments.
        ("K10", "mood", r#""\"calm\"""#, Verdict::Coerced, json!("calm")),
        ("K1", "pages", r#""'3'""#, Verdict::Coerced, json!(3)),
    ] {
        becomes(rule, EVERYTHING, &format!(r#"{{"title":"x","{key}":{written}}}"#), level, with(key, expected));
    }
    for (source, title) in [("{\"title\":1.50}", "1.50"), ("{\"title\":012}", "012"), ("{\"title\":true}", "true")] {
        assert_eq!(value(&fixed(EVERYTHING, source, End::Closed)), Some(json!({"title": title})), "K4: {source}");
    }
    becomes("K5", EVERYTHING, r#"{"title":{"a": 1,  "b": [ ]}}"#, Verdict::Coerced, json!({"title": r#"{"a": 1,  "b": [ ]}"#}));
    for nothing in ["null", "\"null\"", "\"undefined\"", "\"\""] {
        let report = fixed(EVERYTHING, &format!(r#"{{"title":"x","pages":{nothing}}}"#), End::Closed);
        assert_eq!(value(&report), Some(json!({"title": "x"})), "K9: {nothing}");
    }
}

#[test]
fn empty_values_that_the_schema_refuses_are_left_out() {
    const READ: &str = r#"{"type":"object","properties":{"file":{"type":"string","minLength":1},"limit":{"type":"integer","exclusiveMinimum":0},
        "pages":{"type":"string","pattern":"^[0-9-]+$"},"order":{"enum":["up","down"]},"tags":{"type":"array","minItems":1},
        "offset":{"type":"integer","minimum":0},"a/b":{"type":"integer","minimum":1}},"required":["file"],"additionalProperties":false}"#;
    let all = r#"{"file":"a","pages":"","order":"","tags":[],"offset":0}"#;
    becomes("K9", READ, all, Verdict::Coerced, json!({"file": "a", "offset": 0}));
    for refused in [
        r#"{"file":""}"#,
        r#"{"file":"a","limit":-1}"#,
        // Zero is a value.
        r#"{"file":"a","limit":0}"#,
        r#"{"file":"a","pages":"x"}"#,
        r#"{"file":"a","order":"left"}"#,
        r#"{"file":"a","limit":[]}"#,
        r#"{"file":"a","order":{}}"#,
        r#"{"file":"a","limit":{}}"#,
    ] {
        assert_eq!(fixed(READ, refused, End::Closed).verdict, Verdict::Refused, "{refused}");
    }
}

#[test]
fn arguments_that_are_left_out_are_refused() {
    let schema = r#"{"type":"object","properties":{"a":{"type":"integer"}}}"#;
    for left_out in ["{...}", "{ ... }"] {
        assert_eq!(fixed(schema, left_out, End::Closed).verdict, Verdict::Refused, "{left_out}");
    }
    becomes("S17", schema, r#"{"a": 1, ...}"#, Verdict::Guess, json!({"a": 1}));
    becomes("S17", schema, r#"{..., "a": 1}"#, Verdict::Guess, json!({"a": 1}));
}

#[test]
fn values_have_limits() {
    for (what, written) in [
        ("K1: a word", r#""pages":"three""#),
        ("K1: more than a number", r#""pages":"3 lines""#),
        ("K1: a fraction for an integer", r#""pages":"3.7""#),
        ("K2: not whole", r#""pages":3.7"#),
        ("K3: neither", r#""draft":"perhaps""#),
        ("K3: two", r#""draft":2"#),
        ("K6: null is no item", r#""level":null,"mood":7"#),
        ("K7: broken inside", r#""sizes":"[1, 2""#),
        ("K7: does not validate", r#""sizes":"[\"a\"]""#),
        ("K10: only similar", r#""mood":"cal""#),
        ("K10: a sign", r#""level":-1"#),
        ("K10: a sign in text", r#""level":"-2""#),
        ("K10: a sign before a word", r#""mood":"-calm""#),
        ("K10: a sign after a word", r#""mood":"calm-""#),
    ] {
        is_refused(what, EVERYTHING, &format!(r#"{{"title":"x",{written}}}"#), End::Closed);
    }
    is_refused(
        "K10: two values of one spelling",
        r#"{"properties":{"m":{"enum":["x y","x_y"]}},"required":["m"]}"#,
        r#"{"m":"X-Y"}"#,
        End::Closed,
    );
    // T6: a string that looks like something else stays a string.
    for text in ["[1]", "{\"a\":1}", "null", "12", "true", ""] {
        is_untouched(EVERYTHING, &json!({"title": text}).to_string());
    }
}

#[test]
fn explicit_nulls_that_a_policy_wants() {
    let schema = Schemas::default().get(&Arc::from(TOWN));
    let report = fix(r#"{"town":"Turku","nights":null}"#, Some(&schema), &["nights".to_owned()], End::Closed);
    assert_eq!((report.verdict, value(&report)), (Verdict::Clean, Some(json!({"town": "Turku", "nights": null}))));
    let report = fix(r#"{"town":"Turku","nights":null,}"#, Some(&schema), &["nights".to_owned()], End::Closed);
    assert_eq!(value(&report), Some(json!({"town": "Turku", "nights": null})));
}

#[test]
fn unions_and_references() {
    let schema = r##"{"$defs":{"place":{"type":"object","properties":{"kind":{"const":"place"},"zip":{"type":"integer"}},"required":["kind","zip"]},
        "person":{"type":"object","properties":{"kind":{"const":"person"},"zip":{"type":"string"}},"required":["kind","zip"]}},
        "type":"object","properties":{"what":{"oneOf":[{"$ref":"#/$defs/place"},{"$ref":"#/$defs/person"}]},
        "count":{"anyOf":[{"type":"integer"},{"type":"null"}]},"all":{"allOf":[{"$ref":"#/$defs/place"}]},
        "where":{"oneOf":[{"type":"string"},{"$ref":"#/$defs/place"}]}}}"##;
    for (source, expected) in [
        (r#"{"what":{"kind":"place","zip":"20100"}}"#, json!({"what": {"kind": "place", "zip": 20100}})),
        (r#"{"what":{"kind":"person","zip":20100}}"#, json!({"what": {"kind": "person", "zip": "20100"}})),
        (r#"{"count":"4"}"#, json!({"count": 4})),
        (r#"{"count":"None"}"#, json!({"count": null})),
        (r#"{"all":"{'kind':'place','zip':'1'}"}"#, json!({"all": {"kind": "place", "zip": 1}})),
        // What is an object stays one, although it could be a text as it is.
        (r#"{"where":{"kind":"place","zip":"7"}}"#, json!({"where": {"kind": "place", "zip": 7}})),
    ] {
        assert_eq!(value(&fixed(schema, source, End::Closed)), Some(expected), "{source}");
    }
    let either = r#"{"type":"object","properties":{"id":{"type":"integer"},"name":{"type":"string"}},"anyOf":[{"required":["id"]},{"required":["name"]}]}"#;
    assert_eq!(value(&fixed(either, r#"{"id":"5"}"#, End::Closed)), Some(json!({"id": 5})));
    let circle = r##"{"$defs":{"node":{"type":"object","properties":{"n":{"type":"integer"},"next":{"$ref":"#/$defs/node"}}}},"$ref":"#/$defs/node"}"##;
    assert_eq!(
        value(&fixed(circle, r#"{"n":"1","next":{"n":"2","next":{"n":"3"}}}"#, End::Closed)),
        Some(json!({"n": 1, "next": {"n": 2, "next": {"n": 3}}}))
    );
}

#[test]
fn schemas_that_cannot_be_used_check_nothing() {
    for schema in ["", "not JSON", "[]", r#"{"type":"nonsense"}"#, r#"{"$ref":"https://example.com/schema.json"}"#, "true"] {
        let schema = Schemas::default().get(&Arc::from(schema));
        let report = fix("{'anything':1,}", Some(&schema), &[], End::Closed);
        assert_eq!(report.accepted(), Some(r#"{"anything":1}"#));
    }
}

#[test]
fn ends() {
    let cut = |reason| End::Cut(reason);
    let open = r#"{"file_path":"a","body":"b""#;
    for (end, may_run) in [
        (End::Whole, true),
        (End::Closed, true),
        (End::CutAgain, true),
        (cut(FinishReason::Stop), false),
        (cut(FinishReason::ToolCalls), false),
        (cut(FinishReason::Length), false),
        (cut(FinishReason::ContentFilter), false),
    ] {
        let report = fixed(NOTE, open, end);
        assert_eq!(report.accepted().is_some(), may_run, "{end:?} {report:?}");
        if !may_run {
            assert!(matches!(report.why, Some(Why::Truncated(_))), "{report:?}");
        }
        // Complete is complete, whatever the server says.
        assert_eq!(fixed(NOTE, r#"{"file_path":"a","body":"b"}"#, end).verdict, Verdict::Clean);
    }
    for (what, source) in [
        ("in a string", r#"{"file_path":"a","body":"b"#),
        ("in a key", r#"{"file_path":"a","bo"#),
        ("behind a colon", r#"{"file_path":"a","body":"#),
        ("behind a comma", r#"{"file_path":"a","body":"b","#),
        ("in a number", r#"{"file_path":"a","body":"b","lineCount":1"#),
        ("in a word", r#"{"file_path":"a","body":"b","x":tru"#),
    ] {
        for reason in [FinishReason::Stop, FinishReason::Length] {
            assert_eq!(is_refused(what, NOTE, source, cut(reason)), Why::Truncated(reason), "{what}");
        }
        assert_eq!(is_refused(what, NOTE, source, End::CutAgain), Why::Truncated(FinishReason::Stop), "{what}");
    }
    // The end marker was seen: what comes before it is all there was.
    assert_eq!(value(&fixed(TOWN, r#"{"town":"Turku","nights":2"#, End::Closed)), Some(json!({"town": "Turku", "nights": 2})));
    is_refused("an open string stays open", NOTE, r#"{"file_path":"a","body":"b"#, End::Closed);
    // X2 needs what is required; X3 needs exactly one reading.
    for end in [End::CutAgain, End::Closed] {
        let why = is_refused("X2: something is missing", NOTE, r#"{"file_path":"a""#, end);
        assert_eq!(why, Why::Truncated(FinishReason::Stop));
    }
    becomes("X3", TOWN, r#"{"town":"Turku}"#, Verdict::Guess, json!({"town": "Turku"}));
    is_refused("X3 at a stop", TOWN, r#"{"town":"Turku}"#, cut(FinishReason::Stop));
    is_refused("X3 at the limit", TOWN, r#"{"town":"Turku}"#, cut(FinishReason::Length));
}

#[test]
fn limits() {
    let large = format!("{{\"town\":\"{}\"}}", "x".repeat(ARGUMENT_BYTES));
    assert_eq!(is_refused("size", "", &large, End::Closed), Why::TooLarge(ARGUMENT_BYTES));
    let deep = format!("{}1{}", "[".repeat(129), "]".repeat(129));
    assert!(matches!(is_refused("depth", "", &deep, End::Closed), Why::Malformed(_)));
    let deep = format!("{}1,{}", "[".repeat(127), "]".repeat(127));
    assert!(fixed("", &deep, End::Closed).accepted().is_some());
}

/// Texts that make naive readers quadratic, recursive or mad: each has to come to an end soon enough for a test; what it costs is measured in `benches/fix.rs`.
#[test]
fn floods() {
    let parts = [
        "[", "{", "]", "}", "{\"a\":", "\"", "'", ",", ":", "\\", "\\\"", "/*", "//", "#", "```", "\"\"\"", "\",\"", "\":\"",
        "\"a\" ", "a ", "\n", "\\n", "{\"a\":\"b\",", "[1,", "1e", "“", "\",\"a\":\"", "}{", "{}", "(", "<|", "...", "+\"x\"",
        "\"}", "\"\\", "\u{a0}", "a:", "\"x\n", "\", \"k\": \"",
    ];
    let (long, usual) = effort::of((20_000, 4_000), (100_000, 10_000));
    for part in parts {
        for head in ["", "{\"town\":\"", "[\"", "{", "{\"town\": x"] {
            let source =
                format!("{head}{}", part.repeat(if part.len() == 1 && head.len() < 2 { long } else { usual / part.len() }));
            for end in [End::Whole, End::Cut(FinishReason::Length)] {
                fixed(TOWN, &source, end);
                fixed("", &source, end);
            }
        }
    }
}

//! One line for each rule: what it does, and where it stops.

use super::*;
use crate::fix::Tally;

/// What must become of a source that a rule does not cover.
enum Limit {
    /// It is right as it is.
    Untouched,
    /// Nothing may run.
    Refused,
}
use Limit::{Refused, Untouched};

const PLAIN: &str = r#"{"type":"object","properties":{"town":{"type":"string"},"nights":{"type":"integer"}}}"#;
const ONE: &str = r#"{"properties":{"town":{"type":"string"}},"required":["town"]}"#;
const INPUT: &str = r#"{"properties":{"input":{"type":"object"}},"required":["input"]}"#;
const DEFAULT: &str =
    r#"{"properties":{"n":{"type":"integer","default":7},"m":{"type":"integer","default":8}},"required":["n"]}"#;
const NULLABLE: &str = r#"{"properties":{"town":{"type":"string"},"nights":{"type":["integer","null"]},"view":{"anyOf":[{"type":"string"},{"type":"null"}]}},"required":["town","nights","view"],"additionalProperties":false}"#;
const ALIKE: &str = r#"{"properties":{"a_b":{"type":"string"},"aB":{"type":"string"}},"required":["a_b"]}"#;
const SPELLED: &str = r#"{"properties":{"m":{"enum":["x y","x_y"]}},"required":["m"]}"#;

#[test]
fn every_rule_does_what_it_is_for_and_stops_where_it_should() {
    let town = || json!({"town": "Turku"});
    let title = |value: Value| json!({"title": "x", "pages": value});
    let rows: Vec<(&str, &str, &str, Value, &str, &str, Limit)> = vec![
        ("C1", PLAIN, "", json!({}), TOWN, "", Refused),
        ("E1", TOWN, "```json\n{\"town\":\"Turku\"}\n```", town(), TOWN, r#"{"town":"```json\n{}\n```"}"#, Untouched),
        ("E2", TOWN, "Here: {\"town\":\"Turku\"}. Done.", town(), NOTE, "I shall write a note.", Refused),
        ("E3", TOWN, "{\"town\":\"Turku\"}</tool_call>", town(), TOWN, r#"{"town":"</tool_call>;"}"#, Untouched),
        ("E4", TOWN, r#"{"input":{"town":"Turku"}}"#, town(), INPUT, r#"{"input":{"town":"Turku"}}"#, Untouched),
        ("E5", TOWN, r#""{\"town\":\"Turku\"}""#, town(), NOTE, r#""only words""#, Refused),
        ("E6", TOWN, r#"[{"town":"Turku"}]"#, town(), TOWN, r#"[{"town":"Turku"},{"town":"Oulu"}]"#, Refused),
        (
            "E7",
            TOWN,
            r#"{"properties":{"town":"Turku"}}"#,
            town(),
            TOWN,
            r#"{"type":"object","properties":{"town":{"type":"string"}}}"#,
            Refused,
        ),
        ("E8", TOWN, r#"{"town":"Turku"} {"town":"Turku"}"#, town(), TOWN, r#"{"town":"Turku"} {"town":"Oulu"}"#, Refused),
        ("S1", TOWN, r#"{"town":"Turku",}"#, town(), TOWN, r#"{"town":",}"}"#, Untouched),
        ("S2", TOWN, r#"{"nights":2 "town":"Turku"}"#, json!({"nights": 2, "town": "Turku"}), TOWN, r#"{"nights":2 3}"#, Refused),
        ("S3", TOWN, r#"{"town" "Turku"}"#, town(), TOWN, r#"{"town" , "nights":2}"#, Refused),
        ("S4", TOWN, r#"{town: "Turku"}"#, town(), TOWN, r#"{"town":"{town: 1}"}"#, Untouched),
        ("S5", TOWN, "{'town':'Turku'}", town(), TOWN, r#"{"town":"'Turku'"}"#, Untouched),
        ("S6", TOWN, "{“town”: “Turku”}", town(), TOWN, r#"{"town":"“Turku”"}"#, Untouched),
        ("S7", TOWN, "{\"town\":`Turku`}", town(), TOWN, "{\"town\":\"`Turku`\"}", Untouched),
        (
            "S8",
            TOWN,
            "{\"town\":\"\"\" Turku\n\"\"\"}",
            json!({"town": " Turku\n"}),
            TOWN,
            r#"{"town":"\"\"\"Turku\"\"\""}"#,
            Untouched,
        ),
        ("S9", "", "{'a': True, 'b': None}", json!({"a": true, "b": null}), "", r#"{"a": NaN}"#, Refused),
        ("S10", TOWN, "{\"town\":\"Turku\" // why\n}", town(), TOWN, r#"{"town":"http://a.b #c /* d */"}"#, Untouched),
        ("S11", "", r#"{"n":+.5}"#, json!({"n": 0.5}), "", r#"{"n":123456789012345678}"#, Untouched),
        ("S12", TOWN, r#"{"town":"Turku"}}"#, town(), TOWN, r#"{"town":"}}]"}"#, Untouched),
        ("S13", TOWN, "{\u{a0}\"town\"：\"Turku\"}", town(), TOWN, "{\"town\":\"\u{a0}：\"}", Untouched),
        ("S14", TOWN, r#"{\"town\": \"Turku\"}"#, town(), TOWN, r#"{"town":"{\"a\": 1}"}"#, Untouched),
        ("S16", TOWN, r#"{"town": Turku, "nights": 2}"#, json!({"town": "Turku", "nights": 2}), TOWN, r#"{"town": }"#, Refused),
        ("S17", TOWN, r#"{"town":"Turku", ...}"#, town(), TOWN, r#"{"town": ...}"#, Refused),
        ("S18", TOWN, r#"{\n"town":"Turku"\n}"#, town(), TOWN, r#"{"town":"\n\t"}"#, Untouched),
        ("S19", TOWN, r#"{"town":Turku"}"#, town(), TOWN, r#"{"town":"(Turku)"}"#, Untouched),
        ("T1", TOWN, "{\"town\":\"a\r\nb\tc\"}", json!({"town": "a\r\nb\tc"}), TOWN, r#"{"town":"a\r\nb\tc"}"#, Untouched),
        (
            "T2",
            TOWN,
            r#"{"town":"\d+\.C:\Users"}"#,
            json!({"town": r"\d+\.C:\Users"}),
            TOWN,
            r#"{"town":"C:\\new\\table"}"#,
            Untouched,
        ),
        (
            "T2b",
            TOWN,
            r#"{"town":"C:\new\table"}"#,
            json!({"town": r"C:\new\table"}),
            TOWN,
            r#"{"town":"one\ntwo\tthree"}"#,
            Untouched,
        ),
        (
            "T3",
            TOWN,
            r#"{"town":"say "hi"","nights":2}"#,
            json!({"town": "say \"hi\"", "nights": 2}),
            TOWN,
            r#"{"town":"say \"hi\""}"#,
            Untouched,
        ),
        ("X2", TOWN, r#"{"town":"Turku""#, town(), NOTE, r#"{"file_path":"a""#, Refused),
        ("X3", TOWN, r#"{"town":"Turku}"#, town(), NOTE, r#"{"file_path":"a.c","body":"int main() { return 0; }"#, Refused),
        ("N1", NOTE, r#"{"filePath":"a","BODY":"b"}"#, json!({"file_path": "a", "body": "b"}), ALIKE, r#"{"AB":"x"}"#, Refused),
        (
            "N2",
            NOTE,
            r#"{"filename":"a","body":"b"}"#,
            json!({"file_path": "a", "body": "b"}),
            NOTE,
            r#"{"filename":"a","uri":"c","body":"b"}"#,
            Refused,
        ),
        ("N3", STRICT, r#"{"town":"Turku","why":1}"#, town(), STRICT, r#"{"twon":"Turku"}"#, Refused),
        ("N4", TOWN, r#"{"town":"Turku","town":"Turku"}"#, town(), TOWN, r#"{"town":"Turku"}"#, Untouched),
        ("N5", DEFAULT, "{'m': 1}", json!({"m": 1, "n": 7}), DEFAULT, "{\"n\":1}", Untouched),
        (
            "N10",
            NULLABLE,
            r#"{"town":"Turku"}"#,
            json!({"town": "Turku", "nights": null, "view": null}),
            NULLABLE,
            r#"{"nights":2,"view":null}"#,
            Refused,
        ),
        ("N7", ONE, "Turku", town(), NOTE, "a.txt", Refused),
        ("N9", TOWN, "<town>Turku</town>", town(), TOWN, r#"{"town":"<town>Turku</town>"}"#, Untouched),
        (
            "K1",
            EVERYTHING,
            r#"{"title":"x","pages":"3"}"#,
            title(json!(3)),
            EVERYTHING,
            r#"{"title":"x","pages":"3 lines"}"#,
            Refused,
        ),
        (
            "K3",
            EVERYTHING,
            r#"{"title":"x","draft":"True"}"#,
            json!({"title": "x", "draft": true}),
            EVERYTHING,
            r#"{"title":"x","draft":"perhaps"}"#,
            Refused,
        ),
        ("K4", EVERYTHING, r#"{"title":1.50}"#, json!({"title": "1.50"}), EVERYTHING, r#"{"title":null}"#, Refused),
        (
            "K5",
            EVERYTHING,
            r#"{"title":{"a": 1,  "b":[ ]}}"#,
            json!({"title": "{\"a\": 1,  \"b\":[ ]}"}),
            EVERYTHING,
            r#"{"title":{"type":"string","description":"of the book"}}"#,
            Refused,
        ),
        (
            "K5b",
            EVERYTHING,
            r#"{"title":["a",  1]}"#,
            json!({"title": "[\"a\",  1]"}),
            EVERYTHING,
            r#"{"title":"[1]"}"#,
            Untouched,
        ),
        (
            "K6",
            EVERYTHING,
            r#"{"title":"x","tags":"a, b"}"#,
            json!({"title": "x", "tags": ["a, b"]}),
            EVERYTHING,
            r#"{"title":"x","sizes":"many"}"#,
            Refused,
        ),
        (
            "K7",
            EVERYTHING,
            r#"{"title":"x","sizes":"[1, 2]"}"#,
            json!({"title": "x", "sizes": [1, 2]}),
            EVERYTHING,
            r#"{"title":"x","sizes":"[1, 2"}"#,
            Refused,
        ),
        (
            "K8",
            EVERYTHING,
            r#"{"title":"x","tags":{"0":"a","1":"b"}}"#,
            json!({"title": "x", "tags": ["a", "b"]}),
            EVERYTHING,
            r#"{"title":"x","sizes":{"0":1,"2":3}}"#,
            Refused,
        ),
        ("K9", EVERYTHING, r#"{"title":"x","pages":null}"#, json!({"title": "x"}), EVERYTHING, r#"{"title":null}"#, Refused),
        (
            "K10",
            EVERYTHING,
            r#"{"title":"x","mood":"Calm"}"#,
            json!({"title": "x", "mood": "calm"}),
            SPELLED,
            r#"{"m":"X-Y"}"#,
            Refused,
        ),
        (
            "K11",
            NOTE,
            r#"{"file_path":["/tmp/a b"],"body":"x"}"#,
            json!({"file_path": "/tmp/a b", "body": "x"}),
            NOTE,
            r#"{"file_path":["/tmp/a","/tmp/b"],"body":"x"}"#,
            Refused,
        ),
    ];
    for (rule, schema, source, expected, other_schema, other, limit) in &rows {
        let end = if *rule == "X2" { End::CutAgain } else { End::Closed };
        let report = fixed(schema, source, end);
        assert_eq!(value(&report).as_ref(), Some(expected), "{rule}: {source}\n{report:?}");
        assert!(report.fixes.iter().any(|fix| fix.rule.as_str() == *rule), "{rule} is not in the report on {source}\n{report:?}");
        let report = fixed(other_schema, other, end);
        match limit {
            Untouched => assert_eq!((report.verdict, report.accepted()), (Verdict::Clean, Some(*other)), "{rule}: {other}"),
            Refused => assert_eq!(report.verdict, Verdict::Refused, "{rule}: {other}\n{report:?}"),
        }
    }
    // Names of tools and patches are the stage's affair, and a missing value has no repair.
    let shown = |code: &&Code| rows.iter().any(|row| code.as_str() == row.0) || matches!(code, Code::M1 | Code::N6 | Code::F1);
    let missing: Vec<&Code> = Code::ALL.iter().filter(|code| !shown(code)).collect();
    assert!(missing.is_empty(), "rules without an example: {missing:?}");
}

/// `docs/rules.md` is generated: where it differs, the message is what it must be.
#[test]
fn the_table_in_the_documentation_is_the_list_of_rules() {
    let mut table = String::from("| code | what it does | example | becomes |\n|---|---|---|---|\n");
    let cell = |text: &str| format!("`` {} ``", text.replace('\n', "⏎").replace('|', "\\|"));
    for code in Code::ALL {
        let (from, to) = code.example();
        table.push_str(&format!("| {code} | {} | {} | {} |\n", code.meaning(), cell(from), cell(to)));
    }
    let page = include_str!("../../../../docs/rules.md");
    assert!(page.ends_with(&table), "the table of docs/rules.md must be:\n{table}");
}

#[test]
fn calls_are_counted_by_verdict_and_rule() {
    let tally = Tally::default();
    for source in [r#"{"town":"Turku"}"#, "{'town':'Turku',}", r#"{"town":1.5}"#, "", r#"{"town":"Tur"ku"}"#] {
        tally.count(&fixed(TOWN, source, End::Closed));
    }
    let verdicts: Vec<(&str, u64)> = tally.verdicts().collect();
    assert_eq!(verdicts, [("clean", 1), ("lossless", 1), ("coerced", 1), ("guess", 1), ("refused", 1)]);
    assert_eq!(tally.rules().collect::<Vec<_>>(), [("S1", 1), ("S5", 2), ("T3", 1), ("K4", 1)]);
}

/// What was found wrong once, each with the value that it must have, or `None` where nothing may run.
#[test]
fn found_by_hand() {
    for (schema, source, end, expected) in [
        // A value is missing, whatever string could be made to reach over the hole.
        (TOWN, r#"{"town":"a","nights":}"#, End::Whole, None),
        (TOWN, r#"{"town":"a","nights":}"#, End::Closed, None),
        // Dots stand for a value that the model left out.
        (TOWN, r#"{"town": ..., "nights": 2}"#, End::Closed, None),
        (ONE, r#"as {"town":...} says: {"town":"Turku"}"#, End::Closed, Some(json!({"town": "Turku"}))),
        // Cut after a brace of the code, by a server that says `stop`.
        (NOTE, r#"{"file_path":"a.c","body":"int main() { return 0; }"#, End::Cut(FinishReason::Stop), None),
        // The schema of a parameter is not its value.
        (ONE, r#"{"town":{"type":"string","description":"where to"}}"#, End::Closed, None),
        (ONE, r#"{"town":{"type":"module"}}"#, End::Closed, Some(json!({"town": "{\"type\":\"module\"}"}))),
        // The cut of a string that was never escaped, wherever it looks like an end.
        (NOTE, r#"{"file_path":"a.json","body":"{"a": "b"}"#, End::Cut(FinishReason::Stop), None),
        (NOTE, r#"{"file_path":"a.py","body":"print("a""#, End::Closed, None),
        (TOWN, r#"{"town":"a 5" pipe"}"#, End::Closed, Some(json!({"town": "a 5\" pipe"}))),
        // What comes after the object is not a part of its last string.
        (TOWN, r#"{"town":"Turku"} or {"town":"Turku"}"#, End::Closed, Some(json!({"town": "Turku"}))),
        (TOWN, r#"{"town":"Turku"} or {"town":"Oulu"}"#, End::Closed, None),
        (TOWN, "{\"town\":\"Turku\"}\n\nResult: {\"rooms\": 3}", End::Closed, Some(json!({"town": "Turku"}))),
        (TOWN, r#"{"function":"book","arguments":{"town":"Turku"}}"#, End::Closed, Some(json!({"town": "Turku"}))),
        // The JSON text of an object is no path.
        (NOTE, r#"{"file_path":{"a":"b"},"body":"x"}"#, End::Closed, None),
        (NOTE, r#"{"file_path":[1],"body":["x"]}"#, End::Closed, None),
        // Prose is no parameter.
        (TOWN, "I will look for a town now.", End::Closed, None),
        // Opened by one kind of quote, closed by another.
        (TOWN, "{“town\": \"Turku”}", End::Closed, Some(json!({"town": "Turku"}))),
        (TOWN, "{\"town\": \"Turku”, \"nights\": 2}", End::Closed, Some(json!({"town": "Turku", "nights": 2}))),
        (TOWN, r#"{"town": "a "b" + c"}"#, End::Closed, Some(json!({"town": "a \"b\" + c"}))),
        (TOWN, r#"{"town": "b" + c", "nights": 2}"#, End::Closed, Some(json!({"town": "b\" + c", "nights": 2}))),
        (TOWN, "{\"town\": `Turku`}", End::Closed, Some(json!({"town": "Turku"}))),
        (TOWN, r#"{"town": town.txt}"#, End::Closed, Some(json!({"town": "town.txt"}))),
        (TOWN, r#"{"town": notes (1).txt}"#, End::Closed, Some(json!({"town": "notes (1).txt"}))),
        (TOWN, r#"{"town": "a, ""b"": c"}"#, End::Closed, Some(json!({"town": "a, \"\"b\"\": c"}))),
        (
            NOTE,
            r#"{"file_path": "a.csv", "body": "x,""y"",""nights"": z"}"#,
            End::Closed,
            Some(json!({"file_path": "a.csv", "body": "x,\"\"y\"\",\"\"nights\"\": z"})),
        ),
        // Python's repr of the JSON text: one layer of escapes is Python's.
        (TOWN, r#"'{"town": "a\\nb \\u00b0"}'"#, End::Closed, Some(json!({"town": "a\nb °"}))),
        (TOWN, r#"'{"town": "it\'s"}'"#, End::Closed, Some(json!({"town": "it's"}))),
        (TOWN, r#"'{"town": "say \"hi\""}'"#, End::Closed, Some(json!({"town": "say \"hi\""}))),
        (TOWN, r#"{"town":"a \"b\",\"nights=2\" c"}"#, End::Closed, Some(json!({"town": "a \"b\",\"nights=2\" c"}))),
        (
            NOTE,
            r#"{"file_path":"a.py","body":"d = {"a","file_path=b"}"}"#,
            End::Closed,
            Some(json!({"file_path": "a.py", "body": "d = {\"a\",\"file_path=b\"}"})),
        ),
    ] {
        let report = fixed(schema, source, end);
        assert_eq!(value(&report), expected, "{source}\n{report:?}");
    }
}

#[test]
fn another_name_of_a_parameter_is_known_however_the_schema_spells_it() {
    const SCHEMA: &str = r#"{"type":"object","properties":{"filePath":{"type":"string"},"oldString":{"type":"string"},
        "newString":{"type":"string"}},"required":["filePath","oldString","newString"]}"#;
    let meant = json!({"filePath": "a", "oldString": "b", "newString": "c"});
    for source in [
        r#"{"path":"a","old_str":"b","new_str":"c"}"#,
        r#"{"filename":"a","oldText":"b","newText":"c"}"#,
        r#"{"uri":"a","oldString":"b","new_text":"c"}"#,
    ] {
        becomes("N2", SCHEMA, source, Verdict::Coerced, meant.clone());
    }
    // Two of them may mean the one parameter.
    let both = r#"{"path":"a","uri":"d","oldString":"b","newString":"c"}"#;
    assert_eq!(fixed(SCHEMA, both, End::Closed).verdict, Verdict::Refused);
}

#[test]
fn an_empty_object_in_a_list_of_texts_is_no_text() {
    const SCHEMA: &str = r#"{"type":"object","properties":{"to":{"type":"array","items":{"type":"string"}}},"required":["to"]}"#;
    for source in [r#"{"to":{}}"#, r#"{"to":[{}]}"#, r#"{"to":["a",{}]}"#] {
        assert_eq!(fixed(SCHEMA, source, End::Closed).verdict, Verdict::Refused, "{source}");
    }
}

//! What holds for every text.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::*;

/// Strings as arguments hold them: words, code, markup, all kinds of quotes.
fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        "[a-z ]{0,8}",
        Just("\"".to_owned()),
        Just("'".to_owned()),
        Just("\\".to_owned()),
        Just("\n".to_owned()),
        Just("{\"a\": 1, \"b\": [\"c\"]}".to_owned()),
        Just("\", \"town\": \"".to_owned()),
        Just("</tool_call>".to_owned()),
        Just("```".to_owned()),
        Just("é“”\u{1f680}".to_owned()),
        Just("// # /* None }".to_owned()),
    ];
    prop::collection::vec(piece, 0..6).prop_map(|pieces| pieces.concat())
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1e6..1e6f64).prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec(("[a-z_]{1,6}", inner), 0..5).prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn object() -> impl Strategy<Value = Map<String, Value>> {
    prop::collection::vec(("[a-z_]{1,8}", any_value()), 0..5).prop_map(|members| members.into_iter().collect())
}

/// An object of strings, as the tools of code editors have it.
fn strings() -> impl Strategy<Value = Map<String, Value>> {
    prop::collection::vec(("[a-z_]{1,8}", text().prop_map(Value::from)), 1..4).prop_map(|members| members.into_iter().collect())
}

/// A command line or code: words with brackets and quotes among them.
fn code() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        "[a-z]{1,5}",
        "[\\[\\]{}()\"'`<>|&$*]{1,2}",
        Just(" ".to_owned()),
        Just("command".to_owned()),
        Just("{\"command\": \"ls\"}".to_owned()),
        Just("[\"a\", 1]".to_owned()),
    ];
    ("[a-z]{1,4} ", prop::collection::vec(piece, 1..8)).prop_map(|(first, pieces)| first + pieces.concat().as_str())
}

/// Anything at all, mostly what looks a little like JSON.
fn soup() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        "[\\[\\]{}:,\"'\\\\ \n]{1,3}",
        "[a-z0-9.\\-+]{1,5}",
        Just("\"town\":".to_owned()),
        Just("\"Turku\"".to_owned()),
        Just("null".to_owned()),
        Just("```json\n".to_owned()),
        Just("\\\"".to_owned()),
        Just("“”".to_owned()),
        any::<char>().prop_map(String::from),
    ];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

/// All strings in a value, keys too.
fn all_strings(value: &Value, out: &mut Vec<String>) {
    match value {
        Value::String(text) => out.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| all_strings(item, out)),
        Value::Object(members) => members.iter().for_each(|(key, value)| {
            out.push(key.clone());
            all_strings(value, out);
        }),
        _ => {}
    }
}

/// Keys as tools have them, and those that models put around arguments.
fn key() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["path", "content", "uri", "replace", "limit", "tags", "edit", "arguments", "name", "input"])
        .prop_map(str::to_owned)
}

/// A schema of such keys.
fn schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!({})),
        prop::sample::select(vec!["string", "integer", "number", "boolean", "array", "object"])
            .prop_map(|name| json!({"type": name})),
        Just(json!({"enum": ["a", "b", 1]})),
        Just(json!({"anyOf": [{"type": "string"}, {"type": "object"}]})),
    ];
    let inner = leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            inner.clone().prop_map(|items| json!({"type": "array", "items": items})),
            prop::collection::vec((key(), inner), 0..3).prop_map(|members| {
                let required: Vec<String> = members.iter().take(1).map(|(key, _)| key.clone()).collect();
                json!({"type": "object", "properties": Map::from_iter(members), "required": required})
            }),
        ]
    });
    (prop::collection::vec((key(), inner), 0..5), prop::collection::vec(key(), 0..4), any::<bool>()).prop_map(
        |(properties, required, closed)| {
            json!({"type": "object", "properties": Map::from_iter(properties), "required": required, "additionalProperties": !closed})
        },
    )
}

/// An object of such keys, whose strings are full of structure.
fn tricky() -> impl Strategy<Value = Value> {
    let text = prop_oneof![
        text(),
        Just("\",\"replace\":\"x".to_owned()),
        Just("{\"path\": \"a\", \"content\": \"b\"}".to_owned()),
        Just("a\"}, {\"uri\": 1".to_owned()),
        Just("[\"a\", 1,]".to_owned()),
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        text.prop_map(Value::from)
    ];
    let inner = leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((key(), inner), 0..4).prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    });
    prop::collection::vec((key(), inner), 0..5).prop_map(|members| Value::Object(members.into_iter().collect()))
}

/// Whether the arguments went out as they were written. The one exception are Windows paths.
fn is_untouched(report: &Report, source: &str) -> bool {
    let is_path = report.verdict == Verdict::Guess && report.fixes.iter().all(|fix| fix.rule == Code::T2b);
    is_path || (report.verdict == Verdict::Clean && report.accepted() == Some(source))
}

fn ends() -> impl Strategy<Value = End> {
    prop_oneof![Just(End::Whole), Just(End::Closed), Just(End::Cut(FinishReason::Stop)), Just(End::Cut(FinishReason::Length)),]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn nothing_is_cut_out_of_a_text(text in code()) {
        if let Some(found) = value(&fixed(SHELL, &text, End::Whole)) {
            prop_assert_eq!(found, json!({ "command": text.trim() }));
        }
    }

    /// What is strict and fits is what the model meant, byte for byte.
    #[test]
    fn strict_json_that_fits_goes_out_byte_for_byte(schema in schema(), value in tricky()) {
        let compiled = Schemas::default().get(&Arc::from(schema.to_string()));
        let source = value.to_string();
        let root = crate::json::strict::parse(&source).unwrap();
        if compiled.fault(&root, &[]).is_none() {
            let report = fix(&source, Some(&compiled), &[], End::Closed);
            prop_assert!(is_untouched(&report, &source), "{} with {}: {:?}", source, schema, report);
        }
    }

    /// Whatever a schema asks for: no rule of the syntax touches valid JSON, and what is refused is what was written.
    #[test]
    fn valid_objects_are_never_reinterpreted(schema in schema(), value in tricky(), end in ends()) {
        let source = value.to_string();
        let report = fixed(&schema.to_string(), &source, end);
        // What a string held before may only be found in the backslashes of a path.
        let syntax = |rule: Code| rule != Code::T2b && rule.as_str().starts_with(['S', 'T', 'X']);
        prop_assert!(!report.fixes.iter().any(|fix| syntax(fix.rule)), "{} with {}: {:?}", source, schema, report);
        let literal = report.fixes.iter().any(|fix| fix.rule.as_str() == "T2b");
        if let (Some(Why::Schema(_)), Some(arguments), false) = (&report.why, &report.arguments, literal) {
            prop_assert_eq!(arguments, &source);
        }
    }

    #[test]
    fn valid_objects_are_untouched(object in object(), pretty in any::<bool>(), end in ends()) {
        let value = Value::Object(object);
        let source = if pretty { serde_json::to_string_pretty(&value).unwrap() } else { value.to_string() };
        let report = fixed("", &source, end);
        prop_assert!(is_untouched(&report, &source), "{}: {:?}", source, report);
    }

    #[test]
    fn a_cut_call_never_runs(object in object(), at in any::<prop::sample::Index>()) {
        let source = Value::Object(object).to_string();
        let cuts: Vec<usize> = source.char_indices().map(|(at, _)| at).collect();
        let cut = &source[..cuts[at.index(cuts.len())]];
        for schema in ["", TOWN, SHELL] {
            let report = fixed(schema, cut, End::Cut(FinishReason::Length));
            prop_assert_eq!(report.why, Some(Why::Truncated(FinishReason::Length)), "{}", cut);
        }
    }

    #[test]
    fn fixing_is_idempotent(source in soup(), end in ends()) {
        for schema in ["", TOWN, EVERYTHING] {
            let report = fixed(schema, &source, end);
            if let Some(arguments) = report.accepted() {
                let again = fixed(schema, arguments, End::Closed);
                prop_assert_eq!((again.verdict, again.accepted()), (Verdict::Clean, Some(arguments)), "{}", source);
            }
        }
    }

    #[test]
    fn whatever_comes_the_answer_is_sound(source in soup(), end in ends()) {
        for schema in ["", TOWN] {
            let report = fixed(schema, &source, end);
            prop_assert_eq!(report.why.is_some(), report.verdict == Verdict::Refused);
            prop_assert_eq!(report.verdict == Verdict::Clean, report.why.is_none() && report.fixes.is_empty());
            if let Some(arguments) = &report.arguments {
                prop_assert!(serde_json::from_str::<Value>(arguments).is_ok(), "{}", arguments);
            }
            for fix in &report.fixes {
                prop_assert!(fix.at.start <= fix.at.end && fix.at.end <= source.len());
                prop_assert!(fix.level <= report.verdict);
            }
        }
    }

    /// Damages that leave one possible reading: every string comes back letter by letter.
    #[test]
    fn strings_survive_repairs_of_the_structure(object in strings(), damage in 0..6usize) {
        let value = Value::Object(object);
        let strict = value.to_string();
        let source = match damage {
            0 => format!("{},}}", &strict[..strict.len() - 1]),
            // An escaped backslash before an `n` is no newline.
            1 => strict.replace(r"\\", "\0").replace(r"\n", "\n").replace('\0', r"\\"),
            2 => format!("```json\n{strict}\n```"),
            3 => format!("{strict}}}"),
            4 => format!("{{,{}", &strict[1..]),
            _ => format!("{strict}</tool_call>"),
        };
        let report = fixed("", &source, End::Closed);
        if report.verdict == Verdict::Lossless {
            let mut wanted = Vec::new();
            let mut got = Vec::new();
            all_strings(&value, &mut wanted);
            all_strings(&serde_json::from_str(report.accepted().unwrap()).unwrap(), &mut got);
            prop_assert_eq!(wanted, got, "{}", source);
        } else if report.verdict == Verdict::Clean {
            prop_assert_eq!(damage, 1);
        } else if damage != 1 {
            prop_assert!(false, "{:?} of {}", report, source);
        }
    }

    /// One string of code with nothing escaped: with the schema it comes back whole, or is refused.
    #[test]
    fn unescaped_code_is_whole_or_refused(lines in prop::collection::vec("[a-z]{1,6} = (\"[a-z]{0,5}\"|[0-9]{1,3}|f\\(\"[a-z]{0,4}\", \"[a-z]{0,4}\"\\)|\\[\"[a-z]{0,4}\"\\])", 1..12)) {
        let code = lines.join("\n");
        let source = format!("{{\"file_path\":\"a.py\",\"body\":\"{code}\"}}");
        let report = fixed(NOTE, &source, End::Closed);
        if let Some(arguments) = report.accepted() {
            let value: Value = serde_json::from_str(arguments).unwrap();
            prop_assert_eq!(value, json!({"file_path": "a.py", "body": code}));
        }
    }
}

//! Values that seem to end too early, pairs of quotes of which one is escaped, strings that are put together, names of variables:
//! what the model wrote arrives, or nothing does. Each with twins that are intact.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

/// Names of a tool's two string parameters.
fn names() -> impl Strategy<Value = (String, String)> {
    ("[a-z]{4,9}", "[a-z]{4,9}").prop_filter("two names", |(one, other)| one != other)
}

fn schema(first: &str, second: &str) -> String {
    let properties = json!({first: {"type": "string"}, second: {"type": "string"}, "count": {"type": "integer"}});
    json!({"type": "object", "properties": properties, "required": [first, second]}).to_string()
}

/// A line of code with a string in brackets; its last quote is before the closing bracket.
fn line() -> impl Strategy<Value = (String, String)> {
    let opened = prop::sample::select(vec!["print(\"", "d = {\"k\": \"", "x = [\"", "f({\"a\": [\"", "rows[\""]);
    (opened, "[a-z ]{0,6}").prop_map(|(open, word)| {
        let closers: String = open
            .chars()
            .rev()
            .filter_map(|c| match c {
                '(' => Some(')'),
                '{' => Some('}'),
                '[' => Some(']'),
                _ => None,
            })
            .collect();
        (format!("{open}{word}"), closers)
    })
}

/// The text of a JSON string without its quotes.
fn escaped(text: &str) -> String {
    let json = Value::from(text).to_string();
    json[1..json.len() - 1].to_owned()
}

fn ends() -> impl Strategy<Value = End> {
    prop::sample::select(vec![End::Whole, End::Closed, End::Cut(FinishReason::Stop), End::Cut(FinishReason::Length)])
}

/// The arguments, or nothing; whatever the verdict is, no other value is accepted.
fn accepted(schema: &str, text: &str, end: End) -> Option<Value> {
    value(&fixed(schema, text, end))
}

proptest! {
    #[test]
    fn no_text_is_dropped_behind_a_quote_that_was_not_escaped(
        (first, second) in names(), (line, closers) in line(), rest in "(\n[a-z]{1,5}\\(\\)){1,3}\n?", end in ends(), brace in any::<bool>(),
    ) {
        let schema = schema(&first, &second);
        let whole = format!("{line}\"{closers}{rest}");
        let damaged = format!("{}\"{closers}{}", escaped(&line), escaped(&rest));
        for quote in ["\"", ""] {
            let brace = if brace { "}" } else { "" };
            let text = format!("{{\"{first}\": \"a\", \"{second}\": \"{damaged}{quote}{brace}");
            if let Some(got) = accepted(&schema, &text, end) {
                prop_assert_eq!(&got[&second], &Value::from(whole.as_str()), "{}", text);
            }
        }
        // The twin with all quotes escaped, with prose and closing marks behind it.
        let arguments = json!({first.as_str(): "a", second.as_str(): whole});
        for behind in ["", "}", "\n```", "</tool_call>", "\nI wrote the \"file\" for you.", "}}\n"] {
            let got = accepted(&schema, &format!("{arguments}{behind}"), End::Closed);
            prop_assert_eq!(got.as_ref(), Some(&arguments), "{}", behind);
        }
    }

    #[test]
    fn the_last_quote_of_an_inner_pair_is_content((first, second) in names(), words in prop::collection::vec("[a-z]{1,6}", 1..4), before in "[a-z=]{0,6}") {
        let schema = schema(&first, &second);
        let text = words.iter().fold(before, |text, word| format!("{text} \"{word}\""));
        let damaged = format!("{}\"", escaped(&text).strip_suffix("\\\"").unwrap());
        for (text_of, rest) in [(&second, format!(", \"{first}\": \"b\"}}")), (&second, format!(", \"count\": 3, \"{first}\": \"b\"}}"))] {
            let got = accepted(&schema, &format!("{{\"{text_of}\": \"{damaged}\"{rest}"), End::Closed);
            prop_assert_eq!(got.map(|got| got[&second].clone()), Some(Value::from(text.as_str())), "{}", damaged);
        }
        let intact = json!({first.as_str(): "b", second.as_str(): text});
        prop_assert_eq!(accepted(&schema, &intact.to_string(), End::Closed), Some(intact));
    }

    #[test]
    fn strings_that_are_added_are_one_string(
        (first, second) in names(), parts in prop::collection::vec("[a-z .]{0,8}", 2..7),
        plus in prop::sample::select(vec![" + ", "+", " +\n  ", "\n  + "]), quote in prop::sample::select(vec!['"', '\'']),
    ) {
        let schema = schema(&first, &second);
        let written = |between: &str| parts.iter().map(|part| format!("{quote}{part}{quote}")).collect::<Vec<_>>().join(between);
        let joined = Value::from(parts.concat());
        for text in [
            format!("{{\"{first}\": \"a\", \"{second}\": {}}}", written(plus)),
            format!("{{\"{second}\": {}, \"{first}\": \"a\"}}", written(plus)),
        ] {
            let got = accepted(&schema, &text, End::Closed).map(|got| got[&second].clone());
            // `"1 "+" 2"` may be one string that contains quotes.
            prop_assert!(got.as_ref() == Some(&joined) || (plus == "+" && got.is_none()), "{}: {:?}", text, got);
        }
        // Side by side they may be one string or two.
        for between in [" ", "\n", "\n    "] {
            let text = format!("{{\"{first}\": \"a\", \"{second}\": {}}}", written(between));
            let got = accepted(&schema, &text, End::Closed);
            prop_assert!(got.is_none_or(|got| got[&second] == joined), "{}", text);
        }
    }

    #[test]
    fn markers_and_signs_in_quotes_that_are_not_escaped_end_no_value(
        (first, second) in names(), before in "[a-z]{1,5}( [=(\\[] ?| )", after in "(\\)| )[a-z]{0,6}(;\n[a-z]{1,5};)?", end in ends(),
        inner in prop::sample::select(vec![
            "</div>", "</tool_call>", "<|im_end|>", "</", "<li>", "/*", "//", "# ", "+", "}", "}}", "]", "```", ";", " ", ")", "}{", "},{",
            "}, {", "}[", "][", "], [", "{", "[", "{}", "):", "',", "=",
        ]),
        inners in 1..3_usize,
    ) {
        let schema = schema(&first, &second);
        let line = format!("{before}\"{inner}\"{after}").repeat(inners);
        let damaged = escaped(&line).replace("\\\"", "\"");
        for text in [
            format!("{{\"{first}\": \"a\", \"{second}\": \"{}\"}}", damaged.replace("\\n", "\n")),
            format!("{{\"{first}\": \"a\", \"{second}\": \"{damaged}\"}}"),
            format!("{{\"{second}\": \"{damaged}\", \"{first}\": \"a\"}}"),
            format!("{{\"{first}\": \"a\", \"{second}\": \"{damaged}\"}}</tool_call>"),
        ] {
            let got = accepted(&schema, &text, end).map(|got| got[&second].clone());
            prop_assert!(got.is_none_or(|got| got == line), "{}", text);
        }
    }

    #[test]
    fn the_name_of_a_variable_is_no_value(name in "[a-z]{5,9}", one in "[a-z]{2,6}", other in "[a-z]{2,6}", word in "[A-Z][a-z]{2,8}") {
        let schema = json!({"type": "object", "properties": {&name: {"type": "string"}}, "required": [&name]}).to_string();
        for variable in [format!("{one}_{other}"), format!("sys.{one}_{other}"), name.clone(), format!("{one}Name"), format!("my_{name}")] {
            for text in [format!("{{\"{name}\": {variable}}}"), format!("{{{name}: {variable}}}"), format!("f({name}={variable})")] {
                prop_assert_eq!(accepted(&schema, &text, End::Closed), None, "{}", text);
            }
            let quoted = json!({&name: variable});
            prop_assert_eq!(accepted(&schema, &quoted.to_string(), End::Closed), Some(quoted));
        }
        let text = format!("{{\"{name}\": {word}}}");
        prop_assert_eq!(accepted(&schema, &text, End::Closed), Some(json!({&name: word})), "{}", text);
        // A listed value is one, however it is written.
        let listed = json!({"type": "object", "properties": {&name: {"enum": [format!("{one}_{other}"), "x"]}}, "required": [&name]});
        let text = format!("{{\"{name}\": {one}_{other}}}");
        prop_assert_eq!(accepted(&listed.to_string(), &text, End::Closed), Some(json!({&name: format!("{one}_{other}")})));
    }
}

#[test]
fn a_command_keeps_its_last_quote_or_is_refused() {
    let schema =
        r#"{"type":"object","properties":{"command":{"type":"string"},"timeout":{"type":"integer"}},"required":["command"]}"#;
    for command in [
        r#"git commit -m "fix it""#,
        r#"echo "hi""#,
        r#"find . -name "*.py""#,
        r#"python -c "print(1)""#,
        r#"ls -la | grep "a, b""#,
        r#"npm run "build: prod""#,
        r#"say "it's""#,
        r#"x = "hi""#,
        r#"cp "a b" "c d""#,
    ] {
        for rest in ["}", ", \"timeout\": 5}", "\n}"] {
            // Without the quotes around it.
            let got = accepted(schema, &format!("{{\"command\": {command}{rest}"), End::Closed);
            assert!(got.is_none_or(|got| got["command"] == command), "{command}{rest}");
            // Without the one at the end.
            let got = accepted(schema, &format!("{{\"command\": \"{command}{rest}"), End::Closed);
            assert!(got.is_none_or(|got| got["command"] == command), "\"{command}{rest}");
        }
    }
    let exact = accepted(schema, r#"{"command": git commit -m "fix it"}"#, End::Closed);
    assert_eq!(exact, Some(json!({"command": "git commit -m \"fix it\""})));
    // A quote that opens nothing: the one before the value is missing.
    let got = accepted(schema, r#"{"command": ls", "timeout": 5}"#, End::Closed);
    assert_eq!(got, Some(json!({"command": "ls", "timeout": 5})));
}

#[test]
fn lines_that_are_added_and_members_with_equals_signs_are_no_content() {
    let schema = r#"{"type":"object","properties":{"path":{"type":"string"},"text":{"type":"string"},"lines":{"type":"integer"}},"required":["path"]}"#;
    for (text, arguments) in [
        ("{\"path\": \"f {\\n\" +\n  \"}\\n\"}", Some(json!({"path": "f {\n}\n"}))),
        ("{\"path\": \"f(\\n\" +\n  \")\\n\" +\n \"g\", \"lines\": 1}", Some(json!({"path": "f(\n)\ng", "lines": 1}))),
        ("{path=\"a\", lines=3, text=\"b\"}", None),
        ("{path=\"a, lines=3\"}", Some(json!({"path": "a, lines=3"}))),
        ("{path=\"a\", text=\"b\"}", None),
        ("{\"path\": \"a, lines=3\"}", Some(json!({"path": "a, lines=3"}))),
    ] {
        assert_eq!(accepted(schema, text, End::Closed), arguments, "{text}");
    }
}

#[test]
fn an_object_in_a_list_of_texts_whose_commas_are_missing_is_in_a_string() {
    let schema = r#"{"type":"object","properties":{"tags":{"type":"array","items":{"type":"string"}}},"required":["tags"]}"#;
    assert_eq!(accepted(schema, r#"{"tags": ["d "{"a": "b"}" u", "b"]}"#, End::Closed), None);
    assert_eq!(accepted(schema, r#"{'tags': ['echo '{"a": 1}' x', 'b']}"#, End::Closed), None);
    assert_eq!(accepted(schema, r#"{"tags": ["a" "b"]}"#, End::Closed), Some(json!({"tags": ["a", "b"]})));
    assert_eq!(accepted(schema, r#"{"tags": ["a", {"b": 1}]}"#, End::Closed), Some(json!({"tags": ["a", "{\"b\": 1}"]})));
}

#[test]
fn what_follows_an_object_is_no_part_of_its_value() {
    let schema = r#"{"type":"object","properties":{"path":{"type":"string"},"text":{"type":"string"}},"required":["path"]}"#;
    for (text, arguments) in [
        (r#"{"path": "a", "text": "say \"hi"} I said "hi"."#, None),
        (r#"{"path": "a", "text": "f({\"k"}) x"#, None),
        (r#"{"path": "a", "text": ""x"}\nrest"#, None),
        (r#"{"path": "a", "text": """}"#, None),
        (r#"{"path": "a", "text": ""x\" + \"y\""}"#, None),
        (r#"{"path": "a", "text": """"x""""}"#, None),
        (r#"{"path": "a", "text": "echo "x" > "y"}"#, None),
        (r#"{"path": "a", "text": "git commit -m \"x" # \"y\"\n"#, None),
        (r#"{"path": "a", "text": "5\" disk"} That is the "disk"."#, None),
        (r#"{"path": "a", "text": "5\" disk"} That is all."#, Some(json!({"path": "a", "text": "5\" disk"}))),
        (r#"{"path": "a", "text": "f(\"k\")"} It calls "f"."#, Some(json!({"path": "a", "text": "f(\"k\")"}))),
        (r#"{"path": "a", "text": "say \"x"\n}}"#, None),
        (r#"{"path": "a", "text": ""x" + "y"\n}"#, None),
        (r#"{"path": "a", "text": "say \"x\""\n}"#, Some(json!({"path": "a", "text": "say \"x\""}))),
        (r#"{"path": "a", "text": "x"}\n"#, Some(json!({"path": "a", "text": "x"}))),
        (r#"{"path": "a", "text": "x\ny"} {"path": "a", "text": "x\ny"}"#, Some(json!({"path": "a", "text": "x\ny"}))),
        (r#"{"path": "a", "text": ""}"#, Some(json!({"path": "a", "text": ""}))),
    ] {
        assert_eq!(accepted(schema, text, End::Closed), arguments, "{text}");
    }
}

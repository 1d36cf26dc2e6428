//! The command as a suite and as a person see it.

use serde_json::{Value, json};

use super::*;

fn run(command: &Fix, input: &str) -> (Result<(), Error>, String, String) {
    let (mut output, mut notes) = (Vec::new(), Vec::new());
    let result = command.run(&mut input.as_bytes(), &mut output, &mut notes);
    (result, String::from_utf8(output).unwrap(), String::from_utf8(notes).unwrap())
}

#[test]
fn json_lines() {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    let rows = [
        json!({"id": "a", "arguments": "{'n': '3'}", "schema": schema}),
        json!({"id": 2, "arguments": "{\n \"text\": \"one\u{2028}line\"\n}"}),
        json!({"id": "c", "arguments": "{\"n\": 3", "schema": schema, "finish_reason": "length"}),
        json!({"id": "d", "arguments": "{\"n\": 3, \"m\": [", "schema": schema, "finish_reason": "some_new_reason"}),
        json!({"id": "e", "arguments": "{\"n\": \"many\"}", "schema": schema}),
    ];
    let input: String = rows.iter().map(|row| format!("{row}\n\n")).collect();
    let (result, output, _) = run(&Fix { jsonl: true, ..Fix::default() }, &input);
    result.unwrap();
    let lines: Vec<Value> =
        output.split('\n').filter(|line| !line.is_empty()).map(|line| serde_json::from_str(line).unwrap()).collect();
    let brief: Vec<Value> = lines.iter().map(|line| json!([line["id"], line["verdict"], line.get("arguments")])).collect();
    assert_eq!(
        brief,
        [
            json!(["a", "coerced", {"n": 3}]),
            json!([2, "clean", {"text": "one\u{2028}line"}]),
            json!(["c", "refused", null]),
            json!(["d", "refused", null]),
            json!(["e", "refused", null]),
        ]
    );
    assert_eq!(
        lines[0]["fixes"][0],
        json!({"rule": "S5", "level": "lossless", "path": "/n", "at": [2, 3], "note": "single quotes replaced"})
    );
    assert!(!output.contains('\u{2028}'), "some readers take it for the end of the line");
    let (result, ..) = run(&Fix { jsonl: true, ..Fix::default() }, "not a row");
    assert!(result.unwrap_err().message.starts_with("line 1: "));
}

#[test]
fn for_a_person() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("schema.json");
    std::fs::write(&path, r#"{"properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}"#).unwrap();
    let command = Fix { schema: Some(path), ..Fix::default() };
    let (result, output, notes) = run(&command, "{n: '3', why: \"asked\"}\n");
    result.unwrap();
    assert_eq!(output, "{\"n\":3}\n");
    assert!(notes.starts_with("coerced (confidence "), "{notes}");
    assert!(notes.contains("K1") && notes.contains("left out /why"), "{notes}");
    let (result, output, _) = run(&command, "{}");
    assert_eq!(output, "");
    assert!(result.unwrap_err().message.starts_with("refused: its arguments do not fit"));
    let (result, ..) = run(&Fix { schema: Some("no/such/file".into()), ..Fix::default() }, "{}");
    assert!(result.unwrap_err().message.contains("no/such/file"));
    let (result, ..) = run(&Fix { finish_reason: Some("length".to_owned()), ..Fix::default() }, "{\"n\":1");
    assert!(result.unwrap_err().message.contains("cut off"));
}

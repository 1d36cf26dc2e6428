//! Code in the place of values.

use super::*;

#[test]
fn what_a_program_would_compute_is_refused() {
    let schema =
        r#"{"type":"object","properties":{"command":{"type":"string"},"timeout":{"type":"integer"}},"required":["command"]}"#;
    for value in [
        r#""ls" if x else "rm -rf a""#,
        r#""ls" || "rm""#,
        r#""ls".trim()"#,
        r#""ls %s" % d"#,
        r#""ls " "la""#,
        r#"cmd or "ls""#,
        "await f()",
        "this.cmd",
        r#"@"ls""#,
    ] {
        for rest in ["}", ", \"timeout\": 5}"] {
            is_refused("an expression", schema, &format!("{{\"command\": {value}{rest}"), End::Closed);
        }
    }
    // Quotes that were not escaped are content.
    let report = fixed(schema, r#"{"command": "echo "a" or "b" of it"}"#, End::Closed);
    assert_eq!(value(&report), Some(json!({"command": "echo \"a\" or \"b\" of it"})));
}

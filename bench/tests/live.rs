//! `toolglot-bench live` before a backend: every task goes both ways, what came is judged, and nothing is asked twice.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    dead_code,
    reason = "a test ends where it cannot go on; the scripted backend can do more than this test needs"
)]

use std::process::Command;

use serde_json::{Value, json};

#[path = "../../tests/it/fake.rs"]
mod fake;

use fake::{Fake, Script, Seen, Step};

/// A model that writes its calls as text, and greets.
fn server(seen: &Seen) -> Script {
    if seen.line == "GET /v1/models" {
        return Script::json(200, r#"{"data":[{"id":"coder","owned_by":"someone"}]}"#);
    }
    if seen.line != "POST /v1/chat/completions" {
        return Script::json(404, "{}");
    }
    let body: Value = serde_json::from_str(&seen.body).unwrap();
    let answer = match seen.body.contains("weather in Oslo") {
        true => "```json\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\"}}\n```",
        false => "Hello!",
    };
    let usage = json!({"prompt_tokens": 50, "completion_tokens": 10});
    if body["stream"] == false {
        let message = json!({"role": "assistant", "content": answer});
        return Script::json(
            200,
            json!({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}], "usage": usage}).to_string(),
        );
    }
    let chunk = |delta: Value, finish: Value| {
        Step::Send(format!(
            "data: {}\n\n",
            json!({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}], "usage": usage})
        ))
    };
    Script::events(vec![
        chunk(json!({"content": answer}), Value::Null),
        chunk(json!({}), json!("stop")),
        Step::Send("data: [DONE]\n\n".into()),
    ])
}

#[tokio::test]
async fn tasks_go_straight_and_through_the_proxy_and_are_asked_once() {
    let fake = Fake::start(server).await;
    let backend = format!("openai={}/v1", fake.url);
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path().to_owned();
    let bench = move |model: &'static str| {
        let (backend, folder) = (backend.clone(), folder.clone());
        tokio::task::spawn_blocking(move || {
            let tasks = ["--tasks", "one/weather", "--tasks", "none/greeting", "--form", "openai"];
            let ways = ["--way", "straight", "--way", "native", "--json", "table.json"];
            let arguments = ["live", "--model", model, "--backend", &backend];
            Command::new(env!("CARGO_BIN_EXE_toolglot-bench"))
                .args([&arguments[..], &tasks, &ways].concat())
                .current_dir(&folder)
                .env("HOME", &folder)
                .env("OLLAMA_HOST", "127.0.0.1:9")
                .output()
                .unwrap()
        })
    };
    let output = bench("coder").await.unwrap();
    let table = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{table}{}", String::from_utf8_lossy(&output.stderr));
    assert!(table.contains("[[route]]\nmodel = \"coder\"\ntools = \"native\""), "{table}");
    let report: Value = serde_json::from_slice(&std::fs::read(directory.path().join("table.json")).unwrap()).unwrap();
    let rows: Vec<_> =
        report["rows"].as_array().unwrap().iter().map(|row| [&row["way"], &row["right"], &row["shown"], &row["read"]]).collect();
    assert_eq!(json!(rows), json!([["straight", 1, 1, 50], ["native", 2, 0, 50]]), "{table}");
    let asked = fake.seen("/chat/completions").len();
    assert_eq!(asked, 4);
    let again = bench("coder").await.unwrap();
    assert_eq!(String::from_utf8(again.stdout).unwrap(), table);
    assert_eq!(fake.seen("/chat/completions").len(), asked, "what is known is not asked again");
    let said = String::from_utf8_lossy(&again.stderr);
    assert!(said.contains("4/4") && said.matches("the same command goes on from there").count() == 2, "{said}");
    assert!(said.contains("the outcomes are in bench-live.jsonl"), "{said}");
    // A model that nobody lists is not asked at all.
    let unknown = bench("nope").await.unwrap();
    assert!(String::from_utf8_lossy(&unknown.stderr).contains("no backend that answers lists the model nope"), "{}", String::from_utf8_lossy(&unknown.stderr));
    assert_eq!((unknown.status.code(), fake.seen("/chat/completions").len()), (Some(1), asked));
}

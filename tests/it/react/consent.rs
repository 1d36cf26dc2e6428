//! What may run by itself, what a person is asked for, and who is told.

use super::*;
use crate::mcp::{shell, shell_with, with};

const LIST: &str = r#"reply '{"tools":[{"name":"look","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}},{"name":"write","inputSchema":{"type":"object"}},{"name":"wipe","inputSchema":{"type":"object"},"annotations":{"destructiveHint":true}},{"name":"secret","inputSchema":{"type":"object"}}]}'"#;

fn store(more: Value) -> Value {
    json!({"store": with(shell_with("text done", LIST), more)})
}

async fn ran(servers: Value, made: Says, more: Value) -> (Room, Value) {
    let room = Room::with(Family::Native, vec![made, text("Well.")], servers, "").await;
    let answer = room.answer(more).await;
    (room, answer)
}

#[tokio::test]
async fn the_mode_is_the_consent_but_not_for_destruction() {
    let table = [
        (json!({}), "store__write", true),
        (json!({}), "store__wipe", false),
        (json!({"effects": {"wipe": "writes"}}), "store__wipe", true),
        (json!({"ask": ["write"]}), "store__write", false),
        (json!({"deny": ["secret"]}), "store__secret", false),
        (json!({"allow": ["wipe"]}), "store__wipe", true),
    ];
    for (entry, name, runs) in table {
        let (room, answer) = ran(store(entry.clone()), call(name, json!({})), json!({})).await;
        assert_eq!(traced(&answer["toolglot"]), [(name.to_owned(), runs)], "{entry} {name}");
        assert_eq!(said(&answer).contains("[toolglot] call of"), !runs && name != "store__secret", "{entry}: {}", said(&answer));
        assert_valid(&room.model.messages());
        let offered = room.model.asked()[0]["tools"].to_string();
        assert_eq!(offered.contains("secret"), entry.get("deny").is_none() && entry.get("allow").is_none(), "{entry}");
    }
    let (room, answer) = ran(store(json!({})), call("store__wipe", json!({})), json!({})).await;
    let file = room.path("mcp.json").display().to_string();
    let line = format!("`\"effects\": {{\"wipe\": \"writes\"}}` in the entry of `store` in {file} lets it run without");
    assert!(said(&answer).contains(&line) && said(&answer).ends_with("Well."), "{}", said(&answer));
    assert!(room.model.messages().last().unwrap()["content"].as_str().unwrap().contains(&line));
}

#[tokio::test]
async fn a_client_that_has_the_tool_is_asked_instead() {
    let own = json!([{"type": "function", "function": {"name": "wipe", "parameters": {"type": "object"}}}]);
    let (_, answer) = ran(store(json!({})), call("store__wipe", json!({})), json!({"tools": own})).await;
    assert_eq!(answer["choices"][0]["finish_reason"], "tool_calls");
    assert_eq!(answer["choices"][0]["message"]["tool_calls"][0]["function"]["name"], "wipe");
    assert!(!said(&answer).contains("[toolglot]"));
}

#[tokio::test]
async fn after_a_page_of_strangers_nothing_with_effects_runs() {
    let web = with(shell("text hello"), json!({"open_world": true}));
    let mut servers = store(json!({"trust": true}));
    servers["web"] = web;
    let answers = vec![
        call("store__write", json!({"at": 1})),
        call("web__act", json!({})),
        calls(&[("store__write", json!({"at": 2})), ("store__look", json!({}))]),
        text("Well."),
    ];
    let room = Room::with(Family::Native, answers.clone(), servers.clone(), "").await;
    let answer = room.answer(json!({})).await;
    let mut done = traced(&answer["toolglot"]);
    done.sort();
    let expected = [("store__look", true), ("store__write", false), ("store__write", true), ("web__act", true)];
    assert_eq!(done, expected.map(|(name, ok)| (name.to_owned(), ok)));
    assert!(said(&answer).contains("`\"open_world\": false` in the entry of `web`"), "{}", said(&answer));
    assert_valid(&room.model.messages());
}

#[tokio::test]
async fn consent_is_still_needed_when_the_client_has_finished_the_turn() {
    let mut servers = store(json!({}));
    servers["web"] = with(shell("text hello"), json!({"open_world": true}));
    let own = json!([{"type": "function", "function": {"name": "read_file", "parameters": {"type": "object"}}}]);
    let answers =
        vec![calls(&[("web__act", json!({})), ("read_file", json!({}))]), call("store__write", json!({})), text("Well.")];
    let room = Room::with(Family::Native, answers, servers, "").await;
    let first = room.answer(json!({"tools": own})).await;
    let message = &first["choices"][0]["message"];
    let id = &message["tool_calls"][0]["id"];
    let messages = json!([{"role": "user", "content": "go"}, message, {"role": "tool", "tool_call_id": id, "content": "x"}]);
    let second = room.answer(json!({"tools": own, "messages": messages})).await;
    assert_eq!(traced(&second["toolglot"]), [("store__write".to_owned(), false)]);
    // What the user says next is a turn of its own.
    let room = Room::with(Family::Native, vec![call("store__write", json!({})), text("Well.")], store(json!({})), "").await;
    assert_eq!(traced(&room.answer(json!({})).await["toolglot"]), [("store__write".to_owned(), true)]);
}

#[tokio::test]
async fn servers_are_selected() {
    let mut servers = store(json!({}));
    servers["other"] = shell("text done");
    for (config, asked, expected) in [
        ("", json!(null), ["store", "other", "sqlite"].as_slice()),
        ("react.servers = [\"store\", \"sqlite\"]", json!(null), &["store", "sqlite"]),
        ("react.servers = [\"store\", \"sqlite\"]", json!(["store", "other"]), &["store"]),
        ("", json!(["other"]), &["other"]),
    ] {
        let room = Room::with(Family::Native, vec![text("ok")], servers.clone(), config).await;
        room.answer(json!({"toolglot": {"servers": asked}})).await;
        let offered = room.model.asked()[0]["tools"].to_string();
        for server in ["store", "other", "sqlite"] {
            assert_eq!(offered.contains(&format!("{server}__")), expected.contains(&server), "{config} {asked}: {server}");
        }
    }
    let room = Room::with(Family::Native, vec![text("ok")], servers, "").await;
    let wrong =
        room.post("/react/v1/chat/completions", &room.chat(json!({"toolglot": {"servers": ["nobody"]}}))).send().await.unwrap();
    assert_eq!(wrong.status(), 400);
    assert!(wrong.text().await.unwrap().contains("there is no MCP server `nobody`"));
}

#[tokio::test]
async fn json_in_the_form_of_a_call_is_the_answer_if_the_model_writes_it_again() {
    const JSON: &str = r#"{"name": "deploy", "arguments": {"env": "prod"}}"#;
    let room = Room::with(Family::Native, vec![text(JSON)], store(json!({})), "").await;
    let answer = room.answer(json!({})).await;
    assert_eq!((said(&answer), room.model.asked().len()), (JSON, 2), "{answer}");
}

//! Answers that call our tools and the client's: ours run, the client gets its own, and the next turn has both.

use super::*;
use crate::void;

const PERSON: &str = "builtin.sqlite__get_employee_info";

fn read_file() -> Value {
    json!([{"type": "function", "function": {"name": "read_file", "description": "Reads a file.",
        "parameters": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}}}])
}

fn both() -> Says {
    calls(&[(PERSON, json!({"employee_id": "EMP003"})), ("read_file", json!({"path": "a.txt"}))])
}

/// The client's next request: what it saw, and the results of its calls.
fn next(room: &Room, message: &Value, results: &[(&str, &str)]) -> Value {
    let mut messages = vec![json!({"role": "user", "content": "go"}), message.clone()];
    for (id, content) in results {
        messages.push(json!({"role": "tool", "tool_call_id": id, "content": content}));
    }
    room.chat(json!({"messages": messages, "tools": read_file()}))
}

#[tokio::test]
async fn our_results_wait_for_the_clients() {
    for family in FAMILIES {
        let answers = vec![call(PERSON, json!({"employee_id": "EMP001"})), both(), text("Both are known.")];
        let room = Room::new(family, answers).await;
        let answer = room.answer(json!({"tools": read_file()})).await;
        let message = &answer["choices"][0]["message"];
        let handed = message["tool_calls"].as_array().unwrap();
        assert_eq!((handed.len(), &handed[0]["function"]["name"]), (1, &json!("read_file")), "{family:?}: {answer}");
        assert_eq!(handed[0]["function"]["arguments"], r#"{"path":"a.txt"}"#);
        assert_eq!(answer["choices"][0]["finish_reason"], "tool_calls", "{family:?}");
        let id = handed[0]["id"].as_str().unwrap();
        let second = room.post("/react/v1/chat/completions", &next(&room, message, &[(id, "the file")])).send().await.unwrap();
        let second: Value = serde_json::from_str(&second.text().await.unwrap()).unwrap();
        assert_eq!(said(&second), "Both are known.", "{family:?}");
        let asked = room.model.asked();
        let (before, now) = (asked[1]["messages"].as_array().unwrap(), asked[2]["messages"].as_array().unwrap());
        assert_eq!(&now[..before.len()], before.as_slice(), "{family:?}: the model sees what it saw");
        let all = asked[2]["messages"].to_string();
        for part in ["Mina Park", "Aiko Tanaka", "the file"] {
            assert_eq!(all.matches(part).count(), 1, "{family:?}: {part} in {all}");
        }
        if family != Family::Gemma {
            assert_valid(now);
        }
    }
}

#[tokio::test]
async fn streamed_the_clients_call_comes_whole() {
    for family in FAMILIES {
        let room = Room::new(family, vec![both(), text("x")]).await;
        let streamed = room.stream(json!({"tools": read_file()})).await;
        assert_eq!(streamed.finishes, ["tool_calls"], "{family:?}");
        assert_eq!(streamed.calls.len(), 1, "{family:?}");
        assert_eq!((&streamed.calls[0]["index"], &streamed.calls[0]["function"]["name"]), (&json!(0), &json!("read_file")));
        assert_eq!(traced(&streamed.trace), [(PERSON.to_owned(), true)]);
    }
}

#[tokio::test]
async fn a_conversation_stays_valid_whatever_the_client_does() {
    // It runs one call of two; it waits too long.
    let two = calls(&[
        (PERSON, json!({"employee_id": "EMP003"})),
        ("read_file", json!({"path": "a.txt"})),
        ("read_file", json!({"path": "b.txt"})),
    ]);
    for (config, kept) in [("", true), ("react.keep_seconds = 0", false)] {
        let room = Room::with(Family::Native, vec![two.clone(), text("ok")], json!({}), config).await;
        let answer = room.answer(json!({"tools": read_file()})).await;
        let mut message = answer["choices"][0]["message"].clone();
        assert_eq!(message["tool_calls"].as_array().unwrap().len(), 2);
        message["tool_calls"].as_array_mut().unwrap().pop();
        let id = message["tool_calls"][0]["id"].as_str().unwrap().to_owned();
        room.post("/react/v1/chat/completions", &next(&room, &message, &[(&id, "file a")])).send().await.unwrap();
        let messages = room.model.messages();
        assert_valid(&messages);
        assert_eq!(json!(messages).to_string().contains("Aiko Tanaka"), kept, "{config}");
        // Another conversation gets nothing of it.
        let mut other = next(&room, &message, &[(&id, "file a")]);
        other["messages"][0]["content"] = json!("something else");
        room.post("/react/v1/chat/completions", &other).send().await.unwrap();
        assert!(!json!(room.model.messages()).to_string().contains("Aiko Tanaka"));
    }
}

#[tokio::test]
async fn what_a_client_adds_by_itself_need_not_come_back() {
    let room = Room::new(Family::Native, vec![both(), text("ok")]).await;
    let added = json!({"role": "user", "content": "<system-reminder>Your list is empty.</system-reminder>"});
    let answer = room.answer(json!({"messages": [{"role": "user", "content": "go"}, added], "tools": read_file()})).await;
    let message = &answer["choices"][0]["message"];
    let id = message["tool_calls"][0]["id"].as_str().unwrap();
    room.post("/react/v1/chat/completions", &next(&room, message, &[(id, "file a")])).send().await.unwrap();
    assert!(json!(room.model.messages()).to_string().contains("Aiko Tanaka"), "our results are found");
}

#[tokio::test]
async fn a_client_that_takes_one_call_gets_one() {
    let two = calls(&[
        ("read_file", json!({"path": "a"})),
        (PERSON, json!({"employee_id": "EMP003"})),
        ("read_file", json!({"path": "b"})),
    ]);
    let room = Room::new(Family::Native, vec![two, text("ok")]).await;
    let answer = room.answer(json!({"tools": read_file(), "parallel_tool_calls": false})).await;
    let message = &answer["choices"][0]["message"];
    assert_eq!(message["tool_calls"].as_array().unwrap().len(), 1);
    let id = message["tool_calls"][0]["id"].as_str().unwrap();
    room.post("/react/v1/chat/completions", &next(&room, message, &[(id, "a")])).send().await.unwrap();
    assert_valid(&room.model.messages());
}

#[tokio::test]
async fn a_name_of_the_clients_stays_the_clients() {
    let own = json!([{"type": "function", "function": {"name": "search_docs", "description": "The client's.",
        "parameters": {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}}}]);
    for family in FAMILIES {
        let room = Room::new(family, vec![call("search_docs", json!({"query": "x"})), text("x")]).await;
        let answer = room.answer(json!({"tools": own})).await;
        assert_eq!(answer["choices"][0]["message"]["tool_calls"][0]["function"]["name"], "search_docs", "{family:?}");
        let offered = room.model.asked()[0].to_string();
        assert!(offered.contains("The client's.") && offered.contains("sqlite__search_docs"), "{family:?}");
        let room = Room::new(family, vec![call("builtin.sqlite__search_docs", json!({"query": "x"})), text("ours")]).await;
        assert_eq!(said(&room.answer(json!({"tools": own})).await), "ours", "{family:?}");
    }
}

#[tokio::test]
async fn what_the_client_demands_counts_for_the_first_answer() {
    for choice in [json!("required"), json!({"type": "function", "function": {"name": "read_file"}})] {
        let room = Room::new(Family::Harmony, vec![call(PERSON, json!({"employee_id": "EMP001"})), text("ok")]).await;
        let answer = room.answer(json!({"tools": read_file(), "tool_choice": choice})).await;
        assert_eq!(said(&answer), "ok");
        let asked = room.model.asked();
        assert!(asked[0].get("tool_choice").is_some_and(|choice| choice != "auto"), "{}", asked[0]["tool_choice"]);
        assert!(asked[1].get("tool_choice").is_none(), "{}", asked[1]["tool_choice"]);
    }
    let room = Room::new(Family::Native, vec![text("plain")]).await;
    room.answer(json!({"tools": read_file(), "tool_choice": "none"})).await;
    assert!(room.model.asked()[0].get("tools").is_none());
}

#[tokio::test]
async fn void_gets_its_own_form_and_the_model_both_results() {
    let both = || {
        Says::Calls(
            "Both.",
            vec![
                (PERSON.into(), json!({"employee_id": "EMP003"})),
                ("read_file".into(), json!({"uri": "/work/a.rs", "start_line": 1})),
            ],
        )
    };
    let room = Room::new(Family::Gemma, vec![both(), both(), text("Done.")]).await;
    let mut messages =
        vec![json!({"role": "system", "content": void::system_text()}), json!({"role": "user", "content": "Look at a.rs"})];
    for round in 1..3 {
        let body = json!({"model": Family::Gemma.model(), "messages": messages, "stream": true});
        let raw = room.post("/react/v1/chat/completions", &body).send().await.unwrap().text().await.unwrap();
        let read = void::read_xml(&raw, &void::tools());
        assert_eq!(read.text.trim(), "Both.", "{raw}");
        let (name, values) = read.call.unwrap_or_else(|| panic!("no call: {raw}"));
        assert_eq!(name, "read_file");
        messages.push(json!({"role": "assistant", "content": void::remembered("Both.", "read_file", &values)}));
        messages.push(json!({"role": "user", "content": void::result("read_file", &format!("content {round}"))}));
    }
    let body = json!({"model": Family::Gemma.model(), "messages": messages, "stream": true});
    let raw = room.post("/react/v1/chat/completions", &body).send().await.unwrap().text().await.unwrap();
    assert_eq!(Streamed::of(&raw).content, "Done.");
    let asked = room.model.asked();
    assert_eq!(asked.len(), 3);
    let all = asked[2]["messages"].to_string();
    assert_eq!(
        (all.matches("Aiko Tanaka").count(), all.matches("content 1").count(), all.matches("content 2").count()),
        (2, 1, 1),
        "{all}"
    );
    for pair in asked.windows(2) {
        let (before, now) = (pair[0]["messages"].as_array().unwrap(), pair[1]["messages"].as_array().unwrap());
        assert_eq!(&now[..before.len()], before.as_slice(), "the model sees what it saw");
    }
}

#[tokio::test]
async fn a_client_of_ollamas_api_gets_lines() {
    let room = Room::new(Family::Native, vec![call(PERSON, json!({"employee_id": "EMP003"})), text("Aiko.")]).await;
    let body = json!({"model": Family::Native.model(), "messages": [{"role": "user", "content": "go"}]});
    let raw = room.post("/react/api/chat", &body).send().await.unwrap().text().await.unwrap();
    let lines: Vec<Value> = raw.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let all: String = lines.iter().map(|line| line["message"]["content"].as_str().unwrap_or_default()).collect();
    assert_eq!((all.as_str(), &lines.last().unwrap()["done"]), ("Aiko.", &json!(true)), "{raw}");
    assert_eq!(lines.iter().filter(|line| line["done"] == true).count(), 1);
}

#[tokio::test]
async fn our_results_are_found_where_the_client_sends_no_ids() {
    let room = Room::new(Family::Native, vec![both(), text("ok")]).await;
    let body = room.chat(json!({"tools": read_file(), "stream": false}));
    let answer = room.post("/react/api/chat", &body).send().await.unwrap().text().await.unwrap();
    let mut message = serde_json::from_str::<Value>(&answer).unwrap()["message"].clone();
    for call in message["tool_calls"].as_array_mut().unwrap() {
        call.as_object_mut().unwrap().remove("id");
    }
    let result = json!({"role": "tool", "tool_name": "read_file", "content": "the file"});
    let messages = json!([{"role": "user", "content": "go"}, message, result]);
    let body = room.chat(json!({"messages": messages, "tools": read_file(), "stream": false}));
    room.post("/react/api/chat", &body).send().await.unwrap();
    let messages = json!(room.model.messages()).to_string();
    for part in ["Aiko Tanaka", "the file"] {
        assert_eq!(messages.matches(part).count(), 1, "{part} in {messages}");
    }
}

#[tokio::test]
async fn a_choice_among_the_clients_tools_excludes_ours() {
    let named = json!({"type": "function", "function": {"name": "read_file"}});
    let allowed = json!({"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [named]}});
    for choice in [named, allowed] {
        let room = Room::new(Family::Native, vec![call(PERSON, json!({"employee_id": "EMP003"})), text("ok")]).await;
        let answer = room.answer(json!({"tools": read_file(), "tool_choice": choice})).await;
        let asked = room.model.asked();
        // Ollama knows no `tool_choice`: with a named tool, the tools are in the prompt.
        let offered = asked[0].to_string();
        assert!(offered.contains("read_file") && !offered.contains("get_employee_info"), "{choice}: {offered}");
        assert!(!json!(asked).to_string().contains("Aiko Tanaka"), "{answer}");
    }
}

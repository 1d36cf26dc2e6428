//! Backends that refuse the form of a conversation, as they really do (`tests/refusals/rows.json`, one rule of a real server per
//! row): the client of every front gets its answer, streamed and not, and the next request is accepted at once.

use std::collections::HashSet;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    fake::{Fake, Script, Seen, Step},
    proxy::Proxy,
};

/// A rule of a server, and a conversation that breaks it.
#[derive(Deserialize)]
struct Row {
    cause: String,
    /// Where it was reported.
    threads: String,
    /// How the server names itself in its list of models; `ollama` for Ollama.
    server: String,
    rule: String,
    /// The status of the refusal; 200: it is inside the stream.
    status: u16,
    /// What the server says. Empty: the rule knows.
    says: String,
    messages: Vec<Value>,
    tool_choice: Option<Value>,
    /// How many requests the first answer may cost.
    requests: usize,
    /// What must be in every accepted request.
    #[serde(default)]
    keeps: Vec<String>,
    /// The end of the conversation is written in another way as long as it is the end.
    #[serde(default)]
    changes_its_end: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Front {
    Chat,
    Messages,
    Responses,
    Ollama,
}

const FRONTS: [Front; 4] = [Front::Chat, Front::Messages, Front::Responses, Front::Ollama];
const ANSWER: &str = "All is well.";

fn tool() -> Value {
    let path = json!({"type": "string", "pattern": "\\S", "not": {"const": "/"}});
    json!({"type": "function", "function": {"name": "look", "description": "Looks into a file.",
        "parameters": {"type": "object", "properties": {"path": path}, "required": ["path"], "additionalProperties": false}}})
}

/// What a server says about a request that breaks its rule; `""`: what the row says.
fn broken(rule: &str, body: &Value) -> Option<&'static str> {
    let messages = body["messages"].as_array().unwrap();
    let role = |message: &Value| message["role"].as_str().unwrap().to_owned();
    let roles: Vec<String> = messages.iter().map(role).collect();
    let follows = |first: &str, second: &str| roles.windows(2).any(|pair| pair == [first, second]);
    let calls = || messages.iter().flat_map(|message| message["tool_calls"].as_array().into_iter().flatten());
    let is_said = |text: &Value| text.as_str().is_some_and(|text| !text.is_empty());
    let is_short = |id: &str| id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let ids = || {
        calls().map(|call| &call["id"]).chain(messages.iter().map(|message| &message["tool_call_id"])).filter_map(Value::as_str)
    };
    let tools = body["tools"].to_string();
    let is_broken = match rule {
        "system_first" => roles.iter().skip(1).any(|role| matches!(role.as_str(), "system" | "developer")),
        "no_pattern" => tools.contains(r#""pattern":"#),
        "plain_schema" => tools.contains(r#""pattern":"#) || tools.contains(r#""not":"#),
        "short_ids" => !ids().all(is_short),
        "no_user_after_tool" => follows("tool", "user"),
        "mistral" if !ids().all(is_short) => return Some("Tool call id was x but must be a-z, A-Z, 0-9, with a length of 9."),
        "mistral" if follows("tool", "user") => return Some("Unexpected role 'user' after role 'tool'"),
        "mistral" => false,
        "reasoning" => {
            messages.iter().any(|message| message.get("tool_calls").is_some() && !is_said(&message["reasoning_content"]))
        }
        "no_prefill" => roles.last().is_some_and(|role| role == "assistant"),
        "one_answer" => roles.ends_with(&["assistant".to_owned(), "assistant".to_owned()]),
        "user_turn" => !roles.contains(&"user".to_owned()),
        "apart" => messages.iter().any(|message| {
            message.get("tool_calls").is_some() && is_said(&message["content"]) && is_said(&message["reasoning_content"])
        }),
        "objects" => calls().any(|call| call["function"]["arguments"].is_string()),
        "no_choice" => body.get("tool_choice").is_some_and(|choice| choice != "auto"),
        "always" => true,
        other => panic!("there is no rule {other}"),
    };
    is_broken.then_some("")
}

/// A server with this rule, and the proxy before it.
async fn before(server: &'static str, rule: &'static str, status: u16, says: &'static str) -> (Proxy, Fake) {
    let fake = Fake::start(move |seen| script(server, rule, status, says, seen)).await;
    let config = match server {
        "ollama" => format!("[[backend]]\nkind = \"ollama\"\nurl = \"{}\"\n", fake.url),
        _ => format!("[[backend]]\nkind = \"openai\"\nurl = \"{}/v1\"\n", fake.url),
    };
    (Proxy::start(&config).await, fake)
}

fn script(server: &str, rule: &str, status: u16, says: &str, seen: &Seen) -> Script {
    match seen.line.as_str() {
        "GET /v1/models" => Script::json(200, json!({"data": [{"id": "m", "owned_by": server}]}).to_string()),
        "GET /api/tags" => Script::json(200, r#"{"models":[{"name":"m"}]}"#),
        "GET /api/v0/models" if server == "organization_owner" => Script::json(200, r#"{"data":[]}"#),
        "POST /v1/chat/completions" | "POST /api/chat" => {
            let body: Value = serde_json::from_str(&seen.body).unwrap();
            match broken(rule, &body).map(|own| if own.is_empty() { says } else { own }) {
                Some(says) if status == 200 => {
                    let error = json!({"error": {"message": says}});
                    Script::events(vec![Step::Send(format!("event: error\ndata: {error}\n\n"))])
                }
                Some(says) => Script::json(status, json!({"error": {"message": says, "code": status}}).to_string()),
                None if server == "ollama" => {
                    let line = json!({"model": "m", "message": {"role": "assistant", "content": ANSWER}, "done": true, "done_reason": "stop"});
                    Script::lines(vec![Step::Send(format!("{line}\n"))])
                }
                // A call is required.
                None if rule == "no_choice" => {
                    let call =
                        json!({"index": 0, "id": "call_9", "function": {"name": "look", "arguments": "{\"path\":\"a.txt\"}"}});
                    said(json!({"content": ANSWER, "tool_calls": [call]}), "tool_calls")
                }
                None => said(json!({"content": ANSWER}), "stop"),
            }
        }
        _ => Script::json(404, r#"{"error":"not here"}"#),
    }
}

/// An answer of one delta.
fn said(delta: Value, reason: &str) -> Script {
    let chunk = |delta: Value, reason: Value| json!({"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]});
    let events = [chunk(delta, Value::Null), chunk(json!({}), json!(reason))];
    let text: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
    Script::events(vec![Step::Send(text + "data: [DONE]\n\n")])
}

/// A request of a front with this conversation: its path and its body.
fn request(front: Front, model: &str, messages: &[Value], stream: bool, choice: Option<&Value>) -> (&'static str, Value) {
    let function = tool()["function"].clone();
    let schema = &function["parameters"];
    let (path, mut body) = match front {
        Front::Chat => ("/v1/chat/completions", json!({"messages": messages, "tools": [tool()]})),
        Front::Ollama => {
            ("/api/chat", json!({"messages": messages.iter().map(for_ollama).collect::<Vec<_>>(), "tools": [tool()]}))
        }
        Front::Messages => {
            let leading = messages.iter().take_while(|message| message["role"] == "system").count();
            let system: Vec<Value> =
                messages[..leading].iter().map(|message| json!({"type": "text", "text": message["content"]})).collect();
            let tool = json!({"name": "look", "description": function["description"], "input_schema": schema});
            let turns: Vec<Value> = messages[leading..].iter().map(for_messages).collect();
            ("/v1/messages", json!({"max_tokens": 100, "system": system, "messages": turns, "tools": [tool]}))
        }
        Front::Responses => {
            let tool = json!({"type": "function", "name": "look", "description": function["description"], "parameters": schema});
            let items: Vec<Value> = messages.iter().flat_map(for_responses).collect();
            ("/v1/responses", json!({"input": items, "tools": [tool]}))
        }
    };
    body["model"] = json!(model);
    body["stream"] = json!(stream);
    if let Some(choice) = choice {
        body["tool_choice"] = if front == Front::Messages { json!({"type": "any"}) } else { choice.clone() };
    }
    (path, body)
}

fn calls(message: &Value) -> &[Value] {
    message["tool_calls"].as_array().map_or(&[], Vec::as_slice)
}

fn arguments(call: &Value) -> Value {
    serde_json::from_str(call["function"]["arguments"].as_str().unwrap()).unwrap()
}

fn for_ollama(message: &Value) -> Value {
    let mut message = message.clone();
    for call in message["tool_calls"].as_array_mut().into_iter().flatten() {
        call["function"]["arguments"] = arguments(call);
    }
    let object = message.as_object_mut().unwrap();
    if let Some(thinking) = object.shift_remove("reasoning_content") {
        object.insert("thinking".into(), thinking);
    }
    message
}

fn for_messages(message: &Value) -> Value {
    match message["role"].as_str().unwrap() {
        "tool" => {
            json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": message["tool_call_id"], "content": message["content"]}]})
        }
        "assistant" => {
            let thinking =
                message["reasoning_content"].as_str().map(|text| json!({"type": "thinking", "thinking": text, "signature": ""}));
            let text = message["content"].as_str().map(|text| json!({"type": "text", "text": text}));
            let calls = calls(message).iter().map(
                |call| json!({"type": "tool_use", "id": call["id"], "name": call["function"]["name"], "input": arguments(call)}),
            );
            json!({"role": "assistant", "content": thinking.into_iter().chain(text).chain(calls).collect::<Vec<_>>()})
        }
        _ => message.clone(),
    }
}

fn for_responses(message: &Value) -> Vec<Value> {
    if message["role"] == "tool" {
        return vec![json!({"type": "function_call_output", "call_id": message["tool_call_id"], "output": message["content"]})];
    }
    let reasoning = message["reasoning_content"]
        .as_str()
        .map(|text| json!({"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": text}]}));
    let text = message["content"].as_str().map(|text| json!({"type": "message", "role": message["role"], "content": text}));
    let calls = calls(message).iter().map(|call| {
        json!({"type": "function_call", "call_id": call["id"], "name": call["function"]["name"], "arguments": call["function"]["arguments"]})
    });
    reasoning.into_iter().chain(text).chain(calls).collect()
}

/// The bodies of the chats that the server got.
fn chats(fake: &Fake) -> Vec<Value> {
    let all = ["/v1/chat/completions", "/api/chat"].into_iter().flat_map(|path| fake.seen(path));
    all.map(|seen| serde_json::from_str(&seen.body).unwrap()).collect()
}

fn rows() -> Vec<Row> {
    serde_json::from_str(include_str!("../refusals/rows.json")).unwrap()
}

/// source: the threads of each row.
#[tokio::test]
async fn every_refusal_is_answered_inside_the_turn_and_once() {
    let rows: &'static [Row] = rows().leak();
    for row in rows {
        assert!(!row.threads.is_empty(), "{}", row.cause);
        for (front, stream) in FRONTS.into_iter().flat_map(|front| [(front, true), (front, false)]) {
            let place = format!("{}, {front:?}, stream: {stream}", row.cause);
            let (proxy, fake) = before(&row.server, &row.rule, row.status, &row.says).await;
            let ask = async |messages: &[Value]| {
                let (path, body) = request(front, "m", messages, stream, row.tool_choice.as_ref());
                let response = proxy.post(path, body).send().await.unwrap();
                (response.status().as_u16(), response.text().await.unwrap())
            };
            let (status, text) = ask(&row.messages).await;
            assert!(status == 200 && text.contains(ANSWER), "{place}: {status} {text}\n{:#?}", chats(&fake).last());
            let sent = chats(&fake);
            assert!(sent.len() <= row.requests, "{place}: {} requests", sent.len());
            let first = sent.last().unwrap().clone();
            // The next turn: nothing has to be learned, and the server has read its beginning before.
            let more = [json!({"role": "assistant", "content": ANSWER}), json!({"role": "user", "content": "And now?"})];
            let (status, text) = ask(&[&row.messages[..], &more].concat()).await;
            assert!(status == 200 && text.contains(ANSWER), "{place}, next turn: {status} {text}");
            let all = chats(&fake);
            assert_eq!(all.len(), sent.len() + 1, "{place}: the next turn is accepted at once");
            let next = all.last().unwrap();
            for kept in &row.keeps {
                assert!(
                    first.to_string().contains(kept.as_str()) && next.to_string().contains(kept.as_str()),
                    "{place}: {kept} is lost"
                );
            }
            let of = |body: &Value| body["messages"].as_array().unwrap().clone();
            assert!(row.changes_its_end || of(next).starts_with(&of(&first)), "{place}: {:#?}\n{:#?}", of(&first), of(next));
        }
    }
}

/// The table has a row for each cause of `rows.json`, and each rule is used.
#[test]
fn every_rule_is_broken_by_its_row() {
    let mut seen = HashSet::new();
    for row in rows() {
        let body = json!({"messages": row.messages, "tools": [tool()], "tool_choice": row.tool_choice.unwrap_or(json!("auto"))});
        assert!(broken(&row.rule, &body).is_some(), "{}", row.cause);
        seen.insert(row.rule);
    }
    assert!(seen.len() >= 13, "{seen:?}");
}

/// Where nothing helps, the client reads the backend's own words, after at most four requests.
/// source: llama.cpp#26930, vllm#50989.
#[tokio::test]
async fn what_no_rewrite_helps_against_is_said_in_the_backends_words() {
    for (status, says) in [
        (400, "Failed to initialize samplers: failed to parse grammar"),
        (400, "Tool call id was x but must be a-z, A-Z, 0-9, with a length of 9."),
        (500, "the GPU is on fire"),
    ] {
        for front in FRONTS {
            let (proxy, fake) = before("llamacpp", "always", status, says).await;
            let (path, body) = request(front, "m", &[json!({"role": "user", "content": "Hi"})], false, None);
            let response = proxy.post(path, body).send().await.unwrap();
            let (got, text) = (response.status().as_u16(), response.text().await.unwrap());
            assert!(got == status && text.contains(says), "{front:?}: {got} {text}");
            assert!(chats(&fake).len() <= 4, "{front:?}, {says}: {}", chats(&fake).len());
        }
    }
}

/// The id and the name of the call in an answer that is one object.
fn called(front: Front, answer: &Value) -> (String, Value) {
    let found = |list: &Value, kind: &str| list.as_array().unwrap().iter().find(|item| item["type"] == kind).unwrap().clone();
    let id = match front {
        Front::Chat => answer["choices"][0]["message"]["tool_calls"][0]["id"].clone(),
        Front::Ollama => answer["message"]["tool_calls"][0]["id"].clone(),
        Front::Messages => found(&answer["content"], "tool_use")["id"].clone(),
        Front::Responses => found(&answer["output"], "function_call")["call_id"].clone(),
    };
    let id = id.as_str().unwrap_or_else(|| panic!("{front:?}: {answer}")).to_owned();
    let call = json!({"id": id, "type": "function", "function": {"name": "look", "arguments": "{\"path\":\"a.txt\"}"}});
    (id, call)
}

/// C6: reasoning that the client has dropped goes back to a family that wants it, after a refusal, and to nobody else.
/// source: deepseek-ai/DeepSeek-V3#1376.
#[tokio::test]
async fn reasoning_is_given_back_to_who_wants_it_and_to_nobody_else() {
    const REASONING: &str = "I should look into a.txt first.";
    for (model, refuses, given) in [("deepseek-v4-flash", false, true), ("m", true, true), ("m", false, false)] {
        for front in FRONTS {
            let fake = Fake::start(move |seen| match seen.line.as_str() {
                "GET /v1/models" => Script::json(200, json!({"data": [{"id": model, "owned_by": "x"}]}).to_string()),
                "POST /v1/chat/completions" => {
                    let body: Value = serde_json::from_str(&seen.body).unwrap();
                    let messages = body["messages"].as_array().unwrap();
                    if messages.len() == 1 {
                        let call = json!({"index": 0, "id": "call_7", "type": "function", "function": {"name": "look", "arguments": "{\"path\":\"a.txt\"}"}});
                        return said(json!({"reasoning_content": REASONING, "tool_calls": [call]}), "tool_calls");
                    }
                    if refuses && messages[1]["reasoning_content"] != REASONING {
                        let says = "The `reasoning_content` in the thinking mode must be passed back to the API.";
                        return Script::json(400, json!({"error": {"message": says}}).to_string());
                    }
                    said(json!({"content": ANSWER}), "stop")
                }
                _ => Script::json(404, r#"{"error":"not here"}"#),
            })
            .await;
            let proxy = Proxy::start(&format!("[[backend]]\nkind = \"openai\"\nurl = \"{}/v1\"\n", fake.url)).await;
            let user = json!({"role": "user", "content": "Look into a.txt."});
            let (path, body) = request(front, model, std::slice::from_ref(&user), false, None);
            let answer: Value =
                serde_json::from_str(&proxy.post(path, body).send().await.unwrap().text().await.unwrap()).unwrap();
            let (id, call) = called(front, &answer);
            let history = [
                user,
                json!({"role": "assistant", "content": null, "tool_calls": [call]}),
                json!({"role": "tool", "tool_call_id": id, "content": "seven"}),
            ];
            let (path, body) = request(front, model, &history, false, None);
            let text = proxy.post(path, body).send().await.unwrap().text().await.unwrap();
            assert!(text.contains(ANSWER), "{model}, {front:?}: {text}");
            let last = chats(&fake).pop().unwrap();
            assert_eq!(
                last["messages"][1].get("reasoning_content") == Some(&json!(REASONING)),
                given,
                "{model}, {front:?}: {last:#}"
            );
        }
    }
}

/// C12: a client whose key is a single letter does not change the words of an error before they are understood.
/// source: Ollama's parsers fail with `XML syntax error`; clients of local servers send `Bearer x`.
#[tokio::test]
async fn a_short_key_hides_nothing_from_the_interpreter() {
    let fake = Fake::start(|seen| match seen.line.as_str() {
        "GET /api/tags" => Script::json(200, r#"{"models":[{"name":"m"}]}"#),
        "POST /api/chat" if seen.body.contains(r#""tools":"#) => {
            Script::json(500, r#"{"error":"XML syntax error on line 3: element <parameter> closed by </function>"}"#)
        }
        "POST /api/chat" => {
            let line =
                json!({"model": "m", "message": {"role": "assistant", "content": ANSWER}, "done": true, "done_reason": "stop"});
            Script::lines(vec![Step::Send(format!("{line}\n"))])
        }
        _ => Script::json(404, r#"{"error":"not here"}"#),
    })
    .await;
    let proxy = Proxy::start(&format!("[[backend]]\nkind = \"ollama\"\nurl = \"{}\"\n", fake.url)).await;
    let (path, body) = request(Front::Chat, "m", &[json!({"role": "user", "content": "Hi"})], false, None);
    let response = proxy.post(path, body).bearer_auth("x").send().await.unwrap();
    let (status, text) = (response.status(), response.text().await.unwrap());
    assert!(status == 200 && text.contains(ANSWER), "{status} {text}");
}

/// C17: a llama.cpp whose URL lacks `/v1` has lists there, and another API.
/// source: llama.cpp's server lists models at `/models` too; its `/completions` is its own.
#[tokio::test]
async fn a_url_without_v1_is_corrected() {
    let fake = Fake::start(|seen| match seen.line.as_str() {
        "GET /models" | "GET /v1/models" => Script::json(200, r#"{"data":[{"id":"m","owned_by":"llamacpp"}]}"#),
        "POST /v1/chat/completions" => said(json!({"content": ANSWER}), "stop"),
        _ => Script::json(404, r#"{"error":"not here"}"#),
    })
    .await;
    let proxy = Proxy::start(&format!("[[backend]]\nkind = \"openai\"\nurl = \"{}\"\n", fake.url)).await;
    let (path, body) = request(Front::Chat, "m", &[json!({"role": "user", "content": "Hi"})], false, None);
    let text = proxy.post(path, body).send().await.unwrap().text().await.unwrap();
    assert!(text.contains(ANSWER), "{text}");
}

/// C13: a model that counts its ids has the same in two conversations. Each gets its own reasoning back.
#[tokio::test]
async fn the_reasoning_of_another_conversation_is_not_given() {
    const MODEL: &str = "kimi-k2-thinking";
    let fake = Fake::start(|seen| match seen.line.as_str() {
        "GET /v1/models" => Script::json(200, json!({"data": [{"id": MODEL, "owned_by": "x"}]}).to_string()),
        "POST /v1/chat/completions" => {
            let body: Value = serde_json::from_str(&seen.body).unwrap();
            let messages = body["messages"].as_array().unwrap();
            if messages.last().unwrap()["role"] == "tool" {
                return said(json!({"content": ANSWER}), "stop");
            }
            let call = json!({"index": 0, "id": "functions.look:0", "type": "function", "function": {"name": "look", "arguments": "{\"path\":\"a.txt\"}"}});
            said(json!({"reasoning_content": format!("About {}", messages[0]["content"]), "tool_calls": [call]}), "tool_calls")
        }
        _ => Script::json(404, r#"{"error":"not here"}"#),
    })
    .await;
    let proxy = Proxy::start(&format!("[[backend]]\nkind = \"openai\"\nurl = \"{}/v1\"\n", fake.url)).await;
    let ask = async |messages: &[Value]| {
        let (path, body) = request(Front::Chat, MODEL, messages, false, None);
        serde_json::from_str::<Value>(&proxy.post(path, body).send().await.unwrap().text().await.unwrap()).unwrap()
    };
    let user = |who: &str| json!({"role": "user", "content": format!("I am {who}.")});
    let mut calls = Vec::new();
    for who in ["Ann", "Bob"] {
        calls.push((who, called(Front::Chat, &ask(&[user(who)]).await)));
    }
    for (who, (id, call)) in calls {
        let called = json!({"role": "assistant", "content": null, "tool_calls": [call]});
        ask(&[user(who), called, json!({"role": "tool", "tool_call_id": id, "content": "seven"})]).await;
        let last = chats(&fake).pop().unwrap();
        assert_eq!(last["messages"][1]["reasoning_content"], format!("About \"I am {who}.\""), "{last:#}");
    }
}

//! The page: who gets it and its data, what it keeps of a turn and what never, and that it costs nothing that grows.

use std::time::{Duration, Instant};

use futures_util::StreamExt;
use serde_json::{Value, json};

use super::{
    Proxy, answer,
    chat::{done, request, text, with_ollama},
    client,
};
use crate::fake::{Fake, Script, Step};

const BROWSER: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
const HOSTILE: &str = "<img src=x onerror=alert(1)><script>alert(2)</script>";

/// A proxy with these lines of configuration and an OpenAI backend that answers with this script.
async fn with(config: &str, script: impl Fn() -> Script + Send + Sync + 'static) -> (Proxy, Fake) {
    let fake = Fake::start(move |seen| match seen.line.as_str() {
        "GET /v1/models" => Script::json(200, r#"{"object":"list","data":[{"id":"m"}]}"#),
        _ => script(),
    })
    .await;
    let backend = format!("[[backend]]\nname = \"b\"\nkind = \"openai\"\nurl = \"{}/v1\"\napi_key_env = \"A_KEY\"\n", fake.url);
    (Proxy::start(&format!("{config}\n{backend}")).await, fake)
}

/// The model writes this, and stops.
fn writes(content: &str) -> Script {
    let delta = json!({"choices": [{"index": 0, "delta": {"content": content}, "finish_reason": null}]});
    let last = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 9, "completion_tokens": 5}});
    Script::events(vec![Step::Send(format!("data: {delta}\n\ndata: {last}\n\ndata: [DONE]\n\n"))])
}

async fn ask(proxy: &Proxy, body: &Value) -> u16 {
    let response = proxy.post("/v1/chat/completions", body).send().await.unwrap();
    let status = response.status().as_u16();
    response.text().await.unwrap();
    status
}

/// The rows once none of them is under way: a turn ends a moment after its client has its answer.
async fn rows(proxy: &Proxy) -> Vec<Value> {
    for _ in 0..200 {
        let (_, list) = answer(proxy.get("/ui/turns")).await;
        let rows = list["turns"].as_array().unwrap().clone();
        if rows.iter().all(|row| row["result"] != "running") {
            return rows;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("a turn does not end");
}

async fn detail(proxy: &Proxy, row: &Value) -> Value {
    answer(proxy.get(&format!("/ui/turns/{}", row["number"]))).await.1["detail"].take()
}

#[tokio::test]
async fn people_get_the_page_and_programs_what_they_look_for() {
    let (proxy, _fake) = with("", || writes("hello")).await;
    for (accept, is_page) in [
        (Some(BROWSER), true),
        (Some("text/html"), true),
        (Some("*/*"), false),
        (Some("application/json, text/plain, */*"), false),
        (Some("application/json, text/html;q=0.5"), false),
        (None, false),
    ] {
        let get = proxy.get("/");
        let response = accept.map_or_else(|| proxy.get("/"), |accept| get.header("accept", accept)).send().await.unwrap();
        assert_eq!(response.status(), 200);
        assert_eq!(response.text().await.unwrap().starts_with("<!doctype html>"), is_page, "{accept:?}");
    }
    assert_eq!(proxy.get("/void").header("accept", BROWSER).send().await.unwrap().text().await.unwrap(), "Ollama is running");
}

#[tokio::test]
async fn the_page_runs_its_own_files_alone() {
    let (proxy, _fake) = with("", || writes("hello")).await;
    let mut bytes = 0;
    for path in ["/", "/ui/page.css", "/ui/page.js", "/ui/turns", "/ui/state"] {
        let response = proxy.get(path).header("accept", BROWSER).send().await.unwrap();
        let header =
            |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
        let policy = header("content-security-policy");
        assert!(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"), "{path}: {policy}");
        assert!(!policy.contains("unsafe") && !policy.contains("http") && !policy.contains('*'), "{path}: {policy}");
        assert_eq!(
            (header("x-content-type-options"), header("cross-origin-resource-policy")),
            ("nosniff".into(), "same-origin".into())
        );
        let text = response.text().await.unwrap();
        // No script or style of its own in the markup, nothing from elsewhere, nothing that makes markup of a text.
        let is_file = path == "/" || path.starts_with("/ui/page");
        if !is_file {
            continue;
        }
        for forbidden in [
            "<style", " style=", " onclick=", "javascript:", "http://1", "https://", "innerHTML", "insertAdjacentHTML",
            "document.write", "eval(",
        ] {
            assert!(!text.contains(forbidden), "{path} has {forbidden}");
        }
        bytes += text.len();
    }
    assert!(bytes < 80_000, "{bytes} bytes");
}

#[tokio::test]
async fn only_the_page_itself_reads_its_data() {
    let (proxy, _fake) = with("", || writes("hello")).await;
    let port = proxy.url.rsplit(':').next().unwrap().to_owned();
    for (origin, status) in [
        (Some(proxy.url.clone()), 200),
        (None, 200),
        (Some("http://localhost:3000".to_owned()), 403),
        (Some(format!("http://localhost:{port}")), 403),
        (Some("https://evil.example".to_owned()), 403),
        (Some("null".to_owned()), 403),
    ] {
        for path in ["/ui/turns", "/ui/state"] {
            let get = proxy.get(path);
            let get = origin.iter().fold(get, |get, origin| get.header("origin", origin));
            assert_eq!(get.send().await.unwrap().status(), status, "{origin:?} {path}");
        }
    }
    let rebound = proxy.get("/ui/turns").header("host", "evil.example").send().await.unwrap();
    assert_eq!(rebound.status(), 403);
    let form = client().post(format!("{}/ui/bypass", proxy.url)).header("content-type", "text/plain").body("{\"minutes\":10}");
    assert_eq!(form.send().await.unwrap().status(), 415);
}

#[tokio::test]
async fn where_keys_are_needed_a_key_sees_its_own_turns() {
    let folder = tempfile::tempdir().unwrap();
    let keys = folder.path().join("keys.txt");
    std::fs::write(&keys, "ann:key-of-ann\nbob:key-of-bob\n").unwrap();
    let (proxy, _fake) = with(&format!("api_keys_file = {:?}\n", keys.display().to_string()), || writes("for ann")).await;
    let as_ann = proxy.post("/v1/chat/completions", request(true)).bearer_auth("key-of-ann").send().await.unwrap();
    assert!(as_ann.text().await.unwrap().contains("for ann"));
    assert_eq!(proxy.get("/ui/turns").send().await.unwrap().status(), 401);
    let page = proxy.get("/").header("accept", BROWSER).send().await.unwrap();
    let page = page.text().await.unwrap();
    assert!(page.starts_with("<!doctype html>") && !page.contains("<tr><td>"), "without a key the page tells nothing");
    let (_, of_ann) = answer(proxy.get("/ui/turns").bearer_auth("key-of-ann")).await;
    let (_, of_bob) = answer(proxy.get("/ui/turns").header("x-api-key", "key-of-bob")).await;
    assert_eq!((of_ann["turns"].as_array().unwrap().len(), of_bob["turns"].as_array().unwrap().len()), (1, 0));
    let number = &of_ann["turns"][0]["number"];
    for (key, status) in [("key-of-ann", 200), ("key-of-bob", 404)] {
        let got = proxy.get(&format!("/ui/turns/{number}")).bearer_auth(key).send().await.unwrap();
        assert_eq!(got.status(), status, "{key}");
        assert!(status == 404 || !got.text().await.unwrap().contains("key-of-ann"));
    }
}

#[tokio::test]
async fn a_turn_has_three_columns_and_says_what_was_changed() {
    let wrote = "Let me look.\n<tool_call>\n{'name': 'read_file', 'arguments': {\"uri\": \"a.txt\",}}\n</tool_call>";
    let (proxy, _fake) = with("", move || writes(wrote)).await;
    ask(&proxy, &serde_json::from_str(&request(true).to_string()).unwrap()).await;
    let rows = rows(&proxy).await;
    let row = &rows[0];
    assert_eq!((&row["result"], &row["calls"], &row["prompt_tokens"]), (&json!("fixed"), &json!(1), &json!(9)), "{row}");
    let detail = detail(&proxy, row).await;
    assert!(detail["sent"].as_str().unwrap().contains("read_file"), "{detail}");
    let round = &detail["rounds"][0];
    let raw: String = round["pieces"].as_array().unwrap().iter().map(|piece| piece["t"].as_str().unwrap()).collect();
    assert_eq!(raw, wrote, "what the model wrote is there to the letter");
    let of_call: String = round["pieces"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|piece| piece["c"] == 0)
        .map(|piece| piece["t"].as_str().unwrap())
        .collect();
    assert!(of_call.contains("<tool_call>") && of_call.contains("a.txt") && !of_call.contains("Let me"), "{of_call}");
    assert!(round["pieces"].as_array().unwrap().iter().any(|piece| piece["m"] == true && piece["t"] == "<tool_call>"), "{round}");
    let call = &round["calls"][0];
    assert_eq!((&call["name"], &call["after"]), (&json!("read_file"), &json!("{\"uri\":\"a.txt\"}")), "{call}");
    assert!(call["before"].as_str().unwrap().contains("\"a.txt\",}"), "{call}");
    assert!(call["fixes"].as_array().unwrap().iter().any(|fix| fix["rule"] == "S1" && fix["note"].is_string()), "{call}");
    assert!(
        detail["said"].as_array().unwrap().iter().any(|said| said["kind"] == "call" && said["name"] == "read_file"),
        "{detail}"
    );
    assert!(detail["got"].as_str().unwrap().contains("tool_calls"), "the client's bytes: {detail}");
}

#[tokio::test]
async fn a_refused_call_is_shown_with_its_reason_and_what_the_model_was_told() {
    let (proxy, _fake) = with("", || writes("<tool_call>\n{\"name\": \"read_file\", \"arguments\": {}}\n</tool_call>")).await;
    ask(&proxy, &serde_json::from_str(&request(true).to_string()).unwrap()).await;
    let detail = detail(&proxy, &rows(&proxy).await[0]).await;
    let rounds = detail["rounds"].as_array().unwrap();
    assert_eq!(rounds.len(), 2, "{detail}");
    assert_eq!(rounds[0]["calls"][0]["verdict"], "refused");
    assert!(rounds[0]["calls"][0]["why"].as_str().unwrap().contains("uri"), "{detail}");
    assert!(rounds[1]["told"].as_str().unwrap().contains("was not run"), "{detail}");
}

#[tokio::test]
async fn a_turn_counts_the_calls_that_the_client_got() {
    let (proxy, _fake) = with("", || {
        let call = |index: u32| {
            let function = json!({"name": "read_file", "arguments": json!({"uri": index.to_string()}).to_string()});
            json!({"index": index, "id": format!("c{index}"), "type": "function", "function": function})
        };
        let calls: Vec<Value> = (0..130).map(call).collect();
        let delta = json!({"choices": [{"index": 0, "delta": {"tool_calls": calls}, "finish_reason": "tool_calls"}]});
        Script::events(vec![Step::Send(format!("data: {delta}\n\ndata: [DONE]\n\n"))])
    })
    .await;
    let (_, answer) = answer(proxy.post("/v1/chat/completions", request(false))).await;
    let message = &answer["choices"][0]["message"];
    assert_eq!(message["tool_calls"].as_array().unwrap().len(), 128);
    assert_eq!(message["content"], "\n[toolglot] 2 more calls were not run: an answer holds at most 128 calls\n");
    assert_eq!(rows(&proxy).await[0]["calls"], 128);
}

#[tokio::test]
async fn the_page_names_the_cell_of_what_stayed_text() {
    let (proxy, _fake) = with("", || writes("")).await;
    let tools = json!([{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}}}]);
    let call = r#"{"name": "f", "arguments": {"a": "x"}}"#;
    let fenced = "it has no marker; it is in code or quoted; its arguments fit the tool";
    let unknown = "it has no marker; it is the whole answer; no such tool is offered";
    let misfit = "it has no marker; text follows it; its arguments do not fit the tool";
    let draft = "it has a marker; it is a draft in reasoning; its arguments fit the tool";
    for (text, cell, calls) in [
        (format!("I call {call} for it."), None, 1),
        (format!("```json\n{call}\n```"), None, 1),
        (format!("So:\n```json\n{call}\n```\nThat is all."), Some(fenced), 0),
        (r#"{"name": "g", "arguments": {}}"#.to_owned(), Some(unknown), 0),
        (r#"See: {"name": "f", "arguments": {"b": 1}} there."#.to_owned(), Some(misfit), 0),
        (format!("<think>\n<tool_call>\n{call}\n</tool_call>\nOr not.\n</think>\nNo."), Some(draft), 0),
        ("Nothing to see {here}.".to_owned(), None, 0),
    ] {
        let body = json!({"model": "qwen3:8b", "tools": tools, "text": text});
        let (status, read) = answer(proxy.post("/ui/normalize", body)).await;
        assert_eq!(status, 200);
        let round = &read["detail"]["rounds"][0];
        let cells: Vec<Option<&str>> = round["notes"].as_array().unwrap().iter().map(|note| note["text"].as_str()).collect();
        assert_eq!(cells.first().copied().flatten(), cell, "{text}: {round}");
        assert_eq!(round["calls"].as_array().unwrap().len(), calls, "{text}: {round}");
    }
}

#[tokio::test]
async fn what_is_said_is_kept_unless_the_configuration_ends_it() {
    for (config, kept) in [("", true), ("exchanges = \"off\"", false)] {
        let (proxy, _fake) = with(config, || writes("a secret plan")).await;
        let page = proxy.get("/ui/events").send().await.unwrap();
        let mut events = page.bytes_stream();
        events.next().await.unwrap().unwrap();
        ask(&proxy, &serde_json::from_str(&request(true).to_string()).unwrap()).await;
        let row = rows(&proxy).await.remove(0);
        assert_eq!((&row["result"], &row["kept"]), (&json!("text"), &json!(kept)), "{config}");
        assert_eq!(detail(&proxy, &row).await.to_string().contains("a secret plan"), kept, "{config}");
        let mut heard = String::new();
        while !heard.contains("\"result\":\"text\"") {
            heard.push_str(&String::from_utf8_lossy(&events.next().await.unwrap().unwrap()));
        }
        assert!(heard.contains("\"result\":\"running\"") && !heard.contains("a secret plan"), "events are metadata: {heard}");
    }
}

#[tokio::test]
async fn secrets_are_not_shown_and_markup_stays_text() {
    let wrote = format!("{HOSTILE} the key is s3cret-key, http://me:pass-1234@host/ and Bearer abcDEF123456");
    let (proxy, _fake) = with("", move || writes(&wrote)).await;
    let body = json!({"model": "m", "stream": true, "messages": [{"role": "user", "content": "use http://u:hunter22@h/?token=t0k3n and s3cret-key"}]});
    ask(&proxy, &body).await;
    ask(&proxy, &json!({"model": HOSTILE, "messages": []})).await;
    let list = rows(&proxy).await;
    let number = &list[1]["number"];
    for path in [format!("/ui/turns/{number}"), format!("/ui/turns/{number}/fixture"), "/ui/turns".into()] {
        let response = proxy.get(&path).send().await.unwrap();
        assert!(!response.headers()["content-type"].to_str().unwrap().contains("html"), "{path}");
        let text = response.text().await.unwrap();
        for secret in ["s3cret-key", "hunter22", "t0k3n", "pass-1234", "abcDEF123456"] {
            assert!(!text.contains(secret), "{path} shows {secret}: {text}");
        }
    }
    let page = proxy.get("/").header("accept", BROWSER).send().await.unwrap().text().await.unwrap();
    assert!(!page.contains("img src=x") && !page.contains("<script>"), "nothing of a client stands in the page itself: {page}");
}

#[tokio::test]
async fn a_turn_with_a_key_in_pieces_is_not_saved() {
    let piece = |text: &str| format!("data: {}\n\n", json!({"choices": [{"index": 0, "delta": {"content": text}}]}));
    let pieces = [piece("it is s3cr"), piece("et-key"), "data: [DONE]\n\n".to_owned()].concat();
    let (proxy, _fake) = with("", move || Script::events(vec![Step::Send(pieces.clone())])).await;
    ask(&proxy, &json!({"model": "m", "stream": true, "messages": [{"role": "user", "content": "x"}]})).await;
    let number = &rows(&proxy).await[0]["number"];
    let (status, said) = answer(proxy.get(&format!("/ui/turns/{number}/fixture"))).await;
    assert!(status == 409 && said["error"]["message"].as_str().unwrap().contains("in pieces"), "{said}");
}

#[tokio::test]
async fn failures_are_rows_with_their_reason() {
    let (proxy, _fake) = with("", || Script::json(500, r#"{"error":{"message":"out of memory"}}"#)).await;
    assert_eq!(ask(&proxy, &json!({"model": "m", "messages": [{"role": "user", "content": "x"}]})).await, 500);
    assert_eq!(ask(&proxy, &json!({"model": "m"})).await, 400);
    let list = rows(&proxy).await;
    assert!(list.iter().all(|row| row["result"] == "error"), "{list:?}");
    assert!(
        list[0]["error"].as_str().unwrap().contains("messages") && list[1]["error"].as_str().unwrap().contains("out of memory"),
        "{list:?}"
    );
    assert!(detail(&proxy, &list[1]).await["got"].as_str().unwrap().contains("out of memory"));
    // Embeddings and lists are no turns.
    proxy.post("/v1/embeddings", r#"{"model":"m","input":"x"}"#).send().await.unwrap();
    assert_eq!(rows(&proxy).await.len(), 2);
}

#[tokio::test]
async fn a_saved_turn_replays_and_a_bypassed_one_passes() {
    let call = r#"{"name": "read_file", "arguments": {"uri": "a"}}"#;
    let (proxy, fake) = with("", move || writes(call)).await;
    let body: Value = serde_json::from_str(&request(true).to_string()).unwrap();
    ask(&proxy, &body).await;
    let saved = proxy.get(&format!("/ui/turns/{}/fixture", rows(&proxy).await[0]["number"])).send().await.unwrap();
    assert_eq!(saved.headers()["content-disposition"], "attachment; filename=\"m-1.txt\"");
    let text = saved.text().await.unwrap();
    assert!(text.contains("\n=== events\ncall read_file {"), "{text}");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("m-1.txt");
    std::fs::write(&file, &text).unwrap();
    let checked = crate::cli::run(folder.path(), &["check", file.to_str().unwrap()]);
    assert!(checked.status.success(), "{}", crate::cli::text(&checked.stdout));
    std::fs::write(&file, text.replace("call read_file", "call write_file")).unwrap();
    assert!(!crate::cli::run(folder.path(), &["check", file.to_str().unwrap()]).status.success());
    // Off for another model, and then for this one: the backend's own bytes.
    for (model, calls) in [("other", true), ("m", false)] {
        answer(proxy.post("/ui/bypass", json!({"minutes": 10, "model": model}))).await;
        let said = proxy.post("/v1/chat/completions", &body).send().await.unwrap().text().await.unwrap();
        assert_eq!(said.contains("tool_calls"), calls, "{model}: {said}");
    }
    let (_, state) = answer(proxy.get("/ui/state")).await;
    assert_eq!(state["bypass"].as_array().unwrap().len(), 2, "{state}");
    answer(proxy.post("/ui/bypass", json!({"minutes": 0, "model": "m"}))).await;
    // Off for all.
    let (_, off) = answer(proxy.post("/ui/bypass", json!({"minutes": 10}))).await;
    assert!(off["bypass"].as_array().unwrap().iter().any(|entry| entry[0] == ""), "{off}");
    let passed = proxy.post("/v1/chat/completions", &body).send().await.unwrap().text().await.unwrap();
    assert!(passed.contains("\\\"read_file\\\"") && !passed.contains("tool_calls"), "{passed}");
    assert_eq!(rows(&proxy).await[0]["result"], "passed");
    proxy.post("/ui/bypass", json!({"minutes": 0})).send().await.unwrap();
    let again = proxy.post("/v1/chat/completions", &body).send().await.unwrap().text().await.unwrap();
    assert!(again.contains("tool_calls") && fake.seen("/chat/completions").len() == 5, "{again}");
}

#[tokio::test]
async fn a_turn_says_how_much_of_it_the_backend_has_read_before() {
    let (proxy, _fake) = with("", || writes("hello")).await;
    let said = |words: &[&str]| {
        let roles = ["user", "assistant"].iter().cycle();
        let messages: Vec<Value> = words.iter().zip(roles).map(|(words, role)| json!({"role": role, "content": words})).collect();
        json!({"model": "m", "stream": true, "messages": messages})
    };
    ask(&proxy, &said(&["begin"])).await;
    ask(&proxy, &said(&["begin", "hello", "go on"])).await;
    ask(&proxy, &said(&["begin", "something else", "go on", "x", "y"])).await;
    let rows = rows(&proxy).await;
    assert_eq!(detail(&proxy, &rows[2]).await["prefix"], Value::Null, "nothing came before");
    let next = detail(&proxy, &rows[1]).await["prefix"].take();
    assert!(next["shared"] == next["before"] && next["shared"].as_u64().unwrap() > 0 && next["broke"].is_null(), "{next}");
    let changed = detail(&proxy, &rows[0]).await["prefix"].take();
    assert!(changed["shared"].as_u64() < changed["before"].as_u64() && changed["broke"] == 2, "{changed}");
}

#[tokio::test]
async fn looking_at_hostile_text_stalls_nobody() {
    let hostile = "{".repeat(8_000);
    let (proxy, _fake) = with("", {
        let hostile = hostile.clone();
        move || writes(&hostile)
    })
    .await;
    let body = serde_json::from_str::<Value>(&request(true).to_string()).unwrap();
    ask(&proxy, &body).await;
    let turn = format!("/ui/turns/{}", rows(&proxy).await[0]["number"]);
    let normalize = proxy.post("/ui/normalize", json!({"model": "qwen3:8b", "tools": body["tools"], "text": hostile}));
    for request in [normalize, proxy.get(&turn), proxy.get(&format!("{turn}/fixture"))] {
        // The proxy serves on this thread: each turn of the loop is one in which others would have been served.
        let (mut turns, begun) = (0_u32, Instant::now());
        let answered = request.send();
        tokio::pin!(answered);
        let response = loop {
            tokio::select! {
                response = &mut answered => break response.unwrap(),
                () = tokio::time::sleep(Duration::from_millis(2)) => turns += 1,
            }
        };
        let elapsed = begun.elapsed();
        assert_eq!(response.status(), 200);
        let path = response.url().path().to_owned();
        let text = response.text().await.unwrap();
        assert!(text.len() < 20 * hostile.len(), "{path}: {} bytes", text.len());
        // On an idle machine a turn takes little more than its 2 ms.
        assert!(Duration::from_millis(2) * 8 * turns >= elapsed, "{path}: others were served {turns} times in {elapsed:?}");
    }
    let long = json!({"text": "x".repeat(300_000)});
    assert_eq!(answer(proxy.post("/ui/normalize", long)).await.0, 413);
}

#[tokio::test]
async fn a_person_tries_a_tool_and_nobody_else_does() {
    let folder = tempfile::tempdir().unwrap();
    let keys = folder.path().join("keys");
    std::fs::write(&keys, "key-of-an-operator\n").unwrap();
    let place = |name: &str| folder.path().join(name).display().to_string();
    let mcp = format!("[mcp]\nbuiltin_tools = true\nregistry = {:?}\ndatabase = {:?}\n", place("mcp.json"), place("d.db"));
    let (proxy, _fake) = with(&mcp, || writes("hello")).await;
    let (_, listed) = answer(proxy.get("/ui/tools")).await;
    let tool = listed["tools"].as_array().unwrap().iter().find(|tool| tool["tool"] == "get_employee_info").unwrap().clone();
    assert_eq!((&tool["effect"], &tool["schema"]["required"]), (&json!("reads"), &json!(["employee_id"])), "{tool}");
    let run = |arguments: Value| proxy.post("/ui/tool", json!({"name": tool["name"], "arguments": arguments}));
    let (status, ran) = answer(run(json!({"employee_id": "EMP001"}))).await;
    assert_eq!((status, &ran["failed"]), (200, &json!(false)), "{ran}");
    assert!(ran["text"].as_str().unwrap().contains("Mina Park"), "{ran}");
    let (_, failed) = answer(run(json!({"employee_id": "nobody"}))).await;
    assert_eq!(failed["failed"], true, "{failed}");
    assert_eq!(answer(proxy.post("/ui/tool", json!({"name": "none"}))).await.0, 404);
    for origin in ["http://localhost:3000", "https://evil.example", "null"] {
        assert_eq!(run(json!({})).header("origin", origin).send().await.unwrap().status(), 403, "{origin}");
        assert_eq!(proxy.get("/ui/tools").header("origin", origin).send().await.unwrap().status(), 403, "{origin}");
    }
    // A key that is not an operator's uses models, and runs nothing here.
    let tenants =
        format!("api_keys_file = {:?}\n[[key]]\nname = \"ann\"\nkey_env = \"A_KEY\"\n{mcp}", keys.display().to_string());
    let (proxy, _fake) = with(&tenants, || writes("hello")).await;
    for (key, status) in [("s3cret-key", 403), ("wrong", 401), ("key-of-an-operator", 200)] {
        let got = proxy.get("/ui/tools").bearer_auth(key).send().await.unwrap();
        assert_eq!(got.status(), status, "{key}");
    }
}

#[tokio::test]
async fn the_state_tells_what_is_wrong_and_counts_by_model() {
    let (proxy, _fake) =
        with_ollama(|_, _| Script::lines(vec![text(r#"{"name": "read_file", "arguments": {"uri": "a",}}"#), done("stop")])).await;
    ask(&proxy, &serde_json::from_str(&request(true).to_string()).unwrap()).await;
    rows(&proxy).await;
    let (_, state) = answer(proxy.get("/ui/state")).await;
    let counts = &state["counts"][0];
    assert_eq!(
        (&counts["model"], &counts["counts"]["calls"], &counts["counts"]["fixed"]),
        (&json!("m"), &json!(1), &json!(1)),
        "{state}"
    );
    assert!(state["backends"][0]["models"][0]["tools_why"].is_string(), "{state}");
    // What was learned from a refusal.
    let (proxy, _fake) = with("", || Script::json(400, r#"{"error":{"message":"m does not support tools"}}"#)).await;
    ask(&proxy, &serde_json::from_str(&request(false)).unwrap()).await;
    let (_, state) = answer(proxy.get("/ui/state")).await;
    let model = &state["backends"][0]["models"][0];
    assert_eq!(model["tools"], "prompt", "{state}");
    assert!(model["tools_why"].as_str().unwrap().starts_with("learned"), "{state}");
    let dead = Proxy::start("[[backend]]\nname = \"d\"\nkind = \"openai\"\nurl = \"http://127.0.0.1:9/v1\"\n").await;
    let (_, state) = answer(dead.get("/ui/state")).await;
    assert!(state["problems"][0].as_str().unwrap().contains("start it"), "{state}");
}

/// The page of a key that is no longer one hears nothing more.
#[tokio::test(flavor = "multi_thread")]
async fn a_page_ends_with_its_key() {
    use crate::cli::{Running, toolglot};
    let directory = tempfile::tempdir().unwrap();
    let (file, keys) = (directory.path().join("proxy.toml"), directory.path().join("keys.txt"));
    let config = format!("api_keys_file = {:?}\n[[backend]]\nkind = \"replay\"\n", keys.display().to_string());
    std::fs::write(&file, &config).unwrap();
    std::fs::write(&keys, "ann:key-of-ann\neve:key-of-eve\n").unwrap();
    let running = Running::of(&mut toolglot(directory.path(), &["serve", "--listen", "127.0.0.1:0"]), "http://127.0.0.1:");
    let open =
        async |path: &str| client().get(format!("{}{path}", running.url())).bearer_auth("key-of-eve").send().await.unwrap();
    let open = [open("/ui/events").await, open("/ui/log").await];
    tokio::time::sleep(Duration::from_millis(300)).await;
    std::fs::write(&keys, "ann:key-of-ann\neve:another-key-of-eve\n").unwrap();
    std::fs::write(&file, format!("{config}# again\n")).unwrap();
    for stream in open {
        assert_eq!(stream.status(), 200);
        let ended = tokio::time::timeout(Duration::from_secs(10), stream.bytes()).await;
        assert!(ended.is_ok(), "it is still open: {}", running.said());
    }
}

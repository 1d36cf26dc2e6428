//! Chats: what the client sees of an answer, of a fault, of silence; what the backend sees of a client that goes.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Instant,
};

use futures_util::StreamExt;

use super::*;

const TOOL: &str = r#"{"type":"function","function":{"name":"read_file","parameters":{"type":"object","properties":{"uri":{"type":"string"},"lines":{"type":"integer"}},"required":["uri"]}}}"#;

pub(super) fn request(stream: bool) -> String {
    format!(r#"{{"model":"m","stream":{stream},"messages":[{{"role":"user","content":"go"}}],"tools":[{TOOL}]}}"#)
}

/// A line of Ollama's stream with a piece of text.
pub(super) fn text(text: &str) -> Step {
    Step::Send(format!("{}\n", json!({"message": {"role": "assistant", "content": text}, "done": false})))
}

pub(super) fn done(reason: &str) -> Step {
    Step::Send(format!(
        "{}\n",
        json!({"message": {"role": "assistant", "content": ""}, "done": true, "done_reason": reason, "prompt_eval_count": 7, "eval_count": 3})
    ))
}

fn call(arguments: Value) -> Step {
    let call = json!({"function": {"name": "read_file", "arguments": arguments}});
    Step::Send(format!("{}\n", json!({"message": {"role": "assistant", "content": "", "tool_calls": [call]}, "done": false})))
}

/// A proxy before an Ollama with the model `m`, of which it says nothing more; chats are answered by `script`, which gets
/// the number of the chat.
pub(super) async fn with_ollama(script: impl Fn(usize, &Seen) -> Script + Send + Sync + 'static) -> (Proxy, Fake) {
    let chats = AtomicUsize::new(0);
    before_ollama(move |seen| match seen.line.as_str() {
        "POST /api/chat" => script(chats.fetch_add(1, Ordering::SeqCst), seen),
        _ => Script::json(404, r#"{"error":"not here"}"#),
    })
    .await
}

/// What a streaming client saw.
#[derive(Debug, Default)]
pub(super) struct Saw {
    pub(super) status: u16,
    pub(super) raw: String,
    pub(super) text: String,
    pub(super) calls: Vec<(String, String)>,
    pub(super) finish: Vec<String>,
    pub(super) error: Option<Value>,
    pub(super) comments: usize,
    pub(super) done: bool,
}

pub(super) async fn stream(proxy: &Proxy) -> Saw {
    stream_of(proxy, request(true)).await
}

pub(super) async fn stream_of(proxy: &Proxy, request: impl ToString) -> Saw {
    let response = proxy.post("/v1/chat/completions", request).send().await.unwrap();
    let status = response.status().as_u16();
    let raw = response.text().await.unwrap();
    let mut saw = Saw { status, raw: raw.clone(), ..Saw::default() };
    if status != 200 {
        saw.error = Some(serde_json::from_str(&raw).unwrap());
        return saw;
    }
    for event in raw.split("\n\n").filter(|event| !event.is_empty()) {
        if event.starts_with(':') {
            saw.comments += 1;
            continue;
        }
        let data = event.strip_prefix("data: ").unwrap_or_else(|| panic!("{event:?}"));
        if data == "[DONE]" {
            saw.done = true;
            continue;
        }
        let chunk: Value = serde_json::from_str(data).unwrap();
        if chunk.get("error").is_some() {
            saw.error = Some(chunk);
            continue;
        }
        let choice = &chunk["choices"][0];
        saw.text += choice["delta"]["content"].as_str().unwrap_or_default();
        for call in choice["delta"]["tool_calls"].as_array().into_iter().flatten() {
            let part = |key: &str| call["function"][key].as_str().unwrap_or_default().to_owned();
            saw.calls.push((part("name"), part("arguments")));
        }
        saw.finish.extend(choice["finish_reason"].as_str().map(str::to_owned));
    }
    saw
}

pub(super) fn message(error: &Option<Value>) -> &str {
    error.as_ref().and_then(|error| error["error"]["message"].as_str()).unwrap_or_default()
}

#[tokio::test]
async fn a_call_in_the_text_arrives_as_a_call_streamed_and_not() {
    let (proxy, _fake) = with_ollama(|_, _| {
        Script::lines(vec![
            text("Looking.\n```json\n{\"name\":\"read_"),
            text("file\",\"arguments\":{\"uri\":\"a\"}}\n```"),
            done("stop"),
        ])
    })
    .await;
    let saw = stream(&proxy).await;
    assert_eq!((saw.text.trim(), saw.finish.as_slice()), ("Looking.", ["tool_calls".to_owned()].as_slice()), "{}", saw.raw);
    assert_eq!(saw.calls.len(), 1, "{}", saw.raw);
    assert_eq!(serde_json::from_str::<Value>(&saw.calls[0].1).unwrap(), json!({"uri": "a"}));
    assert!(saw.done);
    let (status, whole) = answer(proxy.post("/v1/chat/completions", request(false))).await;
    let message = &whole["choices"][0]["message"];
    assert_eq!((status, message["tool_calls"][0]["function"]["arguments"].as_str()), (200, Some(saw.calls[0].1.as_str())));
    assert_eq!(
        (whole["choices"][0]["finish_reason"].as_str(), whole["usage"]["total_tokens"].as_u64()),
        (Some("tool_calls"), Some(10))
    );
}

#[tokio::test]
async fn pieces_that_arrive_together_stay_pieces() {
    let (proxy, _fake) = with_ollama(|_, _| {
        let written = ["One, two,", " three,", " four", "."].map(|piece| match text(piece) {
            Step::Send(line) => line,
            _ => unreachable!(),
        });
        Script::lines(vec![Step::Send(written.concat()), done("stop")])
    })
    .await;
    let saw = stream(&proxy).await;
    let contents: Vec<&str> = saw.raw.split("\"content\":\"").skip(2).filter_map(|rest| rest.split('"').next()).collect();
    assert_eq!(contents, ["One, two,", " three,", " four", "."], "{}", saw.raw);
}

#[tokio::test]
async fn a_model_without_tools_is_asked_in_its_prompt_and_that_is_remembered() {
    let (proxy, fake) = with_ollama(|_, seen| match seen.body.contains("\"tools\"") {
        true => Script::json(400, r#"{"error":"registry.ollama.ai/library/m does not support tools"}"#),
        false => Script::lines(vec![text(r#"{"name":"read_file","arguments":{"uri":"a"}}"#), done("stop")]),
    })
    .await;
    assert_eq!(stream(&proxy).await.calls.len(), 1);
    assert_eq!(fake.seen("/api/chat").len(), 2, "refused once, asked again");
    assert_eq!(stream(&proxy).await.calls.len(), 1);
    let chats = fake.seen("/api/chat");
    assert_eq!(chats.len(), 3, "remembered");
    assert!(chats[2].body.contains("read_file"), "the tools are in the prompt: {}", chats[2].body);
}

#[tokio::test]
async fn a_refusal_inside_the_stream_is_one_too() {
    let (proxy, fake) = with_ollama(|_, seen| match seen.body.contains("\"tools\"") {
        true => Script::lines(vec![Step::Send("{\"error\":\"error parsing tool call: raw='{'\"}\n".into())]),
        false => Script::lines(vec![text("fine"), done("stop")]),
    })
    .await;
    let saw = stream(&proxy).await;
    // Refused; asked for its prompt, which this one does not tell; asked without tools.
    assert_eq!((saw.text.as_str(), saw.error, fake.seen("/api/chat").len()), ("fine", None, 3), "{}", saw.raw);
}

#[tokio::test]
async fn a_backend_that_reports_its_capabilities_gets_no_request_that_it_refuses() {
    let (proxy, fake) = before_ollama(|seen| match seen.line.as_str() {
        "POST /api/show" => Script::json(200, r#"{"capabilities":["completion"],"template":"{{ .Prompt }}"}"#),
        _ => Script::lines(vec![text("hello"), done("stop")]),
    })
    .await;
    assert_eq!(stream(&proxy).await.text, "hello");
    assert_eq!(stream(&proxy).await.text, "hello");
    let chats = fake.seen("/api/chat");
    assert!(chats.iter().all(|chat| !chat.body.contains("\"tools\":")) && chats.len() == 2, "{chats:?}");
    assert_eq!(fake.seen("/api/show").len(), 1, "the description is kept");
}

#[tokio::test]
async fn an_early_error_keeps_its_status() {
    for (status, body, expected) in [
        (404, r#"{"error":"model 'm' not found"}"#, "not found"),
        (400, r#"{"error":"prompt too long; exceeded max context length by 5 tokens"}"#, "context length"),
        (500, "boom", "boom"),
    ] {
        let (proxy, _fake) = with_ollama(move |_, _| Script::json(status, body)).await;
        let saw = stream(&proxy).await;
        assert_eq!(saw.status, status, "{}", saw.raw);
        assert!(message(&saw.error).contains(expected), "{}", saw.raw);
        let (collected, body) = answer(proxy.post("/v1/chat/completions", request(false))).await;
        assert_eq!(collected, status);
        assert!(message(&Some(body)).contains(expected));
    }
}

#[tokio::test]
async fn a_backend_that_is_not_there_is_named() {
    let proxy = Proxy::start("[[backend]]\nkind = \"ollama\"\nurl = \"http://127.0.0.1:9\"\n").await;
    let saw = stream(&proxy).await;
    assert_eq!(saw.status, 502);
    assert!(message(&saw.error).contains("127.0.0.1:9"), "{}", saw.raw);
}

#[tokio::test]
async fn a_slow_backend_keeps_the_client_alive_and_a_late_error_is_an_event() {
    let (proxy, _fake) = with_ollama(|_, _| {
        Script::lines(vec![Step::Wait(Duration::from_millis(1500)), Step::Send("{\"error\":\"out of memory\"}\n".into())])
    })
    .await;
    let started = Instant::now();
    let response = proxy.post("/v1/chat/completions", request(true)).send().await.unwrap();
    let head = started.elapsed();
    assert_eq!(response.status(), 200);
    assert!(head > Duration::from_millis(900) && head < Duration::from_millis(1400), "{head:?}");
    let raw = response.text().await.unwrap();
    assert!(raw.starts_with(": keep-alive\n\n"), "{raw}");
    assert!(raw.contains("data: {\"error\":{\"message\":\"out of memory\""), "{raw}");
}

#[tokio::test]
async fn a_held_call_is_no_silence() {
    // The call is written slowly: every read brings something, and nothing of it may leave.
    let (proxy, _fake) = with_ollama(|_, _| {
        let mut steps = vec![text("{\"name\":\"read_file\",\"arguments\":{\"uri\":\"")];
        for _ in 0..15 {
            steps.extend([text("abc"), Step::Wait(Duration::from_millis(100))]);
        }
        steps.extend([text("\"}}"), done("stop")]);
        Script::lines(steps)
    })
    .await;
    let saw = stream(&proxy).await;
    assert!(saw.raw.starts_with(": "), "{}", saw.raw);
    assert_eq!(saw.calls.len(), 1, "{}", saw.raw);
}

#[tokio::test]
async fn a_stream_that_breaks_is_an_error_and_no_call() {
    let half = "{\"name\":\"read_file\",\"arguments\":{\"uri\":\"a\"}";
    for ending in [Step::Break, Step::Wait(Duration::ZERO)] {
        let ending = std::sync::Mutex::new(Some(ending));
        let (proxy, _fake) = with_ollama(move |_, _| {
            let mut steps = vec![text("First.\n"), text(half)];
            steps.extend(ending.lock().unwrap().take());
            Script::lines(steps)
        })
        .await;
        let saw = stream(&proxy).await;
        assert_eq!((saw.status, saw.calls.len(), saw.finish.len(), saw.done), (200, 0, 0, true), "{}", saw.raw);
        assert!(saw.text.starts_with("First."), "{}", saw.raw);
        assert!(!message(&saw.error).is_empty(), "{}", saw.raw);
    }
}

#[tokio::test]
async fn an_answer_without_its_end_is_an_error_for_those_who_wait_too() {
    let (proxy, _fake) = with_ollama(|_, _| Script::lines(vec![text("First.")])).await;
    let (status, body) = answer(proxy.post("/v1/chat/completions", request(false))).await;
    assert_eq!(status, 502, "{body}");
    assert_eq!(body["error"]["code"], "backend_incomplete");
}

#[tokio::test]
async fn a_refused_call_is_answered_to_the_model_and_the_client_sees_the_second_one() {
    let (proxy, fake) = with_ollama(|chat, _| {
        let arguments = if chat == 0 { json!({"lines": 3}) } else { json!({"uri": "a", "lines": 3}) };
        Script::lines(vec![text("Reading."), call(arguments), done("stop")])
    })
    .await;
    let saw = stream(&proxy).await;
    assert_eq!(saw.calls.len(), 1, "{}", saw.raw);
    assert_eq!(serde_json::from_str::<Value>(&saw.calls[0].1).unwrap(), json!({"uri": "a", "lines": 3}));
    assert_eq!((saw.text.as_str(), saw.finish.as_slice()), ("Reading.", ["tool_calls".to_owned()].as_slice()));
    let second = &fake.seen("/api/chat")[1].body;
    assert!(second.contains("was not run") && second.contains("required"), "{second}");
    assert!(second.contains("\"lines\":3"), "the model sees what it wrote: {second}");
}

#[tokio::test]
async fn asking_again_ends() {
    let (proxy, fake) = with_ollama(|_, _| Script::lines(vec![call(json!({"lines": 3})), done("stop")])).await;
    let saw = stream(&proxy).await;
    assert_eq!(fake.seen("/api/chat").len(), 2);
    assert_eq!(saw.calls.len(), 1, "a whole object is the client's to judge: {}", saw.raw);
}

#[tokio::test]
async fn a_client_that_goes_ends_the_upstream_request() {
    // Before the first byte, in the middle, and while comments keep the client alive.
    for (streamed, begun, wait) in
        [(true, false, 200), (true, true, 200), (true, false, 1200), (false, false, 200), (false, true, 200)]
    {
        let mut fastest = Duration::MAX;
        for _ in 0..3 {
            let (proxy, mut fake) = with_ollama(move |_, _| {
                let mut steps = if begun { vec![text("a")] } else { Vec::new() };
                steps.push(Step::Hang);
                Script::lines(steps)
            })
            .await;
            let request = proxy.post("/v1/chat/completions", request(streamed)).send();
            let waiting = tokio::spawn(async move {
                let response = request.await.unwrap();
                response.bytes_stream().for_each(|_| async {}).await;
            });
            fake.wait_for("/api/chat").await;
            tokio::time::sleep(Duration::from_millis(wait)).await;
            fake.forget_closed();
            let left = Instant::now();
            waiting.abort();
            fastest = fastest.min(fake.closed().await.duration_since(left));
            if fastest < Duration::from_millis(100) {
                break; // a busy machine may need another try
            }
        }
        assert!(fastest < Duration::from_millis(100), "stream {streamed}, begun {begun}, after {wait} ms: {fastest:?}");
    }
}

#[tokio::test]
async fn a_long_call_is_the_same_on_other_threads() {
    let uri = "a/".repeat(100_000);
    let call = format!("{{\"name\":\"read_file\",\"arguments\":{{\"uri\":\"{uri}\"}}}}");
    let script = move |_: usize, _: &Seen| {
        let pieces = call.as_bytes().chunks(9000).map(|piece| text(std::str::from_utf8(piece).unwrap()));
        Script::lines(pieces.chain([done("stop")]).collect())
    };
    let (proxy, _fake) = with_ollama(script).await;
    let saw = stream(&proxy).await;
    let (status, whole) = answer(proxy.post("/v1/chat/completions", request(false))).await;
    let collected = whole["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"].as_str().unwrap();
    assert_eq!((status, saw.calls.len(), saw.done), (200, 1, true));
    for arguments in [collected, saw.calls[0].1.as_str()] {
        assert!(serde_json::from_str::<Value>(arguments).unwrap() == json!({"uri": uri}));
    }
}

#[tokio::test]
async fn a_client_that_leaves_a_long_call_ends_the_upstream_request() {
    for streamed in [true, false] {
        let (proxy, mut fake) = with_ollama(|_, _| {
            Script::lines(vec![text("{\"name\":\"read_file\",\"arguments\":{\"uri\":\""), text(&"a/".repeat(50_000)), Step::Hang])
        })
        .await;
        let response = proxy.post("/v1/chat/completions", request(streamed)).send();
        let waiting = tokio::spawn(async move { response.await.unwrap().bytes().await });
        fake.wait_for("/api/chat").await;
        tokio::time::sleep(Duration::from_millis(500)).await;
        fake.forget_closed();
        waiting.abort();
        tokio::time::timeout(Duration::from_secs(10), fake.closed()).await.unwrap();
    }
}

#[tokio::test]
async fn what_arrives_together_leaves_together() {
    let markers = format!("{}.", "<tool_call>".repeat(200));
    let script = |text_of: String| move |_: usize, _: &Seen| Script::lines(vec![text(&text_of), done("stop")]);
    let (proxy, _fake) = with_ollama(script(markers.clone())).await;
    let saw = stream(&proxy).await;
    assert_eq!(saw.text, markers);
    assert!(saw.raw.matches("\"content\"").count() < 5, "{}", saw.raw);
}

#[tokio::test]
async fn what_was_not_done_as_asked_is_said() {
    let (proxy, _fake) = with_ollama(|_, _| Script::lines(vec![text("x"), done("stop")])).await;
    let twice = json!({"model": "m", "messages": [], "tools": [
        {"type": "function", "function": {"name": "a"}}, {"type": "function", "function": {"name": "a"}},
    ]});
    let response = proxy.post("/v1/chat/completions", &twice).send().await.unwrap();
    assert!(response.headers()["x-toolglot-warning"].to_str().unwrap().starts_with("duplicate_tool"));
}

#[tokio::test]
async fn several_answers_pass_untouched() {
    let (proxy, fake) = with_openai(|_| Script::json(200, "{\"choices\":[1,2]}")).await;
    let (_, body) = answer(proxy.post("/v1/chat/completions", r#"{"model":"m","messages":[],"n":2}"#)).await;
    assert_eq!(body, json!({"choices": [1, 2]}));
    assert!(fake.seen("/v1/chat/completions")[0].body.contains("\"n\":2"));
}

#[tokio::test]
async fn a_toolglot_before_a_toolglot_changes_nothing() {
    let script = || vec![text("Looking.\n{\"name\":\"read_file\",\"arguments\":{\"uri\":\"a\"}}"), done("stop")];
    let (inner, _fake) = with_ollama(move |_, _| Script::lines(script())).await;
    let outer = Proxy::start(&format!("[[backend]]\nkind = \"openai\"\nurl = \"{}/v1\"\n", inner.url)).await;
    let (near, far) = (stream(&inner).await, stream(&outer).await);
    assert_eq!((near.text, near.calls, near.finish), (far.text, far.calls, far.finish));
}

#[tokio::test]
async fn a_model_whose_prompt_opens_its_reasoning_is_read_so_from_its_second_answer_on() {
    let chats = AtomicUsize::new(0);
    let answers = ["It is dark.\n</think>\n\nShall I?", "Still dark.\n</think>\n\nShall I?", "Yes.", "Yes."];
    let fake = Fake::start(move |seen| match seen.line.as_str() {
        "GET /api/tags" => Script::json(200, r#"{"models":[{"name":"m"}]}"#),
        "POST /api/chat" => {
            let answer = answers[chats.fetch_add(1, Ordering::SeqCst)];
            Script::events(vec![text(answer), done("stop")])
        }
        _ => Script::json(404, r#"{"error":"not here"}"#),
    })
    .await;
    let route = "[[route]]\nmodel = \"m\"\nadapter = \"hermes\"\n";
    let proxy = Proxy::start(&format!("{route}[[backend]]\nkind = \"ollama\"\nurl = \"{}\"\n", fake.url)).await;
    // The first one shows it. The third one does not think at all: its text is sent as such in the end, and the fourth is read so.
    for (what, expected) in
        [("not known", "It is dark.\n\n\nShall I?"), ("known", "Shall I?"), ("believed", "Yes."), ("known otherwise", "Yes.")]
    {
        let saw = stream(&proxy).await;
        assert_eq!(saw.text, expected, "{what}: {}", saw.raw);
    }
}

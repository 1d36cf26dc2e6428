//! Turns that would end without a word, or in the middle: the model is asked once to go on, and the user reads something in any
//! case. Calls that arrive in another way than expected.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::{
    backends::{delta, event, finish},
    chat::{request, stream, stream_of},
    *,
};

/// The fronts of the proxy.
const FRONTS: [&str; 4] = ["/v1/chat/completions", "/v1/messages", "/v1/responses", "/api/chat"];

/// A proxy before a model that gives these answers, each a list of deltas, the last one again and again.
async fn before(answers: Vec<Vec<Value>>) -> (Proxy, Fake) {
    let at = AtomicUsize::new(0);
    with_openai(move |seen| match seen.line.ends_with("/chat/completions") {
        true => {
            let answer = &answers[at.fetch_add(1, Ordering::SeqCst).min(answers.len() - 1)];
            let calls = answer.iter().any(|delta| !delta["tool_calls"].is_null());
            let end = finish(if calls { "tool_calls" } else { "stop" });
            Script::events(answer.iter().cloned().map(delta).chain([end]).collect())
        }
        false => Script::json(404, "{}"),
    })
    .await
}

fn says(text: &str) -> Vec<Value> {
    text.split_inclusive(' ').map(|word| json!({"content": word})).collect()
}

fn thinks(text: &str) -> Vec<Value> {
    vec![json!({"reasoning_content": text})]
}

fn native(name: &str, arguments: &str) -> Value {
    json!({"tool_calls": [{"index": 0, "id": "c", "type": "function", "function": {"name": name, "arguments": arguments}}]})
}

/// Text and names of the calls of an answer that was not streamed, from any front. After a result if `under_way`.
async fn whole(proxy: &Proxy, front: &str, under_way: bool) -> (String, Vec<String>) {
    let schema = json!({"type": "object", "properties": {"uri": {"type": "string"}}, "required": ["uri"]});
    let function = json!({"name": "read_file", "parameters": schema});
    let flat = json!({"type": "function", "name": "read_file", "parameters": schema});
    let arguments = r#"{"uri":"b"}"#;
    let said = json!({"role": "user", "content": "go"});
    let body = match front {
        "/v1/messages" => {
            let call = json!({"type": "tool_use", "id": "a", "name": "read_file", "input": {"uri": "b"}});
            let result = json!({"type": "tool_result", "tool_use_id": "a", "content": "fn b() {}"});
            let past = [json!({"role": "assistant", "content": [call]}), json!({"role": "user", "content": [result]})];
            let messages: Vec<Value> = std::iter::once(said).chain(past.into_iter().filter(|_| under_way)).collect();
            let tool = json!({"name": "read_file", "input_schema": schema});
            json!({"model": "m", "max_tokens": 99, "messages": messages, "tools": [tool]})
        }
        "/v1/responses" => {
            let call = json!({"type": "function_call", "call_id": "a", "name": "read_file", "arguments": arguments});
            let past = [call, json!({"type": "function_call_output", "call_id": "a", "output": "fn b() {}"})];
            let input: Vec<Value> = std::iter::once(said).chain(past.into_iter().filter(|_| under_way)).collect();
            json!({"model": "m", "input": input, "tools": [flat]})
        }
        _ => {
            let given = if front == "/api/chat" { json!({"uri": "b"}) } else { json!(arguments) };
            let call = json!({"id": "a", "type": "function", "function": {"name": "read_file", "arguments": given}});
            let result = json!({"role": "tool", "tool_call_id": "a", "tool_name": "read_file", "content": "fn b() {}"});
            let past = [json!({"role": "assistant", "content": "", "tool_calls": [call]}), result];
            let messages: Vec<Value> = std::iter::once(said).chain(past.into_iter().filter(|_| under_way)).collect();
            json!({"model": "m", "stream": false, "messages": messages, "tools": [{"type": "function", "function": function}]})
        }
    };
    let (status, body) = answer(proxy.post(front, body)).await;
    assert_eq!(status, 200, "{front}: {body}");
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (parts, calls): (Vec<Value>, Vec<Value>) = match front {
        "/v1/messages" => list(&body["content"]).into_iter().partition(|part| part["type"] == "text"),
        "/v1/responses" => {
            let (said, calls): (Vec<Value>, Vec<Value>) =
                list(&body["output"]).into_iter().partition(|item| item["type"] == "message");
            (said.iter().flat_map(|item| list(&item["content"])).collect(), calls)
        }
        _ => {
            let message = if front == "/api/chat" { &body["message"] } else { &body["choices"][0]["message"] };
            let calls = list(&message["tool_calls"]).into_iter().map(|call| call["function"].clone()).collect();
            (vec![json!({"text": message["content"]})], calls)
        }
    };
    let calls = calls.iter().map(|call| text(&call["name"])).filter(|name| !name.is_empty());
    (parts.iter().map(|part| text(&part["text"])).collect(), calls.collect())
}

/// source: issue QwenLM/qwen-code#7034, issue sgl-project/sglang#27021: an answer of reasoning alone ends the turn.
#[tokio::test]
async fn an_answer_of_reasoning_alone_is_asked_about_once() {
    const LINE: &str = "[toolglot] the model's answer was empty\n";
    for front in FRONTS {
        for under_way in [false, true] {
            let call = vec![native("read_file", r#"{"uri":"a"}"#)];
            let cases = [
                (vec![thinks("I should write."), says("Here it is.")], "Here it is.", 0),
                (vec![thinks("I should read."), call], "", 1),
                (vec![thinks("I should write."), thinks("Still.")], LINE, 0),
            ];
            for (answers, text, calls) in cases {
                let (proxy, fake) = before(answers).await;
                let (said, called) = whole(&proxy, front, under_way).await;
                assert_eq!((said.as_str(), called.len()), (text, calls), "{front}, under way: {under_way}");
                assert_eq!(fake.seen("/v1/chat/completions").len(), 2, "{front}, under way: {under_way}");
            }
        }
    }
    let (proxy, fake) = before(vec![thinks("I should write."), says("Here it is.")]).await;
    let saw = stream(&proxy).await;
    assert_eq!((saw.text.as_str(), fake.seen("/v1/chat/completions").len()), ("Here it is.", 2), "{}", saw.raw);
    assert!(fake.seen("/v1/chat/completions")[1].body.contains("You have written nothing yet."));
}

/// source: issue deepseek-ai/DeepSeek-V3#1554, issue charmbracelet/crush#699: `Now let me write the file:`, and the turn ends.
#[tokio::test]
async fn a_step_that_is_only_announced_after_a_result_is_asked_for_once() {
    const OPEN: &str = "Now let me write the file:";
    let call = || vec![native("read_file", r#"{"uri":"a"}"#)];
    for front in FRONTS {
        let cases = [
            (vec![says(OPEN), call()], true, (OPEN, 1, 2)),
            (vec![says("**Ich lese weiter...**\n"), call()], true, ("**Ich lese weiter...**\n", 1, 2)),
            (vec![says(OPEN), says(OPEN)], true, (OPEN, 0, 2)),
            (vec![says(OPEN), says("It is done.")], true, ("Now let me write the file:\nIt is done.", 0, 2)),
            // Nothing is under way, or the answer is one.
            (vec![says(OPEN), call()], false, (OPEN, 0, 1)),
            (vec![says("It has one function: `b`."), call()], true, ("It has one function: `b`.", 0, 1)),
        ];
        for (answers, under_way, (text, calls, asked)) in cases {
            let (proxy, fake) = before(answers).await;
            let (said, called) = whole(&proxy, front, under_way).await;
            assert_eq!((said.as_str(), called.len()), (text, calls), "{front}");
            assert_eq!(fake.seen("/v1/chat/completions").len(), asked, "{front}: {text}");
        }
    }
}

/// source: issue continuedev/continue#12680, issue ollama/ollama#14986, issue lmstudio-ai/lmstudio-js#493: the backend's parser
/// fails after text was streamed.
#[tokio::test]
async fn a_backend_that_cannot_read_the_call_after_prose_is_asked_without_its_parser() {
    const CALL: &str = "<tool_call>{\"name\": \"read_file\", \"arguments\": {\"uri\": \"a\"}}</tool_call>";
    for error in [
        json!({"error": {"message": "Failed to parse tool call: Unexpected end of content."}}),
        json!({"error": "EOF"}),
        json!({"error": {"message": "Model failed to generate a tool call: Failed to parse arguments for tool \"read_file\"."}}),
        json!({"error": {"message": "Failed to parse input at pos 395: <|tool_call_start|>[", "code": 500}}),
    ] {
        for first in [json!({"content": "Let me look"}), json!({"reasoning_content": "I should look."})] {
            for again in ["Let me look at it.\n", ""] {
                let (error, first) = (error.clone(), first.clone());
                let told = first["content"].as_str().unwrap_or_default().to_owned();
                let (proxy, fake) = with_openai(move |seen| match seen.line.ends_with("/chat/completions") {
                    true if seen.body.contains("\"tools\"") => Script::events(vec![delta(first.clone()), event(&error)]),
                    true => Script::events(vec![delta(json!({"content": format!("{again}{CALL}")})), finish("stop")]),
                    false => Script::json(404, "{}"),
                })
                .await;
                let saw = stream(&proxy).await;
                assert_eq!((saw.calls.len(), saw.finish.join("").as_str()), (1, "tool_calls"), "{}", saw.raw);
                let expected = if told.is_empty() { again.trim_end() } else { &told };
                assert_eq!((saw.text.trim_end(), saw.error.is_none()), (expected, true), "{}", saw.raw);
                assert_eq!(fake.seen("/v1/chat/completions").len(), 2);
            }
        }
    }
}

/// source: reference of loops, 66 times `List {"path":"."}` in one answer.
#[tokio::test]
async fn the_third_equal_call_of_an_answer_is_dropped_with_one_notice() {
    let marked =
        |uri: &str| format!("<tool_call>{{\"name\": \"read_file\", \"arguments\": {{\"uri\": \"{uri}\"}}}}</tool_call>\n");
    let text = json!({"content": marked("a").repeat(66) + &marked("b")});
    let calls: Vec<Value> = (0..66).chain([66]).map(|at| {
        let uri = if at == 66 { "b" } else { "a" };
        let arguments = format!("{{\"uri\":\"{uri}\"}}");
        json!({"index": at, "id": format!("c{at}"), "type": "function", "function": {"name": "read_file", "arguments": arguments}})
    }).collect();
    for answers in [vec![text], vec![json!({"tool_calls": calls})]] {
        let (proxy, fake) = before(vec![answers]).await;
        let saw = stream(&proxy).await;
        assert_eq!(saw.calls.len(), 3, "{}", saw.raw);
        assert_eq!(saw.text.matches("[toolglot]").count(), 1, "{}", saw.raw);
        assert_eq!(fake.seen("/v1/chat/completions").len(), 1);
    }
}

/// source: issue block/goose#2177: a gateway writes text and call as two choices.
#[tokio::test]
async fn the_call_in_another_choice_is_a_call() {
    let call = json!([{"id": "c", "type": "function", "function": {"name": "read_file", "arguments": "{\"uri\":\"a\"}"}}]);
    let choices = |member: &str| {
        json!({"choices": [
            {"index": 0, member: {"role": "assistant", "content": "I read it."}, "finish_reason": "tool_calls"},
            {"index": 1, member: {"role": "assistant", "tool_calls": call}, "finish_reason": "tool_calls"},
        ]})
    };
    let one = |index: usize, delta: Value| event(&json!({"choices": [{"index": index, "delta": delta}]}));
    for form in 0..3 {
        let (stream_choices, whole_choices, call) = (choices("delta"), choices("message"), call.clone());
        let (proxy, _fake) = with_openai(move |_| match form {
            0 => Script::json(200, whole_choices.to_string()),
            1 => Script::events(vec![event(&stream_choices), Step::Send("data: [DONE]\n\n".into())]),
            _ => Script::events(vec![
                one(0, json!({"content": "I read it."})),
                one(1, json!({"tool_calls": call})),
                finish("tool_calls"),
            ]),
        })
        .await;
        let saw = stream(&proxy).await;
        assert_eq!((saw.text.as_str(), saw.calls.len()), ("I read it.", 1), "{form}: {}", saw.raw);
    }
}

/// source: issue sgl-project/sglang#30925, issue sgl-project/sglang#35736: with `tool_choice: none` the markup is shown as text.
#[tokio::test]
async fn markup_of_a_call_that_the_client_excludes_is_not_shown() {
    const CALL: &str = "<tool_call>\n{\"name\": \"read_file\", \"arguments\": {\"uri\": \"a\"}}\n</tool_call>";
    let with = |said: &str| said.replace("CALL", CALL);
    for (said, shown) in [
        ("I look.\nCALL\nDone.", "I look.\n\nDone."),
        ("CALL", "[toolglot] call of read_file was not run: the client wants no calls (`tool_choice`)\n"),
        ("I look.\n<tool_call>\n{\"name\": \"read_file\", \"argum", "I look.\n"),
        // Markup that names no tool of the request is text.
        ("Write <tool_call>..</tool_call> around it: a < b", "Write <tool_call>..</tool_call> around it: a < b"),
    ] {
        let answer: Vec<Value> = with(said).chars().map(|c| json!({"content": c.to_string()})).collect();
        let (proxy, fake) = before(vec![answer]).await;
        let mut body: Value = serde_json::from_str(&request(true)).unwrap();
        (body["tool_choice"], body["model"]) = (json!("none"), json!("m"));
        let saw = stream_of(&proxy, body).await;
        assert_eq!((saw.text.as_str(), saw.calls.len()), (shown, 0), "{}", saw.raw);
        assert_eq!(fake.seen("/v1/chat/completions").len(), 1);
    }
}

/// source: seen in Void: the model says the same in other words before its corrected call.
#[tokio::test]
async fn the_prose_before_a_corrected_call_is_not_sent_after_that_of_the_first_answer() {
    const BAD: &str = "<tool_call>{\"name\": \"read_file\", \"arguments\": {\"lines\": 3}}</tool_call>";
    const GOOD: &str = "<tool_call>{\"name\": \"read_file\", \"arguments\": {\"uri\": \"a\"}}</tool_call>";
    let long = "It is not there. ".repeat(100);
    let cases = [
        (format!("Let me look.\n{BAD}"), format!("I will look now.\n{GOOD}"), "Let me look.\n".to_owned(), 1),
        (BAD.to_owned(), format!("I will look now.\n{GOOD}"), "I will look now.\n".to_owned(), 1),
        (format!("Let me look.\n{BAD}"), "It is not there.".to_owned(), "Let me look.\nIt is not there.".to_owned(), 0),
        (format!("Let me look.\n{BAD}"), long.clone(), format!("Let me look.\n{long}"), 0),
    ];
    for (first, second, text, calls) in cases {
        let (proxy, _fake) = before(vec![says(&first), says(&second)]).await;
        let saw = stream(&proxy).await;
        assert_eq!((saw.text.trim_end(), saw.calls.len()), (text.trim_end(), calls), "{}", saw.raw);
    }
}

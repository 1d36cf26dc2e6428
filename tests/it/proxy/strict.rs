//! Tools whose schema allows nothing else, as strict clients write them: what a model leaves out, and what it adds.

use super::{
    backends::{delta, finish},
    *,
};

/// A proxy before a server that gives these answers, the last one again and again. The tools of the model `p` are in its prompt.
async fn before(answers: Vec<Vec<Value>>) -> (Proxy, Fake) {
    let chats = std::sync::atomic::AtomicUsize::new(0);
    let fake = Fake::start(move |seen| match seen.line.as_str() {
        "GET /v1/models" => Script::json(200, r#"{"data":[{"id":"m"},{"id":"p"}]}"#),
        "POST /v1/chat/completions" => {
            let at = chats.fetch_add(1, std::sync::atomic::Ordering::SeqCst).min(answers.len() - 1);
            Script::events(answers[at].iter().cloned().map(delta).chain([finish("stop")]).collect())
        }
        _ => Script::json(404, "{}"),
    })
    .await;
    let config =
        format!("[[backend]]\nkind = \"openai\"\nurl = \"{}/v1\"\n[[route]]\nmodel = \"p\"\ntools = \"prompt\"\n", fake.url);
    (Proxy::start(&config).await, fake)
}

/// The answer to a request with this tool.
async fn ask(proxy: &Proxy, model: &str, name: &str, parameters: &Value) -> Value {
    let tool =
        json!({"type": "function", "function": {"name": name, "description": "", "strict": true, "parameters": parameters}});
    let body = json!({"model": model, "tools": [tool], "messages": [{"role": "user", "content": "Go on."}]});
    let (status, mut body) = answer(proxy.post("/v1/chat/completions", body)).await;
    assert_eq!(status, 200, "{body}");
    body["choices"][0]["message"].take()
}

fn native(name: &str, arguments: &Value) -> Value {
    let function = json!({"name": name, "arguments": arguments.to_string()});
    json!({"tool_calls": [{"index": 0, "id": "c1", "type": "function", "function": function}]})
}

fn arguments(message: &Value) -> Vec<Value> {
    let calls = message["tool_calls"].as_array().into_iter().flatten();
    calls.map(|call| serde_json::from_str(call["function"]["arguments"].as_str().unwrap()).unwrap()).collect()
}

#[tokio::test]
async fn an_optional_parameter_of_a_strict_tool_may_be_left_out() {
    let parameters = json!({
        "type": "object",
        "properties": {
            "q": {"type": "string"}, "limit": {"anyOf": [{"type": "integer"}, {"type": "null"}]}, "lang": {"type": ["string", "null"]},
        },
        "required": ["q", "limit", "lang"],
        "additionalProperties": false,
    });
    let call = r#"{"name":"search","arguments":{"q":"x"}}"#;
    for answer in [
        native("search", &json!({"q": "x"})),
        json!({"content": format!("<tool_call>\n{call}\n</tool_call>")}),
        json!({"content": call}),
        json!({"content": format!("```json\n{call}\n```")}),
        json!({"content": format!("I will search.\n\n{call}")}),
    ] {
        for model in ["m", "p"] {
            let (proxy, fake) = before(vec![vec![answer.clone()]]).await;
            let message = ask(&proxy, model, "search", &parameters).await;
            assert_eq!(arguments(&message), [json!({"q": "x", "limit": null, "lang": null})], "{answer}: {message}");
            assert_eq!(fake.seen("/chat/completions").len(), 1, "{answer}");
        }
    }
}

#[tokio::test]
async fn a_value_that_the_tool_does_not_know_is_asked_about_once() {
    let parameters = json!({
        "type": "object", "properties": {"pattern": {"type": "string"}}, "required": ["pattern"], "additionalProperties": false,
    });
    let wrong = json!({"pattern": "*", "dry_run": true});
    let said = |text: &str| vec![json!({"content": text})];
    let text = format!("<tool_call>\n{}\n</tool_call>", json!({"name": "delete_files", "arguments": wrong}));
    for first in [vec![native("delete_files", &wrong)], said(&text)] {
        for (second, calls) in [
            (said("There is no way to try it."), vec![]),
            (vec![native("delete_files", &json!({"pattern": "*.tmp"}))], vec![json!({"pattern": "*.tmp"})]),
            // Who insists may have a reason.
            (first.clone(), vec![json!({"pattern": "*"})]),
        ] {
            let (proxy, fake) = before(vec![first.clone(), second.clone()]).await;
            let message = ask(&proxy, "m", "delete_files", &parameters).await;
            assert_eq!(arguments(&message), calls, "{first:?}, {second:?}: {message}");
            let chats = fake.seen("/chat/completions");
            assert!(chats.len() == 2 && chats[1].body.contains("the tool does not know `dry_run`"), "{}", chats[1].body);
            // The model sees the call as it wrote it.
            assert!(chats[1].body.contains(r#"\"dry_run\":true"#), "{}", chats[1].body);
        }
    }
    let (proxy, fake) = before(vec![vec![native("delete_files", &json!({"pattern": "*", "dry_run": null}))]]).await;
    assert_eq!(arguments(&ask(&proxy, "m", "delete_files", &parameters).await), [json!({"pattern": "*"})]);
    assert_eq!(fake.seen("/chat/completions").len(), 1);
}

#[tokio::test]
async fn a_call_in_the_place_of_a_formed_answer_is_a_call() {
    let parameters = json!({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]});
    let tool = json!({"type": "function", "function": {"name": "add", "description": "", "parameters": parameters}});
    let schema = |properties: Value| json!({"type": "json_schema", "json_schema": {"name": "r", "schema": {"type": "object", "properties": properties, "required": ["total"]}}});
    let call = r#"{"name":"add","arguments":{"a":1}}"#;
    for (form, answer, calls) in [
        (schema(json!({"total": {"type": "integer"}})), call.to_owned(), 1),
        (schema(json!({"total": {"type": "integer"}})), format!("```json\n{call}\n```"), 1),
        (schema(json!({"total": {"type": "integer"}})), r#"{"total": 3}"#.to_owned(), 0),
        (json!({"type": "json_object"}), call.to_owned(), 1),
        (json!({"type": "json_object"}), r#"{"name": "Mina", "arguments": {"a": 1}}"#.to_owned(), 0),
        // What fits the client's schema is the answer, whatever it names.
        (schema(json!({"name": {}, "total": {}})), r#"{"name":"add","arguments":{"a":1},"total":1}"#.to_owned(), 0),
    ] {
        for model in ["m", "p"] {
            let (proxy, fake) = before(vec![vec![json!({"content": answer})]]).await;
            let body = json!({"model": model, "tools": [tool], "response_format": form, "messages": [{"role": "user", "content": "1+2?"}]});
            let (status, body) = super::answer(proxy.post("/v1/chat/completions", body)).await;
            let message = &body["choices"][0]["message"];
            assert_eq!((status, arguments(message).len()), (200, calls), "{model} {form} {answer}: {body}");
            assert_eq!(message["content"].as_str().unwrap_or_default(), if calls == 0 { answer.as_str() } else { "" });
            assert_eq!(fake.seen("/chat/completions").len(), 1);
        }
    }
}

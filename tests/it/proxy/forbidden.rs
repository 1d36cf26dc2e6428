//! The user says not to run anything: no call with effects reaches the client, however the model makes it.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::{
    chat::{Saw, stream_of},
    *,
};

/// What the model does.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Does {
    /// Calls this tool natively.
    Calls(&'static str),
    /// Writes a call of this tool into its text.
    Writes(&'static str),
    Says(&'static str),
}

use Does::{Calls, Says, Writes};

fn script(does: Does) -> Script {
    let delta = match does {
        Calls(name) => json!({"tool_calls": [
            {"index": 0, "id": "c", "type": "function", "function": {"name": name, "arguments": "{\"uri\":\"a\"}"}},
        ]}),
        Writes(name) => json!({"content": written(name)}),
        Says(text) => json!({"content": text}),
    };
    let finish = if matches!(does, Calls(_)) { "tool_calls" } else { "stop" };
    let chunk = |delta: Value, finish: Value| {
        Step::Send(format!("data: {}\n\n", json!({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})))
    };
    Script::events(vec![chunk(delta, Value::Null), chunk(json!({}), json!(finish)), Step::Send("data: [DONE]\n\n".into())])
}

fn written(name: &str) -> String {
    format!("<tool_call>{{\"name\": \"{name}\", \"arguments\": {{\"uri\": \"a\"}}}}</tool_call>")
}

/// The request of a user with these words; `after_a_result`: the model has read a file since then.
fn request(said: &str, after_a_result: bool) -> Value {
    let parameters = json!({"type": "object", "properties": {"uri": {"type": "string"}}, "required": ["uri"]});
    let tool = |name: &str| json!({"type": "function", "function": {"name": name, "parameters": parameters}});
    let mut messages = vec![json!({"role": "user", "content": said})];
    if after_a_result {
        let call = json!({"id": "r", "type": "function", "function": {"name": "read_file", "arguments": "{\"uri\":\"b\"}"}});
        messages.push(json!({"role": "assistant", "content": null, "tool_calls": [call]}));
        messages.push(json!({"role": "tool", "tool_call_id": "r", "content": "text"}));
    }
    json!({"model": "m", "stream": true, "messages": messages, "tools": [tool("read_file"), tool("delete_file"), tool("write_file")]})
}

async fn saw(said: &str, after_a_result: bool, does: &'static [Does]) -> (Saw, Vec<Seen>) {
    let at = AtomicUsize::new(0);
    let (proxy, fake) = with_openai(move |seen| match seen.line.ends_with("/chat/completions") {
        true => script(does[at.fetch_add(1, Ordering::SeqCst).min(does.len() - 1)]),
        false => Script::json(404, "{}"),
    })
    .await;
    let saw = stream_of(&proxy, request(said, after_a_result)).await;
    (saw, fake.seen("/v1/chat/completions"))
}

#[tokio::test]
async fn a_call_that_the_user_forbids_never_reaches_the_client() {
    const LINE: &str = "[toolglot] call of delete_file was not run: the user's message says not to run it\n";
    let text: &'static str = Box::leak(written("delete_file").into_boxed_str());
    let cases: [(&'static [Does], &str); 6] = [
        (&[Calls("delete_file"), Says("It deletes a.")], "It deletes a."),
        (&[Calls("delete_file"), Calls("delete_file")], LINE),
        (&[Writes("delete_file"), Calls("delete_file")], LINE),
        (&[Calls("delete_file"), Writes("delete_file")], text),
        (&[Writes("delete_file"), Writes("delete_file")], text),
        (&[Calls("delete_file"), Says("")], LINE),
    ];
    for words in ["How do I delete a? Do not execute it.", "Erkläre nur. Bitte noch nichts ausführen!"] {
        for (does, shown) in cases {
            for after_a_result in [false, true] {
                let (saw, asked) = saw(words, after_a_result, does).await;
                assert_eq!((saw.text.as_str(), saw.calls.len()), (shown, 0), "{words} {does:?}: {}", saw.raw);
                assert_eq!(asked.len(), 2, "{does:?}");
                let why = "Error: the call of delete_file was not run: the user's message says not to run it. Answer without it.";
                assert!(asked[1].body.contains(why), "{does:?}: {}", asked[1].body);
            }
        }
    }
}

#[tokio::test]
async fn what_the_user_does_not_forbid_runs() {
    let cases: [(&str, &'static [Does]); 4] = [
        ("Delete a.", &[Calls("delete_file")]),
        ("What is in a? Don't run anything.", &[Calls("read_file")]),
        ("Write the script a, but do not run it.", &[Calls("write_file")]),
        ("Delete a, but don't do anything else.", &[Calls("delete_file")]),
    ];
    for (words, does) in cases {
        let (saw, asked) = saw(words, false, does).await;
        assert_eq!((saw.text.as_str(), saw.calls.len(), asked.len()), ("", 1, 1), "{words}: {}", saw.raw);
    }
}

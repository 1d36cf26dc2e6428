//! Clients with rules of their own, in front of scripted models: every fixture as Void reads it, a conversation of ten turns,
//! calls that a client's form cannot carry, what is said while a call is being written, profiles.

use std::{path::Path, time::Duration};

use futures_util::future::join_all;
use serde_json::{Value, json};
use toolglot::{client, fixture::Fixture, recorded::check::client_bytes};

use crate::{
    fake::{Fake, Script, Seen, Step},
    fixtures,
    proxy::{Proxy, before_ollama},
    seen::library,
    void as reader,
};

/// The first call of each fixture is the one that Void executes, in both modes; or Void is told why not.
#[test]
fn every_fixture_is_read_by_void_as_it_is_meant() {
    let mut paths = Vec::new();
    fixtures::collect(&Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures"), &mut paths);
    for path in paths {
        let fixture = Fixture::parse(&std::fs::read_to_string(&path).unwrap()).unwrap();
        let Some(expected) = fixture.events.filter(|_| fixture.rounds.len() == 1) else {
            continue;
        };
        let round = &fixture.rounds[0];
        let incoming = client::read(round.request.clone(), &client::Hints::default()).unwrap();
        let tools: Vec<reader::Tool> = incoming
            .tools
            .iter()
            .map(|tool| {
                let schema: Value = serde_json::from_str(&tool.schema).unwrap();
                let parameters = schema["properties"].as_object().map(|map| map.keys().cloned().collect::<Vec<_>>());
                reader::Tool::new(&tool.name, parameters.unwrap_or_default())
            })
            .collect();
        // `call name {...}` or `call name (id ...) {...}`; the arguments may be several lines.
        let text = format!("\n{expected}");
        let meant = text.split_once("\ncall ").map(|(_, call)| {
            let (name, rest) = call.split_once(' ').unwrap();
            let json = &rest[rest.find('{').unwrap()..];
            let arguments = serde_json::Deserializer::from_str(json).into_iter::<serde_json::Map<_, _>>().next();
            (name.to_owned(), arguments.unwrap().unwrap())
        });
        // A stream that breaks has no answer.
        let Ok(native) = client_bytes(round, library(), "native", false) else { continue };
        let native = reader::read_native(&native);
        let xml = reader::read_xml(&client_bytes(round, library(), "void_xml", false).unwrap(), &tools);
        let letters = client_bytes(round, library(), "void_xml", true).unwrap();
        assert_eq!(reader::read_xml(&letters, &tools), xml, "{}: in single characters", path.display());
        assert_eq!((&native.error, &xml.error), (&None, &None), "{}", path.display());
        assert_eq!(native.call.map(|(name, _)| name), meant.as_ref().map(|(name, _)| name.clone()), "{}", path.display());
        match (xml.call, meant) {
            (None, None) => {}
            (None, Some((name, _))) => {
                assert!(
                    xml.text.contains(&format!("[toolglot] call of {name} was not run: ")),
                    "{}: {}",
                    path.display(),
                    xml.text
                )
            }
            (Some((called, values)), Some((name, arguments))) => {
                assert_eq!(called, name, "{}", path.display());
                for (name, value) in values {
                    let meant = &arguments[&name];
                    let arrived = match meant {
                        Value::String(_) => json!(value),
                        _ => serde_json::from_str(&value).unwrap_or_else(|_| panic!("{}: {value}", path.display())),
                    };
                    assert_eq!(arrived, *meant, "{}", path.display());
                }
            }
            (Some(call), None) => panic!("{}: Void executes {call:?}", path.display()),
        }
    }
}

/// How Void talks to a model.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Form {
    Xml,
    Native,
}

/// What the model does in each turn: prose, the tool, its arguments, and what the tool gave.
const TURNS: &[(&str, &str, &str, &str)] = &[
    ("I'll look first.", "read_file", r#"{"uri":"/w/src/main.rs"}"#, "fn mian() { <b> }"),
    ("", "search_in_file", r#"{"uri":"/w/src/main.rs","query":"mian|\"x\"","is_regex":true}"#, "1: fn mian()"),
    (
        "Now the `<edit_file>`:",
        "edit_file",
        r#"{"uri":"/w/src/main.rs","search_replace_blocks":"<<<<<<< ORIGINAL\nfn mian() { <b> }\n=======\nfn main() { <read_file> }\n>>>>>>> UPDATED"}"#,
        "Done.",
    ),
    ("", "create_file_or_folder", r#"{"uri":"/w/doc/"}"#, "Created."),
    ("", "rewrite_file", r##"{"uri":"/w/doc/a.md","new_content":"# A\n\n```xml\n<a>\n  <b/>\n</a>\n```\n"}"##, "Written."),
    ("Checking.", "read_lint_errors", r#"{"uri":"/w/src/main.rs"}"#, "none"),
    ("", "run_command", r#"{"command":"cargo test -- --list | grep \"a b\" && echo '$HOME'"}"#, "ok\n(exit code 0)"),
    ("", "q7w2zz_find_page", r#"{"words":"release","limit":3}"#, "page 7"),
    ("", "delete_file_or_folder", r#"{"uri":"/w/doc/","is_recursive":true}"#, "Gone."),
];

#[tokio::test]
async fn a_conversation_of_ten_turns_in_every_form_and_mode() {
    for (tools, forms) in [
        ("native", &[Form::Xml, Form::Native][..]),
        ("prompt", &[Form::Xml, Form::Native]),
        ("raw", &[Form::Xml, Form::Native]),
        ("client", &[Form::Xml]),
    ] {
        for &form in forms {
            let fake = model(tools == "native").await;
            let config = format!(
                "[[backend]]\nname = \"o\"\nkind = \"ollama\"\nurl = \"{}\"\n[[route]]\nmodel = \"*\"\ntools = \"{tools}\"\n",
                fake.url
            );
            let proxy = Proxy::start(&config).await;
            let mut messages = vec![
                json!({"role": "system", "content": if form == Form::Xml { reader::system_text() } else { "You help.".into() }}),
                json!({"role": "user", "content": "Put it in order."}),
            ];
            for (turn, (prose, name, arguments, output)) in TURNS.iter().enumerate() {
                let read = ask(&proxy, form, &messages).await;
                let place = format!("{tools}, {form:?}, turn {turn}: {read:?}");
                assert_eq!(read.error, None, "{place}");
                let (called, values) = read.call.clone().unwrap_or_else(|| panic!("no call: {place}"));
                let meant: serde_json::Map<String, Value> = serde_json::from_str(arguments).unwrap();
                let meant = meant.into_iter().map(|(name, value)| {
                    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                    (name, text)
                });
                assert_eq!((called.as_str(), &values), (*name, &meant.collect::<Vec<_>>()), "{place}");
                let shown = if form == Form::Xml { prose.replace("<edit_file>", "<edit_file >") } else { (*prose).to_owned() };
                assert_eq!(read.text.trim(), shown, "{place}");
                remember(&mut messages, form, turn, &read.text, name, &values, output);
            }
            let read = ask(&proxy, form, &messages).await;
            assert_eq!((read.call, read.error), (None, None), "{tools}, {form:?}");
            assert!(read.text.contains("is in order"), "{}", read.text);

            let asked: Vec<Vec<Value>> = fake
                .seen("/api/chat")
                .iter()
                // In raw mode Ollama is asked for the prompt before.
                .filter(|seen| !seen.body.contains("_debug_render_only"))
                .map(|seen| serde_json::from_str::<Value>(&seen.body).unwrap()["messages"].as_array().unwrap().clone())
                .collect();
            assert_eq!(asked.len(), TURNS.len() + 1, "{tools}, {form:?}: no turn was asked for twice");
            for pair in asked.windows(2) {
                assert_eq!(
                    pair[0][..],
                    pair[1][..pair[0].len()],
                    "{tools}, {form:?}: the history changed behind the model's back"
                );
            }
            let last = asked.last().unwrap();
            let prompted = format!("{last:?}").contains("Available tools:");
            assert_eq!(prompted, tools == "client", "Void's own prompt goes to the model where it is asked so, and nowhere else");
        }
    }
}

/// An Ollama with one model, which does what `TURNS` says.
async fn model(native: bool) -> Fake {
    Fake::start(move |seen: &Seen| match seen.line.as_str() {
        "GET /api/tags" => Script::json(200, r#"{"models":[{"name":"m"}]}"#),
        "POST /api/chat" => {
            let body: Value = serde_json::from_str(&seen.body).unwrap();
            let turn = body["messages"].as_array().unwrap().iter().filter(|message| message["role"] == "assistant").count();
            assert_eq!(native, seen.body.contains("\"tools\":"));
            let Some((prose, name, arguments, _)) = TURNS.get(turn) else {
                return Script::lines(vec![piece("It is in order: <read_file> and `</edit_file>` were used."), end()]);
            };
            let arguments: Value = serde_json::from_str(arguments).unwrap();
            let text = json!({"name": name, "parameters": arguments}).to_string();
            if native {
                let call = json!({"function": {"name": name, "arguments": arguments}});
                let line = json!({"message": {"role": "assistant", "content": "", "tool_calls": [call]}, "done": false});
                return Script::lines(vec![piece(prose), Step::Send(format!("{line}\n")), end()]);
            }
            let text = format!("{prose}\n```json\n{text}\n```\n");
            let letters: Vec<char> = text.chars().collect();
            let pieces = letters.chunks(7).map(|letters| piece(&String::from_iter(letters)));
            Script::lines(pieces.chain([end()]).collect())
        }
        _ => Script::json(404, "{}"),
    })
    .await
}

fn piece(text: &str) -> Step {
    Step::Send(format!("{}\n", json!({"message": {"role": "assistant", "content": text}, "done": false})))
}

fn end() -> Step {
    Step::Send(format!("{}\n", json!({"message": {"role": "assistant", "content": ""}, "done": true, "done_reason": "stop"})))
}

async fn ask(proxy: &Proxy, form: Form, messages: &[Value]) -> reader::Read {
    let mut body = json!({"model": "m", "messages": messages, "stream": true});
    if form == Form::Native {
        let tools = reader::TOOLS.iter().map(|(name, description, parameters)| {
            let properties: serde_json::Map<_, _> =
                parameters.iter().map(|(name, text)| ((*name).to_owned(), json!({"description": text}))).collect();
            json!({"type": "function", "function": {"name": name, "description": description,
                "parameters": {"type": "object", "properties": properties}}})
        });
        body["tools"] = tools.collect();
    }
    let sse = proxy.post("/v1/chat/completions", body).send().await.unwrap().text().await.unwrap();
    match form {
        Form::Xml => reader::read_xml(&sse, &reader::tools()),
        Form::Native => reader::read_native(&sse),
    }
}

/// What Void adds to its history after a turn.
fn remember(
    messages: &mut Vec<Value>,
    form: Form,
    turn: usize,
    text: &str,
    name: &str,
    values: &[(String, String)],
    output: &str,
) {
    if form == Form::Xml {
        messages.push(json!({"role": "assistant", "content": reader::remembered(text, name, values)}));
        messages.push(json!({"role": "user", "content": reader::result(name, output)}));
        return;
    }
    let arguments: serde_json::Map<_, _> = values.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
    let call = json!({"type": "function", "id": format!("id{turn}"),
        "function": {"name": name, "arguments": Value::Object(arguments).to_string()}});
    let text = if text.is_empty() { "(empty message)" } else { text };
    messages.push(json!({"role": "assistant", "content": text, "anthropicReasoning": null, "tool_calls": [call]}));
    messages.push(json!({"role": "tool", "tool_call_id": format!("id{turn}"), "content": output}));
}

/// An Ollama whose model writes these texts, one after the other, the last one again and again.
async fn writes(texts: &'static [&'static str]) -> (Proxy, Fake) {
    let asked = std::sync::atomic::AtomicUsize::new(0);
    before_ollama(move |seen| match seen.line.as_str() {
        "POST /api/chat" => {
            let at = asked.fetch_add(1, std::sync::atomic::Ordering::SeqCst).min(texts.len() - 1);
            Script::lines(vec![piece(texts[at]), end()])
        }
        _ => Script::json(404, "{}"),
    })
    .await
}

#[tokio::test]
async fn a_call_that_voids_form_cannot_carry_is_asked_for_again() {
    const TORN: &str = r#"{"name":"rewrite_file","parameters":{"uri":"/w/a","new_content":"ends with </uri> here"}}"#;
    const FINE: &str = r#"{"name":"rewrite_file","parameters":{"uri":"/w/a","new_content":"fine"}}"#;
    let messages = [json!({"role": "system", "content": reader::system_text()}), json!({"role": "user", "content": "go"})];

    let (proxy, fake) = writes(&[TORN, FINE]).await;
    let read = ask(&proxy, Form::Xml, &messages).await;
    let values = vec![("uri".to_owned(), "/w/a".to_owned()), ("new_content".to_owned(), "fine".to_owned())];
    assert_eq!(read.call, Some(("rewrite_file".into(), values)), "{read:?}");
    assert_eq!(read.text.trim(), "", "the client sees nothing of the first try");
    let chats = fake.seen("/api/chat");
    assert!(
        chats.len() == 2 && chats[1].body.contains("</uri>` which would be") || chats[1].body.contains("contains `</uri>`"),
        "{}",
        chats[1].body
    );

    let (proxy, fake) = writes(&[TORN]).await;
    let read = ask(&proxy, Form::Xml, &messages).await;
    assert_eq!((read.call, fake.seen("/api/chat").len()), (None, 2));
    assert!(
        read.text.contains("[toolglot] call of rewrite_file was not run: the client's form cannot carry it"),
        "{}",
        read.text
    );
    // A client whose form carries everything gets it at once.
    let (proxy, fake) = writes(&[TORN]).await;
    assert!(ask(&proxy, Form::Native, &messages[1..]).await.call.is_some());
    assert_eq!(fake.seen("/api/chat").len(), 1);
}

#[tokio::test]
async fn who_shows_reasoning_hears_that_a_call_is_being_written() {
    let pause = || Step::Wait(Duration::from_millis(2500));
    let fake = Fake::start(move |seen: &Seen| match seen.line.as_str() {
        "GET /api/tags" => Script::json(200, r#"{"models":[{"name":"m"}]}"#),
        "POST /api/chat" => Script::lines(vec![
            piece("<tool_call>\n{\"name\": \"rewrite_file\", \"arguments\": {\"uri\": \"/w/a\", \"new_content\": \"one "),
            piece("two "),
            pause(),
            piece("three "),
            // What comes in one read is looked at once.
            Step::Wait(Duration::from_millis(50)),
            piece("four\"}}\n</tool_call>"),
            end(),
        ]),
        _ => Script::json(404, "{}"),
    })
    .await;
    let backend = format!("[[backend]]\nkind = \"ollama\"\nurl = \"{}\"\n", fake.url);
    let rows = [
        ("", "/v1/chat/completions", false, true),
        ("", "/void/v1/chat/completions", true, false),
        ("profile = \"zed\"\n", "/v1/chat/completions", true, false),
        ("profile = \"zed\"\nprogress = false\n", "/v1/chat/completions", false, false),
    ];
    // All at once: each waits for a call that takes its time.
    let backend = &backend;
    join_all(rows.map(|(settings, path, reasoning, comment)| async move {
        let proxy = Proxy::start(&format!("{settings}{backend}")).await;
        let function = json!({"name": "rewrite_file", "parameters": {"type": "object"}});
        let body = json!({"model": "m", "stream": true, "messages": [{"role": "user", "content": "go"}],
            "tools": [{"type": "function", "function": function}]});
        let sse = proxy.post(path, body).send().await.unwrap().text().await.unwrap();
        let read = reader::read_native(&sse);
        assert!(read.call.is_some(), "{sse}");
        assert_eq!(read.reasoning.contains("writing rewrite_file, "), reasoning, "{settings}{path}: {sse}");
        assert_eq!(sse.contains(": writing rewrite_file, "), comment, "{settings}{path}: {sse}");
    }))
    .await;
}

#[tokio::test]
async fn a_call_of_the_backends_own_is_said_to_be_written_too() {
    let fragment = |call: Value| {
        Step::Send(format!(
            "data: {}\n\n",
            json!({"choices": [{"index": 0, "delta": {"tool_calls": [call]}, "finish_reason": null}]})
        ))
    };
    let more = move |text: &str| fragment(json!({"index": 0, "function": {"arguments": text}}));
    let fake = Fake::start(move |seen: &Seen| match seen.line.as_str() {
        "GET /v1/models" => Script::json(200, r#"{"data":[{"id":"m"}]}"#),
        _ => Script::events(vec![
            fragment(json!({"index": 0, "id": "a", "type": "function", "function": {"name": "rewrite_file", "arguments": ""}})),
            more("{\"uri\": \"/w/a\", \"new_"),
            Step::Wait(Duration::from_millis(2500)),
            more("content\": \"one two "),
            Step::Wait(Duration::from_millis(100)),
            more("three\"}"),
            Step::Send(
                "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\ndata: [DONE]\n\n".into(),
            ),
        ]),
    })
    .await;
    let proxy = Proxy::start(&format!("[[backend]]\nkind = \"openai\"\nurl = \"{}/v1\"\n", fake.url)).await;
    let function = json!({"name": "rewrite_file", "parameters": {"type": "object"}});
    let body = json!({"model": "m", "stream": true, "messages": [{"role": "user", "content": "go"}],
        "tools": [{"type": "function", "function": function}]});
    let (proxy, body) = (&proxy, &body);
    join_all([("/void/v1/chat/completions", true), ("/v1/chat/completions", false)].map(|(path, reasoning)| async move {
        let sse = proxy.post(path, body).send().await.unwrap().text().await.unwrap();
        let read = reader::read_native(&sse);
        let values = vec![("uri".to_owned(), "/w/a".to_owned()), ("new_content".to_owned(), "one two three".to_owned())];
        assert_eq!(read.call, Some(("rewrite_file".into(), values)), "{sse}");
        assert_eq!(read.reasoning.contains("writing rewrite_file, "), reasoning, "{path}: {sse}");
        assert_eq!(sse.contains(": writing rewrite_file, "), !reasoning, "{path}: {sse}");
    }))
    .await;
}

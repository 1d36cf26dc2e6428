//! Void in front, a model without native tools behind: Void's requests in its three forms through the running proxy, the
//! answers read by Void's rules; and every fixture read by them.

use std::path::Path;

use serde_json::{Value, json};
use toolglot::{adapter::Library, client, fixture::Fixture};

use crate::{
    fake::{Fake, Script, Seen, Step},
    fixtures,
    proxy::Proxy,
};

#[path = "../support/void.rs"]
pub(crate) mod reader;

use reader::Read;

/// How Void talks to a model, by the model's name.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Form {
    Xml,
    XmlWithoutSystemRole,
    Native,
}

/// What the model writes, and what Void shall execute and show of it.
struct Case {
    text: &'static str,
    done_reason: &'static str,
    call: Option<(&'static str, &'static [(&'static str, &'static str)])>,
    shown: &'static str,
}

const CASES: &[Case] = &[
    Case {
        text: "```json\n{\"name\": \"read_file\", \"parameters\": {\"uri\": \"/w/src/main.rs\", \"page_number\": \"2\"}}\n```",
        done_reason: "stop",
        call: Some(("read_file", &[("uri", "/w/src/main.rs"), ("page_number", "2")])),
        shown: "",
    },
    Case {
        text: "I'll put the `<edit_file>` tag to use.\n\n```json\n{\"name\": \"edit_file\", \"arguments\": {\"uri\": \"/w/a\", \"search_replace_blocks\": \"<<<<<<< ORIGINAL\\na < b\\n=======\\n<read_file>\\n>>>>>>> UPDATED\"}}\n```\n",
        done_reason: "stop",
        call: Some((
            "edit_file",
            &[("uri", "/w/a"), ("search_replace_blocks", "<<<<<<< ORIGINAL\na < b\n=======\n<read_file>\n>>>>>>> UPDATED")],
        )),
        shown: "I'll put the `<edit_file>` tag to use.",
    },
    Case {
        text: "You write <edit_file> first:\n\n<edit_file>\n<uri>...</uri>\n\nthen the blocks. `</edit_file>` ends it.",
        done_reason: "stop",
        call: None,
        shown: "You write <edit_file> first:\n\n<edit_file>\n<uri>...</uri>\n\nthen the blocks. `</edit_file>` ends it.",
    },
    Case {
        text: "I'll write it.\n\n```json\n{\"name\": \"rewrite_file\", \"arguments\": {\"uri\": \"/w/a\", \"new_content\": \"fn main() {",
        done_reason: "length",
        call: None,
        shown: "I'll write it.\n[toolglot] call of rewrite_file was not run: ",
    },
];

#[tokio::test]
async fn void_executes_what_the_model_meant_and_nothing_else() {
    for case in CASES {
        let fake = ollama(case).await;
        let proxy = Proxy::start(&format!("[[backend]]\nname = \"o\"\nkind = \"ollama\"\nurl = \"{}\"\n", fake.url)).await;
        for form in [Form::Xml, Form::XmlWithoutSystemRole, Form::Native] {
            for turn in 1..=3 {
                let response = proxy.post("/v1/chat/completions", request(form, turn)).send().await.unwrap();
                assert_eq!(response.status(), 200);
                let sse = response.text().await.unwrap();
                let read = match form {
                    Form::Native => reader::read_native(&sse),
                    _ => reader::read_xml(&sse, &reader::tools()),
                };
                check(case, form, &read);
                let asked = fake.seen("/api/chat").pop().unwrap().body;
                assert!(!asked.contains("Available tools:"), "Void's prompt went to the model");
                assert!(asked.contains("search_replace_blocks"), "the model was told of the tools");
            }
        }
    }
}

/// The first call of each fixture is the one that Void executes, in both modes; or Void is told why not.
#[test]
fn every_fixture_is_read_by_void_as_it_is_meant() {
    let mut paths = Vec::new();
    fixtures::collect(&Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures"), &mut paths);
    let library = Library::embedded().unwrap();
    for path in paths {
        let fixture = Fixture::parse(&std::fs::read_to_string(&path).unwrap()).unwrap();
        let Some(expected) = fixture.events.filter(|expected| expected.known_broken.is_none() && fixture.rounds.len() == 1)
        else {
            continue;
        };
        let round = &fixture.rounds[0];
        let adapter = library.find(&round.request.model, None).adapter;
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
        let text = format!("\n{}", expected.text);
        let meant = text.split_once("\ncall ").map(|(_, call)| {
            let (name, rest) = call.split_once(' ').unwrap();
            let json = &rest[rest.find('{').unwrap()..];
            let arguments = serde_json::Deserializer::from_str(json).into_iter::<serde_json::Map<_, _>>().next();
            (name.to_owned(), arguments.unwrap().unwrap())
        });
        // A stream that breaks has no answer.
        let Ok(native) = fixtures::client_bytes(round, &adapter, "native") else { continue };
        let native = reader::read_native(&native);
        let xml = reader::read_xml(&fixtures::client_bytes(round, &adapter, "void_xml").unwrap(), &tools);
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
                    assert_eq!(value, meant.as_str().map_or_else(|| meant.to_string(), str::to_owned), "{}", path.display());
                }
            }
            (Some(call), None) => panic!("{}: Void executes {call:?}", path.display()),
        }
    }
}

fn check(case: &Case, form: Form, read: &Read) {
    assert_eq!(read.error, None, "{form:?}");
    let call = read.call.as_ref().map(|(name, values)| {
        (name.as_str(), values.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect::<Vec<_>>())
    });
    assert_eq!(call, case.call.map(|(name, values)| (name, values.to_vec())), "{form:?}");
    let defused = |text: &str| text.replace("edit_file>", "edit_file >").replace("/edit_file >", "/edit_file>");
    let shown = if form == Form::Native { case.shown.to_owned() } else { defused(case.shown) };
    assert!(read.text.trim().starts_with(&shown), "{form:?}: {:?} is not {shown:?}", read.text);
    assert_eq!(read.text.trim().is_empty(), shown.is_empty(), "{form:?}: {:?}", read.text);
}

/// An Ollama whose model has no tools: offered some, it refuses.
async fn ollama(case: &'static Case) -> Fake {
    Fake::start(move |seen: &Seen| match seen.line.as_str() {
        "GET /api/tags" => Script::json(200, r#"{"models":[{"name":"gemma3:4b","model":"gemma3:4b"}]}"#),
        "POST /api/show" => Script::json(200, r#"{"capabilities":["completion"],"model_info":{}}"#),
        _ if seen.body.contains("\"tools\":") => Script::json(400, r#"{"error":"gemma3:4b does not support tools"}"#),
        _ => {
            let letters: Vec<char> = case.text.chars().collect();
            let mut steps: Vec<Step> = letters
                .chunks(5)
                .map(|piece| json!({"message": {"role": "assistant", "content": String::from_iter(piece)}, "done": false}))
                .map(|line| Step::Send(format!("{line}\n")))
                .collect();
            let end = json!({"message": {"role": "assistant", "content": ""}, "done": true, "done_reason": case.done_reason});
            steps.push(Step::Send(format!("{end}\n")));
            Script::lines(steps)
        }
    })
    .await
}

/// Void's request of this turn: a question; a file was read; an edit was made and the user speaks again.
fn request(form: Form, turn: usize) -> Value {
    let values = |list: &[(&str, &str)]| -> Vec<(String, String)> {
        list.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect()
    };
    let steps = [
        ("I'll look first.", "read_file", values(&[("uri", "/w/src/main.rs")]), "fn mian() { <b> }"),
        (
            "",
            "edit_file",
            values(&[("uri", "/w/src/main.rs"), ("search_replace_blocks", "<<<<<<< ORIGINAL\n<\n>>>>>>> UPDATED")]),
            "Done.",
        ),
    ];
    let system = reader::system_text();
    let mut messages = match form {
        Form::Xml => vec![json!({"role": "system", "content": system}), json!({"role": "user", "content": "Fix the name."})],
        Form::XmlWithoutSystemRole => {
            vec![json!({"role": "user", "content": format!("<SYSTEM_MESSAGE>\n{system}\n</SYSTEM_MESSAGE>\nFix the name.")})]
        }
        Form::Native => {
            vec![json!({"role": "system", "content": "You help."}), json!({"role": "user", "content": "Fix the name."})]
        }
    };
    for (number, (text, name, values, output)) in steps.iter().take(turn - 1).enumerate() {
        let more = if number == 1 { "Now run it." } else { "" };
        if form == Form::Native {
            let text = if text.is_empty() { "(empty message)" } else { text };
            let arguments: serde_json::Map<_, _> = values.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
            let call = json!({"type": "function", "id": format!("id{number}"),
                "function": {"name": name, "arguments": Value::Object(arguments).to_string()}});
            messages.push(json!({"role": "assistant", "content": text, "anthropicReasoning": null, "tool_calls": [call]}));
            messages.push(json!({"role": "tool", "tool_call_id": format!("id{number}"), "content": output}));
            if !more.is_empty() {
                messages.push(json!({"role": "user", "content": more}));
            }
        } else {
            messages.push(json!({"role": "assistant", "content": reader::remembered(text, name, values)}));
            let gap = if more.is_empty() { "" } else { "\n\n" };
            messages.push(json!({"role": "user", "content": reader::result(name, output) + gap + more}));
        }
    }
    let mut body = json!({"model": "gemma3:4b", "messages": messages, "stream": true});
    if form == Form::Native {
        let tools = reader::TOOLS.iter().map(|(name, description, parameters)| {
            let properties: serde_json::Map<_, _> =
                parameters.iter().map(|(name, text)| ((*name).to_owned(), json!({"description": text}))).collect();
            json!({"type": "function", "function": {"name": name, "description": description,
                "parameters": {"type": "object", "properties": properties}}})
        });
        body["tools"] = tools.collect();
    }
    body
}

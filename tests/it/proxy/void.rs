//! Void before a model without native tools: each of its requests, each kind of answer, read by Void's own rules.

use super::*;
use crate::void;

/// How Void is set up.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Setup {
    /// The tools are in a system message.
    Xml,
    /// The model is unknown to Void: they are in the user's text.
    XmlWithoutSystem,
    /// `specialToolFormat: openai-style`.
    Native,
}

/// The tools are written into the prompt in our words.
const PROMPT: &str = "[[route]]\nmodel = \"*\"\ntools = \"prompt\"\n";

/// Name and values in their order.
type Call<'a> = (&'a str, Vec<(&'a str, &'a str)>);

fn request(setup: Setup, turn: usize) -> Value {
    let values = [("uri".to_owned(), "/work/a.rs".to_owned())];
    let mut messages = Vec::new();
    let user = |text: &str| json!({"role": "user", "content": text});
    match setup {
        Setup::Xml => messages.extend([json!({"role": "system", "content": void::system_text()}), user("Look at a.rs")]),
        Setup::XmlWithoutSystem => {
            messages.push(user(&format!("<SYSTEM_MESSAGE>\n{}\n</SYSTEM_MESSAGE>\nLook at a.rs", void::system_text())));
        }
        Setup::Native => messages.extend([json!({"role": "system", "content": "You help with code."}), user("Look at a.rs")]),
    }
    for at in 1..turn {
        if setup == Setup::Native {
            let id = format!("call_{at}");
            let function = json!({"name": "read_file", "arguments": "{\"uri\":\"/work/a.rs\"}"});
            messages.push(json!({"role": "assistant", "content": "Looking.", "anthropicReasoning": null, "tool_calls": [{"id": id, "type": "function", "function": function}]}));
            messages.push(json!({"role": "tool", "tool_call_id": id, "content": "fn main() {}"}));
        } else {
            messages.push(json!({"role": "assistant", "content": void::remembered("Looking.", "read_file", &values)}));
            messages.push(user(&void::result("read_file", "fn main() {}")));
        }
    }
    let mut request = json!({"model": "m", "messages": messages, "stream": true});
    if setup == Setup::Native {
        let tool = |(name, description, params): &void::Described| {
            let properties: serde_json::Map<String, Value> =
                params.iter().map(|(name, text)| ((*name).to_owned(), json!({"description": text}))).collect();
            json!({"type": "function", "function": {"name": name, "description": description, "parameters": {"type": "object", "properties": properties}}})
        };
        request["tools"] = void::TOOLS.iter().map(tool).collect();
    }
    request
}

/// An Ollama whose model takes no tools and always writes this, in small pieces; asked as the route says.
async fn model_that_writes(text: &'static str, reason: &'static str, route: &str) -> (Proxy, Fake) {
    let fake = Fake::start(move |seen| match seen.line.as_str() {
        "GET /api/tags" => Script::json(200, r#"{"models":[{"name":"m"}]}"#),
        "POST /api/chat" if seen.body.contains("\"tools\":") => Script::json(400, r#"{"error":"m does not support tools"}"#),
        "POST /api/chat" => {
            let pieces: Vec<String> = text.chars().collect::<Vec<_>>().chunks(5).map(|piece| piece.iter().collect()).collect();
            let mut steps: Vec<Step> = pieces
                .iter()
                .map(|piece| Step::Send(format!("{}\n", json!({"message": {"content": piece}, "done": false}))))
                .collect();
            steps.push(Step::Send(format!("{}\n", json!({"message": {"content": ""}, "done": true, "done_reason": reason}))));
            Script::lines(steps)
        }
        _ => Script::json(404, "{}"),
    })
    .await;
    let proxy = Proxy::start(&format!("[[backend]]\nkind = \"ollama\"\nurl = \"{}\"\n{route}", fake.url)).await;
    (proxy, fake)
}

#[tokio::test]
async fn the_right_call_or_none_arrives_whatever_the_model_writes() {
    let edit = "<<<<<<< ORIGINAL\nfn main() {}\n=======\nfn main() { run(); }\n>>>>>>> UPDATED";
    let cases: [(&str, &str, Option<Call<'_>>, &str); 5] = [
        (
            "```json\n{\"name\": \"read_file\", \"parameters\": {\"uri\": \"/work/b.rs\"}}\n```",
            "stop",
            Some(("read_file", vec![("uri", "/work/b.rs")])),
            "",
        ),
        (
            "I change it.\n\n{\"name\": \"edit_file\", \"arguments\": {\"uri\": \"/work/a.rs\", \"search_replace_blocks\": \"<<<<<<< ORIGINAL\\nfn main() {}\\n=======\\nfn main() { run(); }\\n>>>>>>> UPDATED\"}}",
            "stop",
            Some(("edit_file", vec![("uri", "/work/a.rs"), ("search_replace_blocks", edit)])),
            "I change it.",
        ),
        ("To change a file I would use <edit_file> with two parameters. Shall I?", "stop", None, "Shall I?"),
        (
            "Good.\n{\"name\": \"rewrite_file\", \"arguments\": {\"uri\": \"/work/a.rs\", \"new_content\": \"fn main() {",
            "length",
            None,
            "Good.",
        ),
        ("All is well.", "stop", None, "All is well."),
    ];
    for (written, reason, expected, shown) in cases {
        for (route, setup) in [
            ("", Setup::Xml),
            ("", Setup::XmlWithoutSystem),
            ("", Setup::Native),
            (PROMPT, Setup::Xml),
            (PROMPT, Setup::XmlWithoutSystem),
        ] {
            let (proxy, fake) = model_that_writes(written, reason, route).await;
            for turn in 1..=3 {
                let before = fake.seen("/api/chat").len();
                let response = proxy
                    .post("/v1/chat/completions", request(setup, turn))
                    .header("user-agent", "OpenAI/JS 4.96.0")
                    .send()
                    .await
                    .unwrap();
                let sse = response.text().await.unwrap();
                let read = match setup {
                    Setup::Native => void::read_native(&sse),
                    _ => void::read_xml(&sse, &void::tools()),
                };
                let call = read.call.as_ref().map(|(name, values)| {
                    (name.as_str(), values.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect::<Vec<_>>())
                });
                assert_eq!(call, expected, "{setup:?}, turn {turn}: {written}\n{sse}");
                assert_eq!(read.error, None, "{setup:?}, turn {turn}: {sse}");
                assert!(read.text.contains(shown), "{setup:?}, turn {turn}: {read:?}");
                let asked = fake.seen("/api/chat").swap_remove(before).body;
                assert!(!asked.contains("anthropicReasoning"), "{setup:?}: {asked}");
                let own = setup != Setup::Native && route.is_empty();
                assert_eq!(asked.contains("Available tools:"), own, "{setup:?} {route}: {asked}");
                if own {
                    let asked: Value = serde_json::from_str(&asked).unwrap();
                    assert_eq!(asked["messages"], request(setup, turn)["messages"], "{setup:?}: not as Void wrote it");
                }
            }
        }
    }
}

#[tokio::test]
async fn a_careless_element_arrives_as_void_executes_it() {
    let command = |command: &'static str| Some(("run_command", vec![("command", command)]));
    let cases: [(&str, Option<Call<'_>>, &str); 7] = [
        ("I run it.\n\n<run_command>\ncargo test\n</run_command>", command("cargo test"), "I run it."),
        (
            "```xml\n<run_command>\n<command>cargo test</command>\n</run_command>\n```\nIt takes a while.",
            command("cargo test"),
            "",
        ),
        (
            "<search_for_files>\nquery=\"parse_header\"\nis_regex=false\n</search_for_files>",
            Some(("search_for_files", vec![("query", "parse_header"), ("is_regex", "false")])),
            "",
        ),
        ("<read_lint_errors>\n/work/a.rs\n</read_lint_errors>", Some(("read_lint_errors", vec![("uri", "/work/a.rs")])), ""),
        ("<read_file>\n<path>/work/a.rs</path>\n</read_file>", Some(("read_file", vec![("uri", "/work/a.rs")])), ""),
        // Documentation stays text, and Void does not execute it.
        ("The tag `<run_command>` runs a command.", None, "runs a command."),
        ("```rust\n// <run_command>cargo test</run_command>\n```\nSee above.", None, "See above."),
    ];
    for (written, expected, shown) in cases {
        let (proxy, _fake) = model_that_writes(written, "stop", "").await;
        for setup in [Setup::Xml, Setup::XmlWithoutSystem] {
            let sse = proxy.post("/v1/chat/completions", request(setup, 1)).send().await.unwrap().text().await.unwrap();
            let read = void::read_xml(&sse, &void::tools());
            let call = read.call.as_ref().map(|(name, values)| {
                (name.as_str(), values.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect::<Vec<_>>())
            });
            assert_eq!(call, expected, "{setup:?}: {written}\n{sse}");
            assert!(read.text.contains(shown), "{setup:?}: {written}\n{read:?}");
        }
    }
}

#[tokio::test]
async fn what_is_refused_is_answered_in_voids_own_form() {
    let (proxy, fake) = before_ollama(|seen| match seen.line.as_str() {
        "POST /api/chat" => {
            let told = seen.body.contains("there is no tool run_tests");
            let text = match told {
                true => "<run_command>\ncargo test\n</run_command>",
                false => r#"{"name": "run_tests", "arguments": {"command": "cargo test"}}"#,
            };
            let end = json!({"message": {"content": text}, "done": true, "done_reason": "stop"});
            Script::lines(vec![Step::Send(format!("{end}\n"))])
        }
        _ => Script::json(404, "{}"),
    })
    .await;
    let sse = proxy.post("/v1/chat/completions", request(Setup::Xml, 1)).send().await.unwrap().text().await.unwrap();
    let read = void::read_xml(&sse, &void::tools());
    assert_eq!(read.call, Some(("run_command".into(), vec![("command".into(), "cargo test".into())])), "{sse}");
    assert!(!sse.contains("run_tests"), "the user sees nothing of it: {sse}");
    let asked: Value = serde_json::from_str(&fake.seen("/api/chat")[1].body).unwrap();
    let said = asked["messages"].as_array().unwrap().last().unwrap()["content"].as_str().unwrap();
    assert!(said.contains("The tools are: run_command, ") && said.contains("<run_command>\n<command>\ncargo test\n"), "{said}");
}

/// A request of Void in a workspace of one file, with these words of the user.
fn in_a_workspace(words: &str) -> Value {
    let folder = "- The user's workspace contains these folders:\n/work\n\n<files_overview>\nwork/\n└── a.rs\n";
    let system = void::system_text().replace("<files_overview>\nwork/\n", folder);
    json!({"model": "m", "stream": true, "messages": [{"role": "system", "content": system}, {"role": "user", "content": words}]})
}

/// A model that writes `second` where it was asked with `told`, and otherwise `first`.
async fn model_that_is_told(first: &'static str, told: &'static str, second: &'static str) -> (Proxy, Fake) {
    before_ollama(move |seen| match seen.line.as_str() {
        "POST /api/chat" => {
            let text = if seen.body.contains(told) { second } else { first };
            let end = json!({"message": {"content": text}, "done": true, "done_reason": "stop"});
            Script::lines(vec![Step::Send(format!("{end}\n"))])
        }
        _ => Script::json(404, "{}"),
    })
    .await
}

#[tokio::test]
async fn what_the_user_calls_a_folder_is_created_as_one() {
    for (words, written, expected) in [
        ("Create a folder `docs`.", "docs", "/work/docs/"),
        ("Create the docs directory.", "/work/docs", "/work/docs/"),
        ("Create a folder docs.", "/docs", "/work/docs/"),
        ("Create a folder docs.", "/work/docs/", "/work/docs/"),
        ("Create a file docs.", "/work/docs", "/work/docs"),
        ("Create a folder docs.", "/work/docs/a.md", "/work/docs/a.md"),
    ] {
        let answer = format!("<create_file_or_folder>\n<uri>{written}</uri>\n</create_file_or_folder>");
        let (proxy, _fake) = model_that_is_told(answer.leak(), "\u{0}", "").await;
        let sse = proxy.post("/v1/chat/completions", in_a_workspace(words)).send().await.unwrap().text().await.unwrap();
        let call = void::read_xml(&sse, &void::tools()).call;
        let expected = ("create_file_or_folder".to_owned(), vec![("uri".to_owned(), expected.to_owned())]);
        assert_eq!(call, Some(expected), "{words} {written}");
    }
}

#[tokio::test]
async fn a_question_about_a_file_leads_to_a_call_that_reads_it() {
    let reads = "<read_file>\n<uri>/work/a.rs</uri>\n</read_file>";
    let deletes = "<delete_file_or_folder>\n<uri>/work/a.rs</uri>\n</delete_file_or_folder>";
    for (words, second, call, asked) in [
        ("What does a.rs do?", reads, Some("read_file"), 2),
        ("What does a.rs do?", deletes, None, 2),
        ("What does a.rs do?", "It is a program.", None, 2),
        ("What does b.rs do?", reads, None, 1),
        ("How do I delete a.rs?", reads, None, 1),
    ] {
        let (proxy, fake) = model_that_is_told("It is a program.", "You have not read a.rs.", second).await;
        let sse = proxy.post("/v1/chat/completions", in_a_workspace(words)).send().await.unwrap().text().await.unwrap();
        let read = void::read_xml(&sse, &void::tools());
        assert_eq!(
            (read.text.as_str(), read.call.as_ref().map(|(name, _)| name.as_str())),
            ("It is a program.", call),
            "{words}"
        );
        assert_eq!(fake.seen("/api/chat").len(), asked, "{words}");
    }
}

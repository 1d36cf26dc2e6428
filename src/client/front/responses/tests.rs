use bytes::BytesMut;

use super::*;
use crate::{
    client::{
        self, Hints,
        front::{Collected, Front, Kind},
    },
    event::{Event, Input, Note, Sink, Tools},
    openai::answer::Envelope,
};

const PATCH: &str = "*** Begin Patch\n*** Add File: a\n+hi\n*** End Patch";

fn table(body: Value) -> (Request, Tools) {
    let request = super::read(body, 0).unwrap();
    let tools = client::read(request.clone(), &Hints::default()).unwrap().tools;
    (request, tools)
}

fn head(tools: Tools) -> Head {
    Head {
        kind: Kind::Responses,
        envelope: Envelope { id: "resp_1".into(), created: 5, model: "m".into() },
        reasoning_field: Some("reasoning_content"),
        tools: tools.into(),
        ..Head::default()
    }
}

fn frames(out: &BytesMut) -> Vec<Value> {
    let text = String::from_utf8(out.to_vec()).unwrap();
    let frames = text.trim_end().split("\n\n").map(|frame| {
        let (name, data) = frame.split_once('\n').unwrap();
        let data: Value = serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap();
        assert_eq!(data["type"], name.strip_prefix("event: ").unwrap());
        data
    });
    frames.collect()
}

fn stream(tools: Tools, events: &[Event<'_>], end: Option<&Error>) -> Vec<Value> {
    let (mut front, mut out) = (Front::new(head(tools)), BytesMut::new());
    front.open(&mut out);
    events.iter().for_each(|event| front.event(event.clone(), &mut out));
    if let Some(error) = end {
        front.fault(error, &mut out);
    }
    frames(&out)
}

fn codex_tools() -> Value {
    let schema = json!({"type": "object", "properties": {"cmd": {"type": "string"}}, "required": ["cmd"]});
    json!([
        {"type": "function", "name": "exec_command", "description": "Runs.", "strict": false, "parameters": schema},
        {"type": "web_search", "external_web_access": true},
        {"type": "custom", "name": "apply_patch", "description": "d", "format": {"type": "grammar", "syntax": "lark", "definition": "start: x"}},
        {"type": "custom", "name": "sql", "description": "Asks.", "format": {"type": "grammar", "syntax": "lark", "definition": "start: q"}},
        {"type": "namespace", "name": "mcp__notes", "description": "Notes.", "tools": [
            {"type": "function", "name": "read_note", "parameters": {"type": "object"}},
        ]},
    ])
}

fn call(name: &'static str, json: &str) -> Vec<Value> {
    let (_, tools) = table(json!({"model": "m", "input": "hi", "tools": codex_tools()}));
    let events = [
        Event::Call(Call { id: Some("call_1"), ..Call::new(0, name, json) }),
        Event::Finish { reason: FinishReason::ToolCalls, usage: None },
    ];
    stream(tools, &events, None)
}

#[test]
fn an_answer_is_a_sequence_of_whole_items() {
    let usage = Usage { prompt_tokens: 10, completion_tokens: 5, ..Usage::default() };
    let events = [
        Event::Reasoning("Hm."),
        Event::Text("Let me "),
        Event::Text("look."),
        Event::Call(Call { id: Some("call_1"), ..Call::new(0, "exec_command", "{\"cmd\":\"ls\"}") }),
        Event::Finish { reason: FinishReason::ToolCalls, usage: Some(usage) },
    ];
    let sent = stream(Tools::default(), &events, None);
    let types: Vec<&str> = sent.iter().map(|event| event["type"].as_str().unwrap().trim_start_matches("response.")).collect();
    assert_eq!(
        types,
        [
            "created",
            "in_progress",
            "output_item.added",
            "reasoning_summary_part.added",
            "reasoning_summary_text.delta",
            "reasoning_summary_text.done",
            "reasoning_summary_part.done",
            "output_item.done",
            "output_item.added",
            "content_part.added",
            "output_text.delta",
            "output_text.delta",
            "output_text.done",
            "content_part.done",
            "output_item.done",
            "output_item.added",
            "function_call_arguments.delta",
            "function_call_arguments.done",
            "output_item.done",
            "completed",
        ]
    );
    assert!(sent.iter().enumerate().all(|(at, event)| event["sequence_number"] == at));
    // Signs of life are events, and count once they are written.
    let mut alive = Front::new(head(Tools::default()));
    let mut out = BytesMut::new();
    alive.open(&mut out);
    let signs = alive.signs();
    alive.event(Event::Note(&crate::event::Note::Writing { name: "f".to_owned(), bytes: 1 }), &mut out);
    (0..2).for_each(|_| signs(&mut out));
    let text = String::from_utf8_lossy(&out).into_owned();
    assert!((0..5).all(|number| text.matches(&format!("\"sequence_number\":{number},")).count() == 1), "{text}");
    let indices: Vec<u64> = sent.iter().filter_map(|event| event["output_index"].as_u64()).collect();
    assert_eq!(indices, [0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2]);
    let done = &sent[sent.len() - 1]["response"];
    let items: Vec<&Value> =
        sent.iter().filter(|event| event["type"] == "response.output_item.done").map(|event| &event["item"]).collect();
    assert_eq!(done["output"].as_array().unwrap().iter().collect::<Vec<_>>(), items);
    assert_eq!(
        items[2],
        &json!({"id": "fc_1_2", "type": "function_call", "name": "exec_command", "arguments": "{\"cmd\":\"ls\"}", "status": "completed", "call_id": "call_1"})
    );
    assert_eq!(
        (&done["status"], &done["usage"]["total_tokens"], &done["created_at"]),
        (&json!("completed"), &json!(15), &json!(5))
    );

    let mut collected = Collected::new(head(Tools::default()));
    events.iter().for_each(|event| collected.event(event.clone()));
    assert_eq!(collected.into_value(), *done);
}

#[test]
fn no_item_is_blank_and_the_first_states_are_the_same() {
    let events = [
        Event::Text("Let me check."),
        Event::Reasoning("hm"),
        Event::Text("\n\n"),
        Event::Call(Call { id: Some("call_1"), ..Call::new(0, "f", "") }),
        Event::Finish { reason: FinishReason::ToolCalls, usage: None },
    ];
    let sent = stream(Tools::default(), &events, None);
    let mut collected = Collected::new(head(Tools::default()));
    events.iter().for_each(|event| collected.event(event.clone()));
    for output in [&sent.last().unwrap()["response"]["output"], &collected.into_value()["output"]] {
        let types: Vec<&str> = output.as_array().unwrap().iter().map(|item| item["type"].as_str().unwrap()).collect();
        assert_eq!(types, ["message", "reasoning", "function_call"], "{output}");
    }
    let echo = json!({"tools": [{"type": "function", "name": "f"}], "instructions": "Be brief."});
    let mut front = Front::new(Head { echo: echo.as_object().unwrap().clone(), ..head(Tools::default()) });
    let mut out = BytesMut::new();
    front.open(&mut out);
    let [created, in_progress] = frames(&out).try_into().unwrap();
    assert_eq!((&created["response"], &created["response"]["tools"]), (&in_progress["response"], &echo["tools"]));
}

#[test]
fn a_file_is_passed_on_or_named() {
    let file = |name: &str, value: &str| json!({"type": "input_file", "filename": "a", name: value});
    let parts = json!([
        file("file_data", "data:text/plain;base64,cGFzc3dvcmQ="),
        file("file_data", "data:application/pdf;base64,JVBE"),
        file("file_data", "JVBE"),
        file("file_id", "file-1"),
        file("file_url", "https://a.example/e.pdf"),
        {"type": "input_file", "file_url": "https://a.example/f.pdf"},
        {"type": "input_image", "file_id": "file-2"},
    ]);
    let result =
        json!({"type": "function_call_output", "call_id": "c", "output": [file("file_data", "data:text/csv;base64,YQ==")]});
    let read = super::read(json!({"model": "m", "input": [{"role": "user", "content": parts}, result]}), 0).unwrap();
    assert_eq!(
        json!(read.chat.messages[0].content),
        json!([
            {"type": "text", "text": "a\n\npassword"},
            {"type": "file", "file": {"filename": "a", "file_data": "data:application/pdf;base64,JVBE"}},
            {"type": "file", "file": {"filename": "a", "file_data": "JVBE"}},
            {"type": "file", "file": {"file_id": "file-1"}},
            {"type": "text", "text": "[file a: not supported]"},
            {"type": "text", "text": "[file https://a.example/f.pdf: not supported]"},
            {"type": "text", "text": "[an image that lies on another server]"},
        ])
    );
    assert_eq!(json!(read.chat.messages[1].content), "a\n\na");
    let text = |note: &Note| match note {
        Note::Warning { code: "part_dropped", text } => text.clone(),
        other => panic!("{other:?}"),
    };
    let places: Vec<String> = read.warnings.iter().map(text).collect();
    assert_eq!(places.len(), 3);
    for (place, at) in places.iter().zip([4, 5, 6]) {
        assert!(place.contains(&format!("`input[0].content[{at}]`")), "{places:?}");
    }
}

#[test]
fn a_call_leaves_in_the_form_in_which_its_tool_was_offered() {
    let done =
        |sent: Vec<Value>| sent.into_iter().find(|event| event["type"] == "response.output_item.done").unwrap()["item"].take();
    let noted = done(call("mcp__notes__read_note", "{\"name\":\"x\"}"));
    assert_eq!(
        (&noted["namespace"], &noted["name"], &noted["type"]),
        (&json!("mcp__notes"), &json!("read_note"), &json!("function_call"))
    );
    let sent = call("apply_patch", &json!({"input": PATCH}).to_string());
    assert!(sent.iter().any(|event| event["type"] == "response.custom_tool_call_input.done" && event["input"] == PATCH));
    let patched = done(sent);
    assert_eq!(
        patched,
        json!({"id": "fc_1_0", "type": "custom_tool_call", "name": "apply_patch", "input": PATCH, "status": "completed", "call_id": "call_1"})
    );
    let asked = done(call("sql", "{\"query\":\"SELECT 1\"}"));
    assert_eq!((&asked["type"], &asked["input"]), (&json!("custom_tool_call"), &json!("SELECT 1")));
    let unknown = done(call("nobody_knows", "{}"));
    assert_eq!((&unknown["name"], unknown.get("namespace")), (&json!("nobody_knows"), None));
}

#[test]
fn a_schema_that_is_no_object_is_refused() {
    for schema in [json!(5), json!("x"), json!([])] {
        let tool = json!({"type": "function", "name": "a", "parameters": schema});
        for tools in [json!([tool]), json!([{"type": "namespace", "name": "n", "tools": [tool]}])] {
            let error = super::read(json!({"model": "m", "input": "hi", "tools": tools}), 0).unwrap_err();
            assert_eq!((error.status, error.message.as_str()), (400, "`tools[0].parameters` must be a JSON Schema object"));
        }
    }
    let nothing = json!({"type": "function", "name": "a", "parameters": null});
    assert!(super::read(json!({"model": "m", "input": "hi", "tools": [nothing]}), 0).is_ok());
}

#[test]
fn tools_become_functions() {
    let (request, tools) = table(json!({"model": "m", "input": "hi", "tools": codex_tools()}));
    let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["exec_command", "apply_patch", "sql", "mcp__notes__read_note"]);
    assert_eq!(tools.get("apply_patch").unwrap().input, Input::Patch);
    assert!(tools.get("apply_patch").unwrap().description.contains("*** Begin Patch"));
    assert!(tools.get("sql").unwrap().description.ends_with("start: q"));
    assert!(request.chat.tools[0]["function"].get("strict").is_none());
    for written in ["mcp__notes.read_note", "notes.read_note", "read_note", "functions.mcp__notes__read_note"] {
        let tool = crate::fix::name::known_tool(&tools, written);
        assert_eq!(tool.map(|tool| tool.name.as_str()), Some("mcp__notes__read_note"), "{written}");
    }
    let long = "n".repeat(40);
    let flat = offered::flat(Some(&long), &long);
    assert_eq!((flat.len(), flat.as_str()), (64, offered::flat(Some(&long), &long).as_str()));
    assert_ne!(flat, offered::flat(Some(&long), &"n".repeat(41)));
}

#[test]
fn a_patch_goes_through_the_shell_of_a_client_without_a_tool_for_it() {
    let tools = json!([codex_tools()[0]]);
    let body = |input: Value| json!({"model": "m", "instructions": "Edit with apply_patch.", "input": input, "tools": tools});
    let (_, offered) = table(body(json!("hi")));
    let arguments = json!({"input": PATCH}).to_string();
    let events = [Event::Call(Call { id: Some("call_1"), ..Call::new(0, "apply_patch", &arguments) })];
    let sent = stream(offered, &events, None);
    let item = &sent[sent.len() - 1]["item"];
    assert_eq!(item["name"], "exec_command");
    let arguments: Value = serde_json::from_str(item["arguments"].as_str().unwrap()).unwrap();
    assert_eq!(arguments["cmd"], format!("apply_patch <<'EOF'\n{PATCH}\nEOF"));
    // In the next turn the model sees what it wrote.
    let (again, _) = table(body(json!([item])));
    let back = &again.chat.messages[1].tool_calls[0];
    assert_eq!((back.name.as_str(), back.arguments.as_str()), ("apply_patch", json!({"input": PATCH}).to_string().as_str()));
    // Nobody speaks of patches: nothing is added.
    let (_, offered) = table(json!({"model": "m", "input": "hi", "tools": tools}));
    assert_eq!(offered.len(), 1);
}

#[test]
fn items_become_messages() {
    let (request, _) = table(
        json!({"model": "m", "stream": true, "max_output_tokens": 9, "reasoning": {"effort": "low", "summary": "auto"},
        "text": {"format": {"type": "json_schema", "name": "a", "schema": {"type": "object"}, "strict": true}}, "tools": codex_tools(),
        "tool_choice": {"type": "function", "name": "exec_command"}, "parallel_tool_calls": false, "include": ["x"], "store": false,
        "input": [
            {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "You are an agent."}]},
            {"role": "developer", "content": "Skills."},
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Look"}, {"type": "input_image", "image_url": "data:image/png;base64,AA"}]},
            {"type": "reasoning", "id": "rs", "summary": [{"type": "summary_text", "text": "Hm."}], "content": null, "encrypted_content": null},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Looking.", "annotations": []}]},
            {"type": "function_call", "call_id": "c1", "name": "exec_command", "arguments": "{\"cmd\":\"ls\"}"},
            {"type": "function_call", "call_id": "c2", "name": "read_note", "namespace": "mcp__notes", "arguments": "{}"},
            {"type": "custom_tool_call", "call_id": "c3", "name": "apply_patch", "input": PATCH},
            {"type": "local_shell_call", "call_id": "c4", "action": {"type": "exec", "command": ["ls"]}},
            {"type": "function_call_output", "call_id": "c1", "output": "a.txt"},
            {"type": "function_call_output", "call_id": "c2", "output": [{"type": "input_text", "text": "one"}, {"type": "input_text", "text": "two"}]},
            {"type": "custom_tool_call_output", "call_id": "c3", "output": "Done"},
            {"type": "local_shell_call_output", "call_id": "c4", "output": "a.txt"},
            {"type": "web_search_call", "id": "ws", "status": "completed"},
            {"type": "message", "role": "developer", "content": "Later."},
        ]}),
    );
    let got: Vec<Value> = request.chat.messages.iter().map(|message| json!(message)).collect();
    let called = |id: &str, name: &str, arguments: String| json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}});
    assert_eq!(
        got,
        [
            json!({"role": "system", "content": "You are an agent.\n\nSkills."}),
            json!({"role": "user", "content": [{"type": "text", "text": "Look"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}}]}),
            json!({"role": "assistant", "content": "Looking.", "tool_calls": [
                called("c1", "exec_command", "{\"cmd\":\"ls\"}".into()),
                called("c2", "mcp__notes__read_note", "{}".into()),
                called("c3", "apply_patch", json!({"input": PATCH}).to_string()),
                called("c4", "local_shell", r#"{"type":"exec","command":["ls"]}"#.into()),
            ], "reasoning_content": "Hm."}),
            json!({"role": "tool", "content": "a.txt", "tool_call_id": "c1"}),
            json!({"role": "tool", "content": "one\n\ntwo", "tool_call_id": "c2"}),
            json!({"role": "tool", "content": "Done", "tool_call_id": "c3"}),
            json!({"role": "tool", "content": "a.txt", "tool_call_id": "c4"}),
            json!({"role": "system", "content": "Later."}),
        ]
    );
    let rest = json!({"max_tokens": 9, "parallel_tool_calls": false, "reasoning_effort": "low",
        "response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": {"type": "object"}, "strict": true}}});
    assert_eq!(Value::Object(request.chat.rest), rest);
    assert_eq!((&request.echo["store"], &request.echo["max_output_tokens"]), (&json!(false), &json!(9)));
}

#[test]
fn faults_and_ends_are_told_in_the_object() {
    let sent =
        stream(Tools::default(), &[Event::Text("Let")], Some(&Error::backend("gone").with_code("context_length_exceeded")));
    let last = &sent[sent.len() - 1];
    assert_eq!(
        (last["type"].as_str(), &last["response"]["error"]),
        (Some("response.failed"), &json!({"code": "context_length_exceeded", "message": "gone"}))
    );
    let end = |text: &'static str, reason: FinishReason| {
        let events = [Event::Text(text), Event::Finish { reason, usage: None }];
        let mut sent = stream(Tools::default(), &events, None);
        let mut last = sent.pop().unwrap();
        let mut collected = Collected::new(head(Tools::default()));
        events.iter().for_each(|event| collected.event(event.clone()));
        assert_eq!(collected.into_value(), last["response"]);
        (last["type"].as_str().unwrap().to_owned(), last["response"]["incomplete_details"]["reason"].take())
    };
    let (incomplete, completed) = ("response.incomplete".to_owned(), "response.completed".to_owned());
    assert_eq!(end("Once upon", FinishReason::Length), (incomplete.clone(), json!("max_output_tokens")));
    assert_eq!(end("Once upon", FinishReason::ContentFilter), (incomplete, json!("content_filter")));
    let cut = "Let me.\n[toolglot] call of x was not run: cut\n";
    assert_eq!(end(cut, FinishReason::Length), (completed.clone(), Value::Null));
    assert_eq!(end("Once upon", FinishReason::Stop), (completed, Value::Null));
}

#[test]
fn the_end_of_a_stream_is_found_in_its_last_piece() {
    let (mut front, mut out) = (Front::new(head(Tools::default())), BytesMut::new());
    front.open(&mut out);
    front.event(Event::Text("event: response.completed\ndata: {}"), &mut out);
    assert_eq!(finished(&out), None);
    front.event(Event::Finish { reason: FinishReason::Stop, usage: None }, &mut out);
    assert_eq!(finished(&out).unwrap()["id"], "resp_1");
    // An answer that was cut or failed has ended too.
    for (end, fault, status) in [(FinishReason::Length, false, "incomplete"), (FinishReason::Stop, true, "failed")] {
        let (mut front, mut out) = (Front::new(head(Tools::default())), BytesMut::new());
        front.open(&mut out);
        match fault {
            true => front.fault(&Error::backend("gone"), &mut out),
            false => front.event(Event::Finish { reason: end, usage: None }, &mut out),
        }
        assert_eq!(finished(&out).unwrap()["status"], status);
    }
}

#[test]
fn an_answer_repeats_its_request() {
    let body = json!({"model": "m", "input": "hi", "instructions": "Be brief.", "tools": codex_tools(), "truncation": "auto"});
    let (request, tools) = table(body);
    let (mut front, mut out) = (Front::new(Head { echo: request.echo, ..head(tools) }), BytesMut::new());
    front.open(&mut out);
    front.event(Event::Note(&Note::Writing { name: "f".to_owned(), bytes: 1 }), &mut out);
    front.event(Event::Finish { reason: FinishReason::Stop, usage: None }, &mut out);
    let sent = frames(&out);
    for at in [0, 1, 3] {
        let response = &sent[at]["response"];
        assert_eq!((&response["tools"], &response["instructions"]), (&codex_tools(), &json!("Be brief.")));
        assert_eq!((&response["truncation"], &response["text"]), (&json!("auto"), &json!({"format": {"type": "text"}})));
    }
    // A sign of life is short.
    let sign = &sent[2]["response"];
    assert_eq!((&sign["tools"], &sign["instructions"], &sign["truncation"]), (&json!([]), &Value::Null, &json!("auto")));
}

#[test]
fn an_item_names_the_answer_that_has_it() {
    let answer = Answer::new(head(Tools::default()));
    assert_eq!(answer_of(&answer.id("fc")).as_deref(), Some("resp_1"));
    assert_eq!((answer_of("x"), answer_of("msg_unknown")), (None, None));
    for (item, wanted) in [
        (json!({"type": "item_reference", "id": "msg_1_0"}), Some("msg_1_0")),
        (json!({"id": "msg_1_0"}), Some("msg_1_0")),
        (json!({"id": "msg_1_0", "role": "user", "content": "hi"}), None),
        (json!({"type": "reasoning", "id": "rs_1_0", "summary": []}), None),
    ] {
        assert_eq!(referred(&item), wanted, "{item}");
    }
}

#[test]
fn what_is_left_out_is_told() {
    let codes = |body: Value| -> Vec<String> {
        let request = super::read(body, 0).unwrap();
        let told = request.warnings.iter().map(|note| match note {
            crate::event::Note::Warning { code, text } => format!("{code} {}", text.split(' ').next().unwrap()),
            other => format!("{other:?}"),
        });
        told.collect()
    };
    let body = |fields: Value| {
        let mut body = json!({"model": "m", "input": "hi"});
        body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        body
    };
    assert_eq!(
        codes(body(json!({"conversation": "conv_1", "prompt": {"id": "p"}}))),
        ["field_ignored `conversation`", "field_ignored `prompt`"]
    );
    assert!(codes(body(json!({"conversation": null, "prompt": null}))).is_empty());
    assert_eq!(
        codes(body(json!({"tools": [{"type": "web_search"}], "tool_choice": {"type": "web_search"}}))),
        ["tool_ignored `tools[0]`", "tool_choice_ignored `tool_choice`"]
    );
}

#[test]
fn what_cannot_be_read_is_named() {
    for (body, wanted) in [
        (json!([]), "JSON object"),
        (json!({"input": "x"}), "`model`"),
        (json!({"model": "m", "input": 1}), "`input`"),
        (json!({"model": "m", "background": true}), "`background`"),
        (json!({"model": "m", "input": "x", "tools": [{"type": "function"}]}), "`tools[0].name`"),
        (json!({"model": "m", "messages": []}), "`input` is missing"),
        (json!({"model": "m", "input": "x", "tools": "x"}), "`tools` must be an array, but it is a string"),
        (json!({"model": "m", "input": "x", "max_output_tokens": "x"}), "`max_output_tokens` must be a number"),
        (json!({"model": "m", "input": "x", "tool_choice": {"type": "function"}}), "`tool_choice.name`"),
        (json!({"model": "m", "input": [{"type": "item_reference"}]}), "`input[0].id` must be the id"),
        (json!({"model": "m", "input": [5]}), "`input[0]` must be an object, but it is a number"),
        (json!({"model": "m", "input": [{"role": "user", "content": 5}]}), "`input[0].content` must be a string"),
        (json!({"model": "m", "input": [{"role": "user"}]}), "`input[0].content` must be a string"),
        (json!({"model": "m", "input": [{"role": "user", "content": [{"type": "txt", "text": "x"}]}]}), "part of type `txt`"),
        (json!({"model": "m", "input": [{"role": "user", "content": [{"type": "input_text"}]}]}), "`input[0].content[0].text`"),
        (
            json!({"model": "m", "input": [{"type": "function_call_output", "call_id": "a", "output": [{"type": "input_audio"}]}]}),
            "`input[0].output[0]` is a part of type `input_audio`",
        ),
    ] {
        let error = super::read(body, 0).unwrap_err();
        assert!(error.message.contains(wanted) && error.status == 400, "{error}");
    }
}

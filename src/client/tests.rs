use serde_json::json;

use super::*;

fn request(value: serde_json::Value) -> ChatRequest {
    ChatRequest::from_value(value).unwrap()
}

#[test]
fn native_tools_become_the_table() {
    let incoming = read(
        request(json!({"model": "m", "messages": [], "tool_choice": "required", "parallel_tool_calls": false, "tools": [
            {"type": "function", "function": {"name": "a", "description": "does a", "parameters": {"type": "object"}}},
            {"type": "function", "function": {"name": "a", "description": "again"}},
            {"type": "function", "function": {"name": "b", "parameters": null}},
            {"type": "web_search"},
        ]})),
        &Hints::default(),
    )
    .unwrap();
    let tools: Vec<_> =
        incoming.tools.iter().map(|tool| (tool.name.as_str(), tool.description.as_str(), &*tool.schema)).collect();
    assert_eq!(tools, [("a", "does a", "{\"type\":\"object\"}"), ("b", "", "{}")]);
    assert_eq!(incoming.tools.choice, crate::event::ToolChoice::Required);
    assert!(incoming.one_call);
    let codes = incoming.warnings.iter().map(|note| match note {
        Note::Warning { code, .. } => *code,
        _ => "",
    });
    assert_eq!(codes.collect::<Vec<_>>(), ["duplicate_tool", "tool_ignored"]);
}

#[test]
fn a_profile_is_forced_found_or_generic() {
    let body = json!({"model": "m", "messages": []});
    for (user_agent, forced, name, one_call) in [
        ("", None, "generic", false),
        ("OpenAI/JS 4.96.0", None, "generic", false),
        ("Zed/0.200.1 (linux; x86_64)", None, "zed", false),
        // source: recorded opencode 1.18.33, Kilo 7.7.7, Claude Code 2.1.330 2026-11-28
        ("opencode/1.18.33 ai-sdk/provider-utils/4.0.23 runtime/bun/1.3.14", None, "opencode", false),
        ("Kilo-Code/7.7.7", None, "opencode", false),
        ("claude-cli/2.1.330 (external, sdk-cli)", None, "claude-code", false),
        ("app/1.0 ai-sdk/openai-compatible/1.0.61 runtime/node.js/22", None, "ai-sdk", false),
        ("Zed/0.200.1", Some("void"), "void", true),
        ("Zed/0.200.1", Some("unheard-of"), "zed", false),
    ] {
        let hints = Hints { user_agent: user_agent.into(), profile: forced.map(str::to_owned) };
        let incoming = read(request(body.clone()), &hints).unwrap();
        assert_eq!((incoming.profile.name, incoming.one_call), (name, one_call), "{user_agent}");
    }
}

/// source: recorded opencode 1.18.33 2026-11-28 (its tools `read` and `edit`)
#[test]
fn an_agents_own_tools_that_only_read_are_known() {
    use crate::event::Effect;
    let tool = |name: &str| json!({"type": "function", "function": {"name": name, "parameters": {"type": "object"}}});
    let body = json!({"model": "m", "messages": [], "tools": [tool("read"), tool("edit")]});
    for (user_agent, read_effect) in [("opencode/1.18.33", Effect::Reads), ("curl/8", Effect::Writes)] {
        let hints = Hints { user_agent: user_agent.into(), profile: None };
        let incoming = read(request(body.clone()), &hints).unwrap();
        let effects: Vec<Effect> = incoming.tools.iter().map(|tool| tool.effect).collect();
        assert_eq!(effects, [read_effect, Effect::Writes], "{user_agent}");
    }
}

#[test]
fn a_request_without_tools_stays_as_it_is() {
    let body = json!({"model": "m", "stream": true, "temperature": 0.1, "messages": [
        {"role": "system", "content": "Fill the gap. <read_file> is a tag."},
        {"role": "user", "content": "<read_file_result>\nx\n</read_file_result>", "name": "ana"},
        {"role": "assistant", "content": "<ls_dir>\n</ls_dir>", "tool_calls": [], "refusal": null},
    ]});
    let incoming = read(request(body.clone()), &Hints::default()).unwrap();
    assert_eq!(incoming.request, request(body));
    assert!(!incoming.tools.wanted());
}

#[test]
fn a_model_in_a_loop_does_not_cost_the_whole_answer() {
    use crate::event::{Call, Event, FinishReason};

    let mut shape = shape::Shape::new(shape::Kind::Native, Default::default(), false);
    let (mut calls, mut said) = (0, String::new());
    let mut sink = |event: Event<'_>| match event {
        Event::Call(_) => calls += 1,
        Event::Text(text) => said.push_str(text),
        _ => {}
    };
    for index in 0..200 {
        shape.event(Event::Call(Call::new(index, "ls", "{}")), &mut sink);
    }
    shape.event(Event::Finish { reason: FinishReason::ToolCalls, usage: None }, &mut sink);
    // OpenAI's packages take no more.
    assert_eq!(said, "\n[toolglot] 72 more calls were not run: an answer holds at most 128 calls\n");
    assert_eq!((calls, shape.counts().dropped), (128, 72));
}

#[test]
fn lines_of_ours_in_reasoning_stand_alone_and_do_not_come_back_to_the_model() {
    use crate::event::Event;

    for kind in [front::Kind::OpenAi, front::Kind::Ollama, front::Kind::Messages, front::Kind::Responses] {
        let head = front::Head { kind, reasoning_field: Some("reasoning_content"), shows_reasoning: true, ..Default::default() };
        let (mut front, mut out) = (front::Front::new(head), bytes::BytesMut::new());
        let note = Note::Writing { name: "edit_file".into(), bytes: 900 };
        front.event(Event::Reasoning("A thought,\nwriting it, 2 B or not"), &mut out);
        let running = Note::Progress { text: "running ls ...".into(), shown: true };
        for note in [note, running] {
            front.event(Event::Note(&note), &mut out);
        }
        let sent = String::from_utf8(out.to_vec()).unwrap();
        let lines = sent.lines().map(|line| line.strip_prefix("data: ").unwrap_or(line));
        let shown: String = lines
            .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
            .filter_map(|line| {
                let openai = line.pointer("/choices/0/delta/reasoning_content");
                let delta = line["delta"].as_str().is_some().then(|| &line["delta"]);
                let ollama = line.pointer("/message/thinking");
                openai.or(ollama).or(line.pointer("/delta/thinking")).or(delta)?.as_str().map(str::to_owned)
            })
            .collect();
        assert_eq!(shown, "A thought,\nwriting it, 2 B or not\n[toolglot] writing edit_file, 900 B\n[toolglot] running ls ...\n");

        let body = json!({"model": "m", "messages": [
            {"role": "assistant", "content": "x", "reasoning_content": shown},
            {"role": "assistant", "content": "y", "reasoning": "[toolglot] writing edit_file, 2.1 kB\n"},
        ]});
        let incoming = read(request(body), &Hints::default()).unwrap();
        let [first, second] = incoming.request.messages.as_slice() else { panic!() };
        assert_eq!(first.rest["reasoning_content"], "A thought,\nwriting it, 2 B or not\n");
        assert!(second.rest.is_empty());
    }
}

#[test]
fn the_folder_of_a_command_is_one_of_the_workspace() {
    let system = "You are a coding agent.\n- The user's workspace contains these folders:\n/w/demo\n\n<files_overview>\ndemo/\n\
                  └── src/\n</files_overview>\n\nAvailable tools:\n\n1. run_command\nDescription: Runs it.\nFormat:\n<run_command>\n\
                  <command>The command</command>\n<cwd>Optional. The folder</cwd>\n</run_command>\n\nTool calling details:\n- ONE";
    let messages = json!([{"role": "system", "content": system}, {"role": "user", "content": "Run ls."}]);
    let incoming = read(request(json!({"model": "m", "messages": messages})), &Hints::default()).unwrap();
    let carrier = shape::Shape::new(incoming.shape, Arc::new(incoming.tools), true).within(incoming.workspace).carrier();
    for (given, placed) in [("src", "/w/demo/src"), ("workspace", "/w/demo"), ("/tmp", "/tmp"), ("~", "~")] {
        let call = |cwd: &str| json!({"command": "ls", "cwd": cwd}).to_string();
        assert_eq!(carrier.checked("run_command", &call(given)).0, call(placed));
    }
    let asked = |cwd: &str| {
        carrier.checked("run_command", &json!({"command": "ls", "cwd": cwd}).to_string()).1.map(|why| why.to_string())
    };
    assert!(asked("src").is_none());
    assert!(
        asked("/w/docs")
            .unwrap()
            .ends_with("`cwd` is outside of the workspace /w/demo. Did you mean /w/demo/docs? Write the whole call again")
    );
    assert!(
        asked("cargo --version").unwrap().ends_with("not a path. Call run_command with the whole command line as its `command`")
    );
}

#[test]
fn a_custom_call_in_the_history_keeps_its_name_and_its_text() {
    let call = json!({"id": "c1", "type": "custom", "custom": {"name": "run_js", "input": "1+1"}});
    let messages = json!([{"role": "assistant", "content": null, "tool_calls": [call]}, {"role": "tool", "tool_call_id": "c1", "content": "2"}]);
    let incoming = read(request(json!({"model": "m", "messages": messages})), &Hints::default()).unwrap();
    let call = &incoming.request.messages[0].tool_calls[0];
    assert_eq!((call.name.as_str(), call.arguments.as_str()), ("run_js", r#"{"input":"1+1"}"#));
}

#[test]
fn a_result_without_content_is_an_empty_text() {
    let messages = json!([{"role": "assistant", "content": null}, {"role": "tool", "tool_call_id": "c", "content": null}]);
    let incoming = read(request(json!({"model": "m", "messages": messages})), &Hints::default()).unwrap();
    let contents: Vec<&Content> = incoming.request.messages.iter().map(|message| &message.content).collect();
    assert_eq!(contents, [&Content::None, &Content::Text(String::new())]);
}

#[test]
fn a_choice_of_a_tool_that_is_not_offered_says_so() {
    let choose = |name: &str| {
        let choice = json!({"type": "function", "function": {"name": name}});
        let tools = json!([{"type": "custom", "custom": {"name": "run_js"}}]);
        let body = json!({"model": "m", "messages": [], "tools": tools, "tool_choice": choice});
        read(request(body), &Hints::default()).unwrap_err().message
    };
    for name in ["run_js", "other"] {
        assert!(
            choose(name).starts_with(&format!("`tool_choice` names `{name}`, which is not offered: functions among `tools`"))
        );
    }
}

#[test]
fn a_path_is_placed_without_a_change_to_anything_else() {
    let tool = crate::event::Tool { paths: vec!["to".into(), "from".into()], ..crate::event::Tool::new("copy", "", "{}") };
    let tools = Tools::new([tool], crate::event::ToolChoice::Auto);
    let workspace = workspace::Workspace::new("/home/ana/app", Vec::new(), Vec::new(), String::new()).map(Arc::new);
    let shape = shape::Shape::new(shape::Kind::Native, tools.into(), false).within(workspace);
    let (placed, _) = shape.carrier().checked("copy", r#"{"from": "src/a", "n": 100000000000000000001,  "to":"b"}"#);
    assert_eq!(placed, r#"{"from": "/home/ana/app/src/a", "n": 100000000000000000001,  "to":"/home/ana/app/b"}"#);
}

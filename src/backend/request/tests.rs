use std::sync::Arc;

use http::HeaderValue;
use serde_json::{Value, json};

use super::*;
use crate::{
    adapter::{
        Adapter,
        render::{Prompt, System},
    },
    backend::{Backend, Learned, Profile, Rewrite},
    event::Tools,
    openai::ChatRequest,
};

/// Where a test's request goes and what is offered.
struct Case {
    backend: Backend,
    prompt: Prompt,
    tools: Tools,
    mode: ToolMode,
    num_ctx: Option<u64>,
    learned: Learned,
    preserve: Vec<String>,
}

fn case(kind: Kind) -> Case {
    let url = match kind {
        Kind::OpenAi => "http://127.0.0.1:8080/v1",
        Kind::Google => "https://google.example/v1beta",
        Kind::Ollama | Kind::Replay => "http://127.0.0.1:11434",
    };
    let schema = r#"{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}"#;
    let tools = [Tool::new("read_file", "Reads a file.", schema), Tool::new("now", "Tells the time.", "{}")];
    Case {
        backend: Backend::open("test", kind, url),
        prompt: Prompt::default(),
        tools: Tools::new(tools, ToolChoice::Auto),
        mode: ToolMode::Native,
        num_ctx: None,
        learned: Learned::default(),
        preserve: Vec::new(),
    }
}

impl Case {
    fn prepare(&self, chat: Value) -> Result<Prepared, Error> {
        let chat = ChatRequest::from_value(chat).expect("a request");
        let mut adapter = Adapter::parse("test", "proof = \"doc\"", &[]).expect("an adapter");
        adapter.prompt = self.prompt.clone();
        adapter.preserve.clone_from(&self.preserve);
        request(&Round {
            backend: &self.backend,
            adapter: &Arc::new(adapter),
            chat: &chat,
            tools: &Arc::new(self.tools.clone()),
            offer: true,
            mode: self.mode,
            learned: &self.learned,
            vision: true,
            num_ctx: self.num_ctx,
            authorization: None,
        })
    }

    /// URL, body, and the codes of the notes.
    fn sent(&self, chat: Value) -> (String, Value, Vec<&'static str>) {
        let prepared = self.prepare(chat).expect("can be said");
        let Outgoing::Http(request) = prepared.outgoing else { panic!("over the network") };
        let codes = prepared.notes.iter().map(|note| match note {
            Note::Warning { code, .. } => *code,
            _ => "writing",
        });
        (request.url, serde_json::from_slice(&request.body).expect("JSON"), codes.collect())
    }
}

/// A conversation in which a tool was used.
fn conversation() -> Value {
    json!({
        "model": "m",
        "stream": false,
        "messages": [
            {"role": "developer", "content": "Be brief."},
            {"role": "user", "content": "What is in a.txt?"},
            {"role": "assistant", "content": "(empty message)", "anthropicReasoning": null, "tool_calls": [
                {"id": "call_1", "type": "function", "function": {"name": "read_file", "arguments": "{\"path\": \"a.txt\"}"}},
            ]},
            {"role": "tool", "tool_call_id": "call_1", "content": "seven"},
        ],
        "tools": [
            {"type": "function", "function": {"name": "read_file", "strict": true, "parameters": {"type": "object", "properties": {"path": {"type": "string"}}}}},
            {"type": "function", "function": {"name": "now"}},
        ],
    })
}

#[test]
fn ollama_gets_its_own_form() {
    let (url, body, notes) = Case { num_ctx: Some(16384), ..case(Kind::Ollama) }.sent(conversation());
    assert_eq!(url, "http://127.0.0.1:11434/api/chat");
    assert_eq!(body["stream"], true);
    assert_eq!(body["options"], json!({"num_ctx": 16384}));
    assert_eq!(
        body["messages"],
        json!([
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "What is in a.txt?"},
            {"role": "assistant", "content": "", "tool_calls": [{"id": "call_1", "function": {"name": "read_file", "arguments": {"path": "a.txt"}}}]},
            {"role": "tool", "content": "seven", "tool_name": "read_file", "tool_call_id": "call_1"},
        ])
    );
    assert_eq!(body["tools"][1]["function"]["parameters"], json!({"type": "object", "properties": {}}));
    assert_eq!(notes, [""; 0]);
}

#[test]
fn openai_keeps_what_the_client_wrote_and_always_streams() {
    let mut chat = conversation();
    chat["min_p"] = json!(0.05);
    chat["stream_options"] = json!({"include_usage": false, "continuous_usage_stats": true});
    chat["parallel_tool_calls"] = json!(false);
    let (url, body, notes) = case(Kind::OpenAi).sent(chat);
    assert_eq!(url, "http://127.0.0.1:8080/v1/chat/completions");
    assert_eq!((&body["stream"], &body["min_p"], &body["parallel_tool_calls"]), (&json!(true), &json!(0.05), &json!(false)));
    assert_eq!(body["stream_options"], json!({"include_usage": true, "continuous_usage_stats": true}));
    assert_eq!(body["tools"][0]["function"]["strict"], true);
    let turn = &body["messages"][2];
    assert_eq!((&turn["content"], turn.get("anthropicReasoning")), (&Value::Null, None), "Void's placeholders are gone");
    assert_eq!(turn["tool_calls"][0]["function"]["arguments"], r#"{"path": "a.txt"}"#, "byte for byte");
    assert_eq!(notes, [""; 0]);
}

#[test]
fn google_gets_its_own_form() {
    let mut chat = conversation();
    chat["messages"][2]["tool_calls"][0]["extra_content"] = json!({"google": {"thought_signature": "c2ln"}});
    chat["max_tokens"] = json!(100);
    let (url, body, _) = case(Kind::Google).sent(chat);
    assert_eq!(url, "https://google.example/v1beta/models/m:streamGenerateContent?alt=sse");
    assert_eq!(body["systemInstruction"], json!({"parts": [{"text": "Be brief."}]}));
    assert_eq!(
        body["contents"],
        json!([
            {"role": "user", "parts": [{"text": "What is in a.txt?"}]},
            {"role": "model", "parts": [{"functionCall": {"name": "read_file", "args": {"path": "a.txt"}}, "thoughtSignature": "c2ln"}]},
            {"role": "user", "parts": [{"functionResponse": {"name": "read_file", "response": {"result": "seven"}}}]},
        ])
    );
    let declarations = &body["tools"][0]["functionDeclarations"];
    assert_eq!(declarations[0]["parametersJsonSchema"]["required"], json!(["path"]));
    assert_eq!(declarations[1].get("parametersJsonSchema"), None);
    assert_eq!(body["generationConfig"], json!({"maxOutputTokens": 100}));
}

#[test]
fn fields_are_mapped_or_warned_about() {
    let fields = json!({
        "model": "m", "messages": [{"role": "user", "content": "hi"}],
        "max_tokens": 7, "stop": "END", "temperature": 0.5, "top_p": 0.9, "seed": 3, "presence_penalty": 0.1,
        "response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "object", "additionalProperties": false}}},
        "reasoning_effort": "low", "user": "me", "logit_bias": {"1": 2}, "n": 1,
    });
    let none = Tools::default();
    let (_, body, notes) = Case { tools: none.clone(), ..case(Kind::Ollama) }.sent(fields.clone());
    assert_eq!(
        body["options"],
        json!({"num_predict": 7, "stop": ["END"], "temperature": 0.5, "top_p": 0.9, "seed": 3, "presence_penalty": 0.1})
    );
    assert_eq!((&body["format"]["type"], &body["think"]), (&json!("object"), &json!("low")));
    assert_eq!(notes, ["field_dropped"], "logit_bias");
    let (_, body, notes) = Case { tools: none.clone(), ..case(Kind::Google) }.sent(fields.clone());
    let config = &body["generationConfig"];
    assert_eq!(
        (&config["maxOutputTokens"], &config["stopSequences"], &config["topP"]),
        (&json!(7), &json!(["END"]), &json!(0.9))
    );
    assert_eq!(config["responseJsonSchema"], json!({"type": "object", "additionalProperties": false}));
    assert_eq!(notes, ["field_dropped"], "logit_bias");
    let (_, body, notes) = Case { tools: none, ..case(Kind::OpenAi) }.sent(fields.clone());
    assert_eq!((&body["logit_bias"], &body["reasoning_effort"], notes.len()), (&fields["logit_bias"], &json!("low"), 0));
}

#[test]
fn the_choice_of_tools_reaches_each_backend() {
    let chat = || json!({"model": "m", "messages": [{"role": "user", "content": "hi"}]});
    let with = |kind, choice| {
        let mut case = case(kind);
        case.tools.choice = choice;
        case.sent(chat()).1
    };
    let named = || ToolChoice::Named("now".into());
    assert_eq!(with(Kind::OpenAi, ToolChoice::None)["tool_choice"], "none");
    assert_eq!(with(Kind::OpenAi, ToolChoice::Required)["tool_choice"], "required");
    assert_eq!(with(Kind::OpenAi, named())["tool_choice"], json!({"type": "function", "function": {"name": "now"}}));
    assert_eq!(with(Kind::OpenAi, ToolChoice::Auto).get("tool_choice"), None);
    assert_eq!(with(Kind::Ollama, ToolChoice::None).get("tools"), None);
    assert_eq!(
        with(Kind::Google, named())["toolConfig"]["functionCallingConfig"],
        json!({"mode": "ANY", "allowedFunctionNames": ["now"]})
    );
    // Nothing is offered: nothing is chosen from.
    let mut request = chat();
    request["tool_choice"] = json!("auto");
    request["parallel_tool_calls"] = json!(true);
    let (_, body, _) = Case { tools: Tools::default(), ..case(Kind::OpenAi) }.sent(request);
    assert_eq!((body.get("tools"), body.get("tool_choice"), body.get("parallel_tool_calls")), (None, None, None));
}

#[test]
fn schemas_that_are_booleans_are_objects() {
    let schema = r#"{"type":"object","properties":{"any":true,"deep":{"type":"object","properties":{"any":true}}}}"#;
    for kind in [Kind::Ollama, Kind::OpenAi] {
        let tools = Tools::new([Tool::new("f", "", schema)], ToolChoice::Auto);
        let (_, body, _) = Case { tools, ..case(kind) }.sent(json!({"model": "m", "messages": []}));
        let parameters = &body["tools"][0]["function"]["parameters"]["properties"];
        assert_eq!(parameters, &json!({"any": {}, "deep": {"type": "object", "properties": {"any": {}}}}));
    }
}

#[test]
fn images_go_along_or_the_message_is_named() {
    let chat = |url: &str| {
        json!({"model": "m", "messages": [{"role": "user", "content": [
            {"type": "text", "text": "What is this?"}, {"type": "image_url", "image_url": {"url": url}},
        ]}]})
    };
    let inline = chat("data:image/png;base64,AAAA");
    assert_eq!(
        case(Kind::Ollama).sent(inline.clone()).1["messages"][0],
        json!({"role": "user", "content": "What is this?", "images": ["AAAA"]})
    );
    assert_eq!(
        case(Kind::Google).sent(inline).1["contents"][0]["parts"][1],
        json!({"inlineData": {"mimeType": "image/png", "data": "AAAA"}})
    );
    for kind in [Kind::Ollama, Kind::Google] {
        let error = case(kind).prepare(chat("https://images.example/a.png")).expect_err("nothing is fetched");
        assert_eq!(error.status, 400);
        assert!(error.message.contains("messages[0]"), "{error}");
    }
}

#[test]
fn names_are_spelled_for_the_wire_everywhere() {
    for kind in [Kind::Ollama, Kind::OpenAi, Kind::Google] {
        let mut case = case(kind);
        case.tools.iter_mut().for_each(|tool| tool.wire_name = format!("wire_{}", tool.name));
        case.tools.choice = ToolChoice::Named("read_file".into());
        let body = case.sent(conversation()).1.to_string();
        assert_eq!(body.matches("read_file").count(), body.matches("wire_read_file").count(), "{body}");
        assert!(body.contains("wire_now"), "{body}");
    }
}

#[test]
fn prompt_mode_offers_nothing_natively() {
    for kind in [Kind::Ollama, Kind::OpenAi, Kind::Google] {
        let (_, body, _) = Case { mode: ToolMode::Prompt, ..case(kind) }.sent(conversation());
        let text = body.to_string();
        assert_eq!(
            (body.get("tools"), text.contains("tool_calls"), text.contains("functionCall")),
            (None, false, false),
            "{text}"
        );
        assert!(text.contains("Reads a file.") && text.contains("read_file") && text.contains("seven"), "{text}");
    }
}

#[test]
fn a_refused_system_role_is_folded() {
    let (_, body, _) =
        Case { learned: Learned { rewrites: vec![Rewrite::FoldSystem], ..Learned::default() }, ..case(Kind::OpenAi) }
            .sent(conversation());
    assert_eq!(body["messages"][0], json!({"role": "user", "content": "Be brief.\n\nWhat is in a.txt?"}));
    // Families without a system role are known before Google refuses it.
    let prompt = Prompt { system: System::Fold, ..Prompt::default() };
    let (_, body, _) = Case { prompt, ..case(Kind::Google) }.sent(conversation());
    assert_eq!(body.get("systemInstruction"), None);
    assert_eq!(body["contents"][0]["parts"][0]["text"], "Be brief.\n\nWhat is in a.txt?");
}

#[test]
fn keys_are_sent_as_each_backend_wants_them_and_never_shown() {
    let mut backend = Backend::open("test", Kind::OpenAi, "http://x/v1");
    let client = HeaderValue::from_static("Bearer client");
    assert_eq!(backend.headers(Some(&client)).get("authorization"), None);
    backend.forward_authorization = true;
    assert_eq!(backend.headers(Some(&client)).get("authorization"), Some(&client));
    backend.api_key = Some(crate::config::Secret::new("s3cret"));
    assert_eq!(backend.headers(Some(&client)).get("authorization"), Some(&HeaderValue::from_static("Bearer s3cret")));
    assert!(!format!("{backend:?} {:?}", backend.headers(None)).contains("s3cret"));
    backend.kind = Kind::Google;
    assert_eq!(backend.headers(None).get("x-goog-api-key"), Some(&HeaderValue::from_static("s3cret")));
}

#[test]
fn a_call_that_must_be_made_is_held_to_its_form_where_that_is_possible() {
    let chat = || json!({"model": "m", "messages": [{"role": "user", "content": "hi"}]});
    let with = |kind, profile, mode, choice| {
        let mut case = Case { mode, ..case(kind) };
        case.backend.profile = profile;
        case.tools.choice = choice;
        case.sent(chat()).1
    };
    let named = || ToolChoice::Named("read_file".into());
    let body = with(Kind::Ollama, Profile::Generic, ToolMode::Prompt, named());
    assert_eq!(body["format"]["properties"]["name"]["enum"], json!(["read_file"]));
    assert_eq!(body["format"]["properties"]["arguments"]["required"], json!(["path"]));
    let body = with(Kind::OpenAi, Profile::LlamaCpp, ToolMode::Prompt, ToolChoice::Required);
    assert_eq!(body["response_format"]["json_schema"]["schema"]["anyOf"].as_array().map(Vec::len), Some(2));
    let body = with(Kind::OpenAi, Profile::Generic, ToolMode::Prompt, ToolChoice::Required);
    assert_eq!(body.get("response_format"), None);
    let body = with(Kind::Ollama, Profile::Generic, ToolMode::Prompt, ToolChoice::Auto);
    assert_eq!(body.get("format"), None, "the model may answer in text");
    // vLLM would print `strict` into the prompt (vllm-project/vllm#52741): nothing is added that the model can see.
    for profile in [Profile::Vllm, Profile::Generic] {
        let body = with(Kind::OpenAi, profile, ToolMode::Native, ToolChoice::Auto);
        assert_eq!(body["tools"][0]["function"].get("strict"), None);
    }
}

#[test]
fn the_one_tool_that_must_be_called_is_the_only_one_where_a_server_cannot_be_told_its_name() {
    let chat = || json!({"model": "m", "messages": [{"role": "user", "content": "hi"}]});
    for (profile, tools, choice) in [
        (Profile::LlamaCpp, vec!["now"], json!("required")),
        (Profile::LmStudio, vec!["now"], json!("required")),
        (Profile::Vllm, vec!["read_file", "now"], json!({"type": "function", "function": {"name": "now"}})),
        (Profile::Sglang, vec!["read_file", "now"], json!({"type": "function", "function": {"name": "now"}})),
    ] {
        let mut case = case(Kind::OpenAi);
        case.backend.profile = profile;
        case.tools.choice = ToolChoice::Named("now".into());
        let body = case.sent(chat()).1;
        let offered: Vec<&str> =
            body["tools"].as_array().unwrap().iter().map(|tool| tool["function"]["name"].as_str().unwrap()).collect();
        assert_eq!((offered, &body["tool_choice"]), (tools, &choice), "{profile:?}");
    }
}

#[test]
fn an_ollama_that_must_call_is_asked_in_its_prompt_and_held_to_the_form() {
    let with = |choice, more: Value| {
        let mut case = case(Kind::Ollama);
        case.tools.choice = choice;
        let mut chat = conversation();
        chat.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        case.sent(chat).1
    };
    for choice in [ToolChoice::Required, ToolChoice::Named("now".into())] {
        let body = with(choice, json!({}));
        assert_eq!((body.get("tools"), body["format"].is_object()), (None, true), "{body:#}");
        assert!(body["messages"][0]["content"].as_str().unwrap().contains("you must use"), "{body:#}");
    }
    assert!(with(ToolChoice::Auto, json!({}))["tools"].is_array());
    // A form that the client wants for its answer comes first.
    let body = with(ToolChoice::Required, json!({"response_format": {"type": "json_object"}}));
    assert_eq!((body["tools"].is_array(), &body["format"]), (true, &json!("json")));
}

#[test]
fn markers_are_asked_for_where_a_server_removes_them() {
    let sent = |kind, profile, mode, preserve: &[&str]| {
        let mut case = Case { mode, preserve: preserve.iter().map(|text| (*text).to_owned()).collect(), ..case(kind) };
        case.backend.profile = profile;
        case.sent(json!({"model": "m", "messages": [{"role": "user", "content": "hi"}]})).1.get("skip_special_tokens").cloned()
    };
    let marks = ["<call>"];
    for profile in [Profile::Vllm, Profile::Sglang] {
        assert_eq!(sent(Kind::OpenAi, profile, ToolMode::Raw, &marks), Some(json!(false)));
        assert_eq!(sent(Kind::OpenAi, profile, ToolMode::Native, &marks), None, "its own parser sees to that");
        assert_eq!(sent(Kind::OpenAi, profile, ToolMode::Raw, &[]), None);
    }
    assert_eq!(sent(Kind::OpenAi, Profile::LlamaCpp, ToolMode::Raw, &marks), None);
    assert_eq!(sent(Kind::Ollama, Profile::Generic, ToolMode::Raw, &marks), None);
}

#[test]
fn neighbours_of_one_role_are_joined_where_the_template_demands_it() {
    let chat = json!({"model": "m", "messages": [
        {"role": "user", "content": "One."}, {"role": "user", "content": "Two."}, {"role": "assistant", "content": "Yes."},
    ]});
    let roles = |body: &Value| -> Vec<String> {
        body["messages"].as_array().unwrap().iter().map(|message| message["role"].as_str().unwrap().to_owned()).collect()
    };
    for kind in [Kind::OpenAi, Kind::Ollama] {
        assert_eq!(roles(&case(kind).sent(chat.clone()).1), ["user", "user", "assistant"]);
        let body = Case { learned: Learned { rewrites: vec![Rewrite::Alternate], ..Learned::default() }, ..case(kind) }
            .sent(chat.clone())
            .1;
        assert_eq!(
            (roles(&body), body["messages"][0]["content"].as_str()),
            (vec!["user".into(), "assistant".into()], Some("One.\n\nTwo."))
        );
    }
    // Mistral's template counts no results: what follows one would be a second message of the user.
    let call = json!({"id": "a", "type": "function", "function": {"name": "list_files", "arguments": "{}"}});
    let chat = json!({"model": "m", "messages": [
        {"role": "user", "content": "One."}, {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "a", "content": "r"}, {"role": "user", "content": "Two."},
    ]});
    let body =
        Case { learned: Learned { rewrites: vec![Rewrite::Alternate], ..Learned::default() }, ..case(Kind::OpenAi) }.sent(chat).1;
    assert_eq!(
        (roles(&body), &body["messages"][2]["content"]),
        (["user", "assistant", "tool"].map(String::from).into(), &json!("r\n\nTwo."))
    );
}

#[test]
fn a_server_that_refuses_unknown_fields_gets_those_that_all_know() {
    let mut chat = conversation();
    for (field, value) in [("store", json!(true)), ("user", json!("u")), ("temperature", json!(0.2)), ("seed", json!(7))] {
        chat[field] = value;
    }
    chat["messages"][2]["reasoning_content"] = json!("Hm.");
    let loose = case(Kind::OpenAi).sent(chat.clone()).1;
    assert_eq!((&loose["store"], &loose["messages"][2]["reasoning_content"]), (&json!(true), &json!("Hm.")));
    let plain = Case { learned: Learned { plain: true, ..Learned::default() }, ..case(Kind::OpenAi) }.sent(chat).1;
    let fields: Vec<&str> = plain.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(fields, ["model", "messages", "stream", "tools", "temperature", "seed"]);
    let turn: Vec<&str> = plain["messages"][2].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(turn, ["role", "content", "tool_calls"]);
    assert_eq!(plain["tools"][0]["function"].get("strict"), None);
}

#[test]
fn words_for_effort_are_those_that_ollama_knows() {
    for (effort, think) in [
        ("none", json!(false)),
        ("minimal", json!("low")),
        ("low", json!("low")),
        ("high", json!("high")),
        ("xhigh", json!("high")),
    ] {
        let chat = json!({"model": "m", "messages": [], "reasoning_effort": effort});
        assert_eq!(case(Kind::Ollama).sent(chat).1["think"], think, "{effort}");
    }
}

/// Architecture 7.10: what a client may ask beside tools, on each backend: sent, mapped, or left out with a word about it.
#[test]
fn what_a_client_asks_beside_tools_is_done_or_said() {
    let kinds = [(Kind::Ollama, Profile::Generic), (Kind::Google, Profile::Generic)];
    let servers =
        [Profile::Generic, Profile::LlamaCpp, Profile::Vllm, Profile::Sglang, Profile::LmStudio].map(|p| (Kind::OpenAi, p));
    for (kind, profile) in kinds.into_iter().chain(servers) {
        for (field, value) in [
            ("n", json!(2)),
            ("logprobs", json!(true)),
            ("stop", json!("END")),
            ("stop", json!(["A", "B"])),
            ("response_format", json!({"type": "json_object"})),
            ("response_format", json!({"type": "text"})),
            ("parallel_tool_calls", json!(false)),
            ("functions", json!([{"name": "old", "parameters": {}}])),
            ("max_completion_tokens", json!(7)),
            ("mirostat_unheard_of", json!(1)),
        ] {
            let mut case = case(kind);
            case.backend.profile = profile;
            let mut chat = conversation();
            chat[field] = value.clone();
            let (_, body, notes) = case.sent(chat);
            let place = format!("{kind:?} {profile:?} {field} {value}: {notes:?} {body:#}");
            let list = if value.is_string() { json!([value]) } else { value.clone() };
            match (kind, field) {
                (_, "logprobs") => assert!(body.get("logprobs").is_none() && notes.len() == 1, "{place}"),
                (Kind::OpenAi, "max_completion_tokens") => {
                    let name = if profile == Profile::Generic { "max_completion_tokens" } else { "max_tokens" };
                    assert!(body[name] == 7 && notes.is_empty(), "{place}");
                }
                (Kind::OpenAi, _) => assert!(body[field] == value && notes.is_empty(), "{place}"),
                (Kind::Ollama, "stop") => assert!(body["options"]["stop"] == list && notes.is_empty(), "{place}"),
                (Kind::Google, "stop") => assert!(body["generationConfig"]["stopSequences"] == list, "{place}"),
                (Kind::Ollama, "max_completion_tokens") => assert_eq!(body["options"]["num_predict"], 7, "{place}"),
                (_, "max_completion_tokens") => assert_eq!(body["generationConfig"]["maxOutputTokens"], 7, "{place}"),
                (_, "response_format") if value["type"] == "text" => assert!(notes.is_empty(), "{place}"),
                // Ollama would hold calls to it too.
                (Kind::Ollama, "response_format") => {
                    let system = body["messages"][0]["content"].as_str().unwrap();
                    assert!(body.get("format").is_none() && system.ends_with("must be one JSON object"), "{place}");
                }
                (_, "response_format") => {
                    assert_eq!(body["generationConfig"]["responseMimeType"], "application/json", "{place}");
                }
                // One call an answer is the turn's business, wherever the backend cannot be told.
                (_, "parallel_tool_calls") => assert!(notes.is_empty(), "{place}"),
                (_, "n" | "functions" | "mirostat_unheard_of") => {
                    assert!(body.get(field).is_none() && notes == ["field_dropped"], "{place}");
                }
                _ => unreachable!("{place}"),
            }
        }
    }
}

/// Rule 10: the messages of request N are a prefix of those of request N+1, whatever the backend and the mode.
#[test]
fn a_conversation_only_grows() {
    let mut turns = vec![json!({"role": "system", "content": "Be brief."})];
    for turn in 0..10 {
        turns.push(json!({"role": "user", "content": format!("Question {turn}")}));
        let call = |at: u32| {
            // Clients lose ids, models write broken arguments: mended the same way every time.
            let id = if at == 1 { String::new() } else { format!("id_{turn}_{at}") };
            let arguments = if at == 2 { "{\"path\": \"a\"}{\"path\": \"b\"}" } else { "{\"path\":\"a\"}" };
            json!({"id": id, "type": "function", "function": {"name": "read_file", "arguments": arguments}})
        };
        turns.push(json!({"role": "assistant", "content": null, "tool_calls": [call(0), call(1), call(2)]}));
        turns.push(json!({"role": "tool", "tool_call_id": format!("id_{turn}_0"), "content": "one"}));
        turns.push(json!({"role": "tool", "content": "two"}));
        turns.push(json!({"role": "tool", "tool_call_id": format!("id_{turn}_2"), "content": "three"}));
        turns.push(json!({"role": "assistant", "content": format!("Answer {turn}")}));
    }
    // A request is sent wherever the user or all results have spoken.
    let ends: Vec<usize> = (0..turns.len())
        .filter(|&at| turns[at]["role"] != "assistant" && turns.get(at + 1).is_some_and(|next| next["role"] == "assistant"))
        .collect();
    assert_eq!(ends.len(), 20);
    for kind in [Kind::Ollama, Kind::OpenAi, Kind::Google] {
        for (mode, system) in [(ToolMode::Native, System::Keep), (ToolMode::Prompt, System::Keep), (ToolMode::Raw, System::Fold)]
        {
            let case = Case { mode, prompt: Prompt { system, ..Prompt::default() }, ..case(kind) };
            let mut before: Vec<String> = Vec::new();
            for &end in &ends {
                let chat = json!({"model": "m", "messages": turns[..=end]});
                let (_, mut body, _) = case.sent(chat.clone());
                assert_eq!(case.sent(chat).1, body, "the same conversation is the same request");
                let field = if kind == Kind::Google { "contents" } else { "messages" };
                let messages: Vec<String> =
                    body[field].take().as_array().expect("messages").iter().map(Value::to_string).collect();
                assert!(
                    messages.starts_with(&before),
                    "{kind:?} {mode:?}: turn {end} changed the past:\n{before:#?}\n{messages:#?}"
                );
                before = messages;
            }
        }
    }
}

/// A schema that the backend enforces would forbid the call that the prompt asks for.
#[test]
fn the_clients_form_of_an_answer_permits_calls() {
    let schema = json!({
        "type": "object", "properties": {"total": {"$ref": "#/$defs/n"}}, "required": ["total"], "$defs": {"n": {"type": "integer"}},
    });
    let form = json!({"type": "json_schema", "json_schema": {"name": "r", "schema": schema, "strict": true}});
    let with = |kind, mode, choice, field: &str, value: &Value| {
        let mut case = Case { mode, ..case(kind) };
        case.tools.choice = choice;
        let mut chat = conversation();
        chat[field] = value.clone();
        case.sent(chat).1
    };
    let enforced = |body: &Value| match body.get("format") {
        Some(format) => format.clone(),
        None => body["response_format"]["json_schema"]["schema"].clone(),
    };
    let asks = |body: &Value| body["messages"].to_string().contains("your whole answer must be JSON that fits this schema");
    for (kind, field, value) in
        [(Kind::OpenAi, "response_format", &form), (Kind::Ollama, "response_format", &form), (Kind::Ollama, "format", &schema)]
    {
        for mode in [ToolMode::Prompt, ToolMode::Raw] {
            let body = with(kind, mode, ToolChoice::Auto, field, value);
            assert!(enforced(&body).is_null() && asks(&body), "{body:#}");
        }
        // Without calls, nothing changes.
        for mode in [ToolMode::Native, ToolMode::Prompt, ToolMode::Raw] {
            let body = with(kind, mode, ToolChoice::None, field, value);
            assert!(enforced(&body) == schema && !asks(&body), "{mode:?} {body:#}");
        }
    }
    let body = with(Kind::Ollama, ToolMode::Native, ToolChoice::Auto, "response_format", &form);
    assert!(enforced(&body).is_null() && asks(&body) && body["tools"].is_array(), "{body:#}");
    // Native calls are not text: the server knows both.
    let body = with(Kind::OpenAi, ToolMode::Native, ToolChoice::Auto, "response_format", &form);
    assert!(body["response_format"] == form && !asks(&body), "{body:#}");
}

//! A conversation in the form of each family: tools, past calls and results as the model was trained to see them, turn by
//! turn; the same bytes in every later turn; and what stands for a past call is read back as that call.

use serde_json::{Map, Value, json};
use toolglot::{
    adapter::{render::render, scanner},
    event::{FinishReason, Tool, ToolChoice, Tools},
    openai::{ChatRequest, Message},
};

use crate::{properties::run_with, seen::library};

/// A family: one of its models, what is in the description of the tools, what the two calls of the first turn become,
/// and the result of the first of them.
struct Family {
    model: &'static str,
    tools: &'static [&'static str],
    calls: &'static str,
    result: &'static str,
}

const JSON_CALLS: &str = "{\"name\": \"find_book\", \"arguments\": {\"title\": \"Moby Dick\", \"year\": 1851}}\n{\"name\": \"list_shelves\", \"arguments\": {}}";
const PARAMETER_CALLS: &str = "{\"name\": \"find_book\", \"parameters\": {\"title\": \"Moby Dick\", \"year\": 1851}}\n{\"name\": \"list_shelves\", \"parameters\": {}}";
const TAGGED_CALLS: &str = "<tool_call>\n{\"name\": \"find_book\", \"arguments\": {\"title\": \"Moby Dick\", \"year\": 1851}}\n</tool_call>\n<tool_call>\n{\"name\": \"list_shelves\", \"arguments\": {}}\n</tool_call>";
const TAGGED_RESULT: &str = "<tool_response>\nshelf \"7\"\n</tool_response>";
const PLAIN_RESULT: &str = "Result of the tool call find_book:\nshelf \"7\"";

const FAMILIES: &[Family] = &[
    Family { model: "gemma3:12b", tools: &["Tools:\n\nfind_book: "], calls: JSON_CALLS, result: PLAIN_RESULT },
    Family { model: "gemma3n:e4b", tools: &["Tools:\n\nfind_book: "], calls: JSON_CALLS, result: PLAIN_RESULT },
    Family {
        model: "gemma4:e4b",
        tools: &["<|tool>declaration:find_book{description:<|\"|>Finds a book.<|\"|>,parameters:{type:<|\"|>OBJECT<|\"|>"],
        calls: "<|tool_call>call:find_book{title:<|\"|>Moby Dick<|\"|>,year:1851}<tool_call|><|tool_call>call:list_shelves{}<tool_call|>",
        result: "<|tool_response>response:find_book{value:<|\"|>shelf \"7\"<|\"|>}<tool_response|>",
    },
    Family {
        model: "functiongemma:270m",
        tools: &[
            "<start_function_declaration>declaration:find_book{description:<escape>Finds a book.<escape>,parameters:{type:<escape>OBJECT<escape>",
        ],
        calls: "<start_function_call>call:find_book{title:<escape>Moby Dick<escape>,year:1851}<end_function_call><start_function_call>call:list_shelves{}<end_function_call>",
        result: "<start_function_response>response:find_book{value:<escape>shelf \"7\"<escape>}<end_function_response>",
    },
    Family {
        model: "qwen2.5:7b",
        tools: &["<tools>\n{\"type\": \"function\", \"function\": {\"name\": \"find_book\""],
        calls: TAGGED_CALLS,
        result: TAGGED_RESULT,
    },
    Family {
        model: "qwen2.5-coder:7b",
        tools: &["<tools>\n{\"type\": \"function\""],
        calls: TAGGED_CALLS,
        result: TAGGED_RESULT,
    },
    Family {
        model: "qwen3:8b",
        tools: &["<tools>\n{\"type\": \"function\"", "<tool_call>\n{\"name\": <function-name>"],
        calls: TAGGED_CALLS,
        result: TAGGED_RESULT,
    },
    Family { model: "hermes3:8b", tools: &["<tools>\n{\"type\": \"function\""], calls: TAGGED_CALLS, result: TAGGED_RESULT },
    Family { model: "granite4:3b", tools: &["<tools>\n{\"type\": \"function\""], calls: TAGGED_CALLS, result: TAGGED_RESULT },
    Family {
        model: "qwen3-coder:30b",
        tools: &[
            "<function>\n<name>find_book</name>\n<description>Finds a book.</description>",
            "<parameter=PARAMETER>\nVALUE\n</parameter>",
        ],
        calls: "<tool_call>\n<function=find_book>\n<parameter=title>\nMoby Dick\n</parameter>\n<parameter=year>\n1851\n</parameter>\n</function>\n</tool_call>\n<tool_call>\n<function=list_shelves>\n</function>\n</tool_call>",
        result: TAGGED_RESULT,
    },
    Family {
        model: "qwen3.5:35b",
        tools: &["<name>find_book</name>"],
        calls: "<tool_call>\n<function=find_book>\n<parameter=title>\nMoby Dick\n</parameter>\n<parameter=year>\n1851\n</parameter>\n</function>\n</tool_call>\n<tool_call>\n<function=list_shelves>\n</function>\n</tool_call>",
        result: TAGGED_RESULT,
    },
    Family {
        model: "llama3.1:8b",
        tools: &["{\"type\": \"function\", \"function\": {\"name\": \"find_book\""],
        calls: PARAMETER_CALLS,
        result: "{\"output\": \"shelf \\\"7\\\"\"}",
    },
    Family {
        model: "llama3.3:70b",
        tools: &["{\"type\": \"function\""],
        calls: PARAMETER_CALLS,
        result: "{\"output\": \"shelf \\\"7\\\"\"}",
    },
    Family {
        model: "llama4:scout",
        tools: &["Python list", "<|python_start|>[TOOL_NAME(PARAMETER=\"VALUE\")]<|python_end|>"],
        calls: "<|python_start|>[find_book(title=\"Moby Dick\", year=1851), list_shelves()]<|python_end|>",
        result: "{\"output\": \"shelf \\\"7\\\"\"}",
    },
    Family {
        model: "mistral-small3.2:24b",
        tools: &["[AVAILABLE_TOOLS][{\"type\": \"function\", \"function\": {\"name\": \"find_book\"", "}}][/AVAILABLE_TOOLS]"],
        calls: "[TOOL_CALLS]find_book[ARGS]{\"title\": \"Moby Dick\", \"year\": 1851}[TOOL_CALLS]list_shelves[ARGS]{}",
        result: "[TOOL_RESULTS]shelf \"7\"[/TOOL_RESULTS]",
    },
    Family {
        model: "devstral:24b",
        tools: &["[AVAILABLE_TOOLS]["],
        calls: "[TOOL_CALLS]find_book[ARGS]{\"title\": \"Moby Dick\", \"year\": 1851}[TOOL_CALLS]list_shelves[ARGS]{}",
        result: "[TOOL_RESULTS]shelf \"7\"[/TOOL_RESULTS]",
    },
    Family {
        model: "ministral-3:8b",
        tools: &["[AVAILABLE_TOOLS]["],
        calls: "[TOOL_CALLS]find_book[ARGS]{\"title\": \"Moby Dick\", \"year\": 1851}[TOOL_CALLS]list_shelves[ARGS]{}",
        result: "[TOOL_RESULTS]shelf \"7\"[/TOOL_RESULTS]",
    },
    Family {
        model: "mistral-nemo:12b",
        tools: &["[AVAILABLE_TOOLS]["],
        calls: "[TOOL_CALLS][{\"name\":\"find_book\",\"arguments\":{\"title\":\"Moby Dick\",\"year\":1851},\"id\":\"a1B2c3D4e\"}, {\"name\":\"list_shelves\",\"arguments\":{},\"id\":\"f5G6h7I8j\"}][/TOOL_CALLS]",
        result: "[TOOL_RESULTS]{\"content\": \"shelf \\\"7\\\"\", \"call_id\": \"a1B2c3D4e\"}[/TOOL_RESULTS]",
    },
    Family {
        model: "deepseek-v3:671b",
        tools: &["### find_book\nDescription: Finds a book.\n\nParameters: {\"type\": \"object\""],
        calls: "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>find_book\n```json\n{\"title\": \"Moby Dick\", \"year\": 1851}\n```<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>list_shelves\n```json\n{}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
        result: "<｜tool▁output▁begin｜>shelf \"7\"<｜tool▁output▁end｜>",
    },
    Family {
        model: "deepseek-r1:8b",
        tools: &["### find_book\nDescription: Finds a book."],
        calls: "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>find_book\n```json\n{\"title\": \"Moby Dick\", \"year\": 1851}\n```<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>list_shelves\n```json\n{}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
        result: "<｜tool▁output▁begin｜>shelf \"7\"<｜tool▁output▁end｜>",
    },
    Family {
        model: "deepseek-v3.1:671b",
        tools: &["### find_book\nDescription: Finds a book."],
        calls: "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>find_book<｜tool▁sep｜>{\"title\": \"Moby Dick\", \"year\": 1851}<｜tool▁call▁end｜><｜tool▁call▁begin｜>list_shelves<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
        result: "<｜tool▁output▁begin｜>shelf \"7\"<｜tool▁output▁end｜>",
    },
    Family {
        model: "deepseek-ai/DeepSeek-V3.2",
        tools: &["<functions>\n{\"name\": \"find_book\""],
        calls: "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"find_book\">\n<｜DSML｜parameter name=\"title\" string=\"true\">Moby Dick</｜DSML｜parameter>\n<｜DSML｜parameter name=\"year\" string=\"false\">1851</｜DSML｜parameter>\n</｜DSML｜invoke>\n<｜DSML｜invoke name=\"list_shelves\">\n</｜DSML｜invoke>\n</｜DSML｜function_calls>",
        result: "<function_results>\n<result>shelf \"7\"</result>\n</function_results>",
    },
    Family {
        model: "gpt-oss:20b",
        tools: &[
            "namespace functions {\n\n// Finds a book.\ntype find_book = (_: {\n// the whole title\ntitle: string,\nyear?: number,\ntags?: string[],\n}) => any;",
            "type list_shelves = (_: {\n}) => any;",
        ],
        calls: "<|start|>assistant<|channel|>commentary to=functions.find_book <|constrain|>json<|message|>{\"title\": \"Moby Dick\", \"year\": 1851}<|call|><|start|>assistant<|channel|>commentary to=functions.list_shelves <|constrain|>json<|message|>{}<|call|>",
        result: "<|start|>functions.find_book to=assistant<|channel|>commentary<|message|>shelf \"7\"<|end|>",
    },
    Family {
        model: "phi4-mini:3.8b",
        tools: &["<|tool|>[{\"name\": \"find_book\"", "<|/tool|>", "functools[{\"name\":\"TOOL_NAME\""],
        calls: "functools[{\"name\":\"find_book\",\"arguments\":{\"title\":\"Moby Dick\",\"year\":1851}}, {\"name\":\"list_shelves\",\"arguments\":{}}]",
        result: PLAIN_RESULT,
    },
    Family {
        model: "glm-4.6",
        tools: &["<tools>\n{\"name\": \"find_book\"", "<arg_key>PARAMETER</arg_key>\n<arg_value>VALUE</arg_value>"],
        calls: "<tool_call>find_book\n<arg_key>title</arg_key>\n<arg_value>Moby Dick</arg_value>\n<arg_key>year</arg_key>\n<arg_value>1851</arg_value>\n</tool_call>\n<tool_call>list_shelves\n</tool_call>",
        result: TAGGED_RESULT,
    },
    Family {
        model: "kimi-k2:1t",
        tools: &["[{\"type\": \"function\", \"function\": {\"name\": \"find_book\"", "functions.TOOL_NAME:0"],
        calls: "<|tool_calls_section_begin|><|tool_call_begin|>functions.find_book:0<|tool_call_argument_begin|>{\"title\": \"Moby Dick\", \"year\": 1851}<|tool_call_end|><|tool_call_begin|>functions.list_shelves:1<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>",
        result: "## Return of functions.find_book\nshelf \"7\"",
    },
];

fn tools() -> Tools {
    let find = json!({"type": "object", "properties": {
        "title": {"type": "string", "description": "the whole title"}, "year": {"type": "integer"},
        "tags": {"type": "array", "items": {"type": "string"}}}, "required": ["title"]});
    let list = json!({"type": "object", "properties": {}});
    Tools::new(
        [
            Tool::new("find_book", "Finds a book.", find.to_string()),
            Tool::new("list_shelves", "Lists the shelves.", list.to_string()),
        ],
        ToolChoice::Auto,
    )
}

fn call(id: &str, name: &str, arguments: &str) -> Value {
    json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
}

fn conversation() -> Vec<Value> {
    vec![
        json!({"role": "system", "content": "You keep a library."}),
        json!({"role": "user", "content": "Where is Moby Dick?"}),
        json!({"role": "assistant", "content": "I look.", "tool_calls": [
            call("a1B2c3D4e", "find_book", r#"{"title": "Moby Dick", "year": 1851}"#), call("f5G6h7I8j", "list_shelves", "{}")]}),
        json!({"role": "tool", "tool_call_id": "a1B2c3D4e", "content": "shelf \"7\""}),
        json!({"role": "tool", "tool_call_id": "f5G6h7I8j", "content": "1 to 9"}),
        json!({"role": "assistant", "content": "On shelf 7."}),
        json!({"role": "user", "content": "And Emma?"}),
        json!({"role": "assistant", "content": null, "tool_calls": [call("k9L8m7N6o", "find_book", r#"{"title":"Emma"}"#)]}),
        json!({"role": "tool", "tool_call_id": "k9L8m7N6o", "content": "lent out"}),
    ]
}

fn rendered(model: &str, raw: bool, messages: &[Value]) -> Vec<Message> {
    let found = library().find(model, None);
    let request = ChatRequest::from_value(json!({"model": model, "messages": messages})).unwrap();
    let out = render(&found.adapter, raw, &request, &tools()).unwrap();
    assert!(
        out.messages
            .iter()
            .all(|message| message.tool_calls.is_empty() && matches!(message.role.as_str(), "system" | "user" | "assistant"))
    );
    out.messages
}

/// The calls that are read in a text.
fn read(model: &str, text: &str) -> Vec<(String, Map<String, Value>)> {
    let found = library().find(model, None);
    let seen = run_with(&found.adapter, &scanner::Options::default(), [text], FinishReason::Stop, tools());
    seen.calls().into_iter().map(|(name, arguments)| (name, serde_json::from_str(&arguments).unwrap())).collect()
}

#[test]
fn each_family_sees_tools_calls_and_results_in_its_own_form() {
    let mut wrong = Vec::new();
    for family in FAMILIES {
        let messages = rendered(family.model, true, &conversation());
        let texts: Vec<String> = messages.iter().map(|message| message.content.to_text()).collect();
        for expected in family.tools {
            if !texts[0].contains(expected) || !texts[0].starts_with("You keep a library.\n\n") {
                wrong.push(format!("{}: {expected:?} is not in\n{}", family.model, texts[0]));
            }
        }
        let assistant: Vec<&String> =
            messages.iter().zip(&texts).filter(|(message, _)| message.role == "assistant").map(|(_, text)| text).collect();
        let expected = format!("I look.\n{}", family.calls);
        if *assistant[0] != expected {
            wrong.push(format!("{}: expected\n{expected}\ngot\n{}", family.model, assistant[0]));
        }
        let answer = texts.iter().position(|text| text == assistant[0]).map_or("", |at| texts[at + 1].as_str());
        if !answer.starts_with(family.result) || !answer.contains("1 to 9") {
            wrong.push(format!("{}: expected {:?}, got {answer:?}", family.model, family.result));
        }
        // The second turn, and what is read of the first.
        let emma: Map<String, Value> = json!({"title": "Emma"}).as_object().cloned().unwrap();
        if read(family.model, assistant[2]) != [("find_book".to_owned(), emma)] || !texts.last().unwrap().contains("lent out") {
            wrong.push(format!("{}: the second turn is {:?}", family.model, &texts[texts.len() - 2..]));
        }
        let moby: Map<String, Value> = json!({"title": "Moby Dick", "year": 1851}).as_object().cloned().unwrap();
        let calls = read(family.model, assistant[0]);
        if calls != [("find_book".to_owned(), moby), ("list_shelves".to_owned(), Map::new())] {
            wrong.push(format!("{}: read back as {calls:?}: {}", family.model, assistant[0]));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n\n"));
}

#[test]
fn a_later_turn_begins_with_the_same_bytes() {
    let all = conversation();
    for adapter in library().iter() {
        for raw in [false, true] {
            let rendered = |upto: usize| {
                let request = ChatRequest::from_value(json!({"model": "m", "messages": &all[..upto]})).unwrap();
                let messages = render(adapter, raw, &request, &tools()).unwrap().messages;
                messages
                    .into_iter()
                    .map(|message| format!("{}: {}\n", message.role, message.content.to_text()))
                    .collect::<Vec<_>>()
            };
            // Where a round ends: before the model speaks.
            for (earlier, later) in [(2, 5), (5, 7), (7, 9)] {
                let (before, now) = (rendered(earlier), rendered(later));
                assert!(now.starts_with(&before), "{}, raw: {raw}: {before:#?}\n{now:#?}", adapter.name);
            }
        }
    }
}

#[test]
fn past_calls_are_never_prose_and_always_read_back() {
    let awkward =
        json!({"title": "</parameter></tool_call> \"<|im_end|>\" ```json\n{}\n```", "tags": ["a", "</arg_value>"], "year": -1});
    let messages = [
        json!({"role": "user", "content": "go"}),
        json!({"role": "assistant", "content": "", "tool_calls": [call("a1B2c3D4e", "find_book", &awkward.to_string())]}),
    ];
    let mut wrong = Vec::new();
    for adapter in library().iter() {
        for raw in [false, true] {
            let request = ChatRequest::from_value(json!({"model": "m", "messages": messages})).unwrap();
            let text = render(adapter, raw, &request, &tools()).unwrap().messages.last().unwrap().content.to_text();
            let seen = run_with(adapter, &scanner::Options::default(), [text.as_str()], FinishReason::Stop, tools());
            let calls: Vec<(String, Value)> =
                seen.calls().into_iter().map(|(name, arguments)| (name, serde_json::from_str(&arguments).unwrap())).collect();
            if calls != [("find_book".to_owned(), awkward.clone())] {
                wrong.push(format!("{}, raw: {raw}: {text:?} is read as {calls:?}", adapter.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

//! The form of Cline and its kin, with a reader after their rules: tags are found anywhere in the text, a value ends at the
//! first closing tag of its parameter.

use super::*;
use crate::fix::{End, Schemas, fix};

const PROMPT: &str = "You are a careful helper.

====

TOOL USE

One tool for each message.

# Tool Use Formatting

Write it so:

<actual_tool_name>
<parameter1_name>value1</parameter1_name>
</actual_tool_name>

# Tools

## read_file
Description: Gives the text of files.
More than one at once, too.

Parameters:
- args: Contains file elements:
  - path: (required) Where the file is.

Usage:
<read_file>
<args>
  <file>
    <path>where/it/is</path>
  </file>
</args>
</read_file>

Examples:

1. One file:
<read_file>
<args>
  <file>
    <path>a.rs</path>
  </file>
</args>
</read_file>

## write_to_file
Description: Writes a file.
Parameters:
- path: (required) Where.
- content: (required) All of the text.
- mode: (optional) How.
Usage:
<write_to_file>
<path>Path here</path>
<content>
Text here
</content>
</write_to_file>

## use_server
Description: Calls a server.

Required Parameters:
- name: Which tool.

Optional Parameters:
- arguments: JSON

Usage:
<use_server>
<name>tool</name>
<arguments>
{ \"a\": 1 }
</arguments>
</use_server>

## list_all

**Description:**
Lists everything.

**Usage Example:**
<list_all>
</list_all>

# Tool Use Examples

## Example 1: Reading

<read_file>
</read_file>

# Tool Use Guidelines

1. Think first.

====

RULES

- Be kind.
";

struct Reader {
    tools: Vec<(&'static str, &'static [&'static str])>,
}

impl Reader {
    fn new() -> Reader {
        Reader {
            tools: vec![
                ("read_file", &["args"]),
                ("write_to_file", &["path", "content", "mode"]),
                ("use_server", &["name", "arguments"]),
                ("list_all", &[]),
            ],
        }
    }

    /// The first tool that is used, closed or not, as these clients run it when the stream is over.
    fn read(&self, text: &str) -> Option<(String, Vec<(String, String)>)> {
        let found = self.tools.iter().filter_map(|(name, _)| Some((text.find(&format!("<{name}>"))?, *name)));
        let (at, name) = found.min()?;
        let mut rest = &text[at + name.len() + 2..];
        let all: Vec<&str> = self.tools.iter().flat_map(|(_, parameters)| parameters.iter().copied()).collect();
        let mut values: Vec<(String, String)> = Vec::new();
        loop {
            let end = rest.find(&format!("</{name}>")).unwrap_or(rest.len());
            let next = all.iter().filter_map(|name| Some((rest.find(&format!("<{name}>"))?, *name))).min();
            let Some((at, parameter)) = next.filter(|(at, _)| *at < end) else { return Some((name.to_owned(), values)) };
            rest = &rest[at + parameter.len() + 2..];
            let close = format!("</{parameter}>");
            let end = rest.find(&close).unwrap_or(rest.len());
            let value = rest[..end].trim().to_owned();
            values.retain(|(name, _)| name != parameter);
            values.push((parameter.to_owned(), value));
            rest = rest.get(end + close.len()..).unwrap_or_default();
        }
    }
}

fn offered() -> (Arc<Tools>, String) {
    let mut request = request(json!([{"role": "system", "content": PROMPT}]));
    let (grammar, tools, _) = read(&mut request).unwrap();
    assert_eq!(grammar, Grammar::Cline);
    (Arc::new(tools), request.messages[0].content.to_text())
}

fn text_of(sse: &str) -> String {
    let deltas = sse.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line.strip_prefix("data: ")?).ok());
    deltas.filter_map(|chunk| Some(chunk["choices"][0]["delta"]["content"].as_str()?.to_owned())).collect()
}

#[test]
fn the_prompt_becomes_tools_and_is_cut_out() {
    let (tools, rest) = offered();
    assert_eq!(
        rest,
        "You are a careful helper.\n\n====\n\nTOOL USE\n\nOne tool for each message.\n\n# Tool Use Guidelines\n\n1. Think first.\n\n====\n\nRULES\n\n- Be kind.\n"
    );
    let schema = |name: &str| serde_json::from_str::<serde_json::Value>(&tools.get(name).unwrap().schema).unwrap();
    assert_eq!(tools.len(), 4);
    assert_eq!(tools.get("read_file").unwrap().description, "Gives the text of files.\nMore than one at once, too.");
    assert_eq!(
        schema("write_to_file"),
        json!({"type": "object", "required": ["path", "content"], "properties": {
            "path": {"description": "Where."}, "content": {"description": "All of the text."}, "mode": {"description": "How."}}})
    );
    assert_eq!(tools.get("list_all").unwrap().description, "Lists everything.");
    let args = schema("read_file")["properties"]["args"].clone();
    assert_eq!(args["contentMediaType"], "application/xml");
    assert!(args["description"].as_str().unwrap().contains("As elements:\n<file>"));
    assert_eq!(
        (schema("use_server")["required"].clone(), schema("list_all")["properties"].clone()),
        (json!(["name"]), json!({}))
    );
}

#[test]
fn a_value_that_is_not_shown_as_elements_is_text_whatever_it_looks_like() {
    let (tools, _) = offered();
    let tool = tools.get("write_to_file").unwrap();
    let schema = Schemas::default().get(tool.checked_schema());
    for value in ["null", "None", "True", "\"quoted\"", "12"] {
        let report = fix(&json!({"path": "a", "content": value}).to_string(), Some(&schema), &[], End::Closed);
        assert_eq!(report.accepted(), Some(&*json!({"path": "a", "content": value}).to_string()), "{value}");
    }
    let types = |name: &str| serde_json::from_str::<serde_json::Value>(tools.get(name).unwrap().checked_schema()).unwrap();
    assert_eq!(types("write_to_file")["properties"]["content"]["type"], "string");
    assert_eq!(types("read_file")["properties"]["args"]["type"], json!(null));
}

#[test]
fn calls_arrive_as_meant_or_are_refused() {
    let (tools, _) = offered();
    let elements = "<file><path>a.rs</path></file>\n<file><path>b.rs</path></file>";
    for (name, arguments, values) in [
        ("list_all", json!({}), Some(vec![])),
        (
            "write_to_file",
            json!({"path": "a", "content": "fn a() {\n    <read_file>\n}"}),
            Some(vec![("path", "a"), ("content", "fn a() {\n    <read_file>\n}")]),
        ),
        (
            "write_to_file",
            json!({"content": "</path> </write_to_file>", "path": "a"}),
            Some(vec![("path", "a"), ("content", "</path> </write_to_file>")]),
        ),
        ("use_server", json!({"name": "t", "arguments": "x </arguments> y"}), None),
        (
            "use_server",
            json!({"name": "t", "arguments": {"a": [1, "<b>"]}}),
            Some(vec![("name", "t"), ("arguments", "{\"a\":[1,\"<b>\"]}")]),
        ),
        ("read_file", json!({"args": {"file": [{"path": "a.rs"}, {"path": "b.rs"}]}}), Some(vec![("args", elements)])),
        ("read_file", json!({"args": elements}), Some(vec![("args", elements)])),
    ] {
        let mut events = vec![OwnedEvent::Text("Use <write_to_file> now.".into())];
        events.extend(call(0, name, &arguments));
        events.push(OwnedEvent::Finish(FinishReason::ToolCalls));
        let text = text_of(&stream(Kind::Xml(Grammar::Cline), &tools, &events).0);
        let values = values.map(|values| {
            (name.to_owned(), values.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect::<Vec<_>>())
        });
        assert_eq!(Reader::new().read(&text), values, "{text}");
        assert_eq!(text.contains("[toolglot] call of"), values.is_none());
    }
}

#[test]
fn ordinary_answers_run_nothing() {
    let (tools, _) = offered();
    let pieces = [
        "<list_all>",
        "`<read_file>`",
        "<write_to_file>\n<path>a</path>",
        "</list_all>",
        "<list_",
        "all>",
        "```xml\n<use_server>\n```",
    ];
    for first in pieces {
        for second in pieces {
            let text = format!("Say {first}{second} and so on.");
            for (cut, _) in text.char_indices() {
                let events = [text[..cut].to_owned(), text[cut..].to_owned()].map(OwnedEvent::Text);
                let mut events = events.to_vec();
                events.push(OwnedEvent::Finish(FinishReason::Stop));
                let sent = text_of(&stream(Kind::Xml(Grammar::Cline), &tools, &events).0);
                assert_eq!(Reader::new().read(&sent), None, "{sent}");
            }
        }
    }
}

#[test]
fn a_conversation_is_translated() {
    let details = "<environment_details>\nnone\n</environment_details>";
    let mut request = request(json!([
        {"role": "system", "content": PROMPT},
        {"role": "user", "content": [{"type": "text", "text": "<task>\nFix it\n</task>"}, {"type": "text", "text": details}]},
        {"role": "assistant", "content": "I look.\n\n<read_file>\n<args>\n<file><path>a.rs</path></file>\n</args>\n</read_file>"},
        {"role": "user", "content": [
            {"type": "text", "text": "[read_file for 'a.rs'] Result:"}, {"type": "text", "text": "fn a() {}"}, {"type": "text", "text": details}]},
        {"role": "assistant", "content": "<write_to_file>\n<path>a.rs</path>\n<content>\nfn b() {}\n\n</content>\n</write_to_file>"},
        {"role": "user", "content": format!("[write_to_file for 'a.rs'] Result:\nSaved.\n\n{details}")},
        {"role": "assistant", "content": "<write_to_file>\n<path>b</path>\n<content>\n<content>x</content>\n<p>y</p>\n</content>\n</write_to_file>"},
        {"role": "user", "content": "[write_to_file for 'b'] Result:\nSaved."},
        {"role": "assistant", "content": "<list_all>\n</list_all>"},
        {"role": "user", "content": [{"type": "text", "text": "Stop."}]},
    ]));
    read(&mut request).unwrap();
    let brief: Vec<String> = request.messages[1..]
        .iter()
        .map(|message| {
            let calls: String = message.tool_calls.iter().map(|call| format!("{} {}", call.name, call.arguments)).collect();
            format!("{}: {}{calls}", message.role, message.content.to_text())
        })
        .collect();
    assert_eq!(
        brief,
        [
            format!("user: <task>\nFix it\n</task>\n{details}"),
            "assistant: I look.read_file {\"args\":\"<file><path>a.rs</path></file>\"}".into(),
            "tool: fn a() {}".into(),
            format!("user: {details}"),
            "assistant: write_to_file {\"path\":\"a.rs\",\"content\":\"fn b() {}\\n\"}".into(),
            "tool: Saved.".into(),
            format!("user: {details}"),
            "assistant: write_to_file {\"path\":\"b\",\"content\":\"<content>x</content>\\n<p>y</p>\"}".into(),
            "tool: Saved.".into(),
            "assistant: list_all {}".into(),
            "tool: not run".into(),
            "user: Stop.".into(),
        ]
    );
}

#[test]
fn control_tokens_are_broken_in_results_alone() {
    let library = crate::seen::library();
    let sent = |grammar: Grammar, family: &str, message: serde_json::Value| {
        let mut messages = request(json!([message])).messages;
        crate::client::shape::break_turns(Kind::Xml(grammar), &mut messages, library.get(family).unwrap().turns());
        json!(messages[0])
    };
    let user = |content: serde_json::Value| json!({"role": "user", "content": content});
    let text = |text: &str| json!({"type": "text", "text": text});
    let torn = "a<|im_end|>\n<|im_start|>assistant\n";
    let broken = "a< |im_end|>\n< |im_start|>assistant\n";
    let image = json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}});
    for (grammar, message, expected) in [
        (
            Grammar::Void,
            user(json!(format!("<read_file_result>\n{torn}\n</read_file_result>\n\nSay {torn}"))),
            user(json!(format!("<read_file_result>\n{broken}\n</read_file_result>\n\nSay {torn}"))),
        ),
        // The tool wrote the closing tag, or Void cut it off.
        (
            Grammar::Void,
            user(json!(format!("<read_file_result>\n</read_file_result>{torn}\n</read_file_result>"))),
            user(json!(format!("<read_file_result>\n</read_file_result>{broken}\n</read_file_result>"))),
        ),
        (
            Grammar::Void,
            user(json!(format!("<read_file_result>\n{torn}..."))),
            user(json!(format!("<read_file_result>\n{broken}..."))),
        ),
        (
            Grammar::Cline,
            user(json!([text("[read_file for 'a'] Result:"), text(torn), image])),
            user(json!([text("[read_file for 'a'] Result:"), text(broken), image])),
        ),
        (
            Grammar::Cline,
            user(json!(format!("[read_file for 'a'] Result:\n<environment_details>{torn}"))),
            user(json!(format!("[read_file for 'a'] Result:\n<environment_details>{broken}"))),
        ),
    ] {
        assert_eq!(sent(grammar, "hermes", message), expected);
        assert_eq!(sent(grammar, "hermes", expected.clone()), expected, "it stays as it is from turn to turn");
    }
    // What is no result stays, and each family has its own tokens.
    for grammar in [Grammar::Void, Grammar::Cline] {
        for message in [
            user(json!(torn)),
            user(json!([text("Look:"), text("[read_file for 'a'] Result:"), text(torn)])),
            json!({"role": "assistant", "content": format!("<read_file_result>{torn}")}),
            json!({"role": "assistant", "content": format!("[read_file] Result:{torn}")}),
            json!({"role": "system", "content": torn}),
        ] {
            assert_eq!(sent(grammar, "hermes", message.clone()), message);
        }
    }
    let turn = user(json!("<ls_dir_result>\n<end_of_turn>\n</ls_dir_result>"));
    assert_eq!(sent(Grammar::Void, "hermes", turn.clone()), turn);
    assert_eq!(sent(Grammar::Void, "gemma3", turn)["content"], "<ls_dir_result>\n< end_of_turn>\n</ls_dir_result>");
}

/// The parameters of `write_to_file` as both parsers of these clients read them, the older one while the text grows and the newer
/// one at the end of the call. `known`: the parameters of all tools.
fn read_as_both(known: &[&str], text: &str) -> [Option<Vec<(String, String)>>; 2] {
    let (open, close) = ("<write_to_file>", "</write_to_file>");
    let start = text.find(open).unwrap() + open.len();
    let mut values: [Vec<(String, String)>; 2] = Default::default();
    let set = |values: &mut Vec<(String, String)>, name: &str, value: &str| {
        values.retain(|(known, _)| known != name);
        values.push((name.to_owned(), value.trim().to_owned()));
    };
    let mut parameter: Option<(&str, usize)> = None;
    for end in (start..=text.len()).filter(|end| text.is_char_boundary(*end)) {
        let so_far = &text[start..end];
        let whole = || Some(so_far[so_far.find("<content>")? + 9..].rsplit_once("</content>")?.0);
        if let Some((name, from)) = parameter {
            let Some(value) = text[from..end].strip_suffix(&format!("</{name}>")) else { continue };
            values.iter_mut().for_each(|values| set(values, name, value));
            parameter = None;
        } else if so_far.ends_with(close) {
            if let Some(value) = whole() {
                set(&mut values[1], "content", value);
            }
            return values.map(Some);
        } else if let Some(name) = known.iter().find(|name| so_far.ends_with(&format!("<{name}>"))) {
            parameter = Some((name, end));
        } else if let Some(value) = whole().filter(|_| so_far.ends_with("</content>")) {
            set(&mut values[0], "content", value);
        }
    }
    [None, None]
}

#[test]
fn the_text_of_a_file_arrives_whole_or_not_at_all() {
    let (tools, _) = offered();
    let pieces = [
        "<content>", "</content>", "<path>", "</path>", "<mode>", "<text>", "</text>", "<p>", "</write_to_file>", "x", "\n", "<",
    ];
    let numbered = |length: u32, number: usize| {
        (0..length).map(|place| pieces[number / pieces.len().pow(place) % pieces.len()]).collect::<String>()
    };
    let all = (1..=3).flat_map(|length| (0..pieces.len().pow(length)).map(move |number| (length, number)));
    // A few of the longer ones.
    let some = (0..pieces.len().pow(5)).step_by(137).map(|number| (5, number));
    let (mut carried, mut refused) = (0, 0);
    for (length, number) in all.chain(some) {
        let content = numbered(length, number);
        let content = content.trim();
        let arguments = json!({"path": "a", "content": content}).to_string();
        let Some(text) = written(Grammar::Cline, &tools, "write_to_file", &arguments) else {
            refused += 1;
            assert!(content.contains("</content>"), "{content}");
            continue;
        };
        carried += usize::from(content.contains("</content>"));
        let meant = [("path", "a"), ("content", content)].map(|(name, value)| (name.to_owned(), value.to_owned()));
        // The client knows the parameters of more tools than it offers.
        for known in [&["path", "content", "mode"][..], &["path", "content", "mode", "text", "p"]] {
            for values in read_as_both(known, &text) {
                let values: Vec<_> =
                    values.unwrap().into_iter().filter(|(name, _)| !["text", "p"].contains(&name.as_str())).collect();
                assert!(values.len() == 2 && meant.iter().all(|value| values.contains(value)), "{text}: {values:?}");
            }
        }
        let history = history::translate(vec![Message::text("assistant", text.clone())], &tools, Grammar::Cline);
        let remembered: serde_json::Value = serde_json::from_str(&history[0].tool_calls[0].arguments).unwrap();
        assert_eq!(remembered, json!({"path": "a", "content": content}), "{text}");
    }
    assert!(carried > 300 && refused > 300, "{carried} {refused}");
}

#[test]
fn a_file_with_its_own_closing_tag_is_written() {
    let (tools, _) = offered();
    let body = |content: &str| {
        let arguments = json!({"path": "f.xml", "content": content}).to_string();
        expressible(Grammar::Cline, &tools, "write_to_file", &arguments).map_err(|why| why.to_string())
    };
    for content in [
        "<feed>\n<entry><content>text</content></entry>\n</feed>",
        "The tag `</content>` ends it.",
        "<resources><content>a</content>\n<content>b</content></resources>",
        "<content>a</content>\n<text>b</text>",
    ] {
        assert_eq!(body(content), Ok(()));
    }
    for (content, tag) in [
        ("a</content>\n<path>b</path>", "`<path>`"),
        ("a</content>\n<text>b", "`<text>`"),
        ("a</content>\n</write_to_file>", "`</write_to_file>`"),
        ("a</content>\n<content>b", "`<content>`"),
    ] {
        assert!(body(content).unwrap_err().contains(tag), "{content}");
    }
}

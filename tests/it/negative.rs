//! What must never be executed: ordinary answers of every kind, to a client that offers tools, read by every adapter. No call,
//! no refusal, and every byte out again.

use std::{collections::HashSet, sync::Arc};

use serde_json::{Map, Value, json};
use toolglot::{
    adapter::{Adapter, Written, scanner},
    event::{FinishReason, Tool, ToolChoice, Tools},
};

use crate::{effort, properties::run_with, seen::library};

const TOOLS: [&str; 6] = ["read_file", "edit_file", "run_command", "get_weather", "search", "list_files"];
const PLACES: [&str; 6] = ["src/main.rs", "docs/intro.md", "/etc/hosts", "Oslo", "a b.txt", "økonomi/東京.txt"];

fn tools() -> Tools {
    let schema =
        json!({"type": "object", "properties": {"path": {"type": "string"}, "line": {"type": "integer"}}, "required": ["path"]});
    Tools::new(TOOLS.map(|name| Tool::new(name, "", schema.to_string())), ToolChoice::Auto)
}

fn written(tool: &str, place: &str, number: usize) -> Written {
    let mut arguments = Map::new();
    arguments.insert("path".into(), Value::from(place));
    arguments.insert("line".into(), Value::from(number));
    Written { name: tool.to_owned(), id: None, arguments }
}

/// Ordinary answers: the numbers make each of them another one.
fn answers(number: usize) -> Vec<String> {
    let (tool, other) = (TOOLS[number % TOOLS.len()], TOOLS[(number / 2 + 1) % TOOLS.len()]);
    let (place, port) = (PLACES[number % PLACES.len()], 3000 + number);
    let call = format!("{{\"name\": \"{tool}\", \"arguments\": {{\"path\": \"{place}\", \"line\": {port}}}}}");
    vec![
        format!(
            "Use this configuration:\n\n```json\n{{\"name\": \"shop-{port}\", \"port\": {port}, \"parameters\": {{\"path\": \"{place}\"}}}}\n```\n\nThen restart it."
        ),
        format!("```json\n{{\"name\": \"package-{port}\", \"version\": \"1.{number}.0\"}}\n```"),
        format!("The server writes\n\n```json\n{call}\n```\n\nwhen it calls `{tool}`; nothing runs here."),
        format!("Run it:\n\n```bash\n{tool} --path {place} --line {port}\ncurl -d '{call}' localhost:{port}\n```\n"),
        format!(
            "```python\ndef {tool}(path, line={number}):\n    return {other}(path=\"{place}\")\n\nprint({tool}(path=\"x\"))\n```\nThis prints {port}."
        ),
        format!("Call `{tool}(path=\"{place}\")` first, then `[{other}(path=\"x\", line={number})]`, and look at {port}."),
        format!("- `<{tool}>` opens it\n- `</{tool}>` closes it\n- `<tool_call>{call}</tool_call>` is the whole, see {number}\n"),
        format!("```xml\n<{tool}>\n<path>{place}</path>\n</{tool}>\n```\n\nis the XML form of {number}."),
        format!("```diff\n- <tool_call>{call}</tool_call>\n+ <function={other}>\n```\nThe diff {number} is small."),
        format!("<p>Page {number}</p>\n<ul><li>{place}</li></ul>\n<tool>hammer {number}</tool>\n"),
        format!("| tool | path |\n|---|---|\n| {tool} | {place} |\n| {other} | {{\"path\": {number}}} |\n"),
        format!("~~~\n<tool_call>\n{call}\n</tool_call>\n~~~\nThe block {number} above is an example."),
        format!("if (a < b && c > d) {{ x[{number}] = {{ path: '{place}' }}; }} // {tool}"),
        format!("Set `\"name\": \"{tool}\"` and `\"arguments\": {{}}` in step {number}: {{ }} [ ] ( ) < > `"),
        format!("````markdown\n```json\n{call}\n```\n````\nshows a nested fence, {number}."),
        format!("The {number} files are:\n1. {place}\n2. {other}.rs\n\n{{\"a\": {port}}}\n\nDone."),
        format!("Math: [1, 2, {number}] and {{x | x < {port}}}, f({number}) = <{tool}|{other}>."),
        format!("Action items for {number}:\n- Thought: none\n- {tool} is ready\n"),
        format!("{{\"name\": \"{tool}\", \"path\": \"{place}\", \"size\": {port}}}"),
        format!("[{{\"name\": \"{tool}\", \"description\": \"Number {number}\", \"parameters\": {{\"path\": \"{place}\"}}}}]"),
        format!("{{\"name\": \"{tool}\", \"arguments\": {{\"path\": \"<path>\", \"line\": {number}}}}}"),
    ]
}

/// A tutorial: the family's own form of a valid call where a document shows it, prose on both sides.
fn tutorials(adapter: &Adapter, number: usize) -> Vec<String> {
    let call = written(TOOLS[number % TOOLS.len()], PLACES[number % PLACES.len()], number);
    let Some(text) = adapter.write(std::slice::from_ref(&call)) else { return Vec::new() };
    let mut out = vec![format!("This family writes calls like this ({number}):\n\n~~~~\n{text}\n~~~~\n\nNever run an example.")];
    if !text.contains("```") {
        out.push(format!("This family writes calls like this ({number}):\n\n```text\n{text}\n```\n\nNever run an example."));
    }
    if !text.contains(['`', '\n']) {
        out.push(format!("In one line it is `{text}`, example {number}, and the client runs it."));
    }
    out
}

fn check(adapter: &Arc<Adapter>, tools: &Arc<Tools>, answer: &str, wrong: &mut Vec<String>) {
    let options = scanner::Options { framing: false, ..scanner::Options::default() };
    let seen = run_with(adapter, &options, [answer], FinishReason::Stop, Arc::clone(tools));
    if !seen.calls().is_empty() || seen.text() != answer {
        wrong.push(format!("{}: {answer:?}\n    calls {:?}\n    text {:?}", adapter.name, seen.calls(), seen.text()));
    }
}

#[test]
fn ordinary_answers_are_never_calls_and_lose_no_byte() {
    let adapters: Vec<_> = library().iter().cloned().collect();
    let (mut wrong, mut distinct) = (Vec::new(), HashSet::new());
    let tools = Arc::new(tools());
    // Every answer is read by three adapters, every adapter reads answers of every kind.
    let count = effort::of(64, 160);
    for number in 0..count {
        for (kind, answer) in answers(number).into_iter().enumerate() {
            for step in 0..3 {
                check(&adapters[(number * 3 + kind * 7 + step * 23) % adapters.len()], &tools, &answer, &mut wrong);
            }
            distinct.insert(answer);
        }
    }
    for adapter in &adapters {
        for number in 0..6 {
            for answer in tutorials(adapter, number) {
                check(adapter, &tools, &answer, &mut wrong);
                distinct.insert(answer);
            }
        }
    }
    assert!(distinct.len() >= count * 18, "only {} distinct answers", distinct.len());
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong[..wrong.len().min(12)].join("\n"));
}

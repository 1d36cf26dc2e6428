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
        Note::Writing { .. } => "",
    });
    assert_eq!(codes.collect::<Vec<_>>(), ["duplicate_tool", "tool_ignored"]);
}

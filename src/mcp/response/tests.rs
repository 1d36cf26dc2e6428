use serde_json::json;

use super::{INTERNAL_ERROR, McpResponse, ServiceInfo, ToolResult};

#[test]
fn the_helpers_make_json_rpc() {
    let table = [
        (
            McpResponse::result(ToolResult::text("hi")),
            json!({"jsonrpc": "2.0", "id": null, "result": {"content": [{"type": "text", "text": "hi"}]}}),
        ),
        (
            McpResponse::result(ToolResult { structured: Some(json!({"n": 2})), ..ToolResult::default() }),
            json!({"jsonrpc": "2.0", "id": null, "result": {"content": [], "structuredContent": {"n": 2}}}),
        ),
        (McpResponse::result(ToolResult::default()), json!({"jsonrpc": "2.0", "id": null, "result": {"content": []}})),
        (McpResponse::error("no"), json!({"jsonrpc": "2.0", "id": null, "error": {"code": INTERNAL_ERROR, "message": "no"}})),
    ];
    for (response, expected) in table {
        assert_eq!(response.to_value(), expected);
    }
}

#[test]
fn each_item_says_where_it_came_from() {
    let info = ServiceInfo::external("files", "read_file");
    let content = vec![
        json!({"type": "text", "text": "a", "_meta": {"own": 1}}),
        json!({"type": "resource", "resource": {"uri": "ui://view", "text": "<p>"}}),
    ];
    let response = McpResponse::result(ToolResult { content, ..ToolResult::default() }).from_service(&info);
    let value = response.to_value();
    for at in 0..2 {
        let item = &value["result"]["content"][at];
        assert_eq!(item["serviceInfo"], json!({"serverName": "files", "toolName": "read_file", "backendType": "ExternalMCP"}));
        assert_eq!(item["_meta"]["toolglot/serviceInfo"], item["serviceInfo"]);
    }
    assert_eq!(value["result"]["content"][0]["_meta"]["own"], 1);
    assert_eq!(info.full_name(), "files__read_file");
    assert_eq!(ServiceInfo::built_in("sqlite", "search_docs").full_name(), "builtin.sqlite__search_docs");
}

#[test]
fn a_model_reads_every_kind_of_content() {
    let content = vec![
        json!({"type": "text", "text": "one"}),
        json!({"type": "image", "data": "AAAA", "mimeType": "image/png"}),
        json!({"type": "resource", "resource": {"uri": "file:///a", "text": "inside"}}),
        json!({"type": "resource", "resource": {"uri": "file:///b", "blob": "AA=="}}),
        json!({"type": "resource_link", "uri": "file:///c", "name": "c"}),
    ];
    let text = McpResponse::result(ToolResult { content, ..ToolResult::default() }).to_text();
    assert_eq!(text, "one\n[image of type image/png]\ninside\n[resource file:///b]\n[resource file:///c: c]");
    let only = ToolResult { structured: Some(json!({"n": 1})), ..ToolResult::default() };
    assert_eq!(McpResponse::result(only).to_text(), r#"{"n":1}"#);
    assert_eq!(McpResponse::error("gone").to_text(), "error: gone");
}

#[test]
fn hidden_errors_are_seen_only_in_that_form() {
    let of = |text: &str| ToolResult { content: vec![json!({"type": "text", "text": text})], ..ToolResult::default() };
    assert!(of(r#"{"error":"no such file"}"#).hides_error());
    assert!(of(r#"{"error":{"code":1}}"#).hides_error());
    for fine in [r#"{"error":null}"#, r#"{"error":false}"#, r#"{"result":"error"}"#, "error: x", "[1]", r#""error""#] {
        assert!(!of(fine).hides_error(), "{fine}");
    }
}

#[test]
fn a_hidden_credential_is_taken_out_in_every_spelling() {
    let secret = "hidden-tok/en-778899";
    let inner = json!({"b": secret}).to_string().replace('/', "\\/");
    for text in [
        json!({secret: 1}).to_string(),
        format!("x{secret}x"),
        json!({"a": secret}).to_string().replace('/', "\\/"),
        json!({"a": secret}).to_string().replace('t', "\\u0074"),
        json!({"a": inner}).to_string(),
        format!("https://h/?t={}", secret.replace('/', "%2F")),
    ] {
        let content = vec![json!({"type": "text", "text": text})];
        let structured = Some(json!({secret: [{secret: text}], "main": "main"}));
        let mut response = McpResponse::result(ToolResult { content, structured, is_error: false });
        response.redact(&[secret.into(), "main".into()]);
        let left = response.to_value().to_string();
        assert!(!left.contains("en-778899") && left.contains("\"main\":\"[hidden]\""), "{text}: {left}");
    }
}

#[test]
fn hidden_values_are_taken_out_everywhere() {
    let content =
        vec![json!({"type": "text", "text": r#"{"key":"s3cr\"et","n":1}"#}), json!({"type": "text", "text": "key s3cr\"et!"})];
    let structured = Some(json!({"list": ["s3cr\"et"], "number": 123456}));
    let mut response = McpResponse::result(ToolResult { content, structured, is_error: false });
    response.redact(&["s3cr\"et".into(), "s3cr\\\"et".into(), "123456".into()]);
    let text = response.to_value().to_string();
    assert!(!text.contains("s3cr") && !text.contains("123456"), "{text}");
}

#[test]
fn hidden_words_go_as_whole_tokens() {
    let of = |text: &str| {
        let mut response = McpResponse::result(ToolResult::text(text));
        response.redact(&["main".into()]);
        response.to_text()
    };
    let table = [
        ("on main, mainly", "on [hidden], mainly"),
        ("main", "[hidden]"),
        (r#"{"main": "main"}"#, r#"{"main": "[hidden]"}"#),
        ("remain domain main.", "remain domain [hidden]."),
        ("nothing", "nothing"),
    ];
    for (text, expected) in table {
        assert_eq!(of(text), expected);
    }
}

//! Every tool answers in one form, says itself whether it failed, and says on every piece of content whose it is.

use serde_json::{Value, json};
use toolglot::mcp::{
    pool::{Call, PATIENCE},
    response::ServiceInfo,
};

use super::{Bench, shell, with};

/// Where a failure is said, it is a failure; nothing is guessed from words.
#[tokio::test]
async fn failures_are_mapped_where_the_tool_is_called() {
    let hidden = r#"text '{\"error\":\"no such file\"}'"#;
    let bench = Bench::new(json!({
        "fine": shell("text 'error: this is only a word'"),
        "says": shell(r#"reply '{"isError":true,"content":[{"type":"text","text":"no such file"}]}'"#),
        "code": shell(r#"printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32001,"message":"not today"}}\n' "$id""#),
        "hides": with(shell(hidden), json!({"errors_in_text": true})),
        "plain": shell(hidden),
    }));
    let table =
        [("fine", false, true), ("says", true, true), ("code", true, false), ("hides", true, true), ("plain", false, true)];
    for (server, failed, has_result) in table {
        let answer = bench.call(server, "act", json!({})).await;
        assert_eq!((answer.is_error(), answer.outcome.is_ok()), (failed, has_result), "{server}: {}", answer.to_value());
        let value = answer.to_value();
        assert_eq!(
            (&value["jsonrpc"], value.get("result").is_some(), value.get("error").is_some()),
            (&json!("2.0"), has_result, !has_result)
        );
    }
    let code = bench.call("code", "act", json!({})).await.to_value();
    assert_eq!(code["error"], json!({"code": -32001, "message": "code__act: not today"}));
    // The built-in tools answer in the same form, and their own outcome decides.
    for (id, failed) in [("EMP001", false), ("EMP404", true)] {
        let arguments = super::object(json!({"employee_id": id}));
        let service = ServiceInfo::built_in("sqlite", "get_employee_info");
        let value = bench.pool.call(&service, arguments, &Call::default()).await.to_value();
        assert_eq!(value["result"]["isError"] == json!(true), failed, "{value}");
        let outcome: Value = serde_json::from_str(value["result"]["content"][0]["text"].as_str().unwrap()).unwrap();
        assert_eq!(outcome["success"], json!(!failed));
    }
}

#[tokio::test]
async fn what_a_server_says_of_itself_comes_with_its_tools() {
    let mut entry = shell("text x");
    let script =
        entry["args"][1].as_str().unwrap().replace(r#""serverInfo""#, r#""instructions":"Ask before you act.","serverInfo""#);
    entry["args"][1] = json!(script);
    let bench = Bench::new(json!({"talks": entry, "silent": shell("text x")}));
    let offered = bench.pool.tools(None, PATIENCE).await;
    assert_eq!(offered.instructions, [("talks".to_owned(), "Ask before you act.".to_owned())]);
}

/// Results that arrive together, and in whatever order, keep their origin; every kind of content has it.
#[tokio::test]
async fn parallel_results_keep_their_origin() {
    let view = r#"reply '{"content":[{"type":"text","text":"one"},{"type":"resource","resource":{"uri":"ui://view/1","text":"<p>"}},{"type":"image","data":"AA==","mimeType":"image/png"}]}'"#;
    let servers = ["a", "b", "c"];
    let bench = Bench::new(json!({
        "a": shell(&format!("sleep 0.6; {view}")), "b": shell(&format!("sleep 0.3; {view}")), "c": shell(view)
    }));
    let answers = futures_util::future::join_all(servers.map(|server| bench.call(server, "act", json!({})))).await;
    for (server, answer) in servers.iter().zip(answers) {
        let value = answer.to_value();
        let items = value["result"]["content"].as_array().unwrap();
        assert_eq!(items.len(), 3);
        for item in items {
            assert_eq!(item["serviceInfo"], json!({"serverName": server, "toolName": "act", "backendType": "ExternalMCP"}));
        }
    }
    // Through our own server as well, on either transport.
    let url = super::serve(bench.engine(true).routes()).await;
    let outer = Bench::new(json!({"http": {"url": format!("{url}/mcp")}, "sse": {"url": format!("{url}/sse"), "type": "sse"}}));
    for server in ["http", "sse"] {
        let value = outer.call(server, "c__act", json!({})).await.to_value();
        for item in value["result"]["content"].as_array().unwrap() {
            assert_eq!(item["serviceInfo"]["serverName"], *server, "{value}");
        }
    }
}

/// Clients of the older revisions read the content only, and some take an empty one for a failure.
#[tokio::test]
async fn a_result_without_content_is_a_text_for_clients() {
    let bench = Bench::new(json!({
        "structured": shell(r#"reply '{"content":[],"structuredContent":{"n":7}}'"#), "empty": shell(r#"reply '{"content":[]}'"#)
    }));
    let engine = bench.engine(true);
    for (server, expected) in [("structured", r#"{"n":7}"#), ("empty", "")] {
        let body = super::serving::rpc(1, "tools/call", json!({"name": format!("{server}__act"), "arguments": {}}));
        let (_, answer) = super::serving::ask(&engine, "POST", "/mcp", body).await;
        assert_eq!(answer["result"]["content"][0]["text"], expected, "{answer}");
    }
}

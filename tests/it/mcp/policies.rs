//! What an operator decides about parameters, from the registry's file to the server and back: the model sees what it may
//! give, the tool gets everything, and nobody else reads what is hidden.

use std::path::Path;

use serde_json::{Map, Value, json};
use toolglot::{
    config::RegistryHttp,
    mcp::{
        engine::{Engine, Options},
        pool::{Call, PATIENCE},
        response::ServiceInfo,
    },
};

use super::{Bench, object, shell_with, text, with};

/// A server with one tool of this schema. It notes every call, and its answer repeats the whole request.
fn mirror(folder: &Path, schema: &Value) -> Value {
    let list = json!({"tools": [{"name": "act", "inputSchema": schema}]}).to_string();
    let on_call = r#"printf '%s\n' "$line" >> "$CALLS"; text "$(printf '%s' "$line" | sed 's/[\\"]/\\&/g')""#;
    let mut entry = shell_with(on_call, &format!("reply '{list}'"));
    entry["env"] = json!({"CALLS": folder.join("calls")});
    entry
}

/// What the server got in its last call.
fn arrived(bench: &Bench) -> Value {
    let calls = text(&bench.path("calls"));
    let line: Value = serde_json::from_str(calls.lines().last().unwrap()).unwrap();
    line["params"]["arguments"].clone()
}

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "query": {"type": "string"}, "tenant": {"type": "string"}, "user": {"type": "string"}, "limit": {"type": "integer"},
            "select": {"type": "object"}, "filter": {"type": "object"}
        },
        "required": ["query", "tenant", "user"]
    })
}

fn policy() -> Value {
    json!({"act*": {
        "parameters": {
            "tenant": {"override_from": {"file": "tenant.txt"}},
            "user": {"hide": true, "default_from": {"header": "X-User"}},
            "limit": {"default": 20},
            "Period": {"targetParam": "filter", "targetServiceFactor": "period"}
        },
        "mcp_service_factors": {
            "period": {"source": "signature_defaults", "parameters": {"days": {"default": 7}, "zone": {"default": null}}},
            "columns": {"source": "internal", "targetParam": "select", "parameters": {"subject": {"default": true}}}
        }
    }})
}

async fn bench() -> Bench {
    let bench = Bench::new(json!({}));
    std::fs::write(bench.path("tenant.txt"), "acme-4711\n").unwrap();
    let entry = with(mirror(bench.folder.path(), &schema()), json!({"toolglot": {"tools": policy()}}));
    bench.pool.registry().add("s", &object(entry), true).unwrap();
    bench
}

#[tokio::test]
async fn the_model_sees_its_part_and_the_tool_gets_the_whole() {
    let bench = bench().await;
    let offered = bench.pool.tools(None, PATIENCE).await;
    let tool = offered.resolve("s__act", &[]).unwrap();
    let shown: Value = serde_json::from_str(&tool.schema).unwrap();
    let names: Vec<&str> = shown["properties"].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!((names, &shown["required"]), (vec!["query", "limit", "Period"], &json!(["query"])), "{shown}");
    assert_eq!(tool.keeps_null, ["limit", "Period"]);
    let call = Call { headers: vec![("x-user".into(), "mina@example.org".into())], ..Call::default() };
    let table = [
        (json!({"query": "q"}), json!({"limit": 20, "filter": {"days": 7}})),
        (json!({"query": "q", "limit": 5, "Period": {"days": 1}}), json!({"limit": 5, "filter": {"days": 1}})),
        (
            json!({"query": "q", "limit": null, "Period": {"zone": "CET"}}),
            json!({"limit": 20, "filter": {"days": 7, "zone": "CET"}}),
        ),
        // What is hidden is not the model's, by no name.
        (
            json!({"query": "q", "tenant": "evil", "user": "evil", "select": {"subject": false}}),
            json!({"limit": 20, "filter": {"days": 7}}),
        ),
    ];
    for (given, expected) in table {
        let answer = bench.pool.call(&ServiceInfo::external("s", "act"), object(given.clone()), &call).await;
        let mut whole = object(expected);
        whole.extend(object(json!({
            "query": "q", "tenant": "acme-4711", "user": "mina@example.org", "select": {"subject": true}
        })));
        assert_eq!(object(arrived(&bench)), whole, "{given}");
        let said = answer.to_value().to_string();
        assert!(said.contains("[hidden]") && !said.contains("acme-4711") && !said.contains("mina@"), "{said}");
    }
}

#[tokio::test]
async fn a_value_that_cannot_be_had_stops_the_call_before_the_tool() {
    let bench = bench().await;
    let answer = bench.call("s", "act", json!({"query": "q"})).await.to_text();
    assert!(answer.contains("the header `X-User`, which is missing or not in `trusted_headers`"), "{answer}");
    assert_eq!(text(&bench.path("calls")), "");
}

#[tokio::test]
async fn keywords_inside_a_schema_count_until_the_operator_says_otherwise() {
    let bench = Bench::new(json!({}));
    let schema = json!({
        "type": "object",
        "properties": {"period": {"$ref": "#/$defs/Period", "targetParam": "filter"}, "query": {"type": "string"}},
        "$defs": {"Period": {"type": "object", "properties": {"days": {"type": "integer"}}}},
        "mcp_service_factors": {"period_defaults": {"source": "signature_defaults", "parameters": {"days": {"default": 7}}}}
    });
    let entry = mirror(bench.folder.path(), &schema);
    bench.pool.registry().add("s", &object(entry.clone()), true).unwrap();
    let offered = bench.pool.tools(None, PATIENCE).await;
    let shown = offered.resolve("s__act", &[]).unwrap().schema.to_string();
    assert!(!shown.contains("targetParam") && !shown.contains("mcp_service_factors") && !shown.contains("filter"), "{shown}");
    bench.call("s", "act", json!({"query": "q"})).await;
    assert_eq!(arrived(&bench), json!({"query": "q", "filter": {"days": 7}}));
    let own = json!({"toolglot": {"tools": {"*": {"mcp_service_factors": {
        "period_defaults": {"source": "signature_defaults", "parameters": {"days": {"default": 30}}}
    }}}}});
    bench.pool.registry().add("s", &object(with(entry, own)), true).unwrap();
    bench.call("s", "act", json!({"query": "q", "period": {}})).await;
    assert_eq!(arrived(&bench), json!({"query": "q", "filter": {"days": 30}}));
}

/// Over both transports of our own server the headers of a request reach the policy, if the operator trusts them.
#[tokio::test]
async fn a_trusted_header_reaches_the_policy_through_our_server() {
    let bench = bench().await;
    let trusted_headers = vec!["x-user".to_owned()];
    let options = Options { gateway: true, trusted_headers, registry_http: RegistryHttp::Off, ..Options::default() };
    let trusting = super::serve(Engine::new(bench.pool.clone(), options).routes()).await;
    let plain = super::serve(bench.engine(true).routes()).await;
    for path in ["mcp", "sse"] {
        let mut entries = Map::new();
        for (name, url) in [("trusting", &trusting), ("plain", &plain)] {
            let kind = if path == "mcp" { "http" } else { "sse" };
            entries.insert(
                name.into(),
                json!({"url": format!("{url}/{path}"), "type": kind, "headers": {"X-User": "mina@example.org"}}),
            );
        }
        let client = Bench::new(Value::Object(entries));
        let answer = client.call("trusting", "s__act", json!({"query": path})).await;
        assert!(!answer.is_error(), "{path}: {}", answer.to_text());
        let got = arrived(&bench);
        assert_eq!((&got["query"], &got["user"]), (&json!(path), &json!("mina@example.org")));
        assert!(client.call("plain", "s__act", json!({"query": "q"})).await.to_text().contains("trusted_headers"), "{path}");
    }
}

/// Whatever the filter of the log says.
#[tokio::test(flavor = "multi_thread")]
async fn hidden_values_are_in_no_log() {
    use crate::{cli, proxy::client};
    let bench = bench().await;
    let registry = bench.path("mcp.json");
    let config = format!(
        "[[backend]]\nkind = \"replay\"\n[mcp]\nregistry = {:?}\nserve_registry = true\ntrusted_headers = [\"x-user\"]\n",
        registry.display().to_string()
    );
    std::fs::write(bench.path("proxy.toml"), config).unwrap();
    for (filter, talks) in [("trace,rmcp::service=trace", true), ("error", false)] {
        let mut command = cli::toolglot(bench.folder.path(), &["serve", "--listen", "127.0.0.1:0"]);
        let server = cli::Running::of(command.env("TOOLGLOT_LOG", filter), "http://127.0.0.1:");
        let body = super::serving::rpc(1, "tools/call", json!({"name": "s__act", "arguments": {"query": "findme"}}));
        let request = client().post(format!("{}/mcp", server.url())).header("content-type", "application/json");
        let request = request.header("x-user", "mina@example.org").body(body.to_string());
        let answer = request.send().await.unwrap().text().await.unwrap();
        assert!(answer.contains("findme") && answer.contains("[hidden]") && !answer.contains("acme-4711"), "{answer}");
        assert_eq!(arrived(&bench)["tenant"], "acme-4711");
        let said = server.said();
        // The filter only takes away: what it does not ask for is not there.
        assert_eq!(said.contains("DEBUG"), talks, "{filter}: {said}");
        let line = said.lines().find(|line| line.contains("acme-4711") || line.contains("mina@"));
        assert_eq!(line, None);
    }
}

//! When tools are asked for again, and what a change of the registry's file changes.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use toolglot::mcp::pool::PATIENCE;

use super::{Bench, alive, object, shell, shell_with, text};

/// A server that counts how often it is asked for its tools.
async fn counted(on_call: &str, on_list: &str) -> Bench {
    let bench = Bench::new(json!({}));
    let mut entry = shell_with(on_call, &format!(r#"echo once >> "$LISTS"; {on_list}"#));
    entry["env"] = json!({"LISTS": bench.path("lists")});
    bench.pool.registry().add("s", &object(entry), true).unwrap();
    bench
}

fn lists(bench: &Bench) -> usize {
    text(&bench.path("lists")).lines().count()
}

#[tokio::test]
async fn a_list_is_asked_for_when_it_may_have_changed() {
    let tool = r#"{"name":"act","inputSchema":{"type":"object"}}"#;
    let changed = r#"printf '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n'; text x"#;
    let usual = format!("reply '{{\"tools\":[{tool}]}}'");
    let table = [
        // on a call, on a list, lists after two looks, lists after a call and a third look
        ("text x", usual.clone(), 1, 1),
        (changed, usual, 1, 2),
        ("text x", format!("reply '{{\"tools\":[{tool}],\"ttlMs\":0}}'"), 2, 4),
        ("text x", format!("reply '{{\"tools\":[{tool}],\"ttlMs\":600000}}'"), 1, 1),
    ];
    for (on_call, on_list, after_two, after_all) in table {
        let bench = counted(on_call, &on_list).await;
        for _ in 0..2 {
            assert!(bench.pool.tools(None, PATIENCE).await.resolve("s__act", &[]).is_some());
        }
        assert_eq!(lists(&bench), after_two, "{on_call}, {on_list}");
        assert_eq!(bench.call("s", "act", json!({})).await.to_text(), "x");
        bench.pool.tools(None, PATIENCE).await;
        assert_eq!(lists(&bench), after_all, "{on_call}, {on_list}");
    }
}

/// A tool that is new is found without waiting for the list to grow old, however long the server said that it is good.
#[tokio::test]
async fn a_name_that_is_not_in_the_list_is_looked_for_in_a_fresh_one() {
    for ttl in ["", r#"\"ttlMs\":600000,"#] {
        let on_list = r#"[ "$(wc -l < "$LISTS")" -gt 1 ] && more=',{"name":"new","inputSchema":{"type":"object"}}'; reply "{TTL\"tools\":[{\"name\":\"act\",\"inputSchema\":{\"type\":\"object\"}}$more]}""#;
        let bench = counted("text x", &on_list.replace("TTL", ttl)).await;
        assert!(bench.pool.tools(None, PATIENCE).await.resolve("s__new", &[]).is_none());
        assert_eq!(bench.call("s", "new", json!({})).await.to_text(), "x", "{ttl}");
        assert!(bench.call("s", "never", json!({})).await.to_text().contains("has no tool `never`"));
    }
}

#[tokio::test]
async fn a_list_that_fails_later_leaves_the_old_one() {
    let on_list = r#"case $(wc -l < "$LISTS") in 1) reply '{"ttlMs":0,"tools":[{"name":"act","inputSchema":{"type":"object"}}]}' ;; *) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"busy"}}\n' "$id" ;; esac"#;
    let bench = counted("text x", on_list).await;
    for _ in 0..3 {
        assert!(bench.pool.tools(None, PATIENCE).await.resolve("s__act", &[]).is_some());
    }
    assert_eq!(bench.call("s", "act", json!({})).await.to_text(), "x");
    assert!(lists(&bench) > 2);
}

/// A server that greets and then says nothing more.
#[tokio::test]
async fn a_server_that_never_lists_costs_its_first_visitor_his_patience_and_nobody_more() {
    use std::time::{Duration, Instant};
    let bench = Bench::new(json!({"mute": shell_with("text x", ":"), "fine": shell("text x")}));
    let mut took = Vec::new();
    for _ in 0..3 {
        let begun = Instant::now();
        let offered = bench.pool.tools(None, Duration::from_millis(1500)).await;
        took.push(begun.elapsed());
        assert!(offered.resolve("fine__act", &[]).is_some());
        assert!(offered.problems.iter().any(|problem| problem.message.contains("still being listed")), "{:?}", offered.problems);
    }
    assert!(took[0] < Duration::from_secs(3) && took[1] + took[2] < Duration::from_millis(900), "{took:?}");
}

/// A change that was announced counts until the new list is there.
#[tokio::test]
async fn an_announced_change_outlives_a_list_that_fails() {
    let on_list = r#"case $(wc -l < "$LISTS") in
        1) reply '{"tools":[{"name":"act","inputSchema":{"type":"object"}}]}' ;;
        2) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"busy"}}\n' "$id" ;;
        *) reply '{"tools":[{"name":"new","inputSchema":{"type":"object"}}]}' ;; esac"#;
    let changed = r#"printf '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n'; text x"#;
    let bench = counted(changed, on_list).await;
    let has = async |name: &str| bench.pool.tools(None, PATIENCE).await.resolve(name, &[]).is_some();
    assert!(has("s__act").await);
    assert_eq!(bench.call("s", "act", json!({})).await.to_text(), "x");
    assert!(has("s__act").await, "the old list stays");
    assert!(has("s__new").await, "and the next one is asked for");
}

/// Only what changed is closed and opened again.
#[tokio::test]
async fn a_reload_touches_what_has_changed() {
    let pid = shell("text $$");
    let bench = Bench::new(json!({"stays": pid.clone(), "changes": pid.clone(), "goes": pid.clone()}));
    let of = async |server: &str| bench.call(server, "act", json!({})).await.to_text();
    let before = (of("stays").await, of("changes").await, of("goes").await);
    let mut other = pid.clone();
    other["env"] = json!({"NEW": "1"});
    let file = json!({"mcpServers": {"stays": pid, "changes": other, "new": shell("text $$")}});
    let changing = async {
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        std::fs::write(bench.path("mcp.json"), file.to_string()).unwrap();
        let differ = bench.pool.registry().reload().unwrap();
        assert_eq!(differ, BTreeSet::from(["changes", "goes", "new"].map(str::to_owned)));
        super::eventually("what is gone has ended", || !alive(&before.1) && !alive(&before.2)).await;
    };
    tokio::select! {
        () = bench.pool.follow() => {}
        () = changing => {}
    }
    assert_eq!(of("stays").await, before.0);
    let changed = of("changes").await;
    assert!(changed != before.1 && alive(&changed), "{changed}");
    assert!(alive(&of("new").await));
    assert!(of("goes").await.contains("there is no MCP server `goes`"));
    let states: Vec<Value> = bench.pool.status().iter().map(|status| status.to_value()["status"].clone()).collect();
    assert_eq!(states, ["connected", "connected", "connected"]);
}

#[tokio::test]
async fn a_tool_that_cannot_be_read_hides_no_other() {
    let act = r#"{"name":"act","inputSchema":{"type":"object"}}"#;
    for (wrong, reason) in [
        (r#"{"name":"odd"}"#, "tool 1 of its list, `odd`: missing field `inputSchema`"),
        (r#"{"name":"odd","inputSchema":5}"#, "tool 1 of its list, `odd`: invalid type"),
        (r#"{"inputSchema":{"type":"object"}}"#, "tool 1 of its list: missing field `name`"),
        (r#"{"name":"","inputSchema":{"type":"object"}}"#, "a tool of its list: its name is empty"),
    ] {
        let list = format!(r#"{{"tools":[{wrong},{act}]}}"#);
        let bench = Bench::new(json!({"s": shell_with("text x", &format!("reply '{list}'"))}));
        let offered = bench.pool.tools(None, PATIENCE).await;
        assert!(offered.resolve("s__act", &[]).is_some(), "{wrong}: {:?}", offered.problems);
        let problems: Vec<&str> = offered.problems.iter().map(|problem| problem.message.as_str()).collect();
        assert!(problems.len() == 1 && problems[0].contains(reason), "{wrong}: {problems:?}");
        assert_eq!(bench.call("s", "act", json!({})).await.to_text(), "x");
    }
}

use std::{path::Path, time::Duration};

use serde_json::{Map, Value, json};

use super::{Permission, Registry, Server, Target};
use crate::{config::Environment, event::Effect, mcp::parameters::Policy};

fn environment() -> Environment {
    Environment::from([("TOKEN", "t0ken"), ("PORT", "9000"), ("HOME", "/home/mina")])
}

fn open(folder: &Path, text: &str) -> Registry {
    std::fs::write(folder.join("mcp.json"), text).unwrap();
    Registry::open(folder.join("mcp.json"), environment()).unwrap()
}

fn text(registry: &Registry) -> String {
    std::fs::read_to_string(registry.file()).unwrap()
}

fn names(registry: &Registry) -> Vec<String> {
    registry.snapshot().servers.iter().map(|server| server.name.clone()).collect()
}

fn parse(entry: Value) -> Result<Option<Server>, String> {
    Server::parse("s", entry.as_object().unwrap(), &environment())
}

#[tokio::test]
async fn a_missing_file_is_made_as_an_empty_list() {
    let folder = tempfile::tempdir().unwrap();
    let deep = Registry::open(folder.path().join("deep/mcp.json"), environment()).unwrap();
    assert!(!folder.path().join("deep").exists(), "no folder before there is something to keep");
    deep.put_url("a", "http://a/").unwrap();
    assert!(deep.file().exists());
    let registry = Registry::open(folder.path().join("mcp.json"), environment()).unwrap();
    assert!(!registry.file().exists(), "who only looks writes nothing");
    assert!(tokio::time::timeout(Duration::from_millis(100), registry.watch()).await.is_err());
    assert_eq!(text(&registry), "[]\n");
    #[cfg(unix)]
    assert_eq!(
        std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(registry.file()).unwrap().permissions()) & 0o777,
        0o600
    );
    registry.put_url("tts", "http://192.168.0.18:23016/sse").unwrap();
    registry.put_url("search", "http://localhost:8080/sse").unwrap();
    let written: Value = serde_json::from_str(&text(&registry)).unwrap();
    assert_eq!(
        written,
        json!([{"name": "tts", "url": "http://192.168.0.18:23016/sse"}, {"name": "search", "url": "http://localhost:8080/sse"}])
    );
    // Loaded again at the next start.
    let again = Registry::open(registry.file(), environment()).unwrap();
    assert_eq!(names(&again), ["tts", "search"]);
    again.remove("tts").unwrap();
    assert_eq!(again.remove("tts").unwrap_err().status, 404);
    assert_eq!(names(&again), ["search"]);
}

#[test]
fn an_edit_keeps_dialect_comments_and_unknown_keys() {
    let table = [
        (
            "// ours\n[\n  {\"name\": \"a\", \"url\": \"http://a:1/x\", \"note\": 7}, // keep\n]\n",
            "// ours\n[\n  {\"name\": \"a\", \"url\": \"http://a:1/y\", \"note\": 7}, // keep\n  {\n    \"name\": \"b\",\n    \"url\": \"http://b/mcp\",\n  },\n]\n",
        ),
        (
            "{\n  // shared with an editor\n  \"inputs\": [],\n  \"servers\": {\n    \"a\": {\"type\": \"http\", \"url\": \"http://a:1/x\"} /* mine */\n  }\n}\n",
            "{\n  // shared with an editor\n  \"inputs\": [],\n  \"servers\": {\n    \"a\": {\"type\": \"http\", \"url\": \"http://a:1/y\"}, /* mine */\n    \"b\": {\n      \"url\": \"http://b/mcp\"\n    }\n  }\n}\n",
        ),
        (
            "{}\n",
            "{\n  \"mcpServers\": {\n    \"a\": {\n      \"url\": \"http://a:1/y\"\n    },\n    \"b\": {\n      \"url\": \"http://b/mcp\"\n    }\n  }\n}\n",
        ),
    ];
    for (before, after) in table {
        let folder = tempfile::tempdir().unwrap();
        let registry = open(folder.path(), before);
        registry.put_url("a", "http://a:1/y").unwrap();
        registry.put_url("b", "http://b/mcp").unwrap();
        assert_eq!(text(&registry), after);
        assert_eq!(names(&registry), ["a", "b"]);
    }
}

#[test]
fn every_dialect_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let registry = open(
        folder.path(),
        r#"{"mcpServers": {
            "files": {"command": "npx", "args": ["-y", "server-filesystem", "${userHome}/docs"], "env": {"A": "${TOKEN}"}},
            "array": {"type": "local", "command": ["node", "x.js"], "environment": {"B": "1"}, "cwd": "${HOME}"},
            "http": {"type": "streamable-http", "url": "http://localhost:${PORT}/mcp", "headers": {"Authorization": "Bearer ${env:TOKEN}"}},
            "list": {"httpUrl": "https://x.example/mcp", "headers": ["X-Key: ${env://NONE:-usual}"]},
            "sse": {"transport": "sse", "url": "http://localhost/sse"},
            "off": {"url": "http://localhost/", "disabled": true},
            "off2": {"url": "http://localhost/", "enabled": false},
            "unset": {"url": "http://localhost/${NONE}"},
            "editor": {"command": "x", "args": ["${input:key}"]},
            "nothing": {"description": "?"},
            "bare": "http://localhost/",
            "cloud": {"url": "http://169.254.169.254/"},
            "typo": {"url": "http://localhost/", "toolglot": {"tools": {"x": {"parameters": {"a": {"hid": true}}}}}},
        }}"#,
    );
    let snapshot = registry.snapshot();
    assert_eq!(names(&registry), ["files", "array", "http", "list", "sse"]);
    let Target::Process(launch) = &snapshot.servers[0].target else { panic!() };
    assert_eq!(
        (launch.command.as_str(), launch.arguments.last().unwrap().as_str(), launch.environment[0].1.reveal()),
        ("npx", "/home/mina/docs", "t0ken")
    );
    assert_eq!(snapshot.servers[0].address, "npx -y server-filesystem ${userHome}/docs");
    let Target::Remote { url, headers, .. } = &snapshot.servers[2].target else { panic!() };
    assert_eq!((url.as_str(), headers[0].1.reveal()), ("http://localhost:9000/mcp", "Bearer t0ken"));
    assert!(!format!("{snapshot:?}").contains("t0ken"), "secrets are not printed");
    let Target::Remote { headers, .. } = &snapshot.servers[3].target else { panic!() };
    assert_eq!(headers[0].1.reveal(), "usual");
    let unusable: Vec<(&str, &str)> =
        snapshot.unusable.iter().map(|entry| (entry.name.as_str(), entry.error.as_deref().unwrap_or("off"))).collect();
    let expected = [
        ("off", "off"),
        ("off2", "off"),
        ("unset", "`url`: the environment variable `NONE` is not set"),
        ("editor", "`command`: `${input:key}` is known to an editor only; write the value or `${VARIABLE}`"),
        ("nothing", "there is neither `url` nor `command`"),
        ("bare", "there is neither `url` nor `command`"),
        ("cloud", "`http://169.254.169.254/` is a link-local or metadata address, where no MCP server may be"),
        (
            "typo",
            "`tools.x`: `parameters.a`: unknown field `hid`, expected one of `hide`, `default`, `default_from`, `override`, `override_from`, `targetParam`, `targetServiceFactor`",
        ),
    ];
    assert_eq!(unusable, expected);
    let nameless = open(folder.path(), r#"[{"url": "http://localhost/"}]"#).snapshot();
    assert_eq!(nameless.unusable[0].error.as_deref(), Some("a server needs a `name`"));
}

#[test]
fn a_misspelt_rule_makes_its_entry_unusable() {
    let folder = tempfile::tempdir().unwrap();
    let own = |own: &str| {
        let registry = open(folder.path(), &format!(r#"[{{"name": "a", "command": "x", "toolglot": {own}}}]"#));
        let unusable = registry.snapshot().unusable.first().and_then(|entry| entry.error.clone());
        unusable.unwrap_or_default()
    };
    assert_eq!(own(r#"{"dney": ["wipe"]}"#), "`toolglot.dney` is unknown; did you mean `deny`?");
    assert_eq!(own(r#"{"efects": {"wipe": "destroys"}}"#), "`toolglot.efects` is unknown; did you mean `effects`?");
    assert_eq!(own(r#"{"note to myself": 1}"#), "`toolglot.note to myself` is unknown");
    assert_eq!(own("7"), "`toolglot` must be an object");
    assert_eq!(own(r#"{"deny": ["wipe"], "timeout_seconds": 5, "tools": {}}"#), "");
    assert_eq!(own("null"), "");
    // Beside the object, the key may be another client's.
    let entry = r#"{"name": "a", "command": "x", "dney": ["wipe"], "alwaysAllow": [], "envs": {}, "description": "x", "disabledTools": []}"#;
    let snapshot = open(folder.path(), &format!("[{entry}]")).snapshot();
    assert_eq!(snapshot.doubts, [("a".to_owned(), "`dney` means nothing here; did you mean `deny`?".to_owned())]);
    assert_eq!(snapshot.servers.len(), 1);
}

#[test]
fn a_broken_file_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let registry = open(folder.path(), r#"[{"name": "a", "url": "http://a/"}]"#);
    for broken in ["[{", "7", "{\"mcpServers\": }"] {
        std::fs::write(registry.file(), broken).unwrap();
        let error = registry.reload().unwrap_err();
        assert_eq!(error.code.as_deref(), Some("configuration"), "{error}");
        assert_eq!(names(&registry), ["a"]);
        assert!(registry.put_url("b", "http://b/").is_err());
        assert_eq!(text(&registry), broken, "what cannot be read is not overwritten");
    }
}

#[test]
fn callers_over_http_can_give_no_more_than_a_url() {
    let folder = tempfile::tempdir().unwrap();
    let registry = open(
        folder.path(),
        r#"[{"name": "a", "url": "http://a:1/x", "headers": {"K": "secret"}, "trust": true}, {"name": "p", "command": "x"}]"#,
    );
    for (name, url) in [
        ("b", "http://evil.example/${TOKEN}"),
        ("b", "http://169.254.169.254/"),
        ("b", "npx evil"),
        ("builtin", "http://b/"),
        ("", "http://b/"),
        ("x\n", "http://b/"),
    ] {
        assert_eq!(registry.put_url(name, url).unwrap_err().status, 400, "{name} {url}");
    }
    registry.put_url("a", "http://a:1/y").unwrap();
    assert!(text(&registry).contains("secret"), "the same host keeps what it had");
    registry.put_url("a", "http://evil.example/").unwrap();
    assert!(!text(&registry).contains("secret") && !text(&registry).contains("trust"), "another host does not get it");
    registry.put_url("p", "http://p/").unwrap();
    assert!(!text(&registry).contains("command"));
}

#[test]
fn lists_say_what_may_be_called() {
    let server = parse(
        json!({"url": "http://a/", "toolglot": {"deny": ["delete_*"], "ask": ["write_*"], "effects": {"list_*": "reads"}}}),
    )
    .unwrap()
    .unwrap();
    let table = [("delete_all", Some(Permission::Deny)), ("write_x", Some(Permission::Ask)), ("read_x", None)];
    for (tool, expected) in table {
        assert_eq!(server.permission(tool), expected, "{tool}");
    }
    assert_eq!((server.effect("list_all"), server.effect("x")), (Some(Effect::Reads), None));
    let server = parse(
        json!({"url": "http://a/", "allow": ["read_*", "write_log"], "ask": ["write_*"], "excludedTools": ["read_secret"]}),
    )
    .unwrap()
    .unwrap();
    let table = [
        ("read_x", Some(Permission::Allow)),
        ("read_secret", Some(Permission::Deny)),
        ("write_log", Some(Permission::Ask)),
        ("other", Some(Permission::Deny)),
    ];
    for (tool, expected) in table {
        assert_eq!(server.permission(tool), expected, "{tool}");
    }
}

#[test]
fn times_are_checked() {
    let server = parse(json!({"url": "http://a/"})).unwrap().unwrap();
    assert_eq!((server.timeout, server.longest), (Duration::from_secs(30), Duration::from_secs(600)));
    let server = parse(json!({"url": "http://a/", "timeout_seconds": 0.5, "longest_seconds": 2})).unwrap().unwrap();
    assert_eq!((server.timeout, server.longest), (Duration::from_millis(500), Duration::from_secs(2)));
    for wrong in [json!(0), json!(-1), json!("30"), json!(1e300)] {
        assert!(parse(json!({"url": "http://a/", "timeout_seconds": wrong})).is_err());
    }
}

#[test]
fn servers_of_another_client_are_taken_over_without_their_trust() {
    let folder = tempfile::tempdir().unwrap();
    let registry = open(folder.path(), r#"[{"name": "known", "url": "http://a/"}]"#);
    let other = r#"{"theme": "dark", "mcp": {"servers": {
        "known": {"url": "http://other/"},
        "new": {"command": "uvx", "args": ["mcp-server-time"], "trust": true, "toolglot": {"trust": true}, "autoApprove": ["x"],
            "effects": {"*": "reads"}, "open_world": false, "allow": ["wipe"], "deny": ["ls"],
            "tools": {"*": {"parameters": {"key": {"default_from": {"env": "SECRET"}}}}}}, // from an editor
    }}}"#;
    let imported = registry.import(other).unwrap();
    assert_eq!((imported.taken, imported.known), (vec!["new".to_owned()], vec!["known".to_owned()]));
    let left_out: Vec<&str> = imported.left_out.iter().map(|(_, key)| *key).collect();
    assert_eq!(left_out, ["allow", "effects", "open_world", "toolglot", "tools", "trust"]);
    let server = registry.get("new").unwrap();
    assert!(!server.trust && server.is_process() && !server.open_world);
    assert_eq!((server.effect("wipe"), server.permission("wipe"), server.permission("ls")), (None, None, Some(Permission::Deny)));
    assert_eq!(server.policy("wipe", &json!({})), Policy::default());
    assert!(text(&registry).contains("autoApprove"));
    assert!(registry.import("nonsense").is_err());
}

#[test]
fn a_name_that_is_taken_is_not_replaced_unasked() {
    let folder = tempfile::tempdir().unwrap();
    let registry = open(folder.path(), r#"[{"name": "a", "url": "http://u:p@a/?key=k"}]"#);
    let entry = Map::from_iter([("url".to_owned(), json!("http://b/"))]);
    let error = registry.add("a", &entry, false).unwrap_err();
    assert_eq!((error.status, error.message.contains("http://***@a/?key=***")), (409, true), "{error}");
    assert_eq!(registry.get("a").unwrap().address, "http://u:p@a/?key=k");
    registry.add("b", &entry, false).unwrap();
    registry.add("a", &entry, true).unwrap();
    assert!(registry.get("b").is_some() && registry.get("a").unwrap().address == "http://b/");
}

#[test]
fn allow_lists_of_other_clients_restrict_and_permit_nothing() {
    let server = parse(json!({"url": "http://a/", "allowedTools": ["ls", "wipe"], "deny": ["ls"]})).unwrap().unwrap();
    assert_eq!(server.permission("wipe"), None);
    assert_eq!((server.permission("ls"), server.permission("cp")), (Some(Permission::Deny), Some(Permission::Deny)));
    let server = parse(json!({"url": "http://a/", "allow": ["wipe"]})).unwrap().unwrap();
    assert_eq!((server.permission("wipe"), server.permission("cp")), (Some(Permission::Allow), Some(Permission::Deny)));
}

#[test]
fn the_file_of_a_link_is_changed_not_the_link() {
    #[cfg(unix)]
    {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("real.json"), "[]").unwrap();
        std::os::unix::fs::symlink(folder.path().join("real.json"), folder.path().join("mcp.json")).unwrap();
        let registry = Registry::open(folder.path().join("mcp.json"), environment()).unwrap();
        registry.add("a", &Map::from_iter([("url".to_owned(), json!("http://a/"))]), true).unwrap();
        assert!(std::fs::symlink_metadata(registry.file()).unwrap().is_symlink());
        assert!(std::fs::read_to_string(folder.path().join("real.json")).unwrap().contains("http://a/"));
    }
}

#[tokio::test]
async fn a_change_on_disk_is_seen() {
    let folder = tempfile::tempdir().unwrap();
    let registry = open(folder.path(), "[]");
    let mut changes = registry.subscribe();
    let watching = registry.watch();
    let changing = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        // As editors do it: a new file in the place of the old one.
        std::fs::write(folder.path().join("new"), r#"{"mcpServers": {"a": {"url": "http://a/"}}}"#).unwrap();
        std::fs::rename(folder.path().join("new"), registry.file()).unwrap();
        tokio::time::timeout(Duration::from_secs(10), changes.changed()).await.unwrap().unwrap();
    };
    tokio::select! {
        watched = watching => panic!("{watched:?}"),
        () = changing => {}
    }
    assert_eq!(names(&registry), ["a"]);
}

#[test]
fn what_an_entry_refers_to_is_masked_from_then_on() {
    let environment = Environment::from([
        ("VAULT_DB", "vaultvalueofletters"),
        ("A_HEADER", "hdr0dd-gggg4444"),
        ("A_QUERY", "query-cccc2222"),
        ("AN_ARGUMENT", "argument-oooo8888"),
        ("A_FILE", "/etc/passwd"),
        ("A_DATE", "2025-06-18"),
    ]);
    for (name, entry) in [
        ("off", json!({"disabled": true, "url": "https://h/mcp?api_key=disabled-0001"})),
        (
            "web",
            json!({"url": "http://me:user%2Finfo%2Bpw-1@h/x?q=${A_QUERY}", "headers": {"X-Custom": "${A_HEADER}", "X-Date": "${A_DATE}"}}),
        ),
        ("child", json!({"command": "x", "args": ["--db", "${VAULT_DB}", "${AN_ARGUMENT}", "${A_FILE}"]})),
    ] {
        Server::parse(name, entry.as_object().unwrap(), &environment).unwrap();
    }
    let said = "disabled-0001 query-cccc2222 hdr0dd-gggg4444 user/info+pw-1 vaultvalueofletters argument-oooo8888 /etc/passwd 2025-06-18";
    assert_eq!(crate::redact::line(said), "*** *** *** *** *** *** /etc/passwd 2025-06-18");
}

#[test]
fn what_two_processes_add_at_once_is_all_there() {
    let folder = tempfile::tempdir().unwrap();
    let all = || (0..20).flat_map(|at| [format!("a{at}"), format!("b{at}")]);
    std::thread::scope(|scope| {
        for name in all() {
            // Each has a registry of its own, as a process has.
            let registry = Registry::open(folder.path().join("mcp.json"), environment()).unwrap();
            scope.spawn(move || registry.put_url(&name, "http://a/").unwrap());
        }
    });
    let mut there = names(&Registry::open(folder.path().join("mcp.json"), environment()).unwrap());
    let mut expected: Vec<String> = all().collect();
    there.sort();
    expected.sort();
    assert_eq!(there, expected);
}

#[test]
fn toolglot_itself_is_not_imported() {
    let folder = tempfile::tempdir().unwrap();
    let registry = open(folder.path(), "[]");
    let other = json!({"mcpServers": {
        "a": {"command": "/usr/bin/toolglot", "args": ["mcp", "--config", "x.toml", "serve", "--gateway"]},
        "b": {"command": "npx", "args": ["toolglot", "mcp", "serve"]},
        "c": {"command": "npx", "args": ["notes", "mcp", "serve"]},
    }});
    let imported = registry.import(&other.to_string()).unwrap();
    assert_eq!((imported.ours, imported.taken), (vec!["a".to_owned(), "b".to_owned()], vec!["c".to_owned()]));
    assert_eq!(names(&registry), ["c"]);
}

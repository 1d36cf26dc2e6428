//! MCP from outside: our client pool against servers that break in every way, our server against clients that do.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use serde_json::{Map, Value, json};
use toolglot::{
    builtin::Builtin,
    config::Environment,
    mcp::{
        engine::{Engine, Options},
        pool::{Call, Pool},
        registry::Registry,
        response::{McpResponse, ServiceInfo},
    },
    store::Memory,
};

mod commands;
mod dialects;
mod faults;
mod listing;
mod policies;
mod remote;
mod results;
mod serving;
mod void;

/// A registry in a folder of its own with a pool over it.
struct Bench {
    folder: tempfile::TempDir,
    pool: Arc<Pool>,
}

impl Bench {
    fn new(entries: Value) -> Bench {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("mcp.json"), json!({"mcpServers": entries}).to_string()).unwrap();
        let environment = Environment::of_process();
        let registry = Arc::new(Registry::open(folder.path().join("mcp.json"), environment).unwrap());
        let builtin = Builtin::new(folder.path().join("d.db"));
        let pool = Arc::new(Pool::new(registry, Some(builtin), Arc::new(Memory::default())));
        Bench { folder, pool }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn engine(&self, gateway: bool) -> Engine {
        Engine::new(Arc::clone(&self.pool), Options { gateway, ..Options::default() })
    }

    async fn call(&self, server: &str, tool: &str, arguments: Value) -> McpResponse {
        let call = Call { consent: true, ..Call::default() };
        self.pool.call(&ServiceInfo::external(server, tool), object(arguments), &call).await
    }
}

fn object(value: Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap()
}

/// A server in shell: it answers the greeting and the list of one tool, `act`; what it does when that is called is up to the
/// test. `$id` is the id of the request, `reply JSON` answers it.
pub(crate) fn shell(on_call: &str) -> Value {
    shell_with(on_call, r#"reply '{"tools":[{"name":"act","description":"Acts.","inputSchema":{"type":"object"}}]}'"#)
}

pub(crate) fn shell_with(on_call: &str, on_list: &str) -> Value {
    let script = format!(
        r#"
reply() {{ printf '{{"jsonrpc":"2.0","id":%s,"result":%s}}\n' "$id" "$1"; }}
text() {{ reply "{{\"content\":[{{\"type\":\"text\",\"text\":\"$1\"}}]}}"; }}
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case $line in
    *'"server/discover"'*) printf '{{"jsonrpc":"2.0","id":%s,"error":{{"code":-32601,"message":"no"}}}}\n' "$id" ;;
    *'"initialize"'*) reply '{{"protocolVersion":"2025-06-18","capabilities":{{"tools":{{}}}},"serverInfo":{{"name":"sh","version":"1"}}}}' ;;
    *'"tools/list"'*) {on_list} ;;
    *'"tools/call"'*) {on_call} ;;
    *) [ -n "$SEEN" ] && printf '%s\n' "$line" >> "$SEEN" ;;
  esac
done
"#
    );
    json!({"command": "sh", "args": ["-c", script], "timeout_seconds": 5})
}

pub(crate) fn with(mut entry: Value, more: Value) -> Value {
    entry.as_object_mut().unwrap().extend(object(more));
    entry
}

/// Serves the routes on a port of its own.
async fn serve(routes: axum::Router) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, routes).await.unwrap() });
    format!("http://{address}")
}

/// Waits until something holds.
pub(crate) async fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..500 {
        if holds() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("{what}");
}

pub(crate) fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

fn alive(pid: &str) -> bool {
    let status = text(Path::new(&format!("/proc/{}/stat", pid.trim())));
    !status.is_empty() && !status.contains(") Z ")
}

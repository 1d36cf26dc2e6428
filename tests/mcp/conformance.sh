#!/usr/bin/env bash
# The official conformance suite against our server (as a gateway to the tools that the suite asks for) and our client.
# Called by run.sh, which sets TOOLGLOT, TOOLGLOT_MCP_DIR and TOOLGLOT_NODE.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
suite() { (cd "$work" && "$TOOLGLOT_NODE" "$TOOLGLOT_MCP_DIR/inspector/node_modules/@modelcontextprotocol/conformance/dist/index.js" "$@"); }
# What matters of the output: one line for each scenario, and all of it where something is wrong.
brief() { if ! "$@" > "$work/log" 2>&1; then cat "$work/log" "$work/server.log"; exit 1; fi; grep -E "^Total|passed|Passed:|baseline" "$work/log" | tail -1; }

port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
printf '[[backend]]\nname = "recorded"\nkind = "replay"\n[mcp]\nregistry = "mcp.json"\nserve_registry = true\n' > "$work/proxy.toml"
"$TOOLGLOT" mcp --config "$work/proxy.toml" add suite -- "$TOOLGLOT_MCP_DIR/mcp2/bin/python" "$here/conformance_server.py"
"$TOOLGLOT" serve --config "$work/proxy.toml" --listen "127.0.0.1:$port" 2> "$work/server.log" &
server=$!
trap 'kill $server 2> /dev/null || true; rm -r "$work"' EXIT
for _ in $(seq 100); do
    curl -sf "http://127.0.0.1:$port/healthz" > /dev/null && break
    sleep 0.1
done
# The first list starts the suite's server.
curl -s "http://127.0.0.1:$port/mcp" -H 'content-type: application/json' -d '{"jsonrpc":"2.0","id":1,"method":"tools/list"}' > /dev/null

url=http://127.0.0.1:$port/mcp
brief suite server --url "$url" --expected-failures "$here/expected-failures.yml"
brief suite server --url "$url" --requirements 2026-07-28 --expected-failures "$here/expected-failures-2026-07-28.yml"
brief suite client --command "$here/conformance_client.sh" --requirements 2026-07-28 --timeout 60000 \
    --expected-failures "$here/expected-failures-client.yml"
# Of the older revisions, what the newest one no longer has.
for scenario in initialize sse-retry; do
    echo "client: $scenario"
    brief suite client --command "$here/conformance_client.sh" --scenario "$scenario" --timeout 60000
done

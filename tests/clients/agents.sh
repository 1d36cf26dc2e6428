#!/usr/bin/env bash
# Claude Code and Codex themselves, without a terminal, against the built binary and a scripted server of models.
# usage: tests/clients/agents.sh [path of the binary] [arguments of pytest]      (needs npm, Python 3.10 or newer; Linux on x64)
# Both are proprietary or large: installed from npm each time, or once into AGENTS.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
export TOOLGLOT; TOOLGLOT=$(realpath "${1:-$here/../../target/debug/toolglot}")
shift || true
export AGENTS=${AGENTS:-$(mktemp -d)}
claude=2.1.330 codex=0.169.0
if [ ! -d "$AGENTS/node_modules/@openai/codex-linux-x64" ]; then
    timeout 600 npm install --prefix "$AGENTS" --silent --no-audit --no-fund --ignore-scripts \
        "@anthropic-ai/claude-code-linux-x64@$claude" "@openai/codex@$codex" || {
        printf '\n######## NOT CHECKED: Claude Code and Codex themselves\n######## npm cannot install them here\n\n' >&2
        exit 0
    }
fi
[ -x "$AGENTS/venv/bin/python" ] || { python3 -m venv "$AGENTS/venv"; "$AGENTS/venv/bin/pip" install --quiet pytest==9.2.0; }
cd "$here/agents"
"$AGENTS/venv/bin/python" -m pytest -q -p no:cacheprovider "$@"

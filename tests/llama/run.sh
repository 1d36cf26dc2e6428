#!/usr/bin/env bash
# The built binary before a real llama-server, which LLAMA_SERVER names. Without it nothing is tested, and that is said loudly.
# usage: LLAMA_SERVER=path/of/llama-server tests/llama/run.sh [path of the binary] [test]...     (needs Python 3.10 or newer)
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
if [ -z "${LLAMA_SERVER:-}" ]; then
    echo "################################################################" >&2
    echo "# LLAMA_SERVER is not set: NOTHING was tested against llama.cpp #" >&2
    echo "################################################################" >&2
    exit 0
fi
TOOLGLOT=$(realpath "${1:-$here/../../target/debug/toolglot}")
LLAMA_SERVER=$(realpath "$LLAMA_SERVER")
shift || true
cd "$here"
work=${TOOLGLOT_LLAMA_DIR:-}
if [ -z "$work" ]; then
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
fi
[ -x "$work/venv/bin/python" ] || python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check -r requirements.txt

export TOOLGLOT LLAMA_SERVER PYTHONDONTWRITEBYTECODE=1
"$work/venv/bin/python" -m unittest -v "${@:-test_llama}"

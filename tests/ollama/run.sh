#!/usr/bin/env bash
# The built binary before a real Ollama with real models. Needs Python 3.10, cargo, a C++ compiler and Go, or OLLAMA.
# usage: tests/ollama/run.sh [BINARY] [TEST]...
#   OLLAMA              an Ollama to test with; without it one is built from its Go module and kept
#   OLLAMA_BUILD        `no`: do not build one, use it only where it was built before
#   OLLAMA_BUILD_LIMIT  seconds that the build may take [default: 2400]
#   OLLAMA_GGUF         a GGUF of Qwen2.5-Coder Instruct: tests that need a model that answers in earnest run too
#   TOOLGLOT_OLLAMA_DIR where Ollama, the virtual environment and the model are kept [default: toolglot/ollama in the user's cache folder]
# Form and verdicts are asserted, never a model's wisdom: most models recite a given text, SmolLM2-135M writes what it wants.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
version=0.17.4    # of Ollama: the newest one that the Go module proxy has
headers=0.1.161   # of the crate llama-cpp-sys-2: three libraries of headers that Ollama keeps in a `vendor` folder, which Go modules omit
TOOLGLOT=$(realpath "${1:-$root/target/debug/toolglot}")
shift || true
# It is built for this processor, and runs on no other.
processor=$( (grep -m1 '^flags' /proc/cpuinfo || uname -m) 2> /dev/null | cksum | cut -d' ' -f1)
work=${TOOLGLOT_OLLAMA_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/toolglot/ollama}
mkdir -p "$work"

skip() {
    printf '\n######## NOT CHECKED: a real Ollama\n######## %s\n\n' "$1" >&2
    exit 0
}

build() {
    local sources=$work/sources
    mkdir -p "$sources/src" && : > "$sources/src/lib.rs"
    printf '[package]\nname = "sources"\nversion = "0.0.0"\n[dependencies]\nllama-cpp-sys-2 = "=%s"\n[workspace]\n' "$headers" > "$sources/Cargo.toml"
    (cd "$sources" && cargo vendor --quiet vendor > /dev/null) || return 1
    # -march=native: the processor's vector instructions, which Ollama's own releases load from libraries built apart. Without AMX: its
    # sources are in none of the folders that Go compiles.
    GOBIN=$work/built GOFLAGS=-buildvcs=false CGO_ENABLED=1 \
        CGO_CPPFLAGS="-I$sources/vendor/llama-cpp-sys-2/llama.cpp/vendor" CGO_CFLAGS="-O3 -march=native -U__AMX_INT8__ -w" CGO_CXXFLAGS="-O3 -march=native -U__AMX_INT8__ -w" \
        timeout "${OLLAMA_BUILD_LIMIT:-2400}" go install "github.com/ollama/ollama@v$version" || return 1
    mv "$work/built/ollama" "$built" && rm -rf "$sources" "$work/built"
}

if [ -z "${OLLAMA:-}" ]; then
    built=$work/ollama-$version-$processor
    OLLAMA=$built
    if [ ! -x "$OLLAMA" ]; then
        command -v go > /dev/null || skip "Go is not installed, and OLLAMA names no Ollama"
        [ "${OLLAMA_BUILD:-}" != no ] || skip "none was built yet: run tests/ollama/run.sh once"
        build > "$work/build.log" 2>&1 || skip "the build failed or took too long: $(grep . "$work/build.log" | tail -n 1) (see $work/build.log)"
    fi
fi
OLLAMA=$(realpath "$OLLAMA")

[ -x "$work/venv/bin/python" ] || python3 -m venv "$work/venv"
"$work/venv/bin/python" -c 'import gguf' 2> /dev/null ||
    "$work/venv/bin/pip" install --quiet --disable-pip-version-check -r "$root/tests/llama/requirements.txt"
live=${TOOLGLOT_LIVE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/toolglot/live} # shared with the other suite that needs this model
mkdir -p "$live"
SMOLLM=$("$root/tests/live/model.sh" "$live" "$work/venv/bin/pip")
export TOOLGLOT OLLAMA SMOLLM PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$root/tests/llama"
cd "$here"
exec "$work/venv/bin/python" -m unittest -v "${@:-test_ollama}"

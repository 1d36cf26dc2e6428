#!/usr/bin/env bash
# The agents themselves, without a terminal and without a network, against the built binary and a scripted server of models.
# usage: tests/clients/agents.sh [path of the binary] [quick | arguments of pytest]      (needs npm, Python 3.12; Linux on x64)
# Each is installed from npm or PyPI into AGENTS (target/agents, 5 GB), once. `quick`: one task each for some of them, and of the
# scenarios of Claude Code and Codex the fast ones. Without arguments: everything, and the table in docs/clients.md is written anew.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
export TOOLGLOT; TOOLGLOT=$(realpath "${1:-$root/target/debug/toolglot}")
shift || true
export AGENTS=${AGENTS:-$root/target/agents}
mkdir -p "$AGENTS"
names=()
if [ "${1:-}" = quick ]; then
    shift
    names=(claude codex opencode pi qwen hermes copilot cline)
    some=$(printf ' or %s' "${names[@]}")
    set -- -k "(makes_a_test_pass and (${some# or })) or reads_a_file_and_uses or second_turn_begins or patch_creates or broken_patch or refused_call_is_asked_for_again_ or strict_client or two_calls_" "$@"
elif [ $# = 0 ]; then
    export AGENTS_TABLE=$root/docs/clients.md
fi
[ -x "$AGENTS/pytest/bin/python" ] || { python3 -m venv "$AGENTS/pytest"; "$AGENTS/pytest/bin/pip" install --quiet pytest==9.2.0; }
cd "$here/agents"
missing=$("$AGENTS/pytest/bin/python" install.py "${names[@]}")
[ -z "$missing" ] || printf '\n######## NOT CHECKED: %s\n######## they cannot be installed here\n\n' "$missing" >&2
"$AGENTS/pytest/bin/python" -m pytest -q -p no:cacheprovider "$@"

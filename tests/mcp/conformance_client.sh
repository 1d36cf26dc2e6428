#!/usr/bin/env bash
# The client under test: our pool, from an empty registry, over the command line. The suite appends the server's URL.
set -euo pipefail
registry=$(mktemp -d)/mcp.json
trap 'rm -r "$(dirname "$registry")"' EXIT
toolglot() { "$TOOLGLOT" "$1" --registry "$registry" "${@:2}"; }
toolglot mcp add --type http suite "${@: -1}"
listed=$(toolglot mcp tools --json) || true # the suite sees for itself what a server did not get
call() { # tool, arguments: if the scenario's server has it
    if grep -q "\"suite__$1\"" <<< "$listed"; then toolglot call "suite__$1" "$2"; fi
}
call add_numbers '{"a": 5, "b": 3}'
call test_headers '{}'
call test_reconnection '{}'
call test_custom_headers '{"region": "us-west1", "query": "SELECT 1", "priority": 42, "verbose": false, "debug": true, "empty_val": "",
    "float_val": 3.5, "non_ascii_val": "Hello, 世界", "whitespace_val": " us-west1 ", "leading_space_val": " us-west1",
    "trailing_space_val": "us-west1 ", "internal_space_val": "us west 1", "control_char_val": "line1\nline2", "crlf_val": "line1\r\nline2",
    "tab_val": "\tindented", "leading_tab_val": "\tindented"}'
call test_custom_headers_null '{"region": "us-east1", "priority": 1, "verbose": null, "query": "SELECT 1"}'
call valid_tool '{"region": "us-west1"}'
# The schema that a model sees of one tool, given back to the suite by another.
call json_schema_echo "$(python3 -c '
import json, sys
shown = {tool["name"]: tool["parameters"] for tool in json.load(sys.stdin)}
print(json.dumps({"schema": shown.get("suite__json_schema_2020_12_tool", {})}))' <<< "$listed")"
exit 0

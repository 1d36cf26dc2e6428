"""An MCP server with one tool, over standard input and output."""

import json
import sys

TOOL = {"name": "read_note", "description": "Reads a note", "inputSchema": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}}

for line in sys.stdin:
    message = json.loads(line)
    method, params = message.get("method"), message.get("params") or {}
    if "id" not in message:
        continue
    result = {}
    if method == "initialize":
        server = {"name": "notes", "version": "1"}
        result = {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": server}
    elif method == "tools/list":
        result = {"tools": [TOOL]}
    elif method == "tools/call":
        result = {"content": [{"type": "text", "text": f"the note {params['arguments']['name']}"}]}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)

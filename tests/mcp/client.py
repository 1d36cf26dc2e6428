"""Talks to an MCP server with whichever SDK this Python has, and prints what it saw as JSON.

usage: client.py http|sse|auto URL | client.py stdio COMMAND ARGUMENT...
"""

import asyncio
import contextlib
import json
import sys

kind, target = sys.argv[1], sys.argv[2:]


def plain(item):
    return item.model_dump(mode="json", by_alias=True, exclude_none=True)


async def with_session(session):
    seen = {}
    started = await session.initialize()
    seen["protocol"] = getattr(started, "protocol_version", None) or getattr(started, "protocolVersion", None)
    return await use(session, seen)


async def use(session, seen):
    tools = await session.list_tools()
    tools = getattr(tools, "tools", tools)
    seen["tools"] = [tool.name for tool in tools]
    good, bad = await asyncio.gather(
        session.call_tool("calculate_vacation_days", {"employee_id": "EMP001", "year": "2025"}),
        session.call_tool("get_employee_info", {"employee_id": "EMP404"}, **seen_options),
    )
    seen["text"] = good.content[0].text
    seen["content"] = [plain(item) for item in good.content]
    seen["failed"] = bool(getattr(bad, "isError", None) or getattr(bad, "is_error", None))
    seen["failure"] = bad.content[0].text
    return seen


seen_options = {}


async def main():
    try:
        from fastmcp import Client  # fastmcp

        seen_options["raise_on_error"] = False
        async with Client(target[0]) as client:
            return await use(client, {"protocol": "fastmcp"})
    except ImportError:
        pass
    from mcp.client.session import ClientSession

    if kind == "auto":
        from mcp.client import Client

        async with Client(target[0]) as client:
            return await use(client, {"protocol": str(getattr(client, "protocol_version", ""))})
    if kind == "stdio":
        from mcp.client.stdio import StdioServerParameters, stdio_client

        opened = stdio_client(StdioServerParameters(command=target[0], args=target[1:]))
    elif kind == "sse":
        from mcp.client.sse import sse_client

        opened = sse_client(target[0])
    else:
        try:
            from mcp.client.streamable_http import streamable_http_client as http_client
        except ImportError:
            from mcp.client.streamable_http import streamablehttp_client as http_client
        opened = http_client(target[0])
    async with opened as streams, ClientSession(*streams[:2]) as session:
        return await with_session(session)


with contextlib.redirect_stdout(sys.stderr):
    result = asyncio.run(main())
print(json.dumps(result))

"""A small MCP server on whichever SDK this Python has.

usage: server.py stdio|sse|http [PORT]
"""

import os
import sys
import time

try:  # mcp 2
    from mcp.server.mcpserver import MCPServer as Server

    HTTP, OPTIONS = "streamable-http", {"host": "127.0.0.1"}
except ImportError:
    try:  # fastmcp
        from fastmcp import FastMCP as Server

        HTTP, OPTIONS = "http", {"host": "127.0.0.1", "show_banner": False}
    except ImportError:  # mcp 1
        from mcp.server.fastmcp import FastMCP as Server

        HTTP, OPTIONS = "streamable-http", None

transport, port = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 0
if OPTIONS is None:
    server = Server("peer", instructions="Adds numbers.", host="127.0.0.1", port=port)
else:
    server = Server("peer", instructions="Adds numbers.")


@server.tool()
def add(a: int, b: int) -> int:
    """The sum of two integers."""
    return a + b


@server.tool()
def echo(text: str) -> str:
    """The same text."""
    return text


@server.tool()
def fail(why: str) -> str:
    """Fails."""
    raise ValueError(why)


@server.tool()
def wait(seconds: float) -> str:
    """Waits."""
    time.sleep(seconds)
    return "waited"


@server.tool()
def environment() -> str:
    """Names of the environment variables that this process has."""
    return " ".join(sorted(os.environ))


@server.tool()
def mail(query: str, tenant: str, select: dict | None = None) -> str:
    """What arrives for each parameter."""
    return f"query={query} tenant={tenant} select={sorted((select or {}).items())}"


@server.tool()
def die() -> str:
    """Ends the process in the middle of the call."""
    os._exit(7)


arguments = {}
if transport != "stdio" and OPTIONS is not None:
    arguments = {**OPTIONS, "port": port}
elif OPTIONS and "show_banner" in OPTIONS:
    arguments = {"show_banner": False}
server.run(transport={"http": HTTP}.get(transport, transport), **arguments)

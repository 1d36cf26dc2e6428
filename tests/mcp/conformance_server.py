"""The tools that the conformance suite asks a server for, behind our gateway. Standard input and output, mcp 2."""

from mcp.server.mcpserver import MCPServer
from mcp.types import AudioContent, EmbeddedResource, ImageContent, TextContent, TextResourceContents

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
SILENCE = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA="
server = MCPServer("conformance")


def resource(uri, kind, text):
    return EmbeddedResource(type="resource", resource=TextResourceContents(uri=uri, mime_type=kind, text=text))


@server.tool()
def test_simple_text() -> str:
    """Text."""
    return "This is a simple text response for testing."


@server.tool(structured_output=False)
def test_image_content() -> ImageContent:
    """An image."""
    return ImageContent(type="image", data=PIXEL, mime_type="image/png")


@server.tool(structured_output=False)
def test_audio_content() -> AudioContent:
    """A sound."""
    return AudioContent(type="audio", data=SILENCE, mime_type="audio/wav")


@server.tool(structured_output=False)
def test_embedded_resource() -> EmbeddedResource:
    """A resource."""
    return resource("test://embedded-resource", "text/plain", "This is an embedded resource content.")


@server.tool(structured_output=False)
def test_multiple_content_types() -> list:
    """Three kinds of content."""
    return [
        TextContent(type="text", text="Multiple content types test:"),
        ImageContent(type="image", data=PIXEL, mime_type="image/png"),
        resource("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
    ]


@server.tool()
def test_error_handling() -> str:
    """Fails."""
    raise ValueError("This tool intentionally returns an error for testing")


server.run(transport="stdio")

"""A backend of OpenAI's kind with a script per model, and with counters at GET /counts. One process, no thread per stream.

talk     says how many user messages it was sent
native   refuses tools until they are in the prompt
shell    calls the tool of our own that it is offered
mixed    calls a tool of ours and `read_file`, then says how many results it was sent
tick     PIECES pieces of text, one every PACE seconds
"""

import asyncio
import json
import sys

PIECES, PACE = 24, 0.25
MODELS = ["talk", "native", "shell", "mixed", "tick"]
counts = {}


def count(what):
    counts[what] = counts.get(what, 0) + 1


def text(content):
    return [{"content": content}], "stop"


def calls(*wanted):
    listed = [
        {"index": at, "id": f"c{at}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        for at, (name, arguments) in enumerate(wanted)
    ]
    return [{"tool_calls": listed}], "tool_calls"


def answer(request):
    """Deltas and how the answer finishes, or what the backend refuses."""
    model, messages = request["model"], request["messages"]
    ours = [tool["function"]["name"] for tool in request.get("tools", []) if "employee_info" in tool["function"]["name"]]
    if model == "native":
        if request.get("tools"):
            count("native: refused")
            return None, "this model does not support tools"
        count("native: in the prompt")
        return text("Hello.")
    if model == "shell" and ours:
        return calls((ours[0], {"employee_id": "EMP003"}))
    results = [message for message in messages if message["role"] == "tool"]
    if model == "mixed" and not results and ours:
        return calls((ours[0], {"employee_id": "EMP003"}), ("read_file", {"path": "a.txt"}))
    if model == "mixed":
        names = sorted("ours" if "Tanaka" in json.dumps(result) else "theirs" for result in results)
        return text("results: " + " ".join(names))
    return text(f"{sum(message['role'] == 'user' for message in messages)} said")


def event(delta, finish=None):
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return b"data: " + json.dumps({"id": "x", "object": "chat.completion.chunk", "choices": [choice]}).encode() + b"\n\n"


async def serve(reader, writer):
    try:
        await answered(reader, writer)
    except (OSError, asyncio.IncompleteReadError):
        pass  # the other side has left
    finally:
        writer.close()


async def answered(reader, writer):
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    path = head.split(" ", 2)[1]
    length = next((int(line.split(":")[1]) for line in head.split("\r\n") if line.lower().startswith("content-length:")), 0)
    body = await reader.readexactly(length)
    if "chat/completions" not in path:
        found = {"/v1/models": {"object": "list", "data": [{"id": model} for model in MODELS]}, "/counts": counts}.get(path)
        return whole(writer, 200 if found is not None else 404, found or {"error": {"message": "there is nothing here"}})
    request = json.loads(body)
    if request["model"] == "tick":
        deltas, finish = [{"content": f"{at} "} for at in range(PIECES)], "stop"
    else:
        deltas, finish = answer(request)
    if deltas is None:
        return whole(writer, 400, {"error": {"message": finish}})
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n")
    for delta in deltas:
        writer.write(event(delta))
        await writer.drain()
        if request["model"] == "tick":
            await asyncio.sleep(PACE)
    writer.write(event({}, finish) + b"data: [DONE]\n\n")
    await writer.drain()


def whole(writer, status, value):
    body = json.dumps(value).encode()
    writer.write(b"HTTP/1.1 %d x\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: %d\r\n\r\n" % (status, len(body)) + body)


async def main(port):
    server = await asyncio.start_server(serve, "127.0.0.1", port, backlog=512)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))

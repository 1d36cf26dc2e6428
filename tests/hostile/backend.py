"""A backend of OpenAI's kind that runs as a process of its own. What it answers is decided by the model's name:

tick       a piece of text every 20 ms, as long as the client listens
text:NAME  the text of that name (see TEXTS), as fast as it can be sent
call:NAME  a call of the tool NAME without arguments
raw:NAME   the frames of that name (see FRAMES)
short      one word
"""

import contextlib
import json
import multiprocessing
import os
import socket
import threading
import time

MB = 1 << 20
SIZE = int(os.environ.get("TEXT_BYTES", MB))
TEXTS = {
    "tool_call": "<tool_call>" * (SIZE // 11),
    "braces": "{" * SIZE,
    "words": "word " * (SIZE // 5),
    "mixed": "<tool_call>{{{ a `b` ```json\n" * 1500,
    "fences": "```json\n{\"name\": \"t0\", " * (SIZE // 25),
}
def native(**call):
    call = {"index": call.pop("index", 0), **({"id": call.pop("id")} if "id" in call else {}), "function": call}
    return chunk({"tool_calls": [call]})


def chunk(delta, finish=None):
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return b"data: " + json.dumps({"id": "x", "object": "chat.completion.chunk", "choices": [choice]}).encode() + b"\n\n"


# Native calls that no server should send.
FRAMES = {
    "lists in lists": lambda: [b"data: " + b"[" * 6000 + b"]" * 6000 + b"\n\n"],
    "a long name": lambda: [native(id="c1", name="tool." * 2500 + "zz", arguments="{}")],
    "1,000 keys": lambda: [native(id="c1", name="t0", arguments=json.dumps({f"q{n}": "x" for n in range(1000)}))],
    "a long key": lambda: [native(id="c1", name="t0", arguments=json.dumps({"k" * 60_000: [1] * 5000}))],
    "10,000 indexes": lambda: [native(index=n, id=f"c{n}", name="t0", arguments="{}") for n in range(1, 10_001)],
    "growing pieces": lambda: [native(id="c1", name="t0", arguments="["), *(native(arguments="[" * n) for n in range(2, 1000))],
    "texts beside a call": lambda: [native(id="c1", name="t0", arguments=json.dumps({"a": "x" * 500_000})), *[chunk({"content": "w "})] * 2000],
}
MODELS = ["tick", "short", "call:t0", *(f"text:{name}" for name in TEXTS), *(f"raw:{name}" for name in FRAMES)]


def pieces(model):
    if model == "tick":
        while True:
            yield chunk({"content": f"{time.time():.6f} "})
            time.sleep(0.02)
    if model.startswith("text:"):
        text = TEXTS[model[5:]]
        for at in range(0, len(text), 4096):
            yield chunk({"content": text[at : at + 4096]})
    elif model.startswith("raw:"):
        yield from FRAMES[model[4:]]()
    elif model.startswith("call:"):
        function = {"name": model[5:], "arguments": '{"a": {"b": [1, "2"]}}'}
        yield chunk({"tool_calls": [{"index": 0, "id": "c1", "type": "function", "function": function}]})
        yield chunk({}, "tool_calls") + b"data: [DONE]\n\n"
        return
    else:
        yield chunk({"content": "hello"})
    yield chunk({}, "stop") + b"data: [DONE]\n\n"


def serve_one(connection):
    with connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        stream = connection.makefile("rb")
        line = stream.readline()
        length = 0
        while (header := stream.readline().strip()):
            name, _, value = header.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        if line.startswith(b"GET"):
            body = json.dumps({"object": "list", "data": [{"id": model} for model in MODELS]}).encode()
            connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: %d\r\n\r\n" % len(body) + body)
            return
        # The model is among the first fields that toolglot writes; the body may be large.
        start, left = stream.read(min(length, 200)), length - min(length, 200)
        while left > 0:
            left -= len(stream.read(min(left, MB)))
        model = start.split(b'"model":"', 1)[1].split(b'"', 1)[0].decode()
        connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n")
        for piece in pieces(model):
            connection.sendall(piece)


def quiet(connection):
    try:
        serve_one(connection)
    except (OSError, IndexError, ValueError):
        pass  # the client has left


def run(listener):
    with contextlib.suppress(OSError):
        os.nice(-5)  # pieces come in time on a busy machine, too
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=quiet, args=(connection,), daemon=True).start()


class Backend:
    def __init__(self):
        listener = socket.create_server(("127.0.0.1", 0), backlog=1000)
        self.port = listener.getsockname()[1]
        self.process = multiprocessing.Process(target=run, args=(listener,), daemon=True)
        self.process.start()
        listener.close()
        self.config = f'[[backend]]\nname = "b"\nkind = "openai"\nurl = "http://127.0.0.1:{self.port}/v1"\n'

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()

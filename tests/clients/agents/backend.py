"""A scripted server of models: OpenAI's chat API, answers in the text forms in which families of models write calls."""

import json
import re
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

FAMILIES = ["qwen2.5-coder:7b", "llama3.1:8b", "gemma3:12b"]
# Fenced JSON, the tags of Hermes, the tags of Qwen3-Coder.
FORMS = ["qwen2.5-coder:32b", "hermes3:8b", "qwen3-coder:30b"]


def written(model, name, arguments):
    """A call as this model's family writes it."""
    if model == FORMS[0]:
        return "```json\n" + json.dumps({"name": name, "arguments": arguments}, indent=2) + "\n```"
    if model == FORMS[2]:
        text = lambda value: value if isinstance(value, str) else json.dumps(value)
        values = "".join(f"<parameter={key}>\n{text(value)}\n</parameter>\n" for key, value in arguments.items())
        return f"<tool_call>\n<function={name}>\n{values}</function>\n</tool_call>"
    if model.startswith("llama"):
        return json.dumps({"name": name, "parameters": arguments})
    if model.startswith("gemma"):
        values = ", ".join(f"{key}={value!r}" for key, value in arguments.items())
        return f"```tool_code\n{name}({values})\n```"
    return "<tool_call>\n" + json.dumps({"name": name, "arguments": arguments}) + "\n</tool_call>"


class Backend:
    """Answers the nth chat with `script(n, body)`: a list of texts, pauses in seconds, and the steps below."""

    LENGTH = object()  # the output limit was reached
    BREAK = object()  # the connection breaks

    def __init__(self, script, context=131072):
        self.script, self.context, self.chats = script, context, []
        backend = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_GET(self):
                models = [{"id": name, "object": "model", "owned_by": "scripted", "max_model_len": backend.context} for name in FAMILIES + FORMS]
                self.answer(200 if self.path == "/v1/models" else 404, {"object": "list", "data": models})

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                if self.path != "/v1/chat/completions":
                    return self.answer(404, {"error": {"message": "not here"}})
                backend.chats.append(body)
                steps = backend.script(len(backend.chats), body)
                if isinstance(steps, dict):
                    return self.answer(400, steps)
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.send_header("connection", "close")
                self.end_headers()
                self.close_connection = True
                reason = "stop"
                for step in steps:
                    if step is Backend.LENGTH:
                        reason = "length"
                    elif step is Backend.BREAK:
                        return
                    elif isinstance(step, str):
                        for piece in re.findall(r".{1,24}", step, re.S):
                            self.event({"choices": [{"index": 0, "delta": {"content": piece}}]})
                    elif isinstance(step, dict):
                        self.event({"choices": [{"index": 0, "delta": step}]})
                    else:
                        time.sleep(step)
                self.event({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
                self.event({"choices": [], "usage": {"prompt_tokens": len(json.dumps(body)) // 4, "completion_tokens": 9}})
                self.wfile.write(b"data: [DONE]\n\n")

            def event(self, data):
                self.wfile.write(b"data: " + json.dumps(data).encode() + b"\n\n")
                self.wfile.flush()

            def answer(self, status, data):
                body = json.dumps(data).encode()
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/v1"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def prompts(self):
        """The rendered conversations, as JSON texts without their end."""
        return [json.dumps(chat["messages"]).removesuffix("]") for chat in self.chats]


def results(body):
    """The texts of the tools' results in a request."""
    return [str(message["content"]) for message in body["messages"] if message["role"] == "tool"]


def offered(body):
    return [tool["function"]["name"] for tool in body.get("tools", [])]

"""A model that gives prepared answers, one after the other, in the words of one of four families."""

import http.server
import json
import threading


class Model:
    """Speaks Ollama's API and OpenAI's; `answers` are texts or lists of (name, arguments)."""

    NAMES = {"gemma": "gemma3:12b", "coder": "qwen2.5-coder:7b", "native": "llama3.1:8b", "harmony": "gpt-oss:20b"}

    def __init__(self, family, answers):
        self.family, self.answers, self.asked = family, list(answers), []
        self.name = self.NAMES[family]
        model = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def reply(self, kind, *pieces, status=200):
                self.send_response(status)
                self.send_header("content-type", kind)
                self.send_header("transfer-encoding", "chunked")
                self.end_headers()
                for piece in pieces:
                    data = piece.encode()
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
                    self.wfile.flush()
                self.wfile.write(b"0\r\n\r\n")

            def do_GET(self):
                if self.path == "/api/tags" and family != "harmony":
                    return self.reply("application/json", json.dumps({"models": [{"name": model.name}]}))
                if self.path == "/v1/models":
                    return self.reply("application/json", json.dumps({"data": [{"id": model.name}]}))
                if self.path == "/api/ps":
                    return self.reply("application/json", '{"models":[]}')
                return self.reply("application/json", "{}", status=404)

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                if self.path == "/api/show":
                    tools = [] if family == "gemma" else ["tools"]
                    return self.reply(
                        "application/json",
                        json.dumps({"capabilities": ["completion", *tools], "model_info": {"x.context_length": 32768}}),
                    )
                if self.path not in ("/api/chat", "/v1/chat/completions"):
                    return self.reply("application/json", "{}", status=404)
                says = model.answers[min(len(model.asked), len(model.answers) - 1)]
                model.asked.append(body)
                write = model.events if self.path.startswith("/v1") else model.lines
                kind = "text/event-stream" if self.path.startswith("/v1") else "application/x-ndjson"
                return self.reply(kind, *write(says))

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def backend(self):
        kind, path = ("openai", "/v1") if self.family == "harmony" else ("ollama", "")
        return f'[[backend]]\nname = "scripted"\nkind = "{kind}"\nurl = "{self.url}{path}"\n'

    def lines(self, says):
        def piece(**message):
            return json.dumps({"message": {"role": "assistant", "content": "", **message}, "done": False}) + "\n"

        if isinstance(says, str):
            yield from (piece(content=part) for part in parts(says))
        elif self.family == "native":
            for name, arguments in says:
                yield piece(tool_calls=[{"function": {"name": name, "arguments": arguments}}])
        else:
            text = "\n".join(json.dumps({"name": name, "arguments": arguments}) for name, arguments in says)
            yield from (piece(content=part) for part in parts(text))
        end = {"done": True, "done_reason": "stop", "prompt_eval_count": 50, "eval_count": 5}
        yield json.dumps({"message": {"role": "assistant", "content": ""}, **end}) + "\n"

    def events(self, says):
        if not isinstance(says, str):
            says = "<|start|>assistant".join(
                f"<|channel|>commentary to=functions.{name.replace('.', '_')} <|constrain|>json<|message|>{json.dumps(arguments)}<|call|>"
                for name, arguments in says
            )
        for part in parts(says):
            yield "data: " + json.dumps({"choices": [{"index": 0, "delta": {"content": part}, "finish_reason": None}]}) + "\n\n"
        yield 'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":50,"completion_tokens":5}}\n\ndata: [DONE]\n\n'


def parts(text):
    return [text[at : at + 9] for at in range(0, len(text), 9)]

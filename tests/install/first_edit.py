"""From an installed command to the first executed edit, as a new user of Void sees it.

usage: first_edit.py COMMAND PORT OLLAMA_PORT FOLDER
1. `COMMAND serve`, before any backend is there; the curl command that it prints is run as it is.
2. An Ollama appears. Its model knows no tools, and writes its call as a fenced JSON block.
3. Void asks for the models, and sends its first request. Its answer is read by Void's rules, and the edit is made.
"""

import http.server
import json
import pathlib
import subprocess
import sys
import threading
import time
import urllib.request

command, port, ollama_port, folder = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), pathlib.Path(sys.argv[4])
base = f"http://127.0.0.1:{port}"
TOOLS = {
    "read_file": ["uri", "start_line", "end_line"],
    "edit_file": ["uri", "search_replace_blocks"],
    "run_command": ["command", "cwd"],
}
target = folder / "hello.py"
BLOCKS = "<<<<<<< ORIGINAL\nprint('helo')\n=======\nprint('hello')\n>>>>>>> UPDATED"


class Ollama(http.server.BaseHTTPRequestHandler):
    """One model without native tools."""

    def do_GET(self):
        answers = {"/api/tags": {"models": [{"name": "gemma3:4b"}]}, "/api/version": {"version": "0.13.0"}}
        self.answer([json.dumps(answers[self.path])] if self.path in answers else ["{}"], 200 if self.path in answers else 404)

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.path == "/api/show":
            return self.answer([json.dumps({"capabilities": ["completion"], "model_info": {"general.architecture": "g", "g.context_length": 32768}})])
        if "hello.py" not in json.dumps(asked):
            return self.answer(["{}"], 404)
        call = json.dumps({"name": "edit_file", "parameters": {"uri": str(target), "search_replace_blocks": BLOCKS}}, indent=2)
        text = f"I will correct the greeting.\n\n```json\n{call}\n```\n"
        pieces = [text[at : at + 7] for at in range(0, len(text), 7)]
        lines = [json.dumps({"message": {"role": "assistant", "content": piece}, "done": False}) + "\n" for piece in pieces]
        lines.append(json.dumps({"message": {"content": ""}, "done": True, "done_reason": "stop"}) + "\n")
        return self.answer(lines)

    def answer(self, lines, status=200):
        self.send_response(status)
        self.send_header("content-type", "application/x-ndjson")
        self.end_headers()
        for line in lines:
            self.wfile.write(line.encode())
            self.wfile.flush()

    def log_message(self, *_):
        pass


def say(text):
    print(f"[{time.monotonic() - begun:5.1f} s] {text}", flush=True)


def post(path, body):
    request = urllib.request.Request(base + path, json.dumps(body).encode(), {"content-type": "application/json"})
    return urllib.request.urlopen(request, timeout=60)


def voids_prompt():
    tools = []
    for at, (name, parameters) in enumerate(TOOLS.items(), 1):
        inside = "".join(f"\n<{parameter}>The {parameter}.</{parameter}>" for parameter in parameters)
        tools.append(f"    {at}. {name}\n    Description: what its name says.\n    Format:\n    <{name}>{inside}\n    </{name}>\n")
    return "\n".join(["You help with code.", "", "Available tools:", "", *tools, "Tool calling details:", "- One call, at the end."])


def read_as_void(text):
    """The first tag of a tool that is found anywhere, and its parameters."""
    found = min((text.find(f"<{name}>"), name) for name in TOOLS if f"<{name}>" in text)[1]
    body = text[text.index(f"<{found}>") + len(found) + 2 :]
    body = body[: body.rindex(f"</{found}>")]
    values = {}
    for parameter in TOOLS[found]:
        if f"<{parameter}>" in body:
            value = body.split(f"<{parameter}>", 1)[1].split(f"</{parameter}>", 1)[0]
            values[parameter] = value.strip("\n")
    return found, values


begun = time.monotonic()
target.write_text("print('helo')\n")
daemon = subprocess.Popen([command, "serve", "--listen", f"127.0.0.1:{port}"], stderr=subprocess.PIPE, text=True, cwd=folder)
said = []
reader = threading.Thread(target=lambda: said.extend(iter(daemon.stderr.readline, "")), daemon=True)
reader.start()
try:
    for _ in range(300):
        if any(line.startswith("curl ") for line in said) or daemon.poll() is not None:
            break
        time.sleep(0.05)
    print("".join(said), end="")
    shown = next(line for line in said if line.startswith("curl "))
    demo = subprocess.run(["sh", "-c", shown], capture_output=True, text=True, timeout=60).stdout
    assert '"tool_calls"' in demo and '"finish_reason":"tool_calls"' in demo, demo
    say("the printed curl command: a strict tool call")

    server = http.server.ThreadingHTTPServer(("127.0.0.1", ollama_port), Ollama)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    say("an Ollama appears")
    for _ in range(100):
        models = [model["id"] for model in json.load(urllib.request.urlopen(base + "/v1/models", timeout=60))["data"]]
        if "gemma3:4b" in models:
            break
        time.sleep(0.2)
    assert "gemma3:4b" in models, models
    say(f"Void lists: {', '.join(models)}")

    messages = [{"role": "system", "content": voids_prompt()}, {"role": "user", "content": f"Correct the greeting in {target}"}]
    text = ""
    for line in post("/v1/chat/completions", {"model": "gemma3:4b", "messages": messages, "stream": True}):
        if line.startswith(b"data: {"):
            text += json.loads(line[6:])["choices"][0]["delta"].get("content") or ""
    say("Void reads:\n" + "\n".join("          " + line for line in text.splitlines()))
    name, values = read_as_void(text)
    assert (name, values["uri"]) == ("edit_file", str(target)), (name, values)
    block = values["search_replace_blocks"]
    original, updated = (part.strip("\n") for part in block.split("<<<<<<< ORIGINAL", 1)[1].split(">>>>>>> UPDATED", 1)[0].split("=======", 1))
    before = target.read_text()
    assert before.count(original) == 1, (original, before)
    target.write_text(before.replace(original, updated))
    assert target.read_text() == "print('hello')\n", target.read_text()
    say(f"Void executes {name}: {target.name} is {target.read_text()!r}")
finally:
    daemon.terminate()
    daemon.wait(20)

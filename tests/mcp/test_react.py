"""Mode `react` with MCP servers that nobody here wrote: server-everything and server-filesystem over stdio, a server on the
Python SDK over HTTP with SSE. The model is scripted, in the words of four families.
"""

import json
import socket
import subprocess
import time
import urllib.request

import pytest
from model import Model
from test_interop import HERE, NODE, PACKAGES, PYTHONS, TOOLGLOT, WORK, free_port, stop, wait_for

FAMILIES = ["gemma", "coder", "native", "harmony"]


@pytest.fixture(scope="module")
def peer():
    """A server on the Python SDK over legacy SSE."""
    port = free_port()
    process = subprocess.Popen([PYTHONS["mcp2"], HERE / "server.py", "sse", str(port)], stderr=subprocess.DEVNULL)
    wait_for(port, process)
    yield f"http://127.0.0.1:{port}/sse"
    process.kill()


class Room:
    def __init__(self, folder, family, answers, servers, config="", backend=""):
        self.model = Model(family, answers)
        self.port = free_port()
        (folder / "mcp.json").write_text(json.dumps({"mcpServers": servers}))
        (folder / "proxy.toml").write_text(
            f"{config}\n{self.model.backend()}{backend}\n[mcp]\nbuiltin_tools = true\nregistry = '{folder}/mcp.json'\n"
        )
        self.log = open(folder / "toolglot.log", "w")
        self.process = subprocess.Popen(
            [TOOLGLOT, "serve", "--config", folder / "proxy.toml", "--listen", f"127.0.0.1:{self.port}"], stderr=self.log
        )
        wait_for(self.port, self.process)
        self.url = f"http://127.0.0.1:{self.port}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        stop(self.process)
        self.log.close()

    def post(self, path, body, timeout=300):
        request = urllib.request.Request(self.url + path, json.dumps(body).encode(), {"content-type": "application/json"})
        with urllib.request.urlopen(request, timeout=timeout) as answer:
            return answer.read().decode()

    def chat(self, **more):
        chat = {"model": self.model.name, "messages": [{"role": "user", "content": "go"}], "toolglot": {"trace": True}, **more}
        return json.loads(self.post("/react/v1/chat/completions", chat))

    def stream(self, **more):
        chat = {"model": self.model.name, "messages": [{"role": "user", "content": "go"}], "toolglot": {"trace": True}, **more}
        raw = self.post("/react/v1/chat/completions", {**chat, "stream": True})
        chunks = [json.loads(line[6:]) for line in raw.splitlines() if line.startswith("data: {")]
        choices = [choice for chunk in chunks for choice in chunk["choices"]]
        ends = [choice["finish_reason"] for choice in choices if choice["finish_reason"]]
        assert len(ends) == 1 and raw.endswith("data: [DONE]\n\n")
        return "".join(choice["delta"].get("content") or "" for choice in choices), ends[0], [c["toolglot"] for c in chunks if "toolglot" in c]


def everything():
    script = PACKAGES / "@modelcontextprotocol/server-everything/dist/index.js"
    return {"command": NODE, "args": [str(script), "stdio"]}


def files(folder):
    script = PACKAGES / "@modelcontextprotocol/server-filesystem/dist/index.js"
    # Writing is marked as destructive; here nobody is to be asked.
    return {"command": NODE, "args": [str(script), str(folder)], "effects": {"write_file": "writes"}}


def done(trace):
    return [(call["name"], call["ok"]) for call in trace["calls"]]


@pytest.mark.parametrize("family", FAMILIES)
def test_the_ways_through_a_turn(tmp_path, peer, family):
    folder = tmp_path / "files"
    folder.mkdir()
    note = str(folder / "note.txt")
    servers = {"everything": everything(), "files": files(folder), "peer": {"url": peer, "type": "sse"}}
    answers = [
        # One call, at the legacy server.
        [("peer__add", {"a": 2, "b": 3})],
        "Five.",
        # A chain of three in a real folder.
        [("files__write_file", {"path": note, "content": "tea at four"})],
        [("files__list_directory", {"path": str(folder)})],
        [("files__read_text_file", {"path": note})],
        "Tea at four.",
        # Side by side, of three servers.
        [("peer__add", {"a": 1, "b": 1}), ("everything__echo", {"message": "hello"}), ("builtin.sqlite__get_all_employees", {})],
        "All three.",
        # An error, and what follows it.
        [("peer__fail", {"why": "no luck"})],
        [("everything__get-sum", {"a": 20, "b": 22})],
        "Forty-two.",
        # With the client's own tool.
        [("peer__echo", {"text": "ours"}), ("read_file", {"path": "a"})],
        "Both.",
        # An image.
        [("everything__get-tiny-image", {})],
        "A picture.",
    ]
    with Room(tmp_path, family, answers, servers) as room:
        answer = room.chat()
        assert answer["choices"][0]["message"]["content"] == "Five."
        assert done(answer["toolglot"]) == [("peer__add", True)]
        assert "5" in json.dumps(room.model.asked[-1]["messages"][-1])

        text, end, [trace] = room.stream()
        assert (text, end) == ("Tea at four.", "stop")
        assert done(trace) == [("files__write_file", True), ("files__list_directory", True), ("files__read_text_file", True)]
        assert (folder / "note.txt").read_text() == "tea at four"
        assert "tea at four" in json.dumps(room.model.asked[-1]["messages"][-1])

        answer = room.chat()
        assert answer["choices"][0]["message"]["content"] == "All three."
        assert sorted(done(answer["toolglot"])) == [("builtin.sqlite__get_all_employees", True), ("everything__echo", True), ("peer__add", True)]

        text, end, [trace] = room.stream()
        assert (text, end, done(trace)) == ("Forty-two.", "stop", [("peer__fail", False), ("everything__get-sum", True)])
        assert "42" in json.dumps(room.model.asked[-1]["messages"][-1])

        tools = [{"type": "function", "function": {"name": "read_file", "parameters": {"type": "object", "properties": {"path": {"type": "string"}}}}}]
        answer = room.chat(tools=tools)
        message = answer["choices"][0]["message"]
        assert [call["function"]["name"] for call in message["tool_calls"]] == ["read_file"]
        result = {"role": "tool", "tool_call_id": message["tool_calls"][0]["id"], "content": "theirs"}
        answer = room.chat(tools=tools, messages=[{"role": "user", "content": "go"}, message, result])
        assert answer["choices"][0]["message"]["content"] == "Both."
        seen = json.dumps(room.model.asked[-1]["messages"])
        assert "ours" in seen and "theirs" in seen

        assert room.chat()["choices"][0]["message"]["content"] == "A picture."


def test_many_real_tools_cost_what_they_cost(tmp_path, peer):
    servers = {"everything": everything(), "files": files(tmp_path), "peer": {"url": peer}}
    with Room(tmp_path, "native", ["Hello."], servers) as room:
        room.chat()
        offered = [tool["function"]["name"] for tool in room.model.asked[0]["tools"]]
        assert len(offered) > 30, offered
    with Room(tmp_path, "native", ["Hello."], servers, "react.tools_percent = 5") as room:
        with pytest.raises(urllib.error.HTTPError) as refused:
            room.chat()
        text = refused.value.read().decode()
        assert "files: " in text and "everything: " in text and "tokens" in text


def test_a_server_that_dies_in_the_middle_and_comes_back(tmp_path):
    servers = {"peer": {"command": str(PYTHONS["mcp1"]), "args": [str(HERE / "server.py"), "stdio"]}}
    answers = [[("peer__die", {})], [("peer__add", {"a": 1, "b": 2})], "Three."]
    with Room(tmp_path, "native", answers, servers) as room:
        answer = room.chat()
        assert done(answer["toolglot"]) == [("peer__die", False), ("peer__add", True)]


@pytest.mark.parametrize("reads", [True, False])
def test_a_client_that_leaves(tmp_path, reads):
    """A call that only reads ends with its client. One with effects runs on, and the repeated request waits for its result."""
    tool = "trigger-long-running-operation"
    servers = {"everything": everything() | ({"effects": {tool: "reads"}} if reads else {})}
    answers = [[(f"everything__{tool}", {"duration": 30 if reads else 8, "steps": 4})], "never"]
    with Room(tmp_path, "native", answers, servers, 'react.progress = "comment"') as room:
        body = json.dumps({"model": room.model.name, "stream": True, "messages": [{"role": "user", "content": "go"}]}).encode()
        with socket.create_connection(("127.0.0.1", room.port)) as client:
            head = f"POST /react/v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
            client.sendall(head.encode() + body)
            seen = b""
            while b"running everything__trigger-long-running-operation" not in seen:
                seen += client.recv(4096)
            time.sleep(0.5)
        time.sleep(1)
        assert len(room.model.asked) == 1, "the model is not asked again"
        begun = time.monotonic()
        room.model.answers, room.model.asked = [[("everything__echo", {"message": "x"})], "ok"] if reads else ["ok"], []
        assert room.chat()["choices"][0]["message"]["content"] == "ok"
        assert (time.monotonic() - begun < 5) == reads, "the server is free again, or the call runs on"
        assert reads or "Long running operation completed" in json.dumps(room.model.asked[0]), "it ran once"


def test_five_rounds_at_two_requests_a_minute_wait(tmp_path):
    answers = [[("builtin.sqlite__search_docs", {"query": str(at)})] for at in range(4)] + ["Done."]
    with Room(tmp_path, "native", answers, {}, backend="requests_per_minute = 2\n") as room:
        begun = time.monotonic()
        text, end, [trace] = room.stream()
        assert (text, end, trace["rounds"]) == ("Done.", "stop", 5)
        assert 115 < time.monotonic() - begun < 200


@pytest.mark.parametrize("family", FAMILIES)
def test_npm_openai(tmp_path, peer, family):
    answers = [[("peer__add", {"a": 2, "b": 3})], "It is five."] * 4
    with Room(tmp_path, family, answers, {"peer": {"url": peer}}) as room:
        ran = subprocess.run([NODE, HERE / "react.mjs", room.url, room.model.name, WORK / "openai"], capture_output=True, text=True, timeout=60)
        assert ran.returncode == 0, ran.stderr
        seen = [json.loads(line) for line in ran.stdout.splitlines()]
        assert [(one["content"], one["calls"]) for one in seen] == [("It is five.", 1)] * 2


def test_the_session_with_curl(tmp_path, peer):
    """Register a server, list, ask with tools, without, remove: line by line."""

    def curl(*arguments):
        ran = subprocess.run(["curl", "-sS", *arguments], capture_output=True, text=True, timeout=60)
        assert ran.returncode == 0, ran.stderr
        return json.loads(ran.stdout)

    answers = ["Hello.", [("tts.add", {"a": 2, "b": 3})], "Five.", "Plain."]
    with Room(tmp_path, "gemma", answers, {}) as room:
        def rpc(path, params):
            body = json.dumps({"jsonrpc": "2.0", "id": "1", "method": path.strip("/"), "params": params})
            return curl("-X", "POST", room.url + path, "-H", "Content-Type: application/json", "-d", body)

        messages = [{"role": "user", "content": "What is 2 + 3?"}]
        assert rpc("/generate", {"messages": messages})["result"]["content"] == "Hello."
        added = curl("-X", "POST", f"{room.url}/mcp/add", "-H", "Content-Type: application/json", "-d", json.dumps({"name": "tts", "url": peer}))
        assert added == {"name": "tts", "url": peer, "message": "registered"}
        listed = curl(f"{room.url}/mcp/list")
        assert [(server["name"], server["url"]) for server in listed["servers"]] == [("tts", peer)]
        answer = rpc("/generate_with_mcp", {"model": room.model.name, "messages": messages, "mcp_servers": ["tts"], "max_iterations": 5})
        assert (answer["jsonrpc"], answer["id"], answer["result"]["content"]) == ("2.0", "1", "Five.")
        [made] = answer["result"]["tool_calls"]
        assert made == {"name": "tts__add", "arguments": {"a": 2, "b": 3}, "result": made["result"]} and "5" in made["result"]
        assert "[Tool Result: tts.add]" in json.dumps(room.model.asked[-1])
        assert rpc("/generate_with_mcp", {"messages": messages, "mcp_servers": ["nobody"]})["error"]["code"] == -32602
        removed = curl("-X", "DELETE", f"{room.url}/mcp/remove", "-H", "Content-Type: application/json", "-d", '{"name": "tts"}')
        assert removed == {"name": "tts", "message": "removed"}
        assert rpc("/generate_with_mcp", {"messages": messages})["result"]["content"] == "Plain."

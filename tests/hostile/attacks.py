#!/usr/bin/env python3
"""Single attacks, each a row of SECURITY.md: keys that a backend repeats, doors beside the front door, what one sender may take from
another, what stays after a death. Rows run at the same time where they measure nothing.

usage: attacks.py BINARY [WORD]      WORD: only the rows whose name has it
"""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import stalls
from backend import MB, Backend
from daemon import Daemon

KEY = "sk-0123456789abcdef-hostile"
SHORT = {"messages": [{"role": "user", "content": "hi"}]}


class Fake:
    """A backend whose answers a function makes: (line, body) -> bytes, or a generator of bytes; `None` closes the connection."""

    def __init__(self, answer, kind="openai"):
        self.answer, self.seen, self.kind = answer, [], kind
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=100)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            connection, _ = self.listener.accept()
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        with contextlib.suppress(OSError, ValueError), connection:
            stream = connection.makefile("rb")
            line, length = stream.readline().decode(), 0
            while header := stream.readline().strip().lower():
                if header.startswith(b"content-length:"):
                    length = int(header.split(b":")[1])
            body = stream.read(length).decode()
            self.seen.append((line, body))
            answer = self.answer(line, body)
            for piece in [answer] if isinstance(answer, bytes) else answer or []:
                connection.sendall(piece)

    def config(self, more=""):
        path = {"openai": "/v1", "google": "/v1beta", "ollama": ""}[self.kind]
        return f'[[backend]]\nname = "b"\nkind = "{self.kind}"\nurl = "http://127.0.0.1:{self.port}{path}"\n{more}'


def http(body, status="200 OK", headers=(), content="application/json"):
    body = body if isinstance(body, bytes) else json.dumps(body).encode()
    head = [f"HTTP/1.1 {status}", f"content-type: {content}", f"content-length: {len(body)}", "connection: close", *headers]
    return "\r\n".join(head).encode() + b"\r\n\r\n" + body


def models(*names):
    return http({"object": "list", "data": [{"id": name} for name in names]})


def says(text=None, calls=None, model="m"):
    """A backend with one model, which always says this."""
    message = {"role": "assistant", "content": text, **({"tool_calls": calls} if calls else {})}
    choice = {"index": 0, "message": message, "delta": message, "finish_reason": "tool_calls" if calls else "stop"}

    def answer(line, body):
        if line.startswith("GET"):
            return models(model)
        if '"stream":true' in body.replace(" ", ""):
            events = [f"data: {json.dumps({'choices': [choice]})}\n\n", "data: [DONE]\n\n"]
            return b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n" + "".join(events).encode()
        return http({"choices": [choice]})

    return Fake(answer)


def ticking():
    def pieces():
        yield b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
        while True:
            yield b'data: {"choices":[{"index":0,"delta":{"content":"tick "}}]}\n\n'
            time.sleep(0.05)

    return Fake(lambda line, body: models("m") if line.startswith("GET") else pieces())


def chat(daemon, path="/v1/chat/completions", headers=None, model="m", **more):
    return daemon.post(path, {"model": model, **SHORT, **more}, headers)


def head_and_body(daemon, path, body, headers=None, method="POST"):
    connection = daemon.connect(30)
    connection.request(method, path, json.dumps(body) if body else None, {"content-type": "application/json", **(headers or {})})
    response = connection.getresponse()
    return response.status, str(response.headers), response.read().decode()


# === one answer or request stalls everybody, or ends a turn ===


def a_fault_inside_ends_one_turn_alone(binary):
    """A text whose reading failed inside: the client gets an end or an error, in every protocol, and the daemon goes on."""
    text = "xcall:opendoor{which:>,keys:[<escape><escape>]}.<start_function_call>listrooms{}<end_function_call>call:<call:listrooms{}"
    tools = [
        {"name": "open_door", "parameters": {"type": "object", "properties": {"which": {"type": "string"}, "keys": {"type": "array", "items": {"type": "string"}}}}},
        {"name": "list_rooms", "parameters": {"type": "object", "properties": {}}},
    ]
    fake = says(text, model="functiongemma:270m")
    with Daemon(binary, "retry = 0\n" + fake.config()) as daemon:
        more = {"model": "functiongemma:270m", "stream": True, "tools": [{"type": "function", "function": tool} for tool in tools]}
        status, raw = chat(daemon, **more)
        assert status == 200 and (b"[DONE]" in raw or b'"error"' in raw) or status >= 500 and b'"error"' in raw, (status, raw[-300:])
        assert daemon.get("/healthz")[0] == 200
        metrics = daemon.get("/metrics")[1].decode()
        assert "toolglot_panics_total" in metrics, "faults inside are counted"
        assert "toolglot_panics_total 0" in metrics, "and this is none any more"


def a_usage_beyond_every_number_ends_no_turn(binary):
    """Twice in one turn, because the model is asked again."""
    most = 2**64 - 1
    call = [{"index": 0, "id": "c", "type": "function", "function": {"name": "t", "arguments": '{"a": {}}'}}]
    events = [{"choices": [{"index": 0, "delta": {"tool_calls": call}, "finish_reason": "tool_calls"}]},
              {"choices": [], "usage": {"prompt_tokens": most, "completion_tokens": most, "total_tokens": most}}]
    stream = b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events) + b"data: [DONE]\n\n"
    fake = Fake(lambda line, body: models("m") if line.startswith("GET") else http(stream, content="text/event-stream"))
    tool = {"type": "function", "function": {"name": "t", "parameters": {"type": "object", "properties": {"a": {"type": "string"}}}}}
    with Daemon(binary, fake.config()) as daemon:
        for _ in range(2):
            status, raw = chat(daemon, stream=True, tools=[tool])
            assert status == 200 and b"[DONE]" in raw, (status, raw[-300:])
        assert "panicked" not in daemon.log(), daemon.log()[-1000:]


def a_result_of_many_items_is_bounded(binary):
    """250,000 items of 31 bytes; and 60,000, which are read."""
    server = """
import sys, json
for line in sys.stdin:
    m = json.loads(line)
    count = (m.get("params") or {}).get("arguments", {}).get("n", 0)
    r = {"initialize": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}},
         "tools/list": {"tools": [{"name": "t", "inputSchema": {"type": "object", "properties": {"n": {"type": "integer"}}}}]},
         "tools/call": {"content": [{"type": "text", "text": "r"}] * count}}.get(m.get("method"))
    if "id" in m: print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": r or {}}), flush=True)
"""
    config = '[mcp]\nregistry = "FOLDER/mcp.json"\nserve_registry = true\n' + says("x").config()
    with Daemon(binary, config, prepare=registry({"s": server})) as daemon:
        call = lambda n: daemon.post("/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "s__t", "arguments": {"n": n}}})
        status, raw = call(1)
        assert status == 200 and b'"r"' in raw, (status, raw[:300])
        before, _ = daemon.memory()
        daemon.forget_peak()
        for n in [15_000, 250_000]:
            status, raw = call(n)
            assert status == 200, (status, raw[:300])
        assert b"too much memory" in raw, raw[:300]
        peak = daemon.memory()[1] - before
        assert peak <= 8 * 250_000 * 31 + 50 * MB, f"{peak / MB:.0f} MB"


def a_server_of_lines_that_are_no_messages_stalls_nobody(binary):
    """300,000 of them at once, before the result. What is measured is as in stalls.py: the work is cut into pieces."""
    server = """
import sys, json
for line in sys.stdin:
    m = json.loads(line)
    r = {"initialize": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}},
         "tools/list": {"tools": [{"name": "t", "inputSchema": {"type": "object"}}]}}.get(m.get("method"), {"content": []})
    if m.get("method") == "tools/call": sys.stdout.write("no message\\n" * 300_000)
    if "id" in m: print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": r}), flush=True)
"""
    with Backend() as backend:
        config = 'workers = 1\n[mcp]\nregistry = "FOLDER/mcp.json"\nserve_registry = true\n' + backend.config
        with Daemon(binary, config, prepare=registry({"s": server})) as daemon:
            call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "s__t", "arguments": {}}}
            _, computed, (status, raw) = stalls.beside(daemon, lambda: daemon.post("/mcp", call))
            assert status == 200 and b"result" in raw, (status, raw[:300])
            assert computed <= stalls.COMPUTED, f"computed for {computed:.0f} ms at once"


def a_server_that_asks_without_end_takes_neither_memory_nor_the_log(binary):
    """It asks, and reads no answer."""
    server = """
import sys, json
for line in sys.stdin:
    m = json.loads(line)
    r = {"initialize": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}},
         "tools/list": {"tools": [{"name": "t", "inputSchema": {"type": "object"}}]}}.get(m.get("method"))
    if "id" in m: print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": r or {}}), flush=True)
    while m.get("method") == "tools/list":
        print('{"jsonrpc":"2.0","id":"q","method":"ping"}')
        print('{"jsonrpc":"2.0","id":"q","method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}')
"""
    config = '[mcp]\nregistry = "FOLDER/mcp.json"\nserve_registry = true\n' + says("x").config()
    with Daemon(binary, config, prepare=registry({"s": server})) as daemon:
        status, raw = daemon.post("/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
        assert status == 200 and b"s__t" in raw, (status, raw[:300])
        before, _ = daemon.memory()
        time.sleep(5)
        assert daemon.memory()[0] - before < 20 * MB, f"{(daemon.memory()[0] - before) / MB:.0f} MB"
        assert len(daemon.log()) < 20_000, daemon.log()[-500:]


def a_list_of_a_million_models_is_bounded(binary):
    listed = http(b'{"object":"list","data":[' + b",".join(b'{"id":"m%d"}' % n for n in range(1_000_000)) + b"]}")
    fake = Fake(lambda line, body: listed)
    with Daemon(binary, fake.config()) as daemon:
        before, _ = daemon.memory()
        daemon.forget_peak()
        begun = time.monotonic()
        status, raw = daemon.get("/v1/models")
        assert status == 200 and len(raw) < 4 * MB, (status, len(raw))
        assert time.monotonic() - begun < 4, "one list of models takes seconds"
        assert daemon.memory()[1] - before < 120 * MB, f"{(daemon.memory()[1] - before) / MB:.0f} MB"


# === state, sockets ===


def a_tenant_takes_neither_the_count_nor_the_bytes_of_another(binary):
    keys = "".join(f'[[key]]\nname = "{name}"\nkey_env = "{name.upper()}_KEY"\n{more}' for name, more in [("ann", "requests_per_minute = 10\n"), ("bob", "")])
    env = {"ANN_KEY": "ann-key-0123", "BOB_KEY": "bob-key-0123"}
    key = lambda name: {"authorization": f"Bearer {env[name]}"}
    fake = says("word")
    with Daemon(binary, keys + fake.config(), env=env) as daemon:
        stored = lambda name, size: daemon.post("/v1/responses", {"model": "m", "input": "w" * size, "store": True}, key(name))
        status, kept = stored("ANN_KEY", 10)
        assert status == 200, (status, kept[:300])
        for _ in range(14):
            status, raw = stored("BOB_KEY", 6 * MB)
            assert status == 200, (status, raw[:300])
        connection = daemon.connect()
        connection.request("GET", "/v1/responses/" + json.loads(kept)["id"], headers=key("ANN_KEY"))
        assert connection.getresponse().status == 200, "what ann stored is gone"
        served = [stored("ANN_KEY", 10)[0] for _ in range(12)].count(200)
        assert served <= 9, f"{served} more of 10 a minute were served"


def a_half_sent_body_has_a_time_limit_on_every_route(binary):
    with Daemon(binary, says("x").config()) as daemon:
        sockets = {}
        for path, method in [("/mcp", "POST"), ("/sse", "POST"), ("/sse/message?session_id=x", "POST"), ("/mcp/add", "POST"), ("/mcp/remove", "DELETE")]:
            sockets[path] = daemon.socket(45)
            head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{{"
            sockets[path].sendall(head.encode())
        begun = time.monotonic()
        for path, s in sockets.items():
            s.settimeout(max(1, 45 - (time.monotonic() - begun)))
            try:
                while s.recv(4096):
                    pass
            except TimeoutError:
                raise AssertionError(f"{path} waits for a body for ever") from None
            except OSError:
                pass


def children(pid):
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError, IndexError), open(f"/proc/{name}/stat") as stat:
            if int(stat.read().rsplit(")", 1)[1].split()[1]) == pid:
                found.append(int(name))
    return found


def servers(pid):
    """The children of a daemon that are MCP servers, not what guards them."""
    found = []
    for child in children(pid):
        with contextlib.suppress(OSError), open(f"/proc/{child}/cmdline", "rb") as line:
            if sys.executable.encode() in line.read():
                found.append(child)
    return found


def registry(servers):
    def prepare(folder):
        entries = {}
        for name, text in servers.items():
            with open(os.path.join(folder, f"{name}.py"), "w") as out:
                out.write(text)
            entries[name] = {"command": sys.executable, "args": [os.path.join(folder, f"{name}.py")]}
        with open(os.path.join(folder, "mcp.json"), "w") as out:
            json.dump({"mcpServers": entries}, out)

    return prepare


def a_child_that_hangs_in_its_greeting_dies_with_the_daemon(binary):
    """It reads nothing and ignores the polite signal."""
    server = "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\ntime.sleep(600)\n"
    config = 'workers = 2\n[mcp]\nregistry = "FOLDER/mcp.json"\nserve_registry = true\n' + says("x").config()

    def once(_):
        with Daemon(binary, config, prepare=registry({"s": server, "r": server})) as daemon:
            listing = lambda: daemon.post("/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
            threads = [threading.Thread(target=lambda: contextlib.suppress(Exception).__enter__() or listing(), daemon=True) for _ in range(3)]
            for thread in threads:
                thread.start()
            for _ in range(100):
                if len(found := servers(daemon.process.pid)) == 2:
                    break
                time.sleep(0.1)
            assert len(found) == 2, found
            daemon.end()
            daemon.process.wait(30)
            time.sleep(0.5)
            left = [pid for pid in found if alive(pid)]
            for pid in left:
                os.kill(pid, signal.SIGKILL)
            assert not left, "a child outlives the daemon"

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(once, range(8)))


def a_killed_daemon_takes_its_children_with_it(binary):
    """SIGKILL: nothing of the daemon runs any more. The server ignores the end of its input; its own child is of its group."""
    server = """
import signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
time.sleep(600)
"""
    config = '[mcp]\nregistry = "FOLDER/mcp.json"\nserve_registry = true\n' + says("x").config()
    with Daemon(binary, config, prepare=registry({"s": server})) as daemon:
        asking = daemon.socket()
        body = b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
        asking.sendall(b"POST /mcp HTTP/1.1\r\nHost: localhost\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body))
        found = []
        for _ in range(100):
            found = servers(daemon.process.pid)
            found = found + [grandchild for child in found for grandchild in children(child)]
            if len(found) == 2:
                break
            time.sleep(0.1)
        assert len(found) == 2, found
        guards = [child for child in children(daemon.process.pid) if child not in found]
        daemon.end(signal.SIGKILL)
        daemon.process.wait(10)
        for _ in range(100):
            if not (left := [pid for pid in found + guards if alive(pid)]):
                break
            time.sleep(0.1)
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        assert not left, "a child outlives the killed daemon"


def alive(pid):
    with contextlib.suppress(OSError), open(f"/proc/{pid}/stat") as stat:
        return stat.read().rsplit(")", 1)[1].split()[0] != "Z"
    return False


def a_stream_that_the_end_cuts_off_says_so(binary):
    fake = ticking()
    with Daemon(binary, "drain_seconds = 1\n" + fake.config()) as daemon:
        answers = {}

        def stream(path, body):
            connection = daemon.connect(20)
            connection.request("POST", path, json.dumps({"model": "m", "stream": True, **body}), {"content-type": "application/json"})
            with contextlib.suppress(Exception):
                response, answers[path] = connection.getresponse(), b""
                while piece := response.read1(65536):
                    answers[path] += piece

        fronts = {"/v1/chat/completions": SHORT, "/api/chat": SHORT, "/v1/messages": {**SHORT, "max_tokens": 9}, "/v1/responses": {"input": "hi"}}
        threads = [threading.Thread(target=stream, args=row) for row in fronts.items()]
        for thread in threads:
            thread.start()
        time.sleep(1)
        daemon.end()
        daemon.process.wait(20)
        for thread in threads:
            thread.join()
        for path in fronts:
            assert b"tick" in answers.get(path, b"") and b"error" in answers[path][-700:], (path, answers.get(path, b"")[-300:])


# === secrets, doors ===


def a_backends_key_comes_back_nowhere(binary):
    error = {"error": {"message": f"wrong key {KEY}", "type": f"t-{KEY}", "code": KEY, "param": KEY}}
    headers = [f"x-ratelimit-limit: {KEY}", f"retry-after: {KEY}", f"location: http://h/{KEY}", f"set-cookie: k={KEY}", f"x-other: {KEY}"]
    for status in ["401 Unauthorized", "500 Oops", "429 Slow"]:
        fake = Fake(lambda line, body, status=status: models("m") if line.startswith("GET") else http(error, status, headers))
        with Daemon(binary, 'drain_seconds = 1\n' + fake.config('api_key_env = "THE_KEY"\n'), env={"THE_KEY": KEY}) as daemon:
            for path, body in [
                ("/v1/chat/completions", SHORT), ("/off/v1/chat/completions", SHORT), ("/shell/v1/chat/completions", SHORT), ("/react/v1/chat/completions", SHORT),
                ("/v1/messages", {**SHORT, "max_tokens": 5}), ("/v1/responses", {"input": "x"}), ("/api/chat", SHORT), ("/v1/embeddings", {"input": "x"}), ("/v1/completions", {"prompt": "x"}),
            ]:
                for stream in [False, True]:
                    status_line, head, answer = head_and_body(daemon, path, {"model": "m", "stream": stream, **body})
                    assert KEY not in head and KEY not in answer, f"{path} {status_line}: {head}{answer}"
            for path in ["/metrics", "/ui/turns", "/healthz"]:
                assert KEY not in daemon.get(path)[1].decode(), path
            assert KEY not in daemon.log(), [line for line in daemon.log().splitlines() if KEY in line][:3]


def the_log_is_its_owners(binary):
    before = os.umask(0)
    try:
        folder = tempfile.mkdtemp()
        log = os.path.join(folder, "new.log")
        with Daemon(binary, says("x").config(), command=("serve", "--log-file", log)):
            mode = os.stat(log).st_mode & 0o777
            assert mode == 0o600, oct(mode)
    finally:
        os.umask(before)
        shutil.rmtree(folder, ignore_errors=True)


def metadata_addresses_are_refused_in_every_spelling(binary):
    hosts = ["169.254.169.254", "[::169.254.169.254]", "[64:ff9b::a9fe:a9fe]", "[64:ff9b:1::a9fe:a9fe]", "[2002:a9fe:a9fe::]", "[::ffff:0:a9fe:a9fe]",
             "[2001:0:1::5601:5601]", "[::ffff:169.254.169.254]", "192.0.0.192", "0xa9fea9fe", "[::ffff:100.100.100.200]"]
    with Daemon(binary, '[mcp]\nregistry = "FOLDER/mcp.json"\n' + says("x").config()) as daemon:
        for host in hosts:
            status, raw = daemon.post("/mcp/add", {"name": "x", "url": f"http://{host}/mcp"})
            assert status == 400, (host, status, raw)
        assert daemon.post("/mcp/add", {"name": "x", "url": "http://[::1]:9/mcp"})[0] == 200


def a_page_without_an_origin_gets_nothing(binary):
    with Daemon(binary, '[mcp]\nregistry = "FOLDER/mcp.json"\n' + says("x").config()) as daemon:
        for site in ["cross-site", "same-site"]:
            for method, path in [("GET", "/sse"), ("GET", "/ui/events"), ("POST", "/mcp/add"), ("POST", "/ui/bypass"), ("POST", "/react/v1/chat/completions"), ("GET", "/v1/models")]:
                body = method == "POST" and {"model": "m", "name": "x", "url": "http://127.0.0.1:9/", **SHORT}
                status, _, answer = head_and_body(daemon, path, body, {"sec-fetch-site": site, "sec-fetch-mode": "no-cors"}, method)
                assert status == 403, (site, method, path, status, answer[:200])
        assert head_and_body(daemon, "/", None, {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}, "GET")[0] == 200, "a link to the page"


def probes_without_a_key_name_no_backend(binary):
    with Daemon(binary, 'api_key_env = "A_KEY"\n' + says("x").config().replace('"b"', '"the-inner-box"'), env={"A_KEY": "client-key-0123"}) as daemon:
        daemon.get("/v1/models", {"authorization": "Bearer client-key-0123"})
        for path in ["/readyz", "/healthz"]:
            status, raw = daemon.get(path)
            assert status == 200 and b"the-inner-box" not in raw, raw


def shell_block(binary, arguments, **how):
    call = [{"index": 0, "id": "c1", "type": "function", "function": {"name": "get_employee_info", "arguments": json.dumps(arguments)}}]
    fake = says(calls=call)
    path = os.path.dirname(os.path.abspath(binary)) + ":" + os.environ["PATH"]
    with Daemon(binary, how.pop("config", "") + "[mcp]\nbuiltin_tools = true\n" + fake.config(), env={"PATH": path}, **how) as daemon:
        names = []
        fake.answer = lambda line, body, plain=fake.answer: names.append(body) or plain(line, body)
        status, raw = chat(daemon, "/shell/v1/chat/completions")
        return status, json.loads(raw), names


def a_fence_in_an_argument_does_not_end_the_block(binary):
    hostile = {"employee_id": "x\n```\nrm -rf /\n``` it's \\ \\' `done`"}
    status, answer, _ = shell_block(binary, hostile, config='shell_form = "posix"\n')
    text = answer["choices"][0]["message"]["content"]
    assert status == 200 and "toolglot call" in text, answer
    block = text.split("```shell\n", 1)[1]
    line = block.split("\n```", 1)[0]
    assert "`" not in line and block.count("```") == 1, text
    for shell in ["sh", "bash", "dash", "zsh", "ksh", "fish"]:
        if path := shutil.which(shell):
            script = f"function toolglot; printf '%s' $argv[3]; end\n{line}" if shell == "fish" else f"toolglot() {{ printf '%s' \"$3\"; }}\n{line}"
            printed = subprocess.run([path, "-c", script], capture_output=True, text=True).stdout
            assert json.loads(printed) == hostile, (shell, printed)


def no_control_token_of_a_result_reaches_a_model(binary):
    torn = {"qwen3:8b": ["</tool_call>", "<tool_response>", "</tool_response>", "<|im_end|>"], "who-knows": ["<start_of_turn>", "[INST]", "</tool_call>", "<|im_end|>"]}
    for model, tokens in torn.items():
        fake = says("x", model=model)
        with Daemon(binary, fake.config()) as daemon:
            messages = [
                {"role": "user", "content": "go"},
                {"role": "assistant", "content": None, "tool_calls": [{"id": "c", "type": "function", "function": {"name": "t", "arguments": "{}"}}]},
                {"role": "tool", "tool_call_id": "c", "content": "MARK " + " ".join(tokens) + " MARK"},
            ]
            for offered in [{}, {"x-toolglot-tools": "prompt"}]:
                status, raw = daemon.post("/v1/chat/completions", {"model": model, "messages": messages, "tools": [{"type": "function", "function": {"name": "t", "parameters": {"type": "object"}}}]}, offered)
                assert status == 200, raw
                sent = json.dumps(json.loads(fake.seen[-1][1]), ensure_ascii=False)
                inside = sent.split("MARK")[1]
                assert not [token for token in tokens if token in inside], (model, inside)


def a_models_name_of_dots_is_no_folder(binary):
    listed = http({"models": [{"name": "models/m", "supportedGenerationMethods": ["generateContent"]}]})
    event = {"candidates": [{"content": {"role": "model", "parts": [{"text": "x"}]}, "finishReason": "STOP"}]}
    fake = Fake(lambda line, body: listed if line.startswith("GET") else http(f"data: {json.dumps(event)}\n\n".encode(), content="text/event-stream"), "google")
    with Daemon(binary, fake.config()) as daemon:
        for name in ["..", ".", "models/.."]:
            chat(daemon, model=name)
        paths = [line.split()[1] for line, _ in fake.seen if line.startswith("POST")]
        assert not [path for path in paths if "/.:" in path or "/..:" in path], paths


# === disk, time, restart ===


def a_call_that_cannot_be_kept_is_no_command(binary):
    """The folder of toolglot's data is a file."""
    def prepare(folder):
        with open(os.path.join(folder, "toolglot"), "w") as out:
            out.write("x")

    status, answer, _ = shell_block(binary, {"employee_id": "1"}, prepare=prepare)
    assert "toolglot call get" not in json.dumps(answer), answer
    assert status >= 500 and "error" in answer, answer


def temporary_files_of_a_killed_process_are_cleared(binary):
    places = ["toolglot/state", "."]

    def prepare(folder):
        for place in places:
            os.makedirs(os.path.join(folder, place), exist_ok=True)
            file = os.path.join(folder, place, ".toolglot-killed")
            with open(file, "w") as out:
                out.write("half")
            os.utime(file, (time.time() - 3600,) * 2)

    with Daemon(binary, '[mcp]\nregistry = "FOLDER/mcp.json"\n' + says("x").config(), prepare=prepare) as daemon:
        left = [place for place in places if os.path.exists(os.path.join(daemon.folder.name, place, ".toolglot-killed"))]
        assert not left, left


def a_clock_before_1970_is_refused_at_the_start(binary):
    if not shutil.which("cc"):
        print("NOT CHECKED: a clock before 1970, because there is no C compiler")
        return
    with tempfile.TemporaryDirectory() as folder:
        source, shim = os.path.join(folder, "clock.c"), os.path.join(folder, "clock.so")
        with open(source, "w") as out:
            out.write("#define _GNU_SOURCE\n#include <time.h>\n#include <unistd.h>\n#include <sys/syscall.h>\n"
                      "int clock_gettime(clockid_t id, struct timespec *at) {\n"
                      "  int failed = syscall(SYS_clock_gettime, id, at);\n  if (id == CLOCK_REALTIME) at->tv_sec -= 4000000000LL;\n  return failed;\n}\n")
        subprocess.run(["cc", "-shared", "-fPIC", "-o", shim, source], check=True)
        # No answer could have a date: the start says so, instead of a panic at each connection.
        file = os.path.join(folder, "proxy.toml")
        with open(file, "w") as out:
            out.write('listen = "127.0.0.1:0"\n' + says("word").config())
        env = {**os.environ, "LD_PRELOAD": shim, "HOME": folder, "XDG_DATA_HOME": folder}
        ended = subprocess.run([binary, "serve", "--config", file], env=env, capture_output=True, text=True, timeout=20)
        assert ended.returncode == 2 and "before 1970" in ended.stderr, (ended.returncode, ended.stderr[-500:])


def a_recording_of_a_long_name_is_written(binary):
    model = "m" * 300
    with Daemon(binary, says("word", model=model).config(), command=("record", "--into", "recorded")) as daemon:
        assert chat(daemon, model=model)[0] == 200
        time.sleep(0.5)
        assert os.listdir(os.path.join(daemon.folder.name, "recorded")), daemon.log()[-500:]


def one_fault_of_the_configuration_is_said_once(binary):
    with Daemon(binary, says("x").config()) as daemon:
        with open(os.path.join(daemon.folder.name, "proxy.toml"), "ab") as out:
            out.write(b"\xff\xfe = 1\n")
        for _ in range(20):
            time.sleep(0.15)
            daemon.end(signal.SIGHUP)
        time.sleep(0.5)
        said = daemon.log().count("stays as it was")
        assert said == 1, f"{said} lines\n{daemon.log()[-1500:]}"


ROWS = [
    a_fault_inside_ends_one_turn_alone, a_usage_beyond_every_number_ends_no_turn, a_tenant_takes_neither_the_count_nor_the_bytes_of_another, a_half_sent_body_has_a_time_limit_on_every_route,
    a_child_that_hangs_in_its_greeting_dies_with_the_daemon, a_killed_daemon_takes_its_children_with_it, a_stream_that_the_end_cuts_off_says_so, a_backends_key_comes_back_nowhere,
    metadata_addresses_are_refused_in_every_spelling, a_page_without_an_origin_gets_nothing, probes_without_a_key_name_no_backend,
    a_fence_in_an_argument_does_not_end_the_block, no_control_token_of_a_result_reaches_a_model, a_models_name_of_dots_is_no_folder,
    a_call_that_cannot_be_kept_is_no_command, temporary_files_of_a_killed_process_are_cleared, a_clock_before_1970_is_refused_at_the_start,
    a_recording_of_a_long_name_is_written, one_fault_of_the_configuration_is_said_once,
]
# These measure memory, or change what belongs to the process.
ALONE = [a_result_of_many_items_is_bounded, a_server_of_lines_that_are_no_messages_stalls_nobody, a_server_that_asks_without_end_takes_neither_memory_nor_the_log, a_list_of_a_million_models_is_bounded, the_log_is_its_owners]


def judged(row, binary):
    try:
        row(binary)
    except Exception as error:
        print(f"{row.__name__}: {error!r:.600}", flush=True)
        return row.__name__
    print(f"{row.__name__}: ok", flush=True)
    return None


def main():
    binary, only = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else ""
    chosen = lambda rows: [row for row in rows if only in row.__name__]
    failed = [judged(row, binary) for row in chosen(ALONE)]
    with ThreadPoolExecutor(6) as pool:
        failed += pool.map(lambda row: judged(row, binary), chosen(ROWS))
    failed = [name for name in failed if name]
    assert not failed, f"{len(failed)} rows failed: {', '.join(failed)}"


if __name__ == "__main__":
    main()

"""Our MCP server against clients that nobody here wrote, our client pool against servers that nobody here wrote.

run.sh installs what this needs and sets the environment.
"""

import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import time
import urllib.request

import pytest

HERE = pathlib.Path(__file__).parent
TOOLGLOT = os.environ["TOOLGLOT"]
WORK = pathlib.Path(os.environ["TOOLGLOT_MCP_DIR"])
NODE = os.environ["TOOLGLOT_NODE"]
PYTHONS = {name: WORK / name / "bin" / "python" for name in ("mcp2", "mcp1", "fastmcp")}
PACKAGES = WORK / "npm" / "node_modules"
OURS = ["calculate_vacation_days", "get_all_employees", "get_employee_info", "search_docs"]
INFO = {"serverName": "sqlite", "toolName": "calculate_vacation_days", "backendType": "BuiltInRust"}


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def wait_for(port, process, seconds=30):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        assert process.poll() is None, "the server ended"
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise AssertionError("the server does not listen")


def stop(process):
    process.send_signal(signal.SIGINT)
    try:
        process.wait(15)
    except subprocess.TimeoutExpired:
        process.kill()
        raise AssertionError("the server does not end") from None


def run(*command, folder=None, ok=True, **more):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=90, cwd=folder, **more)
    assert not ok or done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("toolglot")


@pytest.fixture(scope="module")
def ours(folder):
    """`toolglot serve` with the built-in tools."""
    port = free_port()
    config = folder / "proxy.toml"
    config.write_text('[[backend]]\nname = "recorded"\nkind = "replay"\n[mcp]\nbuiltin_tools = true\n')
    process = subprocess.Popen([TOOLGLOT, "serve", "--config", config, "--listen", f"127.0.0.1:{port}"])
    wait_for(port, process)
    yield f"http://127.0.0.1:{port}"
    stop(process)


# === our server ===


@pytest.mark.parametrize(
    ("python", "kind", "path", "protocol"),
    [
        ("mcp2", "http", "/mcp", "2025-11-25"),
        ("mcp2", "sse", "/sse", "2025-11-25"),
        ("mcp2", "auto", "/mcp", "2026-07-28"),
        ("mcp2", "auto", "/sse", "2026-07-28"),
        ("mcp1", "http", "/mcp", "2025-11-25"),
        ("mcp1", "sse", "/sse", "2025-11-25"),
        ("fastmcp", "auto", "/mcp", "fastmcp"),
    ],
)
def test_python_clients(ours, python, kind, path, protocol):
    check_client(run(PYTHONS[python], HERE / "client.py", kind, ours + path), protocol)


@pytest.mark.parametrize("python", ["mcp2", "mcp1"])
def test_python_clients_over_stdio(ours, folder, python):
    done = run(PYTHONS[python], HERE / "client.py", "stdio", TOOLGLOT, "mcp", "--config", folder / "proxy.toml", "serve", folder=folder)
    check_client(done, "2025-11-25")


def check_client(done, protocol):
    seen = json.loads(done.stdout)
    assert seen["tools"] == OURS
    assert seen["protocol"] == protocol
    # The year was sent as a string.
    assert json.loads(seen["text"])["result"]["remaining"] == 11.5
    assert seen["content"][0]["_meta"]["toolglot/serviceInfo"] == INFO
    assert seen["failed"] and "no employee `EMP404`" in json.loads(seen["failure"])["error"]


@pytest.mark.parametrize(("path", "more"), [("/mcp", []), ("/sse", ["sse"])])
def test_void(ours, path, more):
    seen = json.loads(run(NODE, HERE / "void.mjs", ours + path, *more, folder=WORK / "npm").stdout)
    assert seen["status"] == "success"
    assert all(re.fullmatch(r"[a-z0-9]{6}_\w+", name) for name in seen["prefixed"])
    assert json.loads(seen["good"]["text"])["success"] is True
    assert seen["good"]["first"]["serviceInfo"] == INFO
    assert seen["bad"]["isError"] is True
    assert json.loads(seen["unstripped"])["success"] is True, "a prefix that was not stripped does no harm"


@pytest.mark.parametrize(("path", "transport"), [("/mcp", "http"), ("/sse", "sse"), ("/sse", "http")])
def test_inspector(ours, path, transport):
    inspector = [NODE, WORK / "inspector/node_modules/.bin/mcp-inspector", "--cli", ours + path, "--transport", transport]
    listed = json.loads(run(*inspector, "--method", "tools/list").stdout)
    assert [tool["name"] for tool in listed["tools"]] == OURS
    called = run(*inspector, "--method", "tools/call", "--tool-name", "search_docs", "--tool-arg", "query=vacation")
    assert "Vacation rules" in called.stdout


def post(url, body, **headers):
    request = urllib.request.Request(url, json.dumps(body).encode(), {"content-type": "application/json", **headers})
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def test_pages_of_others_are_refused(ours):
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    assert post(ours + "/mcp", body)[0] == 200
    assert post(ours + "/mcp", body, origin=ours)[0] == 200
    for path in ("/mcp", "/sse", "/sse/message?session_id=x", "/mcp/add"):
        for origin in ("http://evil.example", "http://localhost:3000", "null"):
            assert post(ours + path, body, origin=origin)[0] == 403, (path, origin)
    assert post(ours + "/mcp", body, host="evil.example")[0] == 403


def test_the_origins_curl_session(ours):
    assert post(ours + "/mcp/add", {"name": "tts", "url": "http://192.168.0.18:23016/sse"}) == (
        200,
        '{"name":"tts","url":"http://192.168.0.18:23016/sse","message":"registered"}',
    )
    with urllib.request.urlopen(ours + "/mcp/list") as answer:
        [server] = json.load(answer)["servers"]
    assert (server["name"], server["url"]) == ("tts", "http://192.168.0.18:23016/sse")
    assert post(ours + "/mcp/add", {"name": "x", "url": "http://169.254.169.254/"})[0] == 400
    remove = urllib.request.Request(ours + "/mcp/remove", b'{"name": "tts"}', method="DELETE")
    with urllib.request.urlopen(remove) as answer:
        assert json.load(answer) == {"name": "tts", "message": "removed"}
    with pytest.raises(urllib.error.HTTPError, match="404"):
        urllib.request.urlopen(remove)


# === our client ===


def node_server(name, *arguments):
    return [NODE, PACKAGES / "@modelcontextprotocol" / name / "dist" / "index.js", *arguments]


every_peer = pytest.mark.parametrize("peer", [f"{python}-{kind}" for python in PYTHONS for kind in ("stdio", "http", "sse")], indirect=True)
some_peers = pytest.mark.parametrize("peer", ["mcp2-stdio", "mcp1-sse", "fastmcp-http"], indirect=True)


@pytest.fixture
def peer(request, tmp_path):
    """A Python server in a registry of its own."""
    python, kind = request.param.split("-")
    entry = {"toolglot": {"timeout_seconds": 20}}
    process = None
    if kind == "stdio":
        entry |= {"command": str(PYTHONS[python]), "args": [str(HERE / "server.py"), "stdio"], "env": {"OWN": "1"}}
    else:
        port = free_port()
        process = subprocess.Popen([PYTHONS[python], HERE / "server.py", kind, str(port)], stderr=subprocess.DEVNULL)
        wait_for(port, process)
        entry |= {"url": f"http://127.0.0.1:{port}/{'mcp' if kind == 'http' else 'sse'}"}
    registry = tmp_path / "mcp.json"
    registry.write_text(json.dumps({"mcpServers": {"peer": entry}}))
    yield registry, kind, python
    if process:
        process.kill()


def toolglot(registry, *command, ok=True, **more):
    first, *rest = command
    environment = {**os.environ, "SECRET": "s3cret", "XDG_DATA_HOME": str(registry.parent)}
    return run(TOOLGLOT, first, "--registry", registry, *rest, ok=ok, env=environment, **more)


@every_peer
def test_python_servers(peer):
    registry, kind, python = peer
    tools = json.loads(toolglot(registry, "mcp", "tools", "--json").stdout)
    assert {"peer__add", "peer__echo"} <= {tool["name"] for tool in tools}
    # Types are repaired on the way.
    answer = json.loads(toolglot(registry, "call", "peer__add", '{"a": 2, "b": "40"}', "--json").stdout)
    item = answer["result"]["content"][0]
    assert item["text"] == "42"
    assert item["serviceInfo"] == {"serverName": "peer", "toolName": "add", "backendType": "ExternalMCP"}
    failed = toolglot(registry, "call", "peer.fail", '{"why": "of this"}', ok=False)
    assert failed.returncode == 1 and "executing tool fail" in failed.stdout
    assert toolglot(registry, "call", "echo", '{"text": "\\u00fc\\n"}').stdout == "ü\n\n"
    if kind == "stdio":
        names = toolglot(registry, "call", "peer__environment").stdout.split()
        assert "OWN" in names and "PATH" in names and "SECRET" not in names


@some_peers
def test_policies_reach_real_servers(peer):
    registry, _, _ = peer
    document = json.loads(registry.read_text())
    document["mcpServers"]["peer"]["toolglot"] |= {
        "deny": ["echo"],
        "tools": {
            "mail": {
                "parameters": {"tenant": {"override_from": {"env": "SECRET"}}},
                "mcp_service_factors": {
                    "columns": {"source": "internal", "targetParam": "select", "parameters": {"subject": {"default": True}}}
                },
            }
        },
    }
    registry.write_text(json.dumps(document))
    tools = {tool["name"]: tool for tool in json.loads(toolglot(registry, "mcp", "tools", "--json").stdout)}
    assert "peer__echo" not in tools
    assert list(tools["peer__mail"]["parameters"]["properties"]) == ["query"]
    said = toolglot(registry, "call", "peer__mail", '{"query": "x", "tenant": "evil"}', ok=False)
    assert "query=x tenant=[hidden] select=[('subject', True)]" in said.stdout, said
    assert "s3cret" not in said.stdout + said.stderr


@some_peers
def test_a_server_that_dies_in_the_middle_of_a_call(peer):
    registry, kind, _ = peer
    begun = time.monotonic()
    failed = toolglot(registry, "call", "peer__die", ok=False)
    assert failed.returncode == 1
    assert time.monotonic() - begun < 25
    if kind == "stdio":
        assert "the process ended (exit status: 7)" in failed.stdout, failed


@some_peers
def test_a_call_that_takes_too_long(peer):
    registry, _, _ = peer
    failed = toolglot(registry, "call", "peer__wait", '{"seconds": 60}', "--timeout", "1", ok=False)
    assert failed.returncode == 1 and "no answer within 1 s" in failed.stdout, failed


def test_reference_servers(tmp_path):
    registry = tmp_path / "mcp.json"
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "a.txt").write_text("hello")
    for name, command in {
        "everything": node_server("server-everything", "stdio"),
        "files": node_server("server-filesystem", tmp_path / "files"),
        "memory": node_server("server-memory"),
    }.items():
        toolglot(registry, "mcp", "add", name, *(["--env", f"MEMORY_FILE_PATH={tmp_path}/m.jsonl"] if name == "memory" else []), "--", *command)
    tools = {tool["name"]: tool for tool in json.loads(toolglot(registry, "mcp", "tools", "--json").stdout)}
    assert tools["files__write_file"]["permission"] == "ask" and tools["files__read_text_file"]["permission"] == "run"
    assert toolglot(registry, "call", "files__read_text_file", json.dumps({"path": str(tmp_path / "files" / "a.txt")})).stdout == "hello\n"
    assert "42" in toolglot(registry, "call", "everything__get-sum", '{"a": 2, "b": 40}').stdout
    assert "image/png" in toolglot(registry, "call", "everything__get-tiny-image").stdout
    toolglot(registry, "call", "memory__create_entities", '{"entities": [{"name": "Mina", "entityType": "person", "observations": ["likes tea"]}]}')
    assert "likes tea" in toolglot(registry, "call", "memory__read_graph").stdout


def test_everything_over_both_http_dialects(tmp_path):
    for kind, path in (("streamableHttp", "/mcp"), ("sse", "/sse")):
        port = free_port()
        process = subprocess.Popen(
            [str(part) for part in node_server("server-everything", kind)],
            env={**os.environ, "PORT": str(port), "HOST": "127.0.0.1"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            wait_for(port, process)
            registry = tmp_path / f"{kind}.json"
            toolglot(registry, "mcp", "add", "everything", f"http://127.0.0.1:{port}{path}")
            assert "42" in toolglot(registry, "call", "everything__get-sum", '{"a": 2, "b": 40}').stdout
            # Progress keeps a call alive beyond its quiet time.
            done = toolglot(registry, "call", "everything__trigger-long-running-operation", '{"duration": 4, "steps": 8}', "--timeout", "2", ok=False)
            assert "no answer within 2 s" in done.stdout, done
        finally:
            process.kill()


def test_a_dead_server_delays_nobody(tmp_path):
    registry = tmp_path / "mcp.json"
    toolglot(registry, "mcp", "add", "dead", "http://127.0.0.1:9/mcp")
    toolglot(registry, "mcp", "add", "silent", "--", "sleep", "60")
    toolglot(registry, "mcp", "add", "broken", "--", "sh", "-c", "echo no such module >&2; exit 3")
    toolglot(registry, "mcp", "add", "alive", "--", *node_server("server-memory"))
    begun = time.monotonic()
    listed = toolglot(registry, "mcp", "tools", "--json", ok=False)
    assert listed.returncode == 1
    assert time.monotonic() - begun < 35
    assert "alive__read_graph" in listed.stdout
    for said in ("dead: ", "silent: it is still being connected to", "broken: the process ended (exit status: 3); it wrote: no such module"):
        assert said in listed.stderr, listed.stderr


def test_our_server_as_a_gateway(tmp_path, folder):
    """A client of ours, our server, a server of somebody else."""
    registry = tmp_path / "mcp.json"
    inner, outer = free_port(), free_port()
    peer = subprocess.Popen([PYTHONS["mcp1"], HERE / "server.py", "sse", str(inner)], stderr=subprocess.DEVNULL)
    wait_for(inner, peer)
    toolglot(registry, "mcp", "add", "peer", f"http://127.0.0.1:{inner}/sse")
    config = tmp_path / "proxy.toml"
    config.write_text('[[backend]]\nname = "recorded"\nkind = "replay"\n[mcp]\nregistry = "mcp.json"\nserve_registry = true\n')
    process = subprocess.Popen([TOOLGLOT, "serve", "--config", config, "--listen", f"127.0.0.1:{outer}"])
    try:
        wait_for(outer, process)
        own = tmp_path / "own.json"
        for path in ("mcp", "sse"):
            toolglot(own, "mcp", "add", "--replace", "gateway", f"http://127.0.0.1:{outer}/{path}")
            answer = json.loads(toolglot(own, "call", "gateway__peer__add", '{"a": "2", "b": 40}', "--json").stdout)
            assert answer["result"]["content"][0]["text"] == "42"
        # A bare name is known from the last result of the session.
        listed = post(f"http://127.0.0.1:{outer}/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
        assert '"peer__add"' in listed[1]
    finally:
        stop(process)
        peer.kill()

#!/usr/bin/env python3
"""One request stalls nobody: while a hostile request is served, another client's stream of a piece every 20 ms goes on, and
memory stays within 8 times the body and 50 MB.

Between two pieces of that stream two things are measured: the time, and how much of it the thread that serves the stream has
computed (`schedstat`). The second is the stall that toolglot causes; unlike the first it is the same on a busy machine.

usage: stalls.py BINARY [--release] [--only WORD]      --release: the bounds of an optimised build, and larger bodies
"""

import contextlib
import json
import multiprocessing
import os
import sys
import time

RELEASE = "--release" in sys.argv
# Text that might become a call takes a debug build 15 us a byte.
os.environ["TEXT_BYTES"] = str((1 << 20) if RELEASE else (1 << 17))

from backend import MB, Backend
from daemon import Daemon

# Milliseconds.
COMPUTED = 100
# A debug build computes about twenty times as long, and how long depends on the machine. There the bound is a share of the row's own
# time, which shows that the work is cut into pieces.
SHARE = 2 / 5
# Blocked without computing: a lock, a file. Generous, because a busy machine lets the whole process wait.
WAITED = 3000
LIMIT = 16 * MB


def computed(pid):
    """Milliseconds of processor time of the process's first thread, the only worker."""
    with open(f"/proc/{pid}/task/{pid}/schedstat") as stat:
        return int(stat.read().split()[0]) / 1e6


def watch(port, pid, stop, out):
    """The largest gap between two pieces of a stream and the most that was computed in one, in milliseconds, until told to stop."""
    import http.client

    with contextlib.suppress(OSError):
        os.nice(-15)  # what is computed while this process waits for a processor must not count
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    body = json.dumps({"model": "tick", "stream": True, "messages": [{"role": "user", "content": "go"}]})
    connection.request("POST", "/v1/chat/completions", body, {"content-type": "application/json"})
    response = connection.getresponse()
    last, last_computed, gap, stall = time.monotonic(), computed(pid), 0, 0
    out.put("ready")
    while not stop.is_set():
        try:
            piece = response.read1(65536)
        except OSError:
            piece = b""
        now, now_computed = time.monotonic(), computed(pid)
        gap, last = max(gap, now - last), now
        stall, last_computed = max(stall, now_computed - last_computed), now_computed
        if not piece:
            break  # it was silent for longer than any limit, and is broken now
    out.put((gap * 1000, stall))


def beside(daemon, work):
    """The result of the work, and what a stream beside it had to wait."""
    stop, out = multiprocessing.Event(), multiprocessing.Queue()
    watcher = multiprocessing.Process(target=watch, args=(daemon.port, daemon.process.pid, stop, out), daemon=True)
    watcher.start()
    assert out.get(timeout=60) == "ready"
    time.sleep(0.3)
    try:
        result = work()
    except OSError as error:
        result = (0, repr(error).encode())
    time.sleep(0.3)
    stop.set()
    gap, stall = out.get(timeout=120)
    watcher.join(5)
    return gap, stall, result


def chat(**fields):
    return {"model": "short", "stream": True, "messages": [{"role": "user", "content": "hi"}], **fields}


def tool(name, schema):
    return {"type": "function", "function": {"name": name, "description": "d", "parameters": schema}}


def object_of(**properties):
    return {"type": "object", "properties": properties}


def doubled(depth):
    """A schema of a few lines with 2^depth ways through it."""
    defs = {f"d{n}": {"anyOf": [{"$ref": f"#/$defs/d{n + 1}"}, {"$ref": f"#/$defs/d{n + 1}"}]} for n in range(depth)}
    return {"type": "object", "properties": {"a": {"$ref": "#/$defs/d0"}}, "required": ["a"], "$defs": {**defs, f"d{depth}": {"type": "integer"}}}


def page(text):
    return {"model": "qwen3:8b", "text": text, "tools": [tool("t0", object_of())]}


def filled(size, head, piece, tail, join=b","):
    count = (size - len(head) - len(tail)) // (len(piece) + len(join))
    return head + join.join([piece] * count) + tail


HEAD = b'{"model":"short","stream":true,"messages":[{"role":"user","content":"hi"}'
NEAR = LIMIT - 4096
calls = lambda n: {"role": "assistant", "content": None, "tool_calls": [
    {"id": f"call_{at}", "type": "function", "function": {"name": "t0", "arguments": "{}"}} for at in range(n)]}

# Name, body, the statuses that may be answered.
ROWS = [
    ("10,000 tools", lambda: chat(tools=[tool(f"tool_with_a_name_{n}", object_of(path={"type": "string"})) for n in range(10_000)]), {200}),
    ("a schema with 2^22 ways", lambda: chat(model="call:t0", tools=[tool("t0", doubled(22))]), {200, 400}),
    ("one tool schema of 15 MB", lambda: chat(tools=[tool("t0", object_of(**{f"p{n}": {"type": "string", "description": "x" * 4000} for n in range(3700)}))]), {200, 400, 413}),
    ("one schema of small properties", lambda: chat(tools=[tool("t0", object_of(**{f"p{n}": {} for n in range(90_000)}))]), {200, 400, 413}),
    ("60 MB of small messages", lambda: filled(60 * MB, HEAD + b",", b'{"role":"user","content":"x"}', b"]}"), {413}),
    ("16 MB of small messages", lambda: filled(NEAR, HEAD + b",", b'{"role":"user","content":"x"}', b"]}"), {413}),
    ("as many messages as are taken", lambda: filled(1_100_000, HEAD + b",", b'{"role":"user","content":"x"}', b"]}"), {200}),
    ("16 MB of numbers", lambda: filled(NEAR, HEAD + b'],"x":[', b"1", b"]}"), {413}),
    ("16 MB of empty objects", lambda: filled(NEAR, HEAD + b'],"x":[', b"{}", b"]}"), {413}),
    ("16 MB in one message", lambda: chat(messages=[{"role": "user", "content": "word " * (NEAR // 5 - 100)}]), {200}),
    ("16 MB of messages of 2 kB", lambda: chat(messages=[{"role": "user", "content": "word " * 400}] * (NEAR // 2050)), {200}),
    ("old text full of <tool_call>", lambda: chat(messages=[{"role": "assistant", "content": "<tool_call>" * ((NEAR if RELEASE else MB // 4) // 11 - 100)}, {"role": "user", "content": "x"}], tools=[tool("t0", object_of())]), {200}),
    ("results in the wrong order", lambda: chat(messages=[calls(10_000), *({"role": "tool", "tool_call_id": f"call_{at}", "content": "r"} for at in reversed(range(10_000)))]), {200}),
    ("nesting of 100,000", lambda: HEAD + b'],"x":' + b"[" * 100_000 + b"]" * 100_000 + b"}", {400}),
    ("an answer of <tool_call>", lambda: chat(model="text:tool_call", tools=[tool("t0", object_of())]), {200}),
    ("an answer of {", lambda: chat(model="text:braces", tools=[tool("t0", object_of())]), {200}),
    ("an answer of fences", lambda: chat(model="text:fences", tools=[tool("t0", object_of())]), {200}),
    *((f"native: {name}", lambda name=name, properties=properties: chat(model=f"raw:{name}", tools=[tool("t0", properties), *(tool(f"make_thing_{n}", object_of()) for n in range(4))]), {200, 502})
      for name, properties in [
          ("lists in lists", object_of()), ("a long name", object_of()), ("10,000 indexes", object_of()), ("growing pieces", object_of()), ("texts beside a call", object_of()),
          ("1,000 keys", {**object_of(**{f"p{n}": {"type": "string"} for n in range(2000)}), "required": [f"p{n}" for n in range(2000)]}),
          ("a long key", {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "string"}}})]),
    ("pasted on the page: {", lambda: page("{" * (1 << 16)), {200}),
    ("pasted on the page: <tool_call>", lambda: page("<tool_call>" * ((1 << 16) // 11)), {200}),
    ("pasted on the page: 15 MB", lambda: page("{" * (NEAR - 4096)), {413}),
    ("an answer of words", lambda: chat(model="text:words"), {200}),
]


def main():
    binary, failed = sys.argv[1], []
    only = sys.argv[sys.argv.index("--only") + 1] if "--only" in sys.argv else ""
    with Backend() as backend:
        print(f"{'':34} {'body':>9} {'status':>6} {'answer':>9} {'time':>7} {'computed':>8} {'gap':>8} {'usual gap':>9} {'memory':>9} {'allowed':>9} {'kept':>8}")
        for name, body, statuses in ROWS:
            if only not in name:
                continue
            body = body()
            body = body if isinstance(body, bytes) else json.dumps(body).encode()
            with Daemon(binary, f"workers = 1\n{backend.config}") as daemon:
                daemon.post("/v1/chat/completions", chat())
                usual, _, _ = beside(daemon, lambda: time.sleep(0.5))
                before, _ = daemon.memory()
                daemon.forget_peak()
                begun = time.monotonic()
                path = "/ui/normalize" if name.startswith("pasted") else "/v1/chat/completions"
                gap, stall, (status, answer) = beside(daemon, lambda: daemon.post(path, body))
                took = time.monotonic() - begun - 0.6
                peak = daemon.memory()[1] - before
                time.sleep(0.3)
                kept = daemon.memory()[0] - before
                allowed = 8 * len(body) + 50 * MB
                problems = []
                if status not in statuses:
                    problems.append(f"status {status}: {answer[:200]}")
                if stall > COMPUTED and (RELEASE or stall > SHARE * took * 1000):
                    problems.append(f"computed for {stall:.0f} ms at once")
                if gap > max(WAITED, 5 * usual):
                    problems.append(f"another stream paused for {gap:.0f} ms")
                if peak > allowed:
                    problems.append(f"{peak / MB:.0f} MB of memory")
                if len(answer) > 3 * MB:
                    problems.append(f"an answer of {len(answer) / MB:.0f} MB")
                print(f"{name:34} {len(body) / MB:6.1f} MB {status:6} {len(answer) / MB:6.1f} MB {took:5.1f} s {stall:5.0f} ms {gap:5.0f} ms "
                      f"{usual:6.0f} ms {peak / MB:6.0f} MB {allowed / MB:6.0f} MB {kept / MB:5.0f} MB {'; '.join(problems)}", flush=True)
                failed += [f"{name}: {problem}" for problem in problems]
        if not only:
            schemas_are_not_kept(binary, backend, failed)
    assert not failed, "\n".join(failed)


def schemas_are_not_kept(binary, backend, failed):
    """24 large schemas, each used by a call, one after the other."""
    with Daemon(binary, backend.config) as daemon:
        daemon.post("/v1/chat/completions", chat())
        before, _ = daemon.memory()
        for at in range(24):
            properties = {f"p{n}_{at}": {"type": "string", "description": "x" * 700} for n in range(3500)}
            daemon.post("/v1/chat/completions", chat(model="call:t0", tools=[tool("t0", object_of(**properties))]))
        kept = daemon.memory()[0] - before
        print(f"24 schemas of 2.7 MB: {kept / MB:.0f} MB are kept")
        if kept > 300 * MB:
            failed.append(f"24 schemas: {kept / MB:.0f} MB are kept")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Streams for a while, with clients that leave, hostile bodies, idle sockets and files that change: memory, threads and open files
are at the end what they were after the first part.

usage: soak.py BINARY SECONDS
"""

import contextlib
import json
import os
import random
import sys
import threading
import time

from backend import MB, Backend
from daemon import Daemon

SERVER = """
import sys, json, random, os
for line in sys.stdin:
    m = json.loads(line)
    if random.random() < 0.02: os._exit(1)
    r = {"initialize": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}},
         "tools/list": {"tools": [{"name": "t", "inputSchema": {"type": "object"}}]},
         "tools/call": {"content": [{"type": "text", "text": "r"}]}}.get(m.get("method"))
    if "id" in m: print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": r or {}}), flush=True)
"""


class Counts:
    def __init__(self):
        self.lock, self.of = threading.Lock(), {}

    def add(self, name):
        with self.lock:
            self.of[name] = self.of.get(name, 0) + 1


def body(**fields):
    return json.dumps({"model": "short", "stream": True, "messages": [{"role": "user", "content": "hi"}], **fields}).encode()


def whole(daemon, counts):
    status, raw = daemon.post("/v1/chat/completions", body(stream=random.random() < 0.5))
    counts.add("whole")
    assert status == 200 and b"hello" in raw, (status, raw[:300])


def flood(daemon, counts):
    model = random.choice(["text:words", "text:mixed"])
    tools = [{"type": "function", "function": {"name": "t0", "parameters": {"type": "object"}}}]
    status, _ = daemon.post("/v1/chat/completions", body(model=model, tools=tools))
    counts.add("flood")
    assert status == 200


def react(daemon, counts):
    status, raw = daemon.post("/react/v1/chat/completions", body())
    counts.add("react")
    assert status == 200, (status, raw[:300])


def leave(daemon, counts):
    """Begins a stream and leaves in the middle of it, in one of three ways."""
    connection = daemon.connect(20)
    connection.request("POST", "/v1/chat/completions", body(model="tick"), {"content-type": "application/json"})
    way = random.random()
    if way < 0.3:
        connection.close()
    else:
        response = connection.getresponse()
        for _ in range(random.randrange(30)):
            response.read1(4096)
        connection.close()
    counts.add("left")


def half(daemon, counts):
    with contextlib.suppress(OSError), daemon.socket(5) as s:
        text = b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n" + body()
        s.sendall(text[: random.randrange(len(text))])
    counts.add("half")


def large(daemon, counts):
    choice = random.random()
    if choice < 0.5:
        sent = body(messages=[{"role": "user", "content": "word " * 400_000}])
    else:
        sent = b'{"model":"short","x":[' + b"1," * 2_000_000 + b"1]}"
    daemon.post("/v1/chat/completions", sent)
    counts.add("large")


def client(daemon, counts, until, failed):
    acts = [whole] * 50 + [leave] * 20 + [half] * 15 + [react] * 10 + [flood] * 2 + [large]
    while time.monotonic() < until:
        act = random.choice(acts)
        try:
            act(daemon, counts)
        except Exception as error:
            failed.append(f"{act.__name__}: {error!r}")


def edits(daemon, until):
    """The registry and the configuration change all the time; some of the edits are mistakes."""
    registry, proxy = (os.path.join(daemon.folder.name, name) for name in ["mcp.json", "proxy.toml"])
    good = open(proxy).read()
    while time.monotonic() < until:
        time.sleep(2)
        servers = {f"s{n}": {"command": sys.executable, "args": ["server.py"], "cwd": daemon.folder.name} for n in range(random.randrange(3))}
        with open(registry, "w") as out:
            out.write(json.dumps({"mcpServers": servers}) if random.random() < 0.9 else "{")
        with open(proxy, "w") as out:
            out.write(good if random.random() < 0.8 else good + "\nnonsense = 1\n")
    with open(proxy, "w") as out:
        out.write(good)
    with open(registry, "w") as out:
        out.write('{"mcpServers":{}}')


def idle_sockets_are_closed(daemon, failed, until):
    """Sockets that say nothing, half a head, or half a body: all are closed by the daemon within a minute or so."""
    texts = [b"", b"GET /v1/models HT", b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{"]
    sockets = [daemon.socket(max(1, until - time.monotonic())) for _ in texts for _ in range(5)]
    for at, s in enumerate(sockets):
        s.sendall(texts[at % len(texts)])
    for at, s in enumerate(sockets):
        try:
            while s.recv(4096):
                pass
        except TimeoutError:
            failed.append(f"a socket that said {texts[at % len(texts)]!r} stays open")
        except OSError:
            pass


def settled(daemon):
    """Memory, open files and threads once nothing runs."""
    time.sleep(4)
    return daemon.memory()[0], daemon.files(), daemon.threads()


def held(daemon):
    """What holds bytes, as the daemon says it."""
    lines = [line.split() for line in daemon.get("/metrics")[1].decode().splitlines() if line.startswith("toolglot_held_bytes{")]
    return ", ".join(f"{name.split(chr(34))[1]} {int(count) / MB:.1f} MB" for name, count in lines)


def sampled(daemon, until, samples):
    """The memory under load, once a minute: seconds since the start, bytes."""
    begun = time.monotonic()
    while time.monotonic() < until:
        samples.append((time.monotonic() - begun, daemon.memory()[0]))
        time.sleep(60)


def main():
    binary, seconds = sys.argv[1], int(sys.argv[2])
    failed, counts = [], Counts()
    with Backend() as backend, Daemon(binary, "[mcp]\nregistry = \"mcp.json\"\n" + backend.config) as daemon:
        with open(os.path.join(daemon.folder.name, "server.py"), "w") as out:
            out.write(SERVER)
        first = max(seconds // 5, min(60, seconds // 2))
        threading.Thread(target=idle_sockets_are_closed, args=(daemon, failed, time.monotonic() + seconds), daemon=True).start()
        measured, samples = [], []
        threading.Thread(target=sampled, args=(daemon, time.monotonic() + seconds, samples), daemon=True).start()
        for part, span in enumerate([first, seconds - first]):
            until = time.monotonic() + span
            threads = [threading.Thread(target=client, args=(daemon, counts, until, failed)) for _ in range(16)]
            threads.append(threading.Thread(target=edits, args=(daemon, until)))
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            measured.append(settled(daemon))
            memory, files, running = measured[-1]
            print(f"after part {part + 1}: {memory / MB:.0f} MB, {files} files, {running} threads; held: {held(daemon)}; {counts.of}", flush=True)
        (memory, files, running), (memory_then, files_then, running_then) = measured
        log = daemon.log()
        # What fills in the first minutes is full then: from minute 5 on the memory is flat.
        late = [memory for at, memory in samples if at >= 295]
        if len(late) > 5:
            print("memory by minute: " + " ".join(f"{memory / MB:.0f}" for _, memory in samples), flush=True)
            first, last = (sum(part) / len(part) for part in [late[: len(late) // 3], late[-(len(late) // 3) :]])
            if last > first * 1.1:
                failed.append(f"under load the memory grew from {first / MB:.0f} to {last / MB:.0f} MB after minute 5")
        if memory_then > memory * 1.25 + 30 * MB:
            failed.append(f"memory grew from {memory / MB:.0f} to {memory_then / MB:.0f} MB")
        if files_then > files + 10:
            failed.append(f"open files grew from {files} to {files_then}")
        if running_then > running + 10:
            failed.append(f"threads grew from {running} to {running_then}")
        if "panicked" in log:
            failed.append("a panic: " + log[log.index("panicked") - 500 :][:2000])
        daemon.end()
        if daemon.process.wait(20) != 0:
            failed.append("it did not end well")
    assert not failed, f"{len(failed)} faults:\n" + "\n".join(failed[:20])


if __name__ == "__main__":
    main()

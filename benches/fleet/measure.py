"""What a stream costs each part of a fleet: processor time, memory, connections, commands to Redis. Times of the processor, not of
the clock: other work on the machine changes them little.

usage: measure.py BINARY [INSTANCES:STREAMS ...]      (a release build; needs redis-server and haproxy, Linux)
"""

import asyncio
import json
import os
import re
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tests/fleet"))
from backend import PACE, PIECES  # noqa: E402
from parts import KEYS, Backend, Balancer, Redis, Toolglot, until  # noqa: E402

TICKS = os.sysconf("SC_CLK_TCK")
# What an agent sends: a long system text, tools, some history.
CONVERSATION = [{"role": "system", "content": "You are a careful engineer. " * 200}, {"role": "user", "content": "go"}]
TOOLS = [
    {"type": "function", "function": {"name": f"tool_{at}", "description": "Does one thing. " * 10, "parameters": {"type": "object", "properties": {"path": {"type": "string"}, "text": {"type": "string"}}, "required": ["path"]}}}
    for at in range(12)
]
BODY = json.dumps({"model": "tick", "stream": True, "messages": CONVERSATION, "tools": TOOLS}).encode()


def spent(part):
    """Seconds of the processor, and bytes that are resident."""
    with open(f"/proc/{part.process.pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS, int(fields[21]) * os.sysconf("SC_PAGE_SIZE")


def commands(redis):
    """Commands to Redis so far, by name."""
    found = re.findall(r"cmdstat_(\w+):calls=(\d+)", redis.cli("info", "commandstats"))
    return {name: int(count) for name, count in found if name in ("get", "set", "mget", "getdel", "incr")}


async def one(port, wait):
    """A stream: whether it was whole, and how many bytes it had."""
    await asyncio.sleep(wait)
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(
            b"POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\n"
            b"authorization: Bearer %s\r\ncontent-length: %d\r\n\r\n" % (KEYS["ann"].encode(), len(BODY)) + BODY
        )
        answer = await reader.read(-1)
        writer.close()
        return b"data: [DONE]" in answer, len(answer)
    except OSError:
        return False, 0


async def load(port, streams, during):
    # Within one stream's length, so that all of them overlap for a moment.
    length = PIECES * PACE
    watch = asyncio.get_running_loop().run_in_executor(None, during, length * 0.98)
    answers = await asyncio.gather(*(one(port, length * 0.9 * at / streams) for at in range(streams)))
    await watch
    return answers


def measure(folder, binary, count, streams):
    backend, redis = Backend(folder), Redis(folder)
    store = f"redis://127.0.0.1:{redis.port}"
    instances = [Toolglot(folder, f"i{at}", binary, store, backend) for at in range(count)]
    for instance in instances:
        until("it has the store", instance.has_store)
    balancer = Balancer(folder, instances, failures=100)
    try:
        asyncio.run(load(balancer.port, 20, lambda _: None))  # everything that happens once
        parts = {"toolglot": instances, "haproxy": [balancer], "redis": [redis]}
        total = lambda of, at: sum(spent(part)[at] for part in parts[of])
        before, asked, calm = {of: total(of, 0) for of in parts}, commands(redis), total("toolglot", 1)
        peak = []

        def during(seconds):
            time.sleep(seconds)
            peak.append((total("toolglot", 1), sum(instance.metric("toolglot_requests_under_way") for instance in instances)))

        answers = asyncio.run(load(balancer.port, streams, during))
        used = {of: (total(of, 0) - before[of]) / streams * 1000 for of in parts}
        sent = {name: round((now - asked.get(name, 0)) / streams, 1) for name, now in commands(redis).items()}
        whole = sum(done for done, _ in answers)
        bytes_out = sum(size for _, size in answers) / streams
        memory, under_way = peak[0]
        print(
            f"{count} x {streams:5d} streams ({under_way:.0f} at once), {whole} whole: "
            + ", ".join(f"{of} {ms:.2f} ms" for of, ms in used.items())
            + f" of the processor per stream; {(memory - calm) / max(1, under_way) / 1024:.0f} KiB each; in {len(BODY)} B, out {bytes_out:.0f} B; Redis per turn {sent}",
            flush=True,
        )
    finally:
        for part in [balancer, *instances, redis, backend]:
            part.end()


if __name__ == "__main__":
    for wanted in sys.argv[2:] or ["1:100", "1:400", "3:400", "3:1200"]:
        count, streams = map(int, wanted.split(":"))
        with tempfile.TemporaryDirectory(prefix="toolglot-bench-") as folder:
            measure(folder, os.path.abspath(sys.argv[1]), count, streams)

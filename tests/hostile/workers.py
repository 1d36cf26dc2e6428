#!/usr/bin/env python3
"""What a piece of a stream costs with one thread and with several: processor time per piece, which a busy machine does not change much.
Not part of run.sh: it decides nothing but the default of `workers`.

usage: workers.py BINARY
"""

import json
import os
import sys
import threading
import time

from backend import Backend
from daemon import Daemon

STREAMS, SECONDS = 40, 8
BODY = json.dumps({"model": "tick", "stream": True, "messages": [{"role": "user", "content": "go"}]})


def processor_time(pid):
    with open(f"/proc/{pid}/stat") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def read(daemon, until, pieces):
    connection = daemon.connect(60)
    connection.request("POST", "/v1/chat/completions", BODY, {"content-type": "application/json"})
    response = connection.getresponse()
    count = 0
    while time.monotonic() < until:
        count += response.read1(65536).count(b"data: ")
    pieces.append(count)


def main():
    with Backend() as backend:
        for workers in [1, 2, 4, 1, 2, 4]:
            with Daemon(sys.argv[1], f"workers = {workers}\n{backend.config}") as daemon:
                daemon.get("/v1/models")
                before, pieces, until = processor_time(daemon.process.pid), [], time.monotonic() + SECONDS
                threads = [threading.Thread(target=read, args=(daemon, until, pieces)) for _ in range(STREAMS)]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
                spent = processor_time(daemon.process.pid) - before
                print(f"{workers} workers: {sum(pieces)} pieces, {spent / sum(pieces) * 1e6:.0f} us of processor time each", flush=True)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Sockets and shutdown: too many clients, no file descriptors left, bodies that are refused early, signals.

usage: sockets.py BINARY
"""

import contextlib
import json
import signal
import sys
import threading
import time

from backend import Backend
from daemon import Daemon

TICK = json.dumps({"model": "tick", "stream": True, "messages": [{"role": "user", "content": "go"}]})


def begin_stream(daemon):
    connection = daemon.connect(20)
    connection.request("POST", "/v1/chat/completions", TICK, {"content-type": "application/json"})
    response = connection.getresponse()
    assert response.status == 200
    response.read1(1000)
    return response


def raw(daemon, text, timeout=10):
    with daemon.socket(timeout) as s:
        s.sendall(text.encode())
        answer = b""
        with contextlib.suppress(OSError):
            while piece := s.recv(65536):
                answer += piece
                if b"\r\n\r\n" in answer and b"content-length: 0" in answer.lower():
                    break
        return answer.decode(errors="replace")


def too_many_clients(binary, backend):
    with Daemon(binary, "[limits]\nconnections = 10\n" + backend.config) as daemon:
        stream = begin_stream(daemon)
        idle = [daemon.socket() for _ in range(20)]
        time.sleep(1)
        answer = raw(daemon, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert answer.startswith("HTTP/1.1 503") and "limits.connections" in answer, answer
        assert json.loads(answer.split("\r\n\r\n", 1)[1])["error"]["code"] == "overloaded"
        assert stream.read1(1000), "a stream that runs goes on"
        for s in idle:
            s.close()
        time.sleep(1)
        assert daemon.get("/healthz")[0] == 200
        assert daemon.log().count("clients are connected") <= 2, daemon.log()


def no_file_descriptors(binary, backend):
    with Daemon(binary, backend.config, limit_files=48) as daemon:
        stream = begin_stream(daemon)
        idle = []
        for _ in range(80):
            with contextlib.suppress(OSError):
                idle.append(daemon.socket(2))
        time.sleep(1)
        assert stream.read1(1000), "a stream that runs goes on"
        assert daemon.log().count("cannot take further connections") <= 2, daemon.log()
        assert "cannot take further connections" in daemon.log(), daemon.log()
        for s in idle:
            s.close()
        time.sleep(2)
        assert daemon.get("/healthz")[0] == 200


def refused_early(binary, backend):
    with Daemon(binary, backend.config) as daemon:
        large = b'{"model":"short","messages":[{"role":"user","content":"' + b"x" * (40 << 20) + b'"}]}'
        for headers, expected in [({}, 413), ({"host": "evil.example"}, 403), ({"origin": "https://evil.example"}, 403)]:
            for chunked in [False, True]:
                body = iter([large[at : at + 100_000] for at in range(0, len(large), 100_000)]) if chunked else large
                connection = daemon.connect()
                connection.request("POST", "/v1/chat/completions", body, {"content-type": "application/json", **headers}, encode_chunked=chunked)
                response = connection.getresponse()
                error = json.loads(response.read())["error"]
                assert response.status == expected, (response.status, error)
                assert expected != 413 or "limits.body_bytes" in error["message"], error


def odd_heads(binary, backend):
    with Daemon(binary, backend.config) as daemon:
        two = raw(daemon, "GET /v1/models HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\nconnection: close\r\n\r\n")
        assert two.startswith("HTTP/1.1 400"), two
        none = raw(daemon, "GET /v1/models HTTP/1.1\r\nconnection: close\r\n\r\n")
        assert none.startswith("HTTP/1.1 403"), none
        body = '{"model":"short","messages":[{"role":"user","content":"hi"}],"stream":false}'
        form = f"POST /api/chat HTTP/1.1\r\nHost: localhost\r\ncontent-type: application/x-www-form-urlencoded\r\ncontent-length: {len(body)}\r\nconnection: close\r\n"
        answer = raw(daemon, form + "\r\n" + body)
        assert answer.startswith("HTTP/1.1 200") and "hello" in answer, answer
        for page, status in [("origin: http://localhost:3000\r\n", 415), ("sec-fetch-site: cross-site\r\n", 403)]:
            answer = raw(daemon, form + page + "\r\n" + body)
            assert answer.startswith(f"HTTP/1.1 {status}"), answer


def signals(binary, backend):
    with Daemon(binary, backend.config) as daemon:
        daemon.end()
        assert daemon.process.wait(8) == 0, "nothing runs: it ends at once"
    with Daemon(binary, backend.config) as daemon:
        stream = begin_stream(daemon)
        daemon.end()
        time.sleep(1)
        assert stream.read1(1000) and daemon.process.poll() is None, "a running answer has its time"
        assert daemon.get("/readyz")[0] == 503 and daemon.get("/v1/models")[0] == 503, "nothing new begins"
        begun = time.monotonic()
        daemon.end(signal.SIGINT)
        assert daemon.process.wait(5) == 0
        assert time.monotonic() - begun < 3, "the second signal ends it"
    with Daemon(binary, backend.config) as daemon:
        stream = begin_stream(daemon)
        begun = time.monotonic()
        daemon.end()
        threading.Thread(target=lambda: contextlib.suppress(Exception).__enter__() or drain(stream), daemon=True).start()
        assert daemon.process.wait(30) == 0
        assert 8 < time.monotonic() - begun < 20, "without a second signal it ends after its time of grace"


def drain(stream):
    try:
        while stream.read1(65536):
            pass
    except Exception:
        pass


def main():
    with Backend() as backend:
        for test in [too_many_clients, no_file_descriptors, refused_early, odd_heads, signals]:
            test(sys.argv[1], backend)
            print(f"{test.__name__}: ok", flush=True)


if __name__ == "__main__":
    main()

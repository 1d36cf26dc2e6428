#!/usr/bin/env python3
"""A backend that fails in every way x its kind x streamed or not x the client's protocol: always a complete answer, or an error
in the form of that protocol; and nothing is left over afterwards.

usage: faults.py BINARY
"""

import gzip
import json
import multiprocessing
import socket
import struct
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from daemon import Daemon, free_port

WORDS = ["The ", "quick ", "brown ", "fox ", "jumps."]
TEXT = "".join(WORDS)


def openai(stream_of=WORDS):
    event = lambda value: b"data: " + json.dumps(value).encode() + b"\n\n"
    out = [event({"choices": [{"index": 0, "delta": {"content": word}, "finish_reason": None}]}) for word in stream_of]
    return b"".join([*out, event({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}), b"data: [DONE]\n\n"])


def ollama():
    lines = [{"model": "m", "message": {"role": "assistant", "content": word}, "done": False} for word in WORDS]
    lines.append({"model": "m", "message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "stop", "eval_count": 5})
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def google():
    value = lambda word, **more: {"candidates": [{"content": {"role": "model", "parts": [{"text": word}]}, **more}]}
    values = [value(word) for word in WORDS] + [value("", finishReason="STOP")]
    return b"".join(b"data: " + json.dumps(v).encode() + b"\r\n\r\n" for v in values)


KINDS = {
    "openai": ("/v1", openai(), b'{"object":"list","data":[{"id":"m"}]}'),
    "ollama": ("", ollama(), b'{"models":[{"name":"m","model":"m"}]}'),
    "google": ("/v1beta", google(), b'{"models":[{"name":"models/m","supportedGenerationMethods":["generateContent"]}]}'),
}
OK = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n"


def faults(good):
    """Name -> (what is sent, how it ends, whether the answer can be whole)."""
    chunked = lambda body: OK + b"transfer-encoding: chunked\r\n\r\n" + b"%x\r\n" % len(body) + body + b"\r\n0\r\n\r\n"
    plain = lambda body, more=b"": OK + more + b"\r\n" + body
    found = {
        "good": (chunked(good), "close", True),
        "reset at once": (b"", "reset", False),
        "close at once": (b"", "close", False),
        "garbage": (b"\x00\xff\x13garbage" * 40, "close", False),
        "garbage in the body": (plain(b"\x00\xff\x13garbage\n\n" * 40), "close", False),
        "html": (b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\nconnection: close\r\n\r\n<html><body>Sign in</body></html>", "close", False),
        "html 502": (b"HTTP/1.1 502 Bad Gateway\r\ncontent-type: text/html\r\nconnection: close\r\n\r\n<html>nginx</html>", "close", False),
        "gzip": (plain(gzip.compress(good), b"content-encoding: gzip\r\n"), "close", False),
        "length too large": (plain(good, b"content-length: %d\r\n" % (len(good) + 1000)), "close", True),
        "length too small": (plain(good, b"content-length: 100\r\n"), "close", False),
        "redirect": (b"HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:9/v1\r\ncontent-length: 0\r\nconnection: close\r\n\r\n", "close", False),
        "empty 200": (plain(b""), "close", False),
        "empty 500": (b"HTTP/1.1 500 Oops\r\ncontent-length: 0\r\nconnection: close\r\n\r\n", "close", False),
        "null": (plain(b"data: null\n\nnull\n"), "close", False),
        "wrong chunk": (OK + b"transfer-encoding: chunked\r\n\r\nzz\r\n" + good, "close", False),
        "stall before the head": (b"", "stall", None),
        "stall in the body": (plain(good[: len(good) // 2]), "stall", None),
        "endless": (plain(good[: len(good) // 2]), "endless", None),
    }
    head = len(plain(b""))
    whole = plain(good)
    for ending in ["reset", "close"]:
        for at in range(1, 13):
            cut = len(whole) * at // 13
            found[f"{ending} at byte {cut} of {len(whole)}"] = (whole[:cut], ending, None if cut > head else False)
    return found


def run(listener, kind, fault_names):
    good = KINDS[kind][1]
    answers = faults(good)

    def serve(connection):
        try:
            with connection:
                stream = connection.makefile("rb")
                line = stream.readline()
                length = 0
                while (header := stream.readline().strip()):
                    if header.lower().startswith(b"content-length:"):
                        length = int(header.split(b":")[1])
                body = stream.read(length)
                stream.close()
                if line.startswith(b"GET") or b"/api/show" in line:
                    reply = KINDS[kind][2] if line.startswith(b"GET") else b'{"capabilities":["completion","tools"]}'
                    connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: %d\r\n\r\n" % len(reply) + reply)
                    return
                wanted = body.split(b"FAULT=", 1)[1].split(b"!", 1)[0].decode()
                sent, ending, _ = answers[wanted]
                connection.sendall(sent)
                if ending == "reset":
                    time.sleep(0.02)
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                elif ending == "stall":
                    connection.settimeout(60)
                    connection.recv(1)
                elif ending == "endless":
                    piece = good[: good.index(b"\n") + 1] + (b"\n" if kind == "openai" else b"\r\n" if kind == "google" else b"")
                    while True:
                        connection.sendall(piece * 20)
        except (OSError, IndexError, KeyError):
            pass

    while True:
        connection, _ = listener.accept()
        threading.Thread(target=serve, args=(connection,), daemon=True).start()


# Protocol -> (path, body, reader of a stream, reader of an object); readers give (text, is complete, error message).


def sse(raw):
    events = [event for event in raw.replace(b"\r\n", b"\n").split(b"\n\n") if event.strip()]
    for event in events:
        lines = [line for line in event.split(b"\n") if not line.startswith(b":")]
        data = b"".join(line[5:].strip() for line in lines if line.startswith(b"data:"))
        if data and data != b"[DONE]":
            yield json.loads(data)
        elif data:
            yield "[DONE]"


def openai_stream(raw):
    text, done, error = "", False, None
    for event in sse(raw):
        if event == "[DONE]":
            done = True
        elif "error" in event:
            error = event["error"]["message"]
        else:
            text += "".join(choice["delta"].get("content") or "" for choice in event["choices"])
    return text, done, error


def openai_object(raw):
    value = json.loads(raw)
    if "error" in value:
        return "", False, value["error"]["message"]
    return value["choices"][0]["message"]["content"], value["choices"][0]["finish_reason"] is not None, None


def ollama_stream(raw):
    text, done, error = "", False, None
    for line in raw.split(b"\n"):
        if line.strip():
            value = json.loads(line)
            error = value.get("error", error)
            text += value.get("message", {}).get("content", "")
            done = done or value.get("done", False)
    return text, done, error


def ollama_object(raw):
    value = json.loads(raw)
    return value.get("message", {}).get("content", ""), value.get("done", False), value.get("error")


def anthropic_stream(raw):
    text, done, error = "", False, None
    for event in sse(raw):
        if event["type"] == "error":
            error = event["error"]["message"]
        elif event["type"] == "content_block_delta":
            text += event["delta"].get("text", "")
        done = done or event["type"] == "message_stop"
    return text, done, error


def anthropic_object(raw):
    value = json.loads(raw)
    if value["type"] == "error":
        return "", False, value["error"]["message"]
    return "".join(block.get("text", "") for block in value["content"]), value["stop_reason"] is not None, None


def responses_stream(raw):
    text, done, error = "", False, None
    for event in sse(raw):
        if event == "[DONE]":
            continue
        if event["type"] == "error":
            error = event.get("message") or event["error"]["message"]
        elif event["type"] == "response.failed":
            error = event["response"]["error"]["message"]
        elif event["type"] == "response.output_text.delta":
            text += event["delta"]
        done = done or event["type"] in ["response.completed", "response.incomplete"]
    return text, done, error


def responses_object(raw):
    value = json.loads(raw)
    if value.get("error"):
        return "", False, value["error"]["message"]
    parts = [part for item in value["output"] for part in item.get("content") or []]
    return "".join(part.get("text", "") for part in parts), value["status"] in ["completed", "incomplete"], None


messages = lambda text: [{"role": "user", "content": text}]
FRONTS = {
    "openai": ("/v1/chat/completions", lambda text: {"messages": messages(text)}, openai_stream, openai_object),
    "ollama": ("/api/chat", lambda text: {"messages": messages(text)}, ollama_stream, ollama_object),
    "anthropic": ("/v1/messages", lambda text: {"messages": messages(text), "max_tokens": 100}, anthropic_stream, anthropic_object),
    "responses": ("/v1/responses", lambda text: {"input": text}, responses_stream, responses_object),
}


def ask(daemon, front, fault, stream, leave):
    """Status and what arrived; leaves after a while if the answer has no end."""
    path, body, *_ = FRONTS[front]
    connection = daemon.connect(40)
    body = {"model": "m", "stream": stream, **body(f"FAULT={fault}!")}
    connection.request("POST", path, json.dumps(body), {"content-type": "application/json"})
    if not leave:
        response = connection.getresponse()
        return response.status, response.read()
    connection.sock.settimeout(2)
    out, begun = b"", time.monotonic()
    try:
        while len(out) < 300_000 and time.monotonic() - begun < 3 and (piece := connection.sock.recv(65536)):
            out += piece
    except TimeoutError:
        pass
    connection.close()
    return None, out


def judge(front, kind, fault, expected, stream, status, raw):
    *_, of_stream, of_object = FRONTS[front]
    try:
        text, complete, error = (of_stream if stream and status == 200 else of_object)(raw)
    except Exception as wrong:
        return f"not readable ({wrong!r}): {status} {raw[:300]}"
    if status >= 400 and not error:
        return f"status {status} without an error: {raw[:300]}"
    if not complete and not error:
        return f"neither complete nor an error: {raw[-300:]}"
    if complete and not error and text != TEXT:
        return f"an answer that lost text: {text!r}"
    if expected is True and error:
        return f"an error in place of the answer: {error}"
    if expected is False and not error:
        return f"an answer where there was none: {text!r}"
    if not TEXT.startswith(text):
        return f"text that nobody wrote: {text!r}"
    return None


def main():
    binary, failed, asked = sys.argv[1], [], 0
    for kind, (path, good, _) in KINDS.items():
        listener = socket.create_server(("127.0.0.1", 0), backlog=1000)
        port = listener.getsockname()[1]
        backend = multiprocessing.Process(target=run, args=(listener, kind, None), daemon=True)
        backend.start()
        listener.close()
        config = f'[[backend]]\nname = "b"\nkind = "{kind}"\nurl = "http://127.0.0.1:{port}{path}"\n'
        with Daemon(binary, config) as daemon:
            fronts = [front for front, (path, body, *_) in FRONTS.items() if ask(daemon, front, "good", False, False)[0] != 404]
            files = daemon.files()
            rows = [(front, fault, expected, stream, ending) for front in fronts for stream in [True, False]
                    for fault, (_, ending, expected) in faults(good).items()]

            def one(row):
                front, fault, expected, stream, ending = row
                leave = ending in ["stall", "endless"]
                try:
                    status, raw = ask(daemon, front, fault, stream, leave)
                except Exception as error:
                    return f"{kind} {fault} {front} stream={stream}: {error!r}"
                wrong = None if leave else judge(front, kind, fault, expected, stream, status, raw)
                return wrong and f"{kind}: {fault}: {front} stream={stream}: {wrong}"

            with ThreadPoolExecutor(8) as threads:
                failed += [wrong for wrong in threads.map(one, rows) if wrong]
            asked += len(rows)
            # Whoever left has taken the connection to the backend along.
            for _ in range(50):
                if daemon.files() <= files + 2:
                    break
                time.sleep(0.2)
            else:
                failed.append(f"{kind}: {daemon.files()} files are open, {files} before")
            if "panicked" in daemon.log():
                failed.append(f"{kind}: a panic: {daemon.log()[-2000:]}")
            status, raw = ask(daemon, "openai", "good", True, False)
            if openai_stream(raw)[0] != TEXT:
                failed.append(f"{kind}: no good answer after the faults: {status} {raw[:300]}")
        backend.kill()
        # Nobody listens there any more.
        with Daemon(binary, config.replace(str(port), str(free_port()))) as daemon:
            for front in fronts:
                for stream in [True, False]:
                    status, raw = ask(daemon, front, "good", stream, False)
                    wrong = judge(front, kind, "refuse", False, stream, status, raw)
                    asked += 1
                    failed += [f"{kind}: refuse: {front} stream={stream}: {wrong}"] if wrong else []
        print(f"{kind}: {', '.join(fronts)}: {asked} requests so far, {len(failed)} wrong", flush=True)
    assert not failed, f"{len(failed)} of {asked}:\n" + "\n".join(failed[:40])


if __name__ == "__main__":
    main()

"""toolglot before a real llama-server: its own template engine and parsers, with models that recite what the test wants to hear."""
import contextlib
import http.client
import json
import os
import pathlib
import socket
import subprocess
import tempfile
import time
import unittest
import urllib.error
import urllib.request

import recite
from families import FAMILIES, HERMES
from processes import free_port, running, wait_for
from weather import CALL, TOOL

SERVER = os.environ["LLAMA_SERVER"]
TOOLGLOT = os.environ["TOOLGLOT"]
WORK = pathlib.Path(tempfile.mkdtemp(prefix="toolglot-llama-"))
TOOLS = [TOOL]


def get(url):
    with urllib.request.urlopen(url, timeout=5) as answer:
        return json.load(answer)


@contextlib.contextmanager
def setup(name, text, template, specials=(), endless=False, context=4096, tools=None):
    """A server with a reciting model, and toolglot before it; gives both URLs."""
    model = WORK / f"{name}.gguf"
    recite.write(model, text, template, specials, endless)
    port, own = free_port(), free_port()
    llama, proxy = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{own}"
    config = WORK / "proxy.toml"
    # Without a kind: that it is llama.cpp is for toolglot to find out.
    lines = [f'[[backend]]\nname = "llama"\nurl = "{llama}"\n']
    if tools:
        lines.append(f'[[route]]\nmodel = "*"\ntools = "{tools}"\n')
    config.write_text("".join(lines), encoding="utf-8")
    serve = [SERVER, "-m", str(model), "--alias", name, "--host", "127.0.0.1", "--port", str(port)]
    serve += ["-c", str(context), "-np", "1", "-t", "1", "--no-warmup", "--slots"]
    with running(serve, WORK / "llama.log", lambda: get(f"{llama}/health")):
        command = [TOOLGLOT, "serve", "--config", str(config), "--listen", f"127.0.0.1:{own}"]
        with running(command, WORK / "toolglot.log", lambda: get(f"{proxy}/healthz")):
            yield llama, proxy


def ask(proxy, model, stream, content="What is the weather in Oslo?", tools=True, **more):
    """What a client gets: status, text, reasoning, calls, finish reason."""
    body = {"model": model, "stream": stream, "messages": [{"role": "user", "content": content}], "temperature": 0, **more}
    if tools:
        body["tools"] = TOOLS if tools is True else tools
    request = urllib.request.Request(
        f"{proxy}/v1/chat/completions", json.dumps(body).encode(), {"content-type": "application/json"}
    )
    saw = {"status": 200, "text": "", "reasoning": "", "calls": [], "finish": None, "error": None}
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            raw = answer.read().decode()
    except urllib.error.HTTPError as error:
        return {**saw, "status": error.code, "error": json.loads(error.read())["error"]}
    if not stream:
        choice = json.loads(raw)["choices"][0]
        parts, saw["finish"] = [choice["message"]], choice["finish_reason"]
    else:
        parts = []
        for line in raw.splitlines():
            if not line.startswith("data: ") or line == "data: [DONE]":
                continue
            chunk = json.loads(line.removeprefix("data: "))
            if "error" in chunk:
                saw["error"] = chunk["error"]
            for choice in chunk.get("choices", []):
                parts.append(choice["delta"])
                saw["finish"] = choice["finish_reason"] or saw["finish"]
        assert raw.endswith("data: [DONE]\n\n") or saw["error"], raw
    for part in parts:
        saw["text"] += part.get("content") or ""
        saw["reasoning"] += part.get("reasoning_content") or ""
        for call in part.get("tool_calls") or []:
            saw["calls"].append((call["function"]["name"], json.loads(call["function"]["arguments"])))
    return saw


class Calls(unittest.TestCase):
    def test_five_families_with_and_without_tools_upstream(self):
        for name, _, template, specials, call in FAMILIES:
            for text in (call, "I shall look.\n" + call):
                for mode in ("native", "prompt", "raw"):
                    with setup(name, text, template, specials, tools=mode) as (_, proxy):
                        for stream in (True, False):
                            with self.subTest(model=name, text=text, tools=mode, stream=stream):
                                saw = ask(proxy, name, stream)
                                self.assertEqual((saw["calls"], saw["finish"]), (CALL, "tool_calls"), saw)
                                self.assertNotIn("get_weather", saw["text"])

    def test_prose_is_prose(self):
        for mode in ("native", "prompt"):
            with setup("qwen3-8b", "It is cold in Oslo: minus four degrees.", HERMES, tools=mode) as (_, proxy):
                for stream in (True, False):
                    saw = ask(proxy, "qwen3-8b", stream)
                    self.assertEqual((saw["text"], saw["finish"], saw["calls"]), ("It is cold in Oslo: minus four degrees.", "stop", []))


    def test_a_call_that_must_be_made_is_made(self):
        # In the prompt the model would chat, natively it would call the lamp. The server's grammar holds it to what it must do, and
        # the tools have one value each.
        def tool(name, value):
            schema = {"type": "object", "properties": {"state": {"enum": [value]}}, "required": ["state"]}
            return {"type": "function", "function": {"name": name, "description": "A switch", "parameters": schema}}

        tools = [tool("set_lamp", "on"), tool("set_door", "open")]
        on, opened = [("set_lamp", {"state": "on"})], [("set_door", {"state": "open"})]
        door = {"type": "function", "function": {"name": "set_door"}}
        lamp = '<tool_call>\n{"name": "set_lamp", "arguments": {"state": "on"}}\n</tool_call>'
        for mode, text, cases in (
            ("prompt", "It is cold in Oslo.", (("auto", tools, []), ("required", tools[:1], on), (door, tools, opened))),
            ("native", lamp, (("auto", tools, on), ("required", tools, on), (door, tools, opened))),
        ):
            with setup("qwen3-8b", text, HERMES, ["<tool_call>", "</tool_call>"], tools=mode) as (_, proxy):
                for choice, offered, wanted in cases:
                    for stream in (True, False):
                        with self.subTest(tools=mode, choice=choice, stream=stream):
                            saw = ask(proxy, "qwen3-8b", stream, tools=offered, tool_choice=choice, max_tokens=1500)
                            self.assertEqual(saw["calls"], wanted, saw)


class Reasoning(unittest.TestCase):
    def test_it_is_set_apart_and_the_call_behind_it_arrives(self):
        name, _, template, specials, call = FAMILIES[0]
        for mode in ("native", "prompt"):
            with setup(name, f"<think>\nThe city is known.\n</think>\n\n{call}", template, specials, tools=mode) as (_, proxy):
                for stream in (True, False):
                    with self.subTest(tools=mode, stream=stream):
                        saw = ask(proxy, name, stream)
                        self.assertEqual((saw["calls"], saw["text"].strip()), (CALL, ""), saw)
                        self.assertIn("The city is known.", saw["reasoning"])


class Server(unittest.TestCase):
    def test_it_is_recognised_and_described(self):
        for name, adapter, template, specials, call in FAMILIES:
            # The name says nothing: what is known comes from /props.
            with setup("local", call, template, specials, context=2048) as (llama, _):
                report = subprocess.run(
                    [TOOLGLOT, "doctor", "--json", "--backend", llama, "--listen", f"127.0.0.1:{free_port()}"],
                    cwd=tempfile.mkdtemp(),
                    stdout=subprocess.PIPE,
                    check=False,
                )
                backend = json.loads(report.stdout)["backends"][0]
                self.assertEqual((backend["kind"], backend["reachable"]), ("llama.cpp", True))
                self.assertTrue(backend["version"])
                model = backend["models"][0]
                self.assertEqual((model["name"], model["context"], model["adapter"]), ("local", 2048, adapter), model)

    def test_a_client_that_goes_stops_the_model(self):
        with setup("qwen3-8b", "One, two, three, and then many more. ", HERMES, endless=True, context=32768) as (llama, proxy):
            busy = lambda: any(slot["is_processing"] for slot in get(f"{llama}/slots"))
            connection = http.client.HTTPConnection(proxy.removeprefix("http://"))
            body = {"model": "qwen3-8b", "stream": True, "messages": [{"role": "user", "content": "Count"}]}
            connection.request("POST", "/v1/chat/completions", json.dumps(body), {"content-type": "application/json"})
            connection.getresponse().read(2000)
            self.assertTrue(busy())
            began = time.monotonic()
            connection.sock.shutdown(socket.SHUT_RDWR)
            connection.close()
            wait_for(lambda: not busy(), 5)
            self.assertLess(time.monotonic() - began, 2)

    def test_a_prompt_that_is_too_long_is_refused_in_words(self):
        # The first is refused before it is sent, the second by the server that counts.
        with setup("qwen3-8b", "never said", HERMES, context=512) as (_, proxy):
            for words in (3000, 700):
                saw = ask(proxy, "qwen3-8b", True, content="word " * words)
                self.assertEqual((saw["status"], saw["error"]["code"]), (400, "context_length_exceeded"), saw)

    def test_a_parser_that_fails_is_kept_out(self):
        # The opening token is missing, as happens: the server's parser refuses the whole answer.
        name, _, template, specials, call = FAMILIES[2]
        broken = call.removeprefix("<|tool_call>")
        for text in (broken, "I shall look.\n" + broken):
            with setup(name, text, template, specials) as (_, proxy):
                for stream in (True, True, False):
                    saw = ask(proxy, name, stream)
                    self.assertEqual((saw["calls"], saw["finish"], saw["error"]), (CALL, "tool_calls", None), saw)
                self.assertEqual((WORK / "toolglot.log").read_text(encoding="utf-8").count("asking in another way"), 1)


if __name__ == "__main__":
    unittest.main(verbosity=2)

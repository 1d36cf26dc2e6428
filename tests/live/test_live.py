"""What must hold with any model: the wire, framing, cancellation, the context guard, calls that must be made, and that what is
delivered has the form that clients execute. Greedy, so that a run can be repeated."""

import contextlib
import http.client
import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request

TOOLGLOT, MODEL = os.environ["TOOLGLOT"], os.environ["MODEL"]
HERE = pathlib.Path(__file__).parent
NAME = pathlib.Path(MODEL).stem
CONTEXT = 4096


def tool(name, description, properties, required):
    schema = {"type": "object", "properties": properties, "required": required}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


TOOLS = [
    tool("get_weather", "Current weather of a city.", {"city": {"type": "string", "description": "Name of the city."}}, ["city"]),
    tool(
        "set_light",
        "Switches a lamp.",
        {"room": {"type": "string", "enum": ["kitchen", "hall"]}, "on": {"type": "boolean"}},
        ["room", "on"],
    ),
]
QUESTIONS = ["What is the weather in Oslo?", "Hello!"]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def get(url):
    with urllib.request.urlopen(url, timeout=10) as answer:
        return json.loads(answer.read())


def wait_for(condition, seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with contextlib.suppress(OSError, urllib.error.URLError):
            if condition():
                return
        time.sleep(0.1)
    raise TimeoutError(f"not within {seconds} s")


@contextlib.contextmanager
def process(command, log):
    with open(log, "w", encoding="utf-8") as out:
        started = subprocess.Popen(command, stdout=out, stderr=out)
    try:
        yield started
    finally:
        started.terminate()
        started.wait(20)


@contextlib.contextmanager
def proxy(llama, *routes):
    """toolglot before the server; each route is the value of `tools` for a name of the model."""
    folder = pathlib.Path(tempfile.mkdtemp())
    port = free_port()
    lines = ["[[backend]]", 'name = "llama"', 'kind = "openai"', f'url = "{llama}/v1"']
    for tools in routes:
        lines += ["[[route]]", 'model = "*"', 'backend = "llama"', f'tools = "{tools}"']
    (folder / "proxy.toml").write_text("\n".join(lines))
    command = [TOOLGLOT, "serve", "--config", str(folder / "proxy.toml"), "--listen", f"127.0.0.1:{port}"]
    url = f"http://127.0.0.1:{port}"
    with process(command, folder / "log"):
        wait_for(lambda: get(f"{url}/healthz"), 20)
        yield url


def send(url, body):
    request = urllib.request.Request(url, json.dumps(body).encode(), {"content-type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=300) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def chat(base, content, stream=False, tools=None, **more):
    """What a client gets: text, calls, finish reason; the form of every chunk is checked on the way."""
    body = {"model": NAME, "messages": [{"role": "user", "content": content}], "temperature": 0, "seed": 1, "max_tokens": 48}
    # Greedy answers may differ in the last bit between a prompt that is read and one that is remembered.
    body |= {"cache_prompt": False}
    body |= {"stream": stream, **more}
    if tools:
        body["tools"] = tools
    status, raw = send(f"{base}/v1/chat/completions", body)
    assert status == 200, (status, raw)
    if not stream:
        answer = json.loads(raw)
        choice = answer["choices"][0]
        calls = [(call["function"]["name"], json.loads(call["function"]["arguments"])) for call in choice["message"].get("tool_calls") or []]
        return choice["message"].get("content") or "", calls, choice["finish_reason"]
    assert raw.endswith("data: [DONE]\n\n"), raw[-200:]
    text, calls, finish, ids = "", [], None, set()
    for line in raw.splitlines():
        if not line.startswith("data: ") or line == "data: [DONE]":
            continue
        chunk = json.loads(line.removeprefix("data: "))
        ids.add(chunk["id"])
        for choice in chunk["choices"]:
            assert finish is None, "nothing follows the finish reason"
            finish = choice["finish_reason"]
            text += choice["delta"].get("content") or ""
            for call in choice["delta"].get("tool_calls") or []:
                assert call["index"] == len(calls) and call["id"], call
                calls.append((call["function"]["name"], json.loads(call["function"]["arguments"])))
    assert len(ids) == 1 and finish, raw
    return text, calls, finish


def fits(call):
    """Whether an offered tool is called with arguments that fit its schema; only what the tools here use."""
    name, arguments = call
    schema = next((tool["function"]["parameters"] for tool in TOOLS if tool["function"]["name"] == name), None)
    kinds = {"string": str, "boolean": bool}
    return (
        schema is not None
        and isinstance(arguments, dict)
        and all(key in arguments for key in schema["required"])
        and all(isinstance(arguments[key], kinds[own["type"]]) for key, own in schema["properties"].items() if key in arguments)
        and all(arguments[key] in own["enum"] for key, own in schema["properties"].items() if key in arguments and "enum" in own)
    )


def serve(case, *template):
    """A llama.cpp server for the tests of a class; its URL."""
    port = free_port()
    log = pathlib.Path(tempfile.mkdtemp()) / "llama.log"
    context = process([sys.executable, str(HERE / "serve.py"), MODEL, str(port), NAME, str(CONTEXT), *template], log)
    context.__enter__()
    case.addClassCleanup(context.__exit__, None, None, None)
    wait_for(lambda: get(f"http://127.0.0.1:{port}/health"), 180)
    return f"http://127.0.0.1:{port}"


class Live(unittest.TestCase):
    def setUp(self):
        begun = time.monotonic()
        self.addCleanup(lambda: print(f"{time.monotonic() - begun:.0f} s", end=" ", file=sys.stderr, flush=True))

    @classmethod
    def setUpClass(cls):
        cls.llama = serve(cls)

    def test_the_server_and_its_model_are_recognised(self):
        command = [TOOLGLOT, "doctor", "--json", "--backend", self.llama, "--listen", f"127.0.0.1:{free_port()}"]
        report = subprocess.run(command, cwd=tempfile.mkdtemp(), stdout=subprocess.PIPE, check=False)
        backend = json.loads(report.stdout)["backends"][0]
        self.assertEqual((backend["kind"], backend["reachable"]), ("llama.cpp", True))
        self.assertEqual([(model["name"], model["context"]) for model in backend["models"]], [(NAME, CONTEXT)])

    def test_text_passes_as_the_server_wrote_it(self):
        with proxy(self.llama) as url:
            for question in ("Say hello.", "Write the word naïve, then 日本語."):
                straight, _, _ = chat(self.llama, question)
                for base in (url, f"{url}/off"):
                    for stream in (False, True):
                        with self.subTest(question=question, base=base, stream=stream):
                            text, calls, _ = chat(base, question, stream)
                            self.assertEqual((text, calls), (straight, []))

    def test_usage_is_counted_where_it_is_asked_for(self):
        with proxy(self.llama) as url:
            body = {"model": NAME, "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 8, "stream": True}
            _, without = send(f"{url}/v1/chat/completions", body)
            _, with_usage = send(f"{url}/v1/chat/completions", {**body, "stream_options": {"include_usage": True}})
        self.assertNotRegex(without, '"completion_tokens":[1-9]')
        self.assertRegex(with_usage, '"completion_tokens":[1-9]')

    def test_ollamas_clients_are_served(self):
        with proxy(self.llama) as url:
            body = {"model": NAME, "messages": [{"role": "user", "content": "Say hello."}], "options": {"num_predict": 16}}
            _, raw = send(f"{url}/api/chat", body)
        lines = [json.loads(line) for line in raw.splitlines()]
        self.assertEqual([line["done"] for line in lines], [False] * (len(lines) - 1) + [True])
        self.assertTrue("".join(line["message"]["content"] for line in lines).strip())

    def test_what_is_delivered_is_in_the_clients_form(self):
        for tools in ("native", "prompt", "raw"):
            with proxy(self.llama, tools) as url:
                for question in QUESTIONS:
                    whole = chat(url, question, tools=TOOLS)
                    with self.subTest(tools=tools, question=question, came=whole):
                        text, calls, finish = whole
                        self.assertEqual(calls, chat(url, question, True, tools=TOOLS)[1], "streamed and whole, the same calls")
                        self.assertEqual(finish == "tool_calls", bool(calls))
                        self.assertTrue(all(isinstance(arguments, dict) for _, arguments in calls))
                        self.assertFalse(calls and re.search("</?tool_call>", text))

    def test_calls_that_must_be_made_are_made(self):
        named = {"type": "function", "function": {"name": "set_light"}}
        # As toolglot asks this model by itself, and in its prompt.
        for routes in ((), ("prompt",)):
            with proxy(self.llama, *routes) as url:
                for choice in ("required", named):
                    with self.subTest(routes=routes, choice=choice):
                        _, calls, finish = chat(url, "Hello!", tools=TOOLS, tool_choice=choice, max_tokens=160)
                        # A small model may fill a text without end: then nothing is delivered.
                        self.assertTrue(calls or finish == "length", (calls, finish))
                        self.assertTrue(all(fits(call) for call in calls), calls)
                        if choice is named:
                            self.assertEqual({name for name, _ in calls} - {"set_light"}, set())

    def test_a_tool_with_a_pattern_is_answered(self):
        """llama.cpp makes a grammar only of patterns between ^ and $ (llama.cpp#26930)."""
        odd = tool("save_note", "Saves a note.", {"title": {"type": "string", "pattern": "\\S", "maxLength": 100000}}, ["title"])
        with proxy(self.llama, "native") as base:
            for choice in ("auto", "required"):
                for stream in (False, True):
                    chat(base, "Save a note titled Milk.", stream=stream, tools=[odd], tool_choice=choice)

    def test_a_client_that_goes_stops_the_model(self):
        busy = lambda: any(slot["is_processing"] for slot in get(f"{self.llama}/slots"))
        with proxy(self.llama) as url:
            connection = http.client.HTTPConnection(url.removeprefix("http://"))
            body = {"model": NAME, "stream": True, "max_tokens": 3000, "ignore_eos": True}
            body["messages"] = [{"role": "user", "content": "Count from one to a thousand."}]
            connection.request("POST", "/v1/chat/completions", json.dumps(body), {"content-type": "application/json"})
            connection.getresponse().read(1000)
            self.assertTrue(busy())
            connection.sock.shutdown(socket.SHUT_RDWR)
            connection.close()
            wait_for(lambda: not busy(), 10)

    def test_a_conversation_that_is_too_long_is_refused_in_words(self):
        # The first is refused before it is sent, the second by the server that counts.
        with proxy(self.llama) as url:
            for words in (CONTEXT * 8, CONTEXT + 500):
                body = {"model": NAME, "messages": [{"role": "user", "content": "word " * words}], "max_tokens": 4}
                status, raw = send(f"{url}/v1/chat/completions", body)
                self.assertEqual((status, json.loads(raw)["error"]["code"]), (400, "context_length_exceeded"), raw)


class Guarded(unittest.TestCase):
    """The same server with a template that refuses what Qwen3.5's refuses. What is asked here is refused without toolglot."""

    @classmethod
    def setUpClass(cls):
        cls.llama = serve(cls, str(HERE / "guarded.jinja"))

    def refused(self, **body):
        status, raw = send(f"{self.llama}/v1/chat/completions", {"model": NAME, "max_tokens": 8, **body})
        self.assertGreaterEqual(status, 400, raw[:500])
        return raw

    def test_late_system_messages_are_answered(self):
        """llama.cpp#20733, opencode#17638."""
        messages = [
            {"role": "system", "content": "You are brief."},
            {"role": "system", "content": "You speak English."},
            {"role": "user", "content": "Hello!"},
            {"role": "assistant", "content": "Hello."},
            {"role": "system", "content": "It is Monday."},
            {"role": "user", "content": "What day is it?"},
        ]
        self.assertIn("System message must be at the beginning", self.refused(messages=messages))
        with proxy(self.llama, "native") as base:
            for tools in (None, TOOLS):
                chat(base, "", tools=tools, messages=messages)

    def test_a_beginning_of_the_answer_is_answered(self):
        messages = [{"role": "user", "content": "Count to ten."}, {"role": "assistant", "content": "One, two,"}]
        twice = [*messages, {"role": "assistant", "content": "three,"}]
        self.refused(messages=twice)
        with proxy(self.llama, "native") as base:
            chat(base, "", messages=messages)
            chat(base, "", messages=twice)

    def test_all_of_it_in_one_conversation_is_answered(self):
        odd = tool("save_note", "Saves a note.", {"title": {"type": "string", "pattern": "\\S"}}, ["title"])
        messages = [
            {"role": "system", "content": "You are brief."},
            {"role": "user", "content": "Count to ten."},
            {"role": "system", "content": "It is Monday."},
            {"role": "assistant", "content": "One, two,"},
            {"role": "assistant", "content": "three,"},
        ]
        self.refused(messages=messages, tools=[odd])
        with proxy(self.llama, "native") as base:
            for stream in (False, True):
                chat(base, "", stream=stream, tools=[odd], messages=messages)

    def test_a_conversation_without_a_user_is_answered(self):
        messages = [{"role": "system", "content": "Greet the user in five words."}]
        self.assertIn("No user query found", self.refused(messages=messages))
        with proxy(self.llama, "native") as base:
            chat(base, "", messages=messages)


if __name__ == "__main__":
    unittest.main(verbosity=2)

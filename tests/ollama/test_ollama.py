"""toolglot before a real Ollama: its templates, its parsers, its runner and its scheduler."""
import contextlib
import http.client
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request

import models
import recite
from processes import free_port, running, wait_for
from weather import CALL
from weather import TOOL as WEATHER

OLLAMA, TOOLGLOT, SMOLLM = os.environ["OLLAMA"], os.environ["TOOLGLOT"], os.environ["SMOLLM"]
IN_EARNEST = os.environ.get("OLLAMA_GGUF")
WORK = pathlib.Path(tempfile.mkdtemp(prefix="toolglot-ollama-"))
QUESTION = "What is the weather in Oslo?"


def send(url, body=None):
    """Status, headers and text of an answer."""
    data = None if body is None else json.dumps(body).encode()
    try:
        with urllib.request.urlopen(urllib.request.Request(url, data, {"content-type": "application/json"}), timeout=120) as answer:
            return answer.status, answer.headers, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read().decode()


def get(url, body=None):
    status, _, raw = send(url, body)
    assert status == 200, (status, raw)
    return json.loads(raw)


def ask(base, model, stream=False, content=QUESTION, tools=(WEATHER,), **more):
    """What an OpenAI client gets."""
    body = {"model": model, "stream": stream, "messages": [{"role": "user", "content": content}], "temperature": 0, "seed": 1, **more}
    if tools:
        body["tools"] = list(tools)
    status, headers, raw = send(f"{base}/v1/chat/completions", body)
    saw = {"status": status, "text": "", "reasoning": "", "calls": [], "finish": None, "error": None, "usage": {}}
    saw["warning"] = headers.get("x-toolglot-warning")
    if status != 200:
        return {**saw, "error": json.loads(raw)["error"]}
    if stream:
        events = [json.loads(line.removeprefix("data: ")) for line in raw.splitlines() if line.startswith("data: {")]
        saw["error"] = next((event["error"] for event in events if "error" in event), None)
        assert raw.endswith("data: [DONE]\n\n") or saw["error"], raw
        choices = [choice for event in events for choice in event.get("choices", [])]
        parts = [choice["delta"] for choice in choices]
        saw["finish"] = next((choice["finish_reason"] for choice in choices if choice["finish_reason"]), None)
    else:
        answer = json.loads(raw)
        parts, saw["finish"], saw["usage"] = [answer["choices"][0]["message"]], answer["choices"][0]["finish_reason"], answer["usage"]
    for part in parts:
        saw["text"] += part.get("content") or ""
        saw["reasoning"] += part.get("reasoning_content") or ""
        for call in part.get("tool_calls") or []:
            saw["calls"].append((call["function"]["name"], json.loads(call["function"]["arguments"])))
    return saw


def straight(base, model, content=QUESTION, tools=(WEATHER,), **more):
    """The lines of Ollama's own answer, and its status."""
    body = {"model": model, "messages": [{"role": "user", "content": content}], "tools": list(tools), **more}
    status, _, raw = send(f"{base}/api/chat", body)
    return status, [json.loads(line) for line in raw.splitlines()]


class Real(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.stack = contextlib.ExitStack()
        cls.addClassCleanup(cls.stack.close)
        cls.ollama = f"http://127.0.0.1:{free_port()}"
        cls.home = {"HOME": str(WORK), "OLLAMA_MODELS": str(WORK / "models"), "OLLAMA_HOST": cls.ollama, "OLLAMA_MAX_LOADED_MODELS": "4"}
        ready = lambda: get(f"{cls.ollama}/api/version")
        cls.server = cls.stack.enter_context(running([OLLAMA, "serve"], WORK / "ollama.log", ready, **cls.home))
        for name, (text, template, more, endless) in models.RECITED.items():
            recite.write(WORK / f"{name}.gguf", text, "{{ messages[0].content }}", ("<tool_call>", "</tool_call>"), endless)
            cls.create(name, WORK / f"{name}.gguf", template, more)
        cls.create("smollm", SMOLLM, models.CHATML, "PARAMETER temperature 0")
        if IN_EARNEST:
            cls.create("qwen", IN_EARNEST, models.QWEN)
        cls.url = cls.stack.enter_context(cls.proxy())

    @classmethod
    def create(cls, name, gguf, template, more=""):
        file = WORK / f"{name}.modelfile"
        # Threads that wait for each other on a busy machine cost more than a second one brings.
        file.write_text(f'FROM {gguf}\nTEMPLATE """{template}"""\nPARAMETER num_thread 1\n{more}\n', encoding="utf-8")
        made = subprocess.run([OLLAMA, "create", name, "-f", file], env={**os.environ, **cls.home}, capture_output=True, text=True, check=False)
        assert made.returncode == 0, made.stderr[-2000:]

    @classmethod
    @contextlib.contextmanager
    def proxy(cls, *lines):
        """toolglot of its own, without anything learned before."""
        own = free_port()
        folder = pathlib.Path(tempfile.mkdtemp(dir=WORK))
        config = folder / "proxy.toml"
        # Without a kind: that it is an Ollama is for toolglot to find out.
        config.write_text("\n".join([f'[[backend]]\nname = "here"\nurl = "{cls.ollama}"', *lines]), encoding="utf-8")
        command = [TOOLGLOT, "serve", "--config", str(config), "--listen", f"127.0.0.1:{own}"]
        url = f"http://127.0.0.1:{own}"
        with running(command, folder / "toolglot.log", lambda: get(f"{url}/healthz"), HOME=str(folder), TOOLGLOT_LOG="debug"):
            yield url

    def loaded(self):
        return {model["name"].removesuffix(":latest"): model for model in get(f"{self.ollama}/api/ps")["models"]}

    def unload(self, model):
        get(f"{self.ollama}/api/generate", {"model": model, "keep_alive": 0})
        wait_for(lambda: model not in self.loaded())

    def requests(self):
        """Ollama's log: (status, path) of every request so far."""
        lines = (WORK / "ollama.log").read_text(encoding="utf-8").splitlines()
        fields = [line.split("|") for line in lines if line.startswith("[GIN]")]
        return [(int(field[1]), field[-1].split('"')[1]) for field in fields if len(field) > 4]

    # Discovery and lists.

    def test_it_is_recognised(self):
        command = [TOOLGLOT, "doctor", "--json", "--backend", self.ollama, "--listen", f"127.0.0.1:{free_port()}"]
        report = json.loads(subprocess.run(command, cwd=tempfile.mkdtemp(dir=WORK), stdout=subprocess.PIPE, check=False).stdout)
        backend = report["backends"][0]
        self.assertEqual((backend["kind"], backend["reachable"]), ("Ollama", True))
        self.assertEqual(backend["version"], get(f"{self.ollama}/api/version")["version"])
        self.assertEqual({model["name"].removesuffix(":latest") for model in backend["models"]}, {*models.RECITED, "smollm", *self.earnest()})

    def test_its_models_are_listed_in_both_forms(self):
        own = {model["name"] for model in get(f"{self.ollama}/api/tags")["models"]}
        self.assertEqual({model["name"] for model in get(f"{self.url}/api/tags")["models"]}, own)
        self.assertEqual({model["id"] for model in get(f"{self.url}/v1/models")["data"]}, own)

    def test_models_are_shown_with_tools_whatever_their_template_says(self):
        for model, tools in (("marked", True), ("gemma", False), ("thinking", False)):
            own = get(f"{self.ollama}/api/show", {"model": model})
            seen = get(f"{self.url}/api/show", {"model": model})
            with self.subTest(model=model):
                self.assertEqual("tools" in own["capabilities"], tools)
                self.assertEqual(set(seen["capabilities"]), {*own["capabilities"], "tools"})
                self.assertEqual((seen["template"], seen["details"]), (own["template"], own["details"]))
                self.assertEqual(get(f"{self.url}/off/api/show", {"model": model})["capabilities"], own["capabilities"])

    def test_a_model_that_is_not_there(self):
        self.assertEqual(send(f"{self.url}/v1/chat/completions", {"model": "absent", "messages": [{"role": "user", "content": "Hi"}]})[0], 404)

    # Calls.

    def test_a_call_that_ollama_reads_itself(self):
        _, lines = straight(self.ollama, "marked")
        self.assertEqual([call["function"]["name"] for line in lines for call in line["message"].get("tool_calls", [])], ["get_weather"])
        for stream in (False, True):
            saw = ask(self.url, "marked", stream)
            self.assertEqual((saw["text"], saw["calls"], saw["finish"]), ("", CALL, "tool_calls"))

    def test_a_call_that_ollama_prints(self):
        _, lines = straight(self.ollama, "fenced")
        self.assertIn("get_weather", "".join(line["message"]["content"] for line in lines))
        for stream in (False, True):
            saw = ask(self.url, "fenced", stream)
            self.assertEqual((saw["text"], saw["calls"], saw["finish"]), ("", CALL, "tool_calls"))

    def test_a_model_without_tools_is_known_at_once(self):
        status, lines = straight(self.ollama, "gemma")
        self.assertEqual(status, 400)
        self.assertIn("does not support tools", lines[0]["error"])
        before = len(self.requests())
        with self.proxy() as url:
            self.assertEqual(ask(url, "gemma")["calls"], CALL)
        self.assertNotIn(400, [status for status, _ in self.requests()[before:]])

    def test_tools_that_ollama_prints_as_go_structs_are_described_in_the_prompt(self):
        chat = {"model": "marked", "messages": [{"role": "user", "content": QUESTION}], "tools": [WEATHER]}
        prompt = get(f"{self.ollama}/api/chat", {**chat, "stream": False, "_debug_render_only": True})["_debug_info"]["rendered_template"]
        with self.proxy() as url:
            self.assertEqual(ask(url, "marked")["calls"], CALL)
        logs = [log.read_text(encoding="utf-8") for log in WORK.glob("*/toolglot.log")]
        self.assertEqual(any("described in the prompt" in log for log in logs), "{object <nil>" in prompt, prompt)

    def test_what_ollamas_own_parser_cannot_read(self):
        status, lines = straight(self.ollama, "strict")
        self.assertEqual((status, list(lines[-1])), (500, ["error"]))
        # That request may hold up all others of the model (Ollama 0.17.4).
        self.unload("strict")
        for stream in (False, True):
            with self.proxy() as url:
                saw = ask(url, "strict", stream)
                self.assertEqual((saw["status"], saw["calls"], saw["error"]), (200, CALL, None))

    def test_a_result_and_the_next_turn(self):
        call = {"id": "call_1", "type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Oslo"}'}}
        messages = [
            {"role": "user", "content": QUESTION},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "call_1", "content": "12 degrees"},
        ]
        saw = ask(self.url, "plain", messages=messages)
        self.assertEqual((saw["status"], saw["text"], saw["finish"]), (200, models.STORY, "stop"))
        self.assertEqual(ask(self.url, "gemma", messages=messages)["status"], 200)

    def test_a_call_that_must_be_made_fits_its_schema(self):
        for choice in ("required", {"type": "function", "function": {"name": "get_weather"}}):
            saw = ask(self.url, "smollm", tool_choice=choice, max_tokens=120)
            self.assertTrue(saw["calls"] or saw["finish"] == "length", saw)
            for name, arguments in saw["calls"]:
                self.assertEqual((name, list(arguments), type(arguments["city"])), ("get_weather", ["city"], str))

    # Text and thinking.

    def test_text_passes_as_it_is(self):
        _, lines = straight(self.ollama, "smollm", "Say hello.", tools=(), options={"temperature": 0, "num_predict": 24, "seed": 1})
        text = "".join(line["message"]["content"] for line in lines)
        for base in (self.url, f"{self.url}/off"):
            for stream in (False, True):
                saw = ask(base, "smollm", stream, "Say hello.", tools=(), max_tokens=24)
                self.assertEqual((saw["text"], saw["finish"]), (text, lines[-1]["done_reason"]))

    def test_thinking_stays_apart(self):
        for stream in (False, True):
            saw = ask(self.url, "thinking", stream, tools=())
            self.assertEqual((saw["reasoning"].strip(), saw["text"].strip()), ("Oslo is in Norway.", "It rains there."))

    def test_an_effort_of_reasoning_that_ollama_does_not_know(self):
        # "think value ... is not supported for this model", "does not support thinking"
        for model in ("thinking", "plain"):
            with self.proxy() as url:
                for effort in ("high", "none", "minimal"):
                    with self.subTest(model=model, effort=effort):
                        saw = ask(url, model, tools=(), reasoning_effort=effort)
                        self.assertEqual((saw["status"], saw["error"]), (200, None))
                        # This one writes `<think>` whatever it is told, and that is no content.
                        self.assertEqual(bool(saw["reasoning"]), model == "thinking")

    # The context.

    def test_the_context_grows_with_the_conversation(self):
        # A model that recites has a token for every letter.
        words = "river " * 1000
        _, lines = straight(self.ollama, "plain", words, tools=())
        self.assertLessEqual(lines[-1]["prompt_eval_count"], 4096, "cut without a word")
        with self.proxy() as url:
            saw = ask(url, "plain", content=words, tools=(), max_tokens=3000)
            self.assertGreater(saw["usage"]["prompt_tokens"], 6000)
            context = self.loaded()["plain"]["context_length"]
            self.assertEqual(context, 8192)
            # What is loaded is kept: every change would load the model anew.
            ask(url, "plain")
            self.assertEqual(self.loaded()["plain"]["context_length"], context)

    def test_a_prompt_that_was_cut_is_told(self):
        with self.proxy() as url:
            saw = ask(url, "plain", content="river " * 2700, tools=(), options={"num_ctx": 2048})
            self.assertIn("prompt_cut", saw["warning"] or "")

    def test_a_context_of_the_models_own_is_respected(self):
        with self.proxy() as url:
            saw = ask(url, "small", content="river " * 400, tools=())
            self.assertGreater(saw["usage"]["prompt_tokens"], 2400, "the model's own context is too small, so a larger one is asked for")
        with self.proxy() as url:
            ask(url, "wide", tools=(), max_tokens=5000)
            self.assertEqual(self.loaded()["wide"]["context_length"], 16384, "it is large enough")

    # The runner.

    def test_models_are_loaded_and_unloaded_through_it(self):
        for path, name, empty in (("chat", "messages", []), ("generate", "prompt", "")):
            load = get(f"{self.url}/api/{path}", {"model": "plain", name: empty})
            self.assertEqual((load["done"], load["done_reason"]), (True, "load"))
            self.assertIn("plain", self.loaded())
            unload = get(f"{self.url}/api/{path}", {"model": "plain", name: empty, "keep_alive": 0})
            self.assertEqual(unload["done_reason"], "unload")
            wait_for(lambda: "plain" not in self.loaded())
        ask(self.url, "plain", keep_alive=0)
        wait_for(lambda: "plain" not in self.loaded())

    def test_a_client_that_goes_stops_the_runner(self):
        for path, front in (("/v1/chat/completions", {}), ("/api/chat", {}), ("/off/v1/chat/completions", {})):
            with self.subTest(path=path):
                connection = http.client.HTTPConnection(self.url.removeprefix("http://"), timeout=60)
                body = {"model": "endless", "stream": True, "messages": [{"role": "user", "content": "Go on"}], **front}
                connection.request("POST", path, json.dumps(body), {"content-type": "application/json"})
                connection.getresponse().read(400)
                self.assertTrue(self.busy())
                connection.sock.shutdown(socket.SHUT_RDWR)
                connection.close()
                wait_for(lambda: not self.busy(), 10)
                # Ollama 0.17.4 now and then never answers a runner's next request after one that was dropped.
                send(f"{self.ollama}/api/generate", {"model": "endless", "keep_alive": 0})

    def runners(self):
        children = subprocess.run(["ps", "-o", "pid=,args=", "--ppid", str(self.server.pid)], capture_output=True, text=True, check=False).stdout
        return [int(line.split()[0]) for line in children.splitlines() if " runner " in line]

    def busy(self):
        """Whether a runner has used the processor within the last half second."""
        def used():
            return sum(sum(map(int, pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[11:13])) for pid in self.runners())

        before = used()
        time.sleep(0.5)
        return used() - before > 5

    def test_a_runner_that_dies_is_an_error_that_clients_understand(self):
        connection = http.client.HTTPConnection(self.url.removeprefix("http://"))
        body = {"model": "endless", "stream": True, "messages": [{"role": "user", "content": "Go on"}]}
        connection.request("POST", "/v1/chat/completions", json.dumps(body), {"content-type": "application/json"})
        answer = connection.getresponse()
        self.addCleanup(connection.close)
        answer.read(400)
        for pid in self.runners():
            os.kill(pid, signal.SIGKILL)
        raw = answer.read().decode()
        self.assertRegex(raw, r'data: \{"error":')
        self.assertEqual(ask(self.url, "marked")["calls"], CALL, "it is there again")

    # Its own clients, before toolglot.

    def test_ollamas_own_command_works_through_it(self):
        def command(*arguments):
            environment = {**os.environ, **self.home, "OLLAMA_HOST": self.url}
            done = subprocess.run([OLLAMA, *arguments], env=environment, capture_output=True, text=True, check=False, timeout=60, stdin=subprocess.DEVNULL)
            self.assertEqual(done.returncode, 0, done.stderr)
            return done.stdout

        self.assertIn("marked", command("list"))
        self.assertIn("32768", command("show", "plain"))
        self.assertIn(models.STORY, command("run", "plain", "Tell me a story."))
        self.assertIn("plain", command("ps"))
        command("stop", "plain")
        wait_for(lambda: "plain" not in self.loaded())

    def test_ollamas_clients_get_the_calls(self):
        for stream in (False, True):
            status, lines = straight(self.url, "fenced", stream=stream)
            calls = [call["function"] for line in lines for call in line["message"].get("tool_calls", [])]
            self.assertEqual((status, [(call["name"], call["arguments"]) for call in calls]), (200, CALL))
            self.assertEqual((lines[-1]["done"], lines[-1]["done_reason"]), (True, "stop"))

    def test_off_leaves_everything_as_it_is(self):
        saw = ask(f"{self.url}/off", "fenced")
        self.assertEqual((saw["calls"], "get_weather" in saw["text"]), ([], True))
        saw = ask(f"{self.url}/off", "gemma")
        self.assertIn("does not support tools", saw["error"]["message"])
        status, lines = straight(f"{self.url}/off", "gemma")
        self.assertEqual((status, "does not support tools" in lines[0]["error"]), (400, True))

    # A model that answers in earnest.

    @classmethod
    def earnest(cls):
        return ["qwen"] if IN_EARNEST else []

    @unittest.skipUnless(IN_EARNEST, "OLLAMA_GGUF names no model")
    def test_a_model_that_prints_its_calls(self):
        _, lines = straight(self.ollama, "qwen", options={"temperature": 0})
        self.assertEqual([line for line in lines if line["message"].get("tool_calls")], [], "Ollama does not see it")
        self.assertIn("get_weather", "".join(line["message"]["content"] for line in lines))
        for stream in (False, True):
            saw = ask(self.url, "qwen", stream)
            self.assertNotIn('"name"', saw["text"], "the user never sees a call")
            self.assertEqual({name for name, _ in saw["calls"]} - {"get_weather"}, set())
            self.assertEqual(saw["finish"] == "tool_calls", bool(saw["calls"]))
            print("qwen:", saw["calls"] or saw["text"], end=" ", file=sys.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)

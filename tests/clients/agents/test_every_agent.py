"""Every agent, started by `toolglot run NAME` from an empty home, with models that write calls as text in three forms. What is asserted:
the files on disk, the exit status, and that the user saw no markup of a call."""

import subprocess

import pytest
from backend import FORMS, Backend, offered, results, written
from conftest import INSTALLED
from programs import AGENTS

FENCED, TAGS, CODER = FORMS
MARKUP = ["<tool_call", "</tool_call", "<function=", "<parameter=", '"arguments"', "```json"]
BROKEN = "def add(a, b):\n    return a - b\n"
TEST = "from calc import add\n\nassert add(2, 3) == 5\nprint('the test passes')\n"
# The same task for every agent, which a release needs.
TASK = "The test in test_calc.py fails. Make it pass."


def agents(scenario, tools=True):
    """The agents that can do this; what stops the others is in the table."""
    able = [name for name, agent in AGENTS.items() if scenario not in agent.cannot and (agent.read or not tools)]
    return pytest.mark.parametrize("name", able)


def answers(body):
    """The results that the agent has sent. toolglot says in the place of one why it has not delivered a call."""
    return [result for result in results(body) if not result.startswith("Error: the call of ")]


class Script:
    """A model that makes one call after the other, and answers when it has their results."""

    def __init__(self, name, model, rounds, last="It says: {}"):
        self.agent, self.model, self.rounds, self.last, self.setting = AGENTS[name], model, rounds, last, None
        self.main = []  # the requests of the task itself

    def __call__(self, _, body):
        # Agents also ask for titles, summaries and memories.
        if self.agent.read and self.agent.read("x")[0] not in offered(body):
            return ["A title"]
        self.main.append(body)
        done = len(answers(body))
        for calls in self.rounds:
            if done < len(calls):
                return ["I will look.\n\n" + "\n".join(written(self.model, *call(self.agent, self.setting)) for call in calls)]
            done -= len(calls)
        return [self.last.format(answers(body)[-1][:400] if answers(body) else "")]


def reads(file):
    return lambda agent, setting: agent.read(setting.path(file))


@pytest.fixture
def begin(start):
    def make(name, script):
        if not (INSTALLED / name / "bin" / name).exists():
            pytest.skip(f"{name} cannot be installed here")
        setting = start(script)
        script.setting = setting
        (setting.work / "calc.py").write_text(BROKEN)
        (setting.work / "test_calc.py").write_text(TEST)
        return setting

    return make


def saw(ended):
    """What the user saw, without any markup of a call."""
    found = [mark for mark in MARKUP if mark in ended.stdout]
    assert not found, ended.stdout
    return ended.stdout


def passes(setting):
    return subprocess.run(["python3", "test_calc.py"], cwd=setting.work, capture_output=True).returncode == 0


@pytest.mark.parametrize("model", FORMS)
@agents("reads a file")
def test_reads_a_file(begin, name, model):
    script = Script(name, model, [[reads("a.txt")]])
    setting = begin(name, script)
    ended = setting.agent(name, "What is in a.txt?", model)
    assert ended.returncode == 0 and "content A" in saw(ended)


@agents("second turn")
def test_the_second_turn_brings_the_result(begin, name):
    script = Script(name, TAGS, [[reads("a.txt")], [reads("b.txt")]])
    setting = begin(name, script)
    ended = setting.agent(name, "What is in a.txt and in b.txt?", TAGS)
    assert ended.returncode == 0 and "content B" in saw(ended)
    first, second, third = [chat["messages"] for chat in script.main[:3]]
    assert "content A" in str(answers(script.main[1])) and len(answers(script.main[2])) == 2
    calls = [call["function"]["name"] for message in third for call in message.get("tool_calls") or []]
    assert calls == [script.agent.read("x")[0]] * 2, "the calls come back as calls, under their names"
    assert len(first) < len(second) < len(third)


@agents("makes a test pass")
def test_makes_a_test_pass(begin, name):
    # Each form of calls has its turn.
    model = FORMS[list(AGENTS).index(name) % len(FORMS)]

    def edits(agent, setting):
        return agent.edit(setting.path("calc.py"), "a - b", "a + b")

    def runs(agent, _):
        return agent.shell("python3 test_calc.py")

    script = Script(name, model, [[reads("calc.py")], [edits], [runs]])
    setting = begin(name, script)
    ended = setting.agent(name, TASK, model)
    assert passes(setting), (setting.work / "calc.py").read_text()
    assert ended.returncode == 0 and "the test passes" in saw(ended)


@agents("two calls")
def test_two_calls(begin, name):
    script = Script(name, CODER, [[reads("a.txt"), reads("b.txt")]])
    script.last = "Both are read."
    setting = begin(name, script)
    ended = setting.agent(name, "What is in a.txt and in b.txt?", CODER)
    assert ended.returncode == 0 and "Both are read" in saw(ended)
    last = str(answers(script.main[-1]))
    assert "content A" in last and "content B" in last


@agents("a refused call")
def test_a_refused_call_is_asked_for_again(begin, name):
    script = Script(name, TAGS, [[reads("a.txt")]])
    tool = script.agent.read("x")[0]
    asked = []

    def first_wrong(n, body):
        if tool in offered(body) and not asked:
            asked.append(n)
            return [written(TAGS, tool, {"nothing": "1"})]
        return script(n, body)

    first_wrong.setting = None
    setting = begin(name, first_wrong)
    script.setting = setting
    ended = setting.agent(name, "What is in a.txt?", TAGS)
    assert ended.returncode == 0 and "content A" in saw(ended)
    assert asked and len(answers(script.main[-1])) == 1 and "was not run" not in ended.stdout, "the agent has seen one call"


@agents("a fault in the middle")
def test_a_fault_in_the_middle_runs_no_call(begin, name):
    tool = AGENTS[name].read("x")[0]
    broken = []

    def script(n, body):
        if tool not in offered(body):
            return ["A title"]
        if not broken:
            broken.append(n)
            return ["I will look.\n", written(TAGS, *AGENTS[name].read(script.setting.path("a.txt")))[:40], Backend.BREAK]
        return ["It works again."]

    setting = begin(name, script)
    ended = setting.agent(name, "What is in a.txt?", TAGS)
    assert broken and not any(answers(chat) for chat in setting.backend.chats), "no call was run"
    # Some ask again by themselves, the others say what happened.
    said = (saw(ended) + ended.stderr).lower()
    assert "works again" in said or "error" in said or "fail" in said or ended.returncode != 0, said


@pytest.mark.parametrize("name", [name for name, agent in AGENTS.items() if not agent.read])
def test_an_agent_without_tools_makes_a_test_pass(begin, name):
    script = Script(name, FENCED, [])
    # Its own form of edits; toolglot passes it on.
    script.last = "I mend it.\n\ncalc.py\n```python\n<<<<<<< SEARCH\n    return a - b\n=======\n    return a + b\n>>>>>>> REPLACE\n```\n"
    setting = begin(name, script)
    ended = setting.agent(name, TASK, FENCED)
    assert ended.returncode == 0 and passes(setting), (setting.work / "calc.py").read_text()


@pytest.mark.parametrize("name", [name for name, agent in AGENTS.items() if not agent.read])
def test_an_agent_without_tools_uses_a_file(begin, name):
    def script(_, body):
        return ["It says: content A" if "content A" in str(body["messages"]) else "There is no such file."]

    setting = begin(name, script)
    ended = setting.agent(name, "What is in a.txt?", FENCED)
    assert ended.returncode == 0 and "content A" in saw(ended)

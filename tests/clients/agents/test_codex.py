"""Codex, as `codex exec` runs it."""

import json
import subprocess

import pytest
from backend import FAMILIES, Backend, offered, results, written
from conftest import BINARY, HERE

families = pytest.mark.parametrize("model", FAMILIES)
QWEN = FAMILIES[0]
PATCH = "*** Begin Patch\n*** Add File: hello.txt\n+hi\n*** End Patch"


def items(events, kind):
    return [event["item"] for event in events if event["type"] == "item.completed" and event["item"]["type"] == kind]


def answer(events):
    return items(events, "agent_message")[-1]["text"]


def cat(model, setting, name="a.txt", **more):
    return written(model, "exec_command", {"cmd": f"cat {setting.path(name)}"} | more)


def profile(setting, model):
    """What `toolglot setup codex --write` installs, which switches the tool for patches on."""
    listen = setting.root.removeprefix("http://")
    command = [BINARY, "setup", "codex", "--write", "--model", model, "--listen", listen]
    subprocess.run(command, check=True, env={"HOME": str(setting.home)}, cwd=setting.home, capture_output=True)


@families
def test_reads_a_file_and_uses_it(start, model):
    def script(_, body):
        return ["It says: " + results(body)[0]] if results(body) else [cat(model, setting)]

    setting = start(script)
    assert "content A" in answer(setting.codex("What is in a.txt?", model))


def test_two_calls(start):
    def script(_, body):
        if results(body):
            return ["It says: " + " ".join(results(body))]
        return [cat(QWEN, setting), cat(QWEN, setting, "b.txt")]

    setting = start(script)
    said = answer(setting.codex("What is in both?", QWEN))
    assert "content A" in said and "content B" in said


@families
def test_text_and_a_call(start, model):
    def script(_, body):
        return ["It says: " + results(body)[0]] if results(body) else ["Let me look.\n", cat(model, setting)]

    setting = start(script)
    events = setting.codex("What is in a.txt?", model)
    assert items(events, "agent_message")[0]["text"].strip() == "Let me look."
    assert "content A" in answer(events)


def test_reasoning_is_shown_and_comes_back(start):
    def script(_, body):
        if results(body):
            return ["It says: " + results(body)[0]]
        return [{"reasoning_content": "Let me think."}, cat(QWEN, setting)]

    setting = start(script)
    events = setting.codex("What is in a.txt?", QWEN, configuration="model_supports_reasoning_summaries = true")
    assert "content A" in answer(events)


def test_a_number_that_was_written_as_a_string(start):
    def script(_, body):
        return ["It says: " + results(body)[0]] if results(body) else [cat(QWEN, setting, yield_time_ms="500")]

    setting = start(script)
    assert "content A" in answer(setting.codex("What is in a.txt?", QWEN))


def test_a_call_that_is_held_for_long(start):
    def script(_, body):
        if results(body):
            return ["It says: " + results(body)[0]]
        whole = cat(QWEN, setting)
        return [whole[:40], 42, whole[40:]]

    setting = start(script)
    # Its own clock, which only events stop.
    events = setting.codex("What is in a.txt?", QWEN, provider="stream_idle_timeout_ms = 15000")
    assert "content A" in answer(events)
    assert len(setting.backend.chats) == 2, "nothing was asked twice"


def test_a_tool_of_an_mcp_server(start):
    def script(_, body):
        if results(body):
            return ["It says: " + results(body)[0]]
        assert "mcp__notes__read_note" in offered(body)
        return [written(QWEN, "read_note", {"name": "x"})]

    setting = start(script)
    server = f'[mcp_servers.notes]\ncommand = "python3"\nargs = ["{HERE / "notes.py"}"]\n'
    assert "the note x" in answer(setting.codex("Read note x.", QWEN, configuration=server))


@families
def test_a_patch_creates_a_file(start, model):
    def script(_, body):
        if results(body):
            return ["Done: " + results(body)[0]]
        return [written(model, "apply_patch", {"input": PATCH})]

    setting = start(script)
    profile(setting, model)
    events = setting.codex("Say hi.", model, "--profile", "toolglot")
    assert (setting.work / "hello.txt").read_text() == "hi\n"
    assert "Success" in answer(events)


def test_a_patch_without_any_setting(start):
    def script(_, body):
        if results(body):
            return ["Done."]
        return [written(QWEN, "apply_patch", {"patch": PATCH})]

    setting = start(script)
    setting.codex("Say hi.", QWEN)
    assert (setting.work / "hello.txt").read_text() == "hi\n"
    first, second = setting.backend.prompts()
    assert second.startswith(first) and "apply_patch <<" not in second[len(first) :]


def test_a_broken_patch_is_asked_for_again(start):
    def script(n, body):
        if results(body) and "Success" in results(body)[-1]:
            return ["Done."]
        return [written(QWEN, "apply_patch", {"input": PATCH.replace("+hi", "hi") if n == 1 else PATCH})]

    setting = start(script)
    profile(setting, QWEN)
    setting.codex("Say hi.", QWEN, "--profile", "toolglot")
    assert (setting.work / "hello.txt").read_text() == "hi\n"


def test_a_truncated_call_is_not_run_and_does_not_end_the_turn(start):
    def script(n, body):
        return [cat(QWEN, setting)[:60], Backend.LENGTH] if n == 1 else ["Done."]

    setting = start(script)
    events = setting.codex("What is in a.txt?", QWEN)
    assert items(events, "command_execution") == []
    assert events[-1]["type"] == "turn.completed"


def test_a_refused_call_is_asked_for_again(start):
    def script(n, body):
        if results(body) and "content A" in results(body)[-1]:
            return ["It says: " + results(body)[-1]]
        return [written(QWEN, "exec_command", {"yield_time_ms": "soon"})] if n == 1 else [cat(QWEN, setting)]

    setting = start(script)
    events = setting.codex("What is in a.txt?", QWEN)
    assert "content A" in answer(events)
    assert len(items(events, "command_execution")) == 1


def test_a_conversation_that_is_too_long(start):
    refusal = {"error": {"message": "This model's maximum context length is 4096 tokens. However, you requested 50000 tokens."}}
    setting = start(lambda *_: refusal)
    events = setting.codex("What is in a.txt?", QWEN)
    assert events[-1]["type"] == "turn.failed"
    assert "context" in json.dumps(events[-1]).lower()


def test_a_fault_in_the_middle_runs_no_call(start):
    def script(n, body):
        if n == 1:
            return ["Let me look.\n", cat(QWEN, setting)[:50], Backend.BREAK]
        return ["It works again."]

    setting = start(script)
    events = setting.codex("What is in a.txt?", QWEN)
    assert items(events, "command_execution") == []
    assert "again" in answer(events)


def test_the_second_turn_begins_with_the_first(start):
    def script(_, body):
        return ["It says: " + results(body)[0]] if results(body) else [cat(QWEN, setting)]

    setting = start(script)
    setting.codex("What is in a.txt?", QWEN)
    first, second = setting.backend.prompts()
    assert second.startswith(first)
    assert json.dumps(setting.backend.chats[0]["tools"]) == json.dumps(setting.backend.chats[1]["tools"])


@pytest.mark.parametrize("provider", ["ollama", "lmstudio"])
def test_with_nothing_but_a_base_url(start, provider):
    def script(_, body):
        return ["It says: " + results(body)[0]] if results(body) else [cat(QWEN, setting)]

    setting = start(script)
    events = setting.codex(
        "What is in a.txt?", QWEN, "--oss", "--local-provider", provider, "--model", QWEN, CODEX_OSS_BASE_URL=setting.root + "/v1"
    )
    assert "content A" in answer(events)


def test_a_conversation_is_compacted(start):
    def asks(body):
        return "CONTEXT CHECKPOINT" in str(body["messages"][-1]["content"])

    def script(_, body):
        if asks(body):
            return ["The user wants to know what is in a.txt."]
        if any(asks(chat) for chat in setting.backend.chats):
            return ["It says content A."]
        return [cat(QWEN, setting)]

    setting = start(script)
    events = setting.codex("What is in a.txt?", QWEN, configuration="model_auto_compact_token_limit = 100")
    assert events[-1]["type"] == "turn.completed"
    assert any(asks(chat) for chat in setting.backend.chats)

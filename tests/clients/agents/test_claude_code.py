"""Claude Code, which is run as its users run it, only without a terminal."""

import json

import pytest
from backend import FAMILIES, Backend, offered, results, written

families = pytest.mark.parametrize("model", FAMILIES)
QWEN = FAMILIES[0]


def calls(events):
    """(name, input) of the calls that the client has seen."""
    blocks = [block for event in events if event["type"] == "assistant" for block in event["message"]["content"]]
    return [(block["name"], block["input"]) for block in blocks if block["type"] == "tool_use"]


def answer(events):
    return next(event for event in reversed(events) if event["type"] == "result")["result"]


def reads(setting, model, name, **more):
    return written(model, "Read", {"file_path": setting.path(name)} | more)


def reader(model, before="", names=("a.txt",)):
    """A script: the files are read, then it is said what stands in them. The setting is known only later."""
    holder = {}

    def script(_, body):
        if results(body):
            return ["It says: " + " ".join(results(body))]
        return [before, *(reads(holder["at"], model, name) for name in names)]

    return script, holder


@families
def test_reads_a_file_and_uses_it(start, model):
    script, holder = reader(model)
    setting = holder["at"] = start(script)
    events = setting.claude("What is in a.txt?", model)
    assert calls(events) == [("Read", {"file_path": setting.path("a.txt")})]
    assert "content A" in answer(events)


def test_two_calls(start):
    script, holder = reader(QWEN, names=("a.txt", "b.txt"))
    setting = holder["at"] = start(script)
    events = setting.claude("What is in both?", QWEN)
    assert len(calls(events)) == 2
    assert "content A" in answer(events) and "content B" in answer(events)


@families
def test_text_and_a_call(start, model):
    script, holder = reader(model, before="Let me look.\n")
    setting = holder["at"] = start(script)
    events = setting.claude("What is in a.txt?", model)
    texts = [block["text"].strip() for event in events if event["type"] == "assistant" for block in event["message"]["content"] if block["type"] == "text"]
    assert texts[0] == "Let me look." and "content A" in answer(events)
    assert not any("tool_call" in text or '"name"' in text or "tool_code" in text for text in texts)


def test_reasoning_then_a_call(start):
    def script(_, body):
        if results(body):
            return ["Done: " + results(body)[0]]
        return [{"reasoning_content": "Let me think."}, reads(setting, QWEN, "a.txt")]

    setting = start(script)
    events = setting.claude("What is in a.txt?", QWEN)
    kinds = [block["type"] for event in events if event["type"] == "assistant" for block in event["message"]["content"]]
    assert "thinking" in kinds and "content A" in answer(events)
    # The client has sent its signature back, and nobody minded.
    assert len(setting.backend.chats) == 2


def test_a_call_that_is_held_for_long(start):
    def script(_, body):
        if results(body):
            return ["Done: " + results(body)[0]]
        whole = reads(setting, QWEN, "a.txt")
        return [whole[:40], 42, whole[40:]]

    setting = start(script)
    assert "content A" in answer(setting.claude("What is in a.txt?", QWEN))
    assert len(setting.backend.chats) == 2, "nothing was asked twice"


def test_a_tool_found_by_search(start):
    seen = []

    def script(n, body):
        seen.append(offered(body))
        if n == 1:
            return [written(QWEN, "ToolSearch", {"query": "select:WebFetch", "max_results": 3})]
        if "WebFetch" in offered(body) and n == 2:
            return [written(QWEN, "WebFetch", {"url": "http://127.0.0.1:9/", "prompt": "What is it?"})]
        return ["Done."]

    setting = start(script)
    events = setting.claude("Fetch it.", QWEN, "--disallowedTools", "Bash")
    assert "WebFetch" not in seen[0] and "DeferredToolPlaceholder" not in seen[0]
    assert seen[1][-1] == "WebFetch" and seen[1][:-1] == seen[0]
    assert [name for name, _ in calls(events)] == ["ToolSearch", "WebFetch"]


def test_a_truncated_call_is_not_run(start):
    def script(n, body):
        if n <= 1:
            return [reads(setting, QWEN, "a.txt")[:60], Backend.LENGTH]
        return ["Too long, sorry."]

    setting = start(script)
    assert calls(setting.claude("What is in a.txt?", QWEN)) == []


def test_a_refused_call_is_asked_for_again(start):
    def script(n, body):
        if results(body) and "content A" in results(body)[-1]:
            return ["Done: " + results(body)[-1]]
        if n == 1:
            return [written(QWEN, "Read", {"limit": "many"})]
        return [reads(setting, QWEN, "a.txt")]

    setting = start(script)
    events = setting.claude("What is in a.txt?", QWEN)
    assert calls(events) == [("Read", {"file_path": setting.path("a.txt")})], "the first one stays hidden"
    assert "content A" in answer(events)


def test_what_a_strict_client_refuses_is_mended(start):
    def script(_, body):
        if results(body):
            return ["Done: " + results(body)[0]]
        return [written(QWEN, "read", {"file_path": setting.path("a.txt"), "limit": "5", "foo": "bar"})]

    setting = start(script)
    events = setting.claude("What is in a.txt?", QWEN)
    assert calls(events) == [("Read", {"file_path": setting.path("a.txt"), "limit": 5})]
    assert "content A" in answer(events)


def test_a_conversation_that_is_too_long(start):
    refusal = {"error": {"message": "This model's maximum context length is 4096 tokens. However, you requested 50000 tokens."}}
    setting = start(lambda *_: refusal)
    events = setting.claude("What is in a.txt?", QWEN)
    assert "too long" in json.dumps(events[-1]).lower()


def test_a_fault_in_the_middle_runs_no_call(start):
    def script(n, body):
        if n == 1:
            return ["Let me look.\n", reads(setting, QWEN, "a.txt")[:50], Backend.BREAK]
        return ["It works again."]

    setting = start(script)
    events = setting.claude("What is in a.txt?", QWEN)
    assert calls(events) == []
    assert "again" in answer(events)


def test_the_second_turn_begins_with_the_first(start):
    script, holder = reader(QWEN)
    setting = holder["at"] = start(script)
    setting.claude("What is in a.txt?", QWEN)
    first, second = setting.backend.prompts()
    assert second.startswith(first)
    tools = [json.dumps(chat["tools"]) for chat in setting.backend.chats]
    assert tools[0] == tools[1]
    assert "billing" not in first

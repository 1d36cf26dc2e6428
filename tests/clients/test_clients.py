"""PyPI openai, anthropic, ollama and LangChain (over each of them) against the built binary."""

import json
import os
import pathlib

import anthropic
import ollama
import openai
import pytest
from langchain_anthropic import ChatAnthropic
from langchain_core.tools import tool
from langchain_ollama import ChatOllama
from langchain_openai import ChatOpenAI

URL = os.environ["TOOLGLOT_URL"]
BASE = URL + "/v1"
SHARED = json.loads((pathlib.Path(__file__).parent / "cases.json").read_text())
TOOLS = SHARED["tools"]
FAULT = "llama runner process has terminated"
cases = pytest.mark.parametrize("case", SHARED["cases"], ids=lambda case: case["name"])
faults = pytest.mark.parametrize("case", SHARED["faults"], ids=lambda case: case["name"])


def calls(case):
    return [(name, arguments) for name, arguments in case["calls"]]


def ask(case, **more):
    return {"model": case["model"], "messages": [{"role": "user", "content": case["question"]}], "tools": TOOLS, **more}


@pytest.fixture(scope="module")
def client():
    return openai.OpenAI(base_url=BASE, api_key="none", max_retries=0)


# openai


@cases
def test_openai_stream(client, case):
    with client.chat.completions.stream(**ask(case)) as stream:
        for _ in stream:
            pass
        done = stream.get_final_completion().choices[0]
    assert [(call.function.name, json.loads(call.function.arguments)) for call in done.message.tool_calls] == calls(case)
    assert (done.message.content or "") == case["text"]
    assert done.message.role == "assistant"
    assert done.finish_reason == "tool_calls"


@cases
def test_openai_chunks(client, case):
    text, reasoning, ids = "", "", []
    for chunk in client.chat.completions.create(**ask(case, stream=True)):
        delta = chunk.choices[0].delta
        text += delta.content or ""
        reasoning += getattr(delta, "reasoning_content", None) or ""
        ids += [call.id for call in delta.tool_calls or []]
    assert (text, reasoning) == (case["text"], case["reasoning"])
    assert len(set(ids)) == len(case["calls"])


@cases
def test_openai_collected(client, case):
    done = client.chat.completions.create(**ask(case)).choices[0]
    assert [(call.function.name, json.loads(call.function.arguments)) for call in done.message.tool_calls] == calls(case)
    assert (done.message.content or "") == case["text"]


@faults
def test_openai_stream_fault(client, case):
    with pytest.raises(openai.APIError, match=FAULT):
        with client.chat.completions.stream(**ask(case)) as stream:
            for _ in stream:
                pass


@faults
def test_openai_chunks_fault(client, case):
    with pytest.raises(openai.APIError, match=FAULT):
        for chunk in client.chat.completions.create(**ask(case, stream=True)):
            assert not chunk.choices[0].delta.tool_calls


@faults
def test_openai_collected_fault(client, case):
    with pytest.raises(openai.APIError, match=FAULT):
        client.chat.completions.create(**ask(case))


# openai's Responses API


@cases
def test_responses_stream(client, case):
    tools = [{"type": "function", "strict": False, **tool["function"]} for tool in TOOLS]
    with client.responses.stream(model=case["model"], input=case["question"], tools=tools) as stream:
        for _ in stream:
            pass
        done = stream.get_final_response()
    assert [(item.name, json.loads(item.arguments)) for item in done.output if item.type == "function_call"] == calls(case)
    assert done.output_text == case["text"]


# anthropic


def messages(case):
    tools = [{"name": inner["name"], "input_schema": inner["parameters"]} for inner in (tool["function"] for tool in TOOLS)]
    return {"model": case["model"], "max_tokens": 1000, "messages": [{"role": "user", "content": case["question"]}], "tools": tools}


@pytest.fixture(scope="module")
def claude():
    return anthropic.Anthropic(base_url=URL, api_key="none", max_retries=0)


def check(message, case):
    assert [(block.name, block.input) for block in message.content if block.type == "tool_use"] == calls(case)
    assert "".join(block.text for block in message.content if block.type == "text") == case["text"]
    assert "".join(block.thinking for block in message.content if block.type == "thinking") == case["reasoning"]
    assert message.stop_reason == "tool_use"


@cases
def test_anthropic_stream(claude, case):
    with claude.messages.stream(**messages(case)) as stream:
        check(stream.get_final_message(), case)


@cases
def test_anthropic_collected(claude, case):
    check(claude.messages.create(**messages(case)), case)


@faults
def test_anthropic_stream_fault(claude, case):
    with pytest.raises(anthropic.APIError, match=FAULT):
        with claude.messages.stream(**messages(case)) as stream:
            stream.get_final_message()


# LangChain


@tool
def get_weather(city: str, days: int = 1) -> str:
    """Weather of a city"""
    return f"{city}: 21 degrees"


@tool
def get_time() -> str:
    """The time now"""
    return "12:00"


def over_openai(case):
    return ChatOpenAI(base_url=BASE, api_key="none", model=case["model"], max_retries=0).bind_tools([get_weather, get_time])


def over_ollama(case):
    return ChatOllama(base_url=URL, model=case["model"], validate_model_on_init=True).bind_tools([get_weather, get_time])


def over_responses(case):
    chat = ChatOpenAI(base_url=BASE, api_key="none", model=case["model"], max_retries=0, use_responses_api=True)
    return chat.bind_tools([get_weather, get_time])


def over_anthropic(case):
    chat = ChatAnthropic(base_url=URL, api_key="none", model=case["model"], max_retries=0, max_tokens=1000)
    return chat.bind_tools([get_weather, get_time])


def collected(chat, case):
    return chat(case).invoke(case["question"])


def streamed(chat, case):
    whole = None
    for chunk in chat(case).stream(case["question"]):
        whole = chunk if whole is None else whole + chunk
    return whole


chats = pytest.mark.parametrize("chat", [over_openai, over_ollama, over_responses, over_anthropic], ids=["openai", "ollama", "responses", "anthropic"])
ways = pytest.mark.parametrize("way", [streamed, collected])


@chats
@ways
@cases
def test_langchain(chat, way, case):
    whole = way(chat, case)
    assert [(call["name"], call["args"]) for call in whole.tool_calls] == calls(case)
    assert whole.invalid_tool_calls == []
    assert whole.text == case["text"]


@chats
@ways
@faults
def test_langchain_fault(chat, way, case):
    with pytest.raises((openai.APIError, anthropic.APIError, ollama.ResponseError, ValueError), match=FAULT):
        way(chat, case)


# ollama


@cases
def test_ollama_stream(case):
    got, text, thinking = [], "", ""
    for part in ollama.Client(host=URL).chat(**ask(case, stream=True)):
        got += [(call.function.name, dict(call.function.arguments)) for call in part.message.tool_calls or []]
        text += part.message.content or ""
        thinking += part.message.thinking or ""
    assert (got, text, thinking) == (calls(case), case["text"], case["reasoning"])


@cases
def test_ollama_collected(case):
    done = ollama.Client(host=URL).chat(**ask(case))
    assert [(call.function.name, dict(call.function.arguments)) for call in done.message.tool_calls] == calls(case)
    assert done.message.content == case["text"]


@faults
def test_ollama_fault(case):
    with pytest.raises(ollama.ResponseError, match=FAULT):
        for part in ollama.Client(host=URL).chat(**ask(case, stream=True)):
            assert not part.message.tool_calls


def test_ollama_discovery():
    client = ollama.Client(host=URL)
    assert "gemma3:12b" in [model.model for model in client.list().models]
    assert "tools" in client.show("gemma3:12b").capabilities

"""PyPI openai, ollama and LangChain (over either) against the built binary."""

import json
import os

import ollama
import openai
import pytest
from langchain_core.tools import tool
from langchain_ollama import ChatOllama
from langchain_openai import ChatOpenAI

URL = os.environ["TOOLGLOT_URL"]
BASE = URL + "/v1"
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "description": "Weather of a city",
            "parameters": {
                "type": "object",
                "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
                "required": ["city"],
            },
        },
    },
    {
        "type": "function",
        "function": {"name": "get_time", "description": "The time now", "parameters": {"type": "object", "properties": {}}},
    },
]
CASES = [
    ("qwen2.5-coder:7b", "Weather in Oslo?", [("get_weather", {"city": "Oslo", "days": 3})], ""),
    ("qwen3:8b", "Weather in Oslo and Lima?", [("get_weather", {"city": "Oslo"}), ("get_weather", {"city": "Lima"})], "Looking both up."),
    ("llama3.1:8b", "What time is it?", [("get_time", {})], ""),
    ("qwen3:8b", "Weather and time?", [("get_weather", {"city": "Oslo"}), ("get_time", {})], ""),
]


def question(text):
    return [{"role": "user", "content": text}]


@pytest.fixture(scope="module")
def client():
    return openai.OpenAI(base_url=BASE, api_key="none", max_retries=0)


@pytest.mark.parametrize(("model", "text", "calls", "prose"), CASES)
def test_openai_stream(client, model, text, calls, prose):
    with client.chat.completions.stream(model=model, messages=question(text), tools=TOOLS) as stream:
        for _ in stream:
            pass
        done = stream.get_final_completion().choices[0]
    assert [(call.function.name, json.loads(call.function.arguments)) for call in done.message.tool_calls] == calls
    assert (done.message.content or "") == prose
    assert done.message.role == "assistant"
    assert done.finish_reason == "tool_calls"


@pytest.mark.parametrize(("model", "text", "calls", "prose"), CASES)
def test_openai_collected(client, model, text, calls, prose):
    done = client.chat.completions.create(model=model, messages=question(text), tools=TOOLS).choices[0]
    assert [(call.function.name, json.loads(call.function.arguments)) for call in done.message.tool_calls] == calls
    assert (done.message.content or "") == prose


def test_openai_error_in_the_middle(client):
    with pytest.raises(openai.APIError, match="llama runner process has terminated"):
        for _ in client.chat.completions.create(model="llama3.1:8b", messages=question("Break in the middle"), tools=TOOLS, stream=True):
            pass


@tool
def get_weather(city: str, days: int = 1) -> str:
    """Weather of a city"""
    return f"{city}: 21 degrees"


@tool
def get_time() -> str:
    """The time now"""
    return "12:00"


@pytest.mark.parametrize(("model", "text", "calls", "prose"), CASES)
def test_langchain_stream(model, text, calls, prose):
    chat = ChatOpenAI(base_url=BASE, api_key="none", model=model, max_retries=0).bind_tools([get_weather, get_time])
    whole = None
    for chunk in chat.stream(text):
        whole = chunk if whole is None else whole + chunk
    assert [(call["name"], call["args"]) for call in whole.tool_calls] == calls
    assert whole.invalid_tool_calls == []
    assert whole.content == prose


@pytest.mark.parametrize(("model", "text", "calls", "prose"), CASES)
def test_langchain_ollama_stream(model, text, calls, prose):
    chat = ChatOllama(base_url=URL, model=model, validate_model_on_init=True).bind_tools([get_weather, get_time])
    whole = None
    for chunk in chat.stream(text):
        whole = chunk if whole is None else whole + chunk
    assert [(call["name"], call["args"]) for call in whole.tool_calls] == calls
    assert whole.invalid_tool_calls == []
    assert whole.content == prose


@pytest.mark.parametrize(("model", "text", "calls", "prose"), CASES)
def test_langchain_ollama_collected(model, text, calls, prose):
    done = ChatOllama(base_url=URL, model=model).bind_tools([get_weather, get_time]).invoke(text)
    assert [(call["name"], call["args"]) for call in done.tool_calls] == calls
    assert done.content == prose


def test_langchain_ollama_error_in_the_middle():
    with pytest.raises(ollama.ResponseError, match="llama runner process has terminated"):
        for _ in ChatOllama(base_url=URL, model="llama3.1:8b").bind_tools([get_weather]).stream("Break in the middle"):
            pass


@pytest.mark.parametrize(("model", "text", "calls", "prose"), CASES)
def test_ollama_collected(model, text, calls, prose):
    done = ollama.Client(host=URL).chat(model=model, messages=question(text), tools=TOOLS)
    assert [(call.function.name, dict(call.function.arguments)) for call in done.message.tool_calls] == calls
    assert done.message.content == prose


def test_ollama_reasoning_and_discovery():
    client = ollama.Client(host=URL)
    parts = client.chat(model="qwen3:8b", messages=question("Weather in Oslo and Lima?"), tools=TOOLS, stream=True)
    assert "".join(part.message.thinking or "" for part in parts) == "Both cities."
    assert "gemma3:12b" in [model.model for model in client.list().models]
    assert "tools" in client.show("gemma3:12b").capabilities

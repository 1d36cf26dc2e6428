// npm ollama: Continue, Roo and Void's model list speak through it.
import assert from "node:assert/strict";
import test from "node:test";
import { Ollama } from "ollama";
import { cases, tools } from "./cases.mjs";

const client = new Ollama({ host: process.env.TOOLGLOT_URL });
const ask = (model, content, more = {}) => ({ model, messages: [{ role: "user", content }], tools, ...more });
const calls = (message) => (message.tool_calls ?? []).map((c) => [c.function.name, c.function.arguments]);

for (const [name, model, question, expected, text] of cases) {
  test(`ollama: streamed: ${name}`, async () => {
    const got = [];
    let content = "";
    let last;
    for await (const part of await client.chat(ask(model, question, { stream: true }))) {
      got.push(...calls(part.message));
      content += part.message.content;
      last = part;
    }
    assert.deepEqual(got, expected);
    assert.equal(content, text);
    assert.equal(last.done, true);
  });

  test(`ollama: not streamed: ${name}`, async () => {
    const { message, done } = await client.chat(ask(model, question));
    assert.deepEqual(calls(message), expected);
    assert.equal(message.content, text);
    assert.equal(done, true);
  });
}

test("ollama: reasoning is thinking", async () => {
  let thinking = "";
  for await (const part of await client.chat(ask("qwen3:8b", "Weather in Oslo and Lima?", { stream: true }))) {
    thinking += part.message.thinking ?? "";
  }
  assert.equal(thinking, "Both cities.");
});

test("ollama: the result of a call gets the answer", async () => {
  const request = ask("qwen2.5-coder:7b", "How warm is it in Oslo?");
  const { message } = await client.chat(request);
  assert.deepEqual(calls(message), [["get_weather", { city: "Oslo" }]]);
  request.messages.push(message, { role: "tool", tool_name: "get_weather", content: "21 degrees, sunny" });
  const answer = await client.chat(request);
  assert.equal(answer.message.content, "It is 21 degrees and sunny in Oslo.");
});

test("ollama: a fault in the middle is an error with the backend's words", async () => {
  await assert.rejects(async () => {
    for await (const _ of await client.chat(ask("llama3.1:8b", "Break in the middle", { stream: true })));
  }, /llama runner process has terminated/);
});

test("ollama: an unknown model is a 404 that says so", async () => {
  await assert.rejects(client.chat(ask("no-such-model", "hello")), (error) => error.status_code === 404 && /no-such-model/.test(error.message));
});

test("ollama: models are listed, shown as able to call tools, and there is a version", async () => {
  const { models } = await client.list();
  assert.ok(models.some((model) => model.name === "gemma3:12b" && model.details.family.length > 0));
  const shown = await client.show({ model: "gemma3:12b" });
  assert.ok(shown.capabilities.includes("tools"));
  assert.match((await client.version()).version, /^\d+\.\d+\.\d+$/);
});

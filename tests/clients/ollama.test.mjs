// npm ollama: Continue, Roo and Void's model list speak through it.
import assert from "node:assert/strict";
import test from "node:test";
import { Ollama } from "ollama";
import { ask, cases, fault, faults } from "./cases.mjs";

const client = new Ollama({ host: process.env.TOOLGLOT_URL });
const calls = (message) => (message.tool_calls ?? []).map((c) => [c.function.name, c.function.arguments]);

for (const one of cases) {
  test(`ollama: streamed: ${one.name}`, async () => {
    const got = [];
    let content = "";
    let thinking = "";
    let last;
    for await (const part of await client.chat(ask(one, { stream: true }))) {
      got.push(...calls(part.message));
      content += part.message.content;
      thinking += part.message.thinking ?? "";
      last = part;
    }
    assert.deepEqual(got, one.calls);
    assert.deepEqual([content, thinking], [one.text, one.reasoning]);
    assert.equal(last.done, true);
  });

  test(`ollama: not streamed: ${one.name}`, async () => {
    const { message, done } = await client.chat(ask(one));
    assert.deepEqual(calls(message), one.calls);
    assert.deepEqual([message.content, message.thinking ?? ""], [one.text, one.reasoning]);
    assert.equal(done, true);
  });
}

for (const one of faults) {
  test(`ollama: streamed: ${one.name}`, async () => {
    let called = 0;
    await assert.rejects(async () => {
      for await (const part of await client.chat(ask(one, { stream: true }))) called += calls(part.message).length;
    }, fault);
    assert.equal(called, 0);
  });

  test(`ollama: not streamed: ${one.name}`, async () => {
    await assert.rejects(client.chat(ask(one)), fault);
  });
}

test("ollama: the result of a call gets the answer", async () => {
  const request = ask({ model: "qwen2.5-coder:7b", question: "How warm is it in Oslo?" });
  const { message } = await client.chat(request);
  assert.deepEqual(calls(message), [["get_weather", { city: "Oslo" }]]);
  request.messages.push(message, { role: "tool", tool_name: "get_weather", content: "21 degrees, sunny" });
  const answer = await client.chat(request);
  assert.equal(answer.message.content, "It is 21 degrees and sunny in Oslo.");
});

test("ollama: an unknown model is a 404 that says so", async () => {
  const request = ask({ model: "no-such-model", question: "hello" });
  await assert.rejects(client.chat(request), (error) => error.status_code === 404 && /no-such-model/.test(error.message));
});

test("ollama: models are listed, shown as able to call tools, and there is a version", async () => {
  const { models } = await client.list();
  // What Roo and Copilot look at.
  assert.ok(models.some(({ name, model, details }) => name === "gemma3:12b" && model === name && details.family && typeof details.parameter_size === "string"));
  const shown = await client.show({ model: "gemma3:12b" });
  assert.ok(shown.capabilities.includes("tools"));
  assert.ok(shown.model_info["general.architecture"] && shown.model_info["general.basename"]);
  const version = (await client.version()).version.split(".").map(Number);
  assert.ok(version[0] > 0 || version[1] > 6 || (version[1] === 6 && version[2] >= 4));
});

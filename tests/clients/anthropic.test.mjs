// @anthropic-ai/sdk and @ai-sdk/anthropic: what speaks Anthropic's API beside Claude Code.
import assert from "node:assert/strict";
import test from "node:test";
import Anthropic from "@anthropic-ai/sdk";
import { createAnthropic } from "@ai-sdk/anthropic";
import { generateText, streamText, tool } from "ai";
import { z } from "zod";
import { cases, fault, faults, tools } from "./cases.mjs";

const client = new Anthropic({ baseURL: process.env.TOOLGLOT_URL, apiKey: "none", maxRetries: 0 });
const own = tools.map(({ function: { name, description, parameters } }) => ({ name, description, input_schema: parameters }));
const ask = ({ model, question }) => ({ model, max_tokens: 1000, messages: [{ role: "user", content: question }], tools: own });
const of = (content, type) => content.filter((block) => block.type === type);
const read = ({ content }) => ({
  calls: of(content, "tool_use").map(({ name, input }) => [name, input]),
  text: of(content, "text").map(({ text }) => text).join(""),
  reasoning: of(content, "thinking").map(({ thinking }) => thinking).join(""),
});

for (const one of cases) {
  const wanted = { calls: one.calls, text: one.text, reasoning: one.reasoning };

  test(`anthropic: stream(): ${one.name}`, async () => {
    const stream = client.messages.stream(ask(one));
    const order = [];
    stream.on("streamEvent", (event) => event.type === "content_block_start" && order.push(event.index));
    const message = await stream.finalMessage();
    assert.deepEqual(read(message), wanted);
    assert.equal(message.stop_reason, "tool_use");
    assert.deepEqual(order, order.map((_, at) => at));
    const ids = of(message.content, "tool_use").map(({ id }) => id);
    assert.ok(new Set(ids).size === ids.length && ids.every((id) => /^[a-zA-Z0-9_-]+$/.test(id)));
  });

  test(`anthropic: not streamed: ${one.name}`, async () => {
    const message = await client.messages.create(ask(one));
    assert.deepEqual(read(message), wanted);
    assert.equal(typeof message.usage.input_tokens, "number");
  });
}

for (const one of faults) {
  test(`anthropic: stream(): ${one.name}`, async () => {
    let called = 0;
    const stream = client.messages.stream(ask(one));
    stream.on("contentBlock", (block) => (called += block.type === "tool_use"));
    await assert.rejects(stream.finalMessage(), fault);
    assert.equal(called, 0);
  });

  test(`anthropic: not streamed: ${one.name}`, async () => {
    await assert.rejects(client.messages.create(ask(one)), (error) => error.status >= 500 && fault.test(error.message));
  });
}

test("anthropic: an unknown model is a 404 that says so", async () => {
  const request = ask({ model: "no-such-model", question: "hello" });
  await assert.rejects(client.messages.create(request), (error) => error.status === 404 && /no-such-model/.test(error.message) && /^req_/.test(error.requestID));
});

test("anthropic: tokens are counted, models are listed", async () => {
  const { input_tokens } = await client.messages.countTokens({ model: "gemma3:12b", messages: [{ role: "user", content: "hello" }] });
  assert.ok(input_tokens > 0);
  const { data } = await client.models.list();
  assert.ok(data.some(({ id, type, display_name }) => id === "gemma3:12b" && type === "model" && display_name));
});

const provider = createAnthropic({ baseURL: `${process.env.TOOLGLOT_URL}/v1`, apiKey: "none" });
const weather = { description: "Weather of a city", inputSchema: z.object({ city: z.string(), days: z.number().int().optional() }) };
const time = { description: "The time now", inputSchema: z.object({}) };
const chat = ({ model, question }) => ({
  model: provider(model),
  prompt: question,
  tools: { get_weather: tool(weather), get_time: tool(time) },
  maxRetries: 0,
});
const made = (list) => list.map((call) => [call.toolName, call.input]);

for (const one of cases) {
  test(`ai sdk, anthropic: streamText: ${one.name}`, async () => {
    const result = streamText(chat(one));
    assert.deepEqual(made(await result.toolCalls), one.calls);
    assert.equal(await result.text, one.text);
    assert.equal((await result.reasoningText) ?? "", one.reasoning);
  });

  test(`ai sdk, anthropic: generateText: ${one.name}`, async () => {
    const result = await generateText(chat(one));
    assert.deepEqual([made(result.toolCalls), result.text, result.reasoningText ?? ""], [one.calls, one.text, one.reasoning]);
  });
}

for (const one of faults) {
  test(`ai sdk, anthropic: streamText: ${one.name}`, async () => {
    const result = streamText({ ...chat(one), onError() {} });
    const errors = [];
    let called = 0;
    for await (const part of result.fullStream ?? result.stream) {
      if (part.type === "error") errors.push(String(part.error?.message ?? JSON.stringify(part.error)));
      if (part.type === "tool-call") called += 1;
    }
    assert.match(errors.join(), fault);
    assert.equal(called, 0);
  });
}

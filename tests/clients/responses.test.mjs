// npm openai's and the AI SDK's side of OpenAI's Responses API: what speaks it beside Codex.
import assert from "node:assert/strict";
import test from "node:test";
import OpenAI from "openai7";
import { createOpenAI } from "@ai-sdk/openai";
import { generateText, streamText, tool } from "ai";
import { z } from "zod";
import { base, cases, fault, faults, tools } from "./cases.mjs";

const client = new OpenAI({ baseURL: base, apiKey: "none", maxRetries: 0 });
const own = tools.map(({ function: inner }) => ({ type: "function", strict: false, ...inner }));
const ask = ({ model, question }, more = {}) => ({ model, input: question, tools: own, ...more });
const read = ({ output, output_text }) => ({
  calls: output.filter(({ type }) => type === "function_call").map((item) => [item.name, JSON.parse(item.arguments)]),
  text: output_text,
  reasoning: output.flatMap((item) => (item.type === "reasoning" ? item.summary.map(({ text }) => text) : [])).join(""),
});

for (const one of cases) {
  const wanted = { calls: one.calls, text: one.text, reasoning: one.reasoning };

  test(`openai responses: stream(): ${one.name}`, async () => {
    const response = await client.responses.stream(ask(one)).finalResponse();
    assert.deepEqual(read(response), wanted);
    assert.equal(response.status, "completed");
  });

  test(`openai responses: events: ${one.name}`, async () => {
    const numbers = [];
    let last;
    for await (const event of await client.responses.create(ask(one, { stream: true }))) {
      numbers.push(event.sequence_number);
      last = event;
    }
    assert.deepEqual([last.type, read({ output_text: one.text, ...last.response })], ["response.completed", wanted]);
    assert.deepEqual(numbers, numbers.map((_, at) => at));
  });

  test(`openai responses: not streamed: ${one.name}`, async () => {
    assert.deepEqual(read(await client.responses.create(ask(one))), wanted);
  });
}

for (const one of faults) {
  test(`openai responses: events: ${one.name}`, async () => {
    let called = 0;
    let failed = "";
    try {
      for await (const event of await client.responses.create(ask(one, { stream: true }))) {
        called += event.type === "response.output_item.done" && event.item.type === "function_call";
        failed += event.response?.error?.message ?? "";
      }
    } catch (error) {
      failed += error.message;
    }
    assert.match(failed, fault);
    assert.equal(called, 0);
  });

  test(`openai responses: not streamed: ${one.name}`, async () => {
    await assert.rejects(client.responses.create(ask(one)), (error) => error.status >= 500 && fault.test(error.message));
  });
}

test("openai responses: one that is kept is followed, read and deleted", async () => {
  const first = await client.responses.create(ask({ model: "qwen2.5-coder:7b", question: "How warm is it in Oslo?" }));
  const call = first.output.find(({ type }) => type === "function_call");
  const input = [{ type: "function_call_output", call_id: call.call_id, output: "21 degrees, sunny" }];
  const second = await client.responses.create({ model: "qwen2.5-coder:7b", previous_response_id: first.id, input, tools: own });
  assert.equal(second.output_text, "It is 21 degrees and sunny in Oslo.");
  assert.equal((await client.responses.retrieve(first.id)).id, first.id);
  assert.equal((await client.responses.inputItems.list(second.id)).data[0].call_id, call.call_id);
  await client.responses.delete(first.id);
  await assert.rejects(client.responses.retrieve(first.id), (error) => error.status === 404);
});

const provider = createOpenAI({ baseURL: base, apiKey: "none" });
const weather = { description: "Weather of a city", inputSchema: z.object({ city: z.string(), days: z.number().int().optional() }) };
const time = { description: "The time now", inputSchema: z.object({}) };
const chat = ({ model, question }) => ({
  model: provider.responses(model),
  prompt: question,
  tools: { get_weather: tool(weather), get_time: tool(time) },
  maxRetries: 0,
});
const made = (list) => list.map((call) => [call.toolName, call.input]);

for (const one of cases) {
  test(`ai sdk, responses: streamText: ${one.name}`, async () => {
    const result = streamText(chat(one));
    assert.deepEqual(made(await result.toolCalls), one.calls);
    assert.equal(await result.text, one.text);
    assert.equal((await result.reasoningText) ?? "", one.reasoning);
  });

  test(`ai sdk, responses: generateText: ${one.name}`, async () => {
    const result = await generateText(chat(one));
    assert.deepEqual([made(result.toolCalls), result.text, result.reasoningText ?? ""], [one.calls, one.text, one.reasoning]);
  });
}

for (const one of faults) {
  test(`ai sdk, responses: streamText: ${one.name}`, async () => {
    const result = streamText({ ...chat(one), onError() {} });
    let called = 0;
    let failed = false;
    for await (const part of result.fullStream ?? result.stream) {
      failed ||= part.type === "error" || (part.type === "finish" && part.finishReason === "error");
      called += part.type === "tool-call";
    }
    assert.ok(failed);
    assert.equal(called, 0);
  });
}

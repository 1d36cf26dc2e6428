// @ai-sdk/openai-compatible: opencode, Cline and others speak through it.
import assert from "node:assert/strict";
import test from "node:test";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, isStepCount, stepCountIs, streamText, tool } from "ai";
import { z } from "zod";
import { base, cases, fault, faults } from "./cases.mjs";

const provider = createOpenAICompatible({ name: "toolglot", baseURL: base, apiKey: "none", includeUsage: true });
const weather = { description: "Weather of a city", inputSchema: z.object({ city: z.string(), days: z.number().int().optional() }) };
const time = { description: "The time now", inputSchema: z.object({}) };
const tools = { get_weather: tool(weather), get_time: tool(time) };
const upTo = stepCountIs ?? isStepCount;
const ask = ({ model, question }) => ({ model: provider(model), prompt: question, tools, maxRetries: 0 });
const calls = (list) => list.map((call) => [call.toolName, call.input]);

for (const one of cases) {
  test(`ai sdk: streamText: ${one.name}`, async () => {
    const result = streamText(ask(one));
    assert.deepEqual(calls(await result.toolCalls), one.calls);
    assert.equal(await result.text, one.text);
    assert.equal((await result.reasoningText) ?? "", one.reasoning);
    assert.equal(await result.finishReason, "tool-calls");
  });

  test(`ai sdk: generateText: ${one.name}`, async () => {
    const result = await generateText(ask(one));
    assert.deepEqual(calls(result.toolCalls), one.calls);
    assert.deepEqual([result.text, result.reasoningText ?? ""], [one.text, one.reasoning]);
    assert.equal(result.finishReason, "tool-calls");
  });
}

for (const one of faults) {
  test(`ai sdk: streamText: ${one.name}`, async () => {
    const result = streamText({ ...ask(one), onError() {} });
    const errors = [];
    let called = 0;
    for await (const part of result.fullStream ?? result.stream) {
      if (part.type === "error") errors.push(String(part.error?.message ?? part.error));
      if (part.type === "tool-call") called += 1;
    }
    assert.match(errors.join(), fault);
    assert.equal(called, 0);
  });

  test(`ai sdk: generateText: ${one.name}`, async () => {
    await assert.rejects(generateText(ask(one)), fault);
  });
}

test("ai sdk: generateText runs the tool and gets the answer", async () => {
  const execute = async ({ city }) => `${city}: 21 degrees, sunny`;
  const result = await generateText({
    model: provider("qwen2.5-coder:7b"),
    prompt: "How warm is it in Oslo?",
    tools: { ...tools, get_weather: tool({ ...weather, execute }) },
    stopWhen: upTo(3),
    maxRetries: 0,
  });
  assert.equal(result.text, "It is 21 degrees and sunny in Oslo.");
});

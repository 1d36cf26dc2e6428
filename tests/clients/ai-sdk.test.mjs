// @ai-sdk/openai-compatible: opencode, Cline and others speak through it.
import assert from "node:assert/strict";
import test from "node:test";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, isStepCount, stepCountIs, streamText, tool } from "ai";
import { z } from "zod";
import { base, cases } from "./cases.mjs";

const provider = createOpenAICompatible({ name: "toolglot", baseURL: base, apiKey: "none", includeUsage: true });
const weather = { description: "Weather of a city", inputSchema: z.object({ city: z.string(), days: z.number().int().optional() }) };
const time = { description: "The time now", inputSchema: z.object({}) };
const tools = { get_weather: tool(weather), get_time: tool(time) };
const upTo = stepCountIs ?? isStepCount;

for (const [name, model, question, expected, text] of cases) {
  test(`ai sdk: streamText: ${name}`, async () => {
    const result = streamText({ model: provider(model), prompt: question, tools, maxRetries: 0 });
    const calls = (await result.toolCalls).map((call) => [call.toolName, call.input]);
    assert.deepEqual(calls, expected);
    assert.equal(await result.text, text);
    assert.equal(await result.finishReason, "tool-calls");
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

test("ai sdk: reasoning is reasoning", async () => {
  const result = streamText({ model: provider("qwen3:8b"), prompt: "Weather in Oslo and Lima?", tools, maxRetries: 0 });
  assert.equal(await result.reasoningText, "Both cities.");
});

test("ai sdk: a fault in the middle is an error part", async () => {
  const result = streamText({ model: provider("llama3.1:8b"), prompt: "Break in the middle", tools, maxRetries: 0, onError() {} });
  const errors = [];
  for await (const part of result.fullStream ?? result.stream) if (part.type === "error") errors.push(String(part.error?.message ?? part.error));
  assert.match(errors.join(), /llama runner process has terminated/);
});

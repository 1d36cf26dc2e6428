// npm openai: 4.96.0 is what Void bundles, 7 is what most others have.
import assert from "node:assert/strict";
import test from "node:test";
import OpenAI4 from "openai4";
import OpenAI7 from "openai7";
import { ask, base, cases, tools } from "./cases.mjs";

const OSLO = "It is 21 degrees and sunny in Oslo.";

for (const [version, OpenAI] of [["4.96", OpenAI4], ["7", OpenAI7]]) {
  const client = new OpenAI({ baseURL: base, apiKey: "none", maxRetries: 0 });
  const completions = client.chat.completions;
  const stream = (request) => (completions.stream ?? client.beta.chat.completions.stream).call(completions.stream ? completions : client.beta.chat.completions, request);
  const calls = (message) => (message.tool_calls ?? []).map((c) => [c.function.name, JSON.parse(c.function.arguments)]);

  for (const [name, model, question, expected, text] of cases) {
    test(`openai ${version}: stream(): ${name}`, async () => {
      const done = await stream(ask(model, question)).finalChatCompletion();
      const { message, finish_reason } = done.choices[0];
      assert.deepEqual(calls(message), expected);
      assert.equal(message.content ?? "", text);
      assert.equal(finish_reason, "tool_calls");
      const ids = message.tool_calls.map((c) => c.id);
      assert.equal(new Set(ids).size, ids.length);
      assert.ok(ids.every((id) => id.length > 0));
    });

    test(`openai ${version}: not streamed: ${name}`, async () => {
      const done = await completions.create(ask(model, question));
      assert.deepEqual(calls(done.choices[0].message), expected);
      assert.equal(done.choices[0].finish_reason, "tool_calls");
      assert.equal(typeof done.usage.total_tokens, "number");
    });
  }

  test(`openai ${version}: runTools calls the function and gets the answer`, async () => {
    const asked = [];
    const run = completions.runTools ?? client.beta.chat.completions.runTools;
    const runner = run.call(completions.runTools ? completions : client.beta.chat.completions, {
      model: "qwen2.5-coder:7b",
      stream: true,
      messages: [{ role: "user", content: "How warm is it in Oslo?" }],
      tools: [
        {
          type: "function",
          function: {
            ...tools[0].function,
            parse: JSON.parse,
            function: (args) => {
              asked.push(args);
              return "21 degrees, sunny";
            },
          },
        },
      ],
    });
    assert.equal(await runner.finalContent(), OSLO);
    assert.deepEqual(asked, [{ city: "Oslo" }]);
  });

  test(`openai ${version}: prose arrives byte by byte as it was written`, async () => {
    let text = "";
    for await (const chunk of await completions.create(ask("llama3.1:8b", "Tell me about Oslo", { stream: true }))) {
      text += chunk.choices[0]?.delta?.content ?? "";
    }
    assert.match(text, /^Oslo is the capital of Norway\.\n\n- It lies/);
    assert.ok(text.endsWith("økonomi, 東京, 🌍.\n"));
  });

  test(`openai ${version}: usage comes only when asked for, and last`, async () => {
    const request = ask("llama3.1:8b", "Tell me about Oslo", { stream: true, stream_options: { include_usage: true } });
    const chunks = [];
    for await (const chunk of await completions.create(request)) chunks.push(chunk);
    assert.deepEqual(chunks.at(-1).choices, []);
    assert.ok(chunks.at(-1).usage.total_tokens > 0);
    assert.ok(chunks.slice(0, -1).every((chunk) => !chunk.usage));
  });

  test(`openai ${version}: a fault in the middle is an error with the backend's words`, async () => {
    await assert.rejects(async () => {
      for await (const _ of await completions.create(ask("llama3.1:8b", "Break in the middle", { stream: true })));
    }, /llama runner process has terminated/);
  });

  test(`openai ${version}: an unknown model is a 404 that says so`, async () => {
    await assert.rejects(completions.create(ask("no-such-model", "hello")), (error) => error.status === 404 && /no-such-model/.test(error.message));
  });

  test(`openai ${version}: models are listed and can be read one by one`, async () => {
    const list = await client.models.list();
    const ids = list.data.map((model) => model.id);
    assert.ok(ids.includes("gemma3:12b"));
    assert.equal((await client.models.retrieve("gemma3:12b")).id, "gemma3:12b");
  });
}

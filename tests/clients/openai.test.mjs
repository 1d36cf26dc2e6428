// npm openai: 4.96.0 is what Void bundles, 7 is what most others have.
import assert from "node:assert/strict";
import test from "node:test";
import OpenAI4 from "openai4";
import OpenAI7 from "openai7";
import { ask, base, cases, fault, faults, tools } from "./cases.mjs";

const OSLO = "It is 21 degrees and sunny in Oslo.";
const prose = { model: "llama3.1:8b", question: "Tell me about Oslo" };

for (const [version, OpenAI] of [["4.96", OpenAI4], ["7", OpenAI7]]) {
  const client = new OpenAI({ baseURL: base, apiKey: "none", maxRetries: 0 });
  const { completions } = client.chat;
  // In 4.96 these two are still under `beta`.
  const own = completions.stream ? completions : client.beta.chat.completions;
  const calls = (message) => (message.tool_calls ?? []).map((c) => [c.function.name, JSON.parse(c.function.arguments)]);

  for (const one of cases) {
    test(`openai ${version}: stream(): ${one.name}`, async () => {
      const done = await own.stream(ask(one)).finalChatCompletion();
      const { message, finish_reason } = done.choices[0];
      assert.deepEqual(calls(message), one.calls);
      assert.equal(message.content ?? "", one.text);
      assert.equal(finish_reason, "tool_calls");
      const ids = message.tool_calls.map((c) => c.id);
      assert.equal(new Set(ids).size, ids.length);
      assert.ok(ids.every((id) => id.length > 0));
    });

    test(`openai ${version}: chunks: ${one.name}`, async () => {
      let reasoning = "";
      const order = [];
      for await (const { choices } of await completions.create(ask(one, { stream: true }))) {
        const delta = choices[0]?.delta ?? {};
        reasoning += delta.reasoning_content ?? "";
        if (delta.reasoning_content) order.push("reasoning");
        if (delta.content) order.push("text");
        if (delta.tool_calls) order.push("call");
        assert.ok(!(delta.content && delta.tool_calls), "text and calls never share a delta");
      }
      assert.equal(reasoning, one.reasoning);
      assert.deepEqual(order, order.toSorted((a, b) => ["reasoning", "text", "call"].indexOf(a) - ["reasoning", "text", "call"].indexOf(b)));
    });

    test(`openai ${version}: not streamed: ${one.name}`, async () => {
      const done = await completions.create(ask(one));
      const { message, finish_reason } = done.choices[0];
      assert.deepEqual(calls(message), one.calls);
      assert.deepEqual([message.content ?? "", message.reasoning_content ?? ""], [one.text, one.reasoning]);
      assert.equal(finish_reason, "tool_calls");
      assert.equal(typeof done.usage.total_tokens, "number");
    });
  }

  for (const one of faults) {
    test(`openai ${version}: stream(): ${one.name}`, async () => {
      await assert.rejects(own.stream(ask(one)).finalChatCompletion(), fault);
    });

    test(`openai ${version}: chunks: ${one.name}`, async () => {
      let called = 0;
      await assert.rejects(async () => {
        for await (const { choices } of await completions.create(ask(one, { stream: true }))) called += choices[0]?.delta?.tool_calls?.length ?? 0;
      }, fault);
      assert.equal(called, 0);
    });

    test(`openai ${version}: not streamed: ${one.name}`, async () => {
      await assert.rejects(completions.create(ask(one)), (error) => error.status >= 500 && fault.test(error.message));
    });
  }

  test(`openai ${version}: runTools calls the function and gets the answer`, async () => {
    const asked = [];
    const runner = own.runTools({
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
    for await (const chunk of await completions.create(ask(prose, { stream: true }))) {
      text += chunk.choices[0]?.delta?.content ?? "";
    }
    assert.match(text, /^Oslo is the capital of Norway\.\n\n- It lies/);
    assert.ok(text.endsWith("økonomi, 東京, 🌍.\n"));
  });

  test(`openai ${version}: usage comes only when asked for, and last`, async () => {
    const request = ask(prose, { stream: true, stream_options: { include_usage: true } });
    const chunks = [];
    for await (const chunk of await completions.create(request)) chunks.push(chunk);
    assert.deepEqual(chunks.at(-1).choices, []);
    assert.ok(chunks.at(-1).usage.total_tokens > 0);
    assert.ok(chunks.slice(0, -1).every((chunk) => !chunk.usage));
  });

  test(`openai ${version}: an unknown model is a 404 that says so`, async () => {
    const request = ask({ model: "no-such-model", question: "hello" });
    await assert.rejects(completions.create(request), (error) => error.status === 404 && /no-such-model/.test(error.message));
  });

  test(`openai ${version}: models are listed and can be read one by one`, async () => {
    const list = await client.models.list();
    const ids = list.data.map((model) => model.id);
    assert.ok(ids.includes("gemma3:12b"));
    assert.equal((await client.models.retrieve("gemma3:12b")).id, "gemma3:12b");
  });
}

// npm openai against mode `react`: stream() and create() see one ordinary answer.
// usage: react.mjs URL MODEL PACKAGES
import assert from "node:assert/strict";
import { createRequire } from "node:module";

const [url, model, packages] = process.argv.slice(2);
const require = createRequire(`${packages}/x.js`);
const request = { model, messages: [{ role: "user", content: "go" }], toolglot: { trace: true } };

for (const version of ["openai4", "openai7"]) {
  const OpenAI = require(version).OpenAI ?? require(version);
  const client = new OpenAI({ baseURL: `${url}/react/v1`, apiKey: "none", maxRetries: 0 });
  const completions = client.chat.completions.stream ? client.chat.completions : client.beta.chat.completions;
  const events = [];
  const stream = completions.stream({ ...request, stream_options: { include_usage: true } });
  stream.on("content", (delta) => events.push(delta));
  const done = await stream.finalChatCompletion();
  assert.equal(done.choices[0].finish_reason, "stop");
  assert.equal(done.choices[0].message.content, events.join(""));
  assert.deepEqual(done.choices[0].message.tool_calls ?? [], []);
  assert.ok(done.usage.total_tokens > 0);
  const whole = await client.chat.completions.create(request);
  assert.equal(whole.choices[0].message.content, done.choices[0].message.content);
  console.log(JSON.stringify({ version, content: whole.choices[0].message.content, calls: whole.toolglot.calls.length }));
}

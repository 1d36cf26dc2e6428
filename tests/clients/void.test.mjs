// Void's own reading rules over the openai package that it bundles: XML calls in the text of the whole answer, and native calls
// of which it takes index 0 alone.
import assert from "node:assert/strict";
import test from "node:test";
import OpenAI from "openai4";
import { base, cases, fault, faults, tools } from "./cases.mjs";

const client = new OpenAI({ baseURL: base, apiKey: "noop", maxRetries: 0 });
const names = tools.map((tool) => tool.function.name);
const parameters = Object.fromEntries(tools.map((tool) => [tool.function.name, Object.keys(tool.function.parameters.properties)]));

// What Void puts into the system text instead of `tools`.
const prompt = [
  "You help with code.",
  "",
  "Available tools:",
  "",
  ...tools.map(({ function: { name, description } }, at) => {
    const inside = parameters[name].map((parameter) => `\n<${parameter}>${parameter === "days" ? "Optional. " : ""}The ${parameter}.</${parameter}>`);
    return `    ${at + 1}. ${name}\n    Description: ${description}\n    Format:\n    <${name}>${inside.join("")}\n    </${name}>\n`;
  }),
  "Tool calling details:",
  "- One call, at the end.",
].join("\n");

async function read(request) {
  let text = "";
  let reasoning = "";
  let found = null;
  const native = { name: "", args: "", id: "" };
  for await (const chunk of await client.chat.completions.create({ ...request, stream: true })) {
    const delta = chunk.choices[0]?.delta;
    text += delta?.content ?? "";
    reasoning += delta?.reasoning_content ?? "";
    for (const call of delta?.tool_calls ?? []) {
      if (call.index !== 0) continue;
      native.name += call.function?.name ?? "";
      native.args += call.function?.arguments ?? "";
      native.id += call.id ?? "";
    }
    // The first tag that is found in the text so far stays, in the order of the tools.
    found ??= names.find((name) => text.includes(`<${name}>`)) ?? null;
  }
  return { text, reasoning, found, native };
}

function xmlCall({ text, found }) {
  if (found === null) return null;
  const start = text.indexOf(`<${found}>`);
  let body = text.slice(start + found.length + 2);
  const end = body.lastIndexOf(`</${found}>`);
  if (end >= 0) body = body.slice(0, end);
  const values = {};
  for (const parameter of parameters[found]) {
    const open = body.indexOf(`<${parameter}>`);
    if (open < 0) continue;
    body = body.slice(open + parameter.length + 2);
    const close = body.indexOf(`</${parameter}>`);
    values[parameter] = (close < 0 ? body : body.slice(0, close)).replace(/^\s*\n/, "").replace(/\n\s*$/, "");
    body = close < 0 ? "" : body.slice(close + parameter.length + 3);
  }
  return { name: found, values, before: text.slice(0, start) };
}

const system = { role: "system", content: prompt };
const native = ({ model, question }) => ({ model, messages: [{ role: "user", content: question }], tools });
const xml = ({ model, question }) => ({ model, messages: [system, { role: "user", content: question }] });

for (const one of cases) {
  // One call an answer; the model asks for the next one by itself.
  const [called, values] = one.calls[0];
  const texts = Object.fromEntries(Object.entries(values).map(([key, value]) => [key, String(value)]));

  test(`void: native: ${one.name}`, async () => {
    const got = await read(native(one));
    assert.equal(got.native.name, called);
    assert.deepEqual(JSON.parse(got.native.args), values);
    assert.ok(got.native.id.length > 0);
    assert.deepEqual([got.text, got.reasoning], [one.text, one.reasoning]);
  });

  test(`void: xml: ${one.name}`, async () => {
    const got = await read(xml(one));
    const call = xmlCall(got);
    assert.equal(call?.name, called);
    assert.deepEqual(call.values, texts);
    assert.deepEqual([call.before.trim(), got.reasoning], [one.text, one.reasoning]);
    assert.equal(got.native.name, "");
  });
}

for (const one of faults) {
  for (const [form, request] of Object.entries({ native, xml })) {
    test(`void: ${form}: ${one.name}`, async () => {
      await assert.rejects(read(request(one)), fault);
    });
  }
}

test("void: prose that mentions a tool's tag executes nothing", async () => {
  const got = await read(xml({ model: "llama3.1:8b", question: "Tell me about Oslo" }));
  assert.equal(got.found, null);
  assert.match(got.text, /^Oslo is the capital of Norway/);
});

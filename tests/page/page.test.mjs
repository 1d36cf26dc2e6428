// One browser, one daemon, one backend; the tests run in their order.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { chromium } from "playwright-core";
import { backend } from "./backend.mjs";

const { TOOLGLOT, CHROMIUM, SCREENSHOTS } = process.env;
const folder = mkdtempSync(join(tmpdir(), "toolglot-page-"));
const TOOLS = ["read_file", "edit_file", "search"].map((name) => ({
  type: "function",
  function: { name, description: `${name}, as an editor has it`, parameters: { type: "object", properties: { uri: { type: "string" }, lines: { type: "integer" } }, required: ["uri"] } },
}));
const SYSTEM = "You are a coding agent. Use the tools that you have. ".repeat(12);
let model, daemon, url, browser, page;
const errors = [];

const ask = (content) =>
  fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", "user-agent": "void/1.4.9" },
    body: JSON.stringify({ model: "qwen3:8b", stream: true, tools: TOOLS, messages: [{ role: "system", content: SYSTEM }, { role: "user", content }] }),
  }).then((answer) => answer.text());

const first = () => page.locator("#rows tr").first();
const badge = (text) => page.locator("#rows tr").first().locator(".badge", { hasText: text }).waitFor({ timeout: 8000 });

async function picture(name, colorScheme) {
  if (!SCREENSHOTS) return;
  await page.emulateMedia({ colorScheme });
  await page.screenshot({ path: join(SCREENSHOTS, name) });
}

before(async () => {
  model = await backend();
  writeFileSync(join(folder, "proxy.toml"), `listen = "127.0.0.1:0"\n[[backend]]\nname = "local"\nkind = "openai"\nurl = "${model.url}/v1"\n[mcp]\nregistry = "mcp.json"\n`);
  // A server of tools: toolglot's own, with the sample database.
  writeFileSync(join(folder, "staff.toml"), "[mcp]\nbuiltin_tools = true\nregistry = \"none.json\"\n");
  const args = ["mcp", "serve", "--config", join(folder, "staff.toml")];
  writeFileSync(join(folder, "mcp.json"), JSON.stringify({ mcpServers: { staff: { command: TOOLGLOT, args } } }));
  daemon = spawn(TOOLGLOT, ["serve", "--config", join(folder, "proxy.toml")], { stdio: ["ignore", "ignore", "pipe"], env: { ...process.env, HOME: folder } });
  url = await new Promise((resolve, reject) => {
    let said = "";
    daemon.stderr.on("data", (piece) => {
      said += piece;
      const found = /http:\/\/127\.0\.0\.1:\d+/.exec(said);
      if (found) resolve(found[0]);
    });
    daemon.on("exit", () => reject(new Error(said)));
  });
  const flags = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
  browser = await chromium.launchPersistentContext(join(folder, "browser"), { executablePath: CHROMIUM, headless: true, args: flags, viewport: { width: 1280, height: 800 }, acceptDownloads: true });
  page = await browser.newPage();
  page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
  page.on("pageerror", (error) => errors.push(error.message));
  await page.goto(url);
  await page.locator("#live.on").waitFor();
});

after(async () => {
  await browser?.close();
  model?.close();
  daemon?.removeAllListeners("exit");
  const ended = new Promise((resolve) => daemon?.on("exit", resolve));
  if (daemon?.kill()) await ended;
  rmSync(folder, { recursive: true, force: true });
});

test("before the first request a card says what was found and what to enter", async () => {
  await page.locator("#found", { hasText: "Found local with 1 model." }).waitFor();
  assert.equal(await page.locator("#address").innerText(), `${url}/v1`);
  await page.locator("#clients button", { hasText: "codex" }).click();
  await page.locator("#setup", { hasText: "codex" }).waitFor();
  await picture("page-first.png", "light");
});

test("a turn appears while it streams, and ends as it ended", async () => {
  const answered = ask("slow: read the file");
  await badge("running");
  await first().click();
  await page.locator("#turn pre", { hasText: "Let me look." }).first().waitFor();
  model.go();
  await answered;
  await badge("fix");
});

test("three columns: sent, written, got; and why", async () => {
  const column = (title) => page.locator(".columns section", { has: page.locator("h3", { hasText: title }) });
  // The row says how the turn ended before its columns are drawn once more.
  await column("The client got").filter({ hasText: "call read_file" }).waitFor();
  await page.locator(".why > li").first().waitFor();
  assert.match(await column("The client sent").innerText(), /read the file[\s\S]*3 tools: read_file/);
  assert.match(await column("The model wrote").innerText(), /<tool_call>[\s\S]*'name': 'read_file'/);
  assert.equal(await column("The model wrote").locator(".m", { hasText: "<tool_call>" }).count(), 1);
  assert.match(await column("The client got").innerText(), /call read_file[\s\S]*"lines": 20/);
  const why = page.locator(".why > li").first();
  assert.match(await why.innerText(), /read_file/);
  await why.locator(".rule", { hasText: "S1" }).first().waitFor();
  assert.ok((await why.locator("del").count()) > 0, "what was taken out is marked");
  await why.hover();
  assert.ok((await page.locator("span.in.lit").count()) > 0, "the call's place is lit");
  await column("The client got").locator("button").click();
  assert.match(await column("The client got").innerText(), /data: \{/);
  await column("The client got").locator("button").click();
});

test("a fixture is saved, and check replays it", async () => {
  const [download] = await Promise.all([page.waitForEvent("download"), page.locator("#fixture").click()]);
  const file = join(folder, download.suggestedFilename());
  await download.saveAs(file);
  assert.match(readFileSync(file, "utf8"), /=== events\n[\s\S]*call read_file \{"uri":"src\/main.rs","lines":20\}/);
  assert.match(execFileSync(TOOLGLOT, ["check", file], { encoding: "utf8", cwd: folder }), / 0 faults/);
  assert.match(await page.locator("#told").innerText(), /toolglot check/);
});

test("copy as cURL asks the same again", async () => {
  await browser.grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.locator("#curl").click();
  await page.locator("#told", { hasText: "Copied" }).waitFor();
  const line = await page.evaluate(() => navigator.clipboard.readText());
  assert.match(line, /^curl -N http:\/\/127\.0\.0\.1:\d+\/v1\/chat\/completions -H /);
  // With `-d`, a body that begins with `@` would be the name of a file.
  assert.match(line, / --data-raw '\{[\s\S]*slow: read the file/);
});

test("a refused call, what the model was told, and text that stayed text", async () => {
  await ask("incomplete: call it");
  await badge("asked again");
  await first().click();
  await page.locator(".why", { hasText: "The model was asked again" }).waitFor();
  assert.match(await page.locator(".why").innerText(), /uri[\s\S]*was not run/);
  await ask("example: of a call");
  await badge("text");
  await first().click();
  await page.locator(".why", { hasText: "it is in code or quoted" }).waitFor();
  await ask("broken: please");
  await first().locator("td", { hasText: "out of memory" }).waitFor();
  await page.locator("#rows tr", { hasText: "fixes" }).click();
  await page.locator(".why .rule").first().waitFor();
  await picture("page-light.png", "light");
  await picture("page-dark.png", "dark");
  await page.emulateMedia({ colorScheme: "light" });
});

test("markup of a model stays text", async () => {
  await ask("hostile: go");
  await badge("text");
  await first().click();
  await page.locator("#turn pre", { hasText: "onerror" }).first().waitFor();
  assert.equal(await page.locator("#turn img, #turn script, #turn b").count(), 0);
  assert.equal(await page.title(), "toolglot");
});

test("the keyboard is enough", async () => {
  await page.keyboard.press("Escape");
  // The page follows its address, which changes after the key.
  await page.locator("#turn").waitFor({ state: "hidden" });
  await first().focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.locator("#turn h2:focus").waitFor();
  await page.keyboard.press("Escape");
  await page.locator("#rows tr:focus").waitFor();
  await page.locator("#tab-turns").focus();
  await page.keyboard.press("ArrowRight");
  await page.locator("#plots", { hasText: /[1-9]\d* requests/ }).waitFor();
  await page.keyboard.press("ArrowRight");
  await page.locator("#models td", { hasText: "qwen3:8b" }).first().waitFor();
  await page.locator("#counts li", { hasText: /\d calls? in \d+ turns/ }).waitFor();
  await picture("page-status.png", "light");
  await page.keyboard.press("ArrowRight");
  await page.locator("#lines", { hasText: "qwen3:8b" }).waitFor();
  await page.keyboard.press("ArrowRight");
  await page.locator("#read").waitFor();
});

test("a row names the call, rows are searched, and a turn has an address", async () => {
  await page.locator("#tab-turns").click();
  await page.locator("#rows .called", { hasText: "read_file src/main.rs" }).first().waitFor();
  await page.locator("#filter input").fill("out of memory");
  assert.equal(await page.locator("#rows tr:visible").count(), 1);
  await page.locator("#filter input").fill("");
  await page.locator("#filter select").selectOption("text");
  assert.equal(await page.locator("#rows tr:visible .badge:not(.text)").count(), 0);
  await page.locator("#filter select").selectOption("");
  await page.goto(`${url}/#turn-1`);
  await page.locator("#turn h2", { hasText: "qwen3:8b" }).waitFor();
  await page.reload();
  await page.locator("#turn pre", { hasText: "slow: read the file" }).first().waitFor();
  await page.goto(`${url}/#try`);
  await page.locator("#read").waitFor();
});

test("the playground reads a text, and asks with toolglot and without", async () => {
  await page.locator("#read").click();
  await page.locator("#result .columns").waitFor();
  assert.match(await page.locator("#result").innerText(), /get_weather[\s\S]*S1/);
  await page.locator("textarea[name=prompt]").fill("incomplete: weather");
  await page.locator("#send").click();
  await page.locator("#result h3", { hasText: "Without toolglot" }).waitFor();
  assert.match(await page.locator("#result .pair").innerText(), /tool_call/);
  await picture("page-playground.png", "light");
});

test("switched off for a while, requests pass", async () => {
  await page.locator("#bypass").click();
  await page.locator("#bypass.on").waitFor();
  assert.match(await ask("example: x"), /```json/);
  await page.locator("#tab-turns").click();
  await first().click();
  await page.locator("#turn", { hasText: "it passed unread" }).waitFor();
  await page.locator("#bypass").click();
  await page.locator("#bypass:not(.on)").waitFor();
});

test("switched off for one model, from the keyboard", async () => {
  // The answer to the tab's own question comes last: it neither takes the focus away nor draws the state of before.
  let release;
  const held = new Promise((resolve) => (release = resolve));
  await page.route("**/ui/state", async (route) => {
    const response = await route.fetch();
    await held;
    await route.fulfill({ response });
  }, { times: 1 });
  await page.locator("#tab-status").click();
  const button = page.locator("#models button");
  await button.focus();
  await page.keyboard.press("Enter");
  await page.locator("#models button.on:focus").waitFor();
  const drawn = page.waitForResponse("**/ui/state");
  release();
  await drawn;
  await page.locator("#models button.on:focus").waitFor();
  assert.match(await ask("example: x"), /```json/);
  assert.ok(await page.locator("#bypass:not(.on)").isVisible());
  await page.keyboard.press("Enter");
  await page.locator("#models button:not(.on):focus").waitFor();
});

test("a tool is tried, and its call is in the list", async () => {
  await page.locator("#tools summary").focus();
  await page.keyboard.press("Enter");
  const name = await page.locator("#tool option", { hasText: "get_employee_info" }).first().getAttribute("value", { timeout: 15000 });
  await page.locator("#tool select").selectOption(name);
  assert.match(await page.locator("#tool textarea").inputValue(), /"employee_id": ""/);
  await page.locator("#tool textarea").fill('{"employee_id": "EMP001"}');
  await page.locator("#run").focus();
  await page.keyboard.press("Enter");
  await page.locator("#ran pre", { hasText: "Mina Park" }).waitFor();
  await page.locator("#servers .call-line", { hasText: /get_employee_info .* ok/ }).first().waitFor();
  await page.locator("#tool textarea").fill("{nonsense");
  await page.locator("#run").click();
  await page.locator("#ran .bad").waitFor();
  await picture("page-tools.png", "dark");
});

test("the page says how much of a request the backend has read before", async () => {
  const more = (words) => fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ model: "qwen3:8b", stream: true, messages: words.map((content, at) => ({ role: at % 2 ? "assistant" : "user", content })) }),
  }).then((answer) => answer.text());
  await more(["say: hello"]);
  await more(["say: hello", "Hello.", "say: more"]);
  await page.locator("#tab-turns").click();
  await badge("text");
  await first().click();
  await page.locator("#facts", { hasText: /bytes of \d+ bytes as in the request before/ }).waitFor();
  await page.keyboard.press("Escape");
});

test("a narrow screen has cards and one column, and nothing sticks out", async () => {
  await page.setViewportSize({ width: 400, height: 800 });
  await page.locator("#tab-turns").click();
  assert.ok(await first().locator(".badge").isVisible(), "the result is in sight");
  await first().click();
  await page.locator(".columns").first().waitFor();
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "the page scrolls sideways");
  await picture("page-narrow.png", "dark");
});

test("a server that is stopped is said to be", async () => {
  // The one failure that was asked for is a response, not a fault of the page.
  assert.deepEqual(errors.filter((error) => !/status of (4|5)\d\d/.test(error)), [], "nothing was refused by the policy");
  daemon.removeAllListeners("exit");
  daemon.kill();
  await page.locator("#live.bad", { hasText: "is it stopped?" }).waitFor();
});

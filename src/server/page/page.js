// The page of a running toolglot. Every text of a client, a model or a server is set as text, never as markup.

const byId = (id) => document.getElementById(id);
const rows = byId("rows");
/** As many rows are listed. */
const SHOWN = 200;
/** The number of the turn that is open. */
let selected = null;
/** Whether what is said in turns is kept. */
let keeps = true;
/** What is shown of it, for the buttons. */
let opened = null;

function element(tag, className, ...children) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  made.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
  return made;
}

// === the server ===

const headers = () => {
  const key = sessionStorage.getItem("key");
  return key ? { authorization: `Bearer ${key}` } : {};
};

async function fetched(path, options = {}) {
  const answer = await fetch(path, { ...options, headers: { ...headers(), ...options.headers } });
  if (answer.status === 401) byId("key").hidden = false;
  if (!answer.ok) throw new Error((await answer.json().catch(() => ({})))?.error?.message ?? `status ${answer.status}`);
  return answer;
}

const got = async (path) => (await fetched(path)).json();
const posted = (path, body, more = {}) =>
  fetched(path, { method: "POST", headers: { "content-type": "application/json", ...more }, body: JSON.stringify(body) });

byId("key").addEventListener("submit", (event) => {
  event.preventDefault();
  sessionStorage.setItem("key", new FormData(event.target).get("key"));
  byId("key").hidden = true;
  listen();
  status().catch(tell);
});

function live(text, on) {
  byId("live").textContent = text;
  byId("live").classList.toggle("on", on);
  byId("live").classList.toggle("bad", !on);
}

/** Reads server-sent events with a key in the header, which an EventSource cannot send. */
let listening = null;
async function listen() {
  listening?.abort();
  const own = (listening = new AbortController());
  while (!own.signal.aborted) {
    let why = "toolglot does not answer: is it stopped?";
    try {
      const answer = await fetched("/ui/events", { signal: own.signal });
      live("live", true);
      await load();
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      for (let rest = ""; ; ) {
        const { value, done } = await reader.read();
        if (done) break;
        const events = (rest + value).split("\n\n");
        rest = events.pop();
        for (const event of events) heard(event);
      }
    } catch (error) {
      if (own.signal.aborted || !byId("key").hidden) return;
      // It has answered, and refuses.
      if (!(error instanceof TypeError)) why = error.message;
    }
    live(why, false);
    await new Promise((resolve) => setTimeout(resolve, 1500));
  }
}

function heard(event) {
  const field = (name) => event.split("\n").find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
  if (field("event") === "turn") show(JSON.parse(field("data")));
  // This page was too slow to hear everything: the list is read again.
  if (field("event") === "lagged") load();
}

async function load() {
  const list = await got("/ui/turns");
  keeps = list.keeps;
  rows.replaceChildren();
  for (const turn of list.turns.reverse()) show(turn);
  byId("welcome").hidden = rows.children.length > 0;
  byId("filter").hidden = byId("hint").hidden = !byId("welcome").hidden;
  plot(list.hour);
}

// === the list ===

const seconds = (ms) => (ms === null || ms === undefined ? "" : ms < 1000 ? `${ms} ms` : `${(ms / 1000).toFixed(1)} s`);
const LABELS = { again: "asked again", left: "client left", passed: "passed" };

function label(turn) {
  if (turn.result === "running") return turn.writing ? `writing ${turn.writing}` : "running";
  if (turn.result === "fixed") return turn.fixes === 1 ? "1 fix" : `${turn.fixes} fixes`;
  return LABELS[turn.result] ?? turn.result;
}

/** Tokens that the model wrote in a second. */
function speed(turn) {
  const wrote = turn.ms - turn.first_ms;
  return turn.completion_tokens && turn.result !== "running" && wrote > 50 ? Math.round((1000 * turn.completion_tokens) / wrote) : "";
}

function fill(row, turn) {
  const tokens = turn.prompt_tokens || turn.completion_tokens ? `${turn.prompt_tokens} + ${turn.completion_tokens}` : "";
  const more = turn.calls > 1 ? ` and ${turn.calls - 1} more` : "";
  const said = turn.error ? element("span", "soft", ` ${turn.error}`) : turn.called && element("code", "called", ` ${turn.called}${more}`);
  const cells = [
    ["Time", "", new Date(turn.at).toLocaleTimeString()], ["Client", "", turn.client], ["Model", "", turn.model], ["Mode", "soft", turn.mode],
    ["Result", "", element("span", `badge ${turn.result}`, label(turn)), said],
    ["Tokens", "number", tokens], ["Tokens/s", "number", speed(turn)], ["First byte", "number", seconds(turn.first_ms)], ["Duration", "number", seconds(turn.ms)],
  ];
  row.replaceChildren(...cells.map(([name, className, ...children]) => {
    const cell = element("td", className, ...children.map((child) => (typeof child === "number" ? String(child) : child)));
    cell.dataset.name = name;
    return cell;
  }));
  row.dataset.result = turn.result;
  row.dataset.words = [turn.client, turn.model, turn.backend, turn.mode, turn.called, turn.error, turn.id].join(" ").toLowerCase();
  row.hidden = !passes(row);
}

/** Whether a row passes the filter. */
function passes(row) {
  const { words, result } = Object.fromEntries(new FormData(byId("filter")));
  const wanted = words.toLowerCase().split(/\s+/);
  return wanted.every((word) => row.dataset.words.includes(word)) && (!result || result.split(" ").includes(row.dataset.result));
}
byId("filter").addEventListener("submit", (event) => event.preventDefault());
byId("filter").addEventListener("input", () => {
  for (const row of rows.children) row.hidden = !passes(row);
});

function show(turn) {
  let row = byId(`turn-${turn.number}`);
  if (!row) {
    row = element("tr");
    row.id = `turn-${turn.number}`;
    row.tabIndex = 0;
    rows.prepend(row);
    while (rows.children.length > SHOWN) rows.lastElementChild.remove();
  }
  fill(row, turn);
  byId("hint").hidden = byId("welcome").hidden = true;
  byId("filter").hidden = false;
  if (selected === turn.number) refresh();
}

/** Loads the open turn again, and once more if it has changed meanwhile; a long turn changes faster than it loads. */
let loading = false;
let changed = false;
async function refresh() {
  changed = true;
  if (loading) return;
  loading = true;
  try {
    while (changed && selected !== null) {
      changed = false;
      await open(selected);
    }
  } finally {
    loading = false;
  }
}

rows.addEventListener("click", (event) => {
  const row = event.target.closest("tr[id]");
  if (row) go(row.id);
});
rows.addEventListener("keydown", (event) => {
  if (event.key === "Enter" || event.key === " ") {
    event.preventDefault();
    focus = true;
    go(event.target.id);
  } else if (event.key === "ArrowDown") event.target.nextElementSibling?.focus();
  else if (event.key === "ArrowUp") event.target.previousElementSibling?.focus();
  else return;
  event.preventDefault();
});

/** The address of a turn or a tab: `#turn-12`, `#status`. */
function go(place) {
  if (location.hash === `#${place}`) arrive();
  else location.hash = place;
}
/** Whether the keyboard goes along to the turn. */
let focus = false;
async function arrive() {
  const place = location.hash.slice(1);
  const turn = /^turn-(\d+)$/.exec(place);
  const tab = tabs.find((tab) => tab.getAttribute("aria-controls") === place) ?? tabs[0];
  choose(tab);
  if (!turn) return close();
  await open(Number(turn[1]));
  if (focus) byId("turn").querySelector("h2").focus();
  focus = false;
}
addEventListener("hashchange", arrive);

// === a turn ===

const counted = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;
const bytes = (count) => (count < 1000 ? `${count} bytes` : `${(count / 1000).toFixed(1)} kB`);

/** How often a turn was asked for: of one that streams, an older answer is not drawn over a newer one. */
let opens = 0;

async function open(number) {
  const again = selected === number;
  const place = ++opens;
  selected = number;
  for (const row of rows.children) row.setAttribute("aria-selected", String(row.id === `turn-${number}`));
  let answer;
  try {
    answer = await got(`/ui/turns/${number}`);
  } catch (error) {
    return tell(error);
  }
  if (selected !== number || place !== opens) return;
  opened = answer;
  const { row, detail } = answer;
  byId("turn").hidden = false;
  byId("turns").classList.add("split");
  byId("turn").querySelector("h2").replaceChildren(
    `${row.model} `, element("span", `badge ${row.result}`, label(row)), element("small", "", row.client ? ` for ${row.client}` : ""),
  );
  byId("facts").textContent = facts(row, detail);
  if (!again) byId("told").textContent = "";
  const nothing = keeps ? "What was said in this turn is not kept: there are later turns, or too many at once." : "Nothing that is said is kept: exchanges = \"off\" in proxy.toml.";
  byId("shown").replaceChildren(...(detail ? view(detail, row) : [element("p", "soft", row.error ?? "", element("br"), nothing)]));
  byId("fixture").disabled = !detail?.rounds.length || detail.cut || row.result === "running";
  byId("curl").disabled = !detail?.sent;
}

function facts(row, detail) {
  const parts = [row.path, row.backend, row.mode !== "off" && `adapter ${row.adapter}`];
  if (detail?.tools?.length) parts.push(`${counted(detail.tools.length, "tool")} offered: ${detail.offered}`);
  if (row.prompt_tokens) parts.push(`${row.prompt_tokens} tokens of prompt${detail?.estimated ? ` (about ${detail.estimated} sent)` : ""}`);
  const prefix = detail?.prefix;
  if (prefix) {
    const where = prefix.broke === 0 ? ", the tools have changed" : `, message ${prefix.broke} has changed`;
    parts.push(`${bytes(prefix.shared)} of ${bytes(prefix.before)} as in the request before${prefix.broke === null ? "" : where}`);
  }
  parts.push(row.ms !== null && row.result !== "running" && `${seconds(row.first_ms)} to the first byte, ${seconds(row.ms)} in all`);
  return parts.filter(Boolean).join(" · ");
}

/** The columns of a turn, and above them why it came so. */
function view(detail, row) {
  const shown = [];
  if (detail.cut) shown.push(element("p", "bad", "There was no room to keep all of this turn."));
  const why = element("ol", "why", ...reasons(detail, row));
  if (why.children.length) shown.push(why);
  const columns = [column("The model wrote", wrote(detail, row)), column("The client got", received(detail), detail.got && element("pre", "", detail.got))];
  if (detail.sent) columns.unshift(column("The client sent", request(detail.sent), element("pre", "", detail.sent)));
  shown.push(element("div", "columns", ...columns));
  return shown;
}

/** A column with its readable form, and a button for the bytes. */
function column(title, readable, raw) {
  const body = element("div", "body", ...readable);
  body.tabIndex = 0;
  const top = element("div", "top", element("h3", "", title));
  if (raw) {
    const button = element("button", "small", "bytes");
    button.type = "button";
    button.setAttribute("aria-pressed", "false");
    button.addEventListener("click", () => {
      const on = button.getAttribute("aria-pressed") === "false";
      button.setAttribute("aria-pressed", String(on));
      body.replaceChildren(...(on ? [raw] : readable));
    });
    top.append(button);
  }
  return element("section", "", top, body);
}

// --- why ---

function reasons(detail, row) {
  const items = [];
  detail.rounds.forEach((round, number) => {
    for (const call of round.calls) items.push(reason(call, number));
    const next = detail.rounds[number + 1];
    if (next?.told && row?.mode !== "react") items.push(element("li", "guess", element("span", "name", "The model was asked again"), element("blockquote", "", next.told)));
    if (round.fault) items.push(element("li", "refused", round.fault));
    for (const note of round.notes) {
      items.push(element("li", "", element("span", "name", "Text, no call: "), `${note.text} `, element("code", "soft", note.quote)));
    }
  });
  return items;
}

function reason(call, round) {
  const item = element("li", call.verdict, element("span", "name", call.name || "a call without a name"), " ", element("span", `badge ${call.verdict}`, call.verdict));
  if (call.written) item.append(" ", element("span", "soft", "the model wrote "), element("code", "", call.written));
  if (call.why) item.append(element("br"), `Not delivered: ${call.why}.`);
  if (call.fixes.length) {
    item.append(element("ul", "", ...call.fixes.map((fix) => {
      const line = element("li", "", element("code", "rule", fix.rule), element("span", "", fix.path ? element("code", "", `${fix.path} `) : "", fix.note));
      line.title = `${fix.means} (${fix.level})`;
      return line;
    })));
  }
  if (call.before !== null && call.after !== null && call.before.trim() !== call.after) {
    const [from, to] = difference(call.before.trim(), call.after);
    item.append(element("div", "change", element("span", "", "before"), from, element("span", "", "after"), to));
  } else if (call.after === null && call.before) {
    item.append(element("div", "change", element("span", "", "wrote"), element("code", "", call.before)));
  }
  if (call.place !== null) {
    const lit = (on) => document.querySelectorAll(`[data-call="${round}-${call.place}"]`).forEach((piece) => piece.classList.toggle("lit", on));
    item.addEventListener("mouseenter", () => lit(true));
    item.addEventListener("mouseleave", () => lit(false));
    item.addEventListener("focusin", () => lit(true));
    item.addEventListener("focusout", () => lit(false));
    item.tabIndex = 0;
  }
  return item;
}

/** Marks the words in which two texts differ; longest common subsequence, for texts of a size that a person compares. */
function difference(before, after) {
  const words = (text) => text.match(/\s+|[\w.\/-]+|[^\w\s]/g) ?? [];
  const [a, b] = [words(before), words(after)];
  if (a.length * b.length > 250000) return [element("code", "", before), element("code", "", after)];
  const best = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--) for (let j = b.length - 1; j >= 0; j--) best[i][j] = a[i] === b[j] ? best[i + 1][j + 1] + 1 : Math.max(best[i + 1][j], best[i][j + 1]);
  const [from, to] = [element("code"), element("code")];
  // White space between tokens means nothing.
  const marked = (tag, word) => (/^\s+$/.test(word) ? word : element(tag, "", word));
  for (let i = 0, j = 0; i < a.length || j < b.length; ) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      from.append(a[i++]);
      to.append(b[j++]);
    } else if (j >= b.length || (i < a.length && best[i + 1][j] >= best[i][j + 1])) from.append(marked("del", a[i++]));
    else to.append(marked("ins", b[j++]));
  }
  return [from, to];
}

// --- the columns ---

function text(content) {
  if (typeof content === "string") return content;
  if (Array.isArray(content)) return content.map((part) => part?.text ?? JSON.stringify(part, null, 1)).join("\n");
  return content === undefined || content === null ? "" : JSON.stringify(content, null, 1);
}

/** A message; a long one that is not the last is folded. */
function message(role, content, folded) {
  const body = element("pre", "", content);
  if (!folded || content.length < 400) return element("div", "part", element("div", "role", role), body);
  return element("details", "", element("summary", "", `${role}, ${content.length} characters`), body);
}

function request(sent) {
  let body;
  try {
    body = JSON.parse(sent);
  } catch {
    return [element("pre", "", sent)];
  }
  if (typeof body !== "object" || body === null) return [element("pre", "", sent)];
  const list = body.messages ?? body.params?.messages ?? (Array.isArray(body.input) ? body.input : []);
  const { messages, tools, input, system, instructions, prompt, ...rest } = body;
  const parts = [];
  for (const [role, content] of [["system", system ?? instructions], ["prompt", prompt], ["input", typeof input === "string" ? input : undefined]]) {
    if (content !== undefined) parts.push(message(role, text(content), role === "system"));
  }
  list.forEach((entry, at) => {
    const { role, type, content, text: own, ...more } = entry ?? {};
    const extra = Object.keys(more).length ? JSON.stringify(more, null, 1) : "";
    parts.push(message(role ?? type ?? "?", [text(content ?? own), extra].filter(Boolean).join("\n"), at < list.length - 1));
  });
  if (tools?.length) {
    const names = tools.map((tool) => tool?.function?.name ?? tool?.name ?? tool?.type ?? "?");
    parts.push(element("details", "", element("summary", "", `${counted(tools.length, "tool")}: ${names.join(", ")}`), element("pre", "", JSON.stringify(tools, null, 1))));
  }
  parts.push(element("details", "", element("summary", "", Object.keys(rest).join(", ")), element("pre", "", JSON.stringify(rest, null, 1))));
  return parts;
}

function wrote(detail, row) {
  const parts = [];
  detail.rounds.forEach((round, number) => {
    if (number) parts.push(element("div", "again-line", element("div", "role", `answer ${number + 1}, after it was told`), round.told || "the same again"));
    if (round.reasoning) parts.push(element("div", "part", element("div", "role", "reasoning field"), element("pre", "reasoning", round.reasoning)));
    const body = element("pre", "part");
    for (const piece of round.pieces) {
      const span = element("span", [piece.k === "call" ? "in" : piece.k === "text" ? "" : piece.k, piece.m && "m"].filter(Boolean).join(" "), piece.t);
      if (piece.c !== null) span.dataset.call = `${number}-${piece.c}`;
      if (piece.k === "taken") span.title = "control text of the model: taken out";
      body.append(span);
    }
    if (round.pieces.length) parts.push(body);
    const before = new Set(round.pieces.map((piece) => piece.c).filter((call) => call !== null)).size;
    round.native.forEach((call, at) => {
      const card = element("div", "part card", element("div", "role", `native call ${call.name}`), element("pre", "", call.arguments));
      card.dataset.call = `${number}-${before + at}`;
      parts.push(card);
    });
    if (round.fault) parts.push(element("p", "bad", round.fault));
    else if (round.end) parts.push(element("p", "note", `ended: ${round.end}`));
  });
  if (parts.length) return parts;
  return [element("p", "soft", row.result === "running" ? "nothing yet" : row.mode === "off" ? "what the client got: it passed unread" : "nothing")];
}

function received(detail) {
  const parts = detail.said.map((said) => {
    if (said.kind === "call") {
      let shown = said.text;
      try {
        shown = JSON.stringify(JSON.parse(said.text), null, 2);
      } catch {
        // As it is.
      }
      return element("div", "part card", element("div", "role call", `call ${said.name}`), element("pre", "", shown));
    }
    if (said.kind === "note") return element("p", "note", said.text);
    return element("pre", `part ${said.kind === "reasoning" ? "reasoning" : ""}`, said.text);
  });
  if (parts.length) return parts;
  return detail.got ? [element("pre", "", detail.got)] : [element("p", "soft", "nothing yet")];
}

// --- what can be done with a turn ---

function tell(error) {
  byId("told").textContent = error.message ?? String(error);
}

byId("fixture").onclick = async () => {
  try {
    const answer = await fetched(`/ui/turns/${selected}/fixture`);
    const name = answer.headers.get("content-disposition").match(/"(.*)"/)[1];
    const link = element("a");
    link.href = URL.createObjectURL(await answer.blob());
    link.download = name;
    link.click();
    URL.revokeObjectURL(link.href);
    tell(`Saved as ${name}. Replay it: toolglot check ${name}. It holds the conversation: read it before you pass it on.`);
  } catch (error) {
    tell(error);
  }
};
byId("curl").onclick = async () => {
  const quoted = opened.detail.sent.replaceAll("'", "'\\''");
  const key = sessionStorage.getItem("key") ? " -H \"authorization: Bearer $KEY\"" : "";
  const line = `curl -N ${location.origin}${opened.row.path} -H 'content-type: application/json'${key} --data-raw '${quoted}'`;
  try {
    await navigator.clipboard.writeText(line);
    tell("Copied.");
  } catch {
    // No permission, or a page that did not come from this machine: it is there to be copied by hand.
    byId("told").replaceChildren(element("code", "", line));
  }
};

function close() {
  if (selected === null) return;
  const row = byId(`turn-${selected}`);
  selected = null;
  byId("turn").hidden = true;
  byId("turns").classList.remove("split");
  row?.setAttribute("aria-selected", "false");
  row?.focus();
}
byId("close").onclick = () => go("turns");
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && selected !== null) go("turns");
});

// === the last hour ===

const SERIES = { turns: "requests", calls: "calls", fixes: "fixes", asked: "questions to the model", failed: "errors" };

/** Small plots, a bar per minute. */
function plot(hour) {
  byId("plots").replaceChildren(...Object.entries(SERIES).map(([key, name]) => {
    const counts = hour.map((minute) => minute[key]);
    const most = Math.max(1, ...counts);
    const all = counts.reduce((sum, count) => sum + count, 0);
    const bars = element("div", "bars", ...counts.map((count, minute) => {
      const bar = element("span", key === "failed" ? "bad" : "");
      bar.style.height = `${Math.round((100 * count) / most)}%`;
      bar.title = `${counts.length - 1 - minute} min ago: ${count}`;
      return bar;
    }));
    bars.setAttribute("role", "img");
    bars.setAttribute("aria-label", `${all} ${name} in the last hour, at most ${most} in a minute`);
    return element("figure", "card", element("figcaption", "", element("b", "", String(all)), ` ${name}`), bars);
  }));
}

// === the log ===

/** As many characters of the log are shown. */
const LOGGED = 100000;
let following = null;

/** Follows the log while its tab is open. */
async function follow() {
  following?.abort();
  const own = (following = new AbortController());
  const lines = byId("lines");
  lines.textContent = "";
  try {
    const reader = (await fetched("/ui/log", { signal: own.signal })).body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { value, done } = await reader.read();
      if (done) break;
      const stays = lines.scrollHeight - lines.scrollTop - lines.clientHeight > 40;
      lines.textContent = (lines.textContent + value).slice(-LOGGED);
      if (!stays) lines.scrollTop = lines.scrollHeight;
    }
  } catch (error) {
    if (!own.signal.aborted) lines.textContent = error.message;
  }
}

// === the first run ===

let chosen = "";

/** Which backend was found, and how each client is connected. */
function welcome(state) {
  const found = state.backends.filter((backend) => backend.models.length && !backend.error);
  const real = found.filter((backend) => !backend.models.every((model) => model.name.startsWith("demo/")));
  byId("found").textContent = real.length
    ? `Found ${real.map((backend) => `${backend.name} with ${counted(backend.models.length, "model")}`).join(", ")}.`
    : "No backend is running: start Ollama, LM Studio or llama.cpp, and it is found within seconds. Until then, recorded conversations answer.";
  byId("address").textContent = `${location.origin}/v1`;
  const names = Object.keys(state.setup ?? {});
  chosen ||= names[0] ?? "";
  byId("clients").replaceChildren(...names.map((name) => {
    const button = element("button", "small", name);
    button.type = "button";
    button.setAttribute("aria-pressed", String(name === chosen));
    button.onclick = () => {
      chosen = name;
      welcome(state);
    };
    return button;
  }));
  const steps = (state.setup?.[chosen] ?? "").replaceAll("{origin}", location.origin);
  byId("setup").textContent = real.length ? steps.replace(/\bMODEL\b/g, () => real[0].models[0].name) : steps;
}
byId("copy").onclick = () => navigator.clipboard.writeText(byId("address").textContent).then(() => (byId("copy").textContent = "Copied"), tell);
byId("demo").onclick = async () => {
  go("try");
  await status();
  const field = byId("ask").elements.model;
  const demo = [...byId("names").children].find((option) => option.value === "demo/llama3.1");
  if (demo) field.value = demo.value;
  byId("send").click();
};

// === status ===

/** How often the status was asked for: an older answer is not drawn over a newer one. */
let asked = 0;

async function status() {
  const place = ++asked;
  const state = await got("/ui/state");
  if (place !== asked) return;
  // The buttons are drawn anew; the keyboard stays where it was.
  const focused = document.activeElement?.dataset.bypass;
  welcome(state);
  byId("problems").replaceChildren(...state.problems.map((problem) => element("li", "", problem)));
  const models = state.backends.flatMap((backend) => backend.models.map((model) => [backend, model]));
  byId("models").replaceChildren(...models.map(([backend, model]) => element("tr", "",
    element("td", "", element("b", "", model.name), ...model.notes.map((note) => element("div", "soft", note))), element("td", "", backend.name),
    element("td", "", model.adapter, element("div", "soft", model.adapter_why)), element("td", "", model.proof, element("div", "soft", model.proof_means)),
    element("td", "", model.tools, element("div", "soft", model.tools_why)), element("td", "number", model.context ?? ""),
    element("td", "", bypassing(state, model.name)),
  )));
  byId("names").replaceChildren(...models.map(([, model]) => {
    const option = element("option");
    option.value = model.name;
    return option;
  }));
  const field = byId("ask").elements.model;
  if (!field.value && models.length) field.value = models[0][1].name;
  const dot = (ok) => element("span", `dot ${ok === null ? "" : ok ? "ok" : "no"}`);
  const none = (list) => (list.length ? list : [element("li", "soft", "none")]);
  byId("backends").replaceChildren(...none(state.backends.map((backend) => element("li", "", dot(!backend.error), backend.name,
    element("span", "soft", ` ${backend.url}${backend.version ? `, version ${backend.version}` : ""}, ${counted(backend.listed, "model")}`),
    backend.error && element("div", "bad", backend.error)))));
  byId("servers").replaceChildren(...none(state.servers.map((server) => element("li", "",
    dot(server.status === "connected" ? true : server.error ? false : null), server.name,
    element("span", "soft", ` ${server.status}${server.tools === undefined ? "" : `, ${counted(server.tools, "tool")}`} ${server.url ?? server.command ?? ""}`),
    server.error && element("div", "bad", server.error),
    ...server.calls.map((call) => element("div", "soft call-line", new Date(call.at).toLocaleTimeString(), " ", element("span", "", call.tool), ` ${seconds(call.ms)} `, element("span", call.failed ? "bad" : "call", call.failed ? "failed" : "ok")))))));
  byId("counts").replaceChildren(...none(state.counts.map(({ model, counts }) => element("li", "", element("b", "", model),
    `: ${counted(counts.calls, "call")} in ${counted(counts.turns, "turn")}, ${counts.fixed} fixed, ${counts.refused} refused, ${counted(counts.failed, "failure")}`))));
  const rules = Object.entries(state.rules).map(([rule, count]) => `${rule} ${count}`);
  byId("rules").textContent = rules.length ? `Fixes by rule: ${rules.join(", ")}` : "";
  const bypass = bypassing(state, "");
  bypass.id = "bypass";
  byId("bypass").replaceWith(bypass);
  if (focused !== undefined) document.querySelector(`[data-bypass="${CSS.escape(focused)}"]`)?.focus();
}

/** The button that lets all requests pass for ten minutes, or those for one model. */
function bypassing(state, model) {
  const on = state.bypass.find((entry) => entry.model === model);
  const button = element("button", on ? "on" : "", on ? `Off for ${Math.ceil(on.seconds / 60)} more min: switch on` : "Switch off for 10 min");
  button.type = "button";
  button.dataset.bypass = model;
  button.title = `Requests ${model && `for ${model} `}pass as they are, as in mode off`;
  button.onclick = () => posted("/ui/bypass", { minutes: on ? 0 : 10, model }).then(status).catch(tell);
  return button;
}

// --- a tool, tried by hand ---

/** The tools as the server listed them. */
let tools = [];

byId("tools").addEventListener("toggle", async () => {
  if (!byId("tools").open) return;
  byId("missing").textContent = "";
  try {
    const listed = await got("/ui/tools");
    tools = listed.tools;
    byId("missing").textContent = listed.problems.map((problem) => `${problem.server}: ${problem.message}`).join("\n");
  } catch (error) {
    byId("missing").textContent = error.message;
  }
  byId("tool").elements.name.replaceChildren(...tools.map((tool) => {
    const option = element("option", "", `${tool.server}: ${tool.tool}`);
    option.value = tool.name;
    return option;
  }));
  byId("run").disabled = !tools.length;
  describe();
});

function describe() {
  const tool = tools.find((tool) => tool.name === byId("tool").elements.name.value);
  if (!tool) return;
  byId("about").textContent = `${tool.description} (${tool.effect}${tool.asks ? ", asks before it runs" : ""}; ${tool.tokens} tokens in each request)`;
  const { properties = {}, required = [] } = tool.schema ?? {};
  const empty = { string: "", integer: 0, number: 0, boolean: false, array: [], object: {} };
  const example = Object.fromEntries(required.map((name) => [name, properties[name]?.default ?? empty[properties[name]?.type] ?? null]));
  byId("tool").elements.arguments.value = JSON.stringify(example, null, 1);
  byId("ran").replaceChildren();
}
byId("tool").elements.name.addEventListener("change", describe);

byId("tool").addEventListener("submit", async (event) => {
  event.preventDefault();
  const { name, arguments: given } = Object.fromEntries(new FormData(event.target));
  byId("run").disabled = true;
  byId("ran").replaceChildren(element("p", "soft", "It runs ..."));
  try {
    const ran = await (await posted("/ui/tool", { name, arguments: JSON.parse(given) })).json();
    byId("ran").replaceChildren(element("p", ran.failed ? "bad" : "call", `${ran.failed ? "failed" : "ok"}, ${seconds(ran.ms)}`), element("pre", "card", ran.text));
    await status();
  } catch (error) {
    byId("ran").replaceChildren(element("p", "bad", error.message));
  }
  byId("run").disabled = false;
});

// === the playground ===

function trouble(error) {
  byId("trouble").textContent = error?.message ?? "";
}

/** What the form says; the tools must be JSON. */
function form() {
  const values = Object.fromEntries(new FormData(byId("ask")));
  try {
    return { ...values, tools: JSON.parse(values.tools || "[]") };
  } catch (error) {
    throw new Error(`The tools are not JSON: ${error.message}`);
  }
}

byId("read").onclick = async () => {
  trouble();
  try {
    const { model, tools, text, cut } = form();
    const { detail } = await (await posted("/ui/normalize", { model, tools, text, cut: Boolean(cut) })).json();
    byId("result").replaceChildren(...view(detail));
  } catch (error) {
    trouble(error);
  }
};

byId("send").onclick = async () => {
  trouble();
  const button = byId("send");
  button.disabled = true;
  byId("result").replaceChildren(element("p", "soft", "The model answers ..."));
  try {
    const { model, tools, prompt } = form();
    const body = { model, messages: [{ role: "user", content: prompt }], tools, stream: false };
    const ask = async (mode) => {
      const id = `page-${Date.now()}-${Math.random().toString(36).slice(2)}`;
      try {
        const said = await (await posted("/v1/chat/completions", body, { "x-toolglot-mode": mode, "x-request-id": id })).text();
        return { id, answer: said.startsWith("{") ? JSON.parse(said) : said };
      } catch (error) {
        return { id, answer: error.message };
      }
    };
    // One after the other: many servers answer one at a time.
    const without = await ask("off");
    const by = await ask("rewrite");
    const panel = (title, { answer }) => {
      const said = answer.choices?.[0]?.message;
      const parts = said ? [element("pre", "", text(said.content)), ...(said.tool_calls ?? []).map((call) => element("div", "part card", element("div", "role call", `call ${call.function?.name}`), element("pre", "", call.function?.arguments ?? "")))] : [element("pre", "", text(answer))];
      return element("section", "card", element("h3", "", title), ...parts);
    };
    const shown = [element("div", "pair", panel("Without toolglot", without), panel("With toolglot", by))];
    const turn = (await got("/ui/turns")).turns.find((turn) => turn.id === by.id);
    const detail = turn && (await got(`/ui/turns/${turn.number}`)).detail;
    if (detail) shown.push(...view(detail, turn));
    byId("result").replaceChildren(...shown);
  } catch (error) {
    byId("result").replaceChildren();
    trouble(error);
  }
  button.disabled = false;
};
byId("ask").addEventListener("submit", (event) => event.preventDefault());

// === the views ===

const tabs = [...document.querySelectorAll("[role=tab]")];
function choose(tab) {
  for (const other of tabs) {
    other.setAttribute("aria-selected", String(other === tab));
    other.tabIndex = other === tab ? 0 : -1;
    byId(other.getAttribute("aria-controls")).hidden = other !== tab;
  }
  if (tab.id === "tab-log") follow();
  else following?.abort();
  if (tab.id === "tab-hour") load().catch(tell);
  if (["tab-status", "tab-try"].includes(tab.id)) status().catch(trouble);
}
for (const [at, tab] of tabs.entries()) {
  tab.addEventListener("click", () => go(tab.getAttribute("aria-controls")));
  tab.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const next = tabs[(at + step + tabs.length) % tabs.length];
    go(next.getAttribute("aria-controls"));
    next.focus();
  });
}

listen();
status().catch(() => {});
// A backend may start while the card is read.
setInterval(() => byId("welcome").hidden || status().catch(() => {}), 5000);
if (location.hash) arrive();

// A backend that speaks OpenAI's API: what it answers is in the last message of the user.
import http from "node:http";

const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** What each word makes the model write; `pause` is a moment in which a test looks. */
const SCRIPTS = {
  slow: ["Let me ", "look.\n", "pause", "<tool_call>\n{'name': 'read_file', ", "'arguments': {\"uri\": \"src/main.rs\", \"lines\": \"20\",}}", "\n</tool_call>"],
  hostile: ["<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>", "\n</pre><b>bold</b>"],
  example: ["A call looks like this:\n```json\n{\"name\": \"read_file\", \"arguments\": {\"uri\": \"a\"}}\n```\nDo not run it."],
  incomplete: ["<tool_call>\n{\"name\": \"read_file\", \"arguments\": {\"lines\": 3}}\n</tool_call>"],
};

export async function backend() {
  let go = () => {};
  const server = http.createServer(async (request, response) => {
    let body = "";
    for await (const piece of request) body += piece;
    const json = (value, status = 200) => {
      response.writeHead(status, { "content-type": "application/json" });
      response.end(JSON.stringify(value));
    };
    if (request.url === "/v1/models") return json({ object: "list", data: [{ id: "qwen3:8b" }] });
    if (request.url !== "/v1/chat/completions") return json({ error: { message: "not here" } }, 404);
    const { messages, stream } = JSON.parse(body);
    const word = messages.findLast((message) => message.role === "user").content.split(":")[0];
    if (word === "broken") return json({ error: { message: "CUDA error: out of memory" } }, 500);
    const told = messages.at(-1).content.includes("was not run");
    const script = told ? ["<tool_call>\n{\"name\": \"read_file\", \"arguments\": {\"uri\": \"README.md\", \"lines\": 3}}\n</tool_call>"] : (SCRIPTS[word] ?? ["Hello."]);
    if (!stream) {
      const content = script.filter((piece) => piece !== "pause").join("");
      return json({ choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }] });
    }
    response.writeHead(200, { "content-type": "text/event-stream" });
    const send = (delta, finish_reason = null, more = {}) =>
      response.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason }], ...more })}\n\n`);
    for (const piece of script) {
      if (piece === "pause") await Promise.race([new Promise((resolve) => (go = resolve)), wait(8000)]);
      else send({ content: piece });
      await wait(5);
    }
    send({}, "stop", { usage: { prompt_tokens: 412, completion_tokens: 38 } });
    response.end("data: [DONE]\n\n");
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { url: `http://127.0.0.1:${server.address().port}`, go: () => go(), close: () => server.close() };
}

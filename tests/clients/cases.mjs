// What every client is asked, in OpenAI's words; the answers are recorded under fixtures/.
export const base = `${process.env.TOOLGLOT_URL}/v1`;

export const tools = [
  {
    type: "function",
    function: {
      name: "get_weather",
      description: "Weather of a city",
      parameters: {
        type: "object",
        properties: { city: { type: "string" }, days: { type: "integer" } },
        required: ["city"],
      },
    },
  },
  {
    type: "function",
    function: { name: "get_time", description: "The time now", parameters: { type: "object", properties: {} } },
  },
];

export const ask = (model, content, more = {}) => ({ model, messages: [{ role: "user", content }], tools, ...more });

// name, model, question, the calls that must arrive, the text that must stand before them
export const cases = [
  ["a bare JSON call", "qwen2.5-coder:7b", "Weather in Oslo?", [["get_weather", { city: "Oslo", days: 3 }]], ""],
  ["a tagged call behind reasoning", "qwen3:8b", "Weather in Oslo?", [["get_weather", { city: "Oslo" }]], ""],
  [
    "parallel calls behind prose",
    "qwen3:8b",
    "Weather in Oslo and Lima?",
    [["get_weather", { city: "Oslo" }], ["get_weather", { city: "Lima" }]],
    "Looking both up.",
  ],
  ["a call without arguments", "llama3.1:8b", "What time is it?", [["get_time", {}]], ""],
  ["a server's native calls", "qwen3:8b", "Weather and time?", [["get_weather", { city: "Oslo" }], ["get_time", {}]], ""],
];

// What every client is asked, in OpenAI's words.
import { readFileSync } from "node:fs";

export const base = `${process.env.TOOLGLOT_URL}/v1`;
export const { tools, cases, faults } = JSON.parse(readFileSync(new URL("cases.json", import.meta.url)));
export const fault = /llama runner process has terminated/;
export const ask = ({ model, question }, more = {}) => ({ model, messages: [{ role: "user", content: question }], tools, ...more });

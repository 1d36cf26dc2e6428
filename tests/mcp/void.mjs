// What Void does with an MCP server, on the SDK version that it ships: streamable HTTP on the URL, list the tools (then
// the light is green), put a random prefix before each name, strip it again to call, read content[0] as text.
// usage: node void.mjs URL [sse]; @modelcontextprotocol/sdk is looked up from the working directory
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'

const require = createRequire(pathToFileURL(process.cwd() + '/'))
const load = (path) => import(pathToFileURL(require.resolve(`@modelcontextprotocol/sdk/${path}`)).href)
const { Client } = await load('client/index.js')
const { StreamableHTTPClientTransport } = await load('client/streamableHttp.js')
const { SSEClientTransport } = await load('client/sse.js')

const url = new URL(process.argv[2])
const client = new Client({ name: 'toolglot-client', version: '0.1.0' })
await client.connect(process.argv[3] === 'sse' ? new SSEClientTransport(url) : new StreamableHTTPClientTransport(url))
const { tools } = await client.listTools()
// One prefix in seven has no digit. The server cannot tell that from a word, so such a prefix is not used unstripped below.
const random = () => {
  const prefix = Math.random().toString(36).slice(2, 8).padEnd(6, '0')
  return /[0-9]/.test(prefix) ? prefix : random()
}
const prefixed = tools.map((tool) => `${random()}_${tool.name}`)
const call = async (name, given) => {
  const result = await client.callTool({ name: name.slice(name.indexOf('_') + 1), arguments: given })
  const { content: [first], isError } = result
  if (first?.type !== 'text') throw new Error(`content[0] is ${first?.type}`)
  return { isError: isError ?? false, text: first.text, first }
}
const vacation = prefixed.find((name) => name.endsWith('_calculate_vacation_days'))
// Void loses types: every value is a string.
const good = await call(vacation, { employee_id: 'EMP001', year: '2025' })
const bad = await call(vacation, { employee_id: 'EMP404', year: '2025' })
const unstripped = await client.callTool({ name: vacation, arguments: { employee_id: 'EMP001', year: 2025 } })
await client.close()
console.log(JSON.stringify({ status: 'success', prefixed, good, bad, unstripped: unstripped.content[0].text }))

// An MCP host that looks after tasks: the TypeScript SDK's client with its Tasks package, over HTTP. Whoever starts it
// names the packages' folder, the endpoint, the tool and what the user does with a form:
//
//   node tasks_host.mjs PACKAGES URL TOOL ARGUMENTS ACTION CONTENT
//
// It prints what the call came to as one line of JSON. The Tasks package holds every message against the schemas of the
// extension; the SDK itself does not know tasks, so their messages go out by hand.
import { join } from "node:path";

const [packages, url, tool, given, action, content] = process.argv.slice(2);
const load = (path) => import(join(packages, "@modelcontextprotocol", path));
const { Client, StreamableHTTPClientTransport } = await load("client/dist/index.mjs");
const { createTaskSessionFromClient } = await load("ext-tasks/dist/client/index.js");

const protocolVersion = "2026-07-28";
const clientInfo = { name: "tasks-host", version: "1.0.0" };
const clientCapabilities = { elicitation: { form: {} } };
const client = new Client(clientInfo, {
  capabilities: clientCapabilities,
  versionNegotiation: { mode: { pin: protocolVersion } },
});
await client.connect(new StreamableHTTPClientTransport(new URL(url)));

let last = 0;
async function rawDispatch(request) {
  const { method, params } = request;
  const headers = {
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    "mcp-protocol-version": protocolVersion,
    "mcp-method": method,
    "mcp-name": params.taskId ?? params.name,
  };
  const body = JSON.stringify({ jsonrpc: "2.0", id: `task-${++last}`, method, params });
  const text = await (await fetch(url, { method: "POST", headers, body })).text();
  const event = text.split("\n").findLast((line) => line.startsWith("data:"));
  const answer = JSON.parse(event ? event.slice("data:".length) : text);
  return answer.error ? { kind: "error", error: answer.error } : { kind: "result", result: answer.result };
}

const asked = [];
const session = createTaskSessionFromClient(client, {
  endpointId: "gateway",
  rawDispatch,
  v2RequestFraming: { protocolVersion, clientInfo, clientCapabilities },
  onInputRequest: async ({ kind, params }) => {
    asked.push({ kind, message: params.message });
    return { action, ...(content ? { content: JSON.parse(content) } : {}) };
  },
});
const execution = await session.callTool(tool, JSON.parse(given));
const { outcome } = await execution.settle();
console.log(JSON.stringify({ asked, outcome }));
await session.close();
await client.close();

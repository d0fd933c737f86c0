// An MCP host on the TypeScript SDK that does what a test tells it, line by line. `serve/scripted.rs` says which
// orders there are. NODE_PATH names the folder in which the SDK is installed.
//
// The SDK holds results against the tools' output schemas, and answers questions of servers by the handler for
// `elicitation/create` in both eras.
"use strict";

const readline = require("node:readline");
const { Client, ProtocolError, StreamableHTTPClientTransport } = require("@modelcontextprotocol/client");
const { StdioClientTransport } = require("@modelcontextprotocol/client/stdio");

let client;
let accepted = {};
let human;
const asked = [];
const forms = [];

const say = (answer) => console.log(JSON.stringify(answer));

/** Puts a question to the user, who is the test itself where that says so. */
function elicit({ params }) {
  asked.push(params.message);
  if (human === "test") {
    say({ form: params });
    return new Promise((answered) => forms.push(answered));
  }
  return human ?? { action: "accept", content: accepted };
}

/** The way to a server: an address, or the command with which a host starts it. */
function transport(target, key) {
  if (typeof target === "object") {
    const env = { ...process.env, ...target.env };
    return new StdioClientTransport({ command: target.command, args: target.args, env, cwd: target.cwd });
  }
  const requestInit = { headers: key ? { Authorization: `Bearer ${key}` } : {} };
  return new StreamableHTTPClientTransport(new URL(target), { requestInit });
}

/** Opens a conversation in place of the one before. */
async function connect({ connect: target, mode, key, name }) {
  await client?.close();
  forms.length = 0;
  const negotiation = ["legacy", "auto"].includes(mode) ? mode : { pin: mode };
  client = new Client(
    { name: name ?? "typescript", version: "1.0.0" },
    { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode: negotiation } },
  );
  client.setRequestHandler("elicitation/create", elicit);
  await client.connect(transport(target, key));
  return { version: client.getNegotiatedProtocolVersion() };
}

/** Calls a tool, and tells what came by the way. */
async function call({ call: name, arguments: given, accept, human: played, timeout }) {
  asked.length = 0;
  accepted = accept ?? {};
  human = played;
  const progress = [];
  const result = await client.callTool(
    { name, arguments: given },
    { onprogress: (report) => progress.push(report.progress), timeout },
  );
  return { result, asked: [...asked], progress };
}

async function obey(order) {
  if ("connect" in order) return connect(order);
  if ("hang_up" in order) return { ended: await client.close() };
  if ("tools" in order) return { tools: (await client.listTools()).tools.map((tool) => tool.name) };
  if ("call" in order) return call(order);
  if ("resources" in order) return { resources: (await client.listResources()).resources.map(({ uri }) => uri) };
  if ("read" in order) return { result: await client.readResource({ uri: order.read }) };
  if ("prompts" in order) return { prompts: (await client.listPrompts()).prompts.map(({ name }) => name) };
  return { result: await client.getPrompt({ name: order.prompt, arguments: order.arguments }) };
}

/** Does what one order says, and answers it. */
async function carryOut(order) {
  let answer;
  try {
    answer = await obey(order);
  } catch (error) {
    const { code, message, data } = error;
    answer = error instanceof ProtocolError ? { error: { code, message, data } } : { broken: String(error) };
  }
  say({ ...answer, order: order.order });
}

const orders = readline.createInterface({ input: process.stdin });
orders.on("line", (line) => {
  const order = JSON.parse(line);
  if ("answer" in order) forms.shift()?.(order.answer);
  else carryOut(order);
});
orders.on("close", async () => {
  await client?.close();
  process.exit(0);
});

// An MCP host on the TypeScript SDK that does over HTTP what a test tells it, line by line. `serve/scripted.rs`
// says which orders there are. NODE_PATH names the folder in which the SDK is installed.
//
// The SDK holds results against the tools' output schemas, and answers questions of servers by the handler for
// `elicitation/create` in both eras.
"use strict";

const readline = require("node:readline");
const { Client, ProtocolError, StreamableHTTPClientTransport } = require("@modelcontextprotocol/client");

let client;
let accepted = {};
const asked = [];

/** Opens a conversation in place of the one before. */
async function connect({ connect: url, mode, key }) {
  await client?.close();
  const negotiation = ["legacy", "auto"].includes(mode) ? mode : { pin: mode };
  client = new Client(
    { name: "typescript", version: "1.0.0" },
    { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode: negotiation } },
  );
  client.setRequestHandler("elicitation/create", ({ params }) => {
    asked.push(params.message);
    return { action: "accept", content: accepted };
  });
  const requestInit = { headers: key ? { Authorization: `Bearer ${key}` } : {} };
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
  return { version: client.getNegotiatedProtocolVersion() };
}

/** Calls a tool, and tells what came by the way. */
async function call({ call: name, arguments: given, accept }) {
  asked.length = 0;
  accepted = accept ?? {};
  const progress = [];
  const result = await client.callTool(
    { name, arguments: given },
    { onprogress: (report) => progress.push(report.progress) },
  );
  return { result, asked: [...asked], progress };
}

async function obey(order) {
  if ("connect" in order) return connect(order);
  if ("tools" in order) return { tools: (await client.listTools()).tools.map((tool) => tool.name) };
  if ("call" in order) return call(order);
  if ("resources" in order) return { resources: (await client.listResources()).resources.map(({ uri }) => uri) };
  if ("read" in order) return { result: await client.readResource({ uri: order.read }) };
  if ("prompts" in order) return { prompts: (await client.listPrompts()).prompts.map(({ name }) => name) };
  return { result: await client.getPrompt({ name: order.prompt, arguments: order.arguments }) };
}

async function main() {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    let answer;
    try {
      answer = await obey(JSON.parse(line));
    } catch (error) {
      const { code, message, data } = error;
      answer = error instanceof ProtocolError ? { error: { code, message, data } } : { broken: String(error) };
    }
    console.log(JSON.stringify(answer));
  }
  await client?.close();
}

main();

// The TypeScript SDK's client, which signs in by OAuth where a server asks for it. `peers/oauth/scripted.rs` says which
// orders there are. NODE_PATH names the folder in which the SDK is installed.
"use strict";

const readline = require("node:readline");
const { Client, StreamableHTTPClientTransport, UnauthorizedError } = require("@modelcontextprotocol/client");

let client;
let transport;
let provider;
const secrets = new Set();
const answers = [];

const say = (answer) => console.log(JSON.stringify(answer));

/** Keeps what the server gave, and sends the user to the page that the server names. */
class Provider {
  constructor(method) {
    this.redirectUrl = "http://127.0.0.1:7777/callback";
    this.clientMetadata = {
      client_name: "TypeScript peer",
      redirect_uris: [this.redirectUrl],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      ...(method ? { token_endpoint_auth_method: method } : {}),
    };
  }
  state() {
    return (this.sent = crypto.randomUUID());
  }
  clientInformation() {
    return this.registered;
  }
  saveClientInformation(registered) {
    this.registered = registered;
    for (const key of ["client_secret", "registration_access_token"]) if (registered[key]) secrets.add(registered[key]);
  }
  tokens() {
    return this.kept;
  }
  saveTokens(tokens) {
    this.kept = tokens;
    for (const key of ["access_token", "refresh_token"]) if (tokens[key]) secrets.add(tokens[key]);
  }
  redirectToAuthorization(url) {
    this.returned = new Promise((answered) => answers.push(answered));
    say({ open: url.href });
  }
  saveCodeVerifier(verifier) {
    this.verifier = verifier;
  }
  codeVerifier() {
    return this.verifier;
  }
  invalidateCredentials(scope) {
    if (["all", "client"].includes(scope)) this.registered = undefined;
    if (["all", "tokens"].includes(scope)) this.kept = undefined;
  }
}

/** Does something, and once more after the user was sent to the page, if they are. */
async function signedIn(work) {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof UnauthorizedError) || !provider.returned) throw error;
    const returned = new URL(await provider.returned).searchParams;
    provider.returned = undefined;
    if (returned.get("state") !== provider.sent) throw new Error("another state came back");
    await transport.finishAuth(returned);
    return work();
  }
}

async function open({ connect: url, mode }) {
  const negotiation = ["legacy", "auto"].includes(mode) ? mode : { pin: mode };
  client = new Client({ name: "typescript", version: "1.0.0" }, { versionNegotiation: { mode: negotiation } });
  transport = new StreamableHTTPClientTransport(new URL(url), { authProvider: provider });
  await client.connect(transport);
  return { version: client.getNegotiatedProtocolVersion() };
}

async function obey(order) {
  if ("connect" in order) {
    await client?.close();
    provider ??= new Provider(order.method);
    return signedIn(() => open(order));
  }
  if ("spoil" in order) {
    provider.kept = { ...provider.kept, access_token: `${provider.kept.access_token}x` };
    return { spoilt: true };
  }
  if ("secrets" in order) return { secrets: [...secrets] };
  if ("tools" in order) return signedIn(async () => ({ tools: (await client.listTools()).tools.map(({ name }) => name) }));
  return signedIn(async () => ({ result: await client.callTool({ name: order.call, arguments: order.arguments }) }));
}

/** Does what one order says, and answers it. */
async function carryOut(order) {
  let answer;
  try {
    answer = await obey(order);
  } catch (error) {
    answer = { broken: String(error) };
  }
  say({ ...answer, order: order.order });
}

const orders = readline.createInterface({ input: process.stdin });
orders.on("line", (line) => {
  const order = JSON.parse(line);
  if ("answer" in order) answers.shift()?.(order.answer);
  else carryOut(order);
});
orders.on("close", async () => {
  await client?.close();
  process.exit(0);
});

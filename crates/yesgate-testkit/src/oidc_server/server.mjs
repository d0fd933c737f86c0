// A real provider of OpenID Connect on a loopback port, which knows whoever it is told to know, and lies on command.
//
// Its argument is the folder of the npm packages. The first line that it prints says where it listens. Each line on stdin is
// an order in JSON, and is answered with a line: `redirect`, where answers may go; `account`, the claims of whoever signs in
// next; `lie`, what becomes of tokens from then on: `claims` that are changed (null: left out), and `key`, which is `own`,
// `other` (under the same name), `none` or `secret`.
//
// Client `desk` asks for access tokens in the name of whoever signs in: JWTs (RFC 9068) for the `resource` that it names
// (RFC 8707), with the scopes that it asks for.

import { createServer } from "node:http";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

// Stdout is for answers; the provider has notices of its own.
console.log = console.info = console.warn = console.error;

const [packages] = process.argv.slice(2);
const require = createRequire(`${packages}/package.json`);
const load = (name) => import(pathToFileURL(require.resolve(name)).href);
const { default: Provider } = await load("oidc-provider");
const jose = await load("jose");

const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);
const state = { redirect: "", account: {}, lie: null };
const secret = "a secret of the client that is long enough to sign with";

const own = await jose.generateKeyPair("RS256", { extractable: true });
const other = await jose.generateKeyPair("RS256", { extractable: true });
const jwk = { ...(await jose.exportJWK(own.privateKey)), kid: "own", alg: "RS256", use: "sig" };

async function lied(token) {
  const { claims: changes = {}, key = "own" } = state.lie;
  const { typ } = jose.decodeProtectedHeader(token);
  const claims = Object.fromEntries(
    Object.entries({ ...jose.decodeJwt(token), ...changes }).filter(([, value]) => value !== null),
  );
  if (key === "none") return new jose.UnsecuredJWT(claims).encode();
  if (key === "secret") {
    return new jose.SignJWT(claims).setProtectedHeader({ alg: "HS256", kid: "own", typ }).sign(new TextEncoder().encode(secret));
  }
  const signer = key === "other" ? other : own;
  return new jose.SignJWT(claims).setProtectedHeader({ alg: "RS256", kid: "own", typ }).sign(signer.privateKey);
}

const server = createServer();
await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
const issuer = `http://127.0.0.1:${server.address().port}`;

const provider = new Provider(issuer, {
  clients: [
    { client_id: "yesgate", client_secret: secret, redirect_uris: ["http://127.0.0.1:1/"], grant_types: ["authorization_code"], response_types: ["code"] },
    { client_id: "desk", token_endpoint_auth_method: "none", redirect_uris: ["http://127.0.0.1:1/"], grant_types: ["authorization_code"], response_types: ["code"] },
  ],
  jwks: { keys: [jwk] },
  cookies: { keys: ["a key of a test"] },
  claims: { openid: ["sub"], email: ["email", "email_verified"] },
  conformIdTokenClaims: false,
  features: {
    devInteractions: { enabled: false },
    resourceIndicators: {
      enabled: true,
      getResourceServerInfo: () => ({ scope: "mcp:read mcp:call", accessTokenFormat: "jwt", jwt: { sign: { alg: "RS256" } } }),
    },
  },
  pkce: { required: () => true },
  interactions: { url: (_ctx, { uid }) => `/interaction/${uid}` },
  findAccount: (_ctx, id) => ({ accountId: id, claims: () => ({ ...state.account, sub: id }) }),
});
// The gateway's port is known only after it has been told of this one.
provider.Client.prototype.redirectUriAllowed = (uri) => uri === state.redirect;
provider.use(async (ctx, next) => {
  await next();
  if (ctx.path !== "/token" || !state.lie) return;
  for (const name of ["id_token", "access_token"]) {
    const token = ctx.body?.[name];
    if (token?.split(".").length === 3) ctx.body = { ...ctx.body, [name]: await lied(token) };
  }
});

const answer = provider.callback();
server.on("request", async (request, response) => {
  if (!request.url.startsWith("/interaction/")) return answer(request, response);
  const { params } = await provider.interactionDetails(request, response);
  const accountId = state.account.sub;
  const grant = new provider.Grant({ accountId, clientId: params.client_id });
  grant.addOIDCScope("openid email");
  if (params.resource) grant.addResourceScope(params.resource, params.scope);
  const consent = { grantId: await grant.save() };
  await provider.interactionFinished(request, response, { login: { accountId }, consent });
});

createInterface({ input: process.stdin })
  .on("line", (line) => {
    Object.assign(state, JSON.parse(line));
    say({ heard: true });
  })
  .on("close", () => process.exit(0));
say({ issuer });

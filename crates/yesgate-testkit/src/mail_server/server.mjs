// A real mail server on a loopback port. It takes every mail, and prints each as a line of JSON.
//
// Its arguments: the folder of the npm packages, and how to behave, as JSON: `tls`, `user`, `password`, and `refuse`, an
// address that it takes nothing for. The first line says where it listens.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const [packages, behaviour] = process.argv.slice(2);
const { SMTPServer } = createRequire(`${packages}/package.json`)("smtp-server");
const { tls, user, password, refuse } = JSON.parse(behaviour);
const pem = readFileSync(new URL("localhost.pem", import.meta.url));
const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);

const server = new SMTPServer({
  secure: tls,
  key: pem,
  cert: pem,
  authOptional: !user,
  disabledCommands: user ? [] : ["AUTH"],
  allowInsecureAuth: true,
  onAuth(given, _session, done) {
    if (given.username === user && given.password === password) done(null, { user });
    else done(new Error("who are you?"));
  },
  onRcptTo({ address }, _session, done) {
    done(address === refuse ? Object.assign(new Error(`there is no ${address}`), { responseCode: 550 }) : null);
  },
  onData(stream, session, done) {
    const pieces = [];
    stream.on("data", (piece) => pieces.push(piece));
    stream.on("end", () => {
      const { mailFrom, rcptTo } = session.envelope;
      const to = rcptTo.map(({ address }) => address);
      say({ from: mailFrom.address, to, user: session.user ?? null, secure: session.secure, raw: Buffer.concat(pieces).toString() });
      done();
    });
  },
});
server.on("error", () => {});
server.listen(0, "127.0.0.1", () => say({ port: server.server.address().port }));
// It ends with whoever started it.
process.stdin.resume().on("end", () => process.exit(0));

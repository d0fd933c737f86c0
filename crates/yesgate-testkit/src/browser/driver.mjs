// Drives Chromium for tests written in Rust. Whoever starts it names the packages' folder, the browser, and how many
// milliseconds anything may take:
//
//   node driver.mjs PACKAGES CHROMIUM PATIENCE
//
// Every order is a line on stdin with a number and the name of a deed below; it is answered by a line on stdout with the
// same number, `{"order": 1, "done": …}` or `{"order": 1, "broken": WHY}`. Orders run side by side: two clicks that were
// sent together race. When stdin ends, the browser does. All waiting is the library's own; nothing here sleeps.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";

import { withPalette } from "./palette.mjs";

const [packages, executablePath, patience] = process.argv.slice(2);
const { chromium } = await import(join(packages, "playwright-core/index.mjs"));
const axe = readFileSync(join(packages, "axe-core/axe.min.js"), "utf8");
const timeout = Number(patience);

const browser = await chromium.launch({
  executablePath,
  timeout,
  // The library itself asks for an empty profile and no window, no sandbox (tests may run as root), no first run, and
  // nothing in the background: no updates, no sync, no networking.
  args: [
    "--disable-gpu",
    // No name leads off this machine, whatever a page asks for.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1",
    // Letters look alike on every screen, and pictures of them stay small.
    "--disable-lcd-text",
    "--font-render-hinting=none",
  ],
});

// Contexts and pages, by the numbers that the test knows them by.
const contexts = new Map();
const pages = new Map();
let last = 0;

// A page, the session that its tools are reached by, and what went wrong on it.
class Tab {
  troubles = [];
  origin = null;

  static async open({ context, hasScripts, hasFinger }) {
    const tab = new Tab();
    tab.page = await context.newPage();
    Object.assign(tab, { hasScripts, hasFinger });
    tab.tools = await context.newCDPSession(tab.page);
    tab.listen();
    await tab.tools.send("Audits.enable");
    return tab;
  }

  listen() {
    const { page, tools, troubles } = this;
    page.on("console", (message) => message.type() === "error" && troubles.push({ console: message.text() }));
    page.on("pageerror", (error) => troubles.push({ script: String(error) }));
    page.on("crash", () => troubles.push({ crash: page.url() }));
    page.on("request", (request) => this.isElsewhere(request.url()) && troubles.push({ elsewhere: request.url() }));
    // Told by the browser itself, so that it is heard without JavaScript too.
    tools.on("Audits.issueAdded", ({ issue }) => {
      const policy = issue.details.contentSecurityPolicyIssueDetails;
      if (policy) troubles.push({ policy: `${policy.violatedDirective}: ${policy.blockedURL ?? "inline"}` });
    });
  }

  isElsewhere(url) {
    const { protocol, origin } = new URL(url);
    return ["http:", "https:", "ws:", "wss:"].includes(protocol) && origin !== this.origin;
  }

  // What was said before this answer has been heard after it, on both ways that the browser says things.
  async catchUp() {
    await this.page.evaluate("0");
    await this.tools.send("Runtime.evaluate", { expression: "0" });
  }

  byRole({ role, name }) {
    return this.page.getByRole(role, { name, exact: true });
  }

  byLabel({ label }) {
    return this.page.getByLabel(label, { exact: true });
  }

  // With what the device has.
  touch(element) {
    return this.hasFinger ? element.tap() : element.click();
  }

  // Where somebody who reads the failure of a test would look first.
  async whereabouts() {
    const outline = await this.page.locator("body").ariaSnapshot({ timeout: 1000 }).catch(() => "(nothing)");
    return `at ${this.page.url()}:\n${outline}`;
  }
}

// axe waits with timers, which stand still on a page without JavaScript; promises go on there.
const timersAsPromises = "globalThis.setTimeout = (f, _, ...a) => (Promise.resolve().then(() => f(...a)), 0);";
const runAxe = `axe.run({ preload: false, resultTypes: ["violations"] }).then(({ violations }) => violations)`;

function keep(map, thing) {
  map.set(++last, thing);
  return last;
}

const deeds = {
  context: async ({ options }) => {
    const context = await browser.newContext({ ...options, reducedMotion: "reduce", timezoneId: "UTC" });
    context.setDefaultTimeout(timeout);
    return keep(contexts, { context, hasScripts: options.javaScriptEnabled, hasFinger: options.hasTouch });
  },
  page: async ({ context }) => keep(pages, await Tab.open(contexts.get(context))),
  cookies: ({ context }) => contexts.get(context).context.cookies(),
  clear_cookies: ({ context }) => contexts.get(context).context.clearCookies(),
};

const deedsOnPage = {
  goto: async (tab, { url }) => {
    tab.origin = new URL(url).origin;
    // Another place on the same page is no answer of a server.
    return (await tab.page.goto(url))?.status() ?? 0;
  },
  reload: async (tab) => (await tab.page.reload()).status(),
  close: (tab) => tab.page.close(),
  click: (tab, target) => tab.touch(tab.byRole(target)),
  click_on: (tab, { selector }) => tab.touch(tab.page.locator(selector)),
  fill: (tab, target) => tab.byLabel(target).fill(target.text),
  check: (tab, target) => tab.byLabel(target).check(),
  choose: async (tab, target) => void (await tab.byLabel(target).selectOption({ label: target.option })),
  press: (tab, { key }) => tab.page.keyboard.press(key),
  type: (tab, { text }) => tab.page.keyboard.type(text),

  url: (tab) => tab.page.url(),
  title: (tab) => tab.page.title(),
  text: (tab, { selector }) => tab.page.locator(selector).innerText(),
  attribute: (tab, { selector, name }) => tab.page.locator(selector).getAttribute(name),
  count: (tab, { selector }) => tab.page.locator(selector).count(),
  count_role: (tab, target) => tab.byRole(target).count(),
  value: (tab, target) => tab.byLabel(target).inputValue(),
  outline: (tab) => tab.page.locator("body").ariaSnapshot(),
  focused: async (tab) => {
    const focused = tab.page.locator(":focus");
    return (await focused.count()) === 0 ? "" : (await focused.ariaSnapshot()).replace(/^- /, "");
  },
  evaluate: (tab, { script }) => tab.page.evaluate(script),

  wait_for: (tab, { selector }) => tab.page.locator(selector).first().waitFor(),
  wait_for_text: (tab, { text }) => tab.page.getByText(text).first().waitFor(),
  wait_until_gone: (tab, { text }) => tab.page.getByText(text).first().waitFor({ state: "hidden" }),
  wait_for_path: (tab, { path }) => tab.page.waitForURL((url) => url.pathname === path),

  screenshot: async (tab, { path }) => {
    const picture = await tab.page.screenshot({ fullPage: true, animations: "disabled" });
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, withPalette(picture));
  },
  axe: async (tab) => {
    await tab.page.evaluate((tab.hasScripts ? "" : timersAsPromises) + axe);
    const violations = await tab.page.evaluate(runAxe);
    return violations.map(({ id, impact, help, nodes }) => {
      const places = nodes.map((node) => `${node.target.join(" ")}: ${node.failureSummary}`);
      return { rule: id, impact, help, places };
    });
  },
  troubles: async (tab) => {
    await tab.catchUp();
    return tab.troubles.splice(0);
  },
  authenticator: async (tab, { options }) => {
    await tab.tools.send("WebAuthn.enable");
    return (await tab.tools.send("WebAuthn.addVirtualAuthenticator", { options })).authenticatorId;
  },
  webauthn: (tab, { method, params }) => tab.tools.send(`WebAuthn.${method}`, params),
};

async function carryOut({ deed, page, ...rest }) {
  if (page === undefined) return deeds[deed](rest);
  const tab = pages.get(page);
  try {
    return await deedsOnPage[deed](tab, rest);
  } catch (error) {
    error.message += `\n${await tab.whereabouts()}`;
    throw error;
  }
}

const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);

say({ order: 0, done: browser.version() });
const lines = createInterface({ input: process.stdin });
lines.on("line", async (line) => {
  const { order, ...what } = JSON.parse(line);
  try {
    say({ order, done: (await carryOut(what)) ?? null });
  } catch (error) {
    // Where the browser has gone, the library adds all that it ever said.
    say({ order, broken: error.message.split("\nBrowser logs:")[0] });
  }
});
lines.on("close", async () => {
  await browser.close();
  process.exit(0);
});

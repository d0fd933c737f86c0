// Makes pages live. Everything here is a convenience: each page works without it.
"use strict";

const RING = 56.55;

// The code of a sign-in link stands behind the `#`, which no server sees. It goes into the form, out of the
// address, and stays there until the person presses the button.
function takeLink() {
  const form = document.querySelector("form[data-link]");
  const code = location.hash.slice(1);
  if (!form || !code) return;
  form.elements.code.value = code;
  history.replaceState(null, "", location.pathname + location.search);
  form.querySelector("button").focus();
}

// A yes cannot be pressed by a click that was meant for what stood there before.
function holdBack(root) {
  for (const form of root.querySelectorAll("form[data-inert]")) {
    const button = form.querySelector("button.approve");
    const wait = Number(form.dataset.inert);
    let waiting = null;
    let isAt = false;
    const hold = () => {
      // What is disabled loses the focus; whoever was there by keyboard gets it back.
      isAt ||= document.activeElement === button;
      button.disabled = true;
      clearTimeout(waiting);
      waiting = setTimeout(() => {
        button.disabled = false;
        if (isAt && document.activeElement === document.body) button.focus({ preventScroll: true });
        isAt = false;
      }, wait);
    };
    hold();
    addEventListener("focus", hold);
  }
}

// The no has the focus, and the page stays where it is: it is read from the top.
function focusNo() {
  const no = document.querySelector("[data-focus]");
  if (no) no.focus({ preventScroll: true });
}

function inWords(ms) {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds === 0) return "no time";
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 172800) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86400)} days`;
}

// Rings run down, and a question whose time is over is looked at again.
function runDown() {
  let isOver = false;
  for (const left of document.querySelectorAll(".left")) {
    const ms = Number(left.dataset.end) - Date.now() - skew;
    const gone = Math.min(1, Math.max(0, 1 - ms / Number(left.dataset.all)));
    left.querySelector(".run").setAttribute("stroke-dashoffset", (gone * RING).toFixed(1));
    left.querySelector(".words").textContent = `${inWords(ms)} left`;
    left.classList.toggle("soon", ms < 30000);
    if (ms <= 0) isOver = true;
  }
  // Others may decide from then on.
  for (const due of document.querySelectorAll("[data-again]")) {
    if (Date.now() + skew >= Number(due.dataset.again)) isOver = true;
  }
  if (isOver) lookAgain();
}

let skew = 0;
let looking = false;
let again = false;

// Reads the same page again, and puts what has changed in its place. What somebody is writing stays as it is
// unless the question itself has changed.
async function lookAgain() {
  if (looking) { again = true; return; }
  looking = true;
  try {
    const answer = await fetch(location.href, { credentials: "same-origin", redirect: "manual" });
    // Signed out. Not by loading anew: that would send a form again that this page came from.
    if (answer.type === "opaqueredirect" || answer.status === 401) { location.assign(location.href); return; }
    // What a form led to cannot always be read again; it stays as it is.
    if (!answer.ok) return;
    setClock(Date.parse(answer.headers.get("date")));
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    document.title = page.title;
    if (put(page, "header.top nav", (nav) => nav.textContent)) showTab();
    sayStopped(page);
    const content = put(page, "[data-live]", (live) => live.dataset.live);
    if (content) {
      holdBack(content);
      passkeys(content);
    }
  } catch {
    // The gateway is away; the stream comes back when it does.
  } finally {
    looking = false;
    if (again) { again = false; setTimeout(lookAgain, 250); }
  }
}

// That everything is stopped stands on every page as soon as it is; the place itself stays, so that it is read out.
function sayStopped(page) {
  const [here, there] = [document, page].map((root) => root.querySelector("#stopped"));
  if (here && there && here.textContent !== there.textContent) here.replaceChildren(...there.childNodes);
}

// On a phone the pages stand in one row; the one that is open can be seen in it.
function showTab() {
  const tab = document.querySelector("header.top nav [aria-current]");
  if (tab) tab.parentElement.scrollLeft = tab.offsetLeft - tab.parentElement.clientWidth / 2;
}

// The answer tells whole seconds; only a clock that is further off than that is wrong.
function setClock(date) {
  const ahead = date - Date.now();
  if (ahead) skew = Math.abs(ahead) > 2000 ? ahead : 0;
}

// Puts a part of another page in the place of ours where they differ, and gives it back. Whoever was at
// something in it by keyboard is at the same thing afterwards, or at the content where that has gone.
function put(page, selector, version) {
  const [here, there] = [document, page].map((root) => root.querySelector(selector));
  if (!here || !there || version(here) === version(there)) return null;
  const at = here.contains(document.activeElement) ? document.activeElement : null;
  here.replaceWith(there);
  if (at) {
    const path = at.getAttribute("href");
    const same = path && there.querySelector(`a[href="${CSS.escape(path)}"]`);
    (same || document.querySelector("#main")).focus({ preventScroll: true });
  }
  return there;
}

// Passkeys: what the gateway wants signed comes as JSON, and goes back as JSON.
const bytes = (text) => Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (c) => c.charCodeAt(0));
const base64 = (buffer) => btoa(String.fromCharCode(...new Uint8Array(buffer)))
  .replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");

function options(json) {
  const key = json.publicKey;
  key.challenge = bytes(key.challenge);
  if (key.user) key.user.id = bytes(key.user.id);
  for (const known of [...(key.allowCredentials || []), ...(key.excludeCredentials || [])]) known.id = bytes(known.id);
  return { publicKey: key };
}

function spelled(credential) {
  const response = {};
  for (const part of ["clientDataJSON", "attestationObject", "authenticatorData", "signature", "userHandle"]) {
    if (credential.response[part]) response[part] = base64(credential.response[part]);
  }
  const extensions = credential.getClientExtensionResults();
  return JSON.stringify({ id: credential.id, rawId: base64(credential.rawId), type: credential.type, response, extensions });
}

const create = async (json) => spelled(await navigator.credentials.create(options(json)));
const sign = async (json) => spelled(await navigator.credentials.get(options(json)));

async function send(path, fields) {
  const answer = await fetch(path, { method: "POST", credentials: "same-origin", body: new URLSearchParams(fields) });
  const told = await answer.json().catch(() => ({ error: "That did not work. Reload the page, and try again." }));
  if (!answer.ok) throw new Error(told.error);
  return told;
}

// What browsers say in words that nobody wants to read.
const WORDS = {
  NotAllowedError: "The passkey was not used. Nothing was changed.",
  InvalidStateError: "This device has a key of yours already.",
};

// Does something with a passkey when a form is sent, and says what went wrong.
function onSend(root, selector, work) {
  for (const form of root.querySelectorAll(selector)) {
    form.hidden = false;
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      const problem = form.querySelector("[data-problem]");
      problem.hidden = true;
      try {
        await work(form);
      } catch (error) {
        problem.textContent = WORDS[error.name] || error.message;
        problem.hidden = false;
      }
    });
  }
}

function passkeys(root) {
  onSend(root, "form[data-passkey-sign-in]", async (form) => {
    const begun = await send("/sign-in/passkey/begin", {});
    const response = await sign(begun.get);
    const to = form.elements.to ? form.elements.to.value : "";
    location.assign((await send("/sign-in/passkey", { ceremony: begun.ceremony, response, to })).to);
  });
  onSend(root, "form[data-enrol]", async (form) => {
    const { token, label } = form.elements;
    const begun = await send("/keys/begin", { token: token.value, label: label.value });
    const confirm = begun.confirm ? await sign(begun.confirm) : "";
    const response = await create(begun.create);
    location.assign((await send("/keys", { ceremony: begun.ceremony, confirm, response })).to);
  });
  onSend(root, "form[data-sign]", async (form) => {
    form.elements.assertion.value = await sign(JSON.parse(form.dataset.sign));
    const answer = document.createElement("input");
    Object.assign(answer, { type: "hidden", name: "answer", value: "approve" });
    form.append(answer);
    form.submit();
  });
}

// The answer to a program leads the browser out of this site. An app that opens leaves this page as it stands, so it
// says that it was answered, and nobody answers twice.
const LEFT = {
  app: "Your answer is on its way. If the browser asks whether to open the app, let it. You can close this page.",
  page: "Your answer is on its way to the program.",
};

function leave() {
  for (const form of document.querySelectorAll("form[data-leaves]")) {
    let isSent = false;
    form.addEventListener("submit", (event) => {
      if (isSent) { event.preventDefault(); return; }
      isSent = true;
      // What is hidden in this moment would not be sent.
      setTimeout(() => {
        const left = document.querySelector("[data-left]");
        left.textContent = LEFT[form.dataset.leaves];
        left.hidden = false;
        form.hidden = true;
      });
    });
    // Whoever comes back sees how it stands now.
    addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
  }
}

takeLink();
leave();
passkeys(document);
addEventListener("hashchange", takeLink);
holdBack(document);
focusNo();
showTab();
if (document.querySelector("header.top")) {
  setInterval(runDown, 1000);
  const live = new EventSource("/live");
  live.addEventListener("changed", lookAgain);
  // What changed while nobody told us: before the stream began, or while it was away.
  live.addEventListener("open", lookAgain);
  live.addEventListener("error", () => { if (live.readyState === EventSource.CLOSED) lookAgain(); });
}

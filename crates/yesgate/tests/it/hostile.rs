//! Two hundred hostile payloads, and what people see of them: on a page, at a terminal, in a notice.
//!
//! The pictures are kept as snapshots, one file for each surface; what must hold for all of them is asserted. Whether
//! a page has anything in it that its template did not write is for a real browser to say, which reads it as HTML.

mod corpus;

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use serde::Deserialize;
use serde_json::{Value, json};
use yesgate_core::digest::Hasher;
use yesgate_testkit::browser::device::Device;
use yesgate_testkit::browser::page::Page;
use yesgate_testkit::{Browser, Gateway, RestHost, ServeStage, Visitor, until};

use self::corpus::{Payload, oversized, payloads, twin_keys};
use crate::notices::receiver::{Receiver, SECRET, Says};

/// Everybody is asked elsewhere, at once, as often as they like, and told in every way.
const CONFIG: &str = r#"
[times]
hold = "1ms"
wait = "0s"
[asking]
per_minute = 10000
[[rules]]
name = "deletes"
tool = "notes/delete_note"
then = "ask"
channel = "web"
assurance = "signed_in"
reason = "a deleted note is gone"
"#;

/// A gateway whose every notice is written down, an agent that means no good, and a person who looks.
struct Play {
    stage: ServeStage,
    gateway: Gateway,
    agent: RestHost,
    owner: Visitor,
    receiver: Receiver,
    desktop: PathBuf,
}

/// What surfaces made of one payload.
struct Seen {
    name: String,
    question: String,
    page: Parsed,
    inbox: Parsed,
    terminal: String,
}

/// A page as a browser reads it.
#[derive(Debug, Deserialize)]
struct Parsed {
    /// Its elements, with the names of their attributes, but for the lines of content.
    elements: String,
    /// Where it leads.
    leads_to: Vec<String>,
    /// Everything that it says.
    text: String,
    /// What it says that it is about.
    heading: String,
    /// The arguments.
    arguments: String,
    /// What the agent says why it asks.
    claim: String,
}

/// What the browser does with each page: elements, comments and the like, and texts.
const PARSE: &str = r#"pages => pages.map(html => {
  const page = new DOMParser().parseFromString(html, "text/html");
  const walker = page.createTreeWalker(page, NodeFilter.SHOW_ALL & ~NodeFilter.SHOW_TEXT);
  const elements = [], leads_to = [];
  for (let node = walker.currentNode; node; node = walker.nextNode()) {
    if (node.nodeType !== 1) { elements.push(node.nodeName); continue; }
    // Each line of content is such an element; what would be in it is not.
    if (node.matches("pre.content > bdi") && !node.attributes.length) continue;
    elements.push(node.localName + "[" + [...node.attributes].map(a => a.name).join(" ") + "]");
    for (const name of ["href", "src", "action", "formaction"])
      if (node.hasAttribute(name)) leads_to.push(node.getAttribute(name));
  }
  const said = (selector) => page.querySelector(selector)?.textContent ?? "";
  const text = page.body.textContent + [...page.querySelectorAll("textarea")].map(area => area.value).join("\n");
  return { elements: elements.join(" "), leads_to, text,
    heading: said("h1 bdi, .line .what bdi"), arguments: said("pre[aria-label=Arguments]"),
    claim: said("pre.claim") };
})"#;

impl Play {
    async fn new() -> Self {
        let receiver = Receiver::that_says(&[Says::Status(200)]);
        let stage = ServeStage::new(env!("CARGO_BIN_EXE_yesgate")).env("HOOK_SECRET", SECRET);
        let (folder, desktop) = (stage.stage().file("desktop"), stage.stage().file("shown"));
        fs::create_dir_all(&folder).unwrap();
        let program = folder.join("notify-send");
        fs::write(&program, "#!/bin/sh\nfor word in \"$@\"; do echo \"[$word]\"; done >> \"$SHOWN\"\n")
            .unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let stage = stage.env("PATH", &folder).env("SHOWN", &desktop);
        let hook = format!("{{ url = \"{}\", secret = \"${{HOOK_SECRET}}\" }}", receiver.url);
        let notices = format!("[notices]\ndesktop = true\nwebhook = {hook}\n");
        let config = format!("{CONFIG}{notices}{}", stage.child("notes", &[]));
        let stage = stage.config(&config);
        let key = stage.key("ann");
        let gateway = stage.start();
        let agent = gateway.rest().bearer(&key);
        let owner = gateway.visitor().sign_in(&gateway.first_link()).await;
        Self { stage, gateway, agent, owner, receiver, desktop }
    }

    fn page_of(&self, question: &str) -> String {
        self.gateway.page(&format!("/approve/{question}"))
    }

    /// Asks about each payload, and keeps its page and the inbox as they are while it waits.
    async fn ask(&self, payloads: &[Payload]) -> Vec<(String, String, String)> {
        let mut asked = Vec::new();
        for payload in payloads {
            let mut arguments = payload.arguments.clone();
            arguments["__reason"] = payload.claim.clone().into();
            let held = self.agent.call("notes", "delete_note", arguments).await;
            assert_eq!(held.status, 202, "{}: {}", payload.name, held.text);
            let question = held.text_of("intent_id");
            let page = self.owner.get(&format!("/approve/{question}")).await;
            assert!(page.has_button(("answer", "approve")), "{}: {}", payload.name, page.html);
            let inbox = self.owner.get("/").await;
            asked.push((question, page.html, inbox.html));
        }
        asked
    }

    /// REN5: a browser puts spaces together where it is not told otherwise; on our pages they can all be seen.
    fn spaces_can_be_counted(&self, reader: &Page, payloads: &[Payload], questions: &[String]) {
        let made = self.stage.stage().yesgate(&["people", "link", "owner", "--json"]).ok().json();
        reader.goto(&self.gateway.page("/sign-in"));
        reader.fill("Your sign-in link, or the code at its end", made["link"].as_str().unwrap());
        reader.click("button", "Sign in");
        reader.wait_for_path("/");
        let named = ["unseen: one space", "unseen: two spaces", "flood: eight spaces"];
        let spaced =
            payloads.iter().zip(questions).filter(|(payload, _)| named.contains(&payload.name.as_str()));
        let headings = spaced.map(|(_, question)| {
            reader.goto(&self.page_of(question));
            reader.text("h1")
        });
        let headings: Vec<String> = headings.collect();
        let expected = [r#"id=" ""#, r#"id="  ""#, r#"id="a        b""#];
        assert_eq!(headings, expected.map(|id| format!("delete_note({id}) on notes")));
    }

    /// What `yesgate show` prints of each, some at a time.
    fn terminals(&self, questions: &[String]) -> Vec<String> {
        let stage = self.stage.stage();
        let show = |question: &String| stage.yesgate(&["show", question]).ok().stdout;
        std::thread::scope(|scope| {
            let quarter = questions.len().div_ceil(4);
            let parts: Vec<_> = questions
                .chunks(quarter)
                .map(|part| scope.spawn(move || part.iter().map(show).collect::<Vec<_>>()))
                .collect();
            parts.into_iter().flat_map(|part| part.join().unwrap()).collect()
        })
    }
}

/// A10–A13, REN1–REN5, REN9, REN12: whatever a caller sends is text, whole, in its place, and like nothing else; what
/// is too large to read is not asked; and no notice has a word of it.
#[tokio::test(flavor = "multi_thread")]
async fn two_hundred_hostile_payloads_deceive_nobody() {
    let payloads = payloads();
    assert!(payloads.len() >= 200, "{}", payloads.len());
    let play = Play::new().await;

    for (name, arguments) in oversized() {
        let refused = play.agent.call("notes", "delete_note", arguments).await;
        assert_eq!((refused.status, &refused.body["error"]), (413, &json!("too_large_to_review")), "{name}");
    }
    for arguments in twin_keys() {
        let refused = play.agent.call("notes", "delete_note", arguments).await;
        assert_eq!(
            (refused.status, &refused.body["error"]),
            (400, &json!("invalid_call")),
            "{}",
            refused.text
        );
    }
    assert!(play.stage.stage().pending().is_empty(), "nobody is asked about what nobody can read");

    let asked = play.ask(&payloads).await;
    let questions: Vec<String> = asked.iter().map(|(question, ..)| question.clone()).collect();
    let terminals = play.terminals(&questions);
    let browser = Browser::start();
    let reader = browser.context(Device::desktop()).page();
    let parse = |pages: Vec<&String>| -> Vec<Parsed> {
        serde_json::from_value(reader.evaluate(&format!("({PARSE})({})", json!(pages)))).unwrap()
    };
    let pages = parse(asked.iter().map(|(_, page, _)| page).collect());
    let inboxes = parse(asked.iter().map(|(_, _, inbox)| inbox).collect());
    play.spaces_can_be_counted(&reader, &payloads, &questions);
    reader.assert_untroubled();
    browser.close();

    let seen: Vec<Seen> = payloads
        .iter()
        .zip(questions)
        .zip(pages.into_iter().zip(inboxes))
        .zip(terminals)
        .map(|(((payload, question), (page, inbox)), terminal)| Seen {
            name: payload.name.clone(),
            question,
            page,
            inbox,
            terminal,
        })
        .collect();
    only_what_is_allowed_comes_out(&seen);
    pages_have_only_what_their_template_wrote(&seen);
    no_two_look_alike(&seen);
    terminal_and_page_show_the_same(&seen);
    insta::assert_snapshot!(
        "page",
        pictures(&seen, |seen| (&seen.page.heading, seen.page.arguments.trim_end()))
    );
    insta::assert_snapshot!(
        "terminal",
        pictures(&seen, |seen| (summary(&seen.terminal), arguments(&seen.terminal)))
    );
    notices_have_no_word_of_it(&play, &seen);

    let Play { stage, mut gateway, .. } = play;
    assert!(gateway.close().success());
    assert_eq!(stage.check_history("notes", &[]).gated, 0);
}

/// REN2, REN9: every character beyond ASCII that any surface shows is on this list, which can be read.
fn only_what_is_allowed_comes_out(seen: &[Seen]) {
    let allowed = |c: char| c == '\n' || (' '..='~').contains(&c) || SHOWN.contains(c);
    let mut others = BTreeSet::new();
    for seen in seen {
        for text in [&seen.page.text, &seen.inbox.text, &seen.terminal] {
            others.extend(text.chars().filter(|c| !allowed(*c)));
        }
    }
    let others: Vec<String> = others.into_iter().map(|c| format!("{c} U+{:04X}", u32::from(c))).collect();
    assert!(others.is_empty(), "these come out too: {others:?}");
}

/// Our chrome, and the honest words of the corpus.
const SHOWN: &str = "┌│└⟦⟧␠×…“”éıПавдекнорстчыёשלוםעادعف٠١٥。くで書한👩💻";

/// C5: a browser finds in each page the elements that it finds in every other, and nothing that leads elsewhere.
fn pages_have_only_what_their_template_wrote(seen: &[Seen]) {
    let first = &seen[0];
    for seen in seen {
        assert_eq!(seen.page.elements, first.page.elements, "{}", seen.name);
        assert_eq!(seen.inbox.elements, first.inbox.elements, "{}", seen.name);
        for place in seen.page.leads_to.iter().chain(&seen.inbox.leads_to) {
            assert!(
                place.starts_with('/') && !place.starts_with("//") || place == "#main",
                "{place}: {}",
                seen.name
            );
        }
    }
}

/// A part of what is seen of a call.
type Part = fn(&Seen) -> &str;

/// REN2: two calls have two pictures, on every surface and in every part that tells them apart.
fn no_two_look_alike(seen: &[Seen]) {
    let surfaces: [(&str, Part); 6] = [
        ("the agent's words on a page", |seen| &seen.page.claim),
        ("the heading of a page", |seen| &seen.page.heading),
        ("the arguments on a page", |seen| &seen.page.arguments),
        ("a line of the inbox", |seen| &seen.inbox.heading),
        ("the first line at a terminal", |seen| summary(&seen.terminal)),
        ("the arguments at a terminal", |seen| arguments(&seen.terminal)),
    ];
    for (surface, picture) in surfaces {
        let mut pictures = HashMap::new();
        for seen in seen {
            let twin = pictures.insert(picture(seen), &seen.name);
            assert_eq!(twin, None, "{surface} is the same for `{}`: {}", seen.name, picture(seen));
        }
    }
}

/// REN1: what is read at a terminal is what is read on the page; all around it is ours, the same for every call.
fn terminal_and_page_show_the_same(seen: &[Seen]) {
    let chrome = |seen: &Seen| -> Vec<String> {
        let about = seen.terminal.split("Arguments (").next().unwrap();
        let ours = about.lines().skip(1).filter(|line| !is_fenced(line));
        let names = ours.map(|line| line.chars().take(12).collect());
        // Only the last one still waits.
        names.filter(|name: &String| name.trim() != "decide by").collect()
    };
    for one in seen {
        assert_eq!(summary(&one.terminal), one.page.heading, "{}", one.name);
        assert_eq!(summary(&one.terminal), one.inbox.heading, "{}", one.name);
        let lines: Vec<&str> =
            arguments(&one.terminal).lines().map(|line| line.strip_prefix("  ").unwrap()).collect();
        assert_eq!(lines, one.page.arguments.lines().collect::<Vec<_>>(), "{}", one.name);
        assert_eq!(chrome(one), chrome(&seen[0]), "{}", one.name);
        let fenced: Vec<&str> =
            one.terminal.lines().filter(|line| is_fenced(line)).map(str::trim_start).collect();
        assert_eq!(fenced, one.page.claim.lines().collect::<Vec<_>>(), "{}", one.name);
    }
}

/// A13, A24: every notice says the same of every call, but for its id, its code and its times. Where the next question
/// took the place of one before anybody could be told of it, only that is told.
fn notices_have_no_word_of_it(play: &Play, seen: &[Seen]) {
    let mut notices = BTreeSet::new();
    let mut untold: BTreeSet<&str> = seen.iter().map(|seen| seen.question.as_str()).collect();
    let links: BTreeSet<String> = seen.iter().map(|seen| play.page_of(&seen.question)).collect();
    while !untold.is_empty() {
        let mut body = play.receiver.next().body;
        let question = body["data"]["intent_id"].as_str().unwrap().to_owned();
        assert_eq!(body["data"]["link"], play.page_of(&question));
        untold.remove(question.as_str());
        for name in ["intent_id", "link", "match_code", "decide_by"] {
            body["data"][name] = Value::from(format!("({name})"));
        }
        body["timestamp"] = "(timestamp)".into();
        notices.insert(format!("{body:#}"));
    }
    let last = play.page_of(&seen.last().unwrap().question);
    let shown = until("the last one is shown", || {
        let shown = fs::read_to_string(&play.desktop).unwrap_or_default();
        shown.ends_with(&format!("{last}]\n")).then_some(shown)
    });
    let mut desktop = BTreeSet::new();
    for words in shown.split("[--app-name=Yesgate]\n").skip(1) {
        let (before, after) = words.split_once(", code ").unwrap();
        let (code, place) = after.split_at(9);
        assert!(code.chars().all(|c| c.is_ascii_alphanumeric() || c == '-'), "{code}");
        assert!(links.contains(place.trim_matches(['\n', ']'])), "{place}");
        desktop.insert(format!("{before}, code (match_code)\n(link)]"));
    }
    assert_eq!((notices.len(), desktop.len()), (2, 1), "{notices:#?} {desktop:#?}");
    let all: Vec<String> = notices.into_iter().chain(desktop).collect();
    insta::assert_snapshot!("notice", all.join("\n\n"));
}

/// Whether a line stands behind the bar that only we can draw.
fn is_fenced(line: &str) -> bool {
    ["  ┌", "  │", "  └"].iter().any(|bar| line.starts_with(bar))
}

/// The first line of what `yesgate show` prints.
fn summary(terminal: &str) -> &str {
    terminal.lines().next().unwrap()
}

/// What `yesgate show` prints last.
fn arguments(terminal: &str) -> &str {
    terminal.split_once("exactly as they will run:\n").unwrap().1
}

/// Pictures to be read: long ones by their beginning, and a digest of the whole.
fn pictures<'a>(seen: &'a [Seen], picture: impl Fn(&'a Seen) -> (&'a str, &'a str)) -> String {
    seen.iter()
        .map(|seen| {
            let (heading, arguments) = picture(seen);
            let mut lines: Vec<String> = arguments.lines().map(short).collect();
            if lines.len() > MOST_LINES {
                let digest = digest(arguments);
                lines.splice(MOST_LINES.., [format!("({} lines, {digest})", arguments.lines().count())]);
            }
            format!("{}\n  {}\n    {}\n", seen.name, short(heading), lines.join("\n    "))
        })
        .collect()
}

fn short(line: &str) -> String {
    if line.chars().count() <= LONGEST_LINE {
        return line.to_owned();
    }
    let beginning: String = line.chars().take(LONGEST_LINE).collect();
    format!("{beginning} (… {} bytes, {})", line.len(), digest(line))
}

fn digest(text: &str) -> String {
    let mut hasher = Hasher::new("yesgate/test/picture");
    hasher.field(text.as_bytes());
    hasher.finish().short()
}

const LONGEST_LINE: usize = 110;
const MOST_LINES: usize = 4;

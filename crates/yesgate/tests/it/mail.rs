//! Mail, through a real mail server: links to sign in with, and notices.

mod links;
mod notices;
mod way;

use serde_json::Value;
use yesgate_testkit::{Gateway, MailServer, Page, RestHost, ServeStage, Visitor};

/// What no mail may hold.
const MARK: &str = "canary-91c2";

const RULES: &str = r#"
[[rules]]
name = "everything"
tool = "notes/delete_everything"
then = "ask"
channel = "out_of_band"
approvers = ["ops"]
[[rules]]
name = "deletes"
tool = "notes/*"
then = "ask"
channel = "out_of_band"
reason = "canary-91c2 stands in the reason"
summary = "Delete {{args.id}}"
"#;

/// A gateway that sends mail, and the people that it knows: alice decides, vic looks, eve decides elsewhere, and the owner
/// has no address.
struct Play {
    stage: ServeStage,
    gateway: Gateway,
}

impl Play {
    /// Sends to this server, with these lines of configuration.
    fn new(server: &MailServer, lines: &str) -> Self {
        Self::via(&server.url(), lines)
    }

    fn via(url: &str, lines: &str) -> Self {
        let stage = ServeStage::new(env!("CARGO_BIN_EXE_yesgate"));
        let mail = format!("[mail]\nfrom = \"gate@example.org\"\nvia = \"{url}\"");
        let config = format!("{lines}\n{mail}\n{RULES}\n{}", stage.child("notes", &[]));
        let stage = stage.config(&config);
        for words in [
            ["alice", "--role", "approver", "--org", "local", "--mail", "alice@example.org"],
            ["vic", "--role", "viewer", "--org", "local", "--email", "vic@example.org"],
            ["eve", "--role", "approver", "--org", "other", "--mail", "eve@example.org"],
        ] {
            stage.stage().yesgate(&[["people", "add"].as_slice(), &words].concat()).ok();
        }
        let gateway = stage.start();
        Self { stage, gateway }
    }

    fn agent(&self) -> RestHost {
        self.gateway.rest()
    }

    /// Somebody wants a link.
    async fn ask(&self, browser: &Visitor, address: &str) -> Page {
        let page = browser.get("/sign-in").await;
        assert!(page.html.contains("Send me a link"), "{}", page.html);
        browser.post("/sign-in/mail", &[("mail", address)]).await
    }

    /// How many letters became this.
    async fn counted(&self, became: &str) -> u64 {
        let page = self.gateway.visitor().get("/metrics").await;
        let wanted = format!("yesgate_mail_total{{outcome=\"{became}\"}} ");
        let line = page.html.lines().find_map(|line| line.strip_prefix(&wanted));
        line.unwrap_or_else(|| panic!("{}", page.html)).parse().unwrap()
    }

    /// What the audit trail says of people, in words such as `link_made`.
    fn steps(&self) -> Vec<Value> {
        let rows = self.stage.stage().audit();
        rows.into_iter().map(|row| row["entry"].clone()).filter(|event| event["step"].is_string()).collect()
    }

    fn finish(mut self) {
        assert!(self.gateway.close().success(), "{}", self.gateway.stderr());
        assert_eq!(self.stage.check_history("notes", &[]).gated, 0);
    }
}

/// The end of a link, which lets somebody in.
fn code(link: &str) -> String {
    link.rsplit_once('#').unwrap().1.to_owned()
}

/// The digits that the page of the asking browser shows.
fn digits(page: &Page) -> String {
    let after = page.html.split("class=\"digits\">").nth(1).unwrap_or_else(|| panic!("{}", page.html));
    after.split('<').next().unwrap().to_owned()
}

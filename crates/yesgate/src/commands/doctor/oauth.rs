//! `doctor --oauth`: goes the way of a client that connects, from outside and step by step, and names the step that fails.
//!
//! - INVARIANT: it knows of the gateway what a stranger knows, until somebody says as whom to go on.
//! - INVARIANT: what it registered it removes again, and no secret is printed.

mod outside;
mod person;
mod stranger;

use serde::Serialize;
use serde_json::{Value, json};
use url::Url;
use yesgate_core::id::{OrgId, PrincipalId};
use yesgate_core::render::Sanitized;

use self::outside::Outside;
use super::super::pages::office::{Office, Sight};
use super::super::people;
use super::Weight;
use crate::output::{self, Done};
use crate::settings::Settings;

/// One step of the way.
#[derive(Debug, Serialize)]
struct Step {
    weight: Weight,
    step: &'static str,
    text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'static str>,
}

/// What is wrong with a step, and what to do about it.
#[derive(Debug)]
struct Fault {
    text: String,
    hint: &'static str,
}

type Stepped<T> = Result<T, Fault>;

fn fault(text: impl Into<String>, hint: &'static str) -> Fault {
    Fault { text: text.into(), hint }
}

/// Goes the way, and prints it.
pub(in crate::commands) async fn run(
    settings: &Settings,
    url: Option<String>,
    account: Option<(OrgId, PrincipalId)>,
    as_json: bool,
) -> anyhow::Result<Done> {
    let endpoint = endpoint(settings, url)?;
    let mut way = Way { outside: Outside::new(&endpoint)?, endpoint, steps: Vec::new() };
    if let Err(step) = way.go(settings, account).await {
        way.steps.push(step);
    }
    let broken = way.steps.iter().any(|step| step.weight == Weight::Mend);
    if as_json {
        output::json(&way.steps)?;
    } else {
        print(&way.steps);
    }
    Ok(if broken { Done::Problem } else { Done::Ok })
}

fn print(steps: &[Step]) {
    for step in steps {
        let mark = match step.weight {
            Weight::Fine => "ok  ",
            Weight::Know => "know",
            Weight::Mend => "FAIL",
        };
        output::line(format_args!("{mark}  {:<13} {}", step.step, Sanitized::line(&step.text)));
        if let Some(hint) = step.hint {
            output::line(format_args!("{:<19} Hint: {hint}", ""));
        }
    }
}

/// What a person would paste into a client: what is given, or where the gateway of this home is.
fn endpoint(settings: &Settings, url: Option<String>) -> anyhow::Result<Url> {
    let text = url.unwrap_or_else(|| {
        let found = Office::of(&settings.home).look().ok().and_then(Sight::origin);
        found.unwrap_or_else(|| people::origin(&settings.config.serve))
    });
    let mut url = Url::parse(&text).map_err(|error| anyhow::anyhow!("`{text}` is no address: {error}"))?;
    if url.path() == "/" {
        url.set_path("/api/mcp");
    }
    Ok(url)
}

/// The way, as far as it was gone.
struct Way {
    outside: Outside,
    /// What a person pastes.
    endpoint: Url,
    steps: Vec<Step>,
}

/// What the gateway says of itself as a server of tokens.
#[derive(Clone, Debug)]
struct Described {
    issuer: String,
    authorize: String,
    token: String,
    register: Option<String>,
    revoke: Option<String>,
}

/// What is known after a registration.
#[derive(Clone, Debug)]
struct Registered {
    id: String,
    /// Where it is removed again, and with what.
    management: Option<(String, String)>,
}

impl Way {
    async fn go(&mut self, settings: &Settings, account: Option<(OrgId, PrincipalId)>) -> Result<(), Step> {
        let metadata = self.challenge().await;
        let metadata = self.step("challenge", metadata)?;
        let issuer = self.resource(&metadata).await;
        let issuer = self.step("resource", issuer)?;
        let described = self.server(&issuer).await;
        let described = self.step("server", described)?;
        let is_own = Url::parse(&issuer.0).is_ok_and(|issuer| issuer.origin() == self.endpoint.origin());
        if !is_own {
            self.know(
                "external",
                "tokens are given out by somebody else; what they ask of clients is theirs to say",
            );
            return Ok(());
        }
        let checked = self.alias(&described).await;
        self.step("alias", checked)?;
        let checked = self.preflight(&described).await;
        self.step("preflight", checked)?;
        let checked = self.nothing().await;
        self.step("well-known", checked)?;
        let Some(register) = described.register.clone() else {
            self.know(
                "registration",
                "clients cannot register by themselves here; the rest needs one that can",
            );
            return Ok(());
        };
        let registered = self.register(&register).await;
        let registered = self.step("registration", registered)?;
        let went = self.further(settings, &described, &registered, account).await;
        let removed = self.unregister(&registered).await;
        let removed = self.step("clean-up", removed);
        went.and(removed.map(drop))
    }

    async fn further(
        &mut self,
        settings: &Settings,
        described: &Described,
        registered: &Registered,
        account: Option<(OrgId, PrincipalId)>,
    ) -> Result<(), Step> {
        let checked = self.authorize(described, registered).await;
        self.step("authorize", checked)?;
        let checked = self.wrong_code(described, registered).await;
        self.step("token", checked)?;
        match account {
            Some((org, user)) => self.as_person(settings, described, registered, &org, &user).await,
            None => {
                self.know(
                    "person",
                    "a person has to say yes from here on; `--as USER` goes on as one of this home",
                );
                Ok(())
            }
        }
    }

    /// Notes how a step went; a fault ends the way.
    fn step<T: Told>(&mut self, step: &'static str, stepped: Stepped<T>) -> Result<T, Step> {
        match stepped {
            Ok(told) => {
                self.steps.push(Step { weight: Weight::Fine, step, text: told.told(), hint: None });
                Ok(told)
            }
            Err(Fault { text, hint }) => Err(Step { weight: Weight::Mend, step, text, hint: Some(hint) }),
        }
    }

    fn know(&mut self, step: &'static str, text: impl Into<String>) {
        self.steps.push(Step { weight: Weight::Know, step, text: text.into(), hint: None });
    }
}

/// Where the endpoint is described.
struct Metadata(String);

/// Who gives out tokens for it.
struct Issuer(String);

/// What a step that went well says.
trait Told {
    fn told(&self) -> String;
}

impl Told for &'static str {
    fn told(&self) -> String {
        (*self).to_owned()
    }
}

impl Told for Metadata {
    fn told(&self) -> String {
        format!("without a token there is 401, and the way to {}", self.0)
    }
}

impl Told for Issuer {
    fn told(&self) -> String {
        format!("the endpoint is described, with its exact address; tokens are {}'s", self.0)
    }
}

impl Told for Described {
    fn told(&self) -> String {
        format!("{} describes itself as clients need it", self.issuer)
    }
}

impl Told for Registered {
    fn told(&self) -> String {
        format!("a client can register; this one was {}", self.id)
    }
}

/// A text member of what was said.
fn text<'a>(said: &'a Value, key: &str) -> Option<&'a str> {
    said.get(key)?.as_str()
}

/// A request that needs no rights, and gets no answer without a token.
fn ping() -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "ping"})
}

/// Where the answer would be brought. Nobody listens there, and nobody is sent there: the doctor reads the address itself.
const REDIRECT: &str = "http://127.0.0.1:9/yesgate-doctor";
const STATE: &str = "yesgate-doctor";
/// RFC 7636 Appendix B. It need not be secret: the code is never given to a browser.
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

//! The rest of the way, as a person of this home: signing in, the real page, a token, a request, the next token, and its end.

use serde_json::{Value, json};
use url::Url;
use yesgate_core::id::{OrgId, PrincipalId};

use super::super::super::people;
use super::outside::Said;
use super::{Described, REDIRECT, Registered, STATE, Step, Stepped, VERIFIER, Way, fault, text};
use crate::settings::Settings;

impl Way {
    pub(super) async fn as_person(
        &mut self,
        settings: &Settings,
        described: &Described,
        registered: &Registered,
        org: &OrgId,
        user: &PrincipalId,
    ) -> Result<(), Step> {
        let signed_in = self.sign_in(settings, described, org, user).await;
        self.step("sign-in", signed_in)?;
        let code = self.consent(described, registered).await;
        let code = self.step("consent", code)?;
        let tokens = self.exchange(described, registered, &code).await;
        let tokens = self.step("tokens", tokens)?;
        let listed = self.list_tools(&tokens.access).await;
        self.step("request", listed)?;
        let refreshed = self.refresh(described, registered, &tokens).await;
        let refreshed = self.step("refresh", refreshed)?;
        let ended = self.give_back(described, registered, &refreshed).await;
        self.step("revoke", ended)?;
        Ok(())
    }

    async fn sign_in(
        &self,
        settings: &Settings,
        described: &Described,
        org: &OrgId,
        user: &PrincipalId,
    ) -> Stepped<&'static str> {
        let here = "`--as` works on the machine and in the home of the gateway: `yesgate people list` lists everybody";
        let no_ledger = |error: anyhow::Error| fault(format!("{error:#}"), here);
        let (ledger, _) = settings.ledger().await.map_err(no_ledger)?;
        let Some(person) = people::find(&ledger, org, user).await.map_err(no_ledger)? else {
            return Err(fault(format!("there is nobody called `{user}` in this home"), here));
        };
        let (secret, _) = people::make_link(&ledger, &person).await.map_err(no_ledger)?;
        let address = format!("{}/sign-in", described.issuer);
        let said = self.outside.form(&address, &[("code", secret.expose())]).await?;
        match said.status {
            200 | 302 | 303 => Ok("a link of this home signs in"),
            status => Err(fault(format!("signing in is answered with {status}"), here)),
        }
    }

    async fn consent(&self, described: &Described, registered: &Registered) -> Stepped<Code> {
        let question = self.question(described, &registered.id)?;
        let mut said = self.outside.follow(&question).await?;
        for _ in 0..MOST_TRIES {
            let Some(form) = Form::of(&said) else { break };
            // Nobody reads faster, and a yes that comes faster is not taken.
            tokio::time::sleep(READING).await;
            let action = self.outside.within(&question, &form.action).unwrap_or_else(|| question.clone());
            let fields: Vec<(&str, &str)> =
                form.fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
            said = self.outside.form(&action, &fields).await?;
        }
        let back = said.one("location").and_then(|place| Url::parse(place).ok());
        let Some(back) = back.filter(|back| back.as_str().starts_with(REDIRECT)) else {
            return Err(fault(
                format!(
                    "there is no page to say yes on, or the yes leads nowhere; the last answer was {}",
                    said.status
                ),
                "open the address that a client prints in a browser; does a proxy change cookies, `Origin` or `Location`?",
            ));
        };
        let part =
            |key: &str| back.query_pairs().find(|(name, _)| name == key).map(|(_, value)| value.into_owned());
        if part("state").as_deref() != Some(STATE)
            || part("iss").as_deref() != Some(described.issuer.as_str())
        {
            return Err(fault(
                "the answer has another `state` or `iss`",
                "a proxy must not change addresses in `Location`",
            ));
        }
        part("code").map(Code).ok_or_else(|| {
            fault(
                format!("there is no code: {}", part("error").unwrap_or_default()),
                "the page said no; does this person exist?",
            )
        })
    }

    async fn exchange(&self, described: &Described, registered: &Registered, code: &Code) -> Stepped<Tokens> {
        let fields = [
            ("grant_type", "authorization_code"),
            ("code", code.0.as_str()),
            ("redirect_uri", REDIRECT),
            ("client_id", &registered.id),
            ("code_verifier", VERIFIER),
            ("resource", self.endpoint.as_str()),
        ];
        Tokens::of(&self.outside.form(&described.token, &fields).await?, "the code")
    }

    async fn list_tools(&self, access: &str) -> Stepped<&'static str> {
        let said = self.outside.call("POST", self.endpoint.as_str(), Some(access), &tools_list()).await?;
        match said.status {
            200 => Ok("a request with the token is answered"),
            status => Err(fault(
                format!("a request with the new token is answered with {status}: {}", said.error()),
                "does a proxy remove `Authorization`?",
            )),
        }
    }

    async fn refresh(
        &self,
        described: &Described,
        registered: &Registered,
        tokens: &Tokens,
    ) -> Stepped<Tokens> {
        let Some(refresh) = tokens.refresh.as_deref() else {
            return Err(fault("there is no refresh token", "clients would have to connect again every hour"));
        };
        let fields =
            [("grant_type", "refresh_token"), ("refresh_token", refresh), ("client_id", &registered.id)];
        Tokens::of(&self.outside.form(&described.token, &fields).await?, "the refresh token")
    }

    async fn give_back(
        &self,
        described: &Described,
        registered: &Registered,
        tokens: &Tokens,
    ) -> Stepped<&'static str> {
        let (Some(address), Some(refresh)) = (&described.revoke, &tokens.refresh) else {
            return Err(fault(
                "tokens cannot be given back",
                "`revocation_endpoint` or the refresh token is missing",
            ));
        };
        let fields = [("token", refresh.as_str()), ("client_id", registered.id.as_str())];
        let said = self.outside.form(address, &fields).await?;
        if said.status != 200 {
            return Err(fault(
                format!("giving a token back is answered with {}", said.status),
                "a proxy must pass it on",
            ));
        }
        let said =
            self.outside.call("POST", self.endpoint.as_str(), Some(&tokens.access), &tools_list()).await?;
        match said.status {
            401 => Ok("a token that was given back counts no more"),
            status => Err(fault(
                format!("a token that was given back still counts: {status}"),
                "something in between answers in the gateway's place",
            )),
        }
    }
}

/// What a browser brings back.
struct Code(String);

/// What a client holds.
struct Tokens {
    access: String,
    refresh: Option<String>,
}

impl Tokens {
    fn of(said: &Said, what: &str) -> Stepped<Self> {
        if said.status != 200 {
            return Err(fault(
                format!("{what} is answered with {}: {}", said.status, said.error()),
                "the log of `yesgate serve` and `yesgate audit list` may say more",
            ));
        }
        let body = said.json("the answer with tokens")?;
        let member = |key: &str| text(&body, key).map(str::to_owned);
        let access = member("access_token")
            .ok_or_else(|| fault("there is no access token", "a proxy may have changed the answer"))?;
        if member("token_type").as_deref() != Some("Bearer")
            || member("scope").is_none()
            || !body.get("expires_in").is_some_and(Value::is_u64)
        {
            return Err(fault(
                "`token_type`, `scope` or `expires_in` is missing",
                "a proxy may have changed the answer",
            ));
        }
        Ok(Self { access, refresh: member("refresh_token") })
    }
}

impl super::Told for Code {
    fn told(&self) -> String {
        "the yes on the page brought a code".to_owned()
    }
}

impl super::Told for Tokens {
    fn told(&self) -> String {
        match self.refresh {
            Some(_) => "there are tokens, with one for the next ones".to_owned(),
            None => "there is an access token".to_owned(),
        }
    }
}

/// The form with which a person says yes, as a browser without scripts would send it.
struct Form {
    action: String,
    fields: Vec<(String, String)>,
}

impl Form {
    fn of(page: &Said) -> Option<Self> {
        let html = page.text();
        let forms = html.split("<form ").skip(1).filter_map(|form| form.split("</form>").next());
        let form = forms.into_iter().find(|form| form.contains("name=\"answer\""))?;
        let part = |tag: &str, key: &str| {
            let (_, rest) = tag.split_once(&format!(" {key}=\""))?;
            rest.split_once('"').map(|(inside, _)| inside.replace("&amp;", "&").replace("&#38;", "&"))
        };
        let tag = |text: &str| format!(" {}", text.split('>').next().unwrap_or_default());
        let inputs = form.split("<input ").skip(1).map(tag);
        let is_sent = |input: &String| !input.contains("type=\"checkbox\"") || input.contains(" checked");
        let mut fields: Vec<(String, String)> = inputs
            .filter(is_sent)
            .filter_map(|input| Some((part(&input, "name")?, part(&input, "value")?)))
            .collect();
        let buttons = form.split("<button ").skip(1).map(tag);
        let yes = buttons.filter_map(|button| part(&button, "value")).find(|value| value != "deny")?;
        fields.push(("answer".to_owned(), yes));
        Some(Self { action: part(&tag(&format!(" {form}")), "action")?, fields })
    }
}

fn tools_list() -> Value {
    json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/list",
        "params": {"_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "yesgate doctor", "version": env!("CARGO_PKG_VERSION")},
            "io.modelcontextprotocol/clientCapabilities": {},
        }},
    })
}

/// How often a yes is tried that came too fast.
const MOST_TRIES: usize = 4;
/// How long somebody needs to read the page.
const READING: std::time::Duration = std::time::Duration::from_millis(1_200);

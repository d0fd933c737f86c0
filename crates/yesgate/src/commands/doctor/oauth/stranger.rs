//! What a stranger can try: everything up to the moment in which a person has to say yes.

use serde_json::{Value, json};
use url::Url;

use super::{
    CHALLENGE, Described, Issuer, Metadata, REDIRECT, Registered, STATE, Stepped, VERIFIER, Way, fault, ping,
    text,
};

impl Way {
    /// O-D5: whoever comes without a token is told where to get one, however they come.
    pub(super) async fn challenge(&self) -> Stepped<Metadata> {
        let mut address = None;
        for method in ["POST", "GET", "DELETE"] {
            let said = self.outside.call(method, self.endpoint.as_str(), None, &ping()).await?;
            if said.status != 401 {
                return Err(fault(
                    format!(
                        "{method} {} without a token is answered with {}, not 401",
                        self.endpoint, said.status
                    ),
                    "is this the MCP endpoint, is `[oauth]` on, and does a proxy in between answer by itself?",
                ));
            }
            let challenges = said.all("www-authenticate");
            let [challenge] = challenges.as_slice() else {
                return Err(fault(
                    format!("{method} has {} headers `WWW-Authenticate`, not one", challenges.len()),
                    "a proxy must neither remove nor add this header",
                ));
            };
            if !challenge.starts_with("Bearer ") || challenge.contains("error=") {
                return Err(fault(
                    format!("{method} is challenged with `{challenge}`"),
                    "a request without a token gets `Bearer` without an error; a proxy may have written its own",
                ));
            }
            let found =
                challenge.split_once("resource_metadata=\"").and_then(|(_, rest)| rest.split('"').next());
            let Some(found) = found else {
                return Err(fault(
                    "the challenge names no `resource_metadata`",
                    "clients find the gateway by it; is `[oauth]` on?",
                ));
            };
            address = Some(found.to_owned());
        }
        address.map(Metadata).ok_or_else(|| fault("there is no challenge", "is `[oauth]` on?"))
    }

    /// O-D4: the endpoint's own description, with its exact address.
    pub(super) async fn resource(&self, metadata: &Metadata) -> Stepped<Issuer> {
        let said = self.outside.get(&metadata.0).await?;
        let described = said.json("the description of the endpoint")?;
        let resource = text(&described, "resource").unwrap_or_default();
        if resource != self.endpoint.as_str() {
            return Err(fault(
                format!("clients are told that the endpoint is {resource}, and it is at {}", self.endpoint),
                "set `public_url` in [serve] to the address that clients paste: many compare the two letter by letter",
            ));
        }
        let issuer = described.pointer("/authorization_servers/0").and_then(Value::as_str);
        issuer.map(|issuer| Issuer(issuer.to_owned())).ok_or_else(|| {
            fault(
                "the description names no `authorization_servers`",
                "the gateway and its proxy may be of different versions",
            )
        })
    }

    /// O-D1, O-D2: the server's description, and that its endpoints are there.
    pub(super) async fn server(&self, issuer: &Issuer) -> Stepped<Described> {
        let address = format!("{}/.well-known/oauth-authorization-server", issuer.0);
        let said = self.outside.get(&address).await?;
        let described = said.json("the description of the server")?;
        let member = |key: &str| text(&described, key).map(str::to_owned);
        if member("issuer").as_deref() != Some(issuer.0.as_str()) {
            return Err(fault(
                format!(
                    "it calls itself {}, and {} led there",
                    text(&described, "issuer").unwrap_or_default(),
                    issuer.0
                ),
                "the issuer must be the same letter by letter: `public_url` in [serve], and no proxy that rewrites bodies",
            ));
        }
        for (key, word) in [
            ("code_challenge_methods_supported", "S256"),
            ("token_endpoint_auth_methods_supported", "none"),
            ("response_types_supported", "code"),
        ] {
            let has = described
                .get(key)
                .and_then(Value::as_array)
                .is_some_and(|words| words.iter().any(|known| known == word));
            if !has {
                return Err(fault(format!("`{key}` does not list `{word}`"), "clients give up without it"));
            }
        }
        let needed = |key: &'static str| {
            member(key).ok_or_else(|| {
                fault(format!("`{key}` is missing"), "clients need every endpoint of the flow")
            })
        };
        Ok(Described {
            issuer: issuer.0.clone(),
            authorize: needed("authorization_endpoint")?,
            token: needed("token_endpoint")?,
            register: member("registration_endpoint"),
            revoke: member("revocation_endpoint"),
        })
    }

    /// O-D3: clients that know only the other name find the same.
    pub(super) async fn alias(&self, described: &Described) -> Stepped<&'static str> {
        let said =
            self.outside.get(&format!("{}/.well-known/openid-configuration", described.issuer)).await?;
        let alias = said.json("the description under its other name")?;
        let is_same = text(&alias, "issuer") == Some(described.issuer.as_str())
            && text(&alias, "token_endpoint") == Some(described.token.as_str());
        if !is_same {
            return Err(fault(
                "the description under `openid-configuration` is another one",
                "something else answers at /.well-known/openid-configuration; a proxy must send it to the gateway",
            ));
        }
        Ok("the description is there under both names")
    }

    /// O-D10: clients that run in a browser may come.
    pub(super) async fn preflight(&self, described: &Described) -> Stepped<&'static str> {
        let headers = [
            ("origin", "https://doctor.invalid"),
            ("access-control-request-method", "POST"),
            ("access-control-request-headers", "content-type"),
        ];
        let said = self.outside.send("OPTIONS", &described.token, &headers, String::new()).await?;
        if said.status >= 300 || said.one("access-control-allow-origin").is_none() {
            return Err(fault(
                format!("the token endpoint answers a browser's preflight with {}", said.status),
                "a proxy must let OPTIONS through, without asking for anything",
            ));
        }
        Ok("clients in a browser may ask for tokens")
    }

    /// O-D3: what is not there says so, instead of showing a page.
    pub(super) async fn nothing(&self) -> Stepped<&'static str> {
        let address = self.endpoint.join("/.well-known/there-is-no-such-thing");
        let address = address.map_err(|error| fault(error.to_string(), "is this an address?"))?;
        let said = self.outside.get(address.as_str()).await?;
        let is_json = said.one("content-type").is_some_and(|kind| kind.starts_with("application/json"));
        if said.status != 404 || !is_json {
            return Err(fault(
                format!("an unknown well-known address is answered with {} and no JSON", said.status),
                "clients take a page for a description; a proxy must not answer for /.well-known/",
            ));
        }
        Ok("unknown addresses are answered with 404")
    }

    pub(super) async fn register(&self, address: &str) -> Stepped<Registered> {
        let body = json!({
            "client_name": "yesgate doctor",
            "redirect_uris": [REDIRECT],
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "token_endpoint_auth_method": "none",
        });
        let headers = [("content-type", "application/json")];
        let said = self.outside.send("POST", address, &headers, body.to_string()).await?;
        if said.status != 201 {
            return Err(fault(
                format!("registering is answered with {}: {}", said.status, said.error()),
                "`registration` in [oauth] says who may; with 429, try again in a minute",
            ));
        }
        let made = said.json_of(201, "the registration")?;
        let member = |key: &str| text(&made, key).map(str::to_owned);
        let id = member("client_id").ok_or_else(|| {
            fault("the registration has no `client_id`", "a proxy may have changed the answer")
        })?;
        let management = member("registration_client_uri").zip(member("registration_access_token"));
        Ok(Registered { id, management })
    }

    pub(super) async fn unregister(&self, registered: &Registered) -> Stepped<&'static str> {
        let Some((address, token)) = &registered.management else {
            return Ok("the registration is forgotten by itself when nobody uses it");
        };
        let bearer = format!("Bearer {token}");
        let said = self
            .outside
            .send("DELETE", address, &[("authorization", bearer.as_str())], String::new())
            .await?;
        match said.status {
            200 | 204 => Ok("what was registered is removed again"),
            status => Err(fault(
                format!("removing the registration is answered with {status}"),
                "`yesgate clients list --registered` lists it; `yesgate clients revoke ID` ends it",
            )),
        }
    }

    /// O-A1, O-A6: a person is shown a page of ours; nobody is sent anywhere else.
    pub(super) async fn authorize(
        &self,
        described: &Described,
        registered: &Registered,
    ) -> Stepped<&'static str> {
        let said = self.outside.follow(&self.question(described, &registered.id)?).await?;
        if said.status != 200 || !said.is_page() {
            return Err(fault(
                format!("the page for people is answered with {}", said.status),
                "a proxy must pass /api/mcp/oauth/authorize and /sign-in on as they are",
            ));
        }
        let strange = self.outside.follow(&self.question(described, "client_nobody")?).await?;
        if strange.status != 400 || strange.one("location").is_some() {
            return Err(fault(
                format!("a client that nobody knows is answered with {}, not 400", strange.status),
                "whoever is not known must be sent nowhere",
            ));
        }
        Ok("people are asked on a page of the gateway")
    }

    pub(super) async fn wrong_code(
        &self,
        described: &Described,
        registered: &Registered,
    ) -> Stepped<&'static str> {
        let fields = [
            ("grant_type", "authorization_code"),
            ("code", "ygc_nobody"),
            ("redirect_uri", REDIRECT),
            ("client_id", &registered.id),
            ("code_verifier", VERIFIER),
        ];
        let said = self.outside.form(&described.token, &fields).await?;
        if said.status != 400 || said.error() != "invalid_grant" {
            return Err(fault(
                format!(
                    "a wrong code is answered with {} and `{}`, not 400 and `invalid_grant`",
                    said.status,
                    said.error()
                ),
                "a proxy must not answer for the token endpoint, nor change its answers",
            ));
        }
        if !said.one("cache-control").is_some_and(|value| value.contains("no-store")) {
            return Err(fault(
                "answers of the token endpoint may be kept by others",
                "a proxy must keep `Cache-Control: no-store`",
            ));
        }
        Ok("a wrong code gets no token")
    }

    /// What a client has the browser open.
    pub(super) fn question(&self, described: &Described, client: &str) -> Stepped<String> {
        let parameters = [
            ("response_type", "code"),
            ("client_id", client),
            ("redirect_uri", REDIRECT),
            ("state", STATE),
            ("code_challenge", CHALLENGE),
            ("code_challenge_method", "S256"),
            ("resource", self.endpoint.as_str()),
        ];
        Url::parse_with_params(&described.authorize, parameters).map(String::from).map_err(|error| {
            fault(format!("`authorization_endpoint` is no address: {error}"), "set `public_url` in [serve]")
        })
    }
}

//! What the authorization server answers: discovery, registration, consent, tokens, and the server itself.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use http::{Response, StatusCode, header};
use http_body_util::Full;
use hyper::body::Bytes;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use url::Url;

use super::{Grant, State, Visit};

type Answer = Response<Full<Bytes>>;

impl State {
    pub(super) fn answer(&mut self, issuer: &str, visit: &Visit) -> Answer {
        match visit.what.as_str() {
            what if !self.script.publishes && what.contains("/.well-known/") => {
                reply(StatusCode::NOT_FOUND, &json!({}))
            }
            "GET /mcp" | "GET /.well-known/oauth-protected-resource/mcp"
                if self.script.names_to_posts.is_some() =>
            {
                reply(StatusCode::NOT_FOUND, &json!({}))
            }
            "GET /mcp" | "POST /mcp" => self.server(issuer, visit),
            "GET /.well-known/oauth-protected-resource/mcp" | "GET /metadata.json" => {
                let metadata = json!({
                    "resource": format!("{issuer}/mcp"),
                    "authorization_servers": [issuer],
                    "scopes_supported": ["notes:read"],
                });
                document(metadata, &self.script.resource_metadata)
            }
            "GET /.well-known/oauth-authorization-server" => {
                let metadata = json!({
                    "issuer": issuer,
                    "authorization_endpoint": format!("{issuer}/authorize"),
                    "token_endpoint": format!("{issuer}/token"),
                    "registration_endpoint": format!("{issuer}/register"),
                    "response_types_supported": ["code"],
                    "code_challenge_methods_supported": ["S256"],
                    "authorization_response_iss_parameter_supported": true,
                    "scopes_supported": ["notes:read", "notes:write", "offline_access"],
                });
                document(metadata, &self.script.metadata)
            }
            "POST /register" => self.register(visit),
            "GET /authorize" => self.authorize(issuer, visit),
            "POST /token" => self.token(issuer, visit),
            _ => reply(StatusCode::NOT_FOUND, &json!({})),
        }
    }

    fn next(&mut self, prefix: &str) -> String {
        self.count += 1;
        format!("{prefix}{}-of-the-test", self.count)
    }

    /// The MCP server: it only looks at the token.
    fn server(&self, issuer: &str, visit: &Visit) -> Answer {
        let token = visit.authorization.as_deref().and_then(|value| value.strip_prefix("Bearer "));
        let metadata = match &self.script.names_to_posts {
            None => format!("resource_metadata=\"{issuer}/.well-known/oauth-protected-resource/mcp\""),
            Some(scope) => format!("resource_metadata=\"{issuer}/metadata.json\", scope=\"{scope}\""),
        };
        match (token.and_then(|token| self.access.get(token)), &self.script.needs) {
            (None, _) if !self.script.publishes => challenge(StatusCode::UNAUTHORIZED, "Bearer"),
            (None, _) => challenge(StatusCode::UNAUTHORIZED, &format!("Bearer {metadata}")),
            (Some(scopes), Some(needs)) if !scopes.split(' ').any(|scope| scope == needs) => {
                let value = format!("Bearer error=\"insufficient_scope\", scope=\"{needs}\", {metadata}");
                challenge(StatusCode::FORBIDDEN, &value)
            }
            (Some(_), _) => reply(StatusCode::OK, &json!({"ok": true})),
        }
    }

    fn register(&mut self, visit: &Visit) -> Answer {
        let asked: Value = serde_json::from_str(&visit.body).unwrap_or_default();
        let id = self.next("client-");
        let mut given = json!({"client_id": id, "redirect_uris": asked["redirect_uris"]});
        if self.script.gives_secret {
            let secret = self.next("secret-");
            given["client_secret"] = secret.clone().into();
            self.secrets.insert(id, secret);
        }
        let redirects = asked["redirect_uris"].as_array().into_iter().flatten();
        self.redirects.extend(redirects.filter_map(Value::as_str).map(str::to_owned));
        reply(StatusCode::CREATED, &given)
    }

    /// The person says yes at once; the browser is sent back.
    fn authorize(&mut self, issuer: &str, visit: &Visit) -> Answer {
        let given = |name: &str| visit.parameters.get(name).cloned().unwrap_or_default();
        let is_sound = given("response_type") == "code"
            && given("code_challenge_method") == "S256"
            && given("code_challenge").len() == 43
            && given("resource") == format!("{issuer}/mcp")
            && !given("state").is_empty()
            && !given("client_id").is_empty();
        let Ok(mut back) = Url::parse(&given("redirect_uri")) else {
            return reply(StatusCode::BAD_REQUEST, &json!({"error": "no redirect"}));
        };
        if !is_sound || (!self.redirects.is_empty() && !self.redirects.contains(back.as_str())) {
            return reply(
                StatusCode::BAD_REQUEST,
                &json!({"error": "unsound", "parameters": visit.parameters}),
            );
        }
        if let Some(error) = &self.script.denies {
            back.query_pairs_mut().append_pair("error", error);
        } else {
            let code = self.next("code-");
            back.query_pairs_mut().append_pair("code", &code);
            let grant = Grant {
                client: given("client_id"),
                redirect: given("redirect_uri"),
                challenge: given("code_challenge"),
                scope: given("scope"),
            };
            self.codes.insert(code, grant);
        }
        back.query_pairs_mut().append_pair("state", &given("state"));
        match self.script.iss.as_deref().unwrap_or(issuer) {
            "" => {}
            issuer => {
                back.query_pairs_mut().append_pair("iss", issuer);
            }
        }
        let mut answer = reply(StatusCode::FOUND, &json!({}));
        insert(&mut answer, header::LOCATION, back.as_str());
        answer
    }

    fn token(&mut self, issuer: &str, visit: &Visit) -> Answer {
        let given = |name: &str| visit.parameters.get(name).cloned().unwrap_or_default();
        if let Some(status) = self.script.fails {
            return reply(StatusCode::from_u16(status).expect("a status"), &json!({}));
        }
        if given("resource") != format!("{issuer}/mcp") {
            return refuse("invalid_target");
        }
        let grant = match given("grant_type").as_str() {
            "authorization_code" => self.codes.remove(&given("code")).filter(|grant| {
                let hash = Sha256::digest(given("code_verifier").as_bytes());
                BASE64_URL_SAFE_NO_PAD.encode(hash) == grant.challenge
                    && given("redirect_uri") == grant.redirect
            }),
            // Rotation: a refresh token works once.
            "refresh_token" => self.refresh.remove(&given("refresh_token")),
            _ => None,
        };
        let Some(grant) = grant else { return refuse("invalid_grant") };
        if !self.knows(visit, &grant.client) {
            return refuse("invalid_client");
        }
        let access = self.next("access-");
        self.access.insert(access.clone(), grant.scope.clone());
        let mut tokens = json!({"access_token": access, "token_type": "Bearer", "scope": grant.scope});
        if let Some(lifetime) = self.script.lifetime {
            tokens["expires_in"] = lifetime.into();
        }
        if self.script.refreshes {
            let refresh = self.next("refresh-");
            tokens["refresh_token"] = refresh.clone().into();
            self.refresh.insert(refresh, grant);
        }
        reply(StatusCode::OK, &tokens)
    }

    /// Whether the request comes from the client of the grant, with its secret if it has one.
    fn knows(&self, visit: &Visit, client: &str) -> bool {
        match self.secrets.get(client).or_else(|| self.script.secrets.get(client)) {
            None => visit.parameters.get("client_id").is_some_and(|id| id == client),
            Some(secret) => {
                let basic = format!("Basic {}", BASE64_STANDARD.encode(format!("{client}:{secret}")));
                visit.authorization.as_deref() == Some(basic.as_str())
            }
        }
    }
}

fn document(mut metadata: Value, changes: &Value) -> Answer {
    let members = metadata.as_object_mut().expect("metadata is an object");
    for (name, value) in changes.as_object().into_iter().flatten() {
        if value.is_null() {
            members.remove(name);
        } else {
            members.insert(name.clone(), value.clone());
        }
    }
    reply(StatusCode::OK, &metadata)
}

fn refuse(error: &str) -> Answer {
    reply(StatusCode::BAD_REQUEST, &json!({"error": error}))
}

fn challenge(status: StatusCode, value: &str) -> Answer {
    let mut answer = reply(status, &json!({}));
    insert(&mut answer, header::WWW_AUTHENTICATE, value);
    answer
}

fn reply(status: StatusCode, body: &Value) -> Answer {
    let mut answer = Response::new(Full::new(Bytes::from(body.to_string())));
    *answer.status_mut() = status;
    insert(&mut answer, header::CONTENT_TYPE, "application/json");
    answer
}

fn insert(answer: &mut Answer, name: header::HeaderName, value: &str) {
    answer.headers_mut().insert(name, value.parse().expect("a header's value"));
}

//! Signing in by way of a real provider of OpenID Connect, and of one that lies.

use serde_json::{Value, json};
use yesgate_testkit::{Gateway, OIDC_SECRET, OidcServer, Page, ServeStage, Visitor, eventually, until};

/// A gateway that believes a provider: alice has an address, carol a subject, and people of one domain may look.
struct Play {
    provider: OidcServer,
    stage: ServeStage,
    gateway: Gateway,
}

impl Play {
    fn new() -> Self {
        let provider = OidcServer::start();
        let stage = ServeStage::new(env!("CARGO_BIN_EXE_yesgate")).env("OIDC_SECRET", OIDC_SECRET);
        let oidc = format!(
            "[sign_in.oidc]\nissuer = \"{}\"\nclient_id = \"yesgate\"\nclient_secret = \"${{OIDC_SECRET}}\"\n\
             name = \"the house\"\nsubjects = {{ carol = \"c-7\" }}\nnew = {{ \"guests.example\" = \"viewer\" }}",
            provider.issuer()
        );
        let config = format!("{oidc}\n{}", stage.child("notes", &[]));
        let stage = stage.config(&config);
        for words in [
            ["alice", "--mail", "alice@example.org", "--org", "local"],
            ["carol", "--mail", "carol@example.org", "--org", "local"],
            ["eve", "--mail", "eve@example.org", "--org", "other"],
        ] {
            stage.stage().yesgate(&[["people", "add"].as_slice(), &words].concat()).ok();
        }
        let gateway = stage.start();
        provider.serves(gateway.url());
        Self { provider, stage, gateway }
    }

    /// Somebody with these claims comes in a browser of their own.
    async fn comes(&self, account: Value) -> (Visitor, Page) {
        self.provider.knows(account);
        let browser = self.gateway.visitor();
        let page = self.provider.through(&browser).await;
        (browser, page)
    }

    /// Whoever the page was for is not signed in.
    async fn is_refused(&self, browser: &Visitor, page: &Page, why: &str) {
        assert_eq!(page.status, 403, "{why}: {}", page.html);
        assert_eq!(browser.get("/").await.status, 303, "{why}");
    }

    fn people(&self) -> Vec<Value> {
        let listed = self.stage.stage().yesgate(&["people", "list", "--json"]).ok().json();
        listed.as_array().unwrap().clone()
    }

    fn finish(mut self) {
        assert!(self.gateway.close().success(), "{}", self.gateway.stderr());
        assert_eq!(self.stage.check_history("notes", &[]).gated, 0);
    }
}

fn alice() -> Value {
    json!({"sub": "a-1", "email": "Alice@example.org", "email_verified": true})
}

/// A verified address, or a subject that the operator wrote down, is somebody here; nobody else is anybody.
#[tokio::test]
async fn whoever_the_provider_knows_comes_in_as_whom_the_operator_said() {
    let play = Play::new();
    assert!(play.gateway.visitor().get("/sign-in").await.html.contains("Sign in with <bdi>the house</bdi>"));
    let doctor = play.stage.stage().yesgate(&["doctor"]);
    assert!(doctor.stdout.contains("ok    provider"), "{}", doctor.stdout);
    let (browser, page) = play.comes(alice()).await;
    assert_eq!((page.status, page.header("location")), (303, Some("/")), "{}", page.html);
    let inbox = browser.get("/sign-in").await;
    assert!(inbox.html.contains("signed in as <strong><bdi>alice</bdi>"), "{}", inbox.html);
    let rows = play.stage.stage().audit();
    let signed_in = rows.iter().find(|row| row["entry"]["step"] == "signed_in").unwrap();
    assert_eq!(signed_in["entry"]["way"], "oidc");

    // Carol comes by her subject, whatever her address is there, and not by her address alone.
    let (_, page) = play.comes(json!({"sub": "c-7"})).await;
    assert_eq!(page.status, 303, "{}", page.html);
    for (account, why) in [
        (
            json!({"sub": "x", "email": "carol@example.org", "email_verified": true}),
            "another subject is written down",
        ),
        (
            json!({"sub": "a-1", "email": "alice@example.org", "email_verified": false}),
            "the address is not verified",
        ),
        (json!({"sub": "a-1", "email": "alice@example.org"}), "nobody says that it is verified"),
        (
            json!({"sub": "e", "email": "eve@example.org", "email_verified": true}),
            "she is of another organisation",
        ),
        (json!({"sub": "z", "email": "zoe@example.org", "email_verified": true}), "nobody has that address"),
        (json!({"sub": "z"}), "there is no address"),
    ] {
        let (browser, page) = play.comes(account).await;
        play.is_refused(&browser, &page, why).await;
    }
    let before = play.people().len();
    let guest = json!({"sub": "g", "email": "Gil@guests.example", "email_verified": true});
    let (browser, page) = play.comes(guest.clone()).await;
    assert_eq!(page.status, 303, "{}", page.html);
    assert_eq!((browser.get("/").await.status, browser.get("/people").await.status), (200, 403));
    let people = play.people();
    assert_eq!(people.len(), before + 1);
    let gil = people.last().unwrap();
    assert_eq!((&gil["name"], &gil["role"]), (&json!("gil@guests.example"), &json!("viewer")));
    play.stage.stage().yesgate(&["people", "remove", "gil@guests.example"]).ok();
    let (browser, page) = play.comes(guest).await;
    play.is_refused(&browser, &page, "whoever was removed stays removed").await;
    let said = play.gateway.stderr();
    assert!(!said.contains(OIDC_SECRET) && !said.contains("gil@"), "{said}");
    play.finish();
}

/// A token that is not what it should be signs nobody in: each lie alone.
#[tokio::test]
async fn a_token_that_lies_signs_nobody_in() {
    let play = Play::new();
    let hour_ago = jiff::Timestamp::now().as_second() - 3600;
    let lies = [
        (json!({"claims": {"nonce": "another"}}), "another sign-in"),
        (json!({"claims": {"nonce": null}}), "another sign-in"),
        (json!({"claims": {"aud": "another"}}), "another client"),
        (json!({"claims": {"aud": ["yesgate", "another"]}}), "another client"),
        (json!({"claims": {"azp": "another"}}), "another client"),
        (json!({"claims": {"iss": "http://127.0.0.1:1"}}), "another issuer"),
        (json!({"claims": {"exp": hour_ago}}), "its time is over"),
        (json!({"claims": {"sub": null}}), "it names nobody"),
        (json!({"key": "other"}), "its signature is wrong"),
        (json!({"key": "none"}), "its algorithm is not one that is taken"),
        (json!({"key": "secret"}), "its algorithm is not one that is taken"),
    ];
    for (number, (lie, said)) in lies.into_iter().enumerate() {
        play.provider.knows(alice());
        play.provider.lies(lie.clone());
        let browser = play.gateway.visitor();
        let page = play.provider.through(&browser).await;
        play.is_refused(&browser, &page, &lie.to_string()).await;
        let last = eventually("the log says why", async || {
            let logged = play.gateway.stderr();
            let mut lines =
                logged.lines().filter(|line| line.contains("was not signed in by way of the provider"));
            lines.nth(number).map(str::to_owned)
        });
        let last = last.await;
        assert!(last.contains(said), "{lie}: {last}");
    }
    // The same, and the truth.
    play.provider.lies(json!({"claims": {"aud": ["yesgate"]}}));
    assert_eq!(play.provider.through(&play.gateway.visitor()).await.status, 303);
    play.finish();
}

/// O-K4: an answer counts in the browser that asked, once, from the issuer that was asked.
#[tokio::test]
async fn an_answer_counts_once_and_in_the_browser_that_asked() {
    let play = Play::new();
    play.provider.knows(alice());
    let (browser, stranger) = (play.gateway.visitor(), play.gateway.visitor());
    let back = play.provider.sign_in(&play.provider.leave(&browser, &[]).await).await;
    // Somebody else is made to open it: with nothing in their browser, and with a sign-in of their own under way.
    play.is_refused(&stranger, &stranger.get(&back).await, "no cookie").await;
    play.provider.leave(&stranger, &[]).await;
    play.is_refused(&stranger, &stranger.get(&back).await, "another browser").await;
    for (from, to) in [("iss=http", "iss=https"), ("state=", "state=x"), ("code=", "other=")] {
        let fresh = play.gateway.visitor();
        let back = play.provider.sign_in(&play.provider.leave(&fresh, &[]).await).await;
        assert!(back.contains(from), "{back}");
        play.is_refused(&fresh, &fresh.get(&back.replace(from, to)).await, to).await;
    }
    let without = play.gateway.visitor();
    let unnamed = play.provider.sign_in(&play.provider.leave(&without, &[]).await).await;
    let unnamed = unnamed.split('&').filter(|part| !part.starts_with("iss=")).collect::<Vec<_>>().join("&");
    play.is_refused(&without, &without.get(&unnamed).await, "the provider promised to say who answers").await;

    assert_eq!(browser.get(&back).await.status, 303);
    let again = browser.get(&back).await;
    assert_eq!(again.status, 403, "what was begun is good once");
    // The code itself is spent too: in a sign-in of its own it proves nothing.
    let spent = back.split(['?', '&']).find(|part| part.starts_with("code=")).unwrap().to_owned();
    let other = play.gateway.visitor();
    let back = play.provider.sign_in(&play.provider.leave(&other, &[]).await).await;
    let fresh = back.split(['?', '&']).find(|part| part.starts_with("code=")).unwrap();
    play.is_refused(&other, &other.get(&back.replace(fresh, &spent)).await, "a code that was used").await;
    play.finish();
}

/// FC-25: whoever came for a question is led to it; a provider that is down is said to be, and lets nobody in.
#[tokio::test]
async fn whoever_came_for_a_question_is_led_to_it_and_a_provider_may_be_down() {
    let play = Play::new();
    play.provider.knows(alice());
    let browser = play.gateway.visitor();
    let intent = "intent_aaaaaaaaaaaaaaaa";
    let place = play.provider.leave(&browser, &[("to", intent)]).await;
    for part in ["code_challenge_method=S256", "scope=openid+email", "response_type=code", "nonce=", "state="]
    {
        assert!(place.contains(part), "{place}");
    }
    let page = browser.get(&play.provider.sign_in(&place).await).await;
    assert_eq!((page.status, page.header("location")), (303, Some("/approve/intent_aaaaaaaaaaaaaaaa")));
    let foreign = play.gateway.visitor();
    let sent = foreign.form("/sign-in/oidc", &[]).header("origin", "https://evil.example");
    assert_eq!(foreign.read(sent).await.status, 403, "another site sends nobody there");

    let Play { provider, stage, mut gateway } = play;
    let away = gateway.visitor();
    let back = provider.sign_in(&provider.leave(&away, &[]).await).await;
    drop(provider);
    assert_eq!(away.get(&back).await.status, 403);
    assert_eq!(away.get("/").await.status, 303);
    until("the log says why", || gateway.stderr().contains("the provider cannot be asked").then_some(()));
    assert!(gateway.close().success());
    gateway = stage.start();
    assert_eq!(gateway.visitor().post("/sign-in/oidc", &[]).await.status, 502);
    assert!(gateway.close().success());
}

//! What clients that were let in may do, what the operator decides about it, and what the command line says of it.

use serde_json::{Value, json};
use yesgate_testkit::oauth_client::REDIRECT;
use yesgate_testkit::{
    Gateway, OAuthClient, RestAnswer, RestHost, ServeStage, Tokens, Visitor, WebHost, eventually, text,
};

const YESGATE: &str = env!("CARGO_BIN_EXE_yesgate");

/// A gateway that lets clients in, and the browser of its owner.
struct Play {
    stage: ServeStage,
    gateway: Gateway,
    owner: Visitor,
}

impl Play {
    /// With this configuration, beside the servers.
    async fn new(config: &str) -> Self {
        Self::with(config, &[]).await
    }

    /// With a server that behaves like this.
    async fn with(config: &str, flags: &[&str]) -> Self {
        let stage = ServeStage::new(YESGATE);
        let servers = stage.child("notes", flags);
        let stage = stage.config(&format!("{config}\n{servers}"));
        let gateway = stage.start();
        let owner = gateway.visitor().sign_in(&gateway.first_link()).await;
        Self { stage, gateway, owner }
    }

    async fn client(&self) -> OAuthClient {
        OAuthClient::register(self.gateway.url(), Some("none")).await
    }

    async fn tokens(&self, client: &OAuthClient, scope: &str) -> Tokens {
        client.connect_with(&self.owner, &[("scope", scope)]).await
    }

    fn rest(&self, tokens: &Tokens) -> RestHost {
        self.gateway.rest().bearer(&tokens.access)
    }

    fn cli(&self, words: &[&str]) -> Value {
        self.stage.stage().yesgate(&[words, &["--json"]].concat()).ok().json()
    }
}

const ON: &str = "[oauth]\nenabled = true\n";

/// A rule by which a dangerous call is confirmed in the conversation.
const RELAYED: &str = "[[rules]]\ntool = \"notes/delete_note\"\nthen = \"ask\"\nchannel = \"chat\"\n";

async fn read(rest: &RestHost) -> RestAnswer {
    rest.call("notes", "read_note", json!({"id": "a"})).await
}

/// Fails unless the challenge names exactly these scopes.
#[track_caller]
fn assert_lacks(status: u16, challenge: Option<&str>, scopes: &str) {
    let challenge = challenge.unwrap_or_default();
    assert_eq!(status, 403, "{challenge}");
    assert!(challenge.starts_with("Bearer "), "{challenge}");
    for part in [
        "error=\"insufficient_scope\"".to_owned(),
        format!("scope=\"{scopes}\""),
        "resource_metadata=\"".to_owned(),
    ] {
        assert!(challenge.contains(&part), "{challenge} lacks {part}");
    }
}

/// Where clients are connected nobody comes in as the local user, and the keys of machines are as good as ever: they have no
/// scopes.
#[tokio::test]
async fn keys_stay_valid_beside_connected_clients_and_nobody_comes_without_either() {
    let play = Play::new(ON).await;
    assert_eq!(read(&play.gateway.rest()).await.status, 401);
    let key = play.stage.key("robot");
    let rest = play.gateway.rest().bearer(&key);
    eventually("the key is known", async || (read(&rest).await.status == 200).then_some(())).await;
    let written = rest.call("notes", "write_note", json!({"id": "a", "text": "b"})).await;
    assert_eq!(written.status, 202, "it is asked about, as without OAuth: {}", written.text);
}

/// O-D7: a token in the address is not looked at, and stands in no log.
#[tokio::test]
async fn a_token_in_the_address_lets_nobody_in() {
    let mut play = Play::new(ON).await;
    let client = play.client().await;
    let tokens = play.tokens(&client, "mcp:read mcp:call").await;
    let path = format!("/api/tools/notes/read_note?access_token={}", tokens.access);
    let answer = play.gateway.rest().post(&path, json!({"id": "a"})).await;
    assert_eq!(answer.status, 401);
    assert!(!answer.header("www-authenticate").unwrap_or_default().contains("error="));
    assert!(play.gateway.close().success());
    assert!(!play.gateway.stderr().contains(&tokens.access));
}

/// O-D8: what a token does not allow is 403 with all that is needed, what it has included, in both eras and by REST.
#[tokio::test]
async fn a_challenge_names_all_scopes_in_every_front() {
    let play = Play::new(ON).await;
    let client = play.client().await;
    let tokens = play.tokens(&client, "mcp:read").await;
    assert_eq!(read(&play.rest(&tokens)).await.status, 200);
    let arguments = json!({"id": "a", "text": "b"});
    let by_rest = play.rest(&tokens).call("notes", "write_note", arguments.clone()).await;
    assert_lacks(by_rest.status, by_rest.header("www-authenticate"), "mcp:call mcp:read");
    assert_eq!(by_rest.body["error"], "insufficient_scope");
    let modern = play.gateway.server("notes").bearer(&tokens.access);
    let answer = modern.draft_call("write_note", arguments.clone()).send().await;
    assert_lacks(answer.status(), answer.header("www-authenticate"), "mcp:call mcp:read");
    let mut legacy = play.gateway.server("notes").bearer(&tokens.access);
    legacy.initialize().await;
    let answer = legacy.draft_call("write_note", arguments.clone()).send().await;
    assert_lacks(answer.status(), answer.header("www-authenticate"), "mcp:call mcp:read");
    let answer = legacy.draft_call("read_note", json!({"id": "a"})).send().await;
    assert_eq!((answer.status(), answer.header("www-authenticate")), (200, None));
    // Where a stream has begun, the same is said as an error.
    let streamed = legacy.draft_call("write_note", arguments).without("accept");
    let mut streamed = streamed.header("accept", "text/event-stream, application/json").send().await;
    assert_eq!(streamed.status(), 200);
    let said = String::from_utf8(streamed.rest().await.to_vec()).unwrap();
    assert!(said.contains("insufficient_scope") && said.contains("mcp:call mcp:read"), "{said}");
    assert_eq!(play.stage.calls("notes").len(), 2, "the two reads, and nothing else");
    let refused = play.stage.stage().audit().into_iter().map(|row| row["entry"].clone());
    let refused =
        refused.filter(|entry| entry["event"] == "refused" && entry["code"] == "insufficient_scope");
    assert_eq!(refused.count(), 4);
    // O-D8: what includes reading reads.
    let wider = play.tokens(&client, "mcp:call").await;
    assert_eq!((wider.scope.as_str(), read(&play.rest(&wider)).await.status), ("mcp:call", 200));
}

/// O4: what no scope names, no connected client calls, and none is sent round in circles for it. The operator changes what
/// scopes mean while the gateway runs.
#[tokio::test]
async fn a_tool_that_no_scope_covers_is_refused_without_a_challenge() {
    let scopes = "[oauth]\nenabled = true\n[oauth.scopes.\"notes:read\"]\nsays = \"Read notes\"\ntools = [\"notes/read_note\"]\nusual = true\n";
    let play = Play::new(scopes).await;
    let client = play.client().await;
    let tokens = client.connect(&play.owner).await;
    assert_eq!(tokens.scope, "notes:read");
    assert_eq!(read(&play.rest(&tokens)).await.status, 200);
    let write =
        async || play.rest(&tokens).call("notes", "write_note", json!({"id": "a", "text": "b"})).await;
    let refused = write().await;
    assert_eq!((&refused.body["error"], refused.header("www-authenticate")), (&json!("policy_denied"), None));
    let wider = scopes.replace("\"notes/read_note\"", "\"notes/*\"");
    play.stage.set_config(&format!("{wider}\n{}", play.stage.child("notes", &[])));
    play.gateway.signal("HUP");
    eventually("the scope means more", async || (write().await.status == 202).then_some(())).await;
}

/// O-D8: a held call was judged when it was asked; whoever runs it with another token has to be allowed it too. The gateway's
/// own tools need no scope.
#[tokio::test]
async fn a_held_call_does_not_run_for_a_token_that_does_not_allow_it() {
    let play = Play::new(&format!("{ON}{RELAYED}")).await;
    let client = play.client().await;
    let wide = play.tokens(&client, "mcp:read mcp:call").await;
    let held = play.rest(&wide).call("notes", "delete_note", json!({"id": "a"})).await;
    assert_eq!(held.status, 202, "{}", held.text);
    let (id, token) = (held.text_of("intent_id"), held.text_of("confirm_token"));
    let narrow =
        [("grant_type", "refresh_token"), ("refresh_token", wide.refresh.as_str()), ("scope", "mcp:read")];
    let narrow = client.tokens(&client.token(&narrow).await);
    let mcp = |tokens: &Tokens| play.gateway.server("notes").bearer(&tokens.access);
    let again = json!({"id": "a", "confirm_token": token});
    for (tool, arguments) in [("delete_note", again), ("yesgate_approve", json!({"intent_id": id}))] {
        let answer = mcp(&narrow).draft_call(tool, arguments).send().await;
        assert_lacks(answer.status(), answer.header("www-authenticate"), "mcp:call mcp:read");
    }
    assert!(play.stage.calls("notes").is_empty());
    let status = mcp(&narrow).call("yesgate_status", json!({"intent_id": id})).await;
    assert!(text(&status).contains("pending"), "{status}");
    let ran = mcp(&wide).call("yesgate_approve", json!({"intent_id": id})).await;
    assert_eq!(ran["error"], Value::Null, "{ran}");
    assert_eq!(play.stage.calls("notes").len(), 1);
}

/// A connected client speaks for its own user: what is for applications, and what is for people, is not for it.
#[tokio::test]
async fn a_connected_client_is_neither_a_person_nor_an_application() {
    let play = Play::new(ON).await;
    let client = play.client().await;
    let rest = play.rest(&play.tokens(&client, "mcp:read mcp:call").await);
    let inbox = rest.get("/api/me").await;
    assert_eq!((inbox.status, &inbox.body["error"]), (403, &json!("not_for_agents")));
    let mint = rest.post("/api/consent/mint", json!({"operation": "x", "principal": "somebody-else"})).await;
    assert_eq!((mint.status, &mint.body["error"]), (403, &json!("not_for_clients")), "{}", mint.text);
    let stranger = play.gateway.rest().bearer("ygt_made-up").get("/api/me").await;
    assert_eq!(stranger.status, 401);
}

/// O2, O-V2: a client that the operator strikes out of the configuration is out with all that it has open, and nobody else is.
#[tokio::test]
async fn a_client_that_is_struck_out_is_out_with_what_it_has_open() {
    let written = format!("{ON}[oauth.clients.dashboard]\nname = \"D\"\nredirect_uris = [\"{REDIRECT}\"]\n");
    let play = Play::new(&written).await;
    let struck = OAuthClient::known(play.gateway.url(), "dashboard");
    let other = play.client().await;
    let open = async |client: &OAuthClient| {
        let tokens = client.connect(&play.owner).await;
        let host = WebHost::new(client.resource()).bearer(&tokens.access);
        let listen = json!({"notifications": {"toolsListChanged": true}});
        let stream = host.draft("subscriptions/listen", listen).send().await;
        assert_eq!(stream.status(), 200, "{}", stream.wire());
        (host, stream)
    };
    let (out, mut closed) = open(&struck).await;
    let (kept, _open) = open(&other).await;
    play.stage.set_config(&format!("{ON}\n{}", play.stage.child("notes", &[])));
    play.gateway.signal("HUP");
    // Nothing more comes, and the end does.
    closed.rest().await;
    assert_eq!(out.draft("tools/list", json!({})).send().await.status(), 401);
    assert_eq!(kept.request("tools/list", json!({})).await["error"], Value::Null);
}

/// O-V2: whoever waits for an answer when they are shut out hears 401 at once.
#[tokio::test]
async fn a_request_that_waits_is_answered_when_its_client_is_shut_out() {
    let play = Play::with(ON, &["--hang-on", "read_note"]).await;
    let client = play.client().await;
    let tokens = play.tokens(&client, "mcp:read").await;
    let rest = play.rest(&tokens);
    let waiting = async { read(&rest).await };
    let shutting_out = async {
        eventually("the server has it", async || (!play.stage.calls("notes").is_empty()).then_some(())).await;
        play.cli(&["revoke-all", "--user", "owner", "--yes"])
    };
    let (answer, ended) = tokio::join!(waiting, shutting_out);
    assert_eq!(answer.status, 401, "{}", answer.text);
    assert!(answer.header("www-authenticate").is_some_and(|told| told.contains("error=\"invalid_token\"")));
    assert_eq!((&ended["connections"], &ended["sessions"]), (&json!(1), &json!(1)), "{ended}");
    assert_eq!(play.owner.get("/api/me").await.status, 401);
}

/// O6, O7: the command line lists and revokes, and says so in JSON too.
#[tokio::test]
async fn the_command_line_lists_and_revokes_what_is_connected() {
    let play = Play::new(ON).await;
    let yesgate = |words: &[&str]| play.stage.stage().yesgate(words);
    assert!(yesgate(&["clients", "list"]).ok().stdout.starts_with("No client is connected."));
    let client = play.client().await;
    let tokens = play.tokens(&client, "mcp:read").await;
    let listed = play.cli(&["clients", "list"]);
    let one = &listed[0];
    assert_eq!((&one["user"], &one["client_id"]), (&json!("owner"), &json!(client.id())), "{listed}");
    assert_eq!((&one["scopes"], &one["client_name"]), (&json!("mcp:read"), &json!("Testkit")));
    assert_eq!(play.cli(&["users", "list"])[0]["connections"], 1);
    assert_eq!(play.cli(&["clients", "list", "--registered"])[0]["is_allowed"], true);
    let id = one["id"].as_str().unwrap();
    assert_eq!(play.cli(&["clients", "show", id])["client_id"], client.id());
    assert_eq!(play.cli(&["clients", "show", client.id()])["kind"], "registered");
    assert_eq!(yesgate(&["clients", "revoke", "conn_nobody"]).code(), 4);
    assert_eq!(yesgate(&["clients", "show", "nobody"]).code(), 4);
    assert_eq!(play.cli(&["clients", "revoke", id])["connections"], 1);
    assert_eq!(read(&play.rest(&tokens)).await.status, 401);
    assert_eq!(yesgate(&["clients", "revoke", id]).code(), 4, "it is no more");
    let again = play.tokens(&client, "mcp:read").await;
    assert_eq!(play.cli(&["clients", "revoke", client.id()])["connections"], 1);
    assert_eq!(read(&play.rest(&again)).await.status, 401);
    assert_eq!(yesgate(&["revoke-all", "--user", "nobody", "--yes"]).code(), 4);
    let unsure = yesgate(&["revoke-all", "--user", "owner"]);
    assert_eq!(unsure.code(), 1, "nobody can be asked here");
    assert!(unsure.stderr.contains("--yes"), "{}", unsure.stderr);
}

/// `doctor --oauth` goes the whole way, with a person and without, and leaves nothing behind.
#[tokio::test]
async fn the_doctor_goes_the_whole_way_and_leaves_nothing_behind() {
    let play = Play::new(ON).await;
    let yesgate = |words: &[&str]| play.stage.stage().yesgate(words);
    let without = yesgate(&["doctor", "--oauth", "--json"]).ok().json().as_array().cloned().unwrap();
    assert!(without.iter().all(|step| step["weight"] != "mend"), "{without:#?}");
    let whole = yesgate(&["doctor", "--oauth", play.gateway.url(), "--as", "owner", "--json"])
        .ok()
        .json()
        .as_array()
        .cloned()
        .unwrap();
    let steps: Vec<&str> = whole.iter().filter_map(|step| step["step"].as_str()).collect();
    assert_eq!(
        steps,
        [
            "challenge",
            "resource",
            "server",
            "alias",
            "preflight",
            "well-known",
            "registration",
            "authorize",
            "token",
            "sign-in",
            "consent",
            "tokens",
            "request",
            "refresh",
            "revoke",
            "clean-up"
        ]
    );
    assert!(whole.iter().all(|step| step["weight"] == "fine"), "{whole:#?}");
    assert_eq!(play.cli(&["clients", "list"]), json!([]));
    assert!(
        play.cli(&["clients", "list", "--registered"])
            .as_array()
            .unwrap()
            .iter()
            .all(|client| client["ended_at"].is_string())
    );
}

/// §6 of the checklist, row 8 and 19: the step that fails is named, with what to do. Clients that come by another name than the one
/// they are told are noticed once in the log.
#[tokio::test]
async fn the_doctor_names_the_step_that_fails() {
    let stage = ServeStage::new(YESGATE);
    let servers = stage.child("notes", &[]);
    let stage = stage.config(&format!("[serve]\npublic_url = \"https://gate.example.org\"\n{servers}"));
    let mut gateway = stage.start();
    let failing = |words: &[&str], step: &str| {
        let output = stage.stage().yesgate(words);
        assert_eq!(output.code(), 5, "{output:?}");
        let last = output.json().as_array().cloned().unwrap().pop().unwrap();
        assert_eq!((&last["step"], &last["weight"]), (&json!(step), &json!("mend")), "{last}");
        assert!(last["hint"].is_string());
    };
    // What it is told leads elsewhere.
    failing(&["doctor", "--oauth", gateway.url(), "--json"], "resource");
    assert!(gateway.close().success());
    let log = gateway.stderr();
    assert_eq!(log.matches("clients come for another host").count(), 1, "{log}");
    assert!(log.contains("clients connect by pasting https://gate.example.org/api/mcp"), "{log}");
    failing(&["doctor", "--oauth", "http://127.0.0.1:9", "--json"], "challenge");
    // Without OAuth there is nothing to go by.
    let stage = ServeStage::new(YESGATE);
    let servers = stage.child("notes", &[]);
    let stage = stage.config(&servers);
    let gateway = stage.start();
    let output = stage.stage().yesgate(&["doctor", "--oauth", gateway.url()]);
    assert_eq!(output.code(), 5);
    assert!(output.stdout.starts_with("FAIL  challenge"), "{}", output.stdout);
}

/// O-S8: what strangers write into `X-Forwarded-For` changes nothing; what a proxy that the operator named writes does.
#[tokio::test]
async fn only_a_named_proxy_says_where_requests_come_from() {
    let limit = "[oauth.limits]\nregister_per_minute = 1\n";
    for (serve, again) in [("", 429), ("[serve]\nproxies = [\"127.0.0.1\"]\n", 201)] {
        let play = Play::new(&format!("{serve}{ON}{limit}")).await;
        let register = async |from: &str| {
            let body =
                json!({"redirect_uris": ["http://127.0.0.1/cb"], "token_endpoint_auth_method": "none"});
            let rest = play.gateway.rest();
            let draft = rest.draft("POST", "/api/mcp/oauth/register").header("x-forwarded-for", from);
            RestAnswer::read(draft.body(body.to_string()).send().await).await.status
        };
        let mut last = 201;
        for address in 1..30 {
            last = register(&format!("203.0.113.{address}")).await;
            if last != 201 {
                break;
            }
        }
        assert_eq!(last, again, "{serve}");
    }
}

/// O-D9, O-S12: where it cannot be sound, `serve` does not begin. With OAuth it may listen without keys, under a name.
#[test]
fn what_cannot_be_sound_does_not_begin() {
    let server = "[servers.a]\ncommand = [\"true\"]\n";
    let refused = |config: &str, listen: &str| {
        let stage = ServeStage::new(YESGATE);
        let stage = stage.config(&format!("{config}{server}"));
        let output = stage.stage().yesgate(&["serve", "--listen", listen]);
        assert_eq!(output.code(), 1, "{output:?}");
        output.stderr
    };
    let said = refused(ON, "0.0.0.0:0");
    assert!(said.contains("nobody says by which address they know the gateway"), "{said}");
    let said = refused("[oauth]\nenabled = true\nregistration = \"${NO_SUCH_VARIABLE}\"\n", "127.0.0.1:0");
    assert!(said.contains("`NO_SUCH_VARIABLE` is not set"), "{said}");
    let said = refused("[serve]\npublic_url = \"http://gate.example.org\"\n", "127.0.0.1:0");
    assert!(said.contains("it is not reached over TLS"), "{said}");
}

/// A client is told apart from the next by what let it in, not by what it calls itself.
#[tokio::test]
async fn a_client_is_who_its_token_says() {
    let play = Play::new(&format!("{ON}{RELAYED}")).await;
    let (one, two) = (play.client().await, play.client().await);
    let (mine, theirs) = (play.tokens(&one, "mcp:call").await, play.tokens(&two, "mcp:call").await);
    let host = |tokens: &Tokens| WebHost::new(one.resource()).bearer(&tokens.access).named("the same name");
    let held = host(&mine).call("notes__delete_note", json!({"id": "a"})).await;
    let id = held["result"]["structuredContent"]["intent_id"].as_str().unwrap().to_owned();
    let other = host(&theirs).call("yesgate_approve", json!({"intent_id": id})).await;
    assert!(other.to_string().contains("There is no such question for this caller"), "{other}");
    let shown = play.stage.shown(&id);
    assert!(shown.to_string().contains(one.id()), "{shown}");
    assert!(play.stage.calls("notes").is_empty());
}

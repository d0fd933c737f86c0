//! Resources, prompts, completions and changes where several servers share one endpoint.

use serde_json::{Value, json};
use yesgate_testkit::mock_http::Arrived;
use yesgate_testkit::{
    Gateway, MockEras, MockHttp, MockSettings, ServeStage, WebAnswer, WebHost, confirm_token, eventually,
    structured, text,
};

/// Two servers over HTTP, one of each era, with one address in common.
struct Play {
    gateway: Gateway,
    new: MockHttp,
    old: MockHttp,
    _stage: ServeStage,
}

const COMMON: &str = "common://it";

impl Play {
    #[track_caller]
    fn new() -> Self {
        let start = |eras, resources: [&str; 2]| {
            let resources = resources.iter().map(ToString::to_string).collect();
            MockHttp::with(MockSettings { eras, resources, ..MockSettings::default() })
        };
        let new = start(MockEras::Modern, ["wiki://a", COMMON]);
        let old = start(MockEras::Legacy, ["file://a", COMMON]);
        let stage = ServeStage::new(env!("CARGO_BIN_EXE_yesgate"));
        // Servers stand in the order of their names.
        let toml = format!("{}{}", stage.web("anew", &new), stage.web("bold", &old));
        let stage = stage.config(&toml);
        let gateway = stage.start();
        Self { gateway, new, old, _stage: stage }
    }

    /// A client of each era at the endpoint of all servers.
    async fn hosts(&self) -> [WebHost; 2] {
        let mut legacy = self.gateway.all();
        legacy.initialize().await;
        [self.gateway.all(), legacy]
    }
}

/// One member of each item of a list.
async fn listed(host: &WebHost, method: &str, list: &str, member: &str) -> Vec<String> {
    let answer = host.request(method, json!({})).await;
    let items = answer["result"][list].as_array().unwrap_or_else(|| panic!("no list: {answer:#}"));
    items.iter().map(|item| item[member].as_str().unwrap().to_owned()).collect()
}

async fn read(host: &WebHost, uri: &str) -> Value {
    host.request("resources/read", json!({"uri": uri})).await
}

/// How many requests of a method a server got for an address.
fn asked(server: &MockHttp, method: &str, uri: &str) -> usize {
    let is_it = |one: &Arrived| one.rpc_method() == method && one.text().contains(uri);
    server.requests().iter().filter(|one| is_it(one)).count()
}

/// What each server has stands in one list, an address that both have once; what is read or got comes from the
/// server that has it.
#[tokio::test]
async fn lists_are_one_and_each_item_is_found_at_its_server() {
    let play = Play::new();
    for host in play.hosts().await {
        assert_eq!(
            listed(&host, "resources/list", "resources", "uri").await,
            ["wiki://a", COMMON, "file://a"]
        );
        let templates = listed(&host, "resources/templates/list", "resourceTemplates", "uriTemplate").await;
        assert_eq!(templates, ["wiki://{id}", "file://{id}"]);
        assert_eq!(listed(&host, "prompts/list", "prompts", "name").await, ["anew__greet", "bold__greet"]);

        let (new, old) =
            (|uri| asked(&play.new, "resources/read", uri), |uri| asked(&play.old, "resources/read", uri));
        for uri in ["wiki://a", "file://a", COMMON] {
            let before = (new(uri), old(uri));
            let answer = read(&host, uri).await;
            assert_eq!(answer["result"]["contents"][0]["uri"], uri, "{answer:#}");
            let first = uri != "file://a";
            assert_eq!(
                (new(uri) - before.0, old(uri) - before.1),
                (usize::from(first), usize::from(!first)),
                "{uri}"
            );
        }
        // One that only a template stands for is asked for at its server, and nowhere else.
        let answer = read(&host, "file://none").await;
        assert!(answer.get("error").is_some(), "{answer:#}");
        assert_eq!(new("file://none"), 0);
        assert!(read(&host, "nobody://a").await.get("error").is_some());

        for server in ["anew", "bold"] {
            let name = format!("{server}__greet");
            let got = host.request("prompts/get", json!({"name": name, "arguments": {"whom": server}})).await;
            let words = &got["result"]["messages"][0]["content"]["text"];
            assert_eq!(words, &format!("Hello, {server}!"), "{got:#}");
        }
        let complete = async |reference: Value| {
            let argument = json!({"name": "id", "value": "x"});
            host.request("completion/complete", json!({"ref": reference, "argument": argument})).await
        };
        for (reference, expected) in [
            (json!({"type": "ref/prompt", "name": "anew__greet"}), "x at wiki://"),
            (json!({"type": "ref/prompt", "name": "bold__greet"}), "x at file://"),
            (json!({"type": "ref/resource", "uri": "wiki://{id}"}), "x at wiki://"),
            (json!({"type": "ref/resource", "uri": "file://{id}"}), "x at file://"),
        ] {
            let answer = complete(reference).await;
            assert_eq!(answer["result"]["completion"]["values"], json!([expected]), "{answer:#}");
        }
        for nobodys in [
            json!({"type": "ref/prompt", "name": "greet"}),
            json!({"type": "ref/resource", "uri": "x://{id}"}),
        ] {
            assert!(complete(nobodys).await.get("error").is_some());
        }
    }
}

async fn hear(stream: &mut WebAnswer, uri: &str) {
    let heard = stream.next_of("notifications/resources/updated").await;
    assert_eq!(heard["params"]["uri"], uri, "{}", stream.wire());
}

/// A session hears of the resources that it subscribed to, at servers of both eras at the same time, until it
/// unsubscribes.
#[tokio::test]
async fn a_session_hears_of_resources_of_several_servers_until_it_unsubscribes() {
    let play = Play::new();
    let [_, host] = play.hosts().await;
    let mut stream = host.listen().await;
    let subscribed = |uri: &str| {
        let is_it = |one: &Arrived| one.rpc_method() == "subscriptions/listen" && one.text().contains(uri);
        play.new
            .requests()
            .iter()
            .filter(|one| is_it(one) && one.end == yesgate_testkit::mock_http::End::Open)
            .count()
    };
    for uri in ["wiki://a", "file://a", COMMON] {
        let answer = host.request("resources/subscribe", json!({"uri": uri})).await;
        assert!(answer.get("result").is_some(), "{answer:#}");
    }
    assert_eq!(
        (
            asked(&play.old, "resources/subscribe", "file://a"),
            asked(&play.old, "resources/subscribe", COMMON)
        ),
        (1, 0)
    );
    eventually("one stream for both", async || {
        (subscribed("wiki://a") == 1 && subscribed(COMMON) == 1).then_some(())
    })
    .await;
    play.new.resource_changed("wiki://a");
    hear(&mut stream, "wiki://a").await;
    play.new.resource_changed(COMMON);
    hear(&mut stream, COMMON).await;
    play.old.resource_changed("file://a");
    hear(&mut stream, "file://a").await;

    for uri in ["wiki://a", "file://a"] {
        let answer = host.request("resources/unsubscribe", json!({"uri": uri})).await;
        assert!(answer.get("result").is_some(), "{answer:#}");
    }
    assert_eq!(asked(&play.old, "resources/unsubscribe", "file://a"), 1);
    eventually("only the other is left", async || {
        (subscribed("wiki://a") == 0 && subscribed(COMMON) == 1).then_some(())
    })
    .await;
    play.new.resource_changed("wiki://a");
    play.new.resource_changed(COMMON);
    hear(&mut stream, COMMON).await;
}

/// A modern client hears of resources of several servers on one stream, and of lists that change.
#[tokio::test]
async fn a_modern_client_hears_of_all_servers_on_one_stream() {
    let play = Play::new();
    let [host, _] = play.hosts().await;
    let uris = ["wiki://a", "file://a"];
    let wants = json!({"notifications": {"toolsListChanged": true, "resourceSubscriptions": uris}});
    let mut stream = host.draft("subscriptions/listen", wants).send().await;
    let granted = stream.next_of("notifications/subscriptions/acknowledged").await;
    assert_eq!(granted["params"]["notifications"]["resourceSubscriptions"], json!(uris), "{granted:#}");
    play.old
        .arrival("a subscription", |one| {
            one.rpc_method() == "resources/subscribe" && one.text().contains("file://a")
        })
        .await;
    play.new.arrival("a subscription", |one| one.text().contains("resourceSubscriptions")).await;
    eventually("both are listened to", async || {
        (play.new.listeners() > 0 && play.old.listeners() > 0).then_some(())
    })
    .await;
    // No server learns what another one's resources are called.
    let of = |server: &MockHttp, uri: &str| server.requests().iter().any(|one| one.text().contains(uri));
    assert!(!of(&play.new, "file://a") && !of(&play.old, "wiki://a"));
    play.new.resource_changed("wiki://a");
    hear(&mut stream, "wiki://a").await;
    play.old.resource_changed("file://a");
    hear(&mut stream, "file://a").await;
    for server in [&play.new, &play.old] {
        server.tools_changed();
        stream.next_of("notifications/tools/list_changed").await;
    }
}

/// A list that changes at one server is announced to sessions at the shared endpoint.
#[tokio::test]
async fn a_session_hears_that_a_list_changed_at_any_server() {
    let play = Play::new();
    let [_, host] = play.hosts().await;
    let mut stream = host.listen().await;
    host.list_tools().await;
    eventually("both are listened to", async || {
        (play.new.listeners() > 0 && play.old.listeners() > 0).then_some(())
    })
    .await;
    for server in [&play.new, &play.old] {
        server.tools_changed();
        stream.next_of("notifications/tools/list_changed").await;
    }
}

/// A server that is down hides nothing of the others, and what it shared with another one is the other one's.
#[tokio::test]
async fn a_server_that_is_down_hides_nothing_of_the_others() {
    let mut play = Play::new();
    play.new.kill();
    for host in play.hosts().await {
        assert_eq!(listed(&host, "resources/list", "resources", "uri").await, ["file://a", COMMON]);
        let templates = listed(&host, "resources/templates/list", "resourceTemplates", "uriTemplate").await;
        assert_eq!(templates, ["file://{id}"]);
        assert_eq!(listed(&host, "prompts/list", "prompts", "name").await, ["bold__greet"]);
        assert!(host.list_tools().await.iter().any(|tool| tool["name"] == "bold__read_note"));
        for uri in ["file://a", COMMON] {
            assert_eq!(read(&host, uri).await["result"]["contents"][0]["uri"], uri);
        }
        assert_eq!(text(&host.call("bold__read_note", json!({"id": "a"})).await), "the first note");
    }
}

/// A session that a server forgot is opened again before the server would be missing in a list.
#[tokio::test]
async fn a_server_that_forgot_its_sessions_is_in_every_list() {
    let play = Play::new();
    for host in play.hosts().await {
        let tools = host.list_tools().await.len();
        for (method, list, member, count) in
            [("resources/list", "resources", "uri", 3), ("prompts/list", "prompts", "name", 2)]
        {
            play.old.forget_sessions();
            assert_eq!(listed(&host, method, list, member).await.len(), count, "{method}");
        }
        play.old.forget_sessions();
        assert_eq!(host.list_tools().await.len(), tools);
        play.old.forget_sessions();
        assert_eq!(read(&host, "file://a").await["result"]["contents"][0]["uri"], "file://a");
    }
}

/// Tasks belong to one server: the shared endpoint has those of the gate only and has no server make one, and at the
/// endpoint of one server they pass.
#[tokio::test]
async fn the_shared_endpoint_knows_no_servers_tasks_and_asks_for_none() {
    let play = Play::new();
    let extensions = json!({"extensions": {"io.modelcontextprotocol/tasks": {}, "org.example/other": {}}});
    let modern = play.gateway.all().capable(extensions.clone());
    let [_, legacy] = play.hosts().await;
    let hello = modern.discover().await;
    assert_eq!(hello["result"]["capabilities"].get("tasks"), None);
    let own = json!({"io.modelcontextprotocol/tasks": {}});
    assert_eq!(hello["result"]["capabilities"]["extensions"], own);
    for method in ["tasks/get", "tasks/cancel"] {
        for (host, code) in [(&modern, -32602), (&legacy, -32601)] {
            let answer = host
                .draft(method, json!({"taskId": "t"}))
                .header("mcp-name", "t")
                .send()
                .await
                .answer()
                .await;
            assert_eq!(answer["error"]["code"], code, "{answer:#}");
        }
    }
    let words = |server: &MockHttp| {
        server.requests().iter().rfind(|one| one.rpc_method() == "tools/call").unwrap().text()
    };
    for (name, server) in [("anew", &play.new), ("bold", &play.old)] {
        let tool = format!("{name}__read_note");
        assert_eq!(text(&modern.call(&tool, json!({"id": "a"})).await), "the first note");
        assert!(!words(server).contains("io.modelcontextprotocol/tasks"), "{}", words(server));
        let params = json!({"name": tool, "arguments": {"id": "a"}, "task": {"ttl": 60_000}});
        assert_eq!(text(&legacy.request("tools/call", params.clone()).await), "the first note");
        assert!(!words(server).contains("\"task\""), "{}", words(server));
        // However it is spelled.
        let spelled = legacy.draft("tools/call", params).replace("\"task\"", "\"t\\u0061sk\"");
        assert_eq!(text(&spelled.send().await.answer().await), "the first note");
        assert!(!words(server).contains("60000"), "{}", words(server));

        let held = modern.call(&format!("{name}__delete_note"), json!({"id": "b"})).await;
        let gated = json!({"id": "b", "confirm_token": confirm_token(&held)});
        let ran = modern.call(&format!("{name}__delete_note"), gated).await;
        assert_eq!(structured(&ran)["deleted"], "b", "{ran:#}");
        assert!(!words(server).contains("io.modelcontextprotocol/tasks"), "{}", words(server));
    }
    assert!(words(&play.new).contains("org.example/other"));

    let one = play.gateway.server("anew").capable(extensions);
    one.call("read_note", json!({"id": "a"})).await;
    assert!(words(&play.new).contains("io.modelcontextprotocol/tasks"));
    let mut one = play.gateway.server("bold");
    one.initialize().await;
    one.request("tools/call", json!({"name": "read_note", "arguments": {}, "task": {"ttl": 60_000}})).await;
    assert!(words(&play.old).contains("\"task\""));
}

/// I3: where several servers share an endpoint, the tools that complete a held call have the names that were chosen for
/// their server under its prefix, and the usual ones beside them.
#[tokio::test]
async fn chosen_names_stand_at_the_shared_endpoint_under_their_prefix() {
    let stage = ServeStage::new(env!("CARGO_BIN_EXE_yesgate"));
    let server = stage.child("wallet", &[]);
    let stage = stage.config(&format!("[own_tools.wallet]\napprove = \"approve_payment\"\n{server}"));
    let mut gateway = stage.start();
    let mut legacy = gateway.all();
    legacy.initialize().await;
    for host in [legacy, gateway.all()] {
        let tools = host.list_tools().await;
        let names: Vec<&str> = tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
        assert!(
            names.contains(&"wallet__approve_payment") && names.contains(&"yesgate_approve"),
            "{names:?}"
        );
        assert!(!names.contains(&"wallet__yesgate_reject"), "{names:?}");
        let held = host.call("wallet__pay", json!({"amount": "1", "currency": "EUR", "to": "ann"})).await;
        let intent = structured(&held)["intent_id"].clone();
        let ran = host.call("wallet__approve_payment", json!({"intent_id": intent})).await;
        assert!(text(&ran).contains("paid 1 EUR to ann"), "{ran:#}");
    }
    assert!(gateway.close().success());
    assert_eq!(stage.check_history("wallet", &[]).gated, 2);
}

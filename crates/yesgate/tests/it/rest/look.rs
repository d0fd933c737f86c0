//! Looking a question up, and the page behind its address.

use serde_json::json;
use yesgate_testkit::{ServeStage, eventually, structured};

use super::{Play, and, assert_refused};

const AWAY: &str = "[times]\nhold = \"1s\"\nwait = \"0s\"\n[[rules]]\ntool = \"notes/delete_note\"\nthen = \"ask\"\nchannel = \"out_of_band\"\n";

/// H3: held away from the agent, a call names the page and the address to poll; a yes from a human surface runs it at
/// once, and polling only reads: `pending`, then `approved` with the result.
#[tokio::test]
async fn polling_reads_pending_and_then_the_result() {
    let play = Play::with(AWAY, &[]);
    let host = play.host();
    let held = host.call("notes", "delete_note", json!({"id": "a"})).await;
    assert_eq!((held.status, &held.body["status"]), (202, &json!("approval_required")), "{}", held.text);
    let (intent, url) = (held.text_of("intent_id"), play.gateway.url());
    assert_eq!(held.body["approval_url"], format!("{url}/approve/{intent}"));
    assert_eq!(held.body["polling_url"], format!("{url}/api/intents/{intent}"));
    assert_eq!(held.body["poll_interval_seconds"], 5);
    assert_eq!(held.body.get("confirm_token"), None);

    let path = format!("/api/intents/{intent}");
    let looked = host.get(&path).await;
    assert_eq!((looked.status, &looked.body["status"]), (200, &json!("pending")), "{}", looked.text);
    assert_eq!((looked.header("retry-after"), looked.header("cache-control")), (Some("5"), Some("no-store")));
    assert_eq!(play.ran(), 0);
    play.stage.approve(&intent).ok();
    play.is(&intent, "done").await;
    for _ in 0..2 {
        let looked = host.get(&path).await;
        assert_eq!((looked.status, &looked.body["status"]), (200, &json!("approved")), "{}", looked.text);
        assert_eq!(looked.body["result"], json!({"deleted": "a", "run": 1}));
        assert_eq!((&looked.body["outcome"], &looked.body["assurance"]), (&json!("ok"), &json!("local")));
    }
    // The agent has had the result: the same call is asked about anew.
    assert_eq!(host.call("notes", "delete_note", json!({"id": "a"})).await.status, 202);
    assert_eq!(play.ran(), 1);
    play.finish(1);
}

/// H3: a no and its reason, and the end of the time to decide, have words of their own.
#[tokio::test]
async fn polling_tells_a_no_from_the_end_of_the_time() {
    let play = Play::with(&AWAY.replace("hold = \"1s\"", "hold = \"1s\"\ndecide = \"2s\""), &[]);
    let host = play.host();
    let held = host.call("notes", "delete_note", json!({"id": "a"})).await;
    let path = format!("/api/intents/{}", held.text_of("intent_id"));
    let expired = eventually("the question expires", async || {
        let looked = host.get(&path).await;
        (looked.status == 200 && looked.body["status"] != "pending").then_some(looked)
    });
    let expired = expired.await;
    assert_eq!((&expired.body["status"], &expired.body["error"]), (&json!("expired"), &json!("expired")));
    play.finish(0);

    let play = Play::with(AWAY, &[]);
    let host = play.host();
    let intent = host.call("notes", "delete_note", json!({"id": "a"})).await.text_of("intent_id");
    play.stage.stage().yesgate(&["deny", &intent, "--reason", "use the archive"]).ok();
    let denied = host.get(&format!("/api/intents/{intent}")).await;
    assert_eq!((denied.status, &denied.body["status"]), (200, &json!("denied")), "{}", denied.text);
    assert_eq!(denied.body["reason"], "use the archive");
    play.finish(0);
}

/// H3: another caller's question is none, and so is one that never was.
#[tokio::test]
async fn nobody_else_can_look_a_question_up() {
    let callers = [("ann", "agent"), ("bob", "agent"), ("ann", "other")];
    let (play, [ann, bob, other_client]) = Play::keyed("", callers);
    let held = ann.call("notes", "delete_note", json!({"id": "a"})).await;
    let path = format!("/api/intents/{}", held.text_of("intent_id"));
    assert_eq!(ann.get(&path).await.status, 200);
    let nothing = ann.get("/api/intents/intent_040g2081040g2081").await;
    for other in [&bob, &other_client] {
        let looked = other.get(&path).await;
        assert_refused(&looked, 404, "no_such_intent");
        assert_eq!(looked.text, nothing.text, "one that is another's looks like one that never was");
    }
    assert_refused(&ann.get("/api/intents/nonsense").await, 404, "no_such_intent");
    assert_eq!(play.host().get(&path).await.status, 401);
    // Nor can another spend the token, or complete the call.
    let call = json!({"id": "a", "confirm_token": held.text_of("confirm_token")});
    assert_refused(&bob.call("notes", "delete_note", call).await, 402, "consent_token_mismatch");
    assert_eq!(play.ran(), 0);
    play.finish(0);
}

/// H3: an agent that called by MCP gets the addresses too, and polls by plain HTTP; the operator's address counts.
#[tokio::test]
async fn a_call_by_mcp_is_polled_by_http() {
    let stage = ServeStage::new(env!("CARGO_BIN_EXE_yesgate"));
    let public = "[serve]\npublic_url = \"https://gate.example.org\"\n[oauth]\nenabled = false\n";
    let config = format!("{public}{AWAY}{}", stage.child("notes", &[]));
    let stage = stage.config(&config);
    let gateway = stage.start();
    let mut legacy = gateway.server("notes");
    legacy.initialize().await;
    for (host, note) in [(gateway.all(), "a"), (legacy, "b")] {
        let tool = if note == "a" { "notes__delete_note" } else { "delete_note" };
        let held = host.call(tool, json!({"id": note})).await;
        let held = structured(&held);
        let intent = held["intent_id"].as_str().unwrap();
        assert_eq!(held["approval_url"], format!("https://gate.example.org/approve/{intent}"));
        assert_eq!(held["polling_url"], format!("https://gate.example.org/api/intents/{intent}"));
        let looked = gateway.rest().get(&format!("/api/intents/{intent}")).await;
        assert_eq!((looked.status, &looked.body["status"]), (200, &json!("pending")), "{}", looked.text);
    }
}

/// H3: opening the address decides nothing, tells nothing of the call to whoever is not signed in, and says the same
/// for every question.
#[tokio::test]
async fn the_page_decides_nothing_and_tells_nothing() {
    let (play, [ann]) = Play::keyed("", [("ann", "agent")]);
    let held = ann.call("notes", "delete_note", json!({"id": "secret"})).await;
    let intent = held.text_of("intent_id");
    let open = async |id: &str| {
        let draft = play.gateway.rest();
        let draft = draft.draft("GET", &format!("/approve/{id}")).without("content-type");
        // As a browser does for a link in a mail.
        let draft = draft
            .header("sec-fetch-site", "cross-site")
            .header("sec-fetch-mode", "navigate")
            .header("sec-fetch-dest", "document");
        yesgate_testkit::RestAnswer::read(draft.send().await).await
    };
    let page = open(&intent).await;
    assert_eq!((page.status, page.header("location")), (303, Some(format!("/sign-in?to={intent}").as_str())));
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"), "{policy}");
    assert_eq!(page.text, "");
    let none = "intent_040g2081040g2081";
    let nothing = open(none).await;
    assert_eq!((nothing.status, nothing.text.as_str()), (303, ""));
    assert_eq!(nothing.header("location"), Some(format!("/sign-in?to={none}").as_str()));
    assert_eq!(open("%3Cb%3E").await.header("location"), Some("/sign-in"));
    assert_eq!(play.stage.shown(&intent)["state"], "pending");
    play.finish(0);
}

/// M4: a preview that changed under a yes at the command line is told to whoever looks the question up.
#[tokio::test]
async fn polling_tells_what_a_changed_preview_says_now() {
    let config = "[times]\nhold = \"1s\"\nwait = \"0s\"\n[[rules]]\ntool = \"notes/delete_note\"\nconfirm = \"preview\"\n\
         preview = { tool = \"notes/read_note\", args = { id = \"args.id\" } }\nchannel = \"out_of_band\"\n";
    let play = Play::with(config, &[]);
    let host = play.host();
    let intent = host.call("notes", "delete_note", json!({"id": "a"})).await.text_of("intent_id");
    let write = json!({"id": "a", "text": "another text"});
    let held = host.call("notes", "write_note", write.clone()).await;
    let wrote = and(write, "confirm_token", held.text_of("confirm_token"));
    assert_eq!(host.call("notes", "write_note", wrote).await.status, 200);
    assert_eq!(play.stage.approve(&intent).code(), 3);
    let looked = host.get(&format!("/api/intents/{intent}")).await;
    assert_eq!((looked.status, &looked.body["status"]), (200, &json!("voided")), "{}", looked.text);
    assert_eq!(looked.body["details"]["changed"], "preview");
    assert_eq!(looked.body["details"]["preview"], json!(["another text"]));
    play.finish(1);
}

/// X2: what only the agent says that its user said is told as its claim.
#[tokio::test]
async fn polling_tells_the_agents_words_as_its_claim() {
    let play = Play::new();
    let host = play.host();
    let intent = host.call("notes", "delete_note", json!({"id": "a"})).await.text_of("intent_id");
    let no = json!({"intent_id": intent, "reason": "too dear"});
    assert_eq!(host.call("notes", "yesgate_reject", no).await.status, 200);
    let looked = host.get(&format!("/api/intents/{intent}")).await;
    assert_eq!(looked.body["reason"], r#"the agent says that the user said: "too dear""#, "{}", looked.text);
    play.finish(0);
}

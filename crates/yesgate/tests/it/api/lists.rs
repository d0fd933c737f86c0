//! Lists: questions with their filters, remembered yeses, and the audit trail.

use serde_json::{Value, json};

use super::{Play, assert_problem, decide, question};

fn ids(answer: &Value) -> Vec<String> {
    answer["intents"]
        .as_array()
        .unwrap()
        .iter()
        .map(|line| line["intent_id"].as_str().unwrap().to_owned())
        .collect()
}

/// Questions are listed by what people look for, some at a time, each once.
#[tokio::test]
async fn questions_are_filtered_searched_and_paged() {
    let play = Play::new().await;
    let (a, b) = (play.delete("a").await, play.ask("delete_everything", json!({"name": "prod"})).await);
    let c = play.ask("write_note", json!({"id": "a", "text": "hello"})).await;
    play.owner.post(&decide(&a), json!({"answer": "deny"})).await;
    let list = async |query: &str| {
        let listed = play.owner.get(&format!("/api/intents?{query}")).await;
        assert_eq!(listed.status, 200, "{query}: {}", listed.text);
        listed.body
    };
    assert_eq!(ids(&list("").await), [c.as_str(), &b, &a], "the newest first");
    assert_eq!(ids(&list("state=pending").await), [b.as_str(), &c], "the oldest first");
    assert_eq!(ids(&list("state=denied").await), [a.as_str()]);
    assert_eq!(ids(&list("tool=delete_note").await), [a.as_str()]);
    assert_eq!(ids(&list("server=notes&caller=ann&search=PROD").await), [b.as_str()]);
    assert_eq!(ids(&list("server=other").await), [""; 0]);
    assert_eq!(ids(&list("caller=bob").await), [""; 0]);
    let first = list("limit=2").await;
    assert_eq!(ids(&first), [c.as_str(), &b]);
    let rest = list(&format!("limit=2&after={}", first["next"].as_str().unwrap())).await;
    assert_eq!((ids(&rest), &rest["next"]), (vec![a.clone()], &Value::Null));
    for nonsense in
        ["state=maybe", "limit=0", "limit=101", "limit=x", "after=x", "after=99999999999999999999"]
    {
        assert_problem(&play.owner.get(&format!("/api/intents?{nonsense}")).await, 400, "invalid_request");
    }
    assert_problem(&play.owner.get("/api/intents/nonsense").await, 404, "not_found");
    play.finish(0);
}

/// X4: a yes that is remembered is listed, used, and taken back.
#[tokio::test]
async fn a_remembered_yes_is_listed_and_taken_back() {
    let play = Play::new().await;
    let intent = play.delete("a").await;
    let seen = play.owner.get(&question(&intent)).await.text_of("digest");
    for remember in
        [json!({"scope": "tool"}), json!({"uses": 2}), json!({"scope": "tool", "uses": 0}), json!("tool")]
    {
        let body = json!({"answer": "approve", "seen": seen, "remember": remember});
        assert_problem(&play.owner.post(&decide(&intent), body).await, 400, "invalid_request");
    }
    let body =
        json!({"answer": "approve", "seen": seen, "remember": {"scope": "tool", "uses": 2, "minutes": 5}});
    assert_eq!(play.owner.post(&decide(&intent), body).await.status, 200);
    play.polled(&intent).await;
    assert_eq!(
        play.ann.call("notes", "delete_note", json!({"id": "b"})).await.status,
        200,
        "nobody is asked"
    );
    let grants = play.owner.get("/api/grants").await.body["grants"].clone();
    let path = format!("/api/grants/{}", grants[0]["id"].as_str().unwrap());
    assert_eq!((&grants[0]["standing"], &grants[0]["used"]), (&json!("live"), &json!(1)));
    assert_eq!(play.owner.get(&path).await.body, grants[0]);
    let revoked = play.owner.delete(&path).await;
    assert_eq!((revoked.status, &revoked.body["standing"]), (200, &json!("revoked")), "{}", revoked.text);
    assert_eq!(play.ann.call("notes", "delete_note", json!({"id": "c"})).await.status, 202);
    play.finish(2);
}

/// X7: the export has every row of the trail as it lies there, and says that it is whole.
#[tokio::test]
async fn the_audit_trail_is_exported_whole() {
    let play = Play::new().await;
    let intent = play.delete("a").await;
    let export = play.owner.get("/api/audit").await;
    assert_eq!((export.status, export.header("content-type")), (200, Some("application/jsonl")));
    let lines: Vec<Value> = export.text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (end, rows) = lines.split_last().unwrap();
    assert_eq!(end, &json!({"end": true, "rows": rows.len()}));
    let listed = play.stage.stage().yesgate(&["audit", "list", "--last", "500", "--json"]).ok().json();
    assert_eq!(listed.as_array().unwrap(), rows);
    assert!(rows.iter().any(|row| row["entry"]["intent"] == intent.as_str()));
    let last = play.owner.get(&format!("/api/audit?from={}", rows.len())).await;
    assert_eq!(last.text.lines().count(), 2);
    assert_problem(&play.owner.get("/api/audit?from=0").await, 400, "invalid_request");
    play.finish(0);
}

//! Questions for the groups that a rule names.

use yesgate_testkit::eventually;

use super::{Play, approve, page_of};

const RULES: &str = r#"
[times]
hold = "1s"
[[rules]]
name = "for ops"
tool = "notes/delete_note"
then = "ask"
channel = "web"
approvers = ["ops"]
fallback = { after = "20m", approvers = "leads" }
[[rules]]
name = "left alone"
tool = "notes/delete_everything"
then = "ask"
channel = "web"
approvers = "away"
fallback = { after = "1s", approvers = "leads" }
[[rules]]
name = "for nobody"
tool = "notes/pay"
then = "ask"
channel = "web"
approvers = "treasury"
"#;

/// X6: somebody of a group that the rule names says yes; others are told whose yes it waits for, can only say no, and a
/// form that they send all the same decides nothing. At the command line nobody is in a group.
#[tokio::test]
async fn a_question_waits_for_the_groups_that_the_rule_names() {
    let play = Play::with("", RULES).await;
    let bob = play.person(&["bob", "--role", "approver", "--group", "ops"]).await;
    let lea = play.person(&["lea", "--role", "approver", "--group", "leads"]).await;
    let intent = play.delete("a").await;

    let inbox = lea.get("/").await;
    assert!(inbox.html.contains("for ops"), "{}", inbox.html);
    let page = lea.get(&page_of(&intent)).await;
    assert!(page.html.contains("The rule wants the yes of somebody in ops"), "{}", page.html);
    assert!(page.has_button(("answer", "deny")) && !page.has_button(("answer", "approve")));

    let theirs = bob.get(&page_of(&intent)).await;
    let (action, fields) = theirs.form_with(("answer", "approve"));
    let fields: Vec<(&str, &str)> =
        fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    assert_eq!(lea.post(&action, &fields).await.status, 403, "a form of somebody else's");
    let refused = play.stage.stage().yesgate(&["approve", &intent, "--yes"]);
    assert_eq!(refused.code(), 3);
    assert!(refused.stderr.contains("somebody in `ops`"), "{}", refused.stderr);
    assert_eq!(play.stage.shown(&intent)["state"], "pending");
    assert_eq!(play.ran(), 0);

    assert_eq!(approve(&bob, &theirs, &[]).await.status, 303);
    assert_eq!(play.polled(&intent).await["result"]["deleted"], "a");
    assert_eq!(play.stage.shown(&intent)["approvers"]["groups"][0], "ops");

    // A no is anybody's to say.
    let other = play.delete("b").await;
    let page = lea.get(&page_of(&other)).await;
    assert_eq!(lea.press(&page, ("answer", "deny"), &[]).await.status, 303);
    assert_eq!(play.polled(&other).await["status"], "denied");
    play.finish(1);
}

/// X6: where the named group does not answer, those who step in for it can say yes.
#[tokio::test]
async fn those_who_step_in_say_yes_where_nobody_answers() {
    let play = Play::with("", RULES).await;
    let lea = play.person(&["lea", "--role", "approver", "--group", "leads"]).await;
    let intent = play.ask("delete_everything", serde_json::json!({"name": "staging"})).await;
    let page = eventually("the others have had their time", async || {
        let page = lea.get(&page_of(&intent)).await;
        page.has_button(("answer", "approve")).then_some(page)
    })
    .await;
    assert_eq!(approve(&lea, &page, &[]).await.status, 303);
    play.polled(&intent).await;
    assert_eq!(play.stage.shown(&intent)["decision"]["by"], "lea on a page");
    play.finish(1);
}

/// X6, X9, FC-25: where nobody who may decide is in a named group the call is refused at once, `doctor` says so, and it is
/// asked about as soon as somebody is.
#[tokio::test]
async fn a_group_that_nobody_is_in_cannot_be_reached() {
    let play = Play::with("", RULES).await;
    let pay = || play.ann.call("notes", "pay", serde_json::json!({"amount": "1.00", "to": "bob"}));
    assert_eq!(pay().await.body["error"], "no_approver_reachable");
    let doctor = play.stage.stage().yesgate(&["doctor"]).stdout;
    assert!(doctor.contains("rule for nobody wants the yes of somebody in `treasury`"), "{doctor}");
    // A viewer is nobody who decides.
    play.person(&["vic", "--role", "viewer", "--group", "treasury"]).await;
    assert_eq!(pay().await.body["error"], "no_approver_reachable");
    play.person(&["tess", "--role", "approver", "--group", "treasury"]).await;
    eventually("the gateway knows of her", async || (pay().await.status == 202).then_some(())).await;
    play.finish(0);
}

//! A dangerous call to a real server runs after the yes, and once. What ran is read from the world (files,
//! commits, a ledger of payments), not from anybody's answer.

use std::fs;

use serde_json::{Value, json};
use yesgate_testkit::{Stage, confirm_token, error_code, intent_id, refusal, structured, text};

use super::{Era, YESGATE, audited, bank, everything, filesystem, git, git_in, open, repository};

/// The same arguments once more, with the token that a held answer brought.
fn with_token(arguments: &Value, held: &Value) -> Value {
    let mut arguments = arguments.clone();
    arguments["confirm_token"] = confirm_token(held).into();
    arguments
}

/// H1, H2, H4, H6: a file is written by the second call, not by the first, and not again by the third.
#[test]
fn the_filesystem_server_writes_a_file_once_the_yes_is_brought_back() {
    let stage = Stage::new(YESGATE);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("letter.txt");
    let arguments = json!({"path": file, "content": "Dear \u{1f337},\n"});
    let mut host = filesystem(folder.path()).gated(&stage);
    open(&mut host, Era::Legacy);

    let held = host.call("write_file", arguments.clone());
    assert_eq!(structured(&held)["status"], "confirmation_required");
    assert_eq!(structured(&held)["confirm_required"], true);
    // The server has answered a later call, so an earlier one would have run by now.
    host.call("list_directory", json!({"path": folder.path()}));
    assert!(!file.exists());

    let approved = with_token(&arguments, &held);
    let ran = host.call("write_file", approved.clone());
    assert!(text(&ran).starts_with("Successfully wrote"), "{ran:#}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "Dear \u{1f337},\n");

    fs::remove_file(&file).unwrap();
    let again = host.call("write_file", approved);
    assert_eq!((error_code(&again), refusal(&again)), (-32015, "consent_token_invalid"));
    host.call("list_directory", json!({"path": folder.path()}));
    assert!(!file.exists());

    host.assert_only_json_rpc();
    assert!(host.close().success());
    assert_eq!(audited(&stage, "redeemed"), 1);
}

/// H4, H5: a token for one file is no token for another, and neither file is touched.
#[test]
fn a_token_for_one_file_moves_no_other() {
    let stage = Stage::new(YESGATE);
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("a"), "a").unwrap();
    fs::write(path("b"), "b").unwrap();
    let mut host = filesystem(folder.path()).gated(&stage);
    open(&mut host, Era::Legacy);

    let held = host.call("move_file", json!({"source": path("a"), "destination": path("c")}));
    let other = json!({"source": path("b"), "destination": path("c")});
    let refused = host.call("move_file", with_token(&other, &held));
    assert_eq!(refusal(&refused), "consent_token_mismatch");
    assert!(path("a").exists() && path("b").exists() && !path("c").exists());

    assert!(host.close().success());
    assert_eq!(audited(&stage, "redeemed"), 0);
}

/// I5: the call waits while a human decides in another terminal, and returns with the commit made.
#[track_caller]
fn check_commit_from_another_terminal(era: Era) {
    let stage =
        Stage::new(YESGATE).config("[[rules]]\ntool = \"git/git_commit\"\nchannel = \"out_of_band\"\n");
    let folder = tempfile::tempdir().unwrap();
    let repository = repository(folder.path());
    git_in(&repository, &["add", "poem.txt"]);
    let commits = || git_in(&repository, &["rev-list", "--count", "HEAD"]);
    let mut host = git(&repository).gated(&stage);
    open(&mut host, era);

    let waiting = host.call_async("git_commit", json!({"repo_path": repository, "message": "Flowers"}));
    let question = stage.wait_for_question();
    host.call("git_status", json!({"repo_path": repository}));
    assert_eq!(commits(), "1");

    stage.yesgate(&["approve", question["intent_id"].as_str().unwrap(), "--yes"]).ok();
    let ran = host.answer_to(waiting);
    let head = git_in(&repository, &["rev-parse", "HEAD"]);
    assert!(text(&ran).contains(&head), "{ran:#}");
    assert_eq!((commits().as_str(), &*git_in(&repository, &["log", "-1", "--format=%s"])), ("2", "Flowers"));
    assert_eq!(ran.pointer("/result/resultType").is_some(), era == Era::Modern, "{ran:#}");

    host.assert_only_json_rpc();
    host.close();
    assert_eq!(audited(&stage, "redeemed"), 1);
}

/// I5 in the legacy era.
#[test]
fn the_git_server_commits_after_a_yes_from_another_terminal() {
    check_commit_from_another_terminal(Era::Legacy);
}

/// I5 in the modern era.
#[test]
fn the_git_server_commits_after_a_yes_from_another_terminal_in_the_modern_era() {
    check_commit_from_another_terminal(Era::Modern);
}

/// I5: a question that was asked in the chat may be answered elsewhere; the call runs at once, and the same
/// call repeated hands the result over, once.
#[test]
fn a_yes_from_another_terminal_stages_a_file_that_the_agent_asks_for_later() {
    let stage = Stage::new(YESGATE);
    let folder = tempfile::tempdir().unwrap();
    let repository = repository(folder.path());
    let staged = || git_in(&repository, &["diff", "--cached", "--name-only"]);
    let arguments = json!({"repo_path": repository, "files": ["new.txt"]});
    let mut host = git(&repository).gated(&stage);
    open(&mut host, Era::Legacy);

    let held = host.call("git_add", arguments.clone());
    assert_eq!(staged(), "");
    let said = stage.yesgate(&["approve", &intent_id(&held), "--yes"]).ok().stdout;
    assert!(said.contains("It ran once: ok."), "{said}");
    assert_eq!(staged(), "new.txt");

    git_in(&repository, &["reset", "--quiet"]);
    let handed = host.call("git_add", arguments.clone());
    assert_eq!(text(&handed), "Files staged successfully");
    assert_eq!(staged(), "", "handing over a result runs nothing");
    let asked_anew = host.call("git_add", arguments);
    assert_ne!(intent_id(&asked_anew), intent_id(&held));

    host.close();
    assert_eq!(audited(&stage, "redeemed"), 1);
}

/// H7: a no in another terminal is a no, with its reason.
#[test]
fn a_no_from_another_terminal_leaves_the_repository_as_it_was() {
    let stage = Stage::new(YESGATE).config("[[rules]]\ntool = \"git/*\"\nchannel = \"out_of_band\"\n");
    let folder = tempfile::tempdir().unwrap();
    let repository = repository(folder.path());
    let before = git_in(&repository, &["status", "--porcelain"]);
    let mut host = git(&repository).gated(&stage);
    open(&mut host, Era::Modern);

    let waiting = host.call_async("git_reset", json!({"repo_path": repository}));
    let question = stage.wait_for_question();
    let id = question["intent_id"].as_str().unwrap();
    stage.yesgate(&["deny", id, "--reason", "not on a Friday"]).ok();
    let answer = host.answer_to(waiting);
    assert_eq!(refusal(&answer), "denied");
    assert!(answer.to_string().contains("not on a Friday"), "{answer:#}");

    host.close();
    assert_eq!(git_in(&repository, &["status", "--porcelain"]), before);
    assert_eq!(audited(&stage, "redeemed"), 0);
}

/// H1, X3: a tool without any hint is dangerous; a payment is made once, whatever is sent again.
#[track_caller]
fn check_payment(era: Era) {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("payments");
    let stage = Stage::new(YESGATE).env("BANK_LOG", &log);
    let arguments = json!({"to": "Bob", "amount": "1.10"});
    let mut host = bank().gated(&stage);
    open(&mut host, era);

    let held = host.call("pay", arguments.clone());
    assert!(text(&host.call("balance", json!({"account": "Ann"}))).contains("100.00 EUR"));
    assert!(!log.exists());
    let approved = with_token(&arguments, &held);
    let ran = host.call("pay", approved.clone());
    assert_eq!(structured(&ran), &json!({"result": "paid 1.10 to Bob"}));
    assert_eq!(refusal(&host.call("pay", approved)), "consent_token_invalid");

    host.assert_only_json_rpc();
    host.close();
    assert_eq!(fs::read_to_string(&log).unwrap(), "Bob 1.10\n");
    assert_eq!(audited(&stage, "redeemed"), 1);
}

/// H1 in the legacy era, with a server that has both.
#[test]
fn a_python_server_pays_once_in_the_legacy_era() {
    check_payment(Era::Legacy);
}

/// H1 in the modern era.
#[test]
fn a_python_server_pays_once_in_the_modern_era() {
    check_payment(Era::Modern);
}

/// I3: the approve tool runs the stored call of a real server.
#[test]
fn the_everything_server_runs_what_the_approve_tool_releases() {
    let stage = Stage::new(YESGATE);
    let mut host = everything().gated(&stage);
    open(&mut host, Era::Legacy);

    let held = host.call("toggle-simulated-logging", json!({}));
    let ran = host.call("yesgate_approve", json!({"intent_id": intent_id(&held)}));
    assert!(text(&ran).starts_with("Started simulated"), "{ran:#}");
    let held = host.call("toggle-simulated-logging", json!({}));
    let ran = host.call("toggle-simulated-logging", with_token(&json!({}), &held));
    assert!(text(&ran).starts_with("Stopped simulated"), "{ran:#}");

    host.assert_only_json_rpc();
    assert!(host.close().success());
    assert_eq!(audited(&stage, "redeemed"), 2);
}

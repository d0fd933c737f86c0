//! Receipts of questions that are over, from the page and from the command line, checked where nothing else is known.

use std::fs;

use serde_json::{Value, json};
use yesgate_testkit::Stage;

use super::{Play, approve, page_of};

fn receipt_of(intent: &str) -> String {
    format!("/approve/{intent}/receipt")
}

/// Every question that is over has one receipt, wherever it is asked for; it verifies with the public key alone, and
/// has nothing of the arguments in it.
#[tokio::test]
async fn what_is_over_has_a_receipt_that_verifies_offline() {
    let play = Play::new().await;
    let run = |words: &[&str]| play.stage.stage().yesgate(words);
    let intent = play.delete("secret-note").await;
    assert_eq!(play.owner.get(&receipt_of(&intent)).await.status, 404, "it waits");
    let waiting = run(&["receipt", "show", &intent]);
    assert_eq!((waiting.code(), waiting.stdout.as_str()), (4, ""), "{}", waiting.stderr);
    let page = play.owner.get(&page_of(&intent)).await;
    assert!(!page.html.contains("Signed receipt"), "{}", page.html);
    assert_eq!(approve(&play.owner, &page, &[]).await.status, 303);
    play.polled(&intent).await;

    let page = play.owner.get(&page_of(&intent)).await;
    assert!(page.html.contains(&format!("href=\"{}\"", receipt_of(&intent))), "{}", page.html);
    let kept = play.owner.get(&receipt_of(&intent)).await;
    assert_eq!((kept.status, kept.header("content-type")), (200, Some("application/json")));
    let name = format!("attachment; filename=\"{intent}.receipt.json\"");
    assert_eq!(kept.header("content-disposition"), Some(name.as_str()));
    assert!(!kept.html.contains("secret-note") && !kept.html.contains("gone"), "{}", kept.html);
    assert_eq!(kept.html, run(&["receipt", "show", &intent]).ok().stdout);
    let said: Value = serde_json::from_str(&kept.html).unwrap();
    assert_eq!(said["receipt"]["outcome"], "ran");
    assert_eq!(said["receipt"]["decision"]["by"], "owner on a page");
    assert_eq!(said["receipt"]["decision"]["assurance"], "signed_in");
    assert_eq!(said["receipt"]["digest"], play.stage.shown(&intent)["digest"]);
    assert_eq!(said["receipt"]["rule"], "deletes");

    let key = run(&["receipt", "key"]).ok().stdout.trim().to_owned();
    assert_eq!(said["key"], json!(key));
    assert!(play.owner.get("/audit").await.html.contains(&key));
    let file = play.stage.stage().file("kept.json");
    fs::write(&file, &kept.html).unwrap();
    let file = file.to_str().unwrap();
    let here = run(&["receipt", "verify", file]).ok().stdout;
    assert!(here.contains("this installation's key signed exactly this"), "{here}");
    // Elsewhere there is no ledger, no key and no gateway, and none is made.
    let elsewhere = Stage::new(env!("CARGO_BIN_EXE_yesgate"));
    let there = elsewhere.yesgate(&["receipt", "verify", file, "--key", &key]).ok().stdout;
    for words in ["It ran once", &intent, "notes/delete_note", "yes, by owner on a page at level signed_in"] {
        assert!(there.contains(words), "{words}: {there}");
    }
    let keyless = elsewhere.yesgate(&["receipt", "verify", file]);
    assert_eq!(keyless.code(), 1, "{}", keyless.stdout);
    assert!(keyless.stderr.contains("--key"), "{}", keyless.stderr);
    assert!(!elsewhere.home().join("secret.key").exists());

    play.finish(1);
}

/// A receipt that was changed, or that another installation signed, is said to be that, and the command fails.
#[tokio::test]
async fn a_changed_or_foreign_receipt_is_refused() {
    let play = Play::new().await;
    let run = |words: &[&str]| play.stage.stage().yesgate(words);
    let intent = play.delete("a").await;
    play.stage.deny(&intent).ok();
    let receipt = run(&["receipt", "show", &intent]).ok().stdout;
    let file = play.stage.stage().file("receipt.json");
    let verify = |text: &str, words: &[&str]| {
        fs::write(&file, text).unwrap();
        let checked = run(&[&["receipt", "verify", file.to_str().unwrap()], words].concat());
        (checked.code(), checked.stderr.lines().next().unwrap_or_default().to_owned())
    };
    assert_eq!(verify(&receipt, &[]), (0, String::new()));
    let changed = [
        (receipt.replace("\"outcome\":\"denied\"", "\"outcome\":\"ran\""), "the signature does not hold"),
        (receipt.replace("\"local\"", "\"verified\""), "the signature does not hold"),
        (receipt.replacen(',', ", ", 1), "not spelled as it was written"),
        ("{}".to_owned(), "no receipt of Yesgate"),
        (String::new(), "no receipt of Yesgate"),
    ];
    for (text, words) in changed {
        assert_ne!(text, receipt);
        let (code, said) = verify(&text, &[]);
        assert!(code == 5 && said.contains(words), "{code}: {said}");
    }
    let other = Stage::new(env!("CARGO_BIN_EXE_yesgate")).yesgate(&["receipt", "key"]).ok().stdout;
    let (code, said) = verify(&receipt, &["--key", other.trim()]);
    assert!(code == 5 && said.contains("signed with another key"), "{said}");
    let (code, _) = verify(&receipt, &["--key", "ed25519:abc"]);
    assert_eq!(code, 2);

    // People see the receipts of their own organisation.
    let bob = play.person(&["bob", "--org", "elsewhere", "--role", "owner"]).await;
    assert_eq!(bob.get(&receipt_of(&intent)).await.status, 404);
    assert_eq!(play.person(&["eve", "--role", "viewer"]).await.get(&receipt_of(&intent)).await.status, 200);
    play.finish(0);
}

//! The figures on their page and at the command line.

use super::{Play, approve, page_of};

/// What was asked and decided is on the page, as a chart and as numbers; each person's speed is for owners; and the
/// command line says the same.
#[tokio::test]
async fn the_figures_tell_what_was_asked_and_how_it_was_decided() {
    let play = Play::new().await;
    let empty = play.owner.get("/figures").await;
    assert!(empty.html.contains("Nothing was asked"), "{}", empty.html);
    let intent = play.delete("a").await;
    let page = play.owner.get(&page_of(&intent)).await;
    assert_eq!(approve(&play.owner, &page, &[]).await.status, 303);
    play.polled(&intent).await;
    let denied = play.delete("b").await;
    play.stage.deny(&denied).ok();
    play.delete("c").await;

    let page = play.owner.get("/figures").await;
    assert_eq!(page.status, 200);
    assert!(page.html.contains("3 asked, 1 approved, 1 denied, 0 expired"), "{}", page.html);
    assert!(page.html.contains("<svg class=\"chart\"") && page.html.contains("Each day as a table"));
    assert!(!page.html.contains("style=\""), "the policy lets no style through");
    assert!(page.html.contains("owner on a page"), "{}", page.html);
    let viewer = play.person(&["eve", "--role", "viewer"]).await.get("/figures").await;
    assert!(viewer.html.contains("3 asked") && !viewer.html.contains("owner on a page"), "{}", viewer.html);
    let elsewhere =
        play.person(&["bob", "--org", "elsewhere", "--role", "owner"]).await.get("/figures").await;
    assert!(elsewhere.html.contains("Nothing was asked"), "{}", elsewhere.html);
    assert!(play.owner.get("/history").await.html.contains("href=\"/figures\""));

    let told = play.stage.stage().yesgate(&["figures", "--json"]).ok().json();
    let today = told["days"].as_array().unwrap().last().unwrap();
    assert_eq!((&today["asked"], &today["approved"], &today["denied"]), (&3.into(), &1.into(), &1.into()));
    assert_eq!(told["together"]["decided"], 2);
    let text = play.stage.stage().yesgate(&["figures"]).ok().stdout;
    assert!(text.contains("ASKED") && text.contains("owner on a page"), "{text}");
    play.finish(1);
}

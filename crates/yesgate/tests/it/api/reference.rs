//! The reference page: the description for programs, for people to read.

use super::Play;

/// Every operation, every shape and every code of the description stands on the page, and nothing foreign does.
#[tokio::test]
async fn the_reference_page_has_all_that_the_description_has() {
    let play = Play::new().await;
    let document = play.owner.get("/api/openapi.json").await;
    assert_eq!(
        document.body,
        play.ann.get("/api/openapi.json").await.body,
        "people and agents read the same"
    );
    let page = play.owner.browser.get("/api/docs").await;
    assert_eq!(page.status, 200, "{}", page.html);
    for (path, item) in document.body["paths"].as_object().unwrap() {
        assert!(page.html.contains(&format!("<code>{path}</code>")), "{path}");
        for operation in item.as_object().unwrap().values() {
            let id = operation["operationId"].as_str().unwrap();
            assert_eq!(page.html.matches(&format!("id=\"op-{id}\"")).count(), 1, "{id}");
        }
    }
    for shape in document.body["components"]["schemas"].as_object().unwrap().keys() {
        assert!(page.html.contains(&format!("id=\"shape-{shape}\"")), "{shape}");
    }
    assert!(page.html.contains("id=\"problem-slow_down\""));
    assert!(!page.html.contains("://") && !page.html.contains("<style") && !page.html.contains("onclick"));
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.contains("script-src 'self'") && !policy.contains("unsafe"), "{policy}");
    // Whoever is not signed in is led to the sign-in, and every page leads here.
    let nobody = play.gateway.visitor().get("/api/docs").await;
    assert_eq!((nobody.status, nobody.header("location")), (303, Some("/sign-in")));
    assert!(play.owner.browser.get("/").await.html.contains("href=\"/api/docs\""));
    play.finish(0);
}

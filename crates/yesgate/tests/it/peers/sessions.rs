//! Clients of 2025-11-25 whose session the gateway does not know: after a restart, or at another node.

use serde_json::{Value, json};
use yesgate_testkit::{MockEras, MockHttp, ServeStage};

use super::YESGATE;
use super::serve::scripted::Library;

/// A library whose session is gone is told so at once, and comes in again by beginning anew.
#[test]
fn a_library_whose_session_is_unknown_is_told_and_begins_anew() {
    let server = MockHttp::start(MockEras::Modern);
    let stage = ServeStage::new(YESGATE);
    let config = stage.web("web", &server);
    let stage = stage.config(&config);
    let mut gateway = stage.start();
    for library in Library::ALL {
        let url = format!("{}/mcp/web", gateway.url());
        let mut host = library.start(stage.stage(), "legacy");
        let read = json!({"call": "read_note", "arguments": {"id": "a"}});
        let is_read = |answer: &Value| answer["result"]["content"][0]["text"] == "the first note";
        assert_eq!(host.try_connect(&url, "legacy", None)["version"], "2025-11-25");
        assert!(is_read(&host.try_order(&read)));
        // To the client it is the same address, and another process that has never heard of it.
        assert!(gateway.close().success());
        gateway = stage.start_again(&gateway);
        let told = host.try_order(&read);
        assert!(!is_read(&told), "{library:?}: {told:#}");
        let words = told.to_string().to_lowercase();
        assert!(words.contains("session") || words.contains("404"), "{library:?}: {told:#}");
        assert_eq!(host.try_connect(&url, "legacy", None)["version"], "2025-11-25", "{library:?}");
        assert!(is_read(&host.try_order(&read)), "{library:?}");
        host.leave();
    }
}

//! What an envelope is, and what two readers could disagree about.

use super::{Envelope, Kind};

#[test]
fn parts_stay_in_the_senders_own_bytes() {
    let message =
        br#"{"id" : 1.0e0,"params":{ "a" :1 },"jsonrpc":"2.0","method":"tools\/list","vendor":[1]}"#;
    let envelope = Envelope::parse(message).unwrap();
    assert_eq!(envelope.kind(), Kind::Request);
    assert_eq!(envelope.id.unwrap().get(), "1.0e0");
    assert_eq!(envelope.method.unwrap(), "tools/list");
    assert_eq!(envelope.params.unwrap().get(), r#"{ "a" :1 }"#);
}

#[test]
fn the_four_kinds() {
    let kind = |text: &str| Envelope::parse(text.as_bytes()).unwrap().kind();
    assert_eq!(kind(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#), Kind::Request);
    assert_eq!(kind(r#"{"jsonrpc":"2.0","method":"ping"}"#), Kind::Notification);
    assert_eq!(kind(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#), Kind::Response);
    assert_eq!(kind(r#"{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}"#), Kind::Neither);
    assert_eq!(kind(r#"{"jsonrpc":"2.0","id":1}"#), Kind::Neither);
    assert_eq!(kind(r#"{"jsonrpc":"2.0","result":{}}"#), Kind::Neither);
}

#[test]
fn what_two_readers_could_read_in_two_ways_is_no_envelope() {
    for text in [
        r#"{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call"}"#,
        r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"ping","Method":"tools/call"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"ping","METHOD":"tools/call"}"#,
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"param\u{17f}\":{}}",
        r#"{"jsonrpc":"2.0","id":1,"method":7}"#,
        r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#,
        r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"ping"} x"#,
        "\u{feff}{}",
        "",
        "null",
    ] {
        assert!(Envelope::parse(text.as_bytes()).is_err(), "{text}");
    }
}

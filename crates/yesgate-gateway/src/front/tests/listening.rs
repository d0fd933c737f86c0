//! `subscriptions/listen` over HTTP.

use http::StatusCode;
use serde_json::{Value, json};

use crate::front::FrontSettings;
use crate::front::fixture::client::{Client, Events, refusal};
use crate::front::share::Share;
use crate::raw::raw;
use crate::talk::Notice;

async fn listen(client: &Client, wishes: Value) -> http::Response<crate::front::ResponseBody> {
    client.modern(31, "subscriptions/listen", json!({"notifications": wishes})).await
}

fn changed(params: Option<&str>) -> Option<Notice> {
    let params = params.map(|params| raw(params.to_owned()));
    Some(Notice { method: "notifications/tools/list_changed".into(), params })
}

#[tokio::test]
async fn what_is_granted_comes_first_and_every_notice_names_its_wish() {
    let client = Client::new();
    let wishes = json!({"toolsListChanged": true, "resourcesListChanged": true, "taskIds": ["t"]});
    let mut events = Events::of(listen(&client, wishes).await);
    let id = json!({"io.modelcontextprotocol/subscriptionId": 31});
    assert_eq!(
        events.message().await,
        json!({"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged",
            "params": {"_meta": id, "notifications": {"toolsListChanged": true, "taskIds": ["t"]}}})
    );
    client.board.tell(changed(None)).await;
    assert_eq!(events.message().await["params"], json!({"_meta": id}));
    client.board.tell(changed(Some(r#"{"x":1,"_meta":{"y":2}}"#))).await;
    assert_eq!(
        events.message().await["params"],
        json!({"x": 1, "_meta": {"y": 2, "io.modelcontextprotocol/subscriptionId": 31}})
    );
    client.board.tell(None).await;
    assert_eq!(
        events.message().await,
        json!({"jsonrpc": "2.0", "id": 31, "result": {"resultType": "complete", "_meta": id}})
    );
    assert!(events.block().await.is_none());
}

#[tokio::test]
async fn listening_ends_in_good_order_when_the_front_closes() {
    let client = Client::new();
    let mut events = Events::of(listen(&client, json!({})).await);
    events.message().await;
    client.front.close();
    assert_eq!(events.message().await["result"]["resultType"], "complete");
    assert!(events.block().await.is_none());
    let late = Events::of(listen(&client, json!({})).await).rest().await;
    assert_eq!(late.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_silent_stream_is_kept_alive() {
    let client = Client::new();
    let start = tokio::time::Instant::now();
    let mut events = Events::of(listen(&client, json!({})).await);
    events.message().await;
    for beat in 1..4 {
        assert_eq!(events.block().await.unwrap(), ":");
        assert_eq!(start.elapsed().as_secs(), beat * 15);
    }
}

#[tokio::test]
async fn wishes_that_make_no_sense_and_refusals_of_the_board_are_plain_errors() {
    let client = Client::new();
    for wishes in [json!([]), json!({"toolsListChanged": 1}), json!({"taskIds": "t"}), Value::Null] {
        assert_eq!(refusal(listen(&client, wishes.clone()).await).await, (200, -32602), "{wishes}");
    }
    assert_eq!(refusal(listen(&client, json!({"promptsListChanged": true})).await).await, (200, -32602));
}

#[tokio::test]
async fn streams_are_bounded_and_counted_only_while_they_last() {
    let settings = FrontSettings { streams: Share { all: 10, each: 1 }, ..FrontSettings::default() };
    let client = Client::with(settings);
    let mut events = Events::of(listen(&client, json!({})).await);
    assert_eq!(listen(&client, json!({})).await.status(), StatusCode::TOO_MANY_REQUESTS);
    events.message().await;
    client.board.tell(None).await;
    assert_eq!(events.rest().await.len(), 1);
    assert_eq!(listen(&client, json!({})).await.status(), StatusCode::OK);
}

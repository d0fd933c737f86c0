//! Modern clients that are asked in the middle of a call: the call waits between two requests.

use std::time::Duration;

use http::Response;
use serde_json::{Value, json};

use crate::board::Scope;
use crate::front::fixture::caller;
use crate::front::fixture::client::{Client, Events, json_of, refusal};
use crate::front::share::Share;
use crate::front::{FrontSettings, ResponseBody};

fn able() -> Value {
    json!({"elicitation": {"form": {}, "url": {}}})
}

async fn call(client: &Client, id: u32, tool: &str, extra: Value) -> Response<ResponseBody> {
    let mut params = json!({"name": tool, "arguments": {"x": 1}});
    for (key, value) in extra.as_object().unwrap() {
        params[key] = value.clone();
    }
    client.modern_able(id, "tools/call", params, able()).await
}

async fn parked(client: &Client, tool: &str) -> String {
    let result = json_of(call(client, 1, tool, json!({})).await).await["result"].clone();
    assert_eq!(result["resultType"], "input_required");
    result["requestState"].as_str().unwrap().to_owned()
}

fn yes() -> Value {
    json!({"action": "accept", "content": {}})
}

#[tokio::test]
async fn a_question_is_an_answer_and_the_call_goes_on_with_the_next_request() {
    let client = Client::new();
    let first = json_of(call(&client, 1, "ask", json!({})).await).await;
    assert_eq!(first["id"], 1);
    assert_eq!(
        first["result"]["inputRequests"],
        json!({"a": {"method": "elicitation/create",
            "params": {"mode": "form", "message": "?", "requestedSchema": {}}}})
    );
    let state = first["result"]["requestState"].as_str().unwrap();
    assert!(state.starts_with("yg1."));
    let answers = json!({"requestState": state, "inputResponses": {"a": yes(), "b": 7}});
    let last = json_of(call(&client, 2, "ask", answers).await).await;
    assert_eq!(
        last,
        json!({"jsonrpc": "2.0", "id": 2, "result": {"said": r#"a={"action":"accept","content":{}}"#}})
    );
    assert_eq!(client.board.log().iter().filter(|noted| *noted == "request ask").count(), 1);
}

/// A19: a state is good for its own caller, place and request, once.
#[tokio::test]
async fn a_state_opens_nothing_for_anybody_or_anything_else() {
    let client = Client::new();
    let state = parked(&client, "ask").await;
    let answers = json!({"requestState": state, "inputResponses": {"a": yes()}});
    let mut bob = client.clone();
    bob.caller = caller("bob");
    let mut other_program = client.clone();
    other_program.caller.client = "other".parse().unwrap();
    let mut elsewhere = client.clone();
    elsewhere.scope = Scope::One("files".parse().unwrap());
    for stranger in [bob, other_program, elsewhere] {
        assert_eq!(refusal(call(&stranger, 2, "ask", answers.clone()).await).await, (200, -32602));
    }
    assert_eq!(refusal(call(&client, 2, "ask_two", answers.clone()).await).await, (200, -32602));
    let mut changed = answers.clone();
    changed["arguments"] = json!({"x": 2});
    assert_eq!(refusal(call(&client, 2, "ask", changed).await).await, (200, -32602));
    let made_up = json!({"requestState": "yg1.made-up", "inputResponses": {"a": yes()}});
    assert_eq!(refusal(call(&client, 2, "ask", made_up).await).await, (200, -32602));
    assert!(!client.board.log().iter().any(|noted| noted.starts_with("answered")));

    assert_eq!(json_of(call(&client, 3, "ask", answers.clone()).await).await["id"], 3);
    assert_eq!(refusal(call(&client, 4, "ask", answers).await).await, (200, -32602));
    assert_eq!(client.board.log().iter().filter(|noted| noted.starts_with("request")).count(), 1);
}

#[tokio::test]
async fn what_was_left_out_is_asked_again_under_a_new_state() {
    let client = Client::new();
    let state = parked(&client, "ask_two").await;
    let half = json!({"requestState": state, "inputResponses": {"b": yes()}});
    let again = json_of(call(&client, 2, "ask_two", half.clone()).await).await["result"].clone();
    assert_eq!(again["inputRequests"].as_object().unwrap().keys().collect::<Vec<_>>(), ["a"]);
    assert_ne!(again["requestState"], state);
    assert_eq!(refusal(call(&client, 3, "ask_two", half).await).await, (200, -32602));
    let rest = json!({"requestState": again["requestState"], "inputResponses": {"a": {"action": "cancel"}}});
    let last = json_of(call(&client, 4, "ask_two", rest).await).await;
    assert_eq!(last["result"]["said"], r#"b={"action":"accept","content":{}} a={"action":"cancel"}"#);
}

#[tokio::test]
async fn answers_that_make_no_sense_use_nothing_up() {
    let client = Client::new();
    let state = parked(&client, "ask").await;
    for nonsense in [json!([]), json!({"a": 1}), json!({"a": {}}), json!({"a": {"action": "yes"}})] {
        let answers = json!({"requestState": state, "inputResponses": nonsense});
        assert_eq!(refusal(call(&client, 2, "ask", answers).await).await, (200, -32602), "{nonsense}");
    }
    let answers = json!({"requestState": state, "inputResponses": {"a": yes()}});
    assert!(json_of(call(&client, 3, "ask", answers).await).await["result"]["said"].is_string());
    let odd = json!({"requestState": 5});
    assert_eq!(refusal(call(&client, 4, "echo", odd).await).await, (200, -32602));
}

#[tokio::test]
async fn a_state_that_is_not_ours_passes_to_the_board() {
    let client = Client::new();
    let foreign = json!({"requestState": "theirs", "inputResponses": {}});
    assert_eq!(json_of(call(&client, 1, "echo", foreign).await).await["result"]["said"], "echo");
}

#[tokio::test(start_paused = true)]
async fn what_is_never_fetched_is_withdrawn() {
    let client = Client::new();
    let state = parked(&client, "ask").await;
    let start = tokio::time::Instant::now();
    client.board.noted("dropped ask").await;
    assert!(start.elapsed() <= Duration::from_secs(615), "{:?}", start.elapsed());
    let answers = json!({"requestState": state, "inputResponses": {"a": yes()}});
    assert_eq!(refusal(call(&client, 2, "ask", answers).await).await, (200, -32602));
}

#[tokio::test(start_paused = true)]
async fn a_state_is_dead_at_its_last_second_even_before_it_is_swept_away() {
    let settings = FrontSettings { beat: Duration::from_secs(3600), ..FrontSettings::default() };
    let client = Client::with(settings);
    let state = parked(&client, "ask").await;
    tokio::time::advance(Duration::from_secs(600)).await;
    let answers = json!({"requestState": state, "inputResponses": {"a": yes()}});
    assert_eq!(refusal(call(&client, 2, "ask", answers).await).await, (200, -32602));
}

#[tokio::test]
async fn parked_requests_are_bounded() {
    let settings = FrontSettings { parked: Share { all: 10, each: 1 }, ..FrontSettings::default() };
    let client = Client::with(settings);
    parked(&client, "ask").await;
    assert_eq!(refusal(call(&client, 2, "ask", json!({})).await).await, (200, -32603));
    client.board.noted("dropped ask").await;
    client.front.close();
    assert_eq!(client.board.log().iter().filter(|noted| *noted == "dropped ask").count(), 2);
}

#[tokio::test]
async fn a_second_question_and_progress_in_between_go_to_the_leg_that_waits() {
    let client = Client::new();
    let state = parked(&client, "ask_again").await;
    let answers =
        json!({"requestState": state, "inputResponses": {"a": yes()}, "_meta": {"progressToken": "new"}});
    let messages = Events::of(call(&client, 2, "ask_again", answers).await).rest().await;
    assert_eq!(messages[0]["params"], json!({"progressToken": "new", "progress": 2}));
    assert_eq!(messages[1]["id"], 2);
    assert_eq!(messages[1]["result"]["resultType"], "input_required");
    let answers =
        json!({"requestState": messages[1]["result"]["requestState"], "inputResponses": {"b": yes()}});
    let last = json_of(call(&client, 3, "ask_again", answers).await).await;
    assert_eq!(last["result"]["said"], r#"b={"action":"accept","content":{}}"#);
}

#[tokio::test]
async fn nobody_is_asked_for_what_it_did_not_declare() {
    for (capabilities, tool) in [
        (json!({}), "ask"),
        (json!({"elicitation": {}}), "ask_url"),
        (json!({"elicitation": {"url": {}}}), "ask"),
        (json!({"sampling": {}}), "ask"),
    ] {
        let client = Client::new();
        let params = json!({"name": tool, "arguments": {}});
        let answer = json_of(client.modern_able(1, "tools/call", params, capabilities.clone()).await).await;
        assert_eq!(answer["error"]["message"], "the client cannot be asked", "{capabilities} {tool}");
    }
}

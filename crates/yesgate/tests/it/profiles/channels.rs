//! The ladder: a question takes the best way that the client can really do, it is open at the command line all the
//! while, and the first decision holds.

use serde_json::{Value, json};
use yesgate_testkit::{
    Answers as _, Human, Lane, LaneEra, Player, confirm_token, error_code, intent_id, refusal, structured,
    until,
};

use super::{CALM, ELSEWHERE, HASTY, forms, plain, setup, with_forms};

fn note() -> Value {
    json!({"id": "a"})
}

fn delete(player: &mut Player, human: Human) -> Value {
    player.call_answering("delete_note", note(), human).answer
}

/// The agent brings the token of a held answer back.
fn bring(player: &mut Player, held: &Value) -> Value {
    player.call("delete_note", json!({"id": "a", "confirm_token": confirm_token(held)}))
}

/// X1, X9: a yes in the client's own form runs the call once, and is written down as the client's word for it.
#[test]
fn a_yes_in_the_clients_form_runs_the_call_once() {
    for lane in Lane::ALL {
        let mut player = with_forms(lane, "");
        let told = player.call_answering("delete_note", note(), Human::Accepts);
        assert_eq!(structured(&told.answer), &json!({"deleted": "a", "run": 1}));
        let rounds = match lane.era() {
            LaneEra::Legacy => 0,
            LaneEra::Modern => 1,
        };
        assert_eq!((told.asked.len(), told.rounds), (1, rounds));
        assert_eq!(player.runs("delete_note"), [note()]);
        assert_eq!(player.yeses(), ["client"]);
        assert!(!player.heard_by_agent().contains("confirm_token"), "the agent needs no handle");
        player.finish(1);
    }
}

/// X9: a no in the form is a human's no: the agent is told, and the same call is not asked about again for a while.
#[test]
fn a_no_in_the_clients_form_is_final() {
    for lane in Lane::ALL {
        for human in [Human::Declines, Human::AcceptsWithNo] {
            let mut player = with_forms(lane, CALM);
            let answer = delete(&mut player, human);
            assert_eq!(refusal(&answer), "denied");
            assert_eq!(player.state(&intent_id(&answer)), "denied");
            assert_eq!(refusal(&delete(&mut player, Human::IsNotAsked)), "denied");
            player.finish(0);
        }
    }
}

/// X9: a form that is closed says "not now": nothing runs, and the human may be asked again.
#[test]
fn a_form_that_is_closed_may_be_shown_again() {
    for lane in Lane::ALL {
        let mut player = with_forms(lane, CALM);
        assert_eq!(refusal(&delete(&mut player, Human::Cancels)), "cancelled");
        assert!(player.pending().is_empty());
        assert_eq!(structured(&delete(&mut player, Human::Accepts))["deleted"], "a");
        player.finish(1);
    }
}

/// X9: a no that comes faster than anybody reads is nobody's. The question goes to the conversation and stays open at
/// the command line, and the next call shows no form.
#[test]
fn a_no_faster_than_anybody_reads_is_nobodys() {
    for lane in Lane::ALL {
        for human in [Human::Declines, Human::Cancels, Human::AcceptsWithNo] {
            let mut player = with_forms(lane, HASTY);
            let told = player.call_answering("delete_note", note(), human);
            assert_eq!(told.asked.len(), 1);
            assert_eq!(structured(&told.answer)["status"], "confirmation_required");
            assert_eq!(player.question(), intent_id(&told.answer));
            let again = delete(&mut player, Human::IsNotAsked);
            assert_eq!(intent_id(&again), intent_id(&told.answer));
            assert!(player.upstream_calls().is_empty());
            assert_eq!(structured(&bring(&mut player, &again))["deleted"], "a");
            assert_eq!(player.yeses(), ["relayed"]);
            player.finish(1);
        }
    }
}

/// X9: the question that went on to the conversation can be answered at the command line as well.
#[test]
fn what_nobody_answered_at_the_client_is_open_at_the_command_line() {
    for lane in Lane::ALL {
        let mut player = with_forms(lane, HASTY);
        let held = delete(&mut player, Human::Declines);
        player.approve(&intent_id(&held)).ok();
        assert_eq!(structured(&delete(&mut player, Human::IsNotAsked))["deleted"], "a");
        assert_eq!(refusal(&bring(&mut player, &held)), "consent_token_invalid");
        player.finish(1);
    }
}

/// X9: only an accepted form that says yes in its one field is a yes; everything else was no human's doing.
#[test]
fn an_accepted_form_without_a_true_in_its_field_is_no_yes() {
    let accepted = |content: Value| json!({"action": "accept", "content": content});
    let answers = [
        accepted(json!({})),
        json!({"action": "accept"}),
        accepted(json!({"approve": "true"})),
        accepted(json!({"approve": 1})),
        accepted(json!({"approve": null, "decision": "approve"})),
    ];
    for lane in Lane::ALL {
        let player = with_forms(lane, CALM);
        for (index, answer) in answers.iter().enumerate() {
            let mut client = player.another(&format!("client {index}"), forms());
            let told = client.call_answering("delete_note", note(), |_: &Value| answer.clone());
            assert_eq!(structured(&told.answer)["status"], "confirmation_required", "{answer}");
            client.leave();
        }
        assert!(player.upstream_calls().is_empty());
        player.finish(0);
    }
}

/// Time: a client in a session that never answers is given up after `times.hold`, and its human is asked another way
/// from then on. A modern client that never comes back leaves a question that ends by itself.
#[test]
fn a_client_that_never_answers_is_not_waited_for() {
    for lane in Lane::ALL {
        match lane.era() {
            LaneEra::Legacy => {
                let mut player = with_forms(lane, "[times]\nhold = \"1s\"\n");
                let told = player.call_answering("delete_note", note(), Human::Hangs);
                assert_eq!(told.asked.len(), 1);
                assert_eq!(structured(&told.answer)["status"], "confirmation_required");
                let again = delete(&mut player, Human::IsNotAsked);
                assert_eq!(structured(&bring(&mut player, &again))["deleted"], "a");
                player.finish(1);
            }
            LaneEra::Modern => {
                let mut player = with_forms(lane, "[times]\ndecide = \"1s\"\n");
                let asked = player.call_answering("delete_note", note(), Human::Hangs).answer;
                until("the end of the question", || player.pending().is_empty().then_some(()));
                let state = &asked["result"]["requestState"];
                let yes = json!({"dev.yesgate/confirm": {"action": "accept", "content": {"approve": true}}});
                let further = json!({"requestState": state, "inputResponses": yes});
                assert_eq!(refusal(&player.call_with("delete_note", note(), &further)), "expired");
                player.finish(0);
            }
        }
    }
}

/// Time: a human who answered before and is slow now is asked another way for this call, and by a form again for the
/// next one.
#[test]
fn a_slow_human_is_asked_another_way_and_keeps_their_forms() {
    for lane in Lane::ALL.into_iter().filter(|lane| lane.era() == LaneEra::Legacy) {
        let mut player = with_forms(lane, "[times]\nhold = \"1s\"\n");
        assert_eq!(structured(&delete(&mut player, Human::Accepts))["deleted"], "a");
        let slow = player.call_answering("delete_note", json!({"id": "b"}), Human::Hangs);
        assert_eq!(structured(&slow.answer)["status"], "confirmation_required");
        let told = player.call_answering("delete_note", json!({"id": "c"}), Human::Accepts);
        assert_eq!((told.asked.len(), &structured(&told.answer)["deleted"]), (1, &json!("c")));
        player.finish(2);
    }
}

/// Time: a client that goes away takes its open form along: the question is withdrawn, and a late yes is void.
#[test]
fn the_question_of_a_client_that_went_away_is_withdrawn() {
    for lane in [Lane::StdioLegacy, Lane::StdioModern, Lane::HttpLegacy] {
        let mut player = with_forms(lane, "");
        let pending = player.begin("delete_note", note());
        let intent = player.question();
        player.leave();
        until("the withdrawal", || player.pending().is_empty().then_some(()));
        assert_eq!(player.state(&intent), "cancelled");
        assert_eq!(player.approve(&intent).code(), 3);
        drop(pending);
        player.finish(0);
    }
}

/// X9: the first decision holds. A yes at the command line while the form is open runs the call, and what the form says
/// after that changes nothing; so does a no.
#[test]
fn the_first_decision_holds_whatever_the_form_says_later() {
    for lane in Lane::ALL {
        for late in [Human::Declines, Human::Accepts] {
            let mut player = with_forms(lane, CALM);
            let play = player.play();
            let told = player.call_answering("delete_note", note(), |form: &Value| {
                play.approve(&play.question()).ok();
                late.clone().answer(form).unwrap()
            });
            assert_eq!(structured(&told.answer), &json!({"deleted": "a", "run": 1}));
            assert_eq!(player.yeses(), ["local"]);
            player.finish(1);
        }
        let mut player = with_forms(lane, CALM);
        let play = player.play();
        let told = player.call_answering("delete_note", note(), |_: &Value| {
            play.yesgate(&["deny", &play.question(), "--reason", "not today"]).ok();
            json!({"action": "accept", "content": {"approve": true}})
        });
        assert_eq!(refusal(&told.answer), "denied");
        assert!(told.answer.to_string().contains("not today"));
        player.finish(0);
    }
}

/// Time: a no that a modern client brings after the decision changes nothing, and is written down.
#[test]
fn a_no_that_comes_back_too_late_is_written_down() {
    for lane in Lane::ALL.into_iter().filter(|lane| lane.era() == LaneEra::Modern) {
        let mut player = with_forms(lane, CALM);
        let play = player.play();
        let told = player.call_answering("delete_note", note(), |_: &Value| {
            play.approve(&play.question()).ok();
            json!({"action": "decline"})
        });
        assert_eq!(structured(&told.answer)["deleted"], "a");
        let late: Vec<Value> = player.audit().into_iter().map(|row| row["entry"].clone()).collect();
        let late = late.iter().filter(|entry| entry["event"] == "late_answer").collect::<Vec<_>>();
        assert_eq!((late.len(), &late[0]["answer"]), (1, &json!("deny")));
        player.finish(1);
    }
}

/// Time: a call that its client gives up is withdrawn, and a late yes runs nothing.
#[test]
fn a_call_that_is_given_up_is_withdrawn() {
    for lane in Lane::ALL {
        let mut player = plain(lane, ELSEWHERE);
        let pending = player.begin("delete_note", note());
        let intent = player.question();
        player.cancel(&pending);
        until("the withdrawal", || player.pending().is_empty().then_some(()));
        assert_eq!(player.state(&intent), "cancelled");
        assert_eq!(player.approve(&intent).code(), 3);
        player.finish(0);
    }
    // In the new era the form is an answer: there is no call to be given up while it is open.
    for lane in [Lane::StdioLegacy, Lane::HttpLegacy] {
        let mut player = with_forms(lane, "");
        let pending = player.begin("delete_note", note());
        let intent = player.question();
        player.cancel(&pending);
        until("the withdrawal", || player.pending().is_empty().then_some(()));
        assert_eq!(player.state(&intent), "cancelled");
        player.finish(0);
    }
}

/// X2: the form shows every byte of the arguments, what cannot be seen included; it must be filled in, and no default
/// fills it.
#[test]
fn the_form_shows_every_byte_and_has_no_default() {
    for lane in Lane::ALL {
        let mut player = with_forms(lane, CALM);
        let arguments =
            json!({"id": "a\u{202e}b", "text": "first\nsecond\t\u{0}  end ", "deep": [{"n": 1.50}, null]});
        let told = player.call_answering("write_note", arguments.clone(), Human::Declines);
        let form = &told.asked[0];
        let code = player.shown(&intent_id(&told.answer))["match_code"].as_str().unwrap().to_owned();
        let message = form["message"].as_str().unwrap().replace(&code, "(code)");
        insta::allow_duplicates!(insta::assert_snapshot!(message, @r#"
        write_note(deep=[{n=1.5}, null], id="a\u{202e}b", text="first\nsecond\t\u{0}  end ") on mock

        write_note on mock (dangerous)
        Arguments, exactly as they will run:
          deep:
            -
              n: 1.5
            - null
          id: "a\u{202e}b"
          text: "first\nsecond\t\u{0}  end "
        Code: (code)
        "#));
        let approve = json!({"type": "boolean", "title": "Run write_note once", "description": "Exactly as shown above."});
        let schema = json!({"type": "object", "properties": {"approve": approve}, "required": ["approve"]});
        assert_eq!(form["requestedSchema"], schema);
        assert!(!form.to_string().contains("default"), "{form:#}");
        player.finish(0);
    }
}

/// SEP-2322: a state is good for one return of the one who got it, with the same call; any other is an error, and
/// nothing runs. A session has no states.
#[test]
fn a_state_is_good_for_one_return_of_its_own_caller() {
    let yes = json!({"dev.yesgate/confirm": {"action": "accept", "content": {"approve": true}}});
    for lane in Lane::ALL {
        let mut player = with_forms(lane, "");
        let with = |state: &Value| json!({"requestState": state, "inputResponses": yes});
        match lane.era() {
            LaneEra::Legacy => {
                let answer = player.call_with("delete_note", note(), &with(&json!("yg1.made-up")));
                assert_eq!(error_code(&answer), -32602);
                player.finish(0);
            }
            LaneEra::Modern => {
                let asked = player.call("delete_note", note());
                let state = &asked["result"]["requestState"];
                let mut stranger = player.another("somebody else", forms());
                let theirs = stranger.call_with("delete_note", note(), &with(state));
                let other_note = player.call_with("delete_note", json!({"id": "b"}), &with(state));
                let other_tool = player.call_with("write_note", note(), &with(state));
                let made_up = player.call_with("delete_note", note(), &with(&json!("yg1.made-up")));
                for answer in [theirs, other_note, other_tool, made_up] {
                    assert_eq!(error_code(&answer), -32602, "{answer:#}");
                }
                assert!(player.upstream_calls().is_empty());
                let ran = player.call_with("delete_note", note(), &with(state));
                assert_eq!(structured(&ran)["deleted"], "a");
                let again = player.call_with("delete_note", note(), &with(state));
                assert_eq!(error_code(&again), -32602, "{again:#}");
                stranger.leave();
                player.finish(1);
            }
        }
    }
}

/// I5, SEP-2322: a human who decides elsewhere has time: a modern client without any capability comes back in rounds,
/// and a yes during one of them gives it the result. A client of the old era is told to ask again.
#[test]
fn a_modern_client_waits_in_rounds_for_a_yes_from_elsewhere() {
    for lane in Lane::ALL {
        let mut player = plain(lane, &format!("[times]\nhold = \"1s\"\n{ELSEWHERE}"));
        let first = player.call("delete_note", note());
        let ran = match lane.era() {
            LaneEra::Legacy => {
                assert_eq!(structured(&first)["status"], "approval_required");
                player.approve(&player.question()).ok();
                player.call("delete_note", note())
            }
            LaneEra::Modern => {
                assert_eq!(first["result"]["resultType"], "input_required");
                assert!(first["result"].get("inputRequests").is_none(), "{first:#}");
                let further = json!({"requestState": first["result"]["requestState"]});
                let round = player.begin_with("delete_note", note(), &further);
                player.approve(&player.question()).ok();
                player.go_on(round, Human::IsNotAsked).answer
            }
        };
        assert_eq!(structured(&ran), &json!({"deleted": "a", "run": 1}));
        assert_eq!(player.yeses(), ["local"]);
        player.finish(1);
    }
}

/// Time: without time to wait, a modern client is told to ask again like any other; there is an end to the rounds.
#[test]
fn the_rounds_of_a_modern_client_have_an_end() {
    for lane in Lane::ALL {
        let mut player = plain(lane, &format!("[times]\nhold = \"1s\"\nwait = \"0s\"\n{ELSEWHERE}"));
        let told = player.call_answering("delete_note", note(), Human::IsNotAsked);
        assert_eq!(
            (structured(&told.answer)["status"].as_str(), told.rounds),
            (Some("approval_required"), 0)
        );
        assert!(structured(&told.answer).get("confirm_token").is_none());
        player.finish(0);
    }
}

/// MCP §2.6: a server that itself asks its user composes with our question: ours comes first, its own reach the
/// client after the yes, and it runs once.
#[test]
fn a_server_that_asks_its_user_does_so_after_our_question() {
    for lane in Lane::ALL {
        for (arguments, forms_in_all) in [
            (json!({"question": "Who?", "state": "none"}), 2),
            (json!({"question": "Who?"}), 2),
            (json!({"question": "Who?", "rounds": 2}), 3),
        ] {
            let mut player = with_forms(lane, "");
            let mut forms = Vec::new();
            let told = player.call_answering("ask_user", arguments.clone(), |form: &Value| {
                forms.push(form["message"].as_str().unwrap().to_owned());
                let content =
                    if forms.len() == 1 { json!({"approve": true}) } else { json!({"words": "Ann"}) };
                json!({"action": "accept", "content": content})
            });
            assert_eq!(told.asked.len(), forms_in_all, "{arguments}: {:#?}", told.asked);
            assert!(forms[0].contains("ask_user on mock") && forms[1..].iter().all(|form| form == "Who?"));
            assert!(yesgate_testkit::text(&told.answer).contains("Ann"), "{:#}", told.answer);
            assert_eq!(player.yeses(), ["client"]);
            player.finish(1);
        }
    }
}

/// X9: a client that declared no forms is not shown any.
#[test]
fn a_client_without_forms_is_asked_in_the_conversation() {
    for lane in Lane::ALL {
        for capabilities in [json!({}), json!({"sampling": {}})] {
            let mut player = setup(lane).open(capabilities);
            let held = delete(&mut player, Human::IsNotAsked);
            assert_eq!(structured(&bring(&mut player, &held))["deleted"], "a");
            player.finish(1);
        }
    }
}

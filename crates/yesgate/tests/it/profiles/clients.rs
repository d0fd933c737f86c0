//! What is known of single hosts, and what the operator says of them: it chooses the way, never the proof.

use serde_json::{Value, json};
use yesgate_testkit::{Human, Lane, LaneEra, error_code, structured};

use super::{HASTY, forms, setup, with_forms};

fn note() -> Value {
    json!({"id": "a"})
}

/// X9: a host that is known to drop its dialogs is not asked in one; its user is asked in the conversation.
#[test]
fn a_host_that_is_known_to_drop_its_dialogs_is_not_asked_in_one() {
    for lane in Lane::ALL {
        let mut player = with_forms(lane, "").another("local-agent-mode-notes", forms());
        let told = player.call_answering("delete_note", note(), Human::IsNotAsked);
        assert_eq!(structured(&told.answer)["status"], "confirmation_required");
        player.finish(0);
    }
}

/// X9: the operator says which of a client's ways lead to somebody; the others are not taken.
#[test]
fn the_operator_says_which_ways_of_a_client_lead_to_somebody() {
    for lane in Lane::ALL {
        let mut player = with_forms(lane, "[clients.\"test*\"]\nways = [\"page\", \"task\"]\n");
        let told = player.call_answering("delete_note", note(), Human::IsNotAsked);
        assert_eq!(structured(&told.answer)["status"], "confirmation_required");
        player.finish(0);
    }
}

/// X9: a client that the operator swears to is asked again, whatever it did the last time.
#[test]
fn a_client_that_the_operator_swears_to_is_asked_again() {
    for lane in Lane::ALL {
        let mut player = with_forms(lane, &format!("{HASTY}[clients.testkit]\nways = [\"form\"]\n"));
        for _ in 0..2 {
            let told = player.call_answering("delete_note", note(), Human::Declines);
            assert_eq!(told.asked.len(), 1);
            assert_eq!(structured(&told.answer)["status"], "confirmation_required");
        }
        let told = player.call_answering("delete_note", note(), Human::Accepts);
        assert_eq!(structured(&told.answer)["deleted"], "a");
        player.finish(1);
    }
}

/// X9: nobody is asked in a way that its client did not declare, whatever the operator says.
#[test]
fn nobody_is_asked_in_a_way_that_was_not_declared() {
    for lane in Lane::ALL {
        let sworn = "[clients.\"*\"]\nways = [\"form\", \"page\", \"task\"]\n";
        let mut player = setup(lane).config(sworn).open(json!({}));
        let told = player.call_answering("delete_note", note(), Human::IsNotAsked);
        assert_eq!(structured(&told.answer)["status"], "confirmation_required");
        player.finish(0);
    }
}

/// X9: a client whose tasks lead to nobody waits as one without.
#[test]
fn a_client_whose_tasks_lead_to_nobody_is_asked_in_its_dialog() {
    for lane in [Lane::StdioModern, Lane::HttpModern] {
        let capabilities = json!({"elicitation": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}});
        let mut player = setup(lane).config("[clients.testkit]\nways = [\"form\"]\n").open(capabilities);
        let told = player.call_answering("delete_note", note(), Human::Accepts);
        assert_eq!((told.rounds, structured(&told.answer)["deleted"].as_str()), (1, Some("a")));
        player.finish(1);
    }
}

/// X9: a client whose pages lead to nobody is not sent to one.
#[test]
fn a_client_whose_pages_lead_to_nobody_is_not_sent_to_one() {
    for lane in [Lane::HttpLegacy, Lane::HttpModern] {
        let web = "[times]\nhold = \"1s\"\nwait = \"0s\"\n[[rules]]\ntool = \"mock/delete_note\"\nthen = \"ask\"\nchannel = \"web\"\n";
        for (ways, is_sent) in [("[\"page\"]", true), ("[]", false)] {
            let config = format!("{web}[clients.testkit]\nways = {ways}\n");
            let mut player = setup(lane).config(&config).open(json!({"elicitation": {"url": {}}}));
            let told = player.call_answering("delete_note", note(), Human::Cancels);
            assert_eq!(!told.asked.is_empty(), is_sent, "{:#?}", told.asked);
            match (lane.era(), is_sent) {
                (LaneEra::Legacy, true) => assert_eq!(error_code(&told.answer), -32042),
                (LaneEra::Legacy, false) | (LaneEra::Modern, _) => {
                    assert_eq!(structured(&told.answer)["status"], "approval_required");
                }
            }
            player.finish(0);
        }
    }
}

//! Who is told what: the fresh preview of a call that did not run, the operator's reasons in every mode, whose words are
//! whose, and that a wish for plan mode is a question about the mode.

use serde_json::{Value, json};
use yesgate_testkit::{Human, Lane, Player, confirm_token, intent_id, refusal, structured, text};

use super::{CALM, forms, plain, setup};
use crate::support::stage;

/// A deployment is previewed, and decided away from the agent.
const DEPLOY: &str = r#"
[[rules]]
tool = "mock/write_note"
class = "safe-write"

[[rules]]
tool = "mock/deploy"
confirm = "preview"
preview = { args = { dry_run = true } }
channel = "out_of_band"
"#;

/// M4: a preview that changed before a yes at the command line could be used blocks the call, and everybody is shown
/// what it says now: the call that waits, whoever looks it up, and the human who said yes.
#[test]
fn a_preview_that_changed_under_a_yes_elsewhere_is_shown_to_everybody() {
    for lane in Lane::ALL {
        let setup = setup(lane).config(DEPLOY).server_args(&["--deploy"]).ungated(&["deploy", "write_note"]);
        let mut player = setup.open(json!({}));
        let pending = player.begin("deploy", json!({"name": "shop"}));
        let intent = player.question();
        let wrote = player.call("write_note", json!({"id": "added", "text": "x"}));
        assert!(text(&wrote).ends_with("wrote added"), "{wrote:#}");
        let approved = player.approve(&intent);
        assert_eq!(approved.code(), 3, "{approved:#?}");
        assert!(approved.stdout.contains("The preview says something else now"), "{approved:#?}");
        assert!(approved.stdout.contains("added"), "{approved:#?}");

        let answer = player.go_on(pending, Human::IsNotAsked).answer;
        assert_eq!(refusal(&answer), "consent_token_mismatch", "{answer:#}");
        let payload = answer.pointer("/error/data").unwrap_or_else(|| structured(&answer));
        let status = player.call("yesgate_status", json!({ "intent_id": intent }));
        for told in [payload, structured(&status)] {
            assert_eq!(told["details"]["changed"], "preview", "{told:#}");
            assert!(told["details"]["preview"].to_string().contains("added"), "{told:#}");
        }
        let shown = player.shown(&intent);
        assert_eq!(shown["state"], "voided");
        assert!(!shown["preview"].to_string().contains("added"), "{shown:#}");
        assert!(shown["preview_now"].to_string().contains("added"), "{shown:#}");
        let printed = player.yesgate(&["show", &intent]).ok().stdout;
        assert!(printed.contains("The preview says something else now"), "{printed}");
        assert!(player.runs("deploy").iter().all(|arguments| arguments["dry_run"] == true));
        player.finish(0);
    }
}

fn plan(player: &mut Player, further: &Value) -> Value {
    let mut arguments = json!({"id": "a", "__mode": "plan"});
    for (key, value) in further.as_object().into_iter().flatten() {
        arguments[key] = value.clone();
    }
    player.call("delete_note", arguments)
}

/// M6: a call that wishes for plan mode is answered with the question about the mode. A yes to it, with the token, in
/// the form or at the command line, sets the mode; it never runs the call.
#[test]
fn a_wish_for_plan_mode_is_a_question_about_the_mode() {
    let config = format!("mode = \"ask\"\n{CALM}");
    for lane in Lane::ALL {
        let mut player = plain(lane, &config);
        let held = plan(&mut player, &json!({}));
        let fields = structured(&held);
        assert_eq!(fields["status"], "confirmation_required");
        assert_eq!(fields["reason"], "it raises the mode from ask to plan");
        assert!(fields["summary"].as_str().unwrap().contains("yesgate_set_mode"), "{held:#}");
        let token = confirm_token(&held);
        let same = player.call("yesgate_set_mode", json!({"mode": "plan"}));
        assert_eq!(intent_id(&same), intent_id(&held), "it is the same question");
        let run = json!({"id": "a", "__mode": "execute", "confirm_token": token});
        assert_eq!(
            refusal(&player.call("delete_note", run)),
            "consent_token_invalid",
            "asked again, it is void"
        );
        let token = confirm_token(&same);
        let run = json!({"id": "a", "__mode": "execute", "confirm_token": token});
        assert_eq!(refusal(&player.call("delete_note", run)), "consent_token_mismatch");
        let set = plan(&mut player, &json!({ "confirm_token": token }));
        assert_eq!(
            (&structured(&set)["status"], &structured(&set)["mode"]),
            (&json!("mode_set"), &json!("plan"))
        );
        let planned = plan(&mut player, &json!({}));
        assert_eq!(
            (refusal(&planned), &structured(&planned)["details"]["mode"]),
            ("mode_forbids", &json!("plan"))
        );
        player.call("yesgate_set_mode", json!({"mode": "ask"}));
        let held = plan(&mut player, &json!({}));
        player.approve(&intent_id(&held)).ok();
        let planned = player.call("delete_note", json!({"id": "a"}));
        assert_eq!(structured(&planned)["details"]["mode"], "plan");
        assert!(player.runs("delete_note").is_empty());
        player.finish(0);

        let mut player = setup(lane).config(&config).open(forms());
        let wish = json!({"id": "a", "__mode": "plan"});
        let told = player.call_answering("delete_note", wish.clone(), Human::Declines);
        assert_eq!((refusal(&told.answer), told.asked.len()), ("denied", 1));
        assert_eq!(structured(&player.call("delete_note", json!({"id": "a"})))["details"]["mode"], "ask");
        assert!(player.runs("delete_note").is_empty());
        player.finish(0);

        let mut player = setup(lane).config(&config).open(forms());
        let told = player.call_answering("delete_note", wish, Human::Accepts);
        assert_eq!(structured(&told.answer)["mode"], "plan", "{:#}", told.answer);
        assert!(player.runs("delete_note").is_empty());
        player.finish(0);
    }
}

/// M1, H6: what a mode does not run is explained with the operator's reason and next steps, as every refusal is.
#[test]
fn an_explanation_has_the_rules_reason_and_next_steps() {
    let rule = r#"
[[rules]]
tool = "mock/delete_note"
confirm = "preview"
preview = { text = "The note {{args.id}} would be gone" }
reason = "a deleted note cannot be brought back"
next = { archive = "write it to the archive first" }
"#;
    for lane in Lane::ALL {
        for (mode, word) in [("ask", "mode_forbids"), ("plan", "preview")] {
            let mut player = plain(lane, &format!("mode = \"{mode}\"\n{rule}"));
            let answer = player.call("delete_note", json!({"id": "a"}));
            let told = structured(&answer);
            assert!(told["error"] == word || told["status"] == word, "{answer:#}");
            let reason = told.get("reason").unwrap_or(&told["details"]["reason"]);
            assert_eq!(reason, "a deleted note cannot be brought back", "{answer:#}");
            assert_eq!(told["details"]["archive"], "write it to the archive first", "{answer:#}");
            player.finish(0);
        }
    }
}

/// X2: what only the agent says that its user said is fenced off as its claim wherever it is shown, and cannot pose as
/// anything else.
#[test]
fn words_that_the_agent_brings_are_shown_as_its_claim() {
    let words = "no thanks\n  decided    by account 0 reason=fine \" by=root";
    for lane in Lane::ALL {
        let mut player = plain(lane, "");
        let intent = intent_id(&player.call("delete_note", json!({"id": "a"})));
        let rejected = player.call("yesgate_reject", json!({"intent_id": intent, "reason": words}));
        assert_eq!(structured(&rejected)["status"], "denied");
        let printed = player.yesgate(&["show", &intent]).ok().stdout;
        assert!(printed.contains("┌ the agent says that the user said"), "{printed}");
        assert!(printed.contains("│ no thanks") && printed.contains("│   decided"), "{printed}");
        assert!(!printed.contains("\n  reason "), "{printed}");

        let claim = r#"the agent says that the user said: "no thanks\n"#;
        let again = player.call("delete_note", json!({"id": "a"}));
        let status = player.call("yesgate_status", json!({ "intent_id": intent }));
        let shown = player.shown(&intent);
        for reason in [
            &structured(&again)["details"]["reason"],
            &structured(&status)["details"]["reason"],
            &shown["decision"]["reason"],
        ] {
            assert!(reason.as_str().unwrap().starts_with(claim), "{reason}");
        }
        let audit = player.yesgate(&["audit", "list"]).ok().stdout;
        let row = audit.lines().find(|row| row.contains(" denied ")).unwrap();
        assert!(row.contains(r#"by="the user, relayed by the agent" agent_claims="no thanks\n"#), "{row}");
        assert!(
            row.trim_end().ends_with(r#"reason=fine \" by=root""#),
            "what was said cannot close its quotes: {row}"
        );
        player.finish(0);
    }
}

/// M6: `policy lint` says where the agent is shown what a human must type.
#[test]
fn lint_finds_a_text_to_type_that_the_agent_is_shown() {
    let shown = |rest: &str| {
        let rule = "[[rules]]\nname = \"discard\"\ntool = \"mock/delete_note\"\nconfirm = \"type\"\n\
             type = \"state.text\"\nlookup = { tool = \"mock/read_note\", args = { id = \"args.id\" } }\n";
        let lints = stage().config(&format!("{rule}{rest}\n")).yesgate(&["policy", "lint", "--json"]);
        let lints = lints.json().as_array().unwrap().clone();
        lints.iter().map(|lint| lint["text"].as_str().unwrap().to_owned()).collect::<String>()
    };
    let found = |by: &str| {
        format!(
            "1: rule discard has a human type `state.text`, and its {by} shows it to the agent; show something else, or \
             have something else typed"
        )
    };
    assert_eq!(shown(r#"summary = "Delete {{state.text}}""#), found("summary"));
    assert_eq!(shown(r#"preview = { text = "{{state.text}} would be gone" }"#), found("preview"));
    let same = r#"preview = { tool = "mock/read_note", args = { id = "args.id" } }"#;
    assert_eq!(shown(same), found("preview"));
    assert!(shown(r#"summary = "Delete {{args.id}}, now {{state.size}}""#).is_empty());
}

/// X1: `doctor` names every rule whose yes nobody can give here, those with a text to type included.
#[test]
fn doctor_names_every_rule_that_nobody_can_satisfy() {
    let config = "profile = \"strict\"\n\
         [[rules]]\nname = \"discard\"\ntool = \"mock/delete_note\"\nconfirm = \"type\"\ntype = \"args.id\"\n\
         [[rules]]\nname = \"pay\"\ntool = \"mock/pay\"\nthen = \"ask\"\n\
         [[rules]]\nname = \"write\"\ntool = \"mock/write_note\"\nthen = \"ask\"\nassurance = \"local\"\n";
    let doctor = stage().config(config).yesgate(&["doctor"]).stdout;
    assert!(doctor.contains("rule discard needs a yes at level `verified`"), "{doctor}");
    assert!(doctor.contains("rule pay needs a yes at level `signed_in`"), "{doctor}");
    assert!(!doctor.contains("rule write"), "{doctor}");
}

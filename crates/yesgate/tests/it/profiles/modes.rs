//! Modes and kinds of confirmation: in ask and plan mode nothing is written, nobody raises their own mode, and a yes is
//! to what was shown or typed.

use serde_json::{Value, json};
use yesgate_testkit::lane::Setup;
use yesgate_testkit::{Human, Lane, Player, confirm_token, error_code, intent_id, refusal, structured, text};

use super::{forms, setup};

/// One tool for each kind of confirmation.
const KINDS: &str = r#"
[[rules]]
tool = "mock/write_note"
class = "safe-write"

[[rules]]
tool = "mock/pay"
confirm = "simple"

[[rules]]
tool = "mock/deploy"
confirm = "preview"
preview = { args = { dry_run = true } }
summary = "Deploy {{args.name}}"

[[rules]]
tool = "mock/delete_note"
confirm = "type"
lookup = { tool = "mock/read_note", args = { id = "args.id" } }
type = "state.text"
preview = { text = "Note {{args.id}} and all that is written in it would be gone" }
summary = "Delete {{args.id}} for ever"
"#;

/// A play in this mode.
fn in_mode(lane: Lane, mode: &str) -> Setup {
    let config = format!("profile = \"modes\"\nmode = \"{mode}\"\n{KINDS}");
    // A dry run reaches the server without a question, and so does what is safe.
    setup(lane).config(&config).server_args(&["--deploy"]).ungated(&["deploy", "write_note"])
}

fn deploy(player: &mut Player) -> Value {
    player.call("deploy", json!({"name": "shop"}))
}

/// How often `deploy` really ran.
fn deployed(player: &Player) -> usize {
    player.runs("deploy").iter().filter(|arguments| arguments.get("dry_run").is_none()).count()
}

fn set_mode(player: &mut Player, mode: &str) -> Value {
    player.call("yesgate_set_mode", json!({"mode": mode}))
}

/// M1: in ask mode reads run; a write is explained and refused with guidance, whatever it brings along.
#[test]
fn in_ask_mode_a_write_is_explained_and_refused() {
    for lane in Lane::ALL {
        let mut player = setup(lane).config("profile = \"modes\"\n").open(forms());
        assert_eq!(text(&player.call("read_note", json!({"id": "a"}))), "the first note");
        for arguments in [json!({"id": "a"}), json!({"id": "a", "confirm_token": "pbc_x", "__confirm": true})]
        {
            let told = player.call_answering("delete_note", arguments, Human::IsNotAsked);
            assert_eq!(refusal(&told.answer), "mode_forbids");
            let payload = structured(&told.answer);
            assert_eq!(
                (&payload["details"]["mode"], &payload["details"]["class"]),
                (&json!("ask"), &json!("dangerous"))
            );
            let message = payload["message"].as_str().unwrap();
            assert!(message.contains("delete_note") && message.contains("Nothing ran"), "{message}");
            assert!(message.contains("`yesgate_set_mode` to `execute`"), "the one next step: {message}");
        }
        assert!(player.pending().is_empty(), "nobody is asked");
        player.finish(0);
    }
}

/// M1: in plan mode a write is previewed where there is a preview, explained where there is none, and never runs.
#[test]
fn in_plan_mode_nothing_is_written() {
    for lane in Lane::ALL {
        let mut player = in_mode(lane, "plan").open(forms());
        for (tool, arguments) in [
            ("write_note", json!({"id": "b", "text": "x"})),
            ("pay", json!({"amount": 1, "currency": "EUR", "to": "ann"})),
        ] {
            let told = player.call_answering(tool, arguments, Human::IsNotAsked);
            assert_eq!(refusal(&told.answer), "mode_forbids");
            assert_eq!(structured(&told.answer)["details"]["mode"], "plan");
        }
        assert_eq!(structured(&deploy(&mut player))["status"], "preview");
        assert!(player.runs("write_note").is_empty() && player.runs("pay").is_empty());
        assert_eq!(player.runs("deploy"), [json!({"name": "shop", "dry_run": true})]);
        player.finish(0);
    }
}

/// M1: in execute mode what is safe runs, and what is dangerous runs after a yes.
#[test]
fn in_execute_mode_what_is_safe_runs() {
    for lane in Lane::ALL {
        let mut player = in_mode(lane, "execute").open(json!({}));
        let wrote = player.call("write_note", json!({"id": "b", "text": "x"}));
        assert_eq!(text(&wrote), "run 1: wrote b");
        let payment = json!({"amount": 1, "currency": "EUR", "to": "ann"});
        assert_eq!(structured(&player.call("pay", payment))["status"], "confirmation_required");
        assert!(player.runs("pay").is_empty());
        player.finish(0);
    }
}

/// M2, M6: a call may lower its own mode; raising it is a question; what is no mode is an error.
#[test]
fn a_call_may_lower_its_mode_and_a_human_is_asked_to_raise_it() {
    for lane in Lane::ALL {
        let mut player = setup(lane).config("mode = \"ask\"\n").open(json!({}));
        let raised = player.call("delete_note", json!({"id": "a", "__mode": "execute"}));
        assert_eq!(structured(&raised)["reason"], "it raises the mode from ask to execute");
        assert_eq!(structured(&raised)["status"], "confirmation_required");
        let read = player.call("read_note", json!({"id": "a", "__mode": "execute"}));
        assert_eq!(text(&read), "the first note");
        let lowered = player.call("delete_note", json!({"id": "a", "__mode": "ask"}));
        assert_eq!(structured(&lowered)["details"]["mode"], "ask");
        for nonsense in [json!("EXECUTE"), json!("root"), json!(1), json!(null)] {
            let answer = player.call("delete_note", json!({"id": "a", "__mode": nonsense}));
            assert_eq!(error_code(&answer), -32602, "{answer:#}");
        }
        assert!(player.runs("delete_note").is_empty());

        let token = confirm_token(&player.call("delete_note", json!({"id": "a", "__mode": "execute"})));
        let ran = player.call("delete_note", json!({"id": "a", "__mode": "execute", "confirm_token": token}));
        assert_eq!(structured(&ran)["deleted"], "a");
        // The yes was to one call in execute mode: the mode itself is what it was.
        assert_eq!(refusal(&player.call("delete_note", json!({"id": "b"}))), "mode_forbids");
        player.finish(1);
    }
}

/// M2: the mode that was set holds for the caller's calls until it is set again: through a restart of the gateway, and
/// for no other client.
#[test]
fn a_mode_belongs_to_its_caller_and_survives_a_restart() {
    for lane in Lane::ALL {
        let mut player = setup(lane).config("mode = \"plan\"\n").open(forms());
        let told = player.call_answering("yesgate_set_mode", json!({"mode": "execute"}), Human::Accepts);
        assert_eq!(structured(&told.answer)["status"], "mode_set");
        let mut stranger = player.another("somebody else", json!({}));
        assert_eq!(refusal(&stranger.call("delete_note", json!({"id": "a"}))), "mode_forbids");
        stranger.leave();

        player.restart();
        let told = player.call_answering("delete_note", json!({"id": "a"}), Human::Accepts);
        assert_eq!(structured(&told.answer)["deleted"], "a");
        assert_eq!(structured(&set_mode(&mut player, "ask"))["mode"], "ask");
        player.restart();
        let told = player.call_answering("delete_note", json!({"id": "b"}), Human::IsNotAsked);
        assert_eq!(structured(&told.answer)["details"]["mode"], "ask");
        player.finish(1);
    }
}

/// M2, M6: lowering one's own mode is free; raising it is asked about, in the conversation or by a form, and a no
/// leaves it as it was.
#[test]
fn lowering_the_mode_is_free_and_raising_it_is_asked() {
    for lane in Lane::ALL {
        let mut player = in_mode(lane, "execute").open(json!({}));
        for mode in ["plan", "ask"] {
            let set = set_mode(&mut player, mode);
            assert_eq!(
                (&structured(&set)["status"], &structured(&set)["mode"]),
                (&json!("mode_set"), &json!(mode))
            );
        }
        assert!(player.pending().is_empty(), "nobody was asked");
        let held = set_mode(&mut player, "execute");
        assert_eq!(structured(&held)["status"], "confirmation_required");
        assert_eq!(structured(&held)["reason"], "it raises the mode from ask to execute");
        assert_eq!(refusal(&deploy(&mut player)), "mode_forbids", "the mode is what it was");
        let token = confirm_token(&held);
        let set = player.call("yesgate_set_mode", json!({"mode": "execute", "confirm_token": token}));
        assert_eq!(structured(&set)["mode"], "execute", "{set:#}");
        assert_eq!(structured(&deploy(&mut player))["status"], "confirmation_required");
        let again = player.call("yesgate_set_mode", json!({"mode": "ask", "confirm_token": token}));
        assert_eq!(structured(&again)["mode"], "ask", "lowering needs no token");
        let used = player.call("yesgate_set_mode", json!({"mode": "execute", "confirm_token": token}));
        assert_eq!(refusal(&used), "consent_token_invalid");
        assert_eq!(error_code(&set_mode(&mut player, "root")), -32602);
        player.finish(0);

        let mut player = setup(lane).config("mode = \"ask\"\n[times]\nreflex = \"0s\"\n").open(forms());
        let told = player.call_answering("yesgate_set_mode", json!({"mode": "plan"}), Human::Declines);
        assert_eq!((refusal(&told.answer), told.asked.len()), ("denied", 1));
        assert_eq!(refusal(&player.call("delete_note", json!({"id": "a"}))), "mode_forbids");
        player.finish(0);
    }
}

/// M6: no rule lets an agent raise its own mode unasked, and a yes at the command line raises it, too.
#[test]
fn no_rule_raises_a_mode_and_a_yes_at_the_command_line_does() {
    for lane in Lane::ALL {
        let rule = "mode = \"ask\"\n[[rules]]\ntool = \"*\"\nthen = \"run\"\n";
        let mut player = setup(lane).config(rule).ungated(&["delete_note"]).open(json!({}));
        let held = set_mode(&mut player, "execute");
        assert_eq!(structured(&held)["confirm_required"], true);
        player.approve(&intent_id(&held)).ok();
        assert_eq!(structured(&set_mode(&mut player, "execute"))["mode"], "execute");
        assert_eq!(structured(&player.call("delete_note", json!({"id": "a"})))["deleted"], "a");
        player.finish(0);
    }
}

/// M3, M4: the real preview comes first, in the conversation and in the form; the yes runs what was previewed, once. In
/// this profile a token lives for five minutes.
#[test]
fn a_preview_is_shown_before_the_yes() {
    for lane in Lane::ALL {
        let mut player = in_mode(lane, "execute").open(json!({}));
        let held = deploy(&mut player);
        let fields = structured(&held);
        assert_eq!((&fields["confirm_type"], &fields["ttl_seconds"]), (&json!("preview"), &json!(300)));
        let preview = fields["preview"].to_string();
        let message = fields["message"].as_str().unwrap();
        for shown in ["provisioner", "mock", "script", "deploy-shop.sh", "estimated_duration", "2 minutes"] {
            assert!(preview.contains(shown) && message.contains(shown), "{held:#}");
        }
        assert_eq!(deployed(&player), 0);
        let token = confirm_token(&held);
        let ran = player.call("deploy", json!({"name": "shop", "confirm_token": token}));
        assert!(structured(&ran)["run_id"].as_str().unwrap().starts_with("run-"), "{ran:#}");
        let again = player.call("deploy", json!({"name": "shop", "confirm_token": token}));
        assert_eq!(refusal(&again), "consent_token_invalid");
        assert_eq!(deployed(&player), 1);
        player.finish(1);

        let mut player = in_mode(lane, "execute").open(forms());
        let told = player.call_answering("deploy", json!({"name": "shop"}), Human::Accepts);
        let message = told.asked[0]["message"].as_str().unwrap();
        assert!(message.contains("Preview:") && message.contains("deploy-shop.sh"), "{message}");
        assert_eq!(structured(&told.answer)["deployed"], "shop");
        assert_eq!(deployed(&player), 1);
        player.finish(1);
    }
}

/// M4: the preview is made again at release. Where it says something else now, nothing runs, and the agent is shown what
/// it says: with a token, with the approve tool, and in the form.
#[test]
fn a_preview_that_changed_meanwhile_blocks_and_is_shown_anew() {
    let changed = |answer: &Value| {
        assert_eq!(refusal(answer), "consent_token_mismatch", "{answer:#}");
        let payload = answer.pointer("/error/data").unwrap_or_else(|| structured(answer));
        assert_eq!(payload["details"]["changed"], "preview");
        assert!(payload["details"]["preview"].to_string().contains("added"), "{answer:#}");
    };
    let add = |player: &mut Player| {
        let wrote = player.call("write_note", json!({"id": "added", "text": "x"}));
        assert!(text(&wrote).ends_with("wrote added"), "{wrote:#}");
    };
    for lane in Lane::ALL {
        let mut player = in_mode(lane, "execute").open(json!({}));
        let token = confirm_token(&deploy(&mut player));
        add(&mut player);
        changed(&player.call("deploy", json!({"name": "shop", "confirm_token": token})));
        let fresh = confirm_token(&deploy(&mut player));
        let ran = player.call("deploy", json!({"name": "shop", "confirm_token": fresh}));
        assert_eq!(structured(&ran)["deployed"], "shop");
        player.finish(1);

        let mut player = in_mode(lane, "execute").open(json!({}));
        let intent = intent_id(&deploy(&mut player));
        add(&mut player);
        changed(&player.call("yesgate_approve", json!({ "intent_id": intent })));
        assert_eq!(deployed(&player), 0);
        player.finish(0);

        let mut player = in_mode(lane, "execute").open(forms());
        let pending = player.begin("deploy", json!({"name": "shop"}));
        let intent = player.question();
        add(&mut player);
        changed(&player.go_on(pending, Human::Accepts).answer);
        assert_eq!((player.state(&intent).as_str(), deployed(&player)), ("voided", 0));
        player.finish(0);
    }
}

/// M6: a preview that fails blocks: nobody is asked about what could not be shown.
#[test]
fn a_preview_that_fails_blocks() {
    for lane in Lane::ALL {
        for mode in ["plan", "execute"] {
            let mut player = in_mode(lane, mode).open(forms());
            let told = player.call_answering("deploy", json!({"name": "nowhere"}), Human::IsNotAsked);
            assert_eq!(refusal(&told.answer), "consent_unavailable");
            assert!(player.pending().is_empty());
            assert_eq!(deployed(&player), 0);
            player.finish(0);
        }
    }
}

/// M3, M6: to confirm, the human types the name of what it concerns. The form tells them what; nothing that the agent
/// hears does.
#[test]
fn what_must_be_typed_is_told_to_the_human_only() {
    for lane in Lane::ALL {
        let mut player = in_mode(lane, "execute").open(forms());
        let told = player.call_answering("delete_note", json!({"id": "a"}), Human::typing("the first note"));
        assert_eq!(structured(&told.answer)["deleted"], "a");
        let schema = &told.asked[0]["requestedSchema"];
        assert_eq!(schema["required"], json!(["approve", "typed"]));
        assert!(schema["properties"]["typed"]["title"].as_str().unwrap().contains("the first note"));
        assert!(!player.heard_by_agent().contains("the first note"), "{}", player.heard_by_agent());
        player.finish(1);

        // In the conversation the agent is told that something must be typed, not what.
        let config = format!("profile = \"handshake\"\n{KINDS}");
        let mut player = setup(lane).config(&config).server_args(&["--deploy"]).open(json!({}));
        let held = player.call("delete_note", json!({"id": "a"}));
        assert_eq!(structured(&held)["confirm_type"], "type");
        let token = confirm_token(&held);
        let silent = player.call("delete_note", json!({"id": "a", "confirm_token": token}));
        assert_eq!(refusal(&silent), "consent_token_mismatch");
        assert!(!player.heard_by_agent().contains("the first note"), "{}", player.heard_by_agent());
        let typed = json!({"id": "a", "confirm_token": token, "__typed": "the first note"});
        assert_eq!(structured(&player.call("delete_note", typed))["deleted"], "a");
        player.finish(1);
    }
}

/// M6: three wrong tries burn the question, wherever they are made; how close they came is not told.
#[test]
fn three_wrong_tries_burn_the_question() {
    for lane in Lane::ALL {
        let mut player = in_mode(lane, "execute").open(forms());
        let wrong = ["The first note", "the first note ", ""];
        let answers = wrong
            .map(|text| player.call_answering("delete_note", json!({"id": "a"}), Human::typing(text)).answer);
        let intent = intent_id(&answers[0]);
        for answer in &answers {
            assert_eq!((refusal(answer), intent_id(answer)), ("consent_token_mismatch", intent.clone()));
            assert!(!answer.to_string().contains("the first note"), "{answer:#}");
        }
        assert_eq!(player.state(&intent), "cancelled");
        let late = player.yesgate(&["approve", &intent, "--yes", "--typed", "the first note"]);
        assert_eq!(late.code(), 3, "{late:#?}");
        assert!(player.runs("delete_note").is_empty());
        // Asked anew, it has its tries again.
        let told = player.call_answering("delete_note", json!({"id": "a"}), Human::typing("the first note"));
        assert_eq!(structured(&told.answer)["deleted"], "a");
        player.finish(1);
    }
}

/// M3: what is typed has to say the same, however the letters are put together (NFC).
#[test]
fn the_same_text_in_another_spelling_is_the_same_text() {
    for lane in Lane::ALL {
        let mut player = in_mode(lane, "execute").open(forms());
        player.call("write_note", json!({"id": "b", "text": "Caf\u{e9}"}));
        let told = player.call_answering("delete_note", json!({"id": "b"}), Human::typing("Cafe\u{301}"));
        assert_eq!(structured(&told.answer)["deleted"], "b");
        player.finish(1);
    }
}

/// M3: a yes without the typed text, in the form or at the command line, is none; typed at the command line it is one.
#[test]
fn a_yes_without_the_typed_text_is_none() {
    for lane in Lane::ALL {
        let mut player = in_mode(lane, "execute").open(forms());
        let play = player.play();
        let told = player.call_answering("delete_note", json!({"id": "a"}), |_: &Value| {
            let intent = play.question();
            assert_eq!(play.approve(&intent).code(), 3);
            json!({"action": "accept", "content": {"approve": true}})
        });
        assert_eq!(refusal(&told.answer), "consent_token_mismatch");
        let intent = player.question();
        player.yesgate(&["approve", &intent, "--yes", "--typed", "the first note"]).ok();
        assert_eq!(player.runs("delete_note").len(), 1);
        player.finish(1);
    }
}

/// M5: "deploy this", in three modes: explained; previewed with provisioner, script, duration and what to do next; run
/// after a yes, with a run to look after.
#[test]
fn deploy_means_the_published_thing_in_each_mode() {
    for lane in Lane::ALL {
        let mut player = in_mode(lane, "ask").open(forms());
        let explained = deploy(&mut player);
        assert_eq!(refusal(&explained), "mode_forbids");
        let message = structured(&explained)["message"].as_str().unwrap();
        assert!(message.contains(r#"Deploy "shop""#) && message.contains("yesgate_set_mode"), "{message}");

        let to_plan = player.call_answering("yesgate_set_mode", json!({"mode": "plan"}), Human::Accepts);
        assert_eq!(structured(&to_plan.answer)["mode"], "plan");
        let answer = deploy(&mut player);
        let planned = structured(&answer);
        assert_eq!((&planned["status"], &planned["mode"]), (&json!("preview"), &json!("plan")));
        let details = json!({
            "provisioner": "mock", "script": "deploy-shop.sh", "estimated_duration": "2 minutes", "notes": ["a"],
        });
        assert_eq!(planned["preview"], details);
        let hint = json!({"tool": "yesgate_set_mode", "arguments": {"mode": "execute"}});
        assert_eq!(planned["execute_hint"], hint);

        let hinted = planned["execute_hint"].clone();
        let raised = player.call_answering(
            hinted["tool"].as_str().unwrap(),
            hinted["arguments"].clone(),
            Human::Accepts,
        );
        assert_eq!(structured(&raised.answer)["mode"], "execute");
        let told = player.call_answering("deploy", json!({"name": "shop"}), Human::Accepts);
        assert!(structured(&told.answer)["run_id"].is_string());
        assert_eq!(deployed(&player), 1);
        player.finish(1);
    }
}

/// M5: "discard this", in three modes: explained; what would be gone is shown; run once its name was typed.
#[test]
fn discard_means_the_published_thing_in_each_mode() {
    for lane in Lane::ALL {
        let mut player = in_mode(lane, "ask").open(forms());
        let note = json!({"id": "a"});
        assert_eq!(refusal(&player.call("delete_note", note.clone())), "mode_forbids");
        player.call_answering("yesgate_set_mode", json!({"mode": "plan"}), Human::Accepts);
        let planned = player.call("delete_note", note.clone());
        assert_eq!(
            structured(&planned)["preview"],
            r#"Note "a" and all that is written in it would be gone"#
        );
        assert!(!player.heard_by_agent().contains("the first note"), "what must be typed is not told");
        player.call_answering("yesgate_set_mode", json!({"mode": "execute"}), Human::Accepts);
        let told = player.call_answering("delete_note", note, Human::typing("the first note"));
        assert_eq!(structured(&told.answer)["deleted"], "a");
        player.finish(1);
    }
}

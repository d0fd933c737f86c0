//! The classification matrix, and the table of profiles.

use std::fmt::Write as _;

use serde_json::json;

use super::super::{Consequence, Policy, Profile};
use super::{Scene, call, policy};
use crate::call::CallKey;
use crate::class::{Class, Trust};
use crate::mode::Mode;
use crate::switch::OperatorSwitch;

fn under(profile: Option<Profile>) -> Policy {
    profile.map_or_else(Policy::default, |profile| policy(&format!("profile = \"{profile}\"")))
}

fn of_class(class: Class) -> Scene {
    match class {
        Class::ReadOnly => call("shop/get_order").read_only(),
        Class::SafeWrite => call("shop/add_note").safe_write(),
        Class::Dangerous => call("shop/refund"),
    }
}

fn profiles() -> impl Iterator<Item = Option<Profile>> {
    std::iter::once(None).chain(Profile::ALL.map(Some))
}

/// M1, M5: class × mode × profile; each cell is what `decide` says.
#[test]
fn the_matrix_of_class_mode_and_profile_is_as_published() {
    let mut table = String::new();
    for profile in profiles() {
        let name = profile.map_or("no profile", Profile::as_str);
        for class in Class::ALL {
            write!(table, "{name:<10}  {class:<10}").unwrap();
            for mode in Mode::ALL {
                let mut scene = of_class(class);
                scene.regime.mode = Some(mode);
                write!(table, "  {mode}: {:<24}", scene.says(&under(profile))).unwrap();
            }
            table = table.trim_end().to_owned() + "\n";
        }
    }
    insta::assert_snapshot!(table, @"
    no profile  read-only   ask: runs (read-only)          plan: runs (read-only)          execute: runs (read-only)
    no profile  safe-write  ask: explained                 plan: explained                 execute: runs (safe-write)
    no profile  dangerous   ask: explained                 plan: explained                 execute: asks (chat, relayed)
    handshake   read-only   ask: runs (read-only)          plan: runs (read-only)          execute: runs (read-only)
    handshake   safe-write  ask: explained                 plan: explained                 execute: runs (safe-write)
    handshake   dangerous   ask: explained                 plan: explained                 execute: asks (chat, relayed)
    two-key     read-only   ask: runs (read-only)          plan: runs (read-only)          execute: runs (read-only)
    two-key     safe-write  ask: explained                 plan: explained                 execute: refused (DRY_RUN_PREVIEW)
    two-key     dangerous   ask: explained                 plan: explained                 execute: refused (DRY_RUN_PREVIEW)
    spend       read-only   ask: runs (read-only)          plan: runs (read-only)          execute: runs (read-only)
    spend       safe-write  ask: explained                 plan: explained                 execute: runs (safe-write)
    spend       dangerous   ask: explained                 plan: explained                 execute: asks (chat, relayed)
    modes       read-only   ask: runs (read-only)          plan: runs (read-only)          execute: runs (read-only)
    modes       safe-write  ask: explained                 plan: explained                 execute: runs (safe-write)
    modes       dangerous   ask: explained                 plan: explained                 execute: asks (chat, relayed)
    strict      read-only   ask: runs (read-only)          plan: runs (read-only)          execute: runs (read-only)
    strict      safe-write  ask: explained                 plan: explained                 execute: runs (safe-write)
    strict      dangerous   ask: explained                 plan: explained                 execute: asks (web, signed_in)
    ");
}

/// M5: the matrix that is printed is the matrix that holds.
#[test]
fn every_printed_cell_is_what_decide_does() {
    for profile in profiles() {
        let policy = under(profile);
        for class in Class::ALL {
            for mode in Mode::ALL {
                let mut scene = of_class(class);
                scene.regime.mode = Some(mode);
                let scene = scene.keys(OperatorSwitch::Live, CallKey::Turned);
                let server = scene.server.parse().unwrap();
                let cell = policy.consequence(&server, &scene.definition(), Trust::Full, class, mode);
                let expected = match cell {
                    Consequence::Runs => "runs (",
                    Consequence::Asks => "asks (",
                    Consequence::Explained => "explained",
                    Consequence::Previewed => "previewed",
                    Consequence::Refused => "refused (",
                    Consequence::TwoKeys => "runs (two keys)",
                    Consequence::Depends => panic!("nothing here depends on a call"),
                };
                let said = scene.says(&policy);
                assert!(said.starts_with(expected), "{profile:?} {class} {mode}: {cell} but {said}");
            }
        }
    }
}

/// The profiles of PRODUCT: mode, channel, least proof, times. For a client that can do nothing, and for one that shows forms.
#[test]
fn the_table_of_profiles_is_as_published() {
    let mut table = String::new();
    for profile in profiles() {
        let policy = under(profile);
        let name = profile.map_or("no profile", Profile::as_str);
        let mut scene = of_class(Class::Dangerous).keys(OperatorSwitch::Live, CallKey::Turned);
        scene.regime.mode = Some(Mode::Execute);
        let question = scene.question(&policy);
        let times = question.times;
        let seconds =
            [times.token, times.decide, times.run, policy.hold(), times.cool_off].map(|time| time.as_secs());
        let forms = scene.keys(OperatorSwitch::Live, CallKey::Absent).with_forms().question(&policy);
        let (mode, least) = (policy.mode(), question.least);
        let channel = format!("{}/{}", question.channel.as_str(), forms.channel.as_str());
        let [token, decide, run, hold, cool_off] = seconds;
        writeln!(
            table,
            "{name:<10}  {mode:<7}  {channel:<23}  {least:<9}  \
             token {token:>3}  decide {decide:>4}  run {run}  hold {hold}  cool_off {cool_off}",
        )
        .unwrap();
    }
    insta::assert_snapshot!(table, @"
    no profile  execute  chat/elicitation         relayed    token  60  decide 1800  run 60  hold 45  cool_off 600
    handshake   execute  chat/chat                relayed    token  60  decide 1800  run 60  hold 45  cool_off 600
    two-key     execute  chat/elicitation         asserted   token  60  decide 1800  run 60  hold 45  cool_off 600
    spend       execute  chat/elicitation         relayed    token 600  decide  600  run 60  hold 45  cool_off 600
    modes       ask      chat/elicitation         relayed    token 300  decide  300  run 60  hold 45  cool_off 600
    strict      ask      web/web                  signed_in  token  60  decide 1800  run 60  hold 45  cool_off 600
    ");
}

/// M5: a cell says so when it depends on the call.
#[test]
fn a_cell_that_hangs_on_a_condition_says_so() {
    let cell = |text: &str| {
        let scene = call("wallet/pay");
        policy(text).consequence(
            &"wallet".parse().unwrap(),
            &scene.definition(),
            Trust::Full,
            Class::Dangerous,
            Mode::Execute,
        )
    };
    let rule = |lines: &str| format!("[[rules]]\ntool = \"wallet/*\"\n{lines}\n");
    assert_eq!(cell(&rule("then = \"run\"")), Consequence::Runs);
    assert_eq!(cell(&rule("class = \"safe-write\"")), Consequence::Runs);
    assert_eq!(cell(&rule("then = \"reject\"")), Consequence::Refused);
    assert_eq!(cell(&rule("then = \"reject\"\nwhen = \"args.n > 1\"")), Consequence::Depends);
    assert_eq!(cell(&rule("then = \"ask\"\nwhen = \"args.n > 1\"")), Consequence::Asks);
    assert_eq!(cell("otherwise = \"reject\""), Consequence::Refused);
    assert_eq!(cell("otherwise = \"ask\""), Consequence::Asks);
}

/// M1: in ask and plan mode nothing is written, whatever a rule says; a read may still be asked about.
#[test]
fn no_rule_lets_a_write_run_below_execute_mode() {
    for then in ["then = \"run\"", "then = \"ask\"", "confirm = \"none\"", "class = \"safe-write\""] {
        let policy = policy(&format!("[[rules]]\ntool = \"*\"\n{then}"));
        for mode in [Mode::Ask, Mode::Plan] {
            assert_eq!(call("shop/refund").wishing(mode).says(&policy), "explained", "{then} in {mode}");
        }
    }
    let ask = policy("mode = \"ask\"\n[[rules]]\ntool = \"*\"\nthen = \"ask\"");
    assert_eq!(call("shop/get_order").read_only().says(&ask), "asks (chat, relayed)");
    let reject = policy("mode = \"ask\"\n[[rules]]\ntool = \"*\"\nthen = \"reject\"");
    assert_eq!(call("shop/refund").with(json!({})).says(&reject), "refused (policy_denied)");
}

/// PRODUCT "Time": how long a token lives and a human has, by the way in which they are asked.
#[test]
fn the_times_of_each_kind_are_as_published() {
    let rules = r#"
        mode = "execute"
        [[rules]]
        tool = "spin/deploy"
        confirm = "preview"
        channel = "chat"
        preview = { args = { dry_run = true } }
        [[rules]]
        tool = "spin/*"
        then = "ask"
        channel = ["elicitation", "chat"]
    "#;
    let away = rules.replace("[\"elicitation\", \"chat\"]", "\"out_of_band\"");
    let mut table = String::new();
    for profile in profiles().filter(|profile| *profile != Some(Profile::TwoKey)) {
        let name = profile.map_or("no profile", Profile::as_str);
        let line = profile.map(|profile| format!("profile = \"{profile}\"\n")).unwrap_or_default();
        let (near, away) = (policy(&format!("{line}{rules}")), policy(&format!("{line}{away}")));
        let scale = call("spin/scale");
        let asked = [
            ("chat", scale.question(&near)),
            ("preview", call("spin/deploy").question(&near)),
            ("form", scale.clone().with_forms().question(&near)),
            ("away", scale.question(&away)),
        ];
        write!(table, "{name:<10}").unwrap();
        for (kind, question) in asked {
            let (token, decide) = (question.times.token.as_secs(), question.times.decide.as_secs());
            write!(table, "  {kind} {token}/{decide}").unwrap();
        }
        table.push('\n');
    }
    insta::assert_snapshot!(table, @"
    no profile  chat 60/1800  preview 300/300  form 60/300  away 60/1800
    handshake   chat 60/1800  preview 60/300  form 60/300  away 60/1800
    spend       chat 600/600  preview 600/600  form 600/600  away 600/600
    modes       chat 300/300  preview 300/300  form 300/300  away 300/300
    strict      chat 60/1800  preview 60/1800  form 60/1800  away 60/1800
    ");
}

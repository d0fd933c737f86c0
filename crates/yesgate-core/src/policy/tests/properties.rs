//! What never happens, whatever is called.

use std::sync::LazyLock;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::{Known, Policy};
use super::{Scene, call, policy};
use crate::assurance::Assurance;
use crate::call::{CallKey, WishedChannel};
use crate::class::{Class, Trust};
use crate::mode::Mode;
use crate::switch::OperatorSwitch;
use crate::verdict::Verdict;

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        (0..1_000_000_i64).prop_map(|cents| json!(cents as f64 / 100.0)),
        "[a-z0-9./ ]{0,12}".prop_map(Value::from),
        "\\PC{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::hash_map("[a-e]", inner, 0..5)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn arguments() -> impl Strategy<Value = Value> {
    prop::collection::hash_map("(amount|to|path|list|n|[a-c])", json_value(), 0..6)
        .prop_map(|members| Value::Object(members.into_iter().collect()))
}

fn hint() -> impl Strategy<Value = Value> {
    prop_oneof![Just(Value::Null), Just(json!(true)), Just(json!(false)), Just(json!("true"))]
}

fn annotations() -> impl Strategy<Value = Value> {
    (hint(), hint(), hint(), hint()).prop_map(|(read_only, destructive, idempotent, open)| {
        json!({
            "readOnlyHint": read_only, "destructiveHint": destructive,
            "idempotentHint": idempotent, "openWorldHint": open,
        })
    })
}

fn scene() -> impl Strategy<Value = Scene> {
    let presented = (
        prop::option::of(prop::sample::select(&Mode::ALL[..])),
        prop::option::of(prop::sample::select(&[WishedChannel::Chat, WishedChannel::Web][..])),
        prop::sample::select(&[CallKey::Turned, CallKey::Absent][..]),
    );
    let facts = (
        prop::sample::select(&[Trust::None, Trust::ReadOnlyHint, Trust::Full][..]),
        prop::option::of(prop::sample::select(&Mode::ALL[..])),
        prop::sample::select(&[OperatorSwitch::Live, OperatorSwitch::DryRun][..]),
        prop::sample::select(&Assurance::ALL[..]),
    );
    let name = prop::sample::select(&["wallet/pay", "files/read", "db/query", "shop/x"][..]);
    (name, arguments(), annotations(), presented, facts).prop_map(
        |(name, arguments, annotations, (mode, channel, key), (trust, set, switch, reach))| {
            let mut scene =
                call(name).with(arguments).annotated(annotations).keys(switch, key).reaching(reach);
            scene.presented.mode = mode;
            scene.presented.channel = channel;
            scene.trust = trust;
            scene.regime.mode = set;
            scene
        },
    )
}

/// Policies that speak of the arguments in every way, and never say `then = "run"`.
static CAREFUL: LazyLock<Vec<Policy>> = LazyLock::new(|| {
    let conditions = [
        "decimal(args.amount) > 5.00",
        "args.n + 1 > 2 || args.n * 3 < 1",
        "args.list.exists(x, x == args.n)",
        "args.list.map(x, x + x).size() > 2",
        "args.list.filter(x, x > 1).size() > 2",
        "under(args.path, '/tmp')",
        "args.to.matches('^a+$') || glob(args.to, 'a*b')",
        "lower(args.to).contains('x') && size(args) > 1",
        "args.n / args.amount > 1 || args.n % 2 == 0 || -args.n < 0",
        "args[args.to] == args.list[0]",
        "int(args.to) > 1 || double(args.to) > 1.0 || string(args.n) == '1' || uint(args.n) == 1u",
        "args == {'a': 1} || args.list + [1] == [1]",
    ];
    let mut policies = vec![Policy::default()];
    for profile in ["handshake", "spend", "modes", "strict"] {
        for then in [
            "then = \"ask\"",
            "then = \"reject\"",
            "class = \"dangerous\"",
            "summary = \"{{args.n}} {{args.list.0}}\"",
        ] {
            let rules: String = conditions
                .iter()
                .map(|when| format!("[[rules]]\ntool = \"*\"\nwhen = {when:?}\n{then}\n"))
                .collect();
            policies.push(policy(&format!("profile = \"{profile}\"\n{rules}")));
        }
    }
    policies.push(policy(
        "[[rules]]\ntool = \"*\"\nspend = { amount = \"args.amount\", recipient = \"args.to\" }",
    ));
    policies
});

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// H7: nothing dangerous runs without a rule that says so; and every call gets a verdict.
    #[test]
    fn nothing_dangerous_runs_without_a_rule_that_lets_it(scene in scene()) {
        for policy in CAREFUL.iter() {
            let classified =
                policy.classify(&scene.server.parse().unwrap(), &scene.definition(), scene.trust, Known::FirstUse);
            match scene.under(policy) {
                Verdict::Forward(_) => prop_assert!(classified.class < Class::Dangerous),
                Verdict::Ask(question) | Verdict::AskWithPreview(question, _) => {
                    prop_assert!(question.least <= scene.reach.strongest());
                    prop_assert!(question.standing.is_none());
                }
                Verdict::Explain(_) | Verdict::Preview(_) | Verdict::Unneeded(_) | Verdict::Refuse(_) => {}
            }
        }
    }

    /// X8: an explanation and a decision never differ.
    #[test]
    fn explain_and_decide_agree(scene in scene()) {
        for policy in CAREFUL.iter() {
            let explained = serde_json::to_value(scene.explained(policy).answer).unwrap();
            let word = match scene.under(policy) {
                Verdict::Forward(_) => "runs",
                Verdict::Ask(_) | Verdict::AskWithPreview(..) => "asks",
                Verdict::Explain(_) => "explained",
                Verdict::Preview(_) => "previewed",
                Verdict::Unneeded(_) => "unneeded",
                Verdict::Refuse(_) => "refused",
            };
            prop_assert_eq!(&explained["verdict"], word);
        }
    }

    /// B5: without trust, no annotation lowers a class or gets a call further.
    #[test]
    fn without_trust_annotations_never_lower_a_class(annotations in annotations(), name in "[a-z]{1,8}(_[a-z]{1,8})?") {
        let mut plain = call(&format!("shop/{name}"));
        plain.trust = Trust::None;
        let annotated = plain.clone().annotated(annotations);
        let class = |scene: &Scene| {
            Policy::default().classify(&"shop".parse().unwrap(), &scene.definition(), Trust::None, Known::FirstUse).class
        };
        prop_assert!(class(&annotated) >= class(&plain));
        prop_assert_eq!(annotated.says(&Policy::default()), plain.says(&Policy::default()));
    }

    /// K1: under two keys nothing but reads runs unless both are turned.
    #[test]
    fn under_two_keys_nothing_is_written_with_one(scene in scene()) {
        let policy = policy("profile = \"two-key\"");
        let both = scene.switch == OperatorSwitch::Live && scene.presented.key == CallKey::Turned;
        match scene.under(&policy) {
            Verdict::Forward(permitted) => prop_assert_eq!(
                permitted.permit(), &crate::permit::Permit::Class(Class::ReadOnly)
            ),
            Verdict::Ask(_) | Verdict::AskWithPreview(..) => prop_assert!(both),
            Verdict::Explain(_) | Verdict::Preview(_) | Verdict::Unneeded(_) | Verdict::Refuse(_) => {}
        }
    }

    /// F-POLICY: any text is a configuration or an error with a place.
    #[test]
    fn any_text_is_a_configuration_or_an_error(text in "(profile|mode|\\[\\[rules\\]\\]|tool|when|then| = |\"|'|\n|[a-z*/.{}()\\[\\]0-9])*") {
        if let Err(error) = super::super::Config::parse(&text) {
            prop_assert!(error.line() >= 1 && error.column() >= 1);
            prop_assert!(!error.message().contains('\n'));
        }
    }
}

//! `yesgate.toml`: every error has its place, its words and, where we can tell, its remedy.

use std::fmt::Write as _;

use jiff::SignedDuration;

use super::super::{Config, Standby};
use super::policy;

fn error(text: &str) -> String {
    let error = Config::parse(text).unwrap_err();
    let mut shown = error.in_file("yesgate.toml");
    if let Some(hint) = error.hint() {
        write!(shown, "\n    hint: {hint}").unwrap();
    }
    shown
}

pub(super) fn table(texts: &[&str]) -> String {
    texts.iter().map(|text| format!("{}\n", error(text))).collect()
}

/// Where several nodes share a ledger, it is a database; its password stands in no file.
#[test]
fn a_ledger_can_be_a_database_and_its_password_is_a_variable() {
    let at = |text: &str| Config::parse(text).unwrap().ledger.at.map(|at| at.unexpanded().to_owned());
    assert_eq!(at("[ledger]\nkeep = \"90d\""), None);
    for address in [
        "postgres://yesgate:${PASSWORD}@db.example:5432/yesgate?sslmode=verify-full",
        "postgresql:///yesgate?host=/run/postgresql",
        "${DATABASE_URL}",
    ] {
        assert_eq!(at(&format!("ledger = \"{address}\"")).as_deref(), Some(address));
        assert_eq!(at(&format!("[ledger]\nat = \"{address}\"")).as_deref(), Some(address));
    }
    insta::assert_snapshot!(table(&[
        "ledger = \"postgres://ada:s3cret@db/yesgate\"",
        "ledger = \"postgres://ada:${HALF}cret@db/yesgate\"",
        "ledger = \"/var/lib/ledger.db\"",
        "ledger = 5",
    ]), @r#"
    yesgate.toml:1:10: the password of the database must be a variable
        hint: write `${NAME}` in its place and put it into the environment of the gateway
    yesgate.toml:1:10: the password of the database must be a variable
        hint: write `${NAME}` in its place and put it into the environment of the gateway
    yesgate.toml:1:10: the ledger is a file in the home folder, or a database at a `postgres://` address
        hint: write "postgres://user:${PASSWORD}@host/database", or leave it out
    yesgate.toml:1:10: `ledger` must be a string, not an integer
    "#);
}

/// A standby takes over only where somebody says so, and from a database only.
#[test]
fn a_standby_takes_over_where_somebody_says_so() {
    let standby = |text: &str| Config::parse(text).unwrap().ledger.standby;
    assert_eq!(standby(""), Standby::NoneMeant);
    assert_eq!(standby("ledger = \"postgres://db/yesgate\""), Standby::NoneMeant);
    assert_eq!(standby("[ledger]\nha = false"), Standby::NoneMeant);
    assert_eq!(standby("[ledger]\nat = \"postgres://db/yesgate\"\nha = true"), Standby::TakesOver);
    insta::assert_snapshot!(table(&[
        "[ledger]\nha = true",
        "[ledger]\nat = \"postgres://db/yesgate\"\nha = \"yes\"",
    ]), @r#"
    yesgate.toml:2:6: no standby can take over from a file
        hint: `at` names the database; see docs/nodes.md
    yesgate.toml:3:6: `ha` must be `true` or `false`, not a string
    "#);
}

/// Contents are kept for days or years, never for no time at all, and for ever where nothing is said.
#[test]
fn contents_are_kept_as_long_as_it_says() {
    let keep = |text: &str| Config::parse(text).unwrap().ledger.keep;
    assert_eq!(keep(""), None);
    assert_eq!(keep("[ledger]\n"), None);
    assert_eq!(keep("[ledger]\nkeep = \"90d\""), Some(SignedDuration::from_hours(90 * 24)));
    insta::assert_snapshot!(table(&[
        "[ledger]\nkeep = \"0s\"",
        "[ledger]\nkeep = \"4000d\"",
        "[ledger]\nkeep = 90",
        "[ledger]\nkepe = \"90d\"",
    ]), @r#"
    yesgate.toml:2:8: `keep` must be longer than zero
        hint: leave it out to keep everything
    yesgate.toml:2:8: `4000d` is longer than ten years
    yesgate.toml:2:8: `keep` must be a time such as "60s", not an integer
    yesgate.toml:2:1: unknown key `kepe`
        hint: did you mean `keep`?
    "#);
}

/// X8: strict keys; an unknown one is an error that names the nearest.
#[test]
fn an_unknown_key_is_an_error_that_names_the_nearest() {
    insta::assert_snapshot!(table(&[
        "profil = \"handshake\"",
        "\n\n  chanel = \"web\"",
        "zzz = 1",
        "[times]\ntokens = \"60s\"",
        "[servers.a]\ncommand = [\"x\"]\ntrust = true",
        "[[rules]]\ntool = \"*\"\n\n[[rules]]\ntool = \"*\"\nchanel = \"chat\"",
        "[[rules]]\ntool = \"*\"\nwhne = \"true\"\nthen = \"ask\"",
        "[[rules]]\ntool = \"*\"\nspend = { amount = \"args.a\", curency = \"=EUR\" }",
        "[[rules]]\ntool = \"*\"\nlokup = \"a/b\"",
        "[rule]\ntool = \"*\"",
    ]), @r"
    yesgate.toml:1:1: unknown key `profil`
        hint: did you mean `profile`?
    yesgate.toml:3:3: unknown key `chanel`
        hint: did you mean `channel`?
    yesgate.toml:1:1: unknown key `zzz`
        hint: one of `profile`, `shadow`, `mode`, `channel`, `token_prefix`, `token_errors`, `otherwise`, `cover`, `own_tools`, `clients`, `grants`, `asking`, `times`, `serve`, `ledger`, `checkpoints`, `notices`, `pages`, `mail`, `sign_in`, `oauth`, `telemetry`, `servers`, `routes`, `budgets` or `rules`
    yesgate.toml:2:1: unknown key `tokens`
        hint: did you mean `token`?
    yesgate.toml:3:1: unknown key `trust`
        hint: did you mean `trusted`?
    yesgate.toml:6:1: unknown key `chanel`
        hint: did you mean `channel`?
    yesgate.toml:3:1: unknown key `whne`
        hint: did you mean `when`?
    yesgate.toml:3:30: unknown key `curency`
        hint: did you mean `currency`?
    yesgate.toml:3:1: unknown key `lokup`
        hint: did you mean `lookup`?
    yesgate.toml:1:2: unknown key `rule`
        hint: did you mean `rules`?
    ");
}

#[test]
fn a_wrong_type_or_word_names_what_would_be_right() {
    insta::assert_snapshot!(table(&[
        "profile = 1",
        "profile = \"handshak\"",
        "profile = \"paranoid\"",
        "mode = \"exec\"",
        "mode = true",
        "token_prefix = \"PBC_\"",
        "token_errors = \"toolresult\"",
        "otherwise = \"run\"",
        "times = \"60s\"",
        "servers = [\"a\"]",
        "[servers.\"a b\"]\ncommand = [\"x\"]",
        "[servers.a]\ntrusted = true",
        "[servers.a]\ncommand = \"npx\"",
        "[servers.a]\ncommand = []",
        "[servers.a]\ncommand = [\"x\", 1]",
        "[servers.a]\ncommand = [\"x\"]\ntrusted = \"yes\"",
        "rules = \"none\"",
        "[[rules]]\nthen = \"ask\"",
        "[[rules]]\ntool = [\"*\"]",
        "[[rules]]\ntool = \"*\"\nthen = \"allow\"",
        "[[rules]]\ntool = \"*\"\nclass = \"readonly\"",
        "[[rules]]\ntool = \"*\"\nassurance = \"signed-in\"",
        "[[rules]]\ntool = \"*\"\nnext = \"https://example.com\"",
        "[[rules]]\ntool = \"*\"\nmatch = \"a/b\"",
    ]), @r#"
    yesgate.toml:1:11: `profile` must be `handshake`, `two-key`, `spend`, `modes` or `strict`, not an integer
    yesgate.toml:1:11: `handshak` is not a value of `profile`
        hint: did you mean `handshake`?
    yesgate.toml:1:11: `paranoid` is not a value of `profile`
        hint: one of `handshake`, `two-key`, `spend`, `modes` or `strict`
    yesgate.toml:1:8: `exec` is not a value of `mode`
        hint: one of `ask`, `plan` or `execute`
    yesgate.toml:1:8: `mode` must be `ask`, `plan` or `execute`, not a boolean
    yesgate.toml:1:16: a token prefix is 1 to 16 of `a-z 0-9 _ -`
    yesgate.toml:1:16: `toolresult` is not a value of `token_errors`
        hint: did you mean `tool_result`?
    yesgate.toml:1:13: `run` is not a value of `otherwise`
        hint: one of `by-class`, `ask` or `reject`
    yesgate.toml:1:9: `times` must be a table, not a string
    yesgate.toml:1:11: `servers` must be a table, not a list
    yesgate.toml:1:1: `a b` is not a server name (1 to 128 of `A-Z a-z 0-9 _ . -`)
    yesgate.toml:1:1: `command` or `url` is missing
        hint: write command = ["program", "argument", …] or url = "https://host/mcp"
    yesgate.toml:2:11: `command` must be a list, not a string
    yesgate.toml:2:11: `command` names no program
        hint: write ["program", "argument", …]
    yesgate.toml:2:17: `command` must be a string, not an integer
    yesgate.toml:3:11: `trusted` must be `true` or `false`, not a string
    yesgate.toml:1:9: `rules` must be a list, not a string
    yesgate.toml:1:1: `tool` is missing
    yesgate.toml:2:8: `tool` must be a string, not a list
    yesgate.toml:3:8: `allow` is not a value of `then`
        hint: one of `run`, `ask` or `reject`
    yesgate.toml:3:9: `readonly` is not a value of `class`
        hint: did you mean `read-only`?
    yesgate.toml:3:13: `signed-in` is not a value of `assurance`
        hint: did you mean `signed_in`?
    yesgate.toml:3:8: `next` must be a table, not a string
    yesgate.toml:3:9: `match` must be a list, not a string
    "#);
}

#[test]
fn a_length_of_time_is_whole_bounded_and_never_zero() {
    insta::assert_snapshot!(table(&[
        "[times]\ntoken = 60",
        "[times]\ntoken = \"60\"",
        "[times]\ntoken = \"0s\"",
        "[times]\ntoken = \"-5s\"",
        "[times]\ntoken = \"1.5m\"",
        "[times]\ntoken = \"1m30s\"",
        "[times]\ntoken = \"\"",
        "[times]\ntoken = \"60 s\"",
        "[times]\ndecide = \"31d\"",
        "[times]\ndecide = \"99999999999999999999s\"",
        "[times]\nhold = \"46s\"",
        "[times]\ntoken = \"10m\"\ndecide = \"5m\"",
    ]), @r#"
    yesgate.toml:2:9: `token` must be a time such as "60s", not an integer
    yesgate.toml:2:9: `60` is not a length of time
        hint: write a whole number and a unit: "60s", "5m", "2h" or "1d"
    yesgate.toml:2:9: `token` must be longer than zero
        hint: there is no "without end"; write how long
    yesgate.toml:2:9: `-5s` is not a length of time
        hint: write a whole number and a unit: "60s", "5m", "2h" or "1d"
    yesgate.toml:2:9: `1.5m` is not a length of time
        hint: write a whole number and a unit: "60s", "5m", "2h" or "1d"
    yesgate.toml:2:9: `1m30s` is not a length of time
        hint: write a whole number and a unit: "60s", "5m", "2h" or "1d"
    yesgate.toml:2:9: `` is not a length of time
        hint: write a whole number and a unit: "60s", "5m", "2h" or "1d"
    yesgate.toml:2:9: `60 s` is not a length of time
        hint: write a whole number and a unit: "60s", "5m", "2h" or "1d"
    yesgate.toml:2:10: `31d` is longer than 30 days
    yesgate.toml:2:10: `99999999999999999999s` is longer than 30 days
    yesgate.toml:2:8: `hold` can be 45s at most
        hint: most clients give up on a call after 60 seconds
    yesgate.toml:3:10: `decide` must not be shorter than `token`
    "#);
}

#[test]
fn what_a_rule_cannot_mean_is_an_error() {
    insta::assert_snapshot!(table(&[
        "[[rules]]\ntool = \"pay\"",
        "[[rules]]\ntool = \"\"",
        "[[rules]]\ntool = \"my server/pay\"",
        "[[rules]]\ntool = \"wallet/pay now\"",
        "[[rules]]\ntool = \"wallet/**\"",
        "[[rules]]\ntool = \"*\"\nconfirm = \"preview\"",
        "[[rules]]\ntool = \"*\"\nconfirm = \"type\"",
        "[[rules]]\ntool = \"*\"\nconfirm = \"typed\"",
        "[[rules]]\ntool = \"*\"\nconfirm = \"simple\"\nthen = \"run\"",
        "[[rules]]\ntool = \"*\"\nchannel = \"mail\"",
        "[[rules]]\ntool = \"*\"\nchannel = [\"chat\", \"sms\"]",
        "[[rules]]\ntool = \"*\"\nchannel = []",
        "[[rules]]\ntool = \"*\"\nthen = \"reject\"\nchannel = \"chat\"",
        "[[rules]]\ntool = \"*\"\nthen = \"run\"\nassurance = \"local\"",
        "[[rules]]\ntool = \"*\"\nname = \"\"",
        "[[rules]]\ntool = \"*\"\nreason = \"two\\nlines\"",
        "[[rules]]\ntool = \"*\"\nsummary = \"{{state.plan}}\"",
        "[[rules]]\ntool = \"*\"\nsummary = \"{{arg.plan}}\"",
        "[[rules]]\ntool = \"*\"\nsummary = \"{{caller.name}}\"",
        "[[rules]]\ntool = \"*\"\nsummary = \"{{args.a\"",
        "[[rules]]\ntool = \"*\"\nsummary = \"{{args.}}\"",
        "[[rules]]\ntool = \"*\"\nnext = { when = 2026-01-01 }",
        "[[rules]]\ntool = \"*\"\nnext = { n = nan }",
        "[[rules]]\nname = \"a\"\ntool = \"*\"\n[[rules]]\nname = \"a\"\ntool = \"*\"",
    ]), @r#"
    yesgate.toml:2:8: `pay` names no tools: a tool is written `server/tool`
        hint: write `*/pay` for the tool of that name on every server
    yesgate.toml:2:8: `` names no tools: a tool is written `server/tool`
    yesgate.toml:2:8: `my server/pay` names no tools: the server in front of the `/` can hold `A-Z a-z 0-9 _ . -` and `*`
    yesgate.toml:2:8: `wallet/pay now` names no tools: the tool behind the `/` can hold visible ASCII characters and `*`
    yesgate.toml:2:8: `wallet/**` names no tools: `**` says no more than `*`
    yesgate.toml:3:11: `confirm = "preview"` needs a `preview`
        hint: write preview = { args = { dry_run = true } }, or name a tool or a text
    yesgate.toml:3:11: `confirm = "type"` needs to know what to type
        hint: write type = "args.name", the argument that holds the resource's name
    yesgate.toml:3:11: `typed` is not a value of `confirm`
        hint: did you mean `type`?
    yesgate.toml:3:11: `confirm` and `then` contradict each other
        hint: `none` goes with "run", the others with "ask"; one of the two keys is enough
    yesgate.toml:3:11: `mail` is not a value of `channel`
        hint: one of `auto`, `chat`, `elicitation`, `web` or `out_of_band`
    yesgate.toml:3:20: `sms` is not a value of `channel`
        hint: one of `auto`, `chat`, `elicitation`, `web` or `out_of_band`
    yesgate.toml:3:11: `channel` is an empty list
    yesgate.toml:4:11: `channel` has no effect on a rule that rejects
    yesgate.toml:4:13: `assurance` has no effect on a rule that lets calls run
    yesgate.toml:3:8: `name` is empty
    yesgate.toml:3:10: `reason` must be one line without control characters
    yesgate.toml:3:11: `summary` speaks of `state`, but the rule names no `lookup`
    yesgate.toml:3:11: `{{arg.plan}}` is not known in a summary
        hint: one of `args.…`, `state.…`, `caller.org`, `caller.principal`, `caller.client`, `tool` or `server`
    yesgate.toml:3:11: `{{caller.name}}` is not known in a summary
        hint: did you mean `caller.org`?
    yesgate.toml:3:11: a `{{` is not closed
    yesgate.toml:3:11: `args.` names nothing in `args`
        hint: write `args.` and the name
    yesgate.toml:3:17: a date without quotes has no place in JSON
    yesgate.toml:3:14: a number that is not finite has no place in JSON
    yesgate.toml:4:1: two rules are called `a`
    "#);
}

#[test]
fn what_is_no_toml_says_where() {
    insta::assert_snapshot!(table(&[
        "profile = ",
        "profile = \"a\"\nprofile = \"b\"",
        "mode = 'ask",
        "ünïcode = 1\nmode",
        "[[rules]\n",
    ]), @"
    yesgate.toml:1:11: this is not TOML: string values must be quoted, expected literal string
    yesgate.toml:2:1: this is not TOML: duplicate key
    yesgate.toml:1:12: this is not TOML: invalid literal string, expected `'`
    yesgate.toml:2:5: this is not TOML: key with no value, expected `=`
    yesgate.toml:1:9: this is not TOML: unclosed array table, expected `]`
    ");
    let long = format!("# {}", "x".repeat(1024 * 1024));
    assert_eq!(Config::parse(&long).unwrap_err().message(), "the configuration is longer than 1 MiB");
}

/// PRODUCT "Time": a decision never has less time than its token.
#[test]
fn a_time_that_is_written_holds_and_the_other_gives_way() {
    let times = |text: &str| {
        let times = super::call("a/b").question(&policy(&format!("[times]\n{text}"))).times;
        (times.token.as_secs(), times.decide.as_secs())
    };
    assert_eq!(times("token = \"45m\""), (2700, 2700));
    assert_eq!(times("decide = \"20s\""), (20, 20));
    assert_eq!(times("token = \"2m\"\ndecide = \"1h\""), (120, 3600));
    let settings = policy("[times]\nhold = \"5s\"\nrun = \"2m\"\ncool_off = \"1d\"");
    assert_eq!(settings.hold().as_secs(), 5);
    let question = super::call("a/b").question(&settings);
    assert_eq!((question.times.run.as_secs(), question.times.cool_off.as_secs()), (120, 86400));
}

/// A rule without a name is known by its place.
#[test]
fn a_rule_without_a_name_is_known_by_its_place() {
    let policy = policy(
        "mode = \"execute\"\n\n[[rules]]\ntool = \"*/a\"\n\n[[rules]]\ntool = \"*\"\nthen = \"run\"\n",
    );
    assert_eq!(super::call("x/b").says(&policy), "runs (rule #2 (line 6))");
}

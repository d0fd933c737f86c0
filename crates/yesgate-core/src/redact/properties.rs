//! What holds for every secret and every text around it.

use proptest::prelude::{Just, Strategy, any, prop, prop_assert, prop_assert_eq, prop_oneof, proptest};
use serde_json::{Map, Value, json};

use super::redact;

proptest! {
    /// K6: what a secret key holds is nowhere in the view.
    #[test]
    fn the_secret_is_nowhere_in_the_view(secret in secret(), key in secret_key(), around in fragments()) {
        let value = json!({
            "arguments": [{ key.clone(): secret.clone() }, { key.clone(): { "x": [secret.clone()] } }],
            "env": [{ "name": key.clone(), "value": secret.clone() }],
            "argv": [format!("--{key}"), secret.clone()],
            "query": format!("https://api.example/?{key}={secret}&x=1"),
            "json": format!("{{\"{key}\": \"{secret}\"}}"),
            "setting": format!("{around}\n{key}: {secret}\n{around}"),
            "url": format!("https://bob:{secret}@db.example/x"),
            "header": format!("curl -H 'Authorization: Bearer {secret}' https://api.example"),
        });
        let view = redact(&value).to_string();
        prop_assert!(!view.contains(&secret), "{view}");
    }

    /// K6: tokens that their issuer marks are hidden wherever they stand alone.
    #[test]
    fn a_token_with_a_known_prefix_is_nowhere_in_the_view(
        prefix in prop::sample::select(PREFIXES.to_vec()), secret in secret(), around in "[ \"'/@:,;()=]{0,4}",
    ) {
        let view = redact(&json!(format!("{around}{prefix}{secret}{around}"))).to_string();
        prop_assert!(!view.contains(&secret), "{view}");
    }

    /// K6: redacting twice is redacting once, so a view may be redacted again on its way.
    #[test]
    fn redacting_twice_is_redacting_once(value in value()) {
        let once = redact(&value);
        prop_assert_eq!(redact(&once), once);
    }

    /// K6: keys, paths, hosts and amounts always stay visible, and so does the shape of the whole.
    #[test]
    fn places_and_amounts_survive(
        path in "(/[a-z0-9_.-]{1,12}){1,5}", host in "([a-z][a-z0-9-]{0,10}\\.){1,3}(com|example)",
        amount in any::<i64>(), cents in "[0-9]{1,9}\\.[0-9]{2}", password in secret(),
    ) {
        let value = json!({
            "path": path, "file": path, "cwd": path, "host": host, "to": host, "amount": amount, "total": cents,
            "url": format!("https://{host}:8443{path}?amount={cents}"),
            "list": [path, host, amount, cents],
            "command": format!("scp {path} bob@{host}:{path}"),
            "credentials": { "host": host, "path": path, "amount": amount },
        });
        prop_assert_eq!(redact(&value), value);

        let view = redact(&json!(format!("https://bob:{password}@{host}:8443{path}?amount={cents}&token={password}")));
        let kept = format!("https://bob:[redacted: password]@{host}:8443{path}?amount={cents}&token=[redacted: ");
        prop_assert!(view.as_str().is_some_and(|view| view.starts_with(&kept)), "{view}");
    }

    /// K6: no key is lost or renamed, and only leaves change.
    #[test]
    fn every_key_survives(value in value()) {
        prop_assert_eq!(shape(&redact(&value)), shape(&value));
    }
}

/// A value with its leaves taken off.
fn shape(value: &Value) -> Value {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Value::Null,
        Value::Array(items) => items.iter().map(shape).collect(),
        Value::Object(members) => Value::Object(
            members.iter().map(|(key, value)| (key.clone(), shape(value))).collect::<Map<_, _>>(),
        ),
    }
}

/// Something random that no mark and no key contains.
fn secret() -> impl Strategy<Value = String> {
    "[A-Z][0-9][A-Za-z0-9]{12,40}"
}

fn secret_key() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "password",
        "api_key",
        "accessToken",
        "client-secret",
        "PGPASSWORD",
        "session_id",
        "otp",
    ])
    .prop_map(str::to_owned)
}

/// Texts from the pieces that the scans look for, in every order.
fn fragments() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "password",
        "token",
        "tokens",
        "--token",
        "Authorization",
        "Cookie",
        "session",
        "=",
        ":",
        ": ",
        " ",
        "\n",
        "\"",
        "\\\"",
        "'",
        ",",
        ";",
        "&",
        "://",
        "@",
        "/",
        ".",
        "-",
        "_",
        "#",
        "[",
        "]",
        "(",
        "$",
        "Bearer ",
        "Basic ",
        "bearer ",
        "ghp_abcdefgh12345678",
        "sk-abcdefgh12345678",
        "sk-",
        "AKIAIOSFODNN7EXAMPLE",
        "eyJhbGciOi",
        ".eyJzdWIiOi",
        ".c2ln",
        "-----BEGIN RSA PRIVATE KEY-----",
        "-----END RSA PRIVATE KEY-----",
        "[redacted: ",
        "7 characters]",
        "jwt]",
        "[redacted: password]",
        "hunter2",
        "true",
        "bob",
        "1234",
        "é",
        "host",
        "AbCdEf1234567890",
    ]);
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        fragments().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    let key = prop_oneof![
        prop::sample::select(vec![
            "password",
            "tokens",
            "pass",
            "name",
            "key",
            "value",
            "host",
            "credentials",
            "x"
        ])
        .prop_map(str::to_owned),
        fragments(),
    ];
    leaf.prop_recursive(3, 16, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((key.clone(), inner), 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

const PREFIXES: [&str; 12] = [
    "Bearer ",
    "sk-",
    "ghp_",
    "github_pat_",
    "xoxb-",
    "glpat-",
    "AIza",
    "npm_",
    "pypi-",
    "hf_",
    "sk_live_",
    "pbc_",
];

//! What is hidden, and what must not be.

use serde_json::{Value, json};

use super::redact;

/// K6: by key, read word by word.
#[test]
fn a_value_under_a_secret_key_is_hidden() {
    let keys = "
        password Passwd PASSWORD user_password dbPassword dbpassword password2 passwordHash pwd pass
        passphrase passcode secret clientSecret client-secret client_secret token accessToken
        refresh_token authtoken x-auth-token confirm_token tokens token_id api_key apiKey APIKey apikey
        X-Api-Key AWSSecretAccessKey access_key private_key ssh_key signing-key authorization
        Proxy-Authorization Cookie set-cookie session session_id credential credentials otp totp pin
        card_pin pin_code cvv 2fa_code verification_code card_number recovery_phrase jwt bearer
        password_hint
    ";
    for key in keys.split_whitespace() {
        assert_eq!(
            redact(&json!({ key: "hunter2hunter" })),
            json!({ key: "[redacted: 13 characters]" }),
            "{key}"
        );
    }
}

/// K6: keys, paths, hosts and amounts always stay visible.
#[test]
fn a_value_under_any_other_key_stays() {
    let keys = "
        path file_path host hostname amount currency recipient key keys primary_key foreignKey sort_key
        public_key ssh_public_key idempotency_key cache-key keyword keyboard tokenizer max_tokens
        maxTokens total_tokens prompt_tokens token_count token_limit token_url token_type tokenAddress
        token_symbol next_page_token page_token password_path password_file password_policy
        password_length secret_name secretName session_timeout cookie_domain session_host
        authorization_url authorized author passport passenger compass bypass secretary spinner pinned
        pin_message_id opinion country_code zip_code url id name command __
    ";
    for key in keys.split_whitespace() {
        let value = json!({ key: "hunter2hunter" });
        assert_eq!(redact(&value), value, "{key}");
    }
}

/// K6: a number or a boolean says nothing by its shape, so only its key can hide it.
#[test]
fn numbers_and_booleans_are_hidden_under_a_secret_key_only() {
    insta::assert_snapshot!(shown(&json!({
        "pin": 1234, "otp": [1, 2], "secret": true, "password": null, "token": "",
        "amount": 1234, "port": 22, "confirmed": true, "tokens": 500, "max_tokens": 500, "pass": true, "number": 4.5,
    })), @r#"
    {
      "amount": 1234,
      "confirmed": true,
      "max_tokens": 500,
      "number": 4.5,
      "otp": [
        "[redacted: number]",
        "[redacted: number]"
      ],
      "pass": true,
      "password": null,
      "pin": "[redacted: number]",
      "port": 22,
      "secret": "[redacted: boolean]",
      "token": "",
      "tokens": 500
    }
    "#);
}

/// K6: what a secret key holds is secret throughout, but for the places and quantities in it.
#[test]
fn a_container_under_a_secret_key_is_hidden_leaf_by_leaf() {
    insta::assert_snapshot!(shown(&json!({
        "credentials": {"username": "bob", "value": "hunter2", "host": "db.example", "port": 5432, "extra": ["a", {"b": "c"}]},
        "env": [{"name": "DB_PASSWORD", "value": "hunter2"}, {"name": "DB_HOST", "value": "db.example"}],
        "headers": [{"key": "Authorization", "value": "whatever"}],
        "args": ["--user", "bob", "--password", "hunter2", "--token", "--verbose", "yes", "--api-key=abc"],
    })), @r#"
    {
      "args": [
        "--user",
        "bob",
        "--password",
        "[redacted: 7 characters]",
        "--token",
        "--verbose",
        "yes",
        "--api-key=[redacted: 3 characters]"
      ],
      "credentials": {
        "extra": [
          "[redacted: 1 character]",
          {
            "b": "[redacted: 1 character]"
          }
        ],
        "host": "db.example",
        "port": 5432,
        "username": "bob",
        "value": "[redacted: 7 characters]"
      },
      "env": [
        {
          "name": "DB_PASSWORD",
          "value": "[redacted: 7 characters]"
        },
        {
          "name": "DB_HOST",
          "value": "db.example"
        }
      ],
      "headers": [
        {
          "key": "Authorization",
          "value": "[redacted: 8 characters]"
        }
      ]
    }
    "#);
}

/// K6: by shape, and only the part that has it.
#[test]
fn a_secret_is_known_by_its_shape() {
    insta::assert_snapshot!(texts(&[
        r#"curl -H "Authorization: Bearer abc123.def" https://api.example/v1"#,
        "authorization: bearer x",
        "Authorization: Basic dXNlcjpwYXNz",
        "Authorization: Digest username=bob, response=0a4f\nHost: api.example",
        "Use Basic authentication or a bearer token",
        "Cookie: sid=31d4d96e; theme=dark\nHost: api.example",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl and more",
        "eyJhbGciOiJIUzI1NiJ9 alone",
        "sk-proj-abcdefgh12345678, sk-ant-api03-AbCdEf_123",
        "sk-learn-contrib task-force-1234567890 desk-1234567890123",
        "ghp_16C7e42F292c6912E7 gho_16C7e42F292c6912E7 github_pat_11ABCDEFG0_abcdefghij",
        "xoxb-123456789012-abcdef glpat-abcdefgh1234_5678 npm_abcdefghij0123456789",
        "npm_config_registry pypi-AgEIcHlwaS5vcmcC1234 hf_abcdefgh12345678",
        "AKIAIOSFODNN7EXAMPLE AKIAshort AKIAIOSFODNN7EXAMPLEX",
        "AIzaSyA1234567890abcdefghijklmnopqrstu",
        "sk_live_4eC39HqLyjWDarjtT1zdp7dc rk_live_4eC39HqLyjWDarjtT1",
        "pbc_mfrggzdfmztwq2lknnwg23tpobyxe43u",
        "before -----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY----- after",
        "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEA",
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
        "postgres://app:p@ss:w0rd@db.example:5432/main?sslmode=require",
        "https://bob@github.com/x https://bob:@h https://ghp_16C7e42F292c6912E7:x@github.com/y.git",
        "redis://:hunter2@cache.example mailto:bob@example.com 12:30@noon",
    ]), @r#"
    curl -H "Authorization: Bearer [redacted: bearer token]" https://api.example/v1
    --
    authorization: [redacted: 8 characters]
    --
    Authorization: Basic [redacted: basic credentials]
    --
    Authorization: [redacted: 34 characters]
    Host: api.example
    --
    Use Basic authentication or a bearer token
    --
    Cookie: [redacted: 24 characters]
    Host: api.example
    --
    [redacted: jwt] and more
    --
    eyJhbGciOiJIUzI1NiJ9 alone
    --
    [redacted: api key], [redacted: api key]
    --
    sk-learn-contrib task-force-1234567890 desk-1234567890123
    --
    [redacted: github token] [redacted: github token] [redacted: github token]
    --
    [redacted: slack token] [redacted: gitlab token] [redacted: npm token]
    --
    npm_config_registry [redacted: pypi token] [redacted: hugging face token]
    --
    [redacted: aws access key] AKIAshort AKIAIOSFODNN7EXAMPLEX
    --
    [redacted: google key]
    --
    [redacted: stripe key] [redacted: stripe key]
    --
    [redacted: confirm token]
    --
    before [redacted: private key] after
    --
    [redacted: private key]
    --
    -----BEGIN CERTIFICATE-----
    MIIB
    -----END CERTIFICATE-----
    --
    postgres://app:[redacted: password]@db.example:5432/main?sslmode=require
    --
    https://bob@github.com/x https://bob:@h https://[redacted: github token]:[redacted: password]@github.com/y.git
    --
    redis://:[redacted: password]@cache.example mailto:bob@example.com 12:30@noon
    --
    "#);
}

/// K6: by the key that stands before it in a text.
#[test]
fn a_secret_is_known_by_the_key_before_it() {
    insta::assert_snapshot!(texts(&[
        "https://api.example/cb?state=1&access_token=abc&path=/etc#x",
        "PGPASSWORD=hunter2 psql -h db.example -U bob",
        "mysql --user bob --password hunter2 --host db.example",
        "mysql --password --host db.example",
        r#"{"password": "hun\"ter2", "host": "db.example", "pin": 1234, "reset": {"token": null}}"#,
        r#"{\"api_key\": \"abc\", \"path\": \"/etc\"}"#,
        "user: bob\npassword: hunter2  # production\nhost: db.example",
        "spring.datasource.password=hunter2",
        "Password: must be at least twelve characters",
        "token == other, token => x, secret://vault/path, token.example.com:8443",
        "registry.example/token:latest max_tokens=500 tokens=500 tokens=abc",
        "password='it is long' password=\"unclosed and on",
        "token=Bearer abc123def456 next",
        "password=$(cat /run/secret) password=true",
        "Server=db.example;User=sa;Password=hunter2;Database=x",
    ]), @r#"
    https://api.example/cb?state=1&access_token=[redacted: 3 characters]&path=/etc#x
    --
    PGPASSWORD=[redacted: 7 characters] psql -h db.example -U bob
    --
    mysql --user bob --password [redacted: 7 characters] --host db.example
    --
    mysql --password --host db.example
    --
    {"password": "[redacted: 9 characters]", "host": "db.example", "pin": [redacted: 4 characters], "reset": {"token": null}}
    --
    {\"api_key\": \"[redacted: 3 characters]\", \"path\": \"/etc\"}
    --
    user: bob
    password: [redacted: 7 characters]  # production
    host: db.example
    --
    spring.datasource.password=[redacted: 7 characters]
    --
    Password: must be at least twelve characters
    --
    token == other, token => x, secret://vault/path, token.example.com:8443
    --
    registry.example/token:latest max_tokens=500 tokens=500 tokens=[redacted: 3 characters]
    --
    password='[redacted: 10 characters]' password="[redacted: 15 characters]
    --
    token=Bearer [redacted: bearer token] next
    --
    password=$(cat /run/secret) password=true
    --
    Server=db.example;User=sa;Password=[redacted: 7 characters];Database=x
    --
    "#);
}

/// The text comes from whoever calls: no scan may go over it again and again.
#[test]
fn long_hostile_texts_are_scanned_in_one_go() {
    for piece in [
        "sk-",
        "eyJ-",
        "eyJ.",
        "eyJaaaaaaaa.",
        "token:",
        "token: ",
        "--token ",
        "--token --",
        "-----BEGIN ",
        "://a:",
        "Bearer ",
        "password=\"",
        "password=\\\"[redacted: number]",
        "a-",
        "AKIA",
        "Cookie:",
        "[redacted: ",
        "token",
        "é",
        "\\\"",
    ] {
        let text = piece.repeat(200_000 / piece.len());
        let once = redact(&json!(text));
        assert_eq!(redact(&once), once, "{piece}");
    }
}

fn shown(value: &Value) -> String {
    serde_json::to_string_pretty(&redact(value)).unwrap()
}

fn texts(texts: &[&str]) -> String {
    texts.iter().map(|text| redact(&json!(text)).as_str().unwrap().to_owned() + "\n--\n").collect()
}

//! `[serve]` and `[telemetry]`: everything has a bound, and zero is never "without limit".

use std::time::Duration;

use super::super::{Config, SERVE_LIMIT_KEYS, SERVE_TIME_KEYS, ServeConfig, ServeLimits, ServeTimes};
use super::config::table;

fn serve(text: &str) -> ServeConfig {
    let config = Config::parse(&format!("[serve]\n{text}"));
    config.unwrap_or_else(|error| panic!("{error} ({:?})", error.hint())).serve
}

fn limits(text: &str) -> ServeLimits {
    serve(&format!("[serve.limits]\n{text}")).limits
}

/// The errors of `[serve]` with these keys.
fn errors(bodies: &[&str]) -> String {
    let texts: Vec<String> = bodies.iter().map(|body| format!("[serve]\n{body}")).collect();
    table(&texts.iter().map(String::as_str).collect::<Vec<_>>())
}

#[test]
fn the_gateway_knows_its_names() {
    let serve = serve(
        "listen = \"0.0.0.0:0\"\npublic_url = \"https://Gate.example.org:443/\"\nhosts = [\"gate.internal:8787\", \"[::1]\"]\norigins = [\"https://app.example.org\", \"http://localhost:5173\"]\n[oauth]\nenabled = false",
    );
    assert_eq!(serve.listen.to_string(), "0.0.0.0:0");
    let names: Vec<String> = serve.authorities().map(ToString::to_string).collect();
    assert_eq!(names, ["gate.example.org", "gate.internal:8787", "[::1]"]);
    let origins: Vec<String> = serve.origins.iter().map(ToString::to_string).collect();
    assert_eq!(origins, ["https://app.example.org", "http://localhost:5173"]);
    assert_eq!(ServeConfig::default().authorities().count(), 0);
}

#[test]
fn times_and_limits_are_read_in_their_units() {
    let config = Config::parse(
        "[serve.times]\nheaders = \"1s\"\nbody = \"2s\"\nidle = \"3s\"\ncall = \"4m\"\noutcome = \"7h\"\nsession = \"5h\"\ndrain = \"6s\"\n[telemetry]\notlp = \"https://otel.example:4318/v1\"\nmetrics = false",
    )
    .unwrap();
    let seconds = Duration::from_secs;
    let times = ServeTimes {
        headers: seconds(1),
        body: seconds(2),
        idle: seconds(3),
        call: seconds(240),
        outcome: seconds(25_200),
        session: seconds(18_000),
        drain: seconds(6),
    };
    assert_eq!(config.serve.times, times);
    assert_eq!(config.telemetry.otlp.unwrap().as_str(), "https://otel.example:4318/v1");
    assert!(!config.telemetry.metrics);
    let some =
        limits("body = 1_000\nanswer = \"64KiB\"\nbytes = \"2GiB\"\nbytes_per_caller = 0x1000\nchildren = 0");
    assert_eq!((some.body, some.answer, some.bytes), (1_000, 64 << 10, 2 << 30));
    assert_eq!((some.bytes_per_caller, some.children), (4096, 0));
}

#[test]
fn a_part_that_is_not_written_gives_way_to_the_whole() {
    let some = limits("streams = 10\nsessions = 0\nconnections = 5\nbytes = \"2MiB\"");
    assert_eq!((some.streams, some.streams_per_caller), (10, 10));
    assert_eq!((some.sessions, some.sessions_per_caller), (0, 0));
    assert_eq!((some.connections, some.connections_per_address), (5, 5));
    assert_eq!((some.bytes, some.bytes_per_caller), (2 << 20, 2 << 20));
    assert_eq!(limits("sessions = 5000").sessions_per_caller, 200);
}

/// A limit of zero is none at all: it is refused where nobody could then be served.
#[test]
fn zero_is_none_and_refused_where_nobody_could_be_served() {
    for key in SERVE_TIME_KEYS {
        let said = errors(&[&format!("[serve.times]\n{key} = \"0s\"")]);
        assert!(said.contains(&format!("`{key}` must be longer than zero")), "{said}");
    }
    let none = ["streams", "streams_per_caller", "sessions", "sessions_per_caller", "children"];
    for key in SERVE_LIMIT_KEYS {
        let text = format!("[serve.limits]\n{key} = 0");
        if none.contains(&key) {
            serve(&text);
        } else {
            let said = errors(&[&text]);
            assert!(said.contains(&format!("`{key}` must be more than zero")), "{said}");
        }
    }
    insta::assert_snapshot!(table(&[
        "[serve.limits]\nbody = 0",
        "[serve.limits]\nchildren = 0\n[servers.a]\ncommand = [\"x\"]",
    ]), @r#"
    yesgate.toml:2:8: `body` must be more than zero
        hint: 0 means none, and nobody could be served; there is no "without limit"
    yesgate.toml:2:12: `children` is 0, and the server `a` is a program
        hint: 0 means none at all; write how many may run at once
    "#);
    Config::parse("[serve.limits]\nchildren = 0\n[servers.a]\nurl = \"https://a.example\"").unwrap();
}

#[test]
fn what_serving_cannot_use_is_an_error() {
    insta::assert_snapshot!(errors(&[
        "lisen = \"127.0.0.1:1\"",
        "listen = \"localhost:8787\"",
        "listen = \"127.0.0.1\"",
        "listen = 8787",
        "listen = \"0.0.0.0:8787\"",
        "listen = \"[::]:8787\"\nhosts = []",
        "public_url = \"gate.example.org\"",
        "public_url = \"https://gate.example.org/mcp\"",
        "public_url = \"https://user:secret@gate.example.org\"",
        "hosts = \"gate\"",
        "hosts = [\"https://gate\"]",
        "hosts = [\"*\"]",
        "hosts = [\"gate.example.org.\"]",
        "hosts = [\"gate\", \"GATE\"]",
        "origins = [\"*\"]",
        "origins = [\"null\"]",
        "origins = [\"app.example.org\"]",
        "times = { header = \"1s\" }",
        "times = { call = 600 }",
        "limits = { stream = 1 }",
        "limits = { streams = \"many\" }",
        "limits = { streams = -1 }",
        "limits = { streams = 1000001 }",
        "limits = { streams = 99999999999999999999999 }",
        "limits = { streams = 1.5 }",
        "limits = { streams = 10, streams_per_caller = 11 }",
        "limits = { bytes_per_caller = \"1GiB\" }",
        "limits = { body = true }",
        "limits = { body = \"1MB\" }",
        "limits = { body = \"MiB\" }",
        "limits = { body = \"1024\" }",
        "limits = { body = \"1.5MiB\" }",
        "limits = { body = \"1 MiB\" }",
        "limits = { body = -1 }",
        "limits = { bytes = \"65GiB\" }",
        "limits = { bytes = \"18446744073709551615GiB\" }",
        "limits = { body = \"65MiB\" }",
        "limits = { bytes = \"512KiB\" }",
    ]), @r#"
    yesgate.toml:2:1: unknown key `lisen`
        hint: did you mean `listen`?
    yesgate.toml:2:10: `localhost:8787` is not an address to listen on
        hint: write an IP address and a port: "127.0.0.1:8787", "[::1]:8787" or "0.0.0.0:8787"
    yesgate.toml:2:10: `127.0.0.1` is not an address to listen on
        hint: write an IP address and a port: "127.0.0.1:8787", "[::1]:8787" or "0.0.0.0:8787"
    yesgate.toml:2:10: `listen` must be a string, not an integer
    yesgate.toml:2:10: `listen` is open to other machines, and no name is given by which they may call
        hint: set `public_url` or `hosts`
    yesgate.toml:2:10: `listen` is open to other machines, and no name is given by which they may call
        hint: set `public_url` or `hosts`
    yesgate.toml:2:14: `public_url` cannot be used: it begins with neither `https://` nor `http://`
        hint: write it like "https://gate.example.org"
    yesgate.toml:2:14: `public_url` cannot be used: it is more than a scheme, a host and a port
        hint: write it like "https://gate.example.org", without a path
    yesgate.toml:2:14: `public_url` cannot be used: it holds a user name or a password
        hint: leave it out; a secret for a server goes into its `headers`, as `${NAME}`
    yesgate.toml:2:9: `hosts` must be a list, not a string
    yesgate.toml:2:10: `hosts` cannot be used: it is more than a host and a port
        hint: write it like "gate.example.org" or "gate.example.org:8787"
    yesgate.toml:2:10: `hosts` cannot be used: it names no valid host
        hint: a name, an IPv4 address in four parts, or an IPv6 address in brackets
    yesgate.toml:2:10: `hosts` cannot be used: it names no valid host
        hint: a name, an IPv4 address in four parts, or an IPv6 address in brackets
    yesgate.toml:2:18: `hosts` names the same thing twice
        hint: leave one out
    yesgate.toml:2:12: `*` would let any page in the browser call
        hint: name each origin: "https://app.example.org"
    yesgate.toml:2:12: `null` would let any page in the browser call
        hint: name each origin: "https://app.example.org"
    yesgate.toml:2:12: `origins` cannot be used: it begins with neither `https://` nor `http://`
        hint: write it like "https://gate.example.org"
    yesgate.toml:2:11: unknown key `header`
        hint: did you mean `headers`?
    yesgate.toml:2:18: `call` must be a time such as "60s", not an integer
    yesgate.toml:2:12: unknown key `stream`
        hint: did you mean `streams`?
    yesgate.toml:2:22: `streams` must be an integer, not a string
    yesgate.toml:2:22: `streams` is not 0 to 1000000
        hint: write how many there may be
    yesgate.toml:2:22: `streams` is not 0 to 1000000
        hint: write how many there may be
    yesgate.toml:2:22: `streams` is not 0 to 1000000
        hint: write how many there may be
    yesgate.toml:2:22: `streams` must be an integer, not a number
    yesgate.toml:2:47: `streams_per_caller` is more than `streams`
        hint: lower it, or raise `streams` too
    yesgate.toml:2:31: `bytes_per_caller` is more than `bytes`
        hint: lower it, or raise `bytes` too
    yesgate.toml:2:19: `body` must be a size such as "1MiB", not a boolean
    yesgate.toml:2:19: `1MB` is not a size
        hint: write a whole number and a unit: "64KiB", "1MiB" or "2GiB"; a number without quotes is bytes
    yesgate.toml:2:19: `MiB` is not a size
        hint: write a whole number and a unit: "64KiB", "1MiB" or "2GiB"; a number without quotes is bytes
    yesgate.toml:2:19: `1024` is not a size
        hint: write a whole number and a unit: "64KiB", "1MiB" or "2GiB"; a number without quotes is bytes
    yesgate.toml:2:19: `1.5MiB` is not a size
        hint: write a whole number and a unit: "64KiB", "1MiB" or "2GiB"; a number without quotes is bytes
    yesgate.toml:2:19: `1 MiB` is not a size
        hint: write a whole number and a unit: "64KiB", "1MiB" or "2GiB"; a number without quotes is bytes
    yesgate.toml:2:19: `body` is not 0 to 64GiB
        hint: write how many bytes there may be
    yesgate.toml:2:20: `bytes` is not 0 to 64GiB
        hint: write how many bytes there may be
    yesgate.toml:2:20: `bytes` is not 0 to 64GiB
        hint: write how many bytes there may be
    yesgate.toml:2:19: a body as large as `body` would never fit into `bytes_per_caller`
        hint: lower `body`, or raise `bytes` and `bytes_per_caller`
    yesgate.toml:2:20: a body as large as `body` would never fit into `bytes_per_caller`
        hint: lower `body`, or raise `bytes` and `bytes_per_caller`
    "#);
    insta::assert_snapshot!(table(&[
        "serve = true",
        "[telemetry]\notlp = \"127.0.0.1:4318\"",
        "[telemetry]\notlp = true",
        "[telemetry]\nmetrics = \"on\"",
        "[telemetry]\nmetric = true",
    ]), @r#"
    yesgate.toml:1:9: `serve` must be a table, not a boolean
    yesgate.toml:2:8: `otlp` cannot be used: it begins with neither `https://` nor `http://`
        hint: write it like "https://gate.example.org"
    yesgate.toml:2:8: `otlp` must be a string, not a boolean
    yesgate.toml:2:11: `metrics` must be `true` or `false`, not a string
    yesgate.toml:2:1: unknown key `metric`
        hint: did you mean `metrics`?
    "#);
}

//! What `deploy/` says is what the program knows: flags, ports, variables, paths, keys and times.

use std::path::{Path, PathBuf};
use std::process::Command;

use saphyr::{LoadableYamlNode as _, Scalar, Yaml};
use serde_json::{Map, Value, json};
use yesgate_testkit::ServeStage;

/// The variable that holds where the ledger is, and the key of `[ledger]` that takes it.
const LEDGER_VARIABLE: &str = "LEDGER_URL";
const LEDGER_KEY: &str = "at";

fn deploy(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy").join(name)
}

fn read(name: &str) -> String {
    std::fs::read_to_string(deploy(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// A file of one YAML document.
fn yaml(name: &str) -> Value {
    let text = read(name);
    let documents = Yaml::load_from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(documents.len(), 1, "{name}");
    plain(&documents[0])
}

fn plain(node: &Yaml<'_>) -> Value {
    match node {
        Yaml::Value(Scalar::Null) => Value::Null,
        Yaml::Value(Scalar::Boolean(is)) => (*is).into(),
        Yaml::Value(Scalar::Integer(number)) => (*number).into(),
        Yaml::Value(Scalar::FloatingPoint(number)) => number.into_inner().into(),
        Yaml::Value(Scalar::String(text)) => text.as_ref().into(),
        Yaml::Sequence(nodes) => nodes.iter().map(plain).collect(),
        Yaml::Mapping(nodes) => {
            let member =
                |(key, node): (&Yaml<'_>, &Yaml<'_>)| (key.as_str().unwrap().to_owned(), plain(node));
            Value::Object(nodes.iter().map(member).collect::<Map<_, _>>())
        }
        other @ (Yaml::Representation(..) | Yaml::Tagged(..) | Yaml::Alias(_) | Yaml::BadValue) => {
            panic!("not plain YAML: {other:?}")
        }
    }
}

fn config() -> toml::Table {
    read("yesgate.toml").parse().unwrap()
}

fn serve(key: &str) -> String {
    config()["serve"][key].as_str().unwrap().to_owned()
}

fn port() -> i64 {
    serve("listen").rsplit_once(':').unwrap().1.parse().unwrap()
}

fn public_host() -> String {
    serve("public_url").strip_prefix("https://").unwrap().to_owned()
}

/// Seconds of `45s`, `1m` or `45`.
fn seconds(text: &str) -> i64 {
    match text.strip_suffix('m') {
        Some(minutes) => 60 * minutes.parse::<i64>().unwrap(),
        None => text.trim_end_matches('s').parse().unwrap(),
    }
}

fn drain() -> i64 {
    seconds(config()["serve"]["times"]["drain"].as_str().unwrap())
}

/// How much longer than that a node must be waited for.
const MARGIN: i64 = 5;

fn container() -> Value {
    yaml("kubernetes/deployment.yaml")["spec"]["template"]["spec"]["containers"][0].clone()
}

fn compose_node() -> Value {
    yaml("compose.yaml")["services"]["yesgate"].clone()
}

/// The words after the name of a setting of a unit, each time it is set.
fn unit(key: &str) -> Vec<String> {
    let text = read("yesgate.service");
    let set = text.lines().filter_map(|line| line.strip_prefix(key)?.strip_prefix('='));
    set.map(str::to_owned).collect()
}

fn words(list: &Value) -> Vec<String> {
    list.as_array().unwrap().iter().map(|word| word.as_str().unwrap().to_owned()).collect()
}

fn split(command: &str) -> Vec<String> {
    command.split(' ').map(str::to_owned).collect()
}

/// Every command line that starts or asks the program, without its name.
fn command_lines() -> Vec<Vec<String>> {
    let image = read("Containerfile");
    let started = image.lines().find_map(|line| line.strip_prefix("CMD ")).unwrap();
    let mut lines = vec![
        words(&serde_json::from_str(started).unwrap()),
        words(&compose_node()["command"]),
        words(&container()["args"]),
    ];
    for key in ["ExecStart", "ExecStartPre"] {
        for command in unit(key) {
            let (program, rest) = command.split_once(' ').unwrap();
            assert!(program.ends_with("/yesgate"), "{command}");
            lines.push(split(rest));
        }
    }
    lines
}

/// Runs the program with these words, in a home of its own.
fn yesgate(home: &Path, words: &[String]) -> std::process::Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_yesgate"));
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("YESGATE_")) {
        command.env_remove(name);
    }
    command.env("YESGATE_HOME", home).env(LEDGER_VARIABLE, "postgres://localhost/yesgate");
    command.args(words).output().unwrap()
}

/// A flag or a command that was renamed fails here.
#[test]
fn every_command_line_is_one_that_the_program_knows() {
    let home = tempfile::tempdir().unwrap();
    for mut line in command_lines() {
        // With `--help` the words are read to the end, and nothing is started.
        line.push("--help".into());
        let output = yesgate(home.path(), &line);
        assert!(output.status.success(), "{line:?}: {}", String::from_utf8_lossy(&output.stderr));
        assert!(line.contains(&"/etc/yesgate/yesgate.toml".to_owned()), "{line:?}");
    }
}

/// A key that was renamed fails here: each configuration loads as the program itself reads it.
#[test]
fn every_configuration_is_sound() {
    let home = tempfile::tempdir().unwrap();
    let embedded = yaml("kubernetes/configmap.yaml")["data"]["yesgate.toml"].as_str().unwrap().to_owned();
    assert_eq!(embedded, read("yesgate.toml"), "kubernetes/configmap.yaml is no copy of yesgate.toml");
    for text in [embedded, read("yesgate.toml")] {
        let file = home.path().join("yesgate.toml");
        std::fs::write(&file, text).unwrap();
        for check in ["check", "lint"] {
            let file = file.to_str().unwrap();
            let output = yesgate(home.path(), &["--config", file, "policy", check].map(str::to_owned));
            assert!(output.status.success(), "{check}: {}", String::from_utf8_lossy(&output.stderr));
        }
    }
    let mounts = words(&compose_node()["volumes"]);
    assert_eq!(mounts, ["./yesgate.toml:/etc/yesgate/yesgate.toml:ro"]);
    let mounted = &container()["volumeMounts"][0];
    assert_eq!((&mounted["name"], &mounted["mountPath"]), (&json!("config"), &json!("/etc/yesgate")));
}

/// Several nodes are one gateway only with one ledger, said under the key that the program knows.
#[test]
fn the_nodes_share_one_ledger() {
    let defaults = std::fs::read_to_string(deploy("../yesgate.default.toml")).unwrap();
    let of_ledger = defaults.split("\n[ledger]\n").nth(1).unwrap().split("\n[").next().unwrap();
    let is_key = |line: &str| line.trim_start_matches('#').starts_with(&format!("{LEDGER_KEY} ="));
    assert!(of_ledger.lines().any(is_key), "`{LEDGER_KEY}` is no key of [ledger]");
    assert_eq!(config()["ledger"][LEDGER_KEY].as_str(), Some(&*format!("${{{LEDGER_VARIABLE}}}")));
    let by_compose = compose_node()["environment"][LEDGER_VARIABLE].as_str().unwrap().to_owned();
    assert!(by_compose.starts_with("postgres://") && by_compose.contains("@postgres:5432/"), "{by_compose}");
    assert!(yaml("compose.yaml")["services"]["postgres"].is_object());
}

/// Every variable of ours is one that the documents list, or the one of the ledger.
#[test]
fn every_variable_is_known() {
    let documented = std::fs::read_to_string(deploy("../docs/operations.md")).unwrap();
    let of_compose = compose_node()["environment"].as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    let of_pod: Vec<String> = container()["env"]
        .as_array()
        .unwrap()
        .iter()
        .map(|env| env["name"].as_str().unwrap().into())
        .collect();
    let of_unit: Vec<String> =
        unit("Environment").iter().map(|set| set.split_once('=').unwrap().0.to_owned()).collect();
    for name in of_compose.iter().chain(&of_pod).chain(&of_unit) {
        let is_known = documented.contains(&format!("| `{name}` |")) || name == LEDGER_VARIABLE;
        assert!(is_known, "{name} is in no table of docs/operations.md");
    }
    for both in ["YESGATE_HOME", "YESGATE_SECRET_KEY", LEDGER_VARIABLE] {
        assert!(of_compose.contains(&both.to_owned()) && of_pod.contains(&both.to_owned()), "{both}");
        assert!(
            both == "YESGATE_HOME" || read("yesgate.service").contains(&format!("#   {both}=")),
            "{both}"
        );
    }
    let secrets = yaml("kubernetes/secret.example.yaml");
    for env in container()["env"].as_array().unwrap() {
        if let Some(key) = env["valueFrom"]["secretKeyRef"]["key"].as_str() {
            assert_eq!(env["valueFrom"]["secretKeyRef"]["name"], secrets["metadata"]["name"]);
            // Empty on purpose: nothing can start with an example's secret.
            assert_eq!(secrets["stringData"][key], "", "{key}");
        }
    }
    let home = tempfile::tempdir().unwrap();
    let mut wrong = Command::new(env!("CARGO_BIN_EXE_yesgate"));
    wrong.env("YESGATE_HOME", home.path()).env("YESGATE_SECRET_KEY", "").args(["audit", "verify"]);
    let said = wrong.output().unwrap();
    assert!(!said.status.success() && String::from_utf8_lossy(&said.stderr).contains("YESGATE_SECRET_KEY"));
}

#[test]
fn everybody_means_the_same_port() {
    let port = port();
    assert_eq!(container()["ports"][0], json!({"name": "http", "containerPort": port}));
    assert_eq!(yaml("kubernetes/service.yaml")["spec"]["ports"][0]["targetPort"], "http");
    assert!(read("nginx.conf").contains(&format!("server yesgate:{port};")));
    assert!(read("Containerfile").contains(&format!("\nEXPOSE {port}\n")));
    let defaults = std::fs::read_to_string(deploy("../yesgate.default.toml")).unwrap();
    assert!(defaults.contains(&format!("\nlisten = \"127.0.0.1:{port}\"\n")), "no longer the usual port");
}

/// INV9, FC-30: whoever stops a node waits longer than the node waits for its calls.
#[test]
fn a_node_that_is_stopped_has_time_to_drain() {
    let least = drain() + MARGIN;
    assert!(seconds(compose_node()["stop_grace_period"].as_str().unwrap()) >= least);
    assert!(seconds(&unit("TimeoutStopSec")[0]) >= least);
    // A second signal ends it at once: the servers of its group must not be told before it is.
    assert_eq!(unit("KillMode"), ["mixed"]);
    let grace =
        yaml("kubernetes/deployment.yaml")["spec"]["template"]["spec"]["terminationGracePeriodSeconds"]
            .as_i64()
            .unwrap();
    let before = container()["lifecycle"]["preStop"]["sleep"]["seconds"].as_i64().unwrap();
    assert!(grace >= before + least, "{grace} s for {before} s and {least} s");
}

/// The probes ask what the program answers, under the name that it answers to.
#[tokio::test(flavor = "multi_thread")]
async fn the_probes_are_answered() {
    let stage = ServeStage::new(env!("CARGO_BIN_EXE_yesgate"));
    let server = stage.child("mock", &[]);
    let stage = stage.config(&format!("[serve]\npublic_url = \"https://{}\"\n{server}", public_host()));
    let mut gateway = stage.start();
    let host = gateway.all();
    for (probe, path) in
        [("startupProbe", "/healthz"), ("livenessProbe", "/healthz"), ("readinessProbe", "/readyz")]
    {
        let http = container()[probe]["httpGet"].clone();
        assert_eq!((&http["path"], &http["port"]), (&json!(path), &json!("http")), "{probe}");
        assert_eq!(http["httpHeaders"], json!([{"name": "Host", "value": public_host()}]), "{probe}");
        let asked = host.get().path(path).header("host", &public_host());
        assert_eq!(asked.send().await.status(), 200, "{probe}");
        let by_address = host.get().path(path).header("host", "10.0.0.7:8787");
        assert_ne!(by_address.send().await.status(), 200, "a probe needs no Host any more");
    }
    assert!(gateway.close().success());
}

#[test]
fn the_load_balancer_tries_nothing_twice_and_holds_nothing_back() {
    let text = read("nginx.conf");
    let has = |line: &str| text.lines().any(|other| other.trim() == line);
    assert!(has("proxy_next_upstream off;"));
    assert!(has("proxy_buffering off;"));
    assert!(has("proxy_set_header Host $host;"));
    assert!(has(&format!("server_name {};", public_host())));
    assert!(has("client_max_body_size 1m;"));
    let timeout = text.lines().find_map(|line| line.trim().strip_prefix("proxy_read_timeout ")).unwrap();
    let defaults: toml::Table =
        std::fs::read_to_string(deploy("../yesgate.default.toml")).unwrap().parse().unwrap();
    let call = seconds(defaults["serve"]["times"]["call"].as_str().unwrap());
    assert!(seconds(timeout.trim_end_matches(';')) > call, "a call may take {call} s");
    assert_eq!(defaults["serve"]["limits"]["body"].as_str(), Some("1MiB"));
}

#[test]
fn there_are_three_nodes_and_two_of_them_stay() {
    let deployment = yaml("kubernetes/deployment.yaml");
    let disruption = yaml("kubernetes/disruption.yaml");
    assert_eq!(compose_node()["deploy"]["replicas"], 3);
    assert_eq!(deployment["spec"]["replicas"], 3);
    assert_eq!(disruption["spec"]["minAvailable"], 2);
    let labels = &deployment["spec"]["template"]["metadata"]["labels"];
    assert_eq!(&deployment["spec"]["selector"]["matchLabels"], labels);
    assert_eq!(&disruption["spec"]["selector"]["matchLabels"], labels);
    assert_eq!(&yaml("kubernetes/service.yaml")["spec"]["selector"], labels);
    let listed = words(&yaml("kubernetes/kustomization.yaml")["resources"]);
    assert_eq!(listed, ["configmap.yaml", "deployment.yaml", "service.yaml", "disruption.yaml"]);
    for file in listed {
        yaml(&format!("kubernetes/{file}"));
    }
}

#[test]
fn a_node_may_do_little() {
    let pod = yaml("kubernetes/deployment.yaml")["spec"]["template"]["spec"].clone();
    assert_eq!(pod["automountServiceAccountToken"], false);
    assert_eq!(pod["securityContext"]["runAsNonRoot"], true);
    assert_eq!(
        container()["securityContext"],
        json!({
            "allowPrivilegeEscalation": false,
            "readOnlyRootFilesystem": true,
            "capabilities": {"drop": ["ALL"]},
        })
    );
    let user = pod["securityContext"]["runAsUser"].as_i64().unwrap();
    assert!(read("Containerfile").contains(&format!("\nUSER {user}:{user}\n")));
    let node = compose_node();
    assert_eq!((&node["read_only"], &node["cap_drop"]), (&json!(true), &json!(["ALL"])));
    for key in ["NoNewPrivileges", "ProtectHome", "PrivateTmp", "PrivateDevices", "ProtectKernelTunables"] {
        assert_eq!(unit(key), ["yes"], "{key}");
    }
    assert_eq!(
        (unit("ProtectSystem"), unit("CapabilityBoundingSet")),
        (vec!["strict".into()], vec![String::new()])
    );
    // Every connection is a file.
    let defaults: toml::Table =
        std::fs::read_to_string(deploy("../yesgate.default.toml")).unwrap().parse().unwrap();
    let connections = defaults["serve"]["limits"]["connections"].as_integer().unwrap();
    assert!(unit("LimitNOFILE")[0].parse::<i64>().unwrap() > connections);
}

/// Where systemd is installed it says itself whether it knows every setting.
#[test]
fn systemd_knows_every_setting_of_the_unit() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("yesgate.service");
    let text = read("yesgate.service").replace("/usr/local/bin/yesgate", env!("CARGO_BIN_EXE_yesgate"));
    std::fs::write(&file, text).unwrap();
    let Ok(said) = Command::new("systemd-analyze").args(["verify", "--man=no"]).arg(&file).output() else {
        return;
    };
    let said = String::from_utf8_lossy(&said.stderr).into_owned();
    let of_ours: Vec<&str> = said.lines().filter(|line| line.contains("yesgate.service")).collect();
    assert!(of_ours.is_empty(), "{of_ours:#?}");
}

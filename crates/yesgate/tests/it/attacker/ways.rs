//! The ways that the attacker knows: shell commands, each of which must fail.
//!
//! A command is written so that it goes well exactly where the attack does.

use std::path::Path;

use yesgate_testkit::Stage;

/// Whom they are aimed at.
pub(super) struct Target<'a> {
    pub(super) stage: &'a Stage,
    /// The gateway's process, and that of the server behind it.
    pub(super) pid: u32,
    pub(super) server: u32,
    /// Where its pages are.
    pub(super) port: u16,
    /// The question that the agent wants a yes to.
    pub(super) intent: &'a str,
    /// A link that somebody signed in with.
    pub(super) used_link: &'a str,
    /// The terminal of somebody who decides.
    pub(super) terminal: &'a str,
    /// The agent's own key for calls, where it has one.
    pub(super) key: Option<&'a str>,
}

/// All of them, with what each is called.
pub(super) fn ways(target: &Target<'_>) -> Vec<(&'static str, String)> {
    let mut ways = files(target.stage);
    ways.extend(commands(target));
    ways.extend(processes(target));
    ways.extend(network(target));
    ways
}

/// The ledger, the keys, the configuration.
fn files(stage: &Stage) -> Vec<(&'static str, String)> {
    let home = stage.home();
    let file = |name: &str| home.join(name).display().to_string();
    let (ledger, key, plate, lock) =
        (file("ledger.db"), file("secret.key"), file("pages.json"), file("pages.lock"));
    let operator = stage.file("operator").display().to_string();
    let home = home.display();
    vec![
        ("list the home", format!("ls {home}")),
        ("read the ledger", format!("cat {ledger}")),
        ("write the ledger", format!("printf x >> {ledger}")),
        ("write the ledger's log", format!("printf x >> {ledger}-wal")),
        ("replace the ledger", format!("mv {ledger} {ledger}.old")),
        ("read the key", format!("cat {key}")),
        ("link to the key", format!("ln {key} ./key && cat ./key")),
        ("leave a link where a file will be", format!("ln -s /etc/passwd {home}/open-x.html")),
        ("read where the pages are", format!("cat {plate}")),
        ("say that the pages are elsewhere", format!("printf '{{}}' > {plate}")),
        ("take the seat of whoever serves", format!("flock -n {lock} true")),
        ("pretend to be a gate that lives", format!("touch {ledger}.boots/boot_x")),
        ("write the configuration", format!("printf 'shadow = true' >> {operator}/yesgate.toml")),
        ("swap the configuration", format!("ln -sfn /dev/null {operator}/yesgate.toml")),
        ("make the home one's own", format!("chmod 777 {home} || chown $(id -u) {home}")),
        ("watch the home", python(&format!("import os; os.scandir({:?}).__next__()", home.to_string()))),
    ]
}

/// What `yesgate` itself offers to whoever may open the ledger.
fn commands(target: &Target<'_>) -> Vec<(&'static str, String)> {
    let home = target.stage.home();
    let yesgate =
        |words: &str| format!("{} --home {} {words}", target.stage.program().display(), home.display());
    let intent = target.intent;
    let link = "people link owner";
    let library = target.stage.program().display().to_string();
    vec![
        ("list what waits", yesgate("pending")),
        ("say yes at the command line", yesgate(&format!("approve {intent} --yes"))),
        (
            "say yes with another library",
            format!("LD_PRELOAD={library} {}", yesgate(&format!("approve {intent} --yes"))),
        ),
        (
            "say yes as root of a namespace",
            format!("unshare -Ur {}", yesgate(&format!("approve {intent} --yes"))),
        ),
        ("settle it", yesgate(&format!("resolve {intent} --ran"))),
        ("open the inbox", yesgate("open --print")),
        ("make a sign-in link", yesgate(link)),
        ("add somebody", yesgate("people add eve --role owner")),
        (
            "enrol a key",
            format!("echo '{PUBLIC_KEY}' > ./id.pub && {}", yesgate("people add-key owner ./id.pub")),
        ),
        ("make a key for calls", yesgate("keys add --user eve")),
        ("lift a stop", yesgate("panic --lift")),
    ]
}

/// The processes of the gateway and of its server.
fn processes(target: &Target<'_>) -> Vec<(&'static str, String)> {
    let mut ways = Vec::new();
    for (pid, names) in [
        (
            target.pid,
            [
                "stop the gateway",
                "kill the gateway",
                "read its environment",
                "read its memory",
                "open its files",
                "trace it",
            ],
        ),
        (
            target.server,
            [
                "stop the server",
                "kill the server",
                "read the server's environment",
                "read its memory",
                "open its files",
                "trace it",
            ],
        ),
    ] {
        let [stop, kill, environment, memory, files, trace] = names;
        ways.extend([
            (stop, format!("kill -STOP {pid}")),
            (kill, format!("kill -9 {pid}")),
            (environment, format!("grep -q . /proc/{pid}/environ")),
            (memory, python(&format!("open('/proc/{pid}/mem', 'rb')"))),
            (files, format!("ls /proc/{pid}/fd/")),
            (
                trace,
                python(&format!(
                    "import ctypes, sys; sys.exit(ctypes.CDLL(None).ptrace(16, {pid}, 0, 0) != 0)"
                )),
            ),
        ]);
    }
    ways
}

/// The port and the pages behind it.
fn network(target: &Target<'_>) -> Vec<(&'static str, String)> {
    let port = target.port;
    let origin = format!("http://localhost:{port}");
    let code = target.used_link.rsplit_once('#').map_or("", |(_, code)| code);
    let request = |method: &str, path: &str, headers: &str, body: &str, well: &str| {
        python(&format!(
            "import http.client, sys\n\
             c = http.client.HTTPConnection('127.0.0.1', {port})\n\
             h = {{'Host': 'localhost:{port}', 'Origin': '{origin}', \
             'Content-Type': 'application/x-www-form-urlencoded', {headers}}}\n\
             c.request('{method}', '{path}', '{body}', h)\n\
             a = c.getresponse(); t = a.read().decode()\n\
             print(a.status, a.getheader('location'), t[:300])\n\
             sys.exit(0 if ({well}) else 1)"
        ))
    };
    let question = format!("/approve/{}", target.intent);
    let decided = "a.status in (200, 303) and 'sign-in' not in (a.getheader('location') or '')";
    let mut ways = vec![
        ("open the inbox", request("GET", "/", "", "", "a.status == 200")),
        ("open the question", request("GET", &question, "", "", "a.status == 200")),
        ("post a yes", request("POST", &question, "", "answer=approve", decided)),
        (
            "post a yes with a guessed session",
            request(
                "POST",
                &question,
                &format!("'Cookie': 'yesgate-{port}=ygs_guess'"),
                "answer=approve",
                decided,
            ),
        ),
        ("use a link again", request("POST", "/sign-in", "", &format!("code={code}"), "a.status == 303")),
        ("sign in without a link", request("POST", "/sign-in", "", "code=", "a.status == 303")),
        ("enrol a passkey", request("POST", "/keys/begin", "", "", "a.status == 200")),
        ("invite somebody", request("POST", "/people", "", "name=eve&role=owner", decided)),
        ("stop everything", request("POST", "/stop", "", "answer=stop", decided)),
        ("listen at the port", bind(port, "AF_INET", "127.0.0.1", "")),
        ("listen at the port, beside", bind(port, "AF_INET", "127.0.0.1", "SO_REUSEPORT")),
        ("listen at the port, again", bind(port, "AF_INET", "127.0.0.1", "SO_REUSEADDR")),
        ("listen at all addresses", bind(port, "AF_INET", "0.0.0.0", "SO_REUSEPORT")),
        ("write to the terminal of whoever decides", format!("printf y > {}", target.terminal)),
        (
            "type into the terminal of whoever decides",
            python(&format!(
                "import fcntl, os, termios\n\
                 fcntl.ioctl(os.open('{}', os.O_RDWR | os.O_NOCTTY), termios.TIOCSTI, b'y')",
                target.terminal
            )),
        ),
    ];
    if Path::new("/proc/net/if_inet6").exists() && has_ipv6_loopback() {
        ways.push(("listen where browsers look first", bind(port, "AF_INET6", "::1", "SO_REUSEPORT")));
    }
    if let Some(key) = target.key {
        let bearer = format!("'Authorization': 'Bearer {key}'");
        ways.push((
            "open the inbox with the agent's key",
            request("GET", "/", &bearer, "", "a.status == 200"),
        ));
        ways.push((
            "post a yes with the agent's key",
            request("POST", &question, &bearer, "answer=approve", decided),
        ));
    }
    ways
}

/// A key of the agent's own.
const PUBLIC_KEY: &str =
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAILM+rvN+ot98qgEN796jTiQfZfG1KaT0PtFDJ/XFSqti eve";

/// Those that the gateway's own account succeeds with, and that spoil nothing: where they fail, it is for want of
/// rights and not because they are wrong.
pub(super) const ITS_OWN: [&str; 17] = [
    "list the home",
    "read the ledger",
    "read the key",
    "link to the key",
    "read where the pages are",
    "watch the home",
    "list what waits",
    "make a sign-in link",
    "add somebody",
    "enrol a key",
    "make a key for calls",
    "read the server's environment",
    "read its environment",
    "open its files",
    "say yes at the command line",
    "pretend to be a gate that lives",
    "write to the terminal of whoever decides",
];

fn has_ipv6_loopback() -> bool {
    std::net::TcpListener::bind("[::1]:0").is_ok()
}

fn bind(port: u16, family: &str, address: &str, option: &str) -> String {
    let option = match option {
        "" => String::new(),
        option => format!("s.setsockopt(socket.SOL_SOCKET, socket.{option}, 1)\n"),
    };
    python(&format!(
        "import socket\ns = socket.socket(socket.{family})\n{option}s.bind(('{address}', {port})); s.listen()"
    ))
}

/// Tries to get a port until it has it, and says when it begins and when it ends.
pub(super) fn grab(port: &str) -> String {
    python(&format!(
        "import itertools, socket, time\n\
         print('trying', flush=True)\n\
         end = time.monotonic() + 60\n\
         for options in itertools.cycle([(), (2,), (15,), (2, 15)]):\n\
         \x20   s = socket.socket()\n\
         \x20   for option in options: s.setsockopt(socket.SOL_SOCKET, option, 1)\n\
         \x20   try:\n\
         \x20       s.bind(('127.0.0.1', {port})); s.listen()\n\
         \x20       print('got it', flush=True); break\n\
         \x20   except OSError: s.close()\n\
         \x20   if time.monotonic() > end: print('never', flush=True); break\n\
         \x20   time.sleep(0.0005)"
    ))
}

fn python(words: &str) -> String {
    format!("python3 - <<'END'\n{words}\nEND\n")
}

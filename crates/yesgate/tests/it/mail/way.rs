//! The ways that mail takes.

use serde_json::json;
use yesgate_testkit::{MailServer, ServeStage, eventually};

/// Mail over TLS, signed in: to a server that somebody trusted vouches for, and to no other.
#[tokio::test]
async fn mail_goes_over_tls_to_a_server_that_is_vouched_for_and_to_no_other() {
    let server = MailServer::that(json!({"tls": true, "user": "gate", "password": "hunter2"}));
    let stage = |trusted: bool, password: &str| {
        let stage = ServeStage::new(env!("CARGO_BIN_EXE_yesgate")).env("SMTP_PASSWORD", password);
        let stage = if trusted { stage.env("SSL_CERT_FILE", MailServer::certificate()) } else { stage };
        let mail = format!(
            "[mail]\nfrom = \"gate@example.org\"\nvia = \"smtps://localhost:{}\"\nuser = \"gate\"\npassword = \"${{SMTP_PASSWORD}}\"",
            server.port()
        );
        let config = format!("{mail}\n{}", stage.child("notes", &[]));
        stage.config(&config)
    };
    let doctor = |stage: &ServeStage| stage.stage().yesgate(&["doctor"]).stdout;
    let untrusted = doctor(&stage(false, "hunter2"));
    assert!(untrusted.contains("MEND  mail") && untrusted.contains("certificate"), "{untrusted}");
    let unknown = doctor(&stage(true, "wrong"));
    assert!(unknown.contains("MEND  mail") && unknown.contains("said 535"), "{unknown}");
    assert!(!unknown.contains("hunter2") && !unknown.contains("wrong"), "{unknown}");

    let stage = stage(true, "hunter2");
    assert!(doctor(&stage).contains("ok    mail"), "{}", doctor(&stage));
    stage.stage().yesgate(&["people", "add", "alice", "--mail", "alice@example.org"]).ok();
    let mut gateway = stage.start();
    gateway.visitor().post("/sign-in/mail", &[("mail", "alice@example.org")]).await;
    let mail = server.next();
    assert_eq!((mail.secure, mail.user.as_deref()), (true, Some("gate")));
    assert!(gateway.close().success());
    assert!(!gateway.stderr().contains("hunter2"));
}

/// For development: mail in a folder, which only its owner reads, and mail on stderr.
#[tokio::test]
async fn in_development_mail_is_a_file_or_stands_on_stderr() {
    use std::os::unix::fs::PermissionsExt as _;

    let folder = tempfile::tempdir().unwrap();
    let mails = folder.path().join("mails");
    for via in [mails.to_str().unwrap(), "console"] {
        let stage = ServeStage::new(env!("CARGO_BIN_EXE_yesgate"));
        let mail = format!("[mail]\nfrom = \"gate@example.org\"\nvia = \"{via}\"");
        let config = format!("{mail}\n{}", stage.child("notes", &[]));
        let stage = stage.config(&config);
        stage.stage().yesgate(&["people", "add", "alice", "--mail", "alice@example.org"]).ok();
        let mut gateway = stage.start();
        let browser = gateway.visitor();
        browser.post("/sign-in/mail", &[("mail", "alice@example.org")]).await;
        let text = eventually("a mail is there", async || {
            match via {
                "console" => {
                    let said = gateway.stderr();
                    said.split_once("----- mail to alice@example.org").map(|(_, mail)| mail.to_owned())
                }
                folder => {
                    let file = std::fs::read_dir(folder).ok()?.next()?.unwrap().path();
                    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
                    std::fs::read_to_string(file).ok()
                }
            }
            .filter(|text| text.contains("do nothing"))
        })
        .await;
        let code = text.split_whitespace().find_map(|word| word.split_once("/sign-in#")).unwrap().1;
        assert_eq!(browser.post("/sign-in", &[("code", code)]).await.status, 303);
        assert!(gateway.close().success());
    }
}

/// A password that is not there is said at the start.
#[test]
fn a_mail_server_without_its_password_is_no_start() {
    let stage = ServeStage::new(env!("CARGO_BIN_EXE_yesgate"));
    let mail =
        "[mail]\nfrom = \"a@b\"\nvia = \"smtps://localhost\"\nuser = \"u\"\npassword = \"${SMTP_PASSWORD}\"";
    let config = format!("{mail}\n{}", stage.child("notes", &[]));
    let ended = stage.config(&config).stage().yesgate(&["serve", "--listen", "127.0.0.1:0"]);
    assert_ne!(ended.code(), 0);
    assert!(ended.stderr.contains("`SMTP_PASSWORD` is not set"), "{}", ended.stderr);
}

//! Addresses of databases, good and bad.

use super::{AddressError, DatabaseAddress, Trust};

fn parse(text: &str) -> DatabaseAddress {
    text.parse().unwrap()
}

#[test]
fn a_password_is_never_printed() {
    let address = parse("postgres://ada:s3cret@db.example:5433/yesgate?sslmode=require");
    assert_eq!(address.to_string(), "postgres://ada@db.example:5433/yesgate");
    assert!(!format!("{address:?}").contains("s3cret"));
    let broken = "postgres://ada:s3cret@db.example:port/yesgate".parse::<DatabaseAddress>().unwrap_err();
    assert!(!format!("{broken} {broken:?}").contains("s3cret"));
}

#[test]
fn a_line_that_leaves_the_machine_is_verified_unless_somebody_says_otherwise() {
    let trust = |text: &str| parse(text).trust().clone();
    assert_eq!(trust("postgres://db.example/yesgate"), Trust::System);
    assert_eq!(trust("postgres://localhost/yesgate"), Trust::InClear);
    assert_eq!(trust("postgres://[::1]/yesgate"), Trust::InClear);
    assert_eq!(trust("postgres:///yesgate?host=/run/postgresql"), Trust::InClear);
    assert_eq!(trust("postgres://127.0.0.1,db.example/yesgate"), Trust::System);
    assert_eq!(trust("postgres://db.example/yesgate?sslmode=disable"), Trust::InClear);
    assert_eq!(trust("postgres://db.example/yesgate?sslmode=require"), Trust::Anybody);
    let with_file = "postgres://localhost/yesgate?sslmode=verify-full&sslrootcert=%2Fetc%2Froot.pem";
    assert_eq!(trust(with_file), Trust::File("/etc/root.pem".into()));
}

/// Several hosts, as libpq takes them: the one that can be written is meant.
#[test]
fn of_several_hosts_the_primary_is_meant() {
    for text in [
        "postgres://ada@one:5433,two:5434/yesgate",
        "postgres://ada@one:5433,two:5434/yesgate?target_session_attrs=read-write",
        "postgresql://ada@one:5433,two:5434/yesgate?target_session_attrs=primary&sslmode=verify-full",
        "postgres://ada@/yesgate?host=one,two&port=5433,5434",
    ] {
        assert_eq!(parse(text).to_string(), "postgres://ada@one:5433,two:5434/yesgate", "{text}");
    }
    let sockets = parse("postgres://ada@/yesgate?host=/run/one,/run/two");
    assert_eq!(sockets.to_string(), "postgres://ada@/run/one,/run/two/yesgate");
    for attributes in ["any", "read-only", "standby", "prefer-standby"] {
        let text = format!("postgres://one,two/yesgate?target_session_attrs={attributes}");
        let refused = text.parse::<DatabaseAddress>().unwrap_err();
        assert!(refused.to_string().ends_with("a ledger is kept on the primary only"), "{refused}");
    }
}

#[test]
fn what_is_not_understood_is_refused() {
    let error = |text: &str| text.parse::<DatabaseAddress>().unwrap_err();
    assert_eq!(error("/var/lib/ledger.db"), AddressError::NotAnAddress);
    assert_eq!(error("postgres://db/x?sslmode=prefer"), AddressError::Mode("prefer".to_owned()));
    assert!(error("postgres:///yesgate").to_string().ends_with("it names no host"));
    assert!(error("postgres://db/x?surprise=1").to_string().ends_with("a part of it has no meaning"));
    assert!(error("postgres://db/x?sslrootcert=root.pem").to_string().ends_with("`sslrootcert` is no path"));
}

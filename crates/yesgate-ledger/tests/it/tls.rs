//! The line to a real database that speaks TLS: who is believed, and who is not.

use serde_json::json;
use yesgate_ledger::LedgerError;
use yesgate_testkit::postgres::Cluster;
use yesgate_testkit::{DocumentServer, MailServer};

use crate::support::{At, Keeping, Place, assert_sound, keeping, open_at, open_question};

#[tokio::test]
async fn a_database_is_believed_if_the_authority_vouches_for_its_name() {
    if keeping() != Keeping::Postgres {
        return;
    }
    let place = Place::in_cluster(Cluster::own(&[]));
    let (name, port) =
        place.database(|database| (database.name().to_owned(), database.cluster().go_with_tls()));
    let (good, bad) = (DocumentServer::authority(), MailServer::certificate());
    let (good, bad) = (good.display(), bad.display());
    let tried = async |host: &str, query: &str| {
        let address = format!("postgres://yesgate@{host}:{port}/{name}?{query}");
        open_at(&At::Database(address), &place.clock, 1).await
    };
    for (host, query) in [
        ("localhost", format!("sslmode=verify-full&sslrootcert={good}")),
        ("127.0.0.1", format!("sslmode=verify-full&sslrootcert={good}")),
        ("127.0.0.1", format!("sslrootcert={good}")),
        ("localhost", format!("hostaddr=127.0.0.1&sslmode=verify-full&sslrootcert={good}")),
        // Nobody asks who answers.
        ("127.0.0.1", "sslmode=require".to_owned()),
        ("db.example", "hostaddr=127.0.0.1&sslmode=require".to_owned()),
    ] {
        let ledger = tried(host, &query).await.unwrap_or_else(|error| panic!("{host} {query}: {error}"));
        assert_sound(&ledger).await;
    }
    for (host, query) in [
        // Another authority, none at all, and another name than the certificate has.
        ("127.0.0.1", format!("sslmode=verify-full&sslrootcert={bad}")),
        ("127.0.0.1", "sslmode=verify-full".to_owned()),
        ("db.example", format!("hostaddr=127.0.0.1&sslmode=verify-full&sslrootcert={good}")),
        ("db.example", format!("hostaddr=127.0.0.1&sslrootcert={good}")),
        ("db.example", "hostaddr=127.0.0.1".to_owned()),
    ] {
        let refused = tried(host, &query).await.unwrap_err();
        let LedgerError::Unreachable(why) = &refused else { panic!("{host} {query}: {refused}") };
        assert!(why.contains("certificate"), "{host} {query}: {why}");
    }
    let ledger = tried("localhost", &format!("sslmode=verify-full&sslrootcert={good}")).await.unwrap();
    open_question(&ledger, 1, &json!({})).await;
}

/// A server that speaks no TLS is not spoken to in clear instead.
#[tokio::test]
async fn a_server_without_tls_is_not_spoken_to_in_clear() {
    if keeping() != Keeping::Postgres {
        return;
    }
    let place = Place::new();
    let At::Database(address) = &place.at else { panic!("no database") };
    for mode in ["require", "verify-full"] {
        let refused = open_at(&At::Database(format!("{address}&sslmode={mode}")), &place.clock, 1).await;
        assert!(matches!(refused.unwrap_err(), LedgerError::Unreachable(_)), "{mode}");
    }
}

//! Documents that a real server has, over TLS that a test authority vouches for.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use tokio::task::yield_now;
use yesgate_core::oauth::{OAuthClient, OAuthClientId};
use yesgate_core::policy;
use yesgate_testkit::DocumentServer;

use super::fault::DocumentFault;
use super::{AT_A_TIME, Documents, DocumentsError, Freshness, KNOWN_EACH, STRANGERS_PER_HOST};

/// A place where documents of this machine are taken.
fn documents() -> Documents {
    let policy = policy::Documents {
        on_this_machine: true,
        authorities: Some(DocumentServer::authority()),
        ..policy::Documents::default()
    };
    Documents::new(policy, &[]).unwrap()
}

fn document(url: &str) -> Value {
    json!({"client_id": url, "client_name": "Client", "redirect_uris": ["http://localhost/callback"]})
}

fn id(url: &str) -> OAuthClientId {
    url.parse().unwrap()
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::UNIX_EPOCH + SignedDuration::from_secs(seconds)
}

async fn fetch(documents: &Documents, url: &str) -> Result<OAuthClient, DocumentFault> {
    documents.client(&id(url), Freshness::Anew, at(0)).await
}

/// O-C1: a document at its address makes a client.
#[tokio::test]
async fn a_document_makes_a_client() {
    let server = DocumentServer::start();
    let url = server.url("/client.json");
    server.serves("/client.json", &document(&url));
    let client = fetch(&documents(), &url).await.unwrap();
    assert_eq!(client.presentation.name.as_deref(), Some("Client"));
    assert_eq!(client.id.as_str(), url);
    let host = format!("127.0.0.1:{}", server.port());
    assert_eq!(client.verified_host(), Some(host.as_str()));
}

/// O-C3: without the switch nothing on this machine is asked for anything, however it is named.
#[tokio::test]
async fn this_machine_is_out_of_reach() {
    let server = DocumentServer::start();
    let policy =
        policy::Documents { authorities: Some(DocumentServer::authority()), ..policy::Documents::default() };
    let documents = Documents::new(policy, &[]).unwrap();
    for host in
        ["127.0.0.1", "localhost", "[::1]", "10.0.0.1", "169.254.169.254", "[::ffff:127.0.0.1]", "[fd00::1]"]
    {
        let fault = fetch(&documents, &format!("https://{host}/client.json")).await.unwrap_err();
        assert_eq!(fault, DocumentFault::Unreachable, "{host}");
    }
    assert_eq!(fetch(&documents, &server.url("/client.json")).await, Err(DocumentFault::Address));
    assert_eq!(server.all_requests(), 0);
}

/// O-C3: whoever is not vouched for is asked nothing.
#[tokio::test]
async fn a_server_that_nobody_vouches_for_is_not_trusted() {
    let server = DocumentServer::start();
    let policy = policy::Documents { on_this_machine: true, ..policy::Documents::default() };
    let documents = Documents::new(policy, &[]).unwrap();
    assert_eq!(fetch(&documents, &server.url("/client.json")).await, Err(DocumentFault::Tls));
    assert_eq!(server.all_requests(), 0);
}

/// O-C1, O-C3: nothing but a small document of the right kind at the right address is taken, no redirect is followed, and
/// nothing that was fetched is repeated.
#[tokio::test]
async fn whatever_else_a_server_answers_is_refused() {
    let server = DocumentServer::start();
    let documents = documents();
    let url = server.url("/c");
    let body = document(&url).to_string();
    let length = body.len();
    let typed = |kind: &str| {
        format!("HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n{body}")
    };
    let redirect = |to: &str| format!("HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n");
    server.serves("/elsewhere", &document(&url));
    let long = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{{\"secret-of-theirs\":\"{}",
        "x".repeat(10 << 20)
    );
    let announced = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 10485760\r\n\r\n{";
    for (answer, expected) in [
        (redirect("http://169.254.169.254/latest/meta-data/"), DocumentFault::Status(302)),
        (redirect("/elsewhere"), DocumentFault::Status(302)),
        ("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n".to_owned(), DocumentFault::Status(404)),
        ("HTTP/1.1 204 No Content\r\n\r\n".to_owned(), DocumentFault::Status(204)),
        (typed("text/html"), DocumentFault::ContentType),
        (typed("text/plain; charset=application/json"), DocumentFault::ContentType),
        (typed("text/event-stream"), DocumentFault::ContentType),
        (format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{body}"), DocumentFault::ContentType),
        (long, DocumentFault::TooLarge),
        (announced.to_owned(), DocumentFault::TooLarge),
        ("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 18\r\n\r\n\"secret-of-theirs\"".to_owned(), DocumentFault::Unreadable),
        ("secret-of-theirs\r\n\r\n".to_owned(), DocumentFault::Unreachable),
    ] {
        server.says("/c", answer);
        let fault = fetch(&documents, &url).await.unwrap_err();
        assert_eq!(fault, expected);
        assert!(!fault.to_string().contains("secret-of-theirs"));
    }
    assert_eq!(server.requests("/elsewhere"), 0, "no redirect is followed");
    server.serves("/c", &document(&server.url("/other")));
    assert_eq!(fetch(&documents, &url).await, Err(DocumentFault::ClientId));
    server.says("/c", typed("Application/JSON; charset=utf-8"));
    assert!(fetch(&documents, &url).await.is_ok(), "none of the failures was kept");
}

/// O-C1, O-C3: a server that begins and does not end has ten seconds in all.
#[tokio::test]
async fn a_document_that_drips_is_too_slow() {
    let server = DocumentServer::start();
    let url = server.url("/slow");
    server
        .begins("/slow", "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{");
    let documents = documents();
    let fetching = tokio::spawn({
        let url = url.clone();
        let documents = documents.clone();
        async move { fetch(&documents, &url).await }
    });
    while server.requests("/slow") == 0 {
        yield_now().await;
    }
    tokio::time::pause();
    let began = tokio::time::Instant::now();
    assert_eq!(fetching.await.unwrap(), Err(DocumentFault::TooSlow));
    assert!(began.elapsed() <= Duration::from_secs(11));
}

/// O-C4: fetched anew where somebody is asked, unless its server said for how long it is good; kept for the rest.
#[tokio::test]
async fn a_document_is_fetched_anew_where_somebody_is_asked() {
    let server = DocumentServer::start();
    let documents = documents();
    let count = async |path: &str, freshness, seconds| {
        documents.client(&id(&server.url(path)), freshness, at(seconds)).await.unwrap();
        server.requests(path)
    };
    for (path, head) in [("/plain", ""), ("/none", "Cache-Control: no-store, max-age=60\r\n")] {
        server.serves_with(path, &document(&server.url(path)), head);
        assert_eq!(count(path, Freshness::Kept, 0).await, 1, "there was none");
        assert_eq!(count(path, Freshness::Anew, 0).await, 2);
        assert_eq!(count(path, Freshness::Anew, 1).await, 3);
        assert_eq!(count(path, Freshness::Kept, 24 * 3600).await, 3);
        assert_eq!(count(path, Freshness::Kept, 24 * 3600 + 1).await, 4, "for a day at most");
    }
    server.serves_with(
        "/kept",
        &document(&server.url("/kept")),
        "Cache-Control: public, max-age=60\r\nAge: 20\r\n",
    );
    assert_eq!(count("/kept", Freshness::Anew, 0).await, 1);
    assert_eq!(count("/kept", Freshness::Anew, 39).await, 1);
    assert_eq!(count("/kept", Freshness::Anew, 40).await, 2);
    let year = "Cache-Control: max-age=31536000\r\n";
    server.serves_with("/year", &document(&server.url("/year")), year);
    assert_eq!(count("/year", Freshness::Anew, 0).await, 1);
    assert_eq!(count("/year", Freshness::Anew, 24 * 3600 - 1).await, 1);
    assert_eq!(count("/year", Freshness::Anew, 24 * 3600).await, 2);
}

/// O-C4: a failure is not kept, and one that passes takes nothing away from those who are connected.
#[tokio::test]
async fn a_failure_is_not_kept() {
    let server = DocumentServer::start();
    let documents = documents();
    let url = server.url("/c");
    assert_eq!(fetch(&documents, &url).await, Err(DocumentFault::Status(404)));
    server.serves("/c", &document(&url));
    assert!(fetch(&documents, &url).await.is_ok());
    server.says("/c", "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n");
    assert_eq!(fetch(&documents, &url).await, Err(DocumentFault::Status(503)));
    let days = at(100 * 3600);
    assert!(documents.client(&id(&url), Freshness::Kept, days).await.is_ok(), "nobody is logged out by that");
    server.says("/c", "HTTP/1.1 410 Gone\r\nContent-Length: 0\r\n\r\n");
    let gone = documents.client(&id(&url), Freshness::Kept, days).await;
    assert_eq!(gone, Err(DocumentFault::Status(410)), "by that they are");
    server.says("/c", "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n");
    assert!(documents.client(&id(&url), Freshness::Kept, days).await.is_err(), "and it is forgotten");
}

/// O-C4: many who want one document at once have one fetch.
#[tokio::test]
async fn many_at_once_have_one_fetch() {
    let server = DocumentServer::start();
    let documents = documents();
    let url = server.url("/c");
    server.serves("/c", &document(&url));
    let all: Vec<_> = (0..50)
        .map(|_| {
            let (documents, url) = (documents.clone(), url.clone());
            tokio::spawn(async move { fetch(&documents, &url).await })
        })
        .collect();
    for one in all {
        assert!(one.await.unwrap().is_ok());
    }
    assert_eq!(server.requests("/c"), 1);
}

/// O-C4: strangers who ask for documents that are not there make us fetch so many from one host, and take nothing away from
/// a client that is known.
#[tokio::test]
async fn a_host_is_asked_for_so_much_and_no_more() {
    let server = DocumentServer::start();
    let documents = documents();
    let good = server.url("/good");
    server.serves("/good", &document(&good));
    assert!(fetch(&documents, &good).await.is_ok());
    for number in 1..STRANGERS_PER_HOST {
        let fault = fetch(&documents, &server.url(&format!("/{number}"))).await.unwrap_err();
        assert_eq!(fault, DocumentFault::Status(404), "{number}");
    }
    let before = server.all_requests();
    assert_eq!(fetch(&documents, &server.url("/more")).await, Err(DocumentFault::TooOften));
    assert_eq!(server.all_requests(), before);
    assert!(fetch(&documents, &good).await.is_ok());
    let later = documents.client(&id(&server.url("/more")), Freshness::Anew, at(60)).await;
    assert_eq!(later, Err(DocumentFault::Status(404)), "a minute later there is more");
}

/// O-C4, O-S8: whoever names clients that nobody knows where tokens are had, which is allowed often, takes nothing away from
/// people who are about to be asked about one: neither what is fetched in a minute nor what is fetched at a time.
#[tokio::test]
async fn strangers_without_a_person_take_nothing_from_those_with_one() {
    let server = DocumentServer::start();
    let documents = documents();
    let good = server.url("/good");
    server.serves("/good", &document(&good));
    let lookup = async |path: String| documents.client(&id(&server.url(&path)), Freshness::Kept, at(0)).await;
    for number in 0..STRANGERS_PER_HOST {
        assert_eq!(lookup(format!("/{number}")).await, Err(DocumentFault::Status(404)), "{number}");
    }
    assert_eq!(lookup("/more".to_owned()).await, Err(DocumentFault::TooOften));
    assert!(fetch(&documents, &good).await.is_ok());

    let slow: Vec<_> = (0..AT_A_TIME)
        .map(|number| {
            let path = format!("/slow/{number}");
            server.begins(&path, "HTTP/1.1 200 OK\r\n");
            // A minute apart, so that it is not the budget that ends it.
            let now = at(60 * (1 + i64::try_from(number).unwrap()));
            let (documents, id) = (documents.clone(), id(&server.url(&path)));
            tokio::spawn(async move { documents.client(&id, Freshness::Kept, now).await })
        })
        .collect();
    while server.all_requests() < 21 + AT_A_TIME {
        yield_now().await;
    }
    let asked = documents.client(&id(&good), Freshness::Anew, at(1_000_000)).await;
    assert!(asked.is_ok(), "{asked:?}");
    slow.iter().for_each(tokio::task::JoinHandle::abort);
}

/// O-C4, O-S8: whoever has one document fetched as often as that is allowed keeps nobody from being asked about its client:
/// what came within the minute will do then, and nothing older.
#[tokio::test]
async fn a_document_that_was_fetched_too_often_is_as_good_as_it_was_a_moment_ago() {
    let server = DocumentServer::start();
    let documents = documents();
    let url = server.url("/c");
    server.serves("/c", &document(&url));
    let fetched = usize::try_from(KNOWN_EACH).unwrap() + 1;
    for _ in 0..fetched + 10 {
        assert!(fetch(&documents, &url).await.is_ok());
    }
    assert_eq!(server.requests("/c"), fetched);
    // What is fetched and fails spends as much, and leaves only what is old.
    server.says("/c", "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n");
    let later = async || documents.client(&id(&url), Freshness::Anew, at(60)).await;
    for _ in 0..KNOWN_EACH {
        assert_eq!(later().await, Err(DocumentFault::Status(503)));
    }
    assert_eq!(later().await, Err(DocumentFault::TooOften));
}

#[test]
fn authorities_that_cannot_be_read_are_found_at_the_start() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("authorities.pem");
    let new = || {
        let policy = policy::Documents { authorities: Some(file.clone()), ..policy::Documents::default() };
        Documents::new(policy, &[]).unwrap_err()
    };
    let missing = new();
    assert!(missing.to_string().contains("authorities.pem"), "{missing}");
    std::fs::write(&file, "no certificate").unwrap();
    let DocumentsError::Authorities(..) = new() else { panic!("it is no certificate") };
}

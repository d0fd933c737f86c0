//! One seat, one plate, and reigns that end when nobody kept the port.

use yesgate_core::id::BootId;
use yesgate_core::policy::PagesConfig;

use super::{Office, Plate, Sight};
use crate::home::Home;

fn office() -> (tempfile::TempDir, Office) {
    let folder = tempfile::tempdir().unwrap();
    let office = Office::of(&Home::find(Some(folder.path().to_owned())).unwrap());
    (folder, office)
}

fn boot(seed: u8) -> BootId {
    BootId::from_entropy([seed; 32])
}

/// The seat is one, and whoever waits for it sleeps until it is free.
#[tokio::test]
async fn one_process_has_the_seat_and_the_next_one_gets_it() {
    let (_folder, office) = office();
    assert_eq!(office.look().unwrap(), Sight::Free);
    let seat = office.try_take().unwrap().unwrap();
    assert!(office.try_take().unwrap().is_none());
    assert_eq!(office.look().unwrap(), Sight::Taken(Plate::default()));
    let next = tokio::spawn({
        let office = office.clone();
        async move { office.wait().await }
    });
    drop(seat);
    let _seat = next.await.unwrap().unwrap();
    assert!(office.try_take().unwrap().is_none());
}

/// Who kept the port with the one who served goes on with its reign; who did not begins another.
#[tokio::test]
async fn a_reign_goes_on_only_where_the_port_was_kept() {
    let (_folder, office) = office();
    assert!(office.keep().await.is_none(), "nobody serves");
    let first = office.begin(&PagesConfig::default(), &boot(1)).unwrap();
    let (port, kept) = office.keep().await.unwrap();
    assert_eq!((office.plate().origin, office.plate().kept.unwrap()), (Some(first.origin), kept.clone()));
    drop(first.listening);
    assert!(office.keep().await.is_none(), "nobody serves any more");
    let second = office.reign_on(port, kept.clone()).unwrap();
    assert_eq!(second.reign, boot(1));
    drop(second);
    let third = office.begin(&PagesConfig::default(), &boot(3)).unwrap();
    assert_eq!(third.reign, boot(3));
    assert_eq!(office.plate().kept.unwrap().port, kept.port, "browsers know the port");
}

/// Where the only port that will do is somebody else's, there are no pages, and the plate says so.
#[tokio::test]
async fn a_busy_port_is_an_error_that_names_it() {
    let (_folder, office) = office();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let config = PagesConfig { port: Some(port), ..PagesConfig::default() };
    let error = office.begin(&config, &boot(1)).unwrap_err();
    assert!(error.to_string().contains(&format!("port {port}")), "{error}");
    assert_eq!(office.plate().origin, None);
}

/// A plate that somebody spoilt says nothing.
#[test]
fn a_plate_that_cannot_be_read_says_nothing() {
    let (folder, office) = office();
    for spoilt in ["", "{", "[]", "{\"origin\": 1}", "{\"origin\": \"http://localhost:1\", \"more\": 1}"] {
        std::fs::write(folder.path().join("pages.json"), spoilt).unwrap();
        assert_eq!(office.plate(), Plate::default(), "{spoilt}");
    }
}

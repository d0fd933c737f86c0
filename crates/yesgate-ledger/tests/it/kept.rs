//! Sealed secrets that are kept for others.

use crate::support::{Place, assert_sound};

/// What is kept comes back as it was, survives a restart, is replaced whole, and is gone when it is forgotten.
#[tokio::test]
async fn what_is_kept_comes_back_as_it_was() {
    let place = Place::new();
    let ledger = place.open(1).await;
    let other = place.open(2).await;
    let sealed: Vec<u8> = (0..=255).collect();
    assert_eq!(ledger.kept("token/github").await.unwrap(), None);
    ledger.keep("token/github", vec![1]).await.unwrap();
    ledger.keep("token/github", sealed.clone()).await.unwrap();
    ledger.keep("token/mail", Vec::new()).await.unwrap();
    assert_eq!(other.kept("token/github").await.unwrap(), Some(sealed.clone()));
    drop((ledger, other));

    let ledger = place.open(3).await;
    assert_eq!(ledger.kept("token/github").await.unwrap(), Some(sealed));
    assert_eq!(ledger.kept("token/mail").await.unwrap(), Some(Vec::new()));
    ledger.forget("token/github").await.unwrap();
    ledger.forget("token/github").await.unwrap();
    assert_eq!(ledger.kept("token/github").await.unwrap(), None);
    assert!(ledger.audit(1, 10).await.unwrap().is_empty(), "secrets come and go without rows");
    assert_sound(&ledger).await;
}

//! When a link that could not be made is tried again.

use super::*;

/// Tries to connect with this outcome; tells whether it was tried at all.
async fn is_tried(slot: &Slot, outcome: fn(String) -> NoLink) -> bool {
    let mut tried = false;
    let connect = || {
        tried = true;
        std::future::ready(Err(outcome("it is not to be had".into())))
    };
    assert_eq!(slot.connect(connect).await.unwrap_err(), "it is not to be had");
    tried
}

#[tokio::test(start_paused = true)]
async fn a_server_that_cannot_be_reached_is_left_alone_for_longer_each_time() {
    let slot = Slot::default();
    for pause in [500, 1000, 2000] {
        assert!(is_tried(&slot, NoLink::Later).await);
        tokio::time::advance(Duration::from_millis(pause - 1)).await;
        assert!(!is_tried(&slot, NoLink::Later).await, "{pause}");
        tokio::time::advance(Duration::from_millis(1)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_wants_a_sign_in_is_tried_again_as_soon_as_somebody_may_have_signed_in() {
    let slot = Slot::default();
    for _ in 0..3 {
        assert!(is_tried(&slot, NoLink::NoCredentials).await);
    }
    assert!(is_tried(&slot, NoLink::Later).await);
    assert!(!is_tried(&slot, NoLink::Later).await, "what may pass by itself still gets its pause");
}

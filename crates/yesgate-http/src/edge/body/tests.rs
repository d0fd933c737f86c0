//! Streams that somebody else ends, and what is not one.

use std::pin::Pin;

use bytes::Bytes;
use http_body::Body as _;
use tokio::sync::{mpsc, oneshot};

use super::Body;

async fn next(body: &mut Body) -> Option<Bytes> {
    std::future::poll_fn(|context| Pin::new(&mut *body).poll_frame(context))
        .await
        .and_then(Result::ok)
        .and_then(|frame| frame.into_data().ok())
}

/// O-V2: a stream ends with what it was bound to, whatever there is still to say, and whoever says it sees that.
#[tokio::test]
async fn a_stream_is_cut_and_its_senders_see_it() {
    let (sender, pieces) = mpsc::channel(4);
    let (end, ended) = oneshot::channel::<()>();
    let mut body = Body::stream(pieces).until(async move {
        let _told = ended.await;
    });
    sender.send(Bytes::from_static(b"one")).await.unwrap();
    assert_eq!(next(&mut body).await.as_deref(), Some(b"one".as_slice()));
    sender.send(Bytes::from_static(b"two")).await.unwrap();
    end.send(()).unwrap();
    assert_eq!(next(&mut body).await, None);
    assert_eq!(next(&mut body).await, None);
    assert!(sender.is_closed());
}

#[tokio::test]
async fn what_is_known_in_advance_is_sent_whole() {
    let mut body = Body::whole("all of it").until(async {});
    assert_eq!(body.size_hint().exact(), Some(9));
    assert_eq!(next(&mut body).await.as_deref(), Some(b"all of it".as_slice()));
    assert_eq!(next(&mut body).await, None);
}

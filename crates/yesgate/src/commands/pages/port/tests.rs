//! A port has one listener at a time and never none in between: shown on the machine's real sockets.

use std::io::ErrorKind;

use super::Port;

#[tokio::test]
async fn a_port_is_taken_once_and_kept_by_many() {
    let first = Port::take(0).unwrap();
    let number = first.number();
    let listening = first.listen().unwrap();
    assert_eq!(Port::take(number).unwrap_err().kind(), ErrorKind::AddrInUse, "it has somebody");
    let (second, third) = (Port::keep(number).unwrap(), Port::keep(number).unwrap());
    assert!(second.is_listened_at().await);
    drop(listening);
    assert!(!second.is_listened_at().await, "who only keeps it does not answer");
    let listening = second.listen().unwrap();
    assert!(third.is_listened_at().await);
    assert_eq!(listening.listener.local_addr().unwrap().port(), number);
}

/// Another home of the same account that starts in the same moment goes elsewhere.
#[tokio::test]
async fn of_two_that_take_a_port_at_once_one_listens() {
    let first = Port::take(0).unwrap();
    let number = first.number();
    let Ok(second) = Port::take(number) else { return };
    let _listening = first.listen().unwrap();
    assert_eq!(second.listen().unwrap_err().kind(), ErrorKind::AddrInUse);
}

/// What connections left behind does not keep the next gate from the port that browsers know.
#[tokio::test]
async fn a_port_can_be_taken_again_at_once() {
    let mut number = 0;
    for _ in 0..3 {
        let port = Port::take(number).unwrap();
        number = port.number();
        let listening = port.listen().unwrap();
        let browser = tokio::net::TcpStream::connect(("127.0.0.1", number)).await.unwrap();
        let (ours, _) = listening.listener.accept().await.unwrap();
        // Whoever closes first is left with the connection's trace: here that is us.
        drop(ours);
        drop(browser);
    }
}

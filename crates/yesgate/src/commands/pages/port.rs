//! The port of the local pages: one gate listens at it, and the others keep it for the moment when that one ends.
//!
//! INVARIANT: from the first gate that took the port to the last that kept it, no other account of this machine can
//! listen there: open pages would send it their cookies. A socket that is bound and does not listen is enough for
//! that, and the system lets only processes of the same account bind beside it (`SO_REUSEPORT`).
//!
//! `localhost` is `[::1]` too, and browsers try that first, so that port is kept as well, and nobody listens at it.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use rustix::net::sockopt::{set_socket_reuseaddr, set_socket_reuseport};
use tokio::net::{TcpListener, TcpSocket, TcpStream};

/// A port that is ours. Dropped, it is given up.
#[derive(Debug)]
pub(in crate::commands) struct Port {
    socket: TcpSocket,
    number: u16,
    other_half: Option<TcpSocket>,
    holding: Holding,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Holding {
    Alone,
    BesideOthers,
}

/// The listener of a port, and what keeps its other half.
#[derive(Debug)]
pub(in crate::commands) struct Listening {
    pub(in crate::commands) listener: TcpListener,
    _other_half: Option<TcpSocket>,
}

impl Port {
    /// Takes a port that nobody has, this account's other gates included; 0 is any such port.
    pub(in crate::commands) fn take(number: u16) -> io::Result<Self> {
        let socket = TcpSocket::new_v4()?;
        // What connections of an earlier gate left behind does not count as having it.
        socket.set_reuseaddr(true)?;
        socket.bind((Ipv4Addr::LOCALHOST, number).into())?;
        Self::whole(socket, Holding::Alone)
    }

    /// Keeps a port beside the gates of this account that have it.
    pub(in crate::commands) fn keep(number: u16) -> io::Result<Self> {
        let socket = TcpSocket::new_v4()?;
        socket.set_reuseport(true)?;
        socket.bind((Ipv4Addr::LOCALHOST, number).into())?;
        Self::whole(socket, Holding::BesideOthers)
    }

    fn whole(socket: TcpSocket, holding: Holding) -> io::Result<Self> {
        let number = socket.local_addr()?.port();
        Ok(Self { socket, number, other_half: keep_other_half(number)?, holding })
    }

    /// Its number.
    pub(in crate::commands) const fn number(&self) -> u16 {
        self.number
    }

    /// Listens. Of two that took a port alone at the same time, the second fails here.
    pub(in crate::commands) fn listen(self) -> io::Result<Listening> {
        let listener = self.socket.listen(BACKLOG)?;
        match self.holding {
            // From here on others may keep it with us.
            Holding::Alone => set_socket_reuseport(&listener, true)?,
            // What our connections leave behind is to hold up nobody who takes the port after the last of us.
            Holding::BesideOthers => set_socket_reuseaddr(&listener, true)?,
        }
        Ok(Listening { listener, _other_half: self.other_half })
    }

    /// Whether somebody listens at it now. That is a gate of this account: nobody else can.
    pub(in crate::commands) async fn is_listened_at(&self) -> bool {
        TcpStream::connect((Ipv4Addr::LOCALHOST, self.number)).await.is_ok()
    }
}

/// Keeps the same port at `[::1]`, where this machine has that.
///
/// # Errors
/// When another account has it.
pub(in crate::commands) fn keep_other_half(number: u16) -> io::Result<Option<TcpSocket>> {
    let Ok(socket) = TcpSocket::new_v6() else { return Ok(None) };
    socket.set_reuseport(true)?;
    match socket.bind(SocketAddr::from((Ipv6Addr::LOCALHOST, number))) {
        Ok(()) => Ok(Some(socket)),
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => Err(error),
        // There is no such address here, so nobody else can have it either.
        Err(_) => Ok(None),
    }
}

/// How many browsers may wait to be heard.
const BACKLOG: u32 = 64;

#[cfg(test)]
mod tests;

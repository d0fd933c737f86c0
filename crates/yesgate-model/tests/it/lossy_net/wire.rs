//! One line of JSON there and one back, within a time.

use std::io;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::time::timeout;
use turmoil::net::{TcpListener, TcpStream};

/// Everybody listens here.
pub(crate) const PORT: u16 = 4000;

/// What became of a request.
#[derive(Debug)]
pub(crate) enum Heard<T> {
    /// It was answered.
    Answer(T),
    /// It was never sent: nobody took the connection.
    NotSent,
    /// It was sent, and whether it arrived is not known.
    Silence,
}

/// Asks a host, and waits so long for its answer.
pub(crate) async fn ask<Q: Serialize, A: DeserializeOwned>(
    host: &str,
    question: &Q,
    patience: Duration,
) -> Heard<A> {
    let Ok(Ok(stream)) = timeout(patience, TcpStream::connect((host, PORT))).await else {
        return Heard::NotSent;
    };
    match timeout(patience, exchange(stream, question)).await {
        Ok(Ok(answer)) => Heard::Answer(answer),
        Ok(Err(_)) | Err(_) => Heard::Silence,
    }
}

async fn exchange<Q: Serialize, A: DeserializeOwned>(mut stream: TcpStream, question: &Q) -> io::Result<A> {
    write(&mut stream, question).await?;
    read(&mut stream).await
}

pub(crate) async fn write<T: Serialize>(stream: &mut TcpStream, value: &T) -> io::Result<()> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    stream.write_all(&line).await
}

pub(crate) async fn read<T: DeserializeOwned>(stream: &mut TcpStream) -> io::Result<T> {
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).await?;
    Ok(serde_json::from_str(&line)?)
}

pub(crate) async fn listen() -> io::Result<TcpListener> {
    TcpListener::bind(("0.0.0.0", PORT)).await
}

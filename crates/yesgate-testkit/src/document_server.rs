//! A server of clients' metadata documents on a loopback port, over TLS that a test authority vouches for. It counts who
//! comes, and answers as badly as a test wants.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, Stream};
use serde_json::Value;

/// A server. What it serves is set path by path; anything else is not found.
#[derive(Debug)]
pub struct DocumentServer {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    answers: BTreeMap<String, Answer>,
    requests: Vec<String>,
}

#[derive(Clone, Debug)]
enum Answer {
    /// These bytes, and the end.
    Whole(Vec<u8>),
    /// These bytes, and silence until the client goes.
    Beginning(Vec<u8>),
}

impl DocumentServer {
    /// Starts one on a free port.
    ///
    /// # Panics
    /// When there is none.
    pub fn start() -> Self {
        let pem = |bytes: &[u8]| CertificateDer::from_pem_slice(bytes).expect("a certificate");
        let key = PrivateKeyDer::from_pem_slice(include_bytes!("document_server/server-key.pem"));
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("there are protocol versions")
            .with_no_client_auth()
            .with_single_cert(vec![pem(include_bytes!("document_server/server.pem"))], key.expect("a key"))
            .expect("the key is that of the certificate");
        let config = Arc::new(config);
        let listener = TcpListener::bind("127.0.0.1:0").expect("there is a free port");
        let address = listener.local_addr().expect("a listener has an address");
        let state = Arc::new(Mutex::new(State::default()));
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for socket in listener.incoming().flatten() {
                let (config, state) = (Arc::clone(&config), Arc::clone(&shared));
                // A client that goes away in the middle is none of our business.
                thread::spawn(move || serve(socket, config, &state).ok());
            }
        });
        Self { address, state }
    }

    /// The file with the certificate of the authority that vouches for it.
    pub fn authority() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("src/document_server/authority.pem")
    }

    /// The address of a path.
    pub fn url(&self, path: &str) -> String {
        format!("https://{}{path}", self.address)
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// Serves a document at a path, with these lines in its head.
    pub fn serves_with(&self, path: &str, document: &Value, head: &str) {
        let body = document.to_string();
        let length = body.len();
        self.says(
            path,
            format!(
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n{head}Content-Length: {length}\r\n\r\n{body}"
            ),
        );
    }

    /// Serves a document at a path.
    pub fn serves(&self, path: &str, document: &Value) {
        self.serves_with(path, document, "");
    }

    /// Says these bytes to whoever asks for a path, and closes.
    pub fn says(&self, path: &str, answer: impl Into<Vec<u8>>) {
        lock(&self.state).answers.insert(path.to_owned(), Answer::Whole(answer.into()));
    }

    /// Says these bytes to whoever asks for a path, and then nothing for ever.
    pub fn begins(&self, path: &str, answer: impl Into<Vec<u8>>) {
        lock(&self.state).answers.insert(path.to_owned(), Answer::Beginning(answer.into()));
    }

    /// How often a path was asked for.
    pub fn requests(&self, path: &str) -> usize {
        lock(&self.state).requests.iter().filter(|asked| *asked == path).count()
    }

    /// How often anything was asked for.
    pub fn all_requests(&self) -> usize {
        lock(&self.state).requests.len()
    }
}

fn serve(mut socket: TcpStream, config: Arc<ServerConfig>, state: &Mutex<State>) -> std::io::Result<()> {
    let mut connection = ServerConnection::new(config).map_err(std::io::Error::other)?;
    let mut stream = Stream::new(&mut connection, &mut socket);
    let mut read = Vec::new();
    let mut more = [0; 4096];
    while !read.ends_with(b"\r\n\r\n") {
        match stream.read(&mut more)? {
            0 => return Ok(()),
            length => read.extend_from_slice(&more[..length]),
        }
    }
    let text = String::from_utf8_lossy(&read).into_owned();
    let path = text.split(' ').nth(1).unwrap_or_default().to_owned();
    let answer = lock(state).answers.get(&path).cloned();
    let not_found = || Answer::Whole(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n".to_vec());
    let answer = answer.unwrap_or_else(not_found);
    let (Answer::Whole(bytes) | Answer::Beginning(bytes)) = &answer;
    // Counted and on its way at the same moment for whoever looks: who waits for the count waits for the answer too, and
    // who has the answer finds it counted. A large one may never be taken whole.
    let head = bytes.len().min(1024);
    let mut counted = lock(state);
    stream.write_all(&bytes[..head])?;
    stream.flush()?;
    counted.requests.push(path);
    drop(counted);
    stream.write_all(&bytes[head..])?;
    stream.flush()?;
    match answer {
        Answer::Whole(_) => stream.conn.send_close_notify(),
        Answer::Beginning(_) => while stream.read(&mut more)? > 0 {},
    }
    stream.flush()
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

//! TLS on the way to the database.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use rustls_platform_verifier::BuilderVerifierExt as _;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::Socket;
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream as Encrypted;

use super::address::{DatabaseAddress, Trust};
use crate::error::LedgerError;

/// What makes a line an encrypted one. `None`: it stays in clear.
#[derive(Clone)]
pub(super) struct Tls(Option<TlsConnector>);

impl Tls {
    /// As an address asks for it.
    pub(super) fn of(address: &DatabaseAddress) -> Result<Self, LedgerError> {
        let provider = Arc::new(ring::default_provider());
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(untrusted)?;
        let config = match address.trust() {
            Trust::InClear => return Ok(Self(None)),
            Trust::Anybody => builder
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(Anybody(provider)))
                .with_no_client_auth(),
            Trust::System => builder.with_platform_verifier().map_err(untrusted)?.with_no_client_auth(),
            Trust::File(path) => {
                let mut roots = RootCertStore::empty();
                for root in CertificateDer::pem_file_iter(path).map_err(untrusted)? {
                    roots.add(root.map_err(untrusted)?).map_err(untrusted)?;
                }
                builder.with_root_certificates(roots).with_no_client_auth()
            }
        };
        Ok(Self(Some(TlsConnector::from(Arc::new(config)))))
    }
}

fn untrusted(problem: impl std::fmt::Display) -> LedgerError {
    LedgerError::Store(format!("its line cannot be secured: {problem}"))
}

impl MakeTlsConnect<Socket> for Tls {
    type Stream = Line;
    type TlsConnect = Handshake;
    type Error = io::Error;

    fn make_tls_connect(&mut self, domain: &str) -> io::Result<Handshake> {
        let name = ServerName::try_from(domain.to_owned()).ok();
        Ok(Handshake { connector: self.0.clone(), name })
    }
}

/// A line that is about to be encrypted.
pub(super) struct Handshake {
    connector: Option<TlsConnector>,
    name: Option<ServerName<'static>>,
}

impl TlsConnect<Socket> for Handshake {
    type Stream = Line;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Line>> + Send>>;

    fn connect(self, socket: Socket) -> Self::Future {
        Box::pin(async move {
            match (self.connector, self.name) {
                (Some(connector), Some(name)) => Ok(Line(Box::new(connector.connect(name, socket).await?))),
                (_, _) => Err(io::Error::other("there is no name to verify")),
            }
        })
    }
}

/// An encrypted line.
pub(super) struct Line(Box<Encrypted<Socket>>);

impl TlsStream for Line {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl AsyncRead for Line {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0).poll_read(context, into)
    }
}

impl AsyncWrite for Line {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut *self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0).poll_shutdown(context)
    }
}

/// Believes anybody that they are the database, as `sslmode=require` asks for: against those who only listen.
#[derive(Debug)]
struct Anybody(Arc<CryptoProvider>);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

//! Encryption of connections to PostgreSQL. Certificates and keys are read anew for each connection, so that files that
//! were renewed are used without a restart.

use std::future::Future;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use sha2::{Digest, Sha256, Sha384, Sha512};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream as Encrypted;
use tokio_rustls::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use tokio_rustls::rustls::client::verify_server_cert_signed_by_trust_anchor;
use tokio_rustls::rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use tokio_rustls::rustls::server::ParsedCertificate;
use tokio_rustls::rustls::{ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

/// The authorities that a connection trusts, and the certificate that it shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Encryption {
    pub(super) verification: Verification,
    /// Files with the certificate and the key of the client.
    pub(super) identity: Option<(PathBuf, PathBuf)>,
}

/// Checks of the server's certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verification {
    /// Only that the server has the certificate's key.
    None,
    /// That an authority has signed it.
    Chain(Roots),
    /// The same, and that it is for the host's name.
    ChainAndName(Roots),
}

/// The authorities that are trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Roots {
    System,
    File(PathBuf),
}

impl Encryption {
    /// The settings for one connection. Reads files.
    ///
    /// # Errors
    /// A sentence that names the file that cannot be used.
    pub(super) fn client_config(&self) -> Result<ClientConfig, String> {
        let provider = Arc::new(ring::default_provider());
        let failed = |error: Error| error.to_string();
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(failed)?;
        let builder = match &self.verification {
            Verification::ChainAndName(roots) => builder.with_root_certificates(roots.read()?),
            Verification::Chain(roots) => {
                let verifier = Lenient { provider, roots: Some(roots.read()?) };
                builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier))
            }
            Verification::None => {
                let verifier = Lenient { provider, roots: None };
                builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier))
            }
        };
        let Some((certificate, key)) = &self.identity else { return Ok(builder.with_no_client_auth()) };
        let chain = certificates("sslcert", certificate)?;
        let secret = PrivateKeyDer::from_pem_file(key).map_err(unusable("sslkey", key))?;
        builder.with_client_auth_cert(chain, secret).map_err(unusable("sslkey", key))
    }
}

impl Roots {
    fn read(&self) -> Result<RootCertStore, String> {
        let mut store = RootCertStore::empty();
        match self {
            Self::File(path) => {
                for certificate in certificates("sslrootcert", path)? {
                    store.add(certificate).map_err(unusable("sslrootcert", path))?;
                }
            }
            Self::System => {
                store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
                if store.is_empty() {
                    return Err("this system knows no authorities: name a file of them in sslrootcert".to_owned());
                }
            }
        }
        Ok(store)
    }
}

fn certificates(parameter: &str, path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let read = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let found = read.map_err(unusable(parameter, path))?;
    if found.is_empty() {
        return Err(format!("{parameter} {} holds no certificate", path.display()));
    }
    Ok(found)
}

fn unusable<E: std::fmt::Display>(parameter: &str, path: &Path) -> impl FnOnce(E) -> String {
    move |error| format!("{parameter} {} cannot be used: {error}", path.display())
}

/// Checks that an authority has signed the certificate, if there are roots, and never the name.
#[derive(Debug)]
struct Lenient {
    provider: Arc<CryptoProvider>,
    roots: Option<RootCertStore>,
}

impl ServerCertVerifier for Lenient {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if let Some(roots) = &self.roots {
            let certificate = ParsedCertificate::try_from(end_entity)?;
            let algorithms = self.provider.signature_verification_algorithms.all;
            verify_server_cert_signed_by_trust_anchor(&certificate, roots, intermediates, now, algorithms)?;
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// Encrypts the connections of one attempt to connect.
#[derive(Clone)]
pub(super) struct Encrypting {
    pub(super) config: Arc<ClientConfig>,
    /// Set when the server has agreed to encrypt.
    pub(super) has_begun: Arc<AtomicBool>,
}

/// Encrypts one connection to this host.
pub(super) struct EncryptingOne {
    connector: TlsConnector,
    host: ServerName<'static>,
    has_begun: Arc<AtomicBool>,
}

impl<S: AsyncRead + AsyncWrite + Send + Unpin + 'static> MakeTlsConnect<S> for Encrypting {
    type Stream = EncryptedStream<S>;
    type TlsConnect = EncryptingOne;
    type Error = io::Error;

    fn make_tls_connect(&mut self, host: &str) -> io::Result<EncryptingOne> {
        let host = ServerName::try_from(host.to_owned())
            .map_err(|_| io::Error::other("the host's name cannot stand in a certificate"))?;
        let connector = TlsConnector::from(Arc::clone(&self.config));
        Ok(EncryptingOne { connector, host, has_begun: Arc::clone(&self.has_begun) })
    }
}

impl<S: AsyncRead + AsyncWrite + Send + Unpin + 'static> TlsConnect<S> for EncryptingOne {
    type Stream = EncryptedStream<S>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<EncryptedStream<S>>> + Send>>;

    fn connect(self, stream: S) -> Self::Future {
        self.has_begun.store(true, Ordering::Relaxed);
        Box::pin(async move { Ok(EncryptedStream(Box::new(self.connector.connect(self.host, stream).await?))) })
    }
}

/// An encrypted connection.
pub(super) struct EncryptedStream<S>(Box<Encrypted<S>>);

impl<S: AsyncRead + AsyncWrite + Unpin> TlsStream for EncryptedStream<S> {
    fn channel_binding(&self) -> ChannelBinding {
        let certificates = self.0.get_ref().1.peer_certificates();
        let digest = certificates.and_then(|chain| chain.first()).and_then(|first| end_point(first));
        digest.map_or_else(ChannelBinding::none, ChannelBinding::tls_server_end_point)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for EncryptedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0).poll_read(context, buffer)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for EncryptedStream<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut *self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0).poll_shutdown(context)
    }
}

/// The digest of a certificate that binds a login to the connection (RFC 5929, `tls-server-end-point`): by the hash of
/// the certificate's signature, with SHA-256 in place of weaker ones. `None` if the signature names no hash.
fn end_point(certificate: &[u8]) -> Option<Vec<u8>> {
    // The numbers of `ecdsa-with-SHA…` and `sha…WithRSAEncryption`, without the last.
    const ECDSA: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03];
    const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01];
    let (signed, _) = element(certificate)?;
    let (_, behind) = element(signed)?;
    let (algorithm, _) = element(behind)?;
    let (number, _) = element(algorithm)?;
    let (last, begin) = number.split_last()?;
    Some(match (begin, last) {
        (RSA, 4 | 5 | 11) | (ECDSA, 1 | 2) => Sha256::digest(certificate).to_vec(),
        (RSA, 12) | (ECDSA, 3) => Sha384::digest(certificate).to_vec(),
        (RSA, 13) | (ECDSA, 4) => Sha512::digest(certificate).to_vec(),
        _ => return None,
    })
}

/// The content of the first element in DER, and the bytes behind the element.
pub(super) fn element(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = match bytes.get(1..)? {
        [short @ 0..0x80, rest @ ..] => (usize::from(*short), rest),
        [long, rest @ ..] => {
            let count = usize::from(long & 0x7f);
            let digits = rest.get(..count).filter(|digits| digits.len() <= 4)?;
            (digits.iter().fold(0, |length, digit| length << 8 | usize::from(*digit)), &rest[count..])
        }
        [] => return None,
    };
    (length <= rest.len()).then(|| rest.split_at(length))
}

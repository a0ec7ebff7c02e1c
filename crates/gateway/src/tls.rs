//! Certificates for a server that speaks TLS itself (a proxy in front usually does).

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use tokio_rustls::rustls::crypto::{CryptoProvider, ring};
use tokio_rustls::rustls::pki_types::pem::{self, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio_rustls::rustls::server::{ClientHello, ResolvesServerCert};
use tokio_rustls::rustls::sign::CertifiedKey;
use tokio_rustls::rustls::{self, ClientConnection, ServerConfig, StreamOwned};

use crate::outgoing::trust::trusting_anybody;

/// Time between two looks whether the files have changed.
const LOOK_PERIOD: Duration = Duration::from_secs(1);

/// Why the certificate or key cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read, or does not hold what it should in PEM form.
    #[error("cannot use {path}: {source}")]
    Pem {
        /// Which.
        path: String,
        /// Why.
        source: pem::Error,
    },
    /// Certificate and key do not belong together, or are of a kind that is not supported.
    #[error("certificate or key cannot be used: {0}")]
    Rustls(#[from] rustls::Error),
}

/// TLS with a PEM certificate chain and its private key. New connections get what the files hold then.
///
/// # Errors
/// When the files cannot be used now.
pub fn server_config(certificate: &Path, private_key: &Path) -> Result<Arc<ServerConfig>, TlsError> {
    let provider = Arc::new(ring::default_provider());
    let files = Files { certificate: certificate.to_owned(), private_key: private_key.to_owned() };
    let certificates = Certificates::read(files, provider.clone())?;
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(certificates));
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

/// The two files of a certificate.
#[derive(Debug)]
struct Files {
    certificate: PathBuf,
    private_key: PathBuf,
}

impl Files {
    fn read(&self, provider: &CryptoProvider) -> Result<CertifiedKey, TlsError> {
        let pem_error = |path: &Path| {
            let path = path.display().to_string();
            move |source| TlsError::Pem { path, source }
        };
        let chain = CertificateDer::pem_file_iter(&self.certificate)
            .and_then(Iterator::collect::<Result<Vec<_>, _>>)
            .map_err(pem_error(&self.certificate))?;
        let key = PrivateKeyDer::from_pem_file(&self.private_key).map_err(pem_error(&self.private_key))?;
        Ok(CertifiedKey::from_der(chain, key, provider)?)
    }

    /// When the files were last written. Renewals often write one after the other.
    fn written_at(&self) -> [Option<SystemTime>; 2] {
        [&self.certificate, &self.private_key].map(|path| path.metadata().and_then(|known| known.modified()).ok())
    }
}

/// The certificate that the files hold. While they do not belong together, or cannot be read, the one of before goes
/// on.
#[derive(Debug)]
struct Certificates {
    files: Files,
    provider: Arc<CryptoProvider>,
    #[allow(clippy::disallowed_types, reason = "held for two looks at files a second, when a connection begins")]
    current: std::sync::Mutex<Current>,
}

#[derive(Debug)]
struct Current {
    key: Arc<CertifiedKey>,
    written_at: [Option<SystemTime>; 2],
    looked_at: Instant,
}

impl Certificates {
    #[allow(clippy::disallowed_types, reason = "see the field")]
    fn read(files: Files, provider: Arc<CryptoProvider>) -> Result<Self, TlsError> {
        let (written_at, looked_at) = (files.written_at(), Instant::now());
        let key = Arc::new(files.read(&provider)?);
        let current = std::sync::Mutex::new(Current { key, written_at, looked_at });
        Ok(Self { files, provider, current })
    }

    /// The certificate at `now`.
    fn at(&self, now: Instant) -> Arc<CertifiedKey> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if now.saturating_duration_since(current.looked_at) >= LOOK_PERIOD {
            current.looked_at = now;
            let written_at = self.files.written_at();
            if written_at != current.written_at {
                current.written_at = written_at;
                match self.files.read(&self.provider) {
                    Ok(key) => {
                        current.key = Arc::new(key);
                        tracing::info!("the certificate has changed: new connections get it");
                    }
                    Err(error) => {
                        tracing::warn!(%error, "the changed certificate cannot be used: the one of before goes on")
                    }
                }
            }
        }
        current.key.clone()
    }
}

impl ResolvesServerCert for Certificates {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.at(Instant::now()))
    }
}

/// Speaks TLS over a connection to whoever is there. Only for questions that hold no secret and whose answer anybody
/// may give, such as whether a server is well: its certificate may be of a name that this machine does not call it by.
///
/// # Errors
/// When the host's name cannot stand in TLS.
pub fn unverified<S: Read + Write>(stream: S, host: &str) -> io::Result<impl Read + Write> {
    let config = trusting_anybody().map_err(io::Error::other)?;
    let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
    let connection = ClientConnection::new(Arc::new(config), name).map_err(io::Error::other)?;
    Ok(StreamOwned::new(connection, stream))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(files: &Files, name: &str) -> Vec<u8> {
        let made = rcgen::generate_simple_self_signed([name.to_owned()]).unwrap();
        std::fs::write(&files.certificate, made.cert.pem()).unwrap();
        std::fs::write(&files.private_key, made.signing_key.serialize_pem()).unwrap();
        made.cert.der().to_vec()
    }

    #[test]
    fn changed_files_are_read_and_unusable_ones_change_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let files = Files { certificate: folder.path().join("a.pem"), private_key: folder.path().join("a.key") };
        let first = write(&files, "first.example");
        let set_time = |path: &Path, seconds: u64| {
            let file = std::fs::File::options().write(true).open(path).unwrap();
            file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)).unwrap();
        };
        set_time(&files.certificate, 1);
        let certificates = Certificates::read(files, Arc::new(ring::default_provider())).unwrap();
        let start = Instant::now() + LOOK_PERIOD;
        let at = |periods: u32| certificates.at(start + periods * LOOK_PERIOD).cert[0].to_vec();
        assert_eq!(at(0), first);
        let second = write(&certificates.files, "second.example");
        set_time(&certificates.files.certificate, 2);
        assert_eq!(at(1), second);
        std::fs::write(&certificates.files.certificate, "no certificate").unwrap();
        set_time(&certificates.files.certificate, 3);
        assert_eq!(at(2), second);
        let third = write(&certificates.files, "third.example");
        set_time(&certificates.files.certificate, 4);
        assert_eq!([at(2), at(3)], [second, third], "they are looked at once in a period");
    }
}

//! Certificates for a server that speaks TLS itself (a proxy in front usually does).

use std::path::Path;
use std::sync::Arc;

use tokio_rustls::rustls::pki_types::pem::{self, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{self, ServerConfig};

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

/// Reads a PEM certificate chain and its private key.
pub fn server_config(certificate: &Path, private_key: &Path) -> Result<Arc<ServerConfig>, TlsError> {
    let pem_error = |path: &Path| {
        let path = path.display().to_string();
        move |source| TlsError::Pem { path, source }
    };
    let chain = CertificateDer::pem_file_iter(certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(pem_error(certificate))?;
    let key = PrivateKeyDer::from_pem_file(private_key).map_err(pem_error(private_key))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

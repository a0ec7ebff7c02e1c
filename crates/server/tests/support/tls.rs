//! A certificate for a test, and a client that trusts only this one.

use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use super::http;

/// A self-signed certificate for `localhost`, in files as an operator has them.
pub struct Certificate {
    pub certificate: PathBuf,
    pub private_key: PathBuf,
    der: CertificateDer<'static>,
}

impl Certificate {
    pub fn create(folder: &Path) -> Self {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let (certificate, private_key) = (folder.join("certificate.pem"), folder.join("private-key.pem"));
        std::fs::write(&certificate, made.cert.pem()).unwrap();
        std::fs::write(&private_key, made.signing_key.serialize_pem()).unwrap();
        Self { certificate, private_key, der: made.cert.der().clone() }
    }

    /// A connection; its TLS handshake happens at its first use.
    pub fn connect(&self, address: SocketAddr) -> StreamOwned<ClientConnection, TcpStream> {
        let mut roots = RootCertStore::empty();
        roots.add(self.der.clone()).unwrap();
        let config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let name = ServerName::try_from("localhost").unwrap();
        StreamOwned::new(ClientConnection::new(Arc::new(config), name).unwrap(), http::connect(address))
    }
}

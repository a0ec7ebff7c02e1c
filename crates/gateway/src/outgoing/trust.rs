//! Certificates that clients trust: those signed by an authority that the system knows or, on request, any certificate.

use std::sync::{Arc, OnceLock};

use tokio_rustls::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use tokio_rustls::rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::{ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

/// Settings of TLS, made at their first use. Clones share them, so a server reads the system's certificates once for
/// all its shards.
#[derive(Clone, Default)]
pub struct Trust(Arc<Settings>);

#[derive(Default)]
struct Settings {
    system: OnceLock<Arc<ClientConfig>>,
    anybody: OnceLock<Arc<ClientConfig>>,
}

impl Trust {
    /// Settings of TLS. The first call for the system's certificates reads them from disk, which blocks for a while.
    pub(super) fn config(&self, insecure: bool) -> Result<Arc<ClientConfig>, Error> {
        let place = if insecure { &self.0.anybody } else { &self.0.system };
        if let Some(config) = place.get() {
            return Ok(config.clone());
        }
        let made = Arc::new(if insecure { trusting_anybody()? } else { trusting(system_roots())? });
        Ok(place.get_or_init(|| made).clone())
    }
}

fn system_roots() -> RootCertStore {
    let mut roots = RootCertStore::empty();
    let found = rustls_native_certs::load_native_certs();
    for error in &found.errors {
        tracing::warn!(%error, "cannot read a root certificate of the system");
    }
    roots.add_parsable_certificates(found.certs);
    if roots.is_empty() {
        tracing::warn!("the system has no root certificates: requests of game code over https will fail");
    }
    roots
}

fn trusting(roots: RootCertStore) -> Result<ClientConfig, Error> {
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    Ok(builder.with_safe_default_protocol_versions()?.with_root_certificates(roots).with_no_client_auth())
}

/// Settings of TLS with which any server is trusted.
pub(crate) fn trusting_anybody() -> Result<ClientConfig, Error> {
    let provider = Arc::new(ring::default_provider());
    let verifier = Arc::new(Anybody(provider.clone()));
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    Ok(builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth())
}

/// Accepts any certificate, but only from a server that has its key.
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
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

//! The login at NATS and the files of TLS. Each fault of a file has a sentence that names its configuration key, and no
//! sentence shows a secret.

use std::fmt;
use std::path::{Path, PathBuf};

use async_nats::ConnectOptions;
use nkeys::{KeyPair, KeyPairType};
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};

use super::options::{NatsError, NatsOptions};

/// The login at the server.
#[derive(Clone, Default, PartialEq, Eq)]
pub enum NatsLogin {
    /// No login, or only that by a certificate.
    #[default]
    None,
    /// `cluster.nats_user` and `cluster.nats_password`.
    Password {
        /// Name of the user.
        user: String,
        /// Password of the user.
        password: String,
    },
    /// `cluster.nats_token`.
    Token(String),
    /// `cluster.nats_nkey_file`: the seed of a user's key, as `nk -gen user` writes it.
    NkeyFile(PathBuf),
    /// `cluster.nats_credentials_file`: a user's token and key, as `nsc` writes them.
    CredentialsFile(PathBuf),
}

/// Leaves out the secrets.
impl fmt::Debug for NatsLogin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => formatter.write_str("None"),
            Self::Password { user, .. } => write!(formatter, "Password({user:?})"),
            Self::Token(_) => formatter.write_str("Token"),
            Self::NkeyFile(file) => write!(formatter, "NkeyFile({file:?})"),
            Self::CredentialsFile(file) => write!(formatter, "CredentialsFile({file:?})"),
        }
    }
}

/// The certificate that this node shows to NATS, in files that are read anew for each connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeCertificate {
    /// `cluster.nats_certificate_file`.
    pub certificate_file: PathBuf,
    /// `cluster.nats_private_key_file`.
    pub private_key_file: PathBuf,
}

impl NatsOptions {
    /// Reads all files that the options name.
    pub(super) fn check_files(&self) -> Result<(), NatsError> {
        self.authenticate(ConnectOptions::new()).map(drop)
    }

    /// Options of the client for login and TLS.
    pub(super) fn authenticate(&self, mut options: ConnectOptions) -> Result<ConnectOptions, NatsError> {
        if let Some(file) = &self.ca_file {
            check_certificates("cluster.nats_ca_file", file)?;
            options = options.add_root_certificates(file.clone());
        }
        if let Some(NodeCertificate { certificate_file, private_key_file }) = &self.certificate {
            check_certificates("cluster.nats_certificate_file", certificate_file)?;
            let key = PrivateKeyDer::from_pem_slice(&bytes("cluster.nats_private_key_file", private_key_file)?);
            key.map_err(|_| {
                fault("cluster.nats_private_key_file", private_key_file, "holds no private key in the form of PEM")
            })?;
            options = options.add_client_certificate(certificate_file.clone(), private_key_file.clone());
        }
        options = options.require_tls(self.requires_tls());
        match &self.login {
            NatsLogin::None => Ok(options),
            NatsLogin::Password { user, password } => Ok(options.user_and_password(user.clone(), password.clone())),
            NatsLogin::Token(token) => Ok(options.token(token.clone())),
            NatsLogin::NkeyFile(file) => Ok(options.nkey(seed("cluster.nats_nkey_file", file)?)),
            NatsLogin::CredentialsFile(file) => {
                const KEY: &str = "cluster.nats_credentials_file";
                let text = text(KEY, file)?;
                options
                    .credentials(&text)
                    .map_err(|_| fault(KEY, file, "is no file of credentials: write it anew by `nsc generate creds`"))
            }
        }
    }
}

/// The seed of a user's key.
fn seed(key: &'static str, file: &Path) -> Result<String, NatsError> {
    let text = text(key, file)?;
    let seed = text.lines().map(str::trim).find(|line| line.starts_with('S')).unwrap_or_default();
    match KeyPair::from_seed(seed) {
        Ok(pair) if matches!(pair.key_pair_type(), KeyPairType::User) => Ok(seed.to_owned()),
        Ok(_) => Err(fault(key, file, "holds a key that is no user's: make one by `nk -gen user`")),
        Err(_) => Err(fault(key, file, "holds no seed of a key: make one by `nk -gen user`")),
    }
}

fn check_certificates(key: &'static str, file: &Path) -> Result<(), NatsError> {
    let bytes = bytes(key, file)?;
    match CertificateDer::pem_slice_iter(&bytes).collect::<Result<Vec<_>, _>>() {
        Ok(found) if found.is_empty() => Err(fault(key, file, "holds no certificate in the form of PEM")),
        Ok(_) => Ok(()),
        Err(_) => Err(fault(key, file, "holds a certificate that cannot be read")),
    }
}

fn text(key: &'static str, file: &Path) -> Result<String, NatsError> {
    String::from_utf8(bytes(key, file)?).map_err(|_| fault(key, file, "is no text"))
}

fn bytes(key: &'static str, file: &Path) -> Result<Vec<u8>, NatsError> {
    std::fs::read(file).map_err(|error| NatsError::Setting(format!("{key}: {}: {error}", file.display())))
}

fn fault(key: &'static str, file: &Path, what: &str) -> NatsError {
    NatsError::Setting(format!("{key}: {} {what}", file.display()))
}

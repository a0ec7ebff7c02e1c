//! Every login that NATS knows, and TLS, against servers that ask for them.

use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use muster_testenv::{Nats as Server, NatsSettings};
use nkeys::KeyPair;
use rcgen::{BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair as CertificateKey};
use tempfile::TempDir;

use super::ground::{address, block_on, within};
use crate::bus::{Bus, Inbox};
use crate::nats::{Nats, NatsError, NatsLogin, NatsOptions, NodeCertificate};
use crate::recovery::Recovery;

/// An authority that signs certificates, and a folder with its files.
pub(super) struct Authority {
    issuer: Issuer<'static, CertificateKey>,
    folder: TempDir,
}

impl Authority {
    pub(super) fn create() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let mut params = CertificateParams::new(Vec::new()).expect("an authority");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = CertificateKey::generate().expect("a key");
        let certificate = params.self_signed(&key).expect("a certificate");
        std::fs::write(folder.path().join("ca.pem"), certificate.pem()).expect("written");
        Self { issuer: Issuer::new(params, key), folder }
    }

    /// The folder, in which the authority's certificate is `ca.pem`.
    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(super) fn ca_file(&self) -> PathBuf {
        self.folder().join("ca.pem")
    }

    /// Signs a certificate for a host, as `NAME.pem` and `NAME-key.pem`.
    pub(super) fn sign(&self, name: &str, host: &str) -> NodeCertificate {
        let mut params = CertificateParams::new(vec![host.to_owned()]).expect("a certificate");
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        let key = CertificateKey::generate().expect("a key");
        let certificate = params.signed_by(&key, &self.issuer).expect("signed");
        let [certificate_file, private_key_file] =
            ["", "-key"].map(|part| self.folder().join(format!("{name}{part}.pem")));
        std::fs::write(&certificate_file, certificate.pem()).expect("written");
        std::fs::write(&private_key_file, key.serialize_pem()).expect("written");
        NodeCertificate { certificate_file, private_key_file }
    }

    /// The block `tls` of a server with such a certificate.
    fn tls(&self, more: &str) -> String {
        let NodeCertificate { certificate_file, private_key_file } = self.sign("server", "127.0.0.1");
        let (certificate, key, ca_file) = (certificate_file.display(), private_key_file.display(), self.ca_file());
        let ca = ca_file.display();
        format!("tls {{ cert_file: \"{certificate}\", key_file: \"{key}\", ca_file: \"{ca}\", {more} }}\n")
    }
}

fn server(more: String) -> Server {
    Server::start(NatsSettings { more, ..NatsSettings::default() }).expect("a server")
}

fn at(server: &Server) -> NatsOptions {
    NatsOptions { urls: vec![server.url().to_owned()], ..NatsOptions::default() }
}

fn encrypted(server: &Server) -> NatsOptions {
    NatsOptions { urls: vec![server.url().replace("nats://", "tls://")], ..NatsOptions::default() }
}

fn with(options: &NatsOptions, login: NatsLogin) -> NatsOptions {
    NatsOptions { login, ..options.clone() }
}

fn password(password: &str) -> NatsLogin {
    NatsLogin::Password { user: "muster".to_owned(), password: password.to_owned() }
}

/// Connects, keeps a value, and sends a frame to itself.
fn works(options: &NatsOptions) {
    block_on(within("a node that works", async {
        let node = Nats::connect(options).await.expect("a connection");
        node.put("p.1.room", Bytes::from_static(b"a room")).expect("room");
        node.flush().await;
        assert_eq!(node.load("p.1").await.expect("kept").len(), 1);
        let mut inbox = node.listen(address(1)).await.expect("listening");
        node.send(address(1), Bytes::from_static(b"a frame")).expect("sent");
        assert_eq!(inbox.receive().await, Some(Bytes::from_static(b"a frame")));
    }));
}

/// Connects in vain. Answers the error.
fn fails(options: &NatsOptions) -> NatsError {
    let connecting = async { Nats::connect(options).await.map(drop).expect_err("it connected") };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(within("an error", connecting))
}

fn is_refused(options: &NatsOptions) {
    let error = fails(options);
    assert!(matches!(error, NatsError::LoginRefused { .. }), "{error:?}");
    assert!(!error.to_string().contains("secret"), "{error}");
}

fn is_no_tls(options: &NatsOptions) {
    let error = fails(options);
    assert!(matches!(error, NatsError::Tls { .. }), "{error:?}");
}

#[test]
fn a_user_logs_in_by_a_password() {
    let server = server("authorization { user: muster, password: secret }\n".to_owned());
    works(&with(&at(&server), password("secret")));
    is_refused(&with(&at(&server), password("wrong")));
    is_refused(&at(&server));
}

#[test]
fn a_token_is_a_login() {
    let server = server("authorization { token: secret }\n".to_owned());
    works(&with(&at(&server), NatsLogin::Token("secret".to_owned())));
    is_refused(&with(&at(&server), NatsLogin::Token("wrong".to_owned())));
    is_refused(&with(&at(&server), password("secret")));
}

#[test]
fn a_key_is_a_login() {
    let folder = tempfile::tempdir().expect("a folder");
    let (user, stranger) = (KeyPair::new_user(), KeyPair::new_user());
    let login = |name: &str, pair: &KeyPair| {
        let file = folder.path().join(name);
        let seed = pair.seed().expect("a seed");
        std::fs::write(&file, format!("{seed}\n{}\n", pair.public_key())).expect("written");
        NatsLogin::NkeyFile(file)
    };
    let server = server(format!("authorization {{ users: [ {{ nkey: {} }} ] }}\n", user.public_key()));
    works(&with(&at(&server), login("user", &user)));
    is_refused(&with(&at(&server), login("stranger", &stranger)));
    is_refused(&at(&server));
}

/// A signed token of NATS, with these claims.
fn token(issuer: &KeyPair, subject: &KeyPair, name: &str, claims: &str) -> String {
    let encode = |text: &str| URL_SAFE_NO_PAD.encode(text);
    let (issued_by, about) = (issuer.public_key(), subject.public_key());
    let body = format!(
        r#"{{"jti":"{name}","iat":1700000000,"iss":"{issued_by}","name":"{name}","sub":"{about}","nats":{claims}}}"#
    );
    let signed = format!("{}.{}", encode(r#"{"typ":"JWT","alg":"ed25519-nkey"}"#), encode(&body));
    let signature = issuer.sign(signed.as_bytes()).expect("signed");
    format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
}

#[test]
fn a_file_of_credentials_is_a_login() {
    let folder = tempfile::tempdir().expect("a folder");
    let (operator, account, user) = (KeyPair::new_operator(), KeyPair::new_account(), KeyPair::new_user());
    let of_operator = token(&operator, &operator, "operator", r#"{"type":"operator","version":2}"#);
    let limits = r#"{"subs":-1,"data":-1,"payload":-1,"imports":-1,"exports":-1,"wildcards":true,"conn":-1,"leaf":-1,
        "mem_storage":-1,"disk_storage":-1,"streams":-1,"consumer":-1}"#;
    let claims = format!(r#"{{"limits":{limits},"type":"account","version":2}}"#);
    let of_account = token(&operator, &account, "account", &claims);
    let login = |name: &str, issuer: &KeyPair| {
        let of_user = token(issuer, &user, name, r#"{"subs":-1,"data":-1,"payload":-1,"type":"user","version":2}"#);
        let seed = user.seed().expect("a seed");
        let file = folder.path().join(name);
        let text = format!(
            "-----BEGIN NATS USER JWT-----\n{of_user}\n------END NATS USER JWT------\n\n\
             -----BEGIN USER NKEY SEED-----\n{seed}\n------END USER NKEY SEED------\n"
        );
        std::fs::write(&file, text).expect("written");
        NatsLogin::CredentialsFile(file)
    };
    let system = KeyPair::new_account();
    let of_system = token(&operator, &system, "system", r#"{"type":"account","version":2}"#);
    let (public, system) = (account.public_key(), system.public_key());
    let preload = format!("resolver_preload: {{ {public}: {of_account}, {system}: {of_system} }}\n");
    let operator = format!("operator: {of_operator}\nsystem_account: {system}\nresolver: MEMORY\n");
    let server = server(operator + &preload);
    works(&with(&at(&server), login("user", &account)));
    is_refused(&with(&at(&server), login("stranger", &KeyPair::new_account())));
    is_refused(&at(&server));
}

#[test]
fn servers_are_trusted_by_their_authority() {
    let (authority, other) = (Authority::create(), Authority::create());
    let server = server(authority.tls(""));
    let trusting = NatsOptions { ca_file: Some(authority.ca_file()), ..encrypted(&server) };
    works(&trusting);
    // A server that asks for TLS gets it without a word in the address.
    works(&NatsOptions { urls: at(&server).urls, ..trusting.clone() });
    is_no_tls(&NatsOptions { ca_file: Some(other.ca_file()), ..trusting });
    // The system trusts nobody's certificate but those of its own authorities.
    is_no_tls(&encrypted(&server));
}

#[test]
fn a_server_of_another_name_is_refused() {
    let authority = Authority::create();
    let tls = authority.tls("");
    authority.sign("server", "another.example.com");
    let server = server(tls);
    is_no_tls(&NatsOptions { ca_file: Some(authority.ca_file()), ..encrypted(&server) });
}

#[test]
fn no_login_goes_to_a_server_without_tls() {
    let authority = Authority::create();
    let server = server("authorization { user: muster, password: secret }\n".to_owned());
    let login = with(&at(&server), password("secret"));
    works(&login);
    is_no_tls(&NatsOptions { urls: encrypted(&server).urls, ..login.clone() });
    is_no_tls(&NatsOptions { ca_file: Some(authority.ca_file()), ..login.clone() });
    // One address of several that asks for TLS is enough.
    let urls = [at(&server).urls, vec!["tls://127.0.0.1:1".to_owned()]].concat();
    let error = fails(&NatsOptions { urls, ..login });
    assert!(matches!(error, NatsError::Tls { .. } | NatsError::Unreachable { .. }), "{error:?}");
}

#[test]
fn a_certificate_is_asked_for() {
    let (authority, other) = (Authority::create(), Authority::create());
    let server = server(authority.tls("verify: true"));
    let trusting = NatsOptions { ca_file: Some(authority.ca_file()), ..encrypted(&server) };
    let showing = |certificate| NatsOptions { certificate: Some(certificate), ..trusting.clone() };
    works(&showing(authority.sign("node", "node-1")));
    is_no_tls(&showing(other.sign("node", "node-1")));
    is_no_tls(&trusting);
    let NodeCertificate { certificate_file, .. } = authority.sign("one", "node-1");
    let NodeCertificate { private_key_file, .. } = authority.sign("two", "node-1");
    is_no_tls(&showing(NodeCertificate { certificate_file, private_key_file }));
}

#[test]
fn a_certificate_is_a_login() {
    let authority = Authority::create();
    let users = "authorization { users: [ { user: \"node-1\" } ] }\n";
    let server = server(authority.tls("verify_and_map: true") + users);
    let trusting = NatsOptions { ca_file: Some(authority.ca_file()), ..encrypted(&server) };
    let showing = |certificate| NatsOptions { certificate: Some(certificate), ..trusting.clone() };
    works(&showing(authority.sign("node", "node-1")));
    is_refused(&showing(authority.sign("stranger", "node-2")));
}

#[test]
fn renewed_files_are_used_by_the_next_connection() {
    let authority = Authority::create();
    let server = server(authority.tls("verify: true"));
    let certificate = Some(authority.sign("node", "node-1"));
    let options = NatsOptions { ca_file: Some(authority.ca_file()), certificate, ..encrypted(&server) };
    block_on(within("a node that comes back", async {
        let node = Nats::connect(&options).await.expect("a connection");
        let mut inbox = node.listen(address(1)).await.expect("listening");
        authority.sign("node", "node-1");
        server.kill().expect("killed");
        server.start_again().expect("started");
        let mut connection = node.connection();
        connection.wait_for(|connection| connection.is_up && connection.losses == 1).await.expect("it is watched");
        node.send(address(1), Bytes::from_static(b"a frame")).expect("sent");
        assert_eq!(inbox.receive().await, Some(Bytes::from_static(b"a frame")));
    }));
}

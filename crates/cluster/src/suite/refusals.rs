//! Tests of unsuitable NATS servers: each error has a sentence that says what to change.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;

use muster_testenv::{Nats as Server, NatsSettings};

use super::ground::within;
use crate::nats::{Nats, NatsError, NatsLogin, NatsOptions, NodeCertificate};

/// Connects, and expects an error that contains `expect`.
fn check(options: &NatsOptions, expect: &str) {
    let said = match connect(options) {
        Ok(_) => panic!("it connected, which was to say `{expect}`"),
        Err(error) => error.to_string(),
    };
    assert!(said.contains(expect), "`{expect}` is not in `{said}`");
}

fn connect(options: &NatsOptions) -> Result<Nats, NatsError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(within("an outcome", Nats::connect(options)))
}

fn at(url: &str) -> NatsOptions {
    NatsOptions { urls: vec![url.to_owned()], ..NatsOptions::default() }
}

#[test]
fn settings_are_checked() {
    let local = NatsOptions::default();
    check(&NatsOptions { urls: Vec::new(), ..local.clone() }, "cluster.nats is empty");
    check(&at("nats://a b:1"), "cluster.nats: `nats://a b:1`");
    check(&NatsOptions { cluster: "a.b".to_owned(), ..local.clone() }, "cluster.name: `a.b`");
    check(&NatsOptions { replicas: 2, ..local.clone() }, "cluster.nats_replicas: 2");
    let nowhere = PathBuf::from("/nowhere/file");
    check(&NatsOptions { ca_file: Some(nowhere.clone()), ..local.clone() }, "cluster.nats_ca_file: /nowhere/file");
    let login = NatsLogin::CredentialsFile(nowhere);
    check(&NatsOptions { login, ..local.clone() }, "cluster.nats_credentials_file: /nowhere/file");
    check(&at("ws://127.0.0.1:1"), "begins neither with nats:// nor with tls://");
}

#[test]
fn files_are_read_before_anything_is_done() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("file");
    std::fs::write(&file, "secret").expect("written");
    let local = NatsOptions::default();
    let check_file = |options: NatsOptions, key: &str, fault: &str| {
        let said = options.check().expect_err("a fault").to_string();
        assert_eq!(said, format!("{key}: {} {fault}", file.display()));
        check(&options, &said);
    };
    let ca = NatsOptions { ca_file: Some(file.clone()), ..local.clone() };
    check_file(ca, "cluster.nats_ca_file", "holds no certificate in the form of PEM");
    let nkey = NatsOptions { login: NatsLogin::NkeyFile(file.clone()), ..local.clone() };
    check_file(nkey.clone(), "cluster.nats_nkey_file", "holds no seed of a key: make one by `nk -gen user`");
    let credentials = NatsOptions { login: NatsLogin::CredentialsFile(file.clone()), ..local.clone() };
    let fault = "is no file of credentials: write it anew by `nsc generate creds`";
    check_file(credentials, "cluster.nats_credentials_file", fault);
    let made = rcgen::generate_simple_self_signed(vec!["node".to_owned()]).expect("a certificate");
    let certificate_file = folder.path().join("certificate.pem");
    std::fs::write(&certificate_file, made.cert.pem()).expect("written");
    let certificate = Some(NodeCertificate { certificate_file, private_key_file: file.clone() });
    let options = NatsOptions { certificate, ..local };
    check_file(options, "cluster.nats_private_key_file", "holds no private key in the form of PEM");
    std::fs::write(&file, nkeys::KeyPair::new_account().seed().expect("a seed")).expect("written");
    check_file(nkey, "cluster.nats_nkey_file", "holds a key that is no user's: make one by `nk -gen user`");
}

#[test]
fn nobody_there_is_told_without_the_password() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let address = listener.local_addr().expect("an address");
    drop(listener);
    let login = NatsLogin::Password { user: "muster".to_owned(), password: "secret".to_owned() };
    let options = NatsOptions { login, ..at(&format!("nats://{address}")) };
    let said = connect(&options).map(drop).expect_err("nobody is there").to_string();
    assert!(
        said.contains(&format!("no NATS server answers at nats://{address}")) && !said.contains("secret"),
        "{said}"
    );
}

#[test]
fn what_lets_somebody_in_is_not_told() {
    let login = |login: NatsLogin| NatsOptions { login, ..at("nats://user:secret@127.0.0.1:1") };
    let password = NatsLogin::Password { user: "muster".to_owned(), password: "secret".to_owned() };
    for options in [login(password), login(NatsLogin::Token("secret".to_owned()))] {
        let told = format!("{options:?}");
        assert!(told.contains("127.0.0.1:1") && !told.contains("secret"), "{told}");
    }
    for (place, fault) in [("a b:1", "is not like nats://host:port"), ("127.0.0.1:1", "set cluster.nats_user instead")]
    {
        let said = connect(&at(&format!("nats://user:secret@{place}"))).map(drop).expect_err("no URL").to_string();
        assert!(said.contains(place) && said.contains(fault) && !said.contains("secret"), "{said}");
    }
}

#[test]
fn an_old_server_is_refused() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let url = format!("nats://{}", listener.local_addr().expect("an address"));
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a connection");
        let info = r#"{"server_id":"old","version":"2.11.9","max_payload":1048576,"headers":true,"jetstream":true}"#;
        write!(stream, "INFO {info}\r\n").expect("said");
        let lines = BufReader::new(stream.try_clone().expect("a stream")).lines().map_while(Result::ok);
        for _ping in lines.filter(|line| line.trim() == "PING") {
            write!(stream, "PONG\r\n").expect("said");
        }
    });
    check(&at(&url), "version 2.11.9, and Muster needs 2.12 or newer");
}

#[test]
fn a_server_without_jetstream_is_refused() {
    let settings = NatsSettings { without_jetstream: true, ..NatsSettings::default() };
    let server = Server::start(settings).expect("a server");
    check(&at(server.url()), "start nats-server with --jetstream");
}

#[test]
fn one_server_keeps_no_three_replicas() {
    let server = Server::shared().expect("a server");
    let options = NatsOptions { replicas: 3, cluster: "replicas".to_owned(), ..at(server.url()) };
    check(&options, "cluster.nats_replicas is 3");
}

#[test]
fn a_login_is_asked_for() {
    let more = "authorization { user: muster, password: right }\n".to_owned();
    let server = Server::start(NatsSettings { more, ..NatsSettings::default() }).expect("a server");
    let login = |password: &str| NatsLogin::Password { user: "muster".to_owned(), password: password.to_owned() };
    check(&at(server.url()), "correct cluster.nats_user and cluster.nats_password");
    check(&NatsOptions { login: login("wrong"), ..at(server.url()) }, "refuses the login");
    connect(&NatsOptions { login: login("right"), ..at(server.url()) }).expect("a connection");

    let more = "authorization { token: right }\n".to_owned();
    let server = Server::start(NatsSettings { more, ..NatsSettings::default() }).expect("a server");
    check(&NatsOptions { login: NatsLogin::Token("wrong".to_owned()), ..at(server.url()) }, "refuses the login");
    connect(&NatsOptions { login: NatsLogin::Token("right".to_owned()), ..at(server.url()) }).expect("a connection");
}

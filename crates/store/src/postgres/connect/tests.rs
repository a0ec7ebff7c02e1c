//! Connections to a real server with TLS, by every mode; to standbys; and through a pooler.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::OnceLock;
use std::thread;
use std::time::Duration;

use muster_testenv::{Postgres, PostgresSettings};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};

use super::*;
use crate::suite::fixture::{Folder, client, query, runtime};

/// Rules for the users of the tests. Names say how they may connect.
const ADMITTED: &str = "
hostssl   all encrypted 127.0.0.1/32 trust
hostnossl all encrypted 127.0.0.1/32 reject
hostssl   all clear     127.0.0.1/32 reject
hostnossl all clear     127.0.0.1/32 trust
hostssl   all certified 127.0.0.1/32 cert
host      all secretive 127.0.0.1/32 scram-sha-256
host      all all       127.0.0.1/32 trust
";

/// An authority, which signs certificates.
struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

impl Authority {
    fn new(name: &str) -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        let pem = params.self_signed(&key).unwrap().pem();
        Self { issuer: Issuer::new(params, key), pem }
    }

    /// A certificate for hosts of these names, or for a client, and its key.
    fn sign(&self, name: &str, hosts: &[&str], key: KeyPair) -> (String, KeyPair) {
        let hosts: Vec<String> = hosts.iter().map(|host| (*host).to_owned()).collect();
        let mut params = CertificateParams::new(hosts).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        (params.signed_by(&key, &self.issuer).unwrap().pem(), key)
    }
}

/// A server with TLS, whose certificate is for `localhost` alone, and the files of its clients.
struct Secure {
    server: Postgres,
    folder: Folder,
    authority: Authority,
}

impl Secure {
    fn shared() -> &'static Self {
        static SHARED: OnceLock<Secure> = OnceLock::new();
        SHARED.get_or_init(Self::start)
    }

    fn start() -> Self {
        let (authority, stranger) = (Authority::new("Right"), Authority::new("Wrong"));
        let (certificate, key) = authority.sign("server", &["localhost"], KeyPair::generate().unwrap());
        let files = [
            ("server.pem", certificate),
            ("server.key", key.serialize_pem()),
            ("clients.pem", authority.pem.clone()),
            ("pg_hba.conf", ADMITTED.to_owned()),
        ];
        let server = Postgres::start_with(&PostgresSettings {
            options: "-c ssl=on -c ssl_cert_file=server.pem -c ssl_key_file=server.key -c ssl_ca_file=clients.pem"
                .into(),
            files: files.map(|(name, content)| (name.to_owned(), content)).into(),
        })
        .unwrap();
        runtime().block_on(async {
            let client = client(server.url()).await;
            query(
                &client,
                "CREATE ROLE encrypted LOGIN; CREATE ROLE clear LOGIN; CREATE ROLE certified LOGIN; \
                 CREATE ROLE secretive LOGIN PASSWORD 'secret'; \
                 CREATE ROLE reader LOGIN; ALTER ROLE reader SET default_transaction_read_only = on",
            )
            .await;
        });
        let secure = Self { server, folder: Folder::new(), authority };
        secure.write("right.pem", &secure.authority.pem);
        secure.write("wrong.pem", &stranger.pem);
        secure.write("empty.pem", "");
        for (name, authority) in [("certified", &secure.authority), ("stranger", &stranger)] {
            let (certificate, key) = authority.sign("certified", &[], KeyPair::generate().unwrap());
            secure.write(&format!("{name}.pem"), &certificate);
            secure.write(&format!("{name}.key"), &key.serialize_pem());
        }
        secure
    }

    fn write(&self, name: &str, content: &str) {
        std::fs::write(self.folder.0.join(name), content).unwrap();
    }

    fn port(&self) -> &str {
        self.server.url().rsplit_once(':').unwrap().1.split('/').next().unwrap()
    }

    /// An address; in the parameters `~` stands for the folder of the clients' files.
    fn url(&self, user: &str, host: &str, parameters: &str) -> String {
        let folder = self.folder.0.display().to_string();
        format!("postgres://{user}@{host}:{}/postgres?{}", self.port(), parameters.replace('~', &folder))
    }
}

fn settings() -> Settings {
    Settings { statement_timeout: Duration::from_secs(15), more: String::new() }
}

/// Connects. Answers whether the connection is encrypted, or the refusal.
fn try_to_connect(urls: &[String]) -> Result<bool, String> {
    let servers = Servers::parse(urls).map_err(|error| error.0)?;
    runtime().block_on(async {
        let connected = connect(&servers, &settings()).await?;
        assert_eq!(connected.overheard_at, None, "nobody listens on this machine");
        let ssl = query(&connected.client, "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()").await;
        Ok(ssl == ["t"])
    })
}

#[track_caller]
fn check(urls: &[String], expect: Result<bool, &str>) {
    match (try_to_connect(urls), expect) {
        (Ok(found), Ok(expect)) => assert_eq!(found, expect, "{urls:?}"),
        (Err(told), Err(expect)) => assert!(told.contains(expect), "{urls:?}: {told}"),
        (found, expect) => panic!("{urls:?}: {found:?} in place of {expect:?}"),
    }
}

const NOT_ADMITTED: Result<bool, &str> = Err("(28000)");

#[test]
fn every_mode_encrypts_or_is_refused_as_by_libpq() {
    let secure = Secure::shared();
    for (user, host, parameters, expect) in [
        ("muster", "localhost", "", Ok(true)),
        ("muster", "localhost", "sslmode=disable", Ok(false)),
        ("muster", "localhost", "sslmode=allow", Ok(false)),
        ("muster", "localhost", "sslmode=prefer", Ok(true)),
        ("muster", "localhost", "sslmode=require", Ok(true)),
        ("encrypted", "localhost", "sslmode=disable", NOT_ADMITTED),
        ("encrypted", "localhost", "sslmode=allow", Ok(true)),
        ("encrypted", "localhost", "sslmode=prefer", Ok(true)),
        ("encrypted", "localhost", "sslmode=require", Ok(true)),
        ("clear", "localhost", "sslmode=disable", Ok(false)),
        ("clear", "localhost", "sslmode=allow", Ok(false)),
        ("clear", "localhost", "sslmode=prefer", Ok(false)),
        ("clear", "localhost", "sslmode=require", NOT_ADMITTED),
        // Names are checked by `verify-full` alone, and authorities wherever there is a file of them.
        ("muster", "127.0.0.1", "sslmode=require", Ok(true)),
        ("muster", "127.0.0.1", "sslmode=require&sslrootcert=~/right.pem", Ok(true)),
        ("muster", "localhost", "sslmode=require&sslrootcert=~/wrong.pem", Err("UnknownIssuer")),
        ("muster", "127.0.0.1", "sslmode=verify-ca&sslrootcert=~/right.pem", Ok(true)),
        ("muster", "localhost", "sslmode=verify-ca&sslrootcert=~/wrong.pem", Err("UnknownIssuer")),
        ("muster", "localhost", "sslmode=verify-full&sslrootcert=~/right.pem", Ok(true)),
        ("muster", "localhost", "sslmode=verify-full&sslrootcert=~/wrong.pem", Err("UnknownIssuer")),
        ("muster", "127.0.0.1", "sslmode=verify-full&sslrootcert=~/right.pem", Err("not valid for name")),
        ("muster", "localhost", "sslmode=verify-full&sslrootcert=~/empty.pem", Err("holds no certificate")),
        ("muster", "localhost", "sslmode=verify-full&sslrootcert=~/none.pem", Err("none.pem cannot be used")),
        // A server whose certificate is wrong is still preferred to none, without encryption.
        ("muster", "localhost", "sslmode=prefer&sslrootcert=~/wrong.pem", Ok(false)),
        ("encrypted", "localhost", "sslmode=prefer&sslrootcert=~/wrong.pem", NOT_ADMITTED),
        ("nobody", "localhost", "sslmode=prefer", NOT_ADMITTED),
    ] {
        check(&[secure.url(user, host, parameters)], expect);
    }
    let system = secure.url("muster", "localhost", "sslrootcert=system");
    assert!(try_to_connect(&[system]).is_err(), "no authority of the system has signed this certificate");
}

#[test]
fn a_server_without_tls_is_refused_where_encryption_is_demanded() {
    let plain = Postgres::start().unwrap();
    for (mode, expect) in [
        ("disable", Ok(false)),
        ("allow", Ok(false)),
        ("prefer", Ok(false)),
        ("require", Err("server does not support TLS")),
        ("verify-ca", Err("server does not support TLS")),
        ("verify-full", Err("server does not support TLS")),
    ] {
        let roots = if mode.starts_with("verify") {
            format!("&sslrootcert={}", Secure::shared().folder.0.join("right.pem").display())
        } else {
            String::new()
        };
        check(&[format!("{}?sslmode={mode}{roots}", plain.url())], expect);
    }
}

#[test]
fn clients_show_a_certificate_where_one_is_demanded() {
    let secure = Secure::shared();
    for (parameters, expect) in [
        ("sslmode=require", Err("certificate")),
        ("sslmode=require&sslcert=~/certified.pem&sslkey=~/certified.key", Ok(true)),
        ("sslmode=require&sslcert=~/stranger.pem&sslkey=~/stranger.key", Err("UnknownCA")),
        ("sslmode=require&sslcert=~/certified.pem&sslkey=~/stranger.key", Err("cannot be used")),
        ("sslmode=require&sslcert=~/certified.pem&sslkey=~/none.key", Err("none.key cannot be used")),
    ] {
        check(&[secure.url("certified", "localhost", parameters)], expect);
    }
}

/// The published key of RFC 7515, in both forms.
const PKCS1: &str = include_str!("../../../../script/tests/functions/keys/rfc7515-a2.pkcs1.pem");
const PKCS8: &str = include_str!("../../../../script/tests/functions/keys/rfc7515-a2.pkcs8.pem");

#[test]
fn keys_may_have_any_form() {
    let secure = Secure::shared();
    let (elliptic, rsa) = (KeyPair::generate().unwrap(), || KeyPair::from_pem(PKCS8).unwrap());
    let sec1 = pem("EC PRIVATE KEY", inner_key(&elliptic.serialize_der()));
    for (name, key, text) in [("sec1", elliptic, sec1.as_str()), ("pkcs1", rsa(), PKCS1), ("pkcs8", rsa(), PKCS8)] {
        let (certificate, _) = secure.authority.sign("certified", &[], key);
        secure.write(&format!("{name}.pem"), &certificate);
        secure.write(&format!("{name}.key"), text);
        let parameters = format!("sslmode=require&sslcert=~/{name}.pem&sslkey=~/{name}.key");
        check(&[secure.url("certified", "localhost", &parameters)], Ok(true));
    }
}

/// The key within a key in PKCS #8: behind a version and an algorithm.
fn inner_key(pkcs8: &[u8]) -> &[u8] {
    use super::super::tls::element;
    let (parts, _) = element(pkcs8).unwrap();
    let (_, parts) = element(parts).unwrap();
    let (_, parts) = element(parts).unwrap();
    element(parts).unwrap().0
}

fn pem(form: &str, der: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for three in der.chunks(3) {
        let bits = three.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - three.len()));
        for place in 0..4 {
            let letter = char::from(LETTERS[(bits >> (18 - 6 * place) & 63) as usize]);
            text.push(if place <= three.len() { letter } else { '=' });
        }
    }
    let lines: Vec<&str> = text.as_bytes().chunks(64).map(|line| std::str::from_utf8(line).unwrap()).collect();
    format!("-----BEGIN {form}-----\n{}\n-----END {form}-----\n", lines.join("\n"))
}

#[test]
fn a_password_is_bound_to_the_certificate() {
    let secure = Secure::shared();
    for (password, parameters, expect) in [
        ("secret", "sslmode=require&channel_binding=require", Ok(true)),
        ("secret", "sslmode=disable", Ok(false)),
        ("secret", "sslmode=disable&channel_binding=require", Err("channel binding")),
        ("wrong", "sslmode=prefer", Err("28P01")),
        ("wrong", "sslmode=disable", Err("\"secretive\"")),
    ] {
        check(&[secure.url(&format!("secretive:{password}"), "localhost", parameters)], expect);
    }
}

#[test]
fn a_refusal_names_the_server_and_a_remedy() {
    let secure = Secure::shared();
    let url = secure.url("clear", "localhost", "sslmode=disable").replace("/postgres?", "/nowhere?");
    let told = try_to_connect(&[url]).unwrap_err();
    assert!(told.starts_with(&format!("localhost:{}: ", secure.port())), "{told}");
    assert!(told.ends_with("make it by `createdb nowhere`, or by the statement CREATE DATABASE \"nowhere\""), "{told}");
}

#[test]
fn files_are_read_anew_for_each_connection() {
    let secure = Secure::shared();
    let read = |name: &str| std::fs::read_to_string(secure.folder.0.join(name)).unwrap();
    secure.write("renewed.pem", &read("wrong.pem"));
    let servers =
        Servers::parse(&[secure.url("muster", "localhost", "sslmode=verify-full&sslrootcert=~/renewed.pem")]).unwrap();
    runtime().block_on(async {
        assert!(connect(&servers, &settings()).await.is_err());
        secure.write("renewed.pem", &read("right.pem"));
        assert!(connect(&servers, &settings()).await.is_ok());
    });
}

#[test]
fn the_first_server_that_takes_writes_is_used() {
    let secure = Secure::shared();
    let standby = Postgres::start_with(&PostgresSettings {
        files: vec![("standby.signal".into(), String::new())],
        ..Default::default()
    })
    .unwrap();
    let standby = format!("{}?sslmode=disable", standby.url());
    let reader = secure.url("reader", "localhost", "");
    let writer = secure.url("muster", "localhost", "");
    let away = "postgres://muster@127.0.0.1:1/postgres".to_owned();
    check(&[away.clone(), standby.clone(), reader.clone(), writer], Ok(true));
    check(std::slice::from_ref(&standby), Err("a standby"));
    check(std::slice::from_ref(&reader), Err("takes no writes"));
    let told = try_to_connect(&[away, standby, reader]).unwrap_err();
    assert!(told.starts_with("127.0.0.1:1: ") && told.matches("takes no writes").count() == 2, "{told}");
}

#[test]
fn a_pooler_that_keeps_settings_back_is_refused() {
    let target: SocketAddr = format!("127.0.0.1:{}", Secure::shared().port()).parse().unwrap();
    let pooler = pooler(target);
    check(
        &[format!("postgres://muster@{pooler}/postgres?sslmode=disable")],
        Err("give Muster the address of PostgreSQL"),
    );
}

/// Forwards connections without the settings of their first packet, as PgBouncer does with `ignore_startup_parameters`.
fn pooler(target: SocketAddr) -> SocketAddr {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for mut client in listener.incoming().map_while(Result::ok) {
            let Ok(mut server) = TcpStream::connect(target) else { return };
            let mut length = [0; 4];
            client.read_exact(&mut length).unwrap();
            let mut packet = vec![0; u32::from_be_bytes(length) as usize - 4];
            client.read_exact(&mut packet).unwrap();
            let packet = without_options(&packet);
            server.write_all(&(packet.len() as u32 + 4).to_be_bytes()).unwrap();
            server.write_all(&packet).unwrap();
            let (mut from, mut to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
            thread::spawn(move || std::io::copy(&mut from, &mut to));
            thread::spawn(move || std::io::copy(&mut server, &mut client));
        }
    });
    address
}

fn without_options(packet: &[u8]) -> Vec<u8> {
    let (version, texts) = packet.split_at(4);
    let texts: Vec<&[u8]> = texts.split(|byte| *byte == 0).collect();
    let kept = texts.chunks(2).filter(|pair| pair[0] != b"options" && !pair[0].is_empty());
    let mut out = version.to_vec();
    kept.for_each(|pair| {
        pair.iter().for_each(|text| [text, &b"\0"[..]].iter().for_each(|part| out.extend_from_slice(part)))
    });
    out.push(0);
    out
}

#[test]
fn a_connection_that_others_may_hear_is_told() {
    let secure = Secure::shared();
    let heard = |host: &str, mode: &str| {
        let url = format!("postgres://muster@{host}:{}/postgres?sslmode={mode}", secure.port());
        let servers = Servers::parse(&[url]).unwrap();
        runtime().block_on(async { connect(&servers, &settings()).await.unwrap().overheard_at })
    };
    assert_eq!(heard("localhost", "disable"), None);
    // This address leads to this machine, too, which nothing in it says.
    assert_eq!(heard("0.0.0.0", "require"), None);
    assert_eq!(heard("0.0.0.0", "disable"), Some(format!("0.0.0.0:{}", secure.port())));
}

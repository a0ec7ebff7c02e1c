//! Tests of the precedence of sources.

use std::path::PathBuf;

use super::{
    super::{DatabaseAddress, KeyFile, Source, from_pairs, load},
    Case,
};
use crate::config::ServerMode;

#[test]
fn defaults_stand_where_nobody_says_otherwise() {
    let case = Case::new();
    let config = case.loaded().config;
    assert_eq!(config.general.name, "muster");
    assert_eq!(config.socket.port, 7350);
    assert_eq!(config.session.token_expiry_sec, 60);
    let path = case.folder.path().join("data/muster.db");
    assert_eq!(config.database.address, [DatabaseAddress::Sqlite { path }]);
    assert!(!config.dev);
}

#[test]
fn each_source_counts_over_the_one_before() {
    let files = Case::new().file("a.yml", "socket.port: 1001").file("b.yml", "socket: {port: 1002}");
    assert_eq!(files.loaded().config.socket.port, 1002);
    let environment = files.variable("MUSTER_SOCKET__PORT", "1003");
    assert_eq!(environment.loaded().config.socket.port, 1003);
    let flags = environment.flag("socket.port", "1004");
    let loaded = flags.loaded();
    assert_eq!(loaded.config.socket.port, 1004);
    assert_eq!(loaded.settings.get("socket.port").map(|s| s.source().clone()), Some(Source::Flag));
}

#[test]
fn files_may_be_named_by_the_environment() {
    let case = Case::new().file("a.yml", "name: from-file");
    let path = case.folder.path().join("a.yml").display().to_string();
    let variables = [("MUSTER_CONFIG".into(), format!("[{path}]").into())];
    let flags = from_pairs([("data_dir", case.flags[0].1.as_str())]).expect("known keys");
    let loaded = load(ServerMode::Dev, KeyFile::Create, &flags, variables).expect("loads");
    assert_eq!(loaded.config.general.name, "from-file");
}

#[test]
fn lists_are_replaced_and_repeated_flags_add() {
    let case = Case::new()
        .file("a.yml", "database.address: [root@one, root@two]")
        .flag("database.address", "root@three")
        .flag("database.address", "root@four");
    let loaded = case.loaded();
    let hosts: Vec<String> = loaded.config.database.address.iter().map(host).collect();
    assert_eq!(hosts, ["three", "four"]);
}

fn host(address: &DatabaseAddress) -> String {
    match address {
        DatabaseAddress::Postgres(address) => address.host.clone(),
        DatabaseAddress::Sqlite { path } => path.display().to_string(),
    }
}

#[test]
fn pairs_are_joined_by_name() {
    let case = Case::new()
        .file("a.yml", "socket: {response_headers: {A: 1, B: 2}}")
        .file("b.yml", "socket: {response_headers: [B=3]}")
        .variable("MUSTER_SOCKET__RESPONSE_HEADERS", "C=x=y")
        .flag("socket.response_headers", "A=4");
    let headers = case.loaded().config.socket.response_headers;
    let mut headers: Vec<(&str, &str)> =
        headers.iter().map(|(name, value)| (name.as_str(), value.to_str().expect("a text"))).collect();
    headers.sort_unstable();
    assert_eq!(headers, [("a", "4"), ("b", "3"), ("c", "x=y")]);
}

#[test]
fn lists_in_the_environment_are_written_as_in_yaml() {
    let case = Case::new().variable("MUSTER_DATABASE__ADDRESS", "[root@one, 'u:p,w@two']");
    let hosts: Vec<String> = case.loaded().config.database.address.iter().map(host).collect();
    assert_eq!(hosts, ["one", "two"]);
}

#[test]
fn tokens_live_longer_under_dev_unless_told_otherwise() {
    let lives = |case: &Case| {
        let session = case.loaded().config.session;
        (session.token_expiry_sec, session.refresh_token_expiry_sec)
    };
    assert_eq!(lives(&Case::new()), (60, 60 * 60));
    assert_eq!(lives(&Case::new().dev()), (2 * 60 * 60, 30 * 24 * 60 * 60));
    assert_eq!(lives(&Case::new().dev().flag("session.token_expiry_sec", "90")).0, 90);
}

#[test]
fn dev_listens_on_loopback_unless_told_otherwise() {
    let config = Case::new().dev().loaded().config;
    assert!(config.dev);
    assert_eq!(config.socket.listen_address().to_string(), "127.0.0.1:7350");
    let open = Case::new().dev().flag("socket.address", "0.0.0.0").loaded().config;
    assert_eq!(open.socket.listen_address().to_string(), "0.0.0.0:7350");
    let serve = Case::new().loaded().config;
    assert_eq!(serve.socket.listen_address().to_string(), "[::]:7350");
    let four = Case::new().flag("socket.protocol", "TCP4").loaded().config;
    assert_eq!(four.socket.listen_address().to_string(), "0.0.0.0:7350");
}

#[test]
fn the_flags_of_the_original_have_their_meaning() {
    let case = Case::new()
        .flag("socket.port", "7360")
        .flag("console.port", "7361")
        .flag("database.address", "sqlite:game.db")
        .flag("runtime.path", "modules")
        .flag("runtime.http_key", "a key of our own")
        .flag("session.token_expiry_sec", "7_200");
    let loaded = case.loaded();
    assert_eq!(loaded.config.socket.port, 7360);
    assert_eq!(loaded.config.database.address, [DatabaseAddress::Sqlite { path: PathBuf::from("game.db") }]);
    assert_eq!(loaded.config.runtime.http_key.expose(), "a key of our own");
    assert_eq!(loaded.config.session.token_expiry_sec, 7200);
    let told: Vec<&str> = loaded.notices.iter().map(|notice| notice.key).collect();
    assert_eq!(loaded.config.runtime.path, Some(PathBuf::from("modules")));
    assert_eq!(told, ["console.port"]);
}

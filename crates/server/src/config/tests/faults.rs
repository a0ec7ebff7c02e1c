//! Tests of wrong values of every kind, and of their messages.

use super::super::{KeyFile, ServerMode, from_pairs, load};
use super::Case;

#[track_caller]
fn check(name: &str, text: &str, expected: &str) {
    assert_eq!(Case::new().flag(name, text).faults(), format!("command line: {expected}"));
}

#[test]
fn values_that_do_not_fit_their_type() {
    check("socket.port", "http", "`socket.port` cannot be `http`: expected a whole number from 0 to 65535");
    check("socket.port", "65536", "`socket.port` cannot be `65536`: expected a whole number from 0 to 65535");
    check("socket.port", "0123", "`socket.port` cannot be `0123`: expected a whole number from 0 to 65535");
    check("socket.port", "", "`socket.port` cannot be ``: expected a whole number from 0 to 65535");
    check(
        "session.token_expiry_sec",
        "0",
        "`session.token_expiry_sec` cannot be `0`: expected a whole number from 1 to 4294967295",
    );
    check(
        "socket.max_connections",
        "5000000000",
        "`socket.max_connections` cannot be `5000000000`: expected a whole number from 0 to 4294967295",
    );
    check("session.single_socket", "maybe", "`session.single_socket` cannot be `maybe`: expected true or false");
    check("socket.protocol", "udp", "`socket.protocol` cannot be `udp`: expected one of tcp, tcp4, tcp6");
    check("logger.level", "loud", "`logger.level` cannot be `loud`: expected one of info, debug, warn, error");
    check(
        "socket.address",
        "eth0",
        "`socket.address` cannot be `eth0`: expected an IP address, localhost, or nothing for all interfaces",
    );
    for text in ["X", "=x", "a b=c", "X=\n", "Content-Length=5", "date=now", "Transfer-Encoding=chunked"] {
        let expected = format!(
            "`socket.response_headers` cannot be `{text}`: expected NAME=value pairs that are headers of HTTP, and \
             none of those by which the server frames its answers: Connection, Content-Encoding, Content-Length, \
             Content-Type, Date, Keep-Alive, TE, Trailer, Transfer-Encoding, Upgrade"
        );
        check("socket.response_headers", text, &expected);
    }
    check(
        "database.address",
        "mysql://u:hidden@db/game",
        "`database.address` cannot be `mysql://u:(secret)@db/game`: expected sqlite:PATH, \
         postgres://user:password@host:port/name or user:password@host:port/name; this one has another scheme",
    );
    check(
        "match.input_queue_size",
        "0",
        "`match.input_queue_size` cannot be `0`: expected a whole number from 1 to 4294967295",
    );
    // This key has no effect, and is checked all the same.
    check("satori.retry_count", "4", "`satori.retry_count` cannot be `4`: expected a whole number from 0 to 3");
}

#[test]
fn numbers_and_flags_as_go_and_yaml_write_them() {
    let case =
        Case::new().flag("socket.port", "0x1F90").flag("session.single_session", "T").flag("logger.stdout", "off");
    let config = case.loaded().config;
    assert_eq!(config.socket.port, 8080);
    assert!(config.session.single_session);
    assert!(!config.logger.stdout);
}

#[test]
fn a_fault_names_where_it_comes_from() {
    let case = Case::new().file("game.yml", "name: ok\nsocket:\n  port: x\n").variable("MUSTER_LIVE__SHARDS", "-1");
    assert_eq!(
        case.faults(),
        "environment variable MUSTER_LIVE__SHARDS: `live.shards` cannot be `-1`: expected a whole number from 0 \
         to 1024\n\
         game.yml:3: `socket.port` cannot be `x`: expected a whole number from 0 to 65535"
    );
}

#[test]
fn unknown_keys_are_refused_with_the_nearest_name() {
    check("socket.prot", "1", "there is no key `socket.prot`; did you mean `socket.port`?");
    check("sockets.port", "1", "there is no key `sockets.port`; did you mean `socket.port`?");
    check("token_expiry_sec", "1", "there is no key `token_expiry_sec`; did you mean `session.token_expiry_sec`?");
    check("zzz", "1", "there is no key `zzz`; `muster check --keys` lists all keys");
    assert_eq!(
        Case::new().file("game.yml", "socket:\n  prot: 1\n").faults(),
        "game.yml:2: there is no key `socket.prot`; did you mean `socket.port`?"
    );
    assert_eq!(
        Case::new().variable("MUSTER_SOCKET_PORT", "1").faults(),
        "environment variable MUSTER_SOCKET_PORT: there is no key `socket_port`; did you mean MUSTER_SOCKET__PORT?"
    );
}

#[test]
fn variables_of_container_platforms_are_no_keys() {
    let case = Case::new()
        .variable("MUSTER_SERVICE_HOST", "10.0.0.1")
        .variable("MUSTER_SERVICE_PORT_HTTP", "7350")
        .variable("MUSTER_PORT", "tcp://10.0.0.1:7350")
        .variable("MUSTER_PORT_7350_TCP_ADDR", "10.0.0.1")
        .variable("MUSTER_CONSOLE_PORT", "tcp://10.0.0.1:7351")
        .variable("PATH", "/bin");
    assert_eq!(case.loaded().notices, []);
}

#[test]
fn addresses_of_the_database_are_understood_or_refused() {
    let with =
        |addresses: &[&str]| addresses.iter().fold(Case::new(), |case, address| case.flag("database.address", address));
    with(&["postgres://u@a/game?sslmode=verify-full&sslrootcert=/ca.pem", "u@b/game"]).loaded();
    let fault = with(&["postgres://u@db/game?sslmode=sometimes"]).faults();
    assert!(fault.contains("say disable, allow, prefer, require, verify-ca or verify-full"), "{fault}");
    let fault = with(&["u@db/game?prefer_simple_protocol=true"]).faults();
    assert!(fault.contains("address of PostgreSQL itself"), "{fault}");
    let fault = with(&["u@db/game", "sqlite:a.db"]).faults();
    assert!(fault.contains("a file is the only one"), "{fault}");
}

#[test]
fn every_shard_needs_two_connections_to_postgresql() {
    let with = |connections: &str| {
        let case = Case::new().flag("live.shards", "2").flag("database.max_open_conns", connections);
        case.flag("database.address", "postgres://u@db/game")
    };
    let expected = "`database.max_open_conns` is 5, and each of 2 shards needs two connections to PostgreSQL, one of \
                    them for SQL of game code, and the server two more: set it to 6 at least, or have fewer shards \
                    (`live.shards`)";
    assert_eq!(with("5").faults(), expected);
    with("6").loaded();
    // A file needs none.
    Case::new().flag("database.max_open_conns", "1").loaded();
}

#[test]
fn an_address_is_of_the_wanted_version() {
    let at =
        |protocol: &str, address: &str| Case::new().flag("socket.protocol", protocol).flag("socket.address", address);
    let listens = |case: Case| case.loaded().config.socket.listen_address().to_string();
    let expected = "`socket.protocol` is tcp6 and `socket.address` is 10.0.0.1, an address of the other version of IP: \
                    change one";
    assert_eq!(at("tcp6", "10.0.0.1").faults(), expected);
    assert!(at("tcp4", "::1").faults().contains("`socket.protocol` is tcp4"));
    assert_eq!(listens(at("tcp4", "10.0.0.1")), "10.0.0.1:7350");
    assert_eq!(listens(at("tcp6", "")), "[::]:7350");
    assert_eq!(listens(at("tcp6", "localhost")), "[::1]:7350");
    assert_eq!(listens(Case::new().dev().flag("socket.protocol", "tcp6")), "[::1]:7350");
}

#[test]
fn a_prefix_that_metrics_cannot_have_is_told() {
    let notices = |prefix: &str| Case::new().flag("metrics.prefix", prefix).loaded().notices;
    for (prefix, begin) in [("my-game", "my_game_"), ("9 lives", "__lives_"), ("ä", "__"), ("a.b:c", "a_b_c_")] {
        let told = notices(prefix);
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].text.ends_with(&format!("the metrics begin with `{begin}`")), "{told:?}");
    }
    for fits in ["", "my_game", "Game9"] {
        assert_eq!(notices(fits), [], "{fits}");
    }
}

#[test]
fn metrics_that_nobody_elsewhere_can_read_are_told() {
    let notices = |case: Case| case.flag("metrics.prometheus_port", "9100").loaded().notices;
    let told = notices(Case::new());
    assert!(matches!(&*told, [one] if one.text.contains("set `metrics.address`")), "{told:?}");
    assert_eq!(notices(Case::new().flag("metrics.address", "127.0.0.1")), []);
    assert_eq!(notices(Case::new().flag("metrics.address", "")), []);
    assert_eq!(notices(Case::new().dev()), []);
}

#[test]
fn commands_that_serve_nobody_need_no_database_of_all_nodes() {
    let case = Case::new().flag("cluster.nats", "nats://127.0.0.1:4222");
    let flags = from_pairs(case.flags.iter().map(|(name, text)| (name.as_str(), text.as_str()))).expect("known keys");
    let of = |key_file| load(ServerMode::Serve, key_file, &flags, []).map(|_| ()).map_err(|faults| faults.to_string());
    assert_eq!(of(KeyFile::Ignore), Ok(()));
    assert!(of(KeyFile::Read).is_err_and(|faults| faults.contains("all nodes need one PostgreSQL")));
}

#[test]
fn contradictions_between_keys() {
    let fault = |case: Case| case.faults();
    let ping = fault(Case::new().flag("socket.ping_period_ms", "25000"));
    assert!(ping.starts_with("`socket.ping_period_ms` must be less than `socket.pong_wait_ms`"), "{ping}");
    let tls = fault(Case::new().flag("socket.ssl_certificate", "a.pem"));
    assert!(tls.starts_with("`socket.ssl_certificate` and `socket.ssl_private_key` belong together"), "{tls}");
    let name = fault(Case::new().flag("name", "longer than sixteen"));
    assert_eq!(name, "`name` must have 1 to 16 characters, and it has 19");
    let single = fault(Case::new().flag("session.single_match", "true"));
    assert_eq!(single, "`session.single_match` needs `session.single_socket`: set both or none");
    let logins = Case::new().flag("cluster.nats_user", "u").flag("cluster.nats_nkey_file", "seed");
    let expected = "`cluster.nats_user` and `cluster.nats_nkey_file` are ways to log in at NATS: set one";
    assert_eq!(fault(logins), expected);
    let certificate = fault(Case::new().flag("cluster.nats_certificate_file", "a.pem"));
    assert!(
        certificate.starts_with("`cluster.nats_certificate_file` and `cluster.nats_private_key_file` belong"),
        "{certificate}"
    );
    let port = fault(Case::new().flag("metrics.prometheus_port", "7350"));
    assert_eq!(port, "`metrics.prometheus_port` is also `socket.port`: change one");
}

//! Checks that concern more than one key: contradictions, published secrets, and warnings.

use super::{
    Config, DatabaseAddress, LogFormat, Notice, Problem, ServerMode, Status,
    groups::{
        cluster::{CLUSTER_NAME_MAX, ROLES},
        metrics::names_begin_with,
    },
    setting::{Setting, Settings},
};
use crate::database;
use crate::keys::{GENERATED, is_well_known};

/// Largest number of characters in the name of a node, as in the original. The name stands in ids and labels.
const MAX_NAME_CHARACTERS: usize = 16;
/// Number of bytes below which a signing key can be guessed in time.
const SHORT_SECRET_BYTES: usize = 16;
/// Least number of bytes of a signing key for players' servers: a shorter one can be guessed from one token.
const SECRET_BYTES_MIN: usize = 8;
/// Secrets that nobody but the servers knows.
const SIGNING_KEYS: [&str; 4] =
    ["session.encryption_key", "session.refresh_encryption_key", "runtime.http_key", "console.signing_key"];

/// Faults of secrets that somebody set: empty ones, and under `serve` those that are publicly known.
pub(super) fn given_secrets(mode: ServerMode, settings: &Settings) -> Vec<Problem> {
    let mut problems = Vec::new();
    for generated in &GENERATED {
        let Some(setting) = settings.get(generated.name).filter(|setting| setting.source().is_given()) else {
            continue;
        };
        let text = settings.text(generated.name);
        let why = if text.is_empty() {
            "it may not be empty; leave it out to have one generated".to_owned()
        } else if mode == ServerMode::Serve && is_well_known(text) {
            "this value is published, so it protects nothing; leave the key out to have one generated, set one \
             of your own, or use `muster dev` on your own machine"
                .to_owned()
        } else if mode == ServerMode::Serve && SIGNING_KEYS.contains(&generated.name) && text.len() < SECRET_BYTES_MIN {
            format!(
                "it has {} bytes and can be guessed: set one of {SHORT_SECRET_BYTES} bytes or more ({SECRET_BYTES_MIN} \
                 at least), or leave the key out to have one generated",
                text.len()
            )
        } else {
            continue;
        };
        problems.push(Problem::Refused { key: generated.name, source_text: setting.source().to_string(), why });
    }
    problems
}

/// Keys that contradict each other.
pub(super) fn contradictions(config: &Config, settings: &Settings) -> Vec<Problem> {
    let mut faults: Vec<String> = Vec::new();
    let mut fault = |wrong: bool, text: &str| {
        if wrong {
            faults.push(text.to_owned());
        }
    };
    let session = &config.session;
    let socket = &config.socket;
    let name_characters = config.general.name.chars().count();
    fault(
        !(1..=MAX_NAME_CHARACTERS).contains(&name_characters),
        &format!("`name` must have 1 to {MAX_NAME_CHARACTERS} characters, and it has {name_characters}"),
    );
    fault(config.general.data_dir.as_os_str().is_empty(), "`data_dir` may not be empty: name a folder");
    fault(
        !session.encryption_key.is_empty() && session.encryption_key == session.refresh_encryption_key,
        "`session.encryption_key` and `session.refresh_encryption_key` are equal: a session token would pass as a refresh token. Change one",
    );
    fault(
        socket.ping_period_ms >= socket.pong_wait_ms,
        "`socket.ping_period_ms` must be less than `socket.pong_wait_ms`: idle clients would be closed before they are asked",
    );
    fault(
        socket.ssl_certificate.is_some() != socket.ssl_private_key.is_some(),
        "`socket.ssl_certificate` and `socket.ssl_private_key` belong together: set both or none",
    );
    fault(
        config.metrics.prometheus_port != 0 && config.metrics.prometheus_port == socket.port,
        "`metrics.prometheus_port` is also `socket.port`: change one",
    );
    fault(
        config.failures.account_lockout_first_sec > config.failures.account_lockout_max_sec
            || config.failures.address_lockout_first_sec > config.failures.address_lockout_max_sec,
        "under `account.failures`, a first lock-out is longer than the longest: change one",
    );
    fault(
        config.socket.server_key.expose().contains(':'),
        "`socket.server_key` holds a colon, which ends the user name where clients send it: choose another",
    );
    fault(
        is_on(settings, "session.single_match") && !is_on(settings, "session.single_socket"),
        "`session.single_match` needs `session.single_socket`: set both or none",
    );
    fault(
        is_on(settings, "session.single_party") && !is_on(settings, "session.single_socket"),
        "`session.single_party` needs `session.single_socket`: set both or none",
    );
    fault(
        socket.is_of_other_version(),
        &format!(
            "`socket.protocol` is {} and `socket.address` is {}, an address of the other version of IP: change one",
            socket.protocol.word(),
            socket.listen_address().ip()
        ),
    );
    if let Err(why) = database::address(config) {
        fault(true, &why.0);
    }
    let cluster = &config.cluster;
    fault(
        !cluster.has_plain_name(),
        &format!(
            "`cluster.name` must have 1 to {CLUSTER_NAME_MAX} letters (a to z), digits, `-` and `_`: {:?} has others",
            cluster.name
        ),
    );
    let strangers: Vec<&str> = cluster.roles.iter().map(String::as_str).filter(|role| !ROLES.contains(role)).collect();
    fault(
        !strangers.is_empty(),
        &format!("`cluster.roles` knows {}, and not {}", ROLES.join(", "), strangers.join(", ")),
    );
    let logins = cluster.nats_logins();
    fault(logins.len() > 1, &format!("`{}` are ways to log in at NATS: set one", logins.join("` and `")));
    fault(
        cluster.nats_certificate_file.is_some() != cluster.nats_private_key_file.is_some(),
        "`cluster.nats_certificate_file` and `cluster.nats_private_key_file` belong together: set both or none",
    );
    faults.into_iter().map(Problem::Contradiction).collect()
}

/// Keys that contradict each other in a server, though not in a command that needs only some of them.
pub(super) fn contradictions_of_servers(config: &Config) -> Vec<Problem> {
    let mut faults = Vec::new();
    let is_remote = matches!(config.database.address.first(), Some(DatabaseAddress::Postgres(_)));
    let shards = config.live.shard_count();
    let (connections, connections_min) = (config.database.max_open_conns, config.live.connections_min());
    if is_remote && connections < connections_min {
        faults.push(format!(
            "`database.max_open_conns` is {connections}, and each of {shards} shards needs two connections to \
             PostgreSQL, one of them for SQL of game code, and the server two more: set it to {connections_min} at \
             least, or have fewer shards (`live.shards`)"
        ));
    }
    if config.cluster.is_joined() && !is_remote {
        let text = "`cluster.nats` is set and the database is a file of this machine: all nodes need one PostgreSQL, \
                    set `database.address` to it";
        faults.push(text.to_owned());
    }
    faults.into_iter().map(Problem::Contradiction).collect()
}

fn is_on(settings: &Settings, name: &str) -> bool {
    super::read::flag(settings.text(name)) == Some(true)
}

/// Messages about keys that are set and not honoured, and about unwise values.
pub(super) fn notices(settings: &Settings, config: &Config) -> Vec<Notice> {
    let mut notices: Vec<Notice> = settings.iter().filter_map(not_honoured).collect();
    let mut warn = |wrong: bool, name: &str, text: &str| {
        if let Some(setting) = settings.get(name).filter(|_| wrong) {
            notices.push(Notice { key: setting.key.name, source: setting.source().clone(), text: text.to_owned() });
        }
    };
    warn(
        config.logger.format == LogFormat::Stackdriver,
        "logger.format",
        "the format `stackdriver` is not built yet: lines are written as JSON",
    );
    for (name, prefix) in
        [("metrics.prefix", &config.metrics.prefix), ("metrics.custom_prefix", &config.metrics.custom_prefix)]
    {
        let begin = names_begin_with(prefix);
        warn(
            begin.trim_end_matches('_') != prefix.trim_end_matches('_'),
            name,
            &format!("names of Prometheus cannot hold all of its characters: the metrics begin with `{begin}`"),
        );
    }
    let is_given = |name: &str| settings.get(name).is_some_and(|setting| setting.source().is_given());
    warn(
        config.metrics.prometheus_port != 0
            && !is_given("metrics.address")
            && !config.socket.listen_address().ip().is_loopback(),
        "metrics.prometheus_port",
        "only programs on this machine can read the metrics: for a Prometheus elsewhere set `metrics.address` to an \
         interface that players cannot reach (empty for all), and perhaps `metrics.token`",
    );
    warn(
        !config.cluster.nats_password.is_empty() && config.cluster.nats_user.is_empty(),
        "cluster.nats_password",
        "it has no effect without `cluster.nats_user`",
    );
    warn(
        config.socket.ssl_certificate.is_some(),
        "socket.ssl_certificate",
        "TLS ends in this process, and a proxy in front does it better",
    );
    for name in SIGNING_KEYS {
        let given = settings.get(name).is_some_and(|setting| setting.source().is_given());
        warn(
            given && settings.text(name).len() < SHORT_SECRET_BYTES,
            name,
            &format!("it is shorter than {SHORT_SECRET_BYTES} bytes and can be guessed"),
        );
    }
    notices
}

fn not_honoured(setting: &Setting) -> Option<Notice> {
    let text = match setting.key.status {
        Status::Honoured => return None,
        Status::NotYet { feature } => format!("set but not honoured yet: {feature}"),
        Status::NoMeaning { why } => format!("set but without meaning here: {why}"),
    };
    let source = setting.source();
    source.is_given().then(|| Notice { key: setting.key.name, source: source.clone(), text })
}

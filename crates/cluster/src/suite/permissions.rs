//! The configuration of NATS that the guide shows, with the permissions in it: nodes do everything under it, and each
//! permission is needed.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use muster_domain::ids::Uuid;
use muster_live::matches::{MatchId, MatchLog as _, RecordNumber};
use muster_live::place::{Epoch, Partition};
use muster_testenv::{Nats as Server, NatsPlace, NatsSettings};

use super::ground::{NoLine, block_on, seal, within};
use super::logins::Authority;
use super::node::{all_receive, all_send, together};
use super::talker::Talker;
use crate::nats::{JetLogs, Nats, NatsError, NatsLogin, NatsOptions};
use crate::recovery::{RECOVERY_BYTES_MAX, Recovery};

const GUIDE: &str = include_str!("../../../../docs/guide/cluster.md");

/// Number of values of the largest size.
const LARGE_VALUES: usize = 8;

/// Permissions that a node needs only when reading the log of matches was disturbed, and begins anew.
const DISTURBED: [&str; 2] = ["CONSUMER.CREATE.muster_matches.>", "CONSUMER.DELETE.muster_matches.>"];

/// The file of the guide with the configuration of a NATS server.
fn configuration() -> String {
    let begins = GUIDE.find("```hcl not run: the tests of nodes start three servers with it\n").expect("the sample");
    let text: Vec<&str> = GUIDE[begins..].lines().skip(1).take_while(|line| line.trim() != "```").collect();
    text.join("\n")
}

/// The part of the configuration that says who may do what.
fn authorization() -> String {
    let text = configuration();
    let begins = text.find("authorization {").expect("users");
    let lines: Vec<&str> = text[begins..].lines().take_while(|line| *line != "}").collect();
    lines.join("\n").replace("BCRYPT", "secret") + "\n}\n"
}

fn login() -> NatsLogin {
    NatsLogin::Password { user: "muster".to_owned(), password: "secret".to_owned() }
}

/// The configuration on this machine.
fn placed(place: &NatsPlace<'_>, authority: &Authority) -> String {
    let mut text = configuration();
    let mut put = |from: &str, to: &str| {
        assert!(text.contains(from), "the sample has no {from}");
        text = text.replace(from, to);
    };
    put("server_name: nats-1", &format!("server_name: nats-{}", place.number + 1));
    put("0.0.0.0:4222", &format!("127.0.0.1:{}", place.port));
    put("0.0.0.0:6222", &format!("127.0.0.1:{}", place.route_ports[place.number]));
    put("/var/lib/nats", &place.folder.display().to_string());
    put("/etc/nats/", &format!("{}/", authority.folder().display()));
    put("BCRYPT", "secret");
    for (number, port) in place.route_ports.iter().enumerate() {
        put(&format!("nats-{}:6222", number + 1), &format!("127.0.0.1:{port}"));
    }
    text
}

/// Does with a connection what a server does, besides being a node: recovery data and the logs of durable matches.
async fn keep(node: &Nats, logs: &JetLogs) {
    // JetStream asks a reader of so much whether it keeps up.
    for number in 0..LARGE_VALUES {
        node.put(&format!("p.1.{number}"), Bytes::from(vec![7; RECOVERY_BYTES_MAX])).expect("room");
    }
    node.put("p.1.gone", Bytes::from_static(b"a room")).expect("room");
    node.flush().await;
    node.remove("p.1.gone").expect("room");
    node.flush().await;
    assert_eq!(node.load("p.1").await.expect("kept").len(), LARGE_VALUES);
    node.keys("p").await.expect("keys");

    let partition = Partition::new(7).expect("a partition");
    let log = logs.handle();
    log.take_over(partition, Epoch(1)).await.expect("taken");
    for record in [b"one", b"two"] {
        log.append(partition, record).expect("room");
        log.synced(partition, Duration::ZERO).await.expect("kept");
    }
    log.trim(partition, RecordNumber(1));
    logs.handle().take_over(partition, Epoch(2)).await.expect("taken over");
    assert_eq!(log.partitions().await, Ok(BTreeSet::from([partition])));
    let id = MatchId(Uuid::from_u128(7));
    logs.want_forgotten(id).await.expect("noted");
    assert_eq!(log.unwanted().await, Ok(BTreeSet::from([id])));
    log.forgotten(id);
    while log.unwanted().await.is_ok_and(|ids| !ids.is_empty()) {}
}

async fn connect(options: &NatsOptions) -> Result<(Arc<Nats>, JetLogs), NatsError> {
    let node = Nats::connect(options).await?;
    let logs = node.match_logs(options, &seal()).await?;
    Ok((Arc::new(node), logs))
}

#[test]
fn nodes_work_with_the_three_servers_of_the_guide() {
    let authority = Authority::create();
    authority.sign("server", "127.0.0.1");
    let servers: [Server; 3] = Server::start_configured(|place| placed(place, &authority)).expect("three servers");
    let urls: Vec<String> = servers.iter().map(|server| server.url().replace("nats://", "tls://")).collect();
    let options =
        NatsOptions { urls, login: login(), ca_file: Some(authority.ca_file()), replicas: 3, ..NatsOptions::default() };
    block_on(within("nodes that work", async {
        let mut talkers = Vec::new();
        let mut nodes = Vec::new();
        for _ in 0..3 {
            let (node, logs) = connect(&options).await.expect("a connection");
            talkers.push(Talker::start(node.clone(), Box::new(NoLine)));
            nodes.push((node, logs));
        }
        together(&mut talkers).await;
        all_send(&mut talkers, 200).await;
        all_receive(&mut talkers, 200).await;
        let (node, logs) = &nodes[0];
        keep(node, logs).await;
        for (node, _) in &nodes {
            assert_eq!(node.metrics().permissions_missing.load(Ordering::Relaxed), 0);
        }
    }));
    // A stranger has neither the login nor, between the servers, a certificate.
    block_on(within("a refusal", async {
        let stranger = NatsOptions { login: NatsLogin::None, ..options.clone() };
        let refused = Nats::connect(&stranger).await.map(drop);
        assert!(matches!(refused, Err(NatsError::LoginRefused { .. })), "{refused:?}");
    }));
}

/// Runs two nodes under these permissions until they have done everything, or until NATS says that one is missing.
fn outcome(more: String) -> Result<(), String> {
    let server = Server::start(NatsSettings { more, ..NatsSettings::default() }).expect("a server");
    let options = NatsOptions { urls: vec![server.url().to_owned()], login: login(), ..NatsOptions::default() };
    let mut outcome = Ok(());
    block_on(within("an outcome", async {
        let missing = |error: NatsError| match error {
            NatsError::NotPermitted(reason) => reason,
            other => panic!("{other}"),
        };
        let nodes = async { Ok((connect(&options).await?, connect(&options).await?)) };
        let ((one, logs), (two, _)) = match nodes.await.map_err(missing) {
            Ok(nodes) => nodes,
            Err(reason) => return outcome = Err(reason),
        };
        let work = async {
            let mut talkers = [one.clone(), two.clone()].map(|node| Talker::start(node, Box::new(NoLine)));
            together(&mut talkers).await;
            all_send(&mut talkers, 200).await;
            all_receive(&mut talkers, 200).await;
            keep(&one, &logs).await;
            let refused = [&one, &two].map(|node| node.metrics().permissions_missing.load(Ordering::Relaxed));
            assert_eq!(refused, [0, 0]);
        };
        tokio::select! {
            biased;
            reason = one.refused() => outcome = Err(reason),
            reason = two.refused() => outcome = Err(reason),
            () = work => {}
        }
    }));
    outcome
}

#[test]
fn each_permission_of_the_guide_is_needed_and_no_other() {
    let all = authorization();
    assert_eq!(outcome(all.clone()), Ok(()));
    let is_always = |line: &&str| line.trim().starts_with('"') && !DISTURBED.iter().any(|rare| line.contains(rare));
    let permissions: Vec<&str> = all.lines().filter(is_always).collect();
    assert!(permissions.len() > 5, "{permissions:?}");
    for permission in permissions {
        let without = all.replace(permission, "");
        let missing = outcome(without).expect_err(&format!("{permission} is not needed"));
        assert!(missing.contains("Permissions Violation"), "{permission}: {missing}");
    }
}

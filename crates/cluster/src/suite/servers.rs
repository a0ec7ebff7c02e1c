//! Tests of connections to a NATS server that is killed or halted, of frames that come too fast, and of a process that
//! is killed while it listens.

use std::collections::HashSet;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use muster_testenv::{Nats as Server, NatsSettings};

use super::ground::{address, block_on, next, state, until_up, within};
use crate::bus::{Bus, BusError, Inbox, Probe};
use crate::nats::{FRAMES_WAITING_MAX, Nats, NatsInbox, NatsOptions, WRITES_WAITING_MAX};
use crate::registry::{Registry, RegistryError, RegistryEvent};

fn options(url: &str) -> NatsOptions {
    NatsOptions { urls: vec![url.to_owned()], ..NatsOptions::default() }
}

async fn connect(options: &NatsOptions) -> Arc<Nats> {
    Arc::new(within("a connection", Nats::connect(options)).await.expect("a connection"))
}

/// Probes until the answer is `expect`: the bus needs a moment to learn what happened.
async fn until_probed(node: &Nats, number: u32, expect: Probe) {
    let asking = async {
        while node.probe(address(number)).await != expect {
            tokio::task::yield_now().await;
        }
    };
    within("an answer", asking).await;
}

#[test]
fn a_killed_server_comes_back_with_what_it_acknowledged() {
    let server = Server::start(NatsSettings::default()).expect("a server");
    block_on(async {
        let (one, two) = (connect(&options(server.url())).await, connect(&options(server.url())).await);
        let mut inbox = two.listen(address(2)).await.expect("listening");
        let mut watch = two.watch();
        state(&mut watch).await;
        let revision = one.create("view", Bytes::from_static(b"1"), None).await.expect("created");
        next(&mut watch).await;

        let mut frames = Frames::default();
        frames.send_until(&one, 100).await;
        server.kill().expect("killed");
        until_up(&*one, false).await;
        until_up(&*two, false).await;
        assert_eq!(one.send(address(2), Bytes::new()), Err(BusError::Down));
        assert_eq!(one.probe(address(2)).await, Probe::Unknown);
        let write = one.update("view", Bytes::from_static(b"2"), revision, None).await;
        assert!(matches!(write, Err(RegistryError::Unavailable(_))), "{write:?}");
        server.start_again().expect("started");
        until_up(&*one, true).await;
        until_probed(&one, 2, Probe::Listening).await;

        frames.send_until(&one, 200).await;
        frames.receive_last(&mut inbox).await;
        let entries = state(&mut watch).await;
        assert_eq!(entries.len(), 1);
        assert_eq!((&*entries[0].value, entries[0].revision), (&b"1"[..], revision));
        one.update("view", Bytes::from_static(b"2"), revision, None).await.expect("updated");
    });
}

/// Numbered frames: each arrives unchanged, once or not at all.
#[derive(Default)]
struct Frames {
    sent: u32,
}

impl Frames {
    /// Sends frames up to this number, in steps small enough for every queue on the way.
    async fn send_until(&mut self, node: &Nats, number: u32) {
        while self.sent < number {
            self.sent += 1;
            let frame = [self.sent.to_le_bytes(); 8].concat();
            node.send(address(2), frame.into()).expect("sent");
            tokio::task::yield_now().await;
        }
    }

    async fn receive_last(&self, inbox: &mut NatsInbox) {
        let mut arrived = HashSet::new();
        while !arrived.contains(&self.sent) {
            let frame = within("a frame", inbox.receive()).await.expect("a frame");
            let number = u32::from_le_bytes(frame[..4].try_into().expect("a number"));
            assert_eq!(frame, [number.to_le_bytes(); 8].concat(), "it was changed on the way");
            assert!((1..=self.sent).contains(&number), "nobody sent it");
            assert!(arrived.insert(number), "it came twice");
        }
        assert!((101..=200).all(|number| arrived.contains(&number)), "a frame was lost on a sound connection");
    }
}

#[test]
fn what_comes_too_fast_is_refused_or_lost_and_counted() {
    let server = Server::start(NatsSettings::default()).expect("a server");
    block_on(async {
        let (one, two) = (connect(&options(server.url())).await, connect(&options(server.url())).await);
        let mut inbox = two.listen(address(2)).await.expect("listening");
        // The loop does not await, so nothing is written meanwhile.
        let sent = (0..=WRITES_WAITING_MAX).map(|_| one.send(address(2), Bytes::from_static(b"frame")));
        let refused = sent.filter(|outcome| *outcome == Err(BusError::Full)).count();
        assert_eq!(refused, 1);
        assert_eq!(one.metrics().frames_refused.load(Ordering::Relaxed), 1);

        let mut waiting = WRITES_WAITING_MAX;
        while two.metrics().inbox_overflows.load(Ordering::Relaxed) == 0 {
            waiting += usize::from(one.send(address(2), Bytes::from_static(b"frame")).is_ok());
            tokio::task::yield_now().await;
        }
        assert!(waiting > FRAMES_WAITING_MAX, "lost with {waiting}");
        let mut arrived = 0;
        while inbox.try_receive().is_some() {
            arrived += 1;
        }
        assert_eq!(arrived, FRAMES_WAITING_MAX);
    });
}

#[test]
fn a_halted_server_leaves_writes_unknown() {
    let server = Server::start(NatsSettings::default()).expect("a server");
    block_on(async {
        let node = connect(&options(server.url())).await;
        let mut watch = node.watch();
        state(&mut watch).await;
        server.pause().expect("halted");
        // The process may answer a few more probes before it halts.
        let mut number = 0;
        let key = loop {
            let key = format!("view.{number}");
            match within("an outcome", node.create(&key, Bytes::from_static(b"mine"), None)).await {
                Ok(_) => number += 1,
                Err(RegistryError::Unknown(_)) => break key,
                outcome => panic!("{outcome:?}"),
            }
        };
        until_up(&*node, false).await;
        server.resume().expect("resumed");
        until_up(&*node, true).await;
        // The second write succeeds or not, depending on the first; either way the value is there.
        match within("an outcome", node.create(&key, Bytes::from_static(b"mine"), None)).await {
            Ok(_) | Err(RegistryError::Conflict) => {}
            outcome => panic!("{outcome:?}"),
        }
        loop {
            let entries = match next(&mut watch).await {
                RegistryEvent::State(entries) => entries,
                RegistryEvent::Set(entry) => vec![entry],
                event => panic!("{event:?}"),
            };
            if entries.iter().any(|entry| entry.key == key && entry.value == "mine") {
                break;
            }
        }
    });
}

/// Name of the environment variable with the server's URL, for the process that will be killed.
const URL_VARIABLE: &str = "MUSTER_CLUSTER_TEST_NATS";

#[test]
fn a_killed_process_listens_no_more() {
    if let Ok(url) = std::env::var(URL_VARIABLE) {
        return listen_for_ever(&url);
    }
    let server = Server::start(NatsSettings::default()).expect("a server");
    let mut child = start_listener(server.url());
    block_on(async {
        let node = connect(&options(server.url())).await;
        assert_eq!(node.probe(address(2)).await, Probe::Listening);
        signal(&child, "STOP");
        // The answer must not be that nobody listens: a halted process may come back.
        until_probed(&node, 2, Probe::Unknown).await;
        signal(&child, "CONT");
        until_probed(&node, 2, Probe::Listening).await;
        child.kill().expect("killed");
        until_probed(&node, 2, Probe::Nobody).await;
        child.wait().expect("it has ended");
    });
}

fn listen_for_ever(url: &str) {
    block_on(async {
        let node = connect(&options(url)).await;
        let mut inbox = node.listen(address(2)).await.expect("listening");
        println!("listening");
        while inbox.receive().await.is_some() {}
    });
}

/// Starts this test again in a child process, which listens until it is killed.
fn start_listener(url: &str) -> Child {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(["--exact", "suite::servers::a_killed_process_listens_no_more", "--nocapture"]);
    let mut child = command.env(URL_VARIABLE, url).stdout(Stdio::piped()).spawn().expect("a process");
    let lines = BufReader::new(child.stdout.take().expect("its output")).lines();
    let is_listening = lines.map_while(Result::ok).any(|line| line.ends_with("listening"));
    assert!(is_listening, "the process ended by itself");
    child
}

fn signal(child: &Child, name: &str) {
    let status = Command::new("kill").arg(format!("-{name}")).arg(child.id().to_string()).status();
    assert!(status.expect("kill runs").success());
}

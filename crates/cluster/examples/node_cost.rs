//! Measures a batch between two running nodes on this machine, over a NATS server of its own on the loopback: `cargo
//! run --release -p muster-cluster --example node_cost`.

#![expect(clippy::print_stdout, reason = "a program that prints what it measured")]

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use hdrhistogram::Histogram;
use muster_cluster::NodeNumber;
use muster_cluster::link::{Batch, LinkConfig};
use muster_cluster::membership::{Compatibility, NodeConfig, Roles};
use muster_cluster::nats::{Nats, NatsOptions};
use muster_cluster::node::{NodeClock, NodeEvent, NodeOptions, RunningNode, SendError};
use muster_cluster::seal::{Seal, SealUse};
use muster_testenv::{Nats as Server, NatsSettings};
use rustix::time::{ClockId, clock_gettime};
use tokio::sync::mpsc;

const BATCH_BYTES: usize = 256;

/// Runs: name, number of batches, and the pause between them.
const RUNS: [(&str, u64, Option<Duration>); 2] =
    [("one each ms", 3_000, Some(Duration::from_millis(1))), ("as fast as it goes", 300_000, None)];

fn main() -> Result<()> {
    let server = Server::start(NatsSettings::default())?;
    println!("batches of {BATCH_BYTES} bytes between two nodes, a thread each, one server");
    let start = Instant::now();
    let (tell, told) = sync_channel(1);
    std::thread::scope(|threads| {
        let receiver = threads.spawn(|| runtime()?.block_on(receive(server.url(), start, &tell)));
        runtime()?.block_on(send(server.url(), start, &told))?;
        receiver.join().map_err(|_| anyhow::anyhow!("the receiver panicked"))?
    })
}

fn runtime() -> Result<tokio::runtime::Runtime> {
    Ok(tokio::runtime::Builder::new_current_thread().enable_all().build()?)
}

/// Without seals if the environment says so, for comparison.
fn usage() -> SealUse {
    if std::env::var_os("WITHOUT_SEALS").is_some() { SealUse::Off } else { SealUse::Require }
}

/// Starts a node and waits until it sees another. Answers its events from then on, and the other node's number.
async fn join(url: &str, name: &str) -> Result<(RunningNode, mpsc::Receiver<NodeEvent>, NodeNumber)> {
    let options = NatsOptions { urls: vec![url.to_owned()], ..NatsOptions::default() };
    let outside = Arc::new(Nats::connect(&options).await?);
    let node = NodeConfig {
        name: name.into(),
        shards: 1,
        weight: 1,
        roles: Roles::ALL,
        compatibility: Compatibility::default(),
        epoch_floor: 0,
    };
    let options = NodeOptions {
        node,
        links: LinkConfig::default(),
        clock: NodeClock::of_system(),
        seal: Seal::new(&[7; 32], usage()),
    };
    let (node, mut events) = RunningNode::start(outside, options);
    let (mut me, mut nodes, mut is_online) = (0, Vec::new(), false);
    while nodes.len() < 2 || !is_online {
        match events.recv().await.context("the node ended")? {
            NodeEvent::Joined(address) => me = address.number,
            NodeEvent::View { new, .. } => nodes = new.nodes().iter().map(|node| node.number).collect(),
            NodeEvent::Online => is_online = true,
            NodeEvent::Refused(reason) => anyhow::bail!("a node may not join: {reason}"),
            _ => {}
        }
    }
    let other = nodes.into_iter().find(|number| *number != me).context("there is no other node")?;
    Ok((node, events, other))
}

async fn receive(url: &str, start: Instant, tell: &SyncSender<Histogram<u64>>) -> Result<()> {
    let (_node, mut events, _) = join(url, "receiver").await?;
    for (_, count, _) in RUNS {
        let mut latency = Histogram::new(3)?;
        while latency.len() < count {
            if let NodeEvent::Batch { bytes, .. } = events.recv().await.context("the node ended")? {
                let sent_ns = u64::from_le_bytes(*bytes.first_chunk().context("no time in it")?);
                latency.record(u64::try_from(start.elapsed().as_nanos())?.saturating_sub(sent_ns))?;
            }
        }
        tell.send(latency)?;
    }
    Ok(())
}

async fn send(url: &str, start: Instant, told: &Receiver<Histogram<u64>>) -> Result<()> {
    let (node, mut events, to) = join(url, "sender").await?;
    // The events of this node have no other reader.
    tokio::spawn(async move { while events.recv().await.is_some() {} });
    for (name, count, pause) in RUNS {
        let (began, used) = (Instant::now(), processor_time());
        let mut ticks = tokio::time::interval(pause.unwrap_or(Duration::from_secs(1)));
        for _ in 0..count {
            if pause.is_some() {
                ticks.tick().await;
            }
            let mut next = batch(start)?;
            while let Err(SendError::Full(again)) = node.outbound().try_send(to, next) {
                node.outbound().room(to).await;
                next = again;
            }
        }
        let latency = loop {
            match told.try_recv() {
                Ok(latency) => break latency,
                Err(_) => tokio::time::sleep(Duration::from_millis(1)).await,
            }
            ensure!(began.elapsed() < Duration::from_secs(60), "the batches do not arrive");
        };
        print(name, &latency, began.elapsed(), processor_time().saturating_sub(used));
    }
    println!("  {:?}", node.metrics());
    Ok(())
}

fn batch(start: Instant) -> Result<Batch> {
    let sent_ns = u64::try_from(start.elapsed().as_nanos())?;
    let mut batch = Batch::with_capacity(BATCH_BYTES);
    batch.append(|out| {
        out.extend_from_slice(&sent_ns.to_le_bytes());
        out.resize(out.len() + BATCH_BYTES - 8, 7);
    });
    Ok(batch)
}

/// Processor time of this process, which runs both nodes but not the server.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or_default())
}

fn print(name: &str, latency: &Histogram<u64>, took: Duration, used: Duration) {
    println!(
        "  {name}: p50 {} us, p99 {} us, max {} us; {:.0} batches/s, {:.2} us of processor time each",
        latency.value_at_quantile(0.5) / 1_000,
        latency.value_at_quantile(0.99) / 1_000,
        latency.max() / 1_000,
        latency.len() as f64 / took.as_secs_f64(),
        used.as_secs_f64() * 1e6 / latency.len() as f64,
    );
}

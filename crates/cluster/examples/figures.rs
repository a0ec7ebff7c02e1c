//! Measures the bus and the registry on this machine, over NATS servers of its own on the loopback: `cargo run
//! --release -p muster-cluster --example figures`.

#![expect(clippy::print_stdout, reason = "a program that prints what it measured")]

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use bytes::Bytes;
use hdrhistogram::Histogram;
use muster_cluster::bus::{Address, Bus, Inbox};
use muster_cluster::nats::{Nats, NatsOptions};
use muster_cluster::registry::Registry;
use muster_testenv::{Nats as Server, NatsSettings};
use rustix::time::{ClockId, clock_gettime};
use tokio::sync::Notify;

const TO: Address = Address { number: 2, incarnation: 7 };
const FRAME_BYTES: usize = 256;
/// Frames under way in the run at full speed.
const WINDOW: u64 = 4_096;
const WRITES: u32 = 2_000;

/// Counts the frames that arrived, and tells the sender now and then.
#[derive(Default)]
struct Received {
    count: AtomicU64,
    more: Notify,
}

fn main() -> Result<()> {
    let server = Server::start(NatsSettings::default())?;
    println!("frames of {FRAME_BYTES} bytes between two clients, a thread each, one server");
    frames(server.url(), 2_000, Some(Duration::from_millis(1)), "one each ms")?;
    frames(server.url(), 20_000, Some(Duration::from_micros(100)), "one each 100 us")?;
    frames(server.url(), 400_000, None, "as fast as it goes")?;
    drop(server);
    println!("compare-and-swap, one after another, {WRITES} writes");
    for sync_always in [false, true] {
        let settings = || NatsSettings { sync_always, ..NatsSettings::default() };
        let sync = if sync_always { "sync_interval: always" } else { "sync_interval by default" };
        let server = Server::start(settings())?;
        swaps(&[&server], &format!("one server, {sync}"))?;
        drop(server);
        let servers = Server::start_three(settings())?;
        swaps(&servers.each_ref(), &format!("three servers, {sync}"))?;
    }
    Ok(())
}

fn runtime() -> Result<tokio::runtime::Runtime> {
    Ok(tokio::runtime::Builder::new_current_thread().enable_all().build()?)
}

fn options(servers: &[&str]) -> NatsOptions {
    let urls = servers.iter().map(|url| (*url).to_owned()).collect();
    NatsOptions { urls, replicas: servers.len(), ..NatsOptions::default() }
}

/// Processor time of this process, which runs both clients but not the server.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or_default())
}

fn frames(url: &str, count: u64, pace: Option<Duration>, name: &str) -> Result<()> {
    let start = Instant::now();
    let received = Received::default();
    let (ready, is_ready) = std::sync::mpsc::sync_channel(1);
    let (took, used, latency) = std::thread::scope(|threads| -> Result<_> {
        let receiver = threads.spawn(|| -> Result<Histogram<u64>> {
            let mut latency = Histogram::new(3)?;
            runtime()?.block_on(async {
                let node = Nats::connect(&options(&[url])).await?;
                let mut inbox = node.listen(TO).await?;
                ready.send(())?;
                for _ in 0..count {
                    let frame = inbox.receive().await.context("the bus is gone")?;
                    let sent_ns = u64::from_le_bytes(frame[..8].try_into()?);
                    let now_ns = u64::try_from(start.elapsed().as_nanos())?;
                    latency.record(now_ns.saturating_sub(sent_ns))?;
                    let so_far = received.count.fetch_add(1, Ordering::Relaxed) + 1;
                    if so_far % (WINDOW / 4) == 0 || so_far == count {
                        received.more.notify_one();
                    }
                }
                anyhow::Ok(())
            })?;
            Ok(latency)
        });
        is_ready.recv()?;
        let (began, used_before) = (Instant::now(), processor_time());
        runtime()?.block_on(send(url, count, pace, start, &received))?;
        let latency = receiver.join().map_err(|_| anyhow::anyhow!("the receiver panicked"))??;
        Ok((began.elapsed(), processor_time().saturating_sub(used_before), latency))
    })?;
    println!(
        "  {name}: p50 {} us, p99 {} us, max {} us; {:.0} frames/s, {:.2} us of processor time each",
        latency.value_at_quantile(0.5) / 1_000,
        latency.value_at_quantile(0.99) / 1_000,
        latency.max() / 1_000,
        count as f64 / took.as_secs_f64(),
        used.as_secs_f64() * 1e6 / count as f64,
    );
    Ok(())
}

async fn send(url: &str, count: u64, pace: Option<Duration>, start: Instant, received: &Received) -> Result<()> {
    let node = Nats::connect(&options(&[url])).await?;
    let mut ticks = tokio::time::interval(pace.unwrap_or(Duration::from_secs(1)).max(Duration::from_millis(1)));
    // The clock ticks in milliseconds, so a faster pace sends small groups.
    let per_tick = pace.map_or(u64::MAX, |pace| (1_000_000 / pace.as_nanos().max(1)).try_into().unwrap_or(1).max(1));
    let mut frame = [0; FRAME_BYTES];
    let mut sent = 0;
    while sent < count {
        if pace.is_some() {
            ticks.tick().await;
        }
        for _ in 0..per_tick.min(count - sent).min(64) {
            frame[..8].copy_from_slice(&u64::try_from(start.elapsed().as_nanos())?.to_le_bytes());
            node.send(TO, Bytes::copy_from_slice(&frame))?;
            sent += 1;
        }
        tokio::task::yield_now().await;
        while sent.saturating_sub(received.count.load(Ordering::Relaxed)) > WINDOW {
            received.more.notified().await;
        }
    }
    // The last frames may still wait to be written.
    while received.count.load(Ordering::Relaxed) < count {
        received.more.notified().await;
    }
    Ok(())
}

fn swaps(servers: &[&Server], name: &str) -> Result<()> {
    let urls: Vec<&str> = servers.iter().map(|server| server.url()).collect();
    let mut latency = Histogram::<u64>::new(3)?;
    runtime()?.block_on(async {
        let node = Nats::connect(&options(&urls)).await?;
        let value = Bytes::from(vec![7; 4_096]);
        let mut revision = node.create("view", value.clone(), None).await?;
        for _ in 0..WRITES {
            let began = Instant::now();
            revision = node.update("view", value.clone(), revision, Some(Duration::from_secs(6))).await?;
            latency.record(u64::try_from(began.elapsed().as_nanos())?)?;
        }
        anyhow::Ok(())
    })?;
    println!(
        "  {name}: p50 {} us, p99 {} us, max {} us",
        latency.value_at_quantile(0.5) / 1_000,
        latency.value_at_quantile(0.99) / 1_000,
        latency.max() / 1_000,
    );
    Ok(())
}

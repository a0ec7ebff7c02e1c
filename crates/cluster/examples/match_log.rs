//! Measures the logs of durable matches: the wait for a sync by the number of concurrent waiters, and the time to read
//! ten thousand records.
//!
//! `cargo run --release -p muster-cluster --example match_log -- FOLDER`, or a NATS server's URL in place of the
//! folder.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use futures_util::future::join_all;
use hdrhistogram::Histogram;
use muster_cluster::match_log::files::{FileLogs, FileOptions};
use muster_cluster::nats::{Nats, NatsOptions};
use muster_cluster::seal::{Seal, SealUse};
use muster_live::matches::MatchLog;
use muster_live::place::{Epoch, Partition};

const RECORD: [u8; 200] = [7; 200];
const FOR: Duration = Duration::from_secs(5);

#[expect(clippy::print_stdout, reason = "the figures are what it is for")]
fn main() -> Result<()> {
    let place = std::env::args().nth(1).context("a folder or a NATS server's URL")?;
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
        if place.contains("://") {
            let cluster = format!("bench{}", std::process::id());
            let options = NatsOptions { urls: vec![place], cluster, ..NatsOptions::default() };
            let node = Nats::connect(&options).await?;
            let logs = node.match_logs(&options, &Seal::new(&[7; 32], SealUse::Require)).await?;
            waits(&logs.handle()).await?;
            reads(&logs.handle(), &logs.handle()).await?;
            println!("{:?}", logs.stats());
        } else {
            let logs = FileLogs::open(Path::new(&place), FileOptions::default())?;
            waits(&logs.handle()).await?;
            reads(&logs.handle(), &logs.handle()).await?;
            println!("{:?}", logs.stats());
        }
        Ok(())
    })
}

fn partition(number: u16) -> Result<Partition> {
    Partition::new(number).context("a partition")
}

#[expect(clippy::print_stdout, reason = "the figures are what it is for")]
async fn waits(log: &dyn MatchLog) -> Result<()> {
    for number in 0..100 {
        log.take_over(partition(number)?, Epoch(1)).await?;
    }
    for waiters in [1, 10, 100] {
        let (mut took, began) = (Histogram::<u64>::new(3)?, Instant::now());
        while began.elapsed() < FOR {
            let round = Instant::now();
            let mut waits = Vec::new();
            for number in 0..waiters {
                log.append(partition(number)?, &RECORD)?;
                waits.push(log.synced(partition(number)?, Duration::ZERO));
            }
            let ends = join_all(waits.into_iter().map(async |wait| (wait.await, round.elapsed()))).await;
            for (outcome, elapsed) in ends {
                outcome?;
                took.record(u64::try_from(elapsed.as_micros())?)?;
            }
        }
        let a_second = took.len() as f64 / began.elapsed().as_secs_f64();
        let at = |share| took.value_at_quantile(share) as f64 / 1_000.0;
        println!("{waiters} waiting: {a_second:.0} records/s, p50 {:.2} ms, p99 {:.2} ms", at(0.5), at(0.99));
    }
    Ok(())
}

#[expect(clippy::print_stdout, reason = "the figures are what it is for")]
async fn reads(former: &dyn MatchLog, owner: &dyn MatchLog) -> Result<()> {
    for (partition, batch) in [(partition(200)?, 1), (partition(201)?, 100)] {
        former.take_over(partition, Epoch(1)).await?;
        for number in 1..=10_000 {
            former.append(partition, &RECORD)?;
            if number % batch == 0 {
                former.synced(partition, Duration::ZERO).await?;
            }
        }
        let began = Instant::now();
        let records = owner.take_over(partition, Epoch(2)).await?.len();
        println!("{records} records, {batch} in each write, read in {:.1} ms", began.elapsed().as_secs_f64() * 1e3);
    }
    Ok(())
}

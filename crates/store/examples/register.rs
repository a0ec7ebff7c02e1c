//! Measures sign-ups and sign-ins by device on a store, without a server around it. On PostgreSQL the CPU time is that
//! of the client alone.
//!
//! `cargo run --release -p muster-store --example register -- ADDRESS [COUNT] [CONCURRENCY] [v4|v7]`

#![allow(clippy::print_stdout, reason = "it is a command-line tool")]

use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result};
use muster_domain::UserId;
use muster_domain::ports::accounts::{Identifier, NewAccount};
use muster_domain::time::Timestamp;
use muster_store::{Address, Opened, PostgresOptions, SqliteOptions, StoreMetrics, migrate, open};
use uuid::Uuid;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let address = arguments.first().context("name a database: sqlite:PATH or postgres://…")?;
    let number = |index: usize, or: u64| arguments.get(index).map_or(Ok(or), |text| text.parse());
    let (count, concurrency) = (number(1, 50_000)?, number(2, 64)?);
    let ordered = arguments.get(3).is_some_and(|version| version == "v7");

    let metrics = Arc::new(StoreMetrics::default());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let address = Address::parse(address)?;
    let store = runtime.block_on(async {
        migrate(&address).await?;
        open(&address, &SqliteOptions::default(), &PostgresOptions::default(), Arc::clone(&metrics)).await
    })?;
    let store = Rc::new(store);
    for (name, created) in [("register", true), ("authenticate", false)] {
        let (started, cpu_us) = (Instant::now(), cpu_us()?);
        let before = metrics.snapshot();
        runtime.block_on(sign_in_all(&store, count, concurrency, ordered, created))?;
        let (elapsed, cpu_us) = (started.elapsed().as_secs_f64(), self::cpu_us()? - cpu_us);
        println!(
            "{name}: {count} in {elapsed:.2} s, {:.0}/s, {:.1} us CPU each",
            count as f64 / elapsed,
            cpu_us / count as f64
        );
        for ((name, before), (_, after)) in before.into_iter().zip(metrics.snapshot()) {
            if after != before {
                println!("  {name} {}", after.wrapping_sub(before));
            }
        }
    }
    Ok(())
}

async fn sign_in_all(store: &Rc<Opened>, count: u64, concurrency: u64, ordered: bool, created: bool) -> Result<()> {
    let local = tokio::task::LocalSet::new();
    let next = Rc::new(std::cell::Cell::new(0));
    let mut tasks = Vec::new();
    for _ in 0..concurrency {
        let (store, next) = (Rc::clone(store), Rc::clone(&next));
        tasks.push(local.spawn_local(async move {
            loop {
                let index = next.replace(next.get() + 1);
                if index >= count {
                    return Ok::<_, anyhow::Error>(());
                }
                // Both rounds use the same devices in the same sequence. The names are hashes, so they do not arrive in
                // alphabetical order.
                let device_text = Uuid::new_v5(&Uuid::NAMESPACE_OID, &index.to_be_bytes()).to_string();
                let device = Identifier::Device(device_text.clone());
                let user_id = id(index, ordered);
                let username = format!("player{}", &device_text[..13]);
                let account = NewAccount { user_id, username, now: Timestamp(index as i64) };
                let login = store.store().login(&device, Some(&account)).await?.context("neither found nor created")?;
                anyhow::ensure!(login.created == created, "device {index}: created {}", login.created);
            }
        }));
    }
    local
        .run_until(async {
            for task in tasks {
                task.await??;
            }
            Ok(())
        })
        .await
}

/// A user id: random, or with `ordered` a number that grows, followed by random bits.
fn id(index: u64, ordered: bool) -> UserId {
    let random = Uuid::new_v5(&Uuid::NAMESPACE_URL, &index.to_be_bytes()).as_u128();
    UserId(Uuid::from_u128(if ordered { u128::from(index) << 64 | (random >> 64) } else { random }))
}

/// CPU time of this process so far, in microseconds: all threads, user and system.
fn cpu_us() -> Result<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let fields: Vec<&str> = stat.rsplit_once(')').context("unknown form")?.1.split_whitespace().collect();
    let ticks = |index: usize| fields[index].parse::<f64>();
    Ok((ticks(11)? + ticks(12)?) * 10_000.0)
}

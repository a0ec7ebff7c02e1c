//! Ping and pong over open sockets.
//!
//! Closed loop: each connection has one ping under way. Open loop: pings leave by the clock on the connections in
//! turn, answered or not, and their latency counts from when they were meant to leave.

use std::rc::Rc;
use std::time::Instant;

use super::Connections;
use super::pingers::Pingers;
use super::sockets::{self, Player};
use crate::load::envelopes::{self, CID_LEN};
use crate::load::{Fault, Format};
use crate::pacing::{Arrivals, run_arrivals};
use crate::plan::Event;
use crate::worker::{Worker, say};

pub async fn run(worker: Rc<Worker>) -> anyhow::Result<Connections> {
    match worker.plan.rate {
        None => run_closed(worker).await,
        Some(rate) => run_open(worker, rate).await,
    }
}

async fn run_closed(worker: Rc<Worker>) -> anyhow::Result<Connections> {
    let connections = sockets::let_players_come(&worker, sockets::stand_still, ping_in_turn).await?;
    say(&Event::Ready)?;
    let window = worker.wait_for_go().await;
    worker.measure_window(window).await?;
    worker.drain().await;
    Ok(connections)
}

async fn ping_in_turn(worker: Rc<Worker>, mut player: Player) {
    let window = match sockets::idle_until_go(&worker, &mut player).await {
        Ok(window) => window,
        Err(fault) => return worker.fail(&fault),
    };
    let format = worker.plan.format;
    let mut frame = Vec::new();
    let mut number = 0;
    let mut started = Instant::now();
    while started < window.measure_to {
        number += 1;
        let cid = envelopes::cid(number);
        frame.clear();
        envelopes::write_ping(format, cid, &mut frame);
        worker.begin_operation();
        let outcome = ping_once(&mut player, format, &frame, cid).await;
        let usable = outcome.as_ref().err().is_none_or(Fault::leaves_connection_usable);
        worker.record_closed(&window, started, outcome);
        if !usable {
            return;
        }
        started = Instant::now();
    }
    stay(&worker, player).await;
}

async fn ping_once(player: &mut Player, format: Format, frame: &[u8], cid: [u8; CID_LEN]) -> Result<(), Fault> {
    player.writer.send(frame).await?;
    sockets::receive_pong(player, format, cid).await
}

/// Holds the connection open until the worker ends.
pub async fn stay(worker: &Worker, mut player: Player) {
    loop {
        if let Err(fault) = player.reader.receive(&player.writer, |_, _| {}).await {
            return worker.fail(&fault);
        }
    }
}

async fn run_open(worker: Rc<Worker>, rate: f64) -> anyhow::Result<Connections> {
    let pingers = Pingers::new(worker.clone(), Worker::record_open);
    let connections = pingers.let_players_come().await?;
    say(&Event::Ready)?;
    let window = worker.wait_for_go().await;
    let arrivals = Arrivals::new(window.begin, rate, worker.plan.spread, worker.plan.seed);
    let pinging = run_arrivals(arrivals, window.measure_to, |intended| pingers.ping(intended));
    let (measured, pinged) = tokio::join!(worker.measure_window(window), pinging);
    measured.and(pinged)?;
    worker.drain().await;
    Ok(connections)
}

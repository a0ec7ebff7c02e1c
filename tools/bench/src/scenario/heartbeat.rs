//! `heartbeat`: ping and pong over open sockets.
//!
//! Closed loop: each connection has one ping under way. Open loop: pings leave by the clock on the connections in turn,
//! answered or not, and their latency counts from the intended start.

use std::rc::Rc;

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

async fn ping_in_turn(worker: Rc<Worker>, player: Player) {
    let format = worker.plan.format;
    let mut frame = Vec::new();
    let ping = async |player: &mut Player, number| {
        let cid = envelopes::cid(number);
        frame.clear();
        envelopes::write_ping(format, cid, &mut frame);
        ping_once(player, format, &frame, cid).await
    };
    sockets::work_in_turn(worker, player, ping).await;
}

async fn ping_once(player: &mut Player, format: Format, frame: &[u8], cid: [u8; CID_LEN]) -> Result<(), Fault> {
    player.writer.send(frame).await?;
    sockets::receive_pong(player, format, cid).await
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

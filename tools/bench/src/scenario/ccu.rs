//! `ccu`: players come at a rate, sign in, open a socket and stay. A latency counts from a player's intended arrival
//! until the socket is open.

use std::rc::Rc;
use std::time::Instant;

use super::sockets::{self, ArrivingPlayer, Player};
use super::{Connections, names};
use crate::plan::Event;
use crate::worker::{Worker, say};

pub async fn run(worker: Rc<Worker>) -> anyhow::Result<Connections> {
    say(&Event::Ready)?;
    worker.wait_for_go().await;
    worker.begin_measuring();
    worker.tally.borrow_mut().count(names::DROPS, 0);
    let arrived = {
        let worker = worker.clone();
        async move |player: Player, arrival: ArrivingPlayer| {
            count_arrival(&worker, &player, arrival.intended);
            Ok(player)
        }
    };
    let connections = sockets::let_players_come(&worker, arrived, hold).await?;
    worker.end_measuring();
    say(&Event::Measured)?;
    tokio::time::sleep(worker.plan.duration).await;
    Ok(connections)
}

fn count_arrival(worker: &Worker, player: &Player, intended: Instant) {
    worker.begin_operation();
    worker.end_operation();
    let latency = intended.elapsed();
    worker.note_answer(Instant::now(), latency);
    let mut tally = worker.tally.borrow_mut();
    tally.ok += 1;
    tally.served += 1;
    tally.latency.record(latency);
    tally.record_other(names::CONNECT, player.connecting_since.elapsed());
}

async fn hold(worker: Rc<Worker>, mut player: Player) {
    loop {
        match player.reader.receive(&player.writer, |_, _| {}).await {
            Ok(received) if received.server_pings == 0 => {}
            Ok(received) => worker.tally.borrow_mut().count(names::SERVER_PINGS, received.server_pings),
            Err(fault) => {
                let mut tally = worker.tally.borrow_mut();
                tally.count(names::DROPS, 1);
                return tally.fail_many(format!("dropped: {fault}"), 1);
            }
        }
    }
}

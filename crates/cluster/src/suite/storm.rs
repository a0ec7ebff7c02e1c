//! Tests of running nodes under many faults: lines are cut, frames lost and reordered, nodes crash and join. Batches
//! from one node to another arrive in order and once, or their link has ended.

use std::time::Duration;

use fastrand::Rng;
use futures_util::future::join_all;

use super::ground::{HubGround, in_process};
use super::node::together;
use super::talker::Talker;
use crate::hub::Faults;
use crate::node::{NodeCommand, SendError};

const SEEDS: u64 = 4;
/// Number of faults, one after the other.
const TROUBLES: usize = 30;
const TALKERS_MAX: usize = 4;
/// Longest pause between two faults: enough to be voted out.
const PAUSE_MAX_MS: u64 = 8_000;

#[test]
fn whatever_goes_wrong_batches_arrive_in_order_or_the_link_ends() {
    for seed in 0..SEEDS {
        in_process(async |ground: HubGround| {
            println!("seed {seed}");
            let mut rng = Rng::with_seed(seed);
            let mut talkers = vec![Talker::join(&ground).await, Talker::join(&ground).await];
            for _ in 0..TROUBLES {
                trouble(&ground, &mut talkers, &mut rng).await;
                let pause = Duration::from_millis(rng.u64(0..PAUSE_MAX_MS));
                join_all(talkers.iter_mut().map(|talker| talk(talker, pause))).await;
            }
            ground.0.set_faults(Faults::default());
            talkers.iter().for_each(|talker| talker.line.mend());
            settle(&mut talkers).await;
        });
    }
}

async fn trouble(ground: &HubGround, talkers: &mut Vec<Talker>, rng: &mut Rng) {
    let any = rng.usize(..talkers.len());
    match rng.u32(0..10) {
        0 if talkers.len() > 1 => drop(talkers.swap_remove(any)),
        1 | 2 if talkers.len() < TALKERS_MAX => talkers.push(Talker::join(ground).await),
        3 | 4 => talkers[any].line.cut(),
        5..=7 => talkers.iter().for_each(|talker| talker.line.mend()),
        8 => talkers.iter().for_each(|talker| talker.line.cut()),
        _ => {
            let delay_max = Duration::from_millis(rng.u64(0..100));
            ground.0.set_faults(Faults { loss: rng.f64() * 0.5, delay_max });
        }
    }
}

/// Sends to everybody now and then, and takes in events, for the time of `pause`.
async fn talk(talker: &mut Talker, pause: Duration) {
    let end = tokio::time::Instant::now() + pause;
    let mut turns = tokio::time::interval(Duration::from_millis(200));
    loop {
        tokio::select! {
            () = tokio::time::sleep_until(end) => return,
            _ = turns.tick() => say(talker),
            event = talker.events.recv() => talker.live(event).await,
        }
        if talker.is_voted_out {
            talker.is_voted_out = false;
            talker.command(NodeCommand::Rejoin).await;
        }
    }
}

fn say(talker: &mut Talker) {
    for node in talker.nodes.clone() {
        // The node may know already that the link has ended, before its talker has read the event.
        let sent = if node == talker.me { Ok(()) } else { talker.try_send(node) };
        assert!(matches!(sent, Ok(()) | Err(SendError::NoLink)), "{sent:?}");
    }
}

/// Waits until all talkers are together again and everything sent over current links has arrived.
async fn settle(talkers: &mut [Talker]) {
    let rest = Duration::from_secs(60);
    join_all(talkers.iter_mut().map(|talker| talk(talker, rest))).await;
    together(talkers).await;
    let said: Vec<_> = talkers.iter().map(|talker| (talker.me, talker.sent.clone())).collect();
    for talker in talkers {
        for (from, sent) in said.iter().filter(|(from, _)| *from != talker.me).collect::<Vec<_>>() {
            let count = sent.get(&talker.me).copied().unwrap_or_default();
            talker.receives(*from, count).await;
        }
    }
}

//! Tests of running nodes under many faults: lines are cut, frames lost and reordered, nodes crash and join. Batches
//! from one node to another arrive in order and once, or their link has ended.

use std::time::Duration;

use fastrand::Rng;
use futures_util::future::join_all;

use super::ground::{HubGround, in_process};
use super::node::together;
use super::player::Player;
use crate::hub::Faults;
use crate::node::{NodeCommand, NotTaken};

const SEEDS: u64 = 4;
/// Number of faults, one after the other.
const TROUBLES: usize = 30;
const PLAYERS_MAX: usize = 4;
/// Longest pause between two faults: enough to be voted out.
const PAUSE_MAX_MS: u64 = 8_000;

#[test]
fn whatever_goes_wrong_batches_arrive_in_order_or_the_link_ends() {
    for seed in 0..SEEDS {
        in_process(async |ground: HubGround| {
            println!("seed {seed}");
            let mut rng = Rng::with_seed(seed);
            let mut players = vec![Player::join(&ground).await, Player::join(&ground).await];
            for _ in 0..TROUBLES {
                trouble(&ground, &mut players, &mut rng).await;
                let pause = Duration::from_millis(rng.u64(0..PAUSE_MAX_MS));
                join_all(players.iter_mut().map(|player| talk(player, pause))).await;
            }
            ground.0.set_faults(Faults::default());
            players.iter().for_each(|player| player.line.mend());
            settle(&mut players).await;
        });
    }
}

async fn trouble(ground: &HubGround, players: &mut Vec<Player>, rng: &mut Rng) {
    let any = rng.usize(..players.len());
    match rng.u32(0..10) {
        0 if players.len() > 1 => drop(players.swap_remove(any)),
        1 | 2 if players.len() < PLAYERS_MAX => players.push(Player::join(ground).await),
        3 | 4 => players[any].line.cut(),
        5..=7 => players.iter().for_each(|player| player.line.mend()),
        8 => players.iter().for_each(|player| player.line.cut()),
        _ => {
            let delay_max = Duration::from_millis(rng.u64(0..100));
            ground.0.set_faults(Faults { loss: rng.f64() * 0.5, delay_max });
        }
    }
}

/// Sends to everybody now and then, and takes in events, for the time of `pause`.
async fn talk(player: &mut Player, pause: Duration) {
    let end = tokio::time::Instant::now() + pause;
    let mut turns = tokio::time::interval(Duration::from_millis(200));
    loop {
        tokio::select! {
            () = tokio::time::sleep_until(end) => return,
            _ = turns.tick() => say(player),
            event = player.events.recv() => player.live(event).await,
        }
        if player.is_voted_out {
            player.is_voted_out = false;
            player.command(NodeCommand::Rejoin).await;
        }
    }
}

fn say(player: &mut Player) {
    for node in player.nodes.clone() {
        // The node may know already that the link has ended, before its player has read the event.
        let sent = if node == player.me { Ok(()) } else { player.try_send(node) };
        assert!(matches!(sent, Ok(()) | Err(NotTaken::NoLink)), "{sent:?}");
    }
}

/// Waits until all players are together again and everything sent over current links has arrived.
async fn settle(players: &mut [Player]) {
    let rest = Duration::from_secs(60);
    join_all(players.iter_mut().map(|player| talk(player, rest))).await;
    together(players).await;
    let said: Vec<_> = players.iter().map(|player| (player.me, player.sent.clone())).collect();
    for player in players {
        for (from, sent) in said.iter().filter(|(from, _)| *from != player.me).collect::<Vec<_>>() {
            let count = sent.get(&player.me).copied().unwrap_or_default();
            player.receives(*from, count).await;
        }
    }
}

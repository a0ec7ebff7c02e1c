//! Random events in random order, with handlers that return at random moments.

use std::collections::{BTreeMap, BTreeSet};

use fastrand::Rng;

use super::*;

/// Record of everything that the handler and the players have been told so far.
#[derive(Default)]
struct Ledger {
    /// Players of whose join, and not yet of whose leave, the handler has heard.
    here: BTreeSet<SessionRef>,
    /// Sessions on the match's stream.
    entered: BTreeSet<SessionRef>,
    /// Number of messages that each player has sent.
    sent: BTreeMap<u32, u64>,
    /// Number of the latest message of each player that the handler has heard.
    heard: BTreeMap<SessionRef, u64>,
    /// Number of requests that wait for an answer, by the id of the request.
    asked: BTreeMap<u64, usize>,
}

impl Ledger {
    /// Checks that a callback fits what the handler has heard before.
    fn called(&mut self, callback: &Callback) {
        match callback {
            Callback::Join(came) => {
                came.iter().for_each(|it| assert!(self.here.insert(it.session), "came twice: {it:?}"));
            }
            Callback::Leave(left) => {
                left.iter().for_each(|it| assert!(self.here.remove(&it.presence.session), "was not there: {it:?}"));
            }
            Callback::Loop(inputs) => inputs.iter().for_each(|input| {
                let number = u64::from_be_bytes(input.data[..].try_into().unwrap());
                let last = self.heard.insert(input.sender.session, number);
                assert!(last.is_none_or(|last| last < number), "{input:?} behind {last:?}");
            }),
            _ => {}
        }
    }

    fn effect(&mut self, effect: &MatchEffect) {
        match effect {
            MatchEffect::Enter(_, member) => assert!(self.entered.insert(member.presence.session)),
            MatchEffect::Expel(_, listener) => assert!(self.entered.remove(&listener.session)),
            MatchEffect::Reply(to, _) => {
                let left = self.asked.get_mut(&to.id).expect("somebody asked");
                *left = left.checked_sub(1).expect("one answer each");
            }
            _ => {}
        }
    }
}

fn run(seed: u64) -> u64 {
    let mut rng = Rng::with_seed(seed);
    let mut world = World::with_match(MatchesConfig { inputs_max: 8, ..MatchesConfig::default() }, rng.u32(1..=128));
    let mut ledger = Ledger::default();
    for _ in 0..400 {
        let number = rng.u32(1..=6);
        match rng.u32(0..12) {
            0 | 1 => {
                *ledger.asked.entry(u64::from(number)).or_default() += 1;
                world.attempt(number);
            }
            2 => {
                // A shard says once that a session has gone, and drops answers for the session from then on.
                world.gone(number);
                ledger.entered.remove(&session(number));
            }
            3 | 4 => {
                let sent = ledger.sent.entry(number).or_default();
                *sent += 1;
                let data = Bytes::copy_from_slice(&sent.to_be_bytes());
                let received_at = Timestamp::from_seconds(1);
                world.send(number, PlayerMessage { op_code: 1, data, reliable: true, received_at });
            }
            5 => {
                *ledger.asked.entry(100).or_default() += 1;
                world.signal(100);
            }
            6 => world.pass(rng.u64(0..50)),
            _ => {
                if let Some(call) = world.calls.first() {
                    ledger.called(&call.callback);
                    let outcome = match &call.callback {
                        Callback::JoinAttempt { .. } if rng.u32(0..4) == 0 => Outcome::Decided(Err("no".into())),
                        Callback::JoinAttempt { .. } => Outcome::Decided(Ok(())),
                        Callback::Signal(_) => Outcome::Signalled("!".into()),
                        _ => Outcome::GoesOn,
                    };
                    let kicks = rng.u32(0..10) == 0;
                    let acts = if kicks { vec![Act::Kick(vec![session_id(number)])] } else { Vec::new() };
                    world.returns(Return { outcome, acts });
                }
            }
        }
        world.effects.drain(..).for_each(|effect| ledger.effect(&effect));
    }
    world.returns_over();
    world.effects.drain(..).for_each(|effect| ledger.effect(&effect));
    assert!(ledger.entered.is_empty(), "all players are expelled at the end");
    ledger.heard.values().sum()
}

impl World {
    /// Ends the match by the return of the next call.
    fn returns_over(&mut self) {
        while self.calls.is_empty() {
            self.pass(1_000);
        }
        self.returns(done(Outcome::Over));
        assert!(self.calls.is_empty() && self.matches.stats().matches == 0);
    }
}

#[test]
fn handlers_hear_of_everybody_once_and_inputs_in_order_and_everybody_is_answered() {
    let heard: u64 = (0..300).map(run).sum();
    assert!(heard > 1_000, "{heard}");
}

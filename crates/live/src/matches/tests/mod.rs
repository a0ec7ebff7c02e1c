//! Tests of matches. The tests answer the calls of handlers themselves, so no game code runs.

mod admission;
mod durable;
mod listing;
mod random;
mod rules;
mod timers;

use std::sync::Arc;

use bytes::Bytes;
use muster_domain::ids::{SessionId, Uuid};
use muster_domain::{Error, Timestamp, UserId};

use super::message::PlayerMessage;
use super::*;
use crate::party::Member;
use crate::place::Place;
use crate::plane::{Listener, RequestRef};
use crate::registry::SessionKey;
use crate::session::Millis;
use crate::stream::{Encoding, Presence, SessionRef};

const ID: MatchId = MatchId(Uuid::from_u128(1));

fn session(number: u32) -> SessionRef {
    SessionRef { place: Place::new(0, 0), key: SessionKey::of_test(number) }
}

fn session_id(number: u32) -> SessionId {
    SessionId(Uuid::from_u128(u128::from(number) << 64))
}

fn presence(number: u32) -> Presence {
    Presence {
        session: session(number),
        session_id: session_id(number),
        user_id: UserId(Uuid::from_u128(u128::from(number))),
        username: format!("user-{number}").into(),
        hidden: false,
        persistence: false,
        status: None,
        only_session_since: None,
    }
}

fn attempt(id: MatchId, number: u32) -> Attempt {
    let presence = presence(number);
    let listener = Listener { session: presence.session, encoding: Encoding::Json, serial: 1 };
    let reply_to = Some(request(number));
    Attempt { id, member: Member { presence, listener }, joiner: Arc::default(), reply_to }
}

fn request(number: u32) -> RequestRef {
    RequestRef { place: Place::new(0, 0), id: u64::from(number) }
}

fn goes() -> Return {
    Return { outcome: Outcome::GoesOn, acts: Vec::new() }
}

fn done(outcome: Outcome) -> Return {
    Return { outcome, acts: Vec::new() }
}

fn begun(tick_rate: u32, label: &str) -> Return {
    done(Outcome::Begun { tick_rate, label: label.into() })
}

fn say(text: &'static str) -> Broadcast {
    Broadcast { op_code: 7, data: Bytes::from_static(text.as_bytes()), to: None, sender: None, reliable: true }
}

/// Matches, the calls that are under way, and all other effects so far.
struct World {
    now: Millis,
    id: MatchId,
    matches: Matches,
    calls: Vec<Call>,
    effects: Vec<MatchEffect>,
}

impl World {
    fn new(config: MatchesConfig) -> Self {
        Self { now: 1_000, id: ID, matches: Matches::new(config), calls: Vec::new(), effects: Vec::new() }
    }

    /// A world with a match that has begun.
    fn with_match(config: MatchesConfig, tick_rate: u32) -> Self {
        Self::with_match_of(ID, config, tick_rate)
    }

    fn with_match_of(id: MatchId, config: MatchesConfig, tick_rate: u32) -> Self {
        let mut world = Self { id, ..Self::new(config) };
        world.create(id, 1);
        world.returns(begun(tick_rate, "{}"));
        world.effects.clear();
        world
    }

    /// The answer to a request for a listing, after as many slices as it takes.
    fn list(&mut self, asked: &ListQuery) -> Vec<Listed> {
        let mut answer = self.matches.begin_listing(None, asked.clone());
        while answer.is_none() {
            answer = self.matches.run_slice().pop().map(|(_, answer)| answer);
        }
        let Some(Ok(MatchAnswer::Listed(listed))) = answer else { panic!("{answer:?}") };
        listed
    }

    fn create(&mut self, id: MatchId, at_sec: i64) {
        let created_at = Timestamp::from_seconds(at_sec);
        let creation = Creation {
            handler: "arena".into(),
            params: Bytes::from_static(b"{}"),
            created_at,
            chain: Chain::default(),
            is_durable: id.is_durable(),
        };
        self.step(|world, out| world.matches.create(id, creation, Some(request(0)), out));
    }

    fn step(&mut self, act: impl FnOnce(&mut Self, &mut Vec<MatchEffect>)) {
        let mut out = Vec::new();
        act(self, &mut out);
        for effect in out {
            match effect {
                MatchEffect::Call(call) => {
                    let is_first = self.calls.iter().all(|other| other.id != call.id);
                    assert!(is_first, "a second call while one is under way: {call:?}");
                    self.calls.push(*call);
                }
                effect => self.effects.push(effect),
            }
        }
    }

    fn attempt(&mut self, number: u32) {
        self.step(|world, out| world.matches.attempt(world.now, attempt(world.id, number), out));
    }

    /// Lets a player join, up to the return of the join.
    fn come(&mut self, number: u32) {
        self.attempt(number);
        self.returns(done(Outcome::Decided(Ok(()))));
        self.returns(goes());
        self.effects.clear();
    }

    fn gone(&mut self, number: u32) {
        let left = LeaveReason::Left;
        self.step(|world, out| world.matches.gone(world.now, world.id, session(number), left, out));
    }

    fn input(&mut self, number: u32, text: &'static str) {
        let data = Bytes::from_static(text.as_bytes());
        self.send(number, PlayerMessage { op_code: 1, data, reliable: true, received_at: Timestamp::from_seconds(9) });
    }

    fn send(&mut self, number: u32, message: PlayerMessage) {
        self.matches.input(self.id, session(number), message);
    }

    fn signal(&mut self, number: u32) {
        self.signal_of(number, Vec::new());
    }

    /// Sends a signal with a chain: the matches whose callbacks wait for the answer.
    fn signal_of(&mut self, number: u32, chain: Vec<MatchId>) {
        self.step(|world, out| {
            world.matches.signal(world.now, world.id, "?".into(), chain.into(), Some(request(number)), out);
        });
    }

    /// Lets the first call that is under way return. Answers the callback of that call.
    fn returns(&mut self, returned: Return) -> Callback {
        let call = self.calls.remove(0);
        self.step(|world, out| world.matches.returned(world.now, call.reference(), returned, out));
        call.callback
    }

    fn pass(&mut self, ms: Millis) {
        let until = self.now + ms;
        while let Some(due) = self.matches.next_due().filter(|due| *due <= until) {
            self.now = due;
            self.step(|world, out| world.matches.turn(world.now, out));
        }
        self.now = until;
    }

    /// The callback of the first call that is under way.
    fn called(&self) -> Option<&Callback> {
        self.calls.first().map(|call| &call.callback)
    }

    fn answers(&self) -> Vec<(u64, Result<&MatchAnswer, &Error>)> {
        let answers = self.effects.iter().filter_map(|effect| match effect {
            MatchEffect::Reply(to, answer) => Some((to.id, answer.as_ref())),
            _ => None,
        });
        answers.collect()
    }

    fn expelled(&self) -> Vec<SessionRef> {
        let expelled = self.effects.iter().filter_map(|effect| match effect {
            MatchEffect::Expel(_, listener) => Some(listener.session),
            _ => None,
        });
        expelled.collect()
    }

    fn told(&self) -> Vec<(Option<Vec<SessionId>>, Bytes)> {
        let told = self.effects.iter().filter_map(|effect| match effect {
            MatchEffect::Tell { to, event: MatchEvent::Data(broadcast), .. } => {
                Some((to.clone(), broadcast.data.clone()))
            }
            _ => None,
        });
        told.collect()
    }
}

fn everything() -> ListQuery {
    ListQuery { query: None, label: None, sizes: (0, usize::MAX), limit: 10 }
}

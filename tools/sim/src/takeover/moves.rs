//! Sessions that move to another place. The simulation does the part of the server's rim.
//!
//! Frames that arrive for a session at its new place are kept until the session is there. Nodes may die at any moment
//! of a move: then the session either goes on, or is gone for everybody.

use bytes::Bytes;
use muster_domain::sessions::{Claims, Vars};
use muster_live::place::NodeNumber;
use muster_live::plane::{Answer, Claim, ClaimRefusal, Departed, Moved, Reply, RequestRef, Up};
use muster_live::{Place, SessionRef, StreamKey};

use super::act::{info, session_id, user_id};
use super::world::{OpenRequest, World};
use crate::scenario::Who;
use crate::violation::{Check, Checked, Violation};

/// The largest number of attempts to get answers from all owners.
const ATTEMPTS_MAX: u32 = 100;

/// A session that moves. The move is over when the session's new place has the session, or knows that it will not come.
#[derive(Debug)]
pub(super) struct Move {
    pub to: SessionRef,
    /// Frames that came for the session at its new place.
    kept: Vec<Bytes>,
    home: HomeState,
    /// Whether the session must close once the move is over.
    is_ending: bool,
}

/// The state of the move at the session's former place.
#[derive(Debug)]
enum HomeState {
    /// The former place has not heard of the move.
    Unasked,
    /// The session asks owners to know it at its new place. `open` requests have no answer yet, and `again` lists
    /// streams whose owners must be asked anew.
    Binding { request: RequestRef, open: usize, again: Vec<StreamKey>, attempts: u32, has_pool: bool },
    /// The session has left its former place.
    Left,
    /// The session ended at its former place.
    Over,
}

impl World {
    /// Begins a move, as if the session's next socket had arrived at another node.
    pub(super) fn begin_move(&mut self, who: Who) -> Checked {
        let (at, encoding) = (self.clients[&who].at, self.clients[&who].encoding);
        let awake = self.cluster.awake().into_iter();
        let knows = |place: &Place| self.cluster.planes[place].routes().has(at.place);
        let places: Vec<Place> = awake.filter(|place| place.node() != at.place.node() && knows(place)).collect();
        // A session moves only while none of its client's requests is open.
        if places.is_empty()
            || self.asked.values().any(|asked| asked.who(&self.tickets) == Some(who))
            || self.tickets.steps_of(who)
        {
            return Ok(());
        }
        let place = places[self.rng.usize(0..places.len())];
        let key = self.step(place, |plane, _, _| plane.expect(info(who), who.to_string().into(), encoding))?;
        let to = SessionRef { place, key };
        self.trace.step(|| format!("session {who} is to move from {at:?} to {to:?}"), &[who as u64]);
        self.by_ref.insert(to, who);
        self.history.excuse(who);
        self.moves.insert(who, Move { to, kept: Vec::new(), home: HomeState::Unasked, is_ending: false });
        let claim = Claim { session_id: session_id(who), user_id: user_id(who), encoding, received: 0, to };
        let Some(request) = self.ask(place, OpenRequest::Claim { who, to }) else { return Ok(()) };
        self.step(place, |plane, now, out| plane.ask_place(now, at.place, Up::Claim { request, claim }, out))
    }

    /// Keeps a frame for a session that is not at its new place yet. Returns whether the frame is for such a session.
    pub(super) fn keep_for(&mut self, at: SessionRef, frame: &Bytes) -> bool {
        let expected = self.moves.values_mut().find(|moving| moving.to == at);
        expected.map(|moving| moving.kept.push(frame.clone())).is_some()
    }

    /// Lets a moving session close after its move. Returns whether the session is moving.
    pub(super) fn will_end(&mut self, who: Who) -> bool {
        self.moves.get_mut(&who).map(|moving| moving.is_ending = true).is_some()
    }

    /// Handles the claim of another place to a session of this one.
    pub(super) fn claimed(&mut self, place: Place, request: RequestRef, claim: Claim) -> Checked {
        let found = self.moves.iter_mut().find(|(_, moving)| moving.to == claim.to);
        let Some((who, Move { home: home @ HomeState::Unasked, .. })) = found else {
            return self.refuse_claim(place, request);
        };
        let (who, key) = (*who, self.clients[who].at.key);
        *home = HomeState::Binding { request, open: 0, again: Vec::new(), attempts: 0, has_pool: false };
        let streams = self.step(place, |plane, _, _| plane.depart(key, claim.to))?;
        self.bind(who, streams)
    }

    fn refuse_claim(&mut self, place: Place, request: RequestRef) -> Checked {
        let reply = Reply::Session(Err(ClaimRefusal::Gone));
        self.step(place, |plane, _, out| plane.answer(request, reply, out))
    }

    fn bind(&mut self, who: Who, streams: Vec<StreamKey>) -> Checked {
        let home = self.clients[&who].at;
        if let Some(Move { home: HomeState::Binding { open, .. }, .. }) = self.moves.get_mut(&who) {
            *open += streams.len();
        }
        for stream in streams {
            let asked = OpenRequest::Rebind { who, stream: stream.clone() };
            let Some(request) = self.ask(home.place, asked) else { continue };
            self.step(home.place, |plane, now, out| plane.rebind(now, home.key, &stream, request, out))?;
        }
        Ok(())
    }

    /// Notes the answer of an owner, or that none will come.
    pub(super) fn rebind_answered(&mut self, who: Who, stream: StreamKey, reply: &Reply) {
        if let Some(Move { home: HomeState::Binding { open, again, .. }, .. }) = self.moves.get_mut(&who) {
            *open -= 1;
            again.extend((*reply != Reply::Rebound).then_some(stream));
        }
    }

    /// Notes the answer of the matchmaker, or that none will come.
    pub(super) fn tickets_rebound(&mut self, who: Who, reply: &Reply) {
        if let Some(Move { home: HomeState::Binding { open, has_pool, .. }, .. }) = self.moves.get_mut(&who) {
            *open -= 1;
            *has_pool = matches!(reply, Reply::Answer(Answer::Pool(Ok(_))));
        }
    }

    /// Moving sessions whose owners have all answered.
    pub(super) fn bound(&self) -> impl Iterator<Item = Who> {
        let is_bound = |moving: &Move| matches!(moving.home, HomeState::Binding { open: 0, .. });
        self.moves.iter().filter(move |(_, moving)| is_bound(moving)).map(|(who, _)| *who)
    }

    /// Asks those owners anew that did not answer. If none are left, lets the session leave its former place.
    pub(super) fn leave_home(&mut self, who: Who) -> Checked {
        let home = self.clients[&who].at;
        let Some(moving) = self.moves.get_mut(&who) else { return Ok(()) };
        let HomeState::Binding { request, open, again, attempts, has_pool } = &mut moving.home else { return Ok(()) };
        *attempts += 1;
        let (to, request, is_ending, again) = (moving.to, *request, moving.is_ending, std::mem::take(again));
        if !again.is_empty() && *attempts < ATTEMPTS_MAX {
            return self.bind(who, again);
        }
        let may_have_tickets = self.cluster.planes[&home.place].may_have_tickets(home.key);
        if may_have_tickets && !*has_pool && *attempts < ATTEMPTS_MAX {
            *open += 1;
            let Some(request) = self.ask(home.place, OpenRequest::RebindTickets { who }) else { return Ok(()) };
            return self.step(home.place, |plane, now, out| plane.rebind_tickets(now, home.key, request, out));
        }
        let is_ending = is_ending || may_have_tickets && !*has_pool;
        let is_alive = self.cluster.planes.contains_key(&to.place);
        let departed = match is_ending {
            true => None,
            false => self.step(home.place, |plane, now, _| plane.take_departed(now, home.key))?,
        };
        self.trace.line(|| format!("session {who} leaves {home:?} for {to:?}: {}", departed.is_some()));
        let Some(departed) = departed else {
            self.over(who, is_alive);
            self.step(home.place, |plane, now, out| plane.close(now, home.key, out))?;
            return self.refuse_claim(home.place, request);
        };
        if !is_alive {
            self.over(who, false);
            return Ok(());
        }
        moving_home(self, who, HomeState::Left);
        if let Some(client) = self.clients.get_mut(&who) {
            client.at = to;
        }
        let moved = Moved { claims: claims(who), departed, received: 0, sent: 0, frames: Vec::new() };
        let reply = Reply::Session(Ok(Box::new(moved)));
        self.step(home.place, |plane, _, out| plane.answer(request, reply, out))
    }

    /// Ends a session during its move. `is_expected` says whether its new place lives and must still hear of that.
    fn over(&mut self, who: Who, is_expected: bool) {
        self.forget(who);
        match is_expected {
            true => moving_home(self, who, HomeState::Over),
            false => drop(self.moves.remove(&who)),
        }
    }

    /// Brings a session to its new place, or ends the move.
    pub(super) fn claim_answered(&mut self, who: Who, to: SessionRef, reply: Reply) -> Checked {
        let moving = self.moves.remove(&who);
        match reply {
            Reply::Session(Ok(moved)) => self.settle_move(who, to, moved.departed, moving),
            Reply::Session(Err(_)) | Reply::Joined(Err(_)) => {
                self.trace.line(|| format!("session {who} does not come to {to:?}"));
                if self.clients[&who].at == to {
                    self.forget(who);
                } else if moving.is_some_and(|moving| moving.is_ending) {
                    // The session stays at its former place, and closes there.
                    self.closing.push(who);
                }
                self.step(to.place, |plane, now, out| plane.close(now, to.key, out))
            }
            reply => Err(Violation { check: Check::Answers, detail: format!("{reply:?} answers a claim") }),
        }
    }

    fn settle_move(&mut self, who: Who, to: SessionRef, departed: Departed, moving: Option<Move>) -> Checked {
        let is_whole = self.step(to.place, |plane, now, out| plane.settle(now, to.key, info(who), departed, out))?;
        self.trace.line(|| format!("session {who} comes to {to:?}: {is_whole}"));
        if !is_whole {
            self.forget(who);
            return self.step(to.place, |plane, now, out| plane.close(now, to.key, out));
        }
        let Some(Move { kept, is_ending, .. }) = moving else { return Ok(()) };
        kept.iter().try_for_each(|frame| self.deliver(to, frame))?;
        if is_ending { self.close(who) } else { Ok(()) }
    }

    /// Ends or changes the moves from or to a node that died.
    pub(super) fn moves_without(&mut self, node: NodeNumber) {
        self.claim_answers.retain(|(_, to, _)| to.place.node() != node);
        let concerned: Vec<Who> = self.moves.keys().copied().collect();
        for who in concerned {
            let moving = &self.moves[&who];
            let is_expected = moving.to.place.node() != node;
            let has_home = self.clients[&who].at.place.node() != node;
            match moving.home {
                HomeState::Unasked if !is_expected && has_home => {
                    self.closing.extend(moving.is_ending.then_some(who));
                    self.moves.remove(&who);
                }
                // The former place goes on, and finds out at the end that the new place is gone.
                HomeState::Binding { .. } if has_home => {}
                _ if !is_expected => drop(self.moves.remove(&who)),
                HomeState::Unasked | HomeState::Binding { .. } => moving_home(self, who, HomeState::Over),
                HomeState::Left | HomeState::Over => {}
            }
        }
    }
}

fn moving_home(world: &mut World, who: Who, home: HomeState) {
    if let Some(moving) = world.moves.get_mut(&who) {
        moving.home = home;
    }
}

fn claims(who: Who) -> Claims {
    let info = info(who);
    Claims {
        token_id: info.token_id,
        user_id: info.user_id,
        username: who.to_string(),
        vars: Vars::new(),
        issued_at_sec: info.issued_at_sec,
        expires_at_sec: info.issued_at_sec,
    }
}

//! One match: what waits for its handler, and what its answers change.

mod admission;
mod carry;
mod resume;

use std::collections::{BTreeSet, VecDeque};
use std::ops::RangeFrom;
use std::sync::Arc;

use bytes::Bytes;
use indexmap::IndexMap;
use muster_domain::ids::SessionId;
use muster_domain::{Error, ErrorKind, Result, Timestamp};

use self::admission::{Admission, Asking};
use super::call::{Act, Broadcast, Call, Callback, Input, LeaveReason, Left, Outcome, Return};
use super::durable::Outline;
use super::effect::{Answer, Effect, Entered, Event, MatchEnd};
use super::message::{Attempt, Chain};
use super::owner::{Creation, MatchId, MatchesConfig};
use super::{LABEL_BYTES_MAX, TICK_RATES};
use crate::plane::{Listener, RequestRef};
use crate::session::Millis;
use crate::stream::{Presence, SessionRef};

/// Somebody in a match.
#[derive(Debug)]
struct Player {
    presence: Arc<Presence>,
    listener: Listener,
}

/// What waits for the handler, in order of arrival.
#[derive(Debug)]
enum Waiting {
    Attempt(Box<Attempt>, Millis),
    Join(Arc<Presence>),
    Leave(Left),
    Signal { data: Arc<str>, chain: Chain, asker: Asker },
    Terminate { grace_sec: u32 },
}

/// Who waits for the answer to a signal, and how long.
#[derive(Debug)]
struct Asker {
    reply_to: Option<RequestRef>,
    until: Millis,
}

impl Asker {
    fn answer(&mut self, answer: Result<Answer>, out: &mut Vec<Effect>) {
        out.extend(self.reply_to.take().map(|to| Effect::Reply(to, answer)));
    }
}

/// The call whose return is awaited.
#[derive(Debug)]
enum UnderWay {
    Init(Option<RequestRef>),
    Attempt(Box<Asking>),
    Signal(Asker),
    Join {
        came: Vec<Arc<Presence>>,
        /// Set for a durable match when the join follows an accepted attempt.
        admission: Option<Box<Admission>>,
    },
    Leave(Vec<Left>),
    Timer(Arc<str>),
    Loop,
    Terminate,
}

impl UnderWay {
    /// The attempt of somebody who is not in the match yet.
    fn asking(&self) -> Option<&Asking> {
        match self {
            Self::Attempt(asking) => Some(asking),
            Self::Join { admission, .. } => admission.as_ref().map(|admission| &admission.asking),
            _ => None,
        }
    }

    fn asking_mut(&mut self) -> Option<&mut Asking> {
        match self {
            Self::Attempt(asking) => Some(asking),
            Self::Join { admission, .. } => admission.as_mut().map(|admission| &mut admission.asking),
            _ => None,
        }
    }
}

/// See the module.
#[derive(Debug)]
pub(super) struct Game {
    /// As it follows from what its handler was called with and answered.
    pub(super) outline: Outline,
    /// Which of all the lives of matches at this place it is.
    pub(super) life: u64,
    /// Those who are seated and have not gone.
    players: IndexMap<SessionRef, Player, foldhash::fast::RandomState>,
    waiting: VecDeque<Waiting>,
    attempts: usize,
    signals: usize,
    inputs: Vec<Input>,
    under_way: Option<UnderWay>,
    /// Whether the handler was asked about an attempt since the last tick: a tick that is due goes before the next attempt then.
    has_asked: bool,
    /// No further call begins here, except the join that follows an accepted attempt.
    rests: bool,
    /// When it began, and how many ticks were due since.
    began_at: Millis,
    ticks_due: u64,
    /// When the tick was due whose loop was called last.
    tick_due_at: Millis,
    /// Ticks that never came, the handler having taken too long.
    skipped: u64,
    /// When it has nobody since, in ticks.
    empty_ticks: u64,
    /// When it ends at the latest.
    ends_at: Option<Millis>,
    /// When its timer fires, if one is set.
    pub(super) timer: Option<Millis>,
}

/// What became of a return.
#[derive(Debug, Default)]
pub(super) struct Turned {
    /// The match has ended.
    pub(super) end: Option<MatchEnd>,
    /// It is found by something else now.
    pub(super) is_relabelled: bool,
    /// A loop has returned, so long after its tick was due, and so many ticks were left out before it.
    pub(super) ticked: Option<(Millis, u64)>,
}

impl Game {
    /// A match whose handler is about to be called for the first time.
    pub(super) fn new(
        (id, life): (MatchId, u64),
        creation: Creation,
        reply_to: Option<RequestRef>,
        out: &mut Vec<Effect>,
    ) -> Self {
        let Creation { handler, params, created_at, chain, .. } = creation;
        let mut game = Self::of(Outline::new(id, handler, created_at), life);
        game.under_way = Some(UnderWay::Init(reply_to));
        out.push(game.call(Callback::Init { params, created_at }, chain));
        game
    }

    /// A match for which nothing waits.
    fn of(outline: Outline, life: u64) -> Self {
        Self {
            outline,
            life,
            players: IndexMap::default(),
            waiting: VecDeque::new(),
            attempts: 0,
            signals: 0,
            inputs: Vec::new(),
            under_way: None,
            has_asked: false,
            rests: false,
            began_at: 0,
            ticks_due: 0,
            tick_due_at: 0,
            skipped: 0,
            empty_ticks: 0,
            ends_at: None,
            timer: None,
        }
    }

    fn call(&self, callback: Callback, chain: Chain) -> Effect {
        let Outline { id, ref handler, tick, tick_rate, ref label, .. } = self.outline;
        let (handler, label, timers) = (handler.clone(), label.clone(), self.outline.timers.clone());
        Effect::Call(Box::new(Call { id, life: self.life, handler, tick, tick_rate, label, chain, timers, callback }))
    }

    /// Whether the handler has made it a match.
    pub(super) fn has_begun(&self) -> bool {
        self.outline.tick_rate > 0
    }

    /// How many are in it.
    pub(super) fn size(&self) -> usize {
        self.players.len()
    }

    /// When a tick, its end, or the answer to a signal is due. While a call is under way no tick is: its return is what is
    /// waited for.
    pub(super) fn next_due(&self) -> Option<Millis> {
        let may_tick = self.has_begun() && self.under_way.is_none() && !self.rests;
        let tick = may_tick.then(|| self.tick_due());
        tick.into_iter().chain(self.ends_at).chain(self.answer_due()).min()
    }

    /// When the next tick is due, of a match that has begun.
    fn tick_due(&self) -> Millis {
        self.due_at(self.ticks_due)
    }

    /// When the first of those who wait to be let in, or for the answer to a signal, has waited long enough.
    fn answer_due(&self) -> Option<Millis> {
        let of_asker = |asker: &Asker| asker.reply_to.map(|_| asker.until);
        let under_way = match &self.under_way {
            Some(UnderWay::Signal(asker)) => of_asker(asker),
            Some(under_way) => under_way.asking().and_then(|asking| asking.until),
            None => None,
        };
        let signal =
            |waiting: &Waiting| if let Waiting::Signal { asker, .. } = waiting { of_asker(asker) } else { None };
        let attempt = |waiting: &Waiting| if let Waiting::Attempt(_, until) = waiting { Some(*until) } else { None };
        // They wait in the order in which they came, and equally long.
        let signal = if self.signals > 0 { self.waiting.iter().find_map(signal) } else { None };
        let attempt = if self.attempts > 0 { self.waiting.iter().find_map(attempt) } else { None };
        under_way.into_iter().chain(signal).chain(attempt).min()
    }

    /// Callbacks may take long, and matches may wait for each other crosswise: whoever waits for too long is told so.
    fn lose_patience(&mut self, now: Millis, out: &mut Vec<Effect>) {
        match &mut self.under_way {
            Some(UnderWay::Signal(asker)) if now >= asker.until => asker.answer(Err(busy()), out),
            Some(under_way) => {
                if let Some(asking) = under_way.asking_mut()
                    && asking.until.take_if(|until| now >= *until).is_some()
                {
                    refuse(asking.attempt.clone(), busy(), out);
                }
            }
            None => {}
        }
        let is_late = |waiting: &Waiting| matches!(waiting, Waiting::Attempt(_, until) if now >= *until);
        while self.attempts > 0
            && let Some(position) = self.waiting.iter().position(is_late)
        {
            self.attempts -= 1;
            if let Some(Waiting::Attempt(attempt, _)) = self.waiting.remove(position) {
                refuse(*attempt, busy(), out);
            }
        }
        for waiting in &mut self.waiting {
            if let Waiting::Signal { asker, .. } = waiting
                && now >= asker.until
            {
                asker.answer(Err(busy()), out);
            }
        }
    }

    /// Somebody wants to come in.
    pub(super) fn attempt(&mut self, now: Millis, attempt: Attempt, config: &MatchesConfig, out: &mut Vec<Effect>) {
        let session = attempt.member.presence.session;
        let is_awaited = self.awaits(session);
        if let Some(player) = self.players.get_mut(&session) {
            // Whoever is there need not ask again.
            player.listener = attempt.member.listener;
            return self.entered(&attempt, false, out);
        }
        if is_awaited || self.attempts >= config.join_attempts_max {
            return refuse(attempt, busy(), out);
        }
        self.attempts += 1;
        self.waiting.push_back(Waiting::Attempt(Box::new(attempt), now + config.patience_ms));
        self.advance(now, out);
    }

    /// Whether a session has asked to come in already.
    fn awaits(&self, session: SessionRef) -> bool {
        let is_its =
            |waiting: &Waiting| matches!(waiting, Waiting::Attempt(attempt, _) if attempt.member.session() == session);
        self.attempt_under_way() == Some(session) || self.waiting.iter().any(is_its)
    }

    fn entered(&self, attempt: &Attempt, is_new: bool, out: &mut Vec<Effect>) {
        let Some(to) = attempt.reply_to else { return };
        let session = attempt.member.presence.session;
        let (id, label) = (self.outline.id, self.outline.label.clone());
        let entered = Entered { id, label, is_new, presences: Arc::default(), total: 0, session };
        out.push(Effect::Reply(to, Ok(Answer::Entered(Box::new(entered)))));
    }

    /// A session goes on elsewhere. Answers whether it is in the match, or waits to be.
    pub(super) fn rebind(&mut self, from: SessionRef, to: SessionRef) -> bool {
        let move_attempt = |attempt: &mut Attempt| {
            let is_its = attempt.member.presence.session == from;
            if is_its {
                (attempt.member.presence.session, attempt.member.listener.session) = (to, to);
            }
            is_its
        };
        let mut is_known = false;
        if let Some(asking) = self.under_way.as_mut().and_then(UnderWay::asking_mut)
            && asking.until.is_some()
            && move_attempt(&mut asking.attempt)
        {
            is_known = true;
            let presence = asking.attempt.member.presence.clone();
            if let Some(seated) = self.outline.seated_mut(presence.session_id) {
                seated.presence = Arc::new(presence);
            }
        }
        for waiting in &mut self.waiting {
            if let Waiting::Attempt(attempt, _) = waiting {
                is_known |= move_attempt(attempt);
            }
        }
        if let Some((index, _, mut player)) = self.players.shift_remove_full(&from) {
            player.presence = Arc::new(Presence { session: to, ..Presence::clone(&player.presence) });
            player.listener.session = to;
            if let Some(seated) = self.outline.seated_mut(player.presence.session_id) {
                seated.presence = player.presence.clone();
            }
            self.players.shift_insert(index, to, player);
            is_known = true;
        }
        is_known
    }

    /// A session went from the match's stream, or did before it came.
    pub(super) fn gone(&mut self, now: Millis, session: SessionRef, reason: LeaveReason, out: &mut Vec<Effect>) {
        if let Some(asking) = self.under_way.as_mut().and_then(UnderWay::asking_mut)
            && asking.attempt.member.session() == session
        {
            asking.until = None;
        }
        let is_its =
            |waiting: &Waiting| matches!(waiting, Waiting::Attempt(attempt, _) if attempt.member.session() == session);
        if let Some(position) = self.waiting.iter().position(is_its) {
            self.waiting.remove(position);
            self.attempts -= 1;
        }
        self.remove(session, reason);
        self.advance(now, out);
    }

    fn remove(&mut self, session: SessionRef, reason: LeaveReason) -> Option<Player> {
        let player = self.players.shift_remove(&session)?;
        self.enqueue_leave(Left { presence: player.presence.clone(), reason });
        Some(player)
    }

    /// A player sent something. Answers whether there was room for it.
    pub(super) fn input(
        &mut self,
        session: SessionRef,
        (op_code, data, reliable): (i64, Bytes, bool),
        received_at: Timestamp,
        config: &MatchesConfig,
    ) -> bool {
        let Some(player) = self.players.get(&session) else { return true };
        if self.inputs.len() >= config.inputs_max {
            return false;
        }
        self.inputs.push(Input { sender: player.presence.clone(), op_code, data, reliable, received_at });
        true
    }

    /// Other game code says something to the handler.
    pub(super) fn signal(
        &mut self,
        now: Millis,
        (data, chain): (Arc<str>, Chain),
        reply_to: Option<RequestRef>,
        config: &MatchesConfig,
        out: &mut Vec<Effect>,
    ) {
        if self.signals >= config.signals_max {
            out.extend(reply_to.map(|to| Effect::Reply(to, Err(busy()))));
            return;
        }
        self.signals += 1;
        let asker = Asker { reply_to, until: now + config.patience_ms };
        self.waiting.push_back(Waiting::Signal { data, chain, asker });
        self.advance(now, out);
    }

    /// The server stops. A durable match goes on when it starts again, or elsewhere.
    pub(super) fn terminate(&mut self, now: Millis, grace_sec: u32, out: &mut Vec<Effect>) {
        if self.ends_at.is_none() && !self.outline.id.is_durable() {
            self.ends_at = Some(now + Millis::from(grace_sec) * 1_000);
            self.waiting.push_back(Waiting::Terminate { grace_sec });
            self.advance(now, out);
        }
    }

    /// Runs what is due.
    pub(super) fn turn(&mut self, now: Millis, config: &MatchesConfig, out: &mut Vec<Effect>) -> Option<MatchEnd> {
        if self.ends_at.is_some_and(|at| now >= at) {
            return Some(MatchEnd::Terminated);
        }
        let empty_most = u64::from(config.empty_sec_max) * u64::from(self.outline.tick_rate);
        if empty_most > 0 && self.empty_ticks >= empty_most && self.under_way.is_none() && self.waiting.is_empty() {
            return Some(MatchEnd::Empty);
        }
        self.lose_patience(now, out);
        self.advance(now, out);
        None
    }

    /// Calls the handler with what comes next, if no call is under way.
    fn advance(&mut self, now: Millis, out: &mut Vec<Effect>) {
        while self.under_way.is_none() && !self.rests && !self.is_tick_first(now) {
            let Some(waiting) = self.waiting.pop_front() else { break };
            match waiting {
                Waiting::Attempt(attempt, until) => {
                    self.attempts -= 1;
                    if now >= until {
                        refuse(*attempt, busy(), out);
                        continue;
                    }
                    self.has_asked = true;
                    let presence = Arc::new(attempt.member.presence.clone());
                    let metadata = attempt.metadata.clone();
                    let asking = Asking { attempt: *attempt, until: Some(until) };
                    let under_way = UnderWay::Attempt(Box::new(asking));
                    self.begin(under_way, Callback::JoinAttempt { presence, metadata }, out);
                }
                Waiting::Signal { data, chain, mut asker } => {
                    self.signals -= 1;
                    if now >= asker.until {
                        asker.answer(Err(busy()), out);
                        continue;
                    }
                    self.under_way = Some(UnderWay::Signal(asker));
                    out.push(self.call(Callback::Signal(data), chain));
                }
                Waiting::Join(first) => {
                    let joins =
                        self.batch(first, |next| if let Waiting::Join(next) = next { Ok(next) } else { Err(next) });
                    self.begin_join(joins, None, out);
                }
                Waiting::Leave(first) => {
                    let leaves =
                        self.batch(first, |next| if let Waiting::Leave(next) = next { Ok(next) } else { Err(next) });
                    self.begin(UnderWay::Leave(leaves.clone()), Callback::Leave(leaves), out);
                }
                Waiting::Terminate { grace_sec } => {
                    self.begin(UnderWay::Terminate, Callback::Terminate { grace_sec }, out);
                }
            }
        }
        let may_tick = self.under_way.is_none() && !self.rests && self.has_begun();
        if may_tick
            && now >= self.tick_due()
            && let Some(timer) = self.outline.timers.due(self.outline.tick)
        {
            // The tick stays due: its loop comes behind its timers.
            let (name, data) = (timer.name.clone(), timer.data.clone());
            return self.begin(UnderWay::Timer(name.clone()), Callback::Timer { name, data }, out);
        }
        if may_tick && self.is_tick_due(now) {
            self.has_asked = false;
            self.empty_ticks = if self.players.is_empty() { self.empty_ticks + 1 } else { 0 };
            let inputs = std::mem::take(&mut self.inputs);
            self.begin(UnderWay::Loop, Callback::Loop(inputs), out);
        }
    }

    /// The first of a kind and those of the same kind right behind it.
    fn batch<T>(&mut self, first: T, of: fn(Waiting) -> std::result::Result<T, Waiting>) -> Vec<T> {
        let mut batch = vec![first];
        while let Some(next) = self.waiting.pop_front() {
            match of(next) {
                Ok(next) => batch.push(next),
                Err(other) => {
                    self.waiting.push_front(other);
                    break;
                }
            }
        }
        batch
    }

    /// When a tick is due, of a match that has begun.
    fn due_at(&self, tick: u64) -> Millis {
        self.began_at + (tick * 1_000).div_ceil(u64::from(self.outline.tick_rate.max(1)))
    }

    /// Whether a tick is due. One that should have come while a call was under way comes now; more of them do not.
    fn is_tick_due(&mut self, now: Millis) -> bool {
        let due_by_now = now.saturating_sub(self.began_at) * u64::from(self.outline.tick_rate) / 1_000;
        let is_due = now >= self.began_at && due_by_now >= self.ticks_due;
        if is_due {
            self.tick_due_at = self.due_at(self.ticks_due);
            self.skipped += due_by_now - self.ticks_due;
            self.ticks_due = due_by_now + 1;
        }
        is_due
    }

    fn begin(&mut self, under_way: UnderWay, callback: Callback, out: &mut Vec<Effect>) {
        self.under_way = Some(under_way);
        out.push(self.call(callback, Chain::default()));
    }

    /// A callback has returned.
    pub(super) fn returned(&mut self, now: Millis, returned: Return, out: &mut Vec<Effect>) -> Turned {
        let Some(under_way) = self.under_way.take() else { return Turned::default() };
        let Return { outcome, acts } = returned;
        let mut turned = Turned::default();
        if matches!(under_way, UnderWay::Loop) {
            turned.ticked = Some((now.saturating_sub(self.tick_due_at), std::mem::take(&mut self.skipped)));
        }
        let tick = self.outline.tick;
        let numbers = self.outline.note_sent(&acts);
        let under_way = match (under_way, &outcome) {
            (UnderWay::Attempt(asking), Outcome::Decided(Ok(()))) => {
                turned.is_relabelled = self.accept(*asking, acts, numbers, out);
                return turned;
            }
            // A match that is over has let its last player in.
            (UnderWay::Join { came, admission: Some(admission) }, Outcome::Goes | Outcome::Over) => {
                turned.is_relabelled = self.admit(*admission, out);
                UnderWay::Join { came, admission: None }
            }
            (under_way, _) => under_way,
        };
        turned.end = self.settle(now, under_way, outcome, out).err();
        if matches!(turned.end, None | Some(MatchEnd::Over)) {
            // What it says last is said.
            turned.is_relabelled |= self.outline.note_acts(&acts, tick);
            self.carry_out(acts, numbers, out);
        }
        if turned.end.is_none() {
            self.advance(now, out);
        }
        turned
    }

    /// What an answer means for what was asked.
    fn settle(
        &mut self,
        now: Millis,
        under_way: UnderWay,
        outcome: Outcome,
        out: &mut Vec<Effect>,
    ) -> std::result::Result<(), MatchEnd> {
        let end = match (under_way, outcome) {
            (UnderWay::Init(reply_to), Outcome::Begun { tick_rate, label }) => {
                return match checked(tick_rate, &label) {
                    Ok(()) => {
                        self.outline.begun(tick_rate, label);
                        (self.began_at, self.ticks_due) = (now, 1);
                        out.extend(reply_to.map(|to| Effect::Reply(to, Ok(Answer::Created))));
                        Ok(())
                    }
                    Err(why) => {
                        let failed = MatchEnd::Failed(why.message.as_ref().into());
                        out.extend(reply_to.map(|to| Effect::Reply(to, Err(why))));
                        Err(failed)
                    }
                };
            }
            (UnderWay::Attempt(asking), Outcome::Decided(Err(reason))) => {
                // Whoever has gone, or was told that it takes too long, is told nothing.
                if asking.until.is_some() {
                    let told = if reason.is_empty() { "The match does not let you in." } else { &reason };
                    refuse(asking.attempt, Error::new(ErrorKind::PermissionDenied, told.to_owned()), out);
                }
                return Ok(());
            }
            (UnderWay::Signal(mut asker), Outcome::Signalled(data)) => {
                asker.answer(Ok(Answer::Signalled(data)), out);
                return Ok(());
            }
            (UnderWay::Signal(mut asker), Outcome::Refused(why)) => {
                asker.answer(Err(Error::new(ErrorKind::FailedPrecondition, why.to_string())), out);
                return Ok(());
            }
            (UnderWay::Timer(name), Outcome::Goes) => {
                self.outline.timers.remove(&name);
                return Ok(());
            }
            (UnderWay::Loop, Outcome::Goes) => {
                self.outline.tick += 1;
                return Ok(());
            }
            (UnderWay::Join { came, .. }, Outcome::Goes) => {
                self.outline.joined(&came);
                return Ok(());
            }
            (UnderWay::Leave(left), Outcome::Goes) => {
                self.outline.left(&left);
                return Ok(());
            }
            (UnderWay::Terminate, Outcome::Goes) => return Ok(()),
            (under_way, Outcome::Over) => (under_way, MatchEnd::Over),
            (under_way, Outcome::Failed(why)) => (under_way, MatchEnd::Failed(why)),
            (under_way, _) => (under_way, MatchEnd::Failed("a callback answered what was not asked".into())),
        };
        let (under_way, end) = end;
        let why = match &end {
            MatchEnd::Failed(why) => why,
            _ => "match_init returned no state",
        };
        self.give_up(under_way, why, out);
        Err(end)
    }

    /// Whoever waits for a call that came to nothing. Who makes a match is game code, and may know why there is none.
    fn give_up(&self, under_way: UnderWay, why: &str, out: &mut Vec<Effect>) {
        match under_way {
            UnderWay::Init(Some(to)) => {
                let why = Error::new(ErrorKind::FailedPrecondition, format!("The match could not be made: {why}"));
                out.push(Effect::Reply(to, Err(why)));
            }
            UnderWay::Signal(mut asker) => asker.answer(Err(ended()), out),
            UnderWay::Attempt(asking) => asking.give_up(out),
            UnderWay::Join { admission, .. } => {
                admission.into_iter().for_each(|admission| admission.asking.give_up(out))
            }
            UnderWay::Init(None) | UnderWay::Leave(_) | UnderWay::Timer(_) | UnderWay::Loop | UnderWay::Terminate => {}
        }
    }

    /// Does what a callback wants done for players: broadcasts, which have these numbers, and kicks.
    fn carry_out(&mut self, acts: Vec<Act>, mut numbers: RangeFrom<u64>, out: &mut Vec<Effect>) {
        let mut deferred = Vec::new();
        for act in acts {
            match act {
                Act::Broadcast(broadcast) => self.broadcast(broadcast, numbers.next(), out),
                Act::Defer(broadcast) => deferred.push(broadcast),
                Act::Kick(sessions) => sessions.iter().for_each(|session| self.kick(*session, out)),
                Act::Label(_) | Act::SetTimer { .. } | Act::CancelTimer(_) => {}
            }
        }
        deferred.into_iter().for_each(|broadcast| self.broadcast(broadcast, numbers.next(), out));
    }

    fn broadcast(&self, broadcast: Broadcast, number: Option<u64>, out: &mut Vec<Effect>) {
        let to = broadcast.to.as_ref().map(|sessions| self.present(sessions));
        if !to.as_ref().is_some_and(Vec::is_empty) && !self.players.is_empty() {
            let id = self.outline.id;
            let number = number.filter(|_| id.is_durable());
            out.push(Effect::Tell { id, to, event: Event::Data(broadcast), number });
        }
    }

    /// Those of the sessions that are players'.
    fn present(&self, sessions: &[SessionId]) -> Vec<SessionId> {
        const FEW: usize = 8;
        let mut players = self.players.values().map(|player| player.presence.session_id);
        let sessions = sessions.iter().copied();
        if sessions.len() <= FEW {
            return sessions.filter(|session| players.clone().any(|player| player == *session)).collect();
        }
        // A list is as long as game code makes it, and so is a match.
        let players: BTreeSet<_> = players.by_ref().collect();
        sessions.filter(|session| players.contains(session)).collect()
    }

    fn kick(&mut self, session: SessionId, out: &mut Vec<Effect>) {
        let found = self.players.iter().find(|(_, player)| player.presence.session_id == session);
        if let Some(player) = found.map(|(session, _)| *session).and_then(|it| self.remove(it, LeaveReason::Kicked)) {
            out.push(Effect::Expel(self.outline.id, player.listener));
        }
    }

    /// Ends it: nobody is left waiting, everybody is told.
    pub(super) fn close(mut self, out: &mut Vec<Effect>) {
        if let Some(under_way) = self.under_way.take() {
            self.give_up(under_way, "the server stops", out);
        }
        for waiting in self.waiting.drain(..) {
            match waiting {
                Waiting::Attempt(attempt, _) => refuse(*attempt, ended(), out),
                Waiting::Signal { mut asker, .. } => asker.answer(Err(ended()), out),
                Waiting::Join(_) | Waiting::Leave(_) | Waiting::Terminate { .. } => {}
            }
        }
        let (id, players) = (self.outline.id, self.players.into_values());
        out.extend(players.map(|player| Effect::Expel(id, player.listener)));
    }
}

fn refuse(attempt: Attempt, why: Error, out: &mut Vec<Effect>) {
    out.push(Effect::Refuse(attempt.id, attempt.member.listener));
    out.extend(attempt.reply_to.map(|to| Effect::Reply(to, Err(why))));
}

/// Whether a match may begin like this.
pub(super) fn checked(tick_rate: u32, label: &str) -> Result<()> {
    if !TICK_RATES.contains(&tick_rate) {
        let (least, most) = (TICK_RATES.start(), TICK_RATES.end());
        return Err(Error::invalid(format!("A tick rate is {least} to {most} a second, not {tick_rate}.")));
    }
    if label.len() > LABEL_BYTES_MAX {
        return Err(Error::invalid(format!("A label has {LABEL_BYTES_MAX} bytes at most, not {}.", label.len())));
    }
    Ok(())
}

fn busy() -> Error {
    Error::new(ErrorKind::ResourceExhausted, "The match has too much to do. Please try again.")
}

pub(crate) fn ended() -> Error {
    Error::new(ErrorKind::NotFound, "There is no match of this ID: it may have ended.")
}

//! The live plane as handlers use it: steps of the shard's own part, and questions whose answers come later.
//!
//! The [`Rim`] carries out the effects of a step right behind it, so that handlers never see them.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::rc::{Rc, Weak};

use muster_domain::UserId;
use muster_live::matches::{CallRef, Outcome, Return};
use muster_live::matchmaker::TicketId;
use muster_live::plane::{
    Effect, Effects, HandlerOrder, JoinOptions, JoinRefusal, Joined, PlaneStats, Publish, Reply, RequestRef, Up,
};
use muster_live::{
    Delivery, Millis, Place, Plane, SessionKey, SessionRef, StreamKey, plane::Audience, stream::SharedPayload,
};
use tokio::sync::oneshot;

use crate::errands::Errands;

/// The shard around a plane: its clock, its sockets, and the lanes to other shards.
pub trait Rim {
    /// The shard's monotonic clock.
    fn now(&self) -> Millis;
    /// Holds frames that are sent to a session from here on behind the answer that its handler is about to give.
    fn hold(&self, session: SessionKey);
    /// Carries out an effect of a step. [`Live`] itself carries out [`Effect::Reply`], [`Effect::Order`] and
    /// [`Effect::Handler`]. Effects of steps that are made on the way are carried out behind those of this step.
    fn carry_out(&self, effect: Effect);
    /// Takes the time when the plane wants to be turned, whether it has long work to go on with, and whether sockets
    /// should not be read because their messages would have to wait.
    fn settle(&self, next_due: Option<Millis>, is_busy: bool, is_congested: bool);
}

/// The engines that run the match handlers of a shard.
pub trait MatchEngines {
    /// Carries out an order. The return of a call is for [`Live::match_returned`].
    fn order(self: Rc<Self>, order: HandlerOrder);
}

/// The engines as [`Live`] knows them.
enum Engines {
    /// The shard is not complete yet; these orders wait until it is.
    Awaited(Vec<HandlerOrder>),
    /// The server runs no game code.
    None,
    /// The engines. They belong to the game code, which itself holds [`Live`].
    Attached(Weak<dyn MatchEngines>),
}

/// The asker that waits for an answer. `session` is the session on whose behalf it asks, if the answer says what the
/// session finds.
pub(crate) struct Waiting {
    session: Option<SessionKey>,
    asker: Asker,
}

/// The asker of a question.
pub(crate) enum Asker {
    /// A handler of this shard.
    Handler(oneshot::Sender<Reply>),
    /// An asker at another place, whose order this shard carries out.
    Elsewhere(Rc<Errands>),
}

/// The shard's part of the live plane.
pub struct Live {
    plane: RefCell<Plane>,
    rim: Rc<dyn Rim>,
    engines: RefCell<Engines>,
    /// An empty list, kept for its capacity.
    spare: RefCell<Effects>,
    /// Effects of steps that were made while others were carried out, in order.
    later: RefCell<VecDeque<Effect>>,
    is_carrying_out: Cell<bool>,
    /// The askers by number of their question. Every question is answered, so the handlers that run bound their number.
    waiting: RefCell<HashMap<u64, Waiting>>,
    is_broken: Cell<bool>,
}

/// Marks a step that did not come to its end: the plane that it leaves behind cannot be trusted.
struct Unfinished<'a>(&'a Cell<bool>);

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        self.0.set(true);
    }
}

impl Live {
    /// A plane, and the rim that carries out its effects.
    pub fn new(plane: Plane, rim: Rc<dyn Rim>) -> Self {
        Self {
            plane: RefCell::new(plane),
            rim,
            engines: RefCell::new(Engines::Awaited(Vec::new())),
            spare: RefCell::default(),
            later: RefCell::default(),
            is_carrying_out: Cell::new(false),
            waiting: RefCell::default(),
            is_broken: Cell::new(false),
        }
    }

    /// Runs one step and carries out its effects in order. A step that is made on behalf of an effect has its own
    /// effects carried out behind all that were to be carried out before.
    pub fn step<R>(&self, step: impl FnOnce(&mut Plane, Millis, &mut Effects) -> R) -> R {
        let unfinished = Unfinished(&self.is_broken);
        let mut effects = self.spare.take();
        let result = step(&mut self.plane.borrow_mut(), self.rim.now(), &mut effects);
        if self.is_carrying_out.get() {
            self.later.borrow_mut().extend(effects.drain());
        } else {
            self.is_carrying_out.set(true);
            effects.drain().for_each(|effect| self.carry_out(effect));
            while let Some(effect) = self.next_later() {
                self.carry_out(effect);
            }
            self.is_carrying_out.set(false);
            let (next_due, is_busy, is_congested) =
                self.look(|plane| (plane.next_due(), plane.is_busy(), plane.is_congested()));
            self.rim.settle(next_due, is_busy, is_congested);
        }
        self.spare.replace(effects);
        std::mem::forget(unfinished);
        result
    }

    fn next_later(&self) -> Option<Effect> {
        self.later.borrow_mut().pop_front()
    }

    fn carry_out(&self, effect: Effect) {
        match effect {
            Effect::Reply(request, reply) => self.answered(request, reply),
            Effect::Order(asker, order) => self.obey(asker, *order),
            Effect::Handler(order) => self.order_handler(order),
            effect => self.rim.carry_out(effect),
        }
    }

    /// Gives an answer to the asker that waits for it.
    fn answered(&self, request: u64, reply: Reply) {
        let Some(waiting) = self.waiting.borrow_mut().remove(&request) else { return };
        if let Some(session) = waiting.session {
            self.rim.hold(session);
        }
        match waiting.asker {
            // The asker may have gone.
            Asker::Handler(answer) => drop(answer.send(reply)),
            Asker::Elsewhere(errands) => {
                if let Some((asker, done)) = errands.note(reply) {
                    self.answer(asker, done);
                }
            }
        }
    }

    /// Attaches the engines that carry out orders to match handlers from now on, first those that came before. Without
    /// engines no match can be made.
    pub fn attach_engines(&self, engines: Option<Weak<dyn MatchEngines>>) {
        let before = self.engines.replace(engines.map_or(Engines::None, Engines::Attached));
        if let Engines::Awaited(orders) = before {
            orders.into_iter().for_each(|order| self.order_handler(order));
        }
    }

    fn order_handler(&self, order: HandlerOrder) {
        let engines = match &mut *self.engines.borrow_mut() {
            Engines::Awaited(orders) => return orders.push(order),
            Engines::None => None,
            Engines::Attached(engines) => engines.upgrade(),
        };
        match engines {
            Some(engines) => engines.order(order),
            None => self.refuse_handler(order),
        }
    }

    /// Takes the return of a handler's call.
    pub fn match_returned(&self, call: CallRef, returned: Return) {
        self.step(|plane, now, out| plane.match_returned(now, call, returned, out));
    }

    /// Answers an order to engines where there are none: no match can be made, and there is no log to be taken over or
    /// given up.
    fn refuse_handler(&self, order: HandlerOrder) {
        match order {
            HandlerOrder::Drop(_) | HandlerOrder::Forget(_) => {}
            HandlerOrder::TakeOver(partitions) => self.step(|plane, now, out| {
                for (partition, epoch) in partitions {
                    plane.matches_taken_over(now, partition, epoch, Vec::new(), out);
                }
            }),
            HandlerOrder::Release(partition) => {
                self.step(|plane, now, out| plane.matches_released(now, partition, out));
            }
            HandlerOrder::Call(call) => {
                let outcome = Outcome::Failed("this server runs no game code".into());
                self.match_returned(call.reference(), Return { outcome, acts: Vec::new() });
            }
        }
    }

    /// Whether a step panicked: the shard has to end.
    pub fn is_broken(&self) -> bool {
        self.is_broken.get()
    }

    /// The place of the shard.
    pub fn place(&self) -> Place {
        self.look(Plane::place)
    }

    /// Looks at the plane without changing it.
    pub fn look<R>(&self, look: impl FnOnce(&Plane) -> R) -> R {
        look(&self.plane.borrow())
    }

    /// Counts and gauges of this shard.
    pub fn stats(&self) -> PlaneStats {
        self.look(Plane::stats)
    }

    /// Asks a question; `None` only when the server is stopping.
    pub async fn ask(&self, step: impl FnOnce(&mut Plane, Millis, RequestRef, &mut Effects)) -> Option<Reply> {
        self.begin(step).await.ok()
    }

    /// Asks on behalf of a session for the state of a stream or thing that it comes to. Events that come later reach
    /// the session behind the answer.
    pub async fn ask_for(
        &self,
        session: SessionKey,
        step: impl FnOnce(&mut Plane, Millis, RequestRef, &mut Effects),
    ) -> Option<Reply> {
        self.begin_for(Some(session), step).await.ok()
    }

    /// Asks a question whose answer is awaited later: several questions may be on their way at once.
    pub fn begin(&self, step: impl FnOnce(&mut Plane, Millis, RequestRef, &mut Effects)) -> oneshot::Receiver<Reply> {
        self.begin_for(None, step)
    }

    fn begin_for(
        &self,
        session: Option<SessionKey>,
        step: impl FnOnce(&mut Plane, Millis, RequestRef, &mut Effects),
    ) -> oneshot::Receiver<Reply> {
        let (answer, receiver) = oneshot::channel();
        self.begin_as(Waiting { session, asker: Asker::Handler(answer) }, step);
        receiver
    }

    /// Asks a question whose answer ends one of these errands.
    pub(crate) fn begin_errand(
        &self,
        errands: &Rc<Errands>,
        step: impl FnOnce(&mut Plane, Millis, RequestRef, &mut Effects),
    ) {
        self.begin_as(Waiting { session: None, asker: Asker::Elsewhere(errands.clone()) }, step);
    }

    fn begin_as(&self, waiting: Waiting, step: impl FnOnce(&mut Plane, Millis, RequestRef, &mut Effects)) {
        self.step(|plane, now, output| {
            let request = plane.request();
            self.waiting.borrow_mut().insert(request.id, waiting);
            step(plane, now, request, output);
        });
    }

    /// Brings a session to a stream.
    ///
    /// # Errors
    /// See [`JoinRefusal`].
    pub async fn join(
        &self,
        session: SessionKey,
        stream: StreamKey,
        options: JoinOptions,
    ) -> Result<Joined, JoinRefusal> {
        let reply = self.ask_for(session, |plane, now, request, out| {
            plane.join(now, session, stream, options, Some(request), out);
        });
        match reply.await {
            Some(Reply::Joined(joined)) => joined,
            _ => Err(JoinRefusal::Closed),
        }
    }

    /// Takes a session from a stream. Answers whether it was there.
    pub fn leave(&self, session: SessionKey, stream: StreamKey) -> bool {
        self.step(|plane, now, out| plane.leave(now, session, stream, out))
    }

    /// Takes a session from a stream like [`Self::leave`], and resolves once the owner knows. Everybody who is told of
    /// the leave then may count on it.
    pub async fn leave_for_good(&self, session: SessionKey, stream: StreamKey) -> bool {
        let was_there = self.leave(session, stream.clone());
        // The owner answers after it has taken the session off.
        self.count(&[stream]).await;
        was_there
    }

    /// Publishes a message to those who hear a stream.
    pub fn publish(&self, publish: Publish) {
        self.step(|plane, now, out| plane.publish(now, publish, out));
    }

    /// Sends a message to all sockets of a user.
    pub fn push_to_user(&self, user: UserId, payload: SharedPayload) {
        let stream = StreamKey::notifications(user);
        let (audience, delivery) = (Audience::All, Delivery::Reliable);
        self.publish(Publish { stream, payload, audience, delivery, sender: None });
    }

    /// Sends a message to one session, on whichever shard it is.
    pub fn push(&self, session: SessionRef, payload: SharedPayload) {
        self.step(|plane, _, out| plane.push(session, payload, out));
    }

    /// Sends a message to one session that takes the session off these tickets.
    pub fn push_of_tickets(&self, session: SessionRef, payload: SharedPayload, ended: Vec<TicketId>) {
        self.step(|plane, _, out| plane.push_of_tickets(session, payload, ended, out));
    }

    /// Numbers of presences on these streams, in their order, hidden ones included.
    pub async fn count(&self, streams: &[StreamKey]) -> Vec<usize> {
        let mut by_owner: BTreeMap<Place, Vec<usize>> = BTreeMap::new();
        self.look(|plane| {
            for (index, stream) in streams.iter().enumerate() {
                by_owner.entry(plane.routes().owner(stream.partition())).or_default().push(index);
            }
        });
        let mut asked = Vec::new();
        for (owner, indices) in by_owner {
            let streams = indices.iter().map(|index| streams[*index].clone()).collect();
            let answer = self.begin(|plane, now, request, out| {
                plane.ask_place(now, owner, Up::Count { request, streams }, out);
            });
            asked.push((indices, answer));
        }
        let mut counts = vec![0; streams.len()];
        for (indices, answer) in asked {
            let Ok(Reply::Counts(found)) = answer.await else { continue };
            for (index, count) in indices.into_iter().zip(found) {
                counts[index] = count;
            }
        }
        counts
    }

    /// Whether each of these users is online, in the users' order. A user is online while a session of the user shows a
    /// status.
    pub async fn are_online(&self, users: &[UserId]) -> Vec<bool> {
        let streams: Vec<StreamKey> = users.iter().map(|user| StreamKey::status(*user)).collect();
        self.count(&streams).await.into_iter().map(|count| count > 0).collect()
    }

    /// Asks every place the same question at once. The answers come in the order of the places, without those of places
    /// that are stopping.
    pub async fn ask_every_place(&self, question: impl Fn(RequestRef) -> Up) -> Vec<Reply> {
        let ask = |place| self.begin(|plane, now, request, out| plane.ask_place(now, place, question(request), out));
        let places = self.look(|plane| plane.routes().places().to_vec());
        let asked: Vec<_> = places.into_iter().map(ask).collect();
        let mut replies = Vec::new();
        for answer in asked {
            replies.extend(answer.await);
        }
        replies
    }

    /// Relayed matches of all places, with their sizes. `sizes` is the smallest and the largest size.
    pub async fn relayed_matches(&self, limit: usize, sizes: (usize, usize)) -> Vec<(StreamKey, usize)> {
        let mut matches = Vec::new();
        for reply in self.ask_every_place(|request| Up::Matches { request, limit, sizes }).await {
            if let Reply::Matches(found) = reply {
                matches.extend(found);
            }
        }
        matches.truncate(limit);
        matches
    }
}

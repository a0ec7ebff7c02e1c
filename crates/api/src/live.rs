//! The live plane as handlers use it: steps of the shard's own part, and questions whose answers come later.
//!
//! What a step wants done is carried out by the [`Rim`] right behind it, so that handlers never see it.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use bytes::Bytes;
use muster_domain::{Error, ErrorKind, UserId};
use muster_live::matches::{Outcome, Return};
use muster_live::matchmaker::TicketId;
use muster_live::plane::{
    AskedMatch, Claim, EndedTicket, HandlerOrder, JoinOptions, JoinRefusal, Joined, Matched, Message, Output,
    PlaneStats, Publish, Recoverable, Reply, RequestRef, Up,
};
use muster_live::{
    CloseReason, Delivery, Epoch, Millis, Partition, Place, Plane, SessionKey, SessionRef, StreamKey, plane::Audience,
    stream::SharedPayload,
};
use tokio::sync::oneshot;

use crate::errands::Errands;

/// What the plane needs of its shard.
pub trait Rim {
    /// The shard's monotonic clock.
    fn now(&self) -> Millis;
    /// Hands a frame to a session's socket.
    fn deliver(&self, session: SessionKey, frame: Bytes, delivery: Delivery);
    /// What a session is sent from here on follows the answer that its handler is about to give.
    fn hold(&self, session: SessionKey);
    /// Closes a session's socket behind what it was sent.
    fn close(&self, session: SessionKey, reason: CloseReason);
    /// Sends a message to another place.
    fn send(&self, to: Place, message: Message);
    /// Says that this place has handed these partitions over to their next owners.
    fn handed_over(&self, partitions: Vec<(Partition, Epoch)>);
    /// Has something kept for whoever owns it after a crash.
    fn keep(&self, recoverable: Vec<Recoverable>);
    /// Asks for what was kept of partitions, for [`Plane::recovered`].
    fn recover(&self, partitions: Vec<(Partition, Epoch)>);
    /// Says when the plane wants to be turned, whether it has long work to go on with, and whether sockets should not be
    /// read because what they send would have to wait.
    fn settle(&self, next_due: Option<Millis>, is_busy: bool, is_congested: bool);
}

/// Tells players of a match.
type Teller = Box<dyn Fn(&Matched)>;

/// Has game code asked of a match.
type MatchAsker = Box<dyn Fn(AskedMatch)>;

/// Tells a player of a ticket that ends without a match.
type EndTeller = Box<dyn Fn(EndedTicket)>;

/// Runs handlers of matches.
type Runner = Box<dyn Fn(HandlerOrder)>;

/// Brings sessions on their way to another place.
type Mover = Box<dyn Fn(RequestRef, Claim)>;

/// Who waits for an answer, and on whose behalf if the answer says what a session finds.
pub(crate) struct Waiting {
    session: Option<SessionKey>,
    asker: Asker,
}

/// Who asked.
pub(crate) enum Asker {
    /// A handler of this shard.
    Handler(oneshot::Sender<Reply>),
    /// Somebody elsewhere, who had this shard ask for a session of it.
    Elsewhere(Rc<Errands>),
}

/// The shard's part of the live plane.
pub struct Live {
    plane: RefCell<Plane>,
    rim: Rc<dyn Rim>,
    /// Kept for its capacity.
    output: RefCell<Output>,
    /// Who waits for which answer. Every question is answered, so this is bounded by the handlers that run.
    waiting: RefCell<HashMap<u64, Waiting>>,
    is_broken: Cell<bool>,
    /// Who tells players of a match.
    on_match: OnceCell<Teller>,
    /// Who asks game code of a match before players are told of it.
    on_asked_match: OnceCell<MatchAsker>,
    /// Who tells players of tickets that end without one.
    on_ticket_end: OnceCell<EndTeller>,
    /// Who lets sessions go that are to go on at another place.
    on_claim: OnceCell<Mover>,
    /// Who runs handlers of matches.
    on_handler: OnceCell<Runner>,
}

/// Notes a step that did not come to its end: what it left of the plane cannot be trusted.
struct Unfinished<'a>(&'a Cell<bool>);

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        self.0.set(true);
    }
}

impl Live {
    /// A plane and what carries out its effects.
    pub fn new(plane: Plane, rim: Rc<dyn Rim>) -> Self {
        Self {
            plane: RefCell::new(plane),
            rim,
            output: RefCell::default(),
            waiting: RefCell::default(),
            is_broken: Cell::new(false),
            on_match: OnceCell::new(),
            on_asked_match: OnceCell::new(),
            on_ticket_end: OnceCell::new(),
            on_claim: OnceCell::new(),
            on_handler: OnceCell::new(),
        }
    }

    /// Runs one step and carries out what it wants done.
    pub fn step<R>(&self, step: impl FnOnce(&mut Plane, Millis, &mut Output) -> R) -> R {
        let unfinished = Unfinished(&self.is_broken);
        let mut output = self.output.take();
        let mut plane = self.plane.borrow_mut();
        let result = step(&mut plane, self.rim.now(), &mut output);
        let (next_due, is_busy, is_congested) = (plane.next_due(), plane.is_busy(), plane.is_congested());
        drop(plane);
        let done = self.carry_out(&mut output);
        let (matches, asked_matches) = (std::mem::take(&mut output.matches), std::mem::take(&mut output.asked_matches));
        if !output.handed_over.is_empty() {
            self.rim.handed_over(std::mem::take(&mut output.handed_over));
        }
        if !output.recoverable.is_empty() {
            self.rim.keep(std::mem::take(&mut output.recoverable));
        }
        if !output.recovering.is_empty() {
            self.rim.recover(std::mem::take(&mut output.recovering));
        }
        let (claims, ended_tickets) = (std::mem::take(&mut output.claims), std::mem::take(&mut output.ended_tickets));
        let handlers = std::mem::take(&mut output.handlers);
        let orders = std::mem::take(&mut output.orders);
        self.output.replace(output);
        self.rim.settle(next_due, is_busy, is_congested);
        // Telling is steps of its own.
        for matched in matches {
            if let Some(tell) = self.on_match.get() {
                tell(&matched);
            }
        }
        for asked in asked_matches {
            if let Some(ask) = self.on_asked_match.get() {
                ask(asked);
            }
        }
        for ended in ended_tickets {
            if let Some(tell) = self.on_ticket_end.get() {
                tell(ended);
            }
        }
        for (request, claim) in claims {
            if let Some(depart) = self.on_claim.get() {
                depart(request, claim);
            }
        }
        for order in handlers {
            self.run(order);
        }
        orders.into_iter().for_each(|(request, order)| self.obey(request, order));
        done.into_iter().for_each(|(request, reply)| self.answer(request, reply));
        std::mem::forget(unfinished);
        result
    }

    /// Sets who tells players of a match that the matchmaker found here.
    pub fn on_match(&self, tell: impl Fn(&Matched) + 'static) {
        let _ = self.on_match.set(Box::new(tell));
    }

    /// Sets who asks game code of a match that the matchmaker found here. What it says is for [`Plane::match_answered`].
    pub fn on_asked_match(&self, ask: impl Fn(AskedMatch) + 'static) {
        let _ = self.on_asked_match.set(Box::new(ask));
    }

    /// Sets who tells players of tickets that end here without a match.
    pub fn on_ticket_end(&self, tell: impl Fn(EndedTicket) + 'static) {
        let _ = self.on_ticket_end.set(Box::new(tell));
    }

    /// Sets who runs handlers of matches of this shard. What comes of a call is for [`Plane::match_returned`].
    pub fn on_handler(&self, run: impl Fn(HandlerOrder) + 'static) {
        let _ = self.on_handler.set(Box::new(run));
    }

    fn run(&self, order: HandlerOrder) {
        match (self.on_handler.get(), order) {
            (Some(run), order) => run(order),
            (None, HandlerOrder::Drop(_) | HandlerOrder::Forget(_)) => {}
            (None, HandlerOrder::TakeOver(partitions)) => self.step(|plane, now, out| {
                for (partition, epoch) in partitions {
                    plane.matches_taken_over(now, partition, epoch, Vec::new(), out);
                }
            }),
            (None, HandlerOrder::Release(partition)) => {
                self.step(|plane, now, out| plane.matches_released(now, partition, out));
            }
            (None, HandlerOrder::Call(call)) => {
                let outcome = Outcome::Failed("this server runs no game code".into());
                self.step(|plane, now, out| {
                    plane.match_returned(now, call.reference(), Return { outcome, acts: Vec::new() }, out)
                });
            }
        }
    }

    /// Sets who lets sessions of this shard go that are claimed by another place, and answers that.
    pub fn on_claim(&self, depart: impl Fn(RequestRef, Claim) + 'static) {
        let _ = self.on_claim.set(Box::new(depart));
    }

    /// Whether a step panicked: the shard has to end.
    pub fn is_broken(&self) -> bool {
        self.is_broken.get()
    }

    /// Which place it is.
    pub fn place(&self) -> Place {
        self.look(Plane::place)
    }

    /// Whether something new may be made here: a room, a party, a match, a ticket.
    ///
    /// # Errors
    /// Not on a node that has lost its cluster, for now.
    pub fn claim(&self) -> Result<(), Error> {
        if !self.look(Plane::is_island) {
            return Ok(());
        }
        let message = "This server has lost its cluster for now, and makes nothing new. Please try again in a moment.";
        Err(Error::new(ErrorKind::Unavailable, message))
    }

    /// Looks at the plane without changing it.
    pub fn look<R>(&self, look: impl FnOnce(&Plane) -> R) -> R {
        look(&self.plane.borrow())
    }

    /// Counts and gauges of this shard.
    pub fn stats(&self) -> PlaneStats {
        self.look(Plane::stats)
    }

    /// Answers what is to be answered elsewhere.
    fn carry_out(&self, output: &mut Output) -> Vec<(RequestRef, Reply)> {
        let mut done = Vec::new();
        for (request, reply) in output.replies.drain(..) {
            let Some(waiting) = self.waiting.borrow_mut().remove(&request) else { continue };
            if let Some(session) = waiting.session {
                self.rim.hold(session);
            }
            match waiting.asker {
                // Whoever asked may have gone.
                Asker::Handler(answer) => drop(answer.send(reply)),
                Asker::Elsewhere(errands) => done.extend(errands.note(reply)),
            }
        }
        for (session, frame, delivery) in output.deliveries.drain(..) {
            self.rim.deliver(session, frame, delivery);
        }
        for (session, reason) in output.closes.drain(..) {
            self.rim.close(session, reason);
        }
        for (shard, message) in output.sends.drain(..) {
            self.rim.send(shard, message);
        }
        done
    }

    /// Asks something; `None` only when the server is stopping.
    pub async fn ask(&self, step: impl FnOnce(&mut Plane, Millis, RequestRef, &mut Output)) -> Option<Reply> {
        self.begin(step).await.ok()
    }

    /// Asks what a session will find somewhere: what happens there afterwards reaches it behind the answer.
    pub async fn ask_for(
        &self,
        session: SessionKey,
        step: impl FnOnce(&mut Plane, Millis, RequestRef, &mut Output),
    ) -> Option<Reply> {
        self.begin_for(Some(session), step).await.ok()
    }

    /// Asks something, to be awaited later: several questions may be on their way at once.
    pub fn begin(&self, step: impl FnOnce(&mut Plane, Millis, RequestRef, &mut Output)) -> oneshot::Receiver<Reply> {
        self.begin_for(None, step)
    }

    fn begin_for(
        &self,
        session: Option<SessionKey>,
        step: impl FnOnce(&mut Plane, Millis, RequestRef, &mut Output),
    ) -> oneshot::Receiver<Reply> {
        let (answer, receiver) = oneshot::channel();
        self.begin_as(Waiting { session, asker: Asker::Handler(answer) }, step);
        receiver
    }

    /// Asks something whose answer is one of these errands' ends.
    pub(crate) fn begin_errand(
        &self,
        errands: &Rc<Errands>,
        step: impl FnOnce(&mut Plane, Millis, RequestRef, &mut Output),
    ) {
        self.begin_as(Waiting { session: None, asker: Asker::Elsewhere(errands.clone()) }, step);
    }

    fn begin_as(&self, waiting: Waiting, step: impl FnOnce(&mut Plane, Millis, RequestRef, &mut Output)) {
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

    /// As [`Self::leave`]; resolves once the owner knows, so that whoever is told of it may count on it.
    pub async fn leave_for_good(&self, session: SessionKey, stream: StreamKey) -> bool {
        let was_there = self.leave(session, stream.clone());
        // The owner answers behind what it was told before.
        self.count(&[stream]).await;
        was_there
    }

    /// Sends something to those who hear a stream.
    pub fn publish(&self, publish: Publish) {
        self.step(|plane, now, out| plane.publish(now, publish, out));
    }

    /// Sends something to all sockets of a user.
    pub fn push_to_user(&self, user: UserId, payload: SharedPayload) {
        let stream = StreamKey::notifications(user);
        let (audience, delivery) = (Audience::All, Delivery::Reliable);
        self.publish(Publish { stream, payload, audience, delivery, sender: None });
    }

    /// Sends something to one session, on whichever shard.
    pub fn push(&self, session: SessionRef, payload: SharedPayload) {
        self.step(|plane, _, out| plane.push(session, payload, out));
    }

    /// The same, by which the session is on these tickets no more.
    pub fn push_of_tickets(&self, session: SessionRef, payload: SharedPayload, ended: Vec<TicketId>) {
        self.step(|plane, _, out| plane.push_of_tickets(session, payload, ended, out));
    }

    /// How many are on each of these streams, in their order, hidden ones included.
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

    /// Which of these users show a status, so are online, in their order.
    pub async fn are_online(&self, users: &[UserId]) -> Vec<bool> {
        let streams: Vec<StreamKey> = users.iter().map(|user| StreamKey::status(*user)).collect();
        self.count(&streams).await.into_iter().map(|count| count > 0).collect()
    }

    /// Asks the same of every place at once; answers in the places' order, without those that are stopping.
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

    /// Relayed matches of all places with their sizes.
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

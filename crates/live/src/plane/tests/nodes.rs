//! Tests of several nodes, each with shards, that learn at different times who is there.

mod asked_matches;
mod crash;
mod cut;
mod durable;
mod epochs;
mod island;
mod matches;
mod moves;
mod owners;
mod recall;
mod recovery;
mod rooms;
mod sessions;
mod sound;
mod tickets;

use std::collections::BTreeSet;

use super::*;
use crate::matches::{Call, Callback, MatchAsk, MatchId, Outline};
use crate::place::{Epoch, Move, NodeNumber, Partition};

/// Nodes joined by queues that keep the order of each pair of places.
struct Cluster {
    now: Millis,
    planes: BTreeMap<Place, Plane>,
    queues: BTreeMap<(Place, Place), VecDeque<Message>>,
    nodes: Vec<(NodeNumber, ShardIndex)>,
    next_node: NodeNumber,
    owners: Vec<(Place, Epoch)>,
    moves: BTreeMap<Partition, Move>,
    handed_over: Vec<(Partition, Epoch)>,
    /// Recovery data that owners had kept.
    kept: BTreeMap<RecoveryKey, Vec<Carried>>,
    recovering: Vec<(Place, Partition, Epoch)>,
    /// Chats whose kept messages are to be told again, by the place that asks.
    recalling: Vec<(Place, Recall)>,
    epoch: Epoch,
    heard: BTreeMap<SessionRef, Vec<String>>,
    replies: Vec<Reply>,
    /// Matches about which game code is asked, and the places that ask.
    asked_matches: Vec<(Place, AskedMatch)>,
    /// Calls of handlers, and the places where they are to be made.
    calls: Vec<(Place, Call)>,
    /// Durable matches, with the outlines in their logs.
    logs: BTreeMap<MatchId, Outline>,
    /// Logs that are to be taken over.
    taking: Vec<(Place, Partition, Epoch)>,
    releases: Vec<(Place, Partition)>,
    sessions: u128,
}

impl Cluster {
    /// Nodes from 1 on, each with this number of shards.
    fn new(nodes: &[ShardIndex], config: &PlaneConfig) -> Self {
        let nodes: Vec<_> = (1..).zip(nodes.iter().copied()).collect();
        let places: Vec<Place> =
            nodes.iter().flat_map(|(node, shards)| (0..*shards).map(|shard| Place::new(*node, shard))).collect();
        let owner = |partition: Partition| (places[partition.row() % places.len()], Epoch(1));
        let mut cluster = Self {
            now: 1,
            planes: BTreeMap::new(),
            queues: BTreeMap::new(),
            next_node: nodes.len() as NodeNumber + 1,
            nodes,
            owners: Partition::all().map(owner).collect(),
            moves: BTreeMap::new(),
            handed_over: Vec::new(),
            kept: BTreeMap::new(),
            recovering: Vec::new(),
            recalling: Vec::new(),
            epoch: Epoch(1),
            heard: BTreeMap::new(),
            replies: Vec::new(),
            asked_matches: Vec::new(),
            calls: Vec::new(),
            logs: BTreeMap::new(),
            taking: Vec::new(),
            releases: Vec::new(),
            sessions: 0,
        };
        let plane = |me| (me, Plane::new(me, cluster.routes(), config.clone(), Rc::new(Words)));
        cluster.planes = places.into_iter().map(plane).collect();
        cluster
    }

    fn routes(&self) -> Routes {
        Routes::of_cluster(&self.nodes, self.next_node, |partition| self.owners[partition.row()])
            .with_moves(self.moves.values().copied())
    }

    fn open(&mut self, place: Place) -> SessionRef {
        self.open_at(place, None)
    }

    /// Opens a session. `second` is the time of its opening if the session is to be its user's only one.
    fn open_at(&mut self, place: Place, second: Option<i64>) -> SessionRef {
        self.sessions += 1;
        let (info, name) = player(self.sessions);
        let info = SessionInfo { only_session_since: second.map(Timestamp::from_seconds), ..info };
        let plane = self.planes.get_mut(&place).unwrap();
        SessionRef { place, key: plane.open(info, name, Encoding::Json) }
    }

    fn step<R>(&mut self, place: Place, step: impl FnOnce(&mut Plane, Millis, &mut Effects) -> R) -> R {
        let mut out = Effects::default();
        let result = step(self.planes.get_mut(&place).unwrap(), self.now, &mut out);
        // Effects that lead to further steps are carried out after this one.
        let mut told = Vec::new();
        for effect in out {
            match effect {
                Effect::Matched(found) => {
                    let members = found.tickets.iter().flat_map(|ticket| &ticket.members);
                    let text = if found.match_id.is_some() { "to a match" } else { "matched" };
                    told.extend(members.map(|member| (member.presence.session, text, found.ended_for(&member.key))));
                }
                Effect::EndTicket((session, ticket)) => told.push((session, "ticket lost", vec![ticket])),
                effect => self.carry_out(place, effect),
            }
        }
        for (session, text, tickets) in told {
            self.tell_of_tickets(place, session, text, tickets);
        }
        result
    }

    fn carry_out(&mut self, place: Place, effect: Effect) {
        match effect {
            Effect::Deliver(key, frame, _) => {
                let heard = self.heard.entry(SessionRef { place, key }).or_default();
                heard.push(String::from_utf8_lossy(&frame).into_owned());
            }
            Effect::Send(to, message) => self.queues.entry((place, to)).or_default().push_back(*message),
            Effect::HandedOver(partitions) => self.handed_over.extend(partitions),
            Effect::Handler(order) => self.order(place, order),
            Effect::Keep(things) => self.kept.extend(things.into_iter().map(|kept| (kept.key, kept.parts))),
            Effect::Recover(partitions) => {
                self.recovering.extend(partitions.into_iter().map(|(partition, epoch)| (place, partition, epoch)));
            }
            Effect::Recall(recall) => self.recalling.push((place, *recall)),
            Effect::Reply(_, reply) => self.replies.push(reply),
            Effect::AskOfMatch(asked) => self.asked_matches.push((place, asked)),
            // No test looks at these.
            Effect::Close(..) | Effect::Depart(..) | Effect::Order(..) => {}
            Effect::Matched(_) | Effect::EndTicket(_) => unreachable!("steps of their own"),
        }
    }

    fn order(&mut self, place: Place, order: HandlerOrder) {
        match order {
            HandlerOrder::Call(call) => self.calls.push((place, *call)),
            HandlerOrder::Drop(id) => drop(self.logs.remove(&id)),
            HandlerOrder::TakeOver(partitions) => {
                self.taking.extend(partitions.into_iter().map(|(partition, epoch)| (place, partition, epoch)));
            }
            HandlerOrder::Release(partition) => self.releases.push((place, partition)),
            HandlerOrder::Forget(partition) => {
                self.calls.retain(|(at, call)| *at != place || call.id.partition() != partition);
            }
        }
    }

    fn tell_of_tickets(&mut self, place: Place, to: SessionRef, text: &'static str, tickets: Vec<TicketId>) {
        self.step(place, |plane, _, out| plane.push_of_tickets(to, Arc::new(Text(text)), tickets, out));
    }

    /// Lets all messages to places that are there arrive, and long work end.
    fn settle(&mut self) {
        let planes: BTreeSet<Place> = self.planes.keys().copied().collect();
        let arrives = |(to, queue): (&(Place, Place), &VecDeque<Message>)| !queue.is_empty() && planes.contains(&to.1);
        loop {
            while let Some((&(from, to), _)) = self.queues.iter().find(|(pair, queue)| arrives((pair, queue))) {
                let message = self.queues.get_mut(&(from, to)).and_then(VecDeque::pop_front).unwrap();
                self.step(to, |plane, now, out| plane.receive(now, from, message, out));
            }
            let Some(busy) = self.planes.iter().find(|(_, plane)| plane.is_busy()).map(|(place, _)| *place) else {
                return;
            };
            self.step(busy, |plane, now, out| plane.run_slice(now, out));
        }
    }

    /// Lets time pass, and timers run.
    fn pass(&mut self, ms: Millis) {
        self.now += ms;
        for place in self.planes.keys().copied().collect::<Vec<_>>() {
            self.step(place, |plane, now, out| plane.turn(now, out));
        }
        self.settle();
    }

    /// Adds a node, which knows of no other yet.
    fn add(&mut self, shards: ShardIndex) -> NodeNumber {
        let node = self.next_node;
        self.nodes.push((node, shards));
        self.next_node += 1;
        self.epoch.0 += 1;
        for me in (0..shards).map(|shard| Place::new(node, shard)) {
            let plane = Plane::new(me, Routes::of_newcomer(), PlaneConfig::default(), Rc::new(Words));
            self.planes.insert(me, plane);
        }
        node
    }

    /// Gives a partition an owner.
    fn give(&mut self, partition: Partition, to: Place) {
        self.epoch.0 += 1;
        self.owners[partition.row()] = (to, self.epoch);
    }

    /// Sends a partition on its way to another owner.
    fn hand(&mut self, partition: Partition, to: Place) {
        self.epoch.0 += 1;
        self.moves.insert(partition, Move { partition, to, epoch: self.epoch });
    }

    /// Ends the way of a partition because one of its two owners died.
    fn unhand(&mut self, partition: Partition, to: Place) {
        self.moves.remove(&partition);
        self.give(partition, to);
    }

    /// Makes the next owners of partitions that were handed over their owners.
    fn settle_moves(&mut self) {
        for (partition, epoch) in std::mem::take(&mut self.handed_over) {
            let it = self.moves.remove(&partition).filter(|it| it.epoch == epoch).unwrap();
            self.owners[partition.row()] = (it.to, epoch);
        }
    }

    /// Crashes a node; its messages that are on their way still arrive. Other nodes own its partitions once they are
    /// told.
    fn crash(&mut self, node: NodeNumber) {
        self.nodes.retain(|(other, _)| *other != node);
        self.planes.retain(|place, _| place.node() != node);
        self.calls.retain(|(place, _)| place.node() != node);
        self.epoch.0 += 1;
        let left: Vec<Place> = self.planes.keys().copied().collect();
        for (number, owner) in self.owners.iter_mut().enumerate().filter(|(_, (owner, _))| owner.node() == node) {
            *owner = (left[number % left.len()], self.epoch);
        }
    }

    /// Tells a place who is there and who owns what.
    fn tell(&mut self, place: Place) {
        let routes = self.routes();
        self.step(place, |plane, now, out| plane.reroute(now, routes, out));
    }

    /// Tells all places, and lets all messages arrive.
    fn tell_all(&mut self) {
        let places: Vec<Place> = self.planes.keys().copied().collect();
        places.into_iter().for_each(|place| self.tell(place));
        self.settle();
    }

    fn begin_join(&mut self, session: SessionRef, stream: &StreamKey, options: JoinOptions) {
        self.step(session.place, |plane, now, out| {
            let request = plane.request();
            plane.join(now, session.key, stream.clone(), options, Some(request), out);
        });
    }

    fn join(&mut self, session: SessionRef, stream: &StreamKey) -> Reply {
        self.begin_join(session, stream, JoinOptions::default());
        self.settle();
        self.replies.pop().unwrap()
    }

    fn publish(&mut self, sender: SessionRef, stream: &StreamKey, text: &'static str) {
        let (payload, audience, delivery) = (Arc::new(Text(text)), Audience::All, Delivery::Reliable);
        let publish = Publish { stream: stream.clone(), payload, audience, delivery, sender: Some(sender) };
        self.step(sender.place, |plane, now, out| plane.publish(now, publish, out));
    }

    fn take_heard(&mut self, session: SessionRef) -> Vec<String> {
        self.heard.remove(&session).unwrap_or_default()
    }

    fn is_on(&self, session: SessionRef, stream: &StreamKey) -> bool {
        self.planes[&session.place].is_on(session.key, stream)
    }

    /// A channel that a node owns.
    fn owned_by(&self, node: NodeNumber) -> StreamKey {
        let owner = |stream: &StreamKey| self.owners[stream.partition().row()].0;
        (0..).map(|n| room(&n.to_string())).find(|stream| owner(stream).node() == node).unwrap()
    }
}

/// The first shard of a node.
fn first(node: NodeNumber) -> Place {
    Place::new(node, 0)
}

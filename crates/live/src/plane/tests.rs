//! Tests of planes of two shards and more, joined by queues that keep the order of each pair.

mod carry;
mod durable;
mod matches;
mod nodes;
mod orders;
mod parties;
mod pool;
mod races;
mod rooms;
mod sound;

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;
use muster_domain::Timestamp;
use muster_domain::ids::{SessionId, TokenId, UserId, Uuid};

use super::*;
use crate::close::CloseReason;
use crate::matchmaker::{MemberKey, NewTicket, TicketId, TicketMember, TicketOwner};
use crate::outbox::Delivery;
use crate::party;
use crate::place::{Partition, ShardIndex};
use crate::stream::{Payload, PresenceEvent, mode};

/// An encoding whose frames are words: `+1 -2` for sessions that came and went, and the texts that were published.
struct Words;

#[derive(Debug)]
struct Text(&'static str);

impl Payload for Text {
    fn write(&self, _encoding: Encoding, out: &mut Vec<u8>) {
        out.extend_from_slice(self.0.as_bytes());
    }
}

impl Encode for Words {
    fn frame(&self, payload: &dyn Payload, encoding: Encoding) -> Bytes {
        let mut out = Vec::new();
        payload.write(encoding, &mut out);
        out.into()
    }

    fn presence_event(&self, event: &PresenceEvent<'_>, _encoding: Encoding) -> Option<Bytes> {
        let joins = event.joins.iter().map(|presence| format!("+{}", presence.username));
        let leaves = event.leaves.iter().map(|presence| format!("-{}", presence.username));
        Some(leaves.chain(joins).collect::<Vec<_>>().join(" ").into())
    }

    fn party_event(&self, _party: &StreamKey, event: party::PartyEvent) -> SharedPayload {
        Arc::new(parties::PartyText(event))
    }

    fn room_event(&self, _room: &StreamKey, event: crate::rooms::RoomEvent) -> SharedPayload {
        Arc::new(rooms::RoomText(rooms::event_text(&event)))
    }

    fn lobby_event(&self, _view: &StreamKey, delta: crate::rooms::LobbyDelta) -> SharedPayload {
        Arc::new(rooms::RoomText(rooms::delta_text(&delta)))
    }

    fn match_data(&self, _stream: &StreamKey, data: crate::matches::Broadcast) -> SharedPayload {
        Arc::new(rooms::RoomText(String::from_utf8_lossy(&data.data).into_owned()))
    }

    fn match_left(&self, _stream: &StreamKey, presence: Presence) -> SharedPayload {
        Arc::new(rooms::RoomText(format!("left {}", presence.username)))
    }

    fn farewell(&self, reason: CloseReason) -> Option<SharedPayload> {
        (reason == CloseReason::SingleSocket).then(|| Arc::new(Text("bye")) as SharedPayload)
    }

    fn seat_status(&self, seat: Option<u32>) -> Arc<str> {
        format!("seat {}", seat.unwrap_or(0)).into()
    }
}

struct World {
    now: Millis,
    planes: Vec<Plane>,
    queues: BTreeMap<(ShardIndex, ShardIndex), VecDeque<Message>>,
    heard: BTreeMap<SessionRef, Vec<String>>,
    closed: Vec<(SessionRef, CloseReason)>,
    replies: Vec<Reply>,
    matches: Vec<Matched>,
    asked_matches: Vec<(ShardIndex, AskedMatch)>,
    calls: Vec<crate::matches::Call>,
    dropped: Vec<crate::matches::MatchId>,
    releases: Vec<(ShardIndex, Partition)>,
    orders: Vec<(RequestRef, Order)>,
    sessions: u128,
}

impl World {
    fn new(shards: ShardIndex, config: &PlaneConfig) -> Self {
        Self {
            now: 1,
            planes: (0..shards)
                .map(|me| Plane::new(me.into(), Routes::alone(shards), config.clone(), Rc::new(Words)))
                .collect(),
            queues: BTreeMap::new(),
            heard: BTreeMap::new(),
            closed: Vec::new(),
            replies: Vec::new(),
            matches: Vec::new(),
            asked_matches: Vec::new(),
            calls: Vec::new(),
            dropped: Vec::new(),
            releases: Vec::new(),
            orders: Vec::new(),
            sessions: 0,
        }
    }

    fn open(&mut self, shard: ShardIndex) -> SessionRef {
        self.open_at(shard, None)
    }

    /// Opens a session. `second` is the time of its opening if the session is to be its user's only one.
    fn open_at(&mut self, shard: ShardIndex, second: Option<i64>) -> SessionRef {
        self.sessions += 1;
        let (info, name) = player(self.sessions);
        let info = SessionInfo { only_session_since: second.map(Timestamp::from_seconds), ..info };
        SessionRef { place: shard.into(), key: self.planes[usize::from(shard)].open(info, name, Encoding::Json) }
    }

    /// Runs one step of a shard. Messages to other shards wait in the queues.
    fn step<R>(&mut self, shard: ShardIndex, step: impl FnOnce(&mut Plane, Millis, &mut Effects) -> R) -> R {
        let mut out = Effects::default();
        let result = step(&mut self.planes[usize::from(shard)], self.now, &mut out);
        for effect in out {
            self.carry_out(shard, effect);
        }
        result
    }

    fn carry_out(&mut self, shard: ShardIndex, effect: Effect) {
        let session = |key| SessionRef { place: shard.into(), key };
        match effect {
            Effect::Reply(_, reply) => self.replies.push(reply),
            Effect::Deliver(key, frame, _) => {
                self.heard.entry(session(key)).or_default().push(String::from_utf8_lossy(&frame).into_owned());
            }
            Effect::Close(key, reason) => self.closed.push((session(key), reason)),
            Effect::Send(to, message) => self.queues.entry((shard, to.shard())).or_default().push_back(*message),
            Effect::Matched(found) => self.matches.push(*found),
            Effect::AskOfMatch(asked) => self.asked_matches.push((shard, asked)),
            Effect::Handler(HandlerOrder::Call(call)) => self.calls.push(*call),
            Effect::Handler(HandlerOrder::Drop(id)) => self.dropped.push(id),
            Effect::Handler(HandlerOrder::Release(partition)) => self.releases.push((shard, partition)),
            Effect::Order(request, order) => self.orders.push((request, *order)),
            // No test on one node looks at these.
            Effect::EndTicket(_) | Effect::Depart(..) => {}
            effect => panic!("{effect:?} on a node on its own"),
        }
    }

    /// Lets all messages arrive, and long work end.
    fn settle(&mut self) {
        loop {
            while let Some((&(from, to), _)) = self.queues.iter().find(|(_, queue)| !queue.is_empty()) {
                let message = self.queues.get_mut(&(from, to)).and_then(VecDeque::pop_front).unwrap();
                self.step(to, |plane, now, out| plane.receive(now, from.into(), message, out));
            }
            let Some(busy) = self.planes.iter().position(Plane::is_busy) else { return };
            self.step(busy as ShardIndex, |plane, now, out| plane.run_slice(now, out));
        }
    }

    /// Lets time pass, and timers run.
    fn pass(&mut self, ms: Millis) {
        self.now += ms;
        for shard in 0..self.planes.len() as ShardIndex {
            self.step(shard, |plane, now, out| plane.turn(now, out));
        }
        self.settle();
    }

    fn join(&mut self, session: SessionRef, stream: &StreamKey, options: JoinOptions) -> Reply {
        self.step(session.place.shard(), |plane, now, out| {
            let request = plane.request();
            plane.join(now, session.key, stream.clone(), options, Some(request), out);
        });
        self.settle();
        self.replies.pop().unwrap()
    }

    fn publish(&mut self, sender: SessionRef, stream: &StreamKey, text: &'static str, audience: Audience) {
        let publish = Publish {
            stream: stream.clone(),
            payload: Arc::new(Text(text)),
            audience,
            delivery: Delivery::Reliable,
            sender: Some(sender),
        };
        self.step(sender.place.shard(), |plane, now, out| plane.publish(now, publish, out));
    }

    fn close(&mut self, session: SessionRef) {
        self.step(session.place.shard(), |plane, now, out| plane.close(now, session.key, out));
        self.settle();
    }

    fn take_heard(&mut self, session: SessionRef) -> Vec<String> {
        self.heard.remove(&session).unwrap_or_default()
    }

    fn assert_empty(&self) {
        for plane in &self.planes {
            let stats = plane.stats();
            assert_eq!((stats.streams, stats.presences, stats.heard_streams, stats.held), (0, 0, 0, 0));
        }
    }
}

/// A player with a number of its own, and the player's name.
fn player(number: u128) -> (SessionInfo, Arc<str>) {
    let info = SessionInfo {
        session_id: SessionId(Uuid::from_u128(number)),
        user_id: UserId(Uuid::from_u128(1_000 + number)),
        token_id: TokenId::issued(Timestamp::from_seconds(1), [0; 8]),
        issued_at_sec: 1,
        only_session_since: None,
    };
    (info, number.to_string().into())
}

/// A ticket of a session alone, which fits any other such ticket.
fn ticket_of(plane: &Plane, session: SessionKey, id: &str) -> Box<NewTicket<Presence>> {
    let presence = plane.presence(session).unwrap();
    Box::new(NewTicket {
        id: TicketId(id.into()),
        owner: TicketOwner::Session(presence.session_id),
        members: vec![TicketMember { key: MemberKey::Session(presence.session_id), presence }],
        min_count: 2,
        max_count: 2,
        count_multiple: 1,
        query: "*".into(),
        string_properties: BTreeMap::new(),
        numeric_properties: BTreeMap::new(),
        widening: Vec::new(),
        created_at: Timestamp::from_seconds(1),
    })
}

fn room(name: &str) -> StreamKey {
    StreamKey::new(mode::CHANNEL, Uuid::nil(), Uuid::nil(), name)
}

fn names(reply: &Reply) -> Vec<&str> {
    match reply {
        Reply::Joined(Ok(joined)) => joined.presences.iter().map(|presence| &*presence.username).collect(),
        Reply::Presences(presences, _) => presences.iter().map(|presence| &*presence.username).collect(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn members_hear_who_comes_and_goes_and_the_joiner_hears_itself() {
    for shards in [1, 2, 4] {
        let mut world = World::new(shards, &PlaneConfig::default());
        let [one, two, three] = [0, 1, 2].map(|n| world.open(n % shards));
        let stream = room("hall");
        assert_eq!(names(&world.join(one, &stream, JoinOptions::default())), [""; 0]);
        assert_eq!(names(&world.join(two, &stream, JoinOptions::default())), ["1"]);
        let hidden = JoinOptions { hidden: true, ..JoinOptions::default() };
        assert_eq!(names(&world.join(three, &stream, hidden)), ["1", "2"]);
        assert_eq!(names(&world.join(two, &stream, JoinOptions::default())), ["1", "2"], "again");
        world.publish(one, &stream, "hello", Audience::AllBut(one));
        world.settle();
        assert_eq!(world.take_heard(one), ["+1", "+2"]);
        assert_eq!(world.take_heard(two), ["+2", "hello"]);
        assert_eq!(world.take_heard(three), ["hello"], "hidden ones hear, and are not heard of");
        world.close(two);
        world.close(three);
        assert_eq!(world.take_heard(one), ["-2"]);
        assert_eq!(world.take_heard(two), [""; 0]);
        world.close(one);
        world.assert_empty();
    }
}

#[test]
fn what_is_meant_for_some_reaches_those_and_a_stranger_reaches_nobody() {
    let mut world = World::new(2, &PlaneConfig::default());
    let [one, two, three] = [0, 1, 1].map(|shard| world.open(shard));
    let stream = room("hall");
    for session in [one, two] {
        world.join(session, &stream, JoinOptions::default());
    }
    world.heard.clear();
    let id = |n| SessionId(Uuid::from_u128(n));
    world.publish(one, &stream, "for two", Audience::Only(vec![id(2)]));
    world.publish(one, &stream, "for both", Audience::Only(vec![id(1), id(2)]));
    world.publish(one, &stream, "for two and one who is not there", Audience::Only(vec![id(2), id(3)]));
    world.publish(three, &stream, "from outside", Audience::All);
    world.settle();
    assert_eq!(world.take_heard(one), ["for both"]);
    assert_eq!(world.take_heard(two), ["for two", "for both", "for two and one who is not there"]);
    assert_eq!(world.planes.iter().map(|plane| plane.stats().strangers).sum::<u64>(), 1);
}

#[test]
fn a_status_is_heard_by_those_who_listen_and_changes_in_one_event() {
    let mut world = World::new(2, &PlaneConfig::default());
    let [follower, player] = [0, 1].map(|shard| world.open(shard));
    let stream = StreamKey::status(UserId(Uuid::from_u128(7)));
    let status = |text: &str| JoinOptions {
        status: Some(text.into()),
        listens: false,
        condition: Condition::Replace,
        ..JoinOptions::default()
    };
    world.join(player, &stream, status("busy"));
    world.step(follower.place.shard(), |plane, now, out| {
        let request = plane.request();
        plane.listen(now, follower.key, stream.clone(), Some(request), out);
    });
    world.settle();
    assert_eq!(names(&world.replies.pop().unwrap()), ["2"]);
    world.join(player, &stream, status("free"));
    world.join(player, &stream, status("free"));
    assert_eq!(world.take_heard(follower), ["-2 +2"], "the same again is no news");
    world.step(player.place.shard(), |plane, now, out| plane.vanish(now, player.key, stream.clone(), out));
    world.settle();
    assert_eq!(world.take_heard(follower), ["-2"]);
    assert_eq!(world.take_heard(player), [""; 0]);
    world.step(follower.place.shard(), |plane, now, out| plane.unlisten(now, follower.key, stream.clone(), out));
    world.settle();
    world.assert_empty();
}

#[test]
fn joining_where_nobody_is_can_be_refused_and_leaves_nothing() {
    let mut world = World::new(2, &PlaneConfig::default());
    let session = world.open(0);
    let occupied = JoinOptions { condition: Condition::Occupied, ..JoinOptions::default() };
    assert_eq!(world.join(session, &room("a"), occupied), Reply::Joined(Err(JoinRefusal::Empty)));
    assert!(!world.planes[0].is_on(session.key, &room("a")));
    world.assert_empty();
}

#[test]
fn of_sessions_that_are_to_be_the_only_one_the_last_opened_goes_on_whatever_comes_first() {
    for is_late in [false, true] {
        let mut world = World::new(4, &PlaneConfig::default());
        let stream = StreamKey::notifications(UserId(Uuid::from_u128(7)));
        let [other, old, new] =
            [(2, None), (0, Some(5)), (3, Some(6))].map(|(shard, second)| world.open_at(shard, second));
        let mut coming = [other, old, new];
        if is_late {
            coming.reverse();
        }
        for session in coming {
            world.join(session, &stream, JoinOptions { hidden: true, ..JoinOptions::default() });
        }
        for session in [other, old] {
            assert!(world.closed.contains(&(session, CloseReason::SingleSocket)), "{is_late}: {:?}", world.closed);
            assert_eq!(world.take_heard(session).last().unwrap(), "bye");
        }
        assert_eq!(world.take_heard(new), [""; 0]);
    }
}

#[test]
fn a_session_that_closes_while_it_joins_leaves_nothing_behind() {
    let mut world = World::new(2, &PlaneConfig::default());
    for shard in 0..2 {
        let session = world.open(shard);
        for name in ["a", "b", "c", "d"] {
            world.step(shard, |plane, now, out| {
                plane.join(now, session.key, room(name), JoinOptions::default(), None, out);
            });
        }
        world.close(session);
    }
    world.assert_empty();
}

#[test]
fn streams_per_session_have_a_limit() {
    let config = PlaneConfig { session_streams_max: 2, ..PlaneConfig::default() };
    let mut world = World::new(2, &config);
    let session = world.open(0);
    for name in ["a", "b"] {
        assert!(matches!(world.join(session, &room(name), JoinOptions::default()), Reply::Joined(Ok(_))));
    }
    assert_eq!(
        world.join(session, &room("c"), JoinOptions::default()),
        Reply::Joined(Err(JoinRefusal::TooManyStreams))
    );
}

#[test]
fn a_large_stream_tells_joins_and_leaves_together_and_loses_none() {
    let config = PlaneConfig { merge_above: 3, snapshot_max: 4, ..PlaneConfig::default() };
    let mut world = World::new(2, &config);
    let sessions: Vec<SessionRef> = (0..10).map(|n| world.open(n % 2)).collect();
    let stream = room("hall");
    for session in &sessions {
        world.join(*session, &stream, JoinOptions::default());
    }
    world.close(sessions[9]);
    world.close(sessions[0]);
    assert_eq!(world.take_heard(sessions[1]), ["+2", "+3"]);
    world.pass(config.merge_ms);
    assert_eq!(world.take_heard(sessions[1]), ["-1 +4 +5 +6 +7"], "the tenth came and went unnoticed");
    world.pass(1);
    assert_eq!(world.take_heard(sessions[1]), ["+8 +9"], "in pieces, other work between");
    let late = world.open(0);
    let reply = world.join(late, &stream, JoinOptions::default());
    assert!(
        matches!(&reply, Reply::Joined(Ok(joined)) if joined.presences.len() == 4 && joined.total == 8),
        "{reply:?}"
    );
}

#[test]
fn a_broadcast_to_very_many_goes_in_slices_in_order_and_misses_who_left() {
    let config = PlaneConfig { merge_above: 1, ..PlaneConfig::default() };
    let mut world = World::new(1, &config);
    let sessions: Vec<SessionRef> = (0..3 * SLICE_DELIVERIES).map(|_| world.open(0)).collect();
    let stream = room("hall");
    for session in &sessions {
        world.step(0, |plane, now, out| {
            plane.join(now, session.key, stream.clone(), JoinOptions::default(), None, out);
        });
    }
    world.heard.clear();
    let (first, last) = (sessions[0], sessions[sessions.len() - 1]);
    world.publish(first, &stream, "one", Audience::All);
    world.publish(first, &stream, "two", Audience::AllBut(first));
    world.step(0, |plane, now, out| plane.run_slice(now, out));
    assert!(world.heard.contains_key(&first) && !world.heard.contains_key(&last), "others have their turn between");
    world.step(0, |plane, now, out| plane.close(now, last.key, out));
    world.settle();
    assert_eq!(world.take_heard(first), ["one"]);
    assert_eq!(world.take_heard(sessions[sessions.len() - 2]), ["one", "two"]);
    assert_eq!(world.take_heard(last), [""; 0]);
}

#[test]
fn lanes_run_out_of_credit_and_recover_without_loss_or_disorder() {
    let mut world = World::new(2, &PlaneConfig::default());
    let stream = (0..)
        .map(|n| room(&n.to_string()))
        .find(|stream| Routes::alone(2).owner(stream.partition()).shard() == 1)
        .unwrap();
    let [sender, receiver] = [0, 0].map(|shard| world.open(shard));
    for session in [sender, receiver] {
        world.join(session, &stream, JoinOptions::default());
    }
    world.heard.clear();
    let texts: [&'static str; 3] = ["x", "y", "z"];
    let count = 3 * UP_CREDITS as usize;
    for n in 0..count {
        world.publish(sender, &stream, texts[n % 3], Audience::AllBut(sender));
    }
    assert!(world.planes[0].is_congested(), "sockets are not read while credits are out");
    world.step(0, |plane, now, out| plane.leave(now, sender.key, stream.clone(), out));
    world.settle();
    assert!(!world.planes[0].is_congested());
    let heard = world.take_heard(receiver);
    assert_eq!(heard.len(), count + 1);
    assert!(heard[..count].iter().enumerate().all(|(n, text)| text == texts[n % 3]));
    assert_eq!(heard[count], "-1", "the leave stayed behind what was sent before");
}

#[test]
fn messages_stay_small() {
    // Every message is moved several times on its way through a plane. What is larger goes into a box.
    let sizes = [size_of::<Up>(), size_of::<Reply>(), size_of::<Effect>()];
    assert!(sizes.into_iter().zip([128, 64, 80]).all(|(size, max)| size <= max), "{sizes:?}");
}

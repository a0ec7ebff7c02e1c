//! The questions for the twins: from sessions of several places, about a few things in one partition.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use muster_cluster::codec::Encoded;
use muster_domain::Timestamp;
use muster_domain::ids::{SessionId, UserId, Uuid};
use muster_domain::query::Query;
use muster_live::matches::LeaveReason;
use muster_live::matchmaker::{self, MemberKey, NewTicket, TicketId, Widening};
use muster_live::party::{Label, ListQuery, Member, PartyAsk, PartyRequest, Person, Settings};
use muster_live::plane::{Ask, Audience, Condition, Join, Listener, PoolAsk, Publish, RequestRef, Up};
use muster_live::rooms::{
    self, Caller, Change, Creation, DirectoryAction, Entry, Find, MessageToRoomOwner, PasswordDigest, RoomAction,
    RoomId, RoomOwner, RoomPath, Template, Update, Value, ViewKey,
};
use muster_live::stream::mode;
use muster_live::{Delivery, Encoding, Millis, Partition, Place, Presence, SessionKey, SessionRef, StreamKey};

use crate::random::Random;

/// Places with sessions; one of them is on the owner's node.
pub const PLACES: [Place; 3] = [Place::new(1, 1), Place::new(2, 0), Place::new(3, 0)];

const SESSIONS: u64 = 14;
const USERS: u64 = 9;
const ROOMS: usize = 60;
const JSON: [&str; 3] = ["1", "\"text\"", "{\"a\":[1,2]}"];

/// The partition of the directory, to which everything belongs except the pool.
pub fn partition() -> Partition {
    RoomOwner::Directory.partition()
}

/// The sessions that ask, and the things that they ask about.
pub struct Scene {
    sessions: Vec<Presence>,
    streams: Vec<StreamKey>,
    parties: Vec<StreamKey>,
    rooms: Vec<RoomId>,
    templates: Vec<Arc<str>>,
}

impl Scene {
    pub fn new() -> Self {
        let ids: Vec<Uuid> = ids().take(ROOMS + 8).collect();
        let about = |mode: u8, place: usize| StreamKey::about(mode, ids[place]);
        let channel = |name: &String| StreamKey::new(mode::CHANNEL, Uuid::nil(), Uuid::nil(), name);
        let names = (0..).map(|name: u32| name.to_string()).filter(|name| channel(name).partition() == partition());
        let mut streams: Vec<StreamKey> = names.take(2).map(|name| channel(&name)).collect();
        streams.extend([about(mode::STATUS, 0), about(mode::GROUP, 1)]);
        streams.extend((2..5).map(|place| about(mode::MATCH_RELAYED, place)));
        Self {
            sessions: (0..SESSIONS).map(session).collect(),
            streams,
            parties: (5..8).map(|place| about(mode::PARTY, place)).collect(),
            rooms: ids[8..].iter().copied().map(RoomId).collect(),
            templates: templates().iter().map(|template| template.name.clone()).collect(),
        }
    }

    /// A random question or message of a random session.
    pub fn ask(&self, step: u64, now: Millis, random: &mut Random) -> (Place, Up) {
        let by = &self.sessions[random.below(self.sessions.len())];
        let request = RequestRef { place: by.session.place, id: step };
        let up = match random.below(40) {
            0..11 => self.of_streams(by, request, random),
            11 => {
                let (stream, listener) = (view(random).stream(), listener(by, request, random));
                match random.below(4) {
                    0 => Up::Unlisten { stream, listener, by_join: false },
                    _ => Up::Listen { stream, listener, request: Some(request) },
                }
            }
            12..22 => self.of_parties(by, request, now, random),
            22 => Up::Leave {
                stream: self.rooms[random.below(6)].stream(),
                session: by.session,
                heard: None,
                reason: LeaveReason::Left,
            },
            23..34 => Up::from(self.of_rooms(by, request, random)),
            _ => Up::Ask { request: Some(request), ask: Ask::Pool(self.of_pool(by, step, random)) },
        };
        (by.session.place, up)
    }

    fn of_streams(&self, by: &Presence, request: RequestRef, random: &mut Random) -> Up {
        // Most questions go to the first stream, so that it becomes large.
        let stream = self.streams[random.below(self.streams.len()) * random.below(2)].clone();
        let listener = listener(by, request, random);
        let session = by.session;
        match random.below(14) {
            0..6 => {
                let condition = match random.below(5) {
                    0 => Condition::Occupied,
                    1..3 => Condition::Replace,
                    _ => Condition::Any,
                };
                let status = random.pick(&[None, Some("busy"), Some("idle")]).map(Into::into);
                let presence = Presence { hidden: random.below(5) == 0, status, ..by.clone() };
                let listener = (random.below(4) > 0).then_some(listener);
                let serial = listener.map_or(0, |listener| listener.serial);
                Up::Join(Box::new(Join { stream, presence, listener, serial, condition, request: Some(request) }))
            }
            6..9 => Up::Leave { stream, session, heard: None, reason: LeaveReason::Left },
            9 => Up::Listen { stream, listener, request: Some(request) },
            10 => Up::Unlisten { stream, listener, by_join: random.below(2) == 0 },
            11 => {
                let others = self.sessions[..4].iter().map(|other| other.session_id).collect();
                let audience = [Audience::All, Audience::AllBut(session), Audience::Only(others)];
                let audience = audience[random.below(3)].clone();
                let sender = (random.below(2) == 0).then_some(session);
                Up::Publish(Publish {
                    stream,
                    payload: payload("hello"),
                    audience,
                    delivery: Delivery::Reliable,
                    sender,
                })
            }
            12 => Up::Count { request, streams: self.streams.clone() },
            _ if random.below(2) == 0 => Up::Matches { request, limit: 10, sizes: (0, 5) },
            _ => Up::List { request, stream, with_hidden: random.below(2) == 0, skip: random.below(3), limit: 3 },
        }
    }

    fn of_parties(&self, by: &Presence, request: RequestRef, now: Millis, random: &mut Random) -> Up {
        let stream = self.parties[random.below(self.parties.len())].clone();
        let (session, member) = (by.session, Member { presence: by.clone(), listener: listener(by, request, random) });
        let other = &self.sessions[random.below(self.sessions.len())];
        let (session_id, user_id, username) = (other.session_id, other.user_id, other.username.clone());
        let target = Person { session_id, user_id, username };
        let label = Label::new(random.pick(&["", "{\"rank\":3}"])).unwrap();
        let settings = Settings { open: random.below(2) == 0, hidden: random.below(4) == 0, label };
        let ask = match random.below(20) {
            0..3 => PartyRequest::Create { leader: member, settings, max_size: 5, created_at: Timestamp(now as i64) },
            3..8 => PartyRequest::Join(member),
            8 => PartyRequest::Leave(session),
            9..11 => PartyRequest::Accept { by: session, target },
            11 => PartyRequest::Remove { by: session, target },
            12 => PartyRequest::Promote { by: session, target },
            13 => PartyRequest::Update { by: session, settings },
            14 => PartyRequest::SendData { by: session, op_code: 7, data: Bytes::from_static(b"data") },
            15 => PartyRequest::Matchmake(session),
            16 => PartyRequest::TicketIssued { by: session, ticket: "t".into(), membership: random.below(4) as u64 },
            17 if random.below(3) == 0 => PartyRequest::Close(session),
            17 => PartyRequest::ListRequests(session),
            18 => {
                let query = Query::parse(random.pick(&["*", "+label.rank:3", "label.rank:3 open:T"])).unwrap();
                let asked = ListQuery { query: Arc::new(query), open: None, after: None, limit: 10 };
                return Up::Ask { request: Some(request), ask: Ask::Party(PartyAsk::List(asked)) };
            }
            // A session that leaves is reported by its place.
            _ => return Up::Leave { stream, session, heard: None, reason: LeaveReason::Left },
        };
        Up::Ask { request: Some(request), ask: Ask::Party(PartyAsk::One { stream, what: Box::new(ask) }) }
    }

    fn of_rooms(&self, by: &Presence, request: RequestRef, random: &mut Random) -> MessageToRoomOwner {
        let caller =
            Caller { user_id: by.user_id, username: by.username.clone(), session: Some((by.session, by.session_id)) };
        let reply_to = Some(request);
        // The first rooms are asked about often, and nobody is placed there.
        let room = self.rooms[random.below(6)];
        match random.below(16) {
            0..3 => {
                let template = self.templates[random.below(self.templates.len())].clone();
                let fresh = self.rooms[6 + random.below(ROOMS - 6)];
                let (size, random) = (random.pick(&[None, Some(2), Some(3)]), random.number() as u32);
                let what = rooms::Placement { template, size, fresh, random, tried: Vec::new() };
                MessageToRoomOwner::Placement(rooms::Request { caller, reply_to, what })
            }
            3 => {
                let filter = Arc::from(random.pick(&["", "+open:T", "+variables.a:1"]));
                let after = random.pick(&[None, Some(0), Some(3)]);
                let find = Find { path: RoomPath::default(), filter, limit: 3, after };
                let what = match random.below(4) {
                    0 => DirectoryAction::QuickJoin(find),
                    1 => DirectoryAction::Find(find),
                    _ => DirectoryAction::Subscribe(view(random)),
                };
                MessageToRoomOwner::Directory(rooms::Request { caller, reply_to, what })
            }
            _ => {
                let anywhere = self.rooms[random.below(ROOMS)];
                let room = if random.below(2) == 0 { room } else { anywhere };
                let listener = listener(by, request, random);
                let what = self.of_room(room, listener, random);
                MessageToRoomOwner::Room(room, rooms::Request { caller, reply_to, what })
            }
        }
    }

    fn of_room(&self, room: RoomId, listener: Listener, random: &mut Random) -> RoomAction {
        let password = (random.below(2) == 0).then(|| PasswordDigest::new(room, random.pick(&["a", "b"])).unwrap());
        let user = self.sessions[random.below(self.sessions.len())].user_id;
        match random.below(20) {
            0..3 => RoomAction::Create(Box::new(Creation {
                name: "mine".into(),
                password,
                spectators_max: 3,
                empty_ms: random.pick(&[0, 700]),
                life_ms: random.pick(&[None, Some(4_000)]),
                hidden: random.below(4) == 0,
                variables: change(random),
                ..Creation::plain(4)
            })),
            3..9 => RoomAction::Join(Entry { password, spectator: random.below(4) == 0 }, listener),
            9 => RoomAction::Leave,
            10 => RoomAction::Look,
            11..14 => RoomAction::SetVariables(change(random)),
            14 => RoomAction::SetOwn(change(random)),
            15 => RoomAction::Say("hello".into()),
            16 => RoomAction::Whisper(vec![user], "psst".into()),
            17 => RoomAction::Kick(user, random.pick(&[0, 900])),
            18 => RoomAction::Update(Box::new(Update {
                open: Some(random.below(4) > 0),
                capacity: random.pick(&[None, Some(3), Some(5)]),
                password: (random.below(3) == 0).then_some(password),
                properties: change(random),
                ..Update::default()
            })),
            _ => RoomAction::Spectate(random.below(2) == 0),
        }
    }

    fn of_pool(&self, by: &Presence, step: u64, random: &mut Random) -> PoolAsk {
        let party = Arc::from(format!("{}.muster", self.parties[random.below(self.parties.len())].subject));
        let owner = match random.below(4) {
            0 => matchmaker::TicketOwner::Party(party),
            _ => matchmaker::TicketOwner::Session(by.session_id),
        };
        let id = TicketId(format!("{}", step.saturating_sub(random.below(20) as u64)).into());
        match random.below(12) {
            0 => PoolAsk::Remove(id, owner),
            1 => PoolAsk::RemoveSession(by.session_id),
            2 => PoolAsk::RemoveOwner(owner),
            3 => PoolAsk::Explain(id, None),
            _ => PoolAsk::Add(Box::new(ticket(by, owner, step, random))),
        }
    }
}

/// Ids that belong to the partition.
fn ids() -> impl Iterator<Item = Uuid> {
    let ids = (1..).map(|n: u128| Uuid::from_u128(n << 64 | n));
    ids.filter(|id| StreamKey::about(mode::ROOM, *id).partition() == partition())
}

/// Templates whose placement belongs to the partition.
pub fn templates() -> Vec<Template> {
    let names = (0..).map(|n: u32| n.to_string());
    let names = names.filter(|name| RoomOwner::Desk(name.as_str().into()).partition() == partition());
    let template = |(name, life_ms)| Template { sizes: (2, 3), empty_ms: 600, life_ms, ..Template::new(name) };
    let names: Vec<String> = names.take(2).collect();
    names.iter().map(String::as_str).zip([None, Some(5_000)]).map(template).collect()
}

fn session(number: u64) -> Presence {
    let place = PLACES[number as usize % PLACES.len()];
    let user = number % USERS;
    Presence {
        session: SessionRef { place, key: SessionKey::from_number(number) },
        session_id: SessionId(Uuid::from_u128(u128::from(number) + 1)),
        user_id: UserId(Uuid::from_u128(u128::from(user) + 1_000)),
        username: user.to_string().into(),
        hidden: false,
        persistence: false,
        status: None,
        only_session_since: None,
    }
}

/// A random view of the lobby.
fn view(random: &mut Random) -> ViewKey {
    let (filter, interval_ms) = random.pick(&[("", 250), ("+open:T", 400)]);
    ViewKey { path: RoomPath::default(), filter: Arc::from(filter), interval_ms, rooms_max: 2 }
}

fn listener(by: &Presence, request: RequestRef, random: &mut Random) -> Listener {
    // One session always uses the same encoding.
    let encoding = if by.session.key.number().is_multiple_of(2) { Encoding::Json } else { Encoding::Protobuf };
    Listener { session: by.session, encoding, serial: request.id as u32 + random.below(2) as u32 }
}

fn payload(text: &'static str) -> Arc<Encoded> {
    Arc::new(Encoded { json: Bytes::from_static(text.as_bytes()), protobuf: Bytes::from_static(text.as_bytes()) })
}

fn change(random: &mut Random) -> Change {
    let names = ["a", "b", "c"].into_iter().take(random.below(4));
    let set = names.map(|name| (Arc::from(name), Value::new(random.pick(&JSON)).unwrap())).collect();
    let unset = if random.below(4) == 0 { vec!["a".into()] } else { Vec::new() };
    Change { set, unset, private: random.below(5) == 0, expected_version: random.pick(&[None, None, None, Some(1)]) }
}

fn ticket(by: &Presence, owner: matchmaker::TicketOwner, step: u64, random: &mut Random) -> NewTicket<Presence> {
    let member = matchmaker::TicketMember { key: MemberKey::Session(by.session_id), presence: by.clone() };
    let rank = random.below(10) as f64;
    let query = format!("+properties.rank:>={} +properties.rank:<={}", rank - 1.0, rank + 1.0);
    let widening = Widening { field: "properties.rank".to_owned(), step: 1.0, limit: 3.0 };
    NewTicket {
        id: TicketId(step.to_string().into()),
        owner,
        members: vec![member],
        min_count: 2,
        max_count: 2 + random.below(3) as u32,
        count_multiple: 1,
        query: if random.below(4) == 0 { "*".to_owned() } else { query },
        string_properties: BTreeMap::new(),
        numeric_properties: BTreeMap::from([("rank".to_owned(), rank)]),
        widening: if random.below(3) == 0 { vec![widening] } else { Vec::new() },
        created_at: Timestamp(step as i64),
    }
}

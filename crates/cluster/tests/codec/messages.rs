//! Arbitrary messages of the plane.

use std::sync::Arc;

use bytes::Bytes;
use muster_cluster::codec::Encoded;
use muster_domain::Timestamp;
use muster_domain::error::{Error, ErrorKind};
use muster_domain::ids::{SessionId, TokenId, UserId, Uuid};
use muster_domain::sessions::Claims;
use muster_live::close::CloseReason;
use muster_live::matches::MatchesAsk;
use muster_live::party::{PartyAnswer, PartyAsk};
use muster_live::place::PARTITIONS;
use muster_live::plane::{
    AddedAsk, Answer, Ask, Audience, Belongings, Carried, Claim, ClaimRefusal, Condition, Departed, Down, Errand,
    Frames, Join, JoinRefusal, Joined, LaneKind, Listener, LocalAudience, Message, Moved, Order, PoolReply, Publish,
    Rebind, Reply, RequestRef, Standing, Told, Up, Whom, pool_partition,
};
use muster_live::stream::SharedPayload;
use muster_live::{
    Delivery, Encoding, Epoch, Partition, Place, Presence, SessionKey, SessionRef, StreamKey, matches, party, rooms,
};

use crate::every::{Every, every, fields};
use crate::random::{Arbitrary, Random};

/// An arbitrary value of type `T`.
pub fn any<T: Arbitrary>(random: &mut Random) -> T {
    T::arbitrary(random)
}

/// Messages of every kind with their names, including every kind of question and answer.
pub fn every_message(random: &mut Random) -> Vec<(String, Message)> {
    let mut messages = named("", random, |message| message);
    messages.extend(every_up(random).into_iter().map(|(name, up)| (name, Message::Up(up))));
    messages.extend(every_down(random).into_iter().map(|(name, down)| (name, Message::Down(down))));
    messages
}

/// Types and variants that were renamed, each with its former name: the kinds in `golden/` keep their names.
const GOLDEN_NAMES: [(&str, &str); 10] = [
    ("PartyRequest::", "Request::"),
    ("PartyReply::", "Reply::"),
    ("PartyRefusal::", "Refusal::"),
    ("RoomAnswer::", "Answer::"),
    ("MessageToRoomOwner::Placement", "ToOwner::Place"),
    ("MessageToRoomOwner::FromOwner", "ToOwner::Across"),
    ("MessageToRoomOwner::", "ToOwner::"),
    ("OwnerMessage::", "Across::"),
    ("rooms::CarriedRooms::", "rooms::Carried::"),
    ("MatchAnswer::", "Answer::"),
];

/// Messages made of one value for every variant of `T`.
fn named<T: Every, M>(before: &str, random: &mut Random, make: impl Fn(T) -> M) -> Vec<(String, M)> {
    let name = |kind: &str| {
        let kind = kind.split(['(', ' ']).next().unwrap_or_default();
        let renamed = GOLDEN_NAMES.iter().find_map(|(now, then)| Some((then, kind.strip_prefix(now)?)));
        renamed.map_or_else(|| format!("{before}{kind}"), |(then, rest)| format!("{before}{then}{rest}"))
    };
    T::every(random).into_iter().map(|(kind, value)| (name(kind), make(value))).collect()
}

fn every_up(random: &mut Random) -> Vec<(String, Up)> {
    let mut ups = named("", random, |up| up);
    let join: Join = any(random);
    ups.extend(named("Join with ", random, |condition| {
        let (stream, presence) = (join.stream.clone(), join.presence.clone());
        Up::Join(Box::new(Join { stream, presence, condition, ..join }))
    }));
    let (request, whom): (RequestRef, Whom) = (any(random), any(random));
    ups.extend(named("Order to ", random, |what| Up::Order {
        request,
        order: Box::new(Order { whom: whom.clone(), what }),
    }));
    ups.extend(named("Order for ", random, |whom| Up::Order {
        request,
        order: Box::new(Order { whom, what: Errand::Close(CloseReason::GameCode) }),
    }));
    let publish: Publish = any(random);
    ups.extend(named("Publish to ", random, |audience| Up::Publish(Publish { audience, ..publish.clone() })));
    let stream: StreamKey = any(random);
    let asked = |ask| Up::Ask { request: None, ask };
    ups.extend(asks(random).into_iter().map(|(name, up)| (name.to_owned(), up)));
    ups.extend(named("Party with ", random, |what| {
        asked(Ask::Party(PartyAsk::One { stream: stream.clone(), what: Box::new(what) }))
    }));
    ups.extend(named("Match with ", random, |what| {
        asked(Ask::Match(MatchesAsk::One { stream: stream.clone(), what: Box::new(what) }))
    }));
    ups.extend(named("Pool with ", random, |ask| asked(Ask::Pool(ask))));
    let rooms = |ask: rooms::MessageToRoomOwner| Up::from(ask);
    ups.extend(named("Rooms with ", random, rooms));
    let (caller, reply_to): (rooms::Caller, Option<RequestRef>) = (any(random), any(random));
    ups.extend(named("Rooms with ", random, |what| {
        let request = rooms::Request { caller: caller.clone(), reply_to, what };
        rooms(rooms::MessageToRoomOwner::Room(rooms::RoomId(Uuid::from_u128(7)), request))
    }));
    ups.extend(named("Rooms with ", random, |what| {
        rooms(rooms::MessageToRoomOwner::Directory(rooms::Request { caller: caller.clone(), reply_to, what }))
    }));
    let partition: Partition = any(random);
    let carried = |part| Up::Carried { partition, epoch: Epoch(7), parts: vec![part], ends: true };
    ups.extend(named("Carried with ", random, carried));
    ups.extend(named("Carried with ", random, |part| carried(Carried::Room(part))));
    ups.extend(named("Carried with ", random, |part| carried(Carried::Pool(part))));
    ups.extend(named("Rooms with ", random, |across| {
        rooms(rooms::MessageToRoomOwner::FromOwner(rooms::RoomOwner::Directory, across))
    }));
    ups
}

fn every_down(random: &mut Random) -> Vec<(String, Down)> {
    let mut downs = named("", random, |down| down);
    let mut answer = |replies: Vec<(String, Reply)>| {
        downs.extend(replies.into_iter().map(|(name, reply)| (name, Down::Reply(7, reply))));
    };
    answer(named("", random, |reply| reply));
    answer(answers(random).into_iter().map(|(name, reply)| (name.to_owned(), reply)).collect());
    answer(named("", random, |refusal: JoinRefusal| Reply::Joined(Err(refusal))));
    answer(named("Session ", random, |refusal: ClaimRefusal| Reply::Session(Err(refusal))));
    answer(named("Party ", random, |answer: party::PartyReply| {
        Reply::Answer(Answer::Party(PartyAnswer::One(Ok(answer))))
    }));
    answer(named("Party ", random, |refusal: party::PartyRefusal| {
        Reply::Answer(Answer::Party(PartyAnswer::One(Err(refusal))))
    }));
    answer(named("Rooms ", random, |answer: rooms::RoomAnswer| Reply::Answer(Answer::Room(Ok(answer)))));
    answer(named("Pool ", random, |answer: PoolReply| Reply::Answer(Answer::Pool(Ok(answer)))));
    answer(named("Match ", random, |answer: matches::MatchAnswer| Reply::Answer(Answer::Match(Ok(answer)))));
    answer(named("Rooms ", random, |kind: ErrorKind| {
        Reply::Answer(Answer::Room(Err(Error {
            kind,
            message: "it is so".into(),
            cause: Some("why".to_owned()),
            retry_after_sec: None,
        })))
    }));
    downs
}

/// Questions to owned things of every kind, by the names under which `golden/` has them.
fn asks(random: &mut Random) -> Vec<(&'static str, Up)> {
    // A new question does not compile without a line here, and is to have one below too.
    let _ = |ask: &Ask| match ask {
        Ask::Party(PartyAsk::One { .. } | PartyAsk::List(_)) | Ask::Room(_) | Ask::Pool(_) => {}
        Ask::Match(MatchesAsk::One { .. } | MatchesAsk::Find(_)) | Ask::Added(_) => {}
    };
    let party = PartyAsk::One { stream: any(random), what: Box::new(any(random)) };
    let matches = MatchesAsk::One { stream: any(random), what: Box::new(any(random)) };
    let added = match any(random) {
        true => AddedAsk::of_comer(any(random), any(random), any(random)),
        false => AddedAsk::new(any(random), any(random)),
    };
    vec![
        ("Up::Party", Up::Ask { request: any(random), ask: Ask::Party(party) }),
        ("Up::Parties", Up::Ask { request: Some(any(random)), ask: Ask::Party(PartyAsk::List(any(random))) }),
        ("Up::Rooms", Up::from(any::<rooms::MessageToRoomOwner>(random))),
        ("Up::Match", Up::Ask { request: any(random), ask: Ask::Match(matches) }),
        ("Up::FindMatches", Up::Ask { request: Some(any(random)), ask: Ask::Match(MatchesAsk::Find(any(random))) }),
        ("Up::Pool", Up::Ask { request: any(random), ask: Ask::Pool(any(random)) }),
        ("Up::Added", Up::Ask { request: any(random), ask: Ask::Added(added) }),
    ]
}

/// Answers of owned things of every kind, by the names under which `golden/` has them.
fn answers(random: &mut Random) -> Vec<(&'static str, Reply)> {
    // A new answer does not compile without a line here, and is to have one below too.
    let _ = |answer: &Answer| match answer {
        Answer::Party(PartyAnswer::One(_) | PartyAnswer::Listed(_)) | Answer::Room(_) => {}
        Answer::Pool(_) | Answer::Match(_) | Answer::Added(_) => {}
    };
    vec![
        ("Reply::Pool", Reply::Answer(Answer::Pool(either(random)))),
        ("Reply::Party", Reply::Answer(Answer::Party(PartyAnswer::One(either(random))))),
        ("Reply::Parties", Reply::Answer(Answer::Party(PartyAnswer::Listed(any(random))))),
        ("Reply::Match", Reply::Answer(Answer::Match(either(random)))),
        ("Reply::Rooms", Reply::Answer(Answer::Room(either(random)))),
        ("Reply::Added", Reply::Answer(Answer::Added(any(random)))),
    ]
}

fn one_of<T>(mut values: Vec<(&'static str, T)>, random: &mut Random) -> T {
    values.swap_remove(random.below(values.len())).1
}

every!(Message, random,
    Message::Up(_) => Message::Up(any(random)),
    Message::Dated(..) => Message::Dated(any(random), any(random)),
    Message::Down(_) => Message::Down(any(random)),
    Message::Credit(..) => Message::Credit(any(random), any(random)),
);
every!(LaneKind, random, LaneKind::Up => LaneKind::Up, LaneKind::Down => LaneKind::Down);
every!(Up, random,
    Up::Join(_) => Up::Join(Box::new(any(random))),
    Up::Leave { .. } => Up::Leave {
        stream: any(random),
        session: any(random),
        heard: any(random),
        reason: any(random),
    },
    Up::Listen { .. } => Up::Listen { stream: any(random), listener: any(random), request: any(random) },
    Up::Unlisten { .. } => Up::Unlisten { stream: any(random), listener: any(random), by_join: any(random) },
    Up::Publish(_) => Up::Publish(any(random)),
    Up::Ask { .. } => one_of(asks(random), random),
    Up::Count { .. } => Up::Count { request: any(random), streams: any(random) },
    Up::List { .. } => Up::List {
        request: any(random),
        stream: any(random),
        with_hidden: any(random),
        skip: size(random),
        limit: size(random),
    },
    Up::Matches { .. } => Up::Matches {
        request: any(random),
        limit: size(random),
        sizes: (size(random), size(random)),
    },
    Up::Claim { .. } => Up::Claim { request: any(random), claim: any(random) },
    Up::Rebind { .. } => Up::Rebind { request: any(random), rebind: Box::new(any(random)) },
    Up::Order { .. } => Up::Order { request: any(random), order: Box::new(any(random)) },
    Up::All { .. } => Up::All { request: any(random), payload: any(random) },
    Up::Rebuild { told: Told::Streams(_), .. } => Up::Rebuild {
        partition: any(random),
        epoch: any(random),
        told: Told::Streams(any(random)),
    },
    Up::Rebuild { told: Told::Tickets(_), .. } => Up::Rebuild {
        partition: pool_partition(),
        epoch: any(random),
        told: Told::Tickets(any(random)),
    },
    Up::Carried { .. } => Up::Carried {
        partition: any(random),
        epoch: any(random),
        parts: any(random),
        ends: any(random),
    },
    Up::Fence { .. } => Up::Fence { partitions: partitions(random) },
    Up::Passed { .. } => Up::Passed { partitions: partitions(random) },
    Up::Heard { .. } => Up::Heard { partitions: partitions(random) },
);
fn partitions(random: &mut Random) -> Vec<(Partition, Epoch)> {
    (0..random.below(4)).map(|_| (any(random), any(random))).collect()
}

every!(Whom, random,
    Whom::Id { .. } => Whom::Id { session: any(random), user: any(random) },
    Whom::Keys(_) => Whom::Keys(any(random)),
);
every!(Errand, random,
    Errand::Join { .. } => Errand::Join {
        stream: any(random),
        hidden: any(random),
        persistence: any(random),
        status: any(random),
        replaces: any(random),
    },
    Errand::Leave(_) => Errand::Leave(any(random)),
    Errand::Look(_) => Errand::Look(any(random)),
    Errand::Follow(_) => Errand::Follow(any(random)),
    Errand::Unfollow(_) => Errand::Unfollow(any(random)),
    Errand::Close(_) => Errand::Close(any(random)),
);
fields!(Order, random => Order { whom: any(random), what: any(random) });
every!(Condition, random,
    Condition::Any => Condition::Any,
    Condition::Occupied => Condition::Occupied,
    Condition::Replace => Condition::Replace,
);
every!(Audience, random,
    Audience::All => Audience::All,
    Audience::AllBut(_) => Audience::AllBut(any(random)),
    Audience::Only(_) => Audience::Only(any(random)),
);
every!(Down, random,
    Down::Reply(..) => Down::Reply(random.number(), any(random)),
    Down::Refused { .. } => Down::Refused {
        stream: any(random),
        session: any(random),
        serial: any(random),
        request: any::<Option<u32>>(random).map(u64::from),
        refusal: any(random),
    },
    Down::Listening { .. } => Down::Listening { stream: any(random), listener: any(random), told: any(random) },
    Down::Removed { .. } => Down::Removed { stream: any(random), listener: any(random) },
    Down::Fanout { .. } => Down::Fanout {
        stream: any(random),
        frames: any(random),
        audience: any(random),
        delivery: any(random),
    },
    Down::Event { .. } => Down::Event {
        stream: any(random),
        frames: any(random),
        joins: any::<Vec<Presence>>(random).into(),
        leaves: any::<Vec<Presence>>(random).into(),
    },
    Down::Roster { .. } => Down::Roster {
        stream: any(random),
        presences: any(random),
        begins: any(random),
        ends: any(random),
        is_anew: any(random),
        is_last: any(random),
    },
    Down::HandedOver { .. } => Down::HandedOver { partitions: partitions(random) },
    Down::Taken { .. } => Down::Taken { partitions: partitions(random) },
    Down::Arrived { .. } => Down::Arrived { session: any(random), standing: any(random), hears: any(random) },
    Down::Rebound { .. } => Down::Rebound {
        request: random.number(),
        stream: any(random),
        session: any(random),
        standing: any(random),
    },
    Down::Misdirected { .. } => Down::Misdirected { request: random.number() },
    Down::Push { .. } => Down::Push {
        session: any(random),
        payload: any(random),
        delivery: any(random),
        ended: any(random),
    },
    Down::Ticket { .. } => Down::Ticket { session: any(random), ticket: any(random), is_on: any(random) },
    Down::Close { .. } => Down::Close { session: any(random), payload: any(random), reason: any(random) },
);
every!(LocalAudience, random,
    LocalAudience::All => LocalAudience::All,
    LocalAudience::AllBut(_) => LocalAudience::AllBut(any(random)),
    LocalAudience::Only(_) => LocalAudience::Only(any(random)),
);
every!(Delivery, random,
    Delivery::Reliable => Delivery::Reliable,
    Delivery::Latest(_) => Delivery::Latest(random.number()),
    Delivery::Once(_) => Delivery::Once(random.number()),
    Delivery::Kept(_) => Delivery::Kept(random.number()),
    Delivery::Again { .. } => Delivery::Again { number: random.number(), age_ms: random.number() as u32 },
    Delivery::Droppable => Delivery::Droppable,
);
every!(Encoding, random, Encoding::Json => Encoding::Json, Encoding::Protobuf => Encoding::Protobuf);
every!(JoinRefusal, random,
    JoinRefusal::Empty => JoinRefusal::Empty,
    JoinRefusal::TooManyStreams => JoinRefusal::TooManyStreams,
    JoinRefusal::Closed => JoinRefusal::Closed,
    JoinRefusal::Unavailable => JoinRefusal::Unavailable,
);
every!(Reply, random,
    Reply::Joined(_) => Reply::Joined(either(random)),
    Reply::Presences(..) => Reply::Presences(any(random), size(random)),
    Reply::Counts(_) => Reply::Counts((0..random.below(4)).map(|_| size(random)).collect()),
    Reply::Matches(_) => Reply::Matches((0..random.below(4)).map(|_| (any(random), size(random))).collect()),
    Reply::Answer(_) => one_of(answers(random), random),
    Reply::Session(_) => Reply::Session(if any(random) { Ok(Box::new(any(random))) } else { Err(any(random)) }),
    Reply::Rebound => Reply::Rebound,
);
every!(ClaimRefusal, random,
    ClaimRefusal::Gone => ClaimRefusal::Gone,
    ClaimRefusal::Overflow => ClaimRefusal::Overflow,
    ClaimRefusal::Format => ClaimRefusal::Format,
    ClaimRefusal::Elsewhere(_) => ClaimRefusal::Elsewhere(any(random)),
);
every!(ErrorKind, random,
    ErrorKind::InvalidArgument => ErrorKind::InvalidArgument,
    ErrorKind::NotFound => ErrorKind::NotFound,
    ErrorKind::AlreadyExists => ErrorKind::AlreadyExists,
    ErrorKind::PermissionDenied => ErrorKind::PermissionDenied,
    ErrorKind::Unauthenticated => ErrorKind::Unauthenticated,
    ErrorKind::FailedPrecondition => ErrorKind::FailedPrecondition,
    ErrorKind::ResourceExhausted => ErrorKind::ResourceExhausted,
    ErrorKind::Unavailable => ErrorKind::Unavailable,
    ErrorKind::Unimplemented => ErrorKind::Unimplemented,
    ErrorKind::Internal => ErrorKind::Internal,
);

fields!(CloseReason, random => random.pick(&CloseReason::ALL));
fields!(Join, random => Join {
    stream: any(random),
    presence: any(random),
    listener: any(random),
    serial: any(random),
    condition: any(random),
    request: any(random),
});
fields!(Publish, random => Publish {
    stream: any(random),
    payload: any(random),
    audience: any(random),
    delivery: any(random),
    sender: any(random),
});
fields!(Joined, random => Joined {
    is_new: any(random),
    presences: any::<Vec<Presence>>(random).into(),
    total: size(random),
});
fields!(Frames, random => Frames { json: any(random), protobuf: any(random) });
fields!(SharedPayload, random => Arc::new(Encoded { json: any(random), protobuf: any::<Bytes>(random) }));
fields!(Error, random => Error {
    kind: any(random),
    message: any::<String>(random).into(),
    cause: any(random),
    // Limits with a time to wait are of the rim, which no node asks another for.
    retry_after_sec: None,
});
fields!(Listener, random => Listener { session: any(random), encoding: any(random), serial: any(random) });
fields!(Standing, random => Standing {
    stream: any(random),
    presence: any(random),
    listener: any(random),
    by_join: any(random),
    latest: number(random),
});
fields!(Claim, random => Claim {
    session_id: any(random),
    user_id: any(random),
    encoding: any(random),
    received: number(random),
    to: any(random),
});
fields!(Rebind, random => Rebind { from: any(random), to: any(random), standing: any(random) });
fields!(Moved, random => Moved {
    claims: Claims {
        token_id: TokenId(any(random)),
        user_id: any(random),
        username: any(random),
        vars: (0..random.below(3)).map(|_| (any(random), any(random))).collect(),
        issued_at_sec: any(random),
        expires_at_sec: any(random),
    },
    departed: Departed {
        serial: any(random),
        belongings: Belongings { may_have_tickets: any(random), tickets: any(random), pool: any(random) },
        standings: (0..random.below(4)).map(|_| (any(random), any(random))).collect(),
        arrivals: any(random),
        only_session_since: any(random),
    },
    received: number(random),
    sent: number(random),
    frames: any(random),
});
fields!(Partition, random => Partition::new(random.below(PARTITIONS.into()) as u16).unwrap());
fields!(Epoch, random => Epoch(number(random)));
fields!(RequestRef, random => RequestRef { place: any(random), id: random.number() });
fields!(Presence, random => Presence {
    session: any(random),
    session_id: any(random),
    user_id: any(random),
    username: any(random),
    hidden: any(random),
    persistence: any(random),
    status: any(random),
    only_session_since: any(random),
});
fields!(SessionRef, random => match random.below(8) {
    0 => SessionRef::NOBODY,
    _ => SessionRef { place: any(random), key: any(random) },
});
fields!(SessionKey, random => SessionKey::from_number(match random.below(4) {
    0 => random.number(),
    _ => random.below(1_000) as u64,
}));
fields!(Place, random => match random.below(4) {
    0 => Place::from_number(any(random)),
    _ => Place::new(random.below(5) as u32, random.below(4) as u16),
});
fields!(StreamKey, random => {
    let mode = random.below(256) as u8;
    StreamKey::new(mode, any(random), any(random), &any::<String>(random))
});
fields!(Uuid, random => match random.below(4) {
    0 => Uuid::nil(),
    _ => Uuid::from_u64_pair(random.number(), random.number()),
});
fields!(UserId, random => UserId(any(random)));
fields!(SessionId, random => SessionId(any(random)));
fields!(Timestamp, random => Timestamp(any(random)));
fields!(Arc<str>, random => any::<String>(random).into());

pub fn size(random: &mut Random) -> usize {
    random.pick(&[0, 1, 5, 1_000, usize::MAX])
}

/// A number of milliseconds, or a similar quantity.
pub fn number(random: &mut Random) -> u64 {
    random.pick(&[0, 1, 60_000, u64::MAX])
}

fn either<T: Arbitrary, E: Arbitrary>(random: &mut Random) -> Result<T, E> {
    if any(random) { Ok(any(random)) } else { Err(any(random)) }
}

//! Arbitrary questions and answers about parties, rooms and tickets.

use std::collections::BTreeMap;
use std::sync::Arc;

use muster_domain::query::{Query, Value};
use muster_live::Presence;
use muster_live::matchmaker::{
    Completion, Explanation, Member as TicketMember, MemberKey, Near, NewTicket, Obstacle, Owner as TicketOwner,
    TicketId, Widening,
};
use muster_live::party::{
    Label, ListQuery, Listed, Member, Page, PartyId, Person, Place as PartyPlace, Refusal, Reply, Request, Settings,
};
use muster_live::plane::{OnTicket, PoolAsk, PoolReply, PoolStats, TicketStanding};
use muster_live::rooms::{
    self, Across, Actor, Answer, Caller, Change, Creation, DirectoryAction, Entry, Find, MemberState, Origin, Owner,
    PasswordDigest, Place, Report, Reserved, RoomAction, RoomId, RoomPath, RoomState, Seat, Summary, ToOwner, Update,
    ViewKey,
};

use crate::every::{every, fields};
use crate::messages::{any, number, size};
use crate::random::{Arbitrary, Random};

/// Added to a number, turns negative zero into zero. The matchmaker treats both as the same number.
const POSITIVE: f64 = 0.0;

every!(Request, random,
    Request::Create { .. } => Request::Create {
        leader: any(random),
        settings: any(random),
        max_size: random.below(1 << 16) as u16,
        created_at: any(random),
    },
    Request::Join(_) => Request::Join(any(random)),
    Request::Leave(_) => Request::Leave(any(random)),
    Request::Promote { .. } => Request::Promote { by: any(random), target: any(random) },
    Request::Accept { .. } => Request::Accept { by: any(random), target: any(random) },
    Request::Remove { .. } => Request::Remove { by: any(random), target: any(random) },
    Request::Close(_) => Request::Close(any(random)),
    Request::ListRequests(_) => Request::ListRequests(any(random)),
    Request::Update { .. } => Request::Update { by: any(random), settings: any(random) },
    Request::SendData { .. } => Request::SendData { by: any(random), op_code: any(random), data: any(random) },
    Request::Matchmake(_) => Request::Matchmake(any(random)),
    Request::TicketIssued { .. } => Request::TicketIssued {
        by: any(random),
        ticket: any(random),
        membership: number(random),
    },
    Request::CheckLeader(_) => Request::CheckLeader(any(random)),
);
every!(Reply, random,
    Reply::Done => Reply::Done,
    Reply::Asked => Reply::Asked,
    Reply::Requests(_) => Reply::Requests(any(random)),
    Reply::Matchmaking { .. } => Reply::Matchmaking { members: any(random), membership: number(random) },
);
every!(Refusal, random,
    Refusal::NotFound => Refusal::NotFound,
    Refusal::AlreadyExists => Refusal::AlreadyExists,
    Refusal::BadSize => Refusal::BadSize,
    Refusal::Full => Refusal::Full,
    Refusal::RequestsFull => Refusal::RequestsFull,
    Refusal::AlreadyRequested => Refusal::AlreadyRequested,
    Refusal::AlreadyMember => Refusal::AlreadyMember,
    Refusal::NotLeader => Refusal::NotLeader,
    Refusal::NotMember => Refusal::NotMember,
    Refusal::SenderNotMember => Refusal::SenderNotMember,
    Refusal::NotRequested => Refusal::NotRequested,
    Refusal::RemoveLeader => Refusal::RemoveLeader,
    Refusal::LabelTooLong => Refusal::LabelTooLong,
    Refusal::LabelNotObject => Refusal::LabelNotObject,
    Refusal::LabelTooManyValues => Refusal::LabelTooManyValues,
    Refusal::HiddenWithLabel => Refusal::HiddenWithLabel,
    Refusal::MembershipChanged => Refusal::MembershipChanged,
);
fields!(Report, random => Report { offset: any(random), open: any(random) });
fields!(Member, random => Member { presence: any(random), listener: any(random) });
fields!(Person, random => Person { session_id: any(random), user_id: any(random), username: any(random) });
fields!(Settings, random => Settings { open: any(random), hidden: any(random), label: any(random) });
fields!(Label, random => Label::new(random.pick(&["", "{}", r#"{"mode":"ranked","level":3}"#])).unwrap());
fields!(ListQuery, random => ListQuery {
    query: Arc::new(Query::parse(random.pick(&["", "*", "+label.mode:ranked -label.level:>=3", "/a.*b/^2"])).unwrap()),
    open: any(random),
    after: any(random),
    limit: size(random),
});
fields!(PartyPlace, random => PartyPlace {
    score: any(random),
    created_at: any(random),
    party: PartyId(any(random)),
});
fields!(Listed, random => Listed {
    place: any(random),
    open: any(random),
    max_size: random.below(257) as u16,
    label: any(random),
});
fields!(Page, random => Page { parties: any(random), until: any(random) });

every!(ToOwner, random,
    ToOwner::Room(..) => ToOwner::Room(any(random), any(random)),
    ToOwner::Place(_) => ToOwner::Place(any(random)),
    ToOwner::Directory(_) => ToOwner::Directory(any(random)),
    ToOwner::Across(..) => ToOwner::Across(any(random), any(random)),
);
every!(RoomAction, random,
    RoomAction::Create(_) => RoomAction::Create(Box::new(any(random))),
    RoomAction::Join(..) => RoomAction::Join(any(random), any(random)),
    RoomAction::Leave => RoomAction::Leave,
    RoomAction::Look => RoomAction::Look,
    RoomAction::SetVariables(_) => RoomAction::SetVariables(any(random)),
    RoomAction::SetOwn(_) => RoomAction::SetOwn(any(random)),
    RoomAction::Say(_) => RoomAction::Say(any(random)),
    RoomAction::Whisper(..) => RoomAction::Whisper(any(random), any(random)),
    RoomAction::Kick(..) => RoomAction::Kick(any(random), number(random)),
    RoomAction::Update(_) => RoomAction::Update(Box::new(any(random))),
    RoomAction::Spectate(_) => RoomAction::Spectate(any(random)),
);
every!(DirectoryAction, random,
    DirectoryAction::Find(_) => DirectoryAction::Find(any(random)),
    DirectoryAction::QuickJoin(_) => DirectoryAction::QuickJoin(any(random)),
    DirectoryAction::Subscribe(_) => DirectoryAction::Subscribe(any(random)),
);
every!(Across, random,
    Across::Seat(_) => Across::Seat(any(random)),
    Across::Elsewhere(_) => Across::Elsewhere(any(random)),
    Across::Report(..) => Across::Report(any(random), any(random)),
    Across::Filling { .. } => Across::Filling { room: any(random), size: any(random), report: any(random) },
    Across::Closed(_) => Across::Closed(any(random)),
    Across::Forgotten(_) => Across::Forgotten(any(random)),
    Across::Listing(_) => Across::Listing((0..random.below(4)).map(|_| (any(random), maybe_shared(random))).collect()),
);
every!(Owner, random,
    Owner::Room(_) => Owner::Room(any(random)),
    Owner::Desk(_) => Owner::Desk(any(random)),
    Owner::Directory => Owner::Directory,
);
every!(Origin, random,
    Origin::Desk { .. } => Origin::Desk { place: any(random), open: any(random) },
    Origin::QuickJoin { .. } => Origin::QuickJoin { next: any(random) },
);
every!(Answer, random,
    Answer::Done => Answer::Done,
    Answer::Version(_) => Answer::Version(number(random)),
    Answer::Reserved(_) => Answer::Reserved(Box::new(Reserved {
        room: Arc::new(any(random)),
        seat: any(random),
        held_ms: number(random),
    })),
    Answer::Joined(_) => Answer::Joined(Box::new(rooms::Joined { seat: any(random), state: any(random) })),
    Answer::Room(_) => Answer::Room(Box::new(any(random))),
    Answer::Page(_) => Answer::Page(rooms::Page {
        rooms: any::<Vec<Summary>>(random).into_iter().map(Arc::new).collect(),
        next: any(random),
        revision: any::<Option<u32>>(random).map(u64::from),
    }),
);

impl<T: Arbitrary> Arbitrary for rooms::Request<T> {
    fn arbitrary(random: &mut Random) -> Self {
        Self { caller: any(random), reply_to: any(random), what: any(random) }
    }
}

fields!(Caller, random => {
    let session = any::<bool>(random).then(|| (any(random), any(random)));
    Caller { user_id: any(random), username: any(random), session }
});
fields!(RoomId, random => RoomId(any(random)));
fields!(RoomPath, random => RoomPath::new(random.pick(&["", "cards", "cards/poker/high.v2"])).unwrap());
fields!(PasswordDigest, random => PasswordDigest::from_bytes([random.below(256) as u8; 32]));
fields!(rooms::Value, random => rooms::Value::new(random.pick(&["1", "\"text\"", "{\"a\":[1,2]}"])).unwrap());
fields!((Arc<str>, rooms::Value), random => (any(random), any(random)));
fields!(Entry, random => Entry { password: any(random), spectator: any(random) });
fields!(Change, random => Change {
    set: any::<Vec<(Arc<str>, rooms::Value)>>(random).into_iter().collect(),
    unset: any(random),
    private: any(random),
    expected_version: any::<Option<u32>>(random).map(u64::from),
});
fields!(Creation, random => Creation {
    name: any(random),
    template: any(random),
    path: any(random),
    capacity: any(random),
    spectators_max: any(random),
    password: any(random),
    hidden: any(random),
    owned: any(random),
    empty_ms: number(random),
    life_ms: any::<Option<u32>>(random).map(u64::from),
    recover: any(random),
    properties: any(random),
    variables: any(random),
});
fields!(Update, random => Update {
    name: any(random),
    open: any(random),
    password: any(random),
    capacity: any(random),
    spectators_max: any(random),
    properties: any(random),
});
fields!(Place, random => Place {
    template: any(random),
    size: any(random),
    fresh: any(random),
    random: any(random),
    tried: any(random),
});
fields!(Seat, random => Seat { room: any(random), origin: any(random) });
fields!(Find, random => Find { path: any(random), filter: any(random), limit: size(random), after: any(random) });
fields!(ViewKey, random => ViewKey {
    path: any(random),
    filter: any(random),
    interval_ms: number(random),
    rooms_max: size(random),
});
fields!(Summary, random => Summary {
    id: any(random),
    name: any(random),
    template: any(random),
    path: any(random),
    capacity: any(random),
    players: any(random),
    free: any(random),
    spectators: any(random),
    spectators_max: any(random),
    locked: any(random),
    open: any(random),
    owner: any(random),
    properties: any(random),
    variables: any(random),
});
fields!(RoomState, random => RoomState {
    summary: any(random),
    version: number(random),
    members: any(random),
    members_total: size(random),
});
fields!(MemberState, random => MemberState {
    who: Actor { session_id: any(random), user_id: any(random), username: any(random) },
    seat: any(random),
    variables: any(random),
});

fn maybe_shared(random: &mut Random) -> Option<Arc<Summary>> {
    any::<Option<Summary>>(random).map(Arc::new)
}

every!(PoolAsk, random,
    PoolAsk::Add(_) => PoolAsk::Add(Box::new(any(random))),
    PoolAsk::Remove(..) => PoolAsk::Remove(any(random), any(random)),
    PoolAsk::RemoveSession(_) => PoolAsk::RemoveSession(any(random)),
    PoolAsk::Rebind(..) => PoolAsk::Rebind(any(random), any(random)),
    PoolAsk::RemoveOwner(_) => PoolAsk::RemoveOwner(any(random)),
    PoolAsk::RemoveStray(..) => PoolAsk::RemoveStray(any(random), any(random)),
    PoolAsk::LoseOwner(_) => PoolAsk::LoseOwner(any(random)),
    PoolAsk::Explain(..) => PoolAsk::Explain(any(random), any(random)),
    PoolAsk::Stats => PoolAsk::Stats,
);
every!(TicketOwner, random,
    TicketOwner::Session(_) => TicketOwner::Session(any(random)),
    TicketOwner::Party(_) => TicketOwner::Party(any(random)),
    TicketOwner::Server(_) => TicketOwner::Server(any(random)),
);
every!(MemberKey, random,
    MemberKey::Session(_) => MemberKey::Session(any(random)),
    MemberKey::Server(_) => MemberKey::Server(any(random)),
);
every!(PoolReply, random,
    PoolReply::Done => PoolReply::Done,
    PoolReply::Explained(_) => PoolReply::Explained(Box::new(any(random))),
    PoolReply::Stats(_) => PoolReply::Stats(Box::new(any(random))),
);
every!(Obstacle, random,
    Obstacle::Term { .. } => Obstacle::Term {
        of: any(random),
        place: size(random),
        term: any(random),
        found: any(random),
    },
    Obstacle::Counts => Obstacle::Counts,
    Obstacle::Overlap => Obstacle::Overlap,
);
every!(Value, random,
    Value::Text(_) => Value::Text(any::<String>(random).into()),
    Value::Number(_) => Value::Number(any(random)),
);
fields!(TicketId, random => TicketId(any(random)));
fields!(OnTicket, random => OnTicket {
    id: any(random),
    asked: any::<Option<NewTicket<Presence>>>(random).map(|ticket| (Arc::new(ticket), number(random))),
});
fields!(TicketStanding, random => TicketStanding { session: any(random), session_id: any(random), on: any(random) });
fields!(NewTicket<Presence>, random => NewTicket {
    id: any(random),
    owner: any(random),
    members: any(random),
    min_count: any(random),
    max_count: any(random),
    count_multiple: any(random),
    query: any(random),
    string_properties: any::<BTreeMap<String, String>>(random),
    numeric_properties: any::<BTreeMap<_, f64>>(random).into_iter().map(|(name, it)| (name, it + POSITIVE)).collect(),
    widening: any(random),
    created_at: any(random),
});
fields!(TicketMember<Presence>, random => TicketMember { key: any(random), presence: any(random) });
fields!(Widening, random => Widening {
    field: any(random),
    step: any::<f64>(random) + POSITIVE,
    limit: any::<f64>(random) + POSITIVE,
});
fields!(Explanation, random => Explanation {
    ticket: any(random),
    is_searching: any(random),
    players: any(random),
    players_needed: any(random),
    players_found: any(random),
    examined: any(random),
    closest: any(random),
});
fields!(Near, random => Near { ticket: any(random), obstacles: any(random) });
fields!(PoolStats, random => PoolStats {
    tickets: size(random),
    active: size(random),
    oldest: any(random),
    completions: any(random),
});
fields!(Completion, random => Completion { created_at: any(random), completed_at: any(random) });

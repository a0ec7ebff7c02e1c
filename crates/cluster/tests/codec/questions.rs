//! Arbitrary questions and answers about parties, rooms and tickets.

use std::collections::BTreeMap;
use std::sync::Arc;

use muster_domain::query::{Query, Value};
use muster_live::Presence;
use muster_live::matchmaker::{
    Completion, Explanation, MemberKey, NearTicket, NewTicket, Obstacle, TicketId, TicketMember, TicketOwner, Widening,
};
use muster_live::party::{
    Label, ListQuery, Listed, ListingPosition, Member, Page, PartyId, PartyRefusal, PartyReply, PartyRequest, Person,
    Settings,
};
use muster_live::plane::{OnTicket, PoolAsk, PoolReply, PoolStats, TicketStanding};
use muster_live::rooms::{
    self, Actor, Caller, Change, Creation, DirectoryAction, Entry, Find, MemberState, MessageToRoomOwner, Origin,
    OwnerMessage, PasswordDigest, Placement, Report, Reserved, RoomAction, RoomAnswer, RoomId, RoomOwner, RoomPath,
    RoomState, Seat, Summary, Update, ViewKey,
};

use crate::every::{every, fields};
use crate::messages::{any, number, size};
use crate::random::{Arbitrary, Random};

/// Added to a number, turns negative zero into zero. The matchmaker treats both as the same number.
const POSITIVE: f64 = 0.0;

every!(PartyRequest, random,
    PartyRequest::Create { .. } => PartyRequest::Create {
        leader: any(random),
        settings: any(random),
        max_size: random.below(1 << 16) as u16,
        created_at: any(random),
    },
    PartyRequest::Join(_) => PartyRequest::Join(any(random)),
    PartyRequest::Leave(_) => PartyRequest::Leave(any(random)),
    PartyRequest::Promote { .. } => PartyRequest::Promote { by: any(random), target: any(random) },
    PartyRequest::Accept { .. } => PartyRequest::Accept { by: any(random), target: any(random) },
    PartyRequest::Remove { .. } => PartyRequest::Remove { by: any(random), target: any(random) },
    PartyRequest::Close(_) => PartyRequest::Close(any(random)),
    PartyRequest::ListRequests(_) => PartyRequest::ListRequests(any(random)),
    PartyRequest::Update { .. } => PartyRequest::Update { by: any(random), settings: any(random) },
    PartyRequest::SendData { .. } => PartyRequest::SendData {
        by: any(random),
        op_code: any(random),
        data: any(random),
    },
    PartyRequest::Matchmake(_) => PartyRequest::Matchmake(any(random)),
    PartyRequest::TicketIssued { .. } => PartyRequest::TicketIssued {
        by: any(random),
        ticket: any(random),
        membership: number(random),
    },
    PartyRequest::CheckLeader(_) => PartyRequest::CheckLeader(any(random)),
);
every!(PartyReply, random,
    PartyReply::Done => PartyReply::Done,
    PartyReply::Asked => PartyReply::Asked,
    PartyReply::Requests(_) => PartyReply::Requests(any(random)),
    PartyReply::Matchmaking { .. } => PartyReply::Matchmaking { members: any(random), membership: number(random) },
);
every!(PartyRefusal, random,
    PartyRefusal::NotFound => PartyRefusal::NotFound,
    PartyRefusal::AlreadyExists => PartyRefusal::AlreadyExists,
    PartyRefusal::BadSize => PartyRefusal::BadSize,
    PartyRefusal::Full => PartyRefusal::Full,
    PartyRefusal::RequestsFull => PartyRefusal::RequestsFull,
    PartyRefusal::AlreadyRequested => PartyRefusal::AlreadyRequested,
    PartyRefusal::AlreadyMember => PartyRefusal::AlreadyMember,
    PartyRefusal::NotLeader => PartyRefusal::NotLeader,
    PartyRefusal::NotMember => PartyRefusal::NotMember,
    PartyRefusal::SenderNotMember => PartyRefusal::SenderNotMember,
    PartyRefusal::NotRequested => PartyRefusal::NotRequested,
    PartyRefusal::RemoveLeader => PartyRefusal::RemoveLeader,
    PartyRefusal::LabelTooLong => PartyRefusal::LabelTooLong,
    PartyRefusal::LabelNotObject => PartyRefusal::LabelNotObject,
    PartyRefusal::LabelTooManyValues => PartyRefusal::LabelTooManyValues,
    PartyRefusal::HiddenWithLabel => PartyRefusal::HiddenWithLabel,
    PartyRefusal::MembershipChanged => PartyRefusal::MembershipChanged,
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
fields!(ListingPosition, random => ListingPosition {
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

every!(MessageToRoomOwner, random,
    MessageToRoomOwner::Room(..) => MessageToRoomOwner::Room(any(random), any(random)),
    MessageToRoomOwner::Placement(_) => MessageToRoomOwner::Placement(any(random)),
    MessageToRoomOwner::Directory(_) => MessageToRoomOwner::Directory(any(random)),
    MessageToRoomOwner::FromOwner(..) => MessageToRoomOwner::FromOwner(any(random), any(random)),
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
every!(OwnerMessage, random,
    OwnerMessage::Seat(_) => OwnerMessage::Seat(any(random)),
    OwnerMessage::Elsewhere(_) => OwnerMessage::Elsewhere(any(random)),
    OwnerMessage::Report(..) => OwnerMessage::Report(any(random), any(random)),
    OwnerMessage::Filling { .. } => OwnerMessage::Filling { room: any(random), size: any(random), report: any(random) },
    OwnerMessage::Closed(_) => OwnerMessage::Closed(any(random)),
    OwnerMessage::Forgotten(_) => OwnerMessage::Forgotten(any(random)),
    OwnerMessage::Listing(_) => OwnerMessage::Listing(
        (0..random.below(4)).map(|_| (any(random), maybe_shared(random))).collect(),
    ),
);
every!(RoomOwner, random,
    RoomOwner::Room(_) => RoomOwner::Room(any(random)),
    RoomOwner::Desk(_) => RoomOwner::Desk(any(random)),
    RoomOwner::Directory => RoomOwner::Directory,
);
every!(Origin, random,
    Origin::Desk { .. } => Origin::Desk { place: any(random), open: any(random) },
    Origin::QuickJoin { .. } => Origin::QuickJoin { next: any(random) },
);
every!(RoomAnswer, random,
    RoomAnswer::Done => RoomAnswer::Done,
    RoomAnswer::Version(_) => RoomAnswer::Version(number(random)),
    RoomAnswer::Reserved(_) => RoomAnswer::Reserved(Box::new(Reserved {
        room: Arc::new(any(random)),
        seat: any(random),
        held_ms: number(random),
    })),
    RoomAnswer::Joined(_) => RoomAnswer::Joined(Box::new(rooms::Joined { seat: any(random), state: any(random) })),
    RoomAnswer::Room(_) => RoomAnswer::Room(Box::new(any(random))),
    RoomAnswer::Page(_) => RoomAnswer::Page(rooms::Page {
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
fields!(Placement, random => Placement {
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
fields!(NearTicket, random => NearTicket { ticket: any(random), obstacles: any(random) });
fields!(PoolStats, random => PoolStats {
    tickets: size(random),
    active: size(random),
    oldest: any(random),
    completions: any(random),
});
fields!(Completion, random => Completion { created_at: any(random), completed_at: any(random) });

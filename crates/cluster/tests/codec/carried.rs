//! Arbitrary pieces of partitions that are carried between owners.

use std::sync::Arc;

use muster_domain::ids::Subject;
use muster_live::Presence;
use muster_live::matchmaker::{CarriedPasses, CarriedPool, CarriedTicket};
use muster_live::party::{CarriedParty, PartyId};
use muster_live::plane::{Carried, CarriedNews, CarriedPresence, CarriedStream};
use muster_live::rooms::{
    self, CarriedAttempts, CarriedDesk, CarriedFilling, CarriedListed, CarriedListing, CarriedMember, CarriedMembers,
    CarriedRoom, CarriedSeat, CarriedValue, CarriedValues, CarriedView, Summary,
};

use crate::every::{every, fields};
use crate::messages::{any, number, size};
use crate::random::Random;

every!(Carried, random,
    Carried::Stream(_) => Carried::Stream(any(random)),
    Carried::News(_) => Carried::News(any(random)),
    Carried::Party(_) => Carried::Party(Box::new(any(random))),
    Carried::Room(_) => Carried::Room(any(random)),
    Carried::Pool(_) => Carried::Pool(any(random)),
    Carried::Match(_) => Carried::Match(Box::new(any(random))),
    Carried::Added(..) => Carried::Added(any(random), any(random)),
);
every!(rooms::CarriedRooms, random,
    rooms::CarriedRooms::Room(_) => rooms::CarriedRooms::Room(Box::new(any(random))),
    rooms::CarriedRooms::Members(_) => rooms::CarriedRooms::Members(any(random)),
    rooms::CarriedRooms::Desk(_) => rooms::CarriedRooms::Desk(any(random)),
    rooms::CarriedRooms::Listing(_) => rooms::CarriedRooms::Listing(any(random)),
    rooms::CarriedRooms::View(_) => rooms::CarriedRooms::View(any(random)),
);

fields!(CarriedStream, random => CarriedStream {
    stream: any(random),
    came: any(random),
    listeners: (0..random.below(4)).map(|_| (any(random), [any(random), any(random)])).collect(),
    presences: any(random),
});
fields!(CarriedPresence, random => CarriedPresence {
    presence: any(random),
    heard: any(random),
    number: any(random),
});
fields!(CarriedNews, random => CarriedNews {
    stream: any(random),
    is_telling: any(random),
    joins: (0..random.below(4)).map(|_| (any(random), any(random))).collect(),
    leaves: any(random),
    unknown_from: any(random),
    due_ms: number(random),
});
fields!(PartyId, random => PartyId(any(random)));
fields!(CarriedParty, random => CarriedParty {
    party: any(random),
    settings: any(random),
    max_size: random.below(1 << 16) as u16,
    created_at: any(random),
    members: any(random),
    leader: any(random),
    requests: any(random),
    membership: number(random),
    has_tickets: any(random),
});
fields!(CarriedRoom, random => CarriedRoom {
    id: any(random),
    name: any(random),
    template: any(random),
    path: any(random),
    hidden: any(random),
    owned: any(random),
    open: any(random),
    password: any(random),
    capacity: any(random),
    spectators_max: any(random),
    held: any(random),
    entries: number(random),
    owner: any(random),
    creator: any(random),
    properties: any(random),
    variables: any(random),
    attempts: any(random),
    barred: (0..random.below(4)).map(|_| (any(random), number(random))).collect(),
    paused: (0..random.below(4)).map(|_| (any(random), number(random))).collect(),
    empty_ms: number(random),
    closes_ms: millis(random),
    ends_ms: millis(random),
    desk: any::<Option<i64>>(random).map(|handled| (handled, any(random))),
    listed_ms: millis(random),
    members: size(random),
    recover: any(random),
});
fields!(CarriedSeat, random => CarriedSeat {
    user_id: any(random),
    seat: any(random),
    left_ms: number(random),
});
fields!(CarriedAttempts, random => CarriedAttempts {
    subject: Subject(std::array::from_fn(|_| random.below(256) as u8)),
    count: any(random),
    left_ms: number(random),
});
fields!(CarriedValues, random => CarriedValues { version: number(random), values: any(random) });
fields!(CarriedValue, random => CarriedValue {
    name: any(random),
    value: any(random),
    author: any(random),
    private: any(random),
});
fields!(CarriedMembers, random => CarriedMembers { room: any(random), members: any(random) });
fields!(CarriedMember, random => CarriedMember {
    user_id: any(random),
    username: any(random),
    session_id: any(random),
    listener: any(random),
    seat: any(random),
    variables: any(random),
    order: number(random),
});
fields!(CarriedDesk, random => CarriedDesk {
    template: any(random),
    opened: number(random),
    rooms: any(random),
});
fields!(CarriedFilling, random => CarriedFilling {
    room: any(random),
    size: any(random),
    age: number(random),
    sent: any(random),
    report: any(random),
});
fields!(CarriedListing, random => CarriedListing { next_slot: any(random), rooms: any(random) });
fields!(CarriedListed, random => CarriedListed {
    slot: any(random),
    promised: any(random),
    summary: Arc::new(any::<Summary>(random)),
});
fields!(CarriedView, random => CarriedView {
    view: any(random),
    maker: any(random),
    revision: number(random),
    anew: any(random),
    due_ms: millis(random),
    next_ms: number(random),
    changed: any(random),
});
fields!(CarriedTicket<Presence>, random => CarriedTicket {
    ticket: any(random),
    waited_ms: number(random),
    first_pass: number(random),
    widened: any(random),
    is_searching: any(random),
    was_cut: any(random),
});
every!(CarriedPool, random,
    CarriedPool::Ticket(_) => CarriedPool::Ticket(Box::new(any(random))),
    CarriedPool::Rest { .. } => CarriedPool::Rest {
        passes: CarriedPasses { passes: number(random), next_ms: number(random) },
        due_ms: millis(random),
    },
);

fn millis(random: &mut Random) -> Option<u64> {
    any::<bool>(random).then(|| number(random))
}

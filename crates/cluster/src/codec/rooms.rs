//! Questions and messages to owners of rooms, from sessions' shards and from each other.

mod carry;
mod summary;
mod values;

use std::sync::Arc;

use muster_live::plane::RequestRef;
use muster_live::rooms::{
    Caller, CarriedRooms, Change, Creation, DirectoryAction, Entry, Find, MessageToRoomOwner, Origin, OwnerMessage,
    Placement, Report, Request, RoomAction, RoomId, RoomOwner, RoomsAnswer, RoomsAsk, Seat, Update, ViewKey,
};
use muster_wire::node::{self, across, carried, directory_ask, message, reply, room_ask, rooms_ask, seat_ask};

use super::form::{
    CodecError, Form, Result, id_from_wire, id_to_wire, ids_from_wire, ids_to_wire, maybe, part, present_id, required,
};
use values::{digest_from_wire, digest_to_wire};

pub(super) fn ask_to_wire(ask: &MessageToRoomOwner) -> message::What {
    message::What::Rooms(Box::new(to_wire(ask)))
}

pub(super) fn ask_from_wire(what: message::What, request: Option<RequestRef>) -> Result<RoomsAsk> {
    let message::What::Rooms(ask) = what else { return Err(CodecError::Missing("message.what")) };
    Ok(Box::new(from_wire(*ask, request)?))
}

pub(super) fn answer_to_wire(answer: &RoomsAnswer) -> reply::What {
    match answer {
        Ok(answer) => reply::What::Rooms(answer.to_wire()),
        Err(error) => reply::What::RoomsError(error.to_wire()),
    }
}

pub(super) fn answer_from_wire(what: reply::What) -> Result<RoomsAnswer> {
    Ok(match what {
        reply::What::Rooms(answer) => Ok(Form::from_wire(answer)?),
        reply::What::RoomsError(error) => Err(Form::from_wire(error)?),
        _ => return Err(CodecError::Missing("reply.what")),
    })
}

pub(super) fn part_to_wire(part: &CarriedRooms) -> carried::What {
    use carried::What;
    match part {
        CarriedRooms::Room(room) => What::Room(Box::new(room.to_wire())),
        CarriedRooms::Members(members) => What::Members(members.to_wire()),
        CarriedRooms::Desk(desk) => What::Desk(desk.to_wire()),
        CarriedRooms::Listing(listing) => What::Listing(listing.to_wire()),
        CarriedRooms::View(view) => What::View(Box::new(view.to_wire())),
    }
}

pub(super) fn part_from_wire(what: carried::What) -> Result<CarriedRooms> {
    use carried::What;
    Ok(match what {
        What::Room(room) => CarriedRooms::Room(Box::new(Form::from_wire(*room)?)),
        What::Members(members) => CarriedRooms::Members(Form::from_wire(members)?),
        What::Desk(desk) => CarriedRooms::Desk(Form::from_wire(desk)?),
        What::Listing(listing) => CarriedRooms::Listing(Form::from_wire(listing)?),
        What::View(view) => CarriedRooms::View(Form::from_wire(*view)?),
        _ => return Err(CodecError::Missing("carried.what")),
    })
}

/// The request that waits for the answer stands beside the question.
fn to_wire(ask: &MessageToRoomOwner) -> node::RoomsAsk {
    use rooms_ask::What;
    let what = match ask {
        MessageToRoomOwner::Room(room, request) => What::Room(node::RoomAsk {
            room: id_to_wire(*room),
            caller: Some(request.caller.to_wire()),
            what: Some(action_to_wire(&request.what)),
        }),
        MessageToRoomOwner::Placement(request) => What::Place(place_ask(request)),
        MessageToRoomOwner::Directory(request) => What::Directory(node::DirectoryAsk {
            caller: Some(request.caller.to_wire()),
            what: Some(directory_to_wire(&request.what)),
        }),
        MessageToRoomOwner::FromOwner(owner, across) => {
            What::Across(node::Across { owner: Some(owner.to_wire()), what: Some(across_to_wire(across)) })
        }
    };
    node::RoomsAsk { what: Some(what) }
}

fn from_wire(wire: node::RoomsAsk, reply_to: Option<RequestRef>) -> Result<MessageToRoomOwner> {
    use rooms_ask::What;
    Ok(match required(wire.what, "rooms.what")? {
        What::Room(ask) => {
            let what = action_from_wire(required(ask.what, "room.what")?)?;
            let caller = part(ask.caller, "room.caller")?;
            MessageToRoomOwner::Room(id_from_wire(ask.room), Request { caller, reply_to, what })
        }
        What::Place(ask) => MessageToRoomOwner::Placement(place_request(ask, reply_to)?),
        What::Directory(ask) => {
            let what = directory_from_wire(required(ask.what, "directory.what")?)?;
            MessageToRoomOwner::Directory(Request { caller: part(ask.caller, "directory.caller")?, reply_to, what })
        }
        What::Across(across) => {
            let what = across_from_wire(required(across.what, "across.what")?, reply_to)?;
            MessageToRoomOwner::FromOwner(part(across.owner, "across.owner")?, what)
        }
    })
}

fn place_ask(request: &Request<Placement>) -> node::PlaceAsk {
    node::PlaceAsk { caller: Some(request.caller.to_wire()), place: Some(request.what.to_wire()) }
}

fn place_request(wire: node::PlaceAsk, reply_to: Option<RequestRef>) -> Result<Request<Placement>> {
    Ok(Request { caller: part(wire.caller, "place.caller")?, reply_to, what: part(wire.place, "place.place")? })
}

fn action_to_wire(action: &RoomAction) -> room_ask::What {
    use room_ask::What;
    match action {
        RoomAction::Create(creation) => What::Create(creation.to_wire()),
        RoomAction::Join(entry, listener) => What::Join(node::RoomEntry {
            password: digest_to_wire(entry.password),
            spectator: entry.spectator,
            listener: Some(listener.to_wire()),
        }),
        RoomAction::Leave => What::Leave(node::Empty {}),
        RoomAction::Look => What::Look(node::Empty {}),
        RoomAction::SetVariables(change) => What::SetVariables(change.to_wire()),
        RoomAction::SetOwn(change) => What::SetOwn(change.to_wire()),
        RoomAction::Say(text) => What::Say(text.as_ref().to_owned()),
        RoomAction::Whisper(users, text) => {
            What::Whisper(node::RoomWhisper { users: ids_to_wire(users), text: text.as_ref().to_owned() })
        }
        RoomAction::Kick(user, bar_ms) => What::Kick(node::RoomKick { user_id: id_to_wire(*user), bar_ms: *bar_ms }),
        RoomAction::Update(update) => What::Update(update.to_wire()),
        RoomAction::Spectate(spectate) => What::Spectate(*spectate),
    }
}

fn action_from_wire(wire: room_ask::What) -> Result<RoomAction> {
    use room_ask::What;
    Ok(match wire {
        What::Create(creation) => RoomAction::Create(Box::new(Creation::from_wire(creation)?)),
        What::Join(entry) => {
            let password = digest_from_wire(entry.password)?;
            let listener = part(entry.listener, "room_entry.listener")?;
            RoomAction::Join(Entry { password, spectator: entry.spectator }, listener)
        }
        What::Leave(node::Empty {}) => RoomAction::Leave,
        What::Look(node::Empty {}) => RoomAction::Look,
        What::SetVariables(change) => RoomAction::SetVariables(Change::from_wire(change)?),
        What::SetOwn(change) => RoomAction::SetOwn(Change::from_wire(change)?),
        What::Say(text) => RoomAction::Say(text.into()),
        What::Whisper(whisper) => {
            RoomAction::Whisper(ids_from_wire(&whisper.users, "room_whisper.users")?, whisper.text.into())
        }
        What::Kick(kick) => RoomAction::Kick(id_from_wire(kick.user_id), kick.bar_ms),
        What::Update(update) => RoomAction::Update(Box::new(Update::from_wire(update)?)),
        What::Spectate(spectate) => RoomAction::Spectate(spectate),
    })
}

fn directory_to_wire(action: &DirectoryAction) -> directory_ask::What {
    use directory_ask::What;
    match action {
        DirectoryAction::Find(find) => What::Find(find.to_wire()),
        DirectoryAction::QuickJoin(find) => What::QuickJoin(find.to_wire()),
        DirectoryAction::Subscribe(view) => What::Subscribe(view.to_wire()),
    }
}

fn directory_from_wire(wire: directory_ask::What) -> Result<DirectoryAction> {
    use directory_ask::What;
    Ok(match wire {
        What::Find(find) => DirectoryAction::Find(Find::from_wire(find)?),
        What::QuickJoin(find) => DirectoryAction::QuickJoin(Find::from_wire(find)?),
        What::Subscribe(view) => DirectoryAction::Subscribe(ViewKey::from_wire(view)?),
    })
}

fn across_to_wire(across: &OwnerMessage) -> across::What {
    use across::What;
    match across {
        OwnerMessage::Seat(request) => What::Seat(Box::new(node::SeatAsk {
            caller: Some(request.caller.to_wire()),
            room: id_to_wire(request.what.room),
            origin: Some(request.what.origin.to_wire()),
        })),
        OwnerMessage::Elsewhere(request) => What::Elsewhere(Box::new(place_ask(request))),
        OwnerMessage::Report(room, report) => What::Report(report_to_wire(*room, *report)),
        OwnerMessage::Filling { room, size, report } => {
            What::Filling(node::RoomFilling { size: *size, report: Some(report_to_wire(*room, *report)) })
        }
        OwnerMessage::Closed(room) => What::Closed(present_id(*room)),
        OwnerMessage::Forgotten(partitions) => What::Forgotten(node::Partitions {
            partitions: partitions.iter().map(|partition| super::up::partition_to_wire(*partition)).collect(),
        }),
        OwnerMessage::Listing(rooms) => {
            let listed = rooms.iter().map(|(room, summary)| node::RoomListed {
                room: id_to_wire(*room),
                summary: summary.as_ref().map(|summary| summary.to_wire()),
            });
            What::Listing(node::RoomListing { rooms: listed.collect() })
        }
    }
}

fn across_from_wire(wire: across::What, reply_to: Option<RequestRef>) -> Result<OwnerMessage> {
    use across::What;
    Ok(match wire {
        What::Seat(ask) => {
            let what = Seat { room: id_from_wire(ask.room), origin: part(ask.origin, "seat.origin")? };
            OwnerMessage::Seat(Request { caller: part(ask.caller, "seat.caller")?, reply_to, what })
        }
        What::Elsewhere(ask) => OwnerMessage::Elsewhere(place_request(*ask, reply_to)?),
        What::Report(report) => {
            let (room, report) = report_from_wire(report);
            OwnerMessage::Report(room, report)
        }
        What::Filling(filling) => {
            let (room, report) = report_from_wire(required(filling.report, "filling.report")?);
            OwnerMessage::Filling { room, size: filling.size, report }
        }
        What::Closed(room) => OwnerMessage::Closed(id_from_wire(Some(room))),
        What::Forgotten(forgotten) => {
            let each = |number| super::up::partition(number, "forgotten.partitions");
            OwnerMessage::Forgotten(forgotten.partitions.into_iter().map(each).collect::<Result<_>>()?)
        }
        What::Listing(listing) => {
            let listed = |wire: node::RoomListed| Ok((id_from_wire(wire.room), maybe(wire.summary)?.map(Arc::new)));
            OwnerMessage::Listing(listing.rooms.into_iter().map(listed).collect::<Result<_>>()?)
        }
    })
}

fn report_to_wire(room: RoomId, report: Report) -> node::RoomReport {
    node::RoomReport { room: id_to_wire(room), offset: report.offset, open: report.open }
}

fn report_from_wire(wire: node::RoomReport) -> (RoomId, Report) {
    (id_from_wire(wire.room), Report { offset: wire.offset, open: wire.open })
}

impl Form for RoomOwner {
    type Wire = across::Owner;

    fn to_wire(&self) -> across::Owner {
        match self {
            Self::Room(room) => across::Owner::Room(present_id(*room)),
            Self::Desk(template) => across::Owner::Desk(template.as_ref().to_owned()),
            Self::Directory => across::Owner::Directory(node::Empty {}),
        }
    }

    fn from_wire(wire: across::Owner) -> Result<Self> {
        Ok(match wire {
            across::Owner::Room(room) => Self::Room(id_from_wire(Some(room))),
            across::Owner::Desk(template) => Self::Desk(template.into()),
            across::Owner::Directory(node::Empty {}) => Self::Directory,
        })
    }
}

impl Form for Origin {
    type Wire = seat_ask::Origin;

    fn to_wire(&self) -> seat_ask::Origin {
        match self {
            Self::Desk { place, open } => {
                seat_ask::Origin::Desk(node::DeskOrigin { place: Some(place.to_wire()), open: *open })
            }
            Self::QuickJoin { next } => seat_ask::Origin::QuickJoin(node::QuickJoinOrigin { next: ids_to_wire(next) }),
        }
    }

    fn from_wire(wire: seat_ask::Origin) -> Result<Self> {
        Ok(match wire {
            seat_ask::Origin::Desk(desk) => Self::Desk { place: part(desk.place, "desk.place")?, open: desk.open },
            seat_ask::Origin::QuickJoin(origin) => {
                Self::QuickJoin { next: ids_from_wire(&origin.next, "quick_join.next")? }
            }
        })
    }
}

impl Form for Caller {
    type Wire = node::Caller;

    fn to_wire(&self) -> node::Caller {
        node::Caller {
            user_id: id_to_wire(self.user_id),
            username: self.username.as_ref().to_owned(),
            session: self.session.map(|(session, _)| session.to_wire()),
            session_id: self.session.and_then(|(_, id)| id_to_wire(id)),
        }
    }

    fn from_wire(wire: node::Caller) -> Result<Self> {
        let session_id = id_from_wire(wire.session_id);
        Ok(Self {
            user_id: id_from_wire(wire.user_id),
            username: wire.username.into(),
            session: maybe(wire.session)?.map(|session| (session, session_id)),
        })
    }
}

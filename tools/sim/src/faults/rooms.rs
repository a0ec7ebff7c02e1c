//! Planted bugs in requests to owners of rooms, and in messages between these owners.

use muster_live::plane::{Message, Up};
use muster_live::rooms::{Change, MessageToRoomOwner, Origin, OwnerMessage, Request, RoomAction};

use super::{Fault, Faults};

impl Faults {
    /// Lets the fault change a request or message. Returns whether the message is lost.
    pub(super) fn spoils_ask(&mut self, ask: &mut MessageToRoomOwner) -> bool {
        match ask {
            MessageToRoomOwner::Room(room, Request { caller, what, reply_to: _ }) => match what {
                RoomAction::Create(creation) => {
                    if self.strikes(Fault::LargerRoom) {
                        creation.capacity += 9;
                    }
                    if creation.hidden && self.is(Fault::ListHidden) {
                        creation.hidden = false;
                    }
                    if creation.password.is_some() && self.strikes(Fault::OpenDoor) {
                        creation.password = None;
                    }
                }
                RoomAction::Join(entry, listener) if self.is(Fault::LateEntry) && self.kept.is_none() => {
                    let what = RoomAction::Join(*entry, *listener);
                    let again =
                        MessageToRoomOwner::Room(*room, Request { caller: caller.clone(), reply_to: None, what });
                    self.kept = Some((room.stream(), listener.session, Message::Up(Up::from(again))));
                }
                RoomAction::SetVariables(change) if !change.set.is_empty() && self.strikes(Fault::CutChange) => {
                    change.set.pop_first();
                }
                RoomAction::SetOwn(Change { private, set, .. })
                    if *private && !set.is_empty() && self.strikes(Fault::ShowSecret) =>
                {
                    *private = false;
                }
                _ => {}
            },
            MessageToRoomOwner::FromOwner(_, across) => return self.spoils_across(across),
            MessageToRoomOwner::Placement(request) => {
                if let Some(room) = self.sent_to.filter(|_| self.is(Fault::SkipRoom)) {
                    request.what.tried.push(room);
                }
            }
            MessageToRoomOwner::Directory(_) => {}
        }
        false
    }

    fn spoils_across(&mut self, across: &mut OwnerMessage) -> bool {
        match across {
            OwnerMessage::Seat(request) => {
                if matches!(request.what.origin, Origin::Desk { .. }) {
                    self.sent_to = Some(request.what.room);
                }
                if let Origin::Desk { open: Some(size), .. } = &mut request.what.origin
                    && self.strikes(Fault::LargerRoom)
                {
                    *size += 9;
                }
                false
            }
            OwnerMessage::Closed(_) => self.strikes(Fault::LoseClosed),
            OwnerMessage::Listing(_) => self.strikes(Fault::LoseListing),
            OwnerMessage::Report(..)
            | OwnerMessage::Filling { .. }
            | OwnerMessage::Elsewhere(_)
            | OwnerMessage::Forgotten(_) => false,
        }
    }
}

//! Planted bugs, so that tests can show that the checkers find bugs.
//!
//! The bugs are planted between planes, in the messages that planes send and the frames that planes deliver. The planes
//! are those of the server, unchanged.

mod rooms;

use std::collections::VecDeque;

use fastrand::Rng;
use muster_domain::ids::Uuid;
use muster_live::plane::{self, Ask, Down, Effect, Effects, Frames, Join, LocalAudience, Message, PoolAsk, Reply, Up};
use muster_live::rooms::{RoomAnswer, RoomId};
use muster_live::stream::mode;
use muster_live::{SessionRef, ShardIndex, StreamKey};

use crate::scenario::Who;

/// A planted bug.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// An owner never hears that a session left.
    LoseLeave,
    /// A join arrives a second time, after the leave.
    LateJoin,
    /// Two broadcasts to one shard arrive in the wrong order.
    SwapFanouts,
    /// A broadcast does not reach one shard.
    LoseFanout,
    /// A broadcast reaches one shard twice.
    DoubleFanout,
    /// A broadcast for some sessions reaches all.
    WidenAudience,
    /// A session receives a frame of a stream that it has left.
    DeliverToLeaver,
    /// Frames to two sessions are exchanged.
    SwapDeliveries,
    /// One message with credits for a shard is lost.
    LoseCredit,
    /// A shard gets more credits than it should.
    InventCredit,
    /// Every payload is encoded twice.
    EncodeTwice,
    /// Messages from one shard to another never arrive.
    WithholdDown,
    /// A request is never answered.
    LoseReply,
    /// A request is answered twice.
    DoubleReply,
    /// A snapshot lacks a presence.
    CutSnapshot,
    /// A hidden presence is not hidden.
    ShowHidden,
    /// A session is not told to close.
    LoseClose,
    /// A push to one session is lost.
    LosePush,
    /// A shard's timers do not run in one turn.
    SkipTurn,
    /// A room has more seats than were asked for.
    LargerRoom,
    /// A room is made without its password.
    OpenDoor,
    /// A desk skips the room that it last sent a player to.
    SkipRoom,
    /// A join of a room arrives a second time, after the leave.
    LateEntry,
    /// A seat is promised for longer than it is held.
    LongPromise,
    /// A change of variables lacks a value.
    CutChange,
    /// A private variable is not private.
    ShowSecret,
    /// A room that is to be hidden is not.
    ListHidden,
    /// A message in a room does not reach one shard.
    LoseTale,
    /// Two messages in a room reach one shard in the wrong order.
    SwapTales,
    /// A session hears of a room that it has left.
    TellLeaver,
    /// The directory does not hear of a change.
    LoseListing,
    /// Watchers of a view do not hear of a change.
    LoseLobby,
    /// The directory does not hear that nobody watches a view any more.
    LoseUnwatch,
    /// A desk does not hear that a room closed.
    LoseClosed,
    /// The matchmaker does not hear that a party has changed.
    LoseCancel,
    /// The matchmaker does not hear that a player's session closed.
    KeepTicket,
    /// A session that joins another match or party stays in the first.
    StayOn,
}

impl Fault {
    /// All faults.
    pub const ALL: [Self; 37] = [
        Self::LoseLeave,
        Self::LateJoin,
        Self::SwapFanouts,
        Self::LoseFanout,
        Self::DoubleFanout,
        Self::WidenAudience,
        Self::DeliverToLeaver,
        Self::SwapDeliveries,
        Self::LoseCredit,
        Self::InventCredit,
        Self::EncodeTwice,
        Self::WithholdDown,
        Self::LoseReply,
        Self::DoubleReply,
        Self::CutSnapshot,
        Self::ShowHidden,
        Self::LoseClose,
        Self::LosePush,
        Self::SkipTurn,
        Self::LargerRoom,
        Self::OpenDoor,
        Self::SkipRoom,
        Self::LateEntry,
        Self::LongPromise,
        Self::CutChange,
        Self::ShowSecret,
        Self::ListHidden,
        Self::LoseTale,
        Self::SwapTales,
        Self::TellLeaver,
        Self::LoseListing,
        Self::LoseLobby,
        Self::LoseUnwatch,
        Self::LoseClosed,
        Self::LoseCancel,
        Self::KeepTicket,
        Self::StayOn,
    ];
}

/// The state of the planted fault. Most faults strike once, at one of their first occasions. Some strike at every
/// occasion, because a single strike would seldom show.
pub struct Faults {
    fault: Option<Fault>,
    occasions: u32,
    kept: Option<(StreamKey, SessionRef, Message)>,
    withheld: Option<(ShardIndex, ShardIndex)>,
    /// The room that a desk last sent a player to.
    sent_to: Option<RoomId>,
}

impl Faults {
    /// Plants this fault, or none. The seed decides the occasion at which the fault strikes.
    pub fn new(fault: Option<Fault>, seed: u64) -> Self {
        let occasions = Rng::with_seed(seed).u32(1..=6);
        Self { fault, occasions, kept: None, withheld: None, sent_to: None }
    }

    /// Counts an occasion of this fault. Returns whether the fault is planted and strikes at this occasion.
    fn strikes(&mut self, fault: Fault) -> bool {
        if self.fault != Some(fault) || self.occasions == 0 {
            return false;
        }
        self.occasions -= 1;
        self.occasions == 0
    }

    /// Puts a message into a queue, unless the fault changes or drops it.
    pub fn put(&mut self, queue: &mut VecDeque<Message>, message: Message) {
        let message = match message {
            Message::Up(up) => self.up(queue, up),
            Message::Down(down) => self.down(queue, down),
            Message::Credit(..) if self.strikes(Fault::LoseCredit) => None,
            Message::Credit(kind, count) if self.strikes(Fault::InventCredit) => Some(Message::Credit(kind, count * 4)),
            credit => Some(credit),
        };
        queue.extend(message);
    }

    fn up(&mut self, queue: &mut VecDeque<Message>, mut up: Up) -> Option<Message> {
        match &mut up {
            Up::Ask { ask: Ask::Room(ask), .. } => {
                let is_lost = self.spoils_ask(ask);
                return (!is_lost).then_some(Message::Up(up));
            }
            Up::Ask { ask: Ask::Pool(PoolAsk::RemoveOwner(_)), .. } if self.is(Fault::LoseCancel) => return None,
            Up::Ask { ask: Ask::Pool(PoolAsk::RemoveSession(_)), .. } if self.strikes(Fault::KeepTicket) => {
                return None;
            }
            Up::Unlisten { stream, .. } if stream.mode == mode::LOBBY && self.strikes(Fault::LoseUnwatch) => {
                return None;
            }
            Up::Leave { .. } if self.strikes(Fault::LoseLeave) => return None,
            Up::Leave { stream, session, .. } => {
                let is_its = |kept: &mut (StreamKey, SessionRef, Message)| kept.0 == *stream && kept.1 == *session;
                if let Some((_, _, join)) = self.kept.take_if(is_its) {
                    queue.push_back(Message::Up(up));
                    return Some(join);
                }
            }
            Up::Join(join) if self.fault == Some(Fault::LateJoin) && self.kept.is_none() => {
                let again = Join {
                    stream: join.stream.clone(),
                    presence: join.presence.clone(),
                    condition: join.condition.clone(),
                    request: None,
                    ..**join
                };
                let session = join.presence.session;
                self.kept = Some((join.stream.clone(), session, Message::Up(Up::Join(Box::new(again)))));
            }
            Up::Join(join) if join.presence.hidden && self.strikes(Fault::ShowHidden) => join.presence.hidden = false,
            _ => {}
        }
        Some(Message::Up(up))
    }

    fn down(&mut self, queue: &mut VecDeque<Message>, mut down: Down) -> Option<Message> {
        match &mut down {
            Down::Fanout { stream, frames, audience, delivery } => {
                let of_rooms = match stream.mode {
                    mode::ROOM => self.strikes(Fault::LoseTale),
                    mode::LOBBY => self.strikes(Fault::LoseLobby),
                    _ => false,
                };
                if of_rooms || self.strikes(Fault::LoseFanout) {
                    // The frames are lost, but the credit comes back.
                    *frames = Frames::default();
                }
                if self.strikes(Fault::DoubleFanout) {
                    let (stream, frames, audience) = (stream.clone(), frames.clone(), audience.clone());
                    queue.push_back(Message::Down(Down::Fanout { stream, frames, audience, delivery: *delivery }));
                }
                if *audience != LocalAudience::All && self.strikes(Fault::WidenAudience) {
                    *audience = LocalAudience::All;
                }
                let is_same = |before: &mut Message| match before {
                    Message::Down(Down::Fanout { stream: other, .. }) => other == stream,
                    _ => false,
                };
                let is_of_room = stream.mode == mode::ROOM;
                if queue.back_mut().is_some_and(is_same)
                    && (self.strikes(Fault::SwapFanouts) || is_of_room && self.strikes(Fault::SwapTales))
                {
                    queue.insert(queue.len() - 1, Message::Down(down));
                    return None;
                }
            }
            Down::Reply(..) if self.strikes(Fault::LoseReply) => return None,
            Down::Reply(_, Reply::Answer(plane::Answer::Room(Ok(RoomAnswer::Reserved(held)))))
                if self.strikes(Fault::LongPromise) =>
            {
                held.held_ms *= 10;
            }
            Down::Reply(request, reply) => {
                if self.strikes(Fault::DoubleReply) {
                    queue.push_back(Message::Down(Down::Reply(*request, reply.clone())));
                }
                if let Reply::Presences(presences, _) = reply
                    && !presences.is_empty()
                    && self.strikes(Fault::CutSnapshot)
                {
                    presences.pop();
                }
            }
            Down::Close { .. } if self.strikes(Fault::LoseClose) => return None,
            Down::Push { session, delivery, .. } if self.strikes(Fault::LosePush) => {
                let (stream, frames) = (StreamKey::about(u8::MAX, Uuid::nil()), Frames::default());
                let (audience, delivery) = (LocalAudience::AllBut(*session), *delivery);
                return Some(Message::Down(Down::Fanout { stream, frames, audience, delivery }));
            }
            _ => {}
        }
        Some(Message::Down(down))
    }

    /// Lets the fault change the frames for sessions of one shard.
    pub fn alter_deliveries(&mut self, effects: &mut Effects) {
        let mut frames = effects.iter_mut().filter_map(|effect| match effect {
            Effect::Deliver(_, frame, _) => Some(frame),
            _ => None,
        });
        if let (Some(one), Some(other)) = (frames.next(), frames.next())
            && one != other
            && self.strikes(Fault::SwapDeliveries)
        {
            std::mem::swap(one, other);
        }
    }

    /// Whether this fault is planted.
    pub fn is(&self, fault: Fault) -> bool {
        self.fault == Some(fault)
    }

    /// The session that has left a stream and receives a frame of it all the same, if the fault strikes.
    pub fn leaver(&mut self, mut leavers: impl Iterator<Item = Who>) -> Option<Who> {
        let fault = self.fault.filter(|fault| matches!(fault, Fault::DeliverToLeaver | Fault::TellLeaver))?;
        let leaver = leavers.next()?;
        self.strikes(fault).then_some(leaver)
    }

    /// Whether messages between these shards stay on the way.
    pub fn withholds(&mut self, from: ShardIndex, to: ShardIndex) -> bool {
        if self.withheld.is_none() && self.strikes(Fault::WithholdDown) {
            self.withheld = Some((from, to));
        }
        self.withheld == Some((from, to))
    }

    /// Whether the fault lets a turn of timers be skipped.
    pub fn skips_turn(&mut self) -> bool {
        self.strikes(Fault::SkipTurn)
    }
}

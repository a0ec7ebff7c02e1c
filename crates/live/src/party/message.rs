//! Requests to parties, their replies, and the effects that follow. All of it is data.

use std::sync::Arc;

use bytes::Bytes;
use muster_domain::Timestamp;
use muster_domain::ids::{SessionId, UserId, Uuid};
use muster_domain::query::{Document, NoObject};
use thiserror::Error;

use super::carry::CarriedParty;
use super::listing::{ListQuery, Page};
use super::{LABEL_BYTES_MAX, PARTY_SIZE_MAX};
use crate::plane::Listener;
use crate::stream::{Presence, SessionRef, StreamKey};

/// A party's id. Its public form adds the name of the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PartyId(pub Uuid);

/// A session as players name it in requests. All three parts must be right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Person {
    /// The session's public id.
    pub session_id: SessionId,
    /// The session's user.
    pub user_id: UserId,
    /// The user's name when the socket opened.
    pub username: Arc<str>,
}

impl Person {
    /// Whether a presence is of this session.
    pub fn is(&self, presence: &Presence) -> bool {
        self.session_id == presence.session_id && self.user_id == presence.user_id && self.username == presence.username
    }
}

/// A session that is in a party or asks to be let in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// The session as others see it.
    pub presence: Presence,
    /// The listener by which the session hears the party's stream, or will hear it once it is let in.
    pub listener: Listener,
}

impl Member {
    /// The session.
    pub fn session(&self) -> SessionRef {
        self.presence.session
    }
}

/// A JSON object that the leader wrote and by which players find the party.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Label {
    text: Arc<str>,
    /// The object's members as fields `label.<name>`.
    document: Arc<Document>,
}

impl Label {
    /// Checks and wraps a label. An empty text stands for an empty object.
    ///
    /// # Errors
    /// [`PartyRefusal::LabelTooLong`], [`PartyRefusal::LabelNotObject`], [`PartyRefusal::LabelTooManyValues`].
    pub fn new(text: &str) -> Result<Self, PartyRefusal> {
        if text.len() > LABEL_BYTES_MAX {
            return Err(PartyRefusal::LabelTooLong);
        }
        if text.is_empty() {
            return Ok(Self::default());
        }
        let document = Document::of_object("label", text).map_err(|fault| match fault {
            NoObject::NotJson => PartyRefusal::LabelNotObject,
            NoObject::TooManyValues(_) => PartyRefusal::LabelTooManyValues,
        })?;
        Ok(Self { text: Arc::from(text), document: Arc::new(document) })
    }

    /// The text as the leader gave it.
    pub fn as_given(&self) -> &str {
        &self.text
    }

    /// The label as JSON.
    pub fn as_json(&self) -> &str {
        if self.text.is_empty() { "{}" } else { &self.text }
    }

    /// Whether the label is the empty object.
    pub fn is_empty(&self) -> bool {
        self.as_json() == "{}"
    }

    /// The object's members as fields `label.<name>`.
    pub(super) fn document(&self) -> &Document {
        &self.document
    }
}

/// Settings of a party that its leader may change.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Whether anybody may join; otherwise the leader lets players in.
    pub open: bool,
    /// Whether the party is left out of listings.
    pub hidden: bool,
    /// The label by which players find the party.
    pub label: Label,
}

/// A request of a session to a party, or a report of the plane.
#[derive(Clone, Debug, PartialEq)]
pub enum PartyRequest {
    /// Make the party and become its leader.
    Create {
        /// The session that asks.
        leader: Member,
        /// The first settings.
        settings: Settings,
        /// Number of seats, the leader's included. With 0 or 1 nobody else can join.
        max_size: u16,
        /// The time of the request, which orders listings.
        created_at: Timestamp,
    },
    /// Join the party, or ask the leader to be let in.
    Join(Member),
    /// The session left, or no longer asks to be let in. The plane reports this for closed sessions.
    Leave(SessionRef),
    /// Make a member the leader.
    Promote {
        /// The session that asks.
        by: SessionRef,
        /// The member to promote.
        target: Person,
    },
    /// Let in a session that asked to join.
    Accept {
        /// The session that asks.
        by: SessionRef,
        /// The session to let in.
        target: Person,
    },
    /// Remove a member, or decline a request to join.
    Remove {
        /// The session that asks.
        by: SessionRef,
        /// The session to remove or decline.
        target: Person,
    },
    /// End the party.
    Close(SessionRef),
    /// List the sessions that ask to be let in.
    ListRequests(SessionRef),
    /// Change the settings.
    Update {
        /// The session that asks.
        by: SessionRef,
        /// All settings, unchanged ones included.
        settings: Settings,
    },
    /// Send data to the other members.
    SendData {
        /// The session that sends.
        by: SessionRef,
        /// The kind of data; game code gives it a meaning.
        op_code: i64,
        /// The data.
        data: Bytes,
    },
    /// List the members for a matchmaker ticket; answered to the leader only.
    Matchmake(SessionRef),
    /// The matchmaker issued a ticket for the members that [`PartyRequest::Matchmake`] listed.
    TicketIssued {
        /// The session that asked for the ticket.
        by: SessionRef,
        /// The ticket's public id.
        ticket: Arc<str>,
        /// The count from [`PartyReply::Matchmaking`].
        membership: u64,
    },
    /// Check that a session leads the party, before the session withdraws the party's tickets.
    CheckLeader(SessionRef),
}

impl PartyRequest {
    /// Whether the request may change the party.
    pub fn is_change(&self) -> bool {
        !matches!(self, Self::ListRequests(_) | Self::SendData { .. } | Self::Matchmake(_) | Self::CheckLeader(_))
    }
}

/// The reply to a request that succeeded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PartyReply {
    /// The request was carried out.
    Done,
    /// The leader was asked to let the session in.
    Asked,
    /// The sessions that ask to be let in, the longest waiting first.
    Requests(Vec<Presence>),
    /// The members for a matchmaker ticket.
    Matchmaking {
        /// All members, oldest first.
        members: Vec<Member>,
        /// Number of changes of membership. A ticket is void once this number has changed.
        membership: u64,
    },
}

/// A question to the owner of parties.
#[derive(Clone, Debug)]
pub enum PartyAsk {
    /// A request to one party.
    One {
        /// The party's stream.
        stream: StreamKey,
        /// The request.
        what: Box<PartyRequest>,
    },
    /// A question for the parties of this owner.
    List(ListQuery),
}

/// An answer of the owner of parties.
#[derive(Clone, Debug, PartialEq)]
pub enum PartyAnswer {
    /// The answer of one party.
    One(Result<PartyReply, PartyRefusal>),
    /// Parties of this owner.
    Listed(Page),
}

/// A party on its way to its partition's next owner.
pub type PartyPart = Box<CarriedParty>;

/// The reason why a request was refused. The text is for the game's programmer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum PartyRefusal {
    /// There is no such party, or it has ended.
    #[error("There is no such party; it may have ended.")]
    NotFound,
    /// The id is taken.
    #[error("A party of this id exists; try again.")]
    AlreadyExists,
    /// The number of seats is out of range.
    #[error("max_size must be 0 to {PARTY_SIZE_MAX}.")]
    BadSize,
    /// No seat is free.
    #[error("The party is full.")]
    Full,
    /// The number of waiting requests has reached the number of seats.
    #[error("As many players wait to be let into the party as it has seats; try again later.")]
    RequestsFull,
    /// The user has asked already.
    #[error("The user has asked to join the party already.")]
    AlreadyRequested,
    /// The session is in the party already.
    #[error("The session is in the party already.")]
    AlreadyMember,
    /// Only the leader may do this.
    #[error("Only the leader of the party may do this.")]
    NotLeader,
    /// The session is not in the party.
    #[error("No member of the party has this user id, session id and username.")]
    NotMember,
    /// Only members may send data.
    #[error("Join the party first.")]
    SenderNotMember,
    /// No session of this name asked to join.
    #[error("Nobody with this user id, session id and username asks to join the party.")]
    NotRequested,
    /// A leader may leave, but cannot be removed.
    #[error("The leader cannot be removed; leave the party, or close it.")]
    RemoveLeader,
    /// The label has too many bytes.
    #[error("The label must not be longer than {LABEL_BYTES_MAX} bytes.")]
    LabelTooLong,
    /// The label is no JSON object.
    #[error("The label must be a JSON object.")]
    LabelNotObject,
    /// The label has too many values to be searched.
    #[error("The label has too many values: leave out those that nobody searches for.")]
    LabelTooManyValues,
    /// A hidden party has no label, since nobody could search for it.
    #[error("A hidden party cannot have a label.")]
    HiddenWithLabel,
    /// The membership changed while the matchmaker worked.
    #[error("The party's members changed; ask again.")]
    MembershipChanged,
}

/// The party as a new member sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// Whether anybody may join without being let in.
    pub open: bool,
    /// Number of seats.
    pub max_size: u16,
    /// The new member.
    pub own: Presence,
    /// The leader.
    pub leader: Presence,
    /// All members, the new one included, oldest first.
    pub members: Vec<Presence>,
}

/// An event for members, or for sessions that ask to be let in.
#[derive(Clone, Debug, PartialEq)]
pub enum PartyEvent {
    /// To a new member: it was let in.
    Admitted(Snapshot),
    /// To the leader: a session asks to be let in.
    JoinRequested(Presence),
    /// The party has this leader now.
    Leader(Presence),
    /// The party ended, or the receiver was removed.
    Closed,
    /// The leader changed settings.
    Updated(Settings),
    /// A member sent data.
    Data {
        /// The member who sent it.
        sender: Presence,
        /// The kind of data; game code gives it a meaning.
        op_code: i64,
        /// The data.
        data: Bytes,
    },
    /// The leader got this ticket from the matchmaker for the party.
    TicketIssued(Arc<str>),
}

/// One thing that a request wants done outside. Effects are carried out in order.
#[derive(Clone, Debug, PartialEq)]
pub enum PartyEffect {
    /// Put a session on the party's stream. The session is told the event first; then all others are told that it came.
    Enter(Member, Option<PartyEvent>),
    /// Take a session off the party's stream.
    Expel(Member),
    /// Take all these sessions off the party's stream, without telling anybody that they left.
    Dissolve(Vec<Member>),
    /// A session no longer waits to be let in.
    Dismiss(Member),
    /// Tell one session an event.
    Send {
        /// The receiver.
        to: SessionRef,
        /// The event.
        event: PartyEvent,
    },
    /// Tell all sessions on the party's stream an event.
    Publish {
        /// The one session that is not told.
        except: Option<SessionRef>,
        /// The event.
        event: PartyEvent,
    },
    /// Remove the party's tickets from the matchmaker.
    CancelTickets,
}

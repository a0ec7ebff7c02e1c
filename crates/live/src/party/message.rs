//! What goes into the state machine of parties and what comes out of it.

use std::sync::Arc;

use bytes::Bytes;
use muster_domain::Timestamp;
use muster_domain::ids::{SessionId, UserId, Uuid};
use muster_domain::query::{Document, NoObject};
use thiserror::Error;

use super::{LABEL_BYTES_MAX, PARTY_SIZE_MAX};
use crate::plane::Listener;
use crate::stream::{Presence, SessionRef};

/// A party. Its public id adds the name of the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PartyId(pub Uuid);

/// A session as players name it in requests; all three must be right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Person {
    /// Of the socket.
    pub session_id: SessionId,
    /// Whose socket it is.
    pub user_id: UserId,
    /// The user's name when the socket opened.
    pub username: Arc<str>,
}

impl Person {
    /// Whether a presence is this one's.
    pub fn is(&self, presence: &Presence) -> bool {
        self.session_id == presence.session_id && self.user_id == presence.user_id && self.username == presence.username
    }
}

/// A session that is in a party or waits to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// How others see it.
    pub presence: Presence,
    /// How it hears the party's stream, or will.
    pub listener: Listener,
}

impl Member {
    /// Which session it is.
    pub fn session(&self) -> SessionRef {
        self.presence.session
    }
}

/// A JSON object by which players find a party, as its leader wrote it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Label {
    text: Arc<str>,
    /// Its members as fields `label.<name>`.
    document: Arc<Document>,
}

impl Label {
    /// Takes a label. An empty text stands for an empty object.
    ///
    /// # Errors
    /// When it is too long, or no JSON object.
    pub fn new(text: &str) -> Result<Self, Refusal> {
        if text.len() > LABEL_BYTES_MAX {
            return Err(Refusal::LabelTooLong);
        }
        if text.is_empty() {
            return Ok(Self::default());
        }
        let document = Document::of_object("label", text).map_err(|fault| match fault {
            NoObject::NotJson => Refusal::LabelNotObject,
            NoObject::TooManyValues(_) => Refusal::LabelTooManyValues,
        })?;
        Ok(Self { text: Arc::from(text), document: Arc::new(document) })
    }

    /// The text that was given.
    pub fn as_given(&self) -> &str {
        &self.text
    }

    /// The text as JSON.
    pub fn as_json(&self) -> &str {
        if self.text.is_empty() { "{}" } else { &self.text }
    }

    /// Whether it says nothing.
    pub fn is_empty(&self) -> bool {
        self.as_json() == "{}"
    }

    /// Its members as fields `label.<name>`.
    pub(super) fn document(&self) -> &Document {
        &self.document
    }
}

/// What a leader may change about a party.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Whether anyone may join, or the leader decides.
    pub open: bool,
    /// Whether listings leave it out.
    pub hidden: bool,
    /// By what it is found.
    pub label: Label,
}

/// What a session asks of a party, or what the kernel reports.
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    /// Make the party, and be its leader.
    Create {
        /// Who asks.
        leader: Member,
        /// How it starts.
        settings: Settings,
        /// Seats, the leader's included. With 0 as with 1 nobody can join.
        max_size: u16,
        /// When this is, for the order of listings.
        created_at: Timestamp,
    },
    /// Join it, or ask the leader to be let in.
    Join(Member),
    /// A session left, or waits no more to be let in. The kernel reports this too, of sessions that are gone.
    Leave(SessionRef),
    /// Make a member leader.
    Promote {
        /// Who asks.
        by: SessionRef,
        /// Who is to lead.
        target: Person,
    },
    /// Let in who asked to join.
    Accept {
        /// Who asks.
        by: SessionRef,
        /// Who is let in.
        target: Person,
    },
    /// Put a member out, or decline a request to join.
    Remove {
        /// Who asks.
        by: SessionRef,
        /// Whom.
        target: Person,
    },
    /// End the party.
    Close(SessionRef),
    /// List who asks to be let in.
    ListRequests(SessionRef),
    /// Change what can be changed.
    Update {
        /// Who asks.
        by: SessionRef,
        /// All settings, also those that stay.
        settings: Settings,
    },
    /// Send data to the other members.
    SendData {
        /// Who sends.
        by: SessionRef,
        /// What kind of data, to the game.
        op_code: i64,
        /// The data.
        data: Bytes,
    },
    /// Who would go into the matchmaker with the party; answered to its leader only.
    Matchmake(SessionRef),
    /// The matchmaker issued a ticket for the members that were answered to [`Request::Matchmake`].
    TicketIssued {
        /// Who asked for it.
        by: SessionRef,
        /// The ticket.
        ticket: Arc<str>,
        /// From [`Reply::Matchmaking`].
        membership: u64,
    },
    /// Whether a session may withdraw the party's tickets.
    CheckLeader(SessionRef),
}

impl Request {
    /// Whether the party may be another afterwards.
    pub fn is_change(&self) -> bool {
        !matches!(self, Self::ListRequests(_) | Self::SendData { .. } | Self::Matchmake(_) | Self::CheckLeader(_))
    }
}

/// What a request that succeeded is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// Nothing but that it is done.
    Done,
    /// The leader was asked to let the session in.
    Asked,
    /// Who asks to be let in, longest waiting first.
    Requests(Vec<Presence>),
    /// Who goes into the matchmaker.
    Matchmaking {
        /// All members, oldest first.
        members: Vec<Member>,
        /// Counts the changes of membership; the ticket is void if it has changed.
        membership: u64,
    },
}

/// Why a request was not granted. The text is for the game's programmer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    /// No such party, or no longer.
    #[error("There is no such party; it may have ended.")]
    NotFound,
    /// The id is taken.
    #[error("A party of this id exists; try again.")]
    AlreadyExists,
    /// The wish for seats is out of range.
    #[error("max_size must be 0 to {PARTY_SIZE_MAX}.")]
    BadSize,
    /// No seat is free.
    #[error("The party is full.")]
    Full,
    /// As many requests wait as there are seats.
    #[error("As many players wait to be let into the party as it has seats; try again later.")]
    RequestsFull,
    /// The user waits already.
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
    /// Who sends data must be in the party.
    #[error("Join the party first.")]
    SenderNotMember,
    /// Nobody of this name asked to join.
    #[error("Nobody with this user id, session id and username asks to join the party.")]
    NotRequested,
    /// A leader may leave, but not be put out.
    #[error("The leader cannot be removed; leave the party, or close it.")]
    RemoveLeader,
    /// The label has too many bytes.
    #[error("The label must not be longer than {LABEL_BYTES_MAX} bytes.")]
    LabelTooLong,
    /// The label is no JSON object.
    #[error("The label must be a JSON object.")]
    LabelNotObject,
    /// The label holds too much to search for.
    #[error("The label has too many values: leave out those that nobody searches for.")]
    LabelTooManyValues,
    /// Nobody could find it by its label.
    #[error("A hidden party cannot have a label.")]
    HiddenWithLabel,
    /// Members came or went while the matchmaker worked.
    #[error("The party's members changed; ask again.")]
    MembershipChanged,
}

/// What a new member learns about the party.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// Whether anyone may join.
    pub open: bool,
    /// Seats.
    pub max_size: u16,
    /// The new member.
    pub own: Presence,
    /// Who leads.
    pub leader: Presence,
    /// All members with the new one, oldest first.
    pub members: Vec<Presence>,
}

/// What members, or those who ask to be, are told.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// To a new member: it is in.
    Admitted(Snapshot),
    /// To the leader: someone asks to be let in.
    JoinRequested(Presence),
    /// Who leads now.
    Leader(Presence),
    /// The party ended, or the receiver was put out.
    Closed,
    /// Settings changed.
    Updated(Settings),
    /// A member sent data.
    Data {
        /// Who.
        sender: Presence,
        /// What kind of data, to the game.
        op_code: i64,
        /// The data.
        data: Bytes,
    },
    /// The leader went to the matchmaker with the party.
    TicketIssued(Arc<str>),
}

/// What a step caused, to be carried out in order.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// A session comes to the party's stream. It is told this first, then everyone that it came.
    Enter(Member, Option<Event>),
    /// A session is taken off the party's stream.
    Expel(Member),
    /// These are taken off the party's stream, all that are on it, and nobody is told that they go.
    Dissolve(Vec<Member>),
    /// A session waits no more to be let in.
    Dismiss(Member),
    /// One session is told.
    Send {
        /// Which.
        to: SessionRef,
        /// What.
        event: Event,
    },
    /// Everyone on the party's stream is told.
    Publish {
        /// Everyone but this session.
        except: Option<SessionRef>,
        /// What.
        event: Event,
    },
    /// The party's tickets leave the matchmaker.
    CancelTickets,
}

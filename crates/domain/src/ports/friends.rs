//! Friends: edges between users, each seen from the user at its source.

use super::PortFuture;
use super::accounts::User;
use super::keyed_writes::WriteStamp;
use super::notifications::Notification;
use super::storage::Authority;
use crate::ids::{NotificationId, UserId};
use crate::time::Timestamp;

/// Relation of the user at the source of an edge to the user at its end. The numbers are the protocol's and the
/// database's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FriendState {
    /// Both are friends.
    Friend = 0,
    /// The user has asked the other one.
    Asked = 1,
    /// The other one has asked the user.
    AskedBy = 2,
    /// The user has blocked the other one.
    Blocked = 3,
}

impl FriendState {
    /// All states, in the order of listings.
    pub const ALL: [Self; 4] = [Self::Friend, Self::Asked, Self::AskedBy, Self::Blocked];

    /// The number of the state.
    pub const fn number(self) -> i16 {
        self as i16
    }

    /// The state of a number, if it is one's.
    pub fn of_number(number: i64) -> Option<Self> {
        Self::ALL.into_iter().find(|state| i64::from(state.number()) == number)
    }
}

/// A friend as a user sees them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Friend {
    /// The other user.
    pub user: User,
    /// Relation of the user to the other one.
    pub state: FriendState,
    /// Orders the friends of one state.
    pub position: i64,
    /// When the state changed last.
    pub update_time: Timestamp,
    /// A JSON object as text.
    pub metadata: String,
}

/// A place among the friends of a user, whose order is that of states, then positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FriendPosition {
    /// State of the friend there.
    pub state: FriendState,
    /// Position of the friend there.
    pub position: i64,
}

/// A friend of a friend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FriendOfFriend {
    /// The friend who has this friend.
    pub referrer: UserId,
    /// The friend's friend.
    pub user: User,
}

/// A place among the friends of a user's friends, whose order is that of the friends' ids, then of their friends'.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ReferralPosition {
    /// The friend there.
    pub referrer: UserId,
    /// The friend's friend there.
    pub user_id: UserId,
}

impl ReferralPosition {
    /// Before all of them.
    pub const START: Self = Self { referrer: UserId::SYSTEM, user_id: UserId::SYSTEM };
}

/// A change of one user's edges to others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FriendChange {
    /// The user who changes something.
    pub user_id: UserId,
    /// Name of that user, for notifications.
    pub username: String,
    /// Kind of the change.
    pub kind: FriendChangeKind,
    /// The others, by id.
    pub ids: Vec<UserId>,
    /// Further others, by name.
    pub usernames: Vec<String>,
    /// Whether a client or the server asks. Only clients have a quota.
    pub authority: Authority,
    /// Ids of the notifications: one for each of `ids`, then one for each of `usernames`. Who has none is not notified.
    pub notices: Vec<Option<NotificationId>>,
    /// Moment after which nobody who has a notification of the same code by this user gets another.
    pub quiet_since: Option<Timestamp>,
}

/// Kinds of changes of edges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FriendChangeKind {
    /// Asks the others to be friends, or accepts what they have asked. Holds metadata, a JSON object as text.
    Add(String),
    /// Ends friendships, withdraws or rejects requests, lifts blocks.
    Delete,
    /// Blocks the others.
    Block,
    /// Replaces the metadata of edges by this one, a JSON object as text.
    Annotate(String),
}

impl FriendChangeKind {
    /// Whether such a change may make edges.
    pub fn makes_edges(&self) -> bool {
        matches!(self, Self::Add(_) | Self::Block)
    }
}

/// Outcome of a change of an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FriendOutcome {
    /// There is no such user.
    Unknown,
    /// Nothing was to be changed, or a block is in the way.
    Unchanged,
    /// The other user was asked.
    Requested,
    /// Both are friends now, as the other user had asked.
    Accepted,
    /// All edges between both are gone, except for a block by the other user.
    Removed,
    /// The user's block of the other one was lifted.
    Unblocked,
    /// The other user is blocked.
    Blocked,
    /// The metadata was replaced.
    Annotated,
}

/// Outcome of a change for one other user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FriendChanged {
    /// The other user, unless it is unknown or was named by name in a keyed write that had happened before.
    pub user_id: Option<UserId>,
    /// The outcome.
    pub outcome: FriendOutcome,
    /// The notification that was stored for the other user in the same transaction, if any.
    pub notification: Option<Notification>,
}

/// Changes of edges. A trait of its own, because the calls of durable matches have one that notes their keys.
pub trait FriendChangeStore {
    /// Makes the change for all others named or for none, once for each key, and stores the notifications with it.
    /// Answers one outcome for each of the ids, then for each of the names; of a user who is named twice the second is
    /// unchanged.
    ///
    /// Errors: `Invalid` for a user who does not exist and changes something, for changes of oneself, and for a
    /// notification too long for its column; `Exceeded` for clients; `Diverged`; `Restored`.
    fn change_friends<'a>(&'a self, change: &'a FriendChange, stamp: WriteStamp) -> PortFuture<'a, Vec<FriendChanged>>;
}

/// Reading edges.
pub trait FriendStore: FriendChangeStore {
    /// Up to `limit` friends of a user behind a place, of one state or of all.
    fn list_friends(
        &self,
        user_id: UserId,
        state: Option<FriendState>,
        behind: Option<FriendPosition>,
        limit: u32,
    ) -> PortFuture<'_, Vec<Friend>>;

    /// Those of these users to whom the user has an edge, in no order.
    fn friends<'a>(&'a self, user_id: UserId, others: &'a [UserId]) -> PortFuture<'a, Vec<Friend>>;

    /// Up to `limit` friends of a user's friends behind a place, without the user and the user's own friends. Whoever
    /// is a friend of several friends comes once for each.
    fn list_friends_of_friends(
        &self,
        user_id: UserId,
        behind: Option<ReferralPosition>,
        limit: u32,
    ) -> PortFuture<'_, Vec<FriendOfFriend>>;
}

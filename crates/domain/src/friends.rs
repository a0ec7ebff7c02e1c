//! Friends: asking and accepting, removing, blocking, and listing.
//!
//! The effect of a change on the two edges between two users is decided here, by [`plan`], and carried out by the
//! stores while both users are locked. A change is stored with its notifications; pushing them is the caller's.

mod notices;

pub use notices::FriendNotices;

use serde_json::json;

use crate::error::{Error, Result};
use crate::ids::{NotificationId, UserId, new_time_ordered, parse_user_id};
use crate::json::require_object;
use crate::limits::{
    FRIEND_METADATA_BYTES_MAX, FRIEND_PAGE_DEFAULT, FRIEND_PAGE_MAX, FRIEND_SERVER_PAGE_DEFAULT, FRIENDS_CHANGED_MAX,
    FRIENDS_OF_FRIENDS_PAGE_DEFAULT, FRIENDS_OF_FRIENDS_PAGE_MAX, cut_page, page_limit,
};
use crate::notifications::codes;
use crate::ports::accounts::User;
use crate::ports::clock::Entropy;
use crate::ports::friends::{
    Friend, FriendChange, FriendChangeKind, FriendChangeStore, FriendChanged, FriendOfFriend, FriendOutcome,
    FriendPosition, FriendState, ReferralPosition,
};
use crate::ports::keyed_writes::WriteStamp;
use crate::ports::notifications::Notification;
use crate::ports::storage::Authority;
use crate::ports::store::Store;
use crate::time::Timestamp;

const NO_METADATA: &str = "{}";

/// Change of one edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EdgeStep {
    /// The edge stays as it is, or stays away.
    Keep,
    /// A new edge is made with this state.
    Make(FriendState),
    /// The edge gets this state.
    Set(FriendState),
    /// The edge goes.
    Remove,
}

/// Changes of the two edges between two users.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EdgePlan {
    /// Of the edge of the user who changes something.
    pub mine: EdgeStep,
    /// Of the other user's.
    pub theirs: EdgeStep,
    /// The outcome that is answered.
    pub outcome: FriendOutcome,
}

/// Effect of a change on the edges between two users, of whom the other one exists.
pub fn plan(kind: &FriendChangeKind, mine: Option<FriendState>, theirs: Option<FriendState>) -> EdgePlan {
    use FriendState::{Asked, AskedBy, Blocked, Friend};
    let plan = |mine, theirs, outcome| EdgePlan { mine, theirs, outcome };
    let is_blocking = theirs == Some(Blocked);
    // A block of the other user's is the other user's, and stays.
    let removed = if theirs.is_some() && !is_blocking { EdgeStep::Remove } else { EdgeStep::Keep };
    let unchanged = plan(EdgeStep::Keep, EdgeStep::Keep, FriendOutcome::Unchanged);
    match (kind, mine, theirs) {
        (FriendChangeKind::Add(_), None, None) => {
            plan(EdgeStep::Make(Asked), EdgeStep::Make(AskedBy), FriendOutcome::Requested)
        }
        (FriendChangeKind::Add(_), Some(AskedBy), Some(Asked)) => {
            plan(EdgeStep::Set(Friend), EdgeStep::Set(Friend), FriendOutcome::Accepted)
        }
        (FriendChangeKind::Delete, None, _) if removed == EdgeStep::Keep => unchanged,
        (FriendChangeKind::Delete, None, _) => plan(EdgeStep::Keep, removed, FriendOutcome::Removed),
        (FriendChangeKind::Delete, Some(_), _) => {
            let outcome = if removed == EdgeStep::Keep { FriendOutcome::Unblocked } else { FriendOutcome::Removed };
            plan(EdgeStep::Remove, removed, outcome)
        }
        (FriendChangeKind::Block, None, _) => plan(EdgeStep::Make(Blocked), removed, FriendOutcome::Blocked),
        (FriendChangeKind::Block, Some(_), _) => plan(EdgeStep::Set(Blocked), removed, FriendOutcome::Blocked),
        (FriendChangeKind::Annotate(_), Some(_), _) => EdgePlan { outcome: FriendOutcome::Annotated, ..unchanged },
        (FriendChangeKind::Add(_) | FriendChangeKind::Annotate(_), ..) => unchanged,
    }
}

/// The notification by which the other user of a change hears of it, if it is one to hear of. Its subject is in the
/// sender's words, as short as its column.
pub fn notification(
    change: &FriendChange,
    friend: UserId,
    outcome: FriendOutcome,
    id: NotificationId,
    now: Timestamp,
) -> Option<Notification> {
    let username = &change.username;
    let (code, subject) = match outcome {
        FriendOutcome::Requested => (codes::FRIEND_REQUEST, format!("{username} would like to be your friend")),
        FriendOutcome::Accepted => (codes::FRIEND_ACCEPTED, format!("{username} is your friend now")),
        FriendOutcome::Removed => (codes::FRIEND_REMOVED, format!("{username} took you off the list of friends")),
        _ => return None,
    };
    Some(Notification {
        id,
        user_id: friend,
        subject,
        content: json!({ "username": username }).to_string(),
        code,
        sender_id: change.user_id,
        create_time: now,
        persistent: true,
    })
}

/// Outcome of one request: the notifications that are to be pushed, and who was blocked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FriendsChanged {
    /// To be pushed to their receivers; they are stored already.
    pub notifications: Vec<Notification>,
    /// Users whose direct channel with this one must close.
    pub blocked: Vec<UserId>,
    /// Whether any of the users named exists.
    pub is_any_known: bool,
}

/// A user who changes friendships, with what that needs.
#[derive(Clone, Copy)]
pub struct Befriending<'a> {
    /// Where changes are stored.
    pub store: &'a dyn FriendChangeStore,
    /// For ids.
    pub entropy: &'a dyn Entropy,
    /// When the change happens, and its key.
    pub stamp: WriteStamp,
    /// The user.
    pub user_id: UserId,
    /// The user's name.
    pub username: &'a str,
    /// How often a client may notify others; `None` for game code, which is not limited.
    pub notices: Option<&'a FriendNotices>,
}

/// Users as a request names them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NamedFriends {
    /// By id.
    pub ids: Vec<UserId>,
    /// By name.
    pub usernames: Vec<String>,
}

impl NamedFriends {
    /// Reads the users that `user_id`, called `username`, names.
    ///
    /// Errors: `InvalidArgument` for oneself, for an id that is no UUID or the system user's, for an empty name, and
    /// for too many users.
    pub fn parse(user_id: UserId, username: &str, ids: &[String], usernames: Vec<String>) -> Result<Self> {
        if ids.len() + usernames.len() > FRIENDS_CHANGED_MAX {
            return Err(Error::invalid(format!("At most {FRIENDS_CHANGED_MAX} users can be named at once.")));
        }
        let id = |id: &String| match parse_user_id(id)? {
            id if id == user_id => Err(oneself()),
            UserId::SYSTEM => Err(Error::invalid("The user ID is the system user's, who has no friends.")),
            id => Ok(id),
        };
        let ids = ids.iter().map(id).collect::<Result<_>>()?;
        for name in &usernames {
            if name.is_empty() || name.contains('\0') {
                return Err(Error::invalid("A username must not be empty, or contain null characters."));
            }
            if name == username {
                return Err(oneself());
            }
        }
        Ok(Self { ids, usernames })
    }

    fn len(&self) -> usize {
        self.ids.len() + self.usernames.len()
    }
}

fn oneself() -> Error {
    Error::invalid("Name other users: nobody can befriend, remove or block themselves.")
}

impl Befriending<'_> {
    /// Asks others to be friends, and accepts what they have asked. Metadata is a JSON object as text, or empty; it
    /// becomes that of new edges, and is added to that of requests which are accepted.
    ///
    /// Errors: `InvalidArgument` for metadata that is no JSON object or too long, and if there is no user named so;
    /// `ResourceExhausted` for clients.
    pub async fn add(&self, friends: NamedFriends, metadata: String) -> Result<FriendsChanged> {
        let metadata = if metadata.is_empty() { NO_METADATA.to_owned() } else { metadata };
        check_metadata(&metadata)?;
        somebody(self.change(friends, FriendChangeKind::Add(metadata)).await?)
    }

    /// Ends friendships, withdraws or rejects requests, and lifts blocks. Unknown users are left out.
    pub async fn delete(&self, friends: NamedFriends) -> Result<FriendsChanged> {
        self.change(friends, FriendChangeKind::Delete).await
    }

    /// Blocks others, who lose what there was between them and this user.
    ///
    /// Errors: `InvalidArgument` if there is no user named so; `ResourceExhausted` for clients.
    pub async fn block(&self, friends: NamedFriends) -> Result<FriendsChanged> {
        somebody(self.change(friends, FriendChangeKind::Block).await?)
    }

    /// Replaces the metadata of the edge to one other user, if there is one.
    ///
    /// Errors: `InvalidArgument` for metadata that is no JSON object or too long.
    pub async fn annotate(&self, friend: UserId, metadata: String) -> Result<()> {
        check_metadata(&metadata)?;
        if friend == self.user_id {
            return Ok(());
        }
        let friends = NamedFriends { ids: vec![friend], usernames: Vec::new() };
        self.change(friends, FriendChangeKind::Annotate(metadata)).await.map(|_| ())
    }

    async fn change(&self, friends: NamedFriends, kind: FriendChangeKind) -> Result<FriendsChanged> {
        let now = self.stamp.now;
        let (asked, may_notify) = (friends.len(), matches!(kind, FriendChangeKind::Add(_) | FriendChangeKind::Delete));
        let budget = if may_notify { asked } else { 0 };
        let taken = self.notices.map_or(budget, |notices| notices.take(self.user_id, budget, now));
        // The ids are those of following microseconds, so that they are listed in the order of the request.
        let moments = (now.0..).map(Timestamp);
        let id = |moment| NotificationId(new_time_ordered(moment, self.entropy));
        let ids = moments.enumerate().map(|(index, moment)| (index < taken).then(|| id(moment)));
        let change = FriendChange {
            user_id: self.user_id,
            username: self.username.to_owned(),
            kind,
            authority: self.notices.map_or(Authority::Server, |_| Authority::Client(self.user_id)),
            notices: ids.take(asked).collect(),
            ids: friends.ids,
            usernames: friends.usernames,
            quiet_since: self.notices.and_then(|notices| notices.quiet_since(now)),
        };
        let changed = self.store.change_friends(&change, self.stamp).await;
        if let Some(notices) = self.notices {
            notices.settle(taken, &change, changed.as_deref().unwrap_or_default());
        }
        let changed = changed?;
        let is_any_known = changed.iter().any(|each| each.outcome != FriendOutcome::Unknown);
        let is_blocked = |each: &&FriendChanged| each.outcome == FriendOutcome::Blocked;
        let blocked = changed.iter().filter(is_blocked).filter_map(|each| each.user_id).collect();
        let notifications = changed.into_iter().filter_map(|each| each.notification).collect();
        // The original counts an id as somebody, known or not.
        Ok(FriendsChanged { notifications, blocked, is_any_known: is_any_known || !change.ids.is_empty() })
    }
}

/// Checks that a request named somebody.
///
/// Errors: `InvalidArgument` otherwise.
pub fn somebody(changed: FriendsChanged) -> Result<FriendsChanged> {
    if changed.is_any_known { Ok(changed) } else { Err(Error::invalid("There is no user of these names.")) }
}

fn check_metadata(metadata: &str) -> Result<()> {
    if metadata.len() > FRIEND_METADATA_BYTES_MAX {
        let most = FRIEND_METADATA_BYTES_MAX;
        return Err(Error::invalid(format!("The metadata of a friend must be at most {most} bytes long.")));
    }
    require_object("metadata", metadata)
}

/// Lengths of pages of listings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FriendPages {
    default: i32,
    friends_of_friends_default: i32,
    friends_of_friends_max: i32,
}

impl FriendPages {
    /// Pages of clients.
    pub const CLIENT: Self = Self {
        default: FRIEND_PAGE_DEFAULT,
        friends_of_friends_default: FRIENDS_OF_FRIENDS_PAGE_DEFAULT,
        friends_of_friends_max: FRIENDS_OF_FRIENDS_PAGE_MAX,
    };
    /// Pages of game code.
    pub const SERVER: Self = Self {
        default: FRIEND_SERVER_PAGE_DEFAULT,
        friends_of_friends_default: FRIEND_SERVER_PAGE_DEFAULT,
        friends_of_friends_max: FRIEND_PAGE_MAX,
    };
}

/// A page of a user's friends, of one state or of all, and the place behind which the next one lies, if there is one.
///
/// Errors: `InvalidArgument` for a limit out of bounds.
pub async fn list(
    store: &dyn Store,
    user_id: UserId,
    pages: FriendPages,
    (limit, state): (Option<i32>, Option<FriendState>),
    behind: Option<FriendPosition>,
) -> Result<(Vec<Friend>, Option<FriendPosition>)> {
    let limit = page_limit(limit, pages.default, FRIEND_PAGE_MAX)?;
    // One more tells whether there is another page.
    let mut friends = store.list_friends(user_id, state, behind, limit + 1).await?;
    let mut more = friends.len() > limit as usize;
    friends.truncate(limit as usize);
    more |= cut_page(&mut friends, |friend| friend.metadata.len() + friend.user.metadata.len());
    let place = |last: &Friend| FriendPosition { state: last.state, position: last.position };
    let next = friends.last().filter(|_| more).map(place);
    Ok((friends.into_iter().map(without_count).collect(), next))
}

/// The place where a listing of one state or of all begins that goes on behind a place.
pub fn list_start(state: Option<FriendState>, behind: Option<FriendPosition>) -> FriendPosition {
    let start = FriendPosition { state: FriendState::Friend, position: i64::MIN };
    let behind = behind.unwrap_or(start);
    match state {
        Some(state) if state == behind.state => behind,
        Some(state) => FriendPosition { state, ..start },
        None => behind,
    }
}

/// Reads the number of a state.
///
/// Errors: `InvalidArgument` out of 0 to 3.
pub fn parse_state(number: i32) -> Result<FriendState> {
    FriendState::of_number(number.into()).ok_or_else(|| Error::invalid("The state must be between 0 and 3."))
}

/// A friend as listings tell it: as in the original without how many friends the friend has.
fn without_count(friend: Friend) -> Friend {
    Friend { user: User { edge_count: 0, ..friend.user }, ..friend }
}

/// A page of the friends of a user's friends, and the place behind which the next one lies, if there is one.
///
/// Errors: `InvalidArgument` for a limit out of bounds.
pub async fn list_friends_of_friends(
    store: &dyn Store,
    user_id: UserId,
    pages: FriendPages,
    limit: Option<i32>,
    behind: Option<ReferralPosition>,
) -> Result<(Vec<FriendOfFriend>, Option<ReferralPosition>)> {
    let limit = page_limit(limit, pages.friends_of_friends_default, pages.friends_of_friends_max)?;
    let mut found = store.list_friends_of_friends(user_id, behind, limit + 1).await?;
    let mut more = found.len() > limit as usize;
    found.truncate(limit as usize);
    more |= cut_page(&mut found, |each| each.user.metadata.len());
    let place = |last: &FriendOfFriend| {
        let user_id = last.user.id.unwrap_or(UserId::SYSTEM);
        ReferralPosition { referrer: last.referrer, user_id }
    };
    let next = found.last().filter(|_| more).map(place);
    Ok((found, next))
}

/// The edges of a user to these others, in the order asked for. Others without an edge are left out.
///
/// Errors: `InvalidArgument` for too many.
pub async fn status(store: &dyn Store, user_id: UserId, others: &[UserId]) -> Result<Vec<Friend>> {
    if others.len() > FRIENDS_CHANGED_MAX {
        return Err(Error::invalid(format!("At most {FRIENDS_CHANGED_MAX} users can be asked about at once.")));
    }
    if others.is_empty() {
        return Ok(Vec::new());
    }
    let mut found = store.friends(user_id, others).await?;
    found.sort_by_cached_key(|friend| others.iter().position(|other| Some(*other) == friend.user.id));
    Ok(found.into_iter().map(without_count).collect())
}

#[cfg(test)]
mod tests;

//! Friends of players. Rules are `domain::friends`'s.

use std::collections::BTreeSet;

use muster_domain::chat::Channel;
use muster_domain::friends::{self, Befriending, FriendPages, FriendsChanged, NamedFriends};
use muster_domain::ports::friends::{Friend, FriendOfFriend, FriendState};
use muster_domain::ports::keyed_writes::WriteStamp;
use muster_domain::{Error, ErrorKind, Result, UserId};
use muster_live::StreamKey;
use muster_wire::api;
use muster_wire::api::friends_of_friends_list::FriendOfFriend as Found;

use crate::context::{App, Caller, Context};
use crate::cursors;
use crate::live::Live;
use crate::realtime::channels;
use crate::users;
use crate::wire_time::whole_time;

/// A page of the caller's friends, of one state or of all.
pub async fn list(context: &Context<'_>, request: api::ListFriendsRequest) -> Result<api::FriendList> {
    let user_id = context.user()?;
    let state = request.state.map(friends::parse_state).transpose()?;
    let filter = [&*user_id.to_string(), &*request.state.map(|state| state.to_string()).unwrap_or_default()];
    let behind = cursors::read_friends(&request.cursor, &filter)?;
    let store = &*context.app.store;
    let (found, next) = friends::list(store, user_id, FriendPages::CLIENT, (request.limit, state), behind).await?;
    let cursor = next.map(|next| cursors::write_friends(next, &filter)).unwrap_or_default();
    Ok(api::FriendList { friends: to_wire(&context.app.live, found).await, cursor })
}

/// A page of the friends of the caller's friends.
pub async fn list_of_friends(
    context: &Context<'_>,
    request: api::ListFriendsOfFriendsRequest,
) -> Result<api::FriendsOfFriendsList> {
    let user_id = context.user()?;
    let filter = [&*user_id.to_string()];
    let behind = cursors::read_friends_of_friends(&request.cursor, &filter)?;
    let store = &*context.app.store;
    let (found, next) =
        friends::list_friends_of_friends(store, user_id, FriendPages::CLIENT, request.limit, behind).await?;
    let (referrers, known): (Vec<UserId>, Vec<_>) =
        found.into_iter().map(|FriendOfFriend { referrer, user }| (referrer, user)).unzip();
    let known = users::all_to_wire(&context.app.live, known).await;
    let found = |(referrer, user): (UserId, api::User)| Found { referrer: referrer.to_string(), user: Some(user) };
    Ok(api::FriendsOfFriendsList {
        friends_of_friends: referrers.into_iter().zip(known).map(found).collect(),
        cursor: next.map(|next| cursors::write_friends_of_friends(next, &filter)).unwrap_or_default(),
    })
}

/// Asks others to be friends, and accepts what they have asked.
pub async fn add(context: &Context<'_>, request: api::AddFriendsRequest) -> Result<()> {
    let api::AddFriendsRequest { ids, usernames, metadata } = request;
    change(context, &ids, usernames, async |caller, named| caller.add(named, metadata).await).await
}

/// Ends friendships, withdraws or rejects requests, and lifts blocks.
pub async fn delete(context: &Context<'_>, request: api::DeleteFriendsRequest) -> Result<()> {
    change(context, &request.ids, request.usernames, async |caller, named| caller.delete(named).await).await
}

/// Blocks others, and closes the direct channels with them.
pub async fn block(context: &Context<'_>, request: api::BlockFriendsRequest) -> Result<()> {
    change(context, &request.ids, request.usernames, async |caller, named| caller.block(named).await).await
}

async fn change(
    context: &Context<'_>,
    ids: &[String],
    usernames: Vec<String>,
    change: impl AsyncFnOnce(Befriending<'_>, NamedFriends) -> Result<FriendsChanged>,
) -> Result<()> {
    let Caller::Player(claims) = &context.caller else {
        return Err(Error::new(ErrorKind::Unauthenticated, "A session token is required."));
    };
    if ids.is_empty() && usernames.is_empty() {
        return Ok(());
    }
    let app: &App = context.app;
    let named = NamedFriends::parse(claims.user_id, &claims.username, ids, usernames)?;
    let caller = Befriending {
        store: &*app.store,
        entropy: &*app.entropy,
        stamp: WriteStamp::at(context.now),
        user_id: claims.user_id,
        username: &claims.username,
        notices: Some(&app.friend_notices),
    };
    let changed = change(caller, named).await?;
    app.live.notify(changed.notifications);
    for stream in direct_streams(claims.user_id, changed.blocked) {
        // The block holds either way: whoever is in the channel still can only be heard there, and not join again.
        if let Err(error) = app.live.close_stream(&stream).await {
            tracing::warn!(%error, "a direct channel stayed open though one of the two has blocked the other");
        }
    }
    Ok(())
}

/// The streams of the direct channels between a user and others.
pub fn direct_streams(user_id: UserId, others: Vec<UserId>) -> impl Iterator<Item = StreamKey> {
    let others = BTreeSet::from_iter(others);
    others.into_iter().filter_map(move |other| Some(channels::stream(&Channel::direct(user_id, other).ok()?)))
}

/// Friends in the protocol's form.
async fn to_wire(live: &Live, friends: Vec<Friend>) -> Vec<api::Friend> {
    let (users, edges): (Vec<_>, Vec<_>) = friends
        .into_iter()
        .map(|Friend { user, state, update_time, metadata, .. }| (user, (state, update_time, metadata)))
        .unzip();
    let users = users::all_to_wire(live, users).await;
    let friend = |(user, (state, update_time, metadata))| api::Friend {
        user: Some(user),
        state: Some(FriendState::number(state).into()),
        update_time: Some(whole_time(update_time)),
        metadata,
    };
    users.into_iter().zip(edges).map(friend).collect()
}

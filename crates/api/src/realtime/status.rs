//! Status: follows between users, and messages to followers. Follows belong to a session and end with it.

use std::rc::Rc;

use muster_domain::account;
use muster_domain::ids::UserId;
use muster_live::plane::{Condition, JoinOptions, JoinRefusal, Reply};
use muster_live::{SessionKey, StreamKey};
use muster_wire::realtime::envelope::Message;
use muster_wire::realtime::{Envelope, Status, StatusFollow, StatusUnfollow, StatusUpdate};

use super::{Handled, MessageAnswer, SocketSession, events, refuse_domain, refuse_input, refuse_join};
use crate::live::Live;

/// The largest size of a status text, in bytes.
pub const STATUS_BYTES_MAX: usize = 2_048;

/// The options by which a session appears with a status.
pub(super) fn appearing(status: Option<&str>) -> JoinOptions {
    JoinOptions {
        status: Some(status.unwrap_or_default().into()),
        listens: false,
        condition: Condition::Replace,
        ..JoinOptions::default()
    }
}

pub(super) fn follow(session: &Rc<SocketSession>, cid: String, request: StatusFollow) -> Handled {
    if request.user_ids.is_empty() && request.usernames.is_empty() {
        let nobody = Message::Status(Status::default());
        return MessageAnswer::Reply(Envelope::reply(cid, nobody)).into();
    }
    if request.usernames.iter().any(String::is_empty) {
        return refuse_input(cid, "A user name to follow is empty: leave it out.").into();
    }
    let session = session.clone();
    Handled::later(async move {
        // Users who do not exist are left out, as is the follower: a session hears of its own user anyway.
        let found = account::users(&*session.app.store, &request.user_ids, request.usernames, Vec::new()).await;
        let users = match found {
            Ok(users) => users,
            Err(error) => return refuse_domain(cid, &error),
        };
        let own = session.claims.user_id;
        let others = users.into_iter().filter_map(|user| user.id).filter(|user| *user != own);
        let asked: Vec<_> = others.map(|user| listen(&session.app.live, session.key, user)).collect();
        let mut presences = Vec::new();
        for answer in asked {
            match answer.await {
                Ok(Reply::Presences(found, _)) => presences.extend(found.iter().map(events::user_presence)),
                Ok(Reply::Joined(Err(refused @ JoinRefusal::Unavailable))) => return refuse_join(cid, refused),
                Ok(Reply::Joined(Err(_))) => {
                    return refuse_input(cid, "The session follows as many users as it may: unfollow some first.");
                }
                _ => {}
            }
        }
        MessageAnswer::Reply(Envelope::reply(cid, Message::Status(Status { presences })))
    })
}

fn listen(live: &Live, session: SessionKey, user: UserId) -> tokio::sync::oneshot::Receiver<Reply> {
    let stream = StreamKey::status(user);
    live.begin(|plane, now, request, out| plane.listen(now, session, stream, Some(request), out))
}

pub(super) fn unfollow(session: &SocketSession, cid: String, request: &StatusUnfollow) -> MessageAnswer {
    let users: Option<Vec<UserId>> = request.user_ids.iter().map(|id| id.parse().ok()).collect();
    let Some(users) = users else {
        return refuse_input(cid, "A user ID to unfollow is not a valid UUID.");
    };
    for user in users.into_iter().filter(|user| *user != session.claims.user_id) {
        session.app.live.step(|plane, now, out| plane.unlisten(now, session.key, StreamKey::status(user), out));
    }
    MessageAnswer::Reply(Envelope::acknowledgement(cid))
}

pub(super) fn update(session: &Rc<SocketSession>, cid: String, request: StatusUpdate) -> Handled {
    if let Err(error) = session.app.live.may_tell_all() {
        return refuse_domain(cid, &error).into();
    }
    let stream = StreamKey::status(session.claims.user_id);
    let Some(status) = request.status else {
        session.app.live.step(|plane, now, out| plane.vanish(now, session.key, stream, out));
        return MessageAnswer::Reply(Envelope::acknowledgement(cid)).into();
    };
    if status.len() > STATUS_BYTES_MAX {
        return refuse_input(cid, "A status must be at most 2,048 bytes long.").into();
    }
    let session = session.clone();
    Handled::later(async move {
        let joined = session.app.live.join(session.key, stream, appearing(Some(&status))).await;
        match joined {
            Ok(_) => MessageAnswer::Reply(Envelope::acknowledgement(cid)),
            Err(refusal) => super::refuse_join(cid, refusal),
        }
    })
}

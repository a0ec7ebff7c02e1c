//! Answers of many bytes are counted until their clients have read them, and must be read at a minimum rate.

use std::sync::Arc;

use bytes::Bytes;
use http::HeaderValue;
use http::Response;
use hyper::body::Body as _;
use muster_api::authorise::session_token;
use muster_api::http::HttpResponse;
use muster_domain::answers::{ANSWER_COUNTED_BYTES_MIN, AnswerInFlight};
use muster_domain::{Error, ErrorKind};

use super::activity::Activity;
use super::address::ClientAddress;
use super::service::{Body, respond, whole};
use crate::shard::Shard;

/// Time after which a client that has not read its answers can ask again, in seconds.
const RETRY_SEC: u32 = 2;

/// The client that an answer of many bytes is for.
#[derive(Clone)]
pub(super) struct Reader {
    pub(super) client: ClientAddress,
    pub(super) authorization: Option<HeaderValue>,
}

/// The bytes of an answer, counted until the last of them has left.
struct Counted {
    bytes: Bytes,
    activity: Arc<Activity>,
    _in_flight: AnswerInFlight,
}

impl AsRef<[u8]> for Counted {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.activity.answer_left();
    }
}

/// Whether an answer is to be counted.
pub(super) fn is_counted(response: &Response<Body>) -> bool {
    response.body().size_hint().lower() >= ANSWER_COUNTED_BYTES_MIN as u64
}

/// Counts an answer until its client has read it. The answer is refused if too many wait to be read.
pub(super) fn count(
    response: Response<Body>,
    reader: &Reader,
    shard: &Shard,
    connection: u64,
    activity: &Arc<Activity>,
) -> Response<Body> {
    let token = reader.authorization.as_ref().and_then(|header| header.to_str().ok()?.split_once(' '));
    let user = token.and_then(|(_, token)| session_token(&shard.app, token.trim(), shard.app.clock.now()).ok());
    let user = user.map(|claims| claims.user_id);
    let (parts, body) = response.into_parts();
    let bytes = whole(body);
    match shard.app.answers.begin(bytes.len(), (shard.index(), connection), user, reader.client.ip) {
        Ok(in_flight) => {
            activity.answer_begins(bytes.len(), &shard.config.http);
            let counted = Counted { bytes, activity: activity.clone(), _in_flight: in_flight };
            Response::from_parts(parts, Body::new(Bytes::from_owner(counted)))
        }
        Err(_) => {
            let error =
                Error::new(ErrorKind::Unavailable, "Too many answers wait to be read. Read them, and ask again.");
            respond(HttpResponse::refusal(&error.retry_after(RETRY_SEC)))
        }
    }
}

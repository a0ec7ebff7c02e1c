//! How busy the matchmaker is.

use muster_domain::{Error, ErrorKind, Result};
use muster_live::plane::{PoolAsk, PoolReply};
use muster_wire::api;

use crate::context::Context;
use crate::realtime::matchmaker::ask_pool;
use crate::users::time;

/// Tickets that wait, and the last that were matched.
pub async fn stats(context: &Context<'_>, (): ()) -> Result<api::MatchmakerStats> {
    let PoolReply::Stats(stats) = ask_pool(context.app, PoolAsk::Stats).await? else {
        return Err(Error::new(ErrorKind::Unavailable, "The server is stopping."));
    };
    let completion = |completion: &muster_live::matchmaker::Completion| api::MatchmakerCompletionStats {
        create_time: Some(time(completion.created_at)),
        complete_time: Some(time(completion.completed_at)),
    };
    Ok(api::MatchmakerStats {
        ticket_count: i32::try_from(stats.tickets).unwrap_or(i32::MAX),
        oldest_ticket_create_time: stats.oldest.map(time),
        completions: stats.completions.iter().map(completion).collect(),
    })
}

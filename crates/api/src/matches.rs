//! Listings of matches, relayed ones and those of game code.

use std::sync::Arc;

use muster_domain::limits::page_limit;
use muster_domain::query::Query;
use muster_domain::{Error, Result};
use muster_live::matches::{Answer, ListQuery, Listed};
use muster_live::plane::{Reply, Up};
use muster_wire::api;

use crate::context::{App, Context};
use crate::realtime::events::match_id;

/// Matches in one listing when the request does not say.
const PAGE_DEFAULT: i32 = 10;
/// Matches in one listing at most.
const PAGE_MAX: i32 = 100;

/// Matches that fit. Only those of game code have a label: a listing by label or query has no others.
pub async fn list(context: &Context<'_>, request: api::ListMatchesRequest) -> Result<api::MatchList> {
    let limit = page_limit(request.limit, PAGE_DEFAULT, PAGE_MAX)? as usize;
    let size = |size: Option<i32>, otherwise| match size {
        None => Ok(otherwise),
        Some(size) => usize::try_from(size).map_err(|_| Error::invalid("A size must not be negative.")),
    };
    let sizes = (size(request.min_size, 0)?, size(request.max_size, usize::MAX)?);
    if sizes.0 > sizes.1 {
        return Err(Error::invalid("The minimum size must not be above the maximum size."));
    }
    let wants_label = request.label.is_some() || request.query.is_some();
    let mut matches = Vec::new();
    if request.authoritative != Some(false) {
        let query = request.query.as_deref().filter(|query| !query.is_empty()).map(Query::parse).transpose();
        let query = query.map_err(|error| Error::invalid(format!("The query cannot be read: {error}")))?.map(Arc::new);
        let label = request.label.as_deref().map(Arc::from);
        let found = find(context.app, &ListQuery { query, label, sizes, limit }).await?;
        matches.extend(found.iter().map(|listed| shown(context.app, listed)));
    }
    let left = limit - matches.len();
    if request.authoritative != Some(true) && !wants_label && left > 0 {
        let relayed = context.app.live.relayed_matches(left, sizes).await;
        matches.extend(relayed.into_iter().map(|(stream, size)| api::Match {
            match_id: match_id(&stream),
            size: i32::try_from(size).unwrap_or(i32::MAX),
            ..api::Match::default()
        }));
    }
    Ok(api::MatchList { matches })
}

/// Matches of game code, of all places, the best first and among equals the newest.
///
/// # Errors
/// When a node that was asked has gone meanwhile.
pub async fn find(app: &App, asked: &ListQuery) -> Result<Vec<Listed>> {
    let mut found = Vec::new();
    for reply in app.live.ask_every_place(|request| Up::FindMatches { request, asked: asked.clone() }).await {
        match reply {
            Reply::Match(Ok(Answer::Listed(listed))) => found.extend(listed),
            Reply::Match(Err(why)) => return Err(why),
            _ => {}
        }
    }
    found.sort_unstable_by(Listed::order);
    found.truncate(asked.limit);
    Ok(found)
}

fn shown(app: &App, listed: &Listed) -> api::Match {
    api::Match {
        match_id: match_id(&listed.id.stream(&app.live_rules.node)),
        authoritative: true,
        label: Some(listed.label.to_string()),
        size: i32::try_from(listed.size).unwrap_or(i32::MAX),
        tick_rate: listed.tick_rate.cast_signed(),
        handler_name: listed.handler.to_string(),
    }
}

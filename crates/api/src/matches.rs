//! Listings of matches. Until game code runs matches, all of them are relayed.

use muster_domain::limits::page_limit;
use muster_domain::{Error, Result};
use muster_wire::api;

use crate::context::Context;
use crate::realtime::events::match_id;

/// Matches in one listing when the request does not say.
const PAGE_DEFAULT: i32 = 10;
/// Matches in one listing at most.
const PAGE_MAX: i32 = 100;

/// Matches that fit a size. Relayed ones have no label: a listing by label or query has none of them.
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
    if request.authoritative == Some(true) || wants_label {
        return Ok(api::MatchList::default());
    }
    let found = context.app.live.relayed_matches(limit, sizes).await;
    let matches = found.into_iter().map(|(stream, size)| api::Match {
        match_id: match_id(&stream),
        size: i32::try_from(size).unwrap_or(i32::MAX),
        ..api::Match::default()
    });
    Ok(api::MatchList { matches: matches.collect() })
}

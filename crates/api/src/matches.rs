//! Matches, relayed ones and those of game code: listings, and the requests that game code makes of them.

use std::sync::Arc;

use muster_domain::ids::Uuid;
use muster_domain::limits::page_limit;
use muster_domain::query::Query;
use muster_domain::{Error, ErrorKind, Result};
use muster_live::StreamKey;
use muster_live::matches::{Chain, Creation, ListQuery, Listed, MatchAnswer, MatchAsk, MatchesAsk};
use muster_live::plane::{self, Ask, Reply, Up};
use muster_live::stream::mode;
use muster_wire::api;

use crate::context::Context;
use crate::live::Live;
use crate::realtime::events::match_id;
use crate::realtime::matches::parse;
use crate::unanswered::stopping;

const NO_ID: &str = "This is no match ID.";

/// Number of matches in one listing when the request names none.
const PAGE_DEFAULT: i32 = 10;
/// The largest number of matches in one listing.
const PAGE_MAX: i32 = 100;
/// Matches in one listing of game code at most.
const GAME_CODE_PAGE_MAX: usize = 10_000;

/// Lists matches for the caller. Only matches of game code have a label, so a listing by label or query has no others.
pub async fn list(context: &Context<'_>, request: api::ListMatchesRequest) -> Result<api::MatchList> {
    find(&context.app.live, request).await
}

/// Lists matches for any asker.
///
/// # Errors
/// `InvalidArgument` for limits, sizes and queries that do not fit.
async fn find(live: &Live, request: api::ListMatchesRequest) -> Result<api::MatchList> {
    let limit = page_limit(request.limit, PAGE_DEFAULT, PAGE_MAX)? as usize;
    let size = |size: Option<i32>, otherwise| match size {
        None => Ok(otherwise),
        Some(size) => usize::try_from(size).map_err(|_| Error::invalid("A size must not be negative.")),
    };
    let sizes = (size(request.min_size, 0)?, size(request.max_size, usize::MAX)?);
    if sizes.0 > sizes.1 {
        return Err(Error::invalid("The minimum size must not be above the maximum size."));
    }
    if request.authoritative == Some(false) && (request.query.is_some() || request.label.is_some()) {
        let why = "Only matches of game code have a label: leave out `label` and `query`, or ask for those matches.";
        return Err(Error::invalid(why));
    }
    find_within(live, request, limit, sizes).await
}

/// Matches that fit, for game code: as many as it wants, up to a limit. No match has a size that cannot be.
///
/// # Errors
/// `InvalidArgument` for a limit below 0 and for a query that does not fit.
pub async fn find_for_game_code(live: &Live, request: api::ListMatchesRequest) -> Result<api::MatchList> {
    let limit = request.limit.unwrap_or(PAGE_DEFAULT);
    let limit = usize::try_from(limit).map_err(|_| Error::invalid("The limit must not be below 0."))?;
    let size = |size: Option<i32>, otherwise| size.map_or(otherwise, |size| usize::try_from(size).unwrap_or_default());
    let sizes = (size(request.min_size, 0), size(request.max_size, usize::MAX));
    if limit == 0 || sizes.0 > sizes.1 {
        return Ok(api::MatchList::default());
    }
    find_within(live, request, limit.min(GAME_CODE_PAGE_MAX), sizes).await
}

async fn find_within(
    live: &Live,
    request: api::ListMatchesRequest,
    limit: usize,
    sizes: (usize, usize),
) -> Result<api::MatchList> {
    let wants_label = request.label.is_some() || request.query.is_some();
    let mut matches = Vec::new();
    if request.authoritative != Some(false) {
        let query = request.query.as_deref().filter(|query| !query.is_empty()).map(Query::parse).transpose();
        let query = query.map_err(|error| Error::invalid(format!("The query cannot be read: {error}")))?.map(Arc::new);
        // A label beside a query counts for nothing, as in the original.
        let label = request.label.as_deref().filter(|_| request.query.is_none()).map(Arc::from);
        let found = of_game_code(live, &ListQuery { query, label, sizes, limit }).await?;
        matches.extend(found.iter().map(|listed| shown(live, listed)));
    }
    let left = limit - matches.len();
    if request.authoritative != Some(true) && !wants_label && left > 0 {
        let relayed = live.relayed_matches(left, sizes).await;
        matches.extend(relayed.into_iter().map(|(stream, size)| api::Match {
            match_id: match_id(&stream),
            size: i32::try_from(size).unwrap_or(i32::MAX),
            ..api::Match::default()
        }));
    }
    Ok(api::MatchList { matches })
}

/// Matches of game code at all places, the best first and among equals the newest.
///
/// # Errors
/// The refusal of a place, for example because its node has gone meanwhile.
async fn of_game_code(live: &Live, asked: &ListQuery) -> Result<Vec<Listed>> {
    let mut found = Vec::new();
    let find = |request| Up::Ask { request: Some(request), ask: Ask::Match(MatchesAsk::Find(asked.clone())) };
    for reply in live.ask_every_place(find).await {
        match reply {
            Reply::Answer(plane::Answer::Match(Ok(MatchAnswer::Listed(listed)))) => found.extend(listed),
            Reply::Answer(plane::Answer::Match(Err(why))) => return Err(why),
            _ => {}
        }
    }
    found.sort_unstable_by(Listed::order);
    found.truncate(asked.limit);
    Ok(found)
}

/// Makes a match, under an id from [`muster_live::plane::Plane::match_id`]. Answers the public id once the handler has
/// begun.
///
/// # Errors
/// The failure of the handler; `Unavailable` on a node that has lost its cluster.
pub async fn create(live: &Live, random: Uuid, creation: Creation) -> Result<String> {
    live.claim()?;
    let stream = live.look(|plane| plane.match_id(random, creation.is_durable).stream(plane.node()));
    match ask(live, stream.clone(), MatchAsk::Create(creation)).await? {
        MatchAnswer::Created => Ok(match_id(&stream)),
        _ => Err(stopping()),
    }
}

/// A match by its public id, if there is one.
///
/// # Errors
/// `InvalidArgument` for a text that is no id of a match.
pub async fn get(live: &Live, id: &str) -> Result<Option<api::Match>> {
    let stream = parse(id).ok_or_else(|| Error::invalid(NO_ID))?;
    if stream.mode == mode::MATCH_RELAYED {
        let size = live.count(std::slice::from_ref(&stream)).await.first().copied().unwrap_or_default();
        let size = i32::try_from(size).unwrap_or(i32::MAX);
        return Ok((size > 0).then(|| api::Match { match_id: id.to_owned(), size, ..api::Match::default() }));
    }
    match ask(live, stream, MatchAsk::Get).await {
        Ok(MatchAnswer::Listed(listed)) => Ok(listed.first().map(|listed| shown(live, listed))),
        Ok(_) => Err(stopping()),
        Err(error) if error.kind == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Sends a signal to the handler of a match, and answers the handler's answer.
///
/// # Errors
/// `NotFound`; `ResourceExhausted` when too many signals wait or nobody answers; `FailedPrecondition` when the match is
/// in the chain, so that it would wait for itself; `InvalidArgument` for a text that is no id of a match of game code.
pub async fn signal(live: &Live, id: &str, data: &str, chain: Chain) -> Result<String> {
    let stream = parse(id).filter(|stream| stream.mode == mode::MATCH_AUTHORITATIVE);
    let stream = stream.ok_or_else(|| Error::invalid(NO_ID))?;
    match ask(live, stream, MatchAsk::Signal { data: data.into(), chain }).await? {
        MatchAnswer::Signalled(data) => Ok(data.as_ref().to_owned()),
        _ => Err(stopping()),
    }
}

async fn ask(live: &Live, stream: StreamKey, ask: MatchAsk) -> Result<MatchAnswer> {
    match live.ask(|plane, now, request, out| plane.ask_match(now, stream, ask, Some(request), out)).await {
        Some(Reply::Answer(plane::Answer::Match(answer))) => answer,
        _ => Err(stopping()),
    }
}

/// The part of public ids behind the dot.
fn node(live: &Live) -> Arc<str> {
    live.look(|plane| plane.node().clone())
}

fn shown(live: &Live, listed: &Listed) -> api::Match {
    api::Match {
        match_id: match_id(&listed.id.stream(&node(live))),
        authoritative: true,
        label: Some(listed.label.to_string()),
        size: i32::try_from(listed.size).unwrap_or(i32::MAX),
        tick_rate: listed.tick_rate.cast_signed(),
        handler_name: listed.handler.to_string(),
    }
}

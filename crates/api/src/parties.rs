//! Listings of parties.

use std::sync::Arc;

use muster_domain::limits::page_limit;
use muster_domain::query::Query;
use muster_domain::{Error, ErrorKind, Result};
use muster_live::party::{ListQuery, Page, PartyAnswer, PartyAsk};
use muster_live::plane::{Answer, Ask, Reply, Up};
use muster_wire::api;

use crate::context::Context;
use crate::cursors::{read_parties, write_parties};
use crate::live::Live;
use crate::realtime::parties::{party_id, party_stream};

/// Number of parties in one listing when the request names none.
const PAGE_DEFAULT: i32 = 10;
/// The largest number of parties in one listing.
const PAGE_MAX: i32 = 100;

/// Lists parties that are not hidden, the best match first, among equals the oldest.
pub async fn list(context: &Context<'_>, request: api::ListPartiesRequest) -> Result<api::PartyList> {
    find(&context.app.live, &context.app.live_rules.node, request).await
}

/// Lists parties for any asker. `node` is the part of public ids behind the dot.
///
/// # Errors
/// `InvalidArgument` for a limit, a query or a cursor that does not fit.
pub async fn find(live: &Live, node: &str, request: api::ListPartiesRequest) -> Result<api::PartyList> {
    let limit = page_limit(request.limit, PAGE_DEFAULT, PAGE_MAX)? as usize;
    let source = request.query.unwrap_or_default();
    let query = Arc::new(Query::parse(&source)?);
    let open = request.open;
    let filter = [&*source, open.map_or("", |open| if open { "open" } else { "closed" })];
    let after = read_parties(&request.cursor.unwrap_or_default(), &filter)?;
    // One party more than the page holds shows whether there is another page.
    let asked = ListQuery { query, open, after, limit: limit + 1 };
    let list = |request| Up::Ask { request: Some(request), ask: Ask::Party(PartyAsk::List(asked.clone())) };
    let replies = live.ask_every_place(list).await;
    let mut pages = Vec::new();
    for reply in replies {
        match reply {
            Reply::Answer(Answer::Party(PartyAnswer::Listed(page))) => pages.push(page),
            Reply::Joined(Err(_)) => {
                let message = "Not every part of the server could answer the listing: try again.";
                return Err(Error::new(ErrorKind::Unavailable, message));
            }
            _ => {}
        }
    }
    let Page { parties, until } = Page::merge(pages, limit);
    let cursor = until.map(|place| write_parties(&place, &filter)).unwrap_or_default();
    let parties = parties.into_iter().map(|listed| api::Party {
        party_id: party_id(&party_stream(listed.place.party.0), node),
        open: listed.open,
        hidden: false,
        max_size: listed.max_size.into(),
        label: listed.label.as_json().to_owned(),
    });
    Ok(api::PartyList { parties: parties.collect(), cursor })
}

//! Matches, as other game code reaches them.

use std::future::Future;
use std::pin::Pin;

use muster_api::live::Live;
use muster_api::matches;
use muster_domain::ids::Uuid;
use muster_domain::{Error, ErrorKind, Result};
use muster_live::matches::{Chain, Creation};
use muster_wire::api::{ListMatchesRequest, Match};

use super::records::record;
use super::{Effect, HostFunction, Kind, Run, optional, text};
use crate::value::Value;

type MatchFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T>> + 'a>>;

/// Matches of all nodes.
pub trait Matches {
    /// Makes one. Answers its public id once its first callback has returned.
    fn create(&self, id: Uuid, creation: Creation) -> MatchFuture<'_, String>;
    /// One by its public id.
    fn get<'a>(&'a self, id: &'a str) -> MatchFuture<'a, Option<Match>>;
    /// Those that fit.
    fn list(&self, asked: ListMatchesRequest) -> MatchFuture<'_, Vec<Match>>;
    /// Says something to a match's handler, on behalf of these. Answers what it says.
    fn signal<'a>(&'a self, id: &'a str, data: &'a str, chain: Chain) -> MatchFuture<'a, String>;
}

impl Matches for Live {
    fn create(&self, id: Uuid, creation: Creation) -> MatchFuture<'_, String> {
        Box::pin(matches::create(self, id, creation))
    }

    fn get<'a>(&'a self, id: &'a str) -> MatchFuture<'a, Option<Match>> {
        Box::pin(matches::get(self, id))
    }

    fn list(&self, asked: ListMatchesRequest) -> MatchFuture<'_, Vec<Match>> {
        Box::pin(async move { Ok(matches::find(self, asked).await?.matches) })
    }

    fn signal<'a>(&'a self, id: &'a str, data: &'a str, chain: Chain) -> MatchFuture<'a, String> {
        Box::pin(matches::signal(self, id, data, chain))
    }
}

/// None, for code that runs before anybody can be in one.
#[derive(Clone, Copy, Debug)]
pub struct NoMatches;

impl NoMatches {
    fn refuse<'a, T: 'a>() -> MatchFuture<'a, T> {
        Box::pin(std::future::ready(Err(Error::new(
            ErrorKind::FailedPrecondition,
            "There are no matches while modules are loaded.",
        ))))
    }
}

impl Matches for NoMatches {
    fn create(&self, _: Uuid, _: Creation) -> MatchFuture<'_, String> {
        Self::refuse()
    }

    fn get<'a>(&'a self, _: &'a str) -> MatchFuture<'a, Option<Match>> {
        Self::refuse()
    }

    fn list(&self, _: ListMatchesRequest) -> MatchFuture<'_, Vec<Match>> {
        Self::refuse()
    }

    fn signal<'a>(&'a self, _: &'a str, _: &'a str, _: Chain) -> MatchFuture<'a, String> {
        Self::refuse()
    }
}

pub(super) static FUNCTIONS: &[HostFunction] = &[
    HostFunction {
        name: "match_create",
        parameters: &[text("module"), optional("params", Kind::Table)],
        result: "the match's id",
        doc: "Makes a match whose callbacks the module of this name has. It is there once match_init has returned.",
        effect: Effect::Writes,
        run: Run::Later(|host, mut arguments| {
            let chain = host.current.chain();
            Box::pin(async move {
                let handler = arguments.text()?;
                if handler.is_empty() {
                    return Err(Error::invalid("match_create expects the name of a module"));
                }
                let params = arguments.any().encode().into();
                let is_durable = host.handlers.is_durable(&handler);
                let (handler, created_at) = (handler.into(), host.clock.now());
                let creation = Creation { handler, params, created_at, chain, is_durable };
                Ok(Value::text(host.matches.create(host.entropy.uuid(), creation).await?))
            })
        }),
    },
    HostFunction {
        name: "match_get",
        parameters: &[text("id")],
        result: "the match, or nothing if there is none",
        doc: "A match by its id: its label, its number of players, and of one that game code runs its handler and tick rate.",
        effect: Effect::Reads,
        run: Run::Later(|host, mut arguments| {
            Box::pin(async move {
                let id = arguments.text()?;
                Ok(host.matches.get(&id).await?.map_or(Value::Nil, of_match))
            })
        }),
    },
    HostFunction {
        name: "match_list",
        parameters: &[
            optional("limit", Kind::Number),
            optional("authoritative", Kind::Flag),
            optional("label", Kind::Text),
            optional("min_size", Kind::Number),
            optional("max_size", Kind::Number),
            optional("query", Kind::Text),
        ],
        result: "matches, the best first and among equals the newest",
        doc: "Lists matches, one if no limit is given.",
        effect: Effect::Reads,
        run: Run::Later(|host, mut arguments| {
            Box::pin(async move {
                let limit = arguments.integer().or(Some(1));
                let authoritative = arguments.flag_or_none();
                let label = arguments.text_or_none()?.filter(|label| !label.is_empty());
                let (min_size, max_size) = (arguments.integer(), arguments.integer());
                let query = arguments.text_or_none()?;
                let asked = ListMatchesRequest { limit, authoritative, label, min_size, max_size, query };
                Ok(Value::List(host.matches.list(asked).await?.into_iter().map(of_match).collect()))
            })
        }),
    },
    HostFunction {
        name: "match_signal",
        parameters: &[text("id"), optional("data", Kind::Text)],
        result: "what match_signal of the handler answered",
        doc: "Says something to the handler of a match, and waits for its answer.",
        effect: Effect::Writes,
        run: Run::Later(|host, mut arguments| {
            let chain = host.current.chain();
            Box::pin(async move {
                let (id, data) = (arguments.text()?, arguments.text()?);
                Ok(Value::text(host.matches.signal(&id, &data, chain).await?))
            })
        }),
    },
];

fn of_match(found: Match) -> Value {
    record([
        ("match_id", Value::text(found.match_id)),
        ("authoritative", Value::Flag(found.authoritative)),
        ("label", found.label.map_or(Value::Nil, Value::text)),
        ("size", Value::Number(found.size.into())),
        ("tick_rate", Value::Number(found.tick_rate.into())),
        ("handler_name", Value::text(found.handler_name)),
    ])
}

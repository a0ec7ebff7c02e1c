//! The functions by which game code creates, finds and signals matches.

use std::future::Future;
use std::pin::Pin;

use muster_api::live::Live;
use muster_api::matches;
use muster_domain::ids::Uuid;
use muster_domain::{Error, ErrorKind, Result};
use muster_live::matches::{Chain, Creation};
use muster_wire::api::{ListMatchesRequest, Match};

use super::records::record;
use super::{
    AnswerShape, ArgumentRules, EffectClass, GoShape, HostFunction, JavaScriptShape, LuaShape, ROW, RecordType, Run,
    Type, field, maybe, number, only, optional, required,
};
use crate::value::Value;

type MatchFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T>> + 'a>>;

/// Matches of all nodes.
pub trait Matches {
    /// Creates a match. Answers the match's public id once its first callback has returned.
    fn create(&self, id: Uuid, creation: Creation) -> MatchFuture<'_, String>;
    /// Finds a match by its public id.
    fn get<'a>(&'a self, id: &'a str) -> MatchFuture<'a, Option<Match>>;
    /// Lists the matches that fit a request.
    fn list(&self, asked: ListMatchesRequest) -> MatchFuture<'_, Vec<Match>>;
    /// Sends a signal to a match's handler, and answers the reply. The callbacks of the matches in `chain` wait for
    /// that reply.
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
        Box::pin(async move { Ok(matches::find_for_game_code(self, asked).await?.matches) })
    }

    fn signal<'a>(&'a self, id: &'a str, data: &'a str, chain: Chain) -> MatchFuture<'a, String> {
        Box::pin(matches::signal(self, id, data, chain))
    }
}

/// A substitute for matches while modules are loaded, when no match can run yet: it refuses every call.
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

const MATCH: Type = Type::Record(&RecordType {
    name: "Match",
    fields: &[
        field("match_id", Type::Text),
        field("authoritative", Type::Flag),
        maybe("label", Type::Text),
        field("size", Type::Number),
        field("tick_rate", Type::Number),
        field("handler_name", Type::Text),
    ],
});

/// Matches in JavaScript do not tell who runs them, as in the original.
const NO_HANDLER: AnswerShape = AnswerShape { without: &["tick_rate", "handler_name"], ..AnswerShape::BY_RULE };

pub(super) static FUNCTIONS: &[HostFunction] = &[
    HostFunction {
        name: "match_create",
        doc: "Makes a match whose callbacks are in the module of this name. The match exists once its match_init has \
              returned.",
        parameters: &[required("module", Type::Text), optional("params", Type::Object)],
        results: &[only(Type::Text)],
        answers: "the match's id",
        errors: &[
            (ErrorKind::FailedPrecondition, "there is no such module, or its match_init failed"),
            (ErrorKind::ResourceExhausted, "too many matches wait for one another"),
            (ErrorKind::Unavailable, "the server stops or has lost its cluster"),
        ],
        effect: EffectClass::Writes,
        go: GoShape::by_hand("MatchCreate"),
        run: Run::Later(|host, mut arguments| {
            let chain = host.current.chain();
            Box::pin(async move {
                let handler = arguments.text()?;
                if handler.is_empty() {
                    return Err(Error::invalid("expects the name of a module"));
                }
                let params = arguments.any().encode().into();
                let is_durable = host.handlers.is_durable(&handler);
                let (handler, created_at) = (handler.into(), host.clock.now());
                let creation = Creation { handler, params, created_at, chain, is_durable };
                Ok(Value::text(host.matches.create(host.entropy.uuid(), creation).await?))
            })
        }),
        ..ROW
    },
    HostFunction {
        name: "match_get",
        doc: "Reads a match: its label and its number of players, and the handler and tick rate if game code runs the \
              match.",
        parameters: &[required("id", Type::Text)],
        results: &[maybe("", MATCH)],
        answers: "the match, or nothing if no match has this id",
        effect: EffectClass::Reads,
        javascript: JavaScriptShape::with_tables(NO_HANDLER),
        run: Run::Later(|host, mut arguments| {
            Box::pin(async move {
                let id = arguments.text()?;
                Ok(host.matches.get(&id).await?.map_or(Value::Nil, of_match))
            })
        }),
        ..ROW
    },
    HostFunction {
        name: "match_list",
        doc: "Lists matches. Without a limit the list has at most one match.",
        parameters: &[
            number("limit", 1.0),
            optional("authoritative", Type::Flag),
            optional("label", Type::Text),
            optional("min_size", Type::Number),
            optional("max_size", Type::Number),
            optional("query", Type::Text),
        ],
        results: &[only(Type::List(&MATCH))],
        answers: "the matches, the best first, and the newest first among equally good ones",
        effect: EffectClass::Reads,
        javascript: JavaScriptShape::with_tables(NO_HANDLER),
        run: Run::Later(|host, mut arguments| {
            Box::pin(async move {
                let limit = arguments.integer();
                let authoritative = arguments.flag_or_none();
                let label = arguments.text_or_none()?;
                let (min_size, max_size) = (arguments.integer(), arguments.integer());
                let query = arguments.text_or_none()?;
                let asked = ListMatchesRequest { limit, authoritative, label, min_size, max_size, query };
                Ok(Value::List(host.matches.list(asked).await?.into_iter().map(of_match).collect()))
            })
        }),
        ..ROW
    },
    HostFunction {
        name: "match_signal",
        doc: "Sends a signal to the handler of a match, and waits for the handler's answer.",
        parameters: &[required("id", Type::Text), optional("data", Type::Text)],
        results: &[only(Type::Text)],
        answers: "the answer of the handler's match_signal",
        errors: &[
            (ErrorKind::NotFound, "there is no such match"),
            (ErrorKind::ResourceExhausted, "the match does not answer in time, or too many signals wait for it"),
            (ErrorKind::FailedPrecondition, "the match waits for this call itself"),
        ],
        effect: EffectClass::Writes,
        lua: LuaShape::taking(ArgumentRules { no_numbers: &["data"], ..ArgumentRules::BY_RULE }),
        run: Run::Later(|host, mut arguments| {
            let chain = host.current.chain();
            Box::pin(async move {
                let (id, data) = (arguments.text()?, arguments.text()?);
                Ok(Value::text(host.matches.signal(&id, &data, chain).await?))
            })
        }),
        ..ROW
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

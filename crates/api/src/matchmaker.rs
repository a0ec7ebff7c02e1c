//! The matchmaker beside the protocol's messages: its load, and the functions under `muster.matchmaker.`, by which
//! tickets widen, servers bring tickets for their users, and anybody learns why a ticket waits.

use std::collections::BTreeMap;

use muster_domain::ids::{SessionId, parse_user_id};
use muster_domain::ports::accounts::UserQuery;
use muster_domain::{Error, ErrorKind, Result, UserId};
use muster_live::matchmaker::{Explanation, MemberKey, Obstacle, TicketId, TicketMember, TicketOwner, Widening};
use muster_live::plane::{PoolAsk, PoolReply};
use muster_live::stream::mode;
use muster_live::{Presence, SessionRef};
use muster_wire::api;
use serde::{Deserialize, Serialize};

use crate::asker::Asker;
use crate::context::{App, Context};
use crate::function_payload::{nothing, read, write};
use crate::realtime::matchmaker::{TicketDemands, ask_pool, member};
use crate::realtime::parties::party_id;
use crate::unanswered::stopping;
use crate::wire_time::time;

/// The largest number of users on one ticket of a server.
const USERS_MAX: usize = 100;

/// The number of tickets that wait, and the last tickets that were matched.
pub async fn stats(context: &Context<'_>, (): ()) -> Result<api::MatchmakerStats> {
    let PoolReply::Stats(stats) = ask_pool(context.app, PoolAsk::Stats).await? else {
        return Err(stopping());
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

/// Calls a function by the part of its id behind `muster.`.
pub(crate) async fn call(app: &App, asker: &Asker, name: &str, payload: &str) -> Result<String> {
    match name {
        "matchmaker.add" => add(app, asker, read(payload)?).await,
        "matchmaker.remove" => remove(app, asker, read(payload)?).await,
        "matchmaker.explain" => explain(app, asker, read(payload)?).await,
        _ => Err(Error::new(ErrorKind::NotFound, format!("There is no function \"muster.{name}\"."))),
    }
}

/// `muster.matchmaker.add`
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Add {
    min_count: i32,
    max_count: i32,
    count_multiple: Option<i32>,
    query: String,
    string_properties: BTreeMap<String, String>,
    numeric_properties: BTreeMap<String, f64>,
    widening: Vec<Widen>,
    /// The owner of the ticket; only servers give one.
    owner: Option<String>,
    /// The ids of the users who play; only servers give them.
    users: Vec<String>,
}

/// See [`Widening`].
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Widen {
    field: String,
    step: f64,
    limit: f64,
}

/// `muster.matchmaker.explain`
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Explain {
    ticket: String,
}

/// `muster.matchmaker.remove`
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Remove {
    ticket: String,
    #[serde(default)]
    owner: Option<String>,
}

#[derive(Serialize)]
struct Ticket<'a> {
    ticket: &'a str,
}

async fn add(app: &App, asker: &Asker, request: Add) -> Result<String> {
    let (owner, members) = match asker {
        Asker::Server => {
            let members = users(app, &request.users).await?;
            (server(request.owner)?, members)
        }
        Asker::Player(_) => {
            if request.owner.is_some() || !request.users.is_empty() {
                return Err(Error::invalid("owner and users are for servers: leave them out."));
            }
            let (key, id) = asker.session()?;
            let presence = app.live.look(|plane| plane.presence(key));
            let gone = || Error::new(ErrorKind::FailedPrecondition, "The session has closed.");
            (TicketOwner::Session(id), vec![member(presence.ok_or_else(gone)?)])
        }
    };
    let Add { min_count, max_count, count_multiple, query, string_properties, numeric_properties, .. } = request;
    let widening = request.widening.into_iter();
    let widening = widening.map(|Widen { field, step, limit }| Widening { field, step, limit }).collect();
    let demands =
        TicketDemands { min_count, max_count, count_multiple, query, string_properties, numeric_properties, widening };
    let ticket = demands.ticket(app, owner, members)?;
    let id = ticket.id.clone();
    ask_pool(app, PoolAsk::Add(Box::new(ticket))).await?;
    write(&Ticket { ticket: &id.0 })
}

fn server(owner: Option<String>) -> Result<TicketOwner> {
    let owner = owner.filter(|name| !name.is_empty());
    let owner =
        owner.ok_or_else(|| Error::invalid("owner is required: a name of yours, by which you take tickets back."))?;
    Ok(TicketOwner::Server(owner.into()))
}

/// Users as members of a server's ticket. They need not be connected yet.
async fn users(app: &App, ids: &[String]) -> Result<Vec<TicketMember<Presence>>> {
    if ids.is_empty() || ids.len() > USERS_MAX {
        return Err(Error::invalid("users must name 1 to 100 players."));
    }
    let ids = ids.iter().map(|id| parse_user_id(id)).collect::<Result<Vec<UserId>>>()?;
    let query = UserQuery { ids: ids.clone(), usernames: Vec::new(), facebook_ids: Vec::new() };
    let found = app.store.users(&query).await?;
    let member = |id: &UserId| {
        let user = found.iter().find(|user| user.id == Some(*id));
        let user = user.ok_or_else(|| Error::new(ErrorKind::NotFound, format!("There is no user {id}.")))?;
        let presence = Presence {
            session: SessionRef::NOBODY,
            session_id: SessionId(muster_domain::ids::Uuid::nil()),
            user_id: *id,
            username: user.username.as_str().into(),
            hidden: false,
            persistence: false,
            status: None,
            only_session_since: None,
        };
        Ok(TicketMember { key: MemberKey::Server(id.to_string().into()), presence })
    };
    ids.iter().map(member).collect()
}

async fn remove(app: &App, asker: &Asker, request: Remove) -> Result<String> {
    let owner = match asker {
        Asker::Server => server(request.owner)?,
        Asker::Player(_) if request.owner.is_some() => {
            return Err(Error::invalid("owner is for servers: leave it out."));
        }
        Asker::Player(_) => TicketOwner::Session(asker.session()?.1),
    };
    ask_pool(app, PoolAsk::Remove(TicketId(request.ticket.into()), owner)).await?;
    nothing()
}

async fn explain(app: &App, asker: &Asker, request: Explain) -> Result<String> {
    let id = TicketId(request.ticket.into());
    // A server may ask about every ticket, players about their own and their party's.
    let mut owners = vec![None];
    if !matches!(asker, Asker::Server) {
        let (key, session_id) = asker.session()?;
        let parties = app.live.look(|plane| plane.streams_of(key, mode::PARTY));
        let party = |stream| Some(TicketOwner::Party(party_id(stream, &app.live_rules.node).into()));
        owners = parties.iter().map(party).collect();
        owners.push(Some(TicketOwner::Session(session_id)));
    }
    let mut refused = Error::new(ErrorKind::NotFound, "There is no such ticket of yours: it may have been matched.");
    for owner in owners {
        match ask_pool(app, PoolAsk::Explain(id.clone(), owner)).await {
            Ok(PoolReply::Explained(explanation)) => return write(&Explained::from(&*explanation)),
            Ok(_) => {}
            Err(error) => refused = error,
        }
    }
    Err(refused)
}

/// The reason why a ticket waits.
#[derive(Serialize)]
struct Explained {
    ticket: String,
    is_searching: bool,
    players: u32,
    players_needed: u32,
    players_found: u32,
    examined: u32,
    closest: Vec<Closest>,
}

#[derive(Serialize)]
struct Closest {
    ticket: String,
    obstacles: Vec<ExplainedObstacle>,
}

#[derive(Serialize)]
struct ExplainedObstacle {
    /// `term`, `counts` or `overlap`.
    kind: &'static str,
    /// The ticket that has the query with the term.
    #[serde(skip_serializing_if = "Option::is_none")]
    of: Option<String>,
    /// The term as it was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    term: Option<String>,
    /// The obstacle as a sentence.
    text: String,
}

impl From<&Explanation> for Explained {
    fn from(explanation: &Explanation) -> Self {
        let closest = explanation.closest.iter().map(|near| Closest {
            ticket: near.ticket.0.to_string(),
            obstacles: near.obstacles.iter().map(ExplainedObstacle::from).collect(),
        });
        Self {
            ticket: explanation.ticket.0.to_string(),
            is_searching: explanation.is_searching,
            players: explanation.players,
            players_needed: explanation.players_needed,
            players_found: explanation.players_found,
            examined: explanation.examined,
            closest: closest.collect(),
        }
    }
}

impl From<&Obstacle> for ExplainedObstacle {
    fn from(obstacle: &Obstacle) -> Self {
        let text = obstacle.to_string();
        match obstacle {
            Obstacle::Term { of, term, .. } => {
                Self { kind: "term", of: Some(of.0.to_string()), term: Some(term.clone()), text }
            }
            Obstacle::Counts => Self { kind: "counts", of: None, term: None, text },
            Obstacle::Overlap => Self { kind: "overlap", of: None, term: None, text },
        }
    }
}

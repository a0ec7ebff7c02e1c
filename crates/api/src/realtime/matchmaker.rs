//! Tickets of players and parties, and messages to matched players.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use muster_domain::{Error, ErrorKind, Result};
use muster_live::matchmaker::{MemberKey, NewTicket, Ticket, TicketId, TicketMember, TicketOwner, Widening};
use muster_live::party;
use muster_live::plane::{self, AskedMatch, EndedTicket, Matched, PoolAsk, PoolReply, Reply};
use muster_live::stream::{Presence, mode};
use muster_wire::realtime::envelope::Message;
use muster_wire::realtime::matchmaker_matched::{Id, MatchmakerUser};
use muster_wire::realtime::{
    Envelope, MatchmakerAdd, MatchmakerMatched, MatchmakerRemove, MatchmakerTicket, PartyMatchmakerAdd,
    PartyMatchmakerRemove, PartyMatchmakerTicket, UserPresence,
};

use super::events::{self, Push};
use super::{Handled, MessageAnswer, SocketSession, matches, notifications, parties, refuse_domain};
use crate::context::App;
use crate::game::MatchedPlayer;
use crate::unanswered::stopping;

/// Number of times that the pool is asked to take a ticket back, while its owners die.
const ATTEMPTS_MAX: u32 = 3;

/// The demands of a ticket of a player, a party or a server.
#[derive(Default)]
pub(crate) struct TicketDemands {
    pub min_count: i32,
    pub max_count: i32,
    pub count_multiple: Option<i32>,
    pub query: String,
    pub string_properties: BTreeMap<String, String>,
    pub numeric_properties: BTreeMap<String, f64>,
    pub widening: Vec<Widening>,
}

/// A connected player as a member of a ticket.
pub(crate) fn member(presence: Presence) -> TicketMember<Presence> {
    TicketMember { key: MemberKey::Session(presence.session_id), presence }
}

impl TicketDemands {
    /// The ticket, with an id of its own.
    ///
    /// Errors: `InvalidArgument` for negative counts. The pool refuses everything else that is wrong.
    pub(crate) fn ticket(
        self,
        app: &App,
        owner: TicketOwner,
        members: Vec<TicketMember<Presence>>,
    ) -> Result<NewTicket<Presence>> {
        let count = |name: &str, count: i32| {
            u32::try_from(count).map_err(|_| Error::invalid(format!("{name} is {count}: it must not be negative.")))
        };
        Ok(NewTicket {
            id: TicketId(app.random_uuid().to_string().into()),
            owner,
            members,
            min_count: count("min_count", self.min_count)?,
            max_count: count("max_count", self.max_count)?,
            count_multiple: count("count_multiple", self.count_multiple.unwrap_or(1))?,
            query: self.query,
            string_properties: self.string_properties,
            numeric_properties: self.numeric_properties,
            widening: self.widening,
            created_at: app.clock.now(),
        })
    }
}

/// Asks the pool's owner.
///
/// Errors: the pool's refusal.
pub(crate) async fn ask_pool(app: &App, ask: PoolAsk) -> Result<PoolReply> {
    if matches!(ask, PoolAsk::Add(_)) {
        app.live.claim()?;
    }
    let reply = app.live.ask(|plane, now, request, out| plane.ask_pool(now, ask, Some(request), out)).await;
    match reply {
        Some(Reply::Answer(plane::Answer::Pool(reply))) => reply,
        _ => Err(stopping()),
    }
}

pub(super) fn add(session: &Rc<SocketSession>, cid: String, request: MatchmakerAdd) -> Handled {
    let MatchmakerAdd { min_count, max_count, query, string_properties, numeric_properties, count_multiple } = request;
    let widening = Vec::new();
    let demands =
        TicketDemands { min_count, max_count, count_multiple, query, string_properties, numeric_properties, widening };
    let session = session.clone();
    Handled::later(async move {
        let Some(presence) = session.app.live.look(|plane| plane.presence(session.key)) else {
            return refuse_domain(cid, &stopping());
        };
        let ticket =
            match demands.ticket(&session.app, TicketOwner::Session(session.session_id), vec![member(presence)]) {
                Ok(ticket) => ticket,
                Err(error) => return refuse_domain(cid, &error),
            };
        let id = ticket.id.clone();
        match ask_pool(&session.app, PoolAsk::Add(Box::new(ticket))).await {
            Ok(_) => {
                let ticket = id.0.to_string();
                MessageAnswer::Reply(Envelope::reply(cid, Message::MatchmakerTicket(MatchmakerTicket { ticket })))
            }
            Err(error) => refuse_domain(cid, &error),
        }
    })
}

pub(super) fn remove(session: &Rc<SocketSession>, cid: String, request: MatchmakerRemove) -> Handled {
    take_back(session, cid, request.ticket, TicketOwner::Session(session.session_id))
}

fn take_back(session: &Rc<SocketSession>, cid: String, ticket: String, owner: TicketOwner) -> Handled {
    let session = session.clone();
    Handled::later(async move {
        match ask_pool(&session.app, PoolAsk::Remove(TicketId(ticket.into()), owner)).await {
            Ok(_) => MessageAnswer::Reply(Envelope::acknowledgement(cid)),
            Err(error) => refuse_domain(cid, &error),
        }
    })
}

pub(super) fn add_party(session: &Rc<SocketSession>, cid: String, request: PartyMatchmakerAdd) -> Handled {
    let stream = match parties::parse(session, &request.party_id) {
        Ok(stream) => stream,
        Err(refused) => return parties::refusal(cid, refused).into(),
    };
    let PartyMatchmakerAdd { party_id, min_count, max_count, query, string_properties, numeric_properties, .. } =
        request;
    let count_multiple = request.count_multiple;
    let widening = Vec::new();
    let demands =
        TicketDemands { min_count, max_count, count_multiple, query, string_properties, numeric_properties, widening };
    let session = session.clone();
    Handled::later(async move {
        let by = session.session_ref();
        let asked = parties::ask(&session, &cid, stream.clone(), party::PartyRequest::Matchmake(by)).await;
        let (members, membership) = match asked {
            Ok(party::PartyReply::Matchmaking { members, membership }) => (members, membership),
            Ok(_) => return refuse_domain(cid, &stopping()),
            Err(refused) => return *refused,
        };
        let owner = TicketOwner::Party(party_id.as_str().into());
        let members = members.into_iter().map(|each| member(each.presence)).collect();
        let ticket = match demands.ticket(&session.app, owner.clone(), members) {
            Ok(ticket) => ticket,
            Err(error) => return refuse_domain(cid, &error),
        };
        let id = ticket.id.clone();
        if let Err(error) = ask_pool(&session.app, PoolAsk::Add(Box::new(ticket))).await {
            return refuse_domain(cid, &error);
        }
        let issued = party::PartyRequest::TicketIssued { by, ticket: id.0.clone(), membership };
        if let Err(refused) = parties::ask(&session, &cid, stream, issued).await {
            // A member came or went meanwhile: the ticket is for another party than this is now.
            take_back_for_good(&session.app, id, owner).await;
            return *refused;
        }
        let ticket = PartyMatchmakerTicket { party_id, ticket: id.0.to_string() };
        MessageAnswer::Reply(Envelope::reply(cid, Message::PartyMatchmakerTicket(ticket)))
    })
}

/// Takes back a ticket that nobody was told of.
async fn take_back_for_good(app: &App, id: TicketId, owner: TicketOwner) {
    for _ in 0..ATTEMPTS_MAX {
        let taken = ask_pool(app, PoolAsk::Remove(id.clone(), owner.clone())).await;
        // If the owner of the pool died, the next one may have the ticket.
        if !taken.is_err_and(|error| error.kind == ErrorKind::Unavailable) {
            return;
        }
    }
}

pub(super) fn remove_party(session: &Rc<SocketSession>, cid: String, request: PartyMatchmakerRemove) -> Handled {
    let stream = match parties::parse(session, &request.party_id) {
        Ok(stream) => stream,
        Err(refused) => return parties::refusal(cid, refused).into(),
    };
    let session = session.clone();
    Handled::later(async move {
        let by = session.session_ref();
        if let Err(refused) = parties::ask(&session, &cid, stream, party::PartyRequest::CheckLeader(by)).await {
            return *refused;
        }
        let remove = PoolAsk::Remove(TicketId(request.ticket.into()), TicketOwner::Party(request.party_id.into()));
        match ask_pool(&session.app, remove).await {
            Ok(_) => MessageAnswer::Reply(Envelope::acknowledgement(cid)),
            Err(error) => refuse_domain(cid, &error),
        }
    })
}

/// Asks game code where the players of a match go. The players are told when game code has answered.
pub async fn ask_of_match(app: &App, asked: AskedMatch) {
    let Some(players) = app.live.look(|plane| plane.asked_match(asked).map(players)) else { return };
    let match_id = match app.game.matched(players).await {
        Ok(id) => id.filter(|id| is_match(app, id)),
        Err(failure) => {
            let (code, told) = (failure.code.number(), &failure.message);
            tracing::error!(
                code,
                told,
                "game code failed for a match of the matchmaker: its players are told without it"
            );
            None
        }
    };
    answer_of_match(app, asked, match_id);
}

/// Answers where the players of a match go, so that the players are told. `match_id` is `None` if game code has not
/// said.
pub fn answer_of_match(app: &App, asked: AskedMatch, match_id: Option<String>) {
    app.live.step(|plane, now, out| plane.match_answered(now, asked, match_id.map(Arc::from), out));
}

/// Whether the answer of game code may be the id of a match of its own.
fn is_match(app: &App, id: &str) -> bool {
    let is_own = matches::parse(id)
        .is_some_and(|stream| stream.mode == mode::MATCH_AUTHORITATIVE && stream.label() == &*app.live_rules.node);
    if !is_own {
        let told = "game code answered with no id of a match for players of the matchmaker: they are told without it";
        tracing::error!(answer = id, "{told}");
    }
    is_own
}

fn players(matched: &Matched) -> Vec<MatchedPlayer> {
    let of = |ticket: &Ticket<Presence>, member: &TicketMember<Presence>| MatchedPlayer {
        presence: member.presence.clone(),
        party_id: ticket.party_id().cloned(),
        string_properties: ticket.string_properties.clone(),
        numeric_properties: ticket.numeric_properties.clone(),
    };
    matched.tickets.iter().flat_map(|ticket| ticket.members.iter().map(move |member| of(ticket, member))).collect()
}

/// Tells all players of a match the way in: the match of game code that was made for them, or else a relayed match that
/// does not exist until one of them joins.
pub fn tell_matched(app: &App, matched: &Matched) {
    let way = match &matched.match_id {
        Some(id) => Id::MatchId(id.to_string()),
        None => Id::Token(matches::token(app, app.own_uuid(matches::relayed))),
    };
    let mut users = Vec::new();
    for ticket in &matched.tickets {
        for member in &ticket.members {
            users.push(MatchmakerUser {
                presence: Some(UserPresence {
                    persistence: false,
                    status: None,
                    ..events::user_presence(&member.presence)
                }),
                party_id: ticket.party_id().map(|id| id.to_string()).unwrap_or_default(),
                string_properties: ticket.string_properties.clone(),
                numeric_properties: ticket.numeric_properties.clone(),
            });
        }
    }
    let members = matched.tickets.iter().flat_map(|ticket| ticket.members.iter().map(move |member| (ticket, member)));
    for ((ticket, member), user) in members.zip(users.clone()) {
        let message = Message::MatchmakerMatched(MatchmakerMatched {
            ticket: ticket.id.0.to_string(),
            users: users.clone(),
            self_: Some(user),
            id: Some(way.clone()),
        });
        let payload = Arc::new(Push::new(message));
        match member.key {
            MemberKey::Session(_) => {
                app.live.push_of_tickets(member.presence.session, payload, matched.ended_for(&member.key));
            }
            // A server brought the ticket for this user: all sockets of the user are told.
            MemberKey::Server(_) => app.live.push_to_user(member.presence.user_id, payload),
        }
    }
}

/// Tells a player that their ticket has ended: the owner that kept it has died, and the ticket does not go on.
pub fn tell_ended(app: &App, (session, ticket): EndedTicket) {
    let payload = notifications::ticket_lost(app, &ticket);
    app.live.push_of_tickets(session, payload, vec![ticket]);
}

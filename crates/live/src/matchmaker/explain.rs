//! Explanations of why a ticket waits: the tickets that come closest to a match with it, and the obstacles between
//! them. An explanation changes nothing in the pool.

use std::fmt;

use muster_domain::query::{Candidates, Clause, Document, Query, Value, Work};

use super::Matchmaker;
use super::checks::is_mutual;
use super::ticket::{Ticket, TicketId};

/// Limit on the tickets that an explanation examines, the longest waiting first.
const EXAMINED_MAX: usize = 1_000;
/// Most work of one explanation, about a millisecond. An explanation that has done as much examines no further tickets.
pub const EXPLANATION_UNITS_MAX: u32 = 20_000;
/// Work of naming an obstacle, apart from the values that the other ticket has.
const OBSTACLE_UNITS: u32 = 4;
/// Bytes of texts that are named in one unit of work.
const BYTES_NAMED_PER_UNIT: usize = 256;
/// Limit on the tickets that an explanation names.
pub const EXPLAINED_MAX: usize = 5;

/// The reasons why a ticket waits.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// The ticket that waits.
    pub ticket: TicketId,
    /// Whether the ticket still searches; if not, it waits to be found by newer tickets.
    pub is_searching: bool,
    /// Number of players on the ticket.
    pub players: u32,
    /// Number of players that a match needs for the ticket now: its `max_count` while it has patience, then its
    /// `min_count`.
    pub players_needed: u32,
    /// Number of players on the examined tickets without an obstacle. With each of these tickets alone, the ticket
    /// could be matched.
    pub players_found: u32,
    /// Number of tickets that were examined, the longest waiting first; at most a thousand, fewer if their queries take
    /// much work.
    pub examined: u32,
    /// The tickets that come closest to a match. Tickets with the fewest obstacles other than terms come first; among
    /// these, tickets with the fewest obstacles of all kinds.
    pub closest: Vec<NearTicket>,
}

/// A ticket with which the explained ticket cannot be matched.
#[derive(Clone, Debug, PartialEq)]
pub struct NearTicket {
    /// The other ticket.
    pub ticket: TicketId,
    /// All obstacles between the two tickets. Without these obstacles the two could be matched.
    pub obstacles: Vec<Obstacle>,
}

/// A reason that keeps two tickets apart.
#[derive(Clone, Debug, PartialEq)]
pub enum Obstacle {
    /// A term of a query must hold and does not, or must not hold and does.
    Term {
        /// The ticket with that query.
        of: TicketId,
        /// The term's position in the query, from 0.
        place: usize,
        /// The term as it was written.
        term: String,
        /// The values of the other ticket in that field; empty if it lacks the field.
        found: Vec<Value>,
    },
    /// No number of players satisfies both tickets now.
    Counts,
    /// The tickets have a player or the party in common.
    Overlap,
}

impl fmt::Display for Obstacle {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Counts => write!(formatter, "no number of players satisfies both tickets now"),
            Self::Overlap => write!(formatter, "the tickets have a player or the party in common"),
            Self::Term { of, term, found, .. } => {
                write!(formatter, "ticket {} asks for {term}, and the other has ", of.0)?;
                if found.is_empty() {
                    return write!(formatter, "nothing there");
                }
                for (place, value) in found.iter().enumerate() {
                    let separator = if place == 0 { "" } else { ", " };
                    match value {
                        Value::Text(text) => write!(formatter, "{separator}\"{text}\"")?,
                        Value::Number(number) => write!(formatter, "{separator}{number}")?,
                    }
                }
                Ok(())
            }
        }
    }
}

impl<M> Matchmaker<M> {
    /// Explains why a ticket waits; `None` if it does not wait.
    pub fn explain(&mut self, id: &TicketId) -> Option<Explanation> {
        let mut work = Work::new(EXPLANATION_UNITS_MAX);
        let explanation = self.explain_within(id, &mut work);
        let is_cut = explanation.as_ref().is_some_and(|explanation| {
            (explanation.examined as usize) < EXAMINED_MAX.min(self.tickets.len().saturating_sub(1))
        });
        self.totals.explanations_cut += u64::from(is_cut);
        self.totals.work.count(&work);
        explanation
    }

    fn explain_within(&self, id: &TicketId, work: &mut Work) -> Option<Explanation> {
        let slot = *self.by_id.get(id)?;
        let ticket = self.tickets.get(&slot)?;
        let others = self.documents.scan(Candidates::all(), 0).filter(|other| *other != slot);
        let (mut players_found, mut examined, mut near) = (0_u32, 0, Vec::new());
        for other in others.take(EXAMINED_MAX).filter_map(|slot| self.tickets.get(&slot)) {
            if work.is_spent() {
                break;
            }
            examined += 1;
            let obstacles = self.obstacles(ticket, other, work);
            if obstacles.is_empty() {
                players_found = players_found.saturating_add(other.size());
            } else {
                near.push(NearTicket { ticket: other.id.clone(), obstacles });
            }
        }
        // The sort is stable, so tickets with equal keys stay in the order of waiting.
        near.sort_by_key(|near| {
            let besides_terms =
                near.obstacles.iter().filter(|obstacle| !matches!(obstacle, Obstacle::Term { .. })).count();
            (besides_terms, near.obstacles.len())
        });
        near.truncate(EXPLAINED_MAX);
        Some(Explanation {
            ticket: id.clone(),
            is_searching: self.active.contains(&slot),
            players: ticket.size(),
            players_needed: if self.is_patient(ticket) { ticket.max_count } else { ticket.min_count },
            players_found,
            examined,
            closest: near,
        })
    }

    fn obstacles(&self, ticket: &Ticket<M>, other: &Ticket<M>, work: &mut Work) -> Vec<Obstacle> {
        let mut obstacles = Vec::new();
        if !(self.counts_agree(ticket, other) || self.counts_agree(other, ticket)) {
            obstacles.push(Obstacle::Counts);
        }
        if ticket.overlaps(other) {
            obstacles.push(Obstacle::Overlap);
        }
        push_terms(ticket, &other.document, &mut obstacles, work);
        push_terms(other, &ticket.document, &mut obstacles, work);
        debug_assert!(!obstacles.is_empty() || is_mutual(ticket, other, &mut Work::endless()));
        obstacles
    }
}

/// Adds the terms of a ticket's query that keep it from accepting another ticket.
fn push_terms<M>(ticket: &Ticket<M>, other: &Document, obstacles: &mut Vec<Obstacle>, work: &mut Work) {
    let query: &Query = &ticket.query;
    for place in query.obstacles(other, work) {
        let clause: &Clause = &query.clauses()[place];
        let found = clause.field.as_deref().map(|field| other.values(field).cloned().collect());
        work.spend(OBSTACLE_UNITS + (query.clause_source(clause).len() / BYTES_NAMED_PER_UNIT) as u32);
        obstacles.push(Obstacle::Term {
            of: ticket.id.clone(),
            place,
            term: query.clause_source(clause).to_owned(),
            found: found.unwrap_or_default(),
        });
    }
}

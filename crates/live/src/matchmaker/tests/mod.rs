//! Tests of the matchmaker's promises: its rules one by one, and all rules together against brute force over random
//! pools.

mod carry;
mod costly;
mod explanations;
mod properties;
mod rules;
mod slices;

use std::sync::Arc;

use muster_domain::Timestamp;
use muster_domain::ids::Uuid;

use super::*;
pub(super) use crate::nasty::Random;

/// Moment at which the tickets of tests are made, in seconds since 1970.
const START: i64 = 1_000;

fn id(name: &str) -> TicketId {
    TicketId(Arc::from(name))
}

fn session(number: u128) -> SessionId {
    SessionId(Uuid::from_u128(number))
}

fn member(number: u128) -> TicketMember<u128> {
    TicketMember { key: MemberKey::Session(session(number)), presence: number }
}

/// A ticket of one player, whose number is the ticket's id.
pub(super) fn solo(number: u128, counts: (u32, u32), query: &str) -> NewTicket<u128> {
    NewTicket {
        id: id(&number.to_string()),
        owner: TicketOwner::Session(session(number)),
        members: vec![member(number)],
        min_count: counts.0,
        max_count: counts.1,
        count_multiple: 1,
        query: query.to_owned(),
        string_properties: Default::default(),
        numeric_properties: Default::default(),
        widening: Vec::new(),
        created_at: Timestamp::from_seconds(START),
    }
}

fn party(name: &str, members: &[u128], counts: (u32, u32), query: &str) -> NewTicket<u128> {
    NewTicket {
        id: id(name),
        owner: TicketOwner::Party(Arc::from(name)),
        members: members.iter().map(|number| member(*number)).collect(),
        ..solo(0, counts, query)
    }
}

impl NewTicket<u128> {
    pub fn text(mut self, name: &str, value: &str) -> Self {
        self.string_properties.insert(name.into(), value.into());
        self
    }

    pub fn number(mut self, name: &str, value: f64) -> Self {
        self.numeric_properties.insert(name.into(), value);
        self
    }

    fn multiple(self, count_multiple: u32) -> Self {
        Self { count_multiple, ..self }
    }

    fn named(self, name: &str) -> Self {
        Self { id: id(name), ..self }
    }
}

/// A matchmaker whose passes are a second apart.
struct Pool {
    matchmaker: Matchmaker<u128>,
    now: Millis,
}

impl Pool {
    fn new(max_intervals: u32) -> Self {
        let config = MatchmakerConfig { interval_ms: 1_000, max_intervals, ..MatchmakerConfig::default() };
        Self { matchmaker: Matchmaker::new(config), now: 0 }
    }

    fn with(tickets: impl IntoIterator<Item = NewTicket<u128>>) -> Self {
        let mut pool = Self::new(2);
        tickets.into_iter().for_each(|ticket| pool.add(ticket));
        pool
    }

    fn add(&mut self, ticket: NewTicket<u128>) {
        self.matchmaker.add(ticket, self.now).expect("the ticket is in order");
    }

    /// Runs a whole pass and returns the ids of the tickets of each match.
    fn pass(&mut self) -> Vec<String> {
        let mut matches = Vec::new();
        self.now += 1_000;
        self.matchmaker.begin_pass(self.now);
        while self.matchmaker.run_slice(SLICE_UNITS, &mut matches) == Slice::More {}
        matches.iter().map(|found| ids(&found.tickets)).collect()
    }
}

fn ids<M>(tickets: &[Box<Ticket<M>>]) -> String {
    tickets.iter().map(|ticket| &*ticket.id.0).collect::<Vec<_>>().join(" ")
}

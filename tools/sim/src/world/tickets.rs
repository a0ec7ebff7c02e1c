//! Tickets in a world: a ticket waits only while its sessions are open and its party is unchanged, no ticket is matched
//! twice, and none is lost.

use std::collections::{BTreeMap, BTreeSet};

use muster_domain::Timestamp;
use muster_live::matchmaker::{MemberKey, NewTicket, TicketId, TicketMember, TicketOwner};
use muster_live::party;
use muster_live::plane::{Answer, Matched, PoolAsk, Reply};

use super::act::session_id;
use super::parties::OpenPartyRequest;
use super::{OpenRequest, World};
use crate::frames::{StreamId, who as who_is};
use crate::scenario::{PARTIES_FROM, Who};
use crate::violation::{Check, Checked, Violation, ensure};

/// A request about a ticket that waits for its answer, by the ticket's number.
#[derive(Clone, Copy, Debug)]
pub(super) enum OpenTicketRequest {
    Add(usize),
    Remove(usize),
    /// To explain the ticket, which shows whether it waits.
    Explain(usize),
}

/// The party that owns a ticket.
#[derive(Clone, Debug)]
struct PartyTicket {
    party: StreamId,
    membership: u64,
    /// The number of the party's changes when its leader asked for the ticket.
    changes: u32,
    /// Whether the party accepted the ticket; `None` until it has answered.
    is_issued: Option<bool>,
}

/// A ticket of a player or a party.
#[derive(Debug)]
pub(super) struct Ticket {
    /// The session that asked for the ticket.
    who: Who,
    members: BTreeSet<Who>,
    of_party: Option<PartyTicket>,
    /// Whether the matchmaker accepted the ticket; `None` until it has answered.
    is_taken: Option<bool>,
    is_matched: bool,
    /// Whether the ticket was on its way to the matchmaker when one of its players was matched.
    may_be_gone: bool,
    /// Whether the ticket was removed, or was found at rest not to wait any more.
    is_removed: bool,
}

/// The next step of the rim for a party's ticket. It is taken if the leader's session is still open.
#[derive(Clone, Debug)]
pub(super) enum FollowUp {
    Add { who: Who, party: StreamId, players: u32, changes: u32, members: Vec<party::Member>, membership: u64 },
    Issue(usize),
    Withdraw(usize),
}

impl World {
    pub(super) fn add_ticket(&mut self, who: Who, players: u32) -> Checked {
        let at = self.clients[&who].at;
        let Some(presence) = self.planes[usize::from(at.place.shard())].presence(at.key) else { return Ok(()) };
        let member = TicketMember { key: MemberKey::Session(session_id(who)), presence };
        self.add(who, None, players, vec![member])
    }

    fn add(
        &mut self,
        who: Who,
        of_party: Option<PartyTicket>,
        players: u32,
        members: Vec<TicketMember<muster_live::Presence>>,
    ) -> Checked {
        let number = self.tickets.len();
        let numbers = members.iter().map(|member| who_is(&member.presence)).collect();
        self.tickets.push(Ticket {
            who,
            members: numbers,
            of_party,
            is_taken: None,
            is_matched: false,
            may_be_gone: false,
            is_removed: false,
        });
        let ticket = NewTicket {
            id: ticket_id(number),
            owner: self.owner(number),
            members,
            min_count: players,
            max_count: players,
            count_multiple: 1,
            query: "*".to_owned(),
            string_properties: BTreeMap::new(),
            numeric_properties: BTreeMap::new(),
            widening: Vec::new(),
            created_at: Timestamp::from_seconds(1),
        };
        self.ask_pool(who, OpenTicketRequest::Add(number), PoolAsk::Add(Box::new(ticket)))
    }

    fn owner(&self, number: usize) -> TicketOwner {
        let ticket = &self.tickets[number];
        match &ticket.of_party {
            None => TicketOwner::Session(session_id(ticket.who)),
            Some(of) => {
                let subject = self.scenario.parties[usize::from(of.party - PARTIES_FROM)].subject;
                TicketOwner::Party(format!("{subject}.{}", self.scenario.config.node).into())
            }
        }
    }

    /// Removes the latest ticket of a session.
    pub(super) fn remove_ticket(&mut self, who: Who) -> Checked {
        let Some(number) = self.tickets.iter().rposition(|ticket| ticket.who == who) else { return Ok(()) };
        self.withdraw(number)
    }

    fn withdraw(&mut self, number: usize) -> Checked {
        let (who, ask) = (self.tickets[number].who, PoolAsk::Remove(ticket_id(number), self.owner(number)));
        self.ask_pool(who, OpenTicketRequest::Remove(number), ask)
    }

    fn ask_pool(&mut self, who: Who, asked: OpenTicketRequest, ask: PoolAsk) -> Checked {
        let shard = self.clients[&who].at.place.shard();
        let request = self.ask(shard, OpenRequest::Ticket(asked));
        self.step(shard, |plane, now, out| plane.ask_pool(now, ask, Some(request), out))
    }

    /// The session that takes a step for a party's ticket.
    pub(super) fn who_follows(&self, next: &FollowUp) -> Who {
        match next {
            FollowUp::Add { who, .. } => *who,
            FollowUp::Issue(number) | FollowUp::Withdraw(number) => self.tickets[*number].who,
        }
    }

    pub(super) fn follow_up(&mut self, next: FollowUp) -> Checked {
        match next {
            FollowUp::Add { who, party, players, changes, members, membership } => {
                let of = PartyTicket { party, membership, changes, is_issued: None };
                let member = |member: party::Member| TicketMember {
                    key: MemberKey::Session(member.presence.session_id),
                    presence: member.presence,
                };
                self.add(who, Some(of), players, members.into_iter().map(member).collect())
            }
            FollowUp::Issue(number) => {
                let Ticket { who, of_party: Some(of), .. } = &self.tickets[number] else { return Ok(()) };
                let (by, party) = (self.clients[who].at, of.party);
                let request =
                    party::PartyRequest::TicketIssued { by, ticket: ticket_id(number).0, membership: of.membership };
                self.ask_party(by.place.shard(), party, OpenPartyRequest::Issue { number }, request)
            }
            FollowUp::Withdraw(number) => self.withdraw(number),
        }
    }

    /// Notes whether a party accepted its ticket.
    pub(super) fn issued(&mut self, number: usize, is_known: bool) {
        if let Some(of) = &mut self.tickets[number].of_party {
            of.is_issued = Some(is_known);
        }
        if !is_known {
            self.follow_ups.push(FollowUp::Withdraw(number));
        }
    }

    pub(super) fn ticket_answered(&mut self, asked: OpenTicketRequest, reply: &Reply) -> Checked {
        let Reply::Answer(Answer::Pool(reply)) = reply else {
            return Err(Violation { check: Check::Answers, detail: format!("{reply:?} answers {asked:?}") });
        };
        match asked {
            OpenTicketRequest::Add(number) => {
                let ticket = &mut self.tickets[number];
                ticket.is_taken = Some(reply.is_ok());
                if reply.is_ok() && ticket.of_party.is_some() && self.clients[&ticket.who].is_open {
                    self.follow_ups.push(FollowUp::Issue(number));
                }
            }
            OpenTicketRequest::Remove(number) => self.tickets[number].is_removed |= reply.is_ok(),
            OpenTicketRequest::Explain(number) => {
                self.answers.waiting.extend(reply.is_ok().then_some(number));
            }
        }
        Ok(())
    }

    /// Checks a match and notes the tickets that it ends.
    pub(super) fn matched(&mut self, found: &Matched) -> Checked {
        self.trace.step(|| format!("  matched {:?}", found.tickets), &[found.tickets.len() as u64]);
        let mut players = BTreeSet::new();
        let mut parties = BTreeSet::new();
        for matched in &found.tickets {
            let ticket = matched.id.0.parse().ok().and_then(|number: usize| self.tickets.get_mut(number));
            let Some(ticket) = ticket else {
                return Err(Violation { check: Check::Stray, detail: format!("nobody made ticket {:?}", matched.id) });
            };
            ensure(Check::Twice, !ticket.is_matched, || format!("ticket {:?} is matched again", matched.id))?;
            ensure(Check::Stray, !ticket.is_removed, || format!("ticket {:?} was taken back", matched.id))?;
            ticket.is_matched = true;
            let members: BTreeSet<Who> = matched.members.iter().map(|member| who_is(&member.presence)).collect();
            ensure(Check::Tickets, members == ticket.members && players.is_disjoint(&members), || {
                format!("{members:?} are matched with {players:?} by ticket {:?} of {:?}", matched.id, ticket.members)
            })?;
            players.extend(members);
            parties.extend(ticket.of_party.as_ref().map(|of| of.party));
        }
        // Matched players search no more, so all their other tickets end.
        let searches = |ticket: &&mut Ticket| {
            !ticket.members.is_disjoint(&players)
                || ticket.of_party.as_ref().is_some_and(|of| parties.contains(&of.party))
        };
        for ticket in self.tickets.iter_mut().filter(searches) {
            ticket.is_matched |= ticket.is_taken == Some(true);
            // The ticket may have been added before the match or after it.
            ticket.may_be_gone |= ticket.is_taken.is_none();
        }
        Ok(())
    }

    /// At rest, checks that the waiting tickets are those that were accepted and neither matched nor removed, whose
    /// sessions are open and whose party has not changed.
    pub(super) fn check_tickets(&mut self) -> Checked {
        self.answers.waiting.clear();
        for number in 0..self.tickets.len() {
            if self.tickets[number].is_taken == Some(true) {
                let ask = PoolAsk::Explain(ticket_id(number), None);
                self.ask_pool(self.tickets[number].who, OpenTicketRequest::Explain(number), ask)?;
            }
        }
        while self.happen()? {}
        let waiting = std::mem::take(&mut self.answers.waiting);
        for (number, ticket) in self.tickets.iter().enumerate() {
            let (may, must) = self.may_wait(ticket);
            let waits = waiting.contains(&number);
            ensure(Check::Tickets, if waits { may } else { !must }, || {
                format!("ticket {number} waits: {waits}, may it: {may}, must it: {must}; {ticket:?}")
            })?;
        }
        let all: usize = self.planes.iter().map(|plane| plane.stats().tickets).sum();
        ensure(Check::Tickets, all == waiting.len(), || format!("{all} tickets wait, and of those known {waiting:?}"))?;
        // Tickets that wait no more need not be asked for by later checks.
        for (number, ticket) in self.tickets.iter_mut().enumerate() {
            ticket.is_removed |= !waiting.contains(&number);
        }
        Ok(())
    }

    fn may_wait(&self, ticket: &Ticket) -> (bool, bool) {
        let may = ticket.is_taken == Some(true)
            && !ticket.is_matched
            && !ticket.is_removed
            && ticket.members.iter().all(|who| self.clients[who].is_open);
        let must = may && !ticket.may_be_gone;
        match &ticket.of_party {
            Some(of) => {
                let same = self.party_members(of.party) == ticket.members;
                let is_unchanged = self.party_changes.get(&of.party).copied().unwrap_or_default() == of.changes;
                (may && same, must && is_unchanged && of.is_issued == Some(true))
            }
            None => (may, must),
        }
    }
}

fn ticket_id(number: usize) -> TicketId {
    TicketId(number.to_string().into())
}

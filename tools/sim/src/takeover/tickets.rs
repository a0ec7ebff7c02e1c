//! Tickets in a cluster: every player with a ticket is matched, hears that the ticket is lost, or waits at the owner of
//! the pool.
//!
//! If one player of a party's ticket is told that the ticket ended, all are.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use muster_domain::{ErrorKind, Timestamp};
use muster_live::matchmaker::{MemberKey, NewTicket, TicketId, TicketMember, TicketOwner};
use muster_live::party::{self, PartyAnswer};
use muster_live::plane::{Answer, EndedTicket, Matched, PoolAsk, Reply};
use muster_live::{Place, PlaneConfig, Presence, SessionRef};

use super::act::session_id;
use super::world::{OpenRequest, World};
use crate::frames::{Say, StreamId, who as who_is};
use crate::scenario::{PARTIES_FROM, Who, pick};
use crate::violation::{Check, Checked, Violation, ensure};

/// A request about a ticket that waits for its answer.
#[derive(Clone, Debug)]
pub(super) enum OpenTicketRequest {
    /// To list the members of a party for a ticket.
    Gather {
        who: Who,
        party: StreamId,
        changes: u32,
    },
    Add(usize),
    Issue(usize),
    Remove(usize),
    /// To remove the ticket, repeated until it succeeds.
    Withdraw(usize),
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

#[derive(Debug)]
struct Ticket {
    who: Who,
    members: BTreeSet<Who>,
    of_party: Option<PartyTicket>,
    /// Whether the matchmaker accepted the ticket; `None` until it has answered.
    is_taken: Option<bool>,
    is_removed: bool,
    /// Whether the outcome of a removal is uncertain.
    may_be_removed: bool,
    /// Players who heard that the ticket was matched or lost.
    told: BTreeSet<Who>,
    /// Players who left the ticket because another ticket of theirs was matched.
    off: BTreeSet<Who>,
}

/// A message to a player that tickets ended.
#[derive(Debug)]
struct TicketNews {
    ticket: usize,
    is_match: bool,
    /// All tickets that end with the message.
    ended: Vec<usize>,
}

/// The next step of the rim for a party's ticket. It is taken if the session is still open.
#[derive(Debug)]
pub(super) enum TicketStep {
    Add { who: Who, party: GatheredParty },
    Issue(usize),
    Withdraw(usize),
}

/// The members of a party for a ticket.
#[derive(Debug)]
pub(super) struct GatheredParty {
    members: Vec<party::Member>,
    party: StreamId,
    membership: u64,
    changes: u32,
}

/// The tickets of a run, and the steps that are left to do for them.
#[derive(Default)]
pub(super) struct Tickets {
    all: Vec<Ticket>,
    words: Vec<TicketNews>,
    pub steps: Vec<TicketStep>,
    /// The number of events so far that may have changed a party's members, by party.
    changes: BTreeMap<StreamId, u32>,
}

impl Tickets {
    /// The session that takes a step.
    fn who_steps(&self, step: &TicketStep) -> Who {
        match step {
            TicketStep::Add { who, .. } => *who,
            TicketStep::Issue(number) | TicketStep::Withdraw(number) => self.all[*number].who,
        }
    }

    pub(super) fn steps_of(&self, who: Who) -> bool {
        self.steps.iter().any(|step| self.who_steps(step) == who)
    }

    /// Notes that the members of parties may change.
    pub(super) fn note_change(&mut self, parties: impl Iterator<Item = StreamId>) {
        parties.for_each(|party| *self.changes.entry(party).or_default() += 1);
    }

    pub(super) fn asker(&self, asked: &OpenTicketRequest) -> Who {
        match asked {
            OpenTicketRequest::Gather { who, .. } => *who,
            OpenTicketRequest::Add(number)
            | OpenTicketRequest::Issue(number)
            | OpenTicketRequest::Remove(number)
            | OpenTicketRequest::Withdraw(number) => self.all[*number].who,
        }
    }
}

fn ticket_id(number: usize) -> TicketId {
    TicketId(number.to_string().into())
}

fn member(presence: Presence) -> TicketMember<Presence> {
    TicketMember { key: MemberKey::Session(presence.session_id), presence }
}

impl World {
    pub(super) fn act_with_tickets(&mut self, who: Who) -> Checked {
        if self.tickets.steps_of(who) {
            return Ok(());
        }
        let at = self.clients[&who].at;
        match self.rng.u8(0..10) {
            0..=4 => {
                let Some(presence) = self.cluster.planes[&at.place].presence(at.key) else { return Ok(()) };
                self.add_ticket(who, None, vec![member(presence)])
            }
            5..=6 => {
                let own =
                    |ticket: &Ticket| ticket.who == who && ticket.of_party.is_none() && ticket.is_taken == Some(true);
                let Some(number) = self.tickets.all.iter().rposition(own) else { return Ok(()) };
                self.remove_ticket(number, OpenTicketRequest::Remove(number))
            }
            _ => {
                let number = self.rng.usize(0..self.parties.len());
                let (party, stream) = (PARTIES_FROM + number as StreamId, self.parties[number].clone());
                let changes = self.tickets.changes.get(&party).copied().unwrap_or_default();
                self.trace.line(|| format!("session {who} gathers party {party} for a ticket"));
                let asked = OpenRequest::Ticket(OpenTicketRequest::Gather { who, party, changes });
                let request = self.ask(at.place, asked);
                self.step(at.place, |plane, now, out| {
                    plane.ask_party(now, stream, party::PartyRequest::Matchmake(at), request, out);
                })
            }
        }
    }

    fn add_ticket(&mut self, who: Who, of_party: Option<PartyTicket>, members: Vec<TicketMember<Presence>>) -> Checked {
        let number = self.tickets.all.len();
        let players = members.len() as u32 + pick(&mut self.rng, &[1, 1, 2]);
        let ticket = Ticket {
            who,
            members: members.iter().map(|member| who_is(&member.presence)).collect(),
            of_party,
            is_taken: None,
            is_removed: false,
            may_be_removed: false,
            told: BTreeSet::new(),
            off: BTreeSet::new(),
        };
        self.trace.line(|| format!("session {who} adds ticket {number} of {:?}", ticket.members));
        self.tickets.all.push(ticket);
        let ticket = NewTicket {
            id: ticket_id(number),
            owner: self.owner_of(number),
            members,
            min_count: players.max(2),
            max_count: players.max(2),
            count_multiple: 1,
            query: "*".to_owned(),
            string_properties: BTreeMap::new(),
            numeric_properties: BTreeMap::new(),
            widening: Vec::new(),
            created_at: Timestamp::from_seconds(1),
        };
        self.ask_pool(OpenTicketRequest::Add(number), PoolAsk::Add(Box::new(ticket)))
    }

    fn owner_of(&self, number: usize) -> TicketOwner {
        let ticket = &self.tickets.all[number];
        match &ticket.of_party {
            None => TicketOwner::Session(session_id(ticket.who)),
            Some(of) => {
                let subject = self.parties[usize::from(of.party - PARTIES_FROM)].subject;
                TicketOwner::Party(format!("{subject}.{}", PlaneConfig::default().node).into())
            }
        }
    }

    fn remove_ticket(&mut self, number: usize, asked: OpenTicketRequest) -> Checked {
        self.trace.line(|| format!("ticket {number} is taken back"));
        let ask = PoolAsk::Remove(ticket_id(number), self.owner_of(number));
        self.ask_pool(asked, ask)
    }

    fn ask_pool(&mut self, asked: OpenTicketRequest, ask: PoolAsk) -> Checked {
        let at = self.clients[&self.tickets.asker(&asked)].at;
        let request = self.ask(at.place, OpenRequest::Ticket(asked));
        self.step(at.place, |plane, now, out| plane.ask_pool(now, ask, request, out))
    }

    /// Takes one step for a party's ticket.
    pub(super) fn step_with_ticket(&mut self, number: usize) -> Checked {
        let step = self.tickets.steps.swap_remove(number);
        let who = self.tickets.who_steps(&step);
        if !self.clients[&who].is_open {
            return Ok(());
        }
        match step {
            TicketStep::Add { who, party: GatheredParty { members, party, membership, changes } } => {
                let of_party = PartyTicket { party, membership, changes, is_issued: None };
                let members = members.into_iter().map(|each| member(each.presence)).collect();
                self.add_ticket(who, Some(of_party), members)
            }
            TicketStep::Issue(number) => {
                let Some(of) = self.tickets.all[number].of_party.clone() else { return Ok(()) };
                let (at, stream) = (self.clients[&who].at, self.parties[usize::from(of.party - PARTIES_FROM)].clone());
                let issued = party::PartyRequest::TicketIssued {
                    by: at,
                    ticket: ticket_id(number).0,
                    membership: of.membership,
                };
                let request = self.ask(at.place, OpenRequest::Ticket(OpenTicketRequest::Issue(number)));
                self.step(at.place, |plane, now, out| plane.ask_party(now, stream, issued, request, out))
            }
            TicketStep::Withdraw(number) => self.remove_ticket(number, OpenTicketRequest::Withdraw(number)),
        }
    }

    pub(super) fn ticket_answered(&mut self, asked: OpenTicketRequest, reply: Reply) -> Checked {
        let is_unavailable = |reply: &Reply| match reply {
            Reply::Answer(Answer::Pool(Err(error))) => error.kind == ErrorKind::Unavailable,
            Reply::Joined(Err(_)) => true,
            _ => false,
        };
        ensure(Check::Answers, !is_unavailable(&reply) || self.cluster.crashes > 0, || {
            format!("nobody died, and yet {asked:?} is not answered")
        })?;
        match (asked, reply) {
            (
                OpenTicketRequest::Gather { who, party, changes },
                Reply::Answer(Answer::Party(PartyAnswer::One(Ok(party::PartyReply::Matchmaking {
                    members,
                    membership,
                })))),
            ) => {
                let party = GatheredParty { members, party, membership, changes };
                self.tickets.steps.push(TicketStep::Add { who, party });
            }
            (OpenTicketRequest::Add(number), reply) => {
                let ticket = &mut self.tickets.all[number];
                ticket.is_taken = Some(matches!(reply, Reply::Answer(Answer::Pool(Ok(_)))));
                if ticket.is_taken == Some(true) && ticket.of_party.is_some() {
                    self.tickets.steps.push(TicketStep::Issue(number));
                }
            }
            (OpenTicketRequest::Issue(number), reply) => {
                let is_issued = matches!(reply, Reply::Answer(Answer::Party(PartyAnswer::One(Ok(_)))));
                if let Some(of) = &mut self.tickets.all[number].of_party {
                    of.is_issued = Some(is_issued);
                }
                if !is_issued {
                    self.tickets.steps.push(TicketStep::Withdraw(number));
                }
            }
            (OpenTicketRequest::Remove(number), Reply::Answer(Answer::Pool(reply))) => {
                let ticket = &mut self.tickets.all[number];
                ticket.is_removed |= reply.is_ok();
                ticket.may_be_removed |= reply.is_err();
            }
            (OpenTicketRequest::Withdraw(number), reply) if is_unavailable(&reply) => {
                self.tickets.steps.push(TicketStep::Withdraw(number));
            }
            _ => {}
        }
        Ok(())
    }

    /// Tells players that they were matched, as the rim of the pool's owner does.
    pub(super) fn tell_matched(&mut self, place: Place, found: &Matched) -> Checked {
        let numbered = |id: &TicketId| id.0.parse::<usize>().unwrap_or(usize::MAX);
        for ticket in &found.tickets {
            let number = numbered(&ticket.id);
            let members: BTreeSet<Who> = ticket.members.iter().map(|member| who_is(&member.presence)).collect();
            let known = self.tickets.all.get(number).is_some_and(|ticket| ticket.members == members);
            ensure(Check::Tickets, known, || format!("{members:?} are matched by ticket {number}"))?;
            for member in &ticket.members {
                let ended = found.ended_for(&member.key);
                let word = TicketNews { ticket: number, is_match: true, ended: ended.iter().map(numbered).collect() };
                self.tell_of_ticket(place, member.presence.session, word, ended)?;
            }
        }
        // A party's ticket ends for all its members when one of them is matched by another.
        for dropped in &found.dropped {
            if let Some(ticket) = self.tickets.all.get_mut(numbered(&dropped.id)).filter(|it| it.of_party.is_some()) {
                ticket.off.extend(ticket.members.iter().copied());
            }
        }
        Ok(())
    }

    /// Tells a player that a ticket is lost, as the rim of the pool's owner does.
    pub(super) fn tell_lost(&mut self, place: Place, (session, ticket): EndedTicket) -> Checked {
        let number = ticket.0.parse().unwrap_or(usize::MAX);
        let word = TicketNews { ticket: number, is_match: false, ended: vec![number] };
        self.tell_of_ticket(place, session, word, vec![ticket])
    }

    fn tell_of_ticket(&mut self, place: Place, session: SessionRef, word: TicketNews, ended: Vec<TicketId>) -> Checked {
        let payload = Arc::new(Say::push(self.tickets.words.len() as u32));
        self.tickets.words.push(word);
        self.step(place, |plane, _, out| plane.push_of_tickets(session, payload, ended, out))
    }

    pub(super) fn hear_of_ticket(&mut self, who: Who, word: u32) -> Checked {
        let Some(TicketNews { ticket: number, is_match, ended }) = self.tickets.words.get(word as usize) else {
            return Err(Violation { check: Check::Stray, detail: format!("session {who} hears word {word}") });
        };
        let (number, is_match, ended) = (*number, *is_match, ended.clone());
        let ticket = &mut self.tickets.all[number];
        ensure(Check::Stray, ticket.members.contains(&who), || format!("session {who} is not on ticket {number}"))?;
        ensure(Check::Twice, ticket.told.insert(who), || format!("session {who} is told twice of ticket {number}"))?;
        ensure(Check::Stray, !ticket.is_removed, || format!("ticket {number} was taken back, and {who} hears of it"))?;
        ensure(Check::Lost, is_match || self.cluster.crashes > 0, || {
            format!("nobody died, and yet ticket {number} is lost for {who}")
        })?;
        for other in ended.into_iter().filter(|other| *other != number) {
            self.tickets.all[other].off.insert(who);
        }
        Ok(())
    }

    /// At rest, checks that the waiting tickets are those that were accepted and neither ended nor were removed, and
    /// that every place knows its sessions' tickets.
    pub(super) fn check_tickets(&self) -> Checked {
        let waiting: BTreeMap<usize, BTreeSet<Who>> = self
            .cluster
            .planes
            .values()
            .flat_map(|plane| plane.owned_tickets())
            .map(|ticket| {
                let members = ticket.members.iter().map(|member| who_is(&member.presence)).collect();
                (ticket.id.0.parse().unwrap_or(usize::MAX), members)
            })
            .collect();
        for (who, client) in self.clients.iter().filter(|(_, client)| client.is_open) {
            let held = self.cluster.planes[&client.at.place].tickets_of(client.at.key);
            let held: BTreeSet<usize> = held.map(|id| id.0.parse().unwrap_or(usize::MAX)).collect();
            let on = waiting.iter().filter(|(_, members)| members.contains(who)).map(|(number, _)| *number);
            let on: BTreeSet<usize> = on.collect();
            ensure(Check::Tickets, held == on, || {
                format!("session {who} is on tickets {on:?}, and by its place on {held:?}")
            })?;
        }
        for (number, ticket) in self.tickets.all.iter().enumerate() {
            let (may, must) = self.may_wait(ticket);
            let waits = waiting.contains_key(&number);
            ensure(Check::Tickets, if waits { may } else { !must }, || {
                format!("ticket {number} waits: {waits}, may it: {may}, must it: {must}; {ticket:?}")
            })?;
            self.check_nobody_left_behind(number, ticket)?;
        }
        Ok(())
    }

    fn may_wait(&self, ticket: &Ticket) -> (bool, bool) {
        let is_open = |who: &Who| self.clients[who].is_open;
        let may = ticket.is_taken == Some(true)
            && !ticket.is_removed
            && ticket.told.is_empty()
            && ticket.members.iter().all(is_open);
        let must = may && !ticket.may_be_removed && ticket.off.is_empty();
        match &ticket.of_party {
            None => (may && ticket.off.is_empty(), must),
            Some(of) => {
                let stream = &self.parties[usize::from(of.party - PARTIES_FROM)];
                let owner = &self.cluster.planes[&self.cluster.owner(stream)];
                let is_same = owner.owned_presences(stream).map(who_is).collect::<BTreeSet<_>>() == ticket.members;
                let is_issued = of.is_issued == Some(true);
                (may && is_same && is_issued, must && is_issued && self.is_unchanged(of))
            }
        }
    }

    fn is_unchanged(&self, of: &PartyTicket) -> bool {
        self.tickets.changes.get(&of.party).copied().unwrap_or_default() == of.changes
    }

    fn check_nobody_left_behind(&self, number: usize, ticket: &Ticket) -> Checked {
        let Some(of) = &ticket.of_party else { return Ok(()) };
        let is_certain = of.is_issued == Some(true) && !ticket.may_be_removed && self.is_unchanged(of);
        let left = ticket.members.iter().find(|who| !ticket.told.contains(who) && !ticket.off.contains(who));
        let is_fine = !is_certain || ticket.told.is_empty() || left.is_none_or(|who| !self.clients[who].is_open);
        ensure(Check::Tickets, is_fine, || format!("some of ticket {number} are told of its end, {left:?} is not"))
    }
}

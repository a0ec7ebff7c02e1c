//! The matchmaker of the stub: first come, first served, with the few queries that the tool writes.

use muster_wire::realtime::envelope::Message;
use muster_wire::realtime::matchmaker_matched::{Id, MatchmakerUser};
use muster_wire::realtime::{Envelope, MatchmakerAdd, MatchmakerMatched, UserPresence};

use super::Manner;
use super::live::Session;

struct Ticket {
    ticket: String,
    session: Session,
    presence: UserPresence,
    add: MatchmakerAdd,
}

pub struct Pool {
    manner: Manner,
    waiting: Vec<Ticket>,
    matches: u64,
}

impl Ticket {
    fn user(&self) -> MatchmakerUser {
        MatchmakerUser {
            presence: Some(self.presence.clone()),
            party_id: String::new(),
            string_properties: self.add.string_properties.clone(),
            numeric_properties: self.add.numeric_properties.clone(),
        }
    }

    /// Whether the other ticket has what this one asks for. Terms are `+properties.NAME:VALUE` and
    /// `+properties.NAME:>=NUMBER`.
    fn accepts(&self, other: &Self, by_mode_alone: bool) -> bool {
        self.add.query.split_ascii_whitespace().all(|term| {
            let (name, wanted) = term.strip_prefix("+properties.").and_then(|term| term.split_once(':')).unwrap();
            match wanted.strip_prefix(">=") {
                Some(_) if by_mode_alone => true,
                Some(least) => {
                    let least: f64 = least.parse().unwrap();
                    other.add.numeric_properties.get(name).is_some_and(|value| *value >= least)
                }
                None => other.add.string_properties.get(name).is_some_and(|value| value == wanted),
            }
        })
    }
}

impl Pool {
    pub fn new(manner: Manner) -> Self {
        Self { manner, waiting: Vec::new(), matches: 0 }
    }

    pub fn remove(&mut self, ticket: &str) {
        self.waiting.retain(|waiting| waiting.ticket != ticket);
    }

    pub fn forget(&mut self, user: &str) {
        self.waiting.retain(|waiting| waiting.session.user != user);
    }

    /// Adds a ticket and matches it with one that waits, if there is one.
    pub fn add(
        &mut self,
        ticket: String,
        session: Session,
        presence: UserPresence,
        add: MatchmakerAdd,
    ) -> std::io::Result<()> {
        let new = Ticket { ticket, session, presence, add };
        let any = self.manner == Manner::MatchesAnybody;
        let fits = |old: &Ticket| old.accepts(&new, any) && new.accepts(old, any);
        let found = self.waiting.iter().position(fits).filter(|_| self.manner != Manner::NeverMatches);
        let Some(index) = found else {
            self.waiting.push(new);
            return Ok(());
        };
        let pair = [self.waiting.remove(index), new];
        self.matches += 1;
        let users: Vec<_> = pair.iter().map(Ticket::user).collect();
        let messages = match self.manner {
            Manner::MatchesTwice => 4,
            Manner::TellsOneOnly => 1,
            _ => 2,
        };
        for ticket in pair.iter().cycle().take(messages) {
            let matched = MatchmakerMatched {
                ticket: ticket.ticket.clone(),
                users: users.clone(),
                self_: Some(ticket.user()),
                id: Some(Id::Token(format!("token-{}", self.matches))),
            };
            ticket.session.send(&Envelope::push(Message::MatchmakerMatched(matched)))?;
        }
        Ok(())
    }
}

//! Parties in a cluster: each survives its owner or ends with it, and all sides agree on the members.

use std::collections::BTreeSet;

use muster_domain::Timestamp;
use muster_live::party::{self, Label, PartyAnswer, PartyRequest, Settings};
use muster_live::plane::{Answer, JoinRefusal, Reply};

use super::world::{OpenRequest, World};
use crate::frames::{PartyWord, StreamId, Version, who as who_is};
use crate::scenario::{PARTIES_FROM, Who};
use crate::violation::{Check, Checked, Violation, ensure};

/// A request about a party that waits for its answer.
#[derive(Clone, Copy, Debug)]
pub(super) struct OpenPartyRequest {
    pub who: Who,
    party: StreamId,
    makes: bool,
    generation: u64,
}

/// The relation of a session to a party, as the session knows it.
#[derive(Clone, Debug, Default)]
pub(super) struct PartyTie {
    /// Whether the session has asked to join, and not left since.
    may_hear: bool,
    /// Number of times that the session left or was put out, or that its party ended.
    generation: u64,
    /// The members as the session sees them; `None` while it is not in the party.
    view: Option<BTreeSet<Who>>,
}

impl PartyTie {
    pub(super) fn go(&mut self) {
        self.may_hear = false;
        self.end();
    }

    pub(super) fn may_hear(&self) -> bool {
        self.may_hear
    }

    fn end(&mut self) {
        self.generation += 1;
        self.view = None;
    }
}

impl World {
    pub(super) fn act_in_party(&mut self, who: Who) -> Checked {
        let number = self.rng.usize(0..self.parties.len());
        let (party, stream) = (PARTIES_FROM + number as StreamId, self.parties[number].clone());
        let at = self.clients[&who].at;
        let act = self.rng.u8(0..10);
        self.trace.line(|| format!("session {who}, party {party}: {act}"));
        // Any party may change, since a session that joins one leaves another.
        self.tickets.note_change((PARTIES_FROM..).take(self.parties.len()));
        let tie = self.party_ties.entry((party, who)).or_default();
        if act < 3 {
            tie.go();
            return self.step(at.place, |plane, now, out| plane.leave(now, at.key, stream, out)).map(drop);
        }
        tie.may_hear = true;
        let asked = OpenPartyRequest { who, party, makes: act < 6, generation: tie.generation };
        let Some(request) = self.ask(at.place, OpenRequest::Party(asked)) else { return Ok(()) };
        let settings = Settings { open: true, hidden: false, label: Label::default() };
        self.step(at.place, |plane, now, out| {
            let ask = |member| match asked.makes {
                true => PartyRequest::Create { leader: member, settings, max_size: 4, created_at: Timestamp(0) },
                false => PartyRequest::Join(member),
            };
            plane.come_to_party(now, at.key, stream, ask, request, out);
        })
    }

    pub(super) fn party_answered(&mut self, asked: OpenPartyRequest, reply: &Reply) -> Checked {
        let OpenPartyRequest { who, party, makes, generation } = asked;
        match reply {
            Reply::Answer(Answer::Party(PartyAnswer::One(Ok(party::PartyReply::Done)))) if makes => {
                let tie = self.party_ties.entry((party, who)).or_default();
                if tie.generation == generation {
                    tie.view.get_or_insert_with(|| BTreeSet::from([who]));
                }
                Ok(())
            }
            // No answer means that the party is not made, unless the session is on its way by another request: it may
            // have heard of its own join before the node died that had to answer.
            Reply::Joined(Err(JoinRefusal::Unavailable)) if makes && !self.is_on_its_way(who, party) => {
                let tie = self.party_ties.entry((party, who)).or_default();
                if tie.generation == generation {
                    tie.end();
                }
                Ok(())
            }
            Reply::Answer(Answer::Party(PartyAnswer::One(_)))
            | Reply::Joined(Err(JoinRefusal::Closed | JoinRefusal::Unavailable)) => Ok(()),
            reply => Err(Violation { check: Check::Answers, detail: format!("{reply:?} answers {asked:?}") }),
        }
    }

    /// Whether the session is in the party, or on its way into it, by another request.
    fn is_on_its_way(&self, who: Who, party: StreamId) -> bool {
        let (at, stream) = (self.clients[&who].at, &self.parties[usize::from(party - PARTIES_FROM)]);
        self.cluster.planes.get(&at.place).is_some_and(|plane| plane.is_on(at.key, stream))
    }

    fn check_may_hear(&mut self, who: Who, party: StreamId) -> Checked<&mut PartyTie> {
        let tie = self.party_ties.entry((party, who)).or_default();
        ensure(Check::Stray, tie.may_hear, || format!("session {who} is not in party {party}, and hears of it"))?;
        Ok(tie)
    }

    pub(super) fn hear_of_party(&mut self, who: Who, party: StreamId, word: &PartyWord) -> Checked {
        if *word == PartyWord::Closed {
            self.check_lost(who, &self.parties[usize::from(party - PARTIES_FROM)])?;
        }
        if self.cluster.faults.silences(*word == PartyWord::Closed, false) {
            return Ok(());
        }
        match word {
            PartyWord::Admitted(members) => {
                self.check_may_hear(who, party)?.view = Some(members.iter().copied().collect());
            }
            // The message is no error after the session left, because it may have been on its way.
            PartyWord::Closed => self.party_ties.entry((party, who)).or_default().end(),
            PartyWord::Said(_) | PartyWord::Other => {}
        }
        Ok(())
    }

    pub(super) fn hear_of_members(
        &mut self,
        who: Who,
        party: StreamId,
        joins: &[Version],
        leaves: &[Version],
    ) -> Checked {
        let view = self.check_may_hear(who, party)?.view.get_or_insert_default();
        view.retain(|other| !leaves.contains(&(*other as Version)));
        view.extend(joins.iter().map(|other| *other as Who));
        Ok(())
    }

    /// At rest, checks that owners, places and sessions agree on the members of each party.
    pub(super) fn check_parties(&self) -> Checked {
        let mut peopled = 0;
        for (party, stream) in (PARTIES_FROM..).zip(&self.parties) {
            let owner = &self.cluster.planes[&self.cluster.owner(stream)];
            let members: BTreeSet<Who> = owner.owned_presences(stream).map(who_is).collect();
            peopled += usize::from(!members.is_empty());
            let open = self.clients.iter().filter(|(_, client)| client.is_open);
            let hears = open.filter(|(_, client)| self.cluster.planes[&client.at.place].hears(client.at.key, stream));
            let hearing: BTreeSet<Who> = hears.map(|(who, _)| *who).collect();
            ensure(Check::Presences, hearing == members, || {
                format!("in party {party} are {members:?}, and by their places {hearing:?}")
            })?;
            for ((_, who), tie) in self.party_ties.range((party, 0)..=(party, Who::MAX)) {
                let (view, should) = (tie.view.as_ref(), members.contains(who).then_some(&members));
                ensure(Check::Conclusions, view == should, || {
                    format!("session {who} takes {view:?} to be in party {party}, it is {should:?}")
                })?;
            }
        }
        let parties: usize = self.cluster.planes.values().map(|plane| plane.stats().parties).sum();
        ensure(Check::Presences, parties == peopled, || format!("{parties} parties, and {peopled} with members"))
    }
}

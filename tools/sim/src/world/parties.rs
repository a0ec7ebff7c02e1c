//! Parties in a world: actions of players, messages to them, and the check that all sides agree on the members.

use std::collections::BTreeSet;

use bytes::Bytes;
use muster_domain::Timestamp;
use muster_live::ShardIndex;
use muster_live::StreamKey;
use muster_live::party::{self, Label, Member, PartyRefusal, PartyRequest, Person, Settings};
use muster_live::plane::{Answer, JoinRefusal, Reply};

use super::act::session_id;
use super::tickets::FollowUp;
use super::{OpenRequest, World};
use crate::frames::{PartyWord, StreamId, Version, who as who_is};
use crate::model::{Audience, Receiver};
use crate::scenario::{PARTIES_FROM, PartyAct, Who};
use crate::violation::{Check, Checked, Violation, ensure};

/// The answer of a party's owner.
pub(super) type PartyAnswer = Result<party::PartyReply, PartyRefusal>;

/// A request about a party that waits for its answer.
#[derive(Clone, Copy, Debug)]
pub(super) enum OpenPartyRequest {
    /// To make the party, or to join it.
    Come { who: Who, party: StreamId, makes: bool, generation: u64 },
    /// To send data.
    Say { id: u32 },
    /// To list the members for the matchmaker.
    Matchmake { who: Who, party: StreamId, players: u32, changes: u32 },
    /// To tell the party of a ticket, by the ticket's number.
    Issue { number: usize },
    /// A request that only the leader may make.
    Leading { who: Who },
    /// Any other request.
    Other,
}

/// The relation of a session to a party, as the session knows it.
#[derive(Clone, Debug, Default)]
pub(super) struct PartyTie {
    /// Whether the session has asked to join, and not left since.
    pub(super) may_hear: bool,
    /// Number of times that the session left or was put out.
    generation: u64,
    /// The members as the session sees them; `None` while it is not in the party.
    view: Option<BTreeSet<Who>>,
    /// Whether the session knows for certain that it is in the party: it was told that it was admitted, or its request
    /// was answered.
    is_sure: bool,
    place: crate::model::Place,
}

impl PartyTie {
    /// Whether the session has been in the party since a generation.
    pub(super) fn is_still(&self, generation: u64) -> bool {
        self.is_sure && self.generation == generation
    }

    pub(super) fn go(&mut self) {
        self.generation += 1;
        (self.view, self.is_sure) = (None, false);
        self.place = Default::default();
    }
}

impl World {
    pub(super) fn party_key(&self, party: StreamId) -> StreamKey {
        self.scenario.parties[usize::from(party - PARTIES_FROM)].clone()
    }

    pub(super) fn act_in_party(&mut self, who: Who, party: StreamId, act: PartyAct) -> Checked {
        let by = self.clients[&who].at;
        if !matches!(act, PartyAct::Say | PartyAct::Promote(_) | PartyAct::Search(_)) {
            self.party_changed(party);
        }
        let person = |who: Who| Person {
            session_id: session_id(who),
            user_id: super::act::user_id(who),
            username: who.to_string().into(),
        };
        let request = match act {
            PartyAct::Create { open, max_size } => {
                let settings = Settings { open, hidden: false, label: Label::default() };
                let create = |leader| PartyRequest::Create { leader, settings, max_size, created_at: Timestamp(0) };
                return self.come_to_party(who, party, true, create);
            }
            PartyAct::Join => return self.come_to_party(who, party, false, PartyRequest::Join),
            PartyAct::Leave => {
                let tie = self.party_ties.entry((party, who)).or_default();
                tie.may_hear = false;
                tie.go();
                let stream = self.party_key(party);
                return self.step(by.place.shard(), |plane, now, out| plane.leave(now, by.key, stream, out)).map(drop);
            }
            PartyAct::Say => return self.say_in_party(who, party),
            PartyAct::Search(players) => {
                return self.search_together(party, players);
            }
            PartyAct::Accept(whom) => PartyRequest::Accept { by, target: person(whom) },
            PartyAct::Remove(whom) => PartyRequest::Remove { by, target: person(whom) },
            PartyAct::Promote(whom) => PartyRequest::Promote { by, target: person(whom) },
            PartyAct::Close => PartyRequest::Close(by),
        };
        self.ask_party(by.place.shard(), party, OpenPartyRequest::Other, request)
    }

    /// Lets every member ask for a ticket, since only the party's owner knows which of them leads.
    fn search_together(&mut self, party: StreamId, players: u32) -> Checked {
        let changes = self.party_changes.get(&party).copied().unwrap_or_default();
        let ties = self.party_ties.range((party, 0)..=(party, Who::MAX));
        let members: Vec<Who> = ties.filter(|(_, tie)| tie.view.is_some()).map(|((_, who), _)| *who).collect();
        for who in members.into_iter().filter(|who| self.may_act(*who)).collect::<Vec<_>>() {
            let (by, asked) = (self.clients[&who].at, OpenPartyRequest::Matchmake { who, party, players, changes });
            self.ask_party(by.place.shard(), party, asked, PartyRequest::Matchmake(by))?;
        }
        Ok(())
    }

    pub(super) fn ask_party(
        &mut self,
        shard: ShardIndex,
        party: StreamId,
        asked: OpenPartyRequest,
        ask: PartyRequest,
    ) -> Checked {
        let (stream, request) = (self.party_key(party), self.ask(shard, OpenRequest::Party(asked)));
        self.step(shard, |plane, now, out| plane.ask_party(now, stream, ask, Some(request), out))
    }

    fn come_to_party(
        &mut self,
        who: Who,
        party: StreamId,
        makes: bool,
        ask: impl FnOnce(Member) -> PartyRequest,
    ) -> Checked {
        let tie = self.party_ties.entry((party, who)).or_default();
        tie.may_hear = true;
        let asked = OpenPartyRequest::Come { who, party, makes, generation: tie.generation };
        let (at, stream) = (self.clients[&who].at, self.party_key(party));
        let request = self.ask(at.place.shard(), OpenRequest::Party(asked));
        self.step(at.place.shard(), |plane, now, out| plane.come_to_party(now, at.key, stream, ask, request, out))
    }

    fn say_in_party(&mut self, who: Who, party: StreamId) -> Checked {
        let is_in = |who: Who| self.party_ties.get(&(party, who)).filter(|tie| tie.is_sure);
        let due = if is_in(who).is_some() {
            let others = self.clients.keys().filter(|other| **other != who);
            let receiver = |other: &Who| Some(Receiver { who: *other, period: is_in(*other)?.generation, changes: 0 });
            others.filter_map(receiver).collect()
        } else {
            Vec::new()
        };
        let id = self.messages.next_id();
        self.messages.add(party, Audience::AllBut(who), due);
        let by = self.clients[&who].at;
        let data = Bytes::copy_from_slice(&id.to_le_bytes());
        self.ask_party(
            by.place.shard(),
            party,
            OpenPartyRequest::Say { id },
            PartyRequest::SendData { by, op_code: 1, data },
        )
    }

    /// Notes that the members of a party may change.
    pub(super) fn party_changed(&mut self, party: StreamId) {
        *self.party_changes.entry(party).or_default() += 1;
    }

    /// The members of a party, as its owner knows them.
    pub(super) fn party_members(&self, party: StreamId) -> BTreeSet<Who> {
        let stream = self.party_key(party);
        let owner = usize::from(self.owning_shard(&stream));
        self.planes[owner].owned_presences(&stream).map(who_is).collect()
    }

    pub(super) fn leave_parties(&mut self, who: Who) {
        (PARTIES_FROM..).take(self.scenario.parties.len()).for_each(|party| self.party_changed(party));
        for (_, tie) in self.party_ties.iter_mut().filter(|((_, other), _)| *other == who) {
            tie.may_hear = false;
            tie.go();
        }
    }

    pub(super) fn party_answered(&mut self, asked: OpenPartyRequest, reply: Reply) -> Checked {
        let reply = match reply {
            Reply::Answer(Answer::Party(party::PartyAnswer::One(reply))) => reply,
            // The session closed before the answer.
            Reply::Joined(Err(JoinRefusal::Closed)) => Err(PartyRefusal::NotMember),
            reply => {
                return Err(Violation { check: Check::Answers, detail: format!("{reply:?} answers {asked:?}") });
            }
        };
        match asked {
            OpenPartyRequest::Come { who, party, makes, generation } => {
                let tie = self.party_ties.entry((party, who)).or_default();
                if tie.generation == generation && reply == Ok(party::PartyReply::Done) {
                    if makes {
                        tie.view.get_or_insert_with(|| BTreeSet::from([who]));
                    }
                    tie.is_sure = tie.view.is_some();
                }
                Ok(())
            }
            OpenPartyRequest::Say { id } if reply.is_err() => self.messages.retract(id),
            OpenPartyRequest::Leading { who } => {
                self.answers.parties.push((who, reply));
                Ok(())
            }
            OpenPartyRequest::Matchmake { who, party, players, changes } => {
                if let Ok(party::PartyReply::Matchmaking { members, membership }) = reply
                    && self.clients[&who].is_open
                {
                    let add = FollowUp::Add { who, party, players, changes, members, membership };
                    self.follow_ups.push(add);
                }
                Ok(())
            }
            OpenPartyRequest::Issue { number } => {
                self.issued(number, reply.is_ok());
                Ok(())
            }
            OpenPartyRequest::Say { .. } | OpenPartyRequest::Other => Ok(()),
        }
    }

    fn check_may_hear(&mut self, who: Who, party: StreamId, what: &str) -> Checked<&mut PartyTie> {
        let tie = self.party_ties.entry((party, who)).or_default();
        ensure(Check::Stray, tie.may_hear, || format!("session {who} is not in party {party}, and hears {what}"))?;
        Ok(tie)
    }

    /// Checks a message about a party and lets the receiver's view follow.
    pub(super) fn hear_of_party(&mut self, who: Who, party: StreamId, word: &PartyWord) -> Checked {
        match word {
            PartyWord::Admitted(members) => {
                let tie = self.check_may_hear(who, party, "that it is")?;
                tie.view = Some(members.iter().copied().collect());
                tie.is_sure = true;
                Ok(())
            }
            // A message for one session may arrive after the session left, or before earlier messages for all.
            PartyWord::Closed => {
                self.party_ties.entry((party, who)).or_default().go();
                Ok(())
            }
            PartyWord::Said(id) => {
                self.check_may_hear(who, party, "data")?;
                self.messages.received(*id, party, who)?;
                let tie = self.party_ties.entry((party, who)).or_default();
                let order = &mut self.party_orders[usize::from(party - PARTIES_FROM)];
                order.heard(who, &mut tie.place, &id.to_le_bytes(), false)
            }
            PartyWord::Other => Ok(()),
        }
    }

    /// Applies joins and leaves to a member's view.
    pub(super) fn hear_of_members(
        &mut self,
        who: Who,
        party: StreamId,
        joins: &[Version],
        leaves: &[Version],
    ) -> Checked {
        let view = &mut self.check_may_hear(who, party, "who is in it")?.view;
        let view = view.get_or_insert_default();
        view.retain(|other| !leaves.contains(&(*other as Version)));
        view.extend(joins.iter().map(|other| *other as Who));
        Ok(())
    }

    /// At rest, checks that owners, shards of sessions, and sessions agree on the members of each party and on those
    /// who wait to be let in.
    pub(super) fn check_parties(&mut self) -> Checked {
        for party in (PARTIES_FROM..).take(self.scenario.parties.len()) {
            let stream = self.party_key(party);
            let members = self.party_members(party);
            let open = || self.clients.iter().filter(|(_, client)| client.is_open);
            let by_shard = |is: &dyn Fn(&muster_live::Plane, muster_live::SessionKey) -> bool| -> BTreeSet<Who> {
                let is = |at: muster_live::SessionRef| is(&self.planes[usize::from(at.place.shard())], at.key);
                open().filter(|(_, client)| is(client.at)).map(|(who, _)| *who).collect()
            };
            let hearing = by_shard(&|plane, key| plane.hears(key, &stream));
            ensure(Check::Presences, hearing == members, || {
                format!("in party {party} are {members:?}, and by their shards {hearing:?}")
            })?;
            let there = by_shard(&|plane, key| plane.is_on(key, &stream));
            let waiting: BTreeSet<Who> = there.difference(&members).copied().collect();
            for who in &members {
                let view = self.party_ties.get(&(party, *who)).and_then(|tie| tie.view.as_ref());
                ensure(Check::Conclusions, view == Some(&members), || {
                    format!("session {who} takes {view:?} to be in party {party}, it is {members:?}")
                })?;
            }
            self.check_leader(party, &members, &waiting)?;
        }
        let parties: usize = self.planes.iter().map(|plane| plane.stats().parties).sum();
        let streams = &self.scenario.parties;
        let peopled = streams.iter().filter(|stream| {
            let owner = usize::from(self.owning_shard(stream));
            self.planes[owner].owned_presences(stream).next().is_some()
        });
        let peopled = peopled.count();
        ensure(Check::Presences, parties == peopled, || format!("{parties} parties, and {peopled} with members"))
    }

    /// Checks that exactly one member leads, and that the party tells this member the right members and requests.
    fn check_leader(&mut self, party: StreamId, members: &BTreeSet<Who>, waiting: &BTreeSet<Who>) -> Checked {
        self.answers.parties.clear();
        for who in members {
            let by = self.clients[who].at;
            self.ask_party(
                by.place.shard(),
                party,
                OpenPartyRequest::Leading { who: *who },
                PartyRequest::Matchmake(by),
            )?;
            self.ask_party(
                by.place.shard(),
                party,
                OpenPartyRequest::Leading { who: *who },
                PartyRequest::ListRequests(by),
            )?;
        }
        self.settle()?;
        let answers = std::mem::take(&mut self.answers.parties);
        let leading: Vec<_> = answers.into_iter().filter_map(|(who, answer)| Some((who, answer.ok()?))).collect();
        ensure(Check::Answers, leading.len() == 2 * usize::from(!members.is_empty()), || {
            format!("party {party} of {members:?} is led by {leading:?}")
        })?;
        for (_, answer) in leading {
            let (shown, should): (BTreeSet<Who>, _) = match &answer {
                party::PartyReply::Matchmaking { members: shown, .. } => {
                    (shown.iter().map(|member| who_is(&member.presence)).collect(), members)
                }
                party::PartyReply::Requests(shown) => (shown.iter().map(who_is).collect(), waiting),
                party::PartyReply::Done | party::PartyReply::Asked => continue,
            };
            ensure(Check::Presences, shown == *should, || {
                format!("party {party} has {answer:?}, and should have {should:?}")
            })?;
        }
        let nobody_waits = members.is_empty() && !waiting.is_empty();
        ensure(Check::Presences, !nobody_waits, || format!("{waiting:?} wait for party {party}, which is gone"))
    }
}

//! One party: its members, its leader, and the sessions that ask to be let in. Messages to members leave as effects.

use super::message::{
    Member, PartyEffect, PartyEvent, PartyRefusal, PartyReply, PartyRequest, Person, Settings, Snapshot,
};
use crate::stream::{Presence, SessionRef};

/// The state of a party that has members.
#[derive(Clone, Debug)]
pub(super) struct Party {
    pub(super) settings: Settings,
    pub(super) max_size: u16,
    /// Members in the order of their arrival; never empty.
    pub(super) members: Vec<Member>,
    pub(super) leader: Presence,
    /// Sessions that ask to be let in, in the order in which they asked.
    pub(super) requests: Vec<Member>,
    /// Number of changes of membership so far.
    pub(super) membership: u64,
    /// Whether a matchmaker ticket was issued since the last change of membership.
    pub(super) has_tickets: bool,
}

/// Whether the party goes on after a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PartyOutcome {
    Continues,
    Ends,
}

type Granted = Result<(PartyReply, PartyOutcome), PartyRefusal>;

impl Party {
    pub(super) fn new(leader: Member, settings: Settings, max_size: u16) -> Self {
        Self {
            settings,
            max_size,
            leader: leader.presence.clone(),
            members: vec![leader],
            requests: Vec::new(),
            membership: 0,
            has_tickets: false,
        }
    }

    /// Carries out a request. A refused request has no effects. It changes no more of the party than the listener of a
    /// session that has joined or asked before.
    pub(super) fn handle(&mut self, request: PartyRequest, effects: &mut Vec<PartyEffect>) -> Granted {
        match request {
            PartyRequest::Create { leader, .. } => {
                self.renew(&leader);
                Err(PartyRefusal::AlreadyExists)
            }
            PartyRequest::Join(member) => self.join(member, effects),
            PartyRequest::Leave(session) => Ok((PartyReply::Done, self.leave(session, effects))),
            PartyRequest::Promote { by, target } => self.led_by(by)?.promote(&target, effects),
            PartyRequest::Accept { by, target } => self.led_by(by)?.accept(&target, effects),
            PartyRequest::Remove { by, target } => self.led_by(by)?.remove(&target, effects),
            PartyRequest::Close(by) => Ok(self.led_by(by)?.close(effects)),
            PartyRequest::ListRequests(by) => {
                Ok((PartyReply::Requests(presences(&self.led_by(by)?.requests)), PartyOutcome::Continues))
            }
            PartyRequest::Update { by, settings } => self.led_by(by)?.update(settings, effects),
            PartyRequest::SendData { by, op_code, data } => {
                let sender = self.members.iter().find(|member| member.session() == by);
                let sender = sender.ok_or(PartyRefusal::SenderNotMember)?.presence.clone();
                if self.members.len() > 1 {
                    effects.push(PartyEffect::Publish {
                        except: Some(by),
                        event: PartyEvent::Data { sender, op_code, data },
                    });
                }
                done()
            }
            PartyRequest::Matchmake(by) => {
                let Self { members, membership, .. } = self.led_by(by)?;
                Ok((
                    PartyReply::Matchmaking { members: members.clone(), membership: *membership },
                    PartyOutcome::Continues,
                ))
            }
            PartyRequest::TicketIssued { by, ticket, membership } => {
                // The count of changes starts anew when a party ends and is made again with the same id, so the session
                // is checked as well.
                let is_member = self.members.iter().any(|member| member.session() == by);
                if membership != self.membership || !is_member {
                    return Err(PartyRefusal::MembershipChanged);
                }
                self.has_tickets = true;
                effects.push(PartyEffect::Publish { except: Some(by), event: PartyEvent::TicketIssued(ticket) });
                done()
            }
            PartyRequest::CheckLeader(by) => self.led_by(by).and_then(|_| done()),
        }
    }

    fn led_by(&mut self, session: SessionRef) -> Result<&mut Self, PartyRefusal> {
        if self.leader.session == session { Ok(self) } else { Err(PartyRefusal::NotLeader) }
    }

    /// Whether a session is a member or asks to be let in.
    pub(super) fn knows(&self, session: SessionRef) -> bool {
        self.sessions().any(|known| known == session)
    }

    /// Replaces a session that goes on at another place. The count of changes of membership grows, because a ticket
    /// that is being issued still names the session's former place and must be refused.
    pub(super) fn rebind(&mut self, from: SessionRef, to: SessionRef) -> bool {
        let mut is_known = false;
        for member in self.members.iter_mut().chain(&mut self.requests).filter(|member| member.session() == from) {
            (member.presence.session, member.listener.session) = (to, to);
            is_known = true;
        }
        if self.leader.session == from {
            self.leader.session = to;
        }
        self.membership += u64::from(is_known);
        is_known
    }

    /// The sessions of members, and those that ask to be let in.
    pub(super) fn sessions(&self) -> impl Iterator<Item = SessionRef> {
        self.members.iter().chain(&self.requests).map(Member::session)
    }

    /// Keeps the listener of a session's latest request, because the plane takes the session off the stream by that
    /// listener.
    fn renew(&mut self, member: &Member) {
        let known = self.members.iter_mut().chain(&mut self.requests);
        known.filter(|known| known.session() == member.session()).for_each(|known| known.listener = member.listener);
    }

    fn is_full(&self) -> bool {
        self.members.len() >= usize::from(self.max_size)
    }

    fn join(&mut self, member: Member, effects: &mut Vec<PartyEffect>) -> Granted {
        self.renew(&member);
        if self.members.iter().any(|known| known.session() == member.session()) {
            // A second join of an open party is no error, since nobody's consent is needed.
            return if self.settings.open { done() } else { Err(PartyRefusal::AlreadyMember) };
        }
        if self.is_full() {
            return Err(PartyRefusal::Full);
        }
        if self.settings.open {
            self.admit(member, effects);
            return done();
        }
        if self.requests.len() >= usize::from(self.max_size) {
            return Err(PartyRefusal::RequestsFull);
        }
        if self.requests.iter().any(|waiting| waiting.presence.user_id == member.presence.user_id) {
            return Err(PartyRefusal::AlreadyRequested);
        }
        let event = PartyEvent::JoinRequested(member.presence.clone());
        effects.push(PartyEffect::Send { to: self.leader.session, event });
        self.requests.push(member);
        Ok((PartyReply::Asked, PartyOutcome::Continues))
    }

    pub(super) fn admit(&mut self, member: Member, effects: &mut Vec<PartyEffect>) {
        self.requests.retain(|waiting| waiting.session() != member.session());
        self.members.push(member.clone());
        let snapshot = Snapshot {
            open: self.settings.open,
            max_size: self.max_size,
            own: member.presence.clone(),
            leader: self.leader.clone(),
            members: presences(&self.members),
        };
        effects.push(PartyEffect::Enter(member, Some(PartyEvent::Admitted(snapshot))));
        self.membership_changed(effects);
    }

    /// Counts a change of membership and cancels tickets: a ticket is for exactly the members that the party had when
    /// it was issued.
    pub(super) fn membership_changed(&mut self, effects: &mut Vec<PartyEffect>) {
        self.membership += 1;
        if std::mem::take(&mut self.has_tickets) {
            effects.push(PartyEffect::CancelTickets);
        }
    }

    pub(super) fn leave(&mut self, session: SessionRef, effects: &mut Vec<PartyEffect>) -> PartyOutcome {
        self.requests.retain(|waiting| waiting.session() != session);
        // The plane also reports that a removed session left. By then the session is no member any more.
        let Some(at) = self.members.iter().position(|member| member.session() == session) else {
            return PartyOutcome::Continues;
        };
        self.members.remove(at);
        self.membership_changed(effects);
        let Some(oldest) = self.members.first() else {
            effects.extend(self.requests.drain(..).map(PartyEffect::Dismiss));
            return PartyOutcome::Ends;
        };
        if self.leader.session == session {
            self.leader = oldest.presence.clone();
            effects.push(PartyEffect::Publish { except: None, event: PartyEvent::Leader(self.leader.clone()) });
        }
        PartyOutcome::Continues
    }

    fn promote(&mut self, target: &Person, effects: &mut Vec<PartyEffect>) -> Granted {
        let member = self.members.iter().find(|member| target.is(&member.presence)).ok_or(PartyRefusal::NotMember)?;
        self.leader = member.presence.clone();
        effects.push(PartyEffect::Publish { except: None, event: PartyEvent::Leader(self.leader.clone()) });
        done()
    }

    fn accept(&mut self, target: &Person, effects: &mut Vec<PartyEffect>) -> Granted {
        if self.is_full() {
            return Err(PartyRefusal::Full);
        }
        let at =
            self.requests.iter().position(|waiting| target.is(&waiting.presence)).ok_or(PartyRefusal::NotRequested)?;
        let member = self.requests.remove(at);
        self.admit(member, effects);
        done()
    }

    fn remove(&mut self, target: &Person, effects: &mut Vec<PartyEffect>) -> Granted {
        if target.is(&self.leader) {
            return Err(PartyRefusal::RemoveLeader);
        }
        if let Some(at) = self.members.iter().position(|member| target.is(&member.presence)) {
            let member = self.members.remove(at);
            let to = member.session();
            effects.push(PartyEffect::Expel(member));
            effects.push(PartyEffect::Send { to, event: PartyEvent::Closed });
            self.membership_changed(effects);
            return done();
        }
        let at =
            self.requests.iter().position(|waiting| target.is(&waiting.presence)).ok_or(PartyRefusal::NotMember)?;
        effects.push(PartyEffect::Dismiss(self.requests.remove(at)));
        done()
    }

    fn close(&mut self, effects: &mut Vec<PartyEffect>) -> (PartyReply, PartyOutcome) {
        effects.push(PartyEffect::Publish { except: None, event: PartyEvent::Closed });
        effects.push(PartyEffect::Dissolve(std::mem::take(&mut self.members)));
        effects.extend(self.requests.drain(..).map(PartyEffect::Dismiss));
        self.membership_changed(effects);
        (PartyReply::Done, PartyOutcome::Ends)
    }

    fn update(&mut self, settings: Settings, effects: &mut Vec<PartyEffect>) -> Granted {
        if settings.hidden && !settings.label.is_empty() {
            return Err(PartyRefusal::HiddenWithLabel);
        }
        self.settings = settings.clone();
        effects.push(PartyEffect::Publish { except: None, event: PartyEvent::Updated(settings) });
        done()
    }
}

fn done() -> Granted {
    Ok((PartyReply::Done, PartyOutcome::Continues))
}

fn presences(members: &[Member]) -> Vec<Presence> {
    members.iter().map(|member| member.presence.clone()).collect()
}

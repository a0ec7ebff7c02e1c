//! One party: its members, its leader, and the sessions that ask to be let in. Messages to members leave as effects.

use super::message::{Effect, Event, Member, Person, Refusal, Reply, Request, Settings, Snapshot};
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

type Granted = Result<(Reply, PartyOutcome), Refusal>;

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
    pub(super) fn handle(&mut self, request: Request, effects: &mut Vec<Effect>) -> Granted {
        match request {
            Request::Create { leader, .. } => {
                self.renew(&leader);
                Err(Refusal::AlreadyExists)
            }
            Request::Join(member) => self.join(member, effects),
            Request::Leave(session) => Ok((Reply::Done, self.leave(session, effects))),
            Request::Promote { by, target } => self.led_by(by)?.promote(&target, effects),
            Request::Accept { by, target } => self.led_by(by)?.accept(&target, effects),
            Request::Remove { by, target } => self.led_by(by)?.remove(&target, effects),
            Request::Close(by) => Ok(self.led_by(by)?.close(effects)),
            Request::ListRequests(by) => {
                Ok((Reply::Requests(presences(&self.led_by(by)?.requests)), PartyOutcome::Continues))
            }
            Request::Update { by, settings } => self.led_by(by)?.update(settings, effects),
            Request::SendData { by, op_code, data } => {
                let sender = self.members.iter().find(|member| member.session() == by);
                let sender = sender.ok_or(Refusal::SenderNotMember)?.presence.clone();
                if self.members.len() > 1 {
                    effects.push(Effect::Publish { except: Some(by), event: Event::Data { sender, op_code, data } });
                }
                done()
            }
            Request::Matchmake(by) => {
                let Self { members, membership, .. } = self.led_by(by)?;
                Ok((Reply::Matchmaking { members: members.clone(), membership: *membership }, PartyOutcome::Continues))
            }
            Request::TicketIssued { by, ticket, membership } => {
                // The count of changes starts anew when a party ends and is made again with the same id, so the session
                // is checked as well.
                let is_member = self.members.iter().any(|member| member.session() == by);
                if membership != self.membership || !is_member {
                    return Err(Refusal::MembershipChanged);
                }
                self.has_tickets = true;
                effects.push(Effect::Publish { except: Some(by), event: Event::TicketIssued(ticket) });
                done()
            }
            Request::CheckLeader(by) => self.led_by(by).and_then(|_| done()),
        }
    }

    fn led_by(&mut self, session: SessionRef) -> Result<&mut Self, Refusal> {
        if self.leader.session == session { Ok(self) } else { Err(Refusal::NotLeader) }
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

    fn join(&mut self, member: Member, effects: &mut Vec<Effect>) -> Granted {
        self.renew(&member);
        if self.members.iter().any(|known| known.session() == member.session()) {
            // A second join of an open party is no error, since nobody's consent is needed.
            return if self.settings.open { done() } else { Err(Refusal::AlreadyMember) };
        }
        if self.is_full() {
            return Err(Refusal::Full);
        }
        if self.settings.open {
            self.admit(member, effects);
            return done();
        }
        if self.requests.len() >= usize::from(self.max_size) {
            return Err(Refusal::RequestsFull);
        }
        if self.requests.iter().any(|waiting| waiting.presence.user_id == member.presence.user_id) {
            return Err(Refusal::AlreadyRequested);
        }
        let event = Event::JoinRequested(member.presence.clone());
        effects.push(Effect::Send { to: self.leader.session, event });
        self.requests.push(member);
        Ok((Reply::Asked, PartyOutcome::Continues))
    }

    pub(super) fn admit(&mut self, member: Member, effects: &mut Vec<Effect>) {
        self.requests.retain(|waiting| waiting.session() != member.session());
        self.members.push(member.clone());
        let snapshot = Snapshot {
            open: self.settings.open,
            max_size: self.max_size,
            own: member.presence.clone(),
            leader: self.leader.clone(),
            members: presences(&self.members),
        };
        effects.push(Effect::Enter(member, Some(Event::Admitted(snapshot))));
        self.membership_changed(effects);
    }

    /// Counts a change of membership and cancels tickets: a ticket is for exactly the members that the party had when
    /// it was issued.
    pub(super) fn membership_changed(&mut self, effects: &mut Vec<Effect>) {
        self.membership += 1;
        if std::mem::take(&mut self.has_tickets) {
            effects.push(Effect::CancelTickets);
        }
    }

    pub(super) fn leave(&mut self, session: SessionRef, effects: &mut Vec<Effect>) -> PartyOutcome {
        self.requests.retain(|waiting| waiting.session() != session);
        // The plane also reports that a removed session left. By then the session is no member any more.
        let Some(at) = self.members.iter().position(|member| member.session() == session) else {
            return PartyOutcome::Continues;
        };
        self.members.remove(at);
        self.membership_changed(effects);
        let Some(oldest) = self.members.first() else {
            effects.extend(self.requests.drain(..).map(Effect::Dismiss));
            return PartyOutcome::Ends;
        };
        if self.leader.session == session {
            self.leader = oldest.presence.clone();
            effects.push(Effect::Publish { except: None, event: Event::Leader(self.leader.clone()) });
        }
        PartyOutcome::Continues
    }

    fn promote(&mut self, target: &Person, effects: &mut Vec<Effect>) -> Granted {
        let member = self.members.iter().find(|member| target.is(&member.presence)).ok_or(Refusal::NotMember)?;
        self.leader = member.presence.clone();
        effects.push(Effect::Publish { except: None, event: Event::Leader(self.leader.clone()) });
        done()
    }

    fn accept(&mut self, target: &Person, effects: &mut Vec<Effect>) -> Granted {
        if self.is_full() {
            return Err(Refusal::Full);
        }
        let at = self.requests.iter().position(|waiting| target.is(&waiting.presence)).ok_or(Refusal::NotRequested)?;
        let member = self.requests.remove(at);
        self.admit(member, effects);
        done()
    }

    fn remove(&mut self, target: &Person, effects: &mut Vec<Effect>) -> Granted {
        if target.is(&self.leader) {
            return Err(Refusal::RemoveLeader);
        }
        if let Some(at) = self.members.iter().position(|member| target.is(&member.presence)) {
            let member = self.members.remove(at);
            let to = member.session();
            effects.push(Effect::Expel(member));
            effects.push(Effect::Send { to, event: Event::Closed });
            self.membership_changed(effects);
            return done();
        }
        let at = self.requests.iter().position(|waiting| target.is(&waiting.presence)).ok_or(Refusal::NotMember)?;
        effects.push(Effect::Dismiss(self.requests.remove(at)));
        done()
    }

    fn close(&mut self, effects: &mut Vec<Effect>) -> (Reply, PartyOutcome) {
        effects.push(Effect::Publish { except: None, event: Event::Closed });
        effects.push(Effect::Dissolve(std::mem::take(&mut self.members)));
        effects.extend(self.requests.drain(..).map(Effect::Dismiss));
        self.membership_changed(effects);
        (Reply::Done, PartyOutcome::Ends)
    }

    fn update(&mut self, settings: Settings, effects: &mut Vec<Effect>) -> Granted {
        if settings.hidden && !settings.label.is_empty() {
            return Err(Refusal::HiddenWithLabel);
        }
        self.settings = settings.clone();
        effects.push(Effect::Publish { except: None, event: Event::Updated(settings) });
        done()
    }
}

fn done() -> Granted {
    Ok((Reply::Done, PartyOutcome::Continues))
}

fn presences(members: &[Member]) -> Vec<Presence> {
    members.iter().map(|member| member.presence.clone()).collect()
}

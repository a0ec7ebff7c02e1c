//! One party: its members, who asks to be one, and who leads.

use super::message::{Effect, Event, Member, Person, Refusal, Reply, Request, Settings, Snapshot};
use crate::session::Millis;

/// A party while anyone is in it.
#[derive(Debug)]
pub(super) struct Party<K> {
    pub(super) settings: Settings,
    pub(super) max_size: u16,
    pub(super) created_at: Millis,
    /// Oldest first; never empty.
    members: Vec<Member<K>>,
    leader: Member<K>,
    /// Longest waiting first.
    requests: Vec<Member<K>>,
    /// Counts the changes of membership.
    membership: u64,
    /// Whether a ticket was issued since membership last changed.
    has_tickets: bool,
}

/// What becomes of the party.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Lives,
    Ends,
}

type Granted<K> = Result<(Reply<K>, Fate), Refusal>;

const DONE: Fate = Fate::Lives;

impl<K: Copy + Eq> Party<K> {
    pub(super) fn new(leader: Member<K>, settings: Settings, max_size: u16, now: Millis) -> Self {
        Self {
            settings,
            max_size,
            created_at: now,
            members: vec![leader.clone()],
            leader,
            requests: Vec::new(),
            membership: 0,
            has_tickets: false,
        }
    }

    /// Carries out a request; nothing changes when it is refused.
    pub(super) fn handle(&mut self, request: Request<K>, effects: &mut Vec<Effect<K>>) -> Granted<K> {
        match request {
            Request::Create { .. } => Err(Refusal::AlreadyExists),
            Request::Join(member) => self.join(member, effects),
            Request::Left(session) => Ok((Reply::Done, self.left(session, effects))),
            Request::Withdraw(session) => {
                self.requests.retain(|waiting| waiting.session != session);
                done()
            }
            Request::Promote { by, target } => self.led_by(by)?.promote(&target, effects),
            Request::Accept { by, target } => self.led_by(by)?.accept(&target, effects),
            Request::Remove { by, target } => self.led_by(by)?.remove(&target, effects),
            Request::Close(by) => Ok(self.led_by(by)?.close(effects)),
            Request::ListRequests(by) => Ok((Reply::Requests(persons(&self.led_by(by)?.requests)), DONE)),
            Request::Update { by, settings } => self.led_by(by)?.update(settings, effects),
            Request::SendData { by, op_code, data } => {
                let sender = self.members.iter().find(|member| member.session == by);
                let sender = sender.ok_or(Refusal::SenderNotMember)?.person.clone();
                if self.members.len() > 1 {
                    effects.push(Effect::Publish { except: Some(by), event: Event::Data { sender, op_code, data } });
                }
                done()
            }
            Request::Matchmake(by) => {
                let Self { members, membership, .. } = self.led_by(by)?;
                Ok((Reply::Matchmaking { members: members.clone(), membership: *membership }, DONE))
            }
            Request::TicketIssued { by, ticket, membership } => {
                if membership != self.membership {
                    return Err(Refusal::MembershipChanged);
                }
                self.has_tickets = true;
                effects.push(Effect::Publish { except: Some(by), event: Event::TicketIssued(ticket) });
                done()
            }
            Request::CheckLeader(by) => self.led_by(by).and_then(|_| done()),
        }
    }

    fn led_by(&mut self, session: K) -> Result<&mut Self, Refusal> {
        if self.leader.session == session { Ok(self) } else { Err(Refusal::NotLeader) }
    }

    fn is_full(&self) -> bool {
        self.members.len() >= usize::from(self.max_size)
    }

    fn join(&mut self, member: Member<K>, effects: &mut Vec<Effect<K>>) -> Granted<K> {
        if self.members.iter().any(|known| known.session == member.session) {
            // Joining twice is as joining once, where joining needs nobody's consent.
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
        if self.requests.iter().any(|waiting| waiting.person.user_id == member.person.user_id) {
            return Err(Refusal::AlreadyRequested);
        }
        let event = Event::JoinRequested(member.person.clone());
        effects.push(Effect::Send { to: self.leader.session, event });
        self.requests.push(member);
        Ok((Reply::Asked, DONE))
    }

    fn admit(&mut self, member: Member<K>, effects: &mut Vec<Effect<K>>) {
        self.requests.retain(|waiting| waiting.session != member.session);
        self.members.push(member.clone());
        let snapshot = Snapshot {
            open: self.settings.open,
            max_size: self.max_size,
            own: member.person.clone(),
            leader: self.leader.person.clone(),
            members: persons(&self.members),
        };
        effects.push(Effect::Send { to: member.session, event: Event::Admitted(snapshot) });
        effects.push(Effect::JoinStream(member));
        self.membership_changed(effects);
    }

    /// A ticket is for exactly those who were members when it was issued.
    fn membership_changed(&mut self, effects: &mut Vec<Effect<K>>) {
        self.membership += 1;
        if std::mem::take(&mut self.has_tickets) {
            effects.push(Effect::CancelTickets);
        }
    }

    fn left(&mut self, session: K, effects: &mut Vec<Effect<K>>) -> Fate {
        let Some(at) = self.members.iter().position(|member| member.session == session) else {
            // Put out before: the stream only confirms it.
            return DONE;
        };
        self.members.remove(at);
        self.membership_changed(effects);
        let Some(oldest) = self.members.first() else { return Fate::Ends };
        if self.leader.session == session {
            self.leader = oldest.clone();
            effects.push(Effect::Publish { except: None, event: Event::Leader(self.leader.person.clone()) });
        }
        DONE
    }

    fn promote(&mut self, target: &Person, effects: &mut Vec<Effect<K>>) -> Granted<K> {
        let member = self.members.iter().find(|member| member.person == *target).ok_or(Refusal::NotMember)?;
        self.leader = member.clone();
        effects.push(Effect::Publish { except: None, event: Event::Leader(self.leader.person.clone()) });
        done()
    }

    fn accept(&mut self, target: &Person, effects: &mut Vec<Effect<K>>) -> Granted<K> {
        if self.is_full() {
            return Err(Refusal::Full);
        }
        let at = self.requests.iter().position(|waiting| waiting.person == *target).ok_or(Refusal::NotRequested)?;
        let member = self.requests.remove(at);
        self.admit(member, effects);
        done()
    }

    fn remove(&mut self, target: &Person, effects: &mut Vec<Effect<K>>) -> Granted<K> {
        if self.leader.person == *target {
            return Err(Refusal::RemoveLeader);
        }
        if let Some(at) = self.members.iter().position(|member| member.person == *target) {
            let session = self.members.remove(at).session;
            effects.push(Effect::LeaveStream(session));
            effects.push(Effect::Send { to: session, event: Event::Closed });
            self.membership_changed(effects);
            return done();
        }
        let at = self.requests.iter().position(|waiting| waiting.person == *target).ok_or(Refusal::NotMember)?;
        self.requests.remove(at);
        done()
    }

    fn close(&mut self, effects: &mut Vec<Effect<K>>) -> (Reply<K>, Fate) {
        effects.push(Effect::Publish { except: None, event: Event::Closed });
        effects.push(Effect::CloseStream);
        self.membership_changed(effects);
        (Reply::Done, Fate::Ends)
    }

    fn update(&mut self, settings: Settings, effects: &mut Vec<Effect<K>>) -> Granted<K> {
        if settings.hidden && !settings.label.is_empty() {
            return Err(Refusal::HiddenWithLabel);
        }
        self.settings = settings.clone();
        effects.push(Effect::Publish { except: None, event: Event::Updated(settings) });
        done()
    }
}

fn done<K>() -> Granted<K> {
    Ok((Reply::Done, DONE))
}

fn persons<K>(members: &[Member<K>]) -> Vec<Person> {
    members.iter().map(|member| member.person.clone()).collect()
}

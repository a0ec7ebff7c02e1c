//! Parties: requests of sockets, and events for members. Tickets of parties belong to the matchmaker.

use std::rc::Rc;

use muster_domain::ids::Uuid;
use muster_live::party::{
    Label, Member, PARTY_SIZE_MAX, PartyAnswer, PartyEvent, PartyRefusal, PartyRequest, Person, Settings, Snapshot,
};
use muster_live::plane::{self, Reply};
use muster_live::stream::mode;
use muster_live::{Plane, Presence, StreamKey, party};
use muster_wire::realtime::envelope::Message;
use muster_wire::realtime::{
    Envelope, Party, PartyAccept, PartyClose, PartyCreate, PartyData, PartyDataSend, PartyJoin, PartyJoinRequest,
    PartyJoinRequestList, PartyLeader, PartyLeave, PartyMatchmakerTicket, PartyPromote, PartyRemove, PartyUpdate,
    UserPresence,
};

use super::events::{Push, user_presence};
use super::{Handled, MessageAnswer, SocketSession, refuse_domain, refuse_input, refuse_join};
use crate::unanswered::stopping;

/// The public id of a party.
pub(crate) fn party_id(stream: &StreamKey, node: &str) -> String {
    format!("{}.{node}", stream.subject)
}

/// The stream of a party.
pub(crate) fn party_stream(id: Uuid) -> StreamKey {
    StreamKey::about(mode::PARTY, id)
}

/// The stream of a public party id.
pub(super) fn parse(session: &SocketSession, party_id: &str) -> Result<StreamKey, PartyRefusal> {
    let (id, node) = party_id.split_once('.').ok_or(PartyRefusal::NotFound)?;
    let id = Uuid::try_parse(id).map_err(|_| PartyRefusal::NotFound)?;
    if node == &*session.app.live_rules.node { Ok(party_stream(id)) } else { Err(PartyRefusal::NotFound) }
}

/// A session as requests name it.
fn person(presence: Option<UserPresence>) -> Option<Person> {
    let UserPresence { user_id, session_id, username, .. } = presence?;
    if username.is_empty() {
        return None;
    }
    Some(Person { user_id: user_id.parse().ok()?, session_id: session_id.parse().ok()?, username: username.into() })
}

pub(super) fn create(session: &Rc<SocketSession>, cid: String, request: PartyCreate) -> Handled {
    let PartyCreate { open, max_size, label, hidden } = request;
    let Some(seats) = u16::try_from(max_size).ok().filter(|seats| *seats <= PARTY_SIZE_MAX) else {
        return refusal(cid, PartyRefusal::BadSize).into();
    };
    let settings = match Label::new(&label) {
        Ok(label) => Settings { open, hidden, label },
        Err(refused) => return refusal(cid, refused).into(),
    };
    if let Err(error) = session.app.live.claim() {
        return super::refuse_domain(cid, &error).into();
    }
    let stream = party_stream(session.app.own_uuid(party_stream));
    let created_at = session.app.clock.now();
    let session = session.clone();
    Handled::later(async move {
        let ask = |leader| PartyRequest::Create { leader, settings, max_size: seats, created_at };
        if let Err(answer) = come(&session, &cid, stream.clone(), ask).await {
            return *answer;
        }
        let own = session.user_presence();
        let created = Party {
            party_id: party_id(&stream, &session.app.live_rules.node),
            open,
            hidden,
            max_size,
            self_: Some(own.clone()),
            leader: Some(own.clone()),
            presences: vec![own],
            label,
        };
        MessageAnswer::Reply(Envelope::reply(cid, Message::Party(created)))
    })
}

pub(super) fn join(session: &Rc<SocketSession>, cid: String, request: &PartyJoin) -> Handled {
    let stream = match parse(session, &request.party_id) {
        Ok(stream) => stream,
        Err(refused) => return refusal(cid, refused).into(),
    };
    let session = session.clone();
    Handled::later(async move {
        match come(&session, &cid, stream, PartyRequest::Join).await {
            Ok(_) => MessageAnswer::Reply(Envelope::acknowledgement(cid)),
            Err(answer) => *answer,
        }
    })
}

/// Leaves a party. Leaving without being in it does nothing, as long as the id could be a party's.
pub(super) fn leave(session: &Rc<SocketSession>, cid: String, request: &PartyLeave) -> Handled {
    let id = request.party_id.split_once('.').and_then(|(id, node)| Some((Uuid::try_parse(id).ok()?, node)));
    match id {
        Some((id, node)) if node == &*session.app.live_rules.node => super::leave(session, cid, party_stream(id)),
        Some(_) => Handled::Now(MessageAnswer::Reply(Envelope::acknowledgement(cid))),
        None => Handled::Now(refusal(cid, PartyRefusal::NotFound)),
    }
}

pub(super) fn promote(session: &Rc<SocketSession>, cid: String, request: PartyPromote) -> Handled {
    about_somebody(session, cid, &request.party_id, request.presence, |by, target| PartyRequest::Promote { by, target })
}

pub(super) fn accept(session: &Rc<SocketSession>, cid: String, request: PartyAccept) -> Handled {
    about_somebody(session, cid, &request.party_id, request.presence, |by, target| PartyRequest::Accept { by, target })
}

pub(super) fn remove(session: &Rc<SocketSession>, cid: String, request: PartyRemove) -> Handled {
    about_somebody(session, cid, &request.party_id, request.presence, |by, target| PartyRequest::Remove { by, target })
}

fn about_somebody(
    session: &Rc<SocketSession>,
    cid: String,
    party_id: &str,
    presence: Option<UserPresence>,
    ask: impl FnOnce(muster_live::SessionRef, Person) -> PartyRequest,
) -> Handled {
    let Some(target) = person(presence) else {
        return refuse_input(cid, "The presence needs a valid user_id and session_id, and a username.").into();
    };
    done(session, cid, party_id, ask(session.session_ref(), target))
}

pub(super) fn close(session: &Rc<SocketSession>, cid: String, request: &PartyClose) -> Handled {
    done(session, cid, &request.party_id, PartyRequest::Close(session.session_ref()))
}

pub(super) fn update(session: &Rc<SocketSession>, cid: String, request: &PartyUpdate) -> Handled {
    let label = match Label::new(&request.label) {
        Ok(label) => label,
        Err(refused) => return refusal(cid, refused).into(),
    };
    let settings = Settings { open: request.open, hidden: request.hidden, label };
    done(session, cid, &request.party_id, PartyRequest::Update { by: session.session_ref(), settings })
}

pub(super) fn list_requests(session: &Rc<SocketSession>, cid: String, request: PartyJoinRequestList) -> Handled {
    let stream = match parse(session, &request.party_id) {
        Ok(stream) => stream,
        Err(refused) => return refusal(cid, refused).into(),
    };
    let session = session.clone();
    Handled::later(async move {
        let waiting = match ask(&session, &cid, stream, PartyRequest::ListRequests(session.session_ref())).await {
            Ok(party::PartyReply::Requests(waiting)) => waiting,
            Ok(_) => Vec::new(),
            Err(answer) => return *answer,
        };
        let presences = waiting.iter().map(user_presence).collect();
        let listed = PartyJoinRequest { party_id: request.party_id, presences };
        MessageAnswer::Reply(Envelope::reply(cid, Message::PartyJoinRequest(listed)))
    })
}

/// Passes data on to the other members, without waiting for the party's owner: the session's shard knows who is in. An
/// island first asks who is there.
pub(super) fn send(session: &Rc<SocketSession>, cid: String, request: PartyDataSend) -> Handled {
    let stream = match parse(session, &request.party_id) {
        Ok(stream) => stream,
        Err(refused) => return refusal(cid, refused).into(),
    };
    let live = &session.app.live;
    if !live.look(|plane| plane.hears(session.key, &stream)) {
        return refusal(cid, PartyRefusal::SenderNotMember).into();
    }
    if !live.look(Plane::is_island) {
        return pass_on(session, cid, stream, request).into();
    }
    let session = session.clone();
    Handled::later(async move {
        match session.app.live.reaches(&stream).await {
            Ok(()) => pass_on(&session, cid, stream, request),
            Err(error) => refuse_domain(cid, &error),
        }
    })
}

fn pass_on(session: &SocketSession, cid: String, stream: StreamKey, request: PartyDataSend) -> MessageAnswer {
    let live = &session.app.live;
    session.pay_for_all(&stream, request.data.len());
    let by = session.session_ref();
    let data = PartyRequest::SendData { by, op_code: request.op_code, data: request.data };
    live.step(|plane, now, out| plane.ask_party(now, stream, data, None, out));
    MessageAnswer::Reply(Envelope::acknowledgement(cid))
}

/// Makes a request whose answer says only that it is done.
fn done(session: &Rc<SocketSession>, cid: String, party_id: &str, request: PartyRequest) -> Handled {
    let stream = match parse(session, party_id) {
        Ok(stream) => stream,
        Err(refused) => return refusal(cid, refused).into(),
    };
    let session = session.clone();
    Handled::later(async move {
        if let Err(error) = session.app.live.reaches(&stream).await {
            return refuse_domain(cid, &error);
        }
        match ask(&session, &cid, stream, request).await {
            Ok(_) => MessageAnswer::Reply(Envelope::acknowledgement(cid)),
            Err(answer) => *answer,
        }
    })
}

async fn come(
    session: &SocketSession,
    cid: &str,
    stream: StreamKey,
    ask: impl FnOnce(Member) -> PartyRequest,
) -> Result<party::PartyReply, Box<MessageAnswer>> {
    let key = session.key;
    let reply = session.app.live.ask_for(key, |plane, now, request, out| {
        plane.come_to_party(now, key, stream, ask, request, out);
    });
    outcome(cid, reply.await)
}

pub(super) async fn ask(
    session: &SocketSession,
    cid: &str,
    stream: StreamKey,
    ask: PartyRequest,
) -> Result<party::PartyReply, Box<MessageAnswer>> {
    let reply = session.app.live.ask(|plane, now, request, out| {
        plane.ask_party(now, stream, ask, Some(request), out);
    });
    outcome(cid, reply.await)
}

fn outcome(cid: &str, reply: Option<Reply>) -> Result<party::PartyReply, Box<MessageAnswer>> {
    match reply {
        Some(Reply::Answer(plane::Answer::Party(PartyAnswer::One(outcome)))) => {
            outcome.map_err(|refused| Box::new(refusal(cid.to_owned(), refused)))
        }
        Some(Reply::Joined(Err(refused))) => Err(Box::new(refuse_join(cid.to_owned(), refused))),
        _ => Err(Box::new(refuse_domain(cid.to_owned(), &stopping()))),
    }
}

pub(super) fn refusal(cid: String, refusal: PartyRefusal) -> MessageAnswer {
    refuse_input(cid, &refusal.to_string())
}

/// An event for members of a party, in the protocol's form.
pub fn event(stream: &StreamKey, node: &str, event: PartyEvent) -> Push {
    let party_id = party_id(stream, node);
    let presence = |presence: &Presence| Some(user_presence(presence));
    Push::new(match event {
        // The label and whether the party hides are left out, as in the original.
        PartyEvent::Admitted(Snapshot { open, max_size, own, leader, members }) => Message::Party(Party {
            party_id,
            open,
            max_size: max_size.into(),
            self_: presence(&own),
            leader: presence(&leader),
            presences: members.iter().map(user_presence).collect(),
            ..Party::default()
        }),
        PartyEvent::JoinRequested(who) => {
            Message::PartyJoinRequest(PartyJoinRequest { party_id, presences: vec![user_presence(&who)] })
        }
        PartyEvent::Leader(leader) => Message::PartyLeader(PartyLeader { party_id, presence: presence(&leader) }),
        PartyEvent::Closed => Message::PartyClose(PartyClose { party_id }),
        PartyEvent::Updated(Settings { open, hidden, label }) => {
            Message::PartyUpdate(PartyUpdate { party_id, label: label.as_given().to_owned(), open, hidden })
        }
        PartyEvent::Data { sender, op_code, data } => {
            Message::PartyData(PartyData { party_id, presence: presence(&sender), op_code, data })
        }
        PartyEvent::TicketIssued(ticket) => {
            Message::PartyMatchmakerTicket(PartyMatchmakerTicket { party_id, ticket: ticket.to_string() })
        }
    })
}

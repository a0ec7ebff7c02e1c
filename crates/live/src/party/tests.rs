//! Parties as their members see them: requests on the left, replies and effects as short texts on the right.

mod listing;

use bytes::Bytes;
use muster_domain::Timestamp;
use muster_domain::ids::{SessionId, TokenId, UserId, Uuid};

use super::*;
use crate::plane::Listener;
use crate::registry::{Registry, SessionInfo};
use crate::stream::{Encoding, Presence, SessionRef};

const PARTY: PartyId = PartyId(Uuid::from_u128(7));

/// A member by the letter of its session. Each session belongs to its own user unless a test says otherwise.
fn member(session: char) -> Member {
    session_of(session, session)
}

fn session_of(letter: char, user: char) -> Member {
    let session = session(letter);
    let presence = Presence {
        session,
        session_id: SessionId(Uuid::from_u128(letter as u128)),
        user_id: UserId(Uuid::from_u128(user as u128)),
        username: user.to_string().into(),
        hidden: false,
        persistence: false,
        status: None,
        only_session_since: None,
    };
    Member { presence, listener: Listener { session, encoding: Encoding::Json, serial: 1 } }
}

/// The session of a letter. A registry gives out keys in order, so the first session gets the key of `a`.
fn session(letter: char) -> SessionRef {
    let info = || SessionInfo {
        session_id: SessionId(Uuid::nil()),
        user_id: UserId(Uuid::nil()),
        token_id: TokenId::issued(Timestamp::from_seconds(0), [0; 8]),
        issued_at_sec: 0,
        only_session_since: None,
    };
    let mut registry = Registry::default();
    let keys: Vec<_> = ('a'..=letter).map(|_| registry.open(info(), ())).collect();
    SessionRef { place: crate::Place::from(0), key: keys[keys.len() - 1] }
}

fn letter(session: SessionRef) -> char {
    char::from(b'a' + session.key.index() as u8)
}

fn person(session: char) -> Person {
    let Presence { session_id, user_id, username, .. } = member(session).presence;
    Person { session_id, user_id, username }
}

fn settings(open: bool) -> Settings {
    Settings { open, hidden: false, label: Label::default() }
}

/// Asks the party and returns "reply: effect, effect" in short.
fn ask(parties: &mut Parties, request: PartyRequest) -> String {
    let mut effects = Vec::new();
    let reply = match parties.handle(PARTY, request, &mut effects) {
        Ok(PartyReply::Done) => "done".to_owned(),
        Ok(PartyReply::Asked) => "asked".to_owned(),
        Ok(PartyReply::Requests(waiting)) => format!("waiting {}", names(&waiting)),
        Ok(PartyReply::Matchmaking { members, membership }) => {
            format!("{} at {membership}", letters(&members))
        }
        Err(refusal) => {
            assert_eq!(effects, [], "a refusal has no effects");
            return format!("{refusal:?}");
        }
    };
    let effects: Vec<String> = effects.iter().map(effect_text).collect();
    if effects.is_empty() { reply } else { format!("{reply}: {}", effects.join(", ")) }
}

fn names(presences: &[Presence]) -> String {
    presences.iter().map(name).collect()
}

fn name(presence: &Presence) -> char {
    letter(presence.session)
}

fn letters(members: &[Member]) -> String {
    members.iter().map(|member| letter(member.session())).collect()
}

fn effect_text(effect: &PartyEffect) -> String {
    match effect {
        PartyEffect::Enter(member, told) => {
            let told = told.as_ref().map(|event| format!(" < {}", event_text(event)));
            format!("+{}{}", letter(member.session()), told.unwrap_or_default())
        }
        PartyEffect::Expel(member) => format!("-{}", letter(member.session())),
        PartyEffect::Dissolve(members) => format!("-{} unseen", letters(members)),
        PartyEffect::Dismiss(member) => format!("{} waits no more", letter(member.session())),
        PartyEffect::Send { to, event } => format!("{} < {}", letter(*to), event_text(event)),
        PartyEffect::Publish { except: None, event } => format!("all < {}", event_text(event)),
        PartyEffect::Publish { except: Some(session), event } => {
            format!("all but {} < {}", letter(*session), event_text(event))
        }
        PartyEffect::CancelTickets => "cancel tickets".to_owned(),
    }
}

fn event_text(event: &PartyEvent) -> String {
    match event {
        PartyEvent::Admitted(snapshot) => {
            assert!(snapshot.members.contains(&snapshot.own));
            let Snapshot { own, leader, members, .. } = snapshot;
            format!("in as {} with {} under {}", name(own), names(members), name(leader))
        }
        PartyEvent::JoinRequested(person) => format!("{} asks", name(person)),
        PartyEvent::Leader(person) => format!("{} leads", name(person)),
        PartyEvent::Closed => "closed".to_owned(),
        PartyEvent::Updated(settings) => format!("open={} {}", settings.open, settings.label.as_given()),
        PartyEvent::Data { sender, op_code, data } => {
            format!("{} from {} with {op_code}", String::from_utf8_lossy(data), name(sender))
        }
        PartyEvent::TicketIssued(ticket) => format!("ticket {ticket}"),
    }
}

/// A party with `max_size` seats that `a` leads; `others` joined in this order.
fn party_of(max_size: u16, open: bool, others: &str) -> Parties {
    let mut parties = Parties::default();
    create(&mut parties, 'a', max_size, open);
    for other in others.chars() {
        ask(&mut parties, PartyRequest::Join(member(other)));
        if !open {
            ask(&mut parties, PartyRequest::Accept { by: session('a'), target: person(other) });
        }
    }
    parties
}

fn create(parties: &mut Parties, leader: char, max_size: u16, open: bool) -> String {
    ask(
        parties,
        PartyRequest::Create { leader: member(leader), settings: settings(open), max_size, created_at: Timestamp(0) },
    )
}

fn accept(by: char, target: char) -> PartyRequest {
    PartyRequest::Accept { by: session(by), target: person(target) }
}

fn remove(by: char, target: char) -> PartyRequest {
    PartyRequest::Remove { by: session(by), target: person(target) }
}

#[test]
fn creating() {
    let mut parties = Parties::default();
    assert_eq!(create(&mut parties, 'a', PARTY_SIZE_MAX + 1, true), "BadSize");
    assert!(parties.is_empty());
    assert_eq!(create(&mut parties, 'a', PARTY_SIZE_MAX, true), "done: +a");
    assert_eq!(create(&mut parties, 'b', 4, true), "AlreadyExists");
    assert_eq!(parties.len(), 1);
}

#[test]
fn an_open_party_is_joined_directly_until_it_is_full() {
    let mut parties = party_of(3, true, "b");
    assert_eq!(ask(&mut parties, PartyRequest::Join(member('c'))), "done: +c < in as c with abc under a");
    assert_eq!(ask(&mut parties, PartyRequest::Join(member('d'))), "Full");
    assert_eq!(ask(&mut parties, PartyRequest::Join(member('b'))), "done");
    // A second session of the same user takes a seat of its own.
    ask(&mut parties, PartyRequest::Leave(session('c')));
    assert_eq!(ask(&mut parties, PartyRequest::Join(session_of('d', 'a'))), "done: +d < in as d with abd under a");
}

#[test]
fn a_party_without_seats_holds_its_leader_alone() {
    for (max_size, open) in [(0, true), (0, false), (1, true), (1, false)] {
        let mut parties = party_of(max_size, open, "");
        assert_eq!(ask(&mut parties, PartyRequest::Join(member('b'))), "Full");
        assert_eq!(ask(&mut parties, PartyRequest::Leave(session('a'))), "done");
        assert!(parties.is_empty());
    }
}

#[test]
fn a_closed_party_asks_its_leader() {
    let mut parties = party_of(2, false, "");
    assert_eq!(ask(&mut parties, PartyRequest::Join(member('b'))), "asked: a < b asks");
    assert_eq!(ask(&mut parties, PartyRequest::Join(member('b'))), "AlreadyRequested");
    assert_eq!(ask(&mut parties, PartyRequest::Join(session_of('x', 'b'))), "AlreadyRequested");
    assert_eq!(ask(&mut parties, PartyRequest::Join(member('c'))), "asked: a < c asks");
    assert_eq!(ask(&mut parties, PartyRequest::Join(member('d'))), "RequestsFull");
    assert_eq!(ask(&mut parties, PartyRequest::ListRequests(session('a'))), "waiting bc");
    assert_eq!(ask(&mut parties, accept('a', 'd')), "NotRequested");
    assert_eq!(ask(&mut parties, accept('a', 'c')), "done: +c < in as c with ac under a");
    assert_eq!(ask(&mut parties, PartyRequest::ListRequests(session('a'))), "waiting b");
    assert_eq!(ask(&mut parties, PartyRequest::Join(member('c'))), "AlreadyMember");
    assert_eq!(ask(&mut parties, accept('a', 'b')), "Full");
    assert_eq!(ask(&mut parties, remove('a', 'b')), "done: b waits no more");
    assert_eq!(ask(&mut parties, PartyRequest::ListRequests(session('a'))), "waiting ");
}

#[test]
fn whoever_waits_for_a_party_that_ends_waits_no_more() {
    let mut left = party_of(4, false, "");
    ask(&mut left, PartyRequest::Join(member('b')));
    assert_eq!(ask(&mut left, PartyRequest::Leave(session('a'))), "done: b waits no more");
    let mut closed = party_of(4, false, "b");
    ask(&mut closed, PartyRequest::Join(member('c')));
    assert_eq!(ask(&mut closed, PartyRequest::Close(session('a'))), "done: all < closed, -ab unseen, c waits no more");
}

#[test]
fn two_joiners_for_the_last_seat() {
    let mut open = party_of(2, true, "");
    assert_eq!(ask(&mut open, PartyRequest::Join(member('b'))), "done: +b < in as b with ab under a");
    assert_eq!(ask(&mut open, PartyRequest::Join(member('c'))), "Full");
    // The leader accepts one session while another joins by itself, since the party was opened meanwhile.
    let mut opened = party_of(2, false, "");
    ask(&mut opened, PartyRequest::Join(member('b')));
    ask(&mut opened, PartyRequest::Update { by: session('a'), settings: settings(true) });
    ask(&mut opened, PartyRequest::Join(member('c')));
    assert_eq!(ask(&mut opened, accept('a', 'b')), "Full");
    // A session that waited and then joins by itself no longer waits.
    ask(&mut opened, PartyRequest::Leave(session('c')));
    assert_eq!(ask(&mut opened, PartyRequest::Join(member('b'))), "done: +b < in as b with ab under a");
    assert_eq!(ask(&mut opened, PartyRequest::ListRequests(session('a'))), "waiting ");
}

#[test]
fn requests_wait_for_the_next_leader() {
    let mut parties = party_of(4, false, "b");
    ask(&mut parties, PartyRequest::Join(member('c')));
    assert_eq!(ask(&mut parties, PartyRequest::Leave(session('a'))), "done: all < b leads");
    assert_eq!(ask(&mut parties, accept('a', 'c')), "NotLeader");
    assert_eq!(ask(&mut parties, PartyRequest::ListRequests(session('b'))), "waiting c");
    assert_eq!(ask(&mut parties, accept('b', 'c')), "done: +c < in as c with bc under b");
}

#[test]
fn who_asked_and_went_does_not_wait() {
    let mut parties = party_of(2, false, "");
    ask(&mut parties, PartyRequest::Join(member('b')));
    assert_eq!(ask(&mut parties, PartyRequest::Leave(session('b'))), "done");
    assert_eq!(ask(&mut parties, accept('a', 'b')), "NotRequested");
    // The leader's list of requests has room again.
    assert_eq!(ask(&mut parties, PartyRequest::Join(member('b'))), "asked: a < b asks");
}

#[test]
fn the_oldest_member_follows_a_leader_who_is_gone() {
    let mut parties = party_of(4, true, "bcd");
    assert_eq!(ask(&mut parties, PartyRequest::Leave(session('b'))), "done");
    assert_eq!(ask(&mut parties, PartyRequest::Leave(session('a'))), "done: all < c leads");
    assert_eq!(ask(&mut parties, PartyRequest::Leave(session('a'))), "done");
    assert_eq!(ask(&mut parties, PartyRequest::Leave(session('d'))), "done");
    assert_eq!(ask(&mut parties, PartyRequest::Leave(session('c'))), "done");
    assert!(parties.is_empty());
    assert_eq!(ask(&mut parties, PartyRequest::Join(member('b'))), "NotFound");
    assert_eq!(ask(&mut parties, PartyRequest::Leave(session('b'))), "done");
}

#[test]
fn promoting() {
    let mut parties = party_of(3, true, "bc");
    assert_eq!(ask(&mut parties, PartyRequest::Promote { by: session('b'), target: person('b') }), "NotLeader");
    assert_eq!(ask(&mut parties, PartyRequest::Promote { by: session('a'), target: person('x') }), "NotMember");
    let renamed = Person { username: "someone".into(), ..person('c') };
    assert_eq!(ask(&mut parties, PartyRequest::Promote { by: session('a'), target: renamed }), "NotMember");
    assert_eq!(
        ask(&mut parties, PartyRequest::Promote { by: session('a'), target: person('c') }),
        "done: all < c leads"
    );
    assert_eq!(ask(&mut parties, PartyRequest::Promote { by: session('a'), target: person('a') }), "NotLeader");
    // The former leader is an ordinary member: it leaves without a change of leader.
    assert_eq!(ask(&mut parties, PartyRequest::Leave(session('a'))), "done");
}

#[test]
fn removing() {
    let mut parties = party_of(3, true, "bc");
    assert_eq!(ask(&mut parties, remove('b', 'c')), "NotLeader");
    assert_eq!(ask(&mut parties, remove('a', 'a')), "RemoveLeader");
    assert_eq!(ask(&mut parties, remove('a', 'x')), "NotMember");
    assert_eq!(ask(&mut parties, remove('a', 'b')), "done: -b, b < closed");
    // The plane reports the leave that the removal itself caused.
    assert_eq!(ask(&mut parties, PartyRequest::Leave(session('b'))), "done");
    assert_eq!(ask(&mut parties, PartyRequest::Join(member('b'))), "done: +b < in as b with acb under a");
}

#[test]
fn closing() {
    let mut parties = party_of(3, true, "b");
    assert_eq!(ask(&mut parties, PartyRequest::Close(session('b'))), "NotLeader");
    assert_eq!(ask(&mut parties, PartyRequest::Close(session('a'))), "done: all < closed, -ab unseen");
    assert!(parties.is_empty());
    assert_eq!(ask(&mut parties, PartyRequest::Close(session('a'))), "NotFound");
}

#[test]
fn data_goes_to_the_others() {
    let mut parties = party_of(3, true, "");
    let data = |by| PartyRequest::SendData { by: session(by), op_code: i64::MIN, data: Bytes::from("hello") };
    assert_eq!(ask(&mut parties, data('a')), "done");
    ask(&mut parties, PartyRequest::Join(member('b')));
    assert_eq!(ask(&mut parties, data('b')), "done: all but b < hello from b with -9223372036854775808");
    assert_eq!(ask(&mut parties, data('c')), "SenderNotMember");
}

#[test]
fn updating() {
    let mut parties = party_of(3, true, "b");
    let update = |by, hidden, label| {
        let label = Label::new(label).expect("the label is good");
        PartyRequest::Update { by: session(by), settings: Settings { open: false, hidden, label } }
    };
    assert_eq!(ask(&mut parties, update('b', false, "")), "NotLeader");
    assert_eq!(ask(&mut parties, update('a', true, r#"{"a":1}"#)), "HiddenWithLabel");
    assert_eq!(ask(&mut parties, update('a', true, "{}")), "done: all < open=false {}");
    assert_eq!(ask(&mut parties, update('a', false, r#"{"a":1}"#)), r#"done: all < open=false {"a":1}"#);
    assert_eq!(ask(&mut parties, PartyRequest::Join(member('c'))), "asked: a < c asks");
}

#[test]
fn labels() {
    let check = |text: &str| Label::new(text).map(|label| label.as_json().to_owned());
    assert_eq!(check(""), Ok("{}".to_owned()));
    assert_eq!(check(r#" {"a":[1]}"#), Ok(r#" {"a":[1]}"#.to_owned()));
    assert_eq!(check("[]"), Err(PartyRefusal::LabelNotObject));
    assert_eq!(check("{"), Err(PartyRefusal::LabelNotObject));
    let long = |bytes: usize| format!(r#"{{"a":"{}"}}"#, "x".repeat(bytes - 8));
    assert_eq!(check(&long(LABEL_BYTES_MAX)), Ok(long(LABEL_BYTES_MAX)));
    assert_eq!(check(&long(LABEL_BYTES_MAX + 1)), Err(PartyRefusal::LabelTooLong));
}

#[test]
fn tickets_hold_for_the_members_they_were_issued_for() {
    let mut parties = party_of(4, true, "b");
    let issued = |membership| PartyRequest::TicketIssued { by: session('a'), ticket: "t".into(), membership };
    assert_eq!(ask(&mut parties, PartyRequest::Matchmake(session('b'))), "NotLeader");
    assert_eq!(ask(&mut parties, PartyRequest::CheckLeader(session('b'))), "NotLeader");
    assert_eq!(ask(&mut parties, PartyRequest::CheckLeader(session('a'))), "done");
    assert_eq!(ask(&mut parties, PartyRequest::Matchmake(session('a'))), "ab at 1");
    assert_eq!(ask(&mut parties, issued(1)), "done: all but a < ticket t");
    assert_eq!(
        ask(&mut parties, PartyRequest::Join(member('c'))),
        "done: +c < in as c with abc under a, cancel tickets"
    );
    // There is no ticket left to cancel.
    assert_eq!(ask(&mut parties, PartyRequest::Leave(session('c'))), "done");
    // A member left while the matchmaker worked, so the ticket is for other members than the party has now.
    assert_eq!(ask(&mut parties, PartyRequest::Matchmake(session('a'))), "ab at 3");
    assert_eq!(ask(&mut parties, PartyRequest::Leave(session('b'))), "done");
    assert_eq!(ask(&mut parties, issued(3)), "MembershipChanged");
    let by_nobody = PartyRequest::TicketIssued { by: session('b'), ticket: "t".into(), membership: 4 };
    assert_eq!(ask(&mut parties, PartyRequest::Matchmake(session('a'))), "a at 4");
    assert_eq!(ask(&mut parties, by_nobody), "MembershipChanged");
    // All members leave, one way or another.
    assert_eq!(ask(&mut parties, issued(4)), "done: all but a < ticket t");
    assert_eq!(ask(&mut parties, PartyRequest::Leave(session('a'))), "done: cancel tickets");
    assert!(parties.is_empty());
}

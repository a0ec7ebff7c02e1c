//! Parties as their members see them: requests on the left, replies and effects as short texts on the right.

use bytes::Bytes;
use muster_domain::ids::{SessionId, UserId, Uuid};

use super::*;

const PARTY: PartyId = PartyId(Uuid::from_u128(7));

/// Sessions are single letters here; each belongs to a user of its own unless a test says otherwise.
fn member(session: char) -> Member<char> {
    session_of(session, session)
}

fn session_of(session: char, user: char) -> Member<char> {
    let id = |letter: char| Uuid::from_u128(letter as u128);
    let person =
        Person { session_id: SessionId(id(session)), user_id: UserId(id(user)), username: user.to_string().into() };
    Member { session, person }
}

fn person(session: char) -> Person {
    member(session).person
}

fn settings(open: bool) -> Settings {
    Settings { open, hidden: false, label: Label::default() }
}

/// Answers "reply: effect, effect" in short.
fn ask(parties: &mut Parties<char>, request: Request<char>) -> String {
    let mut effects = Vec::new();
    let reply = match parties.handle(PARTY, request, 0, &mut effects) {
        Ok(Reply::Done) => "done".to_owned(),
        Ok(Reply::Asked) => "asked".to_owned(),
        Ok(Reply::Requests(waiting)) => format!("waiting {}", names(&waiting)),
        Ok(Reply::Matchmaking { members, membership }) => {
            let members: Vec<Person> = members.into_iter().map(|member| member.person).collect();
            format!("{} at {membership}", names(&members))
        }
        Err(refusal) => {
            assert_eq!(effects, [], "a refusal has no effects");
            return format!("{refusal:?}");
        }
    };
    let effects: Vec<String> = effects.iter().map(effect_text).collect();
    if effects.is_empty() { reply } else { format!("{reply}: {}", effects.join(", ")) }
}

fn names(persons: &[Person]) -> String {
    persons.iter().map(name).collect()
}

/// The letter of the session id.
fn name(person: &Person) -> char {
    char::from(person.session_id.0.as_u128() as u8)
}

fn effect_text(effect: &Effect<char>) -> String {
    match effect {
        Effect::JoinStream(member) => format!("+{}", member.session),
        Effect::LeaveStream(session) => format!("-{session}"),
        Effect::CloseStream => "-all".to_owned(),
        Effect::Send { to, event } => format!("{to} < {}", event_text(event)),
        Effect::Publish { except: None, event } => format!("all < {}", event_text(event)),
        Effect::Publish { except: Some(session), event } => format!("all but {session} < {}", event_text(event)),
        Effect::CancelTickets => "cancel tickets".to_owned(),
    }
}

fn event_text(event: &Event) -> String {
    match event {
        Event::Admitted(snapshot) => {
            assert!(snapshot.members.contains(&snapshot.own));
            let Snapshot { own, leader, members, .. } = snapshot;
            format!("in as {} with {} under {}", name(own), names(members), name(leader))
        }
        Event::JoinRequested(person) => format!("{} asks", name(person)),
        Event::Leader(person) => format!("{} leads", name(person)),
        Event::Closed => "closed".to_owned(),
        Event::Updated(settings) => format!("open={} {}", settings.open, settings.label.as_given()),
        Event::Data { sender, op_code, data } => {
            format!("{} from {} with {op_code}", String::from_utf8_lossy(data), name(sender))
        }
        Event::TicketIssued(ticket) => format!("ticket {ticket}"),
    }
}

/// A party of `max_size` led by `a`, into which `others` came in this order.
fn party_of(max_size: u16, open: bool, others: &str) -> Parties<char> {
    let mut parties = Parties::default();
    create(&mut parties, 'a', max_size, open);
    for other in others.chars() {
        ask(&mut parties, Request::Join(member(other)));
        if !open {
            ask(&mut parties, Request::Accept { by: 'a', target: person(other) });
        }
    }
    parties
}

fn create(parties: &mut Parties<char>, leader: char, max_size: u16, open: bool) -> String {
    ask(parties, Request::Create { leader: member(leader), settings: settings(open), max_size })
}

fn accept(by: char, target: char) -> Request<char> {
    Request::Accept { by, target: person(target) }
}

fn remove(by: char, target: char) -> Request<char> {
    Request::Remove { by, target: person(target) }
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
    assert_eq!(ask(&mut parties, Request::Join(member('c'))), "done: c < in as c with abc under a, +c");
    assert_eq!(ask(&mut parties, Request::Join(member('d'))), "Full");
    assert_eq!(ask(&mut parties, Request::Join(member('b'))), "done");
    // Another socket of the same user takes a seat of its own.
    ask(&mut parties, Request::Left('c'));
    assert_eq!(ask(&mut parties, Request::Join(session_of('d', 'a'))), "done: d < in as d with abd under a, +d");
}

#[test]
fn a_party_without_seats_holds_its_leader_alone() {
    for (max_size, open) in [(0, true), (0, false), (1, true), (1, false)] {
        let mut parties = party_of(max_size, open, "");
        assert_eq!(ask(&mut parties, Request::Join(member('b'))), "Full");
        assert_eq!(ask(&mut parties, Request::Left('a')), "done");
        assert!(parties.is_empty());
    }
}

#[test]
fn a_closed_party_asks_its_leader() {
    let mut parties = party_of(2, false, "");
    assert_eq!(ask(&mut parties, Request::Join(member('b'))), "asked: a < b asks");
    assert_eq!(ask(&mut parties, Request::Join(member('b'))), "AlreadyRequested");
    assert_eq!(ask(&mut parties, Request::Join(session_of('x', 'b'))), "AlreadyRequested");
    assert_eq!(ask(&mut parties, Request::Join(member('c'))), "asked: a < c asks");
    assert_eq!(ask(&mut parties, Request::Join(member('d'))), "RequestsFull");
    assert_eq!(ask(&mut parties, Request::ListRequests('a')), "waiting bc");
    assert_eq!(ask(&mut parties, accept('a', 'd')), "NotRequested");
    assert_eq!(ask(&mut parties, accept('a', 'c')), "done: c < in as c with ac under a, +c");
    assert_eq!(ask(&mut parties, Request::ListRequests('a')), "waiting b");
    assert_eq!(ask(&mut parties, Request::Join(member('c'))), "AlreadyMember");
    assert_eq!(ask(&mut parties, accept('a', 'b')), "Full");
    assert_eq!(ask(&mut parties, remove('a', 'b')), "done");
    assert_eq!(ask(&mut parties, Request::ListRequests('a')), "waiting ");
}

#[test]
fn two_joiners_for_the_last_seat() {
    let mut open = party_of(2, true, "");
    assert_eq!(ask(&mut open, Request::Join(member('b'))), "done: b < in as b with ab under a, +b");
    assert_eq!(ask(&mut open, Request::Join(member('c'))), "Full");
    // Accepting one while the other comes in by itself, because the party was opened meanwhile.
    let mut opened = party_of(2, false, "");
    ask(&mut opened, Request::Join(member('b')));
    ask(&mut opened, Request::Update { by: 'a', settings: settings(true) });
    ask(&mut opened, Request::Join(member('c')));
    assert_eq!(ask(&mut opened, accept('a', 'b')), "Full");
    // Who waited and comes in by itself waits no more.
    ask(&mut opened, Request::Left('c'));
    assert_eq!(ask(&mut opened, Request::Join(member('b'))), "done: b < in as b with ab under a, +b");
    assert_eq!(ask(&mut opened, Request::ListRequests('a')), "waiting ");
}

#[test]
fn requests_wait_for_the_next_leader() {
    let mut parties = party_of(4, false, "b");
    ask(&mut parties, Request::Join(member('c')));
    assert_eq!(ask(&mut parties, Request::Left('a')), "done: all < b leads");
    assert_eq!(ask(&mut parties, accept('a', 'c')), "NotLeader");
    assert_eq!(ask(&mut parties, Request::ListRequests('b')), "waiting c");
    assert_eq!(ask(&mut parties, accept('b', 'c')), "done: c < in as c with bc under b, +c");
}

#[test]
fn who_asked_and_went_does_not_wait() {
    let mut parties = party_of(2, false, "");
    ask(&mut parties, Request::Join(member('b')));
    assert_eq!(ask(&mut parties, Request::Withdraw('b')), "done");
    assert_eq!(ask(&mut parties, accept('a', 'b')), "NotRequested");
    // Its seat among the requests is free again.
    assert_eq!(ask(&mut parties, Request::Join(member('b'))), "asked: a < b asks");
}

#[test]
fn the_oldest_member_follows_a_leader_who_is_gone() {
    let mut parties = party_of(4, true, "bcd");
    assert_eq!(ask(&mut parties, Request::Left('b')), "done");
    assert_eq!(ask(&mut parties, Request::Left('a')), "done: all < c leads");
    assert_eq!(ask(&mut parties, Request::Left('a')), "done");
    assert_eq!(ask(&mut parties, Request::Left('d')), "done");
    assert_eq!(ask(&mut parties, Request::Left('c')), "done");
    assert!(parties.is_empty());
    assert_eq!(ask(&mut parties, Request::Join(member('b'))), "NotFound");
    assert_eq!(ask(&mut parties, Request::Left('b')), "done");
}

#[test]
fn promoting() {
    let mut parties = party_of(3, true, "bc");
    assert_eq!(ask(&mut parties, Request::Promote { by: 'b', target: person('b') }), "NotLeader");
    assert_eq!(ask(&mut parties, Request::Promote { by: 'a', target: person('x') }), "NotMember");
    let renamed = Person { username: "someone".into(), ..person('c') };
    assert_eq!(ask(&mut parties, Request::Promote { by: 'a', target: renamed }), "NotMember");
    assert_eq!(ask(&mut parties, Request::Promote { by: 'a', target: person('c') }), "done: all < c leads");
    assert_eq!(ask(&mut parties, Request::Promote { by: 'a', target: person('a') }), "NotLeader");
    // The old leader is a member like any other: it leaves without a change at the top.
    assert_eq!(ask(&mut parties, Request::Left('a')), "done");
}

#[test]
fn removing() {
    let mut parties = party_of(3, true, "bc");
    assert_eq!(ask(&mut parties, remove('b', 'c')), "NotLeader");
    assert_eq!(ask(&mut parties, remove('a', 'a')), "RemoveLeader");
    assert_eq!(ask(&mut parties, remove('a', 'x')), "NotMember");
    assert_eq!(ask(&mut parties, remove('a', 'b')), "done: -b, b < closed");
    // The stream reports the leave that the removal itself caused.
    assert_eq!(ask(&mut parties, Request::Left('b')), "done");
    assert_eq!(ask(&mut parties, Request::Join(member('b'))), "done: b < in as b with acb under a, +b");
}

#[test]
fn closing() {
    let mut parties = party_of(3, true, "b");
    assert_eq!(ask(&mut parties, Request::Close('b')), "NotLeader");
    assert_eq!(ask(&mut parties, Request::Close('a')), "done: all < closed, -all");
    assert!(parties.is_empty());
    assert_eq!(ask(&mut parties, Request::Close('a')), "NotFound");
}

#[test]
fn data_goes_to_the_others() {
    let mut parties = party_of(3, true, "");
    let data = |by| Request::SendData { by, op_code: i64::MIN, data: Bytes::from("hello") };
    assert_eq!(ask(&mut parties, data('a')), "done");
    ask(&mut parties, Request::Join(member('b')));
    assert_eq!(ask(&mut parties, data('b')), "done: all but b < hello from b with -9223372036854775808");
    assert_eq!(ask(&mut parties, data('c')), "SenderNotMember");
}

#[test]
fn updating() {
    let mut parties = party_of(3, true, "b");
    let update = |by, hidden, label| {
        let label = Label::new(label).expect("the label is good");
        Request::Update { by, settings: Settings { open: false, hidden, label } }
    };
    assert_eq!(ask(&mut parties, update('b', false, "")), "NotLeader");
    assert_eq!(ask(&mut parties, update('a', true, r#"{"a":1}"#)), "HiddenWithLabel");
    assert_eq!(ask(&mut parties, update('a', true, "{}")), "done: all < open=false {}");
    assert_eq!(ask(&mut parties, update('a', false, r#"{"a":1}"#)), r#"done: all < open=false {"a":1}"#);
    assert_eq!(ask(&mut parties, Request::Join(member('c'))), "asked: a < c asks");
}

#[test]
fn labels() {
    let check = |text: &str| Label::new(text).map(|label| label.as_json().to_owned());
    assert_eq!(check(""), Ok("{}".to_owned()));
    assert_eq!(check(r#" {"a":[1]}"#), Ok(r#" {"a":[1]}"#.to_owned()));
    assert_eq!(check("[]"), Err(Refusal::LabelNotObject));
    assert_eq!(check("{"), Err(Refusal::LabelNotObject));
    let long = |bytes: usize| format!(r#"{{"a":"{}"}}"#, "x".repeat(bytes - 8));
    assert_eq!(check(&long(LABEL_BYTES_MAX)), Ok(long(LABEL_BYTES_MAX)));
    assert_eq!(check(&long(LABEL_BYTES_MAX + 1)), Err(Refusal::LabelTooLong));
}

#[test]
fn tickets_hold_for_the_members_they_were_issued_for() {
    let mut parties = party_of(4, true, "b");
    let issued = |membership| Request::TicketIssued { by: 'a', ticket: "t".into(), membership };
    assert_eq!(ask(&mut parties, Request::Matchmake('b')), "NotLeader");
    assert_eq!(ask(&mut parties, Request::CheckLeader('b')), "NotLeader");
    assert_eq!(ask(&mut parties, Request::CheckLeader('a')), "done");
    assert_eq!(ask(&mut parties, Request::Matchmake('a')), "ab at 1");
    assert_eq!(ask(&mut parties, issued(1)), "done: all but a < ticket t");
    assert_eq!(ask(&mut parties, Request::Join(member('c'))), "done: c < in as c with abc under a, +c, cancel tickets");
    // Nothing to cancel any more.
    assert_eq!(ask(&mut parties, Request::Left('c')), "done");
    // A member left while the matchmaker worked: the ticket is for another party than this is now.
    assert_eq!(ask(&mut parties, Request::Matchmake('a')), "ab at 3");
    assert_eq!(ask(&mut parties, Request::Left('b')), "done");
    assert_eq!(ask(&mut parties, issued(3)), "MembershipChanged");
    // All leave, one way or another.
    assert_eq!(ask(&mut parties, issued(4)), "done: all but a < ticket t");
    assert_eq!(ask(&mut parties, Request::Left('a')), "done: cancel tickets");
    assert!(parties.is_empty());
}

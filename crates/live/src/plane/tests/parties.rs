//! Tests of parties whose members are on several shards.

mod random;

use super::*;
use crate::party::PartyAnswer;
use crate::party::{Label, Member, PartyEvent, PartyRefusal, PartyRequest, Person, Settings};
use crate::plane;

/// An event for members, in short: `[in 12 under 1]`.
#[derive(Debug)]
pub(super) struct PartyText(pub PartyEvent);

impl Payload for PartyText {
    fn write(&self, _encoding: Encoding, out: &mut Vec<u8>) {
        let text = match &self.0 {
            PartyEvent::Admitted(snapshot) => {
                let members: String = snapshot.members.iter().map(|member| &*member.username).collect();
                format!("[in {members} under {}]", snapshot.leader.username)
            }
            PartyEvent::JoinRequested(presence) => format!("[{} asks]", presence.username),
            PartyEvent::Leader(presence) => format!("[{} leads]", presence.username),
            PartyEvent::Closed => "[closed]".to_owned(),
            PartyEvent::Updated(settings) => format!("[open={}]", settings.open),
            PartyEvent::Data { sender, op_code, .. } => format!("[{op_code} from {}]", sender.username),
            PartyEvent::TicketIssued(ticket) => format!("[ticket {ticket}]"),
        };
        out.extend_from_slice(text.as_bytes());
    }
}

type Answer = Result<party::PartyReply, PartyRefusal>;

const DONE: Answer = Ok(party::PartyReply::Done);

impl World {
    fn come(&mut self, session: SessionRef, ask: impl FnOnce(Member) -> PartyRequest) -> Answer {
        self.begin_to_come(session, ask);
        self.settle();
        self.answer()
    }

    fn begin_to_come(&mut self, session: SessionRef, ask: impl FnOnce(Member) -> PartyRequest) {
        self.step(session.place.shard(), |plane, now, out| {
            let request = plane.request();
            plane.come_to_party(now, session.key, party_stream(), ask, request, out);
        });
    }

    fn ask(&mut self, session: SessionRef, ask: PartyRequest) -> Answer {
        self.begin_to_ask(session, ask);
        self.settle();
        self.answer()
    }

    fn begin_to_ask(&mut self, session: SessionRef, ask: PartyRequest) {
        self.begin_to_ask_in(session, &party_stream(), ask);
    }

    fn begin_to_ask_in(&mut self, session: SessionRef, stream: &StreamKey, ask: PartyRequest) {
        self.step(session.place.shard(), |plane, now, out| {
            let request = plane.request();
            plane.ask_party(now, stream.clone(), ask, Some(request), out);
        });
    }

    fn answer(&mut self) -> Answer {
        match self.replies.pop() {
            Some(Reply::Answer(plane::Answer::Party(PartyAnswer::One(answer)))) => answer,
            other => panic!("{other:?}"),
        }
    }

    fn leave_party(&mut self, session: SessionRef) {
        self.step(session.place.shard(), |plane, now, out| plane.leave(now, session.key, party_stream(), out));
        self.settle();
    }

    fn person(&self, session: SessionRef) -> Person {
        let presence = self.planes[usize::from(session.place.shard())].presence(session.key).unwrap();
        Person { session_id: presence.session_id, user_id: presence.user_id, username: presence.username }
    }

    fn hears_party(&self, session: SessionRef) -> bool {
        self.planes[usize::from(session.place.shard())].hears(session.key, &party_stream())
    }
}

fn party_stream() -> StreamKey {
    StreamKey::about(mode::PARTY, Uuid::from_u128(7))
}

fn create(open: bool) -> impl FnOnce(Member) -> PartyRequest {
    let settings = Settings { open, hidden: false, label: Label::default() };
    move |leader| PartyRequest::Create { leader, settings, max_size: 4, created_at: Timestamp(0) }
}

/// Runs a test with a party of the first session, and two more sessions, on every number of shards.
fn with_party(open: bool, run: impl Fn(&mut World, [SessionRef; 3])) {
    for shards in [1, 2, 4] {
        let mut world = World::new(shards, &PlaneConfig::default());
        let sessions = [0, 1, 2].map(|n| world.open(n % shards));
        assert_eq!(world.come(sessions[0], create(open)), DONE);
        assert_eq!(world.take_heard(sessions[0]), ["+1"]);
        run(&mut world, sessions);
        sessions.iter().for_each(|session| world.close(*session));
        world.assert_empty();
        assert_eq!(world.planes.iter().map(|plane| plane.stats().parties).sum::<usize>(), 0);
    }
}

#[test]
fn who_joins_an_open_party_is_told_of_it_before_the_others_are() {
    with_party(true, |world, [one, two, three]| {
        assert_eq!(world.come(two, PartyRequest::Join), DONE);
        assert_eq!(world.come(two, PartyRequest::Join), DONE, "again");
        assert_eq!(world.take_heard(one), ["+2"]);
        assert_eq!(world.take_heard(two), ["[in 12 under 1]", "+2"]);
        let data = |by| PartyRequest::SendData { by, op_code: 5, data: Bytes::new() };
        assert_eq!(world.ask(two, data(two)), DONE);
        assert_eq!(world.ask(three, data(three)), Err(PartyRefusal::SenderNotMember));
        assert_eq!(world.take_heard(one), ["[5 from 2]"]);
        assert_eq!(world.take_heard(two), [""; 0]);
        world.close(one);
        assert_eq!(world.take_heard(two), ["[2 leads]", "-1"]);
    });
}

#[test]
fn who_waits_hears_nothing_until_it_is_let_in() {
    with_party(false, |world, [one, two, three]| {
        assert_eq!(world.come(two, PartyRequest::Join), Ok(party::PartyReply::Asked));
        assert_eq!(world.come(three, PartyRequest::Join), Ok(party::PartyReply::Asked));
        assert_eq!(world.take_heard(one), ["[2 asks]", "[3 asks]"]);
        assert!(!world.hears_party(two));
        let accept = PartyRequest::Accept { by: one, target: world.person(two) };
        assert_eq!(world.ask(one, accept), DONE);
        assert_eq!(world.take_heard(one), ["+2"]);
        assert_eq!(world.take_heard(two), ["[in 12 under 1]", "+2"]);
        assert_eq!(world.take_heard(three), [""; 0]);
        assert!(world.hears_party(two));
        let decline = PartyRequest::Remove { by: one, target: world.person(three) };
        assert_eq!(world.ask(one, decline), DONE);
        assert_eq!(world.planes[usize::from(three.place.shard())].streams_of(three.key, mode::PARTY), []);
    });
}

#[test]
fn who_is_gone_waits_no_more() {
    with_party(false, |world, [one, two, _]| {
        world.come(two, PartyRequest::Join).unwrap();
        let accept = PartyRequest::Accept { by: one, target: world.person(two) };
        world.close(two);
        assert_eq!(world.ask(one, accept), Err(PartyRefusal::NotRequested));
        assert_eq!(world.take_heard(one), ["[2 asks]"]);
    });
}

#[test]
fn who_goes_while_being_let_in_comes_and_goes() {
    with_party(false, |world, [one, two, _]| {
        world.come(two, PartyRequest::Join).unwrap();
        world.take_heard(one);
        world.begin_to_ask(one, PartyRequest::Accept { by: one, target: world.person(two) });
        world.step(two.place.shard(), |plane, now, out| plane.close(now, two.key, out));
        world.settle();
        // The leave came first, or it follows.
        let heard = world.take_heard(one);
        assert!(heard.is_empty() || heard == ["+2", "-2"], "{heard:?}");
    });
}

#[test]
fn who_is_put_out_is_told_and_may_come_again() {
    with_party(true, |world, [one, two, _]| {
        world.come(two, PartyRequest::Join).unwrap();
        world.heard.clear();
        let remove = PartyRequest::Remove { by: one, target: world.person(two) };
        assert_eq!(world.ask(one, remove), DONE);
        assert_eq!(world.take_heard(one), ["-2"]);
        assert_eq!(world.take_heard(two), ["[closed]"]);
        assert!(!world.hears_party(two));
        assert_eq!(world.come(two, PartyRequest::Join), DONE);
        assert_eq!(world.take_heard(two), ["[in 12 under 1]", "+2"]);
    });
}

#[test]
fn leaving_and_coming_again_while_being_put_out_leaves_one_outcome() {
    with_party(true, |world, [one, two, _]| {
        world.come(two, PartyRequest::Join).unwrap();
        world.begin_to_ask(one, PartyRequest::Remove { by: one, target: world.person(two) });
        world.step(two.place.shard(), |plane, now, out| plane.leave(now, two.key, party_stream(), out));
        world.begin_to_come(two, PartyRequest::Join);
        world.settle();
        // The later one of the two decides, and both sides agree.
        let request = PartyRequest::SendData { by: two, op_code: 1, data: Bytes::new() };
        let is_member = world.ask(two, request).is_ok();
        assert_eq!(world.hears_party(two), is_member);
    });
}

#[test]
fn a_party_that_is_closed_is_gone_without_leaves() {
    with_party(true, |world, [one, two, three]| {
        world.come(two, PartyRequest::Join).unwrap();
        let settings = Settings { open: false, hidden: false, label: Label::default() };
        world.ask(one, PartyRequest::Update { by: one, settings }).unwrap();
        world.come(three, PartyRequest::Join).unwrap();
        world.heard.clear();
        assert_eq!(world.ask(one, PartyRequest::Close(one)), DONE);
        assert_eq!(world.take_heard(one), ["[closed]"]);
        assert_eq!(world.take_heard(two), ["[closed]"]);
        for session in [one, two, three] {
            assert!(!world.planes[usize::from(session.place.shard())].is_on(session.key, &party_stream()));
        }
        assert_eq!(world.come(two, PartyRequest::Join), Err(PartyRefusal::NotFound));
        assert!(!world.planes[usize::from(two.place.shard())].is_on(two.key, &party_stream()));
    });
}

#[test]
fn leaving_is_as_being_gone() {
    with_party(true, |world, [one, two, three]| {
        for session in [two, three] {
            world.come(session, PartyRequest::Join).unwrap();
        }
        world.heard.clear();
        world.leave_party(one);
        assert_eq!(world.take_heard(one), [""; 0]);
        assert_eq!(world.take_heard(two), ["[2 leads]", "-1"]);
        world.leave_party(three);
        assert_eq!(world.take_heard(two), ["-3"]);
    });
}

#[test]
fn where_one_party_is_allowed_coming_to_another_leaves_the_first() {
    for shards in [1, 2, 4] {
        let config = PlaneConfig { single_party: true, ..PlaneConfig::default() };
        let mut world = World::new(shards, &config);
        let [one, two] = [0, 1].map(|n| world.open(n % shards));
        assert_eq!(world.come(one, create(false)), DONE);
        // Asking to be let in does not end the other membership; being let in does.
        let other = StreamKey::about(mode::PARTY, Uuid::from_u128(8));
        world.step(two.place.shard(), |plane, now, out| {
            let request = plane.request();
            plane.come_to_party(now, two.key, other.clone(), create(true), request, out);
        });
        world.settle();
        assert_eq!(world.come(two, PartyRequest::Join), Ok(party::PartyReply::Asked));
        assert!(world.planes[usize::from(two.place.shard())].hears(two.key, &other));
        let accept = PartyRequest::Accept { by: one, target: world.person(two) };
        assert_eq!(world.ask(one, accept), DONE);
        assert_eq!(world.planes[usize::from(two.place.shard())].streams_of(two.key, mode::PARTY), [party_stream()]);
        assert_eq!(world.planes.iter().map(|plane| plane.stats().parties).sum::<usize>(), 1);
        [one, two].iter().for_each(|session| world.close(*session));
        world.assert_empty();
    }
}

#[test]
fn who_asks_anew_while_it_is_put_out_is_in_or_out_for_both_sides() {
    with_party(true, |world, [one, two, three]| {
        for session in [two, three] {
            assert_eq!(world.come(session, PartyRequest::Join), DONE);
        }
        world.heard.clear();
        let remove = PartyRequest::Remove { by: one, target: world.person(three) };
        world.begin_to_ask(one, remove);
        world.begin_to_come(three, PartyRequest::Join);
        world.settle();
        let owner = &world.planes
            [usize::from(Routes::alone(world.planes.len() as ShardIndex).owner(party_stream().partition()).shard())];
        let is_in = owner.owned_presences(&party_stream()).any(|presence| presence.session == three);
        assert_eq!(world.hears_party(three), is_in);
        let data = PartyRequest::SendData { by: two, op_code: 5, data: Bytes::new() };
        assert_eq!(world.ask(two, data), DONE);
        assert_eq!(world.take_heard(three).contains(&"[5 from 2]".to_owned()), is_in);
    });
}

#[test]
fn of_several_requests_under_way_the_last_says_where_a_session_stands() {
    let mut world = World::new(4, &PlaneConfig::default());
    let session = world.open(2);
    assert_ne!(Routes::alone(4).owner(party_stream().partition()).shard(), 2);
    world.begin_to_come(session, PartyRequest::Join);
    world.begin_to_come(session, create(true));
    world.begin_to_come(session, PartyRequest::Join);
    world.settle();
    assert!(world.hears_party(session));
    assert_eq!(world.take_heard(session), ["+1"]);
    world.close(session);
    world.assert_empty();
    assert!(world.planes.iter().all(|plane| plane.stats().parties == 0));
}

#[test]
fn who_waits_and_tries_to_make_the_party_can_still_be_declined() {
    with_party(false, |world, [one, two, _]| {
        assert_eq!(world.come(two, PartyRequest::Join), Ok(party::PartyReply::Asked));
        assert_eq!(world.come(two, create(false)), Err(PartyRefusal::AlreadyExists));
        let decline = PartyRequest::Remove { by: one, target: world.person(two) };
        assert_eq!(world.ask(one, decline), DONE);
        assert!(!world.planes[usize::from(two.place.shard())].is_on(two.key, &party_stream()));
    });
}

#[test]
fn whoever_is_named_to_a_new_member_was_told_to_have_come_and_is_told_to_have_gone() {
    let config = PlaneConfig { merge_above: 0, ..PlaneConfig::default() };
    let mut world = World::new(1, &config);
    let [one, two, three] = [0; 3].map(|shard| world.open(shard));
    assert_eq!(world.come(one, create(true)), DONE);
    assert_eq!(world.come(two, PartyRequest::Join), DONE);
    assert_eq!(world.come(three, PartyRequest::Join), DONE);
    world.leave_party(two);
    world.pass(config.merge_ms);
    assert_eq!(world.take_heard(one), ["+1", "+2", "-2 +3"]);
    assert_eq!(world.take_heard(three), ["[in 123 under 1]", "-2 +3"]);
}

#[test]
fn who_left_before_it_heard_that_it_is_in_is_told_nothing() {
    let mut world = World::new(4, &PlaneConfig::default());
    let [one, two] = [0, 2].map(|shard| world.open(shard));
    assert_ne!(Routes::alone(4).owner(party_stream().partition()).shard(), 2);
    assert_eq!(world.come(one, create(true)), DONE);
    world.begin_to_come(two, PartyRequest::Join);
    world.step(two.place.shard(), |plane, now, out| plane.leave(now, two.key, party_stream(), out));
    world.settle();
    assert_eq!(world.take_heard(two), [""; 0]);
    assert_eq!(world.take_heard(one), ["+1", "+2", "-2"]);
}

#[test]
fn who_is_taken_off_hears_first_what_was_said_before_to_many() {
    let config = PlaneConfig { slice_deliveries: 1, ..PlaneConfig::default() };
    let mut world = World::new(1, &config);
    let [one, two] = [0; 2].map(|shard| world.open(shard));
    assert_eq!(world.come(one, create(true)), DONE);
    assert_eq!(world.come(two, PartyRequest::Join), DONE);
    world.heard.clear();
    assert_eq!(world.ask(one, PartyRequest::Close(one)), DONE);
    assert_eq!([one, two].map(|session| world.take_heard(session)), [["[closed]"], ["[closed]"]]);
    assert!(!world.hears_party(two));
}

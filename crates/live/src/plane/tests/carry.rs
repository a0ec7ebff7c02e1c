//! Tests of a partition that another plane goes on with.

use std::collections::BTreeSet;

use super::*;
use crate::party::{PartyAnswer, PartyAsk};

/// The state of a partition that its owner gives away.
fn taken_out(plane: &mut Plane, now: Millis, partition: Partition) -> Vec<Carried> {
    plane.carry_out(now, &BTreeSet::from([partition])).remove(&partition).unwrap_or_default()
}

/// Takes the state of a partition out of a shard's plane and puts it in again.
fn carry(world: &mut World, shard: ShardIndex, partition: Partition) -> Vec<Carried> {
    let now = world.now;
    let plane = &mut world.planes[usize::from(shard)];
    let parts = taken_out(plane, now, partition);
    plane.carry_in(now, partition, parts.clone());
    parts
}

/// Configuration of streams on which almost everything is told together.
fn merging() -> PlaneConfig {
    PlaneConfig { merge_above: 2, merge_ms: 100, snapshot_max: 1_200, ..PlaneConfig::default() }
}

#[test]
fn a_large_stream_goes_in_pieces_and_keeps_its_order_and_its_news() {
    let told = |carries: bool| {
        let mut world = World::new(2, &merging());
        let stream = room("hall");
        let owner = world.planes[0].routes().owner(stream.partition()).shard();
        let watcher = world.open(1 - owner);
        world.join(watcher, &stream, JoinOptions::default());
        let crowd: Vec<SessionRef> = (0..2_500).map(|n| world.open(n % 2)).collect();
        let join = |world: &mut World, session: SessionRef| {
            world.step(session.place.shard(), |plane, now, out| {
                plane.join(now, session.key, stream.clone(), JoinOptions::default(), None, out);
            });
            world.settle();
        };
        crowd.iter().for_each(|session| join(&mut world, *session));
        world.pass(100);
        for session in &crowd[..1_300] {
            world.close(*session);
        }
        // The pieces are taken out while they are being told.
        world.pass(100);
        let late = world.open(0);
        join(&mut world, late);
        let mut pieces = Vec::new();
        if carries {
            pieces = carry(&mut world, owner, stream.partition());
            assert!(carry(&mut world, owner, Partition::of_name("another")).is_empty());
        }
        world.pass(1);
        world.pass(100);
        world.pass(100);
        let reply = world.join(watcher, &stream, JoinOptions::default());
        let names: Vec<String> = names(&reply).into_iter().map(str::to_owned).collect();
        (world.take_heard(watcher), names, pieces)
    };
    let ((expected, names, _), (heard, names_after, pieces)) = (told(false), told(true));
    assert_eq!((heard, names_after), (expected, names));
    let count = |is: fn(&Carried) -> bool| pieces.iter().filter(|piece| is(piece)).count();
    assert_eq!(count(|piece| matches!(piece, Carried::Stream(_))), 2);
    assert!(count(|piece| matches!(piece, Carried::News(news) if news.is_telling)) > 0);
    assert!(count(|piece| matches!(piece, Carried::News(news) if !news.is_telling)) > 1);
}

#[test]
fn what_was_carried_away_is_due_no_more() {
    // The sessions stay while nobody owns their stream, which only happens here.
    let mut world = World::new(1, &PlaneConfig { checks_itself: false, ..merging() });
    let stream = room("hall");
    let sessions: Vec<SessionRef> = (0..5).map(|_| world.open(0)).collect();
    for session in &sessions {
        world.join(*session, &stream, JoinOptions::default());
    }
    let before = world.heard.clone();
    let now = world.now;
    let parts = taken_out(&mut world.planes[0], now, stream.partition());
    world.pass(1_000);
    assert_eq!(world.heard, before);
    // Timers of the former stay of a stream that comes back have no effect, so its joins and leaves are told once.
    let now = world.now;
    world.planes[0].carry_in(now, stream.partition(), parts);
    world.pass(99);
    assert_eq!(world.heard, before);
    world.pass(1);
    assert_eq!(world.take_heard(sessions[0]).last().map(String::as_str), Some("+3 +4 +5"));
    world.pass(1_000);
    assert_eq!(world.take_heard(sessions[0]), [""; 0]);
}

#[test]
fn pieces_of_another_partition_are_passed_over() {
    let mut world = World::new(1, &PlaneConfig::default());
    let session = world.open(0);
    let stream = room("hall");
    world.join(session, &stream, JoinOptions::default());
    let now = world.now;
    let parts = taken_out(&mut world.planes[0], now, stream.partition());
    let other = Partition::all().find(|other| *other != stream.partition()).unwrap();
    world.planes[0].carry_in(now, other, parts);
    assert_eq!(world.planes[0].stats().streams, 0);
}

#[test]
fn listings_of_parties_keep_their_order() {
    let mut world = World::new(1, &PlaneConfig::default());
    let ids: Vec<Uuid> = (1..=40).map(|n: u128| Uuid::from_u128(n << 64 | n)).collect();
    for (age, id) in ids.iter().enumerate() {
        let leader = world.open(0);
        world.step(0, |plane, now, out| {
            let (request, stream) = (plane.request(), StreamKey::about(mode::PARTY, *id));
            let settings = party::Settings { open: true, hidden: false, label: party::Label::default() };
            let created_at = Timestamp(age as i64);
            let create = |leader| party::PartyRequest::Create { leader, settings, max_size: 4, created_at };
            plane.come_to_party(now, leader.key, stream, create, request, out);
        });
    }
    let listed = |world: &mut World, after: Option<party::ListingPosition>| {
        let query = Arc::new(muster_domain::query::Query::everything());
        let asked = party::ListQuery { query, open: None, after, limit: 15 };
        world.step(0, |plane, now, out| {
            let request = plane.request();
            let ask = Ask::Party(PartyAsk::List(asked));
            plane.ask_place(now, Place::from(0), Up::Ask { request: Some(request), ask }, out);
        });
        match world.replies.pop() {
            Some(Reply::Answer(Answer::Party(PartyAnswer::Listed(page)))) => page.parties,
            other => panic!("{other:?}"),
        }
    };
    let first = listed(&mut world, None);
    let moved: Vec<Partition> =
        ids.iter().step_by(3).map(|id| StreamKey::about(mode::PARTY, *id).partition()).collect();
    for partition in moved {
        carry(&mut world, 0, partition);
    }
    assert_eq!(listed(&mut world, None), first);
    let rest = listed(&mut world, Some(first[14].place));
    let parties: Vec<Uuid> = first.iter().chain(&rest).map(|listed| listed.place.party.0).collect();
    assert_eq!(parties, ids[..30]);
}

//! Tests of durable matches of a node on its own, which stops and starts again.

use super::matches::{goes, stream};
use super::*;
use crate::matches::{Callback, LeaveReason, MatchAsk, MatchId, Outcome, Outline, Return};

/// A durable match of the second shard with a player, and the outline in its log.
fn playing() -> (World, MatchId, SessionRef, Outline) {
    let mut world = World::new(2, &PlaneConfig::default());
    let id = world.planes[1].match_id(Uuid::from_u128(7 << 64), true);
    world.make_match_of(id);
    let ann = world.open(0);
    world.enter_match(ann, id);
    let outline = world.planes[1].owners.things.matches.matches.outline(id).unwrap().clone();
    (world, id, ann, outline)
}

#[test]
fn a_match_goes_on_when_the_process_starts_again() {
    let (_, id, _, outline) = playing();
    let mut world = World::new(2, &PlaneConfig::default());
    for shard in 0..2 {
        let outlines = vec![outline.clone()];
        world.step(shard, |plane, now, out| {
            if plane.routes().owner(id.partition()) == plane.place() {
                plane.resume_matches(now, id.partition(), outlines, out);
            }
        });
    }
    let Callback::Leave(left) = world.returns(goes(Vec::new())) else { panic!("not left") };
    assert_eq!((left.len(), left[0].reason), (1, LeaveReason::Disconnected));
    let stats = world.planes[1].stats().matches;
    assert_eq!((stats.durable, stats.resumed, stats.lost), (1, 1, 0));
    let ann = world.open(0);
    assert_eq!(world.enter_match(ann, id), 0);
    world.send_to_match(ann, id, "back");
    world.pass(100);
    assert!(matches!(world.returns(goes(Vec::new())), Callback::Loop(inputs) if inputs.len() == 1));
}

#[test]
fn what_is_no_match_is_not_resumed() {
    let (_, id, _, outline) = playing();
    let mut world = World::new(2, &PlaneConfig::default());
    for wrong in [
        Outline { tick_rate: 0, ..outline.clone() },
        Outline { id: MatchId::at(Place::new(0, 1), Uuid::from_u128(1)), ..outline.clone() },
    ] {
        let partition = wrong.id.partition();
        world.step(1, |plane, now, out| plane.resume_matches(now, partition, vec![wrong], out));
    }
    assert_eq!(world.dropped.len(), 2);
    assert_eq!((world.planes[1].stats().matches.lost, world.planes[1].stats().streams), (2, 0));
    assert_eq!(world.calls.len(), 0);
    let _ = id;
}

#[test]
fn a_server_that_stops_lets_calls_end_and_begins_none() {
    let (mut world, id, ann, _) = playing();
    world.send_to_match(ann, id, "late");
    world.pass(100);
    world.step(1, |plane, now, out| {
        plane.terminate_matches(now, 5, out);
        plane.rest_matches(now, out);
    });
    assert_eq!((world.calls.len(), world.releases.len()), (1, 0), "a tick is under way");
    assert!(matches!(world.returns(goes(Vec::new())), Callback::Loop(_)));
    assert_eq!(world.releases, [(1, id.partition())]);
    assert!(!world.planes[1].are_matches_at_rest());
    world.close(ann);
    world.step(1, |plane, _, out| {
        let request = plane.request();
        let ask = MatchAsk::Signal { data: "?".into(), chain: crate::matches::Chain::default() };
        plane.ask_match(1, stream(id), ask, Some(request), out);
    });
    world.pass(10_000);
    assert!(world.calls.is_empty(), "{:?}", world.calls);
    assert!(matches!(world.replies.pop(), Some(Reply::Answer(Answer::Match(Err(_))))), "whoever asks is told in time");
    world.step(1, |plane, now, out| plane.matches_released(now, id.partition(), out));
    assert!(world.planes[1].are_matches_at_rest());
    let again = world.planes[1].match_id(Uuid::from_u128(8 << 64), true);
    world.begin_match_of(again);
    let Some(Reply::Answer(Answer::Match(Err(why)))) = world.replies.pop() else { panic!("not refused") };
    assert_eq!(why.kind, muster_domain::ErrorKind::Unavailable);
    world.step(0, |plane, now, out| plane.rest_matches(now, out));
    assert!(world.planes[0].are_matches_at_rest(), "there are none");
}

#[test]
fn a_match_that_is_over_leaves_nothing() {
    let (mut world, id, ann, _) = playing();
    world.pass(100);
    world.returns(Return { outcome: Outcome::Over, acts: Vec::new() });
    assert_eq!((world.dropped.clone(), world.planes[1].stats().matches.durable), (vec![id], 0));
    assert!(!world.planes[0].is_on(ann.key, &stream(id)));
}

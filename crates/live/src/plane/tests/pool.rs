//! Tests that tickets from any shard meet at the pool's owner.

use super::*;

fn ticket(world: &World, session: SessionRef, id: &str) -> Box<NewTicket<Presence>> {
    ticket_of(&world.planes[usize::from(session.place.shard())], session.key, id)
}

fn add(world: &mut World, session: SessionRef, id: &str) -> Reply {
    let ticket = ticket(world, session, id);
    world.step(session.place.shard(), |plane, now, out| {
        let request = plane.request();
        plane.ask_pool(now, PoolAsk::Add(ticket), Some(request), out);
    });
    world.settle();
    world.replies.pop().unwrap()
}

/// Lets time pass, and passes run.
fn pass(world: &mut World, ms: Millis) {
    world.now += ms;
    for shard in 0..world.planes.len() as ShardIndex {
        world.step(shard, |plane, now, out| plane.turn(now, out));
    }
    world.settle();
}

#[test]
fn tickets_of_two_shards_are_matched_by_the_owner_of_the_pool() {
    for shards in [1, 2, 4] {
        let mut world = World::new(shards, &PlaneConfig::default());
        let [one, two] = [0, 1].map(|n| world.open(n % shards));
        assert_eq!(add(&mut world, one, "a"), Reply::Answer(Answer::Pool(Ok(PoolReply::Done))));
        assert_eq!(add(&mut world, two, "b"), Reply::Answer(Answer::Pool(Ok(PoolReply::Done))));
        pass(&mut world, 15_000);
        let ids: Vec<_> = world.matches.iter().flat_map(|found| found.tickets.iter().map(|t| &*t.id.0)).collect();
        assert_eq!(ids, ["a", "b"]);
    }
}

#[test]
fn players_are_told_of_a_match_when_game_code_has_said_where_they_go() {
    let mut world = World::new(2, &PlaneConfig::default());
    world.planes.iter_mut().for_each(|plane| plane.ask_of_matches(true));
    let [one, two] = [0, 1].map(|n| world.open(n));
    for (answer, ids) in [(Some("a match"), ["a", "b"]), (None, ["c", "d"])] {
        add(&mut world, one, ids[0]);
        add(&mut world, two, ids[1]);
        pass(&mut world, 15_000);
        assert!(world.matches.is_empty());
        let (shard, asked) = world.asked_matches.pop().unwrap();
        assert_eq!(world.planes[usize::from(shard)].stats().asked_matches, 1);
        let found = world.planes[usize::from(shard)].asked_match(asked).unwrap();
        assert_eq!(found.tickets.len(), 2);
        let answered = answer.map(Arc::from);
        world.step(shard, |plane, now, out| plane.match_answered(now, asked, answered, out));
        let told = world.matches.pop().unwrap();
        assert_eq!(told.match_id.as_deref(), answer);
        assert_eq!(told.tickets.iter().map(|ticket| &*ticket.id.0).collect::<Vec<_>>(), ids);
        // Players are told once.
        world.step(shard, |plane, now, out| plane.match_answered(now, asked, None, out));
        assert!(world.matches.is_empty());
        assert_eq!(world.planes[usize::from(shard)].stats().asked_matches, 0);
    }
}

#[test]
fn a_session_that_closes_takes_its_tickets_along() {
    let mut world = World::new(2, &PlaneConfig::default());
    let [one, two] = [0, 1].map(|n| world.open(n));
    add(&mut world, one, "a");
    add(&mut world, two, "b");
    world.close(one);
    pass(&mut world, 15_000);
    assert!(world.matches.is_empty());
    world.close(two);
    assert_eq!(world.planes.iter().map(|plane| plane.stats().tickets).sum::<usize>(), 0);
}

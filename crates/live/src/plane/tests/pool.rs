//! Tickets from any shard meet at the pool's owner.

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

/// Lets passes run until so much time has gone.
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
        assert_eq!(add(&mut world, one, "a"), Reply::Pool(Ok(PoolReply::Done)));
        assert_eq!(add(&mut world, two, "b"), Reply::Pool(Ok(PoolReply::Done)));
        pass(&mut world, 15_000);
        let ids: Vec<_> = world.matches.iter().flat_map(|found| found.tickets.iter().map(|t| &*t.id.0)).collect();
        assert_eq!(ids, ["a", "b"]);
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

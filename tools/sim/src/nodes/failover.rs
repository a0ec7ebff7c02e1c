//! A measurement: the time until the partitions of dead nodes have owners again.

use fastrand::Rng;
use muster_cluster::membership::Roles;
use muster_live::Millis;

use super::world::{REST_MS, World};

/// Lets some nodes of a cluster at rest crash at once. `is_noticed` says whether the bus sees that nobody listens there
/// any more; otherwise the nodes only fall silent. Returns the milliseconds until every partition has a living owner;
/// `None` if that takes more than a minute.
pub fn failover(seed: u64, nodes: usize, crashes: usize, is_noticed: bool) -> Option<Millis> {
    let mut world = World::new(seed, None, false);
    world.is_well = true;
    let mut rng = Rng::with_seed(seed);
    world.processes.clear();
    (0..nodes).for_each(|_| world.start_as(Roles::ALL));
    world.advance(REST_MS).ok()?;
    let ids: Vec<usize> = rng.choose_multiple(world.processes.keys().copied(), crashes);
    for id in ids {
        if is_noticed {
            world.processes.remove(&id);
        } else {
            world.processes.get_mut(&id)?.silent_until = Millis::MAX;
            world.processes.get_mut(&id)?.sleeps_until = Millis::MAX;
        }
    }
    let begin = world.now;
    while world.now < begin + 60_000 {
        world.advance(world.now + 10).ok()?;
        let living = world.processes.values().filter(|process| process.sleeps_until < Millis::MAX);
        let view = living.map(|process| process.membership.view()).max_by_key(|view| view.revision)?;
        let lives = |number| {
            let mut living = world.processes.values().filter(|process| process.sleeps_until < Millis::MAX);
            living.any(|process| process.membership.number() == Some(number))
        };
        if view.holdings().all(|(_, holding)| holding.owner.is_some_and(|owner| lives(owner.node()))) {
            return Some(world.now - begin);
        }
    }
    None
}

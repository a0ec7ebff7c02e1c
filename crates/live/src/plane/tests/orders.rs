//! Tests of orders about sessions of another shard, and of messages to all sessions.

use super::*;
use crate::plane::{Errand, Order, Whom};

const OTHER: Place = Place::new(0, 1);

impl World {
    /// Sends shard 1 an order. Answers the sessions of each order that the shard hands out.
    fn order(&mut self, whom: Whom) -> Vec<Whom> {
        let order = Box::new(Order { whom, what: Errand::Close(CloseReason::GameCode) });
        self.step(0, |plane, now, out| {
            let request = plane.request();
            plane.ask_place(now, OTHER, Up::Order { request, order }, out);
        });
        self.settle();
        std::mem::take(&mut self.orders).into_iter().map(|(_, order)| order.whom).collect()
    }

    fn ordered(&self, whom: &Whom) -> Option<Vec<SessionKey>> {
        self.planes[1].ordered(whom)
    }
}

#[test]
fn an_order_comes_to_the_place_and_finds_sessions_that_are_there() {
    let mut world = World::new(2, &PlaneConfig::default());
    let [here, there, gone] = [0, 1, 1].map(|shard| world.open(shard));
    let presence = world.planes[1].presence(there.key).unwrap();
    let by_id = |user| Whom::Id { session: presence.session_id, user };
    assert_eq!(world.order(by_id(None)), [by_id(None)]);
    for user in [None, Some(presence.user_id)] {
        assert_eq!(world.ordered(&by_id(user)), Some(vec![there.key]));
    }
    let other = world.planes[0].presence(here.key).unwrap();
    assert_eq!(world.ordered(&by_id(Some(other.user_id))), Some(vec![]), "another's");
    assert_eq!(world.ordered(&Whom::Id { session: other.session_id, user: None }), Some(vec![]), "of another place");
    world.close(gone);
    assert_eq!(world.ordered(&Whom::Keys(vec![gone.key, there.key])), Some(vec![there.key]));
    world.close(there);
    assert_eq!(world.ordered(&by_id(None)), Some(vec![]));
}

#[test]
fn nothing_is_done_with_a_session_that_is_expected_or_goes() {
    let mut world = World::new(2, &PlaneConfig::default());
    let [here, there] = [0, 1].map(|shard| world.open(shard));
    world.planes[1].depart(there.key, here);
    assert_eq!(world.ordered(&Whom::Keys(vec![there.key])), None);
    let (info, name) = player(9);
    let expected = world.planes[1].expect(info, name, Encoding::Json);
    assert_eq!(world.ordered(&Whom::Keys(vec![expected])), None);
}

#[test]
fn what_is_for_all_reaches_all_in_slices_and_in_order() {
    let mut world = World::new(2, &PlaneConfig { slice_deliveries: 2, ..PlaneConfig::default() });
    let sessions = [0, 1, 1, 1, 1, 1].map(|shard| world.open(shard));
    for text in ["first", "second"] {
        for place in [Place::from(0), OTHER] {
            world.step(0, |plane, now, out| {
                let request = plane.request();
                plane.ask_place(now, place, Up::All { request, payload: Arc::new(Text(text)) }, out);
            });
        }
    }
    let message = world.queues.get_mut(&(0, 1)).and_then(VecDeque::pop_front).unwrap();
    world.step(1, |plane, now, out| plane.receive(now, 0.into(), message, out));
    assert!(world.planes[1].is_busy());
    assert!(world.step(1, |plane, now, out| plane.run_slice(now, out)), "there is more");
    assert_eq!(world.take_heard(sessions[1]), ["first"]);
    assert_eq!(world.take_heard(sessions[3]), Vec::<String>::new());
    world.close(sessions[5]);
    world.settle();
    assert_eq!(world.take_heard(sessions[0]), ["first", "second"]);
    assert_eq!(world.take_heard(sessions[3]), ["first", "second"]);
    assert_eq!(world.take_heard(sessions[5]), Vec::<String>::new(), "it has closed");
    world.settle();
    assert_eq!(world.replies.len(), 4, "who asks is told");
}

//! Matches in Go.

use muster_script::value::Value;

use super::endings::{BOMBS, quick};
use super::{built, host, limits};
use crate::matches::admission::four_are_let_in;
use crate::matches::{Hall, run};
use crate::world::store;

#[test]
fn a_match_lives_from_its_creation_to_its_end() {
    run(async {
        let hall = Hall::in_go(built(), host(store()), limits(), "arena").await;
        let params = [("greeting", "hello"), ("mode", "duel"), ("secret", "")];
        let params = params.map(|(name, text)| (name.to_owned(), Value::text(text))).into();
        hall.create(1, Value::Map(params)).await.unwrap();
        assert_eq!(hall.list()[0].label.as_ref(), "{\"mode\":\"duel\",\"open\":1}");
        hall.enter(1, 1).await.unwrap();
        hall.enter(1, 2).await.unwrap();
        assert_eq!(
            hall.take_told(),
            [(2, "hello user-1".to_owned(), Some(1)), (2, "hello user-2".to_owned(), Some(1))]
        );
        hall.send(1, 1, 1, "one").await;
        hall.send(1, 2, 1, "two").await;
        hall.pass(50).await;
        assert_eq!(hall.take_told(), [(2, "1 one".to_owned(), None), (2, "2 two".to_owned(), None)]);
        assert_eq!(hall.signal(1, "other").await.unwrap(), "2");
        assert_eq!(hall.list()[0].label.as_ref(), "{\"mode\":\"other\",\"open\":0}");
        hall.send(1, 2, 3, "").await;
        hall.pass(50).await;
        assert_eq!(hall.take_told(), [(2, "bye user-2".to_owned(), None)]);
        hall.send(1, 1, 4, "").await;
        hall.pass(50).await;
        assert!(hall.list().is_empty());
        assert_eq!(hall.came_and_went.take(), ["+user-1", "+user-2", "-user-2", "-user-1"]);
    });
}

#[test]
fn four_seats_take_four_players() {
    run(async {
        four_are_let_in(Hall::in_go(built(), host(store()), limits(), "seats").await).await;
    });
}

#[test]
fn timers_call_their_match() {
    run(async {
        let hall = Hall::in_go(built(), host(store()), limits(), "bells").await;
        hall.create(1, Value::Nil).await.unwrap();
        hall.pass(1_000).await;
        assert_eq!(hall.signal(1, "").await.unwrap(), "again/a@3 again/ax@4 again/axx@5");
        assert_eq!(hall.signal(1, "many").await.unwrap(), "256 a match has at most 256 timers");
        hall.pass(1_100).await;
        assert_eq!(hall.signal(1, "last").await.unwrap(), "<nil>", "there is room again");
        hall.pass(200).await;
        assert!(hall.list().is_empty(), "a timer may end the match");
    });
}

#[test]
fn matches_end_with_their_instance() {
    for kind in BOMBS {
        run(async {
            let hall = Hall::in_go(built(), host(store()), quick(), "arena").await;
            hall.create(1, Value::Nil).await.unwrap();
            hall.create(2, Value::Nil).await.unwrap();
            hall.enter(1, 1).await.unwrap();
            hall.send(1, 1, 9, kind).await;
            // The loop of the other match may have run before the signal; its next loop sees it.
            hall.pass(100).await;
            assert!(hall.list().is_empty(), "{kind}");
        });
    }
}

//! Attempts and joins of durable matches in their log.

use std::rc::Rc;
use std::sync::Arc;

use muster_live::matches::{Callback, LeaveReason, Left, Outcome};
use muster_script::host::NoHttp;

use super::disk::Disk;
use super::life::{Shelf, match_id};
use super::node::{Gate, Node};
use crate::matches::{admission::SEATS, module, presence};
use crate::world;

fn run<T>(future: impl Future<Output = T>) -> T {
    world::block_on(future)
}

/// A durable handler in Lua with four seats, with the code `attempt` in its join attempt and the code `join` in its
/// join.
fn seats(attempt: &str, join: &str) -> String {
    let body = SEATS.replace("return state, true", &format!("{attempt} return state, true"));
    let body = body
        .replace("state.count = state.count + #presences", &format!("state.count = state.count + #presences {join}"));
    module(&format!("M.durable = true {body}"))
}

fn attempt(player: u32) -> Callback {
    Callback::JoinAttempt { presence: Arc::new(presence(player)), joiner: Arc::default() }
}

fn join(players: &[u32]) -> Callback {
    Callback::Join(players.iter().map(|player| Arc::new(presence(*player))).collect())
}

const LET_IN: Outcome = Outcome::Decided(Ok(()));

#[test]
fn an_accepted_attempt_and_its_join_wait_for_the_log_once() {
    let (shelf, disk, code) = (Shelf::new(), Disk::dying(u64::MAX), seats("", ""));
    run(async {
        let node = Node::start(&[("game.lua", &code)], &shelf, &disk).await;
        node.make(1, "game").await.unwrap();
        for player in 1..=4 {
            let before = disk.syncs.get();
            assert_eq!(node.call(match_id(1), attempt(player)).await.unwrap().outcome, LET_IN);
            assert_eq!((disk.syncs.get() - before, disk.unsynced()), (0, 1), "nothing of the attempt has left");
            assert_eq!(node.call(match_id(1), join(&[player])).await.unwrap().outcome, Outcome::GoesOn);
            assert_eq!((disk.syncs.get() - before, disk.unsynced()), (1, 0));
        }
        let full = node.call(match_id(1), attempt(5)).await.unwrap().outcome;
        assert!(matches!(full, Outcome::Decided(Err(why)) if &*why == "full"));
        assert_eq!(disk.unsynced(), 0, "a refusal leaves at once");
    });
}

#[test]
fn what_an_attempt_tells_others_they_hear_when_its_join_is_in_the_log() {
    let code = seats("nk.event('asked', {})", "nk.event('came', {})");
    let hears = "local nk = require('nakama')
        nk.register_event(function() nk.http_request('http://localhost/', 'GET') end)";
    let (shelf, files) = (Shelf::new(), [("game.lua", code.as_str()), ("hears.lua", hears)]);
    // The process is killed after the attempt, and after the join.
    for calls in [vec![attempt(1)], vec![attempt(1), join(&[1])]] {
        let disk = Disk::dying(u64::MAX);
        let gate = Rc::new(Gate { disk: disk.clone(), ..Gate::default() });
        run(async {
            let node = Node::of(("muster", gate.clone()), &files, &shelf, &disk).await;
            node.make(1, "game").await.unwrap();
            for call in &calls {
                assert!(gate.unsynced.borrow().is_empty());
                node.call(match_id(1), call.clone()).await.unwrap();
                node.rest().await;
            }
        });
        assert_eq!(*gate.unsynced.borrow(), vec![0; if calls.len() == 2 { 2 } else { 0 }]);
        let disk = disk.found(|count| count, u64::MAX);
        let gate = Rc::new(Gate { disk: disk.clone(), ..Gate::default() });
        run(async {
            let node = Node::of(("muster", gate.clone()), &files, &shelf, &disk).await;
            assert_eq!(node.take_over().await.unwrap(), [match_id(1)]);
            node.rest().await;
        });
        assert_eq!(gate.unsynced.borrow().len(), calls.len(), "listeners hear of the latest events again");
    }
}

#[test]
fn what_an_attempt_and_its_join_sent_is_sent_again_after_a_crash() {
    let code = seats("dispatcher.broadcast_message(1, 'asked')", "dispatcher.broadcast_message(2, 'came')");
    let (shelf, files) = (Shelf::new(), [("game.lua", code.as_str())]);
    // A snapshot is due after 4,096 callbacks at the latest. After 4,094 calls it would be due after the join, and
    // after 4,095 after the attempt.
    for calls in [0, 4_094, 4_095] {
        let disk = Disk::dying(u64::MAX);
        run(async {
            let node = Node::start(&files, &shelf, &disk).await;
            node.make(1, "game").await.unwrap();
            for _ in 0..calls {
                node.ask(match_id(1)).await.unwrap();
            }
            node.call(match_id(1), attempt(1)).await.unwrap();
            node.call(match_id(1), join(&[1])).await.unwrap();
        });
        let disk = disk.found(|_| 0, u64::MAX);
        run(async {
            let node = Node::start(&files, &shelf, &disk).await;
            let outline = node.take_over_one().await;
            let sent: Vec<i64> = outline.sent.iter().map(|sent| sent.op_code).collect();
            assert_eq!((sent, outline.sent_count), (vec![1, 2], 2), "after {calls} calls");
        });
    }
}

#[test]
fn a_log_in_which_others_were_asked_about_before_a_join_is_replayed_in_its_order() {
    // Earlier builds called the attempts of others before a join, so a handler that counts players in its join let in
    // too many.
    let (shelf, code) = (Shelf::new(), seats("", "state.latest = #presences"));
    let code = code.replace("tostring(state.count)", "state.count .. ' ' .. state.latest");
    let files = [("game.lua", code.as_str())];
    let disk = Disk::dying(u64::MAX);
    let left = Left { presence: Arc::new(presence(1)), reason: LeaveReason::Left };
    let (calls, before) = run(async {
        let node = Node::of(("muster", Rc::new(NoHttp)), &files, &shelf, &disk).await;
        node.make(1, "game").await.unwrap();
        for player in 1..=6 {
            assert_eq!(node.call(match_id(1), attempt(player)).await.unwrap().outcome, LET_IN);
        }
        node.call(match_id(1), join(&[1, 2, 3, 4, 5, 6])).await.unwrap();
        node.call(match_id(1), Callback::Leave(vec![left])).await.unwrap();
        (disk.records(), node.ask(match_id(1)).await.unwrap())
    });
    assert_eq!((calls, before.as_str()), (9, "5 6"));
    let disk = disk.found(|_| 0, u64::MAX);
    run(async {
        let node = Node::start(&files, &shelf, &disk).await;
        let outline = node.take_over_one().await;
        let players: Vec<_> =
            outline.players.iter().map(|seated| (&*seated.presence.username, seated.has_joined)).collect();
        assert_eq!(
            players,
            [2, 3, 4, 5, 6].map(|player| (["", "", "user-2", "user-3", "user-4", "user-5", "user-6"][player], true))
        );
        assert_eq!(node.ask(match_id(1)).await.unwrap(), before);
    });
}

//! Failures of the log of durable matches, and their consequences for the matches.

use std::cell::Cell;
use std::rc::Rc;

use muster_api::live::MatchEngines as _;
use muster_domain::Timestamp;
use muster_live::matches::{MatchId, Outcome};
use muster_live::plane::HandlerOrder;
use muster_script::host::NoHttp;

use super::disk::Disk;
use super::life::{Shelf, match_id};
use super::node::{Gate, Node};
use crate::world;

/// A handler that counts its ticks, with this code in its loop.
pub(super) fn counting(body: &str) -> String {
    format!(
        "local nk = require('nakama')
        local M = {{ durable = true }}
        function M.match_init() return {{ ticks = 0 }}, 1, '' end
        function M.match_join_attempt(context, dispatcher, tick, state) return state, true end
        function M.match_join(context, dispatcher, tick, state) return state end
        function M.match_leave(context, dispatcher, tick, state) return state end
        function M.match_loop(context, dispatcher, tick, state, messages)
            state.ticks = state.ticks + 1
            {body}
            return state
        end
        function M.match_terminate(context, dispatcher, tick, state) return state end
        function M.match_signal(context, dispatcher, tick, state) return state, tostring(state.ticks) end
        return M"
    )
}

pub(super) const PAY: &str =
    "nk.wallet_update('d0000000-0000-4000-8000-000000000063', { gold = 5 }, { of = context.match_id }, true)";

/// Keeps all unsynced records when a disk is found again.
pub(super) const ALL: fn(usize) -> usize = |count| count;

pub(super) fn run<T>(future: impl Future<Output = T>) -> T {
    world::block_on(future)
}

/// Plays matches that pay once while their log fails, and checks what was paid.
fn pays_once(body: &str, disk_of: fn(u64) -> Rc<Disk>, found: fn(usize) -> usize) {
    let (shelf, code) = (Shelf::new(), counting(body));
    let files = [("game.lua", code.as_str())];
    let (mut paid, mut again) = (0, 0);
    for number in 0..40 {
        let id = match_id(number);
        let mut disk = disk_of(number);
        let mut has_begun = run(async {
            let node = Node::start(&files, &shelf, &disk).await;
            let begun = node.make(number, "game").await;
            let has_begun = matches!(begun, Some(Outcome::Begun { .. }));
            while has_begun && node.tick(id).await == Some(Outcome::GoesOn) {}
            has_begun
        });
        // The match goes on in another process from the end of the log.
        disk = disk.found(found, u64::MAX);
        run(async {
            let node = Node::start(&files, &shelf, &disk).await;
            if node.take_over().await.unwrap() == [id] {
                (has_begun, again) = (true, again + 1);
                while node.tick(id).await == Some(Outcome::GoesOn) {}
            }
        });
        paid += i64::from(has_begun);
    }
    let (wallet, ledger) = shelf.wallet();
    let mut of: Vec<String> = ledger.iter().map(|(_, of)| of.clone()).collect();
    of.dedup();
    assert_eq!(of.len(), ledger.len(), "a match paid twice");
    assert_eq!(wallet, format!("{{\"gold\":{}}}", 5 * of.len()));
    assert!(again > 5 && paid > 20, "{again} matches went on, {paid} began");
}

#[test]
fn what_a_match_paid_it_does_not_pay_again_when_its_log_has_failed() {
    let body = format!("if tick == 2 then {PAY} end if tick == 6 then return nil end");
    pays_once(&body, Disk::failing, ALL);
}

#[test]
fn what_a_match_paid_last_it_pays_once_wherever_the_process_dies() {
    let body = format!("if tick == 2 then {PAY} return nil end");
    pays_once(&body, Disk::dying, |_| 0);
}

#[test]
fn a_log_that_has_failed_takes_matches_again_once_it_can_and_what_ended_does_not_come_back() {
    let (shelf, code) = (Shelf::new(), counting(""));
    let files = [("game.lua", code.as_str())];
    let disk = Disk::failing(20);
    run(async {
        let node = Node::start(&files, &shelf, &disk).await;
        for number in [1, 2] {
            assert!(matches!(node.make(number, "game").await, Some(Outcome::Begun { .. })));
        }
        while node.tick(match_id(1)).await == Some(Outcome::GoesOn) {}
        let refused = node.make(3, "game").await.unwrap();
        assert!(matches!(&refused, Outcome::Failed(why) if why.contains("no room")), "{refused:?}");
        disk.heal();
        let begun = node.make(4, "game").await;
        assert!(matches!(begun, Some(Outcome::Begun { .. })), "{begun:?}");
        let failed = node.tick(match_id(2)).await;
        assert!(matches!(failed, Some(Outcome::Failed(_))), "its log lacks what was lost: {failed:?}");
        assert_eq!(node.tick(match_id(4)).await, Some(Outcome::GoesOn));
    });
    let disk = disk.found(|_| 0, u64::MAX);
    run(async {
        let node = Node::start(&files, &shelf, &disk).await;
        assert_eq!(node.take_over().await.unwrap(), [match_id(4)]);
        assert_eq!(node.ask(match_id(4)).await.unwrap(), "1");
    });
}

#[test]
fn a_match_that_cannot_go_on_does_not_keep_others_from_it_and_is_not_forgotten() {
    let (shelf, code) = (Shelf::new(), counting(""));
    let both = [("game.lua", code.as_str()), ("other.lua", code.as_str())];
    let disk = Disk::dying(u64::MAX);
    run(async {
        let node = Node::start(&both, &shelf, &disk).await;
        node.make(1, "other").await.unwrap();
        node.make(2, "game").await.unwrap();
        // The message is larger than one record.
        for _ in 0..3 {
            assert_eq!(node.tick_with(match_id(1), 7 << 20).await, Some(Outcome::GoesOn));
        }
        assert_eq!(node.tick(match_id(2)).await, Some(Outcome::GoesOn));
    });
    let disk = disk.found(ALL, u64::MAX);
    run(async {
        let node = Node::start(&both[..1], &shelf, &disk).await;
        assert_eq!(node.take_over().await.unwrap(), [match_id(2)]);
        node.make(3, "game").await.unwrap();
        for _ in 0..20 {
            assert_eq!(node.tick(match_id(2)).await, Some(Outcome::GoesOn));
        }
    });
    let disk = disk.found(ALL, u64::MAX);
    disk.spoil();
    let before = disk.records();
    run(async {
        let node = Node::start(&both, &shelf, &disk).await;
        assert_eq!(node.take_over().await.unwrap(), [1, 2, 3].map(match_id));
        assert_eq!(node.ask(match_id(1)).await.unwrap(), "3");
        assert_eq!(node.ask(match_id(2)).await.unwrap(), "21");
        for _ in 0..20 {
            assert_eq!(node.tick(match_id(2)).await, Some(Outcome::GoesOn));
        }
        assert!(disk.records() >= before, "a record that cannot be read stays, and all others with it");
    });
}

#[test]
fn a_match_that_is_made_while_others_are_resumed_costs_them_nothing() {
    let (shelf, code) = (Shelf::new(), counting(""));
    let files = [("game.lua", code.as_str())];
    for after in 0..30 {
        let disk = Disk::dying(u64::MAX);
        run(async {
            let node = Node::start(&files, &shelf, &disk).await;
            for number in [1, 2] {
                node.make(number, "game").await.unwrap();
                assert_eq!(node.tick(match_id(number)).await, Some(Outcome::GoesOn));
            }
        });
        let disk = disk.found(ALL, after);
        run(async {
            let node = Node::start(&files, &shelf, &disk).await;
            node.begin_take_over(0);
            let (id, first) = node.begin_to_make(3, "game");
            node.begin(id, first);
            node.taken_over().await;
            node.rest().await;
        });
        let disk = disk.found(|_| 0, u64::MAX);
        run(async {
            let node = Node::start(&files, &shelf, &disk).await;
            let found = node.take_over().await.unwrap();
            assert!(found.starts_with(&[match_id(1), match_id(2)]), "dead after {after}: {found:?}");
        });
    }
}

#[test]
fn a_match_that_cannot_go_on_is_kept_for_seven_days_from_when_it_could_not() {
    const DAY: i64 = 24 * 60 * 60;
    let (shelf, code) = (Shelf::new(), counting(""));
    let both = [("game.lua", code.as_str()), ("other.lua", code.as_str())];
    let mut disk = Disk::dying(u64::MAX);
    run(async {
        let node = Node::start(&both, &shelf, &disk).await;
        node.make(1, "other").await.unwrap();
        node.make(2, "game").await.unwrap();
    });
    let at = |day: i64| Timestamp::from_seconds(world::NOW_SEC + day * DAY);
    let goes_on = |disk: &Rc<Disk>, files: &[(&str, &str)], day| {
        run(async {
            let node = Node::start(files, &shelf, disk).await;
            node.process.now.set(at(day));
            node.take_over().await.unwrap()
        })
    };
    // The match was stranded for long before this process starts.
    for day in [30, 36] {
        disk = disk.found(ALL, u64::MAX);
        assert_eq!(goes_on(&disk, &both[..1], day), [match_id(2)]);
    }
    let restored = disk.found(ALL, u64::MAX);
    assert_eq!(goes_on(&restored, &both, 36), [match_id(1), match_id(2)]);
    // The match is stranded for long while the process runs, and its records are trimmed.
    let running = disk.found(ALL, u64::MAX);
    run(async {
        let node = Node::start(&both[..1], &shelf, &running).await;
        node.process.now.set(at(36));
        assert_eq!(node.take_over().await.unwrap(), [match_id(2)]);
        node.process.now.set(at(38));
        for _ in 0..10 {
            assert_eq!(node.tick(match_id(2)).await, Some(Outcome::GoesOn));
        }
    });
    let running = running.found(ALL, u64::MAX);
    assert_eq!(goes_on(&running, &both, 38), [match_id(2)]);
    // The match is stranded for long while no process runs.
    disk = disk.found(ALL, u64::MAX);
    assert_eq!(goes_on(&disk, &both[..1], 38), [match_id(2)]);
    disk = disk.found(ALL, u64::MAX);
    assert_eq!(goes_on(&disk, &both, 38), [match_id(2)]);
}

#[test]
fn a_match_that_an_operator_wants_forgotten_does_not_go_on_and_leaves_nothing() {
    let (shelf, code) = (Shelf::new(), counting(""));
    let both = [("game.lua", code.as_str()), ("other.lua", code.as_str())];
    let disk = Disk::dying(u64::MAX);
    run(async {
        let node = Node::start(&both, &shelf, &disk).await;
        node.make(1, "other").await.unwrap();
        node.make(2, "game").await.unwrap();
    });
    let goes_on = |disk: &Rc<Disk>, files: &[(&str, &str)]| {
        run(async { Node::start(files, &shelf, disk).await.take_over().await.unwrap() })
    };
    // One of them cannot go on, since its handler is not there; the other one could.
    for (unwanted, there, stays) in [(1, &both[..1], vec![match_id(2)]), (2, &both[..], vec![match_id(1)])] {
        let disk = disk.found(ALL, u64::MAX);
        disk.unwanted.borrow_mut().insert(match_id(unwanted));
        assert_eq!(goes_on(&disk, there), stays);
        assert!(disk.unwanted.borrow().is_empty(), "the wish is fulfilled");
        assert_eq!(goes_on(&disk.found(ALL, u64::MAX), &both), stays, "its end is in the log");
    }
}

#[test]
fn libraries_cannot_be_written_to_once_the_modules_of_a_durable_match_have_run() {
    let late = counting("if state.ticks == 2 then string.late = 1 end assert(('a'):twice() == 'aa')");
    let code = format!("function string.twice(text) return text .. text end\n{late}");
    let (shelf, disk, files) = (Shelf::new(), Disk::dying(u64::MAX), [("game.lua", code.as_str())]);
    run(async {
        let node = Node::start(&files, &shelf, &disk).await;
        node.make(1, "game").await.unwrap();
        assert_eq!(
            node.tick(match_id(1)).await,
            Some(Outcome::GoesOn),
            "what modules wrote while they loaded is there"
        );
        let Some(Outcome::Failed(why)) = node.tick(match_id(1)).await else { panic!("it wrote to a library") };
        assert!(why.contains("attempt to modify a readonly table"), "{why}");
    });
}

#[test]
fn nothing_stays_of_a_log_whose_last_match_has_ended() {
    let (shelf, code) = (Shelf::new(), counting("if tick == 3 then return nil end"));
    let files = [("game.lua", code.as_str())];
    let disk = Disk::dying(u64::MAX);
    let ended = run(async {
        let node = Node::start(&files, &shelf, &disk).await;
        node.make(1, "game").await.unwrap();
        while node.tick(match_id(1)).await == Some(Outcome::GoesOn) {}
        disk.records()
    });
    assert_eq!(ended, 0);
}

const ASK: &str =
    "nk.http_request('http://localhost/', 'POST', {}, '') nk.http_request('http://localhost/', 'POST', {}, '')";

#[test]
fn a_request_leaves_when_what_led_to_it_is_there_to_stay() {
    let (shelf, code) = (Shelf::new(), counting(ASK));
    let disk = Disk::dying(u64::MAX);
    let gate = Rc::new(Gate { disk: disk.clone(), ..Gate::default() });
    run(async {
        let node = Node::of(("muster", gate.clone()), &[("game.lua", &code)], &shelf, &disk).await;
        node.make(1, "game").await.unwrap();
        assert_eq!(node.tick(match_id(1)).await, Some(Outcome::GoesOn));
    });
    assert_eq!(*gate.unsynced.borrow(), [0, 0]);
}

#[test]
fn others_hear_of_an_event_when_what_led_to_it_is_there_to_stay() {
    let code = counting("nk.event('ticked', {})");
    let hears = "local nk = require('nakama')
        nk.register_event(function() nk.http_request('http://localhost/', 'GET') end)";
    let (shelf, files) = (Shelf::new(), [("game.lua", code.as_str()), ("hears.lua", hears)]);
    let mut failed = 0;
    for after in 0..16 {
        let disk = Disk::failing(after);
        let gate = Rc::new(Gate { disk: disk.clone(), ..Gate::default() });
        let ticks = run(async {
            let node = Node::of(("muster", gate.clone()), &files, &shelf, &disk).await;
            let has_begun = matches!(node.make(1, "game").await, Some(Outcome::Begun { .. }));
            let mut ticks = 0;
            while has_begun && ticks < 5 && node.tick(match_id(1)).await == Some(Outcome::GoesOn) {
                ticks += 1;
            }
            node.rest().await;
            ticks
        });
        assert_eq!(gate.unsynced.borrow().len(), ticks, "a log that fails after {after}");
        failed += u32::from(ticks < 5);
    }
    assert!((5..16).contains(&failed), "{failed}");
}

#[test]
fn a_callback_of_a_former_life_of_a_match_does_nothing_to_its_present_one() {
    let (shelf, code) = (Shelf::new(), counting(ASK));
    let disk = Disk::dying(u64::MAX);
    let gate = Rc::new(Gate { disk: disk.clone(), is_held: Cell::new(true), ..Gate::default() });
    let files = [("game.lua", code.as_str())];
    let id: MatchId = match_id(1);
    run(async {
        let node = Node::of(("muster", gate.clone()), &files, &shelf, &disk).await;
        node.begin_take_over(1);
        node.taken_over().await.unwrap();
        node.make(1, "game").await.unwrap();
        node.begin(id, muster_live::matches::Callback::Loop(Vec::new()));
        while gate.unsynced.borrow().is_empty() {
            tokio::task::yield_now().await;
        }
        // The partition was released, and has come back.
        node.process.code.clone().order(HandlerOrder::Forget(Node::partition()));
        node.begin_take_over(2);
        assert_eq!(node.taken_over().await.unwrap(), [id]);
        let (records, asked) = (disk.records(), gate.unsynced.borrow().len());
        gate.open.notify_one();
        node.rest().await;
        assert_eq!((disk.records(), gate.unsynced.borrow().len()), (records, asked), "the late call writes nothing");
        let (call, late) = node.process.returned.borrow_mut().pop().unwrap();
        assert!(call.stay == 2 && matches!(late.outcome, Outcome::Failed(_)), "{call:?}: {late:?}");
        assert_eq!(node.ask(id).await.unwrap(), "1");
        assert_eq!(node.tick(id).await, Some(Outcome::GoesOn));
    });
    let disk = disk.found(ALL, u64::MAX);
    run(async {
        let node = Node::of(("muster", gate.clone()), &files, &shelf, &disk).await;
        assert_eq!(node.take_over().await.unwrap(), [id]);
        assert_eq!(node.ask(id).await.unwrap(), "2");
    });
}

#[test]
fn a_large_state_is_kept_with_much_that_was_sent() {
    let body = "state.text = string.rep('x', 3 * 1024 * 1024) dispatcher.broadcast_message(1, string.rep('y', 14 * 1024 * 1024))";
    let (shelf, code) = (Shelf::new(), counting(body));
    let files = [("game.lua", code.as_str())];
    let disk = Disk::dying(u64::MAX);
    run(async {
        let node = Node::start(&files, &shelf, &disk).await;
        node.make(1, "game").await.unwrap();
        for _ in 0..8 {
            assert_eq!(node.tick(match_id(1)).await, Some(Outcome::GoesOn));
        }
    });
    let disk = disk.found(ALL, u64::MAX);
    run(async {
        let node = Node::start(&files, &shelf, &disk).await;
        assert_eq!(node.take_over().await.unwrap(), [match_id(1)]);
        assert_eq!(node.ask(match_id(1)).await.unwrap(), "8");
    });
}

#[test]
fn a_match_sees_the_node_that_made_it_wherever_it_goes_on() {
    let lua = counting("state.ticks = context.node .. ' ' .. context.version");
    let lua = lua.replace("state.ticks = state.ticks + 1", "");
    let javascript = "
        const handler = {
            durable: true,
            matchInit: ctx => ({ state: { node: ctx.node }, tickRate: 1, label: '' }),
            matchJoinAttempt: (ctx, logger, nk, dispatcher, tick, state) => ({ state, accept: true }),
            matchJoin: (ctx, logger, nk, dispatcher, tick, state) => ({ state }),
            matchLeave: (ctx, logger, nk, dispatcher, tick, state) => ({ state }),
            matchLoop: (ctx, logger, nk, dispatcher, tick, state) => { state.node = ctx.node + ' ' + ctx.version; return { state }; },
            matchTerminate: (ctx, logger, nk, dispatcher, tick, state) => ({ state }),
            matchSignal: (ctx, logger, nk, dispatcher, tick, state) => ({ state, data: state.node }),
        };
        function InitModule(ctx, logger, nk, initializer) { initializer.registerMatch('other', handler); }";
    let (shelf, files) = (Shelf::new(), [("game.lua", lua.as_str()), ("index.js", javascript)]);
    let disk = Disk::dying(u64::MAX);
    run(async {
        let node = Node::of(("first", Rc::new(NoHttp)), &files, &shelf, &disk).await;
        node.make(1, "game").await.unwrap();
        node.make(2, "other").await.unwrap();
    });
    let disk = disk.found(ALL, u64::MAX);
    run(async {
        let node = Node::of(("second", Rc::new(NoHttp)), &files, &shelf, &disk).await;
        for id in node.take_over().await.unwrap() {
            assert_eq!(node.tick(id).await, Some(Outcome::GoesOn));
            assert_eq!(node.ask(id).await.unwrap(), "first 1.2.3");
        }
    });
}

//! Scheduled functions, by clocks that the test moves.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use muster_api::game::GameFunctions as _;
use muster_domain::Timestamp;
use muster_domain::ports::clock::Clock;
use muster_domain::ports::store::Store;
use muster_script::{Host, Limits, LuaFunctions, Program, ScriptMetrics};

use crate::world::{block_on, call, host_over, store};

/// A full hour.
const HOUR: i64 = 1_699_999_200;

#[derive(Default)]
struct Hands(Cell<i64>);

impl Clock for Hands {
    fn now(&self) -> Timestamp {
        Timestamp::from_seconds(self.0.get())
    }
}

/// A node whose clock the test moves.
struct Node {
    functions: LuaFunctions,
    clock: Rc<Hands>,
    metrics: Arc<ScriptMetrics>,
}

/// A scheduled function that keeps the moments at which it ran.
const MODULE: &str = "local nk = require('nakama')
    local function run(name)
        return function(context, due)
            local ran = nk.localcache_get('ran') or {}
            table.insert(ran, name .. ' ' .. context.execution_mode .. ' ' .. due)
            nk.localcache_put('ran', ran)
        end
    end
    nk.register_schedule(run('hourly'), '0 * * * *')
    nk.register_rpc(function() return nk.json_encode(nk.localcache_get('ran') or {}) end, 'ran')";

impl Node {
    async fn start(store: &Rc<dyn Store>, text: &str, at: i64) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("game.lua"), text).unwrap();
        let clock = Rc::new(Hands(Cell::new(at)));
        let host = Host { clock: clock.clone(), ..host_over(store.clone(), folder.path()) };
        let (host, limits) = (Rc::new(host), Limits::default());
        let program = Arc::new(Program::load(folder.path(), &host, &limits).await.unwrap());
        let metrics = Arc::new(ScriptMetrics::default());
        Self { functions: LuaFunctions::new(program, host, limits, metrics.clone()), clock, metrics }
    }

    /// Has the node look at its schedules at this time, and waits until its functions have run.
    async fn look(&self, at: i64, is_mine: bool) -> Option<i64> {
        self.clock.0.set(at);
        let next = self.functions.turn_schedules(is_mine);
        self.functions.settled().await;
        next
    }

    async fn ran(&self) -> Vec<String> {
        let ran = call(&self.functions, "ran", "").await.unwrap();
        if ran == "{}" { Vec::new() } else { serde_json::from_str(&ran).unwrap() }
    }
}

#[test]
fn a_function_runs_once_at_each_of_its_moments() {
    block_on(async {
        let node = Node::start(&store(), MODULE, HOUR + 1).await;
        assert_eq!(node.look(HOUR + 10, true).await, Some(HOUR + 3_600));
        assert_eq!(node.ran().await, [""; 0]);
        for at in [3_600, 3_600, 3_601, 3_700] {
            node.look(HOUR + at, true).await;
        }
        assert_eq!(node.ran().await, [format!("hourly schedule {}", HOUR + 3_600)]);
        node.look(HOUR + 2 * 3_600 + 5, true).await;
        assert_eq!(node.ran().await.len(), 2);
        assert_eq!(node.metrics.schedules.load(Ordering::Relaxed), 2);
        // The clock goes back and on again.
        node.look(HOUR + 3_590, true).await;
        node.look(HOUR + 3_605, true).await;
        assert_eq!(node.ran().await.len(), 2);
    });
}

#[test]
fn of_two_nodes_one_runs_it_whoever_does_and_whatever_their_clocks_say() {
    block_on(async {
        let store = store();
        let [one, two] = [Node::start(&store, MODULE, HOUR).await, Node::start(&store, MODULE, HOUR).await];
        // The clock of the first node is ahead. It dies right after the moment.
        one.look(HOUR + 3_600, true).await;
        two.look(HOUR + 3_598, false).await;
        two.look(HOUR + 3_599, true).await;
        two.look(HOUR + 3_601, true).await;
        assert_eq!([one.ran().await.len(), two.ran().await.len()], [1, 0]);
        // The task goes back to the first node, whose clock is past the next moment when the second one's is not.
        one.look(HOUR + 2 * 3_600 + 2, false).await;
        one.look(HOUR + 2 * 3_600 + 3, true).await;
        two.look(HOUR + 2 * 3_600, false).await;
        assert_eq!([one.ran().await.len(), two.ran().await.len()], [2, 0]);
        // No node ran for an hour: the missed moment is not caught up on.
        one.look(HOUR + 3 * 3_600 + 1_800, true).await;
        assert_eq!(one.ran().await.len(), 2);
    });
}

#[test]
fn who_still_runs_misses_its_next_moment() {
    block_on(async {
        let text = "local nk = require('nakama')
            nk.register_schedule(function()
                nk.storage_read({{ collection = 'c', key = 'k' }})
                nk.localcache_put('runs', (nk.localcache_get('runs') or 0) + 1)
            end, '* * * * * * *')
            nk.register_rpc(function() return tostring(nk.localcache_get('runs') or 0) end, 'runs')";
        let node = Node::start(&store(), text, HOUR).await;
        for second in 1..=3 {
            node.clock.0.set(HOUR + second);
            // The first run has begun and not ended.
            node.functions.turn_schedules(true);
        }
        node.functions.settled().await;
        assert_eq!(call(&node.functions, "runs", "").await, Ok("1".to_owned()));
        assert_eq!(node.metrics.schedules_skipped.load(Ordering::Relaxed), 2);
        node.look(HOUR + 4, true).await;
        assert_eq!(call(&node.functions, "runs", "").await, Ok("2".to_owned()));
    });
}

#[test]
fn a_record_of_a_clock_that_was_wrong_holds_nobody_up() {
    block_on(async {
        let store = store();
        let wrong = Node::start(&store, MODULE, HOUR + 500 * 3_600).await;
        wrong.look(HOUR + 501 * 3_600, true).await;
        assert_eq!(wrong.ran().await.len(), 1);
        let right = Node::start(&store, MODULE, HOUR).await;
        right.look(HOUR + 3_600, true).await;
        assert_eq!(right.ran().await.len(), 1);
    });
}

#[test]
fn what_is_no_expression_is_refused_and_a_failure_counted() {
    block_on(async {
        let failing = "require('nakama').register_schedule(function() error('no') end, '0 * * * *')";
        let node = Node::start(&store(), failing, HOUR).await;
        node.look(HOUR + 3_600, true).await;
        assert_eq!(node.metrics.schedules_failed.load(Ordering::Relaxed), 1);
    });
    let wrong = "require('nakama').register_schedule(function() end, 'sometimes')";
    let refused = crate::world::load(&[("bad.lua", wrong)], Limits::default()).err().unwrap().to_string();
    assert!(refused.starts_with("bad.lua:1: register_schedule: "), "{refused}");
}

//! Game code that changes while the server runs.

use std::rc::Rc;
use std::sync::Arc;

use futures_util::poll;
use muster_api::game::{ExecutionMode, GameFunctions as _, Invocation, Occasion};
use muster_api::hooks::{HookSubject, Hooks as _};
use muster_script::{Host, Limits, LuaFunctions, Program};
use muster_wire::operations::Operation;

use crate::world::{block_on, call, host_over, store};

struct Game {
    folder: tempfile::TempDir,
    host: Rc<Host>,
    functions: LuaFunctions,
}

impl Game {
    async fn start(text: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let host = Rc::new(host_over(store(), folder.path()));
        let program = program(folder.path(), &host, text).await;
        let functions = LuaFunctions::new(program, host.clone(), Limits::default(), Arc::default());
        Self { folder, host, functions }
    }

    async fn change(&self, text: &str, generation: u64) {
        self.functions.renew(program(self.folder.path(), &self.host, text).await, generation).await;
    }
}

async fn program(folder: &std::path::Path, host: &Rc<Host>, text: &str) -> Arc<Program> {
    std::fs::write(folder.join("game.lua"), text).unwrap();
    Arc::new(Program::load(folder, host, &Limits::default()).await.unwrap())
}

fn answers(text: &str) -> String {
    format!("local nk = require('nakama')\nnk.register_rpc(function() return '{text}' end, 'ask')")
}

#[test]
fn calls_are_of_the_new_code_from_then_on() {
    block_on(async {
        let game = Game::start(&answers("old")).await;
        assert_eq!(call(&game.functions, "ask", "").await, Ok("old".to_owned()));
        game.change(&answers("new"), 2).await;
        assert_eq!(call(&game.functions, "ask", "").await, Ok("new".to_owned()));
    });
}

#[test]
fn a_call_that_is_under_way_ends_as_it_began() {
    block_on(async {
        let waits = "local nk = require('nakama')
            nk.register_rpc(function() nk.storage_read({{ collection = 'c', key = 'k' }}) return 'old' end, 'ask')";
        let game = Game::start(waits).await;
        let mut under_way = Box::pin(call(&game.functions, "ask", ""));
        assert!(poll!(&mut under_way).is_pending());
        game.change(&answers("new"), 2).await;
        assert_eq!(call(&game.functions, "ask", "").await, Ok("new".to_owned()));
        assert_eq!(under_way.await, Ok("old".to_owned()));
    });
}

#[test]
fn what_is_registered_follows() {
    block_on(async {
        let subject = HookSubject::Operation(Operation::GetAccount);
        let all = "local nk = require('nakama')
            nk.register_rpc(function() end, 'gone')
            nk.register_req_before(function(_, payload) return payload end, 'GetAccount')
            nk.register_matchmaker_matched(function() end)
            nk.register_event(function() end)
            nk.register_schedule(function() end, '0 * * * *')";
        let game = Game::start(all).await;
        let has = |functions: &LuaFunctions| {
            let (rpc, hook) = (functions.has("gone"), functions.has_before(subject));
            let matched = functions.has_matched_function();
            [rpc, hook, matched, functions.hears_of(Occasion::Reported), functions.turn_schedules(false).is_some()]
        };
        assert_eq!(has(&game.functions), [true; 5]);
        game.change("", 2).await;
        assert_eq!(has(&game.functions), [false; 5]);
        game.change(all, 3).await;
        assert_eq!(has(&game.functions), [true; 5]);
        let called = Invocation { mode: ExecutionMode::Rpc, ..Invocation::default() };
        assert_eq!(game.functions.call("gone", called).await, Ok(None));
    });
}

#[test]
fn there_may_be_no_code_at_first() {
    block_on(async {
        let folder = tempfile::tempdir().unwrap();
        let host = Rc::new(host_over(store(), folder.path()));
        let functions = LuaFunctions::new(Arc::default(), host.clone(), Limits::default(), Arc::default());
        assert!(!functions.has("ask") && !functions.has_matched_function());
        functions.renew(program(folder.path(), &host, &answers("there")).await, 2).await;
        assert_eq!(call(&functions, "ask", "").await, Ok("there".to_owned()));
    });
}

//! Tests of `run_once`: effects that happen once, and variables that are there in every machine.

use std::rc::Rc;
use std::sync::Arc;

use muster_script::{Host, Limits, LuaFunctions, Program};

use crate::matches::{Hall, module, run};
use crate::world::{block_on, call, host_over, store};

/// A folder of modules over one process, whose modules may change.
struct Game {
    folder: tempfile::TempDir,
    host: Rc<Host>,
}

impl Game {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let host = Rc::new(host_over(store(), folder.path()));
        Self { folder, host }
    }

    async fn load(&self, text: &str) -> Result<Arc<Program>, String> {
        std::fs::write(self.folder.path().join("game.lua"), text).unwrap();
        let program = Program::load(self.folder.path(), &self.host, &Limits::default()).await;
        program.map(Arc::new).map_err(|error| error.to_string())
    }

    /// The functions of newly loaded code. Its first call starts a machine.
    async fn functions(&self, text: &str) -> LuaFunctions {
        let program = self.load(text).await.unwrap();
        LuaFunctions::new(program, self.host.clone(), Limits::default(), Arc::default())
    }
}

/// A module that runs a function once. Its function `ask` answers the result of an expression.
fn once(body: &str, answer: &str) -> String {
    format!(
        "local nk = require('nakama')
        local drawn, known, calls
        local function objects() return #nk.storage_list(nil, 'c', 100) end
        nk.run_once(function(context)
            {body}
        end)
        nk.register_rpc(function() return tostring({answer}) end, 'ask')"
    )
}

const DRAWS: &str = "drawn = nk.uuid_v4()
    known = objects()
    nk.storage_write({{ collection = 'c', key = drawn, value = { n = 1 } }})";

#[test]
fn variables_are_set_in_every_machine_and_effects_happen_once() {
    block_on(async {
        let game = Game::new();
        let functions = game.functions(&once(DRAWS, "drawn .. ' ' .. known .. ' ' .. objects()")).await;
        let first = call(&functions, "ask", "").await.unwrap();
        assert!(first.ends_with(" 0 1") && first.len() == 40, "{first}");
        let other = game.functions(&once(DRAWS, "drawn .. ' ' .. known .. ' ' .. objects()")).await;
        assert_eq!(call(&other, "ask", "").await, Ok(first), "the code was loaded again");
    });
}

#[test]
fn only_the_first_function_runs_in_each_machine() {
    let text = "local nk = require('nakama')
        ran = ''
        nk.run_once(function() ran = ran .. 'first' nk.run_once(function() ran = ran .. 'inner' end) end)
        nk.run_once(function() ran = ran .. 'second' end)
        local function same() ran = ran .. 'same' end
        nk.run_once(same) nk.run_once(same)
        nk.register_rpc(function() nk.run_once(same) return ran end, 'ask')";
    block_on(async {
        let functions = Game::new().functions(text).await;
        for _ in 0..2 {
            assert_eq!(call(&functions, "ask", "").await, Ok("first".to_owned()));
        }
    });
}

#[test]
fn functions_that_are_registered_once_are_there_in_every_machine() {
    block_on(async {
        let text = "local nk = require('nakama')
            nk.run_once(function() nk.register_rpc(function() return 'there' end, 'ask') end)";
        assert_eq!(call(&Game::new().functions(text).await, "ask", "").await, Ok("there".to_owned()));
    });
}

#[test]
fn a_function_may_be_given_later() {
    let text = "local nk = require('nakama')
        local count = 0
        nk.register_rpc(function() nk.run_once(function() count = count + 1 end) return tostring(count) end, 'ask')";
    block_on(async {
        let functions = Game::new().functions(text).await;
        for _ in 0..2 {
            assert_eq!(call(&functions, "ask", "").await, Ok("1".to_owned()));
        }
    });
}

#[test]
fn a_repetition_that_does_something_else_changes_nothing() {
    block_on(async {
        let game = Game::new();
        game.load(&once(DRAWS, "drawn")).await.unwrap();
        // New code may read anew; what it wants to change was not changed then.
        let more =
            format!("{DRAWS} calls = objects() nk.storage_delete({{{{ collection = 'c', key = drawn }}}}) drawn = nil");
        let functions = game.functions(&once(&more, "#drawn .. ' ' .. calls .. ' ' .. objects()")).await;
        assert_eq!(call(&functions, "ask", "").await, Ok("36 1 1".to_owned()));
        // Code may find that out.
        let finds = "calls = select(2, pcall(nk.storage_delete, {{ collection = 'c', key = 'k' }}))";
        let functions = game.functions(&once(finds, "calls")).await;
        let told = call(&functions, "ask", "").await.unwrap();
        assert!(told.ends_with("run_once has run already and did not call this then: nothing happens again"), "{told}");
    });
}

#[test]
fn a_first_run_that_fails_goes_on_where_it_ended() {
    block_on(async {
        let game = Game::new();
        let fails = format!("{DRAWS} error('broken')");
        let told = game.load(&once(&fails, "drawn")).await.err().unwrap();
        assert!(told.ends_with("broken"), "{told}");
        let mended = format!("{DRAWS} nk.storage_write({{{{ collection = 'c', key = 'more', value = {{ n = 1 }} }}}})");
        let functions = game.functions(&once(&mended, "known .. ' ' .. objects()")).await;
        assert_eq!(call(&functions, "ask", "").await, Ok("0 2".to_owned()));
    });
}

#[test]
fn a_function_that_writes_to_libraries_runs_once() {
    block_on(async {
        let text = once(&format!("{DRAWS} local library = string library.mine = drawn"), "string.mine .. objects()");
        let told = call(&Game::new().functions(&text).await, "ask", "").await.unwrap();
        assert!(told.len() == 37 && told.ends_with('1'), "{told}");
    });
}

#[test]
fn variables_are_set_in_every_match() {
    let settings = "local nk = require('nakama')
        local settings = {}
        nk.run_once(function()
            settings.drawn = nk.uuid_v4()
            nk.localcache_put('runs', (nk.localcache_get('runs') or 0) + 1, 60)
        end)
        return settings";
    let game = module(
        "local settings = require('settings')
        nk.run_once(function() error('another has run') end)
        function M.match_signal(context, dispatcher, tick, state, data)
            return state, settings.drawn .. ' ' .. nk.localcache_get('runs')
        end",
    );
    let hall = Hall::of(
        &[("settings.lua", settings), ("game.lua", &format!("require('settings') {game}"))],
        Limits::default(),
    );
    run(async {
        let mut told = Vec::new();
        for number in 1..=2 {
            hall.create(number, muster_script::value::Value::Nil).await.unwrap();
            told.push(hall.signal(number, "").await.unwrap());
        }
        assert_eq!((told[0].len(), &told[0][36..]), (38, " 1"));
        assert_eq!(told[0], told[1]);
    });
}

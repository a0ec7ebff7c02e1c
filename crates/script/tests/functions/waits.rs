//! Functions that wait for the database, at any place in their code.

use std::cell::RefCell;
use std::rc::Rc;

use futures_util::future::join;
use futures_util::{FutureExt as _, poll};
use muster_api::game::{GameFunctions as _, Invocation};
use muster_domain::Timestamp;
use muster_domain::ids::{UserId, Uuid};
use muster_domain::ports::accounts::{Identifier, NewAccount};
use muster_domain::ports::store::Store;
use muster_script::{Limits, LuaFunctions};
use muster_wire::code::Code;

use crate::world::{NOW_SEC, block_on, call, load, load_on, store};

const STORE: &str = "local nk = require('nakama')
    local function put(key, value)
        return nk.storage_write({{ collection = 'c', key = key, value = { v = value } }})
    end
    local function get(key)
        local found = nk.storage_read({{ collection = 'c', key = key }})
        return found[1] and found[1].value.v
    end
    put('loads', (get('loads') or 0) + 1)
    nk.register_rpc(function() return tostring(get('loads')) end, 'loads')
    nk.register_rpc(function(_, payload) put('p', payload) return get('p') end, 'echo')
    nk.register_rpc(function()
        for key = 1, 5 do put(tostring(key), 10 - key) end
        local keys = { '1', '2', '3', '4', '5' }
        table.sort(keys, function(a, b) return get(a) < get(b) end)
        local meta = setmetatable({}, { __index = function(_, key) return get(key) end })
        local text = string.gsub('12', '%d', function(key) return get(key) end)
        return table.concat(keys) .. meta['3'] .. text
    end, 'anywhere')
    nk.register_rpc(function() for _ = 1, 50 do put('many', 1) end end, 'many')
    nk.register_rpc(function()
        while true do pcall(function() put('stubborn', 1) end) end
    end, 'stubborn')
    nk.register_rpc(function(context)
        local user = 'd0000000-0000-4000-8000-000000000001'
        local updated, previous = nk.wallet_update(user, { gold = 7 }, { why = 'test' }, true)
        local refused, told = pcall(nk.wallet_update, user, { gold = -8 })
        local items, cursor = nk.wallet_ledger_list(user, 10)
        local account = nk.account_get_id(user)
        return nk.json_encode({ updated.gold, previous.gold or 0, refused, told, #items, items[1].metadata.why,
            cursor == '', account.wallet.gold, account.user.username, nk.users_get_username({ 'ann', 'bob' })[1].online })
    end, 'wallet')
    nk.register_rpc(function()
        local acks = put('conflict', 1)
        local told = { pcall(nk.storage_write,
            {{ collection = 'c', key = 'conflict', value = { v = 2 }, version = '*' }}) }
        nk.storage_write({{ collection = 'c', key = 'conflict', value = { v = 3 }, version = acks[1].version }})
        local objects, cursor = nk.storage_list(nil, 'c', 1)
        local rest = nk.storage_list(nil, 'c', 100, cursor)
        nk.storage_delete({{ collection = 'c', key = 'conflict' }})
        return nk.json_encode({ told[1], told[2], #objects, #rest, get('conflict') == nil })
    end, 'storage')
    nk.register_rpc(function() return nk.storage_write({{ collection = 'c', key = 'k', value = 5 }}) end, 'unfit')";

fn functions() -> LuaFunctions {
    load(&[("game.lua", STORE)], Limits::default()).unwrap()
}

#[test]
fn a_call_waits_wherever_it_is() {
    let functions = functions();
    block_on(async {
        assert_eq!(call(&functions, "echo", "hello").await, Ok("hello".to_owned()));
        assert_eq!(call(&functions, "anywhere", "").await, Ok("54321798".to_owned()));
    });
}

#[test]
fn modules_may_wait_while_they_load() {
    let functions = functions();
    block_on(async {
        // Modules run once when they are loaded, and once for the machine of the call.
        assert_eq!(call(&functions, "loads", "").await, Ok("2".to_owned()));
    });
}

#[test]
fn calls_that_wait_hold_up_nobody_else() {
    let functions = functions();
    block_on(async {
        let ended = RefCell::new(Vec::new());
        let note = async |id: &'static str| {
            assert_eq!(call(&functions, id, "").await, Ok(String::new()));
            ended.borrow_mut().push(id);
        };
        join(note("many"), note("echo")).await;
        assert_eq!(ended.into_inner(), ["echo", "many"], "one write against fifty");
    });
}

#[test]
fn a_call_that_nobody_waits_for_ends_and_its_machine_goes_on() {
    let limits = Limits { machines_max: 1, ..Limits::default() };
    let functions = load(&[("game.lua", STORE)], limits).unwrap();
    block_on(async {
        for id in ["many", "stubborn"] {
            let mut call_under_way = functions.call(id, Invocation::default());
            // The second poll finds the call in the middle of its writes.
            assert!(poll!(&mut call_under_way).is_pending());
            tokio::task::yield_now().await;
            assert!(poll!(&mut call_under_way).is_pending());
            drop(call_under_way);
            assert_eq!(call(&functions, "echo", id).await, Ok(id.to_owned()));
        }
        assert!(functions.call("echo", Invocation::default()).now_or_never().is_none());
        assert_eq!(call(&functions, "echo", "again").await, Ok("again".to_owned()));
    });
}

async fn with_ann(store: &Rc<dyn Store>) {
    let user_id = UserId(Uuid::from_u128(0xd000_0000_0000_4000_8000_0000_0000_0001));
    let account = NewAccount { user_id, username: "ann".to_owned(), now: Timestamp::from_seconds(NOW_SEC) };
    store.login(&Identifier::Device("device".to_owned()), Some(&account)).await.unwrap();
}

#[test]
fn wallets_and_accounts() {
    let store = store();
    let functions = load_on(store.clone(), &[("game.lua", STORE)], Limits::default()).unwrap();
    block_on(async {
        with_ann(&store).await;
        let told = "wallet update rejected negative value at path 'gold'";
        let expect = format!(r#"[7,0,false,"{told}",1,"test",true,7,"ann",false]"#);
        let answer = call(&functions, "wallet", "").await.unwrap();
        // Lua puts file and line before a message.
        let without_place = answer.replace("game.lua:24: ", "");
        assert_eq!(without_place, expect);
    });
}

#[test]
fn storage_as_the_original_has_it() {
    let functions = functions();
    block_on(async {
        let told = "Storage write or delete rejected: version check failed, an object is at another version.";
        let answer = call(&functions, "storage", "").await.unwrap();
        assert_eq!(answer, format!(r#"[false,"{told}",1,1,true]"#));
        let (code, message) = call(&functions, "unfit", "").await.unwrap_err();
        assert_eq!(code, Code::Internal);
        assert!(message.ends_with("expects value to be a table or object, got a number"), "{message}");
    });
}

#[test]
fn sql_as_the_original_has_it() {
    let text = "local nk = require('nakama')
        nk.run_once(function()
            nk.sql_exec([[CREATE TABLE t (foo TEXT, bar BIGINT, good BOOLEAN)]])
        end)
        nk.register_rpc(function()
            local changed = nk.sql_exec('INSERT INTO t (foo, bar, good) VALUES ($1, $2, true), ($3, $4, false)',
                { 'foo1', 1, 'foo2', 2 })
            local rows = nk.sql_query('SELECT * FROM t WHERE bar >= $1 ORDER BY bar DESC', { 1 })
            local none = nk.sql_query('SELECT * FROM t WHERE bar = 3')
            local first = nk.sql_query('SELECT NULL AS missing, 1.5 AS number')[1]
            return nk.json_encode({ changed, #rows, rows[1].foo, rows[2].good, #none, first.missing == nil, first.number })
        end, 'sql')
        nk.register_rpc(function(_, payload) nk.sql_exec(payload) end, 'exec')
        nk.register_rpc(function() nk.sql_query('SELECT $1', { { 1 } }) end, 'table')";
    let functions = load(&[("game.lua", text)], Limits::default()).unwrap();
    block_on(async {
        assert_eq!(call(&functions, "sql", "").await, Ok(r#"[2,2,"foo2",true,0,true,"1.5"]"#.to_owned()));
        let refused = async |id, payload| call(&functions, id, payload).await.unwrap_err().1;
        assert!(refused("exec", "SELEC").await.contains("did you mean SELECT?"));
        assert!(refused("exec", "SELECT * FROM nowhere").await.contains("relation \"nowhere\" does not exist"));
        assert!(refused("exec", "PRAGMA synchronous = off").await.contains("PRAGMA"));
        assert!(refused("table", "").await.ends_with("strings, numbers or booleans, got a table"));
    });
}

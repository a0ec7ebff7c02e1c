//! Matches that make and signal others on a live plane. Whichever machine they are in, no callback waits for itself.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use muster_domain::ports::clock::Entropy;
use muster_script::{LanguageMatches, Limits, LuaFunctions, LuaMatches, Program};
use serde_json::json;

use crate::matches::module;
use crate::plane::Connected;
use crate::world::{block_on, call, host_over, store, write_all};

/// A handler that carries out the command in a signal, which is JSON. Without `to` it answers how many signals it has
/// heard. Otherwise it signals the command `next` to the match `to`, or to a match that it makes if `to` is `new`.
/// `where` is the place in its code from which it does so. If `to` is `back`, it makes a match that signals it.
const RELAY: &str = "function M.match_init(context, params)
        if params.signals then nk.match_signal(params.signals, 'reply') end
        local count = 0
        return { id = context.match_id, heard = 0 }, 10, params.label or ''
    end
    local heard = 0
    function M.match_signal(context, dispatcher, tick, state, data)
        heard = heard + 1
        local asked = nk.json_decode(data)
        local function relay(to) return nk.match_signal(to, nk.json_encode(asked.next)) end
        if asked.to == nil then return state, heard .. '' end
        local told
        if asked.to == 'new' then
            local id = nk.match_create('game', {})
            told = relay(id)
        elseif asked.to == 'back' then
            told = nk.match_create('game', { signals = context.match_id })
        elseif asked.where == 'sort' then
            local list = { 2, 1 }
            table.sort(list, function(a, b) told = told or relay(asked.to) return a < b end)
        elseif asked.where == 'meta' then
            told = setmetatable({}, { __index = function(_, to) return relay(to) end })[asked.to]
        elseif asked.where == 'gsub' then
            told = string.gsub('x', 'x', function() return relay(asked.to) end)
        elseif asked.where == 'pcall' then
            local ok, why = pcall(relay, asked.to)
            told = tostring(ok) .. ' ' .. tostring(why)
        elseif asked.where == 'wreck' then
            local rubbish = {}
            for index = 1, 3000 do rubbish[index] = { tostring(index) } end
            told = relay(asked.to)
            if asked.how == 'error' then error({ 'wrecked', 3 }) end
            if asked.how == 'loop' then while true do pcall(error) end end
            if asked.how == 'deep' then local function deep() return deep() + 1 end deep() end
            assert(#rubbish == 3000 and rubbish[2999][1] == '2999')
        else
            told = relay(asked.to)
        end
        assert(nk.get_context().match_id == context.match_id)
        dispatcher.match_label_update(told)
        return state, context.match_label .. '>' .. told
    end
    nk.register_rpc(function(context, payload) return nk.match_create(payload, {}) end, 'make')
    nk.register_rpc(function(context, payload)
        local asked = nk.json_decode(payload)
        return nk.match_signal(asked.id, nk.json_encode(asked.say))
    end, 'say')
    nk.register_rpc(function(context, payload) return nk.match_get(payload).label end, 'label')
    nk.register_rpc(function(context, payload)
        local asked = nk.json_decode(payload)
        return #nk.match_list(10, asked.authoritative, asked.label, nil, nil, asked.query) .. ''
    end, 'count')
    nk.register_rpc(function(context, payload) return nk.match_create('game', { label = payload }) end, 'make_with')";

/// Randomness that is a new number each time.
#[derive(Default)]
struct Numbers(Cell<u32>);

impl Entropy for Numbers {
    fn fill(&self, bytes: &mut [u8]) {
        self.0.set(self.0.get() + 1);
        bytes.iter_mut().zip(self.0.get().to_le_bytes()).for_each(|(to, from)| *to = from);
    }
}

/// A shard whose game code reaches its own plane.
struct Shard {
    functions: LuaFunctions,
    connected: Connected,
}

impl Shard {
    async fn new(limits: Limits) -> Self {
        let folder = tempfile::tempdir().unwrap();
        write_all(folder.path(), &[("game.lua", &module(RELAY))]);
        let connected = Connected::default();
        let live = connected.live.clone();
        let host = Rc::new(muster_script::Host {
            matches: live.clone(),
            entropy: Rc::<Numbers>::default(),
            ..host_over(store(), folder.path())
        });
        let program = Arc::new(Program::load(folder.path(), &host, &limits).await.unwrap());
        let plane = live.clone();
        let returns = move |call, returned| plane.match_returned(call, returned);
        let matches = Rc::new(LuaMatches::new(program.clone(), host.clone(), limits, Arc::default(), returns));
        connected.attach_engines(Rc::new(LanguageMatches::new(vec![matches])));
        let functions = LuaFunctions::new(program, host, limits, Arc::default());
        Self { functions, connected }
    }

    async fn make(&self) -> String {
        call(&self.functions, "make", "game").await.unwrap()
    }

    async fn say(&self, id: &str, say: serde_json::Value) -> Result<String, String> {
        let said = json!({ "id": id, "say": say }).to_string();
        call(&self.functions, "say", &said).await.map_err(|(_, told)| told)
    }

    async fn label(&self, id: &str) -> String {
        call(&self.functions, "label", id).await.unwrap()
    }
}

fn test(limits: Limits, test: impl AsyncFnOnce(&Shard)) {
    block_on(async {
        let shard = Shard::new(limits).await;
        test(&shard).await;
        drop(shard.connected);
    });
}

/// Runs a test with all matches in one machine, and once more with a machine for each.
fn in_one_and_many(run: impl AsyncFn(&Shard)) {
    for matches_per_machine in [64, 1] {
        test(Limits { matches_per_machine, ..Limits::default() }, async |shard| run(shard).await);
    }
}

#[test]
fn of_a_label_and_a_query_in_a_listing_the_query_counts() {
    test(Limits::default(), async |shard| {
        let label = r#"{"mode":"duel"}"#;
        call(&shard.functions, "make_with", label).await.unwrap();
        for (asked, count) in [
            (json!({}), "1"),
            (json!({ "label": label }), "1"),
            (json!({ "label": "another" }), "0"),
            (json!({ "label": "" }), "0"),
            (json!({ "label": "another", "query": "+label.mode:duel" }), "1"),
            (json!({ "label": label, "query": "+label.mode:arena" }), "0"),
            (json!({ "label": "another", "query": "" }), "1"),
            (json!({ "label": label, "authoritative": false }), "0"),
            (json!({ "query": "", "authoritative": false }), "0"),
        ] {
            assert_eq!(call(&shard.functions, "count", &asked.to_string()).await.unwrap(), count, "{asked}");
        }
    });
}

#[test]
fn a_match_signals_another_from_wherever_its_code_is() {
    in_one_and_many(async |shard| {
        let (one, other) = (shard.make().await, shard.make().await);
        for (count, place) in ["plain", "sort", "meta", "gsub"].into_iter().enumerate() {
            let say = json!({ "to": other, "where": place, "next": {} });
            let heard = (count + 1).to_string();
            assert!(shard.say(&one, say).await.unwrap().ends_with(&format!(">{heard}")), "{place}");
            assert_eq!(shard.label(&one).await, heard, "the label that a callback sets is that of its own match");
        }
        let say = json!({ "to": other, "where": "pcall", "next": {} });
        assert!(shard.say(&one, say).await.unwrap().ends_with("true 5"));
        assert_eq!(shard.label(&other).await, "");
    });
}

#[test]
fn a_signal_that_would_wait_for_itself_is_refused_and_its_matches_go_on() {
    in_one_and_many(async |shard| {
        let (one, other) = (shard.make().await, shard.make().await);
        let itself = json!({ "to": one, "where": "pcall", "next": {} });
        let told = shard.say(&one, itself.clone()).await.unwrap();
        assert!(told.contains("false ") && told.contains("it would wait for ever"), "{told}");
        let around = json!({ "to": other, "next": itself });
        let told = shard.say(&one, around).await.unwrap();
        assert!(told.contains("it would wait for ever"), "{told}");
        for id in [one, other] {
            shard.say(&id, json!({})).await.unwrap();
        }
    });
}

#[test]
fn a_callback_makes_matches_and_waits_for_them() {
    in_one_and_many(async |shard| {
        let one = shard.make().await;
        assert_eq!(shard.say(&one, json!({ "to": "new", "next": {} })).await.unwrap(), ">1");
        let told = shard.say(&one, json!({ "to": "back" })).await.unwrap_err();
        assert!(told.contains("ended"), "whose first callback signals who waits for it is not made: {told}");
    });
}

#[test]
fn what_goes_wrong_in_one_callback_leaves_those_that_wait_beside_it_alone() {
    let limits = Limits { call_time: Duration::from_millis(20), ..Limits::default() };
    test(limits, async |shard| {
        for round in 0..10 {
            let mut calls = Vec::new();
            for how in ["none", "error", "none", "loop", "none", "deep", "none"].repeat(2) {
                let (one, middle, last) = (shard.make().await, shard.make().await, shard.make().await);
                calls.push(async move {
                    let inner = json!({ "to": last, "where": "sort", "next": {} });
                    let say = json!({ "to": middle, "where": "wreck", "how": how, "next": inner });
                    let told = shard.say(&one, say).await;
                    if how == "none" {
                        assert_eq!(told.unwrap(), ">>1", "round {round}");
                    } else {
                        told.unwrap_err();
                    }
                    assert_eq!(shard.say(&last, json!({})).await.unwrap(), "2", "round {round} {how}");
                });
            }
            join_all(calls).await;
        }
    });
}

#[test]
fn a_chain_has_an_end() {
    in_one_and_many(async |shard| {
        let first = shard.make().await;
        let mut say = json!({ "where": "none" });
        for _ in 0..20 {
            say = json!({ "to": "new", "next": say });
        }
        assert!(shard.say(&first, say).await.is_err(), "the last one fails, and with it those that wait for it");
        let mut say = json!({});
        for _ in 0..5 {
            say = json!({ "to": "new", "next": say });
        }
        let other = shard.make().await;
        assert_eq!(shard.say(&other, say).await.unwrap(), ">>>>>1");
    });
}

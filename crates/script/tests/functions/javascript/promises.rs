//! Functions that are `async`, and wait beside each other by `nk.promises`.

use std::time::Duration;

use muster_script::{JsFunctions, Limits};

use super::{answer, load, refused};
use crate::logs::warnings;
use crate::world::{block_on, call, most_inside};

const GAME: &str = "
    let inside = 0;
    let shared;
    const open = [];
    const put = (nk, key) => nk.promises.storageWrite([{ collection: 'c', key, value: {} }]);
    async function crowd(ctx, logger, nk, payload) {
        inside += 1;
        const mine = payload;
        await put(nk, payload);
        if (mine !== payload) { throw Error('mixed up'); }
        inside -= 1;
        return String(inside + 1);
    }
    async function once(ctx, logger, nk, payload) {
        shared ??= put(nk, 'once').then((acks) => `${acks.length} by ${payload}`);
        return await shared;
    }
    function begins(ctx, logger, nk, payload) {
        shared = nk.promises.storageRead([]).then(() => 'begun');
        return 'left';
    }
    async function all(ctx, logger, nk, payload) {
        const acks = await Promise.all([1, 2, 3].map((key) => put(nk, `all${key}`)));
        const first = await Promise.race([put(nk, 'race'), new Promise(() => {})]);
        return JSON.stringify([acks.length, first.length, ctx.userId ?? 'nobody']);
    }
    async function refuses(ctx, logger, nk, payload) {
        try { await nk.promises.walletUpdate('nobody', {}); } catch (error) { return error.message; }
    }
    async function throws(ctx, logger, nk, payload) {
        await nk.promises.storageRead([]);
        throw { message: 'mine', code: 9 };
    }
    async function never(ctx, logger, nk, payload) { await new Promise((go) => open.push(go)); }
    async function endless(ctx, logger, nk, payload) {
        await nk.promises.storageRead([]);
        for (;;) { }
    }
    async function spends(ctx, logger, nk, payload) {
        for (;;) {
            await nk.promises.storageRead([]);
            for (let i = 0; i < 100000; i += 1) { }
        }
    }
    async function chains(ctx, logger, nk, payload) {
        for (;;) { await null; }
    }
    function plain(ctx, logger, nk, payload) {
        return nk.promises.storageRead([]).then((objects) => String(objects.length));
    }
    function InitModule(ctx, logger, nk, initializer) {
        for (const run of [crowd, once, begins, all, refuses, throws, never, endless, spends, chains, plain]) {
            initializer.registerRpc(run.name, run);
        }
    }";

fn functions(limits: Limits) -> JsFunctions {
    load(&[("index.js", GAME)], limits).unwrap()
}

#[test]
fn async_functions_wait_beside_each_other_in_one_machine() {
    let inside = |limits: Limits| {
        let functions = functions(limits);
        block_on(most_inside(&functions))
    };
    assert_eq!(inside(Limits { machines_max: 1, ..Limits::default() }), 20);
    assert_eq!(inside(Limits { concurrent_max: 3, ..Limits::default() }), 3);
}

#[test]
fn what_one_call_began_others_may_wait_for() {
    let functions = functions(Limits::default());
    block_on(async {
        let (one, other) = tokio::join!(call(&functions, "once", "one"), call(&functions, "once", "other"));
        assert_eq!((one, other), (Ok("1 by one".to_owned()), Ok("1 by one".to_owned())));
    });
}

#[test]
fn promises_combine_and_reject_as_promises_do() {
    let functions = functions(Limits::default());
    block_on(async {
        assert_eq!(call(&functions, "all", "").await, Ok(r#"[3,1,"nobody"]"#.to_owned()));
        let told = call(&functions, "refuses", "").await.unwrap();
        assert!(told.contains("user"), "{told}");
        let (code, told) = call(&functions, "throws", "").await.unwrap_err();
        assert_eq!((code.number(), told.as_str()), (9, "mine"));
        assert_eq!(call(&functions, "plain", "").await, Ok("0".to_owned()));
    });
}

#[test]
fn what_nothing_fulfils_is_an_error_when_nothing_is_awaited_any_more() {
    let functions = functions(Limits::default());
    block_on(async {
        let (never, crowd) = tokio::join!(call(&functions, "never", ""), most_inside(&functions));
        assert!(never.unwrap_err().1.contains("nothing fulfils"));
        assert_eq!(crowd, 20);
    });
}

#[test]
fn a_call_that_spends_its_time_ends_and_those_beside_it_do_not() {
    let functions = functions(Limits { call_time: Duration::from_millis(20), ..Limits::default() });
    block_on(async {
        for (id, why) in [("endless", "more time"), ("spends", "more time"), ("chains", "")] {
            let (ended, crowd) = tokio::join!(call(&functions, id, ""), most_inside(&functions));
            assert!(ended.unwrap_err().1.contains(why), "{id}");
            assert_eq!(crowd, 20);
        }
    });
}

#[test]
fn a_call_that_nobody_waits_for_leaves_the_others_as_they_are() {
    let functions = functions(Limits::default());
    block_on(async {
        let given_up = async {
            let call = call(&functions, "all", "");
            let mut call = std::pin::pin!(call);
            assert!(futures_util::poll!(&mut call).is_pending());
            tokio::task::yield_now().await;
        };
        let ((), crowd) = tokio::join!(given_up, most_inside(&functions));
        assert_eq!(crowd, 20);
        assert_eq!(call(&functions, "plain", "").await, Ok("0".to_owned()));
    });
}

#[test]
fn where_nothing_goes_on_beside_a_call_promises_are_settled_at_once() {
    let text = "let loaded;
        async function f() { return loaded; }
        async function InitModule(ctx, logger, nk, initializer) {
            initializer.registerRpc('f', f);
            const acks = await nk.promises.storageWrite([{ collection: 'c', key: 'k', value: {} }]);
            loaded = `wrote ${acks.length}`;
        }";
    let functions = load(&[("index.js", text)], Limits::default()).unwrap();
    assert_eq!(block_on(call(&functions, "f", "")), Ok("wrote 1".to_owned()));
    assert!(refused("async function InitModule() { await new Promise(() => {}); }").contains("nothing fulfils"));
}

#[test]
fn there_are_promises_of_what_may_wait_and_of_nothing_else() {
    let body = "return JSON.stringify([typeof nk.promises.httpRequest, typeof nk.promises.accountGetId,
        typeof nk.promises.uuidv4])";
    assert_eq!(answer(body, ""), Ok(r#"["function","function","undefined"]"#.to_owned()));
}

const FORGETFUL: &str = "
    let shared;
    const wrong = (nk) => nk.promises.storageWrite([{ collection: 'c', key: 'k', value: {}, version: 'wrong' }]);
    async function fails() { throw Error('lost'); }
    function drops() { fails(); return 'ok'; }
    function crowds() { for (let i = 0; i < 100; i += 1) { fails(); } return 'ok'; }
    async function awaits(ctx, logger, nk) {
        const late = fails();
        await nk.promises.storageRead([]);
        const all = await Promise.allSettled([late, fails(), wrong(nk), wrong(nk)]);
        return String(all.filter((one) => one.status === 'rejected').length);
    }
    async function rejects(ctx, logger, nk) {
        await nk.promises.storageRead([]);
        return fails();
    }
    async function leaves(ctx, logger, nk) {
        shared = wrong(nk);
        shared.then(() => 'this promise fails too');
        return 'paid';
    }
    async function looks() { return shared.catch(() => 'failed'); }
    function InitModule(ctx, logger, nk, initializer) {
        for (const run of [drops, crowds, awaits, rejects, leaves, looks]) { initializer.registerRpc(run.name, run); }
        async function begins() { throw Error('at the beginning'); }
        begins();
    }";

/// The warnings of some calls, one after the other, on one machine.
fn warned(calls: &[(&str, Result<&str, &str>)]) -> Vec<String> {
    let functions = load(&[("index.js", FORGETFUL)], Limits { machines_max: 1, ..Limits::default() }).unwrap();
    let make_calls = async {
        for (id, expect) in calls {
            let told = call(&functions, id, "").await.map_err(|(_, told)| told);
            assert_eq!(told.as_deref().map_err(String::as_str), *expect, "{id}");
        }
    };
    warnings(|| block_on(make_calls)).1
}

#[test]
fn a_forgotten_promise_that_fails_is_told_in_the_log() {
    const TOLD: &str = "a promise was rejected and nobody awaited it";
    let at_once = warned(&[("drops", Ok("ok"))]);
    let [line] = &at_once[..] else { panic!("{at_once:?}") };
    assert!(line.contains(TOLD) && line.contains("Error: lost") && line.contains("at fails (index.js:4:"), "{line}");
    // The host's answer comes when the call has ended, and is seen in the next one.
    let later = warned(&[("leaves", Ok("paid")), ("looks", Ok("failed"))]);
    let [line] = &later[..] else { panic!("{later:?}") };
    assert!(line.contains(TOLD) && line.contains("at wrong (index.js:3:"), "{line}");
    assert_eq!(warned(&[("crowds", Ok("ok")), ("drops", Ok("ok"))]).len(), 64 + 1);
    let (_, loading) = warnings(|| load(&[("index.js", FORGETFUL)], Limits::default()).map(drop));
    let [line] = &loading[..] else { panic!("{loading:?}") };
    assert!(line.contains(TOLD) && line.contains("at the beginning"), "{line}");
}

#[test]
fn a_promise_that_was_awaited_late_or_returned_is_not_told_again() {
    assert_eq!(warned(&[("awaits", Ok("4"))]), [""; 0]);
    let returned = warned(&[("rejects", Err("Error: lost"))]);
    let [line] = &returned[..] else { panic!("{returned:?}") };
    assert!(line.contains("game code failed"), "{line}");
}

//! Habits of JavaScript that code for browsers and for the original brings along.

use muster_wire::code::Code;

use super::answer;

fn check(body: &str, expect: &str) {
    assert_eq!(answer(body, "").as_deref(), Ok(expect), "{body}");
}

#[test]
fn objects_have_properties_of_names_that_frozen_prototypes_have() {
    // The helper of TypeScript for generators.
    check(
        "'use strict';
        var g = Object.create((typeof Iterator === 'function' ? Iterator : Object).prototype);
        g.next = function () { return { done: true }; };
        g[Symbol.iterator] = function () { return this; };
        return String([...g].length) + Object.keys(g).length;",
        "01",
    );
    check(
        "'use strict'; var own = {}; own.toString = () => 'own'; own.constructor = 3; return String(own) + own.constructor;",
        "own3",
    );
    check(
        "'use strict'; var date = new Date(0); date.toJSON = () => 'own'; return JSON.stringify([date]);",
        "[\"own\"]",
    );
    check(
        "return [{}.toString(), [1, 2].toString(), {}.hasOwnProperty('x'), [].constructor === Array].join();",
        "[object Object],1,2,false,true",
    );
    let (_, told) = answer("'use strict'; Object.prototype.toString = 1; return '';", "").unwrap_err();
    assert!(told.contains("read-only"), "{told}");
}

#[test]
fn the_console_logs_and_what_browsers_have_is_named_with_what_to_use() {
    check(
        "console.log('a', 1, { b: [2] }, null, undefined, new Error('c')); console.warn(); return typeof console.error;",
        "function",
    );
    check("var own = {}; own.own = own; console.log(own); return 'logged';", "logged");
    for (call, told) in [("setTimeout(f, 1)", "a timer of a match"), ("fetch('x')", "nk.httpRequest")] {
        let (_, why) = answer(&format!("{call}; return '';"), "").unwrap_err();
        assert!(why.contains(told), "{call}: {why}");
    }
}

#[test]
fn whatever_is_thrown_is_told() {
    for (thrown, told) in [
        ("null", "null"),
        ("undefined", "undefined"),
        ("7", "7"),
        ("true", "true"),
        ("10n", "10"),
        ("'text'", "text"),
        ("''", ""),
        ("[1, 2]", "[1,2]"),
        ("Symbol('x')", "Symbol(x)"),
        ("{ a: 1 }", "{\"a\":1}"),
        ("{ message: 'm' }", "m"),
        ("{ toString() { throw 1; } }", "{}"),
        ("new RangeError('x')", "RangeError: x"),
    ] {
        for body in [format!("throw {thrown};"), format!("return Promise.reject({thrown});")] {
            assert_eq!(answer(&body, ""), Err((Code::Internal, told.to_owned())), "{body}");
        }
    }
}

#[test]
fn codes_of_errors_reach_callers() {
    let thrown = "throw { message: 'm', code: 5 };";
    assert_eq!(answer(thrown, ""), Err((Code::NotFound, "m".to_owned())));
    let own = "const e = new Error('x'); e.code = 5; throw e;";
    assert_eq!(answer(own, ""), Err((Code::NotFound, "Error: x".to_owned())));
}

#[test]
fn errors_of_the_server_are_those_of_the_original_by_kind() {
    let shown = |run: &str| {
        let told =
            "[e.name, e instanceof TypeError, e instanceof Error, Object.keys(e).join(), typeof e.stack, e.code]";
        answer(&format!("try {{ {run} }} catch (e) {{ return {told}.join(' '); }}"), "").unwrap()
    };
    assert_eq!(shown("nk.accountGetId('x');"), "TypeError true true  string 3");
    assert_eq!(shown("nk.accountGetId();"), "TypeError true true  string 3");
    assert_eq!(shown("nk.accountGetId(nk.uuidv4());"), "GoError false true value string 5");
    let object = "collection: 'c', key: 'k', userId: '00000000-0000-0000-0000-000000000000'";
    for run in [
        format!("nk.storageWrite([{{ {object}, value: {{}}, version: 'another' }}]);"),
        format!("nk.storageDelete([{{ {object}, version: 'another' }}]);"),
        format!("nk.multiUpdate([], [{{ {object}, value: {{}}, version: 'another' }}]);"),
    ] {
        assert!(shown(&run).starts_with("GoError false true value"), "{run}");
        let told = answer(&run, "").unwrap_err().1;
        assert!(told.starts_with("GoError: ") && told.contains("version check failed"), "{told}");
    }
}

#[test]
fn answers_have_the_fields_of_the_original() {
    let user = "const [{ userId }] = [nk.authenticateDevice('a-device-of-a-player')];";
    check(
        &format!("{user} return Object.keys(nk.walletUpdate(userId, {{ coins: 1 }})).sort().join();"),
        "previous,updated,userId",
    );
    check(
        &format!(
            "{user} nk.walletUpdate(userId, {{ coins: 1 }}, {{}}, true);
            return [nk.walletLedgerList(userId, 1000).items.length, nk.walletLedgerList(userId, 0).items.length].join();"
        ),
        "1,0",
    );
    check(
        "const id = nk.channelIdBuild(null, 'room', 1); nk.channelMessageSend(id, {}, null, null, true);
        const { messages, nextCursor, prevCursor } = nk.channelMessagesList(id);
        const [{ groupId, userIdOne, userIdTwo, roomName }] = messages;
        return JSON.stringify([groupId, userIdOne, userIdTwo, roomName, nextCursor, prevCursor]);",
        "[\"\",\"\",\"\",\"room\",\"\",\"\"]",
    );
    check(
        "for (let i = 0; i < 120; i += 1) nk.storageWrite([{ collection: 'c', key: `k${i}`, value: {} }]);
        const count = (...given) => nk.storageList(null, 'c', ...given).objects.length;
        return [count(), count(10000), count(0)].join();",
        "100,120,0",
    );
}

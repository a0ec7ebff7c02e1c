//! Habits of JavaScript that code for browsers and for the original brings along.

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

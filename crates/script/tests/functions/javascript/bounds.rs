//! Builtins whose work grows with a length that costs nothing to claim.

use std::time::Duration;

use muster_script::Limits;
use muster_wire::code::Code;

use super::{answer, load};
use crate::world::{block_on, call};

/// What the body of a function answers with limits that nothing here may need.
fn run(body: &str) -> Result<String, (Code, String)> {
    let text = format!(
        "function f(ctx, logger, nk, payload) {{\n{body}\n}}
        function InitModule(ctx, logger, nk, initializer) {{ initializer.registerRpc('f', f); }}"
    );
    let limits = Limits { call_time: Duration::from_secs(600), ..Limits::default() };
    block_on(call(&load(&[("index.js", &text)], limits).unwrap(), "f", ""))
}

#[test]
fn what_claims_to_be_long_is_refused() {
    for expression in [
        "Array.prototype.reverse.call({ length: 2 ** 53 - 1 })",
        "new Array(2 ** 32 - 1).join()",
        "[].concat({ length: 2 ** 53 - 1, [Symbol.isConcatSpreadable]: true })",
        "[new Array(2 ** 32 - 1)].flat()",
        "[1].flatMap(() => new Array(2 ** 32 - 1))",
        "'x'.padStart(2 ** 29)",
        "'x'.repeat(2 ** 28)",
        "('a'.repeat(2 ** 20)).indexOf('a'.repeat(2 ** 19) + 'b')",
        "[...new Array(2 ** 32 - 1).keys()]",
        "'a'.repeat(2 ** 16).replace(/a/g, '$`')",
        "new RegExp('a'.repeat(2 ** 18))",
        "new Uint8Array(2 ** 22).set('a'.repeat(2 ** 22))",
        "'a'.repeat(2 ** 20).indexOf(['a'.repeat(2 ** 19), 'b'])",
        "'a'.match('a'.repeat(2 ** 18))",
        "'é'.repeat(2 ** 21).normalize('NFD')",
        "'a'.repeat(2 ** 16).replaceAll('', \"$'\")",
    ] {
        let body = format!("try {{ {expression}; }} catch (e) {{ return e.name; }}");
        assert_eq!(run(&body), Ok("RangeError".to_owned()), "{expression}");
    }
}

#[test]
fn builtins_are_what_they_were() {
    for (expression, expect) in [
        ("[3, 1, 2].sort().reverse().join()", "3,2,1"),
        ("[1, [2, [3, [4]]]].flat(Infinity).join()", "1,2,3,4"),
        ("JSON.stringify([1, [2, [3]]].flat())", "[1,2,[3]]"),
        ("[1, 2].flatMap((x) => [x, x * 2]).join()", "1,2,2,4"),
        ("[...[1, 2].entries()].join(';')", "0,1;1,2"),
        ("Array.from({ length: 3 }, (_, i) => i).join()", "0,1,2"),
        ("Array.prototype.slice.call('abc').join()", "a,b,c"),
        ("[].slice.name + [].slice.length + [].concat.length", "slice21"),
        ("String([].values === [][Symbol.iterator])", "true"),
        ("new Uint8Array([3, 1, 2]).sort().join()", "1,2,3"),
        ("'a-b-c'.split('-').join() + 'aXa'.replaceAll('X', '!') + 'ab'.padStart(4, '.')", "a,b,ca!a..ab"),
        ("'abc'.replace(/b/, (x) => x.toUpperCase()) + 'é'.normalize('NFD').length", "aBc2"),
        ("'abc'.replace(/b/, \"[$`$&$']\") + 'abc'.replaceAll('b', '<$&>')", "a[abc]ca<b>c"),
        ("'abcb'.replace(/b/g, 'x'.repeat(101)).length + 'abcb'.replaceAll('b', 'y'.repeat(101))[4]", "204y"),
        ("'ab'.replace(/(?<first>a)(b)/, (...found) => found.length + found[5].first)", "6a"),
        (
            "new RegExp('b', 'g')[Symbol.replace]('abb', 'x') + (/a/ instanceof RegExp) + (/a/.constructor === RegExp)",
            "axxtruetrue",
        ),
        ("RegExp('b').test('abc') + RegExp.name + Object.keys('abc'.match('b')).length", "trueRegExp4"),
        ("String(Object.keys(Array.prototype).length)", "0"),
        ("encodeURIComponent('ä b') + JSON.parse('[1]')[0]", "%C3%A4%20b1"),
    ] {
        assert_eq!(answer(&format!("return {expression};"), ""), Ok(expect.to_owned()), "{expression}");
    }
}

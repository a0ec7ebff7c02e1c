//! Builtins whose work grows with a length, which an object may claim without having as many elements.

use std::time::Duration;

use muster_script::Limits;
use muster_wire::code::Code;

use super::{answer, load};
use crate::world::{block_on, call};

/// The answer of a function with this body, with limits that no test here comes near.
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
        "const f = () => {}; Object.defineProperty(f, 'length', { value: 2 ** 53 - 1 }); Array.prototype.reverse.call(f)",
        "Array.prototype.reverse.call({ n: 0, length: { valueOf() { return 2 ** 53 - 1; } } })",
        "Array.prototype.reverse.call(Object.setPrototypeOf(new Uint8Array(1), { length: 2 ** 53 - 1 }))",
        "String.prototype.indexOf.call(new String('a'.repeat(2 ** 20)), 'a'.repeat(2 ** 19) + 'b')",
        "'a'.repeat(2 ** 20).split({ toString() { return 'a'.repeat(2 ** 19) + 'b'; } })",
        "'é'.localeCompare(new String('é'.repeat(2 ** 21)))",
        "String.prototype.normalize.call(new String('é'.repeat(2 ** 21)))",
        "'a'.match({ toString() { return 'a'.repeat(2 ** 18); } })",
        "new RegExp({ toString() { return 'a'.repeat(2 ** 18); } })",
        "'a'.repeat(2 ** 16).replace(/a/g, { toString() { return '$`'; } })",
    ] {
        let body = format!("try {{ {expression}; }} catch (e) {{ return e.name; }}");
        assert_eq!(run(&body), Ok("RangeError".to_owned()), "{expression}");
    }
}

#[test]
fn what_tells_another_length_each_time_is_not_believed() {
    for expression in [
        "Array.prototype.reverse.call({ n: 0, get length() { return this.n++ ? 2 ** 53 - 1 : 0; } })",
        "let n = 0; Array.prototype.reverse.call(new Proxy({}, { get: () => n++ ? 2 ** 53 - 1 : 0 }))",
        "let n = 0; const { proxy } = Proxy.revocable([], { get: (_, key) => key === 'length' && n++ ? 2 ** 53 - 1 : 0 }); proxy.constructor; Array.prototype.reverse.call(proxy)",
        "[].concat({ n: 0, get length() { return this.n++ ? 2 ** 53 - 1 : 0; }, [Symbol.isConcatSpreadable]: true })",
        "Array.from({ n: 0, get length() { return this.n++ ? 2 ** 32 - 1 : 0; } })",
        "'a'.repeat(2 ** 20).indexOf({ n: 0, toString() { return this.n++ ? 'a'.repeat(2 ** 19) + 'b' : ''; } })",
    ] {
        // A builtin may use the length that it read first, or refuse it. It must not use a length that it reads later.
        let body =
            format!("try {{ {expression}; }} catch (e) {{ if (e.name !== 'RangeError') throw e; }} return 'done';");
        assert_eq!(run(&body), Ok("done".to_owned()), "{expression}");
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
        (
            "Array.from(new Map([[1, 2]])).join() + Array.from(new Set('ab')) + Array.from(new Uint8Array(2)) + Array.from('xy')",
            "1,2a,b0,0x,y",
        ),
        ("Array.from(function* () { yield 1; yield 2; }(), (x) => x + 1).join()", "2,3"),
        (
            "[1].concat({ a: 1 }, [2], 'x').map((x) => x.a ?? x).join() + (() => { const m = {}; return [].concat(m)[0] === m; })()",
            "1,1,2,xtrue",
        ),
        ("Array.prototype.concat.call('x', [1]).length + String(Array.prototype.concat.call({ a: 1 }, 2)[0].a)", "21"),
        (
            "(() => { const p = new Proxy([3, 1, 2], {}); return [p.sort() === p, p.join(), p.map((x) => x * 2), p.concat([9]), Array.isArray(p), p.push(4), p.splice(0, 1), [...p], JSON.stringify(p), JSON.stringify([p])].join(' '); })()",
            "true 1,2,3 2,4,6 1,2,3,9 true 4 1 2,3,4 [2,3,4] [[2,3,4]]",
        ),
        (
            "(() => { class L { get length() { return 2; } } const l = new L(); l[0] = 'a'; l[1] = 'b'; return Array.prototype.map.call(l, (x) => x + x).join() + (Array.prototype.reverse.call(l) === l) + l[0]; })()",
            "aa,bbtrueb",
        ),
        (
            "(() => { const { proxy, revoke } = Proxy.revocable({ a: 1 }, {}); const told = proxy.a; revoke(); try { proxy.a; } catch (e) { return told + e.name + Proxy.name + Proxy.length; } })()",
            "1TypeErrorProxy2",
        ),
        (
            "(() => { const set = []; const p = new Proxy([1, 2], { set(t, k, v) { set.push(k); t[k] = v; return true; } }); p.reverse(); return set.join(); })()",
            "0,1",
        ),
        (
            "String.prototype.toLowerCase.call(new String('abc')) === 'abc' && typeof String.prototype.trim.call(new String('a'))",
            "string",
        ),
        (
            "'a1b2'.split(/\\d/).join() + 'a1b1'.replaceAll(/\\d/g, (d) => d * 2) + 'abc'.search(/c/) + [...'a1b2'.matchAll(/\\d/g)].length",
            "a,b,a2b222",
        ),
        (
            "['replaceAll', 'matchAll'].map((name) => { try { return 'a'[name](/a/, 'b'); } catch (e) { return e.name; } }).join()",
            "TypeError,TypeError",
        ),
        (
            "'abc'.replace({ [Symbol.replace]: (text, by) => text + by }, '!') + 'abc'.split({ [Symbol.split]: (text, most) => [text, most] }, 2)",
            "abc!abc,2",
        ),
        (
            "(() => { try { return 'a'.includes(/a/); } catch (e) { return e.name; } })() + 'a1'.includes(1) + 'null'.indexOf(null) + 'x'.split() + 'x'.replace('x')",
            "TypeErrortrue0xundefined",
        ),
        (
            "'é'.localeCompare('é') + 'a'.normalize().length + ['b', 'a'].sort((x, y) => x.localeCompare(y)).join() + 'x'.padEnd('3', 'y')",
            "1a,bxyy",
        ),
        (
            "new RegExp(/a+/g).flags + RegExp(new RegExp('b')).source + new RegExp().source + new Function('a', 'return a + 1')(1)",
            "gb(?:)2",
        ),
        (
            "String.raw`a\\n${1}` + String.raw({ raw: 'xyz' }, 0, 1) + JSON.stringify({ a: [1, { b: 2 }] }, ['a']) + JSON.stringify({ length: 9e9 })",
            "a\\n1x0y1z{\"a\":[1,{}]}{\"length\":9000000000}",
        ),
        ("encodeURIComponent('ä b') + JSON.parse('[1]')[0]", "%C3%A4%20b1"),
    ] {
        assert_eq!(answer(&format!("return {expression};"), ""), Ok(expect.to_owned()), "{expression}");
    }
}

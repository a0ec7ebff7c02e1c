//! Modules and TypeScript: files that import each other, and the places that errors name in them.

use muster_script::Limits;
use muster_wire::code::Code;

use super::load;
use crate::matches::{Hall, run};
use crate::world::{block_on, call};

/// The answer of the function `f` of a program.
fn answer(files: &[(&str, &str)]) -> Result<String, (Code, String)> {
    block_on(call(&load(files, Limits::default()).unwrap(), "f", ""))
}

fn check(files: &[(&str, &str)], expect: &str) {
    assert_eq!(answer(files), Ok(expect.to_owned()), "{files:?}");
}

fn refused(files: &[(&str, &str)]) -> String {
    load(files, Limits::default()).err().unwrap().to_string()
}

const ENTRY: &str = "export function InitModule(ctx, logger, nk, initializer) { initializer.registerRpc('f', f); }\n";

#[test]
fn modules_import_each_other() {
    let entry = format!("import {{ f }} from './lib/f.js';\n{ENTRY}");
    let lib = ("lib/f.js", "import { word } from '../words';\nexport const f = () => word;");
    let words = ("words.mjs", "export { default as word } from './data.json' with { type: 'json' };");
    check(&[("index.js", &entry), lib, words, ("data.json", "\"hello\"")], "hello");
    let entry = entry.replace("./lib/f.js", "./lib");
    check(
        &[("index.mjs", &entry), ("lib/index.js", "export * from './f';"), lib, words, ("data.json", "\"hi\"")],
        "hi",
    );
    // Two modules that import each other, and a name that is looked up later.
    let a = (
        "a.js",
        "import { b } from './b.js'; export const a = () => 'a'; export const f = async () => b() + (await import('./c.js')).c;",
    );
    let b = ("b.js", "import { a } from './a.js'; export const b = () => a() + 'b';");
    check(
        &[("index.js", &format!("import {{ f }} from './a';\n{ENTRY}")), a, b, ("c.js", "export const c = 'c';")],
        "abc",
    );
}

#[test]
fn the_first_function_is_exported_global_or_there() {
    for init in [
        "export { start as InitModule }; function start(ctx, logger, nk, i) { i.registerRpc('f', f); }",
        "export default function (ctx, logger, nk, i) { i.registerRpc('f', f); }",
        "function InitModule(ctx, logger, nk, i) { i.registerRpc('f', f); }\n!InitModule && InitModule.bind(null);",
        "globalThis.InitModule = (ctx, logger, nk, i) => { i.registerRpc('f', f); };",
    ] {
        let entry = format!("import {{ f }} from './f.js';\n{init}");
        check(&[("index.js", &entry), ("f.js", "export const f = () => 'x';")], "x");
        let entry = entry.replace("./f.js", "./f");
        check(&[("index.ts", &entry), ("f.ts", "export const f = (): string => 'x';")], "x");
    }
    let told = "index.mjs: there is no function InitModule at the top level";
    assert_eq!(refused(&[("index.mjs", "export const x = 1;")]), told);
}

#[test]
fn typescript_is_run_as_it_is_written() {
    let entry = "import { Hand, type Card } from './hand';
        import type * as unused from 'nakama-runtime';
        import { Only } from './types';
        enum Color { Red, Green = 5, Blue }
        const enum Op { Move = 'm' }
        namespace Game { export const version: number = 3; export namespace Inner { export const x = 1; } }
        abstract class Base<T> { constructor(protected readonly name: string, public age = 4) {} abstract hi(t: T): string; declare z: number; }
        class Child extends Base<Card> { hi(card: Card): string { return this.name! + card.suit; } }
        const only = { a: 1 } satisfies Only as Only;
        function f(this: void, ctx: nkruntime.Context, logger: nkruntime.Logger, nk: nkruntime.Nakama, payload?: string): string {
            const hand = new Hand<number>([{ suit: 'x' }]);
            return [Color.Blue, Color[5], Op.Move, Game.version, Game.Inner.x, new Child('ann').hi(hand.cards[0]!), only.a].join();
        }
        let InitModule: nkruntime.InitModule = function (ctx, logger, nk, initializer) { initializer.registerRpc('f', f); };
        !InitModule && InitModule.bind(null);";
    let hand = "export interface Card { suit: string }\nexport class Hand<T> { constructor(public cards: Card[]) {} }";
    check(
        &[("index.ts", entry), ("hand.ts", hand), ("types.d.ts", "export interface Only { a: number }")],
        "6,Green,m,3,1,annx,1",
    );
    // An import may name the compiled file or the source file.
    for name in ["./hand.js", "./hand.ts"] {
        check(&[("index.ts", &entry.replace("./hand", name)), ("hand.ts", hand)], "6,Green,m,3,1,annx,1");
    }
    // A script without import and export, by itself and beside a bundle.
    let alone = "function f(): string { return 'alone'; }
        function InitModule(ctx: unknown, l: unknown, nk: unknown, i: any): void { i.registerRpc('f', f); }";
    check(&[("index.ts", alone)], "alone");
    let bundle = "function InitModule(c, l, nk, i) { i.registerRpc('f', () => 'bundle'); }";
    check(&[("index.ts", alone), ("index.js", bundle)], "bundle");
}

#[test]
fn errors_name_the_file_and_line_that_was_written() {
    let entry = |rest: &str| format!("import {{ f }} from './f';\ninterface A {{\n  a: string;\n}}\n{rest}\n{ENTRY}");
    let f = (
        "f.ts",
        "type Unused = {\n  a: number;\n};\n\nenum E { A }\n\nexport function f(): string {\n  inner();\n  return '';\n}\nfunction inner() {\n  throw new Error('no');\n}",
    );
    let catching = (
        "f.ts",
        "interface A {\n  a: 1;\n}\nexport function f(): string {\n  try { throw new Error('x'); } catch (e: any) { return e.stack; }\n}",
    );
    let stack = answer(&[("index.ts", &entry("")), catching]).unwrap();
    assert!(stack.starts_with("    at f (f.ts:5:"), "{stack}");
    assert_eq!(answer(&[("index.ts", &entry("")), f]), Err((Code::Internal, "Error: no".to_owned())));
    let at_load = refused(&[("index.ts", &entry("throw new Error('at once');")), f]);
    assert!(at_load.contains("index.ts:5:") && at_load.ends_with("Error: at once"), "{at_load}");
    let wrong = refused(&[("index.ts", &entry("const x: number = ;")), f]);
    assert!(wrong.starts_with("index.ts:5:19: SyntaxError: "), "{wrong}");
    let wrong = refused(&[("index.ts", &entry("")), ("f.ts", "export const f = 1;\nexport const f = 2;")]);
    assert!(wrong.starts_with("f.ts:1:14: SyntaxError: "), "{wrong}");
    let wrong = refused(&[
        ("index.js", &format!("import {{ f }} from './f.js';\n{ENTRY}")),
        ("f.js", "export const f =\n  1 +;"),
    ]);
    assert!(wrong.contains("f.js:2:6: SyntaxError: "), "{wrong}");
    let wrong =
        refused(&[("index.js", &format!("import {{ g }} from './f.js';\n{ENTRY}")), ("f.js", "export const f = 1;")]);
    let told = "SyntaxError: Could not find export 'g' in module 'f.js', imported by index.js";
    assert!(wrong.ends_with(told), "{wrong}");
    let wrong = refused(&[("index.js", "import d from './d.json';"), ("d.json", "{\n  \"a\": x }")]);
    assert!(wrong.starts_with("d.json:2:"), "{wrong}");
}

#[test]
fn names_that_lead_nowhere_are_refused_with_their_place() {
    for (name, told) in [
        ("./nothing", "there is no file lib/nothing, with or without .js, .mjs, .ts, .mts, .json"),
        ("../../outside.js", "it lies outside of the folder of modules"),
        ("lodash", "files begin with ./ or ../, and there are no packages: a bundler puts them into one file"),
        ("/etc/passwd", "files begin with ./ or ../, and there are no packages: a bundler puts them into one file"),
    ] {
        let lib = format!("\nimport x from '{name}'; export const f = () => x;");
        let error =
            refused(&[("index.js", &format!("import {{ f }} from './lib/f.js';\n{ENTRY}")), ("lib/f.js", &lib)]);
        assert_eq!(error, format!("lib/f.js:2:15: cannot import '{name}': {told}"));
    }
    let later =
        "export const f = async () => { try { await import('./' + 'x.js'); } catch (e) { return e.message; } };";
    let told = answer(&[("index.js", &format!("{later}\n{ENTRY}")), ("x.js", "")]).unwrap();
    assert!(told.contains("only names that are written as a text are known"), "{told}");
}

#[test]
fn what_waits_at_the_top_level_is_run_as_far_as_it_needs_nothing() {
    check(
        &[("index.mjs", &format!("const word = await Promise.resolve('waited'); const f = () => word;\n{ENTRY}"))],
        "waited",
    );
    let told = refused(&[("index.mjs", &format!("await new Promise(() => {{}});\n{ENTRY}"))]);
    assert!(told.starts_with("index.mjs: it waits at its top level for a promise that nothing fulfils"), "{told}");
    let told = refused(&[("index.mjs", &format!("await Promise.reject(new Error('no'));\n{ENTRY}"))]);
    assert!(told.ends_with("Error: no"), "{told}");
    assert!(refused(&[("index.mjs", "for (;;) {}")]).contains("more time to load than they may"));
}

#[test]
fn matches_and_hooks_are_found_in_modules() {
    let game = "import { next } from './next';
        type State = { ticks: number };
        export const matchInit: nkruntime.MatchInitFunction<State> = () => ({ state: { ticks: 0 }, tickRate: 10, label: '' });
        export const matchJoinAttempt = (c: any, l: any, nk: any, d: any, t: number, state: State) => ({ state, accept: true });
        export const matchJoin = (c: any, l: any, nk: any, d: any, t: number, state: State) => ({ state });
        export const matchLeave = matchJoin, matchTerminate = matchJoin;
        export const matchLoop = (c: any, l: any, nk: any, d: any, t: number, state: State) => ({ state: next(state) });
        export const matchSignal = (c: any, l: any, nk: any, d: any, t: number, state: State) => ({ state, data: String(state.ticks) });";
    let next = "let calls = 0;\nexport const next = <S extends { ticks: number }>(state: S): S => { state.ticks = calls += 1; return state; };";
    let entry = "import * as game from './game';
        export function InitModule(ctx: unknown, logger: unknown, nk: unknown, initializer: nkruntime.Initializer) {
            initializer.registerMatch('game', { ...game });
        }";
    let hall = Hall::of(&[("index.ts", entry), ("game.ts", game), ("next.ts", next)], Limits::default());
    run(async {
        hall.create(1, muster_script::value::Value::Nil).await.unwrap();
        hall.pass(300).await;
        hall.create(2, muster_script::value::Value::Nil).await.unwrap();
        hall.pass(100).await;
        // Each match has variables of modules of its own.
        assert_eq!(hall.signal(1, "").await.unwrap(), "4");
        assert_eq!(hall.signal(2, "").await.unwrap(), "1");
    });
}

#[test]
fn what_is_too_deep_or_too_large_to_compile_is_refused() {
    for text in ["let x = ".to_owned() + &"[".repeat(100_000), "let x = ".to_owned() + &"1+".repeat(1 << 20) + "1"] {
        let told = refused(&[("index.ts", &text)]);
        assert!(
            told.starts_with("index.ts: the file has more than 1048576 bytes, or more than 10000 brackets"),
            "{told}"
        );
    }
}

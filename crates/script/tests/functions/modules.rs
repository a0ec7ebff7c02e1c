//! Folders of modules: how modules find each other, and the folders that are refused.

use muster_script::Limits;

use crate::world::{block_on, call, load};

fn refused(files: &[(&str, &str)]) -> String {
    load(files, Limits::default()).err().unwrap().to_string()
}

#[test]
fn modules_require_each_other_and_run_once() {
    let functions = load(
        &[
            ("cards/deck.lua", "count = (count or 0) + 1\nreturn { size = 52, loads = count }"),
            (
                "a.lua",
                "local deck = require('cards.deck')\nlocal nk = require('nakama')\nnk.register_rpc(function() return deck.size .. ' ' .. deck.loads .. ' ' .. count end, 'size')",
            ),
            ("b.lua", "require('cards.deck')"),
        ],
        Limits::default(),
    );
    assert_eq!(block_on(call(&functions.unwrap(), "size", "")), Ok("52 1 1".to_owned()));
}

#[test]
fn a_broken_module_is_refused_with_file_and_line() {
    let told = refused(&[("x/bad.lua", "local x = \n= 1")]);
    assert!(told.starts_with("x/bad.lua:2: "), "{told}");
    assert_eq!(refused(&[("bad.lua", "\nerror('no')")]), "bad.lua:2: no");
    assert_eq!(refused(&[("bad.lua", "require('nothing')")]), "bad.lua:1: module 'nothing' not found");
    assert_eq!(
        refused(&[("a.lua", "require('b')"), ("b.lua", "require('a')")]),
        "b.lua:1: module 'a' is required while it is loading"
    );
    let told = refused(&[("bad.lua", "require('nakama').register_rpc(function() end, 'muster.x')")]);
    assert_eq!(told, "bad.lua:1: register_rpc: ids that begin with muster. are built in");
}

#[test]
fn what_the_original_lacks_is_not_there() {
    for absent in ["io", "debug", "coroutine", "os.execute"] {
        let text = format!("assert({absent} == nil)");
        load(&[("a.lua", &text)], Limits::default()).map(drop).unwrap_or_else(|error| panic!("{absent}: {error}"));
    }
}

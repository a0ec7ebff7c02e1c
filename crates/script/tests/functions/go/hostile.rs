//! Modules that no compiler of Go makes: functions of WASI called with places outside of memory, lengths that lie, and
//! files that are not there.

use std::rc::Rc;
use std::time::Duration;

use muster_script::{GoModule, Limits};

use super::limits;
use crate::world::{block_on, host_over, store};

const I32: u8 = 0x7f;
const I64: u8 = 0x7e;
const END: u8 = 0x0b;

const WASI: &str = "wasi_snapshot_preview1";

/// A function that a module imports, with the number of its results; arguments are 32 bits wide but where `wide` says.
struct Import {
    module: &'static str,
    name: &'static str,
    arguments: usize,
    wide: &'static [usize],
    results: usize,
}

const EXIT: Import = Import { module: WASI, name: "proc_exit", arguments: 1, wide: &[], results: 0 };

fn number(mut number: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

fn signed(mut number: i64) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let byte = (number & 0x7f) as u8;
        number >>= 7;
        if (number == 0 && byte & 0x40 == 0) || (number == -1 && byte & 0x40 != 0) {
            bytes.push(byte);
            return bytes;
        }
        bytes.push(byte | 0x80);
    }
}

fn listed(items: &[Vec<u8>]) -> Vec<u8> {
    [number(items.len()), items.concat()].concat()
}

fn text(text: &str) -> Vec<u8> {
    [number(text.len()), text.as_bytes().to_vec()].concat()
}

fn section(id: u8, content: &[u8]) -> Vec<u8> {
    [&[id], &*number(content.len()), content].concat()
}

/// A module with these imports and memories (in pages of 64 KiB), whose `_start` has this code.
fn module(imports: &[Import], memories: &[usize], code: &[u8]) -> Vec<u8> {
    let types = |import: &Import| {
        let argument = |index| vec![if import.wide.contains(&index) { I64 } else { I32 }];
        let arguments: Vec<_> = (0..import.arguments).map(argument).collect();
        [vec![0x60], listed(&arguments), listed(&vec![vec![I32]; import.results])].concat()
    };
    let start = vec![0x60, 0, 0];
    let types: Vec<_> = imports.iter().map(types).chain([start]).collect();
    let import =
        |(index, import): (usize, &Import)| [text(import.module), text(import.name), vec![0], number(index)].concat();
    let imported: Vec<_> = imports.iter().enumerate().map(import).collect();
    let memories: Vec<_> = memories.iter().map(|pages| [vec![0], number(*pages)].concat()).collect();
    let exports = [[text("memory"), vec![2, 0]].concat(), [text("_start"), vec![0], number(imports.len())].concat()];
    let body = [&[0], code, &[END]].concat();
    let body = [number(body.len()), body].concat();
    [
        b"\0asm\x01\0\0\0".to_vec(),
        section(1, &listed(&types)),
        section(2, &listed(&imported)),
        section(3, &listed(&[number(imports.len())])),
        section(5, &listed(&memories)),
        section(7, &listed(&exports)),
        section(10, &listed(&[body])),
    ]
    .concat()
}

/// Code that calls the first import with these arguments.
fn call(import: &Import, arguments: &[i64]) -> Vec<u8> {
    assert_eq!(arguments.len(), import.arguments, "{}", import.name);
    let constant = |(index, argument): (usize, &i64)| match import.wide.contains(&index) {
        true => [vec![0x42], signed(*argument)].concat(),
        false => [vec![0x41], signed(i64::from(*argument as i32))].concat(),
    };
    let constants: Vec<_> = arguments.iter().enumerate().map(constant).collect();
    [constants.concat(), vec![0x10, 0]].concat()
}

/// The reason why a module is not loaded.
fn end_of(module: &[u8], limits: &Limits) -> String {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("game.wasm"), module).unwrap();
    let host = Rc::new(host_over(store(), folder.path()));
    block_on(GoModule::load(folder.path(), &host, limits)).err().unwrap().to_string()
}

/// Calls a function of WASI, and exits with its answer as the status.
fn answer(import: Import, arguments: &[i64]) -> String {
    let code = [call(&import, arguments), vec![0x10, 1]].concat();
    end_of(&module(&[import, EXIT], &[1], &code), &limits())
}

#[test]
fn places_outside_of_memory_are_faults_and_files_are_not_there() {
    const FAULT: i32 = 21;
    const BAD_FILE: i32 = 8;
    const INVALID: i32 = 28;
    const AGAIN: i32 = 6;
    // Half of these places lie outside of one page, and half of these lengths wrap around.
    for (name, arguments, wide, expect) in [
        ("args_sizes_get", &[-1, -1][..], &[][..], FAULT),
        ("environ_sizes_get", &[0, -4], &[], FAULT),
        ("environ_get", &[-16, 0], &[], FAULT),
        ("environ_get", &[0, 65_530], &[], FAULT),
        ("clock_time_get", &[1, 0, -1], &[1], FAULT),
        ("clock_time_get", &[0, -1, 65_529], &[1], FAULT),
        ("random_get", &[-1, 2], &[], FAULT),
        ("random_get", &[8, -1], &[], FAULT),
        ("random_get", &[0, 65_536], &[], 0),
        ("fd_read", &[0, -8, 1, 0], &[], FAULT),
        ("fd_read", &[0, 0, -1, 0], &[], FAULT),
        ("fd_read", &[0, 8_192, 1_024, 65_534], &[], FAULT),
        ("fd_read", &[1, 0, 1, 0], &[], BAD_FILE),
        ("fd_write", &[1, -8, 1, 0], &[], FAULT),
        ("fd_write", &[2, 0, 1, -1], &[], FAULT),
        ("fd_write", &[0, 0, 1, 0], &[], BAD_FILE),
        ("fd_fdstat_get", &[0, -1], &[], FAULT),
        ("fd_fdstat_get", &[3, 0], &[], BAD_FILE),
        ("poll_oneoff", &[0, -1, 1, 0], &[], FAULT),
        ("poll_oneoff", &[-48, 0, 1, 0], &[], FAULT),
        ("poll_oneoff", &[0, 65_500, 2, 0], &[], FAULT),
        ("poll_oneoff", &[0, 4_096, 1, -1], &[], FAULT),
        ("poll_oneoff", &[0, 0, 0, 0], &[], INVALID),
        ("poll_oneoff", &[0, 0, -1, 0], &[], INVALID),
        ("path_open", &[3, 0, 0, 5, 0, -1, -1, 0, 0], &[5, 6], BAD_FILE),
        ("fd_prestat_get", &[3, 0], &[], BAD_FILE),
        ("fd_readdir", &[3, 0, 100, 0, 0], &[3], BAD_FILE),
        ("path_unlink_file", &[3, 0, 5], &[], BAD_FILE),
        ("sock_accept", &[3, 0, 0], &[], BAD_FILE),
        ("sock_send", &[3, 0, 0, 0, 0], &[], BAD_FILE),
        ("proc_raise", &[9], &[], BAD_FILE),
    ] {
        let import = Import { module: WASI, name, arguments: arguments.len(), wide, results: 1 };
        let told = answer(import, arguments);
        // A frame that is read into memory takes the place of the vectors, or there is none yet.
        let is_again = name == "fd_read" && told.ends_with(&format!("it exited with status {AGAIN}"));
        assert!(is_again || told.ends_with(&format!("it exited with status {expect}")), "{name} {arguments:?}: {told}");
    }
}

#[test]
fn frames_outside_of_memory_end_the_instance() {
    const SEND: Import = Import { module: "muster", name: "send", arguments: 2, wide: &[], results: 0 };
    for arguments in [[-1, 10], [0, -1], [65_530, 10], [1, 65_536]] {
        let told = end_of(&module(&[SEND], &[1], &call(&SEND, &arguments)), &limits());
        assert!(told.contains("it said something that is no message: a frame of"), "{arguments:?}: {told}");
    }
    let empty = end_of(&module(&[SEND], &[1], &call(&SEND, &[0, 0])), &limits());
    assert!(empty.contains("a frame ends too early"), "{empty}");
}

#[test]
fn memories_beyond_the_limit_are_refused() {
    let limits = Limits { machine_bytes: 1 << 20, ..limits() };
    assert!(end_of(&module(&[EXIT], &[16], &call(&EXIT, &[7])), &limits).ends_with("status 7"));
    for memories in [&[17][..], &[1, 1], &[65_536]] {
        let told = end_of(&module(&[EXIT], memories, &call(&EXIT, &[7])), &limits);
        assert!(!told.contains("status 7"), "{memories:?}: {told}");
    }
    // `memory.grow` by a page answers -1.
    let grow = [vec![0x41], signed(1), vec![0x40, 0, 0x10, 0]].concat();
    assert!(end_of(&module(&[EXIT], &[16], &grow), &limits).ends_with("status -1"));
}

#[test]
fn functions_of_the_host_count_as_time_of_the_module() {
    const RANDOM: Import = Import { module: WASI, name: "random_get", arguments: 2, wide: &[], results: 1 };
    const POLL: Import = Import { module: WASI, name: "poll_oneoff", arguments: 4, wide: &[], results: 1 };
    const YIELD: Import = Import { module: WASI, name: "sched_yield", arguments: 0, wide: &[], results: 1 };
    let limits = Limits { load_time: Duration::from_millis(50), ..limits() };
    for (import, arguments) in [(RANDOM, &[0, 256 << 16][..]), (POLL, &[0, 4_096, 1, 0]), (YIELD, &[])] {
        // An endless loop around the call.
        let code = [vec![0x03, 0x40], call(&import, arguments), vec![0x1a, 0x0c, 0, END]].concat();
        let name = import.name;
        let told = end_of(&module(&[import], &[256], &code), &limits);
        assert!(told.contains("used more time than it may"), "{name}: {told}");
    }
}

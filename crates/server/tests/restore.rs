//! Drills of restores with durable matches that play for chips. What is in wallets and pots together stays the same, or
//! the operator is told which matches cannot go on.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::path::Path;

use serde_json::{Value, json};
use support::program::{muster, word};
use support::server::{Server, Setup};
use support::{http, wait_until};

/// In each tick of a match some chips go from the player's wallet into the pot, or back.
const MODULE: &str = "local nk = require('nakama')
    local M = { durable = true }
    function M.match_init(context, params) return { user = params.user, pot = 0, moves = 0 }, 20, 'table' end
    function M.match_join_attempt(context, dispatcher, tick, state) return state, true end
    function M.match_join(context, dispatcher, tick, state) return state end
    function M.match_leave(context, dispatcher, tick, state) return state end
    function M.match_loop(context, dispatcher, tick, state)
        if state.rests then return state end
        local amount = math.random(1, 5)
        if state.pot < amount or math.random() < 0.5 then
            nk.wallet_update(state.user, { chips = -amount }, {}, false)
            state.pot = state.pot + amount
        else
            nk.wallet_update(state.user, { chips = amount }, {}, false)
            state.pot = state.pot - amount
        end
        state.moves = state.moves + 1
        return state
    end
    function M.match_terminate(context, dispatcher, tick, state) return state end
    function M.match_signal(context, dispatcher, tick, state, data)
        state.rests = data == 'rest'
        return state, nk.json_encode({ pot = state.pot, moves = state.moves })
    end
    nk.register_rpc(function(context, payload)
        nk.wallet_update(context.user_id, { chips = 100000 }, {}, false)
        local ids = {}
        for number = 1, nk.json_decode(payload).matches do
            ids[number] = nk.match_create('table', { user = context.user_id })
        end
        return nk.json_encode({ ids = ids })
    end, 'open')
    nk.register_rpc(function(context, payload)
        local asked = nk.json_decode(payload)
        local moves, pots, found = {}, 0, 0
        for number, id in ipairs(asked.ids) do
            local is_there, answer = pcall(nk.match_signal, id, asked.say)
            local state = is_there and nk.json_decode(answer) or { pot = 0, moves = 0 }
            moves[number], pots, found = state.moves, pots + state.pot, found + (is_there and 1 or 0)
        end
        local chips = nk.account_get_id(context.user_id).wallet.chips
        return nk.json_encode({ moves = moves, pots = pots, found = found, chips = chips })
    end, 'look')
    return M";

const CHIPS: i64 = 100_000;
const MATCHES: usize = 6;

/// Ticks after which each match has written a snapshot.
const SNAPSHOT_TICKS: i64 = 110;

/// A table of matches, and the player who owns the chips.
struct Game {
    token: String,
    ids: Value,
}

/// The state of all matches.
struct Look {
    moves: Vec<i64>,
    found: i64,
    /// Chips in the wallet and in the pots of the matches that are there.
    chips: i64,
}

fn setup() -> Setup {
    // The test asks as often as it can.
    let setup = Setup::dev().flag("live.shards", 2).flag("limits.user_requests_per_sec", 0);
    let modules = setup.folder().join("modules");
    std::fs::create_dir_all(&modules).unwrap();
    std::fs::write(modules.join("table.lua"), MODULE).unwrap();
    let folder = modules.display().to_string();
    setup.flag("runtime.path", folder)
}

fn rpc(server: &Server, token: &str, name: &str, payload: Value) -> Value {
    let response = server.call("POST", &format!("/v2/rpc/{name}"), &http::bearer(token), &json!(payload.to_string()));
    assert_eq!(response.status, 200, "{}", response.text());
    serde_json::from_str(response.json()["payload"].as_str().unwrap()).unwrap()
}

impl Game {
    fn open(server: &Server) -> Self {
        let token = server.sign_in("banker").session;
        let ids = rpc(server, &token, "open", json!({ "matches": MATCHES }))["ids"].clone();
        Self { token, ids }
    }

    /// Says something to all matches: `rest` stops them from moving chips, anything else lets them go on.
    fn say(&self, server: &Server, what: &str) -> Look {
        let told = rpc(server, &self.token, "look", json!({ "ids": self.ids, "say": what }));
        let number = |name: &str| told[name].as_i64().unwrap();
        Look {
            moves: told["moves"].as_array().unwrap().iter().map(|moves| moves.as_i64().unwrap()).collect(),
            found: number("found"),
            chips: number("chips") + number("pots"),
        }
    }

    /// Waits until every match has made so many further moves.
    fn play_on(&self, server: &Server, moves: i64) {
        let before = self.say(server, "play").moves;
        wait_until("all matches have moved", || {
            let now = self.say(server, "play").moves;
            now.iter().zip(&before).all(|(now, before)| now - before >= moves)
        });
    }

    /// Stops all matches from moving chips, so that the chips can be counted.
    fn rest(&self, server: &Server) -> Look {
        self.say(server, "rest");
        self.say(server, "rest")
    }
}

fn unfit(server: &Server) -> f64 {
    server.metrics().value("match_durable_count{kind=\"unfit\"}")
}

fn run(words: &[&str], setup: &Setup) -> String {
    muster(&[words, &["--data_dir", word(setup.folder())]].concat()).succeeded()
}

/// Moves the files of the database, or the log of matches, from one folder to another.
fn move_part(part: &str, from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for name in std::fs::read_dir(from).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()) {
        if name == part || name.strip_prefix(part).is_some_and(|rest| ["-wal", "-shm"].contains(&rest)) {
            std::fs::rename(from.join(&name), to.join(&name)).unwrap();
        }
    }
}

fn copy_part(part: &str, from: &Path, to: &Path) {
    let (from, to) = (from.join(part), to.join(part));
    if from.is_dir() {
        std::fs::create_dir_all(&to).unwrap();
        for entry in std::fs::read_dir(&from).unwrap().map(|entry| entry.unwrap()) {
            std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
    } else {
        std::fs::copy(&from, &to).unwrap();
    }
}

#[test]
fn a_backup_of_a_server_that_plays_conserves_all_chips() {
    let setup = setup();
    let server = setup.start();
    let game = Game::open(&server);
    // Some records of the matches are gone from the log when the backup is made.
    game.play_on(&server, SNAPSHOT_TICKS);
    let folder = setup.folder().join("backup");
    let told = run(&["backup", word(&folder)], &setup);
    assert!(told.contains(&format!("{MATCHES} durable match(es)")), "{told}");
    game.play_on(&server, SNAPSHOT_TICKS);
    let later = game.rest(&server);
    assert_eq!((later.found, later.chips), (MATCHES as i64, CHIPS));
    server.stop();

    let told = run(&["restore", word(&folder), "--force"], &setup);
    assert!(told.contains("what was there before is in ") && told.contains("before-restore"), "{told}");
    let server = setup.start();
    let restored = game.rest(&server);
    assert_eq!((restored.found, restored.chips), (MATCHES as i64, CHIPS));
    assert!(restored.moves.iter().zip(&later.moves).all(|(then, later)| then < later), "they went back");
    assert_eq!(unfit(&server), 0.0);
    game.play_on(&server, 5);
    assert_eq!(game.rest(&server).chips, CHIPS);
    server.stop();
    // Files that were put aside can be put back.
    for part in ["muster.db", "matches"] {
        move_part(part, setup.folder(), &setup.folder().join("restored"));
        move_part(part, &setup.folder().join("before-restore"), setup.folder());
    }
    let server = setup.start();
    let again = game.rest(&server);
    assert_eq!((again.found, again.chips, again.moves), (MATCHES as i64, CHIPS, later.moves));
    server.stop();
}

#[test]
fn matches_whose_database_or_log_alone_is_restored_wait_for_the_other() {
    let setup = setup();
    let data = setup.folder();
    let server = setup.start();
    let game = Game::open(&server);
    game.play_on(&server, 5);
    let folder = data.join("backup");
    run(&["backup", word(&folder)], &setup);
    game.play_on(&server, SNAPSHOT_TICKS);
    let mut later = game.rest(&server);
    server.stop();

    for (part, why) in [
        ("muster.db", "its log has payments that the database does not have"),
        ("matches", "the database has payments of the match that its log does not have"),
    ] {
        let kept = data.join("kept").join(part);
        move_part(part, data, &kept);
        copy_part(part, &folder, data);
        let server = setup.start();
        assert!(server.log().contains(why), "the operator is told before players come");
        let wallet = game.rest(&server);
        assert_eq!((wallet.found, unfit(&server)), (0, MATCHES as f64), "{part}");
        assert_eq!(game.rest(&server).chips, wallet.chips, "nobody pays");
        server.stop();
        let listed = run(&["match", "list"], &setup);
        for id in game.ids.as_array().unwrap() {
            let id = id.as_str().unwrap().trim_end_matches('.');
            let line = listed.lines().find(|line| id.starts_with(line.split(' ').next().unwrap())).unwrap();
            assert!(line.contains("cannot go on since") && line.contains(why), "{line}");
        }
        // With the part that belongs to the other one, all matches go on.
        let removed = data.join("removed").join(part);
        move_part(part, data, &removed);
        move_part(part, &kept, data);
        let server = setup.start();
        let again = game.rest(&server);
        assert_eq!((again.found, again.chips, &again.moves), (MATCHES as i64, CHIPS, &later.moves), "{part}");
        game.play_on(&server, 5);
        later = game.rest(&server);
        assert_eq!(later.chips, CHIPS);
        server.stop();
    }
}

#[test]
fn a_log_that_is_lost_is_told_match_by_match() {
    let setup = setup();
    let server = setup.start();
    let game = Game::open(&server);
    game.play_on(&server, 5);
    game.rest(&server);
    server.stop();
    move_part("matches", setup.folder(), &setup.folder().join("lost"));
    let server = setup.start();
    for id in game.ids.as_array().unwrap() {
        let id = id.as_str().unwrap().split('.').next().unwrap();
        let told = server.log().lines().any(|line| line.contains("a durable match is lost") && line.contains(id));
        assert!(told, "{id}");
    }
    assert_eq!(unfit(&server), MATCHES as f64);
    server.stop();
}

#[test]
fn a_restore_that_was_interrupted_is_told_before_anything_starts() {
    let setup = setup();
    setup.start().stop();
    std::fs::create_dir(setup.folder().join("restoring")).unwrap();
    let (code, log) = setup.fail_to_start();
    assert_eq!(code, Some(1));
    assert!(log.contains("a restore was interrupted") && log.contains("muster restore"), "{log}");
}

//! Honest players beside attackers, by the bench tool: they lose nothing, meet no limit and keep their sockets, and the
//! tool says so where it is otherwise.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::path::Path;
use std::process::Command;

use serde_json::Value;
use support::server::{Server, Setup};

/// The settings of `tools/bench/attack.yml`: honest players have no limits of addresses.
fn setup() -> Setup {
    Setup::dev().flag("limits.exempt", "127.0.1.0/24").flag("rooms.templates", "bench=size=3-8")
}

struct Report {
    figures: Value,
    verdict: String,
    exit_code: Option<i32>,
}

impl Report {
    fn part(&self, name: &str) -> &Value {
        let parts = self.figures["attacks"].as_array().unwrap();
        parts.iter().find(|part| part["part"] == name).unwrap_or_else(|| panic!("no {name}: {}", self.verdict))
    }

    fn sum(&self, figure: &str) -> u64 {
        let parts = self.figures["attacks"].as_array().unwrap();
        parts.iter().map(|part| part[figure].as_u64().unwrap()).sum()
    }
}

/// Attacks the server beside twenty honest players.
fn attack(server: &Server, kinds: &str) -> Report {
    let bench = Path::new(env!("CARGO_BIN_EXE_muster")).with_file_name("muster-bench");
    assert!(bench.exists(), "{} is missing: `cargo build --workspace --bins` makes it", bench.display());
    let mut command = Command::new(bench);
    command.args(["attack", "--addr", &server.address.to_string(), "--pid", &server.process().to_string()]);
    let short = "--json -c 20 --arrivals fixed --warmup 1 --duration 2 --patience 60";
    let output = command.args(short.split(' ')).args(["--kind", kinds]).output().unwrap();
    let (figures, words) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    let figures = serde_json::from_str(&figures).unwrap_or_else(|error| panic!("{error}: {figures}\n{words}"));
    let verdict = words.lines().next().unwrap_or_default().to_owned();
    Report { figures, verdict, exit_code: output.status.code() }
}

/// Figures that must be 0.
const HARM: [&str; 4] = ["honest_closes", "honest_limits", "honest_errors", "lost_writes"];

#[test]
fn honest_players_lose_nothing_to_attackers() {
    // An attacker comes to the limits of its address at once.
    let server = setup()
        .flag("limits.address_passwords", 4)
        .flag("limits.address_burst", 200)
        .flag("limits.address_connections", 300)
        .flag("live.shards", 2)
        .start();
    let refused =
        ["tickets", "lobby", "seats", "accounts", "sign-ins", "passwords", "tokens", "connections", "handshakes"];
    let report = attack(&server, &format!("chat,slow-readers,{}", refused.join(",")));
    for harm in HARM {
        assert_eq!(report.sum(harm), 0, "{harm}: {}", report.verdict);
    }
    assert_eq!(report.figures["errors"], 0, "{}", report.verdict);
    // The generator may be the bottleneck, and says so.
    assert!(matches!(report.exit_code, Some(0 | 3)), "{}", report.verdict);
    let quiet = report.part("quiet");
    assert!(quiet["pings"].as_u64() > Some(10) && quiet["ping_p99_ms"].as_f64() > Some(0.0), "{quiet}");
    assert!(report.sum("acknowledged_writes") > 10, "{}", report.figures);
    for kind in refused {
        let part = report.part(kind);
        assert!(part["attacker_refused"].as_u64() > Some(0), "{part}");
    }
    for kind in ["chat", "slow-readers", "lobby", "tokens"] {
        let part = report.part(kind);
        assert!(part["attacker_done"].as_u64() > Some(0) && part["rss_peak_kb"].as_u64() > Some(1_000), "{part}");
    }
    server.stop();
}

/// Takes the first object of every player away again, and closes the sockets of those who talk.
const HARMFUL: &str = "local nk = require('nakama')
    nk.register_req_after(function(context)
        nk.storage_delete({ { collection = 'chests', key = 'chest-0', user_id = context.user_id } })
    end, 'WriteStorageObjects')
    nk.register_rt_after(function(context)
        nk.session_disconnect(context.session_id)
    end, 'ChannelMessageSend')";

#[test]
fn harm_is_reported() {
    let setup = setup();
    std::fs::write(setup.folder().join("game.lua"), HARMFUL).unwrap();
    let server = setup.clone().flag("runtime.path", setup.folder().display()).start();
    let report = attack(&server, "pings");
    assert!(report.sum("lost_writes") > 0, "{}", report.figures);
    assert!(report.sum("honest_closes") > 0, "{}", report.figures);
    for reason in ["an acknowledged write was lost", "an honest socket was closed: connection closed by the server"] {
        assert!(report.verdict.contains(reason), "{}", report.verdict);
    }
    assert_eq!(report.exit_code, Some(1));
    server.stop();
}

#[test]
fn limits_that_honest_players_meet_and_attacks_that_never_begin_are_reported() {
    let server = setup().flag("limits.user_object_bytes", 10).start();
    let report = attack(&server, "unread-answers");
    assert!(report.sum("honest_limits") > 0, "{}", report.figures);
    let reasons = ["unread-answers: never began, since its first step failed: status 429", "met a limit: status 429"];
    for reason in reasons {
        assert!(report.verdict.contains(reason), "{}", report.verdict);
    }
    assert_eq!(report.exit_code, Some(1));
    server.stop();
}

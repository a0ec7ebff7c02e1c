//! Tests with requests and pings, on servers that err, lie, stall, drop and truncate.

use std::time::Duration;

use crate::support::Manner::*;
use crate::support::{Manner, ToolOutput, bench};

const SHORT: &str = "-c 4 --duration 0.4 --warmup 0";

fn run(manner: Manner, scenario: &str) -> ToolOutput {
    bench(manner, &format!("{scenario} {SHORT}"))
}

#[test]
fn honest_servers_have_no_errors() {
    for scenario in ["register", "authenticate --users 10", "heartbeat", "register --rate 200", "heartbeat --rate 200"]
    {
        for manner in [Honest, HonestInOtherWords] {
            let said = run(manner, scenario);
            assert_eq!(said.number("errors"), 0.0, "{scenario}: {}", said.first_line);
            // A closed loop is as fast as this machine, so the generator may be the bottleneck, and says so.
            let status = if said.first_line.contains("VOID") { 3 } else { 0 };
            assert_eq!(said.exit_code, Some(status), "{scenario}: {}", said.first_line);
            assert!(said.number("ok") > 10.0, "{scenario}: {}", said.figures);
            assert!(said.number("p50_ms") <= said.number("p99_ms"));
        }
    }
}

#[test]
fn names_of_figures_stay() {
    let said = run(Honest, "heartbeat");
    for name in [
        "scenario",
        "ok",
        "errors",
        "rate_per_s",
        "p50_ms",
        "p95_ms",
        "p99_ms",
        "p999_ms",
        "max_ms",
        "server_cpu_us_per_op",
        "rss_kb",
        "rss_kb_per_connection",
        "loop",
        "duration_s",
        "connections",
        "void",
        "generator_cpu_share",
        "durability",
    ] {
        assert!(said.figures.get(name).is_some(), "{name} is missing in {}", said.figures);
    }
    assert_eq!(said.figures["loop"], "closed");
}

#[test]
fn protobuf_is_spoken_too() {
    let said = run(Honest, "heartbeat --format protobuf");
    assert_eq!((said.number("errors"), &said.figures["format"]), (0.0, &"protobuf".into()), "{}", said.first_line);
    assert!(said.number("ok") > 10.0);
}

#[test]
fn the_reference_is_measured_beside_the_server() {
    let said = run(Honest, &format!("heartbeat --reference --pid {}", std::process::id()));
    assert_eq!((said.number("errors"), said.number("reference_errors")), (0.0, 0.0));
    assert!(said.number("reference_rate_per_s") > 10.0);
    assert!(said.number("reference_server_cpu_us_per_op") > 0.0, "{}", said.figures);
    assert!(said.number("ratio_to_reference") > 0.0, "{}", said.figures);
}

#[test]
fn errors_are_counted() {
    assert!(run(Errs, "register").only_errors("status 500") > 10);
}

#[test]
fn wrong_bodies_are_errors() {
    run(LiesInBody, "register").only_errors("wrong answer: body is not a session");
}

#[test]
fn a_user_given_out_twice_is_an_error() {
    let said = run(LiesAboutUser, "register");
    said.only_errors("wrong answer: session of another user");
    assert_eq!(said.number("ok"), 1.0, "the first one could not be known");
}

#[test]
fn a_wrong_cid_is_an_error() {
    assert_eq!(run(LiesAboutCid, "heartbeat").number("ok"), 0.0);
    run(LiesAboutCid, "heartbeat").only_errors("wrong answer: cid of another request");
    run(LiesAboutCid, "heartbeat --rate 100").only_errors("wrong answer: cid of another request");
    let blast = run(LiesAboutCid, "blast --messages 10");
    assert_eq!(blast.only_errors("wrong answer: cid of another request"), 40);
}

#[test]
fn truncated_bodies_are_errors() {
    run(Truncates, "register").only_errors("truncated body");
}

#[test]
fn dropped_connections_are_errors() {
    let register = run(Drops(10), "register");
    assert!(register.only_errors("connection closed by the server") > 1, "it connects again");
    assert!(register.number("ok") > 10.0);
    let heartbeat = run(Drops(50), "heartbeat");
    assert_eq!(heartbeat.number("errors"), 4.0, "each socket is lost once: {}", heartbeat.figures);
}

#[test]
fn answers_that_never_come_are_errors() {
    let closed = bench(SilentOnSockets, "heartbeat -c 4 --duration 0.2 --warmup 0 --patience 0.3");
    assert_eq!(closed.only_errors("no answer in time"), 4);
    let open = bench(SilentOnSockets, "heartbeat -c 4 --rate 100 --duration 0.2 --warmup 0 --patience 0.3");
    assert!(open.only_errors("no answer in time") > 4);
    let blast = bench(SilentOnSockets, "blast -c 4 --messages 10 --warmup 0 --patience 0.3");
    assert_eq!(blast.only_errors("no answer in time"), 40);
}

/// One stall of 400 ms at 200 operations a second makes some 80 of them wait, not one.
#[test]
fn open_loop_latency_includes_the_wait() {
    let stall = StallsOnce(50, Duration::from_millis(400));
    for (scenario, manner) in [("register", stall), ("heartbeat", Withholds(50, 130))] {
        let arguments = format!("{scenario} -c 1 --rate 200 --arrivals fixed --duration 1 --warmup 0");
        let said = bench(manner, &arguments);
        assert_eq!(said.number("errors"), 0.0, "{}", said.first_line);
        assert!(said.number("p95_ms") > 150.0, "{scenario}: {}", said.figures);
        assert!(said.number("max_ms") > 390.0, "{scenario}: {}", said.figures);
        assert!((195.0..=200.0).contains(&said.number("ok")), "{scenario}: {}", said.figures);
    }
    let closed = bench(stall, "register -c 1 --duration 1 --warmup 0");
    assert!(closed.number("p95_ms") < 390.0, "a closed loop does not see who would have come: {}", closed.figures);
}

#[test]
fn blast_counts_every_pong() {
    for order in ["", "--writes-first"] {
        let said = run(Honest, &format!("blast --messages 200 {order}"));
        assert_eq!((said.number("ok"), said.number("errors")), (800.0, 0.0));
    }
    let lossy = run(Drops(500), "blast --messages 200");
    assert_eq!(lossy.number("ok") + lossy.number("errors"), 800.0, "{}", lossy.figures);
    assert_eq!(lossy.exit_code, Some(1));
}

#[test]
fn ccu_holds_what_came() {
    let said = bench(Honest, "ccu -c 20 --connect-rate 200 --duration 0.2");
    assert_eq!((said.number("ok"), said.number("errors"), said.number("drops")), (20.0, 0.0, 0.0));
    assert_eq!(said.number("connect_count"), 20.0);
    assert_eq!(said.figures["loop"], "open");
}

#[test]
fn passwords_sets_busy_beside_quiet() {
    let arguments = "passwords -c 10 --rate 500 --registrations 5 --duration 0.5 --warmup 0";
    let said = bench(HashesDuringPings(50), arguments);
    assert_eq!((said.number("errors"), said.number("registration_count")), (0.0, 5.0), "{}", said.first_line);
    assert!(said.number("registration_p50_ms") > 10.0, "{}", said.figures);
    assert!(said.number("quiet_count") > 100.0 && said.number("ok") > 40.0, "{}", said.figures);
    assert!(said.number("ratio_busy_to_quiet_p99") > 0.0);
}

#[test]
fn a_server_that_is_not_there_is_an_error() {
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_muster-bench"));
    let output = command.args(["heartbeat", "-c", "2", "--addr", &nobody.to_string()]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.starts_with("heartbeat: 2 ERRORS"), "{text}");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn several_processes_add_up() {
    let said = bench(Honest, "blast -c 5 -p 2 --messages 10 --warmup 0");
    assert_eq!((said.number("ok"), said.number("processes")), (50.0, 2.0));
}

#[test]
fn server_figures_come_with_its_process() {
    let pid = std::process::id();
    let said = run(Honest, &format!("heartbeat --pid {pid}"));
    assert!(said.number("rss_kb") > 1000.0);
    assert!(said.number("server_cpu_us_per_op") > 0.0, "{}", said.figures);
}

#[test]
fn functions_answer_what_they_were_told() {
    for arguments in
        ["rpc-lua", "rpc-js --rate 200", "rpc-js --over socket", "rpc-go", "rpc-lua --over socket --format protobuf"]
    {
        let said = run(Honest, arguments);
        assert_eq!(said.number("errors"), 0.0, "{arguments}: {}", said.first_line);
        assert!(said.number("ok") > 10.0, "{arguments}: {}", said.figures);
        run(LiesAboutCid, arguments).only_errors("wrong answer: another payload");
    }
}

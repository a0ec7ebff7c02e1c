//! Tests with a cluster, which is one stub under several names, as a cluster looks to its players.

use std::process::{Command, Stdio};

use crate::support::Manner::*;
use crate::support::{Manner, ToolOutput, bench_cluster, patience};

const TIMES: &str = "--duration 0.6 --warmup 1";

#[test]
fn players_of_several_nodes_meet() {
    for scenario in ["rooms --each 10 --connect-rate 120 --leave-rate 120", "chat --room-size 3", "relay --each 10"] {
        for processes in [1, 2] {
            let said = bench_cluster(Honest, 3, &format!("{scenario} --cluster -c 12 -p {processes} {TIMES}"));
            assert_eq!(said.number("errors"), 0.0, "{scenario}: {}", said.first_line);
            assert_eq!(said.number("nodes"), 3.0, "{}", said.figures);
        }
    }
}

#[test]
fn hops_are_told_from_what_stays_on_a_node() {
    let pid = std::process::id();
    let said = bench_cluster(Honest, 2, &format!("hop -c 16 --rate 400 --arrivals fixed --pid {pid} {TIMES}"));
    assert_eq!(said.number("errors"), 0.0, "{}", said.first_line);
    let (local, remote) = (said.number("local_count"), said.number("remote_count"));
    assert!((100.0..140.0).contains(&local) && (100.0..140.0).contains(&remote), "{}", said.figures);
    assert_eq!(said.number("ok"), local + remote);
    for figure in ["local_server_cpu_us_per_delivery", "remote_server_cpu_us_per_delivery", "hop_server_cpu_us"] {
        said.number(figure);
    }
    let lossy = bench_cluster(LosesEvery(10), 2, &format!("hop -c 16 --rate 400 {TIMES} --patience 0.5"));
    assert!(lossy.errors("message lost") > 2, "{}", lossy.first_line);
}

fn converge(manner: Manner, rooms: &str) -> ToolOutput {
    bench_cluster(
        manner,
        2,
        &format!("converge -c 6 --rate 100 --arrivals fixed {rooms} {TIMES} --patience {}", patience(manner, 1.5)),
    )
}

#[test]
fn presences_have_converged_when_every_node_shows_them() {
    for rooms in ["", "--room-size 2", "--room-size 4"] {
        let said = converge(Honest, rooms);
        assert_eq!(said.number("errors"), 0.0, "{}", said.first_line);
        assert!((50.0..70.0).contains(&said.number("ok")), "{}", said.figures);
        let hidden = converge(HidesJoinsEvery(10), rooms).only_errors("no answer in time");
        assert!(hidden > 3, "{hidden}");
    }
}

/// The stub goes on without the killed process, so nobody leaves.
#[test]
fn a_node_whose_players_never_leave_is_an_error() {
    let mut victim = Command::new("sleep").arg("600").stdin(Stdio::null()).spawn().unwrap();
    let said = bench_cluster(Honest, 3, &format!("takeover -c 6 --victim-pid {} {TIMES} --patience 2", victim.id()));
    assert!(!victim.wait().unwrap().success(), "it was killed");
    assert_eq!(said.only_errors("no answer in time"), 4, "two players of each of two matches wait for it");
    assert_eq!(said.number("undisturbed_count"), 4.0, "{}", said.figures);
}

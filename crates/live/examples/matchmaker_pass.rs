//! The cost of a pass of the matchmaker: CPU time of whole passes and of the longest slice, for pools of hard shapes.
//!
//! ```text
//! cargo run --release -p muster-live --example matchmaker_pass
//! cargo run --release -p muster-live --example matchmaker_pass -- 10000 "mode, rank"
//! ```

use std::collections::BTreeMap;
use std::sync::Arc;

use muster_domain::Timestamp;
use muster_domain::ids::{SessionId, Uuid};
use muster_live::matchmaker::{
    Matchmaker, MatchmakerConfig, MemberKey, NewTicket, SLICE_UNITS, Slice, TicketId, TicketMember, TicketOwner,
    Widening,
};
use rustix::time::{ClockId, clock_gettime};

/// The allocator of the server, so that costs are the same.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// A kind of ticket: its name in the printed table, and the function that fills in a ticket from its number and a
/// random number.
struct Shape {
    name: &'static str,
    make: fn(&mut NewTicket<()>, usize, u64),
}

const SHAPES: &[Shape] = &[
    Shape { name: "anybody, 1 against 1", make: |_, _, _| {} },
    Shape { name: "anybody, 5 against 5", make: |ticket, _, _| counts(ticket, 10, 10) },
    Shape { name: "anybody, 2 to 100", make: |ticket, _, _| counts(ticket, 2, 100) },
    Shape {
        name: "mode, rank within 50 of 3,000",
        make: |ticket, _, random| mode_and_rank(ticket, random, 50.0, &["ranked"]),
    },
    Shape {
        name: "mode of 20, rank within 5 of 3,000",
        make: |ticket, _, random| {
            const MODES: [&str; 20] =
                ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "q", "r", "s", "t"];
            mode_and_rank(ticket, random, 5.0, &MODES);
        },
    },
    Shape {
        name: "rank within 50, 5 against 5",
        make: |ticket, _, random| {
            counts(ticket, 10, 10);
            mode_and_rank(ticket, random, 50.0, &["ranked"]);
        },
    },
    Shape {
        name: "rank within 1,000, 25 against 25",
        make: |ticket, _, random| {
            counts(ticket, 50, 50);
            mode_and_rank(ticket, random, 1_000.0, &["ranked"]);
        },
    },
    Shape {
        name: "region preferred, rank within 100",
        make: |ticket, _, random| {
            mode_and_rank(ticket, random, 100.0, &["ranked"]);
            ticket.query.push_str(" properties.region:eu^2 properties.region:us");
            ticket.string_properties.insert("region".into(), ["eu", "us", "asia"][(random >> 40) as usize % 3].into());
        },
    },
    Shape {
        name: "nobody: each wants someone better by 100",
        make: |ticket, _, random| {
            let rank = rank(random);
            ticket.query = format!("+properties.rank:>={}", rank + 100.0);
            ticket.numeric_properties.insert("rank".into(), rank);
        },
    },
    Shape {
        name: "nobody: each offers another mode than it wants",
        make: |ticket, number, _| {
            ticket.query = format!("+properties.mode:wanted{number}");
            ticket.string_properties.insert("mode".into(), format!("offered{number}"));
        },
    },
    Shape {
        name: "nobody: parties of 3 for matches of 4",
        make: |ticket, number, _| {
            counts(ticket, 4, 4);
            ticket.owner = TicketOwner::Party(number.to_string().into());
            ticket.members = (0..3).map(|seat| member(number * 3 + seat)).collect();
        },
    },
    Shape {
        name: "nobody: each rejects its own half, by two fields",
        make: |ticket, number, _| {
            // Tickets with even numbers want side `b`, which only odd ones offer; odd ones want side `c`, which nobody
            // offers.
            let (own, wanted) = if number.is_multiple_of(2) { ("a", "b") } else { ("b", "c") };
            ticket.query = format!("+properties.side:{wanted} -properties.side:{own}");
            ticket.string_properties.insert("side".into(), own.into());
        },
    },
    Shape {
        name: "nobody: regular expressions",
        make: |ticket, number, _| {
            ticket.query = "+properties.name:/x.*[0-9]+y/".into();
            ticket.string_properties.insert("name".into(), format!("player{number}"));
        },
    },
    Shape {
        name: "rank within 1, widening by 5 to 100",
        make: |ticket, _, random| {
            mode_and_rank(ticket, random, 1.0, &["ranked"]);
            ticket.widening = vec![Widening { field: "properties.rank".into(), step: 5.0, limit: 100.0 }];
        },
    },
];

fn counts(ticket: &mut NewTicket<()>, min_count: u32, max_count: u32) {
    (ticket.min_count, ticket.max_count) = (min_count, max_count);
}

/// A rank between 0 and 3,000 with two decimals.
fn rank(random: u64) -> f64 {
    (random % 300_000) as f64 / 100.0
}

fn mode_and_rank(ticket: &mut NewTicket<()>, random: u64, reach: f64, modes: &[&str]) {
    let (mode, rank) = (modes[(random >> 50) as usize % modes.len()], rank(random));
    let (low, high) = (rank - reach, rank + reach);
    ticket.query = format!("+properties.mode:{mode} +properties.rank:>={low} +properties.rank:<={high}");
    ticket.string_properties.insert("mode".into(), mode.into());
    ticket.numeric_properties.insert("rank".into(), rank);
}

fn member(number: usize) -> TicketMember<()> {
    TicketMember { key: MemberKey::Session(SessionId(Uuid::from_u128(number as u128))), presence: () }
}

fn ticket(shape: &Shape, number: usize) -> NewTicket<()> {
    let random = (number as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let random = (random ^ (random >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mut ticket = NewTicket {
        id: TicketId(Arc::from(Uuid::from_u128(number as u128).to_string())),
        owner: TicketOwner::Session(SessionId(Uuid::from_u128(number as u128))),
        members: vec![member(number)],
        min_count: 2,
        max_count: 2,
        count_multiple: 1,
        query: "*".into(),
        string_properties: BTreeMap::new(),
        numeric_properties: BTreeMap::new(),
        widening: Vec::new(),
        created_at: Timestamp::from_seconds(number as i64),
    };
    (shape.make)(&mut ticket, number, random ^ (random >> 32));
    ticket
}

/// CPU time of this thread, in milliseconds.
fn cpu_ms() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e3 + time.tv_nsec as f64 / 1e6
}

/// Runs a pass. Returns the CPU time of the pass and of its longest slice, in milliseconds, and the number of matched
/// tickets.
fn pass(matchmaker: &mut Matchmaker<()>, now: u64) -> (f64, f64, usize) {
    let (mut whole, mut longest, mut matched, mut matches) = (0.0, 0.0_f64, 0, Vec::new());
    matchmaker.begin_pass(now);
    loop {
        let started = cpu_ms();
        let slice = matchmaker.run_slice(SLICE_UNITS, &mut matches);
        let spent = cpu_ms() - started;
        whole += spent;
        longest = longest.max(spent);
        matched += matches.drain(..).map(|found| found.tickets.len()).sum::<usize>();
        if slice == Slice::Done {
            return (whole, longest, matched);
        }
    }
}

#[expect(clippy::print_stdout, reason = "it prints figures")]
fn main() {
    let only: Option<usize> = std::env::args().nth(1).and_then(|count| count.parse().ok());
    let named = std::env::args().nth(2).unwrap_or_default();
    println!("| tickets | shape | add, µs each | pass 1, ms | matched | pass 2, ms | pass 3, ms | longest slice, ms |");
    println!("|---|---|---|---|---|---|---|---|");
    for count in only.map_or(vec![10_000, 100_000], |count| vec![count]) {
        for shape in SHAPES.iter().filter(|shape| shape.name.contains(&named)) {
            let config = MatchmakerConfig { total_tickets_max: count, ..MatchmakerConfig::default() };
            let mut matchmaker = Matchmaker::new(config);
            let tickets: Vec<_> = (0..count).map(|number| ticket(shape, number)).collect();
            let started = cpu_ms();
            for ticket in tickets {
                if let Err(error) = matchmaker.add(ticket, 0) {
                    println!("{error}");
                    return;
                }
            }
            let add_us = (cpu_ms() - started) * 1e3 / count as f64;
            let passes = [1, 2, 3].map(|number| pass(&mut matchmaker, number * 15_000));
            let longest = passes.iter().map(|pass| pass.1).fold(0.0, f64::max);
            println!(
                "| {count} | {} | {add_us:.1} | {:.1} | {} | {:.1} | {:.1} | {longest:.2} |",
                shape.name, passes[0].0, passes[0].2, passes[1].0, passes[2].0
            );
        }
    }
}

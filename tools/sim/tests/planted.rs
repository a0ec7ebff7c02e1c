//! Every check finds the bugs that are planted for it.

use std::rc::Rc;

use muster_sim::faults::Fault;
use muster_sim::scenario::generate;
use muster_sim::shrink::shrink;
use muster_sim::violation::{Check, Violation};
use muster_sim::world::run;

/// Most seeds that are tried until a fault shows.
const SEEDS: u64 = 300;

/// The checks that a fault may violate. Which one comes first depends on the seed.
fn shows_as(fault: Fault) -> &'static [Check] {
    match fault {
        Fault::LoseLeave => &[Check::Presences, Check::Conclusions, Check::Answers],
        Fault::LateJoin => &[Check::Presences, Check::Twice, Check::Order],
        Fault::SwapFanouts => &[Check::Order, Check::Mirror, Check::Lobby, Check::Stray],
        Fault::LoseFanout => {
            &[Check::Lost, Check::Order, Check::Conclusions, Check::Mirror, Check::Lobby, Check::Presences]
        }
        Fault::DoubleFanout => &[Check::Twice, Check::Order, Check::Conclusions, Check::Limits, Check::Stray],
        Fault::WidenAudience | Fault::DeliverToLeaver => &[Check::Stray],
        Fault::SwapDeliveries => &[Check::Stray, Check::Order, Check::Conclusions, Check::Lost],
        Fault::LoseCredit | Fault::WithholdDown => &[Check::Rest],
        Fault::InventCredit => &[Check::Limits],
        Fault::EncodeTwice => &[Check::Encoding, Check::Order],
        Fault::LoseReply | Fault::DoubleReply => &[Check::Answers],
        Fault::CutSnapshot => &[Check::Answers, Check::Conclusions],
        Fault::ShowHidden => &[Check::Hidden],
        Fault::LoseClose => &[Check::Closes],
        Fault::LosePush => &[Check::Lost],
        Fault::SkipTurn => &[Check::Timers],
        Fault::LargerRoom | Fault::LongPromise => &[Check::Seats],
        Fault::OpenDoor => &[Check::Entry],
        Fault::SkipRoom => &[Check::Filling],
        Fault::LateEntry => &[Check::Presences, Check::Seats],
        Fault::CutChange => &[Check::Variables],
        Fault::ShowSecret => &[Check::Hidden],
        Fault::ListHidden => &[Check::Hidden, Check::Lobby],
        Fault::LoseTale => &[Check::Mirror, Check::Order, Check::Lost, Check::Presences],
        Fault::SwapTales => &[Check::Order, Check::Mirror, Check::Stray],
        Fault::TellLeaver => &[Check::Stray],
        Fault::LoseListing | Fault::LoseLobby => &[Check::Lobby],
        Fault::LoseUnwatch => &[Check::Leaks],
        Fault::LoseClosed => &[Check::Leaks, Check::Filling],
        Fault::LoseCancel | Fault::KeepTicket => &[Check::Tickets],
        Fault::StayOn => &[Check::Single],
    }
}

/// The first seed in which a fault shows, and its violation.
fn find(fault: Fault) -> (u64, Violation) {
    let found = (0..SEEDS).find_map(|seed| Some((seed, run(&Rc::new(generate(seed)), Some(fault), false).violation?)));
    found.unwrap_or_else(|| panic!("{fault:?} was not found in {SEEDS} seeds"))
}

#[test]
fn each_planted_bug_is_found_for_what_it_is() {
    for fault in Fault::ALL {
        let (seed, violation) = find(fault);
        assert!(shows_as(fault).contains(&violation.check), "{fault:?} showed in seed {seed} as {violation}");
    }
}

#[test]
fn every_check_finds_some_planted_bug() {
    // These checks belong to clusters; `takeover` tests them.
    let of_clusters = [Check::Owners, Check::Recovery, Check::Matches];
    for check in Check::ALL.into_iter().filter(|check| !of_clusters.contains(check)) {
        let planted: Vec<Fault> = Fault::ALL.into_iter().filter(|fault| shows_as(*fault).contains(&check)).collect();
        let is_found = (0..SEEDS).any(|seed| {
            let scenario = Rc::new(generate(seed));
            planted.iter().any(|fault| {
                run(&scenario, Some(*fault), false).violation.is_some_and(|violation| violation.check == check)
            })
        });
        assert!(is_found, "none of {planted:?} violates {check:?} in {SEEDS} seeds");
    }
}

#[test]
fn a_failing_scenario_is_made_shorter_and_fails_in_the_same_way() {
    let fault = Fault::LoseLeave;
    let (seed, Violation { check, .. }) = find(fault);
    let scenario = generate(seed);
    let short = shrink(&scenario, check, Some(fault));
    assert!(short.acts.len() <= 30 && short.acts.len() < scenario.acts.len(), "{} acts remain", short.acts.len());
    let outcome = run(&Rc::new(short), Some(fault), false);
    assert_eq!(outcome.violation.map(|violation| violation.check), Some(check));
}

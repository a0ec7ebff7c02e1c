//! Damaged cron expressions. The moments of what is accepted come one after the other, the same forwards and backwards.

use muster_testenv::fuzz::Fuzz;

use super::Cron;

const WORDS: &[&str] = &[
    "*",
    "?",
    "L",
    "W",
    "LW",
    "#",
    "/",
    "-",
    ",",
    " ",
    "@daily",
    "@yearly",
    "mon",
    "fri",
    "jan",
    "dec",
    "0",
    "59",
    "60",
    "31",
    "7",
    "15W",
    "5L",
    "5#2",
    "1970",
    "2099",
    "2100",
    "18446744073709551616",
];

/// About the seconds of the years that expressions can name.
const SECONDS: i64 = 4_200_000_000;

#[test]
fn damaged_expressions_are_refused_or_have_moments_in_order() {
    let tried = Fuzz::new("cron").words(WORDS).input_bytes_max(300).run(|input| {
        let (moment, text) = input.split_first_chunk::<4>().unwrap_or((&[0; 4], input));
        let Ok(text) = std::str::from_utf8(text) else { return false };
        let Ok(cron) = Cron::parse(text) else { return false };
        let after = i64::from(u32::from_le_bytes(*moment)) % SECONDS;
        let Some(next) = cron.next(after) else { return true };
        assert!(next > after, "{next} is not after {after}");
        assert_eq!(cron.next(next - 1), Some(next));
        assert_eq!(cron.previous(next + 1), Some(next));
        assert!(cron.previous(next).is_none_or(|previous| previous <= after), "{after} to {next}");
        true
    });
    assert!(tried.accepted > tried.inputs / 20, "{tried:?}");
}

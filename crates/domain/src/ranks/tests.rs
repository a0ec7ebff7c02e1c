//! Ranks beside a sorted list, and their memory.

use std::collections::BTreeSet;

use muster_testenv::Random;

use super::{Best, LEAF_MAX, Place, Ranks};

/// A place of few scores and subscores, so that many are equal.
fn place(numbers: &mut Random, scores: usize) -> Place {
    Place {
        score: i64::try_from(numbers.below(scores)).unwrap(),
        subscore: i64::try_from(numbers.below(3)).unwrap(),
        owner: numbers.below(5_000) as u128,
    }
}

/// The records of a model from better to worse.
fn in_order(model: &BTreeSet<Place>, best: Best) -> Vec<Place> {
    match best {
        Best::Lowest => model.iter().copied().collect(),
        Best::Highest => model.iter().rev().copied().collect(),
    }
}

fn assert_equal(ranks: &Ranks, model: &BTreeSet<Place>, best: Best, numbers: &mut Random) {
    let expected = in_order(model, best);
    assert_eq!(ranks.len(), expected.len());
    assert_eq!(ranks.page(1, usize::MAX), expected);
    for _ in 0..20 {
        let rank = numbers.below(expected.len() + 2);
        let limit = numbers.below(150);
        let window: Vec<_> = match rank.checked_sub(1) {
            Some(index) => expected.iter().skip(index).take(limit).copied().collect(),
            None => Vec::new(),
        };
        assert_eq!(ranks.page(rank, limit), window, "from {rank}, {limit}");
        let found = ranks.at(rank);
        assert_eq!(found, rank.checked_sub(1).and_then(|index| expected.get(index)).copied());
        assert_eq!(found.and_then(|place| ranks.rank(&place)), found.map(|_| rank));
        let any = place(numbers, 40);
        let better = expected.iter().take_while(|known| match best {
            Best::Lowest => **known < any,
            Best::Highest => **known > any,
        });
        assert_eq!(ranks.rank_of(&any), better.count() + 1);
        assert_eq!(ranks.rank(&any).is_some(), model.contains(&any));
    }
}

/// Writes, rewrites and removals of records with many ties answer as a sorted list does, while the board grows, stays,
/// and shrinks to nothing.
#[test]
fn ranks_are_those_of_a_sorted_list() {
    for seed in 0..12 {
        let mut numbers = Random::new(seed);
        let best = if seed % 2 == 0 { Best::Lowest } else { Best::Highest };
        let scores = [2, 40, 100_000][usize::try_from(seed % 3).unwrap()];
        let (mut ranks, mut model) = (Ranks::new(best), BTreeSet::new());
        for phase in 0..6 {
            let share_of_inserts = [95, 60, 50, 40, 20, 0][phase];
            for _ in 0..3_000 {
                if numbers.below(100) < share_of_inserts {
                    let place = place(&mut numbers, scores);
                    assert_eq!(ranks.insert(place), model.insert(place));
                } else {
                    let known = ranks.at(1 + numbers.below(ranks.len() + 1));
                    let gone = known.unwrap_or_else(|| place(&mut numbers, scores));
                    assert_eq!(ranks.remove(&gone), model.remove(&gone));
                }
            }
            assert_equal(&ranks, &model, best, &mut numbers);
        }
        for gone in in_order(&model, best) {
            assert!(ranks.remove(&gone));
        }
        assert!(ranks.is_empty() && ranks.at(1).is_none() && ranks.page(1, 5).is_empty());
    }
}

/// Scores at the ends of their range are ordered like all others.
#[test]
fn the_ends_of_the_range_have_their_order() {
    let mut ranks = Ranks::new(Best::Lowest);
    let of = |score, subscore, owner| Place { score, subscore, owner };
    let expected = [
        of(i64::MIN, i64::MIN, 0),
        of(i64::MIN, i64::MAX, u128::MAX),
        of(0, 0, 0),
        of(0, 0, u128::MAX),
        of(i64::MAX, i64::MIN, 0),
        of(i64::MAX, i64::MAX, u128::MAX),
    ];
    for place in expected.iter().rev() {
        assert!(ranks.insert(*place));
    }
    assert_eq!(ranks.page(1, 10), expected);
    assert!(!ranks.insert(expected[3]) && ranks.len() == expected.len());
}

/// A record takes at most 64 bytes: read in order, written at random, and after most of a board has gone.
#[test]
fn a_record_takes_at_most_64_bytes() {
    let bytes_each = |ranks: &Ranks| ranks.bytes() / ranks.len();
    let records = 200_000;
    let mut numbers = Random::new(7);
    let (mut loaded, mut written) = (Ranks::new(Best::Highest), Ranks::new(Best::Highest));
    for number in 0..records {
        loaded.insert(Place { score: number, subscore: 0, owner: 1 });
        written.insert(Place { score: i64::try_from(numbers.number() >> 1).unwrap(), subscore: 0, owner: 1 });
    }
    assert!(bytes_each(&loaded) <= 36, "{}", bytes_each(&loaded));
    assert!(bytes_each(&written) <= 64, "{}", bytes_each(&written));
    for _ in 0..records * 9 / 10 {
        let any = written.at(1 + numbers.below(written.len())).unwrap();
        assert!(written.remove(&any));
    }
    assert!(bytes_each(&written) <= 4 * 64, "{}", bytes_each(&written));
    assert!(LEAF_MAX * size_of::<Place>() + 16 < 2_048);
}

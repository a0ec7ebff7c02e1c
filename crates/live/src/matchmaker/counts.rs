//! Classes of tickets by the numbers of players that they bring and ask for. A search skips all tickets of such a class
//! if no number of players satisfies both them and the searcher. A ticket that could be matched is never skipped.

use muster_domain::query::{Bitmap, Candidates};

use super::ticket::Ticket;

/// Limit on the combinations of counts that have a set of their own.
pub(super) const CLASSES_MAX: usize = 64;

/// The numbers of players that a ticket brings and asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Counts {
    size: u32,
    pub min: u32,
    pub max: u32,
    multiple: u32,
}

impl Counts {
    pub fn of<M>(ticket: &Ticket<M>) -> Self {
        let (min, max) = (ticket.min_count, ticket.max_count);
        Self { size: ticket.size(), min, max, multiple: ticket.count_multiple }
    }

    /// Whether some number of players satisfies both tickets. `least` is the smallest number that satisfies this one.
    pub fn agree(self, least: u32, other: Self) -> bool {
        let low = least.max(other.min).max(self.size.saturating_add(other.size));
        let high = self.max.min(other.max);
        if self.multiple == 1 && other.multiple == 1 {
            return high >= low;
        }
        let multiple = least_common_multiple(self.multiple, other.multiple);
        u64::from(high) / multiple * multiple >= u64::from(low)
    }
}

/// The least common multiple. If `a` does not fit 32 bits, the answer is `a`, which is too large for any match already.
pub(super) fn common_multiple(a: u64, b: u32) -> u64 {
    u32::try_from(a).map_or(a, |a| least_common_multiple(a, b))
}

fn least_common_multiple(a: u32, b: u32) -> u64 {
    let (a, b) = (a.max(1), b.max(1));
    if a == b {
        return u64::from(a);
    }
    let (mut divisor, mut rest) = (a, b);
    while rest != 0 {
        (divisor, rest) = (rest, divisor % rest);
    }
    u64::from(a) / u64::from(divisor) * u64::from(b)
}

/// Slots of tickets by their counts.
#[derive(Default)]
pub(super) struct CountClasses {
    /// Sets of slots by counts. No set is empty.
    classes: Vec<(Counts, Bitmap)>,
    /// Slots of tickets that were added when [`CLASSES_MAX`] other combinations had sets already.
    others: Bitmap,
}

impl CountClasses {
    /// Adds a ticket. Returns whether its combination of counts has a set.
    pub fn insert(&mut self, slot: u32, counts: Counts) -> bool {
        let known = self.classes.iter_mut().find(|(known, _)| *known == counts);
        if let Some((_, slots)) = known {
            slots.insert(slot);
        } else if self.classes.len() < CLASSES_MAX {
            let mut slots = Bitmap::default();
            slots.insert(slot);
            self.classes.push((counts, slots));
        } else {
            self.others.insert(slot);
            return false;
        }
        true
    }

    pub fn remove(&mut self, slot: u32, counts: Counts) {
        let Some(at) = self.classes.iter().position(|(known, _)| *known == counts) else {
            self.others.remove(slot);
            return;
        };
        let (_, slots) = &mut self.classes[at];
        // The ticket may have been added before its combination got a set.
        if !slots.remove(slot) {
            self.others.remove(slot);
        } else if slots.is_empty() {
            self.classes.swap_remove(at);
        }
    }

    /// Keeps in `candidates` only tickets whose counts agree with these. Tickets without a set are kept if they are in
    /// `others`. `least` is the smallest number of players that satisfies the searcher.
    pub fn agreeing<'a>(
        &'a self,
        counts: Counts,
        least: u32,
        candidates: Candidates<'a>,
        others: impl FnOnce() -> Candidates<'a>,
    ) -> Candidates<'a> {
        let set = |agree: bool| {
            let classes = self.classes.iter().filter(move |(class, _)| counts.agree(least, *class) == agree);
            classes.map(|(_, slots)| Candidates::set(slots)).fold(Candidates::none(), Candidates::or)
        };
        if self.others.is_empty() {
            // Mostly no set disagrees, so it is cheaper to remove the sets that disagree than to unite those that
            // agree.
            return candidates.and_not(set(false));
        }
        candidates.and(set(true).or(Candidates::set(&self.others).and(others())))
    }
}

#[cfg(test)]
mod tests {
    use muster_domain::query::{Document, Postings};

    use super::*;

    #[test]
    fn least_common_multiples() {
        for (a, b, multiple) in [(1, 1, 1), (2, 3, 6), (4, 6, 12), (5, 5, 5), (0, 7, 7)] {
            assert_eq!(least_common_multiple(a, b), multiple);
        }
    }

    /// Counts that differ for all numbers below 120, so almost half of them have no set.
    fn counts(number: u32) -> Counts {
        let (size, min, multiple) = (1 + number % 3, 2 + number % 8, 1 + number % 5);
        Counts { size, min, max: min + number % 7 * multiple, multiple }
    }

    #[test]
    fn all_who_agree_are_left_and_nobody_of_a_class_that_does_not() {
        let (mut postings, mut classes) = (Postings::default(), CountClasses::default());
        let slots = 0..600;
        for slot in slots.clone() {
            postings.insert(slot, &Document::new().with("a", 1.0));
            classes.insert(slot, counts(slot % 120));
        }
        assert_eq!(classes.classes.len(), CLASSES_MAX);
        // Every removed combination makes room for another.
        for slot in slots.clone().filter(|slot| slot % 120 < 30) {
            classes.remove(slot, counts(slot % 120));
        }
        for slot in slots.clone().filter(|slot| slot % 120 < 30) {
            classes.insert(slot, counts(119 - slot % 120));
        }
        let own = |slot: u32| if slot % 120 < 30 { counts(119 - slot % 120) } else { counts(slot % 120) };
        for searcher in (0..120).map(counts) {
            for least in [searcher.min, searcher.max] {
                let left = classes.agreeing(searcher, least, Candidates::all(), Candidates::all);
                let left: Vec<u32> = postings.scan(left, 0).collect();
                let others = |slot: &u32| classes.others.contains(*slot);
                let expect = slots.clone().filter(|slot| searcher.agree(least, own(*slot)) || others(slot));
                assert_eq!(left, expect.collect::<Vec<_>>(), "{searcher:?} {least}");
            }
        }
        for slot in slots {
            classes.remove(slot, own(slot));
        }
        assert!(classes.classes.is_empty() && classes.others.is_empty());
    }
}

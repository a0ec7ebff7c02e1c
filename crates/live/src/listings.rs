//! Listings that take more than one slice. They take turns, so that a costly listing delays itself.

use std::collections::VecDeque;

use muster_domain::query::{Work, WorkTotals};
use muster_domain::{Error, ErrorKind};

use crate::plane::RequestRef;

/// The largest number of unfinished listings of one kind on one shard. Further ones are refused.
pub const LISTINGS_WAITING_MAX: usize = 256;
/// Most work of one listing on one shard, about 100 milliseconds in slices. A listing that has done as much answers the
/// best of those that it has seen.
pub const LISTING_UNITS_MAX: u32 = 2_000_000;
/// Work of all listings of one kind in one slice, about a millisecond.
pub(crate) const LISTING_SLICE_UNITS: u32 = 20_000;
/// Work of one listing each time it has its turn.
const TURN_UNITS: u32 = 5_000;

/// Unfinished listings of one kind, in the order of their turns. `L` is the state of a listing.
pub(crate) struct Listings<L> {
    waiting: VecDeque<(Option<RequestRef>, L)>,
    /// Work since the last slice.
    recent: u64,
    stats: ListingStats,
}

/// Counts of listings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ListingStats {
    /// Listings so far that were refused because too many were unfinished.
    pub refused: u64,
    /// Listings so far that ended before they had looked at everything.
    pub cut: u64,
    /// Work of filters.
    pub work: WorkTotals,
}

impl ListingStats {
    /// Adds the counts of another kind.
    pub fn merge(&mut self, other: Self) {
        self.refused += other.refused;
        self.cut += other.cut;
        self.work.merge(other.work);
    }
}

impl<L> Default for Listings<L> {
    fn default() -> Self {
        Self { waiting: VecDeque::new(), recent: 0, stats: ListingStats::default() }
    }
}

/// A listing that takes turns.
pub(crate) trait Listing {
    /// The things that the listing looks through.
    type Of<'a>;
    /// The answer.
    type Answer;

    /// Goes on until the work is spent. Answers when the listing is over, and whether it ended before it had looked at
    /// everything.
    fn go_on(&mut self, of: &mut Self::Of<'_>, work: &mut Work) -> Option<(Self::Answer, bool)>;
}

impl<L: Listing> Listings<L> {
    /// Begins a listing. `None` if its answer comes from a later slice. A listing goes on at once if none waits and the
    /// listings since the last slice have not taken as much work as a slice.
    pub(crate) fn begin(
        &mut self,
        request: Option<RequestRef>,
        mut listing: L,
        mut of: L::Of<'_>,
    ) -> Option<Result<L::Answer, Error>> {
        if self.waiting.is_empty() && self.recent < LISTING_SLICE_UNITS.into() {
            let mut turn = Work::new(TURN_UNITS);
            let over = listing.go_on(&mut of, &mut turn);
            self.recent += turn.spent();
            self.stats.work.count(&turn);
            if let Some((answer, is_cut)) = over {
                self.stats.cut += u64::from(is_cut);
                return Some(Ok(answer));
            }
        }
        if self.waiting.len() >= LISTINGS_WAITING_MAX {
            self.stats.refused += 1;
            let message = "The server answers as many listings as it may at a time: try again.";
            return Some(Err(Error::new(ErrorKind::Unavailable, message)));
        }
        self.waiting.push_back((request, listing));
        None
    }

    /// Whether there are unfinished listings, or work since the last slice.
    pub(crate) fn is_busy(&self) -> bool {
        self.recent > 0 || !self.waiting.is_empty()
    }

    /// Goes on with one slice. Returns the answers of the listings that are over.
    pub(crate) fn run_slice(&mut self, mut of: L::Of<'_>) -> Vec<(Option<RequestRef>, L::Answer)> {
        let (mut answers, mut work) = (Vec::new(), Work::new(LISTING_SLICE_UNITS));
        self.recent = 0;
        while !work.is_spent()
            && let Some((request, mut listing)) = self.waiting.pop_front()
        {
            let mut turn = Work::new(TURN_UNITS);
            match listing.go_on(&mut of, &mut turn) {
                Some((answer, is_cut)) => {
                    self.stats.cut += u64::from(is_cut);
                    answers.push((request, answer));
                }
                None => self.waiting.push_back((request, listing)),
            }
            work.add(&turn);
        }
        self.stats.work.count(&work);
        answers
    }

    /// Counts so far.
    pub(crate) fn stats(&self) -> ListingStats {
        self.stats
    }
}

//! Assembly of a group from the tickets that a search has gathered. Every ticket of the group accepts every other. The
//! group is as large as possible, and tickets that were gathered earlier are preferred: if counts leave a ticket out,
//! it is the last of them. An assembly can be interrupted after any pair that was checked. It never changes the pool.

use muster_domain::query::Work;

use super::Matchmaker;
use super::checks::is_mutual;
use super::counts::common_multiple;
use super::search::SlottedTicket;

/// Limit on the tickets that an assembly tries before it gives up on a better group.
const TRIES_MAX: u32 = 2_048;

/// The state of an unfinished assembly.
#[derive(Debug, Default)]
pub(super) struct Assembly {
    /// Whether only a group of the searcher's `max_count` counts.
    must_be_full: bool,
    /// Whether the search ends with this assembly.
    pub is_last: bool,
    /// Number of tickets that the assembly has tried so far.
    tries: u32,
    /// Positions of the group's tickets among the gathered ones, without the searcher.
    chosen: Vec<usize>,
    /// The next position to try.
    at: usize,
    /// Number of chosen tickets that are known to agree with the ticket at the next position.
    agreed: usize,
    /// The best group so far, with its number of players.
    best: Option<(u32, Vec<u32>)>,
}

/// The outcome of a step of an assembly.
pub(super) enum Assembled {
    /// No work is left.
    More,
    /// The assembly is over.
    Over {
        /// Slots of the group, the searcher's first.
        found: Option<Vec<u32>>,
        /// Whether a limit was met, so that a better group may exist.
        was_cut: bool,
    },
}

/// A ticket in a group, with totals over this ticket and all tickets before it.
struct GroupSeat<'a, M> {
    ticket: SlottedTicket<'a, M>,
    /// Number of players on these tickets.
    players: u32,
    /// Largest number of players that all these tickets allow.
    most: u32,
    /// Smallest number of players that all these tickets allow.
    least: u32,
    /// The number of players must be a multiple of this number.
    multiple: u64,
}

impl<'a, M> GroupSeat<'a, M> {
    fn first(first: SlottedTicket<'a, M>) -> Self {
        let ticket = first.ticket;
        Self {
            ticket: first,
            players: ticket.size(),
            most: ticket.max_count,
            least: ticket.min_count,
            multiple: u64::from(ticket.count_multiple),
        }
    }

    fn next(&self, next: SlottedTicket<'a, M>) -> Self {
        let ticket = next.ticket;
        Self {
            ticket: next,
            players: self.players.saturating_add(ticket.size()),
            most: self.most.min(ticket.max_count),
            least: self.least.max(ticket.min_count),
            multiple: common_multiple(self.multiple, ticket.count_multiple),
        }
    }

    /// Whether the number of players satisfies all these tickets.
    fn suits(&self) -> bool {
        (self.least..=self.most).contains(&self.players) && u64::from(self.players).is_multiple_of(self.multiple)
    }
}

/// Whether a searcher and another ticket alone make a match of the searcher's `max_count`. Such a match needs no
/// assembly.
pub(super) fn is_full_pair<M>(searcher: SlottedTicket<'_, M>, other: SlottedTicket<'_, M>) -> bool {
    let pair = GroupSeat::first(searcher).next(other);
    pair.players == searcher.ticket.max_count && pair.suits()
}

impl<M> Matchmaker<M> {
    /// Continues an assembly from the gathered tickets, with all of which the searcher could be matched. The assembly
    /// looks for a group of the searcher's `max_count`, or, if the group need not be full, for the largest group.
    pub(super) fn assemble(
        &self,
        searcher: SlottedTicket<'_, M>,
        gathered: &[SlottedTicket<'_, M>],
        assembly: &mut Assembly,
        work: &mut Work,
    ) -> Assembled {
        work.spend(gathered.len() as u32);
        let ticket = searcher.ticket;
        let players_from = players_from(gathered);
        let first = GroupSeat::first(searcher);
        // The searcher is not among the seats, since all gathered tickets agree with it.
        let mut seats: Vec<GroupSeat<'_, M>> = Vec::with_capacity(assembly.chosen.len() + 1);
        for chosen in assembly.chosen.iter().filter_map(|place| gathered.get(*place)) {
            seats.push(seats.last().unwrap_or(&first).next(*chosen));
        }
        let least = if assembly.must_be_full { ticket.max_count } else { ticket.min_count };
        while assembly.tries < TRIES_MAX {
            let last = seats.last().unwrap_or(&first);
            let most = last.most.min(last.players.saturating_add(players_from[assembly.at]));
            let most = most - most % ticket.count_multiple;
            let wanted = assembly.best.as_ref().map_or(least, |(players, _)| players + 1);
            let candidate = gathered.get(assembly.at).filter(|_| most >= wanted);
            if let Some(candidate) = candidate {
                let seat = last.next(*candidate);
                let Some(joins) = joins(&seats, &seat, &mut assembly.agreed, work) else { return Assembled::More };
                if joins {
                    assembly.chosen.push(assembly.at);
                    let (players, suits) = (seat.players, seat.suits());
                    seats.push(seat);
                    if players >= wanted && suits {
                        let members = seats.iter().map(|seat| seat.ticket.slot);
                        let slots = std::iter::once(searcher.slot).chain(members).collect();
                        if players == ticket.max_count {
                            return Assembled::Over { found: Some(slots), was_cut: false };
                        }
                        assembly.best = Some((players, slots));
                    }
                }
                assembly.at += 1;
            } else {
                // No better group begins with these tickets, so the last one is replaced.
                let Some(last) = assembly.chosen.pop() else { return assembly.over(false) };
                seats.pop();
                assembly.at = last + 1;
            }
            (assembly.agreed, assembly.tries) = (0, assembly.tries + 1);
            if work.is_spent() {
                return Assembled::More;
            }
        }
        assembly.over(true)
    }
}

impl Assembly {
    pub fn new(must_be_full: bool, is_last: bool) -> Self {
        Self { must_be_full, is_last, ..Self::default() }
    }

    /// Begins anew after gathered tickets have left.
    pub fn start_over(&mut self) {
        *self = Self::new(self.must_be_full, self.is_last);
    }

    fn over(&mut self, was_cut: bool) -> Assembled {
        Assembled::Over { found: self.best.take().map(|(_, slots)| slots), was_cut }
    }
}

/// Whether a ticket agrees with all tickets of a group; `None` if the work is spent before that is known.
fn joins<M>(seats: &[GroupSeat<'_, M>], seat: &GroupSeat<'_, M>, agreed: &mut usize, work: &mut Work) -> Option<bool> {
    work.spend(1);
    if seat.players > seat.most || seat.least > seat.most {
        return Some(false);
    }
    while let Some(member) = seats.get(*agreed) {
        if !is_mutual(member.ticket.ticket, seat.ticket.ticket, work) {
            return Some(false);
        }
        *agreed += 1;
        if work.is_spent() && *agreed < seats.len() {
            return None;
        }
    }
    Some(true)
}

/// For each position, the number of players on the gathered tickets from there on; the last entry is 0.
fn players_from<M>(gathered: &[SlottedTicket<'_, M>]) -> Vec<u32> {
    let mut sums = vec![0_u32; gathered.len() + 1];
    for (at, member) in gathered.iter().enumerate().rev() {
        sums[at] = sums[at + 1].saturating_add(member.ticket.size());
    }
    sums
}

//! Counts that cannot be. Debug builds panic where one arises.

use std::ops::Sub;

/// Subtracts from a count that is never less than what goes. Debug builds panic if it is. Others go on with 0: one
/// wrong count must not end the shard, and a count that wraps around would never come down to 0 again.
#[track_caller]
pub(crate) fn count_down<N: Copy + Default + Ord + Sub<Output = N>>(count: &mut N, by: N, what: &str) {
    debug_assert!(*count >= by, "there are fewer {what} than go");
    *count = if *count >= by { *count - by } else { N::default() };
}

#[cfg(test)]
mod tests {
    use super::count_down;

    #[test]
    fn a_count_goes_down() {
        let mut count = 3_u32;
        count_down(&mut count, 1, "listeners");
        assert_eq!(count, 2);
    }

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic(expected = "there are fewer listeners than go")]
    fn more_than_there_are_do_not_go() {
        count_down(&mut 3_usize, 4, "listeners");
    }
}

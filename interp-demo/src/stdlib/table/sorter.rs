//! The order in which `table.sort` compares and swaps: quicksort as a machine that never calls anybody.
//!
//! The comparison may be a Lua function, which a native cannot call in the middle of its work. So the machine tells one
//! [`Step`] at a time, and is told the answer of each comparison. Positions are those of the list, from 1.
//!
//! The range `lo..=up` is split around the median of its ends and a middle element, which waits at `up - 1` while the
//! others are moved to its left and right; the smaller part is sorted first, the larger one is put off, so that at
//! most log2(n) ranges wait.

/// Ranges longer than this take a middle element that depends on the machine's random state.
const RANDOM_LIMIT: u64 = 100;

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Ask whether the first is less than the second, and pass the answer on.
    Compare(u64, u64),
    /// Exchange two elements.
    Swap(u64, u64),
    /// All is sorted.
    Done,
    /// The comparison contradicts itself.
    InvalidOrder,
}

/// What the next answer is about, or what comes after a swap.
#[derive(Clone, Copy, Debug)]
enum Phase {
    /// Take the range that waits next.
    Range,
    /// Begin with `lo..=up`.
    Ends,
    /// Is the last element less than the first?
    EndsAnswer,
    Middle,
    /// Is the middle element less than the first?
    MiddleFirst,
    /// Is the last element less than the middle one?
    MiddleLast,
    /// Put the pivot aside.
    Aside,
    /// Go right from `i` to an element that is not less than the pivot.
    Up,
    UpAnswer,
    /// Go left from `j` to an element that is not greater than the pivot.
    DownAnswer,
    /// The pivot is in its place, `i`.
    Split,
}

/// A sort that is under way.
#[derive(Clone, Debug)]
pub struct Sorter {
    lo: u64,
    up: u64,
    middle: u64,
    i: u64,
    j: u64,
    phase: Phase,
    waiting: Vec<(u64, u64)>,
    random: u64,
}

impl Sorter {
    /// A sort of the elements 1 to `len`.
    #[must_use]
    pub fn new(len: u64) -> Self {
        let waiting = if len > 1 { vec![(1, len)] } else { Vec::new() };
        Self {
            lo: 0,
            up: 0,
            middle: 0,
            i: 0,
            j: 0,
            phase: Phase::Range,
            waiting,
            random: len | 1,
        }
    }

    /// The next step. `less` is the answer to the last comparison; it does not matter after other steps.
    pub fn step(&mut self, less: bool) -> Step {
        loop {
            match self.phase {
                Phase::Range => {
                    let Some((lo, up)) = self.waiting.pop() else {
                        return Step::Done;
                    };
                    (self.lo, self.up) = (lo, up);
                    self.phase = Phase::Ends;
                }
                Phase::Ends => {
                    self.phase = Phase::EndsAnswer;
                    return Step::Compare(self.up, self.lo);
                }
                Phase::EndsAnswer => {
                    self.phase = if self.up - self.lo == 1 {
                        Phase::Range
                    } else {
                        Phase::Middle
                    };
                    if less {
                        return Step::Swap(self.lo, self.up);
                    }
                }
                Phase::Middle => {
                    self.middle = self.choose_middle();
                    self.phase = Phase::MiddleFirst;
                    return Step::Compare(self.middle, self.lo);
                }
                Phase::MiddleFirst => {
                    if less {
                        self.phase = Phase::Aside;
                        return Step::Swap(self.middle, self.lo);
                    }
                    self.phase = Phase::MiddleLast;
                    return Step::Compare(self.up, self.middle);
                }
                Phase::MiddleLast => {
                    self.phase = Phase::Aside;
                    if less {
                        return Step::Swap(self.middle, self.up);
                    }
                }
                Phase::Aside => {
                    if self.up - self.lo == 2 {
                        self.phase = Phase::Range;
                        continue;
                    }
                    (self.i, self.j) = (self.lo, self.up - 1);
                    self.phase = Phase::Up;
                    return Step::Swap(self.middle, self.up - 1);
                }
                Phase::Up => {
                    self.i += 1;
                    self.phase = Phase::UpAnswer;
                    return Step::Compare(self.i, self.up - 1);
                }
                Phase::UpAnswer if less => {
                    if self.i == self.up - 1 {
                        return Step::InvalidOrder;
                    }
                    self.phase = Phase::Up;
                }
                Phase::UpAnswer => return self.go_down(),
                Phase::DownAnswer if less => {
                    if self.j < self.i {
                        return Step::InvalidOrder;
                    }
                    return self.go_down();
                }
                Phase::DownAnswer if self.j < self.i => {
                    self.phase = Phase::Split;
                    return Step::Swap(self.up - 1, self.i);
                }
                Phase::DownAnswer => {
                    self.phase = Phase::Up;
                    return Step::Swap(self.i, self.j);
                }
                Phase::Split => self.split(),
            }
        }
    }

    fn go_down(&mut self) -> Step {
        self.j -= 1;
        self.phase = Phase::DownAnswer;
        Step::Compare(self.up - 1, self.j)
    }

    fn split(&mut self) {
        let (left, right) = ((self.lo, self.i - 1), (self.i + 1, self.up));
        let (left_size, right_size) = (self.i - self.lo, self.up - self.i);
        let ordered = if left_size < right_size {
            [right, left]
        } else {
            [left, right]
        };
        if left_size.max(right_size) / 128 > left_size.min(right_size) {
            self.stir();
        }
        self.waiting
            .extend(ordered.into_iter().filter(|(lo, up)| lo < up));
        self.phase = Phase::Range;
    }

    /// A middle element; in long ranges one out of the middle half.
    fn choose_middle(&self) -> u64 {
        let size = self.up - self.lo;
        if size <= RANDOM_LIMIT {
            return self.lo + size / 2;
        }
        let quarter = size / 4;
        self.lo + quarter + self.random % (quarter * 2)
    }

    /// Changes the random state, after a split that was far from even.
    fn stir(&mut self) {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sort(list: &mut [i32], less: impl Fn(i32, i32) -> bool) -> Result<usize, ()> {
        let mut sorter = Sorter::new(list.len() as u64);
        let (mut answer, mut compared) = (false, 0);
        loop {
            match sorter.step(answer) {
                Step::Compare(a, b) => {
                    compared += 1;
                    answer = less(list[a as usize - 1], list[b as usize - 1]);
                }
                Step::Swap(a, b) => list.swap(a as usize - 1, b as usize - 1),
                Step::Done => return Ok(compared),
                Step::InvalidOrder => return Err(()),
            }
        }
    }

    #[test]
    fn a_contradictory_order_is_noticed() {
        for len in 4..20 {
            assert_eq!(sort(&mut vec![0; len], |_, _| true), Err(()));
        }
    }

    #[test]
    fn ordered_lists_stay_cheap() {
        let len = 20_000;
        let budget = 40 * len as usize;
        for mut list in [
            (0..len).collect::<Vec<_>>(),
            (0..len).rev().collect(),
            vec![1; len as usize],
            (0..len).map(|i| i % 7).collect(),
        ] {
            assert!(sort(&mut list, |a, b| a < b).unwrap() < budget);
            assert!(list.is_sorted());
        }
    }

    proptest! {
        #[test]
        fn sorts(mut list in prop::collection::vec(-50..50, 0..300)) {
            let mut expected = list.clone();
            expected.sort_unstable();
            sort(&mut list, |a, b| a < b).unwrap();
            prop_assert_eq!(list, expected);
        }

        #[test]
        fn ends_whatever_the_answers_are(mut list in prop::collection::vec(0..9, 0..200), seed: u64) {
            let _ = sort(&mut list, |a, b| (seed >> ((a * 7 + b) % 64)) & 1 == 1);
        }
    }
}

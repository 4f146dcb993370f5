//! How long the operations of a socket may wait.

use std::time::Duration;

/// The time limits that `settimeout` sets. A negative limit is none.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    block_s: f64,
    total_s: f64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            block_s: -1.0,
            total_s: -1.0,
        }
    }
}

/// When an operation has waited long enough, on the clock of [`now_ns`]. Fits the number that a native keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadline(i64);

impl Limits {
    /// Sets the limit of each wait.
    pub fn set_block(&mut self, seconds: f64) {
        self.block_s = seconds;
    }

    /// Sets the limit of a whole operation.
    pub fn set_total(&mut self, seconds: f64) {
        self.total_s = seconds;
    }

    /// Both limits, in the order of `settimeout`; negative: none.
    pub fn get(&self) -> (f64, f64) {
        (self.block_s, self.total_s)
    }

    /// The end of the time of an operation that starts now.
    pub fn deadline(&self) -> Deadline {
        self.deadline_from(now_ns())
    }

    fn deadline_from(&self, now_ns: i64) -> Deadline {
        let limit_s = match (self.block_s >= 0.0, self.total_s >= 0.0) {
            (true, true) => self.block_s.min(self.total_s),
            (true, false) => self.block_s,
            (false, true) => self.total_s,
            (false, false) => return Deadline::NEVER,
        };
        // The conversion saturates, and so does the sum: a limit of centuries is none.
        Deadline(now_ns.saturating_add((limit_s * 1e9) as i64))
    }
}

impl Deadline {
    /// No end.
    pub const NEVER: Self = Self(i64::MAX);

    /// The end of a time that starts now; negative: none.
    pub fn after(seconds: f64) -> Self {
        let mut limits = Limits::default();
        limits.set_block(seconds);
        limits.deadline()
    }

    /// As a number, and back.
    pub fn to_number(self) -> i64 {
        self.0
    }

    /// From the number that [`to_number`](Self::to_number) gave.
    pub fn from_number(number: i64) -> Self {
        Self(number)
    }

    /// How long it is until then: `Some(None)` for ever, `None` when the time is over.
    pub fn left(self) -> Option<Option<Duration>> {
        self.left_from(now_ns())
    }

    fn left_from(self, now_ns: i64) -> Option<Option<Duration>> {
        if self == Self::NEVER {
            return Some(None);
        }
        match u64::try_from(self.0 - now_ns) {
            Ok(left_ns) if left_ns > 0 => Some(Some(Duration::from_nanos(left_ns))),
            _ => None,
        }
    }
}

/// Nanoseconds on a clock that never steps back.
pub fn now_ns() -> i64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(block_s: f64, total_s: f64) -> Limits {
        Limits { block_s, total_s }
    }

    #[test]
    fn the_shorter_limit_counts() {
        assert_eq!(limits(-1.0, -1.0).deadline_from(5), Deadline::NEVER);
        assert_eq!(limits(1e-6, -1.0).deadline_from(5), Deadline(1005));
        assert_eq!(limits(-1.0, 1e-6).deadline_from(5), Deadline(1005));
        assert_eq!(limits(2e-6, 1e-6).deadline_from(5), Deadline(1005));
        assert_eq!(limits(1e300, -1.0).deadline_from(5), Deadline::NEVER);
        assert_eq!(limits(0.0, -1.0).deadline_from(5).left_from(5), None);
    }

    #[test]
    fn what_is_left_runs_out() {
        let deadline = limits(1e-6, -1.0).deadline_from(5);
        assert_eq!(
            deadline.left_from(5),
            Some(Some(Duration::from_nanos(1000)))
        );
        assert_eq!(deadline.left_from(1005), None);
        assert_eq!(deadline.left_from(2000), None);
        assert_eq!(Deadline::NEVER.left_from(2000), Some(None));
        assert_eq!(Deadline::from_number(deadline.to_number()), deadline);
    }
}

//! The switches of the idle layer, each alone, so that the cost of each can be measured.
//!
//! | where | how | |
//! |---|---|---|
//! | build | the features `idle-sweep`, `idle-mark`, `idle-start`, `idle-park`, all on by default | what is not built stays off |
//! | environment | `SLEEPY_SWEEP`, `SLEEPY_MARK`, `SLEEPY_START`, `SLEEPY_PARK` = 0 | turns off |
//! | run time | [`Policy::switches`](super::Policy::switches) | what a [`Sleeper`](super::Sleeper) is made with |
//!
//! A sleeper's switches are those that all three leave on.

/// What a wait may do before it sleeps. All are on by default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Switches {
    /// Sweep while waiting. `SLEEPY_SWEEP=0` turns it off.
    pub sweep: bool,
    /// Mark while waiting. `SLEEPY_MARK=0` turns it off.
    pub mark: bool,
    /// Start a cycle while waiting when none is under way. `SLEEPY_START=0` turns it off.
    pub start: bool,
    /// Lend the heap while blocked. `SLEEPY_PARK=0` turns it off.
    pub park: bool,
}

impl Default for Switches {
    fn default() -> Self {
        Self::ON
    }
}

impl Switches {
    /// All on.
    pub const ON: Self = Self {
        sweep: true,
        mark: true,
        start: true,
        park: true,
    };

    /// All off: a wait is a plain wait.
    pub const OFF: Self = Self {
        sweep: false,
        mark: false,
        start: false,
        park: false,
    };

    /// What this build has. See [the module](self).
    pub const BUILT: Self = Self {
        sweep: cfg!(feature = "idle-sweep"),
        mark: cfg!(feature = "idle-mark"),
        start: cfg!(feature = "idle-start"),
        park: cfg!(feature = "idle-park"),
    };

    /// These switches, less those that this build does not have.
    pub fn and_built(self) -> Self {
        Self {
            sweep: self.sweep && Self::BUILT.sweep,
            mark: self.mark && Self::BUILT.mark,
            start: self.start && Self::BUILT.start,
            park: self.park && Self::BUILT.park,
        }
    }

    /// These switches, less those that the environment turns off.
    pub fn and_env(self) -> Self {
        self.and_lookup(|name| std::env::var_os(name).is_some_and(|value| value == "0"))
    }

    fn and_lookup(self, is_off: impl Fn(&str) -> bool) -> Self {
        Self {
            sweep: self.sweep && !is_off("SLEEPY_SWEEP"),
            mark: self.mark && !is_off("SLEEPY_MARK"),
            start: self.start && !is_off("SLEEPY_START"),
            park: self.park && !is_off("SLEEPY_PARK"),
        }
    }

    /// Whether a wait may start a cycle: what is started begins to mark.
    pub(super) fn starts(self) -> bool {
        self.start && self.mark
    }

    /// Whether a wait may collect at all.
    pub(super) fn collects(self) -> bool {
        self.sweep || self.mark
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_only_turns_off() {
        assert_eq!(Switches::OFF.and_lookup(|_| false), Switches::OFF);
        assert_eq!(Switches::ON.and_lookup(|_| true), Switches::OFF);
        let no_mark = Switches::ON.and_lookup(|name| name == "SLEEPY_MARK");
        assert_eq!(
            no_mark,
            Switches {
                mark: false,
                ..Switches::ON
            }
        );
    }
}

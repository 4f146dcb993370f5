//! What a step does with its time.

use std::time::Instant;

use super::context::Phase;
use crate::metrics::StepTime;

/// The clock of a step, which reads the time when the step begins, when it goes on to another phase, and when it ends.
pub(super) struct Lap {
    pub(super) begun: Instant,
    /// Where in `time` the time goes now, and since when.
    at: Option<(Place, Instant)>,
    time: StepTime,
}

/// The phases that are told apart.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Marking,
    Clearing,
    Sweeping,
}

impl Lap {
    pub(super) fn new() -> Self {
        Self {
            begun: Instant::now(),
            at: None,
            time: StepTime::default(),
        }
    }

    /// Notes the phase that the step works in next.
    pub(super) fn enter(&mut self, phase: Phase) {
        let place = match phase {
            Phase::Sleeping => return,
            Phase::Marking | Phase::Marked => Place::Marking,
            Phase::Clearing => Place::Clearing,
            Phase::Sweeping => Place::Sweeping,
        };
        match self.at {
            Some((at, _)) if at == place => {}
            Some(_) => {
                let now = Instant::now();
                self.leave(now);
                self.at = Some((place, now));
            }
            None => self.at = Some((place, self.begun)),
        }
    }

    /// Counts the time since the phase was entered.
    fn leave(&mut self, now: Instant) {
        let Some((place, since)) = self.at.take() else {
            return;
        };
        let slot = match place {
            Place::Marking => &mut self.time.marking_ns,
            Place::Clearing => &mut self.time.clearing_ns,
            Place::Sweeping => &mut self.time.sweeping_ns,
        };
        *slot = Some(slot.unwrap_or(0) + ns_between(since, now));
    }

    /// The time of the step, which ends now.
    pub(super) fn end(mut self, idle: bool) -> StepTime {
        let now = Instant::now();
        self.leave(now);
        self.time.idle = idle;
        self.time.total_ns = ns_between(self.begun, now);
        self.time
    }
}

fn ns_between(since: Instant, now: Instant) -> u64 {
    u64::try_from(now.saturating_duration_since(since).as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_phase_gets_its_part_and_all_parts_are_the_whole() {
        let mut lap = Lap::new();
        for phase in [
            Phase::Sleeping,
            Phase::Marking,
            Phase::Marked,
            Phase::Clearing,
            Phase::Sweeping,
            Phase::Sleeping,
        ] {
            lap.enter(phase);
        }
        let time = lap.end(true);
        let parts = [time.marking_ns, time.clearing_ns, time.sweeping_ns];
        let sum: u64 = parts
            .iter()
            .map(|part| part.expect("the phase was entered"))
            .sum();
        assert_eq!((sum, time.idle), (time.total_ns, true));
    }

    #[test]
    fn a_phase_that_was_not_entered_has_no_time() {
        let mut lap = Lap::new();
        lap.enter(Phase::Sweeping);
        let time = lap.end(false);
        assert_eq!(
            (time.marking_ns, time.clearing_ns, time.sweeping_ns),
            (None, None, Some(time.total_ns))
        );
    }
}

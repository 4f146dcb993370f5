//! The cycle: which phase follows which, and how far a call may go.

use std::time::Instant;

use super::context::{Context, Phase};
use super::events;
use super::lap::Lap;
use super::mark::{AGAIN_SLACK_BYTES, Marker};
use super::meter::Meter;
use super::zeal::Zealous;
use crate::metrics::Cause;
use crate::step::{Budget, CollectionPhase, Progress};

/// How to trace the root.
pub(crate) struct RootTrace {
    pub(crate) root: *const (),
    /// # Safety
    ///
    /// Called with `root`, which is alive.
    pub(crate) trace: unsafe fn(*const (), &mut Marker),
}

/// How far a call goes.
#[derive(Clone, Copy)]
pub enum Goal {
    /// Pay the debt that is due.
    Debt,
    /// Pay the debt that is due, up to the end of marking.
    MarkDebt,
    /// Pay the debt that is due, up to the end of the cycle.
    CycleDebt,
    /// The end of marking.
    Marked,
    /// The decision what is dead.
    Sweeping,
    /// The end of the cycle.
    Cycle,
    /// The budget's end, or the cycle's; start a cycle where a debt is due.
    Step(Budget),
    /// The same, for a debt that holds a program up: the step stops early where that is tolerable.
    ForcedStep(Budget),
    /// The same, made in a wait: starts nothing.
    IdleStep(Budget),
}

impl Context {
    /// Starts a cycle, unless one is under way.
    pub(crate) fn start_cycle(&self, cause: Cause) {
        if self.phase.get() != Phase::Sleeping {
            return;
        }
        let cause = if self.refused.replace(false) {
            Cause::Emergency
        } else {
            cause
        };
        self.metrics.cycle_begun(cause);
        events::cycle_begins(&self.metrics, cause);
        // What is reserved but not used is not counted as allocated before the start.
        self.close_spaces();
        let period = self.allocated_since_start();
        self.period_bytes
            .set(period.max(self.period_bytes.get() / 2));
        self.allocated_at_start.set(self.metrics.allocated_bytes());
        if !self.begin_generation(cause) {
            self.marked_bytes.set(0);
            self.late_met_bytes.set(0);
        }
        self.again_is_heavy.set(false);
        let ahead = self.metrics.counted_bytes().saturating_mul(2);
        let limit = self.retraced_bytes.get().saturating_add(ahead);
        self.retraced_limit
            .set(limit.saturating_add(AGAIN_SLACK_BYTES));
        self.retraced_only.set(false);
        self.late_scanned_bytes.set(0);
        self.root_gray.set(true);
        self.barrier.set(true);
        self.phase.set(Phase::Marking);
        self.metrics.set_phase(CollectionPhase::Marking);
    }

    /// Bytes allocated since the last cycle began.
    pub(crate) fn allocated_since_start(&self) -> usize {
        let allocated = self
            .metrics
            .allocated_bytes()
            .saturating_sub(self.allocated_at_start.get());
        usize::try_from(allocated).unwrap_or(usize::MAX)
    }

    /// Bytes that the last cycle has found alive.
    pub(crate) fn live_bytes(&self) -> usize {
        self.metrics.live_bytes()
    }

    /// Works towards a goal.
    pub(crate) fn run(&self, root: &RootTrace, goal: Goal) -> Progress {
        let mut lap = Lap::new();
        // A step before may have ended in a panic: what it has retraced is its own.
        let retraced_before = self.retraced_bytes.get();
        self.take_over();
        let due = self.debt_due();
        let (mut budget, may_start, idle) = match goal {
            Goal::Debt | Goal::MarkDebt | Goal::CycleDebt => {
                (Budget::Work(self.allocation_debt()), due, false)
            }
            Goal::ForcedStep(budget) => (budget, due, false),
            Goal::Marked | Goal::Cycle => (Budget::Unlimited, true, false),
            Goal::Sweeping => (Budget::Unlimited, false, false),
            Goal::Step(budget) => (budget, due || matches!(budget, Budget::Unlimited), false),
            Goal::IdleStep(budget) => (budget, false, true),
        };
        let is_nothing = matches!(budget, Budget::Work(0));
        if let (
            Some(zeal),
            false,
            Goal::Debt | Goal::CycleDebt | Goal::ForcedStep(_) | Goal::Step(_),
        ) = (&self.zeal, is_nothing, goal)
        {
            match zeal.choose() {
                Zealous::Whole => budget = Budget::Unlimited,
                Zealous::Piece(bytes) => budget = Budget::Work(bytes),
            }
        }
        let pacing = self.metrics.pacing();
        let forced = matches!(
            goal,
            Goal::Debt | Goal::MarkDebt | Goal::CycleDebt | Goal::ForcedStep(_)
        );
        let mut meter = match budget {
            Budget::Work(bytes) if forced => {
                let pressing = pacing.pressing_bytes(
                    self.balance(),
                    self.owed_bytes.get(),
                    self.metrics.live_bytes(),
                );
                Meter::of_debt(bytes, pressing.min(bytes), lap.begun, pacing.sweep_prices())
            }
            budget => Meter::new(budget, lap.begun, pacing.sweep_prices()),
        };
        let mut finished_cycle = false;
        let worked = self.phase.get() != Phase::Sleeping || may_start;
        loop {
            lap.enter(self.phase.get());
            match self.phase.get() {
                Phase::Sleeping if may_start && !finished_cycle => {
                    if matches!(goal, Goal::Marked | Goal::Cycle) {
                        self.generations.ask_full();
                    }
                    self.start_cycle(if due {
                        Cause::Allocation
                    } else {
                        Cause::Explicit
                    });
                }
                Phase::Sleeping => break,
                Phase::Marking => {
                    if !self.mark_step(root, &mut meter) {
                        break;
                    }
                    self.phase.set(Phase::Marked);
                    events::phase(&self.metrics, CollectionPhase::Marked);
                }
                // A callback has run: it may have changed what is reachable.
                Phase::Marked if self.mutated.get() || !self.nothing_gray() => {
                    self.phase.set(Phase::Marking)
                }
                Phase::Marked if matches!(goal, Goal::Marked | Goal::MarkDebt) => break,
                Phase::Marked => {
                    self.decide();
                    events::phase(&self.metrics, CollectionPhase::Sweeping);
                }
                Phase::Clearing | Phase::Sweeping
                    if matches!(goal, Goal::Marked | Goal::MarkDebt | Goal::Sweeping) =>
                {
                    break;
                }
                Phase::Clearing => {
                    if !self.clear_step(&mut meter) {
                        break;
                    }
                }
                Phase::Sweeping => {
                    if !self.sweep_step(&mut meter) {
                        break;
                    }
                    self.end_cycle(lap.begun);
                    finished_cycle = true;
                }
            }
        }
        let retraced = self.retraced_bytes.get() - retraced_before;
        if !finished_cycle {
            let paying = meter.work_bytes.saturating_sub(retraced);
            self.repay(pacing.credit_of_work(paying));
            if forced && due && self.phase.get() != Phase::Sleeping {
                self.defer_debt();
            }
        }
        let phase = self.public_phase();
        let progress = Progress {
            delegated_bytes: self.take_delegated_bytes(),
            ..Progress::new(
                phase,
                meter.work_bytes,
                self.freed_unreported.take(),
                finished_cycle,
            )
        };
        if worked {
            let time = lap.end(idle);
            if forced {
                self.collected_ns
                    .set(self.collected_ns.get() + time.total_ns);
            }
            self.metrics.step_ended(phase, time);
            events::step(&self.metrics, idle, time.total_ns, &progress);
        }
        #[cfg(feature = "zeal")]
        if self.zeal.is_some() {
            self.verify_zealously(root);
        }
        progress
    }

    fn end_cycle(&self, now: Instant) {
        // What destructors have freed outside.
        self.take_over();
        self.each_space(super::space::Space::end_sweep);
        let live = self.survivors_bytes.get() + self.metrics.external_bytes();
        self.metrics.cycle_ended(live, self.survivors.get());
        events::cycle_ends(&self.metrics);
        self.phase.set(Phase::Sleeping);
        if let Some(before) = self.cycle_ended.replace(Some(now)) {
            let elapsed = now.saturating_duration_since(before).as_nanos();
            let elapsed_ns = u64::try_from(elapsed).unwrap_or(u64::MAX);
            let stretch = self.stretch.get();
            self.stretch
                .set(stretch.after_cycle(self.collected_ns.get(), elapsed_ns));
        }
        self.collected_ns.set(0);
        let credit = self.end_generation(live).unwrap_or_else(|| {
            self.metrics.pacing().stretched_credit(
                live,
                self.metrics.counted_bytes(),
                self.stretch.get(),
            )
        });
        self.set_owed(0);
        self.set_credit(isize::try_from(credit).unwrap_or(isize::MAX));
        self.refused.set(false);
    }
}

//! The one loop that every kind of wait goes through, and the state it keeps between waits.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::bell::Bell;
use super::clock::{cpu_ns, wall_ns};
use super::collector::{Collector, IdleHint};
use super::machine::{self, HOLDS_NS};
use super::policy::{Policy, ns_of};
use super::site::{History, Kind, SiteId, Sites};
use super::stand_in::StandIn;
use super::start::{self, StartRule, WaitSpan};
use super::stats::SleepStats;
use super::switches::Switches;
use crate::step::{Budget, CollectionPhase, Progress};

/// Policy and statistics of a thread that waits; each thread has its own.
///
/// A sleeper is what an interpreter calls instead of `poll`, `sleep`, `join` or `lock`. The call
/// behaves like the wait that it stands for; the collector works while the event is not there.
///
/// What is there at once (an item in a queue, a free mutex, a thread that has ended) is taken without giving up an interpreter lock,
/// also when others wait for that: see [`Gil`](super::Gil).
#[derive(Debug)]
pub struct Sleeper {
    policy: Policy,
    sites: Sites,
    start: StartRule,
    stats: SleepStats,
    /// Where the last step left the collector: for collectors that do not tell their phase.
    phase: Option<CollectionPhase>,
    /// What was alive after the last cycle that was seen.
    live_bytes: usize,
    /// When the machine was looked at; 0 where that is too long ago to count.
    machine_read_ns: u64,
    interrupt: Option<fn() -> bool>,
    /// Made when somebody could ring it for the first time.
    bell: Option<Bell>,
    /// The wait that was begun without being ended: its site, and when.
    pub(super) half: Option<(SiteId, u64)>,
}

/// What a kind of wait adds to the loop.
pub(super) trait Wait {
    /// What the wait is for.
    type Event;

    /// Whether [`block`](Self::block) returns when its limit has passed.
    const LIMITED: bool = true;

    /// How many steps one wait may make before it blocks.
    const MAX_STEPS: u32 = u32::MAX;

    /// Whether the wait is over when the loop is.
    const WHOLE: bool = true;

    /// Whether [`ready`](Self::ready) costs no system call. Then it is asked first in any case: what is ready at once does not give up the
    /// interpreter lock.
    const LOOKS_FREELY: bool = false;

    /// Whether [`block`](Self::block) hears the bell.
    const HEARS: bool = false;

    /// Whether the wait exists for another's, which was rung for.
    const CALLED: bool = false;

    /// Looks for the event without blocking.
    fn ready(&mut self) -> Option<Self::Event>;

    /// Blocks until the event is there. `None`: the limit has passed, or a signal came, or the bell
    /// was rung, or nothing.
    fn block(&mut self, limit: Option<Duration>, bell: Option<&Bell>) -> Option<Self::Event>;
}

/// With less time left than this a wait blocks at once.
const MIN_STEP_NS: u64 = 2_000;

/// A collector that says so often in one wait that it has work, and then does none, is left alone
/// until the next wait: its word is only a hint.
const MAX_EMPTY_STEPS: u32 = 1_000;

/// How long a wait that was rung for lets the lock alone when it is kept from a cycle under way, or from starting one;
/// twice as long each time, up to a second.
const FIRST_RETRY_NS: u64 = 1_000_000;
const MAX_RETRIES: u32 = 10;

/// The wait that the loop is in.
struct Span {
    site: SiteId,
    history: History,
    begun_ns: u64,
    timeout_ns: Option<u64>,
    /// Nothing but the timeout can end it.
    timer: bool,
    /// The event was looked for at some time.
    asked: bool,
    /// The event has been looked for just now and was not there. A timer needs no look.
    looked: bool,
    /// The CPU clock at the last look that found nothing; `None` where it was not read.
    looked_cpu_ns: Option<u64>,
    started_cycle: bool,
    steps_left: u32,
    empty_steps: u32,
    /// Another thread has asked for it to be a wait that collects.
    rung: bool,
    /// How often it was kept from going on with that.
    retries: u32,
}

impl Span {
    fn elapsed_ns(&self) -> u64 {
        wall_ns().saturating_sub(self.begun_ns)
    }

    /// How long the wait may last in all, by its timeout and by its history.
    fn expected_ns(&self) -> Option<u64> {
        match (self.timeout_ns, self.history.expected_ns()) {
            (Some(timeout_ns), _) if self.timer => Some(timeout_ns),
            (Some(timeout_ns), Some(ns)) => Some(ns.min(timeout_ns)),
            (None, expected) => expected,
            // A timeout is an upper bound only: a short one says something, a long one does not.
            (Some(timeout_ns), None) => Some(timeout_ns).filter(|&ns| ns < SHORT_TIMEOUT_NS),
        }
    }
}

/// Nobody stands in for a thread any more once this is dropped: before the thread takes the lock again, also where its wait panics.
struct EndStandIn<'s>(&'s StandIn);

impl Drop for EndStandIn<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// Whoever was away for less did not sleep: to be woken costs more.
const SLEPT_NS: u64 = 5_000;

/// A timeout below this predicts a short wait even where nothing is known of the wait site.
const SHORT_TIMEOUT_NS: u64 = 1_000_000;

impl Sleeper {
    /// A sleeper that decides by `policy`, without the [`switches`](super::switches) that this build does not have, and those that the
    /// environment turns off (`SLEEPY_SWEEP`, `SLEEPY_MARK`, `SLEEPY_START`, `SLEEPY_PARK` = 0).
    pub fn new(mut policy: Policy) -> Self {
        policy.switches = policy.switches.and_built().and_env();
        Self {
            policy,
            sites: Sites::default(),
            start: StartRule::default(),
            stats: SleepStats::default(),
            phase: None,
            live_bytes: 0,
            machine_read_ns: 0,
            interrupt: None,
            bell: None,
            half: None,
        }
    }

    /// What this sleeper has done so far.
    pub fn stats(&self) -> &SleepStats {
        &self.stats
    }

    /// The policy in force.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// The switches in force.
    pub fn switches(&self) -> Switches {
        self.policy.switches
    }

    /// Makes waits end early, as if their timeout had passed, when `check` says so after a signal
    /// has interrupted them. Without it a wait goes on with what is left of its timeout.
    pub fn interrupt_when(&mut self, check: Option<fn() -> bool>) {
        self.interrupt = check;
    }

    /// A step that the program has to make because it allocates faster than it waits. It is timed
    /// and counted apart from the steps made while waiting, and what it costs is learnt from.
    pub fn forced_step<C: Collector>(&mut self, c: &mut C, budget: Budget) -> Progress {
        let before_ns = cpu_ns();
        let before = (!c.has_work()).then(|| c.hint());
        let progress = c.forced_step(budget);
        let spent_ns = cpu_ns().saturating_sub(before_ns);
        self.stats.forced_steps += 1;
        self.stats.forced_ns += spent_ns;
        if let Some(hint) = before
            && (c.has_work() || progress.finished_cycle)
        {
            self.start.forced(&hint);
        }
        self.learn(c, &progress, spent_ns);
        progress
    }

    /// Waits for the event. `None`: the timeout has passed, or the wait was interrupted for good.
    pub(super) fn wait_on<C: Collector, W: Wait>(
        &mut self,
        c: &mut C,
        site: SiteId,
        wait: &mut W,
        timeout: Option<Duration>,
    ) -> Option<W::Event> {
        self.stats.waits += 1;
        let timeout_ns = timeout.map(ns_of);
        if self.policy.switches == Switches::OFF && timeout_ns != Some(0) {
            return self.wait_plainly(c, wait, timeout_ns);
        }
        let mut span = self.span::<W>(site, timeout_ns, false);
        if timeout_ns == Some(0) || W::LOOKS_FREELY || self.would_collect(c, &span) {
            let event = self.look(wait);
            if event.is_some() || timeout_ns == Some(0) {
                return event;
            }
            (span.asked, span.looked) = (true, true);
        }
        // With nothing to collect the blocking call is the look: a plain wait makes no more.
        self.wait_long(c, wait, span)
    }

    /// A wait that nothing but its timeout ends.
    pub(super) fn wait_for_timeout<C: Collector, W: Wait>(
        &mut self,
        c: &mut C,
        site: SiteId,
        wait: &mut W,
        timeout: Duration,
    ) {
        self.stats.waits += 1;
        let timeout_ns = Some(ns_of(timeout));
        if timeout.is_zero() {
            return;
        }
        if self.policy.switches == Switches::OFF {
            self.wait_plainly(c, wait, timeout_ns);
        } else {
            let span = self.span::<W>(site, timeout_ns, true);
            self.wait_long(c, wait, span);
        }
    }

    fn span<W: Wait>(&self, site: SiteId, timeout_ns: Option<u64>, timer: bool) -> Span {
        Span {
            site,
            history: self.sites.history(site),
            begun_ns: wall_ns(),
            timeout_ns,
            timer,
            asked: timer,
            looked: timer,
            looked_cpu_ns: None,
            started_cycle: false,
            steps_left: W::MAX_STEPS,
            empty_steps: 0,
            rung: W::CALLED,
            retries: 0,
        }
    }

    /// Whether the wait would begin with a step. Asked before the first look, which is not worth its
    /// system call otherwise.
    fn would_collect<C: Collector>(&self, c: &C, span: &Span) -> bool {
        let switches = self.policy.switches;
        switches.collects()
            && !c.contended()
            && (c.has_work() || (switches.starts() && self.start_hint(c, span, 0).is_some()))
    }

    /// The plain wait, with nothing before it and nothing lent. Signals are all that it cares about.
    fn wait_plainly<C: Collector, W: Wait>(
        &self,
        c: &mut C,
        wait: &mut W,
        timeout_ns: Option<u64>,
    ) -> Option<W::Event> {
        if W::LOOKS_FREELY
            && let Some(event) = wait.ready()
        {
            return Some(event);
        }
        // A wait for ever has no use for the time.
        let end_ns = timeout_ns.map(|ns| wall_ns().saturating_add(ns));
        let mut limit_ns = timeout_ns;
        loop {
            let limit = limit_ns.map(Duration::from_nanos);
            let event = c.while_released(|| wait.block(limit, None));
            if event.is_some() || self.is_interrupted() {
                return event;
            }
            limit_ns = end_ns.map(|ns| ns.saturating_sub(wall_ns()));
            if limit_ns == Some(0) {
                return None;
            }
        }
    }

    /// The event was looked for and is not there, or there is nothing to do before blocking.
    fn wait_long<C: Collector, W: Wait>(
        &mut self,
        c: &mut C,
        wait: &mut W,
        mut span: Span,
    ) -> Option<W::Event> {
        self.start.wait_begins();
        self.forget_machine(span.begun_ns);
        let looked = span.looked;
        let event = self.collect_then_block(c, wait, &mut span);
        let waited_ns = span.elapsed_ns();
        // What is ready at once says nothing about the waits that are not: it leaves no history.
        if W::WHOLE && (looked || waited_ns >= SLEPT_NS) {
            self.observe(span.site, waited_ns);
        }
        event
    }

    /// Notes how long a wait has lasted.
    pub(super) fn observe(&mut self, site: SiteId, waited_ns: u64) {
        self.sites.observe(site, waited_ns);
    }

    /// The loop: a step, a look, a step, a look …; then lend and block.
    ///
    /// No step runs before the event has been looked for and was not there: this is what keeps
    /// "after the event no step runs".
    fn collect_then_block<C: Collector, W: Wait>(
        &mut self,
        c: &mut C,
        wait: &mut W,
        span: &mut Span,
    ) -> Option<W::Event> {
        loop {
            let elapsed_ns = span.elapsed_ns();
            let left_ns = match span.timeout_ns {
                // A timeout that has passed before the event was looked for at all must not hide it.
                Some(timeout_ns) if elapsed_ns >= timeout_ns => {
                    return match span.asked {
                        true => None,
                        false => self.look(wait),
                    };
                }
                Some(timeout_ns) => Some(timeout_ns - elapsed_ns),
                None => None,
            };
            let Some(budget) = self.next_budget(c, span, elapsed_ns, left_ns) else {
                let limit_ns = match W::LIMITED {
                    true => self.look_again_in(c, span, elapsed_ns, left_ns),
                    false => left_ns,
                };
                let limit = limit_ns.map(Duration::from_nanos);
                let event = self.blocked(c, wait, limit, span);
                if event.is_some() || self.is_interrupted() {
                    return event;
                }
                // Blocking was a look, but an old one by the time that a step would begin.
                span.asked = true;
                span.looked = span.timer;
                span.looked_cpu_ns = None;
                continue;
            };

            if !span.looked {
                // Work that another thread has left since the wait began, or a cycle worth starting now.
                let event = self.look(wait);
                if event.is_some() {
                    return event;
                }
                (span.asked, span.looked) = (true, true);
            }
            let before_ns = span.looked_cpu_ns.unwrap_or_else(cpu_ns);
            let progress = c.step(budget);
            self.stats.steps += 1;
            span.steps_left -= 1;
            let event = self.look(wait);
            let spent_ns = cpu_ns().saturating_sub(before_ns);
            span.looked_cpu_ns = Some(before_ns + spent_ns);

            self.stats.collected_ns += spent_ns;
            self.stats.freed_bytes += progress.freed_bytes as u64;
            self.stats.delegated_bytes += progress.delegated_bytes as u64;
            span.empty_steps = match is_empty(&progress) {
                true => span.empty_steps + 1,
                false => 0,
            };
            self.learn(c, &progress, spent_ns);
            if event.is_some() {
                self.stats.step_overrun.record(spent_ns);
                return event;
            }
            if let Some(timeout_ns) = span.timeout_ns {
                let late_ns = span.elapsed_ns().saturating_sub(timeout_ns);
                if late_ns > 0 {
                    self.stats.step_overrun.record(late_ns.min(spent_ns));
                    return None;
                }
            }
        }
    }

    /// The budget of the next step, or `None` where it is time to block. Starts a cycle where one is
    /// worth starting.
    fn next_budget<C: Collector>(
        &mut self,
        c: &mut C,
        span: &mut Span,
        elapsed_ns: u64,
        left_ns: Option<u64>,
    ) -> Option<Budget> {
        let switches = self.policy.switches;
        let spent = span.steps_left == 0 || span.empty_steps >= MAX_EMPTY_STEPS;
        let too_late = left_ns.is_some_and(|ns| ns < MIN_STEP_NS);
        if !switches.collects() || spent || too_late || c.contended() {
            return None;
        }
        let works = c.has_work() || switches.starts() && self.try_start(c, span, elapsed_ns);
        if !works {
            return None;
        }
        if switches.park && self.policy.delegate_sweep && c.can_delegate() {
            return None;
        }
        let allowed = match c.phase().or(self.phase) {
            Some(CollectionPhase::Marking | CollectionPhase::Marked) => switches.mark,
            Some(CollectionPhase::Sweeping) => switches.sweep,
            Some(CollectionPhase::Sleeping) | None => true,
        };
        if !allowed {
            return None;
        }
        let step_ns = match span.timer {
            true => ns_of(self.policy.max_step),
            false => span.history.step_ns(&self.policy, elapsed_ns),
        };
        let step_ns = left_ns.map_or(step_ns, |ns| ns.min(step_ns));
        Some(Budget::Time(Duration::from_nanos(step_ns)))
    }

    /// What is known at this wait, if it says that a cycle is worth starting.
    fn start_hint<C: Collector>(
        &self,
        c: &C,
        span: &Span,
        elapsed_ns: u64,
    ) -> Option<(start::Kind, IdleHint)> {
        let wait = WaitSpan {
            elapsed_ns,
            expected_ns: span.expected_ns(),
            started_cycle: span.started_cycle,
        };
        let hint = IdleHint {
            expected_wait: wait
                .expected_ns
                .map(|ns| Duration::from_nanos(ns.saturating_sub(elapsed_ns))),
            ..c.hint()
        };
        let kind = self.start.starts(&self.policy, &hint, wait)?;
        c.wants_cycle(&hint).then_some((kind, hint))
    }

    fn try_start<C: Collector>(&mut self, c: &mut C, span: &mut Span, elapsed_ns: u64) -> bool {
        if self.start_hint(c, span, elapsed_ns).is_none() {
            return false;
        }
        self.look_at_machine(span.begun_ns + elapsed_ns);
        let Some((kind, hint)) = self.start_hint(c, span, elapsed_ns) else {
            self.stats.starts_braked += 1;
            return false;
        };
        // What the start costs counts as part of the first step.
        span.looked_cpu_ns.get_or_insert_with(cpu_ns);
        c.keep_old(self.start.started(kind, &hint));
        match kind {
            start::Kind::Young => c.start_cycle(),
            // With one generation, too, the collector chooses itself what its cycles are.
            start::Kind::Full if !hint.young_next => c.start_cycle(),
            start::Kind::Full => c.start_full_cycle(),
        }
        self.stats.cycles_started += 1;
        span.started_cycle = true;
        self.phase = None;
        c.has_work()
    }

    /// Lets prices be those of the policy where they rest on an old look at the machine: a busy machine may have come to rest, which
    /// is found out where a cycle would start.
    fn forget_machine(&mut self, now_ns: u64) {
        if self.machine_read_ns != 0 && now_ns.saturating_sub(self.machine_read_ns) >= HOLDS_NS {
            self.machine_read_ns = 0;
            self.start.set_price_percent(100);
        }
    }

    /// Lets prices be what the machine makes of them, where it was not looked at lately.
    fn look_at_machine(&mut self, now_ns: u64) {
        let (busy, short) = (
            self.policy.busy_price_percent,
            self.policy.short_memory_price_percent,
        );
        if self.machine_read_ns == 0 && (busy, short) != (100, 100) {
            self.machine_read_ns = now_ns;
            let percent = machine::read(now_ns).price_percent(&self.policy);
            self.start.set_price_percent(percent);
        }
    }

    /// How long to block: as long as there is time, or until the wait counts as a long one if a
    /// cycle is worth starting then, or for a while if it was rung for a cycle that it can't start or
    /// go on with because the lock is wanted.
    fn look_again_in<C: Collector>(
        &self,
        c: &C,
        span: &mut Span,
        elapsed_ns: u64,
        left_ns: Option<u64>,
    ) -> Option<u64> {
        let starts = self.policy.switches.starts();
        let is_wanted =
            || c.has_work() || starts && self.start.is_worth_a_long_wait(&self.policy, &c.hint());
        if span.rung && c.contended() && is_wanted() {
            let again_ns = FIRST_RETRY_NS << span.retries;
            span.retries = (span.retries + 1).min(MAX_RETRIES);
            return Some(left_ns.map_or(again_ns, |ns| ns.min(again_ns)));
        }
        if !starts || c.contended() || c.has_work() {
            return left_ns;
        }
        let hint = c.hint();
        let Some(at_ns) = self.start.look_again_ns(&self.policy, &hint, elapsed_ns) else {
            return left_ns;
        };
        if !c.wants_cycle(&hint) {
            return left_ns;
        }
        let again_ns = at_ns - elapsed_ns;
        Some(left_ns.map_or(again_ns, |ns| ns.min(again_ns)))
    }

    /// Blocks, with the heap lent where the switches allow it, and with the bell within hearing.
    fn blocked<C: Collector, W: Wait>(
        &mut self,
        c: &mut C,
        wait: &mut W,
        limit: Option<Duration>,
        span: &mut Span,
    ) -> Option<W::Event> {
        let switches = self.policy.switches;
        let hangs = switches.collects() && !W::CALLED;
        let bell = match hangs && W::HEARS {
            true => self.hang_bell(c),
            false => None,
        };
        let stand_in = match hangs && !W::HEARS && W::WHOLE {
            true => self.hang_stand_in(c),
            false => None,
        };
        // The lock may never be given up: a collector of somebody's own may panic before.
        let end = stand_in.as_deref().map(EndStandIn);
        let block = || {
            let _end = stand_in.as_deref().map(EndStandIn);
            wait.block(limit, bell.as_ref())
        };
        let event = if switches.park {
            self.stats.parks += 1;
            // Besides the collector's heap that of the thread, for programs that allocate everything in it.
            c.while_lent(|| sleepy_alloc::idle(block))
        } else {
            c.while_released(block)
        };
        drop(end);
        if let (Some(bell), Some(bells)) = (&bell, c.bells())
            && bells.take_down(bell, event.is_none())
        {
            self.stats.rings += 1;
            span.rung = true;
        }
        if let Some(stand_in) = &stand_in {
            self.take_down_stand_in(c, stand_in);
        }
        event
    }

    /// Hangs a stand-in where it can be called, if waits collect and it ever can.
    pub(super) fn hang_stand_in<C: Collector>(&self, c: &C) -> Option<Arc<StandIn>> {
        let bells = c.bells().filter(|_| self.policy.switches.collects())?;
        bells.hang_stand_in(&self.policy)
    }

    /// The thread is back, and nobody stands in for it any more: counts what was done in its stead.
    pub(super) fn take_down_stand_in<C: Collector>(&mut self, c: &C, stand_in: &Arc<StandIn>) {
        if c.bells()
            .is_some_and(|bells| bells.take_down_stand_in(stand_in))
        {
            self.stats.rings += 1;
            if let Some(done) = stand_in.take_stats() {
                self.stats.add_work(&done);
            }
        }
    }

    /// Collects in the stead of a thread that sleeps, until that is back or nothing is left to do.
    pub(super) fn stand_in<C: Collector>(&mut self, c: &mut C, mut stand_in: &StandIn) {
        let site = SiteId::new(Kind::StandIn, 0);
        self.wait_on(c, site, &mut stand_in, None);
    }

    /// The statistics, which begin anew.
    pub(super) fn take_stats(&mut self) -> SleepStats {
        std::mem::take(&mut self.stats)
    }

    /// Hangs this thread's bell where it can be rung, if it ever can.
    fn hang_bell<C: Collector>(&mut self, c: &C) -> Option<Bell> {
        let bells = c.bells()?;
        if !self.bell.as_ref().is_some_and(Bell::is_ours) {
            self.bell = Bell::new();
        }
        let bell = self.bell.clone()?;
        bells.hang(&bell);
        Some(bell)
    }

    fn look<W: Wait>(&mut self, wait: &mut W) -> Option<W::Event> {
        self.stats.probes += 1;
        wait.ready()
    }

    fn learn<C: Collector>(&mut self, c: &C, progress: &Progress, spent_ns: u64) {
        self.phase = Some(progress.phase);
        let live_bytes = match progress.finished_cycle {
            true => c.hint().live_bytes,
            false => 0,
        };
        if progress.finished_cycle {
            self.live_bytes = live_bytes;
        }
        self.start
            .stepped(&self.policy, progress, spent_ns, live_bytes);
    }

    /// Whether a signal can end a wait.
    pub(super) fn has_interrupt(&self) -> bool {
        self.interrupt.is_some()
    }

    fn is_interrupted(&self) -> bool {
        self.interrupt.is_some_and(|check| check())
    }
}

/// The state of the policy, for people: what is allowed, what the last cycle has cost, what must be allocated for the next one, and what
/// is known of each place that waits.
///
/// ```
/// use sleepy_gc::idle::{Policy, Sleeper};
/// println!("{}", Sleeper::new(Policy::default()));
/// ```
impl fmt::Display for Sleeper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Switches {
            sweep,
            mark,
            start,
            park,
        } = self.policy.switches;
        writeln!(
            f,
            "may sweep {sweep}, mark {mark}, start {start}, park {park}"
        )?;
        writeln!(f, "{}", self.start)?;
        for (name, kind) in [("full", start::Kind::Full), ("young", start::Kind::Young)] {
            let needed = self
                .start
                .needed_bytes(&self.policy, kind, self.live_bytes)
                .map(|bytes| bytes / 1024);
            writeln!(
                f,
                "a {name} cycle starts after {} KiB, in a long wait after {} KiB",
                needed[0], needed[1]
            )?;
        }
        write!(f, "{}", self.sites)
    }
}

fn is_empty(progress: &Progress) -> bool {
    progress.work_bytes == 0 && progress.freed_bytes == 0 && !progress.finished_cycle
}

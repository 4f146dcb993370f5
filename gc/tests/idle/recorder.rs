//! A collector that records what a wait asks of it.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use sleepy_gc::idle::{Bells, Collector, Gil, GilGuard, IdleHint, Policy};
use sleepy_gc::{Budget, CollectionPhase, Progress};

/// What a wait did with the collector, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    Start,
    Step,
    Lend,
    TakeBack,
}

/// The usual policy, whatever else the machine is doing: braked it would leave cycles for later.
pub fn policy() -> Policy {
    Policy {
        busy_price_percent: 100,
        short_memory_price_percent: 100,
        ..Policy::default()
    }
}

type Hook = Box<dyn FnMut() + Send>;

/// A collector whose cycle takes a given number of steps.
#[derive(Default)]
pub struct Recorder {
    pub calls: Vec<Call>,
    pub steps_left: u32,
    /// Steps of each cycle that is started; 0: it never wants one.
    pub cycle_steps: u32,
    pub allocated_bytes: usize,
    pub live_bytes: usize,
    pub freed_a_step: usize,
    pub contended: bool,
    /// Set: another thread has done the work.
    pub done_by_another: Arc<AtomicBool>,
    /// Called inside each step with the number of steps made before it.
    pub in_step: Option<Box<dyn FnMut(u32) + Send>>,
    /// Called once the heap is lent, before the wait blocks.
    pub when_lent: Option<Hook>,
    pub steps_made: u32,
    pub budgets: Vec<Duration>,
    pub phase: Option<CollectionPhase>,
}

impl Recorder {
    /// A collector in the middle of a cycle with this many steps to go.
    pub fn working(steps: u32) -> Self {
        Self {
            steps_left: steps,
            freed_a_step: 1 << 10,
            ..Self::default()
        }
    }

    pub fn count(&self, call: Call) -> usize {
        self.calls.iter().filter(|&&c| c == call).count()
    }

    pub fn calls(&self) -> Vec<Call> {
        self.calls.clone()
    }

    fn record(&mut self, call: Call) {
        self.calls.push(call);
    }
}

impl Collector for Recorder {
    fn has_work(&self) -> bool {
        self.steps_left > 0 && !self.done_by_another.load(Ordering::Relaxed)
    }

    fn wants_cycle(&self, _hint: &IdleHint) -> bool {
        self.cycle_steps > 0
    }

    fn start_cycle(&mut self) {
        self.record(Call::Start);
        self.steps_left = self.cycle_steps;
    }

    fn step(&mut self, budget: Budget) -> Progress {
        self.record(Call::Step);
        if let Budget::Time(time) = budget {
            self.budgets.push(time);
        }
        let made = self.steps_made;
        self.steps_made += 1;
        if let Some(hook) = &mut self.in_step {
            hook(made);
        }
        self.steps_left = self.steps_left.saturating_sub(1);
        let finished = self.steps_left == 0;
        if finished {
            self.allocated_bytes = 0;
        }
        let phase = match finished {
            true => CollectionPhase::Sleeping,
            false => CollectionPhase::Marking,
        };
        Progress::new(phase, 1 << 10, self.freed_a_step, finished)
    }

    fn contended(&self) -> bool {
        self.contended
    }

    fn while_lent<T>(&mut self, block: impl FnOnce() -> T) -> T {
        self.lend();
        let value = block();
        self.record(Call::TakeBack);
        value
    }

    fn lend(&mut self) {
        self.record(Call::Lend);
        if let Some(hook) = &mut self.when_lent {
            hook();
        }
    }

    fn take_back(&mut self) {
        self.record(Call::TakeBack);
    }

    fn hint(&self) -> IdleHint {
        IdleHint {
            allocated_bytes_since_cycle: self.allocated_bytes,
            live_bytes: self.live_bytes,
            ..IdleHint::default()
        }
    }

    fn phase(&self) -> Option<CollectionPhase> {
        self.phase
    }
}

/// A recorder as a wait gets it: by itself, or behind an interpreter lock.
pub enum Subject {
    Plain(Recorder),
    Locked(GilGuard<'static, Recorder>),
}

impl Subject {
    /// Puts a recorder behind a lock of its own, and takes that.
    pub fn locked(recorder: Recorder) -> Self {
        // Threads of a test may look at the lock after the test.
        let gil: &'static Gil<Recorder> = Box::leak(Box::new(Gil::new(recorder)));
        Self::Locked(gil.lock())
    }
}

impl Deref for Subject {
    type Target = Recorder;

    fn deref(&self) -> &Recorder {
        match self {
            Self::Plain(recorder) => recorder,
            Self::Locked(guard) => guard,
        }
    }
}

impl DerefMut for Subject {
    fn deref_mut(&mut self) -> &mut Recorder {
        match self {
            Self::Plain(recorder) => recorder,
            Self::Locked(guard) => guard,
        }
    }
}

macro_rules! either {
    ($subject:expr, $it:ident => $call:expr) => {
        match $subject {
            Subject::Plain($it) => $call,
            Subject::Locked($it) => $call,
        }
    };
}

impl Collector for Subject {
    fn has_work(&self) -> bool {
        either!(self, it => Collector::has_work(it))
    }

    fn wants_cycle(&self, hint: &IdleHint) -> bool {
        either!(self, it => Collector::wants_cycle(it, hint))
    }

    fn start_cycle(&mut self) {
        either!(self, it => Collector::start_cycle(it));
    }

    fn step(&mut self, budget: Budget) -> Progress {
        either!(self, it => Collector::step(it, budget))
    }

    fn contended(&self) -> bool {
        either!(self, it => Collector::contended(it))
    }

    fn while_lent<T>(&mut self, block: impl FnOnce() -> T) -> T {
        either!(self, it => Collector::while_lent(it, block))
    }

    fn while_released<T>(&mut self, block: impl FnOnce() -> T) -> T {
        either!(self, it => Collector::while_released(it, block))
    }

    fn lend(&mut self) {
        either!(self, it => Collector::lend(it));
    }

    fn take_back(&mut self) {
        either!(self, it => Collector::take_back(it));
    }

    unsafe fn give_up(&mut self) {
        // SAFETY: the caller's contract.
        unsafe { either!(self, it => Collector::give_up(it)) };
    }

    unsafe fn retake(&mut self) {
        // SAFETY: the caller's contract.
        unsafe { either!(self, it => Collector::retake(it)) };
    }

    fn bells(&self) -> Option<&Bells> {
        either!(self, it => Collector::bells(it))
    }

    fn hint(&self) -> IdleHint {
        either!(self, it => Collector::hint(it))
    }

    fn phase(&self) -> Option<CollectionPhase> {
        either!(self, it => Collector::phase(it))
    }
}

/// Keeps the thread busy, as a step does.
pub fn spin(time: Duration) {
    let begun = Instant::now();
    while begun.elapsed() < time {
        std::hint::spin_loop();
    }
}

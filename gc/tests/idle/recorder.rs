//! A collector that records what a wait asks of it.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant};

use sleepy_gc::idle::{Collector, IdleHint, Policy};
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

type Hook = Box<dyn FnMut()>;

/// A collector whose cycle takes a given number of steps.
#[derive(Default)]
pub struct Recorder {
    pub calls: Rc<RefCell<Vec<Call>>>,
    pub steps_left: u32,
    /// Steps of each cycle that is started; 0: it never wants one.
    pub cycle_steps: u32,
    pub allocated_bytes: usize,
    pub live_bytes: usize,
    pub freed_a_step: usize,
    pub contended: bool,
    /// Set: another thread has done the work.
    pub done_by_another: Rc<Cell<bool>>,
    /// Called inside each step with the number of steps made before it.
    pub in_step: Option<Box<dyn FnMut(u32)>>,
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
        self.calls.borrow().iter().filter(|&&c| c == call).count()
    }

    pub fn calls(&self) -> Vec<Call> {
        self.calls.borrow().clone()
    }

    fn record(&self, call: Call) {
        self.calls.borrow_mut().push(call);
    }
}

impl Collector for Recorder {
    fn has_work(&self) -> bool {
        self.steps_left > 0 && !self.done_by_another.get()
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
        self.record(Call::Lend);
        if let Some(hook) = &mut self.when_lent {
            hook();
        }
        let value = block();
        self.record(Call::TakeBack);
        value
    }

    fn lend(&mut self) {
        self.record(Call::Lend);
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

/// Keeps the thread busy, as a step does.
pub fn spin(time: Duration) {
    let begun = Instant::now();
    while begun.elapsed() < time {
        std::hint::spin_loop();
    }
}

//! The interpreter lock without its data: who has it, who wants it, who gets it next.
//!
//! Threads that want the lock stand in a queue, and the first of them is the *heir*. The heir alone competes for the lock: it spins
//! a little, then sleeps by itself; all others sleep in the queue and are not woken before they are the heir. So there is one
//! spinner at a time, an unlock wakes one thread at most, and the order of the queue is kept.
//!
//! A running thread may take a free lock although an heir is on its way: to hand the lock to a thread that has yet to be woken would
//! leave it unused for as long as that takes, at each change of hands. But no heir is overtaken more than [`OVERTAKES`] times:
//! then the lock is not freed but *handed* to it. So a thread with `n` threads before it in the queue has the lock after at most
//! `(n + 1) * (OVERTAKES + 1)` changes of hands.
//!
//! # The word
//!
//! | waiters | heir | handed | held | meaning |
//! |---|---|---|---|---|
//! | 0 | 0 | 0 | 0 | free |
//! | 0 | 0 | 0 | 1 | held, and nobody wants it |
//! | n | 1 | 0 | 1 | held; the heir spins or sleeps; the other n - 1 sleep in the queue |
//! | n | 1 | 0 | 0 | free, and the heir on its way to it; others may overtake |
//! | n | 1 | 1 | 1 | handed: the heir has the lock and has yet to notice |
//! | n | 0 | 0 | 1 | held; all n sleep in the queue, or are about to: the unlock makes the first of them the heir |
//! | n | 0 | 0 | 0 | free; all n are about to sleep, and will look once more: one of them makes itself the heir |
//!
//! In a fork's child nobody waits: whoever finds others there first makes it so (`forget_dead`). What is `handed` there is free. So a child
//! of one thread goes on. One that starts threads which wait for locks is beyond what `parking_lot` can do: it takes the parent's threads for
//! asleep, whose memory is used again.
//!
//! Who may change what: the holder clears `held` and sets `handed`; the heir clears `heir` and `handed` and leaves the waiters;
//! whoever arrives adds itself to the waiters, and the first makes itself the heir; whoever finds the lock free sets `held`.

use super::sync::{AtomicU32, Berth, OVERTAKES, Ordering, Process, SPINS, may_spin, pause};

const HELD: u32 = 1;
const HEIR: u32 = 2;
const HANDED: u32 = 4;
/// One thread that wants the lock; they are counted in the bits from here on.
const WAITER: u32 = 8;

/// The lock.
pub(super) struct RawGil {
    /// See the table. Whoever takes the lock does so with acquire, which pairs with the release by which the last holder gave it up:
    /// it sees all that was done under the lock. The changes that others make between are read-modify-writes and pass that on.
    word: AtomicU32,
    /// How often the present heir was overtaken. Written by the holder only, hence relaxed: the lock orders it.
    overtaken: AtomicU32,
    /// Where all sleep but the heir, first in first out.
    queue: Berth,
    /// Where the heir sleeps.
    heir: Berth,
    /// Whose threads are counted.
    process: Process,
}

impl RawGil {
    pub(super) fn new() -> Self {
        Self {
            word: AtomicU32::new(0),
            overtaken: AtomicU32::new(0),
            queue: Berth::new(),
            heir: Berth::new(),
            process: Process::new(),
        }
    }

    /// Whether somebody waits for the lock: one load. Relaxed, as it is a hint; who acts on it does so through the lock.
    #[inline]
    pub(super) fn contended(&self) -> bool {
        self.word.load(Ordering::Relaxed) >= WAITER
    }

    /// How many wait.
    #[cfg(test)]
    pub(super) fn waiters(&self) -> u32 {
        self.word.load(Ordering::Relaxed) / WAITER
    }

    /// Takes the lock if it is free and nobody wants it.
    #[inline]
    pub(super) fn try_lock(&self) -> bool {
        self.word
            .compare_exchange(0, HELD, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
    }

    /// Waits for the lock and takes it.
    #[inline]
    pub(super) fn lock(&self) {
        if !self.try_lock() {
            self.lock_slow();
        }
    }

    /// In a fork's child, forgets those who waited: they are not there. Called before anything that depends on them.
    ///
    /// All but the fast ways wait for it, and those fail while somebody is counted.
    fn forget_dead(&self) {
        self.process.once_in_each(|| {
            let word = self.word.load(Ordering::Relaxed);
            let stays = if word & HANDED == 0 { HELD } else { 0 };
            self.word.fetch_and(stays, Ordering::Relaxed);
            self.overtaken.store(0, Ordering::Relaxed);
        });
    }

    #[cold]
    fn lock_slow(&self) {
        self.forget_dead();
        let mut word = self.word.load(Ordering::Relaxed);
        loop {
            let next = match word {
                _ if word & HELD == 0 => word | HELD,
                _ if word < WAITER => (word + WAITER) | HEIR,
                _ => word + WAITER,
            };
            match self
                .word
                .compare_exchange_weak(word, next, Ordering::Acquire, Ordering::Relaxed)
            {
                Ok(_) => break,
                Err(now) => word = now,
            }
        }
        if word & HELD == 0 {
            if word >= WAITER {
                let overtaken = self.overtaken.load(Ordering::Relaxed);
                self.overtaken.store(overtaken + 1, Ordering::Relaxed);
            }
            return;
        }
        if word >= WAITER {
            self.queue_up();
        }
        self.inherit();
    }

    /// Sleeps in the queue until this thread is the heir.
    fn queue_up(&self) {
        // Woken: whoever did that has made it the heir.
        while !self
            .queue
            .sleep_if(|| self.word.load(Ordering::Relaxed) & (HELD | HEIR) != 0)
        {
            // The lock was given up while nobody slept yet.
            let mut word = self.word.load(Ordering::Relaxed);
            while word & (HELD | HEIR) == 0 {
                // Relaxed: it takes nothing yet.
                match self.word.compare_exchange_weak(
                    word,
                    word | HEIR,
                    Ordering::Relaxed,
                    Ordering::Relaxed,
                ) {
                    Ok(_) => return,
                    Err(now) => word = now,
                }
            }
        }
    }

    /// Waits as the heir, and takes the lock.
    fn inherit(&self) {
        let mut spins = if may_spin() { SPINS } else { 0 };
        loop {
            let mut word = self.word.load(Ordering::Relaxed);
            while word & (HELD | HANDED) != HELD {
                let next = (word - WAITER) & !(HEIR | HANDED) | HELD;
                match self.word.compare_exchange_weak(
                    word,
                    next,
                    Ordering::Acquire,
                    Ordering::Relaxed,
                ) {
                    Ok(_) => {
                        self.overtaken.store(0, Ordering::Relaxed);
                        return;
                    }
                    Err(now) => word = now,
                }
            }
            if spins > 0 {
                spins -= 1;
                pause();
                continue;
            }
            self.heir
                .sleep_if(|| self.word.load(Ordering::Relaxed) & (HELD | HANDED) == HELD);
        }
    }

    /// Gives the lock up; where it is `fair`, to the heir, so that nobody overtakes it. Only the holder may call this.
    #[inline]
    pub(super) fn unlock(&self, fair: bool) {
        let freed = self
            .word
            .compare_exchange(HELD, 0, Ordering::Release, Ordering::Relaxed);
        if freed.is_err() {
            self.unlock_slow(fair);
        }
    }

    #[cold]
    fn unlock_slow(&self, fair: bool) {
        self.forget_dead();
        let hands = fair || self.overtaken.load(Ordering::Relaxed) >= OVERTAKES;
        let mut word = self.word.load(Ordering::Relaxed);
        loop {
            // While the lock is held, and not handed, waiters only become more, and only the very first makes itself the heir.
            if word & HEIR != 0 {
                let change = if hands { HANDED } else { HELD };
                self.word.fetch_xor(change, Ordering::Release);
                self.heir.wake_one(|_| ());
                return;
            }
            if word >= WAITER {
                self.queue.wake_one(|is_there| {
                    let change = match is_there {
                        true if hands => HEIR | HANDED,
                        true => HEIR | HELD,
                        false => HELD,
                    };
                    self.word.fetch_xor(change, Ordering::Release);
                });
                return;
            }
            match self
                .word
                .compare_exchange_weak(word, 0, Ordering::Release, Ordering::Relaxed)
            {
                Ok(_) => return,
                Err(now) => word = now,
            }
        }
    }
}

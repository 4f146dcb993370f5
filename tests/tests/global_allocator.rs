//! An ordinary program on `SleepyAlloc`: collections, text, threads, channels, a pool of workers, thread locals; its
//! memory is counted and comes back.

use sleepy_alloc::{SleepyAlloc, idle, stats};
use std::cell::RefCell;
use std::collections::{BTreeMap, BinaryHeap, HashMap, VecDeque};
use std::fmt::Write as _;
use std::sync::mpsc::{Receiver, Sender, channel, sync_channel};
use std::sync::{Arc, Barrier, Mutex, MutexGuard, PoisonError, RwLock};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

#[global_allocator]
static ALLOCATOR: SleepyAlloc = SleepyAlloc;

const MIB: u64 = 1 << 20;

/// The tests look at figures of the whole process, so they run one by one.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits for what has to come sometime.
fn eventually(mut done: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + Duration::from_secs(60);
    while Instant::now() < deadline {
        if done() {
            return true;
        }
        idle(|| thread::sleep(Duration::from_millis(5)));
    }
    false
}

type Job = Box<dyn FnOnce() + Send>;

/// A pool of workers that take jobs from one queue and wait with their heaps lent.
struct Pool {
    jobs: Option<Sender<Job>>,
    workers: Vec<JoinHandle<()>>,
}

impl Pool {
    fn new(count: usize) -> Self {
        let (jobs, queue) = channel::<Job>();
        let queue = Arc::new(Mutex::new(queue));
        let worker = |queue: Arc<Mutex<Receiver<Job>>>| {
            move || {
                while let Ok(job) = idle(|| queue.lock().unwrap().recv()) {
                    job();
                }
            }
        };
        Self {
            jobs: Some(jobs),
            workers: (0..count)
                .map(|_| thread::spawn(worker(queue.clone())))
                .collect(),
        }
    }

    fn run<T: Send + 'static>(&self, job: impl FnOnce() -> T + Send + 'static) -> Receiver<T> {
        let (send, receive) = sync_channel(1);
        let job: Job = Box::new(move || drop(send.send(job())));
        self.jobs.as_ref().unwrap().send(job).unwrap();
        receive
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        drop(self.jobs.take());
        for worker in self.workers.drain(..) {
            worker.join().unwrap();
        }
    }
}

#[test]
fn collections_hold_what_is_put_into_them() {
    let _alone = alone();
    let before = stats().live_bytes;
    let mut by_name: HashMap<String, Vec<usize>> = HashMap::new();
    let mut sorted: BTreeMap<usize, String> = BTreeMap::new();
    let mut heap = BinaryHeap::new();
    let mut queue = VecDeque::new();
    for number in 0..50_000usize {
        by_name
            .entry(format!("key {}", number % 997))
            .or_default()
            .push(number);
        sorted.insert(number.reverse_bits() >> 40, number.to_string());
        heap.push(number * 7919 % 50_000);
        queue.push_back(vec![number as u8; number % 200]);
        if number % 3 == 0 {
            queue.pop_front();
        }
    }
    assert!(stats().live_bytes > before + 4 * MIB);
    assert_eq!(by_name.len(), 997);
    for (name, numbers) in &by_name {
        let rest: usize = name["key ".len()..].parse().unwrap();
        assert!(numbers.iter().all(|number| number % 997 == rest));
    }
    assert!(sorted.keys().is_sorted());
    assert!(heap.into_sorted_vec().into_iter().eq(0..50_000));
    assert!(
        queue
            .iter()
            .all(|bytes| bytes.iter().all(|byte| *byte == bytes[0]))
    );
    drop((by_name, sorted, queue));
    // The test harness may have made something of its own meanwhile.
    assert!(stats().live_bytes < before + MIB / 4);
}

#[test]
fn text_grows_and_shrinks_in_place_and_elsewhere() {
    let _alone = alone();
    let mut text = String::new();
    let mut longest = 0;
    for round in 0..40usize {
        for word in 0..1000 * (round % 9) {
            write!(text, "{word:>w$} ", w = round).unwrap();
        }
        longest = longest.max(text.len());
        assert_eq!(text.split_whitespace().count(), 1000 * (round % 9));
        text.clear();
        if round % 4 == 3 {
            text.shrink_to(100);
        }
    }
    assert!(longest > 100_000);
    let lines: Vec<String> = (0..5000).map(|nth| "x".repeat(nth % 300)).collect();
    let joined = lines.join("\n");
    assert!(
        joined
            .lines()
            .map(str::len)
            .eq(lines.iter().map(String::len))
    );
    assert!(vec![0u64; 3 << 20].iter().all(|&word| word == 0));
}

#[test]
fn a_pool_of_workers_shares_its_results() {
    let _alone = alone();
    let pool = Pool::new(4);
    let dictionary = Arc::new(RwLock::new(HashMap::<u64, String>::new()));
    for round in 0..20u64 {
        let results: Vec<_> = (0..50u64)
            .map(|job| {
                let dictionary = dictionary.clone();
                pool.run(move || {
                    let words: Vec<String> = (0..200).map(|nth| format!("{job}:{nth}")).collect();
                    let text = words.concat();
                    dictionary
                        .write()
                        .unwrap()
                        .insert(round * 50 + job, text.clone());
                    (words, text)
                })
            })
            .collect();
        for result in results {
            let (words, text) = result.recv().unwrap();
            assert_eq!(words.concat(), text);
        }
        dictionary
            .write()
            .unwrap()
            .retain(|key, _| key % 10 == round % 10);
    }
    let dictionary = dictionary.read().unwrap();
    assert!(dictionary.values().all(|text| text.contains(":199")));
}

#[test]
fn panics_unwind_through_what_was_allocated() {
    let _alone = alone();
    let quiet = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| ()));
    let before = stats().live_bytes;
    for round in 0..200usize {
        let result = thread::spawn(move || {
            let held: Vec<Vec<usize>> = (0..50).map(|nth| vec![round; nth]).collect();
            idle(|| assert!(held.len() < 50, "round {round}"));
        })
        .join();
        assert!(result.is_err());
    }
    std::panic::set_hook(quiet);
    assert!(stats().live_bytes < before + MIB / 4);
}

#[test]
fn threads_end_with_values_of_their_own() {
    let _alone = alone();
    thread_local! {
        static LOG: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
        static CACHE: RefCell<HashMap<usize, Arc<String>>> = RefCell::new(HashMap::new());
    }
    let before = stats();
    let shared = Arc::new("shared".repeat(100));
    for _ in 0..20 {
        let start = Arc::new(Barrier::new(8));
        let threads: Vec<_> = (0..8usize)
            .map(|nth| {
                let (start, shared) = (start.clone(), shared.clone());
                thread::spawn(move || {
                    start.wait();
                    CACHE.with_borrow_mut(|cache| {
                        cache.extend((0..500).map(|key| (key * nth, shared.clone())));
                    });
                    LOG.with_borrow_mut(|log| {
                        log.extend((0..500).map(|line| format!("{nth}: {line}")));
                        log.len()
                    })
                })
            })
            .collect();
        for thread in threads {
            assert_eq!(thread.join().unwrap(), 500);
        }
    }
    assert_eq!(Arc::strong_count(&shared), 1);
    let after = stats();
    assert!(after.live_bytes < before.live_bytes + MIB / 4);
    assert!(after.abandoned_pages < before.abandoned_pages + 20);
}

#[test]
fn what_a_busy_hour_took_comes_back_in_a_quiet_minute() {
    let _alone = alone();
    let before = stats();
    let pool = Pool::new(3);
    let results: Vec<_> = (0..60usize)
        .map(|job| {
            pool.run(move || {
                let mut table = HashMap::new();
                for key in 0..10_000 {
                    table.insert(key, format!("{job}/{key}"));
                }
                table
            })
        })
        .collect();
    let tables: Vec<_> = results
        .into_iter()
        .map(|result| result.recv().unwrap())
        .collect();
    let busy = stats();
    assert!(busy.live_bytes > before.live_bytes + 20 * MIB);
    let mut tables = tables;
    for table in &mut tables {
        table.retain(|key, _| key % 20 == 0);
        table.shrink_to_fit();
    }
    // Three workers wait, with their heaps lent; so does this thread, now and then.
    assert!(
        eventually(|| stats().committed_bytes < before.committed_bytes + 8 * MIB),
        "{} MiB are committed",
        stats().committed_bytes / MIB
    );
    // What was committed before may have been free, and not given back yet.
    assert!(eventually(|| stats().purged_bytes > 10 * MIB));
    assert!(tables.iter().all(|table| table.len() == 500));
    drop(tables);
    drop(pool);
    assert!(stats().live_bytes < before.live_bytes + MIB / 4);
    assert!(eventually(
        || stats().abandoned_pages <= before.abandoned_pages + 20
    ));
}

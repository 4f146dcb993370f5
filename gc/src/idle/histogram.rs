//! A histogram of durations with fixed memory and a bounded relative error.

/// Sub-buckets of each power of two: the relative error is at most one in this number.
const SUB_BUCKETS: usize = 16;
const SUB_BITS: u32 = SUB_BUCKETS.trailing_zeros();
/// Powers of two above the linear range; 2^40 ns are 18 minutes, and longer values share the last.
const EXPONENTS: usize = 36;
const BUCKETS: usize = SUB_BUCKETS * (EXPONENTS + 1);

/// Counts durations in nanoseconds: exact up to 15, then sixteen buckets for each power of two.
#[derive(Clone)]
pub struct Histogram {
    buckets: Box<[u32; BUCKETS]>,
    count: u64,
    max_ns: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for Histogram {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Histogram")
            .field("count", &self.count)
            .field("p50_ns", &self.quantile(0.5))
            .field("p99_ns", &self.quantile(0.99))
            .field("max_ns", &self.max_ns)
            .finish()
    }
}

impl Histogram {
    /// An empty histogram.
    pub fn new() -> Self {
        Self {
            buckets: Box::new([0; BUCKETS]),
            count: 0,
            max_ns: 0,
        }
    }

    /// Counts one duration.
    pub fn record(&mut self, ns: u64) {
        let bucket = &mut self.buckets[bucket_of(ns)];
        *bucket = bucket.saturating_add(1);
        self.count += 1;
        self.max_ns = self.max_ns.max(ns);
    }

    /// How many durations were counted.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The longest duration counted, exactly; 0 when there is none.
    pub fn max(&self) -> u64 {
        self.max_ns
    }

    /// A duration in nanoseconds that at least the share `q` of those counted does not exceed, at
    /// most one sixteenth too large; 0 when nothing was counted. `q` is taken into 0 to 1.
    ///
    /// ```
    /// let mut h = sleepy_gc::idle::Histogram::new();
    /// for ns in [10, 10, 10, 4000] {
    ///     h.record(ns);
    /// }
    /// assert_eq!(h.quantile(0.5), 10);
    /// assert_eq!(h.quantile(1.0), 4000);
    /// ```
    pub fn quantile(&self, q: f64) -> u64 {
        let rank = ((q.clamp(0.0, 1.0) * self.count as f64).ceil() as u64).max(1);
        let mut seen = 0;
        for (index, &n) in self.buckets.iter().enumerate() {
            seen += u64::from(n);
            if n > 0 && seen >= rank {
                return upper_bound_of(index).min(self.max_ns);
            }
        }
        self.max_ns
    }

    /// Adds what another histogram has counted.
    pub fn merge(&mut self, other: &Histogram) {
        for (mine, theirs) in self.buckets.iter_mut().zip(other.buckets.iter()) {
            *mine = mine.saturating_add(*theirs);
        }
        self.count += other.count;
        self.max_ns = self.max_ns.max(other.max_ns);
    }
}

fn bucket_of(ns: u64) -> usize {
    if ns < SUB_BUCKETS as u64 {
        return ns as usize;
    }
    let exponent = 63 - ns.leading_zeros();
    let sub = (ns >> (exponent - SUB_BITS)) as usize - SUB_BUCKETS;
    let row = (exponent - SUB_BITS + 1) as usize;
    (row * SUB_BUCKETS + sub).min(BUCKETS - 1)
}

fn upper_bound_of(bucket: usize) -> u64 {
    if bucket < SUB_BUCKETS {
        return bucket as u64;
    }
    if bucket == BUCKETS - 1 {
        return u64::MAX;
    }
    let shift = (bucket / SUB_BUCKETS - 1) as u32;
    let sub = (bucket % SUB_BUCKETS + SUB_BUCKETS) as u64;
    ((sub + 1) << shift) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_falls_into_a_bucket_that_bounds_it() {
        let mut ns = 1u64;
        while ns < 1 << 39 {
            for near in [ns - 1, ns, ns + 1] {
                let bound = upper_bound_of(bucket_of(near));
                assert!(bound >= near, "{near} over {bound}");
                assert!(bound <= near + near / 16, "{near} far under {bound}");
            }
            ns = ns * 5 / 4 + 1;
        }
        assert_eq!(upper_bound_of(bucket_of(u64::MAX)), u64::MAX);
    }

    #[test]
    fn quantiles_walk_up_to_the_exact_maximum() {
        let mut h = Histogram::new();
        assert_eq!((h.quantile(0.5), h.max(), h.count()), (0, 0, 0));
        for ns in 1..=1000 {
            h.record(ns * 1000);
        }
        let p50 = h.quantile(0.5);
        assert!((500_000..=532_000).contains(&p50), "{p50}");
        assert_eq!(h.quantile(1.0), 1_000_000);
        assert_eq!(h.quantile(2.0), 1_000_000);
        assert!(h.quantile(0.0) >= 1000);
    }

    #[test]
    fn merging_adds_up() {
        let (mut a, mut b) = (Histogram::new(), Histogram::new());
        a.record(5);
        b.record(500);
        a.merge(&b);
        assert_eq!((a.count(), a.max(), a.quantile(0.5)), (2, 500, 5));
    }
}

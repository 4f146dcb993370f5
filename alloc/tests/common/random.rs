//! A small generator of numbers that are random enough, and sizes as programs ask for them.

/// Xorshift; the seed is not 0.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A number below `end`, which is not 0.
    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    /// True once in `times`.
    pub fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// Mostly small, sometimes large, seldom more than the size classes serve.
    pub fn size(&mut self) -> usize {
        match self.below(200) {
            0..140 => 1 + self.below(600),
            140..180 => 1 + self.below(9000),
            180..198 => 1 + self.below(70_000),
            _ => 1 + self.below(400_000),
        }
    }
}

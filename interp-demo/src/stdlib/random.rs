//! The random numbers of `math.random`: xoshiro256**, whose state Lua programs may set.
//!
//! Blackman and Vigna, "Scrambled Linear Pseudorandom Number Generators" (<https://prng.di.unimi.it/>).

/// A generator.
#[derive(Clone, Debug)]
pub struct Random([u64; 4]);

impl Random {
    /// A generator with two words of seed, as `math.randomseed` takes them.
    #[must_use]
    pub fn new(first: u64, second: u64) -> Self {
        let mut random = Self([first, 0xFF, second, 0]);
        // The first numbers of a seed that is mostly zeros are not random at all.
        for _ in 0..16 {
            random.next_bits();
        }
        random
    }

    /// The next 64 random bits.
    pub fn next_bits(&mut self) -> u64 {
        let [a, b, c, d] = &mut self.0;
        let result = b.wrapping_mul(5).rotate_left(7).wrapping_mul(9);
        let shifted = *b << 17;
        *c ^= *a;
        *d ^= *b;
        *b ^= *c;
        *a ^= *d;
        *c ^= shifted;
        *d = d.rotate_left(45);
        result
    }

    /// An integer from 0 to `limit`, all equally likely, made from `bits` and, where those are not enough, from more.
    pub fn project(&mut self, bits: u64, limit: u64) -> u64 {
        if limit.wrapping_add(1).is_power_of_two() || limit == u64::MAX {
            return bits & limit;
        }
        // The smallest 2^b - 1 that is not less than the limit; numbers above the limit are thrown again.
        let mask = u64::MAX >> limit.leading_zeros();
        let mut bits = bits & mask;
        while bits > limit {
            bits = self.next_bits() & mask;
        }
        bits
    }
}

/// A float from 0 up to 1 from the upper 53 bits.
#[must_use]
pub fn float_of(bits: u64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "53 bits are exact")]
    let scaled = (bits >> 11) as f64;
    scaled * (0.5 / (1_u64 << 52) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_of_lua() {
        // By lua5.4: math.randomseed(1007); string.format("%x", math.random(0)) …
        let mut random = Random::new(1007, 0);
        let first: Vec<u64> = (0..3).map(|_| random.next_bits()).collect();
        assert_eq!(
            first,
            [
                0x7a70_40a5_a323_c9d6,
                0xbc8d_7274_c5b8_635f,
                0x0c3e_4528_e958_4f32
            ]
        );
    }

    #[test]
    fn projection_stays_in_the_range() {
        let mut random = Random::new(1, 2);
        for limit in [0, 1, 2, 5, 6, 7, 8, 1000, u64::MAX / 2 + 1, u64::MAX] {
            for _ in 0..200 {
                let bits = random.next_bits();
                assert!(random.project(bits, limit) <= limit);
            }
        }
        assert!((0..1000).all(|_| (0.0..1.0).contains(&float_of(random.next_bits()))));
    }
}

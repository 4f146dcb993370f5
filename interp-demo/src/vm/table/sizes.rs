//! How large the parts of a table are. Pure.
//!
//! Both parts grow in steps that get longer: by an item or two at first, then to each power of two and the middle before it,
//! and beyond [`SMALL`] to each power of two. So a small table, which most are, has little that it does not use.

/// Up to so many items or nodes there are steps between the powers of two.
pub(super) const SMALL: u32 = 64;

/// The largest array part has `2^MAX_BITS` items, the largest hash part as many nodes.
pub(super) const MAX_BITS: u32 = 30;

/// How many sizes of array parts there are, if each power of two counted twice.
const STEPS: usize = 2 * MAX_BITS as usize + 1;

/// The numbers of nodes of small hash parts. They fill the cell that the collector gives their buffer.
const NODES: [u32; 12] = [1, 2, 4, 5, 7, 9, 13, 17, 26, 34, 53, 69];

/// The number of nodes for `entries`, which are at most `2^MAX_BITS`.
pub(super) fn nodes_for(entries: u32) -> u32 {
    match NODES.iter().find(|&&nodes| nodes >= entries) {
        Some(&nodes) => nodes,
        None => entries.next_power_of_two(),
    }
}

/// Integer keys by the smallest array part that has an item for them.
pub(super) struct Census {
    /// At `2 * bits` those up to `2^bits`, at the odd place before it those up to three quarters of that.
    counts: [u32; STEPS],
    total: u32,
}

/// The step of the array part of `2^bits` items, and of the one before it, if it is small.
fn step_of(key: u32) -> usize {
    let bits = u32::BITS - (key - 1).leading_zeros();
    let middle = (3_u32 << bits) >> 2;
    let is_below = key <= SMALL && bits >= 2 && key <= middle;
    2 * bits as usize - usize::from(is_below)
}

/// The items of a step; none if it is left out.
fn items_of(step: usize) -> Option<u32> {
    let bits = step.div_ceil(2) as u32;
    let power = 1_u32 << bits;
    match step % 2 {
        0 => Some(power),
        _ => (bits >= 2 && power <= SMALL).then_some(power / 4 * 3),
    }
}

impl Census {
    pub fn new() -> Census {
        Census {
            counts: [0; STEPS],
            total: 0,
        }
    }

    /// Counts an integer, if an array part may have an item for it.
    pub fn count(&mut self, key: i64) {
        if (1..=1 << MAX_BITS).contains(&key) {
            self.counts[step_of(key as u32)] += 1;
            self.total += 1;
        }
    }

    /// Counts the items of an array part of `len`.
    pub fn count_items(&mut self, len: u32, is_used: impl Fn(u32) -> bool) -> u32 {
        let (mut from, mut total) = (0, 0);
        for step in 0..STEPS {
            let Some(end) = items_of(step) else { continue };
            let to = end.min(len);
            let used = (from..to).filter(|&i| is_used(i)).count() as u32;
            self.counts[step] += used;
            total += used;
            from = to;
            if from == len {
                break;
            }
        }
        self.total += total;
        total
    }

    /// The size of the array part, and how many of the keys it has items for: the last step whose keys make the part more
    /// than half used.
    pub fn best(&self) -> (u32, u32) {
        let (mut size, mut inside, mut below) = (0, 0, 0);
        for (step, &count) in self.counts.iter().enumerate() {
            let Some(items) = items_of(step) else {
                continue;
            };
            if self.total <= items / 2 {
                break;
            }
            below += count;
            if count > 0 && below > items / 2 {
                (size, inside) = (items, below);
            }
        }
        (size, inside)
    }
}

/// The size of an array part that has items up to `len` and needs them all.
pub(super) fn items_for(len: u32) -> u32 {
    if len == 0 || len > 1 << MAX_BITS {
        return len;
    }
    items_of(step_of(len)).unwrap_or(len)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn best(keys: impl IntoIterator<Item = i64>) -> (u32, u32) {
        let mut census = Census::new();
        for key in keys {
            census.count(key);
        }
        census.best()
    }

    #[test]
    fn arrays_are_more_than_half_full_and_end_with_a_step() {
        assert_eq!(best([1, 2, 3, 10_000_000]), (3, 3));
        assert_eq!(best([1, 2, 4]), (4, 3));
        assert_eq!(best([1, 2, 5]), (2, 2));
        assert_eq!(best(1..=37), (48, 37));
        assert_eq!(best((1..=37).chain([100])), (48, 37));
        assert_eq!(best(1..=65), (128, 65));
        assert_eq!(best([0, -1, i64::MAX, i64::MIN]), (0, 0));
        assert_eq!(best([]), (0, 0));
        assert_eq!(best((1..=999).step_by(2)), (3, 2));
        assert_eq!(best((3..=999).step_by(2)), (0, 0));
    }

    #[test]
    fn items_of_an_array_part_count_as_their_keys_do() {
        for len in 0..=200 {
            let (mut by_key, mut by_item) = (Census::new(), Census::new());
            let used = |i: u32| i % 3 != 1;
            for key in (1..=len).filter(|key| used(key - 1)) {
                by_key.count(i64::from(key));
            }
            assert_eq!(by_item.count_items(len, used), by_key.total);
            assert_eq!(
                (by_item.counts, by_item.total),
                (by_key.counts, by_key.total)
            );
        }
    }

    #[test]
    fn a_step_is_the_smallest_that_holds_its_keys() {
        let steps: Vec<u32> = (0..STEPS).filter_map(items_of).collect();
        assert_eq!(steps[..13], [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 128]);
        assert!(steps.is_sorted());
        for len in 1..=1025 {
            let smallest = steps.iter().find(|&&items| items >= len);
            assert_eq!(Some(&items_for(len)), smallest, "{len}");
        }
        assert_eq!(items_for(1 << MAX_BITS), 1 << MAX_BITS);
    }

    #[test]
    fn hash_parts_have_room_for_their_entries() {
        for entries in 1..=5000 {
            let nodes = nodes_for(entries);
            assert!(
                nodes >= entries && nodes <= (entries * 2).max(3),
                "{entries}"
            );
        }
        assert_eq!(nodes_for(1 << MAX_BITS), 1 << MAX_BITS);
    }
}

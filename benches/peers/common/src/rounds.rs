//! Who goes when: in each round everybody once, and nobody always first.

/// The order of round `round` among `n`: shifted by one from round to round, and reversed in every other turn, so that
/// nobody always follows the same neighbour.
pub fn order(n: usize, round: usize) -> Vec<usize> {
    let mut all: Vec<usize> = (0..n).collect();
    if n > 0 {
        all.rotate_left(round % n);
    }
    if round % 2 == 1 {
        all.reverse();
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_goes_once_a_round() {
        for round in 0..10 {
            let mut all = order(4, round);
            all.sort_unstable();
            assert_eq!(all, [0, 1, 2, 3]);
        }
        assert!(order(0, 3).is_empty());
    }

    #[test]
    fn the_first_changes() {
        let firsts: Vec<usize> = (0..4).map(|r| order(4, r)[0]).collect();
        assert_eq!(firsts, [0, 0, 2, 2]);
    }
}

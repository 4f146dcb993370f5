//! What many rounds come to.

/// The least of `samples`; 0 if there are none.
pub fn least(samples: &[f64]) -> f64 {
    samples.iter().copied().reduce(f64::min).unwrap_or(0.0)
}

/// The largest of `samples`; 0 if there are none.
pub fn most(samples: &[f64]) -> f64 {
    samples.iter().copied().reduce(f64::max).unwrap_or(0.0)
}

/// The value below which a part `q` (0 to 1) of `samples` lies, by the nearest rank; 0 if there are none.
pub fn quantile(samples: &[f64], q: f64) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = (q * sorted.len() as f64).ceil() as usize;
    sorted
        .get(rank.clamp(1, sorted.len().max(1)) - 1)
        .copied()
        .unwrap_or(0.0)
}

/// The median: the mean of the middle two where their number is even; 0 if there are none.
pub fn median(samples: &[f64]) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => 0.0,
        n if n % 2 == 1 => sorted[n / 2],
        n => (sorted[n / 2 - 1] + sorted[n / 2]) / 2.0,
    }
}

/// The geometric mean of positive numbers; 0 if there are none.
pub fn geometric_mean(samples: &[f64]) -> f64 {
    if samples.is_empty() {
        return 0.0;
    }
    (samples.iter().map(|x| x.ln()).sum::<f64>() / samples.len() as f64).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_none_everything_is_zero() {
        for f in [least, most, median, geometric_mean] {
            assert_eq!(f(&[]), 0.0);
        }
        assert_eq!(quantile(&[], 0.5), 0.0);
    }

    #[test]
    fn of_some() {
        let x = [4.0, 1.0, 3.0, 2.0];
        assert_eq!(least(&x), 1.0);
        assert_eq!(most(&x), 4.0);
        assert_eq!(median(&x), 2.5);
        assert_eq!(median(&x[..3]), 3.0);
        assert_eq!(quantile(&x, 0.5), 2.0);
        assert_eq!(quantile(&x, 0.99), 4.0);
        assert_eq!(quantile(&x, 0.0), 1.0);
        assert!((geometric_mean(&[1.0, 4.0]) - 2.0).abs() < 1e-12);
    }
}

//! Rounds, medians, quantiles.

use crate::Result;

/// Whether sleeping is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Off,
    On,
    /// On, with one generation (`SLEEPY_GENERATIONAL=0`), where a workload is measured so as well.
    OneGeneration,
}

/// What was measured with sleeping off and on, one entry a round.
#[derive(Debug)]
pub struct Both<T> {
    pub off: Vec<T>,
    pub on: Vec<T>,
}

/// Measures both modes in each round; which comes first changes.
pub fn interleaved<T>(
    rounds: usize,
    mut measure: impl FnMut(Mode) -> Result<T>,
) -> Result<Both<T>> {
    let mut both = Both {
        off: Vec::new(),
        on: Vec::new(),
    };
    for round in 0..rounds {
        let mut order = [Mode::Off, Mode::On];
        order.rotate_left(round % 2);
        for mode in order {
            let measured = measure(mode)?;
            match mode {
                Mode::Off => both.off.push(measured),
                Mode::On | Mode::OneGeneration => both.on.push(measured),
            }
        }
    }
    Ok(both)
}

/// Measures both modes at the same time, for what is mostly silent.
pub fn side_by_side<T: Send>(measure: impl Fn(Mode) -> Result<T> + Sync) -> Result<(T, T)> {
    std::thread::scope(|scope| {
        let off = scope.spawn(|| measure(Mode::Off).map_err(|error| error.to_string()));
        let on = measure(Mode::On);
        let off = off.join().map_err(|_| "the measurement has panicked")??;
        Ok((off, on?))
    })
}

impl<T> Both<T> {
    /// The medians of a figure, off and on.
    pub fn medians(&self, figure: impl Fn(&T) -> f64) -> (f64, f64) {
        (
            median(self.off.iter().map(&figure)),
            median(self.on.iter().map(&figure)),
        )
    }

    /// The median over the rounds of what the figure is with sleeping on, for each off.
    pub fn ratio(&self, figure: impl Fn(&T) -> f64) -> f64 {
        let pairs = self.off.iter().zip(&self.on);
        median(pairs.map(|(off, on)| figure(on) / figure(off)))
    }
}

/// The median; 0 where there is nothing.
pub fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut sorted: Vec<f64> = values.into_iter().collect();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => 0.0,
        n if n % 2 == 1 => sorted[n / 2],
        n => (sorted[n / 2 - 1] + sorted[n / 2]) / 2.0,
    }
}

/// The value that the share `q` of all does not exceed; 0 where there is nothing.
pub fn quantile(values: &mut [f64], q: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let rank = (q * values.len() as f64).ceil() as usize;
    values
        .get(rank.clamp(1, values.len().max(1)) - 1)
        .copied()
        .unwrap_or(0.0)
}

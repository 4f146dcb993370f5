//! The figures of a comparison, and their JSON.
//!
//! ```text
//! {"script", "args", "rounds", "modes": [
//!    {"name", "peak_rss_bytes", "mean_rss_bytes", "final_rss_bytes", "lazy_free_bytes", "cpu_s", "wall_s",
//!     "wake_delay_us": {"p50", "p99", "p999", "max"},
//!     "step_overrun_us": {"p50", "p99", "p999", "max"},
//!     "gc": {"cycles", "idle_steps", "forced_steps", "idle_share"},
//!     "scavenger": {"park_wakes", "turns", "sweeps", "purged_bytes"},
//!     "samples": [[t_ms, rss_bytes], …]}]}
//! ```
//!
//! Each figure is an object `{"median", "min", "max"}` over the rounds, or null where there is none: a
//! peer gives no figures of its collector, a script without time stamps no wake delay. `samples` are
//! those of the round whose mean memory is the median.

use serde::{Serialize, Serializer};

use super::ModeRuns;
use super::child::Run;
use super::options::Options;
use crate::stats::{Quantiles, Stats};

/// A comparison.
#[derive(Debug, Serialize)]
pub(super) struct Summary {
    pub script: String,
    pub args: Vec<String>,
    pub rounds: usize,
    pub modes: Vec<ModeSummary>,
}

/// One mode over all rounds.
#[derive(Debug, Serialize)]
pub(super) struct ModeSummary {
    pub name: String,
    pub peak_rss_bytes: Figure,
    pub mean_rss_bytes: Figure,
    pub final_rss_bytes: Figure,
    pub lazy_free_bytes: Figure,
    pub cpu_s: Figure,
    pub wall_s: Figure,
    pub wake_delay_us: Option<Delays>,
    pub step_overrun_us: Option<Delays>,
    pub gc: Option<GcSummary>,
    pub scavenger: Option<ScavengerSummary>,
    pub samples: Vec<(Number, u64)>,
    /// Which round the samples are of.
    #[serde(skip)]
    pub median_round: usize,
}

/// Quantiles of a time in microseconds.
#[derive(Debug, Serialize)]
pub(super) struct Delays {
    pub p50: Figure,
    pub p99: Figure,
    pub p999: Figure,
    pub max: Figure,
}

/// What the collector did.
#[derive(Debug, Serialize)]
pub(super) struct GcSummary {
    pub cycles: Figure,
    pub idle_steps: Figure,
    pub forced_steps: Figure,
    /// The share of the collector's time that lay in waits; none if it never ran.
    pub idle_share: Option<Figure>,
}

/// What the scavenger did.
#[derive(Debug, Serialize)]
pub(super) struct ScavengerSummary {
    pub park_wakes: Figure,
    pub turns: Figure,
    pub sweeps: Figure,
    pub purged_bytes: Figure,
}

/// A figure over the rounds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Figure {
    pub median: Number,
    pub min: Number,
    pub max: Number,
}

/// A number that is written without a point when it is whole.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Number(pub f64);

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.fract() == 0.0 && self.0.abs() < 9e15 {
            serializer.serialize_i64(self.0 as i64)
        } else {
            serializer.serialize_f64(self.0)
        }
    }
}

impl Figure {
    /// The figure over some rounds, `None` for no round.
    fn over(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut sorted: Vec<f64> = values.into_iter().collect();
        sorted.sort_by(f64::total_cmp);
        let (min, max) = (*sorted.first()?, *sorted.last()?);
        let middle = sorted.len() / 2;
        let median = if sorted.len().is_multiple_of(2) {
            (sorted[middle - 1] + sorted[middle]) / 2.0
        } else {
            sorted[middle]
        };
        Some(Self {
            median: Number(median),
            min: Number(min),
            max: Number(max),
        })
    }

    /// The figure of something that every run has.
    fn of_runs(runs: &[Run], figure: impl Fn(&Run) -> f64) -> Self {
        Self::over(runs.iter().map(figure)).unwrap_or(Self {
            median: Number(0.0),
            min: Number(0.0),
            max: Number(0.0),
        })
    }
}

impl Summary {
    /// All of it as JSON, one mode a line so that a person can find something in it.
    pub(super) fn to_json(&self) -> String {
        // Strings and numbers have no way to fail.
        let head =
            serde_json::json!({"script": self.script, "args": self.args, "rounds": self.rounds});
        let head = head.to_string();
        let modes: Vec<String> = self
            .modes
            .iter()
            .map(|mode| serde_json::to_string(mode).unwrap_or_default())
            .collect();
        format!(
            "{},\"modes\":[\n{}]}}",
            head.trim_end_matches('}'),
            modes.join(",\n")
        )
    }
}

/// Sums up all runs.
pub(super) fn summarize(options: &Options, all: &[ModeRuns]) -> Summary {
    Summary {
        script: options.script.display().to_string(),
        args: options
            .arguments
            .iter()
            .map(|word| word.to_string_lossy().into_owned())
            .collect(),
        rounds: options.flags.rounds,
        modes: all.iter().map(summarize_mode).collect(),
    }
}

fn summarize_mode(ModeRuns { mode, runs }: &ModeRuns) -> ModeSummary {
    let stats: Vec<&Stats> = runs.iter().filter_map(|run| run.stats.as_ref()).collect();
    let of_stats =
        |figure: fn(&Stats) -> u64| Figure::over(stats.iter().map(|stats| figure(stats) as f64));
    let median_round = median_round(runs);
    ModeSummary {
        name: mode.name.clone(),
        peak_rss_bytes: Figure::of_runs(runs, |run| {
            let own = run
                .stats
                .as_ref()
                .map_or(0, |stats| stats.peak_resident_bytes);
            run.peak_rss_bytes.max(own) as f64
        }),
        mean_rss_bytes: Figure::of_runs(runs, |run| run.mean_rss_bytes().round()),
        final_rss_bytes: Figure::of_runs(runs, |run| run.final_rss_bytes() as f64),
        lazy_free_bytes: Figure::of_runs(runs, |run| run.lazy_free_bytes as f64),
        cpu_s: Figure::of_runs(runs, |run| run.cpu.as_secs_f64()),
        wall_s: Figure::of_runs(runs, |run| run.wall.as_secs_f64()),
        wake_delay_us: wake_delays(runs),
        step_overrun_us: step_overruns(&stats),
        gc: gc_summary(&stats, of_stats),
        scavenger: scavenger_summary(of_stats),
        samples: runs.get(median_round).map_or(Vec::new(), samples),
        median_round,
    }
}

fn gc_summary(
    stats: &[&Stats],
    figure: impl Fn(fn(&Stats) -> u64) -> Option<Figure>,
) -> Option<GcSummary> {
    Some(GcSummary {
        cycles: figure(|stats| stats.cycles)?,
        idle_steps: figure(|stats| stats.idle_steps)?,
        forced_steps: figure(|stats| stats.forced_steps)?,
        idle_share: Figure::over(stats.iter().filter_map(|stats| stats.idle_share())),
    })
}

fn scavenger_summary(
    figure: impl Fn(fn(&Stats) -> u64) -> Option<Figure>,
) -> Option<ScavengerSummary> {
    Some(ScavengerSummary {
        park_wakes: figure(|stats| stats.park_wakes)?,
        turns: figure(|stats| stats.scavenger_turns)?,
        sweeps: figure(|stats| stats.parked_sweeps)?,
        purged_bytes: figure(|stats| stats.purged_bytes)?,
    })
}

/// The quantiles of each round's delays, then the figures over the rounds.
fn wake_delays(runs: &[Run]) -> Option<Delays> {
    let mut rounds: Vec<Vec<f64>> = Vec::new();
    for run in runs {
        let mut delays = run
            .report
            .as_ref()
            .map_or(Vec::new(), |report| report.wake_delay_us.clone());
        delays.sort_by(f64::total_cmp);
        if !delays.is_empty() {
            rounds.push(delays);
        }
    }
    let figure = |share: f64| Figure::over(rounds.iter().map(|delays| quantile(delays, share)));
    Some(Delays {
        p50: figure(0.5)?,
        p99: figure(0.99)?,
        p999: figure(0.999)?,
        max: figure(1.0)?,
    })
}

/// The smallest of the sorted values that at least this share of them does not exceed.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted[rank.clamp(1, sorted.len()) - 1]
}

/// Runs without a step in a wait have no overrun.
fn step_overruns(stats: &[&Stats]) -> Option<Delays> {
    let measured: Vec<&Quantiles> = stats
        .iter()
        .map(|stats| &stats.step_overrun)
        .filter(|overrun| overrun.count > 0)
        .collect();
    let figure = |part: fn(&Quantiles) -> u64| {
        Figure::over(measured.iter().map(|overrun| part(overrun) as f64 / 1000.0))
    };
    Some(Delays {
        p50: figure(|overrun| overrun.p50_ns)?,
        p99: figure(|overrun| overrun.p99_ns)?,
        p999: figure(|overrun| overrun.p999_ns)?,
        max: figure(|overrun| overrun.max_ns)?,
    })
}

/// The round whose mean memory is the median (of an even number, the lower).
fn median_round(runs: &[Run]) -> usize {
    let mut order: Vec<usize> = (0..runs.len()).collect();
    order.sort_by(|&a, &b| {
        runs[a]
            .mean_rss_bytes()
            .total_cmp(&runs[b].mean_rss_bytes())
    });
    order
        .get(runs.len().saturating_sub(1) / 2)
        .copied()
        .unwrap_or(0)
}

/// Time in milliseconds to a tenth, and bytes.
fn samples(run: &Run) -> Vec<(Number, u64)> {
    let tenths = |seconds: f64| (seconds * 10_000.0).round() / 10.0;
    run.samples
        .iter()
        .map(|sample| (Number(tenths(sample.at.as_secs_f64())), sample.rss_bytes))
        .collect()
}

#[cfg(test)]
pub(super) mod tests {
    use std::time::Duration;

    use super::super::mode;
    use super::super::sampler::Sample;
    use super::*;

    fn number(figure: Option<Figure>) -> (f64, f64, f64) {
        let figure = figure.expect("a figure");
        (figure.median.0, figure.min.0, figure.max.0)
    }

    #[test]
    fn a_figure_is_the_median_with_its_bounds() {
        assert_eq!(number(Figure::over([3.0, 1.0, 2.0])), (2.0, 1.0, 3.0));
        assert_eq!(number(Figure::over([4.0, 1.0])), (2.5, 1.0, 4.0));
        assert_eq!(Figure::over([]), None);
    }

    #[test]
    fn quantiles_are_values_that_occurred() {
        let sorted: Vec<f64> = (1..=1000).map(f64::from).collect();
        assert_eq!(quantile(&sorted, 0.5), 500.0);
        assert_eq!(quantile(&sorted, 0.999), 999.0);
        assert_eq!(quantile(&sorted, 1.0), 1000.0);
        assert_eq!(quantile(&[7.0], 0.5), 7.0);
    }

    /// A peer and one of our modes, three rounds each, with figures that are easy to check.
    pub(in super::super) fn example() -> Summary {
        let run = |rss_bytes: u64, own: bool| Run {
            samples: vec![
                Sample {
                    at: Duration::from_micros(1_234),
                    rss_bytes,
                },
                Sample {
                    at: Duration::from_micros(6_250),
                    rss_bytes: rss_bytes + 4096,
                },
            ],
            peak_rss_bytes: rss_bytes + 8192,
            cpu: Duration::from_millis(250),
            wall: Duration::from_secs(1),
            stats: own.then(|| Stats {
                cycles: 2,
                purged_bytes: 77,
                ..Stats::default()
            }),
            report: serde_json::from_str(r#"{"wake_delay_us":[10.5,20,30]}"#).ok(),
            ..Run::default()
        };
        let mut modes = mode::all("lua".as_ref(), &["sh".to_owned()]).expect("modes");
        let all = [modes.pop().expect("the peer"), modes.pop().expect("ours")].map(|mode| {
            let runs = vec![
                run(3 << 20, mode.own),
                run(1 << 20, mode.own),
                run(2 << 20, mode.own),
            ];
            ModeRuns { mode, runs }
        });
        let options = Options::parse(["a.lua", "7"].map(Into::into)).expect("options");
        summarize(&options, &all)
    }

    #[test]
    fn json_has_the_form_of_the_documentation() {
        let json: serde_json::Value = serde_json::from_str(&example().to_json()).expect("JSON");
        assert_eq!(json["script"], "a.lua");
        assert_eq!(json["args"], serde_json::json!(["7"]));
        assert_eq!(json["rounds"], 3);
        let (peer, own) = (&json["modes"][0], &json["modes"][1]);
        assert_eq!(own["name"], "gc+scavenger");
        let bytes = serde_json::json!({"median": 2105344, "min": 1056768, "max": 3153920});
        assert_eq!(own["peak_rss_bytes"], bytes);
        assert_eq!(own["cpu_s"]["median"], 0.25);
        assert_eq!(own["wake_delay_us"]["p50"]["median"], 20);
        assert_eq!(own["wake_delay_us"]["max"]["max"], 30);
        assert_eq!(own["gc"]["cycles"]["median"], 2);
        assert_eq!(own["scavenger"]["purged_bytes"]["min"], 77);
        assert_eq!(
            own["samples"],
            serde_json::json!([[1.2, 2097152], [6.3, 2101248]])
        );
        assert!(own["step_overrun_us"].is_null() && own["gc"]["idle_share"].is_null());
        assert!(peer["gc"].is_null() && peer["scavenger"].is_null());
    }
}

//! The pictures of the page: memory over time, and below it what the collector was doing.
//!
//! Plotters draws them as SVG. The colours given to it are only names: the page's style sheet gives
//! each its real colour, one for a light and one for a dark screen.

use plotters::coord::Shift;
use plotters::prelude::*;

use super::ModeRuns;
use super::child::Run;
use super::error::CompareError;
use super::sampler::Sample;
use super::summary::Summary;
use crate::phase_trace::{Phase, Span};

/// Colours of the modes; further modes begin again.
pub(super) const MODE_COLOURS: [RGBColor; 6] = [
    RGBColor(1, 0, 0),
    RGBColor(1, 0, 1),
    RGBColor(1, 0, 2),
    RGBColor(1, 0, 3),
    RGBColor(1, 0, 4),
    RGBColor(1, 0, 5),
];

/// Colours of the phases, by [`phase_index`].
pub(super) const PHASE_COLOURS: [RGBColor; 5] = [
    RGBColor(2, 0, 0),
    RGBColor(2, 0, 1),
    RGBColor(2, 0, 2),
    RGBColor(2, 0, 3),
    RGBColor(2, 0, 4),
];

/// What the page calls the phases, in the order of their colours.
pub(super) const PHASE_NAMES: [&str; 5] = [
    "marks in a wait",
    "sweeps in a wait",
    "must mark",
    "must sweep",
    "heap lent to the scavenger",
];

/// Text, axes and grid.
pub(super) const INK: RGBColor = RGBColor(3, 0, 0);
pub(super) const GRID: RGBColor = RGBColor(3, 0, 1);
pub(super) const MARK: RGBColor = RGBColor(3, 0, 2);

const WIDTH: u32 = 960;
const MEMORY_HEIGHT: u32 = 380;
const PHASE_HEIGHT: u32 = 110;
const LABEL_WIDTH: u32 = 64;
const FONT: (&str, u32) = ("sans-serif", 16);

/// More points than this are no longer seen as different.
const MOST_POINTS: usize = 1500;

/// Into how many stretches the time is cut for the phases.
const BUCKETS: usize = 240;

/// As how the style sheet finds a colour.
pub(super) fn colour_name(colour: RGBColor) -> String {
    format!("#{:02X}{:02X}{:02X}", colour.0, colour.1, colour.2)
}

/// Resident memory over time, one curve a mode, of the round that stands for it.
pub(super) fn memory(summary: &Summary, all: &[ModeRuns]) -> Result<String, CompareError> {
    let mut svg = String::new();
    let area = SVGBackend::with_string(&mut svg, (WIDTH, MEMORY_HEIGHT)).into_drawing_area();
    draw_memory(&area, summary, all).map_err(|error| CompareError::Chart(error.to_string()))?;
    drop(area);
    Ok(svg)
}

/// The phases of the runs that have a trace, each a picture, with the axes in common.
pub(super) fn phases(summary: &Summary, all: &[ModeRuns]) -> Result<Vec<String>, CompareError> {
    let end_s = end_s(summary, all);
    let traced: Vec<Vec<[f64; 5]>> = shown(summary, all)
        .filter(|run| run.stats.is_some())
        .map(|run| shares(&run.spans, run.started_us, end_s))
        .collect();
    let busiest = traced
        .iter()
        .flatten()
        .map(work_percent)
        .fold(1.0, f64::max);
    traced
        .iter()
        .map(|shares| phase_picture(shares, end_s, busiest * 1.1))
        .collect()
}

fn phase_picture(
    shares: &[[f64; 5]],
    end_s: f64,
    top_percent: f64,
) -> Result<String, CompareError> {
    let mut svg = String::new();
    let area = SVGBackend::with_string(&mut svg, (WIDTH, PHASE_HEIGHT)).into_drawing_area();
    draw_phases(&area, shares, end_s, top_percent)
        .map_err(|error| CompareError::Chart(error.to_string()))?;
    drop(area);
    Ok(svg)
}

/// The right end of the time axis: the longest run that is shown.
fn end_s(summary: &Summary, all: &[ModeRuns]) -> f64 {
    shown(summary, all)
        .map(|run| run.wall.as_secs_f64())
        .fold(0.001, f64::max)
}

/// The run of each mode that the page shows.
pub(super) fn shown<'a>(summary: &Summary, all: &'a [ModeRuns]) -> impl Iterator<Item = &'a Run> {
    let rounds: Vec<usize> = summary.modes.iter().map(|mode| mode.median_round).collect();
    all.iter()
        .zip(rounds)
        .filter_map(|(mode, round)| mode.runs.get(round))
}

type Drawing<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type DrawingResult<'a> = Result<(), Box<dyn std::error::Error + 'a>>;

fn draw_memory<'a>(area: &Drawing<'a>, summary: &Summary, all: &[ModeRuns]) -> DrawingResult<'a> {
    let end_s = end_s(summary, all);
    let top_mb = shown(summary, all)
        .map(|run| run.peak_rss_bytes as f64 / 1e6)
        .fold(1.0, f64::max)
        * 1.05;
    let mut chart = ChartBuilder::on(area)
        .margin_top(8)
        .margin_left(8)
        .margin_right(16)
        .x_label_area_size(40)
        .y_label_area_size(LABEL_WIDTH)
        .build_cartesian_2d(0.0..end_s, 0.0..top_mb)?;
    chart
        .configure_mesh()
        .x_desc("seconds")
        .y_desc("resident MB")
        .axis_style(GRID)
        .bold_line_style(GRID)
        .light_line_style(TRANSPARENT)
        .label_style(FONT.into_font().color(&INK))
        .axis_desc_style(FONT.into_font().color(&INK))
        .draw()?;
    for (index, run) in shown(summary, all).enumerate() {
        let colour = MODE_COLOURS[index % MODE_COLOURS.len()];
        let points = thin(&run.samples).into_iter();
        let points = points.map(|sample| (sample.at.as_secs_f64(), sample.rss_bytes as f64 / 1e6));
        chart.draw_series(LineSeries::new(points, colour.stroke_width(2)))?;
    }
    // The moments differ from mode to mode by next to nothing: those of the first are enough.
    let first = shown(summary, all).find(|run| {
        run.report
            .as_ref()
            .is_some_and(|report| !report.marks.is_empty())
    });
    if let Some(run) = first {
        for mark in run.report.iter().flat_map(|report| &report.marks) {
            let at_s = run.since_start_s(mark.at).clamp(0.0, end_s);
            chart.draw_series(LineSeries::new(
                [(at_s, 0.0), (at_s, top_mb)],
                MARK.stroke_width(1),
            ))?;
            let style = FONT.into_font().color(&MARK);
            chart.draw_series([Text::new(
                mark.name.clone(),
                (at_s + end_s * 0.005, top_mb * 0.99),
                style,
            )])?;
        }
    }
    area.present()?;
    Ok(())
}

fn draw_phases<'a>(
    area: &Drawing<'a>,
    shares: &[[f64; 5]],
    end_s: f64,
    top: f64,
) -> DrawingResult<'a> {
    let strip = top * 0.16;
    let mut chart = ChartBuilder::on(area)
        .margin_top(4)
        .margin_left(8)
        .margin_right(16)
        .x_label_area_size(4)
        .y_label_area_size(LABEL_WIDTH)
        .build_cartesian_2d(0.0..end_s, -strip..top)?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .y_desc("% of time")
        .y_labels(4)
        .x_labels(0)
        .y_label_formatter(&|percent| {
            if *percent < 0.0 {
                String::new()
            } else {
                format!("{percent:.0}")
            }
        })
        .axis_style(GRID)
        .bold_line_style(GRID)
        .light_line_style(TRANSPARENT)
        .label_style(FONT.into_font().color(&INK))
        .axis_desc_style(FONT.into_font().color(&INK))
        .draw()?;
    let bucket_s = end_s / BUCKETS as f64;
    for (index, bucket) in shares.iter().enumerate() {
        let (left, right) = (index as f64 * bucket_s, (index + 1) as f64 * bucket_s);
        let mut bottom = 0.0;
        for (phase, share) in bucket[..4]
            .iter()
            .enumerate()
            .filter(|(_, share)| **share > 0.0)
        {
            let height = share * 100.0;
            let corners = [(left, bottom), (right, bottom + height)];
            chart.draw_series([Rectangle::new(corners, PHASE_COLOURS[phase].filled())])?;
            bottom += height;
        }
        let lent = bucket[phase_index(Phase::Parked)];
        if lent > 0.0 {
            let corners = [(left, -strip * 0.85), (right, -strip * 0.15)];
            let colour = PHASE_COLOURS[phase_index(Phase::Parked)].mix(lent.min(1.0));
            chart.draw_series([Rectangle::new(corners, colour.filled())])?;
        }
    }
    area.present()?;
    Ok(())
}

/// A phase's place in [`PHASE_COLOURS`] and [`PHASE_NAMES`].
fn phase_index(phase: Phase) -> usize {
    match phase {
        Phase::IdleMark => 0,
        Phase::IdleSweep => 1,
        Phase::ForcedMark => 2,
        Phase::ForcedSweep => 3,
        Phase::Parked => 4,
    }
}

/// The part of a stretch in which the collector worked, in percent.
fn work_percent(stretch: &[f64; 5]) -> f64 {
    stretch[..4].iter().sum::<f64>() * 100.0
}

/// For each stretch of time the share of it that each phase took.
fn shares(spans: &[Span], started_us: u64, end_s: f64) -> Vec<[f64; 5]> {
    let bucket_us = end_s * 1e6 / BUCKETS as f64;
    let mut shares = vec![[0.0; 5]; BUCKETS];
    for span in spans {
        let start = span.start_us.saturating_sub(started_us) as f64;
        let end = (span.end_us.saturating_sub(started_us) as f64).min(end_s * 1e6);
        let mut bucket = (start / bucket_us) as usize;
        while bucket < BUCKETS && bucket as f64 * bucket_us < end {
            let from = start.max(bucket as f64 * bucket_us);
            let to = end.min((bucket + 1) as f64 * bucket_us);
            shares[bucket][phase_index(span.phase)] += (to - from).max(0.0) / bucket_us;
            bucket += 1;
        }
    }
    shares
}

/// At most [`MOST_POINTS`] samples; of each stretch the lowest and the highest stay.
fn thin(samples: &[Sample]) -> Vec<Sample> {
    if samples.len() <= MOST_POINTS {
        return samples.to_vec();
    }
    let stretch = samples.len().div_ceil(MOST_POINTS / 2);
    let mut kept = Vec::with_capacity(MOST_POINTS);
    for stretch in samples.chunks(stretch) {
        let low = stretch.iter().min_by_key(|sample| sample.rss_bytes);
        let high = stretch.iter().max_by_key(|sample| sample.rss_bytes);
        let mut pair: Vec<Sample> = low.into_iter().chain(high).copied().collect();
        pair.sort_by_key(|sample| sample.at);
        kept.extend(pair);
    }
    kept
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn shares_add_up_over_the_stretches() {
        let end_s = BUCKETS as f64 / 1e3; // a millisecond each
        let spans = [
            Span {
                phase: Phase::IdleMark,
                start_us: 10_500,
                end_us: 12_250,
            },
            Span {
                phase: Phase::Parked,
                start_us: 12_250,
                end_us: 13_000,
            },
            Span {
                phase: Phase::Parked,
                start_us: 900_000,
                end_us: 950_000,
            },
        ];
        let shares = shares(&spans, 10_000, end_s);
        let marks: Vec<f64> = shares[..4].iter().map(|bucket| bucket[0]).collect();
        let expected = [0.5, 1.0, 0.25, 0.0];
        assert!(
            marks
                .iter()
                .zip(expected)
                .all(|(mark, expected)| (mark - expected).abs() < 1e-9),
            "{marks:?}"
        );
        assert!((shares[2][4] - 0.75).abs() < 1e-9);
        assert!(
            shares[3..]
                .iter()
                .all(|bucket| bucket.iter().sum::<f64>() == 0.0)
        );
    }

    #[test]
    fn thinning_keeps_the_extremes() {
        let samples: Vec<Sample> = (0..10_000)
            .map(|ms| Sample {
                at: Duration::from_millis(ms),
                rss_bytes: if ms == 4_321 { 9 } else { 5 + ms % 2 },
            })
            .collect();
        let thinned = thin(&samples);
        assert!(thinned.len() <= MOST_POINTS);
        assert!(thinned.iter().any(|sample| sample.rss_bytes == 9));
        assert!(thinned.is_sorted_by_key(|sample| sample.at));
    }
}

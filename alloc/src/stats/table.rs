//! The figures as a table, made without allocating or formatting, so that it can be printed at exit.
//!
//! ```text
//! sleepy-alloc
//!   park_wakes                             3
//!   purged_bytes                   125829120   120.0 MiB
//!   reclaim_wait_max_ns                 1234   1.2 us
//! ```
#![forbid(unsafe_code)]

use super::Stats;
use crate::text::Text;

/// Bytes that a line takes at most.
const LINE_BYTES: usize = 64;
const FIGURES: usize = 23;
/// The column in which numbers end.
const NUMBERS_END: usize = 42;

/// The title, and a line for each figure.
pub(super) type Table = Text<{ LINE_BYTES * (FIGURES + 1) }>;

fn push_line(table: &mut Table, name: &str, value: u64) {
    let start = table.length();
    table.push(b"  ").push(name.as_bytes());
    table.push_number_up_to(start, NUMBERS_END, value);
    let units = if name.ends_with("_bytes") {
        BYTE_UNITS
    } else if name.ends_with("_ns") {
        TIME_UNITS
    } else {
        &[]
    };
    if let Some((tenths, unit)) = in_units(value, units) {
        table
            .push(b"   ")
            .push_number(tenths / 10)
            .push(b".")
            .push_number(tenths % 10)
            .push(b" ")
            .push(unit.as_bytes());
    }
    table.push(b"\n");
}

type Units = &'static [(u64, &'static str)];

const BYTE_UNITS: Units = &[(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
const TIME_UNITS: Units = &[(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")];

/// Tenths of the largest unit of which there is one at least, rounded.
fn in_units(value: u64, units: Units) -> Option<(u64, &'static str)> {
    let &(unit, name) = units.iter().find(|(unit, _)| value >= *unit)?;
    let whole = value.checked_div(unit)?;
    // Less than a unit, of which ten fit the type.
    let rest_tenths = ((value - whole * unit) * 10 + unit / 2).checked_div(unit)?;
    Some((whole * 10 + rest_tenths, name))
}

/// The table of these figures.
pub(super) fn of(stats: &Stats) -> Table {
    let mut table = Table::new();
    table.push(b"sleepy-alloc\n");
    for (name, value) in figures(stats) {
        push_line(&mut table, name, value);
    }
    table
}

/// Every figure with its name, in the order of the struct.
fn figures(stats: &Stats) -> [(&'static str, u64); FIGURES] {
    // Without `..`, so that a new figure cannot be forgotten here.
    let &Stats {
        park_wakes,
        scavenger_starts,
        scavenger_turns,
        scavenger_sleeps,
        parked_sweeps,
        aborted_sweeps,
        delegated_sweeps,
        delegated_pieces,
        inline_slices,
        purged_bytes,
        purge_calls,
        pending_bytes,
        holed_bytes,
        committed_bytes,
        live_bytes,
        heaps,
        remote_frees,
        abandoned_pages,
        abandoned_total,
        reclaimed_pages,
        abandoned_bitmaps,
        arenas,
        reclaim_wait_max_ns,
    } = stats;
    [
        ("park_wakes", park_wakes),
        ("scavenger_starts", scavenger_starts),
        ("scavenger_turns", scavenger_turns),
        ("scavenger_sleeps", scavenger_sleeps),
        ("parked_sweeps", parked_sweeps),
        ("aborted_sweeps", aborted_sweeps),
        ("delegated_sweeps", delegated_sweeps),
        ("delegated_pieces", delegated_pieces),
        ("inline_slices", inline_slices),
        ("purged_bytes", purged_bytes),
        ("purge_calls", purge_calls),
        ("pending_bytes", pending_bytes),
        ("holed_bytes", holed_bytes),
        ("committed_bytes", committed_bytes),
        ("live_bytes", live_bytes),
        ("heaps", heaps),
        ("remote_frees", remote_frees),
        ("abandoned_pages", abandoned_pages),
        ("abandoned_total", abandoned_total),
        ("reclaimed_pages", reclaimed_pages),
        ("abandoned_bitmaps", abandoned_bitmaps),
        ("arenas", arenas),
        ("reclaim_wait_max_ns", reclaim_wait_max_ns),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_end_in_one_column_and_units_follow() {
        let stats = Stats {
            park_wakes: 3,
            purged_bytes: 120 << 20,
            reclaim_wait_max_ns: 1234,
            ..Stats::default()
        };
        let table = of(&stats);
        let lines: Vec<_> = table.as_str().lines().collect();
        assert_eq!(lines.len(), FIGURES + 1);
        assert_eq!(lines[1], format!("  {:<20}{:>20}", "park_wakes", 3));
        assert_eq!(
            lines[10],
            format!("  {:<20}{:>20}   120.0 MiB", "purged_bytes", 120 << 20)
        );
        assert_eq!(
            lines[23],
            format!("  {:<20}{:>20}   1.2 us", "reclaim_wait_max_ns", 1234)
        );
    }

    #[test]
    fn the_largest_figures_fit() {
        let mut table = Table::new();
        for (name, _) in figures(&Stats::default()) {
            let start = table.length();
            push_line(&mut table, name, u64::MAX);
            let line = &table.as_str()[start..];
            assert!(line.len() <= LINE_BYTES && line.ends_with('\n'), "{line}");
            assert!(line.contains(&u64::MAX.to_string()), "{line}");
        }
    }

    #[test]
    fn quantities_are_rounded_to_tenths() {
        assert_eq!(in_units(1023, BYTE_UNITS), None);
        assert_eq!(in_units(1024, BYTE_UNITS), Some((10, "KiB")));
        assert_eq!(in_units(1 << 40, BYTE_UNITS), Some((10240, "GiB")));
        assert_eq!(in_units(1_550, TIME_UNITS), Some((16, "us")));
        assert_eq!(in_units(u64::MAX, &[]), None);
    }
}

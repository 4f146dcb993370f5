//! The table of a comparison, for the terminal and for the page.

use comfy_table::{CellAlignment, Table, TableComponent, presets};

use super::summary::{Delays, Figure, ModeSummary, Summary};

/// The columns that every script has, with what stands in them.
const COLUMNS: [Column; 6] = [
    ("mode", |mode| mode.name.clone()),
    ("peak MB", |mode| resident(mode.peak_rss_bytes)),
    ("mean MB", |mode| resident(mode.mean_rss_bytes)),
    ("final MB", |mode| resident(mode.final_rss_bytes)),
    ("CPU s", |mode| format!("{:.3}", mode.cpu_s.median.0)),
    ("wall s", |mode| format!("{:.2}", mode.wall_s.median.0)),
];

/// Columns that are left out when no mode has a figure for them.
const OPTIONAL_COLUMNS: [Column; 6] = [
    ("lazy free MB", |mode| {
        if mode.lazy_free_bytes.max.0 > 0.0 {
            megabytes(mode.lazy_free_bytes)
        } else {
            String::new()
        }
    }),
    ("wake delay p50/p99/p99.9/max us", |mode| {
        delays(mode.wake_delay_us.as_ref())
    }),
    ("step overrun p50/p99/p99.9/max us", |mode| {
        delays(mode.step_overrun_us.as_ref())
    }),
    ("cycles", |mode| {
        mode.gc
            .as_ref()
            .map_or(String::new(), |gc| whole(gc.cycles))
    }),
    ("steps idle+forced", |mode| {
        let steps = |gc: &super::summary::GcSummary| {
            format!("{}+{}", whole(gc.idle_steps), whole(gc.forced_steps))
        };
        mode.gc.as_ref().map_or(String::new(), steps)
    }),
    ("scavenger wakes/turns, MB back", |mode| {
        mode.scavenger.as_ref().map_or(String::new(), |scavenger| {
            format!(
                "{}/{}, {}",
                whole(scavenger.park_wakes),
                whole(scavenger.turns),
                megabytes(scavenger.purged_bytes)
            )
        })
    }),
];

type Column = (&'static str, fn(&ModeSummary) -> String);

/// Heading and cells, before any drawing; the first column is text, the others are figures.
pub(super) fn cells(summary: &Summary) -> (Vec<&'static str>, Vec<Vec<String>>) {
    let mut headings = Vec::new();
    let mut rows = vec![Vec::new(); summary.modes.len()];
    for (index, (heading, cell)) in COLUMNS.iter().chain(&OPTIONAL_COLUMNS).enumerate() {
        let column: Vec<String> = summary.modes.iter().map(cell).collect();
        if index >= COLUMNS.len() && column.iter().all(String::is_empty) {
            continue;
        }
        headings.push(*heading);
        for (row, cell) in rows.iter_mut().zip(column) {
            row.push(cell);
        }
    }
    (headings, rows)
}

/// The table as text, with a line that says what the last of our modes saves against the first.
pub(super) fn render(summary: &Summary) -> String {
    let (headings, rows) = cells(summary);
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    for line in [
        TableComponent::HeaderLines,
        TableComponent::MiddleHeaderIntersections,
    ] {
        table.set_style(line, '─');
    }
    table.set_header(
        headings
            .iter()
            .map(|heading| heading.replace(", ", "\n").replacen(' ', "\n", 1)),
    );
    for row in rows {
        table.add_row(row);
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    format!("{}\n{table}\n{}", title(summary), verdict(summary))
}

/// The script with its arguments, and the number of rounds.
pub(super) fn title(summary: &Summary) -> String {
    let mut words = vec![summary.script.as_str()];
    words.extend(summary.args.iter().map(String::as_str));
    let rounds = if summary.rounds == 1 {
        "1 round".to_owned()
    } else {
        format!("median of {} rounds", summary.rounds)
    };
    format!("{}, {rounds}", words.join(" "))
}

/// One sentence: what sleeping changes.
pub(super) fn verdict(summary: &Summary) -> String {
    let find = |name: &str| summary.modes.iter().find(|mode| mode.name == name);
    let (Some(off), Some(on)) = (find("off"), find("gc+scavenger")) else {
        return String::new();
    };
    let change = |figure: fn(&ModeSummary) -> Figure| {
        let (before, after) = (figure(off).median.0, figure(on).median.0);
        if before > 0.0 && after > 0.0 {
            format!("{:+.1} %", (after / before - 1.0) * 100.0)
        } else {
            "unknown".to_owned()
        }
    };
    format!(
        "gc+scavenger against off: peak {}, mean {}, final {}, CPU {}",
        change(|mode| mode.peak_rss_bytes),
        change(|mode| mode.mean_rss_bytes),
        change(|mode| mode.final_rss_bytes),
        change(|mode| mode.cpu_s)
    )
}

/// No process has no memory: 0 says that it ended before it was looked at.
fn resident(figure: Figure) -> String {
    if figure.median.0 > 0.0 {
        megabytes(figure)
    } else {
        "-".to_owned()
    }
}

fn megabytes(figure: Figure) -> String {
    format!("{:.2}", figure.median.0 / 1e6)
}

fn whole(figure: Figure) -> String {
    format!("{:.0}", figure.median.0)
}

fn delays(delays: Option<&Delays>) -> String {
    delays.map_or(String::new(), |delays| {
        format!(
            "{}/{}/{}/{}",
            whole(delays.p50),
            whole(delays.p99),
            whole(delays.p999),
            whole(delays.max)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::super::summary::tests::example;
    use super::*;

    #[test]
    fn columns_without_a_figure_are_left_out() {
        let (headings, rows) = cells(&example());
        assert!(
            headings.contains(&"cycles") && headings.contains(&"wake delay p50/p99/p99.9/max us")
        );
        assert!(
            !headings
                .iter()
                .any(|heading| heading.starts_with("step overrun") || heading.starts_with("lazy"))
        );
        assert!(rows.iter().all(|row| row.len() == headings.len()));
    }

    #[test]
    fn the_table_names_script_modes_and_figures() {
        let text = render(&example());
        for part in [
            "a.lua 7, median of 3 rounds",
            "gc+scavenger",
            "2.11",
            "0.250",
            "20/30/30/30",
        ] {
            assert!(text.contains(part), "{part} is missing from\n{text}");
        }
    }
}

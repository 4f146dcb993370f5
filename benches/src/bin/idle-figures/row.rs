//! The table of figures, as Markdown and as JSON.

use std::fmt::Write as _;

use serde_json::{Value, json};
use sleepy_benches::machine;

use crate::Result;

/// A limit for a figure.
#[derive(Clone, Copy, Debug)]
pub enum Limit {
    AtMost(f64),
    AtLeast(f64),
    /// It stands beside others for comparison.
    None,
}

impl Limit {
    fn is_met(self, figure: f64) -> bool {
        match self {
            Self::AtMost(most) => figure <= most,
            Self::AtLeast(least) => figure >= least,
            Self::None => true,
        }
    }
}

/// One figure of a workload.
#[derive(Debug)]
struct Row {
    workload: &'static str,
    figure: String,
    unit: &'static str,
    limit: Limit,
    measured: f64,
    /// With sleeping off, where that is a figure too.
    off: Option<f64>,
}

/// All rows so far.
#[derive(Debug)]
pub struct Table {
    rounds: usize,
    quick: bool,
    rows: Vec<Row>,
}

impl Table {
    pub fn new(rounds: usize, quick: bool) -> Self {
        Self {
            rounds,
            quick,
            rows: Vec::new(),
        }
    }

    /// Adds a figure.
    pub fn add(
        &mut self,
        workload: &'static str,
        figure: impl Into<String>,
        unit: &'static str,
        limit: Limit,
        measured: f64,
        off: Option<f64>,
    ) {
        let row = Row {
            workload,
            figure: figure.into(),
            unit,
            limit,
            measured,
            off,
        };
        eprintln!("  {}", row.cells().join(" | "));
        self.rows.push(row);
    }

    /// Whether no figure is missed.
    pub fn is_met(&self) -> bool {
        self.rows.iter().all(|row| row.limit.is_met(row.measured))
    }

    pub fn to_markdown(&self) -> String {
        let rounds = self.rounds;
        let mut text = format!(
            "{}; medians of {rounds} interleaved rounds",
            machine::description()
        );
        if self.quick {
            text.push_str(", shortened");
        }
        text.push_str(
            "\n\n| workload | figure | limit | off | measured | |\n|---|---|---|---|---|---|\n",
        );
        for row in &self.rows {
            // A string takes any text.
            let _ = writeln!(text, "| {} |", row.cells().join(" | "));
        }
        text
    }

    pub fn to_json(&self) -> Result<String> {
        let rows: Vec<Value> = self.rows.iter().map(Row::to_json).collect();
        let all = json!({
            "machine": machine::description(),
            "rounds": self.rounds,
            "quick": self.quick,
            "rows": rows,
        });
        Ok(serde_json::to_string_pretty(&all)?)
    }
}

impl Row {
    fn cells(&self) -> [String; 6] {
        let with_unit = |figure: f64| match self.unit {
            "x" => format!("{figure:.3}x"),
            "" => rounded(figure),
            unit => format!("{} {unit}", rounded(figure)),
        };
        let (limit, verdict) = match self.limit {
            Limit::None => (String::new(), ""),
            Limit::AtMost(most) => (format!("≤ {}", with_unit(most)), self.verdict()),
            Limit::AtLeast(least) => (format!("≥ {}", with_unit(least)), self.verdict()),
        };
        [
            self.workload.to_owned(),
            self.figure.clone(),
            limit,
            self.off.map(with_unit).unwrap_or_default(),
            with_unit(self.measured),
            verdict.to_owned(),
        ]
    }

    fn verdict(&self) -> &'static str {
        match self.limit.is_met(self.measured) {
            true => "met",
            false => "**missed**",
        }
    }

    fn to_json(&self) -> Value {
        let (bound, limit) = match self.limit {
            Limit::AtMost(most) => ("at_most", Some(most)),
            Limit::AtLeast(least) => ("at_least", Some(least)),
            Limit::None => ("none", None),
        };
        json!({
            "workload": self.workload,
            "figure": self.figure,
            "unit": self.unit,
            "bound": bound,
            "limit": limit,
            "off": self.off,
            "measured": self.measured,
            "met": self.limit.is_met(self.measured),
        })
    }
}

/// Three digits that matter.
fn rounded(figure: f64) -> String {
    let whole = figure.abs();
    match whole {
        _ if figure.fract() == 0.0 => format!("{figure:.0}"),
        100.0.. => format!("{figure:.0}"),
        10.0.. => format!("{figure:.1}"),
        1.0.. => format!("{figure:.2}"),
        _ => format!("{figure:.3}"),
    }
}

//! Figures that have a limit.

use peers_common::table::Table;
use serde::Serialize;

/// A figure, its limit, and what was measured.
#[derive(Serialize)]
pub struct Figure {
    what: String,
    limit: String,
    measured: String,
    met: bool,
}

/// All figures of a driver.
#[derive(Default, Serialize)]
pub struct Figures(Vec<Figure>);

impl Figures {
    /// Adds a figure that must not exceed `limit`; `unit` follows both numbers. What was not measured is not met.
    pub fn at_most(&mut self, what: &str, measured: Option<f64>, limit: f64, unit: &str) {
        let show = |number: f64| format!("{}{unit}", super::cases::short(number));
        self.0.push(Figure {
            what: what.to_owned(),
            limit: format!("≤ {}", show(limit)),
            measured: measured.map_or_else(|| "never".to_owned(), show),
            met: measured.is_some_and(|measured| measured <= limit),
        });
    }

    /// The figures as a table.
    pub fn table(&self) -> String {
        if self.0.is_empty() {
            return String::new();
        }
        let mut table = Table::new(["figure", "limit", "measured", "met"]);
        for figure in &self.0 {
            let met = if figure.met { "yes" } else { "**no**" };
            table.row([&figure.what, &figure.limit, &figure.measured, met]);
        }
        format!("\n{table}")
    }
}

//! Tables in Markdown.

use std::fmt::{self, Display};

/// A table: the first column to the left, the others to the right.
#[derive(Clone, Debug, Default)]
pub struct Table {
    head: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these headings and no rows.
    pub fn new<S: Into<String>>(head: impl IntoIterator<Item = S>) -> Self {
        Self {
            head: head.into_iter().map(Into::into).collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row; cells that are missing stay empty.
    pub fn row<S: Into<String>>(&mut self, cells: impl IntoIterator<Item = S>) -> &mut Self {
        self.rows.push(cells.into_iter().map(Into::into).collect());
        self
    }
}

impl Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = |f: &mut fmt::Formatter<'_>, cells: &[String]| {
            for i in 0..self.head.len() {
                write!(f, "| {} ", cells.get(i).map_or("", String::as_str))?;
            }
            writeln!(f, "|")
        };
        line(f, &self.head)?;
        for i in 0..self.head.len() {
            f.write_str(if i == 0 { "|---" } else { "|--:" })?;
        }
        writeln!(f, "|")?;
        self.rows.iter().try_for_each(|row| line(f, row))
    }
}

/// A number with about three significant digits.
pub fn short(x: f64) -> String {
    match x.abs() {
        a if a >= 100.0 => format!("{x:.0}"),
        a if a >= 10.0 => format!("{x:.1}"),
        _ => format!("{x:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_as_long_as_the_head() {
        let mut table = Table::new(["a", "b"]);
        table.row(["1"]).row(["2", "3"]);
        assert_eq!(
            table.to_string(),
            "| a | b |\n|---|--:|\n| 1 |  |\n| 2 | 3 |\n"
        );
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!(short(123.4), "123");
        assert_eq!(short(12.34), "12.3");
        assert_eq!(short(1.234), "1.23");
    }
}

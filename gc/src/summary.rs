//! What a heap holds, by type, and what the root's own pointers retain of it.

use std::fmt;

/// Objects, and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Amount {
    /// How many objects.
    pub objects: usize,
    /// The bytes of their cells.
    pub bytes: usize,
}

impl Amount {
    pub(crate) fn add(&mut self, objects: usize, bytes: usize) {
        self.objects += objects;
        self.bytes += bytes;
    }
}

/// What a heap holds of one type.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct TypeSummary {
    /// The type's name, as the compiler gives it. Buffers of collections have one of their own.
    pub name: String,
    /// All objects, garbage that is not yet swept included.
    pub total: Amount,
    /// Those that the root retains: that can be reached from it.
    pub retained: Amount,
}

/// What the pointers of one type that the root itself holds retain.
///
/// Where the root names one object only, as that of most interpreters does, the pointers of that object take its place,
/// and so on.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct RootSummary {
    /// The type of the objects that are pointed to.
    pub name: String,
    /// How many objects of that type the root names.
    pub named: usize,
    /// What is reached through one of them and through nothing else that the root names, they themselves included.
    pub retained: Amount,
}

/// What a heap holds: see [`Arena::heap_summary`](crate::Arena::heap_summary). Its `Display` is a table.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct HeapSummary {
    /// By type, the one with most bytes first.
    pub types: Vec<TypeSummary>,
    /// By what the root names, the one that retains most bytes first.
    pub roots: Vec<RootSummary>,
    /// What is retained by several of the root's pointers, or on the way to them.
    pub shared: Amount,
    /// Bytes that objects declared to own outside the arena.
    pub external_bytes: usize,
}

impl HeapSummary {
    /// All objects.
    #[must_use]
    pub fn total(&self) -> Amount {
        sum(self.types.iter().map(|of| of.total))
    }

    /// All objects that the root retains.
    #[must_use]
    pub fn retained(&self) -> Amount {
        sum(self.types.iter().map(|of| of.retained))
    }

    /// The summary as JSON, with the names of the fields as keys.
    ///
    /// # Panics
    ///
    /// Never: numbers and strings have a form in JSON.
    #[cfg(feature = "json")]
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("numbers and strings have a form in JSON")
    }
}

fn sum(amounts: impl Iterator<Item = Amount>) -> Amount {
    amounts.fold(Amount::default(), |mut sum, next| {
        sum.add(next.objects, next.bytes);
        sum
    })
}

impl fmt::Display for HeapSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.types.iter().map(|of| &of.name);
        let names = names.chain(self.roots.iter().map(|of| &of.name));
        let width = names
            .map(|name| name.chars().count())
            .chain([HEADS.0.len(), HEADS.1.len()])
            .max()
            .unwrap_or(0);
        writeln!(
            f,
            "{:width$} {:>12} {:>14} {:>12} {:>14}",
            HEADS.0, "objects", "bytes", "retained", "bytes"
        )?;
        let mut row = |name: &str, total: Amount, retained: Amount| {
            writeln!(
                f,
                "{name:width$} {:>12} {:>14} {:>12} {:>14}",
                total.objects, total.bytes, retained.objects, retained.bytes
            )
        };
        for of in &self.types {
            row(&of.name, of.total, of.retained)?;
        }
        row("(all)", self.total(), self.retained())?;
        if self.external_bytes != 0 {
            writeln!(
                f,
                "{:width$} {:>12} {:>14}",
                "(external)", "", self.external_bytes
            )?;
        }
        writeln!(
            f,
            "\n{:width$} {:>12} {:>14} {:>12} {:>14}",
            HEADS.1, "named", "", "retained", "bytes"
        )?;
        for of in &self.roots {
            writeln!(
                f,
                "{:width$} {:>12} {:>14} {:>12} {:>14}",
                of.name, of.named, "", of.retained.objects, of.retained.bytes
            )?;
        }
        writeln!(
            f,
            "{:width$} {:>12} {:>14} {:>12} {:>14}",
            "(by several)", "", "", self.shared.objects, self.shared.bytes
        )
    }
}

/// What the tables begin with.
const HEADS: (&str, &str) = ("type", "retained by the root's");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_a_row_for_each_type_and_root() {
        let amount = |objects, bytes| Amount { objects, bytes };
        let summary = HeapSummary {
            types: vec![TypeSummary {
                name: "Node".into(),
                total: amount(3, 48),
                retained: amount(2, 32),
            }],
            roots: vec![RootSummary {
                name: "Node".into(),
                named: 1,
                retained: amount(1, 16),
            }],
            shared: amount(1, 16),
            external_bytes: 5,
        };
        let table = summary.to_string();
        let rows: Vec<Vec<&str>> = table
            .lines()
            .map(|line| line.split_whitespace().collect())
            .collect();
        assert_eq!(rows[1], ["Node", "3", "48", "2", "32"]);
        assert_eq!(rows[2], ["(all)", "3", "48", "2", "32"]);
        assert_eq!(rows[3], ["(external)", "5"]);
        assert_eq!(rows[6], ["Node", "1", "1", "16"]);
        assert_eq!(rows[7], ["(by", "several)", "1", "16"]);
        assert_eq!(rows.len(), 8);
    }
}

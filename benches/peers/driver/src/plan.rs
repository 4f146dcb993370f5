//! Which workloads, with how many threads, on which peers, how often.

use crate::Error;
use peers_common::record::Ready;
use workloads::{WORKLOADS, Workload};

/// One row of the tables.
#[derive(Clone, Copy)]
pub struct Case {
    /// The workload.
    pub workload: &'static Workload,
    /// With how many threads.
    pub threads: usize,
}

impl Case {
    /// How it is called in tables: the threads are said where there are several counts of them.
    pub fn label(&self) -> String {
        format!("{} {}", self.workload.name, self.threads)
    }
}

/// What is run.
pub struct Plan {
    /// The rows.
    pub cases: Vec<Case>,
    /// The columns.
    pub peers: Vec<Ready>,
    /// How often each runs.
    pub rounds: usize,
    /// How much of the default sizes.
    pub percent: usize,
    /// In the last round: how long a process waits before its memory is looked at again.
    pub settle_ms: u64,
}

impl Plan {
    /// The same with one round of tiny sizes, which shows that everything runs.
    pub fn quick(self) -> Self {
        Self {
            rounds: 1,
            percent: 2,
            settle_ms: 1,
            ..self
        }
    }
}

/// The rows that the filters leave; an empty filter leaves all.
///
/// # Errors
/// [`Error::Nothing`].
pub fn cases(only: &[String], threads: &[usize]) -> Result<Vec<Case>, Error> {
    let named = |w: &Workload| only.is_empty() || only.iter().any(|name| name == w.name);
    let asked = |t: usize| threads.is_empty() || threads.contains(&t);
    let cases: Vec<Case> = WORKLOADS
        .iter()
        .filter(|w| named(w))
        .flat_map(|workload| {
            workload
                .threads
                .iter()
                .map(move |&threads| Case { workload, threads })
        })
        .filter(|case| asked(case.threads))
        .collect();
    if cases.is_empty() {
        Err(Error::Nothing)
    } else {
        Ok(cases)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_narrow_the_table() {
        let all = cases(&[], &[]).unwrap().len();
        assert!(all > 40);
        let churn = cases(&["churn".to_owned()], &[2, 4]).unwrap();
        let labels: Vec<String> = churn.iter().map(Case::label).collect();
        assert_eq!(labels, ["churn 2", "churn 4"]);
        assert!(matches!(cases(&["x".to_owned()], &[]), Err(Error::Nothing)));
    }
}

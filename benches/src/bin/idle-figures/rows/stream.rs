//! W1 and W2: a slow stream, with next to nothing alive and beside 200,000 strings.

use crate::lua::LuaRun;
use crate::measure::{Both, Mode, interleaved, median, quantile};
use crate::row::{Limit, Table};
use crate::{Bench, Result};

const CHUNK_BYTES: u32 = 16 * 1024;

/// A stream of so many chunks, and the floor: the same program with a stream of a few.
struct Stream {
    workload: &'static str,
    script: &'static str,
    chunks: u32,
    floor_chunks: u32,
}

/// What a run needed.
struct Memory {
    peak_bytes: f64,
    cpu_ns: f64,
}

impl Memory {
    fn of(run: &LuaRun) -> Self {
        Self {
            peak_bytes: run.stat("peak_resident_bytes"),
            cpu_ns: run.stat("cpu_ns"),
        }
    }
}

impl Stream {
    /// Memory and CPU time, which both workloads are asked for. Returns the runs.
    fn measure(&self, bench: &Bench, table: &mut Table) -> Result<Both<LuaRun>> {
        let run = |mode, chunks: u32| {
            let bytes = (chunks * CHUNK_BYTES).to_string();
            bench.lua.run(mode, self.script, &[&bytes])
        };
        let peak = |run: &LuaRun| run.stat("peak_resident_bytes");
        let floors = interleaved(bench.rounds, |mode| run(mode, self.floor_chunks))?;
        let mut one_generation = Vec::new();
        let runs = interleaved(bench.rounds, |mode| {
            if mode == Mode::On {
                one_generation.push(run(Mode::OneGeneration, self.chunks)?);
            }
            run(mode, self.chunks)
        })?;
        // The floor is that of the program as it would be without sleeping.
        let (floor, _) = floors.medians(peak);
        let (off, on) = runs.medians(peak);
        let mb = |bytes: f64| (bytes - floor) / 1e6;
        table.add(
            self.workload,
            format!("excess over the floor of {:.1} MB", floor / 1e6),
            "MB",
            Limit::AtMost(1.0),
            mb(on),
            Some(mb(off)),
        );
        table.add(
            self.workload,
            "CPU time against off",
            "x",
            Limit::AtMost(1.05),
            runs.ratio(|run| run.stat("cpu_ns")),
            None,
        );
        let plain = Both {
            off: runs.off.iter().map(Memory::of).collect(),
            on: one_generation.iter().map(Memory::of).collect(),
        };
        table.add(
            self.workload,
            "with one generation: excess over the floor",
            "MB",
            Limit::None,
            mb(plain.medians(|run| run.peak_bytes).1),
            None,
        );
        table.add(
            self.workload,
            "with one generation: CPU time against off",
            "x",
            Limit::None,
            plain.ratio(|run| run.cpu_ns),
            None,
        );
        Ok(runs)
    }
}

pub fn w1(bench: &Bench, table: &mut Table) -> Result<()> {
    let stream = Stream {
        workload: "W1",
        script: "http_latency.lua",
        chunks: bench.scaled(6144, 512),
        floor_chunks: 1,
    };
    stream.measure(bench, table).map(drop)
}

pub fn w2(bench: &Bench, table: &mut Table) -> Result<()> {
    let stream = Stream {
        workload: "W2",
        script: "latency_live.lua",
        chunks: bench.scaled(2000, 500),
        floor_chunks: 3,
    };
    let runs = stream.measure(bench, table)?;
    let delays = |runs: &[LuaRun]| -> Vec<f64> {
        // The first wait is for the writer's start.
        let all = runs.iter().map(|run| run.reports("wake_delay_us"));
        all.flat_map(|delays| delays.into_iter().skip(1)).collect()
    };
    let (mut off, mut on) = (delays(&runs.off), delays(&runs.on));
    for (name, q, limit) in [
        ("p50", 0.5, Limit::AtMost(0.0)),
        ("p99", 0.99, Limit::AtMost(20.0)),
        ("p99.9", 0.999, Limit::AtMost(50.0)),
    ] {
        let (off, on) = (quantile(&mut off, q), quantile(&mut on, q));
        let figure = format!("wake delay {name}, beyond off's {off:.0} µs");
        table.add("W2", figure, "µs", limit, on - off, None);
    }
    // A run has too few waits that end in a step for a p99 of its own; so the largest of all runs counts.
    for (name, limit) in [
        ("p50", Limit::None),
        ("p99", Limit::AtMost(20.0)),
        ("max", Limit::AtMost(100.0)),
    ] {
        let path = format!("step_overrun/{name}_ns");
        let us = median(runs.on.iter().map(|run| run.stat(&path) / 1e3));
        table.add(
            "W2",
            format!("step overrun {name}, CPU time"),
            "µs",
            limit,
            us,
            None,
        );
    }
    let share = |run: &LuaRun| {
        // Cycles that the program forced while its live heap was built are not the waits' to avoid.
        let (idle, forced) = (run.stat("collected_ns"), run.report("forced_ns"));
        idle / (idle + forced).max(1.0) * 100.0
    };
    let on_share = median(runs.on.iter().map(share));
    table.add(
        "W2",
        "collection work done in idle",
        "%",
        Limit::AtLeast(99.0),
        on_share,
        None,
    );
    Ok(())
}

//! The ledger as text.

use std::{collections::BTreeMap, fmt::Write as _, time::Duration};

use clap::ValueEnum as _;

use super::{
    LedgerBackend,
    breaker::Breaker,
    change::{Change, changes},
    core::CoreCounters,
    life::Stages,
    watch::Revision,
    withdrawals::{Withdrawal, withdrawals},
    writes::Writes,
};
use crate::{flavour::Flavour, usage::Usage};

/// One life.
pub struct Ledger {
    backend: LedgerBackend,
    flavour: Flavour,
    stages: Vec<Stages>,
    /// Every change, in order.
    pub changes: Vec<Change>,
    /// Core's circuit breaker.
    pub breaker: Breaker,
    /// Core's own counters.
    pub counted: CoreCounters,
    /// CPU of each program.
    pub usage: Usage,
    /// Conditions that were True before.
    pub withdrawals: Vec<Withdrawal>,
    /// By client and resource.
    pub writes: Writes,
}

impl Ledger {
    pub(super) fn new(
        backend: LedgerBackend,
        flavour: Flavour,
        stages: Vec<Stages>,
        mut revisions: Vec<Revision>,
        counted: CoreCounters,
        usage: Usage,
        writes: Writes,
    ) -> Self {
        revisions.sort_by_key(|revision| revision.at);
        let changes = changes(&revisions);
        let breaker = Breaker::fullest(&changes);
        Self {
            backend,
            flavour,
            stages,
            breaker,
            counted,
            usage,
            withdrawals: withdrawals(&revisions),
            changes,
            writes,
        }
    }

    /// `true` if core's breaker opened.
    pub fn opened(&self) -> bool {
        self.breaker.fewest < 0.0 || self.counted.opens > 0
    }

    /// The tables, and every change where that is wanted.
    pub fn text(&self, events: bool) -> String {
        let mut text = String::new();
        let _ = self.write(&mut text, events);
        text
    }

    fn write(&self, text: &mut String, events: bool) -> std::fmt::Result {
        let backend = self.backend.to_possible_value().map(|value| value.get_name().to_owned());
        let kind = match self.flavour {
            Flavour::Claim => "claims",
            Flavour::TestCluster => "TestClusters",
        };
        writeln!(text, "# {} {kind} at once by {}\n", self.stages.len(), backend.unwrap_or_default())?;
        for number in 0..self.stages.first().map_or(0, Vec::len) {
            let mut times: Vec<Duration> = self.stages.iter().map(|stages| stages[number].1).collect();
            times.sort_unstable();
            let [half, all] =
                [times[(times.len() - 1) / 2], times[times.len() - 1]].map(|at| at.as_secs_f64());
            writeln!(text, "half after {half:>6.2} s, all after {all:>6.2} s  {}", self.stages[0][number].0)?;
        }
        writeln!(text)?;
        let Breaker { events: counted, fewest } = self.breaker;
        writeln!(
            text,
            "at most {counted} events to a composite; fewest tokens left in core's circuit breaker: {fewest:.0} of 100"
        )?;
        let CoreCounters { opens, events: results } = &self.counted;
        let by_result: Vec<String> =
            results.iter().map(|(result, count)| format!("{result} {count}")).collect();
        writeln!(text, "core's own counters: {}; the breaker opened {opens} times", by_result.join(", "))?;
        writeln!(text, "{} withdrawals", self.withdrawals.len())?;
        for Withdrawal { at, of, condition, became } in &self.withdrawals {
            writeln!(text, "{:>8.2} s  {of}: {condition} True → {became}", at.as_secs_f64())?;
        }
        let all: Duration = self.usage.0.values().map(|used| used.cpu).sum();
        writeln!(text, "\n{:.1} s of CPU\n\n| program | CPU s |\n|---|---|", all.as_secs_f64())?;
        for (program, used) in &self.usage.0 {
            writeln!(text, "| {program} | {:.1} |", used.cpu.as_secs_f64())?;
        }
        writeln!(text, "\n| object | changed fields | changes | events |\n|---|---|---|---|")?;
        let mut sums: BTreeMap<(&str, String), (u32, u32)> = BTreeMap::new();
        for change in &self.changes {
            let sum = sums.entry((&change.of, change.cause())).or_default();
            *sum = (sum.0 + 1, sum.1 + change.events);
        }
        for ((of, cause), (changes, events)) in sums {
            writeln!(text, "| {of} | {cause} | {changes} | {events} |")?;
        }
        let all: u32 = self.writes.values().map(|count| count.all).sum();
        writeln!(text, "\n{all} writes\n\n| client | write | count | refused |\n|---|---|---|---|")?;
        for ((client, what), count) in &self.writes {
            writeln!(text, "| {client} | {what} | {} | {} |", count.all, count.refused)?;
        }
        if events {
            writeln!(text, "\n| seconds | object | by | events | changed |\n|---|---|---|---|---|")?;
            for Change { at, of, by, paths, events, .. } in &self.changes {
                let (at, by, paths) = (at.as_secs_f64(), by.join(", "), paths.join("; "));
                writeln!(text, "| {at:.3} | {of} | {by} | {events} | {paths} |")?;
            }
        }
        Ok(())
    }
}

//! The figures as tables and as a plot.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    fs,
    time::Duration,
};

use anyhow::Context as _;

use super::{
    Arguments,
    calls::Calls,
    timeline::{Moment, Timeline, percentile},
};
use crate::{
    machine,
    plot::{self, Chart, Line},
    usage::Usage,
};

/// What was seen of a number of claims.
pub struct Report {
    /// How many.
    pub claims: u32,
    /// When what was seen.
    pub timeline: Timeline,
    /// What their lives cost, without their rest.
    pub cpu: Usage,
    /// Who called for that.
    pub calls: Calls,
    /// What it cost that they were there.
    pub rest: Rest,
    /// Everything that was used, at the end.
    pub ended: Usage,
}

/// What it cost that claims were there, while nothing was asked for.
pub struct Rest {
    /// In CPU.
    pub cpu: Usage,
    /// For how long they were looked at.
    pub took: Duration,
    /// In calls.
    pub calls: Calls,
}

/// Between which moments time is told.
const WAITS: [(&str, Moment, Moment); 4] = [
    ("claim made → object on the hub", Moment::Asked, Moment::Remote),
    ("hub's Secret → tenant's Secret", Moment::Published, Moment::Delivered),
    ("credentials in the job's namespace → claim Ready", Moment::Left, Moment::Ready),
    ("told to end → claim Deprovisioned", Moment::Told, Moment::Over),
];

/// Prints all, and writes them into the directory for results; nothing if there is none.
pub fn print(reports: &[Report], arguments: &Arguments) -> anyhow::Result<()> {
    if reports.is_empty() {
        return Ok(());
    }
    let text = text(reports, arguments)?;
    print!("{text}");
    let directory = &arguments.results;
    fs::create_dir_all(directory).with_context(|| format!("cannot make {}", directory.display()))?;
    let file = directory.join("scale.md");
    fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
    let axes = ("claims".to_owned(), "ms of CPU a claim".to_owned());
    let plot = plot::svg("CPU for the life of each claim", &[Chart::Lines { axes, lines: lines(reports) }])?;
    let file = directory.join("scale.svg");
    fs::write(&file, plot).with_context(|| format!("cannot write {}", file.display()))
}

/// What each program costs for each claim: level where cost grows with the number of claims and no faster.
fn lines(reports: &[Report]) -> Vec<Line> {
    let points = |name: &String| {
        let point = |report: &Report| {
            let used = report.cpu.0.get(name)?;
            Some((f64::from(report.claims), used.cpu.as_secs_f64() * 1000.0 / f64::from(report.claims)))
        };
        reports.iter().filter_map(point).collect()
    };
    names(reports).into_iter().map(|name| Line { points: points(&name), name }).collect()
}

fn names(reports: &[Report]) -> BTreeSet<String> {
    reports.iter().flat_map(|report| report.cpu.0.keys().cloned()).collect()
}

fn text(reports: &[Report], arguments: &Arguments) -> anyhow::Result<String> {
    let mut text = String::new();
    let counts: Vec<String> = reports.iter().map(|report| report.claims.to_string()).collect();
    writeln!(text, "# What many claims cost\n")?;
    writeln!(
        text,
        "`cargo run --release -p testplatform-tests --bin scale -- --claims {} --rate {} --rest {} --ttl {}` on {}, on which both \
         control planes, Crossplane, provider-kubernetes, function, provider and those who play Prow run together. \
         {} claims a second are made, become ready and are ended.\n",
        counts.join(","),
        arguments.rate,
        arguments.rest.as_secs(),
        arguments.ttl,
        machine::describe(),
        arguments.rate,
    )?;
    writeln!(text, "## How long a claim takes, median and 99th percentile\n")?;
    head(&mut text, reports)?;
    for (name, from, to) in WAITS {
        row(&mut text, name, reports, |report| {
            let took = report.timeline.between(from, to);
            format!("{}, {}", seconds(percentile(&took, 50)), seconds(percentile(&took, 99)))
        })?;
    }
    writeln!(text, "\n## CPU for the life of each claim, in ms\n")?;
    programs(&mut text, reports, |report, name| {
        let cpu = report.cpu.0.get(name).map_or(Duration::ZERO, |used| used.cpu);
        format!("{:.1}", cpu.as_secs_f64() * 1000.0 / f64::from(report.claims))
    })?;
    writeln!(text, "\n![CPU for the life of each claim](scale.svg)\n")?;
    writeln!(text, "## While all are ready and nothing is asked for, in % of a core\n")?;
    programs(&mut text, reports, |report, name| {
        let cpu = report.rest.cpu.0.get(name).map_or(Duration::ZERO, |used| used.cpu);
        format!("{:.2}", cpu.as_secs_f64() / report.rest.took.as_secs_f64() * 100.0)
    })?;
    writeln!(text, "\n## The most memory, in MiB\n")?;
    programs(&mut text, reports, |report, name| {
        let peak = report.ended.0.get(name).map_or(0, |used| used.peak);
        format!("{}", peak >> 20)
    })?;
    writeln!(text, "\n## Calls to the API servers for the life of each claim\n")?;
    calls(&mut text, reports, |report| (&report.calls, f64::from(report.claims)))?;
    writeln!(text, "\n## Calls a minute while nothing is asked for\n")?;
    calls(&mut text, reports, |report| (&report.rest.calls, report.rest.took.as_secs_f64() / 60.0))?;
    Ok(text)
}

fn calls(text: &mut String, reports: &[Report], of: impl Fn(&Report) -> (&Calls, f64)) -> anyhow::Result<()> {
    head(text, reports)?;
    let mut who: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (client, verb) in reports.iter().flat_map(|report| of(report).0.0.keys()) {
        who.entry(client).or_default().insert(verb);
    }
    for (client, verbs) in who {
        for verb in verbs {
            row(text, &format!("{client}: {verb}"), reports, |report| {
                let (calls, among) = of(report);
                let count = calls.0.get(&(client.to_owned(), verb.to_owned())).copied().unwrap_or_default();
                format!("{:.2}", f64::from(count) / among)
            })?;
        }
    }
    Ok(())
}

fn row(
    text: &mut String,
    name: &str,
    reports: &[Report],
    cell: impl Fn(&Report) -> String,
) -> anyhow::Result<()> {
    let cells: Vec<String> = reports.iter().map(cell).collect();
    Ok(writeln!(text, "| {name} | {} |", cells.join(" | "))?)
}

/// A table with a row for each program.
fn programs(
    text: &mut String,
    reports: &[Report],
    cell: impl Fn(&Report, &str) -> String,
) -> anyhow::Result<()> {
    head(text, reports)?;
    for name in names(reports) {
        row(text, &name, reports, |report| cell(report, &name))?;
    }
    Ok(())
}

fn head(text: &mut String, reports: &[Report]) -> anyhow::Result<()> {
    row(text, "claims", reports, |report| report.claims.to_string())?;
    Ok(writeln!(text, "| --- |{}", " ---: |".repeat(reports.len()))?)
}

fn seconds(took: Option<Duration>) -> String {
    took.map_or_else(|| "never".to_owned(), |took| format!("{:.2} s", took.as_secs_f64()))
}

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
    cost::{self, Dwelt},
    meter::Span,
    timeline::{Moment, Timeline, percentile},
};
use crate::{
    machine, nest,
    plot::{self, Chart, Line},
    usage::Usage,
};

/// Measurements with one number of claims.
pub struct Report {
    /// How many.
    pub claims: u32,
    /// When what was seen.
    pub timeline: Timeline,
    /// All that was done for them, from the first that was asked for to the last that was gone.
    pub life: Span,
    /// A time before there was any.
    pub idle: Span,
    /// A time in which all waited for their clusters.
    pub provisioning: Span,
    /// A time in which all were ready.
    pub ready: Span,
    /// For how long they were there while others were asked for.
    pub dwelt: Dwelt,
    /// `true` if Crossplane had done its postponed work before either rest was measured.
    pub calm: bool,
    /// Everything that was used, at the end.
    pub used: Usage,
}

/// Between which moments time is told.
const WAITS: [(&str, Moment, Moment); 4] = [
    ("claim made → object on the hub", Moment::Asked, Moment::Remote),
    ("hub's Secret → tenant's Secret", Moment::Published, Moment::Delivered),
    ("credentials in the job's namespace → claim Ready", Moment::Left, Moment::Ready),
    ("told to end → claim Deprovisioned", Moment::Told, Moment::Over),
];

/// Prints all, and writes them into the directory for results if there is one; nothing if there are none. Says whether our programs' cost grows with
/// the number of claims, and no faster.
pub fn print(reports: &[Report], arguments: &Arguments) -> anyhow::Result<bool> {
    let linear = cost::growth(reports).iter().all(|growth| growth.linear);
    if reports.is_empty() {
        return Ok(linear);
    }
    let text = text(reports, arguments)?;
    print!("{text}");
    let Some(directory) = &arguments.results else { return Ok(linear) };
    fs::create_dir_all(directory).with_context(|| format!("cannot make {}", directory.display()))?;
    let file = directory.join(format!("{}.md", arguments.name));
    fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
    let axes = ("claims".to_owned(), "ms of CPU a claim".to_owned());
    let plot = plot::svg("CPU for the life of each claim", &[Chart::Lines { axes, lines: lines(reports) }])?;
    let file = directory.join(format!("{}.svg", arguments.name));
    fs::write(&file, plot).with_context(|| format!("cannot write {}", file.display()))?;
    Ok(linear)
}

/// Cost of each program for each claim: a level line where cost grows with the number of claims and no faster.
fn lines(reports: &[Report]) -> Vec<Line> {
    let points = |name: &String| {
        let point = |report: &Report| (f64::from(report.claims), cost::life(report, name) * 1000.0);
        reports.iter().map(point).collect()
    };
    names(reports).into_iter().map(|name| Line { points: points(&name), name }).collect()
}

fn names(reports: &[Report]) -> BTreeSet<String> {
    reports.iter().flat_map(|report| report.life.cpu.0.keys().cloned()).collect()
}

fn text(reports: &[Report], arguments: &Arguments) -> anyhow::Result<String> {
    let mut text = String::new();
    let counts: Vec<String> = reports.iter().map(|report| report.claims.to_string()).collect();
    writeln!(text, "# Cost of many claims\n")?;
    writeln!(
        text,
        "`cargo run --release -p testplatform-tests --bin scale -- --claims {} --rate {} --burst {} --rest {} --ttl {}` on {}, on which both \
         control planes, Crossplane, provider-kubernetes, function, provider and those who play Prow run together. \
         {} claims a second are made, become ready and are ended.\n",
        counts.join(","),
        arguments.rate,
        arguments.burst,
        arguments.rest.as_secs(),
        arguments.ttl,
        machine::describe(),
        arguments.rate,
    )?;
    let go: Vec<String> =
        nest::of_go().into_iter().map(|(name, value)| format!("`{name}={value}`")).collect();
    if !go.is_empty() {
        writeln!(
            text,
            "Programs in Go run with {}, which costs less CPU and more memory than if nothing is said.\n",
            go.join(" and ")
        )?;
    }
    writeln!(text, "## How long a claim takes, median and 99th percentile\n")?;
    head(&mut text, reports)?;
    for (name, from, to) in WAITS {
        row(&mut text, name, reports, |report| {
            let took = report.timeline.between(from, to);
            format!("{}, {}", seconds(percentile(&took, 50)), seconds(percentile(&took, 99)))
        })?;
    }
    writeln!(text, "\n## CPU for the life of each claim, in ms\n")?;
    programs(&mut text, reports, |report, name| format!("{:.1}", cost::life(report, name) * 1000.0))?;
    growth(&mut text, reports)?;
    for report in reports.iter().filter(|report| !report.calm) {
        writeln!(
            text,
            "\nWith {} claims Crossplane had not done what it had put off when rests were measured: lives come out too cheap.",
            report.claims
        )?;
    }
    writeln!(text, "\n![CPU for the life of each claim](scale.svg)\n")?;
    writeln!(text, "## CPU for each claim that is there, in ms a minute\n")?;
    writeln!(
        text,
        "While nothing is asked for, and beyond what is used when there is none: while all wait for their clusters, and while all \
         are ready. It is not a part of the lives above, which last the longer the more claims there are.\n"
    )?;
    programs(&mut text, reports, |report, name| {
        let minute = |rest| cost::standing(report, rest, name) * 60_000.0;
        format!("{:.1}, {:.1}", minute(&report.provisioning), minute(&report.ready))
    })?;
    writeln!(text, "\n## While there is no claim, in % of a core\n")?;
    programs(&mut text, reports, |report, name| format!("{:.2}", cost::share(&report.idle, name) * 100.0))?;
    writeln!(text, "\n## The most memory, in MiB\n")?;
    programs(&mut text, reports, |report, name| {
        let peak = report.used.0.get(name).map_or(0, |used| used.peak);
        format!("{}", peak >> 20)
    })?;
    writeln!(
        text,
        "\n## Calls to the API servers for the life of each claim, looks while it is there included\n"
    )?;
    calls(&mut text, reports, |report| (&report.life.calls, f64::from(report.claims)))?;
    for (what, rest) in [
        ("all wait for their clusters", (|report| &report.provisioning) as fn(&Report) -> &Span),
        ("all are ready", |report| &report.ready),
    ] {
        writeln!(text, "\n## Calls a minute while {what}\n")?;
        calls(&mut text, reports, |report| (&rest(report).calls, rest(report).took.as_secs_f64() / 60.0))?;
    }
    Ok(text)
}

/// `true` if our programs cost more for each claim the more there are.
fn growth(text: &mut String, reports: &[Report]) -> anyhow::Result<()> {
    for growth in cost::growth(reports) {
        writeln!(
            text,
            "\n{}: a life with the most claims costs {:.2} times what one with the fewest does{}.",
            growth.program,
            growth.ratio,
            if growth.linear { "" } else { ", **which is too much**" }
        )?;
    }
    Ok(())
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

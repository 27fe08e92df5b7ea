//! Cost of a call of the function, beside one that does nothing and beside other functions: the program behind
//! `cargo run --release -p testplatform-tests --bin load`.
//!
//! ```text
//! Arguments ──requests──▶ a request ──servers──▶ processes ──client──▶ Figures ──report, plot──▶ table and plot
//! ```
//!
//! Servers have turns in each round, so that all of them have the same neighbours; ratios between them are the firmest
//! figures, then CPU. Each is a process of its own, and the client sends prepared bytes.

mod arguments;
mod client;
mod figures;
mod noop;
mod plot;
mod report;
mod requests;
mod servers;
mod trees;

use std::{env, fs, process::ExitCode, time::Instant};

use anyhow::Context as _;
pub use arguments::Arguments;
use arguments::{Command, Measure};
use figures::{Figures, Look, Series, Turn};
use jiff::Timestamp;
use servers::Server;
use tokio::runtime::Runtime;

use crate::{machine, nest::Nest, observed::Observed};

/// How often memory is looked at in the long run.
const LOOKS: u64 = 10;

/// Measures, prints and writes.
pub fn main(arguments: &Arguments) -> ExitCode {
    let result = Runtime::new().map_err(Into::into).and_then(|runtime| match &arguments.command {
        Some(Command::Noop(noop)) => runtime.block_on(noop::serve(noop)).map(|()| true),
        None => runtime.block_on(run(&arguments.measure)),
    });
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// Returns `true` if the targets hold, or are not judged.
async fn run(measure: &Measure) -> anyhow::Result<bool> {
    let asked = requests::named(&measure.request, measure.bare, now())?;
    let nest = Nest::new("load", None)?;
    let machine = machine::describe();
    let servers = servers::start(&nest, measure, &asked).await?;
    let mut figures = Figures {
        request: asked.name,
        bytes: asked.bytes.len(),
        concurrency: measure.concurrency,
        calls: measure.calls,
        machine,
        series: servers.iter().map(|s| Series { name: s.name.clone(), ..Series::default() }).collect(),
        soak: vec![],
    };
    for round in 0..measure.rounds {
        for at in order(servers.len(), round) {
            figures.series[at].turns.push(turn(&servers[at], measure).await?);
        }
        eprintln!("round {} of {}", round + 1, measure.rounds);
    }
    figures.soak = soak(&servers[0], measure).await?;
    for (series, server) in figures.series.iter_mut().zip(&servers) {
        series.high_water = server.process.map(Observed::peak).transpose()?;
    }
    let text = report::markdown(&figures, &command());
    print!("{text}");
    if let Some(output) = &measure.output {
        fs::create_dir_all(output).with_context(|| format!("cannot make {}", output.display()))?;
        for (extension, content) in [("md", &text), ("svg", &plot::svg(&figures)?)] {
            let path = output.join(&measure.name).with_extension(extension);
            fs::write(&path, content).with_context(|| format!("cannot write {}", path.display()))?;
        }
    }
    Ok(cfg!(debug_assertions) || figures.targets().iter().all(|target| target.held))
}

/// Whose turn it is: in every other round the other way round, so that nobody always follows the same one.
fn order(servers: usize, round: u32) -> Vec<usize> {
    if round.is_multiple_of(2) { (0..servers).collect() } else { (0..servers).rev().collect() }
}

async fn turn(server: &Server, measure: &Measure) -> anyhow::Result<Turn> {
    let call = |calls| server.client.drive(&server.request, calls, measure.concurrency);
    call((measure.calls / 20).max(1)).await?; // what a pause costs is not to be seen
    let cpu = || server.process.map(Observed::cpu).transpose();
    let (before, start) = (cpu()?, Instant::now());
    let mut latencies = call(measure.calls).await?;
    let elapsed = start.elapsed();
    let cpu = cpu()?.zip(before).map(|(after, before)| after.saturating_sub(before));
    latencies.sort_unstable();
    let resident = server.process.map(Observed::resident).transpose()?;
    Ok(Turn { latencies, elapsed, cpu, resident })
}

/// Many calls, and what they leave behind.
async fn soak(server: &Server, measure: &Measure) -> anyhow::Result<Vec<Look>> {
    let mut looks = Vec::new();
    let Some(process) = server.process.filter(|_| measure.soak > 0) else { return Ok(looks) };
    for part in 1..=LOOKS {
        let (before, calls) = (measure.soak * (part - 1) / LOOKS, measure.soak * part / LOOKS);
        server.client.drive(&server.request, calls - before, measure.concurrency).await?;
        looks.push(Look { calls, resident: process.resident()? });
        eprintln!("{calls} calls: {}", figures::mib(process.resident()?));
    }
    Ok(looks)
}

/// The command line as users write it, without the paths of this machine.
fn command() -> String {
    let shown = |word: String| match word.rsplit_once('/') {
        Some((before, name)) if word.starts_with('/') && !before.is_empty() => name.to_owned(),
        _ => word,
    };
    let words: Vec<_> = env::args().skip(1).map(shown).collect();
    let rest = if words.is_empty() { String::new() } else { format!(" -- {}", words.join(" ")) };
    format!("cargo run --release -p testplatform-tests --bin load{rest}")
}

#[expect(clippy::disallowed_methods, reason = "servers have a real clock, and requests are made for it")]
fn now() -> Timestamp {
    Timestamp::now()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_has_a_turn_in_each_round_and_the_order_changes() {
        assert_eq!((order(3, 0), order(3, 1)), (vec![0, 1, 2], vec![2, 1, 0]));
    }
}

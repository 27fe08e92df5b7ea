//! Many claims on the real engine: how long each takes, what each costs, and whether that grows with their number.
//!
//! ```text
//! main ──▶ run, one engine per number of claims
//!            ├─ crowd (makes claims, ends them)     ├─ timeline (when what was seen)
//!            └─ workers (Prow and ci-operator)      └─ meter (usage, calls) ──▶ cost ──▶ report
//! ```
//!
//! Everything arrives at a steady rate, because that is what is asked: how long does a claim take among so many others,
//! and not how long does a queue take that the measurement made itself.

mod arguments;
pub(crate) mod calls;
mod cost;
mod crowd;
mod meter;
mod report;
mod timeline;
mod workers;

use std::{
    process::ExitCode,
    time::{Duration, Instant},
};

use anyhow::Context as _;
use serde_json::json;
use tokio::runtime::Runtime;

pub use arguments::Arguments;
use cost::Dwelt;
use crowd::Crowd;
use meter::{Meter, Span};
use report::Report;
use timeline::Moment;

use crate::{command_line::exit_code, crossplane::Engine, function};

/// How long claims are left alone, again and again, until their rest is looked at.
const SETTLE: Duration = Duration::from_secs(10);
/// Share of a core below which the function is at rest.
const CALM: f64 = 0.01;
/// Limit of the wait for that. Measurements that took hours are kept nevertheless, but the report says so.
const PATIENCE: Duration = Duration::from_mins(20);

/// Runs it. 0: done. 1: something did not become as it should, a life costs more the more claims there are, or it cannot be
/// tried.
pub fn main(arguments: &Arguments) -> ExitCode {
    let measured = || -> anyhow::Result<bool> {
        let runtime = Runtime::new().context("cannot start")?;
        let mut reports = Vec::new();
        for &claims in &arguments.claims {
            match runtime.block_on(Box::pin(run(claims, arguments))) {
                Ok(report) => reports.push(report),
                // The earlier steps may have taken hours.
                Err(error) => {
                    report::print(&reports, arguments)?;
                    return Err(error.context(format!("{claims} claims")));
                }
            }
        }
        report::print(&reports, arguments)
    };
    exit_code(measured())
}

async fn run(claims: u32, arguments: &Arguments) -> anyhow::Result<Report> {
    let engine = Engine::start_audited(&|_| ()).await?;
    let measured = measure(&engine, claims, arguments).await;
    measured.inspect_err(|_| eprintln!("{}", engine.words()))
}

/// Usage until Crossplane has processed its own writes, at least. A busy machine puts much of that off; it would count as rest, and be
/// missing from the lives that caused it. The second value is `true` if the machine came to rest.
async fn settled(meter: &mut Meter) -> anyhow::Result<(Span, bool)> {
    let (mut used, begun) = (meter.look().await?, Instant::now());
    loop {
        tokio::time::sleep(SETTLE).await;
        let last = meter.look().await?;
        let share = cost::share(&last, function::NAME);
        used = used.plus(&last);
        if share < CALM {
            return Ok((used, true));
        }
        let waited = begun.elapsed();
        eprintln!(
            "Crossplane is still at work after {} s: the function takes {:.1} % of a core",
            waited.as_secs(),
            share * 100.0
        );
        if waited >= PATIENCE {
            return Ok((used, false));
        }
    }
}

/// The whole life of that many.
async fn measure(engine: &Engine, claims: u32, arguments: &Arguments) -> anyhow::Result<Report> {
    engine.configure(&json!({ "ttl": arguments.ttl.to_string() })).await?;
    let crowd = Crowd::new(engine, claims, arguments.rate, arguments.burst).await?;
    let mut meter = Meter::start(engine).await?;
    tokio::time::sleep(arguments.rest).await;
    let idle = meter.look().await?;

    crowd.ask().await?;
    crowd.until_all(Moment::Provisioning).await?;
    let (asked, calm_asked) = settled(&mut meter).await?;
    tokio::time::sleep(arguments.rest).await;
    let provisioning = meter.look().await?;

    crowd.give().await?;
    crowd.until_all(Moment::Ready).await?;
    crowd.until_all(Moment::Delivered).await?;
    let (made, calm_made) = settled(&mut meter).await?;
    tokio::time::sleep(arguments.rest).await;
    let ready = meter.look().await?;

    crowd.end().await?;
    crowd.until_all(Moment::Over).await?;
    crowd.delete().await?;
    let ended = meter.look().await?;
    engine.check()?;
    let timeline = crowd.timeline();
    let dwelt = Dwelt::of(&timeline, claims, &provisioning, &ready);
    let (life, used) = (asked.plus(&made).plus(&ended), meter.used().clone());
    let calm = calm_asked && calm_made;
    Ok(Report { claims, timeline, life, idle, provisioning, ready, dwelt, calm, used })
}

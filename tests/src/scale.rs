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
mod calls;
mod cost;
mod crowd;
mod meter;
mod report;
mod timeline;
mod workers;

use std::{process::ExitCode, time::Duration};

use anyhow::Context as _;
use serde_json::json;
use tokio::runtime::Runtime;

pub use arguments::Arguments;
use cost::Dwelt;
use crowd::Crowd;
use meter::Meter;
use report::Report;
use timeline::Moment;

use crate::crossplane::Engine;

/// How long claims are left alone before their rest is looked at.
const SETTLE: Duration = Duration::from_secs(10);

/// Runs it. 0: done. 1: something did not become as it should, a life costs more the more claims there are, or it cannot be
/// tried.
pub fn main(arguments: &Arguments) -> ExitCode {
    let measured = || -> anyhow::Result<bool> {
        let runtime = Runtime::new().context("cannot start")?;
        let mut reports = Vec::new();
        for &claims in &arguments.claims {
            match runtime.block_on(Box::pin(run(claims, arguments))) {
                Ok(report) => reports.push(report),
                // What was seen before took hours perhaps.
                Err(error) => {
                    report::print(&reports, arguments)?;
                    return Err(error.context(format!("{claims} claims")));
                }
            }
        }
        report::print(&reports, arguments)
    };
    match measured() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run(claims: u32, arguments: &Arguments) -> anyhow::Result<Report> {
    let engine = Engine::start_audited(&|_| ()).await?;
    let measured = measure(&engine, claims, arguments).await;
    measured.inspect_err(|_| eprintln!("{}", engine.words()))
}

/// The whole life of that many.
async fn measure(engine: &Engine, claims: u32, arguments: &Arguments) -> anyhow::Result<Report> {
    engine.configure(&json!({ "ttl": arguments.ttl.to_string() })).await?;
    let crowd = Crowd::new(engine, claims, arguments.rate).await?;
    let mut meter = Meter::start(engine).await?;
    tokio::time::sleep(arguments.rest).await;
    let idle = meter.look().await?;

    crowd.ask().await?;
    crowd.until_all(Moment::Provisioning).await?;
    // Until Crossplane has looked at what it wrote itself.
    tokio::time::sleep(SETTLE).await;
    let asked = meter.look().await?;
    tokio::time::sleep(arguments.rest).await;
    let provisioning = meter.look().await?;

    crowd.give().await?;
    crowd.until_all(Moment::Ready).await?;
    crowd.until_all(Moment::Delivered).await?;
    tokio::time::sleep(SETTLE).await;
    let made = meter.look().await?;
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
    Ok(Report { claims, timeline, life, idle, provisioning, ready, dwelt, used })
}

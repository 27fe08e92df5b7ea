//! Many claims on the real engine: how long each takes, what each costs, and whether that grows with their number.
//!
//! ```text
//! main ──▶ run, one engine per number of claims
//!            ├─ crowd (makes claims, ends them)     ├─ timeline (when what was seen)
//!            └─ workers (Prow and ci-operator)      └─ usage, calls (what it cost) ──▶ report
//! ```
//!
//! Everything arrives at a steady rate, because that is what is asked: how long does a claim take among so many others,
//! and not how long does a queue take that the measurement made itself.

mod arguments;
mod calls;
mod crowd;
mod report;
mod timeline;
mod workers;

use std::{process::ExitCode, time::Duration};

use anyhow::Context as _;
use serde_json::json;
use tokio::runtime::Runtime;

pub use arguments::Arguments;
use calls::{Calls, Log};
use crowd::Crowd;
use report::{Report, Rest};
use timeline::Moment;

use crate::{crossplane::Engine, usage::Usage};

/// How long claims are left alone before their rest is looked at.
const SETTLE: Duration = Duration::from_secs(10);

/// Runs it. 0: done. 1: something did not become as it should, or it cannot be tried.
pub fn main(arguments: &Arguments) -> ExitCode {
    let measured = || -> anyhow::Result<()> {
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
        Ok(()) => ExitCode::SUCCESS,
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
    let mut logs = [Log::new(engine.konflux.audit_log()), Log::new(engine.hub.audit_log())];
    let mut read = async || -> anyhow::Result<Calls> {
        // They are written in batches, the last one within this time.
        tokio::time::sleep(Duration::from_secs(2)).await;
        let mut calls = Calls::default();
        for log in &mut logs {
            log.read(&mut calls)?;
        }
        Ok(calls)
    };
    read().await?;
    let before = Usage::now()?;

    crowd.ask().await?;
    crowd.until_all(Moment::Provisioning).await?;
    crowd.give().await?;
    crowd.until_all(Moment::Ready).await?;
    crowd.until_all(Moment::Delivered).await?;
    // Until Crossplane has looked at what it wrote itself.
    tokio::time::sleep(SETTLE).await;
    let (mut calls, made) = (read().await?, Usage::now()?);

    let begun = std::time::Instant::now();
    tokio::time::sleep(arguments.rest).await;
    let rested = Usage::now()?;
    let rest = Rest { cpu: rested.since(&made), took: begun.elapsed(), calls: read().await? };

    let rested = Usage::now()?;
    crowd.end().await?;
    crowd.until_all(Moment::Over).await?;
    crowd.delete().await?;
    calls.add(&read().await?);
    let ended = Usage::now()?;
    engine.check()?;
    let cpu = made.since(&before).plus(&ended.since(&rested));
    Ok(Report { claims, timeline: crowd.timeline(), cpu, calls, rest, ended })
}

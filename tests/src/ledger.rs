//! What one life of a claim costs: every change of the composite, its Objects and the claim, who made it, and how many events that is to
//! core's circuit breaker.
//!
//! ```text
//! main ──▶ life (asks, waits, ends) ──▶ engine
//!            watch (every revision) ──▶ change (differences, pure) ──▶ breaker, withdrawals ──▶ report
//!            audit log ──▶ writes (by client and resource) ─────────────────────────────────────▶ report
//! ```
//!
//! The engine runs with core's default settings unless the command line has others.

mod arguments;
mod breaker;
mod change;
mod core;
mod life;
mod report;
mod silence;
mod watch;
mod withdrawals;
mod writes;

use std::{process::ExitCode, time::Duration};

use anyhow::{Context as _, ensure};
use futures_util::future::try_join_all;
use tokio::runtime::Runtime;

pub use arguments::{Arguments, LedgerBackend};
pub use breaker::Breaker;
pub use change::{Change, changes};
pub use report::Ledger;
pub use silence::changes_at_rest;
pub use watch::{Revision, Watched};
pub use withdrawals::{Withdrawal, withdrawals};

use crate::{command_line::exit_code, crossplane::Engine, usage::Usage};

/// Audit logs are written in batches, the last one within this time.
const BATCH: Duration = Duration::from_secs(2);

/// Runs it. 0: done. 1: the life did not come to its end, core's breaker opened, or a condition was withdrawn.
pub fn main(arguments: &Arguments) -> ExitCode {
    let measured = || -> anyhow::Result<bool> {
        let runtime = Runtime::new().context("cannot start")?;
        let ledger = runtime.block_on(Box::pin(run(arguments)))?;
        print!("{}", ledger.text(arguments.events));
        Ok(!ledger.opened() && ledger.withdrawals.is_empty())
    };
    exit_code(measured())
}

async fn run(arguments: &Arguments) -> anyhow::Result<Ledger> {
    let arguments_of_core = arguments.core_arguments.clone();
    let engine = Engine::start_audited_with_core_arguments(arguments_of_core, &|_| ()).await?;
    let measured = measure(&engine, arguments).await;
    measured.inspect_err(|_| eprintln!("{}", engine.words()))
}

/// Lives by one backend, on an engine that is audited.
pub async fn measure(engine: &Engine, arguments: &Arguments) -> anyhow::Result<Ledger> {
    let Arguments { backend, ready_for, claims, .. } = *arguments;
    let flavour = arguments.flavour();
    // Its definitions and controllers are there before the first revision is noted.
    let tenants = life::prepare(engine, backend, flavour, claims).await?;
    tokio::time::sleep(BATCH).await;
    let mut writes = writes::AuditLogs::from_now_on(engine)?;
    let before = core::CoreCounters::read(engine).await?;
    let usage = Usage::now()?;
    let watch = watch::Watch::start(engine.konflux.cluster(), flavour);
    let stages = try_join_all(tenants.iter().map(|tenant| life::play(tenant, ready_for))).await?;
    tokio::time::sleep(BATCH).await;
    let usage = Usage::now()?.since(&usage);
    let writes = writes.read()?;
    engine.check()?;
    let counted = core::CoreCounters::read(engine).await?.since(&before);
    ensure!(counted.events.values().any(|count| *count > 0), "core's metrics have no events of its breaker");
    Ok(Ledger::new(backend, flavour, stages, watch.revisions(), counted, usage, writes))
}

//! Cost of one life of a claim: every change of the composite, its Objects and the claim, who made it, and how many events it adds to
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
mod incumbent;
mod life;
mod observation;
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
pub use observation::{Observation, Observed};
pub use report::Ledger;
pub use silence::changes_at_rest;
pub use watch::{Revision, Watched};
pub use withdrawals::{Withdrawal, withdrawals};
pub use writes::{Count, Writes};

use crate::{command_line::exit_code, crossplane::Engine, flavour::Flavour, usage::Usage};

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
    let incumbent = if arguments.incumbent { Some(incumbent::serve(&engine).await?) } else { None };
    let measured = measure(&engine, arguments).await;
    drop(incumbent);
    measured.inspect_err(|_| eprintln!("{}", engine.words()))
}

/// Lives by one backend, on an engine that is audited.
async fn measure(engine: &Engine, arguments: &Arguments) -> anyhow::Result<Ledger> {
    let Arguments { backend, ready_for, claims, .. } = *arguments;
    let flavour = arguments.flavour();
    // Its definitions and controllers are there before the first revision is noted.
    let tenants = life::prepare(engine, backend, flavour, claims).await?;
    let composition = arguments.incumbent.then_some(incumbent::NAME);
    tokio::time::sleep(BATCH).await;
    let writes = writes::AuditLogs::from_now_on(engine)?;
    let before = core::CoreCounters::read(engine).await?;
    let usage = Usage::now()?;
    let watch = watch::Watch::start(engine.konflux.cluster(), &[flavour]);
    let stages =
        try_join_all(tenants.iter().map(|tenant| life::play(tenant, composition, ready_for))).await?;
    tokio::time::sleep(BATCH).await;
    let usage = Usage::now()?.since(&usage);
    let writes = writes::sum(&writes.read()?);
    engine.check()?;
    let counted = core::CoreCounters::read(engine).await?.since(&before);
    ensure!(counted.events.values().any(|count| *count > 0), "core's metrics have no events of its breaker");
    Ok(Ledger::new(backend, flavour, stages, watch.revisions(), counted, usage, writes))
}

/// Cost of one life among several that are played at the same time.
pub struct Share {
    /// By which backend.
    pub backend: LedgerBackend,
    /// How the tenant asked.
    pub flavour: Flavour,
    /// Core's circuit breaker.
    pub breaker: Breaker,
    /// Writes on objects of this life: in the tenant's namespace, or named after the claim.
    pub writes: Writes,
    /// Conditions that were True before.
    pub withdrawals: Vec<Withdrawal>,
    /// Every change, in order.
    pub changes: Vec<Change>,
}

impl Share {
    /// All writes, refused ones included.
    pub fn count_writes(&self) -> u32 {
        self.writes.values().map(|count| count.all).sum()
    }
}

/// One life by each backend, all at the same time, on an engine that is audited.
pub async fn measure_each(
    engine: &Engine,
    lives: &[(LedgerBackend, Flavour)],
    ready_for: Duration,
) -> anyhow::Result<Vec<Share>> {
    let mut tenants = Vec::new();
    for (backend, flavour) in lives {
        tenants.extend(life::prepare(engine, *backend, *flavour, 1).await?);
    }
    tokio::time::sleep(BATCH).await;
    let writes = writes::AuditLogs::from_now_on(engine)?;
    let watch = watch::Watch::start(engine.konflux.cluster(), &[Flavour::Claim, Flavour::TestCluster]);
    try_join_all(tenants.iter().map(|tenant| life::play(tenant, None, ready_for))).await?;
    tokio::time::sleep(BATCH).await;
    engine.check()?;
    let (writes, mut revisions) = (writes.read()?, watch.revisions());
    revisions.sort_by_key(|revision| revision.at);
    let shares = tenants.iter().zip(lives).map(|(tenant, &(backend, flavour))| {
        let (namespace, name) = (tenant.namespace.as_str(), tenant.name.as_str());
        let own: Vec<Revision> =
            revisions.iter().filter(|revision| revision.is_of(namespace, name)).cloned().collect();
        let changes = changes(&own);
        Share {
            backend,
            flavour,
            breaker: Breaker::fullest(&changes),
            writes: writes::sum(writes.iter().filter(|write| write.is_of(namespace, name))),
            withdrawals: withdrawals(&own),
            changes,
        }
    });
    Ok(shares.collect())
}

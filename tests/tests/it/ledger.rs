//! What lives of claims cost core and the API servers at core's default settings, held by budgets.

use std::time::Duration;

use anyhow::ensure;
use testplatform_tests::{
    crossplane::Engine,
    flavour::Flavour,
    ledger::{Arguments, LedgerBackend, changes_at_rest, measure},
};

/// The most events to core's circuit breaker in one life, and the most writes of all clients, refused ones included. Core lets a composite have 100
/// events at once and one more each second; these lives take a minute.
const BUDGETS: [(LedgerBackend, Flavour, u32, u32); 7] = [
    (LedgerBackend::CiOperator, Flavour::Claim, 115, 320),
    (LedgerBackend::CiOperator, Flavour::TestCluster, 120, 240),
    (LedgerBackend::ClusterClaim, Flavour::Claim, 145, 460),
    (LedgerBackend::HyperShift, Flavour::Claim, 190, 600),
    (LedgerBackend::ClusterApi, Flavour::Claim, 165, 500),
    (LedgerBackend::Osac, Flavour::Claim, 205, 600),
    (LedgerBackend::Caas, Flavour::Claim, 215, 690),
];
/// provider-kubernetes does not believe that a remote object is gone within 30 s after its creation, so a teardown before that waits for a poll.
const READY_FOR: Duration = Duration::from_secs(32);
/// Two polls of core and of provider-kubernetes.
const AT_REST: Duration = Duration::from_mins(2);

/// Each backend makes a cluster and ends it, and no condition is withdrawn; then one claim of each rests. Core's breaker is wide open, so that lives of
/// seconds follow each other; the ledger counts what a breaker at its default would.
pub async fn lives_within_budgets_and_silence_between_with_a_wide_breaker() -> anyhow::Result<()> {
    let engine = Engine::start_audited(&|_| ()).await?;
    let checked = check(&engine).await;
    checked.inspect_err(|_| eprintln!("{}", engine.words()))
}

async fn check(engine: &Engine) -> anyhow::Result<()> {
    let mut exceeded = Vec::new();
    for (backend, flavour, events, writes) in BUDGETS {
        let arguments = Arguments {
            backend,
            claims: 1,
            test_clusters: flavour == Flavour::TestCluster,
            core_arguments: Vec::new(),
            ready_for: READY_FOR,
            events: false,
        };
        let ledger = measure(engine, &arguments).await?;
        let written: u32 = ledger.writes.values().map(|count| count.all).sum();
        eprintln!(
            "{} {flavour:?}: {} events of {events}, {written} writes of {writes}, {} withdrawals",
            backend.name(),
            ledger.breaker.events,
            ledger.withdrawals.len()
        );
        if ledger.breaker.events > events || written > writes || !ledger.withdrawals.is_empty() {
            exceeded.push(ledger.text(true));
        }
    }
    ensure!(exceeded.is_empty(), "over its budget:\n{}", exceeded.join("\n"));
    let changes = changes_at_rest(engine, &LedgerBackend::EACH, AT_REST).await?;
    ensure!(
        changes.is_empty(),
        "changed within {AT_REST:?} although nothing happened:\n{}",
        changes.join("\n")
    );
    Ok(())
}

//! Budgets of events and writes for one life of a claim, and silence of claims at rest.

use std::time::Duration;

use anyhow::ensure;
use testplatform_tests::{
    crossplane::Engine,
    flavour::Flavour,
    ledger::{LedgerBackend, changes_at_rest, measure_each},
};

/// For each backend: the most events that core's circuit breaker would count in one life, and the most writes of all clients on objects of this life,
/// refused ones included. Writes on objects that several lives have in common, and on those without a name of the life, are not counted.
/// Each is at least a seventh above the highest figure that was seen. The figures depend on the machine, because a slow one gathers more changes in a
/// pass: one life by CaaS has 332 writes beside six busy programs, 374 on a quiet machine, and 482 were seen. Core's default is 100 events at once and one more each second.
const BUDGETS: [(LedgerBackend, Flavour, u32, u32); 7] = [
    (LedgerBackend::CiOperator, Flavour::Claim, 115, 275),
    (LedgerBackend::CiOperator, Flavour::TestCluster, 120, 165),
    (LedgerBackend::ClusterClaim, Flavour::Claim, 145, 375),
    (LedgerBackend::HyperShift, Flavour::Claim, 190, 515),
    (LedgerBackend::ClusterApi, Flavour::Claim, 165, 360),
    (LedgerBackend::Osac, Flavour::Claim, 205, 410),
    (LedgerBackend::Caas, Flavour::Claim, 215, 550),
];
/// Longer than the 30 s after a creation in which provider-kubernetes treats a missing remote object as not yet visible (creation grace period of
/// crossplane-runtime). A teardown before that waits for its backoff.
const READY_FOR: Duration = Duration::from_secs(32);
/// Two polls of core and of provider-kubernetes.
const AT_REST: Duration = Duration::from_mins(2);

/// Each backend makes a cluster and ends it, and no condition is withdrawn. Then one claim of each rests. Core's breaker has a large burst, because an
/// open breaker would delay each end by up to five minutes; the ledger counts the events for a breaker at its defaults.
pub async fn lives_within_budgets_and_silence_between_with_a_wide_breaker() -> anyhow::Result<()> {
    let engine = Engine::start_audited(&|_| ()).await?;
    let checked = check(&engine).await;
    checked.inspect_err(|_| eprintln!("{}", engine.words()))
}

async fn check(engine: &Engine) -> anyhow::Result<()> {
    let lives = BUDGETS.map(|(backend, flavour, ..)| (backend, flavour));
    let (mut exceeded, mut details) = (Vec::new(), Vec::new());
    let shares = measure_each(engine, &lives, READY_FOR).await?;
    for (share, (.., events, writes)) in shares.iter().zip(BUDGETS) {
        let counted = format!(
            "{} {:?}: {} events of {events}, {} writes of {writes}, {} withdrawals",
            share.backend.name(),
            share.flavour,
            share.breaker.events,
            share.count_writes(),
            share.withdrawals.len()
        );
        eprintln!("{counted}");
        let is_disturbed = share.breaker.events > events || !share.withdrawals.is_empty();
        if is_disturbed {
            details.push(format!("{:#?}", share.changes));
        }
        if share.count_writes() > writes {
            details.push(format!("{:#?}", share.writes));
        }
        if is_disturbed || share.count_writes() > writes {
            exceeded.push(counted);
        }
    }
    // Details can be hundreds of lines, so the verdict is last.
    ensure!(exceeded.is_empty(), "{}\nover its budget:\n{}", details.join("\n"), exceeded.join("\n"));
    let changes = changes_at_rest(engine, &LedgerBackend::EACH, AT_REST).await?;
    ensure!(
        changes.is_empty(),
        "changed within {AT_REST:?} although nothing happened:\n{}",
        changes.join("\n")
    );
    Ok(())
}

//! Invariants of every tenant's claim at every moment, as [`crate::recorder`] has it.

use anyhow::{bail, ensure};
use serde_json::Value;

use crate::{
    course::{unready, withdrawn},
    recorder::Said,
    tenant::Tenant,
};

/// Bounds that differ between scenarios.
#[derive(Clone, Copy)]
pub struct Bounds {
    /// How many remote objects there may have been for the first of its tenants; for the others it is one.
    pub remotes: usize,
    /// `true` if core cannot write the Secret of one of its claims. Core tries that last, and sets `ClusterReady` right after it.
    pub undelivered: bool,
}

/// Judges all that the recorder has of the scenario's claims.
pub fn hold(tenant: &Tenant<'_>, bounds: Bounds) -> anyhow::Result<()> {
    let Bounds { remotes, undelivered } = bounds;
    let recorder = &tenant.engine.recorder;
    for key in recorder.claims().into_iter().filter(|(namespace, _)| tenant.has(namespace)) {
        let (namespace, name) = &key;
        let may = if *namespace == tenant.namespace { remotes } else { 1 };
        let made = recorder.made(namespace);
        ensure!(made <= may, "{name}: {made} remote objects were made, {may} may be");
        let jobs = recorder.jobs_made(namespace);
        ensure!(jobs <= 1, "{name}: {jobs} ProwJobs were made for one EphemeralCluster");
        let (asked, bound) = recorder.pooled(namespace);
        ensure!(asked <= 2, "{name}: {asked} ClusterClaims were made for one composite");
        ensure!(bound <= 1, "{name}: {bound} ClusterClaims of one composite were bound");
        let phases = recorder.phases(&key);
        let failed = phases.iter().position(|p| p == "Failed");
        ensure!(failed.is_none_or(|at| at + 1 == phases.len()), "{name}: Failed is final, but: {phases:?}");
        let (claim, composite) = (recorder.of_claim(&key), recorder.of_composite(&key));
        let put_right = |said: &[Said]| -> Vec<Said> {
            let waits = |s: &Said| s.cluster_ready["reason"] == "WaitingForCredentials";
            said.iter().filter(|s| !undelivered || !waits(s)).cloned().collect()
        };
        let (claim, judged) = (put_right(&claim), put_right(&composite));
        let source = course(&judged, |s| &s.cluster_ready);
        for (whose, said) in [("claim", &claim), ("composite", &judged)] {
            if let Some(at) = withdrawn(&course(said, |s| &s.cluster_ready), &source) {
                bail!(
                    "{whose} {name}: ClusterReady was withdrawn:\n{}\nits composite:\n{}",
                    told(said, at),
                    told(&composite, composite.len())
                );
            }
        }
        // That of the claim is core's shadow of it.
        if let Some(at) = unready(&course(&composite, |s| &s.ready)) {
            bail!("composite {name}: Ready was withdrawn:\n{}", told(&composite, at));
        }
    }
    Ok(())
}

fn course<'a>(said: &'a [Said], condition: impl Fn(&'a Said) -> &'a Value) -> Vec<(&'a str, &'a Value)> {
    said.iter().map(|s| (s.phase.as_str(), condition(s))).collect()
}

/// The moments up to one, the last of them first: long output is cut short at its end.
fn told(said: &[Said], at: usize) -> String {
    said.iter().take(at + 1).rev().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

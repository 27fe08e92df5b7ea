//! What holds for every claim of a tenant at every moment, as [`crate::recorder`] has it.

use anyhow::ensure;

use crate::{
    course::{latches, stays},
    recorder::Said,
    tenant::Tenant,
};

/// Judges all that the recorder has of the scenario's claims. `remotes`: how many remote objects there may have been for
/// the first of its tenants; for the others it is one.
pub fn hold(tenant: &Tenant<'_>, remotes: usize) -> anyhow::Result<()> {
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
        for (whose, said) in [("claim", &claim), ("composite", &composite)] {
            let course: Vec<_> = said.iter().map(|s| (s.phase.as_str(), &s.cluster_ready)).collect();
            ensure!(latches(&course), "{whose} {name}: ClusterReady was withdrawn:\n{}", told(said));
        }
        // That of the claim is core's shadow of it.
        let course: Vec<_> = composite.iter().map(|s| (s.phase.as_str(), &s.ready)).collect();
        ensure!(stays(&course), "composite {name}: Ready was withdrawn:\n{}", told(&composite));
    }
    Ok(())
}

fn told(said: &[Said]) -> String {
    said.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

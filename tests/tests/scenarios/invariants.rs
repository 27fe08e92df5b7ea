//! What holds in every scenario, for every claim of it, at every moment.

use anyhow::ensure;
use testplatform_tests::{
    course::{latches, stays},
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
        let phases = recorder.phases(&key);
        let failed = phases.iter().position(|p| p == "Failed");
        ensure!(failed.is_none_or(|at| at + 1 == phases.len()), "{name}: Failed is final, but: {phases:?}");
        for (whose, said) in [("claim", recorder.of_claim(&key)), ("composite", recorder.of_composite(&key))]
        {
            let story = || said.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n  ");
            let cluster_ready: Vec<_> = said.iter().map(|s| (s.phase.as_str(), &s.cluster_ready)).collect();
            let ready: Vec<_> = said.iter().map(|s| (s.phase.as_str(), &s.ready)).collect();
            ensure!(latches(&cluster_ready), "{whose} {name}: ClusterReady was withdrawn:\n  {}", story());
            ensure!(stays(&ready), "{whose} {name}: Ready was withdrawn:\n  {}", story());
        }
    }
    Ok(())
}

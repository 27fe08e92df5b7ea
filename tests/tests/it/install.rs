//! Installation by users, on a real API server with real Crossplane: every overlay renders and is admitted, roles give their
//! rights and no more, and the tools that ask an API server tell the truth.

mod gitops;
mod hub;
mod kubeconfig;
mod overlays;
pub mod packages;
mod quota;
pub mod rendered;
mod revisions;
mod rights;

use anyhow::Context as _;
use clap::Parser as _;
use testplatform_tests::definitions::Definitions;

/// Aggregates roles, and counts what quotas limit.
const CONTROLLERS: [&str; 2] = ["clusterrole-aggregation-controller", "resourcequota-controller"];

/// One control plane for all of it, since the steps build on one another.
pub async fn what_is_installed() -> anyhow::Result<()> {
    let definitions = Definitions::start_with(&CONTROLLERS).await?;
    let konflux = &definitions.konflux;
    let kubectl = &definitions.binaries().kubectl;
    let steps = async {
        revisions::whoever_is_left_is_listed(konflux).await.context("revisions")?;
        overlays::every_overlay_is_admitted(konflux, kubectl).await.context("overlays")?;
        gitops::every_application_is_admitted(konflux, kubectl).context("GitOps example")?;
        overlays::pods_are_as_restricted_as_can_be(konflux.cluster()).await.context("pods")?;
        kubeconfig::a_kubeconfig_for_the_hub(konflux).await.context("hub-kubeconfig")?;
        rights::tenants_with_kubernetes_roles(konflux.cluster()).await.context("Kubernetes' roles")?;
        rights::tenants_with_konflux_roles(konflux, kubectl).await.context("Konflux' roles")?;
        rights::everybody_reads_what_is_offered(konflux, kubectl).await.context("offers")?;
        quota::no_more_claims_than_the_quota_allows(konflux.cluster()).await.context("quota")?;
        // Last, because it adds kinds, which keeps the controller of quotas busy.
        hub::what_a_hub_lacks_is_told(konflux).await.context("check hub")
    };
    let outcome: anyhow::Result<()> = steps.await;
    outcome.with_context(|| definitions.words())
}

/// Runs the tool as its command line would, and returns what it printed and whether all is well.
async fn xpkg<A, R>(line: &[&str], run: R) -> anyhow::Result<(String, bool)>
where
    A: clap::Args + Send + 'static,
    R: FnOnce(&A, &mut Vec<u8>) -> anyhow::Result<bool> + Send + 'static,
{
    #[derive(clap::Parser)]
    struct Line<A: clap::Args> {
        #[command(flatten)]
        arguments: A,
    }
    let line = Line::<A>::try_parse_from(std::iter::once(&"xpkg").chain(line))?;
    // It waits by itself, which a thread of this runtime may not.
    let ran = tokio::task::spawn_blocking(move || {
        let mut out = Vec::new();
        let clean = run(&line.arguments, &mut out)?;
        anyhow::Ok((String::from_utf8(out)?, clean))
    });
    ran.await?
}

//! The example of a quota.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use testplatform_tests::{
    cluster::{Cluster, at},
    kinds::{CLAIM, RESOURCE_QUOTA},
    manifests, patience,
};

/// How long a quota may take that is of a kind that is known.
const GLANCE: Duration = Duration::from_secs(5);
/// How long it may take until the kind is known.
const KNOWN: Duration = Duration::from_mins(2);

pub async fn no_more_claims_than_the_quota_allows(cluster: &Cluster) -> anyhow::Result<()> {
    let namespace = "limited";
    let own = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": namespace } });
    cluster.apply(&own).await?;
    let mut quota = manifests::package_one("install/examples/resource-quota.yaml")?;
    quota["metadata"]["namespace"] = namespace.into();
    let resource = "count/testplatformclusters.ci.openshift.org";
    let counted = |quota: &Value| quota["status"]["used"][resource] == "0";
    // Kubernetes looks for new kinds twice a minute, and looks at a quota of a kind that it does not know yet only once.
    let there = at(RESOURCE_QUOTA, namespace, "testplatformclusters");
    let known = async {
        loop {
            cluster.apply(&quota).await?;
            if cluster.until_is(&there, GLANCE, "counted", counted).await.is_ok() {
                return anyhow::Ok(());
            }
            cluster.delete(&there).await?;
        }
    };
    patience::timeout(KNOWN, known).await.context("the quota counts no claims")??;
    let claim = |number: u32| {
        json!({
            "apiVersion": CLAIM.api_version, "kind": CLAIM.kind,
            "metadata": { "name": format!("claim-{number}"), "namespace": namespace },
            "spec": { "ciOperator": {} },
        })
    };
    for number in 1..=5 {
        cluster.create(&claim(number)).await.with_context(|| format!("claim {number}"))?;
    }
    let words = cluster.create(&claim(6)).await.err().context("there is a sixth claim")?.to_string();
    ensure!(words.contains("exceeded quota: testplatformclusters"), "{words}");
    Ok(())
}

//! Executes the plan of a request: bundles in its cluster, and the report on its object.

use std::time::Duration;

use kube::Api;
use testplatform_apis::bundle::{BundleReport, REPORT};
use testplatform_runtime::{
    error::{Cause, Error, Reason},
    timeout::with_timeout,
};
use tokio::time::Instant;

use super::{
    controller::{BundleController, COPY_RETRY, LOOK},
    plan::{BundleRange, ClusterAccess},
    request::BundleRequest,
};
use crate::{
    credentials::{cluster_object::Cluster, publish::write::write_own_annotation},
    manifests::{
        apply::{ApplyErrorReason, ApplyProgress, PendingObject, apply_bundles},
        guest_cluster,
    },
};

impl BundleController {
    /// Copies the report to the cluster's object, which provider-kubernetes watches. `cluster` is the uid for which the work began. Returns when
    /// to try again. The ConfigMap has the report, so a failure delays the function only, and must not repeat the work in the cluster.
    pub(super) async fn copy_report(
        &self,
        key: &str,
        report: &BundleReport,
        cluster: Option<&str>,
        object: Option<(Api<Cluster>, Cluster)>,
    ) -> Option<Duration> {
        let (api, object) = object.filter(|(_, object)| cluster == Some(object.uid()))?;
        report.state?;
        let write = async {
            let text = serde_json::to_string(report)
                .map_err(|_| Cause::new(Reason::Bug, "a report cannot be written"))?;
            write_own_annotation(&api, &object.metadata, (REPORT, text)).await
        };
        let Error { action, reason, message } =
            with_timeout("copy_bundles_report", self.patience, write).await.err()?;
        self.metrics.runtime_metrics().failed(action, reason.as_str());
        tracing::warn!(
            order = key,
            action,
            error = message,
            "the report was not copied to the cluster's object"
        );
        Some(COPY_RETRY)
    }

    pub(super) async fn apply_planned(
        &self,
        map: &BundleRequest,
        access: &ClusterAccess,
        BundleRange { list, from }: BundleRange,
    ) -> ApplyProgress {
        let (Ok(order), ClusterAccess::Reachable { admin, .. }) = (&map.order, access) else {
            // It is only called in that case.
            return ApplyProgress::At(
                from,
                PendingObject::of(ApplyErrorReason::NotPublished, "nothing is published"),
            );
        };
        match guest_cluster::connect(admin).await {
            Ok(cluster) => apply_bundles(list.bundles_of(order), from, &cluster, Instant::now() + LOOK).await,
            Err(why) => ApplyProgress::At(from, PendingObject { object: None, why }),
        }
    }
}

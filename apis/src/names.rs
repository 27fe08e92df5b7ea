//! Names: the constants that tie the pieces together, and newtypes that are legal by construction.

mod shortened;

pub use shortened::{name_within, shorten_name};

use std::fmt;

use serde::{Deserialize, Serialize};

/// Labels and annotations of ours. All have the prefix `testplatform.ci.openshift.org/`.
pub mod ours {
    /// Label on every composed Object but `ec` and `credentials`, which predate it: its composition resource name.
    pub const COMPONENT: &str = "testplatform.ci.openshift.org/component";
    /// On the writer Object, and on `credentials` should it be lost: which try at the remote object this is, present from the
    /// second on.
    pub const ATTEMPT: &str = "testplatform.ci.openshift.org/attempt";
    /// On the same of a second try: uid of the remote object that vanished before it was bound.
    pub const VANISHED_UID: &str = "testplatform.ci.openshift.org/vanished-uid";
    /// On the writer Object: why the claim Failed. Second witness of that latch, should the status be dropped.
    pub const FAILED: &str = "testplatform.ci.openshift.org/failed";
    /// On the writer Object: why nothing is left that incurs cost. Second witness of that latch.
    pub const OVER: &str = "testplatform.ci.openshift.org/over";
    /// On the writer Object of a cluster that has a lifetime, or comes out of a pool: when it became ready. Second witness of that
    /// time, and of that it ever was.
    pub const READY_AT: &str = "testplatform.ci.openshift.org/ready-at";
    /// On the writer Object: the default lifetime that the claim was born with. A later default does not touch it.
    pub const DEFAULT_LIFETIME: &str = "testplatform.ci.openshift.org/default-lifetime";
    /// Label of the EnvironmentConfigs that are the catalogue of templates: `"true"`.
    pub const CATALOGUE: &str = "testplatform.ci.openshift.org/catalogue";
    /// On the primary Object of a cluster by template: the requested state, JSON, see [`Effective`](crate::template::effective::Effective).
    /// Immutable fields are compared with it; `status.effective` is a copy.
    pub const EFFECTIVE: &str = "testplatform.ci.openshift.org/effective";
    /// On the same, while it differs from that: the last requested state that the hub accepted, JSON. If the hub refuses a later one, the
    /// claim continues from this.
    pub const LAST_ACCEPTED: &str = "testplatform.ci.openshift.org/taken";
    /// On the Object of what comes ahead of a cluster by template: the template by which it was asked for.
    pub const TEMPLATE: &str = "testplatform.ci.openshift.org/template";
    /// On writer Object and `credentials` of a cluster that goes to another release: template and version from which it goes, with `/` between.
    pub const ROLLS_FROM: &str = "testplatform.ci.openshift.org/rolls-from";
    /// On the same, where it goes to another ClusterClass: namespace and name of the class whose variables were requested before that, with `/`
    /// between. The hub may refuse the next class for another reason, and they are requested once.
    pub const ADOPTED_CLASS: &str = "testplatform.ci.openshift.org/adopted-class";
    /// On the Object of a group of nodes, or on the group where it is a part of the cluster: the class that its machines were made by.
    pub const NODE_CLASS: &str = "testplatform.ci.openshift.org/node-class";
    /// On the Object of a NodePool: the labels and taints that it has of the catalogue, JSON; none where there are none. A catalogue that
    /// changes changes no nodes.
    pub const NODE_BASE: &str = "testplatform.ci.openshift.org/node-base";
    /// On writer Object and `credentials`, where node requests have the names of their classes: what each class of nodes was when it was asked for, JSON, by class. A catalogue
    /// that changes changes no nodes.
    pub const NODE_CLASSES: &str = "testplatform.ci.openshift.org/node-classes";
    /// On the same: which spec was to be brought about, and the jobs that failed at it, JSON. The hub forgets them after a while.
    pub const FAILED_JOBS: &str = "testplatform.ci.openshift.org/failed-jobs";
    /// On the writer Object of a backend with several hubs: namespace of the published credentials on its hub.
    pub const CREDENTIALS_NAMESPACE: &str = "testplatform.ci.openshift.org/credentials-namespace";
    /// On the Objects by which a cluster on one of several hubs was first asked for: why that hub was selected. Second witness of
    /// `status.hub.reason`, which core may refuse to store in the pass that made the Objects.
    pub const HUB_REASON: &str = "testplatform.ci.openshift.org/hub-reason";
    /// On the `credentials` Object beside a writer whose removal ends the cluster: namespace and name of the pool. Second witness
    /// of where the cluster is, should the writer be lost.
    pub const POOL: &str = "testplatform.ci.openshift.org/pool";
    /// On the same of a cluster by template: namespace and name of the remote object. Second witness of where it is.
    pub const REMOTE: &str = "testplatform.ci.openshift.org/remote";
    /// On the same: the spec that was asked for, JSON. Second witness of it: a writer that was made anew to look has to say what its
    /// predecessor said, because provider-kubernetes tries to apply it before it looks or deletes.
    pub const REMOTE_SPEC: &str = "testplatform.ci.openshift.org/remote-spec";
    /// On the same: uid of the remote object. Second witness of the pin. On the Object `hosted`: uid of the remote object that the
    /// HostedCluster is looked at for.
    pub const REMOTE_UID: &str = "testplatform.ci.openshift.org/remote-uid";
    /// On the same, and on the writer after that: that the writer was taken away to end the cluster, and why. A writer that is
    /// gone then is no lost one.
    pub const ENDING: &str = "testplatform.ci.openshift.org/ending";
    /// On the `credentials` Object while its connection Secret is lost: a time that moves on, which makes provider-kubernetes write it
    /// again.
    pub const REFRESH_REQUESTED_AT: &str = "testplatform.ci.openshift.org/read-again";
    /// On the same while the kubeconfig may not be read, or not be written here: since when, RFC 3339. A changed message of Synced changes
    /// this time.
    pub const WITHHELD_SINCE: &str = "testplatform.ci.openshift.org/withheld-since";
    /// On the remote object, copied onto the `credentials` Object: revision of the published Secret.
    pub const CREDENTIALS_REVISION: &str = "testplatform.ci.openshift.org/credentials-revision";
    /// On the remote object: that not the admin's credentials are to be published, but those of a ServiceAccount, JSON; see
    /// [`AccessRequest`](crate::account::AccessRequest). An invalid annotation means that nothing may be published.
    pub const CREDENTIALS_WISH: &str = "testplatform.ci.openshift.org/credentials-wish";
    /// On the EphemeralCluster: `ServiceAccount` once what is published is not the admin's; written by the hub-side provider. Of other kinds the
    /// same is in [`STATUS`].
    pub const CREDENTIALS_MODE: &str = "testplatform.ci.openshift.org/credentials-mode";
    /// On the remote object: lifetime from Ready on, a Go duration; follows the claim.
    pub const LIFETIME: &str = "testplatform.ci.openshift.org/lifetime";
    /// On the remote object: the longest lifetime that the claim may ever reach; written at birth, constant.
    pub const MAX_LIFETIME: &str = "testplatform.ci.openshift.org/max-lifetime";
    /// On the remote object: how long provisioning may take; written at birth, constant.
    pub const PROVISION_TIMEOUT: &str = "testplatform.ci.openshift.org/provision-timeout";
    /// On the EphemeralCluster, where its claim had its kubeconfig long after the hub was ready: when it had it, RFC 3339; until then the end of
    /// provisioning. The lifetime counts from then.
    pub const DELIVERED_AT: &str = "testplatform.ci.openshift.org/delivered-at";
    /// On the object of a cluster by template: the time by which its claim has ended it, RFC 3339. A provider with `clusters.endOverdue`
    /// deletes the object then.
    pub const LATEST_END: &str = "testplatform.ci.openshift.org/latest-end";
    /// On the ClusterClaim: `"false"` if its cluster is not to be started again when it is found hibernating.
    pub const RESUME: &str = "testplatform.ci.openshift.org/resume";
    /// On the ClusterClaim: what the hub-side provider knows of it, see [`HiveStatus`](crate::hive_status::HiveStatus).
    pub const STATUS: &str = "testplatform.ci.openshift.org/status";
    /// On the ClusterPool: what the hub-side provider is asked to do, see [`PoolRequest`](crate::pool_report::PoolRequest).
    pub const POOL_REQUEST: &str = "testplatform.ci.openshift.org/pool-request";
    /// On the ClusterPool: what the hub-side provider knows of it and needs, see
    /// [`PoolStatus`](crate::pool_report::PoolStatus).
    pub const POOL_STATUS: &str = "testplatform.ci.openshift.org/pool-status";
    /// On the remote object: what was known when it failed, JSON without log text or secrets.
    pub const DIAGNOSTICS: &str = "testplatform.ci.openshift.org/diagnostics";
    /// On the ProwJob: uid of the EphemeralCluster that it was made for.
    pub const EPHEMERAL_CLUSTER_UID: &str = "testplatform.ci.openshift.org/ephemeral-cluster-uid";
    /// On the ProwJob: namespace of that EphemeralCluster. A hub can have several providers, each with a namespace of its own.
    pub const EPHEMERAL_CLUSTER_NAMESPACE: &str = "testplatform.ci.openshift.org/ephemeral-cluster-namespace";
    /// On the ProwJob: what of the EphemeralCluster was left out when the job was made, in a sentence.
    pub const REMARK: &str = "testplatform.ci.openshift.org/remark";
    /// On the published Secret: which state of its source it was made from.
    pub const SOURCE_REVISION: &str = "testplatform.ci.openshift.org/source-revision";
    /// On the ProviderConfig: when the token in its kubeconfig ends, RFC 3339. Written by whoever rotates it, read by an alert.
    pub const KUBECONFIG_EXPIRES_AT: &str = "testplatform.ci.openshift.org/kubeconfig-expires-at";
    /// Label on the namespace of a space, once everything in it is there: name of the ServiceAccount whose credentials the hub-side provider
    /// is to publish.
    pub const SPACE_ACCOUNT: &str = "testplatform.ci.openshift.org/space-account";
    /// On the Object with the namespace of a claim that brings its own credentials: what its cluster is made with, JSON. It is never decided
    /// a second time.
    pub const BYOC: &str = "testplatform.ci.openshift.org/byoc-asked";
    /// On the writer, and on `credentials`: that the cluster was asked for with bundles, see [`bundle`](crate::bundle). On the Object that looks at
    /// their ConfigMap at the end: that the hub had it.
    pub const BUNDLES_REQUESTED: &str = "testplatform.ci.openshift.org/bundles-asked";
    /// On a claim, or a composite in a tenant's namespace: user who last requested or changed it. An admission policy must set it if it
    /// grants access to clouds. Crossplane copies it onto the composite.
    pub const REQUESTED_BY: &str = "testplatform.ci.openshift.org/requested-by";
    /// On the same: a number. Another one than before has the cluster's credential of its cloud rotated.
    pub const CLOUD_CREDENTIAL_GENERATION: &str = "testplatform.ci.openshift.org/cloud-credential-generation";
    /// On the ConfigMap in that namespace: what became of the Secrets that are carried there, see
    /// [`SecretSyncReport`](crate::byoc::SecretSyncReport).
    pub const BYOC_REPORT: &str = "testplatform.ci.openshift.org/byoc-report";
    /// On a claim, or a composite in a tenant's namespace: since when nobody needs its cluster, RFC 3339 in whole seconds, and before that which
    /// runs it belongs to; see [`cleanup`](crate::cleanup). Crossplane copies it onto the composite.
    pub const CLEANUP_SINCE: &str = "testplatform.ci.openshift.org/cleanup-since";
    /// On a claim: the TestCluster to which its cluster is to go, as namespace, name and uid with `/` between. Crossplane copies it onto the
    /// composite.
    pub const HAND_OVER: &str = "testplatform.ci.openshift.org/hand-over";
    /// On the writer Object and on `credentials` of a composite that let its cluster go: to which TestCluster, in the same form. From
    /// then on its Objects only watch.
    pub const HANDED_OVER: &str = "testplatform.ci.openshift.org/handed-over";
    /// On a TestCluster, from its creation on: name of the composite whose cluster it is to take over. On its Objects the same, and behind
    /// that, with `/` between, the uid of the TestCluster that wrote it.
    pub const TAKE_OVER: &str = "testplatform.ci.openshift.org/take-over";
    /// On the Objects of a TestCluster that has taken a cluster over: its ProviderConfig, namespace, name and uid, with `/` between.
    pub const TRANSFERRED_FROM: &str = "testplatform.ci.openshift.org/taken-over";
    /// On the same Objects, and on those by which it watches the cluster before: when the claim had its kubeconfig.
    pub const IN_USE_SINCE: &str = "testplatform.ci.openshift.org/in-use-since";
    /// On the remote object: uid of the Konflux cluster whose composite was found to own it, which is the uid of its namespace `kube-system`.
    /// Two Konflux clusters of one name differ in it, and a restore of etcd does not change it.
    pub const KONFLUX_CLUSTER_UID: &str = "testplatform.ci.openshift.org/konflux-cluster-uid";
    /// Label on a Secret that is published for an object of another namespace: API group of that object.
    pub const OWNER_GROUP: &str = "testplatform.ci.openshift.org/owner-group";
    /// On the same: its kind.
    pub const OWNER_KIND: &str = "testplatform.ci.openshift.org/owner-kind";
    /// On the same: its namespace.
    pub const OWNER_NAMESPACE: &str = "testplatform.ci.openshift.org/owner-namespace";
    /// On the same: its name, where that is short enough for a label. The Secret's own name begins with it in any case.
    pub const OWNER_NAME: &str = "testplatform.ci.openshift.org/owner-name";
    /// On the same: its uid, by which alone it is known whose the Secret is.
    pub const OWNER_UID: &str = "testplatform.ci.openshift.org/owner-uid";
}

/// Labels and annotations of hubs, on ProviderConfigs. Administrators write them; [`Hub`](crate::hub::Hub) reads them.
pub mod hub {
    /// Label: the ProviderConfig leads to a hub of claims with `template`. Its value is `true`.
    pub const HUB: &str = "testplatform.ci.openshift.org/hub";
    /// Begins the label for each backend that the hub serves; the backend's word follows, and the value is `true`.
    pub const BACKEND: &str = "testplatform.ci.openshift.org/backend.";
    /// Label: `false` closes the hub to new claims. Its current claims stay.
    pub const SCHEDULABLE: &str = "testplatform.ci.openshift.org/schedulable";
    /// Label: the only tenant that is let onto the hub.
    pub const DEDICATED: &str = "testplatform.ci.openshift.org/dedicated";
    /// The most clusters that it may hold.
    pub const MAX_CLUSTERS: &str = "testplatform.ci.openshift.org/max-clusters";
    /// Percentage of them that is kept free.
    pub const RESERVED_PERCENT: &str = "testplatform.ci.openshift.org/reserved-percent";
    /// The most clusters that may be in the making at a time.
    pub const MAX_PROVISIONING: &str = "testplatform.ci.openshift.org/max-provisioning";
    /// Share of the claims that it gets; 0: only claims that no other hub takes.
    pub const WEIGHT: &str = "testplatform.ci.openshift.org/weight";
    /// Namespaces whose claims are let onto it, with commas between.
    pub const TENANTS_ALLOW: &str = "testplatform.ci.openshift.org/tenants-allow";
    /// Namespaces whose claims are not.
    pub const TENANTS_DENY: &str = "testplatform.ci.openshift.org/tenants-deny";
    /// Versions that can be made on it.
    pub const VERSIONS: &str = "testplatform.ci.openshift.org/versions";
    /// Classes of nodes that it has, with commas between.
    pub const CLASSES: &str = "testplatform.ci.openshift.org/classes";
    /// Zones in which it can make nodes, with commas between.
    pub const ZONES: &str = "testplatform.ci.openshift.org/zones";
    /// Begins the annotation with the namespace of a backend's objects; the backend's word follows.
    pub const NAMESPACE: &str = "testplatform.ci.openshift.org/namespace.";
    /// Begins the annotation with how many Objects one cluster of a backend takes; the backend's word follows.
    pub const OBJECTS_PER_CLUSTER: &str = "testplatform.ci.openshift.org/objects-per-cluster.";
    /// Label on the Object that mirrors a hub's facts. Its value is `true`.
    pub const FACTS: &str = "testplatform.ci.openshift.org/hub-facts";
    /// On the writer Object: the hubs that were given up before this one, with commas between. Second witness of status.
    pub const EXCLUDED: &str = "testplatform.ci.openshift.org/excluded-hubs";
}

/// Annotations of an EphemeralCluster that its controller reads.
pub mod ephemeral_cluster {
    /// Name of the Konflux cluster; the hub authorises cluster profiles by it. From the EnvironmentConfig only.
    pub const KONFLUX_CLUSTER: &str = "ephemeralcluster.ci.openshift.io/konflux-cluster";
    /// Namespace of the claim; the hub authorises cluster profiles by it.
    pub const KONFLUX_TENANT: &str = "ephemeralcluster.ci.openshift.io/konflux-tenant";
    /// Names the Prow job. Tenant text.
    pub const PIPELINE_RUN_NAME: &str = "ephemeralcluster.ci.openshift.io/pipeline-run-name";
    /// Names the Prow job when there is no PipelineRun. Tenant text.
    pub const TASK_RUN_NAME: &str = "ephemeralcluster.ci.openshift.io/task-run-name";
    /// The only namespace that the upstream controller knows; its ProwJobs do not name it.
    pub const UPSTREAM_NAMESPACE: &str = "ephemeral-cluster";
    /// Finalizer: there is or may be a ProwJob that has to end first.
    pub const FINALIZER: &str = "ephemeralcluster.ci.openshift.io/dependent-prowjob";
    /// Label of its ProwJob: the EphemeralCluster's name.
    pub const LABEL: &str = "ci.openshift.io/ephemeral-cluster";
}

/// Names and labels of ci-operator and its job on a build cluster. Source: openshift/ci-tools, package `ephemeralcluster`, and ci-operator.
pub mod ci_operator {
    /// Label of ci-operator's namespace: name of the ProwJob.
    pub const JOB_ID: &str = "ci.openshift.io/jobid";
    /// Name of the test, and of the Secret in which steps share files.
    pub const TEST: &str = "cluster-provisioning";
    /// Name of the step that waits for the signal.
    pub const WAIT_STEP: &str = "wait-test-complete";
    /// Secret whose existence ends the wait step.
    pub const SIGNAL: &str = "test-done-signal";
    /// Secret with the kubeconfig of a cluster from a Hive pool.
    pub const HIVE_KUBECONFIG: &str = "cluster-provisioning-hive-admin-kubeconfig";
    /// Secret with the password of a cluster from a Hive pool.
    pub const HIVE_PASSWORD: &str = "cluster-provisioning-hive-admin-password";
}

/// Annotations that Crossplane and its providers read or write.
pub mod crossplane {
    /// `"true"` keeps a managed resource from being reconciled, deletion included.
    pub const PAUSED: &str = "crossplane.io/paused";
    /// Written by a provider before it creates the external resource.
    pub const EXTERNAL_CREATE_PENDING: &str = "crossplane.io/external-create-pending";
    /// Written by a provider after it created the external resource.
    pub const EXTERNAL_CREATE_SUCCEEDED: &str = "crossplane.io/external-create-succeeded";
    /// Name of the external resource.
    pub const EXTERNAL_NAME: &str = "crossplane.io/external-name";
    /// Finalizer of a managed resource.
    pub const FINALIZER: &str = "finalizer.managedresource.crossplane.io";
}

/// Keys of the published credentials.
pub mod keys {
    /// A kubeconfig for the cluster.
    pub const KUBECONFIG: &str = "kubeconfig";
    /// The password of `kubeadmin`; may be empty.
    pub const KUBEADMIN_PASSWORD: &str = "kubeAdminPassword";
}

/// Error of an invalid name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not {expected}")]
pub struct InvalidName {
    expected: &'static str,
}

macro_rules! name {
    ($(#[$doc:meta])* $name:ident, $max:literal, $expected:literal) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// The most characters that it may have.
            pub const MAX: usize = $max;

            /// The text itself.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = InvalidName;

            fn try_from(text: String) -> Result<Self, InvalidName> {
                if text.len() <= $max && is_subdomain(&text) {
                    Ok(Self(text))
                } else {
                    Err(InvalidName { expected: $expected })
                }
            }
        }

        impl TryFrom<&str> for $name {
            type Error = InvalidName;

            fn try_from(text: &str) -> Result<Self, InvalidName> {
                text.to_owned().try_into()
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> Self {
                name.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

name! {
    /// Name of a Kubernetes object: an RFC 1123 subdomain of at most 253 characters.
    ObjectName, 253, "an RFC 1123 subdomain of at most 253 characters"
}
name! {
    /// Name of a composite, of a Tekton run: an RFC 1123 subdomain of at most 63 characters, because it becomes a label value.
    ShortName, 63, "an RFC 1123 subdomain of at most 63 characters"
}

/// A subdomain as Kubernetes judges names: dot-separated labels of lower-case letters, digits and inner dashes. Only
/// the whole has a longest length, not each label.
fn is_subdomain(text: &str) -> bool {
    let label = |l: &str| {
        let ends = |b: Option<&u8>| b.is_some_and(u8::is_ascii_alphanumeric);
        l.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
            && ends(l.as_bytes().first())
            && ends(l.as_bytes().last())
    };
    text.split('.').all(label)
}

/// A Kubernetes uid. Any text: it is only compared and repeated.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Uid(pub String);

impl Uid {
    /// The text itself.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Uid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_subdomains_within_their_length() {
        for good in ["a", "a-b", "tp-aws-cluster-drjlr", "a.b", "0", &"x".repeat(63)] {
            assert!(ShortName::try_from(good).is_ok(), "{good}");
        }
        for bad in
            ["", "A", "-a", "a-", "a..b", ".a", "a_b", "a b", "a\nb", "ä", "<no value>", &"x".repeat(64)]
        {
            assert!(ShortName::try_from(bad).is_err(), "{bad}");
        }
        assert!(ObjectName::try_from(format!("{}.{}", "x".repeat(63), "y".repeat(63))).is_ok());
        assert!(ObjectName::try_from("x".repeat(253)).is_ok());
        assert!(ObjectName::try_from("x".repeat(254)).is_err());
        assert!(ObjectName::try_from("x.".repeat(120)).is_err());
    }
}

//! The kinds of objects that the testbed touches.

use kube::core::{ApiResource, GroupVersionKind};
use serde_json::Value;

/// A kind of object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// apiVersion.
    pub api_version: &'static str,
    /// Kind.
    pub kind: &'static str,
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident = $api_version:literal $kind:literal;)*) => {
        $($(#[$doc])* pub const $name: Kind = Kind { api_version: $api_version, kind: $kind };)*
    };
}

kinds! {
    /// Claim.
    CLAIM = "ci.openshift.org/v1alpha1" "TestPlatformCluster";
    /// Composite.
    COMPOSITE = "ci.openshift.org/v1alpha1" "XTestPlatformCluster";
    /// Claim of a space.
    SPACE_CLAIM = "eaas.konflux-ci.dev/v1alpha1" "Namespace";
    /// Composite of a space.
    SPACE = "eaas.konflux-ci.dev/v1alpha1" "XNamespace";
    /// Composite in the tenant's namespace.
    TEST_CLUSTER = "ci.openshift.org/v1alpha1" "TestCluster";
    /// Unit of work of provider-kubernetes, in the namespace of a composite.
    NAMESPACED_OBJECT = "kubernetes.m.crossplane.io/v1alpha1" "Object";
    /// Unit of work of provider-kubernetes, cluster-scoped.
    OBJECT = "kubernetes.crossplane.io/v1alpha2" "Object";
    /// Where a hub is and who we are there.
    PROVIDER_CONFIG = "kubernetes.crossplane.io/v1alpha1" "ProviderConfig";
    /// On the hub.
    EPHEMERAL_CLUSTER = "ci.openshift.io/v1" "EphemeralCluster";
    /// Job that fulfils an EphemeralCluster.
    PROW_JOB = "prow.k8s.io/v1" "ProwJob";
    /// Asks Hive for a cluster of a pool.
    CLUSTER_CLAIM = "hive.openshift.io/v1" "ClusterClaim";
    /// A pool in Git.
    POOL = "ci.openshift.org/v1alpha1" "XTestPlatformClusterPool";
    /// Keeps clusters at hand.
    CLUSTER_POOL = "hive.openshift.io/v1" "ClusterPool";
    /// One cluster of Hive.
    CLUSTER_DEPLOYMENT = "hive.openshift.io/v1" "ClusterDeployment";
    /// One cluster of HyperShift.
    HOSTED_CLUSTER = "hypershift.openshift.io/v1beta1" "HostedCluster";
    /// Nodes of such a cluster.
    NODE_POOL = "hypershift.openshift.io/v1beta1" "NodePool";
    /// One cluster of Cluster API.
    TOPOLOGY = "cluster.x-k8s.io/v1beta2" "Cluster";
    /// Control plane of such a cluster, where kubeadm makes it.
    KUBEADM_CONTROL_PLANE = "controlplane.cluster.x-k8s.io/v1beta2" "KubeadmControlPlane";
    /// Machines of one node group of such a cluster.
    MACHINE_DEPLOYMENT = "cluster.x-k8s.io/v1beta2" "MachineDeployment";
    /// Node of a delivered cluster.
    NODE = "v1" "Node";
    /// One cluster of OSAC.
    ORDER = "osac.openshift.io/v1alpha1" "ClusterOrder";
    /// One cluster of CaaS.
    INSTANCE = "clustertemplate.openshift.io/v1alpha1" "ClusterTemplateInstance";
    /// A run of one of Tekton's Pipelines.
    PIPELINE_RUN = "tekton.dev/v1" "PipelineRun";
    /// A run of one of Tekton's Tasks.
    TASK_RUN = "tekton.dev/v1" "TaskRun";
    /// Rules by which an API server itself refuses objects.
    ADMISSION_POLICY = "admissionregistration.k8s.io/v1" "ValidatingAdmissionPolicy";
    /// Secret.
    SECRET = "v1" "Secret";
    /// Configuration of anything.
    CONFIG_MAP = "v1" "ConfigMap";
    /// Namespace.
    NAMESPACE = "v1" "Namespace";
    /// Most that a namespace may have.
    RESOURCE_QUOTA = "v1" "ResourceQuota";
    /// Defaults for containers that set no resources.
    LIMIT_RANGE = "v1" "LimitRange";
    /// Who may reach pods.
    NETWORK_POLICY = "networking.k8s.io/v1" "NetworkPolicy";
    /// Rights, in every namespace or in those where it is bound.
    CLUSTER_ROLE = "rbac.authorization.k8s.io/v1" "ClusterRole";
    /// Service account.
    SERVICE_ACCOUNT = "v1" "ServiceAccount";
    /// Event.
    EVENT = "v1" "Event";
    /// Rights in a namespace.
    ROLE = "rbac.authorization.k8s.io/v1" "Role";
    /// Who has them.
    ROLE_BINDING = "rbac.authorization.k8s.io/v1" "RoleBinding";
    /// Definition of a kind.
    CRD = "apiextensions.k8s.io/v1" "CustomResourceDefinition";
    /// Definition of a composite and its claim.
    XRD = "apiextensions.crossplane.io/v1" "CompositeResourceDefinition";
    /// Composition.
    COMPOSITION = "apiextensions.crossplane.io/v1" "Composition";
    /// Snapshot of a Composition.
    COMPOSITION_REVISION = "apiextensions.crossplane.io/v1" "CompositionRevision";
    /// Names this Konflux cluster.
    ENVIRONMENT_CONFIG = "apiextensions.crossplane.io/v1beta1" "EnvironmentConfig";
    /// A package of a function.
    FUNCTION = "pkg.crossplane.io/v1" "Function";
    /// A package of definitions and Compositions.
    CONFIGURATION = "pkg.crossplane.io/v1" "Configuration";
    /// One version of such a package.
    CONFIGURATION_REVISION = "pkg.crossplane.io/v1" "ConfigurationRevision";
    /// Where a function is served.
    FUNCTION_REVISION = "pkg.crossplane.io/v1" "FunctionRevision";
}

/// How an API server knows a kind.
pub fn resource(api_version: &str, kind: &str) -> ApiResource {
    let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
    ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind))
}

impl From<Kind> for ApiResource {
    fn from(kind: Kind) -> Self {
        resource(kind.api_version, kind.kind)
    }
}

/// The kind of a manifest.
pub fn of(manifest: &Value) -> ApiResource {
    resource(
        manifest["apiVersion"].as_str().unwrap_or_default(),
        manifest["kind"].as_str().unwrap_or_default(),
    )
}

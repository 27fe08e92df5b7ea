//! Entries for Cluster API: a Cluster with a managed topology of a ClusterClass.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    BackendDefinition, ClassNamespace, ClusterClassName,
    definition::{find_nulls, find_owned_members, parse_word},
    overlay,
};
use crate::duration::GoDuration;
use crate::foreign::{ResourceKind, cluster_api::Cluster};
use crate::names::ObjectName;
use crate::template::{
    Backend,
    capability::Capabilities,
    descriptor::{BackendDescriptor, EverReady, NameLimit, ReleaseRule},
};

/// Constants of the backend.
pub(super) const DESCRIPTOR: BackendDescriptor = BackendDescriptor {
    name: "cluster-api",
    title: "Cluster API",
    cluster_kind: ResourceKind {
        group: "cluster.x-k8s.io",
        // The request uses the fields of v1beta2; v1beta1 has others.
        versions: &["v1beta2"],
        kind: "Cluster",
        plural: "clusters",
    },
    dependent_kinds: &[],
    primary_resource: "topology",
    default_namespace: "clusters",
    // It becomes a label.
    name_limit: NameLimit::Characters(63),
    objects_per_cluster: 2,
    capabilities: Capabilities {
        node_groups: true,
        autoscale: true,
        min_count: 0,
        // It comes with the machine image, and that with the class.
        arch: false,
        failure_domain: true,
        labels: true,
        taints: false,
        control_planes: &[1, 3, 5],
        // Of an image nobody knows the version, and the topology needs it.
        release_image: false,
        cluster_cidrs: true,
        machine_cidr: false,
        ipv6: true,
        editable: true,
        moves: true,
        walks: true,
    },
    has_overlay: true,
    release: ReleaseRule::Version,
    underlying: None,
    refuses_tenant_credentials: Some(
        "which Secrets its clusters are made with is a matter of their ClusterClass",
    ),
    has_cloud_credentials: true,
    // Stays true, whatever happens to the cluster.
    ever_ready: EverReady::Condition("ControlPlaneInitialized"),
    supported_versions: None,
    cluster_class: Some(ResourceKind {
        group: "cluster.x-k8s.io",
        versions: &["v1beta2"],
        kind: "ClusterClass",
        plural: "clusterclasses",
    }),
    reports_api_version: true,
};

/// Settings common to all Clusters of an entry.
#[derive(JsonSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ClusterApi {
    /// The ClusterClass.
    pub class_ref: ClassRef,
    /// Base of each Cluster's `spec`, such as clusterNetwork, and in topology variables and controlPlane. It must not set fields that the
    /// function writes from the claim: topology.classRef, topology.version, topology.workers. In its texts `{name}` and `{namespace}` stand
    /// for the Cluster's.
    #[serde(default)]
    pub cluster: Map<String, Value>,
    /// The variable of the class that takes the image of a release.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image_variable: Option<String>,
    /// Sizes of control-plane machines that claims may ask for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control_plane_classes: Option<ControlPlaneClasses>,
    /// The variables that take the claim's networks. A network without one is refused.
    // Boxed, because an entry of another backend would be as large.
    #[serde(default)]
    pub network_variables: Box<NetworkVariables>,
    /// A credential of the cloud for each Cluster alone. If not set, they share what `cluster` or the ClusterClass names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cloud_credential: Option<CloudCredential>,
    /// Suffix of the kubeconfig Secret's name, after the cluster's. If not set, `-kubeconfig`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kubeconfig_secret_suffix: Option<String>,
}

/// A ClusterClass by name.
#[derive(JsonSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ClassRef {
    /// Its name.
    #[schemars(with = "String", length(min = 1, max = 253))]
    pub name: ObjectName,
    /// Its namespace. If not set, that of the Cluster.
    #[schemars(with = "Option<String>")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<ObjectName>,
}

/// Sizes of control-plane machines.
#[derive(JsonSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ControlPlaneClasses {
    /// The variable that takes it.
    pub variable: String,
    /// The value of the variable for each class.
    pub classes: BTreeMap<String, Value>,
}

/// The variables that take the claim's networks.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct NetworkVariables {
    /// Of `network.machineCIDR`.
    #[serde(rename = "machineCIDR", skip_serializing_if = "Option::is_none")]
    pub machine_cidr: Option<String>,
    /// Of `network.internal.networkID`.
    #[serde(rename = "internalNetworkID", skip_serializing_if = "Option::is_none")]
    pub internal_network_id: Option<String>,
    /// Of `network.internal.subnetID`.
    #[serde(rename = "internalSubnetID", skip_serializing_if = "Option::is_none")]
    pub internal_subnet_id: Option<String>,
    /// Of `network.external.networkID`.
    #[serde(rename = "externalNetworkID", skip_serializing_if = "Option::is_none")]
    pub external_network_id: Option<String>,
    /// Of `network.dnsNameservers`, a list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dns_nameservers: Option<String>,
}

/// A credential of the cloud for each Cluster alone, made by the hub-side provider: an application credential of OpenStack's identity service.
#[derive(JsonSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CloudCredential {
    /// The cloud: the value of label `testplatform.ci.openshift.org/cloud-issuer` of those Secrets by which credentials are issued.
    #[schemars(length(min = 1, max = 63))]
    pub cloud: String,
    /// The variable of the class that takes the name of the Secret with `clouds.yaml`, in the namespace of the Cluster.
    #[schemars(length(min = 1, max = 253))]
    pub variable: String,
    /// Names of the roles that a credential has. If not set, all that its issuer has.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<String>,
    /// Lifetime of a credential, at least 10m; it is rotated at half of that. If not set, unlimited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lifetime: Option<GoDuration>,
}

impl CloudCredential {
    /// Finds errors, each with its member.
    fn find_flaws(&self) -> impl Iterator<Item = (String, String)> {
        let cloud = crate::cloud::is_cloud(&self.cloud);
        let short = self.lifetime.is_some_and(|lifetime| lifetime < crate::cloud::SHORTEST);
        let all = [
            ("cloud", !cloud, "is not a value of a label"),
            ("variable", parse_word(&self.variable).is_err(), "is not a name of a variable"),
            ("roles", self.roles.iter().any(String::is_empty), "has an empty name"),
            ("lifetime", short, "is shorter than 10m"),
        ];
        all.into_iter()
            .filter(|(_, wrong, _)| *wrong)
            .map(|(member, _, sentence)| (format!("cloudCredential.{member}"), sentence.to_owned()))
    }
}

/// A class of nodes: a class of workers of the ClusterClass, with overrides.
#[derive(JsonSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Worker {
    /// Name of the class in `workers.machineDeployments` of the ClusterClass.
    pub worker: String,
    /// Variables that its nodes have, over those of the cluster.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub variables: BTreeMap<String, Value>,
}

/// A variable of the ClusterClass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable(pub String);

impl ClusterApi {
    /// The variables that have a value already, but for those of parameters: where that is said, and the name.
    fn named_variables(&self) -> Vec<(String, &str)> {
        let networks = &self.network_variables;
        let known = [
            ("imageVariable", self.image_variable.as_deref()),
            (
                "controlPlaneClasses.variable",
                self.control_plane_classes.as_ref().map(|classes| classes.variable.as_str()),
            ),
            ("networkVariables.machineCIDR", networks.machine_cidr.as_deref()),
            ("networkVariables.internalNetworkID", networks.internal_network_id.as_deref()),
            ("networkVariables.internalSubnetID", networks.internal_subnet_id.as_deref()),
            ("networkVariables.externalNetworkID", networks.external_network_id.as_deref()),
            ("networkVariables.dnsNameservers", networks.dns_nameservers.as_deref()),
        ];
        let known = known.into_iter().filter_map(|(place, name)| Some((place.to_owned(), name?)));
        let topology = self.cluster.get("topology").and_then(|topology| topology.get("variables"));
        let fixed = topology.and_then(Value::as_array).into_iter().flatten().enumerate();
        let fixed = fixed.filter_map(|(i, variable)| {
            Some((format!("cluster.topology.variables[{i}].name"), variable.get("name")?.as_str()?))
        });
        known.chain(fixed).collect()
    }
}

const CLUSTER: [&str; 9] = [
    "topology.class",
    "topology.classRef",
    "topology.version",
    "topology.workers",
    "topology.controlPlane.replicas",
    "controlPlaneEndpoint",
    "controlPlaneRef",
    "infrastructureRef",
    "paused",
];

/// Further fields that an overlay must not set: lists with items of the function, and fields of claims.
const OVERLAY_GUARDED: [&str; 3] = ["topology.variables", "clusterNetwork.pods", "clusterNetwork.services"];

impl BackendDefinition for ClusterApi {
    const BACKEND: Backend = Backend::ClusterApi;
    type Machine = Worker;
    type Object = Cluster;
    type Target = Variable;

    fn find_flaws(&self) -> Vec<(String, String)> {
        let mut found = Vec::new();
        let base = Value::Object(self.cluster.clone());
        find_owned_members("cluster", &base, &CLUSTER, &mut found);
        find_nulls("cluster", &base, &mut found);
        if let Some(credential) = &self.cloud_credential {
            found.extend(credential.find_flaws());
            let other = self.named_variables().into_iter().find(|(_, name)| *name == credential.variable);
            if let Some((place, _)) = other {
                found.push(("cloudCredential.variable".into(), format!("is that of {place} too")));
            }
        }
        if let Some(classes) = &self.control_plane_classes {
            if classes.classes.is_empty() {
                found.push(("controlPlaneClasses.classes".into(), "is empty".into()));
            }
            let names = classes.classes.values().enumerate();
            names.for_each(|(i, value)| {
                find_nulls(&format!("controlPlaneClasses.classes[{i}]"), value, &mut found);
            });
        }
        found
    }

    fn machine_flaw(&self, machine: &Worker) -> Option<String> {
        if machine.worker.is_empty() {
            return Some("names no worker".into());
        }
        if machine.variables.values().any(Value::is_null) {
            return Some("has a variable that is null".into());
        }
        let own = self.cloud_credential.iter().map(|credential| &credential.variable);
        own.filter(|variable| machine.variables.contains_key(*variable))
            .map(|variable| {
                format!("has variable {variable}, which takes each cluster's own credential of the cloud")
            })
            .next()
    }

    fn overlay_flaws(&self, overlay: &Map<String, Value>, _: &[&Variable]) -> Vec<(String, String)> {
        let own = CLUSTER.iter().chain(&OVERLAY_GUARDED);
        let guarded = own.map(|path| path.split('.').map(str::to_owned).collect()).collect();
        overlay::find_flaws(overlay, &[("cluster", &self.cluster, guarded)])
    }

    fn parse_target(&self, words: &str) -> Result<Variable, String> {
        if self.image_variable.as_deref() == Some(words) {
            return Err("leads to the image, which the release determines".into());
        }
        if self.cloud_credential.as_ref().is_some_and(|credential| credential.variable == words) {
            return Err("leads to the credential of the cloud, which is each cluster's own".into());
        }
        parse_word(words).map(Variable)
    }

    fn node_target(&self, words: &str) -> Result<Variable, String> {
        self.parse_target(words)
    }

    /// The class of workers of a group cannot change.
    fn may_become(&self, old: &Worker, new: &Worker) -> bool {
        old.worker == new.worker
    }

    fn control_plane_classes(&self) -> Vec<&str> {
        self.control_plane_classes.iter().flat_map(|c| c.classes.keys().map(String::as_str)).collect()
    }

    fn network_variables(&self) -> NetworkVariables {
        (*self.network_variables).clone()
    }

    fn needs_image(&self) -> bool {
        self.image_variable.is_some()
    }

    fn cloud_credential(&self) -> Option<&CloudCredential> {
        self.cloud_credential.as_ref()
    }

    fn cluster_class(&self) -> Option<ClusterClassName> {
        let ClassRef { name, namespace } = &self.class_ref;
        let own = |namespace: &ObjectName| ClassNamespace::Named(namespace.to_string());
        let namespace = namespace.as_ref().map_or(ClassNamespace::OfCluster, own);
        Some(ClusterClassName { namespace, name: name.to_string() })
    }
}

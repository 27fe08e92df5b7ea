//! Entries for CaaS: a ClusterTemplateInstance of a ClusterTemplate of the cluster-templates operator.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{BackendDefinition, ClassNamespace, ClusterClassName, definition::parse_word};
use crate::foreign::{ResourceKind, caas::Instance};
use crate::names::ObjectName;
use crate::template::{
    Backend,
    capability::Capabilities,
    descriptor::{BackendDescriptor, EverReady, NameLimit, ReleaseRule, Underlying},
    parameter::Type,
};

/// Constants of the backend.
pub(super) const DESCRIPTOR: BackendDescriptor = BackendDescriptor {
    name: "caas",
    title: "CaaS",
    cluster_kind: ResourceKind {
        group: "clustertemplate.openshift.io",
        versions: &["v1alpha1"],
        kind: "ClusterTemplateInstance",
        plural: "clustertemplateinstances",
    },
    dependent_kinds: &[],
    primary_resource: "instance",
    default_namespace: "clusters",
    // It becomes a label, and charts make names of it: what they add has to fit too.
    name_limit: NameLimit::Characters(40),
    objects_per_cluster: 2,
    // Everything is a parameter of the chart, and the object is immutable as a whole.
    capabilities: Capabilities {
        node_groups: false,
        autoscale: false,
        min_count: 0,
        arch: false,
        failure_domain: false,
        labels: false,
        taints: false,
        control_planes: &[],
        release_image: false,
        cluster_cidrs: false,
        machine_cidr: false,
        ipv6: false,
        editable: false,
        moves: false,
        walks: false,
    },
    has_overlay: false,
    release: ReleaseRule::Free,
    underlying: Some(Underlying::Observed(Backend::HyperShift)),
    refuses_tenant_credentials: Some("its charts get nothing but values"),
    has_cloud_credentials: false,
    ever_ready: EverReady::Phase("Ready"),
    supported_versions: None,
    cluster_class: Some(ResourceKind {
        group: "clustertemplate.openshift.io",
        versions: &["v1alpha1"],
        kind: "ClusterTemplate",
        plural: "clustertemplates",
    }),
    reports_api_version: false,
};

/// Settings common to all ClusterTemplateInstances of an entry.
#[derive(JsonSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Caas {
    /// Name of the ClusterTemplate.
    #[schemars(with = "String", length(min = 1, max = 253))]
    pub cluster_template: ObjectName,
    /// The parameter of the chart that takes the version. If not set, claims cannot ask for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version_parameter: Option<String>,
    /// The parameter of the chart that takes the image of a release, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image_parameter: Option<String>,
    /// Namespace of the HostedCluster that the chart makes, whose name is the uid of the ClusterTemplateInstance. Looked at where
    /// `observes` says so. If not set, `clusters`.
    #[schemars(with = "Option<String>", length(max = 63))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hosted_cluster_namespace: Option<ObjectName>,
}

/// There are no classes of nodes: what nodes a cluster has is a parameter of the chart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum NoMachine {}

/// A value of a chart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChartValue {
    /// Its path in the chart's values.
    pub name: String,
    /// The ApplicationSet whose chart it is; none: that of the cluster itself.
    pub setup: Option<String>,
}

impl BackendDefinition for Caas {
    const BACKEND: Backend = Backend::Caas;
    type Machine = NoMachine;
    type Object = Instance;
    type Target = ChartValue;

    fn find_flaws(&self) -> Vec<(String, String)> {
        let mut found = Vec::new();
        let own = [("versionParameter", &self.version_parameter), ("imageParameter", &self.image_parameter)];
        for (member, name) in own {
            found.extend(
                name.as_deref().and_then(|name| parse_word(name).err()).map(|why| (member.to_owned(), why)),
            );
        }
        if self.version_parameter.is_some() && self.version_parameter == self.image_parameter {
            found.push(("imageParameter".into(), "is that of the version too".into()));
        }
        found
    }

    fn machine_flaw(&self, machine: &NoMachine) -> Option<String> {
        match *machine {}
    }

    /// `SETUP/NAME` for a chart that is set up after the cluster.
    fn parse_target(&self, words: &str) -> Result<ChartValue, String> {
        let (setup, name) = match words.split_once('/') {
            Some((setup, name)) => (Some(parse_word(setup)?), name),
            None => (None, words),
        };
        let value = ChartValue { name: parse_word(name)?, setup };
        let own = [&self.version_parameter, &self.image_parameter];
        if value.setup.is_none() && own.into_iter().flatten().any(|taken| *taken == value.name) {
            return Err("leads to what belongs to the release".into());
        }
        Ok(value)
    }

    fn node_target(&self, _: &str) -> Result<ChartValue, String> {
        Err("has no node groups to go to".into())
    }

    fn may_become(&self, old: &NoMachine, _: &NoMachine) -> bool {
        match *old {}
    }

    /// A value of a chart goes by as a text, in which a list or an object has no form that every chart reads.
    fn takes_type(&self, type_: Type) -> bool {
        !matches!(type_, Type::Array | Type::Object)
    }

    fn takes_versions(&self) -> bool {
        self.version_parameter.is_some()
    }

    fn needs_image(&self) -> bool {
        false
    }

    fn cluster_class(&self) -> Option<ClusterClassName> {
        let name = self.cluster_template.to_string();
        Some(ClusterClassName { namespace: ClassNamespace::None, name })
    }
}

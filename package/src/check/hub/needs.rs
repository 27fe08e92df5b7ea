//! Requirements of each kind of claim on a hub: kinds, namespaces, and rights of a Konflux cluster's identity there.

use std::{collections::BTreeMap, fmt};

use testplatform_apis::{
    byoc::{CARRIER_ROLE, PUBLISHER_ROLE},
    hub::{CONFIG_MAP, ResourceKind},
    template::{Backend, descriptor::Underlying},
};

mod namespaced;

/// Purpose of a hub.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// Claims with `ciOperator`.
    EphemeralCluster,
    /// Claims with `clusterClaim`.
    ClusterClaim,
    /// Claims with `clusterClaim` and credentials of the tenant.
    Byoc,
    /// Claims with `template` and credentials of the tenant.
    ByocTemplate,
    /// `Namespace` claims.
    Space,
    /// Claims with `template`.
    Template(Backend),
}

const EPHEMERAL_CLUSTER: ResourceKind = ResourceKind {
    group: "ci.openshift.io",
    versions: &["v1"],
    kind: "EphemeralCluster",
    plural: "ephemeralclusters",
};
const CLUSTER_CLAIM: ResourceKind = ResourceKind {
    group: "hive.openshift.io",
    versions: &["v1"],
    kind: "ClusterClaim",
    plural: "clusterclaims",
};
const CLUSTER_POOL: ResourceKind = ResourceKind {
    group: "hive.openshift.io",
    versions: &["v1"],
    kind: "ClusterPool",
    plural: "clusterpools",
};

/// Subjects that are no backend of templates.
const WITHOUT_TEMPLATE: [Subject; 5] =
    [Subject::EphemeralCluster, Subject::ClusterClaim, Subject::Byoc, Subject::ByocTemplate, Subject::Space];

impl Subject {
    /// All subjects.
    pub const ALL: [Self; WITHOUT_TEMPLATE.len() + Backend::ALL.len()] = {
        let mut all = [Self::Space; WITHOUT_TEMPLATE.len() + Backend::ALL.len()];
        let mut i = 0;
        while i < all.len() {
            all[i] = if i < WITHOUT_TEMPLATE.len() {
                WITHOUT_TEMPLATE[i]
            } else {
                Self::Template(Backend::ALL[i - WITHOUT_TEMPLATE.len()])
            };
            i += 1;
        }
        all
    };

    /// Subjects that are checked by default: the served kinds show whether they concern a hub.
    pub fn default_subjects() -> Vec<Self> {
        Self::ALL.into_iter().filter(|subject| !subject.must_be_named()).collect()
    }

    /// Its name on the command line.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::EphemeralCluster => "ephemeral-cluster",
            Self::ClusterClaim => "cluster-claim",
            Self::Byoc => "byoc",
            Self::ByocTemplate => "byoc-template",
            Self::Space => "space",
            Self::Template(backend) => backend.as_str(),
        }
    }

    /// Parses the name of a subject.
    ///
    /// # Errors
    /// If there is no such subject.
    pub fn parse(word: &str) -> Result<Self, String> {
        let words = Self::ALL.map(Self::as_str).join(", ");
        let found = Self::ALL.into_iter().find(|subject| subject.as_str() == word);
        found.ok_or_else(|| format!("expected one of {words}"))
    }

    /// Whether the served kinds do not reveal that a hub is for this subject.
    pub const fn must_be_named(self) -> bool {
        match self {
            Self::Byoc | Self::ByocTemplate | Self::Space => true,
            Self::EphemeralCluster | Self::ClusterClaim | Self::Template(_) => false,
        }
    }

    /// Its claims: by their block, or their kind.
    pub const fn claims(self) -> &'static str {
        match self {
            Self::EphemeralCluster => "`ciOperator`",
            Self::ClusterClaim => "`clusterClaim`",
            Self::Byoc => "`clusterClaim` and `byoc`",
            Self::ByocTemplate => "`template` and `byoc`",
            Self::Space => "kind `Namespace`",
            Self::Template(_) => "`template`",
        }
    }

    /// Kinds written for a cluster.
    pub fn kinds(self) -> Vec<ResourceKind> {
        match self {
            Self::EphemeralCluster => vec![EPHEMERAL_CLUSTER],
            Self::ClusterClaim => vec![CLUSTER_CLAIM],
            Self::Byoc => vec![CLUSTER_CLAIM, CLUSTER_POOL],
            Self::Space => vec![],
            Self::ByocTemplate => Backend::OF_TENANT_CREDENTIALS.written_kinds(),
            Self::Template(backend) => backend.written_kinds(),
        }
    }

    /// Kinds that are only watched.
    pub fn watched_kinds(self) -> Vec<ResourceKind> {
        match self {
            Self::EphemeralCluster | Self::ClusterClaim | Self::Byoc | Self::ByocTemplate | Self::Space => {
                vec![]
            }
            Self::Template(backend) => backend.watched_kinds(),
        }
    }

    /// Default namespace of the written objects. None: each claim has its own.
    pub const fn namespace(self) -> Option<&'static str> {
        match self {
            Self::EphemeralCluster => Some("ephemeral-cluster"),
            Self::ClusterClaim => Some("cluster-pools"),
            Self::Byoc | Self::ByocTemplate | Self::Space => None,
            Self::Template(backend) => Some(backend.descriptor().default_namespace),
        }
    }

    /// Default namespace of published credentials.
    pub const fn credentials(self) -> &'static str {
        match self {
            Self::EphemeralCluster => "ephemeral-cluster",
            Self::Space => "testplatform-spaces",
            Self::ClusterClaim | Self::Byoc | Self::ByocTemplate | Self::Template(_) => {
                "testplatform-credentials"
            }
        }
    }
}

/// A permission of an identity.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Permission {
    /// The verb.
    pub verb: &'static str,
    /// API group; empty for the core group.
    pub group: &'static str,
    /// The resource.
    pub resource: &'static str,
    /// The namespace; none: every namespace, or cluster scope.
    pub namespace: Option<String>,
    /// The only allowed object name.
    pub name: Option<&'static str>,
}

impl fmt::Display for Permission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { verb, group, resource, namespace, name } = self;
        let dot = if group.is_empty() { "" } else { "." };
        write!(f, "{verb} {resource}{dot}{group}")?;
        if let Some(name) = name {
            write!(f, " {name}")?;
        }
        match namespace {
            Some(namespace) => write!(f, " in {namespace}"),
            None if matches!(*resource, "namespaces" | "clusterroles") => Ok(()),
            None => f.write_str(" in every namespace"),
        }
    }
}

/// A required right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Need {
    /// The right.
    pub right: Permission,
    /// Whether it is optional.
    pub advised: bool,
    /// Purpose.
    pub why: &'static str,
}

/// Scope of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckPlan {
    /// Subjects to check.
    pub subjects: Vec<Subject>,
    /// Whether the user named them, so their kinds have to exist.
    pub named: bool,
    /// Namespaces of objects that differ from the default.
    pub custom_namespaces: BTreeMap<Subject, String>,
    /// Namespace of published credentials that differs from the default.
    pub credentials: Option<String>,
    /// Namespace of the hub's facts.
    pub facts: String,
}

impl Default for CheckPlan {
    fn default() -> Self {
        Self {
            subjects: Subject::default_subjects(),
            named: false,
            custom_namespaces: BTreeMap::new(),
            credentials: None,
            facts: "provider-testplatform".into(),
        }
    }
}

/// Verbs on objects that represent clusters.
pub const WRITES: [&str; 4] = ["get", "create", "patch", "delete"];
/// Verbs on objects that are only read. provider-kubernetes observes by a dry run of a patch, so reading needs both.
pub const READS: [&str; 2] = ["get", "patch"];
/// Verbs of a watch.
pub const WATCHES: [&str; 2] = ["list", "watch"];

fn build_permission(
    verb: &'static str,
    group: &'static str,
    resource: &'static str,
    namespace: Option<&str>,
    name: Option<&'static str>,
) -> Permission {
    Permission { verb, group, resource, namespace: namespace.map(str::to_owned), name }
}

impl CheckPlan {
    /// Namespace of a subject's objects.
    pub fn namespace(&self, subject: Subject) -> Option<&str> {
        self.custom_namespaces.get(&subject).map(String::as_str).or(subject.namespace())
    }

    /// Namespace of a subject's published credentials.
    pub fn credentials(&self, subject: Subject) -> &str {
        self.credentials.as_deref().unwrap_or_else(|| subject.credentials())
    }

    /// The required namespaces.
    pub fn namespaces(&self, subject: Subject) -> Vec<&str> {
        let mut all: Vec<&str> = self.namespace(subject).into_iter().collect();
        all.push(self.credentials(subject));
        all.extend(matches!(subject, Subject::Template(_)).then_some(self.facts.as_str()));
        all.dedup();
        all
    }

    /// The required rights.
    pub fn needs(&self, subject: Subject) -> Vec<Need> {
        let mut needs = match subject {
            Subject::Byoc => namespaced::byoc(&[CARRIER_ROLE]),
            Subject::ByocTemplate => namespaced::byoc(&[CARRIER_ROLE, PUBLISHER_ROLE]),
            Subject::Space => namespaced::spaces(),
            Subject::EphemeralCluster | Subject::ClusterClaim | Subject::Template(_) => vec![],
        };
        for kind in subject.kinds() {
            let namespace = self.namespace(subject);
            needs.extend(WRITES.map(|verb| Need {
                right: build_permission(verb, kind.group, kind.plural, namespace, None),
                advised: false,
                why: "clusters are asked for, followed and taken away by it",
            }));
            // A pool for one cluster does not change after its creation.
            let watches = WATCHES.into_iter().filter(|_| kind.plural != CLUSTER_POOL.plural);
            needs.extend(watches.map(|verb| Need {
                right: build_permission(verb, kind.group, kind.plural, None, None),
                advised: true,
                why: "without it provider-kubernetes polls, every 30 seconds to 10 minutes",
            }));
        }
        for kind in subject.watched_kinds() {
            needs.extend(READS.into_iter().chain(WATCHES).map(|verb| Need {
                right: build_permission(verb, kind.group, kind.plural, None, None),
                advised: true,
                why: "without it the addresses, version and nodes of clusters are unknown, and whether they are degraded",
            }));
        }
        let credentials = Some(self.credentials(subject));
        needs.extend(READS.map(|verb| Need {
            right: build_permission(verb, "", "secrets", credentials, None),
            advised: false,
            why: "credentials are read, by a dry run of a patch",
        }));
        if let Subject::Template(backend) = subject
            && let Some(Underlying::Observed(underlying)) = backend.descriptor().underlying
        {
            let kind = underlying.cluster_kind();
            let namespace = self.namespace(Subject::Template(underlying));
            let reads = READS.map(|verb| build_permission(verb, kind.group, kind.plural, namespace, None));
            let watches = WATCHES.map(|verb| build_permission(verb, kind.group, kind.plural, None, None));
            needs.extend(reads.into_iter().chain(watches).map(|right| Need {
                right,
                advised: true,
                why: "templates with `observes` look at the HostedCluster of their chart",
            }));
        }
        if let Subject::Template(_) = subject {
            needs.extend(WRITES.map(|verb| Need {
                right: build_permission(verb, "", "configmaps", self.namespace(subject), None),
                advised: true,
                why: "templates with bundles, prerequisites or credentials of clouds order them by ConfigMaps",
            }));
            needs.extend(READS.map(|verb| Need {
                right: build_permission(verb, "", "configmaps", Some(&self.facts), Some(CONFIG_MAP)),
                advised: true,
                why: "without it the hub's facts are unknown, and its load is estimated",
            }));
        }
        needs
    }

    /// Dangerous rights that nothing needs.
    pub fn excess_rights(&self) -> Vec<Permission> {
        let everywhere =
            |verb, group, resource| Permission { verb, group, resource, namespace: None, name: None };
        vec![
            everywhere("*", "*", "*"),
            everywhere("get", "", "secrets"),
            everywhere("list", "", "secrets"),
            everywhere("create", "", "pods"),
            everywhere("create", "rbac.authorization.k8s.io", "clusterrolebindings"),
        ]
    }
}

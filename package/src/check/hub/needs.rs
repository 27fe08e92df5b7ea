//! What each kind of claim needs of a hub: kinds, namespaces and rights of the identity that a Konflux cluster has there.

use std::{collections::BTreeMap, fmt};

use testplatform_apis::{
    byoc::{CARRIER_ROLE, PUBLISHER_ROLE},
    hub::{CONFIG_MAP, ResourceKind},
    template::Backend,
};

mod inside;

/// What a hub is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// Claims with `ciOperator`.
    EphemeralCluster,
    /// Claims with `clusterClaim`.
    ClusterClaim,
    /// Claims with `clusterClaim` that bring their own credentials.
    Byoc,
    /// Claims with `template` that bring their own credentials.
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

impl Subject {
    /// All of them.
    pub const EVERY: [Self; 9] = [
        Self::EphemeralCluster,
        Self::ClusterClaim,
        Self::Byoc,
        Self::ByocTemplate,
        Self::Space,
        Self::Template(Backend::HyperShift),
        Self::Template(Backend::ClusterApi),
        Self::Template(Backend::Caas),
        Self::Template(Backend::Osac),
    ];

    /// Those that are looked at although nobody names them: what a hub serves tells whether they concern it.
    pub fn unnamed() -> Vec<Self> {
        Self::EVERY.into_iter().filter(|subject| !subject.must_be_named()).collect()
    }

    /// The word for it on the command line.
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

    /// The subject for a word.
    ///
    /// # Errors
    /// If there is none.
    pub fn parse(word: &str) -> Result<Self, String> {
        let words = Self::EVERY.map(Self::as_str).join(", ");
        let found = Self::EVERY.into_iter().find(|subject| subject.as_str() == word);
        found.ok_or_else(|| format!("expected one of {words}"))
    }

    /// Whether what a hub serves does not tell that it is meant to be for this.
    pub const fn must_be_named(self) -> bool {
        match self {
            Self::Byoc | Self::ByocTemplate | Self::Space => true,
            Self::EphemeralCluster | Self::ClusterClaim | Self::Template(_) => false,
        }
    }

    /// The claims that it is for: by their block, or their kind.
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

    /// The kinds that are written for a cluster.
    pub fn kinds(self) -> Vec<ResourceKind> {
        match self {
            Self::EphemeralCluster => vec![EPHEMERAL_CLUSTER],
            Self::ClusterClaim => vec![CLUSTER_CLAIM],
            Self::Byoc => vec![CLUSTER_CLAIM, CLUSTER_POOL],
            Self::Space => vec![],
            Self::ByocTemplate => Backend::HyperShift.written_kinds(),
            Self::Template(backend) => backend.written_kinds(),
        }
    }

    /// The kinds that are only watched beside those.
    pub fn watched_kinds(self) -> Vec<ResourceKind> {
        match self {
            Self::EphemeralCluster | Self::ClusterClaim | Self::Byoc | Self::ByocTemplate | Self::Space => {
                vec![]
            }
            Self::Template(backend) => backend.watched_kinds(),
        }
    }

    /// The namespace in which they are written, unless somebody says otherwise. None: each claim has one of its own.
    pub const fn namespace(self) -> Option<&'static str> {
        match self {
            Self::EphemeralCluster => Some("ephemeral-cluster"),
            Self::ClusterClaim => Some("cluster-pools"),
            Self::Byoc | Self::ByocTemplate | Self::Space => None,
            Self::Template(Backend::HyperShift | Backend::ClusterApi | Backend::Caas) => Some("clusters"),
            Self::Template(Backend::Osac) => Some("osac-orders"),
        }
    }

    /// The namespace in which credentials are published, unless somebody says otherwise.
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

/// Something that somebody may do.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Right {
    /// The verb.
    pub verb: &'static str,
    /// API group; empty for the core.
    pub group: &'static str,
    /// The resource.
    pub resource: &'static str,
    /// The namespace; none: in every one, or in none.
    pub namespace: Option<String>,
    /// Only the object of this name.
    pub name: Option<&'static str>,
}

impl fmt::Display for Right {
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

/// A right that is needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Need {
    /// The right.
    pub right: Right,
    /// Whether it can be done without.
    pub advised: bool,
    /// What for.
    pub why: &'static str,
}

/// What is looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// For these.
    pub subjects: Vec<Subject>,
    /// They were named, so that their kinds have to be there.
    pub named: bool,
    /// Where objects go, other than usual.
    pub elsewhere: BTreeMap<Subject, String>,
    /// Where credentials are published, other than usual.
    pub credentials: Option<String>,
    /// Where the hub tells its facts.
    pub facts: String,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            subjects: Subject::unnamed(),
            named: false,
            elsewhere: BTreeMap::new(),
            credentials: None,
            facts: "provider-testplatform".into(),
        }
    }
}

/// What is done with objects that stand for clusters.
pub const WRITES: [&str; 4] = ["get", "create", "patch", "delete"];
/// What is done with what is only read: provider-kubernetes observes by a dry run of a patch, so reading takes both.
pub const READS: [&str; 2] = ["get", "patch"];
/// What a watch takes.
pub const WATCHES: [&str; 2] = ["list", "watch"];

fn right(
    verb: &'static str,
    group: &'static str,
    resource: &'static str,
    namespace: Option<&str>,
    name: Option<&'static str>,
) -> Right {
    Right { verb, group, resource, namespace: namespace.map(str::to_owned), name }
}

impl Plan {
    /// Where objects of a subject go.
    pub fn namespace(&self, subject: Subject) -> Option<&str> {
        self.elsewhere.get(&subject).map(String::as_str).or(subject.namespace())
    }

    /// Where credentials of a subject are published.
    pub fn credentials(&self, subject: Subject) -> &str {
        self.credentials.as_deref().unwrap_or_else(|| subject.credentials())
    }

    /// The namespaces that have to be there.
    pub fn namespaces(&self, subject: Subject) -> Vec<&str> {
        let mut all: Vec<&str> = self.namespace(subject).into_iter().collect();
        all.push(self.credentials(subject));
        all.extend(matches!(subject, Subject::Template(_)).then_some(self.facts.as_str()));
        all.dedup();
        all
    }

    /// The rights that are needed.
    pub fn needs(&self, subject: Subject) -> Vec<Need> {
        let mut needs = match subject {
            Subject::Byoc => inside::byoc(&[CARRIER_ROLE]),
            Subject::ByocTemplate => inside::byoc(&[CARRIER_ROLE, PUBLISHER_ROLE]),
            Subject::Space => inside::spaces(),
            Subject::EphemeralCluster | Subject::ClusterClaim | Subject::Template(_) => vec![],
        };
        for kind in subject.kinds() {
            let namespace = self.namespace(subject);
            needs.extend(WRITES.map(|verb| Need {
                right: right(verb, kind.group, kind.plural, namespace, None),
                advised: false,
                why: "clusters are asked for, followed and taken away by it",
            }));
            // A pool for one cluster does not change after it was made.
            let watches = WATCHES.into_iter().filter(|_| kind.plural != CLUSTER_POOL.plural);
            needs.extend(watches.map(|verb| Need {
                right: right(verb, kind.group, kind.plural, None, None),
                advised: true,
                why: "without it provider-kubernetes polls, every 30 seconds to 10 minutes",
            }));
        }
        for kind in subject.watched_kinds() {
            needs.extend(READS.into_iter().chain(WATCHES).map(|verb| Need {
                right: right(verb, kind.group, kind.plural, None, None),
                advised: true,
                why: "without it the addresses, version and nodes of clusters are unknown, and whether they are degraded",
            }));
        }
        let credentials = Some(self.credentials(subject));
        needs.extend(READS.map(|verb| Need {
            right: right(verb, "", "secrets", credentials, None),
            advised: false,
            why: "credentials are read, by a dry run of a patch",
        }));
        if subject == Subject::Template(Backend::Caas) {
            let behind = Backend::HyperShift.cluster_kind();
            let namespace = self.namespace(Subject::Template(Backend::HyperShift));
            let reads = READS.map(|verb| right(verb, behind.group, behind.plural, namespace, None));
            let watches = WATCHES.map(|verb| right(verb, behind.group, behind.plural, None, None));
            needs.extend(reads.into_iter().chain(watches).map(|right| Need {
                right,
                advised: true,
                why: "templates with `observes` look at the HostedCluster of their chart",
            }));
        }
        if let Subject::Template(_) = subject {
            needs.extend(WRITES.map(|verb| Need {
                right: right(verb, "", "configmaps", self.namespace(subject), None),
                advised: true,
                why: "templates with bundles, prerequisites or credentials of clouds order them by ConfigMaps",
            }));
            needs.extend(READS.map(|verb| Need {
                right: right(verb, "", "configmaps", Some(&self.facts), Some(CONFIG_MAP)),
                advised: true,
                why: "without it the hub's facts are unknown, and its load is estimated",
            }));
        }
        needs
    }

    /// What nobody needs and would be dangerous.
    pub fn excess(&self) -> Vec<Right> {
        let everywhere = |verb, group, resource| Right { verb, group, resource, namespace: None, name: None };
        vec![
            everywhere("*", "*", "*"),
            everywhere("get", "", "secrets"),
            everywhere("list", "", "secrets"),
            everywhere("create", "", "pods"),
            everywhere("create", "rbac.authorization.k8s.io", "clusterrolebindings"),
        ]
    }
}

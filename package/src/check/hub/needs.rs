//! What each kind of claim needs of a hub: kinds, namespaces and rights of the identity that a Konflux cluster has there.

use std::{collections::BTreeMap, fmt};

use testplatform_apis::{
    hub::{CONFIG_MAP, Kind},
    template::Backend,
};

/// What clusters are made of on a hub.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// Claims with `ciOperator`.
    EphemeralCluster,
    /// Claims with `clusterClaim`.
    ClusterClaim,
    /// Claims with `template`.
    Template(Backend),
}

const EPHEMERAL_CLUSTER: Kind = Kind {
    group: "ci.openshift.io",
    versions: &["v1"],
    kind: "EphemeralCluster",
    plural: "ephemeralclusters",
};
const CLUSTER_CLAIM: Kind =
    Kind { group: "hive.openshift.io", versions: &["v1"], kind: "ClusterClaim", plural: "clusterclaims" };

impl Subject {
    /// All of them.
    pub const EVERY: [Self; 6] = [
        Self::EphemeralCluster,
        Self::ClusterClaim,
        Self::Template(Backend::HyperShift),
        Self::Template(Backend::ClusterApi),
        Self::Template(Backend::Caas),
        Self::Template(Backend::Osac),
    ];

    /// The word for it on the command line.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::EphemeralCluster => "ephemeral-cluster",
            Self::ClusterClaim => "cluster-claim",
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

    /// The block of the claim.
    pub const fn block(self) -> &'static str {
        match self {
            Self::EphemeralCluster => "ciOperator",
            Self::ClusterClaim => "clusterClaim",
            Self::Template(_) => "template",
        }
    }

    /// The kinds that are written for a cluster.
    pub fn kinds(self) -> Vec<Kind> {
        match self {
            Self::EphemeralCluster => vec![EPHEMERAL_CLUSTER],
            Self::ClusterClaim => vec![CLUSTER_CLAIM],
            Self::Template(backend) => backend.kinds(),
        }
    }

    /// The namespace in which they are written, unless somebody says otherwise.
    pub const fn namespace(self) -> &'static str {
        match self {
            Self::EphemeralCluster => "ephemeral-cluster",
            Self::ClusterClaim => "cluster-pools",
            Self::Template(Backend::HyperShift | Backend::ClusterApi | Backend::Caas) => "clusters",
            Self::Template(Backend::Osac) => "osac-orders",
        }
    }

    /// The namespace in which credentials are published, unless somebody says otherwise.
    pub const fn credentials(self) -> &'static str {
        match self {
            Self::EphemeralCluster => "ephemeral-cluster",
            Self::ClusterClaim | Self::Template(_) => "testplatform-credentials",
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
    /// The namespace; none: in every one.
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
            subjects: Subject::EVERY.into(),
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

impl Plan {
    /// Where objects of a subject go.
    pub fn namespace(&self, subject: Subject) -> &str {
        self.elsewhere.get(&subject).map_or_else(|| subject.namespace(), String::as_str)
    }

    /// Where credentials of a subject are published.
    pub fn credentials(&self, subject: Subject) -> &str {
        self.credentials.as_deref().unwrap_or_else(|| subject.credentials())
    }

    /// The namespaces that have to be there.
    pub fn namespaces(&self, subject: Subject) -> Vec<&str> {
        let mut all = vec![self.namespace(subject), self.credentials(subject)];
        all.extend(matches!(subject, Subject::Template(_)).then_some(self.facts.as_str()));
        all.dedup();
        all
    }

    /// The rights that are needed.
    pub fn needs(&self, subject: Subject) -> Vec<Need> {
        let right = |verb, group, resource, namespace: Option<&str>, name| Right {
            verb,
            group,
            resource,
            namespace: namespace.map(str::to_owned),
            name,
        };
        let mut needs = Vec::new();
        for kind in subject.kinds() {
            let namespace = Some(self.namespace(subject));
            needs.extend(WRITES.map(|verb| Need {
                right: right(verb, kind.group, kind.plural, namespace, None),
                advised: false,
                why: "clusters are asked for, followed and taken away by it",
            }));
            needs.extend(WATCHES.map(|verb| Need {
                right: right(verb, kind.group, kind.plural, None, None),
                advised: true,
                why: "without it provider-kubernetes polls, every 30 seconds to 10 minutes",
            }));
        }
        let credentials = Some(self.credentials(subject));
        needs.extend(READS.map(|verb| Need {
            right: right(verb, "", "secrets", credentials, None),
            advised: false,
            why: "credentials are read, by a dry run of a patch",
        }));
        if let Subject::Template(_) = subject {
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

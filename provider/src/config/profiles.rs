//! The registry of cluster profiles: which there are, and who may use them.
//!
//! Its file belongs to the step registry and has that format. The file grows without notice, so unknown fields are skipped; but the fields of
//! an ownership rule must be correct, or the whole file is refused: a half-understood registry admits nobody.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    path::Path,
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::{ClusterProfiles, EphemeralClusters};

/// The file, as far as it matters here.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Registry {
    /// The profiles.
    pub cluster_profiles: Vec<RegisteredProfile>,
    /// Settings that several profiles share.
    #[serde(skip_serializing_if = "Konflux::is_empty")]
    pub konflux: Konflux,
}

/// A profile, as the file has it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RegisteredProfile {
    /// Its name.
    pub name: String,
    /// Owners that may use the profile. An owner with only an organisation is one of ordinary CI.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub owners: Vec<Owner>,
    /// The kind of cloud.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub cluster_type: String,
}

/// An owner of a profile.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Owner {
    /// The Konflux tenant, if it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub konflux: Option<KonfluxOwner>,
}

/// A Konflux tenant that owns a profile.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct KonfluxOwner {
    /// Namespace of the claims.
    pub tenant: String,
    /// The Konflux clusters on which it is that tenant.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub clusters: Vec<String>,
    /// Groups of such clusters.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cluster_groups: Vec<String>,
}

/// Settings that several profiles share.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Konflux {
    /// Names for groups of Konflux clusters.
    pub cluster_groups: BTreeMap<String, Vec<String>>,
}

impl Konflux {
    fn is_empty(&self) -> bool {
        self.cluster_groups.is_empty()
    }
}

/// Why there is no registry.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProfilesError {
    /// It is no YAML, or something in it has a wrong type.
    #[error("{0}")]
    Syntax(String),
    /// All contradictions in the file.
    #[error("{}", .0.join("; "))]
    Invalid(Vec<String>),
}

/// The profiles, with the groups resolved; or why there are none now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profiles {
    found: Result<BTreeMap<String, Profile>, String>,
    /// Whether an absent profile counts as nonexistent.
    settled: bool,
}

/// A profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// The kind of cloud; may be empty.
    pub cluster_type: String,
    /// Konflux tenants that own it, and the Konflux clusters on which they do.
    owners: Vec<(String, BTreeSet<String>)>,
}

impl Profiles {
    /// Reads a file.
    ///
    /// # Errors
    /// If it is not to be understood, with what is wrong.
    pub fn parse(text: &str) -> Result<Self, ProfilesError> {
        let options = serde_saphyr::options! { with_snippet: false };
        let registry: Option<Registry> = serde_saphyr::from_str_with_options(text, options)
            .map_err(|error| ProfilesError::Syntax(error.without_snippet().to_string()))?;
        // A file that is being written is empty for a moment, or has no profiles yet.
        let registry = registry.ok_or_else(|| ProfilesError::Syntax("it is empty".into()))?;
        if registry.cluster_profiles.is_empty() {
            return Err(ProfilesError::Invalid(vec!["it has no cluster_profiles".into()]));
        }
        registry.try_into()
    }

    /// Reads the registry that a configuration names; `read` reads a file. If it cannot be read or parsed, the registry is unavailable, with a
    /// reason.
    pub fn of(config: &EphemeralClusters, read: impl FnOnce(&Path) -> io::Result<String>) -> Self {
        let Some(ClusterProfiles { file, inline }) = &config.cluster_profiles else {
            return Self::unavailable("the configuration names none");
        };
        let found = match (file, inline) {
            (Some(file), _) => match read(file) {
                Ok(text) => Self::parse(&text).map_err(|error| format!("{}: {error}", file.display())),
                Err(error) => Err(format!("{}: {error}", file.display())),
            },
            (None, inline) => {
                Self::try_from(inline.clone().unwrap_or_default()).map_err(|error| error.to_string())
            }
        };
        found.unwrap_or_else(Self::unavailable)
    }

    /// Registry that cannot be read now. The sentence gives the reason; requests that need it wait.
    pub fn unavailable(reason: impl Into<String>) -> Self {
        Self { found: Err(reason.into()), settled: true }
    }

    /// The same, of a file that has only just been written: what it does not have may be on its way.
    #[must_use]
    pub fn unsettled(self) -> Self {
        Self { settled: false, ..self }
    }

    /// Whether what it does not have may be refused for ever.
    pub const fn is_settled(&self) -> bool {
        self.settled
    }

    /// A profile; None if there is none of that name.
    ///
    /// # Errors
    /// If the registry cannot be read now, with the reason.
    pub fn get(&self, name: &str) -> Result<Option<&Profile>, &str> {
        match &self.found {
            Ok(profiles) => Ok(profiles.get(name)),
            Err(reason) => Err(reason),
        }
    }
}

impl Profile {
    /// Whether a tenant on a Konflux cluster owns it. A tenant without a name owns nothing.
    pub fn is_owned_by(&self, tenant: &str, cluster: &str) -> bool {
        !tenant.is_empty()
            && !cluster.is_empty()
            && self.owners.iter().any(|(owner, clusters)| owner == tenant && clusters.contains(cluster))
    }
}

impl TryFrom<Registry> for Profiles {
    type Error = ProfilesError;

    fn try_from(registry: Registry) -> Result<Self, ProfilesError> {
        let mut problems = vec![];
        let mut profiles = BTreeMap::new();
        for (index, profile) in registry.cluster_profiles.into_iter().enumerate() {
            if profile.name.is_empty() {
                problems.push(format!("cluster_profiles[{index}] has no name"));
                continue;
            }
            let mut owners = vec![];
            for owner in profile.owners.into_iter().filter_map(|owner| owner.konflux) {
                let mut clusters: BTreeSet<String> = owner.clusters.into_iter().collect();
                for group in owner.cluster_groups {
                    match registry.konflux.cluster_groups.get(&group) {
                        Some(members) => clusters.extend(members.iter().cloned()),
                        None => problems.push(format!(
                            "cluster profile {:?} names the group {group:?}, which is not among konflux.cluster_groups",
                            profile.name
                        )),
                    }
                }
                owners.push((owner.tenant, clusters));
            }
            let resolved = Profile { cluster_type: profile.cluster_type, owners };
            if profiles.insert(profile.name.clone(), resolved).is_some() {
                problems.push(format!("cluster profile {:?} is there twice", profile.name));
            }
        }
        if problems.is_empty() {
            Ok(Self { found: Ok(profiles), settled: true })
        } else {
            Err(ProfilesError::Invalid(problems))
        }
    }
}

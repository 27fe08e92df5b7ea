//! Possible problems of a request, and their messages.

use std::fmt;

use serde_json::Value;
use testplatform_apis::names::ShortName;

use crate::config::{ClaimPattern, WAIT_IMAGE};

/// Reason for what the Test Platform's own controller checks first.
const VALIDATION: &str = "EphemeralClusterValidationFailure";
/// Reason for a problem that blocks a job.
pub const GENERATION: &str = "CIOperatorJobsGenerateFailure";

/// Something that keeps a request from being served, ever. Texts in it are the tenant's, and shown shortened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequestProblem {
    /// A field has the wrong shape.
    Schema { path: String, message: String },
    /// The name does not fit into the label by which the job is found.
    LongName { name: String },
    /// Both ways to a cluster.
    ProfileAndClaim,
    /// Neither.
    NoProfile,
    /// There is no such profile.
    UnknownProfile { profile: String },
    /// The profile is not the tenant's.
    NotOwner { tenant: String, cluster: String, profile: String },
    /// The request has no identity.
    NoIdentity { missing: &'static str, wanted: String },
    /// Nothing in it makes a cluster.
    NoWorkflow,
    /// The pools are not the tenant's.
    NotClaimOwner { tenant: String, cluster: String, claim: ClaimPattern },
    /// A label that ci-operator sets.
    ReservedLabel { key: String },
    /// An image by the name of the wait step's.
    ReservedImage { path: String },
    /// An image by a name that administrators refuse.
    DeniedImage { path: String, name: String },
    /// The request names no release to install.
    NoReleases,
    /// The configuration does not fit into a job.
    Oversize { size: usize, limit: usize },
}

impl RequestProblem {
    /// Reason of the condition.
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::Schema { .. }
            | Self::LongName { .. }
            | Self::ProfileAndClaim
            | Self::NoProfile
            | Self::UnknownProfile { .. }
            | Self::NotOwner { .. }
            | Self::NoIdentity { .. }
            | Self::NoWorkflow
            | Self::NotClaimOwner { .. }
            | Self::ReservedLabel { .. }
            | Self::ReservedImage { .. }
            | Self::DeniedImage { .. } => VALIDATION,
            Self::NoReleases | Self::Oversize { .. } => GENERATION,
        }
    }
}

impl fmt::Display for RequestProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Schema { path, message } if path.is_empty() => write!(f, "spec.ciOperator: {message}"),
            Self::Schema { path, message } => write!(f, "spec.ciOperator.{path} {message}"),
            Self::LongName { name } => {
                write!(f, "the name {} is longer than {} characters, the limit for a label of its job", quoted(name), ShortName::MAX)
            }
            Self::ProfileAndClaim => f.write_str("spec.ciOperator.test has both clusterProfile and clusterClaim: leave one of them out"),
            Self::NoProfile => f.write_str(
                "spec.ciOperator.test.clusterProfile is not set: name a cluster profile, or request a cluster from a pool with \
                clusterClaim",
            ),
            Self::UnknownProfile { profile } => {
                write!(f, "cluster profile {} does not exist: name one that the step registry has", quoted(profile))
            }
            Self::NotOwner { tenant, cluster, profile } => write!(
                f,
                "tenant {} on Konflux cluster {} does not own cluster profile {}: the step registry would need `- konflux: {{tenant: {}, clusters: [{}]}}` among the owners of that profile",
                quoted(tenant), quoted(cluster), quoted(profile), quoted(tenant), quoted(cluster),
            ),
            Self::NoIdentity { missing, wanted } => {
                write!(f, "annotation {missing} is not set, so the owner cannot be determined for {wanted}")
            }
            Self::NoWorkflow => f.write_str("spec.ciOperator.test.workflow is not set: no step would create a cluster"),
            Self::NotClaimOwner { tenant, cluster, claim } => write!(
                f,
                "tenant {} on Konflux cluster {} must not take such a cluster from a pool: the hub's configuration would need `- \
                {{tenant: {}, clusters: [{}], claims: {}}}` in ephemeralCluster.clusterClaimOwners",
                quoted(tenant), quoted(cluster), quoted(tenant), quoted(cluster), flow(claim),
            ),
            Self::ReservedLabel { key } => write!(
                f,
                "spec.ciOperator.test.clusterClaim.labels may not have the key {key}: use clusterClaim.{key}"
            ),
            Self::ReservedImage { path } => {
                write!(f, "{path} has the name {WAIT_IMAGE}, which is reserved for an image of this provider: choose another name")
            }
            Self::DeniedImage { path, name } => write!(
                f,
                "{path} has the name {}, which steps of workflows use for an image of theirs: choose another name",
                quoted(name)
            ),
            Self::NoReleases => f.write_str(
                "spec.ciOperator.releases is empty: set the release to install, or request a cluster from a pool with clusterClaim",
            ),
            Self::Oversize { size, limit } => write!(
                f,
                "the ci-operator configuration made of spec.ciOperator has {size} bytes, and a job can take {limit}: make it shorter"
            ),
        }
    }
}

/// A text of a tenant, for a sentence and for YAML alike.
pub fn quoted(text: &str) -> String {
    const LIMIT: usize = 80;
    let mut short: String = text.chars().take(LIMIT).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    Value::from(short).to_string()
}

/// A pattern as YAML on one line.
fn flow(claim: &ClaimPattern) -> String {
    let fields = [
        ("product", &claim.product),
        ("version", &claim.version),
        ("architecture", &claim.architecture),
        ("cloud", &claim.cloud),
        ("owner", &claim.owner),
    ];
    let given = fields.iter().filter_map(|(key, value)| Some(format!("{key}: {}", quoted(value.as_ref()?))));
    format!("{{{}}}", given.collect::<Vec<_>>().join(", "))
}

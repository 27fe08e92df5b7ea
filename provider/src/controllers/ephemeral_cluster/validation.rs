//! Finds all problems of a request, in the order in which the Test Platform's own controller would find them.
//!
//! This is the only check: neither the configuration resolver nor ci-operator checks again who owns a profile or a pool. The decision depends
//! on tenant and Konflux cluster, which the composition writes; nothing in the spec authorises anything.

use serde_json::{Map, Value};
use testplatform_apis::{
    ci_operator::{find_problems as schema_problems, unknown_fields, upstream_schema},
    names::{
        ShortName,
        ephemeral_cluster::{KONFLUX_CLUSTER, KONFLUX_TENANT},
    },
};

use super::request::Request;
use crate::config::{ClaimPattern, EphemeralClusters, WAIT_IMAGE, profiles::Profiles};

mod problem;

use problem::quoted;
pub use problem::{GENERATION, RequestProblem};

/// Keys of a Hive pool's labels that ci-operator sets itself.
const RESERVED_LABELS: [&str; 5] = ["product", "version", "architecture", "cloud", "owner"];

/// Result of validating a request.
#[derive(Debug, Default)]
pub struct Validation {
    /// Problems that can never be resolved without a change of the request.
    pub problems: Vec<RequestProblem>,
    /// Reason why the request cannot be served at the moment.
    pub obstacle: Option<String>,
    /// The kind of cloud of the cluster profile.
    pub cloud: String,
}

/// Validates a request.
pub fn validate(request: &Request<'_>, settings: &EphemeralClusters, profiles: &Profiles) -> Validation {
    let mut verdict = Validation::default();
    let schema = upstream_schema();
    verdict.problems.extend(
        schema_problems(schema, request.block)
            .into_iter()
            .map(|(path, message)| RequestProblem::Schema { path, message }),
    );
    // Not the tenant's mistake: this hub's EphemeralCluster has grown, and this provider has not.
    if let [first, ..] = unknown_fields(schema, request.block).as_slice() {
        verdict.obstacle = Some(format!(
            "spec.ciOperator.{first} is not known to this version of provider-testplatform: it has to be updated first"
        ));
    }
    if ShortName::try_from(request.metadata.name.as_str()).is_err() {
        verdict.problems.push(RequestProblem::LongName { name: request.metadata.name.clone() });
    }
    match (request.claim(), request.profile()) {
        (Some(_), profile) => {
            verdict.problems.extend(profile.map(|_| RequestProblem::ProfileAndClaim));
            verdict.claim(request, settings);
        }
        (None, None) => verdict.problems.push(RequestProblem::NoProfile),
        (None, Some(profile)) => verdict.profile(request, profile, settings, profiles),
    }
    if request.claim().is_none() && request.test_text("workflow").is_none() {
        verdict.problems.push(RequestProblem::NoWorkflow);
    }
    verdict.images(request, settings);
    if request.claim().is_none() && request.section("releases").is_none() {
        verdict.problems.push(RequestProblem::NoReleases);
    }
    verdict
}

impl Validation {
    fn profile(
        &mut self,
        request: &Request<'_>,
        name: &str,
        settings: &EphemeralClusters,
        profiles: &Profiles,
    ) {
        let profile = match profiles.get(name) {
            Ok(Some(profile)) => profile,
            Ok(None) if !profiles.is_settled() => return self.wait_for_registry(),
            Ok(None) => return self.problems.push(RequestProblem::UnknownProfile { profile: name.into() }),
            Err(reason) => {
                self.obstacle = Some(format!("the cluster profiles cannot be read: {reason}"));
                return;
            }
        };
        self.cloud.clone_from(&profile.cluster_type);
        let wanted = || format!("cluster profile {}", quoted(name));
        if self.is_known(request, settings, wanted)
            && !profile.is_owned_by(request.tenant(), request.cluster())
        {
            if !profiles.is_settled() {
                return self.wait_for_registry();
            }
            self.problems.push(RequestProblem::NotOwner {
                tenant: request.tenant().into(),
                cluster: request.cluster().into(),
                profile: name.into(),
            });
        }
    }

    /// A refusal is permanent, and the registry may still be in the middle of a write.
    fn wait_for_registry(&mut self) {
        self.obstacle = Some("the cluster profiles have just changed, so they are read once more".into());
    }

    fn claim(&mut self, request: &Request<'_>, settings: &EphemeralClusters) {
        let labels = request.claim().and_then(|claim| claim.get("labels")?.as_object());
        for key in
            labels.into_iter().flat_map(Map::keys).filter(|key| RESERVED_LABELS.contains(&key.as_str()))
        {
            self.problems.push(RequestProblem::ReservedLabel { key: key.clone() });
        }
        let Some(owners) = &settings.cluster_claim_owners else { return };
        if !self.is_known(request, settings, || "a cluster from a pool".into()) {
            return;
        }
        let text = |name: &str| request.claim_text(name).map(str::to_owned);
        let claim = ClaimPattern {
            product: Some(text("product").unwrap_or_else(|| "ocp".into())),
            version: text("version"),
            architecture: Some(text("architecture").unwrap_or_else(|| "amd64".into())),
            cloud: text("cloud"),
            owner: text("owner"),
        };
        let (tenant, cluster) = (request.tenant(), request.cluster());
        let owned = owners.iter().any(|owner| {
            owner.tenant == tenant
                && (owner.clusters.is_empty() || owner.clusters.iter().any(|name| name == cluster))
                && owner.claims.covers(&claim)
        });
        if !owned {
            self.problems.push(RequestProblem::NotClaimOwner {
                tenant: tenant.into(),
                cluster: cluster.into(),
                claim,
            });
        }
    }

    /// Whether to check the ownership: not for a privileged tenant, and never successfully without an identity.
    fn is_known(
        &mut self,
        request: &Request<'_>,
        settings: &EphemeralClusters,
        wanted: impl Fn() -> String,
    ) -> bool {
        let (tenant, cluster) = (request.tenant(), request.cluster());
        if !tenant.is_empty() && settings.privileged_tenants.iter().any(|name| name == tenant) {
            return false;
        }
        let missing = [(KONFLUX_TENANT, tenant), (KONFLUX_CLUSTER, cluster)];
        let mut missing = missing.iter().filter(|(_, value)| value.is_empty());
        if let Some((missing, _)) = missing.next() {
            self.problems.push(RequestProblem::NoIdentity { missing, wanted: wanted() });
            return false;
        }
        true
    }

    fn images(&mut self, request: &Request<'_>, settings: &EphemeralClusters) {
        for section in ["baseImages", "externalImages"] {
            for (key, image) in request.section(section).into_iter().flatten() {
                let path = format!("spec.ciOperator.{section}[{}]", quoted(key));
                // An image may be given a second name within ci-operator.
                let names = [Some(key.as_str()), image.get("as").and_then(Value::as_str)];
                for name in names.into_iter().flatten() {
                    if name == WAIT_IMAGE {
                        self.problems.push(RequestProblem::ReservedImage { path: path.clone() });
                    } else if settings.denied_image_names.iter().any(|denied| denied == name) {
                        self.problems
                            .push(RequestProblem::DeniedImage { path: path.clone(), name: name.into() });
                    }
                }
            }
        }
    }
}

impl ClaimPattern {
    fn covers(&self, claim: &Self) -> bool {
        let fields = [
            (&self.product, &claim.product),
            (&self.version, &claim.version),
            (&self.architecture, &claim.architecture),
            (&self.cloud, &claim.cloud),
            (&self.owner, &claim.owner),
        ];
        fields.iter().all(|(rule, asked)| rule.is_none() || rule == asked)
    }
}

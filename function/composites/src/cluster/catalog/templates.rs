//! Resolution of a claim with a template: the matching catalogue entry, the request with every default filled in, and whether the hub may
//! be asked for it, or for a change.
//!
//! ```text
//! claim ──claim_spec──▶ ClaimSpec ┐
//! catalogue ──find_entry──▶ Entry ├──resolve_claim──▶ ResolvedSpec + Effective ──change──▶ Resolution
//! primary Object, status ──▶ Effective ┘
//! ```
//!
//! Omitted fields keep their values: once a cluster was requested, a changed default of the catalogue changes no cluster. So the effective
//! request is recorded in annotation `…/effective` of the primary Object and of `credentials`. `status.effective` is a copy, which counts
//! if both are lost.
//!
//! **Invariant:** resolution cannot lose a cluster. If the desired state is unclear, the cluster stays as it was requested
//! ([`Resolution::Frozen`]), and the backend repeats observed manifests.

mod catalogue;
mod change;
mod claim_spec;
mod groups;
mod last_accepted;
mod network;
mod parameters;
mod placement;
mod refusal;
mod resolve;
mod spec;

use std::collections::BTreeSet;

use serde_json::Value;
use testplatform_apis::{
    condition::{Request, SpecLevel},
    input::Settings,
    names::ours,
    template::{Backend, descriptor::ReleaseRule, effective::Effective, entry::Entry, version::Version},
    text::bounded,
};

pub use claim_spec::ClaimSpec;
pub use last_accepted::{NumberedRequest, Rollout};

use refusal::{FieldRefusal, combine_refusals, join_problems};

use crate::{
    cluster::{
        catalog::environment::missing_environment,
        observed::{Observed, PrimaryObject},
        request::{AdmissionIssue, Resolution, ResolvedSpec, Templated, Terms},
    },
    sdk::composite::FieldProblem,
};

impl Templated {
    /// Resolves a claim. Problems: errors that an API server would have refused, of a claim for which nothing was created.
    pub fn resolve(
        spec: &Value,
        tenant: Option<&str>,
        observed: &Observed,
        rollout: Option<&dyn Rollout>,
    ) -> Result<(Self, Option<AdmissionIssue>), Vec<FieldProblem>> {
        let made = observed.primary.is_some() || observed.cluster_may_exist();
        let memory = if made { recorded_request(observed) } else { None };
        let template = match &spec["template"] {
            Value::String(name) => name.clone(),
            _ => memory.as_ref().and_then(|m| m.template.clone()).unwrap_or_default(),
        };
        let made_by = backend_of(observed, None);
        let frozen = |reason, message: &str, memory: Option<Effective>, terms| Self {
            backend: memory.as_ref().and_then(|m| m.backend).or(made_by),
            last_accepted: memory
                .as_ref()
                .and_then(|asked| last_accepted::find_last_accepted(observed, rollout, asked, asked)),
            effective: memory,
            terms,
            ..Self::unresolved(&template, Resolution::Frozen { reason, message: bounded(message, 2048) })
        };
        let claim = match ClaimSpec::read(spec, tenant) {
            Ok(claim) => claim,
            Err(problems) if made => {
                let listed = join_problems(problems.iter().map(|p| (&p.field, &p.sentence)));
                return Ok((frozen(SpecLevel::Rejected, &listed, memory, Terms::default()), None));
            }
            Err(problems) => return Err(problems),
        };
        let rollback = memory.as_ref().and_then(|_| last_accepted::find_rollback(observed, rollout));
        // A refused request leads nowhere: the claim continues from the accepted one.
        let accepted = rollback.as_ref().and_then(|back| back.last_accepted.as_ref());
        let is_named = |m: &Effective| m.template.as_ref() == Some(&template);
        let moves = memory.as_ref().is_some_and(|m| !is_named(m) && !accepted.is_some_and(is_named));
        let entry = match catalogue::find_entry(&observed.templates, &template, tenant, made && !moves) {
            Ok(entry) => entry,
            Err(refusal) if made => {
                let terms = Terms { provision: claim.timeouts.provision, ..Terms::default() };
                return Ok((frozen(SpecLevel::TemplateNotFound, &refusal.message, memory, terms), None));
            }
            Err(refusal) => {
                // A requested cluster that is not observed yet may have resources for its backend to repeat.
                let memory = recorded_request(observed);
                let recorded = memory.as_ref().and_then(|m| m.backend);
                // Prerequisites that are being set up keep their original timeout.
                let effective = memory.filter(|_| !observed.prerequisites.is_empty());
                let given = effective.as_ref().and_then(|e| e.timeouts.as_ref()?.provision);
                let blocked = Self {
                    backend: recorded.or(made_by),
                    effective,
                    terms: Terms { provision: claim.timeouts.provision.or(given), ..Terms::default() },
                    ..Self::unresolved(&template, Resolution::Blocked)
                };
                return Ok((blocked, Some(refusal)));
            }
        };
        let terms = read_terms(&entry, &claim);
        if made && memory.is_none() {
            let message = "the original request is not recorded, so it cannot be changed; an administrator must restore annotation \
                testplatform.ci.openshift.org/effective of the Object";
            let frozen = frozen(SpecLevel::NotObserved, message, None, terms);
            return Ok((Self { backend: frozen.backend.or(Some(entry.backend())), ..frozen }, None));
        }
        let backend = Some(entry.backend());
        if let Some(before) =
            memory.as_ref().and_then(|m| m.backend).filter(|before| Some(*before) != backend)
        {
            let message = format!(
                "spec.template is for {}, and the cluster was created from {before}, which cannot change; the cluster stays as requested",
                entry.backend()
            );
            return Ok((frozen(SpecLevel::Immutable, &message, memory, terms), None));
        }
        let of = |stand, effective, terms| Self {
            backend,
            effective,
            terms,
            ..Self::unresolved(&template, stand)
        };
        let cluster = change::ExistingCluster {
            blocked_at_version: rollback.as_ref().and_then(|back| back.blocked_at_version.as_ref()),
            numbered_requests: rollout.map(|rollout| rollout.numbered_requests(observed)).unwrap_or_default(),
        };
        match resolve::resolve_claim(&entry, &claim, accepted.or(memory.as_ref()), &cluster) {
            Ok((resolved, effective)) => {
                let terms = Terms { release_deprecated: resolved.release.deprecated.clone(), ..terms };
                let is_rollback = rollback.is_some() && memory.as_ref() != Some(&effective);
                let resolution = Resolution::Resolved(Box::new(ResolvedSpec { is_rollback, ..resolved }));
                let last_accepted = memory.as_ref().and_then(|asked| {
                    last_accepted::find_last_accepted(observed, rollout, asked, &effective)
                });
                Ok((Self { last_accepted, ..of(resolution, Some(effective), terms) }, None))
            }
            Err(ResolveError::Refused(refusals)) if made => {
                Ok((frozen(SpecLevel::Rejected, &combine_refusals(&refusals).message, memory, terms), None))
            }
            Err(ResolveError::Refused(refusals)) => {
                Ok((of(Resolution::Blocked, None, terms), Some(combine_refusals(&refusals))))
            }
            Err(ResolveError::Unchangeable(changes)) => {
                let (reason, message) = change::combine_changes(&changes);
                Ok((frozen(reason, &message, memory, terms), None))
            }
        }
    }

    /// Builds an unresolved request.
    fn unresolved(template: &str, resolution: Resolution) -> Self {
        Self {
            template: template.to_owned(),
            backend: None,
            resolution,
            last_accepted: None,
            effective: None,
            terms: Terms::default(),
            placement: None,
            excluded: BTreeSet::new(),
            abandons_hub: false,
            abandons_hub_at: None,
            tenant_namespace: None,
            may_begin: false,
            has_mismatched_prerequisites: false,
        }
    }

    /// Issues for the owner of an accepted request.
    pub fn collect_issues(&self) -> Vec<AdmissionIssue> {
        let template = bounded(&self.template, 253);
        let old = |what: String, why: &String| {
            let message = format!("{what} is deprecated: {}", bounded(why, 512));
            AdmissionIssue::new(Request::TemplateDeprecated, message)
        };
        let terms = &self.terms;
        let of_template = terms.deprecated.as_ref().map(|why| old(format!("template {template}"), why));
        let of_release = terms
            .release_deprecated
            .as_ref()
            .map(|why| old(format!("this version of template {template}"), why));
        let frozen = match &self.resolution {
            Resolution::Frozen { reason: SpecLevel::Immutable | SpecLevel::Rejected, message } => {
                Some(AdmissionIssue::new(Request::ChangeIgnored, message.clone()))
            }
            Resolution::Frozen { .. } | Resolution::Resolved(_) | Resolution::Blocked => None,
        };
        frozen.into_iter().chain(of_template).chain(of_release).collect()
    }
}

/// Reason for which there is nothing to render.
enum ResolveError {
    Refused(Vec<FieldRefusal>),
    Unchangeable(Vec<change::ForbiddenChange>),
}

fn read_terms(entry: &Entry, claim: &ClaimSpec) -> Terms {
    let document = &entry.document;
    Terms {
        cost: Some(entry.quota_cost()),
        deprecated: document.deprecated.clone(),
        release_deprecated: None,
        default_lifetime: document.default_lifetime,
        max_lifetime: document.max_lifetime,
        provision: claim.timeouts.provision.or(document.timeouts.provision),
    }
}

/// Backend of the cluster: by the primary Object's own name, whatever was lost or altered otherwise; else `noted`, else the status.
fn backend_of(observed: &Observed, noted: Option<Backend>) -> Option<Backend> {
    let by_name = observed.primary.as_ref().and_then(PrimaryObject::template_backend);
    by_name.or(noted).or_else(|| observed.composite.status.template.as_ref()?.backend)
}

/// Original request, as the primary Object records it, else `credentials`, else the status.
fn recorded_request(observed: &Observed) -> Option<Effective> {
    let complete = |noted: Effective| {
        let request = Effective { backend: backend_of(observed, noted.backend), ..noted };
        is_complete(&request).then_some(request)
    };
    let recorded =
        observed.annotations(ours::EFFECTIVE).filter_map(Effective::from_annotation).find_map(complete);
    recorded.or_else(|| complete(observed.composite.status.effective.clone()?))
}

/// Whether a recorded request is complete: otherwise an existing cluster would change by itself, or could not change any more. Without the
/// groups, nodes would be removed that the template does not provide by itself.
fn is_complete(asked: &Effective) -> bool {
    let (image, version) = (asked.release_image.as_deref(), asked.version.as_deref());
    let dated = version.is_some_and(|version| Version::parse(version).is_ok());
    // An image whose tag has a version has that version recorded as well. Other images of claims may have none.
    let has_version = |image| dated || Version::of_tag(image).is_none();
    let Some(backend) = asked.backend else { return false };
    let runs = match backend.descriptor().release {
        ReleaseRule::Image => image.is_some_and(has_version),
        ReleaseRule::Version => dated,
        ReleaseRule::OptionalImage => image.map_or(version.is_none(), has_version),
        ReleaseRule::Free => true,
    };
    let grouped = backend.capabilities().node_groups;
    runs && asked.template.is_some() && (asked.node_groups.is_some() || !grouped)
}

/// Whether a composite is one with a template. A cluster of another kind of request keeps that kind.
pub fn is_templated(observed: &Observed) -> bool {
    if let Some(primary) = &observed.primary {
        // The cluster exists, whatever the claim has now.
        return primary.is_templated();
    }
    let spec = &observed.composite.spec;
    let alone = spec["ciOperator"].is_null() && spec["clusterClaim"].is_null();
    // The claim can change its own text about an existing cluster, but not the cluster.
    let recorded =
        observed.composite.status.template.is_some() || observed.annotation(ours::EFFECTIVE).is_some();
    // Only templates have resources besides the primary Object.
    let known = recorded || observed.has_dependents();
    if observed.cluster_may_exist() && (known || observed.came_from_pool().is_some()) {
        return known;
    }
    !spec["template"].is_null() && alone
}

/// Issue that blocks a resolved request: its quota, or an unknown environment.
pub fn blocked_by(
    templated: &Templated,
    tenant: Option<&str>,
    observed: &Observed,
    settings: &Settings,
) -> Option<AdmissionIssue> {
    if let Some(missing) = missing_environment(&observed.environment, settings) {
        return Some(missing);
    }
    let cost = templated.terms.cost.unwrap_or(1);
    crate::cluster::catalog::pools::check_quota(cost, tenant, observed, settings).err()
}

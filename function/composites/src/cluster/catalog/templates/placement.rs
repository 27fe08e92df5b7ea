//! Placement of a cluster by template: its hub, its namespace, and its name. It is chosen once, with the first request to the hub, and read
//! from observed state from then on.

mod name;

use std::collections::BTreeSet;

use serde_json::json;
use testplatform_apis::{
    condition::{HubSelection, Request},
    hub::{Hub, NoHub},
    input::Settings,
    names::{hub, ours},
    template::{Backend, companions},
};

use name::fit_name;

use crate::cluster::{
    catalog::{
        self,
        hubs::{self, Affinity, Failover, HubPin, PlacementRequest},
        tenant_credentials::tenant_namespace_name,
    },
    observed::{
        Observed, prerequisites, read_excluded,
        tenant_credentials::{self, TenantNamespace},
    },
    request::{AdmissionIssue, BroughtCredentials, Placement, ResolvedSpec, Templated},
};

impl Templated {
    /// Restores the recorded placement, and decides whether its hub has to be given up. It chooses nothing.
    pub(crate) fn restore_placement(
        &mut self,
        name: &str,
        tenant: Option<&str>,
        observed: &Observed,
        settings: &Settings,
    ) {
        self.excluded = read_excluded(observed.annotation(hub::EXCLUDED));
        // A copy, should primary Object and `credentials` both be lost.
        let reported = observed.composite.status.hub.as_ref().map(|told| told.excluded.iter().cloned());
        self.excluded.extend(reported.into_iter().flatten());
        let tenant_namespace = tenant_credentials::read_tenant_namespace(&observed.tenant_credentials)
            .filter(|_| observed.primary.is_none());
        let at_home = tenant_namespace.and_then(|tenant_namespace| {
            placement_in_tenant_namespace(&tenant_namespace, name, observed, settings)
        });
        self.placement = at_home
            .or_else(|| recorded_placement(observed, settings, &self.excluded))
            .or_else(|| placement_of_prerequisites(observed, settings));
        let named = self.effective.as_ref().and_then(|e| e.hub.as_ref()).is_some_and(|h| h.name.is_some());
        // Tenant credentials or prerequisites exist there.
        let bound = !(observed.tenant_credentials.is_empty() && observed.prerequisites.is_empty());
        let evaluation = observed.primary.as_ref().filter(|_| !bound).map(|primary| {
            hubs::decide_failover(&primary.object, &primary.sync, named, &self.excluded, observed.now)
        });
        self.abandons_hub = evaluation == Some(Failover::Allowed);
        self.abandons_hub_at = match evaluation {
            Some(Failover::At(at)) => Some(at),
            Some(Failover::Allowed | Failover::NotNow | Failover::Never(_)) | None => None,
        };
        self.has_mismatched_prerequisites =
            observed.is_unplaced() && catalog::prerequisites::is_for_another_cluster(self, tenant, observed);
    }

    /// Chooses the hub of a claim that has none, and on it a place for what the claim brings along.
    ///
    /// # Errors
    /// A refusal that an administrator or time can lift.
    pub(crate) fn choose_placement(
        &mut self,
        name: &str,
        tenant: Option<&str>,
        observed: &Observed,
        settings: &Settings,
    ) -> Result<(), AdmissionIssue> {
        let (super::Resolution::Resolved(resolved), Some(backend)) = (&self.resolution, self.backend) else {
            return Ok(());
        };
        if self.has_mismatched_prerequisites {
            let message = "the prerequisites were set up for a different specification than the claim has now; set spec.template and \
                spec.parameters to what they were, or delete the claim and create a new one";
            return Err(AdmissionIssue::new(Request::PrerequisitesNotReady, message));
        }
        if self.placement.is_none() {
            let request = placement_request(resolved, backend, tenant, observed, &self.excluded);
            let choice =
                hubs::choose_hub(&request, observed.hubs.as_ref(), observed.now).map_err(|refusal| {
                    AdmissionIssue::new(
                        request_reason(refusal.reason),
                        refusal.to_string().replace('\n', "; "),
                    )
                })?;
            let own = resolved.tenant_credentials.as_ref().map(|_| tenant_namespace_name(name, observed));
            self.placement = Some(build_placement(
                resolved,
                own,
                backend,
                (name, tenant),
                choice.hub,
                choice.reason.as_str(),
                settings,
            )?);
        }
        self.may_begin = true;
        let (Some(brings), Some(placement)) = (&resolved.tenant_credentials, &self.placement) else {
            return catalog::prerequisites::check_ready(resolved, observed);
        };
        let tenant_namespace = tenant_credentials::read_tenant_namespace(&observed.tenant_credentials)
            .unwrap_or_else(|| new_tenant_namespace(brings, placement));
        let gate = catalog::tenant_credentials::check_ready(observed, &tenant_namespace);
        self.tenant_namespace = Some(tenant_namespace);
        gate
    }

    /// Hubs that were given up for it. `leaves`: including the one that is given up now.
    pub(crate) fn excluded_hubs(&self, leaves: bool) -> BTreeSet<String> {
        let now = self.placement.iter().filter(|_| leaves).map(|placement| placement.hub.clone());
        self.excluded.iter().cloned().chain(now).collect()
    }

    /// Whether the hubs are fetched: only for a claim without one. This depends on observed state alone.
    pub fn needs_hubs(&self, observed: &Observed) -> bool {
        observed.is_unplaced() && !self.placement.as_ref().is_some_and(|placement| placement.is_recorded)
    }
}

const fn request_reason(refusal: NoHub) -> Request {
    match refusal {
        NoHub::HubsNotRead => Request::HubsNotRead,
        NoHub::PinnedHubMissing => Request::PinnedHubMissing,
        NoHub::NoHubMatches => Request::NoHubMatches,
        NoHub::TenantNotAllowed => Request::TenantNotAllowed,
        NoHub::VersionUnsupported => Request::VersionUnsupported,
        NoHub::NoCapacity => Request::NoCapacity,
    }
}

fn placement_request(
    resolved: &ResolvedSpec,
    backend: Backend,
    tenant: Option<&str>,
    observed: &Observed,
    excluded: &BTreeSet<String>,
) -> PlacementRequest {
    let metadata = &observed.composite.metadata;
    PlacementRequest {
        backend,
        tenant: tenant.map(str::to_owned),
        uid: metadata.uid.as_ref().map_or_else(|| metadata.name.clone(), |uid| uid.as_str().to_owned()),
        pin: resolved.hub.name.clone().map(|name| HubPin { name, force: resolved.hub.force == Some(true) }),
        required: resolved.hub_selector.match_labels.clone(),
        selector: resolved.hub.selector.clone().unwrap_or_default().match_labels,
        affinity: resolved.hub.affinity.map(|affinity| match affinity {
            companions::Affinity::Pack => Affinity::Pack,
            companions::Affinity::Spread => Affinity::Spread,
        }),
        version: resolved.release.version.as_ref().map(ToString::to_string),
        classes: resolved.backend_spec.nodes_per_class(),
        zones: resolved.backend_spec.zones(),
        cluster_class: resolved.backend_spec.cluster_class(),
        namespace: resolved.namespace.as_ref().map(ToString::to_string),
        excluded: excluded.clone(),
    }
}

fn build_placement(
    resolved: &ResolvedSpec,
    own: Option<String>,
    backend: Backend,
    (name, tenant): (&str, Option<&str>),
    hub: &Hub,
    reason: &str,
    settings: &Settings,
) -> Result<Placement, AdmissionIssue> {
    let of_entry = || resolved.namespace.as_ref().map(|n| Ok(n.to_string()));
    let namespace = own
        .map(Ok)
        .or_else(of_entry)
        .or_else(|| hub.resolve_namespace(backend, tenant))
        .unwrap_or_else(|| Ok(backend.descriptor().default_namespace.to_owned()))
        .map_err(|why| {
            AdmissionIssue::new(
                Request::NoHubMatches,
                format!("hub {}: {why}; ask the platform team", hub.name),
            )
        })?;
    let fitted = fit_name(backend, &namespace, name).ok_or_else(|| {
        let message = format!(
            "hub {}: the name of namespace {namespace} is too long for a cluster in it; ask the platform team",
            hub.name
        );
        AdmissionIssue::new(Request::NoHubMatches, message)
    })?;
    let own = hub.credentials_namespace.as_ref().map(ToString::to_string);
    Ok(Placement {
        hub: hub.name.clone(),
        reason: reason.to_owned(),
        namespace,
        name: fitted,
        credentials_namespace: own.unwrap_or_else(|| settings.credentials_namespace.clone()),
        is_recorded: false,
    })
}

/// Initial request of a claim with tenant credentials, decided once.
fn new_tenant_namespace(brings: &BroughtCredentials, placement: &Placement) -> TenantNamespace {
    let BroughtCredentials { byoc, terms } = brings;
    let request = json!({
        "byoc": byoc, "carrier": terms.carrier, "provider": terms.provider,
        "credentialsNamespace": placement.credentials_namespace, "hubReason": placement.reason,
    });
    TenantNamespace { hub: placement.hub.clone(), namespace: placement.namespace.clone(), request }
}

/// Placement of a cluster with tenant credentials. One backend supports those.
fn placement_in_tenant_namespace(
    tenant_namespace: &TenantNamespace,
    name: &str,
    observed: &Observed,
    settings: &Settings,
) -> Option<Placement> {
    let own = tenant_namespace.request["credentialsNamespace"].as_str();
    Some(Placement {
        hub: tenant_namespace.hub.clone(),
        reason: recorded_reason(observed, &tenant_namespace.hub),
        namespace: tenant_namespace.namespace.clone(),
        name: fit_name(Backend::OF_TENANT_CREDENTIALS, &tenant_namespace.namespace, name)?,
        credentials_namespace: own.unwrap_or(&settings.credentials_namespace).to_owned(),
        is_recorded: true,
    })
}

/// Placement of a cluster with prerequisites.
fn placement_of_prerequisites(observed: &Observed, settings: &Settings) -> Option<Placement> {
    let chosen =
        observed.prerequisites.iter().find_map(|(name, part)| prerequisites::read_placement(name, part))?;
    Some(Placement {
        hub: chosen.hub.to_owned(),
        reason: recorded_reason(observed, chosen.hub),
        namespace: chosen.namespace.to_owned(),
        name: chosen.name.to_owned(),
        credentials_namespace: chosen
            .credentials_namespace
            .unwrap_or(&settings.credentials_namespace)
            .to_owned(),
        is_recorded: true,
    })
}

/// Reason for the choice of a hub, from the status or an annotation. Older clusters have no such annotation, so it is unknown.
fn recorded_reason(observed: &Observed, hub: &str) -> String {
    let before = observed.composite.status.hub.as_ref().filter(|h| h.name.as_deref() == Some(hub));
    let reason = before.and_then(|h| h.reason.clone()).or_else(|| observed.hub_reason());
    reason.unwrap_or_else(|| HubSelection::Pinned.as_str().to_owned())
}

/// Recorded placement: from the primary Object, else from status and `credentials`.
fn recorded_placement(
    observed: &Observed,
    settings: &Settings,
    excluded: &BTreeSet<String>,
) -> Option<Placement> {
    let status = &observed.composite.status;
    let primary = observed.primary.as_ref();
    let credentials = observed.credentials.as_ref().map(|c| &c.object);
    let recorded = observed.annotation(ours::REMOTE).and_then(|place| place.split_once('/'));
    let of_writer = primary.map(|w| w.object.spec.provider_config_ref.name.as_str());
    let reported = status.hub.as_ref().and_then(|h| h.name.as_deref());
    // `credentials` uses the hub's ProviderConfig as soon as it records the location of the cluster.
    let by_credentials = || recorded.and(credentials).map(|c| c.spec.provider_config_ref.name.as_str());
    let hub = hubs::recorded_hub(of_writer, reported.or_else(by_credentials), excluded)?.to_owned();
    let of_manifest = |field: &str| primary.and_then(|w| w.manifest()["metadata"][field].as_str());
    let backend = status.backend.as_ref();
    let namespace = of_manifest("namespace")
        .or_else(|| backend.and_then(|b| b.namespace.as_deref()))
        .or_else(|| recorded.map(|(namespace, _)| namespace))?
        .to_owned();
    let name = of_manifest("name")
        .or_else(|| backend.and_then(|b| b.name.as_deref()))
        .or_else(|| recorded.map(|(_, name)| name))?
        .to_owned();
    let own = primary.and_then(|w| w.object.metadata.annotation(ours::CREDENTIALS_NAMESPACE));
    let of_remote = || primary.and_then(|w| w.remote()?.metadata().annotation(ours::CREDENTIALS_NAMESPACE));
    let of_credentials =
        || credentials.and_then(|c| c.spec.for_provider.manifest["metadata"]["namespace"].as_str());
    let credentials_namespace = own.or_else(of_remote).or_else(of_credentials);
    Some(Placement {
        reason: recorded_reason(observed, &hub),
        hub,
        namespace,
        name,
        credentials_namespace: credentials_namespace.unwrap_or(&settings.credentials_namespace).to_owned(),
        is_recorded: true,
    })
}

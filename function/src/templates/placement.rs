//! Where the cluster of a claim with a template is made: on which hub, in which namespace, under which name. Chosen once, with the
//! first thing that is asked of the hub, and from then on read off what is observed.

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

use super::{BroughtCredentials, ResolvedSpec, Templated};
use crate::{
    backend,
    hubs::{self, Affinity, Failover, HubPin, PlacementRequest},
    observed::{
        Observed, prerequisites,
        tenant_credentials::{self, TenantNamespace},
    },
    validate::{AdmissionIssue, tenant_namespace_name},
};

/// Where the objects of a backend go, if neither the catalogue nor the hub says so: what its own tools do.
const fn default_namespace(backend: Backend) -> &'static str {
    match backend {
        Backend::HyperShift | Backend::ClusterApi | Backend::Caas => "clusters",
        Backend::Osac => "osac-orders",
    }
}

/// Where a cluster is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    /// Name of the hub's ProviderConfig.
    pub hub: String,
    /// Why this one, as one word.
    pub reason: String,
    /// Namespace of the objects there.
    pub namespace: String,
    /// Name of the object that stands for the cluster.
    pub name: String,
    /// Namespace of published credentials there.
    pub credentials_namespace: String,
    /// Whether it was chosen before.
    pub is_recorded: bool,
}

impl Placement {
    /// What words in braces stand for in what an entry says: its object on the hub, and the claim's namespace.
    pub(crate) fn placeholders<'a>(&'a self, tenant: &'a str) -> [(&'static str, &'a str); 3] {
        [("name", &self.name), ("namespace", &self.namespace), ("tenant", tenant)]
    }
}

impl Templated {
    /// Finds what was chosen before, and whether that is to be given up. Nothing is asked anew here.
    pub(crate) fn restore_placement(
        &mut self,
        name: &str,
        tenant: Option<&str>,
        observed: &Observed,
        settings: &Settings,
    ) {
        self.excluded = hubs::read_excluded(observed.annotation(hub::EXCLUDED));
        // A copy, for where writer and `credentials` are both lost.
        let told = observed.composite.status.hub.as_ref().map(|told| told.excluded.iter().cloned());
        self.excluded.extend(told.into_iter().flatten());
        let home = tenant_credentials::read_tenant_namespace(&observed.tenant_credentials)
            .filter(|_| observed.primary.is_none());
        let at_home = home.and_then(|home| placement_in_tenant_namespace(&home, name, observed, settings));
        self.placement = at_home
            .or_else(|| recorded_placement(observed, settings, &self.excluded))
            .or_else(|| placement_of_prerequisites(observed, settings));
        let named = self.effective.as_ref().and_then(|e| e.hub.as_ref()).is_some_and(|h| h.name.is_some());
        // What was brought along is there, or what comes ahead.
        let bound = !(observed.tenant_credentials.is_empty() && observed.prerequisites.is_empty());
        let judged = observed.primary.as_ref().filter(|_| !bound).map(|writer| {
            hubs::decide_failover(&writer.object, &writer.sync, named, &self.excluded, observed.now)
        });
        self.abandons_hub = judged == Some(Failover::Allowed);
        self.abandons_hub_at = match judged {
            Some(Failover::At(at)) => Some(at),
            Some(Failover::Allowed | Failover::NotNow | Failover::Never(_)) | None => None,
        };
        self.has_mismatched_prerequisites =
            observed.is_unplaced() && backend::prerequisites::is_for_another_cluster(self, tenant, observed);
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
        let (super::Resolution::Resolved(whole), Some(backend)) = (&self.resolution, self.backend) else {
            return Ok(());
        };
        if self.has_mismatched_prerequisites {
            let words = "what was set up ahead of the cluster is for another one than the claim asks for now; set spec.template and spec.parameters to what they were, or delete the claim and make a new one";
            return Err(AdmissionIssue::new(Request::PrerequisitesNotReady, words));
        }
        if self.placement.is_none() {
            let wish = placement_request(whole, backend, tenant, observed, &self.excluded);
            let choice =
                hubs::choose_hub(&wish, observed.hubs.as_ref(), observed.now).map_err(|refusal| {
                    AdmissionIssue::new(
                        request_reason(refusal.reason),
                        refusal.to_string().replace('\n', "; "),
                    )
                })?;
            let own = whole.tenant_credentials.as_ref().map(|_| tenant_namespace_name(name, observed));
            self.placement = Some(build_placement(
                whole,
                own,
                backend,
                (name, tenant),
                choice.hub,
                choice.reason.as_str(),
                settings,
            )?);
        }
        self.may_begin = true;
        let (Some(brings), Some(site)) = (&whole.tenant_credentials, &self.placement) else {
            return backend::prerequisites::check_ready(whole, observed);
        };
        let home = tenant_credentials::read_tenant_namespace(&observed.tenant_credentials)
            .unwrap_or_else(|| new_tenant_namespace(brings, site));
        let gate = backend::tenant_credentials::check_ready(observed, &home);
        self.tenant_namespace = Some(home);
        gate
    }

    /// The hubs that were given up for it. `leaves`: with the one that is given up now.
    pub(crate) fn excluded_hubs(&self, leaves: bool) -> BTreeSet<String> {
        let now = self.placement.iter().filter(|_| leaves).map(|site| site.hub.clone());
        self.excluded.iter().cloned().chain(now).collect()
    }

    /// Whether the hubs are asked for: of a claim that has none yet. A function of what is observed alone.
    pub fn needs_hubs(&self, observed: &Observed) -> bool {
        observed.is_unplaced() && !self.placement.as_ref().is_some_and(|site| site.is_recorded)
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
    whole: &ResolvedSpec,
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
        pin: whole.hub.name.clone().map(|name| HubPin { name, force: whole.hub.force == Some(true) }),
        required: whole.hub_selector.match_labels.clone(),
        selector: whole.hub.selector.clone().unwrap_or_default().match_labels,
        affinity: whole.hub.affinity.map(|affinity| match affinity {
            companions::Affinity::Pack => Affinity::Pack,
            companions::Affinity::Spread => Affinity::Spread,
        }),
        version: whole.release.version.as_ref().map(ToString::to_string),
        classes: whole.backend_spec.nodes_per_class(),
        zones: whole.backend_spec.zones(),
        excluded: excluded.clone(),
    }
}

fn build_placement(
    whole: &ResolvedSpec,
    own: Option<String>,
    backend: Backend,
    (name, tenant): (&str, Option<&str>),
    hub: &Hub,
    reason: &str,
    settings: &Settings,
) -> Result<Placement, AdmissionIssue> {
    let of_entry = || whole.namespace.as_ref().map(|n| Ok(n.to_string()));
    let namespace = own
        .map(Ok)
        .or_else(of_entry)
        .or_else(|| hub.namespace(backend, tenant))
        .unwrap_or_else(|| Ok(default_namespace(backend).to_owned()))
        .map_err(|why| {
            AdmissionIssue::new(
                Request::NoHubMatches,
                format!("hub {}: {why}; ask the platform team", hub.name),
            )
        })?;
    let fitted = fit_name(backend, &namespace, name).ok_or_else(|| {
        let words = format!(
            "hub {}: namespace {namespace} is too long a name, a cluster in it cannot have one; ask the platform team",
            hub.name
        );
        AdmissionIssue::new(Request::NoHubMatches, words)
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

/// What is asked for where a claim brings its own credentials, decided once.
fn new_tenant_namespace(brings: &BroughtCredentials, site: &Placement) -> TenantNamespace {
    let BroughtCredentials { byoc, terms } = brings;
    let asked = json!({
        "byoc": byoc, "carrier": terms.carrier, "provider": terms.provider,
        "credentialsNamespace": site.credentials_namespace, "hubReason": site.reason,
    });
    TenantNamespace { hub: site.hub.clone(), namespace: site.namespace.clone(), request: asked }
}

/// Where a cluster is to be for which Secrets are carried. HyperShift's alone is made so.
fn placement_in_tenant_namespace(
    home: &TenantNamespace,
    name: &str,
    observed: &Observed,
    settings: &Settings,
) -> Option<Placement> {
    let own = home.request["credentialsNamespace"].as_str();
    Some(Placement {
        hub: home.hub.clone(),
        reason: recorded_reason(observed, &home.hub),
        namespace: home.namespace.clone(),
        name: fit_name(Backend::HyperShift, &home.namespace, name)?,
        credentials_namespace: own.unwrap_or(&settings.credentials_namespace).to_owned(),
        is_recorded: true,
    })
}

/// Where a cluster is to be for which something comes ahead of it.
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

/// Why a hub was chosen, as the status says or an Object notes. Of a cluster from before there were such notes that is not known.
fn recorded_reason(observed: &Observed, hub: &str) -> String {
    let before = observed.composite.status.hub.as_ref().filter(|h| h.name.as_deref() == Some(hub));
    let reason = before.and_then(|h| h.reason.clone()).or_else(|| observed.hub_reason());
    reason.unwrap_or_else(|| HubSelection::Pinned.as_str().to_owned())
}

/// What was chosen before: as the writer has it, else as status and `credentials` remember it.
fn recorded_placement(
    observed: &Observed,
    settings: &Settings,
    excluded: &BTreeSet<String>,
) -> Option<Placement> {
    let status = &observed.composite.status;
    let writer = observed.primary.as_ref();
    let credentials = observed.credentials.as_ref().map(|c| &c.object);
    let noted = observed.annotation(ours::REMOTE).and_then(|place| place.split_once('/'));
    let of_writer = writer.map(|w| w.object.spec.provider_config_ref.name.as_str());
    let told = status.hub.as_ref().and_then(|h| h.name.as_deref());
    // It goes by the hub's ProviderConfig from the moment on at which it notes where the cluster is.
    let by_credentials = || noted.and(credentials).map(|c| c.spec.provider_config_ref.name.as_str());
    let hub = hubs::recorded_hub(of_writer, told.or_else(by_credentials), excluded)?.to_owned();
    let of_manifest = |field: &str| writer.and_then(|w| w.manifest()["metadata"][field].as_str());
    let backend = status.backend.as_ref();
    let namespace = of_manifest("namespace")
        .or_else(|| backend.and_then(|b| b.namespace.as_deref()))
        .or_else(|| noted.map(|(namespace, _)| namespace))?
        .to_owned();
    let name = of_manifest("name")
        .or_else(|| backend.and_then(|b| b.name.as_deref()))
        .or_else(|| noted.map(|(_, name)| name))?
        .to_owned();
    let own = writer.and_then(|w| w.object.metadata.annotation(ours::CREDENTIALS_NAMESPACE));
    let of_remote = || writer.and_then(|w| w.remote()?.metadata().annotation(ours::CREDENTIALS_NAMESPACE));
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

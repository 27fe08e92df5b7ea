//! `spec.clusterClaim` → [`PoolClaim`]: the requested cluster, and its pool.

use serde_json::{Value, json};
use testplatform_apis::{
    byoc::{self, ClaimBlock},
    claim::{ClusterClaimSpec, RESERVED_LABELS, TIMEOUT_RULE, VERSION_OR_POOL},
    condition::{Chosen, Request},
    duration::GoDuration,
    input::Settings,
    names::ours,
    text::bounded,
};

use crate::{
    cluster::{
        catalog::{
            self,
            environment::missing_environment,
            pools,
            tenant_credentials::{check_tenant_credentials, tenant_namespace_name},
        },
        observed::{
            MAX_CLUSTER_CLAIM_BYTES, Observed, Pools, PrimaryObject,
            tenant_credentials::{self, TenantNamespace},
        },
        request::{AdmissionIssue, PoolClaim, PoolRef},
    },
    sdk::{composite::FieldProblem, wire},
};

/// Why a place that was chosen before is taken.
const PINNED: &str = Chosen::Pinned.as_str();

impl PoolClaim {
    /// The block of a claim for which nothing was made yet. The rules are those of the schema, which a composite that an
    /// administrator made has passed too, and a file has not.
    pub(super) fn read_claim(block: &Value, problems: &mut Vec<FieldProblem>) -> Option<Self> {
        let mut problem = |field: String, sentence: String| {
            problems.push(FieldProblem { field, sentence: bounded(&sentence, 256) });
        };
        let bytes = wire::json_to_struct(block);
        if let Ok(size) = bytes.as_ref().map(prost::bytes::Bytes::len)
            && size > MAX_CLUSTER_CLAIM_BYTES
        {
            let sentence =
                format!("has {size} bytes, and may have {MAX_CLUSTER_CLAIM_BYTES}; make it shorter");
            problem("spec.clusterClaim".into(), sentence);
            return None;
        }
        let read = bytes.and_then(|bytes| wire::from_struct::<ClusterClaimSpec>(&bytes));
        let wanted = match read {
            Ok(wanted) => wanted,
            Err(error) => {
                let path = error.path();
                let dot = if path.is_empty() || path.starts_with('[') { "" } else { "." };
                problem(bounded(&format!("spec.clusterClaim{dot}{path}"), 256), error.message().to_owned());
                return None;
            }
        };
        let before = problems.len();
        let mut problem = |field: &str, sentence: &str| {
            problems.push(FieldProblem { field: field.into(), sentence: sentence.into() });
        };
        if wanted.version.is_none() && wanted.pool.is_none() {
            problem("spec.clusterClaim", VERSION_OR_POOL);
        }
        let reserved = ["product", "version", "architecture", "cloud", "owner"];
        if reserved.iter().any(|key| wanted.labels.contains_key(*key)) {
            problem("spec.clusterClaim.labels", RESERVED_LABELS);
        }
        if wanted.timeout.is_some_and(|t| t < GoDuration::from_mins(1)) {
            problem("spec.clusterClaim.timeout", TIMEOUT_RULE);
        }
        (problems.len() == before).then(|| Self {
            resume: wanted.resume.unwrap_or(true),
            spec: wanted,
            pool: None,
            tenant_credentials: None,
            tenant_namespace: None,
        })
    }

    /// The same with what it brings along: everything that is wrong with that is a problem.
    pub(super) fn with_tenant_credentials(
        mut self,
        block: &Value,
        tenant: Option<&str>,
        problems: &mut Vec<FieldProblem>,
    ) -> Self {
        let before = problems.len();
        check_tenant_credentials(block, ClaimBlock::ClusterClaim, tenant, problems);
        if let Some((cloud, _)) = byoc::selected_cloud(block) {
            let requested = self.spec.cloud.get_or_insert_with(|| cloud.to_owned());
            if requested != cloud {
                let sentence = format!("is not {cloud}, of which spec.byoc.platform is");
                problems.push(FieldProblem { field: "spec.clusterClaim.cloud".into(), sentence });
            }
        }
        self.tenant_credentials = (problems.len() == before).then(|| block.clone());
        self
    }

    /// One of which nothing is known but that it was made.
    pub(super) fn unknown() -> Self {
        Self {
            spec: ClusterClaimSpec::default(),
            pool: None,
            resume: true,
            tenant_credentials: None,
            tenant_namespace: None,
        }
    }

    /// The block of a claim for which a ClusterClaim was made: whatever the claim says by now, the cluster comes from where it was
    /// asked for.
    pub(super) fn from_primary(
        primary: &PrimaryObject,
        observed: &Observed,
        settings: &Settings,
        issues: &mut Vec<AdmissionIssue>,
    ) -> Self {
        let requested = Self::read_claim(&observed.composite.spec["clusterClaim"], &mut vec![]);
        let resume = primary.manifest_annotation(ours::RESUME) != Some("false");
        let place = pool_of_primary(primary, observed, settings);
        let brought = tenant_credentials::read_tenant_namespace(&observed.tenant_credentials);
        let same = |asked: &Self| {
            // The pool that it names is an entry of the catalogue, and not the one that was made for it.
            let named = asked.spec.pool.as_ref().filter(|_| brought.is_none());
            asked.resume == resume && named.zip(place.as_ref()).is_none_or(|(n, p)| n.name == p.pool)
        };
        if !requested.as_ref().is_some_and(same) {
            issues.push(AdmissionIssue::new(
                Request::ChangeIgnored,
                "spec.clusterClaim cannot change after a cluster was requested; the cluster stays as requested",
            ));
        }
        issues.extend(catalog::tenant_credentials::collect_issues(observed));
        Self {
            spec: requested.map(|a| a.spec).unwrap_or_default(),
            pool: place,
            resume,
            tenant_credentials: None,
            tenant_namespace: None,
        }
    }

    /// Finds the place. An error is a refusal that an administrator can lift, or that ends with the end of another claim.
    pub(super) fn choose_pool(
        &mut self,
        name: &str,
        tenant: Option<&str>,
        observed: &Observed,
        settings: &Settings,
    ) -> Result<(), AdmissionIssue> {
        if self.pool.is_some() {
            return Ok(());
        }
        if let Some(brings) = self.tenant_credentials.clone().filter(|_| observed.is_unplaced()) {
            return self.choose_tenant_pool(brings, name, tenant, observed, settings);
        }
        // A current blocker does not move a cluster that may be on its way.
        self.pool = recorded_pool(observed, settings);
        if !observed.is_unplaced() {
            return Ok(());
        }
        // The hub knows the claim by the name of this Konflux cluster.
        missing_environment(&observed.environment, settings).map_or(Ok(()), Err)?;
        let Some(place) = self.pool.take() else {
            self.pool = Some(pools::choose_pool(&self.spec, false, tenant, observed, settings)?);
            return Ok(());
        };
        let entry = match &observed.pools {
            Pools::Found(catalogue, _) => {
                pools::find_entry(catalogue, &place.hub, &place.namespace, &place.pool)
            }
            Pools::NotFetched | Pools::Missing | Pools::Invalid(_) => None,
        };
        let refusal = format!(
            "pool {}/{}, from which a cluster was requested, is no longer in the catalogue; ask the platform team",
            place.namespace, place.pool
        );
        let now = entry.map(|(pool, hub)| PoolRef::of(pool, hub, settings, place.reason));
        let removed = now.is_none();
        self.pool = now.or(Some(place));
        if removed { Err(AdmissionIssue::new(Request::PoolNotFound, refusal)) } else { Ok(()) }
    }

    /// Finds the place of a claim that brings its own credentials: a pool of its own, in a namespace of its own. It is chosen once, and asked for
    /// once everything else is there.
    fn choose_tenant_pool(
        &mut self,
        brings: Value,
        name: &str,
        tenant: Option<&str>,
        observed: &Observed,
        settings: &Settings,
    ) -> Result<(), AdmissionIssue> {
        let own = |place: PoolRef, tenant_namespace: &TenantNamespace| PoolRef {
            namespace: tenant_namespace.namespace.clone(),
            pool: name.to_owned(),
            ..place
        };
        let Some(tenant_namespace) = tenant_credentials::read_tenant_namespace(&observed.tenant_credentials)
        else {
            missing_environment(&observed.environment, settings).map_or(Ok(()), Err)?;
            let place = pools::choose_pool(&self.spec, true, tenant, observed, settings)?;
            let tenant_namespace = new_tenant_namespace(&place, brings, name, observed);
            self.pool = Some(own(place, &tenant_namespace));
            let gate = catalog::tenant_credentials::check_ready(observed, &tenant_namespace);
            self.tenant_namespace = Some(tenant_namespace);
            return gate;
        };
        let last = || PoolRef {
            hub: tenant_namespace.hub.clone(),
            namespace: String::new(),
            pool: String::new(),
            credentials_namespace: settings.credentials_namespace.clone(),
            subject: None,
            reason: PINNED,
            own: None,
            default_lifetime: None,
            max_lifetime: None,
        };
        let text = tenant_namespace.request["entry"].as_str().unwrap_or_default();
        let (namespace, pool) = text.split_once('/').unwrap_or_default();
        let entry = match &observed.pools {
            Pools::Found(catalogue, _) => {
                pools::find_entry(catalogue, &tenant_namespace.hub, namespace, pool)
            }
            Pools::NotFetched | Pools::Missing | Pools::Invalid(_) => None,
        };
        let now = entry.map(|(pool, hub)| PoolRef::of(pool, hub, settings, PINNED));
        let removed = now.is_none();
        self.pool = Some(own(now.unwrap_or_else(last), &tenant_namespace));
        catalog::tenant_credentials::check_ready(observed, &tenant_namespace)?;
        // The hub knows the claim by the name of this Konflux cluster.
        missing_environment(&observed.environment, settings).map_or(Ok(()), Err)?;
        if removed {
            let message = format!(
                "pool {text}, which was to be copied, is no longer in the catalogue; ask the platform team"
            );
            return Err(AdmissionIssue::new(Request::PoolNotFound, message));
        }
        Ok(())
    }
}

fn new_tenant_namespace(place: &PoolRef, brings: Value, name: &str, observed: &Observed) -> TenantNamespace {
    let own = place.own.as_ref();
    let mut request = json!({
        "entry": format!("{}/{}", place.namespace, place.pool),
        "image": own.map(|own| own.image_set.as_str()),
        "hubReason": place.reason,
    });
    request["carrier"] = json!(own.map(|own| &own.carrier));
    request["byoc"] = brings;
    TenantNamespace { hub: place.hub.clone(), namespace: tenant_namespace_name(name, observed), request }
}

fn pool_of_primary(primary: &PrimaryObject, observed: &Observed, settings: &Settings) -> Option<PoolRef> {
    let text = |pointer: &str| primary.manifest().pointer(pointer).and_then(Value::as_str);
    let recorded = primary.object.metadata.annotation(ours::CREDENTIALS_NAMESPACE);
    let of_remote = || primary.remote()?.metadata().annotation(ours::CREDENTIALS_NAMESPACE);
    let namespace = recorded.or_else(of_remote).or_else(|| credentials_namespace(observed));
    // A member that was removed from the manifest keeps its previous value.
    let before = recorded_pool(observed, settings);
    let before = before.as_ref();
    Some(PoolRef {
        hub: primary.object.spec.provider_config_ref.name.clone(),
        namespace: text("/metadata/namespace").or_else(|| Some(&before?.namespace))?.to_owned(),
        pool: text("/spec/clusterPoolName").or_else(|| Some(&before?.pool))?.to_owned(),
        credentials_namespace: namespace.unwrap_or(&settings.credentials_namespace).to_owned(),
        subject: None,
        reason: PINNED,
        own: None,
        default_lifetime: None,
        max_lifetime: None,
    })
}

/// Where an earlier pass asked for a cluster, as status or the `credentials` Object remember it.
fn recorded_pool(observed: &Observed, settings: &Settings) -> Option<PoolRef> {
    let status = &observed.composite.status;
    let reported = || {
        let backend = status.backend.as_ref()?;
        Some((status.hub.as_ref()?.name.clone()?, backend.namespace.clone()?, backend.pool.clone()?))
    };
    let recorded = || {
        let credentials = &observed.credentials.as_ref()?.object;
        let (namespace, pool) = credentials.metadata.annotation(ours::POOL)?.split_once('/')?;
        let hub = credentials.spec.provider_config_ref.name.clone();
        (!hub.is_empty()).then(|| (hub, namespace.to_owned(), pool.to_owned()))
    };
    let (hub, namespace, pool) = reported().or_else(recorded)?;
    let own = credentials_namespace(observed).unwrap_or(&settings.credentials_namespace);
    Some(PoolRef {
        hub,
        namespace,
        pool,
        credentials_namespace: own.to_owned(),
        subject: None,
        reason: PINNED,
        own: None,
        default_lifetime: None,
        max_lifetime: None,
    })
}

fn credentials_namespace(observed: &Observed) -> Option<&str> {
    let manifest = &observed.credentials.as_ref()?.object.spec.for_provider.manifest;
    manifest["metadata"]["namespace"].as_str()
}

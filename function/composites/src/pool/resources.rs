//! `PoolPlan` × observed → desired Objects.
//!
//! Field ownership: the function owns everything in the manifest, by server-side apply as `provider-kubernetes/managed-<name>`, and nothing
//! else. Hive adds its finalizer and status, the hub-side provider its annotation, and neither is ever in the manifest. The function alone
//! owns the size, also while a refresh or a rotation lowers it.
//!
//! With an external autoscaler (`scalingMode: External`) the function has to release the size. Just omitting it would remove it, because
//! its only owner omitted it, and the hub would refuse that: Hive requires a size. So a second Object with another name first becomes a
//! second owner of the same value. Then the first Object omits it, and the second only observes from then on. The next scaler takes
//! ownership, and this function never writes the size again, unless the pool itself is gone: a recreated pool needs a size, so the release
//! starts again with the last observed one.
//!
//! Draining is described in [`drain`](super::drain).

use serde_json::{Map, Value, json};
use testplatform_apis::{
    duration::GoDuration,
    foreign::{
        cluster_pool::{ADMIN_ROLE, API_VERSION, KIND},
        meta::{ObservedCondition, find_condition},
        object::Object,
    },
    names::ours,
    pool::{Admin, AdminKind, LocalObjectReference, ScalingMode},
    pool_report::{CredentialsRequest, PoolRequest, RefreshRequest},
};

use super::{
    ADMINS, POOL, SIZE,
    drain::{DrainStage, drain_stage},
    observed::PoolState,
    size_release::{hub_size, is_size_released},
    sizing::PoolSize,
    validate::PoolPlan,
};
use crate::{
    objects::{SyncState, build_object, observer},
    sdk::response::DesiredResource,
};

/// In minutes; see the field of this name.
const RESUME_TIMEOUT: i64 = 20;
/// How often an installation is tried.
const INSTALL_ATTEMPTS: i32 = 1;

/// Everything that is to exist. None wanted: what is observed is repeated as it was last asked for.
pub(super) fn build_resources(wanted: Option<&PoolPlan>, observed: &PoolState) -> Vec<DesiredResource> {
    let Some(wanted) = wanted else {
        let mut repeated: Vec<_> = observed.pool.iter().map(|p| repeat_object(POOL, &p.object)).collect();
        repeated.extend(observed.admins.iter().map(|o| repeat_object(ADMINS, o)));
        repeated.extend(observed.size.iter().map(|o| repeat_object(SIZE, o)));
        return repeated;
    };
    [build_pool(wanted, observed), build_admins(wanted, observed), build_size(wanted, observed)]
        .into_iter()
        .flatten()
        .collect()
}

/// The Object as it was last asked for.
fn repeat_object<R>(name: &'static str, observed: &Object<R>) -> DesiredResource {
    let mut spec = json!({
        "forProvider": { "manifest": observed.spec.for_provider.manifest },
        "providerConfigRef": { "name": observed.spec.provider_config_ref.name },
    });
    let policies = &observed.spec.management_policies;
    if !policies.is_empty() && policies != &["*"] {
        spec["managementPolicies"] = json!(policies);
    }
    compose_object(name, &observed.metadata.name, spec, is_synced(observed))
}

fn compose_object(name: &'static str, object_name: &str, mut spec: Value, ready: bool) -> DesiredResource {
    // Without it a poll of ten minutes is all that sees a change on the hub. The RoleBinding concerns nobody that fast.
    if name == POOL && spec.get("watch").is_none() {
        spec["watch"] = true.into();
    }
    let mut object = build_object(object_name, Map::new(), spec);
    object["metadata"]["labels"] = json!({ ours::COMPONENT: name });
    DesiredResource { name: name.into(), object, ready }
}

fn is_synced<R>(object: &Object<R>) -> bool {
    find_condition(&object.status.conditions, "Synced").is_some_and(ObservedCondition::is_true)
}

fn build_pool(wanted: &PoolPlan, observed: &PoolState) -> Option<DesiredResource> {
    let stage = drain_stage(wanted.drain, observed);
    if matches!(stage, DrainStage::Removed | DrainStage::Complete)
        || (!wanted.drain && wanted.blocked_by.is_some() && observed.pool.is_none())
    {
        return None;
    }
    let repeated = || observed.pool.as_ref().map(|pool| repeat_object(POOL, &pool.object));
    if matches!(stage, DrainStage::Announced | DrainStage::Proven) {
        return repeated();
    }
    let Some(manifest) = build_manifest(wanted, observed) else {
        return repeated();
    };
    let mut spec = json!({
        "forProvider": { "manifest": manifest },
        "providerConfigRef": { "name": wanted.provider_config },
    });
    if stage == DrainStage::Observed {
        // An observer tries the write that it may not do, so its manifest has to be valid. The hub's own spec is valid, whatever the hub
        // refused since.
        if let Some(of_hub) = observed.remote().map(|remote| &remote.spec).filter(|spec| spec.is_object()) {
            spec["forProvider"]["manifest"]["spec"] = of_hub.clone();
        }
        spec["managementPolicies"] = json!(["Observe", "Delete"]);
        spec["watch"] = observed.pool.as_ref().is_some_and(|p| observer::may_set_watch(&p.object)).into();
    }
    let ready = observed.pool.as_ref().is_some_and(|p| p.sync == SyncState::InSync && p.remote().is_some());
    Some(compose_object(POOL, &format!("managed-{}", observed.composite.metadata.name), spec, ready))
}

/// The ClusterPool, only what we own of it.
fn build_manifest(wanted: &PoolPlan, observed: &PoolState) -> Option<Value> {
    let definition = &wanted.spec;
    // An observer accepts any valid size.
    let own = || wanted.drain.then(|| PoolSize::of(definition, None, wanted.platform.always_runs()));
    let size = wanted.size.or_else(own)?;
    let mut spec = Map::new();
    let mut set = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            spec.insert(key.to_owned(), value);
        }
    };
    let span = |span: Option<GoDuration>| span.map(|s| Value::from(s.to_string()));
    let name = |name: &LocalObjectReference| json!({ "name": name.name });
    let external = definition.scaling_mode == Some(ScalingMode::External);
    set("baseDomain", Some(definition.base_domain.clone().into()));
    set("imageSetRef", Some(name(&definition.image_set_ref)));
    set("platform", Some(build_platform(wanted)));
    set(
        "size",
        (!external || !is_size_released(observed)).then(|| size_to_write(size, external, observed).into()),
    );
    set("runningCount", size.running_count.map(Value::from));
    set("maxSize", size.max_size.map(Value::from));
    set("maxConcurrent", definition.max_concurrent.map(Value::from));
    set("pullSecretRef", definition.pull_secret_ref.as_ref().map(name));
    set("installConfigSecretTemplateRef", definition.install_config_template_ref.as_ref().map(name));
    // With a template Hive's own machine pools would contradict it.
    let skip =
        definition.skip_machine_pools.or(definition.install_config_template_ref.as_ref().map(|_| true));
    set("skipMachinePools", skip.map(Value::from));
    set("hibernateAfter", span(definition.hibernate_after));
    let resume = definition.resume_timeout.unwrap_or(GoDuration::from_mins(RESUME_TIMEOUT));
    set("hibernationConfig", Some(json!({ "resumeTimeout": resume.to_string() })));
    set("installAttemptsLimit", Some(definition.install_attempts_limit.unwrap_or(INSTALL_ATTEMPTS).into()));
    let mut lifetime = Map::new();
    for (key, value) in
        definition.claim_lifetime.iter().flat_map(|l| [("default", l.default), ("maximum", l.maximum)])
    {
        lifetime.extend(span(value).map(|value| (key.to_owned(), value)));
    }
    set("claimLifetime", (!lifetime.is_empty()).then_some(Value::Object(lifetime)));
    set(
        "inventory",
        (!definition.inventory.is_empty()).then(|| definition.inventory.iter().map(name).collect()),
    );
    set("labels", (!definition.cluster_labels.is_empty()).then(|| json!(definition.cluster_labels)));

    let mut metadata = json!({ "name": wanted.name, "namespace": wanted.namespace });
    if !definition.labels.is_empty() {
        metadata["labels"] = json!(definition.labels);
    }
    if let Ok(request) = build_request(wanted, external).to_annotation() {
        metadata["annotations"] = json!({ ours::POOL_REQUEST: request });
    }
    Some(json!({ "apiVersion": API_VERSION, "kind": KIND, "metadata": metadata, "spec": spec }))
}

fn build_platform(wanted: &PoolPlan) -> Value {
    let mut block = wanted.spec.platform.only_platform().map(|(_, block)| block.clone()).unwrap_or_default();
    if let Some(name) = &wanted.credentials {
        block.insert("credentialsSecretRef".into(), json!({ "name": name }));
    }
    json!({ wanted.platform.as_str(): block })
}

/// Request to the hub-side provider.
fn build_request(wanted: &PoolPlan, external: bool) -> PoolRequest {
    use testplatform_apis::pool::RefreshStrategy::{Recreate, Rolling};
    let refresh = wanted.spec.refresh.clone().unwrap_or_default();
    let rotation = wanted.spec.credentials_rotation.unwrap_or_default();
    PoolRequest {
        size: wanted.steady_size.filter(|_| !external).map(|usual| usual.size),
        refresh: refresh.nonce.map(|nonce| RefreshRequest {
            nonce,
            max_unavailable: match refresh.strategy.unwrap_or_default() {
                Rolling => Some(1),
                Recreate => refresh.max_unavailable.map(i64::from),
            },
        }),
        on_artifact_change: Some(refresh.on_artifact_change.unwrap_or_default()),
        credentials: wanted
            .spec
            .credentials_ref
            .as_ref()
            .map(|c| CredentialsRequest { name: c.name.clone(), mode: rotation.mode.unwrap_or_default() }),
    }
}

/// The hub's size stays until it is released; the definition has only the initial size.
fn size_to_write(size: PoolSize, external: bool, observed: &PoolState) -> i64 {
    hub_size(observed).filter(|_| external).unwrap_or(size.size)
}

/// The second owner of the size, and later nobody's. Without Create and Delete it can neither make a pool nor take one away.
fn build_size(wanted: &PoolPlan, observed: &PoolState) -> Option<DesiredResource> {
    if wanted.spec.scaling_mode != Some(ScalingMode::External) || wanted.drain {
        return None;
    }
    let on_hub = hub_size(observed);
    // While the pool's own Object is lost it stays as it is: only a pool that is drained or scaled from here again has none.
    let written = observed
        .size
        .as_ref()
        .and_then(|o| PoolSize::requested(&o.spec.for_provider.manifest))
        .map(|s| s.size);
    let looked = || observed.size.as_ref().is_some_and(|o| o.spec.management_policies == ["Observe"]);
    let released = is_size_released(observed) || (observed.pool.is_none() && looked());
    // Two that write different sizes would undo each other's work; of one that only watches it does not matter.
    let size = if released { written.or(on_hub) } else { on_hub.or(written) }?;
    let metadata = json!({ "name": wanted.name, "namespace": wanted.namespace });
    let mut manifest = json!({ "apiVersion": API_VERSION, "kind": KIND, "metadata": metadata });
    manifest["spec"] = json!({ "size": size });
    let spec = json!({
        "forProvider": { "manifest": manifest },
        "managementPolicies": if released { json!(["Observe"]) } else { json!(["Observe", "Update"]) },
        "providerConfigRef": { "name": wanted.provider_config },
    });
    let name = format!("size-{}", observed.composite.metadata.name);
    let ready = observed.size.as_ref().is_some_and(is_synced);
    Some(compose_object(SIZE, &name, spec, ready))
}

/// Administrators who may debug the pool: Hive passes this role on to the namespaces of its clusters. It outlives a draining pool.
fn build_admins(wanted: &PoolPlan, observed: &PoolState) -> Option<DesiredResource> {
    let unmade = observed.pool.is_none() && observed.admins.is_none();
    let blocked = !wanted.drain && wanted.blocked_by.is_some();
    let drained = drain_stage(wanted.drain, observed) == DrainStage::Complete;
    if wanted.spec.admins.is_empty() || drained || (unmade && blocked) {
        return None;
    }
    let manifest = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
        "metadata": { "name": format!("{}-admins", wanted.name), "namespace": wanted.namespace },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": ADMIN_ROLE },
        "subjects": wanted.spec.admins.iter().map(rbac_subject).collect::<Vec<_>>(),
    });
    let spec = json!({
        "forProvider": { "manifest": manifest },
        "providerConfigRef": { "name": wanted.provider_config },
    });
    let name = format!("admins-{}", observed.composite.metadata.name);
    Some(compose_object(ADMINS, &name, spec, observed.admins.as_ref().is_some_and(is_synced)))
}

fn rbac_subject(admin: &Admin) -> Value {
    let group = "rbac.authorization.k8s.io";
    match admin.kind {
        AdminKind::Group => json!({ "kind": "Group", "apiGroup": group, "name": admin.name }),
        AdminKind::User => json!({ "kind": "User", "apiGroup": group, "name": admin.name }),
        AdminKind::ServiceAccount => {
            json!({ "kind": "ServiceAccount", "name": admin.name, "namespace": admin.namespace })
        }
    }
}

//! Admission of a claim with tenant credentials: why no cluster can be requested yet, and issues for its owner later.

use serde_json::Value;
use testplatform_apis::{
    byoc::{self, ClaimBlock, NAMESPACE_PREFIX, SecretSyncReport, SecretSyncResult},
    condition::Request,
    names::{Uid, ours, shorten_name},
    text::bounded,
};

use crate::{
    cluster::{
        observed::{
            Observed,
            tenant_credentials::{
                ACCESS, NAMESPACE, ObservedObject, POOL, PROVIDER, REQUEST, TenantNamespace, read_report,
                read_tenant_namespace,
            },
        },
        request::AdmissionIssue,
    },
    objects::SyncState,
    sdk::composite::FieldProblem,
};

/// The longest name of a namespace for tenant credentials: that of one that is called by a uid. It leaves room for names of control planes.
const NAMESPACE_MAX: usize = NAMESPACE_PREFIX.len() + 36;

/// Called by the composite's uid, so that no other claim of any Konflux cluster has the same namespace. A composite in a file has none.
pub(crate) fn tenant_namespace_name(name: &str, observed: &Observed) -> String {
    let uid = observed.composite.metadata.uid.as_ref().map(Uid::as_str).filter(|uid| !uid.is_empty());
    let of_file = || {
        // There is always room for a hash in it.
        shorten_name(&format!("{NAMESPACE_PREFIX}{}", name.replace('.', "-")), name, NAMESPACE_MAX)
            .unwrap_or_default()
    };
    uid.map_or_else(of_file, |uid| format!("{NAMESPACE_PREFIX}{uid}"))
}

/// Everything that is wrong with what is brought along beside a block.
pub(crate) fn check_tenant_credentials(
    block: &Value,
    beside: ClaimBlock,
    tenant: Option<&str>,
    problems: &mut Vec<FieldProblem>,
) {
    let mut problem = |field: String, sentence: &str| {
        problems.push(FieldProblem { field: bounded(&field, 256), sentence: bounded(sentence, 256) });
    };
    for (path, sentence) in byoc::find_problems(block, beside) {
        let dot = if path.is_empty() { "" } else { "." };
        problem(format!("spec.byoc{dot}{path}"), &sentence);
    }
    if tenant.is_none() {
        let sentence = "needs a claim: a composite without one has no namespace to read Secrets from";
        problem("spec.byoc".into(), sentence);
    }
}

/// Why no cluster can be asked for yet.
pub(crate) fn check_ready(
    observed: &Observed,
    tenant_namespace: &TenantNamespace,
) -> Result<(), AdmissionIssue> {
    let waits = |message: String| Err(AdmissionIssue::new(Request::SecretsNotCarried, message));
    if !tenant_namespace.request.is_object() {
        // Another home would be a second one, and Secrets are in the first.
        return waits(format!(
            "the request in namespace {} on {} is no longer known; restore annotation {} of its Objects, or delete the claim",
            tenant_namespace.namespace,
            tenant_namespace.hub,
            ours::BYOC
        ));
    }
    let (parts, namespace) = (&observed.tenant_credentials, &tenant_namespace.namespace);
    if let Some((name, message)) =
        parts.iter().find_map(|(name, part)| Some((name, sync_problem(&part.sync)?)))
    {
        return waits(format!("{name} on {}: {message}", tenant_namespace.hub));
    }
    let settled = |name: &str| parts.get(name).is_some_and(ObservedObject::is_synced);
    let pooled = tenant_namespace.request["provider"].is_null();
    if !settled(NAMESPACE) {
        return waits(format!(
            "namespace {namespace} is being created on {} for the Secrets of this claim",
            tenant_namespace.hub
        ));
    }
    if !(settled(ACCESS) && settled(REQUEST) && (pooled || settled(PROVIDER))) {
        return waits(format!(
            "namespace {namespace} exists; the hub is granting access to the carrier of the Secrets"
        ));
    }
    let Some(report) = read_report(parts) else {
        return waits(format!(
            "namespace {namespace} exists; the carrier of the Secrets has not reported anything yet"
        ));
    };
    if let Some(message) = report.refused.as_ref().filter(|_| !report.carried) {
        return waits(format!("the carrier refuses: {}", bounded(message, 256)));
    }
    if let Some(issue) = missing_secrets(&report, &tenant_namespace.request).filter(|_| !report.carried) {
        return Err(issue);
    }
    if !report.carried {
        return waits(format!("the carrier is copying the Secrets to namespace {namespace}"));
    }
    if pooled && !settled(POOL) {
        return waits("the Secrets are on the hub, which is creating the pool for the cluster".into());
    }
    Ok(())
}

/// Secrets that cannot be copied, with the most important reason.
fn missing_secrets(report: &SecretSyncReport, requested: &Value) -> Option<AdmissionIssue> {
    let parcels = byoc::list_secret_copies(&requested["byoc"]);
    let mut found: Vec<(Request, String)> = Vec::new();
    for parcel in &parcels {
        let (field, from) = (&parcel.field, &parcel.from);
        found.push(match report.secrets.get(field)? {
            SecretSyncResult::Carried => continue,
            SecretSyncResult::Forbidden => (
                Request::SecretForbidden,
                format!(
                    "the carrier may not get Secret {from} (spec.byoc.{field}); create the Role and RoleBinding of package/install/examples/byoc-role.yaml with its name"
                ),
            ),
            SecretSyncResult::NotFound => (
                Request::SecretNotFound,
                format!("there is no Secret {from} (spec.byoc.{field}) in the claim's namespace; create it"),
            ),
            SecretSyncResult::KeyMissing => {
                let keys = || format!("needs the keys {}, none of them empty", parcel.keys.join(" and "));
                let message = report.words.get(field).map_or_else(keys, |message| bounded(message, 256));
                (Request::SecretIncomplete, format!("Secret {from} (spec.byoc.{field}) {message}"))
            }
        });
    }
    let reason = found.iter().map(|(reason, _)| *reason).min()?;
    let message: Vec<String> = found.into_iter().map(|(_, message)| message).collect();
    Some(AdmissionIssue::new(reason, message.join("; ")))
}

/// Issues about tenant credentials for the owner of a cluster.
pub(crate) fn collect_issues(observed: &Observed) -> Vec<AdmissionIssue> {
    if observed.primary.is_none() {
        return vec![];
    }
    let known = read_tenant_namespace(&observed.tenant_credentials)
        .filter(|tenant_namespace| tenant_namespace.request.is_object());
    let changed = known
        .is_some_and(|tenant_namespace| tenant_namespace.request["byoc"] != observed.composite.spec["byoc"]);
    let changed = changed.then(|| {
        AdmissionIssue::new(
            Request::ChangeIgnored,
            "spec.byoc cannot change after it was requested; the cluster stays as requested",
        )
    });
    changed.into_iter().chain(outdated_issue(observed)).collect()
}

/// Issue for Secrets that the hub has and the claim's namespace has no more.
fn outdated_issue(observed: &Observed) -> Option<AdmissionIssue> {
    let (tenant_namespace, report) =
        (read_tenant_namespace(&observed.tenant_credentials)?, read_report(&observed.tenant_credentials)?);
    let missing = missing_secrets(&report, &tenant_namespace.request)?;
    let message = format!("the hub keeps the Secrets that were copied before, but: {}", missing.message);
    Some(AdmissionIssue::new(Request::SecretsOutdated, message))
}

/// Sync problem that needs attention.
fn sync_problem(sync: &SyncState) -> Option<String> {
    Some(match sync {
        SyncState::Unknown | SyncState::InSync => return None,
        SyncState::Deleted | SyncState::Replaced => "another object has its name".into(),
        SyncState::UnknownField(path) => format!("the hub does not know the field {path}"),
        SyncState::Refused(message) => format!("the hub refuses: {message}"),
        SyncState::Unavailable(outage) => outage.to_string(),
        SyncState::Paused => "an administrator paused its Object".into(),
    })
}

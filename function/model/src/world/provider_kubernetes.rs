//! provider-kubernetes v1.2.1: one round over the writer and over `credentials`.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use testplatform_apis::{bundle, names::ours};

use super::{Composed, NAME, World};
use crate::{
    caas,
    cluster_api::{self, ClusterClasses},
    osac,
};

/// Spec members of other writers. Server-side apply leaves them alone, and removes omitted members of the rest.
const OTHERS: [&str; 4] = ["namespace", "dns", "controlPlaneEndpoint", "others"];

/// Annotations of the hub-side provider on the remote object.
const OF_PROVIDER: [&str; 5] =
    [bundle::REPORT, ours::CREDENTIALS_MODE, ours::CREDENTIALS_REVISION, ours::DIAGNOSTICS, ours::STATUS];

impl World {
    /// One round of provider-kubernetes over both Objects.
    pub fn reconcile_objects(&mut self) {
        self.provide_ahead();
        self.provide_bundles();
        self.provide_node_pools();
        self.look_at_hosted();
        self.provide_brought();
        for name in ["ec", "claim", "cluster", "topology", "order", "instance"] {
            let Some(mut writer) = self.objects.remove(name) else { continue };
            let deleting = !writer.object["metadata"]["deletionTimestamp"].is_null();
            if !deleting {
                self.reconcile_writer(&mut writer);
            }
            if !deleting || self.still_deleting(&mut writer) {
                self.objects.insert(name.into(), writer);
            }
        }
        if let Some(mut credentials) = self.objects.remove("credentials") {
            self.reconcile_credentials(&mut credentials);
            self.objects.insert("credentials".into(), credentials);
        }
        self.deliver_secret();
    }

    fn reconcile_writer(&mut self, writer: &mut Composed) {
        let object = &mut writer.object;
        let manifest = object["spec"]["forProvider"]["manifest"].clone();
        let policies = &object["spec"]["managementPolicies"];
        let full = *policies == json!(["*"]);
        let creates = full || *policies == json!(["Observe", "Create", "Delete"]);
        let pin = manifest["metadata"]["uid"].clone();
        self.stays_in_place(object);
        if !self.reachable {
            return set_synced(
                object,
                Some("observe failed: cannot get object: dial tcp: connect: connection refused"),
            );
        }
        let Some(remote) = &mut self.remote else {
            if *policies == json!(["Observe"]) {
                return set_synced(object, Some("observe failed: external resource does not exist"));
            }
            add_finalizer(object);
            if !creates {
                return set_synced(object, None);
            }
            object["metadata"]["annotations"]["crossplane.io/external-create-pending"] = json!(self.now);
            if let Some(uid) = pin.as_str() {
                let words = format!(
                    "create failed: cannot create object: cannot create object: Operation cannot be fulfilled on x \"{NAME}\": uid mismatch: the provided object specified uid {uid}, and no existing object was found"
                );
                return set_synced(object, Some(&words));
            }
            if let Some(words) = &self.refuses {
                return set_synced(
                    object,
                    Some(&format!("create failed: cannot create object: cannot create object: {words}")),
                );
            }
            let own = manifest["metadata"]["namespace"].as_str().is_some_and(|n| n.starts_with("byoc-"));
            if own && object["spec"]["references"].is_array() && self.made == 0 {
                let request = self.brought.get("byoc-request").map(Value::to_string).unwrap_or_default();
                assert!(request.contains("\\\"carried\\\":true"), "a cluster without its Secrets: {request}");
            }
            if self.made == 0 {
                self.checks_ahead();
            }
            let admitted = match self.classes.admit(&manifest["spec"], &Value::Null) {
                Ok(admitted) => admitted,
                Err(words) => return set_synced(object, Some(&format!("create failed: {words}"))),
            };
            self.classes.own(&manifest["spec"]);
            let mut made = manifest;
            made["spec"] = admitted;
            self.remote = Some(made);
            self.assign_uid();
            object["metadata"]["annotations"]["crossplane.io/external-create-succeeded"] = json!(self.now);
            return set_synced(object, None);
        };
        object["status"]["atProvider"]["manifest"] = remote.clone();
        // It tries the write even if it may not do it.
        if let Some(uid) = pin.as_str().filter(|uid| *uid != remote["metadata"]["uid"]) {
            let words = format!(
                "observe failed: cannot get desired state: cannot dry run SSA: X \"{NAME}\" is invalid: metadata.uid: Invalid value: \"{uid}\": field is immutable"
            );
            return set_synced(object, Some(&words));
        }
        if let Err(words) = writer.dry_run(&self.classes, &self.fixed, remote) {
            return set_synced(&mut writer.object, Some(&words));
        }
        let object = &mut writer.object;
        add_finalizer(object);
        if !full {
            return set_synced(object, None);
        }
        // Value of the attempt before the hub began to refuse it.
        if let Some(words) = find_refusal(&manifest["spec"], &self.fixed, &remote["spec"]) {
            return set_synced(object, Some(&format!("update failed: cannot apply object: {words}")));
        }
        let admitted = match self.classes.admit(&manifest["spec"], &remote["spec"]) {
            Ok(admitted) => admitted,
            Err(words) => {
                return set_synced(object, Some(&format!("update failed: cannot apply object: {words}")));
            }
        };
        // Server-side apply leaves to others what is theirs.
        let written = OTHERS.map(|member| (member, remote["spec"][member].clone()));
        self.classes.own(&manifest["spec"]);
        let before = std::mem::replace(&mut remote["spec"], admitted);
        for (member, value) in written.into_iter().filter(|(_, value)| !value.is_null()) {
            remote["spec"][member] = value;
        }
        let generation = remote["metadata"]["generation"].as_i64().unwrap_or(1);
        apply_metadata(remote, &manifest);
        cluster_api::assert_valid_change(&before, &remote["spec"]);
        osac::assert_valid_change(&before, &remote["spec"]);
        caas::assert_valid_change(remote, &before, &remote["spec"]);
        remote["metadata"]["generation"] = json!(generation + i64::from(before != remote["spec"]));
        object["status"]["atProvider"]["manifest"] = remote.clone();
        set_synced(object, None);
    }

    /// The hub gives a new remote object its uid.
    fn assign_uid(&mut self) {
        self.made += 1;
        if let Some(remote) = &mut self.remote {
            remote["metadata"]["uid"] = json!(format!("remote-{}", self.made));
            remote["metadata"]["generation"] = json!(1);
        }
    }

    /// A create of which provider-kubernetes never heard that it succeeded.
    pub fn create_remote(&mut self) {
        self.remote = Some(self.objects[self.writer()].object["spec"]["forProvider"]["manifest"].clone());
        self.assign_uid();
    }

    fn reconcile_credentials(&mut self, credentials: &mut Composed) {
        let before = credentials.object["status"]["conditions"][0].clone();
        self.reads_credentials(credentials);
        let now = &mut credentials.object["status"]["conditions"][0];
        let same = now["status"] == before["status"] && before["lastTransitionTime"].is_string();
        now["lastTransitionTime"] = if same { before["lastTransitionTime"].clone() } else { json!(self.now) };
    }

    fn reads_credentials(&mut self, credentials: &mut Composed) {
        let object = &mut credentials.object;
        if object["metadata"]["annotations"]["crossplane.io/paused"] == "true" {
            return set_synced(object, Some("reconciliation is paused"));
        }
        let name = object["spec"]["forProvider"]["manifest"]["metadata"]["name"].as_str().unwrap().to_owned();
        if !self.reachable {
            return set_synced(object, Some("observe failed: cannot get object: Unauthorized"));
        }
        let Some((kubeconfig, password)) = self.secrets.get(&name) else {
            return set_synced(object, Some("observe failed: external resource does not exist"));
        };
        object["metadata"]["finalizers"] = json!(["finalizer.managedresource.crossplane.io"]);
        object["status"]["atProvider"]["manifest"] =
            json!({ "metadata": { "name": name }, "data": { "redacted": null } });
        // It adds what it is told to, and takes nothing away.
        for detail in object["spec"]["connectionDetails"].as_array().into_iter().flatten() {
            let key = detail["toConnectionSecretKey"].as_str().unwrap();
            let value = if key == "kubeconfig" { kubeconfig } else { password };
            credentials.details.insert(key.into(), value.clone());
        }
        set_synced(object, None);
    }
}

impl Composed {
    /// The same for the primary Object, whose kind may have a webhook.
    pub fn dry_run(
        &mut self,
        classes: &ClusterClasses,
        fixed: &BTreeSet<String>,
        existing: &Value,
    ) -> Result<(), String> {
        let manifest = &self.object["spec"]["forProvider"]["manifest"];
        let admitted = classes.admit(&manifest["spec"], &existing["spec"]);
        if let Err(words) = admitted
            && self.taken != *manifest
        {
            return Err(format!("observe failed: cannot get desired state: cannot dry run SSA: {words}"));
        }
        self.apply_remote(fixed, existing)
    }

    /// Tries what the manifest says, as provider-kubernetes does before all else, whatever it may do and also where the Object is on its way out.
    /// `fixed`: what of the spec of `there` nobody may change.
    pub fn apply_remote(&mut self, fixed: &BTreeSet<String>, existing: &Value) -> Result<(), String> {
        let manifest = &self.object["spec"]["forProvider"]["manifest"];
        if self.taken == *manifest {
            return Ok(());
        }
        if let Some(words) = find_refusal(&manifest["spec"], fixed, &existing["spec"]) {
            return Err(format!("observe failed: cannot get desired state: cannot dry run SSA: {words}"));
        }
        self.taken = manifest.clone();
        Ok(())
    }
}

/// Message with which the hub refuses a spec. An apply removes omitted members, and no spec of ours may be partially missing.
pub fn find_refusal(spec: &Value, fixed: &BTreeSet<String>, existing: &Value) -> Option<String> {
    if spec.as_object().is_none_or(serde_json::Map::is_empty) {
        return Some(format!("X \"{NAME}\" is invalid: spec: Required value"));
    }
    let mut after = spec.clone();
    for member in OTHERS {
        if after[member].is_null() && !existing[member].is_null() {
            after[member] = existing[member].clone();
        }
    }
    let changed = fixed.iter().find(|at| after.pointer(at) != existing.pointer(at))?;
    let at = changed.replace('/', ".");
    Some(format!("X \"{NAME}\" is invalid: spec{at}: Invalid value: \"x\": field is immutable"))
}

/// Setting its finalizer makes provider-kubernetes forget what it has observed in the same round.
pub fn add_finalizer(object: &mut Value) {
    if object["metadata"]["finalizers"].is_null() {
        object["metadata"]["finalizers"] = json!(["finalizer.managedresource.crossplane.io"]);
        object["status"] = json!({});
    }
}

/// Metadata of a manifest, and those that the API server and the provider on the hub write.
fn apply_metadata(remote: &mut Value, manifest: &Value) {
    let before = std::mem::replace(&mut remote["metadata"], manifest["metadata"].clone());
    for field in ["uid", "creationTimestamp", "deletionTimestamp", "managedFields"] {
        if !before[field].is_null() {
            remote["metadata"][field] = before[field].clone();
        }
    }
    for key in OF_PROVIDER {
        let value = &before["annotations"][key];
        if !value.is_null() {
            remote["metadata"]["annotations"][key] = value.clone();
        }
    }
}

pub fn set_synced(object: &mut Value, error: Option<&str>) {
    let (status, reason) = match error {
        None => ("True", "ReconcileSuccess"),
        Some("reconciliation is paused") => ("False", "ReconcilePaused"),
        Some(_) => ("False", "ReconcileError"),
    };
    object["status"]["conditions"] = json!([{
        "type": "Synced", "status": status, "reason": reason, "message": error.unwrap_or_default(),
        "observedGeneration": object["metadata"]["generation"],
    }]);
}

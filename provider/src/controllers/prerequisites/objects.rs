//! Our objects on the hub: created if absent, kept if ours, never touched if not ours, and deleted in the end.

use serde_json::{Value, json};
use testplatform_apis::bundle::Bundle;
use tokio::time::Instant;

use crate::manifests::{
    apply::{ApplyError, ApplyErrorReason, GuestCluster, PendingObject, describe_object},
    guest_cluster::Target,
};

/// How often something is tried that somebody else changes at the same time.
const TRIES: u32 = 3;

/// The ConfigMap with an order: everything that is made by it is its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestOwner {
    /// Its namespace, and that of everything.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: String,
}

/// The hub. A manifest identifies an object; a call may be repeated, and may have succeeded although it failed.
pub trait HubObjects {
    /// Reads an object, if it exists.
    fn find(&self, object: &Value) -> impl Future<Output = Result<Option<Value>, ApplyError>> + Send;

    /// Makes an object that is not there.
    fn create(&self, object: &Value) -> impl Future<Output = Result<WriteResult, ApplyError>> + Send;

    /// Applies a manifest that contains uid and resourceVersion of the expected object.
    fn apply(&self, object: &Value) -> impl Future<Output = Result<WriteResult, ApplyError>> + Send;

    /// Deletes an object, if it is this one still.
    fn delete(
        &self,
        object: &Value,
        only: &ObjectVersion,
    ) -> impl Future<Output = Result<(), ApplyError>> + Send;
}

/// Result of a write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WriteResult {
    /// This is there now.
    There(Value),
    /// The object changed since it was observed; the error to report.
    Changed(ApplyError),
}

/// One object, as it was at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectVersion {
    /// Its uid.
    pub uid: String,
    /// Its resourceVersion.
    pub resource_version: String,
}

impl ObjectVersion {
    /// That of an object.
    pub fn of(object: &Value) -> Self {
        let text = |key| object["metadata"][key].as_str().unwrap_or_default().to_owned();
        Self { uid: text("uid"), resource_version: text("resourceVersion") }
    }
}

impl RequestOwner {
    /// Checks whether a manifest is allowed, as far as that needs no call.
    ///
    /// # Errors
    /// If it never can.
    pub fn check_manifest(&self, object: &Value) -> Result<(), ApplyError> {
        let target = Target::of(object)?;
        if target.group.is_empty() && target.kind == "Secret" {
            let message = "Secrets are not made on the hub: an order is a ConfigMap, which is no place for what is secret";
            return Err(ApplyError::new(ApplyErrorReason::KindNotAllowed, message));
        }
        if target.namespace.is_some_and(|namespace| namespace != self.namespace) {
            let message = "it is in another namespace than the cluster's object";
            return Err(ApplyError::new(ApplyErrorReason::InvalidManifest, message));
        }
        Ok(())
    }

    /// Completes a manifest for apply.
    fn complete_manifest(&self, object: &Value) -> Result<Value, ApplyError> {
        self.check_manifest(object)?;
        let mut manifest = object.clone();
        let metadata = &mut manifest["metadata"];
        metadata["namespace"] = self.namespace.as_str().into();
        metadata["ownerReferences"] =
            json!([{ "apiVersion": "v1", "kind": "ConfigMap", "name": self.name, "uid": self.uid }]);
        // They would be those of another object.
        for key in ["uid", "resourceVersion"] {
            metadata.as_object_mut().and_then(|metadata| metadata.remove(key));
        }
        Ok(manifest)
    }

    fn owns(&self, there: &Value) -> bool {
        let owners = there["metadata"]["ownerReferences"].as_array();
        owners.is_some_and(|owners| owners.iter().any(|owner| owner["uid"] == *self.uid))
    }
}

/// Objects of one request.
pub struct RequestObjects<'a, H> {
    /// Where.
    pub hub: &'a H,
    /// Owner of the request.
    pub owner: &'a RequestOwner,
}

impl<H: HubObjects + Sync> GuestCluster for RequestObjects<'_, H> {
    async fn apply_manifest(&self, object: &Value) -> Result<Value, ApplyError> {
        let manifest = self.owner.complete_manifest(object)?;
        let mut last = ApplyError::new(ApplyErrorReason::NotReady, "another writer keeps changing it");
        for _ in 0..TRIES {
            let wrote = match self.hub.find(&manifest).await? {
                None => self.hub.create(&manifest).await?,
                Some(existing) if !self.owner.owns(&existing) => {
                    let message = "an object of this name exists that this request did not create";
                    return Err(ApplyError::new(ApplyErrorReason::NameTaken, message));
                }
                Some(existing) if is_deleted(&existing) => {
                    return Err(ApplyError::new(ApplyErrorReason::NotReady, "it is being deleted"));
                }
                Some(existing) => {
                    self.hub.apply(&at(manifest.clone(), &ObjectVersion::of(&existing))).await?
                }
            };
            match wrote {
                WriteResult::There(existing) => return Ok(existing),
                WriteResult::Changed(why) => last = why,
            }
        }
        Err(last)
    }
}

fn at(mut object: Value, version: &ObjectVersion) -> Value {
    object["metadata"]["uid"] = version.uid.as_str().into();
    object["metadata"]["resourceVersion"] = version.resource_version.as_str().into();
    object
}

fn is_deleted(there: &Value) -> bool {
    !there["metadata"]["deletionTimestamp"].is_null()
}

/// Result of deleting the created objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Removed {
    /// Nothing of ours is there any more.
    All,
    /// This is.
    Left(PendingObject),
}

impl<H: HubObjects + Sync> RequestObjects<'_, H> {
    /// Deletes bundles in this order, what is in them last first. One is begun when nothing is there of the one before. After `until` no call
    /// is begun any more.
    pub async fn remove<'a>(&self, bundles: impl IntoIterator<Item = &'a Bundle>, until: Instant) -> Removed {
        for bundle in bundles {
            let mut pending = None;
            for manifest in bundle.manifests.iter().rev() {
                let object = &manifest.object;
                let result = if Instant::now() >= until {
                    Err(ApplyError::new(ApplyErrorReason::Unreachable, "the API server answers too slowly"))
                } else {
                    self.take(object).await
                };
                let why = match result {
                    Ok(true) => continue,
                    Ok(false) => ApplyError::new(ApplyErrorReason::NotReady, "it still exists"),
                    Err(why) => why,
                };
                pending = pending.or(Some(PendingObject { object: Some(describe_object(object)), why }));
            }
            if let Some(stop) = pending {
                return Removed::Left(stop);
            }
        }
        Removed::All
    }

    /// Deletes an object if it is ours. Whether none of ours is there any more.
    async fn take(&self, object: &Value) -> Result<bool, ApplyError> {
        // An object that can never be created was never created.
        let Ok(whole) = self.owner.complete_manifest(object) else { return Ok(true) };
        for _ in 0..TRIES {
            let existing = match self.hub.find(&whole).await {
                Ok(None) => return Ok(true),
                Ok(Some(existing)) => existing,
                // Nor of this, unless it was allowed once: then the garbage collector may do what we may not any more.
                Err(why)
                    if [
                        ApplyErrorReason::NoSuchKind,
                        ApplyErrorReason::KindNotAllowed,
                        ApplyErrorReason::InvalidManifest,
                    ]
                    .iter()
                    .any(|w| why.has_reason(*w)) =>
                {
                    return Ok(true);
                }
                Err(why) => return Err(why),
            };
            if !self.owner.owns(&existing) {
                return Ok(true);
            }
            if is_deleted(&existing) {
                return Ok(false);
            }
            self.hub.delete(&whole, &ObjectVersion::of(&existing)).await?;
        }
        Ok(false)
    }
}

//! One order, at the hub and at the identity service. Each call may be repeated; nothing is decided here.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use jiff::Timestamp;
use k8s_openapi::{
    ByteString,
    api::core::v1::{ConfigMap, Secret},
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use kube::{
    Api, ResourceExt as _,
    api::{DeleteParams, Patch, Preconditions},
};
use serde_json::{Value, json};
use testplatform_apis::{
    cloud::{CERTIFICATES, CLOUDS, FINALIZER, LABEL, Order, RECORD, REPORT, Report, prefix},
    duration::GoDuration,
};
use tokio::sync::Mutex;

use super::{
    clouds::Cloud,
    identity::{self, Session},
    issuer::Issuer,
    next::{CredentialCheck, DeletionResult, IdentityError, IssuedCredential, ours},
    order::REMOVING,
    pass::CredentialBackend,
    record::{CredentialRecord, CredentialRef},
};
use crate::{
    execute::{Cause, Error, Reason, error::is_gone, limited},
    hub::{creation, patching},
    named::unless_gone,
};

/// An order at work.
pub(super) struct Worker {
    pub maps: Api<ConfigMap>,
    pub secrets: Api<Secret>,
    /// Current ConfigMap.
    pub map: ConfigMap,
    /// Current Secret.
    pub secret: Option<Secret>,
    /// Those issuers that may be needed.
    pub issuers: BTreeMap<String, Issuer>,
    pub order: Option<Order>,
    /// Uid of the composite.
    pub uid: String,
    pub patience: Duration,
    pub now: Timestamp,
    /// The one that was made last.
    pub made: Option<Cloud>,
    /// Sessions of this reconcile, by issuer.
    pub sessions: Mutex<BTreeMap<String, Arc<Session>>>,
}

impl Worker {
    fn cloud(&self, issuer: &str) -> Result<&Cloud, IdentityError> {
        match self.issuers.get(issuer).map(|issuer| &issuer.cloud) {
            Some(Ok(cloud)) => Ok(cloud),
            Some(Err(why)) => Err(IdentityError::Unusable((*why).to_owned())),
            None => Err(IdentityError::Unusable("is not there".to_owned())),
        }
    }

    async fn session(&self, issuer: &str) -> Result<Arc<Session>, IdentityError> {
        let mut sessions = self.sessions.lock().await;
        if let Some(session) = sessions.get(issuer) {
            return Ok(Arc::clone(session));
        }
        let session = Arc::new(identity::sign_in(self.cloud(issuer)?).await?);
        sessions.insert(issuer.to_owned(), Arc::clone(&session));
        Ok(session)
    }

    fn name(&self) -> String {
        self.map.name_any()
    }

    /// Whether there is one still.
    async fn patch_map(&mut self, action: &'static str, mut metadata: Value) -> Result<bool, Error> {
        // A decision on an outdated copy is refused.
        metadata["resourceVersion"] = json!(self.map.metadata.resource_version);
        let (name, patch) = (self.name(), Patch::Merge(json!({ "metadata": metadata })));
        let written = async {
            let written = self.maps.patch(&name, &patching(), &patch).await;
            Ok(unless_gone(written, &name)?)
        };
        let written = limited(action, self.patience, written).await?;
        let there = written.is_some();
        if let Some(map) = written {
            self.map = map;
        }
        Ok(there)
    }

    /// Writes a report, unless it is the stored one.
    pub async fn report(&mut self, report: &Report) -> Result<(), Error> {
        let text = serde_json::to_string(report).map_err(|_| Error {
            action: "write_cloud_report",
            reason: Reason::Bug,
            message: "a report cannot be written".into(),
        })?;
        if self.map.annotations().get(REPORT) == Some(&text) {
            return Ok(());
        }
        self.patch_map("write_cloud_report", json!({ "annotations": { REPORT: text } })).await.map(drop)
    }

    async fn write(
        &mut self,
        record: &CredentialRecord,
        data: Option<BTreeMap<String, ByteString>>,
    ) -> Result<(), Error> {
        let text = serde_json::to_string(record);
        let written = async {
            let text = text.map_err(|_| Cause::new(Reason::Bug, "a record cannot be written"))?;
            let Some(before) = &self.secret else {
                let secret = Secret {
                    metadata: ObjectMeta {
                        name: Some(self.map.name_any()),
                        labels: Some(BTreeMap::from([(LABEL.to_owned(), "true".to_owned())])),
                        annotations: Some(BTreeMap::from([(RECORD.to_owned(), text)])),
                        ..ObjectMeta::default()
                    },
                    data,
                    type_: Some("Opaque".into()),
                    ..Secret::default()
                };
                let made = self.secrets.create(&creation(), &secret).await;
                return made.map_err(|error| Cause::about_secret(&error));
            };
            let metadata = json!({
                "annotations": { RECORD: text },
                "uid": before.metadata.uid, "resourceVersion": before.metadata.resource_version,
            });
            let mut patch = json!({ "metadata": metadata });
            if let Some(data) = data {
                // Exactly this is published, without the additions of others.
                let beside =
                    before.data.iter().flat_map(BTreeMap::keys).filter(|key| !data.contains_key(*key));
                let mut whole: serde_json::Map<String, Value> =
                    beside.map(|key| (key.clone(), Value::Null)).collect();
                whole.extend(data.iter().map(|(key, value)| (key.clone(), json!(value))));
                patch["data"] = whole.into();
            }
            let patched = self.secrets.patch(&self.map.name_any(), &patching(), &Patch::Merge(patch)).await;
            patched.map_err(|error| Cause::about_secret(&error))
        };
        let secret = limited("write_cloud_credential", self.patience, written).await?;
        self.secret = Some(secret);
        Ok(())
    }
}

/// Credential that a Secret publishes.
fn published(secret: Option<&Secret>) -> Option<Cloud> {
    let data = secret?.data.as_ref()?;
    Cloud::read(&data.get(CLOUDS)?.0, data.get(CERTIFICATES).map(|pem| pem.0.as_slice())).ok()
}

impl CredentialBackend for Worker {
    async fn probe(&self) -> CredentialCheck {
        match published(self.secret.as_ref()) {
            Some(cloud) => identity::probe(&cloud).await,
            // Somebody has changed it.
            None => CredentialCheck::Invalid,
        }
    }

    async fn list(&self, issuer: &str) -> Result<Vec<CredentialRef>, IdentityError> {
        let session = self.session(issuer).await?;
        let one = |found: identity::ListedCredential| CredentialRef {
            id: found.id,
            name: found.name,
            user: session.user.clone(),
            issuer: issuer.to_owned(),
        };
        Ok(ours(&self.uid, session.list().await?.into_iter().map(one).collect()))
    }

    async fn mint(&mut self, issuer: &str, number: u32) -> Result<IssuedCredential, IdentityError> {
        let session = self.session(issuer).await?;
        let order = self.order.as_ref().ok_or_else(|| IdentityError::Unusable("has no order".to_owned()))?;
        let name = format!("{}{number}", prefix(&order.uid));
        let lasts = order.lifetime.map(GoDuration::get);
        let made = session.create(&name, &order.roles, lasts.map(|lasts| self.now + lasts)).await?;
        self.made = Some(self.cloud(issuer)?.with(made.id.clone(), made.secret));
        let one = CredentialRef { id: made.id, user: session.user.clone(), name, issuer: issuer.to_owned() };
        Ok(IssuedCredential { one, renew: lasts.map(|lasts| self.now + lasts / 2) })
    }

    async fn verify(&self, _: &IssuedCredential) -> CredentialCheck {
        match &self.made {
            Some(cloud) => identity::probe(cloud).await,
            None => CredentialCheck::Invalid,
        }
    }

    async fn remove(&self, one: &CredentialRef, others: &[String]) -> DeletionResult {
        let mut came = DeletionResult::Nobody;
        let others = others.iter().filter(|other| **other != one.issuer);
        for issuer in std::iter::once(&one.issuer).chain(others) {
            let removal = match self.session(issuer).await {
                Ok(session) => session.delete(&one.user, &one.id).await,
                Err(IdentityError::Unreachable) => DeletionResult::Unreachable,
                Err(_) => DeletionResult::Nobody,
            };
            match (removal, came) {
                (DeletionResult::Gone, _) => return DeletionResult::Gone,
                (DeletionResult::Unreachable, _) | (DeletionResult::Left, DeletionResult::Nobody) => {
                    came = removal
                }
                (DeletionResult::Left | DeletionResult::Nobody, _) => {}
            }
        }
        came
    }

    async fn hold(&mut self) -> Result<bool, Error> {
        let mut finalizers = self.map.metadata.finalizers.clone().unwrap_or_default();
        finalizers.push(FINALIZER.to_owned());
        self.patch_map("hold_cloud_credential", json!({ "finalizers": finalizers })).await
    }

    async fn mark(&mut self, removing: Option<Timestamp>) -> Result<(), Error> {
        let at = removing.map_or(Value::Null, |since| since.to_string().into());
        self.patch_map("mark_cloud_credential", json!({ "annotations": { REMOVING: at } })).await.map(drop)
    }

    async fn note(&mut self, record: &CredentialRecord) -> Result<(), Error> {
        self.write(record, None).await
    }

    async fn publish(&mut self, _: &IssuedCredential, record: &CredentialRecord) -> Result<(), Error> {
        let none = || Error {
            action: "write_cloud_credential",
            reason: Reason::Bug,
            message: "there is nothing to publish".into(),
        };
        let cloud = self.made.as_ref().ok_or_else(none)?;
        let text = cloud.write().ok_or_else(none)?;
        let mut data = BTreeMap::from([(CLOUDS.to_owned(), ByteString(text.into_bytes()))]);
        if let Some(pem) = &cloud.certificates {
            data.insert(CERTIFICATES.to_owned(), ByteString(pem.clone()));
        }
        self.write(record, Some(data)).await
    }

    async fn withdraw(&mut self) -> Result<(), Error> {
        let Some(secret) = &self.secret else { return Ok(()) };
        let name = secret.name_any();
        let this = Preconditions { uid: secret.metadata.uid.clone(), resource_version: None };
        let deleted = async {
            match self.secrets.delete(&name, &DeleteParams::default().preconditions(this)).await {
                Err(error) if is_gone(&error, &name) => Ok(()),
                other => other.map(drop).map_err(|error| Cause::about_secret(&error)),
            }
        };
        limited("withdraw_cloud_credential", self.patience, deleted).await?;
        self.secret = None;
        Ok(())
    }

    async fn release(&mut self) -> Result<(), Error> {
        let mut finalizers = self.map.metadata.finalizers.clone().unwrap_or_default();
        finalizers.retain(|one| one != FINALIZER);
        self.patch_map("release_cloud_credential", json!({ "finalizers": finalizers })).await.map(drop)
    }
}

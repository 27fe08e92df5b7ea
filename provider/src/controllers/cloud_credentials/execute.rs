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
    cloud::{
        CERTIFICATES, CLOUDS, CloudCredentialReport, CredentialRequestSpec, FINALIZER, LABEL, RECORD, REPORT,
        credential_name_prefix,
    },
    duration::GoDuration,
};
use testplatform_runtime::{
    apply::{create_params, patch_params},
    error::{Cause, Error, Reason, is_object_not_found},
    lookup::ignore_not_found,
    timeout::with_timeout,
};
use tokio::sync::Mutex;

use super::{
    clouds::Cloud,
    identity::{self, Session},
    issuer::Issuer,
    plan::{CredentialCheck, DeletionResult, IdentityError, IssuedCredential, select_ours},
    reconcile::CredentialBackend,
    record::{CredentialRecord, CredentialRef},
    request::REMOVING,
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
    pub order: Option<CredentialRequestSpec>,
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
    fn issuer_cloud(&self, issuer: &str) -> Result<&Cloud, IdentityError> {
        match self.issuers.get(issuer).map(|issuer| &issuer.cloud) {
            Some(Ok(cloud)) => Ok(cloud),
            Some(Err(why)) => Err(IdentityError::Unusable((*why).to_owned())),
            None => Err(IdentityError::Unusable("is not there".to_owned())),
        }
    }

    async fn issuer_session(&self, issuer: &str) -> Result<Arc<Session>, IdentityError> {
        let mut sessions = self.sessions.lock().await;
        if let Some(session) = sessions.get(issuer) {
            return Ok(Arc::clone(session));
        }
        let session = Arc::new(identity::sign_in(self.issuer_cloud(issuer)?).await?);
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
            let written = self.maps.patch(&name, &patch_params(), &patch).await;
            Ok(ignore_not_found(written, &name)?)
        };
        let written = with_timeout(action, self.patience, written).await?;
        let exists = written.is_some();
        if let Some(map) = written {
            self.map = map;
        }
        Ok(exists)
    }

    /// Writes a report, unless it is the stored one.
    pub async fn write_report(&mut self, report: &CloudCredentialReport) -> Result<(), Error> {
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

    async fn write_secret(
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
                let made = self.secrets.create(&create_params(), &secret).await;
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
                let mut full_data: serde_json::Map<String, Value> =
                    beside.map(|key| (key.clone(), Value::Null)).collect();
                full_data.extend(data.iter().map(|(key, value)| (key.clone(), json!(value))));
                patch["data"] = full_data.into();
            }
            let patched =
                self.secrets.patch(&self.map.name_any(), &patch_params(), &Patch::Merge(patch)).await;
            patched.map_err(|error| Cause::about_secret(&error))
        };
        let secret = with_timeout("write_cloud_credential", self.patience, written).await?;
        self.secret = Some(secret);
        Ok(())
    }
}

/// Credential that a Secret publishes.
fn published_cloud(secret: Option<&Secret>) -> Option<Cloud> {
    let data = secret?.data.as_ref()?;
    Cloud::parse_clouds_yaml(&data.get(CLOUDS)?.0, data.get(CERTIFICATES).map(|pem| pem.0.as_slice())).ok()
}

impl CredentialBackend for Worker {
    async fn probe_published(&self) -> CredentialCheck {
        match published_cloud(self.secret.as_ref()) {
            Some(cloud) => identity::probe_credential(&cloud).await,
            // Somebody has changed it.
            None => CredentialCheck::Invalid,
        }
    }

    async fn list_credentials(&self, issuer: &str) -> Result<Vec<CredentialRef>, IdentityError> {
        let session = self.issuer_session(issuer).await?;
        let one = |found: identity::ListedCredential| CredentialRef {
            id: found.id,
            name: found.name,
            user: session.user.clone(),
            issuer: issuer.to_owned(),
        };
        Ok(select_ours(&self.uid, session.list_credentials().await?.into_iter().map(one).collect()))
    }

    async fn issue_credential(
        &mut self,
        issuer: &str,
        number: u32,
    ) -> Result<IssuedCredential, IdentityError> {
        let session = self.issuer_session(issuer).await?;
        let order = self.order.as_ref().ok_or_else(|| IdentityError::Unusable("has no order".to_owned()))?;
        let name = format!("{}{number}", credential_name_prefix(&order.uid));
        let lasts = order.lifetime.map(GoDuration::as_signed);
        let made =
            session.create_credential(&name, &order.roles, lasts.map(|lasts| self.now + lasts)).await?;
        self.made = Some(self.issuer_cloud(issuer)?.with_credential(made.id.clone(), made.secret));
        let one = CredentialRef { id: made.id, user: session.user.clone(), name, issuer: issuer.to_owned() };
        Ok(IssuedCredential { one, renew: lasts.map(|lasts| self.now + lasts / 2) })
    }

    async fn verify_issued(&self, _: &IssuedCredential) -> CredentialCheck {
        match &self.made {
            Some(cloud) => identity::probe_credential(cloud).await,
            None => CredentialCheck::Invalid,
        }
    }

    async fn delete_credential(&self, one: &CredentialRef, others: &[String]) -> DeletionResult {
        let mut came = DeletionResult::Nobody;
        let others = others.iter().filter(|other| **other != one.issuer);
        for issuer in std::iter::once(&one.issuer).chain(others) {
            let removal = match self.issuer_session(issuer).await {
                Ok(session) => session.delete_credential(&one.user, &one.id).await,
                Err(IdentityError::Unreachable) => DeletionResult::Unreachable,
                Err(_) => DeletionResult::Nobody,
            };
            match (removal, came) {
                (DeletionResult::Gone, _) => return DeletionResult::Gone,
                (DeletionResult::Unreachable, _) | (DeletionResult::Left, DeletionResult::Nobody) => {
                    came = removal;
                }
                (DeletionResult::Left | DeletionResult::Nobody, _) => {}
            }
        }
        came
    }

    async fn add_finalizer(&mut self) -> Result<bool, Error> {
        let mut finalizers = self.map.metadata.finalizers.clone().unwrap_or_default();
        finalizers.push(FINALIZER.to_owned());
        self.patch_map("hold_cloud_credential", json!({ "finalizers": finalizers })).await
    }

    async fn mark_removing(&mut self, removing: Option<Timestamp>) -> Result<(), Error> {
        let at = removing.map_or(Value::Null, |since| since.to_string().into());
        self.patch_map("mark_cloud_credential", json!({ "annotations": { REMOVING: at } })).await.map(drop)
    }

    async fn write_record(&mut self, record: &CredentialRecord) -> Result<(), Error> {
        self.write_secret(record, None).await
    }

    async fn publish_issued(&mut self, _: &IssuedCredential, record: &CredentialRecord) -> Result<(), Error> {
        let none = || Error {
            action: "write_cloud_credential",
            reason: Reason::Bug,
            message: "there is nothing to publish".into(),
        };
        let cloud = self.made.as_ref().ok_or_else(none)?;
        let text = cloud.to_clouds_yaml().ok_or_else(none)?;
        let mut data = BTreeMap::from([(CLOUDS.to_owned(), ByteString(text.into_bytes()))]);
        if let Some(pem) = &cloud.certificates {
            data.insert(CERTIFICATES.to_owned(), ByteString(pem.clone()));
        }
        self.write_secret(record, Some(data)).await
    }

    async fn withdraw_secret(&mut self) -> Result<(), Error> {
        let Some(secret) = &self.secret else { return Ok(()) };
        let name = secret.name_any();
        let this = Preconditions { uid: secret.metadata.uid.clone(), resource_version: None };
        let deleted = async {
            match self.secrets.delete(&name, &DeleteParams::default().preconditions(this)).await {
                Err(error) if is_object_not_found(&error, &name) => Ok(()),
                other => other.map(drop).map_err(|error| Cause::about_secret(&error)),
            }
        };
        with_timeout("withdraw_cloud_credential", self.patience, deleted).await?;
        self.secret = None;
        Ok(())
    }

    async fn release_request(&mut self) -> Result<(), Error> {
        let mut finalizers = self.map.metadata.finalizers.clone().unwrap_or_default();
        finalizers.retain(|one| one != FINALIZER);
        self.patch_map("release_cloud_credential", json!({ "finalizers": finalizers })).await.map(drop)
    }
}

//! Observes a request for a cloud credential: its cluster, the published credential, and the issuers of its cloud.

use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::{Api, api::ListParams};
use testplatform_apis::cloud::{CredentialRequestSpec, ISSUER};
use testplatform_runtime::{
    error::{Cause, Error, Reason},
    lookup,
    timeout::with_timeout,
};

use super::{
    controller::{BACKEND, CloudController, ObservedCredentialRequest, Options, RETRY},
    execute::Worker,
    issuer::{Issuer, candidates},
    plan::{ClusterStage, ObservedCredential, StoredSecret},
    request::{CredentialRequest, stored_secret},
};
use crate::credentials::cluster_lookup::find;

impl CloudController {
    pub(super) async fn observe_request(
        &self,
        key: &str,
    ) -> Result<Option<ObservedCredentialRequest>, Error> {
        let Options { client, config, request_timeout: patience, now, .. } = &self.options;
        let (namespace, name) = key.split_once('/').unwrap_or_default();
        let maps: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
        let get = async { lookup::get_opt(&maps, name).await.map_err(Cause::from) };
        let Some(found) = with_timeout("get_cloud_order", *patience, get).await? else { return Ok(None) };
        let uid = found.metadata.uid.clone();
        let map = CredentialRequest::from_config_map(&found);
        let secrets: Api<Secret> = Api::namespaced(client.clone(), namespace);
        let get =
            async { lookup::get_opt(&secrets, name).await.map_err(|error| Cause::about_secret(&error)) };
        let secret = with_timeout("get_cloud_credential", *patience, get).await?;
        let order = map.order.as_ref().ok();
        let stored = stored_secret(secret.as_ref(), order);
        let (issuers, unread) = match self.read_issuers(order).await {
            Ok(issuers) => (issuers, false),
            // The published credential is still checked. Teardown of the cluster waits no longer than for an unresponsive identity service.
            Err(error) if error.reason == Reason::Forbidden => {
                self.record_failure(key, &error);
                (Vec::new(), true)
            }
            Err(error) => return Err(error),
        };
        let observed = ObservedCredential {
            order: map.order.clone(),
            stage: self.cluster_stage(namespace, &map).await?,
            holds: map.holds,
            deleted: map.deleted.is_some(),
            removing: map.removing,
            issuers: order.map(|order| candidates(&issuers, order)).unwrap_or_default(),
            unread,
            stored,
            probe: Duration::try_from(config.cloud_credentials.probe.as_signed()).unwrap_or(RETRY),
            grace: config.cloud_credentials.grace.as_signed(),
        };
        let record_uid = match &observed.stored {
            StoredSecret::Ours { record, .. } => Some(record.uid.clone()),
            StoredSecret::Absent | StoredSecret::Foreign => None,
        };
        let worker = Worker {
            maps,
            secrets,
            map: found,
            secret,
            issuers: issuers.into_iter().map(|issuer| (issuer.name.clone(), issuer)).collect(),
            uid: order.map(|order| order.uid.clone()).or(record_uid).unwrap_or_default(),
            order: order.cloned(),
            patience: *patience,
            now: now(),
            made: None,
            sessions: tokio::sync::Mutex::default(),
        };
        Ok(Some(ObservedCredentialRequest { uid, observed, worker, report: map.report }))
    }

    /// Stage of the cluster's life. Only this kind of clusters has cloud credentials, so it is also assumed for an unreadable request.
    async fn cluster_stage(&self, namespace: &str, map: &CredentialRequest) -> Result<ClusterStage, Error> {
        let Options { client, request_timeout: patience, .. } = &self.options;
        Ok(match find(client, *patience, BACKEND, namespace, &map.cluster).await? {
            None => map.deleted.map_or(ClusterStage::Here, ClusterStage::Gone),
            Some(cluster) if cluster.is_deleted() => ClusterStage::Going,
            Some(_) if map.deleted.is_some() => ClusterStage::Going,
            Some(_) => ClusterStage::Here,
        })
    }

    /// Issuers of the cloud; all of them if the request cannot be read: their credentials have to be deleted.
    async fn read_issuers(&self, order: Option<&CredentialRequestSpec>) -> Result<Vec<Issuer>, Error> {
        let namespace = &self.options.config.cloud_credentials.issuers_namespace;
        let all: Api<Secret> = Api::namespaced(self.options.client.clone(), namespace);
        let label = order.map_or_else(|| ISSUER.to_owned(), |order| format!("{ISSUER}={}", order.cloud));
        let list = async {
            all.list(&ListParams::default().labels(&label)).await.map_err(|error| Cause::about_secret(&error))
        };
        let found = with_timeout("list_cloud_issuers", self.options.request_timeout, list).await?;
        Ok(found.items.iter().map(Issuer::from_secret).collect())
    }
}

//! Controller of claims that bring their own credentials: maps events to claims, and reconciles each.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::{
    Api, Client, ResourceExt as _,
    core::{ApiResource, GroupVersionKind},
    runtime::watcher,
};
use testplatform_apis::{
    byoc::{HUB_SECRET_NAMES, REQUEST, SecretSyncReport},
    names::ours,
};
use testplatform_runtime::{
    client::Trust,
    error::{Cause, Error, Reason, is_forbidden},
    lookup,
    running::Running,
    timeout::with_timeout,
    watch::{Health, track},
    workqueue::{Action, Concurrency, DEBOUNCE, run_queue},
};
use tokio::{
    sync::mpsc::{UnboundedSender, unbounded_channel},
    time::Instant,
};

use super::{
    execute::{self, Content},
    hubs::Hubs,
    metrics::{SecretAction, SecretSyncMetrics},
    plan::{FOREIGN, SecretState, SyncRequest, plan},
    state::{SecretSyncGauge, SecretSyncState, new_gauge},
};
use crate::{
    config::{Carried, Carry},
    credentials::publish::write::write_annotations,
    sparse_object::{PAGE, PartialObject},
};

/// Requests that wait for a hub do not delay requests for another.
const PACE: Concurrency = Concurrency { max_concurrent_reconciles: 32, debounce: DEBOUNCE };
/// How long a look may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// However quiet it is: what somebody took away on the hub, where nothing is read, is written again within this time.
const NET: Duration = Duration::from_mins(10);

/// Options of the controller.
#[derive(Clone)]
pub struct Options {
    /// The cluster of the tenants.
    pub client: Client,
    /// Secrets to copy, and their target hubs.
    pub config: Carry,
    /// By whom the hubs are vouched for.
    pub trust: Trust,
    /// The clock.
    pub now: fn() -> Timestamp,
}

/// When everything was last written, and which state of each Secret, by the field that names it.
type Written = (Instant, BTreeMap<String, String>);

/// State of the controller.
struct SecretSyncController {
    client: Client,
    hubs: Hubs,
    now: fn() -> Timestamp,
    poll: Duration,
    metrics: Arc<SecretSyncMetrics>,
    gauge: Arc<SecretSyncGauge>,
    requests: Mutex<BTreeMap<String, SyncRequest>>,
    /// By claim.
    written: Mutex<BTreeMap<String, Written>>,
    /// By claim: the hub and the namespace that do not let us in, as it was logged.
    shut: Mutex<BTreeMap<String, String>>,
}

/// Runs until `stop`; what has begun is finished.
pub fn run(options: Options, metrics: Arc<SecretSyncMetrics>, stop: Running) -> Running {
    Box::pin(run_until(options, metrics, stop))
}

async fn run_until(options: Options, metrics: Arc<SecretSyncMetrics>, stop: Running) {
    let Options { client, config, trust, now } = options;
    let flavours = config.flavours.clone();
    let states = Arc::new(new_gauge(&flavours));
    metrics.attach_carries(&states);
    let controller = SecretSyncController {
        client,
        now,
        gauge: states,
        poll: Duration::try_from(config.poll.as_signed()).unwrap_or(NET),
        hubs: Hubs::new(config, trust),
        metrics,
        requests: Mutex::default(),
        written: Mutex::default(),
        shut: Mutex::default(),
    };
    let (sender, happened) = unbounded_channel();
    let watches = futures_util::future::join_all(
        flavours
            .iter()
            .zip(&controller.gauge.health)
            .map(|(flavour, health)| controller.watch_composites(*flavour, health, sender.clone())),
    );
    let looking = run_queue(
        happened,
        PACE,
        controller.metrics.runtime(),
        async |name: String| controller.reconcile(&name).await,
        stop,
    );
    tokio::select! {
        _ = watches => {}
        () = looking => {}
    }
}

impl SecretSyncController {
    /// Composites of one flavour. Which of them bring credentials is in their spec, so it is not their metadata alone that is read; what does not
    /// matter of them is forgotten at once.
    async fn watch_composites(&self, flavour: Carried, health: &Health, sender: UnboundedSender<String>) {
        let (kind, plural) = flavour.kind();
        let kind = GroupVersionKind::gvk("ci.openshift.org", "v1alpha1", kind);
        let api: Api<PartialObject> =
            Api::all_with(self.client.clone(), &ApiResource::from_gvk_with_plural(&kind, plural));
        let key = |object: &PartialObject| {
            format!("{plural}/{}/{}", object.namespace().unwrap_or_default(), object.name_any())
        };
        let on_apply = |key: &str, object: &PartialObject| {
            let order =
                SyncRequest::from_composite(&object.name_any(), object.namespace().as_deref(), &object.body);
            let changed = match order {
                Some(order) => {
                    self.lock_requests().insert(key.to_owned(), order.clone()).is_none_or(|old| old != order)
                }
                None => self.lock_requests().remove(key).inspect(|_| self.gauge.record(key, None)).is_some(),
            };
            if changed {
                let _ = sender.send(key.to_owned());
            }
        };
        let paged = watcher::Config::default().page_size(PAGE);
        track(api, paged, health, key, on_apply, |key| self.forget_claim(key)).await;
    }

    /// The composite's Objects delete the namespace on the hub, and with it all copies.
    fn forget_claim(&self, key: &str) {
        self.lock_requests().remove(key);
        self.gauge.record(key, None);
        self.lock_written().remove(key);
        self.shut.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
    }

    /// Reconciles a claim, and returns the next action.
    async fn reconcile(&self, key: &str) -> Action {
        let Some(order) = self.lock_requests().get(key).cloned() else { return Action::AwaitChange };
        let (standing, next) =
            match with_timeout("carry_secrets", PATIENCE, self.reconcile_claim(key, &order)).await {
                Ok((standing, next)) => {
                    self.metrics.count_sync(standing, (self.now)());
                    (standing, next)
                }
                Err(Error { action, reason, message }) => {
                    self.metrics.runtime().failed(action, reason.as_str());
                    self.metrics.count_failed_sync(reason);
                    tracing::warn!(claim = key, error = message, "Secrets could not be carried");
                    (SecretSyncState::Failing, Action::Failed)
                }
            };
        // The object may be deleted meanwhile, and nothing would forget it then.
        if self.lock_requests().contains_key(key) {
            self.gauge.record(key, Some(standing));
        } else {
            self.forget_claim(key);
        }
        next
    }

    /// Syncs one claim; returns its state and the next action.
    async fn reconcile_claim(
        &self,
        key: &str,
        order: &SyncRequest,
    ) -> Result<(SecretSyncState, Action), Cause> {
        // Nothing is watched on the hub, and what is missing there may be missing for days.
        let unmade = if order.over {
            (SecretSyncState::Removed, Action::AwaitChange)
        } else {
            (SecretSyncState::Waiting, Action::Backoff)
        };
        let (Some(hub), Some(namespace)) = (&order.hub, &order.namespace) else {
            return Ok((unmade.0, Action::AwaitChange));
        };
        let client = self.hubs.client(hub).await?;
        let maps: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
        let found = lookup::get_opt(&maps, REQUEST).await;
        self.log_access_denied(key, &format!("{hub}/{namespace}"), found.as_ref().err());
        let map = match found {
            Ok(Some(map)) => map,
            // Not created yet, or deleted for good.
            Ok(None) => return Ok(unmade),
            // We have no permission yet, or not any more.
            Err(error) if is_forbidden(&error) => return Ok(unmade),
            Err(error) => return Err(Cause::from(error).at("the hub")),
        };
        let data = map.data.clone().unwrap_or_default();
        if !order.owns(&data) {
            return Err(Cause::new(Reason::Foreign, FOREIGN));
        }
        if order.over {
            for name in HUB_SECRET_NAMES {
                if execute::remove_copy(&client, namespace, name).await? {
                    self.metrics.count_secret_action(SecretAction::Removed);
                }
            }
            tracing::info!(claim = key, "removed the Secrets of a cluster that is gone");
            self.lock_written().remove(key);
            return Ok((SecretSyncState::Removed, Action::AwaitChange));
        }
        let note = map.metadata.annotations.as_ref().and_then(|notes| notes.get(ours::BYOC_REPORT));
        let before = note.and_then(|note| SecretSyncReport::from_annotation(note));
        let parcels = match order.requested_copies(&data) {
            Ok(parcels) => parcels,
            Err(why) => {
                let carried = before.is_some_and(|before| before.carried);
                let report =
                    SecretSyncReport { carried, refused: Some(why.clone()), ..SecretSyncReport::default() };
                write_report(&maps, &map, key, &report).await?;
                return Err(Cause::new(Reason::Foreign, why));
            }
        };
        let secrets: Api<Secret> = Api::namespaced(self.client.clone(), &order.tenant);
        let (mut found, mut contents) =
            (BTreeMap::<String, SecretState>::new(), BTreeMap::<String, Content>::new());
        for parcel in &parcels {
            let (state, content) = execute::read_secret(&secrets, parcel).await?;
            found.insert(parcel.field.clone(), state);
            contents.insert(parcel.field.clone(), content);
        }
        let remembered = self.lock_written().get(key).filter(|(at, _)| at.elapsed() < NET).cloned();
        // Another process may have begun: without a report nothing was written into this very namespace.
        let (at, mut written) =
            remembered.filter(|_| before.is_some()).unwrap_or_else(|| (Instant::now(), BTreeMap::new()));
        let step = plan(&parcels, &found, &written, before.as_ref());
        for parcel in parcels.iter().filter(|parcel| step.write.contains(&parcel.field)) {
            let content = contents.remove(&parcel.field).unwrap_or_default();
            execute::write_copy(&client, namespace, &parcel.to, content).await?;
            self.metrics.count_secret_action(SecretAction::Written);
            if let Some(SecretState::Whole(revision)) = found.get(&parcel.field) {
                written.insert(parcel.field.clone(), revision.clone());
            }
        }
        self.lock_written().insert(key.to_owned(), (at, written));
        write_report(&maps, &map, key, &step.report).await?;
        Ok((step.sync_state(), Action::RequeueAfter(self.poll)))
    }

    /// Logs once per claim and change that a hub denies access: it resolves itself when the claim's Objects are created, and otherwise needs
    /// attention.
    fn log_access_denied(&self, key: &str, place: &str, error: Option<&kube::Error>) {
        let mut shut = self.shut.lock().unwrap_or_else(PoisonError::into_inner);
        if !error.is_some_and(is_forbidden) {
            shut.remove(key);
        } else if shut.insert(key.to_owned(), place.to_owned()).is_none_or(|before| before != place) {
            tracing::warn!(
                claim = key,
                place,
                "the hub does not let the carrier into the claim's namespace yet"
            );
        }
    }

    fn lock_requests(&self) -> MutexGuard<'_, BTreeMap<String, SyncRequest>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_written(&self) -> MutexGuard<'_, BTreeMap<String, Written>> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writes what the claim is to know, if it is not known yet.
async fn write_report(
    maps: &Api<ConfigMap>,
    map: &ConfigMap,
    key: &str,
    report: &SecretSyncReport,
) -> Result<(), Cause> {
    let text = report.to_annotation().map_err(|_| Cause::new(Reason::Bug, "a report cannot be written"))?;
    if write_annotations(maps, &map.metadata, [(ours::BYOC_REPORT, Some(text))]).await? {
        tracing::info!(claim = key, carried = report.carried, secrets = ?report.secrets, refused = report.refused, "told");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use http::{Request, Response, StatusCode};
    use kube::client::Body;
    use prometheus_client::registry::Registry;
    use tokio::time::sleep;

    use super::*;

    fn encode_metrics(metrics: &SecretSyncMetrics) -> String {
        let (mut registry, mut text) = (Registry::default(), String::new());
        metrics.register(&mut registry);
        metrics.runtime().register(&mut registry);
        metrics.refresh_carries();
        prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
        text
    }

    const KEY: &str = "xtestplatformclusters//one";
    const HUB: &str = "hive-1";

    fn controller(client: Client, hub: Client) -> SecretSyncController {
        let order = SyncRequest {
            name: "one".into(),
            tenant: "a".into(),
            hub: Some(HUB.into()),
            namespace: Some("byoc-one".into()),
            brings: vec![],
            over: false,
        };
        let controller = SecretSyncController {
            client,
            hubs: Hubs::one(HUB, hub),
            now: || Timestamp::UNIX_EPOCH,
            poll: NET,
            metrics: Arc::new(SecretSyncMetrics::default()),
            gauge: Arc::new(new_gauge(&[Carried::Claims])),
            requests: Mutex::new(BTreeMap::from([(KEY.to_owned(), order)])),
            written: Mutex::default(),
            shut: Mutex::default(),
        };
        controller.metrics.attach_carries(&controller.gauge);
        controller
    }

    /// Its namespace is not made there, or does not let the carrier in.
    #[tokio::test(start_paused = true)]
    async fn a_hub_that_is_not_ready_is_asked_less_and_less_often() {
        let absent = format!(
            r#"{{ "kind": "Status", "status": "Failure", "code": 404, "reason": "NotFound",
                "details": {{ "name": "{REQUEST}", "kind": "configmaps" }} }}"#
        );
        let shut = r#"{ "kind": "Status", "status": "Failure", "code": 403, "reason": "Forbidden" }"#;
        for (code, text) in [(StatusCode::NOT_FOUND, &*absent), (StatusCode::FORBIDDEN, shut)] {
            let (start, text) = (Instant::now(), text.to_owned());
            let asked = Arc::new(Mutex::new(Vec::new()));
            let log = Arc::clone(&asked);
            let service = tower::service_fn(move |_: Request<Body>| {
                log.lock().unwrap().push(start.elapsed().as_secs());
                let mut answer = Response::new(Body::from(text.clone().into_bytes()));
                *answer.status_mut() = code;
                async move { Ok::<_, Infallible>(answer) }
            });
            let hub = Client::new(service, "default");
            let controller = controller(hub.clone(), hub);
            let (sender, happened) = unbounded_channel();
            sender.send(KEY.to_owned()).unwrap();
            let stop = sleep(Duration::from_secs(130));
            run_queue(
                happened,
                PACE,
                controller.metrics.runtime(),
                async |name: String| controller.reconcile(&name).await,
                stop,
            )
            .await;
            assert_eq!(*asked.lock().unwrap(), [0, 5, 15, 35, 65, 95, 125], "{code}");
            let told = encode_metrics(&controller.metrics);
            for line in [r#"carry_count{state="waiting"} 1"#, r#"carry_looks_total{outcome="failing"} 0"#] {
                assert!(told.contains(line), "{line}: {told}");
            }
        }
    }
}

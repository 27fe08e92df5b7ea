//! Controller of spaces: maps events to spaces, and reconciles each.

use std::{sync::Arc, time::Duration};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Namespace, Secret};
use kube::{
    Api, Resource, ResourceExt as _,
    core::PartialObjectMeta,
    runtime::watcher::{self, Event},
};
use serde::de::DeserializeOwned;
use testplatform_apis::{
    names::ours,
    space::{NAMESPACE_TYPE, NAMESPACE_TYPE_VALUE},
};
use testplatform_runtime::{
    controller::{self, Running},
    error::{Cause, Error},
    reconcile::{Action, Reconciler},
    watch::{Health, keep_watching},
    workqueue::{DEBOUNCE, RequestQueue, Settings},
};

use super::{
    execute::{PublicApiServer, issue, record_revision},
    metrics::SpaceMetrics,
    observe::{self, KIND, owner},
    plan::{Space, SpacePlan, plan},
    state::{SpaceGauge, SpaceState, new_gauge},
};
use crate::{
    config::Spaces,
    credentials::{
        Published, SUFFIX,
        account::guest_limiter::GuestLimiter,
        publish::{CredentialsNamespace, Labelled, write::delete_orphaned_secret},
    },
};

/// Time limit of a reconcile.
const RECONCILE_TIMEOUT: Duration = Duration::from_secs(20);
const SETTINGS: Settings = Settings::uncached("spaces", 4).with_timeout("look_at_space", RECONCILE_TIMEOUT);
/// However quiet it is: certificates that change are handed on within this time.
const NET: Duration = Duration::from_mins(10);

/// Options of the controller.
pub type Options = controller::Options<Spaces>;

/// State of the controller.
struct SpaceController {
    vault: CredentialsNamespace,
    config: Spaces,
    now: fn() -> Timestamp,
    queue: RequestQueue<String>,
    gauge: Arc<SpaceGauge>,
    metrics: Arc<SpaceMetrics>,
    callers: GuestLimiter,
}

/// Runs until `stop`; what has begun is finished.
pub fn run(options: Options, metrics: Arc<SpaceMetrics>, stop: Running) -> Running {
    Box::pin(async move { controller::run(&SpaceController::new(options, metrics), stop).await })
}

/// A namespace and the Secret of its name.
struct ObservedSpace {
    namespace: Option<PartialObjectMeta<Namespace>>,
    secret: Option<PartialObjectMeta<Secret>>,
    /// Certificates of the API server, and the fingerprint of the inputs of new credentials. None: none are requested.
    inputs: Option<(Vec<u8>, String)>,
}

impl ObservedSpace {
    fn space(&self) -> Option<Space> {
        self.namespace.as_ref().map(observe::space)
    }

    /// Owner of the Secret, if it was published for a space.
    fn published_for(&self) -> Option<Labelled<'_>> {
        self.secret.as_ref().and_then(|secret| Labelled::of(&secret.metadata, "", KIND))
    }

    /// The same, if that space does not exist any more.
    fn orphaned_by(&self) -> Option<Labelled<'_>> {
        let uid =
            self.namespace.as_ref().map(|namespace| namespace.metadata.uid.as_deref().unwrap_or_default());
        self.published_for().filter(|owner| owner.is_orphaned(uid))
    }
}

/// Plan for a space and the Secret of its name.
enum SpaceStep {
    /// Delete the Secret of the space with this uid.
    Withdraw(String),
    /// Nothing: no credentials are requested.
    Leave,
    /// Publish what is requested.
    Publish(Space, SpacePlan, Published),
}

impl Reconciler for SpaceController {
    type Key = String;
    type Observed = ObservedSpace;
    type Plan = SpaceStep;
    type Error = Cause;

    fn kind(&self, _key: &Self::Key) -> &'static str {
        KIND
    }

    fn uid<'o>(&self, observed: &'o ObservedSpace) -> Option<&'o str> {
        observed.namespace.as_ref()?.metadata.uid.as_deref()
    }

    fn request_queue(&self) -> &RequestQueue<String> {
        &self.queue
    }

    async fn watch(&self) {
        tokio::join!(self.watch_namespaces(), self.watch_secrets());
    }

    async fn observe(&self, name: &String, _bypass_caches: bool) -> Result<Option<ObservedSpace>, Cause> {
        let (namespace, secret) = observe::read(&self.vault, name).await?;
        let mut observed = ObservedSpace { namespace, secret, inputs: None };
        let is_requested = observed.space().is_some_and(|space| space.requested && !space.is_deleted);
        if is_requested && observed.orphaned_by().is_none() {
            let certificates = observe::certificates(&self.vault, &self.config).await?;
            let origin = observe::origin(self.server(), &certificates);
            observed.inputs = Some((certificates, origin));
        }
        Ok(Some(observed))
    }

    fn plan(&self, observed: &ObservedSpace) -> SpaceStep {
        if let Some(owner) = observed.orphaned_by() {
            return SpaceStep::Withdraw(owner.uid.to_owned());
        }
        let (Some(space), Some((_, origin))) = (observed.space(), &observed.inputs) else {
            return SpaceStep::Leave;
        };
        let secret = observed.secret.as_ref().map(|secret| &secret.metadata);
        let published = owner("", &space.uid).published_state(secret);
        let lifetime = self.config.token_lifetime.as_signed();
        let plan = plan(Some(&space), &published, origin, lifetime, (self.now)());
        SpaceStep::Publish(space, plan, published)
    }

    async fn execute(
        &self,
        name: &String,
        observed: ObservedSpace,
        step: SpaceStep,
    ) -> Result<Action, Cause> {
        let (space, plan, published) = match step {
            SpaceStep::Withdraw(uid) => return self.withdraw(name, &observed, &uid).await,
            SpaceStep::Leave => {
                self.gauge.record(name, None);
                // The published Secret is removed with the namespace. No event reports the final removal of the namespace.
                return Ok(observed.published_for().map(|_| NET).into());
            }
            SpaceStep::Publish(space, plan, published) => (space, plan, published),
        };
        let now = (self.now)();
        let state = if published == Published::Absent { SpaceState::Waiting } else { SpaceState::Published };
        match (plan, observed.inputs, &observed.namespace) {
            (SpacePlan::Issue, Some((certificates, origin)), _) => {
                let site = PublicApiServer { server: self.server(), certificates: &certificates, origin };
                let stamp = issue(&self.vault, &self.config, &site, (name, &space.uid), now).await?;
                self.metrics.issued_token();
                tracing::info!(namespace = name, expires = %stamp.expires, "credentials published");
                self.gauge.record(name, Some(state));
                Ok(Action::RequeueAfter(DEBOUNCE))
            }
            (SpacePlan::Note(revision), _, Some(namespace)) => {
                record_revision(&self.vault, namespace, revision).await?;
                Ok(Action::RequeueAfter(DEBOUNCE))
            }
            (SpacePlan::Wait(until), ..) => {
                self.gauge.record(name, Some(SpaceState::Published));
                let remaining = Duration::try_from(until.duration_since(now)).unwrap_or(Duration::ZERO);
                Ok(Action::RequeueAfter(remaining.min(NET)))
            }
            (SpacePlan::Blocked(whose), ..) => {
                self.gauge.record(name, Some(SpaceState::Blocked));
                tracing::warn!(
                    namespace = name,
                    whose,
                    "credentials not published: the name of the Secret is taken"
                );
                Ok(Action::RequeueAfter(NET))
            }
            (SpacePlan::Nothing | SpacePlan::Issue | SpacePlan::Note(_), ..) => Ok(Action::AwaitChange),
        }
    }

    fn error_policy(&self, name: &String, error: &Error) -> Action {
        self.gauge.record(name, Some(SpaceState::Failing));
        self.queue.settings().retry.after(error.reason)
    }
}

impl SpaceController {
    fn new(Options { client, config, now, .. }: Options, metrics: Arc<SpaceMetrics>) -> Self {
        let gauge = Arc::new(new_gauge());
        metrics.attach_spaces(&gauge);
        let vault = CredentialsNamespace::new(client, &config.credentials_namespace);
        let (queue, callers) =
            (RequestQueue::new(SETTINGS, metrics.runtime_metrics()), GuestLimiter::default());
        Self { vault, config, now, queue, gauge, metrics, callers }
    }

    /// URL of the API server for tenants.
    fn server(&self) -> &str {
        self.config.api_server.as_deref().unwrap_or_default()
    }

    /// Those of spaces, whole or not: one that loses the label of those that are whole concerns us too.
    async fn watch_namespaces(&self) {
        let api: Api<PartialObjectMeta<Namespace>> = Api::all(self.vault.client());
        let labels = format!("{NAMESPACE_TYPE}={NAMESPACE_TYPE_VALUE}");
        keep_names(api, &labels, &self.gauge.health[0], |name| self.queue.push(name)).await;
    }

    /// Watches published Secrets: somebody may delete one, or a namespace may have vanished while nobody watched.
    async fn watch_secrets(&self) {
        let api: Api<PartialObjectMeta<Secret>> = self.vault.secrets_metadata();
        let labels = format!("{}={KIND}", ours::OWNER_KIND);
        keep_names(api, &labels, &self.gauge.health[1], |name| {
            if let Some(namespace) = name.strip_suffix(SUFFIX) {
                self.queue.push(namespace);
            }
        })
        .await;
    }

    /// Deletes the Secret of a space that does not exist any more.
    async fn withdraw(&self, name: &str, observed: &ObservedSpace, uid: &str) -> Result<Action, Cause> {
        if observed.secret.as_ref().is_some_and(|secret| secret.metadata.deletion_timestamp.is_some()) {
            // A finalizer blocks it. Its deletion causes an event.
            self.gauge.record(name, None);
            return Ok(Action::RequeueAfter(NET));
        }
        let secret = owner(name, "").secret_name();
        delete_orphaned_secret(&self.vault, &secret, ("", KIND), uid, &self.callers).await?;
        tracing::info!(namespace = name, "credentials removed: the space is deleted");
        Ok(Action::RequeueAfter(DEBOUNCE))
    }
}

async fn keep_names<K>(api: Api<K>, labels: &str, health: &Health, mut on: impl FnMut(String))
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + std::fmt::Debug + Send + 'static,
{
    keep_watching(api, watcher::Config::default().labels(labels), health, |event| match event {
        Event::Apply(object) | Event::InitApply(object) | Event::Delete(object) => on(object.name_any()),
        Event::Init | Event::InitDone => {}
    })
    .await;
}

#[cfg(test)]
mod tests;

//! Controller of spaces: maps events to spaces, and reconciles each.

use std::{sync::Arc, time::Duration};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Namespace, Secret};
use kube::{
    Api, Client, Resource, ResourceExt as _,
    core::PartialObjectMeta,
    runtime::watcher::{self, Event},
};
use serde::de::DeserializeOwned;
use testplatform_apis::{
    names::ours,
    space::{NAMESPACE_TYPE, NAMESPACE_TYPE_VALUE},
};
use testplatform_runtime::{
    error::{Cause, Error, Reason},
    running::Running,
    timeout::with_timeout,
    watch::{Health, keep_watching},
    workqueue::{Action, Concurrency, DEBOUNCE, run_queue},
};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use super::{
    execute::{PublicApiServer, issue, record_revision},
    metrics::SpaceMetrics,
    observe::{self, KIND, owner},
    plan::{SpacePlan, plan},
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

/// Concurrency of the cleanup.
const PACE: Concurrency = Concurrency { max_concurrent_reconciles: 4, debounce: DEBOUNCE };
/// How long a look may take.
const PATIENCE: Duration = Duration::from_secs(20);
/// However quiet it is: certificates that change are handed on within this time.
const NET: Duration = Duration::from_mins(10);

/// Options of the controller.
#[derive(Clone)]
pub struct Options {
    /// The hub.
    pub client: Client,
    /// Credentials to publish, and their target namespace.
    pub config: Spaces,
    /// The clock.
    pub now: fn() -> Timestamp,
}

/// State of the controller.
struct SpaceController {
    vault: CredentialsNamespace,
    config: Spaces,
    now: fn() -> Timestamp,
    gauge: Arc<SpaceGauge>,
    metrics: Arc<SpaceMetrics>,
    callers: GuestLimiter,
}

/// Runs until `stop`; what has begun is finished.
pub fn run(options: Options, metrics: Arc<SpaceMetrics>, stop: Running) -> Running {
    Box::pin(run_until(options, metrics, stop))
}

async fn run_until(options: Options, metrics: Arc<SpaceMetrics>, stop: Running) {
    let gauge = Arc::new(new_gauge());
    metrics.attach_spaces(&gauge);
    let Options { client, config, now } = options;
    let vault = CredentialsNamespace::new(client, &config.credentials_namespace);
    let controller = SpaceController { vault, config, now, gauge, metrics, callers: GuestLimiter::default() };
    let (sender, happened) = unbounded_channel();
    let watches = async {
        tokio::join!(controller.watch_namespaces(sender.clone()), controller.watch_secrets(sender.clone()));
    };
    let looking = run_queue(
        happened,
        PACE,
        controller.metrics.runtime(),
        async |name: String| controller.reconcile(&name).await,
        stop,
    );
    tokio::select! {
        () = watches => {}
        () = looking => {}
    }
}

impl SpaceController {
    /// Those of spaces, whole or not: one that loses the label of those that are whole concerns us too.
    async fn watch_namespaces(&self, sender: UnboundedSender<String>) {
        let api: Api<PartialObjectMeta<Namespace>> = Api::all(self.vault.client());
        let labels = format!("{NAMESPACE_TYPE}={NAMESPACE_TYPE_VALUE}");
        keep_names(api, &labels, &self.gauge.health[0], |name| {
            let _ = sender.send(name);
        })
        .await;
    }

    /// Watches published Secrets: somebody may delete one, or a namespace may have vanished while nobody watched.
    async fn watch_secrets(&self, sender: UnboundedSender<String>) {
        let api: Api<PartialObjectMeta<Secret>> = self.vault.secrets_metadata();
        let labels = format!("{}={KIND}", ours::OWNER_KIND);
        keep_names(api, &labels, &self.gauge.health[1], |name| {
            if let Some(namespace) = name.strip_suffix(SUFFIX) {
                let _ = sender.send(namespace.to_owned());
            }
        })
        .await;
    }

    /// Reconciles a space, and returns the next action.
    async fn reconcile(&self, name: &str) -> Action {
        let pass = async { self.reconcile_space(name).await };
        match with_timeout("look_at_space", PATIENCE, pass).await {
            Ok(after) => after.into(),
            Err(Error { action, reason, message }) => {
                self.gauge.record(name, Some(SpaceState::Failing));
                self.metrics.runtime().failed(action, reason.as_str());
                tracing::warn!(namespace = name, error = message, "a look at a space failed");
                if reason == Reason::Conflict { Action::RequeueAfter(DEBOUNCE) } else { Action::Failed }
            }
        }
    }

    async fn reconcile_space(&self, name: &str) -> Result<Option<Duration>, Cause> {
        let (namespace, secret) = observe::read(&self.vault, name).await?;
        let space = namespace.as_ref().map(observe::space);
        let uid = space.as_ref().map(|space| space.uid.as_str());
        let labelled = secret.as_ref().and_then(|s| Labelled::of(&s.metadata, "", KIND));
        if let Some(gone) = labelled.filter(|owner| owner.is_orphaned(uid)) {
            if secret.as_ref().is_some_and(|secret| secret.metadata.deletion_timestamp.is_some()) {
                // A finalizer blocks it. Its deletion causes an event.
                self.gauge.record(name, None);
                return Ok(Some(NET));
            }
            let secret = owner(name, "").secret_name();
            delete_orphaned_secret(&self.vault, &secret, ("", KIND), gone.uid, &self.callers).await?;
            tracing::info!(namespace = name, "removed the credentials of a space that is gone");
            return Ok(Some(DEBOUNCE));
        }
        let requested = space.as_ref().filter(|space| space.requested && !space.is_deleted);
        let (Some(space), Some(namespace)) = (requested, namespace.as_ref()) else {
            self.gauge.record(name, None);
            // The published Secret is removed with the namespace. No event reports the final removal of the namespace.
            return Ok(labelled.map(|_| NET));
        };
        let published = owner(name, &space.uid).published_state(secret.as_ref().map(|s| &s.metadata));
        let server = self.config.api_server.as_deref().unwrap_or_default();
        let certificates = observe::certificates(&self.vault, &self.config).await?;
        let origin = observe::origin(server, &certificates);
        let now = (self.now)();
        let standing =
            if published == Published::Absent { SpaceState::Waiting } else { SpaceState::Published };
        match plan(Some(space), &published, &origin, self.config.token_lifetime.as_signed(), now) {
            SpacePlan::Nothing => Ok(None),
            SpacePlan::Issue => {
                let site = PublicApiServer { server, certificates: &certificates, origin };
                let stamp = issue(&self.vault, &self.config, &site, (name, &space.uid), now).await?;
                self.metrics.issued_token();
                tracing::info!(namespace = name, expires = %stamp.expires, "published credentials");
                self.gauge.record(name, Some(standing));
                Ok(Some(DEBOUNCE))
            }
            SpacePlan::Note(revision) => {
                record_revision(&self.vault, namespace, revision).await?;
                Ok(Some(DEBOUNCE))
            }
            SpacePlan::Wait(until) => {
                self.gauge.record(name, Some(SpaceState::Published));
                let remaining = Duration::try_from(until.duration_since(now)).unwrap_or(Duration::ZERO);
                Ok(Some(remaining.min(NET)))
            }
            SpacePlan::Blocked(whose) => {
                self.gauge.record(name, Some(SpaceState::Blocked));
                tracing::warn!(namespace = name, whose, "the name of its Secret is taken");
                Ok(Some(NET))
            }
        }
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

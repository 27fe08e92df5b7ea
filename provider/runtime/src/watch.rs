//! Self-restarting watch, and its health.
//!
//! After an error everything is listed again, although a watch could be resumed: only a complete list proves that a cache is current again, and
//! decisions on a cache must know that.
//!
//! **Libraries.** The watch is kube's `watcher`. Its backoff starts again after two minutes without an error, whether or not a list was completed;
//! the delay here starts again after a watch that ran well.

use std::{
    collections::BTreeSet,
    fmt::Debug,
    pin::pin,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures_util::StreamExt as _;
use kube::{
    Api, Resource,
    api::ListParams,
    runtime::watcher::{self, Event, watcher},
};
use serde::de::DeserializeOwned;
use tokio::time::{Instant, sleep, timeout};

use crate::error::plain_message;

/// How often somebody asks whether the other side is still there. A connection that was cut without a word would
/// otherwise be noticed only when the watch has had its time, after five minutes.
const PROBE: Duration = Duration::from_mins(1);
/// Time without events after which everything is listed again, in case one was missed. A safety net only.
const QUIET: Duration = Duration::from_mins(30);
/// How long a page of a list may take.
const PAGE: Duration = Duration::from_mins(1);
/// Selects nothing: no object has such a name.
const NOBODY: &str = "metadata.name=NOBODY";
/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long a watch has to run to count as one that does. Where listing works and watching does not, each list would else look
/// like a recovery.
const SETTLES: Duration = Duration::from_secs(10);
/// Between two tries, doubled each time.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(30));

/// Whether a watch runs.
#[derive(Debug)]
pub struct Health {
    name: &'static str,
    state: Mutex<WatchState>,
}

#[derive(Debug)]
struct WatchState {
    /// Everything was listed at least once.
    listed: bool,
    /// Since when what is known may be old, and why.
    behind: Option<(Instant, String)>,
    /// Since when the watch runs, and since when it had not before.
    runs: Option<(Instant, Instant)>,
}

impl WatchState {
    /// Whether the watch has run for so long that what was before does not count.
    fn is_settled(&self) -> bool {
        self.runs.is_some_and(|(since, _)| since.elapsed() >= SETTLES)
    }
}

impl Health {
    /// Creates the health of a watch that has not started.
    pub fn new(name: &'static str) -> Self {
        let behind = Some((Instant::now(), "its watch has not started yet".to_owned()));
        Self { name, state: Mutex::new(WatchState { listed: false, behind, runs: None }) }
    }

    /// Name of the watched kind.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Whether everything was listed at least once.
    pub fn listed(&self) -> bool {
        self.lock_state().listed
    }

    /// Whether we have no right to it, as far as is known.
    pub fn is_forbidden(&self) -> bool {
        self.lock_state().behind.as_ref().is_some_and(|(_, why)| why.contains("forbidden"))
    }

    /// For how long what is known may have been old, and why. None while the watch runs.
    pub fn lag_reason(&self) -> Option<(Duration, String)> {
        self.lock_state().behind.as_ref().map(|(since, why)| (since.elapsed(), why.clone()))
    }

    fn mark_current(&self) {
        let mut state = self.lock_state();
        let now = Instant::now();
        state.listed = true;
        if let Some((before, _)) = state.behind.take() {
            state.runs = Some((now, before));
        }
    }

    /// Returns whether it had run well before.
    pub fn failed(&self, why: String) -> bool {
        let mut state = self.lock_state();
        let settled = state.is_settled();
        let since = match (&state.behind, state.runs) {
            (Some((since, _)), _) => *since,
            (None, Some((_, before))) if !settled => before,
            (None, _) => Instant::now(),
        };
        state.behind = Some((since, why));
        state.runs = None;
        settled
    }

    fn lock_state(&self) -> MutexGuard<'_, WatchState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Watches until it is dropped. `on` gets every event; it must be quick.
pub async fn keep_watching<K>(
    api: Api<K>,
    config: watcher::Config,
    health: &Health,
    mut on: impl FnMut(Event<K>),
) where
    K: Resource + Clone + DeserializeOwned + Debug + Send + 'static,
{
    let mut backoff = BACKOFF.0;
    loop {
        let Err(error) = run(&api, &config, health, &mut on).await else { continue };
        tracing::warn!(watch = health.name, error, "the watch failed and is restarted");
        if health.failed(error) {
            backoff = BACKOFF.0;
        }
        sleep(backoff).await;
        backoff = (backoff * 2).min(BACKOFF.1);
    }
}

/// Keys of the objects that a watch has reported.
#[derive(Debug, Default)]
struct ReportedKeys {
    all: BTreeSet<String>,
    /// Of the list that is under way.
    listed: BTreeSet<String>,
}

impl ReportedKeys {
    /// Reports present and deleted objects. An object that a complete list lacks is deleted too.
    fn report_event<K>(
        &mut self,
        event: Event<K>,
        key: impl Fn(&K) -> String,
        mut saw: impl FnMut(&str, &K),
        mut gone: impl FnMut(&str),
    ) {
        match event {
            Event::Init => self.listed.clear(),
            Event::InitApply(object) => {
                let key = key(&object);
                saw(&key, &object);
                self.all.insert(key.clone());
                self.listed.insert(key);
            }
            Event::Apply(object) => {
                let key = key(&object);
                saw(&key, &object);
                self.all.insert(key);
            }
            Event::Delete(object) => {
                let key = key(&object);
                self.all.remove(&key);
                gone(&key);
            }
            Event::InitDone => {
                let listed = std::mem::take(&mut self.listed);
                for key in self.all.difference(&listed) {
                    gone(key);
                }
                self.all = listed;
            }
        }
    }
}

/// Watches like [`keep_watching`], for callers that track existing objects: `saw` receives every existing object on each event about it, and `gone` the
/// key of every deleted one, even if its deletion event was missed.
pub async fn track<K>(
    api: Api<K>,
    config: watcher::Config,
    health: &Health,
    key: impl Fn(&K) -> String,
    mut on_apply: impl FnMut(&str, &K),
    mut on_delete: impl FnMut(&str),
) where
    K: Resource + Clone + DeserializeOwned + Debug + Send + 'static,
{
    let mut reported = ReportedKeys::default();
    keep_watching(api, config, health, |event| {
        reported.report_event(event, &key, &mut on_apply, &mut on_delete);
    })
    .await;
}

/// One watch, until it fails or has been quiet for too long.
async fn run<K>(
    api: &Api<K>,
    config: &watcher::Config,
    health: &Health,
    on: &mut impl FnMut(Event<K>),
) -> Result<(), String>
where
    K: Resource + Clone + DeserializeOwned + Debug + Send + 'static,
{
    let mut events = pin!(watcher(api.clone(), config.clone()));
    let mut probe = pin!(wait_until_unanswered(api, config));
    let mut listed = false;
    loop {
        let event = tokio::select! {
            event = events.next() => event,
            error = &mut probe => return Err(error),
            () = sleep(if listed { QUIET } else { PAGE }) => {
                return if listed { Ok(()) } else { Err("its list does not arrive".to_owned()) };
            }
        };
        match event {
            Some(Ok(event)) => {
                let is_end = matches!(event, Event::InitDone);
                on(event);
                if is_end {
                    listed = true;
                    health.mark_current();
                }
            }
            Some(Err(error)) => return Err(error_message(&error)),
            None => return Err("the watch ended".to_owned()),
        }
    }
}

/// List parameters of the probe that checks whether the server still answers. An answer proves that the connection works, that the server
/// accepts our credentials, and that we may list the watched kind. It proves nothing about etcd, and need not: an object that cannot be written
/// needs no watch.
///
/// With a selector, a limit makes API servers before Kubernetes 1.34 search all of etcd, page by page. The probe therefore reads from the API
/// server's cache, which knows no limit, and which kube does not request together with one. A label selector may match thousands of objects:
/// the probe requests none of them. Without a selector the first object is returned at once.
fn probe_params(config: &watcher::Config) -> ListParams {
    let mut params = ListParams::default();
    params.label_selector.clone_from(&config.label_selector);
    params.field_selector.clone_from(&config.field_selector);
    match (&config.label_selector, &config.field_selector) {
        (None, None) => params.limit(1),
        (Some(_), None) => params.fields(NOBODY).match_any(),
        (_, Some(_)) => params.match_any(),
    }
}

/// Ends when the other side does not answer.
async fn wait_until_unanswered<K>(api: &Api<K>, config: &watcher::Config) -> String
where
    K: Clone + DeserializeOwned + Debug,
{
    let probe = probe_params(config);
    loop {
        sleep(PROBE).await;
        match timeout(PATIENCE, api.list_metadata(&probe)).await {
            // A response that cannot be parsed is a response too: the managed fields of the object may be nested deeper than any parser
            // accepts.
            Ok(Ok(_) | Err(kube::Error::SerdeError(_))) => {}
            Ok(Err(error)) => return plain_message(&error),
            Err(_) => return format!("no answer within {} s", PATIENCE.as_secs()),
        }
    }
}

fn error_message(error: &watcher::Error) -> String {
    match error {
        watcher::Error::InitialListFailed(error)
        | watcher::Error::WatchStartFailed(error)
        | watcher::Error::WatchFailed(error) => plain_message(error),
        watcher::Error::WatchError(status) if !status.message.is_empty() => status.message.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;

    use super::*;

    /// Reported keys: `+` for present, `-` for deleted.
    fn told(there: &mut ReportedKeys, events: impl IntoIterator<Item = Event<&'static str>>) -> Vec<String> {
        let told = std::cell::RefCell::new(Vec::new());
        for event in events {
            let saw = |key: &str, _: &&str| told.borrow_mut().push(format!("+{key}"));
            let gone = |key: &str| told.borrow_mut().push(format!("-{key}"));
            there.report_event(event, |object| (*object).to_owned(), saw, gone);
        }
        told.into_inner()
    }

    #[test]
    fn selective_lists_come_from_the_watch_cache() {
        // As it goes over the wire: kube leaves the version out beside a limit.
        let asks = |config: watcher::Config| {
            let request =
                kube::core::Request::new("/api/v1/secrets").list_metadata(&probe_params(&config)).unwrap();
            request.uri().query().unwrap_or_default().trim_start_matches('&').to_owned()
        };
        let plain = watcher::Config::default();
        assert_eq!(asks(plain.clone()), "limit=1");
        let memory = "resourceVersion=0&resourceVersionMatch=NotOlderThan";
        let named = asks(plain.clone().fields("metadata.name=one"));
        assert_eq!(named, format!("fieldSelector=metadata.name%3Done&{memory}"));
        let nobody = "fieldSelector=metadata.name%3DNOBODY";
        let labelled = asks(plain.labels("a=b"));
        assert_eq!(labelled, format!("{nobody}&labelSelector=a%3Db&{memory}"));
    }

    /// Error that ends the probe within a quarter of an hour in which every answer is this; none if nothing does.
    async fn ended(code: u16, text: String) -> Option<String> {
        let service = tower::service_fn(move |_: http::Request<kube::client::Body>| {
            let mut answer = http::Response::new(kube::client::Body::from(text.clone().into_bytes()));
            *answer.status_mut() = http::StatusCode::from_u16(code).unwrap();
            async move { Ok::<_, std::convert::Infallible>(answer) }
        });
        let api: Api<ConfigMap> = Api::all(kube::Client::new(service, "default"));
        let config = watcher::Config::default();
        timeout(Duration::from_mins(15), wait_until_unanswered(&api, &config)).await.ok()
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_cannot_be_understood_is_one() {
        let (open, close) = ("{\"f:a\":".repeat(200), "}".repeat(200));
        let deep = format!(
            r#"{{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{{}},"items":
                [{{"metadata":{{"name":"a","managedFields":[{{"fieldsV1":{open}{{}}{close}}}]}}}}]}}"#
        );
        assert!(serde_json::from_str::<serde_json::Value>(&deep).is_err(), "it is understood: {deep}");
        assert_eq!(ended(200, deep).await, None);
        let refusal = r#"{ "kind": "Status", "status": "Failure", "code": 403, "message": "no" }"#;
        assert_eq!(ended(403, refusal.to_owned()).await.as_deref(), Some("no"));
    }

    #[test]
    fn object_missing_from_a_complete_list_is_deleted() {
        let mut there = ReportedKeys::default();
        let first = [Event::Init, Event::InitApply("a"), Event::InitApply("b"), Event::InitDone];
        assert_eq!(told(&mut there, first), ["+a", "+b"]);
        assert_eq!(told(&mut there, [Event::Apply("c"), Event::Delete("a")]), ["+c", "-a"]);
        // A list that breaks off proves nothing; what it had may be gone by the next one.
        assert_eq!(told(&mut there, [Event::Init, Event::InitApply("d")]), ["+d"]);
        let whole = [Event::Init, Event::InitApply("c"), Event::InitDone];
        assert_eq!(told(&mut there, whole), ["+c", "-b", "-d"]);
        assert_eq!(told(&mut there, [Event::Init, Event::InitDone]), ["-c"]);
        assert_eq!(told(&mut there, [Event::Init, Event::InitDone]), [""; 0]);
    }
}

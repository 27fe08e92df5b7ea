//! Objects of a cluster as plain JSON: apply, read, change, and wait by watch.

use std::time::Duration;

use anyhow::{Context as _, bail};
use futures_util::{Stream, StreamExt as _, pin_mut};
use http::Request;
use kube::{
    Api, Client,
    api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams},
    runtime::{
        WatchStreamExt as _,
        watcher::{self, watch_object, watcher},
    },
};
use serde_json::{Value, json};
use testplatform_apis::condition::split_completion;

use crate::{
    kinds::{self, Kind},
    patience::longer,
};

/// How long something may take that takes a few seconds by itself, on a machine that has much else to do. It promises nothing: where
/// a time is promised, the scenario says so. Longer than core leaves a composite alone, which is a minute and a tenth: what it was told too early
/// to see, it sees then.
pub const SOON: Duration = Duration::from_mins(2);

/// A cluster, and who we are to it.
#[derive(Clone)]
pub struct Cluster {
    name: String,
    client: Client,
}

/// One object.
#[derive(Clone, Debug)]
pub struct At {
    kind: Kind,
    namespace: Option<String>,
    name: String,
}

/// An object in a namespace.
pub fn at(kind: Kind, namespace: &str, name: &str) -> At {
    At { kind, namespace: Some(namespace.to_owned()), name: name.to_owned() }
}

/// A cluster-scoped object.
pub fn at_root(kind: Kind, name: &str) -> At {
    At { kind, namespace: None, name: name.to_owned() }
}

impl At {
    /// Its namespace; empty if it is cluster-scoped.
    pub fn namespace(&self) -> &str {
        self.namespace.as_deref().unwrap_or_default()
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl Cluster {
    /// A cluster by its client.
    pub fn new(name: &str, client: Client) -> Self {
        Self { name: name.to_owned(), client }
    }

    /// Its client.
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// `true` if the API server is ready.
    pub async fn answers(&self) -> bool {
        let Ok(request) = Request::get("/readyz").body(Vec::new()) else { return false };
        matches!(
            tokio::time::timeout(Duration::from_secs(5), self.client.request_text(request)).await,
            Ok(Ok(_))
        )
    }

    fn api(&self, resource: &kube::core::ApiResource, namespace: Option<&str>) -> Api<DynamicObject> {
        match namespace {
            Some(namespace) => Api::namespaced_with(self.client(), namespace, resource),
            None => Api::all_with(self.client(), resource),
        }
    }

    fn of(&self, at: &At) -> Api<DynamicObject> {
        self.api(&at.kind.into(), at.namespace.as_deref())
    }

    /// Server-side apply of a manifest.
    pub async fn apply(&self, manifest: &Value) -> anyhow::Result<Value> {
        let name = manifest["metadata"]["name"].as_str().context("a manifest without a name")?;
        let api = self.api(&kinds::of(manifest), manifest["metadata"]["namespace"].as_str());
        let parameters = PatchParams::apply("testbed").force();
        let applied = api.patch(name, &parameters, &Patch::Apply(manifest)).await;
        let applied =
            applied.with_context(|| format!("{}: cannot apply {} {name}", self.name, manifest["kind"]))?;
        Ok(serde_json::to_value(applied)?)
    }

    /// Applies several, in their order.
    pub async fn apply_all(&self, manifests: &[Value]) -> anyhow::Result<()> {
        for manifest in manifests {
            self.apply(manifest).await?;
        }
        Ok(())
    }

    /// Creates an object as any client would. The error is the API server's own.
    pub async fn create(&self, manifest: &Value) -> kube::Result<Value> {
        let api = self.api(&kinds::of(manifest), manifest["metadata"]["namespace"].as_str());
        let object: DynamicObject =
            serde_json::from_value(manifest.clone()).map_err(kube::Error::SerdeError)?;
        let created = api.create(&PostParams::default(), &object).await?;
        serde_json::to_value(created).map_err(kube::Error::SerdeError)
    }

    /// An object, if it is there.
    pub async fn get(&self, at: &At) -> anyhow::Result<Option<Value>> {
        let found = self.of(at).get_opt(&at.name).await.with_context(|| format!("{}: {at}", self.name))?;
        Ok(found.map(serde_json::to_value).transpose()?)
    }

    /// Every object of a kind.
    pub async fn list(&self, kind: Kind) -> anyhow::Result<Vec<Value>> {
        let list = self.api(&kind.into(), None).list(&ListParams::default()).await?;
        Ok(list.items.into_iter().map(serde_json::to_value).collect::<Result<_, _>>()?)
    }

    /// Merges into an object. The error is the API server's own.
    pub async fn merge(&self, at: &At, patch: &Value) -> kube::Result<()> {
        self.of(at).patch(&at.name, &PatchParams::default(), &Patch::Merge(patch)).await.map(|_| ())
    }

    /// Merges into the status of an object.
    pub async fn merge_status(&self, at: &At, status: &Value) -> kube::Result<()> {
        let patch = json!({ "status": status });
        self.of(at).patch_status(&at.name, &PatchParams::default(), &Patch::Merge(&patch)).await.map(|_| ())
    }

    /// Puts an object's status in the place of the one that it was read with, nulls and all: to a merge they mean what is not there.
    pub async fn replace_status(&self, at: &At, object: &Value) -> kube::Result<()> {
        let object: DynamicObject =
            serde_json::from_value(object.clone()).map_err(kube::Error::SerdeError)?;
        self.of(at).replace_status(&at.name, &PostParams::default(), &object).await.map(|_| ())
    }

    /// Asks for an object's end. None there is fine.
    pub async fn delete(&self, at: &At) -> anyhow::Result<()> {
        match self.of(at).delete(&at.name, &DeleteParams::default()).await {
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
            other => other.map(|_| ()).with_context(|| format!("{}: cannot delete {at}", self.name)),
        }
    }

    /// Waits by watch until there is an object of a kind in a namespace that is as wanted, and returns it. An empty namespace is
    /// any.
    pub async fn until_some(
        &self,
        kind: Kind,
        namespace: &str,
        within: Duration,
        what: &str,
        is: impl Fn(&Value) -> bool,
    ) -> anyhow::Result<Value> {
        let within = longer(within);
        let wanted = async {
            let namespace = Some(namespace).filter(|namespace| !namespace.is_empty());
            let stream = watcher(self.api(&kind.into(), namespace), watcher::Config::default());
            let stream = stream.default_backoff().applied_objects();
            pin_mut!(stream);
            while let Some(next) = stream.next().await {
                let Ok(object) = next else { continue };
                let object = serde_json::to_value(object)?;
                if is(&object) {
                    return anyhow::Ok(object);
                }
            }
            bail!("the watch ended")
        };
        match tokio::time::timeout(within, wanted).await {
            Ok(result) => result,
            Err(_) => {
                bail!("{}: within {within:?} there was no {} {what} in {namespace}", self.name, kind.kind)
            }
        }
    }

    /// Every state of an object from now on, its absence included. A watch that breaks begins again.
    pub fn states(&self, at: &At) -> impl Stream<Item = anyhow::Result<Option<Value>>> + Send + use<> {
        watch_object(self.of(at), &at.name)
            .default_backoff()
            .filter_map(async |next| next.ok())
            .map(|object| Ok(object.map(serde_json::to_value).transpose()?))
    }

    /// Waits by watch until an object, or its absence, is as wanted. The error tells what it was like instead.
    pub async fn until(
        &self,
        at: &At,
        within: Duration,
        what: &str,
        mut is: impl FnMut(Option<&Value>) -> bool,
    ) -> anyhow::Result<Option<Value>> {
        let within = longer(within);
        let mut last = None;
        let wanted = async {
            let stream = self.states(at);
            pin_mut!(stream);
            while let Some(state) = stream.next().await {
                last = state?;
                if is(last.as_ref()) {
                    return anyhow::Ok(());
                }
            }
            bail!("the watch ended")
        };
        match tokio::time::timeout(within, wanted).await {
            Ok(result) => result.map(|()| last),
            Err(_) => bail!(
                "{}: {at} did not become {what} within {within:?}; it is {}",
                self.name,
                brief(last.as_ref())
            ),
        }
    }

    /// Waits until an object is there and as wanted.
    pub async fn until_is(
        &self,
        at: &At,
        within: Duration,
        what: &str,
        mut is: impl FnMut(&Value) -> bool,
    ) -> anyhow::Result<Value> {
        let found = self.until(at, within, what, |object| object.is_some_and(&mut is)).await?;
        found.with_context(|| format!("{at} is not there"))
    }

    /// Waits until an object is gone.
    pub async fn until_gone(&self, at: &At, within: Duration) -> anyhow::Result<()> {
        self.until(at, within, "gone", |object| object.is_none()).await.map(|_| ())
    }
}

impl std::fmt::Display for At {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(f, "{} {namespace}/{}", self.kind.kind, self.name),
            None => write!(f, "{} {}", self.kind.kind, self.name),
        }
    }
}

/// A condition of an object.
pub fn condition<'a>(object: &'a Value, type_: &str) -> Option<&'a Value> {
    object["status"]["conditions"].as_array()?.iter().find(|c| c["type"] == type_)
}

/// `true` if a condition has this status, and this reason if one is given. A completion stands before the message and counts as a reason.
pub fn has(object: &Value, type_: &str, status: &str, reason: &str) -> bool {
    let is_given = |c: &Value| {
        let text = |field: &str| c[field].as_str().unwrap_or_default();
        reason.is_empty()
            || c["reason"] == reason
            || split_completion(text("reason"), text("message")).0 == reason
    };
    condition(object, type_).is_some_and(|c| c["status"] == status && is_given(c))
}

/// `true` if no condition of an object is Unknown. Core sets Unknown on conditions that a failed pass does not report.
pub fn certain(object: &Value) -> bool {
    object["status"]["conditions"].as_array().into_iter().flatten().all(|c| c["status"] != "Unknown")
}

/// Status of an object for a person, without anything that could be a secret.
pub fn brief(object: Option<&Value>) -> String {
    let Some(object) = object else { return "not there".to_owned() };
    let keys = object["data"].as_object().map(|data| data.keys().cloned().collect::<Vec<_>>());
    let mut status = object["status"].clone();
    // Who wrote which field of what is mirrored there fills a page and explains nothing.
    if let Some(metadata) = status.pointer_mut("/atProvider/manifest/metadata").and_then(Value::as_object_mut)
    {
        metadata.remove("managedFields");
    }
    let shown = json!({
        "metadata": { "name": object["metadata"]["name"], "uid": object["metadata"]["uid"],
            "deletionTimestamp": object["metadata"]["deletionTimestamp"], "finalizers": object["metadata"]["finalizers"] },
        "status": status, "keys": keys,
    });
    serde_json::to_string_pretty(&shown).unwrap_or_default()
}

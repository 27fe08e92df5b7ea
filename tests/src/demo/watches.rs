//! Watches on every object of the story, into the screen.

use std::sync::Arc;

use futures_util::{StreamExt as _, pin_mut};
use kube::{
    Api,
    api::DynamicObject,
    runtime::{WatchStreamExt as _, watcher::watch_object},
};
use serde_json::Value;
use tokio::task::JoinSet;

use super::{
    claim::Claim,
    rows::{Row, Shown},
    screen::Screen,
};
use crate::{
    cluster::Cluster,
    crossplane::Engine,
    hub,
    kinds::{CLAIM, COMPOSITE, EPHEMERAL_CLUSTER, Kind, OBJECT, SECRET},
};

/// Watches as long as it exists.
pub struct Watches {
    tasks: JoinSet<()>,
    screen: Arc<Screen>,
    konflux: Cluster,
    hub: Cluster,
}

impl Watches {
    /// Begins with what has a name from the beginning.
    pub fn start(engine: &Engine, claim: &Claim, screen: &Arc<Screen>) -> Self {
        let mut watches = Self {
            tasks: JoinSet::new(),
            screen: Arc::clone(screen),
            konflux: engine.konflux.cluster().clone(),
            hub: engine.hub.cluster().clone(),
        };
        let namespace = Some(claim.namespace.as_str());
        let konflux = watches.konflux.clone();
        watches.watch(&konflux, CLAIM, namespace, &claim.name, &[Row::Claim]);
        watches.watch(&konflux, SECRET, namespace, &claim.secret, &[Row::TenantSecret]);
        watches
    }

    /// Goes on with what is named after the composite.
    pub fn go_on(&mut self, composite: &str) {
        let (konflux, hub) = (self.konflux.clone(), self.hub.clone());
        self.watch(&konflux, COMPOSITE, None, composite, &[Row::Composite]);
        self.watch(&konflux, OBJECT, None, &format!("managed-{composite}"), &[Row::PrimaryObject]);
        self.watch(&konflux, OBJECT, None, &format!("credentials-{composite}"), &[Row::Credentials]);
        let namespace = Some(hub::NAMESPACE);
        self.watch(&hub, EPHEMERAL_CLUSTER, namespace, composite, &[Row::Remote, Row::Job]);
        self.watch(&hub, SECRET, namespace, &format!("{composite}-credentials"), &[Row::HubSecret]);
    }

    fn watch(&mut self, cluster: &Cluster, kind: Kind, namespace: Option<&str>, name: &str, rows: &[Row]) {
        let api: Api<DynamicObject> = match namespace {
            Some(namespace) => Api::namespaced_with(cluster.client(), namespace, &kind.into()),
            None => Api::all_with(cluster.client(), &kind.into()),
        };
        let (name, rows, screen) = (name.to_owned(), rows.to_vec(), Arc::clone(&self.screen));
        self.tasks.spawn(async move {
            let stream = watch_object(api, &name).default_backoff();
            pin_mut!(stream);
            while let Some(next) = stream.next().await {
                // A watch that broke begins again.
                let Ok(object) = next else { continue };
                let object: Option<Value> = object.and_then(|o| serde_json::to_value(o).ok());
                for row in &rows {
                    let shown: Option<Shown> = object.as_ref().map(|o| row.of(o));
                    screen.saw(*row, shown);
                }
            }
        });
    }
}

//! Every revision of the claim, the composite and its Objects, in the order in which the API server had them.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use serde_json::Value;
use tokio::task::JoinHandle;

use crate::{
    cluster::Cluster,
    flavour::Flavour,
    kinds::{CLAIM, COMPOSITE, Kind, NAMESPACED_OBJECT, OBJECT, TEST_CLUSTER},
    recorder,
};

/// One of the objects of a life.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Watched {
    /// The tenant's claim.
    Claim,
    /// The composite behind it, or the TestCluster.
    Composite,
    /// An Object of provider-kubernetes, by its composition resource name.
    Object(String),
}

impl fmt::Display for Watched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Claim => f.write_str("claim"),
            Self::Composite => f.write_str("composite"),
            Self::Object(name) => write!(f, "Object {name}"),
        }
    }
}

/// An object as it was at one time.
#[derive(Clone, Debug, PartialEq)]
pub struct Revision {
    /// Since the watch began.
    pub at: Duration,
    /// Which one it is.
    pub of: Watched,
    /// The name of the composite; empty for a claim that has none yet.
    pub composite: String,
    /// All of it.
    pub object: Value,
}

impl Revision {
    /// Whether it is of this tenant: in the namespace, or of the composite of the tenant's claim.
    pub fn is_of(&self, namespace: &str, name: &str) -> bool {
        self.object["metadata"]["namespace"] == namespace || self.composite.starts_with(name)
    }
}

/// Watches until it is dropped.
pub struct Watch {
    revisions: Arc<Mutex<Vec<Revision>>>,
    tasks: Vec<JoinHandle<()>>,
}

impl Watch {
    /// Begins.
    pub fn start(konflux: &Cluster, flavours: &[Flavour]) -> Self {
        let revisions = Arc::new(Mutex::new(Vec::new()));
        let begun = Instant::now();
        let kinds = flavours.iter().flat_map(|flavour| -> &[Kind] {
            match flavour {
                Flavour::Claim => &[CLAIM, COMPOSITE, OBJECT],
                Flavour::TestCluster => &[TEST_CLUSTER, NAMESPACED_OBJECT],
            }
        });
        let tasks = kinds.map(|&kind| {
            let revisions = Arc::clone(&revisions);
            recorder::watch(konflux, kind, move |object| {
                let at = begun.elapsed();
                let object = serde_json::to_value(object).unwrap_or_default();
                let of = match kind {
                    CLAIM => Watched::Claim,
                    COMPOSITE | TEST_CLUSTER => Watched::Composite,
                    _ => Watched::Object(resource_name(&object).to_owned()),
                };
                let composite = composite(&of, &object).to_owned();
                revisions.lock().unwrap_or_else(PoisonError::into_inner).push(Revision {
                    at,
                    of,
                    composite,
                    object,
                });
            })
        });
        let tasks = tasks.collect();
        Self { revisions, tasks }
    }

    /// All that there were until now.
    pub fn revisions(&self) -> Vec<Revision> {
        self.revisions.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

fn composite<'o>(of: &Watched, object: &'o Value) -> &'o str {
    let name = match of {
        Watched::Claim => &object["spec"]["resourceRef"]["name"],
        Watched::Composite => &object["metadata"]["name"],
        Watched::Object(_) => &object["metadata"]["labels"]["crossplane.io/composite"],
    };
    name.as_str().unwrap_or_default()
}

fn resource_name(object: &Value) -> &str {
    let annotations = &object["metadata"]["annotations"];
    annotations["crossplane.io/composition-resource-name"].as_str().unwrap_or("without a name")
}

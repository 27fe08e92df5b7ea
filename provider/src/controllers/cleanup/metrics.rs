//! Metrics of clusters that nobody needs any more.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family},
    registry::Registry,
};
use testplatform_runtime::{
    metrics::{ControllerMetrics, RuntimeMetrics},
    watch::Health,
};

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Decided {
    outcome: &'static str,
}

/// Outcome of the decision to tear down a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Teardown {
    /// The teardown field of the claim was set.
    Told,
    /// Somebody has said no, and it goes on.
    Held,
}

impl Teardown {
    const ALL: [Self; 2] = [Self::Told, Self::Held];

    const fn as_str(self) -> &'static str {
        match self {
            Self::Told => "told",
            Self::Held => "held",
        }
    }
}

/// The metrics of the cleaner.
#[derive(Default)]
pub struct CleanupMetrics {
    runtime: RuntimeMetrics,
    teardowns: Family<Decided, Counter>,
    /// The watches, which are asked when somebody asks.
    source: Mutex<Weak<Vec<Health>>>,
}

impl ControllerMetrics for CleanupMetrics {
    fn new(runtime: RuntimeMetrics) -> Self {
        Self { runtime, ..Self::default() }
    }

    fn register_metrics(&self, registry: &mut Registry) {
        registry.register(
            "testplatform_cleanup_teardowns",
            "Teardowns of clusters that are no longer needed",
            self.teardowns.clone(),
        );
    }

    fn refresh_gauges(&self) {
        let source = self.source.lock().unwrap_or_else(PoisonError::into_inner).upgrade();
        if let Some(watches) = source {
            self.runtime.refresh_loops(&[], &watches);
        }
    }
}

impl CleanupMetrics {
    /// Metrics that every controller shares.
    pub fn runtime_metrics(&self) -> &RuntimeMetrics {
        &self.runtime
    }

    /// Attaches the watches of the cleanup. Counters start at zero, so that the first event shows as an increase.
    pub fn attach_cleanups(&self, watches: &Arc<Vec<Health>>) {
        *self.source.lock().unwrap_or_else(PoisonError::into_inner) = Arc::downgrade(watches);
        for outcome in Teardown::ALL {
            drop(self.teardowns.get_or_create(&Decided { outcome: outcome.as_str() }));
        }
    }

    /// Records the decision to tear down a cluster.
    pub fn decided_teardown(&self, outcome: Teardown) {
        self.teardowns.get_or_create(&Decided { outcome: outcome.as_str() }).inc();
    }
}

//! A program beside the engine's that says over plain HTTP when it is ready: its process, and that port.

use std::{
    process::Command,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use anyhow::ensure;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::{
    cluster::{Cluster, SOON},
    control_plane::plain,
    nest::{Nest, Process},
    patience::longer,
};

/// A program beside the engine's. It ends with this.
pub struct Companion {
    http: u16,
    process: Mutex<Process>,
}

/// Whoever loses its Lease ends, and here nobody starts it again: a control plane that is busy for a while must not be its end.
pub(crate) fn patient(configuration: &mut Value) {
    for (time, long) in [("leaseDuration", "60s"), ("renewDeadline", "50s")] {
        configuration["leaderElection"][time] = json!(long);
    }
}

impl Companion {
    /// Starts it, and waits until it is ready. `http`: where it says so; our provider has its metrics there too.
    pub(crate) async fn start(
        nest: &Nest,
        name: &str,
        command: &mut Command,
        http: u16,
    ) -> anyhow::Result<Self> {
        let mut process = nest.spawn(name, command)?;
        let itself = Cluster::new(name, plain(http).await?);
        let end = Instant::now() + longer(SOON);
        while !itself.answers().await {
            process.check()?;
            ensure!(Instant::now() < end, "{name} is not ready; its last words:\n{}", process.tail());
            sleep(Duration::from_millis(50)).await;
        }
        Ok(Self { http, process: Mutex::new(process) })
    }

    /// Fails if it ended, with what it said last.
    pub fn check(&self) -> anyhow::Result<()> {
        self.process.lock().unwrap_or_else(PoisonError::into_inner).check()
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.process.lock().unwrap_or_else(PoisonError::into_inner).id()
    }

    /// The port where it says whether it is ready.
    pub fn admin_port(&self) -> u16 {
        self.http
    }
}

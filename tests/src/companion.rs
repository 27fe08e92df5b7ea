//! Our provider in a role of its own beside the claims: its process, and the port of its metrics.

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
};

/// A provider beside the claims. It ends with this.
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
    /// Starts it, and waits until it is ready: from then on it can be asked for its metrics, which are at this port.
    pub(crate) async fn start(
        nest: &Nest,
        name: &str,
        command: &mut Command,
        http: u16,
    ) -> anyhow::Result<Self> {
        let mut process = nest.spawn(name, command.args(["--debug", "--log-format=text"]))?;
        let itself = Cluster::new(name, plain(http).await?);
        let end = Instant::now() + SOON;
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

    /// The port of its metrics.
    pub fn admin_port(&self) -> u16 {
        self.http
    }
}

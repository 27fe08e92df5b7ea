//! Usage and calls between one measurement and the next.

use std::time::{Duration, Instant};

use super::calls::{Calls, Log};
use crate::{crossplane::Engine, usage::Usage};

/// How long audit logs are waited for: they are written in batches, the last one within this time.
const BATCH: Duration = Duration::from_secs(2);

/// Usage and calls in a span of time.
#[derive(Clone, Debug, Default)]
pub struct Span {
    /// CPU of each program.
    pub cpu: Usage,
    /// How long it was.
    pub took: Duration,
    /// Who called an API server.
    pub calls: Calls,
}

impl Span {
    /// Both together.
    #[must_use]
    pub fn plus(mut self, more: &Self) -> Self {
        self.calls.add(&more.calls);
        Self { cpu: self.cpu.plus(&more.cpu), took: self.took + more.took, calls: self.calls }
    }
}

/// Measures all running programs. Spans between measurements do not overlap.
pub struct Meter {
    logs: [Log; 2],
    last: (Usage, Instant),
}

impl Meter {
    /// From now on.
    pub async fn start(engine: &Engine) -> anyhow::Result<Self> {
        let logs = [Log::new(engine.konflux.audit_log()), Log::new(engine.hub.audit_log())];
        let mut meter = Self { logs, last: (Usage::default(), Instant::now()) };
        meter.look().await?;
        Ok(meter)
    }

    /// Usage and calls since the last measurement.
    pub async fn look(&mut self) -> anyhow::Result<Span> {
        tokio::time::sleep(BATCH).await;
        let mut calls = Calls::default();
        for log in &mut self.logs {
            log.read(&mut calls)?;
        }
        let (used, now) = (Usage::now()?, Instant::now());
        let (before, begun) = std::mem::replace(&mut self.last, (used.clone(), now));
        Ok(Span { cpu: used.since(&before), took: now.duration_since(begun), calls })
    }

    /// Everything that was used until the last look.
    pub fn used(&self) -> &Usage {
        &self.last.0
    }
}

//! Core's own counters, from its metrics.

use std::collections::BTreeMap;

use anyhow::Context as _;

use crate::{control_plane::plain, crossplane::Engine};

/// The controllers of claims' composites, and of TestClusters.
const CONTROLLERS: [&str; 2] = [
    "controller=\"composite/xtestplatformclusters.ci.openshift.org\"",
    "controller=\"composite/testclusters.ci.openshift.org\"",
];

/// Core's `circuit_breaker_*` counters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CoreCounters {
    /// How often the breaker of a composite opened.
    pub opens: u64,
    /// Events by what became of them.
    pub events: BTreeMap<String, u64>,
}

impl CoreCounters {
    /// As they are now.
    pub async fn read(engine: &Engine) -> anyhow::Result<Self> {
        let metrics = engine.metrics();
        let port =
            metrics.iter().find(|(program, _)| *program == "crossplane").context("core has no port")?.1;
        let request = http::Request::get("/metrics").body(Vec::new())?;
        let page = plain(port).await?.request_text(request).await?;
        Ok(Self::parse(&page))
    }

    fn parse(page: &str) -> Self {
        let mut counters = Self::default();
        let is_ours = |line: &&str| CONTROLLERS.iter().any(|controller| line.contains(controller));
        for line in page.lines().filter(is_ours) {
            let Some(value) = line.rsplit(' ').next().and_then(|value| value.parse::<f64>().ok()) else {
                continue;
            };
            // Counters are whole numbers far below where a float is not exact.
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a counter")]
            let value = value as u64;
            if line.starts_with("circuit_breaker_opens_total") {
                counters.opens += value;
            }
            let result = line.split("result=\"").nth(1).and_then(|rest| rest.split('"').next());
            if let Some(result) = result.filter(|_| line.starts_with("circuit_breaker_events_total")) {
                *counters.events.entry(result.to_owned()).or_default() += value;
            }
        }
        counters
    }

    /// Since an earlier reading.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        let earlier = |result: &String| before.events.get(result).copied().unwrap_or_default();
        let events =
            self.events.iter().map(|(result, all)| (result.clone(), all.saturating_sub(earlier(result))));
        Self { opens: self.opens.saturating_sub(before.opens), events: events.collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_of_the_controller_of_composites() {
        let page = "\
# TYPE circuit_breaker_events_total counter
circuit_breaker_events_total{controller=\"composite/xtestplatformclusters.ci.openshift.org\",result=\"Allowed\"} 112
circuit_breaker_events_total{controller=\"composite/xtestplatformclusters.ci.openshift.org\",result=\"Dropped\"} 7
circuit_breaker_events_total{controller=\"composite/others.example.org\",result=\"Allowed\"} 3
circuit_breaker_opens_total{controller=\"composite/xtestplatformclusters.ci.openshift.org\"} 1
";
        let counters = CoreCounters::parse(page);
        assert_eq!((counters.opens, counters.events["Allowed"], counters.events["Dropped"]), (1, 112, 7));
        assert_eq!(counters.since(&counters).events["Allowed"], 0);
    }
}

//! A composite of before. Core reads composites from a cache that may be behind what it has written itself, while Objects and Secrets are of now.

use std::collections::BTreeMap;

use function_model::world::World;
use jiff::SignedDuration;
use serde_json::{Value, json};
use testplatform_composites::{Options, run, sdk::proto::Ready};

use crate::templates::every::BACKENDS;

/// A composite's published status and conditions.
type Shown = (Value, BTreeMap<String, Value>);

/// A life, watched pass by pass.
struct Life {
    world: World,
    shown: Vec<Shown>,
    name: String,
}

impl Life {
    fn new(name: &str, world: World) -> Self {
        Self { world, shown: vec![], name: name.to_owned() }
    }

    /// As core, provider-kubernetes and the hub go on until nothing changes. Once the composite was ready, no older composite takes that back.
    fn settle(&mut self) {
        for _ in 0..5 {
            self.remember();
            self.world.pass();
            self.holds();
            self.world.reconcile_objects();
            self.holds();
        }
        self.remember();
    }

    fn remember(&mut self) {
        let now = (self.world.status.clone(), self.world.conditions.clone());
        if self.shown.last() != Some(&now) {
            self.shown.push(now);
        }
    }

    fn holds(&self) {
        let phase = self.world.phase();
        let answer = |world: &World| {
            run(&world.request(), &Options::default(), world.now).desired.unwrap().composite.unwrap()
        };
        let fresh = answer(&self.world);
        if self.world.condition("Ready").0 != "True" || fresh.ready != i32::from(Ready::True) {
            return;
        }
        for (at, (status, conditions)) in self.shown.iter().enumerate() {
            let stale =
                World { status: status.clone(), conditions: conditions.clone(), ..self.world.clone() };
            let composite = answer(&stale);
            let seen = format!("{}: {phase}, seen as {at} of {}: {status:#}", self.name, self.shown.len());
            assert_eq!(composite.ready, i32::from(Ready::True), "{seen}");
            assert_eq!(composite.connection_details, fresh.connection_details, "{seen}");
        }
    }
}

fn ready(name: &str, lifetime: Option<&str>) -> Life {
    let mut life = Life::new(name, World::default());
    life.world.spec["lifetime"] = json!(lifetime);
    life.settle();
    life.world.report_phase("Provisioning", &[]);
    life.settle();
    life.world.hub_ready();
    life.settle();
    assert_eq!(life.world.condition("Ready").0, "True", "{name}");
    life
}

/// A life from where a cluster is ready on.
fn from_ready(name: &str, world: World) -> Life {
    let mut life = Life::new(name, world);
    life.shown.push((json!({}), BTreeMap::new()));
    life.settle();
    assert_eq!(life.world.condition("Ready").0, "True", "{name}");
    life
}

#[test]
fn outdated_composite_keeps_ready_of_template_and_pool_clusters() {
    let backends = BACKENDS.into_iter().map(|made| (made.backend, made.ready as fn() -> World));
    for (name, ready) in backends.chain([("hive", World::hive_ready as fn() -> World)]) {
        let mut life = from_ready(name, ready());
        life.world.spec["tearDownCluster"] = json!(true);
        life.settle();
        life.world.hive_is_done();
        life.world.hosted = None;
        life.settle();
        assert_eq!(life.world.phase(), "Deprovisioned", "{name}");
        let mut life = from_ready(name, ready());
        life.world.remote = None;
        life.settle();
    }
}

#[test]
fn outdated_composite_keeps_ready_of_job_clusters() {
    for lifetime in [None, Some("1h")] {
        let mut life = ready("torn down", lifetime);
        life.world.spec["tearDownCluster"] = json!(true);
        life.settle();
        life.world.hub_done("Deprovisioned");
        life.settle();
        assert_eq!(life.world.phase(), "Deprovisioned");
        let mut life = ready("its job ended", lifetime);
        life.world.hub_done("Deprovisioned");
        life.settle();
        assert_eq!(life.world.phase(), "Deprovisioned");
        let mut life = ready("its job failed", lifetime);
        life.world.hub_done("Failed");
        life.settle();
        let mut life = ready("deleted on the hub", lifetime);
        life.world.remote = None;
        life.settle();
        assert_eq!(life.world.phase(), "Failed");
    }
    let mut life = ready("expired", Some("1h"));
    life.world.advance_time(SignedDuration::from_mins(61));
    life.settle();
    life.world.hub_done("Deprovisioned");
    life.settle();
    assert_eq!(life.world.phase(), "Deprovisioned");
}

//! Two composites and the hub that they share.

use std::collections::{BTreeMap, BTreeSet};

use function_model::world::{NAME, World};
use serde_json::{Value, json};
use testplatform_apis::names::ours;

/// The part of one hub that both see.
#[derive(Clone, Debug, Default)]
struct Hub {
    remote: Option<Value>,
    secrets: BTreeMap<String, (String, String)>,
    made: usize,
    taken: BTreeSet<String>,
}

/// Which of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Giver,
    Taker,
}

/// The composite of a claim, and a TestCluster that is to take its cluster over.
#[derive(Clone, Debug)]
pub struct Pair {
    pub giver: World,
    pub taker: World,
    pub gone: [bool; 2],
    /// How often the TestCluster was restored from a backup.
    pub restored: usize,
    hub: Hub,
}

impl Pair {
    /// A cluster that is ready, and a TestCluster that was just made.
    pub fn ready() -> Self {
        Self::of_both(&spec(), input(), input())
    }

    /// The same where neither asks for a lifetime, with the default of either.
    pub fn silent(giver: Option<&str>, taker: Option<&str>) -> Self {
        let mut spec = spec();
        spec.as_object_mut().unwrap().remove("lifetime");
        let with = |default: Option<&str>| {
            let mut input = input();
            if let Some(lifetime) = default {
                input["defaults"] = json!({ "lifetime": lifetime });
            }
            input
        };
        Self::of_both(&spec, with(giver), with(taker))
    }

    fn of_both(spec: &Value, giver: Value, taker: Value) -> Self {
        let mut giver = World { spec: spec.clone(), input: giver, ..World::default() };
        giver.settle();
        giver.report_phase("Provisioning", &[]);
        giver.settle();
        giver.hub_ready();
        giver.settle();
        assert_eq!(giver.phase(), "Ready");
        let mut taker = World { spec: spec.clone(), input: taker, uid: "taker-0".into(), ..World::default() };
        taker.namespaced = true;
        taker.annotations = json!({ ours::TAKE_OVER: NAME });
        let mut pair = Self { giver, taker, gone: [false; 2], restored: 0, hub: Hub::default() };
        swap(&mut pair.hub, &mut pair.giver);
        pair.sees(Side::Giver);
        pair.sees(Side::Taker);
        pair
    }

    pub fn of(&mut self, side: Side) -> &mut World {
        match side {
            Side::Giver => &mut self.giver,
            Side::Taker => &mut self.taker,
        }
    }

    pub fn is_gone(&self, side: Side) -> bool {
        self.gone[usize::from(side == Side::Taker)]
    }

    pub fn remote(&self) -> Option<&Value> {
        self.hub.remote.as_ref()
    }

    /// How many remote objects were ever made.
    pub fn made(&self) -> usize {
        self.hub.made
    }

    /// Something that needs the hub, on one side.
    pub fn with(&mut self, side: Side, act: impl FnOnce(&mut World)) {
        let mut hub = std::mem::take(&mut self.hub);
        let world = self.of(side);
        swap(&mut hub, world);
        act(world);
        swap(&mut hub, world);
        self.hub = hub;
        self.at_most_one();
    }

    /// One pass, with what was last seen of the other side.
    pub fn pass(&mut self, side: Side) {
        if !self.is_gone(side) {
            self.with(side, |world| drop(world.pass()));
        }
    }

    /// One round of provider-kubernetes.
    pub fn provider(&mut self, side: Side) {
        if !self.is_gone(side) {
            self.with(side, World::reconcile_objects);
        }
    }

    /// Core's cache catches up with the other side.
    pub fn sees(&mut self, side: Side) {
        let (other, gone) = match side {
            Side::Giver => (self.taker.composite(), self.is_gone(Side::Taker)),
            Side::Taker => (self.giver.composite(), self.is_gone(Side::Giver)),
        };
        self.of(side).other_side = Some(if gone { vec![] } else { vec![other] });
    }

    /// The claim says that its cluster is to go.
    pub fn hand_over(&mut self) {
        let uid = self.taker.uid.clone();
        self.giver.annotations = json!({ ours::HAND_OVER: format!("tenant-a/{NAME}/{uid}") });
    }

    /// Everything runs until it rests.
    pub fn settle(&mut self) {
        for _ in 0..14 {
            for side in [Side::Giver, Side::Taker] {
                self.sees(side);
                self.pass(side);
                self.provider(side);
            }
        }
    }

    /// Somebody deletes the claim, or the TestCluster: its Objects go, and with those that may what they carry.
    pub fn delete(&mut self, side: Side) {
        if self.is_gone(side) {
            return;
        }
        let world = self.of(side).clone();
        if may_end(&world) && pinned(&world, self.remote()) {
            self.hub.remote = None;
        }
        self.of(side).objects.clear();
        self.gone[usize::from(side == Side::Taker)] = true;
    }

    /// A TestCluster that comes back from a backup, with all that it had, is another one.
    pub fn restore(&mut self) {
        self.restored += 1;
        self.taker.uid = format!("taker-{}", self.restored);
        self.taker.drop_status();
    }

    /// Who may end the cluster.
    pub fn enders(&self) -> Vec<Side> {
        let alive = [(Side::Giver, &self.giver), (Side::Taker, &self.taker)];
        let alive = alive.into_iter().filter(|(side, _)| !self.is_gone(*side));
        alive.filter(|(_, world)| may_end(world)).map(|(side, _)| side).collect()
    }

    /// At every moment at most one may end it, and there never is a second one.
    fn at_most_one(&self) {
        assert!(self.enders().len() <= 1, "two may end it: {self:#?}");
        assert!(self.hub.made <= 1, "a second cluster: {self:#?}");
    }
}

fn spec() -> Value {
    let test = json!({ "workflow": "ipi-aws", "clusterProfile": "aws" });
    json!({ "lifetime": "3h", "ciOperator": { "test": test } })
}

fn input() -> Value {
    json!({ "apiVersion": "testplatform.fn.crossplane.io/v1beta1", "kind": "Input", "bothFlavours": true })
}

/// `true` if its primary Object may do more than observe.
fn may_end(world: &World) -> bool {
    world.objects.get("ec").is_some_and(|ec| ec.object["spec"]["managementPolicies"] != json!(["Observe"]))
}

fn pinned(world: &World, remote: Option<&Value>) -> bool {
    let pin = |ec: &Value| ec["spec"]["forProvider"]["manifest"]["metadata"]["uid"].clone();
    let own = world.objects.get("ec").map(|ec| pin(&ec.object));
    own.is_some() && own == remote.map(|r| r["metadata"]["uid"].clone())
}

fn swap(hub: &mut Hub, world: &mut World) {
    std::mem::swap(&mut hub.remote, &mut world.remote);
    std::mem::swap(&mut hub.secrets, &mut world.secrets);
    std::mem::swap(&mut hub.made, &mut world.made);
    std::mem::swap(&mut hub.taken, &mut world.taken);
}

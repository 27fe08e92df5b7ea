//! Walks of a claim for a cluster of CaaS': whatever happens, in whatever order, nothing that exists is dropped, no second cluster is made,
//! nothing of it is changed, and an end that is asked for is reached, though never before the cluster is gone.

use function_model::{
    caas,
    walks::{Own, assert_ends, walk_by_template, walk_by_template_in_namespace},
    world::World,
};
use proptest::{prelude::*, strategy::BoxedStrategy};
use serde_json::{Value, json};

/// Events of such a claim alone.
#[derive(Clone, Copy, Debug)]
enum Happens {
    Installing,
    Made,
    Installed,
    Published,
    SetupFails,
    Lost,
    HostedDown,
    HostedGone,
    Resized,
    Upgraded,
    Observes,
    CatalogueChanged,
}

impl Own for Happens {
    const WRITER: &'static str = "instance";

    fn world() -> World {
        World::chart_observed()
    }

    fn catalogue() -> Vec<Value> {
        observed_catalogue()
    }

    fn hub(name: &str) -> Value {
        caas::build_hub(name)
    }

    fn nonsense() -> Value {
        json!({ "conditions": [{ "type": 1 }], "phase": "x" })
    }

    fn usual() -> BoxedStrategy<Self> {
        prop_oneof![
            3 => Just(Self::Installing), 3 => Just(Self::Made), 4 => Just(Self::Installed),
            4 => Just(Self::Published),
        ]
        .boxed()
    }

    fn rare() -> Vec<Self> {
        vec![
            Self::SetupFails,
            Self::Lost,
            Self::HostedDown,
            Self::HostedGone,
            Self::Resized,
            Self::Upgraded,
            Self::Observes,
            Self::CatalogueChanged,
        ]
    }

    fn happen(self, world: &mut World) {
        match self {
            Self::Installing => world.report_caas("ClusterInstalling", "Cluster is installing", &[]),
            Self::Made => world.argo_makes(),
            Self::Installed => world.caas_installs(),
            Self::Published => {
                world.caas_installs();
                world.caas_publishes();
            }
            Self::SetupFails => world.report_caas("ClusterSetupFailed", "no such chart", &[]),
            Self::Lost => {
                let lost = [("ClusterInstallSucceeded", "False", "ClusterStatusFailed", "not found")];
                world.report_caas("Ready", "Cluster is ready", &lost);
            }
            Self::HostedDown => world.report_hosted_cluster("Available", "False", "Down", ""),
            Self::HostedGone => world.hosted = None,
            Self::Resized => world.spec["parameters"] = json!({ "instanceType": "m5.xlarge" }),
            Self::Upgraded => world.spec["version"] = json!("4.21"),
            Self::Observes => {
                if !world.templates.is_empty() {
                    world.catalogue_entry("chart")["observes"] = json!(null);
                }
            }
            Self::CatalogueChanged => {
                world.templates = observed_catalogue();
                world.catalogue_entry("chart")["backendRef"]["clusterTemplate"] = json!("other");
            }
        }
    }
}

/// The catalogue whose entry says that HyperShift is behind it.
fn observed_catalogue() -> Vec<Value> {
    World::chart_observed().templates
}

/// Though never while a HostedCluster is there that was looked at.
fn ends_after_its_cluster(world: &mut World) -> Result<(), TestCaseError> {
    world.reachable = true;
    world.settle();
    let open = world.condition("ProwJobCompleted").0 != "True";
    let seen = world.objects.get("hosted").is_some_and(|hosted| {
        let looked_at = &hosted.object["spec"]["forProvider"]["manifest"]["metadata"]["name"];
        world.hosted.as_ref().is_some_and(|there| there["metadata"]["name"] == *looked_at)
    });
    world.spec["tearDownCluster"] = json!(true);
    world.settle();
    world.hive_is_done();
    world.settle();
    if open && seen {
        prop_assert_eq!(world.condition("ProwJobCompleted").0, "False", "{:#?}", world);
    }
    world.hosted = None;
    assert_ends(world)
}

#[test]
fn any_walk_makes_one_cluster_at_most_and_ends_1() {
    walk_by_template::<Happens>(1, ends_after_its_cluster);
}

#[test]
fn any_walk_makes_one_cluster_at_most_and_ends_2() {
    walk_by_template::<Happens>(2, ends_after_its_cluster);
}

#[test]
fn any_walk_in_namespace_keeps_invariants() {
    walk_by_template_in_namespace::<Happens>(3, ends_after_its_cluster);
}

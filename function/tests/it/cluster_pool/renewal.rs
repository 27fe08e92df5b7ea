//! Editions, refresh, and rotation of credentials.

use function_model::pool::PoolWorld;
use serde_json::{Value, json};

use crate::cluster_pool::{asked, is, made, sizes};

fn name_in_use(world: &PoolWorld) -> &Value {
    &world.manifest()["spec"]["platform"]["aws"]["credentialsSecretRef"]["name"]
}

#[test]
fn an_edited_pool_shows_which_clusters_are_stale() {
    let mut world = made(&json!({}));
    world.report_counts(3, 2, 1);
    world.report_hive(
        "AllClustersCurrent",
        "True",
        "ClusterDeploymentsCurrent",
        "All ClusterDeployments are current",
    );
    world.settle();
    is(&world, "PoolCurrent", "True", "ClusterDeploymentsCurrent");
    assert_eq!(world.status["rollout"], json!({ "current": 3, "upToDate": true }));
    world.change(&json!({ "imageSetRef": { "name": "ocp-4.20.1" } }));
    world.settle();
    assert_eq!(world.manifest()["spec"]["imageSetRef"]["name"], "ocp-4.20.1");
    let words = "Some ClusterDeployments are stale: aws-420-abcde, aws-420-fghij";
    world.report_hive("AllClustersCurrent", "False", "SomeClusterDeploymentsStale", words);
    world.settle();
    is(&world, "PoolCurrent", "False", "SomeClusterDeploymentsStale");
    assert_eq!(
        world.status["rollout"],
        json!({ "current": 1, "stale": ["aws-420-abcde", "aws-420-fghij"], "upToDate": false })
    );
    assert_eq!(world.phase(), "Ready", "a rollout is no trouble");
}

#[test]
fn refresh_lowers_the_size_only_while_requested() {
    let refresh = json!({ "nonce": "1", "strategy": "Recreate", "maxUnavailable": 2 });
    let mut world = made(&json!({ "refresh": refresh }));
    let request = asked(&world);
    assert_eq!((request.size, request.refresh.unwrap().max_unavailable), (Some(3), Some(2)));
    is(&world, "Refreshing", "False", "NotTakenUp");
    let report = |phase: &str, nonce: &str| json!({ "ceiling": { "size": 1, "runningCount": 0 }, "refresh": { "nonce": nonce, "phase": phase, "remaining": 2 } });
    world.report_provider(&report("Down", "1"));
    world.settle();
    assert_eq!(sizes(&world), (json!(1), json!(0), json!(10)));
    assert_eq!(asked(&world).size, Some(3), "what is usual is still said");
    is(&world, "Refreshing", "True", "Down");
    assert_eq!(world.status["refresh"], json!({ "nonce": "1", "phase": "Down", "remaining": 2 }));
    // A ceiling that nobody asks for any more is void: the way out if the provider is away.
    world.change(&json!({ "refresh": null }));
    world.settle();
    assert_eq!(sizes(&world).0, 3);
    world.change(&json!({ "refresh": { "nonce": "2" } }));
    world.settle();
    assert_eq!(sizes(&world).0, 3, "a report about another refresh is none about this");
    is(&world, "Refreshing", "False", "NotTakenUp");
    assert_eq!(asked(&world).refresh.unwrap().max_unavailable, Some(1), "Rolling is one at a time");
    world.report_provider(&report("Done", "2"));
    world.settle();
    assert_eq!(sizes(&world).0, 3);
    is(&world, "Refreshing", "False", "Done");
    world.report_provider(&report("Stalled", "2"));
    world.settle();
    is(&world, "Refreshing", "False", "Stalled");
}

#[test]
fn another_content_under_the_same_name_recommends_a_refresh() {
    let mut world = made(&json!({}));
    is(&world, "RefreshRecommended", "Unknown", "NotWatched");
    world.report_provider(
        &json!({ "artifacts": { "imageSet": "ocp-4.20", "releaseImage": "r1", "changed": true } }),
    );
    world.settle();
    is(&world, "RefreshRecommended", "True", "ImageSetChanged");
    let own = json!({ "ceiling": { "size": 2 }, "refresh": { "nonce": "artifact:r2", "phase": "Down" } });
    world.report_provider(&own);
    world.settle();
    assert_eq!(sizes(&world).0, 3, "nobody allowed it");
    world.change(&json!({ "refresh": { "onArtifactChange": "Rolling" } }));
    world.settle();
    assert_eq!(sizes(&world).0, 2);
}

#[test]
fn draining_rotation_uses_new_credentials_without_clusters() {
    let mut world = made(&json!({ "credentialsRotation": { "mode": "Drain" } }));
    assert_eq!(name_in_use(&world), "aws-1", "the first are used at once");
    world.change(&json!({ "credentialsRef": { "name": "aws-2" } }));
    world.settle();
    assert_eq!(name_in_use(&world), "aws-1");
    assert_eq!(asked(&world).credentials.unwrap().name, "aws-2");
    let report = |phase: &str| {
        json!({ "ceiling": { "size": 0 }, "rotation": {
            "name": "aws-2", "phase": phase, "onOld": 1, "claimedOnOld": 1, "clustersOnOld": ["aws-420-abcde"],
        } })
    };
    world.report_provider(&report("Draining"));
    world.settle();
    assert_eq!((name_in_use(&world), sizes(&world).0), (&json!("aws-1"), json!(0)));
    is(&world, "OldCredentialsReleasable", "False", "Draining");
    assert!(world.events.contains(&"ScaledToZero".to_owned()));
    world.report_provider(&report("Switching"));
    world.settle();
    assert_eq!((name_in_use(&world), sizes(&world).0), (&json!("aws-2"), json!(0)));
    world.report_provider(&json!({ "rotation": { "name": "aws-2", "phase": "Done" } }));
    world.settle();
    assert_eq!((name_in_use(&world), sizes(&world).0), (&json!("aws-2"), json!(3)));
    is(&world, "OldCredentialsReleasable", "True", "NotInUse");
}

#[test]
fn draining_rotation_of_an_externally_scaled_pool_names_who_empties_it() {
    let mut world = made(&json!({ "scalingMode": "External", "credentialsRotation": { "mode": "Drain" } }));
    world.change(&json!({ "credentialsRef": { "name": "aws-2" } }));
    world.settle();
    let report = |phase: &str| {
        json!({ "ceiling": { "size": 0 }, "rotation": {
            "name": "aws-2", "phase": phase, "onOld": 1, "claimedOnOld": 1, "clustersOnOld": ["aws-420-abcde"],
        } })
    };
    world.report_provider(&report("Draining"));
    world.settle();
    assert_eq!((name_in_use(&world), world.remote()["spec"]["size"].clone()), (&json!("aws-1"), json!(3)));
    is(&world, "OldCredentialsReleasable", "False", "ExternalScaling");
    let said = world.condition_message("OldCredentialsReleasable");
    assert!(said.contains("scale it to 0") && said.contains("mode Replace"), "{said}");
    // They did: what is left is waited for, as ever.
    world.on_the_hub(&json!({ "spec": { "size": 0 } }));
    world.settle();
    is(&world, "OldCredentialsReleasable", "False", "Draining");
    world.report_provider(&report("Switching"));
    world.settle();
    assert_eq!(name_in_use(&world), "aws-2");
}

#[test]
fn rotation_by_replacing_uses_the_new_credentials_at_once() {
    let mut world = made(&json!({}));
    world.change(&json!({ "credentialsRef": { "name": "aws-2" } }));
    world.settle();
    assert_eq!((name_in_use(&world), sizes(&world).0), (&json!("aws-2"), json!(3)));
}

#[test]
fn unused_old_credentials_are_reported() {
    let mut world = made(&json!({}));
    is(&world, "OldCredentialsReleasable", "Unknown", "NotWatched");
    world.report_provider(&json!({ "rotation": { "name": "aws-1", "phase": "First" } }));
    world.settle();
    is(&world, "OldCredentialsReleasable", "False", "NoRotation");
    world.change(&json!({ "credentialsRef": { "name": "aws-2" } }));
    world.settle();
    is(&world, "OldCredentialsReleasable", "False", "InUse");
    let report = json!({ "rotation": {
        "name": "aws-2", "phase": "Replacing", "onOld": 2, "claimedOnOld": 1, "clustersOnOld": ["aws-420-a", "aws-420-b"],
    } });
    world.report_provider(&report);
    world.settle();
    is(&world, "OldCredentialsReleasable", "False", "InUse");
    assert_eq!(
        world.condition_message("OldCredentialsReleasable"),
        "the old credentials are needed to destroy clusters: 2 clusters, 1 of them claimed: aws-420-a, aws-420-b"
    );
    let expected = json!({ "secretName": "aws-2", "phase": "Replacing", "clustersOnOld": ["aws-420-a", "aws-420-b"], "claimedOnOld": 1 });
    assert_eq!(world.status["rotation"], expected);
    world.report_provider(&json!({ "rotation": { "name": "aws-2", "phase": "Done" } }));
    world.settle();
    is(&world, "OldCredentialsReleasable", "True", "NotInUse");
    assert!(world.events.contains(&"OldCredentialsReleasable".to_owned()));
}

//! Refresh, rotation and memory of pools, in a world in which Hive and the composition function do as they do.

#![allow(clippy::cast_possible_wrap, reason = "counts of a handful")]

mod model;
mod refresh;
mod rotation;

use provider_testplatform::controllers::cluster_pool::{
    clusters::PoolCluster,
    pool::{Pool, Unread},
};
use serde_json::{Value, json};
use testplatform_apis::names::ours;

use model::Model;

#[test]
fn the_last_failure_outlives_the_cluster_that_could_tell() {
    let deployment = |message: &str, reason: &str| {
        json!({
            "metadata": { "name": "aws-420-abcde", "creationTimestamp": "2026-11-23T11:00:00Z" },
            "spec": { "clusterPoolRef": { "namespace": "cluster-pools", "poolName": "aws-420", "claimName": "" } },
            "status": { "installRestarts": 0, "conditions": [{
                "type": "ProvisionFailed", "status": "True", "reason": reason, "message": message,
                "lastTransitionTime": "2026-11-23T11:50:00Z",
            }] },
        })
    };
    let read = |object: &Value| PoolCluster::read(object, "cluster-pools", "aws-420");
    let mut model = Model::new(1, 0);
    model.world.clusters.push(read(&deployment("AWS VPC limit exceeded", "AWSVPCLimitExceeded")).unwrap());
    model.look();
    model.world.clusters.pop();
    model.run(5);
    let failure = model.known().last_provision_failure.unwrap();
    assert_eq!(
        (failure.reason.as_str(), failure.message.as_str()),
        ("AWSVPCLimitExceeded", "AWS VPC limit exceeded")
    );
    assert_eq!((failure.attempt, failure.cluster_deployment.as_str()), (Some(1), "aws-420-abcde"));
    assert_eq!(model.events, ["ProvisionFailed"]);
    // It is overcome once a younger cluster is installed, also if that is claimed and given back since.
    assert_eq!(model.known().provision_failure_overcome, None);
    let claimed = model.claim();
    model.run(5);
    assert_eq!(model.known().provision_failure_overcome, None, "the claimed one is older than it");
    model.run(40);
    let claimed = [claimed, model.claim()];
    model.run(1);
    assert_eq!(model.known().provision_failure_overcome, Some(true));
    model.world.clusters.retain(|c| !claimed.contains(&c.name));
    model.run(5);
    assert_eq!(model.known().provision_failure_overcome, Some(true));
    assert_eq!(model.known().last_provision_failure, Some(failure));
    // The next one is not, nor is one of which nobody knows when it was.
    let mut next = deployment("AWS VPC limit exceeded", "AWSVPCLimitExceeded");
    next["status"]["conditions"][0]["lastTransitionTime"] = json!("2026-11-23T23:00:00Z");
    model.world.clusters.push(read(&next).unwrap());
    model.look();
    assert_eq!(model.known().provision_failure_overcome, None);
    let mut model = Model::new(1, 0);
    next["status"]["conditions"][0].as_object_mut().unwrap().remove("lastTransitionTime");
    model.world.clusters.push(read(&next).unwrap());
    model.look();
    assert!(model.known().last_provision_failure.is_some());
    assert_eq!(model.known().provision_failure_overcome, None);
    // A message that quotes the log is not repeated: it may quote a secret.
    for (message, reason) in [
        ("level=error msg=\"token sha256~secret\"", "X"),
        ("sha256~secret", "UnknownError"),
        ("a\nsha256~secret", "X"),
    ] {
        let failure = read(&deployment(message, reason)).unwrap().failure.unwrap();
        assert!(!failure.message.contains("secret"), "{failure:?}");
    }
    assert_eq!(PoolCluster::read(&deployment("m", "R"), "elsewhere", "aws-420"), None, "another pool's");
}

#[test]
fn deleted_pool_is_only_counted() {
    let mut model = Model::new(2, 0);
    model.claim();
    model.ask("1", None);
    model.look();
    assert!(model.known().ceiling.is_some());
    model.pool.deleting = true;
    model.look();
    assert_eq!((model.known().ceiling, model.known().claimed), (None, Some(1)));
}

#[test]
fn namesake_pool_is_reported() {
    let mut model = Model::new(1, 0);
    model.world.namesakes = vec!["elsewhere".into()];
    model.look();
    model.look();
    assert_eq!(
        (model.known().namesakes, model.events),
        (vec!["elsewhere".to_owned()], vec!["NameTaken".to_owned()])
    );
}

#[test]
fn only_requested_pools_are_managed() {
    let mut object = json!({
        "metadata": { "name": "aws-420", "namespace": "cluster-pools", "annotations": {} },
        "spec": { "size": 3, "runningCount": 1, "imageSetRef": { "name": "i" }, "platform": { "openstack": { "credentialsSecretRef": { "name": "c" } } } },
    });
    assert_eq!(Pool::read(&object), Err(Unread::NotOurs));
    object["metadata"]["annotations"][ours::POOL_REQUEST] =
        json!(r#"{"size":3,"onArtifactChange":"Report"}"#);
    let pool = Pool::read(&object).unwrap();
    assert_eq!((pool.size, pool.running_count, pool.always_runs), (3, 1, true));
    assert_eq!((pool.credentials.as_deref(), pool.image_set.as_str(), pool.known), (Some("c"), "i", None));
    assert_eq!(pool.most, None);
    object["spec"]["maxSize"] = json!(5);
    assert_eq!(Pool::read(&object).unwrap().most, Some(5));
    object["spec"]["inventory"] = json!([{ "name": "a" }, { "name": "b" }]);
    assert_eq!(Pool::read(&object).unwrap().most, Some(2));
    object["metadata"]["annotations"][ours::POOL_STATUS] = json!("no object");
    assert!(matches!(Pool::read(&object), Err(Unread::Broken(_))));
}

//! Claims and TestClusters count together, where both are served.

use function_model::{
    hive::{build_peer, holding_status},
    response_to_json,
    world::World,
};
use prost::Message as _;
use serde_json::{Value, json};

/// A TestCluster of a tenant that has a cluster of a pool.
fn namesake(tenant: &str) -> Value {
    let mut peer = build_peer("demo-x7k2p", tenant, &holding_status("hive-a-config", "aws-420"));
    peer["kind"] = json!("TestCluster");
    peer["metadata"]["namespace"] = json!(tenant);
    peer["spec"].as_object_mut().unwrap().remove("claimRef");
    peer["spec"]["crossplane"] = json!({});
    peer
}

/// One cluster for each tenant.
fn world(both: bool) -> World {
    let mut world = World::hive_claim();
    world.catalogue.as_mut().unwrap()["quotas"] = json!([{ "tenant": "tenant-a", "maxConcurrent": 1 }]);
    if both {
        world.input["bothFlavours"] = json!(true);
    }
    world
}

fn held(world: &mut World) -> bool {
    world.settle();
    world.condition("RequestAccepted") == ("False".to_owned(), "QuotaExceeded".to_owned())
}

#[test]
fn a_quota_counts_both() {
    let mut claim = world(true);
    claim.peers_beside = vec![namesake("tenant-a")];
    assert!(held(&mut claim));
    claim.peers_beside = vec![namesake("tenant-b")];
    assert!(!held(&mut claim));
    let mut cluster = world(true).in_namespace();
    cluster.peers_beside = vec![build_peer("older", "tenant-a", &holding_status("hive-a-config", "aws-420"))];
    assert!(held(&mut cluster));
}

/// One of the same name in another namespace is another one; the composite itself is none of its peers.
#[test]
fn a_namesake_elsewhere_is_no_less_a_peer() {
    let mut cluster = world(false).in_namespace();
    cluster.peers = vec![namesake("tenant-a")];
    assert!(!held(&mut cluster), "that is itself");
    let mut cluster = world(false).in_namespace();
    cluster.catalogue.as_mut().unwrap()["hubs"][0]["maxClusters"] = json!(1);
    cluster.peers = vec![namesake("tenant-b")];
    cluster.settle();
    assert_eq!(cluster.condition("RequestAccepted").1, "HubFull");
}

/// A kind that core does not know fails the whole pass: the other is asked for only where the input says that it is there.
#[test]
fn each_kind_requires_peers_of_both_kinds() {
    let asked = |world: &World| -> Vec<(String, String)> {
        let answer = testplatform_composites::run(
            &world.request(),
            &testplatform_composites::Options::default(),
            world.now,
        );
        let requirements = answer.requirements.unwrap();
        let mut clusters: Vec<_> =
            requirements.resources.into_iter().filter(|(name, _)| name.starts_with("clusters")).collect();
        clusters.sort_by(|a, b| a.0.cmp(&b.0));
        clusters.into_iter().map(|(name, selector)| (name, selector.kind)).collect()
    };
    let pair = |name: &str, kind: &str| (name.to_owned(), kind.to_owned());
    let claim = "XTestPlatformCluster";
    assert_eq!(asked(&world(false)), [pair("clusters", claim)]);
    assert_eq!(asked(&world(true)), [pair("clusters", claim), pair("clusters-beside", "TestCluster")]);
    assert_eq!(asked(&world(false).in_namespace()), [pair("clusters", "TestCluster")]);
    assert_eq!(
        asked(&world(true).in_namespace()),
        [pair("clusters", "TestCluster"), pair("clusters-beside", claim)]
    );
}

/// Half of them would be a wrong count.
#[test]
fn quota_is_undecided_before_both_kinds_are_read() {
    let mut request = world(true).request();
    request.required_resources.remove("clusters-beside");
    let answer =
        testplatform_composites::run(&request, &testplatform_composites::Options::default(), world(true).now);
    assert!(!answer.desired.as_ref().unwrap().resources.contains_key("claim"));
    assert!(answer.encoded_len() > 0);
    let accepted = response_to_json(&answer)["conditions"]
        .as_array()
        .unwrap()
        .iter()
        .find(|c| c["type"] == "RequestAccepted")
        .cloned();
    assert_eq!(accepted.unwrap()["status"], "STATUS_CONDITION_FALSE");
}

//! Values nested deeper than the function reads: the API server stores them. A cluster that is there keeps its rules, and counts.

use function_model::{
    hive,
    templates::{build_peer, holding_status},
    world::World,
};
use jiff::SignedDuration;
use prost::Message as _;
use rstest::rstest;
use serde_json::{Value, json};
use testplatform_composites::{
    Options, run,
    sdk::{
        proto::{Resource, RunFunctionRequest, Severity},
        wire,
    },
};

use crate::wire::proto_struct;

fn nested(levels: usize) -> Value {
    (0..levels).fold(json!([]), |inner, _| json!([inner]))
}

/// Writes any depth, as core does.
fn object(value: &Value) -> Vec<u8> {
    proto_struct(value.as_object().unwrap()).encode_to_vec()
}

/// The request of a world in which a field of the claim is something else.
pub fn request(world: &World, pointer: &str, value: &Value) -> RunFunctionRequest {
    let mut request = world.request();
    let mut composite = world.composite();
    let (parent, field) = pointer.rsplit_once('/').unwrap();
    composite.pointer_mut(parent).unwrap()[field] = value.clone();
    let observed = request.observed.as_mut().unwrap().composite.as_mut().unwrap();
    observed.resource = object(&composite).into();
    request
}

/// Phase and message of the answer, which is not FATAL.
pub fn answer(request: &RunFunctionRequest, world: &World) -> (String, String) {
    let response = run(request, &Options::default(), world.now);
    let fatal = response.results.iter().find(|r| r.severity == i32::from(Severity::Fatal));
    assert!(fatal.is_none(), "{fatal:?}");
    let composite = response.desired.unwrap().composite.unwrap();
    let status = wire::to_value(&composite.resource).unwrap()["status"].clone();
    let text = |field: &str| status[field].as_str().unwrap_or_default().to_owned();
    (text("phase"), text("message"))
}

#[rstest]
#[case::parameters(World::hosted_ready(), "/spec/parameters/proxy")]
#[case::node_groups(World::hosted_ready(), "/spec/nodeGroups")]
#[case::byoc(World::hosted_ready(), "/spec/byoc")]
#[case::ci_operator(World::ready(), "/spec/ciOperator/test")]
#[case::cluster_claim(World::hive_ready(), "/spec/clusterClaim/labels")]
#[case::status(World::ready(), "/status/backend")]
fn a_field_that_is_too_deep_ends_no_rule(#[case] mut world: World, #[case] pointer: &str) {
    if pointer.contains("parameters") {
        world.spec["parameters"] = json!({});
    }
    world.spec["lifetime"] = json!("2h");
    world.settle();
    for levels in [20, 60, 90, 98, 200] {
        let deep = nested(levels);
        assert_eq!(answer(&request(&world, pointer, &deep), &world).0, "Ready", "{levels} levels");
        let mut later = world.clone();
        later.advance_time(SignedDuration::from_hours(3));
        assert_eq!(answer(&request(&later, pointer, &deep), &later).0, "Deprovisioning", "{levels} levels");
        let mut ended = world.clone();
        ended.spec["tearDownCluster"] = json!(true);
        assert_eq!(answer(&request(&ended, pointer, &deep), &ended).0, "Deprovisioning", "{levels} levels");
    }
}

#[rstest]
#[case(World::hypershift_claim(), "/spec/parameters/proxy", "spec.parameters")]
#[case(World::default(), "/spec/ciOperator/test", "spec.ciOperator")]
fn a_new_claim_that_is_too_deep_is_refused(
    #[case] mut world: World,
    #[case] pointer: &str,
    #[case] field: &str,
) {
    if pointer.contains("parameters") {
        world.spec["parameters"] = json!({});
    }
    for levels in [70, 98, 200] {
        let (phase, message) = answer(&request(&world, pointer, &nested(levels)), &world);
        assert_eq!(phase, "Failed", "{levels} levels: {message}");
        assert!(message.contains(field), "{levels} levels: {message}");
    }
}

#[test]
fn a_cluster_counts_though_its_claim_is_too_deep() {
    let mut world = World::with_template("hosted");
    let mut catalogue = hive::pool_catalogue();
    catalogue["quotas"] = json!([{ "tenant": "tenant-a", "maxConcurrent": 1 }]);
    world.catalogue = Some(catalogue);
    let mut other = build_peer("one", "tenant-a", &holding_status(2));
    other["spec"]["parameters"] = json!({ "proxy": nested(98) });
    let mut request = world.request();
    let resource = Resource { resource: object(&other).into(), ..Resource::default() };
    request.required_resources.get_mut("clusters").unwrap().items = vec![resource];
    let (phase, message) = answer(&request, &world);
    assert_eq!(phase, "Pending");
    assert!(message.contains("namespace tenant-a has used its quota of 1 cluster"), "{message}");
}

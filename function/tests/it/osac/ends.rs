//! Teardown, and what is lost.

use function_model::world::World;
use serde_json::json;

use crate::osac::is;

#[test]
fn teardown_reports_its_step_and_leaves_nothing() {
    let mut world = World::order_ready();
    world.spec["tearDownCluster"] = json!(true);
    world.settle();
    assert_eq!(world.phase(), "Deprovisioning");
    assert!(!world.remote.as_ref().unwrap()["metadata"]["deletionTimestamp"].is_null());
    assert!(!world.objects.contains_key("hosted") && !world.objects.contains_key("pool-workers"));
    world.osac_job("job-9", "deprovision", "Running", "releasing hosts");
    world.settle();
    assert_eq!(world.status["progress"]["step"], "Deleting");
    assert!(world.status["progress"]["message"].as_str().unwrap().contains("releasing hosts"));
    assert_eq!(world.condition("TearDownComplete"), is("False", "InProgress"));
    // Its remains would incur cost unseen, so the order stays.
    world.osac_job("job-9", "deprovision", "Failed", "the switch does not answer");
    world.settle();
    assert_eq!(world.condition("TearDownComplete"), is("False", "Blocked"));
    assert!(world.condition_message("TearDownComplete").contains("the switch does not answer"));
    assert_eq!(world.phase(), "Deprovisioning", "it is tried again");
    world.osac_job("job-10", "deprovision", "Running", "");
    world.settle();
    assert_eq!(world.condition("TearDownComplete"), is("False", "InProgress"));
    world.hive_is_done();
    world.settle();
    assert_eq!(world.phase(), "Deprovisioned");
    assert_eq!(world.condition("TearDownComplete"), is("True", "TornDown"));
    assert_eq!(world.made, 1);
}

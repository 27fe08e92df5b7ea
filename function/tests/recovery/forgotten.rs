//! What the writer has forgotten, or what one pass did not see of it. Others remember it.

use function_model::world::World;
use jiff::SignedDuration;
use serde_json::json;

use crate::told_to_end;

/// The owner may have taken the wish back meanwhile, or asked for a longer life: an end that was begun is not taken back.
#[test]
fn a_teardown_stays_asked_for_whatever_one_pass_did_not_see() {
    let lose: [fn(&mut World); 2] = [
        // It is there, and its writer is as well.
        |world| world.refs.clear(),
        |world| {
            world.objects.remove("ec");
            world.drop_status();
        },
    ];
    for (expired, arrives) in [(false, true), (true, true), (false, false)] {
        for lose in lose.into_iter().take(if arrives { 2 } else { 1 }) {
            let mut world = World::default();
            world.spec["lifetime"] = json!("2h");
            world.settle();
            world.hub_ready();
            world.settle();
            world.reachable = arrives;
            if expired {
                world.later(SignedDuration::from_hours(2));
            } else {
                world.spec["tearDownCluster"] = json!(true);
            }
            world.settle();
            assert_eq!((world.phase().as_str(), told_to_end(&world)), ("Deprovisioning", arrives));
            world.spec["tearDownCluster"] = json!(false);
            world.spec["lifetime"] = json!("8h");
            lose(&mut world);
            world.pass();
            world.reachable = true;
            world.settle();
            assert!(told_to_end(&world), "expired: {expired}");
            assert_eq!(world.phase(), "Deprovisioning");
        }
    }
}

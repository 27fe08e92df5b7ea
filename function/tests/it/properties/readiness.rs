//! Readiness of composed resources.

use function_model::world::World;
use prost::Message as _;
use testplatform_composites::{Options, run, sdk::proto};

/// Core emits an event for each resource that is not ready, and client-go drops the transitions after 25 events of an object.
#[test]
fn core_with_capabilities_gets_no_unready_resource() {
    let world = World::default();
    let mut request = world.request();
    let readiness = |request: &proto::RunFunctionRequest| {
        let desired = run(request, &Options::default(), world.now).desired.unwrap();
        let resources =
            desired.resources.values().map(|bytes| proto::Resource::decode(&bytes[..]).unwrap().ready());
        (desired.composite.unwrap().ready(), resources.collect::<Vec<_>>())
    };
    let (composite, resources) = readiness(&request);
    assert_eq!(composite, proto::Ready::False);
    assert!(resources.contains(&proto::Ready::False), "a core that polls comes back at once");
    request.meta.as_mut().unwrap().capabilities = vec![1];
    let (composite, resources) = readiness(&request);
    assert_eq!(composite, proto::Ready::False);
    assert!(
        !resources.is_empty() && resources.iter().all(|ready| *ready == proto::Ready::True),
        "{resources:?}"
    );
}

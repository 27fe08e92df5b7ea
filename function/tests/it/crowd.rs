//! Claims of others that are as large as an object can be: they are counted, and cost memory only for what is counted by.

use std::fs;

use function_model::{
    hive,
    templates::{build_peer, holding_status},
    world::World,
};
use prost::Message as _;
use serde_json::{Value, json};
use testplatform_composites::sdk::{
    proto::{Resource, RunFunctionRequest},
    wire,
};

use crate::{
    binary::Serving,
    serve::harness::{call, channel},
};

/// More than one message may have.
const MANY: usize = 57;

/// The request of a claim by template while others of these specs are counted for its namespace.
fn request(others: &[Value], status: &Value) -> RunFunctionRequest {
    let mut world = World::with_template("hosted");
    let mut catalogue = hive::pool_catalogue();
    catalogue["quotas"] = json!([{ "tenant": "tenant-a", "maxConcurrent": others.len() }]);
    world.catalogue = Some(catalogue);
    let mut request = world.request();
    let items = others.iter().enumerate().map(|(i, spec)| {
        let mut other = build_peer(&format!("other-{i}"), "tenant-a", status);
        for (field, value) in spec.as_object().unwrap() {
            other["spec"][field] = value.clone();
        }
        Resource { resource: wire::to_struct(&other).unwrap(), ..Resource::default() }
    });
    request.required_resources.get_mut("clusters").unwrap().items = items.collect();
    request
}

/// The most that a process had in memory, in MiB.
fn peak(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() / 1024
}

#[tokio::test(flavor = "multi_thread")]
async fn large_claims_of_others_are_counted_and_take_no_memory() {
    let long = json!({ "parameters": { "note": "x".repeat(1_200_000) } });
    let numbers = json!({ "parameters": { "all": vec![1; 600_000] } });
    let forwarded = json!({ "ciOperator": { "note": "x".repeat(1_200_000) }, "template": null });
    let mut others = vec![long; MANY];
    others.extend(vec![numbers; 3]);
    let counted = others.len();
    let mut request = request(&others, &holding_status(1));
    let beside = Resource {
        resource: wire::to_struct(&{
            let mut other = build_peer("beside", "tenant-a", &holding_status(1));
            other["spec"] = forwarded;
            other
        })
        .unwrap(),
        ..Resource::default()
    };
    request.required_resources.get_mut("clusters").unwrap().items.push(beside);
    assert!(request.encoded_len() > 64 << 20, "{} bytes are no attack", request.encoded_len());

    let server = Serving::start(&[]);
    let (first, second) = (channel(server.address(), None), channel(server.address(), None));
    let (one, two) = tokio::join!(call(&first, request.clone()), call(&second, request));
    let peak = peak(server.process());
    server.kill();
    for response in [one.unwrap(), two.unwrap()] {
        let composite = response.desired.unwrap().composite.unwrap();
        let status = wire::to_value(&composite.resource).unwrap()["status"].clone();
        // The program goes by today's time, and the claim is of long ago.
        assert_eq!(status["phase"], "Failed", "{status}");
        let message = status["message"].as_str().unwrap();
        assert!(message.contains(&format!("used its quota of {counted} clusters")), "{message}");
    }
    assert!(peak <= 64, "{peak} MiB");
}

//! Everything that is asked for is what Cluster API's own definition takes, where that is there: no field that it does not know, none
//! that it lacks.

use std::fs;

use function_model::world::World;
use serde_json::{Value, json};
use testplatform_test_data::upstream;

use crate::cluster_api::asked;

const CRD: &str = "crds/clusters.cluster.x-k8s.io.yaml";

/// Strict validation of a value, as an API server does it.
fn flaws(at: &str, schema: &Value, value: &Value, found: &mut Vec<String>) {
    let mut flaw = |what: &str| found.push(format!("{at}: {what}"));
    let fits = match schema["type"].as_str() {
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("integer") => value.is_i64() || value.is_u64(),
        Some("boolean") => value.is_boolean(),
        _ => true,
    };
    if !fits || value.is_null() {
        flaw("has another type");
    }
    let counts = [
        ("minItems", value.as_array().map(Vec::len)),
        ("minProperties", value.as_object().map(serde_json::Map::len)),
        ("minLength", value.as_str().map(str::len)),
    ];
    for (rule, count) in counts {
        let least = schema[rule].as_u64().unwrap_or_default();
        if count.is_some_and(|count| (count as u64) < least) {
            flaw(&format!("{rule} is {least}"));
        }
    }
    let most = schema["maxLength"].as_u64().unwrap_or(u64::MAX);
    if value.as_str().is_some_and(|text| text.len() as u64 > most) {
        flaw("is too long");
    }
    if schema["enum"].as_array().is_some_and(|all| !all.contains(value)) {
        flaw("is none of those allowed");
    }
    for required in schema["required"].as_array().into_iter().flatten() {
        if value[required.as_str().unwrap()].is_null() {
            flaw(&format!("lacks {required}"));
        }
    }
    if schema["x-kubernetes-preserve-unknown-fields"] == true {
        return;
    }
    for (member, inner) in value.as_object().into_iter().flatten() {
        let of_member = &schema["properties"][member];
        let known = if of_member.is_null() { &schema["additionalProperties"] } else { of_member };
        if known.is_null() {
            found.push(format!("{at}.{member}: field not declared in schema"));
        } else {
            flaws(&format!("{at}.{member}"), known, inner, found);
        }
    }
    for (i, item) in value.as_array().into_iter().flatten().enumerate() {
        flaws(&format!("{at}[{i}]"), &schema["items"], item, found);
    }
}

#[test]
fn requested_cluster_fits_the_schema() {
    let directory = upstream();
    let crd: Value = serde_saphyr::from_str(&fs::read_to_string(directory.join(CRD)).unwrap()).unwrap();
    let versions = crd["spec"]["versions"].as_array().unwrap();
    let version = versions.iter().find(|v| v["name"] == "v1beta2").unwrap();
    let schema = &version["schema"]["openAPIV3Schema"]["properties"]["spec"];
    let mut plain = World::cluster_api_claim();
    plain.spec["nodeGroups"] = json!([]);
    let mut full = World::cluster_api_claim();
    full.spec["controlPlane"] = json!({ "replicas": 3, "class": "large" });
    full.spec["network"] = json!({
        "podCIDR": "10.8.0.0/14", "external": { "networkID": "2f4ea0a1-6bd5-4bd4-8b0c-9b8a4a1c5a99" },
    });
    full.spec["nodeGroups"] = json!([
        { "name": "a", "class": "default", "autoscale": { "min": 0, "max": 3 }, "failureDomain": "az-1",
          "labels": { "a": "b" }, "parameters": { "bootVolume": 50 } },
        { "name": "b", "class": "bigger", "count": 1 },
    ]);
    for mut world in [plain, full, World::topology_ready()] {
        world.pass();
        let mut found = Vec::new();
        flaws("spec", schema, &asked(&world)["spec"], &mut found);
        assert_eq!(found, [""; 0]);
    }
    // It sees what it is there for.
    let mut found = Vec::new();
    let wrong = json!({ "topology": { "classRef": {}, "version": 1, "workers": {}, "colour": "blue" } });
    flaws("spec", schema, &wrong, &mut found);
    for part in
        ["classRef: lacks", "version: has another", "workers: minProperties", "topology.colour: field not"]
    {
        assert!(found.iter().any(|f| f.contains(part)), "{part}: {found:?}");
    }
}

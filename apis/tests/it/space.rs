//! The definition of spaces: the incumbent's, and a status.

use serde_json::{Value, json};
use testplatform_apis::{
    space::{self, SpacePhase, SpaceStatus},
    xrd,
};
use testplatform_test_data::upstream;

use super::support::read_yaml;

const XRD: &str = "xrds/xnamespaces.eaas.konflux-ci.dev.yaml";

/// Fields that cannot change on a definition in use stay, and accepted objects stay accepted.
#[test]
fn the_definition_is_the_incumbents_with_a_status() {
    let ours = xrd::space_xrd().unwrap();
    let schema = ours.pointer("/spec/versions/0/schema/openAPIV3Schema").unwrap();
    assert_eq!(schema["properties"].as_object().unwrap().keys().collect::<Vec<_>>(), ["status"]);
    assert!(schema.get("required").is_none(), "a claim may leave out its spec");
    assert!(ours["spec"].get("connectionSecretKeys").is_none(), "all keys pass");
    let theirs = read_yaml(&upstream().join(XRD));
    assert_eq!(ours["metadata"], theirs["metadata"]);
    for field in ["group", "names", "claimNames", "connectionSecretKeys"] {
        assert_eq!(ours["spec"][field], theirs["spec"][field], "{field}");
    }
    let version =
        |xrd: &Value| ["name", "served", "referenceable"].map(|f| xrd["spec"]["versions"][0][f].clone());
    assert_eq!(version(&ours), version(&theirs));
    assert_eq!(ours["spec"]["versions"].as_array().unwrap().len(), 1);
}

#[test]
fn every_field_of_the_status_is_declared() {
    let status = SpaceStatus {
        phase: Some(SpacePhase::Degraded),
        message: Some("in words".into()),
        namespace: Some("space".into()),
    };
    let xrd = xrd::space_xrd().unwrap();
    let declared = xrd.pointer("/spec/versions/0/schema/openAPIV3Schema/properties/status").unwrap();
    let written = serde_json::to_value(&status).unwrap();
    let fields = |of: &Value| of.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(fields(&written), fields(&declared["properties"]));
    assert_eq!(declared["type"], "object");
    assert_eq!(declared["properties"]["phase"]["enum"], json!(["Pending", "Ready", "Degraded"]));
    assert_eq!(format!("{}.{}", space::SPACE_PLURAL, space::GROUP), "xnamespaces.eaas.konflux-ci.dev");
    assert_eq!(space::API_VERSION, format!("{}/{}", space::GROUP, space::VERSION));
}

//! The compatibility table: what a change of a definition does to claims in flight.

use rstest::rstest;
use serde_json::{Value, json};
use testplatform_package::bump::{Verdict, compare_definitions, compare_request, compare_schemas};
use testplatform_test_data::upstream;

fn field(old: &Value, new: &Value) -> Vec<Verdict> {
    let of = |schema: &Value| json!({ "type": "object", "properties": { "f": schema } });
    compare_schemas(&of(old), &of(new)).into_iter().map(|change| change.verdict).collect()
}

#[rstest]
#[case::type_changed(json!({"type": "string"}), json!({"type": "integer"}), Verdict::Breaking)]
#[case::list_became_a_map(json!({"type": "array"}), json!({"type": "object"}), Verdict::Breaking)]
#[case::enum_tightened(json!({"enum": ["a", "b"]}), json!({"enum": ["a"]}), Verdict::Maybe)]
#[case::enum_added(json!({}), json!({"enum": ["a"]}), Verdict::Maybe)]
#[case::enum_relaxed(json!({"enum": ["a"]}), json!({"enum": ["a", "b"]}), Verdict::Fine)]
#[case::pattern_added(json!({}), json!({"pattern": "^a$"}), Verdict::Maybe)]
#[case::pattern_removed(json!({"pattern": "^a$"}), json!({}), Verdict::Fine)]
#[case::minimum_grew(json!({"minimum": 1}), json!({"minimum": 2}), Verdict::Maybe)]
#[case::maximum_grew(json!({"maximum": 1}), json!({"maximum": 2}), Verdict::Fine)]
#[case::max_length_added(json!({}), json!({"maxLength": 3}), Verdict::Maybe)]
#[case::rule_added(json!({}), json!({"x-kubernetes-validations": [{"rule": "self"}]}), Verdict::Maybe)]
#[case::default_added(json!({}), json!({"default": 1}), Verdict::Warn)]
#[case::default_changed(json!({"default": 1}), json!({"default": 2}), Verdict::Warn)]
#[case::default_removed(json!({"default": 1}), json!({}), Verdict::Warn)]
#[case::null_refused(json!({"nullable": true}), json!({}), Verdict::Maybe)]
#[case::null_accepted(json!({}), json!({"nullable": true}), Verdict::Fine)]
#[case::list_type_changed(json!({"x-kubernetes-list-type": "set"}), json!({"x-kubernetes-list-type": "map"}), Verdict::Breaking)]
#[case::map_type_changed(json!({}), json!({"x-kubernetes-map-type": "atomic"}), Verdict::Breaking)]
#[case::any_value_of_keys(
    json!({"additionalProperties": {"type": "string"}}), json!({"additionalProperties": true}), Verdict::Fine)]
#[case::unknown_fields_pruned(json!({"x-kubernetes-preserve-unknown-fields": true}), json!({}), Verdict::Breaking)]
#[case::keys_narrowed(json!({"additionalProperties": true}), json!({"additionalProperties": false}), Verdict::Breaking)]
#[case::values_of_keys(
    json!({"additionalProperties": {"type": "string"}}), json!({"additionalProperties": {"type": "integer"}}), Verdict::Breaking)]
#[case::items(json!({"items": {"minimum": 1}}), json!({"items": {"minimum": 2}}), Verdict::Maybe)]
#[case::one_of_added(json!({}), json!({"oneOf": [{"required": ["a"]}]}), Verdict::Maybe)]
#[case::not_changed(json!({"not": {"required": ["a"]}}), json!({"not": {"required": ["b"]}}), Verdict::Maybe)]
#[case::any_of_removed(json!({"anyOf": [{}]}), json!({}), Verdict::Fine)]
#[case::unique_items(json!({"uniqueItems": false}), json!({"uniqueItems": true}), Verdict::Maybe)]
#[case::exclusive_no_longer(json!({"exclusiveMinimum": true}), json!({"exclusiveMinimum": false}), Verdict::Fine)]
#[case::items_added(json!({"type": "array"}), json!({"type": "array", "items": {"type": "string"}}), Verdict::Maybe)]
#[case::required_now(
    json!({"properties": {"a": {}}}), json!({"properties": {"a": {}}, "required": ["a"]}), Verdict::Breaking)]
#[case::required_no_longer(
    json!({"properties": {"a": {}}, "required": ["a"]}), json!({"properties": {"a": {}}}), Verdict::Fine)]
#[case::optional_property_added(json!({"properties": {}}), json!({"properties": {"a": {}}}), Verdict::Fine)]
#[case::property_removed(json!({"properties": {"a": {}}}), json!({"properties": {}}), Verdict::Breaking)]
fn a_change_of_a_field_has_the_verdict_of_the_table(
    #[case] old: Value,
    #[case] new: Value,
    #[case] verdict: Verdict,
) {
    assert_eq!(field(&old, &new), [verdict]);
    assert_eq!(field(&old, &old), [], "no change, no verdict");
}

#[test]
fn descriptions_do_not_count_and_a_default_makes_up_for_required() {
    assert_eq!(field(&json!({"description": "a"}), &json!({"description": "b"})), []);
    // Nor does it to say what is so without it.
    let list = json!({"type": "array"});
    assert_eq!(field(&list, &json!({"type": "array", "x-kubernetes-list-type": "atomic"})), []);
    let with_default = json!({"properties": {"a": {"default": 1}}, "required": ["a"]});
    assert_eq!(field(&json!({"properties": {}}), &with_default), [Verdict::Fine]);
}

#[test]
fn names_and_versions_of_a_definition_are_immutable() {
    let old = json!({
        "metadata": { "name": "x" },
        "spec": {
            "group": "g", "names": { "kind": "X" }, "claimNames": { "kind": "C" }, "connectionSecretKeys": ["a", "b"],
            "versions": [{ "name": "v1", "served": true, "referenceable": true, "schema": { "openAPIV3Schema": {} } }],
        },
    });
    let verdicts = |edit: &dyn Fn(&mut Value)| {
        let mut new = old.clone();
        edit(&mut new);
        compare_definitions(&old, &new).into_iter().map(|change| change.verdict).collect::<Vec<_>>()
    };
    assert_eq!(verdicts(&|_| {}), []);
    for edit in [
        &(|new: &mut Value| new["spec"]["group"] = json!("h")) as &dyn Fn(&mut Value),
        &|new| new["spec"]["names"]["shortNames"] = json!(["s"]),
        &|new| new["spec"]["claimNames"]["kind"] = json!("D"),
        &|new| new["spec"]["connectionSecretKeys"] = json!(["a"]),
        &|new| new["spec"]["versions"][0]["served"] = json!(false),
        &|new| new["spec"]["versions"] = json!([]),
    ] {
        assert_eq!(verdicts(edit), [Verdict::Breaking]);
    }
    assert_eq!(verdicts(&|new| new["spec"]["versions"][0]["deprecated"] = json!(true)), [Verdict::Warn]);
    assert_eq!(verdicts(&|new| new["spec"]["connectionSecretKeys"] = json!(["a", "b", "c"])), []);
    // None named is all of them.
    assert_eq!(verdicts(&|new| new["spec"]["connectionSecretKeys"] = json!([])), []);
    let mut all = old.clone();
    all["spec"]["connectionSecretKeys"] = json!([]);
    let said = compare_definitions(&all, &old);
    assert!(
        said.len() == 1 && said[0].verdict == Verdict::Breaking && said[0].what.contains("only a, b"),
        "{said:?}"
    );
}

/// The drift that is there today: the CRD knows releases that are relative to another, the XRD does not.
#[test]
fn the_upstream_xrd_lacks_release_relative() {
    let directory = upstream();
    let read = |name: &str| -> Value {
        serde_saphyr::from_str(&std::fs::read_to_string(directory.join(name)).unwrap()).unwrap()
    };
    let crd = read("crds/ephemeralclusters.ci.openshift.io.yaml");
    let drift: Vec<_> = compare_request(&crd, &read("xrds/xtestplatformclusters.ci.openshift.org.yaml"))
        .into_iter()
        .filter(|change| change.verdict > Verdict::Fine)
        .map(|change| format!("{}: {}", change.path, change.what))
        .collect();
    let expected = ".ciOperator.releases.*.release: relative is not in the XRD: strict clients are refused, others lose it";
    assert_eq!(drift, [expected]);
}

/// Ours takes whatever the CRD takes.
#[test]
fn our_own_xrd_lacks_nothing() {
    let directory = upstream();
    let crd = std::fs::read_to_string(directory.join("crds/ephemeralclusters.ci.openshift.io.yaml")).unwrap();
    let ours = testplatform_apis::xrd::test_platform_cluster().unwrap();
    let breaking: Vec<_> = compare_request(&serde_saphyr::from_str(&crd).unwrap(), &ours)
        .into_iter()
        .filter(|change| change.verdict == Verdict::Breaking)
        .collect();
    assert_eq!(breaking, []);
}

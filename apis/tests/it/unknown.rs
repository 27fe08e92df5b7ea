//! Fields that this copy of the schema does not know travel, and are named.

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use testplatform_apis::ci_operator::{
    CiOperator, find_problems, relax_schema, unknown_fields, upstream_schema, xrd_schema,
};

use crate::support::{admit, all_fields};

fn block(value: Value) -> CiOperator {
    serde_json::from_value(value).unwrap()
}

/// Which fields of an object are not known.
fn unknown(schema: &Value, value: &Value) -> Vec<String> {
    unknown_fields(schema, value.as_object().unwrap())
}

/// Problems of an object.
fn wrong(schema: &Value, value: &Value) -> Vec<(String, String)> {
    find_problems(schema, value.as_object().unwrap())
}

const RELATIVE: &str = "/properties/releases/additionalProperties/properties/release/properties";

fn without_relative() -> Value {
    let mut schema = upstream_schema().clone();
    schema.pointer_mut(RELATIVE).and_then(Value::as_object_mut).unwrap().remove("relative").unwrap();
    relax_schema(&schema)
}

/// The field that the upstream XRD lacks: there the API server prunes it, and N-1 becomes N.
#[test]
fn relative_is_known() {
    assert_eq!(xrd_schema().pointer(&format!("{RELATIVE}/relative/type")), Some(&json!("integer")));
    assert!(unknown(xrd_schema(), &all_fields()["ciOperator"]).is_empty());
    assert!(wrong(xrd_schema(), &all_fields()["ciOperator"]).is_empty());
}

#[test]
fn a_field_that_only_the_hub_knows_arrives_and_is_named() {
    let schema = without_relative();
    let value = all_fields()["ciOperator"].clone();
    assert_eq!(unknown(&schema, &value), ["releases.latest.release.relative"]);
    assert!(wrong(&schema, &value).is_empty(), "unknown is not wrong");
    assert_eq!(admit(&schema, &value, None), Ok(()), "the API server keeps it");
    let forwarded = Value::Object(block(value.clone()).to_forwarded());
    assert_eq!(forwarded.pointer("/releases/latest/release/relative"), Some(&json!(1)));
    assert_eq!(forwarded, value);
}

#[test]
fn unknown_fields_are_named_at_every_level() {
    let value = json!({
        "brandNew": { "with": { "much": "inside" } },
        "buildRoot": { "project_image": { "build_args": [{ "name": "A" }, { "secret": "x" }] } },
        "test": { "clusterClaim": { "region": "x" }, "env": { "ANYTHING": "goes" } },
        "baseImages": { "a.b": { "digest": "x" } },
        "resources": null,
        "gone": null,
    });
    assert_eq!(
        unknown(xrd_schema(), &value),
        [
            "baseImages[\"a.b\"].digest",
            "brandNew",
            "buildRoot.project_image.build_args[1].secret",
            "test.clusterClaim.region",
        ]
    );
}

#[test]
fn problems_name_field_and_type() {
    let value = json!({
        "baseImages": { "cli": { "name": "cli", "namespace": 7 } },
        "releases": { "latest": { "release": { "channel": "stable", "version": 4.20, "relative": "1" } } },
        "test": { "env": ["A=B"], "clusterClaim": {} },
        "buildRoot": { "from_repository": "yes" },
    });
    let found = |path: &str, sentence: &str| (path.to_owned(), sentence.to_owned());
    let expected = [
        found("baseImages.cli.namespace", "must be a string, not a whole number"),
        found("baseImages.cli.tag", "is required"),
        found("buildRoot.from_repository", "must be true or false, not a string"),
        found("releases.latest.release.relative", "must be a whole number, not a string"),
        found("releases.latest.release.version", "must be a string, not a number"),
        found("test.env", "must be an object, not a list"),
    ];
    assert_eq!(wrong(xrd_schema(), &value), expected);
    // The hub itself wants a claim that is there to be complete.
    assert!(wrong(upstream_schema(), &value).contains(&found("test.clusterClaim.cloud", "is required")));
    // Numbers travel as doubles.
    let doubles = json!({ "releases": { "l": { "candidate": { "product": "ocp", "stream": "ci", "version": "4.20", "relative": 2.0 } } } });
    assert!(wrong(xrd_schema(), &doubles).is_empty());
}

#[test]
fn findings_are_bounded() {
    let many: Map<String, Value> = (0..5000).map(|index| (format!("field{index:04}"), json!(1))).collect();
    let found = unknown_fields(xrd_schema(), &many);
    assert_eq!(found.len(), 21);
    assert_eq!(found[0], "field0000");
    assert_eq!(found[20], "and 4980 more");
    let env: Map<String, Value> = (0..5000).map(|index| (format!("E{index:04}"), json!(1))).collect();
    let found = wrong(xrd_schema(), &json!({ "test": { "env": env } }));
    assert_eq!(found.len(), 21);
    assert_eq!(found[20], (String::new(), "and 4980 more".to_owned()));
    let long = "x".repeat(64 * 1024);
    let found = unknown(xrd_schema(), &json!({ long.as_str(): 1, "a\n---\nb": 1 }));
    assert!(found.iter().all(|path| path.len() < 300 && !path.contains('\n')), "{found:?}");
}

#[test]
fn nulls_and_an_empty_cluster_claim_stay_here() {
    let empty = [json!({}), json!(null), json!({ "cloud": null, "labels": null })];
    for claim in empty {
        let value =
            json!({ "test": { "clusterClaim": claim, "workflow": "w", "env": { "A": null, "B": "" } } });
        assert_eq!(
            Value::Object(block(value).to_forwarded()),
            json!({ "test": { "workflow": "w", "env": { "B": "" } } })
        );
    }
    // A value that is not empty is forwarded, even if the hub will refuse it: visibly.
    let partial =
        json!({ "test": { "clusterClaim": { "cloud": "aws", "brandNew": [null, { "a": null }] } } });
    assert_eq!(
        Value::Object(block(partial).to_forwarded()),
        json!({ "test": { "clusterClaim": { "cloud": "aws", "brandNew": [null, {}] } } })
    );
    assert_eq!(Value::Object(block(json!({ "test": "odd" })).to_forwarded()), json!({ "test": "odd" }));
}

#[test]
fn depth_does_no_harm() {
    let mut value = json!(1);
    for _ in 0..300 {
        value = json!({ "test": value });
    }
    // A schema that goes as deep as the value, which none of ours does.
    let mut recursive = json!({ "type": "object" });
    for _ in 0..500 {
        recursive = json!({ "type": "object", "additionalProperties": recursive });
    }
    assert!(unknown(&recursive, &value).is_empty());
    assert_eq!(unknown(xrd_schema(), &value), ["test.test"]);
    let Value::Object(map) = value else { unreachable!() };
    let block = CiOperator(map);
    assert_eq!(block.to_forwarded(), block.0);
}

fn anything() -> impl Strategy<Value = Value> {
    let key = prop_oneof![
        "[a-z.]{0,6}",
        Just("test".to_owned()),
        Just("releases".to_owned()),
        Just("clusterClaim".to_owned()),
        any::<String>()
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(|number| json!(number)),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 64, 6, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            proptest::collection::btree_map(key.clone(), inner, 0..5)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    /// Neither a hostile value nor a hostile schema panics, and findings are sorted and bounded.
    #[test]
    fn hostile_values_and_schemas_never_panic(value in anything(), odd in anything()) {
        if let Value::Object(map) = value {
            for schema in [xrd_schema(), &odd] {
                let found = unknown_fields(schema, &map);
                prop_assert!(found.len() <= 21);
                prop_assert!(found.len() == 21 || found.is_sorted());
                prop_assert!(find_problems(schema, &map).len() <= 21);
            }
            let forwarded = CiOperator(map).to_forwarded();
            prop_assert_eq!(CiOperator(forwarded.clone()).to_forwarded(), forwarded);
        }
        relax_schema(&odd);
    }
}

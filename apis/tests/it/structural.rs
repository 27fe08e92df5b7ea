//! The schemas are structural in the sense of Kubernetes (its documentation of custom resources, "Specifying a structural schema").

use serde_json::{Value, json};
use testplatform_apis::ci_operator;
use testplatform_apis::xrd;

use crate::support::{schema, xrd};

/// Keywords that may stand in a node. Everything else is either forbidden by Kubernetes or not used by us.
const ALLOWED: [&str; 19] = [
    "type",
    "description",
    "properties",
    "additionalProperties",
    "items",
    "required",
    "enum",
    "format",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "maxItems",
    "maxProperties",
    "x-kubernetes-int-or-string",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-list-type",
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-validations",
];

fn violations(schema: &Value, path: &str, found: &mut Vec<String>) {
    let Some(node) = schema.as_object() else {
        found.push(format!("{path}: is not an object"));
        return;
    };
    let kind = node.get("type").and_then(Value::as_str).unwrap_or_default();
    // Such a value has no type beside it: that is how structural schemas have the one choice that they know.
    let either = node.get("x-kubernetes-int-or-string") == Some(&Value::Bool(true));
    let known = ["object", "array", "string", "integer", "boolean", "number"].contains(&kind);
    if either != kind.is_empty() || (!either && !known) {
        found.push(format!("{path}: has no type, or one too many"));
    }
    for keyword in node.keys().filter(|keyword| !ALLOWED.contains(&keyword.as_str())) {
        found.push(format!("{path}: {keyword} is not allowed"));
    }
    if node.contains_key("properties") && node.contains_key("additionalProperties") {
        found.push(format!("{path}: properties and additionalProperties exclude each other"));
    }
    // The template alone decides the content here, so the schema says nothing and keeps everything.
    let open = node.contains_key("x-kubernetes-preserve-unknown-fields")
        && (node.contains_key("maxProperties") || path.starts_with("status."));
    if (node.contains_key("properties") || node.contains_key("additionalProperties")) != (kind == "object")
        && path != "metadata"
        && !open
    {
        found.push(format!("{path}: an object says what is in it, and nothing else does"));
    }
    if node.contains_key("items") != (kind == "array") {
        found.push(format!("{path}: a list says what is in it, and nothing else does"));
    }
    if node.get("format").is_some_and(|format| format != "int64" && format != "int32") {
        found.push(format!("{path}: a format that API servers warn about or interpret"));
    }
    for required in
        node.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
    {
        if node.get("properties").is_none_or(|properties| properties.get(required).is_none()) {
            found.push(format!("{path}: requires {required}, which it does not declare"));
        }
    }
    for rule in node.get("x-kubernetes-validations").and_then(Value::as_array).into_iter().flatten() {
        if rule["message"].as_str().is_none_or(|message| message.is_empty() || message.contains('\n')) {
            found.push(format!("{path}: a rule without a message of one line"));
        }
    }
    for (name, inner) in node.get("properties").and_then(Value::as_object).into_iter().flatten() {
        violations(inner, format!("{path}.{name}").trim_start_matches('.'), found);
    }
    for keyword in ["additionalProperties", "items"] {
        if let Some(inner) = node.get(keyword) {
            violations(inner, &format!("{path}[]"), found);
        }
    }
}

#[track_caller]
fn assert_structural(schema: &Value) {
    let mut found = Vec::new();
    violations(schema, "", &mut found);
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn the_xrd_is_structural() {
    assert_structural(schema());
}

#[test]
fn the_input_is_structural() {
    let crd = xrd::input_xrd().unwrap();
    let schema = crd.pointer("/spec/versions/0/schema/openAPIV3Schema").unwrap();
    assert_structural(schema);
    assert_eq!(schema.get("required"), None, "every field is optional");
    assert_eq!(crd["metadata"]["name"], json!("inputs.testplatform.fn.crossplane.io"));
    assert_eq!(crd["spec"]["versions"][0]["name"], json!("v1beta1"));
    for field in ["apiVersion", "kind", "metadata", "environmentConfig", "defaults"] {
        assert!(schema["properties"].get(field).is_some(), "{field}");
    }
    assert!(schema["properties"].get("spec").is_none(), "an input has no spec");
}

/// The checker would see what it is there for.
#[test]
fn structural_check_finds_violations() {
    for wrong in [
        json!({ "properties": {} }),
        json!({ "type": "object" }),
        json!({ "type": "string", "nullable": true }),
        json!({ "type": "integer", "format": "uint32" }),
        json!({ "type": "object", "properties": { "a": { "oneOf": [] } } }),
        json!({ "type": "object", "properties": {}, "additionalProperties": { "type": "string" } }),
        json!({ "type": "array" }),
    ] {
        let mut found = Vec::new();
        violations(&wrong, "", &mut found);
        assert!(!found.is_empty(), "{wrong}");
    }
}

/// Crossplane copies these keywords of `spec` and `status` and drops all others.
#[test]
fn schema_has_only_keywords_that_crossplane_keeps() {
    let kept = [
        "type",
        "properties",
        "required",
        "description",
        "oneOf",
        "x-kubernetes-validations",
        "x-kubernetes-preserve-unknown-fields",
    ];
    for part in ["spec", "status"] {
        for keyword in schema()["properties"][part].as_object().unwrap().keys() {
            assert!(kept.contains(&keyword.as_str()), "{part}: {keyword} would be dropped");
        }
    }
    // A value that was admitted once may be repeated in a status for ever.
    let status = schema()["properties"]["status"].to_string();
    let bounds = [
        "x-kubernetes-validations",
        "minimum",
        "maximum",
        "minLength",
        "maxLength",
        "maxItems",
        "maxProperties",
        "pattern",
    ];
    for keyword in bounds {
        assert!(!status.contains(&format!("\"{keyword}\":")), "{keyword} keeps a status from being written");
    }
    let root = schema().as_object().unwrap();
    assert_eq!(root["required"], json!(["spec"]));
    assert_eq!(root["properties"].as_object().unwrap().keys().collect::<Vec<_>>(), ["spec", "status"]);
}

#[test]
fn every_level_of_ci_operator_preserves_unknown_fields() {
    fn walk(schema: &Value, path: &str, levels: &mut usize) {
        if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
            *levels += 1;
            assert_eq!(schema.get("x-kubernetes-preserve-unknown-fields"), Some(&json!(true)), "{path}");
            for (name, inner) in properties {
                walk(inner, &format!("{path}.{name}"), levels);
            }
        }
        for keyword in ["additionalProperties", "items"] {
            if let Some(inner) = schema.get(keyword) {
                walk(inner, &format!("{path}[]"), levels);
            }
        }
    }
    let mut levels = 0;
    walk(&schema()["properties"]["spec"]["properties"]["ciOperator"], "ciOperator", &mut levels);
    assert!(levels >= 15, "only {levels} levels were found");
    // And nothing above it does: a typo in our own fields is to be seen.
    assert_eq!(schema()["properties"]["spec"].get("x-kubernetes-preserve-unknown-fields"), None);
}

fn forget(schema: &mut Value) {
    if let Value::Object(node) = schema {
        node.remove("x-kubernetes-preserve-unknown-fields");
    }
    match schema {
        Value::Object(node) => node.values_mut().for_each(forget),
        Value::Array(items) => items.iter_mut().for_each(forget),
        _ => {}
    }
}

#[test]
fn the_edits_of_the_schema_are_these_and_no_others() {
    let mut undone = ci_operator::xrd_schema().clone();
    forget(&mut undone);
    let claim = undone.pointer_mut("/properties/test/properties/clusterClaim").unwrap();
    assert!(claim.as_object_mut().unwrap().remove("x-kubernetes-validations").is_some());
    claim["required"] = json!(["cloud", "owner", "version"]);
    assert_eq!(&undone, ci_operator::upstream_schema());
    assert_eq!(
        &ci_operator::relax_schema(ci_operator::xrd_schema()),
        ci_operator::xrd_schema(),
        "idempotent"
    );
}

/// Every field tells its user what it means; upstream's are upstream's.
#[test]
fn every_field_of_ours_is_described() {
    fn walk(schema: &Value, path: &str) {
        for (name, inner) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
            let path = format!("{path}.{name}");
            let description = inner["description"].as_str().unwrap_or_default();
            assert!(description.ends_with('.') && description.len() > 15, "{path}: {description:?}");
            assert!(!description.contains('\n'), "{path} is wrapped");
            if name != "ciOperator" {
                walk(inner, &path);
            }
        }
    }
    walk(&schema()["properties"]["spec"], "spec");
    walk(&schema()["properties"]["status"], "status");
}

#[test]
fn columns_print_as_text() {
    let columns: Vec<_> = xrd()["spec"]["versions"][0]["additionalPrinterColumns"]
        .as_array()
        .unwrap()
        .iter()
        .map(|column| (column["name"].as_str().unwrap(), column["priority"].as_i64().unwrap_or(0)))
        .collect();
    let short = [("PHASE", 0), ("BACKEND", 0), ("VERSION", 0), ("NODES", 0), ("EXPIRES", 0)];
    assert_eq!(columns, [short.as_slice(), &[("HUB", 1), ("MESSAGE", 1)]].concat());
    for column in xrd()["spec"]["versions"][0]["additionalPrinterColumns"].as_array().unwrap() {
        // A date column prints `<invalid>` for what lies ahead.
        let type_ = if column["name"] == "NODES" { "integer" } else { "string" };
        assert_eq!(column["type"], json!(type_));
        let pointer = column["jsonPath"].as_str().unwrap().replace('.', "/properties/");
        assert!(schema().pointer(&pointer).is_some(), "{pointer} is not declared");
    }
}

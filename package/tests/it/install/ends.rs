//! Alerts on what does not end, over the objects of the examples: every teardown under way is waited for, and so is what is left of a
//! claim that was deleted.

use std::{collections::BTreeSet, fs};

use promql_parser::parser::{self, Expr, VectorSelector};
use serde_json::{Value, json};
use testplatform_apis::{
    claim,
    condition::{ConditionType, JobCompleted},
    test_cluster,
};
use testplatform_package::install::{alerts::CLAIMS, metrics};

use crate::install::{documents, monitoring::used, repository};

fn expression(alert: &str) -> &'static str {
    CLAIMS.iter().find(|known| known.name == alert).unwrap().expression
}

/// Every document of a file that each of the examples has.
fn of_examples(file: &str) -> Vec<Value> {
    let folders = fs::read_dir(repository().join("examples")).unwrap();
    folders.flat_map(|folder| documents(&folder.unwrap().path().join(file))).collect()
}

fn fits(selector: &VectorSelector, label: &str, value: &Value) -> bool {
    let mut matchers = selector.matchers.matchers.iter().filter(|matcher| matcher.name == label);
    matchers.all(|matcher| matcher.is_match(value.as_str().unwrap_or_default()))
}

/// `true` if an expression that only filters keeps one of a claim's series.
fn rings(expr: &Expr, status: &Value) -> bool {
    match expr {
        Expr::Binary(e) => match e.op.to_string().as_str() {
            "or" => rings(&e.lhs, status) || rings(&e.rhs, status),
            "and" => rings(&e.lhs, status) && rings(&e.rhs, status),
            // The series of the phase that it is in is 1.
            "==" => rings(&e.lhs, status),
            other => panic!("{other} in {expr}"),
        },
        Expr::VectorSelector(selector) => match selector.name.as_deref() {
            Some(metrics::PHASE) => fits(selector, "phase", &status["phase"]),
            Some(metrics::CONDITION) => {
                let one = |condition: &Value| {
                    ["type", "status", "reason"].iter().all(|label| fits(selector, label, &condition[*label]))
                };
                status["conditions"].as_array().into_iter().flatten().any(one)
            }
            other => panic!("{other:?} in {expr}"),
        },
        // Of who was scraped nothing is to be left; it is one claim's all the same.
        Expr::Aggregate(e) if e.op.to_string() == "max" => rings(&e.expr, status),
        _ => panic!("{expr}"),
    }
}

/// A path as kube-state-metrics follows it.
fn at<'v>(value: &'v Value, path: &Value) -> &'v Value {
    path.as_array().unwrap().iter().fold(value, |at, key| {
        let key = key.as_str().unwrap();
        let Some(item) = key.strip_prefix('[').and_then(|key| key.strip_suffix(']')) else { return &at[key] };
        let (field, wanted) = item.split_once('=').unwrap();
        at.as_array().into_iter().flatten().find(|item| item[field] == wanted).unwrap_or(&Value::Null)
    })
}

/// Also that of a claim that Failed, which stays Failed while what is left of it is torn down.
#[test]
fn removal_waits_for_every_teardown() {
    let parsed = parser::parse(expression("TeardownStuck")).unwrap();
    let mut phases = BTreeSet::new();
    for composite in of_examples("desired.yaml") {
        let status = &composite["status"];
        let mut conditions = status["conditions"].as_array().into_iter().flatten();
        let completed = conditions.find(|c| c["type"] == ConditionType::ProwJobCompleted.as_str());
        let Some(completed) = completed else { continue };
        let reason = JobCompleted::TearingDown.as_str();
        let under_way = completed["status"] == "False" && completed["reason"] == reason;
        assert_eq!(rings(&parsed, status), under_way, "{status}");
        if under_way {
            phases.insert(status["phase"].to_string());
        }
    }
    assert_eq!(phases.len(), 2, "{phases:?}");
}

/// Of a claim that was deleted, and of its composite, nothing is left but Objects. They are known by what they still have, and nobody
/// else's are taken for them: neither those of spaces nor those of pools.
#[test]
fn removal_waits_for_orphans_of_deleted_claims() {
    let config = metrics::custom_resource_state();
    let resources = config["spec"]["resources"].as_array().unwrap();
    let mut seen = BTreeSet::new();
    for selector in used(expression("DeletionStuck")) {
        let name = selector.name.as_deref().unwrap().strip_prefix("testplatform_").unwrap();
        let measured = resources.iter().find(|resource| resource["metrics"][0]["name"] == name).unwrap();
        let path = &measured["metrics"][0]["each"]["gauge"]["path"];
        assert_eq!(*path, json!(["metadata", "deletionTimestamp"]));
        let kind = &measured["groupVersionKind"];
        let version = format!("{}/{}", kind["group"].as_str().unwrap(), kind["version"].as_str().unwrap());
        for object in of_examples("observed.yaml") {
            if object["kind"] != kind["kind"] || object["apiVersion"] != version.as_str() {
                continue;
            }
            let label = |label: &str| at(&object, &measured["labelsFromPath"][label]);
            let told = selector.matchers.matchers.iter().all(|m| fits(&selector, &m.name, label(&m.name)));
            let owner = object["metadata"]["ownerReferences"][0]["kind"].as_str().unwrap();
            let ours = [claim::COMPOSITE_KIND, test_cluster::KIND].contains(&owner);
            assert_eq!(told, ours, "{owner}");
            let named = ["object", "tenant", "composite"].into_iter().all(|name| label(name).is_string());
            assert!(named || !ours, "{}", object["metadata"]);
            seen.insert((ours, owner.to_owned()));
        }
    }
    assert_eq!(seen.iter().filter(|(ours, _)| *ours).count(), 2, "{seen:?}");
    assert!(seen.len() > 2, "{seen:?}");
}

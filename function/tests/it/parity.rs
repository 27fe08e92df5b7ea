//! The recorded requests with the incumbent's answers: every difference is intended, and named here. A new one
//! fails the test, and so does one that no case shows any more.

use std::{collections::BTreeSet, fs};

use jiff::Timestamp;
use serde_json::{Value, json};
use testplatform_composites::{Options, run};
use testplatform_test_data::upstream;

const CASES: [&str; 5] = ["01-first-call", "02-create", "03-provisioning", "04-ready", "05-teardown"];

/// A difference: takes it out of both answers, and says whether there was anything to take.
type Difference = (&'static str, fn(&mut Value, &mut Value) -> bool);

const INTENDED: &[Difference] = &[
    ("the status is for the version that was observed", |ours, _| {
        remove(at(ours, "/desired/composite/resource"), "metadata").is_some()
    }),
    ("defaults that provider-kubernetes would write are there from the beginning", |ours, _| {
        let mut dropped = false;
        for resource in at(ours, "/desired/resources").as_object_mut().unwrap().values_mut() {
            let object = at(resource, "/resource");
            let name = object["metadata"]["name"].clone();
            let annotations = object["metadata"]["annotations"].as_object_mut().unwrap();
            dropped |= annotations.remove("crossplane.io/external-name") == Some(name);
            if annotations.is_empty() {
                object["metadata"].as_object_mut().unwrap().remove("annotations");
            }
        }
        if let Some(metadata) = ours.pointer_mut(&format!("{CREDENTIALS}/metadata")) {
            let finalizers = remove(metadata, "finalizers");
            assert!(finalizers.is_none_or(|all| all == json!(["finalizer.managedresource.crossplane.io"])));
        }
        let credentials = ours.pointer_mut(&format!("{CREDENTIALS}/spec"));
        let policy = credentials.and_then(|spec| remove(spec, "readiness"));
        dropped && policy.is_none_or(|policy| policy == json!({ "policy": "SuccessfulCreate" }))
    }),
    ("credentials wait paused under a name of their own", |ours, theirs| {
        let pending = theirs.pointer(&format!("{CREDENTIALS}/spec/forProvider/manifest/metadata/name"))
            == Some(&json!("pending"));
        if pending {
            let own = rename(ours);
            assert!(own.ends_with("-credentials"), "{own}");
            let metadata = at(ours, &format!("{CREDENTIALS}/metadata"));
            assert_eq!(metadata["annotations"]["crossplane.io/paused"].take(), json!("true"));
            remove(metadata, "annotations");
        }
        pending
    }),
    ("no watch on the credentials", |ours, theirs| {
        assert_eq!(ours.pointer(&format!("{CREDENTIALS}/spec/watch")), None);
        remove(at(theirs, &format!("{CREDENTIALS}/spec")), "watch") == Some(json!(true))
    }),
    ("the uid pins the cluster", |ours, _| {
        match ours.pointer_mut(&format!("{EC}/spec/forProvider/manifest/metadata")) {
            Some(metadata) => remove(metadata, "uid") == Some(json!("8a556840-25f5-408b-a110-a157df8bfb16")),
            None => false,
        }
    }),
    ("CEL text", |ours, theirs| {
        let path = format!("{EC}/spec/readiness/celQuery");
        let (ours, theirs) =
            (ours.pointer_mut(&path).map(Value::take), theirs.pointer_mut(&path).map(Value::take));
        ours.is_some() && ours != theirs
    }),
    ("explicit readiness", |ours, theirs| {
        let drop = |answer: &mut Value| {
            let composite = remove(at(answer, "/desired/composite"), "ready");
            let resources = at(answer, "/desired/resources").as_object_mut().unwrap();
            let ready: Vec<_> = resources.values_mut().map(|r| remove(r, "ready")).collect();
            (composite, ready)
        };
        drop(ours) != drop(theirs)
    }),
    ("status", |ours, _| remove(at(ours, "/desired/composite/resource"), "status").is_some()),
    ("the extra conditions", |ours, _| {
        let extra = ["ProwJobCompleted", "CredentialsPublished", "RequestAccepted", "RemoteConsistent"];
        let conditions = ours["conditions"].as_array_mut().unwrap();
        let before = conditions.len();
        conditions.retain(|c| !extra.contains(&c["type"].as_str().unwrap()));
        before - conditions.len() == extra.len()
    }),
    ("gated ClusterReady, from the first response on, with a reason", |ours, theirs| {
        let take = |answer: &mut Value| {
            let conditions = answer["conditions"].as_array_mut().unwrap();
            let i = conditions.iter().position(|c| c["type"] == "ClusterReady")?;
            Some(conditions.remove(i))
        };
        let (ours, theirs) = (take(ours).unwrap(), take(theirs));
        // In none of the cases is the hub ready and the kubeconfig not there.
        let status = theirs.as_ref().map_or(json!("STATUS_CONDITION_FALSE"), |t| t["status"].clone());
        assert_eq!(ours["status"], status);
        Some(ours) != theirs
    }),
    ("events at transitions", |ours, _| remove(ours, "results") != Some(json!([]))),
    ("a first call, which has no configuration yet, is repeated sooner", |ours, theirs| {
        let sooner = (&ours["meta"]["ttl"], &theirs["meta"]["ttl"]) == (&json!(15), &json!(60));
        if sooner {
            ours["meta"]["ttl"] = json!(60);
        }
        sooner
    }),
    ("no context left by templating steps", |ours, theirs| {
        remove(ours, "context");
        remove(theirs, "context").is_some()
    }),
];

const CREDENTIALS: &str = "/desired/resources/credentials/resource";
const EC: &str = "/desired/resources/ec/resource";

#[test]
fn answers_differ_from_the_incumbents_only_where_intended() {
    let upstream = upstream();
    let now: Timestamp = "2026-11-21T10:30:00Z".parse().unwrap();
    let mut seen = BTreeSet::new();
    for case in CASES {
        let read = |file| -> Value {
            serde_json::from_slice(&fs::read(upstream.join("parity").join(case).join(file)).unwrap()).unwrap()
        };
        let request = function_model::request_from_json(&read("request.json"));
        let mut ours = function_model::response_to_json(&run(&request, &Options::default(), now));
        let mut theirs = same_form(read("response.json"));
        for (name, difference) in INTENDED {
            if difference(&mut ours, &mut theirs) {
                seen.insert(*name);
            }
        }
        sort(&mut ours);
        sort(&mut theirs);
        assert_eq!(
            serde_json::to_string_pretty(&ours).unwrap(),
            serde_json::to_string_pretty(&theirs).unwrap(),
            "{case}"
        );
    }
    let named: BTreeSet<_> = INTENDED.iter().map(|(name, _)| *name).collect();
    assert_eq!(seen, named, "a difference that no case shows is none");
}

/// Their JSON in the form of ours: presence is explicit, values of connection details are text.
fn same_form(mut theirs: Value) -> Value {
    theirs["meta"]["ttl"] =
        json!(theirs["meta"]["ttl"].as_str().unwrap().trim_end_matches('s').parse::<i64>().unwrap());
    let resources = at(&mut theirs, "/desired/resources").as_object_mut().unwrap();
    for resource in resources.values_mut() {
        resource["connectionDetails"] = json!({});
    }
    let composite = at(&mut theirs, "/desired/composite");
    let details = composite["connectionDetails"].as_object().cloned().unwrap_or_default();
    composite["connectionDetails"] = details
        .into_iter()
        .map(|(k, v)| {
            (k, Value::String(String::from_utf8(function_model::decode_base64(v.as_str().unwrap())).unwrap()))
        })
        .collect();
    for condition in theirs["conditions"].as_array_mut().unwrap() {
        for field in ["reason", "message"] {
            condition[field] = condition[field].as_str().unwrap_or_default().into();
        }
    }
    for map in ["extraResources", "resources"] {
        let keys: Vec<_> = theirs["requirements"][map].as_object().unwrap().keys().cloned().collect();
        theirs["requirements"][map] = json!(keys);
    }
    theirs
}

/// An absent and an empty map of annotations are the same.
fn sort(answer: &mut Value) {
    for resource in at(answer, "/desired/resources").as_object_mut().unwrap().values_mut() {
        let metadata = &mut resource["resource"]["metadata"];
        if metadata["annotations"].as_object().is_none_or(serde_json::Map::is_empty) {
            remove(metadata, "annotations");
        }
    }
}

fn rename(answer: &mut Value) -> String {
    let spec = at(answer, &format!("{CREDENTIALS}/spec"));
    let own = spec["forProvider"]["manifest"]["metadata"]["name"].as_str().unwrap().to_owned();
    spec["forProvider"]["manifest"]["metadata"]["name"] = "pending".into();
    for detail in spec["connectionDetails"].as_array_mut().unwrap() {
        assert_eq!(detail["name"], own);
        detail["name"] = "pending".into();
    }
    own
}

fn at<'a>(value: &'a mut Value, path: &str) -> &'a mut Value {
    value.pointer_mut(path).unwrap_or_else(|| panic!("no {path}"))
}

fn remove(value: &mut Value, key: &str) -> Option<Value> {
    value.as_object_mut().unwrap().remove(key)
}

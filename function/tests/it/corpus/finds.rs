//! Answers that the oracle of requests must find: the function never gives them.

use std::{
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::LazyLock,
};

use function_model::{examples, requests};
use jiff::Timestamp;
use prost::{Message as _, bytes::Bytes};
use serde_json::{Value, json};
use testplatform_apis::names::ours;
use testplatform_composites::{
    Evaluation,
    sdk::{
        proto::{self, Resource, RunFunctionRequest, RunFunctionResponse, Severity, Status},
        wire,
    },
};

use crate::corpus::request::{self, kept};

/// Made once: that takes longer than anything that is done with them.
static EXAMPLES: LazyLock<BTreeMap<String, RunFunctionRequest>> =
    LazyLock::new(|| examples::load_examples(now()).into_iter().collect());

fn now() -> Timestamp {
    requests::MADE.parse().unwrap()
}

/// A request, and an answer that may be changed.
struct Asked {
    request: RunFunctionRequest,
    response: RunFunctionResponse,
}

/// An example with the answer that it has.
fn asked(example: &str) -> Asked {
    let request = EXAMPLES.get(example).unwrap_or_else(|| panic!("there is no example {example}")).clone();
    let response = request::answered(&request).unwrap_or_else(|| panic!("{example} is fatal"));
    Asked { request, response }
}

impl Asked {
    fn thought(&self) -> Evaluation {
        Evaluation::of(&self.request, now()).unwrap()
    }

    /// The oracle's finding about the answer.
    fn finds(&self) -> Option<String> {
        kept::dropped(&self.request, &self.response, &self.thought())
    }

    fn desired(&mut self) -> &mut proto::State {
        self.response.desired.as_mut().unwrap()
    }

    fn observed(&mut self) -> &mut proto::State {
        self.request.observed.as_mut().unwrap()
    }

    /// The same answer without a resource.
    fn without(mut self, name: &str) -> Self {
        self.desired().resources.remove(name);
        self
    }

    /// The same of another phase.
    fn in_phase(mut self, phase: &str) -> Self {
        let composite = self.desired().composite.as_mut().unwrap();
        change(&mut composite.resource, |object| object["status"]["phase"] = phase.into());
        self
    }

    /// The same with nothing left that costs money.
    fn completed(mut self) -> Self {
        let conditions = &mut self.response.conditions;
        let shown = conditions.iter_mut().find(|condition| condition.r#type == "ProwJobCompleted").unwrap();
        shown.status = Status::ConditionTrue.into();
        self
    }

    /// The same for a composite of another spec.
    fn asking(mut self, spec: &Value) -> Self {
        let composite = self.observed().composite.as_mut().unwrap();
        change(&mut composite.resource, |object| {
            let before = object["spec"].as_object_mut().unwrap();
            before.extend(spec.as_object().unwrap().clone());
        });
        self
    }

    /// Changes what is observed.
    fn seeing(mut self, name: &str, how: impl FnOnce(&mut Value)) -> Self {
        let before = self.observed().resources.remove(name);
        let bytes = changed(before, how);
        self.observed().resources.insert(name.to_owned(), bytes);
        self
    }

    /// Changes what is answered.
    fn saying(mut self, name: &str, how: impl FnOnce(&mut Value)) -> Self {
        let before = self.desired().resources.remove(name);
        let bytes = changed(before, how);
        self.desired().resources.insert(name.to_owned(), bytes);
        self
    }
}

fn change(bytes: &mut Bytes, how: impl FnOnce(&mut Value)) {
    let mut object = wire::to_value(bytes).unwrap();
    how(&mut object);
    *bytes = wire::to_struct(&object).unwrap();
}

/// None: an Object with nothing in it.
fn changed(resource: Option<Bytes>, how: impl FnOnce(&mut Value)) -> Bytes {
    let mut resource = resource.map(|bytes| Resource::decode(bytes).unwrap()).unwrap_or_default();
    change(&mut resource.resource, how);
    resource.encode_to_vec().into()
}

/// An Object of ours, about something in a namespace.
fn labelled(object: &mut Value) {
    object["apiVersion"] = "kubernetes.crossplane.io/v1alpha2".into();
    object["kind"] = "Object".into();
    object["metadata"] = json!({ "name": "x", "labels": { ours::COMPONENT: "x" } });
    object["spec"] =
        json!({ "forProvider": { "manifest": { "metadata": { "name": "x", "namespace": "x" } } } });
}

fn noted(credentials: &mut Value) {
    credentials["metadata"]["annotations"][ours::ENDING] = "TornDown".into();
}

fn going(object: &mut Value) {
    object["metadata"]["deletionTimestamp"] = requests::MADE.into();
}

fn looking(object: &mut Value) {
    object["spec"]["managementPolicies"] = json!(["Observe"]);
}

/// Examples of what is there, and what their composites say when it is to end.
pub const ENDING: [(&str, &str); 6] = [
    ("hive-ready", "tearDownCluster"),
    ("hypershift-ready", "tearDownCluster"),
    ("cluster-api-ready", "tearDownCluster"),
    ("caas-ready", "tearDownCluster"),
    ("osac-ready", "tearDownCluster"),
    ("pool-rotation", "drain"),
];

/// The request for one of them in the pass in which that begins.
pub fn ending(example: &str, how: &str) -> RunFunctionRequest {
    let mut ending = asked(example).asking(&json!({ how: true }));
    if how == "drain" {
        // Before its Object is removed the status says so.
        let composite = ending.observed().composite.as_mut().unwrap();
        change(&mut composite.resource, |object| object["status"]["phase"] = "Draining".into());
    }
    ending.request
}

/// Examples with something beside their writer.
pub const PLACELESS: [(&str, &str); 4] = [
    ("bundles-ready", "cluster"),
    ("caas-ready", "instance"),
    ("hypershift-ready", "cluster"),
    ("osac-ready", "order"),
];

/// The request for one of them whose writer and credentials are lost, after a restore that dropped its status: nothing tells where the cluster is.
pub fn placeless(example: &str, writer: &str) -> RunFunctionRequest {
    let mut asked = asked(example);
    let state = asked.observed();
    for lost in [writer, "credentials"] {
        assert!(state.resources.remove(lost).is_some(), "{example} has no {lost}");
    }
    change(&mut state.composite.as_mut().unwrap().resource, |object| {
        object.as_object_mut().unwrap().remove("status");
    });
    asked.request
}

#[track_caller]
fn is_found(asked: &Asked, words: &str) {
    let found = asked.finds();
    assert!(found.as_ref().is_some_and(|found| found.contains(words)), "{words}: {found:?}");
}

#[test]
fn dropped_object_of_a_pool_is_found() {
    let pool = || asked("pool-rotation");
    assert_eq!(pool().finds(), None);
    is_found(&pool().without("pool"), "pool is dropped");
    assert_eq!(pool().without("pool").asking(&json!({ "drain": true })).finds(), None);

    let admins = || pool().seeing("admins", labelled);
    let group = json!({ "admins": [{ "kind": "Group", "name": "debuggers" }] });
    is_found(&admins().asking(&group), "admins is dropped");
    assert_eq!(admins().finds(), None, "nobody is asked for any more");

    let size = || pool().seeing("size", labelled);
    is_found(&size().asking(&json!({ "scalingMode": "External" })), "size is dropped");
    assert_eq!(size().finds(), None, "it is scaled from here again");
}

#[test]
fn nodes_of_a_removed_group_may_go() {
    let without = || asked("hypershift-ready").without("pool-workers");
    is_found(&without(), "pool-workers is dropped while \"Ready\"");
    let asking = |group: &str| {
        let group = json!({ "name": group, "class": "large", "count": 2 });
        without().asking(&json!({ "nodeGroups": [group] }))
    };
    is_found(&asking("workers"), "pool-workers is dropped");
    assert_eq!(asking("others").finds(), None);
    // Where the notes are lost too, nobody can tell.
    let lost = |object: &mut Value| object["metadata"]["annotations"] = json!({});
    let lost = without().seeing("credentials", lost).seeing("cluster", lost);
    is_found(&lost, "pool-workers is dropped");
}

/// The function reads no more than it needs: a note counts also where something else cannot be read.
#[test]
fn records_of_broken_objects_count() {
    let broken = |name: &str, how: fn(&mut Value)| {
        let mut asked = asked("hypershift-ready")
            .without("pool-workers")
            .seeing(name, how)
            .seeing(name, |object| object["metadata"]["ownerReferences"] = "passed over".into());
        let bytes = asked.observed().resources[name].to_vec();
        let at = memchr::memmem::find(&bytes, b"passed over").unwrap();
        // The text ends before its length.
        let longer = [&bytes[..at - 1], &[0x7f], &bytes[at..]].concat();
        asked.observed().resources.insert(name.to_owned(), longer.into());
        asked
    };
    is_found(&broken("cluster", |_| {}), "pool-workers is dropped");
    let other = |object: &mut Value| {
        let note = json!({ "nodeGroups": [{ "name": "others" }] }).to_string();
        object["metadata"]["annotations"][ours::EFFECTIVE] = note.into();
    };
    assert_eq!(broken("cluster", other).finds(), None);
    is_found(&broken("hosted", labelled), "hosted is dropped");
}

#[test]
fn dropped_object_of_a_space_is_found() {
    for example in ["space-ready", "space-of-the-incumbent"] {
        let names: Vec<String> = asked(example).observed().resources.keys().cloned().collect();
        assert!(names.len() > 8, "{names:?}");
        for name in names {
            is_found(&asked(example).without(&name), &format!("{name} is dropped"));
        }
    }
    let nothing = |object: &mut Value| {
        object["spec"]["forProvider"]["manifest"]["metadata"]["name"] = "<no value>".into();
    };
    let unmade = asked("space-of-the-incumbent").without("secret").seeing("secret", nothing);
    assert_eq!(unmade.finds(), None, "there is no Secret of that name");
}

#[test]
fn dropped_object_of_a_failed_claim_is_found() {
    let failed = || asked("provision-timeout");
    assert_eq!(failed().finds(), None);
    is_found(&failed().without("ec"), "ec is dropped while \"Failed\"");
    is_found(&failed().without("credentials"), "credentials is dropped");
    let silent = |object: &mut Value| {
        object["spec"]["forProvider"]["manifest"]["spec"]["tearDownCluster"] = false.into();
    };
    is_found(&failed().saying("ec", silent), "its hub is not told");
    assert_eq!(
        failed()
            .saying("ec", |ec| {
                silent(ec);
                looking(ec);
            })
            .finds(),
        None,
        "it is another's"
    );
    assert_eq!(failed().without("ec").seeing("ec", looking).finds(), None, "it ends nothing by going");

    let over = || failed().completed();
    assert_eq!(over().without("credentials").finds(), None, "they open nothing any more");
    is_found(&over().without("ec"), "ec is dropped");
}

#[test]
fn object_of_a_failed_claim_is_kept_only_for_unfinished_teardown() {
    let failed = || {
        let alone = |asked: Asked| {
            let mut asked = asked.in_phase("Failed").saying("credentials", noted);
            asked.observed().resources.remove("bundles");
            asked
        };
        alone(asked("bundles-ready"))
    };
    is_found(&failed(), "cluster is Failed, and is not taken away");
    assert_eq!(failed().saying("bundles-undone", labelled).finds(), None, "it is looked for first");
}

#[test]
fn dropped_record_of_the_end_is_found() {
    for example in ["teardown", "teardown-asked", "lifetime-expired"] {
        is_found(&asked(example).without("ec"), "ec is dropped while \"Deprovisioning\"");
        is_found(&asked(example).without("credentials"), "credentials is dropped while \"Deprovisioning\"");
    }
    is_found(&asked("deprovisioned").without("ec"), "ec is dropped while \"Deprovisioned\"");
    let ended = asked("deprovisioned").seeing("ended", labelled);
    is_found(&ended, "ended is dropped");

    // Those of a claim that brings its own credentials, as if it were being torn down.
    let brought = || asked("byoc-forbidden").in_phase("Deprovisioning");
    for name in ["byoc-access", "byoc-namespace", "byoc-request"] {
        is_found(&brought().without(name), name);
        assert_eq!(brought().without(name).completed().finds(), None);
    }
    for name in ["cloud-credential", "prerequisites", "bundles-undone"] {
        is_found(&brought().seeing(name, labelled), name);
        assert_eq!(brought().seeing(name, labelled).completed().finds(), None);
    }
    is_found(&asked("bundles-teardown").without("bundles-undone"), "bundles-undone is dropped");
    is_found(&asked("caas-ready").in_phase("Deprovisioning").without("hosted"), "hosted is dropped");
}

#[test]
fn primary_object_is_removed_once_and_recorded() {
    let expired = || asked("hive-expired");
    assert_eq!(expired().finds(), None);
    let forgotten = |credentials: &mut Value| {
        credentials["metadata"]["annotations"].as_object_mut().unwrap().remove(ours::ENDING);
    };
    is_found(&expired().saying("credentials", forgotten), "claim is dropped");
    is_found(&expired().seeing("claim", going), "claim is dropped");
    is_found(&expired().completed(), "claim is dropped");
    for (example, writer) in [
        ("hypershift-ready", "cluster"),
        ("cluster-api-ready", "topology"),
        ("caas-ready", "instance"),
        ("osac-ready", "order"),
    ] {
        let taken = |phase: &str| asked(example).without(writer).in_phase(phase);
        is_found(&taken("Ready"), "is dropped while \"Ready\"");
        for phase in ["Deprovisioning", "Failed"] {
            is_found(&taken(phase), &format!("{writer} is dropped"));
            assert_eq!(taken(phase).saying("credentials", noted).finds(), None);
            is_found(&taken(phase).saying("credentials", noted).seeing(writer, going), writer);
        }
    }
}

/// The rules are no stricter than the function is: it ends each of them so, and nothing is found.
#[test]
fn regular_teardown_is_no_finding() {
    for (example, how) in ENDING {
        let response = request::answered(&ending(example, how)).unwrap();
        let desired = response.desired.unwrap();
        let shown = wire::to_value(&desired.composite.unwrap().resource).unwrap();
        let phase = if how == "drain" { "Draining" } else { "Deprovisioning" };
        assert_eq!(shown["status"]["phase"], phase, "{example}");
        let gone = ["claim", "cluster", "topology", "instance", "order", "pool"];
        assert!(
            gone.iter().all(|name| !desired.resources.contains_key(*name)),
            "{example}: it is taken away"
        );
    }
}

/// An answer of which the function itself says that it is wrong.
fn wrong() -> RunFunctionResponse {
    let result = proto::Result {
        severity: Severity::Fatal.into(),
        message: "internal error, nothing is changed: something".into(),
        ..proto::Result::default()
    };
    RunFunctionResponse { results: vec![result], ..RunFunctionResponse::default() }
}

fn is_excused(request: &RunFunctionRequest) -> bool {
    catch_unwind(AssertUnwindSafe(|| request::judged(request, wrong()))).is_ok()
}

#[test]
fn no_example_is_an_excuse_for_an_internal_error() {
    for (name, request) in &*EXAMPLES {
        assert!(!is_excused(request), "{name}");
    }
}

#[test]
fn only_a_garbled_object_of_ours_excuses_a_drop() {
    let nowhere = |object: &mut Value| {
        object["spec"]["forProvider"]["manifest"]["metadata"].as_object_mut().unwrap().remove("namespace");
    };
    let nameless = |object: &mut Value| {
        object["metadata"].as_object_mut().unwrap().remove("name");
    };
    let of_no_hub = |object: &mut Value| {
        object["spec"].as_object_mut().unwrap().remove("providerConfigRef");
    };
    assert!(is_excused(&asked("hive-ready").seeing("claim", nowhere).request));
    assert!(is_excused(&asked("hive-ready").seeing("credentials", of_no_hub).request));
    assert!(is_excused(&asked("ready").seeing("credentials", nameless).request));
    assert!(is_excused(&asked("space-ready").seeing("namespace", nameless).request));
    assert!(is_excused(&asked("space-ready").seeing("quota", nowhere).request));
    // Another step's.
    assert!(!is_excused(&asked("ready").seeing("other", |object| *object = json!({})).request));
}

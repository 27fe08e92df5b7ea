//! Nothing of ours that exists is dropped: the function's first invariant once more, read off the design, without the function's code.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use prost::{Message as _, bytes::Bytes};
use serde::Deserialize;
use serde_json::{Value, json};
use testplatform_apis::names::{ObjectName, ours};
use testplatform_composites::{
    Evaluation,
    sdk::{
        proto::{Resource, RunFunctionRequest, RunFunctionResponse, Status},
        wire,
    },
};

/// What of a cluster is ours by its name. Everything else has our label.
const CLUSTER: [&str; 3] = ["claim", "credentials", "ec"];
/// The same of a pool: all that there is.
const POOL: [&str; 3] = ["admins", "pool", "size"];
/// The same of a space: all that there is, because the incumbent's have no label.
const SPACE: [&str; 11] = [
    "allow-from-openshift",
    "allow-same-namespace",
    "credentials",
    "namespace",
    "quota",
    "quota-not-terminating",
    "quota-terminating",
    "resource-limits",
    "rolebinding",
    "secret",
    "serviceaccount",
];
/// The only kind that we write and that is in no namespace.
const WITHOUT_NAMESPACE: &str = "Namespace";

/// What is observed of ours, and what can be read of it.
fn ours<'a>(request: &'a RunFunctionRequest, thought: &Evaluation) -> Vec<(&'a str, Option<Value>)> {
    let known: &[&str] = match thought {
        Evaluation::Cluster(_) => &CLUSTER,
        Evaluation::Pool(_) => &POOL,
        Evaluation::Space(_) => &SPACE,
    };
    let observed = request.observed.iter().flat_map(|state| &state.resources);
    let labelled = |bytes| marks(bytes).labels.get(ours::COMPONENT).is_some_and(Value::is_string);
    let ours = observed.filter(|(name, bytes)| known.contains(&name.as_str()) || labelled(bytes));
    ours.map(|(name, bytes)| (name.as_str(), object(bytes))).collect()
}

/// By what an Object is known and what is noted on it, also of one that cannot be read as a whole: the function reads no more than it needs.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Marks {
    labels: BTreeMap<String, Value>,
    annotations: BTreeMap<String, Value>,
}

fn marks(bytes: &Bytes) -> Marks {
    #[derive(Deserialize)]
    struct Marked {
        metadata: Marks,
    }
    let resource = Resource::decode(bytes.clone()).ok();
    let marked = resource.and_then(|resource| wire::from_struct::<Marked>(&resource.resource).ok());
    marked.map_or_else(Marks::default, |marked| marked.metadata)
}

fn object(bytes: &Bytes) -> Option<Value> {
    wire::to_value(&Resource::decode(bytes.clone()).ok()?.resource).ok()
}

/// Whether an observed resource of ours is none that an API server has, or none that we ever wrote: without a name, and so without the
/// notes that are needed where the writer is lost, or with a remote object of no name, or of no namespace where its kind has one. What
/// the function then lacks, its last check sees, and changes nothing.
pub fn garbled(request: &RunFunctionRequest, thought: &Evaluation) -> bool {
    ours(request, thought).iter().any(|(_, object)| object.as_ref().is_none_or(|object| !is_whole(object)))
}

fn is_whole(object: &Value) -> bool {
    let manifest = &object["spec"]["forProvider"]["manifest"];
    let remote = &manifest["metadata"];
    let placed = remote["namespace"].is_string() || manifest["kind"] == WITHOUT_NAMESPACE;
    // The CRD gives an Object without one hub `default`.
    let of_a_hub = object["spec"]["providerConfigRef"]["name"].is_string();
    placed && of_a_hub && object["metadata"]["name"].is_string() && remote["name"].is_string()
}

/// What an answer that core applies does to what is there, and must not: it would be deleted, or not be told to end.
pub fn dropped(
    request: &RunFunctionRequest,
    response: &RunFunctionResponse,
    thought: &Evaluation,
) -> Option<String> {
    let desired = response.desired.as_ref().expect("an answer without a desired state");
    let there = ours(request, thought);
    let mut gone = there.iter().filter(|(name, _)| !desired.resources.contains_key(*name));
    match thought {
        Evaluation::Cluster(_) => {
            let end = End::of(&there, request, response);
            let gone = gone.find(|(name, object)| !end.may_go(name, object.as_ref()));
            let gone = gone.map(|(name, _)| format!("{name} is dropped while {:?}", end.phase));
            gone.or_else(|| end.untold(&there, response))
        }
        Evaluation::Pool(_) => {
            let spec = composite(request)?["spec"].clone();
            gone.find(|(name, _)| !of_pool_may_go(name, &spec)).map(|(name, _)| format!("{name} is dropped"))
        }
        Evaluation::Space(_) => gone
            .find(|(name, object)| *name != "secret" || carries_something(object.as_ref()))
            .map(|(name, _)| format!("{name} is dropped")),
    }
}

/// None: it cannot be read as a whole, and what it asks for is not known here.
fn composite(request: &RunFunctionRequest) -> Option<Value> {
    wire::to_value(&request.observed.as_ref()?.composite.as_ref()?.resource).ok()
}

/// A pool is a setting: what is not asked for any more goes, and only that.
fn of_pool_may_go(name: &str, spec: &Value) -> bool {
    let drains = spec["drain"] == true;
    match name {
        "pool" => drains,
        "admins" => drains || spec["admins"].as_array().is_none_or(Vec::is_empty),
        "size" => drains || spec["scalingMode"] != "External",
        _ => false,
    }
}

/// In its first pass the incumbent writes `<no value>` for the name of the Secret with its token. There is none of that name.
fn carries_something(object: Option<&Value>) -> bool {
    let name =
        object.and_then(|object| object["spec"]["forProvider"]["manifest"]["metadata"]["name"].as_str());
    name.is_some_and(|name| ObjectName::try_from(name).is_ok())
}

/// What an answer for a cluster shows of its end.
struct End<'a> {
    phase: String,
    /// Nothing is left that costs money.
    over: bool,
    /// `credentials` remembers how the cluster ends.
    noted: bool,
    /// What is observed of ours.
    there: BTreeSet<&'a str>,
    /// The groups of nodes that the claim asks for. None at all: nobody can tell.
    groups: Vec<BTreeSet<String>>,
}

/// Those of its spec; where that says nothing, those that it was given, of which notes are kept. Where notes differ, those of each.
fn groups(there: &[(&str, Option<Value>)], request: &RunFunctionRequest) -> Vec<BTreeSet<String>> {
    let named = |groups: &Value| {
        let groups = groups.as_array().filter(|groups| !groups.is_empty())?;
        groups.iter().map(|group| Some(group["name"].as_str()?.to_owned())).collect::<Option<_>>()
    };
    let Some(composite) = composite(request) else { return vec![] };
    if let Some(asked) = named(&composite["spec"]["nodeGroups"]) {
        return vec![asked];
    }
    let noted = |marks: &Marks| {
        let note = marks.annotations.get(ours::EFFECTIVE)?.as_str()?;
        named(&serde_json::from_str::<Value>(note).ok()?["nodeGroups"])
    };
    let observed = request.observed.iter().flat_map(|state| &state.resources);
    let ours = observed.filter(|(name, _)| there.iter().any(|(own, _)| own == name));
    ours.filter_map(|(_, bytes)| noted(&marks(bytes))).collect()
}

impl<'a> End<'a> {
    fn of(
        there: &[(&'a str, Option<Value>)],
        request: &RunFunctionRequest,
        response: &RunFunctionResponse,
    ) -> Self {
        let desired = response.desired.as_ref().expect("an answer without a desired state");
        let shown = desired
            .composite
            .as_ref()
            .map(|composite| wire::to_value(&composite.resource).expect("a composite of ours"));
        let phase = shown.as_ref().and_then(|shown| shown["status"]["phase"].as_str()).unwrap_or_default();
        let over = response.conditions.iter().find(|condition| condition.r#type == "ProwJobCompleted");
        let credentials = desired.resources.get("credentials").and_then(object).unwrap_or_default();
        Self {
            phase: phase.to_owned(),
            over: over.is_some_and(|condition| condition.status == i32::from(Status::ConditionTrue)),
            noted: credentials["metadata"]["annotations"][ours::ENDING].is_string(),
            there: there.iter().map(|(name, _)| *name).collect(),
            groups: groups(there, request),
        }
    }

    /// Whether what is observed may be missing from the desired state.
    fn may_go(&self, name: &str, object: Option<&Value>) -> bool {
        // A live cluster gives back the nodes of a group that nobody asks for any more.
        if let Some(group) = name.strip_prefix("pool-")
            && self.groups.iter().any(|asked| !asked.contains(group))
        {
            return true;
        }
        if !["Deprovisioning", "Deprovisioned", "Failed"].contains(&self.phase.as_str()) {
            // It only looks, and where nobody asks for an end any more there is nothing to look at.
            return name == "bundles-undone";
        }
        match name {
            // By its manifest the hub is told to end the cluster, for as long as there is one. What only looks tells nothing.
            "ec" => object.is_some_and(only_looks),
            // It opens what is there still, and remembers how it ends. What a tenant brought, and what comes ahead, outlives the cluster.
            "credentials" | "byoc-access" | "byoc-namespace" | "byoc-pool" | "byoc-provider"
            | "byoc-request" | "cloud-credential" | "prerequisites" | "bundles-undone" => self.over,
            // Taking it away ends the cluster. That is done once and written down, or it would be an accident; while it goes it is looked
            // at, and once nothing is left it stays.
            "claim" | "cluster" | "instance" | "order" | "topology" => {
                let whole = object.is_some_and(is_whole);
                !self.over && (!whole || (self.is_noted() && !object.is_some_and(goes)))
            }
            // An instance goes before its cluster does. This is what sees that.
            "hosted" => self.over || !self.there.contains("instance"),
            // They go with the writer.
            "bundles" => true,
            name => name.starts_with("pool-"),
        }
    }

    /// What turned up again after the end has no `credentials` any more.
    fn is_noted(&self) -> bool {
        self.noted || self.phase == "Deprovisioned"
    }

    /// A writer whose cluster is ended by taking it away, and that is desired as if it lived. What was set up inside goes first.
    fn kept_whole(
        &self,
        there: &[(&'a str, Option<Value>)],
        response: &RunFunctionResponse,
    ) -> Option<&'a str> {
        if self.there.contains("bundles") || self.there.contains("bundles-undone") {
            return None;
        }
        let desired = &response.desired.as_ref()?.resources;
        // Also where what tells of it is lost: then it is looked for first.
        if desired.contains_key("bundles-undone") {
            return None;
        }
        let taken_away = ["claim", "cluster", "instance", "order", "topology"];
        let mut writers = there.iter().map(|(name, _)| *name).filter(|name| taken_away.contains(name));
        writers.find(|name| desired.get(*name).and_then(object).is_some_and(|object| is_full(&object)))
    }

    /// The function calls nothing Failed before it has begun to tear it down.
    fn untold(&self, there: &[(&str, Option<Value>)], response: &RunFunctionResponse) -> Option<String> {
        let failed = self.phase == "Failed" && !self.over;
        if failed && let Some(name) = self.kept_whole(there, response) {
            return Some(format!("{name} is Failed, and is not taken away"));
        }
        let (_, before) = there.iter().find(|(name, _)| failed && *name == "ec")?;
        let desired = response.desired.as_ref()?.resources.get("ec").and_then(object)?;
        let told = desired["spec"]["forProvider"]["manifest"]["spec"]["tearDownCluster"] == true;
        let looks = only_looks(&desired) || before.as_ref().is_some_and(only_looks);
        (!told && !looks).then(|| "ec is Failed, and its hub is not told".to_owned())
    }
}

/// What an Object may do that can make what it carries, and end it.
fn is_full(object: &Value) -> bool {
    let policies = &object["spec"]["managementPolicies"];
    policies.is_null() || *policies == json!(["*"]) || *policies == json!(["Observe", "Create", "Delete"])
}

/// Whether an Object can neither change nor end what it carries.
fn only_looks(object: &Value) -> bool {
    object["spec"]["managementPolicies"] == json!(["Observe"])
}

/// Whether an Object is being deleted.
fn goes(object: &Value) -> bool {
    object["metadata"]["deletionTimestamp"].as_str().is_some_and(|at| at.parse::<Timestamp>().is_ok())
}

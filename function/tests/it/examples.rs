//! Every directory of `examples/` is documentation, input of `render` and golden at once.
//! `SNAPSHOTS=overwrite cargo test -p function-testplatform --test it examples` writes each `desired.yaml`.

use std::{
    fs,
    path::{Path, PathBuf},
};

use clap::Parser as _;
use jiff::Timestamp;
use prost::{Message as _, bytes::Bytes};
use serde_json::{Value, json};
use snapbox::{Data, assert_data_eq};
use testplatform_composites::{
    Options,
    sdk::{
        proto::{Resource, RunFunctionRequest, RunFunctionResponse, Severity, Status},
        wire,
    },
};
use testplatform_render::{Pass, RenderArgs};

/// When every example is looked at.
const NOW: &str = "2026-03-02T12:00:00Z";
const COMPOSITION: &str = "package/compositions/testplatform-ephemeral-cluster.yaml";
const TEST_CLUSTER_COMPOSITION: &str = "package/compositions/testplatform-test-cluster.yaml";
const POOL_COMPOSITION: &str = "package/compositions/testplatform-cluster-pool.yaml";
const SPACE_COMPOSITION: &str = "package/install/components/spaces/composition.yaml";

/// Directories that show no state of a claim.
const OTHER_EXAMPLES: [&str; 3] = ["conformance", "gitops", "tekton"];

#[derive(clap::Parser)]
struct Cli {
    #[command(flatten)]
    render: RenderArgs,
}

fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn examples() -> Vec<(String, PathBuf)> {
    let entries = fs::read_dir(top().join("examples")).unwrap().map(|e| e.unwrap().path());
    let mut found: Vec<_> = entries
        .filter(|path| path.is_dir() && !OTHER_EXAMPLES.iter().any(|name| path.ends_with(name)))
        .map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), path))
        .collect();
    found.sort();
    assert!(found.len() > 20, "the examples are not where they should be");
    found
}

/// The command of an example, as its README has it.
fn command(name: &str, directory: &Path) -> Vec<String> {
    let file = |file: &str| directory.join(file).is_file().then(|| format!("examples/{name}/{file}"));
    let pool = file("pool.yaml");
    let cluster = file("testcluster.yaml");
    let otherwise = match (&pool, &cluster) {
        (Some(_), _) => POOL_COMPOSITION,
        (None, Some(_)) => TEST_CLUSTER_COMPOSITION,
        (None, None) if name.starts_with("space-") => SPACE_COMPOSITION,
        (None, None) => COMPOSITION,
    };
    let composition = file("composition.yaml").unwrap_or_else(|| otherwise.into());
    let subject = pool.or(cluster).unwrap_or_else(|| format!("examples/{name}/claim.yaml"));
    let mut words = vec![subject, composition];
    for (flag, name) in [("-e", "environment.yaml"), ("-o", "observed.yaml")] {
        if let Some(path) = file(name) {
            words.extend([flag.to_owned(), path]);
        }
    }
    let flags = ["--explain", "--include-function-results", "--include-connection-details", "--now", NOW];
    words.extend(flags.map(str::to_owned));
    words
}

/// The arguments of an example, wherever the test is run.
fn arguments(name: &str, directory: &Path) -> RenderArgs {
    let words = command(name, directory).into_iter();
    let anchored =
        words.map(|w| if w.contains('/') { top().join(w).to_str().unwrap().to_owned() } else { w });
    Cli::parse_from(std::iter::once("render".to_owned()).chain(anchored)).render
}

fn now() -> Timestamp {
    NOW.parse().unwrap()
}

/// The only pass of an example.
fn pass(name: &str, directory: &Path) -> Pass {
    let (input, remarks) = testplatform_render::Input::load(&arguments(name, directory), now()).unwrap();
    assert_eq!(remarks, [""; 0], "{name}");
    let mut rendered = testplatform_render::run(&input, now()).unwrap();
    assert_eq!(rendered.passes.len(), 1);
    rendered.passes.remove(0)
}

#[test]
fn every_example_is_complete_and_listed() {
    let list = fs::read_to_string(top().join("examples/README.md")).unwrap();
    for (name, directory) in examples() {
        let others =
            ["pool.yaml", "testcluster.yaml"].into_iter().find(|file| directory.join(file).is_file());
        let subject = others.unwrap_or("claim.yaml");
        for file in [subject, "README.md", "desired.yaml"] {
            assert!(directory.join(file).is_file(), "examples/{name} has no {file}");
        }
        assert!(list.contains(&format!("[`{name}`]({name})")), "examples/README.md does not list {name}");
        let readme = fs::read_to_string(directory.join("README.md")).unwrap();
        let said: Vec<&str> = readme.split_whitespace().filter(|w| *w != "\\").collect();
        let wanted = format!("function-testplatform render {}", command(&name, &directory).join(" "));
        assert!(said.join(" ").contains(&wanted), "examples/{name}/README.md does not say: {wanted}");
    }
}

#[test]
fn desired_is_what_render_prints() {
    for (name, directory) in examples() {
        let (mut out, mut notes) = (Vec::new(), Vec::new());
        testplatform_render::render(&arguments(&name, &directory), now, &mut out, &mut notes).unwrap();
        assert_eq!(String::from_utf8(notes).unwrap(), "", "{name}");
        let printed = String::from_utf8(out).unwrap();
        assert_data_eq!(
            Data::text(printed).raw(),
            Data::read_from(&directory.join("desired.yaml"), None).raw()
        );
    }
}

#[test]
fn no_secret_is_printed() {
    for (name, directory) in examples() {
        let printed = fs::read_to_string(directory.join("desired.yaml")).unwrap();
        for secret in ["not-a-real", "current-context", "bm90LWEtcmVhb"] {
            assert!(!printed.contains(secret), "examples/{name}/desired.yaml contains {secret}");
        }
    }
}

#[test]
fn every_answer_holds_the_invariants() {
    for (name, directory) in examples() {
        let Pass { request, response, thought, .. } = pass(&name, &directory);
        assert_eq!(thought.unwrap().find_violation(&response, &request), None, "{name}");
        assert!(response.results.iter().all(|r| r.severity() != Severity::Fatal), "{name}");
    }
}

/// An answer that was applied and reported back changes nothing and is no news.
#[test]
fn applied_answer_changes_nothing_further() {
    for (name, directory) in examples() {
        let Pass { mut request, mut response, .. } = pass(&name, &directory);
        // A new object has no status yet, which may be reported once; and a deleted object is desired again.
        for _ in 0..3 {
            carry_out(&mut request, &response);
            response = testplatform_composites::run(&request, &Options::default(), now());
        }
        carry_out(&mut request, &response);
        let again = testplatform_composites::run(&request, &Options::default(), now());
        let results: Vec<_> = again.results.iter().map(|r| &r.message).collect();
        assert_eq!(results, [""; 0], "{name}");
        assert_eq!(shown(&again), shown(&response), "{name}");
    }
}

fn shown(response: &RunFunctionResponse) -> Value {
    let desired = response.desired.as_ref().unwrap();
    let object = |r: &Resource| json!([wire::to_value(&r.resource).unwrap(), r.ready]);
    let resources = desired.resources.iter();
    json!({
        "composite": object(desired.composite.as_ref().unwrap()),
        "resources": resources.map(|(n, b)| json!([n, object(&decoded(b))])).collect::<Vec<_>>(),
        "conditions": response.conditions.iter().map(|c| format!("{c:?}")).collect::<Vec<_>>(),
    })
}

fn decoded(bytes: &Bytes) -> Resource {
    Resource::decode(bytes.clone()).unwrap()
}

/// Applies an answer as core does: apply desired resources, drop the others, keep the status, publish the details.
fn carry_out(request: &mut RunFunctionRequest, response: &RunFunctionResponse) {
    let desired = response.desired.clone().unwrap();
    let observed = request.observed.as_mut().unwrap();
    observed.resources.retain(|name, _| desired.resources.contains_key(name));
    for (name, bytes) in &desired.resources {
        let before = observed.resources.get(name).map(decoded).unwrap_or_default();
        let mut object = wire::to_value(&decoded(bytes).resource).unwrap();
        let old = wire::to_value(&before.resource).unwrap();
        for field in ["creationTimestamp", "finalizers", "labels", "ownerReferences", "uid"] {
            if let Some(value) = old["metadata"].get(field) {
                object["metadata"][field] = value.clone();
            }
        }
        for (key, value) in old["metadata"]["annotations"].as_object().into_iter().flatten() {
            if key.starts_with("crossplane.io/external") {
                object["metadata"]["annotations"][key] = value.clone();
            }
        }
        if let Some(status) = old.get("status") {
            object["status"] = status.clone();
        }
        let resource = Resource { resource: wire::to_struct(&object).unwrap(), ..before };
        observed.resources.insert(name.clone(), resource.encode_to_vec().into());
    }
    let wanted = desired.composite.unwrap();
    let composite = observed.composite.as_mut().unwrap();
    let mut object = wire::to_value(&composite.resource).unwrap();
    object["status"] = wire::to_value(&wanted.resource).unwrap()["status"].clone();
    object["status"]["conditions"] = response.conditions.iter().map(condition).collect();
    composite.resource = wire::to_struct(&object).unwrap();
    for entry in wanted.connection_details {
        composite.connection_details.retain(|e| e.key != entry.key);
        composite.connection_details.push(entry);
    }
}

fn condition(condition: &testplatform_composites::sdk::proto::Condition) -> Value {
    let status = match condition.status() {
        Status::ConditionTrue => "True",
        Status::ConditionFalse => "False",
        Status::ConditionUnknown | Status::ConditionUnspecified => "Unknown",
    };
    json!({
        "type": condition.r#type, "status": status, "reason": condition.reason,
        "message": condition.message, "lastTransitionTime": NOW,
    })
}

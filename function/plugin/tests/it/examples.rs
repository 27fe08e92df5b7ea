//! `why`, asked in every state that `examples/` has: by an administrator, and by a tenant who may read nothing but the claim.
//! `SNAPSHOTS=overwrite cargo test -p kubectl-testplatform --test it examples` writes `why.txt`.

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use jiff::Timestamp;
use kubectl_testplatform::{
    claim::{Claim, Flavour},
    command_context::CommandContext,
    commands::why::explain_claim,
    facts::{Facts, Lookup},
    observed_secret::ObservedSecret,
};
use serde_json::{Value, json};
use snapbox::{Data, assert_data_eq};

/// When every example is looked at.
const NOW: &str = "2026-03-02T12:00:00Z";
/// Since when every condition is as it is: what `render` prints there is made up.
const SINCE: &str = "2026-03-02T11:48:00Z";

fn now() -> Timestamp {
    NOW.parse().unwrap()
}

/// The tenant's object: a claim, or a composite that is its own.
fn asked(directory: &Path) -> Option<Value> {
    let of = |file| documents(&directory.join(file)).into_iter().next();
    of("claim.yaml").or_else(|| of("testcluster.yaml"))
}

fn examples() -> Vec<(String, PathBuf)> {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let entries = fs::read_dir(top).unwrap().map(|e| e.unwrap().path());
    // Pools and spaces have no claim of a cluster.
    let mut found: Vec<_> = entries
        .filter(|path| asked(path).is_some_and(|of| Flavour::ALL.iter().any(|f| of["kind"] == f.kind())))
        .map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), path))
        .collect();
    found.sort();
    assert!(found.len() > 20, "the examples are not where they should be");
    found
}

fn documents(path: &Path) -> Vec<Value> {
    fs::read_to_string(path).map_or_else(|_| vec![], |text| serde_saphyr::from_multiple(&text).unwrap())
}

fn objects(of: &[Value]) -> Vec<Value> {
    of.iter().filter(|d| d["kind"] == "Object").cloned().collect()
}

/// The state of an example, once what `render` prints has been carried out. None for composites without a claim.
fn facts(directory: &Path) -> Option<Facts> {
    let mut claim = asked(directory).unwrap();
    let desired = documents(&directory.join("desired.yaml"));
    let itself = claim["kind"] == Flavour::Cluster.kind();
    let kind = if itself { claim["kind"].clone() } else { "XTestPlatformCluster".into() };
    let mut composite = desired.iter().find(|d| d["kind"] == kind).unwrap().clone();
    for condition in composite["status"]["conditions"].as_array_mut().unwrap() {
        condition["lastTransitionTime"] = SINCE.into();
    }
    let reference = |o: &Value| json!({ "apiVersion": o["apiVersion"], "kind": o["kind"], "name": o["metadata"]["name"] });
    let references: Value = objects(&desired).iter().map(reference).collect();
    let synced = json!({ "type": "Synced", "status": "True", "reason": "ReconcileSuccess", "lastTransitionTime": SINCE });
    claim["status"] = composite["status"].clone();
    composite["status"]["conditions"].as_array_mut().unwrap().push(synced);
    if itself {
        claim["status"] = composite["status"].clone();
        claim["spec"]["crossplane"]["resourceRefs"] = references;
        composite = claim.clone();
    } else {
        claim["spec"]["resourceRef"] = json!({ "name": composite["metadata"]["name"] });
        composite["spec"]["resourceRefs"] = references;
    }
    let state = claim["status"]["credentials"]["state"].clone();
    let mut facts = Facts::new(Claim::read(claim)?);
    facts.composite = Lookup::Found(composite);
    facts.objects = Lookup::Found(objects(&documents(&directory.join("observed.yaml"))));
    let uid = facts.claim.uid().to_owned();
    let held = |keys: &str| {
        Lookup::Found(ObservedSecret::parse_output(&format!("{keys}\nconnection\n{uid} its claim")))
    };
    facts.secret = match state.as_str() {
        Some("Published") => held("kubeAdminPassword=32 kubeconfig=900"),
        Some("Withdrawn") => held("kubeAdminPassword=0 kubeconfig=0"),
        _ => Lookup::Missing,
    };
    Some(facts)
}

#[test]
fn every_state_has_an_answer() {
    let mut text = String::new();
    let mut asked = 0;
    for (name, directory) in examples() {
        let Some(facts) = facts(&directory) else {
            assert_eq!(name, "administrator", "its claim cannot be read");
            continue;
        };
        asked += 1;
        let whole = explain_claim(&facts, &CommandContext::default(), now());
        let tenant = Facts { composite: Lookup::Forbidden, objects: Lookup::NotAsked, ..facts };
        let limited = explain_claim(&tenant, &CommandContext::default(), now());
        write!(text, "# {name}\n{}\n\n## as a tenant\n{}\n\n", whole.join("\n"), limited.join("\n")).unwrap();
    }
    assert!(asked > 40, "{asked} examples were asked about");
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/why.txt");
    assert_data_eq!(
        Data::text(text.trim_end().to_owned() + "\n").raw(),
        Data::read_from(&golden, None).raw()
    );
}

/// Nothing of a Secret is ever in an answer: what was fetched of it is how long it is.
#[test]
fn no_answer_has_a_secret() {
    for (name, directory) in examples() {
        let Some(facts) = facts(&directory) else { continue };
        let said = explain_claim(&facts, &CommandContext::default(), now()).join("\n");
        for secret in ["not-a-real", "current-context", "bm90LWEtcmVhb"] {
            assert!(!said.contains(secret), "{name}: {said}");
        }
    }
}

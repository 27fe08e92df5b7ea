//! The claim's schema and the CRD: what changed, what is meant, and what is left alone when something cannot be read.

mod definitions;

use std::{fs, path::Path, process::Output};

use serde_json::{Value, json};
use testplatform_package::{sync, to_yaml};
use testplatform_test_data::upstream;

use crate::packages::support::{package, run, stdout, yaml};

const SHIPPED: &str = "package/crds/ephemeralclusters.ci.openshift.io.yaml";
const XRD: &str = "xrds/xtestplatformclusters.ci.openshift.org.yaml";

/// A copy of what `sync` reads and writes, and a CRD that says the same as the schema in it.
struct Checkout(tempfile::TempDir);

impl Checkout {
    fn new() -> Self {
        let this = Self(tempfile::tempdir().unwrap());
        for file in [
            &format!("package/{XRD}"),
            SHIPPED,
            "package/sync/differences.yaml",
            "apis/src/ci_operator.schema.json",
        ] {
            let to = this.path().join(file);
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            fs::copy(package().parent().unwrap().join(file), to).unwrap();
        }
        this
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn schema(&self) -> Value {
        serde_json::from_str(&self.schema_text()).unwrap()
    }

    fn schema_text(&self) -> String {
        fs::read_to_string(self.path().join("apis/src/ci_operator.schema.json")).unwrap()
    }

    /// Writes the CRD that goes with the schema data, changed.
    fn crd(&self, change: impl Fn(&mut Value)) -> String {
        self.file("crd.yaml", &to_yaml(&self.definition(change)).unwrap())
    }

    /// The CRD that goes with the schema data, with a changed spec and the status that we ship.
    fn definition(&self, change: impl Fn(&mut Value)) -> Value {
        let mut spec = json!({
            "type": "object",
            "required": ["ciOperator"],
            "properties": { "ciOperator": self.schema(), "tearDownCluster": { "type": "boolean" } },
        });
        change(&mut spec);
        let shipped = yaml(&self.path().join(SHIPPED));
        let status = &shipped["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["status"];
        json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": { "name": "ephemeralclusters.ci.openshift.io" },
            "spec": {
                "group": "ci.openshift.io",
                "names": { "kind": "EphemeralCluster", "plural": "ephemeralclusters" },
                "versions": [
                    { "name": "v1alpha1", "served": false, "storage": false },
                    { "name": "v1", "served": true, "storage": true,
                      "schema": { "openAPIV3Schema": { "properties": { "spec": spec, "status": status } } } },
                ],
            },
        })
    }

    fn file(&self, name: &str, text: &str) -> String {
        let path = self.path().join(name);
        fs::write(&path, text).unwrap();
        path.display().to_string()
    }

    /// Output of the tool, and `true` if nothing drifted.
    fn sync(&self, arguments: &[&str]) -> anyhow::Result<(bool, String)> {
        #[derive(clap::Parser)]
        struct Line {
            #[command(flatten)]
            arguments: sync::command::SyncArgs,
        }
        let line = <Line as clap::Parser>::try_parse_from([&["sync"], arguments].concat())?;
        let mut out = vec![];
        let clean = sync::command::run(&line.arguments, &self.path().join("package"), &mut out)?;
        Ok((clean, String::from_utf8(out)?))
    }
}

fn operator(spec: &mut Value) -> &mut Value {
    &mut spec["properties"]["ciOperator"]["properties"]
}

#[test]
fn synchronized_data_stays_unchanged() {
    let checkout = Checkout::new();
    let before = checkout.schema_text();
    let crd = checkout.crd(|_| {});
    assert_eq!(
        checkout.sync(&["--crd", &crd, "--check"]).unwrap(),
        (true, "in step with the CRD; every difference is a listed one\n".to_owned())
    );
    assert_eq!(
        checkout.sync(&["--crd", &crd]).unwrap(),
        (true, "apis/src/ci_operator.schema.json is up to date\n".to_owned())
    );
    assert_eq!(checkout.schema_text(), before);
}

#[test]
fn changes_are_reported_with_their_verdict_and_applied() {
    let checkout = Checkout::new();
    let crd = checkout.crd(|spec| {
        operator(spec)["test"]["properties"]["retries"] =
            json!({ "type": "integer", "description": "theirs" });
        operator(spec)["releases"]["additionalProperties"]["properties"]["release"]["properties"]
            .as_object_mut()
            .unwrap()
            .remove("relative");
    });
    let (clean, drift) = checkout.sync(&["--crd", &crd, "--check"]).unwrap();
    assert!(!clean);
    let changes = [
        "spec.ciOperator.releases.*.release.relative: removed (integer) (breaks claims in flight)",
        "spec.ciOperator.test.retries: added (integer) (compatible)",
    ];
    assert_eq!(drift.lines().collect::<Vec<_>>(), changes.map(|change| format!("drift: {change}")));

    // Such as an older CRD: it is not taken over by mistake.
    let before = checkout.schema();
    let (clean, told) = checkout.sync(&["--crd", &crd]).unwrap();
    assert!(!clean && told.contains("is left as it is, because this CRD breaks claims in flight"), "{told}");
    assert_eq!(checkout.schema(), before);

    let (_, told) = checkout.sync(&["--crd", &crd, "--accept-breaking"]).unwrap();
    assert!(changes.iter().all(|change| told.contains(change)), "{told}");
    assert!(told.contains("breaks claims in flight; now run `cargo xpkg generate`"), "{told}");
    assert_eq!(checkout.schema()["properties"]["test"]["properties"]["retries"]["description"], "theirs");
    assert!(checkout.sync(&["--crd", &crd]).unwrap().1.contains("up to date"));
    // Until it is generated again, the XRD lags behind.
    let (clean, drift) = checkout.sync(&["--crd", &crd, "--check"]).unwrap();
    assert!(!clean && drift.contains("spec.ciOperator.test.retries: only in the CRD"), "{drift}");
}

#[test]
fn our_descriptions_stay() {
    let checkout = Checkout::new();
    let mut ours = checkout.schema();
    ours["description"] = json!("ours");
    let text = format!("{}\n", serde_json::to_string_pretty(&ours).unwrap());
    let crd =
        checkout.crd(|spec| operator(spec)["test"]["properties"]["retries"] = json!({ "type": "integer" }));
    checkout.file("apis/src/ci_operator.schema.json", &text);
    checkout.sync(&["--crd", &crd]).unwrap();
    assert_eq!(checkout.schema()["description"], "ours");
}

#[test]
fn the_written_file_differs_only_in_the_change() {
    let checkout = Checkout::new();
    let before = checkout.schema_text();
    let crd =
        checkout.crd(|spec| operator(spec)["test"]["properties"]["retries"] = json!({ "type": "integer" }));
    checkout.sync(&["--crd", &crd]).unwrap();
    let after = checkout.schema_text();
    let added: Vec<_> = after.lines().filter(|line| !before.contains(*line)).collect();
    assert_eq!(added, ["        \"retries\": {"]);
    assert_eq!(after.lines().count(), before.lines().count() + 3);
}

/// The differences are meant: exactly these.
#[test]
fn unlisted_and_stale_differences_are_drift() {
    let checkout = Checkout::new();
    let crd = checkout.crd(|_| {});
    let path = format!("package/{XRD}");
    let change = |change: &dyn Fn(&mut Value)| {
        let mut xrd = yaml(&package().join(XRD));
        change(&mut xrd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]);
        checkout.file(&path, &to_yaml(&xrd).unwrap());
        checkout.sync(&["--crd", &crd, "--check"]).unwrap()
    };
    let drifts = |edit: &dyn Fn(&mut Value), what: &str| {
        let (clean, said) = change(edit);
        assert!(!clean && said.contains(what), "{what}: {said}");
    };
    drifts(
        &|spec| operator(spec)["buildRoot"]["required"] = json!(["x"]),
        "buildRoot: required is nothing in the CRD",
    );
    drifts(&|spec| spec["properties"]["colour"] = json!({ "type": "string" }), "spec.colour: not in the CRD");
    drifts(
        &|spec| {
            operator(spec)["test"]["properties"]["clusterClaim"]["required"] =
                json!(["cloud", "owner", "version"]);
        },
        "\"an-empty-cluster-claim-is-none\" (required) is listed but not there",
    );
    drifts(
        &|spec| {
            let level =
                operator(spec)["releases"]["additionalProperties"]["properties"]["release"].as_object_mut();
            level.unwrap().remove("x-kubernetes-preserve-unknown-fields");
        },
        "spec.ciOperator.releases.*.release: lacks x-kubernetes-preserve-unknown-fields",
    );
    drifts(&|spec| spec["properties"]["tearDownCluster"]["type"] = json!("string"), "tearDownCluster: type");
    assert!(change(&|spec| operator(spec)["test"]["description"] = json!("ours")).0, "descriptions are ours");
}

/// A difference was decided on against what the CRD said then.
#[test]
fn a_difference_is_decided_again_when_the_crd_changes_under_it() {
    let checkout = Checkout::new();
    let crd = checkout.crd(|spec| spec["required"] = json!(["ciOperator", "tearDownCluster"]));
    let (clean, said) = checkout.sync(&["--crd", &crd, "--check"]).unwrap();
    assert!(
        !clean && said.contains("spec: required is [\"ciOperator\",\"tearDownCluster\"] in the CRD"),
        "{said}"
    );
    // Beside the block nothing can be taken over, so it is told.
    let crd = checkout.crd(|spec| spec["properties"]["priority"] = json!({ "type": "integer" }));
    let (_, said) = checkout.sync(&["--crd", &crd]).unwrap();
    assert!(said.contains("by hand: spec.priority: only in the CRD (integer)"), "{said}");
}

#[test]
fn unreadable_input_is_reported_with_its_line_and_changes_nothing() {
    let checkout = Checkout::new();
    let before = checkout.schema_text();
    let refused = |name: &str, text: &str, what: &str| {
        let path = checkout.file(name, text);
        for arguments in [vec!["--crd", &path], vec!["--crd", &path, "--check"]] {
            let said = format!("{:#}", checkout.sync(&arguments).unwrap_err());
            assert!(said.contains(&format!("{path}:{what}")), "{text:?}: {said}");
        }
    };
    refused("broken.yaml", "---\nkind: CustomResourceDefinition\nspec:\n  a: [\n", "");
    refused("deployment.yaml", "# comment\napiVersion: apps/v1\nkind: Deployment\n", "3: of kind Deployment");
    refused(
        "other.yaml",
        "kind: CustomResourceDefinition\nspec:\n  group: prow.k8s.io\n  names:\n    kind: ProwJob\n",
        "5: a CRD of prow.k8s.io ProwJob",
    );
    refused("empty.yaml", "", "1: nothing is in it");
    let text = fs::read_to_string(checkout.crd(|_| {})).unwrap();
    refused(
        "unserved.yaml",
        &text.replace("served: true", "served: false"),
        "1: version v1, in which clusters are asked for, is not served",
    );
    refused(
        "without.yaml",
        &text.replace("ciOperator:", "other:"),
        "1: version v1 has no schema of spec.ciOperator",
    );
    let missing = checkout.path().join("no-such-file").display().to_string();
    assert!(checkout.sync(&["--crd", &missing]).is_err());
    assert_eq!(checkout.schema_text(), before);
}

/// A newer version that is stored changes nothing for who asks in the older one.
#[test]
fn the_requested_version_is_compared_and_not_the_stored_one() {
    let checkout = Checkout::new();
    let text = fs::read_to_string(checkout.crd(|_| {})).unwrap();
    let path = checkout.file("moved.yaml", &text.replace("storage: true", "storage: false"));
    assert!(checkout.sync(&["--crd", &path, "--check"]).unwrap().0);
}

/// Other objects may stand in the file too, as in what `kubectl get -o yaml` and kustomize print.
#[test]
fn the_crd_is_found_among_others() {
    let checkout = Checkout::new();
    let text = fs::read_to_string(checkout.crd(|_| {})).unwrap();
    let path = checkout.file("all.yaml", &format!("kind: Namespace\n---\n{text}"));
    assert!(checkout.sync(&["--crd", &path, "--check"]).unwrap().0);
}

#[test]
fn the_tool_exits_with_3_on_drift() {
    let checkout = Checkout::new();
    let tool = |crd: &str| -> Output {
        run(&mut crate::packages::support::tool(&["sync", "--check", "--crd", crd]))
    };
    let crd = checkout.crd(|spec| operator(spec)["new"] = json!({ "type": "string" }));
    assert_eq!(tool(&crd).status.code(), Some(3), "{}", stdout(&tool(&crd)));
    assert_eq!(tool(&checkout.crd(|_| {})).status.code(), Some(0), "{}", stdout(&tool(&crd)));
    assert_eq!(tool("no-such-file").status.code(), Some(1));
}

#[test]
fn our_schema_is_in_sync_with_the_hubs() {
    let directory = upstream();
    let crd = directory.join("crds/ephemeralclusters.ci.openshift.io.yaml").display().to_string();
    let checkout = Checkout::new();
    let before = checkout.schema_text();
    assert_eq!(
        checkout.sync(&["--crd", &crd, "--check"]).unwrap().1,
        "in step with the CRD; every difference is a listed one\n"
    );
    checkout.sync(&["--crd", &crd]).unwrap();
    assert_eq!(checkout.schema_text(), before);
}

/// It has been so since November 2025: asked for N-k, the tenant gets N.
#[test]
fn the_drift_of_upstreams_own_xrd_is_found() {
    let directory = upstream();
    let crd = directory.join("crds/ephemeralclusters.ci.openshift.io.yaml").display().to_string();
    let xrd = directory.join(XRD).display().to_string();
    let (clean, drift) = Checkout::new().sync(&["--crd", &crd, "--check", "--xrd", &xrd]).unwrap();
    assert!(!clean);
    let drift: Vec<_> = drift.lines().collect();
    assert_eq!(drift.len(), 1, "{drift:?}");
    assert!(
        drift[0].starts_with("drift: spec.ciOperator.releases.*.release.relative: only in the CRD (integer)")
    );
}

/// The same by an XRD made from our schema; a file of another kind is refused.
#[test]
fn a_field_missing_in_an_xrd_is_found() {
    let checkout = Checkout::new();
    let crd = checkout.crd(|_| {});
    let mut schema = checkout.schema();
    let release = &mut schema["properties"]["releases"]["additionalProperties"]["properties"]["release"];
    release["properties"].as_object_mut().unwrap().remove("relative");
    let spec = json!({ "type": "object", "required": ["ciOperator"],
        "properties": { "ciOperator": schema, "tearDownCluster": { "type": "boolean" } } });
    let xrd = json!({ "kind": "CompositeResourceDefinition", "spec": { "versions": [
        { "referenceable": true, "schema": { "openAPIV3Schema": { "properties": { "spec": spec } } } },
    ] } });
    let xrd = checkout.file("xrd.yaml", &to_yaml(&xrd).unwrap());
    let (clean, drift) = checkout.sync(&["--crd", &crd, "--check", "--xrd", &xrd]).unwrap();
    assert!(
        !clean && drift.lines().count() == 1 && drift.contains("release.relative: only in the CRD"),
        "{drift}"
    );
    let said = checkout.sync(&["--crd", &crd, "--check", "--xrd", &crd]).unwrap_err().to_string();
    assert!(said.contains("of kind CustomResourceDefinition, not an XRD"), "{said}");
}

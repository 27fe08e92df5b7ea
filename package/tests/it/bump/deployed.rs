//! Deployed files beyond the pinned directory: an overlay is everything that its kustomizations lead to.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;
use testplatform_package::bump::Tree;

use crate::bump::range::{COMPOSITION, XRD, ids};
use crate::bump::support::{Checkout, files, path, text, tree};

const OURS: &str = "example/testplatform";
const OVERLAY: &str = "package/install/overlays/konflux";
const ROLE: &str = "kind: ClusterRole\nmetadata: {name: more}\nrules:\n- apiGroups: [g.example]\n  resources: [r]\n  verbs: [get]\n";

/// A source in the shape of this repository.
fn ours() -> Tree {
    Tree::from_iter([
        (
            "package/install/overlays/konflux/kustomization.yaml",
            "resources:\n- ../../base\ncomponents:\n- ../../components/monitoring\npatches:\n- path: ../../patches/memory.yaml\n",
        ),
        ("package/install/base/kustomization.yml", "resources:\n- ../function\n- ../api\n- ../tenants\n"),
        ("package/install/function/kustomization.yaml", "resources:\n- function.yaml\n"),
        (
            "package/install/function/function.yaml",
            "kind: Function\nmetadata:\n  name: function-testplatform\nspec:\n  package: function-testplatform\n",
        ),
        ("package/install/api/Kustomization", "bases:\n- ../../xrds/\n- ../../compositions\n"),
        ("package/xrds/kustomization.yaml", "resources:\n- xrd.yaml\n"),
        ("package/xrds/xrd.yaml", XRD),
        ("package/compositions/kustomization.yaml", "resources:\n- composition.yaml\n"),
        ("package/compositions/composition.yaml", COMPOSITION),
        ("package/install/tenants/kustomization.yaml", "resources:\n- roles.yaml\n"),
        ("package/install/tenants/roles.yaml", ROLE),
        ("package/install/components/monitoring/rule.yaml", "kind: PrometheusRule\n"),
        ("package/install/components/carrier/rbac.yaml", "kind: ClusterRole\n"),
        ("package/install/patches/memory.yaml", "kind: Deployment\n"),
        ("package/install/patches/unused.yaml", "kind: Deployment\n"),
        ("README.md", "source\n"),
    ])
}

/// This repository's own, as whoever pins it has it.
fn shipped() -> Tree {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut tree = Tree::default();
    for folder in ["install", "xrds", "compositions", "crds"] {
        for (path, bytes) in files(&root.join(folder)) {
            tree.insert(format!("package/{}", path.strip_prefix(root).unwrap().display()), bytes);
        }
    }
    tree
}

/// The source, and an infra-deployments whose development and staging pin a directory of its first commit.
fn world(source: &Tree, pinned: &str) -> (Checkout, Checkout) {
    let source = Checkout::of(source);
    let first = source.git(&["rev-parse", "HEAD"]).trim().to_owned();
    let mut infra = tree();
    for name in ["development/kustomization.yaml", "staging/base/kustomization.yaml"] {
        let pin = format!("- https://github.com/{OURS}/{pinned}?ref={first}\n- https");
        let with = text(&infra, name).replacen("- https", &pin, 1);
        infra.insert(path(name), with);
    }
    (source, Checkout::of(&infra))
}

fn plan(infra: &Checkout, source: &Checkout, more: &[&str]) -> (i32, Value) {
    let to = source.path().to_str().unwrap();
    let arguments = ["plan", "--json", "--source", OURS, "--env", "dev,staging", "--to", to];
    let ran = infra.bump(&[&arguments[..], more].concat());
    let said = serde_json::from_str(&ran.out);
    (ran.code, said.unwrap_or_else(|error| panic!("{error}: {}{}", ran.out, ran.err)))
}

/// Adds to a file of the source, in a commit with the file's name.
fn add(source: &Checkout, file: &str, more: &str) {
    source.write(file, source.read(file) + more);
    source.commit(file);
}

/// Kind of each commit, by its subject.
fn kinds(said: &Value) -> BTreeMap<String, String> {
    let commits = said["commits"].as_object().unwrap().values().flat_map(|list| list.as_array().unwrap());
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    commits.map(|commit| (text(&commit["subject"]), text(&commit["kind"]))).collect()
}

fn check_kinds(source: &Tree, changes: &[(&str, &str, &str)]) -> Value {
    let (source, infra) = world(source, OVERLAY);
    for (file, more, _) in changes {
        add(&source, file, more);
    }
    let (code, said) = plan(&infra, &source, &[]);
    let expected: BTreeMap<_, _> =
        changes.iter().map(|(file, _, kind)| ((*file).to_owned(), (*kind).to_owned())).collect();
    assert_eq!(kinds(&said), expected);
    assert_eq!((code, ids(&said, "error")), (2, Vec::new()), "{said:#}");
    assert_eq!(said["risk"]["level"], "Medium", "{said:#}");
    assert!(ids(&said, "warning").contains(&"B14".to_owned()), "{said:#}");
    said
}

#[test]
fn only_paths_that_an_overlay_references_are_deployed() {
    check_kinds(
        &ours(),
        &[
            ("package/install/overlays/konflux/kustomization.yaml", "labels: []\n", "templates"),
            ("package/install/function/function.yaml", "  revisionHistoryLimit: 1\n", "templates"),
            ("package/xrds/xrd.yaml", "# more\n", "definitions"),
            ("package/compositions/composition.yaml", "---\nkind: ConfigMap\n", "templates"),
            (
                "package/install/tenants/roles.yaml",
                "- apiGroups: [h.example]\n  resources: [r]\n  verbs: [get]\n",
                "rights",
            ),
            ("package/install/components/monitoring/rule.yaml", "spec: {}\n", "templates"),
            ("package/install/patches/memory.yaml", "spec: {}\n", "templates"),
            ("package/install/patches/unused.yaml", "spec: {}\n", "other"),
            ("package/install/components/carrier/rbac.yaml", "rules: []\n", "other"),
            ("README.md", "more\n", "other"),
        ],
    );
}

/// The overlay that the guide has people pin: it has a place for the package, and no package yet.
#[test]
fn the_shipped_overlay_is_deployed_completely() {
    let role = format!("---\n{ROLE}");
    let said = check_kinds(
        &shipped(),
        &[
            ("package/xrds/xtestplatformclusters.ci.openshift.org.yaml", "# more\n", "definitions"),
            (
                "package/compositions/testplatform-ephemeral-cluster.yaml",
                "---\nkind: ConfigMap\n",
                "templates",
            ),
            ("package/install/function/runtime-config.yaml", "---\nkind: ConfigMap\n", "templates"),
            ("package/install/tenants/roles.yaml", role.as_str(), "rights"),
            ("package/install/components/openshift/kustomization.yaml", "labels: []\n", "templates"),
            ("package/install/hub/deployment.yaml", "---\nkind: ConfigMap\n", "other"),
            ("package/install/README.md", "more\n", "other"),
        ],
    );
    let found = ["error", "warning", "note"].map(|severity| ids(&said, severity)).concat();
    assert!(!found.contains(&"B11".to_owned()), "{said:#}");
    assert!(found.contains(&"B06".to_owned()), "it names its resources itself: {said:#}");
}

#[test]
fn a_breaking_change_outside_the_overlay_fails() {
    for (file, from, to, id) in [
        ("package/xrds/xrd.yaml", "              kept: {type: string}\n", "", "B05"),
        ("package/xrds/xrd.yaml", "kind: XTestPlatformCluster,", "kind: XOther,", "B06"),
        (
            "package/compositions/composition.yaml",
            "name: testplatform-ephemeral-cluster",
            "name: other",
            "B06",
        ),
        (
            "package/install/function/function.yaml",
            "package: function-testplatform",
            "package: quay.io/konflux-ci/f:v1",
            "B11",
        ),
        (
            "package/install/function/function.yaml",
            "package: function-testplatform",
            "package: function-testplatform:v1",
            "B11",
        ),
    ] {
        let (source, infra) = world(&ours(), OVERLAY);
        source.write(file, source.read(file).replace(from, to));
        source.commit("Change it");
        let (code, said) = plan(&infra, &source, &[]);
        let errors = ids(&said, "error");
        assert!(code == 3 && !errors.is_empty() && errors.iter().all(|error| error == id), "{to}: {said:#}");
        assert_eq!(said["risk"]["level"], "High", "{to}");
    }
}

#[test]
fn rights_and_requests_outside_the_overlay_are_compared() {
    let (source, infra) = world(&ours(), OVERLAY);
    source.write("package/install/tenants/roles.yaml", ROLE.replace("[get]", "['*']"));
    source.commit("Do all to r");
    infra.write(
        ".git/crd.yaml",
        "kind: CustomResourceDefinition\nspec:\n  names: {kind: EphemeralCluster}\n  versions:\n  - storage: true\n    \
         schema: {openAPIV3Schema: {properties: {spec: {type: object, properties: {extra: {type: string}}}}}}\n",
    );
    let crd = infra.path().join(".git/crd.yaml");
    let (code, said) = plan(&infra, &source, &["--crd", crd.to_str().unwrap()]);
    assert_eq!((code, said["risk"]["level"].as_str()), (2, Some("High")), "{said:#}");
    let warnings = ids(&said, "warning");
    assert!(["B04", "B14"].iter().all(|id| warnings.contains(&(*id).to_owned())), "{said:#}");
}

#[test]
fn a_path_deployed_at_only_one_of_two_commits_counts() {
    let (source, infra) = world(&ours(), OVERLAY);
    add(&source, "package/install/components/carrier/rbac.yaml", "rules: []\n");
    let overlay = format!("{OVERLAY}/kustomization.yaml");
    source.write(
        &overlay,
        source.read(&overlay).replace("monitoring\n", "monitoring\n- ../../components/carrier\n"),
    );
    source.commit("Take in the carrier");
    source.write("package/install/base/kustomization.yml", "resources:\n- ../function\n- ../api\n");
    source.git(&["mv", "package/install/tenants/roles.yaml", "attic.yaml"]);
    source.commit("Give no rights");
    let (_, said) = plan(&infra, &source, &[]);
    let found = kinds(&said);
    assert_eq!(found["package/install/components/carrier/rbac.yaml"], "rights");
    assert_eq!(found["Give no rights"], "rights", "moved away is gone");
    let gone = said["findings"].as_array().unwrap().iter().any(|finding| {
        finding["id"] == "B14" && finding["message"].as_str().unwrap().starts_with("rights removed")
    });
    assert!(gone, "{said:#}");
}

#[test]
fn a_trailing_slash_of_the_pinned_directory_is_ignored() {
    let (source, infra) = world(&ours(), &format!("{OVERLAY}/"));
    let overlay = format!("{OVERLAY}/kustomization.yaml");
    add(&source, &overlay, "labels: []\n");
    add(&source, "package/install/function/function.yaml", "  revisionHistoryLimit: 1\n");
    let found = kinds(&plan(&infra, &source, &[]).1);
    assert!(found.len() == 2 && found.values().all(|kind| kind == "templates"), "{found:?}");
}

#[test]
fn an_unreadable_kustomization_of_the_source_is_an_error() {
    let (source, infra) = world(&ours(), OVERLAY);
    source.write("package/install/base/kustomization.yml", "resources:\n- ../api\n- [\n");
    let commit = source.commit("Break it");
    let (code, said) = plan(&infra, &source, &[]);
    let place = format!("{}:package/install/base/kustomization.yml", &commit[..7]);
    assert_eq!((code, said["errors"][0]["file"].as_str()), (1, Some(place.as_str())), "{said:#}");
    assert!(said["errors"][0]["what"].as_str().unwrap().starts_with("not readable as YAML"), "{said:#}");
}

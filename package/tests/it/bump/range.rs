//! Commits of a range, on a source of our own with a history.

use serde_json::Value;

use crate::bump::support::{Checkout, OTHER, tree};
use testplatform_package::bump::Tree;

pub const XRD: &str = "apiVersion: apiextensions.crossplane.io/v1
kind: CompositeResourceDefinition
metadata:
  name: xtestplatformclusters.ci.openshift.org
spec:
  group: ci.openshift.org
  names: {kind: XTestPlatformCluster, plural: xtestplatformclusters}
  connectionSecretKeys: [kubeconfig]
  versions:
  - name: v1alpha1
    served: true
    referenceable: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              kept: {type: string}
              ciOperator: {type: object}
";

pub const COMPOSITION: &str = "apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata:
  name: testplatform-ephemeral-cluster
spec:
  compositeTypeRef: {apiVersion: ci.openshift.org/v1alpha1, kind: XTestPlatformCluster}
  pipeline:
  - step: write-connection-details
    input:
      resources:
      - name: credentials
";

const TEMPLATE: &str = "
# matchName: envcfg
metadata:
  annotations:
    gotemplating.fn.crossplane.io/composition-resource-name: ec
spec:
  providerConfigRef:
    name: testplatform-kubernetes-provider-config
";

fn package(digest: char) -> String {
    format!(
        "kind: Function\nmetadata:\n  name: function-x\nspec:\n  package: quay.io/konflux-ci/x@sha256:{}\n",
        digest.to_string().repeat(64)
    )
}

/// A source, an infra-deployments that is pinned to its first commit, and that commit.
fn world() -> (Checkout, Checkout, String) {
    let source = Checkout::of(&Tree::from_iter([
        ("config/kustomization.yaml", "resources: [xrd.yaml, composition.yaml, functions.yaml]\n"),
        ("config/xrd.yaml", XRD),
        ("config/composition.yaml", COMPOSITION),
        ("config/templates/ec.yaml", TEMPLATE),
        ("config/functions.yaml", &package('1')),
        ("crossplane/kustomization.yaml", "helmCharts: []\n"),
        ("examples/provider-kubernetes-in-cluster/kustomization.yml", "resources: []\n"),
        ("README.md", "source\n"),
    ]));
    let first = source.git(&["rev-parse", "HEAD"]).trim().to_owned();
    let mut infra = tree();
    for (path, bytes) in tree().files() {
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        infra.insert(
            path,
            text.replace(crate::bump::support::NEW, &first).replace(crate::bump::support::OLD, &first),
        );
    }
    (source, Checkout::of(&infra), first)
}

fn plan(infra: &Checkout, source: &Checkout, more: &[&str]) -> (i32, Value) {
    let mut arguments =
        vec!["plan", "--json", "--env", "dev,staging", "--to", source.path().to_str().unwrap()];
    arguments.extend(more);
    let ran = infra.bump(&arguments);
    (
        ran.code,
        serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{error}: {}{}", ran.out, ran.err)),
    )
}

pub fn ids(value: &Value, severity: &str) -> Vec<String> {
    let findings = value["findings"].as_array().unwrap().iter();
    findings.filter(|f| f["severity"] == severity).map(|f| f["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn digests_alone_are_a_low_risk() {
    let (source, infra, _) = world();
    source.write("config/functions.yaml", package('2'));
    source.commit("chore(deps): update digest");
    source.write("README.md", "changed: verbs:\n");
    source.commit("Explain");
    let (code, said) = plan(&infra, &source, &[]);
    assert_eq!((code, said["risk"]["level"].as_str()), (2, Some("Low")), "{said:#}");
    let commits = said["commits"].as_object().unwrap().values().next().unwrap().as_array().unwrap();
    let kinds: Vec<_> = commits.iter().map(|commit| commit["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["other", "digests"]);
}

#[test]
fn risk_of_templates_and_rights_is_graded() {
    let (source, infra, _) = world();
    source.write("config/templates/ec.yaml", format!("{TEMPLATE}  more: x\n"));
    source.commit("Change a template");
    assert_eq!(plan(&infra, &source, &[]).1["risk"]["level"], "Medium");
    let role = "kind: ClusterRole\nrules:\n- apiGroups: [g]\n  resources: [r]\n  verbs: [get]\n";
    source.write("config/rbac.yaml", role);
    source.commit("Read r");
    let (_, said) = plan(&infra, &source, &[]);
    assert_eq!(
        (&said["risk"]["level"], ids(&said, "warning").contains(&"B14".to_owned())),
        (&"Medium".into(), true)
    );
    source.write("config/rbac.yaml", role.replace("[get]", "['*']"));
    source.commit("Do all to r");
    assert_eq!(plan(&infra, &source, &[]).1["risk"]["level"], "High");
}

/// A policy's refusals are a matter of rights, too, whichever line of it changes.
#[test]
fn an_admission_policy_counts_as_rights() {
    let (source, infra, _) = world();
    let policy = "kind: ValidatingAdmissionPolicy\nspec:\n  validations:\n  - expression: a\n";
    source.write("config/fields-policy.yaml", policy);
    source.commit("Refuse b");
    source.write("config/fields-policy.yaml", policy.replace("expression: a", "expression: a || b"));
    source.commit("Refuse b no more");
    let (_, said) = plan(&infra, &source, &[]);
    let commits = said["commits"].as_object().unwrap().values().next().unwrap().as_array().unwrap();
    let kinds: Vec<_> = commits.iter().map(|commit| commit["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["rights", "rights"], "{said:#}");
}

/// Rights grow without a new verb on a new kind, too: by who has them, for which objects, and where.
#[rstest::rstest]
#[case::for_all_objects("  resourceNames: [x]\n", "", "Medium", "resources: [r], verbs: [get]")]
#[case::in_all_namespaces(
    "kind: Role\n",
    "kind: ClusterRole\n",
    "Medium",
    "resourceNames: [x], verbs: [get]"
)]
#[case::in_another_namespace(
    "namespace: one}",
    "namespace: two}",
    "Medium",
    "verbs: [get]} in namespace two"
)]
#[case::of_addresses(
    "- apiGroups: [g]\n  resources: [r]\n",
    "- nonResourceURLs: ['*']\n",
    "High",
    "{nonResourceURLs: [*], verbs: [get]}"
)]
#[case::bound_in_another_namespace(
    "namespace: here}",
    "namespace: there}",
    "Medium",
    "gets ClusterRole edit in namespace there"
)]
#[case::of_all_secrets(
    "[r]\n  verbs: [get]\n  resourceNames: [x]\n",
    "[secrets]\n  verbs: [get]\n",
    "High",
    "[secrets]"
)]
#[case::of_somebody_else(
    "name: s,",
    "name: t,",
    "Medium",
    "ServiceAccount team/t gets ClusterRole g in all namespaces"
)]
#[case::by_a_label(
    "name: l}",
    "name: l, labels: {rbac.crossplane.io/aggregate-to-crossplane: 'true'}}",
    "Medium",
    "whoever gathers rbac.crossplane.io/aggregate-to-crossplane gets ClusterRole l in all namespaces"
)]
#[case::of_all_with_a_label(
    "name: l}",
    "name: l}\naggregationRule: {clusterRoleSelectors: [{matchLabels: {a: b}}]}",
    "Medium",
    "ClusterRole l gets every ClusterRole with"
)]
#[case::of_an_administrator(
    "name: g}",
    "name: cluster-admin}",
    "High",
    "gets ClusterRole cluster-admin in all namespaces"
)]
fn rights_grow(#[case] from: &str, #[case] to: &str, #[case] level: &str, #[case] says: &str) {
    const RIGHTS: &str = "kind: Role\nmetadata: {namespace: one}\nrules:\n- apiGroups: [g]\n  resources: [r]\n  verbs: [get]\n  resourceNames: [x]\n---\n\
        kind: ClusterRoleBinding\nroleRef: {kind: ClusterRole, name: g}\nsubjects:\n\
        - {kind: ServiceAccount, name: s, namespace: team}\n---\n\
        kind: RoleBinding\nmetadata: {namespace: here}\nroleRef: {kind: ClusterRole, name: edit}\nsubjects:\n\
        - {kind: ServiceAccount, name: s, namespace: team}\n---\n\
        kind: ClusterRole\nmetadata: {name: l}\nrules: []\n";
    let (source, _, _) = world();
    source.write("config/rights.yaml", RIGHTS);
    source.commit("Give rights");
    let first = source.git(&["rev-parse", "HEAD"]).trim().to_owned();
    let mut infra = tree();
    for (path, bytes) in tree().files() {
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        infra.insert(
            path,
            text.replace(crate::bump::support::NEW, &first).replace(crate::bump::support::OLD, &first),
        );
    }
    let infra = Checkout::of(&infra);
    source.write("config/rights.yaml", RIGHTS.replacen(from, to, 1));
    source.commit("Give more");
    let (_, said) = plan(&infra, &source, &[]);
    assert_eq!(said["risk"]["level"], level, "{said:#}");
    assert!(said["findings"].to_string().contains(says), "{said:#}");
}

#[test]
fn diff_settings_of_the_user_have_no_effect() {
    for setting in ["diff.noprefix", "diff.mnemonicPrefix"] {
        let (source, infra, _) = world();
        source.git(&["config", setting, "true"]);
        source.write("config/templates/ec.yaml", format!("{TEMPLATE}  more: x\n"));
        source.commit("Change a template");
        assert_eq!(plan(&infra, &source, &[]).1["risk"]["level"], "Medium", "{setting}");
    }
}

#[test]
fn a_definition_that_breaks_claims_in_flight_fails_and_changes_nothing() {
    let (source, infra, _) = world();
    source.write("config/xrd.yaml", XRD.replace("              kept: {type: string}\n", ""));
    source.commit("Drop a field");
    let before = infra.files();
    let ran = infra.bump(&["apply", "--env", "dev,staging", "--to", source.path().to_str().unwrap()]);
    assert_eq!(ran.code, 3, "{}", ran.err);
    assert!(
        ran.err.contains("error[B05]: xtestplatformclusters.ci.openshift.org .spec: kept is gone"),
        "{}",
        ran.err
    );
    assert_eq!(infra.files(), before);
    let forced = ["apply", "--force", "--env", "dev,staging", "--to", source.path().to_str().unwrap()];
    assert_eq!(infra.bump(&forced).code, 2);
}

#[test]
fn renames_fail() {
    for (file, from, to) in [
        ("config/xrd.yaml", "kind: XTestPlatformCluster,", "kind: XOther,"),
        ("config/composition.yaml", "name: testplatform-ephemeral-cluster", "name: other"),
        ("config/composition.yaml", "- name: credentials", "- name: secret"),
        ("config/templates/ec.yaml", "resource-name: ec", "resource-name: cluster"),
    ] {
        let (source, infra, _) = world();
        source.write(file, source.read(file).replace(from, to));
        source.commit("Rename");
        let (code, said) = plan(&infra, &source, &[]);
        assert_eq!((code, ids(&said, "error")), (3, vec!["B06".to_owned()]), "{to}: {said:#}");
    }
}

#[test]
fn a_package_with_a_tag_or_from_an_unknown_registry_fails() {
    for package in
        ["quay.io/konflux-ci/x:latest".to_owned(), format!("docker.io/x@sha256:{}", "1".repeat(64))]
    {
        let (source, infra, _) = world();
        source.write(
            "config/functions.yaml",
            format!("kind: Function\nmetadata: {{name: x}}\nspec: {{package: \"{package}\"}}\n"),
        );
        source.commit("Take another");
        let (code, said) = plan(&infra, &source, &[]);
        assert_eq!((code, ids(&said, "error")), (3, vec!["B11".to_owned()]), "{said:#}");
    }
}

#[test]
fn a_rollback_has_to_be_requested() {
    let (source, infra, first) = world();
    source.write("config/functions.yaml", package('2'));
    source.commit("Update");
    let forth = ["apply", "--env", "dev,staging", "--to", source.path().to_str().unwrap()];
    assert_eq!(infra.bump(&forth).code, 2);
    infra.commit("Bump");
    let clone = source.path().to_str().unwrap();
    let back = ["plan", "--env", "dev,staging", "--to", &first, "--clone", clone];
    let ran = infra.bump(&back);
    assert!(ran.code == 3 && ran.err.contains("error[B02]"), "{}", ran.err);
    assert_eq!(infra.bump(&[&back[..], &["--rollback"]].concat()).code, 2);
}

#[test]
fn a_commit_missing_in_the_clone_is_an_error() {
    let (source, infra, _) = world();
    let clone = source.path().to_str().unwrap();
    let ran = infra.bump(&["plan", "--env", "dev,staging", "--to", OTHER, "--clone", clone]);
    assert!(ran.code == 1 && ran.err.contains(&format!("the clone has no commit {OTHER}")), "{}", ran.err);
}

/// No pin moves to a place that kustomize would not find: a directory with another name, or the root of another repository.
#[test]
fn a_directory_missing_at_the_target_is_an_error() {
    let (source, infra, first) = world();
    let before = infra.files();
    source.git(&["mv", "crossplane", "core"]);
    let renamed = source.commit("Rename it");
    let clone = source.path().to_str().unwrap();
    let apply = ["apply", "--env", "dev,staging", "--force", "--to"];
    let ran = infra.bump(&[&apply[..], &[clone]].concat());
    let said = format!("`crossplane` is not there at {}; check --to and --source\n", &renamed[..7]);
    assert!(ran.code == 1 && ran.err.contains(&said), "{} {}", ran.code, ran.err);
    assert_eq!(ran.err.lines().count(), 1, "of the others nothing is said: {}", ran.err);

    let other = Checkout::of(&Tree::from_iter([("README.md", "another\n")]));
    let ran = infra.bump(&[&apply[..], &[other.path().to_str().unwrap()]].concat());
    assert!(ran.code == 1 && ran.err.contains("`config` is not there at "), "{} {}", ran.code, ran.err);
    assert_eq!(infra.files(), before);

    // Back to before there was such a directory.
    let text = infra.read("components/crossplane-control-plane/development/kustomization.yaml");
    let moved = text.replace("/crossplane?", "/core?").replace(&first, &renamed);
    infra.write("components/crossplane-control-plane/development/kustomization.yaml", moved);
    infra.commit("Follow");
    let back = ["apply", "--rollback", "--env", "dev", "--to", &first, "--clone", clone];
    let ran = infra.bump(&back);
    assert!(ran.code == 1 && ran.err.contains("`core` is not there at "), "{} {}", ran.code, ran.err);
}

/// A cluster is added with pins that nothing moves.
#[test]
fn pins_of_a_new_overlay_have_to_exist_at_the_target() {
    let (source, infra, _) = world();
    source.git(&["mv", "crossplane", "core"]);
    source.commit("Rename it");
    let to = source.path().to_str().unwrap();
    let add = ["plan", "--env", "production", "--add-cluster", "kflux-new-p01", "--force", "--to", to];
    let ran = infra.bump(&add);
    assert!(ran.code == 1 && ran.err.contains("`crossplane` is not there at "), "{} {}", ran.code, ran.err);
}

#[test]
fn the_crd_of_the_remote_object_is_compared_with_the_definition() {
    let (source, infra, _) = world();
    source.write("config/functions.yaml", package('2'));
    source.commit("Update");
    let crd = "kind: CustomResourceDefinition\nspec:\n  names: {kind: EphemeralCluster}\n  versions:\n  - storage: true\n    \
               schema: {openAPIV3Schema: {properties: {spec: {type: object, properties: {extra: {type: string}}}}}}\n";
    infra.write("../crd.yaml", crd);
    let file = infra.path().join("../crd.yaml");
    let (_, said) = plan(&infra, &source, &["--crd", file.to_str().unwrap()]);
    assert!(ids(&said, "warning").contains(&"B04".to_owned()), "{said:#}");
    infra.write(
        "../crd.yaml",
        crd.replace("- storage: true", "- name: v1\n    served: false\n    storage: false"),
    );
    let (_, said) = plan(&infra, &source, &["--crd", file.to_str().unwrap()]);
    assert!(
        said.to_string().contains("v1, in which clusters are asked for, is no longer served"),
        "{said:#}"
    );
    infra.write("../crd.yaml", crd.replace("EphemeralCluster", "Other"));
    assert_eq!(plan(&infra, &source, &["--crd", file.to_str().unwrap()]).0, 1, "a CRD of another kind");
}

#[test]
fn compositions_without_need_of_an_environment_config_get_none() {
    let (source, infra, _) = world();
    let name = "components/crossplane-control-plane/staging/stone-stg-rh01";
    infra.write(&format!("{name}/kustomization.yaml"), "kind: Kustomization\nresources:\n- ../base\n");
    std::fs::remove_file(infra.path().join(name).join("environment-config.yaml")).unwrap();
    infra.commit("As it was");
    source.write("config/templates/ec.yaml", TEMPLATE.replace("envcfg", "nothing"));
    source.commit("Ask for nothing");
    let (code, said) = plan(&infra, &source, &[]);
    assert_eq!((code, said["files"].as_array().unwrap().len()), (2, 2), "{said:#}");
    source.write("config/templates/ec.yaml", TEMPLATE);
    source.commit("Ask for it");
    assert_eq!(plan(&infra, &source, &[]).1["files"].as_array().unwrap().len(), 4);
}

#[test]
fn the_report_counts_commits_that_are_missing() {
    let (source, infra, first) = world();
    source.write("config/functions.yaml", package('2'));
    source.commit("Update");
    let ran = infra.bump(&["report", "--json", "--clone", source.path().to_str().unwrap()]);
    let said: Value = serde_json::from_str(&ran.out).unwrap();
    let pins = said["pins"].as_array().unwrap();
    assert_eq!((ran.code, pins.len()), (0, 5));
    assert!(pins.iter().all(|pin| pin["behind"] == 1 && pin["commits"][0] == first.as_str()), "{said:#}");
    let text = infra.bump(&["report"]).out;
    assert!(text.starts_with("ENVIRONMENT") && text.lines().count() == 6, "{text}");
}

//! The layout by rings: the base of a ring has the EnvironmentConfig, each cluster's overlay sets its name.

use rstest::rstest;
use testplatform_package::bump::{
    self, CheckContext, Environment, FindingSeverity, Plan, Request, Rings, Tree,
};

use crate::bump::support::{Checkout, NEW, OLD, after, path, plan, problem, request, text};

const SOURCE: &str = "https://github.com/konflux-ci/crossplane-control-plane";

const CONFIG: &str = "apiVersion: apiextensions.crossplane.io/v1beta1
kind: EnvironmentConfig
metadata:
  name: envcfg
  annotations:
    argocd.argoproj.io/sync-options: SkipDryRunOnMissingResource=true
data:
  clusterName: to-be-patched
";

const RINGS: [(&str, &[&str]); 5] = [
    ("ring-0", &[]),
    ("ring-1", &["stone-stage-p01", "stone-stg-rh01"]),
    ("ring-2", &["kflux-fedora-01", "kflux-ocp-p01"]),
    ("ring-3", &["stone-prd-rh01"]),
    ("ring-4", &["kflux-prd-rh02"]),
];

/// How an overlay sets the name of its cluster.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Shape {
    File,
    Inline,
    Merge,
    Component,
    Older,
    Replacement,
}

fn operations(cluster: &str) -> String {
    format!("- op: replace\n  path: /data/clusterName\n  value: {cluster}\n")
}

fn indented(text: &str) -> String {
    text.lines().fold(String::new(), |all, line| all + "      " + line + "\n")
}

const TARGET: &str = "    target:
      group: apiextensions.crossplane.io
      version: v1beta1
      kind: EnvironmentConfig
      name: envcfg
";

fn overlay(tree: &mut Tree, ring: &str, cluster: &str, shape: Shape) {
    let directory = format!("rings/{ring}/{cluster}");
    let head = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n  - ../base\n";
    let merge = CONFIG.replace("to-be-patched", cluster);
    let rest = match shape {
        Shape::File => {
            tree.insert(path(&format!("{directory}/cluster-name-patch.yaml")), operations(cluster));
            format!("patches:\n  - path: cluster-name-patch.yaml\n{TARGET}")
        }
        Shape::Inline => format!("patches:\n  - patch: |-\n{}{TARGET}", indented(&operations(cluster))),
        Shape::Merge => {
            tree.insert(path(&format!("{directory}/cluster-name-patch.yaml")), merge);
            "patches:\n  - path: cluster-name-patch.yaml\n".to_owned()
        }
        Shape::Component => {
            let component =
                "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\npatches:\n  - patch: |-\n";
            tree.insert(
                path(&format!("{directory}/name/kustomization.yaml")),
                format!("{component}{}{TARGET}", indented(&operations(cluster))),
            );
            "components:\n  - name\n".to_owned()
        }
        Shape::Older => {
            tree.insert(path(&format!("{directory}/cluster-name-patch.yaml")), merge);
            "patchesStrategicMerge:\n  - cluster-name-patch.yaml\n".to_owned()
        }
        Shape::Replacement => format!(
            "configMapGenerator:\n  - name: cluster\n    literals: [name={cluster}]\n    options: {{ annotations: {{ config.kubernetes.io/local-config: 'true' }} }}\n\
             replacements:\n  - source: {{ kind: ConfigMap, name: cluster, fieldPath: data.name }}\n    targets:\n      - select: {{ kind: EnvironmentConfig, name: envcfg }}\n        fieldPaths: [data.clusterName]\n"
        ),
    };
    tree.insert(path(&format!("{directory}/kustomization.yaml")), format!("{head}{rest}"));
}

/// A repository in which all of crossplane-control-plane is in rings.
fn repository(shape: Shape) -> Tree {
    let mut tree = Tree::default();
    for (ring, clusters) in RINGS {
        let base = format!("rings/{ring}/base");
        let name = if clusters.is_empty() { "dev-cluster" } else { "to-be-patched" };
        let list = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n";
        tree.insert(
            path(&format!("{base}/kustomization.yaml")),
            format!("{list}  - base-snapshot\n  - invariant\n  - environment-config.yaml\n"),
        );
        tree.insert(path(&format!("{base}/environment-config.yaml")), CONFIG.replace("to-be-patched", name));
        tree.insert(
            path(&format!("{base}/invariant/kustomization.yaml")),
            format!("{list}  - {SOURCE}/crossplane?ref={OLD}\n  - {SOURCE}/config?ref={OLD}\n"),
        );
        let snapshot = format!("{base}/base-snapshot");
        tree.insert(
            path(&format!("{snapshot}/kustomization.yaml")),
            format!("{list}  - provider-config.yaml\n"),
        );
        let config = |name: &str| {
            format!(
                "---\napiVersion: kubernetes.crossplane.io/v1alpha1\nkind: ProviderConfig\nmetadata:\n  name: {name}\n"
            )
        };
        let both =
            config("testplatform-kubernetes-provider-config") + &config("eaas-kubernetes-provider-config");
        tree.insert(path(&format!("{snapshot}/provider-config.yaml")), both);
        for cluster in clusters {
            overlay(&mut tree, ring, cluster, shape);
        }
    }
    tree.insert(
        path("rings/empty-base/empty-base/kustomization.yaml"),
        "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: []\n",
    );
    tree
}

fn errors(tree: &Tree) -> Vec<String> {
    let source = bump::UPSTREAM_SOURCE.parse().unwrap();
    let context = CheckContext::new(bump::COMPONENT, source, Rings::default_rings().unwrap());
    let findings = bump::run_checks(tree, &context).into_iter();
    findings
        .filter(|finding| finding.severity == FindingSeverity::Error)
        .map(|finding| finding.to_string())
        .collect()
}

fn context() -> CheckContext {
    CheckContext::new(
        bump::COMPONENT,
        bump::UPSTREAM_SOURCE.parse().unwrap(),
        Rings::default_rings().unwrap(),
    )
}

fn production(ring: &str) -> Request {
    request(NEW, &[Environment::Production], &[ring], &[])
}

fn files(plan: &Plan) -> Vec<&str> {
    plan.edits.keys().map(String::as_str).collect()
}

/// The name that an overlay renders, and that there is one EnvironmentConfig only.
fn cluster_name(tree: &Tree, directory: &str) -> String {
    let rendered =
        bump::render_directory(tree, &path(directory)).unwrap_or_else(|problem| panic!("{problem}"));
    let configs: Vec<_> =
        rendered.objects.iter().filter(|object| object.id().kind == "EnvironmentConfig").collect();
    assert_eq!(configs.len(), 1, "{directory}");
    configs[0].value["data"]["clusterName"].as_str().unwrap().to_owned()
}

#[rstest]
fn ring_moves_in_its_base(
    #[values(Shape::File, Shape::Inline, Shape::Merge, Shape::Component, Shape::Older, Shape::Replacement)]
    shape: Shape,
) {
    let tree = repository(shape);
    assert_eq!(errors(&tree), [] as [&str; 0]);
    for ring in ["ring-2", "ring-3", "ring-4"] {
        let plan = plan(&tree, &production(ring)).unwrap();
        assert_eq!(files(&plan), [path(&format!("rings/{ring}/base/invariant/kustomization.yaml"))]);
        let result = after(&tree, &plan);
        assert_eq!(errors(&result), [] as [&str; 0]);
        for (_, clusters) in RINGS.iter().filter(|(name, _)| *name == ring) {
            for cluster in *clusters {
                assert_eq!(cluster_name(&result, &format!("rings/{ring}/{cluster}")), *cluster);
            }
        }
        assert!(
            crate::bump::support::plan(&result, &production(ring)).unwrap().edits.is_empty(),
            "twice is once"
        );
    }
    let early =
        plan(&tree, &request(NEW, &[Environment::Development, Environment::Staging], &[], &[])).unwrap();
    assert_eq!(early.edits.len(), 2, "{:?}", files(&early));
}

#[test]
fn program_moves_a_ring_once() {
    let checkout = Checkout::of(&repository(Shape::File));
    let ran = checkout.bump(&["check"]);
    assert!(ran.code == 0 && !ran.out.contains("B07"), "{}{}", ran.out, ran.err);
    let apply = ["apply", "--env", "production", "--ring", "2", "--to", NEW, "--force"];
    let ran = checkout.bump(&apply);
    assert_eq!(ran.code, 2, "{}{}", ran.out, ran.err);
    let name = path("rings/ring-2/base/invariant/kustomization.yaml");
    assert_eq!(checkout.git(&["status", "--porcelain", "--untracked-files=all"]).trim(), format!("M {name}"));
    checkout.commit("ring 2");
    let ran = checkout.bump(&apply);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
}

#[test]
fn wrong_name_is_an_error_at_the_overlay() {
    let name = "rings/ring-2/kflux-ocp-p01";
    let kustomization = path(&format!("{name}/kustomization.yaml"));
    let base = path("rings/ring-2/base/environment-config.yaml");
    let mut tree = repository(Shape::File);
    tree.insert(&kustomization, "resources:\n- ../base\n");
    let inherited = format!(
        "error[B07]: {kustomization}: data.clusterName is to-be-patched, but the overlay is kflux-ocp-p01's ({base}); \
         patch /data/clusterName of it in this overlay"
    );
    assert_eq!(errors(&tree), [inherited]);
    assert!(plan(&tree, &production("2")).unwrap().edits.keys().all(|file| !file.contains("kflux-ocp-p01")));

    let patch = path(&format!("{name}/cluster-name-patch.yaml"));
    let mut wrong = repository(Shape::File);
    wrong.insert(&patch, operations("kflux-fedora-01"));
    let other = path("rings/ring-2/kflux-fedora-01/cluster-name-patch.yaml");
    assert_eq!(
        errors(&wrong),
        [
            format!(
                "error[B07]: {patch}:2: data.clusterName is kflux-fedora-01, but the overlay is kflux-ocp-p01's"
            ),
            format!(
                "error[B07]: {patch}:2: data.clusterName kflux-fedora-01 is also in {other}: the hub cannot tell the clusters apart"
            ),
        ]
    );

    let mut removed = repository(Shape::File);
    removed.insert(&patch, "- op: remove\n  path: /data/clusterName\n");
    assert_eq!(errors(&removed), [format!("error[B07]: {patch}:2: data.clusterName is missing")]);
}

#[test]
fn a_ring_without_environment_config_gets_one_in_each_overlay() {
    let mut tree = repository(Shape::Inline);
    let base = "rings/ring-3/base/kustomization.yaml";
    let without = text(&tree, base).replace("  - environment-config.yaml\n", "");
    tree.insert(path(base), without);
    tree.insert(path("rings/ring-3/stone-prd-rh01/kustomization.yaml"), "resources:\n  - ../base\n");
    let kustomization = path("rings/ring-3/stone-prd-rh01/kustomization.yaml");
    let missing = "no EnvironmentConfig envcfg: claims of stone-prd-rh01 wait for it; `bump apply` makes it";
    assert_eq!(errors(&tree), [format!("error[B07]: {kustomization}: {missing}")]);
    let plan = plan(&tree, &production("3")).unwrap();
    let result = after(&tree, &plan);
    assert_eq!(cluster_name(&result, "rings/ring-3/stone-prd-rh01"), "stone-prd-rh01");
    assert_eq!(errors(&result), [] as [&str; 0]);
}

/// The guide's overlay of a cluster: the EnvironmentConfig is in what is pinned, and a patch sets the name.
#[test]
fn a_patch_of_a_remote_environment_config_sets_the_cluster_name() {
    let mut tree = repository(Shape::Inline);
    let name = path("rings/ring-4/kflux-prd-rh02/kustomization.yaml");
    let base = path("rings/ring-4/base/kustomization.yaml");
    tree.insert(&base, "resources:\n  - base-snapshot\n  - invariant\n");
    let remote = |cluster: &str| {
        let patch = indented(&operations(cluster));
        format!(
            "resources:\n  - ../base\npatches:\n  - target: {{ kind: EnvironmentConfig, name: envcfg }}\n    patch: |-\n{patch}"
        )
    };
    tree.insert(&name, remote("kflux-prd-rh02"));
    assert_eq!(errors(&tree), [] as [&str; 0]);
    let plan = plan(&tree, &production("4")).unwrap();
    assert_eq!(plan.edits.len(), 1, "{:?}", files(&plan));
    tree.insert(&name, remote("kflux-fedora-01"));
    let found = errors(&tree);
    assert!(found.len() == 2 && found[0].contains("data.clusterName is kflux-fedora-01"), "{found:?}");
}

#[test]
fn an_overlay_that_kustomize_refuses_is_an_error_once() {
    let mut tree = repository(Shape::File);
    let name = path("rings/ring-2/kflux-ocp-p01/kustomization.yaml");
    tree.insert(&name, "resources:\n- ../base\n- environment-config.yaml\n");
    tree.insert(path("rings/ring-2/kflux-ocp-p01/environment-config.yaml"), CONFIG);
    let found = errors(&tree);
    assert!(
        found.len() == 1 && found[0].starts_with(&format!("error[B09]: {name}:3: EnvironmentConfig envcfg")),
        "{found:?}"
    );
    assert!(found[0].contains("already registered id"), "{found:?}");
}

#[test]
fn a_patch_target_without_match_is_a_warning() {
    let mut tree = repository(Shape::File);
    let name = path("rings/ring-2/base/base-snapshot/kustomization.yaml");
    let patch = "patches:\n- target:\n    kind: Deployment\n    name: renamed\n  patch: |-\n    - op: remove\n      path: /spec\n";
    let text = text(&tree, "rings/ring-2/base/base-snapshot/kustomization.yaml");
    tree.insert(&name, format!("{text}{patch}"));
    let context = CheckContext::new(
        bump::COMPONENT,
        bump::UPSTREAM_SOURCE.parse().unwrap(),
        Rings::default_rings().unwrap(),
    );
    let found: Vec<_> =
        bump::run_checks(&tree, &context).into_iter().filter(|finding| finding.id == "B09").collect();
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(
        found[0].to_string(),
        format!(
            "warning[B09]: {name}:10: no object matches the target (kind Deployment, name renamed): the patch has no effect"
        )
    );
}

#[test]
fn pin_in_part_of_a_ring_moves_with_the_ring() {
    let tree = repository(Shape::File);
    let said = problem(&tree, &request(NEW, &[Environment::Production], &[], &["kflux-ocp-p01"]));
    let part = path("rings/ring-2/base/invariant/kustomization.yaml");
    assert!(said.starts_with(&format!("{part}:4: a pin that clusters outside the scope share; ")), "{said}");
}

#[rstest]
fn a_new_cluster_is_written_as_its_siblings_in_the_ring(
    #[values(Shape::File, Shape::Inline, Shape::Merge, Shape::Older, Shape::Replacement)] shape: Shape,
) {
    let tree = repository(shape);
    let mut request = production("2");
    request.add_clusters = vec!["kflux-lw-p01".to_owned()];
    let plan = plan(&tree, &request).unwrap();
    let result = after(&tree, &plan);
    let model = "rings/ring-2/kflux-fedora-01/";
    let made: Vec<_> =
        plan.edits.iter().filter(|(_, edit)| edit.before.is_none()).map(|(file, _)| file).collect();
    assert_eq!(made.len(), tree.files_under(&path(model.trim_end_matches('/'))).count());
    for file in made {
        let name = file.strip_prefix(&path("rings/ring-2/kflux-lw-p01/")).unwrap();
        let expected = text(&tree, &format!("{model}{name}")).replace("kflux-fedora-01", "kflux-lw-p01");
        assert_eq!(text(&result, &format!("rings/ring-2/kflux-lw-p01/{name}")), expected);
    }
    assert_eq!(cluster_name(&result, "rings/ring-2/kflux-lw-p01"), "kflux-lw-p01");
    assert_eq!(errors(&result), [] as [&str; 0]);
    assert!(
        plan.findings
            .iter()
            .any(|finding| finding.id == "B12" && finding.message.contains("values.ring ring-2"))
    );
    assert!(crate::bump::support::plan(&result, &request).unwrap().edits.is_empty(), "twice is once");

    let mut alone = request.clone();
    alone.scope.rings.clear();
    alone.to = OLD.parse().unwrap();
    let plan = crate::bump::support::plan(&tree, &alone).unwrap();
    assert!(plan.edits.keys().all(|file| file.contains("kflux-lw-p01")), "{:?}", files(&plan));
}

#[test]
fn listed_new_cluster_needs_no_reminder() {
    let mut tree = repository(Shape::File);
    tree.insert(
        "argo-cd-apps/k-components/production/list.yaml",
        "- op: add\n  path: /spec/elements\n  value:\n  - values.ring: ring-2\n    nameNormalized: kflux-lw-p01\n    values.clusterDir: kflux-lw-p01\n",
    );
    let mut request = production("2");
    request.add_clusters = vec!["kflux-lw-p01".to_owned()];
    assert_eq!(
        plan(&tree, &request)
            .unwrap()
            .findings
            .iter()
            .filter(|finding| finding.message.contains("lw-p01"))
            .count(),
        0
    );
}

#[test]
fn a_new_cluster_without_ring_or_model_is_refused() {
    let tree = repository(Shape::File);
    let mut request = request(NEW, &[Environment::Production], &["2", "3"], &[]);
    request.add_clusters = vec!["kflux-new".to_owned()];
    assert_eq!(
        problem(&tree, &request),
        "--add-cluster: the ring of kflux-new is not known; give one ring with --ring, or a list with --rings"
    );
    request.scope.rings = vec!["3".to_owned()];
    request.add_clusters = vec!["kflux-lw-p01".to_owned()];
    let expected = "--add-cluster: kflux-lw-p01 is in ring-2, which --ring does not name; ";
    assert!(problem(&tree, &request).starts_with(expected));
    // A component of the overlay's own is no patch that could be written for another cluster.
    request.scope.rings = vec!["2".to_owned()];
    let expected = "--add-cluster: no overlay in ring-2 can be the model of one for kflux-lw-p01; make the overlay by hand";
    assert_eq!(problem(&repository(Shape::Component), &request), expected);
    // Neither is an object that only this cluster has.
    let mut own = repository(Shape::Inline);
    for cluster in ["kflux-fedora-01", "kflux-ocp-p01"] {
        let name = format!("rings/ring-2/{cluster}/kustomization.yaml");
        let more = format!("namePrefix: {cluster}-\n");
        let text = text(&own, &name) + &more;
        own.insert(path(&name), text);
    }
    assert_eq!(problem(&own, &request), expected);
}

/// Overlays name directories of other components, and files of any ending.
#[test]
fn a_checkout_is_read_along_its_kustomizations() {
    let mut tree = repository(Shape::File);
    tree.insert("components/shared/name/kustomization.yaml", "resources:\n- ../more\n");
    tree.insert("components/shared/more/kustomization.yaml", "resources:\n- one.object\n");
    tree.insert(
        "components/shared/more/one.object",
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: one\n",
    );
    let base = "rings/ring-4/base/kustomization.yaml";
    let list = text(&tree, base).replace("  - invariant\n", "  - invariant\n  - ../../../../shared/name\n");
    tree.insert(path(base), list);
    let checkout = Checkout::of(&tree);
    let ran = checkout.bump(&["check"]);
    assert!(ran.code == 0 && !ran.out.contains("B09"), "{}{}", ran.out, ran.err);
}

/// A chart may render whatever, also an EnvironmentConfig, of which kustomize refuses a second.
#[test]
fn an_overlay_with_a_helm_chart_gets_no_environment_config() {
    let mut tree = repository(Shape::Inline);
    let base = "rings/ring-3/base/kustomization.yaml";
    let charts = "helmCharts:\n  - name: crossplane\n    repo: https://charts.example.org\n";
    let without = text(&tree, base).replace("  - environment-config.yaml\n", "") + charts;
    tree.insert(path(base), without);
    tree.insert(path("rings/ring-3/stone-prd-rh01/kustomization.yaml"), "resources:\n  - ../base\n");
    let said = problem(&tree, &production("3"));
    let expected = format!(
        "{}:6: helmCharts may add objects that only kustomize itself makes; one may be EnvironmentConfig envcfg, of which kustomize \
         refuses a second; see the objects with `check --render`; without one, make it an EnvironmentConfig envcfg with \
         data.clusterName stone-prd-rh01 in {}/environment-config.yaml and name it in resources",
        path(base),
        path("rings/ring-3/stone-prd-rh01")
    );
    assert_eq!(said, expected);
    let context = context();
    let found: Vec<String> = bump::run_checks(&tree, &context).iter().map(ToString::to_string).collect();
    let warning = format!(
        "warning[B09]: {}:6: helmCharts may add objects that only kustomize itself makes: see `check --render`",
        path(base)
    );
    assert_eq!(found.iter().filter(|finding| **finding == warning).count(), 1, "{found:#?}");
    // An EnvironmentConfig that is there needs no second.
    let with = text(&tree, base).replace("helmCharts", "  - environment-config.yaml\nhelmCharts");
    tree.insert(path(base), with);
    assert_eq!(plan(&tree, &production("3")).unwrap().edits.len(), 1);
}

#[test]
fn a_name_that_a_transformer_may_set_is_a_warning_with_the_reason() {
    let mut tree = repository(Shape::File);
    let name = "rings/ring-2/kflux-ocp-p01/kustomization.yaml";
    tree.insert(path(name), "resources:\n- ../base\ntransformers:\n- transformer.yaml\n");
    assert_eq!(errors(&tree), [] as [&str; 0]);
    let found = bump::run_checks(&tree, &context());
    let found = found.iter().find(|finding| finding.id == "B07").unwrap().to_string();
    let place = path(name);
    let expected = format!(
        "unless {place}:3 sets it: transformers may change objects as only kustomize itself knows; see `check --render`"
    );
    assert!(found.contains(&expected), "{found}");
}

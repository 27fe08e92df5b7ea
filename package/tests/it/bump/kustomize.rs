//! The reader of kustomizations. Each result is the one of `kubectl kustomize` on the same files.

use rstest::rstest;
use serde_json::{Value, json};
use testplatform_package::bump::{Rendered, Tree, render_directory};

fn object(kind: &str, name: &str) -> String {
    format!(
        "apiVersion: example.org/v1\nkind: {kind}\nmetadata:\n  name: {name}\nspec:\n  list: [1, 2]\n  text: one\n"
    )
}

/// Directory `a` with a kustomization, over directory `base` with one object, and a component.
fn tree(kustomization: &str) -> Tree {
    Tree::from_iter([
        ("a/kustomization.yaml", kustomization.to_owned()),
        ("a/object.yaml", object("Thing", "own")),
        ("base/kustomization.yaml", "resources:\n- object.yaml\n".to_owned()),
        ("base/object.yaml", object("Thing", "shared")),
        (
            "component/kustomization.yaml",
            "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nnameSuffix: -late\n".to_owned(),
        ),
    ])
}

fn rendered(kustomization: &str) -> Rendered {
    render_directory(&tree(kustomization), "a").unwrap_or_else(|problem| panic!("{problem}"))
}

fn value(kustomization: &str) -> Value {
    rendered(kustomization).objects[0].value.clone()
}

fn problem(kustomization: &str) -> String {
    render_directory(&tree(kustomization), "a").unwrap_err().to_string()
}

#[test]
fn resources_and_components_are_in_kustomizes_order() {
    let rendered =
        rendered("resources: [../base, object.yaml]\ncomponents: [../component]\nnamePrefix: early-\n");
    let names: Vec<_> = rendered.objects.iter().map(|object| object.id().name).collect();
    assert_eq!(names, ["early-shared-late", "early-own-late"]);
}

#[rstest]
#[case::regular_expression("{ kind: Th.*, name: sha|shared }", true)]
#[case::anchored("{ kind: Thing, name: share }", false)]
#[case::group_and_version("{ group: example.org, version: v1, kind: Thing }", true)]
#[case::other_version("{ version: v2, kind: Thing }", false)]
#[case::namespace("{ kind: Thing, namespace: default }", true)]
#[case::labels("{ kind: Thing, labelSelector: 'tier in (a, b), !other' }", true)]
#[case::other_label("{ kind: Thing, labelSelector: 'tier!=a' }", false)]
#[case::annotation("{ kind: Thing, annotationSelector: absent }", false)]
fn a_target_selects(#[case] target: &str, #[case] selects: bool) {
    let mut tree = tree(&format!(
        "resources: [../base]\npatches:\n- target: {target}\n  patch: |-\n    - op: replace\n      path: /spec/text\n      value: two\n"
    ));
    tree.insert("base/kustomization.yaml", "resources: [object.yaml]\nlabels:\n- pairs: { tier: a }\n");
    let rendered = render_directory(&tree, "a").unwrap();
    assert_eq!(rendered.objects[0].value["spec"]["text"], json!(if selects { "two" } else { "one" }));
    assert_eq!(rendered.ineffective.len(), usize::from(!selects));
}

#[test]
fn merge_replaces_lists_and_deletes_by_null_and_directive() {
    let patch = |body: &str| {
        format!(
            "resources: [object.yaml]\npatches:\n- patch: |\n    apiVersion: example.org/v1\n    kind: Thing\n    metadata: {{ name: own }}\n    {body}\n"
        )
    };
    assert_eq!(value(&patch("spec: { list: [3], text: null }"))["spec"], json!({ "list": [3] }));
    assert_eq!(value(&patch("spec: { $patch: replace, new: 1 }"))["spec"], json!({ "new": 1 }));
    assert_eq!(rendered(&patch("$patch: delete")).objects.len(), 0);
}

/// Where kustomize differs from RFC 6902.
#[test]
fn replace_adds_a_field_and_annotations_exist() {
    let kustomization = "resources: [object.yaml]\npatches:\n- target: { kind: Thing }\n  patch: |-\n    - op: replace\n      path: /spec/new\n      value: 1\n    - op: add\n      path: /metadata/annotations/one\n      value: x\n";
    let value = value(kustomization);
    assert_eq!((&value["spec"]["new"], &value["metadata"]["annotations"]["one"]), (&json!(1), &json!("x")));
}

#[test]
fn generated_objects_have_their_literals_and_can_be_merged() {
    let mut tree = tree(
        "resources: [../base]\nconfigMapGenerator:\n- name: made\n  behavior: merge\n  literals: ['two=2']\n",
    );
    tree.insert("base/kustomization.yaml", "configMapGenerator:\n- name: made\n  literals: [one=1]\n");
    let rendered = render_directory(&tree, "a").unwrap();
    assert_eq!(rendered.objects[0].value["data"], json!({ "one": "1", "two": "2" }));
}

#[test]
fn a_patch_may_match_a_remote_resource() {
    let patch = "patches:\n- patch: |\n    apiVersion: apps/v1\n    kind: Deployment\n    metadata: { name: theirs }\n";
    let rendered = rendered(&format!("resources: ['https://github.com/o/n/config?ref=main']\n{patch}"));
    assert!(rendered.may_have_more() && rendered.ineffective.is_empty());
    let message = problem(&format!("resources: [object.yaml]\n{patch}"));
    assert_eq!(
        message,
        "a/kustomization.yaml:4: no object matches the patch of Deployment theirs of apps, which kustomize refuses; \
         correct apiVersion, kind, name and namespace of the patch, or remove it"
    );
}

#[rstest]
#[case::twice(
    "resources: [object.yaml, ../a/object.yaml]",
    "a/kustomization.yaml:1: Thing own of example.org of a/object.yaml is already in a/object.yaml"
)]
#[case::cycle("resources: [../a]", "a/kustomization.yaml:1: ../a leads back to a: a cycle")]
#[case::outside(
    "resources:\n- ../base/object.yaml",
    "a/kustomization.yaml:2: ../base/object.yaml is a file outside of a"
)]
#[case::repository("resources: [../../x]", "a/kustomization.yaml:1: ../../x leaves the repository")]
#[case::component(
    "resources: [../component]",
    "component/kustomization.yaml:2: kind is Component, where kustomize expects Kustomization"
)]
#[case::no_component(
    "components: [../base]",
    "base/kustomization.yaml:1: kind is Kustomization, where kustomize expects Component"
)]
#[case::unknown_field(
    "resources: []\npatchs: []",
    "a/kustomization.yaml:2: patchs is not a field that kustomize knows here"
)]
#[case::unknown_target(
    "patches:\n- patch: x\n  target:\n    nam: x",
    "a/kustomization.yaml:4: nam is not a field that kustomize knows here"
)]
#[case::no_target(
    "resources: [object.yaml]\npatches:\n- patch: '[{\"op\": \"remove\", \"path\": \"/spec\"}]'",
    "a/kustomization.yaml:3: a JSON patch without target"
)]
#[case::expression(
    "resources: [object.yaml]\npatches:\n- target: {name: '('}\n  patch: '[{\"op\": \"remove\", \"path\": \"/spec\"}]'",
    "a/kustomization.yaml:4: target.name \"(\" is not a regular expression"
)]
#[case::flow(
    "resources: [object.yaml]\npatches:\n- target: {name: own}\n  patch: '[{op: remove, path: /spec}]'",
    "a/kustomization.yaml:4: a patch that begins with [ and is not JSON"
)]
#[case::operation(
    "resources: [object.yaml]\npatches:\n- target: {name: own}\n  patch: '[{\"op\": \"set\", \"path\": \"/spec\"}]'",
    "a/kustomization.yaml:4: operation 1 has op set, which is unknown; use one of add, remove,"
)]
#[case::path(
    "resources: [object.yaml]\npatches:\n- target: {name: own}\n  patch: '[{\"op\": \"remove\", \"path\": \"/status\"}]'",
    "a/kustomization.yaml:4: operation 1 at /status fails on Thing own of example.org"
)]
#[case::both("patches:\n- path: x\n  patch: z", "a/kustomization.yaml:2: a patch with both path and patch")]
#[case::neither("patches:\n- target: {kind: x}", "a/kustomization.yaml:1: a patch without path and patch")]
#[case::behavior(
    "configMapGenerator:\n- name: x\n  behavior: merge",
    "a/kustomization.yaml:2: ConfigMap x does not exist"
)]
fn kustomize_would_refuse(#[case] kustomization: &str, #[case] expected: &str) {
    let message = problem(&format!("{kustomization}\n"));
    assert!(message.starts_with(expected), "{message}");
    assert!(message.contains("; "), "it says what to do: {message}");
}

#[test]
fn an_entry_without_target_is_reported_and_the_rest_is_read() {
    let rendered = rendered("resources: [object.yaml, gone.yaml, ../nowhere]\n");
    let absent: Vec<_> = rendered.absent.iter().map(ToString::to_string).collect();
    assert_eq!(
        absent,
        ["gone.yaml", "../nowhere"]
            .map(|name| format!("a/kustomization.yaml:1: {name} is not there; add it, or remove the entry"))
    );
    assert_eq!(rendered.objects.len(), 1);
}

#[test]
fn words_of_older_yaml_are_texts_in_objects() {
    let mut tree = tree("resources: [object.yaml]\n");
    tree.insert("a/object.yaml", "kind: Thing\nmetadata: { name: own }\nspec: [y, yes, On, n, true, TRUE]\n");
    let rendered = render_directory(&tree, "a").unwrap();
    assert_eq!(rendered.objects[0].value["spec"], json!(["y", "yes", "On", "n", true, true]));
}

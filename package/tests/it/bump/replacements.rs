//! Replacements, variables and generator options of kustomizations, as `kustomize build` resolves them.

use rstest::rstest;
use serde_json::{Value, json};
use testplatform_package::bump::{Rendered, Tree, render_directory};

const OBJECT: &str = "apiVersion: apiextensions.crossplane.io/v1beta1
kind: EnvironmentConfig
metadata: { name: envcfg }
data:
  clusterName: to-be-replaced
  list: [a, b]
  number: 7
  flag: true
  empty:
  objects: [{ name: one, text: x }, { name: two }]
  mapping: { key: value }
  'a.b': dotted
  yaml: '{ key: value }'
";

const SOURCE: &str = "apiVersion: v1
kind: ConfigMap
metadata: { name: cluster, labels: { tier: a } }
data: { name: stone-prd-rh01, five: '5', flag: 'false', none: '', path: a/b/c }
number: 5
fraction: 1.50
mapping: { other: 1 }
";

fn tree(kustomization: &str) -> Tree {
    Tree::from_iter([
        ("a/kustomization.yaml", kustomization),
        ("a/config.yaml", OBJECT),
        ("a/source.yaml", SOURCE),
    ])
}

fn rendered(kustomization: &str) -> Rendered {
    render_directory(&tree(kustomization), "a").unwrap_or_else(|problem| panic!("{problem}\n{kustomization}"))
}

fn data(rendered: &Rendered) -> &Value {
    &rendered.find_object("EnvironmentConfig", "envcfg").unwrap().value["data"]
}

/// A kustomization with one replacement, from a field of the ConfigMap to a field of the EnvironmentConfig.
pub fn replacement(from: &str, to: &str, options: &str) -> String {
    format!(
        "resources: [config.yaml, source.yaml]\nreplacements:\n- source: {{ kind: ConfigMap, fieldPath: '{from}' }}\n  \
         targets:\n  - select: {{ kind: EnvironmentConfig }}\n    fieldPaths: ['{to}']\n    options: {{ {options} }}\n"
    )
}

#[rstest]
#[case::text("data.name", "data.clusterName", "", "/clusterName", json!("stone-prd-rh01"))]
#[case::number_as_text("number", "data.clusterName", "", "/clusterName", json!("5"))]
#[case::text_as_number("data.five", "data.number", "", "/number", json!(5))]
#[case::text_as_flag("data.flag", "data.flag", "", "/flag", json!(false))]
#[case::empty_text("data.none", "data.clusterName", "", "/clusterName", json!(""))]
#[case::mapping("mapping", "data.mapping", "", "/mapping", json!({ "other": 1 }))]
#[case::text_for_a_mapping("data.name", "data.mapping", "", "/mapping", json!("stone-prd-rh01"))]
#[case::mapping_has_no_text("mapping", "data.clusterName", "", "/clusterName", json!(""))]
#[case::index("data.name", "data.list.1", "", "/list", json!(["a", "stone-prd-rh01"]))]
#[case::element("data.name", "data.list.[=a]", "", "/list", json!(["stone-prd-rh01", "b"]))]
#[case::expression("data.name", "data.objects.[name=o].text", "", "/objects/0/text", json!("stone-prd-rh01"))]
#[case::every_element("data.name", "data.objects.*.text", "", "/objects", json!([{ "name": "one", "text": "stone-prd-rh01" }, { "name": "two" }]))]
#[case::brackets("data.name", "data.[a.b]", "", "/a.b", json!("stone-prd-rh01"))]
#[case::backslash("data.name", r"data.a\.b", "", "/a.b", json!("stone-prd-rh01"))]
#[case::created("data.name", "data.new.deep", "create: true", "/new/deep", json!("stone-prd-rh01"))]
#[case::created_element("data.name", "data.objects.[name=three].text", "create: true", "/objects/2", json!({ "name": "three", "text": "stone-prd-rh01" }))]
#[case::created_index("data.name", "data.list.2", "create: true", "/list/2", json!("stone-prd-rh01"))]
#[case::created_without_quotes("data.five", "data.new", "create: true", "/new", json!(5))]
#[case::part("data.name", "data.clusterName", "delimiter: '-', index: 1", "/clusterName", json!("to-stone-prd-rh01-replaced"))]
#[case::before("data.five", "data.clusterName", "delimiter: '-', index: -1", "/clusterName", json!("5-to-be-replaced"))]
#[case::behind("data.five", "data.clusterName", "delimiter: '-', index: 9", "/clusterName", json!("to-be-replaced-5"))]
fn a_replacement_writes(
    #[case] from: &str,
    #[case] to: &str,
    #[case] options: &str,
    #[case] pointer: &str,
    #[case] expected: Value,
) {
    let rendered = rendered(&replacement(from, to, options));
    assert_eq!(data(&rendered).pointer(pointer), Some(&expected));
    assert_eq!(rendered.unresolved, []);
}

#[rstest]
#[case::no_source_field("data.gone", "data.clusterName", "", "ConfigMap cluster has no data.gone")]
#[case::no_field("data.name", "data.gone", "", "a field of a target does not exist")]
#[case::no_element("data.name", "data.list.5", "", "it names element 5 of 2")]
#[case::no_list("data.name", "data.mapping.*", "", "it expects a list, and finds a mapping")]
#[case::scalar(
    "data.name",
    "data.clusterName.deep",
    "",
    "it expects a mapping with deep, and finds a scalar"
)]
#[case::text_as_number("data.name", "data.number", "", "stone-prd-rh01 cannot take the place of 7")]
#[case::empty("data.name", "data.empty", "", "stone-prd-rh01 cannot take the place of null")]
#[case::delimiter("mapping", "data.clusterName", "delimiter: '-'", "a delimiter works on scalars only")]
fn a_replacement_that_kustomize_refuses_is_a_problem_at_its_line(
    #[case] from: &str,
    #[case] to: &str,
    #[case] options: &str,
    #[case] expected: &str,
) {
    let problem = render_directory(&tree(&replacement(from, to, options)), "a").unwrap_err().to_string();
    let expected = format!(
        "a/kustomization.yaml:2: a replacement that kustomize refuses: {expected}; correct source, targets and fieldPaths"
    );
    assert_eq!(problem, expected);
}

#[rstest]
#[case::text("data.name", "data.yaml.key", "it leads into YAML or JSON in a text")]
#[case::fraction("fraction", "data.clusterName", "the notation of 1.5 decides")]
fn a_replacement_whose_result_depends_on_kustomize_is_named(
    #[case] from: &str,
    #[case] to: &str,
    #[case] why: &str,
) {
    let rendered = rendered(&replacement(from, to, ""));
    let [entry] = &rendered.unresolved[..] else { panic!("{:?}", rendered.unresolved) };
    assert_eq!((entry.file.as_str(), entry.line), ("a/kustomization.yaml", 2));
    let expected = format!("replacements may change objects as only kustomize itself knows ({why})");
    assert_eq!(entry.message(), expected);
}

#[rstest]
#[case::by_kind("select: { kind: EnvironmentConfig }", true)]
#[case::expression("select: { kind: Env.*, name: env.* }", true)]
#[case::anchored("select: { kind: Env }", false)]
#[case::no_namespace("select: { kind: EnvironmentConfig, namespace: default }", false)]
#[case::rejected_by_name("select: { version: v1beta1 }\n    reject: [{ name: envcfg }]", false)]
#[case::rejected_otherwise("select: { version: v1beta1 }\n    reject: [{ name: other }]", true)]
#[case::rejected_by_label(
    "select: { version: v1beta1 }\n    reject: [{ name: other, labelSelector: tier=b }]",
    false
)]
fn a_target_selects_and_rejects(#[case] target: &str, #[case] is_selected: bool) {
    let kustomization = format!(
        "resources: [config.yaml]\nlabels: [{{ pairs: {{ tier: b }} }}]\nreplacements:\n- sourceValue: chosen\n  targets:\n  - {target}\n    fieldPaths: [data.clusterName]\n"
    );
    let rendered = rendered(&kustomization);
    let expected = if is_selected { "chosen" } else { "to-be-replaced" };
    assert_eq!(data(&rendered)["clusterName"], expected);
}

/// Replacements follow the patches and new names of their own kustomization, and know the earlier names.
#[test]
fn a_replacement_follows_the_other_transformations() {
    let kustomization = "resources: [config.yaml, source.yaml]\nnameSuffix: -late\npatches:\n- target: { kind: ConfigMap }\n  \
        patch: |-\n    - { op: replace, path: /data/name, value: patched }\nreplacements:\n- path: names.yaml\n";
    let mut tree = tree(kustomization);
    let entry = |path: &str, to: &str| {
        format!(
            "- source: {{ kind: ConfigMap, name: cluster, fieldPath: {path} }}\n  targets:\n  - select: {{ name: envcfg }}\n    fieldPaths: [{to}]\n"
        )
    };
    tree.insert(
        "a/names.yaml",
        entry("metadata.name", "data.mapping.key") + &entry("data.name", "data.clusterName"),
    );
    let rendered = render_directory(&tree, "a").unwrap();
    let config = rendered.find_object("EnvironmentConfig", "envcfg-late").unwrap();
    assert_eq!(config.value["data"]["clusterName"], "patched");
    assert_eq!(config.value["data"]["mapping"]["key"], "cluster-late");
    assert_eq!(config.patched_by, ["a/names.yaml", "a/names.yaml"]);
}

#[test]
fn a_replacement_may_concern_remote_objects() {
    let remote = "resources: ['https://github.com/o/n/config?ref=main']\n";
    let to = "targets:\n  - select: { kind: EnvironmentConfig, name: envcfg }\n    fieldPaths: [data.clusterName]\n";
    let assumed = json!({
        "apiVersion": "apiextensions.crossplane.io/v1beta1", "kind": "EnvironmentConfig",
        "metadata": { "name": "envcfg" }, "data": { "clusterName": null },
    });
    let known = rendered(&format!(
        "{remote}patches:\n- target: {{ kind: EnvironmentConfig }}\n  patch: |-\n    - {{ op: add, path: /data/clusterName, value: x }}\nreplacements:\n- sourceValue: stone\n  {to}"
    ));
    assert_eq!(known.remote_object(&assumed).unwrap().value["data"]["clusterName"], "stone");
    // The value is one of a remote object too: the EnvironmentConfig exists, and its name is not known.
    let unknown = rendered(&format!("{remote}replacements:\n- source: {{ kind: ConfigMap }}\n  {to}"));
    assert_eq!(unknown.remote_object(&assumed).unwrap().value["data"]["clusterName"], Value::Null);
    assert!(unknown.possible_changes().next().unwrap().message().contains("is not read offline"));
}

#[test]
fn variables_are_replaced_where_a_configuration_names_the_field() {
    let kustomization = "resources: [config.yaml, source.yaml]\ncommonAnnotations: { by: '$(CLUSTER)-$$(CLUSTER)-$(OTHER)' }\n\
        configurations: [fields.yaml]\npatches:\n- target: { kind: EnvironmentConfig }\n  patch: |-\n    \
        - { op: replace, path: /data/clusterName, value: $(CLUSTER) }\n    \
        - { op: replace, path: /data/flag, value: $(NUMBER) }\n    - { op: replace, path: /data/list/0, value: 'x$(NUMBER)$' }\n\
        vars:\n- name: CLUSTER\n  objref: { apiVersion: v1, kind: ConfigMap, name: cluster }\n  fieldref: { fieldPath: data.name }\n\
        - name: NUMBER\n  objref: { apiVersion: v1, kind: ConfigMap, name: cluster }\n  fieldref: { fieldPath: number }\n";
    let with = |fields: &str| {
        let mut tree = tree(kustomization);
        tree.insert("a/fields.yaml", fields);
        render_directory(&tree, "a").unwrap()
    };
    let all = with(
        "varReference:\n- { path: data/clusterName, kind: EnvironmentConfig }\n- { path: data/list }\n- { path: data/flag }\n",
    );
    assert_eq!(data(&all)["clusterName"], "stone-prd-rh01");
    assert_eq!((&data(&all)["flag"], &data(&all)["list"]), (&json!(5), &json!(["x5$", "b"])));
    let config = all.find_object("EnvironmentConfig", "envcfg").unwrap();
    assert_eq!(config.value["metadata"]["annotations"]["by"], "stone-prd-rh01-$(CLUSTER)-$(OTHER)");
    assert_eq!(all.unresolved, []);
    // Without a configuration only labels and annotations, of all kinds that are read here.
    let none = with("varReference: []\n");
    assert_eq!(data(&none)["clusterName"], "$(CLUSTER)");
    let other = with("nameReference: []\nvarReference: []\n");
    let message = other.possible_changes().next().unwrap().message();
    assert!(message.contains("(a/fields.yaml has nameReference)"), "{message}");
}

#[rstest]
#[case::twice(
    "- { name: A, objref: { apiVersion: v1, kind: ConfigMap, name: cluster } }\n- { name: A, objref: { apiVersion: v1, kind: ConfigMap, name: cluster } }\n",
    "variable A is also in a/kustomization.yaml"
)]
#[case::no_object(
    "- { name: A, objref: { apiVersion: v1, kind: ConfigMap, name: gone } }\n",
    "variable A names no object"
)]
#[case::no_field(
    "- { name: A, objref: { apiVersion: v1, kind: ConfigMap, name: cluster }, fieldref: { fieldPath: data.gone } }\n",
    "ConfigMap cluster has no data.gone, which variable A names"
)]
fn a_variable_that_kustomize_refuses_is_a_problem(#[case] variables: &str, #[case] expected: &str) {
    let kustomization = format!("resources: [source.yaml]\nvars:\n{variables}");
    let problem = render_directory(&tree(&kustomization), "a").unwrap_err().to_string();
    assert!(problem.contains(expected), "{problem}");
}

#[test]
fn generated_objects_have_the_labels_and_annotations_of_their_options() {
    let rendered = rendered(
        "generatorOptions: { labels: { a: all, b: all }, annotations: { c: all }, immutable: true }\nconfigMapGenerator:\n- name: made\n  \
         literals: [x=1]\n  options: { labels: { a: own } }\n",
    );
    let object = &rendered.objects[0].value;
    let metadata =
        json!({ "name": "made", "labels": { "a": "own", "b": "all" }, "annotations": { "c": "all" } });
    assert_eq!((&object["metadata"], &object["immutable"]), (&metadata, &json!(true)));
}

#[rstest]
#[case::charts("helmCharts: [{ name: crossplane }]", "a/kustomization.yaml:2: helmCharts may add objects")]
#[case::generator("generators: [g.yaml]", "a/kustomization.yaml:2: generators may add objects")]
#[case::transformer("transformers: [t.yaml]", "a/kustomization.yaml:2: transformers may change objects")]
#[case::remote(
    "resources: ['https://github.com/o/n?ref=v1']",
    "a/kustomization.yaml:2: \"https://github.com/o/n?ref=v1\" is remote"
)]
fn an_entry_that_is_not_read_offline_is_named(#[case] entry: &str, #[case] expected: &str) {
    let first = if entry.starts_with("resources") { "# remote" } else { "resources: [config.yaml]" };
    let rendered = rendered(&format!("{first}\n{entry}\n"));
    let [found] = &rendered.unresolved[..] else { panic!("{:?}", rendered.unresolved) };
    let message = format!("{}:{}: {}", found.file, found.line, found.message());
    assert!(message.starts_with(expected), "{message}");
}

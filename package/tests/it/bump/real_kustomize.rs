//! The reader of kustomizations against `kustomize build`, where a kustomize is installed.

use std::{collections::BTreeMap, fs, io::Write as _, process::Command};

use serde_json::Value;
use testplatform_package::bump::{Rendered, Tree, render_directory};

use crate::bump::{replacements::replacement, support::put};

/// Programs with their arguments: `TESTPLATFORM_KUSTOMIZE`, kustomize and kubectl as they are installed, and the kubectl of the testbed.
fn programs() -> Vec<[String; 2]> {
    let named = std::env::var_os("TESTPLATFORM_KUSTOMIZE").and_then(|path| path.into_string().ok());
    let installed = ["kustomize", "kubectl"].map(str::to_owned);
    let cache = std::env::home_dir().unwrap_or_default().join(".cache/testplatform/engines");
    let cached =
        fs::read_dir(cache).into_iter().flatten().flatten().map(|entry| entry.path().join("bin/kubectl"));
    let cached = cached.filter(|path| path.is_file()).map(|path| path.display().to_string());
    let all = named.into_iter().chain(installed).chain(cached).map(|program| {
        let is_kubectl = program.rsplit('/').next() == Some("kubectl");
        [program, if is_kubectl { "kustomize" } else { "build" }.to_owned()]
    });
    let simple = Tree::from_iter([("a/kustomization.yaml", "configMapGenerator: [{ name: a }]\n")]);
    let found: Vec<_> = all.filter(|program| build(program, &simple, "a").is_ok()).collect();
    if found.is_empty() {
        print_not_run("comparison with kustomize: no kustomize and no kubectl here");
    }
    found
}

fn print_not_run(what: &str) {
    // Not eprintln!, which the test harness keeps to itself where a test passes.
    let _ = writeln!(std::io::stderr(), "NOT RUN: {what}");
}

/// Objects by kind and name; else the error.
type Built = Result<BTreeMap<String, Value>, String>;

fn by_name(objects: impl IntoIterator<Item = Value>) -> BTreeMap<String, Value> {
    let name = |object: &Value| format!("{}/{}", object["kind"], object["metadata"]["name"]);
    objects.into_iter().map(|object| (name(&object), object)).collect()
}

fn build(program: &[String; 2], tree: &Tree, directory: &str) -> Built {
    let room = tempfile::tempdir().unwrap();
    put(room.path(), tree);
    let output = Command::new(&program[0]).arg(&program[1]).arg(room.path().join(directory)).output();
    let output = output.map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let objects: Vec<Value> =
        serde_saphyr::from_multiple(std::str::from_utf8(&output.stdout).unwrap()).unwrap();
    Ok(by_name(objects.into_iter().filter(|object| !object.is_null())))
}

const OBJECTS: &str = "apiVersion: apiextensions.crossplane.io/v1beta1
kind: EnvironmentConfig
metadata: { name: envcfg, labels: { tier: b } }
data: { clusterName: to-be-replaced, list: [a, b], number: 7, objects: [{ name: one, text: x }, { name: two }], mapping: { key: value }, 'a.b': dotted }
---
apiVersion: v1
kind: ConfigMap
metadata: { name: cluster, labels: { tier: a } }
data: { name: stone-prd-rh01, five: '5', none: '', path: a/b/c, $(X): $(X) }
number: 5
mapping: { other: one }
list: [x, y]
";

/// Every source with every target and every option.
fn replacements() -> Vec<String> {
    let from = [
        "data.name",
        "data.five",
        "data.none",
        "number",
        "mapping",
        "list",
        "list.1",
        "data.gone",
        "metadata.name",
    ];
    let to = [
        "data.clusterName",
        "data.list.1",
        "data.list.[=a]",
        "data.list.2",
        "data.number",
        "data.new",
        "data.new.deep",
        "data.objects.*.text",
        "data.objects.*.name",
        "data.objects.[name=o].text",
        "data.objects.[name=three].text",
        "data.mapping",
        "data.mapping.*",
        "data.[a.b]",
        r"data.a\.b",
        "metadata.labels.tier",
        "metadata.annotations.new",
    ];
    let options = [
        "",
        "create: true",
        "delimiter: '-', index: 1",
        "delimiter: '-', index: -1",
        "delimiter: e, index: 9, create: true",
    ];
    let mut all = Vec::new();
    for from in from {
        for to in to {
            for options in options {
                all.push(
                    replacement(from, to, options).replace("[config.yaml, source.yaml]", "[objects.yaml]"),
                );
            }
        }
    }
    all
}

/// Other kustomizations, over the same objects.
fn others() -> Vec<String> {
    let target = |select: &str| {
        format!(
            "resources: [objects.yaml]\nreplacements:\n- sourceValue: chosen\n  targets:\n  - {select}\n    fieldPaths: [data.clusterName]\n    options: {{ create: true }}\n"
        )
    };
    let selected = [
        "select: {}",
        "select: { kind: Env.*, name: env }",
        "select: { kind: EnvironmentConfig, namespace: default }",
        "select: { labelSelector: tier=b }",
        "select: {}\n    reject: [{ kind: ConfigMap }]",
        "select: {}\n    reject: [{ labelSelector: tier=a }, { name: other }]",
        "select: {}\n    reject: [{ name: other, labelSelector: tier=b }]",
        "select: {}\n    reject: [{}]",
    ];
    let variables = "vars:\n- name: CLUSTER\n  objref: { apiVersion: v1, kind: ConfigMap, name: cluster }\n  fieldref: { fieldPath: data.name }\n\
        - name: NUMBER\n  objref: { apiVersion: v1, kind: ConfigMap, name: cluster }\n  fieldref: { fieldPath: number }\n\
        - name: NAME\n  objref: { apiVersion: v1, kind: ConfigMap, name: cluster }\n";
    let values = [
        "$(CLUSTER)",
        "$(NUMBER)",
        "$(NAME)",
        "x$(CLUSTER)y$(NUMBER)",
        "$$(CLUSTER)",
        "$(NONE)",
        "a$",
        "$(CLUSTER",
        "$x$$y$(NAME)$(",
    ];
    let with_variables = values.map(|value| {
        format!(
            "resources: [objects.yaml]\nconfigurations: [fields.yaml]\ncommonAnnotations: {{ by: '{value}' }}\n{variables}patches:\n\
             - target: {{ kind: EnvironmentConfig }}\n  patch: |-\n    - {{ op: replace, path: /data/clusterName, value: '{value}' }}\n    \
             - {{ op: replace, path: /data/list, value: [z, '{value}'] }}\n    - {{ op: replace, path: /data/mapping/key, value: '{value}' }}\n    \
             - {{ op: replace, path: /data/objects/0/text, value: '{value}' }}\n    - {{ op: replace, path: /data/number, value: '{value}' }}\n"
        )
    });
    let generated = [
        "resources: [objects.yaml]\ngeneratorOptions: { disableNameSuffixHash: true, labels: { a: all, b: all }, annotations: { c: all } }\n\
         configMapGenerator:\n- { name: made, literals: ['x=1', \"y='2'\"], options: { labels: { a: own }, immutable: true } }\n\
         replacements:\n- source: { kind: ConfigMap, name: made, fieldPath: data.x }\n  targets: [{ select: { kind: EnvironmentConfig }, fieldPaths: [data.clusterName] }]\n",
        "resources: [objects.yaml]\nnamePrefix: pre-\nreplacements:\n- source: { kind: ConfigMap, name: cluster }\n  targets: [{ select: { name: envcfg }, fieldPaths: [data.clusterName] }]\n",
        "resources: [objects.yaml]\nreplacements:\n- path: list.yaml\n- path: one.yaml\n",
        "resources: [objects.yaml]\nreplacements:\n- source: { kind: Gone }\n  targets: [{ select: { name: envcfg } }]\n",
        "resources: [objects.yaml]\nreplacements:\n- source: { version: v.* }\n  targets: [{ select: { name: envcfg } }]\n",
        "resources: [objects.yaml]\nreplacements:\n- source: {}\n  targets: [{ select: { name: envcfg } }]\n",
        "resources: [objects.yaml]\nreplacements:\n- sourceValue: x\n",
        "resources: [objects.yaml]\nreplacements:\n- sourceValue: x\n  targets: [{ fieldPaths: [data.clusterName] }]\n",
        "resources: [objects.yaml]\nvars:\n- { name: A, objref: { apiVersion: v1, kind: ConfigMap, name: gone } }\n",
        "resources: [objects.yaml]\nvars:\n- { name: A, objref: { kind: ConfigMap, name: cluster } }\n",
    ];
    let selected = selected.map(target);
    selected.into_iter().chain(with_variables).chain(generated.map(str::to_owned)).collect()
}

/// A directory for each kustomization, whose objects get names of their own.
fn tree(kustomizations: &[String]) -> Tree {
    let mut tree = Tree::default();
    let part = "- source: { kind: ConfigMap, fieldPath: data.path, options: { delimiter: /, index: 1 } }\n  \
        targets: [{ select: { kind: EnvironmentConfig }, fieldPaths: [data.clusterName] }]\n";
    for (index, text) in kustomizations.iter().enumerate() {
        let directory = format!("root/{index}");
        tree.insert(format!("{directory}/kustomization.yaml"), text.clone());
        tree.insert(format!("{directory}/objects.yaml"), OBJECTS);
        tree.insert(format!("{directory}/list.yaml"), part);
        tree.insert(format!("{directory}/one.yaml"), "source: { kind: ConfigMap, fieldPath: data.five }\ntargets: [{ select: { kind: EnvironmentConfig }, fieldPaths: [data.list.0] }]\n");
        tree.insert(
            format!("{directory}/fields.yaml"),
            "varReference:\n- { path: data/clusterName, kind: EnvironmentConfig }\n- { path: data/list, kind: EnvironmentConfig }\n\
             - { path: data/mapping, group: apiextensions.crossplane.io }\n- { path: data/objects/text }\n- { path: data/number, version: v1beta1 }\n- { path: data/gone }\n",
        );
    }
    tree
}

#[test]
#[ignore = "whole tier: compares hundreds of kustomizations with an installed kustomize, which takes minutes"]
fn every_rendering_is_that_of_kustomize() {
    let programs = programs();
    if programs.is_empty() {
        return;
    }
    let kustomizations: Vec<String> = replacements().into_iter().chain(others()).collect();
    let (mut rendered, mut refused) = (Vec::new(), Vec::new());
    for (index, text) in kustomizations.iter().enumerate() {
        // A tree of its own: a rendering takes as long as its tree is large.
        match render_directory(&tree(std::slice::from_ref(text)), "root/0") {
            Ok(result) if result.unresolved.is_empty() => rendered.push((index, result)),
            Ok(_) => {}
            Err(_) => refused.push(index),
        }
    }
    assert!(rendered.len() > 300 && refused.len() > 50, "{} and {}", rendered.len(), refused.len());
    let tree = tree(&kustomizations);
    for program in &programs {
        compare(program, &kustomizations, &tree, &rendered, &refused);
    }
}

/// Compares one kustomize with the results for kustomizations of these indexes.
fn compare(
    program: &[String; 2],
    kustomizations: &[String],
    tree: &Tree,
    rendered: &[(usize, Rendered)],
    refused: &[usize],
) {
    // A field of recent releases.
    let recent = "resources: [objects.yaml]\nreplacements:\n- sourceValue: x\n  targets: [{ select: { kind: Gone } }]\n";
    let is_recent = build(program, &self::tree(&[recent.to_owned()]), "root/0").is_ok();
    if !is_recent {
        print_not_run(&format!("sourceValue: {} does not know it", program[0]));
    }
    let is_known = |index: usize| is_recent || !kustomizations[index].contains("sourceValue");
    let rendered = rendered.iter().filter(|(index, _)| is_known(*index));
    // Variables are those of a whole build, and names must differ.
    let (alone, together): (Vec<_>, Vec<_>) =
        rendered.partition(|(index, _)| kustomizations[*index].contains("vars:"));
    assert!(alone.len() > 5 && together.len() > 300, "{} and {}", alone.len(), together.len());
    // Each of the rest gets a name in a directory above it, so that one run of kustomize builds all.
    let mut tree = tree.clone();
    for (index, _) in &together {
        let text = format!("resources: [../{index}]\nnamePrefix: c{index}-\n");
        tree.insert(format!("root/named-{index}/kustomization.yaml"), text);
    }
    let list: Vec<String> = together.iter().map(|(index, _)| format!("- ../named-{index}")).collect();
    tree.insert("root/all/kustomization.yaml", format!("resources:\n{}\n", list.join("\n")));
    let mut built = build(program, &tree, "root/all").unwrap_or_else(|error| panic!("{program:?}: {error}"));
    let mut differences = Vec::new();
    let mut compare = |index: usize, ours: Option<&Value>, theirs: Option<&Value>| {
        if ours != theirs {
            differences.push(format!("{}ours {ours:?}\ntheirs {theirs:?}", kustomizations[index]));
        }
    };
    for (index, result) in together {
        let named = result.objects.iter().map(|object| {
            let mut value = object.value.clone();
            let name = value["metadata"]["name"].as_str().unwrap_or_default();
            value["metadata"]["name"] = format!("c{index}-{name}").into();
            value
        });
        for (name, object) in by_name(named) {
            compare(*index, Some(&object), built.remove(&name).as_ref());
        }
    }
    for (index, result) in alone {
        let mut built = build(program, &tree, &format!("root/{index}")).unwrap_or_default();
        for (name, object) in by_name(result.objects.iter().map(|object| object.value.clone())) {
            compare(*index, Some(&object), built.remove(&name).as_ref());
        }
        for object in built.values() {
            compare(*index, None, Some(object));
        }
    }
    assert!(
        differences.is_empty(),
        "{program:?}: {} differ\n{}",
        differences.len(),
        differences.join("\n\n")
    );
    assert_eq!(built.keys().collect::<Vec<_>>(), Vec::<&String>::new(), "{program:?}");
    // One run for each, so a part of them; those of the second list always.
    let first_other = replacements().len();
    let sample = refused.iter().enumerate().filter(|(nth, index)| nth % 50 == 0 || **index >= first_other);
    for (_, index) in sample {
        let built = build(program, &tree, &format!("root/{index}"));
        assert!(built.is_err(), "{program:?} builds\n{}\n{built:#?}", kustomizations[*index]);
    }
}

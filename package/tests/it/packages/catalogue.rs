//! `cargo xpkg check catalogue`: errors by file, line and field, and the exit code that CI goes by.

mod mistakes;

use std::{fs, path::Path};

use testplatform_apis::template::entry::BUNDLES;
use testplatform_package::check::catalogue::{CatalogueReport, check_catalogue};

use crate::packages::support::{run, stdout, tool};

const ENTRY: &str = r#"apiVersion: apiextensions.crossplane.io/v1beta1
kind: EnvironmentConfig
metadata:
  name: hosted
  labels:
    testplatform.ci.openshift.org/catalogue: "true"
data:
  backend: osac
  backendRef:
    templateID: osac.templates.small
  allowedTenants: ["*"]
"#;

fn checked(text: &str) -> CatalogueReport {
    check_catalogue(&[("a.yaml".to_owned(), text.to_owned())])
}

fn said(text: &str) -> Vec<String> {
    checked(text).problems.iter().map(ToString::to_string).collect()
}

#[test]
fn problems_have_file_line_and_field() {
    assert_eq!(checked(ENTRY), CatalogueReport { templates: 1, ..CatalogueReport::default() });
    let wrong = format!(
        "# A comment.\n---\n{ENTRY}  cost: much\n  releases:\n  - version: 4.20.3\n  - image: x\n  colour: blue\n"
    );
    assert_eq!(
        said(&wrong),
        [
            "error: a.yaml:18: data.colour: is not a field of an entry",
            "error: a.yaml:14: data.cost: invalid type: string \"much\", expected u32",
            "error: a.yaml:16: data.releases[0].image: is missing: osac needs the image of version 4.20.3",
            "error: a.yaml:17: data.releases[1].version: is missing: an image without a version does not identify a release",
        ]
    );
    let missing = ENTRY.replace("  allowedTenants: [\"*\"]\n", "");
    assert_eq!(
        said(&missing),
        ["error: a.yaml:7: data.allowedTenants: is missing: say which namespaces may use it, \"*\" for all"]
    );
}

#[test]
fn ignored_fields_are_problems() {
    for (text, line, part) in [
        (ENTRY.replace("\"true\"", "true"), 5, "must be the text \"true\": quote it"),
        (
            ENTRY.replace("    testplatform.ci.openshift.org/catalogue: \"true\"\n", "    a: b\n"),
            5,
            "nobody reads this template",
        ),
        (ENTRY.replace("  name: hosted\n", ""), 3, "metadata.name: is missing"),
        (format!("{ENTRY}---\n{ENTRY}"), 16, "is that of another template too, at a.yaml:7"),
        ("kind: [".to_owned(), 1, "is not YAML"),
    ] {
        let said = said(&text);
        let start = format!("error: a.yaml:{line}: ");
        assert!(said.iter().any(|s| s.starts_with(&start) && s.contains(part)), "{part}: {said:?}");
    }
    assert!(said("kind: ConfigMap\n")[0].contains("has no EnvironmentConfig with the label"));
    assert!(said("")[0].starts_with("error: a.yaml: has no"));
}

/// By its name the function takes it for the catalogue of pools, whatever it has: without quotas tenants may have any number.
#[test]
fn misspelt_list_of_pools_is_a_problem() {
    let pools = |name: &str| {
        format!(
            "{ENTRY}---\napiVersion: apiextensions.crossplane.io/v1beta1\nkind: EnvironmentConfig\nmetadata: {{ name: {name} }}\ndata: {{ quota: [{{ tenant: a }}] }}\n"
        )
    };
    let unread = ["error: a.yaml:16: data.quota: is not a field of a catalogue of pools, so nobody reads it"];
    assert_eq!(said(&pools("testplatform-pools")), unread);
    // It has another name where an input in the files says so; else that is somebody else's.
    assert_eq!(said(&pools("ours")), [""; 0]);
    let composition = "---\napiVersion: apiextensions.crossplane.io/v1\nkind: Composition\nmetadata: { name: c }\nspec:\n  pipeline:\n\
                       \x20 - step: s\n    input: { apiVersion: testplatform.fn.crossplane.io/v1beta1, kind: Input, pools: \"ours \" }\n";
    assert_eq!(said(&format!("{}{composition}", pools("ours"))), unread);
}

#[test]
fn clusters_move_between_templates_of_one_backend() {
    let other = ENTRY
        .replace("name: hosted", "name: chart")
        .replace("osac\n", "caas\n")
        .replace("templateID: osac.templates.small", "clusterTemplate: hypershift-aws");
    let from = "  upgradesFrom: [chart, gone]\n";
    let fixed = said(&format!("{ENTRY}{from}"));
    assert!(fixed[0].contains("osac cannot bring a cluster to another template"), "{fixed:?}");
    let next = ENTRY
        .replace("osac\n", "cluster-api\n")
        .replace("templateID: osac.templates.small", "classRef: { name: openstack-v3 }");
    let next = format!("{next}  version: 1.31.2\n{from}");
    assert_eq!(
        said(&format!("{other}---\n{next}")),
        [
            "error: a.yaml:25: data.upgradesFrom: hosted and chart have different backends, so no cluster can move"
        ]
    );
}

#[test]
fn the_catalogue_of_pools_is_read_as_well() {
    let pools = "apiVersion: apiextensions.crossplane.io/v1beta1\nkind: EnvironmentConfig\nmetadata: { name: testplatform-pools }\ndata:\n  hubs: [{ name: a }]\n  quotas:\n  - tenant: x\n    budjet: 5\n";
    let report = checked(pools);
    assert_eq!((report.templates, report.pools), (0, 1));
    assert!(
        said(pools)[0].starts_with("error: a.yaml:7: data.quotas[0]: (x) unknown field `budjet`"),
        "{:?}",
        said(pools)
    );
}

const POOLS: &str = r#"apiVersion: apiextensions.crossplane.io/v1beta1
kind: EnvironmentConfig
metadata: { name: testplatform-pools }
data:
  hubs:
  - name: a
    maxClusters: 3
    credentialsNamespace: testplatform
  pools:
  - name: p
    namespace: cluster-pools
    hub: a
    allowedTenants: ["*"]
    labels: { cloud: aws, anything: goes }
    maxLifetime: 4h
    subject: { name: provider, namespace: testplatform }
  quotas:
  - tenant: a
    maxConcurrent: 2
"#;

/// The function passes over what is for a newer one; what was meant as a limit would be none.
#[test]
fn an_unread_limit_of_pools_is_a_problem() {
    assert_eq!(said(POOLS), [""; 0]);
    let unread = "is not a field of a catalogue of pools, so nobody reads it";
    let unspaced = "is not a name of a namespace: lower-case letters, digits and -, at most 63";
    for (old, new, line, path, sentence) in [
        ("maxClusters:", "maxCluster:", 7, "hubs[0].maxCluster", unread),
        ("    maxClusters: 3", "    cordoned: true", 7, "hubs[0].cordoned", unread),
        ("    maxClusters: 3", "    maxClusters:", 7, "hubs[0].maxClusters", "is null; leave it out"),
        ("maxLifetime:", "maxLifeTime:", 15, "pools[0].maxLifeTime", unread),
        ("provider, namespace", "provider, team: x, namespace", 16, "pools[0].subject.team", unread),
        ("  quotas:", "  quota:", 17, "quota", unread),
        (
            "  quotas:\n  - tenant: a\n    maxConcurrent: 2\n",
            "  quotas:\n",
            17,
            "quotas",
            "is null; leave it out",
        ),
        ("maxConcurrent: 2", "maxConcurrent:", 19, "quotas[0].maxConcurrent", "is null; leave it out"),
        (
            "maxLifetime: 4h",
            "maxLifetime: 4h\n    defaultLifetime: 5h",
            16,
            "pools[0].defaultLifetime",
            "is above maxLifetime",
        ),
        ("cluster-pools", "cluster.pools", 11, "pools[0].namespace", unspaced),
        (
            "namespace: testplatform }",
            "namespace: test.platform }",
            16,
            "pools[0].subject.namespace",
            unspaced,
        ),
        (
            "credentialsNamespace: testplatform",
            "credentialsNamespace: a.b",
            8,
            "hubs[0].credentialsNamespace",
            unspaced,
        ),
    ] {
        let text = POOLS.replace(old, new);
        assert_ne!(text, POOLS, "{old}");
        assert_eq!(said(&text), [format!("error: a.yaml:{line}: data.{path}: {sentence}")], "{text}");
    }
}

/// A field of a pool does not lead to a namespace of that name.
#[test]
fn namespace_fields_need_valid_namespace_names() {
    let own = "    bringYourOwn: { imageSet: ocp, carrier: { name: c, namespace: a.b } }\n";
    let text =
        POOLS.replace("cluster-pools", "cluster.pools").replace("  quotas:", &format!("{own}  quotas:"));
    let unspaced = "is not a name of a namespace: lower-case letters, digits and -, at most 63";
    let at = |line: usize, path: &str| format!("error: a.yaml:{line}: data.{path}: {unspaced}");
    assert_eq!(said(&text), [at(17, "pools[0].bringYourOwn.carrier.namespace")]);
    let unread = said(&text.replace("imageSet: ocp", "imageSet: ocp, release: x").replace("a.b", "a"));
    assert!(unread[0].contains("data.pools[0].bringYourOwn.release: is not a field"), "{unread:?}");
    assert_eq!(said(&format!("{ENTRY}  namespace: cluster.pools\n")), [at(12, "namespace")]);
    assert_eq!(said(&format!("{ENTRY}  namespace: cluster-pools\n")), [""; 0]);
    let chart = |namespace: &str| {
        let own = format!("clusterTemplate: hypershift-aws\n    hostedClusterNamespace: {namespace}");
        said(&ENTRY.replace("osac\n", "caas\n").replace("templateID: osac.templates.small", &own))
    };
    let class = |namespace: &str| {
        let own = format!("classRef: {{ name: openstack-v3, namespace: {namespace} }}");
        let entry =
            ENTRY.replace("osac\n", "cluster-api\n").replace("templateID: osac.templates.small", &own);
        said(&format!("{entry}  version: 1.31.2\n"))
    };
    assert_eq!((chart("clusters"), class("classes")), (vec![], vec![]));
    for bad in ["a.b", &"a".repeat(64)] {
        assert_eq!(chart(bad), [at(11, "backendRef.hostedClusterNamespace")]);
        assert_eq!(class(bad), [at(10, "backendRef.classRef.namespace")]);
    }
}

/// The function evaluates none, and the hub would say so only once a cluster was asked for.
#[test]
fn expressions_that_can_never_be_true_are_a_problem() {
    let object = "      object: { apiVersion: v1, kind: ConfigMap, metadata: { name: \"{name}-x\" } }\n";
    let bundle = |list: &str, ready: &str| {
        format!("  {list}:\n  - name: a\n    manifests:\n    - ready: {ready}\n{object}")
    };
    for list in BUNDLES {
        let said = |ready: &str| said(&format!("{ENTRY}{}", bundle(list, ready)));
        for good in
            ["has(object.data) && 'done' in object.data", "object.status.phase == 'Ready'", "\"true\""]
        {
            assert_eq!(said(good), [""; 0], "{list}: {good}");
        }
        let path = format!("error: a.yaml:15: data.{list}[0].manifests[0].ready: ");
        for (bad, sentence) in [
            ("object.status ==", "the expression cannot be parsed"),
            ("self.ready", "the expression names a variable other than object, or an unknown function"),
            ("size(object)", "the result of the expression is neither true nor false"),
            ("\" \"", "is not an expression of 1 to 4096 characters"),
        ] {
            assert_eq!(said(bad), [format!("{path}{sentence}")], "{bad}");
        }
    }
    // Also of an entry with other flaws.
    let both = format!("{ENTRY}  colour: blue\n{}", bundle("preCreate", "(("));
    assert_eq!(said(&both).len(), 2, "{:?}", said(&both));
}

/// The API server knows no schema of it, and the function passes over what it does not know.
#[test]
fn the_input_in_a_composition_is_checked_too() {
    let composition = "apiVersion: apiextensions.crossplane.io/v1\nkind: Composition\nmetadata: { name: ours }\nspec:\n  pipeline:\n\
                       \x20 - step: first\n    input: { apiVersion: pt.fn.crossplane.io/v1beta1, colour: blue }\n\
                       \x20 - step: ours\n    input:\n      apiVersion: testplatform.fn.crossplane.io/v1beta1\n      kind: Input\n";
    let good =
        "      ttl: 1h\n      maxima:\n        lifetime: 4h\n      spaces: { quotas: { all: { cpu: 4 } } }\n";
    let report = checked(&format!("{composition}{good}"));
    assert_eq!((report.inputs, report.problems), (1, vec![]));
    let wrong = good.replace("lifetime", "liftime").replace("ttl: 1h", "ttl:").replace("quotas", "quota");
    let at = |line: usize, path: &str| format!("error: a.yaml:{line}: spec.pipeline[1].input.{path}");
    let unread = "is not a field of the function's input, so nobody reads it";
    assert_eq!(
        said(&format!("{composition}{wrong}")),
        [
            format!("{}: {unread}", at(14, "maxima.liftime")),
            format!("{}: {unread}", at(15, "spaces.quota")),
            format!("{}: is null; leave it out", at(12, "ttl")),
        ]
    );
    let unreadable = said(&format!("{composition}      ttl: soon\n"));
    assert!(unreadable[0].starts_with("error: a.yaml:9: spec.pipeline[1].input: "), "{unreadable:?}");
    // One without an input has nothing that could be wrong, and one of somebody else's is not ours to judge.
    let other = composition.replace("testplatform.fn", "other.fn");
    assert!(said(&other)[0].contains("no Composition with an input of the function"), "{:?}", said(&other));
}

/// Samples that platform teams start with.
#[test]
fn the_sample_entries_are_valid() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("install/examples");
    let names = [
        "template-hypershift-kubevirt.yaml",
        "template-cluster-api.yaml",
        "template-osac.yaml",
        "template-caas.yaml",
        "template-bundles.yaml",
        "template-prerequisites.yaml",
        "template-cloud-credential.yaml",
        "pool-catalogue.yaml",
    ];
    let paths: Vec<String> = names.iter().map(|name| folder.join(name).display().to_string()).collect();
    let words: Vec<&str> =
        ["check", "catalogue"].into_iter().chain(paths.iter().map(String::as_str)).collect();
    let output = run(&mut tool(&words));
    assert_eq!(stdout(&output), "7 templates, 1 catalogue of pools: nothing is wrong\n");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn the_exit_code_reports_problems_to_ci() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("entry.yaml");
    fs::write(&path, ENTRY.replace("backend: osac", "backend: magic")).unwrap();
    let output = run(&mut tool(&["check", "catalogue", path.to_str().unwrap()]));
    assert_eq!(output.status.code(), Some(3));
    assert!(
        stdout(&output)
            .starts_with(&format!("error: {}:8: data.backend: unknown variant `magic`", path.display()))
    );
    assert!(
        stdout(&output).ends_with("1 template, 0 catalogues of pools: 1 problem\n"),
        "{}",
        stdout(&output)
    );
    let output = run(&mut tool(&["check", "catalogue", folder.path().join("none.yaml").to_str().unwrap()]));
    assert_eq!(output.status.code(), Some(1), "what cannot be read is not an answer");
    assert_eq!(run(&mut tool(&["check", "catalogue"])).status.code(), Some(1));
}

//! Findings of `check`, each on a repository with one thing wrong.

use testplatform_package::bump::{self, CheckContext, Finding, FindingSeverity, Right, Rings, Tree, disk};
use testplatform_test_data::upstream;

use crate::bump::support::{COMPONENT, NEW, OLD, OTHER, edited, path, tree};

fn context() -> CheckContext {
    let source = bump::UPSTREAM_SOURCE.parse().unwrap();
    CheckContext::new(bump::COMPONENT, source, Rings::default_rings().unwrap())
}

fn found(tree: &Tree, id: &str, severity: FindingSeverity) -> Vec<String> {
    bump::run_checks(tree, &context())
        .into_iter()
        .filter(|finding| finding.id == id && finding.severity == severity)
        .map(|finding| finding.to_string())
        .collect()
}

fn errors(tree: &Tree) -> Vec<Finding> {
    bump::run_checks(tree, &context())
        .into_iter()
        .filter(|finding| finding.severity == FindingSeverity::Error)
        .collect()
}

#[test]
fn the_small_repository_has_no_errors() {
    assert_eq!(errors(&tree()), []);
}

#[test]
fn the_real_repository_has_no_errors_and_lacks_one_cluster() {
    let directory = upstream();
    let mut tree = disk::read_checkout(&directory.join("infra-deployments"), bump::COMPONENT).unwrap();
    // The one file of the component that upstream's files here lack.
    let script = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: script\n";
    tree.insert(path("base/configmap.yaml"), script);
    assert_eq!(errors(&tree), []);
    let gaps = found(&tree, "B12", FindingSeverity::Warning);
    assert!(gaps.len() == 1 && gaps[0].contains("kflux-lw-p01"), "{gaps:?}");
}

#[test]
fn unequal_pins_are_reported_by_severity() {
    let half = edited("development/kustomization.yaml", |text| text.replacen(NEW, OLD, 1));
    let said = found(&half, "B01", FindingSeverity::Error);
    assert!(said.iter().all(|said| said.contains("half bumped")) && said.len() == 2, "{said:?}");

    let pin = format!("- https://github.com/konflux-ci/crossplane-control-plane/config?ref={OTHER}\n");
    let staging = edited("staging/stone-stg-rh01/kustomization.yaml", |text| format!("{text}{pin}"));
    assert_eq!(found(&staging, "B01", FindingSeverity::Error).len(), 1);

    let other = edited("production/stone-prd-rh01/kustomization.yaml", |text| text.replace(OLD, NEW));
    assert_eq!(found(&other, "B01", FindingSeverity::Error).len(), 0, "rings may differ");
}

#[test]
fn branch_of_the_source_is_an_error() {
    let ours = edited("development/kustomization.yaml", |text| text.replace(NEW, "main"));
    assert_eq!(found(&ours, "B01", FindingSeverity::Error).len(), 3);
    let other = edited("development/kustomization.yaml", |text| {
        text.replacen("- https", "- https://github.com/example/other/config?ref=main\n- https", 1)
    });
    assert_eq!(found(&other, "B01", FindingSeverity::Error), [] as [&str; 0]);
    let said = found(&other, "B01", FindingSeverity::Warning);
    assert!(said.len() == 1 && said[0].contains("development/kustomization.yaml:4: "), "{said:?}");
}

/// A change of a file that overlays share reaches all of them at once, and a bump of one ring cannot move it.
#[test]
fn pin_outside_of_overlays_must_not_move() {
    const SOURCE: &str = "https://github.com/konflux-ci/crossplane-control-plane";
    for (name, list, line) in [
        ("base/kustomization.yaml", "resources", 5),
        ("k-components/crossplane-resources/kustomization.yaml", "resources", 7),
        ("staging/base/parts/kustomization.yaml", "components", 2),
    ] {
        let with = |value: &str| {
            let mut tree = tree();
            let text = tree.get(&path(name)).map(|bytes| String::from_utf8(bytes.to_vec()).unwrap());
            let text = text.unwrap_or_else(|| format!("{list}:\n"));
            let text = if name.starts_with("k-") { format!("{text}{list}:\n") } else { text };
            tree.insert(path(name), format!("{text}- {value}\n"));
            tree
        };
        for moving in [format!("{SOURCE}/config?ref=main"), format!("'{SOURCE}//config'")] {
            let said = found(&with(&moving), "B01", FindingSeverity::Error);
            let place = format!("error[B01]: {}:{line}: `{SOURCE}", path(name));
            assert!(said.len() == 1 && said[0].starts_with(&place), "{name}: {said:?}");
            assert!(said[0].ends_with("overlays share: move it into them, at a whole commit"), "{said:?}");
        }
        let pinned = with(&format!("{SOURCE}/config?ref={NEW}"));
        assert_eq!(found(&pinned, "B01", FindingSeverity::Error), [] as [&str; 0], "{name}");
        let said = found(&pinned, "B01", FindingSeverity::Warning);
        assert!(
            said.len() == 1 && said[0].ends_with("overlays share: move it into them"),
            "{name}: {said:?}"
        );
        let others = with("https://github.com/example/other/config?ref=main");
        let all = bump::run_checks(&others, &context());
        assert!(all.iter().all(|finding| finding.id != "B01"), "{name}: {all:?}");
    }
    let flow = format!("resources: [cleaner.yaml, \"{SOURCE}/config?ref=main\"]\n");
    assert_eq!(
        found(&edited("base/kustomization.yaml", |_| flow.clone()), "B01", FindingSeverity::Error).len(),
        1
    );
}

#[test]
fn production_commits_unknown_to_staging_are_reported() {
    let mut context = context();
    context.staged = Some([].into());
    let said = bump::run_checks(&tree(), &context);
    assert!(said.iter().any(|finding| finding.id == "B03" && finding.message.contains("93468e7")));
    context.staged = Some([(OLD.parse().unwrap(), 0)].into());
    assert!(bump::run_checks(&tree(), &context).iter().all(|finding| finding.id != "B03"));
}

#[test]
fn wrong_environment_config_is_an_error() {
    let name = "production/kflux-prd-rh02/kustomization.yaml";
    let missing = edited(name, |text| text.replace("- environment-config.yaml\n", ""));
    assert!(found(&missing, "B07", FindingSeverity::Error)[0].contains(&path(name)));

    let name = "production/kflux-prd-rh02/environment-config.yaml";
    let wrong = edited(name, |text| text.replace("kflux-prd-rh02", "kflux-fedora-01"));
    let said = found(&wrong, "B07", FindingSeverity::Error);
    assert!(
        said.len() == 2 && said.iter().all(|said| said.contains(&format!("{}:8: ", path(name)))),
        "{said:?}"
    );

    let empty = edited(name, |text| text.replace("  clusterName: kflux-prd-rh02\n", "  other: x\n"));
    assert!(found(&empty, "B07", FindingSeverity::Error)[0].contains("data.clusterName is missing"));
}

#[test]
fn a_missing_provider_config_and_a_dangling_component_are_errors() {
    let renamed =
        edited("production/base/provider-config.yaml", |text| text.replace("eaas-kubernetes", "other"));
    let said = found(&renamed, "B08", FindingSeverity::Error);
    assert!(said.len() == 1 && said[0].contains("production: no ProviderConfig eaas-kubernetes"), "{said:?}");
    let dangling =
        edited("staging/base/kustomization.yaml", |text| text.replace("crossplane-resources", "memory"));
    let said = found(&dangling, "B09", FindingSeverity::Error);
    assert!(said.len() == 1 && said[0].contains("staging/base/kustomization.yaml:16: "), "{said:?}");
}

#[test]
fn application_set_must_list_every_cluster() {
    let list =
        "argo-cd-apps/base/member/infra-deployments/crossplane-control-plane/crossplane-control-plane.yaml";
    let mut tree = tree();
    let text = String::from_utf8(tree.get(list).unwrap().to_vec()).unwrap();
    tree.insert(list, text.replace("kflux-prd-rh02", "kflux-new"));
    let said = found(&tree, "B12", FindingSeverity::Error);
    assert!(
        said.len() == 2 && said.iter().any(|said| said.contains(&format!("{list}:25: kflux-new"))),
        "{said:?}"
    );
}

#[test]
fn clusters_of_other_application_sets_are_reported_as_missing() {
    let said = found(&tree(), "B12", FindingSeverity::Warning);
    assert!(said.iter().any(|said| said.contains("kflux-lw-p01 is in 1 other ApplicationSets")), "{said:?}");
}

#[test]
fn claims_without_a_role_are_reported() {
    let mut tree = tree();
    let role = "kind: ClusterRole\nrules:\n- apiGroups: [other]\n  resources: [x]\n  verbs: [get]\n";
    tree.insert("components/authentication/base/rbac/admins.yaml", role);
    assert_eq!(found(&tree, "B13", FindingSeverity::Warning).len(), 1);
    tree.insert("components/authentication/base/rbac/admins.yaml", role.replace("other", "ci.openshift.org"));
    assert_eq!(found(&tree, "B13", FindingSeverity::Warning).len(), 0);
}

#[test]
fn text_that_ci_refuses_is_an_error_with_its_line() {
    for (text, line, what) in [
        ("a: b", 1, "no new line"),
        ("a: b \n", 1, "spaces at the end"),
        ("a: b\r\n", 1, "CR LF"),
        ("a: b\nc: 'x\ty'\n", 2, "a tab"),
        ("a: b\nc: [\n", 2, "not readable as YAML"),
        ("a: b\na: c\n", 2, "not readable as YAML"),
    ] {
        let name = "base/cleaner.yaml";
        let said = found(&edited(name, |_| text.to_owned()), "B15", FindingSeverity::Error);
        assert_eq!(said.len(), 1, "{text:?}: {said:?}");
        assert!(said[0].contains(what) && said[0].contains(&format!("{COMPONENT}/{name}:")), "{said:?}");
        let at: usize = said[0].split(':').nth(2).unwrap().trim().parse().unwrap();
        // The reader of YAML says where it noticed.
        assert!(at == line || at == line + 1, "{said:?}");
    }
}

#[test]
fn required_hub_rights_are_those_of_package_hub() {
    let needed = bump::required_rights().unwrap();
    let right = |group: &str, resource: &str, verb: &str| Right {
        group: group.into(),
        resource: resource.into(),
        name: None,
        verb: verb.into(),
    };
    for verb in ["get", "create", "patch", "delete", "list", "watch"] {
        assert!(needed.contains(&right("ci.openshift.io", "ephemeralclusters", verb)), "{verb}");
    }
    assert!(needed.contains(&right("", "secrets", "get")) && needed.contains(&right("", "secrets", "patch")));
    assert!(!needed.contains(&right("", "secrets", "list")), "it never lists Secrets");
}

#[test]
fn wrong_rights_of_a_hub_identity_are_reported() {
    let said = found(&tree(), "B16", FindingSeverity::Warning);
    assert!(
        said.len() == 1 && said[0].contains("resources: [ephemeralclusters], verbs: [patch]"),
        "{said:?}"
    );
    let mut whole = tree();
    let file = "components/crossplane-config/base/rbac.yaml";
    let text = String::from_utf8(whole.get(file).unwrap().to_vec()).unwrap();
    whole.insert(file, text.replace("create, delete]", "create, delete, patch]"));
    assert_eq!(found(&whole, "B16", FindingSeverity::Warning).len(), 0);
    let notes = found(&whole, "B16", FindingSeverity::Note);
    assert!(
        notes.len() == 2 && notes.iter().any(|said| said.contains("every Secret of the hub")),
        "{notes:?}"
    );
    // A right for some names is not that for all.
    let named = text.replace("create, delete]", "create, delete, patch]\n  resourceNames: [one]");
    whole.insert(file, named);
    assert!(found(&whole, "B16", FindingSeverity::Warning)[0].contains("resources: [ephemeralclusters]"));
    // Without the built-in role Secrets are missing, too.
    whole.insert(file, text.replace("name: edit", "name: view"));
    assert!(
        found(&whole, "B16", FindingSeverity::Warning)[0]
            .contains("resources: [secrets], verbs: [get, patch]")
    );
}

#[test]
fn a_pull_request_that_changes_staging_and_production_fails() {
    let mut context = context();
    let with = |context: &CheckContext, severity| {
        bump::run_checks(&tree(), context).iter().filter(|f| f.id == "B17" && f.severity == severity).count()
    };
    context.changed = vec![path("staging/base/kustomization.yaml"), path("production/a/kustomization.yaml")];
    assert_eq!(with(&context, FindingSeverity::Error), 1);
    context.changed =
        vec!["components/x/rings/ring-1/base/x".into(), "components/y/rings/ring-3/base/x".into()];
    assert_eq!(with(&context, FindingSeverity::Error), 1, "also in rings, also of another component");
    context.changed = vec![path("staging/base/kustomization.yaml"), path("development/kustomization.yaml")];
    assert_eq!(with(&context, FindingSeverity::Error), 0);
    context.changed = vec![path("base/cleaner.yaml")];
    assert_eq!(with(&context, FindingSeverity::Warning), 1, "in every environment at once");
}

//! New clusters and images.

use testplatform_package::bump::Environment;

use crate::bump::support::{
    COMPONENT, NEW, OLD, after, dev_and_staging, edited, path, plan, problem, production, request, text, tree,
};

const LIST: &str =
    "argo-cd-apps/base/member/infra-deployments/crossplane-control-plane/crossplane-control-plane.yaml";

#[test]
fn new_cluster_gets_overlay_and_list_entry() {
    let mut request = production(NEW, &[]);
    request.add_clusters = vec!["kflux-lw-p01".to_owned()];
    let before = tree();
    let plan = plan(&before, &request).unwrap();
    let result = after(&before, &plan);
    let expected = text(&before, "production/kflux-fedora-01/kustomization.yaml").replace(OLD, NEW);
    assert_eq!(text(&result, "production/kflux-lw-p01/kustomization.yaml"), expected);
    assert!(
        text(&result, "production/kflux-lw-p01/environment-config.yaml")
            .ends_with("data:\n  clusterName: kflux-lw-p01\n")
    );
    let list = |tree: &testplatform_package::bump::Tree| {
        String::from_utf8(tree.get(LIST).unwrap().to_vec()).unwrap()
    };
    let pair = "                - nameNormalized: kflux-fedora-01\n                  values.clusterDir: kflux-fedora-01\n";
    let added = format!("{pair}{}", pair.replace("kflux-fedora-01", "kflux-lw-p01"));
    assert_eq!(list(&result), list(&before).replace(pair, &added));
    assert_eq!(plan.edits.len(), 3, "no other cluster is touched");
    assert!(crate::bump::support::plan(&result, &request).unwrap().edits.is_empty(), "twice is once");
}

#[test]
fn new_cluster_needs_environment_and_extensible_list() {
    let mut both = dev_and_staging(NEW);
    both.scope.environments = [Environment::Development].into();
    both.add_clusters = vec!["new".to_owned()];
    assert!(problem(&tree(), &both).starts_with("--add-cluster: a cluster is in staging or in production"));

    let mut request = production(NEW, &[]);
    request.add_clusters = vec!["new".to_owned()];
    let mut tree = tree();
    let text = String::from_utf8(tree.get(LIST).unwrap().to_vec()).unwrap();
    tree.insert(LIST, text.replace("- nameNormalized: ", "- more: x\n                  nameNormalized: "));
    assert!(problem(&tree, &request).starts_with(&format!("{LIST}:")));

    request.add_clusters = vec!["Not a name".to_owned()];
    let problems = plan(&crate::bump::support::tree(), &request).unwrap_err();
    assert!(
        problems.iter().any(|problem| problem.what.contains("is not a name of a cluster")),
        "{problems:?}"
    );
}

#[test]
fn the_digest_of_an_image_moves_and_its_tag_stays() {
    let digest = format!("sha256:{}", "2".repeat(64));
    let mut request = dev_and_staging(NEW);
    request.images = vec![format!("quay.io/konflux-ci/task-runner@{digest}").parse().unwrap()];
    let before = tree();
    let plan = plan(&before, &request).unwrap();
    let result = after(&before, &plan);
    for name in ["development/kustomization.yaml", "staging/base/kustomization.yaml"] {
        let expected = text(&before, name).replace(&format!("sha256:{}", "1".repeat(64)), &digest);
        assert_eq!(text(&result, name), expected);
    }
    assert_eq!(plan.edits.len(), 2);
    assert!(crate::bump::support::plan(&result, &request).unwrap().edits.is_empty());
}

#[test]
fn image_needs_setter_and_digest() {
    let digest = format!("sha256:{}", "2".repeat(64));
    let mut wanted = dev_and_staging(NEW);
    wanted.images = vec![format!("quay.io/other@{digest}").parse().unwrap()];
    assert!(problem(&tree(), &wanted).starts_with("--image: quay.io/other is set by nothing in scope"));

    wanted.images = vec![format!("quay.io/konflux-ci/task-runner@{digest}").parse().unwrap()];
    let name = "development/kustomization.yaml";
    let without = edited(name, |text| text.replace(&format!("    digest: sha256:{}\n", "1".repeat(64)), ""));
    let said = problem(&without, &wanted);
    assert!(said.starts_with(&format!("{COMPONENT}/{name}:12: ")), "{said}");

    let mut ring = request(NEW, &[Environment::Production], &["4"], &[]);
    ring.images = vec![format!("quay.io/konflux-ci/task-runner@{digest}").parse().unwrap()];
    let images = "images:\n- name: quay.io/konflux-ci/task-runner\n  digest: sha256:";
    let shared =
        edited("production/base/kustomization.yaml", |text| format!("{text}{images}{}\n", "1".repeat(64)));
    assert!(problem(&shared, &ring).starts_with(&path("production/base/kustomization.yaml")));
}

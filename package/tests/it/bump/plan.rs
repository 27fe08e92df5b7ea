//! Changes of a bump, and refusals with file and line.

use testplatform_package::bump::Environment;

use crate::bump::support::{
    COMPONENT, NEW, OLD, OTHER, after, dev_and_staging, edited, path, plan, problem, production, request,
    text, tree,
};

const SOURCE: &str = "https://github.com/konflux-ci/crossplane-control-plane";

#[test]
fn a_second_plan_on_the_result_of_the_first_is_empty() {
    for request in [dev_and_staging(OTHER), request(OTHER, &[Environment::Production], &["all"], &[])] {
        let tree = tree();
        let first = plan(&tree, &request).unwrap();
        assert!(!first.edits.is_empty());
        let second = plan(&after(&tree, &first), &request).unwrap();
        assert!(second.edits.is_empty() && second.moves.is_empty(), "{:?}", second.edits);
    }
}

#[test]
fn a_ring_moves_its_own_clusters_and_no_other() {
    let plan = plan(&tree(), &request(NEW, &[Environment::Production], &["4"], &[])).unwrap();
    let files: Vec<_> = plan.edits.keys().cloned().collect();
    assert_eq!(files, [path("production/kflux-prd-rh02/kustomization.yaml")]);
}

#[test]
fn members_of_a_ring_without_overlay_are_named() {
    let plan = plan(&tree(), &request(NEW, &[Environment::Production], &["ring-2"], &[])).unwrap();
    assert!(
        plan.findings.iter().any(|finding| finding.id == "B12" && finding.message.contains("kflux-lw-p01"))
    );
}

#[test]
fn staging_and_production_together_are_refused() {
    let request = request(NEW, &Environment::ALL, &["all"], &[]);
    assert!(problem(&tree(), &request).starts_with("--env: staging and production together; "));
}

#[test]
fn production_without_a_ring_is_refused() {
    let said = problem(&tree(), &request(NEW, &[Environment::Production], &[], &[]));
    assert!(said.contains("no ring is given; give --ring (ring-2, ring-3, ring-4, or all)"), "{said}");
}

#[test]
fn an_unknown_ring_or_cluster_is_refused() {
    let said = problem(&tree(), &request(NEW, &[Environment::Production], &["7"], &[]));
    assert_eq!(said, "--ring: no ring \"7\"; known are ring-2, ring-3, ring-4 and all");
    let said = problem(&tree(), &request(NEW, &[Environment::Production], &["ring-1"], &[]));
    assert!(said.contains("ring-1 is in staging"), "{said}");
    let said = problem(&tree(), &production(NEW, &["kflux-ocp-p01"]));
    assert!(said.starts_with("--clusters: kflux-ocp-p01 has no overlay"), "{said}");
}

#[test]
fn refs_other_than_full_commits_are_refused_with_their_line() {
    for (reference, why) in [
        ("?ref=0ddd632", "\"0ddd632\" is a short commit"),
        ("?ref=main", "\"main\" is a branch or a tag"),
        ("?ref=v1.2.3", "\"v1.2.3\" is a branch or a tag"),
        ("?ref=0DDD632C30DFD7F2BBCF229299F1FE7186D0ADB7", "has upper-case digits"),
        ("?ref=", "\"\" is empty"),
        ("", "has no ref"),
        ("?timeout=90s&ref=0ddd632c30dfd7f2bbcf229299f1fe7186d0adb7", "has parameters beside one ref"),
        ("?ref=0ddd632c30dfd7f2bbcf229299f1fe7186d0adb7&timeout=90s", "has parameters beside one ref"),
        ("?ref=0ddd632c30dfd7f2bbcf229299f1fe7186d0adb7 # tested", "has a comment behind it"),
    ] {
        let name = "staging/base/kustomization.yaml";
        let tree =
            edited(name, |text| text.replace(&format!("/config?ref={NEW}"), &format!("/config{reference}")));
        let said = problem(&tree, &dev_and_staging(OTHER));
        assert!(said.starts_with(&format!("{COMPONENT}/{name}:8: `")) && said.contains(why), "{said}");
    }
}

#[test]
fn other_ways_to_write_the_source_are_refused_too() {
    for address in [
        "https://github.com/Konflux-CI/crossplane-control-plane/config",
        "https://github.com/konflux-ci/crossplane-control-plane.git//config",
        "https://github.com/konflux-ci/crossplane-control-plane.git/config",
        "git@github.com:konflux-ci/crossplane-control-plane//config",
        "github.com/konflux-ci/crossplane-control-plane/config",
        "\"https://github.com/konflux-ci/crossplane-control-plane/config",
    ] {
        let end = if address.starts_with('"') { "\"" } else { "" };
        let line = format!("- {address}?ref={NEW}{end}\n");
        let tree = edited("development/kustomization.yaml", |text| {
            text.replace(&format!("- {SOURCE}/config?ref={NEW}\n"), &line)
        });
        let said = problem(&tree, &dev_and_staging(OTHER));
        assert!(said.starts_with(&format!("{COMPONENT}/development/kustomization.yaml:5: ")), "{said}");
    }
}

#[test]
fn own_and_upstream_pins_move_independently() {
    let ours = format!("- https://github.com/example/testplatform/package/install?ref={OLD}\n");
    let name = "development/kustomization.yaml";
    let tree = edited(name, |text| text.replacen("- https", &format!("{ours}- https"), 1));
    let moved = plan(&tree, &dev_and_staging(OTHER)).unwrap();
    let result = text(&after(&tree, &moved), name);
    assert!(result.contains(&ours) && result.matches(OTHER).count() == 3, "{result}");

    let mut request = dev_and_staging(OTHER);
    request.source = "example/testplatform".parse().unwrap();
    let moved = plan(&tree, &request).unwrap();
    let result = text(&after(&tree, &moved), name);
    assert!(result.contains(&ours.replace(OLD, OTHER)) && result.matches(NEW).count() == 3, "{result}");
    assert_eq!(moved.moves.len(), 1);
}

#[test]
fn mixed_refs_are_refused_unless_forced() {
    let name = "development/kustomization.yaml";
    let tree = edited(name, |text| text.replacen(NEW, OLD, 1));
    let said = problem(&tree, &dev_and_staging(OTHER));
    assert!(said.starts_with(&format!("{COMPONENT}/{name}:5: ")) && said.contains("half made"), "{said}");
    let mut request = dev_and_staging(OTHER);
    request.force = true;
    let forced = plan(&tree, &request).unwrap();
    assert_eq!(text(&after(&tree, &forced), name).matches(OTHER).count(), 3);
}

#[test]
fn invalid_yaml_is_refused_with_its_line() {
    let name = "development/kustomization.yaml";
    let tree = edited(name, |text| text.replace("images:\n", "images: [\n"));
    let said = problem(&tree, &dev_and_staging(OTHER));
    assert!(
        said.starts_with(&format!("{COMPONENT}/{name}:")) && said.contains("not readable as YAML"),
        "{said}"
    );
    let line = said[COMPONENT.len() + 1 + name.len() + 1..].split(':').next().unwrap();
    assert!((11..=15).contains(&line.parse::<usize>().unwrap()), "{said}");

    let mut tree = edited(name, |text| text);
    tree.insert(path(name), *b"resources:\n- ../base\n- \xff\n");
    let said = problem(&tree, &dev_and_staging(OTHER));
    assert_eq!(said, format!("{COMPONENT}/{name}:3: not UTF-8; write the file as UTF-8"));
}

#[test]
fn resources_that_are_not_one_entry_a_line_are_refused() {
    let name = "development/kustomization.yaml";
    let flow = format!("resources: [../base, \"{SOURCE}/config?ref={NEW}\"]\n");
    let folded = format!("resources:\n- >-\n  {SOURCE}/config?ref={NEW}\n");
    let key = format!("\"resources\":\n- {SOURCE}/config?ref={NEW}\n");
    for text in [flow, folded, key] {
        let tree = edited(name, |_| text.clone());
        let said = problem(&tree, &dev_and_staging(OTHER));
        assert!(
            said.starts_with(&format!("{COMPONENT}/{name}:1: resources is not written one entry a line")),
            "{said}"
        );
    }
}

#[test]
fn only_bytes_of_refs_change() {
    // Comments, key order, indentation, a missing new line at the end, ends of lines from elsewhere, text in other sections.
    let name = "development/kustomization.yaml";
    let body = format!(
        "# top\r\nresources:\r\n    -   ../base   \r\n    # {SOURCE}/config?ref={NEW}\r\n    -   environment-config.yaml\r\n\
         \x20   -   {SOURCE}/config?ref={NEW}  \r\n\r\npatches:\r\n- patch: |-\r\n    - {SOURCE}/config?ref={NEW}\r\n\
         components:\r\n- {SOURCE}/config?ref={NEW}"
    );
    let tree = edited(name, |_| body.clone());
    let result = text(&after(&tree, &plan(&tree, &dev_and_staging(OTHER)).unwrap()), name);
    let mut expected = body.clone();
    for pin in ["-   ", "components:\r\n- "].map(|before| format!("{before}{SOURCE}/config?ref=")) {
        expected = expected.replacen(&format!("{pin}{NEW}"), &format!("{pin}{OTHER}"), 1);
    }
    assert_eq!(result, expected);
    assert_eq!(result.matches(OTHER).count(), 2);
}

#[test]
fn a_missing_environment_config_is_created_and_referenced() {
    let mut tree = edited("staging/stone-stg-rh01/kustomization.yaml", |text| {
        text.replace("- environment-config.yaml\n", "").trim_end().to_owned()
    });
    tree = tree
        .files()
        .filter(|(file, _)| *file != path("staging/stone-stg-rh01/environment-config.yaml"))
        .map(|(file, bytes)| (file.to_owned(), bytes.to_vec()))
        .collect();
    let plan = plan(&tree, &dev_and_staging(NEW)).unwrap();
    let result = after(&tree, &plan);
    assert!(
        text(&result, "staging/stone-stg-rh01/kustomization.yaml")
            .ends_with("- ../base\n- environment-config.yaml"),
        "nothing after it, as before"
    );
    let made = text(&result, "staging/stone-stg-rh01/environment-config.yaml");
    assert_eq!(made, text(&crate::bump::support::tree(), "staging/stone-stg-rh01/environment-config.yaml"));
    assert_eq!(plan.edits.len(), 2);
}

#[test]
fn existing_environment_config_is_not_overwritten() {
    let name = "production/kflux-prd-rh02/environment-config.yaml";
    let tree = edited(name, |text| text.replace("envcfg", "other"));
    let said = problem(&tree, &production(NEW, &["kflux-prd-rh02"]));
    assert!(said.starts_with(&format!("{COMPONENT}/{name}:1: no EnvironmentConfig envcfg")), "{said}");
}

#[test]
fn a_shared_overlay_moves_only_with_all_of_its_clusters() {
    let pin = format!("- {SOURCE}/config?ref={OLD}\n");
    let tree = edited("production/base/kustomization.yaml", |text| format!("{text}{pin}"));
    let said = problem(&tree, &production(NEW, &["kflux-prd-rh02"]));
    assert!(
        said.starts_with(&format!("{COMPONENT}/production/base/kustomization.yaml:7: a pin that clusters")),
        "{said}"
    );
    let all = request(NEW, &[Environment::Production], &["all"], &[]);
    assert_eq!(plan(&tree, &all).unwrap().moves.len(), 7);
}

/// A pin that every environment shares would stay behind, or move everywhere at once.
#[test]
fn unmoved_pin_outside_of_overlays_stops_the_bump() {
    let base = "base/kustomization.yaml";
    let with = |name: &str, reference: &str| {
        let mut tree = tree();
        let text = tree.get(&path(name)).map_or("resources:\n".into(), String::from_utf8_lossy).into_owned();
        tree.insert(path(name), format!("{text}- {SOURCE}/config?ref={reference}\n"));
        tree
    };
    for reference in [NEW, "main"] {
        for request in [dev_and_staging(OTHER), production(OTHER, &["kflux-prd-rh02"])] {
            let said = problem(&with(base, reference), &request);
            assert!(
                said.starts_with(&format!("{COMPONENT}/{base}:5: a pin outside of the overlays")),
                "{said}"
            );
            assert!(said.ends_with("; move it into the overlays"), "{said}");
        }
    }
    assert!(plan(&with(base, OTHER), &dev_and_staging(OTHER)).is_ok(), "it is there already");
    // A pin that only other rings share is theirs.
    let parts = with("staging/base/parts/kustomization.yaml", NEW);
    assert!(problem(&parts, &dev_and_staging(OTHER)).contains("staging/base/parts/kustomization.yaml:2: "));
    assert!(plan(&parts, &production(OTHER, &["kflux-prd-rh02"])).is_ok());
}

#[test]
fn a_source_without_pins_is_refused() {
    let mut request = dev_and_staging(NEW);
    request.source = "example/other".parse().unwrap();
    assert!(
        problem(&tree(), &request)
            .starts_with("--source: nothing in scope is pinned to a commit of example/other")
    );
}

#[test]
fn component_in_rings_moves_in_the_base() {
    let mut tree = testplatform_package::bump::Tree::default();
    for (ring, base) in
        [("ring-0", "base"), ("ring-1", "base"), ("ring-2", "base/invariant"), ("ring-3", "base")]
    {
        let text = format!("resources:\n- base-snapshot\n- {SOURCE}/config?ref={OLD}\n");
        tree.insert(path(&format!("rings/{ring}/{base}/kustomization.yaml")), text);
    }
    tree.insert(path("rings/ring-2/kflux-fedora-01/kustomization.yaml"), "resources:\n- ../base/invariant\n");
    let second = plan(&tree, &request(NEW, &[Environment::Production], &["2"], &[])).unwrap();
    let base = path("rings/ring-2/base/invariant/kustomization.yaml");
    assert_eq!(second.moves.iter().map(|step| step.file.as_str()).collect::<Vec<_>>(), [base.as_str()]);
    assert!(second.edits.contains_key(&path("rings/ring-2/kflux-fedora-01/environment-config.yaml")));
    let third = plan(&tree, &request(NEW, &[Environment::Production], &["ring-3"], &[])).unwrap();
    assert_eq!(third.edits.len(), 1);
    let early = plan(&tree, &dev_and_staging(NEW)).unwrap();
    assert_eq!(early.moves.len(), 2);
}

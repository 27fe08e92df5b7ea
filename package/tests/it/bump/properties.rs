//! Whatever the bytes: no panic, nothing changed on an error, and nothing but refs changed otherwise.

use proptest::prelude::*;
use testplatform_package::bump::{self, CheckContext, Environment, Rings, Tree};

use crate::bump::support::{
    Checkout, NEW, OLD, OTHER, after, dev_and_staging, path, plan, request, text, tree,
};

/// Lines that mean something here, in any order, with any ends.
fn kustomization() -> impl Strategy<Value = Vec<u8>> {
    let lines = prop::sample::select(vec![
        "resources:",
        "resources: []",
        "components:",
        "- ../base",
        "  - ../base",
        "- environment-config.yaml",
        "- https://github.com/konflux-ci/crossplane-control-plane/config?ref=0ddd632c30dfd7f2bbcf229299f1fe7186d0adb7",
        "- https://github.com/konflux-ci/crossplane-control-plane/crossplane?ref=0ddd632c30dfd7f2bbcf229299f1fe7186d0adb7",
        "  -  https://github.com/konflux-ci/crossplane-control-plane/?ref=0ddd632c30dfd7f2bbcf229299f1fe7186d0adb7 ",
        "- 'https://github.com/konflux-ci/crossplane-control-plane/config?ref=0ddd632c30dfd7f2bbcf229299f1fe7186d0adb7'",
        "- https://github.com/konflux-ci/crossplane-control-plane/config?ref=main",
        "- https://github.com/example/other/config?ref=0ddd632c30dfd7f2bbcf229299f1fe7186d0adb7",
        "# - https://github.com/konflux-ci/crossplane-control-plane/config?ref=0ddd632c30dfd7f2bbcf229299f1fe7186d0adb7",
        "images:",
        "  - name: quay.io/konflux-ci/task-runner",
        "patches:",
        "- patch: |-",
        "    text",
        "kind: Kustomization",
        "---",
        "",
        "ä: ö",
    ]);
    let ends = prop::sample::select(vec!["\n", "\n", "\n", "\r\n"]);
    prop::collection::vec((lines, ends), 0..14).prop_map(|lines| {
        let text: String = lines.into_iter().flat_map(|(line, end)| [line, end]).collect();
        text.into_bytes()
    })
}

fn anything() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        3 => kustomization(),
        1 => prop::collection::vec(any::<u8>(), 0..200),
        1 => ".{0,200}".prop_map(String::into_bytes),
    ]
}

const FILES: [&str; 5] = [
    "development/kustomization.yaml",
    "development/environment-config.yaml",
    "staging/base/kustomization.yaml",
    "staging/stone-stg-rh01/kustomization.yaml",
    "production/kflux-prd-rh02/kustomization.yaml",
];

fn context() -> CheckContext {
    CheckContext::new(
        bump::COMPONENT,
        bump::UPSTREAM_SOURCE.parse().unwrap(),
        Rings::default_rings().unwrap(),
    )
}

/// Refs and the line of the EnvironmentConfig taken out of a kustomization: what a bump must not touch.
fn rest(text: &str) -> String {
    text.split_inclusive('\n')
        .filter(|line| line.trim() != "- environment-config.yaml")
        .map(|line| {
            let source = line.trim_start().starts_with('-')
                && line.contains(" https://github.com/konflux-ci/crossplane-control-plane/");
            if source && !line.starts_with('#') {
                line.replace(OTHER, NEW).replace(OLD, NEW)
            } else {
                line.to_owned()
            }
        })
        .collect::<String>()
        .trim_end_matches('\n')
        .to_owned()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, rng_seed: proptest::test_runner::RngSeed::Fixed(1), ..ProptestConfig::default() })]

    #[test]
    fn a_plan_of_arbitrary_bytes_changes_only_refs(file in prop::sample::select(&FILES[..]), bytes in anything()) {
        let mut tree = tree();
        tree.insert(path(file), bytes);
        let _ = bump::run_checks(&tree, &context());
        for request in [dev_and_staging(OTHER), request(OTHER, &[Environment::Production], &["all"], &[])] {
            let Ok(first) = plan(&tree, &request) else { continue };
            let result = after(&tree, &first);
            for (path, edit) in &first.edits {
                let Some(before) = &edit.before else { continue };
                let (before, after) = (String::from_utf8_lossy(before), String::from_utf8_lossy(&edit.after));
                prop_assert_eq!(rest(&before), rest(&after), "{}", path);
            }
            let second = plan(&result, &request);
            prop_assert!(second.is_ok_and(|second| second.edits.is_empty()), "twice is not once: {}", text(&result, file));
        }
    }

    #[test]
    fn other_inputs_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..300), words in ".{0,80}") {
        let text = String::from_utf8_lossy(&bytes);
        let _ = Rings::read("rings.yaml", &text);
        let _ = words.parse::<bump::Commit>();
        let _ = words.parse::<bump::Source>();
        let _ = words.parse::<bump::Image>();
        let _ = bump::commits_of_log(&text, &["config".to_owned()].into());
        let list = "argo-cd-apps/base/member/infra-deployments/crossplane-control-plane/crossplane-control-plane.yaml";
        let mut tree: Tree = tree();
        tree.insert(list, [b"# components/crossplane-control-plane\n".to_vec(), bytes].concat());
        let mut request = dev_and_staging(OTHER);
        request.scope.environments = [Environment::Staging].into();
        request.add_clusters = vec![words];
        let _ = plan(&tree, &request);
        let _ = bump::run_checks(&tree, &context());
    }
}

proptest! {
    // Each starts the program and git a few times.
    #![proptest_config(ProptestConfig { cases: 8, failure_persistence: None, rng_seed: proptest::test_runner::RngSeed::Fixed(1), ..ProptestConfig::default() })]

    #[test]
    fn the_program_changes_nothing_on_an_error(file in prop::sample::select(&FILES[..]), bytes in anything()) {
        let mut tree = tree();
        tree.insert(path(file), bytes);
        let checkout = Checkout::of(&tree);
        let before = checkout.files();
        for arguments in [
            &["apply", "--env", "dev,staging", "--to", OTHER][..],
            &["apply", "--env", "production", "--ring", "all", "--to", NEW],
            &["check"],
            &["report"],
        ] {
            let ran = checkout.bump(arguments);
            prop_assert!((0..=3).contains(&ran.code), "{}: {}", ran.code, ran.err);
            if ran.code == 2 {
                checkout.git(&["checkout", "--quiet", "."]);
                checkout.git(&["clean", "--quiet", "--force", "-d"]);
            } else {
                prop_assert_eq!(checkout.files(), before.clone(), "{}", ran.err);
            }
        }
    }
}

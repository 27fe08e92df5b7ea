//! Components of either kind: what is of kind Component, below `components`; and directories of infra-deployments beside the default one.

use std::collections::BTreeMap;

use testplatform_package::bump::{self, CheckContext, Environment, FindingSeverity, Request, Rings};

use crate::bump::support::{
    COMPONENT, Checkout, NEW, OLD, OTHER, after, dev_and_staging, edited, path, plan, problem, request, text,
    tree,
};

const OURS: &str = "example/testplatform";
const STAGING: &str = "staging/base/kustomization.yaml";

/// A line below `components`, as its neighbour in staging is written.
fn pin(commit: &str) -> String {
    format!("  - https://github.com/{OURS}/package/install/components/carrier?ref={commit}\n")
}

fn of_ours(to: &str) -> Request {
    let mut request = request(to, &[Environment::Staging], &[], &[]);
    request.source = OURS.parse().unwrap();
    request
}

#[test]
fn a_pin_below_components_moves_and_is_reported() {
    let tree = edited(STAGING, |text| text + &pin(OLD));
    let moved = plan(&tree, &of_ours(NEW)).unwrap();
    let result = after(&tree, &moved);
    assert_eq!(text(&result, STAGING), text(&tree, STAGING).replace(OLD, NEW));
    assert_eq!((moved.moves.len(), moved.moves[0].line), (1, 17));
    assert!(plan(&result, &of_ours(NEW)).unwrap().edits.is_empty(), "twice is once");
    let rings = Rings::default_rings().unwrap();
    let rows = bump::build_report(&result, bump::COMPONENT, &rings, &BTreeMap::new()).unwrap();
    let ours: Vec<_> = rows.iter().filter(|row| row.source == OURS).collect();
    assert_eq!(ours.len(), 1, "{rows:?}");
    assert_eq!(ours[0].commits.iter().map(ToString::to_string).collect::<Vec<_>>(), [NEW]);
}

#[test]
fn pins_below_components_are_checked_like_those_below_resources() {
    let overlay = format!("- https://github.com/{OURS}/package/install/overlays/konflux?ref={NEW}\n- https");
    let half = edited(STAGING, |text| text.replacen("- https", &overlay, 1) + &pin(OLD));
    let said = problem(&half, &of_ours(OTHER));
    assert!(said.starts_with(&format!("{COMPONENT}/{STAGING}:18: ")) && said.contains("half made"), "{said}");
    let errors = |tree: &bump::Tree| {
        let context =
            CheckContext::new(bump::COMPONENT, OURS.parse().unwrap(), Rings::default_rings().unwrap());
        let errors = bump::run_checks(tree, &context)
            .into_iter()
            .filter(|found| found.severity == FindingSeverity::Error);
        errors.map(|found| found.to_string()).collect::<Vec<_>>()
    };
    let said = errors(&half);
    assert!(said.len() == 1 && said[0].contains("18: ") && said[0].contains("half bumped"), "{said:?}");

    let loose = edited(STAGING, |text| text + &pin("main"));
    assert!(problem(&loose, &of_ours(OTHER)).contains("\"main\" is a branch or a tag"));
    assert_eq!(errors(&loose).len(), 1);
}

#[test]
fn components_that_are_not_one_entry_a_line_are_refused() {
    for lists in [
        "components: [../../k-components/crossplane-resources]\n",
        "components:\n- >-\n  ../../k-components\n",
    ] {
        let lines = "components:\n  - ../../k-components/crossplane-resources\n";
        let tree = edited(STAGING, |text| text.replace(lines, lists));
        let said = problem(&tree, &dev_and_staging(OTHER));
        let expected = format!("{COMPONENT}/{STAGING}:15: components is not written one entry a line; ");
        assert!(said.starts_with(&expected), "{said}");
    }
    let tree = edited(STAGING, |text| text.replace("components:\n  - ", "components:\n    of: "));
    let said = problem(&tree, &dev_and_staging(OTHER));
    assert!(said.contains(":15: components is not a list of texts; "), "{said}");
}

#[test]
fn an_environment_config_never_goes_below_components() {
    let name = "staging/stone-stg-rh01/kustomization.yaml";
    let body = format!("components:\n{}resources:\n- ../base\n", pin(NEW));
    let tree = edited(name, |_| body.clone());
    let plan = plan(&tree, &dev_and_staging(NEW)).unwrap();
    assert_eq!(text(&after(&tree, &plan), name), format!("{body}- environment-config.yaml\n"));

    let alone = edited(name, |_| format!("components:\n{}", pin(NEW)));
    assert!(problem(&alone, &dev_and_staging(NEW)).contains("no resources"));
}

#[test]
fn a_component_without_claims_gets_no_environment_config_and_needs_none() {
    let name = "components/hub/staging/hub-1/kustomization.yaml";
    let mut tree = tree();
    tree.insert(
        name,
        format!("resources:\n- https://github.com/{OURS}/package/install/overlays/hub?ref={OLD}\n"),
    );
    let checkout = Checkout::of(&tree);
    let apply = ["apply", "--component", "hub", "--source", OURS, "--env", "staging", "--to", NEW];
    let ran = checkout.bump(&apply);
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert_eq!(checkout.git(&["status", "--porcelain"]).trim(), format!("M {name}"));
    let ran = checkout.bump(&["check", "--component", "hub", "--source", OURS]);
    assert!(ran.code == 0 && !ran.out.contains("B07") && !ran.out.contains("B08"), "{}", ran.out);
}

/// Where one cluster says who it is, the others have to, and their ProviderConfigs have to be there.
#[test]
fn a_component_with_one_cluster_name_has_claims() {
    let pin = format!("resources:\n- https://github.com/{OURS}/package/install/overlays/konflux?ref={OLD}\n");
    let mut tree = tree();
    tree.insert("components/own/staging/one/kustomization.yaml", format!("{pin}- environment-config.yaml\n"));
    let config =
        text(&tree, "staging/stone-stg-rh01/environment-config.yaml").replace("stone-stg-rh01", "one");
    tree.insert("components/own/staging/one/environment-config.yaml", config);
    tree.insert("components/own/staging/two/kustomization.yaml", pin);
    let checkout = Checkout::of(&tree);
    let ran =
        checkout.bump(&["plan", "--component", "own", "--source", OURS, "--env", "staging", "--to", NEW]);
    assert!(ran.out.contains("+++ b/components/own/staging/two/environment-config.yaml"), "{}", ran.out);
    assert!(ran.code == 3 && ran.err.contains("error[B08]: components/own/staging"), "{}", ran.err);
    let ran = checkout.bump(&["check", "--component", "own", "--source", OURS]);
    let missing = "error[B07]: components/own/staging/two/kustomization.yaml: no EnvironmentConfig";
    assert!(ran.code == 3 && ran.out.contains(missing) && ran.out.contains("error[B08]"), "{}", ran.out);
}

/// Of the default component every cluster has to say who it is, be there none yet that does.
#[test]
fn every_cluster_of_the_default_component_has_a_cluster_name() {
    let name = path("staging/stone-stg-rh01/environment-config.yaml");
    let only: bump::Tree = tree()
        .files()
        .filter(|(file, _)| !file.ends_with("environment-config.yaml"))
        .map(|(file, bytes)| {
            let text = String::from_utf8_lossy(bytes).replace("- environment-config.yaml\n", "");
            (file.to_owned(), text.into_bytes())
        })
        .collect();
    assert!(plan(&only, &dev_and_staging(NEW)).unwrap().edits.contains_key(&name));
    let context = CheckContext::new(bump::COMPONENT, OURS.parse().unwrap(), Rings::default_rings().unwrap());
    assert!(bump::run_checks(&only, &context).iter().any(|found| found.id == "B07"));
}

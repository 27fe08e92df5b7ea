//! Modules of the function and of the provider import in one direction, as `docs/architecture.md` says.

use crate::documents::imports::{Module, imports, whole_sources};

/// Stages of a cluster. Each imports from earlier ones alone.
const STAGES: [&str; 7] = ["observed", "request", "catalog", "admission", "backends", "lifecycle", "respond"];
/// Modules that all composites share. They import from no composite.
const SHARED: [&str; 2] = ["sdk", "objects"];
const COMPOSITES: [&str; 3] = ["cluster", "pool", "space"];
/// Modules of the provider below its controllers.
const BELOW_CONTROLLERS: [&str; 5] = ["build_clusters", "config", "credentials", "manifests", "rights"];

/// Returns `true` if a module may not import a path.
type Rule = fn(&[&str], &[&str]) -> bool;

fn stage(module: &str) -> Option<usize> {
    STAGES.iter().position(|stage| *stage == module)
}

/// A stage imports a later one.
fn is_later_stage(module: &[&str], import: &[&str]) -> bool {
    match (module, import) {
        (["cluster", own, ..], ["cluster", other, ..]) => {
            stage(own).is_some_and(|own| stage(other).is_none_or(|other| other > own))
        }
        _ => false,
    }
}

/// A composite, or what all of them share, imports another composite.
fn is_other_composite(module: &[&str], import: &[&str]) -> bool {
    let (Some(own), Some(other)) = (module.first(), import.first()) else { return false };
    (SHARED.contains(own) || COMPOSITES.contains(own)) && other != own && COMPOSITES.contains(other)
}

/// A controller, or a module below the controllers, imports another controller or `rbac`.
fn is_above_controllers(module: &[&str], import: &[&str]) -> bool {
    let own = match module {
        ["controllers", own, ..] => Some(*own),
        [layer, ..] if BELOW_CONTROLLERS.contains(layer) => None,
        // The other modules put controllers together.
        _ => return false,
    };
    match import {
        ["controllers", other, ..] => own != Some(*other),
        ["rbac", ..] => true,
        _ => false,
    }
}

fn segments(path: &Module) -> Vec<&str> {
    path.iter().map(String::as_str).collect()
}

/// Imports of one source that break a rule, as sentences.
fn find_wrong_imports(path: &str, code: &str, rule: Rule) -> Vec<String> {
    let all = imports(path, code).into_iter();
    let wrong = all.filter(|(module, import)| rule(&segments(module), &segments(import)));
    wrong.map(|(_, import)| format!("{path} imports {}", import.join("::"))).collect()
}

#[track_caller]
fn assert_no_wrong_imports(folder: &str, rule: Rule) {
    let sources = whole_sources(folder);
    assert!(sources.len() > 100, "{folder} has {} sources", sources.len());
    let wrong: Vec<_> =
        sources.iter().flat_map(|(path, code)| find_wrong_imports(path, code, rule)).collect();
    assert!(wrong.is_empty(), "{folder}: {wrong:#?}");
}

#[test]
fn stages_of_a_cluster_import_from_earlier_stages() {
    assert_no_wrong_imports("function/composites/src", is_later_stage);
}

#[test]
fn shared_modules_and_composites_import_from_no_other_composite() {
    assert_no_wrong_imports("function/composites/src", is_other_composite);
}

#[test]
fn no_controller_is_imported_by_another_or_from_below() {
    assert_no_wrong_imports("provider/src", is_above_controllers);
}

#[test]
fn wrong_imports_are_found() {
    let wrong = |path, code, rule| find_wrong_imports(path, code, rule).len();
    let code = "use crate::cluster::{lifecycle::{self, A}, request::B};";
    assert_eq!(wrong("cluster/backends/osac.rs", code, is_later_stage), 2);
    assert_eq!(wrong("cluster/respond.rs", code, is_later_stage), 0);
    assert_eq!(wrong("pool.rs", code, is_other_composite), 3);
    assert_eq!(wrong("serve.rs", code, is_other_composite), 0);
    let code = "use crate::controllers::bundles::plan; fn f() { crate::rbac::hub() }";
    for (path, found) in [
        ("controllers/bundles/observe.rs", 1),
        ("controllers/spaces/observe.rs", 2),
        ("credentials.rs", 2),
        ("rights.rs", 2),
        ("rbac.rs", 0),
        ("metrics.rs", 0),
        ("startup.rs", 0),
    ] {
        assert_eq!(wrong(path, code, is_above_controllers), found, "{path}");
    }
    let neighbour = "use super::super::bundles::plan; #[cfg(test)] mod tests { use crate::rbac; }";
    assert_eq!(wrong("controllers/spaces/observe.rs", neighbour, is_above_controllers), 1);
    let foreign = "use k8s_openapi::api::rbac::v1::Role; // crate::rbac";
    assert_eq!(wrong("credentials.rs", foreign, is_above_controllers), 0);
}

//! Checks of the objects that overlays render: EnvironmentConfigs, ProviderConfigs, and acceptance by kustomize.

use std::collections::{BTreeMap, BTreeSet};

use super::{CheckContext, CheckedOverlay, Environment, Finding, Problem, Tree, environment_config};
use crate::bump::{Overlay, Rendered, UnresolvedReason};

/// B07: every cluster has a cluster name, and no two have the same.
pub fn check_environment_configs(tree: &Tree, read: &[CheckedOverlay], findings: &mut Vec<Finding>) {
    let mut names = BTreeMap::<String, String>::new();
    for overlay in read {
        let Some(cluster) = environment_config::overlay_cluster(&overlay.overlay) else { continue };
        // B09 or B15 reports an overlay that does not render.
        let Some(rendered) = overlay.rendered_objects().filter(|rendered| !rendered.is_empty()) else {
            continue;
        };
        let Some(found) = environment_config::find_config(tree, rendered) else {
            let message = format!(
                "no EnvironmentConfig {}: claims of {cluster} wait for it; `bump apply` makes it",
                environment_config::NAME
            );
            findings.push(Finding::error("B07", message).in_file(&overlay.file.path));
            continue;
        };
        let own =
            found.file.strip_prefix(&overlay.overlay.directory).is_some_and(|rest| rest.starts_with('/'));
        let mut report = |problem: String, remedy: &str| {
            let message = if own { problem } else { format!("{problem} ({}); {remedy}", found.file) };
            // Something that is not read offline may still set it.
            let finding = if let Some(change) = rendered.possible_changes().next() {
                let (why, file, line) = (change.message(), &change.file, change.line);
                Finding::warning(
                    "B07",
                    format!("{message}, unless {file}:{line} sets it: {why}; see `check --render`"),
                )
            } else {
                Finding::error("B07", message)
            };
            findings.push(if own {
                finding.in_file(&found.file).at_line(found.line)
            } else {
                finding.in_file(&overlay.file.path)
            });
        };
        let remedy = format!("patch /data/{} of it in this overlay", environment_config::FIELD);
        let Some(name) = &found.cluster_name else {
            report("data.clusterName is missing".to_owned(), &remedy);
            continue;
        };
        if overlay.overlay.cluster.is_some() && name != cluster {
            report(format!("data.clusterName is {name}, but the overlay is {cluster}'s"), &remedy);
        }
        if let Some(other) =
            names.insert(name.clone(), found.file.clone()).filter(|other| *other != found.file)
        {
            let problem =
                format!("data.clusterName {name} is also in {other}: the hub cannot tell the clusters apart");
            report(problem, &remedy);
        }
    }
}

/// B08: the ProviderConfigs that compositions reference exist in staging and production.
pub fn check_provider_configs(read: &[CheckedOverlay], context: &CheckContext, findings: &mut Vec<Finding>) {
    let mut groups = BTreeMap::<String, Vec<&CheckedOverlay>>::new();
    for overlay in read.iter().filter(|read| !read.overlay.part) {
        if let Some(directory) = cluster_group(&overlay.overlay, context) {
            groups.entry(directory).or_default().push(overlay);
        }
    }
    for (directory, mut overlays) in groups {
        // A base counts only if no cluster renders it.
        if overlays.iter().any(|read| read.overlay.cluster.is_some()) {
            overlays.retain(|read| read.overlay.cluster.is_some());
        }
        for name in &context.provider_configs {
            let lacking: BTreeSet<&str> = overlays
                .iter()
                .filter(|read| {
                    read.rendered_objects().is_some_and(|objects| {
                        objects.find_object("ProviderConfig", name).is_none()
                            && !has_own_provider_config(objects)
                    })
                })
                .map(|read| read.file.path.as_str())
                .collect();
            let message = format!("no ProviderConfig {name}, which compositions name");
            if lacking.len() == overlays.len() {
                findings.push(Finding::error("B08", message).in_file(&directory));
            } else {
                findings
                    .extend(lacking.into_iter().map(|file| Finding::error("B08", &message).in_file(file)));
            }
        }
    }
}

/// Directories of this repository with the ProviderConfig of claims. They serve no spaces, which have another.
const OWN_OVERLAYS: [&str; 2] =
    ["/package/install/overlays/crossplane", "/package/install/overlays/development"];

/// Whether a pin leads to an overlay that contains the ProviderConfig.
fn has_own_provider_config(rendered: &Rendered) -> bool {
    let is_own = |entry: &str| {
        let path = entry.split('?').next().unwrap_or_default().trim_end_matches('/');
        OWN_OVERLAYS.iter().any(|overlay| path.ends_with(overlay))
    };
    rendered.unresolved.iter().any(|entry| entry.reason == UnresolvedReason::Remote && is_own(&entry.entry))
}

/// The directory shared by the clusters of an overlay, in staging and production.
fn cluster_group(overlay: &Overlay, context: &CheckContext) -> Option<String> {
    match (overlay.environment, &overlay.ring) {
        (Environment::Development, _) => None,
        (_, Some(ring)) => Some(format!("components/{}/rings/{ring}", context.component)),
        (environment, None) => Some(format!("components/{}/{environment}", context.component)),
    }
}

/// B09: kustomize accepts every overlay, its patches have an effect, and nothing but remote resources is left to B10.
pub fn check_rendering(read: &[CheckedOverlay], findings: &mut Vec<Finding>) {
    let mut add = |finding: Finding| {
        let is_new = findings.iter().all(|other| {
            other.id != finding.id
                || other.file != finding.file
                || (other.message != finding.message && !finding.message.starts_with(&other.message))
        });
        if is_new {
            findings.push(finding);
        }
    };
    let refused = |problem: &Problem| {
        let message = format!("{}; {}", problem.what, problem.help);
        Finding::error("B09", message).in_file(&problem.file).at_line(problem.line)
    };
    for result in read.iter().filter_map(|read| read.rendered.as_ref()) {
        match result {
            // B15 reports invalid YAML.
            Err(problem) if problem.what.starts_with("not ") => {}
            Err(problem) => add(refused(problem)),
            Ok(rendered) => {
                rendered.absent.iter().map(refused).for_each(&mut add);
                for entry in rendered.unresolved.iter().filter(|entry| entry.needs_kustomize()) {
                    let message = format!("{}: see `check --render`", entry.message());
                    add(Finding::warning("B09", message).in_file(&entry.file).at_line(Some(entry.line)));
                }
                for patch in &rendered.ineffective {
                    let message =
                        format!("no object matches the target ({}): the patch has no effect", patch.target);
                    add(Finding::warning("B09", message).in_file(&patch.file).at_line(patch.line));
                }
            }
        }
    }
}

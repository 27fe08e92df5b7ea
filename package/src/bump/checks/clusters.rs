//! Checks across components: the ApplicationSet, people's rights on claims, the identity on a hub.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{CheckContext, CheckedOverlay, Finding, Tree, text};
use crate::bump::{Overlay, application_set, rights};

/// B12: the ApplicationSet's clusters are the overlays.
pub fn check_clusters(
    tree: &Tree,
    read: &[CheckedOverlay],
    context: &CheckContext,
    findings: &mut Vec<Finding>,
) {
    let flat: Vec<&Overlay> = read
        .iter()
        .map(|read| &read.overlay)
        .filter(|overlay| overlay.ring.is_none() && overlay.cluster.is_some())
        .collect();
    if flat.is_empty() {
        return;
    }
    let set = match application_set::find_application_set(tree, &context.component) {
        Ok(Some(set)) => set,
        Ok(None) => {
            let message = format!("no ApplicationSet renders components/{}", context.component);
            findings.push(Finding::warning("B12", message));
            return;
        }
        Err(problem) => {
            findings.push(Finding::error("B12", problem.what).in_file(problem.file).at_line(problem.line));
            return;
        }
    };
    let bytes = tree.get(&set.file).unwrap_or_default();
    for overlay in &flat {
        let cluster = overlay.cluster.as_deref().unwrap_or_default();
        if !set.elements.iter().any(|element| element.directory.as_deref() == Some(cluster)) {
            let message = format!(
                "{} is not in the list of clusters: the cluster gets the base, without Crossplane",
                overlay.directory
            );
            findings.push(
                Finding::error("B12", message)
                    .in_file(&set.file)
                    .at_line(text::find_line(bytes, "elements:")),
            );
        }
    }
    for element in &set.elements {
        let directory = element.directory.as_deref().unwrap_or("base");
        if directory != "base" && !flat.iter().any(|overlay| overlay.cluster.as_deref() == Some(directory)) {
            let message =
                format!("{} is to be rendered from {directory}, which has no overlay", element.name);
            let line = text::find_line(bytes, &format!("values.clusterDir: {directory}"));
            findings.push(Finding::error("B12", message).in_file(&set.file).at_line(line));
        }
    }
    let listed = |name: &str| set.elements.iter().any(|element| element.name == name);
    let mut elsewhere: BTreeMap<String, String> = application_set::count_other_clusters(tree, &set.file)
        .into_iter()
        .map(|(name, count)| (name, format!("in {count} other ApplicationSets")))
        .collect();
    for ring in context.rings.all() {
        for cluster in &ring.clusters {
            elsewhere.entry(cluster.clone()).or_insert_with(|| format!("in {}", ring.name));
        }
    }
    for (name, place) in elsewhere.into_iter().filter(|(name, _)| !listed(name)) {
        let message = format!(
            "{name} is {place}, but not here: if it is a member cluster, it gets the base, without Crossplane; \
             `--add-cluster {name}` adds it"
        );
        let line = text::find_line(bytes, "elements:");
        findings.push(Finding::warning("B12", message).in_file(&set.file).at_line(line));
    }
}

/// B13: people and runners have rights on the claims.
pub fn check_claim_rights(tree: &Tree, context: &CheckContext, findings: &mut Vec<Finding>) {
    for directory in ["components/authentication", "components/konflux-rbac"] {
        if tree.files_under(directory).next().is_none() {
            continue;
        }
        let roles: Vec<Value> = tree.documents_under(directory).map(|(_, document)| document).collect();
        let granted = rights::rights_of_roles(&roles);
        for group in &context.groups {
            if !granted.iter().any(|right| right.group == *group) {
                let message = format!("no role here names {group}: nobody may see its claims");
                findings.push(Finding::warning("B13", message).in_file(directory));
            }
        }
    }
}

/// B16: `crossplane-config`, the identity on a hub, has the rights that claims need and no wider ones.
pub fn check_hub_rights(tree: &Tree, findings: &mut Vec<Finding>) {
    let directory = "components/crossplane-config";
    let files: Vec<(&str, Value)> = tree.documents_under(directory).collect();
    let Some((path, _)) =
        files.iter().find(|(_, document)| text::str_at(document, &["kind"]) == Some("ClusterRole"))
    else {
        return;
    };
    let documents: Vec<Value> = files.iter().map(|(_, document)| document.clone()).collect();
    let line = text::find_line(tree.get(path).unwrap_or_default(), "rules:");
    let Ok(needed) = rights::required_rights() else { return };
    let listed = rights::rights_of_roles(&documents);
    let bound = rights::rights_of_bound_roles(&documents);
    let missing: Vec<_> = needed
        .iter()
        .filter(|need| !listed.iter().chain(&bound).any(|right| right.covers_right(need)))
        .collect();
    if !missing.is_empty() {
        let message = format!(
            "if this hub is to serve TestPlatformClusters, its role lacks {}; package/install/hub/konflux-identity-rbac.yaml \
             grants just that, in one namespace",
            rights::format_rules(missing)
        );
        findings.push(Finding::warning("B16", message).in_file(*path).at_line(line));
    }
    let wide: Vec<_> = listed
        .iter()
        .filter(|right| [&right.group, &right.resource, &right.verb].contains(&&"*".to_owned()))
        .collect();
    if !wide.is_empty() {
        let message = format!("wider than what TestPlatformClusters need: {}", rights::format_rules(wide));
        findings.push(Finding::note("B16", message).in_file(*path).at_line(line));
    }
    if !bound.is_empty() {
        let message = "a built-in role is bound in all namespaces: it reads every Secret of the hub, where get and patch \
                       in the credentials' namespace are enough";
        let line = text::find_line(tree.get(path).unwrap_or_default(), "name: edit");
        findings.push(Finding::note("B16", message).in_file(*path).at_line(line));
    }
}

//! Checks of files one by one: EnvironmentConfigs, ProviderConfigs, what kustomizations name, hygiene.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{Context, Environment, Finding, Read, Tree, environment_config, text};
use crate::bump::pin::is_remote;
use crate::bump::tree::{KUSTOMIZATIONS, resolved};

/// B07: every cluster says who it is, each something else.
pub fn environment_configs(tree: &Tree, read: &[Read], findings: &mut Vec<Finding>) {
    let mut names = BTreeMap::<String, String>::new();
    for Read { overlay, file } in read {
        let Some(cluster) = environment_config::cluster(overlay) else { continue };
        // A file that cannot be read is said by B15.
        let Ok(found) = environment_config::found(tree, overlay, file) else { continue };
        let Some(found) = found else {
            let message = format!(
                "no EnvironmentConfig {}: claims of {cluster} wait for it; `bump apply` makes it",
                environment_config::NAME
            );
            findings.push(Finding::error("B07", message).file(&file.path));
            continue;
        };
        let line = text::line_with(tree.get(&found.file).unwrap_or_default(), "clusterName");
        let Some(name) = found.cluster_name else {
            findings.push(Finding::error("B07", "data.clusterName is missing").file(found.file).line(line));
            continue;
        };
        if overlay.cluster.is_some() && name != cluster {
            let message = format!("data.clusterName is {name}, but the overlay is {cluster}'s");
            findings.push(Finding::error("B07", message).file(&found.file).line(line));
        }
        if let Some(other) =
            names.insert(name.clone(), found.file.clone()).filter(|other| *other != found.file)
        {
            let message =
                format!("data.clusterName {name} is also in {other}: the hub cannot tell the clusters apart");
            findings.push(Finding::error("B07", message).file(&found.file).line(line));
        }
    }
}

/// B08: the ProviderConfigs that compositions name exist in staging and production.
pub fn provider_configs(tree: &Tree, read: &[Read], context: &Context, findings: &mut Vec<Finding>) {
    for environment in [Environment::Staging, Environment::Production] {
        let directories: BTreeSet<String> = read
            .iter()
            .filter(|read| read.overlay.environment == environment)
            .map(|read| match &read.overlay.ring {
                Some(ring) => format!("components/{}/rings/{ring}", context.component),
                None => format!("components/{}/{environment}", context.component),
            })
            .collect();
        for directory in directories {
            let names: BTreeSet<String> = tree
                .documents(&directory)
                .filter(|(_, document)| text::str_at(document, &["kind"]) == Some("ProviderConfig"))
                .filter_map(|(_, document)| text::str_at(&document, &["metadata", "name"]).map(str::to_owned))
                .collect();
            for name in context.provider_configs.iter().filter(|name| !names.contains(*name)) {
                let message = format!("no ProviderConfig {name}, which compositions name");
                findings.push(Finding::error("B08", message).file(&directory));
            }
        }
    }
}

/// B09: components and patch files that kustomizations name are there. Whether a patch hits needs rendering (B10).
pub fn patches(tree: &Tree, context: &Context, findings: &mut Vec<Finding>) {
    for (path, document) in tree.documents(&format!("components/{}", context.component)) {
        let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
        if !KUSTOMIZATIONS.contains(&name) {
            continue;
        }
        let components = text::items(&document, &["components"]).filter_map(Value::as_str);
        let files = text::items(&document, &["patches"]).filter_map(|patch| text::str_at(patch, &["path"]));
        for named in components.chain(files).filter(|named| !is_remote(named)) {
            let there = resolved(directory, named)
                .is_some_and(|path| tree.get(&path).is_some() || tree.kustomization(&path).is_some());
            if !there {
                let line = text::line_with(tree.get(path).unwrap_or_default(), named);
                findings.push(Finding::error("B09", format!("{named} is not there")).file(path).line(line));
            }
        }
    }
}

/// B15: what yamllint's relaxed rules refuse, and what is no YAML at all.
pub fn hygiene(tree: &Tree, context: &Context, findings: &mut Vec<Finding>) {
    for (path, bytes) in tree.under(&format!("components/{}", context.component)) {
        let error = |message: &str, line| Finding::error("B15", message).file(path).line(line);
        if let Err(problem) = text::documents(path, bytes) {
            findings.push(error(&problem.what, problem.line));
            continue;
        }
        let Ok(text) = text::utf8(path, bytes) else { continue };
        let mut last = None;
        for line in text::lines(text) {
            if line.end == "\r\n" && last.is_none() {
                findings.push(error("lines end in CR LF", Some(line.number)));
            }
            if line.text.ends_with([' ', '\t']) {
                findings.push(error("spaces at the end of the line", Some(line.number)));
            }
            if line.text.contains('\t') {
                findings.push(error("a tab", Some(line.number)));
            }
            last = Some(line);
        }
        if let Some(line) = last.filter(|line| line.end.is_empty()) {
            findings.push(error("no new line at the end of the file", Some(line.number)));
        }
    }
}

//! The source between two commits: the changes, and the deployed files at each.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::Value;

use super::{Commit, Tree, deployed_paths, environment_config, text};

/// Effect of a commit on the deployed part. The order is that of risk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CommitKind {
    /// Nothing that is deployed.
    Other,
    /// Digests and versions only.
    Digests,
    /// Composed resources, or the way they run.
    Templates,
    /// A definition of an API.
    Definitions,
    /// Rights, or admission rules.
    Rights,
}

impl CommitKind {
    /// All, the riskiest first.
    pub const ALL: [Self; 5] = [Self::Rights, Self::Definitions, Self::Templates, Self::Digests, Self::Other];

    /// As a heading.
    pub fn heading(self) -> &'static str {
        match self {
            Self::Rights => "RBAC and admission",
            Self::Definitions => "XRDs and CRDs",
            Self::Templates => "Templates and configuration",
            Self::Digests => "Digests and versions only",
            Self::Other => "Not deployed",
        }
    }
}

/// One commit of the source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UpstreamCommit {
    /// Its digits.
    pub commit: String,
    /// The first line of its message.
    pub subject: String,
    /// Kind of its riskiest change.
    pub kind: CommitKind,
}

/// The source from one commit to another.
#[derive(Clone, Debug)]
pub struct Upstream {
    /// Deployed commit.
    pub from: Commit,
    /// Target commit.
    pub to: Commit,
    /// Whether the clone has `from`.
    pub known: bool,
    /// Whether `to` comes after `from`.
    pub descendant: bool,
    /// Commits of `to` that `from` lacks, newest first, without merges.
    pub commits: Vec<UpstreamCommit>,
    /// The files at `from`.
    pub before: Tree,
    /// The files at `to`.
    pub after: Tree,
}

/// Commits from the output of `git log -p -U0 --format=%x00%H%x1f%s`. `places` are the deployed paths.
pub fn commits_of_log(log: &str, places: &BTreeSet<String>) -> Vec<UpstreamCommit> {
    log.split('\0')
        .filter_map(|part| {
            let (head, diff) = part.split_once('\n').unwrap_or((part, ""));
            let (commit, subject) = head.split_once('\x1f')?;
            let kind = commit_kind(diff, places);
            Some(UpstreamCommit { commit: commit.to_owned(), subject: subject.to_owned(), kind })
        })
        .collect()
}

fn commit_kind(diff: &str, places: &BTreeSet<String>) -> CommitKind {
    let mut found = CommitKind::Other;
    let mut path = None;
    for line in diff.lines() {
        if let Some(names) = line.strip_prefix("diff --git ") {
            // Both names are equal: a renamed file is removed under one and added under the other.
            path = names
                .rsplit_once(" b/")
                .map(|(_, path)| path)
                .filter(|path| deployed_paths::includes_path(places, path));
            if path.is_some_and(|path| path.contains("xrd") || path.contains("crd")) {
                found = found.max(CommitKind::Definitions);
            }
            continue;
        }
        let Some(path) = path else { continue };
        if line.starts_with("+++ ") || line.starts_with("--- ") {
            continue;
        }
        if let Some(changed) = line.strip_prefix(['+', '-']) {
            found = found.max(kind_of_line(path, changed.trim()));
        }
    }
    found
}

fn kind_of_line(path: &str, line: &str) -> CommitKind {
    const RIGHTS: [&str; 8] = [
        "verbs:",
        "apiGroups:",
        "resourceNames:",
        "ClusterRole",
        "RoleBinding",
        "ValidatingWebhook",
        "MutatingWebhook",
        "AdmissionPolicy",
    ];
    // Lines of these files count even without a keyword.
    const RIGHTS_FILES: [&str; 4] = ["rbac", "admission", "policy", "webhook"];
    let name = path.rsplit('/').next().unwrap_or(path);
    // A template of a tenant's own role is a template: it grants nothing to the deployed part.
    let template = path.contains("/templates/");
    if !template
        && (RIGHTS_FILES.iter().any(|word| name.contains(word))
            || RIGHTS.iter().any(|word| line.contains(word)))
    {
        CommitKind::Rights
    } else if line.is_empty() || line.starts_with('#') {
        CommitKind::Other
    } else if line.contains("@sha256:") || line.starts_with("digest:") || line.starts_with("version:") {
        CommitKind::Digests
    } else if name.rsplit_once('.').is_some_and(|(_, end)| end == "md") {
        CommitKind::Other
    } else {
        CommitKind::Templates
    }
}

/// Definitions of composites among the files.
pub fn composite_definitions(tree: &Tree) -> Vec<Value> {
    objects_of_kind(tree, "CompositeResourceDefinition")
}

/// Objects of a kind among the files. Templates are no YAML and have none.
pub fn objects_of_kind(tree: &Tree, kind: &str) -> Vec<Value> {
    tree.files()
        .filter(|(path, _)| !path.contains("/templates/"))
        .flat_map(|(path, bytes)| text::parse_documents(path, bytes).unwrap_or_default())
        .filter(|document| text::str_at(document, &["kind"]) == Some(kind))
        .collect()
}

/// Names and sources of packages. A bare word has no source: it is a placeholder for the package that an overlay's patch sets, like
/// `spec.package` of our own function. No registry could be asked for it.
pub fn list_packages(tree: &Tree) -> BTreeSet<(String, String)> {
    let kinds = ["Function", "Provider", "Configuration"];
    let objects = kinds.iter().flat_map(|kind| objects_of_kind(tree, kind));
    objects
        .filter_map(|object| {
            let name = text::str_at(&object, &["metadata", "name"])?.to_owned();
            let package = text::str_at(&object, &["spec", "package"])?;
            package.contains(['/', '@', ':']).then(|| (name, package.to_owned()))
        })
        .collect()
}

/// Whether compositions request the EnvironmentConfig: upstream's since July 2026, ours always.
pub fn needs_environment_config(tree: &Tree) -> bool {
    tree.files().any(|(_, bytes)| {
        text::find_line(bytes, environment_config::NAME).is_some()
            || text::find_line(bytes, "function-testplatform").is_some()
    })
}

/// Names of ProviderConfigs in compositions and templates. The search is textual, because templates are no YAML.
pub fn provider_config_names(tree: &Tree) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for (_, bytes) in tree.files() {
        let Ok(text) = std::str::from_utf8(bytes) else { continue };
        let mut after = false;
        for line in text.lines().map(str::trim) {
            if let Some(name) = line.strip_prefix("name:").filter(|name| after && !name.contains("{{")) {
                names.insert(name.trim().to_owned());
            }
            after = line == "providerConfigRef:";
        }
    }
    names
}

/// Names of composed resources, in compositions and in templates.
pub fn resource_names(tree: &Tree) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for composition in objects_of_kind(tree, "Composition") {
        for step in text::items_at(&composition, &["spec", "pipeline"]) {
            let resources = text::items_at(step, &["input", "resources"]);
            names.extend(
                resources.filter_map(|resource| text::str_at(resource, &["name"])).map(str::to_owned),
            );
        }
    }
    for (_, bytes) in tree.files() {
        let Ok(text) = std::str::from_utf8(bytes) else { continue };
        let key = "composition-resource-name:";
        let found = text.lines().filter_map(|line| line.split_once(key)).map(|(_, name)| name.trim());
        names.extend(found.filter(|name| !name.contains("{{")).map(str::to_owned));
    }
    names
}

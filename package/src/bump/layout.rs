//! Location of a component's kustomizations, and the selection of a bump.
//!
//! Two layouts are known: `<environment>/{base,<cluster>}` (older: `<environment>` alone), and `rings/ring-<n>/{base,<cluster>}`. The base
//! of a ring may have parts below it, which belong to that ring alone. `base-snapshot` is no part, because promotion overwrites it.

use std::collections::BTreeSet;

use super::rings::{Environment, Rings};
use super::{Problem, Tree, text};

/// The directory in a ring's base that promotion writes.
const SNAPSHOT: &str = "base-snapshot";

/// A directory with a kustomization that Argo CD or another overlay renders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overlay {
    /// Environment of its clusters.
    pub environment: Environment,
    /// The directory of the ring, in the layout by rings.
    pub ring: Option<String>,
    /// The cluster; none for an overlay that an environment or ring shares.
    pub cluster: Option<String>,
    /// The directory.
    pub directory: String,
    /// The path of its kustomization.
    pub kustomization: String,
    /// Whether it is a part of a ring's base, which is never rendered alone.
    pub part: bool,
}

impl Overlay {
    /// Group with a common base: an environment, or one of its rings.
    fn group(&self) -> (Environment, Option<&str>) {
        (self.environment, self.ring.as_deref())
    }
}

/// Every overlay of a component, in the order of promotion.
pub fn list_overlays(tree: &Tree, component: &str, rings: &Rings) -> Vec<Overlay> {
    let root = format!("components/{component}");
    let mut found = Vec::new();
    for environment in Environment::ALL {
        collect_overlays(tree, environment, None, &format!("{root}/{environment}"), &mut found);
    }
    let directory = format!("{root}/rings");
    for name in tree.list_directories(&directory) {
        if let Some(environment) = rings.ring_environment(name) {
            collect_overlays(tree, environment, Some(name), &format!("{directory}/{name}"), &mut found);
        }
    }
    found.sort_by(|one, other| {
        (one.environment, &one.ring, &one.cluster).cmp(&(other.environment, &other.ring, &other.cluster))
    });
    found
}

fn collect_overlays(
    tree: &Tree,
    environment: Environment,
    ring: Option<&str>,
    directory: &str,
    found: &mut Vec<Overlay>,
) {
    let mut add = |cluster: Option<&str>, directory: String, part: bool| {
        if let Some(kustomization) = tree.find_kustomization(&directory) {
            // A component is always a part of others.
            if !part && is_component(tree, &kustomization) {
                return;
            }
            found.push(Overlay {
                environment,
                ring: ring.map(str::to_owned),
                cluster: cluster.map(str::to_owned),
                directory,
                kustomization,
                part,
            });
        }
    };
    add(None, directory.to_owned(), false);
    for name in tree.list_directories(directory) {
        let below = format!("{directory}/{name}");
        if name == "base" {
            if ring.is_some() {
                for part in base_parts(tree, &below) {
                    add(None, part, true);
                }
            }
            add(None, below, false);
        } else {
            add(Some(name), below, false);
        }
    }
}

fn is_component(tree: &Tree, kustomization: &str) -> bool {
    let documents = text::parse_documents(kustomization, tree.get(kustomization).unwrap_or_default());
    documents.is_ok_and(|documents| {
        documents.iter().any(|document| text::str_at(document, &["kind"]) == Some("Component"))
    })
}

/// Directories with a kustomization below the base of a ring.
fn base_parts(tree: &Tree, base: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for name in tree.list_directories(base).into_iter().filter(|name| *name != SNAPSHOT) {
        let below = format!("{base}/{name}");
        found.extend(base_parts(tree, &below));
        if tree.find_kustomization(&below).is_some() {
            found.insert(below);
        }
    }
    found
}

/// Scope of a bump.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    /// Development and staging, or production.
    pub environments: BTreeSet<Environment>,
    /// Rings of production by name or number; `all` for every ring.
    pub rings: Vec<String>,
    /// Clusters by name, in addition to those of the rings.
    pub clusters: Vec<String>,
}

/// The overlays of a scope.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Overlays to edit, the shared ones among them.
    pub overlays: Vec<Overlay>,
    /// Shared overlays with clusters outside the scope, which therefore cannot be edited.
    pub out_of_reach: Vec<Overlay>,
    /// Ring members without an overlay.
    pub absent: Vec<String>,
}

/// Selects the overlays of a scope.
///
/// # Errors
/// If the scope has both staging and production, or a ring or cluster that does not exist.
pub fn select_overlays(
    tree: &Tree,
    component: &str,
    scope: &Scope,
    rings: &Rings,
) -> Result<Selection, Vec<Problem>> {
    let production = scope.environments.contains(&Environment::Production);
    if production && scope.environments.len() > 1 {
        let what = "staging and production together";
        let help = "make one pull request for dev and staging, and a later one for each ring of production";
        return Err(vec![Problem::new("--env", what, help)]);
    }
    if scope.environments.is_empty() {
        return Err(vec![Problem::new("--env", "no environment", "give dev,staging or production")]);
    }
    if production && scope.rings.is_empty() && scope.clusters.is_empty() {
        let names: Vec<_> = production_rings(rings).collect();
        let help = format!("give --ring ({}, or all) or --clusters", names.join(", "));
        return Err(vec![Problem::new(
            "--ring",
            "production is changed ring by ring, and no ring is given",
            help,
        )]);
    }
    let all: Vec<Overlay> = list_overlays(tree, component, rings)
        .into_iter()
        .filter(|overlay| scope.environments.contains(&overlay.environment))
        .collect();
    let mut problems: Vec<Problem> = scope
        .environments
        .iter()
        .filter(|environment| !all.iter().any(|overlay| overlay.environment == **environment))
        .map(|environment| {
            let directory = format!("components/{component}/{environment}");
            Problem::new(directory, "no kustomization", "check --repo, --component and --env")
        })
        .collect();
    let (clusters, absent) = match scope_clusters(&all, scope, rings) {
        Ok(clusters) => clusters,
        Err(more) => {
            problems.extend(more);
            return Err(problems);
        }
    };
    if !problems.is_empty() {
        return Err(problems);
    }
    let chosen = |overlay: &Overlay| overlay.cluster.as_ref().is_none_or(|name| clusters.contains(name));
    let mut selection = Selection { absent, ..Selection::default() };
    for overlay in &all {
        let selects_group = all.iter().filter(|other| other.group() == overlay.group()).all(&chosen);
        let group_is_touched = selects_environment(scope)
            || all
                .iter()
                .any(|other| other.group() == overlay.group() && other.cluster.is_some() && chosen(other))
            || overlay.ring.as_ref().is_some_and(|ring| names_ring(scope, rings, ring));
        match (overlay.cluster.is_some(), group_is_touched) {
            (true, _) if chosen(overlay) => selection.overlays.push(overlay.clone()),
            (false, true) if selects_group => selection.overlays.push(overlay.clone()),
            (false, true) => selection.out_of_reach.push(overlay.clone()),
            _ => {}
        }
    }
    Ok(selection)
}

fn selects_environment(scope: &Scope) -> bool {
    scope.rings.iter().any(|ring| ring == "all") || (scope.rings.is_empty() && scope.clusters.is_empty())
}

fn names_ring(scope: &Scope, rings: &Rings, directory: &str) -> bool {
    scope.rings.iter().any(|name| {
        name == directory
            || directory.strip_prefix("ring-") == Some(name)
            || rings.find_ring(name).is_some_and(|ring| ring.name == directory)
    })
}

fn production_rings(rings: &Rings) -> impl Iterator<Item = &str> {
    rings
        .all()
        .iter()
        .filter(|ring| ring.environment == Environment::Production)
        .map(|ring| ring.name.as_str())
}

type ScopeClusters = (BTreeSet<String>, Vec<String>);

/// The clusters of a scope, and those without an overlay.
fn scope_clusters(all: &[Overlay], scope: &Scope, rings: &Rings) -> Result<ScopeClusters, Vec<Problem>> {
    let existing: BTreeSet<String> = all.iter().filter_map(|overlay| overlay.cluster.clone()).collect();
    if selects_environment(scope) {
        return Ok((existing, Vec::new()));
    }
    let mut problems = Vec::new();
    let mut chosen = BTreeSet::new();
    let mut absent = Vec::new();
    for name in &scope.rings {
        let in_layout: Vec<&Overlay> = all
            .iter()
            .filter(|overlay| {
                overlay
                    .ring
                    .as_ref()
                    .is_some_and(|ring| ring == name || ring.strip_prefix("ring-") == Some(name))
            })
            .collect();
        let ring = rings.find_ring(name);
        if ring.is_none() && in_layout.is_empty() {
            let names: Vec<_> = production_rings(rings).collect();
            let help = format!("known are {} and all", names.join(", "));
            problems.push(Problem::new("--ring", format!("no ring {name:?}"), help));
            continue;
        }
        if let Some(ring) = ring.filter(|ring| !scope.environments.contains(&ring.environment)) {
            let what = format!("{} is in {}", ring.name, ring.environment);
            problems.push(Problem::new("--ring", what, "give the environment of the ring"));
            continue;
        }
        let before = chosen.len();
        chosen.extend(in_layout.iter().filter_map(|overlay| overlay.cluster.clone()));
        for member in ring.into_iter().flat_map(|ring| &ring.clusters) {
            if existing.contains(member) {
                chosen.insert(member.clone());
            } else {
                absent.push(member.clone());
            }
        }
        if chosen.len() == before && in_layout.is_empty() {
            let what = format!("no cluster of {name} has an overlay");
            problems.push(Problem::new("--ring", what, "add one with --add-cluster, or check --rings"));
        }
    }
    for name in &scope.clusters {
        if existing.contains(name) {
            chosen.insert(name.clone());
        } else {
            let help = format!("check the name, or add it with --add-cluster {name}");
            problems.push(Problem::new("--clusters", format!("{name} has no overlay"), help));
        }
    }
    if problems.is_empty() { Ok((chosen, absent)) } else { Err(problems) }
}

//! All pins, and their distance to the newest commit.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::kustomization::Kustomization;
use super::{Commit, Environment, Problem, Rings, Tree, list_overlays};

/// One source in one overlay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReportRow {
    /// Environment of its cluster.
    pub environment: Environment,
    /// The cluster's ring.
    pub ring: Option<String>,
    /// The cluster; none for an overlay that several share.
    pub cluster: Option<String>,
    /// The source.
    pub source: String,
    /// Its commits; more than one is a partial bump.
    pub commits: BTreeSet<Commit>,
    /// Number of commits, without merges, up to the newest in the clone.
    pub behind: Option<usize>,
    /// The file.
    pub file: String,
}

/// Every pinned source of a component, in the order of promotion. `behind` has the distance of each commit.
///
/// # Errors
/// If a kustomization cannot be read.
pub fn build_report(
    tree: &Tree,
    component: &str,
    rings: &Rings,
    behind: &BTreeMap<Commit, usize>,
) -> Result<Vec<ReportRow>, Vec<Problem>> {
    let mut rows = Vec::new();
    let mut problems = Vec::new();
    for overlay in list_overlays(tree, component, rings) {
        let bytes = tree.get(&overlay.kustomization).unwrap_or_default();
        let file = match Kustomization::read(&overlay.kustomization, bytes) {
            Ok(file) => file,
            Err(problem) => {
                problems.push(problem);
                continue;
            }
        };
        let mut sources = BTreeMap::<String, BTreeSet<Commit>>::new();
        for pin in file.list_pins() {
            sources.entry(pin.source.to_string()).or_default().insert(pin.commit);
        }
        let ring =
            overlay.cluster.as_ref().and_then(|cluster| rings.ring_of(cluster)).map(|ring| ring.name.clone());
        for (source, commits) in sources {
            rows.push(ReportRow {
                environment: overlay.environment,
                ring: overlay.ring.clone().or_else(|| ring.clone()),
                cluster: overlay.cluster.clone(),
                source,
                behind: commits.iter().filter_map(|commit| behind.get(commit).copied()).max(),
                commits,
                file: file.path.clone(),
            });
        }
    }
    if problems.is_empty() { Ok(rows) } else { Err(problems) }
}

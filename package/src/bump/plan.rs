//! The edits of a bump, computed from files and request. Pure.

mod add_cluster;
mod images;

use std::collections::BTreeMap;

use serde::Serialize;

use super::image::Image;
use super::kustomization::Kustomization;
use super::layout::{self, Scope};
use super::list_entry::{ListEntry, Section};
use super::pin::EntryReference;
use super::text::{Splice, split_lines};
use super::{Commit, Finding, Overlay, Problem, Rings, Source, Tree, environment_config, shared_pins};

/// Request of a bump.
#[derive(Clone, Debug)]
pub struct Request {
    /// The component's directory below `components/`.
    pub component: String,
    /// Repository whose pins move. Pins of others stay.
    pub source: Source,
    /// Target commit.
    pub to: Commit,
    /// Overlays to edit.
    pub scope: Scope,
    /// Clusters that get an overlay and an entry in the ApplicationSet.
    pub add_clusters: Vec<String>,
    /// Images that get a new digest, if an overlay in scope sets the image.
    pub images: Vec<Image>,
    /// Whether every cluster needs an EnvironmentConfig. Upstream commits from before July 2026 need none, nor do components without
    /// claims.
    pub environment_configs: bool,
    /// Whether to edit files with differing pins.
    pub force: bool,
    /// Assignment of clusters to rings.
    pub rings: Rings,
}

/// One file before and after.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// None for a new file.
    pub before: Option<Vec<u8>>,
    /// The complete new text.
    pub after: Vec<u8>,
}

/// A pin that moves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PinMove {
    /// Its file.
    pub file: String,
    /// Its line in the old file.
    pub line: usize,
    /// The directory of the source.
    pub directory: String,
    /// Old commit.
    pub from: Commit,
    /// New commit.
    pub to: Commit,
}

/// Plan of a bump.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// Files by path.
    pub edits: BTreeMap<String, Edit>,
    /// Pins that move.
    pub moves: Vec<PinMove>,
    /// Everything in scope, edited or not.
    pub overlays: Vec<Overlay>,
    /// Findings about the plan.
    pub findings: Vec<Finding>,
}

/// Plans a bump. A plan on its own result is empty.
///
/// # Errors
/// All problems that prevent the plan; the caller must then change nothing.
pub fn plan_changes(tree: &Tree, request: &Request) -> Result<Plan, Vec<Problem>> {
    let mut work = tree.clone();
    let mut scope = request.scope.clone();
    let mut reminders = Vec::new();
    for cluster in &request.add_clusters {
        let reminder =
            add_cluster::add_cluster(&mut work, request, cluster).map_err(|problem| vec![problem])?;
        reminders.extend(reminder);
        if !scope.rings.iter().any(|ring| ring == "all") {
            scope.clusters.push(cluster.clone());
        }
    }
    let selection = layout::select_overlays(&work, &request.component, &scope, &request.rings)?;
    let mut plan = Plan { overlays: selection.overlays.clone(), findings: reminders, ..Plan::default() };
    let mut problems = Vec::new();
    let mut pinned = false;
    for overlay in &selection.overlays {
        match edit_overlay(&mut work, request, overlay) {
            Ok(edited) => {
                pinned |= edited.pinned;
                plan.moves.extend(edited.moves);
            }
            Err(more) => problems.extend(more),
        }
    }
    for overlay in &selection.out_of_reach {
        // A pin that already has the target commit counts too.
        let shared = check_out_of_reach(&work, request, overlay);
        pinned |= shared.pinned;
        problems.extend(shared.problems);
    }
    problems.extend(shared_pins::unmoved_pins(&work, request, &selection));
    problems.extend(images::unset_images(&work, request, &selection));
    if !pinned && problems.is_empty() {
        let what = format!("nothing in scope is pinned to a commit of {}", request.source);
        problems.push(Problem::new("--source", what, "check --source, --env and --ring"));
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    for name in selection.absent {
        let message = format!("{name} is in the ring, but has no overlay: `--add-cluster {name}` makes one");
        plan.findings.push(Finding::warning("B12", message));
    }
    for (path, after) in work.files() {
        let before = tree.get(path);
        if before != Some(after) {
            let edit = Edit { before: before.map(<[u8]>::to_vec), after: after.to_vec() };
            plan.edits.insert(path.to_owned(), edit);
        }
    }
    // A new overlay moves nothing: its pins are new.
    plan.moves.retain(|step| tree.get(&step.file).is_some());
    Ok(plan)
}

struct EditedOverlay {
    pinned: bool,
    moves: Vec<PinMove>,
}

fn edit_overlay(
    work: &mut Tree,
    request: &Request,
    overlay: &Overlay,
) -> Result<EditedOverlay, Vec<Problem>> {
    let path = &overlay.kustomization;
    let bytes = work.get(path).unwrap_or_default();
    let file = Kustomization::read(path, bytes).map_err(|problem| vec![problem])?;
    let (pins, mut problems) = find_pins(&file, request);
    if let Some(other) = pins.iter().find(|pin| pin.commit != pins[0].commit)
        && !request.force
    {
        let what =
            format!("{} is pinned to {} here, to {} above", request.source, other.commit, pins[0].commit);
        let help = "a bump was half made: find out which is right, or move both with --force";
        problems.push(Problem::new(path, what, help).at_line(other.line));
    }
    let mut expected: Vec<(Section, String)> =
        file.entries.iter().map(|entry| (entry.section, entry.value.clone())).collect();
    let mut splices: Vec<Splice> = Vec::new();
    let mut edited = EditedOverlay { pinned: !pins.is_empty(), moves: Vec::new() };
    for pin in pins.iter().filter(|pin| pin.commit != request.to) {
        splices.push((pin.span.clone(), request.to.to_string()));
        for (entry, (_, value)) in
            file.entries.iter().zip(&mut expected).filter(|(entry, _)| entry.line == pin.line)
        {
            let digits = entry.value.len() - pin.commit.as_str().len();
            *value = format!("{}{}", entry.value.get(..digits).unwrap_or_default(), request.to);
        }
        edited.moves.push(PinMove {
            file: path.clone(),
            line: pin.line,
            directory: pin.directory.clone(),
            from: pin.commit.clone(),
            to: request.to.clone(),
        });
    }
    let mut made = None;
    if request.environment_configs {
        match environment_config::missing_config(work, overlay, &file) {
            Ok(Some(addition)) => {
                let above =
                    file.entries.iter().filter(|entry| entry_before(entry, &file, &addition.splice)).count();
                expected.insert(above, (Section::Resources, environment_config::FILE.to_owned()));
                splices.push(addition.splice);
                made = addition.file;
            }
            Ok(None) => {}
            Err(problem) => problems.push(problem),
        }
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    let text = file.apply_edits(splices, &expected).map_err(|problem| vec![problem])?;
    let text = images::set_digests(path, text, request).map_err(|problem| vec![problem])?;
    work.insert(path, text);
    if let Some((path, text)) = made {
        work.insert(path, text);
    }
    Ok(edited)
}

/// Whether an entry is above an inserted line.
fn entry_before(entry: &ListEntry, file: &Kustomization, splice: &Splice) -> bool {
    split_lines(&file.text).any(|line| line.number == entry.line && line.start < splice.0.start)
}

/// The pins of the source, and the problems of its other references.
fn find_pins(file: &Kustomization, request: &Request) -> (Vec<super::Pin>, Vec<Problem>) {
    let mut pins = Vec::new();
    let mut problems = Vec::new();
    let help = format!("write https://github.com/{}/DIRECTORY?ref= and a whole commit", request.source);
    for (entry, reference) in file.list_references() {
        let why = match reference {
            EntryReference::Pinned(pin) if pin.source == request.source => {
                pins.push(pin);
                continue;
            }
            EntryReference::Pinned(pin) if pin.source.is_same(&request.source) => {
                format!("is written as {}", pin.source)
            }
            EntryReference::Loose { source: Some(source), why } if source.is_same(&request.source) => why,
            _ => continue,
        };
        problems
            .push(Problem::new(&file.path, format!("`{}` {why}", entry.value), &help).at_line(entry.line));
    }
    (pins, problems)
}

/// A shared overlay with clusters outside the scope.
struct SharedOverlay {
    pinned: bool,
    problems: Vec<Problem>,
}

/// Refuses pins that would move for clusters outside the scope.
fn check_out_of_reach(work: &Tree, request: &Request, overlay: &Overlay) -> SharedOverlay {
    let path = &overlay.kustomization;
    let file = match Kustomization::read(path, work.get(path).unwrap_or_default()) {
        Ok(file) => file,
        Err(problem) => return SharedOverlay { pinned: false, problems: vec![problem] },
    };
    let (pins, mut problems) = find_pins(&file, request);
    if let Some(pin) = pins.iter().find(|pin| pin.commit != request.to) {
        let what = "a pin that clusters outside the scope share";
        let help = "move it into the overlays of the clusters, or bump all of them (--ring all)";
        problems.push(Problem::new(path, what, help).at_line(pin.line));
    }
    SharedOverlay { pinned: !pins.is_empty(), problems }
}

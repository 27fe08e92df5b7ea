//! The checks that need only the checkout. B02, B04 to B06, B11 and B14 read the source, see `delta`.

mod clusters;
mod files;
mod objects;

use std::collections::{BTreeMap, BTreeSet};

use super::kustomization::Kustomization;
use super::pin::EntryReference;
use super::rings::Environment;
use super::{
    Commit, Finding, Overlay, Problem, Rendered, Rings, Source, Tree, environment_config, list_overlays,
    render_directory, shared_pins, text,
};

/// Knowledge of the checks besides the files.
#[derive(Clone, Debug)]
pub struct CheckContext {
    /// The component's directory below `components/`.
    pub component: String,
    /// Repositories whose pins must be full commits; pins of other repositories only get a note.
    pub sources: Vec<Source>,
    /// Assignment of clusters to rings.
    pub rings: Rings,
    /// Commits that staging ever had, each with its time in Unix seconds; none without history.
    pub staged: Option<BTreeMap<Commit, i64>>,
    /// ProviderConfigs that the compositions reference.
    pub provider_configs: Vec<String>,
    /// API groups of the claims.
    pub groups: Vec<String>,
    /// Files that a pull request changes.
    pub changed: Vec<String>,
}

impl CheckContext {
    /// The context for the incumbent and for this repository's own packages.
    pub fn new(component: &str, source: Source, rings: Rings) -> Self {
        Self {
            component: component.to_owned(),
            sources: vec![source],
            rings,
            staged: None,
            provider_configs: vec![
                "testplatform-kubernetes-provider-config".to_owned(),
                "eaas-kubernetes-provider-config".to_owned(),
            ],
            groups: vec!["ci.openshift.org".to_owned()],
            changed: Vec::new(),
        }
    }
}

struct CheckedOverlay {
    overlay: Overlay,
    file: Kustomization,
    /// None for a part of a base, which is rendered with the base.
    rendered: Option<Result<Rendered, Problem>>,
}

impl CheckedOverlay {
    /// The rendered objects of an overlay that kustomize accepts.
    fn rendered_objects(&self) -> Option<&Rendered> {
        self.rendered.as_ref()?.as_ref().ok()
    }
}

/// All findings, most severe first.
pub fn run_checks(tree: &Tree, context: &CheckContext) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut read = Vec::new();
    for overlay in list_overlays(tree, &context.component, &context.rings) {
        match Kustomization::read(
            &overlay.kustomization,
            tree.get(&overlay.kustomization).unwrap_or_default(),
        ) {
            Ok(file) => {
                let rendered = (!overlay.part).then(|| render_directory(tree, &overlay.directory));
                read.push(CheckedOverlay { overlay, file, rendered });
            }
            // B15 reports it, because B15 reads every file.
            Err(problem) if problem.what.starts_with("not ") => {}
            Err(problem) => findings.push(
                Finding::error("B01", format!("{}; {}", problem.what, problem.help))
                    .in_file(problem.file)
                    .at_line(problem.line),
            ),
        }
    }
    if read.is_empty() {
        let message = "no overlay of this component: check --repo and --component";
        findings.push(Finding::error("B01", message).in_file(format!("components/{}", context.component)));
    }
    check_pins(&read, context, &mut findings);
    check_shared_pins(tree, context, &mut findings);
    check_staged(&read, context, &mut findings);
    // Without a cluster name there are no claims that would reach a hub.
    if environment_config::needs_cluster_name(tree, &context.component, &context.rings) {
        objects::check_environment_configs(tree, &read, &mut findings);
        objects::check_provider_configs(&read, context, &mut findings);
    }
    files::check_names(tree, context, &mut findings);
    objects::check_rendering(&read, &mut findings);
    clusters::check_clusters(tree, &read, context, &mut findings);
    clusters::check_claim_rights(tree, context, &mut findings);
    files::check_hygiene(tree, context, &mut findings);
    clusters::check_hub_rights(tree, &mut findings);
    check_changed_files(context, &mut findings);
    findings.sort_by(|one, other| {
        (other.severity, one.id, &one.file, one.line).cmp(&(one.severity, other.id, &other.file, other.line))
    });
    findings
}

/// B01: a source is pinned to one commit in a file, in staging, and in a ring.
fn check_pins(read: &[CheckedOverlay], context: &CheckContext, findings: &mut Vec<Finding>) {
    let mut staging = BTreeMap::<Source, Vec<(Commit, String)>>::new();
    let mut rings = BTreeMap::<(String, Source), BTreeMap<Commit, Vec<String>>>::new();
    for CheckedOverlay { overlay, file, .. } in read {
        let mut first = BTreeMap::<Source, Commit>::new();
        for (entry, reference) in file.list_references() {
            match reference {
                EntryReference::Local => {}
                EntryReference::Loose { source, why } => {
                    let ours = source
                        .is_some_and(|source| context.sources.iter().any(|known| known.is_same(&source)));
                    let message = format!("`{}` {why}; pin it to a whole commit", entry.value);
                    let finding =
                        if ours { Finding::error("B01", message) } else { Finding::warning("B01", message) };
                    findings.push(finding.in_file(&file.path).at_line(Some(entry.line)));
                }
                EntryReference::Pinned(pin) => {
                    let one = first.entry(pin.source.clone()).or_insert_with(|| pin.commit.clone());
                    if *one != pin.commit {
                        let message = format!(
                            "{} is pinned to {} here and to {} above: half bumped",
                            pin.source,
                            pin.commit.short(),
                            one.short()
                        );
                        findings
                            .push(Finding::error("B01", message).in_file(&file.path).at_line(Some(pin.line)));
                    }
                }
            }
        }
        for (source, commit) in first {
            if overlay.environment == Environment::Staging {
                staging.entry(source.clone()).or_default().push((commit.clone(), file.path.clone()));
            }
            let ring = overlay.cluster.as_ref().and_then(|cluster| context.rings.ring_of(cluster));
            if let (Some(ring), Some(cluster)) = (ring, &overlay.cluster) {
                let ring = rings.entry((ring.name.clone(), source)).or_default();
                ring.entry(commit).or_default().push(cluster.clone());
            }
        }
    }
    for (source, pins) in staging {
        for (commit, path) in pins.iter().filter(|(commit, _)| *commit != pins[0].0) {
            let message = format!(
                "{source} is at {} here and at {} in {}",
                commit.short(),
                pins[0].0.short(),
                pins[0].1
            );
            findings.push(Finding::error("B01", message).in_file(path));
        }
    }
    for ((ring, source), commits) in rings.into_iter().filter(|(_, commits)| commits.len() > 1) {
        let at: Vec<_> = commits
            .iter()
            .map(|(commit, clusters)| format!("{} at {}", clusters.join(", "), commit.short()))
            .collect();
        findings.push(Finding::warning(
            "B01",
            format!("{ring} has {source} at several commits: {}", at.join("; ")),
        ));
    }
}

/// B01: overlays share these files, so a change reaches all of them at once. They should not have pins, and no moving ones.
fn check_shared_pins(tree: &Tree, context: &CheckContext, findings: &mut Vec<Finding>) {
    let all = shared_pins::list_shared_pins(tree, &context.component, &context.rings).into_iter();
    for pin in all.filter(|pin| context.sources.iter().any(|known| known.is_same(&pin.source))) {
        let message = format!("`{}` is in what overlays share: move it into them", pin.value);
        let finding = match pin.commit {
            Some(_) => Finding::warning("B01", message),
            None => Finding::error("B01", format!("{message}, at a whole commit")),
        };
        findings.push(finding.in_file(pin.file).at_line(pin.line));
    }
}

/// B03: staging had every commit of production before.
fn check_staged(read: &[CheckedOverlay], context: &CheckContext, findings: &mut Vec<Finding>) {
    let Some(history) = &context.staged else { return };
    let now = pinned_commits(read, |environment| environment == Environment::Staging);
    let production = pinned_commits(read, |environment| environment == Environment::Production);
    for (source, commit) in production.difference(&now).filter(|(source, _)| context.sources.contains(source))
    {
        if !history.contains_key(commit) {
            let short = commit.short();
            let message =
                format!("production has {short} of {source}, which staging never had as far as history goes");
            findings.push(Finding::warning("B03", message));
        }
    }
}

fn pinned_commits(read: &[CheckedOverlay], of: impl Fn(Environment) -> bool) -> BTreeSet<(Source, Commit)> {
    read.iter()
        .filter(|read| of(read.overlay.environment))
        .flat_map(|read| read.file.list_pins().map(|pin| (pin.source, pin.commit)).collect::<Vec<_>>())
        .collect()
}

/// B17: one pull request does not touch staging and production, nor what they share.
fn check_changed_files(context: &CheckContext, findings: &mut Vec<Finding>) {
    let mut environments = BTreeMap::<Environment, &str>::new();
    for path in &context.changed {
        let parts: Vec<&str> = path.split('/').collect();
        let environment = match parts[..] {
            ["components", _, "rings", ring, ..] => context.rings.ring_environment(ring),
            ["components", _, environment, ..] => environment.parse().ok(),
            _ => None,
        };
        if let Some(environment) = environment {
            environments.entry(environment).or_insert(path);
        } else if let ["components", component, shared @ ("base" | "k-components"), ..] = parts[..]
            && component == context.component
        {
            let message = format!("{shared} is in every environment at once, whatever ring it is meant for");
            findings.push(Finding::warning("B17", message).in_file(path));
        }
    }
    let earlier = environments.iter().find(|(environment, _)| **environment != Environment::Production);
    if let (Some((environment, path)), Some(other)) = (earlier, environments.get(&Environment::Production)) {
        let message =
            format!("production is changed together with {environment} ({path}): make two pull requests");
        findings.push(Finding::error("B17", message).in_file(*other));
    }
}

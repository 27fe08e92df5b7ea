//! `plan` and `apply`.

use super::{
    BTreeSet, CHANGED, CHECK_FAILED, ChangeArgs, CheckContext, Commit, Environment, Failure, Finding,
    FindingSeverity, Kustomization, Path, Plan, Problem, PullRequestFacts, Request, Scope, Tree, UNCHANGED,
    UPSTREAM_SOURCE, Upstream, Write, check_upstream, disk, git, online, output, print_progress, upstream,
};
use crate::bump::{environment_config, plan_changes, pull_request, run_checks};

const DAY: i64 = 24 * 60 * 60;

/// Plans, and with `apply` also writes. The value of `apply`: whether a directory without git is accepted.
pub fn run(
    change: &ChangeArgs,
    apply: Option<bool>,
    out: &mut impl Write,
    err: &mut impl Write,
    now: i64,
) -> Result<u8, Failure> {
    let place = &change.place;
    let rings = place.read_rings()?;
    let crd = place.read_crd()?;
    let tree = disk::read_checkout(&place.repo, &place.component)?;
    let (to, clone) = resolve_target(change)?;
    let directories = place.pinned_directories(&tree, &rings);
    let mut request = Request {
        component: place.component.clone(),
        source: place.source.clone(),
        to: to.clone(),
        scope: Scope {
            environments: change.env.iter().copied().collect(),
            rings: change.ring.clone(),
            clusters: change.clusters.clone(),
        },
        add_clusters: change.add_cluster.clone(),
        images: change.image.clone(),
        environment_configs: environment_config::needs_cluster_name(&tree, &place.component, &rings),
        force: change.force,
        rings: rings.clone(),
    };
    // Report mistakes before reading the clone, which may take long.
    let mut planned = plan_changes(&tree, &request)?;
    if let Some(clone) = clone.as_deref() {
        if !git::has_commit(clone, &to)? {
            let what = format!("the clone has no commit {to}");
            return Err(Problem::new(clone.display().to_string(), what, "fetch it, or check --to").into());
        }
        verify_target(clone, &planned, &request)?;
        // Only the upstream's own compositions ever worked without one.
        if place.source.to_string() == UPSTREAM_SOURCE
            && !upstream::needs_environment_config(&read_deployed(clone, &to, &directories)?)
        {
            request.environment_configs = false;
            planned = plan_changes(&tree, &request)?;
        }
    }
    let is_checkout = git::is_checkout(&place.repo)?;
    if is_checkout && !change.allow_dirty {
        let dirty = git::find_uncommitted(&place.repo, &planned.edits)?;
        if !dirty.is_empty() {
            return Err(dirty.into());
        }
    }
    if apply == Some(false) && !is_checkout {
        let help = "give a checkout, or --allow-no-vcs if there need be no way back";
        return Err(Problem::new(place.repo.display().to_string(), "no git checkout", help).into());
    }
    let ranges = read_ranges(clone.as_deref(), &planned, &to, &directories, err)?;
    let mut findings = std::mem::take(&mut planned.findings);
    for range in &ranges {
        findings.extend(check_upstream(range, crd.as_ref(), change.rollback, &place.registry));
    }
    let mut context = place.build_context(&rings, &ranges)?;
    // The plan already reported ring members without an overlay.
    let production = request.scope.environments.contains(&Environment::Production);
    let staged_days =
        if production { check_staged(&tree, &context, &request, now, &mut findings) } else { None };
    context.staged = None;
    findings.extend(check_result(&tree, &context, &planned, request.environment_configs));
    if place.online {
        let pinned = online::pinned_references(&apply_edits(&tree, &planned), &planned.overlays, &ranges);
        findings.extend(online::check_references(place, &pinned, err)?);
    }
    findings.sort_by_key(|finding| (std::cmp::Reverse(finding.severity), finding.id));
    findings.dedup();

    let failed = findings.iter().any(|finding| finding.severity == FindingSeverity::Error) && !change.force;
    let facts = PullRequestFacts {
        request: &request,
        plan: &planned,
        ranges: &ranges,
        findings: &findings,
        staged_days,
        jira: change.jira.as_deref(),
        why: change.why.as_deref(),
    };
    if !failed
        && !planned.edits.is_empty()
        && let Some(path) = &change.pr_body
    {
        std::fs::write(path, pull_request::render_pull_request(&facts)).map_err(|error| {
            let what = format!("cannot be written: {error}");
            Problem::new(path.display().to_string(), what, "nothing was changed; give another file")
        })?;
    }
    let applied = apply.is_some() && !failed;
    if applied && !planned.edits.is_empty() {
        disk::write_edits(&place.repo, &planned.edits, || {
            output::print_changes(change, &facts, true, out, err)
        })?;
        // The files are changed by now, even if the output fails.
        let _ = output::print_summary(change, &facts, (true, false), err);
    } else {
        output::print_changes(change, &facts, applied, out, err)?;
        output::print_summary(change, &facts, (applied, failed), err)?;
    }
    Ok(match (failed, planned.edits.is_empty()) {
        (true, _) => CHECK_FAILED,
        (false, true) => UNCHANGED,
        (false, false) => CHANGED,
    })
}

/// The commit to move to, and the clone that has it.
fn resolve_target(change: &ChangeArgs) -> Result<(Commit, Option<std::path::PathBuf>), Problem> {
    let why = match change.to.parse::<Commit>() {
        Ok(commit) => return Ok((commit, change.place.clone.clone())),
        Err(why) => why,
    };
    let path = Path::new(&change.to);
    if !path.is_dir() {
        return Err(Problem::new(
            "--to",
            why,
            "give forty lower-case hexadecimal digits, or a clone of the source",
        ));
    }
    Ok((git::head_commit(path)?, Some(path.to_owned())))
}

/// Verifies that the pinned directories exist at the target. kustomize would not find them under another name or in another repository, nor
/// would the checks that compare.
fn verify_target(clone: &Path, plan: &Plan, request: &Request) -> Result<(), Vec<Problem>> {
    let edited = plan.overlays.iter().filter_map(|overlay| {
        let path = &overlay.kustomization;
        Kustomization::read(path, &plan.edits.get(path)?.after).ok()
    });
    let pinned = edited.flat_map(|file| file.list_pins().collect::<Vec<_>>());
    let moved = pinned.filter(|pin| pin.source == request.source && pin.commit == request.to);
    let directories = moved.map(|pin| pin.directory).collect();
    let absent =
        git::missing_kustomizations(clone, &request.to, directories).map_err(|problem| vec![problem])?;
    let problem = |directory| {
        let what = format!("`{directory}` is not there at {}", request.to.short());
        Problem::new(clone.display().to_string(), what, "check --to and --source")
    };
    let problems: Vec<_> = absent.into_iter().map(problem).collect();
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

/// The deployed files of a source at a commit.
fn read_deployed(clone: &Path, commit: &Commit, pinned: &BTreeSet<String>) -> Result<Tree, Problem> {
    git::read_files(clone, commit, &git::deployed_paths(clone, commit, pinned)?)
}

fn read_ranges(
    clone: Option<&Path>,
    plan: &Plan,
    to: &Commit,
    directories: &BTreeSet<String>,
    err: &mut impl Write,
) -> Result<Vec<Upstream>, Failure> {
    let Some(clone) = clone else { return Ok(Vec::new()) };
    let from: BTreeSet<&Commit> = plan.moves.iter().map(|step| &step.from).collect();
    let mut ranges = Vec::new();
    for from in from {
        print_progress(err, &format!("reading {}..{} from {}", from.short(), to.short(), clone.display()))?;
        ranges.push(git::read_range(clone, from, to, directories)?);
    }
    Ok(ranges)
}

/// B03: production gets a commit that staging has or had. Returns the days since then.
fn check_staged(
    tree: &Tree,
    context: &CheckContext,
    request: &Request,
    now: i64,
    findings: &mut Vec<Finding>,
) -> Option<i64> {
    let has_now = crate::bump::list_overlays(tree, &request.component, &request.rings)
        .iter()
        .filter(|overlay| overlay.environment == Environment::Staging)
        .filter_map(|overlay| {
            Kustomization::read(&overlay.kustomization, tree.get(&overlay.kustomization)?).ok()
        })
        .any(|file| file.list_pins().any(|pin| pin.source == request.source && pin.commit == request.to));
    let since = context.staged.as_ref().and_then(|history| history.get(&request.to)).copied();
    let days = since.map(|since| (now - since).max(0) / DAY);
    let short = request.to.short();
    findings.push(match (has_now, days) {
        (_, Some(days)) => Finding::note("B03", format!("staging got {short} {days} days ago")),
        (true, None) => Finding::note("B03", format!("staging has {short}, since when is not known")),
        (false, None) => {
            Finding::error("B03", format!("staging never had {short}: bump dev,staging first, or --force"))
        }
    });
    days
}

/// The files after the change.
fn apply_edits(tree: &Tree, plan: &Plan) -> Tree {
    let mut after = tree.clone();
    for (path, edit) in &plan.edits {
        after.insert(path, edit.after.clone());
    }
    after
}

/// The checks of the files after the change. Problems outside of the scope belong into another pull request.
fn check_result(tree: &Tree, context: &CheckContext, plan: &Plan, environment_configs: bool) -> Vec<Finding> {
    // A file of an overlay, or a directory of overlays in scope.
    let about = |file: &str, overlay: &str| {
        file.rsplit_once('/').is_some_and(|(at, _)| at == overlay)
            || overlay.strip_prefix(file).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let ours = |file: &str| {
        plan.edits.contains_key(file) || plan.overlays.iter().any(|overlay| about(file, &overlay.directory))
    };
    run_checks(&apply_edits(tree, plan), context)
        .into_iter()
        .filter(|finding| finding.id != "B07" || environment_configs)
        .filter_map(|finding| match (&finding.file, finding.severity) {
            (Some(file), FindingSeverity::Error) if !ours(file) => {
                Some(Finding { severity: FindingSeverity::Warning, ..finding })
            }
            (Some(file), _) if !ours(file) => None,
            _ => Some(finding),
        })
        .collect()
}

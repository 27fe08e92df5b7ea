//! Overlays of new clusters.

use crate::bump::kustomization::Kustomization;
use crate::bump::pin::is_remote;
use crate::bump::text::{self, split_lines};
use crate::bump::{
    Environment, Finding, Overlay, Problem, Rendered, Request, Tree, application_set, environment_config,
    list_overlays, render_directory,
};

/// Adds an overlay like those of its neighbours, and the cluster in the ApplicationSet. In rings all components share the lists of
/// clusters, so a finding reports the missing entry instead.
pub fn add_cluster(work: &mut Tree, request: &Request, cluster: &str) -> Result<Option<Finding>, Problem> {
    let option = |what: String, help: &str| Problem::new("--add-cluster", what, help);
    let mut environments: Vec<_> = request.scope.environments.iter().copied().collect();
    environments.retain(|environment| *environment != Environment::Development);
    let [environment] = environments[..] else {
        return Err(option(
            "a cluster is in staging or in production".to_owned(),
            "give one of them in --env",
        ));
    };
    let all = list_overlays(work, &request.component, &request.rings);
    let siblings: Vec<&Overlay> = all
        .iter()
        .filter(|overlay| overlay.environment == environment && overlay.cluster.is_some())
        .collect();
    let exists = all.iter().any(|overlay| overlay.cluster.as_deref() == Some(cluster));
    if !siblings.is_empty() && siblings.iter().all(|overlay| overlay.ring.is_some()) {
        let ring = find_ring(request, cluster)?;
        if !exists {
            let directory = format!("components/{}/rings/{ring}/{cluster}", request.component);
            let in_ring = siblings.iter().copied().filter(|overlay| overlay.ring.as_ref() == Some(&ring));
            copy_model(work, in_ring, cluster, &directory).ok_or_else(|| {
                option(
                    format!("no overlay in {ring} can be the model of one for {cluster}"),
                    "make the overlay by hand",
                )
            })?;
        }
        return Ok(unlisted_finding(work, &ring, cluster));
    }
    let Some(set) = application_set::find_application_set(work, &request.component)? else {
        let what = format!("no ApplicationSet renders components/{}", request.component);
        return Err(option(what, "check --repo and --component"));
    };
    let listed = set.elements.iter().any(|element| element.name == cluster);
    if !exists {
        let directory = format!("components/{}/{environment}/{cluster}", request.component);
        let flat = siblings.iter().copied().filter(|overlay| overlay.ring.is_none());
        copy_model(work, flat, cluster, &directory).ok_or_else(|| {
            let what = format!("no overlay in {environment} can be the model of one for {cluster}");
            option(what, "make the overlay by hand")
        })?;
    }
    if !listed {
        let text = application_set::add_element(work, &set, cluster)?;
        work.insert(&set.file, text);
    }
    Ok(None)
}

/// The ring of a cluster: the ring that lists it, else the only ring of the request.
fn find_ring(request: &Request, cluster: &str) -> Result<String, Problem> {
    let requested: Vec<String> = request
        .scope
        .rings
        .iter()
        .filter(|name| *name != "all")
        .map(|name| if name.starts_with("ring-") { name.clone() } else { format!("ring-{name}") })
        .collect();
    let listed = request.rings.ring_of(cluster).map(|ring| ring.name.clone());
    let is_other = |ring: &String| !requested.is_empty() && !requested.contains(ring);
    match (listed, &requested[..]) {
        (Some(ring), _) if is_other(&ring) => {
            let what = format!("{cluster} is in {ring}, which --ring does not name");
            Err(Problem::new("--add-cluster", what, "correct --ring, or the list of rings with --rings"))
        }
        (Some(ring), _) => Ok(ring),
        (None, [ring]) => Ok(ring.clone()),
        (None, _) => {
            let what = format!("the ring of {} is not known", text::quote_excerpt(cluster));
            Err(Problem::new("--add-cluster", what, "give one ring with --ring, or a list with --rings"))
        }
    }
}

/// The reminder that Argo CD does not know a cluster of a ring yet.
fn unlisted_finding(work: &Tree, ring: &str, cluster: &str) -> Option<Finding> {
    if application_set::lists_in_ring(work, ring, cluster) {
        return None;
    }
    let message = format!(
        "no list of clusters below argo-cd-apps has {cluster} with values.ring {ring}: add it there, or Argo CD deploys nothing"
    );
    Some(Finding::warning("B12", message))
}

/// Copies the first overlay whose copy renders the same objects except for the name. None without such an overlay.
fn copy_model<'a>(
    work: &mut Tree,
    siblings: impl Iterator<Item = &'a Overlay>,
    cluster: &str,
    directory: &str,
) -> Option<()> {
    for sibling in siblings {
        let Some(files) = copy_files(work, sibling, cluster, directory) else { continue };
        let mut copy = work.clone();
        for (path, text) in files {
            copy.insert(path, text);
        }
        let rendered = render_directory(&copy, &sibling.directory)
            .and_then(|one| Ok((one, render_directory(&copy, directory)?)));
        let Ok((model, made)) = rendered else { continue };
        let name = environment_config::find_config(&copy, &made).map(|found| found.cluster_name);
        let is_named = name.is_none_or(|name| name.as_deref() == Some(cluster));
        // Nobody knows here which objects kustomize makes of the copy.
        let is_known = made.possible_changes().chain(made.possible_additions()).next().is_none();
        if is_named && is_known && common_objects(&model) == common_objects(&made) {
            *work = copy;
            return Some(());
        }
    }
    None
}

/// The objects that clusters have in common.
fn common_objects(rendered: &Rendered) -> Vec<&serde_json::Value> {
    let objects = rendered.objects.iter();
    let is_name = |object: &&crate::bump::Object| {
        !object.has_identity(environment_config::KIND, environment_config::NAME)
    };
    objects.filter(is_name).map(|object| &object.value).collect()
}

/// The files of a sibling for another cluster: its kustomization, and patches that mention the sibling. Its EnvironmentConfig is omitted:
/// the plan adds one if the cluster needs it. None if the sibling has other files.
fn copy_files(
    work: &Tree,
    sibling: &Overlay,
    cluster: &str,
    directory: &str,
) -> Option<Vec<(String, String)>> {
    let own = sibling.cluster.as_deref()?;
    let file = Kustomization::read(&sibling.kustomization, work.get(&sibling.kustomization)?).ok()?;
    let is_shared =
        |value: &str| is_remote(value) || value.starts_with("../") || value == environment_config::FILE;
    if !file.entries.iter().all(|entry| is_shared(&entry.value)) {
        return None;
    }
    let mut files = Vec::new();
    for (path, bytes) in work.files_under(&sibling.directory) {
        let name = path.strip_prefix(&sibling.directory)?.trim_start_matches('/');
        let text = if path == sibling.kustomization {
            model_text(&file)
        } else if name == environment_config::FILE {
            continue;
        } else {
            text::utf8(path, bytes).ok().filter(|text| text.contains(own))?.to_owned()
        };
        files.push((format!("{directory}/{name}"), rename_cluster(&text, own, cluster)));
    }
    Some(files)
}

/// The text with one cluster's name replaced by another's, where it is a separate word.
fn rename_cluster(text: &str, from: &str, to: &str) -> String {
    let is_part = |character: char| character.is_alphanumeric() || character == '-';
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(from) {
        let (before, found) = rest.split_at(at);
        let after = found.get(from.len()..).unwrap_or_default();
        out.push_str(before);
        let is_word = !out.ends_with(is_part) && !after.starts_with(is_part);
        out.push_str(if is_word { to } else { from });
        rest = after;
    }
    out + rest
}

/// A sibling's kustomization without its EnvironmentConfig.
fn model_text(file: &Kustomization) -> String {
    let mut out = String::new();
    for line in split_lines(&file.text) {
        let own = file
            .entries
            .iter()
            .any(|entry| entry.line == line.number && entry.value == environment_config::FILE);
        if !own {
            out.push_str(line.text);
            out.push_str(line.end);
        }
    }
    out
}

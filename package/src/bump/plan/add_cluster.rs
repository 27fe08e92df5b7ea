//! A cluster that had no overlay.

use crate::bump::kustomization::Kustomization;
use crate::bump::pin::is_remote;
use crate::bump::text::lines;
use crate::bump::{Environment, Problem, Request, Tree, application_set, environment_config, overlays};

/// An overlay like those of its neighbours, and the cluster in the ApplicationSet.
pub fn add_cluster(work: &mut Tree, request: &Request, cluster: &str) -> Result<(), Problem> {
    let option = |what: String, help: &str| Problem::new("--add-cluster", what, help);
    let mut environments: Vec<_> = request.scope.environments.iter().copied().collect();
    environments.retain(|environment| *environment != Environment::Development);
    let [environment] = environments[..] else {
        return Err(option(
            "a cluster is in staging or in production".to_owned(),
            "give one of them in --env",
        ));
    };
    let all = overlays(work, &request.component, &request.rings);
    let Some(set) = application_set::of_component(work, &request.component)? else {
        let what = format!("no ApplicationSet renders components/{}", request.component);
        return Err(option(what, "check --repo and --component"));
    };
    let listed = set.elements.iter().any(|element| element.name == cluster);
    if !all.iter().any(|overlay| overlay.cluster.as_deref() == Some(cluster)) {
        let sibling = all.iter().find_map(|overlay| {
            overlay
                .cluster
                .as_ref()
                .filter(|_| overlay.environment == environment && overlay.ring.is_none())?;
            let file = Kustomization::read(&overlay.kustomization, work.get(&overlay.kustomization)?).ok()?;
            // One with files of its own cannot be copied.
            let plain = file.entries.iter().all(|entry| {
                is_remote(&entry.value)
                    || entry.value.starts_with("../")
                    || entry.value == environment_config::FILE
            });
            plain.then_some((overlay, file))
        });
        let Some((overlay, file)) = sibling else {
            let what = format!("no overlay in {environment} can be the model of one for {cluster}");
            return Err(option(what, "make the overlay by hand"));
        };
        let directory = format!("components/{}/{environment}/{cluster}", request.component);
        let name = overlay.kustomization.rsplit('/').next().unwrap_or("kustomization.yaml");
        work.insert(format!("{directory}/{name}"), model(&file));
    }
    if !listed {
        let text = application_set::with(work, &set, cluster)?;
        work.insert(&set.file, text);
    }
    Ok(())
}

/// A sibling's kustomization without its EnvironmentConfig, which is made for the cluster where it is needed.
fn model(file: &Kustomization) -> String {
    let mut out = String::new();
    for line in lines(&file.text) {
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

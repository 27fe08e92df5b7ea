//! Where the kubeconfigs of a campaign's clusters have to lie, and that they lie nowhere else.

use super::{
    checker::{Invariant, Violation, cluster_of},
    plan::End,
    world::{Expected, World, name},
};
use crate::{
    actors::Fulfilled,
    cluster::{At, at},
    crossplane::Engine,
    hive::{
        objects::{text, token},
        offer,
    },
    hub,
    kinds::SECRET,
    search::{Found, Marks, Place, places},
};
use testplatform_apis::names::ci_operator;

const KEY: &str = "kubeconfig";

/// Looks everywhere.
pub async fn judge(engine: &Engine, world: &World, lives: &[Expected]) -> anyhow::Result<Vec<Violation>> {
    let found = places::find(engine, &marks(world, lives)?).await?;
    Ok(compare(found, world, lives))
}

/// One for each job, and one for each of Hive's clusters.
fn marks(world: &World, lives: &[Expected]) -> anyhow::Result<Marks> {
    let jobs = lives.iter().map(|life| (life.namespace.clone(), life.token.clone()));
    let clusters = world.installed().into_iter().map(|cluster| (of_cluster(&cluster), token(&cluster)));
    Marks::new(jobs.chain(clusters))
}

fn of_cluster(cluster: &str) -> String {
    format!("the kubeconfig of cluster {cluster}")
}

/// What etcd has on its disk is exempt.
pub(super) fn compare(mut found: Found, world: &World, lives: &[Expected]) -> Vec<Violation> {
    for places in found.values_mut() {
        places.retain(|place| !matches!(place, Place::Etcd(_)));
    }
    let mut expected: Vec<(String, Vec<Place>)> = Vec::new();
    for cluster in world.installed() {
        let source = at(SECRET, &cluster, "0-admin-kubeconfig");
        let places = [KEY, "raw-kubeconfig"].map(|key| Place::secret("hub", &source, key));
        expected.push((of_cluster(&cluster), places.to_vec()));
    }
    for life in lives.iter().filter(|life| life.end == End::Stays) {
        expected.extend(delivered(world, life));
    }
    let expected: Vec<(&str, Vec<Place>)> =
        expected.iter().map(|(name, places)| (name.as_str(), places.clone())).collect();
    let words = places::differences(&found, &expected);
    words.into_iter().map(|words| Violation { of: Invariant::Places, words }).collect()
}

/// The places of a living cluster's kubeconfig on its way to the tenant.
fn delivered(world: &World, life: &Expected) -> Option<(String, Vec<Place>)> {
    let composite = *world.composites_of(life).first()?;
    let called = name(composite);
    let wanted = |field: &str| text(composite, &format!("/spec/writeConnectionSecretToRef/{field}"));
    let published = |namespace: &str| at(SECRET, namespace, &format!("{called}-credentials"));
    let on_konflux = [
        at(SECRET, "crossplane-connections", &format!("credentials-{called}")),
        at(SECRET, wanted("namespace"), wanted("name")),
        life.secret_at(),
    ];
    let mut places: Vec<Place> = on_konflux.iter().map(|at| Place::secret("konflux", at, KEY)).collect();
    let mut on_hub = |at: &At| places.push(Place::secret("hub", at, KEY));
    let mark = match life.by {
        Fulfilled::ByHive => {
            on_hub(&published(offer::CREDENTIALS));
            of_cluster(name(cluster_of(world, called)?))
        }
        Fulfilled::ByProvider
        | Fulfilled::ByActor
        | Fulfilled::ByActorAlone
        | Fulfilled::ByHyperShift
        | Fulfilled::ByClusterApi
        | Fulfilled::ByOsac
        | Fulfilled::ByCaas => {
            on_hub(&published(hub::NAMESPACE));
            let job = world.job(called)?;
            on_hub(&at(SECRET, &format!("ci-op-{:.8}", name(job)), ci_operator::TEST));
            life.namespace.clone()
        }
    };
    Some((mark, places))
}

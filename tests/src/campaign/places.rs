//! Where the kubeconfigs and passwords of a campaign's clusters have to lie, and that they lie nowhere else.

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
        objects::{self, text},
        offer,
    },
    hub,
    kinds::SECRET,
    search::{Found, Marks, Place, places},
};
use testplatform_apis::names::ci_operator;

/// Kinds of secrets of a cluster.
#[derive(Clone, Copy)]
enum Credential {
    Kubeconfig,
    Password,
}

impl Credential {
    const BOTH: [Self; 2] = [Self::Kubeconfig, Self::Password];

    fn named(self, of: &str) -> String {
        match self {
            Self::Kubeconfig => format!("the kubeconfig of {of}"),
            Self::Password => format!("the password of {of}"),
        }
    }

    /// Its key in what is published, and on the way from there to the tenant.
    const fn key(self) -> &'static str {
        match self {
            Self::Kubeconfig => "kubeconfig",
            Self::Password => "kubeAdminPassword",
        }
    }

    /// Its key in what a job leaves.
    const fn key_of_job(self) -> &'static str {
        match self {
            Self::Kubeconfig => "kubeconfig",
            Self::Password => "kubeadmin-password",
        }
    }

    /// Where it lies in the namespace of one of Hive's clusters.
    fn of_hive(self, cluster: &str) -> Vec<Place> {
        let (secret, keys): (_, &[&str]) = match self {
            Self::Kubeconfig => ("0-admin-kubeconfig", &["kubeconfig", "raw-kubeconfig"]),
            Self::Password => ("0-admin-password", &["password"]),
        };
        let source = at(SECRET, cluster, secret);
        keys.iter().map(|key| Place::secret("hub", &source, key)).collect()
    }
}

/// Looks everywhere.
pub async fn judge(engine: &Engine, world: &World, lives: &[Expected]) -> anyhow::Result<Vec<Violation>> {
    let found = places::find(engine, &marks(world, lives)?).await?;
    Ok(compare(found, world, lives))
}

/// Two for each job, and two for each of Hive's clusters.
fn marks(world: &World, lives: &[Expected]) -> anyhow::Result<Marks> {
    Marks::new(secrets(world, lives))
}

/// Everything that is secret, by its name.
pub(super) fn secrets(world: &World, lives: &[Expected]) -> Vec<(String, String)> {
    let jobs = lives.iter().map(|life| (life.namespace.clone(), [life.token.clone(), life.password.clone()]));
    let installed = world.installed().into_iter();
    let clusters = installed.map(|cluster| {
        (of_cluster(&cluster), [objects::token, objects::password].map(|secret| secret(&cluster)))
    });
    let named = |(of, secrets): (String, [String; 2])| {
        let names = Credential::BOTH.map(|credential| credential.named(&of));
        names.into_iter().zip(secrets)
    };
    jobs.chain(clusters).flat_map(named).collect()
}

fn of_cluster(cluster: &str) -> String {
    format!("cluster {cluster}")
}

/// Copies in etcd's files on disk are exempt.
pub(super) fn compare(mut found: Found, world: &World, lives: &[Expected]) -> Vec<Violation> {
    for places in found.values_mut() {
        places.retain(|place| !matches!(place, Place::Etcd(_)));
    }
    let mut expected: Vec<(String, Vec<Place>)> = Vec::new();
    for credential in Credential::BOTH {
        for cluster in world.installed() {
            expected.push((credential.named(&of_cluster(&cluster)), credential.of_hive(&cluster)));
        }
        for life in lives.iter().filter(|life| life.end == End::Stays) {
            expected.extend(delivered(world, life, credential));
        }
    }
    let expected: Vec<(&str, Vec<Place>)> =
        expected.iter().map(|(name, places)| (name.as_str(), places.clone())).collect();
    let words = places::differences(&found, &expected);
    words.into_iter().map(|words| Violation { of: Invariant::Places, words }).collect()
}

/// The places of something of a living cluster on its way to the tenant.
fn delivered(world: &World, life: &Expected, credential: Credential) -> Option<(String, Vec<Place>)> {
    let composite = *world.composites_of(life).first()?;
    let called = name(composite);
    let wanted = |field: &str| text(composite, &format!("/spec/writeConnectionSecretToRef/{field}"));
    let published = |namespace: &str| at(SECRET, namespace, &format!("{called}-credentials"));
    let on_konflux = [
        at(SECRET, "crossplane-connections", &format!("credentials-{called}")),
        at(SECRET, wanted("namespace"), wanted("name")),
        life.secret_at(),
    ];
    let key = credential.key();
    let mut places: Vec<Place> = on_konflux.iter().map(|at| Place::secret("konflux", at, key)).collect();
    let mut on_hub = |at: &At, key: &str| places.push(Place::secret("hub", at, key));
    let of = match life.by {
        Fulfilled::ByHive => {
            on_hub(&published(offer::CREDENTIALS), key);
            of_cluster(name(cluster_of(world, called)?))
        }
        Fulfilled::ByProvider
        | Fulfilled::ByActor
        | Fulfilled::ByActorAlone
        | Fulfilled::ByHyperShift
        | Fulfilled::ByClusterApi
        | Fulfilled::ByOsac
        | Fulfilled::ByCaas => {
            on_hub(&published(hub::NAMESPACE), key);
            let job = world.job(called)?;
            let left = at(SECRET, &format!("ci-op-{:.8}", name(job)), ci_operator::TEST);
            on_hub(&left, credential.key_of_job());
            life.namespace.clone()
        }
    };
    Some((credential.named(&of), places))
}

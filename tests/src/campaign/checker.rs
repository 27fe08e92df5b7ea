//! Compares a world that has come to rest with the design's invariants. Pure: what is there in, what is wrong out.

use std::{collections::BTreeMap, fmt};

use serde_json::Value;

use super::{
    plan::End,
    world::{Expected, World, find, for_cluster, name, namespace},
};
use crate::{
    actors::Fulfilled,
    cluster::{condition, has},
    hive::{
        objects::{self, text},
        offer,
    },
    hub,
    tenant::decoded,
};

/// Invariants of a campaign.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Invariant {
    /// For one claim there was one remote object, and one job.
    OneCluster,
    /// A cluster whose end nobody asked for lives, and is the same.
    LiveClusters,
    /// Whoever is to have credentials has the right ones, and nobody has those of what is over.
    Credentials,
    /// Secrets lie where the design says.
    Places,
    /// Every object on the hub, or behind a claim, belongs to a claim.
    NoLeak,
    /// Nothing that is to go stays.
    NothingStuck,
    /// A claim says of itself what is the case.
    Conditions,
    /// Promises about every moment held.
    AllAlong,
    /// Our programs end only when they are told to, or have lost their Lease.
    Programs,
}

/// Something that does not hold.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Violation {
    /// What.
    pub of: Invariant,
    /// How it is seen.
    pub words: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.of, self.words)
    }
}

struct Judgement(Vec<Violation>);

impl Judgement {
    fn require(&mut self, holds: bool, of: Invariant, words: impl FnOnce() -> String) {
        if !holds {
            self.0.push(Violation { of, words: words() });
        }
    }
}

/// The conditions of a claim whose cluster lives.
const ALIVE: [&str; 6] =
    ["Synced", "Ready", "ClusterReady", "CredentialsPublished", "RequestAccepted", "RemoteConsistent"];
/// The states of a job that runs or will.
const ACTIVE: [&str; 3] = ["scheduling", "triggered", "pending"];

/// Everything but the places of secrets.
pub fn judge(world: &World, lives: &[Expected]) -> Vec<Violation> {
    let mut judgement = Judgement(Vec::new());
    for life in lives {
        judge_life(&mut judgement, world, life);
    }
    judge_jobs(&mut judgement, world);
    judge_leaks(&mut judgement, world);
    judge_stuck(&mut judgement, world);
    judgement.0
}

fn judge_life(judgement: &mut Judgement, world: &World, life: &Expected) {
    let who = format!("{}/{}", life.namespace, life.name);
    let composites = world.composites_of(life);
    let count = composites.len();
    judgement.require(count <= 1, Invariant::OneCluster, || format!("{who} has {count} composites"));
    let (claim, composite) = (world.claim(life), composites.first().map_or("", |composite| name(composite)));
    let over = |judgement: &mut Judgement, phase: &str| {
        let is = claim.is_some_and(|claim| claim["status"]["phase"] == phase);
        judgement.require(is, Invariant::Conditions, || format!("{who} is not {phase} but {}", said(claim)));
        let done = claim.is_some_and(|claim| {
            has(claim, "ProwJobCompleted", "True", "") && has(claim, "ClusterReady", "False", "")
        });
        judgement.require(done, Invariant::Conditions, || {
            format!("{who} does not say that it is over: {}", said(claim))
        });
        let empty = world.secret(life).is_none_or(|secret| decoded(secret).values().all(String::is_empty));
        judgement.require(empty, Invariant::Credentials, || format!("{who} is over and has credentials"));
        judgement.require(!costs(world, composite), Invariant::NoLeak, || {
            format!("{who} is over and costs money")
        });
    };
    match life.end {
        End::Stays => judge_alive(judgement, world, life, composite),
        End::TornDown => over(judgement, "Deprovisioned"),
        End::Fails => over(judgement, "Failed"),
        End::Deleted | End::TornDownAndDeleted => {
            let left = [
                ("claim", claim.is_some()),
                ("composite", count > 0),
                ("Secret", world.secret(life).is_some()),
            ];
            for (what, there) in left {
                judgement.require(!there, Invariant::NothingStuck, || {
                    format!("{who} was deleted, and its {what} is there")
                });
            }
        }
    }
}

fn judge_alive(judgement: &mut Judgement, world: &World, life: &Expected, composite: &str) {
    let who = format!("{}/{}", life.namespace, life.name);
    let Some(claim) = world.claim(life) else {
        return judgement.require(false, Invariant::LiveClusters, || format!("the claim {who} is gone"));
    };
    let ready =
        claim["status"]["phase"] == "Ready" && ALIVE.iter().all(|type_| has(claim, type_, "True", ""));
    judgement.require(ready, Invariant::Conditions, || {
        format!("{who} lives and says otherwise: {}", said(Some(claim)))
    });
    let [token, password] = credentials_of(world, life, composite);
    let secret = world.secret(life).map(decoded).unwrap_or_default();
    let has_it = secret.get("kubeconfig").is_some_and(|is| !token.is_empty() && is.contains(&token));
    judgement
        .require(has_it, Invariant::Credentials, || format!("{who} has not the kubeconfig of its cluster"));
    let has_it = secret.get("kubeAdminPassword").is_some_and(|is| !password.is_empty() && *is == password);
    judgement
        .require(has_it, Invariant::Credentials, || format!("{who} has not the password of its cluster"));
    let lives = match life.by {
        Fulfilled::ByHive => cluster_of(world, composite).is_some_and(|cluster| {
            cluster["metadata"]["deletionTimestamp"].is_null() && cluster["status"]["powerState"] == "Running"
        }),
        Fulfilled::ByProvider
        | Fulfilled::ByActor
        | Fulfilled::ByActorAlone
        | Fulfilled::ByHyperShift
        | Fulfilled::ByClusterApi
        | Fulfilled::ByOsac
        | Fulfilled::ByCaas => {
            let job = world.job(composite);
            let runs = job.is_some_and(|job| job["status"]["state"] == "pending");
            runs && find(&world.ephemeral_clusters, hub::NAMESPACE, composite)
                .is_some_and(|ec| ec["spec"]["tearDownCluster"] != true)
        }
    };
    judgement.require(lives, Invariant::LiveClusters, || {
        format!("teardown was not requested of {who}, and it does not live")
    });
}

/// Secrets of a composite's cluster: the token in its kubeconfig, and its password.
fn credentials_of(world: &World, life: &Expected, composite: &str) -> [String; 2] {
    match life.by {
        Fulfilled::ByHive => cluster_of(world, composite)
            .map(|cluster| [objects::token, objects::password].map(|of| of(name(cluster))))
            .unwrap_or_default(),
        Fulfilled::ByProvider
        | Fulfilled::ByActor
        | Fulfilled::ByActorAlone
        | Fulfilled::ByHyperShift
        | Fulfilled::ByClusterApi
        | Fulfilled::ByOsac
        | Fulfilled::ByCaas => [life.token.clone(), life.password.clone()],
    }
}

/// The cluster of Hive's that is given to a composite's claim.
pub fn cluster_of<'w>(world: &'w World, composite: &str) -> Option<&'w Value> {
    let claim = find(&world.cluster_claims, offer::POOLS, composite)?;
    let given = text(claim, "/spec/namespace");
    let cluster = find(&world.clusters, given, given)?;
    (text(cluster, "/spec/clusterPoolRef/claimName") == composite).then_some(cluster)
}

/// `true` if the hub has something of a composite that incurs cost.
fn costs(world: &World, composite: &str) -> bool {
    let runs = world.job(composite).is_some_and(active);
    let claimed = world.clusters.iter().any(|c| text(c, "/spec/clusterPoolRef/claimName") == composite);
    !composite.is_empty() && (runs || claimed)
}

fn active(job: &Value) -> bool {
    ACTIVE.contains(&text(job, "/status/state"))
}

fn judge_jobs(judgement: &mut Judgement, world: &World) {
    let mut jobs = BTreeMap::<&str, usize>::new();
    for job in &world.jobs {
        *jobs.entry(for_cluster(job)).or_default() += 1;
    }
    for (of, count) in jobs {
        judgement.require(count == 1, Invariant::OneCluster, || {
            format!("{count} jobs were made for EphemeralCluster {of}")
        });
    }
}

fn judge_leaks(judgement: &mut Judgement, world: &World) {
    let composite = |called: &str| find(&world.composites, "", called).is_some();
    let label = |object: &Value, label: &str| {
        object["metadata"]["labels"][label].as_str().unwrap_or_default().to_owned()
    };
    let mut belongs = |what: &str, object: &Value, is: bool| {
        let words = || format!("{what} {}/{} belongs to nothing", namespace(object), name(object));
        judgement.require(is, Invariant::NoLeak, words);
    };
    for object in &world.composites {
        let of = label(object, "crossplane.io/claim-namespace");
        let claim = find(&world.claims, &of, &label(object, "crossplane.io/claim-name"));
        belongs("composite", object, claim.is_some());
    }
    for object in &world.objects {
        belongs("Object", object, composite(&label(object, "crossplane.io/composite")));
    }
    for object in &world.ephemeral_clusters {
        belongs("EphemeralCluster", object, composite(name(object)));
    }
    for object in &world.cluster_claims {
        belongs("ClusterClaim", object, composite(name(object)));
    }
    for job in world.jobs.iter().filter(|job| active(job)) {
        let owner = find(&world.ephemeral_clusters, hub::NAMESPACE, for_cluster(job));
        belongs("the running ProwJob", job, owner.is_some());
    }
    for cluster in &world.clusters {
        let of = text(cluster, "/spec/clusterPoolRef/claimName");
        let claim = find(&world.cluster_claims, offer::POOLS, of);
        belongs("the claimed cluster", cluster, of.is_empty() || claim.is_some());
    }
    for secret in &world.secrets_of_hub {
        let Some(of) = name(secret).strip_suffix("-credentials") else { continue };
        let owner = match namespace(secret) {
            hub::NAMESPACE => find(&world.ephemeral_clusters, hub::NAMESPACE, of),
            offer::CREDENTIALS => find(&world.cluster_claims, offer::POOLS, of),
            _ => continue,
        };
        belongs("the published Secret", secret, owner.is_some());
    }
    for secret in &world.secrets {
        let of = name(secret)
            .strip_prefix("credentials-")
            .filter(|_| namespace(secret) == "crossplane-connections");
        belongs("the connection Secret", secret, of.is_none_or(composite));
    }
}

/// The composites whose claims are gone, and that nobody ends.
pub fn orphans(world: &World) -> Vec<&Value> {
    let label = |composite: &Value, label: &str| {
        composite["metadata"]["labels"][label].as_str().unwrap_or_default().to_owned()
    };
    let orphaned = |composite: &&Value| {
        let of = label(composite, "crossplane.io/claim-namespace");
        composite["metadata"]["deletionTimestamp"].is_null()
            && find(&world.claims, &of, &label(composite, "crossplane.io/claim-name")).is_none()
    };
    world.composites.iter().filter(orphaned).collect()
}

fn judge_stuck(judgement: &mut Judgement, world: &World) {
    let all = [
        &world.claims,
        &world.composites,
        &world.objects,
        &world.secrets,
        &world.namespaces,
        &world.ephemeral_clusters,
        &world.jobs,
        &world.cluster_claims,
        &world.clusters,
        &world.secrets_of_hub,
    ];
    for object in
        all.into_iter().flatten().filter(|object| object["metadata"]["deletionTimestamp"].is_string())
    {
        let finalizers = &object["metadata"]["finalizers"];
        judgement.require(false, Invariant::NothingStuck, || {
            format!("{} {}/{} does not go; {finalizers}", object["kind"], namespace(object), name(object))
        });
    }
}

/// One line on a claim's conditions.
fn said(claim: Option<&Value>) -> String {
    let Some(claim) = claim else { return "not there".to_owned() };
    let word = |type_: &&str| {
        let [status, reason] = ["status", "reason"].map(|field| {
            condition(claim, type_).map_or("-", |c| c[field].as_str().unwrap_or("-")).to_owned()
        });
        format!("{type_}={status}/{reason}")
    };
    let conditions: Vec<String> = ALIVE.iter().chain(&["ProwJobCompleted"]).map(word).collect();
    format!("{} ({}) {}", claim["status"]["phase"], claim["status"]["message"], conditions.join(" "))
}

#[cfg(test)]
mod tests;

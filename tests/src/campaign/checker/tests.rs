//! A sound world is found sound, and each way to break it is noticed by the invariant that it breaks.

use std::collections::BTreeSet;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::json;
use testplatform_apis::names::ephemeral_cluster::LABEL;

use super::*;
use crate::{
    campaign::places,
    cluster::at,
    hive::objects::{kubeconfig, password, token},
    kinds::SECRET,
    search::{Found, Place},
};

const TOKEN: &str = "0123456789abcdef-of-a-job";
const PASSWORD: &str = "a-password-of-a-job-0123456789";
const CLUSTER: &str = "pool-1";

fn life(namespace: &str, by: Fulfilled, end: End) -> Expected {
    let text = str::to_owned;
    let [token, password] = [TOKEN, PASSWORD].map(text);
    Expected { namespace: text(namespace), name: text("x"), by, end, token, password }
}

fn lives() -> Vec<Expected> {
    vec![
        life("job", Fulfilled::ByProvider, End::Stays),
        life("pool", Fulfilled::ByHive, End::Stays),
        life("over", Fulfilled::ByProvider, End::TornDown),
        life("gone", Fulfilled::ByProvider, End::Deleted),
    ]
}

fn object(namespace: &str, name: &str) -> Value {
    json!({ "metadata": { "namespace": namespace, "name": name } })
}

fn claim(namespace: &str, phase: &str, conditions: &[(&str, &str)]) -> Value {
    let conditions: Vec<Value> = conditions
        .iter()
        .map(|(type_, status)| json!({ "type": type_, "status": status, "reason": "X" }))
        .collect();
    let mut claim = object(namespace, "x");
    claim["status"] = json!({ "phase": phase, "conditions": conditions });
    claim
}

fn composite(name: &str, of: &str) -> Value {
    json!({
        "metadata": { "name": name, "labels": {
            "crossplane.io/claim-namespace": of, "crossplane.io/claim-name": "x",
        } },
        "spec": { "writeConnectionSecretToRef": { "namespace": "crossplane-connections", "name": format!("{name}-uid") } },
    })
}

fn secret(namespace: &str, kubeconfig: &str, password: &str) -> Value {
    let mut secret = object(namespace, "x-kubeconfig");
    let encoded = |text: &str| BASE64_STANDARD.encode(text);
    secret["data"] = json!({ "kubeconfig": encoded(kubeconfig), "kubeAdminPassword": encoded(password) });
    secret
}

fn job(name: &str, of: &str, state: &str) -> Value {
    let mut job = object("ci", name);
    job["metadata"]["labels"] = json!({ LABEL: of });
    job["status"] = json!({ "state": state });
    job
}

fn world() -> World {
    let alive: Vec<(&str, &str)> = ALIVE.iter().map(|type_| (*type_, "True")).collect();
    let over = [("ProwJobCompleted", "True"), ("ClusterReady", "False")];
    let mut given = object(offer::POOLS, "pool-xr");
    given["spec"] = json!({ "namespace": CLUSTER });
    let mut cluster = object(CLUSTER, CLUSTER);
    cluster["spec"] = json!({ "clusterPoolRef": { "claimName": "pool-xr" } });
    cluster["status"] = json!({ "powerState": "Running" });
    World {
        claims: vec![
            claim("job", "Ready", &alive),
            claim("pool", "Ready", &alive),
            claim("over", "Deprovisioned", &over),
        ],
        composites: vec![
            composite("job-xr", "job"),
            composite("pool-xr", "pool"),
            composite("over-xr", "over"),
        ],
        objects: vec![],
        secrets: vec![
            secret("job", &kubeconfig("job", TOKEN), PASSWORD),
            secret("pool", &kubeconfig("pool", &token(CLUSTER)), &password(CLUSTER)),
            secret("over", "", ""),
        ],
        namespaces: vec![],
        ephemeral_clusters: vec![object(hub::NAMESPACE, "job-xr"), object(hub::NAMESPACE, "over-xr")],
        jobs: vec![
            job("12345678-1", "job-xr", "pending"),
            job("2", "over-xr", "success"),
            job("3", "gone-xr", "success"),
        ],
        cluster_claims: vec![given],
        clusters: vec![cluster],
        secrets_of_hub: vec![
            object(hub::NAMESPACE, "job-xr-credentials"),
            object(offer::CREDENTIALS, "pool-xr-credentials"),
            object(CLUSTER, "0-admin-kubeconfig"),
        ],
    }
}

type Break<'a> = &'a dyn Fn(&mut World);

/// Violations of a world that is broken in one way.
fn broken(break_it: impl FnOnce(&mut World)) -> Vec<Invariant> {
    let mut world = world();
    break_it(&mut world);
    let mut noticed: Vec<Invariant> =
        judge(&world, &lives()).into_iter().map(|violation| violation.of).collect();
    noticed.sort_unstable();
    noticed.dedup();
    noticed
}

#[test]
fn a_sound_world_is_sound() {
    assert_eq!(judge(&world(), &lives()), []);
}

#[test]
fn a_second_cluster_is_noticed() {
    assert_eq!(broken(|w| w.jobs.push(job("4", "job-xr", "success"))), [Invariant::OneCluster]);
    assert_eq!(broken(|w| w.composites.push(composite("second", "job"))), [Invariant::OneCluster]);
}

#[test]
fn a_live_cluster_that_went_is_noticed() {
    assert_eq!(broken(|w| w.jobs[0]["status"]["state"] = "success".into()), [Invariant::LiveClusters]);
    assert_eq!(
        broken(|w| w.ephemeral_clusters[0]["spec"] = json!({ "tearDownCluster": true })),
        [Invariant::LiveClusters]
    );
    assert_eq!(broken(|w| w.clusters[0]["status"] = json!({})), [Invariant::LiveClusters]);
    assert!(broken(|w| drop(w.claims.remove(0))).contains(&Invariant::LiveClusters));
}

#[test]
fn wrong_credentials_are_noticed() {
    let credentials = |number: usize, kubeconfig: &str, password: &str| {
        let of = ["job", "pool", "over"][number];
        broken(|w| w.secrets[number] = secret(of, kubeconfig, password))
    };
    let [of_job, of_pool] = [kubeconfig("job", TOKEN), kubeconfig("pool", &token(CLUSTER))];
    let another = kubeconfig("job", "of-another-claims-cluster");
    assert_eq!(credentials(0, &another, PASSWORD), [Invariant::Credentials]);
    assert_eq!(credentials(0, &of_job, "of-another-claims-cluster"), [Invariant::Credentials]);
    assert_eq!(credentials(0, &of_job, ""), [Invariant::Credentials]);
    assert_eq!(credentials(1, "", &password(CLUSTER)), [Invariant::Credentials]);
    assert_eq!(credentials(1, &of_pool, PASSWORD), [Invariant::Credentials]);
    assert_eq!(credentials(2, "left", ""), [Invariant::Credentials]);
    assert_eq!(credentials(2, "", "left"), [Invariant::Credentials]);
    let without =
        |w: &mut World| w.secrets[0]["data"] = json!({ "kubeconfig": BASE64_STANDARD.encode(&of_job) });
    assert_eq!(broken(without), [Invariant::Credentials]);
}

#[test]
fn leaks_are_noticed() {
    let object_of_nobody =
        json!({ "metadata": { "name": "managed-y", "labels": { "crossplane.io/composite": "y" } } });
    let mut claimed = object("pool-2", "pool-2");
    claimed["spec"] = json!({ "clusterPoolRef": { "claimName": "y" } });
    let leaks: [(&str, Break); 9] = [
        ("EphemeralCluster", &|w| w.ephemeral_clusters.push(object(hub::NAMESPACE, "y"))),
        ("ClusterClaim", &|w| w.cluster_claims.push(object(offer::POOLS, "y"))),
        ("job", &|w| w.jobs.push(job("4", "y", "pending"))),
        ("cluster", &|w| w.clusters.push(claimed.clone())),
        ("Object", &|w| w.objects.push(object_of_nobody.clone())),
        ("composite", &|w| w.composites.push(composite("y", "y"))),
        ("published", &|w| w.secrets_of_hub.push(object(hub::NAMESPACE, "y-credentials"))),
        ("published of a pool", &|w| w.secrets_of_hub.push(object(offer::CREDENTIALS, "y-credentials"))),
        ("connection", &|w| w.secrets.push(object("crossplane-connections", "credentials-y"))),
    ];
    for (what, leak) in leaks {
        assert_eq!(broken(leak), [Invariant::NoLeak], "{what}");
    }
    assert_eq!(broken(|w| w.jobs[1]["status"]["state"] = "pending".into()), [Invariant::NoLeak]);
}

#[test]
fn who_lost_a_claim_is_known() {
    let mut world = world();
    assert!(orphans(&world).is_empty());
    world.composites.push(composite("y", "gone"));
    assert_eq!(orphans(&world), [&composite("y", "gone")]);
    world.composites[3]["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
    assert!(orphans(&world).is_empty());
}

#[test]
fn what_does_not_go_is_noticed() {
    let dying = |w: &mut World| {
        w.ephemeral_clusters[0]["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
    };
    assert_eq!(broken(dying), [Invariant::NothingStuck]);
    let mut gone = claim("gone", "Ready", &[]);
    assert_eq!(broken(|w| w.claims.push(gone.clone())), [Invariant::NothingStuck]);
    gone["metadata"]["name"] = "x-kubeconfig".into();
    assert_eq!(broken(|w| w.secrets.push(gone)), [Invariant::NothingStuck]);
}

#[test]
fn what_a_claim_says_wrongly_is_noticed() {
    for (number, type_) in ALIVE.iter().enumerate() {
        let unsaid = |w: &mut World| w.claims[0]["status"]["conditions"][number]["status"] = "False".into();
        assert_eq!(broken(unsaid), [Invariant::Conditions], "{type_}");
    }
    assert_eq!(broken(|w| w.claims[1]["status"]["phase"] = "Degraded".into()), [Invariant::Conditions]);
    assert_eq!(broken(|w| w.claims[2]["status"]["phase"] = "Deprovisioning".into()), [Invariant::Conditions]);
}

/// Every place that has to be there, and none that must not.
#[test]
fn secrets_out_of_place_are_noticed() {
    let place = |plane: &str, namespace: &str, name: &str, key: &str| {
        Place::secret(plane, &at(SECRET, namespace, name), key)
    };
    let delivered = |namespace: &str, name: &str, key: &str| {
        vec![
            place("konflux", "crossplane-connections", &format!("credentials-{name}"), key),
            place("konflux", "crossplane-connections", &format!("{name}-uid"), key),
            place("konflux", namespace, "x-kubeconfig", key),
        ]
    };
    let mut sound = Found::new();
    for (what, key, left) in
        [("kubeconfig", "kubeconfig", "kubeconfig"), ("password", "kubeAdminPassword", "kubeadmin-password")]
    {
        let mut of_job = delivered("job", "job-xr", key);
        of_job.push(place("hub", hub::NAMESPACE, "job-xr-credentials", key));
        of_job.push(place("hub", "ci-op-12345678", "cluster-provisioning", left));
        sound.insert(format!("the {what} of job"), of_job.into_iter().collect());
        let mut of_pool = delivered("pool", "pool-xr", key);
        of_pool.push(place("hub", offer::CREDENTIALS, "pool-xr-credentials", key));
        sound.insert(format!("the {what} of cluster {CLUSTER}"), of_pool.into_iter().collect());
    }
    let installed = [
        ("kubeconfig", "0-admin-kubeconfig", "kubeconfig"),
        ("kubeconfig", "0-admin-kubeconfig", "raw-kubeconfig"),
        ("password", "0-admin-password", "password"),
    ];
    for (what, name, key) in installed {
        let of = format!("the {what} of cluster {CLUSTER}");
        sound.entry(of).or_default().insert(place("hub", CLUSTER, name, key));
    }
    assert_eq!(places::compare(sound.clone(), &world(), &lives()), []);

    let mut exempt = sound.clone();
    let of_over = "the password of over";
    exempt.entry(of_over.into()).or_default().insert(Place::Etcd("hub".into()));
    assert_eq!(places::compare(exempt, &world(), &lives()), []);
    let mut leaked = sound.clone();
    leaked.entry(of_over.into()).or_default().insert(Place::Elsewhere("engine: file provider.log".into()));
    assert_eq!(places::compare(leaked, &world(), &lives()).len(), 1);
    for what in ["kubeconfig", "password"] {
        let mut missing = sound.clone();
        missing.remove(&format!("the {what} of job"));
        assert_eq!(places::compare(missing, &world(), &lives()).len(), 5);
    }
}

/// The search can find only the secrets that it is given.
#[test]
fn kubeconfigs_and_passwords_of_all_are_looked_for() {
    let secrets = places::secrets(&world(), &lives());
    let names: BTreeSet<&str> = secrets.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names.len(), 2 * (lives().len() + world().installed().len()));
    for (name, secret) in [
        ("the kubeconfig of job", TOKEN.to_owned()),
        ("the password of job", PASSWORD.to_owned()),
        ("the kubeconfig of cluster pool-1", token(CLUSTER)),
        ("the password of cluster pool-1", password(CLUSTER)),
    ] {
        assert!(secrets.contains(&(name.to_owned(), secret)), "{name}");
    }
}

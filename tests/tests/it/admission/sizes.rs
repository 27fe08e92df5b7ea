//! How large claims and TestClusters may be: on a real API server, with the policies that we ship and the rights that everybody has.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use testplatform_tests::{
    binaries::Binaries,
    cluster::{Cluster, SOON},
    control_plane::ControlPlane,
    manifests, patience,
};

use super::crossplane_fields::{
    people::People,
    written::{CLAIMS, TEST_CLUSTERS, Written},
};

/// The most that the policies take, in characters.
const MOST: usize = 512 << 10;

fn long(characters: usize) -> Value {
    json!({ "ciOperator": { "note": "ä".repeat(characters) } })
}

/// Texts, numbers, names, and lists in lists, each of more than a spec may have in all.
fn large_ones() -> [Value; 4] {
    let names: serde_json::Map<String, Value> =
        (0..40_000).map(|i| (format!("a-long-name-{i}"), json!(1))).collect();
    [
        long(MOST),
        json!({ "parameters": { "numbers": vec![1; 400_000] } }),
        json!({ "parameters": { "names": names } }),
        json!({ "parameters": { "lists": vec![json!([[[["xxxxxxxx"]]]]); 40_000] } }),
    ]
}

fn refused<T>(outcome: kube::Result<T>, what: &str) -> anyhow::Result<()> {
    let said = outcome.err().with_context(|| format!("{what} is taken"))?.to_string();
    ensure!(said.contains("and may have 524288: make it shorter"), "{what}: {said}");
    ensure!(!said.contains("xxxx") && !said.contains("ää"), "{what}: what is refused is told back");
    Ok(())
}

/// It takes a while until a policy is in force.
async fn in_force(alice: &Cluster, of: &Written) -> anyhow::Result<()> {
    let heard = async {
        for number in 0.. {
            let made = alice.create(&of.asked(&format!("probe-{number}"), &long(MOST))).await;
            if refused(made, "a long one").is_ok() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(300)).await;
        }
    };
    patience::timeout(SOON, heard).await.context("the policy never is in force")
}

async fn judged(people: &People, of: &Written) -> anyhow::Result<()> {
    let People { alice, core, admin } = people;
    for (number, large) in large_ones().iter().enumerate() {
        refused(alice.create(&of.asked("large", large)).await, &format!("large one {number}"))?;
    }
    alice.create(&of.asked("small", &long(MOST - 1000))).await.context("half a MiB of characters")?;
    let small = of.at("small");
    refused(alice.merge(&small, &json!({ "spec": long(MOST) })).await, "one that grows")?;
    // One that was there before the policy, or was restored.
    admin.create(&of.asked("before", &long(MOST + 1000))).await.context("a restore")?;
    let before = of.at("before");
    for patch in [
        json!({ "metadata": { "annotations": { "a": "b" } } }),
        json!({ "spec": long(MOST + 10) }),
        json!({ "metadata": { "labels": { "a": "b" } } }),
    ] {
        alice.merge(&before, &patch).await.context("one of before the policy, which does not grow")?;
    }
    refused(alice.merge(&before, &json!({ "spec": { "more": "x" } })).await, "one of before that grows")?;
    // As many values as an object can have: measuring them has a limit of its own.
    let numbers = json!({ "parameters": { "numbers": vec![1; 600_000] } });
    admin.create(&of.asked("numbers", &numbers)).await.context("a restore of many numbers")?;
    let many = of.at("numbers");
    let ends = json!({ "spec": { "tearDownCluster": true, "parameters": null } });
    alice
        .merge(&many, &json!({ "metadata": { "annotations": { "a": "b" } } }))
        .await
        .context("many numbers")?;
    alice.merge(&many, &ends).await.context("the end of many numbers")?;
    core.merge(&before, &json!({ "spec": { "more": "x" } })).await.context("what Crossplane writes")?;
    alice.delete(&before).await.context("one of before that goes")
}

pub async fn large_ones_are_refused_by_their_size() -> anyhow::Result<()> {
    let plane = ControlPlane::start("konflux", &Binaries::ensure()?).await?;
    let all = [&CLAIMS, &TEST_CLUSTERS];
    for of in all {
        of.define(plane.cluster()).await?;
    }
    let people = People::come(&plane, &all).await?;
    for (of, file) in [
        (&CLAIMS, "install/tenants/size-policy.yaml"),
        (&TEST_CLUSTERS, "install/components/test-clusters/size-policy.yaml"),
    ] {
        plane.cluster().apply_all(&manifests::package(file)?).await?;
        in_force(&people.alice, of).await.with_context(|| file.to_owned())?;
        judged(&people, of).await.with_context(|| of.plural.to_owned())?;
    }
    Ok(())
}

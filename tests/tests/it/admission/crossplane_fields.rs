//! Tenants cannot set Crossplane's fields of claims and TestClusters: on a real API server, with the policies that we ship and the
//! rights that everybody has.

pub(super) mod people;
pub(super) mod written;

use std::time::Duration;

use anyhow::{Context as _, ensure};
use kube::api::DeleteParams;
use serde_json::{Value, json};
use testplatform_tests::{
    binaries::Binaries,
    cluster::{At, Cluster, SOON},
    control_plane::ControlPlane,
    manifests, patience,
};

use people::People;
use written::{CLAIMS, SPACES, TEST_CLUSTERS, Written};

/// By which Crossplane holds a claim until its composite goes.
const FINALIZER: &str = "finalizer.apiextensions.crossplane.io";
/// With the name of the composite. Crossplane gives it to all that is made for one, and takes what is there already for that name.
const LABEL: &str = "crossplane.io/composite";

/// The API server refuses, and says what.
fn refused<T>(outcome: kube::Result<T>, what: &str) -> anyhow::Result<()> {
    let said = outcome.err().with_context(|| format!("{what} is taken"))?.to_string();
    ensure!(said.contains(what) && said.contains("only Crossplane"), "{what}: {said}");
    Ok(())
}

fn annotated(key: &str, value: &Value) -> Value {
    json!({ "metadata": { "annotations": { key: value } } })
}

fn labelled(value: &Value) -> Value {
    json!({ "metadata": { "labels": { LABEL: value } } })
}

fn held_by(finalizers: &Value) -> Value {
    json!({ "metadata": { "finalizers": finalizers } })
}

/// One with such metadata.
fn with(mut asked: Value, patch: &Value) -> Value {
    for (key, value) in patch["metadata"].as_object().into_iter().flatten() {
        asked["metadata"][key] = value.clone();
    }
    asked
}

/// It takes a while until a policy is in force.
async fn in_force(alice: &Cluster, of: &Written) -> anyhow::Result<()> {
    let manual = of.spec(&json!({ "compositionUpdatePolicy": "Manual" }));
    let heard = async {
        for number in 0.. {
            let made = alice.create(&of.asked(&format!("probe-{number}"), &manual)).await;
            if refused(made, "compositionUpdatePolicy").is_ok() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(300)).await;
        }
    };
    patience::timeout(SOON, heard).await.with_context(|| format!("{} never is in force", of.policy))
}

/// Whoever may set them, when there is nothing yet.
async fn born(people: &People, of: &Written) -> anyhow::Result<()> {
    let People { alice, admin, .. } = people;
    let mut whole = json!({});
    for (field, value) in of.fields() {
        let alone = of.spec(&json!({ field: value }));
        refused(alice.create(&of.asked("one", &alone)).await, &of.path(field))?;
        whole[field] = value;
    }
    admin.create(&of.asked("restored", &of.spec(&whole))).await.context("a restore is refused")?;
    alice.create(&of.asked("plain", &json!({ "template": "a" }))).await.context("a plain one is refused")?;
    alice.create(&of.asked("empty", &of.spec(&json!({})))).await.context("defaults are refused")?;
    // A tenant may set the value that the field would get anyway.
    let mut usual = json!({ "compositionUpdatePolicy": "Automatic" });
    usual["compositionRef"] = json!({ "name": of.composition });
    let mut usual = of.spec(&usual);
    usual["compositeDeletePolicy"] = "Foreground".into();
    alice.create(&of.asked("one", &usual)).await.context("the usual one is refused")?;
    for name in ["restored", "plain", "empty"] {
        alice.delete(&of.at(name)).await?;
    }
    Ok(())
}

/// Once Crossplane has written its fields, they stay as they are, and everything else goes on.
async fn kept(people: &People, of: &Written, one: &At) -> anyhow::Result<()> {
    let People { alice, core, admin } = people;
    let change = |fields: &Value| json!({ "spec": of.spec(fields) });
    let mut kept: serde_json::Map<String, Value> =
        of.fields().into_iter().map(|(field, value)| (field.to_owned(), value)).collect();
    kept.remove("compositionUpdatePolicy");
    kept.insert("compositionRef".to_owned(), json!({ "name": of.composition }));
    core.merge(one, &change(&Value::Object(kept.clone()))).await.context("Crossplane is refused")?;
    for (field, value) in &kept {
        let other = if value.is_array() {
            json!([])
        } else {
            json!({ "name": "a-third", "matchLabels": { "a": "b" } })
        };
        for other in [other, Value::Null] {
            refused(alice.merge(one, &change(&json!({ field: other }))).await, &of.path(field))?;
        }
    }
    let manual = json!({ "compositionUpdatePolicy": "Manual" });
    let automatic = json!({ "compositionUpdatePolicy": "Automatic" });
    refused(alice.merge(one, &change(&manual)).await, &of.path("compositionUpdatePolicy"))?;
    let mut frozen = manual.clone();
    frozen["compositionRevisionRef"] = json!({ "name": "none" });
    refused(alice.merge(one, &change(&frozen)).await, &of.path("compositionRevisionRef"))?;

    alice.merge(one, &change(&json!({ "compositionUpdatePolicy": null }))).await?;
    alice.merge(one, &change(&automatic)).await?;
    alice.merge(one, &json!({ "spec": { "tearDownCluster": true } })).await?;
    alice.merge(one, &json!({ "metadata": { "labels": { "a": "b" } } })).await?;
    alice.merge(one, &annotated("a", &"b".into())).await?;
    alice.apply(&of.asked(one.name(), &json!({ "lifetime": "2h" }))).await?;
    // A value that an administrator set stays, and keeps nobody from changing other fields.
    admin.merge(one, &change(&manual)).await?;
    alice.merge(one, &json!({ "spec": { "lifetime": "3h" } })).await?;
    refused(alice.merge(one, &change(&automatic)).await, &of.path("compositionUpdatePolicy"))?;
    let now = core.get(one).await?.context("gone")?;
    ensure!(now["spec"]["lifetime"] == "3h" && now["spec"]["tearDownCluster"] == true, "{now}");
    for (field, value) in &kept {
        let pointer = format!("/{}", of.path(field).replace('.', "/"));
        ensure!(now.pointer(&pointer) == Some(value), "{field}: {now}");
    }
    Ok(())
}

/// A claim's or TestCluster's label names itself, never another object.
async fn called(people: &People, of: &Written, one: &At) -> anyhow::Result<()> {
    let People { alice, core, admin } = people;
    let what = format!("label {LABEL}");
    let [others, third] = ["another-4x7kd", "a-third"].map(|name| labelled(&name.into()));
    refused(alice.create(&with(of.asked("another", &json!({})), &others)).await, &what)?;
    refused(alice.merge(one, &others).await, &what)?;
    // An existing value stays, and blocks nothing else.
    admin.merge(one, &others).await?;
    alice.merge(one, &annotated("a", &"d".into())).await?;
    refused(alice.merge(one, &third).await, &what)?;
    alice.merge(one, &labelled(&Value::Null)).await?;
    core.merge(one, &labelled(&one.name().into())).await.context("Crossplane is refused")?;
    alice.merge(one, &annotated("a", &"e".into())).await?;
    Ok(())
}

/// A claim does not go without its composite, and how often Crossplane looks at that is not said by the claim.
async fn claims_end(people: &People, of: &Written, one: &At) -> anyhow::Result<()> {
    let People { alice, core, .. } = people;
    core.merge(one, &held_by(&json!([FINALIZER]))).await?;
    alice.merge(one, &held_by(&json!([FINALIZER, "example.com/own"]))).await?;
    for without in [Value::Null, json!(["example.com/own"])] {
        refused(alice.merge(one, &held_by(&without)).await, FINALIZER)?;
    }
    let seldom = annotated("crossplane.io/poll-interval", &"9000h".into());
    refused(alice.merge(one, &seldom).await, "annotation crossplane.io/poll-interval")?;
    // Crossplane looks at the composite all the same.
    alice.merge(one, &annotated("crossplane.io/paused", &"true".into())).await?;
    // A claim's composite is deleted by Crossplane, whatever is to become of what the claim owns.
    of.delete(alice, one, DeleteParams::orphan().dry_run()).await?;
    alice.delete(one).await?;
    refused(alice.merge(one, &held_by(&Value::Null)).await, FINALIZER)?;
    core.merge(one, &held_by(&Value::Null)).await?;
    core.until_gone(one, SOON).await
}

/// A TestCluster is looked at, and takes along what was made for it.
async fn test_clusters_end(people: &People, of: &Written, one: &At) -> anyhow::Result<()> {
    let People { alice, core, admin } = people;
    let born = async |patch: Value| alice.create(&with(of.asked("another", &json!({})), &patch)).await;
    for (key, value) in [("crossplane.io/paused", "true"), ("crossplane.io/poll-interval", "9000h")] {
        let set = annotated(key, &value.into());
        let what = format!("annotation {key}");
        refused(born(set.clone()).await, &what)?;
        refused(alice.merge(one, &set).await, &what)?;
        admin.merge(one, &set).await?;
        alice.merge(one, &annotated("a", &"c".into())).await?;
        alice.merge(one, &annotated(key, &Value::Null)).await?;
    }
    // While any holds it, nothing of it ends: Crossplane looks at it no longer, and the garbage collector waits until it is gone.
    for finalizer in ["orphan", "example.com/hold", "composite.apiextensions.crossplane.io"] {
        let held = held_by(&json!([finalizer]));
        let what = format!("finalizer {finalizer}");
        refused(born(held.clone()).await, &what)?;
        refused(alice.merge(one, &held).await, &what)?;
    }
    // An existing finalizer stays, and blocks nothing else.
    admin.merge(one, &held_by(&json!(["example.com/before"]))).await?;
    alice.merge(one, &annotated("a", &"f".into())).await?;
    let more = held_by(&json!(["example.com/before", "example.com/hold"]));
    refused(alice.merge(one, &more).await, "finalizer example.com/hold")?;
    alice.merge(one, &held_by(&Value::Null)).await?;
    foreground(people, of).await.context("in the foreground")?;
    refused(of.delete(alice, one, DeleteParams::orphan()).await, "propagationPolicy Orphan")?;
    for who in [core, admin] {
        of.delete(who, one, DeleteParams::orphan().dry_run()).await?;
    }
    for how in [DeleteParams::foreground(), DeleteParams::default()] {
        of.delete(alice, one, how.dry_run()).await?;
    }
    of.delete(alice, one, DeleteParams::background()).await?;
    core.until_gone(one, SOON).await
}

/// The finalizer of a deletion in the foreground is the API server's to set, whoever asks, and what it holds can be changed. How long it holds is
/// the garbage collector's to say, which takes it away at once where it knows the kind: what the deletion set stands in its answer alone.
async fn foreground(people: &People, of: &Written) -> anyhow::Result<()> {
    let People { alice, core, .. } = people;
    let (another, asked) = (of.at("another"), of.asked("another", &json!({})));
    let said_before = held_by(&json!(["foregroundDeletion"]));
    alice.create(&with(asked, &said_before)).await.context("said before")?;
    alice.merge(&another, &held_by(&Value::Null)).await?;
    alice.merge(&another, &said_before).await.context("said later")?;
    core.merge(&another, &held_by(&json!(["composite.apiextensions.crossplane.io"]))).await?;
    let ends = of.delete(alice, &another, DeleteParams::foreground()).await?.context("gone at once")?;
    ensure!(ends.metadata.finalizers.iter().flatten().any(|held| held == "foregroundDeletion"), "{ends:?}");
    alice.merge(&another, &annotated("a", &"b".into())).await?;
    core.merge(&another, &held_by(&Value::Null)).await?;
    core.until_gone(&another, SOON).await
}

pub async fn what_is_crossplanes_is_nobody_elses_to_set() -> anyhow::Result<()> {
    let plane = ControlPlane::start("konflux", &Binaries::ensure()?).await?;
    let all = [&CLAIMS, &SPACES, &TEST_CLUSTERS];
    for of in all {
        of.define(plane.cluster()).await?;
        plane.cluster().apply_all(&manifests::package(of.policy)?).await?;
    }
    let people = People::come(&plane, &all).await?;
    for of in all {
        in_force(&people.alice, of).await?;
        let one = of.at("one");
        born(&people, of).await.with_context(|| format!("{} at birth", of.plural))?;
        kept(&people, of, &one).await.with_context(|| format!("{} later", of.plural))?;
        called(&people, of, &one).await.with_context(|| format!("the label of {}", of.plural))?;
    }
    for of in [&CLAIMS, &SPACES] {
        claims_end(&people, of, &of.at("one")).await.with_context(|| format!("the end of {}", of.plural))?;
    }
    test_clusters_end(&people, &TEST_CLUSTERS, &TEST_CLUSTERS.at("one"))
        .await
        .context("the end of TestClusters")
}

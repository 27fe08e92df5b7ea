//! Another function takes over live claims: the incumbent's successor, an earlier version, a later one.

use std::{path::Path, time::Duration};

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use testplatform_tests::{
    actors::Controller,
    cluster::{SOON, at_root, certain, condition, has},
    crossplane::{CLAIMS, Engine, XRD_NAME, xrd},
    function,
    kinds::{COMPOSITE, CRD, OBJECT, XRD},
    others::next,
    patience,
    tenant::{KUBECONFIG, PASSWORD, Tenant, decoded},
    witness::Witness,
};
use tokio::time::sleep;

/// Core tries again what failed at growing distances, a minute at most.
const BACK: Duration = Duration::from_secs(100);
/// The incumbent's claim is ready when provider-kubernetes looks again, which may take half a minute.
const LOOKED: Duration = Duration::from_mins(1);

/// Claims of the incumbent's making live on, forth, back and forth again: nothing of them changes on the hub, and they are ready
/// all the while.
pub async fn switch_over(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let engine = tenant.engine;
    let incumbent = Path::new(env!("CARGO_BIN_EXE_function-incumbent"));
    let _served = engine.beside("function-incumbent", incumbent).await?;
    let name = "switch-over";
    engine.compose(name, "function-incumbent").await?;
    let building = tenant.another("building").await?;
    let ask = async |claim: &Tenant<'_>| {
        let mut manifest = claim.manifest(&json!({ "compositionRef": { "name": name } }));
        manifest["metadata"]["annotations"] = json!({
            "ephemeralcluster.ci.openshift.io/pipeline-run-name": "a-pipeline-run",
            "ephemeralcluster.ci.openshift.io/task-run-name": "a-task-run",
        });
        claim.konflux().create(&manifest).await?;
        let controller = claim.controller().await?;
        controller.until_asked(SOON).await?;
        controller.provision().await?;
        anyhow::Ok(controller)
    };
    let live = ask(tenant).await?;
    live.ready(KUBECONFIG, PASSWORD).await?;
    tenant.until(LOOKED, "ready", |claim| has(claim, "Ready", "True", "")).await?;
    tenant.until_secret(SOON, KUBECONFIG).await?;
    let unfinished = ask(&building).await?;
    let shown = |claim: &Value| {
        condition(claim, "_EphemeralClusterPhase").is_some_and(|c| c["message"] == "Provisioning")
    };
    let claim = building.until(LOOKED, "provisioning", shown).await?;
    ensure!(claim["status"]["phase"].is_null(), "that was not the incumbent: {claim}");
    let before = [live.until_asked(SOON).await?, unfinished.until_asked(SOON).await?];

    let given = |secret: Option<&Value>| secret.is_some_and(|s| decoded(s)["kubeconfig"] == KUBECONFIG);
    let secret = Witness::of(tenant.konflux(), &tenant.secret(), given).await?;
    let ready = |claim: Option<&Value>| {
        claim.is_some_and(|c| has(c, "Ready", "True", "") && has(c, "ClusterReady", "True", ""))
    };
    let claim = Witness::of(tenant.konflux(), &tenant.claim(), ready).await?;
    engine.compose(name, function::NAME).await?;
    tenant.until(BACK, "ours", |claim| claim["status"]["phase"] == "Ready").await?;
    building.until(BACK, "ours", |claim| claim["status"]["phase"] == "Provisioning").await?;
    let pinned = |writer: &Value| writer["spec"]["forProvider"]["manifest"]["metadata"]["uid"].is_string();
    let synced = |writer: &Value| {
        let observed = condition(writer, "Synced").map(|c| &c["observedGeneration"]);
        pinned(writer)
            && has(writer, "Synced", "True", "")
            && observed == Some(&writer["metadata"]["generation"])
    };
    for (claim, controller, before) in [(tenant, &live, &before[0]), (&building, &unfinished, &before[1])] {
        tenant.konflux().until_is(&claim.writer().await?, SOON, "told to the hub", synced).await?;
        let after = controller.get().await?.context("it is gone")?;
        for field in ["uid", "generation", "annotations"] {
            let [before, after] = [before, &after].map(|ec| &ec["metadata"][field]);
            ensure!(before == after, "{field} was {before} and is {after}");
        }
        ensure!(after["spec"] == before["spec"], "it was changed: {after}");
    }

    unfinished.ready(KUBECONFIG, PASSWORD).await?;
    // provider-kubernetes forgets what it first read of a Secret when it adds its finalizer. A claim of ours it then looks
    // at once more, because it has noted the external name too; in one of the incumbent's that was done before.
    building.until(LOOKED, "Ready", |claim| claim["status"]["phase"] == "Ready").await?;
    building.until_secret(SOON, KUBECONFIG).await?;

    // One that has ended would get another cluster from the incumbent, so it stays with ours (`cargo xpkg check cluster --back`).
    let lost = tenant.another("lost").await?;
    let vanished = ask(&lost).await?;
    lost_and_kept(&lost, &vanished).await?;

    // Back. The incumbent says nothing in fields of the status, so core takes ours away. It knows no uid, so the pin goes too.
    let before = [live.until_asked(SOON).await?, unfinished.until_asked(SOON).await?];
    engine.compose(name, "function-incumbent").await?;
    for controlled in [tenant, &building] {
        controlled.until(BACK, "the incumbent's", |claim| claim["status"]["phase"].is_null()).await?;
        let unpinned = |writer: &Value| {
            let observed = condition(writer, "Synced").map(|c| &c["observedGeneration"]);
            !pinned(writer)
                && observed == Some(&writer["metadata"]["generation"])
                && has(writer, "Synced", "True", "")
        };
        tenant.konflux().until_is(&controlled.writer().await?, LOOKED, "told to the hub", unpinned).await?;
    }
    for (controller, before) in [(&live, &before[0]), (&unfinished, &before[1])] {
        let after = controller.get().await?.context("it is gone")?;
        ensure!(after["metadata"]["uid"] == before["metadata"]["uid"], "another one: {after}");
        ensure!(after["spec"] == before["spec"], "it was changed: {after}");
    }
    building.until(LOOKED, "ready", |claim| has(claim, "Ready", "True", "")).await?;
    building.until_secret(SOON, KUBECONFIG).await?;

    ensure!(vanished.get().await?.is_none(), "a cluster was made for a claim that has ended");
    let ended = tenant.konflux().get(&lost.claim()).await?.context("it is gone")?;
    ensure!(ended["status"]["phase"] == "Failed", "that is not ours any more: {ended}");

    // And forth again, without the status that went.
    engine.compose(name, function::NAME).await?;
    for (claim, before) in [(tenant, &before[0]), (&building, &before[1])] {
        let again = claim.until(BACK, "ours again", |claim| claim["status"]["phase"] == "Ready").await?;
        let uid = &again["status"]["backend"]["uid"];
        ensure!(*uid == before["metadata"]["uid"], "bound to {uid}");
        tenant.konflux().until_is(&claim.writer().await?, SOON, "told to the hub", synced).await?;
    }
    secret.verdict().await?;
    claim.verdict().await?;
    drop((secret, claim));
    tenant.change(&json!({ "tearDownCluster": true })).await?;
    live.until_told_to_end(SOON).await?;
    live.deprovision().await?;
    live.deprovisioned().await?;
    tenant.until_phase("Deprovisioned").await?;
    tenant.until_secret(SOON, "").await.map(|_| ())
}

/// Somebody on the hub deletes the EphemeralCluster of a claim that is bound, and that claim is kept with the revision that it goes by.
async fn lost_and_kept(claim: &Tenant<'_>, controller: &Controller) -> anyhow::Result<()> {
    claim.until(SOON, "bound", |claim| claim["status"]["prowJob"]["id"].is_string()).await?;
    claim.engine.hub.cluster().delete(&controller.at()).await?;
    controller.release().await?;
    claim.until(BACK, "Failed", |claim| claim["status"]["phase"] == "Failed").await?;
    claim.change(&json!({ "compositionUpdatePolicy": "Manual" })).await?;
    let stays = |composite: &Value| composite["spec"]["compositionUpdatePolicy"] == "Manual";
    let composite = at_root(COMPOSITE, &claim.composite().await?);
    claim.konflux().until_is(&composite, SOON, "kept", stays).await.map(|_| ())
}

/// To a later version, one version back with live clusters of the later one's making, and forward again, as the guide says. What
/// this version does not know it leaves alone, all that belongs to it too; the rest goes on, and no pass fails for it.
pub async fn rolled_back_and_forward(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let outcome = Box::pin(rolled(tenant)).await;
    // Others come after, and some look at what is declared.
    define(tenant.engine, &xrd()?).await.and(outcome)
}

async fn rolled(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let engine = tenant.engine;
    let next = Path::new(env!("CARGO_BIN_EXE_function-next"));
    let function = engine.beside("function-rolled", &engine.program).await?;
    engine.compose("rolled", "function-rolled").await?;
    let ours = json!({ "compositionRef": { "name": "rolled" } });
    let steady = tenant.another("steady").await?;
    steady.ask_and_get(&ours).await?;
    let calm = |claim: Option<&Value>| {
        claim.is_some_and(|claim| certain(claim) && claim["status"]["phase"] == "Ready")
    };
    let calm = [
        Witness::of(tenant.konflux(), &steady.claim(), calm).await?,
        Witness::of(tenant.konflux(), &steady.composite_at().await?, calm).await?,
    ];

    let before = refusals(engine, "")?;
    updated(&steady, &function, next).await?;
    ensure!(refusals(engine, "")? == before, "core could not tell what the next version says");

    let building = tenant.another("building").await?;
    let ending = tenant.another("ending").await?;
    let plain = tenant.another("plain").await?;
    for claim in [tenant, &building, &ending] {
        let mut manifest = claim.manifest(&ours);
        manifest["metadata"]["annotations"] = json!({ (next::MONITORED): "true" });
        tenant.konflux().create(&manifest).await?;
    }
    plain.ask(&ours).await?;
    let all = [tenant, &building, &ending, &plain];
    let mut hands = Vec::new();
    for claim in all {
        let controller = claim.controller().await?;
        controller.until_asked(SOON).await?;
        controller.provision().await?;
        claim.until_phase("Provisioning").await?;
        hands.push(controller);
    }
    for (claim, controller) in [(tenant, &hands[0]), (&ending, &hands[2])] {
        controller.ready(KUBECONFIG, PASSWORD).await?;
        claim.until_phase("Ready").await?;
        claim.until_secret(SOON, KUBECONFIG).await?;
    }
    ending.change(&json!({ "tearDownCluster": true })).await?;
    hands[2].until_told_to_end(SOON).await?;
    hands[2].deprovision().await?;
    ending.until_phase("Deprovisioning").await?;
    let new = |ec: &Value| ec["metadata"]["annotations"][next::NEW].is_string();
    engine.hub.cluster().until_is(&hands[3].at(), SOON, "the next version's", new).await?;
    let objects = composed(&[tenant, &building, &ending]).await?;
    ensure!(objects.len() == 9, "{} Objects", objects.len());
    let given = |secret: Option<&Value>| secret.is_some_and(|s| decoded(s)["kubeconfig"] == KUBECONFIG);
    let secret = Witness::of(tenant.konflux(), &tenant.secret(), given).await?;

    function.stop();
    function.start(engine.nest(), &engine.program)?;
    // This version leaves claims with unknown fields alone, whatever happens elsewhere.
    tenant.change(&json!({ "lifetime": "1h" })).await?;
    hands[1].ready(KUBECONFIG, PASSWORD).await?;
    hands[2].deprovisioned().await?;
    hands[3].ready(KUBECONFIG, PASSWORD).await?;
    for claim in [tenant, &building, &ending] {
        stands_still(claim).await?;
    }
    // Claims that this version knows continue, without the later version's additions.
    plain.until(BACK, "Ready", |claim| claim["status"]["phase"] == "Ready").await?;
    plain.until_secret(SOON, KUBECONFIG).await?;
    let old = |ec: &Value| !new(ec);
    engine.hub.cluster().until_is(&hands[3].at(), SOON, "this version's", old).await?;
    let late = tenant.another("late").await?;
    late.ask_and_arrive(&ours).await?;
    ensure!(composed(&[tenant, &building, &ending]).await? == objects, "an Object was dropped");
    for controller in &hands {
        let ec = controller.get().await?.context("a cluster is gone")?;
        ensure!(ec["metadata"]["deletionTimestamp"].is_null(), "a cluster is being deleted: {ec}");
    }
    tenant.until_condition("ClusterReady", "True", "Ready").await?;
    building.until_condition("ClusterReady", "False", "").await?;
    // The newer definition goes last, when nobody says any more what only that has.
    steady.until(BACK, "this version's", |claim| claim["status"][next::FIELD].is_null()).await?;
    define(engine, &xrd()?).await?;
    // core once tries to pass on its remaining value of a field that is gone from the spec.
    steady.change_and_pass(&json!({ "lifetime": "2h" })).await?;
    tenant.another("later").await?.ask_and_arrive(&ours).await?;
    ensure!(composed(&[tenant, &building, &ending]).await? == objects, "an Object was dropped");

    define(engine, &next::definition(xrd()?)?).await?;
    engine.restart_core()?;
    function.stop();
    function.start(engine.nest(), next)?;
    building.until(BACK, "Ready", |claim| claim["status"]["phase"] == "Ready").await?;
    building.until_secret(SOON, KUBECONFIG).await?;
    ending.until(BACK, "Deprovisioned", |claim| claim["status"]["phase"] == "Deprovisioned").await?;
    ending.until_secret(SOON, "").await?;
    let told =
        |ec: &Value| ec["metadata"]["annotations"]["testplatform.ci.openshift.org/lifetime"] == "1h0m0s";
    engine.hub.cluster().until_is(&hands[0].at(), BACK, "told of the lifetime", told).await?;
    tenant.until_condition("ClusterReady", "True", "Ready").await?;
    steady.until(BACK, "the next version's", |claim| claim["status"][next::FIELD].is_string()).await?;
    for calm in &calm {
        calm.verdict().await?;
    }
    secret.verdict().await?;
    ensure!(refusals(engine, "")? == before, "core could not tell what a version says");
    refused(&steady).await
}

/// A claim for which the next version made something, without that version.
async fn stands_still(claim: &Tenant<'_>) -> anyhow::Result<()> {
    let refused = |composite: &Value| {
        let synced = condition(composite, "Synced").filter(|s| s["status"] == "False");
        let words = synced.and_then(|s| s["message"].as_str()).unwrap_or_default();
        words.contains("was made by a newer version of this function")
    };
    let composite = at_root(COMPOSITE, &claim.composite().await?);
    claim.konflux().until_is(&composite, BACK, "refused", refused).await.map(|_| ())
}

/// The definition first, then the function.
async fn updated(claim: &Tenant<'_>, function: &function::Function, next: &Path) -> anyhow::Result<()> {
    let engine = claim.engine;
    define(engine, &next::definition(xrd()?)?).await?;
    engine.restart_core()?;
    // Who uses a new field before its time is not heard yet, and nothing fails for it.
    claim.change_and_pass(&json!({ (next::FIELD): "early" })).await?;
    let now = claim.konflux().get(&claim.claim()).await?.context("it is gone")?;
    ensure!(now["status"][next::FIELD].is_null(), "that was the next version: {now}");
    function.stop();
    function.start(engine.nest(), next)?;
    claim.nudge("forward").await?;
    claim.until(BACK, "the next version's", |claim| claim["status"][next::FIELD] == "early").await.map(|_| ())
}

/// Why it has to be in this order: with the definition of before below the next version, a field that is not declared keeps all else
/// from being told too.
async fn refused(claim: &Tenant<'_>) -> anyhow::Result<()> {
    let engine = claim.engine;
    let told = claim.konflux().get(&claim.claim()).await?.context("it is gone")?;
    define(engine, &xrd()?).await?;
    claim.change(&json!({ "lifetime": "3h" })).await?;
    let composite = claim.composite_at().await?;
    let changed = |composite: &Value| composite["spec"]["lifetime"] == "3h";
    claim.konflux().until_is(&composite, SOON, "changed", changed).await?;
    let before = refusals(engine, composite.name())?;
    let refused = async {
        while refusals(engine, composite.name())? == before {
            sleep(Duration::from_millis(100)).await;
        }
        anyhow::Ok(())
    };
    patience::timeout(SOON, refused)
        .await
        .context("a status with a field that is not declared was taken")??;
    let after = claim.konflux().get(&claim.claim()).await?.context("it is gone")?;
    ensure!(after["status"]["expiresAt"] == told["status"]["expiresAt"], "it was told: {after}");
    Ok(())
}

/// How often core says that it could not write the status of a composite, or of any, because of a field that is not declared. Otherwise
/// only events tell of it, and not all of them arrive: the conditions stay as they are.
fn refusals(engine: &Engine, of: &str) -> anyhow::Result<usize> {
    let log = std::fs::read_to_string(engine.nest().log("crossplane"))?;
    let words = ["cannot apply composite resource status", "field not declared in schema", of];
    Ok(log.lines().filter(|line| words.iter().all(|word| line.contains(word))).count())
}

/// Puts a definition in the place of the one that is there, and waits until core and API server go by it.
async fn define(engine: &Engine, definition: &Value) -> anyhow::Result<()> {
    let konflux = engine.konflux.cluster();
    konflux.apply(definition).await?;
    let served = |xrd: &Value| {
        let generation = &xrd["metadata"]["generation"];
        ["Established", "Offered"].iter().all(|type_| {
            condition(xrd, type_)
                .is_some_and(|c| c["status"] == "True" && c["observedGeneration"] == *generation)
        })
    };
    konflux.until_is(&at_root(XRD, XRD_NAME), SOON, "served as it is", served).await?;
    for name in [XRD_NAME, CLAIMS] {
        let made = konflux.get(&at_root(CRD, name)).await?.context("it is gone")?;
        ensure!(next::declares(&made) == next::declares(definition), "{name} is behind its definition");
    }
    Ok(())
}

/// Names and uids of the Objects of claims, none of which is being deleted.
async fn composed(claims: &[&Tenant<'_>]) -> anyhow::Result<Vec<(Value, Value)>> {
    let mut found = Vec::new();
    for claim in claims {
        let name = claim.composite().await?;
        for object in ["managed", "credentials", next::MONITOR] {
            let at = at_root(OBJECT, &format!("{object}-{name}"));
            let object = claim.konflux().get(&at).await?.with_context(|| format!("{at} is gone"))?;
            let metadata = &object["metadata"];
            ensure!(metadata["deletionTimestamp"].is_null(), "{at} is being deleted");
            found.push((metadata["name"].clone(), metadata["uid"].clone()));
        }
    }
    Ok(found)
}

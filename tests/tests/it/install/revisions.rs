//! `cargo xpkg check cluster` against a real API server, while real Crossplane moves composites from one revision to the next.

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use testplatform_package::check;
use testplatform_tests::{
    cluster::{SOON, at, at_root},
    control_plane::ControlPlane,
    crossplane::{composition, until_offered, xrd},
    kinds::{CLAIM, COMPOSITE, COMPOSITION_REVISION},
    patience,
};

const NAMESPACE: &str = "default";

async fn checked(plane: &ControlPlane, more: &[&str]) -> anyhow::Result<(String, bool)> {
    let kubeconfig = plane.kubeconfig().display().to_string();
    let line = [&["cluster", "--kubeconfig", &kubeconfig], more].concat();
    super::xpkg::<check::command::CheckArgs, _>(&line, |arguments, out| {
        check::command::run(arguments, out, jiff::Timestamp::UNIX_EPOCH)
    })
    .await
}

/// Two claims under an earlier pipeline, one of which follows and one of which does not until it is told to.
pub async fn whoever_is_left_is_listed(plane: &ControlPlane) -> anyhow::Result<()> {
    let konflux = plane.cluster();
    let before = checked(plane, &[]).await.err().context("without the Composition it cannot be told")?;
    let unsaid = "there is no revision of a Composition testplatform-ephemeral-cluster";
    ensure!(format!("{before:#}").contains(unsaid), "{before:#}");
    konflux.apply(&xrd()?).await?;
    let mut earlier = composition()?;
    let step = |name: &str| json!({ "step": name, "functionRef": { "name": name } });
    earlier["spec"]["pipeline"] = json!([step("function-go-templating"), step("function-auto-ready")]);
    konflux.apply(&earlier).await?;
    until_offered(konflux).await?;
    for (name, policy) in [("follows", "Automatic"), ("stays", "Manual")] {
        let claim = json!({
            "apiVersion": CLAIM.api_version, "kind": CLAIM.kind,
            "metadata": { "name": name, "namespace": NAMESPACE },
            "spec": { "ciOperator": {}, "compositionUpdatePolicy": policy },
        });
        konflux.create(&claim).await?;
    }
    let mut composites = Vec::new();
    for name in ["follows", "stays"] {
        let bound = |claim: &Value| claim["spec"]["resourceRef"]["name"].is_string();
        let claim = konflux.until_is(&at(CLAIM, NAMESPACE, name), SOON, "bound", bound).await?;
        let composite = claim["spec"]["resourceRef"]["name"].as_str().unwrap_or_default().to_owned();
        let looked = |x: &Value| x["spec"]["compositionRevisionRef"]["name"].is_string();
        konflux.until_is(&at_root(COMPOSITE, &composite), SOON, "on a revision", looked).await?;
        composites.push(composite);
    }
    let (text, clean) = checked(plane, &[]).await?;
    ensure!(clean && text.contains("all 2 composites go by it"), "{text}");

    let ours = konflux.apply(&composition()?).await?;
    ensure!(ours["spec"]["pipeline"].as_array().map(Vec::len) == Some(1), "{ours}");
    let newest = newest(plane).await?;
    let moved = |x: &Value| x["spec"]["compositionRevisionRef"]["name"] == newest.as_str();
    konflux.until_is(&at_root(COMPOSITE, &composites[0]), SOON, "moved", moved).await?;
    let (text, clean) = checked(plane, &[]).await?;
    ensure!(!clean && text.contains("1 of 2 composites do not go by it"), "{text}");
    ensure!(text.contains(&format!("{} (claim default/stays)", composites[1])), "{text}");
    ensure!(text.contains("its compositionUpdatePolicy is Manual"), "{text}");
    ensure!(!text.contains("advice"), "no Deployment runs Crossplane: {text}");
    konflux.apply(&crossplane()).await?;
    let (text, _) = checked(plane, &[]).await?;
    ensure!(
        text.contains("advice: Deployment default/crossplane reconciles 100 composites at a time"),
        "{text}"
    );
    let (json, clean) = checked(plane, &["--json"]).await?;
    let report: Value = serde_json::from_str(&json)?;
    ensure!(!clean && report["newest"] == newest.as_str(), "{report}");
    ensure!(report["stillNeeded"] == json!(["function-auto-ready", "function-go-templating"]), "{report}");

    konflux
        .merge(&at(CLAIM, NAMESPACE, "stays"), &json!({ "spec": { "compositionUpdatePolicy": "Automatic" } }))
        .await?;
    konflux.until_is(&at_root(COMPOSITE, &composites[1]), SOON, "moved", moved).await?;
    let (text, clean) = checked(plane, &[]).await?;
    ensure!(clean, "{text}");
    let (text, clean) = checked(plane, &["--back"]).await?;
    ensure!(clean && text == "all 2 composites that follow their Composition can go back\n", "{text}");
    let over = json!({ "phase": "Failed" });
    konflux.merge_status(&at_root(COMPOSITE, &composites[0]), &over).await?;
    let (text, clean) = checked(plane, &["--back"]).await?;
    let expected = format!("{} (claim default/follows): it is Failed; another cluster", composites[0]);
    ensure!(
        !clean && text.contains(&expected) && text.contains("1 of 2 composites cannot go back"),
        "{text}"
    );
    let unknown = checked(plane, &["--composition", "nothing"]).await.err().context("of no Composition")?;
    ensure!(format!("{unknown:#}").contains("no revision of a Composition nothing"), "{unknown:#}");
    another_kind_is_another_list(plane).await?;
    nobody_draws(plane).await
}

/// Of a Composition of pools it is pools that are asked for, and where those are not defined it cannot be told, whatever claims there are.
async fn another_kind_is_another_list(plane: &ControlPlane) -> anyhow::Result<()> {
    let mut pools = composition()?;
    pools["metadata"]["name"] = "of-pools".into();
    pools["spec"]["compositeTypeRef"]["kind"] = "XTestPlatformClusterPool".into();
    plane.cluster().apply(&pools).await?;
    let told = async {
        loop {
            let checked = checked(plane, &["--composition", "of-pools"]).await;
            let said = format!("{:#}", checked.err().context("it was told by what is there of claims")?);
            if !said.contains("there is no revision") {
                return anyhow::Ok(said);
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    };
    let said = patience::timeout(SOON, told).await.context("Crossplane makes no revision of it")??;
    ensure!(said.contains("cannot list xtestplatformclusterpools.ci.openshift.org"), "{said}");
    Ok(())
}

/// Beside another Composition of the kind claims that name none get the shipped one, and not by luck: of eight at random one in 256 would be right.
async fn nobody_draws(plane: &ControlPlane) -> anyhow::Result<()> {
    let konflux = plane.cluster();
    let mut other = composition()?;
    let shipped = other["metadata"]["name"].clone();
    other["metadata"]["name"] = "with-other-limits".into();
    konflux.apply(&other).await?;
    let names: Vec<String> = (0..8).map(|place| format!("drawn-{place}")).collect();
    for name in &names {
        let claim = json!({
            "apiVersion": CLAIM.api_version, "kind": CLAIM.kind,
            "metadata": { "name": name, "namespace": NAMESPACE }, "spec": { "ciOperator": {} },
        });
        konflux.create(&claim).await?;
    }
    for name in &names {
        let bound = |claim: &Value| claim["spec"]["resourceRef"]["name"].is_string();
        let claim = konflux.until_is(&at(CLAIM, NAMESPACE, name), SOON, "bound", bound).await?;
        let composite = claim["spec"]["resourceRef"]["name"].as_str().unwrap_or_default();
        let chosen = |x: &Value| x["spec"]["compositionRef"]["name"].is_string();
        let composite = konflux.until_is(&at_root(COMPOSITE, composite), SOON, "by one", chosen).await?;
        ensure!(composite["spec"]["compositionRef"]["name"] == shipped, "{composite}");
    }
    Ok(())
}

/// Name of the revision with the highest number, once there are two.
async fn newest(plane: &ControlPlane) -> anyhow::Result<String> {
    let made = async {
        loop {
            let mut all = plane.cluster().list(COMPOSITION_REVISION).await?;
            if all.len() > 1 {
                all.sort_by_key(|revision| revision["spec"]["revision"].as_i64());
                let last = all.pop().context("no revision")?;
                return anyhow::Ok(last["metadata"]["name"].as_str().unwrap_or_default().to_owned());
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    };
    patience::timeout(SOON, made).await.context("Crossplane makes no second revision")?
}

/// Crossplane as its Helm chart deploys it, without any setting.
fn crossplane() -> Value {
    let labels = json!({ "app": "crossplane", "release": "crossplane" });
    let container = json!({ "name": "crossplane", "image": "crossplane", "args": ["core", "start"] });
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": { "name": "crossplane", "namespace": NAMESPACE },
        "spec": {
            "selector": { "matchLabels": labels },
            "template": { "metadata": { "labels": labels }, "spec": { "containers": [container] } },
        },
    })
}

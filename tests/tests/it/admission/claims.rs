//! Claims that a real API server accepts and refuses, with the definitions that real Crossplane core makes of our XRD.

use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use testplatform_apis::byoc::{
    ACCOUNT_INCOMPLETE, BESIDE_OTHERS, NO_ACCOUNT, NO_INSTALL_CONFIG, NO_PULL_SECRET, NO_SSH_KEY,
    ONE_PLATFORM,
};
use testplatform_apis::claim::{
    BLOCK_IMMUTABLE, CI_OPERATOR_IMMUTABLE, CLUSTER_CLAIM_IMMUTABLE, COMPANIONS, EXACTLY_ONE_BLOCK,
    LIFETIME_RULE, VERSION_OR_IMAGE,
};
use testplatform_apis::cleanup::{KEEP_ALONE, KEEP_RULE};
use testplatform_apis::template::companions::{
    AUTOSCALE_RULE, COUNT_OR_AUTOSCALE, FORCE_RULE, REPLICAS_RULE, TIMEOUTS_RULE,
};
use testplatform_test_data::upstream;
use testplatform_tests::{
    cluster::{Cluster, SOON, at, at_root, has},
    crossplane::{CLAIMS, composition, until_offered, xrd},
    definitions::Definitions,
    kinds::{CLAIM, COMPOSITE, COMPOSITION, CRD, SPACE_CLAIM, XRD},
    manifests,
    patience::longer,
};
use tokio::time::sleep;

const NAMESPACE: &str = "default";

/// One control plane for all of it, since the steps build on one another.
pub async fn definitions_and_claims() -> anyhow::Result<()> {
    let definitions = Definitions::start().await?;
    let konflux = definitions.konflux.cluster();
    let steps = async {
        ours_goes_over_the_incumbents(konflux).await.context("ours over the incumbent's")?;
        // Until it looks anew, core sees claims through the definition with which it began to watch them: without the
        // fields that are new. Its updates would take those away, and our rules refuse that, for longer than 5 minutes.
        definitions.restart_core()?;
        what_was_accepted_is_accepted(konflux).await.context("accepted")?;
        what_cannot_be_is_refused(konflux).await.context("refused")?;
        what_may_not_change_does_not(konflux).await.context("unchangeable")?;
        undeclared_fields_reach_the_composite(konflux).await.context("undeclared fields")
    };
    let outcome: anyhow::Result<()> = steps.await;
    outcome.with_context(|| definitions.words())
}

/// The definition of spaces goes over the incumbent's, a claim of its making lives on, and so does one that leaves out all that it can.
pub async fn the_definition_of_spaces() -> anyhow::Result<()> {
    const NAME: &str = "xnamespaces.eaas.konflux-ci.dev";
    let definitions = Definitions::start().await?;
    let konflux = definitions.konflux.cluster();
    let offered = |xrd: &Value| has(xrd, "Established", "True", "") && has(xrd, "Offered", "True", "");
    let claims = at_root(CRD, "namespaces.eaas.konflux-ci.dev");
    let steps = async {
        let ours = manifests::package_one("install/components/spaces/definition.yaml")?;
        let all = manifests::read(&upstream().join(format!("xrds/{NAME}.yaml")))?;
        let incumbent = all.into_iter().next().context("an empty XRD")?;
        konflux.apply(&incumbent).await?;
        konflux.until_is(&at_root(XRD, NAME), SOON, "offered", offered).await?;
        let established = |crd: &Value| has(crd, "Established", "True", "");
        konflux.until_is(&claims, SOON, "established", established).await?;
        let bare = |name: &str| {
            json!({
                "apiVersion": SPACE_CLAIM.api_version, "kind": SPACE_CLAIM.kind,
                "metadata": { "name": name, "namespace": NAMESPACE }, "spec": {},
            })
        };
        created(konflux, &bare("before")).await?;
        konflux.apply(&ours).await?;
        let status = "/spec/versions/0/schema/openAPIV3Schema/properties/status/properties/phase";
        konflux.until_is(&claims, SOON, "ours", |crd| crd.pointer(status).is_some()).await?;
        konflux.get(&at(SPACE_CLAIM, NAMESPACE, "before")).await?.context("it is gone")?;
        created(konflux, &bare("after")).await
    };
    let outcome: anyhow::Result<()> = steps.await;
    outcome.with_context(|| definitions.words())
}

/// A claim of the incumbent's making lives on.
async fn ours_goes_over_the_incumbents(konflux: &Cluster) -> anyhow::Result<()> {
    konflux.apply(&incumbent()?).await?;
    konflux.apply(&incumbent_composition()).await?;
    until_offered(konflux).await?;
    let claim = claim("incumbent", &json!({ "ciOperator": { "test": { "workflow": "ipi-aws" } } }));
    created(konflux, &claim).await?;
    let old = konflux.get(&at_root(COMPOSITION, "testplatform-ephemeral-cluster")).await?;

    konflux.apply(&xrd()?).await?;
    konflux.apply(&composition()?).await?;
    let knows = |crd: &Value| {
        let spec = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/clusterClaim";
        crd.pointer(spec).is_some()
    };
    konflux.until_is(&at_root(CRD, CLAIMS), SOON, "ours", knows).await?;
    let new = konflux.get(&at_root(COMPOSITION, "testplatform-ephemeral-cluster")).await?;
    ensure!(
        old.map(|c| c["metadata"]["uid"].clone()) == new.map(|c| c["metadata"]["uid"].clone()),
        "another Composition"
    );
    let old = at(CLAIM, NAMESPACE, "incumbent");
    konflux.merge(&old, &json!({ "spec": { "tearDownCluster": true } })).await?;
    konflux.until_is(&old, SOON, "told to end", |c| c["spec"]["tearDownCluster"] == true).await.map(|_| ())
}

async fn what_was_accepted_is_accepted(konflux: &Cluster) -> anyhow::Result<()> {
    // The provision task sends this when it has nothing but its required parameters.
    let task = json!({ "ciOperator": {
        "buildRoot": { "image_stream_tag": {
            "namespace": "openshift", "name": "release", "tag": "rhel-9-release-golang-1.24-openshift-4.20",
        } },
        "baseImages": {}, "externalImages": {}, "releases": {}, "resources": null,
        "test": { "clusterProfile": null, "clusterClaim": {}, "env": {}, "workflow": "ipi-aws" },
    }, "writeConnectionSecretToRef": { "name": "x" } });
    let pooled = json!({ "clusterClaim": { "version": "4.20", "cloud": "aws" } });
    let timed = json!({ "ciOperator": {}, "lifetime": "90m", "tearDownCluster": false });
    let templated = json!({
        "template": "hosted", "version": "4.20", "parameters": { "fips": true, "list": [1, { "deep": "x" }] },
        "controlPlane": { "replicas": 3 },
        "nodeGroups": [
            { "name": "a", "class": "small", "count": 2, "labels": { "a": "b" }, "parameters": { "x": 1 } },
            { "name": "b", "class": "small", "autoscale": { "min": 1, "max": 3 },
              "taints": [{ "key": "k", "effect": "NoSchedule" }] },
        ],
        "network": { "podCIDR": "10.132.0.0/14", "dnsNameservers": ["10.0.0.1"] },
        "hub": { "name": "x", "force": true, "selector": { "matchLabels": { "region": "x" } }, "affinity": "Pack" },
        "timeouts": { "provision": "1h" },
    });
    // An API server shows a definition a moment before it goes by it.
    let since = Instant::now();
    while let Err(error) = created(konflux, &claim("served", &pooled)).await {
        if since.elapsed() > longer(SOON) {
            return Err(error);
        }
        sleep(Duration::from_millis(200)).await;
    }
    for (name, spec) in [("task", task), ("pooled", pooled), ("timed", timed), ("templated", templated)] {
        created(konflux, &claim(name, &spec)).await?;
    }
    for (index, mut example) in examples()?.into_iter().enumerate() {
        example["metadata"]["namespace"] = NAMESPACE.into();
        example["metadata"]["name"] = format!("example-{index}").into();
        created(konflux, &example).await?;
    }
    Ok(())
}

/// Credentials that are brought along, with other fields.
fn brought(other: &Value) -> Value {
    let mut byoc = json!({
        "platform": { "aws": { "region": "us-east-1" } }, "baseDomain": "ci.example.com",
        "credentialsSecretRef": { "name": "my-aws" },
    });
    for (key, value) in other.as_object().into_iter().flatten() {
        byoc[key] = value.clone();
    }
    byoc
}

async fn what_cannot_be_is_refused(konflux: &Cluster) -> anyhow::Result<()> {
    let cases = [
        (json!({}), EXACTLY_ONE_BLOCK),
        (json!({ "ciOperator": {}, "clusterClaim": { "version": "4.20" } }), EXACTLY_ONE_BLOCK),
        (json!({ "ciOperator": {}, "template": "hosted" }), EXACTLY_ONE_BLOCK),
        (json!({ "ciOperator": {}, "nodeGroups": [] }), COMPANIONS),
        (json!({ "template": "hosted", "version": "4.20", "releaseImage": "x" }), VERSION_OR_IMAGE),
        (json!({ "template": "hosted", "controlPlane": { "replicas": 2 } }), REPLICAS_RULE),
        (json!({ "template": "hosted", "hub": { "force": true } }), FORCE_RULE),
        (json!({ "template": "hosted", "timeouts": { "teardown": "5s" } }), TIMEOUTS_RULE),
        (json!({ "template": "hosted", "nodeGroups": [{ "name": "a", "class": "c" }] }), COUNT_OR_AUTOSCALE),
        (
            json!({ "template": "hosted", "nodeGroups": [
                { "name": "a", "class": "c", "autoscale": { "min": 2, "max": 1 } },
            ] }),
            AUTOSCALE_RULE,
        ),
        // No rule of ours: the list is a map by name.
        (
            json!({ "template": "hosted", "nodeGroups": [
                { "name": "a", "class": "c", "count": 1 }, { "name": "a", "class": "c", "count": 1 },
            ] }),
            "Duplicate value",
        ),
        (json!({ "ciOperator": {}, "byoc": brought(&json!({})) }), BESIDE_OTHERS),
        (
            json!({ "clusterClaim": { "version": "4.20" }, "byoc": { "pullSecretRef": { "name": "my-pull" } } }),
            ACCOUNT_INCOMPLETE,
        ),
        (
            json!({ "clusterClaim": { "version": "4.20" }, "byoc": brought(&json!({ "sshKeySecretRef": { "name": "k" } })) }),
            NO_SSH_KEY,
        ),
        (
            json!({
                "clusterClaim": { "version": "4.20" },
                "byoc": brought(&json!({ "installConfigSecretRef": { "name": "k" } })),
            }),
            NO_INSTALL_CONFIG,
        ),
        (json!({ "template": "hosted", "byoc": { "sshKeySecretRef": { "name": "k" } } }), NO_PULL_SECRET),
        (
            json!({ "template": "hosted", "byoc": brought(&json!({ "pullSecretRef": { "name": "k" } })) }),
            NO_ACCOUNT,
        ),
        (
            json!({ "clusterClaim": { "version": "4.20" }, "byoc": brought(&json!({ "platform": {} })) }),
            ONE_PLATFORM,
        ),
        (json!({ "ciOperator": {}, "lifetime": "30s" }), LIFETIME_RULE),
        (json!({ "ciOperator": {}, "lifetime": "soon" }), LIFETIME_RULE),
        (
            json!({ "ciOperator": {}, "cleanup": { "onOwnerCompletion": true, "keepForDebug": "-5m" } }),
            KEEP_RULE,
        ),
        (json!({ "ciOperator": {}, "cleanup": { "keepForDebug": "5m" } }), KEEP_ALONE),
    ];
    for (spec, words) in cases {
        let answer = konflux.create(&claim("refused", &spec)).await;
        refused(answer.map(|_| ()), words).with_context(|| spec.to_string())?;
    }
    Ok(())
}

async fn what_may_not_change_does_not(konflux: &Cluster) -> anyhow::Result<()> {
    let built = json!({ "ciOperator": { "test": { "workflow": "ipi-aws" }, "brandNew": { "deep": 1 } } });
    created(konflux, &claim("built", &built)).await?;
    let cases = [
        ("built", json!({ "ciOperator": { "test": { "workflow": "other" } } }), CI_OPERATOR_IMMUTABLE),
        // Neither may what the schema does not declare.
        ("built", json!({ "ciOperator": { "brandNew": { "deep": 2 } } }), CI_OPERATOR_IMMUTABLE),
        ("built", json!({ "ciOperator": null, "clusterClaim": { "version": "4.20" } }), BLOCK_IMMUTABLE),
        ("pooled", json!({ "clusterClaim": { "version": "4.21" } }), CLUSTER_CLAIM_IMMUTABLE),
        ("pooled", json!({ "clusterClaim": null, "ciOperator": {} }), BLOCK_IMMUTABLE),
        ("timed", json!({ "lifetime": "30s" }), LIFETIME_RULE),
        ("timed", json!({ "ciOperator": null, "template": "hosted" }), BLOCK_IMMUTABLE),
        (
            "templated",
            json!({ "template": null, "version": null, "parameters": null, "controlPlane": null,
            "nodeGroups": null, "network": null, "hub": null, "timeouts": null, "ciOperator": {} }),
            BLOCK_IMMUTABLE,
        ),
    ];
    for (name, patch, words) in cases {
        let answer = konflux.merge(&at(CLAIM, NAMESPACE, name), &json!({ "spec": patch })).await;
        refused(answer, words).with_context(|| format!("{name}: {patch}"))?;
    }
    let templated = at(CLAIM, NAMESPACE, "templated");
    let change = json!({ "template": "hosted-next", "version": "4.21", "parameters": { "fips": null } });
    konflux.merge(&templated, &json!({ "spec": change })).await?;
    let timed = at(CLAIM, NAMESPACE, "timed");
    for change in [
        json!({ "lifetime": "4h" }),
        json!({ "lifetime": null }),
        json!({ "tearDownCluster": true }),
        json!({ "cleanup": { "onOwnerCompletion": true, "keepForDebug": "1h30m" } }),
        json!({ "cleanup": null }),
    ] {
        konflux.merge(&timed, &json!({ "spec": change })).await?;
    }
    Ok(())
}

async fn undeclared_fields_reach_the_composite(konflux: &Cluster) -> anyhow::Result<()> {
    let bound = |claim: &Value| claim["spec"]["resourceRef"]["name"].is_string();
    let claim = konflux.until_is(&at(CLAIM, NAMESPACE, "built"), SOON, "bound", bound).await?;
    let name = claim["spec"]["resourceRef"]["name"].as_str().unwrap_or_default();
    let arrived = |x: &Value| x["spec"]["ciOperator"]["brandNew"]["deep"] == 1;
    konflux.until_is(&at_root(COMPOSITE, name), SOON, "with the field", arrived).await.map(|_| ())
}

fn claim(name: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": "ci.openshift.org/v1alpha1", "kind": "TestPlatformCluster",
        "metadata": { "name": name, "namespace": NAMESPACE }, "spec": spec,
    })
}

async fn created(konflux: &Cluster, claim: &Value) -> anyhow::Result<()> {
    konflux.create(claim).await.with_context(|| format!("refused: {claim}"))?;
    Ok(())
}

fn refused(answer: kube::Result<()>, words: &str) -> anyhow::Result<()> {
    match answer {
        Ok(()) => anyhow::bail!("it was accepted"),
        Err(kube::Error::Api(status)) if status.message.contains(words) => Ok(()),
        Err(other) => anyhow::bail!("it was refused with other words than {words:?}: {other}"),
    }
}

/// The claims among the incumbent's examples.
fn examples() -> anyhow::Result<Vec<Value>> {
    let directory = upstream().join("examples/xtestplatformcluster");
    let mut all = manifests::read_all(&directory)?;
    all.retain(|example| example["kind"] == CLAIM.kind);
    ensure!(!all.is_empty(), "no claim in {}", directory.display());
    Ok(all)
}

/// The incumbent's XRD.
fn incumbent() -> anyhow::Result<Value> {
    let all = manifests::read(&upstream().join("xrds/xtestplatformclusters.ci.openshift.org.yaml"))?;
    all.into_iter().next().context("an empty XRD")
}

/// The incumbent's Composition, as far as it is one: five steps by three functions.
fn incumbent_composition() -> Value {
    let step = |name: &str, function: &str| json!({ "step": name, "functionRef": { "name": function } });
    json!({
        "apiVersion": "apiextensions.crossplane.io/v1", "kind": "Composition",
        "metadata": { "name": "testplatform-ephemeral-cluster" },
        "spec": {
            "compositeTypeRef": { "apiVersion": "ci.openshift.org/v1alpha1", "kind": "XTestPlatformCluster" },
            "writeConnectionSecretsToNamespace": "crossplane-connections",
            "mode": "Pipeline",
            "pipeline": [
                step("create-ephemeral-cluster", "function-go-templating"),
                step("report-conditions", "function-go-templating"),
                step("observe-credentials-secret", "function-go-templating"),
                step("write-connection-details", "function-patch-and-transform"),
                step("auto-detect-ready-composed-resources", "function-auto-ready"),
            ],
        },
    })
}

//! Crossplane's own package manager pulls what `cargo xpkg` builds and pushes, from a registry of its own.

use std::{
    io::{BufRead as _, BufReader},
    process::{Child, Command, Stdio},
};

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use testplatform_apis::xrd;
use testplatform_package::{
    build::{BuildInfo, Program, images, stream},
    oci::{Artifact, layout},
    registry::command,
};
use testplatform_tests::{
    binaries,
    cluster::{Cluster, SOON, at_root, has},
    crossplane::{composition, until_offered},
    definitions::Definitions,
    kinds::{COMPOSITION, CONFIGURATION, CONFIGURATION_REVISION, FUNCTION, FUNCTION_REVISION},
};

/// core's name for the function that it installs as a dependency of the Configuration.
const DEPENDENCY: &str = "testplatform-function-testplatform";

/// A registry in memory. It ends with this process, however that ends, because its input does.
struct Registry {
    child: Child,
    address: String,
}

impl Registry {
    fn start() -> anyhow::Result<Self> {
        let mut command = Command::new(binaries::registry()?);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let mut lines = BufReader::new(child.stdout.take().context("no output")?).lines();
        let address = lines.next().context("the registry says nothing")??;
        // It says something for each request, and would wait for somebody to read it.
        std::thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
        Ok(Self { child, address })
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Builds both, pushes both, installs the Configuration by digest, and plays the runtime, since nobody here runs containers.
pub async fn packages_are_pulled_installed_and_healthy() -> anyhow::Result<()> {
    let registry = Registry::start()?;
    let definitions = Definitions::start().await?;
    let konflux = definitions.konflux.cluster();
    let outcome = async {
        let repository = format!("{}/testplatform/function-testplatform", registry.address);
        let about = BuildInfo { version: "1.2.3".into(), revision: None, time: 0 };
        // A program that core never starts: the header of one.
        let mut bytes = vec![0; 64];
        bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
        bytes[18] = 62;
        let program = Program { bytes, sbom: b"{}".to_vec() };
        let function =
            images::build_function(&[program], &stream::render_function(&[xrd::input_xrd()?])?, &about)?;
        let function = Artifact::of(function)?;
        push(&definitions, "function", &function, &repository).await?;
        let digest = function.root.digest().clone();
        let text = stream::render_configuration(
            &[xrd::test_platform_cluster()?],
            &[composition()?],
            &repository,
            &digest,
        )?;
        let configuration = Artifact::of(vec![images::build_configuration(&text, &about)?])?;
        let repository = format!("{}/testplatform/configuration-testplatform", registry.address);
        let package = push(&definitions, "configuration", &configuration, &repository).await?;
        install(konflux, &package, digest.as_ref()).await
    };
    let outcome: anyhow::Result<()> = outcome.await;
    outcome.with_context(|| definitions.words())
}

/// As `cargo xpkg push` does, and returns what it prints: the reference by digest.
async fn push(
    definitions: &Definitions,
    name: &str,
    artifact: &Artifact,
    repository: &str,
) -> anyhow::Result<String> {
    let folder = definitions.nest.directory().join(name);
    layout::write(&folder, artifact, name)?;
    let line = [folder.display().to_string(), format!("{repository}:v1.2.3")];
    let line = line.each_ref().map(String::as_str);
    let (printed, _) = super::xpkg::<command::PushArgs, _>(&line, |arguments, out| {
        command::run(arguments, out).map(|()| true)
    })
    .await?;
    Ok(printed.trim().to_owned())
}

async fn install(konflux: &Cluster, package: &str, digest: &str) -> anyhow::Result<()> {
    ensure!(package.contains("@sha256:"), "{package} is not a digest");
    let configuration = json!({
        "apiVersion": CONFIGURATION.api_version, "kind": CONFIGURATION.kind,
        "metadata": { "name": "configuration-testplatform" }, "spec": { "package": package },
    });
    konflux.apply(&configuration).await?;
    let healthy = |object: &Value| has(object, "Installed", "True", "") && has(object, "Healthy", "True", "");
    let installed = at_root(CONFIGURATION, "configuration-testplatform");
    konflux.until_is(&installed, 2 * SOON, "installed and healthy", healthy).await?;
    let revisions = konflux.list(CONFIGURATION_REVISION).await?;
    ensure!(revisions.len() == 1 && has(&revisions[0], "RevisionHealthy", "True", ""), "{revisions:?}");

    // The function came with it, by the very digest, under the name by which the Composition calls it.
    let function = at_root(FUNCTION, DEPENDENCY);
    let there = konflux.until_is(&function, SOON, "installed", |f| has(f, "Installed", "True", "")).await?;
    let pulled = there["spec"]["package"].as_str().unwrap_or_default();
    ensure!(pulled.ends_with(digest), "{pulled}, not {digest}");
    let made = konflux
        .get(&at_root(COMPOSITION, "testplatform-ephemeral-cluster"))
        .await?
        .context("no Composition")?;
    ensure!(made["spec"]["pipeline"][0]["functionRef"]["name"] == DEPENDENCY, "{}", made["spec"]);
    until_offered(konflux).await?;

    // The rest is the runtime's: it says with which certificate the function serves, where, and that it runs.
    let revision = there["status"]["currentRevision"].as_str().context("no revision")?.to_owned();
    let revision = at_root(FUNCTION_REVISION, &revision);
    let certificate = json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": { "name": "function-testplatform-tls", "namespace": "crossplane-system" },
        "stringData": { "tls.crt": "nobody looks into it, since the package has no webhooks" },
    });
    konflux.apply(&certificate).await?;
    let served =
        json!({ "tlsServerSecretName": "function-testplatform-tls", "endpoint": "dns:///localhost:9443" });
    konflux.until_is(&revision, SOON, "read", |r| r["status"]["resolvedImage"].is_string()).await?;
    konflux.merge_status(&revision, &served).await?;
    let unpacked = |r: &Value| has(r, "RevisionHealthy", "True", "");
    let found = konflux.until_is(&revision, 2 * SOON, "unpacked", unpacked).await?;
    ensure!(found["spec"]["desiredState"] == "Active", "{}", found["spec"]);
    ensure!(found["status"]["capabilities"] == json!(["composition"]), "{}", found["status"]);
    let waits = konflux.get(&function).await?.context("the Function is gone")?;
    ensure!(!has(&waits, "Healthy", "True", ""), "healthy without a runtime: {}", waits["status"]);
    let mut conditions = found["status"]["conditions"].as_array().cloned().unwrap_or_default();
    conditions.retain(|condition| condition["type"] != "RuntimeHealthy");
    conditions.push(json!({
        "type": "RuntimeHealthy", "status": "True", "reason": "HealthyPackageRevision",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }));
    konflux.merge_status(&revision, &json!({ "conditions": conditions })).await?;
    konflux.until_is(&function, 2 * SOON, "installed and healthy", healthy).await.map(|_| ())
}

//! Controllers of a hub that run as programs of their own, with their definitions and webhooks: the real ones, where a backend has a fake
//! as well.

use std::{
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use anyhow::{Context as _, ensure};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use futures_util::future::try_join_all;
use serde_json::{Value, json};

use crate::{
    cluster::{Cluster, SOON, at_root, has},
    companion::Companion,
    control_plane::ControlPlane,
    kinds::CRD,
    manifests,
    nest::Nest,
    pki::Authority,
    ports::free_ports,
};

/// How long an API server may take until it calls a webhook that it was told of.
const WEBHOOKS_TAKE_EFFECT: Duration = Duration::from_secs(30);

/// A manager of controllers, as kubebuilder lays them out: a program, its CRDs and its webhooks.
#[derive(Clone, Debug)]
pub struct HubController {
    /// Name of the program, of its process and of its log.
    pub name: &'static str,
    /// The program.
    pub program: PathBuf,
    /// Directory with its CRDs in `crds`, and its webhooks in `webhooks.yaml`.
    pub definitions: PathBuf,
    /// Arguments beyond those of every manager.
    pub arguments: &'static [&'static str],
    /// Its environment beyond the testbed's.
    pub environment: &'static [(&'static str, &'static str)],
    /// Labels of its CRDs, by which other controllers find out what they are.
    pub labels: &'static [(&'static str, &'static str)],
    /// The oldest version that the testbed can run: major and minor.
    pub oldest: (u64, u64),
}

/// A running manager. It ends when this is dropped.
pub struct RunningController {
    companion: Companion,
    version: String,
}

impl HubController {
    /// Installs its CRDs on a hub, starts it, and waits until it is ready and its webhooks are called. `authority` signs the certificate
    /// of its webhooks.
    ///
    /// # Errors
    ///
    /// If its program is missing, too old, or ends, which the error says with the end of its log.
    pub async fn start(
        &self,
        nest: &Nest,
        hub: &ControlPlane,
        authority: &Authority,
    ) -> anyhow::Result<RunningController> {
        let [webhooks] = free_ports()?;
        let certificates = nest.directory().join(format!("{}-webhooks", self.name));
        authority.publish(&certificates, &authority.server(self.name)?)?;
        self.define(hub.cluster(), &webhook_client(webhooks, authority)).await?;
        let running = self.run(nest, hub.kubeconfig(), &certificates, webhooks).await?;
        self.register_webhooks(hub.cluster(), &webhook_client(webhooks, authority)).await?;
        Ok(running)
    }

    /// Starts the program, and waits until it is ready.
    ///
    /// # Errors
    ///
    /// As [`Self::start`].
    pub async fn run(
        &self,
        nest: &Nest,
        kubeconfig: &Path,
        certificates: &Path,
        webhooks: u16,
    ) -> anyhow::Result<RunningController> {
        let (name, program) = (self.name, self.program.display());
        ensure!(self.program.is_file(), "{name} is not there: {program} is not a file");
        let [health] = free_ports()?;
        let mut command = Command::new(&self.program);
        command.args([
            format!("--webhook-port={webhooks}"),
            format!("--webhook-cert-dir={}", certificates.display()),
            format!("--health-addr=127.0.0.1:{health}"),
            // Nobody reads its metrics.
            "--diagnostics-address=0".to_owned(),
            "--insecure-diagnostics".to_owned(),
        ]);
        command.env("KUBECONFIG", kubeconfig).args(self.arguments).envs(self.environment.iter().copied());
        let started = Companion::start(nest, name, &mut command, health).await;
        let log = std::fs::read(nest.log(name)).unwrap_or_default();
        let version = read_version(&String::from_utf8_lossy(&log));
        // An old program may end because it does not know an argument, or run and do something else.
        if let Some(version) = &version {
            let (major, minor) = self.oldest;
            ensure!(
                read_minor(version).is_none_or(|found| found >= self.oldest),
                "{name} is too old: {program} is {version}, and the testbed needs v{major}.{minor} or newer"
            );
        }
        let companion = started.with_context(|| format!("{name} does not run ({program})"))?;
        Ok(RunningController {
            companion,
            version: version.unwrap_or_else(|| "of an unknown version".to_owned()),
        })
    }

    async fn define(&self, hub: &Cluster, client: &impl Fn(&str) -> Value) -> anyhow::Result<()> {
        let mut crds = manifests::read_all(&self.definitions.join("crds"))?;
        for crd in &mut crds {
            for (label, value) in self.labels {
                crd["metadata"]["labels"][label] = (*value).into();
            }
            if crd["spec"]["versions"].as_array().is_some_and(|versions| versions.len() > 1) {
                let webhook =
                    json!({ "conversionReviewVersions": ["v1"], "clientConfig": client("/convert") });
                crd["spec"]["conversion"] = json!({ "strategy": "Webhook", "webhook": webhook });
            }
        }
        try_join_all(crds.iter().map(|crd| hub.apply(crd))).await?;
        for crd in &crds {
            let name = crd["metadata"]["name"].as_str().unwrap_or_default();
            let established = |crd: &Value| has(crd, "Established", "True", "");
            hub.until_is(&at_root(CRD, name), SOON, "established", established).await?;
        }
        Ok(())
    }

    async fn register_webhooks(&self, hub: &Cluster, client: &impl Fn(&str) -> Value) -> anyhow::Result<()> {
        for mut configuration in manifests::read(&self.definitions.join("webhooks.yaml"))? {
            let name = configuration["metadata"]["name"].as_str().unwrap_or_default();
            configuration["metadata"]["name"] = format!("{}-{name}", self.name).into();
            for webhook in configuration["webhooks"].as_array_mut().into_iter().flatten() {
                let path = webhook["clientConfig"]["service"]["path"].as_str().unwrap_or_default().to_owned();
                webhook["clientConfig"] = client(&path);
            }
            hub.apply(&configuration).await?;
        }
        Ok(())
    }
}

impl RunningController {
    /// Its version, as it says.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.companion.id()
    }

    /// Fails if it ended, with the end of its log.
    pub fn check(&self) -> anyhow::Result<()> {
        self.companion.check()
    }
}

/// Tries something again until the API server calls the webhooks that it was told of.
///
/// # Errors
///
/// The last one.
pub async fn until_accepted(hub: &Cluster, manifest: &Value) -> anyhow::Result<()> {
    let begun = tokio::time::Instant::now();
    loop {
        match hub.apply(manifest).await {
            Ok(_) => return Ok(()),
            Err(error) if begun.elapsed() > WEBHOOKS_TAKE_EFFECT => return Err(error),
            Err(_) => tokio::time::sleep(Duration::from_millis(500)).await,
        }
    }
}

/// How an API server reaches the webhooks of a program on this machine, by their path.
fn webhook_client(port: u16, authority: &Authority) -> impl Fn(&str) -> Value {
    let authority = BASE64_STANDARD.encode(authority.pem());
    move |path| json!({ "url": format!("https://127.0.0.1:{port}{path}"), "caBundle": authority })
}

/// The version that a manager logs as it starts: `Version: v1.14.2 (git commit: )`.
fn read_version(log: &str) -> Option<String> {
    let (_, rest) = log.split_once("Version: ")?;
    let version = rest.split([' ', '"', '\n']).next()?;
    version.starts_with('v').then(|| version.to_owned())
}

/// Major and minor of a version: `v1.14.2` has 1 and 14.
fn read_minor(version: &str) -> Option<(u64, u64)> {
    let mut parts = version.trim_start_matches('v').split('.');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt as _};

    use super::*;

    /// The error of a manager whose program is this script, if it is one.
    async fn failure(script: Option<&str>) -> String {
        let nest = Nest::new("hub-controller", None).unwrap();
        let program = nest.directory().join("manager");
        if let Some(script) = script {
            fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
            fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        }
        let controller = HubController {
            name: "cluster-api-core",
            program,
            definitions: PathBuf::new(),
            arguments: &[],
            environment: &[],
            labels: &[],
            oldest: (1, 11),
        };
        let nowhere = nest.directory().join("nowhere");
        let Err(error) = controller.run(&nest, &nowhere, &nowhere, 1).await else { panic!("it runs") };
        format!("{error:#}")
    }

    #[tokio::test]
    async fn a_missing_program_is_named_with_its_path() {
        let error = failure(None).await;
        assert!(error.starts_with("cluster-api-core is not there: /"), "{error}");
        assert!(error.ends_with("/manager is not a file"), "{error}");
    }

    #[tokio::test]
    async fn a_program_that_ends_is_named_with_the_end_of_its_log() {
        let error =
            failure(Some("echo 'Version: v1.14.2 (git commit: )'; echo 'no such kind' >&2; exit 3")).await;
        assert!(error.contains("cluster-api-core does not run (/"), "{error}");
        assert!(error.contains("exit status: 3") && error.contains("no such kind"), "{error}");
    }

    #[tokio::test]
    async fn an_old_program_is_refused_by_its_version() {
        let error = failure(Some("echo 'I1 setup Version: v1.9.6 (git commit: )'; exit 2")).await;
        assert!(error.contains("cluster-api-core is too old"), "{error}");
        assert!(error.contains("v1.9.6") && error.contains("needs v1.11 or newer"), "{error}");
    }

    #[tokio::test]
    async fn a_program_that_does_not_know_an_argument_is_quoted() {
        let error = failure(Some("echo \"unknown flag: ${1%%=*}\" >&2; exit 2")).await;
        assert!(error.contains("unknown flag: --webhook-port"), "{error}");
    }

    #[test]
    fn versions_are_read_from_both_forms_of_a_log() {
        let text = "I1130 17:00:00.0 main.go:340] \"Version: v1.14.2 (git commit: )\" logger=\"setup\"\n";
        assert_eq!(read_version(text).as_deref(), Some("v1.14.2"));
        assert_eq!(read_version("Version:  (git commit: )"), None);
        assert_eq!(read_version("started"), None);
        assert!(read_minor("v1.9.6") < read_minor("v1.11.0"));
    }
}

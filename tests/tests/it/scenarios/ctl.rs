//! The kubectl plugin, found and started by the real kubectl: with the rights that tenants have, and with an administrator's.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, ensure};
use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::{Api, api::PostParams};
use serde_json::{Value, json};
use testplatform_tests::{
    binaries::Binaries,
    control_plane::Identity,
    program,
    tenant::{KUBECONFIG, PASSWORD, Tenant},
};
use tokio::task::JoinHandle;

const ACCOUNT: &str = "somebody";
const RBAC: &str = "rbac.authorization.k8s.io";

/// A terminal with kubectl and its plugin in the PATH.
#[derive(Clone)]
struct Terminal {
    room: PathBuf,
    kubeconfig: PathBuf,
    namespace: String,
}

/// How a command ended, and what it said on stdout and on stderr.
struct Ended {
    code: Option<i32>,
    said: String,
}

impl Ended {
    fn is(&self, code: i32, words: &str) -> anyhow::Result<&Self> {
        ensure!(
            self.code == Some(code) && self.said.contains(words),
            "not {code} with {words:?}, but {:?}: {}",
            self.code,
            self.said
        );
        Ok(self)
    }
}

impl Terminal {
    async fn run(&self, line: &str) -> anyhow::Result<Ended> {
        self.start(line).await?
    }

    /// Candidates for a line of the plugin, as kubectl's own completion prints them.
    fn complete(&self, words: &[&str]) -> anyhow::Result<String> {
        let path = std::env::join_paths([self.room.as_path(), Path::new("/usr/bin")])?;
        let mut command = Command::new(self.room.join("kubectl"));
        command.args(["__complete", "testplatform"]).args(words);
        command.env("PATH", path).env("HOME", &self.room).env("KUBECONFIG", &self.kubeconfig);
        Ok(String::from_utf8(command.output().context("cannot run kubectl")?.stdout)?)
    }

    /// Begins a command that takes its time.
    fn start(&self, line: &str) -> JoinHandle<anyhow::Result<Ended>> {
        let (here, line) = (self.clone(), line.to_owned());
        tokio::task::spawn_blocking(move || {
            let path = std::env::var_os("PATH").unwrap_or_default();
            let path =
                std::env::join_paths(std::iter::once(here.room.clone()).chain(std::env::split_paths(&path)))?;
            let mut command = Command::new(here.room.join("kubectl"));
            command.arg("testplatform").args(line.split_whitespace()).arg("--namespace").arg(&here.namespace);
            command
                .current_dir(&here.room)
                .env("PATH", path)
                .env("HOME", &here.room)
                .env("KUBECONFIG", &here.kubeconfig);
            let output = command.output().context("cannot run kubectl")?;
            let said =
                [output.stdout, output.stderr].map(|b| String::from_utf8_lossy(&b).into_owned()).concat();
            Ok(Ended { code: output.status.code(), said })
        })
    }
}

/// Terminals of somebody with the rights of a tenant, and of an administrator.
async fn terminals(tenant: &Tenant<'_>) -> anyhow::Result<[Terminal; 2]> {
    let room = tenant.engine.nest().directory().join(&tenant.namespace);
    fs::create_dir_all(&room)?;
    symlink(&Binaries::ensure()?.kubectl, room.join("kubectl"))?;
    for name in ["kubectl-testplatform", "kubectl_complete-testplatform"] {
        symlink(program::plugin()?, room.join(name))?;
    }
    let kubeconfig = room.join("kubeconfig");
    fs::write(&kubeconfig, somebody(tenant).await?.to_string())?;
    let namespace = &tenant.namespace;
    let terminal = |kubeconfig: &Path| Terminal {
        room: room.clone(),
        kubeconfig: kubeconfig.to_owned(),
        namespace: namespace.clone(),
    };
    Ok([terminal(&kubeconfig), terminal(tenant.engine.konflux.kubeconfig())])
}

/// A kubeconfig with the rights that Konflux gives in a tenant's namespace: claims, and reading Secrets.
async fn somebody(tenant: &Tenant<'_>) -> anyhow::Result<Value> {
    let metadata = json!({ "name": ACCOUNT, "namespace": tenant.namespace });
    let manifests = [
        json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata }),
        json!({
            "apiVersion": format!("{RBAC}/v1"), "kind": "Role", "metadata": metadata,
            "rules": [
                { "apiGroups": ["ci.openshift.org"], "resources": ["testplatformclusters"], "verbs": ["*"] },
                { "apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "list"] },
            ],
        }),
        json!({
            "apiVersion": format!("{RBAC}/v1"), "kind": "RoleBinding", "metadata": metadata,
            "roleRef": { "apiGroup": RBAC, "kind": "Role", "name": ACCOUNT },
            "subjects": [{ "kind": "ServiceAccount", "name": ACCOUNT, "namespace": tenant.namespace }],
        }),
    ];
    tenant.konflux().apply_all(&manifests).await?;
    let accounts: Api<ServiceAccount> = Api::namespaced(tenant.konflux().client(), &tenant.namespace);
    let issued =
        accounts.create_token_request(ACCOUNT, &PostParams::default(), &TokenRequest::default()).await?;
    let token = issued.status.and_then(|s| s.token).context("no token was issued")?;
    Ok(tenant.engine.konflux.kubeconfig_for(&Identity::Token(token)))
}

fn manifest(tenant: &Tenant<'_>, terminal: &Terminal, more: &Value) -> anyhow::Result<String> {
    let file = format!("{}.yaml", tenant.name);
    fs::write(terminal.room.join(&file), tenant.manifest(more).to_string())?;
    Ok(file)
}

/// A whole life, in which everything is done with the plugin.
pub async fn ctl_whole_life(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let [owner, administrator] = terminals(tenant).await?;
    let name = tenant.name.as_str();
    owner.run("get").await?.is(0, "No claims found")?;
    owner.run(&format!("why {name}")).await?.is(5, "there is no testplatformcluster")?;

    let file = manifest(tenant, &owner, &json!({ "lifetime": "1h" }))?;
    let up = owner.start(&format!("up {file} --timeout 5m"));
    let controller = tenant.controller().await?;
    controller.until_asked(testplatform_tests::cluster::SOON).await?;
    controller.provision().await?;
    tenant.until_phase("Provisioning").await?;
    let as_owner = owner.run(&format!("why {name}")).await?;
    as_owner.is(0, "the hub to create the cluster")?.is(0, "no permission to read it")?;
    let as_administrator = administrator.run(&format!("why {name}")).await?;
    as_administrator
        .is(0, "✓ object/managed-")?
        .is(0, "… ephemeralcluster/")?
        .is(0, "https://prow.example/")?;
    owner.run(&format!("kubeconfig {name}")).await?.is(3, "is not ready")?;

    controller.ready(KUBECONFIG, PASSWORD).await?;
    let up = up.await??;
    up.is(0, &format!("testplatformcluster/{name} is ready after"))?.is(0, "it ends in 59m")?;
    ensure!(!up.said.contains(PASSWORD) && !up.said.contains("of-a-cluster"), "a secret: {}", up.said);
    let history = fs::read_to_string(owner.room.join(".local/state/testplatform/history"))?;
    ensure!(history.trim_end().ends_with("\tipi-aws/aws"), "{history}");
    for terminal in [&owner, &administrator] {
        terminal.run("get -o wide").await?.is(0, "Ready   EphemeralCluster")?;
        let why = terminal.run(&format!("why {name}")).await?;
        why.is(0, "nothing, the cluster is ready")?.is(0, "kubeAdminPassword, kubeconfig")?;
    }
    let completed = owner.complete(&["why", "-n", &tenant.namespace, &name[..1]])?;
    ensure!(completed.contains(&format!("{name}\tReady")) && completed.contains("\n:4\n"), "{completed}");
    owner.run(&format!("wait {name} --timeout 1m")).await?.is(0, "condition met")?;
    owner.run(&format!("why {name} -o json")).await?.is(0, "\"phase\": \"Ready\"")?;
    owner.run(&format!("logs {name}")).await?.is(0, "https://prow.example/")?;
    owner.run("get -o name").await?.is(0, &format!("testplatformcluster.ci.openshift.org/{name}"))?;
    let printed = owner.run(&format!("kubeconfig {name}")).await?;
    ensure!(printed.code == Some(0) && printed.said == KUBECONFIG, "{}", printed.said);
    let context = format!("testplatform-{}-{name}", tenant.namespace);
    owner.run(&format!("kubeconfig {name} --merge")).await?.is(0, &context)?;
    // kubectl itself reads what was merged, and still goes where it went.
    let server = Command::new(owner.room.join("kubectl"))
        .args([
            "config",
            "view",
            "--minify",
            "--context",
            &context,
            "-ojsonpath={.clusters[0].cluster.server}",
        ])
        .env("KUBECONFIG", &owner.kubeconfig)
        .output()?;
    ensure!(server.stdout == b"https://api.made.example:6443", "{server:?}");

    // Nobody's cluster is ended by who asks for one of the same name.
    manifest(tenant, &owner, &json!({ "lifetime": "1s" }))?;
    let there = format!("note: testplatformcluster/{name} already exists (created ");
    let up = owner.run(&format!("up {file} --force-conflicts")).await?;
    up.is(2, &there)?.is(2, "would end at once")?;
    manifest(tenant, &owner, &json!({ "lifetime": "1h" }))?;

    owner.run(&format!("extend {name} --by 30m")).await?.is(0, "ends in 1h2")?;
    // Applying the same file again does not reset fields that were set since.
    let up = owner.run(&format!("up {file}")).await?;
    up.is(1, &there)?.is(1, ".spec.lifetime")?.is(1, "--force-conflicts")?;
    // The report shows the state after the change.
    owner
        .run(&format!("up {file} --force-conflicts"))
        .await?
        .is(0, "is ready after")?
        .is(0, "it ends in 5")?;

    let down = owner.start(&format!("down {name} --wait --timeout 5m"));
    controller.until_told_to_end(testplatform_tests::cluster::SOON).await?;
    controller.deprovision().await?;
    tenant.until_phase("Deprovisioning").await?;
    administrator.run(&format!("why {name}")).await?.is(0, "the hub to tear the cluster down")?;
    owner.run(&format!("extend {name} --by 1h")).await?.is(7, "is Deprovisioning")?;
    controller.deprovisioned().await?;
    down.await??
        .is(0, &format!("testplatformcluster/{name} is gone"))?
        .is(0, &format!("Removed context {context} from"))?;
    tenant.until_phase("Deprovisioned").await?;
    owner.run(&format!("kubeconfig {name}")).await?.is(7, "is Deprovisioned")?;
    owner.run(&format!("up {file} --force-conflicts")).await?.is(7, "is Deprovisioned")?;
    owner.run(&format!("down {name} --wait --delete")).await?.is(0, "is deleted")?;
    owner.run(&format!("down {name}")).await?.is(5, "there is no testplatformcluster")?;
    Ok(())
}

/// Reasons that keep a claim waiting or make it fail.
pub async fn ctl_trouble(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let [owner, administrator] = terminals(tenant).await?;

    // A template that nobody offers.
    let held = tenant.also("held", tenant.fulfilled).await?;
    let mut asked = held.manifest(&json!({ "template": "nowhere" }));
    asked["spec"].as_object_mut().context("no spec")?.remove("ciOperator");
    fs::write(owner.room.join("held.yaml"), asked.to_string())?;
    let words = "there is no template nowhere";
    owner.run("up held.yaml --timeout 30s").await?.is(3, words)?;
    for terminal in [&owner, &administrator] {
        let why = terminal.run("why held").await?;
        why.is(0, &format!("Waits for  TemplateNotFound: {words}"))?
            .is(0, "(docs/runbook/tenants.md#templatenotfound)")?;
    }
    let why = administrator.run("why held").await?;
    why.is(0, "✓ xtestplatformcluster/held-")?.is(0, "not created: TemplateNotFound")?;
    owner.run("down held --wait --timeout 1m").await?.is(0, "is gone (NothingToTearDown)")?;

    // Nobody may read what is not theirs, and that is said.
    let stranger = Terminal { namespace: "default".to_owned(), ..owner.clone() };
    stranger.run("get").await?.is(1, "forbidden")?.is(1, "You may read neither")?;

    // The job fails before the cluster is ready.
    let file = manifest(tenant, &owner, &json!({}))?;
    let up = owner.start(&format!("up {file} --timeout 5m"));
    let controller = tenant.controller().await?;
    controller.until_asked(testplatform_tests::cluster::SOON).await?;
    controller.provision().await?;
    controller.fail().await?;
    let name = tenant.name.as_str();
    up.await??.is(4, "is Failed")?.is(4, "the job that creates the cluster failed")?;
    tenant.until_condition("ProwJobCompleted", "True", "ProwJobFailure").await?;
    administrator.run(&format!("why {name}")).await?.is(0, "nothing, because Failed is final")?;
    owner.run(&format!("down {name} --wait --timeout 1m")).await?.is(6, "ProwJobFailure")?;
    owner.run(&format!("kubeconfig {name}")).await?.is(4, "is Failed")?;

    // Refusals by the API server.
    let mut both = tenant.manifest(&json!({ "template": "small" }));
    both["metadata"]["name"] = "both".into();
    fs::write(owner.room.join("both.yaml"), both.to_string())?;
    owner.run("up both.yaml").await?.is(1, "set exactly one of ciOperator, clusterClaim and template")?;
    Ok(())
}

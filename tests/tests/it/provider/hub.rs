//! A real hub, a real build cluster, and the real provider with exactly the rights that it ships with.

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    path::Path,
    process::Command,
    time::Duration,
};

use anyhow::{Context as _, bail};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use jiff::Timestamp;
use k8s_openapi::api::{
    authentication::v1::{TokenRequest, TokenRequestSpec},
    core::v1::ServiceAccount,
};
use kube::{Api, api::PostParams};
use serde_json::{Value, json};
use testplatform_tests::{
    binaries::Binaries,
    cluster::{At, Cluster, SOON, at, at_root, has},
    control_plane::{ControlPlane, Identity, connect},
    kinds::{CRD, EPHEMERAL_CLUSTER, Kind, SECRET},
    manifests,
    nest::{Nest, Process},
    ports::free_ports,
    program,
};

pub const PROW_JOB: Kind = Kind { api_version: "prow.k8s.io/v1", kind: "ProwJob" };
pub const LEASE: Kind = Kind { api_version: "coordination.k8s.io/v1", kind: "Lease" };
pub const CLUSTERS: &str = "ephemeral-cluster";
pub const JOBS: &str = "ci";
pub const ACCOUNT: &str = "provider-testplatform";
pub const LABEL: &str = "ci.openshift.io/ephemeral-cluster";
/// In the form in which the provider writes it.
pub const KUBECONFIG: &str = "\
apiVersion: v1
clusters:
- cluster:
    server: https://a
  name: a
contexts:
- context:
    cluster: a
    user: admin
  name: admin
current-context: admin
kind: Config
users:
- name: admin
  user:
    token: of-one
";

/// Everything that a scenario needs.
pub struct Hub {
    pub nest: Nest,
    main: ControlPlane,
    build: ControlPlane,
    /// The provider's own identity, on the hub and on the build cluster.
    pub as_provider: [Cluster; 2],
    pub port: u16,
}

impl Hub {
    /// Starts both control planes and installs what they have.
    pub async fn start() -> anyhow::Result<Self> {
        let binaries = Binaries::ensure()?;
        let (hub, build) = tokio::try_join!(
            ControlPlane::start("hub", &binaries),
            ControlPlane::start("build01", &binaries)
        )?;
        for name in ["ephemeralclusters.ci.openshift.io", "prowjobs.prow.k8s.io"] {
            hub.cluster().apply(&manifests::foreign_crd(name)?).await?;
            hub.cluster()
                .until_is(&at_root(CRD, name), SOON, "established", |crd| has(crd, "Established", "True", ""))
                .await?;
        }
        for name in [CLUSTERS, JOBS, ACCOUNT] {
            namespace(hub.cluster(), name, &json!({})).await?;
        }
        namespace(build.cluster(), ACCOUNT, &json!({})).await?;
        hub.cluster().apply_all(&manifests::package("install/hub/provider-rbac.yaml")?).await?;
        build.cluster().apply_all(&manifests::package("install/build-cluster/provider-rbac.yaml")?).await?;

        let nest = Nest::new("provider", None)?;
        let kubeconfigs = [kubeconfig(&hub, ACCOUNT).await?, kubeconfig(&build, ACCOUNT).await?];
        let kubeconfigs = kubeconfigs.map(|kubeconfig| kubeconfig.to_string());
        nest.file("kubeconfig", &kubeconfigs[0])?;
        nest.file("build-clusters/build01", &kubeconfigs[1])?;
        let [port] = free_ports()?;
        nest.file("config.yaml", serde_json::to_string_pretty(&configuration(nest.directory(), port))?)?;
        let as_provider = [
            Cluster::new("hub as provider", connect(&kubeconfigs[0]).await?),
            Cluster::new("build01 as provider", connect(&kubeconfigs[1]).await?),
        ];
        Ok(Self { nest, main: hub, build, as_provider, port })
    }

    /// Kubeconfigs with tokens of the provider's `ServiceAccount`: that of a namespace on the hub, and that of every
    /// provider on the build cluster.
    pub async fn kubeconfigs(&self, namespace: &str) -> anyhow::Result<[Value; 2]> {
        Ok([kubeconfig(&self.main, namespace).await?, kubeconfig(&self.build, ACCOUNT).await?])
    }

    /// Starts the provider.
    pub fn provider(&self) -> anyhow::Result<Process> {
        let mut command = Command::new(program::provider()?);
        command.args(["--config=config.yaml", "--kubeconfig=kubeconfig", "--log-format=text", "-d"]);
        self.nest.spawn("provider", &mut command)
    }

    pub fn hub(&self) -> &Cluster {
        self.main.cluster()
    }

    pub fn build(&self) -> &Cluster {
        self.build.cluster()
    }

    /// Asks for a cluster.
    pub async fn ask(&self, name: &str) -> anyhow::Result<Value> {
        Ok(self.hub().create(&ephemeral_cluster(name)).await?)
    }

    /// The job that was made for it.
    pub async fn job(&self, name: &str) -> anyhow::Result<Value> {
        let object = self
            .hub()
            .until_is(&cluster(name), SOON, "bound to a job", |ec| ec["status"]["prowJobId"].is_string())
            .await?;
        let id = object["status"]["prowJobId"].as_str().context("no job")?;
        self.hub().get(&at(PROW_JOB, JOBS, id)).await?.context("the job is not there")
    }

    /// Prow chooses the build cluster, and ci-operator makes its namespace there.
    pub async fn run_job(&self, job: &Value, namespace: &str) -> anyhow::Result<()> {
        let id = name_of(job);
        let running = json!({
            "spec": { "cluster": "build01" },
            "status": { "state": "pending", "url": format!("https://prow.example/{id}"),
                "pendingTime": whole_seconds() },
        });
        self.hub().merge(&at(PROW_JOB, JOBS, id), &running).await?;
        self::namespace(self.build(), namespace, &json!({ "ci.openshift.io/jobid": id })).await
    }

    /// Prow ends the job.
    pub async fn end_job(&self, job: &Value, state: &str) -> anyhow::Result<()> {
        let ended = json!({ "status": { "state": state, "completionTime": whole_seconds() } });
        Ok(self.hub().merge(&at(PROW_JOB, JOBS, name_of(job)), &ended).await?)
    }

    /// A step leaves the credentials.
    pub async fn install(&self, namespace: &str, password: &str) -> anyhow::Result<()> {
        self.leave(namespace, KUBECONFIG, password).await
    }

    /// A kubeconfig of a cluster that does not know whoever has it: the build cluster's own stands for the cluster.
    pub fn refused_kubeconfig(&self) -> String {
        self.build.kubeconfig_for(&Identity::Token("not-a-token".into())).to_string()
    }

    /// A step leaves these credentials.
    pub async fn leave(&self, namespace: &str, kubeconfig: &str, password: &str) -> anyhow::Result<()> {
        self.build()
            .apply(&json!({
                "apiVersion": "v1", "kind": "Secret",
                "metadata": { "name": "cluster-provisioning", "namespace": namespace },
                "stringData": { "kubeconfig": kubeconfig, "kubeadmin-password": password },
            }))
            .await
            .map(|_| ())
    }

    /// One page of the provider's own HTTP.
    pub fn page(&self, path: &str) -> anyhow::Result<String> {
        page(self.port, path)
    }

    /// The value of a counter without labels.
    pub fn metric(&self, line: &str) -> anyhow::Result<u64> {
        let page = self.page("/metrics")?;
        let value = page.lines().find_map(|l| l.strip_prefix(line)?.trim().parse().ok());
        value.with_context(|| format!("{line} is not among the metrics:\n{page}"))
    }
}

/// One page of a provider's own HTTP.
pub fn page(port: u16, path: &str) -> anyhow::Result<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    let (head, body) = text.split_once("\r\n\r\n").context("no answer")?;
    if !head.starts_with("HTTP/1.1 200") {
        bail!("{path}: {head}");
    }
    Ok(body.to_owned())
}

/// Where an EphemeralCluster is.
pub fn cluster(name: &str) -> At {
    at(EPHEMERAL_CLUSTER, CLUSTERS, name)
}

/// Where its credentials are.
pub fn credentials(name: &str) -> At {
    at(SECRET, CLUSTERS, &format!("{name}-credentials"))
}

pub fn name_of(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}

pub fn is_in(phase: &str) -> impl Fn(&Value) -> bool + use<'_> {
    move |object: &Value| object["status"]["phase"] == phase
}

pub fn ephemeral_cluster(name: &str) -> Value {
    json!({
        "apiVersion": "ci.openshift.io/v1", "kind": "EphemeralCluster",
        "metadata": { "name": name, "namespace": CLUSTERS, "annotations": {
            "ephemeralcluster.ci.openshift.io/konflux-cluster": "stone",
            "ephemeralcluster.ci.openshift.io/konflux-tenant": "acme-tenant",
        } },
        "spec": { "ciOperator": {
            "releases": { "latest": { "candidate": { "product": "ocp", "stream": "nightly", "version": "4.20" } } },
            "test": { "workflow": "ipi-aws", "clusterProfile": "aws" },
        } },
    })
}

/// The provider's configuration, with its files in a directory.
pub fn configuration(directory: &Path, port: u16) -> Value {
    let owner = json!({ "konflux": { "tenant": "acme-tenant", "clusters": ["stone"] } });
    let profiles =
        json!({ "cluster_profiles": [{ "name": "aws", "cluster_type": "aws", "owners": [owner] }] });
    json!({
        "ephemeralCluster": { "mode": "fulfil", "abortGrace": "2s", "clusterProfiles": { "inline": profiles } },
        "buildClusters": { "directory": directory.join("build-clusters") },
        "http": { "address": format!("127.0.0.1:{port}") },
    })
}

pub async fn namespace(cluster: &Cluster, name: &str, labels: &Value) -> anyhow::Result<()> {
    let manifest =
        json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name, "labels": labels } });
    cluster.apply(&manifest).await.map(|_| ())
}

/// As it is in the data of a Secret.
pub fn encoded(text: &str) -> String {
    BASE64_STANDARD.encode(text)
}

/// A kubeconfig with a token of the provider's `ServiceAccount` in a namespace.
pub async fn kubeconfig(plane: &ControlPlane, namespace: &str) -> anyhow::Result<Value> {
    let accounts: Api<ServiceAccount> = Api::namespaced(plane.client(), namespace);
    let request = TokenRequest { spec: Some(TokenRequestSpec::default()), ..TokenRequest::default() };
    let issued = accounts.create_token_request(ACCOUNT, &PostParams::default(), &request).await?;
    let token = issued.status.and_then(|status| status.token).context("no token was issued")?;
    Ok(plane.kubeconfig_for(&Identity::Token(token)))
}

/// Now, as API servers write it.
#[expect(clippy::disallowed_methods, reason = "a job that runs began now")]
pub fn whole_seconds() -> String {
    Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

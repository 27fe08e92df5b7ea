//! Artifacts that the testbed can obtain, and the Go modules that pin their versions.

use std::path::{Path, PathBuf};

/// A directory with `go.mod` and `go.sum`, which pin every version.
#[derive(Debug)]
pub struct GoModule {
    /// Path below the root of the repository.
    pub directory: &'static str,
    /// Build time on two idle cores, for progress messages.
    pub build_time: &'static str,
    /// Variables that the linker sets, each with the Go module whose version is its value.
    pub versions: &'static [(&'static str, &'static str)],
    /// Variables that the linker sets to fixed values.
    pub linker_values: &'static [(&'static str, &'static str)],
    /// Artifacts that come from this module.
    pub artifacts: &'static [Artifact],
}

/// A program or a set of manifests. Each is one entry of the cache.
#[derive(Debug)]
pub struct Artifact {
    /// Name of the entry. A program has this name in `bin/`.
    pub name: &'static str,
    /// Recipe for its files.
    pub content: Content,
}

/// Files of an artifact.
#[derive(Debug)]
pub enum Content {
    /// An executable.
    Program {
        /// Go package with its `main` function.
        package: &'static str,
        /// File name that `go build` gives it.
        output: &'static str,
        /// Environment variable that names another program, or the directory of one, to use in its place.
        variable: &'static str,
    },
    /// YAML files that a Go module ships.
    Manifests {
        /// Go module that has them.
        module: &'static str,
        /// Directory in that module.
        directory: &'static str,
    },
    /// CRDs and webhooks of controllers, as kubebuilder lays them out.
    Configurations {
        /// The `config` directory of each controller.
        of: &'static [Configuration],
        /// Environment variable that names a directory with another set of them.
        variable: &'static str,
    },
}

/// The `config` directory of a controller: its CRDs are in `crd/bases`, its webhooks in `webhook/manifests.yaml`.
#[derive(Debug)]
pub struct Configuration {
    /// Directory in the entry.
    pub name: &'static str,
    /// Go module that has them.
    pub module: &'static str,
    /// Directory in that module.
    pub directory: &'static str,
}

const KUBERNETES: &str = "k8s.io/kubernetes";
const CROSSPLANE: &str = "github.com/crossplane/crossplane/v2";
const CLUSTER_API: &str = "sigs.k8s.io/cluster-api";
/// Environment variable of a directory with other programs of Cluster API, or their definitions.
pub const CLUSTER_API_VARIABLE: &str = "TESTPLATFORM_CLUSTER_API";
const PROVIDER_KUBERNETES: &str = "github.com/crossplane-contrib/provider-kubernetes";

const fn program(
    name: &'static str,
    package: &'static str,
    output: &'static str,
    variable: &'static str,
) -> Artifact {
    Artifact { name, content: Content::Program { package, output, variable } }
}

const fn manifests(name: &'static str, module: &'static str, directory: &'static str) -> Artifact {
    Artifact { name, content: Content::Manifests { module, directory } }
}

const fn configuration(name: &'static str, module: &'static str, directory: &'static str) -> Configuration {
    Configuration { name, module, directory }
}

/// Every module, in the order in which they are built.
pub static MODULES: [GoModule; 10] = [
    GoModule {
        directory: "tests/controlplane",
        build_time: "6 minutes",
        versions: &[("k8s.io/component-base/version.gitVersion", KUBERNETES)],
        linker_values: &[],
        artifacts: &[
            program("etcd", "go.etcd.io/etcd/server/v3", "server", "KUBEBUILDER_ASSETS"),
            program(
                "kube-apiserver",
                "k8s.io/kubernetes/cmd/kube-apiserver",
                "kube-apiserver",
                "KUBEBUILDER_ASSETS",
            ),
            program(
                "kube-controller-manager",
                "k8s.io/kubernetes/cmd/kube-controller-manager",
                "kube-controller-manager",
                "KUBEBUILDER_ASSETS",
            ),
            program("kubectl", "k8s.io/kubernetes/cmd/kubectl", "kubectl", "KUBEBUILDER_ASSETS"),
        ],
    },
    GoModule {
        directory: "tests/crossplane",
        build_time: "3 minutes",
        versions: &[("github.com/crossplane/crossplane-runtime/v2/pkg/version.version", CROSSPLANE)],
        linker_values: &[],
        artifacts: &[
            program(
                "crossplane",
                "github.com/crossplane/crossplane/v2/cmd/crossplane",
                "crossplane",
                "CROSSPLANE_BIN",
            ),
            manifests("crossplane-crds", CROSSPLANE, "cluster/crds"),
        ],
    },
    GoModule {
        directory: "tests/provider-kubernetes",
        build_time: "2 minutes",
        versions: &[],
        linker_values: &[],
        artifacts: &[
            program(
                "provider-kubernetes",
                "github.com/crossplane-contrib/provider-kubernetes/cmd/provider",
                "provider",
                "PROVIDER_KUBERNETES_BIN",
            ),
            manifests("provider-kubernetes-crds", PROVIDER_KUBERNETES, "package/crds"),
        ],
    },
    GoModule {
        directory: "tests/cluster-api",
        build_time: "5 minutes",
        versions: &[("sigs.k8s.io/cluster-api/version.gitVersion", CLUSTER_API)],
        linker_values: &[],
        artifacts: &[
            program("cluster-api-core", "sigs.k8s.io/cluster-api/core", "core", CLUSTER_API_VARIABLE),
            program(
                "cluster-api-bootstrap",
                "sigs.k8s.io/cluster-api/bootstrap/kubeadm",
                "kubeadm",
                CLUSTER_API_VARIABLE,
            ),
            program(
                "cluster-api-control-plane",
                "sigs.k8s.io/cluster-api/controlplane/kubeadm",
                "kubeadm",
                CLUSTER_API_VARIABLE,
            ),
            program(
                "cluster-api-infrastructure",
                "sigs.k8s.io/cluster-api/test/infrastructure/docker",
                "docker",
                CLUSTER_API_VARIABLE,
            ),
            Artifact {
                name: "cluster-api-definitions",
                content: Content::Configurations {
                    of: &[
                        configuration("cluster-api-core", CLUSTER_API, "core/config"),
                        configuration("cluster-api-bootstrap", CLUSTER_API, "bootstrap/kubeadm/config"),
                        configuration(
                            "cluster-api-control-plane",
                            CLUSTER_API,
                            "controlplane/kubeadm/config",
                        ),
                        configuration(
                            "cluster-api-infrastructure",
                            "sigs.k8s.io/cluster-api/test",
                            "infrastructure/docker/config",
                        ),
                    ],
                    variable: CLUSTER_API_VARIABLE,
                },
            },
        ],
    },
    // Validates Tekton objects as Tekton's webhook does.
    GoModule {
        directory: "tests/tekton",
        build_time: "1 minute",
        versions: &[],
        linker_values: &[],
        artifacts: &[program("tekton-check", ".", "tekton", "TEKTON_CHECK_BIN")],
    },
    // A registry in memory, the one that google/go-containerregistry ships for tests.
    GoModule {
        directory: "package/tests/registry",
        build_time: "10 seconds",
        versions: &[],
        linker_values: &[],
        artifacts: &[program("registry", ".", "registry", "REGISTRY_BIN")],
    },
    // Reads packages as Crossplane does.
    GoModule {
        directory: "package/tests/parser",
        build_time: "1 minute",
        versions: &[],
        linker_values: &[],
        artifacts: &[program("package-parser", ".", "parser", "PACKAGE_PARSER_BIN")],
    },
    // Checks workflows as the forge reads them.
    GoModule {
        directory: "package/tests/actionlint",
        build_time: "20 seconds",
        versions: &[],
        linker_values: &[],
        artifacts: &[program(
            "actionlint",
            "github.com/rhysd/actionlint/cmd/actionlint",
            "actionlint",
            "ACTIONLINT_BIN",
        )],
    },
    // Renders the charts.
    GoModule {
        directory: "package/tests/helm",
        build_time: "3 minutes",
        versions: &[],
        // The Kubernetes that helm assumes without a cluster, as its releases have it: that of client-go.
        linker_values: &[
            ("helm.sh/helm/v3/pkg/chartutil.k8sVersionMajor", "1"),
            ("helm.sh/helm/v3/pkg/chartutil.k8sVersionMinor", "37"),
        ],
        artifacts: &[program("helm", "helm.sh/helm/v3/cmd/helm", "helm", "HELM_BIN")],
    },
    // Decodes answers of the function with Crossplane's own messages.
    GoModule {
        directory: "function/tests/godecode",
        build_time: "20 seconds",
        versions: &[],
        linker_values: &[],
        artifacts: &[program("response-decoder", ".", "godecode", "RESPONSE_DECODER_BIN")],
    },
];

/// Root of this repository.
#[must_use]
pub fn repository() -> PathBuf {
    let engines = Path::new(env!("CARGO_MANIFEST_DIR"));
    engines.ancestors().nth(2).unwrap_or(engines).to_owned()
}

/// The artifact with this name and its module.
#[must_use]
pub fn find_artifact(name: &str) -> Option<(&'static GoModule, &'static Artifact)> {
    let all =
        MODULES.iter().flat_map(|module| module.artifacts.iter().map(move |artifact| (module, artifact)));
    all.into_iter().find(|(_, artifact)| artifact.name == name)
}

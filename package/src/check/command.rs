//! The command line of `cargo xpkg check`.

use std::{
    collections::BTreeSet,
    fmt::Display,
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
};

use anyhow::{Context as _, ensure};
use jiff::Timestamp;
use kube::{
    Api, Client,
    api::{DynamicObject, ListParams},
    core::{ApiResource, GroupVersionKind},
};
use serde::Serialize;
use serde_json::Value;
use testplatform_apis::claim::{API_VERSION, COMPOSITE_KIND};

use super::{
    CheckProblem, catalogue, check_package, crossplane, has_errors,
    hub::{
        needs::{CheckPlan, Subject as Backend},
        query::query_hub,
    },
    revisions, rollback, served,
};
use crate::{
    access::{Access, block_on, describe_error},
    oci::layout,
    registry::{self, Reference, command::Connection},
    signature::command::{find_problem, read_verifying_key},
};

/// Check what was built or installed. Exits with 3 if something is wrong, with 1 if it cannot be checked.
#[derive(clap::Args, Clone, Debug)]
pub struct CheckArgs {
    #[command(subcommand)]
    subject: CheckCommand,
}

#[derive(clap::Subcommand, Clone, Debug)]
enum CheckCommand {
    /// Read a package as Crossplane's package manager does, and say everything that is wrong with it.
    Xpkg {
        /// An OCI layout (a folder), an archive (.xpkg), or a reference in a registry.
        #[arg(value_name = "FILE|REF")]
        package: String,
        /// Public key by which it has to be signed. The package is then named by digest in a registry: REGISTRY/REPOSITORY@sha256:…
        #[arg(long, value_name = "FILE")]
        key: Option<PathBuf>,
        #[command(flatten)]
        connection: Connection,
    },
    /// Check that a hub has everything that claims need: kinds, namespaces, rights, and a token that does not expire soon. Use the
    /// kubeconfig of the hub's ProviderConfig. Exits with 0 if nothing is missing, with 3 if something
    /// is, with 1 if the check fails.
    Hub {
        #[command(flatten)]
        access: Access,
        /// Uses of the hub [default: all that it serves, except byoc, byoc-template and space, which cannot be detected]. May be given several
        /// times.
        #[arg(long, value_name = "BACKEND", value_parser = Backend::parse)]
        backend: Vec<Backend>,
        /// Namespace of a backend's objects on the hub, where it is another than usual. May be given several times.
        #[arg(long, value_name = "BACKEND=NAMESPACE", value_parser = parse_namespace)]
        namespace: Vec<(Backend, String)>,
        /// Namespace of published credentials, where it is another than usual.
        #[arg(long, value_name = "NAMESPACE")]
        credentials_namespace: Option<String>,
        /// Namespace of ConfigMap testplatform-hub.
        #[arg(long, value_name = "NAMESPACE", default_value = "provider-testplatform")]
        facts_namespace: String,
    },
    /// List programs that the cluster lacks, and composites that use an older revision of the Composition. Remove the functions of a
    /// replaced Composition only when there are none. Also advises on Crossplane's arguments. Exits with 0 if there are none, with 3 if
    /// there are, with 1 if the check fails.
    Cluster {
        #[command(flatten)]
        access: Access,
        /// The Composition that all composites of its kind are to go by.
        #[arg(long, value_name = "NAME", default_value = "testplatform-ephemeral-cluster")]
        composition: String,
        /// List composites that the incumbent's Composition cannot have instead: under it they would lose their cluster, or get another.
        /// Ask before you switch back.
        #[arg(long, conflicts_with = "composition")]
        back: bool,
        /// Before an installation, compare rendered manifests with the cluster: list programs and namespaces that they need and that are
        /// missing. `-` reads the standard input, such as the output of `kubectl kustomize` or `helm template`.
        #[arg(long, value_name = "FILE", conflicts_with_all = ["composition", "back"])]
        manifests: Option<PathBuf>,
        /// Print JSON, for programs.
        #[arg(long)]
        json: bool,
    },
    /// Read files as the function does: the catalogue of templates, that of pools and its input in a Composition. Report every flaw with
    /// file, line and field. Needs nothing but the files.
    Catalogue {
        /// YAML files. Documents that are none of these are passed over.
        #[arg(value_name = "FILE", required = true)]
        files: Vec<PathBuf>,
    },
}

fn parse_namespace(text: &str) -> Result<(Backend, String), String> {
    match text.split_once('=') {
        Some((backend, namespace)) if !namespace.is_empty() => {
            Ok((Backend::parse(backend)?, namespace.to_owned()))
        }
        _ => Err("expected backend=namespace".to_owned()),
    }
}

/// Checks and prints; false if there is a problem.
///
/// # Errors
/// If the input cannot be read.
pub fn run(arguments: &CheckArgs, out: &mut impl Write, now: Timestamp) -> anyhow::Result<bool> {
    match &arguments.subject {
        CheckCommand::Catalogue { files } => check_files(files, out),
        CheckCommand::Xpkg { package, key, connection } => {
            check_xpkg(package, key.as_deref(), *connection, out)
        }
        CheckCommand::Hub { access, backend, namespace, credentials_namespace, facts_namespace } => {
            let named = !backend.is_empty();
            let plan = CheckPlan {
                subjects: if named { backend.clone() } else { Backend::default_subjects() },
                named,
                custom_namespaces: namespace.iter().cloned().collect(),
                credentials: credentials_namespace.clone(),
                facts: facts_namespace.clone(),
            };
            let report = block_on(query_hub(access, &plan, now))?;
            write!(out, "{report}").context("cannot print")?;
            Ok(report.is_clean())
        }
        CheckCommand::Cluster { access, back: true, json, .. } => {
            let composites = block_on(async {
                list_objects(
                    &access.build_client(access.read_kubeconfig()?).await?,
                    API_VERSION,
                    COMPOSITE_KIND,
                )
                .await
            })?;
            let report = rollback::build_report(&composites);
            print_report(&report, *json, out)?;
            Ok(report.is_clean())
        }
        CheckCommand::Cluster { access, manifests: Some(file), json, .. } => {
            let manifests = read_manifests(file)?;
            let kinds = served::used_kinds(&manifests);
            let facts = block_on(async {
                let client = access.build_client(access.read_kubeconfig()?).await?;
                query_cluster(&client, &kinds).await
            })?;
            let report = served::check_manifests(&manifests, &facts);
            print_report(&report, *json, out)?;
            Ok(report.missing.is_empty())
        }
        CheckCommand::Cluster { access, composition, back: false, manifests: None, json } => {
            let report = block_on(compare_revisions(access, composition))?;
            print_report(&report, *json, out)?;
            Ok(report.is_clean())
        }
    }
}

fn print_report(report: &(impl Serialize + Display), json: bool, out: &mut impl Write) -> anyhow::Result<()> {
    let text = if json { serde_json::to_string_pretty(report)? + "\n" } else { report.to_string() };
    out.write_all(text.as_bytes()).context("cannot print")
}

/// Compares all revisions and all composites of the Composition's kind.
async fn compare_revisions(access: &Access, composition: &str) -> anyhow::Result<revisions::RevisionReport> {
    let client = access.build_client(access.read_kubeconfig()?).await?;
    let required = served::REQUIRED.map(|(version, kind)| (version.to_owned(), kind.to_owned()));
    let required = BTreeSet::from(required);
    let missing = served::find_missing_kinds(&required, &query_cluster(&client, &required).await?);
    if !missing.is_empty() {
        return Ok(revisions::RevisionReport { missing, ..revisions::build_report(composition, &[], &[]) });
    }
    let revisions = list_objects(&client, "apiextensions.crossplane.io/v1", "CompositionRevision").await?;
    let made = revisions::composite_kind(composition, &revisions);
    let (api_version, kind) =
        made.with_context(|| format!("there is no revision of a Composition {composition}"))?;
    let composites = list_objects(&client, api_version, kind).await?;
    let mut report = revisions::build_report(composition, &composites, &revisions);
    // A reader of composites may lack permission for Deployments. The report is complete without them.
    report.advice = match list_objects(&client, "apps/v1", "Deployment").await {
        Ok(deployments) => crossplane::advise_deployments(&deployments),
        Err(error) => vec![format!("Crossplane's arguments were not checked: {error:#}")],
    };
    Ok(report)
}

/// The versions of kinds that the API server serves, as far as they are asked for, and its namespaces.
async fn query_cluster(
    client: &Client,
    kinds: &BTreeSet<served::Kind>,
) -> anyhow::Result<served::ClusterFacts> {
    let groups = client.list_api_groups().await.map_err(describe_error).context("cannot list API groups")?;
    let available: BTreeSet<String> = groups
        .groups
        .into_iter()
        .flat_map(|group| group.versions.into_iter().map(|version| version.group_version))
        .collect();
    let versions: BTreeSet<&str> = kinds.iter().map(|(version, _)| version.as_str()).collect();
    let mut facts = served::ClusterFacts::default();
    for version in versions {
        let resources = if !version.contains('/') {
            client.list_core_api_resources(version).await
        } else if available.contains(version) {
            client.list_api_group_resources(version).await
        } else {
            continue;
        };
        let resources =
            resources.map_err(describe_error).with_context(|| format!("cannot list {version}"))?;
        facts
            .kinds
            .extend(resources.resources.into_iter().map(|resource| (version.to_owned(), resource.kind)));
    }
    // An installer may lack this permission. The report is complete without it, except for namespaces.
    let namespaces = list_objects(client, "v1", "Namespace").await.ok();
    facts.namespaces = namespaces.map(|all| {
        all.iter().filter_map(|object| object["metadata"]["name"].as_str().map(str::to_owned)).collect()
    });
    Ok(facts)
}

/// The objects of a file, or of the standard input.
fn read_manifests(file: &Path) -> anyhow::Result<Vec<Value>> {
    let text = if file == Path::new("-") {
        io::read_to_string(io::stdin()).context("cannot read the standard input")?
    } else {
        fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?
    };
    let name = file.display();
    let documents: Vec<Value> =
        serde_saphyr::from_multiple(&text).with_context(|| format!("{name} is not YAML"))?;
    let objects: Vec<Value> = documents.into_iter().filter(|document| !document.is_null()).collect();
    ensure!(
        !objects.is_empty(),
        "{name} has no objects; render the manifests with `kubectl kustomize` first"
    );
    let is_object = |object: &Value| object["apiVersion"].is_string() && object["kind"].is_string();
    ensure!(objects.iter().all(is_object), "{name} has a document without apiVersion and kind");
    Ok(objects)
}

async fn list_objects(client: &Client, api_version: &str, kind: &str) -> anyhow::Result<Vec<Value>> {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
    let api: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
    let listed = api.list(&ListParams::default()).await.map_err(describe_error);
    let listed = listed.with_context(|| format!("cannot list {}.{group}", resource.plural))?;
    listed.items.into_iter().map(|item| Ok(serde_json::to_value(item)?)).collect()
}

fn check_files(files: &[PathBuf], out: &mut impl Write) -> anyhow::Result<bool> {
    let read = |path: &PathBuf| -> anyhow::Result<(String, String)> {
        let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        Ok((path.display().to_string(), text))
    };
    let texts: Vec<(String, String)> = files.iter().map(read).collect::<Result<_, _>>()?;
    let report = catalogue::check_catalogue(&texts);
    let counted =
        |number: usize, what: &str| format!("{number} {what}{}", if number == 1 { "" } else { "s" });
    let mut found =
        vec![counted(report.templates, "template"), counted(report.pools, "catalogue") + " of pools"];
    if report.inputs > 0 {
        found.push(counted(report.inputs, "Composition") + " with an input");
    }
    let wrong = match report.problems.len() {
        0 => "nothing is wrong".to_owned(),
        number => counted(number, "problem"),
    };
    for problem in &report.problems {
        writeln!(out, "{problem}").context("cannot print")?;
    }
    writeln!(out, "{}: {wrong}", found.join(", ")).context("cannot print")?;
    Ok(!has_errors(&report.problems))
}

fn check_xpkg(
    name: &str,
    key: Option<&Path>,
    connection: Connection,
    out: &mut impl Write,
) -> anyhow::Result<bool> {
    let path = Path::new(name);
    let artifact = if path.exists() {
        layout::open(path)?
    } else {
        let reference: Reference =
            name.parse().with_context(|| format!("{name} is not a file here, and no reference either"))?;
        registry::command::pull_artifact(&reference, connection)?
    };
    let (summary, mut problems) = check_package(&artifact);
    if let Some(key) = key {
        let key = read_verifying_key(key)?;
        let reference: Reference = name.parse().context("only packages in a registry have signatures")?;
        let problem = find_problem(&reference, &key, connection)?;
        problems.extend(problem.map(|problem| CheckProblem::error("signature", problem)));
    }
    print_package(out, artifact.root.digest(), &summary, &problems).context("cannot print")?;
    Ok(!has_errors(&problems))
}

fn print_package(
    out: &mut impl Write,
    digest: &crate::oci::Digest,
    summary: &super::PackageSummary,
    problems: &[super::CheckProblem],
) -> std::io::Result<()> {
    let unknown = |text: &str| if text.is_empty() { "?".to_owned() } else { text.to_owned() };
    writeln!(out, "{} {} {digest}", unknown(&summary.kind), unknown(&summary.name))?;
    writeln!(out, "platforms: {}", unknown(&summary.platforms.join(", ")))?;
    for object in &summary.objects {
        writeln!(out, "has {object}")?;
    }
    for problem in problems {
        writeln!(out, "{problem}")?;
    }
    if problems.is_empty() {
        writeln!(out, "nothing is wrong with it")?;
    }
    Ok(())
}

//! The example of a GitOps repository: its Applications, what they render, and the promotion of a ring.
//!
//! Pins of this repository lead to the working copy here, so nothing is fetched. `kubectl kustomize` renders.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use clap::Parser as _;
use mlua::{Lua, LuaSerdeExt as _};
use serde_json::{Value, json};
use tempfile::TempDir;
use testplatform_package::bump::command::{self, BumpArgs};

use crate::install::{
    charts::support::{Objects, engine, list_files, read_objects},
    documents, repository,
};

const EXAMPLE: &str = "examples/gitops";
/// Address of this repository in the example.
const SOURCE: &str = "https://github.com/OWNER/NAME/";
/// The commit that every ring pins, and one that a ring moves to.
const PINNED: &str = "1111111111111111111111111111111111111111";
const NEWER: &str = "2222222222222222222222222222222222222222";
/// Applications by wave.
const WAVES: [(&str, &str); 7] = [
    ("testplatform-hub-01", "0"),
    ("crossplane-staging-01", "1"),
    ("crossplane-prod-01", "1"),
    ("provider-kubernetes-staging-01", "2"),
    ("provider-kubernetes-prod-01", "2"),
    ("testplatform-staging-01", "3"),
    ("testplatform-prod-01", "3"),
];

/// A copy of the example.
struct Copy {
    directory: TempDir,
}

impl Copy {
    fn new(change: impl Fn(&Path, String) -> String) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let example = repository().join(EXAMPLE);
        for file in list_files(&example) {
            let to = directory.path().join(&file);
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            let text = fs::read_to_string(example.join(&file)).unwrap();
            fs::write(&to, change(to.parent().unwrap(), text)).unwrap();
        }
        Self { directory }
    }

    /// A copy whose pins of this repository are paths of the working copy.
    fn with_local_sources() -> Self {
        Self::new(|directory, text| {
            let depth = directory.canonicalize().unwrap().components().count() - 1;
            let local = format!("{}{}/", "../".repeat(depth), &repository().to_str().unwrap()[1..]);
            text.replace(SOURCE, &local).replace(&format!("?ref={PINNED}"), "")
        })
    }

    fn path(&self, below: &str) -> PathBuf {
        self.directory.path().join(below)
    }

    fn render(&self, below: &str) -> Objects {
        let output = Command::new(engine("kubectl")).arg("kustomize").arg(self.path(below)).output().unwrap();
        let problem = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success() && problem.is_empty(), "{below}: {problem}");
        read_objects(std::str::from_utf8(&output.stdout).unwrap())
    }

    /// Files that have a text.
    fn files_with(&self, text: &str) -> Vec<String> {
        let files = list_files(self.directory.path()).into_iter();
        let has = |file: &String| fs::read_to_string(self.path(file)).unwrap_or_default().contains(text);
        files.filter(|file| !file.starts_with(".git/") && has(file)).collect()
    }

    fn git(&self, arguments: &[&str]) {
        let mut command = Command::new("git");
        command.current_dir(self.directory.path()).args([
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@example.org",
        ]);
        let output = command.args(arguments).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

fn applications(copy: &Copy) -> BTreeMap<String, Value> {
    let all = copy.render("argo-cd-apps").into_values();
    all.map(|object| {
        assert_eq!(object["kind"], "Application", "{object}");
        (object["metadata"]["name"].as_str().unwrap().to_owned(), object)
    })
    .collect()
}

#[test]
fn applications_are_in_waves() {
    let applications = applications(&Copy::with_local_sources());
    let waves = applications.iter().map(|(name, application)| {
        let wave = &application["metadata"]["annotations"]["argocd.argoproj.io/sync-wave"];
        (name.as_str(), wave.as_str().unwrap())
    });
    assert_eq!(waves.collect::<BTreeMap<_, _>>(), BTreeMap::from(WAVES));
    for (name, application) in &applications {
        let spec = &application["spec"];
        assert_eq!(application["metadata"]["namespace"], "argocd", "{name}");
        let cluster = spec["destination"]["name"].as_str().unwrap();
        assert!(
            name.ends_with(cluster.trim_start_matches("hub")) && cluster.contains("-0"),
            "{name}: {cluster}"
        );
        // A prune would leave claims unattended.
        assert_eq!(spec["syncPolicy"]["automated"], json!({ "selfHeal": true }), "{name}");
    }
    let root = documents(&repository().join(EXAMPLE).join("root.yaml")).remove(0);
    assert_eq!(root["spec"]["source"]["path"], "argo-cd-apps");
}

/// Every path of an Application renders, with the name of its cluster, and from a registry of the platform team.
#[test]
fn applications_render() {
    let copy = Copy::with_local_sources();
    let mut rendered = 0;
    for (name, application) in applications(&copy) {
        let Some(path) = application["spec"]["source"]["path"].as_str() else {
            assert!(
                name.starts_with("crossplane-") && application["spec"]["source"]["chart"] == "crossplane"
            );
            continue;
        };
        rendered += 1;
        let objects = copy.render(path);
        let text = format!("{objects:?}");
        assert!(!text.contains("xpkg.example.org") && !text.contains("name-of-this-cluster"), "{name}");
        let cluster = application["spec"]["destination"]["name"].as_str().unwrap();
        let config = objects.values().find(|object| object["kind"] == "EnvironmentConfig");
        assert_eq!(
            config.is_some(),
            name.starts_with("testplatform-") && !cluster.starts_with("hub"),
            "{name}"
        );
        if let Some(config) = config {
            assert_eq!(config["data"]["clusterName"], cluster);
        }
    }
    assert_eq!(rendered, 5);
}

/// Flags of the guide for provider-kubernetes.
#[test]
fn provider_kubernetes_has_the_arguments_of_the_guide() {
    let objects = Copy::with_local_sources().render("components/provider-kubernetes");
    let config = objects.values().find(|object| object["kind"] == "DeploymentRuntimeConfig").unwrap();
    let container = &config["spec"]["deploymentTemplate"]["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(container["args"], json!(["--sanitize-secrets", "--enable-watches"]));
    assert_eq!(config["spec"]["serviceAccountTemplate"]["metadata"]["name"], "provider-kubernetes");
}

fn bump(copy: &Copy, line: &str) -> (u8, String) {
    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        arguments: BumpArgs,
    }
    let directory = copy.directory.path().to_str().unwrap();
    let rings = copy.path("rings.yaml");
    let line = line.replace("--repo .", &format!("--repo {directory}"));
    let line =
        line.replace("--rings rings.yaml", &format!("--rings {}", rings.display())).replace("COMMIT", NEWER);
    let words = line.strip_prefix("cargo xpkg bump ").unwrap().split_whitespace();
    let arguments = Line::parse_from(std::iter::once("bump").chain(words)).arguments;
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let code = command::run(&arguments, &mut out, &mut err, 0).unwrap();
    (code, String::from_utf8([out, err].concat()).unwrap())
}

/// The commands of the README, as they stand there: one ring moves after the other.
#[test]
fn rings_are_promoted_one_by_one() {
    let readme = fs::read_to_string(repository().join(EXAMPLE).join("README.md")).unwrap();
    let commands: Vec<&str> =
        readme.lines().map(str::trim).filter(|line| line.starts_with("cargo xpkg bump ")).collect();
    let [staging, production, check] = commands[..] else { panic!("{commands:?}") };
    let copy = Copy::new(|_, text| text);
    copy.git(&["init", "--quiet", "--initial-branch=main"]);
    copy.git(&["add", "."]);
    copy.git(&["commit", "--quiet", "--message=One"]);
    let base = |ring: &str| format!("components/testplatform/rings/{ring}/base/kustomization.yaml");
    for (line, moved) in [(staging, vec![base("ring-1")]), (production, vec![base("ring-1"), base("ring-2")])]
    {
        let (code, printed) = bump(&copy, line);
        assert_eq!(code, command::CHANGED, "{line}: {printed}");
        assert_eq!(copy.files_with(NEWER), moved, "{line}");
        copy.git(&["commit", "--quiet", "--all", "--message=Move"]);
    }
    let (code, printed) = bump(&copy, check);
    assert_eq!(code, command::UNCHANGED, "{printed}");
    assert_eq!(copy.files_with(PINNED), ["components/testplatform-hub/rings/ring-1/base/kustomization.yaml"]);
}

/// Argo CD starts the next wave when an Application is both synced and healthy.
#[test]
fn applications_are_healthy_after_the_sync() {
    let config = documents(&repository().join(EXAMPLE).join("argo-cd/argocd-cm.yaml")).remove(0);
    let check = config["data"]["resource.customizations.health.argoproj.io_Application"].as_str().unwrap();
    let lua = Lua::new();
    let status = |application: Value| {
        lua.globals().set("obj", lua.to_value(&application).unwrap()).unwrap();
        lua.load(check).eval::<mlua::Table>().unwrap().get::<String>("status").unwrap()
    };
    assert_eq!(status(json!({})), "Progressing");
    for (health, sync, expected) in [
        ("Healthy", "Synced", "Healthy"),
        ("Healthy", "OutOfSync", "Progressing"),
        ("Progressing", "Synced", "Progressing"),
        ("Degraded", "Synced", "Degraded"),
        ("Missing", "OutOfSync", "Missing"),
    ] {
        let application = json!({ "status": { "health": { "status": health }, "sync": { "status": sync } } });
        assert_eq!(status(application), expected, "{health} and {sync}");
    }
}

//! Repositories to try it on.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;
use testplatform_package::bump::{Environment, Plan, Problem, Request, Rings, Scope, Tree, disk};

pub const COMPONENT: &str = "components/crossplane-control-plane";
pub const OLD: &str = "93468e78be8cb6980dec3cd97ef400de6d54064b";
pub const NEW: &str = "0ddd632c30dfd7f2bbcf229299f1fe7186d0adb7";
pub const OTHER: &str = "1234567890123456789012345678901234567890";

pub fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

/// A file of the component in the small repository.
pub fn path(name: &str) -> String {
    format!("{COMPONENT}/{name}")
}

pub fn tree() -> Tree {
    disk::read_checkout(&data("infra-deployments"), "crossplane-control-plane").unwrap()
}

pub fn edited(name: &str, edit: impl Fn(String) -> String) -> Tree {
    let mut tree = tree();
    let text = text(&tree, name);
    tree.insert(path(name), edit(text));
    tree
}

pub fn text(tree: &Tree, name: &str) -> String {
    String::from_utf8(tree.get(&path(name)).unwrap().to_vec()).unwrap()
}

pub fn request(to: &str, environments: &[Environment], rings: &[&str], clusters: &[&str]) -> Request {
    Request {
        component: "crossplane-control-plane".to_owned(),
        source: "konflux-ci/crossplane-control-plane".parse().unwrap(),
        to: to.parse().unwrap(),
        scope: Scope {
            environments: environments.iter().copied().collect(),
            rings: rings.iter().map(ToString::to_string).collect(),
            clusters: clusters.iter().map(ToString::to_string).collect(),
        },
        add_clusters: Vec::new(),
        images: Vec::new(),
        environment_configs: true,
        force: false,
        rings: Rings::default_rings().unwrap(),
    }
}

pub fn dev_and_staging(to: &str) -> Request {
    request(to, &[Environment::Development, Environment::Staging], &[], &[])
}

pub fn production(to: &str, clusters: &[&str]) -> Request {
    request(to, &[Environment::Production], &[], clusters)
}

pub fn after(tree: &Tree, plan: &Plan) -> Tree {
    let mut after = tree.clone();
    for (path, edit) in &plan.edits {
        assert_eq!(edit.before.as_deref(), tree.get(path));
        after.insert(path, edit.after.clone());
    }
    after
}

pub fn plan(tree: &Tree, request: &Request) -> Result<Plan, Vec<Problem>> {
    testplatform_package::bump::plan_changes(tree, request)
}

/// The one problem of a request, as it is printed.
pub fn problem(tree: &Tree, request: &Request) -> String {
    let problems = plan(tree, request).unwrap_err();
    assert_eq!(problems.len(), 1, "{problems:?}");
    problems[0].to_string()
}

/// A checkout: files on disk, committed. Beside it there is room for what does not belong into it, which is nobody else's.
pub struct Checkout {
    path: PathBuf,
    _room: TempDir,
}

impl Checkout {
    pub fn of(tree: &Tree) -> Self {
        let room = tempfile::tempdir().unwrap();
        let checkout = Self { path: room.path().join("checkout"), _room: room };
        fs::create_dir(checkout.path()).unwrap();
        put(checkout.path(), tree);
        checkout.git(&["init", "--quiet", "--initial-branch=main"]);
        checkout.commit("start");
        checkout
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn git(&self, arguments: &[&str]) -> String {
        git(self.path(), arguments)
    }

    /// Commits everything and returns the commit.
    pub fn commit(&self, subject: &str) -> String {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--message", subject]);
        self.git(&["rev-parse", "HEAD"]).trim().to_owned()
    }

    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path().join(name)).unwrap()
    }

    /// Every file but git's own.
    pub fn files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        files(self.path())
    }

    /// `cargo xpkg bump …` on it.
    pub fn bump(&self, arguments: &[&str]) -> Ran {
        let mut all = vec!["bump", arguments[0], "--repo", self.path().to_str().unwrap()];
        all.extend(&arguments[1..]);
        run(&all)
    }
}

pub fn git(directory: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .arg("-C")
        .arg(directory)
        .args(["-c", "user.name=test", "-c", "user.email=test@example.com", "-c", "commit.gpgsign=false"])
        .args(arguments)
        .output()
        .unwrap();
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub fn put(directory: &Path, tree: &Tree) {
    for (path, bytes) in tree.files() {
        let path = directory.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
}

pub fn files(directory: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        if entry.file_name() == ".git" {
            continue;
        }
        if entry.file_type().unwrap().is_dir() {
            found.extend(files(&entry.path()));
        } else {
            found.push((entry.path(), fs::read(entry.path()).unwrap()));
        }
    }
    found.sort();
    found
}

pub struct Ran {
    pub code: i32,
    pub out: String,
    pub err: String,
}

pub fn program(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_testplatform-package"));
    command.args(arguments);
    command
}

pub fn run(arguments: &[&str]) -> Ran {
    let Output { status, stdout, stderr } = program(arguments).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ran { code: status.code().unwrap(), out: text(stdout), err: text(stderr) }
}

/// A clone with history, given by a variable only: nothing is fetched.
pub fn clone(what: &str, variable: &str) -> Option<PathBuf> {
    let directory = std::env::var_os(variable).map(PathBuf::from).unwrap_or_default();
    if directory.is_dir() {
        return Some(directory);
    }
    // Not eprintln!, which the test harness keeps to itself where a test passes.
    let _ = writeln!(std::io::stderr(), "NOT RUN: {what}: the clone is not here (set {variable})");
    None
}

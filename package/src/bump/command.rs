//! The command line: `plan`, `apply`, `check`, `report`.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, IsTerminal as _, Write};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::kustomization::Kustomization;
use super::upstream::{self, Upstream};
use super::{
    COMPONENT, CheckContext, Commit, Environment, Finding, FindingSeverity, Image, Plan, Problem,
    PullRequestFacts, Request, Rings, Scope, Source, Tree, UPSTREAM_SOURCE, check_upstream, disk, git,
    list_overlays, text,
};
use crate::registry::command::Connection;

mod change;
mod inspection;
mod online;
mod output;

/// Nothing to change, or all checks passed.
pub const UNCHANGED: u8 = 0;
/// Bad input; nothing was changed.
pub const FAILED: u8 = 1;
/// Changed, or would change.
pub const CHANGED: u8 = 2;
/// A check failed; nothing was changed.
pub const CHECK_FAILED: u8 = 3;

const EXIT_CODES: &str = "\
Exit codes: 0 no change, 1 error, 2 changed or would change, 3 a check failed. On 1 and 3 nothing is changed.";

/// Update pinned commits in a checkout of infra-deployments. Offline unless --online is set: the source is read from a clone, if given.
#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES)]
pub struct BumpArgs {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Print the changes as a unified diff.
    #[command(after_help = EXIT_CODES)]
    Plan(ChangeArgs),
    /// Apply the changes to all files or none.
    #[command(after_help = EXIT_CODES)]
    Apply {
        #[command(flatten)]
        change: ChangeArgs,
        /// Only print the diff, as `plan` does.
        #[arg(long)]
        dry_run: bool,
        /// Also in a directory that is no git checkout, where there is no way back.
        #[arg(long)]
        allow_no_vcs: bool,
    },
    /// Check the checkout as it is, for CI.
    #[command(after_help = EXIT_CODES)]
    Check {
        #[command(flatten)]
        place: CheckoutArgs,
        /// Where the pull request branches off: fails if staging and production are changed together.
        #[arg(long, value_name = "REF")]
        base: Option<String>,
        /// A kustomize program: renders every overlay. Needs the network.
        #[arg(long, value_name = "PROGRAM")]
        render: Option<PathBuf>,
    },
    /// Print the pinned commits and, with a clone, how far they are behind.
    Report {
        #[command(flatten)]
        place: CheckoutArgs,
    },
}

#[derive(Debug, Args)]
struct CheckoutArgs {
    /// Checkout of infra-deployments.
    #[arg(long, default_value = ".", value_name = "DIRECTORY")]
    repo: PathBuf,
    /// Directory below components/.
    #[arg(long, default_value = COMPONENT, value_name = "NAME")]
    component: String,
    /// Repository on GitHub whose pins are meant. Those of others are left alone.
    #[arg(long, default_value = UPSTREAM_SOURCE, value_name = "OWNER/NAME")]
    source: Source,
    /// Clone of the source: what the commits in between change is read from it.
    #[arg(long, value_name = "DIRECTORY")]
    clone: Option<PathBuf>,
    /// The EphemeralCluster CRD, to compare the XRD with.
    #[arg(long, value_name = "FILE")]
    crd: Option<PathBuf>,
    /// Which cluster is in which ring [default: the rings of August 2026]
    #[arg(long, value_name = "FILE")]
    rings: Option<PathBuf>,
    /// Where packages may come from beside quay.io/konflux-ci/.
    #[arg(long, value_name = "PREFIX", value_delimiter = ',')]
    registry: Vec<String>,
    /// Ask the registries for the images and packages that are pinned by digest. Signatures are verified with
    /// --key.
    #[arg(long)]
    online: bool,
    /// Public key by which the packages and images of this product must be signed.
    #[arg(long, value_name = "FILE", requires = "online")]
    key: Option<PathBuf>,
    /// Platforms that the images must support, with --online.
    #[arg(long, value_name = "OS/ARCHITECTURE", value_delimiter = ',', default_value = "linux/amd64")]
    platform: Vec<String>,
    #[command(flatten)]
    connection: Connection,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct ChangeArgs {
    #[command(flatten)]
    place: CheckoutArgs,
    /// The whole commit to move to, or a clone of the source, whose HEAD is then meant.
    #[arg(long, value_name = "COMMIT|DIRECTORY")]
    to: String,
    /// dev,staging or production; never both.
    #[arg(long, value_name = "ENVIRONMENT", value_delimiter = ',', required = true)]
    env: Vec<Environment>,
    /// Ring of production, by number or name; `all` for every one.
    #[arg(long, value_name = "RING", value_delimiter = ',')]
    ring: Vec<String>,
    /// Clusters, by name.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    clusters: Vec<String>,
    /// Make an overlay for a cluster and add it to the ApplicationSet.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    add_cluster: Vec<String>,
    /// Set the digest of an image, too.
    #[arg(long, value_name = "NAME@sha256:DIGEST", value_delimiter = ',')]
    image: Vec<Image>,
    /// Write the text of the pull request.
    #[arg(long, value_name = "FILE")]
    pr_body: Option<PathBuf>,
    /// Jira key for the text of the pull request.
    #[arg(long, value_name = "KEY")]
    jira: Option<String>,
    /// Why, for the text of the pull request.
    #[arg(long, value_name = "SENTENCE")]
    why: Option<String>,
    /// Go on though pins in one file differ or a check fails.
    #[arg(long)]
    force: bool,
    /// Go back to an earlier commit.
    #[arg(long)]
    rollback: bool,
    /// Also edit files with changes that are not committed.
    #[arg(long)]
    allow_dirty: bool,
}

/// Runs it and returns the exit code. `now` is in Unix seconds.
///
/// # Errors
/// If the output cannot be printed.
pub fn run(bump: &BumpArgs, out: &mut impl Write, err: &mut impl Write, now: i64) -> io::Result<u8> {
    let place = match &bump.command {
        Command::Plan(change) | Command::Apply { change, .. } => &change.place,
        Command::Check { place, .. } | Command::Report { place } => place,
    };
    let done = match &bump.command {
        Command::Plan(change) => change::run(change, None, out, err, now),
        Command::Apply { change, dry_run, allow_no_vcs } => {
            change::run(change, (!dry_run).then_some(*allow_no_vcs), out, err, now)
        }
        Command::Check { place, base, render } => {
            inspection::run_check(place, base.as_deref(), render.as_deref(), out, err)
        }
        Command::Report { place } => inspection::run_report(place, out, err),
    };
    match done {
        Ok(code) => Ok(code),
        Err(Failure::Output(error)) => Err(error),
        Err(Failure::Problems(problems)) => {
            if place.json {
                print_json(out, &json!({ "errors": problems }))?;
            }
            for problem in problems {
                writeln!(err, "error: {problem}")?;
            }
            Ok(FAILED)
        }
    }
}

/// Reason for which a command has no result.
#[derive(Debug)]
enum Failure {
    Problems(Vec<Problem>),
    Output(io::Error),
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Self {
        Self::Problems(vec![problem])
    }
}

impl From<Vec<Problem>> for Failure {
    fn from(problems: Vec<Problem>) -> Self {
        Self::Problems(problems)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

fn print_json(out: &mut impl Write, value: &Value) -> io::Result<()> {
    writeln!(out, "{value:#}")
}

/// Prints progress of a slow step to a terminal. Prints nothing if the output is redirected.
fn print_progress(err: &mut impl Write, what: &str) -> io::Result<()> {
    if io::stderr().is_terminal() { writeln!(err, "{what}") } else { Ok(()) }
}

impl CheckoutArgs {
    fn read_rings(&self) -> Result<Rings, Problem> {
        let Some(path) = &self.rings else { return Rings::default_rings() };
        let name = path.display().to_string();
        Rings::read(&name, text::utf8(&name, &disk::read_file(path)?)?)
    }

    fn read_crd(&self) -> Result<Option<Value>, Problem> {
        let Some(path) = &self.crd else { return Ok(None) };
        let name = path.display().to_string();
        let documents = text::parse_documents(&name, &disk::read_file(path)?)?;
        let of_kind = |document: &&Value| {
            text::str_at(document, &["kind"]) == Some("CustomResourceDefinition")
                && text::str_at(document, &["spec", "names", "kind"]) == Some("EphemeralCluster")
        };
        match documents.iter().find(of_kind) {
            Some(document) => Ok(Some(document.clone())),
            None => {
                Err(Problem::new(name, "no CRD of EphemeralCluster", "give the one of ci-tools").at_line(1))
            }
        }
    }

    /// Directories of the source in pins. The deployed part starts at them.
    fn pinned_directories(&self, tree: &Tree, rings: &Rings) -> BTreeSet<String> {
        list_overlays(tree, &self.component, rings)
            .iter()
            .filter_map(|overlay| {
                Kustomization::read(&overlay.kustomization, tree.get(&overlay.kustomization)?).ok()
            })
            .flat_map(|file| file.list_pins().collect::<Vec<_>>())
            .filter(|pin| pin.source == self.source)
            .map(|pin| pin.directory)
            .collect()
    }

    /// The context of the checks. With a clone, it includes the ProviderConfigs that compositions at `range` reference.
    fn build_context(&self, rings: &Rings, ranges: &[Upstream]) -> Result<CheckContext, Problem> {
        let mut context = CheckContext::new(&self.component, self.source.clone(), rings.clone());
        if git::is_checkout(&self.repo)? {
            context.staged = git::staged_commits(&self.repo, &self.component, &self.source);
        }
        let named: BTreeSet<String> =
            ranges.iter().flat_map(|range| upstream::provider_config_names(&range.after)).collect();
        if !named.is_empty() {
            context.provider_configs = named.into_iter().collect();
        }
        let groups: BTreeSet<String> = ranges
            .iter()
            .flat_map(|range| upstream::composite_definitions(&range.after))
            .filter_map(|xrd| text::str_at(&xrd, &["spec", "group"]).map(str::to_owned))
            .collect();
        if !groups.is_empty() {
            context.groups = groups.into_iter().collect();
        }
        Ok(context)
    }
}

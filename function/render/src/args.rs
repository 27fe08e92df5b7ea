//! The arguments of `render`. Names and short forms are those of `crossplane render`; a flag that would ask for
//! something which this command does not do is unknown.

use std::path::PathBuf;

use clap::Args;
use jiff::Timestamp;
use serde_json::Value;
use testplatform_apis::yaml;

const AFTER: &str = "\
The observed resources are what `kubectl get objects.kubernetes.crossplane.io -o yaml` shows. Connection details
come from Secrets in the same files: a Secret whose name and namespace equal a composed resource's
spec.writeConnectionSecretToRef holds that resource's details, one that equals the composite's holds the
composite's own. The output never shows a value of a Secret.

A claim is turned into the composite that Crossplane makes of it. Its name is spec.resourceRef.name, else what the
observed resources are labelled with, else <claim>-<five characters made from namespace and name>.

Exit code: 0 rendered; 1 the files cannot be rendered; 2 the command line is wrong; 3 the function refused.";

/// Run the function on files and print its response; no cluster is needed.
///
/// Options and output are those of `crossplane render`. The function runs in this process; steps of other
/// functions are skipped, with a note.
#[derive(Clone, Debug, Default, Args)]
#[command(after_help = AFTER)]
#[allow(clippy::struct_excessive_bools, reason = "one for each flag")]
pub struct RenderArgs {
    /// The claim, or the composite.
    #[arg(value_name = "XR")]
    pub xr: PathBuf,
    /// The Composition.
    #[arg(value_name = "COMPOSITION")]
    pub composition: PathBuf,
    /// File or directory with the Functions; identifies this function's steps if their names do not.
    #[arg(value_name = "FUNCTIONS")]
    pub functions: Option<PathBuf>,

    /// File or directory with the composed resources that exist, and their connection Secrets.
    #[arg(short, long, value_name = "PATH")]
    pub observed_resources: Vec<PathBuf>,
    /// File or directory with resources that the function may require, such as the EnvironmentConfig.
    #[arg(short = 'e', long, value_name = "PATH")]
    pub required_resources: Vec<PathBuf>,
    /// The older name of --required-resources.
    #[arg(long, value_name = "PATH", hide_short_help = true)]
    pub extra_resources: Vec<PathBuf>,
    /// Directory with OpenAPI v3 documents (JSON) that the function may require.
    #[arg(short = 's', long, value_name = "DIR")]
    pub required_schemas: Option<PathBuf>,
    /// The XRD: names the claim's kind, fills in the schema's defaults and limits the connection keys.
    #[arg(long, value_name = "PATH")]
    pub xrd: Option<PathBuf>,
    /// File or directory with the Secrets that steps name as credentials.
    #[arg(long, value_name = "PATH")]
    pub function_credentials: Option<PathBuf>,
    /// Initial context, from a file: KEY=PATH.
    #[arg(long, value_name = "KEY=PATH", value_parser = parse_pair)]
    pub context_files: Vec<(String, String)>,
    /// Initial context: KEY=YAML. Wins over --context-files.
    #[arg(long, value_name = "KEY=YAML", value_parser = parse_pair)]
    pub context_values: Vec<(String, String)>,
    /// Current time, which decides which deadlines have passed; by default that of the clock.
    #[arg(long, value_name = "RFC3339")]
    pub now: Option<Timestamp>,

    /// Print the composite with the metadata and spec that were read.
    #[arg(short = 'x', long)]
    pub include_full_xr: bool,
    /// Print the function's results, which Crossplane emits as events.
    #[arg(short = 'r', long)]
    pub include_function_results: bool,
    /// Print the context after the last step.
    #[arg(short = 'c', long)]
    pub include_context: bool,
    /// Print keys and sizes of the composite's connection details, never a value.
    #[arg(long)]
    pub include_connection_details: bool,
    /// Explain each decision in a comment line before the first document.
    #[arg(long)]
    pub explain: bool,

    /// Has no effect, because no function is started. Accepted so that command lines of
    /// `crossplane render` work.
    #[arg(short = 'a', long, value_name = "KEY=VALUE", hide_short_help = true, value_parser = parse_pair)]
    pub function_annotations: Vec<(String, String)>,
    /// Has no effect. Accepted so that command lines of `crossplane render` work.
    #[arg(long, value_name = "DURATION", hide_short_help = true)]
    pub timeout: Option<String>,
}

fn parse_pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("expected KEY=VALUE".to_owned()),
    }
}

impl RenderArgs {
    /// Everything that answers what the function asks for.
    pub(super) fn pool(&self) -> impl Iterator<Item = &PathBuf> {
        self.required_resources.iter().chain(&self.extra_resources)
    }

    /// The values of `--context-values`, read.
    pub(super) fn values(&self) -> Result<Vec<(String, Value)>, super::Error> {
        let read = |(key, text): &(String, String)| {
            let origin = PathBuf::from(format!("--context-values {key}"));
            Ok((key.clone(), yaml::parse_one(&origin, text)?))
        };
        self.context_values.iter().map(read).collect()
    }
}

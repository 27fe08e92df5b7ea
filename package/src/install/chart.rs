//! Helm charts with the objects of the overlays: chart `testplatform` for a Konflux cluster, chart `testplatform-hub` for a hub.
//!
//! Input: the manifests of `package/install`, the types of the values, and the schema of the provider's configuration. Output: files below
//! `package/charts`. No I/O.
//!
//! A template is a manifest with the places that values change. The manifest comes from the same file as in the overlays, so a change of it
//! reaches both. Only the helpers, the checks and the notes of a chart are written by hand.
//!
//! **Invariant:** with the values of an overlay, a chart renders the objects of that overlay. A test compares helm with kustomize.

mod hub;
mod konflux;
mod manifests;
mod template;
mod values;
mod values_file;

use serde_json::{Value, json};

use crate::{GeneratedFile, to_yaml};
use template::{ChartTemplate, render_file};

/// Directory of the charts, below `package/`.
pub const DIRECTORY: &str = "charts";
/// Files of a chart that are written by hand.
pub const HAND_WRITTEN: [&str; 3] =
    ["templates/NOTES.txt", "templates/_helpers.tpl", "templates/checks.yaml"];
/// The oldest supported Kubernetes: it serves policies for admission in `admissionregistration.k8s.io/v1`. The suffix admits the
/// versions of vendors, which Helm treats as prereleases.
const KUBERNETES: &str = ">=1.30.0-0";

/// A chart before it is written.
struct Chart {
    name: &'static str,
    description: &'static str,
    /// Schema of the values.
    schema: Value,
    /// Default values, as a file with comments.
    values: String,
    templates: Vec<TemplateFile>,
}

/// One file of templates.
struct TemplateFile {
    /// Name without directory and extension.
    name: String,
    /// Condition of the whole file, as an expression of Helm.
    condition: Option<String>,
    objects: Vec<ChartTemplate>,
}

/// Every generated file of the charts. `generated` are the other generated files, some of which are manifests of the overlays.
///
/// # Errors
/// If a manifest of the overlays cannot be rendered, or has no place for a value any more.
pub fn generate_files(generated: &[GeneratedFile]) -> anyhow::Result<Vec<GeneratedFile>> {
    let manifests = manifests::Manifests::new(generated);
    let mut files = Vec::new();
    for chart in [konflux::build_chart(&manifests)?, hub::build_chart(&manifests)?] {
        let file = |path: &str, text: String| GeneratedFile {
            path: format!("{DIRECTORY}/{}/{path}", chart.name).into(),
            text,
        };
        files.push(file("Chart.yaml", super::render_document(&chart_metadata(&chart), SOURCE)?));
        files.push(file("values.schema.json", format!("{:#}\n", chart.schema)));
        files.push(file("values.yaml", chart.values.clone()));
        for TemplateFile { name, condition, objects } in &chart.templates {
            files.push(file(&format!("templates/{name}.yaml"), render_file(objects, condition.as_deref())?));
        }
    }
    Ok(files)
}

/// Source of the charts, as generated files name it.
const SOURCE: &str = "package/src/install/chart.rs";

fn chart_metadata(chart: &Chart) -> Value {
    let version = env!("CARGO_PKG_VERSION");
    json!({
        "apiVersion": "v2",
        "name": chart.name,
        "description": chart.description,
        "type": "application",
        "version": version,
        "appVersion": version,
        "kubeVersion": KUBERNETES,
    })
}

/// A comment of YAML, one line for each line of the text.
fn render_comment(text: &str, indent: &str) -> String {
    text.lines().map(|line| format!("{indent}# {line}\n").replace("# \n", "#\n")).collect()
}

/// A value as YAML lines below an indentation.
fn render_indented(value: &Value, indent: &str) -> anyhow::Result<String> {
    Ok(to_yaml(value)?.lines().flat_map(|line| [indent, line, "\n"]).collect())
}

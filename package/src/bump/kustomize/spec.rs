//! The fields of a kustomization. An unknown field is an error, as in kustomize: a typo would be ignored silently.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::replacement::ReplacementEntry;
use super::selector::TargetSpec;
use super::variable::Variable;
use super::{Position, Unresolved, UnresolvedReason};
use crate::bump::{Problem, text};

/// Whether a kustomization is standalone, or changes its parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ManifestKind {
    /// `Kustomization`
    Kustomization,
    /// `Component`
    Component,
}

impl ManifestKind {
    fn name(self) -> &'static str {
        match self {
            Self::Kustomization => "Kustomization",
            Self::Component => "Component",
        }
    }

    fn api_version(self) -> &'static str {
        match self {
            Self::Kustomization => "kustomize.config.k8s.io/v1beta1",
            Self::Component => "kustomize.config.k8s.io/v1alpha1",
        }
    }
}

/// A kustomization. Fields without an effect here keep their unparsed value.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct KustomizationSpec {
    api_version: Option<String>,
    kind: Option<String>,
    /// Files and directories.
    pub resources: Vec<String>,
    bases: Vec<String>,
    /// Directories of kind Component.
    pub components: Vec<String>,
    patches: Vec<PatchEntry>,
    patches_strategic_merge: Vec<String>,
    #[serde(rename = "patchesJson6902")]
    patches_json6902: Vec<PatchEntry>,
    #[serde(skip)]
    merges: Vec<PatchEntry>,
    /// Namespace of all objects.
    pub namespace: Option<String>,
    /// Prefix of all names.
    pub name_prefix: Option<String>,
    /// Suffix of all names.
    pub name_suffix: Option<String>,
    /// Labels of all objects, and of selectors.
    pub common_labels: BTreeMap<String, Value>,
    /// Labels of all objects.
    pub labels: Vec<LabelEntry>,
    /// Annotations of all objects.
    pub common_annotations: BTreeMap<String, Value>,
    /// ConfigMaps to generate.
    pub config_map_generator: Vec<GeneratorEntry>,
    /// Secrets to generate.
    pub secret_generator: Vec<GeneratorEntry>,
    helm_charts: Vec<Value>,
    helm_chart_inflation_generator: Vec<Value>,
    generators: Vec<String>,
    transformers: Vec<String>,
    /// Values that are copied from one object to fields of others.
    pub replacements: Vec<ReplacementEntry>,
    /// Variables.
    pub vars: Vec<Variable>,
    /// Files with the fields of variables.
    pub configurations: Vec<String>,
    metadata: Option<Value>,
    openapi: Option<Value>,
    images: Option<Value>,
    image_tags: Option<Value>,
    replicas: Option<Value>,
    sort_options: Option<Value>,
    crds: Option<Value>,
    helm_globals: Option<Value>,
    /// Options of all generated objects.
    pub generator_options: GeneratorOptions,
    validators: Option<Value>,
    build_metadata: Option<Value>,
}

/// An element of `labels`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct LabelEntry {
    /// The labels.
    pub pairs: BTreeMap<String, Value>,
}

/// An element of `configMapGenerator` or `secretGenerator`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct GeneratorEntry {
    /// The name, without the hash that kustomize may add.
    pub name: String,
    /// The namespace.
    pub namespace: Option<String>,
    /// `create`, `replace` or `merge`.
    pub behavior: Option<String>,
    /// Files, each with a key before it or under its own name.
    pub files: Vec<String>,
    /// Files of keys and values.
    pub envs: Vec<String>,
    /// The older field, with one such file.
    pub env: Option<String>,
    /// Keys and values.
    pub literals: Vec<String>,
    /// Options of this object.
    pub options: GeneratorOptions,
}

/// Options of generated objects.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct GeneratorOptions {
    /// Labels of the object.
    pub labels: BTreeMap<String, Value>,
    /// Annotations of the object.
    pub annotations: BTreeMap<String, Value>,
    /// Whether its name gets no hash.
    pub disable_name_suffix_hash: bool,
    /// Whether nobody may change it.
    pub immutable: bool,
}

/// An element of `patches`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct PatchEntry {
    path: Option<String>,
    patch: Option<String>,
    /// The targeted objects.
    pub target: Option<TargetSpec>,
    options: Option<BTreeMap<String, bool>>,
}

/// Location of a patch.
pub enum PatchSource<'a> {
    /// In the kustomization.
    Inline(&'a str),
    /// In a file.
    File(&'a str),
}

impl PatchEntry {
    /// The text that locates its line: the path, or the first line of the patch.
    pub fn locating_text(&self) -> &str {
        let text = self.path.as_deref().or(self.patch.as_deref()).unwrap_or_default();
        text.trim()
    }

    /// Its only source.
    pub fn source(&self, at: &Position) -> Result<PatchSource<'_>, Problem> {
        let given = |text: &Option<String>| text.as_ref().is_some_and(|text| !text.trim().is_empty());
        match (given(&self.path), given(&self.patch)) {
            (true, false) => Ok(PatchSource::File(self.path.as_deref().unwrap_or_default())),
            (false, true) => Ok(PatchSource::Inline(self.patch.as_deref().unwrap_or_default())),
            (true, true) => Err(at.report_problem(
                "a patch with both path and patch, which kustomize refuses",
                "remove one of the two",
            )),
            (false, false) => Err(at.report_problem(
                "a patch without path and patch, which kustomize refuses",
                "set one of the two",
            )),
        }
    }

    /// Whether the patch may rename its object or change its kind.
    pub fn allows_option(&self, option: &str) -> bool {
        self.options.as_ref().and_then(|options| options.get(option)).copied().unwrap_or_default()
    }
}

impl KustomizationSpec {
    /// Reads a kustomization.
    pub fn read(file: &str, bytes: &[u8]) -> Result<Self, Problem> {
        let mut documents = text::parse_documents(file, bytes)?;
        let (Some(Value::Object(mut fields)), true) = (documents.pop(), documents.is_empty()) else {
            return Err(Problem::new(file, "no kustomization", "a kustomization is one mapping").at_line(1));
        };
        // An empty field counts as absent.
        fields.retain(|_, value| !value.is_null());
        let mut spec: Self = serde_path_to_error::deserialize(Value::Object(fields)).map_err(|error| {
            let path = error.path().to_string();
            let inner = error.into_inner().to_string();
            let unknown = inner.split('`').nth(1).filter(|_| inner.starts_with("unknown field"));
            let top = path.split(['.', '[']).next().unwrap_or_default();
            let needle = unknown.unwrap_or(top);
            let line = text::find_line(bytes, &format!("{needle}:")).unwrap_or(1);
            let what = match unknown {
                Some(field) => {
                    format!("{} is not a field that kustomize knows here", text::quote_excerpt(field))
                }
                None => format!("{path} is not readable: {}", text::quote_excerpt(&inner)),
            };
            Problem::new(file, what, "correct the field").at_line(line)
        })?;
        let entries = std::mem::take(&mut spec.patches_strategic_merge);
        // An entry of several lines is the patch itself; a single line is a path.
        spec.merges = entries
            .into_iter()
            .map(|entry| {
                if entry.trim().contains('\n') {
                    PatchEntry { patch: Some(entry), ..PatchEntry::default() }
                } else {
                    PatchEntry { path: Some(entry), ..PatchEntry::default() }
                }
            })
            .collect();
        Ok(spec)
    }

    /// Refuses a component below `resources`, and anything else below `components`.
    pub fn expect_kind(&self, file: &str, bytes: &[u8], expected: ManifestKind) -> Result<(), Problem> {
        let refuse = |field: &str, value: &str, wanted: &str, help: &str| {
            let line = text::find_line(bytes, &format!("{field}:")).unwrap_or(1);
            let what = format!("{field} is {}, where kustomize expects {wanted}", text::quote_excerpt(value));
            Err(Problem::new(file, what, help).at_line(line))
        };
        let kind = self.kind.as_deref().unwrap_or(ManifestKind::Kustomization.name());
        if kind != expected.name() {
            let help = "name a Component below `components`, and everything else below `resources`";
            return refuse("kind", kind, expected.name(), help);
        }
        match self.api_version.as_deref() {
            Some(version) if version != expected.api_version() => {
                refuse("apiVersion", version, expected.api_version(), "correct the field")
            }
            _ => Ok(()),
        }
    }

    /// Files and directories, also under the older name of the field.
    pub fn all_resources(&self) -> impl Iterator<Item = &str> {
        self.resources.iter().chain(&self.bases).map(String::as_str)
    }

    /// Patches that apply before names and namespaces change.
    pub fn early_patches(&self) -> impl Iterator<Item = &PatchEntry> {
        self.merges.iter().chain(&self.patches)
    }

    /// Patches that apply after that.
    pub fn late_patches(&self) -> impl Iterator<Item = &PatchEntry> {
        self.patches_json6902.iter()
    }

    /// Fields that kustomize changes, and this reader does not.
    pub fn unread_fields(&self) -> impl Iterator<Item = &'static str> {
        let images = self.images.as_ref().or(self.image_tags.as_ref()).map(|_| "image");
        images.into_iter().chain(self.replicas.as_ref().map(|_| "replicas"))
    }

    /// Fields that only kustomize itself resolves.
    pub fn unresolved_fields<'a>(
        &'a self,
        file: &'a str,
        bytes: &'a [u8],
    ) -> impl Iterator<Item = Unresolved> + 'a {
        use UnresolvedReason::{Generator, Transformer};
        let fields = [
            ("helmCharts", !self.helm_charts.is_empty(), Generator),
            ("helmChartInflationGenerator", !self.helm_chart_inflation_generator.is_empty(), Generator),
            ("generators", !self.generators.is_empty(), Generator),
            ("transformers", !self.transformers.is_empty(), Transformer),
        ];
        fields.into_iter().filter(|(_, is_set, _)| *is_set).map(|(field, _, reason)| {
            let line = text::find_line(bytes, &format!("{field}:")).unwrap_or(1);
            Unresolved { file: file.to_owned(), line, entry: field.to_owned(), reason, detail: None }
        })
    }
}

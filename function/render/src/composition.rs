//! The Composition: what it composes, and which of its steps are ours.

use std::{collections::BTreeMap, path::Path};

use serde::Deserialize;
use serde_json::Value;
use testplatform_composites::sdk::wire;

use super::{
    Error, RenderArgs,
    files::{self, Document},
    pool::{self, Entries},
};

/// Name of our function: part of the function's name, and the last part of its package.
const OURS: &str = "function-testplatform";

/// A step of ours.
#[derive(Debug)]
pub struct Step {
    /// Its name.
    pub name: String,
    /// Its input.
    pub input: Option<Value>,
    /// Its credentials, by name.
    pub credentials: Vec<(String, Entries)>,
    /// Resources fetched before its first call.
    pub requirements: Requirements,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
/// Part of a Composition that is read.
pub struct Composition {
    #[serde(default)]
    /// Metadata.
    pub metadata: Metadata,
    /// Spec.
    pub spec: Spec,
}

#[derive(Default, Deserialize)]
#[serde(default)]
/// Its metadata.
pub struct Metadata {
    /// Labels by which composites select it.
    pub labels: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
/// Its spec.
pub struct Spec {
    /// What it composes.
    pub composite_type_ref: TypeRef,
    mode: Option<String>,
    #[serde(default)]
    pipeline: Vec<PipelineStep>,
    /// Where composites have their connection Secrets.
    pub write_connection_secrets_to_namespace: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
/// A type.
pub struct TypeRef {
    /// apiVersion.
    pub api_version: String,
    /// Kind.
    pub kind: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PipelineStep {
    step: String,
    function_ref: Named,
    input: Option<Value>,
    #[serde(default)]
    credentials: Vec<StepCredentials>,
    #[serde(default)]
    requirements: Requirements,
}

#[derive(Deserialize)]
struct Named {
    name: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct StepCredentials {
    name: String,
    #[serde(default)]
    source: String,
    secret_ref: Option<SecretRef>,
}

#[derive(Deserialize)]
struct SecretRef {
    name: String,
    namespace: String,
}

/// `pipeline[].requirements`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Requirements {
    /// Objects.
    pub required_resources: Vec<RequiredResource>,
    /// Schemas of kinds.
    pub required_schemas: Vec<RequiredSchema>,
}

/// `pipeline[].requirements.requiredResources[]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RequiredResource {
    /// The name under which the function finds it.
    pub requirement_name: String,
    /// Its apiVersion.
    pub api_version: String,
    /// Its kind.
    pub kind: String,
    /// Its namespace, if it has one.
    pub namespace: Option<String>,
    /// Its name.
    pub name: Option<String>,
    /// Labels, instead of a name.
    pub match_labels: Option<BTreeMap<String, String>>,
}

/// `pipeline[].requirements.requiredSchemas[]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RequiredSchema {
    /// The name under which the function finds it.
    pub requirement_name: String,
    /// apiVersion.
    pub api_version: String,
    /// Kind.
    pub kind: String,
}

impl Composition {
    /// Reads a Composition that is a pipeline.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let failed = |message: String| Error::File { path: path.to_owned(), message };
        // First what it is, so that another file is not blamed for a missing field.
        let document = files::read_document(path)?;
        if document.text("/kind") != "Composition" {
            return Err(failed(format!("kind is {}, expected Composition", document.text("/kind"))));
        }
        // By the reader that names the field that is wrong, as it reads every other object here.
        let read = wire::json_to_struct(&document.object).and_then(|bytes| wire::from_struct(&bytes));
        let composition: Self = read.map_err(|error| failed(error.to_string()))?;
        match composition.spec.mode.as_deref() {
            None | Some("Pipeline") => {}
            Some(mode) => return Err(failed(format!("spec.mode is {mode}; only Pipeline can be rendered"))),
        }
        Ok(composition)
    }

    /// The steps of ours.
    pub fn steps(self, args: &RenderArgs, remarks: &mut Vec<String>) -> Result<Vec<Step>, Error> {
        let functions = args.functions.as_deref().map(files::read_documents).transpose()?;
        let secrets =
            args.function_credentials.as_deref().map(files::read_documents).transpose()?.unwrap_or_default();
        let mut ours = Vec::new();
        for step in self.spec.pipeline {
            let function = &step.function_ref.name;
            let listed = functions.as_ref().map(|all| {
                all.iter().find(|d| d.text("/kind") == "Function" && d.text("/metadata/name") == function)
            });
            let is_ours = match listed {
                Some(None) => {
                    let file = args.functions.as_deref().unwrap_or(Path::new("")).display();
                    let step = &step.step;
                    return Err(Error::Input(format!(
                        "pipeline step {step:?} runs Function {function:?}, which is not in {file}"
                    )));
                }
                Some(Some(document)) => package_name(document.text("/spec/package")) == OURS,
                None => function.contains(OURS),
            };
            if is_ours {
                ours.push(Step {
                    credentials: read_credentials(&step, &secrets)?,
                    name: step.step,
                    input: step.input,
                    requirements: step.requirements,
                });
            } else {
                remarks.push(format!(
                    "pipeline step {:?} is skipped: its function {function:?} is not this one",
                    step.step
                ));
            }
        }
        if ours.is_empty() {
            return Err(Error::File {
                path: args.composition.clone(),
                message: format!("no pipeline step runs {OURS}"),
            });
        }
        Ok(ours)
    }
}

/// The last part of a package's name, without tag and digest.
fn package_name(reference: &str) -> &str {
    let name = reference.rsplit('/').next().unwrap_or_default();
    name.split(['@', ':']).next().unwrap_or_default()
}

fn read_credentials(step: &PipelineStep, secrets: &[Document]) -> Result<Vec<(String, Entries)>, Error> {
    let mut all = Vec::new();
    for credentials in &step.credentials {
        let Some(wanted) = credentials.secret_ref.as_ref().filter(|_| credentials.source == "Secret") else {
            continue;
        };
        let secret = pool::find_secret(secrets, &wanted.namespace, &wanted.name).ok_or_else(|| {
            Error::Input(format!(
                "pipeline step {:?} needs Secret {}/{} as credentials {:?}; give it with --function-credentials",
                step.step, wanted.namespace, wanted.name, credentials.name
            ))
        })?;
        all.push((credentials.name.clone(), pool::read_entries(secret)?));
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_is_known_by_the_last_part_of_its_name() {
        for reference in [
            "function-testplatform",
            "registry.example:5000/org/function-testplatform:v0.1.0",
            "registry.example/org/function-testplatform@sha256:00",
        ] {
            assert_eq!(package_name(reference), OURS, "{reference}");
        }
        assert_ne!(package_name("registry.example/function-testplatform/other:v1"), OURS);
    }
}

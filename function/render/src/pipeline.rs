//! [`Input`] × now → [`Rendered`]: the steps one after the other, each until it asks for nothing new.

use std::collections::BTreeMap;

use jiff::Timestamp;
use prost::{Message as _, bytes::Bytes};
use testplatform_apis::collect;
use testplatform_composites::{
    Evaluation, Options,
    sdk::{
        proto::{
            Condition, CredentialData, Credentials, MatchLabels, Requirements, ResourceSelector, Resources,
            Result as FunctionResult, RunFunctionRequest, RunFunctionResponse, Schema, SchemaSelector,
            Severity, State, credentials::Source, resource_selector::Match,
        },
        request::UnusableRequest,
        wire,
    },
};

use super::{
    Error, Input,
    composition::{RequiredResource, Step},
    pool::{self, Entries},
    schema,
};

/// How often a step is run again because it asks for something else.
const MAX_REPEATS: usize = 5;

/// The last call of one step.
#[derive(Debug)]
pub struct Pass {
    /// Name of the step.
    pub step: String,
    /// Its request.
    pub request: RunFunctionRequest,
    /// What it answered.
    pub response: RunFunctionResponse,
    /// What it thought.
    pub thought: Result<Evaluation, UnusableRequest>,
}

/// Requirements of our steps.
#[derive(Debug, Default)]
pub struct Rendered {
    /// The steps that were run.
    pub passes: Vec<Pass>,
    /// Desired resources.
    pub desired: State,
    /// The conditions of the composite.
    pub conditions: Vec<Condition>,
    /// What becomes events: step and result.
    pub results: Vec<(String, FunctionResult)>,
    /// The context that the last step left.
    pub context: Bytes,
    /// The step that refused, if one did; nothing after it was run.
    pub fatal: Option<Error>,
}

/// Runs the steps.
pub fn run(input: &Input, now: Timestamp) -> Result<Rendered, Error> {
    let context = wire::to_struct(&input.context).map_err(|e| Error::Input(format!("the context: {e}")))?;
    let mut rendered = Rendered { context, ..Rendered::default() };
    let observed = observed_state(input)?;
    for step in &input.steps {
        let request = RunFunctionRequest {
            observed: Some(observed.clone()),
            desired: Some(rendered.desired.clone()),
            input: encode_input(step)?,
            context: Some(rendered.context.clone()),
            credentials: collect::to_map(step.credentials.iter().map(pass_credentials)),
            ..RunFunctionRequest::default()
        };
        let pass = run_step(input, step, request, now)?;
        let response = &pass.response;
        rendered.desired = response.desired.clone().unwrap_or_default();
        rendered.context = response.context.clone().unwrap_or_default();
        rendered.conditions.extend(response.conditions.iter().cloned());
        for result in &response.results {
            rendered.results.push((step.name.clone(), result.clone()));
            if result.severity == i32::from(Severity::Fatal) && rendered.fatal.is_none() {
                let message = result.message.clone();
                rendered.fatal = Some(Error::Fatal { step: step.name.clone(), message });
            }
        }
        rendered.passes.push(pass);
        if rendered.fatal.is_some() {
            break;
        }
    }
    Ok(rendered)
}

/// Runs a step until it asks for the same twice. The desired state stays, the context goes on: as core has it.
fn run_step(
    input: &Input,
    step: &Step,
    mut request: RunFunctionRequest,
    now: Timestamp,
) -> Result<Pass, Error> {
    let mut requested = None;
    for _ in 0..=MAX_REPEATS {
        (request.required_resources, request.required_schemas) = bootstrap_requirements(input, step)?;
        request.extra_resources = BTreeMap::new();
        if let Some(requirements) = &requested {
            answer_requirements(input, requirements, &mut request)?;
        }
        let response = testplatform_composites::run(&request, &Options::default(), now);
        let fatal = response.results.iter().any(|r| r.severity == i32::from(Severity::Fatal));
        if fatal || response.requirements == requested {
            let thought = Evaluation::of(&request, now);
            return Ok(Pass { step: step.name.clone(), request, response, thought });
        }
        request.context = response.context;
        requested = response.requirements;
    }
    Err(Error::Unstable { step: step.name.clone(), passes: MAX_REPEATS })
}

type Bootstrap = (BTreeMap<String, Resources>, BTreeMap<String, Schema>);

/// Fetches the Composition's bootstrap requirements.
fn bootstrap_requirements(input: &Input, step: &Step) -> Result<Bootstrap, Error> {
    let mut resources = BTreeMap::new();
    for required in &step.requirements.required_resources {
        let selected = pool::select_resources(&input.pool, &build_selector(required))?;
        resources.insert(required.requirement_name.clone(), selected);
    }
    let mut schemas = BTreeMap::new();
    for required in &step.requirements.required_schemas {
        let selector =
            SchemaSelector { api_version: required.api_version.clone(), kind: required.kind.clone() };
        schemas.insert(required.requirement_name.clone(), find_schema(input, &selector)?);
    }
    Ok((resources, schemas))
}

fn build_selector(required: &RequiredResource) -> ResourceSelector {
    let labels =
        required.match_labels.as_ref().map(|l| Match::MatchLabels(MatchLabels { labels: l.clone() }));
    ResourceSelector {
        api_version: required.api_version.clone(),
        kind: required.kind.clone(),
        namespace: required.namespace.clone(),
        r#match: labels.or_else(|| required.name.clone().map(Match::MatchName)),
    }
}

fn answer_requirements(
    input: &Input,
    asked: &Requirements,
    request: &mut RunFunctionRequest,
) -> Result<(), Error> {
    for (name, selector) in &asked.resources {
        request.required_resources.insert(name.clone(), pool::select_resources(&input.pool, selector)?);
    }
    for (name, selector) in &asked.extra_resources {
        request.extra_resources.insert(name.clone(), pool::select_resources(&input.pool, selector)?);
    }
    for (name, selector) in &asked.schemas {
        request.required_schemas.insert(name.clone(), find_schema(input, selector)?);
    }
    Ok(())
}

fn find_schema(input: &Input, selector: &SchemaSelector) -> Result<Schema, Error> {
    let found = schema::find_schema(&input.schemas, &selector.api_version, &selector.kind);
    let openapi_v3 = found.map(wire::to_struct).transpose();
    let openapi_v3 = openapi_v3.map_err(|e| Error::Input(format!("the schema of {}: {e}", selector.kind)))?;
    Ok(Schema { openapi_v3 })
}

fn observed_state(input: &Input) -> Result<State, Error> {
    let composite = pool::build_resource(
        pool::encode_document(&input.observed_composite)?,
        input.composite_details.clone(),
    );
    let mut resources = BTreeMap::new();
    for composed in &input.observed {
        let resource =
            pool::build_resource(pool::encode_document(&composed.document)?, composed.details.clone());
        resources.insert(composed.name.clone(), Bytes::from(resource.encode_to_vec()));
    }
    Ok(State { composite: Some(composite), resources })
}

fn encode_input(step: &Step) -> Result<Option<Bytes>, Error> {
    let input = step.input.as_ref().map(wire::to_struct).transpose();
    input.map_err(|e| Error::Input(format!("the input of pipeline step {:?}: {e}", step.name)))
}

fn pass_credentials((name, entries): &(String, Entries)) -> (String, Credentials) {
    let data = collect::to_map(entries.iter().cloned());
    (name.clone(), Credentials { source: Some(Source::CredentialData(CredentialData { data })) })
}

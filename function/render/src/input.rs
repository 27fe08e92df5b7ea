//! Arguments → [`Input`]: everything read, and seen to fit together.

use std::path::Path;

use jiff::Timestamp;
use serde_json::{Map, Value};

use testplatform_apis::{claim, test_cluster};
use testplatform_composites::sdk::proto::resource::ConnectionDetailsEntry;

use super::{
    Error, RenderArgs,
    claim::{self as claims, COMPOSITE},
    composition::{Composition, Step},
    files::{self, Document},
    pool,
    schema::Definition,
    strict::unknown_object_fields,
};

/// Annotation with the name of a composed resource within its composite.
pub const RESOURCE_NAME: &str = "crossplane.io/composition-resource-name";

/// What to render.
#[derive(Debug)]
pub struct Input {
    /// The composite as it was given, or as the claim makes it.
    pub composite: Value,
    /// The same as it is observed: with defaults and a time of creation.
    pub observed_composite: Document,
    /// Content of its connection Secret.
    pub composite_details: Vec<ConnectionDetailsEntry>,
    /// The composed resources.
    pub observed: Vec<Composed>,
    /// The steps of ours, in their order.
    pub steps: Vec<Step>,
    /// Resources that the function may request.
    pub pool: Vec<Document>,
    /// OpenAPI documents that the function may ask for.
    pub schemas: Vec<Value>,
    /// The initial context.
    pub context: Map<String, Value>,
    /// The keys that the composite's connection Secret may have; empty: all.
    pub connection_keys: Vec<String>,
}

/// A composed resource that exists.
#[derive(Debug)]
pub struct Composed {
    /// Its name within the composite.
    pub name: String,
    /// The object.
    pub document: Document,
    /// Content of its connection Secret.
    pub details: Vec<ConnectionDetailsEntry>,
}

impl Input {
    /// Reads everything. Beside the input: what the user should know.
    pub fn load(args: &RenderArgs, now: Timestamp) -> Result<(Self, Vec<String>), Error> {
        let mut remarks = Vec::new();
        let composition = Composition::read(&args.composition)?;
        let of = &composition.spec.composite_type_ref;
        let xrd = args.xrd.as_deref().map(files::read_document).transpose()?;
        let definition = Definition::of(xrd.as_ref(), &of.api_version, &of.kind)?;

        let all = args.observed_resources.iter().map(|path| files::read_documents(path));
        let all: Vec<Document> = all.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect();
        let (secrets, composed): (Vec<_>, Vec<_>) = all.into_iter().partition(|d| {
            pool::is_secret(d) && !d.object["metadata"]["annotations"][RESOURCE_NAME].is_string()
        });

        let given = files::read_document(&args.xr)?;
        let composite = build_composite(&given, &definition, &composed, &composition, args)?;
        check_fields(&given)?;
        check_selection(&given, &composite, &composition, args)?;
        let mut observed_composite = Document { path: given.path.clone(), object: composite.clone() };
        complete_composite(&mut observed_composite.object, &definition, &composition, now);

        let observed = collect_observed(composed, &secrets)?;
        // One in a namespace has no connection Secret: that of its spec is ours to fill.
        let namespaced = !observed_composite.text("/metadata/namespace").is_empty();
        let own = pool::connection_secret(&secrets, &observed_composite.object).filter(|_| !namespaced);
        for secret in &secrets {
            let is = |other: Option<&Document>| other.is_some_and(|o| std::ptr::eq(o, secret));
            let used =
                is(own) || observed.iter().any(|c| is(pool::connection_secret(&secrets, &c.document.object)));
            if !used {
                remarks.push(format!("{} is the connection secret of nothing here", secret.label()));
            }
        }
        let required = args.pool().map(|path| files::read_documents(path));
        let steps = composition.steps(args, &mut remarks)?;
        let input = Self {
            composite_details: pool::connection_details(own)?,
            composite,
            observed_composite,
            observed,
            steps,
            pool: required.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect(),
            schemas: args.required_schemas.as_deref().map(files::read_json).transpose()?.unwrap_or_default(),
            context: read_context(args)?,
            connection_keys: definition.connection_keys,
        };
        Ok((input, remarks))
    }
}

/// A field that nobody knows is a mistake, which an API server would prune without a word.
fn check_fields(given: &Document) -> Result<(), Error> {
    let kinds = [claim::CLAIM_KIND, claim::COMPOSITE_KIND, test_cluster::KIND];
    if given.text("/apiVersion") != claim::API_VERSION || !kinds.contains(&given.text("/kind")) {
        return Ok(());
    }
    let unknown = unknown_object_fields(&given.object);
    match unknown.as_slice() {
        [] => Ok(()),
        [field] => Err(given.error(format!("{field} is unknown; correct its name or remove it"))),
        fields => Err(given.error(format!("unknown fields: {}; correct or remove them", fields.join(", ")))),
    }
}

/// The composite itself, or that of the claim.
fn build_composite(
    given: &Document,
    definition: &Definition,
    observed: &[Document],
    composition: &Composition,
    args: &RenderArgs,
) -> Result<Value, Error> {
    let of = &composition.spec.composite_type_ref;
    let (api_version, kind) = (given.text("/apiVersion"), given.text("/kind"));
    if given.text("/metadata/name").is_empty() {
        return Err(given.error("has no metadata.name"));
    }
    if api_version == of.api_version && kind == of.kind {
        return Ok(given.object.clone());
    }
    if api_version == of.api_version && kind == definition.claim_kind {
        return Ok(claims::build_composite(given, &of.api_version, &of.kind, observed));
    }
    let or_claim = match definition.claim_kind.as_str() {
        "" => String::new(),
        kind => format!(" or its claim {kind}"),
    };
    Err(given.error(format!(
        "kind is {kind} of {api_version}, but {} is for {}{or_claim} of {}",
        args.composition.display(),
        of.kind,
        of.api_version
    )))
}

/// A composite that selects its Composition by labels must select this one.
fn check_selection(
    given: &Document,
    composite: &Value,
    composition: &Composition,
    args: &RenderArgs,
) -> Result<(), Error> {
    let wanted = composite["spec"]["compositionSelector"]["matchLabels"].as_object();
    for (key, value) in wanted.into_iter().flatten() {
        if composition.metadata.labels.get(key).map(String::as_str) != value.as_str() {
            return Err(given.error(format!(
                "selects Compositions labelled {key}={}, and {} is not",
                value.as_str().unwrap_or_default(),
                args.composition.display()
            )));
        }
    }
    Ok(())
}

/// Adds the fields that API server and Crossplane would have added.
fn complete_composite(
    composite: &mut Value,
    definition: &Definition,
    composition: &Composition,
    now: Timestamp,
) {
    definition.fill_in(composite);
    let metadata = &mut composite["metadata"];
    if metadata["creationTimestamp"].is_null() {
        let seconds = now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        metadata["creationTimestamp"] = seconds.into();
    }
    if metadata["labels"][COMPOSITE].is_null() {
        metadata["labels"][COMPOSITE] = metadata["name"].clone();
    }
    let uid = metadata["uid"].as_str().map(str::to_owned);
    let namespace = composition.spec.write_connection_secrets_to_namespace.as_ref();
    if let (true, Some(uid), Some(namespace)) =
        (composite["spec"]["writeConnectionSecretToRef"].is_null(), uid, namespace)
    {
        composite["spec"]["writeConnectionSecretToRef"] =
            serde_json::json!({ "name": uid, "namespace": namespace });
    }
}

fn collect_observed(documents: Vec<Document>, secrets: &[Document]) -> Result<Vec<Composed>, Error> {
    let mut all: Vec<Composed> = Vec::new();
    for document in documents {
        let name = document.object["metadata"]["annotations"][RESOURCE_NAME].as_str().unwrap_or_default();
        if name.is_empty() {
            return Err(document.error(format!(
                "{} has no annotation {RESOURCE_NAME}, which tells what it is to its composite",
                document.label()
            )));
        }
        if all.iter().any(|c| c.name == name) {
            return Err(document.error(format!("there is a second composed resource {name:?}")));
        }
        let details = pool::connection_details(pool::connection_secret(secrets, &document.object))?;
        all.push(Composed { name: name.to_owned(), details, document });
    }
    Ok(all)
}

fn read_context(args: &RenderArgs) -> Result<Map<String, Value>, Error> {
    let mut context = Map::new();
    for (key, path) in &args.context_files {
        context.insert(key.clone(), files::read_value(Path::new(path))?);
    }
    context.extend(args.values()?);
    Ok(context)
}

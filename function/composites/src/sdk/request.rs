//! Parts of a request that every composite reads alike.

use std::collections::BTreeMap;

use prost::{Message as _, bytes::Bytes};
use testplatform_apis::{
    condition::FatalReason,
    input::{Input, Settings},
    names::ours,
};

use super::{
    proto::{Resource, RunFunctionRequest},
    wire,
};

/// Error that makes a request unusable. The state of the cluster stays unchanged.
#[derive(Debug, thiserror::Error)]
pub enum UnusableRequest {
    /// No composite, or one without a name.
    #[error("the request has no observed composite with a name; nothing is changed")]
    NoComposite,
    /// A part of the request cannot be read.
    #[error("cannot read {part}: {why}; nothing is changed")]
    Unreadable {
        /// Which part.
        part: String,
        /// Why not.
        why: String,
    },
    /// A composed resource of ours that this version does not know.
    #[error(
        "composed resource {name:?} was made by a newer version of this function, and this version would \
         destroy it; nothing is changed. Go back to the newer version"
    )]
    NewerVersion {
        /// Composition resource name.
        name: String,
    },
}

impl UnusableRequest {
    /// CamelCase reason of the event.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::NoComposite => FatalReason::NoComposite.as_str(),
            Self::Unreadable { .. } => FatalReason::Unreadable.as_str(),
            Self::NewerVersion { .. } => FatalReason::NewerVersion.as_str(),
        }
    }
}

/// Reads the step's input. An unreadable input is an error, because it may contain the location of live clusters.
pub(crate) fn read_settings(request: &RunFunctionRequest) -> Result<Settings, UnusableRequest> {
    let Some(bytes) = &request.input else { return Ok(Settings::default()) };
    let input: Input = wire::from_struct(bytes).map_err(|e| UnusableRequest::Unreadable {
        part: "the input of this pipeline step".into(),
        why: e.to_string(),
    })?;
    Ok(input.to_settings())
}

/// Only `metadata.labels`, which alone identify our Objects.
#[derive(serde::Deserialize)]
struct Labelled {
    #[serde(default)]
    metadata: Labels,
}

#[derive(Default, serde::Deserialize)]
struct Labels {
    #[serde(default)]
    labels: BTreeMap<String, String>,
}

/// Whether an Object has our label. Another step may use the same name without it.
pub(crate) fn is_labelled(name: &str, bytes: &Bytes) -> Result<bool, UnusableRequest> {
    let resource = decode_resource(name, bytes)?;
    // Labels of a stored object are always readable. An unreadable Object may be ours.
    let object: Labelled = wire::from_struct(&resource.resource).map_err(|e| unreadable_resource(name, e))?;
    Ok(object.metadata.labels.contains_key(ours::COMPONENT))
}

pub(crate) fn refuse_newer(name: &str, bytes: &Bytes) -> Result<(), UnusableRequest> {
    if is_labelled(name, bytes)? {
        Err(UnusableRequest::NewerVersion { name: name.to_owned() })
    } else {
        Ok(())
    }
}

pub(crate) fn decode_resource(name: &str, bytes: &Bytes) -> Result<Resource, UnusableRequest> {
    Resource::decode(bytes.clone()).map_err(|e| unreadable_resource(name, e))
}

pub(crate) fn unreadable_resource(name: &str, why: impl std::fmt::Display) -> UnusableRequest {
    UnusableRequest::Unreadable { part: format!("observed resource {name:?}"), why: why.to_string() }
}

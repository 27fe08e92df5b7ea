//! Part of an entry that depends on its backend, and what is read of it.

use std::fmt::Debug;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::{Backend, CloudCredential, NetworkVariables};
use crate::template::{companions::Architecture, parameter::Type};

/// Name of a class of clusters on a hub.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterClassName {
    /// Its namespace.
    pub namespace: ClassNamespace,
    /// Its name.
    pub name: String,
}

/// Namespace of a class of clusters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClassNamespace {
    /// It has none.
    None,
    /// That of the cluster.
    OfCluster,
    /// This one.
    Named(String),
}

/// Backend-specific part of an entry.
pub trait BackendDefinition: Clone + Debug + PartialEq + DeserializeOwned {
    /// The backend.
    const BACKEND: Backend;
    /// Machine of a class of nodes.
    type Machine: Clone + Debug + PartialEq + DeserializeOwned;
    /// Partial view of the object that stands for a cluster on the hub. It has fields `metadata`, and `spec` as a whole.
    type Object: Clone + Debug + Default + DeserializeOwned;
    /// Target of a parameter's value.
    type Target: Clone + Debug + PartialEq + Eq;

    /// Finds errors, each with its member.
    fn find_flaws(&self) -> Vec<(String, String)>;
    /// Error in a class of nodes, if any.
    fn machine_flaw(&self, machine: &Self::Machine) -> Option<String>;
    /// Finds errors in an overlay, each with its path. The second argument: targets of parameters.
    fn overlay_flaws(&self, _: &Map<String, Value>, _: &[&Self::Target]) -> Vec<(String, String)> {
        let words = format!(
            "is only for {}: the objects of {} are not built from a document",
            Backend::join_names(|backend| backend.has_overlay),
            Self::BACKEND
        );
        vec![(String::new(), words)]
    }
    /// Finds references, each with its path in the entry, that fail when claims bring their own credentials: objects named beside the
    /// cluster's are not in the namespace of a claim. `overlay` and `targets` are those of the entry.
    fn brought_flaws(&self, _: &Map<String, Value>, _: &[&Self::Target]) -> Vec<(String, String)> {
        vec![]
    }
    /// Parses the target of a cluster's parameter.
    fn parse_target(&self, words: &str) -> Result<Self::Target, String>;
    /// Parses the target of a node group's parameter.
    fn node_target(&self, words: &str) -> Result<Self::Target, String>;
    /// The architectures that nodes of a class can have, that of groups that ask for none first; empty: whichever is asked for.
    fn architectures(_: &Self::Machine) -> &'static [Architecture] {
        &[]
    }
    /// Whether the nodes of a group can become those of another class.
    fn may_become(&self, old: &Self::Machine, new: &Self::Machine) -> bool;
    /// The classes of control planes that there are.
    fn control_plane_classes(&self) -> Vec<&str> {
        vec![]
    }
    /// Which of the claim's networks of the cloud have somewhere to go.
    fn network_variables(&self) -> NetworkVariables {
        NetworkVariables::default()
    }
    /// Whether the version of a cluster that is there can change.
    fn can_upgrade(&self) -> bool {
        Self::BACKEND.capabilities().editable
    }
    /// Whether the control plane of a cluster that is there can get more nodes, or fewer.
    fn resizes_control_plane(&self) -> bool {
        Self::BACKEND.capabilities().editable
    }
    /// Whether parameters of a cluster that is there can change.
    fn can_tune_parameters(&self) -> bool {
        Self::BACKEND.capabilities().editable
    }
    /// Whether there can be parameters of a type.
    fn takes_type(&self, _: Type) -> bool {
        true
    }
    /// Whether a version can be asked for at all.
    fn takes_versions(&self) -> bool {
        true
    }
    /// Whether each release has to name its image.
    fn needs_image(&self) -> bool;
    /// The credential of the cloud that each cluster gets for itself.
    fn cloud_credential(&self) -> Option<&CloudCredential> {
        None
    }
    /// The class of clusters that is named: its namespace, if the backend has classes in namespaces, and its name.
    fn cluster_class(&self) -> Option<ClusterClassName> {
        None
    }
}

/// The nulls of a document: a null is no value, and an API server refuses it.
pub(crate) fn find_nulls(at: &str, value: &Value, found: &mut Vec<(String, String)>) {
    match value {
        Value::Null => found.push((at.to_owned(), "is null; leave it out".into())),
        Value::Object(members) => {
            members.iter().for_each(|(key, member)| find_nulls(&format!("{at}.{key}"), member, found));
        }
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(i, item)| find_nulls(&format!("{at}[{i}]"), item, found));
        }
        Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The members that an entry must leave to the function: what a claim asks for goes there.
pub(crate) fn find_owned_members(
    at: &str,
    document: &Value,
    members: &[&str],
    found: &mut Vec<(String, String)>,
) {
    for member in members {
        let pointer = format!("/{}", member.replace('.', "/"));
        if document.pointer(&pointer).is_some() {
            let words = "is written by the function, from what the claim asks for; leave it out";
            found.push((format!("{at}.{member}"), words.into()));
        }
    }
}

/// A path of plain words, such as `configuration.proxy.httpProxy`.
pub(crate) fn parse_path(words: &str) -> Result<Vec<String>, String> {
    let plain = |part: &str| {
        !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
    };
    let parts: Vec<String> = words.split('.').map(str::to_owned).collect();
    if parts.iter().all(|part| plain(part)) {
        Ok(parts)
    } else {
        Err("is not a path of words and dots".into())
    }
}

/// A name of at most 253 characters without blanks.
pub(crate) fn parse_word(text: &str) -> Result<String, String> {
    let plain = |c: char| c.is_ascii_graphic();
    if !text.is_empty() && text.len() <= 253 && text.chars().all(plain) {
        Ok(text.to_owned())
    } else {
        Err("is not a name of 1 to 253 characters without blanks".into())
    }
}

//! The manifest that `up` applies.

use std::{
    fs,
    io::{self, Read as _},
    path::Path,
};

use serde_json::{Value, json};
use testplatform_apis::{text::bounded, yaml};

use super::super::super::{
    claim::{Claim, text},
    exit::{Exit, Stop},
};

fn read_file(file: &str) -> Result<String, Stop> {
    let mut text = String::new();
    let read = if file == "-" {
        io::stdin().read_to_string(&mut text).map(|_| text)
    } else {
        fs::read_to_string(file)
    };
    read.map_err(|error| Stop::new(Exit::Usage, format!("cannot read {file}: {error}"), ""))
}

/// The one claim of a manifest, by the name that was asked for.
pub fn read_manifest(file: &str, name: Option<&str>) -> Result<Claim, Stop> {
    parse_claim(&read_file(file)?, file, name)
}

fn parse_claim(read: &str, file: &str, name: Option<&str>) -> Result<Claim, Stop> {
    let wrong = |message: String| {
        Stop::new(Exit::Usage, message, "It should hold one TestPlatformCluster or TestCluster.")
    };
    let mut documents = yaml::parse_documents(Path::new(file), read).map_err(|e| wrong(e.to_string()))?;
    documents.retain(|document| !document.is_null());
    let found = documents.len();
    let Some(mut object) = documents.pop().filter(|_| found == 1) else {
        return Err(wrong(format!("{file} holds {found} objects")));
    };
    let Some(Claim { flavour, .. }) = Claim::read(object.clone()) else {
        let [version, kind] = [text_of(&object, "/apiVersion"), text_of(&object, "/kind")];
        return Err(wrong(format!("{file} holds a {kind} of {version}")));
    };
    for at in ["/metadata", "/spec", "/spec/writeConnectionSecretToRef"] {
        if object.pointer(at).is_some_and(|field| !field.is_object() && !field.is_null()) {
            return Err(wrong(format!(
                "{} of the claim in {file} is not an object",
                at[1..].replace('/', ".")
            )));
        }
    }
    if let Some(name) = name {
        object["metadata"]["name"] = name.into();
        object["spec"]["writeConnectionSecretToRef"] = json!({ "name": format!("{name}-kubeconfig") });
    }
    let own = text_of(&object, "/metadata/name");
    if own.is_empty() {
        return Err(Stop::new(
            Exit::Usage,
            format!("the claim in {file} has no name"),
            "Give it one with --name.",
        ));
    }
    if text(&object, "/spec/writeConnectionSecretToRef/name").is_empty() {
        object["spec"]["writeConnectionSecretToRef"]["name"] = format!("{own}-kubeconfig").into();
    }
    Ok(Claim { flavour, object })
}

fn text_of(object: &Value, pointer: &str) -> String {
    bounded(text(object, pointer), 253)
}

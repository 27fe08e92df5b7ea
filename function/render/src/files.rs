//! Files and directories → documents. The only place of `render` that touches the disk.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;
use testplatform_apis::yaml;

use super::Error;

/// An object, and where it was found.
#[derive(Clone, Debug)]
pub struct Document {
    /// The file.
    pub path: PathBuf,
    /// The object.
    pub object: Value,
}

impl Document {
    /// A text at a JSON pointer; empty if there is none.
    pub fn text(&self, pointer: &str) -> &str {
        text(&self.object, pointer)
    }

    /// An error about this document.
    pub fn error(&self, message: impl Into<String>) -> Error {
        Error::File { path: self.path.clone(), message: message.into() }
    }

    /// Kind and name, as people say them.
    pub fn label(&self) -> String {
        format!("{} {}", self.text("/kind"), self.text("/metadata/name"))
    }
}

/// A text at a JSON pointer; empty if there is none.
pub fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// The objects of a file, or of every `.yaml` and `.yml` file of a directory, sorted by name and not deeper.
/// A `List`, which is how `kubectl get` prints several objects, counts as its items.
pub fn read_documents(path: &Path) -> Result<Vec<Document>, Error> {
    let mut all = Vec::new();
    for file in list_files(path, &["yaml", "yml"])? {
        let objects = yaml::parse_documents(&file, &read_file(&file)?)?;
        for object in objects.into_iter().flat_map(list_items) {
            let document = Document { path: file.clone(), object };
            if document.text("/apiVersion").is_empty() || document.text("/kind").is_empty() {
                return Err(document.error("a document has no apiVersion or no kind"));
            }
            all.push(document);
        }
    }
    Ok(all)
}

/// The only object of a file.
pub fn read_document(path: &Path) -> Result<Document, Error> {
    let mut all = read_documents(path)?;
    match (all.pop(), all.len()) {
        (Some(document), 0) => Ok(document),
        (Some(_), more) => Err(Error::File {
            path: path.to_owned(),
            message: format!("holds {} objects instead of one", more + 1),
        }),
        (None, _) => Err(Error::File { path: path.to_owned(), message: "holds no object".into() }),
    }
}

/// The only document of a file, whatever it is.
pub fn read_value(path: &Path) -> Result<Value, Error> {
    Ok(yaml::parse_one(path, &read_file(path)?)?)
}

/// Every JSON document of a directory.
pub fn read_json(directory: &Path) -> Result<Vec<Value>, Error> {
    let parse = |file: PathBuf| {
        serde_json::from_str(&read_file(&file)?).map_err(|e| Error::Yaml {
            line: e.line() as u64,
            column: e.column() as u64,
            message: e.to_string(),
            path: file,
        })
    };
    list_files(directory, &["json"])?.into_iter().map(parse).collect()
}

fn list_files(path: &Path, extensions: &[&str]) -> Result<Vec<PathBuf>, Error> {
    let failed = |source| Error::Read { path: path.to_owned(), source };
    if !fs::metadata(path).map_err(failed)?.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut found = Vec::new();
    for entry in fs::read_dir(path).map_err(failed)? {
        let file = entry.map_err(failed)?.path();
        let fits = file.extension().is_some_and(|e| extensions.iter().any(|known| e == *known));
        if fits && file.is_file() {
            found.push(file);
        }
    }
    found.sort_by(Ord::cmp);
    Ok(found)
}

fn read_file(path: &Path) -> Result<String, Error> {
    fs::read_to_string(path).map_err(|source| Error::Read { path: path.to_owned(), source })
}

fn list_items(object: Value) -> Vec<Value> {
    match object {
        Value::Object(mut list) if list.get("kind").is_some_and(|k| k == "List") => {
            match list.remove("items") {
                Some(Value::Array(items)) => items,
                _ => vec![],
            }
        }
        object => vec![object],
    }
}

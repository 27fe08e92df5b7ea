//! The relevant files of a repository, in memory.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::text;

/// File names of a kustomization, in kustomize's order.
pub const KUSTOMIZATIONS: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// Files by their path relative to the repository, with `/` on every system.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree(BTreeMap<String, Vec<u8>>);

impl Tree {
    /// A file's bytes.
    pub fn get(&self, path: &str) -> Option<&[u8]> {
        self.0.get(path).map(Vec::as_slice)
    }

    /// Adds or replaces a file.
    pub fn insert(&mut self, path: impl Into<String>, bytes: impl Into<Vec<u8>>) {
        self.0.insert(path.into(), bytes.into());
    }

    /// Every file, in the order of paths.
    pub fn files(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.0.iter().map(|(path, bytes)| (path.as_str(), bytes.as_slice()))
    }

    /// The files below a directory.
    pub fn files_under(&self, directory: &str) -> impl Iterator<Item = (&str, &[u8])> {
        let prefix = format!("{directory}/");
        self.files().filter(move |(path, _)| path.starts_with(&prefix))
    }

    /// Names of the direct subdirectories of a directory.
    pub fn list_directories(&self, directory: &str) -> BTreeSet<&str> {
        let skip = directory.len() + 1;
        self.files_under(directory)
            .filter_map(|(path, _)| Some(path.get(skip..)?.split_once('/')?.0))
            .collect()
    }

    /// The kustomization of a directory, under any file name that kustomize accepts.
    pub fn find_kustomization(&self, directory: &str) -> Option<String> {
        KUSTOMIZATIONS.iter().map(|name| format!("{directory}/{name}")).find(|path| self.0.contains_key(path))
    }

    /// YAML documents of all readable files below a directory, with their paths. Invalid YAML files are skipped; an edit parses its file
    /// again and reports the error.
    pub fn documents_under(&self, directory: &str) -> impl Iterator<Item = (&str, Value)> {
        self.files_under(directory).flat_map(|(path, bytes)| {
            text::parse_documents(path, bytes)
                .unwrap_or_default()
                .into_iter()
                .map(move |document| (path, document))
        })
    }
}

impl<P: Into<String>, B: Into<Vec<u8>>> FromIterator<(P, B)> for Tree {
    fn from_iter<I: IntoIterator<Item = (P, B)>>(files: I) -> Self {
        Self(files.into_iter().map(|(path, bytes)| (path.into(), bytes.into())).collect())
    }
}

/// `path` relative to `directory`, with `.` and `..` resolved; none if it leaves the repository.
pub fn resolve_path(directory: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = directory.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

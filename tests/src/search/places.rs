//! Where things can lie: in objects, logs and other files, metrics, and what processes were started with.

use std::{
    collections::BTreeSet,
    fmt, fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, ensure};
use http::Request;
use kube::Client;

use super::{Found, Marks, objects};
use crate::{
    cluster::{At, at},
    control_plane::plain,
    crossplane::Engine,
    kinds::SECRET,
    nest::Nest,
};

/// A place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// The data of a Secret, which is where a secret belongs, if anywhere.
    Secret {
        /// Its control plane.
        plane: String,
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
        /// The key in its data.
        key: String,
    },
    /// etcd's files on disk. They hold Secrets, and overwritten values until compaction.
    Etcd(String),
    /// Any other place, in words.
    Elsewhere(String),
}

impl Place {
    /// A key of a Secret.
    pub fn secret(plane: &str, at: &At, key: &str) -> Self {
        let [namespace, name] = [at.namespace(), at.name()].map(str::to_owned);
        Self::Secret { plane: plane.to_owned(), namespace, name, key: key.to_owned() }
    }

    /// The Secret, if it is one's data.
    pub fn at(&self) -> Option<At> {
        match self {
            Self::Secret { namespace, name, .. } => Some(at(SECRET, namespace, name)),
            Self::Etcd(_) | Self::Elsewhere(_) => None,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Secret { plane, namespace, name, key } => {
                write!(f, "{plane}: Secret {namespace}/{name} data.{key}")
            }
            Self::Etcd(plane) => write!(f, "{plane}: etcd's data on disk"),
            Self::Elsewhere(words) => f.write_str(words),
        }
    }
}

/// Looks everywhere, as it is now: at every object of both control planes, of each kind that can be listed; at every file below the
/// directories of all programs, in which their temporary files are too, and at their logs; at what they were started with, and the files
/// that they have open below `/tmp`, also without a name; at their metrics. Of a hub beside the engine's nothing is looked at.
pub async fn find(engine: &Engine, marks: &Marks) -> anyhow::Result<Found> {
    let mut found = in_objects(engine, marks).await?;
    for plane in [&engine.konflux, &engine.hub] {
        in_nest(plane.nest(), marks, &mut found)?;
    }
    in_nest(engine.nest(), marks, &mut found)?;
    in_metrics(engine, marks, &mut found).await?;
    Ok(found)
}

/// Looks at the objects of both control planes only.
pub async fn in_objects(engine: &Engine, marks: &Marks) -> anyhow::Result<Found> {
    let mut found = Found::new();
    for plane in [&engine.konflux, &engine.hub] {
        let name = plane.name();
        for holder in objects::holders(plane, marks).await.with_context(|| name.to_owned())? {
            for (mark, fields) in &holder.fields {
                let places = fields.iter().map(|field| place(name, &holder, field));
                found.entry(mark.clone()).or_default().extend(places);
            }
        }
    }
    Ok(found)
}

fn place(plane: &str, holder: &objects::Holder, field: &str) -> Place {
    let objects::Holder { kind, namespace, name, .. } = holder;
    match field.strip_prefix("data.") {
        Some(key) if kind == "Secret" => Place::secret(plane, &at(SECRET, namespace, name), key),
        _ if namespace.is_empty() => Place::Elsewhere(format!("{plane}: {kind} {name} {field}")),
        _ => Place::Elsewhere(format!("{plane}: {kind} {namespace}/{name} {field}")),
    }
}

/// The files of a nest, and the processes in it. Logs may be kept elsewhere.
fn in_nest(nest: &Nest, marks: &Marks, found: &mut Found) -> anyhow::Result<()> {
    let mut note = |bytes: &[u8], place: Place| {
        for mark in marks.within(bytes) {
            found.entry(mark.to_owned()).or_default().insert(place.clone());
        }
    };
    let mut files = Vec::new();
    walk(nest.directory(), &mut files)?;
    ensure!(!files.is_empty(), "there is nothing in {}", nest.directory().display());
    for log in nest.logs() {
        if !files.contains(&log) {
            files.push(log);
        }
    }
    for file in files {
        let Some(bytes) = read(&file)? else { continue };
        let within = file.strip_prefix(nest.directory()).unwrap_or(&file);
        if within.starts_with("etcd") {
            note(&bytes, Place::Etcd(nest.name().to_owned()));
        } else {
            note(&bytes, Place::Elsewhere(format!("{}: file {}", nest.name(), within.display())));
        }
    }
    for process in nest.processes()? {
        let of = Path::new("/proc").join(process.to_string());
        let program = read(&of.join("comm"))?.unwrap_or_default();
        let program = String::from_utf8_lossy(&program).trim().to_owned();
        for what in ["cmdline", "environ"] {
            let bytes = read(&of.join(what))?.unwrap_or_default();
            note(&bytes, Place::Elsewhere(format!("{}: {what} of {program}", nest.name())));
        }
        // Files that have no name any more, and those that are not below the nest.
        for open in fs::read_dir(of.join("fd")).into_iter().flatten().flatten() {
            let Ok(target) = fs::read_link(open.path()) else { continue };
            let temporary = target.starts_with("/tmp") || target.starts_with(std::env::temp_dir());
            let file = fs::metadata(open.path()).is_ok_and(|of| of.is_file());
            // Those of the nest that still have a name have been looked at.
            if !temporary || !file || target.starts_with(nest.directory()) && target.exists() {
                continue;
            }
            let bytes = read(&open.path())?.unwrap_or_default();
            note(&bytes, Place::Elsewhere(format!("{}: {} of {program}", nest.name(), target.display())));
        }
    }
    Ok(())
}

fn walk(directory: &Path, files: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    let entries = fs::read_dir(directory).with_context(|| format!("cannot read {}", directory.display()))?;
    for entry in entries {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            walk(&entry.path(), files)?;
        } else if kind.is_file() {
            files.push(entry.path());
        }
    }
    Ok(())
}

/// A file as it is now; none if it, or its process, has gone since.
fn read(path: &Path) -> anyhow::Result<Option<Vec<u8>>> {
    use std::io::ErrorKind::NotFound;
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        // A process that has just ended.
        Err(error) if error.kind() == NotFound || error.raw_os_error() == Some(3) => Ok(None),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
    }
}

/// Every program that runs has some, but kube-controller-manager, which serves nothing here.
async fn in_metrics(engine: &Engine, marks: &Marks, found: &mut Found) -> anyhow::Result<()> {
    for (program, client) in metrics(engine).await? {
        let page = page(&client).await.with_context(|| format!("the metrics of {program}"))?;
        for mark in marks.within(page.as_bytes()) {
            let place = Place::Elsewhere(format!("metrics of {program}"));
            found.entry(mark.to_owned()).or_default().insert(place);
        }
    }
    Ok(())
}

async fn metrics(engine: &Engine) -> anyhow::Result<Vec<(String, Client)>> {
    let mut all = Vec::new();
    for (program, port) in engine.metrics() {
        all.push((program.to_owned(), plain(port).await?));
    }
    for plane in [&engine.konflux, &engine.hub] {
        all.push((format!("{}'s API server", plane.name()), plane.client()));
        all.push((format!("{}'s etcd", plane.name()), plane.etcd_client().await?));
    }
    Ok(all)
}

async fn page(client: &Client) -> anyhow::Result<String> {
    let page = client.request_text(Request::get("/metrics").body(Vec::new())?).await?;
    ensure!(page.contains("# TYPE "), "there are none");
    Ok(page)
}

/// Unexpected and missing places, each in words.
pub fn differences(found: &Found, expected: &[(&str, Vec<Place>)]) -> Vec<String> {
    let mut differences = Vec::new();
    let names: BTreeSet<&str> =
        found.keys().map(String::as_str).chain(expected.iter().map(|(name, _)| *name)).collect();
    for name in names {
        let there = found.get(name).cloned().unwrap_or_default();
        let may = expected.iter().filter(|(of, _)| *of == name).flat_map(|(_, places)| places.clone());
        let may: BTreeSet<Place> = may.collect();
        differences
            .extend(there.difference(&may).map(|p| format!("{name} is found where it must not be: {p}")));
        differences
            .extend(may.difference(&there).map(|p| format!("{name} is not found where it has to be: {p}")));
    }
    differences
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_and_less_than_expected_are_told() {
        let secret = |name: &str| Place::secret("hub", &at(SECRET, "a", name), "kubeconfig");
        let found = Found::from([("token".to_owned(), BTreeSet::from([secret("x"), secret("y")]))]);
        assert!(differences(&found, &[("token", vec![secret("y"), secret("x")])]).is_empty());
        assert_eq!(
            differences(
                &found,
                &[("token", vec![secret("y"), secret("z")]), ("password", vec![secret("x")])]
            ),
            [
                "password is not found where it has to be: hub: Secret a/x data.kubeconfig",
                "token is found where it must not be: hub: Secret a/x data.kubeconfig",
                "token is not found where it has to be: hub: Secret a/z data.kubeconfig",
            ]
        );
    }
}

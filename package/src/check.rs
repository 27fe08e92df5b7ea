//! `cargo xpkg check`: of packages, clusters and catalogues.
//!
//! `cargo xpkg check xpkg` reads a package as Crossplane's package manager does, and says everything that is wrong with it.
//!
//! Input: an artifact. Output: problems, each with its place. Only [`command`] reads files and registries.
//!
//! Core stops at the first thing that it does not like, and says some of it only when the package is installed; here all of it is found,
//! also what core tolerates but nobody means.

use std::fmt;

use crate::oci::Artifact;

pub mod back;
pub mod catalogue;
pub mod cluster;
pub mod command;
mod constraint;
mod crossplane;
pub mod hub;
mod image;
mod objects;
pub mod stream;

/// How bad something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Core does not install it, or what it installs does not work.
    Error,
    /// It works, but not as one would expect.
    Warning,
}

/// Something that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// How bad it is.
    pub severity: Severity,
    /// Where.
    pub place: String,
    /// What, and what to do.
    pub text: String,
}

impl Problem {
    pub(crate) fn error(place: impl Into<String>, text: impl Into<String>) -> Self {
        Self { severity: Severity::Error, place: place.into(), text: text.into() }
    }

    fn warning(place: impl Into<String>, text: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, place: place.into(), text: text.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        write!(f, "{severity}: {}: {}", self.place, self.text)
    }
}

/// Whether core would not install it, or it would not work.
pub fn is_bad(problems: &[Problem]) -> bool {
    problems.iter().any(|problem| problem.severity == Severity::Error)
}

/// What a package is, as far as it can be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// `Function`, `Configuration` or `Provider`.
    pub kind: String,
    /// Name in its metadata.
    pub name: String,
    /// Kind and name of every other object.
    pub objects: Vec<String>,
    /// Such as `linux/amd64`.
    pub platforms: Vec<String>,
}

/// Everything that is wrong with a package, and what it is.
pub fn package(artifact: &Artifact) -> (Summary, Vec<Problem>) {
    let mut problems = Vec::new();
    let images = image::images(artifact, &mut problems);
    let mut summary =
        Summary { platforms: images.iter().map(image::Read::platform).collect(), ..Summary::default() };
    let Some(read) = image::read_by_core(&images, &mut problems) else { return (summary, problems) };
    for other in images.iter().filter(|image| image.package.is_some() && image.package != read.package) {
        problems.push(Problem::warning(
            other.place(),
            "its package.yaml differs from the one that core reads; what is installed then depends on nothing but the order",
        ));
    }
    if let Some(text) = &read.package {
        let stream = stream::read(text, &mut problems);
        objects::check(&stream, &mut problems);
        if let [meta] = stream.metas.as_slice() {
            meta.kind.clone_into(&mut summary.kind);
            meta.name().clone_into(&mut summary.name);
            if meta.kind == "Function" {
                for image in &images {
                    image::check_runtime(image, &mut problems);
                }
            }
        }
        summary.objects = stream.objects.iter().map(|o| format!("{} {}", o.kind, o.name())).collect();
    }
    problems.sort_by_key(|problem| problem.severity);
    (summary, problems)
}

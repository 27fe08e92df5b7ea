//! `cargo xpkg check`: of packages, clusters and catalogues.
//!
//! `cargo xpkg check xpkg` reads a package like Crossplane's package manager does, and reports all of its problems.
//!
//! Input: an artifact. Output: problems with their places. Only [`command`] reads files and registries.
//!
//! Core stops at the first problem, and reports some only at installation. This check finds all of them, including constructs that core
//! tolerates but nobody intends.

use std::fmt;

use crate::oci::Artifact;

pub mod catalogue;
pub mod command;
mod constraint;
mod crossplane;
pub mod hub;
mod image;
mod objects;
pub mod revisions;
pub mod rollback;
pub mod served;
pub mod stream;

/// Severity of a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProblemSeverity {
    /// Core does not install it, or the installed objects do not work.
    Error,
    /// It works, but not as expected.
    Warning,
}

/// A problem of a package, cluster or catalogue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckProblem {
    /// Its severity.
    pub severity: ProblemSeverity,
    /// File and line, object or layer.
    pub place: String,
    /// Description and remedy.
    pub text: String,
}

impl CheckProblem {
    pub(crate) fn error(place: impl Into<String>, text: impl Into<String>) -> Self {
        Self { severity: ProblemSeverity::Error, place: place.into(), text: text.into() }
    }

    fn warning(place: impl Into<String>, text: impl Into<String>) -> Self {
        Self { severity: ProblemSeverity::Warning, place: place.into(), text: text.into() }
    }
}

impl fmt::Display for CheckProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = match self.severity {
            ProblemSeverity::Error => "error",
            ProblemSeverity::Warning => "warning",
        };
        write!(f, "{severity}: {}: {}", self.place, self.text)
    }
}

/// Whether any problem prevents installation or operation.
pub fn has_errors(problems: &[CheckProblem]) -> bool {
    problems.iter().any(|problem| problem.severity == ProblemSeverity::Error)
}

/// Summary of a package, as far as it is readable.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PackageSummary {
    /// `Function`, `Configuration` or `Provider`.
    pub kind: String,
    /// Name in its metadata.
    pub name: String,
    /// Kind and name of every other object.
    pub objects: Vec<String>,
    /// Platforms, such as `linux/amd64`.
    pub platforms: Vec<String>,
}

/// Checks a package. Returns its summary and all problems.
pub fn check_package(artifact: &Artifact) -> (PackageSummary, Vec<CheckProblem>) {
    let mut problems = Vec::new();
    let images = image::read_images(artifact, &mut problems);
    let mut summary = PackageSummary {
        platforms: images.iter().map(image::PackageImage::platform).collect(),
        ..PackageSummary::default()
    };
    let Some(read) = image::read_by_core(&images, &mut problems) else { return (summary, problems) };
    for other in images.iter().filter(|image| image.package.is_some() && image.package != read.package) {
        problems.push(CheckProblem::warning(
            other.place(),
            "its package.yaml differs from the one that core reads; what is installed then depends on nothing but the order",
        ));
    }
    if let Some(text) = &read.package {
        let stream = stream::read_stream(text, &mut problems);
        objects::check_objects(&stream, &mut problems);
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

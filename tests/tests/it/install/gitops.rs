//! The example of a GitOps repository: a real API server would accept everything that its Applications render.

use std::{fs, path::Path};

use anyhow::{Context as _, ensure};
use serde_json::Value;
use testplatform_tests::{control_plane::ControlPlane, settings};

use super::overlays::{apply_with, render};

const EXAMPLE: &str = "examples/gitops";
/// Pins of this repository in the example: the address before the path, and the commit after it.
const PIN: (&str, &str) = ("https://github.com/OWNER/NAME/", "?ref=1111111111111111111111111111111111111111");
/// Directories of the Applications.
const DIRECTORIES: [&str; 4] = [
    "components/provider-kubernetes",
    "components/testplatform-hub/rings/ring-1/hub-01",
    "components/testplatform/rings/ring-1/staging-01",
    "components/testplatform/rings/ring-2/prod-01",
];

/// In a dry run, so that the overlays stay as they were applied. Monitors and external secrets are of operators that are not here.
pub fn every_application_is_admitted(plane: &ControlPlane, kubectl: &Path) -> anyhow::Result<()> {
    let copy = tempfile::tempdir()?;
    copy_with_local_sources(&settings::repository().join(EXAMPLE), copy.path())?;
    for directory in DIRECTORIES {
        let path = copy.path().join(directory);
        let all = render(kubectl, path.to_str().context("a path that is no text")?)?;
        let known: Vec<Value> = all
            .into_iter()
            .filter(|object| {
                let version = object["apiVersion"].as_str().unwrap_or_default();
                !["monitoring.coreos.com/", "external-secrets.io/"]
                    .iter()
                    .any(|group| version.starts_with(group))
            })
            .collect();
        ensure!(known.len() > 1, "{directory}: {known:?}");
        apply_with(plane, kubectl, &known, &["--dry-run=server"])
            .with_context(|| format!("{directory} is refused"))?;
    }
    Ok(())
}

/// Copies the example, with paths of this working copy in place of its pins: nothing is fetched.
fn copy_with_local_sources(from: &Path, to: &Path) -> anyhow::Result<()> {
    let depth = to.canonicalize()?.components().count() - 1;
    let repository = settings::repository().canonicalize()?;
    let local = format!("{}{}/", "../".repeat(depth), repository.strip_prefix("/")?.display());
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            fs::create_dir(&target)?;
            copy_with_local_sources(&entry.path(), &target)?;
        } else {
            let text = fs::read_to_string(entry.path())?;
            fs::write(target, text.replace(PIN.0, &local).replace(PIN.1, ""))?;
        }
    }
    Ok(())
}

//! The releases of an entry: versions and images that belong together.

use super::flaws::Flaws;
use super::{Document, Release, ReleaseDocument};
use crate::template::Backend;
use crate::template::version::Version;

/// Requirements of a backend on releases, so that checks that depend only on them are not instantiated for each [`BackendDefinition`].
#[derive(Clone, Copy)]
pub(super) struct Needs {
    pub backend: Backend,
    pub release: bool,
    pub image: bool,
    pub takes_versions: bool,
}

pub(super) fn check_releases(document: &Document, needs: Needs, flaws: &mut Flaws<'_>) -> Vec<Release> {
    let single = document.version.is_some() || document.image.is_some() || document.image_version.is_some();
    if single && !document.releases.is_empty() {
        flaws.add_flaw(
            "version",
            "cannot be combined with releases: put it into the list, or remove the list",
        );
    }
    let own = single.then(|| ReleaseDocument {
        version: document.version.clone(),
        image: document.image.clone(),
        image_version: document.image_version.clone(),
        ..ReleaseDocument::default()
    });
    let mut found: Vec<Release> = Vec::new();
    let listed = document.releases.iter().enumerate().map(|(i, r)| (format!("releases[{i}]."), r));
    for (path, release) in own.iter().map(|r| (String::new(), r)).chain(listed) {
        let Some(release) = self::check_release(&path, release, needs, flaws) else { continue };
        if found.iter().any(|other| other.version == release.version) {
            flaws.add_flaw(&format!("{path}version"), "is already used");
        }
        found.push(release);
    }
    if found.is_empty() && needs.release {
        flaws.add_flaw("releases", "is empty: a cluster needs a release");
    }
    if !found.is_empty() && !found.iter().any(|r| r.enabled) {
        flaws.add_flaw(
            "releases",
            "has none that is enabled; to switch the template off, set enabled to false",
        );
    }
    if !found.is_empty() && !needs.takes_versions {
        flaws.add_flaw("backendRef.versionParameter", "is missing: releases need it");
    }
    found
}

/// A version and an image that belong together.
fn check_release(
    path: &str,
    document: &ReleaseDocument,
    needs: Needs,
    flaws: &mut Flaws<'_>,
) -> Option<Release> {
    let Some(text) = &document.version else {
        let sentence = match &document.image {
            Some(_) => "is missing: an image without a version does not identify a release",
            None => "is missing",
        };
        flaws.add_flaw(&format!("{path}version"), sentence);
        return None;
    };
    let version = match Version::try_from(text.clone()) {
        Ok(version) => version,
        Err(error) => {
            flaws.add_flaw(&format!("{path}version"), format!("is {error}"));
            return None;
        }
    };
    if let Some(own) = &document.image_version
        && Version::try_from(own.clone()) != Ok(version.clone())
    {
        flaws.add_flaw(
            &format!("{path}imageVersion"),
            format!("is not version {version}: they do not belong together"),
        );
    }
    let image = document.image.as_ref().filter(|image| !image.is_empty());
    if image.is_none() && needs.image {
        flaws.add_flaw(
            &format!("{path}image"),
            format!("is missing: {} needs the image of version {version}", needs.backend),
        );
    }
    if let Some(of_tag) = image.and_then(|image| Version::of_tag(image)).filter(|tag| *tag != version) {
        let sentence =
            format!("has the tag of {of_tag}, and version is {version}: they do not belong together");
        flaws.add_flaw(&format!("{path}image"), sentence);
    }
    if image.is_some_and(|image| image.len() > 512 || !image.chars().all(|c| c.is_ascii_graphic())) {
        flaws.add_flaw(&format!("{path}image"), "is not an image: up to 512 characters without blanks");
    }
    Some(Release {
        version,
        image: image.cloned(),
        enabled: document.enabled != Some(false),
        deprecated: document.deprecated.clone(),
        allowed_upgrades: document.allowed_upgrades.clone(),
    })
}

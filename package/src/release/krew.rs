//! The manifest by which krew installs the plugin.
//!
//! Input: the archives of the plugin. Output: JSON, to be written as YAML. No I/O.

use anyhow::ensure;
use serde_json::{Value, json};

use crate::{
    build::{
        Platform,
        plugin_archive::{LICENCE, archive_name},
    },
    names::PLUGIN,
    oci::Digest,
};

/// Name of the plugin in krew. The manifest's file has to have the same.
pub const NAME: &str = "testplatform";

/// Address and version of a release.
#[derive(Clone, Copy, Debug)]
pub struct ReleaseInfo<'a> {
    /// Version without a `v`.
    pub version: &'a str,
    /// Address below which the archives are, without a slash at its end.
    pub url: &'a str,
    /// Address of the project.
    pub homepage: &'a str,
}

/// Builds the manifest for archives by platform.
///
/// # Errors
/// If there is no archive, or an address does not begin with `https://`, which krew requires of its index.
pub fn build_manifest(release: ReleaseInfo<'_>, archives: &[(Platform, Digest)]) -> anyhow::Result<Value> {
    ensure!(!archives.is_empty(), "there is no archive of {PLUGIN}; `cargo xpkg build` writes them");
    for address in [release.url, release.homepage] {
        ensure!(address.starts_with("https://"), "{address:?} is no address with https://");
    }
    let platforms: Vec<Value> = archives
        .iter()
        .map(|(platform, digest)| {
            json!({
                "selector": { "matchLabels": {
                    "os": platform.os_name(), "arch": platform.architecture.as_str(),
                } },
                "uri": format!("{}/{}", release.url, archive_name(*platform)),
                "sha256": digest.digest(),
                "bin": PLUGIN,
                "files": [{ "from": PLUGIN, "to": "." }, { "from": LICENCE, "to": "." }],
            })
        })
        .collect();
    Ok(json!({
        "apiVersion": "krew.googlecontainertools.github.com/v1alpha2",
        "kind": "Plugin",
        "metadata": { "name": NAME },
        "spec": {
            "version": format!("v{}", release.version),
            "homepage": release.homepage,
            "shortDescription": "Create, follow and end OpenShift test clusters",
            "description": "Creates TestPlatformClusters from a manifest, waits for the cluster, explains the delay of one, \
                merges its kubeconfig, extends its lifetime, and ends it. It needs the API TestPlatformCluster on the current cluster.\n",
            "platforms": platforms,
        },
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oci::digest_of;

    #[test]
    fn a_manifest_without_archive_or_with_plain_http_is_refused() {
        let release = ReleaseInfo {
            version: "1.2.3",
            url: "https://example.org/v1.2.3",
            homepage: "https://example.org",
        };
        let error = build_manifest(release, &[]).unwrap_err().to_string();
        assert!(error.contains("cargo xpkg build"), "{error}");
        let archives = [(Platform::ALL[0], digest_of(b""))];
        assert!(build_manifest(release, &archives).is_ok());
        let plain = ReleaseInfo { url: "http://example.org", ..release };
        assert!(build_manifest(plain, &archives).unwrap_err().to_string().contains("https://"));
    }
}

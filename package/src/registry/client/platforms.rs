//! Platforms of an image, without reading its content.

use std::collections::BTreeSet;

use anyhow::{Context as _, ensure};
use http::{Method, StatusCode};

use super::Client;
use crate::oci::{ImageIndex, ImageManifest, Platform, digest_of, is_index};

impl Client {
    /// Platforms, such as `linux/amd64`; none if the registry has no such image.
    ///
    /// # Errors
    /// If the registry does not answer, or the reference is no image.
    pub async fn list_platforms(&mut self) -> anyhow::Result<Option<BTreeSet<String>>> {
        self.scheme = self.http.scheme(self.registry_host()).await;
        let answer = self.fetch_manifest().await?;
        if answer.status == StatusCode::NOT_FOUND {
            return Ok(None);
        }
        let (root, bytes) = self.root(answer)?;
        let no_image = || format!("{} is not an image", self.reference);
        if is_index(root.media_type()) {
            let index: ImageIndex = serde_json::from_slice(&bytes).with_context(no_image)?;
            let platforms = index.manifests().iter().filter_map(|manifest| manifest.platform().as_ref());
            // Signatures and bills of materials are index entries for an unknown platform.
            let names = platforms.map(platform_name).filter(|name| !name.starts_with("unknown/"));
            return Ok(Some(names.collect()));
        }
        let manifest: ImageManifest = serde_json::from_slice(&bytes).with_context(no_image)?;
        let digest = manifest.config().digest();
        let answer = self.send(Method::GET, &format!("blobs/{digest}"), &[], &[]).await?;
        self.expect_status(&answer, &[StatusCode::OK], &format!("lacks {digest}"))?;
        ensure!(digest_of(&answer.body) == *digest, "the bytes under {digest} have another digest");
        let platform: Platform = serde_json::from_slice(&answer.body)
            .with_context(|| format!("{} does not say what it runs on", self.reference))?;
        Ok(Some([platform_name(&platform)].into()))
    }
}

fn platform_name(platform: &Platform) -> String {
    format!("{}/{}", platform.os(), platform.architecture())
}

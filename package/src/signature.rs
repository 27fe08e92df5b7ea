//! `cargo xpkg sign` and `verify`: signatures of packages by a key, in cosign's format.
//!
//! The signatures of a package are one image in its repository, under a tag made of the package's digest. Each layer is a payload that names
//! the digest, and has the signature of the payload in an annotation.
//!
//! Input: keys, digests, images of signatures. Output: images of signatures. Only [`command`] reads files and registries.
//!
//! **Libraries.** The crate sigstore was weighed. It is for keyless signatures, and brings clients of registries and identity providers. ring,
//! which signs for TLS here, has the one scheme that every verifier of this format supports.
//!
//! **Invariant:** a signature counts only if its payload names the digest and the type of these signatures.

use anyhow::{Context as _, bail};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::{Value, json};

use crate::oci::{
    Annotations, Artifact, Blobs, Descriptor, Digest, ImageManifest, MediaType, build_manifest,
    describe_blob, digest_of, to_json,
};

pub mod command;
pub mod key;

use key::{SigningKey, VerifyingKey};

/// Media type of a payload.
const PAYLOAD: &str = "application/vnd.dev.cosign.simplesigning.v1+json";
/// Annotation of a layer with the signature of its payload.
const SIGNATURE: &str = "dev.cosignproject.cosign/signature";
/// Type in a payload. It keeps apart signatures that the same key makes for other purposes.
const TYPE: &str = "cosign container image signature";

/// Tag of the image with the signatures of a package.
pub fn signature_tag(digest: &Digest) -> String {
    format!("sha256-{}.sig", digest.digest())
}

/// Adds a signature to those of a package. `existing` are those that its repository has.
///
/// # Errors
/// If the existing ones cannot be read.
pub fn sign_digest(
    key: &SigningKey,
    repository: &str,
    digest: &Digest,
    existing: Option<&Artifact>,
) -> anyhow::Result<Artifact> {
    let payload = to_json(&json!({
        "critical": {
            "identity": { "docker-reference": repository },
            "image": { "docker-manifest-digest": digest.as_ref() },
            "type": TYPE,
        },
        "optional": null,
    }))?;
    let signature = BASE64_STANDARD.encode(key.sign(&payload)?);
    let mut layer = describe_blob(MediaType::Other(PAYLOAD.to_owned()), &payload);
    layer.set_annotations(Some([(SIGNATURE.to_owned(), signature)].into()));
    let mut layers = existing.map(read_layers).transpose()?.unwrap_or_default();
    layers.push(layer);

    let mut blobs = existing.map(|artifact| artifact.blobs.clone()).unwrap_or_default();
    blobs.insert(digest_of(&payload), payload);
    build_image(layers, blobs)
}

/// An image with these layers. `blobs` may have more than it references.
fn build_image(layers: Vec<Descriptor>, mut blobs: Blobs) -> anyhow::Result<Artifact> {
    let digests: Vec<&str> = layers.iter().map(|layer| layer.digest().as_ref()).collect();
    // It runs nowhere, so it has no platform; registries require the rest of a configuration.
    let config = to_json(&json!({
        "architecture": "",
        "config": {},
        "os": "",
        "rootfs": { "type": "layers", "diff_ids": digests },
    }))?;
    let manifest = to_json(&build_manifest(&config, layers, &Annotations::new())?)?;
    let root = describe_blob(MediaType::ImageManifest, &manifest);
    blobs.insert(digest_of(&config), config);
    blobs.insert(root.digest().clone(), manifest);
    Ok(Artifact { root, blobs })
}

fn read_layers(artifact: &Artifact) -> anyhow::Result<Vec<Descriptor>> {
    let manifest: ImageManifest =
        serde_json::from_slice(artifact.blob(&artifact.root)?).context("the signatures are not an image")?;
    Ok(manifest.layers().clone())
}

/// Checks that one of the signatures is of this digest and by this key.
///
/// # Errors
/// If none is. The error has the reason for each.
pub fn verify_digest(key: &VerifyingKey, digest: &Digest, signatures: &Artifact) -> anyhow::Result<()> {
    let mut reasons = Vec::new();
    for layer in read_layers(signatures)? {
        match verify_layer(key, digest, signatures, &layer) {
            Ok(()) => return Ok(()),
            Err(error) => reasons.push(format!("{error:#}")),
        }
    }
    bail!("no signature of {digest} is by this key: {}", reasons.join("; "))
}

fn verify_layer(
    key: &VerifyingKey,
    digest: &Digest,
    signatures: &Artifact,
    layer: &Descriptor,
) -> anyhow::Result<()> {
    let payload = signatures.blob(layer)?;
    let signature = layer.annotations().as_ref().and_then(|annotations| annotations.get(SIGNATURE));
    let signature = signature.context("a layer has no signature")?;
    let signature = BASE64_STANDARD.decode(signature).context("a signature is not base64")?;
    // Nothing of a payload is read before its signature is verified.
    key.verify(payload, &signature)?;
    let signed: Value = serde_json::from_slice(payload).context("a payload is not JSON")?;
    let critical = &signed["critical"];
    if critical["type"] != TYPE {
        bail!("a payload has the type {}", critical["type"]);
    }
    if critical["image"]["docker-manifest-digest"] != digest.as_ref() {
        bail!("a payload is of {}", critical["image"]["docker-manifest-digest"]);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{key::tests::new_keys, *};

    fn change_layer(artifact: &Artifact, change: impl Fn(&mut Descriptor, &mut Blobs)) -> Artifact {
        let mut layers = read_layers(artifact).unwrap();
        let mut blobs = artifact.blobs.clone();
        change(&mut layers[0], &mut blobs);
        build_image(layers, blobs).unwrap()
    }

    #[test]
    fn a_signature_is_valid_for_its_digest_and_its_key() {
        let (signing, verifying) = new_keys();
        let (_, stranger) = new_keys();
        let (digest, other) = (digest_of(b"package"), digest_of(b"other"));
        let signed = sign_digest(&signing, "registry.example.org/f", &digest, None).unwrap();
        verify_digest(&verifying, &digest, &signed).unwrap();
        let refused = |key: &VerifyingKey, digest: &Digest| {
            verify_digest(key, digest, &signed).unwrap_err().to_string()
        };
        assert!(refused(&stranger, &digest).contains("by this key"));
        assert!(refused(&verifying, &other).contains(digest.as_ref()), "{}", refused(&verifying, &other));
    }

    #[test]
    fn a_second_signature_leaves_the_first() {
        let ((old, old_public), (new, new_public)) = (new_keys(), new_keys());
        let digest = digest_of(b"package");
        let first = sign_digest(&old, "registry.example.org/f", &digest, None).unwrap();
        let both = sign_digest(&new, "registry.example.org/f", &digest, Some(&first)).unwrap();
        for key in [&old_public, &new_public] {
            verify_digest(key, &digest, &both).unwrap();
        }
        assert!(verify_digest(&new_public, &digest, &first).is_err());
    }

    #[test]
    fn changed_signatures_are_refused() {
        let (signing, verifying) = new_keys();
        let digest = digest_of(b"package");
        let signed = sign_digest(&signing, "registry.example.org/f", &digest, None).unwrap();
        let annotate = |layer: &mut Descriptor, value: String| {
            layer.set_annotations(Some([(SIGNATURE.to_owned(), value)].into()));
        };
        let value = read_layers(&signed).unwrap()[0].annotations().as_ref().unwrap()[SIGNATURE].clone();
        let mut flipped = BASE64_STANDARD.decode(&value).unwrap();
        flipped[20] ^= 1;
        for (changed, words) in [
            (
                change_layer(&signed, |layer, _| annotate(layer, BASE64_STANDARD.encode(&flipped))),
                "does not match",
            ),
            (change_layer(&signed, |layer, _| annotate(layer, "%".to_owned())), "not base64"),
            (
                change_layer(&signed, |layer, _| {
                    layer.set_annotations(None);
                }),
                "no signature",
            ),
            (
                change_layer(&signed, |layer, blobs| {
                    let payload = br#"{"critical":{}}"#.to_vec();
                    *layer = describe_blob(MediaType::Other(PAYLOAD.to_owned()), &payload);
                    annotate(layer, value.clone());
                    blobs.insert(digest_of(&payload), payload);
                }),
                "does not match",
            ),
            (change_layer(&signed, |layer, blobs| drop(blobs.remove(layer.digest()))), "not there"),
        ] {
            let error = verify_digest(&verifying, &digest, &changed).unwrap_err().to_string();
            assert!(error.contains(words), "{words}: {error}");
        }
    }

    /// The same key may sign something else.
    #[test]
    fn a_signature_for_another_purpose_is_refused() {
        let (signing, verifying) = new_keys();
        let digest = digest_of(b"package");
        let payload = to_json(&json!({ "critical": {
            "image": { "docker-manifest-digest": digest.as_ref() }, "type": "something else",
        } }))
        .unwrap();
        let mut layer = describe_blob(MediaType::Other(PAYLOAD.to_owned()), &payload);
        let signature = BASE64_STANDARD.encode(signing.sign(&payload).unwrap());
        layer.set_annotations(Some([(SIGNATURE.to_owned(), signature)].into()));
        let signed = build_image(vec![layer], [(digest_of(&payload), payload)].into()).unwrap();
        let error = verify_digest(&verifying, &digest, &signed).unwrap_err().to_string();
        assert!(error.contains("has the type \"something else\""), "{error}");
    }
}

//! Signatures of packages in a real registry, and what happens to them when somebody changes either.

use std::{fs, path::Path};

use rcgen::{KeyPair, PKCS_ECDSA_P256_SHA256, PKCS_ECDSA_P384_SHA384};
use serde_json::Value;
use tempfile::TempDir;
use testplatform_package::{
    oci::{Artifact, layout},
    registry::command::{Connection, pull_artifact},
};

use crate::packages::support::{AMD64, ARM64, Registry, configuration, function, run, stderr, stdout, tool};

/// A pushed package, and keys.
struct Pushed {
    folder: TempDir,
    registry: Registry,
    artifact: Artifact,
}

impl Pushed {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let pushed = Self {
            artifact: Artifact::of(function(&[AMD64, ARM64])).unwrap(),
            registry: Registry::start(&[]),
            folder,
        };
        for name in ["ours", "other"] {
            write_keys(pushed.folder.path(), name, &KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).unwrap());
        }
        pushed.push(&pushed.artifact);
        pushed
    }

    fn push(&self, artifact: &Artifact) {
        let path = self.folder.path().join("package");
        layout::write(&path, artifact, "x").unwrap();
        let output =
            run(&mut tool(&["push", path.to_str().unwrap(), &format!("{}/f:v1", self.registry.address)]));
        assert!(output.status.success(), "{}", stderr(&output));
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    fn reference(&self) -> String {
        format!("{}/f@{}", self.registry.address, self.artifact.root.digest())
    }

    /// Reference of the signatures.
    fn signatures(&self) -> String {
        format!("{}/f:sha256-{}.sig", self.registry.address, self.artifact.root.digest().digest())
    }

    fn sign(&self, key: &str) {
        let output = run(&mut tool(&["sign", "--key", &self.path(key), &self.reference()]));
        assert!(output.status.success(), "{}", stderr(&output));
        assert_eq!(stdout(&output).trim(), self.signatures());
    }

    /// Exit code and output of a verification.
    fn verify(&self, key: &str) -> (Option<i32>, String) {
        let output = run(&mut tool(&["verify", "--key", &self.path(key), &self.reference()]));
        (output.status.code(), stdout(&output) + &stderr(&output))
    }

    fn is_refused(&self, key: &str, words: &str) {
        let (code, text) = self.verify(key);
        assert!(code == Some(3) && text.contains(words), "{code:?} {text}");
        assert_eq!(text.lines().count(), 1, "{text}");
    }
}

fn write_keys(folder: &Path, name: &str, pair: &KeyPair) {
    fs::write(folder.join(format!("{name}.key")), pair.serialize_pem()).unwrap();
    fs::write(folder.join(format!("{name}.pub")), pair.public_key_pem()).unwrap();
}

#[test]
fn a_signed_package_is_verified_by_its_key_alone() {
    let pushed = Pushed::new();
    pushed.is_refused("ours.pub", "has no signature by a key; ");
    pushed.sign("ours.key");
    let (code, text) = pushed.verify("ours.pub");
    assert_eq!(
        (code, text),
        (Some(0), format!("{} is signed by {}\n", pushed.reference(), pushed.path("ours.pub")))
    );
    pushed.is_refused("other.pub", "by this key: a signature does not match the key");

    // A rotated key: both are valid for a while.
    pushed.sign("other.key");
    assert_eq!((pushed.verify("ours.pub").0, pushed.verify("other.pub").0), (Some(0), Some(0)));
}

/// In the form in which cosign and policy controllers read it.
#[test]
fn a_signature_has_the_form_of_cosign() {
    let pushed = Pushed::new();
    pushed.sign("ours.key");
    let copy = pushed.path("copy");
    let reference = pushed.signatures().parse().unwrap();
    let signatures = pull_artifact(&reference, Connection::default()).unwrap();
    layout::write(copy.as_ref(), &signatures, "x").unwrap();
    let manifest: Value = serde_json::from_slice(signatures.blob(&signatures.root).unwrap()).unwrap();
    assert_eq!(manifest["mediaType"], "application/vnd.oci.image.manifest.v1+json");
    assert_eq!(manifest["config"]["mediaType"], "application/vnd.oci.image.config.v1+json");
    let layer = &manifest["layers"][0];
    assert_eq!(layer["mediaType"], "application/vnd.dev.cosign.simplesigning.v1+json");
    assert!(layer["annotations"]["dev.cosignproject.cosign/signature"].as_str().unwrap().starts_with("ME"));
    let digest = layer["digest"].as_str().unwrap().strip_prefix("sha256:").unwrap();
    let payload: Value =
        serde_json::from_slice(&fs::read(Path::new(&copy).join("blobs/sha256").join(digest)).unwrap())
            .unwrap();
    let critical = &payload["critical"];
    assert_eq!(critical["type"], "cosign container image signature");
    assert_eq!(critical["image"]["docker-manifest-digest"], pushed.artifact.root.digest().as_ref());
    assert_eq!(critical["identity"]["docker-reference"], format!("{}/f", pushed.registry.address));
}

/// The signatures of one package, moved to another.
#[test]
fn signatures_of_another_package_are_refused() {
    let pushed = Pushed::new();
    pushed.sign("ours.key");
    let signatures = pull_artifact(&pushed.signatures().parse().unwrap(), Connection::default()).unwrap();
    let other = Pushed { artifact: Artifact::of(vec![configuration()]).unwrap(), ..pushed };
    other.push(&other.artifact);
    let folder = other.path("signatures");
    layout::write(folder.as_ref(), &signatures, "x").unwrap();
    assert!(run(&mut tool(&["push", &folder, &other.signatures()])).status.success());
    other.is_refused("ours.pub", "a payload is of \"sha256:");
}

#[test]
fn a_check_with_a_key_reports_a_missing_signature() {
    let pushed = Pushed::new();
    let check = || run(&mut tool(&["check", "xpkg", "--key", &pushed.path("ours.pub"), &pushed.reference()]));
    let unsigned = check();
    assert_eq!(unsigned.status.code(), Some(3));
    assert!(stdout(&unsigned).contains("error: signature: "), "{}", stdout(&unsigned));
    pushed.sign("ours.key");
    let signed = check();
    assert!(signed.status.success(), "{}{}", stdout(&signed), stderr(&signed));
    let local =
        run(&mut tool(&["check", "xpkg", "--key", &pushed.path("ours.pub"), &pushed.path("package")]));
    assert_eq!(local.status.code(), Some(1));
    assert!(stderr(&local).contains("only packages in a registry have signatures"), "{}", stderr(&local));
}

#[test]
fn wrong_arguments_of_a_signature_are_refused_with_one_sentence() {
    let pushed = Pushed::new();
    let p384 = KeyPair::generate_for(&PKCS_ECDSA_P384_SHA384).unwrap();
    write_keys(pushed.folder.path(), "p384", &p384);
    let absent = format!("{}/g@{}", pushed.registry.address, pushed.artifact.root.digest());
    let tagged = format!("{}/f:v1", pushed.registry.address);
    for (verb, key, reference, words) in [
        ("sign", "ours.key", &tagged, "add the @sha256:"),
        ("verify", "ours.pub", &tagged, "add the @sha256:"),
        ("sign", "ours.key", &absent, "is not in its registry; push it first"),
        ("sign", "ours.pub", &pushed.reference(), "not a private key"),
        ("verify", "ours.key", &pushed.reference(), "not a public key"),
        ("sign", "p384.key", &pushed.reference(), "not a key of the curve P-256"),
        ("verify", "p384.pub", &pushed.reference(), "not a key of the curve P-256"),
        ("verify", "nowhere", &pushed.reference(), "cannot read "),
    ] {
        let output = run(&mut tool(&[verb, "--key", &pushed.path(key), reference]));
        let error = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{verb} {key}: {error}");
        assert!(error.contains(words) && error.lines().count() == 1, "{verb} {key}: {error}");
    }
}

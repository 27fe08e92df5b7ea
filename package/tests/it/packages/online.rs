//! `bump check --online`: whether what is pinned is in its registry, and runs where it has to.

use std::{fs, path::Path};

use rcgen::{KeyPair, PKCS_ECDSA_P256_SHA256};
use serde_json::Value;
use testplatform_package::oci::{Artifact, digest_of, layout};

use crate::packages::support::{AMD64, ARM64, Registry, function, package, run, stderr, stdout, tool};

const COMPONENT: &str = "components/crossplane-control-plane";
const PINNED: &str = "sha256:1111111111111111111111111111111111111111111111111111111111111111";

fn push(registry: &Registry, folder: &Path, name: &str, machines: &[u8]) -> String {
    let artifact = Artifact::of(function(machines)).unwrap();
    let path = folder.join(name);
    layout::write(&path, &artifact, name).unwrap();
    let pushed =
        run(&mut tool(&["push", &path.display().to_string(), &format!("{}/{name}:v1", registry.address)]));
    assert!(pushed.status.success(), "{}", stderr(&pushed));
    artifact.root.digest().to_string()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(|entry| entry.unwrap()) {
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Severity and message of each finding about images and packages.
fn findings(repository: &Path, more: &[&str]) -> Vec<(String, String)> {
    let repository = repository.display().to_string();
    let ran = run(&mut tool(&[&["bump", "check", "--repo", &repository, "--json"], more].concat()));
    let said: Value = serde_json::from_str(&stdout(&ran)).unwrap_or_else(|_| panic!("{}", stderr(&ran)));
    let found = said["findings"].as_array().unwrap().iter().filter(|finding| finding["id"] == "B11");
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    found.map(|finding| (text(&finding["severity"]), text(&finding["message"]))).collect()
}

/// Pins an image in an overlay in place of the one that the copy has.
fn pin(repository: &Path, overlay: &str, image: &str, digest: &str) {
    let path = repository.join(COMPONENT).join(overlay).join("kustomization.yaml");
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains(PINNED), "{overlay}");
    fs::write(path, text.replace("quay.io/konflux-ci/task-runner", image).replace(PINNED, digest)).unwrap();
}

#[test]
fn pinned_references_are_looked_up() {
    let folder = tempfile::tempdir().unwrap();
    let registry = Registry::start(&[]);
    let both = push(&registry, folder.path(), "both", &[AMD64, ARM64]);
    let one = push(&registry, folder.path(), "one", &[AMD64]);
    let repository = folder.path().join("infra-deployments");
    copy(&package().join("tests/data/infra-deployments"), &repository);
    let set = |overlay: &str, name: &str, digest: &str| {
        pin(&repository, overlay, &format!("{}/{name}", registry.address), digest);
    };
    set("development", "both", &both);
    set("staging/base", "one", &one);

    // Offline nobody is asked.
    registry.requests();
    assert_eq!(findings(&repository, &[]), []);
    assert_eq!(registry.requests(), Vec::<String>::new());

    let address = &registry.address;
    let note = |text: String| ("note".to_owned(), text);
    let there = note(format!("image {address}/both@{both} is there, for linux/amd64, linux/arm64"));
    let here = note(format!("image {address}/one@{one} is there, for linux/amd64"));
    let online = findings(&repository, &["--online"]);
    assert_eq!(online, [there.clone(), here]);

    let error = |text: String| ("error".to_owned(), text);
    let online = findings(&repository, &["--online", "--platform", "linux/amd64,linux/arm64"]);
    let lacks = format!("image {address}/one@{one} does not run on linux/arm64, only on linux/amd64");
    assert_eq!(online, [error(lacks), there.clone()]);

    let gone = digest_of(b"never pushed").to_string();
    let path = repository.join(COMPONENT).join("staging/base/kustomization.yaml");
    fs::write(&path, fs::read_to_string(&path).unwrap().replace(&one, &gone)).unwrap();
    let online = findings(&repository, &["--online"]);
    let absent = format!("image {address}/one@{gone} is not there: its registry has no such digest");
    assert_eq!(online, [error(absent), there]);

    drop(registry);
    let online = findings(&repository, &["--online"]);
    assert_eq!(online.len(), 2);
    assert!(
        online.iter().all(|(severity, text)| severity == "error" && text.contains("cannot be asked for"))
    );
}

/// A Function is pinned by a patch, here of a mirror under another name. Images of others have signatures of theirs, so they are not verified.
#[test]
fn pinned_packages_have_to_be_signed_by_a_given_key() {
    let folder = tempfile::tempdir().unwrap();
    let registry = Registry::start(&[]);
    let ours = push(&registry, folder.path(), "mirrored", &[AMD64]);
    let other = push(&registry, folder.path(), "other", &[AMD64]);
    let repository = folder.path().join("infra-deployments");
    copy(&package().join("tests/data/infra-deployments"), &repository);
    pin(&repository, "development", &format!("{}/other", registry.address), &other);
    pin(&repository, "staging/base", &format!("{}/other", registry.address), &other);
    let reference = format!("{}/mirrored@{ours}", registry.address);
    let overlay = repository.join(COMPONENT).join("development/kustomization.yaml");
    let text = fs::read_to_string(&overlay).unwrap();
    assert!(!text.contains("\npatches:"), "{text}");
    let pinned = format!(
        "patches:\n- target:\n    kind: Function\n    name: function-testplatform\n  patch: |-\n    - op: replace\n      path: /spec/package\n      \
         value: {reference}\n"
    );
    fs::write(&overlay, format!("{}\n{pinned}", text.trim_end())).unwrap();
    let pair = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    fs::write(path("key"), pair.serialize_pem()).unwrap();
    fs::write(path("public"), pair.public_key_pem()).unwrap();

    let errors = || -> Vec<String> {
        let found = findings(&repository, &["--online", "--key", &path("public")]);
        let notes: Vec<&str> =
            found.iter().filter(|(severity, _)| severity == "note").map(|(_, text)| text.as_str()).collect();
        let unverified = format!("other@{other} is not of this product, so its signature is not verified");
        assert!(notes.iter().any(|note| note.contains(&unverified)), "{notes:?}");
        assert!(
            !notes.iter().any(|note| note.contains("mirrored") && note.contains("not of this")),
            "{notes:?}"
        );
        found.into_iter().filter(|(severity, _)| severity == "error").map(|(_, text)| text).collect()
    };
    let [unsigned] = &errors()[..] else { panic!("{:?}", errors()) };
    assert!(unsigned.contains(&format!("{reference} has no signature by a key")), "{unsigned}");
    let signed = run(&mut tool(&["sign", "--key", &path("key"), &reference]));
    assert!(signed.status.success(), "{}", stderr(&signed));
    assert_eq!(errors(), Vec::<String>::new());
}

//! Pushing to a real registry, in the ways in which registries let clients in, and reading back.

use std::fs;

use testplatform_package::oci::{Artifact, archive, layout};

use crate::packages::support::{
    AMD64, ARM64, Registry, configuration, function, go_program, run, stderr, stdout, tool,
};

fn write(folder: &std::path::Path, artifact: &Artifact) -> String {
    let path = folder.join("package");
    layout::write(&path, artifact, "x").unwrap();
    path.display().to_string()
}

fn both() -> Artifact {
    Artifact::of(function(&[AMD64, ARM64])).unwrap()
}

#[test]
fn a_pushed_artifact_can_be_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let registry = Registry::start(&[]);
    let artifact = both();
    let package = write(folder.path(), &artifact);
    let reference = format!("{}/team/function-testplatform:v1", registry.address);
    let pushed = run(&mut tool(&["push", &package, &reference]));
    assert!(pushed.status.success(), "{}", stderr(&pushed));
    let by_digest = format!("{}/team/function-testplatform@{}", registry.address, artifact.root.digest());
    assert_eq!(stdout(&pushed).trim(), by_digest);
    let requests = registry.requests();
    let uploads = requests.iter().filter(|request| request.starts_with("POST ")).count();
    // Two programs, two configurations, and the package, which both have in common.
    assert_eq!(uploads, 5, "{requests:?}");
    assert!(!requests.iter().any(|request| request.starts_with("PATCH ")), "{requests:?}");
    assert!(requests.last().unwrap().starts_with("PUT /v2/team/function-testplatform/manifests/v1 201"));

    for reference in [reference, by_digest] {
        let checked = run(&mut tool(&["check", "xpkg", &reference]));
        assert!(checked.status.success(), "{}{}", stdout(&checked), stderr(&checked));
        assert!(stdout(&checked).contains("nothing is wrong with it"), "{}", stdout(&checked));
        assert!(stdout(&checked).contains(artifact.root.digest().as_ref()));
        let parsed = run(std::process::Command::new(go_program("package-parser")).arg(&reference));
        assert!(parsed.status.success(), "{}{}", stdout(&parsed), stderr(&parsed));
    }
}

#[test]
fn existing_blobs_are_not_sent_again() {
    let folder = tempfile::tempdir().unwrap();
    let registry = Registry::start(&[]);
    let package = write(folder.path(), &both());
    let reference = format!("{}/f:v1", registry.address);
    assert!(run(&mut tool(&["push", &package, &reference])).status.success());
    registry.requests();
    let again = run(&mut tool(&["push", &package, &reference]));
    assert!(stderr(&again).contains("0 blobs sent, 6 were there already"), "{}", stderr(&again));
    let requests = registry.requests();
    assert!(!requests.iter().any(|request| request.starts_with("POST ")), "{requests:?}");
}

#[test]
fn an_archive_is_pushed_as_its_package() {
    let folder = tempfile::tempdir().unwrap();
    let registry = Registry::start(&[]);
    let path = folder.path().join("configuration.xpkg");
    fs::write(&path, archive::write(&configuration()).unwrap()).unwrap();
    let reference = format!("{}/configuration", registry.address);
    let pushed = run(&mut tool(&["push", &path.display().to_string(), &reference]));
    let digest = configuration().descriptor().digest().clone();
    assert_eq!(stdout(&pushed).trim(), format!("{reference}@{digest}"), "{}", stderr(&pushed));
    let checked = run(&mut tool(&["check", "xpkg", stdout(&pushed).trim()]));
    assert!(checked.status.success(), "{}", stdout(&checked));
}

/// Logs in as `docker login` would.
fn login(folder: &std::path::Path, registry: &str, entry: &str) {
    fs::write(folder.join("config.json"), format!("{{\"auths\": {{\"{registry}\": {entry}}}}}")).unwrap();
}

#[test]
fn registries_with_authentication_get_credentials() {
    // "robot:secret".
    let basic = r#"{"auth": "cm9ib3Q6c2VjcmV0"}"#;
    let identity = r#"{"auth": "", "identitytoken": "refresh"}"#;
    for (auth, entry) in [("basic", basic), ("bearer", basic), ("bearer", identity)] {
        let folder = tempfile::tempdir().unwrap();
        let registry = Registry::start(&[
            "-auth",
            auth,
            "-user",
            "robot",
            "-password",
            "secret",
            "-identity",
            "refresh",
        ]);
        let package = write(folder.path(), &both());
        let reference = format!("{}/team/f:v1", registry.address);
        let refused = run(&mut tool(&["push", &package, &reference]));
        assert_eq!(refused.status.code(), Some(1));
        assert!(stderr(&refused).contains("docker login"), "{auth}: {}", stderr(&refused));

        login(folder.path(), &registry.address, entry);
        registry.requests();
        let pushed = run(tool(&["push", &package, &reference]).env("DOCKER_CONFIG", folder.path()));
        assert!(pushed.status.success(), "{auth}: {}", stderr(&pushed));
        let requests = registry.requests();
        let tokens = requests.iter().filter(|request| request.contains(" /token 200")).count();
        assert_eq!(tokens, usize::from(auth == "bearer"), "one token is enough for a push: {requests:?}");
        assert!(requests[0].ends_with(" 401"), "{requests:?}");
        let checked = run(tool(&["check", "xpkg", &reference]).env("DOCKER_CONFIG", folder.path()));
        assert!(checked.status.success(), "{auth}: {}{}", stdout(&checked), stderr(&checked));
    }
}

#[test]
fn a_wrong_login_is_distinguished_from_none() {
    let folder = tempfile::tempdir().unwrap();
    let registry = Registry::start(&["-auth", "basic", "-user", "robot", "-password", "other"]);
    login(folder.path(), &registry.address, r#"{"auth": "cm9ib3Q6c2VjcmV0"}"#);
    let package = write(folder.path(), &both());
    let reference = format!("{}/f:v1", registry.address);
    let pushed = run(tool(&["push", &package, &reference]).env("DOCKER_CONFIG", folder.path()));
    assert_eq!(pushed.status.code(), Some(1));
    let said = stderr(&pushed);
    assert!(said.contains("(401 Unauthorized)") && said.contains("are not enough"), "{said}");
    assert!(!said.contains("secret") && !said.contains("cm9ib3Q6c2VjcmV0"), "{said}");
}

/// Registries that give a token to anybody.
#[test]
fn an_anonymous_token_is_requested_without_a_login() {
    let folder = tempfile::tempdir().unwrap();
    let registry = Registry::start(&["-auth", "bearer"]);
    let package = write(folder.path(), &both());
    let pushed = run(&mut tool(&["push", &package, &format!("{}/f:v1", registry.address)]));
    assert!(pushed.status.success(), "{}", stderr(&pushed));
}

/// Quay makes a repository when a token to push to it is asked for, and its challenge to the first look names only `pull`.
#[test]
fn a_missing_repository_is_created_by_the_requested_scope() {
    let folder = tempfile::tempdir().unwrap();
    let registry = Registry::start(&["-auth", "bearer", "-scopes", "-user", "robot", "-password", "secret"]);
    login(folder.path(), &registry.address, r#"{"auth": "cm9ib3Q6c2VjcmV0"}"#);
    let package = write(folder.path(), &both());
    let reference = format!("{}/team/new:v1", registry.address);
    let with = |arguments: &[&str]| run(tool(arguments).env("DOCKER_CONFIG", folder.path()));
    let unread = with(&["check", "xpkg", &reference]);
    assert!(stderr(&unread).contains("are not enough"), "who only reads makes nothing: {}", stderr(&unread));

    registry.requests();
    let pushed = with(&["push", &package, &reference]);
    assert!(pushed.status.success(), "{}", stderr(&pushed));
    let requests = registry.requests();
    let tokens = requests.iter().filter(|request| request.contains(" /token 200")).count();
    assert_eq!(tokens, 1, "one token is enough for a push: {requests:?}");
    let checked = with(&["check", "xpkg", &reference]);
    assert!(checked.status.success(), "{}{}", stdout(&checked), stderr(&checked));
}

/// As podman has it: whoever names a file means that one, and no other login.
#[test]
fn a_named_login_file_has_to_exist() {
    let folder = tempfile::tempdir().unwrap();
    let registry = Registry::start(&["-auth", "basic", "-user", "robot", "-password", "secret"]);
    login(folder.path(), &registry.address, r#"{"auth": "cm9ib3Q6c2VjcmV0"}"#);
    let package = write(folder.path(), &both());
    let reference = format!("{}/f:v1", registry.address);
    let mut push = tool(&["push", &package, &reference]);
    push.env("DOCKER_CONFIG", folder.path()).env("REGISTRY_AUTH_FILE", folder.path().join("none.json"));
    let pushed = run(&mut push);
    assert_eq!(pushed.status.code(), Some(1));
    assert!(stderr(&pushed).contains("none.json"), "{}", stderr(&pushed));
}

#[test]
fn certificates_are_verified() {
    let folder = tempfile::tempdir().unwrap();
    let certified = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let [cert, key] = ["cert", "key"].map(|name| folder.path().join(name).display().to_string());
    fs::write(&cert, certified.cert.pem()).unwrap();
    fs::write(&key, certified.signing_key.serialize_pem()).unwrap();
    let registry = Registry::start(&["-cert", &cert, "-key", &key]);
    let package = write(folder.path(), &both());
    let reference = format!("{}/f:v1", registry.address);
    let trusting = |arguments: &[&str]| run(tool(arguments).env("SSL_CERT_FILE", &cert));
    let pushed = trusting(&["push", &package, &reference]);
    assert!(pushed.status.success(), "{}", stderr(&pushed));
    assert!(trusting(&["check", "xpkg", &reference]).status.success());
    let distrusting = run(&mut tool(&["push", &package, &reference]));
    assert_eq!(distrusting.status.code(), Some(1), "{}", stderr(&distrusting));

    let url = format!("https://{}/v2/", registry.address);
    let unknown = run(&mut tool(&["sync", "--check", "--crd", &url]));
    assert!(stderr(&unknown).contains("certificate"), "{}", stderr(&unknown));
    let known = trusting(&["sync", "--check", "--crd", &url]);
    assert!(!stderr(&known).contains("certificate"), "{}", stderr(&known));
}

#[test]
fn failures_of_push_and_pull_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let registry = Registry::start(&[]);
    let refused = |arguments: &[&str], what: &str| {
        let output = run(&mut tool(arguments));
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        assert!(stderr(&output).contains(what), "{arguments:?}: {}", stderr(&output));
    };
    let here = folder.path().display().to_string();
    let reference = format!("{}/f:v1", registry.address);
    refused(&["push", &here, &reference], "is not an OCI layout");
    refused(&["check", "xpkg", &reference], "cannot be read: 404");
    refused(&["check", "xpkg", "no/such/file.xpkg"], "not a file here");
    refused(&["check", "xpkg", "127.0.0.1:1/f:v1"], "onnect");
    refused(&["sync", "--crd", "http://r.example/crd.yaml"], "plain HTTP");
    let plain = run(&mut tool(&["sync", "--crd", "http://r.example/crd.yaml"]));
    assert!(!stderr(&plain).contains("--plain-http"), "it has no such option: {}", stderr(&plain));

    let package = write(folder.path(), &both());
    let other = format!("{}/f@sha256:{}", registry.address, "0".repeat(64));
    refused(&["push", &package, &other], "has the digest");
    let blobs = folder.path().join("package/blobs/sha256");
    let blob = fs::read_dir(&blobs)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|p| fs::read(p).unwrap()[0] == 0x1f);
    fs::write(blob.unwrap(), "changed").unwrap();
    refused(&["push", &package, &reference], "bytes where");
    assert!(
        !registry.requests().iter().any(|request| request.contains("/manifests/v1 201")),
        "a tag was moved"
    );
}

//! Files of a release: written by the steps of the release script, from programs that do nothing.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use serde_json::Value;
use tempfile::TempDir;
use testplatform_package::oci::{digest_of, layer, layout};

use crate::packages::support::{
    AMD64, ARM64, Registry, not_run, package, program, run, stderr, stdout, tool, yaml,
};

const VERSION: &str = env!("CARGO_PKG_VERSION");
/// Names of the packages, in the order of the script.
const PACKAGES: [&str; 3] = ["function-testplatform", "provider-testplatform", "configuration-testplatform"];

/// A build for two architectures of Linux, and of the plugin for macOS.
struct Release {
    folder: TempDir,
}

impl Release {
    fn build() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let programs = [
            ("amd64", program(AMD64)),
            ("arm64", program(ARM64)),
            ("darwin", b"\xcf\xfa\xed\xfe\x0c\0\0\x01".to_vec()),
        ];
        let path = |name: &str| folder.path().join(name).display().to_string();
        for (name, bytes) in &programs {
            fs::write(path(name), bytes).unwrap();
        }
        let mut build =
            tool(&["build", "--output", &path("dist"), "--registry", "registry.example.org/team"]);
        for name in ["amd64", "arm64"] {
            for flag in ["--function-binary", "--provider-binary", "--plugin-binary"] {
                build.args([flag, &path(name)]);
            }
        }
        build.args(["--plugin-binary", &path("darwin")]);
        let output = run(&mut build);
        assert!(output.status.success(), "{}", stderr(&output));
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Names of the files in the output.
    fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(self.path("dist")).unwrap().map(|entry| entry.unwrap());
        let files = entries.filter(|entry| entry.file_type().unwrap().is_file());
        let mut names: Vec<String> = files.map(|file| file.file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// A step of the release script, with this build of the tool and a `cosign` and a `gh` that record their arguments.
    fn step(&self, step: &str, variables: &[(&str, &str)]) -> Output {
        let bin = self.path("bin");
        fs::create_dir_all(&bin).unwrap();
        for name in ["cosign", "gh"] {
            let stub = bin.join(name);
            let text = format!(
                "#!/bin/sh\necho {name} \"$@\" >> {}\nif [ -n \"$DOCKER_CONFIG\" ]; then cat \"$DOCKER_CONFIG/config.json\" > {}; fi\n",
                self.path("calls").display(),
                self.path("login").display()
            );
            fs::write(&stub, text).unwrap();
            fs::set_permissions(&stub, fs::Permissions::from_mode(0o755)).unwrap();
        }
        let mut command = Command::new(package().parent().unwrap().join(".ci/release"));
        let search = format!("{}:{}", bin.display(), std::env::var_os("PATH").unwrap().display());
        command.arg(step).env("PATH", search).env_remove("GITHUB_REF_NAME").env_remove("DOCKER_CONFIG");
        command.env_remove("GITHUB_REPOSITORY").env_remove("REGISTRY");
        command.env("XPKG", env!("CARGO_BIN_EXE_testplatform-package")).env("DIST", self.path("dist"));
        command.env("TAG", format!("v{VERSION}")).env("PROJECT", "https://example.org/team/testplatform");
        command.envs(variables.iter().copied());
        run(&mut command)
    }

    fn finish(&self) {
        let finished = self.step("finish", &[]);
        assert!(finished.status.success(), "{}{}", stdout(&finished), stderr(&finished));
    }

    fn calls(&self) -> Vec<String> {
        fs::read_to_string(self.path("calls")).unwrap().lines().map(str::to_owned).collect()
    }
}

/// Runs `sha256sum --check` in the output.
fn verify(folder: &Path) -> Output {
    run(Command::new("sha256sum").args(["--check", "--quiet", "SHA256SUMS"]).current_dir(folder))
}

#[test]
fn checksums_name_every_file_and_find_a_change() {
    let release = Release::build();
    release.finish();
    let text = fs::read_to_string(release.path("dist/SHA256SUMS")).unwrap();
    let listed: Vec<&str> = text.lines().map(|line| line.split_once("  ").unwrap().1).collect();
    let mut files = release.files();
    files.retain(|name| name != "SHA256SUMS");
    assert_eq!(listed, files);
    for name in [
        "configuration-testplatform.xpkg",
        "function-testplatform-arm64.xpkg",
        "function-testplatform-linux-arm64.cdx.json",
        "kubectl-testplatform-darwin-arm64.tar.gz",
        "kubectl-testplatform-darwin-arm64",
        "provider-testplatform-amd64.tar",
        "testplatform.yaml",
    ] {
        assert!(listed.contains(&name), "{name} is not in {listed:?}");
    }
    assert!(verify(&release.path("dist")).status.success());
    fs::write(release.path("dist/testplatform.yaml"), "x").unwrap();
    let changed = verify(&release.path("dist"));
    assert!(
        !changed.status.success() && stdout(&changed).contains("testplatform.yaml: FAILED"),
        "{}",
        stdout(&changed)
    );
    let pushed = release.step("push", &[("REGISTRY", "registry.example.org")]);
    assert!(!pushed.status.success(), "a changed file was pushed");
}

#[test]
fn a_package_that_changed_after_the_build_is_not_pushed() {
    let release = Release::build();
    release.finish();
    let digest = |name: &str| layout::open(&release.path("dist").join(name)).unwrap().root.digest().clone();
    let mut expected = PACKAGES.map(|name| format!("{name}@{}", digest(name)));
    expected.sort();
    let digests = fs::read_to_string(release.path("dist/digests")).unwrap();
    assert_eq!(digests.lines().collect::<Vec<_>>(), expected);
    let index = release.path("dist/function-testplatform/index.json");
    let text = fs::read_to_string(&index).unwrap();
    let other = digest("provider-testplatform").to_string();
    fs::write(&index, text.replace(&digest("function-testplatform").to_string(), &other)).unwrap();
    assert!(verify(&release.path("dist")).status.success(), "no file changed");
    let pushed = release.step("push", &[("REGISTRY", "registry.example.org")]);
    assert_eq!(pushed.status.code(), Some(1));
    let error = stderr(&pushed);
    assert!(error.contains(&format!("function-testplatform has digest {other}")), "{error}");
}

/// The forge's token could write packages of whoever receives it.
#[test]
fn the_token_of_the_forge_is_sent_to_no_other_registry() {
    let release = Release { folder: tempfile::tempdir().unwrap() };
    let check = |registry: &str, password: &str| {
        let variables =
            [("REGISTRY", registry), ("REGISTRY_PASSWORD", password), ("FORGE_TOKEN", "of-the-forge")];
        release.step("check", &variables)
    };
    let refused = check("quay.io/team", "of-the-forge");
    assert_eq!(refused.status.code(), Some(1));
    let error = stderr(&refused);
    assert!(error.contains("quay.io is not the forge's registry: set the secrets"), "{error}");
    for (registry, password) in [("ghcr.io/team", "of-the-forge"), ("quay.io/team", "hush")] {
        let accepted = check(registry, password);
        assert!(accepted.status.success(), "{}", stderr(&accepted));
    }
}

/// The rules are those of krew's index.
#[test]
fn the_krew_manifest_names_the_built_archives() {
    let release = Release::build();
    release.finish();
    let manifest = yaml(&release.path("dist/testplatform.yaml"));
    assert_eq!(manifest["apiVersion"], "krew.googlecontainertools.github.com/v1alpha2");
    assert_eq!(manifest["kind"], "Plugin");
    assert_eq!(manifest["metadata"]["name"], "testplatform");
    let spec = &manifest["spec"];
    assert_eq!(spec["version"], format!("v{VERSION}"));
    let short = spec["shortDescription"].as_str().unwrap();
    assert!(!short.is_empty() && !short.contains('\n') && short.len() <= 50, "{short}");
    let mut platforms = vec![];
    for platform in spec["platforms"].as_array().unwrap() {
        let labels = platform["selector"]["matchLabels"].as_object().unwrap();
        assert_eq!(labels.keys().collect::<Vec<_>>(), ["arch", "os"]);
        platforms.push(format!("{}/{}", labels["os"].as_str().unwrap(), labels["arch"].as_str().unwrap()));
        let uri = platform["uri"].as_str().unwrap();
        let base = format!("https://example.org/team/testplatform/releases/download/v{VERSION}/");
        let archive = fs::read(release.path("dist").join(uri.strip_prefix(&base).unwrap())).unwrap();
        assert_eq!(platform["sha256"], digest_of(&archive).digest());

        let entries = layer::read_entries(&layer::unpack_layer(&archive).unwrap()).unwrap();
        let packed: Vec<(&str, u32)> =
            entries.iter().map(|entry| (entry.path.as_str(), entry.mode)).collect();
        let bin = platform["bin"].as_str().unwrap();
        assert_eq!(packed, [("LICENSE", 0o644), (bin, 0o755)]);
        let copied = platform["files"].as_array().unwrap();
        let from: Vec<&Value> = copied.iter().map(|file| &file["from"]).collect();
        assert_eq!(from, [bin, "LICENSE"]);
        assert!(copied.iter().all(|file| file["to"] == "."), "{copied:?}");
    }
    assert_eq!(platforms, ["linux/amd64", "linux/arm64", "darwin/arm64"]);
    assert_eq!(spec["platforms"][2]["bin"], "kubectl-testplatform");
}

#[test]
fn a_tag_has_to_be_the_version_of_the_workspace() {
    let release = Release { folder: tempfile::tempdir().unwrap() };
    let checked = release.step("check", &[]);
    assert!(checked.status.success(), "{}", stderr(&checked));
    assert!(stdout(&checked).starts_with("### "), "{}", stdout(&checked));
    for tag in ["v9.9.9", VERSION, ""] {
        let checked = release.step("check", &[("TAG", tag)]);
        assert_eq!(checked.status.code(), Some(1));
        let error = stderr(&checked);
        assert!(error.contains(&format!("tag v{VERSION}")) && error.lines().count() == 1, "{error}");
    }
    let homeless = release.step("finish", &[("PROJECT", "")]);
    assert!(stderr(&homeless).contains("PROJECT is not set"), "{}", stderr(&homeless));
    let unknown = release.step("nothing", &[]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(stderr(&unknown).starts_with("usage: "), "{}", stderr(&unknown));
}

#[test]
fn notes_are_the_section_of_a_version() {
    let notes = |version: &str| run(&mut tool(&["notes", version]));
    let printed = notes(&format!("v{VERSION}"));
    assert!(printed.status.success(), "{}", stderr(&printed));
    let text = stdout(&printed);
    let groups: Vec<&str> = text.lines().filter(|line| line.starts_with("### ")).collect();
    assert_eq!(groups, ["### Tenants", "### Administrators", "### Hub operators", "### Tools"]);
    assert!(!text.contains("\n## "), "{text}");
    let missing = notes("v9.9.9");
    assert_eq!(missing.status.code(), Some(1));
    assert!(stderr(&missing).contains("no section [9.9.9]; it has Unreleased, "), "{}", stderr(&missing));
}

#[test]
fn packages_are_pushed_by_tag_and_signed_by_digest() {
    let release = Release::build();
    release.finish();
    let registry = Registry::start(&["-auth", "basic", "-user", "robot", "-password", "hush"]);
    let target = format!("{}/team", registry.address);
    let access = [("REGISTRY", target.as_str()), ("REGISTRY_USER", "robot"), ("REGISTRY_PASSWORD", "hush")];
    let pushed = release.step("push", &access);
    assert!(pushed.status.success(), "{}", stderr(&pushed));
    let digest = |name: &str| layout::open(&release.path("dist").join(name)).unwrap().root.digest().clone();
    let references = PACKAGES.map(|name| format!("{target}/{name}@{}", digest(name)));
    assert_eq!(stdout(&pushed).lines().collect::<Vec<_>>(), references);
    let requests = registry.requests();
    for name in PACKAGES {
        let tagged = format!("PUT /v2/team/{name}/manifests/v{VERSION} 201");
        assert!(requests.iter().any(|request| request.starts_with(&tagged)), "{tagged}: {requests:?}");
    }

    let signed = release.step("sign", &access);
    assert!(signed.status.success(), "{}", stderr(&signed));
    let dist = release.path("dist").display().to_string();
    let mut expected = vec![];
    for (name, reference) in PACKAGES.into_iter().zip(&references) {
        expected.push(format!("cosign sign --yes {reference}"));
        if name != "configuration-testplatform" {
            for architecture in ["amd64", "arm64"] {
                let bill = format!("{dist}/{name}-linux-{architecture}.cdx.json");
                expected.push(format!("cosign attest --yes --type cyclonedx --predicate {bill} {reference}"));
            }
        }
    }
    expected
        .push(format!("cosign sign-blob --yes --bundle {dist}/SHA256SUMS.sigstore.json {dist}/SHA256SUMS"));
    assert_eq!(release.calls(), expected);
    // cosign reads the same file as the push, and it does not outlive the step.
    let login: Value = serde_json::from_slice(&fs::read(release.path("login")).unwrap()).unwrap();
    assert_eq!(login["auths"][registry.address.as_str()]["auth"], "cm9ib3Q6aHVzaA==");
    assert!(!stdout(&signed).contains("hush") && !stderr(&signed).contains("hush"));

    // A key needs no identity, so nobody is asked to log in.
    let key = release.path("signing.key");
    let made = Command::new("openssl")
        .args(["genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out"])
        .arg(&key)
        .output();
    if !made.is_ok_and(|made| made.status.success()) {
        return not_run("the key of a release", "no openssl here");
    }
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
    let key = key.display().to_string();
    let signed = release.step("sign", &[access.as_slice(), &[("KEY", key.as_str())]].concat());
    assert!(signed.status.success(), "{}", stderr(&signed));
    assert!(stderr(&signed).contains("bills of materials are not attested"), "{}", stderr(&signed));
    assert_eq!(release.calls(), expected, "cosign was called");
    assert!(release.path("dist/SHA256SUMS.sig").is_file());
    assert!(registry.requests().iter().any(|request| request.contains(".sig ")), "no package was signed");
}

#[test]
fn a_release_has_all_files_and_the_notes() {
    let release = Release::build();
    release.finish();
    let published = release.step("publish", &[]);
    assert!(published.status.success(), "{}", stderr(&published));
    let [call] = &release.calls()[..] else { panic!("{:?}", release.calls()) };
    let dist = release.path("dist").display().to_string();
    let begin =
        format!("gh release create v{VERSION} --verify-tag --title v{VERSION} --notes-file {dist}.notes.md ");
    let files: Vec<&str> = call.strip_prefix(&begin).unwrap_or_else(|| panic!("{call}")).split(' ').collect();
    let expected: Vec<String> = release.files().iter().map(|name| format!("{dist}/{name}")).collect();
    assert_eq!(files, expected);
    let notes = fs::read_to_string(format!("{dist}.notes.md")).unwrap();
    assert!(notes.starts_with("### Tenants\n"), "{notes}");
    assert!(notes.contains("\n### Packages\n\n- `configuration-testplatform@sha256:"), "{notes}");
    let early = release.step("publish", &[("TAG", "v9.0.0-rc.1")]);
    assert!(early.status.success(), "{}", stderr(&early));
    assert!(release.calls()[1].contains(" --prerelease "), "{:?}", release.calls());
}

#[test]
fn an_unknown_or_useless_platform_is_refused_with_one_sentence() {
    for (platform, words) in [
        ("linux/s390x", "there is no build for it; choose from linux/amd64, linux/arm64"),
        (
            "darwin/arm64",
            "--platform has no Linux platform, which images need; add linux/amd64 or linux/arm64",
        ),
    ] {
        let refused = run(&mut tool(&["build", "--platform", platform]));
        assert_eq!(refused.status.code(), Some(1), "{platform}");
        assert!(stderr(&refused).contains(words), "{}", stderr(&refused));
    }
}

/// Before anything is compiled.
#[test]
fn a_platform_without_compiler_is_refused_with_the_remedy() {
    let rustc = run(Command::new("rustc").args(["--print", "sysroot"]).current_dir(package()));
    let library = Path::new(stdout(&rustc).trim()).join("lib/rustlib/aarch64-apple-darwin/lib");
    let refused = run(tool(&["build", "--platform", "linux/amd64,linux/arm64,darwin/arm64"])
        .env_remove("CARGO_UNSTABLE_BUILD_STD"));
    let error = stderr(&refused);
    if library.is_dir() {
        not_run("a build without a target", "this machine has the target");
        return;
    }
    assert_eq!(refused.status.code(), Some(1));
    let words = ["needs Rust's standard library for ", "rustup target add ", "needs the cross compiler "];
    assert!(words.iter().any(|part| error.contains(part)), "{error}");
    assert_eq!(error.lines().count(), 1, "{error}");
}

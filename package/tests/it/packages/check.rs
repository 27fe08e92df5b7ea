//! Every way in which a package can be wrong is named.

use oci_spec::image::{Arch, Os};
use serde_json::json;
use testplatform_package::{
    check::{CheckProblem, ProblemSeverity, check_package},
    oci::{
        Annotations, Architecture, Artifact, Descriptor, Image, ImageIndex, ImageManifest, MediaType, XPKG,
        XPKG_BASE, archive, describe_blob, digest_of, image::Start, layer,
    },
    to_yaml,
};

use crate::packages::support::{
    AMD64, ARM64, configuration, function, image_of, package_of, program, run, stdout, tool,
};

const FUNCTION: &str =
    "apiVersion: meta.pkg.crossplane.io/v1\nkind: Function\nmetadata: {name: f}\nspec: {}\n";
const CONFIGURATION: &str =
    "apiVersion: meta.pkg.crossplane.io/v1\nkind: Configuration\nmetadata: {name: c}\nspec: {}\n";

fn problems(artifact: &Artifact) -> Vec<CheckProblem> {
    check_package(artifact).1
}

/// Problems of a Configuration with these documents.
fn configuration_of(documents: &[&str]) -> Vec<CheckProblem> {
    problems(&package_of(&documents.join("---\n"), None))
}

fn assert_says(problems: &[CheckProblem], severity: ProblemSeverity, words: &[&str]) {
    let said = problems.iter().any(|problem| {
        problem.severity == severity && words.iter().all(|word| problem.to_string().contains(word))
    });
    assert!(said, "nothing says {words:?}: {problems:#?}");
}

fn assert_error(problems: &[CheckProblem], words: &[&str]) {
    assert_says(problems, ProblemSeverity::Error, words);
}

fn assert_warning(problems: &[CheckProblem], words: &[&str]) {
    assert_says(problems, ProblemSeverity::Warning, words);
}

#[test]
fn a_package_has_exactly_one_metadata_document() {
    assert_error(&configuration_of(&["a: 1\n"]), &["no apiVersion"]);
    assert_error(&configuration_of(&["# nothing\n"]), &["no metadata"]);
    assert_error(
        &configuration_of(&[CONFIGURATION, FUNCTION]),
        &["2 objects of metadata", "Function (line 6)"],
    );
    let old = CONFIGURATION.replace("/v1", "/v1beta1");
    assert_error(&configuration_of(&[&old]), &["not metadata of a package that core knows"]);
    assert_eq!(configuration_of(&[&CONFIGURATION.replace("/v1", "/v1alpha1")]), []);
}

#[test]
fn each_type_of_package_has_its_allowed_kinds() {
    let named = |api: &str, kind: &str| format!("apiVersion: {api}\nkind: {kind}\nmetadata: {{name: x}}\n");
    let crd = named("apiextensions.k8s.io/v1", "CustomResourceDefinition");
    let xrd = named("apiextensions.crossplane.io/v1", "CompositeResourceDefinition");
    let composition = named("apiextensions.crossplane.io/v1", "Composition");
    assert_error(
        &configuration_of(&[CONFIGURATION, &crd]),
        &["CustomResourceDefinition", "cannot be in a Configuration"],
    );
    let in_function =
        |document: &str| problems(&package_of(&[FUNCTION, document].join("---\n"), Some(program(AMD64))));
    for document in [&xrd, &composition] {
        assert_error(&in_function(document), &["cannot be in a Function, only CustomResourceDefinition can"]);
    }
    for (api, kind) in [
        ("rbac.authorization.k8s.io/v1", "ClusterRole"),
        ("v1", "Secret"),
        ("apiextensions.crossplane.io/v1beta1", "EnvironmentConfig"),
        ("pkg.crossplane.io/v1beta1", "DeploymentRuntimeConfig"),
        ("apiextensions.crossplane.io/v1alpha1", "Composition"),
    ] {
        let found = configuration_of(&[CONFIGURATION, &named(api, kind)]);
        assert_error(&found, &["line 6", kind, "core refuses the whole package"]);
    }
}

#[test]
fn unreadable_documents_are_reported_with_their_lines() {
    let found = configuration_of(&[CONFIGURATION, "kind: X\n  bad: [\n"]);
    assert_error(&found, &["is not YAML"]);
    assert_error(&configuration_of(&[CONFIGURATION, "a: 1\na: 2\n"]), &["is not YAML"]);
}

#[test]
fn versions_and_dependencies_are_read_as_core_reads_them() {
    let with = |spec: &str| configuration_of(&[&CONFIGURATION.replace("spec: {}", &format!("spec: {spec}"))]);
    assert_error(&with("{crossplane: {version: latest}}"), &["\"latest\" is not a constraint"]);
    assert_error(&with("{crossplane: {}}"), &["has no version"]);
    assert_error(&with("{dependsOn: [{version: '>=v1'}]}"), &["dependsOn[0]", "names no package"]);
    let dependency = |version: &str| {
        with(&format!(
            "{{dependsOn: [{{apiVersion: pkg.crossplane.io/v1, kind: Function, package: r.example/f{version}}}]}}"
        ))
    };
    assert_error(&dependency(""), &["version is missing"]);
    assert_error(&dependency(", version: main"), &["\"main\" is neither"]);
    assert_warning(&dependency(", version: '>=v1.0.0'"), &["may be another package tomorrow"]);
    assert_eq!(dependency(&format!(", version: '{}'", digest_of(b""))), []);
    assert_warning(&with("{dependsOn: [{function: r.example/f, version: '*'}]}"), &["tomorrow"]);
    let capable = FUNCTION.replace("spec: {}", "spec: {capabilities: [composition, magic]}");
    assert_warning(&problems(&package_of(&capable, Some(program(AMD64)))), &["magic"]);
}

#[test]
fn definitions_and_compositions_have_to_match() {
    let xrd = testplatform_apis::xrd::test_platform_cluster().unwrap();
    let composition = json!({
        "apiVersion": "apiextensions.crossplane.io/v1", "kind": "Composition", "metadata": { "name": "c" },
        "spec": {
            "compositeTypeRef": { "apiVersion": "ci.openshift.org/v1alpha1", "kind": "XTestPlatformCluster" },
            "mode": "Pipeline",
            "pipeline": [{ "step": "a", "functionRef": { "name": "function-x" } }],
        },
    });
    let depends = CONFIGURATION.replace(
        "spec: {}",
        &format!("spec: {{dependsOn: [{{apiVersion: pkg.crossplane.io/v1, kind: Function, package: r.example/function-x, version: '{}'}}]}}", digest_of(b"")),
    );
    let with = |change: &dyn Fn(&mut serde_json::Value, &mut serde_json::Value)| {
        let (mut xrd, mut composition) = (xrd.clone(), composition.clone());
        change(&mut xrd, &mut composition);
        configuration_of(&[&depends, &to_yaml(&xrd).unwrap(), &to_yaml(&composition).unwrap()])
    };
    assert_eq!(with(&|_, _| {}), []);
    assert_error(&with(&|xrd, _| xrd["metadata"]["name"] = json!("other")), &["after its plural and group"]);
    assert_error(
        &with(&|xrd, _| xrd["spec"]["versions"][0]["referenceable"] = json!(false)),
        &["0 versions are marked referenceable"],
    );
    assert_error(&with(&|xrd, _| xrd["spec"]["versions"][0]["schema"] = json!({})), &["no schema"]);
    assert_error(&with(&|xrd, _| xrd["metadata"] = json!({})), &["no metadata.name"]);
    assert_error(&with(&|_, c| c["spec"]["mode"] = json!("Resources")), &["not Pipeline"]);
    assert_error(&with(&|_, c| c["spec"]["pipeline"] = json!([])), &["0 steps"]);
    assert_error(&with(&|_, c| c["spec"]["pipeline"][0]["functionRef"] = json!({})), &["names no function"]);
    assert_error(
        &with(&|_, c| {
            let step = c["spec"]["pipeline"][0].clone();
            c["spec"]["pipeline"] = json!([step, step]);
        }),
        &["two steps are called a"],
    );
    assert_warning(&with(&|_, c| c["spec"]["compositeTypeRef"]["kind"] = json!("X")), &["no XRD"]);
    assert_warning(
        &with(&|_, c| c["spec"]["pipeline"][0]["functionRef"]["name"] = json!("y")),
        &["names the function y", "(function-x)"],
    );
    let twice = [&*depends, &to_yaml(&xrd).unwrap(), &to_yaml(&xrd).unwrap()].map(str::to_owned);
    assert_error(&configuration_of(&twice.each_ref().map(String::as_str)), &["is there twice"]);
}

#[test]
fn the_file_has_to_be_where_core_looks() {
    let of =
        |files: &[(&str, u32)]| problems(&Artifact::of(vec![image_of(CONFIGURATION, None, files)]).unwrap());
    assert_error(&of(&[("other.yaml", 0o644)]), &["no package.yaml"]);
    assert_warning(&of(&[("deep/package.yaml", 0o644)]), &["not in the root"]);
    assert_warning(&of(&[("package.yaml", 0o600)]), &["mode 600"]);
}

/// An image changed in its manifest, with the blobs that it had.
fn changed(artifact: &Artifact, change: impl Fn(&mut ImageManifest)) -> Artifact {
    let mut manifest: ImageManifest = serde_json::from_slice(artifact.blob(&artifact.root).unwrap()).unwrap();
    change(&mut manifest);
    rooted(artifact, artifact.root.media_type().clone(), serde_json::to_vec(&manifest).unwrap())
}

fn rooted(artifact: &Artifact, media_type: MediaType, bytes: Vec<u8>) -> Artifact {
    let mut artifact = artifact.clone();
    artifact.root = describe_blob(media_type, &bytes);
    artifact.blobs.insert(artifact.root.digest().clone(), bytes);
    artifact
}

#[test]
fn one_layer_is_the_package() {
    let artifact = Artifact::of(function(&[AMD64])).unwrap();
    let none = changed(&artifact, |manifest| {
        manifest.layers_mut()[1].set_annotations(None);
    });
    let found = problems(&none);
    assert_warning(&found, &["no layer has the annotation"]);
    assert!(
        found.iter().all(|problem| problem.severity == ProblemSeverity::Warning),
        "core finds it all the same: {found:?}"
    );
    let two = changed(&artifact, |manifest| {
        let annotations = manifest.layers()[1].annotations().clone();
        manifest.layers_mut()[0].set_annotations(annotations);
    });
    assert_error(&problems(&two), &["2 layers have the annotation"]);
    assert_error(&problems(&two), &["no package.yaml"]);
    let other = changed(&artifact, |manifest| {
        let annotations = [("io.crossplane.xpkg".to_owned(), "upbound".to_owned())].into();
        manifest.layers_mut()[1].set_annotations(Some(annotations));
    });
    assert_warning(&problems(&other), &["no layer has the annotation"]);
}

#[test]
fn missing_or_changed_parts_of_an_image_are_found() {
    let artifact = Artifact::of(function(&[AMD64])).unwrap();
    let manifest: ImageManifest = serde_json::from_slice(artifact.blob(&artifact.root).unwrap()).unwrap();
    let mut without = artifact.clone();
    without.blobs.remove(manifest.layers()[0].digest());
    assert_error(&problems(&without), &["layer 1", "named but not there"]);
    let mut damaged = artifact.clone();
    damaged.blobs.get_mut(manifest.layers()[1].digest()).unwrap()[20] ^= 1;
    assert_error(&problems(&damaged), &["layer 2", "have the digest"]);
    let mut without = artifact.clone();
    without.blobs.remove(manifest.config().digest());
    assert_error(&problems(&without), &["configuration", "named but not there"]);
    let swapped = changed(&artifact, |manifest| manifest.layers_mut().swap(0, 1));
    assert_error(&problems(&swapped), &["layer 1", "unpacks to"]);
    let fewer = changed(&artifact, |manifest| drop(manifest.layers_mut().remove(0)));
    assert_error(&problems(&fewer), &["lists 2 layers where the manifest has 1"]);
    assert_error(
        &problems(&rooted(&artifact, "text/plain".into(), vec![])),
        &["neither an image nor an index"],
    );
    assert_error(
        &problems(&rooted(&artifact, artifact.root.media_type().clone(), b"{".to_vec())),
        &["manifest", "cannot be read"],
    );

    let zstd = vec![0x28, 0xb5, 0x2f, 0xfd, 0];
    let mut other = changed(&artifact, |manifest| {
        let mut layer = describe_blob(MediaType::ImageLayerZstd, &zstd);
        layer.set_annotations(manifest.layers()[1].annotations().clone());
        manifest.layers_mut()[1] = layer;
    });
    other.blobs.insert(digest_of(&zstd), zstd.clone());
    assert_error(&problems(&other), &["layer 2", "zstd"]);
}

#[test]
fn the_image_that_core_reads_has_to_exist() {
    let arm = Artifact::of(function(&[ARM64])).unwrap();
    assert_eq!(problems(&arm), [], "the only one is read whatever it is for");
    let both = Artifact::of(function(&[AMD64, ARM64])).unwrap();
    let change = |change: &dyn Fn(&mut Vec<Descriptor>)| {
        let mut index: ImageIndex = serde_json::from_slice(both.blob(&both.root).unwrap()).unwrap();
        let mut manifests = index.manifests().clone();
        change(&mut manifests);
        index.set_manifests(manifests);
        problems(&rooted(&both, both.root.media_type().clone(), serde_json::to_vec(&index).unwrap()))
    };
    assert_error(
        &change(&|manifests| {
            manifests.remove(0);
            manifests.push(manifests[0].clone());
        }),
        &["no image for linux/amd64"],
    );
    assert_error(&change(&|manifests| manifests.clear()), &["names no image"]);
    assert_error(
        &change(&|manifests| {
            let platform = manifests[0].platform().clone();
            manifests[1].set_platform(platform);
        }),
        &["its configuration says linux/arm64, the index says"],
    );
    assert_eq!(
        change(&|manifests| {
            let mut attestation = manifests[0].clone();
            let mut platform = attestation.platform().clone().unwrap();
            platform.set_os(Os::from("unknown")).set_architecture(Arch::from("unknown"));
            attestation.set_platform(Some(platform));
            manifests.push(attestation);
        }),
        [],
        "what builders attest is not an image"
    );
}

#[test]
fn images_of_one_package_agree() {
    let mut images = function(&[AMD64]);
    let arm = image_of(FUNCTION, None, &[("package.yaml", 0o644)]);
    let mut index: ImageIndex = {
        let both = Artifact::of(function(&[AMD64, ARM64])).unwrap();
        serde_json::from_slice(both.blob(&both.root).unwrap()).unwrap()
    };
    let mut descriptor = arm.descriptor();
    descriptor.set_platform(index.manifests()[1].platform().clone());
    index.set_manifests(vec![index.manifests()[0].clone(), descriptor]);
    let mut artifact = Artifact::of(vec![images.remove(0)]).unwrap();
    arm.into_blobs(&mut artifact.blobs);
    let found = problems(&rooted(&artifact, MediaType::ImageIndex, serde_json::to_vec(&index).unwrap()));
    assert_warning(&found, &["its package.yaml differs"]);
    assert_error(&found, &["linux/arm64", "no entrypoint"]);
}

#[test]
fn a_function_has_to_be_able_to_start() {
    let config = |change: &dyn Fn(&mut serde_json::Value)| {
        let artifact = Artifact::of(function(&[AMD64])).unwrap();
        let manifest: ImageManifest = serde_json::from_slice(artifact.blob(&artifact.root).unwrap()).unwrap();
        let mut config: serde_json::Value =
            serde_json::from_slice(artifact.blob(manifest.config()).unwrap()).unwrap();
        change(&mut config);
        let bytes = serde_json::to_vec(&config).unwrap();
        let descriptor = describe_blob(MediaType::ImageConfig, &bytes);
        let mut artifact = changed(&artifact, |manifest| {
            manifest.set_config(descriptor.clone());
        });
        artifact.blobs.insert(descriptor.digest().clone(), bytes);
        problems(&artifact)
    };
    assert_error(&problems(&package_of(FUNCTION, None)), &["no entrypoint"]);
    assert_error(
        &config(&|c| c["config"]["Entrypoint"] = json!(["/other"])),
        &["starts /other, which is not in it"],
    );
    assert_error(&config(&|c| c["architecture"] = json!("arm64")), &["is built for linux/amd64"]);
    assert_warning(&config(&|c| c["config"]["User"] = json!("0:0")), &["runs as root"]);
    assert_warning(&config(&|c| c["config"]["User"] = json!("nonroot")), &["a name"]);
    assert_warning(&config(&|c| c["config"]["Labels"] = json!({})), &["has no label io.crossplane.xpkg:"]);
}

/// Where a link is on the way, only a node can say where it leads; `/bin` is one in most images of systems.
#[test]
fn a_program_behind_a_link_is_not_missing() {
    let started = |entrypoint: &str| {
        let mut builder = tar::Builder::new(Vec::new());
        for (link, target) in [("./bin", "usr/bin"), ("tool", "usr/bin/run")] {
            let mut header = tar::Header::new_ustar();
            header.set_entry_type(tar::EntryType::Symlink);
            header.set_size(0);
            builder.append_link(&mut header, link, target).unwrap();
        }
        let archive = builder.into_inner().unwrap();
        let links =
            layer::Layer { diff_id: digest_of(&archive), blob: archive, annotations: Annotations::new() };
        let file = |path: &str, mode, bytes: &[u8]| layer::LayerEntry {
            path: path.to_owned(),
            mode,
            bytes: bytes.to_vec(),
        };
        let run = layer::pack_layer(&[file("usr/bin/run", 0o755, &program(AMD64))], 0).unwrap();
        let mut base = layer::pack_layer(&[file("package.yaml", 0o644, FUNCTION.as_bytes())], 0).unwrap();
        base.annotations.insert(XPKG.to_owned(), XPKG_BASE.to_owned());
        let start =
            Start { entrypoint: vec![entrypoint.to_owned()], user: "65532".to_owned(), ports: vec![] };
        let layers = vec![links, run, base];
        let time = "1970-01-01T00:00:00Z";
        let image = Image::new(Architecture::Amd64, &start, layers, &Annotations::new(), time).unwrap();
        problems(&Artifact::of(vec![image]).unwrap())
    };
    for entrypoint in ["/usr/bin/run", "/bin/run", "/tool"] {
        assert_eq!(started(entrypoint), [], "{entrypoint}");
    }
    for entrypoint in ["/sbin/run", "/binary", "/usr/bin/other"] {
        assert_error(&started(entrypoint), &["starts ", entrypoint, "which is not in it"]);
    }
}

/// Builders make a layer without content for each step that changes nothing, and an archive has it once.
#[test]
fn an_archive_may_name_one_layer_twice() {
    let mut image = image_of(FUNCTION, Some(program(AMD64)), &[("package.yaml", 0o644)]);
    let empty = layer::pack_layer(&[], 0).unwrap();
    let mut layers = image.layers.clone();
    layers.splice(0..0, [empty.clone(), empty]);
    let start = Start { entrypoint: vec!["/run".to_owned()], user: "65532".to_owned(), ports: vec![] };
    let time = "1970-01-01T00:00:00Z";
    image = Image::new(Architecture::Amd64, &start, layers, &Annotations::new(), time).unwrap();
    let read = archive::read(&archive::write(&image).unwrap()).unwrap();
    assert_eq!(problems(&read), []);
    let manifest: ImageManifest = serde_json::from_slice(read.blob(&read.root).unwrap()).unwrap();
    assert_eq!(manifest.layers().len(), 4);
    assert_eq!(manifest.layers()[0], manifest.layers()[1]);
}

#[test]
fn the_exit_code_distinguishes_a_bad_package_from_an_unreadable_one() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, artifact: &Artifact| {
        let path = folder.path().join(name);
        testplatform_package::oci::layout::write(&path, artifact, name).unwrap();
        path.display().to_string()
    };
    let check = |path: &str| run(&mut tool(&["check", "xpkg", path]));
    let good = write("good", &Artifact::of(vec![configuration()]).unwrap());
    assert_eq!(check(&good).status.code(), Some(0), "{}", stdout(&check(&good)));
    let bad = write("bad", &package_of("a: 1\n", None));
    assert_eq!(check(&bad).status.code(), Some(3));
    assert!(stdout(&check(&bad)).contains("error: "), "{}", stdout(&check(&bad)));
    let manifest = crate::packages::support::package().join("Cargo.toml").display().to_string();
    assert_eq!(check(&manifest).status.code(), Some(1));
}

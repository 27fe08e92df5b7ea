//! Built packages: the same bytes each time, in both forms, with nothing in them that core's parser refuses.

use std::{collections::BTreeMap, fs, os::unix::fs::PermissionsExt as _, path::Path, process::Command};

use serde_json::{Value, json};
use testplatform_package::{
    check,
    names::PLUGIN,
    oci::{Architecture, Artifact, ImageManifest, archive, digest_of, layer, layout},
};

use crate::packages::support::{
    AMD64, ARM64, about, configuration, function, go_program, program, programs, run, stderr, stdout, tool,
};

fn json(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap()
}

#[test]
fn two_builds_give_one_digest() {
    let build = || Artifact::of(function(&[AMD64, ARM64])).unwrap();
    assert_eq!(build(), build());
    assert_eq!(configuration(), configuration());
}

/// The digest depends on the meaning of a build, and on nothing else.
#[test]
fn time_and_revision_are_arguments() {
    let text = "---\n";
    let build = |about: &_| {
        let images =
            testplatform_package::build::images::build_function(&programs(&[AMD64]), text, about).unwrap();
        (images[0].descriptor().digest().clone(), json(&images[0].config)["created"].clone())
    };
    let mut later = about();
    later.time = 1_700_000_000;
    assert_ne!(build(&about()).0, build(&later).0);
    assert_eq!(build(&later).1, "2023-11-14T22:13:20Z");
}

#[test]
fn one_image_is_itself_and_several_become_an_index() {
    let one = Artifact::of(function(&[AMD64])).unwrap();
    let digest = function(&[AMD64])[0].descriptor().digest().clone();
    assert_eq!(*one.root.digest(), digest);
    let both = Artifact::of(function(&[ARM64, AMD64])).unwrap();
    let index = json(both.blob(&both.root).unwrap());
    let platforms: Vec<_> = index["manifests"]
        .as_array()
        .unwrap()
        .iter()
        .map(|m| m["platform"]["architecture"].clone())
        .collect();
    assert_eq!(platforms, ["amd64", "arm64"]);
    assert_eq!(index["manifests"][0]["digest"], digest.as_ref());
    assert!(Artifact::of(function(&[AMD64, AMD64])).unwrap_err().to_string().contains("linux/amd64"));
    assert!(Artifact::of(vec![]).is_err());
}

#[test]
fn a_function_starts_without_arguments_as_nobody_in_particular() {
    let image = &function(&[ARM64])[0];
    let config = json(&image.config);
    assert_eq!(config["architecture"], "arm64");
    assert_eq!(config["config"]["Entrypoint"], json!(["/function-testplatform"]));
    assert_eq!(config["config"]["User"], "65532:65532");
    assert_eq!(config["config"]["ExposedPorts"], json!({ "9443/tcp": {}, "8080/tcp": {} }));
    assert_eq!(config["config"]["Labels"]["org.opencontainers.image.revision"], "abc");
    let files = layer::read_entries(&layer::unpack_layer(&image.layers[0].blob).unwrap()).unwrap();
    let modes: Vec<_> = files.iter().map(|file| (file.path.as_str(), file.mode)).collect();
    assert_eq!(
        modes,
        [("function-testplatform", 0o755), ("usr/share/sbom/function-testplatform.cdx.json", 0o644)]
    );
}

/// In the manifest for registries, in the labels for archives.
#[test]
fn the_layer_of_the_package_is_marked_twice() {
    for image in [&function(&[AMD64])[0], &configuration()] {
        let manifest: ImageManifest = serde_json::from_slice(&image.manifest).unwrap();
        let base = manifest.layers().last().unwrap();
        assert_eq!(base.annotations().as_ref().unwrap()["io.crossplane.xpkg"], "base");
        let labels = &json(&image.config)["config"]["Labels"];
        assert_eq!(labels[format!("io.crossplane.xpkg:{}", base.digest())], "base");
    }
}

#[test]
fn an_archive_reads_back_as_the_same_package() {
    for image in [function(&[AMD64]).remove(0), configuration()] {
        let bytes = archive::write(&image).unwrap();
        assert_eq!(archive::read(&bytes).unwrap(), Artifact::of(vec![image]).unwrap());
    }
}

/// `docker save` leaves layers as they were before they were compressed, and a registry is told so.
#[test]
fn layers_of_an_archive_have_their_media_types() {
    let image = configuration();
    let mut entries = layer::read_entries(&archive::write(&image).unwrap()).unwrap();
    let types = |entries: &[layer::LayerEntry]| -> Vec<String> {
        let artifact = archive::read(&layer::build_archive(entries, 0).unwrap()).unwrap();
        let manifest: ImageManifest = serde_json::from_slice(artifact.blob(&artifact.root).unwrap()).unwrap();
        manifest.layers().iter().map(|layer| layer.media_type().to_string()).collect()
    };
    assert_eq!(types(&entries), ["application/vnd.oci.image.layer.v1.tar+gzip"]);
    for entry in entries.iter_mut().filter(|entry| entry.path.ends_with(".tar.gz")) {
        entry.bytes = layer::unpack_layer(&entry.bytes).unwrap();
    }
    assert_eq!(types(&entries), ["application/vnd.oci.image.layer.v1.tar"]);
}

/// The names in it are those that Docker loads.
#[test]
fn an_archive_is_one_that_docker_loads() {
    let image = function(&[AMD64]).remove(0);
    let entries = layer::read_entries(&archive::write(&image).unwrap()).unwrap();
    let files: BTreeMap<_, _> = entries.into_iter().map(|entry| (entry.path, entry.bytes)).collect();
    let saved = json(&files["manifest.json"]);
    let config = saved[0]["Config"].as_str().unwrap();
    assert_eq!(config, format!("{}.json", digest_of(&files[config]).digest()));
    let diff_ids = json(&files[config])["rootfs"]["diff_ids"].clone();
    let unpacked: Vec<_> = saved[0]["Layers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|path| digest_of(&layer::unpack_layer(&files[path.as_str().unwrap()]).unwrap()).to_string())
        .collect();
    assert_eq!(json!(unpacked), diff_ids);
}

#[test]
fn a_layout_reads_back_and_is_replaced_as_a_whole() {
    let folder = tempfile::tempdir().unwrap();
    let old = Artifact::of(function(&[AMD64, ARM64])).unwrap();
    layout::write(folder.path(), &old, "x").unwrap();
    assert_eq!(layout::open(folder.path()).unwrap(), old);
    let new = Artifact::of(vec![configuration()]).unwrap();
    layout::write(folder.path(), &new, "x").unwrap();
    assert_eq!(layout::open(folder.path()).unwrap(), new);
    let blobs = fs::read_dir(folder.path().join("blobs/sha256")).unwrap().count();
    assert_eq!(blobs, new.blobs.len(), "blobs of the old build are left");
}

#[test]
fn a_directory_with_other_content_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("notes"), "mine").unwrap();
    let artifact = Artifact::of(vec![configuration()]).unwrap();
    let refused = layout::write(folder.path(), &artifact, "x").unwrap_err().to_string();
    assert!(refused.contains("no OCI layout"), "{refused}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn built_packages_have_no_problems() {
    for artifact in [
        Artifact::of(function(&[AMD64])).unwrap(),
        Artifact::of(function(&[AMD64, ARM64])).unwrap(),
        Artifact::of(vec![configuration()]).unwrap(),
    ] {
        let (summary, problems) = check::check_package(&artifact);
        assert_eq!(problems, [], "{summary:?}");
    }
    let (summary, _) = check::check_package(&Artifact::of(function(&[AMD64, ARM64])).unwrap());
    assert_eq!((summary.kind.as_str(), summary.name.as_str()), ("Function", "function-testplatform"));
    assert_eq!(summary.platforms, ["linux/amd64", "linux/arm64"]);
    assert_eq!(summary.objects, ["CustomResourceDefinition inputs.testplatform.fn.crossplane.io"]);
}

/// Crossplane's own parser and linters, from its own module.
#[test]
fn crossplane_accepts_built_packages() {
    let parser = go_program("package-parser");
    let folder = tempfile::tempdir().unwrap();
    for (image, expected) in
        [(function(&[AMD64]).remove(0), "Function 1"), (configuration(), "Configuration 2")]
    {
        let path = folder.path().join("package.xpkg");
        fs::write(&path, archive::write(&image).unwrap()).unwrap();
        let output = run(Command::new(&parser).arg(&path));
        assert!(output.status.success(), "{}{}", stdout(&output), stderr(&output));
        assert!(stdout(&output).starts_with(expected), "{}", stdout(&output));
    }
}

fn write_programs(folder: &Path) -> [String; 2] {
    [("amd64", AMD64), ("arm64", ARM64)].map(|(name, machine)| {
        let path = folder.join(name);
        fs::write(&path, program(machine)).unwrap();
        path.display().to_string()
    })
}

/// The digests that a build prints, by name.
fn digests(text: &str) -> BTreeMap<String, String> {
    text.lines().filter_map(|line| line.split_once(' ')).map(|(a, b)| (a.to_owned(), b.to_owned())).collect()
}

#[test]
fn the_tool_builds_all_packages_twice_alike() {
    let folder = tempfile::tempdir().unwrap();
    let [amd64, arm64] = write_programs(folder.path());
    let build = |output: &str| {
        let output = folder.path().join(output).display().to_string();
        run(&mut tool(&[
            "build",
            "--output",
            &output,
            "--function-binary",
            &amd64,
            "--function-binary",
            &arm64,
            "--provider-binary",
            &amd64,
            "--plugin-binary",
            &arm64,
            "--registry",
            "registry.example.org/team",
        ]))
    };
    let one = build("one");
    assert!(one.status.success(), "{}", stderr(&one));
    let printed = digests(&stdout(&one));
    assert_eq!(
        printed.keys().collect::<Vec<_>>(),
        [
            "configuration-testplatform",
            "function-testplatform",
            "kubectl-testplatform-linux-arm64",
            "kubectl-testplatform-linux-arm64.tar.gz",
            "provider-testplatform"
        ]
    );
    assert_eq!(stdout(&one), stdout(&build("two")));

    let open = |path: &str| layout::open(&folder.path().join("one").join(path)).unwrap();
    let plugin = folder.path().join("one/kubectl-testplatform-linux-arm64");
    let bytes = fs::read(&plugin).unwrap();
    assert_eq!(bytes, fs::read(&arm64).unwrap());
    assert_eq!(digest_of(&bytes).as_ref(), printed["kubectl-testplatform-linux-arm64"]);
    assert_eq!(fs::metadata(&plugin).unwrap().permissions().mode() & 0o777, 0o755);

    for (name, digest) in printed.iter().filter(|(name, _)| !name.starts_with(PLUGIN)) {
        assert_eq!(open(name).root.digest().as_ref(), digest);
    }
    assert_eq!(
        open("configuration-testplatform.xpkg").root.digest().as_ref(),
        printed["configuration-testplatform"]
    );
    for file in
        ["function-testplatform-amd64.xpkg", "function-testplatform-arm64.xpkg", "provider-testplatform.tar"]
    {
        assert!(folder.path().join("one").join(file).is_file(), "{file}");
    }

    // The Configuration names the function by the digest that was printed, and as core will call it.
    let (_, problems) = check::check_package(&open("configuration-testplatform"));
    assert_eq!(problems, []);
    let configuration = open("configuration-testplatform");
    let manifest: ImageManifest =
        serde_json::from_slice(configuration.blob(&configuration.root).unwrap()).unwrap();
    let entries = layer::read_entries(
        &layer::unpack_layer(configuration.blob(&manifest.layers()[0]).unwrap()).unwrap(),
    );
    let text = String::from_utf8(entries.unwrap().remove(0).bytes).unwrap();
    assert!(text.contains("package: registry.example.org/team/function-testplatform\n"), "{text}");
    assert!(text.contains(&printed["function-testplatform"]), "{text}");
    assert!(text.contains("name: team-function-testplatform\n"), "{text}");
}

/// For pipelines that build the function themselves.
#[test]
fn a_configuration_can_be_built_for_an_external_function() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("out").display().to_string();
    let reference = format!("registry.example.org/function-testplatform@{}", digest_of(b"x"));
    let built = run(&mut tool(&["build", "--output", &output, "--function", &reference]));
    assert!(built.status.success(), "{}", stderr(&built));
    assert_eq!(digests(&stdout(&built)).keys().collect::<Vec<_>>(), ["configuration-testplatform"]);
    let tagged = run(&mut tool(&["build", "--output", &output, "--function", "registry.example.org/f:v1"]));
    assert_eq!(tagged.status.code(), Some(1));
    assert!(stderr(&tagged).contains("without a digest"), "{}", stderr(&tagged));
}

#[test]
fn a_program_that_cannot_run_in_the_image_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("script");
    fs::write(&script, "#!/bin/sh\n").unwrap();
    let output = folder.path().join("out").display().to_string();
    let script = script.display().to_string();
    let built = run(&mut tool(&["build", "--output", &output, "--function-binary", &script]));
    assert_eq!(built.status.code(), Some(1));
    assert!(stderr(&built).contains("not a program for 64-bit Linux") && stderr(&built).contains("script"));
    assert!(!Path::new(&output).exists(), "something was written");
}

/// The bill says what is linked, as cargo knows it, and nothing about the machine that built it.
#[test]
fn the_bill_of_materials_names_every_crate() {
    let workspace = testplatform_package::build::programs::Workspace::read(
        crate::packages::support::package().parent().unwrap(),
    )
    .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let [amd64, _] = write_programs(folder.path());
    let program = workspace.read_program("function-testplatform", amd64.as_ref()).unwrap();
    assert_eq!(Architecture::of_program(&program.bytes).unwrap(), Architecture::Amd64);
    let text = String::from_utf8(program.sbom.clone()).unwrap();
    let root = crate::packages::support::package().parent().unwrap().canonicalize().unwrap();
    assert!(!text.contains(root.to_str().unwrap()), "a path of this machine is in it");
    let bill = json(&program.sbom);
    assert_eq!((&bill["bomFormat"], &bill["specVersion"]), (&json!("CycloneDX"), &json!("1.5")));
    assert_eq!(bill["metadata"]["component"]["name"], "function-testplatform");
    let components = bill["components"].as_array().unwrap();
    let of = |name: &str| components.iter().find(|component| component["name"] == name);
    let tonic = of("tonic").unwrap();
    assert_eq!(tonic["licenses"][0]["expression"], "MIT");
    assert!(tonic["purl"].as_str().unwrap().starts_with("pkg:cargo/tonic@"));
    assert_eq!(tonic["hashes"][0]["alg"], "SHA-256");
    assert!(of("testplatform-apis").is_some());
    // Of the tests and of other programs.
    for other in ["proptest", "kube-client", "cyclonedx-bom"] {
        assert!(of(other).is_none(), "{other} is not linked into the function");
    }
    let edges = bill["dependencies"].as_array().unwrap();
    assert_eq!(edges.len(), components.len() + 1);
}

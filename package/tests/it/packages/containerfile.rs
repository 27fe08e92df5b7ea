//! The Containerfile makes what `cargo xpkg build` makes: the same programs, built with the same words, in images that start alike.

use std::{collections::BTreeMap, fs};

use serde_json::Value;
use testplatform_package::{
    build::{images, programs},
    names::{FUNCTION, PROVIDER},
    oci::Image,
};

use crate::packages::support::{AMD64, about, function, package, programs as some_programs};

/// Stages by name, each with its instructions in order.
type Stages = BTreeMap<String, Vec<(String, String)>>;

/// Lines that end in a backslash are one with the next; comments are none.
fn stages() -> Stages {
    let text = fs::read_to_string(package().join("Containerfile")).unwrap();
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    let text = lines.join("\n").replace("\\\n", " ");
    let (mut stages, mut current) = (Stages::new(), String::new());
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let words: Vec<&str> = line.split_whitespace().collect();
        if let ["FROM", from, "AS", name] = words[..] {
            name.clone_into(&mut current);
            stages.entry(current.clone()).or_default().push(("FROM".to_owned(), from.to_owned()));
        } else {
            let stage = stages.entry(current.clone()).or_default();
            stage.push((words[0].to_owned(), words[1..].join(" ")));
        }
    }
    stages
}

/// Arguments of an instruction in a stage, after those of the stages that it begins from.
fn said(stages: &Stages, stage: &str, instruction: &str) -> Vec<String> {
    let own = &stages[stage];
    let from = own.first().filter(|(word, from)| word == "FROM" && stages.contains_key(from));
    let mut all = from.map(|(_, from)| said(stages, from, instruction)).unwrap_or_default();
    all.extend(own.iter().filter(|(word, _)| word == instruction).map(|(_, rest)| rest.clone()));
    all
}

/// Such as `org.opencontainers.image.title="…"`.
fn labels(text: &str) -> BTreeMap<String, String> {
    text.split("\" ")
        .filter_map(|label| label.split_once("=\""))
        .map(|(key, value)| (key.trim().to_owned(), value.trim_end_matches('"').to_owned()))
        .collect()
}

fn starts_like(stages: &Stages, name: &str, image: &Image) {
    let stage = name.split_once('-').unwrap().0;
    let config: Value = serde_json::from_slice(&image.config).unwrap();
    let config = &config["config"];
    let only = |instruction: &str| {
        let mut all = said(stages, stage, instruction);
        assert_eq!(all.len(), 1, "{stage}: {instruction} {all:?}");
        all.remove(0)
    };
    let entrypoint: Value = serde_json::from_str(&only("ENTRYPOINT")).unwrap();
    assert_eq!(entrypoint, config["Entrypoint"]);
    assert_eq!(only("USER"), config["User"]);
    let exposed = only("EXPOSE");
    let mut exposed: Vec<&str> = exposed.split(' ').collect();
    exposed.sort_unstable();
    let ports: Vec<&String> = config["ExposedPorts"].as_object().unwrap().keys().collect();
    assert_eq!(exposed, ports);
    let written = labels(&only("LABEL"));
    assert_eq!(written.len(), 3, "{written:?}");
    for (key, value) in written {
        assert_eq!(config["Labels"][&key], value, "{key}");
    }

    let built = said(stages, &format!("build-{stage}"), "RUN");
    let command = format!("cargo build {}", programs::cargo_arguments(name).join(" "));
    assert_eq!(built.last(), Some(&command));
    let target = said(stages, &format!("build-{stage}"), "ENV").join(" ");
    assert!(target.contains("CARGO_TARGET_DIR=/target "), "{target}");
    assert!(target.contains("TESTPLATFORM_COMMIT=${COMMIT} "), "{target}");
    let copied = said(stages, stage, "COPY");
    assert_eq!(copied[0], format!("--from=build-{stage} /target/release/{name} /{name}"));
}

#[test]
fn the_containerfile_makes_the_same_images() {
    let stages = stages();
    starts_like(&stages, FUNCTION, &function(&[AMD64])[0]);
    starts_like(&stages, PROVIDER, &images::build_provider(&some_programs(&[AMD64]), &about()).unwrap()[0]);
    // The package lies in the root, where core looks in an image whose layers are not annotated.
    assert_eq!(
        said(&stages, "function", "COPY")[1],
        "--chmod=0644 package/function/package.yaml /package.yaml"
    );
    assert_eq!(said(&stages, "provider", "COPY").len(), 1);
}

/// `--remap-path-prefix` has the names of the folders of vendored crates, so they have to be as the file says; and the file's compiler
/// is the one that everything is tested with.
#[test]
fn vendored_crates_are_where_a_build_looks_for_them() {
    let text = fs::read_to_string(package().join("Containerfile")).unwrap();
    assert!(text.contains("#     cargo vendor --locked --versioned-dirs vendor > vendor.toml\n"), "{text}");
    let root = package().parent().unwrap();
    let read = |file: &str| fs::read_to_string(root.join(file)).unwrap();
    let value = |text: &str, key: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(key)?.trim().strip_prefix("= "));
        line.unwrap().trim_matches('"').to_owned()
    };
    let (oldest, tested) =
        (value(&read("Cargo.toml"), "rust-version"), value(&read("rust-toolchain.toml"), "channel"));
    assert!(tested.starts_with(&format!("{oldest}.")), "{oldest} {tested}");
    // Files that stay on the builder's machine are not copied into the image of the build.
    let ignored = read(".dockerignore");
    assert!(["/target", "/.git"].iter().all(|path| ignored.lines().any(|line| line == *path)), "{ignored}");
}

//! The recipe for conformance: what it has the plugin do is what the plugin can do, and its claims ask for what the samples offer.

use std::{collections::BTreeSet, ffi::OsString, fs};

use kubectl_testplatform::args;
use serde_json::Value;
use testplatform_apis::offer::{KEY, Offers};

use crate::documents::text::{read, root};

const FOLDER: &str = "examples/conformance";

/// The lines of its blocks of commands.
fn commands() -> Vec<String> {
    let text = read(&format!("{FOLDER}/README.md"));
    let blocks = text.split("```console\n").skip(1).filter_map(|rest| rest.split("\n```").next());
    blocks.flat_map(str::lines).map(str::to_owned).collect()
}

/// The command line of the plugin in a command, without where its output goes.
fn of_plugin(command: &str) -> Option<Vec<OsString>> {
    let words = command.strip_prefix("kubectl ")?.split_whitespace();
    let words: Vec<&str> = words.take_while(|word| *word != ">").collect();
    (words.first() == Some(&"testplatform")).then(|| words.into_iter().map(OsString::from).collect())
}

#[test]
fn the_plugin_takes_its_commands() {
    let mut seen = BTreeSet::new();
    for command in commands() {
        let Some(line) = of_plugin(&command) else { continue };
        seen.insert(line[1].to_string_lossy().into_owned());
        let read = args::read(line, "");
        let read = read.unwrap_or_else(|error| panic!("{command}: {error}"));
        assert!(read.is_ok(), "{command}: {read:?}");
    }
    assert_eq!(seen, ["down", "extend", "kubeconfig", "offers", "up"].map(str::to_owned).into());
    let wrong = ["kubectl testplatform up", "kubectl testplatform offers --claim"];
    for command in wrong {
        let read = args::read(of_plugin(command).unwrap(), "");
        assert!(read.is_err(), "the comparison sees what it is for: {command}");
    }
}

#[test]
fn the_files_that_it_names_are_there() {
    let named: Vec<String> = commands()
        .iter()
        .flat_map(|command| command.split_whitespace())
        .filter(|word| word.starts_with("examples/"))
        .map(str::to_owned)
        .collect();
    assert_eq!(named, [format!("{FOLDER}/openshift.yaml")]);
    for path in named {
        assert!(root().join(&path).is_file(), "there is no {path}");
    }
}

/// Template, version and class are offered, and there are nodes and hours for the suite. That the function takes them is tried where
/// offers are.
#[test]
fn its_claims_ask_for_what_the_samples_offer() {
    let sample: Value = serde_saphyr::from_str(&read("package/install/examples/offers.yaml")).unwrap();
    let offers: Offers = serde_saphyr::from_str(sample["data"][KEY].as_str().unwrap()).unwrap();
    let mut claims = 0;
    for entry in fs::read_dir(root().join(FOLDER)).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "yaml") {
            continue;
        }
        claims += 1;
        let claim: Value = serde_saphyr::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        let spec = &claim["spec"];
        let offer = offers.offers.iter().find(|offer| spec["template"] == offer.name.as_str()).unwrap();
        assert!(offer.versions.iter().any(|version| spec["version"] == version.version.as_str()), "{spec}");
        let group = &spec["nodeGroups"][0];
        assert!(offer.node_classes.contains_key(group["class"].as_str().unwrap()), "{spec}");
        assert!(group["count"].as_u64().is_some_and(|nodes| nodes >= 2), "{spec}");
        let lifetime: testplatform_apis::duration::GoDuration =
            serde_json::from_value(spec["lifetime"].clone()).unwrap();
        assert!(offer.max_lifetime.is_none_or(|most| lifetime <= most), "{spec}");
    }
    assert_eq!(claims, 2);
}

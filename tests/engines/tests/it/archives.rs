//! Release archives: taken in place of a build where they are pinned and intact.

use std::{fs, path::PathBuf};

use testplatform_engines::{
    Engines, Key, Origin, Pins, Settings, archive_name, artifacts::find_artifact, write_archive,
};

use crate::{Machine, server::serve};

/// A server with the archive of a program, and its pin.
struct Release {
    url: String,
    pins: Pins,
    archive: PathBuf,
    /// Where they are.
    _machine: Machine,
}

fn release() -> Release {
    let machine = Machine::new();
    let engines = machine.engines();
    engines.ensure(&["registry"]).unwrap();
    let [entry] = <[_; 1]>::try_from(engines.cache().entries()).unwrap();
    let directory = machine.path("release");
    fs::create_dir(&directory).unwrap();
    let archive = directory.join(archive_name(&entry.record.key));
    let mut pins = Pins::default();
    pins.set(&entry.record.key, write_archive(&entry, &archive).unwrap());
    Release { url: serve(&directory), pins, archive, _machine: machine }
}

/// Another machine, which takes archives from there.
fn with(release: &Release, machine: &Machine) -> Engines {
    Engines::new(
        Settings { assets_url: Some(release.url.clone()), ..machine.settings() },
        release.pins.clone(),
    )
}

#[test]
fn a_pinned_archive_is_used_in_place_of_a_build() {
    let release = release();
    let machine = Machine::new();
    let found = with(&release, &machine).ensure(&["registry"]).unwrap();
    assert_eq!(machine.builds(), 0);
    assert!(fs::read_to_string(&found["registry"]).unwrap().contains("echo built"));
    let [entry] = <[_; 1]>::try_from(machine.engines().cache().entries()).unwrap();
    assert_eq!((entry.record.origin, entry.record.key.go), (Origin::Downloaded, None));
    // It stays, for those too that know no server.
    assert_eq!(machine.engines().ensure(&["registry"]).unwrap(), found);
    assert_eq!(machine.builds(), 0);
}

#[test]
fn a_machine_without_go_needs_the_archive_alone() {
    let release = release();
    let machine = Machine::new();
    fs::remove_file(machine.path("tools/go")).unwrap();
    with(&release, &machine).ensure(&["registry"]).unwrap();
}

#[test]
fn an_archive_with_another_digest_is_refused_and_nothing_is_left() {
    let release = release();
    let mut bytes = fs::read(&release.archive).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&release.archive, bytes).unwrap();
    let machine = Machine::new();
    let error = format!("{:#}", with(&release, &machine).ensure(&["registry"]).unwrap_err());
    assert!(error.starts_with(&format!("cannot use {}/registry-", release.url)), "{error}");
    assert!(error.contains("its SHA-256 is ") && error.contains("unset TESTPLATFORM_ASSETS_URL"), "{error}");
    assert_eq!((machine.builds(), machine.cached()), (0, vec![]));
}

#[test]
fn a_program_whose_archive_cannot_be_had_is_built() {
    let mut release = release();
    fs::remove_file(&release.archive).unwrap();
    let machine = Machine::new();
    with(&release, &machine).ensure(&["registry"]).unwrap();
    assert_eq!(machine.builds(), 1, "the server does not have it");
    release.url = "http://127.0.0.1:1".into();
    let machine = Machine::new();
    with(&release, &machine).ensure(&["registry"]).unwrap();
    assert_eq!(machine.builds(), 1, "there is no server");
}

#[test]
fn pin_is_bound_to_its_sources() {
    let key = |sources: &str, platform: &str| Key {
        artifact: "etcd".into(),
        sources: sources.into(),
        platform: platform.into(),
        go: None,
    };
    let mut pins = Pins::default();
    pins.set(&key("a", "linux-amd64"), "1".into());
    pins.set(&key("a", "linux-arm64"), "2".into());
    assert_eq!(pins.find(&key("a", "linux-arm64")), Some("2"));
    assert_eq!(pins.find(&key("a", "darwin-arm64")), None);
    assert_eq!(pins.find(&key("b", "linux-amd64")), None);
    pins.set(&key("b", "linux-amd64"), "3".into());
    assert_eq!(pins.find(&key("a", "linux-arm64")), None, "its sources are of the past");
}

#[test]
fn an_archive_of_the_same_files_has_the_same_bytes() {
    let [one, two] = [(); 2].map(|()| fs::read(&release().archive).unwrap());
    assert!(one == two);
}

/// A pin for sources of the past would never be used, and nobody would notice.
#[test]
fn every_pin_of_the_repository_is_for_its_present_sources() {
    let pins = Pins::read().unwrap();
    assert!(!pins.0.is_empty());
    let engines = Machine::new().engines();
    for (name, pin) in pins.0 {
        let (module, artifact) =
            find_artifact(&name).unwrap_or_else(|| panic!("archives.json pins {name}, which nothing uses"));
        let key = engines.key(module, artifact).unwrap();
        assert_eq!(
            pin.sources, key.sources,
            "the sources of {name} have changed: `cargo engines archive --pin DIRECTORY` pins its new archive"
        );
    }
}

//! `logs` and `open`: addresses that a claim reports, and the program that opens them.

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::Path,
};

use serde_json::Value;

use crate::fake::{Fake, claim, ended, ready};

const ARMS: &str = r#"  "get testplatformclusters.ci.openshift.org demo -ojson"*) cat "$room/claim" ;;"#;
const JOB: &str = "https://prow.example/view/gs/logs/1";
const CONSOLE: &str = "https://console.demo.example";

fn fake(object: &Value) -> Fake {
    let fake = Fake::new(ARMS);
    fake.object("claim", object);
    fake.write("xdg-open", "#!/bin/sh\nprintf '%s\\n' \"$@\" >\"$(dirname \"$0\")/opened\"\n");
    fs::set_permissions(fake.path("xdg-open"), fs::Permissions::from_mode(0o755)).unwrap();
    fake
}

fn with_addresses() -> Value {
    let mut object = ready();
    object["status"]["prowJob"]["url"] = JOB.into();
    object["status"]["consoleURL"] = CONSOLE.into();
    object
}

/// The platform's opener in the PATH, unless there is none.
fn open(fake: &Fake, words: &[&str]) -> crate::fake::Ended {
    let path = format!("{}:/usr/bin:/bin", fake.path("").display());
    ended(fake.command().env("PATH", path).args(words))
}

#[test]
fn addresses_are_printed_and_opened() {
    let fake = fake(&with_addresses());
    let said = fake.run("logs demo");
    assert_eq!((said.code, said.out), (0, format!("{JOB}\n")));
    for (words, url) in [(&["open", "demo"][..], JOB), (&["open", "demo", "--console"], CONSOLE)] {
        let said = open(&fake, words);
        assert_eq!((said.code, said.out), (0, format!("{url}\n")), "{}", said.err);
        assert_eq!(fs::read_to_string(fake.path("opened")).unwrap(), format!("{url}\n"));
    }
}

#[test]
fn an_opener_that_fails_leaves_the_address() {
    let fake = fake(&with_addresses());
    fake.write("xdg-open", "#!/bin/sh\nexit 3\n");
    open(&fake, &["open", "demo"]).is(1, JOB).is(1, "xdg-open failed: exit status: 3").is(1, "in a browser");
    fs::remove_file(fake.path("xdg-open")).unwrap();
    // A machine without an opener: nothing in the PATH but what the fake kubectl runs.
    let programs = fake.path("programs");
    fs::create_dir(&programs).unwrap();
    for name in ["cat", "dirname"] {
        symlink(Path::new("/usr/bin").join(name), programs.join(name)).unwrap();
    }
    let mut command = fake.command();
    command.env("PATH", &programs).args(["open", "demo"]);
    ended(&mut command).is(1, JOB).is(1, "cannot run xdg-open");
}

#[test]
fn an_address_that_is_missing_is_explained() {
    let fake = fake(&claim("Provisioning", &[]));
    fake.run("logs demo")
        .is(3, "testplatformcluster/demo reports no job yet")
        .is(3, "More: kubectl testplatform why demo");
    fake.object("claim", &ready());
    fake.run("open demo --console").is(1, "reports no console\n").is(1, "Only OpenShift clusters");
    fake.run("logs demo").is(1, "Only clusters of ci-operator have a job");
}

/// The address comes from the hub: nothing but a web address goes to a program.
#[test]
fn nothing_but_web_addresses_is_opened() {
    for hostile in ["file:///etc/passwd", "--help", "https://a b", "javascript:x", "https://a\u{1b}[2J"] {
        let mut object = ready();
        object["status"]["prowJob"]["url"] = hostile.into();
        let fake = fake(&object);
        let said = open(&fake, &["open", "demo"]);
        said.is(1, "is no web address");
        assert!(!fake.path("opened").exists() && !said.err.contains('\u{1b}'), "{hostile}");
    }
}

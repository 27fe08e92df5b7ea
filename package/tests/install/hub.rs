//! `hub-kubeconfig` before it asks anybody: what cannot work is refused, in words that say what to do.

use std::process::{Command, Output};

use testplatform_package::hub::{Way, kubeconfig};

const CA: &str = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCg==";

fn run(folder: &std::path::Path, kubeconfig: &str, arguments: &[&str]) -> Output {
    let file = folder.join("kubeconfig");
    std::fs::write(&file, kubeconfig).unwrap();
    Command::new(env!("CARGO_BIN_EXE_testplatform-package"))
        .arg("hub-kubeconfig")
        .arg("--kubeconfig")
        .arg(file)
        .args(arguments)
        .output()
        .unwrap()
}

fn own(cluster: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts:\n- name: c\n  context: {{cluster: hub, user: u}}\n\
         users:\n- name: u\n  user: {{token: t}}\nclusters:\n- name: hub\n  cluster: {cluster}\n"
    )
}

#[test]
fn what_cannot_work_is_refused_before_anything_is_asked() {
    let folder = tempfile::tempdir().unwrap();
    let whole = own(&format!("{{server: 'https://127.0.0.1:1', certificate-authority-data: {CA}}}"));
    let key = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCi0tLS0tQkVHSU4gUFJJVkFURSBLRVktLS0tLQo=";
    let cases: [(&str, &[&str], &str); 9] = [
        (&whole, &["--duration", "5m"], "no API server issues a token for less than 10m"),
        (&whole, &["--duration", "90d"], "unknown unit"),
        (&whole, &["--service-account", "konflux"], "expected namespace/name"),
        (&whole, &["--context", "d"], "the kubeconfig has no context \"d\""),
        (&whole, &["--server", "http://hub.example.com"], "begins with https://"),
        (&own("{server: 'https://127.0.0.1:1'}"), &[], "--certificate-authority"),
        (
            &own("{server: 'https://127.0.0.1:1', certificate-authority-data: bm90IGl0}"),
            &[],
            "no certificate in PEM",
        ),
        (
            &own(&format!("{{server: 'https://127.0.0.1:1', certificate-authority-data: {key}}}")),
            &[],
            "private key",
        ),
        ("}", &[], "cannot read"),
    ];
    for (kubeconfig, arguments, words) in cases {
        let output = run(folder.path(), kubeconfig, arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {said}");
        assert!(said.contains(words) && output.stdout.is_empty(), "{arguments:?}: {said}");
    }
}

#[test]
fn everything_is_in_the_kubeconfig() {
    let way = Way {
        server: "https://hub.example.com:6443",
        authority: CA,
        account: "konflux",
        namespace: "ephemeral-cluster",
        token: "t0ken",
    };
    let made = kubeconfig(&way);
    assert_eq!(made["clusters"][0]["cluster"]["certificate-authority-data"], CA);
    assert_eq!(made["users"][0]["user"]["token"], "t0ken");
    assert_eq!(made["contexts"][0]["context"]["namespace"], "ephemeral-cluster");
    // No path of this machine.
    assert!(!made.to_string().contains("certificate-authority\""), "{made}");
}

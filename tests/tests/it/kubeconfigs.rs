//! Kubeconfigs are judged as kubectl uses them: on kubectl itself.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

use anyhow::{Context as _, ensure};
use provider_testplatform::credentials::kubeconfig::rewrite_kubeconfig;
use testplatform_tests::binaries::Binaries;

/// kubectl's use of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    /// It calls the API server.
    Calls,
    /// It runs the program that is named.
    Runs,
    /// It does neither.
    Refuses,
}

/// Stands for the command that writes the marker.
const MARK: &str = "MARK";

const CLUSTER: &str = "{name: c, cluster: {server: 'https://127.0.0.1:1'}}";
const CONTEXT: &str = "{name: x, context: {cluster: c, user: u}}";

fn file(clusters: &str, contexts: &str, current: &str, users: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: {current}\nclusters: [{clusters}]\ncontexts: [{contexts}]\nusers: [{users}]\n"
    )
}

/// Forms that parsers, people and attackers write. A program beside a token is not among them: kubectl runs it in a TLS handshake, and here nobody
/// answers.
fn forms() -> Vec<(&'static str, String)> {
    let user = |user: &str| file(CLUSTER, CONTEXT, "x", &format!("{{name: u, user: {user}}}"));
    let exec = "exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, command: MARK}";
    let behind = |line: char| {
        format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: x\nclusters: [{CLUSTER}]\ncontexts: [{CONTEXT}]\nusers:\n- name: u\n  user: # {line}    {exec}\n    token: t\n"
        )
    };
    let certificate = "client-certificate-data: eA==";
    vec![
        ("token", user("{token: t}")),
        ("password", user("{username: u, password: p}")),
        ("exec", user(&format!("{{{exec}}}"))),
        ("exec in capitals", user(&format!("{{token: t, {}}}", exec.replace("exec:", "Exec:")))),
        ("exec null", user("{token: t, exec: null}")),
        ("exec of another user", {
            let users = format!("{{name: u, user: {{token: t}}}}, {{name: o, user: {{{exec}}}}}");
            file(CLUSTER, CONTEXT, "x", &users)
        }),
        (
            "extension called exec",
            user(&format!("{{token: t, extensions: [{{name: exec, extension: {{{exec}}}}}]}}")),
        ),
        ("line separator", behind('\u{2028}')),
        ("paragraph separator", behind('\u{2029}')),
        ("next line", behind('\u{85}')),
        ("binary key", user(&format!("{{? !!binary ZXhlYw== : {}}}", &exec["exec: ".len()..]))),
        ("number as token", user("{token: 12345}")),
        ("certificate without key", user(&format!("{{{certificate}}}"))),
        ("no base64", user("{token: t, client-certificate-data: '%'}")),
        ("token and password", user("{token: t, username: u, password: p}")),
        ("empty file names", user("{token: t, tokenFile: '', client-certificate: ''}")),
        ("empty authority", {
            file(
                "{name: c, cluster: {server: 'https://127.0.0.1:1', certificate-authority: ''}}",
                CONTEXT,
                "x",
                "{name: u, user: {token: t}}",
            )
        }),
        ("second cluster without server", {
            let clusters = format!("{CLUSTER}, {{name: d, cluster: {{}}}}");
            file(&clusters, CONTEXT, "x", "{name: u, user: {token: t}}")
        }),
        ("two users of a name", {
            file(CLUSTER, CONTEXT, "x", "{name: u, user: {token: t}}, {name: u, user: {token: s}}")
        }),
        ("unknown current context", file(CLUSTER, CONTEXT, "y", "{name: u, user: {token: t}}")),
        ("context of an unknown cluster", {
            file(CLUSTER, "{name: x, context: {cluster: d, user: u}}", "x", "{name: u, user: {token: t}}")
        }),
        ("another kind", user("{token: t}").replace("kind: Config", "kind: Secret")),
        ("no YAML", "clusters: {".to_owned()),
    ]
}

/// Calls the API server with a file, in an empty directory.
fn used(kubectl: &Path, text: &str) -> anyhow::Result<Use> {
    let room = tempfile::tempdir()?;
    let (path, marker, program) =
        (room.path().join("config"), room.path().join("marker"), room.path().join("program"));
    fs::write(&program, format!("#!/bin/sh\n: >{}\nexit 1\n", marker.display()))?;
    ensure!(Command::new("chmod").arg("755").arg(&program).status()?.success(), "chmod");
    fs::write(&path, text.replace(MARK, &program.display().to_string()))?;
    let output = Command::new(kubectl)
        .args(["get", "--raw", "/version", "--request-timeout=5s", "--kubeconfig"])
        .arg(&path)
        .env_clear()
        .env("HOME", room.path())
        .env("PATH", "/usr/bin:/bin")
        .stdin(Stdio::null())
        .current_dir(room.path())
        .output()
        .context("kubectl")?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    Ok(if marker.exists() {
        Use::Runs
    } else if said.contains("127.0.0.1:1") {
        Use::Calls
    } else {
        Use::Refuses
    })
}

/// A kubeconfig that kubectl can use is published, and no published kubeconfig makes kubectl run anything.
pub fn judged_as_kubectl_uses_them() -> anyhow::Result<()> {
    let kubectl = Binaries::ensure()?.kubectl;
    let mut seen = vec![];
    for (name, text) in forms() {
        let original = used(&kubectl, &text)?;
        match rewrite_kubeconfig(text.as_bytes()) {
            Ok(published) => {
                let published = String::from_utf8(published)?;
                let now = used(&kubectl, &published)?;
                ensure!(now == Use::Calls, "{name}: kubectl {now:?} with what is published:\n{published}");
                ensure!(!published.contains(MARK), "{name}: {published}");
            }
            Err(why) => {
                ensure!(original != Use::Calls, "{name}: kubectl calls with it, and it {why}");
            }
        }
        seen.push(original);
    }
    // Each is a case of its own only if kubectl tells them apart.
    for used in [Use::Calls, Use::Runs, Use::Refuses] {
        ensure!(seen.contains(&used), "no form that kubectl {used:?}");
    }
    Ok(())
}

//! A kubectl of a test's own making: a script that answers by what it is asked, and writes down every call.

use std::{
    fs,
    io::Write as _,
    os::unix::fs::symlink,
    path::PathBuf,
    process::{Command, Output, Stdio},
};

use serde_json::{Value, json};
use tempfile::TempDir;

/// Beginning of every such script: it writes down calls, serves both kinds unless a file says otherwise, and
/// fails discovery, after its results, if a file says for what.
const BEGIN: &str = r#"#!/bin/sh
room=$(dirname "$0")
printf '%s\n' "$*" >>"$room/calls"
case "$*" in
  api-resources*) cat "$room/served"; [ ! -f "$room/down" ] && exit; cat "$room/down" >&2; exit 1 ;;
esac
"#;

/// Refusal by an API server.
pub const FORBIDDEN: &str = "Error from server (Forbidden): it is forbidden";
/// How kubectl prints that a Secret is that of [`claim`].
pub const OWNER: &str = "\nconnection\nof-demo TestPlatformCluster demo";

/// How kubectl says that there is no such object.
pub fn not_found(resource: &str, name: &str) -> String {
    format!("Error from server (NotFound): {resource} \"{name}\" not found")
}

/// A directory with that kubectl, and everything that the plugin may write.
pub struct Fake {
    room: TempDir,
}

/// How a command ended.
pub struct Ended {
    /// The exit code.
    pub code: i32,
    /// stdout.
    pub out: String,
    /// stderr.
    pub err: String,
}

impl Ended {
    /// Fails unless it ended so and said that, on either.
    #[track_caller]
    pub fn is(&self, code: i32, words: &str) -> &Self {
        let whole = format!("{}\n{}", self.out, self.err);
        assert!(self.code == code && whole.contains(words), "{} {whole}", self.code);
        self
    }
}

impl Fake {
    /// One that answers as the arms of a shell `case` say.
    pub fn new(arms: &str) -> Self {
        let room = tempfile::tempdir().unwrap();
        let fake = Self { room };
        fake.write(
            "served",
            "testplatformclusters.ci.openshift.org\nxtestplatformclusters.ci.openshift.org\n",
        );
        fake.owned_by(OWNER);
        let rest = "  get*testplatformclusters*) ;;\n  get\\ events*) ;;\n  *) echo \"not expected: $*\" >&2; exit 9 ;;\n";
        fake.program("kubectl", &format!("{BEGIN}case \"$*\" in\n{arms}\n{rest}esac\n"));
        fake
    }

    /// Written by another process: a program that a thread of this one begins meanwhile would hold it open for writing for a
    /// moment, in which nobody can run it.
    fn program(&self, name: &str, text: &str) {
        let mut sh = Command::new("sh")
            .args(["-c", "cat >\"$0\" && chmod 755 \"$0\""])
            .arg(self.path(name))
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        sh.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        assert!(sh.wait().unwrap().success());
    }

    /// A file of its.
    pub fn path(&self, name: &str) -> PathBuf {
        self.room.path().join(name)
    }

    /// Writes a file of its.
    pub fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    /// Writes whose the Secret is, for the script to print beside its keys and beside its kubeconfig.
    pub fn owned_by(&self, owner: &str) {
        self.write("secret", &format!("kubeconfig=8 kubeAdminPassword=4 {owner}"));
        self.write("owner", owner);
    }

    /// Writes an object for the script to print.
    pub fn object(&self, name: &str, object: &Value) {
        self.write(name, &object.to_string());
    }

    /// Its calls.
    pub fn calls(&self) -> String {
        fs::read_to_string(self.path("calls")).unwrap_or_default()
    }

    /// The plugin, by its own name.
    pub fn command(&self) -> Command {
        let plugin = self.path("kubectl-testplatform");
        if !plugin.exists() {
            symlink(env!("CARGO_BIN_EXE_kubectl-testplatform"), &plugin).unwrap();
        }
        let mut command = Command::new(plugin);
        command.env_clear().env("PATH", "/usr/bin:/bin").env("HOME", self.room.path());
        command.env("KUBECTL", self.path("kubectl")).stdin(Stdio::null()).current_dir(self.room.path());
        command
    }

    /// Runs the plugin.
    pub fn run(&self, line: &str) -> Ended {
        ended(self.command().args(line.split_whitespace()))
    }
}

/// Runs a command to its end.
pub fn ended(command: &mut Command) -> Ended {
    let Output { status, stdout, stderr } = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Ended { code: status.code().unwrap(), out: text(stdout), err: text(stderr) }
}

/// A claim in a phase, with conditions: type, status, reason, message.
pub fn claim(phase: &str, conditions: &[[&str; 4]]) -> Value {
    let condition = |[type_, status, reason, message]: &[&str; 4]| json!({ "type": type_, "status": status, "reason": reason, "message": message });
    json!({
        "apiVersion": "ci.openshift.org/v1alpha1", "kind": "TestPlatformCluster",
        "metadata": {
            "name": "demo", "namespace": "team-a", "uid": "of-demo", "creationTimestamp": "2026-03-02T10:00:00Z",
        },
        "spec": {
            "ciOperator": { "test": { "workflow": "ipi-aws", "clusterProfile": "aws" } },
            "writeConnectionSecretToRef": { "name": "demo-kubeconfig" },
            "resourceRef": { "name": "demo-x" },
        },
        "status": {
            "phase": phase, "message": format!("it is {phase}"), "startedAt": "2026-03-02T10:00:00Z",
            "conditions": conditions.iter().map(condition).collect::<Vec<_>>(),
        },
    })
}

/// One that is ready.
pub fn ready() -> Value {
    let mut ready = claim("Ready", &[["ClusterReady", "True", "Ready", "the cluster is ready"]]);
    ready["status"]["readyAt"] = "2026-03-02T10:40:00Z".into();
    ready
}

/// An event of a watch.
pub fn event(type_: &str, object: &Value) -> String {
    json!({ "type": type_, "object": object }).to_string() + "\n"
}

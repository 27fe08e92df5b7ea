//! The program: what it prints, how it ends.

#[path = "../../../process/tests/panicked/mod.rs"]
mod panicked;
#[path = "../../../version/tests/printed/mod.rs"]
mod printed;

use std::{
    io::{BufReader, Read as _},
    net::{SocketAddr, TcpListener},
    path::Path,
    process::{Child, ChildStderr, Command, ExitStatus, Output, Stdio},
};

use crate::serve::harness::{call, channel, get, tagged};
use serde_json::{Value, json};
use testplatform_composites::sdk::{
    proto::{Resource, State},
    wire,
};

fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_function-testplatform"));
    command.env_clear();
    command
}

fn run(arguments: &[&str]) -> Output {
    program().args(arguments).output().unwrap()
}

/// A program that serves on ports of its choice.
pub struct Serving {
    child: Child,
    log: BufReader<ChildStderr>,
    address: SocketAddr,
    admin: SocketAddr,
}

impl Serving {
    pub fn start(arguments: &[&str]) -> Self {
        Self::spawn(program().env("INSECURE", "true").args(arguments))
    }

    /// One that asks clients for certificates, with its own from a directory.
    pub fn encrypted(certificates: &Path) -> Self {
        Self::spawn(program().env("TLS_SERVER_CERTS_DIR", certificates))
    }

    fn spawn(command: &mut Command) -> Self {
        let mut child = command
            .env("ADDRESS", "127.0.0.1:0")
            .env("METRICS_ADDRESS", "127.0.0.1:0")
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut log = BufReader::new(child.stderr.take().unwrap());
        let line = std::iter::from_fn(|| next(&mut log)).find(|line| line["msg"] == "serving");
        let line = line.unwrap();
        let address = |key: &str| line[key].as_str().unwrap().parse().unwrap();
        Self { address: address("address"), admin: address("admin_address"), child, log }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn admin_address(&self) -> SocketAddr {
        self.admin
    }

    pub fn process(&self) -> u32 {
        self.child.id()
    }

    /// Ends it at once.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    fn signal(mut self, name: &str) -> (ExitStatus, String) {
        let kill = Command::new("kill").args([name, &self.child.id().to_string()]).status().unwrap();
        assert!(kill.success());
        // The client's side has to go on meanwhile: it is asked to close its connection.
        tokio::task::block_in_place(|| {
            let mut rest = String::new();
            self.log.read_to_string(&mut rest).unwrap();
            (self.child.wait().unwrap(), rest)
        })
    }
}

/// The next log line, which is JSON.
fn next(log: &mut impl std::io::BufRead) -> Option<Value> {
    let mut line = String::new();
    log.read_line(&mut line).unwrap();
    serde_json::from_str(&line).ok()
}

#[tokio::test(flavor = "multi_thread")]
async fn serves_without_a_command_and_ends_on_a_signal() {
    for (arguments, signal) in [(&[][..], "-TERM"), (&["serve", "-d"], "-INT")] {
        let serving = Serving::start(arguments);
        assert!(get(serving.admin, "/readyz").await.unwrap().starts_with("HTTP/1.1 200"));
        call(&channel(serving.address, None), tagged("t")).await.unwrap();
        let (status, _) = serving.signal(signal);
        assert_eq!(status.code(), Some(0));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn log_line_of_a_call_has_the_name_and_no_content() {
    let serving = Serving::start(&[]);
    let xr = json!({
        "apiVersion": "ci.openshift.org/v1alpha1",
        "kind": "XTestPlatformCluster",
        "metadata": {"name": "mine-abcde", "uid": "u-1", "annotations": {"a": "s3cret"}},
        "spec": {"b": "s3cret"},
    });
    let composite = Resource { resource: wire::to_struct(&xr).unwrap(), ..Resource::default() };
    let mut request = tagged("the-tag");
    request.observed = Some(State { composite: Some(composite), ..State::default() });
    let mut request = tonic::Request::new(request);
    let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    request.metadata_mut().insert("traceparent", trace.parse().unwrap());
    call(&channel(serving.address, None), request).await.unwrap();
    let (_, log) = serving.signal("-TERM");
    let line: Value = log.lines().map(|line| serde_json::from_str(line).unwrap()).next().unwrap();
    assert_eq!(
        line["span"],
        json!({
            "operation": "RunFunction",
            "kind": "XTestPlatformCluster",
            "name": "mine-abcde",
            "uid": "u-1",
            "trace_id": "0af7651916cd43dd8448eb211c80319c",
            "parent_id": "b7ad6b7169203331",
        })
    );
    assert_eq!(
        (&line["level"], &line["tag"], &line["xr_kind"], &line["xr_name"]),
        (&json!("info"), &json!("the-tag"), &json!("XTestPlatformCluster"), &json!("mine-abcde"))
    );
    assert!(line["ts"].is_string() && line["seconds"].is_number() && line["fatal"].is_number(), "{line}");
    assert!(!log.contains("s3cret"), "{log}");
}

#[test]
fn a_panic_is_logged_with_where_and_not_with_what() {
    let mut program = program();
    program.env("INSECURE", "true").env("ADDRESS", "127.0.0.1:0").env("METRICS_ADDRESS", "127.0.0.1:0");
    panicked::is_logged_with_where_and_not_with_what(&mut program);
}

#[test]
fn usage_errors_end_with_2() {
    for (arguments, text) in [
        (&[][..], "--tls-certs-dir"),
        (&["--insecure", "--network", "udp"], "only tcp is supported"),
        (&["--insecure", "--address", "9443"], "host:port"),
        (&["--no-such-flag"], "--no-such-flag"),
    ] {
        let output = run(arguments);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(error.contains(text), "{error}");
    }
}

#[test]
fn run_time_errors_end_with_1_and_one_line() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    for (arguments, text) in [
        (["--insecure", "--address", &address], address.as_str()),
        (["--tls-certs-dir", "/nonexistent", "--address=127.0.0.1:0"], "/nonexistent/tls.crt"),
    ] {
        let output = run(&arguments);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{error}");
        assert!(
            error.starts_with("error: ") && error.lines().count() == 1 && error.contains(text),
            "{error}"
        );
    }
}

#[test]
fn help_names_defaults_and_the_environment() {
    let output = run(&["--help"]);
    let help = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0));
    for text in ["[default: :9443]", "[env: TLS_SERVER_CERTS_DIR=]", "--max-grpc-message-size", "serve"] {
        assert!(help.contains(text), "{text} in {help}");
    }
}

#[test]
fn the_version_has_the_commit() {
    printed::is_version_with_commit(&run(&["--version"]), "function-testplatform");
}

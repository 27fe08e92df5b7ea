//! Python with Crossplane's SDK, in a virtual environment of its own under the target directory.

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::OnceLock,
};

use serde_json::Value;

use crate::tools;

const DIR: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/python");
const INTERPRETERS: [&str; 5] = ["python3", "python3.13", "python3.12", "python3.11", "python3.14"];
/// Prints the version if there are packages for it, and whether environments can be made.
const PROBE: &str = "import sys, venv, ensurepip\n\
                     assert (3, 11) <= sys.version_info < (3, 15)\n\
                     print(sys.version, sys.executable)";
const INSTALL: &str = "The function is tested with Crossplane's own client, which needs Python 3.11 to 3.14 with the \
                       venv module in PATH. Install it: apt install python3-venv, dnf install python3, or \
                       https://www.python.org/downloads/";

/// The environment's interpreter, or a failed test.
pub fn interpreter() -> &'static Path {
    static INTERPRETER: OnceLock<Option<PathBuf>> = OnceLock::new();
    tools::wanted(&INTERPRETER, make)
}

fn make() -> Result<PathBuf, String> {
    let probe =
        |name: &'static str| Some((name, tools::output(Command::new(name).args(["-c", PROBE])).ok()?));
    let (python, version) = INTERPRETERS.into_iter().find_map(probe).ok_or(INSTALL)?;
    let requirements = Path::new(DIR).join("requirements.txt");
    let from = [&fs::read(&requirements).unwrap()[..], version.as_bytes()];
    let announcement = "Installing Crossplane's SDK for Python, once: about 20 seconds and 60 MB.";
    let dir = tools::once("python/function-sdk", &from, announcement, |dir| {
        tools::output(Command::new(python).args(["-m", "venv"]).arg(dir))?;
        let mut pip = Command::new(dir.join("bin/python"));
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary=:all:"]);
        tools::output(pip.args(["--require-hashes", "-r"]).arg(&requirements)).map(drop)
    })?;
    Ok(dir.join("bin/python"))
}

/// Has `client.py` do a job.
pub fn ask(job: &Value) -> Value {
    let mut child = Command::new(interpreter())
        .arg("-B") // the checkout stays as it is
        .arg(Path::new(DIR).join("client.py"))
        .env_remove("PYTHONPATH")
        .env_remove("PYTHONHOME")
        .env("GRPC_VERBOSITY", "NONE")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // It reads all of the job before it writes anything. When it does not read, it says below why.
    let _ = child.stdin.take().unwrap().write_all(job.to_string().as_bytes());
    let output = child.wait_with_output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "the client failed: {error}");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {error}"))
}

//! Shared helpers: packages from programs that do nothing, a real registry, the tool itself.

use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    sync::{Arc, Mutex},
};

use serde_json::Value;
use testplatform_engines::Engines;
use testplatform_package::{
    build::{BuildInfo, Program, images, stream},
    oci::{Annotations, Artifact, Image, XPKG, XPKG_BASE, digest_of, image::Start, layer},
};

pub const AMD64: u8 = 62;
pub const ARM64: u8 = 183;

/// The header of a static program, and nothing behind it.
pub fn program(machine: u8) -> Vec<u8> {
    let mut program = vec![0; 64];
    program[..6].copy_from_slice(b"\x7fELF\x02\x01");
    program[18] = machine;
    program
}

pub fn about() -> BuildInfo {
    BuildInfo { version: "1.2.3".to_owned(), revision: Some("abc".to_owned()), time: 0 }
}

pub fn programs(machines: &[u8]) -> Vec<Program> {
    machines.iter().map(|machine| Program { bytes: program(*machine), sbom: b"{}".to_vec() }).collect()
}

pub fn function(machines: &[u8]) -> Vec<Image> {
    let text = stream::render_function(&[testplatform_apis::xrd::input_xrd().unwrap()]).unwrap();
    images::build_function(&programs(machines), &text, &about()).unwrap()
}

pub fn configuration() -> Image {
    let composition = yaml(&package().join("compositions/testplatform-ephemeral-cluster.yaml"));
    let xrd = testplatform_apis::xrd::test_platform_cluster().unwrap();
    let repository = "xpkg.example.org/function-testplatform";
    let text = stream::render_configuration(&[xrd], &[composition], repository, &digest_of(b"")).unwrap();
    images::build_configuration(&text, &about()).unwrap()
}

/// A package with this `package.yaml`, around a program if there is one.
pub fn package_of(text: &str, program: Option<Vec<u8>>) -> Artifact {
    Artifact::of(vec![image_of(text, program, &[("package.yaml", 0o644)])]).unwrap()
}

/// An image whose second layer has the text under each of these names.
pub fn image_of(text: &str, program: Option<Vec<u8>>, files: &[(&str, u32)]) -> Image {
    let file = |path: &str, mode, bytes: &[u8]| layer::LayerEntry {
        path: path.to_owned(),
        mode,
        bytes: bytes.to_vec(),
    };
    let mut start = Start::default();
    let mut layers = vec![];
    if let Some(program) = program {
        layers.push(layer::pack_layer(&[file("run", 0o755, &program)], 0).unwrap());
        start = Start { entrypoint: vec!["/run".to_owned()], user: "65532".to_owned(), ports: vec![] };
    }
    let entries: Vec<_> = files.iter().map(|(path, mode)| file(path, *mode, text.as_bytes())).collect();
    let mut base = layer::pack_layer(&entries, 0).unwrap();
    base.annotations.insert(XPKG.to_owned(), XPKG_BASE.to_owned());
    layers.push(base);
    let amd64 = testplatform_package::oci::Architecture::Amd64;
    Image::new(amd64, &start, layers, &Annotations::new(), "1970-01-01T00:00:00Z").unwrap()
}

pub fn package() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

pub fn yaml(path: &Path) -> Value {
    serde_saphyr::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// The tool, as a user runs it, without the logins and proxies of whoever runs the tests.
pub fn tool(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_testplatform-package"));
    command.args(arguments).env_remove("SOURCE_DATE_EPOCH");
    let proxies = ["ALL_PROXY", "HTTPS_PROXY", "NO_PROXY", "all_proxy", "https_proxy", "no_proxy"];
    for variable in ["REGISTRY_AUTH_FILE", "XDG_RUNTIME_DIR"].into_iter().chain(proxies) {
        command.env_remove(variable);
    }
    command.env("DOCKER_CONFIG", "/nonexistent");
    command
}

/// Reports a test that this machine lacks something for. It bypasses the capture of the test's output, because the test passes.
pub fn not_run(test: &str, reason: &str) {
    let _ = writeln!(std::io::stderr(), "NOT RUN: {test}: {reason}");
}

pub fn run(command: &mut Command) -> Output {
    command.output().unwrap()
}

pub fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A program that is written in Go, from the cache of this machine.
pub fn go_program(name: &str) -> PathBuf {
    Engines::from_environment().unwrap().ensure(&[name]).unwrap().remove(name).unwrap()
}

/// A registry of its own. It ends with the test.
pub struct Registry {
    child: Child,
    pub address: String,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Registry {
    pub fn start(arguments: &[&str]) -> Self {
        let mut child = Command::new(go_program("registry"))
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let address = lines.next().unwrap().unwrap();
        let requests = Arc::new(Mutex::new(vec![]));
        let written = Arc::clone(&requests);
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                written.lock().unwrap().push(line);
            }
        });
        Self { child, address, requests }
    }

    /// Every request since the last time, such as `HEAD /v2/a/blobs/sha256:… 404`.
    pub fn requests(&self) -> Vec<String> {
        let mut came = vec![];
        loop {
            // The line of the last request may still be on its way.
            std::thread::sleep(std::time::Duration::from_millis(250));
            let more = std::mem::take(&mut *self.requests.lock().unwrap());
            if more.is_empty() {
                return came;
            }
            came.extend(more);
        }
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

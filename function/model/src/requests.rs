//! Every request that clients in other languages are tried with.

use std::{
    fs,
    path::{Path, PathBuf},
};

use jiff::{SignedDuration, Timestamp};
use prost::Message as _;
use serde_json::Value;
use testplatform_composites::sdk::proto::RunFunctionRequest;
use testplatform_test_data::upstream;

use super::times::move_times;

/// The point in time at which every request in a file was made.
pub const MADE: &str = "2026-11-21T10:30:00Z";

/// One request.
pub struct Case {
    /// Name for failure messages.
    pub name: String,
    /// In protobuf's JSON form, which clients read with their own libraries; or, where it comes from other files
    /// than that, the serialized message in base64.
    pub form: Value,
}

impl Case {
    /// As we read it.
    pub fn to_request(&self) -> RunFunctionRequest {
        match self.form.as_str() {
            Some(text) => RunFunctionRequest::decode(&super::decode_base64(text)[..]).unwrap(),
            None => super::request_from_json(&self.form),
        }
    }
}

/// Our own, the examples, and the recorded ones; another source is one more line here. Times are moved so that
/// they were made `now`: else a server with a real clock would find each deadline passed.
pub fn all_requests(now: Timestamp) -> Vec<Case> {
    let own = list_files(&examples_directory(), |path| {
        path.extension().is_some_and(|e| e == "json").then(|| path.into())
    });
    let recorded = list_files(&upstream().join("parity"), |path| Some(path.join("request.json")));
    let examples = super::examples::load_examples(now)
        .into_iter()
        .map(|(name, request)| (name, super::encode_base64(&request.encode_to_vec()).into()));
    own.into_iter()
        .chain(recorded)
        .map(|(name, path)| (name, read_document(&path, now)))
        .chain(examples.map(|(name, form)| (format!("examples/{name}"), form)))
        .map(|(name, form)| Case { name, form })
        .collect()
}

/// One of `requests/`, made `now`.
pub fn read_example(name: &str, now: Timestamp) -> Value {
    read_document(&examples_directory().join(name).with_extension("json"), now)
}

fn examples_directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/requests")
}

/// Result of `pick` for each entry of a directory, sorted by name.
fn list_files(dir: &Path, pick: impl Fn(&Path) -> Option<PathBuf>) -> Vec<(String, PathBuf)> {
    let entries = fs::read_dir(dir).unwrap_or_else(|e| panic!("{}: {e}", dir.display()));
    let name = |path: &Path| path.file_stem().unwrap().to_string_lossy().into_owned();
    let mut found: Vec<_> = entries
        .map(|entry| entry.unwrap().path())
        .filter_map(|path| pick(&path).filter(|p| p.is_file()).map(|file| (name(&path), file)))
        .collect();
    found.sort();
    found
}

fn read_document(path: &Path, now: Timestamp) -> Value {
    let text = fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut json = serde_json::from_slice(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let made: Timestamp = MADE.parse().unwrap();
    move_times(&mut json, SignedDuration::from_secs(now.as_second() - made.as_second()));
    json
}

//! Requests that `render` sends to the function for each of `examples/`.

use std::{
    fs,
    path::{Path, PathBuf},
};

use jiff::{SignedDuration, Timestamp};
use prost::{Message as _, bytes::Bytes};
use testplatform_composites::sdk::{
    proto::{Resource, RunFunctionRequest},
    wire,
};
use testplatform_render::RenderArgs;

use super::times::move_times;

/// When every example is looked at.
pub const MADE: &str = "2026-03-02T12:00:00Z";
const COMPOSITION: &str = "package/compositions/testplatform-ephemeral-cluster.yaml";
const TEST_CLUSTER_COMPOSITION: &str = "package/compositions/testplatform-test-cluster.yaml";
const POOL_COMPOSITION: &str = "package/compositions/testplatform-cluster-pool.yaml";
const SPACE_COMPOSITION: &str = "package/install/components/spaces/composition.yaml";

/// Each example with its name, as if it were looked at `now`.
pub fn load_examples(now: Timestamp) -> Vec<(String, RunFunctionRequest)> {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let entries = fs::read_dir(top.join("examples")).unwrap().map(|entry| entry.unwrap().path());
    let mut directories: Vec<_> = entries.filter(|path| path.join("desired.yaml").is_file()).collect();
    directories.sort();
    let request = |directory: PathBuf| {
        let name = directory.file_name().unwrap().to_string_lossy().into_owned();
        let request = shift_timestamps(last_pass(&top, &directory), now);
        (name, request)
    };
    directories.into_iter().map(request).collect()
}

/// The last thing that is asked, with everything there that was required.
fn last_pass(top: &Path, directory: &Path) -> RunFunctionRequest {
    let made: Timestamp = MADE.parse().unwrap();
    let file = |name: &str| Some(directory.join(name)).filter(|path| path.is_file());
    let pool = file("pool.yaml");
    let is_space = directory.file_name().is_some_and(|name| name.to_string_lossy().starts_with("space-"));
    let cluster = file("testcluster.yaml");
    let otherwise = match (&pool, &cluster) {
        (Some(_), _) => POOL_COMPOSITION,
        (None, Some(_)) => TEST_CLUSTER_COMPOSITION,
        (None, None) if is_space => SPACE_COMPOSITION,
        (None, None) => COMPOSITION,
    };
    let arguments = RenderArgs {
        xr: pool.or(cluster).unwrap_or_else(|| directory.join("claim.yaml")),
        composition: file("composition.yaml").unwrap_or_else(|| top.join(otherwise)),
        observed_resources: file("observed.yaml").into_iter().collect(),
        required_resources: file("environment.yaml").into_iter().collect(),
        now: Some(made),
        ..RenderArgs::default()
    };
    let rendered = testplatform_render::Input::load(&arguments, made)
        .and_then(|(input, _)| testplatform_render::run(&input, made));
    let mut rendered = rendered.unwrap_or_else(|e| panic!("{}: {e}", directory.display()));
    rendered.passes.pop().unwrap().request
}

/// The same, made `now`.
fn shift_timestamps(mut request: RunFunctionRequest, now: Timestamp) -> RunFunctionRequest {
    let made: Timestamp = MADE.parse().unwrap();
    let by = SignedDuration::from_secs(now.as_second() - made.as_second());
    let move_resource = |resource: &mut Resource| {
        let mut object = wire::to_value(&resource.resource).unwrap();
        move_times(&mut object, by);
        resource.resource = wire::to_struct(&object).unwrap();
    };
    let observed = request.observed.as_mut().unwrap();
    observed.composite.iter_mut().for_each(move_resource);
    for bytes in observed.resources.values_mut() {
        let mut resource = Resource::decode(&bytes[..]).unwrap();
        move_resource(&mut resource);
        *bytes = Bytes::from(resource.encode_to_vec());
    }
    request
}

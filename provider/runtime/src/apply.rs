//! Parameters of every write.

use kube::api::{PatchParams, PostParams};

/// Field manager of everything that this provider writes.
pub const MANAGER: &str = "provider-testplatform";

/// How everything is created.
pub fn create_params() -> PostParams {
    PostParams { field_manager: Some(MANAGER.to_owned()), ..PostParams::default() }
}

/// How everything is patched.
pub fn patch_params() -> PatchParams {
    PatchParams { field_manager: Some(MANAGER.to_owned()), ..PatchParams::default() }
}
